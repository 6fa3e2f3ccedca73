"""Loops and arithmetic on indices that a rewritten nest gets besides what it is made of, one instruction after the other."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop, Mem
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.types import I64, PTR, VOID, Type

__all__ = ["Code", "own_copies"]


class Code:
    """Instructions that are made one after the other."""

    __slots__ = ("f", "line", "out")

    def __init__(self, f: Function, line: int, out: list[Instr]) -> None:
        self.f = f
        self.line = line
        self.out = out

    def const(self, number: int) -> int:
        return self.f.const(I64, number)

    def op(self, op: Op, a: int, b: int, result: Type = I64, of: Type = I64) -> int:
        made = self.f.register(result, "")
        self.out.append(Instr(op, of, made, [a, b], 0, self.line))
        return made

    def begin(self, low: int, high: int, step: int, name: str = "") -> int:
        made = self.f.register(I64, name)
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self.const(step)], 0, self.line))
        return made

    def lanes(self, low: int, high: int, vectors: int) -> int:
        made = self.f.register(I64, "")
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self.const(1)], 0, self.line, loop=Loop(unroll=vectors, lanes=True)))
        return made

    def end(self) -> None:
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def select(self, condition: int, a: int, b: int, type_: Type = I64) -> int:
        made = self.f.register(type_, "")
        self.out.append(Instr(ops.SELECT, type_, made, [condition, a, b], 0, self.line))
        return made

    def address(self, base: int, offset: int) -> int:
        made = self.f.register(PTR, "")
        self.out.append(Instr(ops.ADDRESS, PTR, made, [base, offset], 0, self.line, mem=Mem(True, 1, 0)))
        return made


def own_copies(nest: Nest, loop: NestLoop) -> dict[int, int]:
    """Variables of their own for a copy of what is in a loop, by those that nothing else mentions."""
    f = nest.f
    inside = [variable for variable, (first, last) in nest.mentions.items() if loop.head < first and last < loop.end]
    return {variable: f.register(f.types[variable], f.names[variable], True) for variable in inside}
