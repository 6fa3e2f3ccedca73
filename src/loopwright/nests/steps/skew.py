"""Skewing: strips of rows, iterations of one loop, walked by diagonals of the loop inside it.

Where an iteration of the inner loop depends on a later one of the row before (distance (1, -1)), rows cannot be jammed as they stand: each has to run so far
behind the one before. With a *slant* of s iterations a row behind the other, the rows of a strip run side by side, in the order of the diagonals ``j + s*row``
(L. Lamport, "The parallel execution of DO loops", CACM 17, 1974). What a strip has in front of the first whole diagonal, and behind the last one, are
triangles, which run row by row::

    for i = lo, hi                   for i = lo, stop, U
      for j = a, b                     for each row: j from a to a + s*(U - 1 - row)         (a triangle)
        body                   →       for t = a + s*(U - 1), b: body(i + row, t - s*row), for all rows       (the parallelogram)
      end                              for each row: j from b - s*row to b                   (a triangle)
    end                              end
                                     for i = stop, hi … as before … end

What rows keep between these parts is in local arrays, an element for each row. Rows that may be done twice (of tables that are made of what is above, and not in place) have no
``for i = stop, hi``: the last strip begins so early that it ends with the last row.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.dependence import ANTI, FLOW, Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.omega import LOWEST
from loopwright.nests.analysis.scalars import PRIVATE, Scalar, any_order
from loopwright.nests.rewriting.apart import pairs
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.steps.jam import Refusal, refusal, stop_of
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["Diagonals", "Rest", "Rows", "Strip", "least_slant", "repeatable", "skew", "skew_refusal"]


def least_slant(loop: NestLoop, factor: int, found: list[Dependence], together: bool = False) -> int | None:
    """By how many iterations of the inner loop each of ``factor`` rows has to run behind the one before it; None where no number will do.

    Args:
        loop: the loop whose iterations are the rows.
        factor: how many rows run side by side.
        found: the dependences of its nest.
        together: the rows' iterations on a diagonal run together, statement by statement, and not one after the other.
    """
    slant = 0
    for dependence in found:
        depth = loop.depth
        vector = dependence.vector
        if len(vector) <= depth + 1 or dependence.loops[depth] is not loop or not all(c.low <= 0 <= c.high for c in vector[:depth]):
            continue
        rows = max(1, vector[depth].low)
        if vector[depth].high < rows or rows >= factor:
            continue
        behind = vector[depth + 1].low
        if behind == LOWEST:
            return None
        apart = int(together and not (dependence.kind == ANTI and dependence.source.position < dependence.sink.position))
        slant = max(slant, -((behind - apart) // rows))
    return slant


def skew_refusal(nest: Nest, rows: Rows, factor: int, slant: int, found: list[Dependence], variables: list[Scalar], together: bool = False) -> Refusal | None:
    """What keeps strips of ``factor`` rows from being walked by diagonals, or None.

    Args:
        nest: the nest.
        rows: what the rows consist of.
        factor: how many rows run side by side, at least 2.
        slant: by how many iterations of the inner loop each is to run behind the one before.
        found: the nest's dependences.
        variables: what its variables carry.
        together: the rows' iterations on a diagonal run together.
    """
    loop, inner = rows.loop, rows.inner
    for dependence in found:
        least = least_slant(loop, factor, [dependence], together)
        if least is None:
            because = f"each iteration of {nest.name(loop)} would have to run all of {nest.name(inner)} behind the one before it"
            return Refusal(because, dependence.sink.line, dependence)
        if least > slant:
            because = f"each iteration of {nest.name(loop)} has to run {least} of {nest.name(inner)} behind the one before it"
            return Refusal(because, dependence.sink.line, dependence)
    if not rows.possible(nest.f):
        return Refusal(f"strips need a loop in steps of 1 inside of {nest.name(loop)}, with no other in it", inner.line)
    return refusal(nest, loop, factor, found, variables, (), slant)


class Rows:
    """What the rows of a strip consist of: the parts of a loop's body in front of its inner loop, in it and behind it.

    Attributes:
        loop, inner: the two loops.
        front, body, back: their instructions.
        again: the instructions of ``front`` that each part can do for itself.
        kept: registers whose values a row takes from one part to the next.
        totals: what all rows add up together, in any order.
        direct: nothing but the loop itself is around the inner one.
    """

    __slots__ = ("again", "back", "body", "direct", "front", "inner", "kept", "loop", "totals")

    def __init__(self, nest: Nest, loop: NestLoop, inner: NestLoop, variables: list[Scalar]) -> None:
        code = nest.f.code
        self.loop = loop
        self.inner = inner
        self.front: list[Instr] = code[loop.head + 1 : inner.head]
        self.body: list[Instr] = code[inner.head + 1 : inner.end]
        self.back: list[Instr] = code[inner.end + 1 : loop.end]
        variable = nest.f.variable
        changing = {instr.dst for part in (self.front, self.body, self.back) for instr in part if instr.dst >= 0}
        changing.add(code[inner.head].dst)
        known = {code[loop.head].dst}
        self.again: list[Instr] = []
        depth = 0
        for instr in self.front:
            if instr.op.opens or instr.op.closes:
                depth += int(instr.op.opens) - int(instr.op.closes)
            elif instr.op.pure and not variable[instr.dst] and not depth and all(a < 0 or a in known or a not in changing for a in instr.args):
                known.add(instr.dst)
                self.again.append(instr)
        self.totals: dict[int, Op] = {s.variable: s.op for s in variables if s.loop is loop and s.op is not None and any_order(nest.f, s)}
        self.direct = depth == 0
        carried = {scalar.variable for scalar in variables if scalar.loop is inner and scalar.kind != PRIVATE}
        parts: dict[int, int] = {}
        for number, part in enumerate((self.front, self.body, self.back)):
            for instr in part:
                for r in (instr.dst, *instr.args):
                    if r in changing:
                        parts[r] = parts.get(r, 0) | 1 << number
        self.kept: list[int] = [r for r in sorted(parts) if r not in known and r not in self.totals and (parts[r] & (parts[r] - 1) or r in carried)]

    def possible(self, f: Function) -> bool:
        """Whether a strip can be made of them."""
        return (
            self.direct
            and self.inner.step == 1
            and self.loop.step != 0
            and not any(instr.op is ops.FOR or instr.op is ops.WHILE or instr.op is ops.LOOP for part in (self.front, self.body, self.back) for instr in part)
            and not any(f.types[r] is BOOL or f.types[r].lanes or f.types[r] is PTR for r in self.kept)
        )


def repeatable(nest: Nest, rows: Rows) -> bool:
    """Whether the last rows may be done twice: nothing that a row reads, or has stored, is written over by itself or a later row, and nothing is added up."""
    # (Two arrays that may be one are another case: what is read is written over then.)
    if rows.totals or nest.told is None or any(one for _, _, one in pairs(nest)):
        return False
    depth = rows.loop.depth
    for dependence in nest.told:
        within = len(dependence.loops) > depth and dependence.loops[depth] is rows.loop and all(c.low <= 0 <= c.high for c in dependence.vector[:depth])
        if within and dependence.kind != FLOW:
            return False
    return True


class Strip:
    """What is emitted for the strips of a nest.

    Attributes:
        f: the function.
        rows: what the rows consist of.
        count: how many rows a strip has.
        slant: by how many iterations each is behind the one before.
        out: the instructions made so far.
        index: the first row's index.
        low, high: the bounds of the inner loop.
        stop: where the first row is behind the last whole diagonal.
        kept: per register of ``rows.kept`` the local array that holds it.
        line: of the user's source.
    """

    __slots__ = ("_before", "count", "f", "high", "index", "kept", "line", "low", "out", "rows", "slant", "stop")

    def __init__(self, f: Function, rows: Rows, count: int, slant: int, out: list[Instr]) -> None:
        self.f = f
        self.rows = rows
        self.count = count
        self.slant = slant
        self.out = out
        self.index = NONE
        self.low = NONE
        self.high = NONE
        self.stop = NONE
        self._before = len(out)
        self.kept: dict[int, Array] = {}
        self.line: int = rows.loop.line

    # --- emitting

    def const(self, number: int) -> int:
        """A constant index."""
        return self.f.const(I64, number)

    def number(self, op: Op, a: int, b: int, name: str = "") -> int:
        """The result of an operation on indices."""
        made = self.f.register(I64, name)
        self.out.append(Instr(op, I64, made, [a, b], 0, self.line))
        return made

    def plus(self, a: int, number: int) -> int:
        """An index and a constant."""
        return self.number(ops.ADD, a, self.const(number)) if number else a

    def all_rows(self, low: int, high: int) -> int:
        """Where strips stop of which the last may overlap the one before: behind the last row, or in front of the first where there are fewer rows than a strip has."""
        return self.where_long(self.count, low, high, high, low)

    def where_long(self, least: int, low: int, high: int, long: int, short: int) -> int:
        """One index where so many lie between two others, or another."""
        enough = self.f.register(BOOL)
        self.out.append(Instr(ops.GE, I64, enough, [self.number(ops.SUB, high, low), self.const(least)], 0, self.line))
        stop = self.f.register(I64, "stop")
        self.out.append(Instr(ops.SELECT, I64, stop, [enough, long, short], 0, self.line))
        return stop

    def begin(self, name: str, low: int, high: int, step: int = 1) -> int:
        """Begin a ``for``; the register it counts in."""
        made = self.f.register(I64, name)
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self.const(step)], 0, self.line))
        return made

    def end(self) -> None:
        """End a bracket."""
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def row(self, number: int) -> dict[int, int]:
        """The index of a row, a register with its number or a constant, and what follows from it, as what to rename to what."""
        step = self.rows.loop.step
        if number < 0:
            index = self.plus(self.index, step * int(self.f.const_values[~number]))
        else:
            index = self.number(ops.ADD, self.index, number if step == 1 else self.number(ops.MUL, number, self.const(step)), "row")
        rename = {self.f.code[self.rows.loop.head].dst: index}
        clone(self.f, self.rows.again, rename, self.out)
        return rename

    def load(self, number: int, rename: dict[int, int], own: bool = False) -> None:
        """Take what a row has kept: into the variables it was in, or variables of its ``own``; of what is no variable into other registers."""
        for register, array in self.kept.items():
            type_ = array.element
            taken = self.f.register(type_, self.f.names[register])
            self.out.append(Instr(ops.LOAD, type_, taken, [number], self.f.arrays.index(array), self.line))
            if not self.f.variable[register]:
                rename[register] = taken
                continue
            if own:
                rename[register] = self.f.register(type_, self.f.names[register], True)
            self.out.append(Instr(ops.COPY, type_, rename.get(register, register), [taken], 0, self.line))

    def save(self, number: int, rename: dict[int, int]) -> None:
        """Keep what a row needs later."""
        for register, array in self.kept.items():
            self.out.append(Instr(ops.STORE, array.element, NONE, [rename.get(register, register), number], self.f.arrays.index(array), self.line))

    # --- the parts

    def local(self, name: str, element: Type) -> Array:
        """A local array with an element for each row."""
        array = self.f.local_array(name, element, (self.count,))
        array.written = True
        self.out.insert(self._before, Instr(ops.LOCAL, PTR, array.base, [self.const(len(self.f.arrays) - 1)], 0, self.line))
        self._before += 1
        return array

    def keep(self) -> None:
        """Make room for what rows keep."""
        for register in self.rows.kept:
            self.kept[register] = self.local(self.f.names[register] or "kept", self.f.types[register])

    def whole(self, number: int) -> int:
        """Where a row's first iteration on a whole diagonal is, or the end."""
        behind = self.number(ops.SUB, self.const(self.count - 1), number)
        first = self.number(ops.ADD, self.low, self.number(ops.MUL, behind, self.const(self.slant)))
        return self.number(ops.MIN, first, self.high)

    def before(self) -> None:
        """The triangle in front of the first whole diagonal."""
        number = self.begin("", self.const(0), self.const(self.count))
        rename = self.row(number)
        clone(self.f, [instr for instr in self.rows.front if instr not in self.rows.again], rename, self.out)
        self._part(rename, self.low, self.whole(number))
        self.save(number, rename)
        self.end()

    def behind(self) -> None:
        """The triangle behind the last whole diagonal."""
        number = self.begin("", self.const(0), self.const(self.count))
        rename = self.row(number)
        self.load(number, rename)
        first = self.number(ops.SUB, self.stop, self.number(ops.MUL, number, self.const(self.slant)))
        self._part(rename, self.number(ops.MAX, first, self.whole(number)), self.high)
        clone(self.f, self.rows.back, rename, self.out)
        self.end()

    def _part(self, rename: dict[int, int], low: int, high: int) -> None:
        """A part of a row."""
        inner = self.f.code[self.rows.inner.head]
        rename[inner.dst] = self.begin(self.f.names[inner.dst], low, high)
        clone(self.f, self.rows.body, dict(rename), self.out)
        self.end()

    def jammed(self) -> None:
        """The whole diagonals, the rows' iterations one after the other."""
        f = self.f
        inner = f.code[self.rows.inner.head]
        variables = sorted({instr.dst for instr in self.rows.body if instr.dst >= 0 and f.variable[instr.dst] and instr.dst not in self.rows.totals})
        renames: list[dict[int, int]] = []
        for number in range(self.count):
            rename = self.row(self.const(number))
            self.load(self.const(number), rename, own=True)
            for variable in variables:
                if variable not in rename:
                    rename[variable] = f.register(f.types[variable], f.names[variable], True)
            renames.append(rename)
        first = self.plus(self.low, self.slant * (self.count - 1))
        index = self.begin(f.names[inner.dst], first, self.high)
        for number, rename in enumerate(renames):
            own = dict(rename)
            own[inner.dst] = self.plus(index, -self.slant * number)
            clone(f, self.rows.body, own, self.out)
        self.end()
        for number, rename in enumerate(renames):
            self.save(self.const(number), rename)


class Diagonals:
    """What makes the whole diagonals of strips: in scalars, unless it is something else."""

    def emit(self, strip: Strip) -> None:
        """Emit the whole diagonals of a strip."""
        strip.jammed()


class Rest:
    """Strips of fewer rows, for those that are left over where none may be done twice, and for all of few columns.

    Attributes:
        count: how many rows they have.
        diagonals: what makes their whole diagonals.
        columns: rows of fewer have their triangles shorter in such strips, which gains more than wider ones do.
    """

    __slots__ = ("columns", "count", "diagonals")

    def __init__(self, count: int, diagonals: Diagonals, columns: int) -> None:
        self.count = count
        self.diagonals = diagonals
        self.columns = columns


def skew(nest: Nest, rows: Rows, count: int, slant: int, diagonals: Diagonals | None = None, rest: Rest | None = None) -> None:
    """Walk strips of ``count`` rows by diagonals. ``refusal`` must have allowed it; the nest does not describe the code any more.

    Args:
        nest: the nest.
        rows: the rows of one of its loops, which must be possible.
        count: how many rows a strip has, at least 2.
        slant: by how many iterations of the inner loop each is to run behind the one before, at least ``least_slant``.
        diagonals: what makes the whole diagonals, if not scalars.
        rest: the strips of rows that are left over; None where these run as written.
    """
    f = nest.f
    code = f.code
    head = code[rows.loop.head]
    out: list[Instr] = code[: rows.loop.head]
    strip = Strip(f, rows, count, slant, out)
    lo = read_once(f, head.args[0], head.line, out)
    hi = read_once(f, head.args[1], head.line, out)
    again = rows.loop.step == 1 and repeatable(nest, rows)
    stop = strip.all_rows(lo, hi) if again else stop_of(f, lo, hi, count, rows.loop.step, head.line, out)
    if rest is not None and not again:
        low, high = code[rows.inner.head].args[:2]
        if nest.ahead(low) and nest.ahead(high):
            stop = strip.where_long(rest.columns, low, high, stop, lo)
    _strips(strip, diagonals or Diagonals(), lo, hi, stop, again)
    if rest is not None and not again:
        strip = Strip(f, rows, rest.count, slant, out)
        lo, stop = stop, stop_of(f, stop, hi, rest.count, rows.loop.step, head.line, out)
        _strips(strip, rest.diagonals, lo, hi, stop, False)
    out.append(Instr(ops.FOR, head.type, head.dst, [stop, hi, head.args[2]], 0, head.line))
    out.extend(code[rows.loop.head + 1 :])
    f.code = out


def _strips(strip: Strip, diagonals: Diagonals, lo: int, hi: int, stop: int, again: bool) -> None:
    """Emit the strips of the rows from one up to another; the last overlaps the one before where rows may be done ``again``."""
    f, rows = strip.f, strip.rows
    strip.keep()
    strip.index = strip.begin(f.names[f.code[rows.loop.head].dst], lo, stop, strip.count * rows.loop.step)
    if again:
        strip.index = strip.number(ops.MIN, strip.index, strip.number(ops.SUB, hi, strip.const(strip.count)))
    rename = strip.row(strip.const(0))
    bounds = f.code[rows.inner.head].args
    strip.low, strip.high = rename.get(bounds[0], bounds[0]), rename.get(bounds[1], bounds[1])
    strip.stop = strip.high
    strip.before()
    diagonals.emit(strip)
    strip.behind()
    strip.end()
