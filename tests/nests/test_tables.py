"""Tables of dynamic programming, as one writes them: whole ones, and those of which one row is kept; bit for bit as written, and in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw


@lw.kernel
def subsequence(x: lw.Array, y: lw.Array, row: lw.Array) -> None:
    """The longest common subsequence, one row kept."""
    for i in range(x.shape[0]):
        diagonal = row[0]
        for j in range(y.shape[0]):
            above = row[j + 1]
            if x[i] == y[j]:
                row[j + 1] = diagonal + 1
            else:
                row[j + 1] = lw.max(row[j + 1], row[j])
            diagonal = above


@lw.kernel
def subsequence_table(x: lw.Array, y: lw.Array, t: lw.Array) -> None:
    for i in range(1, t.shape[0]):
        for j in range(1, t.shape[1]):
            if x[i - 1] == y[j - 1]:
                t[i, j] = t[i - 1, j - 1] + 1
            elif t[i - 1, j] >= t[i, j - 1]:
                t[i, j] = t[i - 1, j]
            else:
                t[i, j] = t[i, j - 1]


@lw.kernel
def distance(x: lw.Array, y: lw.Array, row: lw.Array) -> None:
    """The edit distance, one row kept."""
    for i in range(x.shape[0]):
        diagonal = row[0]
        row[0] = lw.i32(i + 1)
        for j in range(1, y.shape[0] + 1):
            above = row[j]
            cost = diagonal
            if x[i] != y[j - 1]:
                cost = cost + 1
            row[j] = lw.min(lw.min(above, row[j - 1]) + 1, cost)
            diagonal = above


@lw.kernel
def alignment(x: lw.Array, y: lw.Array, h: lw.Array, out: lw.Array) -> None:
    """Local alignment (T. Smith, M. Waterman), and the best score of all."""
    best = lw.i32(0)
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            score = lw.i32(-1)
            if x[i - 1] == y[j - 1]:
                score = lw.i32(2)
            v = lw.max(lw.max(h[i - 1, j - 1] + score, lw.i32(0)), lw.max(h[i - 1, j], h[i, j - 1]) - 1)
            h[i, j] = v
            best = lw.max(best, v)
    out[0] = best


@lw.kernel
def cheapest_path(cost: lw.Array, t: lw.Array) -> None:
    for i in range(1, t.shape[0]):
        t[i, 0] = t[i - 1, 0] + cost[i, 0]
        for j in range(1, t.shape[1]):
            t[i, j] = lw.min(t[i - 1, j], t[i, j - 1]) + cost[i, j]


TABLES = [subsequence, subsequence_table, distance, alignment, cheapest_path]


def arguments(kernel: lw.Kernel, n: int, m: int) -> list[Any]:
    rng = np.random.default_rng(n + 1000 * m)
    if kernel is cheapest_path:
        t = np.zeros((n + 1, m + 1), np.float32)
        t[0] = np.arange(m + 1)
        return [rng.random((n + 1, m + 1)).astype(np.float32), t]
    words = [rng.integers(0, 3, n).astype(np.uint8), rng.integers(0, 3, m).astype(np.uint8)]
    if kernel is alignment:
        return [*words, np.zeros((n + 1, m + 1), np.int32), np.zeros(1, np.int32)]
    if kernel is subsequence_table:
        return [*words, np.zeros((n + 1, m + 1), np.int32)]
    return [*words, (np.arange(m + 1) if kernel is distance else np.zeros(m + 1)).astype(np.int32)]


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("kernel", TABLES, ids=[k.__name__ for k in TABLES])
def test_in_lanes(kernel: lw.Kernel, target: str) -> None:
    text = kernel.compile(*arguments(kernel, 9, 9), target=target).ir("nests")
    assert "slide" in text and "x8 " in text.replace("x16 ", "x8 ")


@pytest.mark.parametrize("kernel", TABLES, ids=[k.__name__ for k in TABLES])
def test_as_written(kernel: lw.Kernel) -> None:
    for n, m in ((0, 0), (0, 5), (1, 1), (5, 9), (16, 16), (17, 15), (33, 70), (64, 65), (70, 14), (129, 200)):
        given, wanted = arguments(kernel, n, m), arguments(kernel, n, m)
        kernel(*given)
        lw.kernel(kernel.function, nests="off")(*wanted)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_python_agrees() -> None:
    for kernel in (subsequence, distance):
        given, wanted = arguments(kernel, 40, 50), arguments(kernel, 40, 50)
        kernel(*given)
        kernel.function(*wanted)
        np.testing.assert_array_equal(given[2], wanted[2])
