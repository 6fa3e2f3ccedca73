"""Floats that each iteration adds the same to, or multiplies by it: computed from the index, or from a table of powers, under ``fastmath``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.types import Type

ADDED = """
def nest(a, b, c, x, d):
    for i in range(a.shape[0]):
        b[i] = a[i] * x + x
        x = x + d
        a[i] = x
    c[0] = x
"""
LESS = """
def nest(a, b, c, x, d):
    for i in range(3, a.shape[0] - 1):
        b[i] = a[i] * x
        x = (x - d) - d
    c[0] = x
"""
ROWS = """
def nest(a, b, c, x, d):
    for k in range(3):
        y = x
        for i in range(a.shape[0]):
            b[i] += a[i] * y
            y += d
        x += d
    c[0] = x
"""
INTEGRAL = """
def nest(a, b, c, x, d):
    s = x * 0
    for i in range(a.shape[0]):
        s += 1 / (1 + x * x)
        x += d
    c[0] = s
    c[1] = x
"""
TIMES = """
def nest(a, b, c, x, d):
    for i in range(a.shape[0]):
        b[i] = a[i] * x + x
        x = x * d
        a[i] = x
    c[0] = x
"""
DIVIDED = """
def nest(a, b, c, x, d):
    for i in range(5, a.shape[0]):
        b[i] = a[i] * x
        x = x / d / d
    c[0] = x
"""
POWERS_IN_ROWS = """
def nest(a, b, c, x, d):
    for k in range(4):
        y = x
        for i in range(a.shape[0] - k):
            b[i] = b[i] + a[i] * y
            y *= d
    c[0] = y
"""
SOURCES = {name: value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)}
#: What is no progression.
UNEQUAL = """
def nest(a, b, c, x, d):
    for i in range(a.shape[0]):
        b[i] = a[i] * x
        if a[i] > 1:
            x = x + d
    c[0] = x
"""
CHANGED = """
def nest(a, b, c, x, d):
    for i in range(a.shape[0]):
        b[i] = a[i] * x
        x = x + d
        d = d * x
    c[0] = x
"""
TWICE = """
def nest(a, b, c, x, d):
    for i in range(a.shape[0]):
        x = x + d
        b[i] = a[i] * x
        x = x + d
    c[0] = x
"""


def kernel(source: str, type_: Type, **options: Any) -> Any:
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array[type_], b=lw.Array[type_], c=lw.Array[type_], x=type_, d=type_)
    return lw.kernel(source=source, **options)(function)


def compare(source: str, type_: Type, n: int, step: float, fastmath: bool = True) -> None:
    rng = np.random.default_rng(n)
    dtype = type_.dtype
    given = [(rng.random(n) + 0.5).astype(dtype), rng.random(n).astype(dtype), np.zeros(2, dtype)]
    wanted, found = [a.copy() for a in given], [a.copy() for a in given]
    kernel(source, type_, nests="off")(*wanted, 1.25, step)
    kernel(source, type_, fastmath=fastmath)(*found, 1.25, step)
    for a, b in zip(found, wanted, strict=True):
        if fastmath:
            tolerance = 2e-4 if a.itemsize == 4 else 1e-10
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("type_", [lw.f32, lw.f64], ids=str)
@pytest.mark.parametrize("name", [*SOURCES, "UNEQUAL", "TWICE"])
def test_results(name: str, type_: Type) -> None:
    source = globals()[name]
    for n in (0, 1, 2, 5, 15, 64, 65, 127, 128, 130, 300, 1000):
        compare(source, type_, n, 1.0009 if name in ("TIMES", "DIVIDED", "POWERS_IN_ROWS") else 0.0011)
        compare(source, type_, n, 1.0009, False)


def test_changed_steps() -> None:
    for n in (1, 5, 20):
        compare(CHANGED, lw.f64, n, 0.001)


@pytest.mark.parametrize("name", SOURCES)
def test_they_have_lanes(name: str) -> None:
    report = str(kernel(SOURCES[name], lw.f32, fastmath=True).compile(target="x86-64-v3").nests())
    powers = name in ("TIMES", "DIVIDED", "POWERS_IN_ROWS")
    assert ("from tables, 64 iterations of i at a time" if powers else "computed from i") in report
    assert "lanes(i)" in report


@pytest.mark.parametrize("source", [UNEQUAL, CHANGED])
def test_others_stay(source: str) -> None:
    report = str(kernel(source, lw.f32, fastmath=True).compile(target="x86-64-v3").nests())
    assert "computed from" not in report and "from tables" not in report


@pytest.mark.parametrize("name", SOURCES)
def test_not_without_fastmath(name: str) -> None:
    report = str(kernel(SOURCES[name], lw.f32).compile(target="x86-64-v3").nests())
    assert "computed from" not in report and "from tables" not in report
