"""Loops that treat their first and last iterations in another way: each part by itself, with conditions that are known.

::

    for j = 0, w                                 if w >= 4
      if j - 2 >= 0 and j + 2 < w                  for j = 0, 2            (what is near the beginning)
        A                                   →      for j = 2, w - 2: A
      else                                         for j = w - 2, w        (what is near the end)
        B                                        else
      end                                          as written
    end

Filters of images ask for every neighbour whether it is inside, or take the nearest one that is. That the beginning and the end are apart is asked once, in front of the nest: to split a loop at one condition after the
other (``conditions.py``) makes as many loops as there are orders of the places where they change, most of which run for tiny arrays alone. (Partitioning of loops at borders is Halide's way: J. Ragan-Kelley et al.,
PLDI 2013.)
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.folding import Folded, changes
from loopwright.nests.rewriting.operands import computed, of_form
from loopwright.nests.splitting.conditions import append_loop, arithmetic, comparisons, decides, known_in, own_variables, separable, tested
from loopwright.types import I64

__all__ = ["run"]

#: So far from the first or last iteration at most is the border.
WIDEST: Final = 16
#: Indices are multiplied by so much at most; of those that are not simply counted, so many iterations before the end are the border.
MOST_TIMES: Final = 4
ROUNDED: Final = 2
#: So many loops of a nest are divided, of so many instructions at most.
MOST: Final = 12
LONGEST: Final = 500
#: Of fewer, where so many loops are in it, each of which would be there several times.
LONG: Final = 250
SEVERAL: Final = 3
#: Where all parts of a loop would have more instructions together than that, a border is one part, whose conditions stay, and in which no other loop is divided.
MOST_PARTS: Final = 300
#: By comparison of an index and a place: where behind the place it changes.
_CHANGES: Final[dict[Op, tuple[int, ...]]] = {ops.LT: (0,), ops.GE: (0,), ops.LE: (1,), ops.GT: (1,), ops.EQ: (0, 1), ops.NE: (0, 1)}


class _Border:
    """A condition that changes near one end of a loop.

    Attributes:
        form: what is compared with 0, in which the index counts ``times``.
        at: what is to be taken from as many times the place, behind the first iteration or before the end (negative, or 0), to have the form; or what it is not above.
        changes: how far behind the beginning it changes; or, not positive, before the end.
        beginning: it is the beginning that it is near.
        ends: where it is not known how far before the end it changes: what is not to be above 0, so that it has not changed by then.
    """

    __slots__ = ("at", "beginning", "changes", "ends", "form", "times")

    def __init__(self, form: Form, times: int, beginning: bool, at: int, changes: list[int], ends: Form | None = None) -> None:
        self.form = form
        self.times = times
        self.beginning = beginning
        self.at = at
        self.changes = changes
        self.ends = ends


def run(f: Function, left: set[int]) -> None:
    """Divide such loops of a function; ``left`` is given the indices of loops whose conditions are to stay."""
    if decides(f.code):
        for nest in reversed(nests(f)):
            _divide_all(nest, left)


def _widths(found: list[_Border]) -> tuple[int, int]:
    """How many iterations the borders at the beginning and the end take."""
    places = [place for border in found for place in border.changes]
    return max([0, *places]), -min([0, *places])


def _divide_all(nest: Nest, left: set[int]) -> None:
    """Divide the loops of a nest, and have asked in front of it what has to hold for that."""
    f = nest.f
    original = f.code
    start, behind = nest.start, len(original) - nest.end - 1
    asked: dict[int, int] = {}  # by the last bound of a loop: what it is at least
    for loop in nest.loops:
        last = original[loop.head].args[1] if loop.step else 0
        if last >= 0 and not f.variable[last] and nest.forms.places.get(last, -1) < nest.start:
            asked[last] = 0
    inside = [nest]
    front: list[Instr] = []
    runs: list[tuple[Op, int, int]] = []
    for _ in range(MOST):
        if not any(_divide_one(one, asked, left, start, front, runs) for one in reversed(inside)):
            break
        inside = [one for one in nests(f) if start <= one.start and one.end < len(f.code) - behind]
    if f.code is original:
        return
    plain = apart.as_written(f, original, start, nest.end + 1)
    left.update([instr.dst for instr in plain if instr.op is ops.FOR])
    runs += [(ops.GE, last, f.const(I64, least)) for last, least in asked.items() if least]
    fast = f.code[start : len(f.code) - behind]
    f.code = original[:start] + front + apart.versioned(f, [], plain, fast, original[start].line, runs) + original[nest.end + 1 :]


def _divide_one(nest: Nest, asked: dict[int, int], left: set[int], start: int, front: list[Instr], runs: list[tuple[Op, int, int]]) -> bool:
    """Divide one loop of a nest, if there is one; ``asked``, and ``front`` and ``runs`` in front of ``start``, are given what has to hold for it."""
    conditions = tested(nest)
    if not conditions:
        return False
    for loop in nest.loops:
        if loop.index in left:
            continue
        found = _borders(nest, loop, conditions, start)
        if found and _long_enough(nest, loop, sum(_widths(found)), asked):
            ends = [border.ends for border in found if border.ends is not None]
            runs += [(ops.LE, of_form(nest, form, loop.line, front), nest.f.const(I64, 0)) for form in ends]
            _divide(nest, loop, found, left)
            return True
    return False


def _long_enough(nest: Nest, loop: NestLoop, least: int, asked: dict[int, int]) -> bool:
    """Whether a loop has so many iterations, or what makes it have them can be asked in front of the nest; it is noted."""
    lo, hi = nest.f.code[loop.head].args[:2]
    stops = nest.forms.of(hi)
    first = int(nest.f.const_values[~lo])
    if stops is None or not stops.terms:
        return stops is not None and stops.constant - first >= least
    for last, known in asked.items():
        form = nest.forms.of(last)
        apart_by = stops.plus(form, -1) if form is not None else None
        if apart_by is not None and not apart_by.terms:
            asked[last] = max(known, first + least - apart_by.constant)
            return True
    return False


def _borders(nest: Nest, loop: NestLoop, conditions: dict[int, int], start: int) -> list[_Border]:
    """The conditions that change near the ends of a loop, if there are several."""
    inside = sum(loop.head < other.head < loop.end for other in nest.loops)
    if loop.step != 1 or nest.f.code[loop.head].args[0] >= 0 or loop.end - loop.head > (LONGEST if inside < SEVERAL else LONG):
        return []
    found = [border for border in [_border(nest, loop, place) for place in conditions.values() if loop.head < place < loop.end] if border is not None]
    found = [border for border in found if border.ends is None or _in_front(nest, border.ends, start)]
    # (One alone is for `conditions.py`.)
    several = len({place for border in found for place in border.changes if place}) > 1
    return found if several and separable(nest, loop) else []


def _in_front(nest: Nest, form: Form, start: int) -> bool:
    """Whether a form is made of what has its value in front of a position."""
    registers = [nest.forms.registers[value] for value in form.terms]
    return all(r >= 0 and nest.ahead(r) and nest.forms.places.get(r, NONE) < start for r in registers)


def _border(nest: Nest, loop: NestLoop, place: int) -> _Border | None:
    """What a comparison is near the ends of a loop; None where it changes elsewhere, or not at all."""
    f, forms = nest.f, nest.forms
    test, head = f.code[place], f.code[loop.head]
    if test.type is not I64:
        return None
    a, b = forms.of(test.args[0]), forms.of(test.args[1])
    starts, stops = forms.of(head.args[0]), forms.of(head.args[1])
    if a is None or b is None or starts is None or stops is None or arithmetic(nest, loop, place) is None:
        return None
    form, op = a.plus(b, -1), test.op
    index = next((value for value in form.terms if nest.indices.get(value) is loop), NONE)
    if index == NONE or abs(form.terms[index]) > MOST_TIMES or any(value != index and loop.index in forms.leaves[value] for value in form.terms):
        return None
    if form.terms[index] < 0:
        form, op = Form(0, {}).plus(form, -1), ops.COMPARISONS[ops.EXCHANGED[op.name]]
    times = form.terms[index]
    rest = form.plus(Form(0, {index: times}), -1)
    # What the form is in the first iteration, and behind the last.
    first, behind = rest.plus(starts, times), rest.plus(stops, times)
    if not first.terms:
        changing = [-(-(more - first.constant) // times) for more in _CHANGES[op]]
        return _Border(form, times, True, -first.constant, [max(0, place) for place in changing]) if changing[-1] <= WIDEST else None
    if not behind.terms:
        changing = [-(-(more - behind.constant) // times) for more in _CHANGES[op]]
        return _Border(form, times, False, -behind.constant, [min(0, place) for place in changing]) if changing[0] >= -WIDEST else None
    if times > 1 and op not in (ops.EQ, ops.NE):
        # (How many iterations go over a row in steps has been rounded up or down.)
        last = 1 - times * (ROUNDED + 1)
        return _Border(form, times, False, last, [-ROUNDED], behind.plus(Form(last, {}), 1))
    return None


def _divide(nest: Nest, loop: NestLoop, found: list[_Border], left: set[int]) -> None:
    """Make several loops of one; the nest does not describe the code any more."""
    f = nest.f
    code = f.code
    head = code[loop.head]
    low, high = _widths(found)
    places = sorted({place for border in found for place in border.changes})
    long = (len(places) + 1) * (loop.end - loop.head) > MOST_PARTS
    if long:
        places = sorted({low, -high})
    starts = [0, *[place for place in places if place > 0]]
    ends = [*[place for place in places if place < 0], 0]
    # From where on to where each part is: behind the beginning where that is not negative (the last of them up to before the end), before the end otherwise.
    parts = [(a, b, True, True) for a, b in pairwise(starts)]
    parts.append((starts[-1], ends[0], True, False))
    parts += [(a, b, False, False) for a, b in pairwise(ends)]
    out = code[: loop.head]
    own = own_variables(nest, loop)
    compared = comparisons(nest, loop)
    folded = Folded(f, code, loop.head)
    for begin, end, behind, up_to in parts:
        known: dict[int, bool] = {}
        whole = True
        for border in found:
            # Between which numbers what is compared with 0 is in this part.
            if border.beginning:
                first: int | None = border.times * (begin if behind else low) - border.at
                last = border.times * (end - 1) - border.at if up_to else None
            else:
                first = border.times * begin - border.at if not behind and border.ends is None else None
                last = border.times * ((end if not up_to else -high) - 1) - border.at
            told = known_in(compared, border.form, first, last)
            known.update(told)
            whole = whole and bool(told)
        body = folded.body(known)
        if changes(f, body):
            lo = computed(f, ops.ADD, head.args[0] if behind else head.args[1], f.const(I64, begin), head.line, out)
            hi = computed(f, ops.ADD, head.args[0] if up_to else head.args[1], f.const(I64, end), head.line, out)
            since = len(out)
            index = append_loop(f, head, lo, hi, body, own, out)
            if not whole:
                left.add(index)
            if long and behind == up_to:
                # (What is near the ends is not divided any further: there would be nine parts of two loops.)
                left.update([instr.dst for instr in out[since:] if instr.op is ops.FOR])
    folded.part()
    f.code = out + code[loop.end + 1 :]
