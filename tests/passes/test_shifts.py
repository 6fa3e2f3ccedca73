"""Shifts by counts that a loop does not change: what too great a count takes stands in front of it, and the results are the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.passes.texts import block, rewritten

import loopwright as lw
from loopwright.passes import shifts

HEAD = "function f(%a: ptr, %a.n0: i64, %n: u32, %k: i32) -> u32\n  array a: u32[%a.n0] at %a\n  var %s: u32\n  var %t: u32\n"
PASS = SimpleNamespace(run=lambda f, target: shifts.run(f))


def loop(body: str) -> str:
    return f"%s = copy.u32 0\n%t = copy.u32 %n\n%i = for 0, %a.n0, 1\n%1 = load_at.u32 [%a + %i*4]{{of a}}\n{body}\nend\nret %s"


def made(body: str) -> str:
    return rewritten(f"{HEAD}{loop(body)}\nend", PASS)


def kept(body: str) -> bool:
    return made(body) == block(loop(body))


def test_the_bits_that_can_be_left_are_a_mask_of_their_own() -> None:
    for op in ("shl", "shr"):
        assert made(f"%2 = {op}.u32 %1, %n\n%s = add.u32 %s, %2") == block(
            loop(f"%3 = {op}.u32 4294967295, %n\n%4 = {op}_modulo.u32 %1, %n\n%2 = and.u32 %4, %3\n%s = add.u32 %s, %2")
        )


def test_where_the_sign_comes_in_the_count_is_kept_below_the_width() -> None:
    assert made("%2 = convert.i32.u32 %1\n%3 = shr.i32 %2, %k\n%4 = convert.u32.i32 %3\n%s = add.u32 %s, %4") == block(
        loop(
            "%2 = convert.i32.u32 %1\n%5 = convert.u32.i32 %k\n%6 = min.u32 %5, 31\n%7 = convert.i32.u32 %6\n%3 = shr_modulo.i32 %2, %7\n"
            "%4 = convert.u32.i32 %3\n%s = add.u32 %s, %4"
        )
    )


def test_what_is_kept_of_what_is_left_is_known_in_front_of_the_loop() -> None:
    text = made("%2 = shr.u32 %1, %n\n%3 = and.u32 %2, 255\n%s = add.u32 %s, %3")
    assert "_modulo" in text and text.count("and.u32") == 3


def test_counts_that_change_or_are_known_to_be_small_stay() -> None:
    assert kept("%2 = shr.u32 %1, %t\n%t = add.u32 %t, 1\n%s = add.u32 %s, %2")
    assert kept("%2 = shr.u32 %n, %1\n%s = add.u32 %s, %2")
    assert kept("%2 = shr.u32 %1, 3\n%s = add.u32 %s, %2")
    assert kept("%2 = and.u32 %n, 31\n%3 = shr.u32 %1, %2\n%s = add.u32 %s, %3")
    assert not kept("%2 = and.u32 %n, 63\n%3 = shr.u32 %1, %2\n%s = add.u32 %s, %3")
    # A choice would wait for a comparison that stays in the loop.
    assert kept("%2 = lt.u32 %n, 5\n%3 = select.u32 %2, %n, 5\n%4 = shr.u32 %1, %3\n%s = add.u32 %s, %4")


def test_what_an_outer_loop_counts_is_the_same_in_an_inner_one() -> None:
    inner = "%j = for 0, %a.n0, 1\n%5 = load_at.u32 [%a + %j*4]{of a}\n%2 = shr.u32 %5, %1\n%s = add.u32 %s, %2\nend"
    assert "shr_modulo" in made(inner)
    assert kept(inner.replace("%s = add", "%t = add").replace("shr.u32 %5, %1", "shr.u32 %5, %t"))


MOVED = """def moved(x: lw.Array[lw.TYPE], y: lw.Array[lw.TYPE], z: lw.Array[lw.TYPE], n: lw.TYPE):
    for i in range(len(x)):
        y[i] = x[i] << n
        z[i] = (x[i] >> n) & 12345
"""


@pytest.mark.parametrize("runner", runners())
def test_all_counts_give_what_numpy_gives(runner: Runner) -> None:
    for element in (lw.i32, lw.u32, lw.i64, lw.u64):
        type_ = np.dtype(element.dtype)
        bits = type_.itemsize * 8
        source = MOVED.replace("TYPE", element.name)
        space: dict[str, Any] = {"lw": lw}
        exec(source, space)  # noqa: S102
        array = lw.Array[element]  # type: ignore[valid-type]
        code = runner.compiled(lw.kernel(space["moved"], source=source, nests="off"), array, array, array, element)
        x = np.random.default_rng(3).integers(np.iinfo(type_).min, np.iinfo(type_).max, 9, dtype=type_)
        for count in (0, 7, bits - 1, bits, bits + 1, -1 if type_.kind == "i" else 2**bits - 1):
            y, z = np.zeros_like(x), np.zeros_like(x)
            runner.call(code, x, y, z, count)
            places = type_.type(count)
            assert np.array_equal(y, x << places) and np.array_equal(z, (x >> places) & type_.type(12345)), (element, count)


def test_a_loop_does_not_look_at_such_a_count() -> None:
    @lw.kernel
    def counted(x: lw.Array[lw.u32], table: lw.Array[lw.i32], places: lw.i64):
        for i in range(len(x)):
            table[(x[i] >> lw.u32(places)) & 255] += 1

    text = counted.compile(lw.Array[lw.u32], lw.Array[lw.i32], lw.i64, target="x86-64-v3").asm()
    inner = text[text.rindex("shrx") :]
    assert "sbb" not in inner and inner.count(" and ") == 1
