"""Conditions on indices taken out of loops, what is looked up loaded in front of them, loops that hold several distributed: results as written, and what it makes possible."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

import loopwright as lw
from loopwright.ir import ops
from loopwright.nests.rewriting.folding import known_value

#: Bodies of loops over ``i`` and ``j``, and what has to be done with some nest of them, "" for nothing.
TABLES = {
    "first row and column": (
        """
        if i == 0 or j == 0:
            c[i, j] = 0
        elif a[i - 1] == b[j - 1]:
            c[i, j] = c[i - 1, j - 1] + 1
        else:
            c[i, j] = most(c[i - 1, j], c[i, j - 1])
        """,
        "skew",
    ),
    "one after the other": (
        """
        if i == 0:
            c[i, j] = i32(j)
        elif j == 0:
            c[i, j] = i32(i)
        else:
            c[i, j] = 1 + least(least(c[i, j - 1], c[i - 1, j]), c[i - 1, j - 1])
        """,
        "skew",
    ),
    "what fits": (
        """
        if i > 0:
            if w[i - 1] <= j:
                c[i, j] = most(c[i - 1, j], c[i - 1, j - w[i - 1]] + i32(b[i - 1]))
            else:
                c[i, j] = c[i - 1, j]
        """,
        "looked up",
    ),
    "inside": (
        """
        if i > 0 and i < c.shape[0] - 1 and j > 0 and j < c.shape[1] - 1:
            c[i, j] = c[i - 1, j] + c[i, j - 1] + c[i + 1, j]
        else:
            c[i, j] = c[i, j] * 2
        """,
        "skew",
    ),
    "diagonals": (
        """
        if i == j:
            c[i, j] = c[i, j] + 7
        elif j + 3 > i:
            c[i, j] = c[i, j] * 3
        if 2 - j >= 0 - i:
            c[i, j] = c[i, j] - i32(i)
        """,
        "lanes",
    ),
    "what is left early": (
        """
        if not (i != j):
            continue
        if i < 3 or j > 2 * i:
            c[i, j] += i32(i)
        else:
            c[i, j] -= 1
        """,
        "lanes",
    ),
    "what stays the same": (
        """
        x = c[i, j]
        if c.shape[0] > 7:
            x += 1
        elif i > c.shape[1]:
            x += 2
        if j > 0 and i > 2:
            x -= 5
        c[i, j] = x
        """,
        "lanes",
    ),
    "a triangle of sums": (
        """
        if j <= i:
            s = i32(0)
            for k in range(c.shape[1]):
                if k <= j:
                    s += c[i, k] * i32(a[k])
            c[i, j] = s
        """,
        "lanes",
    ),
    "classes": (
        """
        if c[i, j] > 6:
            c[i, j] = 2
        elif c[i, j] > 3:
            c[i, j] = 1
        elif c[i, j] > 2:
            if j > 2:
                c[i, j] = 9
        else:
            c[i, j] = 0
        """,
        "lanes",
    ),
    "looked up twice": (
        """
        if j < w[i]:
            c[i, j] = i32(a[w[i]])
        else:
            c[i, j] += 1
        """,
        "looked up",
    ),
}

LOOPS = {"up": ("0, c.shape[0]", "0, c.shape[1]"), "down": ("c.shape[0] - 1, -1, -1", "c.shape[1] - 1, -1, -1")}


def source(body: str, rows: str, columns: str) -> str:
    inner = "".join(f"        {line}\n" for line in body.rstrip().split("\n") if line.strip())
    margin = len(inner) - len(inner.lstrip()) - 12
    inner = "".join(f"{line[margin:]}\n" for line in inner.split("\n") if line.strip())
    return f"def nest(w, a, b, c):\n    for i in range({rows}):\n        for j in range({columns}):\n{inner}"


def given(rows: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows * 100 + columns)
    letters = rng.integers(0, 3, max(rows, columns) + 1).astype(np.uint8)
    return [rng.integers(0, columns, rows + 1), letters, letters[::-1].copy(), rng.integers(0, 9, (rows, columns)).astype(np.int32)]


def done(fast: object, arrays: list[np.ndarray]) -> str:
    return str([nest.done for nest in fast.compile(*arrays, target="x86-64-v3").nests()])  # type: ignore[attr-defined]


@pytest.mark.parametrize("direction", LOOPS)
@pytest.mark.parametrize("name", TABLES)
def test_conditions_on_indices(name: str, direction: str) -> None:
    body, wanted = TABLES[name]
    written = source(body, *LOOPS[direction])
    fast, plain = kernel(written), kernel(written, nests="off")
    for rows, columns in ((1, 1), (1, 9), (2, 2), (9, 1), (17, 9), (21, 21), (40, 67)):
        arrays = given(rows, columns)
        expected = [x.copy() for x in arrays]
        plain(*expected)
        fast(*arrays)
        for x, y in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    if direction == "up":
        assert wanted in done(fast, arrays)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", ["first row and column", "what fits", "what is left early"])
def test_on_every_machine(runner: Runner, name: str) -> None:
    written = source(TABLES[name][0], *LOOPS["up"])
    arrays = given(19, 23)
    expected = [x.copy() for x in arrays]
    kernel(written, nests="off")(*expected)

    def same(_: object) -> None:
        for x, y in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(x, y)

    runner.run(runner.compiled(kernel(written), *arrays), arrays, same)


def test_overlap_of_what_is_looked_up_is_seen() -> None:
    written = (
        "def nest(w, c):\n    for i in range(c.shape[0]):\n        for j in range(c.shape[1]):\n            if j >= w[i]:\n                c[i, j] = w[i]\n"
    )
    memory = np.arange(60) % 7
    expected, found = memory.copy(), memory.copy()
    for made, nests in ((expected, "off"), (found, "fast")):
        kernel(written, nests=nests)(made[3:9], made.reshape(6, 10))
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_looked_up_for_loops_that_do_not_run() -> None:
    # The row's number is not read where the row has no elements: the index is far outside of its array.
    written = "def nest(w, b, c):\n    for i in range(c.shape[0]):\n        for j in range(c.shape[1]):\n            c[i, j] = b[w[i + 1000000000], j]\n"
    kernel(written)(np.zeros(1, np.int64), np.zeros((2, 0)), np.zeros((3, 0)))
    triangle = written.replace("range(c.shape[1])", "range(i - 3)")
    kernel(triangle)(np.zeros(1, np.int64), np.zeros((2, 4)), np.zeros((3, 4)))


@pytest.mark.parametrize("comparison", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_what_is_known_of_comparisons(comparison: str) -> None:
    holds = getattr(operator, comparison)
    op = getattr(ops, comparison.upper())
    bounds = (None, -2, -1, 0, 1)
    for first, last, sign, constant in itertools.product(bounds, bounds, (1, -1), (-2, -1, 0, 1, 2)):
        if first is not None and last is not None and first > last:
            continue
        numbers = range(-20 if first is None else first, (20 if last is None else last) + 1)
        seen = {holds(sign * x + constant, 0) for x in numbers}
        assert known_value(op, sign, constant, first, last) == (seen.pop() if len(seen) == 1 else None)


SEVERAL = {
    "tridiagonal systems": (
        """
        for j in range(1, a.shape[1]):
            w = a[i, j] / b[i, j - 1]
            b[i, j] = b[i, j] - w * a[i, j - 1]
            c[i, j] = c[i, j] - w * c[i, j - 1]
        c[i, a.shape[1] - 1] = c[i, a.shape[1] - 1] / b[i, a.shape[1] - 1]
        for j in range(a.shape[1] - 2, -1, -1):
            c[i, j] = (c[i, j] - a[i, j] * c[i, j + 1]) / b[i, j]
        """,
        3,
    ),
    "one variable for both": (
        """
        s = f64(0)
        for j in range(a.shape[1]):
            s = s * 0.5 + a[i, j]
            b[i, j] = s
        s = f64(1)
        for j in range(a.shape[1]):
            s = s * 0.25 + a[i, j]
            c[i, j] = s
        """,
        2,
    ),
    "one variable from the first to the second": (
        """
        s = f64(0)
        for j in range(a.shape[1]):
            s = s * 0.5 + a[i, j]
            b[i, j] = s
        for j in range(a.shape[1]):
            s = s * 0.25 + a[i, j]
            c[i, j] = s
        """,
        1,
    ),
    "the row before needed by the first": (
        """
        for j in range(1, a.shape[1]):
            b[i, j] = b[i, j - 1] * 0.5 + c[i - 1, j] + a[i, j]
        for j in range(1, a.shape[1]):
            c[i, j] = c[i, j - 1] * 0.5 + b[i, j]
        """,
        1,
    ),
    "a product behind a scaling": (
        """
        for j in range(c.shape[1]):
            c[i, j] = c[i, j] * 0.5
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        """,
        2,
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_loops_that_hold_several(name: str) -> None:
    body, nests = SEVERAL[name]
    lines = [line for line in body.split("\n") if line.strip()]
    written = "def nest(a, b, c):\n    for i in range(1, c.shape[0]):\n" + "".join(f"{line}\n" for line in lines)
    fast, plain = kernel(written), kernel(written, nests="off")
    for n in (1, 2, 9, 30):
        arrays = [np.random.default_rng(k).random((n, n)) + 1 for k in range(3)]
        expected = [x.copy() for x in arrays]
        plain(*expected)
        fast(*arrays)
        for x, y in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    assert len(fast.compile(*arrays, target="x86-64-v3").nests()) == nests
    # Where two arrays are one, what is written is done.
    for n in (2, 9, 30):
        a, b = (np.random.default_rng(k).random((n, n)) + 1 for k in range(2))
        found = [a.copy(), b.copy()]
        fast(found[0], found[1], found[1])
        plain(a, b, b)
        np.testing.assert_array_equal(found, [a, b])


def test_rows_that_count_down_are_walked_together() -> None:
    written = "def nest(a, b, c):\n    for i in range(a.shape[0] - 2, -1, -1):\n        for j in range(a.shape[1] - 2, -1, -1):\n"
    written += "            a[i, j] = least(least(a[i, j], a[i + 1, j] + 1), a[i, j + 1] + 1)\n"
    fast, plain = kernel(written), kernel(written, nests="off")
    for n in (2, 9, 33):
        a = np.random.default_rng(0).integers(0, 100, (n, n + 3)).astype(np.int32)
        expected = a.copy()
        plain(expected, a, a)
        other = np.zeros((1, 1), np.int32)
        fast(a, other, other)
        np.testing.assert_array_equal(a, expected)
    assert "skew" in done(fast, [a, other, other])


def test_an_index_compared_with_what_is_computed_from_it() -> None:
    """There is no one place in the loop at which the two are equal."""
    for first, test in (("least(i, n)", "== i"), ("most(i, n - 3)", "== i"), ("least(i, 3)", "< i"), ("i % 3", "!= i")):
        body = f"k = 0\nfor i in lw.range(len(y)):\n    if {first} {test}:\n        y[k] = 7\n        y[k] += x[i]\n        k += 1"
        text = "def f(x: lw.Array[lw.i64], y: lw.Array[lw.i64], n: lw.i64):\n" + "\n".join("    " + line for line in body.split("\n")) + "\n"
        names: dict[str, object] = {"lw": lw, "least": lw.min, "most": lw.max}
        exec(text, names)  # noqa: S102
        x, y = np.arange(12), np.zeros(12, np.int64)
        lw.kernel(names["f"], source=text)(x, y, 8)
        kept = [i for i in range(12) if eval(f"{first} {test}", {"least": min, "most": max, "i": i, "n": 8})]
        assert y.tolist() == [7 + i for i in kept] + [0] * (12 - len(kept)), first


def test_what_is_asked_twice_is_asked_once_in_front_of_the_loop() -> None:
    @lw.kernel
    def steps(a: lw.Array[lw.i32], c: lw.i64):
        for i in lw.range(len(a)):
            if c > 3:
                a[i] += 1
            a[i] = a[i] * 3
            if c > 3:
                a[i] -= 4

    text = steps.compile(target="x86-64-v3").ir("nests")
    assert text.count("gt.i64 %c, 3") == 1 and text.count("= for ") == 2
    for c in (3, 4):
        a = np.arange(50, dtype=np.int32)
        steps(a, c)
        np.testing.assert_array_equal(a, np.arange(50) * 3 if c == 3 else (np.arange(50) + 1) * 3 - 4)


def test_mirrored_ends_of_many_taps_are_split_a_few_times_at_most() -> None:
    """Each tap's two conditions would double the loops once more."""
    source = """def nest(a, b, c):
    m = a.shape[1]
    for i in range(a.shape[0]):
        for j in range(m):
            s = a[i, j] * 0
            if j % 3 == 0:
                if j >= 3 and j < m - 3:
                    for k in range(7):
                        s += b[k] + c[i, j + k - 3]
                else:
                    for k in range(7):
                        p = j + k - 3
                        if p < 0:
                            p = -p
                        if p >= m:
                            p = 2 * m - 2 - p
                        s += b[k] * c[i, p]
            c[i, j] = s
"""
    rng = np.random.default_rng(0)
    given = [rng.random((4, 17)), rng.random(7), rng.random((4, 17))]
    wanted = [x.copy() for x in given]
    kernel(source, nests="off")(*wanted)
    fast = kernel(source)
    assert len(fast.compile(*given, keep=True).ir("nests")) < 200_000
    fast(*given)
    np.testing.assert_array_equal(given[2], wanted[2])
