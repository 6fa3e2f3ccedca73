"""The expand pass: what a machine needs sequences for, early enough to be simplified."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.targets import registry
from loopwright.types import U32


def rounded(clamped: bool, fastmath: bool = False, target: str = "x86-64-v3", after: str = "simplify") -> Function:
    """A loop over lanes that stores floats as bytes, clamped by the program or not, after a pass."""
    option = "option fastmath\n" if fastmath else ""
    clamps = "%2 = max.f32x8 %1, 0.0\n%3 = min.f32x8 %2, 255.0\n" if clamped else "%3 = copy.f32x8 %1\n"
    f = parse(
        f"""function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
{option}array x: f32[%x.n0] at %x
array y: u8[%y.n0] at %y written
%i = for 0, %x.n0, 8
%1 = load.f32x8 x[%i]
{clamps}%4 = convert.u8x8.f32x8 %3
store.u8x8 %4, y[%i]
end
end
"""
    )
    verify(f)
    made = run_passes(f, registry.get(target), after=after)
    verify(made)
    return made


def counted(f: Function, *wanted: ops.Op) -> list[int]:
    return [sum(instr.op is op for instr in f.code) for op in wanted]


WATCHED = (ops.MAX, ops.MIN, ops.CONVERT_UNCHECKED, ops.CONVERT)


def test_floats_are_clamped_once_whoever_does_it() -> None:
    assert counted(rounded(False), *WATCHED) == [1, 1, 1, 1]
    assert counted(rounded(True), *WATCHED) == [1, 1, 1, 1]


def test_fastmath_clamps_nothing() -> None:
    # The conversion left is that of an i32 to a u8.
    assert counted(rounded(False, fastmath=True), *WATCHED) == [0, 0, 1, 1]


def test_bounds_are_made_in_front_of_the_loop() -> None:
    f = rounded(False, after="immediates")
    opened = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    inside = next(k for k, instr in enumerate(f.code) if instr.op is ops.MIN)
    assert opened < inside
    assert all(a >= 0 for instr in f.code[opened:] if instr.op in (ops.MIN, ops.MAX) for a in instr.args)
    assert not any(instr.op is ops.COPY for instr in f.code[opened:])


@pytest.mark.parametrize("target", ["rv64gc", "aarch64-neon"])
def test_a_machine_that_saturates_by_itself_clamps_the_integer(target: str) -> None:
    f = parse("function f(%a: f64) -> u8\n  %r = convert.u8.f64 %a\n  ret %r\nend\n")
    made = run_passes(f, registry.get(target), after="simplify")
    assert counted(made, *WATCHED) == [0, 1, 0, 2]
    assert [instr.type for instr in made.code if instr.op is ops.MIN] == [U32]


def test_rounding_by_integers_leaves_its_bound_in_front_of_the_loop() -> None:
    made = in_loop("%2 = floor.f64 %1", "f64", "rv64gc", "immediates")
    assert ops.CONVERT_DOWN in made and ops.COPY_SIGN in made and ops.FLOOR not in made
    assert ops.COPY not in made


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("clamped", [False, True])
def test_the_sequence_means_what_the_conversion_does(target: str, clamped: bool) -> None:
    x = np.array([0.0, -0.0, 254.9, 255.0, 255.9, 256.0, 1e30, -1e30, np.inf, -np.inf, np.nan, -0.9, -1.0, 127.5, 3.0, 1.0], np.float32)
    want = [0, 0, 254, 255, 255, 255, 255, 0, 255, 0, 0, 0, 0, 127, 3, 1]
    for after in ("collect", "expand", "simplify", "select"):
        y = np.zeros(16, np.uint8)
        run(rounded(clamped, target=target, after=after), x, y)
        assert y.tolist() == want, after


def in_loop(body: str, type_: str, target: str, after: str) -> list[ops.Op]:
    """The operations inside a loop over an array, after a pass."""
    f = parse(
        f"""function f(%x: ptr, %x.n0: i64)
array x: {type_.split("x")[0]}[%x.n0] at %x written
%i = for 0, %x.n0, {type_.split("x")[1] if "x" in type_ else 1}
%1 = load.{type_} x[%i]
{body}
store.{type_} %2, x[%i]
end
end
"""
    )
    made = run_passes(f, registry.get(target), after=after)
    verify(made)
    loop = next(k for k, instr in enumerate(made.code) if instr.op in (ops.FOR, ops.LOOP))
    return [instr.op for instr in made.code[loop:]]


@pytest.mark.parametrize("target", ["x86-64-v3", "rv64gc"])
@pytest.mark.parametrize("op", ["div_floor", "rem_floor", "div_trunc", "rem_trunc"])
def test_division_by_a_constant_divides_nothing(target: str, op: str) -> None:
    divisions = {ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR}
    for type_, divisor in [("i32", 10), ("u32", 7), ("i8", -3), ("u16", 1000), ("i64", 64), ("i64", -8), ("u64", 1 << 40), ("i64", 7), ("u64", 641)]:
        if divisor > 0 or type_[0] == "i":
            assert not divisions.intersection(in_loop(f"%2 = {op}.{type_} %1, {divisor}", type_, target, "select")), (type_, divisor)
    # The factor is made once, in front of the loop.
    assert ops.COPY not in in_loop(f"%2 = {op}.i32 %1, 10", "i32", target, "immediates")


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
@pytest.mark.parametrize("op", ["div_floor", "rem_floor", "div_trunc", "rem_trunc"])
def test_division_of_lanes_by_a_constant_divides_nothing(target: str, op: str) -> None:
    divisions = {ops.DIV, ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR}
    for type_, divisor in [
        ("i32x4", 10),
        ("u32x4", 7),
        ("i8x16", -3),
        ("u8x16", 100),
        ("i16x8", 641),
        ("u16x8", 1000),
        ("i64x2", 64),
        ("i64x2", -8),
        ("i64x2", 7),
    ]:
        assert not divisions.intersection(in_loop(f"%2 = {op}.{type_} %1, {divisor}", type_, target, "select")), (type_, divisor)
    # The factor is made once, in front of the loop.
    assert ops.COPY not in in_loop(f"%2 = {op}.i32x4 %1, 10", "i32x4", target, "immediates")


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_a_quotient_of_lanes_and_what_it_leaves_take_one_division(target: str) -> None:
    body = "%5 = load.i16x8 x[0]\n%3 = div_floor.i16x8 %1, %5\n%4 = rem_floor.i16x8 %1, %5\n%2 = sub.i16x8 %3, %4"
    assert in_loop(body, "i16x8", target, "simplify").count(ops.DIV) == 1


def test_what_avx2_lacks_leaves_its_constants_in_front_of_the_loop() -> None:
    for body in ("%2 = abs.i64x4 %1", "%2 = max.u64x4 %1, %1"):
        type_ = body.split(".")[1].split()[0]
        assert ops.COPY not in in_loop(body, type_, "x86-64-v3", "loops")
    # Two comparisons flip the top bits of what both read only once.
    body = "%3 = gt.u64x4 %1, 7\n%4 = lt.u64x4 %1, 100\n%5 = and.mask64x4 %3, %4\n%2 = select.u64x4 %5, %1, 0"
    assert in_loop(body, "u64x4", "x86-64-v3", "immediates").count(ops.XOR) == 1
