"""Numba compiling the kernels whose compile time is measured, with a fresh dispatcher each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from benchmarks.cases import DEGREE_3

# Numba makes constants of the globals a function reads.
C0, C1, C2, C3 = map(np.float32, DEGREE_3)


def poly3(x: Any, y: Any) -> None:
    """The polynomial of degree 3 that ``cases.DEGREE_3`` gives."""
    for i in range(y.shape[0]):
        y[i] = ((C3 * x[i] + C2) * x[i] + C1) * x[i] + C0


def max3(x: Any, y: Any) -> None:
    """The largest of three neighbours."""
    for i in range(y.shape[0]):
        y[i] = max(max(x[i], x[i + 1]), x[i + 2])


def selection_sort(x: Any) -> None:
    """Sort in place."""
    for i in range(x.shape[0]):
        least = x[i]
        place = i
        for j in range(i + 1, x.shape[0]):
            if x[j] < least:
                least = x[j]
                place = j
        x[place] = x[i]
        x[i] = least


_F32, _I32 = types.float32[::1], types.int32[::1]
_KERNELS: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
    "max3": (max3, (_F32, _F32)),
    "poly3": (poly3, (_F32, _F32)),
    "selection_sort": (selection_sort, (_I32,)),
}


def compiler(kernel: str) -> Callable[[], Any]:
    """Compiles a kernel anew at each call."""
    function, signature = _KERNELS[kernel]
    return lambda: numba.njit(fastmath=True)(function).compile(signature)
