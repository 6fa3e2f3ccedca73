"""Stores past the caches: the same results for all types, lengths and places, aligned stores in whole vectors, and a fence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError

ELEMENTS = ("u8", "i16", "i32", "i64", "f16", "f32", "f64")
#: Those that run code in this process: others store as always.
HERE = runners(lambda runner: runner.calls_back)
f32 = lw.Array[lw.f32]


@lw.kernel
def scaled(x: lw.Array, y: lw.Array):
    lw.nontemporal(y)
    for i in lw.lanes(len(y)):
        y[i] = x[i] + x[i]


@lw.kernel
def plain_loop(x: lw.Array, y: lw.Array):
    lw.nontemporal(y)
    for i in lw.range(2, len(y) - 1):
        y[i] = x[i - 1] + x[i + 1]


@lw.kernel
def rows(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2]):
    lw.nontemporal(y)
    for r in lw.range(y.shape[0]):
        for c in lw.lanes(1, y.shape[1]):
            y[r, c] = x[r, c] - x[r, c - 1]


@lw.kernel
def two_arrays(x: f32, y: f32, z: f32):
    """Only one of them can begin at a vector; the other is stored as always."""
    lw.nontemporal(y)
    lw.nontemporal(z)
    for i in lw.lanes(len(y)):
        y[i] = x[i] * 2
        z[i] = x[i] * 3


@lw.kernel
def with_total(x: f32, y: f32) -> lw.f32:
    lw.nontemporal(y)
    total = lw.f32(0)
    for i in lw.lanes(len(y)):
        y[i] = x[i]
        total += x[i]
    return total


@lw.kernel
def under_conditions(x: f32, y: f32):
    lw.nontemporal(y)
    for i in lw.lanes(len(y)):
        if x[i] > 5:
            y[i] = x[i]


@lw.kernel
def at_two_places(x: f32, y: f32):
    lw.nontemporal(y)
    for i in lw.lanes(len(x) - 16):
        y[i] = x[i]
        y[i + 16] = x[i]


def places(dtype: np.dtype[Any], count: int) -> list[np.ndarray[Any, Any]]:
    """Arrays of zeros that begin at all places in a cache line where an element may be, with room around."""
    memory = [np.zeros(count + 3 * 64 // dtype.itemsize, dtype) for _ in range(max(1, 64 // dtype.itemsize))]
    return [each[start : start + count] for start, each in enumerate(memory)]


@pytest.mark.parametrize("runner", HERE)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("kernel", [scaled, plain_loop], ids=["lanes", "range"])
def test_all_types_at_all_places(kernel: lw.Kernel, element: str, runner: Runner) -> None:
    of = lw.Array[getattr(lw, element)]
    code = runner.compiled(kernel, of, of)
    dtype = np.dtype({"u8": "u1", "f16": "f2"}.get(element, element[0] + str(int(element[1:]) // 8)))
    for count in (0, 1, 3, 17, 64, 130, 333):
        x = (np.arange(count) % 50).astype(dtype)
        wanted = np.zeros(count, dtype)
        kernel.function(x, wanted)
        for y in places(dtype, count):
            code(x, y)
            assert np.array_equal(y, wanted)
            assert np.count_nonzero(y.base) == np.count_nonzero(wanted), "nothing beside it is written"


@pytest.mark.parametrize("runner", HERE)
def test_rows_begin_at_different_places(runner: Runner) -> None:
    code = runner.compiled(rows, lw.Array[lw.f32, 2], lw.Array[lw.f32, 2])
    x = np.random.default_rng(0).random((7, 133), np.float32)
    y, wanted = np.zeros_like(x), np.zeros_like(x)
    code(x, y)
    rows.function(x, wanted)
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize("kernel", [two_arrays, under_conditions, at_two_places])
def test_what_cannot_be_aligned(kernel: lw.Kernel) -> None:
    count = len(kernel.function.__annotations__)
    for length in (16, 50, 203):
        x = np.arange(length, dtype=np.float32)
        for start in range(5):
            results = []
            for run in (kernel, kernel.function):
                others = [np.zeros(300, np.float32) for _ in range(count - 1)]
                run(x, *[other[start * k : start * k + length] for k, other in enumerate(others, 1)])
                results.append(np.concatenate(others))
            assert np.array_equal(*results)


def test_a_total_goes_through_both_loops() -> None:
    x = np.arange(100, dtype=np.float32)
    y = np.zeros(101, np.float32)[1:]
    assert with_total(x, y) == x.sum()
    assert np.array_equal(x, y)


def test_elements_that_are_not_aligned_themselves() -> None:
    memory = np.zeros(8 * 100 + 1, np.uint8)
    y = memory[1:].view(np.float64)
    x = np.arange(100, dtype=np.float64)
    try:
        scaled(x, y)
    except lw.errors.ArgumentError:
        return
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_whole_vectors_go_past_the_caches(target: str) -> None:
    for element in ELEMENTS:
        of = lw.Array[getattr(lw, element)]
        listing = scaled.compile(of, of, target=target).asm()
        assert "vmovntps" in listing, element
        assert listing.index("sfence") < listing.index("ret")
    assert "vmovntps" in plain_loop.compile(f32, f32, target=target).asm()
    without = scaled.compile(f32, f32, target=target, passes=[lw.without("nontemporal")])
    assert "vmovntps" not in without.asm() and "sfence" not in without.asm()
    assert "vmovntps" not in at_two_places.compile(f32, f32, target=target).asm()


@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_other_machines_store_as_always(target: str) -> None:
    text = scaled.compile(f32, f32, target=target).ir("lower-late")
    assert "store_past" not in text and "fence" not in text


def test_what_is_no_array_of_the_callers() -> None:
    @lw.kernel
    def own(x: f32):
        row = lw.local(lw.f32, 4)
        lw.nontemporal(row)

    @lw.kernel
    def number(x: f32):
        lw.nontemporal(x[0])

    with pytest.raises(KernelTypeError, match="row is its own"):
        own.compile(f32)
    with pytest.raises(KernelTypeError, match="takes an array, not"):
        number.compile(f32)
