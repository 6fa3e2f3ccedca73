"""Relocatable ELF files (*System V ABI*, chapter "Object Files"): sections, symbols, and relocations with addends."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["ALLOCATED", "EXECUTABLE", "FUNCTION", "NO_TYPE", "OBJECT", "WRITABLE", "ObjectFile", "Relocation", "Section"]

# sh_flags
WRITABLE: Final = 1
ALLOCATED: Final = 2
EXECUTABLE: Final = 4
_INFO_LINK: Final = 0x40

# sh_type
_PROGBITS: Final = 1
_SYMTAB: Final = 2
_STRTAB: Final = 3
_RELA: Final = 4
_NOBITS: Final = 8
#: Of sections with addresses of functions that run before and behind main, by what their names begin with.
_LISTS: Final = {".init_array": 14, ".fini_array": 15}

# The type of a symbol, in the low half of st_info; in the high half its binding.
NO_TYPE: Final = 0
OBJECT: Final = 1
FUNCTION: Final = 2
_LOCAL: Final = 0
_GLOBAL: Final = 1
_WEAK: Final = 2

_ET_REL: Final = 1
_FILE_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")


class Relocation:
    """A place that the linker fills in.

    Attributes:
        offset: in the section.
        kind: its number in the machine's ABI.
        symbol: the name of what it is about: of a symbol, or of a section.
        addend: what is added.
    """

    __slots__ = ("addend", "kind", "offset", "symbol")

    def __init__(self, offset: int, kind: int, symbol: str, addend: int) -> None:
        self.offset = offset
        self.kind = kind
        self.symbol = symbol
        self.addend = addend


class Section:
    """A part of the file.

    Attributes:
        name: its name.
        flags: ``ALLOCATED``, ``WRITABLE``, ``EXECUTABLE`` or'ed together; 0 of what is not in memory.
        align: of its beginning, in bytes.
        data: what is in it.
        relocations: what the linker fills in.
        address: where it is in memory already, or 0.
        zeros: bytes of one that has no contents and is all zeros in memory.
    """

    __slots__ = ("address", "align", "data", "flags", "name", "relocations", "zeros")

    def __init__(self, name: str, flags: int) -> None:
        self.name = name
        self.flags = flags
        self.align = 1
        self.data = bytearray()
        self.relocations: list[Relocation] = []
        self.address = 0
        self.zeros = 0

    def pad(self, align: int, fill: bytes = b"\0") -> int:
        """Go on at a multiple of ``align`` bytes; returns the offset."""
        self.align = max(self.align, align)
        self.data += fill * (-len(self.data) % align)
        return len(self.data)


class _Symbol:
    __slots__ = ("kind", "local", "name", "section", "size", "value")

    def __init__(self, name: str, section: Section | None, value: int, size: int, kind: int, local: bool) -> None:
        self.name = name
        self.section = section
        self.value = value
        self.size = size
        self.kind = kind
        self.local = local


class _Strings:
    """A table of names, each ended by a zero."""

    def __init__(self) -> None:
        self.data = bytearray(1)
        self._known: dict[str, int] = {"": 0}

    def add(self, name: str) -> int:
        place = self._known.get(name)
        if place is None:
            place = self._known[name] = len(self.data)
            self.data += name.encode() + b"\0"
        return place


class ObjectFile:
    """A relocatable file in the making, 64 bits, little-endian.

    Args:
        machine: ``e_machine``.
        flags: ``e_flags``.
    """

    def __init__(self, machine: int, flags: int) -> None:
        self._machine = machine
        self._flags = flags
        self.sections: dict[str, Section] = {}
        self._symbols: dict[str, _Symbol] = {}
        #: Names of symbols that give way to others of their names; of those that are nowhere, the addresses are 0.
        self.weak: set[str] = set()
        #: Symbols whose names mean something to those who read the file, and to no relocation: there may be several of a name.
        self._marks: list[_Symbol] = []

    def section(self, name: str, flags: int = 0) -> Section:
        """The section of a name, made where there is none."""
        found = self.sections.get(name)
        if found is None:
            found = self.sections[name] = Section(name, flags)
        return found

    def define(self, name: str, section: Section, value: int, size: int, kind: int, local: bool = False) -> None:
        """A symbol: a function or an object of ``size`` bytes, ``value`` bytes into a section. Raises ``ValueError`` where there is one of its name."""
        if name in self._symbols:
            raise ValueError(f"the symbol {name} is defined twice")
        self._symbols[name] = _Symbol(name, section, value, size, kind, local)

    def mark(self, name: str, section: Section, value: int) -> None:
        """A local symbol that nothing refers to."""
        self._marks.append(_Symbol(name, section, value, 0, NO_TYPE, True))

    def data(self) -> bytes:
        """The file. What relocations name and no section or symbol defines is left to the linker."""
        sections = list(self.sections.values())
        symbols, numbers, locals_ = self._numbered(sections)
        names, strings = _Strings(), _Strings()
        index = {id(section): number for number, section in enumerate(sections, 1)}
        table = bytearray()
        for each in symbols:
            info = (_LOCAL if each.local else _WEAK if each.name in self.weak else _GLOBAL) << 4 | each.kind
            table += _SYMBOL.pack(strings.add(each.name), info, 0, index[id(each.section)] if each.section is not None else 0, each.value, each.size)
        at_symbols = len(sections) + 1
        out = bytearray(_FILE_HEADER.size)
        headers = [bytes(_SECTION_HEADER.size)]

        def add(
            name: str, kind: int, data: bytes | bytearray, flags: int = 0, align: int = 1, link: int = 0, info: int = 0, entry: int = 0, address: int = 0
        ) -> None:
            out.extend(bytes(-len(out) % align))
            headers.append(_SECTION_HEADER.pack(names.add(name), kind, flags, address, len(out), len(data), link, info, align, entry))
            out.extend(data)

        for section in sections:
            if section.zeros:
                headers.append(
                    _SECTION_HEADER.pack(names.add(section.name), _NOBITS, section.flags, section.address, len(out), section.zeros, 0, 0, section.align, 0)
                )
                continue
            kind = next((number for begins, number in _LISTS.items() if section.name.startswith(begins)), _PROGBITS)
            add(section.name, kind, section.data, section.flags, section.align, address=section.address)
        add(".symtab", _SYMTAB, table, 0, 8, at_symbols + 1, locals_, _SYMBOL.size)
        add(".strtab", _STRTAB, strings.data)
        for section in sections:
            if section.relocations:
                packed = b"".join(_RELOCATION.pack(each.offset, numbers[each.symbol] << 32 | each.kind, each.addend) for each in section.relocations)
                add(f".rela{section.name}", _RELA, packed, _INFO_LINK, 8, at_symbols, index[id(section)], _RELOCATION.size)
        names.add(".shstrtab")
        add(".shstrtab", _STRTAB, names.data)
        out += bytes(-len(out) % 8)
        ident = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
        _FILE_HEADER.pack_into(
            out, 0, ident, _ET_REL, self._machine, 1, 0, 0, len(out), self._flags, _FILE_HEADER.size, 0, 0, _SECTION_HEADER.size, len(headers), len(headers) - 1
        )
        return bytes(out) + b"".join(headers)

    def _numbered(self, sections: list[Section]) -> tuple[list[_Symbol], dict[str, int], int]:
        """All symbols in their order, which is local ones first; their numbers by name; how many are local."""
        of_sections = [_Symbol("", section, 0, 0, 3, True) for section in sections]
        known = [*self._symbols.values()]
        wanted = dict.fromkeys(each.symbol for section in sections for each in section.relocations)
        missing = [_Symbol(name, None, 0, 0, NO_TYPE, False) for name in wanted if name not in self._symbols and name not in self.sections]
        local = [_Symbol("", None, 0, 0, NO_TYPE, True), *of_sections, *self._marks, *(each for each in known if each.local)]
        symbols = [*local, *(each for each in known if not each.local), *missing]
        numbers = {section.name: number for number, section in enumerate(sections, 1)}
        numbers.update({each.name: number for number, each in enumerate(symbols) if each.name and each not in self._marks})
        return symbols, numbers, len(local)
