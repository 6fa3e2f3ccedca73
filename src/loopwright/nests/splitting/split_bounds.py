"""Loops whose inner ones begin or end at the nearer of an index and a border (``range(max(0, i - 4), i)``, ``range(1, min(4, i) + 1)``): split where the border is behind them, so that the inner ones have a known number of iterations elsewhere.

::

    for i = 0, n                              for i = 0, min(4, n)
      for k = max(i - 4, 0), i                  for k = max(i - 4, 0), i: s = s - a[i, k - i + 4] * x[k]
        s = s - a[i, k - i + 4] * x[k]   →    for i = min(4, n), n
                                                for k = i - 4, i: s = s - a[i, k - i + 4] * x[k]

Solvers and products with bands are such loops, and filters that keep their windows inside. Inner loops of so few iterations are written out then (``written_out.py``), and what one iteration leaves for the next stays in
registers. (Index-set splitting: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.7.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting.operands import computed, of_form, within_reason
from loopwright.nests.rewriting.unroll import read_once
from loopwright.nests.splitting.conditions import append_loop, own_variables, separable
from loopwright.types import I64

__all__ = ["run"]

#: So many loops of a function are split, of so many instructions at most.
MOST: Final = 6
LONGEST: Final = 120
#: Inner loops that are to have so many iterations at most.
MOST_TURNS: Final = 8
#: Borders of windows that go on by so many elements at most.
MOST_TIMES: Final = 4
_EXTREMES: Final = (ops.MIN, ops.MAX)
_FOLDED: Final = (ops.ADD, ops.SUB, ops.MIN, ops.MAX)


class _Border:
    """A minimum or maximum of an index and what stays the same.

    Attributes:
        place: where it is computed.
        at: the index where both are the same, times ``times``.
        above: what counts is from there on; otherwise up to there.
        chosen: the operand that it is there.
    """

    __slots__ = ("above", "at", "chosen", "place", "times")

    def __init__(self, place: int, at: Form, times: int, above: bool, chosen: int) -> None:
        self.place = place
        self.at = at
        self.times = times
        self.above = above
        self.chosen = chosen


def run(f: Function) -> dict[int, str]:
    """Split such loops of a function, which is at a stage before ``addresses``. Returns by the index of the outermost loop what was done, for the report."""
    done: dict[int, str] = {}
    left: set[int] = set()  # loops that have been split, and what they became
    for _ in range(MOST):
        if not _bounded(f):
            break
        found = next(((nest, loop, borders) for nest in reversed(nests(f)) for loop, borders in [_found(nest, left)] if loop is not None), None)
        if found is None:
            break
        nest, loop, borders = found
        name = nest.name(loop)
        outermost = None if loop is nest.loops[0] else nest.loops[0].index
        main = _split(nest, loop, borders, left)
        done[outermost if outermost is not None else main] = f"{name} split where bounds inside of it are kept within borders"
    return done


def _bounded(f: Function) -> bool:
    """Whether a bound of a loop in a loop may be a minimum or maximum."""
    extremes: set[int] = set()
    depth = 0
    opened: list[bool] = []
    for instr in f.code:
        op = instr.op
        if op in _EXTREMES and instr.type is I64 and depth or op in (ops.ADD, ops.SUB, ops.COPY) and extremes and any(a in extremes for a in instr.args):
            extremes.add(instr.dst)
        if op is ops.FOR and any(a in extremes for a in instr.args):
            return True
        if op.opens and not op.closes:
            opened.append(op is ops.FOR)
            depth += opened[-1]
        elif op is ops.END:
            depth -= opened.pop()
    return False


def _found(nest: Nest, left: set[int]) -> tuple[NestLoop | None, list[_Border]]:
    """A loop of a nest that is to be split, and by what; None where there is none."""
    if nest.obstacles:
        return None, []
    for loop in nest.loops:
        inside = [other for other in nest.loops if loop.head < other.head < loop.end]
        if loop.index in left or not inside or abs(loop.step) != 1 or loop.end - loop.head > LONGEST or not loop.long() or not separable(nest, loop):
            continue
        if not all(within_reason(nest.f, bound) for bound in nest.f.code[loop.head].args[:2]):
            continue
        if not any(_will_be_short(nest, loop, other, inside) for other in inside):
            continue
        borders = _borders(nest, loop, inside)
        if borders:
            return loop, borders
    return None, []


def _will_be_short(nest: Nest, loop: NestLoop, inner: NestLoop, inside: list[NestLoop]) -> bool:
    """Whether two of an inner loop's bounds are a few iterations apart, and one of them is not the only one on its side, and goes with the loop's index."""
    if inner.step not in (1, -1) or len(inner.first) + len(inner.last) < 3:
        return False
    own = {other.index for other in inside}
    for first in inner.first:
        for last in inner.last:
            span = last.plus(first, -1)
            if (
                all(nest.indices[value].index in own if value in nest.indices else False for value in span.terms)
                and 0 < span.constant * inner.step <= MOST_TURNS
            ):
                return any(nest.indices.get(value) is loop for form in (*inner.first, *inner.last) for value in form.terms)
    return False


def _borders(nest: Nest, loop: NestLoop, inside: list[NestLoop]) -> list[_Border]:
    """The minima and maxima that bounds of the loops in a loop are made of, which change there; none where there is one that is something else, or does not come to be known."""
    f = nest.f
    code = f.code
    wanted = {a for other in inside for a in code[other.head].args if a >= 0}
    found: list[_Border] = []
    for k in range(loop.end - 1, loop.head, -1):
        instr = code[k]
        if instr.dst not in wanted or instr.op is ops.FOR:
            continue
        if f.variable[instr.dst] or not instr.op.pure or instr.type is not I64:
            return []
        wanted.update(a for a in instr.args if a >= 0)
        if instr.op in _EXTREMES and not _of_others(nest, loop, instr):
            border = _border(nest, loop, k)
            if border is None:
                return []
            found.append(border)
    return found


def _of_others(nest: Nest, loop: NestLoop, instr: Instr) -> bool:
    """Whether a minimum or maximum does not change with the index of a loop, but with those of others."""
    forms = [nest.forms.of(a) for a in instr.args]
    return not any(form is None or any(loop.index in nest.forms.leaves[value] for value in form.terms) for form in forms)


def _border(nest: Nest, loop: NestLoop, place: int) -> _Border | None:
    """A minimum or maximum of the index of a loop, a few times it, or the negative of that, more or less something that stays the same, and of something that does."""
    instr = nest.f.code[place]
    one, other = nest.forms.of(instr.args[0]), nest.forms.of(instr.args[1])
    if one is None or other is None or any(v not in nest.indices and loop.index in nest.forms.leaves[v] for form in (one, other) for v in form.terms):
        return None
    times = [nest.grows(one, loop), nest.grows(other, loop)]
    if 0 not in times or not 1 <= max(map(abs, times)) <= MOST_TIMES:
        return None
    moving = 0 if times[0] else 1
    sign = times[moving]
    own, still = (one, other) if moving == 0 else (other, one)
    rest = Form(own.constant, {value: coefficient for value, coefficient in own.terms.items() if nest.indices.get(value) is not loop})
    at = still.plus(rest, -1) if sign > 0 else rest.plus(still, -1)
    registers = [nest.forms.registers[value] for value in at.terms]
    if nest.forms.depends(at, loop.head, loop.end) or len(registers) > 2 or not all(_there(nest, loop, r) and within_reason(nest.f, r) for r in registers):
        return None
    # (An index is great beside constants, and small beside other numbers.)
    above = not at.terms
    greater = (sign > 0) == above  # the moving one is the greater
    takes = moving if greater == (instr.op is ops.MAX) else 1 - moving
    return _Border(place, at, abs(sign), above, instr.args[takes])


def _there(nest: Nest, loop: NestLoop, register: int) -> bool:
    """Whether a register has its value in front of a loop."""
    return register >= 0 and not nest.f.variable[register] and nest.forms.places.get(register, -1) < loop.head


def _split(nest: Nest, loop: NestLoop, borders: list[_Border], left: set[int]) -> int:
    """Put three loops in the place of one: before the first border, in between, and behind the last. Returns the index of the one in between."""
    f = nest.f
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo, hi = read_once(f, head.args[0], line, out), read_once(f, head.args[1], line, out)
    # The least and the greatest index in between, and one more: as the loop counts up.
    least, most = (lo, hi) if loop.step > 0 else (computed(f, ops.ADD, hi, f.const(I64, 1), line, out), computed(f, ops.ADD, lo, f.const(I64, 1), line, out))
    low, high = least, most
    for border in borders:
        # (Known exactly where it is a number, and rounded down where that is the last index of the part.)
        at = f.const(I64, -(-border.at.constant // border.times)) if border.above else of_form(nest, border.at, line, out)
        if border.above:
            low = computed(f, ops.MAX, low, at, line, out)
        else:
            if border.times > 1:
                at = computed(f, ops.DIV_FLOOR, at, f.const(I64, border.times), line, out)
            high = computed(f, ops.MIN, high, computed(f, ops.ADD, at, f.const(I64, 1), line, out), line, out)
    # (The one in between may be empty, as a loop is that begins behind its end.)
    first = computed(f, ops.MIN, low, most, line, out) if low != least else low
    last = computed(f, ops.MAX, high, low, line, out) if high != most else high
    body = code[loop.head + 1 : loop.end]
    inside = _inside(f, body, {code[border.place].dst: border.chosen for border in borders})
    own = own_variables(nest, loop)
    parts = [(least, first, body)] * (low != least) + [(low, high, inside)] + [(last, most, body)] * (high != most)
    main = head.dst
    for start, stop, part in parts if loop.step > 0 else reversed(parts):
        begin, end = (start, stop)
        if loop.step < 0:
            begin, end = computed(f, ops.SUB, stop, f.const(I64, 1), line, out), computed(f, ops.SUB, start, f.const(I64, 1), line, out)
        index = append_loop(f, head, begin, end, part, own, out)
        left.add(index)
        if part is inside:
            main = index
    f.code = out + code[loop.end + 1 :]
    return main


def _inside(f: Function, body: list[Instr], chosen: dict[int, int]) -> list[Instr]:
    """A body in which minima and maxima are known; sums of constants are constants."""
    known: dict[int, int] = {}
    out: list[Instr] = []
    for instr in body:
        args = [known.get(a, a) for a in instr.args]
        if instr.dst in chosen:
            known[instr.dst] = known.get(chosen[instr.dst], chosen[instr.dst])
            continue
        if instr.type is I64 and instr.op in _FOLDED and max(args) < 0 and not f.variable[instr.dst]:
            value = f.folded(instr.op, I64, I64, args)
            if value is not None:
                known[instr.dst] = value
                continue
        if args != instr.args:
            instr = instr.copy()
            instr.args = args
        out.append(instr)
    return out
