"""What steps take is the same by ``lw.steps`` and as text, loops in one line are told apart, and no step makes more code than is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.parse import parse
from loopwright.ir.schedule import parse_steps
from loopwright.nests.schedule import MOST_INSTRUCTIONS
from loopwright.steps import fuse, interchange, lanes, skew, tile, unroll, unroll_and_jam

V3 = "x86-64-v3"
V4 = "x86-64-v4"


@lw.kernel(contract=False)
def below(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for row in lw.range(1, a.shape[0] - 1):
        for col in lw.range(1, a.shape[1] - 1):
            a[row, col] = a[row - 1, col] * 0.5 + b[row, col]


@lw.kernel(contract=False)
def slanted(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for row in lw.range(1, a.shape[0]):
        for col in lw.range(1, a.shape[1]):
            a[row, col] = a[row - 1, col] + a[row, col - 1] + b[row, col]


@lw.kernel
def written_out(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in range(3):
        for j in lw.range(a.shape[1]):
            a[i, j] = b[i, j] + 1


@lw.kernel
def written_out_inside(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0] // 2):
        for k in range(2):
            for j in lw.range(a.shape[1]):
                a[2 * i + k, j] = b[2 * i + k, j] + 1


def line_of(kernel: Any, number: int) -> int:
    """The line of a kernel's text, counted from that of its ``def``."""
    return int(kernel.function.__code__.co_firstlineno) + 1 + number


def loops_of(code: Any) -> list[str]:
    """The heads of the loops that a kernel has behind the pass."""
    return [row.partition(";")[0] for row in code.ir("nests").splitlines() if " = for " in row]


def same(code: Any, kernel: Any) -> None:
    """A kernel computes what it is written to."""
    if not code.address:
        return
    for extents in ((4, 5), (13, 17), (20, 40)):
        given = [np.random.default_rng(k).random(extents).astype(p.type.dtype) for k, p in enumerate(kernel.parameters)]
        wanted = [a.copy() for a in given]
        code(*given)
        kernel.function(*wanted)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


# --- one check for both ways


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *[(f"{name}(i={number})", "takes a whole number from 2") for name in ("tile", "unroll", "unroll_and_jam", "skew") for number in (-3, 0, 1, 99999999)],
        *[(f"{name}()", "it takes loops with numbers") for name in ("tile", "unroll", "unroll_and_jam")],
        *[(f"{name}(i)", "it takes loops with numbers") for name in ("tile", "unroll", "unroll_and_jam")],
        *[(f"{name}(i=2, i=3)", "i is given twice") for name in ("tile", "unroll", "unroll_and_jam")],
        *[(f"lanes({loops})", "it takes one loop, as in") for loops in ("", "i, j", "j=4")],
        *[(f"{name}({loops})", "it takes two loops, as in") for name in ("interchange", "fuse") for loops in ("", "i", "i, j, i", "i=2, j=3")],
        *[(f"skew({given})", "it takes one loop with a number") for given in ("", "i", "slant=1", "i=4, j=4", "i=4, foo=2")],
        *[(f"skew(i=4, {name}=-4)", f"skew\\({name}=…\\) takes a whole number from 0") for name in ("slant", "lanes", "rest", "short")],
        ("skew(i=4, slant=1, slant=2)", "slant is given twice"),
        *[(f"pipeline({given})", "it takes one loop, and the interval") for given in ("", "i, j", "j=4", "ii=3", "j, foo=3")],
        ("pipeline(j, ii=-3)", "takes a whole number from 0"),
        *[(f"lanes({name})", "takes the name of a loop's index") for name in ("1", "i@", "@5", "i@-5", "i@x", "i@0", "i@5.0", "i@5.", "i,")],
        ("twist(i)", "there is no step twist; there are fuse, interchange"),
    ],
)
def test_text_is_refused_as_steps_are(text: str, says: str) -> None:
    with pytest.raises(lw.ScheduleError, match=says):
        parse_steps(text)
    with pytest.raises(lw.ParseError, match=says):
        parse(f'function f()\n  option schedule "{text}"\nend\n')


@pytest.mark.parametrize(
    "make",
    [
        lambda: skew({"i": 4, "j": 4}),
        lambda: tile(i=0),
        lambda: lanes("i@0"),
        lambda: unroll({"i@3.0": 4}),
        lambda: skew(i=4, lanes=-4),
    ],
)
def test_steps_are_refused_as_text_is(make: Any) -> None:
    with pytest.raises(lw.ScheduleError):
        make()


def test_numbers_that_say_nothing_are_left_out() -> None:
    assert parse_steps("skew(slant=0, short=2, lanes=4, i=8)") == (skew(i=8, lanes=4, short=2),)
    assert parse_steps("pipeline(j, ii=0)") == (lw.steps.pipeline("j"),)


def test_a_loop_is_given_one_number() -> None:
    line = line_of(below, 1)
    with pytest.raises(lw.ScheduleError, match=f"row and row@{line} are one loop"):
        below.schedule(tile({"row": 4, f"row@{line}": 8})).compile(target=V3)
    # (A loop over tiles is another.)
    same(below.schedule(tile(row=8), unroll({"row": 2, "row.tiles": 2})).compile(target=V3), below)


def test_steps_are_named_as_written() -> None:
    with pytest.raises(lw.ScheduleError, match=r"fuse\(row, x\): there is no loop over x"):
        below.schedule(fuse("row", "x")).compile(target=V3)


# --- lanes of rows


@pytest.mark.parametrize("kernel", [below, slanted], ids=["below", "slanted"])
@pytest.mark.parametrize("target", [V3, V4])
def test_rows_are_in_a_power_of_two_of_lanes(kernel: Any, target: str) -> None:
    most = (256 if target == V3 else 512) // kernel.parameters[0].type.bits
    for number in range(2, 18):
        step = skew(row=2 * number, lanes=number)
        if number in (2, 4, 8, 16) and number <= most:
            same(kernel.schedule(step).compile(target=target), kernel)
            continue
        with pytest.raises(lw.ScheduleError, match=f"{target} has a power of two of lanes, {most} at most, not {number}"):
            kernel.schedule(step).compile(target=target)


def test_rows_fill_whole_vectors() -> None:
    with pytest.raises(lw.ScheduleError, match="6 rows are no whole number of vectors of 4 lanes"):
        slanted.schedule(skew(row=6, lanes=4)).compile(target=V3)
    with pytest.raises(lw.ScheduleError, match="has no lanes for what it computes"):
        slanted.schedule(skew(row=8, lanes=4)).compile(target="rv64gc")


# --- loops in one line


@pytest.mark.parametrize("which", [1, 2, 3])
def test_loops_in_one_line_are_told_by_numbers(which: int) -> None:
    line = line_of(written_out, 2)
    for name in ("j", f"j@{line}"):
        with pytest.raises(lw.ScheduleError, match=f"3 loops are called {name}, in lines {line}, {line}, {line}: .* as in 'j@{line}.1' for the first"):
            written_out.schedule(lanes(name)).compile(target=V3)
    code = written_out.schedule(lanes(f"j@{line}.{which}")).compile(target=V3)
    heads = loops_of(code)
    assert [" lanes" in head for head in heads].count(True) == 1 and not any("@" in head for head in heads)
    assert [nest.done for nest in code.nests()] == [[f"lanes(j@{line}.{which})"] if k == which else [] for k in (1, 2, 3)]
    if code.address:
        a, b = np.zeros((3, 21)), np.random.default_rng(1).random((3, 21))
        code(a, b)
        np.testing.assert_array_equal(a, b + 1)
    with pytest.raises(lw.ScheduleError, match=f"there is no loop over j@{line}.4"):
        written_out.schedule(lanes(f"j@{line}.4")).compile(target=V3)


def test_a_number_stays_with_its_loop() -> None:
    """What is made of the first loop does not count when the second is named."""
    line = line_of(written_out_inside, 3)
    first, second = f"j@{line}.1", f"j@{line}.2"
    tiles = f"j.tiles@{line}.2"
    kernel = written_out_inside.schedule(unroll({first: 3}), tile({second: 4}), unroll({second: 2, tiles: 3}))
    code = kernel.compile(target=V3)
    heads = [head for head in loops_of(code) if "%j" in head][:8]
    assert not any("@" in head for head in heads)
    # The first in threes and what is left; of the second three tiles at once, the first of them in twos and what is left, and the tiles that are left.
    steps = [int(head.rsplit(",", 1)[1]) for head in heads]
    assert steps == [3, 1, 12, 2, 1, 1, 1, 4]
    assert [k for k, head in enumerate(heads) if "%j.tiles" in head.partition("=")[0]] == [2, 7]
    same(code, written_out_inside)


# --- how much code steps make


@pytest.mark.parametrize("step", [unroll(row=1 << 20), unroll_and_jam(row=1 << 20), skew(row=1 << 20, slant=1), skew(row=1 << 20, lanes=4)], ids=str)
def test_steps_do_not_make_more_code_than_is_allowed(step: Any) -> None:
    with pytest.raises(
        lw.ScheduleError, match=rf"1048576 times the \d+ instructions in the loop over row would be \d+; no more than {MOST_INSTRUCTIONS} are made"
    ):
        below.schedule(step).compile(target=V3)


def test_steps_add_up() -> None:
    with pytest.raises(lw.ScheduleError, match=f"no more than {MOST_INSTRUCTIONS} are made"):
        below.schedule(*[unroll(col=64)] * 3).compile(target=V3)
    assert interchange("row", "col") in below.schedule(interchange("row", "col"), unroll(col=64)).steps
