"""The pass ``ways``: paragraphs that ask more than once mean what those mean that ask one after the other."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.interpret import Interpreter
from loopwright.runtime.emulate import run_many

NAMES = ("multiclet-r1", "multiclet-s1", "multiclet-s2")
ARRAY = lw.Array[lw.i64]


@lw.kernel(nests="off")
def three(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    if a > 3:
        x[0] = a
        return a + b
    if b < a:
        x[1] = b
        return b * 3
    x[2] = c
    return c - a


@lw.kernel(nests="off")
def on_the_other_side(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    if a > 3:
        if b + c < a:
            x[0] += b
            if c - 2 > b:
                x[3] += 1
        else:
            x[1] += c
    else:
        x[2] -= a
    return x[0] + a


@lw.kernel(nests="off")
def to_one_place(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    found = lw.i64(7)
    if a > 3:
        x[0] = 1
    elif b > 2:
        x[0] = 1
        found = b
    else:
        x[1] = c
        found = c
    return found + x[0]


@lw.kernel(nests="off")
def in_a_loop(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    total = lw.i64(0)
    for i in range(len(x)):
        v = x[i]
        if v > a:
            x[i] = v - b
            continue
        if v == b:
            x[i] = 0
            break
        if v + i > c:
            total += x[i - 1 if i > 0 else 0]
        else:
            x[i] = total
        total = total * 3 + v
    return total


@lw.kernel(nests="off")
def four_in_a_row(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    if a == 1:
        x[0] = 1
    elif a == 2:
        x[1] = 2
    elif b == 3:
        x[2] = 3
    elif c == 4:
        x[3] = 4
    elif a == b:
        x[4] = 5
    else:
        x[5] = 6
    return x[0] + x[1] + x[2] + x[3] + x[4] + x[5]


@lw.kernel(nests="off")
def two_ways_to_what_asks_again(x: ARRAY, a: lw.i64, b: lw.i64, c: lw.i64) -> lw.i64:
    if a > 3 or b > 2:
        if c > 4:
            x[0] += 5
        else:
            x[1] += c
    else:
        x[2] += a
    return x[0] + x[1] * 3 - x[2]


KERNELS = [two_ways_to_what_asks_again, three, on_the_other_side, to_one_place, in_a_loop, four_in_a_row]


def compiled(kernel: Any, name: str, *without: str) -> Any:
    return kernel.compile(ARRAY, lw.i64, lw.i64, lw.i64, target=name, prove=True, passes=[lw.without(each) for each in without])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_all_ways_are_gone(kernel: Any, name: str) -> None:
    codes = [
        compiled(kernel, name),
        compiled(kernel, name, "joined"),
        compiled(kernel, name, "registers", "phis"),
        compiled(kernel, name, "choices"),
        compiled(kernel, name, "ways"),
    ]
    values = list(itertools.product((-1, 1, 2, 4, 9), (0, 3, 4), (-2, 4, 6)))
    for code in codes:
        mine = [np.arange(8, dtype=np.int64) for _ in values]
        theirs = [x.copy() for x in mine]
        found = run_many([(code, (x, *each)) for x, each in zip(mine, values, strict=True)])
        assert found == [Interpreter(code.compiled.source).call(x, *each) for x, each in zip(theirs, values, strict=True)]
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def paragraphs(code: Any) -> int:
    return len(code.compiled.machine.unit.paragraphs)


@pytest.mark.parametrize("name", NAMES)
def test_what_asks_again_is_no_paragraph_of_its_own(name: str) -> None:
    for kernel in (three, on_the_other_side, four_in_a_row):
        assert paragraphs(compiled(kernel, name)) < paragraphs(compiled(kernel, name, "ways")), kernel
    # Most paragraphs have two jumps, some three and more.
    jumps = [sum(c.row.effect == "jump" for c in p.commands) for p in compiled(four_in_a_row, name).compiled.machine.unit.paragraphs]
    assert max(jumps) >= 3


@lw.kernel(nests="off")
def of_floats(x: lw.f64, y: lw.f64) -> lw.i64:
    if not (x < y):
        return lw.i64(x == y)
    if x * y > 4.0:
        return lw.i64(2)
    return lw.i64(3)


@pytest.mark.parametrize("name", NAMES)
def test_floats_that_are_no_numbers(name: str) -> None:
    code = of_floats.compile(target=name, prove=True)
    for x, y in itertools.product((0.0, -3.0, 5.0, math.inf, math.nan), repeat=2):
        assert code.emulate(x, y) == Interpreter(code.compiled.source).call(x, y), (x, y)


def test_what_has_effects_or_takes_long_stays_where_it_is() -> None:
    @lw.kernel(nests="off")
    def loads(x: ARRAY, a: lw.i64) -> lw.i64:
        if a < 0:
            x[0] = 1
            return a
        if x[a] > 2:
            x[1] = 2
            return a + 1
        return lw.i64(3)

    @lw.kernel(nests="off")
    def waits(x: ARRAY, a: lw.i64, b: lw.f64) -> lw.i64:
        if a < 0:
            x[0] = 1
            return a
        if b * b + b > 2.0:
            x[1] = 2
            return a + 1
        return lw.i64(3)

    for kernel, types in ((loads, (ARRAY, lw.i64)), (waits, (ARRAY, lw.i64, lw.f64))):
        with_them, without = (kernel.compile(*types, target="multiclet-s2", passes=passes) for passes in ([], [lw.without("ways")]))
        assert with_them.bytes == without.bytes, kernel
