"""``lw.popcount``: the kernel's view of the operation that docs/adding-an-instruction.md adds."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import KernelTypeError, UnsupportedOperationError


@lw.kernel
def distance(a: lw.Array[lw.u64], b: lw.Array[lw.u64]) -> lw.u64:
    """The Hamming distance of two strings of bits."""
    total = lw.u64(0)
    for i in lw.lanes(len(a)):
        total += lw.popcount(a[i] ^ b[i])
    return total


@lw.kernel
def of_each(x: lw.Array, out: lw.Array):
    for i in lw.range(len(x)):
        out[i] = lw.popcount(x[i])


@lw.kernel
def of_a_float(x: lw.Array[lw.f32]):
    x[0] = lw.popcount(x[0])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_negative_numbers_are_counted_in_twos_complement(dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 256, 800).astype(np.uint8).view(dtype)
    out = np.zeros_like(x)
    of_each(x, out)
    assert out.tolist() == [(v & (1 << 8 * x.itemsize) - 1).bit_count() for v in x.tolist()]


def test_lanes_add_up() -> None:
    a, b = np.random.default_rng(2).integers(0, 2**64, (2, 1001), dtype=np.uint64)
    assert distance(a, b) == sum((x ^ y).bit_count() for x, y in zip(a.tolist(), b.tolist(), strict=True))


def test_scalars_are_one_instruction() -> None:
    assert "popcnt r" in of_each.compile(lw.Array[lw.i64], lw.Array[lw.i64], target="x86-64-v3").asm()


def test_python_numbers_give_the_same() -> None:
    assert lw.popcount(255) == 8
    assert lw.popcount(np.int16(-1)) == 16
    with pytest.raises(KernelTypeError, match="no width of its own"):
        lw.popcount(-1)


def test_floats_have_no_bits_to_count() -> None:
    with pytest.raises(UnsupportedOperationError, match="convert to an integer type first"):
        of_a_float.compile(lw.Array[lw.f32])
