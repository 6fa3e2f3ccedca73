"""Constants in instructions, and the instructions that make constants."""

from __future__ import annotations

import random
import struct

import pytest

from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.constants import materialise, vector_immediate
from loopwright.targets.aarch64.immediates import byte_mask, float_immediate, float_value, logical_immediate, logical_value
from loopwright.targets.aarch64.notation import Row

ALL = (1 << 64) - 1
Step = tuple[Row, tuple[int, ...]]


def every_mask(bits: int) -> set[int]:
    """All masks, by what they are: a run of ones in an element, turned, repeated."""
    found = set()
    for size in (2, 4, 8, 16, 32, 64):
        if size <= bits:
            for count in range(1, size):
                for turn in range(size):
                    text = "0" * (size - count) + "1" * count
                    found.add(int((text[turn:] + text[:turn]) * (bits // size), 2))
    return found


@pytest.mark.parametrize(("bits", "number"), [(64, 5334), (32, 1302)])
def test_masks_are_exactly_those_that_have_an_encoding(bits: int, number: int) -> None:
    masks = every_mask(bits)
    assert len(masks) == number
    coded = {mask: logical_immediate(mask, bits) for mask in masks}
    assert None not in coded.values()
    assert len(set(coded.values())) == number
    assert all(logical_value(fields, bits) == mask for mask, fields in coded.items() if fields is not None)
    decoded = [logical_value(fields, bits) for fields in range(1 << 13)]
    assert {value for value in decoded if value is not None} == masks
    # One bit more or less is a mask only if it is among them.
    for mask in masks:
        for bit in (0, 1, 7, 16, bits - 1):
            assert (logical_immediate(mask ^ 1 << bit, bits) is not None) == (mask ^ 1 << bit in masks)
    rng = random.Random(5)
    for value in (0, (1 << bits) - 1, 1 << bits, *(rng.getrandbits(bits) for _ in range(2000))):
        assert (logical_immediate(value, bits) is not None) == (value in masks)


def test_eight_bits_stand_for_256_floats() -> None:
    values = [(-1) ** sign * (16 + low) / 16 * 2.0**exponent for sign in (0, 1) for exponent in range(-3, 5) for low in range(16)]
    assert sorted(float_value(fields) for fields in range(256)) == sorted(values)
    for fields in range(256):
        assert float_immediate(float_value(fields)) == fields
    for value in (0.0, -0.0, 32.0, 0.1, 1.03125, 0.0625, float("inf"), float("nan"), 1e300, 5e-324, 2.0**1023, -(2.0**-1022)):
        assert float_immediate(value) is None


def executed(steps: list[Step], before: int = 0x1122334455667788) -> int:
    """What a register holds after a sequence."""
    value = before
    for position, (row, operands) in enumerate(steps):
        bits = 32 if row.shape == "w" else 64
        if row.family is i.MOVZ:
            value = operands[0] << operands[1]
        elif row.family is i.MOVN:
            value = ~(operands[0] << operands[1])
        elif row.family is i.MOVK:
            assert position
            value = value & ~(0xFFFF << operands[1]) | operands[0] << operands[1]
        else:
            assert row.family is i.ORR_IMM and logical_immediate(operands[0], bits) is not None
            value = (value if position else 0) | operands[0]
        if row.family is not i.ORR_IMM:
            row.encode((3, *operands))
        value &= (1 << bits) - 1
    return value


def halves(*parts: int) -> int:
    return sum(part << 16 * k for k, part in enumerate(parts))


def random_values() -> list[int]:
    rng = random.Random(7)
    masks = sorted(every_mask(64))
    values = [0, 1, -1, 0xFFFF, 0x10000, 1 << 63, -(1 << 63), (1 << 63) - 1, 0xFFFFFFFF, 0xFFFF0000FFFF, 0x123456789ABCDEF0, 0x5555555555555555]
    values += [rng.getrandbits(bits) - rng.getrandbits(bits) for bits in range(1, 63) for _ in range(8)]
    values += [rng.getrandbits(64) for _ in range(200)]
    values += [rng.choice(masks) ^ rng.getrandbits(16) << 16 * rng.randrange(4) for _ in range(400)]
    values += [rng.choice(masks) | rng.choice(masks) for _ in range(400)]
    values += [halves(*(rng.choice([0, 0xFFFF, 0x5555, rng.getrandbits(16)]) for _ in range(4))) for _ in range(400)]
    return values


def test_every_integer_is_made_exactly() -> None:
    for value in random_values():
        assert executed(materialise(value)) == value & ALL, hex(value & ALL)
        assert len(materialise(value)) <= 4


def fewest(value: int, masks: set[int]) -> int:
    """How few instructions there could be, by trying all: one; two, where the second is movk or orr; more of movk after movz or movn or a mask."""
    starts: set[int] = set()
    for bits in (32, 64):
        ones = (1 << bits) - 1
        for at in range(0, bits, 16):
            starts |= {part << at for part in (value >> at & 0xFFFF, 0)} | {ones ^ part << at for part in (~value >> at & 0xFFFF, 0)}
    narrow = every_mask(32)
    starts |= masks | narrow
    if value in starts:
        return 1
    different = [sum((start ^ value) >> at & 0xFFFF != 0 for at in range(0, 64, 16)) for start in starts]
    count = 1 + min(different)
    if count > 2:
        within = [mask for mask in masks | narrow if mask & ~value == 0]
        if any(first | second == value for first in within for second in within):
            return 2
    return count


def test_no_fewer_instructions_make_an_integer() -> None:
    masks = every_mask(64)
    rng = random.Random(17)
    for value in rng.sample(random_values(), 300):
        assert len(materialise(value)) == fewest(value & ALL, masks), hex(value & ALL)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (0, ["mov x3, #0"]),
        (-1, ["mov x3, #-1"]),
        (0xFFFFFFFF, ["mov x3, #4294967295"]),
        (0xFFFF1234, ["mov w3, #-60876"]),
        (0x0F0F0F0F, ["mov w3, #252645135"]),
        (0x5555555555551234, ["mov x3, #6148914691236517205", "movk x3, #4660"]),
        (0x123456789ABC, ["mov x3, #39612", "movk x3, #22136, lsl #16", "movk x3, #4660, lsl #32"]),
        (0xFFFFFFFFFFFF1234 - (1 << 64), ["mov x3, #-60876"]),
    ],
)
def test_integers_take_the_instructions_people_would_write(value: int, texts: list[str]) -> None:
    made = []
    for position, (row, operands) in enumerate(materialise(value)):
        source = (31 if position == 0 else 3,) if row.family is i.ORR_IMM else ()
        made.append(row.text((3, *source, *operands)))
    assert made == texts


def filled(step: Step) -> bytes:
    """The vector that an instruction makes, by the manual's AdvSIMDExpandImm."""
    row, operands = step
    row.encode((0, *operands))
    if row is i.MOVI_2D or row is i.MOVI_D:
        lane = byte_mask(operands[0]).to_bytes(8, "little")
    elif row.family is i.FMOV_V_IMM or row.family is i.FMOV_IMM:
        lane = struct.pack("<d" if row.shape in ("2d", "d") else "<f", float_value(operands[0]))
    else:
        bits = {"b": 8, "h": 16, "s": 32}[row.shape[-1]]
        value = operands[0]
        if len(operands) > 1:
            value <<= operands[1]
            if row.family in (i.MOVI_MSL, i.MVNI_MSL):
                value |= (1 << operands[1]) - 1
        if row.family in (i.MVNI, i.MVNI_MSL):
            value ^= (1 << bits) - 1
        lane = value.to_bytes(bits // 8, "little")
    size = 8 if row is i.MOVI_D or row.shape in ("8b", "4h", "2s", "d") else 16
    return lane * (size // len(lane))


@pytest.mark.parametrize("full", [True, False])
def test_vectors_are_made_exactly(full: bool) -> None:
    rng = random.Random(9)
    made = 0
    for bits in (8, 16, 32, 64):
        lanes = [0, (1 << bits) - 1, 1, 1 << bits - 1]
        lanes += [rng.getrandbits(8) << shift for shift in range(0, bits, 8) for _ in range(10)]
        lanes += [~(rng.getrandbits(8) << shift) & (1 << bits) - 1 for shift in range(0, bits, 8) for _ in range(10)]
        lanes += [byte_mask(rng.getrandbits(8)) & (1 << bits) - 1 for _ in range(10)] + [rng.getrandbits(bits) for _ in range(20)]
        if bits >= 32:
            lanes += [0x12FF, 0x12FFFF, 0xFFFFED00, 0xFFED0000]
            lanes += [int.from_bytes(struct.pack("<f" if bits == 32 else "<d", x), "little") for x in (1.0, -0.125, 31.0, 0.1, -0.0)]
        for lane in lanes:
            step = vector_immediate(lane, bits, full)
            if step is not None:
                made += 1
                assert filled(step) == lane.to_bytes(bits // 8, "little") * ((128 if full else 64) // bits), (hex(lane), bits)
    assert made > 200


@pytest.mark.parametrize(
    ("value", "bits", "row"),
    [
        (0, 32, i.MOVI_2D),
        (5, 8, i.MOVI_B["16b"]),
        (5, 16, i.MOVI["8h"]),
        (0x0505, 16, i.MOVI_B["16b"]),
        (0xFFFFFFFA, 32, i.MVNI["4s"]),
        (0x5FFFF, 32, i.MOVI_MSL["4s"]),
        (0x3F800000, 32, i.FMOV_V_IMM["4s"]),
        (0x3FF0000000000000, 64, i.FMOV_V_IMM["2d"]),
    ],
)
def test_vectors_that_one_instruction_makes(value: int, bits: int, row: Row) -> None:
    found = vector_immediate(value, bits)
    assert found is not None and found[0] is row


@pytest.mark.parametrize(("value", "bits"), [(0x1234, 16), (0x123400, 32), (0x1AAFF, 32), (0x1AAFFFF, 32), (0x3DCCCCCD, 32), (5, 64)])
def test_vectors_that_no_instruction_makes(value: int, bits: int) -> None:
    assert vector_immediate(value, bits) is None
