"""Variables that some iterations of a loop set, and none reads: which iteration was the last to do so is a total, and what it has set is computed behind the loop.

::

    for i = lo, hi                         for i = lo, hi
      if x[i] < 0                            if x[i] < 0
        sorted = 0                             some = some | 1; last = max(last, i - lo)
        at = i                      →        end
      end                                  end
    end                                    if some: sorted = 0
                                           if last >= 0: what sets ``at``, for i = lo + last

So checks of whole arrays are written, and searches for the last of something; the loop may have lanes then. Where all that is set is one value, it need not be known by which iteration. (It is the last-value
assignment of privatized variables, under conditions: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.3.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting.unroll import clone, has_loops, own_copies, read_once, ways_out
from loopwright.nests.steps.lanes import free, may_be_in_lanes
from loopwright.targets.target import Target
from loopwright.types import BOOL, I32, I64, SIGNED, VOID, Type

__all__ = ["run"]

#: Longer bodies are not written twice.
LONGEST: Final = 100
#: In which arms of a body a variable is set, and behind how many of its branches.
_Places = tuple[tuple[int, int], ...]
_BRACKETS: Final = frozenset((ops.IF, ops.ELIF, ops.THEN, ops.ELSE, ops.BLOCK, ops.END))
_TESTS: Final = frozenset((ops.IF, ops.THEN, ops.BR_IF))
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))


def run(f: Function, target: Target) -> dict[int, str]:
    """Rewrite such loops of a function where they may have lanes then. Returns per index of an outermost loop what was done, for the report."""
    done: dict[int, str] = {}
    if not target.vector_bits:
        return done
    position = len(f.code)
    partner: list[int] = []
    while position:
        position -= 1
        head = f.code[position]
        if head.op is not ops.FOR or head.loop is not None:
            continue
        before = f.code
        partner = partner or match(before)
        loop = _Loop(f, position, partner[position])
        if loop.find():
            partner = []
            made, index = loop.rewritten()
            f.code = [*before[:position], *made, *before[loop.end + 1 :]]
            if not _may_be_in_lanes(f, index, target):
                f.code = before
            else:
                outermost = next(nest.loops[0].index for nest in nests(f) if any(one.index == index for one in nest.loops))
                done[outermost] = "what some iterations set found behind the loop"
    return done


def _may_be_in_lanes(f: Function, index: int, target: Target) -> bool:
    nest = next((nest for nest in nests(f) if any(loop.index == index for loop in nest.loops)), None)
    if nest is None or nest.obstacles:
        return False
    loop = next(loop for loop in nest.loops if loop.index == index)
    return may_be_in_lanes(nest, loop, scalars(nest), target) and not too_many(nest, True) and free(loop, dependences(nest, True))


class _Loop:
    """One loop.

    Attributes:
        flags: by variable that is always set to one value: that value.
        groups: variables that are set in the same places, with these; ``sets`` has the places by variable.
    """

    def __init__(self, f: Function, head: int, end: int) -> None:
        self.f = f
        self.head = head
        self.end = end
        self.opener = f.code[head]
        self.body = f.code[head + 1 : end]
        self.flags: dict[int, int] = {}
        self.groups: dict[_Places, list[int]] = {}
        self.sets: dict[int, list[int]] = {}

    def find(self) -> bool:
        """Whether there are such variables."""
        f, body = self.f, self.body
        step = self.opener.args[2]
        if step >= 0 or f.const_values[~step] != 1 or len(body) > LONGEST or has_loops(body) or any(out > 0 for out in ways_out(body)):
            return False
        arms: list[int] = []
        branches = 0
        where: dict[int, list[tuple[int, int]]] = {}  # by variable, the arms in which it is set, and behind how many branches
        plain: set[int] = set()
        read: set[int] = set()
        for k, instr in enumerate(body):
            if instr.op.effect == ops.CALLS or (instr.op.effect == ops.CONTROL and instr.op not in _BRACKETS and instr.op not in _BRANCHES):
                return False
            read.update(instr.args)
            branches += instr.op in _BRANCHES
            if instr.op.closes:
                arms.pop()
            if instr.op.opens:
                arms.append(k)
            if instr.dst >= 0 and f.variable[instr.dst]:
                self.sets.setdefault(instr.dst, []).append(k)
                where.setdefault(instr.dst, []).append((arms[-1] if arms else 0, branches))
                if not arms:
                    plain.add(instr.dst)
        for variable, places in where.items():
            if variable in plain or variable in read:
                continue
            values = {tuple(body[k].args) for k in self.sets[variable]}
            copied = values.pop()
            if not values and all(body[k].op is ops.COPY for k in self.sets[variable]) and self._outside(copied[0]):
                self.flags[variable] = copied[0]
            else:
                self.groups.setdefault(tuple(places), []).append(variable)
        return bool(self.flags or self.groups) and all(self._again(group) is not None for group in self.groups.values())

    def _outside(self, value: int) -> bool:
        """Whether a value is the same for all iterations."""
        return value != self.opener.dst and not any(instr.dst == value for instr in self.body)

    def _again(self, group: list[int]) -> list[Instr] | None:
        """What sets the variables of a group, as it is to be run once more; None where what it reads may be another thing then."""
        f, body = self.f, self.body
        made: dict[int, list[Instr]] = {}
        for instr in body:
            if instr.dst >= 0:
                made.setdefault(instr.dst, []).append(instr)
        stored = {instr.imm if instr.mem is None else instr.mem.array for instr in body if instr.op.effect == ops.WRITES}
        needed: set[int] = set()
        kept: set[int] = set()
        open_ = [a for instr in body if instr.op in _TESTS or instr.dst in group for a in instr.args]
        while open_:
            a = open_.pop()
            if a in needed:
                continue
            needed.add(a)
            for instr in made.get(a, ()):
                if f.variable[a] or not (instr.op.pure or (instr.op is ops.LOAD and all(f.never_meet(instr.imm, one) for one in stored))):
                    return None
                kept.add(id(instr))
                open_ += instr.args
        return [instr for instr in body if instr.op in _BRACKETS or instr.op in _BRANCHES or id(instr) in kept or instr.dst in group]

    def rewritten(self) -> tuple[list[Instr], int]:
        """The loop with totals, and what is set behind it; and the index of the loop."""
        f, line = self.f, self.opener.line
        out: list[Instr] = []
        lo, hi = read_once(f, self.opener.args[0], line, out), read_once(f, self.opener.args[1], line, out)
        flag = self._flag()
        totals: dict[int, tuple[ops.Op, Type, int, int]] = {}  # by position of what sets: how the total is updated
        some = {variable: f.register(flag, "", True) for variable in self.flags}
        lasts = {places: f.register(I32, "last", True) for places in self.groups}
        for variable, total in some.items():
            out.append(Instr(ops.COPY, flag, total, [f.const(flag, 0)], 0, line))
            totals.update(dict.fromkeys(self.sets[variable], (ops.OR, flag, total, f.const(flag, 1))))
        index = f.register(I64, f.names[self.opener.dst])
        counted, narrow = f.register(I64), f.register(I32)
        dropped: set[int] = set()
        for places, group in self.groups.items():
            out.append(Instr(ops.COPY, I32, lasts[places], [f.const(I32, -1)], 0, line))
            totals.update(dict.fromkeys(self.sets[group[0]], (ops.MAX, I32, lasts[places], narrow)))
            dropped.update(k for variable in group[1:] for k in self.sets[variable])
        plain: list[Instr] = []
        if self.groups:
            apart, fits = f.register(I64), f.register(BOOL)
            out.append(Instr(ops.SUB, I64, apart, [hi, lo], 0, line))
            out.append(Instr(ops.LT, I64, fits, [apart, f.const(I64, 1 << 31)], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [fits], 0, line))
            plain = [Instr(ops.ELSE, VOID, NONE, [], 0, line), *self._as_written(lo, hi), Instr(ops.END, VOID, NONE, [], 0, line)]
        out.append(Instr(ops.FOR, self.opener.type, index, [lo, hi, self.opener.args[2]], 0, line))
        if self.groups:
            out.append(Instr(ops.SUB, I64, counted, [index, lo], 0, line))
            out.append(Instr(ops.CONVERT, I32, narrow, [counted], 0, line, I64))
        body: list[Instr] = []
        for k, instr in enumerate(self.body):
            if k in dropped:
                continue
            if k in totals:
                op, type_, total, by = totals[k]
                instr = Instr(op, type_, total, [total, by], 0, instr.line)
            body.append(instr)
        clone(f, body, {self.opener.dst: index}, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        self._behind(lo, flag, some, lasts, out)
        return [*out, *plain], index

    def _flag(self) -> Type:
        """The type of what says whether some iteration has set a variable: as wide as what is compared."""
        compared = [instr.type.bits for instr in self.body if instr.op in ops.COMPARING]
        return SIGNED[max(compared, default=32)]

    def _as_written(self, lo: int, hi: int) -> list[Instr]:
        f, line = self.f, self.opener.line
        index = f.register(I64, f.names[self.opener.dst])
        out = [Instr(ops.FOR, self.opener.type, index, [lo, hi, self.opener.args[2]], 0, line)]
        clone(f, self.body, {**own_copies(f, self.body), self.opener.dst: index}, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        return out

    def _behind(self, lo: int, flag: Type, some: dict[int, int], lasts: dict[_Places, int], out: list[Instr]) -> None:
        """What is set, where it is."""
        f, line = self.f, self.opener.line
        for variable, value in self.flags.items():
            holds = f.register(BOOL)
            out.append(Instr(ops.NE, flag, holds, [some[variable], f.const(flag, 0)], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
            out.append(Instr(ops.COPY, f.types[variable], variable, [value], 0, line))
            out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        for places, group in self.groups.items():
            again = self._again(group)
            assert again is not None
            holds, wide, index = f.register(BOOL), f.register(I64), f.register(I64, f.names[self.opener.dst])
            out.append(Instr(ops.GE, I32, holds, [lasts[places], f.const(I32, 0)], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
            out.append(Instr(ops.CONVERT, I64, wide, [lasts[places]], 0, line, I32))
            out.append(Instr(ops.ADD, I64, index, [lo, wide], 0, line))
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, line))
            clone(f, again, {**own_copies(f, self.body), self.opener.dst: index}, out)
            out += [Instr(ops.END, VOID, NONE, [], 0, line) for _ in range(2)]
