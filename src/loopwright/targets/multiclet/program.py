"""Programs for Multiclet processors: operands, commands, paragraphs, data, and the units that are linked.

Printing any of them gives assembler text, which ``assembler.py`` reads back.
"""

from __future__ import annotations

from loopwright.targets.multiclet.commands import Row

__all__ = ["Command", "Data", "Operand", "Paragraph", "Reference", "Unit", "back", "constant", "label", "named", "register"]


class Operand:
    """What a command reads: the sum of a base and a constant, or what memory holds at that address.

    Attributes:
        back: of a place of the switch, how many commands ago it was filled; 0 is the place that reads as zero; -1 where the base is no place.
        name: of a place, the name of the command that fills it, where the text has one; or "".
        register: the register that is the base, or "".
        symbol: the paragraph or data whose address is added, or "".
        offset: the constant, of 32 bits.
        memory: whether it stands in brackets: the value is in memory at that address, and as wide as the command's suffix says.
    """

    __slots__ = ("back", "memory", "name", "offset", "register", "symbol")

    def __init__(self, back: int = -1, name: str = "", register: str = "", symbol: str = "", offset: int = 0, memory: bool = False) -> None:
        self.back = back
        self.name = name
        self.register = register
        self.symbol = symbol
        self.offset = offset
        self.memory = memory

    def in_brackets(self) -> Operand:
        """What memory holds at the address that this operand is."""
        return Operand(self.back, self.name, self.register, self.symbol, self.offset, True)

    def plus(self, offset: int) -> Operand:
        """The operand with ``offset`` added to its constant."""
        return Operand(self.back, self.name, self.register, self.symbol, self.offset + offset, self.memory)

    def is_place(self) -> bool:
        """Whether its base is a place of the switch, by number or by name."""
        return self.back >= 0 or self.name != ""

    def is_constant(self) -> bool:
        """Whether it has no base: nothing but a constant or the address of a symbol."""
        return not self.is_place() and not self.register

    def key(self) -> tuple[int, str, str, str, int, bool]:
        """What makes two operands the same: a place by its distance, whatever name the text has for it."""
        return self.back, "" if self.back >= 0 else self.name, self.register, self.symbol, self.offset, self.memory

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operand) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __str__(self) -> str:
        parts: list[str] = []
        if self.is_place():
            parts.append(f"@{self.name or self.back}")
        elif self.register:
            parts.append(f"#{self.register}")
        if self.symbol:
            parts.append(self.symbol)
        if not parts:
            text = str(self.offset)
        else:
            text = " + ".join(parts)
            if self.offset:
                text += f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}"
        return f"[{text}]" if self.memory else text

    def __repr__(self) -> str:
        return f"Operand({self})"


def back(distance: int) -> Operand:
    """``@distance``: the result of the command so many commands ago; ``@0`` is zero."""
    return Operand(back=distance)


def named(name: str) -> Operand:
    """``@name``: the result of the last command of this name above in the paragraph."""
    return Operand(name=name)


def constant(value: int) -> Operand:
    """A constant of 32 bits, which is sign-extended to 64; from 2**31 on it stands for the negative number of the same bits."""
    return Operand(offset=value - (1 << 32) if 1 << 31 <= value < 1 << 32 else value)


def label(symbol: str, offset: int = 0) -> Operand:
    """The address of a paragraph or of data, plus a constant."""
    return Operand(symbol=symbol, offset=offset)


def register(name: str, offset: int = 0) -> Operand:
    """A register's value, plus a constant."""
    return Operand(register=name, offset=offset)


class Command:
    """One command.

    Attributes:
        row: what it is.
        suffix: the letter of its type (``b s l q`` integers of 8 to 64 bits, ``f d`` floats), or "" if it has none.
        operands: as many as the row has places.
        name: the name of its result in the text, or "".
        line: the line of the text that it is from, or 0.
        comment: printed behind it.
    """

    __slots__ = ("comment", "line", "name", "operands", "row", "suffix")

    def __init__(self, row: Row, suffix: str, operands: list[Operand], name: str = "", line: int = 0, comment: str = "") -> None:
        self.row = row
        self.suffix = suffix
        self.operands = operands
        self.name = name
        self.line = line
        self.comment = comment

    @property
    def mnemonic(self) -> str:
        """The word in the text, with the suffix."""
        return f"{self.row.mnemonic}_{self.suffix}" if self.suffix else self.row.mnemonic

    def same(self, other: Command) -> bool:
        """Whether both do the same; names, lines and comments do not count."""
        return self.row is other.row and self.suffix == other.suffix and self.operands == other.operands

    def __str__(self) -> str:
        named_as = f"{self.name} := " if self.name else ""
        text = f"{named_as}{self.mnemonic} {', '.join([str(operand) for operand in self.operands])}".rstrip()
        return f"{text:32}; {self.comment}" if self.comment else text

    def __repr__(self) -> str:
        return f"Command({self})"


class Paragraph:
    """About a basic block: commands that are dealt to the cells. ``complete`` behind the last of them is printed, and not a command.

    Attributes:
        label: its name, unique in its unit.
        commands: at least one.
        line: the line of its label in the text, or 0.
    """

    __slots__ = ("commands", "label", "line")

    def __init__(self, label: str, commands: list[Command] | None = None, line: int = 0) -> None:
        self.label = label
        self.commands: list[Command] = [] if commands is None else commands
        self.line = line

    def __str__(self) -> str:
        return f"{self.label}:\n" + "".join([f"    {command}\n" for command in self.commands]) + "complete\n"

    def __repr__(self) -> str:
        return f"Paragraph({self.label}, {len(self.commands)} commands)"


class Reference:
    """An address of 32 bits in data that the linker fills in.

    Attributes:
        at: bytes from the beginning of the data.
        symbol: whose address.
        offset: what is added to it.
    """

    __slots__ = ("at", "offset", "symbol")

    def __init__(self, at: int, symbol: str, offset: int = 0) -> None:
        self.at = at
        self.symbol = symbol
        self.offset = offset


class Data:
    """Initialised bytes with a name.

    Attributes:
        label: its name, unique in its unit.
        content: the bytes.
        alignment: in bytes, a power of two.
        references: where addresses are to be filled in.
        read_only: whether stores to it are an error.
        zeros: bytes of 0 behind the content, which take no room in the unit.
        line: the line of its label in the text, or 0.
    """

    __slots__ = ("alignment", "content", "label", "line", "read_only", "references", "zeros")

    def __init__(
        self,
        label: str,
        content: bytes = b"",
        alignment: int = 1,
        references: list[Reference] | None = None,
        read_only: bool = False,
        zeros: int = 0,
        line: int = 0,
    ) -> None:
        self.label = label
        self.content = content
        self.alignment = alignment
        self.references: list[Reference] = [] if references is None else references
        self.read_only = read_only
        self.zeros = zeros
        self.line = line

    @property
    def size(self) -> int:
        """In bytes, zeros included."""
        return len(self.content) + self.zeros

    def __str__(self) -> str:
        lines = [f"    .align {self.alignment}"] if self.alignment > 1 else []
        lines.append(f"{self.label}:")
        at = 0
        for reference in sorted(self.references, key=_place):
            lines += _byte_lines(self.content[at : reference.at])
            lines.append(f"    .address {label(reference.symbol, reference.offset)}")
            at = reference.at + 4
        lines += _byte_lines(self.content[at:])
        if self.zeros:
            lines.append(f"    .zero {self.zeros}")
        return "\n".join(lines) + "\n"


def _place(reference: Reference) -> int:
    return reference.at


def _byte_lines(content: bytes) -> list[str]:
    return [f"    .byte {', '.join([str(byte) for byte in content[at : at + 16]])}" for at in range(0, len(content), 16)]


class Unit:
    """What is assembled at once, and linked with others.

    Attributes:
        paragraphs: in the order of their addresses; the first is where a program begins, unless the linker is told otherwise.
        data: likewise.
        exported: labels that other units may use. All others are the unit's own.
        file: where the text is from.
    """

    __slots__ = ("data", "exported", "file", "paragraphs")

    def __init__(self, paragraphs: list[Paragraph] | None = None, data: list[Data] | None = None, exported: list[str] | None = None, file: str = "") -> None:
        self.paragraphs: list[Paragraph] = [] if paragraphs is None else paragraphs
        self.data: list[Data] = [] if data is None else data
        self.exported: list[str] = [] if exported is None else exported
        self.file = file

    def __str__(self) -> str:
        parts: list[str] = []
        if self.exported:
            parts.append("".join([f"    .globl {name}\n" for name in self.exported]))
        for read_only, heading in ((True, "    .rodata\n"), (False, "    .data\n")):
            section = [str(data) for data in self.data if data.read_only is read_only]
            if section:
                parts.append(heading + "".join(section))
        if self.paragraphs:
            parts.append("    .text\n" + "\n".join([str(paragraph) for paragraph in self.paragraphs]))
        return "\n".join(parts)
