"""Operations on integers that are known to be at least 0: divisions without signs, and in loops extensions by zeros, and masks that take nothing away.

``//`` and ``%`` round down, which takes corrections where a sign may differ, and machines divide numbers of 32 bits faster than those of 64. What a loop counts, an extent, a remainder of something positive and
what a condition has asked are known to be at least 0, often to be small. So is the state of an automaton, which is masked wherever it changes: to extend it by its sign, and to mask it once more, takes a cycle
each of those that the next state waits for. Lanes of 64 bits that are known to be at least 0, by the masks that they have been under, are shifted to the right without signs where the machine has no
shifts that take them in (AVX2: one instruction instead of three).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ranges import fits, ranges_at
from loopwright.nests.analysis.operations import steps
from loopwright.passes.packed import Packed
from loopwright.targets.target import Target
from loopwright.types import I32, I64, U32, U64, VOID, Type, vector_of

__all__ = ["run"]

#: What each rounds to where nothing is below 0.
_TRUNCATED: Final = {ops.DIV_FLOOR: ops.DIV_TRUNC, ops.REM_FLOOR: ops.REM_TRUNC, ops.DIV_TRUNC: ops.DIV_TRUNC, ops.REM_TRUNC: ops.REM_TRUNC}
#: Up to this the product with a reciprocal is less than 2**63.
_SMALL: Final = (1 << 31) - 1


def _asks(f: Function, instr: Instr) -> bool:
    """Whether an instruction is a division that may have no need of signs. (By powers of two it is shifts and masks anyway.)"""
    if instr.op not in _TRUNCATED or instr.type.lanes or not instr.type.is_integer:
        return False
    b = instr.args[1]
    if b >= 0:
        return True
    value = int(f.const_values[~b])
    return value > 0 and value & (value - 1) != 0


def _clears(f: Function, instr: Instr, zeros: bool) -> bool:
    """Whether an instruction masks bits above some, or, where ``zeros`` are there already, extends a number of 32 bits by its sign."""
    type_ = instr.type
    if (instr.op is not ops.CONVERT and instr.op is not ops.AND) or type_.lanes or not type_.is_integer or instr.args[0] < 0:
        return False
    if instr.op is ops.CONVERT:
        return zeros and type_ is I64 and instr.source is I32
    if instr.args[1] >= 0:
        return False
    value = int(f.const_values[~instr.args[1]])
    return value > 0 and value & (value + 1) == 0


def _places(f: Function, zeros: bool) -> set[int]:
    """Where something is to be known."""
    places: set[int] = set()
    depth = 0  # of loops
    opened: list[int] = []
    for k, instr in enumerate(f.code):
        op = instr.op
        if op.effect == ops.CONTROL:
            if op.closes and not op.opens:
                depth -= opened.pop()
            elif op.opens and not op.closes:
                opened.append(int(IS_LOOP[op.code]))
                depth += opened[-1]
        elif _asks(f, instr) or (depth and _clears(f, instr, zeros)):
            places.add(k)
    return places


def run(f: Function, target: Target) -> None:
    """Rewrite such operations."""
    _shift_lanes(f, target)
    _on_scalars(f, target)


def _shift_lanes(f: Function, target: Target) -> None:
    """Shift lanes without signs where that does the same, and is quicker."""
    if ops.SHR.code not in target.expanded:
        return
    packed: Packed | None = None
    out: list[Instr] = []
    for instr in f.code:
        type_ = instr.type
        if instr.op is ops.SHR and type_.lanes and type_.element is I64 and instr.args[0] >= 0 > instr.args[1]:
            dear = steps(target, ops.SHR, type_, VOID, int(f.const_values[~instr.args[1]])) > 1
            packed = packed or (Packed(f) if dear else None)
            if dear and packed is not None and packed.range(instr.args[0], type_, 0)[0] >= 0:
                unsigned = vector_of(U64, type_.lanes)
                given, made = f.register(unsigned), f.register(unsigned)
                out.append(Instr(ops.BITCAST, unsigned, given, [instr.args[0]], 0, instr.line, type_))
                out.append(Instr(ops.SHR, unsigned, made, [given, f.const(unsigned, f.const_values[~instr.args[1]])], 0, instr.line))
                instr = Instr(ops.BITCAST, type_, instr.dst, [made], 0, instr.line, unsigned)
        out.append(instr)
    f.code = out


def _on_scalars(f: Function, target: Target) -> None:
    # (What a machine makes in 32 bits may have zeros above it.)
    places = _places(f, target.same_register(I64, U32, True))
    if not places:
        return
    found = ranges_at(f, places)
    out: list[Instr] = []
    for k, instr in enumerate(f.code):
        a, b = (*found.get(k, ()), None, None)[:2]
        if a is not None and a[0] >= 0 and k in places and instr.op is ops.CONVERT:
            unsigned = f.register(U32)
            out.append(Instr(ops.BITCAST, U32, unsigned, [instr.args[0]], 0, instr.line, I32))
            out.append(Instr(ops.CONVERT, I64, instr.dst, [unsigned], 0, instr.line, U32))
        elif a is None or b is None or a[0] < 0 or b[0] < 0:
            out.append(instr)
        elif instr.op is ops.AND:
            out.append(Instr(ops.COPY, instr.type, instr.dst, [instr.args[0]], 0, instr.line) if a[1] <= b[1] else instr)
        elif instr.args[1] < 0 and a[1] <= _SMALL:
            _multiply(f, instr, a[1], out)
        else:
            to = U32 if fits(a, U32) and fits(b, U32) else U64
            if to is instr.type:
                out.append(instr)
            else:
                _divide(f, instr, to, out)
    f.code = out


def _divide(f: Function, instr: Instr, to: Type, out: list[Instr]) -> None:
    type_, line = instr.type, instr.line
    operands: list[int] = []
    for a in instr.args:
        if a < 0:
            operands.append(f.const(to, int(f.const_values[~a])))
            continue
        operands.append(f.register(to))
        out.append(Instr(ops.CONVERT, to, operands[-1], [a], 0, line, type_))
    made = f.register(to)
    out.append(Instr(_TRUNCATED[instr.op], to, made, operands, 0, line))
    out.append(Instr(ops.CONVERT, type_, instr.dst, [made], 0, line, to))


def _multiply(f: Function, instr: Instr, most: int, out: list[Instr]) -> None:
    """By a constant, of a number of at most ``most``: a product with the reciprocal, whose factor has one bit more than the number (T. Granlund and P. Montgomery, "Division by invariant integers
    using multiplication", PLDI 1994, theorem 4.2 with N the bits of ``most``)."""
    type_, line = instr.type, instr.line
    size = int(f.const_values[~instr.args[1]])

    def op(operation: ops.Op, *args: int) -> int:
        made = f.register(I64)
        out.append(Instr(operation, I64, made, list(args), 0, line))
        return made

    given = instr.args[0]
    if type_ is not I64:
        given = f.register(I64)
        out.append(Instr(ops.CONVERT, I64, given, [instr.args[0]], 0, line, type_))
    shift = most.bit_length() + (size - 1).bit_length()
    factor = ((1 << shift) + size - 1) // size
    made = op(ops.SHR, op(ops.MUL, given, f.const(I64, factor)), f.const(I64, shift))
    if instr.op in (ops.REM_FLOOR, ops.REM_TRUNC):
        made = op(ops.SUB, given, op(ops.MUL, made, f.const(I64, size)))
    out.append(Instr(ops.COPY if type_ is I64 else ops.CONVERT, type_, instr.dst, [made], 0, line, VOID if type_ is I64 else I64))
