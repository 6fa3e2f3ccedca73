"""Units to a program: addresses of paragraphs and data, names of other units, the first contents of memory.

Addresses are ours, none being published: the first page is nobody's, code begins behind it, 16 bytes a command, then data that is read only, data that is not,
and the stack, which grows down from the end of memory.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import AssemblyError
from loopwright.targets.multiclet.encoding import COMMAND_BYTES
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Data, Operand, Paragraph, Unit
from loopwright.targets.multiclet.rules import faults, resolve

__all__ = ["CODE", "MEMORY", "PAGE", "Linked", "Program", "link"]

#: Bytes nobody can access, at address 0.
PAGE: Final = 0x1000
#: Where code begins.
CODE: Final = PAGE
#: Bytes of memory, unless one asks for more or less.
MEMORY: Final = 1 << 24


class Linked:
    """A paragraph at its address.

    Attributes:
        paragraph: as it stands in its unit.
        unit: that unit.
        address: in bytes.
        symbols: addresses of the labels that its commands name.
    """

    __slots__ = ("address", "paragraph", "symbols", "unit")

    def __init__(self, paragraph: Paragraph, unit: Unit, address: int, symbols: dict[str, int]) -> None:
        self.paragraph = paragraph
        self.unit = unit
        self.address = address
        self.symbols = symbols

    def constant(self, operand: Operand) -> int:
        """The constant of an operand, with its symbol's address, sign-extended from 32 bits."""
        value = operand.offset + (self.symbols[operand.symbol] if operand.symbol else 0)
        return (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


class Program:
    """What can be run.

    Attributes:
        processor: for which.
        paragraphs: in the order of their addresses.
        symbols: addresses of exported labels, and of all labels that only one unit has.
        entry: the address of the paragraph to begin with.
        writable: address of the first byte that stores may change; from ``readable`` on bytes can be loaded.
        readable: address of the first byte of data.
        end: of data.
        contents: (address, bytes) that memory holds at first; what is in no pair is 0.
        memory: bytes of memory.
    """

    def __init__(self, processor: Processor, memory: int) -> None:
        self.processor = processor
        self.memory = memory
        self.paragraphs: list[Linked] = []
        self.symbols: dict[str, int] = {}
        self.entry = 0
        self.readable = 0
        self.writable = 0
        self.end = 0
        self.contents: list[tuple[int, bytes]] = []

    def address(self, symbol: str) -> int:
        """Of a label.

        Raises:
            AssemblyError: there is none of the name.
        """
        found = self.symbols.get(symbol)
        if found is None:
            raise AssemblyError(f"the program has no label {symbol}")
        return found


def link(units: list[Unit], processor: Processor, entry: str | None = None, memory: int = MEMORY) -> Program:
    """The program that units are together.

    Args:
        units: labels that one of them exports are known to all.
        processor: what it is to run on; its rules are checked.
        entry: the label to begin at; None for the first paragraph of the first unit.
        memory: bytes of memory, at most 2**31.

    Raises:
        AssemblyError: a rule that is broken, a label that is missing or exported twice, or more data than memory.
    """
    program = Program(processor, memory)
    everything = _addresses(units, program)
    exported = _exported(units, everything)
    missing: list[str] = []
    for unit, own in zip(units, everything, strict=True):
        known = {**exported, **own}
        missing += _missing(unit, known)
        program.paragraphs += [Linked(paragraph, unit, own[paragraph.label], known) for paragraph in unit.paragraphs]
    if missing:
        raise AssemblyError(f"no unit has {', '.join(dict.fromkeys(missing))}")
    for each in program.paragraphs:
        for at, what in resolve(each.paragraph) or faults(each.paragraph, processor):
            command = each.paragraph.commands[at] if each.paragraph.commands else None
            where = f"{each.paragraph.label}, {command}: " if command is not None else f"{each.paragraph.label}: "
            raise AssemblyError(where + what, command.line if command is not None else each.paragraph.line, 0, each.unit.file)
    for unit, own in zip(units, everything, strict=True):
        program.contents += [(own[data.label], _filled(data, {**exported, **own})) for data in unit.data if data.content]
    program.symbols = _unique(everything) | exported
    program.entry = _entry(program, entry)
    return program


def _addresses(units: list[Unit], program: Program) -> list[dict[str, int]]:
    """The addresses of each unit's labels."""
    found: list[dict[str, int]] = [{} for _ in units]
    at = CODE
    for unit, own in zip(units, found, strict=True):
        for paragraph in unit.paragraphs:
            _give(own, paragraph.label, at, unit, paragraph.line)
            at += COMMAND_BYTES * len(paragraph.commands)
    at = program.readable = -(-at // PAGE) * PAGE
    for read_only in (True, False):
        for unit, own in zip(units, found, strict=True):
            for data in unit.data:
                if data.read_only is read_only:
                    at = -(-at // data.alignment) * data.alignment
                    _give(own, data.label, at, unit, data.line)
                    at += data.size
        if read_only:
            at = program.writable = -(-at // PAGE) * PAGE
    program.end = at
    if at + PAGE > program.memory:
        raise AssemblyError(f"code and data take {at} bytes, and memory has {program.memory}: there is no room for a stack")
    return found


def _give(own: dict[str, int], label: str, address: int, unit: Unit, line: int) -> None:
    if label in own:
        raise AssemblyError(f"the label {label} is there twice", line, 0, unit.file)
    own[label] = address


def _exported(units: list[Unit], everything: list[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for unit, own in zip(units, everything, strict=True):
        for name in unit.exported:
            if name not in own:
                raise AssemblyError(f"{name} is exported, and the unit has no such label", 0, 0, unit.file)
            if name in found:
                raise AssemblyError(f"two units export {name}", 0, 0, unit.file)
            found[name] = own[name]
    return found


def _missing(unit: Unit, known: dict[str, int]) -> list[str]:
    named = [operand.symbol for paragraph in unit.paragraphs for command in paragraph.commands for operand in command.operands if operand.symbol]
    named += [reference.symbol for data in unit.data for reference in data.references]
    return [name for name in named if name not in known]


def _filled(data: Data, known: dict[str, int]) -> bytes:
    content = bytearray(data.content)
    for reference in data.references:
        content[reference.at : reference.at + 4] = (known[reference.symbol] + reference.offset & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(content)


def _unique(everything: list[dict[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for own in everything:
        for name in own:
            counts[name] = counts.get(name, 0) + 1
    return {name: address for own in everything for name, address in own.items() if counts[name] == 1}


def _entry(program: Program, entry: str | None) -> int:
    if entry is not None:
        address = program.address(entry)
        if all(each.address != address for each in program.paragraphs):
            raise AssemblyError(f"a program begins at a paragraph, and {entry} is data")
        return address
    if not program.paragraphs:
        raise AssemblyError("the program has no paragraph")
    return program.paragraphs[0].address
