"""What AArch64 has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import division, lane_by_lane, sequences, strided
from loopwright.targets.floor_division import floor_divide
from loopwright.targets.steps import Emit
from loopwright.types import BOOL, mask_of

__all__ = ["EXPANDED", "expand"]

#: What an integer kept in 32 bits needs no sequence for, however narrow it is.
_NARROW_AS_IT_IS: Final = (
    frozenset(ops.COMPARISONS.values())
    | frozenset(ops.CHOICES)
    | {
        ops.COPY,
        ops.BITCAST,
        ops.CONVERT,
        ops.CONVERT_UNCHECKED,
        ops.SELECT,
        ops.MIN,
        ops.MAX,
        ops.POPCOUNT,
    }
)


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation without an instruction; False where there is one. As ``Target.expand``."""
    sequence = _SEQUENCES.get(instr.op.code)
    if sequence is not None and sequence(f, instr, emit, late):
        return True
    type_ = instr.type
    if late and type_.bits < 32 and type_.is_integer and not type_.lanes and instr.op.pure and instr.op not in _NARROW_AS_IT_IS:
        sequences.narrow_integer(f, instr, emit)
        return True
    return False


def _convert(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Scalar floats to bool, and to integers of 8 and 16 bits."""
    type_, source = instr.type, instr.source
    if type_.lanes or not source.is_float:
        return False
    if type_ is BOOL:
        emit(Instr(ops.NE, source, instr.dst, [instr.args[0], f.const(source, 0.0)], 0, instr.line))
        return True
    if not type_.is_integer or type_.bits >= 32:
        return False
    sequences.convert_and_clamp(f, instr, emit)
    return True


def _round_and_convert(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    sequences.round_and_convert(f, instr, emit)
    return True


def _copy_sign(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    sequences.copy_sign(f, instr, emit)
    return True


def _mul_high(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Of narrow scalars."""
    if instr.type.lanes or instr.type.bits == 64:
        return False
    sequences.high_of_wide_product(f, instr, emit)
    return True


def _divide(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if instr.type.is_float:
        if late:
            floor_divide(f, instr, emit)
        return late
    if instr.args[1] >= 0:
        return False
    if not division.divide_by_power(f, instr, emit):
        division.multiply_by_reciprocal(f, instr, emit)
    return True


def _masked(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if late:
        lane_by_lane.masked_access(f, instr, emit)
    return late


def _strided(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    # (An index is multiplied by 1 or by the size of the element.)
    strided.access(f, instr, emit, (1,))
    return True


def _absolute(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if not instr.type.is_integer or instr.type.signed:
        return False
    emit(Instr(ops.COPY, instr.type, instr.dst, list(instr.args), 0, instr.line))
    return True


def _min_max(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Lanes of floats, whose minimum is Python's, and of 64-bit integers: by a comparison."""
    op, type_, line = instr.op, instr.type, instr.line
    if not type_.lanes or (type_.is_float and f.options.fastmath) or (type_.is_integer and type_.bits < 64):
        return False
    a, b = instr.args
    better = f.register(mask_of(type_.bits, type_.lanes))
    emit(Instr(ops.GT, type_, better, [a, b] if op is ops.MIN else [b, a], 0, line))
    emit(Instr(ops.SELECT, type_, instr.dst, [better, b, a], 0, line))
    return True


def _fused_subtract(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Lanes have no a * b - c: the negative of c is exact."""
    type_, line = instr.type, instr.line
    if not type_.lanes:
        return False
    negated = f.register(type_)
    emit(Instr(ops.NEG, type_, negated, [instr.args[2]], 0, line))
    emit(Instr(ops.FMA, type_, instr.dst, [instr.args[0], instr.args[1], negated], 0, line))
    return True


def _unequal(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_, line = instr.type, instr.line
    if not type_.lanes or type_.is_mask:
        return False
    mask = mask_of(type_.bits, type_.lanes)
    same = f.register(mask)
    emit(Instr(ops.EQ, type_, same, list(instr.args), 0, line))
    emit(Instr(ops.NOT, mask, instr.dst, [same], 0, line))
    return True


_SEQUENCES: Final[dict[int, Callable[[Function, Instr, Emit, bool], bool]]] = {
    ops.CONVERT.code: _convert,
    ops.CONVERT_UNCHECKED.code: _convert,
    ops.CONVERT_DOWN.code: _round_and_convert,
    ops.CONVERT_UP.code: _round_and_convert,
    ops.CONVERT_NEAREST.code: _round_and_convert,
    ops.COPY_SIGN.code: _copy_sign,
    ops.MUL_HIGH.code: _mul_high,
    ops.DIV_TRUNC.code: _divide,
    ops.REM_TRUNC.code: _divide,
    ops.DIV_FLOOR.code: _divide,
    ops.REM_FLOOR.code: _divide,
    ops.ABS.code: _absolute,
    ops.MIN.code: _min_max,
    ops.MAX.code: _min_max,
    ops.FMS.code: _fused_subtract,
    ops.NE.code: _unequal,
    ops.MASKED_LOAD_AT.code: _masked,
    ops.MASKED_STORE_AT.code: _masked,
    ops.LOAD_STRIDED_AT.code: _strided,
    ops.STORE_STRIDED_AT.code: _strided,
}

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = frozenset(_SEQUENCES)
