"""Operations on constants: typed ones (NumPy scalars) give bit for bit, and in the type, what the same values would give at run time.

They are evaluated by the operations' own rows. Python numbers among them take the type of the typed ones; without any they stay
Python numbers, whose types are still open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.annotations import BY_DTYPE
from loopwright.frontend.emitter import by_squaring, elementary
from loopwright.frontend.expr import is_number
from loopwright.frontend.promotion import SPELLED, TAKES, fitting, meet, refusal
from loopwright.ir import ops
from loopwright.ir.half_floats import is_half
from loopwright.ir.ops import Op
from loopwright.types import BF16, F32, F64, KIND_FLOAT, VOID, Type

__all__ = ["absolute", "apply", "choose", "divide", "evaluate", "is_typed", "met", "multiply_add", "power", "square_root", "type_of", "whole"]


def is_typed(value: Any) -> bool:
    """A NumPy scalar of a real type."""
    return isinstance(value, np.generic) and not isinstance(value, np.complexfloating)


def type_of(value: np.generic) -> Type:
    """The type of a NumPy scalar. Raises ``KernelTypeError`` where there is none."""
    type_ = BY_DTYPE.get(value.dtype.name)
    if type_ is None:
        raise KernelTypeError(f"there is no type for NumPy's {value.dtype.name}")
    return type_


def _met(op: Op, values: tuple[Any, ...]) -> tuple[Type, list[Any]]:
    """The type at which constants meet, one of which is typed, and the constants at it."""
    common: Type | None = None
    for value in values:
        if is_typed(value):
            type_ = type_of(value)
            common = type_ if common is None else meet(op, common, type_)
        elif not is_number(value):
            raise KernelTypeError(f"`{SPELLED.get(op.name, op.name)}` needs numbers, not {type(value).__name__}")
    assert common is not None
    if common.is_integer and TAKES[op.code][KIND_FLOAT] and any(type(value) is float for value in values):
        common = F64
    return common, [met(common, value) for value in values]


def met(type_: Type, value: Any) -> Any:
    """A constant as one of a type: converted, or a Python number that the type can hold."""
    return type_(value) if is_typed(value) or type_ is BF16 else ops.scalar(type_, fitting(type_, value))


def apply(op: Op, *values: Any) -> Any:
    """An operation on constants one of which is typed, as a constant of the type at which they meet."""
    type_, operands = _met(op, values)
    return evaluate(op, type_, operands)


def evaluate(op: Op, type_: Type, operands: list[Any], source: Type = VOID) -> Any:
    """What a row gives of NumPy scalars, as one. Raises what the operation on run-time values would where the type lacks it."""
    if not TAKES[op.code][type_.kind]:
        raise refusal(op, type_)
    assert op.meaning is not None
    result = ops.result_type(op, type_, source)
    if type_ is BF16:
        # As at run time, in f32.
        made = evaluate(op, F32, [ops.scalar(F32, float(x)) for x in operands], source)
        return BF16(made) if result is BF16 else made
    return np.dtype(result.dtype).type(op.meaning(type_, source, *operands))


def _of_floats(op: Op, *values: Any) -> float:
    """An operation on Python numbers as floats of 64 bits, whose result is again a Python float."""
    return float(evaluate(op, F64, [ops.scalar(F64, fitting(F64, value)) for value in values]))


def square_root(value: Any) -> Any:
    """Of an integer in f64."""
    if not is_typed(value):
        return _of_floats(ops.SQRT, value)
    return apply(ops.SQRT, F64(value) if type_of(value).is_integer else value)


def whole(op: Op, value: Any) -> Any:
    """``floor``, ``ceil``, ``trunc``, ``round``: integers are whole already."""
    if is_typed(value):
        return value if type_of(value).is_integer else apply(op, value)
    return _of_floats(op, value) if type(value) is float else value


def absolute(value: Any) -> Any:
    return apply(ops.ABS, value) if is_typed(value) else abs(value)


def popcount(value: Any) -> Any:
    """The bits of a number that are 1. A negative one without a type has no width, and an infinity of them."""
    if is_typed(value):
        return apply(ops.POPCOUNT, value)
    if type(value) is float:
        raise refusal(ops.POPCOUNT, F64)
    if value < 0:
        raise KernelTypeError(f"lw.popcount of {value}, which has no width of its own: give it a type, as in lw.popcount(lw.i32({value}))")
    return int(value).bit_count()


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    return apply(ops.FMA, a, b, c) if is_typed(a) or is_typed(b) or is_typed(c) else _of_floats(ops.FMA, a, b, c)


def divide(op: Op, a: Any, b: Any) -> Any:
    """``div_trunc`` and ``rem_trunc``."""
    if is_typed(a) or is_typed(b):
        return apply(op, a, b)
    if type(a) is float or type(b) is float:
        return _of_floats(op, a, b)
    if b == 0:
        return 0
    quotient = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
    return quotient if op is ops.DIV_TRUNC else a - b * quotient


def choose(condition: Any, a: Any, b: Any) -> Any:
    """``select``: of two numbers the chosen one at the type where they meet, whichever it is."""
    if (is_typed(a) or is_typed(b)) and (is_typed(a) or is_number(a)) and (is_typed(b) or is_number(b)):
        _, (a, b) = _met(ops.SELECT, (a, b))
    return a if condition else b


def power(a: Any, exponent: Any) -> Any:
    """``a ** exponent``: of a typed number by multiplication or a square root, as at run time; anything else as Python has it."""
    if not is_typed(a) or not TAKES[ops.MUL.code][type_of(a).kind]:
        return a**exponent
    if type(exponent) is float and exponent == 0.5:
        value = F64(a) if type_of(a).is_integer else a
        # As ``Emitter.power`` has it.
        return np.copysign(value, 1.0) if np.isneginf(value) else apply(ops.SQRT, apply(ops.ADD, value, 0.0))
    if type(exponent) is not int or abs(exponent) > 64:
        if type_of(a).is_float or (type_of(exponent).is_float if is_typed(exponent) else type(exponent) is float):
            return elementary("pow")(a, exponent)
        return a**exponent
    if is_half(type_of(a)) and not 0 <= exponent <= 2:
        return type_of(a)(power(F32(a), exponent))
    if exponent < 0:
        if type_of(a).is_integer:
            raise KernelTypeError("an integer to a negative power: convert it first, as in lw.f64(x) ** -1")
        return apply(ops.DIV, 1.0, power(a, -exponent))
    if exponent == 0:
        return type_of(a)(1)
    return by_squaring(a, exponent, lambda x, y: apply(ops.MUL, x, y))
