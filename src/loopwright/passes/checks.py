"""The ``checks`` pass: checked mode's tests of indices leave loops.

::

                                        in_range = all tests hold for the first and the last iteration
    for i = lo, hi, step                if in_range
      if index >= extent                  for i = lo, hi, step
        fail                       →        access
      end                                 end
      access                            else
    end                                   … as it was
                                        end

An index that is a linear form over the indices of loops has its least and its greatest value where those have theirs, so that two tests in front of a loop, or of a whole nest, stand
for all that would be made in it. The loop without tests is like any other: it becomes lanes, and what else loops become. Where a test might fail, the loop runs as written, index by index, so that
what ran before the first access outside its array has been done, and nothing else. (Gupta, *Optimizing array bound checks using flow analysis*, ACM LOPLAS 2, 1993; two versions of a loop: Bodík, Gupta,
Sarkar, *ABCD*, PLDI 2000, section 1.)

Loops over lanes keep their checks, and are done index by index, where one array is accessed at indices whose distance is not known: checked mode gives what the plain loop gives.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.rewriting.unroll import clone, crossing_branches
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, U64, VOID, Type

#: Loops have no more iterations than this, and indices no greater coefficients, where their tests leave: what is computed from them cannot wrap.
_ITERATIONS: Final = 1 << 31
_COEFFICIENT: Final = 1 << 20
#: Tests of different forms in front of a loop.
_MOST: Final = 40

#: What a test compares: the form's multiples of values, and the extent's operand.
_Key = tuple[tuple[tuple[int, int], ...], int]


def run(f: Function, target: Target) -> None:
    """Rewrite the loops of a checked function."""
    if not f.options.check:
        return
    places = {instr.dst: k for k, instr in enumerate(f.code) if instr.dst >= 0 and not f.variable[instr.dst]}
    out: list[Instr] = []
    _stretch(f, 0, len(f.code), places, match(f.code), out)
    f.code = out
    _one_by_one(out)


def _stretch(f: Function, start: int, end: int, places: dict[int, int], partner: list[int], out: list[Instr]) -> None:
    """Code in which each outermost loop gets a version without tests, where that can be."""
    code = f.code
    k = start
    while k < end:
        instr = code[k]
        if instr.op.opens and IS_LOOP[instr.op.code]:
            # (A while has its ``do`` in between.)
            behind = partner[partner[k]] if instr.op is ops.WHILE else partner[k]
            front: list[Instr] = []
            condition = _Versions(f, k, behind, places, partner).guard(front) if instr.op is ops.FOR else NONE
            if condition == NONE:
                out.append(instr)
                _stretch(f, k + 1, behind, places, partner, out)
                out.append(code[behind])
            else:
                out.extend(front)
                out.append(Instr(ops.IF, VOID, NONE, [condition], 0, instr.line))
                clone(f, _without_tests(f, k, behind + 1, places), {}, out)
                out.append(Instr(ops.ELSE, VOID, NONE, [], 0, instr.line))
                out.append(instr)
                _stretch(f, k + 1, behind, places, partner, out)
                out.append(code[behind])
                out.append(Instr(ops.END, VOID, NONE, [], 0, instr.line))
            k = behind + 1
        else:
            out.append(instr)
            k += 1


def _tested(f: Function, k: int, places: dict[int, int]) -> bool:
    """Whether ``if``, ``fail``, ``end`` at a position test whether the index that would be reported is outside its array."""
    code = f.code
    if code[k].op is not ops.IF or code[k + 1].op is not ops.FAIL or code[k + 2].op is not ops.END:
        return False
    place = places.get(code[k].args[0], -1)
    if place < 0 or code[place].op is not ops.GE or code[place].type is not U64:
        return False
    for operand, reported in zip(code[place].args, code[k + 1].args[1:], strict=True):
        made = places.get(operand, -1)
        if made < 0 or code[made].op is not ops.CONVERT or code[made].source is not I64 or code[made].args[0] != reported:
            return False
    return True


def _without_tests(f: Function, start: int, end: int, places: dict[int, int]) -> list[Instr]:
    """A loop's code without tests, and without what is computed for them only."""
    kept: list[Instr] = []
    k = start
    while k < end:
        if _tested(f, k, places):
            k += 3
        else:
            kept.append(f.code[k])
            k += 1
    read: set[int] = set()
    needed: list[Instr] = []
    for instr in reversed(kept):
        if instr.op.pure and instr.dst not in read and not f.variable[instr.dst]:
            continue
        read.update(instr.args)
        needed.append(instr)
    needed.reverse()
    return needed


class _Range:
    """The least and the greatest index of a loop, as operands."""

    __slots__ = ("greatest", "least")

    def __init__(self, least: int, greatest: int) -> None:
        self.least = least
        self.greatest = greatest


class _Versions:
    """A loop, and what has to hold for it to run without tests.

    Attributes:
        start, end: the positions of the ``for`` and of its ``end``.
        ranges: per index of it and of the loops inside.
        expressions: per value of ``forms`` that is no register: a register that is computed as it is.
        front: what is computed in front of the loop.
        holds: the conditions, all of which must hold.
    """

    __slots__ = ("end", "expressions", "f", "forms", "front", "holds", "made", "partner", "places", "ranges", "start")

    def __init__(self, f: Function, start: int, end: int, places: dict[int, int], partner: list[int]) -> None:
        self.f = f
        self.partner = partner
        self.start = start
        self.end = end
        self.places = places
        self.forms = Forms(f, start, end, places)
        self.ranges: dict[int, _Range] = {}
        self.expressions: dict[int, int] = {}
        self.front: list[Instr] = []
        self.holds: list[int] = []
        self.made: dict[int, int] = {}

    def guard(self, front: list[Instr]) -> int:
        """A condition under which no test fails, computed by what is put into ``front``; NONE where there is none, or nothing to test."""
        f, code = self.f, self.f.code
        if crossing_branches(code[self.start + 1 : self.end]) or not self._lanes_in_order():
            return NONE
        self.front = front
        wanted: dict[_Key, tuple[int, int]] = {}
        k = self.start
        while k < self.end:
            op = code[k].op
            if op is ops.FOR:
                if not self._bound(code[k]):
                    return NONE
            elif op is ops.FAIL:
                if not _tested(f, k - 1, self.places):
                    return NONE
                form = self.forms.of(code[k].args[1])
                extent = code[k].args[2]
                if form is None or self._inside(extent):
                    return NONE
                key = (tuple(sorted(form.terms.items())), extent)
                least, greatest = wanted.get(key, (form.constant, form.constant))
                wanted[key] = min(least, form.constant), max(greatest, form.constant)
            k += 1
        if not wanted or len(wanted) > _MOST:
            return NONE
        for (terms, extent), constants in wanted.items():
            for constant, upper in zip(constants, (False, True), strict=True):
                end = self._extreme(Form(constant, dict(terms)), upper)
                if end is None:
                    return NONE
                self._below(end, extent)
        condition = self.holds[0]
        for more in self.holds[1:]:
            condition = self._emit(ops.AND, BOOL, [condition, more], BOOL)
        return condition

    def _emit(self, op: ops.Op, type_: Type, args: list[int], result: Type = I64, source: Type = VOID) -> int:
        made = self.f.register(result)
        self.front.append(Instr(op, type_, made, args, 0, self.f.code[self.start].line, source))
        return made

    def _below(self, number: int, limit: int) -> None:
        """Demand that a number is not negative, and below a limit that is not."""
        a = self._emit(ops.CONVERT, U64, [number], U64, I64)
        b = self._emit(ops.CONVERT, U64, [limit], U64, I64)
        self.holds.append(self._emit(ops.LT, U64, [a, b], BOOL))

    def _inside(self, operand: int) -> bool:
        """Whether the loop computes an operand."""
        return operand in self.forms.written or self.start <= self.places.get(operand, -1) <= self.end

    # --- bounds -------------------------------------------------------------------------------------------

    def _bound(self, head: Instr) -> bool:
        """Find the range of a loop's index, and demand that it has iterations, and not too many."""
        lo, hi = self.forms.of(head.args[0]), self.forms.of(head.args[1])
        step = int(self.f.const_values[~head.args[2]])
        if lo is None or hi is None:
            return False
        # The bound that is not an index, and the last one that may be, whatever the step: before it, in the direction of the step.
        down = step < 0
        first, last = self._extreme(lo, down), self._extreme(hi.plus(Form(1, {}), 1 if down else -1), not down)
        if first is None or last is None:
            return False
        if abs(step) > 1 and not self._varies(lo) and not self._varies(hi):
            last = self._last(first, last, step)
        least, greatest = (last, first) if down else (first, last)
        self.ranges[head.dst] = _Range(least, greatest)
        self._below(self._emit(ops.SUB, I64, [greatest, least]), self.f.const(I64, _ITERATIONS))
        return True

    def _last(self, first: int, last: int, step: int) -> int:
        """The last index, on the way from the first to the bound by a step."""
        distance = self._emit(ops.SUB, I64, [last, first])
        steps = self._emit(ops.DIV_TRUNC, I64, [distance, self.f.const(I64, step)])
        return self._emit(ops.ADD, I64, [first, self._emit(ops.MUL, I64, [steps, self.f.const(I64, step)])])

    def _varies(self, form: Form) -> bool:
        return any(self.forms.registers[value] in self.ranges for value in form.terms)

    def _extreme(self, form: Form, greatest: bool) -> int | None:
        """An operand for the greatest or the least that a form can be, in front of the loop; None where it is computed from what the loop makes."""
        total: int | None = None
        f = self.f
        for value, coefficient in form.terms.items():
            if abs(coefficient) > _COEFFICIENT:
                return None
            register = self.forms.registers[value]
            bounds = self.ranges.get(register)
            if bounds is not None:
                operand = bounds.greatest if greatest == (coefficient > 0) else bounds.least
            else:
                invariant = self._invariant(value, register)
                if invariant is None:
                    return None
                operand = invariant
            if coefficient != 1:
                operand = self._emit(ops.MUL, I64, [operand, f.const(I64, coefficient)])
            total = operand if total is None else self._emit(ops.ADD, I64, [total, operand])
        if total is None:
            return f.const(I64, form.constant)
        return self._emit(ops.ADD, I64, [total, f.const(I64, form.constant)]) if form.constant else total

    def _invariant(self, value: int, register: int) -> int | None:
        """An operand for a value that the loop does not change, in front of it."""
        if register >= 0:
            return None if self._inside(register) else register
        if any(self._inside(leaf) for leaf in self.forms.leaves[value]):
            return None
        if not self.expressions:
            self._find_expressions()
        made = self.expressions.get(value, -1)
        return self._hoisted(made) if made >= 0 else None

    def _find_expressions(self) -> None:
        forms = self.forms
        for k in range(self.start, self.end):
            dst = self.f.code[k].dst
            if dst >= 0 and self.f.types[dst] is I64 and not self.f.variable[dst]:
                form = forms.of(dst)
                if form is not None and not form.constant and len(form.terms) == 1:
                    ((value, coefficient),) = form.terms.items()
                    if coefficient == 1 and forms.registers[value] < 0:
                        self.expressions.setdefault(value, dst)

    def _hoisted(self, register: int) -> int | None:
        """A register computed once more, in front of the loop, from what is there; what cannot be is none."""
        if register < 0 or not self._inside(register):
            return register
        known = self.made.get(register, -1)
        if known >= 0:
            return known
        instr = self.f.code[self.places[register]]
        if not instr.op.pure:
            return None
        args: list[int] = []
        for a in instr.args:
            moved = self._hoisted(a)
            if moved is None:
                return None
            args.append(moved)
        copy = self.f.register(self.f.types[register])
        self.front.append(Instr(instr.op, instr.type, copy, args, instr.imm, instr.line, instr.source))
        self.made[register] = copy
        return copy

    # --- loops over lanes ---------------------------------------------------------------------------------

    def _lanes_in_order(self) -> bool:
        """Whether all accesses to an array that a loop over lanes stores to are at indices a known distance from each other."""
        code = self.f.code
        for k in range(self.start, self.end):
            loop = code[k].loop
            if loop is not None and loop.lanes and not self._known_distances(k, self.partner[k]):
                return False
        return True

    def _known_distances(self, start: int, end: int) -> bool:
        code = self.f.code
        stored = {instr.imm for instr in code[start:end] if instr.op is ops.STORE}
        indices: dict[int, list[tuple[tuple[int, int], ...] | None]] = {}
        for instr in code[start:end]:
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                if instr.imm not in stored:
                    continue
                found: list[tuple[tuple[int, int], ...] | None] = []
                for operand in instr.args[1 if instr.op is ops.STORE else 0 :]:
                    form = self.forms.of(operand)
                    if form is None:
                        return False
                    found.append(tuple(sorted(form.terms.items())))
                if indices.setdefault(instr.imm, found) != found:
                    return False
        return True


def _one_by_one(code: list[Instr]) -> None:
    """Loops over lanes that still have tests take one index at a time."""
    opened: list[int] = []
    for k, instr in enumerate(code):
        op = instr.op
        if op.opens and not op.closes:
            opened.append(k)
        elif op is ops.END:
            opened.pop()
        elif op is ops.FAIL:
            for j in opened:
                if code[j].loop is not None:
                    code[j].loop = None
    # What asks about lanes, outside of loops over them, asks about itself.
    depth: list[bool] = []
    for instr in code:
        op = instr.op
        if op.opens and not op.closes:
            depth.append(instr.loop is not None and instr.loop.lanes)
        elif op is ops.END:
            depth.pop()
        elif (op is ops.ANY_LANE or op is ops.ALL_LANES) and True not in depth:
            instr.op = ops.COPY
