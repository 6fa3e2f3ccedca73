"""A machine without registers: it has no register classes, its rules demand nothing, and its list of passes has no allocation."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import Addressing, Convention, MachineCode, Rule, Target
from loopwright.types import Type

from .words import OPERATIONS, SIZE, text

__all__ = ["Belt", "bits"]

CELLS: Final = Convention("cells", (), (), NONE, NONE, 0)
_ADDRESSING: Final = Addressing((), -(1 << 31), (1 << 31) - 1)


def _plain(name: str, assembler: Any, function: Function, instr: Instr) -> None:
    made = assembler.drop(name, instr.type, assembler.operands(instr.args), 0, instr.source)
    assembler.define(instr.dst, made)


def _memory(name: str, assembler: Any, function: Function, instr: Instr) -> None:
    assembler.define(instr.dst, assembler.drop(name, instr.type, assembler.operands(instr.args), instr.mem.disp))


def _test(name: str, assembler: Any, function: Function, instr: Instr) -> None:
    assembler.condition = assembler.drop(name, instr.type, assembler.operands(instr.args)) if name else assembler.fetch(instr.args[0])


def _leave(assembler: Any, function: Function, instr: Instr) -> None:
    assembler.drop("ret", function.result, assembler.operands(instr.args))


def _emitter(instr: Instr) -> Callable[..., None] | None:
    op = instr.op
    if op.compare:
        return partial(_test, op.compare)
    if op is ops.IF or op is ops.BR_IF:
        return partial(_test, "")
    if op is ops.RET:
        return _leave
    if op is ops.LOAD_AT or op is ops.STORE_AT:
        return partial(_memory, op.name.removesuffix("_at"))
    return partial(_plain, op.name) if op.name in OPERATIONS and not instr.type.lanes else None


class Belt(Target):
    """Results on a belt; loops over lanes are scalar loops."""

    def __init__(self) -> None:
        super().__init__(CELLS, [], [], frozenset())
        # (An attribute of the class would hide the native build's.)
        self.name = "belt-63"
        self.fused = False
        self._rules: dict[Any, Rule] = {}

    def passes(self) -> tuple[Pass, ...]:
        from .passes import PASSES

        return PASSES

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        return True

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING

    def rule(self, function: Function, instr: Instr) -> Rule:
        known = self._rules.get(instr.op)
        if known is None:
            emit = _emitter(instr)
            if emit is None:
                raise UnsupportedOperationError(f"{instr.op.name} on {instr.type.name} is not available on {self.name}")
            known = self._rules[instr.op] = Rule(instr.op.name, (), None, emit)
        return known

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        lines = machine.instructions
        return [(at, machine.data[at : at + SIZE], text(machine.data, at), lines[at // SIZE]) for at in range(0, machine.code_size, SIZE)]


def bits(type_: Type, value: int | float | bool) -> int:
    """A constant as a number of 64 bits."""
    if type_.is_float:
        return int(struct.unpack("<q", struct.pack("<d", value))[0])
    number = int(value) & 0xFFFFFFFFFFFFFFFF
    return number - (1 << 64) if number >> 63 else number
