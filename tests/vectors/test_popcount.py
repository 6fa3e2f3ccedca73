"""Bits of lanes counted, by tables and by the instructions that CPUs may have for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners, with_features

import loopwright as lw
from loopwright.types import Type

MACHINES = [*runners(lambda runner: runner.widest), *with_features("avx512_bitalg", "avx512_vpopcntdq")]
TYPES = [lw.u8, lw.i8, lw.u16, lw.i16, lw.u32, lw.i32, lw.u64, lw.i64]


@lw.kernel
def counted(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = lw.popcount(x[i])


def numbers(t: Any, n: int) -> Any:
    limits = np.iinfo(t.dtype)
    found = np.random.default_rng(n).integers(limits.min, limits.max, n, t.dtype, endpoint=True)
    found[: min(n, 3)] = [0, limits.max, limits.min][:n]
    return found


@pytest.mark.parametrize("t", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("runner", MACHINES)
def test_bits_of_lanes_are_counted(runner: Runner, t: Type) -> None:
    code = runner.compiled(counted, lw.Array[t], lw.Array[t])
    for n in (1, 150):
        x = numbers(t, n)
        y = np.zeros_like(x)
        runner.run(code, [x, y], bits_of(t, x, y))


def bits_of(t: Type, x: Any, y: Any) -> Any:
    want = [(int(v) & (1 << t.bits) - 1).bit_count() for v in x]

    def check(got: Any) -> None:
        assert y.tolist() == want

    return check


@pytest.mark.parametrize(
    ("features", "t", "name"),
    [("avx512_bitalg", lw.u8, "b"), ("avx512_bitalg", lw.i16, "w"), ("avx512_vpopcntdq", lw.u32, "d"), ("avx512_vpopcntdq", lw.i64, "q")],
)
def test_the_instruction_is_used_where_the_target_has_it(features: str, t: Type, name: str) -> None:
    text = counted.compile(lw.Array[t], lw.Array[t], target=f"x86-64-v4+{features}").asm()
    assert f"vpopcnt{name} zmm" in text
    assert "vpopcnt" not in counted.compile(lw.Array[t], lw.Array[t], target="x86-64-v4").asm()
