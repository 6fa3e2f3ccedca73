"""Floats that each iteration multiplies by the same: a table of powers, for ``from_tables.py``."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.recurrences.progressions import SAME, Progression, progressions, same_ahead
from loopwright.nests.recurrences.stepping import BLOCK, Stepping
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import own_array

__all__ = ["UPDATES", "found"]

#: A loop that no other is around has so many iterations at least: the table takes its time.
LEAST: Final = 256
#: What such a variable is updated by.
UPDATES: Final = (ops.MUL, ops.DIV)


def found(nest: Nest, loop: NestLoop) -> list[Stepping]:
    """Such variables of a loop; what they are multiplied by is known in front of the nest."""
    f = nest.f
    if not f.options.fastmath or not (loop.parent is not None or loop.reaches(LEAST)):
        return []
    return [_Powers(nest, one) for one in progressions(f, loop, UPDATES) if all(_ahead(nest, operand) for _, operand in one.added)]


def _ahead(nest: Nest, operand: int) -> bool:
    """Whether an operand is known in front of a nest, or can be computed there."""
    if nest.ahead(operand):
        return True
    place = nest.forms.places.get(operand, -1)
    if place < 0 or nest.f.variable[operand]:
        return False
    made = nest.f.code[place]
    return made.op in SAME and all(_ahead(nest, a) for a in made.args)


class _Powers(Stepping):
    """One of them.

    Attributes:
        nest: where it is.
        factors: what it is multiplied, or divided, by.
        type: its type.
        table: the number of the array with the powers.
    """

    __slots__ = ("factors", "nest", "table", "type")

    def __init__(self, nest: Nest, one: Progression) -> None:
        self.type = nest.f.types[one.variable]
        super().__init__(one.variable, [one.position], set(), True, self.type.size * (BLOCK + 2))
        self.nest = nest
        self.factors = one.added
        self.table = NONE

    def prepare(self, front: Code) -> None:
        f, type_ = self.nest.f, self.type
        count = BLOCK + 2
        self.table = own_array(f, f"powers of {f.names[self.variable] or 'a variable'}", type_, count, front.line, front.out)
        factor = f.const(type_, 1)
        for op, operand in self.factors:
            factor = front.op(op, factor, same_ahead(f, self.nest.start, self.nest.end, operand, front.out), type_, type_)
        power = f.register(type_, "", True)
        front.out.append(Instr(ops.COPY, type_, power, [f.const(type_, 1)], 0, front.line))
        k = front.begin(front.const(0), front.const(count), 1)
        front.out.append(Instr(ops.STORE, type_, NONE, [power, k], self.table, front.line))
        front.out.append(Instr(ops.MUL, type_, power, [power, factor], 0, front.line))
        front.end()

    def value(self, code: Code, base: int, at: int, number: int) -> int:
        type_ = self.type
        power = self.nest.f.register(type_, "")
        place = at if not number else code.op(ops.ADD, at, code.const(number))
        code.out.append(Instr(ops.LOAD, type_, power, [place], self.table, code.line))
        return code.op(ops.MUL, base, power, type_, type_)
