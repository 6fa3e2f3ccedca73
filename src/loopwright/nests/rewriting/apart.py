"""Whether arrays overlap, asked once at run time in front of a nest whose accesses are to be put into another order."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr, Mem
from loopwright.nests.analysis.nest import Access, Nest, Run
from loopwright.nests.rewriting.unroll import clone
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["as_written", "between", "pairs", "question", "rewritten", "versioned"]


def pairs(nest: Nest) -> list[tuple[int, int, bool]]:
    """The arrays of a nest, two by two, that must not overlap: one of them is written. Local arrays overlap nothing.

    With True those that may be one: all accesses to them are to one element in each iteration, so that its order is kept whatever becomes of the nest's.
    """
    found = between([nest])
    if len(found) > 1 and _reloads(nest, {number for pair in found for number in pair}):
        # (An array that may be another is told apart from none: what has been loaded could not be kept past the stores.)
        return [(a, b, False) for a, b in found]
    return [(a, b, _one(nest, a, b)) for a, b in found]


def between(several: Sequence[Nest]) -> list[tuple[int, int]]:
    """The arrays of some nests, two by two, that must not overlap for their iterations to be put into another order."""
    accesses = [access for nest in several for access in nest.accesses]
    written = sorted({access.array for access in accesses if access.store})
    used = sorted({access.array for access in accesses})
    arrays = several[0].f.arrays
    found = [(a, b) for a in written for b in used if a != b and not (b in written and b < a)]
    return [(a, b) for a, b in found if not arrays[a].size and not arrays[b].size]


def _reloads(nest: Nest, arrays: set[int]) -> bool:
    """Whether an iteration accesses one of some arrays behind a store to another of them."""
    stored: set[int] = set()
    for access in nest.accesses:
        if access.array in arrays:
            if stored - {access.array}:
                return True
            if access.store:
                stored.add(access.array)
    return False


def _one(nest: Nest, a: int, b: int) -> bool:
    """Whether all accesses to two arrays have the same subscripts, in the same loops, and are to another element in each iteration of these."""
    arrays = nest.f.arrays
    if arrays[a].element is not arrays[b].element or arrays[a].rank != arrays[b].rank:
        return False
    accesses = [access for access in nest.accesses if access.array == a or access.array == b]
    first = accesses[0]
    if not _another_in_each(nest, first):
        # (What one iteration stores a later one would load.)
        return False
    for access in accesses:
        if access.loops != first.loops:
            return False
        for x, y in zip(access.subscripts, first.subscripts, strict=True):
            if x is None or y is None or x.terms != y.terms or x.constant != y.constant or any(v not in nest.indices and nest.varies(v) for v in x.terms):
                return False
    return True


def _another_in_each(nest: Nest, access: Access) -> bool:
    """Whether an access is to another element in each iteration of the loops around it: one subscript after the other tells the index of one loop more."""
    told: set[int] = set()
    unknown = [{value for value in form.terms if value in nest.indices} for form in access.subscripts if form is not None]
    for _ in access.loops:
        for indices in unknown:
            if len(indices - told) == 1:
                told |= indices
    return all(loop.index in told for loop in access.loops)


def as_written(f: Function, code: list[Instr], start: int, end: int) -> list[Instr]:
    """A copy of a stretch of code, which is to stand beside what is made of that, with registers of its own: variables, too, unless something else names them.

    (Of a variable that both name it would seem that one reads behind a loop what the other has written in it.)
    """
    variable = f.variable
    own = {r for instr in code[start:end] for r in (instr.dst, *instr.args) if r >= 0 and variable[r]}
    if own:
        for instr in [*code[:start], *code[end:]]:
            own.discard(instr.dst)
            own.difference_update(instr.args)
        own.difference_update(f.params)
    made: list[Instr] = []
    clone(f, code[start:end], {r: f.register(f.types[r], f.names[r], True) for r in sorted(own)}, made)
    return made


def versioned(f: Function, asked: list[tuple[int, int, bool]], plain: list[Instr], fast: list[Instr], line: int, runs: Sequence[Run] = ()) -> list[Instr]:
    """Code that runs ``fast`` where none of the pairs of arrays overlaps (or, if that will do, both are one) and all of ``runs`` hold, and ``plain`` otherwise.

    Neither defines a register of the other. A fourth number of a comparison is added to its first operand. What ``fast`` accesses is told apart from then on; ``asked`` has all pairs in it of which one is written.
    """
    if asked:
        _tell_apart(f, asked, fast)
    elif not runs:
        return fast
    out: list[Instr] = []
    condition = question(f, asked, line, out)
    for op, first, second, *more in runs:
        if more and more[0]:
            first = _emit(f, ops.ADD, I64, I64, [first, f.const(I64, more[0])], line, out)
        holds = _emit(f, op, BOOL, I64, [first, second], line, out)
        condition = holds if condition == NONE else _emit(f, ops.AND, BOOL, BOOL, [condition, holds], line, out)
    out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
    out += _in_a_bracket(fast)
    out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
    out += _in_a_bracket(plain)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return out


def _in_a_bracket(code: list[Instr]) -> list[Instr]:
    """Code with one more bracket around it, which those of its branches leave, too, that lead out of it."""
    depth = 0
    made: list[Instr] = []
    for instr in code:
        op = instr.op
        depth += int(op.opens) - int(op.closes)
        if (op is ops.BR or op is ops.BR_IF) and instr.imm >= depth:
            instr = Instr(op, instr.type, instr.dst, instr.args, instr.imm + 1, instr.line, instr.source, instr.mem, instr.loop)
        made.append(instr)
    return made


def rewritten(f: Function, original: list[Instr], start: int, end: int, asked: list[tuple[int, int, bool]], plain: list[Instr]) -> None:
    """Let what has been made of a stretch of the code, which was ``original`` before, run only where none of the pairs of arrays overlaps, and ``plain`` elsewhere."""
    behind = len(f.code) - (len(original) - end)
    f.code = f.code[:start] + versioned(f, asked, plain, f.code[start:behind], original[start].line) + f.code[behind:]


def _tell_apart(f: Function, asked: list[tuple[int, int, bool]], code: list[Instr]) -> None:
    """Let the accesses of a stretch of code be to arrays that are not shared, and, but for those that may be one with another, apart."""
    number = len(f.arrays)
    one = {array for a, b, may in asked if may for array in (a, b)}
    numbers: dict[int, int] = {}
    for instr in code:
        if instr.op in ops.ACCESSES and f.arrays[instr.imm].shared:
            if instr.imm not in numbers:
                numbers[instr.imm] = f.told_apart(instr.imm, 0 if instr.imm in one else number)
            instr.imm = numbers[instr.imm]


def question(f: Function, asked: list[tuple[int, int, bool]], line: int, out: list[Instr]) -> int:
    """Whether none of some pairs of arrays overlaps (or, if that will do, both are one), as a bool; NONE where there are no pairs."""
    ends = {number: _ends(f, f.arrays[number], line, out) for number in sorted({n for a, b, _ in asked for n in (a, b)})}
    condition = NONE
    for a, b, one in asked:
        before = _emit(f, ops.LE, BOOL, PTR, [ends[a][1], ends[b][0]], line, out)
        behind = _emit(f, ops.LE, BOOL, PTR, [ends[b][1], ends[a][0]], line, out)
        either = _emit(f, ops.OR, BOOL, BOOL, [before, behind], line, out)
        if one:
            x, y = f.arrays[a], f.arrays[b]
            same = _emit(f, ops.EQ, BOOL, PTR, [x.base, y.base], line, out)
            for p, q in zip(x.strides, y.strides, strict=True):
                same = _emit(f, ops.AND, BOOL, BOOL, [same, _emit(f, ops.EQ, BOOL, I64, [p, q], line, out)], line, out)
            either = _emit(f, ops.OR, BOOL, BOOL, [either, same], line, out)
        condition = either if condition == NONE else _emit(f, ops.AND, BOOL, BOOL, [condition, either], line, out)
    return condition


def _emit(f: Function, op: ops.Op, result: Type, type_: Type, args: list[int], line: int, out: list[Instr]) -> int:
    made = f.register(result, "")
    out.append(Instr(op, type_, made, args, 0, line))
    return made


def _ends(f: Function, array: Array, line: int, out: list[Instr]) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the first behind it."""
    zero = f.const(I64, 0)
    low = zero
    high = _emit(f, ops.MUL, I64, I64, [array.extents[-1], f.const(I64, array.element.size)], line, out)
    for extent, stride in zip(array.extents, array.strides, strict=False):
        last = _emit(f, ops.SUB, I64, I64, [extent, f.const(I64, 1)], line, out)
        span = _emit(f, ops.MUL, I64, I64, [last, stride], line, out)
        low = _emit(f, ops.ADD, I64, I64, [low, _emit(f, ops.MIN, I64, I64, [span, zero], line, out)], line, out)
        high = _emit(f, ops.ADD, I64, I64, [high, _emit(f, ops.MAX, I64, I64, [span, zero], line, out)], line, out)
    found: list[int] = []
    for offset in (low, high):
        address = f.register(PTR, "")
        out.append(Instr(ops.ADDRESS, PTR, address, [array.base, offset], 0, line, mem=Mem(True, 1, 0)))
        found.append(address)
    return found[0], found[1]
