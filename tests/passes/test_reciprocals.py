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


def divisions(kernel: object, stage: str = "promote") -> list[tuple[int, str]]:
    """Per division behind a pass how many loops are around it, and the text; only of what runs where arrays do not overlap."""
    depth = 0
    found = []
    opened: list[bool] = []
    for line in kernel.compile(target=V3).ir(stage).split("\n  else")[0].splitlines():  # type: ignore[attr-defined]
        text = line.strip()
        if " = for " in text:
            depth += 1
            opened.append(True)
        elif text.startswith("if"):
            opened.append(False)
        elif text.startswith("end") and opened:
            depth -= opened.pop()
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


def by_constants(a: lw.Array[lw.f32], b: lw.Array[lw.f32]) -> None:
    for i in lw.range(b.shape[0]):
        b[i] = a[i] / 5.0 + a[i] / 2e38 + 3.0 / a[i]


def test_constants() -> None:
    text = lw.kernel(by_constants, fastmath=True).compile(target=V3).ir("promote")
    # (The reciprocal of the second is no normal number.)
    assert text.count("div.f32") == 2 and "div.f32 3.0" in text and "mul.f32" in text
    assert lw.kernel(by_constants).compile(target=V3).ir("promote").count("div.f32") == 3
    a = np.random.default_rng(3).random(50, np.float32) + 1
    b = np.zeros_like(a)
    lw.kernel(by_constants, fastmath=True)(a, b)
    assert np.allclose(b, a / 5 + 3 / a, rtol=1e-6)


def solved(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2], x: lw.Array[lw.f64, 2]) -> None:
    for i in lw.range(b.shape[0]):
        for r in lw.range(3):
            s = b[i, r]
            for c in lw.range(r):
                s -= a[r, c] * x[i, c]
            x[i, r] = s / a[r, r]


def scaled(a: lw.Array[lw.f64], b: lw.Array[lw.f64]) -> None:
    for i in lw.range(b.shape[0]):
        a[i] = b[i] / a[0]


def test_elements_that_the_loop_does_not_store_to() -> None:
    a = np.tril(np.random.default_rng(1).random((3, 3))) + np.eye(3)
    b = np.random.default_rng(2).random((37, 3))
    x = np.zeros_like(b)
    made = lw.kernel(solved, fastmath=True)
    made(a, b, x)
    assert np.allclose(x @ a.T, b, rtol=1e-12)
    found = divisions(made, "simplify")
    assert found and all(depth == 0 and "1.0" in text for depth, text in found), found
    # What is divided by may be part of what is stored.
    results = []
    for kernel in (made, lw.kernel(solved, nests="off")):
        memory = np.arange(1.0, 50.0)
        kernel(memory[3:12].reshape(3, 3), memory[20:41].reshape(7, 3), memory[4:25].reshape(7, 3))
        results.append(memory)
    assert np.allclose(*results, rtol=1e-12)


def test_an_element_that_the_loop_stores_to_is_divided_by() -> None:
    assert "1.0" not in lw.kernel(scaled, fastmath=True).compile(target=V3).ir("nests")
    a, b = np.full(9, 2.0), np.arange(9.0)
    lw.kernel(scaled, fastmath=True)(a, b)
    # (The first is 0 / 2, and all others are divided by it.)
    assert a[0] == 0 and np.isinf(a[1:]).all()


def means(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64], c: lw.Array[lw.f64]) -> None:
    n = a.shape[1]
    for i in lw.range(a.shape[0]):
        s = 0.0
        for j in lw.range(n):
            s += a[i, j]
        b[i] = s / lw.f64(n)
        c[i] = s * s / lw.f64(n + 1)
        b[i] += 1.0 / lw.f64(n)


def of_indices(a: lw.Array[lw.f64], n: lw.i64) -> None:
    for i in lw.range(n):
        a[i] = a[i] / lw.f64(i + 1)


def test_what_is_computed_in_the_loop_from_what_it_does_not_change() -> None:
    kernel = lw.kernel(means, fastmath=True)
    # (The last is no product: it is the reciprocal.)
    assert [text.count("1.0") for _, text in divisions(kernel)] == [1, 1, 1]
    assert max(depth for depth, _ in divisions(kernel, "simplify")) == 0
    assert max(depth for depth, _ in divisions(lw.kernel(means), "simplify")) > 0
    a = np.random.default_rng(1).random((5, 21))
    b, c, wanted, others = (np.zeros(5) for _ in range(4))
    kernel(a, b, c)
    lw.kernel(means)(a, wanted, others)
    np.testing.assert_allclose(b, wanted, rtol=1e-14)
    np.testing.assert_allclose(c, others, rtol=1e-14)
    assert [text for _, text in divisions(lw.kernel(of_indices, fastmath=True)) if "1.0" in text] == []
