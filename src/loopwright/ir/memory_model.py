"""The memory an interpreted function may touch: the bytes of the NumPy arrays it was given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["Memory", "byte_range"]


def byte_range(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """First address of an array's elements, and the one past the last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


class Memory:
    """Address ranges that may be read, and those that may be written.

    Attributes:
        named: first and past-the-last address of the arrays that have a name, for messages.
    """

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, bool, np.ndarray[Any, np.dtype[np.uint8]]]] = []
        self.named: list[tuple[int, int, str]] = []
        self._keep: list[Any] = []
        self._known: set[tuple[int, int, bool]] = set()

    def add(self, array: np.ndarray[Any, Any], name: str = "") -> int:
        """Allow the bytes of ``array``; returns the address of its first element."""
        low, high = byte_range(array)
        writable = bool(array.flags.writeable)
        if high > low and (low, high, writable) not in self._known:
            self._known.add((low, high, writable))
            self._ranges.append((low, high, writable, np.ctypeslib.as_array((ctypes.c_ubyte * (high - low)).from_address(low))))
            self._keep.append(array)
            if name:
                self.named.append((low, high, name))
        return int(array.__array_interface__["data"][0])

    def at(self, address: int, size: int, write: bool) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """The ``size`` bytes at ``address``, or None if they are not all inside one array (for writing: a writable one)."""
        for low, high, writable, view in self._ranges:
            if low <= address and address + size <= high and (writable or not write):
                return view[address - low : address - low + size]
        return None
