"""Functions of expressions beyond Python's operators: ``lw.add_saturated``, ``lw.rotate_left``, ``lw.clamp`` and their like.

As those in ``functions.py`` they emit code on run-time values, and compute on constants. What saturates, rotates or counts bits needs a width: Python numbers alone have none.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from loopwright.errors import KernelTypeError, LoopwrightError, UnsupportedOperationError
from loopwright.frontend import constants, functions
from loopwright.frontend.element_types import as_type
from loopwright.frontend.expr import Value, describe
from loopwright.frontend.functions import _emitter
from loopwright.frontend.promotion import refusal
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import F64, I8, I16, I32, I64, U8, U16, U32, U64, UNSIGNED, Type, limits, vector_of

__all__ = [
    "abs_diff",
    "add_saturated",
    "average_down",
    "average_up",
    "bit_reverse",
    "byte_swap",
    "clamp",
    "clmul",
    "clmul_high",
    "copysign",
    "fms",
    "fnma",
    "fnms",
    "leading_zeros",
    "mul_high",
    "mul_wide",
    "rotate_left",
    "rotate_right",
    "saturate",
    "sign",
    "sub_saturated",
    "trailing_zeros",
]


def _without_width(name: str, values: tuple[Any, ...]) -> NoReturn:
    shown = " and ".join(describe(value) for value in values)
    rest = ", …" if len(values) > 1 else ""
    raise KernelTypeError(f"lw.{name} of {shown}, which has no width of its own: give it a type, as in lw.{name}(lw.i32({values[0]!r}){rest})")


def _of_width(op: Op, *values: Any) -> Any:
    """An operation on integers whose result depends on how wide their type is."""
    emitter = _emitter(op.name, *values)
    if emitter is not None:
        return emitter.unary(op, values[0]) if len(values) == 1 else emitter.operation(op, list(values))
    for value in values:
        if constants.is_typed(value):
            return constants.apply(op, *values)
        if type(value) is float:
            raise refusal(op, F64)
    _without_width(op.name, values)


# --- sums, averages, products ---------------------------------------------------------------------------------------


def add_saturated(a: Any, b: Any) -> Any:
    """``a + b`` of integers; what their type does not hold becomes its nearest bound: of u8 200 and 100 make 255."""
    return _of_width(ops.ADD_SATURATED, a, b)


def sub_saturated(a: Any, b: Any) -> Any:
    """``a - b`` of integers; what their type does not hold becomes its nearest bound: of u8 100 less 200 is 0."""
    return _of_width(ops.SUB_SATURATED, a, b)


def _average(op: Op, a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return a + b + (1 if op is ops.AVERAGE_UP else 0) >> 1
    return _of_width(op, a, b)


def average_down(a: Any, b: Any) -> Any:
    """``(a + b) // 2`` of integers, without overflow: half ways down."""
    return _average(ops.AVERAGE_DOWN, a, b)


def average_up(a: Any, b: Any) -> Any:
    """``(a + b + 1) // 2`` of integers, without overflow: half ways up."""
    return _average(ops.AVERAGE_UP, a, b)


def mul_high(a: Any, b: Any) -> Any:
    """The upper half of the product of two integers, which has twice their bits; the lower half is ``a * b``."""
    return _of_width(ops.MUL_HIGH, a, b)


def clmul(a: Any, b: Any) -> Any:
    """The lower half of the carry-less product of two integers, whose partial products are added by exclusive or: a product of polynomials over bits, as checksums and GHASH take."""
    return _of_width(ops.CLMUL, a, b)


def clmul_high(a: Any, b: Any) -> Any:
    """The upper half of the carry-less product, of which ``clmul`` is the lower one."""
    return _of_width(ops.CLMUL_HIGH, a, b)


_WIDER = {U8: U16, U16: U32, U32: U64, I8: I16, I16: I32, I32: I64}


def mul_wide(a: Any, b: Any) -> Any:
    """The product of two integers of up to 32 bits, in the type of twice their width, which always holds it."""
    emitter = _emitter("mul_wide", a, b)
    if emitter is None:
        if not (constants.is_typed(a) or constants.is_typed(b)):
            _without_width("mul_wide", (a, b))
        type_ = constants.type_of(constants.apply(ops.MUL, a, b))
        if type_ not in _WIDER:
            raise _too_wide(type_)
        return constants.evaluate(ops.MUL_WIDE, _WIDER[type_], [constants.met(type_, a), constants.met(type_, b)], type_)
    values = [emitter.staged(v) if isinstance(v, (Value, np.generic)) else v for v in (a, b)]
    for value in values:
        if isinstance(value, Value):
            emitter.settle(value)
    met, args = emitter.adapt(ops.MUL_WIDE, values)
    assert met is not None
    if met.element not in _WIDER:
        raise emitter.located(_too_wide(met.element))
    wide = vector_of(_WIDER[met.element], met.lanes)
    return emitter.value(ops.MUL_WIDE, wide, args, wide, met)


def _too_wide(type_: Type) -> LoopwrightError:
    if not type_.is_integer:
        return refusal(ops.MUL_WIDE, type_)
    return UnsupportedOperationError(
        f"`mul_wide` is not available for {type_}, of whose product no type has all bits: a * b has the lower ones, lw.mul_high(a, b) the upper ones"
    )


def abs_diff(a: Any, b: Any) -> Any:
    """``|a - b|`` without overflow: of integers in the unsigned type of their width, which always holds it."""
    emitter = _emitter("abs_diff", a, b)
    if emitter is None:
        if not (constants.is_typed(a) or constants.is_typed(b)):
            return abs(a - b)
        common = constants.apply(ops.MAX, a, b)
        type_ = constants.type_of(common)
        if type_.is_integer:
            return np.asarray(constants.apply(ops.ABS_DIFF, a, b)).view(UNSIGNED[type_.bits].dtype)[()]
        return constants.absolute(constants.apply(ops.SUB, a, b))
    if any(isinstance(v, (float, np.floating)) or (isinstance(v, Value) and v.type.is_float) for v in (a, b)):
        return emitter.absolute(emitter.binary(ops.SUB, a, b))
    made = emitter.operation(ops.ABS_DIFF, [a, b])
    emitter.settle(made)
    return functions.bitcast(UNSIGNED[made.type.bits], made) if made.type.signed else made


def fms(a: Any, b: Any, c: Any) -> Any:
    """``a * b - c`` with one rounding."""
    return _fused(ops.FMS, a, b, c)


def fnma(a: Any, b: Any, c: Any) -> Any:
    """``c - a * b`` with one rounding."""
    return _fused(ops.FNMA, a, b, c)


def fnms(a: Any, b: Any, c: Any) -> Any:
    """``-(a * b) - c`` with one rounding."""
    return _fused(ops.FNMS, a, b, c)


def _fused(op: Op, a: Any, b: Any, c: Any) -> Any:
    emitter = _emitter(op.name, a, b, c)
    if emitter is not None:
        return emitter.operation(op, [a, b, c])
    if constants.is_typed(a) or constants.is_typed(b) or constants.is_typed(c):
        return constants.apply(op, a, b, c)
    return float(constants.apply(op, F64(a), b, c))


# --- signs and bounds -----------------------------------------------------------------------------------------------


def clamp(value: Any, low: Any, high: Any) -> Any:
    """The value, ``low`` where it is less, ``high`` where it is greater: ``min(max(value, low), high)``. NaN stays."""
    _emitter("clamp", value, low, high)
    return functions.min(functions.max(value, low), high)


def copysign(size: Any, sign: Any) -> Any:
    """The absolute value of a float with the sign of another, also of zeros and NaN."""
    emitter = _emitter("copysign", size, sign)
    if emitter is not None:
        return emitter.operation(ops.COPY_SIGN, [size, sign])
    if constants.is_typed(size) or constants.is_typed(sign):
        return constants.apply(ops.COPY_SIGN, size, sign)
    return math.copysign(size, sign)


def sign(value: Any) -> Any:
    """-1, 0 or 1 by the sign of a number, in its type; NaN of NaN, and 0.0 of -0.0, as ``np.sign`` has it."""
    emitter = _emitter("sign", value)
    if emitter is None:
        if constants.is_typed(value):
            return constants.met(constants.type_of(value), np.sign(value))
        return type(value)(np.sign(value))
    made = emitter.staged(value)
    emitter.settle(made)
    if made.type.is_float:
        below = emitter.select(emitter.binary(ops.LT, made, 0.0), -1.0, emitter.binary(ops.ADD, made, 0.0))
        return emitter.select(emitter.binary(ops.GT, made, 0.0), 1.0, below)
    least = emitter.operation(ops.MAX, [made, -1]) if made.type.signed else made
    return emitter.operation(ops.MIN, [least, 1])


def saturate(type_: Type, value: Any) -> Any:
    """A number as one of an integer type; what that does not hold becomes its nearest bound, and NaN 0: of 300 as u8 255, where ``lw.u8(x)`` of an integer wraps."""
    to = as_type(type_)
    if to is None or not to.is_integer or to.lanes:
        raise KernelTypeError(f"lw.saturate takes one of the integer types first, as in lw.saturate(lw.u8, x), not {describe(type_)}")
    type_ = to
    emitter = _emitter("saturate", value)
    if emitter is None:
        low, high = limits(type_)
        return type_(value if isinstance(value, (float, np.floating)) else min(max(int(value), low), high))
    made = emitter.staged(value)
    emitter.settle(made)
    if not made.type.is_integer:
        return emitter.convert(made, type_)
    full = vector_of(type_, made.type.lanes)
    if full is made.type:
        return made
    return emitter.value(ops.CONVERT_SATURATED, full, [made.operand], full, made.type)


# --- bits -----------------------------------------------------------------------------------------------------------


def _rotated(op: Op, value: Any, count: Any) -> Any:
    """The type is the value's, whatever the count's; a count of it has the bits that matter."""
    emitter = _emitter(op.name, value, count)
    if emitter is None:
        if not constants.is_typed(value):
            _without_width(op.name, (value, count))
        type_ = constants.type_of(value)
        return constants.evaluate(op, type_, [value, type_(_places(op, count, type_))])
    made = emitter.staged(value)
    emitter.settle(made)
    if not made.type.is_integer:
        raise emitter.located(refusal(op, made.type))
    if isinstance(count, Value):
        emitter.settle(count)
        if not count.type.is_integer:
            raise emitter.located(refusal(op, count.type))
        return emitter.operation(op, [made, emitter.convert(count, made.type.element)])
    return emitter.value(op, made.type, [made.operand, emitter.number(made.type, _places(op, count, made.type))], made.type)


def _places(op: Op, count: Any, type_: Type) -> int:
    if isinstance(count, (float, np.floating)):
        raise refusal(op, F64)
    return int(count) % type_.bits


def rotate_left(value: Any, count: Any) -> Any:
    """The bits of an integer moved up by ``count``, modulo its width; those that leave above come in below."""
    return _rotated(ops.ROTATE_LEFT, value, count)


def rotate_right(value: Any, count: Any) -> Any:
    """The bits of an integer moved down by ``count``, modulo its width; those that leave below come in above."""
    return _rotated(ops.ROTATE_RIGHT, value, count)


def leading_zeros(value: Any) -> Any:
    """How many bits above the highest 1 of an integer are 0, at the width of its type; that width of 0."""
    return _of_width(ops.LEADING_ZEROS, value)


def trailing_zeros(value: Any) -> Any:
    """How many bits below the lowest 1 of an integer are 0; the width of its type of 0."""
    return _of_width(ops.TRAILING_ZEROS, value)


def bit_reverse(value: Any) -> Any:
    """The bits of an integer in the opposite order."""
    return _of_width(ops.BIT_REVERSE, value)


def byte_swap(value: Any) -> Any:
    """The bytes of an integer in the opposite order: little-endian to big-endian and back."""
    return _of_width(ops.BYTE_SWAP, value)
