"""Loops over rows whose lengths are found anew for each: in lanes where they are long enough, as written otherwise, and right for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True)
def sums(p: lw.Array[lw.i32], v: lw.Array[lw.f32], w: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for r in lw.range(p.shape[0] - 1):
        s = lw.f32(0)
        for j in lw.range(p[r], p[r + 1]):
            s += v[j] * w[j]
        y[r] = s


@lw.kernel(fastmath=True)
def scaled(p: lw.Array[lw.i32], v: lw.Array[lw.f32], w: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """Two of them beside each other, the second of known length."""
    first = lw.i64(0)
    for r in lw.range(p.shape[0] - 1):
        count = p[r + 1] - p[r]
        for j in lw.range(first, first + count):
            v[j] = v[j] * w[j] + lw.f32(r)
        for j in lw.range(y.shape[0]):
            y[j] += v[first] if count > 0 else lw.f32(1)
        first += count


@lw.kernel(fastmath=True)
def halves(p: lw.Array[lw.i32], v: lw.Array[lw.f32], w: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """Lengths that a variable has."""
    n = v.shape[0]
    while n > 1:
        n = n // 2
        for j in lw.range(n):
            v[j] = v[j] + w[j + n]
        y[0] += v[0]


KERNELS = (sums, scaled, halves)


def given(lengths: list[int]) -> list[Any]:
    rng = np.random.default_rng(len(lengths))
    p = np.cumsum([0, *lengths]).astype(np.int32)
    return [p, *[rng.integers(0, 9, max(int(p[-1]), 1)).astype(np.float32) for _ in range(2)], np.zeros(len(lengths), np.float32)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_rows_of_all_lengths(runner: Runner, kernel: lw.Kernel) -> None:
    for lengths in ([0], [5], [8, 0, 7], list(range(21)), [16, 3, 64, 9, 1, 0, 100, 7, 33]):
        args = given(lengths)
        wanted = [a.copy() for a in args]
        lw.kernel(kernel.function, nests="off")(*wanted)

        def compare(_: Any, args: Any = args, wanted: Any = wanted) -> None:
            for a, b in zip(args, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)

        runner.run(runner.compiled(kernel, *args), args, compare)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_the_report_says_from_where_on(kernel: lw.Kernel) -> None:
    said = str(kernel.compile(target="x86-64-v4").nests())
    assert said.count("lanes(j), from 8 iterations on") == 1
    assert kernel is not scaled or "lanes(j), from 4 iterations on" in said


def checked(s: lw.Array[lw.u8], out: lw.Array[lw.i64]):
    i = 0
    while i < s.shape[0] - 4:
        need = 1
        if s[i] > 200:
            need = 4
        elif s[i] > 100:
            need = 3
        ok = 1
        for k in range(1, need):
            if s[i + k] > 50:
                ok = 0
        out[i] = ok * 10 + need
        i += need


def test_one_of_some_constants() -> None:
    """A loop over what is one of a few small numbers is known to be short, and stays without lanes."""
    given = np.random.default_rng(3).integers(0, 255, 300).astype(np.uint8)
    wanted, found = np.zeros(300, np.int64), np.zeros(300, np.int64)
    checked(given, wanted)
    lw.kernel(checked)(given, found)
    assert np.array_equal(wanted, found)
    assert "lanes(k)" not in str(lw.kernel(checked).compile(keep=True, target="x86-64-v4").nests())


@lw.kernel(fastmath=True)
def solved(a: lw.Array[lw.f64, 2], x: lw.Array[lw.f64, 2]):
    """Rows of a matrix, and of a few right sides."""
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            for j in range(k + 1, a.shape[0]):
                a[i, j] -= f * a[k, j]
            for j in range(x.shape[1]):
                x[i, j] -= f * x[k, j]


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("sides", [0, 1, 3, 4, 5, 9, 33])
def test_loops_of_other_lengths_are_asked_by_themselves(n: int, sides: int) -> None:
    rng = np.random.default_rng(n)
    a, x = rng.standard_normal((n, n)) + 9 * np.eye(n), rng.standard_normal((n, sides))
    wanted, found = [a.copy(), x.copy()], [a.copy(), x.copy()]
    solved.function(*wanted)
    solved(*found)
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-12)


def test_few_right_sides_leave_the_matrix_its_lanes() -> None:
    said = str(solved.compile(target="x86-64-v4").nests())
    assert "lanes(j), from 4 iterations on" in said
    assert "lanes(j)\n" in said
