"""The sine, the cosine and the tangent.

With what multiples of pi/2 leave of the argument in two words, r + low and |r| <= pi/4: sin is r + (low + r**3 S(r**2)), cos is 1 - r**2/2 with what its rounding
leaves, and r**4 C(r**2) - r low.
"""

from __future__ import annotations

from typing import Any

from loopwright.elementary import coefficients as table
from loopwright.elementary.formats import SINGLE, Format, polynomial
from loopwright.elementary.reduction import by_quadrants
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, select

__all__ = ["cos", "even", "sin", "sincos", "tan", "turned"]


def _terms(r: Any, low: Any, f: Format) -> tuple[Any, Any, Any, Any]:
    """The sine and the cosine of r + low, each in two terms of which the first one is greater."""
    z = r * r
    whole = fma(z, -0.5, 1.0)
    sine = fma(r * z, polynomial(z, table.SIN_F32 if f is SINGLE else table.SIN_F64), low * whole)
    left = fma(r, -low, fma(fma(r, r, -z), -0.5, fma(z, -0.5, 1.0 - whole)))
    return r, sine, whole, fma(z * z, polynomial(z, table.COS_F32 if f is SINGLE else table.COS_F64), left)


def _both(r: Any, low: Any, f: Format) -> tuple[Any, Any]:
    """The sine and the cosine of r + low."""
    first, second, third, fourth = _terms(r, low, f)
    return first + second, third + fourth


def even(n: Any) -> Any:
    """Whether the lowest bit is 0."""
    return (n & 1) == 0


def turned(value: Any, n: Any, f: Format) -> Any:
    """The bits of a value, negative where the second bit of n is 1."""
    return f.bits(value) ^ ((n & 2) << (f.type.bits - 2))


def sin(x: Any, f: Format) -> Any:
    """The sine of x radians."""
    r, low, n = by_quadrants(magnitude(x), f, 0)
    sine, cosine = _both(r, low, f)
    return f.number(turned(select(even(n), sine, cosine), n, f) ^ (f.bits(x) & f.sign))


def cos(x: Any, f: Format) -> Any:
    """The cosine of x radians."""
    r, low, n = by_quadrants(magnitude(x), f, 1)
    sine, cosine = _both(r, low, f)
    return f.number(turned(select(even(n), sine, cosine), n, f))


def sincos(x: Any, f: Format) -> tuple[Any, Any]:
    """The sine and the cosine, with one reduction."""
    r, low, n = by_quadrants(magnitude(x), f, 0)
    sine, cosine = _both(r, low, f)
    straight = even(n)
    first = f.number(turned(select(straight, sine, cosine), n, f) ^ (f.bits(x) & f.sign))
    return first, f.number(turned(select(straight, cosine, sine), n + 1, f))


def tan(x: Any, f: Format) -> Any:
    """The tangent of x radians."""
    r, low, n = by_quadrants(magnitude(x), f, 0)
    straight = even(n)
    sine, sine_rest, cosine, cosine_rest = _terms(r, low, f)
    above, above_low = _sum(select(straight, sine, cosine), select(straight, sine_rest, cosine_rest))
    below, below_low = _sum(select(straight, cosine, sine), select(straight, cosine_rest, sine_rest))
    inverse = 1.0 / below
    quotient = fma(above, inverse, 0.0)
    left = fma(quotient, -below, above) + fma(quotient, -below_low, above_low)
    bits = f.bits(fma(left, inverse, quotient))
    return f.number(bits ^ ((n & 1) << (f.type.bits - 1)) ^ (f.bits(x) & f.sign))


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b in two words, of which a is the greater."""
    total = a + b
    return total, b - (total - a)
