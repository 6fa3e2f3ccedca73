"""Globals: memory that a module has for as long as it lives, with what is in it at first."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MOST_GLOBAL", "Global", "Reference"]

#: Bytes that one global may take.
MOST_GLOBAL: Final = 1 << 31


class Reference:
    """An address that is part of what is in a global at first: eight bytes, filled in where the module is put together.

    Attributes:
        offset: where it is, in bytes.
        symbol: the name of the global or the function that it is the address of.
        addend: what is added to that, in bytes.
        target: the ``Global``, ``Function`` or ``Callee`` of that name, once the module is linked.
    """

    __slots__ = ("addend", "offset", "symbol", "target")

    def __init__(self, offset: int, symbol: str, addend: int = 0) -> None:
        self.offset = offset
        self.symbol = symbol
        self.addend = addend
        self.target: Any = None

    def __reduce__(self) -> tuple[object, ...]:
        return Reference, (self.offset, self.symbol, self.addend)


class Global:
    """Memory of a module by name: a variable, a table, a string.

    Attributes:
        name: what functions and other globals name it by.
        size: bytes; -1 of one that is only named here, and that another module, or the process, has.
        align: of its address, in bytes, a power of two.
        data: what is in it at first; zeros behind the end of these bytes.
        constant: nothing writes to it.
        references: the addresses in it, by ascending offset.
        address: where it is in this process, or 0 when it goes where the module's code goes.
        keep: keeps the Python object behind the address alive.
    """

    __slots__ = ("address", "align", "constant", "data", "keep", "name", "references", "size")

    def __init__(
        self,
        name: str,
        size: int = -1,
        align: int = 8,
        data: bytes = b"",
        constant: bool = False,
        references: list[Reference] | None = None,
        address: int = 0,
        keep: Any = None,
    ) -> None:
        self.name = name
        self.size = size
        self.align = align
        self.data = data
        self.constant = constant
        self.references: list[Reference] = references if references is not None else []
        self.address = address
        self.keep = keep

    @property
    def defined(self) -> bool:
        """Whether it is more than a name."""
        return self.size >= 0 or self.address != 0

    def filled(self, addresses: dict[int, int]) -> bytearray:
        """The bytes that are in it at first, with the addresses in their places: those given, by the number of the reference."""
        made = bytearray(self.size)
        made[: len(self.data)] = self.data
        for number, reference in enumerate(self.references):
            value = (addresses[number] + reference.addend) & 0xFFFF_FFFF_FFFF_FFFF
            made[reference.offset : reference.offset + 8] = value.to_bytes(8, "little")
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Global, (self.name, self.size, self.align, self.data, self.constant, self.references, self.address, self.keep)
