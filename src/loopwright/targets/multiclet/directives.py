"""Data sections of assembler text."""

from __future__ import annotations

import struct
from typing import Final

from loopwright.targets.multiclet.program import Data, Reference, Unit
from loopwright.targets.multiclet.words import Words

__all__ = ["Section"]

#: Bytes of each directive for integers, and the letters of ``struct`` for floats.
_INTEGERS: Final[dict[str, int]] = {".byte": 1, ".short": 2, ".long": 4, ".quad": 8}
_FLOATS: Final[dict[str, str]] = {".float": "<f", ".double": "<d"}


class Section:
    """The data of a unit up to a line."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.alignment = 1
        self.open: Data | None = None

    def begin(self, name: str, line: int, read_only: bool) -> None:
        """A label: what follows belongs to it."""
        self.open = Data(name, alignment=self.alignment, read_only=read_only, line=line)
        self.alignment = 1
        self.unit.data.append(self.open)

    def directive(self, name: str, words: Words) -> None:
        """Read what follows a directive's name."""
        if name in (".align", ".balign"):
            self.alignment = words.integer()
            if self.alignment < 1 or self.alignment & (self.alignment - 1):
                raise words.error(f"an alignment is a power of two, in bytes: {self.alignment} is not")
            return
        data = self.open
        if data is None or self.alignment > 1:
            raise words.error("data stands behind a label, and .align before it")
        if name == ".zero":
            count = words.integer()
            if count < 0:
                raise words.error(f"there cannot be {count} bytes")
            data.zeros += count
            return
        self._settle(data)
        if name in (".ascii", ".asciz"):
            data.content += words.string() + (b"\0" if name == ".asciz" else b"")
            return
        if name not in _INTEGERS and name not in _FLOATS and name != ".address":
            raise words.error(f"there is no directive {name}; for data there are {', '.join([*_INTEGERS, *_FLOATS, '.address', '.ascii', '.asciz', '.zero'])}")
        self._item(name, data, words)
        while words.sign(","):
            self._item(name, data, words)

    @staticmethod
    def _settle(data: Data) -> None:
        """Zeros that something follows are content."""
        data.content += bytes(data.zeros)
        data.zeros = 0

    @staticmethod
    def _item(name: str, data: Data, words: Words) -> None:
        if name == ".address":
            symbol = words.name("a label")
            offset = words.integer() if words.sign("+") else -words.integer() if words.sign("-") else 0
            data.references.append(Reference(len(data.content), symbol, offset))
            data.content += bytes(4)
        elif name in _FLOATS:
            fraction = words.fraction()
            value = float(words.integer()) if fraction is None else fraction
            try:
                data.content += struct.pack(_FLOATS[name], value)
            except OverflowError:
                raise words.error(f"{value} is too large for {name}") from None
        else:
            size = _INTEGERS[name]
            number = words.integer()
            if not -(1 << 8 * size - 1) <= number < 1 << 8 * size:
                raise words.error(f"{number} does not fit into the {size} byte{'s' * (size > 1)} of {name}")
            data.content += (number & (1 << 8 * size) - 1).to_bytes(size, "little")
