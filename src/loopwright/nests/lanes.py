"""Plain loops that become loops over lanes by themselves.

A loop may run its iterations in lanes where it carries nothing from one to the next, except totals that may be added up in any order, and where what its
accesses differ by from one iteration to the next is the last subscript, by 1, so that a vector is adjacent in memory. It need not be the innermost: of a
matrix product it is the one over columns, with the sum inside (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.9,
call that vectorization of an outer loop). A dependence that it carries does no harm where its source comes first in the text as well: a vector is made
statement by statement (the same, section 2.4).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr, Loop
from loopwright.nests.dependence import FLOW, Dependence
from loopwright.nests.nest import Nest, NestLoop
from loopwright.nests.operations import has
from loopwright.nests.scalars import CARRIED, REDUCTION, Scalar, any_order
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID, Type, mask_of, vector_of

__all__ = ["adjacent", "free", "mark", "obstructs"]

#: Of an ``if`` whose condition differs by lane both arms run: they may have so many instructions together.
MOST_BRANCHED: Final = 24
#: What has been stored so few iterations before is not loaded again by vectors, of which each would wait for two stores.
NEAR: Final = 64
#: Bits of masks where no vector says how wide its elements are, as ``vectorize`` has it.
_USUAL: Final = 32

#: The same in all iterations; an i64 that is one more in each; anything.
_UNIFORM: Final = 0
_LINEAR: Final = 1
_VARYING: Final = 2

_COMPARISONS: Final = frozenset(ops.COMPARISONS.values())
_CONDITIONS: Final = frozenset((ops.AND, ops.OR, ops.XOR, ops.NOT, ops.SELECT, ops.COPY))
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))
_REFUSED: Final = frozenset((ops.WHILE, ops.LOOP, ops.ELIF, ops.THEN))
#: Whose sequences depend on a constant that they divide by.
_DIVISIONS: Final = frozenset((ops.DIV_FLOOR, ops.REM_FLOOR, ops.DIV_TRUNC, ops.REM_TRUNC))


def adjacent(nest: Nest, variables: list[Scalar], target: Target) -> list[NestLoop]:
    """The loops of a nest along which its accesses are adjacent, whose operations lanes have, and whose variables carry totals at most; the innermost first.

    Args:
        nest: the nest, without obstacles.
        variables: what its variables carry.
        target: the machine that has the lanes.
    """
    return [
        loop
        for loop in reversed(nest.loops)
        if loop.step in (1, -1) and loop.long() and _along(nest, loop) and _scalars(nest, loop, variables) and _Body(nest, loop, target).possible()
    ]


def free(loop: NestLoop, found: list[Dependence]) -> bool:
    """Whether no iteration of a loop depends on another, within one iteration of the loops around it, but by what comes earlier in the text.

    Args:
        loop: the loop.
        found: the dependences of its nest.
    """
    return not any(obstructs(dependence, loop) for dependence in found)


def obstructs(dependence: Dependence, loop: NestLoop) -> bool:
    """Whether a dependence keeps a loop from becoming one over lanes."""
    if loop.depth >= len(dependence.loops) or dependence.loops[loop.depth] is not loop:
        return False
    around = dependence.vector[: loop.depth]
    own = dependence.vector[loop.depth]
    return all(c.low <= 0 <= c.high for c in around) and (own.low != 0 or own.high != 0) and not _forward(dependence, loop)


def _forward(dependence: Dependence, loop: NestLoop) -> bool:
    """Whether what runs statement by statement keeps the order of a dependence: the source is before the sink in the text, and no inner loop holds both."""
    source, sink = dependence.source, dependence.sink
    own = dependence.vector[loop.depth]
    if own.low < (NEAR if dependence.kind == FLOW else 0):
        return False
    return dependence.loops[-1] is loop and source.position < sink.position and source.loops[-1] is loop and sink.loops[-1] is loop


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
                elif known is None and nest.forms.depends(Form(0, {value: 1}), loop.head, loop.end):
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
            if not any_order(f, scalar):
                return False
        else:
            first, last = nest.mentions[scalar.variable]
            if first < loop.head or last > loop.end:
                return False
    return True


class _Body:
    """What a loop's body does with values that differ by lane.

    Attributes:
        shapes: register -> _LINEAR or _VARYING, where it differs by lane, as far as is known when variables may be anything.
        lanes, width: how many there are, and the bits of the widest element.
    """

    __slots__ = ("lanes", "loop", "nest", "shapes", "target", "width")

    def __init__(self, nest: Nest, loop: NestLoop, target: Target) -> None:
        self.nest = nest
        self.loop = loop
        self.target = target
        self.shapes: dict[int, int] = {nest.f.code[loop.head].dst: _LINEAR}
        self.width = 0
        self.lanes = 0

    def possible(self) -> bool:
        """Whether every operation on them is one that lanes have."""
        f = self.nest.f
        code = f.code
        if any(code[k].op in _REFUSED for k in range(self.loop.head + 1, self.loop.end)):
            return False
        self._spread()
        self.width = self._widest() or _USUAL
        self.lanes = max(1, self.target.vector_bits // self.width)
        depth = 0  # brackets open within one that lanes go through each for itself
        branched = 0
        for k in range(self.loop.head + 1, self.loop.end):
            instr = code[k]
            op = instr.op
            branched += depth > 0
            if op.effect == ops.CONTROL:
                if op is ops.FOR and (depth or any(self._of(a) for a in instr.args)):
                    return False
                if op.opens and not op.closes:
                    if depth or op is ops.BLOCK or (op is ops.IF and self._of(instr.args[0])):
                        depth += 1
                elif op is ops.END and depth:
                    depth -= 1
                elif op in _BRANCHES and not depth:
                    return False
            elif op is ops.LOAD or op is ops.STORE:
                if not self._accesses(instr, depth > 0):
                    return False
            elif self._of(instr.dst) == _VARYING and not self._has(instr):
                return False
        return branched <= MOST_BRANCHED

    def _of(self, operand: int) -> int:
        return self.shapes.get(operand, _UNIFORM) if operand >= 0 else _UNIFORM

    def _spread(self) -> None:
        """Find what differs by lane: what is computed from it, loaded along it, and every variable that the loop writes."""
        f = self.nest.f
        shapes = self.shapes
        for k in range(self.loop.head + 1, self.loop.end):
            dst = f.code[k].dst
            if dst >= 0 and f.variable[dst]:
                shapes[dst] = _VARYING
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            dst = instr.dst
            if dst >= 0 and instr.op.effect != ops.CONTROL and not f.variable[dst]:
                shape = self._shape(instr)
                if shape:
                    shapes[dst] = shape

    def _shape(self, instr: Instr) -> int:
        """What an operation's result is: as ``vectors/divergence.py`` has it."""
        shapes = [self._of(a) for a in instr.args]
        most = max(shapes, default=_UNIFORM)
        if most != _LINEAR or instr.type is not I64:
            return _VARYING if most else _UNIFORM
        op = instr.op
        if op in _COMPARISONS:
            return _UNIFORM if shapes[0] == shapes[1] else _VARYING
        if op is ops.COPY:
            return _LINEAR
        if op is ops.SUB and shapes[0] == shapes[1]:
            return _UNIFORM
        if (op is ops.ADD and shapes[0] != shapes[1]) or (op is ops.SUB and shapes[0]):
            return _LINEAR
        return _VARYING

    def _widest(self) -> int:
        """Bits of the widest element of any vector; 0 if there is none."""
        f = self.nest.f
        found = 0
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            if instr.op is ops.STORE:
                found = max(found, f.arrays[instr.imm].element.bits)
            elif self._of(instr.dst) == _VARYING and instr.op.effect != ops.CONTROL:
                if f.types[instr.dst] is not BOOL:
                    found = max(found, f.types[instr.dst].bits)
                linear = instr.op is ops.CONVERT and self._of(instr.args[0]) == _LINEAR
                if linear and not instr.type.is_integer:
                    return 64
                for a in instr.args:
                    if not linear and self._of(a) == _VARYING and f.types[a] is not BOOL:
                        found = max(found, f.types[a].bits)
        return found

    def _accesses(self, instr: Instr, some: bool) -> bool:
        """Whether an access is one that lanes have; ``some``: not all of them may make it."""
        if instr.type is BOOL:
            return False
        store = instr.op is ops.STORE
        places = instr.args[1:] if store else instr.args
        shapes = [self._of(a) for a in places]
        if any(shapes[:-1]) or shapes[-1] == _VARYING or (store and not shapes[-1]):
            return False
        type_ = vector_of(instr.type, self.lanes)
        if shapes[-1] and not has(self.target, ops.STORE_AT if store else ops.LOAD_AT, type_):
            return False
        return not some or (self._masks(instr.type) and (not shapes[-1] or has(self.target, ops.MASKED_STORE_AT if store else ops.MASKED_LOAD_AT, type_)))

    def _masks(self, element: Type) -> bool:
        """Whether the loop's masks can be made masks for an element."""
        return element.bits == self.width or has(self.target, ops.MASK_CONVERT, mask_of(element.bits, self.lanes), mask_of(self.width, self.lanes))

    def _has(self, instr: Instr) -> bool:
        """Whether an operation whose result differs by lane is one that lanes have."""
        op, type_, source = instr.op, instr.type, instr.source
        masks = mask_of(self.width, self.lanes)
        if op is ops.CONVERT and (source is BOOL or type_ is BOOL):
            other = type_ if source is BOOL else source
            return other is not BOOL and self._masks(other) and has(self.target, ops.SELECT, vector_of(other, self.lanes))
        if type_ is BOOL:
            return op in _CONDITIONS and (op is ops.COPY or has(self.target, op, masks))
        if op is ops.COPY:
            return True
        full = vector_of(type_, self.lanes)
        if op is ops.SELECT or op in _COMPARISONS:
            return self._masks(type_) and (type_.bits == self.width or self._fits(type_)) and has(self.target, op, full)
        if op is ops.CONVERT or op is ops.BITCAST or op in ops.UNCHECKED:
            return has(self.target, op, full, vector_of(source, self.lanes))
        if op.operands.count("T") != len(instr.args):
            return False
        divisor = None
        if op in _DIVISIONS and type_.is_integer and instr.args[1] < 0:
            divisor = int(self.nest.f.const_values[~instr.args[1]])
        return has(self.target, op, full, VOID, divisor)

    def _fits(self, element: Type) -> bool:
        """Whether masks for an element can be made masks of the loop."""
        return has(self.target, ops.MASK_CONVERT, mask_of(self.width, self.lanes), mask_of(element.bits, self.lanes))
