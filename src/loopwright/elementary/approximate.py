"""Functions of f32 that are right to 16 or to 11 bits only: ``approx=16`` and ``approx=11``.

The arguments are reduced as elsewhere, but in one word, and the polynomials have the least degrees that leave so many bits (``tools/approximations.py``). Special values are those of the
functions without ``approx``; results that are subnormal have the bits that such numbers have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from loopwright.elementary import coefficients as table
from loopwright.elementary.circular import even, turned
from loopwright.elementary.exponential import bounded, scaled_power, whole
from loopwright.elementary.formats import SINGLE, polynomial
from loopwright.elementary.logarithm import patched
from loopwright.elementary.reduction import by_quadrants
from loopwright.frontend.functions import abs as magnitude
from loopwright.frontend.functions import fma, select

__all__ = ["FUNCTIONS", "LEVELS"]

#: How many bits there are.
LEVELS: Final = (16, 11)

_EXP2: Final[dict[int, tuple[float, ...]]] = {16: table.EXP2_16, 11: table.EXP2_11}
_LOG2: Final[dict[int, tuple[float, ...]]] = {16: table.LOG2_16, 11: table.LOG2_11}
_ATAN: Final[dict[int, tuple[float, ...]]] = {16: table.ATAN_16, 11: table.ATAN_11}
_LOG2_E: Final = 1.4426950408889634
_LOG2_10: Final = 3.321928094887362


def _power(x: Any, scale: float, level: int) -> Any:
    """2**(x * scale). The exponent's rounding costs 2**-18 of the result at most, where that is near the ends of what there is."""
    f = SINGLE
    x = bounded(x, -151.0 / scale, 129.0 / scale)
    n, shifted = whole(x, scale, f, 2.0 * f.bias)
    return scaled_power(shifted, polynomial(fma(x, scale, -n), _EXP2[level]), f)


def _exp(x: Any, level: int) -> Any:
    return _power(x, _LOG2_E, level)


def _exp2(x: Any, level: int) -> Any:
    return _power(x, 1.0, level)


def _exp10(x: Any, level: int) -> Any:
    return _power(x, _LOG2_10, level)


def _logarithm(x: Any, scale: float, level: int) -> Any:
    """The logarithm to base 2 times ``scale``."""

    def usual(y: Any, step: float) -> Any:
        k, m = SINGLE.parts(y, step)
        fraction = m - 1.0
        made = fma(fraction, polynomial(fraction, _LOG2[level]), k)
        return made if scale == 1.0 else made * scale

    return patched(x, SINGLE, usual)


def _log(x: Any, level: int) -> Any:
    return _logarithm(x, 0.6931471805599453, level)


def _log2(x: Any, level: int) -> Any:
    return _logarithm(x, 1.0, level)


def _log10(x: Any, level: int) -> Any:
    return _logarithm(x, 0.3010299956639812, level)


def _both(r: Any) -> tuple[Any, Any]:
    """The sine and the cosine of what is at most pi/4; of either level, because the next lower degree is not enough for the lesser one."""
    z = r * r
    return fma(r * z, polynomial(z, table.SIN_16), r), fma(z, polynomial(z, table.COS_16), 1.0)


def _sincos(x: Any, level: int) -> tuple[Any, Any]:
    f = SINGLE
    r, _, n = by_quadrants(magnitude(x), f, 0)
    sine, cosine = _both(r)
    straight = even(n)
    first = f.number(turned(select(straight, sine, cosine), n, f) ^ (f.bits(x) & f.sign))
    return first, f.number(turned(select(straight, cosine, sine), n + 1, f))


def _sin(x: Any, level: int) -> Any:
    return _sincos(x, level)[0]


def _cos(x: Any, level: int) -> Any:
    return _sincos(x, level)[1]


def _atan(x: Any, level: int) -> Any:
    """atan(t) for t up to 1, else pi/2 - atan(1/t)."""
    size = magnitude(x)
    far = size > 1.0
    t = select(far, 1.0 / size, size)
    z = t * t
    arc = fma(t * z, polynomial(z, _ATAN[level]), t)
    return SINGLE.with_sign(select(far, math.pi / 2 - arc, arc), x)


#: By name: called with a number and the level.
FUNCTIONS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "exp": _exp,
    "exp2": _exp2,
    "exp10": _exp10,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "sin": _sin,
    "cos": _cos,
    "sincos": _sincos,
    "atan": _atan,
}
