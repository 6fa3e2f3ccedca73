"""What these machines have no command for, as sequences of operations they have: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import checksum, division, half_floats, integer_sequences, sequences
from loopwright.targets.floor_division import divide_floats
from loopwright.targets.multiclet.multiply_add import FUSED, multiply_add
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, I64, U32, U64

__all__ = ["EXPANDED", "expand"]

_DIVISIONS: Final = frozenset(op.code for op in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))
_ROUNDING: Final = frozenset(op.code for op in (ops.FLOOR, ops.CEIL, ops.TRUNC, ops.ROUND))
_WHOLE: Final = frozenset(op.code for op in (ops.CONVERT_DOWN, ops.CONVERT_UP, ops.CONVERT_NEAREST))

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = (
    _DIVISIONS
    | _ROUNDING
    | _WHOLE
    | {op.code for op in (ops.FROM_F16, ops.TO_F16, ops.POPCOUNT, ops.MIN, ops.MAX, ops.ABS, ops.COPY_SIGN, ops.RCP_ESTIMATE, ops.RSQRT_ESTIMATE, ops.RSQRT)}
    | frozenset(FUSED)
    | frozenset(integer_sequences.SEQUENCES)
)


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation without a command; False where there is one. As ``Target.expand``."""
    op, type_ = instr.op, instr.type
    code = op.code
    if type_.lanes:
        # Refused where rules are chosen.
        return False
    if code in integer_sequences.SEQUENCES:
        return integer_sequences.expand(f, instr, emit, late)
    if code in EXPANDED:
        return _expand(f, instr, emit, late)
    if op is ops.CRC32C and late:
        checksum.crc32c(f, instr, emit)
        return True
    return False


def _expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    op, type_ = instr.op, instr.type
    code = op.code
    if code in _DIVISIONS:
        return _divide(f, instr, emit, late)
    if code in FUSED:
        if late:
            multiply_add(f, instr, emit)
        return late
    if code in _ROUNDING:
        _round(f, instr, emit)
    elif code in _WHOLE:
        sequences.round_and_convert(f, instr, emit)
    elif op is ops.FROM_F16 or op is ops.TO_F16:
        (half_floats.from_half if op is ops.FROM_F16 else half_floats.to_half)(f, instr, emit)
    elif op is ops.POPCOUNT:
        sequences.popcount(f, instr, emit)
    elif op is ops.RCP_ESTIMATE or op is ops.RSQRT_ESTIMATE or op is ops.RSQRT:
        sequences.divide_for_estimate(f, instr, emit)
    elif op is ops.COPY_SIGN:
        sequences.copy_sign(f, instr, emit)
    elif op is ops.ABS:
        if type_.is_float:
            return False
        _absolute(f, instr, emit)
    else:
        # The second operand only where it compares less, or greater.
        a, b = instr.args
        s = Steps(f, emit, instr.line, 0)
        chosen = s.compare(ops.LT if op is ops.MIN else ops.GT, type_, b, a)
        s.op(ops.SELECT, type_, chosen, b, a, into=instr.dst)
    return True


def _divide(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if instr.type.is_float:
        if late:
            divide_floats(f, instr, emit)
        return late
    if instr.imm == division.BARE:
        return False
    if instr.args[1] < 0:
        if not division.divide_by_power(f, instr, emit):
            division.multiply_by_reciprocal(f, instr, emit)
        return True
    if instr.op is ops.DIV_TRUNC or instr.op is ops.REM_TRUNC:
        # The commands give what the operations do, 0 for a divisor of 0 too.
        return False
    if late:
        division.divide(f, instr, emit, traps=False)
    return late


def _absolute(f: Function, instr: Instr, emit: Emit) -> None:
    """|a| by its sign spread over all bits: (a xor sign) - sign."""
    type_, a = instr.type, instr.args[0]
    s = Steps(f, emit, instr.line, 0)
    if not type_.signed:
        s.op(ops.COPY, type_, a, into=instr.dst)
        return
    sign = s.op(ops.SHR, type_, a, s.const(type_, type_.bits - 1))
    s.op(ops.SUB, type_, s.op(ops.XOR, type_, a, sign), sign, into=instr.dst)


def _round(f: Function, instr: Instr, emit: Emit) -> None:
    """``floor``, ``ceil``, ``trunc`` or ``round`` by way of an integer; what has no fraction stays as it is: 2**23 (2**52) and more, infinities, NaN.

    To nearest, ties to even, by adding and taking away 2**23 (2**52), below which a float has no bits behind the point (Hacker's Delight, 2nd edition, 17-3). The result
    has the sign that the operand had, zeros too.
    """
    op, type_, a = instr.op, instr.type, instr.args[0]
    s = Steps(f, emit, instr.line, 0)
    single = type_ is F32
    whole = s.const(type_, 2.0 ** (23 if single else 52))
    bits = U32 if single else U64
    size = s.cast(type_, s.op(ops.AND, bits, s.cast(bits, a, type_), s.const(bits, (1 << type_.bits - 1) - 1)), bits)
    small = s.compare(ops.LT, type_, size, whole)
    if op is ops.ROUND:
        made = s.op(ops.SUB, type_, s.op(ops.ADD, type_, size, whole), whole)
    else:
        made = s.convert(type_, s.op(ops.CONVERT_UNCHECKED, I64, a, source=type_), I64)
        if op is not ops.TRUNC:
            beyond = s.compare(ops.GT if op is ops.FLOOR else ops.LT, type_, made, a)
            made = s.op(ops.SUB if op is ops.FLOOR else ops.ADD, type_, made, s.convert(type_, s.convert(I64, beyond, f.types[beyond]), I64))
    s.op(ops.SELECT, type_, small, s.op(ops.COPY_SIGN, type_, made, a), a, into=instr.dst)
