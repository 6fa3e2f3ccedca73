"""Multiply-adds of one rounding, and what is made of them, on processors without a command for any: against the interpreter, which computes exactly."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops

SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, -1.5e-323, 2.0**-1022, 1.7976931348623157e308, 1.0, -1.0, 1 + 2.0**-52)
#: Exponents between and around those at which operands are scaled.
EXPONENTS = (-1022, -600, -500, -400, -52, -1, 0, 1, 52, 400, 500, 600, 900, 1000)
DOUBLES = lw.Array[lw.f64]
SINGLES = lw.Array[lw.f32]


@lw.kernel
def double(a: DOUBLES, b: DOUBLES, c: DOUBLES, made: DOUBLES):
    for i in lw.range(len(a)):
        made[i] = lw.fma(a[i], b[i], c[i])


@lw.kernel
def single(a: SINGLES, b: SINGLES, c: SINGLES, made: SINGLES):
    for i in lw.range(len(a)):
        made[i] = lw.fma(a[i], b[i], c[i])


@lw.kernel
def floored(a: DOUBLES, b: DOUBLES, c: DOUBLES, made: DOUBLES):
    for i in lw.range(len(a)):
        c[i] = a[i] % b[i]
        made[i] = a[i] // b[i]


def any_double(rng: random.Random) -> float:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(SPECIAL)
    if kind == 1:
        return float(struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0])
    fraction = rng.choice([1.0, 1 + 2.0**-52, 2 - 2.0**-52, 1.5, 1 + rng.random()])
    return rng.choice([1, -1]) * fraction * 2.0 ** (rng.choice(EXPONENTS) + rng.randrange(-3, 4)) * rng.choice([1, 1, 2.0**-40])


def doubles(seed: int, count: int) -> list[Any]:
    """Operands: of all sizes, such as cancel, and such that one of product and summand is just large enough to hide the other."""
    rng = random.Random(seed)
    a, b, c = [np.array([any_double(rng) for _ in range(count)]) for _ in range(3)]
    with np.errstate(all="ignore"):
        c[0::3] = -(a[0::3] * b[0::3])
        c[0::6] = np.nextafter(c[0::6], np.inf)
        c[1::9] = (a * b)[1::9] * np.array([2.0 ** rng.choice([-107, -106, -54, -53, 53, 54, 60, 69, 70, 71]) for _ in c[1::9]])
    return [a, b, c]


def singles(seed: int, count: int) -> list[Any]:
    """The same of 32 bits: sums half way between two floats, below the normal ones as well."""
    rng = random.Random(seed)
    a, b, c = [np.frombuffer(rng.randbytes(4 * count), np.float32).copy() for _ in range(3)]
    with np.errstate(all="ignore"):
        c[0::3] = -(a[0::3] * b[0::3])
    for i in range(1, count, 3):
        a[i], b[i] = 1 + rng.randrange(16) * 2.0**-23, 1 + rng.randrange(16) * 2.0**-23
        c[i] = rng.choice([1, -1]) * 2.0 ** rng.randrange(-60, 60)
    for i in range(2, count, 3):
        a[i], b[i] = 2.0**-70 * (1 + rng.randrange(99) * 2.0**-23), 2.0 ** -rng.randrange(70, 79) * (1 + rng.randrange(16) * 2.0**-23)
        c[i] = rng.choice([1, -1]) * 2.0 ** -rng.randrange(120, 149)
    return [a, b, c]


def exact(type_: Any, operands: list[Any]) -> Any:
    """What the operation's row says."""
    meaning = ops.FMA.meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        return np.array([meaning(type_, type_, *each) for each in zip(*operands, strict=True)], operands[0].dtype)


def same(found: Any, wanted: Any, operands: list[Any]) -> None:
    """Bit by bit, but for what a NaN holds."""
    width = np.int64 if found.itemsize == 8 else np.int32
    wrong = (found.view(width) != wanted.view(width)) & ~(np.isnan(found) & np.isnan(wanted))
    assert not wrong.any(), [(*[float(each[i]).hex() for each in operands], found[i], wanted[i]) for i in np.flatnonzero(wrong)[:5]]


@pytest.mark.parametrize("name", ["multiclet-r1", "multiclet-s2"])
def test_of_64_bits(name: str) -> None:
    operands = doubles(1, 1500)
    made = np.zeros(1500)
    double.compile(*[DOUBLES] * 4, target=name, prove=True).emulate(*operands, made)
    same(made, exact(lw.f64, operands), operands)


def test_of_32_bits() -> None:
    operands = singles(2, 1500)
    made = np.zeros(1500, np.float32)
    single.compile(*[SINGLES] * 4, target="multiclet-s2", prove=True).emulate(*operands, made)
    same(made, exact(lw.f32, operands), operands)


def test_floor_division_of_floats() -> None:
    a, b, _ = doubles(3, 600)
    left, made = np.zeros(600), np.zeros(600)
    floored.compile(*[DOUBLES] * 4, target="multiclet-s2", prove=True).emulate(a, b, left, made)
    with np.errstate(all="ignore"):
        same(made, a // b, [a, b])
        same(left, a % b, [a, b])
