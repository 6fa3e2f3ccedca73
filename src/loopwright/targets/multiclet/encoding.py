"""Units as bytes and back. No encoding of these processors is published: this one is ours, made to be simple (docs/multiclet.md has the layout).

A command is 16 bytes: what it is, the kinds and bases of two operands, and their two constants of 32 bits.
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.errors import AssemblyError
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Command, Data, Operand, Paragraph, Reference, Unit

__all__ = ["COMMAND_BYTES", "decode", "disassemble", "encode"]

COMMAND_BYTES: Final = 16
#: Number of the command and whether the paragraph ends with it; kinds of both operands; their bases; two bytes of 0; their constants.
_COMMAND: Final = struct.Struct("<HBBBBHii")
_COMPLETE: Final = 0x8000
_NO_CONSTANT: Final = bytes(4)
#: Furthest place that there is room for.
_MOST: Final = 255
#: Kinds of operands; in brackets one more bit is set.
_CONSTANT, _PLACE, _REGISTER = 0, 1, 2
_MEMORY: Final = 8
_MAGIC: Final = b"MCLT"
_VERSION: Final = 1


def encode(unit: Unit, processor: Processor) -> bytes:
    """A unit as bytes: its commands, what the linker is to fill in, data, and labels. Names of results, lines and comments are left out.

    Raises:
        AssemblyError: an operand has a constant of more than 32 bits, or is further back than there is room for.
    """
    forms = _Forms(processor)
    out = _Writer()
    out.content += _MAGIC + struct.pack("<HH", _VERSION, COMMAND_BYTES)
    commands = bytearray()
    starts: list[tuple[str, int]] = []
    references: list[tuple[int, int, str]] = []
    number = 0
    for paragraph in unit.paragraphs:
        starts.append((paragraph.label, number))
        for at, command in enumerate(paragraph.commands):
            _pack(commands, command, forms, at == len(paragraph.commands) - 1)
            for n, operand in enumerate(command.operands):
                if operand.symbol:
                    references.append((number, n, operand.symbol))
            number += 1
    out.number(number)
    out.content += commands
    out.number(len(starts))
    for name, start in starts:
        out.text(name)
        out.number(start)
    out.number(len(references))
    for at, operand_number, symbol in references:
        out.number(at)
        out.number(operand_number)
        out.text(symbol)
    out.number(len(unit.data))
    for data in unit.data:
        _pack_data(out, data)
    out.number(len(unit.exported))
    for name in unit.exported:
        out.text(name)
    return bytes(out.content)


class _Forms:
    """Numbers of a processor's commands, by name and suffix, as far as they have been asked for; and of its registers."""

    def __init__(self, processor: Processor) -> None:
        self.numbers = {name: number for number, name in enumerate(processor.commands)}
        self.known: dict[str, dict[str, int]] = {}
        self.registers = {name: number for number, name in enumerate(processor.registers)}

    def number(self, command: Command) -> int:
        """Of a command."""
        named = self.known.setdefault(command.row.mnemonic, {})
        found = named.get(command.suffix)
        if found is None:
            found = named[command.suffix] = self.numbers[command.mnemonic]
        return found


def _pack(out: bytearray, command: Command, forms: _Forms, last: bool) -> None:
    """Add a command to those before."""
    # The fields of ``_COMMAND``, the constants apart from the others.
    head = forms.number(command) | (_COMPLETE if last else 0)
    kind_at, base_at = 16, 32
    constants = b""
    for operand in command.operands:
        if not -(1 << 31) <= operand.offset < 1 << 32 or operand.back > _MOST:
            raise AssemblyError(f"{command} does not fit into {COMMAND_BYTES} bytes", line=command.line)
        kind = _MEMORY if operand.memory else 0
        if operand.is_place():
            kind |= _PLACE
            head |= operand.back << base_at
        elif operand.register:
            kind |= _REGISTER
            head |= forms.registers[operand.register] << base_at
        head |= kind << kind_at
        kind_at += 8
        base_at += 8
        constants += (operand.offset & 0xFFFFFFFF).to_bytes(4, "little")
    out += head.to_bytes(8, "little")
    out += constants
    if len(constants) < 8:
        out += _NO_CONSTANT


def _pack_data(out: _Writer, data: Data) -> None:
    out.text(data.label)
    out.number(data.alignment)
    out.number(int(data.read_only))
    out.number(data.zeros)
    out.number(len(data.content))
    out.content += data.content
    out.number(len(data.references))
    for reference in data.references:
        out.number(reference.at)
        out.text(reference.symbol)
        out.number(reference.offset & 0xFFFFFFFF)


def decode(content: bytes, processor: Processor) -> Unit:
    """The unit that bytes encode.

    Raises:
        AssemblyError: the bytes are no unit of the processor's, or their last paragraph has no end.
    """
    reader = _Reader(content)
    try:
        return _decoded(reader, processor)
    except (struct.error, UnicodeDecodeError, IndexError):
        raise AssemblyError(f"the unit is cut off or damaged: byte {reader.at} of {len(content)}") from None


def _decoded(reader: _Reader, processor: Processor) -> Unit:
    if reader.bytes(4) != _MAGIC or struct.unpack("<HH", reader.bytes(4)) != (_VERSION, COMMAND_BYTES):
        raise AssemblyError("these bytes are no unit for a Multiclet processor, or of another version")
    mnemonics = list(processor.commands)
    commands: list[Command] = []
    ends: set[int] = set()
    for number in range(reader.number()):
        command, last = _unpacked(reader.bytes(COMMAND_BYTES), mnemonics, processor)
        commands.append(command)
        if last:
            ends.add(number + 1)
    starts = [(reader.text(), reader.number()) for _ in range(reader.number())]
    for _ in range(reader.number()):
        at, n = reader.number(), reader.number()
        commands[at].operands[n].symbol = reader.text()
    unit = Unit()
    for (label, start), (_, end) in zip(starts, [*starts[1:], ("", len(commands))], strict=True):
        if end not in ends or any(each in ends for each in range(start + 1, end)):
            raise AssemblyError(f"the paragraph {label} does not end where the next begins")
        unit.paragraphs.append(Paragraph(label, commands[start:end]))
    unit.data = [_unpack_data(reader) for _ in range(reader.number())]
    unit.exported = [reader.text() for _ in range(reader.number())]
    return unit


def _unpacked(packed: bytes, mnemonics: list[str], processor: Processor) -> tuple[Command, bool]:
    what, kind_a, kind_b, base_a, base_b, _, constant_a, constant_b = _COMMAND.unpack(packed)
    number = what & ~_COMPLETE
    if number >= len(mnemonics):
        raise AssemblyError(f"{processor.name} has no command number {number}")
    row = processor.commands[mnemonics[number]]
    operands: list[Operand] = []
    for kind, base, constant in ((kind_a, base_a, constant_a), (kind_b, base_b, constant_b))[: len(row.places)]:
        operand = Operand(offset=constant, memory=bool(kind & _MEMORY))
        if kind & 7 == _PLACE:
            operand.back = base
        elif kind & 7 == _REGISTER:
            operand.register = processor.registers[base]
        operands.append(operand)
    return Command(row, mnemonics[number][len(row.mnemonic) + 1 :], operands), bool(what & _COMPLETE)


def _unpack_data(reader: _Reader) -> Data:
    label, alignment, read_only, zeros = reader.text(), reader.number(), reader.number(), reader.number()
    content = reader.bytes(reader.number())
    references = [Reference(reader.number(), reader.text(), _signed(reader.number())) for _ in range(reader.number())]
    return Data(label, content, alignment, references, bool(read_only), zeros)


def disassemble(content: bytes, processor: Processor) -> str:
    """The text of encoded bytes, which assembles to the same bytes.

    Raises:
        AssemblyError: as of ``decode``.
    """
    return str(decode(content, processor))


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


class _Writer:
    """Numbers of 32 bits, little-endian, and texts with their length in front."""

    def __init__(self) -> None:
        self.content = bytearray()

    def number(self, number: int) -> None:
        self.content += struct.pack("<I", number)

    def text(self, text: str) -> None:
        encoded = text.encode()
        self.number(len(encoded))
        self.content += encoded


class _Reader:
    """What ``_Writer`` writes."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def bytes(self, count: int) -> bytes:
        found = self.content[self.at : self.at + count]
        if len(found) < count:
            raise struct.error
        self.at += count
        return found

    def number(self) -> int:
        found: int = struct.unpack("<I", self.bytes(4))[0]
        return found

    def text(self) -> str:
        return self.bytes(self.number()).decode()
