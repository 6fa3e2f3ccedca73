"""Random programs for Multiclet processors, and a plain interpreter of them that shares nothing with the simulator but the meanings of the rows."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

from loopwright.targets.multiclet.commands import DESTINATION, WIDTHS, Row
from loopwright.targets.multiclet.linker import Linked, Program
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Command, Data, Operand, Paragraph, Reference, Unit, back, constant, label, register

#: Bytes of the data that random programs read and write.
AREA = 128


class Stopped(Exception):
    """A rule is broken."""


def random_unit(seed: int, processor: Processor, faults: bool = False) -> Unit:
    """A unit whose jumps go forwards. With ``faults`` it may read slots without a result and addresses that are not aligned."""
    return _Maker(seed, processor, faults).unit()


class _Maker:
    """A random unit up to a command.

    Attributes:
        straight: every paragraph goes on to the next, so that what is in the switch is known, and read from there.
        made: all commands up to now.
        pointers: numbers of those whose results are addresses of the data.
    """

    def __init__(self, seed: int, processor: Processor, faults: bool) -> None:
        self.rng = random.Random(seed)
        self.processor = processor
        self.faults = faults
        self.straight = seed % 2 == 1
        self.rows: dict[str, list[tuple[str, Row]]] = {}
        for name, row in processor.commands.items():
            if processor.has(name):
                self.rows.setdefault(row.effect, []).append((name, row))
        self.made: list[Command] = []
        self.pointers: list[int] = []
        self.paragraph = Paragraph("")
        self.stores = False

    def unit(self) -> Unit:
        rng = self.rng
        count = rng.randint(1, 5)
        paragraphs: list[Paragraph] = []
        for number in range(count):
            self.paragraph = Paragraph(f"p{number}")
            self.stores = False
            paragraphs.append(self.paragraph)
            if number == 0:
                for name, offset in (("R6", 0), ("R7", 64)):
                    self.put("setrg_l", [register(name), label("area", offset)])
            for _ in range(rng.randint(2, 24)):
                self.command()
            later = [f"p{n}" for n in range(number + 1, count)]
            target = constant(0) if not later else label(later[0] if self.straight else rng.choice(later))
            if later and not self.straight and rng.random() < 0.5:
                self.put(rng.choice(["setjf_l", "setjt_b"]), [self.value(self.processor.two_constants), target])
            else:
                self.put("jmp", [target])
        content = bytes(rng.randrange(256) for _ in range(AREA))
        pointer = Data("pointer", bytes(4), 4, [Reference(0, "area", 16)], read_only=True)
        return Unit(paragraphs, [pointer, Data("area", content, 8)], ["p0"])

    def put(self, mnemonic: str, operands: list[Operand]) -> None:
        row = self.processor.commands[mnemonic]
        command = Command(row, mnemonic[len(row.mnemonic) + 1 :], operands)
        self.paragraph.commands.append(command)
        self.made.append(command)

    def command(self) -> None:
        rng = self.rng
        if rng.random() < 0.15:
            self.pointer()
            return
        name, row = rng.choice(self.rows[rng.choice(["", "", "", "load", "store", "register"])])
        suffix = name[len(row.mnemonic) + 1 :]
        # (Where stores are done at the end, loads behind them may meet them, which is an error.)
        if self.processor.commits_at_end and (row.effect == "store" and self.stores or self.stores and row.effect == "load"):
            return
        if row.effect == "register" and all(self.written(name) for name in self.processor.registers[:6]):
            return
        operands = [self.operand(place, row, suffix) for place in row.places]
        self.stores |= row.effect == "store"
        self.put(name, operands)

    def pointer(self) -> None:
        """A command that gives an address, soon or late; or a register that gets one."""
        rng = self.rng
        good = self.near(self.pointers)
        kind = rng.randrange(4)
        if kind == 0 and good:
            self.put("divu_l", [back(rng.choice(good)), constant(1)])
        elif kind == 1 and good and not self.written("R6"):
            self.put("setrg_l", [register("R6"), back(rng.choice(good))])
            return
        elif kind == 2 and not (self.processor.commits_at_end and self.stores):
            self.put("load_l", [label("pointer").in_brackets()])
        else:
            self.put("load_l", [label("area", 8 * rng.randrange(8))])
        self.pointers.append(len(self.made) - 1)

    def written(self, name: str) -> bool:
        """Whether a register may not be written again in the paragraph."""
        return self.processor.commits_at_end and any(each.row.effect == "register" and each.operands[0].register == name for each in self.paragraph.commands)

    def near(self, numbers: list[int]) -> list[int]:
        """How far back those of some commands are that can be named."""
        farthest = self.processor.depth
        if not (self.straight and self.processor.crosses):
            farthest = min(farthest, len(self.paragraph.commands))
        return [len(self.made) - number for number in numbers if len(self.made) - number <= farthest]

    def operand(self, place: str, row: Row, suffix: str) -> Operand:
        rng, processor = self.rng, self.processor
        if place == DESTINATION:
            return register(rng.choice([name for name in processor.registers[:6] if not self.written(name)]))
        if place == "address":
            return self.in_area(suffix)
        memory = (processor.two_constants or row.effect == "load") and row.takes not in ("wide", "single", "double")
        if memory and rng.random() < 0.25:
            return self.in_area(suffix).in_brackets()
        if place == "sum" and rng.random() < 0.3:
            return register(rng.choice(processor.registers[:6]), rng.randint(-9, 9))
        return self.value(processor.two_constants or len(row.places) == 1)

    def in_area(self, suffix: str) -> Operand:
        """Somewhere in the data: by a label, a register or a result."""
        rng = self.rng
        size = WIDTHS[suffix] // 8
        offset = rng.randrange(AREA // 2 // size) * size + (1 if self.faults and rng.random() < 0.1 else 0)
        good = self.near(self.pointers)
        kind = rng.randrange(4)
        if kind == 0 and good:
            return back(rng.choice(good)).plus(offset)
        if kind == 1 and (len(self.made) > len(self.paragraph.commands) or not self.processor.commits_at_end):
            return register(rng.choice(["R6", "R7"]), offset)
        return label("area", offset)

    def value(self, constants: bool) -> Operand:
        """A place with a result, a register or a constant."""
        rng = self.rng
        if rng.random() < 0.6:
            good = self.near([number for number, command in enumerate(self.made) if command.row.gives])
            before = len(self.paragraph.commands) + 1
            if self.faults and self.processor.crosses and before <= self.processor.depth and rng.random() < 0.05:
                return back(rng.randint(before, self.processor.depth))
            return back(rng.choice([0, *good]))
        if constants and rng.random() < 0.7:
            return constant(rng.choice([0, 1, -1, 31, 255, 1 << 31, 0x3F800000, 0x7F800000, rng.getrandbits(31), rng.randint(-99, 99)]))
        return register(rng.choice(self.processor.registers[:6]))


class Interpreter:
    """Runs a linked program command by command."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.processor = program.processor
        self.memory = bytearray(program.memory)
        for address, content in program.contents:
            self.memory[address : address + len(content)] = content
        self.registers = dict.fromkeys(self.processor.registers, 0)
        self.registers["SP"] = program.memory - 64
        self.results: list[int | None] = [None] * self.processor.depth
        self.commands = 0

    def run(self) -> None:
        where = {each.address: each for each in self.program.paragraphs}
        address = self.program.entry
        while address:
            address = self.paragraph(where[address], [each.address for each in self.program.paragraphs])

    def paragraph(self, linked: Linked, addresses: list[int]) -> int:
        late: list[tuple[Any, ...]] = []
        following = -1
        for command in linked.paragraph.commands:
            self.commands += 1
            row, bits = command.row, WIDTHS.get(command.suffix, 64)
            result: int | None = None
            if row.effect == "store":
                size = bits // 8
                value = self.read(linked, command.operands[0], command.suffix, False) & (1 << bits) - 1
                address = self.sum(linked, command.operands[1])
                if address % size:
                    raise Stopped("alignment")
                late.append((address, value.to_bytes(size, "little")))
            elif row.effect == "register":
                cut = self.read(linked, command.operands[1], command.suffix, True)
                late.append((command.operands[0].register, signed(cut, bits)))
            elif row.effect == "jump":
                target = command.operands[-1]
                taken = len(command.operands) == 1 or row.function(bits, signed(self.read(linked, command.operands[0], command.suffix, True), bits), 0)
                if taken:
                    following = self.sum(linked, target) & 0xFFFFFFFF
            else:
                result = self.result(linked, command)
            self.results.append(result)
            if not self.processor.commits_at_end:
                self.commit(late)
        self.commit(late)
        if not self.processor.crosses:
            self.results += [None] * self.processor.depth
        return following if following >= 0 else addresses[addresses.index(linked.address) + 1]

    def commit(self, late: list[tuple[Any, ...]]) -> None:
        for where, what in late:
            if isinstance(where, str):
                self.registers[where] = what
            else:
                self.memory[where : where + len(what)] = what
        late.clear()

    def sum(self, linked: Linked, operand: Operand) -> int:
        base = 0
        if operand.back > 0:
            found = self.results[-operand.back]
            if found is None:
                raise Stopped("no result")
            base = found
        elif operand.register:
            base = self.registers[operand.register]
        return signed(base + linked.constant(operand), 64)

    def read(self, linked: Linked, operand: Operand, suffix: str, is_signed: bool) -> int:
        value = self.sum(linked, operand)
        if not operand.memory:
            return value
        size = WIDTHS[suffix] // 8
        if value % size:
            raise Stopped("alignment")
        return int.from_bytes(self.memory[value : value + size], "little", signed=is_signed)

    def result(self, linked: Linked, command: Command) -> int:
        row, suffix = command.row, command.suffix
        bits = WIDTHS[suffix]
        given: list[Any] = []
        for operand in command.operands:
            letter = {"wide": "q", "single": "f", "double": "d"}.get(row.takes, suffix)
            raw = self.read(linked, operand, letter, True)
            width = WIDTHS[letter]
            if row.takes in ("float", "single", "double"):
                given.append(as_float(raw, width))
            else:
                given.append(raw & (1 << width) - 1 if row.takes == "unsigned" else signed(raw, width))
        found = row.function(bits, *given)
        if row.gives == "float":
            return float_bits(found, bits)
        return signed(found, 64) & (1 << bits) - 1 if row.gives == "unsigned" and bits < 64 else signed(found, bits)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def as_float(bits: int, width: int) -> float:
    return float(struct.unpack("<f" if width == 32 else "<d", (bits & (1 << width) - 1).to_bytes(width // 8, "little"))[0])


def float_bits(value: float, width: int) -> int:
    try:
        packed = struct.pack("<f" if width == 32 else "<d", value)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, value))
    return int.from_bytes(packed, "little", signed=True)
