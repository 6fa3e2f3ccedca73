"""Loops over vectors begin where an access begins a cache line: right results from wherever arrays begin, and as many steps under a mask as that takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.costs import measure
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.targets.x86.target import X86

TARGET = "x86-64-v4"
here = pytest.mark.skipif("avx512vl" not in cpu.host_features(), reason="needs AVX-512")


@lw.kernel(fastmath=True)
def dot(x: lw.Array[lw.f32], y: lw.Array[lw.f32]) -> lw.f32:
    total = lw.f32(0)
    for i in lw.range(len(x)):
        total += x[i] * y[i]
    return total


@lw.kernel
def scaled(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i] + x[i]


@lw.kernel
def between(x: lw.Array[lw.f64], y: lw.Array[lw.f64], first: lw.i64, last: lw.i64):
    for i in lw.lanes(first, last):
        y[i] = x[i - 1] - x[i + 1]


@lw.kernel
def positive(x: lw.Array[lw.f32], y: lw.Array[lw.f32]) -> lw.i32:
    count = lw.i32(0)
    for i in lw.lanes(len(x)):
        if x[i] > 2:
            y[i] = x[i]
            count += 1
    return count


@lw.kernel
def widened(x: lw.Array[lw.u8], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        y[i] = x[i]


@lw.kernel
def past_caches(x: lw.Array[lw.f32], y: lw.Array[lw.f32], z: lw.Array[lw.f32]):
    lw.nontemporal(y)
    for i in lw.lanes(len(x)):
        z[i] = x[i]
        y[i] = x[i] + 1


@lw.kernel
def where_valid(x: lw.Array[lw.f32], y: lw.Array[lw.f32], valid: lw.Array[lw.u8]):
    for i in lw.lanes(len(x)):
        if valid[i >> 3] >> (i & 7) & 1:
            y[i] = x[i]


@lw.kernel
def running(x: lw.Array[lw.i32], y: lw.Array[lw.i32]):
    total = lw.i32(0)
    for i in lw.lanes(len(x)):
        total += x[i]
        y[i] = total


@lw.kernel
def rows(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2]):
    for r in lw.range(x.shape[0]):
        for c in lw.lanes(x.shape[1]):
            y[r, c] = x[r, c] + 1


@lw.kernel
def costly(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        y[i] = lw.exp(x[i])


def placed(count: int, dtype: Any, behind: int) -> np.ndarray[Any, Any]:
    """Zeros that begin so many bytes behind a line."""
    raw = np.zeros(count * np.dtype(dtype).itemsize + 192, np.uint8)
    first = -raw.ctypes.data % 64 + behind
    return raw[first : first + count * np.dtype(dtype).itemsize].view(dtype)


def compiled(kernel: Any, type_: Any = None, **options: Any) -> Any:
    """A kernel's code; of one whose arrays have no element type, for arrays of that."""
    return kernel.compile(*([lw.Array[type_]] * 2 if type_ is not None else []), **{"target": TARGET, **options})


def in_rounds(code: Code) -> bool:
    return "%round" in code.ir("unroll")


def test_where_vectors_of_a_line_are_whole() -> None:
    for kernel, type_ in ((dot, None), (scaled, lw.u16), (between, None), (widened, None), (positive, None)):
        assert in_rounds(compiled(kernel, type_))
        assert not in_rounds(compiled(kernel, type_, target="x86-64-v3"))
        assert not in_rounds(compiled(kernel, type_, vector_bits=256))
    assert X86(TARGET).aligned_lines and not X86(TARGET, tuning=frozenset(("halved-512",))).aligned_lines


@pytest.mark.parametrize("kernel", [running, rows, costly, past_caches, where_valid])
def test_not_where_the_order_counts_nor_where_it_does_not_pay(kernel: Any) -> None:
    code = compiled(kernel)
    # (The loop in front of what goes past the caches has a vector at most.)
    assert not in_rounds(code)


@here
@pytest.mark.parametrize("behind", [0, 2, 16, 63])
@pytest.mark.parametrize("name", ["u8", "i16", "f32", "f64"])
def test_results_from_wherever_arrays_begin(name: str, behind: int) -> None:
    type_ = getattr(lw, name)
    lanes = 64 // type_.size
    run = compiled(scaled, type_)
    for count in (0, 1, lanes, 64 * lanes, 64 * lanes + 1, 65 * lanes, 71 * lanes + 3):
        for other in (0, 5 * type_.size):
            x, y = placed(count, type_.dtype, other), placed(count + 2, type_.dtype, behind)
            x[:] = np.arange(count) % 100
            y[:] = 77
            run(x, y[1:-1])
            np.testing.assert_array_equal(y[1:-1], x + x)
            assert (y[[0, -1]] == 77).all()


@here
def test_totals_take_each_element_once() -> None:
    for count in (0, 1, 1024, 1025, 1040, 5000):
        for behind in range(0, 64, 4):
            x, y = placed(count, np.float32, behind), placed(count, np.float32, 16)
            x[:] = np.arange(count) % 5
            y[:] = np.arange(count) % 7
            assert compiled(dot)(x, y) == float((x * y).sum())


@here
def test_bits_of_bitmaps() -> None:
    for behind in (0, 4, 20):
        x, y = placed(3001, np.float32, 16), placed(3001, np.float32, behind)
        x[:] = np.arange(3001) % 7 + 1
        valid = np.random.default_rng(0).integers(0, 256, 3001 // 8 + 1).astype(np.uint8)
        compiled(where_valid)(x, y, valid)
        np.testing.assert_array_equal(y, np.where(np.unpackbits(valid, bitorder="little")[:3001], x, 0))


@here
def test_conditions() -> None:
    for count in (1, 1040, 3001):
        for behind in (0, 4, 20, 33):
            x, y = placed(count, np.float32, behind), placed(count, np.float32, 48)
            x[:] = np.arange(count) % 7
            y[:] = -1
            assert compiled(positive)(x, y) == (x > 2).sum()
            np.testing.assert_array_equal(y, np.where(x > 2, x, -1))


@here
def test_bounds_of_any_size() -> None:
    run = compiled(between)
    x = np.arange(2000, dtype=np.float64) ** 2
    for behind in (0, 8, 16, 56):
        for first, last in ((1, 1999), (7, 1500), (1000, 1000), (1900, 100), (1, 514), (2**63 - 5, -(2**63) + 5), (2**63 - 1, 2**63 - 1), (5, -(2**63))):
            y, wanted = placed(2000, np.float64, behind), np.zeros(2000)
            run(x, y, first, last)
            if first < last:
                wanted[first:last] = x[first - 1 : last - 1] - x[first + 1 : last + 1]
            np.testing.assert_array_equal(y, wanted)


@here
def test_widened_elements_and_what_goes_past_the_caches() -> None:
    for behind in (0, 4, 20):
        x, y = placed(3001, np.uint8, 3), placed(3001, np.float32, behind)
        x[:] = np.arange(3001) % 251
        compiled(widened)(x, y)
        np.testing.assert_array_equal(y, x)
        v, past, z = (placed(3001, np.float32, n) for n in (behind, 24, 12))
        v[:] = np.arange(3001)
        compiled(past_caches)(v, past, z)
        np.testing.assert_array_equal(past, v + 1)
        np.testing.assert_array_equal(z, v)


@here
@pytest.mark.parametrize(("behind", "masked"), [(0, 0), (16, 2), (60, 2)])
def test_the_main_loop_begins_a_line(behind: int, masked: int) -> None:
    code = compiled(scaled, lw.f32)
    count = 64 * 32
    x, y = placed(count, np.float32, 0), placed(count, np.float32, behind)
    counts = measure.count_blocks(code.compiled, [x.ctypes.data, count, y.ctypes.data, count])
    # Of 16 lanes, four vectors in a step: with elements in front of a line, a step less, and three vectors and the rest of one under the mask.
    steps = 32 - (masked > 0)
    assert float(steps) in counts
    assert (float(1 + 4) in counts) == (masked > 0)
