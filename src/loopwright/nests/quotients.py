"""Loops whose index is divided by a constant: an outer loop counts the quotients, and an inner one the remainders.

::

    for j = 0, n                         for t = 0, n // 2
      b[j] = a[j // 2]                     for p = 0, 2
    end                             →        b[2 * t + p] = a[t]
                                           end
                                         end
                                         (one iteration more, as written, where n is odd)

Images are enlarged so, blocks of numbers have a scale of their own, patterns repeat, and every other element is treated in another way. Of an index that is divided nothing is known but that it is some number; of
what is left here all subscripts are linear, remainders are indices of their own, and inner loops of few iterations are written out (``written_out.py``), so that elements are dealt out to lanes. The order of the iterations
stays as it was: the loop is cut into strips (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 9.3), which begin where what is divided is a multiple.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.candidates import innermost_loops
from loopwright.nests.conditions import append_loop, computed, own_variables
from loopwright.nests.nest import FEW, Nest, NestLoop, nests
from loopwright.nests.unroll import clone, read_once
from loopwright.nests.wrapped import leading_to_subscripts
from loopwright.types import I64, VOID

__all__ = ["run"]

#: Strips of fewer iterations than that are written out, or long enough for lanes of their own.
LEAST_LONG: Final = 16
#: So many instructions come of a strip that is written out.
MOST: Final = 120
#: A shift by more bits divides by more than any loop is cut into.
_MOST_BITS: Final = 20
#: Greater first iterations are not looked at: a loop's last ones are computed from them.
_GREATEST: Final = 1 << 40


class _Divided:
    """An index, and what is added to it, divided by a constant.

    Attributes:
        place: the position of the division.
        by: the constant.
        remainder: what is left is wanted, not the quotient.
        rest: what is added to the index.
    """

    __slots__ = ("by", "place", "remainder", "rest")

    def __init__(self, place: int, by: int, remainder: bool, rest: Form) -> None:
        self.place = place
        self.by = by
        self.remainder = remainder
        self.rest = rest


def run(f: Function) -> dict[int, str]:
    """Cut such loops of a function into strips.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    if any(instr.type is I64 and _divisor(f, instr) for instr in f.code):
        for nest in reversed(nests(f)):
            if nest.obstacles:
                continue
            wanted = [one for one in [_strips(nest, loop) for loop in innermost_loops(nest)] if one is not None]
            for one in reversed(wanted):
                one.write()
                done[nest.loops[0].index] = f"{nest.name(one.loop)} in strips of {one.strip}, by which it is divided"
    return done


def _divisor(f: Function, instr: Instr) -> int:
    """What an instruction divides a number of i64 by, rounding down; 0 for others."""
    if len(instr.args) != 2 or instr.args[0] < 0 or instr.args[1] >= 0 or instr.dst < 0 or f.variable[instr.dst]:
        return 0
    op = instr.op
    if op not in (ops.DIV_FLOOR, ops.REM_FLOOR, ops.SHR, ops.AND):
        return 0
    by = int(f.const_values[~instr.args[1]])
    if op is ops.SHR:
        return 1 << by if 0 < by < _MOST_BITS else 0
    if op is ops.AND:
        return by + 1 if by > 0 and by & (by + 1) == 0 else 0
    return by if by > 1 else 0


def _divisions(nest: Nest, loop: NestLoop) -> list[_Divided]:
    """The divisions of a loop's index that its subscripts hang on, and those that differ from the first by a constant in what is divided."""
    f, forms = nest.f, nest.forms
    wanted: set[int] | None = None
    found: list[_Divided] = []
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        by = _divisor(f, instr) if instr.type is I64 else 0
        if not by:
            continue
        if wanted is None:
            wanted = leading_to_subscripts(f, f.code[loop.head : loop.end])
        form = forms.of(instr.args[0])
        index = next((value for value in form.terms if nest.indices.get(value) is loop), -1) if form is not None else -1
        if form is None or index < 0 or form.terms[index] != 1:
            continue
        rest = form.plus(Form(0, {index: 1}), -1)
        if forms.depends(rest, loop.head, loop.end) or any(forms.registers[value] < 0 for value in rest.terms):
            continue
        if found and rest.plus(found[0].rest, -1).terms:
            continue
        found.append(_Divided(k, by, instr.op is ops.REM_FLOOR or instr.op is ops.AND, rest))
    return found if any(f.code[one.place].dst in (wanted or ()) for one in found) else []


def _strips(nest: Nest, loop: NestLoop) -> _Strips | None:
    """The strips that a loop is to be cut into; None where it stays."""
    f = nest.f
    head = f.code[loop.head]
    if loop.step != 1 or head.loop is not None or not loop.long() or (head.args[0] < 0 and abs(int(f.const_values[~head.args[0]])) > _GREATEST):
        return None
    found = _divisions(nest, loop)
    if not found:
        return None
    strip = math.lcm(*[one.by for one in found])
    if strip < FEW:
        wanted = strip * (loop.end - loop.head) <= MOST
    else:
        wanted = strip >= LEAST_LONG and all(one.by == strip and one.rest.constant == found[0].rest.constant for one in found)
    return _Strips(nest, loop, found, strip) if wanted else None


class _Strips:
    """What a loop becomes that is cut into strips."""

    __slots__ = ("body", "f", "found", "head", "line", "loop", "nest", "out", "own", "strip")

    def __init__(self, nest: Nest, loop: NestLoop, found: list[_Divided], strip: int) -> None:
        self.nest = nest
        self.loop = loop
        self.f = nest.f
        self.found = found
        self.strip = strip
        self.head = nest.f.code[loop.head]
        self.line = self.head.line
        self.body = nest.f.code[loop.head + 1 : loop.end]
        self.own = own_variables(nest, loop)
        self.out: list[Instr] = []

    def write(self) -> None:
        """Put it into the function; the nest does not describe the code any more."""
        f, head, line, out = self.f, self.head, self.line, self.out
        strip = f.const(I64, self.strip)
        lo = read_once(f, head.args[0], line, out)
        hi = read_once(f, head.args[1], line, out)
        count = self.made(ops.SUB, self.made(ops.MAX, hi, lo), lo)
        added = self.rest()
        # How many iterations there are before what is divided is a multiple.
        before = self.made(ops.REM_FLOOR, self.made(ops.SUB, f.const(I64, 0), self.made(ops.ADD, lo, added)), strip)
        start = lo
        if before >= 0 or int(f.const_values[~before]):
            before = self.made(ops.MIN, before, count)
            start = self.made(ops.ADD, lo, before)
            append_loop(f, head, lo, start, self.body, self.own, out)
            count = self.made(ops.SUB, count, before)
        strips = self.made(ops.DIV_FLOOR, count, strip)
        first = self.made(ops.DIV_FLOOR, self.made(ops.ADD, start, added), strip)
        self.main(start, strips, first)
        done = self.made(ops.MUL, strips, strip)
        left = self.made(ops.MIN, self.made(ops.SUB, count, done), f.const(I64, self.strip - 1))
        self.behind(self.made(ops.ADD, start, done), left)
        f.code = [*f.code[: self.loop.head], *out, *f.code[self.loop.end + 1 :]]

    def made(self, op: ops.Op, a: int, b: int) -> int:
        """An operand that is an operation of two others, in front of the loop."""
        f = self.f
        if a < 0 and b < 0:
            value = f.folded(op, I64, I64, [a, b])
            assert value is not None
            return value
        if op in (ops.ADD, ops.SUB) and b < 0 and not int(f.const_values[~b]):
            return a
        if op is ops.ADD and a < 0 and not int(f.const_values[~a]):
            return b
        return computed(f, op, a, b, self.line, self.out)

    def rest(self) -> int:
        """What is added to the index, as an operand."""
        f, form = self.f, self.found[0].rest
        value = f.const(I64, form.constant)
        for term, coefficient in form.terms.items():
            register = self.nest.forms.registers[term]
            value = self.made(ops.ADD, self.made(ops.MUL, register, f.const(I64, coefficient)) if coefficient != 1 else register, value)
        return value

    def main(self, start: int, strips: int, first: int) -> None:
        """Append the loop over whole strips."""
        f, head, line, out = self.f, self.head, self.line, self.out
        strip = self.strip
        turn = f.register(I64, "")
        out.append(Instr(ops.FOR, head.type, turn, [f.const(I64, 0), strips, f.const(I64, 1)], 0, line))
        base = computed(f, ops.MUL, turn, f.const(I64, strip), line, out)
        base = self.made(ops.ADD, base, start)
        quotient = self.made(ops.ADD, turn, first)
        inner = f.register(I64, f.names[head.dst])
        out.append(Instr(ops.FOR, head.type, inner, [f.const(I64, 0), f.const(I64, strip), f.const(I64, 1)], 0, line))
        out.append(Instr(ops.ADD, I64, head.dst, [inner, base], 0, line))
        by_place = {one.place - self.loop.head - 1: one for one in self.found}
        for k, instr in enumerate(self.body):
            one = by_place.get(k)
            if one is None:
                out.append(instr)
                continue
            self.divided(instr, one, inner, quotient)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))

    def divided(self, instr: Instr, one: _Divided, inner: int, quotient: int) -> None:
        """Append what a division is in a strip: of the number of the strip, and of where in it the iteration is."""
        f, out = self.f, self.out
        within = self.made(ops.ADD, inner, f.const(I64, one.rest.constant - self.found[0].rest.constant))
        by = f.const(I64, one.by)
        whole = within == inner and one.by == self.strip
        if one.remainder:
            out.append(Instr(ops.COPY, I64, instr.dst, [within], 0, instr.line) if whole else Instr(ops.REM_FLOOR, I64, instr.dst, [within, by], 0, instr.line))
            return
        value = self.made(ops.MUL, quotient, f.const(I64, self.strip // one.by)) if one.by != self.strip else quotient
        if whole:
            out.append(Instr(ops.COPY, I64, instr.dst, [value], 0, instr.line))
        else:
            more = self.made(ops.DIV_FLOOR, within, by)
            out.append(Instr(ops.ADD, I64, instr.dst, [more, value], 0, instr.line))

    def behind(self, start: int, left: int) -> None:
        """Append the loop over what whole strips leave."""
        f, out = self.f, self.out
        turn, index = f.register(I64, ""), f.register(I64, f.names[self.head.dst])
        out.append(Instr(ops.FOR, self.head.type, turn, [f.const(I64, 0), left, f.const(I64, 1)], 0, self.line))
        out.append(Instr(ops.ADD, I64, index, [turn, start], 0, self.line))
        rename = {self.head.dst: index}
        for variable in self.own:
            rename[variable] = f.register(f.types[variable], f.names[variable], True)
        clone(f, self.body, rename, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))
