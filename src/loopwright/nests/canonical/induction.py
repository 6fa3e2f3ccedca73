"""Variables that a loop moves on by the same amount in every iteration, computed from its index.

::

    for i = 0, n                    for i = 0, n
      k = k + 1               →       a[k' + i + 1] = …        (k' is what k was in front of the loop)
      a[k] = …                      k = k' + max(n, 0)

Subscripts made of them are linear then, iterations are told apart, and may be done side by side (induction variable substitution: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures,
2001, section 4.5). What is added may be added in several places, also in each arm of a branch, as long as all ways through an iteration come to the same. Inner loops come first, so that what they
add a known number of times is added to by those around, also as often as an extent says: ``flat[k]`` with one ``k`` for all elements of two dimensions.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr, wrap
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, is_extent, read_once
from loopwright.types import I32, I64, Type

__all__ = ["run"]

_UPDATES = (ops.ADD, ops.SUB)
#: Of what is the same in all iterations is made what is the same, too.
_SAME: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX))
#: So is what is divided by a number.
_BY_NUMBERS: Final = frozenset((ops.DIV_FLOOR, ops.SHR, ops.SHL))
#: A variable is moved on by so many registers at most.
MOST_ADDED: Final = 2


def run(f: Function) -> dict[int, list[str]]:
    """Rewrite such variables of a function. Returns by the index of the outermost loop what has been done, for the report."""
    done: dict[int, list[str]] = {}
    if not any(f.variable[r] and f.types[r] in (I64, I32) for r in range(len(f.types))):
        return done
    heads = [instr for instr in f.code if instr.op is ops.FOR and instr.args[2] < 0 and instr.loop is None]
    places: dict[int, int] = {}  # of the heads, by ``id``, in the code as it is
    ends: list[int] = []
    for head in reversed(heads):
        while True:
            if not places:
                ends = match(f.code)
                places = {id(instr): k for k, instr in enumerate(f.code) if instr.op is ops.FOR}
            position = places[id(head)]
            outermost = _outermost(f.code, ends, position)
            variable = _computed(f, position, ends[position])
            if variable < 0:
                break
            done.setdefault(outermost, []).append(f"{f.names[variable] or 'a variable'} computed from {f.names[head.dst] or 'the index'}")
            places = {}
    return done


def _computed(f: Function, position: int, end: int) -> int:
    """Compute a variable of a loop from its index; which, or -1 where there is none that can be."""
    for variable in _candidates(f, position, end):
        moves = _Moves(f, variable)
        if moves.through(position + 1, end) and moves.total != _NOTHING and _rewrite(f, position, end, variable, moves):
            return variable
    return -1


def _candidates(f: Function, head: int, end: int) -> list[int]:
    """The variables of integers that a loop moves on by itself, or in branches, and none of the loops in it."""
    found: dict[int, None] = {}
    inner: set[int] = set()  # and those that are written otherwise
    sums: set[int] = set()  # what is made by adding something
    depth = 0
    opened: list[bool] = []
    for instr in f.code[head + 1 : end]:
        op = instr.op
        if op is ops.BR or op is ops.BR_IF or op.effect == ops.CALLS:
            return []
        if op.opens and not op.closes:
            opened.append(IS_LOOP[op.code])
            depth += opened[-1]
        elif op is ops.END:
            depth -= opened.pop()
        elif instr.dst >= 0:
            moves = op in _UPDATES or (op is ops.COPY and instr.args[0] in sums)
            if not f.variable[instr.dst]:
                if moves:
                    sums.add(instr.dst)
            elif f.types[instr.dst] in (I64, I32):
                if depth or not moves:
                    inner.add(instr.dst)
                else:
                    found[instr.dst] = None
    return [variable for variable in found if variable not in inner]


def _outermost(code: list[Instr], ends: list[int], position: int) -> int:
    """The index of the outermost loop around a place, or there."""
    return next(code[k].dst for k in range(position + 1) if code[k].op is ops.FOR and ends[k] >= ends[position])


#: How much more a variable is: a number, and registers that are the same in all iterations, in order.
_Amount = tuple[int, tuple[int, ...]]
_NOTHING: Final[_Amount] = (0, ())


class _Moves:
    """By how much a variable has moved on, since an iteration began, at each place where it is read.

    Attributes:
        reads: position of an instruction -> how much it is.
        writes: the positions where it is moved on.
        total: by how much in an iteration.
        inside: what is made in the loop of what is the same in all iterations.
    """

    def __init__(self, f: Function, variable: int) -> None:
        self.f = f
        self.variable = variable
        self.reads: dict[int, _Amount] = {}
        self.writes: set[int] = set()
        self.total = _NOTHING
        self.inside: list[Instr] = []
        self.written: set[int] = set()

    def through(self, start: int, end: int) -> bool:
        """Go through a loop's body; False where the variable is written otherwise, or where it is not the same on all ways."""
        f, variable = self.f, self.variable
        known: dict[int, _Amount] = {}  # what is so much more than the variable was when the iteration began
        opened: list[tuple[_Amount, list[_Amount]] | None] = []  # per bracket, of an ``if``: what it was in front, and at the ends of its arms
        moved = _NOTHING
        self.written = {instr.dst for instr in f.code[start - 1 : end] if instr.dst >= 0}
        for k in range(start, end):
            instr = f.code[k]
            op = instr.op
            if variable in instr.args:
                self.reads[k] = moved
            if op is ops.IF:
                opened.append((moved, []))
            elif op is ops.ELSE or op is ops.ELIF:
                bracket = opened[-1]
                if bracket is not None:
                    bracket[1].append(moved)
                    moved = bracket[0]
                    if op is ops.ELSE:
                        opened[-1] = (bracket[1][0], bracket[1])
            elif op is ops.END:
                bracket = opened.pop()
                if bracket is not None and any(other != moved for other in (bracket[0], *bracket[1])):
                    return False
            elif op.opens and not op.closes:
                opened.append(None)
            elif instr.dst == variable:
                by = self._by(instr, known, moved)
                if by is None:
                    return False
                moved = by
                self.writes.add(k)
                self.reads.pop(k, None)
            elif op in _UPDATES and instr.dst >= 0 and not f.variable[instr.dst]:
                by = self._by(instr, known, moved)
                if by is not None:
                    known[instr.dst] = by
            if (
                (instr.op in _SAME or (instr.op in _BY_NUMBERS and instr.args[1] < 0))
                and not any(bracket is not None for bracket in opened)
                and self._same(instr)
            ):
                self.written.discard(instr.dst)
                self.inside.append(instr)
        self.total = moved
        return True

    def _same(self, instr: Instr) -> bool:
        """Whether what an instruction makes is the same in all iterations."""
        return instr.type is I64 and not self.f.variable[instr.dst] and self.written.isdisjoint(instr.args)

    def _by(self, instr: Instr, known: dict[int, _Amount], moved: _Amount) -> _Amount | None:
        """How much more what an instruction makes is than the variable was when the iteration began; None where that is not known."""
        f = self.f
        if instr.op is ops.COPY:
            return known.get(instr.args[0])
        if instr.op not in _UPDATES or instr.type is not f.types[self.variable]:
            return None
        a, b = instr.args
        if instr.op is ops.ADD and (a < 0 or b == self.variable or b in known):
            a, b = b, a
        before = None if a < 0 else moved if a == self.variable else known.get(a)
        if before is None:
            return None
        number, more = before
        if b < 0:
            by = int(f.const_values[~b])
            return number + (by if instr.op is ops.ADD else -by), more
        if instr.op is not ops.ADD or instr.type is not I64 or b in self.written or len(more) == MOST_ADDED:
            return None
        return number, tuple(sorted((*more, b)))


def _rewrite(f: Function, position: int, end: int, variable: int, moves: _Moves) -> bool:
    """Put what is computed from the index in the place of a variable; False where its steps do not go evenly into those of the index."""
    code = f.code
    head = code[position]
    step = int(f.const_values[~head.args[2]])
    each, rest = divmod(moves.total[0], step)
    if rest or (moves.total[1] and step != 1):
        return False
    type_ = f.types[variable]
    line = head.line
    out = code[:position]
    emit = Code(f, line, out)
    lo, hi = read_once(f, head.args[0], line, out), read_once(f, head.args[1], line, out)
    head.args = [lo, hi, head.args[2]]
    same: dict[int, int] = {}
    clone(f, moves.inside if moves.total[1] else [], same, out)
    factor = f.const(type_, wrap(type_, each))
    for more in moves.total[1]:
        factor = same.get(more, more) if _is_zero(f, factor) else emit.op(ops.ADD, factor, same.get(more, more))
    out.append(head)
    # (The variable stays what it was in front of the loop, in it.)
    made: dict[_Amount, int] = {}
    if moves.reads:
        gone = head.dst if _is_zero(f, lo) else emit.op(ops.SUB, head.dst, lo)
        made[_NOTHING] = _sum(emit, variable, _product(emit, gone, factor, type_), type_)
    for moved in sorted(set(moves.reads.values()) - {_NOTHING}):
        number, several = moved
        made[moved] = made[_NOTHING] if not number else emit.op(ops.ADD, made[_NOTHING], f.const(type_, wrap(type_, number)), type_, type_)
        for more in several:
            made[moved] = emit.op(ops.ADD, made[moved], same.get(more, more))
    for k in range(position + 1, end):
        instr = code[k]
        if k in moves.reads:
            instr = instr.copy()
            instr.args = [made[moves.reads[k]] if a == variable else a for a in instr.args]
        if k not in moves.writes:
            out.append(instr)
    out.append(code[end])
    count = _distance(emit, lo, hi, step)
    added = _product(emit, count, factor, type_)
    out.append(Instr(ops.ADD, type_, variable, [variable, added], 0, line))
    f.code = out + code[end + 1 :]
    return True


def _is_zero(f: Function, operand: int) -> bool:
    return operand < 0 and f.const_values[~operand] == 0


def _sum(emit: Code, variable: int, added: int, type_: Type) -> int:
    return emit.op(ops.ADD, variable, added, type_, type_)


def _product(emit: Code, number: int, factor: int, type_: Type) -> int:
    """An i64 times a factor of the variable's type, in that type."""
    f = emit.f
    if number < 0:
        times = int(f.const_values[~number])
        if factor < 0:
            return f.const(type_, wrap(type_, times * int(f.const_values[~factor])))
        return f.const(type_, 0) if not times else factor if times == 1 else emit.op(ops.MUL, factor, f.const(type_, wrap(type_, times)), type_, type_)
    if type_ is I32:
        number = _converted(emit, number)
    return number if factor < 0 and int(f.const_values[~factor]) == 1 else emit.op(ops.MUL, number, factor, type_, type_)


def _converted(emit: Code, number: int) -> int:
    made = emit.f.register(I32, "")
    emit.out.append(Instr(ops.CONVERT, I32, made, [number], 0, emit.line, I64))
    return made


def _distance(emit: Code, lo: int, hi: int, step: int) -> int:
    """How far a loop's index goes, in whole steps; 0 where the loop does not run. (Nothing overflows where it does not.)"""
    f = emit.f
    if lo < 0 and hi < 0:
        return f.const(I64, len(range(int(f.const_values[~lo]), int(f.const_values[~hi]), step)) * step)
    if step == 1 and _is_zero(f, lo) and is_extent(f, hi):
        return hi
    last = emit.op(ops.MAX if step > 0 else ops.MIN, hi, lo)
    apart = last if _is_zero(f, lo) else emit.op(ops.SUB, last, lo)
    if abs(step) == 1:
        return apart
    up = emit.op(ops.ADD, apart, f.const(I64, step - (1 if step > 0 else -1)))
    return emit.op(ops.SUB, up, emit.op(ops.REM_TRUNC, up, f.const(I64, step)))
