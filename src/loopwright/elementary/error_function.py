"""The error function and what is made of it; of f32 in f64, but for erf.

Up to 1, erf(t) is t times a polynomial in t**2. Above (of erfc from 1/2 on), erfc(x) = exp(-x**2) c(q) / (1 + 2 x), q = (x - 4) / (x + 4) (M. M. Shepherd and J. G. Laframboise, *Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x*, 1981, with another place for q = 0), where x**2 is in two words; erf itself takes exp(-x**2) times a polynomial in (x - 5/2) / (x + 5/2).
"""

from __future__ import annotations

from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.exponential import exp_of_words, exp_times
from loopwright.elementary.formats import DOUBLE, SINGLE, Format, polynomial
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, max, min, select
from loopwright.types import F32, F64

__all__ = ["erf", "erfc", "gelu"]

#: 1 / sqrt(2), in words.
_ROOT_HALF, _ROOT_HALF_LOW = 0.7071067811865476, -4.833646656726457e-17


def _near(t: Any) -> tuple[Any, Any]:
    """erf(t) in two terms, |t| <= 1."""
    return fma(t, 1.125, 0.0), t * polynomial(t * t, table.ERF_F64)


def _tail(x: Any, low: Any, times: Any) -> Any:
    """erfc(x + low) times a factor, x from 1/2 on."""
    x = min(x, 28.0)
    below = x + 4.0
    q = (x - 4.0) / below
    square = fma(x, x, 0.0)
    square_low = fma(x, x, -square) + 2.0 * (x * low)
    # The polynomial and the quotient in two words.
    rest = q * polynomial(q, table.ERFC_F64[1:])
    above = rest + table.ERFC_F64[0]
    above_low = rest - (above - table.ERFC_F64[0])
    beneath = fma(x, 2.0, 1.0)
    beneath_low = 1.0 - fma(x, -2.0, beneath)
    inverse = 1.0 / beneath
    ratio = fma(above, inverse, 0.0)
    ratio_low = (fma(ratio, -beneath, above) + fma(ratio, -beneath_low, above_low)) * inverse
    factor = fma(ratio, times, 0.0)
    return exp_times(-square, -square_low, factor, fma(ratio_low, times, fma(ratio, times, -factor)), DOUBLE)


def _little_tail(x: Any) -> Any:
    """erfc(x), x from 1 on, for what it is taken from: it has a sixth of that at most, so that one word will do."""
    # From here on nothing is left of 1 less that.
    x = min(x, 6.0)
    q = (x - 2.5) / (x + 2.5)
    square = fma(x, x, 0.0)
    return exp_of_words(-square, -fma(x, x, -square), DOUBLE) * polynomial(q, table.ERF_TAIL_F64)


def erf(x: Any, f: Format) -> Any:
    """The error function."""
    if f is SINGLE:
        return _erf_f32(x)
    size = magnitude(x)
    t = min(size, 1.0)
    near = select(size < 2.0**-500, fma(size, 0.1283791670955126, size), fma(t, 1.125, _near(t)[1]))
    return f.with_sign(select(size <= 1.0, near, 1.0 - _little_tail(max(size, 1.0))), x)


def _erf_f32(x: Any) -> Any:
    """In single precision: t + t p(t**2), and above 1, 1 less e to the power of what is little beside it."""
    f = SINGLE
    size = magnitude(x)
    t = min(size, 1.0)
    z = t * t
    # (One after the other: sums of what is greater lose more.)
    near = fma(t, fma(z, polynomial(z, table.ERF_F32[1:]), table.ERF_F32[0]), t)
    # From here on it is 1.
    far = max(min(size, 3.95), 1.0)
    rest = polynomial(far, table.ERFC_F32)
    power = fma(far, rest, far)
    tail = exp_of_words(-power, -fma(far, rest, far - power), f)
    return f.with_sign(select(size > 1.0, 1.0 - tail, near), x)


def erfc(x: Any, f: Format) -> Any:
    """1 less the error function."""
    if f is SINGLE:
        return F32(erfc(F64(x), DOUBLE))
    return _complement(x, f.type(0.0), f.type(1.0), f)


def _complement(x: Any, low: Any, times: Any, f: Format) -> Any:
    """erfc(x + low) times a factor."""
    size = magnitude(x)
    t = max(min(x, 0.5), -0.5)
    first, second = _near(t)
    total = 1.0 - first
    # What the product's rounding leaves; the slope of erf is near to its first factor.
    second = fma(low, 1.125, second + fma(t, 1.125, -first))
    near = total + (((1.0 - total) - first) - second)
    far = x > 0.5
    tail = _tail(max(size, 0.5), f.with_sign(f.type(1.0), x) * low, select(far, times, f.type(1.0)))
    return select(far, tail, select(size <= 0.5, near, 2.0 - tail) * times)


def gelu(x: Any, f: Format) -> Any:
    """x times the probability that a normal variable is less."""
    if f is SINGLE:
        return F32(gelu(F64(x), DOUBLE))
    high = fma(x, -_ROOT_HALF, 0.0)
    kept = max(min(high, 40.0), -40.0)
    low = select(high == kept, fma(x, -_ROOT_HALF_LOW, fma(x, -_ROOT_HALF, -high)), f.type(0.0))
    return _complement(kept, low, max(x, -1000.0) * 0.5, f)
