"""Bits of bytes in memory, one an index: read as conditions and written from them, by lanes as index by index, at any offset and length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.errors import KernelTypeError
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.runtime import emulate
from loopwright.targets import registry

LENGTHS = (0, 1, 7, 8, 9, 31, 33, 64, 100, 259)
#: Per machine that is emulated, fewer.
SOME = (0, 5, 64, 131)
TYPES = ["f32", "f64", "u8", "i16"]


def sum_of_valid(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    t = lw.i64(0)
    for i in lw.lanes(len(x)):
        if lw.bit(bits, i + first):
            t += lw.i64(x[i])
    return t


def marked(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    for i in lw.lanes(len(x)):
        lw.set_bit(bits, i + first, x[i] > 50)
    return 0


def marked_where_valid(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    for i in lw.lanes(len(x)):
        if x[i] > 20 and i + first != 9:
            lw.set_bit(bits, i + first, x[i] <= 60)
    return 0


def cleared_and_read(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    t = lw.i64(0)
    for i in lw.lanes(len(x)):
        was = lw.bit(bits, i + first)
        lw.set_bit(bits, i + first, was and x[i] > 30)
        t += lw.i64(lw.bit(bits, i + first))
    return t


def in_bytes(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    t = lw.i64(0)
    for i in lw.lanes(len(x)):
        j = i + first
        if (bits[j >> 3] & (lw.u8(1) << lw.u8(j & 7))) != 0:
            t += 1
        if x[i] > 70:
            bits[j >> 3] |= lw.u8(1) << lw.u8(j & 7)
        if x[i] < 10:
            bits[j >> 3] &= ~(lw.u8(1) << lw.u8(j & 7))
    return t


def as_it_was(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    t = lw.i64(0)
    for i in lw.lanes(len(x)):
        j = i + first
        before = bits[j >> 3]
        lw.set_bit(bits, j, x[i] > 50)
        if before >> (j & 7) & 1:
            t += 1
    return t


def guarded(x: lw.Array, bits: lw.Array[lw.u8], first: lw.Const) -> lw.i64:
    t = lw.i64(0)
    for i in lw.lanes(len(x)):
        j = i + first
        if j >= 8 * len(bits) or j < 5:
            continue
        if lw.bit(bits, j):
            t += lw.i64(x[i])
    return t


KERNELS = [sum_of_valid, marked, marked_where_valid, cleared_and_read, in_bytes, guarded]


def case(kernel: Any, name: str, n: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(n + first)
    x = random.integers(0, 100, n).astype(getattr(lw, name).dtype)
    # (Of some there are fewer bits than indices.)
    count = (n + first + 7) // 8 if kernel is not guarded else (n + first) // 16
    return x, random.integers(0, 256, count, np.uint8)


def wanted(kernel: Any, x: np.ndarray, bits: np.ndarray, first: int) -> tuple[int, list[int]]:
    """What plain Python makes of it."""
    after = bits.copy()
    with np.errstate(over="ignore"):
        return int(kernel(x, after, first)), after.tolist()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_lanes_do_what_plain_python_does(kernel: Any, name: str) -> None:
    for first in (0, 3, 8, 21):
        code = lw.kernel(kernel).compile(lw.Array[getattr(lw, name)], lw.Array[lw.u8], first, target="x86-64-v3", keep=True)
        assert "u8x" in code.ir("vectorize") or "mask_bits" in code.ir("vectorize")
        assert "gather" not in code.ir("unroll") and "scatter" not in code.ir("unroll")
        for n in LENGTHS:
            x, bits = case(kernel, name, n, first)
            result, after = wanted(kernel, x, bits, first)
            # Nothing around is written.
            room = np.full(len(bits) + 2, 0xA5, np.uint8)
            room[1:-1] = bits
            assert code(x, room[1:-1]) == result
            assert room.tolist() == [0xA5, *after, 0xA5]


def test_what_was_loaded_before_a_store_is_not_read_behind_it() -> None:
    code = lw.kernel(as_it_was).compile(lw.Array[lw.f32], lw.Array[lw.u8], 3, target="x86-64-v3")
    for n in LENGTHS:
        x, bits = case(as_it_was, "f32", n, 3)
        result, after = wanted(as_it_was, x, bits, 3)
        assert code(x, bits) == result and bits.tolist() == after


def test_a_number_that_changes_on_the_way_is_another() -> None:
    f = parse("""
        function f(%x: ptr, %x.n0: i64, %bits: ptr, %bits.n0: i64) -> i64
          array x: i32[%x.n0] at %x
          array bits: u8[%bits.n0] at %bits
          var %j: i64
          var %t: i64
          %t = copy.i64 0
          %i = for 0, %x.n0, 1 lanes accumulate %t add 0
            %j = copy.i64 %i
            %1 = shr.i64 %j, 3
            %2 = load.u8 bits[%1]
            %j = add.i64 %j, 1
            %3 = and.i64 %j, 7
            %4 = convert.i64.u8 %2
            %5 = shr.i64 %4, %3
            %6 = and.i64 %5, 1
            %7 = ne.i64 %6, 0
            if %7
              %t = add.i64 %t, 1
            end
          end
          ret.i64 %t
        end
    """)
    verify(f)
    made = run_passes(f, registry.get("x86-64-v3", 256), "vectorize")
    x, bits = np.zeros(40, np.int32), np.random.default_rng(5).integers(0, 256, 5, np.uint8)
    assert run(made, x, bits) == run(f, x, bits) == sum(int(bits[i >> 3]) >> (i + 1 & 7) & 1 for i in range(40))


@pytest.mark.parametrize("target", ["aarch64-neon", "x86-64-v4", "rv64gc"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_other_machines_the_same(kernel: Any, target: str) -> None:
    if not emulate.available(target):
        pytest.skip(f"nothing runs {target} here")
    calls = []
    expected = []
    for name, first in (("f32", 0), ("u8", 3), ("f64", 5)):
        code = lw.kernel(kernel).compile(lw.Array[getattr(lw, name)], lw.Array[lw.u8], first, target=target)
        for n in SOME:
            x, bits = case(kernel, name, n, first)
            expected.append(wanted(kernel, x, bits, first))
            calls.append((code, (x, bits)))
    for found, (_, (_, bits)), (result, after) in zip(emulate.run_many(calls), calls, expected, strict=True):
        assert found == result and bits.tolist() == after


@pytest.mark.parametrize("kernel", KERNELS)
def test_as_the_interpreter_has_it(kernel: Any) -> None:
    for target, bits_wide in (("x86-64-v4", 512), ("x86-64-v3", 128), ("aarch64-neon", 128)):
        for name, first in (("u8", 3), ("f64", 16)):
            code = lw.kernel(kernel).compile(lw.Array[getattr(lw, name)], lw.Array[lw.u8], first, target=target, vector_bits=bits_wide, keep=True)
            f = parse(code.ir("collect"))
            made = run_passes(f, registry.get(target, bits_wide), "vectorize")
            verify(made)
            for n in (0, 9, 150):
                x, bits = case(kernel, name, n, first)
                result, after = wanted(kernel, x, bits, first)
                assert run(made, x, bits) == result and bits.tolist() == after


UNORDERED = np.nan


@lw.kernel
def finite(x: lw.Array, bits: lw.Array[lw.u8], y: lw.Array[lw.u8]):
    for i in lw.lanes(len(x)):
        if lw.bit(bits, i) and x[i] != np.inf and x[i] != UNORDERED:
            y[i] = 1


def test_comparisons_with_infinity_and_nan_read_no_bits() -> None:
    x = np.array([1, np.inf, -np.inf, np.nan, 0] * 20, np.float32)
    bits = np.arange(13, dtype=np.uint8) * 37
    y = np.zeros(100, np.uint8)
    finite(x, bits, y)
    assert (y == ((x != np.inf) & (np.unpackbits(bits, count=100, bitorder="little") == 1))).all()


def test_they_are_numpys_packed_bits() -> None:
    holds = np.random.default_rng(1).integers(0, 2, 77).astype(bool)
    bits = np.packbits(holds, bitorder="little")
    assert [lw.bit(bits, i) for i in range(77)] == holds.tolist()
    made = np.zeros_like(bits)
    for i in range(77):
        lw.set_bit(made, i, holds[i])
    assert made.tolist() == bits.tolist()


def test_checked_mode_says_which_byte_is_missing() -> None:
    kernel = lw.kernel(sum_of_valid, check=True)
    x = np.ones(20, np.float32)
    assert kernel(x, np.full(3, 255, np.uint8), 0) == 20
    with pytest.raises(IndexError, match="index 2 "):
        kernel(x, np.full(2, 255, np.uint8), 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("t += lw.i64(lw.bit(x, i))", "an array of u8"),
        ("lw.set_bit(x, i, True)", "an array of u8"),
        ("t += lw.i64(lw.bit(bits, x[i]))", "number of a bit"),
    ],
)
def test_what_is_no_bitmap_is_refused(body: str, message: str) -> None:
    text = f"def loop(x: lw.Array[lw.f32], bits: lw.Array[lw.u8]) -> lw.i64:\n    t = lw.i64(0)\n    for i in lw.lanes(len(x)):\n        {body}\n    return t\n"
    space: dict[str, Any] = {"lw": lw}
    exec(text, space)  # noqa: S102 (the text above)
    with pytest.raises(KernelTypeError, match=message):
        lw.kernel(source=text)(space["loop"]).compile()
