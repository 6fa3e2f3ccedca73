"""What a multiple of pi/2 leaves of an argument, in two words.

Up to ``LARGE`` it is taken away in three parts, by multiply-adds (Cody and Waite, *Software Manual for the Elementary Functions*, 1980). Above that, the bits of 2/pi that the product depends on
are picked and multiplied by the significand as an integer (M. Payne and R. Hanek, *Radian reduction for trigonometric functions*, SIGNUM Newsletter 18, 1983), for every number
that there is.
"""

from __future__ import annotations

import math
from typing import Any, Final

from loopwright.elementary.coefficients import PI_HALVES_F32, PI_HALVES_F64, TWO_OVER_PI, TWO_OVER_PI_BITS
from loopwright.elementary.formats import SINGLE, Format
from loopwright.elementary.rare import rarely
from loopwright.frontend import constants
from loopwright.frontend.expr import Value
from loopwright.frontend.functions import fma, select
from loopwright.ir import ops

__all__ = ["by_quadrants"]

#: Up to here (single, double) the three parts of pi/2 are enough.
LARGE: Final = (32768.0, 1048576.0)


def by_quadrants(size: Any, f: Format, shift: int) -> tuple[Any, Any, Any]:
    """A number, not negative, as (n pi/2 + r + low): r, low and n + ``shift``, an unsigned integer of which the lowest two bits count."""
    magic = f.magic + shift
    shifted = fma(size, 0.6366197723675814, magic)
    n = shifted - magic
    first, second, third = PI_HALVES_F32 if f is SINGLE else PI_HALVES_F64
    # Exact: a multiple of both last places, and less than 1.
    left = fma(n, -first, size)
    # A multiply-add, lest it be contracted: its rounding is needed.
    part = fma(n, second, 0.0)
    r = left - part
    low = fma(n, -third, ((left - r) - part) - fma(n, second, -part))
    large = size > (LARGE[0] if f is SINGLE else LARGE[1])
    made = rarely(large, (r, low, f.bits(shifted)), lambda: _of_large(size, f, shift))
    return made[0], made[1], made[2]


def _of_large(size: Any, f: Format, shift: int) -> tuple[Any, Any, Any]:
    width = f.type.bits
    bits = f.bits(size)
    significand = (bits & ((1 << f.digits) - 1)) | (1 << f.digits)
    # Where the bits of 2/pi begin that are worth less than 4 in the product.
    place = (bits >> f.digits) - (f.bias + f.digits + 2 - _zeros(f))
    high, middle, low = _window(place, f)
    carried = _upper(significand, low)
    lower = significand * middle + carried
    upper = significand * high + _upper(significand, middle) + select(lower < carried, f.unsigned(1), f.unsigned(0))
    n = (upper + (1 << (width - 3))) >> (width - 2)
    # From -2**(width - 3) on, made positive.
    fraction = upper - (n << (width - 2)) + f.sign
    half = width // 2
    mask = (1 << half) - 1
    first = _counted(fraction >> half, f, 2.0 ** (half - 1)) * 2.0**half
    second = _counted(fraction & mask, f, 0.0)
    third = fma(_counted(lower & mask, f, 0.0), 2.0**-width, _counted(lower >> half, f, 0.0) * 2.0**-half)
    total = first + second
    rest = (second - (total - first)) + third
    turns = total + rest
    turns_low = rest - (turns - total)
    scale = 2.0 ** (2 - width)
    parts = PI_HALVES_F32 if f is SINGLE else PI_HALVES_F64
    r = fma(turns, parts[0] * scale, 0.0)
    r_low = fma(turns_low, parts[0] * scale, fma(turns, parts[1] * scale, fma(turns, parts[0] * scale, -r)))
    return select(size < math.inf, r, math.nan), r_low, n + shift


def _counted(whole: Any, f: Format, less: float) -> Any:
    """An integer below 2**digits as a number, minus ``less``."""
    return f.number(whole | ((f.digits + f.bias) << f.digits)) - (2.0**f.digits + less)


def _zeros(f: Format) -> int:
    """So many zeros stand in front of 2/pi, lest the places of large numbers be negative; and no more, lest they take more words."""
    return 12 if f is SINGLE else 40


def _window(place: Any, f: Format) -> tuple[Any, Any, Any]:
    """Three words of 2/pi from a place on: chosen by halves, then shifted."""
    width = f.type.bits
    steps = (2, 1) if f is SINGLE else (8, 4, 2, 1)
    count = 4 + sum(steps)
    end = TWO_OVER_PI_BITS + _zeros(f)
    words: list[Any] = [f.unsigned((TWO_OVER_PI >> (end - width * (k + 1))) & ((1 << width) - 1)) for k in range(count)]
    index = place >> (5 if width == 32 else 6)
    for step in steps:
        further = (index & step) != 0
        count -= step
        words = [select(further, words[k + step], words[k]) for k in range(count)]
    shift = place & (width - 1)
    back = width - shift
    first, second, third = [(words[k] << shift) | (words[k + 1] >> back) for k in range(3)]
    return first, second, third


def _upper(a: Any, b: Any) -> Any:
    """The upper half of a product of integers."""
    for value in (a, b):
        if isinstance(value, Value):
            return value.emitter.operation(ops.MUL_HIGH, [a, b])
    return constants.apply(ops.MUL_HIGH, a, b)
