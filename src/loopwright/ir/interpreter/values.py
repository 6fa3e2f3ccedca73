"""Values of the IR's types as NumPy has them: made of numbers, and read as another type where a register may be."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from loopwright.types import BOOL, I32, U32, Type, same_lanes

__all__ = ["WORD", "constant", "dtype_of", "extended", "extends", "interchangeable", "value_of", "width", "wrapped"]

#: What a word of an address can hold.
WORD: Final = 0xFFFF_FFFF_FFFF_FFFF
_HALF: Final = 0xFFFF_FFFF


@functools.cache
def dtype_of(type_: Type) -> Any:
    """NumPy's type of a scalar, or of each lane."""
    return np.dtype(type_.element.dtype)


def value_of(type_: Type, value: Any) -> Any:
    """A NumPy value of a scalar type from a Python or NumPy scalar. Raises ``OverflowError`` when it does not fit."""
    if type_ is BOOL:
        return np.bool_(value)
    if type_.is_float:
        with np.errstate(all="ignore"):
            return dtype_of(type_).type(value)
    number = int(value)
    bits = type_.bits
    if not (-(1 << (bits - 1)) if type_.signed else 0) <= number < (1 << (bits - type_.signed)):
        raise OverflowError(f"{number} does not fit {type_.name}")
    return dtype_of(type_).type(number)


def wrapped(type_: Type, value: Any) -> Any:
    """As ``value_of``, for what a called function returned: integers wrap."""
    if type_ is BOOL or type_.is_float:
        return value_of(type_, value)
    number = int(value) & ((1 << type_.bits) - 1)
    if type_.signed and number >> (type_.bits - 1):
        number -= 1 << type_.bits
    return dtype_of(type_).type(number)


def constant(type_: Type, value: float) -> Any:
    """The value of a constant, which a vector has in every lane."""
    if type_.lanes:
        return np.full(type_.lanes, value, bool if type_.element is BOOL else dtype_of(type_))
    return value_of(type_, value)


def width(type_: Type) -> int:
    """Bytes a value takes in a register: masks as wide as their lanes."""
    return type_.bits * type_.lanes // 8 if type_.is_mask else type_.size


def interchangeable(held: Type, want: Type) -> bool:
    """Whether a register holding one may be read as the other: integers and pointers of one width, and lanes of one width."""
    return same_lanes(held, want) or (
        held.bits == want.bits and held.lanes == want.lanes and not (held.is_float or want.is_float or held.is_mask or want.is_mask)
    )


def extends(held: Type, want: Type, value: Any) -> bool:
    """Whether one is a narrow integer and the other the 32 bits that registers hold it extended to, or one is of 32 bits, above which there are zeros, and the other a word."""
    if want.is_half_word:
        return held.is_narrow
    if want.is_word:
        return held.is_half_word or held.is_narrow
    limits = np.iinfo(dtype_of(want)) if held is I32 and want.is_narrow else None
    return limits is not None and limits.min <= int(value) <= limits.max


def extended(want: Type, value: Any) -> Any:
    """What a register that is as ``extends`` says has in it, as a type."""
    return dtype_of(want).type(int(value) & _HALF if want.is_word or want is U32 else int(value))
