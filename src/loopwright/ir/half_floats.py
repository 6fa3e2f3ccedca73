"""Floats of 16 bits as Python numbers and as bits: f16 (IEEE 754-2019, binary16) and bf16 (the upper half of an f32)."""

from __future__ import annotations

import math
import struct

from loopwright.types import Type

__all__ = ["half_bits", "is_half", "round_half"]

#: Bits of an f64 that neither type can tell from one sticky bit: 13 significant ones are left, two more than f16 has, and an f32 holds all that do not round to 0.
STICKY_BITS = 40


def is_half(type_: Type) -> bool:
    """Whether a type is f16 or bf16, or lanes of them."""
    return type_.is_float and type_.bits == 16


def half_bits(type_: Type, value: float) -> int:
    """The bits of ``value`` rounded once to f16 or bf16, to nearest, ties to even; what is too large becomes an infinity."""
    if type_.element.name == "f16":
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0xFC00 if value < 0 else 0x7C00
    if math.isnan(value):
        return 0x7FC0
    # Rounded to odd first, so that the second rounding is as if it were the only one (Boldo and Melquiond 2008).
    whole = int.from_bytes(struct.pack("<d", value), "little")
    low = (1 << STICKY_BITS) - 1
    whole = (whole | ((whole & low) + low)) & ~low
    jammed = struct.unpack("<d", whole.to_bytes(8, "little"))[0]
    try:
        bits = int.from_bytes(struct.pack("<f", jammed), "little")
    except OverflowError:
        return 0xFF80 if value < 0 else 0x7F80
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def round_half(type_: Type, value: float) -> float:
    """``value`` rounded to f16 or bf16, as a Python float."""
    bits = half_bits(type_, value)
    if type_.element.name == "f16":
        return float(struct.unpack("<e", bits.to_bytes(2, "little"))[0])
    return float(struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0])
