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
from loopwright.nests.analysis.nest import FEW, UNREACHED, Nest, NestLoop, nests
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.operands import computed, within_reason
from loopwright.nests.rewriting.unroll import read_once
from loopwright.nests.splitting.conditions import append_loop, own_variables
from loopwright.nests.splitting.wrapped import leading_to_subscripts
from loopwright.nests.steps.candidates import innermost_loops
from loopwright.types import I64, VOID

__all__ = ["run"]

_QUOTIENTS: Final = frozenset((ops.DIV_FLOOR, ops.SHR))
_BY_ANYTHING: Final = frozenset((ops.DIV_FLOOR, ops.REM_FLOOR))
_DIVISIONS: Final = frozenset((*_QUOTIENTS, *_BY_ANYTHING, ops.AND))
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
        by: the constant, or the register, that it is divided by.
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
    if any(instr.op in _DIVISIONS and instr.type is I64 for instr in f.code):
        for nest in reversed(nests(f)):
            wanted = [one for one in [_strips(nest, loop) for loop in innermost_loops(nest)] if one is not None] if not nest.obstacles else []
            if wanted:
                told = ", ".join([one.told() for one in wanted])
                _cut(nest, wanted)
                # (Of an outermost loop the one over strips is another.)
                done[wanted[0].turn if wanted[0].loop is nest.loops[0] else nest.loops[0].index] = told
    return done


def _cut(nest: Nest, wanted: list[_Strips]) -> None:
    """Cut loops of a nest into strips; where these are as long as a number says, it is asked in front of the nest that they are not short."""
    f = nest.f
    original, start, end = f.code, nest.start, nest.end + 1
    for one in reversed(wanted):
        one.write()
    runs = [(ops.GE, one.strip, f.const(I64, FEW)) for one in wanted if one.strip >= 0]
    for register in dict.fromkeys([register for one in wanted for register in one.added()]):
        # (What is divided must not wrap.)
        runs += [(ops.LE, register, f.const(I64, UNREACHED >> 1)), (ops.GE, register, f.const(I64, -(UNREACHED >> 1)))]
    if runs:
        fast = f.code[start : len(f.code) - len(original) + end]
        plain = apart.as_written(f, original, start, end)
        f.code = original[:start] + apart.versioned(f, [], plain, fast, original[start].line, list(dict.fromkeys(runs))) + original[end:]


def _divisor(nest: Nest, loop: NestLoop, instr: Instr) -> int | None:
    """What an instruction divides a number of i64 by, rounding down, as an operand that has its value in front of the nest; None for others."""
    f = nest.f
    if instr.op not in _DIVISIONS or instr.type is not I64 or instr.args[0] < 0 or f.variable[instr.dst]:
        return None
    divisor = instr.args[1]
    if divisor >= 0:
        form = nest.forms.of(divisor)
        # (What stays below it, or goes a little beyond, is for `wrapped.py`.)
        known = form is not None and nest.ahead(divisor) and all(last.plus(form, -1).terms for last in loop.last)
        return divisor if known and instr.op in _BY_ANYTHING else None
    by = int(f.const_values[~divisor])
    if instr.op is ops.SHR:
        by = 1 << by if 0 < by < _MOST_BITS else 0
    elif instr.op is ops.AND:
        by = by + 1 if by > 0 and by & (by + 1) == 0 else 0
    return f.const(I64, by) if by > 1 and loop.reaches(2 * by) else None


def _divisions(nest: Nest, loop: NestLoop) -> list[_Divided]:
    """The divisions of a loop's index that subscripts hang on, or whose remainder is compared; of what differs by constants alone."""
    f, forms = nest.f, nest.forms
    code = f.code[loop.head : loop.end]
    found: list[_Divided] = []
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        by = _divisor(nest, loop, instr)
        form = forms.of(instr.args[0]) if by is not None else None
        index = next((value for value in form.terms if nest.indices.get(value) is loop), -1) if form is not None else -1
        if by is None or form is None or index < 0 or form.terms[index] != 1:
            continue
        rest = form.plus(Form(0, {index: 1}), -1)
        if forms.depends(rest, loop.head, loop.end) or any(forms.registers[value] < 0 for value in rest.terms):
            continue
        if not found or not rest.plus(found[0].rest, -1).terms:
            found.append(_Divided(k, by, instr.op not in _QUOTIENTS, rest))
    if not found:
        return []
    subscripts = leading_to_subscripts(f, code)
    compared = {a for instr in code if instr.op in ops.COMPARING for a in instr.args}
    wanted = any(f.code[one.place].dst in subscripts or (one.remainder and f.code[one.place].dst in compared) for one in found)
    return found if wanted else []


def _strips(nest: Nest, loop: NestLoop) -> _Strips | None:
    """The strips that a loop is to be cut into; None where it stays."""
    f = nest.f
    head = f.code[loop.head]
    if loop.step != 1 or head.loop is not None or not loop.long() or (head.args[0] < 0 and abs(int(f.const_values[~head.args[0]])) > _GREATEST):
        return None
    found = _divisions(nest, loop)
    if not found:
        return None
    strip = found[0].by
    alike = all(one.by == strip and one.rest.constant == found[0].rest.constant for one in found)
    if all(one.by < 0 for one in found):
        length = math.lcm(*[int(f.const_values[~one.by]) for one in found])
        if length < FEW:
            return _Strips(nest, loop, found, f.const(I64, length)) if length * (loop.end - loop.head) <= MOST else None
    # (They have lanes of their own.)
    return _Strips(nest, loop, found, strip) if alike else None


class _Strips:
    """What a loop becomes that is cut into strips.

    Attributes:
        nest: the nest.
        loop: the loop.
        found: the divisions.
        strip: how many iterations a strip has, as an operand.
        body: the loop's instructions.
        own: the variables that each iteration writes anew.
        turn: the index of the loop over strips.
        out: what has been written.
    """

    __slots__ = ("body", "f", "found", "head", "line", "loop", "nest", "out", "own", "strip", "turn")

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
        self.turn = nest.f.register(I64, "")
        self.out: list[Instr] = []

    def added(self) -> list[int]:
        """The numbers known in front of the nest that are added to the index, and may be anything."""
        registers = [self.nest.forms.registers[value] for value in self.found[0].rest.terms if value not in self.nest.indices]
        return [register for register in registers if self.nest.ahead(register) and not within_reason(self.f, register)]

    def told(self) -> str:
        """What is done, for the report."""
        form = self.nest.forms.of(self.strip)
        return f"{self.nest.name(self.loop)} in strips of {self.nest.text(form)}, by which it is divided"

    def write(self) -> None:
        """Put it into the function; the nest does not describe the code any more."""
        f, head, line, out = self.f, self.head, self.line, self.out
        strip = self.strip
        lo = read_once(f, head.args[0], line, out)
        hi = read_once(f, head.args[1], line, out)
        # (Nothing overflows that is not as long as to run for years.)
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
        left = self.made(ops.MIN, self.made(ops.SUB, count, done), self.made(ops.SUB, strip, f.const(I64, 1)))
        self.behind(self.made(ops.ADD, start, done), left)
        f.code = [*f.code[: self.loop.head], *out, *f.code[self.loop.end + 1 :]]

    def made(self, op: ops.Op, a: int, b: int) -> int:
        """An operand that is an operation of two others."""
        return computed(self.f, op, a, b, self.line, self.out)

    def rest(self) -> int:
        """What is added to the index, as an operand."""
        f, form = self.f, self.found[0].rest
        value = f.const(I64, form.constant)
        for term, coefficient in form.terms.items():
            register = self.nest.forms.registers[term]
            value = self.made(ops.ADD, value, self.made(ops.MUL, register, f.const(I64, coefficient)) if coefficient != 1 else register)
        return value

    def main(self, start: int, strips: int, first: int) -> None:
        """Append the loop over whole strips; ``first`` is the quotient of the first of them."""
        f, head, line, out = self.f, self.head, self.line, self.out
        turn, inner = self.turn, f.register(I64, f.names[head.dst])
        zero, one = f.const(I64, 0), f.const(I64, 1)
        out.append(Instr(ops.FOR, head.type, turn, [zero, strips, one], 0, line))
        base = self.made(ops.ADD, self.made(ops.MUL, turn, self.strip), start)
        quotient = self.made(ops.ADD, turn, first)
        out.append(Instr(ops.FOR, head.type, inner, [zero, self.strip, one], 0, line))
        out.append(Instr(ops.ADD, I64, head.dst, [inner, base], 0, line))
        by_place = {divided.place - self.loop.head - 1: divided for divided in self.found}
        for k, instr in enumerate(self.body):
            if k in by_place:
                self.divided(instr, by_place[k], inner, quotient)
            else:
                out.append(instr)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))

    def divided(self, instr: Instr, one: _Divided, inner: int, quotient: int) -> None:
        """Append what a division is in a strip: of the number of the strip, and of where in it the iteration is."""
        f, out, by = self.f, self.out, one.by
        within = self.made(ops.ADD, inner, f.const(I64, one.rest.constant - self.found[0].rest.constant))
        whole = within == inner and by == self.strip
        if one.remainder:
            out.append(Instr(ops.COPY, I64, instr.dst, [within], 0, instr.line) if whole else Instr(ops.REM_FLOOR, I64, instr.dst, [within, by], 0, instr.line))
            return
        if by != self.strip:
            quotient = self.made(ops.MUL, quotient, self.made(ops.DIV_FLOOR, self.strip, by))
        if whole:
            out.append(Instr(ops.COPY, I64, instr.dst, [quotient], 0, instr.line))
        else:
            out.append(Instr(ops.ADD, I64, instr.dst, [self.made(ops.DIV_FLOOR, within, by), quotient], 0, instr.line))

    def behind(self, start: int, left: int) -> None:
        """Append the loop over what whole strips leave."""
        f = self.f
        counted = self.head.copy()
        counted.dst = f.register(I64, "")
        body = [Instr(ops.ADD, I64, self.head.dst, [counted.dst, start], 0, self.line), *self.body]
        append_loop(f, counted, f.const(I64, 0), left, body, self.own, self.out)
