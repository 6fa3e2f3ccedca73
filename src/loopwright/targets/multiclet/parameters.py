"""The processors as data: every parameter of the model in one place, with what is known about it.

``C`` is confirmed by a published source, ``F`` fitted to published totals, ``A`` assumed. A processor of one's own is ``replace(S2, name="mine", cells=8)``, and is given
to whatever compiles in place of a target's name: ``kernel.compile(target=mine)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from loopwright.errors import TargetError
from loopwright.ir.description import Description
from loopwright.targets.multiclet.commands import COMMANDS, Row, forms

__all__ = ["FACTS", "PROCESSORS", "R1", "S1", "S2", "Fact", "Latency", "Processor", "processor", "replace"]


@dataclass(frozen=True)
class Latency:
    """Attributes:
    cycles: from the cycle in which a command starts to the first in which another can start with its result.
    interval: from a start to the next one on the same unit.
    """

    cycles: int
    interval: int = 1

    def __reduce__(self) -> tuple[object, ...]:
        return Latency, (self.cycles, self.interval)


_REGISTERS: Final = ("R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "SP", "RETV")
#: Commands that no published machine is known to have; a processor of one's own may.
_INVENTED: Final = frozenset({"selt", "self"})


def _latencies(integer: int, multiply: int, load: int, store: int, floats: int, float_divide: int) -> dict[str, Latency]:
    return {
        "integer": Latency(integer),
        "multiply": Latency(multiply),
        "divide": Latency(36, 36),
        "load": Latency(load),
        "store": Latency(store),
        "register": Latency(integer),
        "jump": Latency(integer),
        "float": Latency(floats),
        "convert": Latency(floats),
        "float_divide": Latency(float_divide, float_divide),
    }


#: Fields that are numbers; those of 0 and 1 at the end.
_YES_OR_NO: Final = ("crosses", "two_constants", "commits_at_end")
#: The least that the others can be.
_LEAST: Final[dict[str, int]] = {
    "cells": 1,
    "multicells": 1,
    "fetch": 1,
    "fetch_to_issue": 1,
    "buffer": 1,
    "depth": 1,
    "change": 0,
    "float_units": 1,
    "memory_ports": 1,
}
_NUMBERS: Final = (*_LEAST, *_YES_OR_NO)


@dataclass(frozen=True)
class Processor(Description):
    """A processor. What each field is, and how it is known, is in ``FACTS``."""

    name: str
    cells: int = 4
    multicells: int = 1
    fetch: int = 4
    fetch_to_issue: int = 6
    buffer: int = 64
    depth: int = 63
    crosses: bool = True
    change: int = 1
    two_constants: bool = True
    commits_at_end: bool = False
    float_units: int = 2
    memory_ports: int = 4
    latencies: dict[str, Latency] = field(default_factory=lambda: _latencies(2, 3, 4, 2, 7, 52))
    registers: tuple[str, ...] = _REGISTERS
    lacks: frozenset[str] = _INVENTED
    commands: dict[str, Row] = field(default_factory=lambda: COMMANDS, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TargetError(f"a processor has a name, not {self.name!r}")
        for name, least in _LEAST.items():
            self._whole(name, getattr(self, name), least)
        for name in ("float_units", "memory_ports"):
            if getattr(self, name) > self.cells:
                raise TargetError(f"{self.name}: {name} is {getattr(self, name)}; it has to be from 1 to the {self.cells} cells of a multicell")
        if self.depth > 255:
            raise TargetError(f"{self.name}: depth is {self.depth}; places of the switch are numbered with 8 bits")
        for name, latency in self.latencies.items():
            self._whole(f"the latency {name}", latency.cycles, 1)
            self._whole(f"the interval of {name}", latency.interval, 1)
        missing = sorted({row.latency for row in self.commands.values()} - self.latencies.keys())
        if missing:
            raise TargetError(f"{self.name}: no latency for {', '.join(missing)}")
        known = {*self.commands, *_INVENTED, *[row.mnemonic for row in self.commands.values()]}
        unknown = sorted([each for each in self.lacks if each not in known])
        if unknown:
            raise TargetError(f"{self.name} lacks {', '.join(unknown)}, which no command is called")

    def _whole(self, what: str, value: object, least: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TargetError(f"{self.name}: {what} is {value!r}; it has to be a whole number")
        if value < least:
            raise TargetError(f"{self.name}: {what} is {value}; it has to be at least {least}")

    def __reduce__(self) -> tuple[object, ...]:
        return Processor, tuple([getattr(self, each.name) for each in fields(self)])

    def family(self) -> str:
        return "multiclet-"

    @property
    def all_cells(self) -> int:
        """Cells of all multicells, which work as one."""
        return self.cells * self.multicells

    def has(self, mnemonic: str) -> bool:
        """Whether it has the command of this mnemonic with suffix."""
        return self.row(mnemonic) is not None

    def row(self, mnemonic: str) -> Row | None:
        """The row of a mnemonic with suffix, or None if the processor has no such command."""
        row = self.commands.get(mnemonic)
        return None if row is None or row.mnemonic in self.lacks or mnemonic in self.lacks else row

    def lacking(self) -> bool:
        """Whether it lacks a command that the published ones have."""
        return any(row.mnemonic not in _INVENTED and not self.has(form) for form, row in COMMANDS.items())

    def with_commands(self, *rows: Row) -> Processor:
        """The processor with commands added, or rows of the same names replaced."""
        added = forms(list(rows))
        there = {*added, *[row.mnemonic for row in rows]}
        return replace(self, commands={**self.commands, **added}, lacks=frozenset([each for each in self.lacks if each not in there]))

    def with_parameters(self, /, **values: int) -> Processor:
        """The processor with other numbers, latencies among them, and with commands or without them: ``S2.with_parameters(cells=8, load=3, div=0, selt=1)``. Its name says so.

        Raises:
            TargetError: a name that is none, or a number that cannot be.
        """
        numbers = {name: value for name, value in values.items() if name in _NUMBERS}
        latencies = {name: value for name, value in values.items() if name in self.latencies}
        mnemonics = self.commands.keys() | {row.mnemonic for row in self.commands.values()}
        commands = {name: value for name, value in values.items() if name in mnemonics and name not in latencies}
        unknown = [name for name in values if name not in numbers and name not in latencies and name not in commands]
        if unknown:
            known = ", ".join([*_NUMBERS, *self.latencies])
            raise TargetError(f"{self.name} has no parameter {unknown[0]!r} that is a number; there are {known}, and commands, 0 for what it lacks")
        for name in [*[each for each in _YES_OR_NO if each in numbers], *commands]:
            if values[name] not in (0, 1):
                raise TargetError(f"{self.name}: {name} is {values[name]!r}; it has to be 0 or 1")
        changed = {name: Latency(each, each if self.latencies[name].interval > 1 else 1) for name, each in latencies.items()}
        called = f"{self.name} with {', '.join([f'{name}={value}' for name, value in values.items()])}" if values else self.name
        given: dict[str, Any] = {**numbers, **{name: value == 1 for name, value in numbers.items() if name in _YES_OR_NO}}
        lacks = frozenset([*[each for each in self.lacks if not commands.get(each)], *[name for name, value in commands.items() if not value]])
        return replace(self, name=called, latencies={**self.latencies, **changed}, lacks=lacks, **given)


R1: Final = Processor("multiclet-r1", crosses=False, change=3, two_constants=False, commits_at_end=True, float_units=4, latencies=_latencies(2, 3, 4, 2, 6, 52))
S1: Final = Processor("multiclet-s1")
S2: Final = Processor("multiclet-s2", latencies=_latencies(2, 3, 4, 2, 8, 52))

PROCESSORS: Final[dict[str, Processor]] = {each.name: each for each in (R1, S1, S2)}


def processor(name: str, multicells: int = 1) -> Processor:
    """A published processor by name, with so many multicells working as one.

    Raises:
        TargetError: there is none of the name, or no multicells.
    """
    found = PROCESSORS.get(name)
    if found is None:
        raise TargetError(f"unknown processor {name!r}; there are {', '.join(PROCESSORS)}")
    return found if multicells == 1 else replace(found, name=f"{name}x{multicells}", multicells=multicells)


@dataclass(frozen=True)
class Fact:
    """What is known about a parameter: its status on R1, S1 and S2, and a line about it."""

    status: str
    line: str


#: By the name of the field, or of the latency.
FACTS: Final[dict[str, Fact]] = {
    "cells": Fact("CCC", "cells of a multicell; command i of a paragraph goes to cell i modulo their number (that each paragraph begins at cell 0: A)"),
    "multicells": Fact("AAA", "multicells whose cells run one program as one; published figures are of one"),
    "fetch": Fact("AAA", "commands fetched a cycle in each multicell, one a cell in lockstep"),
    "fetch_to_issue": Fact("FFF", "cycles from a command's fetch to the first in which it can start"),
    "buffer": Fact("CCC", "commands of a paragraph a cell holds"),
    "depth": Fact("CCC", "how many commands back a result can be named"),
    "crosses": Fact("CCC", "whether results stay in the switch past their paragraph's end"),
    "change": Fact("CCA", "cycles from knowing the next paragraph to fetching it; of R1 2 to 3 are published"),
    "two_constants": Fact("CCC", "whether both operands may be constants or in brackets"),
    "commits_at_end": Fact(
        "CCA", "whether writes to memory and registers are done, in no order, when the paragraph ends; else they are done in order, at once"
    ),
    "float_units": Fact("CCA", "floating-point units of a multicell, each shared by neighbouring cells"),
    "memory_ports": Fact("AAA", "accesses to memory a multicell starts in a cycle, one a cell"),
    "registers": Fact("AAA", "names and number of the registers; #SP and #RETV are published"),
    "lacks": Fact("AAA", "commands of the table that the processor does not have, with all their suffixes (div) or with one (div_d)"),
    "integer": Fact("FFF", "latency of integer operations"),
    "multiply": Fact("AAA", "latency of integer products"),
    "divide": Fact("AAA", "latency of integer divisions, which are not pipelined"),
    "load": Fact("FFF", "latency of loads, inside the published 2 to 5"),
    "store": Fact("FFF", "latency of stores, inside the published 2 to 5"),
    "register": Fact("AAA", "latency of writes to registers"),
    "jump": Fact("AAA", "cycles from a jump's start to knowing the next paragraph"),
    "float": Fact("FFF", "latency of floating-point operations; that S2 takes one cycle more than S1: C"),
    "convert": Fact("AAA", "latency of conversions to and from floats"),
    "float_divide": Fact("FFF", "latency of floating-point divisions, which are not pipelined, and of square roots (A)"),
}
