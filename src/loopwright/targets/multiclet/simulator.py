"""Runs programs of Multiclet processors, with every rule of theirs checked, and counts what they do; with ``timing=True`` cycles as well."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from loopwright.errors import SimulationError
from loopwright.targets.multiclet.bits import SINGLE, as_double, as_single, double_bits, single_bits
from loopwright.targets.multiclet.commands import CALLED, WIDTHS
from loopwright.targets.multiclet.convention import DYNAMIC_STACK
from loopwright.targets.multiclet.linker import PAGE, Program
from loopwright.targets.multiclet.specialise import VIEWS, Specialised
from loopwright.targets.multiclet.timing import Timing

__all__ = ["ERRORS", "INPUT", "OUTPUT", "SERVICE", "Service", "Simulator", "holds"]

#: What the simulator does for programs, by the address that is accessed: a byte written there goes to ``Simulator.output``, or to ``Simulator.errors``; a load of
#: 32 bits is the next byte of ``Simulator.input``, -1 behind its end. Of each four words of 32 bits stored to ``SERVICE`` the last says what to do with the others
#: (``services.py``), and a load from there gives the result. (Assumed, as these processors' devices are not published.)
OUTPUT: Final = 0x10
ERRORS: Final = 0x11
INPUT: Final = 0x14
SERVICE: Final = 0x18
#: What ``Simulator.service`` is: called with the simulator, what to do, and three words, all signed; it gives the result.
Service = Callable[["Simulator", int, tuple[int, int, int]], int]
#: Paragraphs between two looks at how many commands have been run and how long the history is.
_STRETCH: Final = 1000
#: The least number that is rounded to no finite one of 32 bits.
_BEYOND_SINGLE: Final = float(2**128 - 2**103)


class _Ended(Exception):
    """The program has jumped to address 0."""


class Simulator:
    """A processor with a program in its memory.

    Attributes:
        program: the program.
        memory: its bytes, which may be read and written between calls.
        registers: by number (``Processor.registers`` has the names), as signed integers of 64 bits.
        output: bytes written to ``OUTPUT``.
        errors: bytes written to ``ERRORS``.
        input: a stream of the bytes that loads from ``INPUT`` give.
        service: what serves ``SERVICE``, or None: then every result is -1.
        counts: how often each paragraph has been run.
        timing: what has been timed, or None.
    """

    def __init__(self, program: Program, timing: bool = False) -> None:
        self.program = program
        self.memory = bytearray(program.memory)
        for address, content in program.contents:
            self.memory[address : address + len(content)] = content
        self.registers = [0] * len(program.processor.registers)
        self.output = bytearray()
        self.errors = bytearray()
        self.input: BinaryIO = io.BytesIO()
        self.service: Service | None = None
        self._asked: list[int] = []
        self._served = -1
        self.counts = [0] * len(program.paragraphs)
        self.timing = Timing(program) if timing else None
        self._sp = program.processor.registers.index("SP")
        self.registers[self._sp] = program.memory - 64
        self.stack_from(program.end)
        self._history: list[Any] = [None] * program.processor.depth
        self._numbers = {each.address: number for number, each in enumerate(program.paragraphs)} | {0: len(program.paragraphs)}
        self._environment = self._names()
        self._functions: list[Any] = [self._stub(number) for number in range(len(program.paragraphs))] + [self._ended]

    def stack_from(self, address: int) -> None:
        """Say where the memory begins that functions take memory of the stack from whose size is not known before."""
        if DYNAMIC_STACK in self.program.processor.registers:
            self.registers[self.program.processor.registers.index(DYNAMIC_STACK)] = -(-address // 16) * 16

    def _names(self) -> dict[str, Any]:
        """What the functions of paragraphs call and read."""
        view: Any = memoryview(self.memory)
        return {
            **CALLED,
            **{f"M{letter}": view.cast(letter) for letter in {*VIEWS.values(), "d", "f"}},
            "H": self._history,
            "K": self._history.extend,
            "R": self.registers,
            "SF": SINGLE,
            "numbers": self._numbers,
            "meanings": {name: row.function for name, row in self.program.processor.commands.items()},
            "single_bits": single_bits,
            "double_bits": double_bits,
            "as_single": as_single,
            "as_double": as_double,
            "fault": self._fault,
            "elsewhere": self._elsewhere,
            "write": self._write,
            "fall": self._fall,
        }

    def _stub(self, number: int) -> Any:
        """What stands for a paragraph until it is first run."""

        def first() -> Any:
            made = Specialised(self.program.paragraphs[number], number, self.program, self._numbers, self.timing is not None)
            names = dict(self._environment)
            code = compile(made.source, f"<paragraph {self.program.paragraphs[number].paragraph.label}>", "exec")
            exec(code, names)  # noqa: S102 (written from commands alone)
            if self.timing is not None:
                self.timing.accesses[number] = made.accesses
            self._functions[number] = names["paragraph"]
            return self._functions[number]()

        return first

    def _ended(self) -> Any:
        raise _Ended

    def call(self, label: str, *arguments: tuple[str, int | float], returns: str = "", limit: int = 0, registers: tuple[str, ...] = ()) -> int | float | None:
        """Call a function by the convention of the published compilers: the return address at [SP], arguments behind it, each at a multiple of its size.

        Args:
            label: where the function begins.
            arguments: (suffix, value) each: ``("l", 5)``, ``("d", 0.5)``; an address is an ``l``.
            returns: the suffix of the result, which is in #RETV; "" for none.
            limit: commands after which to give up; 0 for no limit.
            registers: where the return address and the first arguments, all of them integers, are besides.

        Raises:
            SimulationError: a rule that the program breaks, the limit, or an argument that its type cannot hold.
            AssemblyError: there is no such label.
        """
        at, places = 4, []
        for suffix, value in arguments:
            if not holds(suffix, value):
                raise SimulationError(f"the argument {value!r} has no room in {suffix}, which has {WIDTHS[suffix]} bits")
            size = WIDTHS[suffix] // 8
            at = -(-at // size) * size
            places.append((at, size, suffix, value))
            at += size
        sp = self.registers[self._sp]
        base = sp - (-(-at // 8) * 8)
        self.memory[base : base + 4] = bytes(4)
        for place, size, suffix, value in places:
            self.memory[base + place : base + place + size] = _packed(suffix, value)
        self.registers[self._sp] = base
        if registers:
            for register, number in zip(registers, (0, *[int(value) for _, value in arguments]), strict=False):
                self.registers[self.program.processor.registers.index(register)] = number
        self._history[:] = [None] * self.program.processor.depth
        self.run(self.program.address(label), limit)
        self.registers[self._sp] = sp
        return _unpacked(returns, self.registers[self.program.processor.registers.index("RETV")]) if returns else None

    def run(self, address: int | None = None, limit: int = 0) -> None:
        """Run from a paragraph's address, or from the program's entry, until it jumps to address 0.

        Raises:
            SimulationError: a rule that the program breaks, or more than ``limit`` commands (0 for no limit).
        """
        number = self._numbers.get(self.program.entry if address is None else address, -1)
        if number < 0 or address == 0:
            raise SimulationError(f"no paragraph begins at address {address:#x}")
        before = self.commands
        stretch = min(_STRETCH, limit // 50 + 1) if limit else _STRETCH
        step = self._timed if self.timing is not None else self._plain
        if self.timing is not None:
            self.timing.begin(number)
        try:
            while True:
                number = step(number, stretch)
                del self._history[: -self.program.processor.depth]
                if limit and self.commands - before > limit:
                    raise SimulationError(f"more than {limit} commands have been run, and the program has not ended")
        except _Ended:
            pass
        if self.timing is not None:
            self.timing.end()

    def _plain(self, number: int, stretch: int) -> int:
        functions, counts = self._functions, self.counts
        for _ in range(stretch):
            following: int = functions[number]()
            counts[number] += 1
            number = following
        return number

    def _timed(self, number: int, stretch: int) -> int:
        functions, counts = self._functions, self.counts
        assert self.timing is not None
        step = self.timing.step
        for _ in range(stretch):
            following, jump, addresses = functions[number]()
            counts[number] += 1
            step(number, following, jump, addresses)
            number = following
        return number

    @property
    def elapsed(self) -> int:
        """Cycles so far; commands where those are not counted."""
        return self.timing.now if self.timing is not None else self.commands

    @property
    def commands(self) -> int:
        """Commands that have been run."""
        return sum([count * len(each.paragraph.commands) for count, each in zip(self.counts, self.program.paragraphs, strict=True) if count])

    # --- what goes wrong -------------------------------------------------------------------------------------

    def _fault(self, number: int, at: int, what: str) -> None:
        linked = self.program.paragraphs[number]
        command = linked.paragraph.commands[at]
        raise SimulationError(f"{linked.paragraph.label}, command {at}, {command}: {what}", linked.unit.file, command.line)

    def _elsewhere(self, number: int, at: int, address: int, size: int, store: bool, value: int | float = 0) -> None:
        """An access that is not one to data at its alignment."""
        program = self.program
        verb = "stores to" if store else "loads from"
        what = f"{verb} {size} byte{'s' * (size > 1)} at address {address:#x}"
        if store and size == 1 and address in (OUTPUT, ERRORS):
            (self.output if address == OUTPUT else self.errors).append(int(value) & 255)
            return
        if not store and size == 4 and address == INPUT:
            byte = self.input.read(1)
            # (What has called this reads memory.)
            self.memory[INPUT : INPUT + 4] = byte + bytes(3) if byte else b"\xff" * 4
            return
        if size == 4 and address == SERVICE:
            self._serve(int(value), store)
            return
        if address & (size - 1):
            self._fault(number, at, f"{what}, which is no multiple of {size}")
        if 0 <= address < PAGE:
            self._fault(number, at, f"{what}, in the page that is nobody's")
        if PAGE <= address < program.readable:
            self._fault(number, at, f"{what}, which is code")
        if store and program.readable <= address < program.writable:
            self._fault(number, at, f"{what}, which is read only")
        self._fault(number, at, f"{what}; memory ends at {program.memory:#x}")

    def _serve(self, word: int, store: bool) -> None:
        """A word for the simulator, or the result of the last four."""
        if not store:
            self.memory[SERVICE : SERVICE + 4] = (self._served & 0xFFFFFFFF).to_bytes(4, "little")
            return
        self._asked.append((word + (1 << 31) & 0xFFFFFFFF) - (1 << 31))
        if len(self._asked) == 4:
            first, second, third, what = self._asked
            self._asked = []
            self._served = self.service(self, what, (first, second, third)) if self.service is not None else -1

    def _write(self, address: int, value: int | float, view: str) -> None:
        """A store that is done at the end of its paragraph; its address has been checked."""
        if address not in (OUTPUT, ERRORS, SERVICE):
            item = self._environment[view]
            item[address // item.itemsize] = value

    def _fall(self, number: int) -> int:
        linked = self.program.paragraphs[number]
        last = linked.paragraph.commands[-1]
        raise SimulationError(f"the last paragraph, {linked.paragraph.label}, ends and has set no next one", linked.unit.file, last.line)


def holds(suffix: str, value: int | float) -> bool:
    """Whether an argument's value has room in a type: integers with their sign or without."""
    if suffix == "f":
        return not math.isfinite(value) or abs(value) < _BEYOND_SINGLE
    return suffix == "d" or (isinstance(value, int) and -(1 << WIDTHS[suffix] - 1) <= value < 1 << WIDTHS[suffix])


def _packed(suffix: str, value: int | float) -> bytes:
    if suffix in "fd":
        return struct.pack(f"<{suffix}", value)
    bits = WIDTHS[suffix]
    return (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")


def _unpacked(suffix: str, value: int) -> int | float:
    if suffix == "d":
        return as_double(value)
    half = 1 << WIDTHS[suffix] - 1
    cut = (value + half & 2 * half - 1) - half
    return as_single(cut) if suffix == "f" else cut
