"""Loops of a fixed few iterations that are vectors as they are: tiles of matrices, and rows of as many elements as a vector has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

TILES = """
def f(a, b, c):
    for p in range(c.shape[0]):
        for q in range(c.shape[1]):
            for i in range(4):
                for j in range(4):
                    c[p, q, i, j] = 0
            for r in range(a.shape[1]):
                for i in range(4):
                    for j in range(4):
                        for k in range(4):
                            c[p, q, i, j] += a[p, r, i, k] * b[r, q, k, j]
"""
ROWS = """
def f(a, b, c):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                x = a[i, j, k]
                for r in range(N):
                    c[i, r] += x * b[j, r] * b[k, r]
"""


def _kernel(source: str, **options: Any) -> tuple[Any, Any]:
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102 (the sources above)
    plain = space["f"]
    space = {}
    exec(source, space)  # noqa: S102
    space["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    return plain, lw.kernel(source=source, contract=False, **options)(space["f"])


def _check(source: str, *given: np.ndarray) -> None:
    plain, kernel = _kernel(source)
    wanted, found = [x.copy() for x in given], [x.copy() for x in given]
    with np.errstate(all="ignore"):
        plain(*wanted)
    kernel(*found)
    for x, y in zip(wanted, found, strict=True):
        assert np.array_equal(x, y)


def _numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 7, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "i8", "i2", "u1"])
def test_products_of_tiles(dtype: str) -> None:
    for n in (1, 2, 5):
        _check(TILES, _numbers(dtype, n, n, 4, 4), _numbers(dtype, n, n + 1, 4, 4), _numbers(dtype, n, n + 1, 4, 4))


def test_a_row_of_a_tile_is_a_vector() -> None:
    _, kernel = _kernel(TILES)
    code = kernel.compile(*[lw.Array[lw.i32, 4]] * 3, target="x86-64-v3", keep=True)
    vectorized = code.ir("vectorize")
    assert "mul.i32x4" in vectorized
    assert "lanes(j)" in str(code.nests())
    # Each row is stored once, and nothing counts rows.
    loop = vectorized[vectorized.index(" = for 0, %a.n1, 1") :]
    fast = loop[: loop.index("\n        end")]
    assert fast.count("masked_store.i32x4") == 4
    assert "= for 0, 4, 1" not in fast


@pytest.mark.parametrize("n", [8, 9, 12, 16])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_rows_of_as_many_elements_as_a_vector_has(n: int, dtype: str) -> None:
    _check(ROWS.replace("N", str(n)), _numbers(dtype, 3, 5, 5), _numbers(dtype, 5, n), _numbers(dtype, 3, n))


@pytest.mark.parametrize("n", [8, 16])
def test_rows_are_rolled_up_to_be_vectors(n: int) -> None:
    """What is stored side by side is a vector, where sums alone would stay side by side, for rows of both loops around."""
    _, kernel = _kernel(ROWS.replace("N", str(n)))
    code = kernel.compile(lw.Array[lw.f64, 3], lw.Array[lw.f64, 2], lw.Array[lw.f64, 2], target="x86-64-v3", keep=True)
    assert "mul.f64x4" in code.ir("vectorize")


def test_elements_that_an_iteration_stores_several_times() -> None:
    source = """
def f(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = c[i, j] + a[i]
            c[i, j] = c[i, j] * b[j]
            c[i, j] = c[i, j] - a[i] * b[j]
"""
    for n in (0, 1, 7, 40):
        _check(source, _numbers("f4", n), _numbers("f4", n + 3), _numbers("f4", n, n + 3))
    # One array for two names: what is stored in between is read.
    for m in (2, 9, 33):
        plain, kernel = _kernel(source.replace("b[j]", "b[i, j]").replace("b.shape[0]", "b.shape[1]"))
        wanted, found = _numbers("i4", m, m), _numbers("i4", m, m)
        with np.errstate(all="ignore"):
            plain(wanted[0], wanted, wanted)
        kernel(found[0], found, found)
        assert np.array_equal(wanted, found)
    _, kernel = _kernel(source)
    code = kernel.compile(lw.Array[lw.f32, 1], lw.Array[lw.f32, 1], lw.Array[lw.f32, 2], target="x86-64-v3", keep=True)
    assert "elements that an iteration stores several times stored once" in str(code.nests())


def test_short_loops_that_wait_for_themselves_stay() -> None:
    """Of a part of four iterations, as borders leave it, each takes what the one before has stored."""
    source = """
def f(a, b, c):
    for i in range(a.shape[0]):
        older = (i + 1) % 3
        for j in range(1, b.shape[0]):
            v = c[1, j - 1]
            if j > 1:
                v = 1 if j > 5 else min(v, c[1, j])
            c[1, j] = v if older >= 2 else a[i]
"""
    for n in (5, 9, 40):
        _check(source, np.arange(5, dtype="u1"), _numbers("u1", n), np.tile(np.arange(n + 1, dtype="i4"), (3, 1)))
