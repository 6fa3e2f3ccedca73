"""log and its relatives.

x = m 2**k with m from sqrt(1/2) to sqrt(2), and log(x) = k log(2) + log(1 + f), f = m - 1. log(1 + f) is f - f**2/2 + f**3 P(f) in single precision; in double precision it is
f - f**2/2 + s (f**2/2 + R(s**2)), s = f / (2 + f) (P. T. P. Tang, *Table-driven implementation of the logarithm function*, 1990, without the table; fdlibm has the form).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from loopwright.elementary import coefficients as table
from loopwright.elementary.formats import SINGLE, Format, polynomial
from loopwright.elementary.rare import rarely
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, max, min, select

__all__ = ["log", "log1p", "log1p_words", "log2", "log10", "log_of_sum", "log_words", "patched", "words_of_log"]

#: 1 / log(2) and 1 / log(10), in words of double precision.
_LOG2_E: Final = tuple([0.5 * word for word in table.TWO_LOG2_E])
_LOG10_E: Final = tuple([0.5 * word for word in table.TWO_LOG10_E])


def _rest(fraction: Any, f: Format, more: Any) -> Any:
    """log(1 + fraction) - fraction + more, where that is little."""
    if f is SINGLE:
        return fma(fraction * fraction, fma(fraction, polynomial(fraction, table.LOG_F32), -0.5), more)
    s = fraction / (fraction + 2.0)
    z = s * s
    half = fraction * 0.5 * fraction
    return fma(s, fma(z, polynomial(z, table.LOG_F64), half), more - half)


def _of_normal(x: Any, f: Format, offset: float) -> Any:
    """log(x) - offset log(2), for positive normal x."""
    k, m = f.parts(x, offset)
    return _of_parts(k, m - 1.0, None, f)


def _of_parts(k: Any, fraction: Any, left: Any, f: Format) -> Any:
    """k log(2) + log(1 + fraction) + left, the last little or None."""
    # The first has so few bits that its product with k is exact.
    first, second = (0.693145751953125, 1.428606765330187e-06) if f is SINGLE else (0.6931471803691238, 1.9082149292705877e-10)
    high = fma(k, first, fraction)
    low = fraction - fma(k, -first, high)
    return high + _rest(fraction, f, fma(k, second, low if left is None else low + left))


def log(x: Any, f: Format) -> Any:
    """The natural logarithm."""
    return patched(x, f, lambda y, step: _of_normal(y, f, step))


def patched(x: Any, f: Format, usual: Callable[[Any, float], Any]) -> Any:
    """A logarithm of f, computed by ``usual`` of normal numbers and how many powers of two it has too many."""

    def rest() -> tuple[Any, ...]:
        step = float(f.digits + 1)
        made = usual(x * 2.0**step, step)
        made = select(x == 0.0, -math.inf, select(x > 0.0, made, math.nan))
        return (select(x == math.inf, math.inf, made),)

    return rarely(f.outside(x), (usual(x, 0.0),), rest)[0]


def words_of_log(m: Any) -> tuple[Any, Any]:
    """log(m) / 2 in two words, to 65 bits, for m from sqrt(1/2) to sqrt(2) in double precision: atanh(s), s = (m - 1) / (m + 1)."""
    fraction = m - 1.0
    below = fraction + 2.0
    below_low = fraction - (below - 2.0)
    inverse = 1.0 / below
    s = fma(fraction, inverse, 0.0)
    s_low = fma(s, -below_low, fma(s, -below, fraction)) * inverse
    z = fma(s, s, 0.0)
    z_low = fma(s + s, s_low, fma(s, s, -z))
    third, third_low = 0.3333333333333333, 1.850371707708594e-17
    u = fma(z, third, 0.0)
    u_low = fma(z * z, polynomial(z, table.LOG_WORDS), fma(z_low, third, fma(z, third_low, fma(z, third, -u))))
    v = u + u_low
    v_low = u_low - (v - u)
    p = fma(s, v, 0.0)
    p_low = fma(s_low, v, fma(s, v_low, fma(s, v, -p)))
    half = s + p
    return half, (p - (half - s)) + (p_low + s_low)


def log_words(x: Any, f: Format) -> tuple[Any, Any]:
    """log(x) in two words, of positive normal x outside of sqrt(1/2) to sqrt(2), in double precision."""
    k, m = f.parts(x)
    half, half_low = words_of_log(m)
    power, power_low = table.LN2_F64
    first = fma(k, power, 0.0)
    high = fma(half, 2.0, first)
    return high, fma(half, 2.0, first - high) + fma(half_low, 2.0, fma(k, power_low, fma(k, power, -first)))


def log_of_sum(x: Any, low: Any, f: Format) -> Any:
    """log(x + low), of positive normal x and what is little beside it, in double precision."""
    k, m = f.parts(x)
    fraction = m - 1.0
    high = fma(k, 0.6931471803691238, fraction)
    rest = fraction - fma(k, -0.6931471803691238, high)
    return high + _rest(fraction, f, fma(k, 1.9082149292705877e-10, rest) + low / x)


def _scaled(k: Any, m: Any, power: tuple[float, ...], factor: tuple[float, ...]) -> Any:
    """k times a power's logarithm and log(m) times a factor, both in words; log(m) as f - f**2/2, in two words, and what is little beside it."""
    fraction = m - 1.0
    s = fraction / (fraction + 2.0)
    z = s * s
    scaled = fraction * 0.5
    half = fma(scaled, fraction, 0.0)
    high = fraction - half
    low = ((fraction - high) - half) - fma(scaled, fraction, -half)
    low = fma(s, fma(z, polynomial(z, table.LOG_F64), half), low)
    g = fma(high, factor[0], 0.0)
    g_low = fma(low, factor[0], fma(high, factor[1], fma(high, factor[0], -g)))
    first = fma(k, power[0], 0.0)
    first_low = fma(k, power[1], fma(k, power[0], -first))
    made = first + g
    return made + ((g - (made - first)) + (g_low + first_low))


def _words_of_f32(fraction: Any) -> tuple[Any, Any]:
    """log(1 + fraction) in two words, to 29 bits, in single precision: what is largest behind the fraction, half its square, has two words itself."""
    square = fma(fraction, fraction, 0.0)
    high = fma(square, -0.5, fraction)
    low = fma(square, -0.5, fraction - high)
    low = fma(fma(fraction, fraction, -square), -0.5, low)
    return high, fma(fraction * square, polynomial(fraction, table.LOG_F32), low)


def _scaled_f32(k: Any, m: Any, power: tuple[float, ...], factor: tuple[float, ...]) -> Any:
    """k times a power's logarithm and log(m) times a factor, in single precision; both in words, the power's first one so short that its products with k are exact."""
    high, low = _words_of_f32(m - 1.0)
    g = fma(high, factor[0], 0.0)
    g_low = fma(low, factor[0], fma(high, factor[1], fma(high, factor[0], -g)))
    first = k * power[0]
    made = first + g
    return made + ((g - (made - first)) + fma(k, power[1], g_low))


def log2(x: Any, f: Format) -> Any:
    """The logarithm to base 2."""
    if f is SINGLE:
        return patched(x, f, lambda y, step: _scaled_f32(*f.parts(y, step), (1.0, 0.0), table.LOG2_E_F32))
    return patched(x, f, lambda y, step: _scaled(*f.parts(y, step), (1.0, 0.0), _LOG2_E))


def log10(x: Any, f: Format) -> Any:
    """The logarithm to base 10."""
    if f is SINGLE:
        return patched(x, f, lambda y, step: _scaled_f32(*f.parts(y, step), table.SHORT_LOG10_2_F32, table.LOG10_E_F32))
    return patched(x, f, lambda y, step: _scaled(*f.parts(y, step), table.LOG10_2_F64, _LOG10_E))


def log1p(x: Any, f: Format) -> Any:
    """log(1 + x)."""
    if f is SINGLE:
        return _log1p_f32(x)
    return log1p_words(x, f.type(0.0), f)


def _log1p_f32(x: Any) -> Any:
    """log(1 + x) in single precision: what the sum loses is divided by its power of two, and goes in with the fraction."""
    f = SINGLE
    u = x + 1.0
    lost = min(x, 1.0) - (u - max(x, 1.0))
    # (Beyond 2**127 it would be less than a subnormal number, and is nothing.)
    scale = f.number(f.unsigned(max(f.signed(2 * f.bias << f.digits) - f.signed(f.exponent(u)), 0)))
    k, m = f.parts(u)
    c = lost * scale
    whole = m - 1.0
    fraction = whole + c
    left = c - (fraction - whole)
    made = _of_parts(k, fraction, fma(left, -fraction, left), f)
    # That loses the sign of 0.
    made = select(magnitude(x) < 2.0**-24, x, made)
    return rarely(f.outside(u), (made,), lambda: (_beyond(x),))[0]


def _beyond(x: Any) -> Any:
    """log(1 + x) where 1 + x is not positive and finite."""
    return select(x == -1.0, -math.inf, select(x == math.inf, math.inf, math.nan))


def log1p_words(x: Any, low: Any, f: Format) -> Any:
    """log(1 + x + low), in double precision."""
    u = x + 1.0
    first, second = max(x, 1.0), min(x, 1.0)
    lost = (second - (u - first)) + low
    made = log_of_sum(u, lost, f)
    # That loses the sign of 0.
    made = select(magnitude(x) < 2.0**-54, x, made)
    return rarely(f.outside(u), (made,), lambda: (_beyond(x),))[0]
