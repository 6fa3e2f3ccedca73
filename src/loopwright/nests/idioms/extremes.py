"""Loops that look for the greatest element, or the least, and where it is.

::

    for i = lo, hi, 1                  for each block of the range
      %v = …                             %most = the greatest %v of the block, over lanes
      if gt %v, %best              →     if gt %most, %best: it is the best, in this block
        %best = copy %v                look in the best block, over lanes, for the first %v that equals the best
        %at = copy %i                  do what the arm does for that index
      end
    end

What the loop carries from one iteration to the next is a total that may be made in any order, but for the index; and the index is that of the first of the greatest (of the last, where the
comparison is ``ge`` or ``le``), which is found afterwards. Only the block that holds it is computed twice. A NaN is never chosen: no comparison with it holds. One that the
variable starts from stays there for the same reason. Other conditions, in front of the comparison or joined with it by `and`, say which elements count.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.equality import same_value
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.operations import has
from loopwright.nests.idioms.best_held import held, joined, nested
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.steps.lanes import in_lanes
from loopwright.targets.target import Target
from loopwright.types import BOOL, I16, I32, I64, SIGNED, VOID, Type, limits, vector_of

__all__ = ["searches", "split_extremes", "splits"]

#: Bytes of the elements of a block: as many as two dozen vectors of 512 bits, so that joining lanes and looking again take a small part of the time.
BLOCK: Final = 2048
#: Ranges known to be shorter stay as they are; others of so few iterations are found to be at run time.
SHORT: Final = 24

#: By comparison ``v ? best``: what makes the total, and whether the first of equals is kept.
_KINDS: Final[dict[ops.Op, tuple[ops.Op, bool]]] = {
    ops.GT: (ops.MAX, True),
    ops.GE: (ops.MAX, False),
    ops.LT: (ops.MIN, True),
    ops.LE: (ops.MIN, False),
}
_EXCHANGED: Final[dict[ops.Op, ops.Op]] = {ops.GT: ops.LT, ops.LT: ops.GT, ops.GE: ops.LE, ops.LE: ops.GE}
_OFFSETS: Final[dict[int, Type]] = {8: I16, 16: I16, 32: I32, 64: I64}

#: What is computed, and the conditions that have to hold for more.
_Level = tuple[list[Instr], list[int]]


class _Search:
    """A loop of this kind.

    Attributes:
        head, end: positions of the loop's brackets.
        value: the register that is compared.
        best: the variable that it is compared with.
        compare: the comparison, with ``value`` first.
        levels: what makes ``value``, and what the arm needs of it; each but the last with the conditions under which the next is run.
        arm: the instructions inside of the innermost ``if``.
    """

    __slots__ = ("arm", "best", "compare", "end", "head", "levels", "value")

    def __init__(self, head: int, end: int, value: int, best: int, compare: ops.Op, levels: list[_Level], arm: list[Instr]) -> None:
        self.head = head
        self.end = end
        self.value = value
        self.best = best
        self.compare = compare
        self.levels = levels
        self.arm = arm

    @property
    def computed(self) -> list[Instr]:
        """What all levels compute."""
        return [instr for computed, _ in self.levels for instr in computed]


def split_extremes(f: Function, target: Target) -> None:
    """Rewrite every loop of this kind whose parts the target has lanes for.

    Args:
        f: the function, at a stage before ``vectorize``.
        target: what it is compiled for.
    """
    if not target.vector_bits:
        return
    position = 0
    while position < len(f.code):
        instr = f.code[position]
        if instr.loop is not None and instr.loop.lanes:
            # (What is in it is done for each lane.)
            position = match(f.code)[position]
        elif instr.op is ops.FOR and instr.loop is None:
            position = _split(f, target, position) or position
        position += 1


def _split(f: Function, target: Target, position: int) -> int:
    """Rewrite the loop at a position, if it is of this kind; where what it has become ends, or 0."""
    before = f.code
    search = _search(f, position)
    if search is None:
        kept = held(f, position)
        if kept is None:
            return 0
        made, front, behind = kept
        # (Where there are no lanes for it, the best stays in a variable: what is compared next does not wait for where it is.)
        before = f.code = [*before[:position], *made, *before[behind:]]
        position += front
        search = _search(f, position)
    if search is not None:
        made = _Split(f, search).made()
        if _possible(f, target, search, made):
            return position + len(made) - 1
    f.code = before
    return 0


def splits(f: Function, target: Target, head: int) -> bool:
    """Whether the loop at a position is one that ``split_extremes`` rewrites. (The code stays as it is.)"""
    before, names = f.code, len(f.types)
    done = _split(f, target, head) != 0
    f.code = before
    del f.types[names:], f.names[names:], f.variable[names:]
    return done


def searches(f: Function, head: int) -> bool:
    """Whether the loop at a position looks for an extreme and where it is, and does nothing else: its branch is to stay."""
    return _search(f, head) is not None or held(f, head) is not None


# --- which loops ---------------------------------------------------------------------------------------------


def _search(f: Function, head: int) -> _Search | None:
    """The loop at a position, if it does nothing else."""
    code = f.code
    opener = code[head]
    if opener.op is not ops.FOR:
        return None
    lo, hi, step = opener.args
    if step >= 0 or f.const_values[~step] != 1 or (lo < 0 and hi < 0 and f.const_values[~hi] - f.const_values[~lo] < SHORT):
        return None
    found, arm, behind = nested(code, head)
    if not found:
        return None
    levels: list[_Level] = [(level[:-1], [level[-1].args[0]]) for level in found]
    computed, conditions = levels.pop()
    parts, joins = joined(f, computed, conditions[0])
    for part in parts:
        compared = next((instr for instr in computed if instr.dst == part), None)
        if compared is None or compared.op not in _KINDS:
            continue
        compare = compared.op
        value, best = compared.args
        if best < 0 or not f.variable[best]:
            value, best = best, value
            compare = _EXCHANGED[compare]
        if best < 0 or value < 0 or not f.variable[best] or f.variable[value]:
            continue
        rest = [instr for instr in computed if instr is not compared and instr.dst not in joins]
        search = _Search(head, behind - 1, value, best, compare, [*levels, (rest, [one for one in parts if one != part])], arm)
        if _closed(f, search, {part, *joins}):
            return search
    return None


def _closed(f: Function, search: _Search, conditions: set[int]) -> bool:
    """Whether the loop carries its best and what goes with it, and nothing else."""
    made = {instr.dst: instr for instr in (*search.computed, *search.arm)}
    written = {instr.dst for instr in search.arm if f.variable[instr.dst]}
    kept = False
    if any(a in written for _, asked in search.levels for a in asked) or any(f.variable[instr.dst] for instr in search.computed):
        return False
    for instr in (*search.computed, *search.arm):
        if any(a in conditions or a in written for a in instr.args):
            return False
        if instr.dst == search.best:
            # What is kept as the best is what was compared, be it computed once more.
            if kept or not same_value(made, instr.dst, search.value):
                return False
            kept = True
    return kept and len(written) == sum(f.variable[instr.dst] for instr in search.arm)


def _possible(f: Function, target: Target, search: _Search, made: list[Instr]) -> bool:
    """Put what the loop becomes in its place; take it back if there are no lanes for it."""
    type_ = f.types[search.best]
    lanes = max(1, target.vector_bits // type_.bits)
    op = _KINDS[search.compare][0]
    assert op.reduction is not None
    if type_.bits not in _OFFSETS or not has(target, op, vector_of(type_, lanes)):
        return False
    before = f.code
    f.code = [*before[: search.head], *made, *before[search.end + 1 :]]
    marked = [instr for instr in made if instr.loop is not None]
    for nest in nests(f):
        for loop in nest.loops:
            if f.code[loop.head] in marked and not (in_lanes(nest, loop, target) or in_lanes(nest, loop, target, True)):
                f.code = before
                return False
    return True


# --- what they become ----------------------------------------------------------------------------------------


class _Split:
    """The code that does what a loop does."""

    def __init__(self, f: Function, search: _Search) -> None:
        self.f = f
        self.search = search
        self.out: list[Instr] = []
        self.opener = f.code[search.head]
        self.line = self.opener.line
        self.type = f.types[search.best]
        self.total, self.first = _KINDS[search.compare]
        self.size = BLOCK * 8 // self.type.bits

    def emit(self, op: ops.Op, type_: Type, args: list[int], dst: int = NONE, source: Type = VOID) -> int:
        """An operation; its result's register, a fresh one unless it is given."""
        made = self.f.register(BOOL if op in ops.COMPARING else type_) if dst == NONE else dst
        self.out.append(Instr(op, type_, made, args, 0, self.line, source))
        return made

    def bracket(self, op: ops.Op, args: list[int]) -> None:
        self.out.append(Instr(op, VOID, NONE, args, 0, self.line))

    def variable(self, type_: Type, start: int, name: str = "") -> int:
        made = self.f.register(type_, name, True)
        self.emit(ops.COPY, type_, [start], made)
        return made

    def made(self) -> list[Instr]:
        """The whole of it."""
        f, search, out = self.f, self.search, self.out
        code = f.code
        lo = read_once(f, self.opener.args[0], self.line, out)
        hi = read_once(f, self.opener.args[1], self.line, out)
        long = self.emit(ops.GE, I64, [self.emit(ops.SUB, I64, [hi, lo]), f.const(I64, SHORT)])
        self.bracket(ops.IF, [long])
        place = self.variable(I64, hi)
        best = self.variable(self.type, search.best, f.names[search.best])
        self.blocks(lo, hi, best, place)
        self.bracket(ops.IF, [self.emit(ops.LT, I64, [place, hi])])
        at = self.look(best, place, self.end_of(place, hi))
        rename = {self.opener.dst: at}
        self.conditions(rename)
        clone(f, search.arm, rename, out)
        self.close()
        self.bracket(ops.ELSE, [])
        rename = {self.opener.dst: f.register(I64, f.names[self.opener.dst])}
        out.append(Instr(ops.FOR, VOID, rename[self.opener.dst], [lo, hi, f.const(I64, 1)], 0, self.line))
        self.plain(code[search.head + 1 : search.end + 1], rename)
        self.bracket(ops.END, [])
        return out

    def plain(self, body: list[Instr], rename: dict[int, int]) -> None:
        """The body as written, with the bracket behind it. Between floats choices take the place of the branch: a comparison and a blend wait for less than a wrong guess."""
        f, search = self.f, self.search
        loaded = [(instr.imm, instr.args) for instr in search.computed if instr.op is ops.LOAD]
        masked = any(asked for _, asked in search.levels)
        if masked or any(instr.op is ops.LOAD and (instr.imm, instr.args) not in loaded for instr in search.arm):
            clone(f, body, rename, self.out)
            return
        branch = next(k for k, instr in enumerate(body) if instr.op is ops.IF)
        clone(f, body[:branch], rename, self.out)
        condition = rename[body[branch].args[0]]
        chosen: list[tuple[int, int]] = []
        for instr in search.arm:
            variable = instr.dst
            if not f.variable[variable]:
                clone(f, [instr], rename, self.out)
                continue
            value = f.register(f.types[variable])
            clone(f, [instr], {**rename, variable: value}, self.out)
            chosen.append((variable, value))
        # (What is compared is chosen last: so each choice can have the comparison in it.)
        for variable, value in sorted(chosen, key=lambda made: made[0] == search.best):
            self.out.append(Instr(ops.SELECT, f.types[variable], variable, [condition, value, variable], 0, self.line))
        self.bracket(ops.END, [])

    def end_of(self, start: int, hi: int) -> int:
        """Where the block that begins at ``start`` ends."""
        rest = self.emit(ops.SUB, I64, [hi, start])
        return self.emit(ops.ADD, I64, [start, self.emit(ops.MIN, I64, [rest, self.f.const(I64, self.size)])])

    def blocks(self, lo: int, hi: int, best: int, place: int) -> None:
        """Find the best, and the block that holds it."""
        f, search = self.f, self.search
        start = f.register(I64, "block")
        self.out.append(Instr(ops.FOR, VOID, start, [lo, hi, f.const(I64, self.size)], 0, self.line))
        stop = self.end_of(start, hi)
        most = self.variable(self.type, self.least())
        accumulators = [(most, self.total, most)]
        flag = SIGNED[self.type.bits]
        some = NONE
        before = NONE
        if not self.first:
            # Equal to the best may be what a block begins its total with.
            some = self.variable(flag, f.const(flag, 0))
            before = self.emit(ops.COPY, self.type, [best])
            accumulators.append((some, ops.OR, f.const(flag, 0)))
        value = self.over(start, stop, accumulators)[1]
        self.emit(self.total, self.type, [most, value], most)
        if not self.first:
            holds = self.emit(search.compare, self.type, [value, before])
            self.emit(ops.OR, flag, [some, self.emit(ops.CONVERT, flag, [holds], NONE, BOOL)], some)
        self.close()
        better = self.emit(search.compare, self.type, [most, best]) if self.first else self.emit(ops.NE, flag, [some, f.const(flag, 0)])
        self.bracket(ops.IF, [better])
        self.emit(ops.COPY, self.type, [most], best)
        self.emit(ops.COPY, I64, [start], place)
        self.bracket(ops.END, [])
        self.bracket(ops.END, [])

    def look(self, best: int, place: int, stop: int) -> int:
        """The index, in the block at ``place``, of the first that equals the best, or of the last."""
        f = self.f
        offset = _OFFSETS[self.type.bits]
        start = self.emit(ops.COPY, I64, [place])
        wanted = self.emit(ops.COPY, self.type, [best])
        none = f.const(offset, self.size if self.first else -1)
        op = ops.MIN if self.first else ops.MAX
        at = self.variable(offset, none)
        index, value = self.over(start, stop, [(at, op, at)])
        away = self.emit(ops.SUB, I64, [index, start])
        if offset is not I64:
            away = self.emit(ops.CONVERT, offset, [away], NONE, I64)
        equal = self.emit(ops.EQ, self.type, [value, wanted])
        self.emit(op, offset, [at, self.emit(ops.SELECT, offset, [equal, away, none])], at)
        self.close()
        found = at if offset is I64 else self.emit(ops.CONVERT, I64, [at], NONE, offset)
        found = self.emit(ops.ADD, I64, [start, found])
        # It is inside of the block whatever rounding makes of the values the second time: what is loaded there is in the array.
        bound = self.emit(ops.SUB, I64, [stop, f.const(I64, 1)]) if self.first else start
        return self.emit(op, I64, [found, bound])

    def over(self, start: int, stop: int, accumulators: list[tuple[int, ops.Op, int]]) -> tuple[int, int]:
        """Begin a loop over lanes that computes the values: its index and the value, inside of the brackets of all conditions."""
        f, search = self.f, self.search
        index = f.register(I64, f.names[self.opener.dst])
        described = Loop(NONE, 0, accumulators, True)
        self.out.append(Instr(ops.FOR, VOID, index, [start, stop, f.const(I64, 1)], 0, self.line, loop=described))
        rename = {self.opener.dst: index}
        self.conditions(rename)
        return index, rename.get(search.value, search.value)

    def conditions(self, rename: dict[int, int]) -> None:
        """What is computed, with a bracket for each condition."""
        for computed, asked in self.search.levels:
            clone(self.f, computed, rename, self.out)
            if asked:
                holds = [rename.get(one, one) for one in asked]
                all_hold = holds[0]
                for one in holds[1:]:
                    all_hold = self.emit(ops.AND, BOOL, [all_hold, one])
                self.bracket(ops.IF, [all_hold])

    def close(self, more: int = 1) -> None:
        """End the brackets of all conditions, and so many around them."""
        for _ in range(more + sum(bool(asked) for _, asked in self.search.levels)):
            self.bracket(ops.END, [])

    def least(self) -> int:
        """What no value is worse than."""
        type_, greatest = self.type, self.total is ops.MAX
        if type_.is_float:
            return self.f.const(type_, -math.inf if greatest else math.inf)
        low, high = limits(type_)
        return self.f.const(type_, low if greatest else high)
