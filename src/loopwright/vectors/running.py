"""Running sums: a total that each index adds to and reads (``s += x[i]; y[i] = s``). So are running products, extremes, and what else a total may be combined by.

Of a vector every lane gets the sum of the lanes up to it, in as many steps as it takes to double one lane to all (Hillis and Steele, *Data Parallel Algorithms*, CACM 29(12), 1986), and what came
before. That is kept in all lanes of a register of its own, to which only the sum of a whole vector is added, so that no vector waits for the steps of another.
"""

from __future__ import annotations

import math

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.ops import Op
from loopwright.types import I64, U64, UNSIGNED, VOID, Type, limits, vector_of
from loopwright.vectors.compaction import Compaction
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.regions import Bracket, Leaf, Region
from loopwright.vectors.tables import Asked

__all__ = ["Running", "RunningSums", "running_sum", "steps", "straight"]


class Running:
    """A running sum.

    Attributes:
        variable: its register.
        op: what it is added to by.
        added: what each index adds, an operand.
        region: where it does.
        carry: the variable with what came before the vector, in every lane.
        value: the register with the sums of this vector's lanes, once they have been made.
    """

    __slots__ = ("added", "carry", "op", "region", "value", "variable")

    def __init__(self, variable: int, op: Op, added: int, region: Region) -> None:
        self.variable = variable
        self.op = op
        self.added = added
        self.region = region
        self.carry = NONE
        self.value = NONE


def running_sum(f: Function, root: Bracket, leaves: list[Leaf], variable: int) -> Running | None:
    """A variable that a loop carries, if all that it is is added to in one place, and read behind that; floats only where they may be added up in another order,
    which those of f16, of a short range, may not."""
    type_ = f.types[variable]
    if is_half(type_) or not (type_.is_integer or (type_.is_float and f.options.fastmath)):
        return None
    found: Running | None = None
    for leaf in leaves:
        instr = leaf.instr
        if instr.dst != variable:
            if found is None and variable in instr.args:
                return None
            continue
        if found is not None or instr.op.reduction is None or instr.args.count(variable) != 1:
            return None
        around = leaf.region
        while around.bracket is not root:
            if around.bracket.loop or around.parent is None:
                return None
            around = around.parent
        found = Running(variable, instr.op, instr.args[1] if instr.args[0] == variable else instr.args[0], leaf.region)
    return found


def _nothing(op: Op, type_: Type) -> int | float:
    """The number that changes nothing."""
    if op.neutral is not None or op is ops.OR:
        return op.neutral or 0
    if type_.is_float:
        return math.inf if op is ops.MIN else -math.inf
    least, most = limits(type_)
    if op is ops.AND:
        return -1 if type_.signed else most
    return least if op is ops.MAX else most


class RunningSums(Compaction):
    """What is emitted for running sums.

    Attributes:
        sums: variable -> what is known of it.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width, has)
        self.sums: dict[int, Running] = {}

    def begin_running(self) -> None:
        """In front of the loop: what the sums begin with."""
        f = self.f
        for sum_ in self.sums.values():
            type_ = self.full(f.types[sum_.variable])
            sum_.carry = f.register(type_, f.names[sum_.variable], True)
            self.out.append(Instr(ops.SPLAT, type_, sum_.carry, [sum_.variable], 0, self.line))

    def run_on(self, variable: int) -> None:
        """Each lane that runs adds what it has to add."""
        f = self.f
        sum_ = self.sums[variable]
        type_ = self.full(f.types[variable])
        op = sum_.op
        none = f.const(type_, _nothing(op, type_.element))
        sums = self.define(ops.SELECT, type_, [self.fitted(self.mask, type_.bits), self.vector(sum_.added), none], type_)
        shift = 1
        while shift < self.lanes:
            moved = self.define(ops.SLIDE, type_, [none, sums, f.const(I64, self.lanes - shift)], type_)
            sums = self.define(op, type_, [sums, moved], type_)
            shift *= 2
        sum_.value = self.define(op, type_, [sums, sum_.carry], type_)
        self.out.append(Instr(op, type_, sum_.carry, [sum_.carry, self.last_everywhere(type_, sums)], 0, self.line))

    def last_everywhere(self, type_: Type, value: int) -> int:
        """The last lane of a vector in every lane: chosen by its number, as lanes of 64 bits or two of 32 where the machine does that."""
        f = self.f
        for bits in (type_.bits, 32):
            count = type_.size * 8 // bits
            words = vector_of(UNSIGNED[bits], count) if bits in (32, 64) and count > 1 else VOID
            if words is not VOID and type_.bits >= bits and self.has(ops.LOOKUP_LANES, words, words):
                number = f.const(words, count - 1)
                if bits < type_.bits:
                    wide = vector_of(U64, type_.lanes)
                    number = self.recast(words, f.const(wide, (count - 1) << 32 | (count - 2)))
                return self.recast(type_, self.define(ops.LOOKUP_LANES, words, [self.recast(words, value), number], words, words))
        last = self.define(ops.SLIDE, type_, [value, value, f.const(I64, self.lanes - 1)], type_)
        return self.define(ops.SPLAT, type_, [self.define(ops.EXTRACT, type_, [last], type_.element)], type_)

    def end_running(self) -> None:
        """Behind the loop: the sums of all."""
        for sum_ in self.sums.values():
            type_ = self.f.types[sum_.carry]
            self.out.append(Instr(ops.EXTRACT, type_, sum_.variable, [sum_.carry], 0, self.line))


def straight(root: Bracket, found: dict[int, Running]) -> bool:
    """Whether all lanes come to where running sums are added to, if only to add nothing."""
    for sum_ in found.values():
        region = sum_.region
        while region.bracket is not root:
            if not region.bracket.splits or region.parent is None:
                return False
            region = region.parent
    return True


def steps(f: Function, found: dict[int, Running], lanes: int) -> list[tuple[ops.Op, Type]]:
    """The operations that running sums need, with the types of vectors of so many lanes."""
    return [(op, vector_of(f.types[variable], lanes)) for variable, sum_ in found.items() for op in (sum_.op, ops.SLIDE)]
