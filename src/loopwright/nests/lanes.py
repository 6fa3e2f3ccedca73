"""Plain loops that become loops over lanes by themselves.

A loop may run its iterations in lanes where it carries nothing from one to the next, except totals of integers, and where what its accesses differ by from
one iteration to the next is the last subscript, by 1, so that a vector is adjacent in memory. It need not be the innermost: of a matrix product it is the one
over columns, with the sum inside (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.9, call that vectorization of an
outer loop).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Loop
from loopwright.ir.ops import Op
from loopwright.nests.dependence import Dependence
from loopwright.nests.nest import Access, Nest, NestLoop
from loopwright.nests.scalars import CARRIED, REDUCTION, Scalar
from loopwright.types import BOOL, F32, F64, I32, I64, Type

__all__ = ["adjacent", "free", "in_lanes", "mark"]

#: Operations that every machine with vectors has for lanes of these types, as one instruction or a short sequence.
_FLOATS: Final = frozenset(
    (ops.ADD, ops.SUB, ops.MUL, ops.DIV, ops.NEG, ops.ABS, ops.MIN, ops.MAX, ops.SQRT, ops.FMA, ops.SELECT, ops.COPY, *ops.COMPARISONS.values())
)
_INTEGERS: Final = frozenset(
    (ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.ABS, ops.MIN, ops.MAX, ops.AND, ops.OR, ops.XOR, ops.SELECT, ops.COPY, *ops.COMPARISONS.values())
)
_NARROW: Final = frozenset((ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.SELECT, ops.COPY, *ops.COMPARISONS.values()))
_CONDITIONS: Final = frozenset((ops.AND, ops.OR, ops.XOR, ops.NOT, ops.SELECT, ops.COPY))
_CONVERSIONS: Final = frozenset(((F32, F64), (F64, F32), (F32, I32), (F64, I32)))
#: Of an ``if`` whose condition differs by lane both arms run: they may have so many instructions together.
MOST_BRANCHED: Final = 12
#: Loops known to be shorter stay as they are.
LEAST_STEPS: Final = 8


def adjacent(nest: Nest, variables: list[Scalar]) -> list[NestLoop]:
    """The loops of a nest along which its accesses are adjacent, whose operations lanes have, and whose variables carry totals at most; the innermost first.

    Args:
        nest: the nest, without obstacles.
        variables: what its variables carry.
    """
    return [
        loop
        for loop in reversed(nest.loops)
        if loop.step == 1 and _long(loop) and _along(nest, loop) and _scalars(nest, loop, variables) and _Body(nest, loop).possible()
    ]


def free(loop: NestLoop, found: list[Dependence]) -> bool:
    """Whether no iteration of a loop depends on another, within one iteration of the loops around it.

    Args:
        loop: the loop.
        found: the dependences of its nest.
    """
    for dependence in found:
        if loop.depth < len(dependence.loops) and dependence.loops[loop.depth] is loop:
            around = dependence.vector[: loop.depth]
            own = dependence.vector[loop.depth]
            if all(c.low <= 0 <= c.high for c in around) and (own.low != 0 or own.high != 0):
                return False
    return True


def mark(nest: Nest, loop: NestLoop, variables: list[Scalar]) -> None:
    """Make a loop one over lanes, for the pass ``vectorize``."""
    f = nest.f
    described = Loop(unroll=0, lanes=True)
    for scalar in variables:
        if scalar.loop is loop and scalar.kind == REDUCTION:
            assert scalar.op is not None
            type_ = f.types[scalar.variable]
            identity = scalar.variable if scalar.op.neutral is None else f.const(type_, scalar.op.neutral)
            described.accumulators.append((scalar.variable, scalar.op, identity))
    f.code[loop.head].loop = described


def _long(loop: NestLoop) -> bool:
    """Whether a loop may have enough iterations."""
    if len(loop.first) != 1 or len(loop.last) != 1:
        return True
    span = loop.last[0].plus(loop.first[0], -1)
    return bool(span.terms) or span.constant >= LEAST_STEPS


def _along(nest: Nest, loop: NestLoop) -> bool:
    """Whether accesses move by one element in each iteration, or not at all; stores by one."""
    for access in nest.accesses:
        if not loop.head < access.position < loop.end:
            continue
        last = len(access.subscripts) - 1
        for place, form in enumerate(access.subscripts):
            if form is None:
                return False
            moves = 0
            for value, coefficient in form.terms.items():
                known = nest.indices.get(value)
                if known is loop:
                    moves = coefficient
                elif known is None and nest.varies(value):
                    return False
            if moves != 0 and (place != last or moves != 1):
                return False
            if access.store and place == last and moves != 1:
                return False
    return True


def _scalars(nest: Nest, loop: NestLoop, variables: list[Scalar]) -> bool:
    """Whether variables carry nothing but totals that may be added up in any order."""
    f = nest.f
    for scalar in variables:
        if scalar.loop is not loop:
            continue
        if scalar.kind == CARRIED:
            return False
        if scalar.kind == REDUCTION:
            type_ = f.types[scalar.variable]
            if type_ is not I32 and type_ is not I64:
                return False
        else:
            first, last = nest.mentions[scalar.variable]
            if first < loop.head or last > loop.end:
                return False
    return True


class _Body:
    """What a loop's body does with values that differ by lane."""

    __slots__ = ("loop", "nest", "varying")

    def __init__(self, nest: Nest, loop: NestLoop) -> None:
        self.nest = nest
        self.loop = loop
        self.varying: set[int] = {nest.f.code[loop.head].dst}

    def possible(self) -> bool:
        """Whether every operation on them is one that lanes have."""
        f = self.nest.f
        self._spread()
        depth = 0  # brackets open within an ``if`` that differs by lane
        branched = 0
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            op = instr.op
            if depth:
                branched += 1
            if op.effect == ops.CONTROL:
                if op in (ops.WHILE, ops.LOOP, ops.BR, ops.BR_IF, ops.ELIF, ops.THEN):
                    return False
                if op.opens and not op.closes:
                    if depth or (op is ops.IF and instr.args[0] in self.varying):
                        if op is not ops.IF:
                            return False
                        depth += 1
                elif op is ops.END and depth:
                    depth -= 1
                if op is ops.FOR and any(a in self.varying for a in instr.args):
                    return False
            elif op is ops.LOAD or op is ops.STORE:
                if not _element(instr.type):
                    return False
            elif instr.dst in self.varying and not in_lanes(op, instr.type, instr.source):
                return False
        return branched <= MOST_BRANCHED

    def _spread(self) -> None:
        """Find what differs by lane: what is computed from it, loaded along it, and every variable that the loop writes."""
        f = self.nest.f
        varying = self.varying
        along = {access.position for access in self.nest.accesses if self._moves(access)}
        for k in range(self.loop.head + 1, self.loop.end):
            dst = f.code[k].dst
            if dst >= 0 and (f.variable[dst] or k in along):
                varying.add(dst)
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            if instr.dst >= 0 and instr.op.effect != ops.CONTROL and instr.op is not ops.LOAD and any(a in varying for a in instr.args):
                varying.add(instr.dst)

    def _moves(self, access: Access) -> bool:
        """Whether an access is to another element in each iteration of the loop, as far as that is known."""
        return any(form is None or any(self.nest.indices.get(value) is self.loop for value in form.terms) for form in access.subscripts)


def _element(type_: Type) -> bool:
    return type_ is F32 or type_ is F64 or type_ is I32 or type_ is I64


def in_lanes(op: Op, type_: Type, source: Type) -> bool:
    """Whether every machine with vectors has an operation for lanes of a type."""
    if op is ops.CONVERT:
        return (type_, source) in _CONVERSIONS or (type_ is I32 and source.is_narrow)
    if type_ is F32 or type_ is F64:
        return op in _FLOATS
    if type_ is I32:
        return op in _INTEGERS
    if type_.is_narrow:
        return op in _NARROW
    if type_ is I64:
        # (Of indices, and totals.)
        return op in (ops.ADD, ops.SUB, ops.COPY) or op in ops.COMPARISONS.values()
    return type_ is BOOL and op in _CONDITIONS
