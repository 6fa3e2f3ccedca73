"""What other code is made where a CPU is quicker with it: vectors of 512 bits that it takes in halves, permutations that take it longer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler, jit
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry


@lw.kernel
def cubic(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        y[i] = ((x[i] * 2 + 3) * x[i] + 4) * x[i] + 5


@lw.kernel
def total(x: lw.Array[lw.f32]) -> lw.f32:
    t = lw.f32(0)
    for i in lw.lanes(len(x)):
        t += x[i]
    return t


@pytest.mark.parametrize(("tuning", "loads"), [((), 1), (("halved-512",), 0)])
def test_loads_are_repeated_only_where_that_is_cheaper(tuning: tuple[str, ...], loads: int) -> None:
    target = registry.get("x86-64-v4", tuning=frozenset(tuning))
    text = Code(compiler.compile(cubic.stage(cubic.signature((lw.Array[lw.f32], lw.Array[lw.f32]), {})), target)).asm()
    # Up to where the main loop first stores, which is not under a mask.
    store = re.search(r"vmovups zmmword ptr [^{ ]+, zmm", text)
    assert store is not None
    first = text[: store.start()]
    assert len(re.findall(r"vmovups zmm\d+, zmmword", first)) == loads
    assert len(re.findall(r"vfmadd\w+ zmm\d+, zmm\d+, zmmword", first)) == 3 * (1 - loads)


@pytest.mark.parametrize(("features", "width"), [({"clzero"}, "ymm"), ({"clzero", "avx_vnni"}, "zmm"), (set(), "zmm")])
def test_one_array_is_reduced_by_half_vectors_where_they_are_taken_so(features: set[str], width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    had = cpu.LEVELS["x86-64-v4"] | features
    monkeypatch.setattr(cpu, "host_features", lambda: had)
    code = jit.BACKEND.compile(lambda: total.stage(total.signature((lw.Array[lw.f32],), {})), Settings())
    assert re.search(rf"vaddps {width}\d+, {width}\d+, {width}word ptr", code.asm())


@lw.kernel
def scaled_sum(x: lw.Array[lw.f32], y: lw.Array[lw.f32], z: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        z[i] = x[i] + 3 * y[i]


@lw.kernel
def turned(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(y)):
        y[i] = x[len(y) - 1 - i]


@lw.kernel
def every_second(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(y)):
        y[i] = x[2 * i]


@lw.kernel
def pairs(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(y)):
        y[i] = x[2 * i] + x[2 * i + 1]


@lw.kernel
def neighbours(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(1, len(y) - 1):
        y[i] = x[i - 1] + x[i + 1]


@lw.kernel
def quotients(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(y)):
        y[i] = 1 / x[i]


@pytest.mark.parametrize(("kernel", "asked", "width"), [
    (scaled_sum, None, "ymm"),
    (scaled_sum, 512, "zmm"),
    (total, 512, "zmm"),
    (cubic, None, "zmm"),
    (turned, None, "ymm"),
    (every_second, None, "ymm"),
    (every_second, 512, "zmm"),
    (pairs, None, "zmm"),
    (neighbours, None, "zmm"),
    (quotients, None, "zmm"),
])  # fmt: skip
def test_what_is_moved_more_than_computed_takes_half_vectors_unless_a_width_is_asked_for(
    kernel: lw.Kernel, asked: int | None, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = cpu.LEVELS["x86-64-v4"] | {"clzero"}
    monkeypatch.setattr(cpu, "host_features", lambda: had)
    arrays = tuple([lw.Array[lw.f32]] * len(kernel.parameters))
    text = jit.BACKEND.compile(lambda: kernel.stage(kernel.signature(arrays, {})), Settings(vector_bits=asked)).asm()
    assert ("zmm" in text) == (width == "zmm")


@lw.kernel
def reversed_(x: lw.Array, y: lw.Array):
    n = len(y)
    for i in lw.lanes(n):
        y[i] = x[n - 1 - i]


@pytest.mark.skipif(not cpu.host_features() >= cpu.LEVELS["x86-64-v3"], reason="no x86-64 CPU with AVX2")
@pytest.mark.parametrize("element", [lw.u8, lw.i16, lw.f16, lw.u32, lw.f32, lw.i64, lw.f64], ids=str)
def test_lanes_in_the_opposite_order_where_permutations_are_slow(element: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    had = cpu.LEVELS["x86-64-v3"] | {"clzero"}
    monkeypatch.setattr(cpu, "host_features", lambda: had)
    code = reversed_.compile(lw.Array[element], lw.Array[element])
    text = code.asm()
    assert "vperm2f128" in text and not re.search(r"vperm(ps|d|q|pd) ", text)
    for n in (0, 1, 5, 16, 31, 32, 33, 200):
        x, y = np.arange(n).astype(element.dtype), np.zeros(n, element.dtype)
        code(x, y)
        assert np.array_equal(y, x[::-1])


def test_lanes_in_the_opposite_order_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "host_features", lambda: cpu.LEVELS["x86-64-v3"])
    assert "vpermps" in reversed_.compile(lw.Array[lw.f32], lw.Array[lw.f32]).asm()
