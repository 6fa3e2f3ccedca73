"""Divisions under ``fastmath`` by what a loop does not change: one for the loop; others as written."""

from __future__ import annotations

import numpy as np

import loopwright as lw

V3 = "x86-64-v3"


def over(a: lw.Array[lw.f64, 2], s: lw.Array[lw.f64]) -> None:
    for i in lw.range(a.shape[0]):
        t = s[i] + 1.0
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i, j] / t + t / a[i, j]


def halved(a: lw.Array[lw.f64], n: lw.i64) -> None:
    t = 1.0
    for i in lw.range(n):
        a[i] = a[i] / t
        t = t * 2.0


def divisions(kernel: object) -> list[tuple[int, str]]:
    """Per division behind ``promote`` how many loops are around it, and the text."""
    depth = 0
    found = []
    for line in kernel.compile(target=V3).ir("promote").splitlines():  # type: ignore[attr-defined]
        text = line.strip()
        if " = for " in text:
            depth += 1
        elif text.startswith("end"):
            depth -= 1
        elif "div.f64" in text:
            found.append((depth, text))
    return found


def test_the_reciprocal_is_computed_once() -> None:
    found = divisions(lw.kernel(over, fastmath=True))
    assert [depth for depth, _ in found] == [1, 2], found
    assert "1.0" in found[0][1]
    assert [depth for depth, _ in divisions(lw.kernel(over))] == [2, 2]


def test_what_the_loop_changes_is_divided_by() -> None:
    assert [depth for depth, _ in divisions(lw.kernel(halved, fastmath=True))] == [1]


def test_results() -> None:
    a = np.random.default_rng(1).random((5, 21)) + 0.5
    s = np.random.default_rng(2).random(5)
    want = a / (s + 1)[:, None] + (s + 1)[:, None] / a
    lw.kernel(over, fastmath=True)(a, s)
    assert np.allclose(a, want, rtol=1e-15)
