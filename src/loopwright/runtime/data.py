"""Memory for the globals of compiled modules, near the code that addresses it."""

from __future__ import annotations

import ctypes
import mmap
import sys
import weakref
from typing import Final

from loopwright.errors import TargetError
from loopwright.runtime import memory
from loopwright.runtime.link import Linked

__all__ = ["Data", "place"]

#: How far apart code and data may be: what a displacement of 32 bits reaches, with room for both.
_REACH: Final = 1 << 31
#: Distances from the code at which room is looked for, in bytes.
_STEP: Final = 1 << 26


class Data:
    """Memory that may be read and written; freed with its last reference.

    Attributes:
        address: of the first byte, at the beginning of a page.
        size: bytes.
    """

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, size: int, code: int) -> None:
        self.size = size
        length = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        if sys.platform.startswith("linux"):
            self.address = _near(length, code)
            weakref.finalize(self, memory.unmap, self.address, length)
        else:
            # Untested: where the system puts it.
            block = mmap.mmap(-1, length)
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(block))
            weakref.finalize(self, len, block)
            if abs(self.address - code) + length >= _REACH:
                raise TargetError("there is no room for a module's globals near its code")


def _near(length: int, code: int) -> int:
    """Pages within reach of the code. The system takes an address as a wish: it is told others until it grants one near enough."""
    most = (_REACH - length) // _STEP
    for k in range(1, most):
        for wish in (code - k * _STEP - length, code + k * _STEP):
            if wish <= 0:
                continue
            address = memory.map_pages(length, wish & -mmap.PAGESIZE)
            if max(address + length, code + _STEP) - min(address, code) < _REACH:
                return address
            memory.unmap(address, length)
    raise TargetError(f"there is no room for the {length} bytes of a module's globals near its code")


def place(linked: Linked, behind: bytes = b"") -> tuple[memory.Block, Data | None]:
    """Put linked functions, with more bytes behind them, and their globals into the memory of this process.

    Raises ``TargetError`` where something has no address or is out of reach, ``MemoryError`` where there is no memory.
    """
    data: list[Data] = []

    def fill(address: int) -> bytes:
        if linked.data_size:
            data.append(Data(linked.data_size, address))
            ctypes.memmove(data[-1].address, linked.contents(address, data[-1].address), linked.data_size)
        return linked.fill(address, data[-1].address if data else 0) + behind

    block = memory.allocate(linked.size + len(behind), linked.align, fill)
    return block, data[-1] if data else None
