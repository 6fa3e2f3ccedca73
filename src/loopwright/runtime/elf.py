"""Static ELF executables, and a library of two symbols: the least that Linux loads (*System V ABI*, chapters "Object Files" and "Program Loading")."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["EXECUTE", "PAGE", "READ", "WRITE", "Segment", "executable", "library"]

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


_ET_DYN: Final = 3
_PT_DYNAMIC: Final = 2
_SECTION_HEADER: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")


def library(machine: int, function: str, code: bytes, variable: str, data: bytes) -> bytes:
    """A shared library with a function and a variable, for ``dlopen`` and for debuggers.

    Args:
        machine: ``e_machine``.
        function, variable: their names.
        code, data: what is in them.
    """
    names = b"\0" + function.encode() + b"\0" + variable.encode() + b"\0"
    at_variable = 2 + len(function)
    sections = b"\0.hash\0.dynsym\0.dynstr\0.text\0.dynamic\0.data\0.shstrtab\0"
    # The first page: headers, tables, code. The second: what is written.
    places: dict[str, tuple[int, bytes]] = {}
    at = _HEADER.size + 4 * _PROGRAM_HEADER.size

    def put(name: str, contents: bytes, align: int = 8) -> int:
        nonlocal at
        at += -at % align
        places[name] = at, contents
        at += len(contents)
        return places[name][0]

    # One bucket: the first symbol, then the second, then none.
    put(".hash", struct.pack("<IIIIII", 1, 3, 1, 0, 2, 0))
    put(".dynsym", bytes(3 * _SYMBOL.size))
    put(".dynstr", names)
    put(".text", code, 16)
    end = at
    at = PAGE
    # DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL.
    tags = ((4, places[".hash"][0]), (5, places[".dynstr"][0]), (6, places[".dynsym"][0]), (10, len(names)), (11, _SYMBOL.size), (0, 0))
    put(".dynamic", b"".join(struct.pack("<QQ", *tag) for tag in tags))
    put(".data", data)
    both = _SYMBOL.pack(1, 0x12, 0, 4, places[".text"][0], len(code)) + _SYMBOL.pack(at_variable, 0x11, 0, 6, places[".data"][0], len(data))
    places[".dynsym"] = places[".dynsym"][0], bytes(_SYMBOL.size) + both
    written = at - PAGE
    put(".shstrtab", sections)
    at += -at % 8
    out = bytearray(at)
    for place, contents in places.values():
        out[place : place + len(contents)] = contents
    ident = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    _HEADER.pack_into(out, 0, ident, _ET_DYN, machine, 1, 0, _HEADER.size, at, 0, _HEADER.size, _PROGRAM_HEADER.size, 4, _SECTION_HEADER.size, 8, 7)
    dynamic = places[".dynamic"]
    for number, (kind, flags, place, size, align) in enumerate(
        (
            (_PT_LOAD, READ | EXECUTE, 0, end, PAGE),
            (_PT_LOAD, READ | WRITE, PAGE, written, PAGE),
            (_PT_DYNAMIC, READ | WRITE, dynamic[0], len(dynamic[1]), 8),
            (_PT_GNU_STACK, READ | WRITE, 0, 0, 16),
        )
    ):
        _PROGRAM_HEADER.pack_into(out, _HEADER.size + number * _PROGRAM_HEADER.size, kind, flags, place, place, place, size, size, align)
    # sh_type, sh_flags, sh_link, sh_info, sh_entsize.
    kinds = {
        ".hash": (5, 2, 2, 0, 4),
        ".dynsym": (11, 2, 3, 1, _SYMBOL.size),
        ".dynstr": (3, 2, 0, 0, 0),
        ".text": (1, 6, 0, 0, 0),
        ".dynamic": (6, 3, 3, 0, 16),
        ".data": (1, 3, 0, 0, 0),
        ".shstrtab": (3, 0, 0, 0, 0),
    }
    out += bytes(_SECTION_HEADER.size)
    for name, (kind, flags, link, info, entry) in kinds.items():
        place, contents = places[name]
        address = place if flags else 0
        out += _SECTION_HEADER.pack(sections.index(name.encode() + b"\0"), kind, flags, address, place, len(contents), link, info, 8, entry)
    return bytes(out)
