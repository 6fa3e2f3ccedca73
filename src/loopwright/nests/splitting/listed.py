"""Innermost loops that do what has to stay in order under a condition alone: for which iterations it holds is found out first, in lanes, and then they are done one by one.

::

    for j = 0, n                              for first = 0, n, 256
      r = (x - a[j]) ** 2 + …                   found = 0
      if r < 0.3                                for j = first, min(first + 256, n)
        g = b[j] / (r * sqrt(r))       →          r = (x - a[j]) ** 2 + …
        c[0] = c[0] - g * x                       if r < 0.3: listed[found] = j - first; found = found + 1
        c[j] = c[j] + g * x                     for t = 0, found
                                                  j = first + listed[t]; r = …; g = …; c[0] = …; c[j] = …

So it is with particles and what is near them, of which most are not. What the condition is made of is computed once more where it holds; there no branch is left that could be guessed wrong. The first loop stores at a
counter (``counting.py``), the second does the same in the same order as before. Where the condition has held for most iterations of a block, those of the next run as written.

What is under the condition may need no more of what is in front of it than a few numbers: then these are listed, in the place of the iterations, and nothing is computed once more, nor anything run as written.

Measured on Zen 4 (pairs of 400 points, and 20,000 numbers counted in a table): 0.1 to 0.5 of the time where it holds for less than a third, 1.0 to 1.1 where it holds for all.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import MOST_LOCAL, NONE, Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.branches.conversion import ARMS, LONG
from loopwright.nests.idioms.counting import takes_lanes
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, own_array, read_once
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.lanes import free, may_be_in_lanes
from loopwright.targets.target import Target
from loopwright.types import BOOL, I32, I64, PTR, VOID

__all__ = ["run"]

#: Iterations that are listed at a time.
LISTED: Final = 256
#: So many numbers are listed in the place of the iterations.
MOST_KEPT: Final = 3
#: So few iterations run as written.
FEWEST: Final = 16
#: Where it holds for more than so many of four, the next ones run as written.
MOST_OF_FOUR: Final = 3
#: What the condition is made of is worth lanes from so many operations on, of which one that takes long counts as many.
MUCH: Final = 8


def run(f: Function, found: list[Nest], target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite such loops of a function.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or f.options.check:
        return done
    for nest in reversed(found):
        if nest.obstacles or not any(instr.op is ops.IF for instr in f.code[nest.start : nest.end]):
            continue
        for loop in nest.loops:
            listed = _Listed(nest, loop)
            if listed.possible() and not _in_lanes(nest, loop, target):
                index = listed.rewrite(target, written)
                if index != NONE:
                    done[index] = f"iterations of {nest.name(loop)} that its condition holds for listed first, {LISTED} at a time"
                break
    return done


def _in_lanes(nest: Nest, loop: NestLoop, target: Target) -> bool:
    """Whether the loop could be over lanes as it is."""
    return not too_many(nest, True) and free(loop, dependences(nest, True)) and may_be_in_lanes(nest, loop, scalars(nest), target)


class _Listed:
    """A loop that may be rewritten.

    Attributes:
        conditions: the positions of the branches that are around what stays in order, the outermost first.
        arm: where that begins and ends.
        own: the variables that each iteration writes anew, and nothing else mentions.
        kept: what the arm needs of what is in front of it, and the index if it needs that.
    """

    def __init__(self, nest: Nest, loop: NestLoop) -> None:
        self.nest = nest
        self.loop = loop
        self.f = nest.f
        self.conditions: list[int] = []
        self.arm = (0, 0)
        self.own: list[int] = []
        self.kept: list[int] = []

    def possible(self) -> bool:
        """Whether a loop is one of this kind, as far as its code tells: what the condition is made of stores nothing, and reads nothing of what the rest changes."""
        f, loop, nest = self.f, self.loop, self.nest
        if loop.step != 1 or any(other.parent is loop for other in nest.loops) or not self._find():
            return False
        start, end = self.arm
        code = f.code
        front = self.front()
        arm = code[start:end]
        stored = {instr.imm for instr in arm if instr.op is ops.STORE}
        if not stored or any(instr.op.effect in (ops.CONTROL, ops.CALLS) and instr.op in (ops.BR, ops.BR_IF, ops.RET, ops.FAIL) for instr in arm):
            return False
        self.own = own_variables(nest, loop)
        changed = {instr.dst for instr in code[loop.head : loop.end] if instr.dst >= 0 and f.variable[instr.dst]}.difference(self.own)
        loaded = False
        worth = 0
        for instr in front:
            if instr.dst in changed or any(a in changed for a in instr.args):
                return False
            if instr.op is ops.LOAD:
                if instr.imm in stored:
                    return False
                loaded = True
            elif instr.op.pure and instr.op is not ops.COPY and instr.type is not I64:
                worth += MUCH if instr.op in LONG else 1
        made = {instr.dst for instr in front if instr.dst >= 0} | {self.index()}
        self.kept = sorted({a for instr in arm for a in instr.args if a in made})
        return loaded and worth >= MUCH and f.local_bytes() + LISTED * MOST_KEPT * I64.size <= MOST_LOCAL

    def front(self) -> list[Instr]:
        """What is in front of the arm, without its branches."""
        return [self.f.code[k] for k in range(self.loop.head + 1, self.arm[0]) if k not in self.conditions]

    def _find(self) -> bool:
        """Find the branches that end where the loop does, one in the other."""
        code = self.f.code
        partner = match(code)
        k, stop = self.loop.head + 1, self.loop.end
        while k < stop:
            instr = code[k]
            if instr.op is ops.IF:
                end = partner[k]
                if code[end].op is ops.END and end == stop - 1:
                    self.conditions.append(k)
                    self.arm = (k + 1, end)
                    stop = end
                else:
                    while code[end].op is not ops.END:
                        end = partner[end]
                    if any(_does_more(inner) for inner in code[k:end]):
                        break
                    k = end
            elif _does_more(instr):
                break
            k += 1
        return bool(self.conditions)

    def rewrite(self, target: Target, written: set[int]) -> int:
        """Put the two loops in the place of the one, if the first can have lanes. Returns the index of the outermost loop of what was made; NONE where it stays."""
        index = self._with_numbers(target, written)
        return index if index != NONE else self._with_iterations(target, written)

    def _with_numbers(self, target: Target, written: set[int]) -> int:
        """List what the arm needs."""
        f, loop, nest = self.f, self.loop, self.nest
        types = [f.types[r] for r in self.kept]
        if not 0 < len(self.kept) <= MOST_KEPT or any(type_ is BOOL or type_ is PTR for type_ in types):
            return NONE
        known = len(f.arrays)
        ahead: list[Instr] = []
        arrays = [
            own_array(f, f.names[r] or "kept", I32 if r == self.index() else type_, LISTED, loop.line, ahead) for r, type_ in zip(self.kept, types, strict=True)
        ]
        out: list[Instr] = []
        code, first, stop, count = self._blocks(out)
        start = len(out)
        self._list(arrays, self.kept, first, stop, count, out)
        if not self._fits(target, ahead, out, start, 1):
            del f.arrays[known:]
            return NONE
        number = code.begin(f.const(I64, 0), count, 1)
        rename: dict[int, int] = {}
        for array, r in zip(arrays, self.kept, strict=True):
            element = f.arrays[array].element
            taken = f.register(element, f.names[r])
            out.append(Instr(ops.LOAD, element, taken, [number], array, loop.line))
            if r == self.index():
                wide = f.register(I64, "")
                out.append(Instr(ops.CONVERT, I64, wide, [taken], 0, loop.line, I32))
                taken = code.op(ops.ADD, first, wide)
            rename[r] = taken
        for variable in self.own:
            own = f.register(f.types[variable], f.names[variable], True)
            if variable in rename:
                out.append(Instr(ops.COPY, f.types[variable], own, [rename[variable]], 0, loop.line))
            rename[variable] = own
        clone(f, f.code[self.arm[0] : self.arm[1]], rename, out)
        code.end()
        code.end()
        replaced(nest, loop, out, written, ahead)
        return first if loop is nest.loops[0] else nest.loops[0].index

    def index(self) -> int:
        """The loop's index."""
        return self.f.code[self.loop.head].dst

    def _blocks(self, out: list[Instr]) -> tuple[Code, int, int, int]:
        """Begin a loop over blocks of iterations. Returns what emits into it, where the block at hand begins and ends, and how many of it have been found, none so far."""
        f, loop = self.f, self.loop
        lo, hi = [read_once(f, bound, loop.line, out) for bound in f.code[loop.head].args[:2]]
        code = Code(f, loop.line, out)
        first = code.begin(lo, hi, LISTED)
        stop = code.op(ops.MIN, code.op(ops.ADD, first, f.const(I64, LISTED)), hi)
        count = f.register(I64, "found", True)
        out.append(Instr(ops.COPY, I64, count, [f.const(I64, 0)], 0, loop.line))
        return code, first, stop, count

    def _fits(self, target: Target, ahead: list[Instr], out: list[Instr], start: int, open_: int) -> bool:
        """Whether the loop that ends the code that is to be put in the place of the one, in so many brackets that are open, can have lanes."""
        f, loop, nest = self.f, self.loop, self.nest
        original = f.code
        f.code = [*original[: nest.start], *ahead, *original[nest.start : loop.head], *out, *[original[loop.end]] * open_, *original[loop.end + 1 :]]
        at = loop.head + len(ahead)
        fits = takes_lanes(f, target, at + start, at + len(out) - 1)
        f.code = original
        return fits

    def _with_iterations(self, target: Target, written: set[int]) -> int:
        """List the iterations."""
        f, loop, nest = self.f, self.loop, self.nest
        ahead: list[Instr] = []
        array = own_array(f, "listed", I32, LISTED, loop.line, ahead)
        most = f.register(BOOL, "most", True)
        ahead.append(Instr(ops.COPY, BOOL, most, [f.const(BOOL, False)], 0, loop.line))
        out: list[Instr] = []
        code, first, stop, count = self._blocks(out)
        size = code.op(ops.SUB, stop, first)
        short = code.op(ops.LT, size, f.const(I64, FEWEST), BOOL)
        out.append(Instr(ops.IF, VOID, NONE, [code.op(ops.OR, most, short, BOOL, BOOL)], 0, loop.line))
        self._as_written(first, stop, count, out)
        out.append(Instr(ops.ELSE, VOID, NONE, [], 0, loop.line))
        start = len(out)
        self._list([array], [self.index()], first, stop, count, out)
        if not self._fits(target, ahead, out, start, 2):
            del f.arrays[array:]
            return NONE
        self._do(array, first, count, out)
        code.end()
        held = code.op(ops.MUL, count, f.const(I64, 4))
        enough = code.op(ops.GT, held, code.op(ops.MUL, size, f.const(I64, MOST_OF_FOUR)), BOOL)
        # (Of few it says little.)
        out.append(Instr(ops.COPY, BOOL, most, [code.select(short, most, enough, BOOL)], 0, loop.line))
        code.end()
        replaced(nest, loop, out, written, ahead)
        return first if loop is nest.loops[0] else nest.loops[0].index

    def _as_written(self, first: int, stop: int, count: int, out: list[Instr]) -> None:
        """The loop as it is, which counts how often the conditions hold."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        index = code.begin(first, stop, 1, f.names[self.index()])
        counting = Instr(ops.ADD, I64, count, [count, f.const(I64, 1)], 0, loop.line)
        begin = self.arm[0]
        clone(f, [*f.code[loop.head + 1 : begin], counting, *f.code[begin : loop.end]], self._renamed(index), out)
        code.end()

    def _list(self, arrays: list[int], kept: list[int], first: int, stop: int, count: int, out: list[Instr]) -> None:
        """The loop that finds out for which iterations the conditions hold, and lists some numbers of these."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        index = code.begin(first, stop, 1, f.names[self.index()])
        rename = self._renamed(index)
        clone(f, f.code[loop.head + 1 : self.arm[0]], rename, out)
        for array, r in zip(arrays, kept, strict=True):
            value = rename.get(r, r)
            if r == self.index():
                value = f.register(I32, "")
                out.append(Instr(ops.CONVERT, I32, value, [code.op(ops.SUB, index, first)], 0, loop.line, I64))
            out.append(Instr(ops.STORE, f.arrays[array].element, NONE, [value, count], array, loop.line))
        out.append(Instr(ops.ADD, I64, count, [count, f.const(I64, 1)], 0, loop.line))
        for _ in range(len(self.conditions) + 1):
            code.end()

    def _do(self, array: int, first: int, count: int, out: list[Instr]) -> None:
        """The loop that does these iterations."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        number = code.begin(f.const(I64, 0), count, 1)
        place, wide = f.register(I32, ""), f.register(I64, "")
        out.append(Instr(ops.LOAD, I32, place, [number], array, loop.line))
        out.append(Instr(ops.CONVERT, I64, wide, [place], 0, loop.line, I32))
        index = code.op(ops.ADD, first, wide)
        clone(f, [*self.front(), *f.code[self.arm[0] : self.arm[1]]], self._renamed(index), out)
        code.end()

    def _renamed(self, index: int) -> dict[int, int]:
        """What the index is in a copy of the loop's body, and variables of the copy's own."""
        f = self.f
        return {self.index(): index, **{variable: f.register(f.types[variable], f.names[variable], True) for variable in self.own}}


def _does_more(instr: Instr) -> bool:
    """Whether an instruction is more than arithmetic, loads and branches between such."""
    op = instr.op
    if op.effect == ops.CONTROL:
        return op not in ARMS
    return not op.pure and op is not ops.LOAD
