"""AVX2: lanes of u32 and u64 to floats and back, and of i64 to f32, as sequences of what there is for other integers.

What is emitted are operations of the intermediate representation, so that constants are shared and moved out of loops.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, F64, I32, I64, U32, U64, Type

__all__ = ["convert", "lacking"]

#: The bits of 2**52 and of 2**84 as f64: an integer of 32 bits put below them is added to the first, and 2**32 times it to the second.
_TO_52: Final = 0x4330000000000000
_TO_84: Final = 0x4530000000000000


def lacking(type_: Type, source: Type) -> bool:
    """Whether this is a conversion between lanes of u32 or u64 and of floats, or one of i64 to f32."""
    if not type_.lanes or type_.is_float == source.is_float:
        return False
    whole = source if type_.is_float else type_
    if whole.signed:
        return whole.bits == 64 and type_.is_float and type_.bits == 32
    return whole.bits >= 32


def convert(f: Function, instr: Instr, emit: Emit) -> bool:
    """Emit the sequence of a conversion that ``lacking`` names; False if it is no such.

    Args:
        f: the function.
        instr: a ``convert`` or ``convert_unchecked``.
        emit: takes the instructions.
    """
    type_, source = instr.type, instr.source
    if not lacking(type_, source):
        return False
    steps = Steps(f, emit, instr.line, type_.lanes)
    given = instr.args[0]
    if source.is_integer:
        to_float = {(32, 32): _u32_to_f32, (32, 64): _u32_to_f64, (64, 32): _quad_to_f32, (64, 64): _u64_to_f64}
        if source.signed:
            _quad_to_f32(steps, given, instr.dst, I64)
        else:
            to_float[source.bits, type_.bits](steps, given, instr.dst)
    elif source.bits == 64 and type_.bits == 32:
        _f64_to_u32(steps, given, instr.dst)
    else:
        if source.bits < type_.bits:
            given = steps.convert(F64, given, F32)
        _float_to_unsigned(steps, given, instr.dst, F32 if type_.bits == 32 else F64)
    return True


def _u32_to_f32(s: Steps, x: int, into: int) -> None:
    """Halves of 16 bits are floats exactly; only their sum rounds."""
    high = s.convert(F32, s.cast(I32, s.shifted(U32, x, 16), U32), I32)
    low = s.convert(F32, s.cast(I32, s.op(ops.AND, U32, x, s.const(U32, 0xFFFF)), U32), I32)
    s.op(ops.FMA, F32, high, s.const(F32, 65536.0), low, into=into)


def _u32_to_f64(s: Steps, x: int, into: int) -> None:
    wide = s.op(ops.OR, U64, s.convert(U64, x, U32), s.const(U64, _TO_52))
    s.op(ops.SUB, F64, s.cast(F64, wide, U64), s.const(F64, 2.0**52), into=into)


def _u64_to_f64(s: Steps, x: int, into: int) -> None:
    """2**84 + 2**32 * the upper half, less 2**84 + 2**52, which is exact; plus (2**52 + the lower half), which alone rounds."""
    high = s.op(ops.OR, U64, s.shifted(U64, x, 32), s.const(U64, _TO_84))
    low = s.op(ops.OR, U64, s.op(ops.AND, U64, x, s.const(U64, 0xFFFFFFFF)), s.const(U64, _TO_52))
    exact = s.op(ops.SUB, F64, s.cast(F64, high, U64), s.const(F64, 2.0**84 + 2.0**52))
    s.op(ops.ADD, F64, exact, s.cast(F64, low, U64), into=into)


def _quad_to_f32(s: Steps, x: int, into: int, quad: Type = U64) -> None:
    """By way of f64, for which what has more than 53 bits is rounded to odd before: then only the second rounding counts (Boldo and Melquiond 2008)."""
    bits = s.cast(U64, x, quad) if quad is I64 else x
    low = s.const(U64, (1 << 11) - 1)
    sticky = s.op(ops.ADD, U64, s.op(ops.AND, U64, bits, low), low)
    odd = s.op(ops.ANDNOT, U64, low, s.op(ops.OR, U64, bits, sticky))
    # From -2**53 on, and below 2**53, it stays as it is.
    size, most = (s.op(ops.ADD, U64, bits, s.const(U64, 1 << 53)), 54) if quad is I64 else (bits, 53)
    small = s.compare(ops.EQ, U64, s.shifted(U64, size, most), s.const(U64, 0))
    fitting = s.op(ops.SELECT, U64, small, bits, odd)
    double = s.convert(F64, s.cast(I64, fitting, U64) if quad is I64 else fitting, quad)
    s.convert(F32, double, F64, into)


def _f64_to_u32(s: Steps, x: int, into: int) -> None:
    """Clamped (NaN to 0), truncated, and 2**31 less: an i32, whose top bit is then flipped."""
    clamped = s.op(ops.MIN, F64, s.op(ops.MAX, F64, s.const(F64, 0.0), x), s.const(F64, float((1 << 32) - 1)))
    low = s.op(ops.SUB, F64, s.op(ops.TRUNC, F64, clamped), s.const(F64, 2.0**31))
    whole = s.op(ops.CONVERT_UNCHECKED, I32, low, source=F64)
    s.cast(U32, s.op(ops.XOR, I32, whole, s.const(I32, -(1 << 31))), I32, into)


def _float_to_unsigned(s: Steps, x: int, into: int, float_: Type) -> None:
    """To the integers of the float's width: from half their range on, what is above that, saturating."""
    bits = float_.bits
    signed, unsigned = (I32, U32) if bits == 32 else (I64, U64)
    half = s.const(float_, 2.0 ** (bits - 1))
    positive = s.op(ops.MAX, float_, s.const(float_, 0.0), x)
    large = s.compare(ops.GE, float_, positive, half)
    low = s.op(ops.SELECT, float_, large, s.op(ops.SUB, float_, positive, half), positive)
    top = s.op(ops.SELECT, signed, large, s.const(signed, -(1 << bits - 1)), s.const(signed, 0))
    s.cast(unsigned, s.op(ops.XOR, signed, s.convert(signed, low, float_), top), signed, into)
