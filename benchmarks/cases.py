"""The kernels that are measured, as data: what goes in, what must come out, how much memory a call moves.

A peer gets each case's arguments in the order of the C prototypes in ``peers/gcc.py``; loopwright gets them in
the order of its native convention (each array as base, extents and outer strides).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Elements written or read by a call: inside the first-level cache, and as far out of it as the machine's last level lets it be.
SMALL = 4096
LARGE = 1 << 22

#: No coefficient is 0 or 1, so nothing can be left out.
DEGREE_3 = (0.75, -0.5, 0.375, -0.3125)
DEGREE_15 = tuple((0.9 - 0.045 * k) * (-1) ** (k // 2) for k in range(16))


@dataclass(slots=True)
class Case:
    """One kernel at one size.

    Attributes:
        kernel: name of the kernel in ``benchmarks/kernels.py`` and in every peer.
        size: as printed.
        arrays: the kernel's array arguments in the kernel's order, outputs last.
        constants: loopwright's compile-time arguments by name.
        expected: the result by NumPy in f64, rounded; the output array or the scalar.
        tolerance: largest allowed absolute difference.
        elements: elements processed by one call.
        bytes: memory read and written by one call, each byte once.
        returns: the kernel returns a float instead of writing an array.
    """

    kernel: str
    size: str
    arrays: list[Any]
    constants: dict[str, Any]
    expected: Any
    tolerance: float
    elements: int
    bytes: int
    returns: bool = False
    words: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = [int(a.ctypes.data) for a in self.arrays]
        if self.kernel == "blur":
            source, output = self.arrays
            self.words += [output.shape[0], output.shape[1], source.strides[0] // 4, output.strides[0] // 4]
        elif self.returns:
            self.words.append(self.arrays[0].shape[0])
        else:
            self.words.append(self.arrays[-1].shape[0])

    def loopwright_words(self) -> list[int]:
        """The argument list of loopwright's native convention."""
        words: list[int] = []
        for a in self.arrays:
            words += [int(a.ctypes.data), *a.shape, *a.strides[:-1]]
        return words

    def clear(self) -> None:
        """Forget the last result."""
        if not self.returns:
            self.arrays[-1].fill(np.nan)


_rng = np.random.default_rng(20240229)
_placed = 0


def place(shape: tuple[int, ...]) -> Any:
    """An f32 array on a 64-byte boundary, every page touched.

    Successive arrays start at different offsets within a 4096-byte page: arrays that agree in the low 12 bits of their
    addresses contend for the same cache sets, and a load is held up by an older store that agrees with it in those bits.
    """
    global _placed
    _placed += 1
    offset = _placed % 4 * 1088
    count = int(np.prod(shape))
    slab = np.zeros(count * 4 + 8192, np.uint8)
    start = -slab.ctypes.data % 4096 + offset
    made = slab[start : start + count * 4].view(np.float32).reshape(shape)
    made[...] = _rng.uniform(-1.0, 1.0, shape)
    return made


def _poly(n: int, kernel: str, coefficients: tuple[float, ...]) -> Case:
    x, y = place((n,)), place((n,))
    expected = np.polyval([float(np.float32(c)) for c in reversed(coefficients)], x.astype(np.float64))
    return Case(kernel, str(n), [x, y], {"coeffs": coefficients}, expected, 1e-5, n, 8 * n)


def _max3(n: int) -> Case:
    x, y = place((n + 2,)), place((n,))
    return Case("max3", str(n), [x, y], {}, np.maximum(np.maximum(x[:-2], x[1:-1]), x[2:]), 0.0, n, 8 * n)


def _blur(rows: int, columns: int) -> Case:
    image, out = place((rows + 2, columns + 2)), place((rows, columns))
    wide = image.astype(np.float64)
    expected = sum(wide[i : i + rows, j : j + columns] for i in range(3) for j in range(3)) / 9.0
    return Case("blur", f"{columns}x{rows}", [image, out], {}, expected, 1e-5, rows * columns, 8 * rows * columns)


def _dot(n: int) -> Case:
    x, y = place((n,)), place((n,))
    products = x.astype(np.float64) * y
    return Case("dot", str(n), [x, y], {}, float(products.sum()), 1e-6 * float(np.abs(products).sum()), n, 8 * n, True)


def _sum(n: int) -> Case:
    x = place((n,))
    return Case("sum", str(n), [x], {}, float(x.astype(np.float64).sum()), 1e-6 * float(np.abs(x).sum()), n, 4 * n, True)


#: Kernel -> the makers of its small and its large case.
MAKERS: dict[str, tuple[Callable[[], Case], Callable[[], Case]]] = {
    "poly3": (lambda: _poly(SMALL, "poly3", DEGREE_3), lambda: _poly(LARGE, "poly3", DEGREE_3)),
    "poly15": (lambda: _poly(SMALL, "poly15", DEGREE_15), lambda: _poly(LARGE, "poly15", DEGREE_15)),
    "max3": (lambda: _max3(SMALL), lambda: _max3(LARGE)),
    "blur": (lambda: _blur(64, 64), lambda: _blur(1080, 1920)),
    "dot": (lambda: _dot(SMALL), lambda: _dot(LARGE)),
    "sum": (lambda: _sum(SMALL), lambda: _sum(LARGE)),
}
