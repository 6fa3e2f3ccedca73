# ruff: noqa
"""Loops over the elements of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw

X = np.array([3.0, -1.0, 2.5, 7.0, 0.0, -4.0, 2.0])
N = np.array([4, 1, -3, 9, 2])

BODIES = [
    "t = 0.0|for v in x:|    t += v|z[0] = t",
    "for i, v in enumerate(x):|    z[i] = v * i",
    "for i, v in enumerate(n, 1):|    z[i] = v + i",
    "for a, b in zip(x, n):|    z[0] += a * b",
    "for i, (a, b) in enumerate(zip(x, n)):|    z[i] = a - b",
    "for a, (b, c) in zip(x, zip(n, x)):|    z[1] += a * b + c",
    "for v in x:|    if v > 5:|        z[0] = v|        break|    z[1] += v",
    "for i, v in enumerate(x):|    if v < 0:|        continue|    z[i] = v",
    "for u in x:|    for v in n:|        z[0] += u * v",
    "best = x[0]|at = 0|for i, v in enumerate(x):|    if v > best:|        best = v|        at = i|z[0] = best|z[1] = at",
    "z[0] = sum(v * v for v in x)|z[1] = sum(a * b for a, b in zip(x, n))",
    "z[0] = any(v == 2.5 for v in x)|z[1] = max((v for v in x), default=0.0)|z[2] = sum(1 for i, v in enumerate(n) if v > i)",
    "for i, w in enumerate((2.0, 0.5)):|    z[i] = x[i] * w|for a, b in zip((1, 2), [3, 4]):|    z[a] += b",
    "for i, v in enumerate(x):|    z[i] = z[i - 1] + v if i > 0 else v",
    "for v in x:|    v = v * 2|    z[0] += v",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("options", [{}, {"check": True}, {"nests": "off"}], ids=str)
def test_elements(body: str, options: Any) -> None:
    parameters, lines = "x: lw.Array[lw.f64], n: lw.Array[lw.i64], z: lw.Array[lw.f64]", body.replace("|", "\n")
    kernel, plain = kernel_from(parameters, lines, contract=False, **options)
    made, want = np.zeros(9), np.zeros(9)
    kernel(X, N, made)
    plain(X, N, want)
    assert made.tolist() == want.tolist()
    made, want = np.zeros(9), np.zeros(9)
    if "x[0]" not in body and "x[i]" not in body:
        kernel_from(parameters, lines, **options)[0](X[:0], N[:0], made)
        plain(X[:0], N[:0], want)
        assert made.tolist() == want.tolist()


def test_a_loop_over_elements_has_lanes() -> None:
    def k(x: lw.Array[lw.f32], z: lw.Array[lw.f32]):
        for i, v in enumerate(x):
            z[i] = v * 2.5

    x = np.zeros(64, np.float32)
    assert "vmulps" in lw.kernel(k).compile(x, x.copy(), target="x86-64-v3").asm()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("for v, w in zip(x, (1, 2)):", "goes over arrays and ranges, not over tuple (1, 2) beside them"),
        ("for v in zip(x, x, strict=True):", "takes no strict=True"),
        ("for v in list(x):", "an array cannot be iterated over"),
        ("for v in list(enumerate(x)):", "are what a for loop goes over"),
    ],
)
def test_what_is_told_of_others(line: str, message: str) -> None:
    kernel, _ = kernel_from("x: lw.Array[lw.f64], a: lw.Array[lw.f64, 2]", f"{line}\n    x[0] = 1")
    with pytest.raises(lw.KernelTypeError) as caught:
        kernel(X.copy(), np.zeros((2, 2)))
    assert message in str(caught.value) and ":2:" in str(caught.value)


def test_a_variable_that_is_none_before_a_loop() -> None:
    def k(x: lw.Array[lw.f64]):
        t = None
        for i in range(len(x)):
            t = x[i]
        x[0] = t

    with pytest.raises(lw.KernelTypeError, match="`t` is None before a loop that runs at run time"):
        lw.kernel(k)(X.copy())
