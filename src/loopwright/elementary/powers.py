"""x to the power y.

2**(y log2(x)). In single precision both are computed in f64, at which 40 bits are enough. In double precision log2(x) is needed to 65 bits: log(m) = 2 atanh(s), s = (m - 1) / (m + 1), in two words, as in
J.-M. Muller, *Elementary Functions*, third edition, 11.4.
"""

from __future__ import annotations

import math
from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.formats import DOUBLE, SINGLE, Format, is_nan, polynomial
from loopwright.elementary.logarithm import words_of_log
from loopwright.elementary.rare import rarely
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, max, min, select, sqrt, trunc
from loopwright.types import F32, F64

__all__ = ["cbrt", "hypot", "pow"]


def pow(x: Any, y: Any, f: Format) -> Any:
    """x to the power y, with C's results for all special values (C17, F.10.4.4)."""
    size = magnitude(x)
    made = _single(size, y) if f is SINGLE else _double(size, y)
    special = f.outside(x) | (magnitude(y) >= math.inf) | is_nan(y)
    return rarely(special, (made,), lambda: (_special(x, y, size, _of_subnormal(x, y, size, made, f), f),))[0]


def _of_subnormal(x: Any, y: Any, size: Any, made: Any, f: Format) -> Any:
    """The power of subnormal x, which in single precision are none in f64."""
    if f is SINGLE:
        return made
    scaled = _double(size * 2.0**53, y, 53.0)
    return select(size < f.least, scaled, made)


def _special(x: Any, y: Any, size: Any, made: Any, f: Format) -> Any:
    inf = math.inf
    zero = size == 0.0
    negative = y < 0.0
    vanishes = select(zero, f.type(1.0), f.type(0.0)) != select(negative, f.type(1.0), f.type(0.0))
    made = select(zero | (size == inf), select(vanishes, f.type(0.0), f.type(inf)), made)
    grows = select(size > 1.0, f.type(1.0), f.type(0.0)) != select(negative, f.type(1.0), f.type(0.0))
    endless = select(size == 1.0, f.type(1.0), select(grows, f.type(inf), f.type(0.0)))
    made = select(magnitude(y) == inf, endless, made)
    half = y * 0.5
    whole = trunc(y) == y
    odd = whole & (trunc(half) != half)
    made = select(odd, f.with_sign(made, x), made)
    made = select((x < 0.0) & (x > -inf) & (trunc(y) != y), math.nan, made)
    made = select(is_nan(x) | is_nan(y), math.nan, made)
    return select((y == 0.0) | (x == 1.0), f.type(1.0), made)


def _single(size: Any, y: Any) -> Any:
    f = DOUBLE
    k, m = f.parts(F64(size))
    fraction = m - 1.0
    exponent = F64(y) * fma(fraction, polynomial(fraction, table.LOG2_POW), k)
    exponent = min(max(exponent, -200.0), 200.0)
    magic = f.magic + f.bias
    shifted = exponent + magic
    r = exponent - (shifted - magic)
    return F32(polynomial(r, table.EXP2_POW) * f.number(f.bits(shifted) << f.digits))


def _double(size: Any, y: Any, offset: float = 0.0) -> Any:
    f = DOUBLE
    k, m = f.parts(size, offset)
    high, low = _log2(k, m)
    exponent = fma(y, high, 0.0)
    rest = fma(y, low, fma(y, high, -exponent))
    exponent = min(max(exponent, -1100.0), 1100.0)
    # Where that was more, the rest may be anything.
    rest = min(1.0, max(-1.0, rest))
    magic = f.magic + 2.0 * f.bias
    shifted = exponent + magic
    r = (exponent - (shifted - magic)) + rest
    t = r * 0.6931471805599453
    p = fma(t * t, polynomial(t, table.EXP_F64), t)
    whole = f.bits(shifted)
    half = whole >> 1
    first = f.number(half << f.digits)
    return fma(first, p, first) * f.number((whole - half) << f.digits)


def _log2(k: Any, m: Any) -> tuple[Any, Any]:
    """k + log2(m) in two words, to 65 bits."""
    half, half_low = words_of_log(m)
    c, c_low = table.TWO_LOG2_E
    g = fma(half, c, 0.0)
    g_low = fma(half_low, c, fma(half, c_low, fma(half, c, -g)))
    high = k + g
    return high, (g - (high - k)) + g_low


def cbrt(x: Any, f: Format) -> Any:
    """The cube root: a polynomial in the significand times a power of two, then an iteration, with the last residue of the cube in two words."""
    size = magnitude(x)
    # Subnormal numbers, and 0, which stays.
    small = size < f.least
    scaled = select(small, size * 2.0**54, size)
    k, m = f.parts(scaled)
    third = k * 0.3333333333333333
    q = (third + f.magic) - f.magic
    # From -1 to 1: what is left of the exponent.
    rest = fma(q, -3.0, k)
    y = (_cbrt_f32 if f is SINGLE else _cbrt_f64)(m, rest, f)
    shifted = q + (f.magic + f.bias)
    made = y * f.number(f.bits(shifted) << f.digits) * select(small, f.type(2.0**-18), f.type(1.0))
    return f.with_sign(select((size == 0.0) | ~(size < math.inf), size, made), x)


def _of_three(rest: Any, below: float, above: float, f: Format) -> Any:
    """One of three numbers for what is left of an exponent: -1, 0 (for which it is 1) or 1."""
    return select(rest > 0.5, f.type(above), select(rest < -0.5, f.type(below), f.type(1.0)))


def _residue(m: Any, y: Any) -> Any:
    """m - y**3, where that is little."""
    square = fma(y, y, 0.0)
    square_low = fma(y, y, -square)
    return fma(square_low, -y, fma(square, -y, m))


def _cbrt_f32(m: Any, rest: Any, f: Format) -> Any:
    """The cube root of m 2**rest, by Newton's iteration for 1 over it, which divides by nothing (J.-M. Muller et al., *Handbook of Floating-Point Arithmetic*, second edition, 4.7)."""
    r = polynomial(m, table.CBRT_F32) * _of_three(rest, 1.2599210498948732, 0.7937005259840998, f)
    m = m * _of_three(rest, 0.5, 2.0, f)
    r = fma(fma(m * r, -(r * r), 1.0), r * 0.3333333333333333, r)
    square = r * r
    y = m * square
    return fma(_residue(m, y), square * 0.3333333333333333, y)


def _cbrt_f64(m: Any, rest: Any, f: Format) -> Any:
    """As in single precision; the iteration takes one more power of what is left."""
    r = polynomial(m, table.CBRT_F32) * _of_three(rest, 1.2599210498948732, 0.7937005259840998, f)
    m = m * _of_three(rest, 0.5, 2.0, f)
    left = fma(m * r, -(r * r), 1.0)
    r = fma(r * left, fma(left, 0.2222222222222222, 0.3333333333333333), r)
    square = r * r
    y = m * square
    return fma(_residue(m, y), square * 0.3333333333333333, y)


def hypot(x: Any, y: Any, f: Format) -> Any:
    """sqrt(x**2 + y**2), with the sum in two words; of f32 in f64."""
    a, b = magnitude(x), magnitude(y)
    if f is SINGLE:
        made = F32(sqrt(fma(F64(x), F64(x), F64(y) * F64(y))))
        return select((a == math.inf) | (b == math.inf), math.inf, made)
    large, little = max(a, b), min(a, b)
    scale = select(large > 2.0**500, f.type(2.0**-600), select(large < 2.0**-400, f.type(2.0**600), f.type(1.0)))
    large, little = large * scale, little * scale
    square = fma(large, large, 0.0)
    other = fma(little, little, 0.0)
    total = square + other
    rest = (other - (total - square)) + (fma(large, large, -square) + fma(little, little, -other))
    root = sqrt(total)
    left = fma(root, -root, total) + rest
    root = select(total > 0.0, root + left / (root + root), root)
    made = root / scale
    made = select(is_nan(x) | is_nan(y), math.nan, made)
    return select((a == math.inf) | (b == math.inf), math.inf, made)
