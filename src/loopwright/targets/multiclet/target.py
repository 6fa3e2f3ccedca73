"""The Multiclet processors as targets: no registers, results in the switch, arguments on the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import TargetError
from loopwright.ir.function import Function, Instr
from loopwright.targets.multiclet import expansions, lacking, selection
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.parameters import S2, Processor
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import Addressing, MachineCode, Rule
from loopwright.types import Type

__all__ = ["Multiclet", "make"]


_ADDRESSING: Final = Addressing((), -(1 << 31), (1 << 31) - 1)


class Multiclet(Dataflow):
    """A processor of the family; loops over lanes are scalar loops."""

    def __init__(self, described: Processor, program: bool = False) -> None:
        super().__init__(described, program)
        self.expanded = expansions.EXPANDED | lacking.EXPANDED if self.lacking else expansions.EXPANDED
        self.sequences = lacking.Lacking(described, self.substitutes, self.serving) if self.lacking else None

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.multiclet.passes import PASSES

        return PASSES

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        return True

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None], late: bool) -> bool:
        if self.serving and (instr.op.code, instr.type.name) in self.serving:
            return False
        if self.sequences is not None:
            made = self.sequences.expand(function, instr, emit, late)
            if made is not None:
                return made
        return expansions.expand(function, instr, emit, late)

    def rule(self, function: Function, instr: Instr) -> Rule:
        return selection.rule_for(self.name, self.processor.has if self.sequences is None else self.sequences.has, self.serving, function, instr)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        # (As are the passes.)
        from loopwright.targets.multiclet import writing

        return writing.listing(machine)


#: Commands and registers that code of any function may have.
_ALWAYS: Final = ("load_q", "loadu_q", "load_l", "wr_q", "wr_l", "setrg_q", "setrg_l", "setjf_b", "setjt_b", "jmp")
_USED: Final = S2.registers
#: Commands that the cells have to hold: an operation on values from memory whose result goes there, and jumps.
_LEAST_ROOM: Final = 8


def make(described: Processor) -> Multiclet:
    """The target of a processor.

    Raises:
        TargetError: no code can be made for it: it lacks commands or registers that all code has.
    """
    missing = [name for name in _ALWAYS if not described.has(name)] + [f"#{name}" for name in _USED if name not in described.registers]
    if missing:
        raise TargetError(f"{described.name} has no {', '.join(missing)}, without which no code can be made")
    room = described.buffer * described.all_cells
    if room < _LEAST_ROOM:
        raise TargetError(f"the cells of {described.name} hold {room} commands of a paragraph, and code needs room for {_LEAST_ROOM}: raise buffer or cells")
    return Multiclet(described)
