"""Nests with more accesses than can be told apart: the loops in them are looked at by themselves, and inner loops that go along rows need no equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def much_beside(a: lw.Array[lw.i64, 2], b: lw.Array[lw.i64, 1], c: lw.Array[lw.i64, 1]):
    for t in range(a.shape[0]):
        for k in range(b.shape[0]):
            b[k] = b[k] + a[t, k] * 3
        # (More than 250 accesses, when it is written out.)
        for i in range(1, 14):
            for j in range(i):
                c[i] = c[i] + c[j] * (b[i] ^ j)
            for j in range(i):
                c[j] = (c[j] - b[j]) ^ c[i]


@lw.kernel(contract=False)
def tiles(a: lw.Array[lw.i64, 4], c: lw.Array[lw.i64, 2]):
    for p in range(a.shape[0]):
        for q in range(p):
            for u in range(4):
                for v in range(4):
                    for r in range(c.shape[1]):
                        c[4 * p + u, r] -= a[p, q, u, v] * c[4 * q + v, r]


@lw.kernel(contract=False)
def rows_handed_down(c: lw.Array[lw.i64, 2], at: lw.Array[lw.i64, 1]):
    """Rows that are looked up may be any; along them nothing goes from one element to another but where it says so."""
    for i in range(at.shape[0]):
        for r in range(c.shape[1]):
            c[at[i], r] = c[i, r] * 3 + c[at[i], r]
        for r in range(1, c.shape[1]):
            c[at[i], r] = c[i, r - 1] + c[at[i], r]


def given_for(kernel: Any, size: int) -> list[np.ndarray]:
    r = np.random.default_rng(size)
    if kernel is much_beside:
        return [r.integers(-9, 9, shape) for shape in ((size, size + 20), (size + 20,), (20,))]
    if kernel is tiles:
        return [r.integers(-2, 3, shape) for shape in ((size, size, 4, 4), (4 * size, size + 3))]
    return [r.integers(-9, 9, (size, 2 * size)), r.integers(0, size, size)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", [much_beside, tiles, rows_handed_down], ids=lambda kernel: kernel.function.__name__)
def test_as_written(kernel: Any, runner: Runner) -> None:
    for size in (1, 2, 5, 13):
        given = given_for(kernel, size)
        wanted = [a.copy() for a in given]
        with np.errstate(over="ignore"):
            kernel.function(*wanted)

        def same(_: Any, given: Any = given, wanted: Any = wanted) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(runner.compiled(kernel), given, same)


def test_the_loops_inside_are_nests() -> None:
    nests = str(much_beside.compile(target="x86-64-v4").nests())
    large, inner = nests.split("nest of line")[1:3]
    assert "its accesses are too many to tell apart" in large and "lanes(k)" in inner and "over k" in inner


def test_along_rows_no_equations_are_needed() -> None:
    assert "lanes(r)" in str(tiles.compile(target="x86-64-v4").nests())
    report = str(rows_handed_down.compile(target="x86-64-v4").nests())
    assert "c[i, r - 1]" in report


@lw.kernel
def any_rows(c: lw.Array[lw.i64, 2], at: lw.Array[lw.i64, 2]):
    for i in range(at.shape[0]):
        p = at[i, 0]
        q = at[i, 1]
        s = at[i, 2]
        for r in range(c.shape[1]):
            c[p, r] = c[q, r] + 1
            c[s, r] = c[i, r] ^ c[p, r]
            c[q, r] = c[s, r] - c[i, r]
            c[i, r] = c[p, r] + c[q, r]


def test_rows_that_may_be_one() -> None:
    for seed in range(30):
        r = np.random.default_rng(seed)
        rows, columns = int(r.integers(1, 6)), int(r.integers(1, 60))
        found, at = r.integers(-9, 9, (rows, columns)), r.integers(0, rows, (rows, 3))
        wanted = found.copy()
        any_rows.function(wanted, at)
        any_rows(found, at)
        np.testing.assert_array_equal(found, wanted)
