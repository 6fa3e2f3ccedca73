"""Inverses of the circular and hyperbolic functions; of f32 in f64.

atan: beside x, what remains of x at pi/4 and pi/2, (x - 1)/(x + 1) and -1/x, is at most tan(pi/8) (fdlibm's form, with three places for its five). asin and acos beyond 1/2: of sqrt((1 - |x|)/2), whose rounding
is put right. The hyperbolic ones are logarithms of sums in two words.
"""

from __future__ import annotations

import math
from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.formats import DOUBLE, SINGLE, Format, is_nan, polynomial
from loopwright.elementary.logarithm import log, log1p_words
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, max, min, select, sqrt
from loopwright.types import F32, F64

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"]

_PI = tuple([2.0 * part for part in table.PI_HALVES_F64])


def _arc(above: Any, below: Any, f: Format = DOUBLE) -> Any:
    """atan(above / below) of numbers that are not negative."""
    quarter_turns, coefficients = _quarter_turn(f), table.ATAN_F32 if f is SINGLE else table.ATAN_F64
    far = above > below * 2.414213562373095
    near = above <= below * 0.41421356237309503
    numerator = select(near, above, select(far, -below, above - below))
    lost = select(near | far, f.type(0.0), (above - (numerator + below)))
    denominator = select(near, below, select(far, above, above + below))
    wanting = select(near | far, f.type(0.0), min(above, below) - (denominator - max(above, below)))
    inverse = 1.0 / denominator
    t = fma(numerator, inverse, 0.0)
    # What the quotient's rounding leaves, and those of the sums.
    t_low = (fma(t, -denominator, numerator) + fma(t, -wanting, lost)) * inverse
    z = t * t
    high = select(near, f.type(0.0), select(far, f.type(quarter_turns[0]), f.type(quarter_turns[0] / 2)))
    low = select(near, f.type(0.0), select(far, f.type(quarter_turns[1]), f.type(quarter_turns[1] / 2)))
    rest = fma(t * z, polynomial(z, coefficients), t_low)
    total = high + t
    return total + ((t - (total - high)) + (rest + low))


def atan(x: Any, f: Format) -> Any:
    """The arc whose tangent is x."""
    # From 2**60 on it is pi/2.
    size = min(magnitude(x), 2.0**60)
    return f.with_sign(select(size < (2.0**-13 if f is SINGLE else 2.0**-27), size, _arc(size, f.type(1.0), f)), x)


def atan2(y: Any, x: Any, f: Format) -> Any:
    """The angle of the point (x, y)."""
    if f is SINGLE:
        return F32(atan2(F64(y), F64(x), DOUBLE))
    above, below = magnitude(y), magnitude(x)
    # Neither too large nor too small to be divided and multiplied: by a power of two that both can bear.
    greatest, least = max(above, below), min(above, below)
    scale = select(greatest > 2.0**960, f.type(2.0**-120), select(greatest < 2.0**-840, f.type(2.0**180), f.type(1.0)))
    same = (greatest == least) & ((greatest == 0.0) | (greatest == math.inf))
    one = f.type(1.0)
    first = select(same, select(greatest == 0.0, f.type(0.0), one), select(above == math.inf, one, select(below == math.inf, f.type(0.0), above * scale)))
    second = select(same, one, select(above == math.inf, f.type(0.0), select(below == math.inf, one, below * scale)))
    # A quotient below 2**-60 is the arc, but where x is negative.
    tiny = first < second * 2.0**-60
    arc = select(tiny, first / second, _arc(select(tiny, f.type(0.0), first), second))
    left = f.bits(x) >= f.sign
    arc = select(left, (_PI[0] - arc) + _PI[1], arc)
    return select(is_nan(x) | is_nan(y), math.nan, f.with_sign(arc, y))


def _quarter_turn(f: Format) -> tuple[float, ...]:
    """pi/2 in words of a format."""
    return table.PI_HALVES_F32 if f is SINGLE else table.PI_HALVES_F64


def _of_half(x: Any, f: Format) -> tuple[Any, Any, Any, Any, Any]:
    """Whether |x| > 1/2; the arc sine in two terms of |x|, or of sqrt((1 - |x|)/2) and what that leaves."""
    size = magnitude(x)
    far = size > 0.5
    z = select(far, fma(size, -0.5, 0.5), size * size)
    root = sqrt(z)
    s = select(far, root, size)
    lost = select(far, fma(root, -root, z) / (root + root), f.type(0.0))
    # Of 0 there is nothing lost.
    lost = select(z == 0.0, f.type(0.0), lost)
    return far, size, s, lost, fma(s * z, polynomial(z, table.ASIN_F32 if f is SINGLE else table.ASIN_F64), lost)


def asin(x: Any, f: Format) -> Any:
    """The arc whose sine is x."""
    far, _, s, _, rest = _of_half(x, f)
    high, low, _ = _quarter_turn(f)
    twice = s * -2.0
    total = twice + high
    beyond = total + ((twice - (total - high)) + fma(rest, -2.0, low))
    return f.with_sign(select(far, beyond, s + rest), x)


def acos(x: Any, f: Format) -> Any:
    """The arc whose cosine is x."""
    far, _, s, _, rest = _of_half(x, f)
    high, low, _ = _quarter_turn(f)
    negative = x < 0.0
    # pi/2 - asin(x), 2 asin(s), pi - 2 asin(s).
    twice = select(far, s + s, s)
    more = select(far, rest + rest, rest)
    away = select(far & ~negative, f.type(0.0), select(far, f.type(2.0 * high), f.type(high)))
    away_low = select(far & ~negative, f.type(0.0), select(far, f.type(2.0 * low), f.type(low)))
    plus = far ^ negative
    first, second = select(plus, twice, -twice), select(plus, more, -more)
    total = away + first
    # The greater of the two is not the same everywhere; where that matters, ``away`` is 0.
    return total + ((first - (total - away)) + (second + away_low))


def asinh(x: Any, f: Format) -> Any:
    """The inverse of sinh: log(1 + (|x| + x**2 / (1 + sqrt(1 + x**2))))."""
    if f is SINGLE:
        return F32(asinh(F64(x), DOUBLE))
    size = magnitude(x)
    large = size > 2.0**30
    kept = select(large, f.type(1.0), size)
    square = fma(kept, kept, 0.0)
    square_low = fma(kept, kept, -square)
    under = square + 1.0
    under_low = (min(square, 1.0) - (under - max(square, 1.0))) + square_low
    root = sqrt(under)
    root_low = (fma(root, -root, under) + under_low) / (root + root)
    below = root + 1.0
    below_low = (1.0 - (below - root)) + root_low
    ratio = square / below
    ratio_low = (fma(ratio, -below, square) + fma(ratio, -below_low, square_low)) / below
    total = kept + ratio
    total_low = (min(kept, ratio) - (total - max(kept, ratio))) + ratio_low
    made = log1p_words(total, total_low, f)
    far = log(select(large, size, f.type(1.0)), f) + 0.6931471805599453
    made = select(size < 2.0**-28, size, select(large, far, made))
    return f.with_sign(made, x)


def acosh(x: Any, f: Format) -> Any:
    """The inverse of cosh: log(1 + (t + sqrt(2 t + t**2))), t = x - 1."""
    if f is SINGLE:
        return F32(acosh(F64(x), DOUBLE))
    large = x > 2.0**30
    t = select(large, f.type(1.0), x - 1.0)
    square = t * t
    square_low = fma(t, t, -square)
    twice = t + t
    under = fma(t, 2.0, square)
    under_low = (min(square, twice) - (under - max(square, twice))) + square_low
    root = sqrt(under)
    root_low = select(under > 0.0, (fma(root, -root, under) + under_low) / (root + root), f.type(0.0))
    total = t + root
    total_low = (min(t, root) - (total - max(t, root))) + root_low
    made = log1p_words(total, total_low, f)
    made = select(large, log(select(large, x, f.type(1.0)), f) + 0.6931471805599453, made)
    return select(x < 1.0, math.nan, made)


def atanh(x: Any, f: Format) -> Any:
    """The inverse of tanh: log(1 + 2|x| / (1 - |x|)) / 2."""
    if f is SINGLE:
        return F32(atanh(F64(x), DOUBLE))
    size = magnitude(x)
    below = 1.0 - size
    below_low = (1.0 - below) - size
    twice = size + size
    ratio = twice / below
    ratio_low = select(size < 1.0, (fma(ratio, -below, twice) + fma(ratio, -below_low, 0.0)) / below, f.type(0.0))
    made = log1p_words(ratio, ratio_low, f) * 0.5
    return select(size > 1.0, math.nan, f.with_sign(select(size < 2.0**-28, size, made), x))
