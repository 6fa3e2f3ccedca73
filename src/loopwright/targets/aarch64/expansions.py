"""What AArch64 has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import sequences
from loopwright.targets.sequences import Emit
from loopwright.types import BOOL, I32, U32, limits, mask_of

__all__ = ["EXPANDED", "expand"]

#: What an integer kept in 32 bits needs no sequence for, however narrow it is.
_NARROW_AS_IT_IS: Final = frozenset(ops.COMPARISONS.values()) | {
    ops.COPY,
    ops.BITCAST,
    ops.CONVERT,
    ops.CONVERT_UNCHECKED,
    ops.SELECT,
    ops.MIN,
    ops.MAX,
    ops.POPCOUNT,
}


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation without an instruction; False where there is one. As ``Target.expand``."""
    sequence = _SEQUENCES.get(instr.op.code)
    if sequence is not None and sequence(f, instr, emit):
        return True
    type_ = instr.type
    if late and type_.bits < 32 and type_.is_integer and not type_.lanes and instr.op.pure and instr.op not in _NARROW_AS_IT_IS:
        sequences.narrow_integer(f, instr, emit)
        return True
    return False


def _convert(f: Function, instr: Instr, emit: Emit) -> bool:
    """Scalar floats to bool, and to integers of 8 and 16 bits by way of 32, saturating."""
    type_, source, line = instr.type, instr.source, instr.line
    if type_.lanes or not source.is_float:
        return False
    if type_ is BOOL:
        emit(Instr(ops.NE, source, instr.dst, [instr.args[0], f.const(source, 0.0)], 0, line))
        return True
    if not type_.is_integer or type_.bits >= 32:
        return False
    wide = I32 if type_.signed else U32
    value = f.register(wide)
    emit(Instr(instr.op, wide, value, instr.args, 0, line, source))
    if instr.op is ops.CONVERT:
        low, high = limits(type_)
        for op, bound in ((ops.MAX, low), (ops.MIN, high)):
            if op is ops.MIN or type_.signed:
                bounded = f.register(wide)
                emit(Instr(op, wide, bounded, [value, f.const(wide, bound)], 0, line))
                value = bounded
    emit(Instr(ops.CONVERT, type_, instr.dst, [value], 0, line, wide))
    return True


def _divide(f: Function, instr: Instr, emit: Emit) -> bool:
    return instr.type.is_integer and not instr.type.lanes and instr.args[1] < 0 and sequences.divide_by_constant(f, instr, emit)


def _absolute(f: Function, instr: Instr, emit: Emit) -> bool:
    if not instr.type.is_integer or instr.type.signed:
        return False
    emit(Instr(ops.COPY, instr.type, instr.dst, list(instr.args), 0, instr.line))
    return True


def _min_max(f: Function, instr: Instr, emit: Emit) -> bool:
    """Lanes of floats, whose minimum is Python's, and of 64-bit integers: by a comparison."""
    op, type_, line = instr.op, instr.type, instr.line
    if not type_.lanes or (type_.is_float and f.options.fastmath) or (type_.is_integer and type_.bits < 64):
        return False
    a, b = instr.args
    better = f.register(mask_of(type_.bits, type_.lanes))
    emit(Instr(ops.GT, type_, better, [a, b] if op is ops.MIN else [b, a], 0, line))
    emit(Instr(ops.SELECT, type_, instr.dst, [better, b, a], 0, line))
    return True


def _fused_subtract(f: Function, instr: Instr, emit: Emit) -> bool:
    """Lanes have no a * b - c: the negative of c is exact."""
    type_, line = instr.type, instr.line
    if not type_.lanes:
        return False
    negated = f.register(type_)
    emit(Instr(ops.NEG, type_, negated, [instr.args[2]], 0, line))
    emit(Instr(ops.FMA, type_, instr.dst, [instr.args[0], instr.args[1], negated], 0, line))
    return True


def _unequal(f: Function, instr: Instr, emit: Emit) -> bool:
    type_, line = instr.type, instr.line
    if not type_.lanes or type_.is_mask:
        return False
    mask = mask_of(type_.bits, type_.lanes)
    same = f.register(mask)
    emit(Instr(ops.EQ, type_, same, list(instr.args), 0, line))
    emit(Instr(ops.NOT, mask, instr.dst, [same], 0, line))
    return True


_SEQUENCES: Final[dict[int, Callable[[Function, Instr, Emit], bool]]] = {
    ops.CONVERT.code: _convert,
    ops.CONVERT_UNCHECKED.code: _convert,
    ops.DIV_TRUNC.code: _divide,
    ops.REM_TRUNC.code: _divide,
    ops.DIV_FLOOR.code: _divide,
    ops.REM_FLOOR.code: _divide,
    ops.ABS.code: _absolute,
    ops.MIN.code: _min_max,
    ops.MAX.code: _min_max,
    ops.FMS.code: _fused_subtract,
    ops.NE.code: _unequal,
}

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = frozenset(_SEQUENCES)
