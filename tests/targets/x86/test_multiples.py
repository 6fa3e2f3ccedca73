"""Multiples of scalar integers, and sums of them: LEA instead of multiplications, where it does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler, jit
from loopwright.ir.interpret import run
from loopwright.ir.text import parse, print_function
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.types import Type, limits

NAMES = {"i32": lw.i32, "u32": lw.u32, "i64": lw.i64, "u64": lw.u64}
NUMBERS = (0, 1, 7, -3, 123456789, -(1 << 31), (1 << 31) - 1)


def wrapped(value: int, type_: Type) -> int:
    """A number modulo the type's."""
    low = value & (1 << type_.bits) - 1
    return low - (1 << type_.bits) if low > limits(type_)[1] else low


def kernel(statement: str, element: str) -> lw.Kernel:
    """A function of two numbers, whose results go into an array."""
    source = f"def f(a: lw.{element}, b: lw.{element}, c: lw.Array[lw.{element}]):\n    {statement}\n"
    space: dict[str, object] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the statement above)
    return lw.kernel(space["f"], source=source)


@pytest.mark.parametrize("element", list(NAMES))
@pytest.mark.parametrize("factor", [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 24, 36, 40, 72, 80, 96, 100, -5, -10, 1 << 20])
def test_products_and_sums_of_them(factor: int, element: str) -> None:
    if factor < 0 and element[0] == "u":
        pytest.skip("a negative number of no sign")
    type_ = NAMES[element]
    made = kernel(f"c[0] = b * {factor}; c[1] = a + b * {factor}; c[2] = (a - 48) + (b + 1) * {factor}", element)
    code = made.compile()
    text = code.asm()
    plain = factor > 0 and factor >> ((factor & -factor).bit_length() - 1) in (1, 3, 5, 9)
    assert ("imul" in text) == (not plain)
    for x in NUMBERS:
        for y in NUMBERS:
            a, b = wrapped(x, type_), wrapped(y, type_)
            c = np.zeros(3, type_.dtype)
            code(a, b, c)
            wanted = [b * factor, a + b * factor, a - 48 + (b + 1) * factor]
            assert [int(v) for v in c] == [wrapped(v, type_) for v in wanted], (a, b)


def test_a_sum_of_a_multiple_is_one_operation() -> None:
    text = "function f(%a: i64, %b: i64) -> i64\n  %m = mul.i64 %b, 40\n  %s = add.i64 %m, %a\n  ret %s\nend\n"
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), after="select")
    made = print_function(f)
    assert re.search(r"= mul.i64 %b, 5\n.*= add_scaled.i64 %a, %\S+, 8\n", made), made
    assert print_function(parse(made)) == made
    assert run(f, 7, 3) == 127


@pytest.mark.parametrize(
    "body",
    [
        "%m = shl.i64 %b, 1\n %s = add.i64 %m, %m\n ret %s",
        "%m = shl.i64 %b, 4\n %s = add.i64 %m, %a\n ret %s",
        "%m = shl.i64 %b, 1\n %s = add.i64 %m, %a\n %t = xor.i64 %s, %m\n ret %t",
        (
            "var %v: i64\n var %t: i64\n %v = copy.i64 %b\n %t = copy.i64 0\n %i = for 0, %a, 1\n %m = shl.i64 %v, 1\n %v = xor.i64 %v, %b\n %s = add.i64 %m, %v\n"
            " %t = xor.i64 %t, %s\n end\n ret %t"
        ),
    ],
)
def test_what_stays_a_sum(body: str) -> None:
    text = f"function f(%a: i64, %b: i64) -> i64\n {body}\nend\n"
    before = run(parse(text), 5, 3)
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), after="select")
    assert "add_scaled" not in print_function(f)
    assert run(f, 5, 3) == before


@pytest.mark.parametrize(
    "body",
    [
        # Several read it, under another type.
        "%m = shl.i64 %b, 1\n %u = convert.u64.i64 %m\n %s = add.u64 %u, %c\n %t = xor.u64 %s, %u\n %r = convert.i64.u64 %t",
        # It wraps at 32 bits.
        "%n = convert.u32.i64 %b\n %m = shl.u32 %n, 3\n %w = convert.i64.u32 %m\n %r = add.i64 %w, %a",
        "%n = convert.u32.i64 %b\n %m = mul.u32 %n, 40\n %w = convert.i64.u32 %m\n %r = add.i64 %w, %a",
        "%m = shl.i64 %b, 3\n %n = convert.u32.i64 %m\n %d = convert.u32.i64 %a\n %s = add.u32 %n, %d\n %r = convert.i64.u32 %s",
    ],
)
def test_multiples_that_are_read_under_another_type(body: str) -> None:
    text = f"function f(%a: i64, %b: i64, %c: u64) -> i64\n {body}\n ret %r\nend\n"
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), after="select")
    code = jit.BACKEND.compile(lambda: parse(text), Settings(target="x86-64-v3"))
    for a, b, c in ((5, 3, 7), (-1, 0x7FFFFFFF, 1), (3, 0xFFFFFFFF, 9), (0, -12345678901, 4)):
        wanted = run(parse(text), a, b, c)
        assert run(f, a, b, c) == wanted
        assert code(a, b, c) == wanted
