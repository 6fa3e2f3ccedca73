"""Functions of NumPy and ``math`` that are a few operations each, as they are in a kernel."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend import arithmetic, constants, functions
from loopwright.frontend.emitter import elementary
from loopwright.frontend.expr import Value, describe, python_integer
from loopwright.types import F16, F32, F64, I64, U64, Type

__all__ = [
    "as_float",
    "clip",
    "copysign",
    "distance",
    "divided",
    "float_power",
    "heaviside",
    "hypot",
    "is_close",
    "is_close_by_both",
    "is_nan",
    "isqrt",
    "log",
    "log_add",
    "log_add_2",
    "maximum",
    "minimum",
    "nan_to_num",
    "parts",
    "product",
    "reciprocal",
    "rounded",
    "sinc",
    "type_of",
]


def type_of(x: Any) -> Type:
    """The type of a number, of which a Python number has that which it has alone."""
    if isinstance(x, Value):
        return x.type
    if constants.is_typed(x):
        return constants.type_of(x)
    return F64 if isinstance(x, float) else I64


def is_nan(x: Any) -> Any:
    return x != x  # noqa: PLR0124


def as_float(x: Any) -> Any:
    """A float as it is, an integer in f64."""
    return x if type_of(x).is_float else F64(x)


def minimum(a: Any, b: Any) -> Any:
    """NumPy's: NaN if one of them is."""
    return functions.select(is_nan(b), b, functions.min(a, b))


def maximum(a: Any, b: Any) -> Any:
    """NumPy's: NaN if one of them is."""
    return functions.select(is_nan(b), b, functions.max(a, b))


def clip(value: Any, low: Any = None, high: Any = None) -> Any:
    """NumPy's: NaN if one of them is; a bound that is None is none."""
    value = value if low is None else maximum(value, low)
    return value if high is None else minimum(value, high)


# --- floats ---------------------------------------------------------------------------------------------------------


def copysign(size: Any, sign: Any) -> Any:
    """Of integers too, which are floats then, as NumPy and ``math`` have it."""
    whole = not (type_of(size).is_float or type_of(sign).is_float)
    return arithmetic.copysign(F64(size) if whole else size, sign)


def reciprocal(x: Any) -> Any:
    """NumPy's, which stays an integer for one; of 0 it is the least i32 and i64, and 0 in other types (where that ends in zeros)."""
    type_ = type_of(x)
    if type_.is_float:
        return 1.0 / x
    quotient = functions.div_trunc(type_(1), x)
    if type_ is I64 or (type_.signed and type_.bits == 32):
        return functions.select(x == 0, -(1 << type_.bits - 1), quotient)
    return quotient


def heaviside(x: Any, at_zero: Any) -> Any:
    """0 below zero, 1 above, a value of one's own at zero; NaN of NaN."""
    x = as_float(x)
    above = functions.select(x > 0, 1.0, functions.select(x < 0, 0.0, x))
    return functions.select(x == 0, at_zero, above)


def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, by NumPy's formula."""
    x = as_float(x)
    angle = functions.select(x == 0, 1e-20, x) * math.pi
    return elementary("sin")(angle) / angle


def log_add(a: Any, b: Any) -> Any:
    """``log(exp(a) + exp(b))``, also where the powers overflow."""
    return _log_add(a, b, "exp", "log1p", math.log(2.0), 1.0)


def log_add_2(a: Any, b: Any) -> Any:
    """``log2(2 ** a + 2 ** b)``, also where the powers overflow."""
    return _log_add(a, b, "exp2", "log1p", 1.0, 1.0 / math.log(2.0))


def _log_add(a: Any, b: Any, power: str, logarithm: str, of_two: float, unit: float) -> Any:
    a, b = as_float(a), as_float(b)
    rest = elementary(logarithm)(elementary(power)(-functions.abs(a - b))) * unit
    # (Equal numbers may be infinities, which have no difference.)
    return functions.select(a == b, a + of_two, maximum(a, b) + rest)


def nan_to_num(x: Any) -> Any:
    """0 instead of NaN, and the greatest numbers instead of infinities."""
    type_ = type_of(x)
    if not type_.is_float:
        return x
    greatest = float(np.finfo(np.float16 if type_ is F16 else np.float32 if type_ is F32 else np.float64).max)
    return functions.select(is_nan(x), 0.0, functions.max(functions.min(x, greatest), -greatest))


def parts(x: Any) -> tuple[Any, Any]:
    """What is behind the point, and the whole number before it, both with the sign of ``x``."""
    x = as_float(x)
    whole = functions.trunc(x)
    rest = functions.select(functions.abs(x) == math.inf, 0.0, x - whole)
    return arithmetic.copysign(rest, x), whole


def float_power(a: Any, b: Any) -> Any:
    """``a ** b`` in f64."""
    return elementary("pow")(F64(a), F64(b))


def log(x: Any, base: Any = None) -> Any:
    """``math.log``: with a base the quotient of two logarithms, in f64."""
    if base is None:
        return elementary("log")(x)
    return elementary("log")(F64(x)) / elementary("log")(F64(base))


def rounded(x: Any, decimals: Any = 0) -> Any:
    """``np.round``: a multiple of a power of ten, whose exponent is known while compiling."""
    if type(decimals) is not int or abs(decimals) > 22:
        raise KernelTypeError(f"np.round takes the number of decimals as a Python integer of up to 22, not {describe(decimals)}")
    if not decimals:
        return functions.round(x)
    if not type_of(x).is_float:
        if decimals > 0:
            return x
        raise KernelTypeError("np.round of an integer to tens: convert it, as in np.round(lw.f64(x), -1)")
    scale = float(10 ** abs(decimals))
    return functions.round(x * scale) / scale if decimals > 0 else functions.round(x / scale) * scale


def is_close(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """``np.isclose``: within ``atol + rtol * |b|`` of a finite ``b``, or equal."""
    a, b = as_float(a), as_float(b)
    close = (functions.abs(a - b) <= atol + rtol * functions.abs(b)) & (functions.abs(b) < math.inf) | (a == b)
    return close | (is_nan(a) & is_nan(b)) if equal_nan else close


def is_close_by_both(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    """``math.isclose``: within a part of the greater one's size, or equal."""
    a, b = F64(a), F64(b)
    size = functions.max(functions.abs(a), functions.abs(b))
    return ((functions.abs(a - b) <= functions.max(rel_tol * size, abs_tol)) & (size < math.inf)) | (a == b)


# --- several numbers ------------------------------------------------------------------------------------------------


def hypot(*parts: Any) -> Any:
    """``math.hypot``: the length of a vector of any number of dimensions."""
    if not parts:
        return 0.0
    return reduce(elementary("hypot"), parts) if len(parts) > 1 else functions.abs(as_float(parts[0]))


def distance(p: Any, q: Any) -> Any:
    """``math.dist`` of two tuples of coordinates."""
    for point in (p, q):
        if not isinstance(point, (tuple, list)):
            raise KernelTypeError(f"math.dist takes two tuples of coordinates, as in math.dist((x[i], y[i]), (0.0, 0.0)), not {describe(point)}")
    if len(p) != len(q):
        raise KernelTypeError(f"math.dist of points with {len(p)} and {len(q)} coordinates")
    return hypot(*[a - b for a, b in zip(p, q, strict=True)])


def product(values: Any, start: Any = 1) -> Any:
    """``math.prod`` of a tuple or list."""
    for value in functions.sequence("math.prod", values):
        start = start * value
    return start


# --- integers -------------------------------------------------------------------------------------------------------


def isqrt(n: Any) -> Any:
    """``math.isqrt``: the root rounded down; of negative numbers 0."""
    type_ = type_of(n)
    if not type_.is_integer:
        raise KernelTypeError(f"math.isqrt takes an integer, not {type_}: write lw.floor(lw.sqrt(x))")
    n = python_integer(n)
    wide = U64 if type_ is U64 else I64
    # (The root of the nearest f64 is the number sought or the next one; of the greatest integers it has a square that no 64 bits hold.)
    root = functions.min(wide(functions.sqrt(F64(n))), (1 << 32) - 1 if wide is U64 else 3037000499)
    return root - wide(root * root > n) if wide is U64 else functions.max(root - wide(root * root > n), 0)


def divided(a: Any, b: Any) -> tuple[Any, Any]:
    """``np.divmod``."""
    return a // b, a % b
