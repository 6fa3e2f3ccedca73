"""Floats and their bits as signed integers."""

from __future__ import annotations

from typing import Final

__all__ = ["SINGLE", "as_double", "as_single", "double_bits", "single_bits"]

_place: Final = memoryview(bytearray(8))
_double: Final = _place.cast("d")
_long: Final = _place.cast("q")
_word: Final = _place.cast("i")
#: What is written to item 0 and read back is rounded to 32 bits, as the machine's C compiler converts: to nearest.
SINGLE: Final = _place.cast("f")


def double_bits(value: float) -> int:
    """The bits of a float of 64 bits."""
    _double[0] = value
    return int(_long[0])


def as_double(bits: int) -> float:
    """The float of 64 bits with these bits."""
    _long[0] = bits
    return float(_double[0])


def single_bits(value: float) -> int:
    """The bits of a float of 32 bits."""
    SINGLE[0] = value
    return int(_word[0])


def as_single(bits: int) -> float:
    """The float of 32 bits with these bits."""
    _word[0] = bits
    return float(SINGLE[0])
