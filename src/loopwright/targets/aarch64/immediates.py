"""Constants inside instructions: bit masks (logical immediates) and eight-bit floating-point numbers."""

from __future__ import annotations

import struct

__all__ = ["byte_mask", "float_immediate", "float_value", "logical_immediate", "logical_value"]


def _is_run(value: int) -> bool:
    """Whether the ones of a positive number are side by side."""
    filled = value | value - 1
    return filled & filled + 1 == 0


def logical_immediate(value: int, bits: int) -> int | None:
    """The fields N:immr:imms of a bit mask of 32 or 64 bits, as one number of 13 bits, or None.

    A mask can be encoded when it repeats an element of 2, 4, 8, 16, 32 or 64 bits, whose ones are side by side after a rotation, and which is
    neither all zeros nor all ones (Arm ARM, ``DecodeBitMasks`` in the chapter "Shared Pseudocode").
    """
    ones = (1 << bits) - 1
    if value <= 0 or value >= ones:
        return None
    size = bits
    while size > 2:
        half = size >> 1
        if value >> half != value & (1 << half) - 1:
            break
        size = half
        value &= (1 << half) - 1
    full = (1 << size) - 1
    count = value.bit_count()
    if _is_run(value):
        low = (value & -value).bit_length() - 1
    else:
        # The ones go round the end: the zeros are side by side.
        gap = full & ~value
        if not _is_run(gap):
            return None
        low = gap.bit_length()
    rotation = -low % size
    # imms is the complement of the size above, a zero, and the number of ones less one.
    imms = ~(2 * size - 1) & 0x3F | count - 1
    return (size == 64) << 12 | rotation << 6 | imms


def logical_value(fields: int, bits: int) -> int | None:
    """The bit mask of the fields N:immr:imms, or None when they are reserved."""
    imms = fields & 0x3F
    coded = (fields >> 12) << 6 | ~imms & 0x3F
    size = 1 << coded.bit_length() - 1 if coded else 0
    if size < 2 or size > bits:
        return None
    count = (imms & size - 1) + 1
    if count == size:
        return None
    rotation = fields >> 6 & size - 1
    # Encodings of short elements with high bits in immr mean the same as those without; none is made with them.
    if fields >> 6 & 0x3F & ~(size - 1):
        return None
    run = (1 << count) - 1
    value = run >> rotation | run << size - rotation & (1 << size) - 1
    while size < bits:
        value |= value << size
        size *= 2
    return value


def float_immediate(value: float) -> int | None:
    """The eight bits that stand for a floating-point constant, or None (Arm ARM, ``VFPExpandImm``).

    Those are plus or minus n / 16 times a power of two from 1/8 to 16, where n is 16 to 31.
    """
    bits = int.from_bytes(struct.pack("<d", value), "little")
    if bits & (1 << 48) - 1:
        return None
    exponent = bits >> 54 & 0x1FF
    if exponent not in (0x100, 0x0FF):
        return None
    return bits >> 63 << 7 | (exponent == 0x0FF) << 6 | bits >> 48 & 0x3F


def float_value(fields: int) -> float:
    """The floating-point constant that eight bits stand for."""
    magnitude = (16 + (fields & 15)) / 16
    exponent = (fields >> 4 & 3) + (-3 if fields & 0x40 else 1)
    return (-magnitude if fields & 0x80 else magnitude) * 2.0**exponent


def byte_mask(fields: int) -> int:
    """The 64-bit constant of ``movi`` with eight bits, each of which stands for a byte of ones or zeros."""
    mask = 0
    for k in range(8):
        if fields >> k & 1:
            mask |= 0xFF << 8 * k
    return mask
