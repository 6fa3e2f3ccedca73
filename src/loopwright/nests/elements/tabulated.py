"""Quotients and roots that depend on the index of an inner loop alone, computed once for all iterations of the loop around.

::

    for y = 0, h                                for x = 0, w: table[x] = x * s // d
      for x = 0, w                              for y = 0, h
        at = x * s // d                 →         for x = 0, w
        c[y, x] = a[b[y], at >> 8]                  at = table[x]
                                                    c[y, x] = a[b[y], at >> 8]

Pictures are made larger and smaller so: where a column comes from is the same in all rows. (Loop-invariant code motion with scalar expansion: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001,
section 5.3.) More columns than a table has, which is asked in front, are divided anew in each row.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop, Run, nests
from loopwright.nests.branches.conversion import takes_long
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.distribute import replaced
from loopwright.types import I64, PTR

__all__ = ["run"]

#: So many tables are made for a loop, of so many elements.
MOST: Final = 2
LONGEST: Final = 2048
#: So many loops of a function have tables.
MOST_LOOPS: Final = 4


def run(f: Function, written: set[int]) -> dict[int, str]:
    """Rewrite such loops of a function, before it has vectors.

    Args:
        f: the function.
        written: receives the indices of the outermost loops that stand beside those made, as written.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if f.options.check or not any(_divides(instr) for instr in f.code):
        return done
    left: set[int] = set()
    for _ in range(MOST_LOOPS):
        found = next(
            (one for nest in reversed(nests(f)) if not nest.obstacles and nest.loops[0].index not in left for one in [_found(nest)] if one is not None), None
        )
        if found is None:
            break
        nest = found.nest
        instead = found.instead()
        left.add(replaced(nest, found.outer, instead, written, found.ahead, found.runs))
        index = next(instr.dst for instr in instead if instr.op is ops.FOR)
        done[index if found.outer is nest.loops[0] else nest.loops[0].index] = f"what is divided for each {nest.name(found.inner)} alone put into a table"
    return done


def _found(nest: Nest) -> _Found | None:
    """An inner loop of a nest that is to have tables, in front of the outermost loop that they are the same in; None where there is none."""
    for inner in nest.loops:
        for outer in nest.loops if inner.step == 1 and inner.long() else ():
            if outer.head < inner.head < inner.end < outer.end and outer.long():
                found = _Found(nest, outer, inner)
                if 0 < len(found.values) <= MOST and found.asked():
                    return found
    return None


def _divides(instr: Instr) -> bool:
    """Whether an operation is a root, or a division by what is no constant."""
    return takes_long(instr) and not instr.type.lanes and instr.args[-1] >= 0


class _Found:
    """An inner loop, and the one around it that is to have tables in front.

    Attributes:
        outer, inner: the loops.
        values: where the inner loop makes what is to be in tables.
        runs: what has to hold for it.
        ahead: what makes the tables' addresses.
    """

    def __init__(self, nest: Nest, outer: NestLoop, inner: NestLoop) -> None:
        self.nest = nest
        self.f = nest.f
        self.outer = outer
        self.inner = inner
        self.runs: list[Run] = []
        self.ahead: list[Instr] = []
        self.known: dict[int, int] = {inner.index: 2}
        self.values = self.alone()

    def alone(self) -> list[int]:
        """Where the inner loop, outside of branches and of loops in it, divides what is made of its index and of what stays the same in the outer one."""
        code = self.f.code
        found: list[int] = []
        depth = 0
        for k in range(self.inner.head + 1, self.inner.end):
            depth += int(code[k].op.opens) - int(code[k].op.closes)
            if depth == 0 and _divides(code[k]) and not self.f.variable[code[k].dst] and self.made_of(code[k].dst) == 2:
                found.append(k)
        return found

    def made_of(self, operand: int) -> int:
        """2 for what is computed from the inner loop's index and what stays the same in the outer one, 1 for what is computed from this alone, 0 for the rest."""
        if operand < 0:
            return 1
        known = self.known.get(operand)
        if known is not None:
            return known
        f, nest = self.f, self.nest
        place = nest.forms.places.get(operand, NONE)
        if nest.ahead(operand):
            made = 1
        elif f.variable[operand] or not self.outer.head < place < self.inner.end or not f.code[place].op.pure or f.code[place].op.effect == ops.CONTROL:
            made = 0
        else:
            parts = [self.made_of(a) for a in f.code[place].args]
            made = 0 if 0 in parts else max(parts, default=1)
        self.known[operand] = made
        return made

    def asked(self) -> bool:
        """Whether each iteration of the outer loop comes to the inner one, which can be asked in front of the nest, as whether the tables are long enough."""
        nest, f = self.nest, self.f
        opened: list[Instr] = []
        for instr in f.code[self.outer.head : self.inner.head]:
            if instr.op.closes:
                opened.pop()
            if instr.op.opens:
                opened.append(instr)
        lo, hi = f.code[self.inner.head].args[:2]
        bounds = [(instr.args[0], instr.args[1]) for instr in opened if instr.op is ops.FOR and instr.args[2] < 0 and f.const_values[~instr.args[2]] == 1]
        if len(bounds) < len(opened) or lo >= 0 or not all(nest.ahead(bound) for both in (*bounds, (lo, hi)) for bound in both):
            return False
        if f.local_bytes() + MOST * LONGEST * I64.size + 4 * LOCAL_ALIGN > MOST_LOCAL:
            return False
        self.runs = [*[(ops.LT, first, last) for first, last in bounds], (ops.LE, hi, f.const(I64, LONGEST + int(f.const_values[~lo])))]
        return True

    def instead(self) -> list[Instr]:
        """What takes the place of the outer loop."""
        f, code = self.f, self.f.code
        values = self.values
        lo, hi = code[self.inner.head].args[:2]
        out = Code(f, self.inner.line, [])
        tables: dict[int, int] = {}
        for k in values:
            tables[k] = len(f.arrays)
            own = f.local_array("table", code[k].type, (LONGEST,))
            own.written = True
            self.ahead.append(Instr(ops.LOCAL, PTR, own.base, [f.const(I64, tables[k])], 0, self.inner.line))
        index = out.begin(lo, hi, 1, f.names[self.inner.index])
        wanted = {code[k].dst for k in values}
        body: list[Instr] = []
        for k in range(values[-1], self.outer.head, -1):
            instr = code[k]
            if instr.dst in wanted and instr.dst != self.inner.index and not self.nest.ahead(instr.dst):
                body.append(instr)
                wanted.update(instr.args)
        rename = {self.inner.index: index}
        clone(f, body[::-1], rename, out.out)
        at = self.place(index, lo, out)
        for k in values:
            out.out.append(Instr(ops.STORE, code[k].type, NONE, [rename[code[k].dst], at], tables[k], code[k].line))
        out.end()
        for k in range(self.outer.head, self.outer.end + 1):
            if k in tables:
                at = self.place(self.inner.index, lo, out)
                out.out.append(Instr(ops.LOAD, code[k].type, code[k].dst, [at], tables[k], code[k].line))
            else:
                out.out.append(code[k])
        return out.out

    def place(self, index: int, lo: int, out: Code) -> int:
        """Where in a table what belongs to an index is; ``lo`` is a constant."""
        return index if self.f.const_values[~lo] == 0 else out.op(ops.SUB, index, lo)
