"""The kernels as NumPy expressions that write into their outputs. Timed from Python, over many calls at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case

VARIANTS = ("numpy",)


def _poly(x: Any, y: Any, coeffs: tuple[float, ...]) -> Callable[[], None]:
    values = [np.float32(c) for c in reversed(coeffs)]

    def run() -> None:
        np.multiply(x, values[0], out=y)
        for c in values[1:-1]:
            np.add(y, c, out=y)
            np.multiply(y, x, out=y)
        np.add(y, values[-1], out=y)

    return run


def _max3(x: Any, y: Any) -> Callable[[], None]:
    a, b, c = x[:-2], x[1:-1], x[2:]

    def run() -> None:
        np.maximum(a, b, out=y)
        np.maximum(y, c, out=y)

    return run


def _blur(image: Any, out: Any) -> Callable[[], None]:
    rows, columns = out.shape
    parts = [image[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    ninth = np.float32(1 / 9)

    def run() -> None:
        np.add(parts[0], parts[1], out=out)
        for part in parts[2:]:
            np.add(out, part, out=out)
        np.multiply(out, ninth, out=out)

    return run


def runner(case: Case) -> Callable[[], Any]:
    """A function of no arguments that computes the case once."""
    if case.kernel in ("poly3", "poly15"):
        return _poly(*case.arrays, **case.constants)
    if case.kernel == "max3":
        return _max3(*case.arrays)
    if case.kernel == "blur":
        return _blur(*case.arrays)
    if case.kernel == "dot":
        x, y = case.arrays
        return lambda: np.dot(x, y)
    (x,) = case.arrays
    return lambda: x.sum()
