"""Rows whose elements need the one before, and much else, which is computed ahead in lanes: results as written, of every length, where arrays overlap, and with what is reduced besides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

KERNELS = {
    "nine points": """
def f(u, c, b):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            r = b[i, j]
            r += c[8 * i, j] * u[i - 1, j - 1] + c[8 * i + 1, j] * u[i - 1, j] + c[8 * i + 2, j] * u[i - 1, j + 1]
            r += c[8 * i + 3, j] * u[i, j - 1]
            r += c[8 * i + 4, j] * u[i, j + 1]
            r += c[8 * i + 5, j] * u[i + 1, j - 1] + c[8 * i + 6, j] * u[i + 1, j] + c[8 * i + 7, j] * u[i + 1, j + 1]
            u[i, j] = r
""",
    "the greatest change": """
def f(u, c, b):
    for i in range(1, u.shape[0] - 1):
        biggest = 0.0
        for j in range(1, u.shape[1] - 1):
            r = b[i, j] + c[0, j] * u[i - 1, j] + c[1, j] * u[i, j - 1] + c[2, j] * u[i, j + 1] + c[3, j] * u[i + 1, j]
            r = r + c[4, j] * u[i - 1, j - 1] + c[5, j] * u[i + 1, j + 1]
            biggest = max(biggest, abs(r - u[i, j]))
            u[i, j] = r
        b[i, 0] = biggest
""",
    "one row": """
def f(u, c, b):
    for j in range(1, u.shape[1]):
        u[0, j] = (b[0, j] + c[0, j] * c[1, j] - c[2, j] * b[1, j] + c[3, j] * c[3, j]) / (1.0 + c[4, j] * c[4, j]) + 0.5 * c[5, j] * u[0, j - 1]
""",
    "two results": """
def f(u, c, b):
    for j in range(1, u.shape[1]):
        x = c[0, j] * c[1, j] + c[2, j] * c[3, j] + c[4, j] * c[5, j] + c[6, j] * c[7, j]
        u[0, j] = x + 0.25 * c[5, j] * u[0, j - 1]
        b[0, j] = x - u[0, j]
""",
}
CUT = "cut in front of what each iteration needs of the one before"


def _kernel(source: str, dtype: Any, **options: Any) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{"lw": lw, "np": np, "max": max}, {"lw": lw, "np": np}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update({name: lw.Array[dtype, 2] for name in "ucb"})
    return spaces[0]["f"], lw.kernel(source=source, **options)(spaces[1]["f"])


def _arrays(rows: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows + 100 * columns)
    return [rng.standard_normal((rows, columns)), 0.2 * rng.standard_normal((8 * rows, columns)), rng.standard_normal((rows, columns))]


@pytest.mark.parametrize("fastmath", [True, False])
@pytest.mark.parametrize("name", KERNELS)
def test_as_written(name: str, fastmath: bool) -> None:
    plain, kernel = _kernel(KERNELS[name], lw.f64, fastmath=fastmath)
    for columns in (1, 2, 3, 15, 16, 17, 18, 31, 33, 34, 50, 130):
        wanted, found = _arrays(5, columns), _arrays(5, columns)
        plain(*wanted)
        kernel(*found)
        for a, b in zip(wanted, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_that_overlap(name: str) -> None:
    """What is loaded from one array is stored through another, which only the loop as written sees."""
    plain, kernel = _kernel(KERNELS[name], lw.f64, fastmath=True)
    rng = np.random.default_rng(1)
    start = 0.3 * rng.standard_normal(4000)
    for shift in (0, 1, 7, 40, 100):
        results = []
        for run in (plain, kernel):
            memory = start.copy()
            run(memory[100:500].reshape(10, 40), memory[100 + shift : 3300 + shift].reshape(80, 40), memory[3500:3900].reshape(10, 40))
            results.append(memory)
        np.testing.assert_allclose(results[1], results[0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_what_is_done(target: str) -> None:
    _plain, kernel = _kernel(KERNELS["nine points"], lw.f64, fastmath=True)
    assert CUT in str(kernel.compile(target=target).nests())


def test_what_is_not() -> None:
    """In its order a sum waits for too many additions; what is short is walked by diagonals; integers wait for little."""
    assert CUT not in str(_kernel(KERNELS["nine points"], lw.f64)[1].compile(target="x86-64-v4").nests())
    short = """
def f(u, c, b):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = 0.5 * (u[i - 1, j] + u[i, j - 1])
"""
    assert CUT not in str(_kernel(short, lw.f64, fastmath=True)[1].compile(target="x86-64-v4").nests())
    assert CUT not in str(_kernel(KERNELS["nine points"], lw.i32)[1].compile(target="x86-64-v4").nests())
