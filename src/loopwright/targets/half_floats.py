"""Conversions between f32 and the bits of f16, on machines that have none, by integers and f32."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, I32, U16, U32

__all__ = ["from_half", "to_half"]

#: The bits of f32: infinity; 2**-14, the least normal f16; 0.5, whose last digit is that of the least f16 of all.
_INFINITY = 0x7F800000
_NORMAL = 0x38800000
_HALF = 0x3F000000


def from_half(f: Function, instr: Instr, emit: Emit) -> None:
    """``from_f16``: exponent and fraction in their places, times 2**(127 - 15), which is exact and makes normal what was not; all ones in the exponent stay."""
    s = Steps(f, emit, instr.line, instr.type.lanes)
    whole = s.convert(U32, instr.args[0], U16)
    size = s.op(ops.AND, U32, whole, s.const(U32, 0x7FFF))
    scaled = s.op(ops.MUL, F32, s.cast(F32, s.op(ops.SHL, U32, size, s.const(U32, 13)), U32), s.const(F32, 2.0**112))
    # All ones where there is no number below infinity.
    beyond = s.op(ops.SHR, I32, s.op(ops.SUB, I32, s.const(I32, 0x7BFF), s.cast(I32, size, U32)), s.const(I32, 31))
    exponent = s.op(ops.AND, U32, s.cast(U32, beyond, I32), s.const(U32, _INFINITY))
    sign = s.op(ops.SHL, U32, s.op(ops.AND, U32, whole, s.const(U32, 0x8000)), s.const(U32, 16))
    made = s.op(ops.OR, U32, s.op(ops.OR, U32, s.cast(U32, scaled, F32), exponent), sign)
    s.cast(F32, made, U32, instr.dst)


def to_half(f: Function, instr: Instr, emit: Emit) -> None:
    """``to_f16``: half of what is dropped is added, less one where the last bit that stays is 0; what is no normal number is rounded by adding it to 0.5."""
    s = Steps(f, emit, instr.line, instr.type.lanes)
    bits = s.cast(U32, instr.args[0], F32)
    size = s.op(ops.AND, U32, bits, s.const(U32, 0x7FFFFFFF))
    sign = s.op(ops.AND, U32, s.shifted(U32, bits, 16), s.const(U32, 0x8000))
    upper = s.shifted(U32, size, 13)
    rounding = s.op(ops.ADD, U32, s.op(ops.AND, U32, upper, s.const(U32, 1)), s.const(U32, 0xFFF))
    normal = s.shifted(U32, s.op(ops.SUB, U32, s.op(ops.ADD, U32, size, rounding), s.const(U32, 112 << 23)), 13)
    normal = s.op(ops.MIN, U32, normal, s.const(U32, 0x7C00))
    sum_ = s.op(ops.ADD, F32, s.cast(F32, size, U32), s.const(F32, 0.5))
    tiny = s.op(ops.SUB, U32, s.cast(U32, sum_, F32), s.const(U32, _HALF))
    number = s.op(ops.SELECT, U32, s.compare(ops.LT, U32, size, s.const(U32, _NORMAL)), tiny, normal)
    nan = s.op(ops.OR, U32, s.op(ops.AND, U32, upper, s.const(U32, 0x3FF)), s.const(U32, 0x7E00))
    chosen = s.op(ops.SELECT, U32, s.compare(ops.GT, U32, size, s.const(U32, _INFINITY)), nan, number)
    s.convert(U16, s.op(ops.OR, U32, chosen, sign), U32, instr.dst)
