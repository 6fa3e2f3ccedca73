"""Arithmetic of f16 by AVX512-FP16: which instructions are chosen. (Results: tests/end_to_end/test_half_arithmetic.py.)"""

from __future__ import annotations

from typing import Any

import pytest
from tests.end_to_end.test_half_arithmetic import moved, ones, totals, twos

import loopwright as lw
from loopwright.compiler import compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir.parse import parse
from loopwright.targets import registry
from loopwright.types import F16

NAME = "x86-64-v4+avx512_fp16"
ARRAY = lw.Array[F16]


def plain(x: lw.Array, y: lw.Array):
    for i in lw.range(len(x)):
        y[i] = x[i] * y[i] + x[i]


def text(kernel: Any, *args: Any, target: str = NAME, **how: Any) -> str:
    return str(kernel.compile(*args, target=target, **how).asm())


@pytest.mark.parametrize("lanes", [True, False])
def test_lanes_and_scalars_have_instructions_of_their_own(lanes: bool) -> None:
    made = text(ones, ARRAY, ARRAY, lanes) + text(twos, ARRAY, ARRAY, ARRAY, lanes)
    # (Remainders take as many lanes as there are of f32.)
    kind = "ph " if lanes else "sh xmm"
    for name in ("vrndscale", "vmul", "vadd", "vsub", "vmin", "vmax") + (() if lanes else ("vsqrt", "vdiv")):
        assert name + kind in made, name
    # Remainders and floors of quotients are computed with f32; roots and quotients of lanes as well, which is faster.
    alone = text(ones, ARRAY, ARRAY, lanes)
    assert alone.count("vcvtph2ps") == alone.count("vsqrtps") == alone.count("vcvtps2ph")


def test_two_roundings_stay_two_unless_fastmath_says_otherwise() -> None:
    assert "vfmadd" not in text(lw.kernel(plain), ARRAY, ARRAY)
    assert "ph zmm" in (fast := text(lw.kernel(plain, fastmath=True), ARRAY, ARRAY)) and "vfmadd" in fast


def test_constants_are_repeated_from_memory() -> None:
    @lw.kernel
    def scaled(x: lw.Array):
        for i in lw.lanes(len(x)):
            x[i] = x[i] * 3 + 0.5

    # 32 lanes; two bytes of either constant, behind one that brings them to an even address, in a register for the whole loop.
    made = text(scaled, ARRAY)
    assert made.count("vpbroadcastw zmm") == 2 and "5 of constants" in made


@pytest.mark.parametrize(("type_", "back"), [(lw.i16, 4), (lw.u16, 3), (lw.i32, 4), (lw.u32, 3), (lw.i64, 4), (lw.u64, 3), (lw.f32, 1), (lw.f64, 1)], ids=str)
def test_conversions_of_lanes_go_by_way_of_nothing(type_: Any, back: int) -> None:
    assert lw.supports("f16", type_, target=NAME, lanes=True).instructions == 1
    # What is NaN, or too large, is mended.
    assert lw.supports(type_.name, F16, target=NAME, lanes=True).instructions == back


def test_conversions_of_scalars_are_one_instruction_behind_one_that_clears() -> None:
    # (The upper part of the register is cleared before, so that nothing old is waited for.)
    for type_ in (lw.i32, lw.i64, lw.u32, lw.u64, lw.f32, lw.f64):
        assert lw.supports("f16", type_, target=NAME).instructions == 2, type_
    for type_ in (lw.f32, lw.f64):
        assert lw.supports(type_.name, F16, target=NAME).instructions == 2, type_


def test_totals_are_added_up_as_f32_and_extremes_as_they_are() -> None:
    made = text(totals, ARRAY, F16, ARRAY)
    assert "vcvtph2psx zmm" in made and "vminph zmm" not in made and "vminph ymm" in made


def test_lanes_are_moved_as_words() -> None:
    made = text(moved, ARRAY, ARRAY, lw.Array[lw.i32], ARRAY)
    assert "vpermt2w" in made and "vpermw" in made


def test_without_the_extension_no_f16_is_computed_with() -> None:
    stage = lw.kernel(plain).compile(ARRAY, ARRAY, target=NAME).ir("addresses")
    assert "mul.f16x32" in stage
    f = parse(stage)
    with pytest.raises(UnsupportedOperationError, match="holds float16, which x86-64-v4 does not compute with"):
        compile(f, registry.get("x86-64-v4"))


def test_the_feature_is_part_of_the_name() -> None:
    target = registry.get(NAME)
    assert target.name == NAME and target.half_operations
    assert not registry.get("x86-64-v4").half_operations
    with pytest.raises(Exception, match="avx512_fp16"):
        registry.get("x86-64-v3+avx512_fp16")
