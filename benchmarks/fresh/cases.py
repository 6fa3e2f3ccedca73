"""What the kernels of a fresh process compute after the first: their arguments, and the result by NumPy.

Imported by both programs of this folder once their first kernel has been measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

N = 1000
F32 = np.float32

#: Coefficients of ``poly``.
COEFFS = (0.75, -0.5, 0.375, -0.3125)

_random = np.random.default_rng(7)
X = _random.uniform(-1, 1, N).astype(F32)
Z = _random.uniform(-1, 1, N).astype(F32)
IMAGE = _random.uniform(0, 1, (34, 66)).astype(F32)
PLACES = _random.integers(0, N, N, dtype=np.int64)
KEYS = _random.integers(-1000, 1000, N, dtype=np.int32)
PIXELS = _random.integers(0, 256, N, dtype=np.uint8)

#: Name -> (arguments, what it returns, {position of an array argument: what it must hold afterwards}).
Case = tuple[tuple[Any, ...], Any, dict[int, Any]]


def _out(n: int = N, dtype: Any = F32) -> Any:
    return np.zeros(n, dtype)


def _clipped() -> Case:
    return (X, _out(), F32(0.5)), int((X > 0.5).sum()), {1: np.minimum(X, F32(0.5))}


def _poly() -> Case:
    return (X, _out()), None, {1: np.polyval(COEFFS[::-1], X.astype(float))}


def _dot() -> Case:
    return (X, Z), float(X.astype(float) @ Z.astype(float)), {}


def _blur() -> Case:
    total = sum(IMAGE[r : r + 32, c : c + 64].astype(float) for r in range(3) for c in range(3))
    return (IMAGE, np.zeros((32, 64), F32)), None, {1: total / 9}


def _row_sums() -> Case:
    return (IMAGE, _out(len(IMAGE))), None, {1: IMAGE.astype(float).sum(axis=1)}


def _largest() -> Case:
    return (X,), float(X.max()), {}


def _running_sums() -> Case:
    return (X, _out()), None, {1: np.cumsum(X.astype(float))}


def _selection_sort() -> Case:
    return (KEYS[:100].copy(),), None, {0: np.sort(KEYS[:100])}


def _gather() -> Case:
    return (X, PLACES, _out()), None, {2: X[PLACES]}


def _distances() -> Case:
    return (X, Z, F32(0.25), F32(-0.5), _out()), None, {4: np.hypot(X.astype(float) - 0.25, Z.astype(float) + 0.5)}


def _threshold() -> Case:
    return (PIXELS, _out(dtype=np.uint8)), None, {1: np.where(PIXELS > 127, 255, PIXELS // 2)}


def _escapes() -> Case:
    return (X, Z, _out(dtype=np.int32)), None, {2: np.array([_escape(complex(a, b)) for a, b in zip(X, Z, strict=True)])}


def _escape(c: complex) -> int:
    """Steps of z = z*z + c until |z| > 2, at most 32."""
    z, steps = 0j, 0
    while steps < 32 and abs(z) <= 2:
        z, steps = z * z + c, steps + 1
    return steps


#: In the order in which they are compiled.
MAKERS: dict[str, Callable[[], Case]] = {
    "clipped": _clipped,
    "poly": _poly,
    "dot": _dot,
    "blur": _blur,
    "row_sums": _row_sums,
    "largest": _largest,
    "running_sums": _running_sums,
    "selection_sort": _selection_sort,
    "gather": _gather,
    "distances": _distances,
    "threshold": _threshold,
    "escapes": _escapes,
}


def check(name: str, case: Case, result: Any) -> None:
    """Raise AssertionError when a kernel computed something else than NumPy."""
    arguments, wanted, arrays = case
    good = wanted is None or bool(np.isclose(float(result), wanted, rtol=1e-4))
    for position, array in arrays.items():
        # Points on the rim of the Mandelbrot set may take a step more or less in f32.
        off = 0.02 * array.size if name == "escapes" else 0
        good = good and int((~np.isclose(arguments[position], array, rtol=1e-4, atol=1e-4)).sum()) <= off
    if not good:
        raise AssertionError(f"{name} computes something else than NumPy")
