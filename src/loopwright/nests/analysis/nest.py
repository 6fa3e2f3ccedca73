"""What the analyses of loop nests read off the code: its loops with their bounds, its accesses to arrays with their subscripts, as linear forms.

A *nest* is an outermost loop and everything inside it. Bounds and subscripts are forms (``ir/affine.py``) over the indices of its loops, values that do
not change in the nest (its *parameters*), and values that do, of which no more is known.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op

__all__ = ["MOST_ACCESSES", "UNREACHED", "Access", "Nest", "NestLoop", "Run", "bounds", "nest_of", "nests", "parts"]


#: Loops known to have fewer iterations are short.
FEW: Final = 8
#: A loop that is known to be short has so many lanes at least, of so many bits together.
FEWEST_LANES: Final = 4
SHORTEST: Final = 128
#: No index is so far from 0: what is kept below stands for no limit (``operands.moved``).
UNREACHED: Final = 1 << 62
#: More accesses in a nest, each of which would have to be told apart from all others, are not looked at: they come of loops that were unrolled as the kernel was staged.
MOST_ACCESSES: Final = 250


#: Variables that one is given the values of are followed as far as so many.
MOST_GIVEN: Final = 12
_GIVING: Final = (ops.COPY, ops.SELECT)

#: A comparison of two numbers; of the first and one more number.
Run = tuple[Op, int, int] | tuple[Op, int, int, int]


class NestLoop:
    """A loop of a nest.

    Attributes:
        number: its place in ``Nest.loops``.
        head, end: positions of its brackets.
        parent: the loop directly around it, or None.
        depth: how many loops of the nest are around it.
        index: the register it counts in, or NONE of a ``while`` or ``loop``.
        step: what the index grows by in each iteration, or 0 where that is not known.
        first: forms of which the index begins at the greatest (counting down: at the least); empty where it is not known.
        last: forms below all of which the index stays (counting down: above); those that are known.
        least, greatest: numbers that the index stays between, as far as they follow from the bounds; None where they do not.
        most: how many iterations it has at most; None where that is not known.
        line: the user's line.
    """

    __slots__ = ("depth", "end", "first", "greatest", "head", "index", "last", "least", "line", "most", "number", "parent", "step")

    def __init__(self, number: int, head: int, parent: NestLoop | None, index: int, line: int) -> None:
        self.number = number
        self.head = head
        self.end = -1
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.index = index
        self.step = 0
        self.first: list[Form] = []
        self.last: list[Form] = []
        self.least: int | None = None
        self.greatest: int | None = None
        self.most: int | None = None
        self.line = line

    def long(self) -> bool:
        """Whether it may have more than a few iterations."""
        return self.reaches(FEW)

    def reaches(self, count: int) -> bool:
        """Whether it may have so many iterations."""
        if self.most is not None and self.most < count:
            return False
        for first in self.first:
            for last in self.last:
                span = last.plus(first, -1)
                if not span.terms and span.constant * (1 if self.step > 0 else -1) <= (count - 1) * abs(self.step):
                    return False
        return True


class Access:
    """A load from an array, or a store to one.

    Attributes:
        number: its place in ``Nest.accesses``, which is the order of the text.
        position: of the instruction.
        array: number of the array.
        store: it writes.
        loops: the loops around it, outermost first.
        arms: the arms of ``if`` around it: position of the ``if``, number of the arm.
        subscripts: one form for each dimension, or None where nothing is known.
        line: the user's line.
    """

    __slots__ = ("arms", "array", "line", "loops", "number", "position", "store", "subscripts")

    def __init__(self, number: int, position: int, instr: Instr, store: bool, loops: list[NestLoop], arms: list[tuple[int, int]]) -> None:
        self.number = number
        self.position = position
        self.array = instr.imm
        self.store = store
        self.loops = loops
        self.arms = arms
        self.subscripts: list[Form | None] = []
        self.line = instr.line

    def same(self, other: Access) -> bool:
        """Whether both are to one element, in all iterations of the loops around them."""
        if self.array != other.array:
            return False
        return all(a is not None and b is not None and a.same(b) for a, b in zip(self.subscripts, other.subscripts, strict=True))

    def differs(self, other: Access) -> bool:
        """Whether both, of one array, are known to be to different elements in an iteration."""
        both = zip(self.subscripts, other.subscripts, strict=True)
        return any(a is not None and b is not None and a.terms == b.terms and a.constant != b.constant for a, b in both)


class Nest:
    """An outermost loop.

    Attributes:
        f: the function.
        start, end: positions of its brackets.
        loops: in the order of their heads, the outermost first.
        accesses: in the order of the text.
        forms: what forms are made by.
        indices: per value of ``forms`` that is the index of a loop: the loop.
        mentions: per variable of the function: where it is named first and last.
        obstacles: what keeps its iterations from being put into another order, whatever they access: the user's line, and a sentence.
        runs: comparisons that have to hold for what the nest has been made into, which are asked in front of it.
        told: its dependences, once they have been asked for (``nests/analysis/dependence.py``).
        record: the ``NestReport`` that is told what is tried (``nests/reporting/report.py``); None where nobody asked for one.
    """

    __slots__ = ("_around", "_varying", "accesses", "end", "f", "forms", "indices", "loops", "mentions", "obstacles", "record", "runs", "start", "told")

    def __init__(self, f: Function, start: int, end: int, places: dict[int, int], mentions: dict[int, tuple[int, int]]) -> None:
        self.f = f
        self.start = start
        self.end = end
        self.loops: list[NestLoop] = []
        self.accesses: list[Access] = []
        self.forms = Forms(f, start, end, places)
        self.mentions = mentions
        self._around: dict[int, NestLoop | None] = {}
        self.indices: dict[int, NestLoop] = {}
        self.obstacles: list[tuple[int, str]] = []
        self.runs: list[Run] = []
        self.told: Any = None
        self.record: Any = None
        self._varying: dict[int, bool] = {}

    def around(self, value: int) -> NestLoop | None:
        """The loop around the nest of which a value of a form is the index; None for any other value."""
        if value not in self._around:
            register = self.forms.registers[value]
            place = self.forms.places.get(register, -1) if register >= 0 else -1
            found = None
            if 0 <= place < self.start and self.f.code[place].op is ops.FOR and self.f.code[place].args[2] < 0:
                found = NestLoop(-1, place, None, register, self.f.code[place].line)
                _limit(self, found, self.f.code[place])
            self._around[value] = found
        return self._around[value]

    def varies(self, value: int) -> bool:
        """Whether a value of a form, which is no index, may change within the nest."""
        known = self._varying.get(value)
        if known is None:
            known = self.forms.depends(Form(0, {value: 1}), self.start, self.end)
            self._varying[value] = known
        return known

    def grows(self, form: Form, loop: NestLoop) -> int:
        """By how much a form grows with the index of a loop, taken by itself."""
        return sum([coefficient for value, coefficient in form.terms.items() if self.indices.get(value) is loop])

    def times(self, form: Form | None, loop: NestLoop) -> int:
        """How often the index of a loop is in a form; 2 where that is not known."""
        if form is None or any(value not in self.indices and loop.index in self.forms.leaves[value] for value in form.terms):
            return 2
        return self.grows(form, loop)

    def requires(self, head: Instr, step: int) -> bool:
        """Have it asked in front of the nest whether a loop that it has been made into runs (``runs``); False where its bounds are not known there."""
        lo, hi = head.args[0], head.args[1]
        if not self.ahead(lo) or not self.ahead(hi):
            return False
        asked: Run = (ops.LT if step > 0 else ops.GT, lo, hi)
        if asked not in self.runs:
            self.runs.append(asked)
        return True

    def ahead(self, operand: int) -> bool:
        """Whether an operand has its value in front of the nest."""
        if operand < 0:
            return True
        if self.f.variable[operand]:
            return operand in self.mentions and operand not in self.forms.written
        # (What has been made since has no place.)
        place = self.forms.places.get(operand, -1)
        return place < self.start if place >= 0 else operand in self.f.params

    def name(self, loop: NestLoop) -> str:
        """What the user calls a loop's index."""
        name = self.f.names[loop.index] if loop.index != NONE else ""
        return name or f"loop {loop.number}"

    def text(self, form: Form | None) -> str:
        """A form as the user would write it; ``?`` for what is not known, or is no number that has a name."""
        if form is None:
            return "?"
        words: list[str] = []
        for value, coefficient in sorted(form.terms.items()):
            loop = self.indices.get(value)
            register = self.forms.registers[value]
            name = self.name(loop) if loop is not None else self._named(register) if register >= 0 else "?"
            words.append(f"{'- ' if coefficient < 0 else '+ '}{'' if abs(coefficient) == 1 else f'{abs(coefficient)}*'}{name}")
        if form.constant or not words:
            words.append(f"{'- ' if form.constant < 0 else '+ '}{abs(form.constant)}")
        first = words[0]
        words[0] = first[2:] if first[0] == "+" else f"-{first[2:]}"
        return " ".join(words)

    def _named(self, register: int) -> str:
        for array in self.f.arrays:
            if register in array.extents:
                return f"{array.name}.shape[{array.extents.index(register)}]"
        return self.f.names[register] or "?"

    def accessed(self, access: Access) -> str:
        """The element of an access as the user would write it."""
        return f"{self.f.arrays[access.array].name}[{', '.join([self.text(form) for form in access.subscripts])}]"


_VECTORS: Final = "works on vectors already"
_CHANGES: Final = {ops.ALLOCA: "takes memory of the stack", ops.BARRIER: "accesses volatile memory"}


_LEAVES: Final = frozenset((ops.BR, ops.BR_IF, ops.RET, ops.FAIL))


def nests(f: Function) -> list[Nest]:
    """The nests of a function that is at a stage before ``addresses``. (Of a loop that is left early, calls something, or is ``large``, the loops in it are nests by themselves.)"""
    found: list[Nest] = []
    code: list[Instr] = f.code
    places, mentions = _places(f)
    passed = _left(code)
    if f.large:
        passed = passed | {k for k, instr in enumerate(code) if instr.op is ops.FOR and instr.dst in f.large}
    depth = 0
    start = -1
    inside = 0
    for k in range(len(code)):
        op = code[k].op
        if op.closes:
            if not op.opens:
                depth -= 1
                if start >= 0 and depth == inside:
                    found.append(_read(Nest(f, start, k, places, mentions)))
                    start = -1
        elif op.opens:
            if start < 0 and IS_LOOP[op.code] and k not in passed:
                start = k
                inside = depth
            depth += 1
    return found


def parts(f: Function) -> list[Nest]:
    """The nests of a function; of those with obstacles, which may hold what has become vectors, their innermost loops by themselves."""
    found: list[Nest] = []
    for nest in nests(f):
        if not nest.obstacles:
            found.append(nest)
            continue
        for loop in nest.loops:
            if f.code[loop.head].op is ops.FOR and not any(other.parent is loop for other in nest.loops):
                found.append(_read(Nest(f, loop.head, loop.end, nest.forms.places, nest.mentions)) if loop.parent is not None else nest)
    return found


def nest_of(f: Function, start: int, end: int) -> Nest:
    """The nest that a loop is by itself, whatever is around it.

    Args:
        f: the function.
        start, end: the positions of its brackets.
    """
    places, mentions = _places(f)
    return _read(Nest(f, start, end, places, mentions))


def _left(code: list[Instr]) -> set[int]:
    """The loops that branches leave, or that call something, and hold others; and those around them, of which the others inside had better be nests by themselves."""
    if not any(instr.op in _LEAVES or instr.op.effect == ops.CALLS for instr in code):
        return set()
    left: set[int] = set()
    hold: set[int] = set()
    open_: list[int] = []
    around: dict[int, list[int]] = {}
    for k, instr in enumerate(code):
        op = instr.op
        if op is ops.END:
            open_.pop()
        elif op.opens and not op.closes:
            if IS_LOOP[op.code]:
                hold.update(open_)
            around[k] = list(open_)
            open_.append(k)
        elif op is ops.BR or op is ops.BR_IF:
            # (To a loop's own bracket it is its next step.)
            left.update(open_[len(open_) - instr.imm :])
        elif op in _LEAVES or op.effect == ops.CALLS:
            left.update(open_)
    holding = {k for k in left & hold if IS_LOOP[code[k].op.code]}
    return holding.union(*[around[k] for k in holding])


class _Open:
    """An open bracket: its position, what it is, the number of its arm."""

    __slots__ = ("arm", "loop", "position")

    def __init__(self, position: int, loop: NestLoop | None) -> None:
        self.position = position
        self.loop = loop
        self.arm = 0


def _places(f: Function) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Where each register is defined; where each variable is named first and last."""
    places: dict[int, int] = {}
    mentions: dict[int, tuple[int, int]] = {}
    variable = f.variable
    for k, instr in enumerate(f.code):
        dst = instr.dst
        if dst >= 0:
            if variable[dst]:
                mentions[dst] = (mentions[dst][0] if dst in mentions else k, k)
            else:
                places[dst] = k
        for a in instr.args:
            if a >= 0 and variable[a]:
                mentions[a] = (mentions[a][0] if a in mentions else k, k)
    return places, mentions


def _read(nest: Nest) -> Nest:
    f = nest.f
    opened: list[_Open] = []
    around: list[NestLoop] = []
    for k in range(nest.start, nest.end + 1):
        instr = f.code[k]
        op = instr.op
        if op.opens and not op.closes:
            loop = None
            if IS_LOOP[op.code]:
                loop = _loop(nest, k, instr, around[-1] if around else None)
                around.append(loop)
            opened.append(_Open(k, loop))
        elif op is ops.ELSE or op is ops.ELIF:
            opened[-1].arm += 1
        elif op is ops.END:
            closed = opened.pop()
            if closed.loop is not None:
                closed.loop.end = k
                around.pop()
        elif (op is ops.BR or op is ops.BR_IF) and instr.imm < len(opened) and _counts(nest, opened[-1 - instr.imm].loop):
            nest.obstacles.append((instr.line, "ends an iteration early"))
        elif op is ops.BR or op is ops.BR_IF:
            if instr.imm >= len(opened) or any(bracket.loop is not None for bracket in opened[len(opened) - instr.imm :]):
                nest.obstacles.append((instr.line, "leaves a loop early"))
        elif op is ops.RET or op is ops.FAIL:
            nest.obstacles.append((instr.line, "returns from within the loops"))
        elif op.effect == ops.CALLS:
            nest.obstacles.append((instr.line, f"calls {f.callees[instr.imm].name}" if op in ops.CALLING else _CHANGES[op]))
        elif op is ops.LOAD or op is ops.STORE:
            _access(nest, k, instr, list(around), [(bracket.position, bracket.arm) for bracket in opened if bracket.loop is None])
        elif op.effect == ops.READS or op.effect == ops.WRITES:
            nest.obstacles.append((instr.line, _VECTORS if op in (ops.MASKED_LOAD, ops.MASKED_STORE) else "accesses memory by an address"))
    if len(nest.accesses) > MOST_ACCESSES:
        nest.obstacles.append((f.code[nest.start].line, f"its accesses are too many to tell apart: {len(nest.accesses)}, where {MOST_ACCESSES} are looked at"))
    return nest


def _counts(nest: Nest, loop: NestLoop | None) -> bool:
    """Whether it is a ``for``."""
    return loop is not None and nest.f.code[loop.head].op is ops.FOR


def _loop(nest: Nest, k: int, instr: Instr, parent: NestLoop | None) -> NestLoop:
    loop = NestLoop(len(nest.loops), k, parent, instr.dst, instr.line)
    nest.loops.append(loop)
    if instr.op is not ops.FOR:
        return loop
    if instr.args[2] < 0:
        _limit(nest, loop, instr)
    form = nest.forms.of(instr.dst)
    assert form is not None
    (value,) = form.terms
    nest.indices[value] = loop
    if instr.loop is not None and instr.loop.mask != NONE:
        nest.obstacles.append((instr.line, _VECTORS))
    return loop


def _limit(nest: Nest, loop: NestLoop, instr: Instr) -> None:
    """Note where a loop begins and ends, whose step is known."""
    loop.step = int(nest.f.const_values[~instr.args[2]])
    loop.first = bounds(nest, instr.args[0], loop.step > 0)
    loop.last = bounds(nest, instr.args[1], loop.step < 0, False)
    if loop.step > 0:
        greatest = _greatest(nest, instr.args[1])
        if greatest is not None:
            loop.last.append(Form(greatest, {}))
    if loop.step:
        _within(nest, loop)


def _within(nest: Nest, loop: NestLoop) -> None:
    """Note which numbers a loop's index is between, and how many iterations that is at most, as far as the indices of the loops around tell."""
    upwards = loop.step > 0
    low, high = (loop.first, loop.last) if upwards else (loop.last, loop.first)
    lows = [number for form in low for number in [_extreme(nest, form, False)] if number is not None]
    highs = [number for form in high for number in [_extreme(nest, form, True)] if number is not None]
    loop.least = max(lows) + int(not upwards) if lows else None
    loop.greatest = min(highs) - int(upwards) if highs else None
    spans = [number for a in low for b in high for number in [_extreme(nest, b.plus(a, -1), True)] if number is not None]
    loop.most = max(0, -(-min(spans) // abs(loop.step))) if spans else None


def _extreme(nest: Nest, form: Form, greatest: bool) -> int | None:
    """The greatest or the least number that a form of indices may be; None where that is not known."""
    total = form.constant
    for value, coefficient in form.terms.items():
        loop = nest.indices.get(value)
        if loop is None:
            return None
        number = loop.greatest if (coefficient > 0) == greatest else loop.least
        if number is None:
            return None
        total += coefficient * number
    return total


def _greatest(nest: Nest, operand: int) -> int | None:
    """The greatest value of what is one of some constants, such as how many bytes come behind a first one; None for anything else."""
    f = nest.f
    place = nest.forms.places.get(operand, -1)
    if operand < 0 or not (f.variable[operand] or (place >= 0 and f.code[place].op in _GIVING)):
        return None
    given = {operand}
    known = 0
    found: list[int] = []
    while known != len(given) and len(given) <= MOST_GIVEN:
        known = len(given)
        found = []
        for instr in f.code:
            if instr.dst not in given:
                continue
            if instr.op not in _GIVING:
                return None
            values = instr.args[-2:] if instr.op is ops.SELECT else instr.args
            found += [int(f.const_values[~a]) for a in values if a < 0]
            given.update([a for a in values if a >= 0])
    return max(found) if found and known == len(given) and given.isdisjoint(f.params) else None


def bounds(nest: Nest, operand: int, greatest: bool, whole: bool = True) -> list[Form]:
    """The forms that a bound is the greatest (or the least) of; of one that is made of others in another way it is a form of its own, or none.

    Without ``whole``, a number that no index reaches is none of them. With it (as is the default), nothing is given where part of them is not known: the bound could be anything then.
    """
    f = nest.f
    place = nest.forms.places.get(operand, -1) if operand >= 0 else -1
    if place >= 0 and f.code[place].op is (ops.MAX if greatest else ops.MIN):
        parts = [bounds(nest, part, greatest, whole) for part in f.code[place].args]
        if whole and not all(parts):
            return []
        found = [form for part in parts for form in part]
        return found if whole else [form for form in found if form.terms or abs(form.constant) < UNREACHED]
    if place >= 0 and f.code[place].op in (ops.ADD, ops.SUB) and f.code[place].args[1] < 0:
        # (Moved by a number.)
        first, more = f.code[place].args
        by = int(f.const_values[~more])
        return [form.plus(Form(by if f.code[place].op is ops.ADD else -by, {}), 1) for form in bounds(nest, first, greatest, whole)]
    made = nest.forms.of(operand)
    return [] if made is None else [made]


def _access(nest: Nest, k: int, instr: Instr, loops: list[NestLoop], arms: list[tuple[int, int]]) -> None:
    store = instr.op is ops.STORE
    access = Access(len(nest.accesses), k, instr, store, loops, arms)
    access.subscripts = [nest.forms.of(operand) for operand in (instr.args[1:] if store else instr.args)]
    nest.accesses.append(access)
    if instr.type.lanes:
        nest.obstacles.append((instr.line, _VECTORS))
