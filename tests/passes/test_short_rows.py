"""Rows that read what the row before has stored: the same as element by element, for every length and element type, nothing written beside them, and no masks where these would be waited for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

ELEMENTS = [lw.f32, lw.f64, lw.i32, lw.i64, lw.i16, lw.u8]
LENGTHS = (*range(1, 10), 12, 15, 16, 17, 23, 24, 25, 31, 33, 47, 63, 65, 100)


@lw.kernel(contract=False)
def added(a: lw.Array):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(a.shape[1]):
            a[i, j] += a[i - 1, j]


@lw.kernel(contract=False)
def seam(a: lw.Array):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] += lw.max(lw.max(a[i - 1, j - 1], a[i - 1, j]), a[i - 1, j + 1])


@lw.kernel(contract=False)
def spread(a: lw.Array):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(i, a.shape[1] - i):
            if a[i - 1, j] > 4:
                a[i, j] = a[i - 1, j] + 1
            else:
                a[i, j] += j


@lw.kernel(contract=False)
def total(a: lw.Array):
    for _ in lw.range(3):
        for i in lw.range(1, a.shape[0]):
            for j in lw.range(a.shape[1]):
                a[0, j] += a[i, j]
                a[i, j] = a[0, j]


def by_numpy(kernel: object, a: np.ndarray) -> None:
    rows, columns = a.shape
    for time in range(3 if kernel is total else 1):
        del time
        for i in range(1, rows):
            if kernel is added:
                a[i] += a[i - 1]
            elif kernel is seam and columns > 2:
                a[i, 1:-1] += np.maximum(np.maximum(a[i - 1, :-2], a[i - 1, 1:-1]), a[i - 1, 2:])
            elif kernel is spread:
                j = np.arange(i, max(i, columns - i))
                a[i, j] = np.where(a[i - 1, j] > 4, a[i - 1, j] + 1, a[i, j] + j.astype(a.dtype))
            elif kernel is total:
                a[0] += a[i]
                a[i] = a[0]


@pytest.mark.parametrize("kernel", [added, seam, spread, total], ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_every_length_and_nothing_beside(kernel: Callable[..., None], element: lw.Type) -> None:
    rng = np.random.default_rng(3)
    for length in LENGTHS:
        a = rng.integers(0, 9, (5, length + 40)).astype(element.dtype)
        wanted = a.copy()
        by_numpy(kernel, wanted[:, :length])
        kernel(a[:, :length])
        np.testing.assert_array_equal(a, wanted)


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("kernel", [added, seam], ids=lambda kernel: kernel.function.__name__)
def test_on_every_machine(runner: Runner, kernel: lw.Kernel) -> None:
    rng = np.random.default_rng(4)
    for element in (lw.f32, lw.i64, lw.u8):
        for length in (3, 7, 13, 30, 57):
            a = rng.integers(0, 9, (4, length)).astype(element.dtype)
            wanted = a.copy()
            by_numpy(kernel, wanted)

            def same(_: object, a: np.ndarray = a, wanted: np.ndarray = wanted) -> None:
                np.testing.assert_array_equal(a, wanted)

            runner.run(runner.compiled(kernel, a), [a], same)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_what_is_loaded_was_stored_in_the_same_piece(target: str) -> None:
    for kernel in (added, seam):
        text = kernel.compile(lw.Array[lw.f32, 2], target=target).ir("unroll")
        assert "masked" not in text and "f32x8" in text and "f32x4" in text


def test_rows_that_are_not_read_again_keep_their_masks() -> None:
    @lw.kernel
    def doubled(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
        for i in lw.range(1, a.shape[0]):
            for j in lw.range(a.shape[1]):
                a[i, j] = b[i - 1, j] * 2

    assert "masked_store" in doubled.compile(lw.Array[lw.f32, 2], lw.Array[lw.f32, 2], target="x86-64-v4").ir("unroll")


@lw.kernel(contract=False)
def looked_up(a: lw.Array[lw.i32, 2], table: lw.Const):
    for i in lw.range(1, a.shape[0]):
        for j in lw.lanes(a.shape[1]):
            a[i, j] = a[i - 1, j] + table[a[i - 1, j] & 15]


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
def test_constant_tables_in_what_is_left_over(runner: Runner) -> None:
    table = np.arange(16, dtype=np.int32)[::-1].copy()
    for length in (3, 7, 13, 30, 57):
        a = np.random.default_rng(length).integers(0, 99, (5, length)).astype(np.int32)
        wanted = a.copy()
        for i in range(1, 5):
            wanted[i] = wanted[i - 1] + table[wanted[i - 1] & 15]

        def same(_: object, a: np.ndarray = a, wanted: np.ndarray = wanted) -> None:
            np.testing.assert_array_equal(a, wanted)

        runner.run(runner.compiled(looked_up, a, table), [a], same)


@lw.kernel(contract=False)
def by_key(a: lw.Array, key: lw.Array[lw.u8, 1], sums: lw.Array):
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            sums[key[i], j] += a[i, j]


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_rows_that_are_added_to_by_a_key(element: lw.Type) -> None:
    rng = np.random.default_rng(5)
    for length in LENGTHS:
        a = rng.integers(0, 3, (20, length)).astype(element.dtype)
        key = rng.integers(0, 3, 20).astype(np.uint8)
        sums = rng.integers(0, 3, (4, length + 40)).astype(element.dtype)
        wanted = sums.copy()
        np.add.at(wanted[:, :length], key, a)
        by_key(a, key, sums[:, :length])
        np.testing.assert_array_equal(sums, wanted)
    text = by_key.compile(lw.Array[lw.f32, 2], lw.Array[lw.u8, 1], lw.Array[lw.f32, 2], target="x86-64-v4").ir("unroll")
    assert "masked_store" not in text and "f32x8" in text
