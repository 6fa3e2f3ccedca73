"""The gamma function and its logarithm; of f32 in f64.

Below 8, gamma(1 + t) with t from 0 to 1 is 1 - t (1 - t) (1/2 + a polynomial), times x, x - 1, …, down to t + 1, in two words. From 8 on it is Stirling's formula (NIST DLMF, 5.11.3): the power
by two words of the logarithm, the series as a polynomial in 1 / x. Of negative numbers it is that of their absolute values by reflection (DLMF 5.5.3), where the sine of what is
left of the nearest whole number keeps its digits.

Both give a factor, and a power of e that it is to be multiplied with, which ``lgamma`` adds to the factor's logarithm.
"""

from __future__ import annotations

import math
from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.exponential import exp_times
from loopwright.elementary.formats import DOUBLE, SINGLE, Format, polynomial
from loopwright.elementary.logarithm import log, log_of_sum, log_words
from loopwright.elementary.rare import rarely
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import floor, fma, max, min, round, select, trunc
from loopwright.types import F32, F64

__all__ = ["lgamma", "tgamma"]

#: From here on Stirling's formula.
_FAR = 8.0
#: Below that gamma(x) is 1 / x.
_TINY = 2.0**-60

_Words = tuple[Any, Any]


def _times(a: _Words, b: _Words) -> _Words:
    product = fma(a[0], b[0], 0.0)
    return product, fma(a[0], b[1], fma(a[1], b[0], fma(a[0], b[0], -product)))


def _chosen(condition: Any, a: _Words, b: _Words) -> _Words:
    return select(condition, a[0], b[0]), select(condition, a[1], b[1])


def _factorial(z: Any) -> _Words:
    """gamma(1 + z), z from 0 to 8. What it lacks to 1 has all digits near 0 and 1, as the logarithm needs."""
    t = z - floor(z)
    other = 1.0 - t
    other_low = (1.0 - other) - t
    product = fma(t, other, 0.0)
    product_low = fma(t, other_low, fma(t, other, -product))
    first = product * -0.5
    second = fma(product_low, -0.5, product * -polynomial(t - 0.5, table.GAMMA_NEAR))
    less = first + second
    less_low = second - (less - first)
    high = less + 1.0
    made = (high, ((1.0 - high) + less) + less_low)
    for k in range(int(_FAR) - 1):
        # (Exact; those that are less are no factors.)
        made = _times(made, (max(z - float(k), 1.0), 0.0))
    return made


def _stirling(w: Any) -> tuple[_Words, _Words]:
    """gamma(w) as a factor and a power of e, w from 8 on: sqrt(2 pi / e) (1 + p(1 / w) / w), and (w - 1/2) (log(w) - 1)."""
    t = 1.0 / w
    root, root_low = table.ROOT_TWO_PI_OVER_E
    more = fma(t * polynomial(t, table.GAMMA_FAR), root, root_low)
    factor = more + root
    high, low = log_words(w, DOUBLE)
    high = high - 1.0
    times = w - 0.5
    power = fma(times, high, 0.0)
    return (factor, more - (factor - root)), (power, fma(times, low, fma(times, high, -power)))


def _sine(y: Any) -> _Words:
    """|sin(pi y)| / pi."""
    r = magnitude(y - round(y))
    square = r * r
    cube = r * square
    rest = cube * polynomial(square, table.SIN_OF_PI)
    high = r + rest
    return high, rest - (high - r)


def _pieces(x: Any, greatest: float) -> tuple[_Words, _Words]:
    """|gamma(x)| as a factor and a power of e, both in two words; |x| is taken as ``greatest`` at most."""
    y = magnitude(x)
    negative = x < 0.0
    near = y < _FAR
    w = min(max(y, _FAR), greatest)
    factor, power = _stirling(w)
    # gamma(1 + y), which reflection needs, or of large positive numbers gamma(y).
    factor = _chosen(near, _factorial(select(near, y, 1.0)), _times(factor, (select(negative, w, 1.0), 0.0)))
    below = _chosen(negative, _times(_sine(y), factor), (select(near, y, 1.0), 0.0))
    above = _chosen(negative, (1.0, 0.0), factor)
    inverse = 1.0 / below[0]
    quotient = fma(above[0], inverse, 0.0)
    quotient_low = (fma(quotient, -below[0], above[0]) + fma(quotient, -below[1], above[1])) * inverse
    power = _chosen(negative, (-power[0], -power[1]), power)
    return (quotient, quotient_low), _chosen(near, (0.0, 0.0), power)


def tgamma(x: Any, f: Format) -> Any:
    """The gamma function (special values: C17, F.10.5.4)."""
    if f is SINGLE:
        return F32(tgamma(F64(x), DOUBLE))
    y = magnitude(x)
    # From 171.7 on it is infinite, and what is below -184 is 0.
    factor, power = _pieces(x, 200.0)
    made = exp_times(power[0], power[1], factor[0], factor[1], f)
    whole = trunc(y)
    half = whole * 0.5
    negative = x < 0.0
    made = f.with_sign(made, select(negative & (trunc(half) == half), f.type(-1.0), f.type(1.0)))
    made = select(y < _TINY, 1.0 / x, made)
    return select(negative & (whole == y), math.nan, made)


def lgamma(x: Any, f: Format) -> Any:
    """The logarithm of the gamma function's absolute value (special values: C17, F.10.5.3)."""
    if f is SINGLE:
        return F32(lgamma(F64(x), DOUBLE))
    y = magnitude(x)
    factor, power = _pieces(x, 2.0**60)
    made = power[0] + (log_of_sum(factor[0], factor[1], f) + power[1])

    def outside() -> tuple[Any, ...]:
        size = log(y, f)
        return (select(y < 1.0, -size, y * (size - 1.0)),)

    made = rarely((y < _TINY) | ~(y < 2.0**60), (made,), outside)[0]
    return select((x < 0.0) & (trunc(y) == y), math.inf, made)
