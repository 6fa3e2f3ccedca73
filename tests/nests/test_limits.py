"""Loops at the limits of what their numbers, arrays and rows may be: with all that is done to nests as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded

import loopwright as lw

GREATEST = 2**63 - 1


def counter_kept(a: lw.Array[lw.i64], rows: lw.i64) -> None:
    """The loop inside goes on where it has stopped."""
    i = lw.i64(0)
    for r in lw.range(rows):
        while i < 8 * (r + 1):
            a[i] = a[i] + r
            i += 1


def counter_kept_downwards(a: lw.Array[lw.i64], rows: lw.i64) -> None:
    i = lw.i64(a.shape[0]) - 1
    for r in lw.range(rows):
        while i >= a.shape[0] - 8 * (r + 1):
            a[i] = a[i] + r
            i -= 1


def left_before_the_limit(a: lw.Array[lw.i64], m: lw.i64) -> None:
    i = lw.i64(0)
    while i <= m:
        if i == a.shape[0]:
            break
        a[i] = a[i] + 1
        i += 1


def rows_of_no_length(a: lw.Array[lw.i64], m: lw.i64) -> None:
    for i in lw.range(5):
        for j in lw.range(5):
            a[j * m] = a[j * m] * 3 + i


def divided_past_the_limit(a: lw.Array[lw.i64], m: lw.i64) -> None:
    for j in lw.range(a.shape[0]):
        if (j + m) % 9 == 2:
            a[j] += 1
        if (j + m) % a.shape[0] == 3:
            a[j] += 5


def _same(function: Any, *given: Any) -> None:
    fast = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    wanted = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    lw.kernel(function, nests="off")(*wanted)
    lw.kernel(function)(*fast)
    for got, right in zip(fast, wanted, strict=True):
        np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("function", [counter_kept, counter_kept_downwards], ids=lambda function: function.__name__)
def test_a_counter_that_a_loop_around_keeps(function: Any) -> None:
    for rows in (0, 1, 3, 5):
        _same(function, np.arange(40), rows)


@pytest.mark.parametrize("m", [GREATEST, GREATEST - 1, 5, 0, -1, -GREATEST - 1])
def test_no_limit(m: int) -> None:
    _same(left_before_the_limit, np.arange(20), m)


@pytest.mark.parametrize("condition", ["i <= m", "i < m", "i == m", "i != m", "i > m", "i >= m", "m >= i", "m < i", "i - 1 < m", "i + 1 > m"])
def test_conditions_on_a_number_that_stands_for_no_limit(condition: str) -> None:
    text = f"def k(a: lw.Array, m: lw.i64):\n    for i in range(a.shape[0]):\n        if {condition}:\n            a[i] = a[i] + 1\n        else:\n            a[i] = a[i] * 3\n"
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102
    fast = lw.kernel(source=text)(scope["k"])
    for m in (GREATEST, GREATEST - 1, -GREATEST - 1, -GREATEST, -1, 0, 5, 19, 20, 21):
        a = np.arange(20)
        wanted = a.copy()
        scope["k"](wanted, m)
        fast(a, m)
        np.testing.assert_array_equal(a, wanted, err_msg=f"{condition}, {m}")


def test_rows_of_no_length() -> None:
    for m in (0, 1, 2, -1):
        _same(rows_of_no_length, np.arange(30)[::-1].copy() if m < 0 else np.arange(30), abs(m))


@pytest.mark.parametrize("m", [GREATEST - 5, GREATEST, -GREATEST - 1, -7, 0, 1 << 61, (1 << 61) + 3])
def test_divided_past_the_limit(m: int) -> None:
    _same(divided_past_the_limit, np.zeros(60, np.int64), m)


@pytest.mark.parametrize("use", ["m = max(m, c[i, j + 1])", "m = max(m, c[i, n - 1 - j])", "c[i, j + 1] = s", "m = max(m, c[i, j - 1])", "m = max(m, c[i, j])"])
def test_products_whose_row_is_used_while_it_is_made(use: str) -> None:
    text = f"""def k(a: lw.Array, b: lw.Array, c: lw.Array, e: lw.Array):
    n = b.shape[0]
    for i in range(a.shape[0]):
        m = c[i, 0]
        for j in range(1, n):
            s = a[i, 0] * b[j, 0]
            for l in range(1, a.shape[1]):
                s += a[i, l] * b[j, l]
            c[i, j] = s
            {use}
        e[i] = m
"""
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102
    rng = np.random.default_rng(0)
    for element in (np.float32, np.int32):
        given = [rng.integers(0, 9, shape).astype(element) for shape in ((20, 32), (30, 32), (20, 31), (20,))]
        wanted = [each.copy() for each in given]
        lw.kernel(source=text, nests="off")(scope["k"])(*wanted)
        lw.kernel(source=text, fastmath=True)(scope["k"])(*given)
        for got, right in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(got, right)


@lw.kernel
def run_lengths(a: lw.Array[lw.f64], b: lw.Array[lw.f64], c: lw.Array[lw.f64]) -> None:
    for i in lw.range(a.shape[0]):
        b[i] = b[i - 1] + a[i] if c[i] > 0 else a[i]


@lw.kernel
def seldom_from_before(a: lw.Array[lw.f64], b: lw.Array[lw.f64], c: lw.Array[lw.f64]) -> None:
    for i in lw.range(a.shape[0]):
        x = a[i]
        if c[i] > 0:
            x += b[i - 3]
        b[i] = x


@pytest.mark.parametrize("kernel", [run_lengths, seldom_from_before], ids=lambda kernel: kernel.function.__name__)
def test_nothing_is_loaded_in_front_of_an_array(kernel: lw.Kernel) -> None:
    """What a condition keeps the first iterations from loading lies where nothing may be read."""
    c = np.ones(20)
    c[:3] = 0
    a, b, c = [guarded(x, False) for x in (np.ones(20), np.zeros(20), c)]
    kernel(a, b, c)
    wanted = np.zeros(20)
    lw.kernel(kernel.function, nests="off")(np.ones(20), wanted, np.asarray(c).copy())
    np.testing.assert_array_equal(b, wanted)


CONDITIONS = [
    "s // 2 + a > s",
    "abs(s - a) > s",
    "a - s > s",
    "s * s < a",
    "s < a + s % 2",
    "s >= a - s",
    "min(s, a) < s",
    "s & a < s",
    "(8 if a <= s else a) > s",
    "a > s",
    "s < a * 2",
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("after", [True, False])
def test_conditions_on_an_index_and_a_variable_of_the_loop_around(condition: str, after: bool) -> None:
    """What is made of both is no bound of the inner loop."""
    change = "        a = z[i]\n"
    inner = f"        for s in range(n):\n            if {condition}:\n                y[s] += 1\n"
    text = "def k(y: lw.Array, z: lw.Array):\n    n = len(y)\n    a = 3\n    for i in range(n):\n" + (inner + change if after else change + inner)
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102
    fast = lw.kernel(source=text)(scope["k"])
    rng = np.random.default_rng(0)
    for n in (*range(10), 20, 33):
        y, z = rng.integers(0, 6, (2, n))
        wanted = y.copy()
        scope["k"](wanted, z)
        fast(y, z)
        np.testing.assert_array_equal(y, wanted)
