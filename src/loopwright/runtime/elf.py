"""Static ELF executables: the least that Linux loads (*System V ABI*, chapters "Object Files" and "Program Loading")."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["EXECUTE", "PAGE", "READ", "WRITE", "Segment", "executable"]

PAGE: Final = 4096

# p_flags
EXECUTE: Final = 1
WRITE: Final = 2
READ: Final = 4

_PT_LOAD: Final = 1
_PT_GNU_STACK: Final = 0x6474E551
_ET_EXEC: Final = 2

#: e_ident to e_shstrndx of a 64-bit little-endian file.
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER: Final = struct.Struct("<IIQQQQQQ")


class Segment:
    """Bytes to be in memory when the program starts.

    Attributes:
        address: where.
        data: what.
        flags: ``READ``, ``WRITE``, ``EXECUTE`` or'ed together.
    """

    __slots__ = ("address", "data", "flags")

    def __init__(self, address: int, data: bytes, flags: int) -> None:
        self.address = address
        self.data = data
        self.flags = flags


def executable(machine: int, machine_flags: int, entry: int, segments: list[Segment]) -> bytes:
    """The file.

    Args:
        machine: ``e_machine``, e.g. 243 for RISC-V.
        machine_flags: ``e_flags``.
        entry: address at which to start.
        segments: by ascending address, no two in one page. What lies between them is not mapped.
    """
    kept = [segment for segment in segments if segment.data]
    last = -1
    for segment in kept:
        if segment.address // PAGE <= last:
            raise ValueError("segments must ascend and share no page")
        last = (segment.address + len(segment.data) - 1) // PAGE
    count = len(kept) + 1
    out = bytearray(_HEADER.size + count * _PROGRAM_HEADER.size)
    ident = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    _HEADER.pack_into(out, 0, ident, _ET_EXEC, machine, 1, entry, _HEADER.size, 0, machine_flags, _HEADER.size, _PROGRAM_HEADER.size, count, 0, 0, 0)
    at = _HEADER.size
    for segment in kept:
        # A segment is mapped from the file, so its place there and in memory agree within a page.
        out += bytes((segment.address - len(out)) % PAGE)
        size = len(segment.data)
        _PROGRAM_HEADER.pack_into(out, at, _PT_LOAD, segment.flags, len(out), segment.address, segment.address, size, size, PAGE)
        at += _PROGRAM_HEADER.size
        out += segment.data
    _PROGRAM_HEADER.pack_into(out, at, _PT_GNU_STACK, READ | WRITE, 0, 0, 0, 0, 0, 16)
    return bytes(out)
