"""Accesses of a lanes loop that depend on each other from one index to another, so that lanes at once are not the plain loop.

In the plain loop everything of one index is done before anything of the next. In lanes, each access is done for a vector of indices before the next access
is. Two accesses to one element, one of them a store, by indices nearer than a vector is long, must come in the same order both times. Let A and B be such
accesses, A before B in the text, at c times the loop's index plus a and plus b. B reaches the element of A's index i at index i + (a - b) / c, where c divides that. If that is a later index, A
comes first in either way. If it is an earlier one, the plain loop does B first, and the lanes do A first. An inner loop goes around all lanes at once, so
there the order is that of its steps; where the indices do not say in which steps two accesses meet, they meet in any.

Only distances that are known while compiling are looked at: this is the test of Allen and Kennedy (Optimizing Compilers for Modern Architectures, 2001,
sections 2.2 and 5.2) for a loop that is made the innermost, on the code as it was staged, which is the same for vectors and without.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import KernelTypeError
from loopwright.frontend.emitter import Emitter
from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.function import Instr
from loopwright.ir.loops import LOOPS

__all__ = ["refuse_dependences"]

#: Bits of the widest vector of any target: no element is further from another in one vector.
WIDEST: Final = 512


class _Bracket:
    """A bracket within the loop: where it begins, whether it is a loop, the conditions of its arms, the arm that is being looked at."""

    __slots__ = ("arm", "conditions", "loop", "place")

    def __init__(self, place: int, loop: bool) -> None:
        self.place = place
        self.loop = loop
        self.arm = 0
        self.conditions: list[int] = []


class _Access:
    """An access within the loop.

    Attributes:
        indices: the operands of its index.
        loops: the positions of the inner loops around it, outermost first.
        arms: (an if, number of its arm) around it.
    """

    __slots__ = ("arms", "indices", "instr", "loops", "store")

    def __init__(self, instr: Instr, rank: int, loops: list[int], arms: list[tuple[_Bracket, int]]) -> None:
        self.instr = instr
        self.store = instr.op is ops.STORE
        self.indices = instr.args[-rank:]
        self.loops = loops
        self.arms = arms


def refuse_dependences(emitter: Emitter, opener: Instr) -> None:
    """Refuse the loop over lanes that has just been closed if lanes at once would give another result than the plain loop, and that is certain."""
    code = emitter.code
    end = len(code) - 1
    start = end
    # Per array the index of the last access, the first that is met here; the arrays with another index too, and those that are stored to.
    last: dict[int, list[int]] = {}
    differing: set[int] = set()
    stored: set[int] = set()
    while True:
        instr = code[start]
        if instr is opener:
            break
        op = instr.op
        if op is ops.LOAD or op is ops.STORE:
            array = instr.imm
            indices = instr.args if op is ops.LOAD else instr.args[1:]
            if op is ops.STORE:
                stored.add(array)
            if last.setdefault(array, indices) != indices:
                differing.add(array)
        start -= 1
    looked_at = stored & differing
    if looked_at:
        nest = _Nest(Forms(emitter.f, start, end), opener.dst, start, end)
        for accesses in _accesses(emitter, looked_at, start, end).values():
            _refuse(emitter, nest, accesses)


def _accesses(emitter: Emitter, looked_at: set[int], start: int, end: int) -> dict[int, list[_Access]]:
    """The accesses of the loop to some arrays, per array, in the order of the text."""
    arrays = emitter.f.arrays
    found: dict[int, list[_Access]] = {}
    opened: list[_Bracket] = []
    for position in range(start + 1, end):
        instr = emitter.code[position]
        op = instr.op
        if op is ops.LOAD or op is ops.STORE:
            if instr.imm not in looked_at:
                continue
            loops = [bracket.place for bracket in opened if bracket.loop]
            arms = [(bracket, bracket.arm) for bracket in opened if not bracket.loop]
            found.setdefault(instr.imm, []).append(_Access(instr, len(arrays[instr.imm].extents), loops, arms))
        elif op.opens and not op.closes:
            opened.append(_Bracket(position, op in LOOPS))
            if op is ops.IF:
                opened[-1].conditions.append(instr.args[0])
        elif op is ops.THEN:
            opened[-1].conditions.append(instr.args[0])
        elif op is ops.END:
            opened.pop()
        elif op is ops.ELSE or op is ops.ELIF:
            opened[-1].arm += 1
    return found


class _Nest:
    """The loop over lanes, with the forms of what it computes."""

    __slots__ = ("end", "forms", "lane", "start")

    def __init__(self, forms: Forms, index: int, start: int, end: int) -> None:
        self.forms = forms
        self.start = start
        self.end = end
        made = forms.of(index)
        assert made is not None
        (self.lane,) = made.terms

    def distance(self, a: _Access, b: _Access) -> int:
        """How many indices later ``b`` reaches the element of ``a``; 0 where that is not known, or makes no difference."""
        if self._exclusive(a, b):
            return 0
        later = 0
        along: list[Form] = []
        others: list[tuple[int, int]] = []
        for p, q in zip(a.indices, b.indices, strict=True):
            x, y = self.forms.of(p), self.forms.of(q)
            if x is None or y is None or x.terms != y.terms:
                return 0
            unit = x.terms.get(self.lane, 0)
            if not unit:
                others.append((p, q))
                continue
            # Elements of one residue by the index's coefficient, and indices that are as far apart in all dimensions.
            apart = x.constant - y.constant
            if apart % unit or along and apart // unit != later:
                return 0
            later = apart // unit
            along.append(x)
        if later == 0:
            return 0
        common = [place for place, other in zip(a.loops, b.loops, strict=False) if place == other]
        # In how many steps of each common inner loop b comes after a; loops that are not in here may be at any step.
        steps: dict[int, int] = {}
        for place in common:
            if any(self._varies(x, place) for x in along):
                steps[place] = 0
        for p, q in others:
            if not self._meet(p, q, common, steps):
                return 0
        for place in common:
            after = steps.get(place)
            if after is None:
                # At some step one comes first, at another step the other.
                return later
            if after:
                return later if (after > 0) != (later > 0) else 0
        return min(0, later)

    def _meet(self, p: int, q: int, common: list[int], steps: dict[int, int]) -> bool:
        """Whether an index without the lanes' is sure to be the same in both accesses; enters in which steps of the inner loops."""
        forms = self.forms
        x, y = forms.of(p), forms.of(q)
        if x is None or y is None or x.terms != y.terms:
            return False
        apart = x.constant - y.constant
        varying = [place for place in common if self._varies(x, place)]
        if len(varying) == 1:
            place = varying[0]
            counter = forms.code[place]
            for value, coefficient in x.terms.items():
                if forms.registers[value] == counter.dst and counter.op is ops.FOR and counter.args[2] < 0:
                    others = Form(0, {v: c for v, c in x.terms.items() if v != value})
                    unit = coefficient * int(forms.f.const_values[~counter.args[2]])
                    if self._varies(others, place) or apart % unit:
                        return False
                    return steps.setdefault(place, apart // unit) == apart // unit
        for place in varying:
            if steps.setdefault(place, 0):
                return False
        return apart == 0

    def _varies(self, form: Form, place: int) -> bool:
        """Whether a form changes from step to step of an inner loop."""
        return self.forms.depends(form, place, self._end(place))

    def _end(self, place: int) -> int:
        depth = 0
        code = self.forms.code
        while True:
            op = code[place].op
            if op.opens and not op.closes:
                depth += 1
            elif op is ops.END:
                depth -= 1
                if depth == 0:
                    return place
            place += 1

    def _exclusive(self, a: _Access, b: _Access) -> bool:
        """Whether they are in different arms of an if that goes one way for all lanes and steps."""
        for (bracket, arm), (other, another) in zip(a.arms, b.arms, strict=False):
            if bracket is not other:
                return False
            if arm != another:
                condition = self.forms.of(bracket.conditions[min(arm, another)])
                return condition is not None and not self.forms.depends(condition, self.start, self.end)
        return False


def _refuse(emitter: Emitter, nest: _Nest, accesses: list[_Access]) -> None:
    element = emitter.f.arrays[accesses[0].instr.imm].element
    # A condition in memory is a byte.
    most = WIDEST // max(element.bits, 8)
    for number, b in enumerate(accesses):
        for a in accesses[:number]:
            if not (a.store or b.store):
                continue
            later = nest.distance(a, b)
            if later and abs(later) < most:
                raise KernelTypeError(_message(emitter, nest, a, b, later), emitter.f.file, b.instr.line)


def _message(emitter: Emitter, nest: _Nest, a: _Access, b: _Access, later: int) -> str:
    # In the plain loop the one at the smaller index comes first.
    first, second = (a, b) if later > 0 else (b, a)
    lines = (first.instr.line, second.instr.line)
    here = f" (line {lines[0]})" if lines[0] != lines[1] else ""
    count = f"{abs(later)} ind{'ex' if abs(later) == 1 else 'ices'}"
    return (
        f"{_spelled(emitter, nest, second)} {_does(second)} the element that {_spelled(emitter, nest, first)} {_does(first)}{here} {count} earlier: the lanes of lw.lanes run at once, "
        "and do the one access in the whole vector before the other, which gives another result than index after index; use lw.range for this loop"
    )


def _does(access: _Access) -> str:
    return "stores" if access.store else "reads"


def _spelled(emitter: Emitter, nest: _Nest, access: _Access) -> str:
    """The access as in the source, as far as that is known."""
    return f"{emitter.f.arrays[access.instr.imm].name}[{', '.join(_index(emitter, nest, operand) for operand in access.indices)}]"


def _index(emitter: Emitter, nest: _Nest, operand: int) -> str:
    form = nest.forms.of(operand)
    if form is None:
        return "…"
    text = ""
    # The loop's own index first.
    for value in sorted(form.terms, key=lambda value: value != nest.lane):
        coefficient = form.terms[value]
        register = nest.forms.registers[value]
        name = (emitter.f.names[register] if register >= 0 else "") or "…"
        sign = "-" if coefficient < 0 else "+"
        part = name if abs(coefficient) == 1 else f"{abs(coefficient)} * {name}"
        text += f" {sign} {part}" if text else part if coefficient > 0 else f"-{part}"
    if not text:
        return str(form.constant)
    return text if not form.constant else f"{text} {'-' if form.constant < 0 else '+'} {abs(form.constant)}"
