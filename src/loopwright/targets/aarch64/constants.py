"""Which instructions make a constant in a register."""

from __future__ import annotations

import struct
from typing import Final

from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.immediates import float_immediate, logical_immediate
from loopwright.targets.aarch64.notation import Row

__all__ = ["materialise", "vector_immediate"]

#: (row, its operands without the register): (16 bits, shift) of movz, movn and movk, (mask,) of orr.
Step = tuple[Row, tuple[int, ...]]

_ALL: Final = (1 << 64) - 1


def materialise(value: int) -> list[Step]:
    """The fewest instructions that make a 64-bit integer, given signed or unsigned: each applies to what the one before has left.

    Considered are movz or movn or orr with a mask, of 64 bits or of 32 (which clears the upper half), each with movk after it; and two orr.
    """
    value &= _ALL
    best = _shortest(value, 64)
    if len(best) > 1:
        narrow = _shortest(value & 0xFFFFFFFF, 32)
        narrow += [(i.MOVK["x"], (value >> at & 0xFFFF, at)) for at in (32, 48) if value >> at & 0xFFFF]
        if len(narrow) < len(best):
            return narrow
    return best


def _shortest(value: int, bits: int) -> list[Step]:
    shape = "x" if bits == 64 else "w"
    halves = [value >> at & 0xFFFF for at in range(0, bits, 16)]
    plain = _from_halves(halves, shape)
    if len(plain) == 1:
        return plain
    if logical_immediate(value, bits) is not None:
        return [(i.ORR_IMM[shape], (value,))]
    if len(plain) == 2:
        return plain
    patched = _patched_mask(halves, 1)
    if patched:
        return patched
    pair = _two_masks(value)
    if pair:
        return pair
    if len(plain) == 4:
        return _patched_mask(halves, 2) or plain
    return plain


def _from_halves(halves: list[int], shape: str) -> list[Step]:
    """16 bits at a time, beginning with all zeros or all ones, of which there are more."""
    ones = halves.count(0xFFFF) > halves.count(0)
    rest = 0xFFFF if ones else 0
    made: list[Step] = []
    for k, half in enumerate(halves):
        if half == rest:
            continue
        if made:
            made.append((i.MOVK[shape], (half, 16 * k)))
        elif ones:
            made.append((i.MOVN[shape], (half ^ 0xFFFF, 16 * k)))
        else:
            made.append((i.MOVZ[shape], (half, 16 * k)))
    return made or [(i.MOVN[shape] if ones else i.MOVZ[shape], (0, 0))]


def _patched_mask(halves: list[int], count: int) -> list[Step]:
    """orr of a mask that differs from the number in ``count`` parts of 16 bits, and movk for these; [] when there is none.

    A mask whose other parts are given can always have 0, all ones, or the like of another part in the open ones: an end of a run of ones that falls
    into an open part may as well be at its border.
    """
    if len(halves) < 4:
        return []
    numbers = range(4)
    for first in numbers:
        for second in numbers if count == 2 else (first,):
            if count == 2 and second <= first:
                continue
            known = [halves[k] for k in numbers if k != first and k != second]
            fills = (0, 0xFFFF, *known)
            for fill in fills:
                for other in fills if count == 2 else (fill,):
                    tried = list(halves)
                    tried[second] = other
                    tried[first] = fill
                    mask = sum([half << 16 * k for k, half in enumerate(tried)])
                    if logical_immediate(mask, 64) is None:
                        continue
                    made: list[Step] = [(i.ORR_IMM["x"], (mask,))]
                    for k in (first, second) if count == 2 else (first,):
                        made.append((i.MOVK["x"], (halves[k], 16 * k)))
                    return made
    return []


def _two_masks(value: int) -> list[Step]:
    """Two orr of masks whose union is the number of 64 bits; the first may be of 32 bits. [] when there are none."""
    masks = _greatest_masks(value, 64)
    narrow = _greatest_masks(value & 0xFFFFFFFF, 32)
    for second in masks:
        rest = value & ~second
        for first in masks:
            if rest & ~first == 0:
                return [(i.ORR_IMM["x"], (first,)), (i.ORR_IMM["x"], (second,))]
        for first in narrow:
            if rest & ~first == 0:
                return [(i.ORR_IMM["w"], (first,)), (i.ORR_IMM["x"], (second,))]
    return []


def _greatest_masks(value: int, bits: int) -> list[int]:
    """The masks within a number that are within no other mask of the same period within it."""
    found: list[int] = []
    size = bits
    while size >= 2:
        ones = (1 << size) - 1
        common = ones
        for at in range(0, bits, size):
            common &= value >> at
        # Where runs of ones begin, going round.
        starts = common & ~(common << 1 | common >> size - 1)
        while starts:
            low = (starts & -starts).bit_length() - 1
            starts &= starts - 1
            turned = (common >> low | common << size - low) & ones
            length = (~turned & turned + 1).bit_length() - 1
            run = (1 << length) - 1
            mask = (run << low | run >> size - low) & ones
            found.append(_repeated(mask, size, bits))
        size >>= 1
    return found


def _repeated(value: int, size: int, bits: int) -> int:
    while size < bits:
        value |= value << size
        size *= 2
    return value


def vector_immediate(value: int, bits: int, full: bool = True) -> Step | None:
    """The instruction that fills a vector with lanes of ``bits`` bits (8 to 64) that all are ``value``; None when no single one does.

    Returns it with its operands after the register. ``full`` is of 128 bits, otherwise the vector has 64 and the upper half becomes 0.
    """
    whole = _repeated(value & (1 << bits) - 1, bits, 64)
    octets = whole.to_bytes(8, "little")
    if all(octet in (0, 0xFF) for octet in octets):
        mask = sum([1 << k for k, octet in enumerate(octets) if octet])
        return (i.MOVI_2D if full else i.MOVI_D), (mask,)
    if whole == _repeated(octets[0], 8, 64):
        return i.MOVI_B["16b" if full else "8b"], (octets[0],)
    if whole == _repeated(whole & 0xFFFF, 16, 64):
        shape = "8h" if full else "4h"
        found = _shifted_byte(whole & 0xFFFF, 16, shape)
        if found is not None:
            return found
    if whole == _repeated(whole & 0xFFFFFFFF, 32, 64):
        found = _word(whole & 0xFFFFFFFF, "4s" if full else "2s")
        if found is not None:
            return found
    coded = float_immediate(struct.unpack("<d", octets)[0])
    if coded is not None:
        return (i.FMOV_V_IMM["2d"] if full else i.FMOV_IMM["d"]), (coded,)
    return None


def _shifted_byte(lane: int, bits: int, shape: str) -> Step | None:
    ones = (1 << bits) - 1
    for row, wanted in ((i.MOVI[shape], lane), (i.MVNI[shape], lane ^ ones)):
        for shift in range(0, bits, 8):
            if wanted & ~(0xFF << shift) == 0:
                return row, (wanted >> shift, shift)
    return None


def _word(lane: int, shape: str) -> Step | None:
    found = _shifted_byte(lane, 32, shape)
    if found is not None:
        return found
    for row, wanted in ((i.MOVI_MSL[shape], lane), (i.MVNI_MSL[shape], lane ^ 0xFFFFFFFF)):
        for shift in (8, 16):
            filled = (1 << shift) - 1
            if wanted & filled == filled and wanted >> shift + 8 == 0:
                return row, (wanted >> shift, shift)
    coded = float_immediate(struct.unpack("<f", lane.to_bytes(4, "little"))[0])
    return None if coded is None else (i.FMOV_V_IMM[shape], (coded,))
