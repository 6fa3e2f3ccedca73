"""Which line of the source an instruction comes from, for debuggers (.debug_line, .debug_info; *DWARF Debugging Information Format*, version 4, 6.2 and 3)."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Final

from loopwright.compiler import Compiled
from loopwright.objects.unwind import unsigned

__all__ = ["ABBREVIATIONS", "Fields", "information", "table"]

_VERSION: Final = 4
#: DW_LNS_…: copy, advance_pc, advance_line, set_file, set_prologue_end; how many operands the 12 standard ones have.
_COPY: Final = 1
_ADVANCE_PC: Final = 2
_ADVANCE_LINE: Final = 3
_SET_FILE: Final = 4
_PROLOGUE_END: Final = 10
_OPERANDS: Final = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
#: DW_LANG_C99: debuggers know no language of ours, and for C's they show what is here.
_LANGUAGE: Final = 0x0C

#: What .debug_abbrev says of the entries: (tag, children, (attribute, form)…). DW_TAG_compile_unit and DW_TAG_subprogram.
_ENTRIES: Final = (
    (0x11, 1, ((0x25, 0x08), (0x13, 0x05), (0x03, 0x08), (0x1B, 0x08), (0x11, 0x01), (0x12, 0x07), (0x10, 0x17))),
    (0x2E, 0, ((0x03, 0x08), (0x11, 0x01), (0x12, 0x07), (0x3F, 0x19), (0x3A, 0x0F), (0x3B, 0x0F))),
)


def _abbreviations() -> bytes:
    out = b""
    for number, (tag, children, attributes) in enumerate(_ENTRIES, 1):
        out += unsigned(number) + unsigned(tag) + bytes((children,))
        out += b"".join(unsigned(attribute) + unsigned(form) for attribute, form in attributes) + b"\0\0"
    return out + b"\0"


ABBREVIATIONS: Final = _abbreviations()


class Fields:
    """A section's bytes, and what in them are addresses.

    Attributes:
        data: the bytes, with what is known of the addresses in them.
        addresses: (offset, distance from the beginning of the code) of addresses of 64 bits.
        sections: (offset, name of a section) of distances of 32 bits into that section.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.addresses: list[tuple[int, int]] = []
        self.sections: list[tuple[int, str]] = []

    def address(self, base: int, distance: int) -> None:
        """The address of code ``distance`` bytes behind ``base``, which is 0 where the linker says where that is."""
        self.addresses.append((len(self.data), distance))
        self.data += struct.pack("<Q", base + distance if base else 0)

    def section(self, name: str) -> None:
        """The beginning of this file's part of a section."""
        self.sections.append((len(self.data), name))
        self.data += bytes(4)


def _files(functions: Sequence[tuple[int, Compiled]]) -> list[str]:
    """The source files, each once. (Functions that the library has added have none.)"""
    return list(dict.fromkeys(compiled.source.file for _, compiled in functions if compiled.source.file))


def table(functions: Sequence[tuple[int, Compiled]], base: int = 0) -> Fields:
    """.debug_line of functions, each with its distance from the beginning of the code, which is at ``base``."""
    made = Fields()
    files = _files(functions)
    # The shortest instruction, operations in one, statements; special opcodes, which are not used, from line base and range on; the first of them.
    fixed = bytes((1, 1, 1, 0xFB, 14, len(_OPERANDS) + 1)) + _OPERANDS + b"\0"
    fixed += b"".join(name.encode() + b"\0\0\0\0" for name in files) + b"\0"
    made.data += struct.pack("<IHI", 0, _VERSION, len(fixed)) + fixed
    for start, compiled in functions:
        if compiled.source.file:
            _sequence(made, start, compiled, files.index(compiled.source.file) + 1, base)
    struct.pack_into("<I", made.data, 0, len(made.data) - 4)
    return made


def _sequence(made: Fields, start: int, compiled: Compiled, file: int, base: int) -> None:
    """The rows of a function."""
    rows = [(offset, line) for offset, _, _, line in compiled.listing() if line]
    out = made.data
    out += b"\0\x09\x02"
    made.address(base, start)
    if file != 1:
        out += bytes((_SET_FILE,)) + unsigned(file)
    if rows and rows[0][0]:
        # What is in front of the first line makes the frame.
        rows.insert(0, (0, rows[0][1]))
    at, known = 0, 1
    body = rows[1][0] if len(rows) > 1 and rows[0][1] == rows[1][1] else -1
    shown = 0
    for offset, line in rows:
        if line == shown and offset != body:
            continue
        if offset > at:
            out += bytes((_ADVANCE_PC,)) + unsigned(offset - at)
        if line != known:
            out += bytes((_ADVANCE_LINE,)) + signed(line - known)
        if offset == body:
            out.append(_PROLOGUE_END)
        out.append(_COPY)
        at, known, shown = offset, line, line
    out += bytes((_ADVANCE_PC,)) + unsigned(compiled.machine.code_size - at) + b"\0\x01\x01"


def information(functions: Sequence[tuple[int, Compiled]], name: str, size: int, base: int = 0) -> Fields:
    """.debug_info of functions: their names and where they are. ``size`` is that of all code."""
    made = Fields()
    out = made.data
    files = _files(functions)
    out += struct.pack("<IH", 0, _VERSION)
    made.section(".debug_abbrev")
    out.append(8)
    out += unsigned(1) + b"loopwright\0" + struct.pack("<H", _LANGUAGE) + name.encode() + b"\0" + os.fsencode(os.getcwd()) + b"\0"
    made.address(base, 0)
    out += struct.pack("<Q", size)
    made.section(".debug_line")
    for start, compiled in functions:
        lines = [line for _, _, _, line in compiled.listing() if line]
        out += unsigned(2) + compiled.source.name.encode() + b"\0"
        made.address(base, start)
        file = files.index(compiled.source.file) + 1 if compiled.source.file else 0
        out += struct.pack("<Q", compiled.machine.code_size) + unsigned(file) + unsigned(min(lines, default=0))
    out.append(0)
    struct.pack_into("<I", out, 0, len(out) - 4)
    return made


def signed(value: int) -> bytes:
    """LEB128 with a sign (DWARF 4, 7.6)."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
