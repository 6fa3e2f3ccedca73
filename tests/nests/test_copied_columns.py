"""Columns that are copied to be gone along: results as written for all sizes, where arrays overlap, where a column is too long or not there, and what becomes of the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw

Matrix = lw.Array[lw.i64, 2]


@lw.kernel
def crout(a: Matrix) -> None:
    n = a.shape[0]
    for j in range(a.shape[1]):
        for i in range(n):
            s = a[i, j]
            for k in range(min(i, j)):
                s -= a[i, k] * a[k, j]
            a[i, j] = s


@lw.kernel
def solved(a: Matrix, b: Matrix) -> None:
    for q in range(b.shape[1]):
        for i in range(b.shape[0] - 1, -1, -1):
            s = b[i, q]
            for k in range(i + 1, b.shape[0]):
                s -= a[i, k] * b[k, q]
            b[i, q] = s
        if q + 1 < b.shape[1]:
            b[0, q + 1] += b[0, q]


@lw.kernel
def one_column(a: Matrix, b: Matrix, c: Matrix, q: lw.i64) -> None:
    for i in range(a.shape[0]):
        s = lw.i64(0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, q]
        c[i, q] = s


@lw.kernel
def beside_another(a: Matrix, b: Matrix, q: lw.i64) -> None:
    """The next column is written while one is read."""
    for i in range(b.shape[0]):
        s = lw.i64(1)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, q]
        b[i, q + 1] = s


@lw.kernel
def other_columns_written(a: Matrix, b: Matrix, at: lw.Array[lw.i64]) -> None:
    """Which column is written is looked up: it may be the one that is read."""
    for i in range(b.shape[0]):
        s = lw.i64(1)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, 1]
        b[i, at[i]] = s


@lw.kernel
def band(a: Matrix, b: Matrix, c: Matrix) -> None:
    for q in range(b.shape[1]):
        for i in range(3, b.shape[0] - 3):
            s = c[i, 0]
            for k in range(i - 3, i + 4):
                s += a[i, k] * b[k, q]
            c[i, 0] = s ^ q


KERNELS = [crout, solved, one_column, beside_another, other_columns_written, band]


def given_for(kernel: Any, n: int) -> list[Any]:
    r = np.random.default_rng(n)

    def some(*shape: int) -> np.ndarray:
        return r.integers(-9, 9, shape)

    if kernel is crout:
        return [some(n, n + 2)]
    if kernel is solved:
        return [some(n, n), some(n, 5)]
    if kernel is band:
        return [some(n, n), some(n, 4), some(n, 1)]
    if kernel is one_column:
        return [some(n, n), some(n, 3), some(n, 3), 2]
    return [some(n, n), some(n, 4), 2] if kernel is beside_another else [some(n, n), some(n, 4), r.integers(0, 4, n)]


def as_python(kernel: Any, given: list[Any]) -> list[Any]:
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
    with np.errstate(over="ignore"):
        kernel.function(*wanted)
    return wanted


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(kernel: Any, runner: Runner) -> None:
    for n in (1, 2, 3, 9, 20, 33):
        given = given_for(kernel, n)
        runner.leaves(runner.compiled(kernel, *given), given, as_python(kernel, given))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_nothing_outside_is_touched(kernel: Any) -> None:
    for at_end in (False, True):
        given = given_for(kernel, 17)
        wanted = as_python(kernel, given)
        passed = [guarded(a, at_end) if isinstance(a, np.ndarray) else a for a in given]
        kernel(*passed)
        for a, b in zip(passed, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_columns_that_are_not_there() -> None:
    # (Nothing is read of them, because the loops do not run.)
    empty = np.zeros((9, 0), np.int64)
    c = np.ones((9, 10), np.int64)
    one_column(empty, np.zeros((0, 3), np.int64), c, 9)
    assert not c[:, 9].any() and c[:, :9].all()
    one_column(empty, np.zeros((5, 3), np.int64), c, 8)
    assert not c[:, 8].any()


def test_columns_that_are_too_long() -> None:
    n = 8192 // 8 + 1
    a = np.ones((3, n), np.int64)
    b = np.arange(3 * n).reshape(n, 3)
    c = np.zeros((3, 3), np.int64)
    one_column(a, b, c, 1)
    np.testing.assert_array_equal(c[:, 1], b[:, 1].sum())


def test_arrays_that_overlap() -> None:
    memory = np.arange(400) % 7
    for shift in (0, 1, 9, 10, 37):
        found, wanted = memory.copy(), memory.copy()
        for m, call in ((found, one_column), (wanted, one_column.function)):
            views = [np.lib.stride_tricks.as_strided(m[at:], shape, (8 * shape[1], 8)) for at, shape in ((0, (9, 10)), (shift, (10, 4)), (2 * shift, (9, 4)))]
            call(*views, 1)
        np.testing.assert_array_equal(found, wanted)


def test_what_becomes_of_the_loops() -> None:
    for kernel, taken in ((crout, True), (solved, True), (one_column, True), (beside_another, True), (other_columns_written, False)):
        given = given_for(kernel, 20)
        report = str(kernel.compile(*given, target="x86-64-v4").nests())
        assert ("copied, to be gone along" in report) == taken, kernel.function.__name__
        assert not taken or "lanes(k)" in report


def test_an_element_of_the_diagonal_in_each_iteration() -> None:
    @lw.kernel(fastmath=True)
    def diagonal(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32]):
        n = a.shape[0]
        for j in range(n):
            for i in range(n):
                s = a[j, j]
                for k in range(j):
                    s -= a[i, k] * a[k, j]
                b[i] = s

    a = np.random.default_rng(1).integers(-3, 4, (20, 20)).astype(np.float32)
    b = np.zeros(20, np.float32)
    diagonal(a, b)
    np.testing.assert_array_equal(b, a[19, 19] - a[:, :19] @ a[:19, 19])
