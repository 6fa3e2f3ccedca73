"""The kernels by Numba: plain loops, fastmath=True, as C functions over pointers so that the native driver can call them.

``cfunc`` compiles the same loop through the same pipeline as ``njit``; only the entry differs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.cases import DEGREE_3, DEGREE_15

VARIANTS = ("numba",)


def _horner(coefficients: tuple[float, ...]) -> Callable[..., Any]:
    """A function of one f32 with the coefficients written into it, as a generator of Numba code would."""
    text = f"f32({coefficients[-1]!r})"
    for c in reversed(coefficients[:-1]):
        text = f"({text}) * v + f32({c!r})"
    scope: dict[str, Any] = {"f32": np.float32}
    exec(f"def horner(v):\n    return {text}", scope)  # noqa: S102
    return scope["horner"]  # type: ignore[no-any-return]


@cache
def functions() -> dict[str, Any]:
    """Kernel name -> Numba C function. Raises ImportError without Numba."""
    import numba
    from numba import carray, types

    p, n = types.CPointer(types.float32), types.int64
    f32 = np.float32
    inline = numba.njit(fastmath=True, inline="always")
    poly3_at, poly15_at = inline(_horner(DEGREE_3)), inline(_horner(DEGREE_15))

    def poly3(xp: Any, yp: Any, count: Any) -> None:
        x, y = carray(xp, count), carray(yp, count)
        for i in range(count):
            y[i] = poly3_at(x[i])

    def poly15(xp: Any, yp: Any, count: Any) -> None:
        x, y = carray(xp, count), carray(yp, count)
        for i in range(count):
            y[i] = poly15_at(x[i])

    def max3(xp: Any, yp: Any, count: Any) -> None:
        x, y = carray(xp, count + 2), carray(yp, count)
        for i in range(count):
            y[i] = max(max(x[i], x[i + 1]), x[i + 2])

    def blur(image_p: Any, out_p: Any, rows: Any, columns: Any, image_stride: Any, out_stride: Any) -> None:
        image, out = carray(image_p, (rows + 2, image_stride)), carray(out_p, (rows, out_stride))
        for r in range(rows):
            for i in range(columns):
                out[r, i] = (
                    image[r, i]
                    + image[r, i + 1]
                    + image[r, i + 2]
                    + image[r + 1, i]
                    + image[r + 1, i + 1]
                    + image[r + 1, i + 2]
                    + image[r + 2, i]
                    + image[r + 2, i + 1]
                    + image[r + 2, i + 2]
                ) * f32(1 / 9)

    def dot(xp: Any, yp: Any, count: Any) -> Any:
        x, y = carray(xp, count), carray(yp, count)
        total = f32(0)
        for i in range(count):
            total += x[i] * y[i]
        return total

    def sum_(xp: Any, count: Any) -> Any:
        x = carray(xp, count)
        total = f32(0)
        for i in range(count):
            total += x[i]
        return total

    def compiled(signature: Any, function: Callable[..., Any]) -> Any:
        return numba.cfunc(signature, fastmath=True)(function)

    void, f = types.void, types.float32
    return {
        "poly3": compiled(void(p, p, n), poly3),
        "poly15": compiled(void(p, p, n), poly15),
        "max3": compiled(void(p, p, n), max3),
        "blur": compiled(void(p, p, n, n, n, n), blur),
        "dot": compiled(f(p, p, n), dot),
        "sum": compiled(f(p, n), sum_),
    }
