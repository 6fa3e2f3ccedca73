"""Products whose elements are used as soon as they are stored: taken out of what uses them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

DONE = "a product apart from what uses it"


@lw.kernel(contract=False)
def less_the_greatest(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    for i in range(c.shape[0]):
        m = d[0] - d[0] - 1000
        for j in range(c.shape[1]):
            s = d[0] - d[0]
            for k in range(a.shape[1]):
                s = s + a[i, k] * b[j, k]
            c[i, j] = s * 2 + 1
            m = max(m, c[i, j])
        for j in range(c.shape[1]):
            c[i, j] = c[i, j] - m


@lw.kernel(contract=False)
def sums_of_rows(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    """What a row begins with is loaded from where another may have stored."""
    for i in range(c.shape[0]):
        w = d[i]
        t = w - w
        for j in range(c.shape[1]):
            s = w
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
            if s > w:
                t += s
        d[i] = t


@lw.kernel(contract=False)
def in_another_loop(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    for t in range(3):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                s = d[0] - d[0]
                for k in range(a.shape[1]):
                    s += a[i, k] * b[j, k]
                c[i, j] = s + t
            for j in range(1, c.shape[1]):
                c[i, j] = c[i, j] + c[i, j - 1]


APART = [less_the_greatest, in_another_loop]


@lw.kernel(contract=False)
def rows_of_other_rows(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    """What the next row has is what was there before."""
    for i in range(c.shape[0] - 1):
        for j in range(c.shape[1]):
            s = d[0] - d[0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s
            d[i] = max(d[i], c[i + 1, j])


@lw.kernel(contract=False)
def begun_in_front(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    """Elements are set in front of the product, in the same row."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = d[i]
        for j in range(c.shape[1]):
            s = c[i, j]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s
            d[i] = max(d[i], s)


@lw.kernel(contract=False)
def factors_change(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    """The next row of the first factor is what this one has made."""
    for i in range(c.shape[0] - 1):
        for j in range(c.shape[1]):
            s = d[0] - d[0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s
            a[i + 1, 0] = a[i + 1, 0] + min(c[i, j], 3)


@lw.kernel(contract=False)
def total_used(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array):
    """More of the total is used than what is stored."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = d[0] - d[0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s * 2
            d[i] = max(d[i], s)


OTHERS = [sums_of_rows, rows_of_other_rows, begun_in_front, factors_change, total_used]


def _given(element: type, rows: int, columns: int, depth: int, across: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    shapes = [(rows, depth), (depth, columns) if across else (columns, depth), (rows, columns), (max(rows, 1),)]
    return [rng.integers(-3, 4, shape).astype(element) for shape in shapes]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", APART + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    across = kernel is sums_of_rows
    for element in (np.float32, np.float64, np.int32):
        compiled = runner.compiled(kernel, *_given(element, 3, 4, 5, across))
        for rows, columns, depth in ((1, 1, 1), (5, 20, 7), (20, 33, 18), (33, 100, 40)):
            given = _given(element, rows, columns, depth, across)
            wanted = [each.copy() for each in given]
            written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", APART + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_taken_out(kernel: lw.Kernel) -> None:
    nests = kernel.compile(*_given(np.float32, 3, 4, 5, kernel is sums_of_rows), target="x86-64-v4").nests()
    assert any(DONE in nest.done for nest in nests) == (kernel in APART), [nest.done for nest in nests]


def test_arrays_that_overlap_run_as_written() -> None:
    rng = np.random.default_rng(2)
    memory = rng.integers(-3, 4, (60, 40)).astype(np.float64)
    got, right = memory.copy(), memory.copy()
    for room, kernel in ((got, less_the_greatest), (right, lw.kernel(less_the_greatest.function, contract=False, nests="off"))):
        kernel(room[:20], room[20:60], room[10:30], np.zeros(1))
    np.testing.assert_array_equal(got, right)


def test_what_a_row_leaves_for_the_next_one() -> None:
    @lw.kernel(contract=False)
    def handed_on(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2], c: lw.Array[lw.f64, 2], d: lw.Array[lw.i64]):
        n = a.shape[0]
        row = lw.i64(1)
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += a[j, k] * b[row, k]
                c[i, j] = s
            row = d[i]

    rng = np.random.default_rng(0)
    for n in (2, 5, 20):
        a, b = (rng.integers(-3, 4, (n, n)).astype(np.float64) for _ in range(2))
        d = rng.integers(0, n, n)
        c = np.zeros((n, n))
        handed_on(a, b, c, d)
        np.testing.assert_array_equal(c, b[[1, *d[:-1]]] @ a.T)
