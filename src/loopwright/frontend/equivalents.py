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

from loopwright.frontend import arithmetic, functions
from loopwright.frontend.emitter import elementary
from loopwright.types import I64, U64

__all__ = ["equivalent"]

Function = Callable[..., Any]


def _is_nan(x: Any) -> Any:
    return x != x  # noqa: PLR0124


def minimum(a: Any, b: Any) -> Any:
    """NumPy's: NaN if one of them is."""
    return functions.select(_is_nan(b), b, functions.min(a, b))


def maximum(a: Any, b: Any) -> Any:
    """NumPy's: NaN if one of them is."""
    return functions.select(_is_nan(b), b, functions.max(a, b))


def _fmin(a: Any, b: Any) -> Any:
    return functions.select(_is_nan(a), b, functions.min(a, b))


def _fmax(a: Any, b: Any) -> Any:
    return functions.select(_is_nan(a), b, functions.max(a, b))


def _clip(value: Any, low: Any, high: Any) -> Any:
    """NumPy's: NaN if one of them is."""
    return minimum(maximum(value, low), high)


def _is_finite(x: Any) -> Any:
    return functions.abs(x) < math.inf


def _is_infinite(x: Any) -> Any:
    return functions.abs(x) == math.inf


def _square(x: Any) -> Any:
    return x * x


#: What NumPy and ``math`` call by one name.
_TESTS: Final[dict[str, Function | str]] = {"isnan": _is_nan, "isfinite": _is_finite, "isinf": _is_infinite, "copysign": arithmetic.copysign}
#: Elementary functions that NumPy and ``math`` have by the same name as this package.
_BOTH: Final = {name: name for name in ("cbrt", "cos", "cosh", "exp", "exp2", "expm1", "hypot", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh")}
#: By NumPy's name: functions of this package, and names of elementary ones.
_OF_NUMPY: Final[dict[str, Function | str]] = {
    "sqrt": functions.sqrt,
    "floor": functions.floor,
    "ceil": functions.ceil,
    "trunc": functions.trunc,
    "rint": functions.round,
    "absolute": functions.abs,
    "real": functions.real,
    "imag": functions.imag,
    "conjugate": functions.conj,
    "angle": functions.angle,
    "fabs": functions.abs,
    "minimum": minimum,
    "maximum": maximum,
    "fmin": _fmin,
    "fmax": _fmax,
    "where": functions.select,
    "floor_divide": operator.floordiv,
    "fmod": functions.rem_trunc,
    "sign": arithmetic.sign,
    "clip": _clip,
    "square": _square,
    "remainder": operator.mod,
    "power": "power",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    **_TESTS,
    **_BOTH,
}


def _whole(rounded: Function) -> Function:
    """A function of ``math`` that rounds to an integer, which those of this package do not."""

    def whole(x: Any) -> Any:
        return x if x.type is U64 else I64(x) if x.type.is_integer else I64(rounded(x))

    return whole


#: By ``math``'s name.
_OF_MATH: Final[dict[str, Function | str]] = {
    "floor": _whole(functions.floor),
    "ceil": _whole(functions.ceil),
    "trunc": _whole(functions.trunc),
    "sqrt": functions.sqrt,
    "fabs": functions.abs,
    "fmod": functions.fmod,
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
    **_TESTS,
    **_BOTH,
}


#: By ``cmath``'s name.
_OF_COMPLEX_MATH: Final[dict[str, Function | str]] = {
    "sqrt": functions.sqrt,
    "phase": functions.angle,
    **{name: name for name in ("cos", "cosh", "exp", "log", "sin", "sinh")},
}


def equivalent(function: Any, count: int) -> Function | None:
    """What a function of NumPy or ``math`` called with so many run-time values means in a kernel; None if nothing does."""
    name = getattr(function, "__name__", "")
    found: Function | str | None = None
    if getattr(math, name, None) is function:
        found = _OF_MATH.get(name)
    elif getattr(cmath, name, None) is function:
        found = _OF_COMPLEX_MATH.get(name)
    elif getattr(np, name, None) is function:
        found = _OF_NUMPY.get(name)
    if found is None or name in ("where", "clip") and count != 3 or name == "log" and count != 1:
        return None
    return elementary(found) if isinstance(found, str) else found
