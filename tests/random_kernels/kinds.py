"""The element types as the generator needs them: where two meet, which constants are interesting."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from loopwright.types import parse_type

__all__ = ["FLOATS", "INTEGERS", "KINDS", "LIMITS", "PAIRS", "WIDTH", "floats_of", "integers_of", "literal", "meet"]

INTEGERS: Final = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
FLOATS: Final = ("f16", "f32", "f64")
KINDS: Final = (*INTEGERS, *FLOATS)

WIDTH: Final = {kind: int(kind[1:]) for kind in KINDS}
#: Least and greatest value of the integers.
LIMITS: Final = {kind: (-(1 << WIDTH[kind] - 1), (1 << WIDTH[kind] - 1) - 1) if kind[0] == "i" else (0, (1 << WIDTH[kind]) - 1) for kind in INTEGERS}

_DTYPES: Final = {kind: np.dtype(parse_type(kind).dtype) for kind in KINDS}
_BY_DTYPE: Final = {dtype: kind for kind, dtype in _DTYPES.items()}


def meet(a: str, b: str) -> str:
    """The type of ``a + b``: NumPy's rule."""
    return _BY_DTYPE[np.result_type(_DTYPES[a], _DTYPES[b])]


#: Per type, the pairs of types that meet at it; the type with itself is the first.
PAIRS: Final = {kind: [(kind, kind), *[(a, b) for a in KINDS for b in KINDS if a != b and meet(a, b) == kind]] for kind in KINDS}


# --- constants ---------------------------------------------------------------------------------------------------

_WHOLE: Final = sorted(
    {
        sign * ((1 << power) + more)
        for power in (0, 1, 2, 3, 5, 7, 8, 11, 12, 15, 16, 20, 23, 24, 31, 32, 33, 47, 52, 53, 62, 63, 64)
        for more in (-1, 0, 1)
        for sign in (1, -1)
    }
    | {0, 3, 5, 6, 7, 10, 100, 1000, 0x55, 0xAAAA, 0x12345678, 0xFEDCBA9876543210}
)
_REAL: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -7.75, 100.0, 1e10, 2.0**-126, 2.0**-149, -(2.0**-149), 2.0**127, math.pi),
    *(255.0, 256.0, 2.0**23 + 0.5, 2.0**24 + 1, 2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**32, 2.0**52 + 0.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64),
    *(math.inf, -math.inf, math.nan),
)
_SHORT: Final = (65504.0, -65504.0, 65519.0, 2.0**-14, 2.0**-24, -(2.0**-24), 2048.0, 1.0 + 2.0**-10)
_LONG: Final = (5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -1e300, 2.0**53 + 2, 0.1 + 0.2)


def integers_of(kind: str) -> list[int]:
    """Integers of a type at which something changes: its ends, powers of two and their neighbours."""
    low, high = LIMITS[kind]
    return [value for value in _WHOLE if low <= value <= high] + [low, low + 1, high - 1, high]


def floats_of(kind: str) -> list[float]:
    """Floats at which something changes: zeros, infinities, NaN, denormal numbers, halves, ends of the integers."""
    return [*_REAL, *_SHORT] if kind == "f16" else [*_REAL] if kind == "f32" else [*_REAL, *_LONG]


def literal(value: float) -> str:
    """The number as source; ``INF`` and ``NAN`` are names of the kernel's module."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NAN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    return repr(value)
