"""Arithmetic of f16 by FEAT_FP16: which instructions are chosen. (Results: tests/end_to_end/test_half_arithmetic.py.)"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.test_half_arithmetic import ones, two_totals
from tests.machines import Runner, with_features

import loopwright as lw
from loopwright.compiler import compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir.parse import parse
from loopwright.targets import registry
from loopwright.types import F16

NAME = "aarch64-neon+asimdhp"
each_machine = pytest.mark.parametrize("runner", with_features("asimdhp"))


def plain(x: lw.Array, y: lw.Array):
    for i in lw.range(len(x)):
        y[i] = x[i] * y[i] + x[i]


def text(kernel: Any, *args: Any, target: str = NAME, **how: Any) -> str:
    return str(kernel.compile(*args, target=target, **how).asm())


def test_lanes_and_scalars_have_instructions_of_their_own() -> None:
    array = lw.Array[F16]
    lanes, scalars = (text(ones, array, array, each) for each in (True, False))
    for name in ("fsqrt", "fneg", "fabs", "frintm", "frintp", "frintz", "frintn", "fmul", "fadd"):
        assert f"{name} v" in lanes and ".8h, v" in lanes, name
        assert f"{name} h" in scalars, name
    assert "fcvt" not in lanes + scalars
    assert "fcvt" in text(ones, array, array, True, target="aarch64-neon")
    # A plain loop becomes one over lanes as well.
    assert "fmul v" in text(lw.kernel(plain), array, array)


def test_two_roundings_stay_two_unless_fastmath_says_otherwise() -> None:
    array = lw.Array[F16]
    assert "fmla" not in text(lw.kernel(plain), array, array)
    assert ".8h" in (fast := text(lw.kernel(plain, fastmath=True), array, array)) and "fmla v" in fast


def test_conversions_are_one_instruction_where_there_is_one() -> None:
    for type_, instructions in {lw.i16: "scvtf v fcvtzs v", lw.u16: "ucvtf v fcvtzu v", lw.f32: "fcvtn v fcvtl v"}.items():
        assert lw.supports("f16", type_, target=NAME, lanes=True).instructions == 1, instructions
        assert lw.supports(type_.name, F16, target=NAME, lanes=True).instructions == 1, instructions
    for type_ in (lw.i32, lw.u32, lw.i64, lw.u64, lw.f32, lw.f64):
        assert lw.supports("f16", type_, target=NAME).instructions == 1, type_
        assert lw.supports(type_.name, F16, target=NAME).instructions == 1, type_
    assert lw.supports("f16", lw.f64, target=NAME, lanes=True).instructions == 2


def test_numbers_of_totals_fill_vectors() -> None:
    made = text(two_totals, lw.Array[F16], lw.Array[F16], F16)
    assert "faddp v" in made and "fcvtl2 v" in made and re.search(r"fmul v\d+\.8h", made)


@each_machine
def test_a_total_of_negative_zeros_is_one(runner: Runner) -> None:
    x, out = np.full(100, -0.0, np.float16), np.ones(2, np.float16)

    def compare(_: Any) -> None:
        assert out[0] == 0 and np.signbit(out[0])

    runner.run(runner.compiled(two_totals, lw.Array[F16], lw.Array[F16], F16), [x, out, -0.0], compare)


def test_without_the_extension_no_f16_is_computed_with() -> None:
    array = lw.Array[F16]
    stage = lw.kernel(plain).compile(array, array, target=NAME).ir("addresses")
    assert "mul.f16x8" in stage
    f = parse(stage)
    with pytest.raises(UnsupportedOperationError, match="holds float16, which aarch64-neon does not compute with"):
        compile(f, registry.get("aarch64-neon"))


@pytest.mark.parametrize("feature", ["asimdhp", "asimddp+asimdhp"])
def test_the_feature_is_part_of_the_name(feature: str) -> None:
    target = registry.get(f"aarch64-neon+{feature}")
    assert target.name == f"aarch64-neon+{feature}" and "asimdhp" in target.features and target.half_operations
    assert not registry.get("aarch64-neon+asimddp").half_operations
