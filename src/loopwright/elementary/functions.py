"""The elementary functions by name: ``lw.exp`` and its like.

On run-time values they emit code. On constants they run the same operations with NumPy's scalars, so that a constant gives bit for bit what the same value would give at run
time; a Python number is taken as f64. ``approx=16`` and ``approx=11`` of some ask for fewer bits in less time. Errors and special values are in docs/elementary.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.elementary import approximate, circular, error_function, exponential, gamma, inverse, logarithm, powers
from loopwright.elementary.formats import DOUBLE, SINGLE, Format
from loopwright.errors import KernelTypeError
from loopwright.frontend import constants
from loopwright.frontend.complex_numbers import elementary as of_complex
from loopwright.frontend.complex_numbers import is_complex
from loopwright.frontend.expr import Value, describe, is_number
from loopwright.types import F32, F64, Type

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "gelu",
    "hypot",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "pow",
    "power",
    "sigmoid",
    "sin",
    "sincos",
    "sinh",
    "softplus",
    "tan",
    "tanh",
    "tgamma",
]

Implementation = Callable[..., Any]


def _applied(name: str, function: Implementation, *values: Any) -> Any:
    """A function of floats, after its operands have met at a type: f32 and f64 as they are, f16 and bf16 in f32, integers in f64."""
    emitter = None
    if any(is_complex(value) for value in values):
        return of_complex("applied")(name, values)
    for value in values:
        if isinstance(value, Value):
            emitter = value.emitter
        elif not (is_number(value) or isinstance(value, np.generic)):
            raise KernelTypeError(f"lw.{name} takes numbers, not {describe(value)}")
    if emitter is None:
        return _of_constants(function, values)
    staged: list[Any] = []
    for value in values:
        made = value if is_number(value) else emitter.staged(value)
        if isinstance(made, Value):
            emitter.settle(made)
            if not (made.type.is_float or made.type.is_integer):
                emitter.fail(f"lw.{name} takes numbers, not conditions: convert it, as in lw.f32(c)")
        staged.append(made)
    types = [value.type.element for value in staged if isinstance(value, Value)]
    narrow = _common(types)
    wide = F32 if narrow.bits < 32 else narrow
    result = function(*[emitter.convert(value, wide) if isinstance(value, Value) else emitter.convert(float(value), wide) for value in staged], _format(wide))
    if narrow is wide:
        return result
    return tuple([emitter.convert(part, narrow) for part in result]) if type(result) is tuple else emitter.convert(result, narrow)


def _approximate(name: str, level: Any) -> Implementation:
    """What computes a function of f32 to so many bits."""
    if isinstance(level, bool) or not isinstance(level, int) or level not in approximate.LEVELS:
        raise KernelTypeError(f"lw.{name} takes approx={' or approx='.join(map(str, approximate.LEVELS))}, which is how many bits are right, not {level!r}")

    def compute(x: Any, f: Format) -> Any:
        if f is not SINGLE:
            raise KernelTypeError(f"lw.{name} with approx= takes f32, f16 and bf16: convert the number, as in lw.f32(x), or leave approx out")
        return approximate.FUNCTIONS[name](x, level)

    return compute


def _common(types: list[Type]) -> Type:
    """The float type at which numbers meet."""
    common = types[0] if types[0].is_float else F64
    for type_ in types[1:]:
        other = type_ if type_.is_float else F64
        if other is not common:
            common = other if other.bits > common.bits else common if common.bits > other.bits else F32
    return common


def _format(type_: Type) -> Format:
    return SINGLE if type_ is F32 else DOUBLE


def _of_constants(function: Implementation, values: tuple[Any, ...]) -> Any:
    typed = [constants.type_of(value) for value in values if constants.is_typed(value)]
    narrow = _common(typed) if typed else F64
    wide = F32 if narrow.bits < 32 else narrow
    with np.errstate(all="ignore"):
        made = function(*[wide(float(value)) for value in values], _format(wide))
        parts = made if type(made) is tuple else (made,)
        converted = [narrow(wide(part)) if typed else float(part) for part in parts]
    return tuple(converted) if type(made) is tuple else converted[0]


def acos(x: Any) -> Any:
    """The arc whose cosine is x, from 0 to pi; NaN outside of -1 to 1."""
    return _applied("acos", inverse.acos, x)


def acosh(x: Any) -> Any:
    """The inverse of cosh; NaN below 1."""
    return _applied("acosh", inverse.acosh, x)


def asin(x: Any) -> Any:
    """The arc whose sine is x; NaN outside of -1 to 1."""
    return _applied("asin", inverse.asin, x)


def asinh(x: Any) -> Any:
    """The inverse of sinh."""
    return _applied("asinh", inverse.asinh, x)


def atan(x: Any, *, approx: int | None = None) -> Any:
    """The arc whose tangent is x."""
    return _applied("atan", inverse.atan if approx is None else _approximate("atan", approx), x)


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    return _applied("atan2", inverse.atan2, y, x)


def atanh(x: Any) -> Any:
    """The inverse of tanh; infinite at -1 and 1, NaN outside."""
    return _applied("atanh", inverse.atanh, x)


def cbrt(x: Any) -> Any:
    """The cube root, of negative numbers too."""
    return _applied("cbrt", powers.cbrt, x)


def cos(x: Any, *, approx: int | None = None) -> Any:
    """The cosine of x radians, of any size; of infinities NaN."""
    return _applied("cos", circular.cos if approx is None else _approximate("cos", approx), x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return _applied("cosh", exponential.cosh, x)


def erf(x: Any) -> Any:
    """The error function."""
    return _applied("erf", error_function.erf, x)


def erfc(x: Any) -> Any:
    """1 less the error function, also where that is little."""
    return _applied("erfc", error_function.erfc, x)


def exp(x: Any, *, approx: int | None = None) -> Any:
    """e to the power x: infinity from where it does not fit, subnormal numbers, then 0, below."""
    return _applied("exp", exponential.exp if approx is None else _approximate("exp", approx), x)


def exp10(x: Any, *, approx: int | None = None) -> Any:
    """10 to the power x."""
    return _applied("exp10", exponential.exp10 if approx is None else _approximate("exp10", approx), x)


def exp2(x: Any, *, approx: int | None = None) -> Any:
    """2 to the power x; exact for whole numbers."""
    return _applied("exp2", exponential.exp2 if approx is None else _approximate("exp2", approx), x)


def expm1(x: Any) -> Any:
    """e to the power x, less 1, also where that is little."""
    return _applied("expm1", exponential.expm1, x)


def gelu(x: Any) -> Any:
    """x times the probability that a normal variable is less than x: x * (1 + erf(x / sqrt(2))) / 2."""
    return _applied("gelu", error_function.gelu, x)


def hypot(x: Any, y: Any) -> Any:
    """The length of (x, y), without overflow on the way; infinite if one is, also if the other is NaN."""
    return _applied("hypot", powers.hypot, x, y)


def lgamma(x: Any) -> Any:
    """The natural logarithm of the gamma function's absolute value; infinite at 0, negative whole numbers and infinities."""
    return _applied("lgamma", gamma.lgamma, x)


def log(x: Any, *, approx: int | None = None) -> Any:
    """The natural logarithm; of 0 it is -infinity, of negative numbers NaN."""
    return _applied("log", logarithm.log if approx is None else _approximate("log", approx), x)


def log10(x: Any, *, approx: int | None = None) -> Any:
    """The logarithm to base 10."""
    return _applied("log10", logarithm.log10 if approx is None else _approximate("log10", approx), x)


def log1p(x: Any) -> Any:
    """The natural logarithm of 1 + x, also where that is little."""
    return _applied("log1p", logarithm.log1p, x)


def log2(x: Any, *, approx: int | None = None) -> Any:
    """The logarithm to base 2; exact for powers of 2."""
    return _applied("log2", logarithm.log2 if approx is None else _approximate("log2", approx), x)


def pow(x: Any, y: Any) -> Any:
    """x to the power y, with C's results for all special values; ``x ** y`` is the same."""
    return _applied("pow", powers.pow, x, y)


def power(x: Any, y: Any) -> Any:
    """``x ** y``, as NumPy's ``power`` means it."""
    return x**y


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return _applied("sigmoid", exponential.sigmoid, x)


def sin(x: Any, *, approx: int | None = None) -> Any:
    """The sine of x radians, of any size; of infinities NaN."""
    return _applied("sin", circular.sin if approx is None else _approximate("sin", approx), x)


def sincos(x: Any, *, approx: int | None = None) -> Any:
    """``(sin(x), cos(x))``, for less than both."""
    return _applied("sincos", circular.sincos if approx is None else _approximate("sincos", approx), x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return _applied("sinh", exponential.sinh, x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), of which nothing is infinite but infinity's."""
    return _applied("softplus", exponential.softplus, x)


def tan(x: Any) -> Any:
    """The tangent of x radians, of any size; of infinities NaN."""
    return _applied("tan", circular.tan, x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return _applied("tanh", exponential.tanh, x)


def tgamma(x: Any) -> Any:
    """The gamma function, (x - 1)! of whole numbers; of negative ones, and of -infinity, NaN, of zeros infinity with their sign."""
    return _applied("tgamma", gamma.tgamma, x)
