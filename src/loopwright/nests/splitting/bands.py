"""Nests whose rows begin or end where the row's number says, in bands of rows: of each the triangle by itself, and the rectangle.

::

    for i = n - 2, -1, -1              for u = n - 2, -1, -16
      for j = i + 1, n                   for i = u, max(u - 16, -1), -1
        A                         →        for j = i + 1, min(u + 1, n): A
                                         for i = u, max(u - 16, -1), -1
                                           for j = u + 1, n: A

Rows can be walked together only where they begin and end alike (``skew.py``). Tables of intervals, filled from the diagonal on, are such: palindromes in a text, say. All rows of a band do what comes first along them, and then the
rest: no iteration may need what an earlier row does further along (index-set splitting: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.7; M. Wolfe, High Performance Compilers for Parallel
Computing, 1996, section 9.6).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop, nest_of
from loopwright.nests.analysis.scalars import PRIVATE, Scalar
from loopwright.nests.rewriting.operands import computed
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.conditions import own_variables
from loopwright.types import I64, VOID

__all__ = ["Bands", "in_bands"]


class Bands:
    """What a nest becomes in bands.

    Attributes:
        nest: the nest.
        outer, inner: the loop over rows, and that along them.
        varies: which bound of the inner loop changes with the row: its place among the loop's arguments.
        first: the first row of a band has it the furthest in, not the last.
        own: the variables that each iteration writes anew.
    """

    __slots__ = ("first", "inner", "nest", "outer", "own", "varies")

    def __init__(self, nest: Nest, outer: NestLoop, inner: NestLoop, varies: int, first: bool) -> None:
        self.nest = nest
        self.outer = outer
        self.inner = inner
        self.varies = varies
        self.first = first
        self.own = own_variables(nest, inner)

    def write(self, height: int) -> Nest:
        """Rewrite the nest in bands of so many rows. Returns the rectangle, a nest by itself."""
        f = self.nest.f
        code = f.code
        head, within = code[self.outer.head], code[self.inner.head]
        step, line = self.outer.step, head.line
        out = code[: self.outer.head]
        first = f.register(I64, f"{f.names[head.dst]}.bands" if f.names[head.dst] else "")
        out.append(Instr(ops.FOR, head.type, first, [head.args[0], head.args[1], f.const(I64, step * height)], 0, line))
        behind = computed(f, ops.ADD, first, f.const(I64, step * height), line, out)
        behind = computed(f, ops.MIN if step > 0 else ops.MAX, behind, head.args[1], line, out)
        row = first if self.first else computed(f, ops.SUB, behind, f.const(I64, step), line, out)
        # Where the rectangle begins, or ends.
        renamed = {head.dst: row}
        clone(f, self.computed(), renamed, out)
        middle = renamed.get(within.args[self.varies], within.args[self.varies])
        rows = [first, behind, head.args[2]]
        if self.varies == 0:
            self.part(rows, within.args[0], middle, True, out)
            start = self.part(rows, middle, within.args[1], False, out)
        else:
            start = self.part(rows, within.args[0], middle, False, out)
            self.part(rows, middle, within.args[1], True, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, code[self.outer.end].line))
        f.code = out + code[self.outer.end + 1 :]
        return nest_of(f, *start)

    def computed(self) -> list[Instr]:
        """What is in front of the inner loop but for stores."""
        return [instr for instr in self.nest.f.code[self.outer.head + 1 : self.inner.head] if instr.op is not ops.STORE]

    def part(self, rows: list[int], low: int, high: int, triangle: bool, out: list[Instr]) -> tuple[int, int]:
        """Append what a band does between two columns. Returns the positions of its brackets."""
        f = self.nest.f
        code = f.code
        head, within = code[self.outer.head], code[self.inner.head]
        start = len(out)
        # (What a row stores in front of its columns is stored with those that come first.)
        front = code[self.outer.head + 1 : self.inner.head] if triangle else self.computed()
        made: list[Instr] = [Instr(ops.FOR, head.type, head.dst, rows, 0, head.line), *front]
        if triangle:
            # (It ends where the rectangle begins, or begins where that ends; but not beyond the row.)
            other = 1 - self.varies
            edge = (low, high)[other]
            bound = computed(f, ops.MIN if other else ops.MAX, edge, within.args[other], within.line, made)
            low, high = (low, bound) if other else (bound, high)
        made.append(Instr(ops.FOR, within.type, within.dst, [low, high, within.args[2]], 0, within.line))
        made += code[self.inner.head + 1 : self.outer.end + 1]
        clone(f, made, {variable: f.register(f.types[variable], f.names[variable], True) for variable in self.own}, out)
        return start, len(out) - 1


def in_bands(nest: Nest, found: list[Dependence], variables: list[Scalar]) -> Bands | None:
    """The bands of a nest; None where there is no triangle, or it may not be done by itself.

    Args:
        nest: the nest.
        found: its dependences.
        variables: what its variables carry.
    """
    f = nest.f
    inner = nest.loops[-1]
    outer = inner.parent
    if outer is None or abs(outer.step) != 1 or inner.step != 1 or any(other.parent is outer and other is not inner for other in nest.loops):
        return None
    front = f.code[outer.head + 1 : inner.head]
    stored = {access.array for access in nest.accesses if access.store}
    if inner.end + 1 != outer.end or any(instr.dst >= 0 and f.variable[instr.dst] for instr in front):
        return None
    if any(instr.op.effect != ops.PURE and instr.op is not ops.STORE and (instr.op is not ops.LOAD or instr.imm in stored) for instr in front):
        return None
    stores = any(instr.op is ops.STORE for instr in front)
    if any(scalar.loop in (inner, outer) and scalar.kind != PRIVATE for scalar in variables) or any(a >= 0 and f.variable[a] for a in f.code[outer.head].args):
        return None
    for scalar in variables:
        # (What is read behind the loops is what the last row as written has left.)
        first, last = nest.mentions[scalar.variable]
        if scalar.loop in (inner, outer) and (first < outer.head or last > outer.end):
            return None
    changing = [(place, moves) for place, forms in enumerate((inner.first, inner.last)) for moves in [_moves(nest, outer, forms)] if moves != 0]
    if len(changing) != 1 or changing[0][1] is None:
        return None
    if any(_needs_further(dependence, outer) for dependence in found if dependence.source.loops[-1] is inner and dependence.sink.loops[-1] is inner):
        return None
    place, moves = changing[0]
    assert moves is not None
    if stores and (place != 0 or any(_would_come_late(dependence, outer, inner) for dependence in found)):
        return None
    # A beginning is furthest in where it is the greatest, an end where it is the least.
    return Bands(nest, outer, inner, place, (moves * outer.step < 0) == (place == 0))


def _moves(nest: Nest, outer: NestLoop, forms: list[Form]) -> int | None:
    """By how much a bound, or what it is the greatest or the least of, moves on with each row; None where that is not known, or goes both ways."""
    total = 0
    for form in forms:
        for value, coefficient in form.terms.items():
            if nest.indices.get(value) is outer:
                if total * coefficient < 0:
                    return None
                total = coefficient
            elif outer.index in nest.forms.leaves[value]:
                return None
    return total


def _would_come_late(dependence: Dependence, outer: NestLoop, inner: NestLoop) -> bool:
    """Whether what a row stores in front of its inner loop may have to come behind what rows before do in theirs: it is done with the triangles, in front of the rectangle."""
    return dependence.source.loops[-1] is inner and dependence.sink.loops[-1] is outer


def _needs_further(dependence: Dependence, outer: NestLoop) -> bool:
    """Whether a row may need what one before it has done further along."""
    depth = outer.depth
    if len(dependence.loops) <= depth or dependence.loops[depth] is not outer or not all(c.low <= 0 <= c.high for c in dependence.vector[:depth]):
        return False
    return len(dependence.vector) < depth + 2 or (dependence.vector[depth].high > 0 and dependence.vector[depth + 1].low < 0)
