"""Searches for an extreme, and where it is, among the elements that a condition holds for: results as written, and that they are done in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: How it is searched; ``?`` stands for the comparison. Of ``c`` the place is stored, and what was best, where that is kept.
FORMS = {
    "by value": "best = a[0]\nu = -1\nfor v in range(n):\n    if b[v] > 2 and a[v] ? best:\n        best = a[v]\n        u = v\nd[0] = best",
    "by value under two conditions": (
        "best = a[0]\nu = -7\nfor v in range(n):\n    if b[v] > 1:\n        if b[v] < 8:\n            if a[v] ? best:\n                best = a[v]\n                u = v\nd[0] = best"
    ),
    "by place": "u = 0\nfor v in range(1, n):\n    if b[v] > 2 and a[v] ? a[u]:\n        u = v",
    "by place, downwards": "u = 0\nfor v in range(n - 1, 0, -1):\n    if a[v] ? a[u]:\n        u = v",
    "by place, in steps": "u = 0\nfor v in range(1, n, 3):\n    if b[v] > 2 and a[v] ? a[u]:\n        u = v",
    "by place under one condition": "u = 0\nfor v in range(n):\n    if b[v] > 2:\n        if a[v] ? a[u]:\n            u = v",
    "or none": "u = -1\nfor v in range(n):\n    if b[v] > 2 and (u < 0 or a[v] ? a[u]):\n        u = v",
    "or none, in arms": "u = -1\nfor v in range(n):\n    if b[v] > 2:\n        if u == -1:\n            u = v\n        elif a[v] ? a[u]:\n            u = v",
    "or none, the other way round": "u = -3\nfor v in range(n):\n    if b[v] > 2:\n        if u >= 0:\n            if a[v] ? a[u]:\n                u = v\n        else:\n            u = v",
    "or none, of all": "u = -1\nfor v in range(n):\n    if u < 0 or a[v] ? a[u]:\n        u = v",
    "a place that is known": "u = n // 2\nfor v in range(n):\n    if b[v] != 3 and (u < 0 or a[v] ? a[u]):\n        u = v",
    "from both ends": "best = a[0] + a[0]\nu = 0\nfor v in range(n):\n    w = a[v] + a[n - 1 - v]\n    if w ? best:\n        best = w\n        u = v\nd[0] = best",
    "a value computed twice": "best = a[0] + a[0]\nu = 0\nfor v in range(n):\n    if b[v] > 2 and a[v] + a[0] * 3 ? best:\n        best = a[v] + a[0] * 3\n        u = v\nd[0] = best",
    "a computed value": "best = a[0] + a[0]\nu = 0\nfor v in range(n):\n    if b[v] > 2:\n        w = a[v] + a[n // 2]\n        if w ? best:\n            best = w\n            u = v\nd[0] = best",
}


def source(form: str, compare: str) -> str:
    body = "".join(f"    {line}\n" for line in FORMS[form].replace("?", compare).split("\n"))
    return f"def nest(a, b, c, d):\n    n = a.shape[0]\n    d[0] = 0\n{body}    c[0] = u\n"


def inputs(n: int, dtype: type, how: str) -> list[Any]:
    rng = np.random.default_rng(n)
    a = rng.integers(0, 6 if how == "ties" else 1000, n).astype(dtype)
    if how == "NaN" and a.dtype.kind == "f":
        a[rng.random(n) < 0.3] = np.nan
        a[rng.random(n) < 0.1] = np.inf
    if how == "greatest":
        a[:] = np.inf if a.dtype.kind == "f" else np.iinfo(dtype).max
    b = rng.integers(0, 10, n).astype(np.uint8)
    if how == "none":
        b[:] = 0
    return [a, b, np.zeros(1, np.int64), np.zeros(1, dtype)]


@pytest.mark.parametrize("compare", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("form", FORMS)
def test_searches(form: str, compare: str) -> None:
    fast, plain = kernel(source(form, compare)), kernel(source(form, compare), nests="off")
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16):
        for how in ("any", "ties", "NaN", "none", "greatest"):
            for n in (1, 5, 40, 300, 2100):
                given, wanted = inputs(n, dtype, how), inputs(n, dtype, how)
                plain(*wanted)
                fast(*given)
                np.testing.assert_array_equal(given[2], wanted[2], f"{dtype} {how} {n}")
                np.testing.assert_array_equal(given[3], wanted[3], f"{dtype} {how} {n}")


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("form", FORMS)
def test_on_every_machine(runner: Runner, form: str) -> None:
    for n in (5, 70):
        given, wanted = inputs(n, np.float32, "ties"), inputs(n, np.float32, "ties")
        kernel(source(form, "<"), nests="off")(*wanted)
        code = runner.compiled(kernel(source(form, "<")), *given)
        runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("by place, downwards", "by place, in steps")])
def test_they_have_lanes(form: str) -> None:
    code = kernel(source(form, "<")).compile(*inputs(50, np.float32, "any"), keep=True, target="x86-64-v4")
    assert "min.f32x16" in code.ir("vectorize")


def test_what_is_not_compared_is_not_loaded() -> None:
    """The place from which a search begins need not be there where nothing is compared with it."""
    text = "def nest(a, b, c):\n    n = b.shape[0]\n    u = c[0]\n    for v in range(n):\n        if b[v] > 2:\n            if a[v] < a[u]:\n                u = v\n    c[0] = u\n"
    fast = kernel(text)
    a, b = np.arange(100.0)[::-1].copy(), np.zeros(100, np.uint8)
    for far in (1 << 60, -(1 << 60), 100):
        c = np.array([far])
        fast(a, b, c)
        assert c[0] == far
    b[40:60] = 3
    c = np.array([3])
    fast(a, b, c)
    assert c[0] == 59


def test_down_a_column_the_best_is_in_a_variable() -> None:
    text = "def nest(a, b):\n    n = a.shape[0]\n    for k in range(n):\n        p = k\n        for i in range(k + 1, n):\n            if abs(a[i, k]) > abs(a[p, k]):\n                p = i\n        b[k] = p\n"
    a = np.random.default_rng(0).normal(size=(50, 50))
    b = np.zeros(50, np.int64)
    fast = kernel(text)
    fast(a, b)
    np.testing.assert_array_equal(b, [k + np.argmax(np.abs(a[k:, k])) for k in range(50)])
    inner = fast.compile(a, b, keep=True).ir("nests").split("= for ")[-1]
    assert inner.split("    end")[0].count("= load") == 1


@pytest.mark.parametrize("count", [31, 32, 256, 2000])
def test_over_pythons_numbers(count: int) -> None:
    """Loops of many iterations that keep one of Python's numbers run at run time."""
    text = f"def nest(b, c):\n    for i in range(c.shape[0]):\n        best = 0\n        for k in range({count}):\n            if b[i, k] > b[i, best]:\n                best = k\n        c[i] = best\n"
    b = np.random.default_rng(count).integers(0, 100, (5, count)).astype(np.int32)
    c = np.zeros(5, np.int32)
    fast = kernel(text)
    fast(b, c)
    np.testing.assert_array_equal(c, b.argmax(1))
    assert count < 32 or len(fast.compile(b, c).asm()) < 60_000


def test_searches_of_lanes_are_not_split() -> None:
    """Each point is a lane, and its search one of scalars."""
    text = """def nest(a, b, c):
    for i in range(a.shape[0]):
        best = 1e9
        at = 0
        for k in range(b.shape[0]):
            d = 0.0
            for q in range(3):
                d += (a[i, q] - b[k, q]) * (a[i, q] - b[k, q])
            if d < best:
                best = d
                at = k
        c[i] = at
"""
    rng = np.random.default_rng(0)
    a, b, c = rng.random((70, 3)), rng.random((40, 3)), np.zeros(70, np.int64)
    fast = kernel(text, fastmath=True)
    fast(a, b, c)
    np.testing.assert_array_equal(c, ((a[:, None] - b[None]) ** 2).sum(2).argmin(1))
    loops = [line for line in fast.compile(a, b, c, keep=True, target="x86-64-v4").ir("nests").split("\n") if "= for " in line]
    assert " lanes" in loops[0] and " lanes" not in loops[1]
