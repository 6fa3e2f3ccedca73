"""Arrays that end, or begin, exactly where a page that cannot be touched does."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
_NONE = 0


def guarded(values: np.ndarray[Any, Any], at_end: bool) -> np.ndarray[Any, Any]:
    """A copy of an array between two unreadable pages: its last byte is the last before the upper one, or its first the first after the lower one.

    For a view with gaps (strides), the copy has the same strides, and its lowest or highest element is at the page.
    """
    low, high = _extent(values)
    size = high - low
    room = -(-max(size, 1) // PAGE) * PAGE
    block = mmap.mmap(-1, room + 2 * PAGE)
    raw = np.frombuffer(block, np.uint8)
    address = raw.__array_interface__["data"][0]
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (address, address + PAGE + room):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), ctypes.c_int(_NONE)):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + (room - size if at_end else 0)
    made = np.ndarray(values.shape, values.dtype, raw, start - low, values.strides)
    made[...] = values
    return made


def _extent(values: np.ndarray[Any, Any]) -> tuple[int, int]:
    """First and past-the-last byte of an array's elements, from its element (0, …, 0)."""
    if values.size == 0:
        return 0, 0
    low = high = 0
    for extent, stride in zip(values.shape, values.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + values.itemsize
