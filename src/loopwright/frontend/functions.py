"""The functions of expressions: ``lw.min``, ``lw.select``, ``lw.fma`` and their like.

On run-time values they emit code; on constants they compute, so that they work on compile-time values too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend import constants
from loopwright.frontend.annotations import BY_DTYPE
from loopwright.frontend.complex_numbers import Complex, imaginary_part, is_complex, real_part
from loopwright.frontend.complex_numbers import elementary as of_complex
from loopwright.frontend.complex_numbers import select as select_complex
from loopwright.frontend.element_types import as_type
from loopwright.frontend.expr import Value, ValueEmitter, describe, is_number
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import BOOL, F64, KIND_BOOL, KIND_MASK, U8, U16, U32, U64, Type, vector_of

__all__ = [
    "abs",
    "all",
    "angle",
    "any",
    "bit",
    "bitcast",
    "ceil",
    "conj",
    "crc32c",
    "div_trunc",
    "floor",
    "fma",
    "fmod",
    "imag",
    "max",
    "min",
    "popcount",
    "real",
    "rem_trunc",
    "round",
    "select",
    "set_bit",
    "sqrt",
    "sum",
    "trunc",
]

_python_min = min
_python_max = max
_python_sum = sum
_python_any = any
_python_all = all


def _emitter(name: str, *values: Any) -> ValueEmitter | None:
    """What emits the function of these values; None when all are known while compiling. They must be numbers."""
    emitter: ValueEmitter | None = None
    for value in values:
        if isinstance(value, Value):
            emitter = value.emitter
        elif not (is_number(value) or isinstance(value, np.generic)):
            raise KernelTypeError(f"lw.{name} takes numbers, not {describe(value)}")
    return emitter


def _fold(op: Op, values: tuple[Any, ...], name: str) -> Any:
    if len(values) == 1:
        if not isinstance(values[0], (tuple, list)) and (isinstance(values[0], Value) or not hasattr(type(values[0]), "__iter__")):
            raise KernelTypeError(f"lw.{name} takes two or more numbers, or one tuple or list of them, not {describe(values[0])} alone")
        values = tuple(values[0])
    if not values:
        raise KernelTypeError(f"lw.{name}() of nothing")
    result = values[0]
    for value in values[1:]:
        emitter = _emitter(name, result, value)
        if emitter is not None:
            result = emitter.operation(op, [result, value])
        elif constants.is_typed(result) or constants.is_typed(value):
            result = constants.apply(op, result, value)
        else:
            result = (_python_min if op is ops.MIN else _python_max)(result, value)
    return result


def min(*values: Any) -> Any:
    """The least of the values, as Python's ``min``: of a and b, b if b < a, else a (so a NaN in a stays)."""
    return _fold(ops.MIN, values, "min")


def max(*values: Any) -> Any:
    """The greatest of the values, as Python's ``max``: of a and b, b if b > a, else a (so a NaN in a stays)."""
    return _fold(ops.MAX, values, "max")


def select(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere. Both are computed: use ``a if condition else b`` where only one may be."""
    if is_complex(a) or is_complex(b):
        for value in (condition, a, b):
            if isinstance(value, (Value, Complex)):
                return select_complex(value.emitter, condition, a, b)
        return a if condition else b
    if isinstance(condition, Value):
        emitter = _emitter("select", condition, a, b)
    else:
        emitter = a.emitter if isinstance(a, Value) else b.emitter if isinstance(b, Value) else None
        if (
            emitter is not None
            and not isinstance(condition, (bool, np.bool_))
            and _python_any([isinstance(v, Value) and v.type.kind in (KIND_BOOL, KIND_MASK) for v in (a, b)])
        ):
            emitter.fail(f"lw.select takes the condition first, lw.select(condition, a, b); its first argument is {describe(condition)}")
    if emitter is None:
        return constants.choose(condition, a, b)
    return emitter.select(condition, a, b)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` with one rounding."""
    emitter = _emitter("fma", a, b, c)
    if emitter is None:
        return constants.multiply_add(a, b, c)
    return emitter.operation(ops.FMA, [a, b, c])


def _whole(op: Op, value: Any) -> Any:
    emitter = _emitter(op.name, value)
    return constants.whole(op, value) if emitter is None else emitter.unary(op, value)


def sqrt(value: Any) -> Any:
    """The square root, correctly rounded; of an integer in f64; of a complex number the one whose real part is not negative."""
    if is_complex(value):
        return of_complex("applied")("sqrt", (value,))
    emitter = _emitter("sqrt", value)
    return constants.square_root(value) if emitter is None else emitter.unary(ops.SQRT, value)


def floor(value: Any) -> Any:
    """Rounded towards minus infinity; the type stays."""
    return _whole(ops.FLOOR, value)


def ceil(value: Any) -> Any:
    """Rounded towards plus infinity; the type stays."""
    return _whole(ops.CEIL, value)


def trunc(value: Any) -> Any:
    """Rounded towards zero; the type stays."""
    return _whole(ops.TRUNC, value)


def round(value: Any) -> Any:
    """Rounded to the nearest integer, ties to even; the type stays."""
    return _whole(ops.ROUND, value)


def abs(value: Any) -> Any:
    """The absolute value, of complex numbers as well."""
    if is_complex(value):
        return of_complex("applied")("abs", (value,))
    emitter = _emitter("abs", value)
    return constants.absolute(value) if emitter is None else emitter.absolute(value)


def real(z: Any) -> Any:
    """The real part of a complex number; a real number as it is."""
    return real_part(z)


def imag(z: Any) -> Any:
    """The imaginary part of a complex number; of a real number 0."""
    return imaginary_part(z)


def conj(z: Any) -> Any:
    """A complex number with the sign of its imaginary part changed; a real number as it is."""
    return z.conjugate() if is_complex(z) else z


def angle(z: Any) -> Any:
    """The angle of a complex number with the positive real axis, from -pi to pi (``atan2`` of its parts)."""
    if not is_complex(z):
        raise KernelTypeError(f"lw.angle takes a complex number, not {describe(z)}")
    return of_complex("applied")("angle", (z,))


def popcount(value: Any) -> Any:
    """How many bits of an integer are 1; a negative one is counted in two's complement, at the width of its type."""
    emitter = _emitter("popcount", value)
    return constants.popcount(value) if emitter is None else emitter.unary(ops.POPCOUNT, value)


def bit(bits: Any, i: Any) -> Any:
    """Whether bit ``i`` of an array of bytes is 1, as ``np.packbits(…, bitorder="little")`` numbers them and Arrow's validity bitmaps do.

    Args:
        bits: an array of u8, with eight bits in each element, the lowest first.
        i: the number of the bit, from 0.
    """
    _check_bits("bit", bits, i)
    holds = bits[i >> 3] >> (i & 7) & 1 != 0
    return holds if isinstance(holds, Value) else bool(holds)


def set_bit(bits: Any, i: Any, condition: Any) -> None:
    """Make bit ``i`` of an array of bytes 1 where a condition holds, and 0 where not; the other bits stay.

    Args:
        bits: an array of u8, as ``lw.bit`` reads it.
        i: the number of the bit, from 0.
        condition: what it becomes.
    """
    _check_bits("set_bit", bits, i)
    within = i & 7
    one = U8(1) << (U8(within) if isinstance(within, Value) else np.uint8(within))
    held = bits[i >> 3]
    staged = [isinstance(value, Value) for value in (held, one, condition)]
    bits[i >> 3] = select(condition, held | one, held & ~one) if _python_any(staged) else np.uint8(held | one if condition else held & ~one)


def _check_bits(name: str, bits: Any, i: Any) -> None:
    """Raises: KernelTypeError: no array of bytes, or no number of a bit."""
    element = getattr(bits, "dtype", None)
    if (element is not U8 and element != np.uint8) or getattr(bits, "ndim", 1) != 1:
        raise KernelTypeError(f"lw.{name} takes an array of u8 of one dimension first, with eight bits in each element, not {describe(bits)}")
    integer = i.type.is_integer and not i.type.lanes if isinstance(i, Value) else isinstance(i, (int, np.integer)) and not isinstance(i, bool)
    if not integer:
        raise KernelTypeError(f"lw.{name} takes the number of a bit, an integer, not {describe(i)}")


def div_trunc(a: Any, b: Any) -> Any:
    """Integer division rounded towards zero: the machine's own, cheaper than ``//``."""
    emitter = _emitter("div_trunc", a, b)
    if emitter is None:
        return constants.divide(ops.DIV_TRUNC, a, b)
    return emitter.operation(ops.DIV_TRUNC, [a, b])


def rem_trunc(a: Any, b: Any) -> Any:
    """What ``div_trunc`` leaves; it has the sign of ``a``. Of floats it is ``lw.fmod``."""
    emitter = _emitter("rem_trunc", a, b)
    if emitter is None:
        return constants.divide(ops.REM_TRUNC, a, b)
    return emitter.operation(ops.REM_TRUNC, [a, b])


def fmod(a: Any, b: Any) -> Any:
    """What whole multiples of ``b`` leave of ``a``, exactly and with the sign of ``a``, as C's ``fmod``; ``a % b`` has the sign of ``b``.

    Of integers it is a float of 64 bits; ``lw.rem_trunc`` leaves them integers. NaN by 0 and of infinities; by infinity ``a`` itself.
    """
    emitter = _emitter("fmod", a, b)
    if emitter is not None:
        return emitter.of_floats(ops.REM_TRUNC, a, b)
    if not (constants.is_typed(a) or constants.is_typed(b)):
        return constants.divide(ops.REM_TRUNC, float(a), float(b))
    whole = not _python_any([isinstance(value, float) or (constants.is_typed(value) and constants.type_of(value).is_float) for value in (a, b)])
    return constants.apply(ops.REM_TRUNC, F64(a) if whole else a, b)


def bitcast(type_: Type, value: Any) -> Any:
    """The same bits as another type of the same width."""
    to = as_type(type_)
    if to is None:
        if isinstance(value, Type):
            raise KernelTypeError(f"lw.bitcast takes the type first, as in lw.bitcast(lw.{value}, x); its first argument is {describe(type_)}")
        raise KernelTypeError(f"lw.bitcast takes one of loopwright's types first, as in lw.bitcast(lw.i32, x), not {describe(type_)}")
    type_ = to
    emitter = _emitter("bitcast", value)
    if emitter is None:
        if not isinstance(value, np.generic):
            raise KernelTypeError(f"lw.bitcast of {describe(value)}, which has no width of its own: give it a type, as in lw.bitcast(lw.{type_}, lw.f32(1.5))")
        if not type_.dtype or value.dtype.itemsize * 8 != type_.bits:
            raise KernelTypeError(f"bitcast of {BY_DTYPE.get(value.dtype.name, value.dtype.name)} to {type_}: the widths differ")
        return np.asarray(value).view(type_.dtype)[()]
    made = emitter.staged(value)
    emitter.settle(made)
    if made.type.bits != type_.element.bits:
        emitter.fail(f"bitcast of {made.type} to {type_}: the widths differ")
    if not ((made.type.is_integer or made.type.is_float) and (type_.element.is_integer or type_.element.is_float)):
        emitter.fail(f"bitcast of {made.type} to {type_}: it takes and gives integers and floats; convert conditions, as in lw.i32(c)")
    full = vector_of(type_.element, made.type.lanes)
    return emitter.value(ops.BITCAST, full, [made.operand], full, made.type)


def crc32c(crc: Any, data: Any) -> Any:
    """The checksum CRC-32C of what ``crc`` is the checksum of, followed by the bytes of ``data`` (u8, u16, u32 or u64, lowest byte first).

    The usual checksum starts at 0xFFFFFFFF and is complemented in the end.
    """
    emitter = _emitter("crc32c", crc, data)
    types = (U8, U16, U32, U64)
    if emitter is None:
        for type_ in types:
            if isinstance(data, np.generic) and data.dtype == type_.dtype:
                return constants.evaluate(ops.CRC32C, U32, [constants.met(U32, crc), data], type_)
        raise KernelTypeError(f"lw.crc32c takes data of type u8, u16, u32 or u64, not {type(data).__name__}: convert it, as in lw.u8(x)")
    made = emitter.staged(data)
    emitter.settle(made)
    if made.type.lanes or emitter.in_lanes:
        emitter.fail("lw.crc32c inside lw.lanes: each step needs the checksum of the one before; use lw.range for this loop")
    if made.type not in types:
        emitter.fail(f"lw.crc32c takes data of type u8, u16, u32 or u64, not {made.type}: convert it, as in lw.u8(x)")
    start = emitter.assignable(crc, U32, "the checksum")
    return emitter.value(ops.CRC32C, U32, [start.operand, made.operand], U32, made.type)


def sum(values: Any) -> Any:
    """The sum of a vector's lanes (in the builder), or of the values of a Python sequence."""
    if not isinstance(values, Value):
        return _python_sum(sequence("lw.sum", values))
    emitter = values.emitter
    if emitter.in_lanes:
        emitter.fail("lw.sum inside lw.lanes: the lanes are added with total += x[i] on a variable from before the loop")
    emitter.settle(values)
    if not values.type.lanes:
        return values
    if values.type.kind == KIND_MASK:
        emitter.fail("lw.sum of a condition: convert it first, as in lw.i32(condition)")
    return emitter.value(ops.REDUCE_ADD, values.type, [values.operand], values.type.element)


def sequence(name: str, values: Any) -> Any:
    """Values that can be gone through. Raises ``KernelTypeError`` for others."""
    if isinstance(values, str) or not hasattr(type(values), "__iter__"):
        raise KernelTypeError(f"{name} takes a run-time value, or a sequence of Python values, not {describe(values)}")
    return values


def _quantify(op: Op, condition: Value) -> Any:
    emitter = condition.emitter
    c = emitter.condition(condition)
    if c.type.kind != KIND_MASK:
        return emitter.value(ops.ANY_LANE if op is ops.ANY else ops.ALL_LANES, BOOL, [c.operand], BOOL) if emitter.in_lanes else c
    return emitter.value(op, c.type, [c.operand], BOOL)


def any(condition: Any) -> Any:
    """Whether the condition holds in one lane that runs; a condition known while compiling is its own answer (or: Python's ``any`` of a sequence)."""
    if isinstance(condition, Value):
        return _quantify(ops.ANY, condition)
    return condition if isinstance(condition, (bool, np.bool_)) else _of_all(True, sequence("lw.any", condition))


def all(condition: Any) -> Any:
    """Whether the condition holds in every lane that runs; a condition known while compiling is its own answer (or: Python's ``all`` of a sequence)."""
    if isinstance(condition, Value):
        return _quantify(ops.ALL, condition)
    return condition if isinstance(condition, (bool, np.bool_)) else _of_all(False, sequence("lw.all", condition))


def _of_all(one: bool, conditions: Any) -> Any:
    """Whether one condition of a sequence holds, or all do: Python's ``any`` and ``all``, with those of run time as they come."""
    result: Any = None
    for condition in conditions:
        if isinstance(condition, Value):
            c = condition.emitter.condition(condition)
            result = c if result is None else result | c if one else result & c
        elif bool(condition) is one:
            return one
    return result if result is not None else not one
