"""What AArch64 has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import division, integer_sequences, lane_by_lane, sequences, strided, sums
from loopwright.targets.aarch64.lowering import has_rule
from loopwright.targets.floor_division import divide_floats
from loopwright.targets.steps import Emit
from loopwright.types import BOOL, Type, mask_of

__all__ = ["EXPANDED", "expand"]

#: What an integer kept in 32 bits needs no sequence for, however narrow it is.
_NARROW_AS_IT_IS: Final = (
    ops.COMPARING
    | frozenset(ops.CHOICES)
    | {
        ops.COPY,
        ops.BITCAST,
        ops.CONVERT,
        ops.CONVERT_UNCHECKED,
        ops.TO_F16,
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
    if instr.op.code in integer_sequences.EXPANDED and not has_rule(f, instr) and integer_sequences.expand(f, instr, emit, late):
        return True
    type_ = instr.type
    if late and type_.bits < 32 and type_.is_integer and not type_.lanes and instr.op.pure and instr.op not in _NARROW_AS_IT_IS:
        sequences.narrow_integer(f, instr, emit)
        return True
    return False


def _dot_add(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if late or not instr.type.lanes:
        return False

    def native(op: ops.Op, type_: Type, source: Type) -> bool:
        return has_rule(f, Instr(op, type_, 0, [0] * len(op.operands), 0, 0, source))

    return sums.expand_dot(f, instr, emit, native)


def _estimate(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    sequences.divide_for_estimate(f, instr, emit)
    return True


def _convert(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Scalar floats to bool, and to integers of 8 and 16 bits."""
    type_, source = instr.type, instr.source
    if type_.lanes or not source.is_float:
        return False
    if type_ is BOOL:
        emit(Instr(ops.NE, source, instr.dst, [instr.args[0], f.const(source, 0.0)], 0, instr.line))
        return True
    if not type_.is_integer or type_.bits >= 32 or type_.bits == source.bits:
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
            divide_floats(f, instr, emit)
        return late
    if instr.args[1] >= 0:
        return False
    if not division.divide_by_power(f, instr, emit):
        division.multiply_by_reciprocal(f, instr, emit)
    return True


def remainder_of(f: Function, quotient: Instr, remainder: Instr, emit: Emit) -> None:
    """A quotient, and what it leaves; by 0 nothing."""
    type_, line = remainder.type, remainder.line
    a, b = quotient.args
    emit(quotient)
    product = f.register(type_)
    emit(Instr(ops.MUL, type_, product, [quotient.dst, b], 0, line))
    rest = f.register(type_)
    emit(Instr(ops.SUB, type_, rest, [a, product], 0, line))
    emit(Instr(ops.SELECT_CMP["eq"], type_, remainder.dst, [b, f.const(type_, 0), f.const(type_, 0), rest], 0, line, type_))


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
    """Lanes have no a * b - c, and no -(a * b) - c: the negative of c is exact."""
    type_, line = instr.type, instr.line
    if not type_.lanes:
        return False
    negated = f.register(type_)
    emit(Instr(ops.NEG, type_, negated, [instr.args[2]], 0, line))
    emit(Instr(ops.FMA if instr.op is ops.FMS else ops.FNMA, type_, instr.dst, [instr.args[0], instr.args[1], negated], 0, line))
    return True


def _trailing_zeros(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Of 64-bit lanes, whose leading zeros are not counted at once: the ones of x - 1 where x has zeros."""
    type_, line = instr.type, instr.line
    if not type_.lanes or type_.bits < 64:
        return False
    x = instr.args[0]
    less, below = f.register(type_), f.register(type_)
    emit(Instr(ops.SUB, type_, less, [x, f.const(type_, 1)], 0, line))
    emit(Instr(ops.ANDNOT, type_, below, [x, less], 0, line))
    emit(Instr(ops.POPCOUNT, type_, instr.dst, [below], 0, line))
    return True


def _mask_bits(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    sequences.mask_bits(f, instr, emit)
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


def _indexed(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """There are no gathers and scatters."""
    if late:
        lane_by_lane.indexed_access(f, instr, emit)
    return late


_SEQUENCES: Final[dict[int, Callable[[Function, Instr, Emit, bool], bool]]] = {
    ops.RCP_ESTIMATE.code: _estimate,
    ops.RSQRT_ESTIMATE.code: _estimate,
    ops.RSQRT.code: _estimate,
    ops.DOT_ADD.code: _dot_add,
    ops.DOT_MIXED_ADD.code: _dot_add,
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
    ops.MASK_BITS.code: _mask_bits,
    ops.FNMS.code: _fused_subtract,
    ops.TRAILING_ZEROS.code: _trailing_zeros,
    ops.NE.code: _unequal,
    ops.MASKED_LOAD_AT.code: _masked,
    ops.MASKED_STORE_AT.code: _masked,
    ops.MASKED_LOAD_STRIDED_AT.code: _masked,
    ops.MASKED_STORE_STRIDED_AT.code: _masked,
    ops.GATHER_AT.code: _indexed,
    ops.SCATTER_AT.code: _indexed,
    ops.LOAD_STRIDED_AT.code: _strided,
    ops.STORE_STRIDED_AT.code: _strided,
}

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = frozenset(_SEQUENCES) | integer_sequences.EXPANDED
