"""The Multiclet processors as targets: no registers, results in the switch, arguments on the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.multiclet import expansions, selection
from loopwright.targets.multiclet.parameters import Processor, processor
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import Addressing, Convention, MachineCode, Rule, Target
from loopwright.types import PTR, Type

__all__ = ["DYNAMIC_STACK", "Multiclet", "make", "offsets_of"]


def offsets_of(types: list[Type]) -> list[int]:
    """Where arguments are from the stack pointer on at a call, in bytes: behind the return address, each at a multiple of its size (facts page, "Calls")."""
    at = 4
    places: list[int] = []
    for type_ in types:
        size = 4 if type_ is PTR else max(type_.bits // 8, 1)
        at = (at + size - 1) // size * size
        places.append(at)
        at += size
    return places


class OnStack(Convention):
    """All arguments on the stack."""

    def __init__(self) -> None:
        super().__init__("stack", (), (), NONE, NONE, 0, stack_align=8)

    def assign(self, types: list[Type], named: int = -1, places: tuple[int, ...] = ()) -> list[int]:
        return [~offset for offset in offsets_of(types)]


CONVENTION: Final = OnStack()
#: The register that says where memory of the stack whose size is not known before is taken next, upwards, away from all frames; functions leave it as they found it.
DYNAMIC_STACK: Final = "R7"
_ADDRESSING: Final = Addressing((), -(1 << 31), (1 << 31) - 1)


class Multiclet(Target):
    """A processor of the family; loops over lanes are scalar loops.

    Attributes:
        processor: its parameters.
        program: all functions that call each other are compiled for one program, and may call each other as suits them (``calling.py``).
    """

    def __init__(self, described: Processor, program: bool = False) -> None:
        super().__init__(CONVENTION, [], [], frozenset())
        # (An attribute of the class would hide the native build's.)
        self.name = described.name
        self.fused = False
        self.processor = described
        self.program = program
        self.expanded = expansions.EXPANDED

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.multiclet.passes import PASSES

        return PASSES

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        return True

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None], late: bool) -> bool:
        return expansions.expand(function, instr, emit, late)

    def rule(self, function: Function, instr: Instr) -> Rule:
        return selection.rule_for(self.name, self.processor.has, function, instr)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return list(machine.instructions)


def make(name: str) -> Multiclet:
    """The target of a published processor."""
    return Multiclet(processor(name))
