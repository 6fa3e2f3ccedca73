"""The passes ``program`` and ``bytes``: ordered commands to a unit of assembler, with every operand's distance and the frame's layout, and that to bytes."""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.settings import Settings
from loopwright.targets.multiclet.blocks import Block, Blocks
from loopwright.targets.multiclet.checker import Slots, check
from loopwright.targets.multiclet.convention import offsets_of
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.encoding import COMMAND_BYTES, encode
from loopwright.targets.multiclet.flow import CONSTANT, FRAME, INCOMING, LOCAL, OUTGOING, REGISTER, SYMBOL, TARGET, VALUE, Arg, Flow, Node
from loopwright.targets.multiclet.program import Command, Data, Operand, Paragraph, Unit
from loopwright.targets.multiclet.values import symbol_of
from loopwright.targets.target import MachineCode
from loopwright.types import PTR

__all__ = ["Written", "bytes_of", "listing", "program"]

_SLOT: Final = 8


class Written(MachineCode):
    """What the last pass leaves.

    Attributes:
        unit: the program, for the linker.
    """

    def __init__(self, data: bytes, unit: Unit) -> None:
        super().__init__(data, len(data), None, [], COMMAND_BYTES)
        self.unit = unit


class _Frame:
    """Where everything is from the stack pointer on: arguments of calls, slots, local arrays; then the return address and the caller's arguments.

    A function that calls nothing leaves the stack pointer where it is, and has its frame below it.
    """

    def __init__(self, f: Function, blocks: Blocks) -> None:
        outgoing = 0
        if blocks.calls:
            outgoing = 4
            for callee in f.callees:
                for type_, offset in zip(callee.params, offsets_of(callee.params), strict=True):
                    outgoing = max(outgoing, offset + (4 if type_ is PTR else max(type_.bits // 8, 1)))
        self.slots = (outgoing + _SLOT - 1) // _SLOT * _SLOT
        self.locals = self.slots + _SLOT * len(blocks.slots)
        self.size = self.locals + f.local_offset(len(f.arrays))
        self.lowered = blocks.calls

    def offset(self, blocks: Blocks, block: Block, a: Arg) -> int:
        """Of a place in the stack, in bytes from the stack pointer on, as it is in a paragraph."""
        below = not self.lowered or block.paragraph.number == 0
        base = -self.size if below else 0
        if a.kind == INCOMING:
            return base + self.size + a.number
        if a.kind == OUTGOING:
            return base + a.number
        if a.kind == LOCAL:
            return base + self.locals + a.number
        assert a.node is not None
        return base + self.slots + _SLOT * blocks.slots[a.node, a.name] + a.number


class _Writer:
    def __init__(self, f: Function, target: Dataflow) -> None:
        flow: Flow = f.analysis
        self.f = f
        self.blocks: Blocks = flow.ordered
        self.order = flow.placed
        self.forms = target.forms
        self.frame = _Frame(f, self.blocks)

    def label(self, number: int) -> str:
        """Of a paragraph."""
        return self.f.name if number == 0 else f"{self.f.name}.{number}"

    def unit(self) -> Unit:
        unit = Unit(exported=[self.f.name], file=self.f.file)
        for block in self.blocks.made:
            paragraph = Paragraph(self.label(block.paragraph.number))
            for node in block.nodes:
                paragraph.commands.append(self.command(block, node))
            unit.paragraphs.append(paragraph)
        for number in sorted({number for number, array in enumerate(self.f.arrays) if array.data}):
            label = symbol_of(self.f, ops.TABLE, number)
            data: bytes = self.f.arrays[number].data
            unit.data.append(Data(label, data, 8, read_only=True))
        return unit

    def slots(self) -> Slots:
        """In each paragraph, the names of the slots and of the caller's arguments by their offset."""
        found: Slots = []
        for block in self.blocks.made:
            names = {self.frame.offset(self.blocks, block, Arg(FRAME, value, 0, kind)): f"{value} {kind}" for value, kind in self.blocks.slots}
            for offset in offsets_of([self.f.types[p] for p in self.f.params]):
                names[self.frame.offset(self.blocks, block, Arg(INCOMING, number=offset))] = f"incoming {offset}"
            found.append(names)
        return found

    def command(self, block: Block, node: Node) -> Command:
        return Command(self.forms.of(node).row, node.suffix, [self.operand(block, node, a) for a in node.args], line=node.line)

    def operand(self, block: Block, node: Node, a: Arg) -> Operand:
        """An operand as it is written."""
        if a.kind == VALUE:
            assert a.node is not None
            made = a.node.place
            distance = (made if made else self.order.place(block, a.node) + len(block.nodes)) - node.place
            if distance <= 0:
                raise InternalError(f"{node} reads {a.node}, which is made behind it")
            return Operand(distance, offset=a.number, memory=a.memory)
        if a.kind == CONSTANT:
            return Operand(offset=a.number, memory=a.memory)
        if a.kind == REGISTER:
            if a.name == "frame":
                return Operand(register="SP", offset=a.number * self.frame.size)
            return Operand(register=a.name, offset=a.number, memory=a.memory)
        if a.kind == TARGET:
            return Operand(symbol=self.label(a.number))
        if a.kind == SYMBOL:
            return Operand(symbol=a.name, offset=a.number, memory=a.memory)
        return Operand(register="SP", offset=self.frame.offset(self.blocks, block, a), memory=a.memory)


def program(f: Function, target: Dataflow, settings: Settings) -> None:
    """The unit of assembler, in ``f.analysis.unit``; with ``prove`` it is proved that its operands are what they are meant to be."""
    writer = _Writer(f, target)
    f.analysis.unit = writer.unit()
    if settings.prove:
        check(f.analysis, f.analysis.unit, writer.blocks, writer.slots(), target.processor)


def notes(f: Function) -> dict[int, str]:
    """How many commands the paragraph has that begins with an instruction."""
    blocks: Blocks = f.analysis.ordered
    return {block.paragraph.first: f"{len(block.nodes)} commands" for block in blocks.made if not block.paragraph.cut}


def bytes_of(f: Function, target: Dataflow) -> None:
    """The bytes, in ``f.machine``."""
    flow: Flow = f.analysis
    f.machine = Written(encode(flow.unit, target.processor), flow.unit)
    f.analysis = None
    flow.clear()


#: Bytes in front of a unit's commands.
_HEADER: Final = 12


def listing(machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
    """(offset, bytes, text, user's line) of each command, and of the lines between paragraphs."""
    assert isinstance(machine, Written)
    rows: list[tuple[int, bytes, str, int]] = []
    data = machine.data
    at = _HEADER
    for paragraph in machine.unit.paragraphs:
        rows.append((at, b"", f"{paragraph.label}:", 0))
        for command in paragraph.commands:
            rows.append((at, data[at : at + COMMAND_BYTES], f"    {command}", command.line))
            at += COMMAND_BYTES
        rows.append((at, b"", "complete", 0))
    return rows
