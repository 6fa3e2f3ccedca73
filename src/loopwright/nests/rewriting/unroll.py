"""Copying ranges of instructions: what unrolling, and every other rewriting of loops, is made of."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.types import I64, PTR, Type

__all__ = [
    "clone",
    "crossing_branches",
    "has_loops",
    "is_extent",
    "local_variables",
    "own_array",
    "own_copies",
    "repeats",
    "shifted",
    "slice_of",
    "ways_out",
    "written_first",
]

# What becomes of an operation whose mask is known to be all true.
_OTHER: Final = 0
_LOAD: Final = 1
_STORE: Final = 2
_SELECT: Final = 3
_AND: Final = 4
_OR: Final = 5
_ANDNOT: Final = 6
_SAME: Final = 7
_MASKED: Final[list[int]] = [_OTHER] * len(ops.OPS)
for _op, _kind in (
    *[(_masked, _LOAD if _masked.result else _STORE) for _masked in ops.UNMASKED],
    (ops.SELECT, _SELECT),
    (ops.AND, _AND),
    (ops.OR, _OR),
    (ops.ANDNOT, _ANDNOT),
    (ops.COPY, _SAME),
    (ops.MASK_CONVERT, _SAME),
):
    _MASKED[_op.code] = _kind


def clone(f: Function, body: list[Instr], rename: dict[int, int], out: list[Instr]) -> None:
    """Append a copy of ``body`` to ``out``, operands replaced as ``rename`` says.

    A register that ``body`` defines gets a fresh one of the same type and name (entered in ``rename``, which the
    caller reads afterwards) unless ``rename`` has it or it is a variable: variables are shared by all copies
    except where ``rename`` says otherwise. Operands may be renamed to constants; operations under a mask renamed
    to the constant "all true" lose it.
    """
    variable = f.variable
    types = f.types
    names = f.names
    values = f.const_values
    masked = _MASKED
    for instr in body:
        op = instr.op
        type_ = instr.type
        args = [rename.get(a, a) for a in instr.args]
        dst = instr.dst
        kind = masked[op.code]
        if kind != _OTHER:
            # Only masks and bools have the constant True.
            first = args[0]
            true = first < 0 and values[~first] is True
            if true:
                if kind in (_LOAD, _STORE):
                    op = ops.UNMASKED[op]
                    args = args[1:]
                else:
                    if kind in (_SELECT, _AND):
                        same = args[1]
                    elif kind == _OR:
                        same = first
                    elif kind == _SAME:
                        same = first if op is ops.COPY else f.const(type_, True)
                    else:
                        same = f.const(type_, False)
                    if not variable[dst] and (same < 0 or not variable[same]):
                        rename[dst] = same
                        continue
                    op = ops.COPY
                    args = [same]
            elif kind in (_AND, _ANDNOT, _OR) and args[1] < 0 and values[~args[1]] is True:
                if kind == _ANDNOT:
                    op = ops.NOT
                    del args[1]
                else:
                    same = first if kind == _AND else args[1]
                    if not variable[dst] and (same < 0 or not variable[same]):
                        rename[dst] = same
                        continue
                    op = ops.COPY
                    args = [same]
        if dst >= 0:
            new = rename.get(dst, -1)
            if new >= 0:
                dst = new
            elif not variable[dst]:
                new = len(types)
                types.append(types[dst])
                names.append(names[dst])
                variable.append(False)
                rename[dst] = new
                dst = new
        loop = instr.loop
        if loop is not None:
            if loop.mask != NONE and loop.mask not in rename:
                rename[loop.mask] = f.register(types[loop.mask], names[loop.mask])
            accumulators = [(rename.get(v, v), o, c) for v, o, c in loop.accumulators]
            loop = Loop(rename.get(loop.mask, loop.mask), loop.unroll, accumulators, loop.lanes, loop.whole, loop.rest, loop.free)
        out.append(Instr(op, type_, dst, args, instr.imm, instr.line, instr.source, instr.mem, loop))


def has_loops(body: list[Instr]) -> bool:
    """Whether there is a loop in ``body``."""
    return any(IS_LOOP[instr.op.code] for instr in body)


def crossing_branches(body: list[Instr]) -> bool:
    """Whether a branch in ``body`` goes to the bracket that ``body`` is in, or to one outside of that."""
    return any(outwards >= 0 for outwards in ways_out(body))


def repeats(body: list[Instr]) -> bool:
    """Whether a branch in ``body`` goes to the bracket that ``body`` is in."""
    return any(outwards == 0 for outwards in ways_out(body))


def ways_out(body: list[Instr]) -> list[int]:
    """How many brackets outside of the one that ``body`` is in each of its branches goes to; less than 0: to one inside."""
    depth = 0
    found: list[int] = []
    for instr in body:
        op = instr.op
        if op.opens:
            depth += not op.closes
        elif op.closes:
            depth -= 1
        elif op is ops.BR or op is ops.BR_IF:
            found.append(instr.imm - depth)
    return found


def own_array(f: Function, name: str, element: Type, count: int, line: int, out: list[Instr]) -> int:
    """The number of a new array of the function's own, which is written; what makes its address is appended to ``out``."""
    number = len(f.arrays)
    array = f.local_array(name, element, (count,))
    array.written = True
    out.append(Instr(ops.LOCAL, PTR, array.base, [f.const(I64, number)], 0, line))
    return number


def slice_of(body: list[Instr], wanted: set[int]) -> list[Instr]:
    """What of a body it takes to compute some values."""
    needed = set(wanted)
    found: list[Instr] = []
    for instr in reversed(body):
        if instr.dst in needed:
            needed.update(instr.args)
            found.append(instr)
    return found[::-1]


def shifted(code: list[Instr], by: int) -> list[Instr]:
    """Code as it is where ``by`` more brackets are around it; what branches out of it goes where it went."""
    made: list[Instr] = []
    depth = 0
    for instr in code:
        op = instr.op
        copy = instr.copy()
        if (op is ops.BR or op is ops.BR_IF) and instr.imm >= depth:
            copy.imm += by
        if op.opens:
            depth += not op.closes
        elif op is ops.END:
            depth -= 1
        made.append(copy)
    return made


def own_copies(f: Function, body: list[Instr]) -> dict[int, int]:
    """For a copy of what is in a loop, or of a whole nest: variables of its own, by those that nothing else reads."""
    references: dict[int, int] = {}
    for instr in f.code:
        for r in (instr.dst, *instr.args):
            if r >= 0 and f.variable[r]:
                references[r] = references.get(r, 0) + 1
    return {variable: f.register(f.types[variable], f.names[variable], True) for variable in local_variables(f, body, references)}


def local_variables(f: Function, body: list[Instr], references: dict[int, int]) -> list[int]:
    """The variables whose values do not outlive one run of ``body``: written before they are read on every path, and not used elsewhere.

    ``references`` counts how often the whole function names each variable.
    """
    variable = f.variable
    inside: dict[int, int] = {}
    carried: set[int] = set()
    # What has been written; None where control does not get to.
    written: set[int] | None = set()
    # Per open bracket: what was written when its part began that may be the last, and where control leaves it by a branch, or at the end of a part.
    entry: list[set[int] | None] = []
    meet: list[set[int] | None] = []
    opener: list[ops.Op] = []
    for instr in body:
        for a in instr.args:
            if a >= 0 and variable[a]:
                inside[a] = inside.get(a, 0) + 1
                if written is not None and a not in written:
                    carried.add(a)
        op = instr.op
        if op is ops.END:
            first, before, met = opener.pop(), entry.pop(), meet.pop()
            if first is ops.FOR or first is ops.DO:
                written = before
            elif first is not ops.LOOP:
                # (A loop ends where nothing goes back from its end.)
                written = _both(written, met)
                if first is not ops.BLOCK and first is not ops.ELSE:
                    written = _both(written, before)
        elif op.closes:
            if op is ops.ELSE or op is ops.ELIF:
                meet[-1] = _both(meet[-1], written)
                written = set(entry[-1]) if entry[-1] is not None else None
            else:
                entry[-1] = set(written) if written is not None else None
            opener[-1] = op
        elif op.opens:
            entry.append(set(written) if written is not None else None)
            meet.append(None)
            opener.append(op)
        elif op is ops.BR or op is ops.BR_IF:
            if instr.imm < len(meet):
                # (To a loop it is the next step.)
                meet[-1 - instr.imm] = _both(meet[-1 - instr.imm], written)
            if op is ops.BR:
                written = None
        d = instr.dst
        if d >= 0 and variable[d]:
            inside[d] = inside.get(d, 0) + 1
            if written is not None:
                written.add(d)
    return [v for v, count in inside.items() if v not in carried and references.get(v, 0) == count]


def _both(one: set[int] | None, other: set[int] | None) -> set[int] | None:
    """What has been written whichever way control has come; None is a way that there is not."""
    if one is None or other is None:
        return set(other) if one is None and other is not None else one
    return one & other


def written_first(f: Function, body: list[Instr]) -> list[int]:
    """The variables that a body writes before it reads them, whatever becomes of them behind it."""
    named: dict[int, int] = {}
    for instr in body:
        for r in (instr.dst, *instr.args):
            if r >= 0 and f.variable[r]:
                named[r] = named.get(r, 0) + 1
    return local_variables(f, body, named)


def read_once(f: Function, operand: int, line: int, out: list[Instr]) -> int:
    """A bound of a loop, where it is a variable in a register of its own: the body may write the variable."""
    if operand < 0 or not f.variable[operand]:
        return operand
    held = f.register(I64, f.names[operand])
    out.append(Instr(ops.COPY, I64, held, [operand], 0, line))
    return held


def is_extent(f: Function, operand: int) -> bool:
    """Whether an operand is an array's extent in a register, which is never negative; anything else may be."""
    return operand >= 0 and any(operand in array.extents for array in f.arrays)


def last_multiple(f: Function, lo: int, hi: int, unit: int, line: int, out: list[Instr]) -> int:
    """Code for where a loop in steps of ``unit`` stops: ``lo`` plus the greatest multiple of ``unit`` in the count of elements.

    Nothing here overflows: the count of elements fits 64 bits without a sign, and is 0 where ``hi`` is below ``lo``.
    """
    if lo < 0 and hi < 0:
        begin, count = int(f.const_values[~lo]), max(int(f.const_values[~hi]) - int(f.const_values[~lo]), 0)
        return f.const(I64, begin + count - count % unit)

    def emit(op: ops.Op, name: str, a: int, b: int) -> int:
        made = f.register(I64, name)
        out.append(Instr(op, I64, made, [a, b], 0, line))
        return made

    from_zero = lo < 0 and f.const_values[~lo] == 0
    count = hi
    if not (from_zero and is_extent(f, hi)):
        count = emit(ops.MAX, "", hi, lo)
    if not from_zero:
        count = emit(ops.SUB, "", count, lo)
    if unit & (unit - 1) == 0:
        count = emit(ops.AND, "stop", count, f.const(I64, -unit))
    else:
        count = emit(ops.SUB, "stop", count, emit(ops.REM_TRUNC, "", count, f.const(I64, unit)))
    return count if from_zero else emit(ops.ADD, "stop", lo, count)
