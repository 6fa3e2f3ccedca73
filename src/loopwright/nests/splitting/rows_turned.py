"""Rows of an array, one for each lane, whose elements several loops inside go along: turned round, as many rows as a vector has lanes, so that lanes are beside each other.

::

    for i = 0, n                             for first = 0, n, 16
      for c = 0, m                             for i = first, min(first + 16, n): for k: turned[k, i - first] = x[i, k]
        d = 0                                  for i = first, min(first + 16, n) in lanes
        for k = 0, l                   →         for c = 0, m
          e = x[i, k] - y[c, k]                    d = 0
          d = d + e * e                            for k = 0, l
        if d < best: best = d; at = c                e = turned[k, i - first] - y[c, k]
      label[i] = at                                  d = d + e * e
                                                   …

So are those that are read again in each iteration of the loop around: distances of all points from each other (``out[j, i] = f(y[j, :], x[i, :])``) go strip by strip, the loop around in each. Rows of few elements are shorter than
vectors, and totals across lanes take longer than the totals; turned round each lane has a total of its own (copying before computing: M. Lam, E. Rothberg and M. Wolf, "The cache performance and optimizations of blocked
algorithms", ASPLOS 1991, section 5). Rows that are longer, which is asked in front, stay as they are.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, Run
from loopwright.nests.analysis.scalars import CARRIED, scalars
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.operands import of_form
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.laned import have_lanes
from loopwright.nests.steps.lanes import free, independent, may_be_in_lanes
from loopwright.targets.target import Target
from loopwright.types import I64, PTR

__all__ = ["Turned", "run", "turn"]

#: Rows of so many elements are turned, and so many arrays' at most.
MOST_ELEMENTS: Final = 64
MOST: Final = 3


class Turned:
    """What takes the place of a loop.

    Attributes:
        loop: the loop.
        code: what is there instead.
        ahead: what has to be in front of the nest.
        runs: what has to hold for that.
        index: the index of the loop over lanes.
        text: what was done, for the report.
    """

    __slots__ = ("ahead", "code", "index", "loop", "runs", "text")

    def __init__(self, loop: NestLoop, code: list[Instr], ahead: list[Instr], runs: list[Run], index: int, text: str) -> None:
        self.loop = loop
        self.code = code
        self.ahead = ahead
        self.runs = runs
        self.index = index
        self.text = text


def run(f: Function, found: list[Nest], target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite such loops of a function.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    for nest in reversed(found):
        if nest.obstacles or f.options.check:
            continue
        for loop in nest.loops:
            turned = turn(nest, loop, target)
            if turned is not None:
                outermost = turned.loop is nest.loops[0]
                replaced(nest, turned.loop, turned.code, written, turned.ahead, turned.runs)
                done[turned.code[0].dst if outermost else nest.loops[0].index] = turned.text
                break
    return done


def turn(nest: Nest, loop: NestLoop, target: Target) -> Turned | None:
    """What a loop becomes with the rows turned that its iterations go along, if it has lanes then and none before."""
    if not target.vector_bits or loop.step != 1 or not loop.long():
        return None
    reads = _reads(nest, loop)
    if not reads or len(reads) > MOST or any(a >= 0 and nest.f.variable[a] for a in nest.f.code[loop.head].args):
        return None
    variables = scalars(nest)
    # (What depends on what takes longest to find out.)
    if may_be_in_lanes(nest, loop, variables, target) and (too_many(nest) or free(loop, dependences(nest))):
        return None
    outer = loop
    if not _again(loop, reads):
        around = loop.parent
        if around is None or not _changes_places(nest, around, loop) or too_many(nest):
            return None
        found = dependences(nest)
        if not independent(around, found) or not independent(loop, found) or any(one.loop is around and one.kind == CARRIED for one in variables):
            return None
        outer = around
    return _made(nest, outer, loop, reads, target)


def _reads(nest: Nest, loop: NestLoop) -> dict[tuple[int, int], list[Access]]:
    """The loads of elements of the row that an iteration of a loop has for itself, by the array and how many rows further down it is."""
    found: dict[tuple[int, int], list[Access]] = {}
    stored = {access.array for access in nest.accesses if access.store}
    for access in nest.accesses:
        if access.store or access.array in stored or len(access.subscripts) != 2 or not loop.head < access.position < loop.end or access.loops[-1] is loop:
            continue
        row, place = access.subscripts
        if (
            row is not None
            and list(row.terms)
            and all(nest.indices.get(value) is loop for value in row.terms)
            and nest.times(row, loop) == 1
            and nest.times(place, loop) == 0
        ):
            found.setdefault((access.array, row.constant), []).append(access)
    return found


def _again(loop: NestLoop, reads: dict[tuple[int, int], list[Access]]) -> bool:
    """Whether an iteration reads its row several times, in a loop of its own."""
    return all(any(len(access.loops) > loop.depth + 2 for access in accesses) for accesses in reads.values())


def _changes_places(nest: Nest, outer: NestLoop, loop: NestLoop) -> bool:
    """Whether a loop can be gone through strip by strip outside of the one around it: that does nothing else, and the strips are the same in all its iterations."""
    f = nest.f
    if outer.step != 1 or not outer.long() or _ends(nest, outer, loop) is None:
        return False
    stored = {access.array for access in nest.accesses if access.store}
    for k in (*range(outer.head + 1, loop.head), *range(loop.end + 1, outer.end)):
        instr = f.code[k]
        if instr.op.effect == ops.CONTROL or not (instr.op.pure or (instr.op is ops.LOAD and instr.imm not in stored)) or f.variable[instr.dst]:
            return False
    return True


def _ends(nest: Nest, outer: NestLoop, loop: NestLoop) -> tuple[Form, Form] | None:
    """The least index that a loop begins at in any iteration of the one around it, and what it never comes to, as they are known in front of that; None where they are not."""
    found: list[Form] = []
    for bounds, of_outer in ((loop.first, outer.first), (loop.last, outer.last)):
        if len(bounds) != 1:
            return None
        form = bounds[0]
        value = next((one for one in form.terms if nest.indices.get(one) is outer), None)
        if value is not None:
            # (It goes up with the loop around: the first iteration begins first, and the last one ends last.)
            if form.terms[value] != 1 or len(of_outer) != 1:
                return None
            last = Form(-1 if bounds is loop.last else 0, {})
            form = form.plus(of_outer[0], 1).plus(last, 1).plus(Form(0, {value: 1}), -1)
        if not all(r >= 0 and not nest.f.variable[r] and nest.forms.places.get(r, NONE) < outer.head for r in [nest.forms.registers[v] for v in form.terms]):
            return None
        found.append(form)
    return found[0], found[1]


def _made(nest: Nest, outer: NestLoop, loop: NestLoop, reads: dict[tuple[int, int], list[Access]], target: Target) -> Turned | None:
    """What takes the place of a loop, or of the one around it, if it has lanes."""
    f = nest.f
    arrays = len(f.arrays)
    width = 2 * target.vector_bits // min(f.arrays[array].element.bits for array, _ in reads)
    extents = [f.arrays[array].extents[1] for array, _ in reads]
    size = sum([-(-MOST_ELEMENTS * width * f.arrays[array].element.size // LOCAL_ALIGN) * LOCAL_ALIGN for array, _ in reads])
    if f.local_bytes() + size + 4 * LOCAL_ALIGN > MOST_LOCAL or not all(nest.ahead(extent) for extent in extents):
        return None
    ahead: list[Instr] = []
    runs: list[tuple[Op, int, int]] = [(ops.LE, extent, f.const(I64, MOST_ELEMENTS)) for extent in extents]
    if not all(_inside(nest, loop, array, down, runs) for array, down in reads):
        return None
    numbers: dict[tuple[int, int], int] = {}
    for array, down in reads:
        numbers[array, down] = len(f.arrays)
        own = f.local_array(f"{f.arrays[array].name}.turned", f.arrays[array].element, (MOST_ELEMENTS, width))
        own.written = True
        ahead.append(Instr(ops.LOCAL, PTR, own.base, [f.const(I64, numbers[array, down])], 0, loop.line))
    code, index = _strips(nest, outer, loop, reads, numbers, width)
    original = f.code
    whole = [*original[: nest.start], *ahead, *original[nest.start : outer.head], *code, *original[outer.end + 1 :]]
    # (Where the loop around goes strip by strip, what is stored across rows would be stored more often.)
    if not have_lanes(f, whole, [index], target, outer is loop):
        del f.arrays[arrays:]
        return None
    names = ", ".join(dict.fromkeys(f.arrays[array].name for array, _ in reads))
    return Turned(outer, code, ahead, list(runs), index, f"{width} rows of {names} turned round at a time, one for each lane of {nest.name(loop)}")


def _inside(nest: Nest, loop: NestLoop, array: int, down: int, runs: list[tuple[Op, int, int]]) -> bool:
    """Whether the rows that a loop reads are the array's, or it can be asked in front of the nest: rows are turned that an iteration need not come to read."""
    f = nest.f
    rows = f.arrays[array].extents[0]
    beyond = nest.forms.of(rows)
    if beyond is None or not any(_known_less(Form(-down, {}), _least(nest, first)) for first in loop.first):
        return False
    if any(_known_less(last.plus(Form(down, {}), 1), beyond) for last in loop.last):
        return True
    for last in loop.last:
        for value in last.terms if last.constant == -down and len(last.terms) == 1 else ():
            register = nest.forms.registers[value]
            if last.terms[value] == 1 and register >= 0 and nest.ahead(register) and nest.ahead(rows):
                runs.append((ops.LE, register, rows))
                return True
    return False


def _least(nest: Nest, form: Form) -> Form:
    """What a form is at least, as far as the loops that it counts in tell."""
    for _ in nest.loops:
        value = next((one for one in form.terms if one in nest.indices), None)
        loop = None if value is None else nest.indices[value]
        if value is None or loop is None or form.terms[value] < 0 or loop.step < 1 or len(loop.first) != 1:
            break
        form = form.plus(loop.first[0], form.terms[value]).plus(Form(0, {value: 1}), -form.terms[value])
    return form


def _known_less(a: Form, b: Form) -> bool:
    """Whether a number is known not to be greater than another."""
    return a.terms == b.terms and a.constant <= b.constant


def _strips(
    nest: Nest, outer: NestLoop, loop: NestLoop, reads: dict[tuple[int, int], list[Access]], numbers: dict[tuple[int, int], int], width: int
) -> tuple[list[Instr], int]:
    """A loop, or the one around it, for so many rows at a time; and the index of the loop over these."""
    f = nest.f
    code = Code(f, loop.line, [])
    lo, hi = f.code[loop.head].args[:2]
    if outer is not loop:
        ends = _ends(nest, outer, loop)
        assert ends is not None
        lo, hi = of_form(nest, ends[0], loop.line, code.out), of_form(nest, ends[1], loop.line, code.out)
    first = code.begin(lo, hi, width)
    stop = code.op(ops.MIN, code.op(ops.ADD, first, code.const(width)), hi)
    for (array, down), number in numbers.items():
        element = f.arrays[array].element
        row = code.begin(first, stop, 1)
        at = code.op(ops.SUB, row, first)
        from_row = code.op(ops.ADD, row, code.const(down)) if down else row
        k = code.begin(code.const(0), f.arrays[array].extents[1], 1)
        value = f.register(element, "")
        code.out.append(Instr(ops.LOAD, element, value, [from_row, k], array, loop.line))
        code.out.append(Instr(ops.STORE, element, NONE, [value, k, at], number, loop.line))
        code.end()
        code.end()
    index = f.register(I64, f.names[loop.index])
    where = {access.position: numbers[key] for key, accesses in reads.items() for access in accesses}
    body: list[Instr] = []
    for k in range(outer.head, outer.end + 1):
        instr = f.code[k]
        if k == loop.head:
            begin, end = first, stop
            if outer is not loop and (lo, hi) != tuple(instr.args[:2]):
                # (As far as it goes in this iteration of the loop around.)
                begin, end = f.register(I64, ""), f.register(I64, "")
                body.append(Instr(ops.MAX, I64, begin, [instr.args[0], first], 0, instr.line))
                body.append(Instr(ops.MIN, I64, end, [instr.args[1], stop], 0, instr.line))
            body.append(Instr(ops.FOR, instr.type, loop.index, [begin, end, instr.args[2]], 0, instr.line))
            at = f.register(I64, "")
            body.append(Instr(ops.SUB, I64, at, [loop.index, first], 0, instr.line))
            continue
        if k in where:
            instr = instr.copy()
            instr.args, instr.imm = [instr.args[1], at], where[k]
        body.append(instr)
    rename = {loop.index: index}
    for variable in own_variables(nest, outer):
        rename[variable] = f.register(f.types[variable], f.names[variable], True)
    clone(f, body, rename, code.out)
    code.end()
    return code.out, index
