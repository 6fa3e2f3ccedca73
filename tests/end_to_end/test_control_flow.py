"""Loops, branches and inlined functions: by lane, and for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 61)


@lw.kernel
def collatz(x: lw.Array[lw.i64], steps: lw.Array[lw.i64]):
    for i in lw.lanes(len(x)):
        v = x[i]
        n = lw.i64(0)
        while v > 1:
            if v % 2 == 0:  # noqa: SIM108 (a kernel with an if)
                v = v // 2
            else:
                v = 3 * v + 1
            n = n + 1
        steps[i] = n


@lw.kernel(contract=False)
def newton(x: lw.Array, out: lw.Array):
    for i in lw.lanes(len(x)):
        r = x[i]
        for _ in lw.range(40):
            better = (r + x[i] / r) * 0.5
            if better == r:
                break
            r = better
        out[i] = r


@lw.kernel
def skips(x: lw.Array[lw.i32], out: lw.Array[lw.i32]):
    for i in lw.lanes(len(x)):
        s = lw.i32(0)
        for k in lw.range(20):
            if (x[i] + lw.i32(k)) % 3 == 0:
                continue
            if s > 60:
                break
            s = s + lw.i32(k)
        out[i] = s


@lw.kernel
def two_levels(x: lw.Array[lw.i32], out: lw.Array[lw.i32]):
    for i in lw.lanes(len(x)):
        found = lw.i32(-1)
        for a in lw.range(1, 8):
            for b in lw.range(a, 8):
                if lw.i32(a * b) == x[i]:
                    found = lw.i32(10 * a + b)
                    break
            if found >= 0:
                break
        out[i] = found


@lw.kernel
def selection_sort(x: lw.Array):
    n = len(x)
    for i in lw.range(n):
        least = i
        for k in lw.range(i + 1, n):
            if x[k] < x[least]:
                least = k
        t = x[i]
        x[i] = x[least]
        x[least] = t


@lw.kernel
def first_pair(x: lw.Array[lw.i32], goal: lw.i32) -> lw.i64:
    n = len(x)
    for i in lw.range(n):
        for k in lw.range(i):
            if x[i] + x[k] == goal:
                return i * 1000 + k
    return -1


@lw.kernel
def search(x: lw.Array[lw.i32], v: lw.i32) -> lw.i64:
    lo = lw.i64(0)
    hi = len(x)
    while lo < hi:
        middle = (lo + hi) // 2
        if x[middle] < v:
            lo = middle + 1
        else:
            hi = middle
    return lo


@lw.kernel
def leading_zeros(x: lw.Array[lw.i32]) -> lw.i64:
    # The right side is read only where the left one holds: past the end lies a page that cannot be touched.
    i = lw.i64(0)
    while i < len(x) and x[i] == 0:
        i = i + 1
    return i


@lw.kernel
def ends_differ(x: lw.Array[lw.i32]) -> lw.i64:
    if len(x) == 0 or x[0] == x[len(x) - 1]:
        return 0
    return 1


@lw.kernel
def gather_guarded(x: lw.Array, index: lw.Array[lw.i64], out: lw.Array):
    for i in lw.range(len(index)):
        k = index[i]
        if k >= 0 and k < len(x) and x[k] > 0:
            out[i] = x[k]
        else:
            out[i] = -1


@lw.kernel
def triangle(n: lw.i64) -> lw.i64:
    k = lw.i64(0)
    s = lw.i64(0)
    while k < n:
        k = k + 1
        s = s + k
    return s


@lw.kernel
def least_triangle(goal: lw.i64) -> lw.i64:
    n = lw.i64(0)
    while triangle(n) < goal:
        n = n + 1
    return n


def median(a, b, c):
    return lw.max(lw.min(a, b), lw.min(lw.max(a, b), c))


@lw.kernel
def smooth(x: lw.Array, out: lw.Array):
    for i in lw.lanes(1, len(x) - 1):
        out[i] = median(x[i - 1], x[i], x[i + 1])


@lw.kernel
def backwards(x: lw.Array[lw.i32], out: lw.Array[lw.i64]):
    n = lw.i64(0)
    for i in lw.range(len(x) - 1, -1, -3):
        out[n] = x[i]
        n = n + 1


def ints(n: int, low: int, high: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(low, high, n, dtype=dtype)


@pytest.mark.parametrize(
    ("kernel", "low", "high", "dtype"),
    [(collatz, 1, 50, np.int64), (skips, -50, 50, np.int32), (two_levels, 0, 60, np.int32)],
    ids=lambda k: getattr(k, "__name__", None),
)
def test_loops_that_lanes_leave_one_by_one(everywhere: Callable[..., Any], kernel: Any, low: int, high: int, dtype: Any) -> None:
    all_levels = everywhere(kernel)
    for n in LENGTHS:
        all_levels.check(ints(n, low, high, dtype), np.zeros(n, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_newton_until_each_lane_is_done(everywhere: Callable[..., Any], dtype: Any) -> None:
    all_levels = everywhere(newton, np.zeros(1, dtype), np.zeros(1, dtype))
    for n in LENGTHS:
        all_levels.check(np.random.default_rng(n).random(n).astype(dtype) * 100, np.zeros(n, dtype))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.uint8])
def test_sorting(everywhere: Callable[..., Any], dtype: Any) -> None:
    all_levels = everywhere(selection_sort, np.zeros(1, dtype))
    for n in LENGTHS:
        all_levels.check(ints(n, 0, 100).astype(dtype))


def test_returns_from_inner_loops(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(first_pair)
    for n in LENGTHS:
        for goal in (0, 5, 1000):
            all_levels.check(ints(n, -20, 20), goal)


def test_a_while_with_two_variables(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(search)
    for n in LENGTHS:
        x = np.sort(ints(n, -20, 20))
        for v in (-100, -3, 0, 7, 100):
            all_levels.check(x, v)


def test_conditions_guard_their_loads(everywhere: Callable[..., Any]) -> None:
    zeros, ends = everywhere(leading_zeros), everywhere(ends_differ)
    for n in LENGTHS:
        zeros.check(np.zeros(n, np.int32))
        zeros.check(ints(n, 0, 2))
        ends.check(ints(n, 0, 2))


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_conditions_guard_loads_at_computed_places(everywhere: Callable[..., Any], dtype: Any) -> None:
    all_levels = everywhere(gather_guarded, np.zeros(1, dtype), np.zeros(1, np.int64), np.zeros(1, dtype))
    for n in LENGTHS:
        index = ints(40, -5, n + 5, np.int64)
        all_levels.check(ints(n, -9, 9).astype(dtype), index, np.zeros(40, dtype))


def test_a_loop_inside_the_condition_of_a_loop(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(least_triangle)
    for goal, least in ((0, 0), (1, 1), (2, 2), (3, 2), (10, 4), (11, 5), (100, 14)):
        all_levels.check(goal, want=(np.int64(least), [goal]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_inlined_kernels(everywhere: Callable[..., Any], dtype: Any) -> None:
    all_levels = everywhere(smooth, np.zeros(1, dtype), np.zeros(1, dtype))
    for n in LENGTHS:
        all_levels.check(ints(n, 0, 9).astype(dtype), np.zeros(n, dtype))


@lw.kernel
def visited(out: lw.Array[lw.i64], low: lw.i64, high: lw.i64):
    k = lw.i64(0)
    for i in reversed(lw.range(low, high)):
        out[k] = i
        k += 1
    for i in reversed(lw.range(low, high, 3)):
        out[k] = i
        k += 1
    for i in reversed(range(high, low, -2)):
        out[k] = i
        k += 1


@pytest.mark.parametrize("low", [-3, 0, 2])
@pytest.mark.parametrize("length", [-2, 0, 1, 2, 3, 6, 7, 8])
def test_ranges_in_the_opposite_order(low: int, length: int) -> None:
    high = low + length
    out = np.full(40, -99)
    visited(out, low, high)
    want = [*reversed(range(low, high)), *reversed(range(low, high, 3)), *reversed(range(high, low, -2))]
    assert out.tolist() == want + [-99] * (40 - len(want))
    again = np.full(40, -99)
    visited.function(again, low, high)
    assert again.tolist() == out.tolist()


def test_loops_that_count_down(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(backwards)
    for n in LENGTHS:
        all_levels.check(ints(n, 0, 9), np.zeros(n // 3 + 1, np.int64))


@lw.kernel(nests="off")
def last_found(x: lw.Array[lw.i64], table: lw.Array[lw.i64], y: lw.Array[lw.i64]) -> lw.i64:
    found = lw.i64(-1)
    for i in lw.range(len(x)):
        found = lw.select(x[i] >= 0, table[x[i] & 3], found)
        y[i] = found
    return found


@pytest.mark.parametrize("check", [False, True])
def test_a_choice_between_what_is_loaded_and_what_there_was(check: bool) -> None:
    """The load becomes the memory operand of the instruction that leaves the variable as it is otherwise."""
    x = np.array([-3, 5, -1, -1, 2, 3, -7, 0], np.int64)
    table, y = np.array([10, 11, 12, 13], np.int64), np.zeros(8, np.int64)
    code = last_found.compile(lw.Array[lw.i64], lw.Array[lw.i64], lw.Array[lw.i64], check=check)
    assert code(x, table, y) == 10
    assert y.tolist() == [-1, 11, 11, 11, 12, 13, 13, 10]
