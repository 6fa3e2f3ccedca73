"""Functions of NumPy and ``math`` that a kernel has as well: called with run-time values, they mean loopwright's.

The elementary functions are written with what this package offers, so they are above it, and found by name when the first one is called.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.frontend import arithmetic, functions, whole_numbers
from loopwright.frontend.emitter import elementary
from loopwright.frontend.expr import python_integer
from loopwright.frontend.short_sequences import (
    clip,
    copysign,
    distance,
    divided,
    float_power,
    heaviside,
    hypot,
    is_close,
    is_close_by_both,
    is_nan,
    isqrt,
    log,
    log_add,
    log_add_2,
    maximum,
    minimum,
    nan_to_num,
    parts,
    product,
    reciprocal,
    rounded,
    sinc,
    type_of,
)
from loopwright.types import BOOL, F64, U8

__all__ = ["equivalent", "loop_for"]

Function = Callable[..., Any]


def _fmin(a: Any, b: Any) -> Any:
    return functions.select(is_nan(a), b, functions.min(a, b))


def _fmax(a: Any, b: Any) -> Any:
    return functions.select(is_nan(a), b, functions.max(a, b))


def _is_finite(x: Any) -> Any:
    return functions.abs(x) < math.inf


def _is_infinite(x: Any) -> Any:
    return functions.abs(x) == math.inf


def _is_positive_infinity(x: Any) -> Any:
    return x == math.inf


def _is_negative_infinity(x: Any) -> Any:
    return x == -math.inf


def _square(x: Any) -> Any:
    return x * x


def _fabs(x: Any) -> Any:
    """Of an integer the absolute value as a float, which has no least number."""
    return functions.abs(F64(x) if type_of(x).is_integer else x)


def _radians(x: Any) -> Any:
    return _turned(x, math.pi, 180.0)


def _degrees(x: Any) -> Any:
    return _turned(x, 180.0, math.pi)


def _turned(x: Any, whole: float, of: float) -> Any:
    """An angle in other units: the factor is rounded as NumPy does, a quotient of numbers of the angle's type."""
    x = F64(x) if type_of(x).is_integer else x
    number: Any = np.float64 if type_of(x) is F64 else np.float32
    return x * float(number(whole) / number(of))


def _signbit(x: Any) -> Any:
    return arithmetic.copysign(1.0, x) < 0 if type_of(x).is_float else x < 0


def _bitwise_count(x: Any) -> Any:
    """NumPy's: of a negative integer the bits of its absolute value."""
    return U8(functions.popcount(functions.abs(x)))


def _holds(x: Any) -> Any:
    """Whether a number is not 0; a condition as it is."""
    return x if type_of(x) is BOOL else x != 0


def _both_hold(a: Any, b: Any) -> Any:
    return _holds(a) & _holds(b)


def _one_holds(a: Any, b: Any) -> Any:
    return _holds(a) | _holds(b)


def _just_one_holds(a: Any, b: Any) -> Any:
    return _holds(a) ^ _holds(b)


def _fails(x: Any) -> Any:
    return ~_holds(x)


#: By NumPy's name: the operators.
_OPERATORS: Final[dict[str, Function]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "negative": operator.neg,
    "positive": operator.pos,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "logical_and": _both_hold,
    "logical_or": _one_holds,
    "logical_xor": _just_one_holds,
    "logical_not": _fails,
}


#: What NumPy and ``math`` call by one name.
_TESTS: Final[dict[str, Function | str]] = {"isnan": is_nan, "isfinite": _is_finite, "isinf": _is_infinite, "copysign": copysign, "modf": parts}
#: Elementary functions that NumPy and ``math`` have by the same name as this package.
_BOTH: Final = {name: name for name in ("cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh")}
#: By NumPy's name: functions of this package, and names of elementary ones.
_OF_NUMPY: Final[dict[str, Function | str]] = {
    "sqrt": functions.sqrt,
    "floor": functions.floor,
    "ceil": functions.ceil,
    "trunc": functions.trunc,
    "rint": functions.round,
    "round": rounded,
    "around": rounded,
    "absolute": functions.abs,
    "real": functions.real,
    "imag": functions.imag,
    "conjugate": functions.conj,
    "angle": functions.angle,
    "fabs": _fabs,
    "signbit": _signbit,
    "bitwise_count": _bitwise_count,
    "minimum": minimum,
    "maximum": maximum,
    "fmin": _fmin,
    "fmax": _fmax,
    "where": functions.select,
    "fmod": functions.rem_trunc,
    "sign": arithmetic.sign,
    "clip": clip,
    "square": _square,
    "reciprocal": reciprocal,
    "fix": functions.trunc,
    "divmod": divided,
    "heaviside": heaviside,
    "sinc": sinc,
    "logaddexp": log_add,
    "logaddexp2": log_add_2,
    "nan_to_num": nan_to_num,
    "isclose": is_close,
    "isposinf": _is_positive_infinity,
    "isneginf": _is_negative_infinity,
    "float_power": float_power,
    "hypot": "hypot",
    "log": "log",
    "radians": _radians,
    "deg2rad": _radians,
    "degrees": _degrees,
    "rad2deg": _degrees,
    "power": "power",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    **_OPERATORS,
    **_TESTS,
    **_BOTH,
}


def _whole(rounded: Function) -> Function:
    """A function of ``math`` that rounds to an integer, which those of this package do not."""

    def whole(x: Any) -> Any:
        return python_integer(x if x.type.is_integer else rounded(x))

    return whole


#: By ``math``'s name.
_OF_MATH: Final[dict[str, Function | str]] = {
    "floor": _whole(functions.floor),
    "ceil": _whole(functions.ceil),
    "trunc": _whole(functions.trunc),
    "sqrt": functions.sqrt,
    "fabs": _fabs,
    "fmod": functions.fmod,
    "radians": _radians,
    "degrees": _degrees,
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atan2": "atan2",
    "atanh": "atanh",
    "erf": "erf",
    "erfc": "erfc",
    "gamma": "tgamma",
    "lgamma": "lgamma",
    "pow": "pow",
    "hypot": hypot,
    "log": log,
    "dist": distance,
    "prod": product,
    "isqrt": isqrt,
    "isclose": is_close_by_both,
    **_TESTS,
    **_BOTH,
}


#: By ``cmath``'s name.
_OF_COMPLEX_MATH: Final[dict[str, Function | str]] = {
    "sqrt": functions.sqrt,
    "phase": functions.angle,
    **{name: name for name in ("cos", "cosh", "exp", "log", "sin", "sinh")},
}


#: How many arguments functions take in a kernel, where they take others elsewhere, or any number.
_COUNTS: Final = {"where": (3,), "clip": (2, 3), "round": (1, 2), "around": (1, 2), "nan_to_num": (1,), "isclose": (2, 3, 4), "prod": (1,)}
#: Functions of which arguments may be given by name.
_NAMED: Final[frozenset[Any]] = frozenset((is_close, is_close_by_both, product, clip, rounded))
#: Functions that take a loop, by the name that NumPy and ``math`` have for them.
_LOOPS: Final[dict[str, Any]] = {"gcd": whole_numbers.gcd, "lcm": whole_numbers.lcm}


def equivalent(function: Any, count: int, named: bool = False) -> Function | None:
    """What a function of NumPy or ``math`` called with so many run-time values means in a kernel; None if nothing does.

    Args:
        function: the function.
        count: how many arguments are given by position.
        named: whether others are given by name.
    """
    name = getattr(function, "__name__", "")
    found: Function | str | None = None
    if getattr(math, name, None) is function:
        found = _OF_MATH.get(name)
    elif getattr(cmath, name, None) is function:
        found = _OF_COMPLEX_MATH.get(name)
    elif getattr(np, name, None) is function:
        found = _OF_NUMPY.get(name)
    if found is None or (name == "log" and found == "log" and count != 1) or (named and found not in _NAMED):
        return None
    if name in _COUNTS and not named and count not in _COUNTS[name]:
        return None
    return elementary(found) if isinstance(found, str) else found


def loop_for(function: Any) -> Any:
    """The Python function to stage for one of NumPy or ``math`` that takes a loop, of two numbers each; None for others."""
    name = getattr(function, "__name__", "")
    if name in _LOOPS and (getattr(math, name, None) is function or getattr(np, name, None) is function):
        return _LOOPS[name]
    return None
