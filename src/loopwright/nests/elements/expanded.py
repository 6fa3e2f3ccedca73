"""Arrays that each iteration of a loop fills before it reads them: an element for each lane instead of each of theirs, so that the loop has lanes.

::

    for j = 0, n                                 for first = 0, n, 8
      c[0] = …; d[0] = …                           for j = first, min(first + 8, n)
      for k = 1, m                                   own[0, j - first] = …
        c[k] = … c[k - 1] …               →          for k = 1, m: own[k, j - first] = … own[k - 1, j - first] …
        d[k] = … d[k - 1] …                          for k = m - 2, -1, -1: x[k, j] = …
      for k = m - 2, -1, -1: x[k, j] = …         c[0 : m], d[0 : m] = those of the last iteration

Tridiagonal systems, wavelets and filters that go down columns put a column by in arrays that the next one writes over. None of it goes from one iteration to the next: it is stored where it is read, which the bounds of
the loops that store it say (array expansion: P. Feautrier, "Array expansion", ICS 1988; what is written first by regions: P. Tu and D. Padua, "Automatic array privatization", LCPC 1993). What the last iteration leaves
there is copied back.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.elements.held_elements import plain, under
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.operands import of_form
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.steps.lanes import adjacent, free, strided
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, VOID

__all__ = ["run"]

#: So many arrays of a loop are expanded at most, and with fewer rows than this it is not done.
MOST: Final = 6
FEWEST: Final = 48
#: Bytes for all of them: a part of the second cache.
MOST_BYTES: Final = 49152
_LOOPS: Final = (ops.FOR,)
#: The first and the last number of a range, both in it.
_Range = tuple[Form, Form]


def run(f: Function, target: Target, distinct: set[int]) -> dict[int, str]:
    """Expand the arrays of such loops of a function.

    Args:
        f: the function.
        target: the machine.
        distinct: receives the indices of outermost loops that run only where arrays do not overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or f.options.check:
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles or len(nest.loops) < 2:
            continue
        for loop in nest.loops:
            filled = _filled(nest, loop)
            if filled and _worth(nest, loop, target):
                told, index = _rewritten(nest, loop, filled, target)
                if told:
                    distinct.add(index)
                    done[index] = told
                    break
    return done


class _Filled:
    """An array that each iteration of a loop fills before it reads it.

    Attributes:
        accesses: those in the loop.
        ranges: what has to have an element each: where it is stored, and what else was asked.
        first, last: of all of them together.
    """

    __slots__ = ("accesses", "first", "last", "ranges")

    def __init__(self, accesses: list[Access], ranges: list[_Range], whole: _Range) -> None:
        self.accesses = accesses
        self.ranges = ranges
        self.first, self.last = whole


def _filled(nest: Nest, loop: NestLoop) -> list[_Filled]:
    """The arrays that a loop fills again in each iteration."""
    if loop.step != 1 or not loop.long() or not any(other.parent is loop for other in nest.loops) or not plain(nest.f, loop, _LOOPS):
        return []
    own = [access for access in nest.accesses if loop.head < access.position < loop.end]
    found: list[_Filled] = []
    for array in sorted({access.array for access in own if access.store and len(access.subscripts) == 1}):
        accesses = [access for access in own if access.array == array]
        if any(not access.store for access in accesses) and any(access.loops[-1] is not loop for access in accesses):
            filled = _stored(nest, loop, accesses)
            if filled is not None:
                found.append(filled)
    return found if len(found) <= MOST else []


def _stored(nest: Nest, loop: NestLoop, accesses: list[Access]) -> _Filled | None:
    """An array, if each of its loads in a loop is of what the same iteration has stored, and all iterations store to the same elements."""
    ranges: list[tuple[_Range, NestLoop | None]] = []  # and the inner loop that stores there
    asked: list[_Range] = []
    for access in accesses:
        if not access.store:
            # (What the loop around it stores, it has stored in part.)
            inner = _inner(loop, access)
            before = [stored for stored, within in ranges if within is None or within is not inner]
            # (Of two that it stores nothing is joined: both are empty in its first iteration.)
            options = [_within(nest, loop, access, [*before, *more]) for more in ([], *[[one] for one in _so_far(nest, loop, access, accesses)])]
            possible = [within for within in options if within is not None]
            if not possible:
                return None
            fewest = possible[0]
            for other in possible[1:]:
                fewest = other if len(other) < len(fewest) else fewest
            asked += fewest
        else:
            stored = _of_all(nest, loop, access, accesses)
            if stored is not None:
                ranges.append((stored, _inner(loop, access)))
    joined = _joined([stored for stored, _ in ranges])
    if len(joined) != 1:
        return None
    for access in accesses:
        within = _within(nest, loop, access, joined) if access.store else []
        if within is None:
            return None
        asked += within
    return _Filled(accesses, [*[stored for stored, _ in ranges], *asked], joined[0])


def _inner(loop: NestLoop, access: Access) -> NestLoop | None:
    """The loop directly inside of another that an access is in; None where it is in none."""
    return access.loops[loop.depth + 1] if len(access.loops) > loop.depth + 1 else None


def _so_far(nest: Nest, loop: NestLoop, load: Access, accesses: list[Access]) -> list[_Range]:
    """What the inner loop around a load has stored when it comes to it."""
    found: list[_Range] = []
    inner = _inner(loop, load)
    if inner is not None:
        for store in accesses:
            whole = _of_all(nest, loop, store) if store.store and store.loops[-1] is inner else None
            form = store.subscripts[0]
            if whole is None or form is None:
                continue
            # (Going up in the array, from its first element to this one, or to the one before.)
            moves = nest.grows(form, inner) * inner.step
            near = form if store.position < load.position else form.plus(Form(moves, {}), -1)
            if abs(moves) == 1:
                found.append((whole[0], near) if moves > 0 else (near, whole[1]))
    return found


def _of_all(nest: Nest, loop: NestLoop, store: Access, beside: Sequence[Access] = ()) -> _Range | None:
    """The elements that a store is to in each iteration of a loop, none left out; None where that is not known in front of the nest.

    Of a store to every second element, or third, those that the ones in front of it in ``beside`` are to as well, if they fill the gaps.
    """
    form = store.subscripts[0]
    if form is None or under(loop, store) or len(store.loops) > loop.depth + 2:
        return None
    after = form
    inner = _inner(loop, store)
    if inner is not None:
        grows = abs(nest.grows(form, inner))
        if not grows or len(inner.first) != 1 or len(inner.last) != 1:
            return None
        if grows > 1:
            filled = {constant for other in beside if (constant := _beside(loop, store, other)) is not None}
            first = next((constant for constant in sorted(filled) if filled.issuperset(range(constant, constant + grows))), None)
            if first is None:
                return None
            form, after = Form(first, form.terms), Form(first + grows - 1, form.terms)
    least, greatest = _end(nest, loop, form, False), _end(nest, loop, after, True)
    return (least, greatest) if least is not None and greatest is not None and _ahead(nest, least) and _ahead(nest, greatest) else None


def _beside(loop: NestLoop, store: Access, other: Access) -> int | None:
    """The constant of where another store goes that is made whenever one is, in front of it, any distance from it in the array."""
    form, another = store.subscripts[0], other.subscripts[0]
    if form is None or another is None or not other.store or other.position > store.position or other.loops != store.loops or under(loop, other):
        return None
    return another.constant if another.terms == form.terms else None


def _end(nest: Nest, loop: NestLoop, form: Form, greatest: bool) -> Form | None:
    """What a form is at most, or at least, while a loop is in one iteration, by the bounds of those in it; None where that is not known."""
    for _ in nest.loops:
        index = next((value for value in form.terms if value in nest.indices and loop.head < nest.indices[value].head < loop.end), None)
        if index is None:
            break
        inner, coefficient = nest.indices[index], form.terms[index]
        up = (coefficient > 0) == greatest  # it is the index's own greatest value that is wanted
        limits = inner.last if up == (inner.step > 0) else inner.first
        if abs(inner.step) != 1 or not limits:
            return None
        beyond = 0 if limits is inner.first else -inner.step
        form = form.plus(limits[0], coefficient).plus(Form(beyond, {}), coefficient).plus(Form(0, {index: 1}), -coefficient)
    return form


def _ahead(nest: Nest, form: Form) -> bool:
    """Whether all that a form is made of is in registers in front of the nest."""
    return all(_register(nest, value) is not None for value in form.terms)


def _register(nest: Nest, value: int) -> int | None:
    """The register in front of the nest that a value of a form is in; None where there is none."""
    forms = nest.forms
    if forms.registers[value] >= 0:
        return forms.registers[value] if nest.ahead(forms.registers[value]) else None
    # (An expression, such as a quotient.)
    return next((r for r, form in forms.forms.items() if form is not None and form.constant == 0 and form.terms == {value: 1} and nest.ahead(r)), None)


def _apart(a: Form, b: Form) -> int | None:
    """By how much the first of two forms is greater than the second; None where that is not known."""
    return a.constant - b.constant if a.terms == b.terms else None


def _joined(ranges: list[_Range]) -> list[_Range]:
    """Ranges, each of which has an element at least, those joined between which there is no gap."""
    left = list(ranges)
    found: list[_Range] = []
    while left:
        one = left.pop()
        k = 0
        while k < len(left):
            both = _both(one, left[k])
            if both is None:
                k += 1
            else:
                one = both
                del left[k]
                k = 0
        found.append(one)
    return found


def _both(a: _Range, b: _Range) -> _Range | None:
    """Two ranges as one, where nothing is between them."""
    if _apart(b[0], a[1]) == 1:
        return a[0], b[1]
    if _apart(a[0], b[1]) == 1:
        return b[0], a[1]
    for one, other in ((a, b), (b, a)):
        if _apart(*other) == 0 and 0 in (_apart(other[0], one[0]), _apart(other[0], one[1])):
            # (It is the first or the last of them.)
            return one
    first, last = _apart(b[0], a[0]), _apart(b[1], a[1])
    if first is None or last is None or abs(first) > 1:
        return None
    return a[0] if first >= 0 else b[0], a[1] if last <= 0 else b[1]


def _within(nest: Nest, loop: NestLoop, access: Access, ranges: list[_Range]) -> list[_Range] | None:
    """What an access in a loop being to an element of some ranges asks for, first numbers that are not to be greater than second ones; None where it cannot be told."""
    form = access.subscripts[0]
    if form is None:
        return None
    at_least, at_most = [_end(nest, loop, form, False)], [_end(nest, loop, form, True)]
    inner = _inner(loop, access)
    if inner is not None:
        # (While the inner loop is in one iteration.)
        at_least.append(_end(nest, inner, form, False))
        at_most.append(_end(nest, inner, form, True))
    best: list[_Range] | None = None
    for first, last in _joined(ranges):
        below = _asked(nest, [(first, end) for end in at_least if end is not None])
        above = _asked(nest, [(end, last) for end in at_most if end is not None])
        if below is not None and above is not None and (best is None or len(below) + len(above) < len(best)):
            best = [*below, *above]
    return best


def _asked(nest: Nest, one_of: list[_Range]) -> list[_Range] | None:
    """That one of several numbers is not greater than another: nothing where it is known, or one that may be asked in front of the nest; None where there is none."""
    asked: list[_Range] | None = None
    for smaller, greater in one_of:
        difference = _apart(greater, smaller)
        if difference is not None and difference >= 0:
            return []
        if asked is None and difference is None and _ahead(nest, smaller) and _ahead(nest, greater):
            asked = [(smaller, greater)]
    return asked


def _worth(nest: Nest, loop: NestLoop, target: Target) -> bool:
    """Whether most of what the innermost loops in a loop do has no lanes by itself."""
    if too_many(nest):
        return False
    variables, found = scalars(nest), dependences(nest)
    beside = adjacent(nest, variables, target)
    laned = [other for other in (*beside, *strided(nest, variables, target, beside, found)) if free(other, found)]
    holding = [other.parent for other in nest.loops]
    inside = [other for other in nest.loops if loop.head < other.head < loop.end and other not in holding]
    deepest = max(other.depth for other in inside)
    left = sum([(other.end - other.head) * (-1 if other in laned else 1) for other in inside if other.depth == deepest])
    return left > 0


def _rewritten(nest: Nest, loop: NestLoop, filled: list[_Filled], target: Target) -> tuple[str, int]:
    """Expand the arrays of a loop where it gets lanes so. Returns what was done, or nothing, and the index of the outermost loop."""
    f = nest.f
    original, arrays, end = f.code, len(f.arrays), nest.end + 1
    elements = [f.arrays[one.accesses[0].array].element.size for one in filled]
    width = target.vector_bits // 8 // max(elements)
    # (What is left of the frame, some of it for others.)
    most = min(MOST_BYTES, MOST_LOCAL - f.local_bytes() - (len(filled) + 4) * LOCAL_ALIGN) // (width * sum(elements))
    if most < FEWEST:
        return "", NONE
    front = Code(f, loop.line, [])
    held = {value: _register(nest, value) for one in filled for form in itertools.chain(*one.ranges) for value in form.terms}
    where = {value: register for value, register in held.items() if register is not None}
    runs: list[tuple[Op, int, int]] = []
    lo, hi = original[loop.head].args[:2]
    if nest.ahead(lo) and nest.ahead(hi):
        runs.append((ops.GE, front.op(ops.SUB, hi, lo), f.const(I64, width)))
    known: set[tuple[object, ...]] = set()
    numbers: dict[int, tuple[int, int]] = {}
    for one in filled:
        array = f.arrays[one.accesses[0].array]
        base = front.const(0) if _apart(one.first, Form(0, {})) in (0, 1) else of_form(nest, one.first, front.line, front.out, where)
        behind = of_form(nest, one.last.plus(Form(1, {}), 1), front.line, front.out, where)
        runs.append((ops.LE, front.op(ops.SUB, behind, base), f.const(I64, most)))
        for first, last in one.ranges:
            question = (first.constant, last.constant, *first.terms.items(), *last.terms.items())
            difference = _apart(last, first)
            if difference is not None and difference < 0:
                # (A loop that never runs.)
                del f.arrays[arrays:]
                return "", NONE
            if difference is None and question not in known:
                known.add(question)
                runs.append((ops.LE, of_form(nest, first, front.line, front.out, where), of_form(nest, last, front.line, front.out, where)))
        number = len(f.arrays)
        own = f.local_array(f"{array.name}.lanes", array.element, (most, width))
        own.written = True
        front.out.append(Instr(ops.LOCAL, PTR, own.base, [f.const(I64, number)], 0, loop.line))
        numbers[one.accesses[0].array] = (number, base)
    instead, index = _strips(nest, loop, filled, numbers, where, width)
    body = [*original[nest.start : loop.head], *instead, *original[loop.end + 1 : end]]
    f.code = [*original[: nest.start], *front.out, *body, *original[end:]]
    made = next(one for one in nests(f) if any(each.index == index for each in one.loops))
    variables = scalars(made)
    laned = next((each for each in adjacent(made, variables, target) if each.index == index), None)
    gains = laned is not None and not made.obstacles and not too_many(made) and free(laned, dependences(made))
    f.code = original
    if not gains:
        del f.arrays[arrays:]
        return "", NONE
    asked = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    plain_code = apart.as_written(f, original, nest.start, end)
    f.code = [*original[: nest.start], *front.out, *apart.versioned(f, asked, plain_code, body, front.line, runs), *original[end:]]
    names = ", ".join([f.arrays[array].name for array in numbers])
    return f"an element of {names} for each of {width} iterations of {nest.name(loop)}", next(instr.dst for instr in body if instr.op is ops.FOR)


def _strips(
    nest: Nest, loop: NestLoop, filled: list[_Filled], numbers: dict[int, tuple[int, int]], where: dict[int, int], width: int
) -> tuple[list[Instr], int]:
    """A loop, so many iterations at a time, with an element for each of these; and the index of the loop over them."""
    f = nest.f
    head = f.code[loop.head]
    code = Code(f, loop.line, [])
    lo, hi = [read_once(f, bound, loop.line, code.out) for bound in head.args[:2]]
    first = code.begin(lo, hi, width)
    index = code.begin(first, code.op(ops.MIN, code.op(ops.ADD, first, code.const(width)), hi), 1, f.names[head.dst])
    at = code.op(ops.SUB, index, first)
    rename = {head.dst: index}
    for variable in own_variables(nest, loop):
        rename[variable] = f.register(f.types[variable], f.names[variable], True)
    body: list[Instr] = []
    for instr in f.code[loop.head + 1 : loop.end]:
        if instr.op in ops.ACCESSES and instr.imm in numbers:
            number, base = numbers[instr.imm]
            instr = instr.copy()
            row = instr.args[-1]
            if base != code.const(0):
                moved = f.register(I64, "")
                body.append(Instr(ops.SUB, I64, moved, [row, base], 0, instr.line))
                row = moved
            instr.args = [*instr.args[:-1], row, at]
            instr.imm = number
        body.append(instr)
    clone(f, body, rename, code.out)
    code.end()
    code.end()
    # What the last iteration has left.
    code.out.append(Instr(ops.IF, VOID, NONE, [code.op(ops.LT, lo, hi, BOOL)], 0, code.line))
    last = code.op(ops.AND, code.op(ops.SUB, code.op(ops.SUB, hi, code.const(1)), lo), code.const(width - 1))
    for one in filled:
        array = one.accesses[0].array
        number, base = numbers[array]
        element = f.arrays[array].element
        row = code.begin(of_form(nest, one.first, code.line, code.out, where), of_form(nest, one.last.plus(Form(1, {}), 1), code.line, code.out, where), 1)
        value = f.register(element, "")
        code.out.append(Instr(ops.LOAD, element, value, [code.op(ops.SUB, row, base) if base != code.const(0) else row, last], number, code.line))
        code.out.append(Instr(ops.STORE, element, NONE, [value, row], array, code.line))
        code.end()
    code.end()
    return code.out, index
