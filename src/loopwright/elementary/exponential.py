"""exp and its relatives.

The argument is reduced to r with x = n log(2) + r, |r| <= log(2)/2, by two multiply-adds (Cody and Waite, *Software Manual for the Elementary Functions*, 1980, chapter 6; the first
one is exact); n comes from an addition that leaves it in the low bits of the sum. exp(r) = 1 + (r + r**2 q(r)), and its scaling is done in two steps, so that
results become subnormal, or infinite, by a multiplication.
"""

from __future__ import annotations

from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.formats import DOUBLE, SINGLE, Format, polynomial
from loopwright.elementary.logarithm import log1p
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, max, min, select
from loopwright.types import F32, F64

__all__ = ["bounded", "cosh", "exp", "exp2", "exp10", "exp_of_words", "exp_times", "expm1", "scaled_power", "sigmoid", "sinh", "softplus", "tanh", "whole"]

_LOG2_E = 1.4426950408889634
_LOG2_10 = 3.321928094887362


def _ln2(f: Format) -> tuple[float, ...]:
    """log(2) in two numbers of the format, the second one what the first leaves."""
    return table.LN2_F32 if f is SINGLE else table.LN2_F64


def _coefficients(f: Format) -> tuple[float, ...]:
    return table.EXP_F32 if f is SINGLE else table.EXP_F64


def whole(x: Any, scale: float, f: Format, bias: float) -> tuple[Any, Any]:
    """x times ``scale`` as a whole number n, and n + ``bias`` in the low bits of a number."""
    magic = f.magic + bias
    shifted = fma(x, scale, magic)
    return shifted - magic, shifted


def _less_one(left: Any, little: Any, f: Format) -> Any:
    """exp(left + little) - 1, of which little is rounded in the polynomial's argument only."""
    r = left + little
    return left + fma(r * r, polynomial(r, _coefficients(f)), little)


def _words_less_one(left: Any, little: Any) -> tuple[Any, Any]:
    """exp(left + little) - 1 in two words, in single precision."""
    r = left + little
    q = polynomial(r, table.EXP_F32)
    square = r * r
    p = fma(square, q, r)
    return p, fma(square, q, r - p) + (little - (r - left))


def _scaled(shifted: Any, p: Any, f: Format) -> Any:
    """(1 + p) * 2**n, for n + twice the bias in the low bits of a number: the exponent in two halves, each of which has a bias of its own."""
    bits = f.bits(shifted)
    half = bits >> 1
    first = f.number(half << f.digits)
    return fma(first, p, first) * f.number((bits - half) << f.digits)


def scaled_power(shifted: Any, p: Any, f: Format) -> Any:
    """p * 2**n, as ``_scaled``."""
    bits = f.bits(shifted)
    half = bits >> 1
    return p * f.number(half << f.digits) * f.number((bits - half) << f.digits)


def bounded(x: Any, least: float, greatest: float) -> Any:
    """x between bounds; NaN stays."""
    return min(max(x, least), greatest)


def _natural(x: Any, f: Format, bias: float) -> tuple[Any, Any, Any]:
    """x = n log(2) + left + little: left, which is exact, little, and n + ``bias`` in the low bits of a number."""
    n, shifted = whole(x, _LOG2_E, f, bias)
    high, low = _ln2(f)
    return fma(n, -high, x), fma(n, -low, 0.0), shifted


def exp(x: Any, f: Format) -> Any:
    """e**x."""
    x = bounded(x, *((-104.0, 89.0) if f is SINGLE else (-746.0, 710.0)))
    left, little, shifted = _natural(x, f, 2.0 * f.bias)
    return _scaled(shifted, _less_one(left, little, f), f)


def exp_of_words(x: Any, low: Any, f: Format) -> Any:
    """e**(x + low), where low is small; of x whose power is a normal number."""
    left, little, shifted = _natural(x, f, float(f.bias))
    scale = f.number(f.bits(shifted) << f.digits)
    return fma(scale, _less_one(left, little + low, f), scale)


def exp_times(x: Any, low: Any, factor: Any, factor_low: Any, f: Format) -> Any:
    """e**(x + low), where low is small, times a factor in two words."""
    # Below what exp alone needs, for the factor.
    x = bounded(x, *((-120.0, 89.0) if f is SINGLE else (-790.0, 710.0)))
    left, little, shifted = _natural(x, f, 2.0 * f.bias)
    little = little + low
    r = left + little
    rest = fma(r * r, polynomial(r, _coefficients(f)), little)
    p = left + rest
    product = factor + fma(factor, rest - (p - left), fma(factor, p, factor_low))
    bits = f.bits(shifted)
    half = bits >> 1
    return product * f.number(half << f.digits) * f.number((bits - half) << f.digits)


def exp2(x: Any, f: Format) -> Any:
    """2**x."""
    x = bounded(x, *((-151.0, 129.0) if f is SINGLE else (-1076.0, 1025.0)))
    n, shifted = whole(x, 1.0, f, 2.0 * f.bias)
    high, low = _ln2(f)
    r = x - n
    left = fma(r, high, 0.0)
    little = fma(r, low, fma(r, high, -left))
    return _scaled(shifted, _less_one(left, little, f), f)


def exp10(x: Any, f: Format) -> Any:
    """10**x."""
    x = bounded(x, *((-46.0, 39.0) if f is SINGLE else (-324.0, 309.0)))
    n, shifted = whole(x, _LOG2_10, f, 2.0 * f.bias)
    high, low = table.LOG10_2_F32 if f is SINGLE else table.LOG10_2_F64
    first = fma(n, -high, x)
    second = fma(n, -low, 0.0)
    high, low = table.LN10_F32 if f is SINGLE else table.LN10_F64
    left = fma(first, high, 0.0)
    little = fma(second, high, fma(first, low, fma(first, high, -left)))
    return _scaled(shifted, _less_one(left, little, f), f)


def expm1(x: Any, f: Format) -> Any:
    """e**x - 1."""
    x = bounded(x, *((-30.0, 89.0) if f is SINGLE else (-40.0, 710.0)))
    left, little, shifted = _natural(x, f, f.bias - 1.0)
    # Half of it, lest the greatest power of two be infinite.
    scale = f.number(f.bits(shifted) << f.digits)
    if f is SINGLE:
        p, p_low = _words_less_one(left, little)
        less = scale - 0.5
        first = fma(scale, p, less)
        made = first + (fma(scale, p_low, fma(scale, p, less - first)) + ((scale - less) - 0.5))
    else:
        made = fma(scale, _less_one(left, little, f), scale - 0.5)
    return select(magnitude(x) < 2.0 ** -(f.digits + 2), x, made + made)


def _sinh_cosh(x: Any, f: Format) -> tuple[Any, Any]:
    """sinh(x) and cosh(x): with |x| = n log(2) + r, sums of sinh(r) and cosh(r) - 1 times (2**n + 2**-n)/2 and (2**n - 2**-n)/2."""
    size = min(magnitude(x), 711.0)
    left, little, shifted = _natural(size, f, f.bias - 3.0)
    r = left + little
    z = r * r
    sine = left + fma(r * z, polynomial(z, table.SINH_F64), little)
    cosine = z * polynomial(z, table.COSH_F64)
    # A quarter of them, lest the greatest power of two be infinite.
    up = f.number(f.bits(shifted) << f.digits)
    # Of the other power nothing is left long before it is subnormal.
    both = 2.0 * (f.magic + f.bias - 3.0)
    down = f.number(f.bits(both - min(shifted, f.magic + f.bias + 97.0)) << f.digits)
    plus, minus = up + down, up - down
    # What is greater first: of sinh one of the powers, of cosh both.
    first = fma(minus, cosine, plus * sine)
    second = fma(plus, cosine, minus * sine)
    return f.with_sign((minus + first) * 4.0, x), (plus + second) * 4.0


def sinh(x: Any, f: Format) -> Any:
    """The hyperbolic sine; of f32 in f64."""
    return F32(sinh(F64(x), DOUBLE)) if f is SINGLE else _sinh_cosh(x, f)[0]


def cosh(x: Any, f: Format) -> Any:
    """The hyperbolic cosine; of f32 in f64."""
    return F32(cosh(F64(x), DOUBLE)) if f is SINGLE else _sinh_cosh(x, f)[1]


def sigmoid(x: Any, f: Format) -> Any:
    """1 / (1 + e**-x): of negative x e**x / (1 + e**x)."""
    if f is SINGLE:
        return _sigmoid_f32(x)
    e = exp(-magnitude(x), f)
    return select(x < 0.0, e, f.type(1.0)) / (e + 1.0)


def _sigmoid_f32(x: Any) -> Any:
    """In single precision, with e**-|x| = a 2**n, what is divided and what it is divided by in two words each, and the quotient corrected by what it leaves."""
    f = SINGLE
    left, little, shifted = _natural(bounded(-magnitude(x), -104.0, 0.0), f, 2.0 * f.bias)
    p, p_low = _words_less_one(left, little)
    a = p + 1.0
    a_low = (p - (a - 1.0)) + p_low
    # (Of lesser powers nothing is left beside 1.)
    scale = f.number(f.bits(max(shifted, f.magic + 2.0 * f.bias - 60.0) - f.bias) << f.digits)
    e = a * scale
    below = e + 1.0
    below_low = fma(a_low, scale, e - (below - 1.0))
    inverse = 1.0 / below
    negative = x < 0.0
    above, above_low = select(negative, a, f.type(1.0)), select(negative, a_low, f.type(0.0))
    quotient = above * inverse
    rest = fma(quotient, -below, above) + fma(quotient, -below_low, above_low)
    return scaled_power(select(negative, shifted, f.magic + 2.0 * f.bias), fma(rest, inverse, quotient), f)


def softplus(x: Any, f: Format) -> Any:
    """log(1 + e**x); of f32 in f64."""
    if f is SINGLE:
        return F32(softplus(F64(x), DOUBLE))
    return max(x, 0.0) + log1p(exp(-magnitude(x), f), f)


def tanh(x: Any, f: Format) -> Any:
    """The hyperbolic tangent: t / (t + 2), with t = exp(2|x|) - 1 and the quotient in two words, one of which corrects the other."""
    # From here on it is 1.
    last = 10.0 if f is SINGLE else 22.0
    size = min(magnitude(x), last)
    doubled = size + size
    left, little, shifted = _natural(doubled, f, float(f.bias))
    r = left + little
    q = polynomial(r, _coefficients(f))
    squared = r * r
    p = fma(squared, q, r)
    p_low = fma(squared, q, r - p)
    scale = f.number(f.bits(shifted) << f.digits)
    less = scale - 1.0
    t = fma(scale, p, less)
    t_low = fma(scale, p_low, fma(scale, p, less - t))
    below = t + 2.0
    below_low = (min(t, 2.0) - (below - max(t, 2.0))) + t_low
    inverse = 1.0 / below
    quotient = t * inverse
    left = fma(quotient, -below, t) + fma(quotient, -below_low, t_low)
    return f.with_sign(fma(left, inverse, quotient), x)
