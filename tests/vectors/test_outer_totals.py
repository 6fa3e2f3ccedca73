"""Totals of lanes that are totals of the loop around as well: combined behind it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True, contract=False)
def whole(a: lw.Array, b: lw.Array):
    total = a[0, 0]
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            total += a[i, j]
    b[0] = total


@lw.kernel(fastmath=True, contract=False)
def extremes(a: lw.Array, b: lw.Array):
    most = a[0, 0]
    least = a[0, 0]
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            most = lw.max(most, a[i, j])
            least = lw.min(least, a[i, j])
    b[0] = most
    b[1] = least


@lw.kernel(fastmath=True, contract=False)
def beside_another(a: lw.Array, b: lw.Array):
    """What else the loop around adds is added to the same total."""
    total = a[0, 0]
    for i in lw.range(a.shape[0]):
        total += a[i, 0]
        for j in lw.range(a.shape[1]):
            total += a[i, j]
        total -= a[i, 1]
    b[0] = total


@lw.kernel(fastmath=True, contract=False)
def stored(a: lw.Array, b: lw.Array):
    """It is needed in each iteration of the loop around."""
    total = a[0, 0]
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            total += a[i, j]
        b[i] = total


@lw.kernel(fastmath=True, contract=False)
def three_deep(a: lw.Array, b: lw.Array):
    for k in lw.range(3):
        total = a[0, 0]
        for i in lw.range(k, a.shape[0]):
            for j in lw.range(k, a.shape[1]):
                total += a[i, j] * a[i, j]
        b[k] = total


@lw.kernel(fastmath=True, contract=False)
def some_rows(a: lw.Array, b: lw.Array):
    total = a[0, 0]
    for i in lw.range(a.shape[0]):
        if a[i, 0] > 4:
            for j in lw.range(a.shape[1]):
                total += a[i, j]
    b[0] = total


KERNELS = [whole, extremes, beside_another, stored, three_deep, some_rows]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.int64, np.uint8):
        for shape in ((3, 3), (5, 16), (4, 37), (7, 131)):
            rng = np.random.default_rng(shape[1])
            a, b = rng.integers(0, 9, shape).astype(element), np.zeros(9, element)
            wanted = [a.copy(), b.copy()]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = [a, b], wanted: list[np.ndarray] = wanted) -> None:  # noqa: B006 (of this turn)
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, a, b), [a, b], same)


def depth_of_combination(kernel: lw.Kernel, element: object = lw.f32) -> list[int]:
    """In how many loops lanes are combined."""
    text = kernel.compile(lw.Array[element, 2], lw.Array[element, 1], target="x86-64-v4").ir("vectorize")
    opened: list[bool] = []
    found = []
    for line in text.split("\n"):
        words = line.split(";")[0].split()
        if words[:1] == ["end"] and opened:
            opened.pop()
        elif "for" in words or words[:1] in (["if"], ["block"], ["loop"]):
            opened.append("for" in words)
        elif any(word.startswith("reduce_") for word in words):
            found.append(sum(opened))
    return found


@pytest.mark.parametrize(("kernel", "depths"), [(whole, {0}), (extremes, {0}), (beside_another, {0}), (stored, {1}), (three_deep, {1})], ids=lambda x: str(x))
def test_where_lanes_are_combined(kernel: lw.Kernel, depths: set[int]) -> None:
    assert set(depth_of_combination(kernel, lw.i32)) == depths


def test_rows_of_floats_side_by_side_have_a_total_each() -> None:
    """One would wait for itself from row to row, and so do those of the rows that are left over, which begin anew."""
    depths = depth_of_combination(whole)
    assert depths.count(0) == 6 and depths.count(1) == 1


def test_lanes_without_room_for_more_are_combined_in_each_row() -> None:
    @lw.kernel
    def narrow(a: lw.Array[lw.u8, 2], b: lw.Array[lw.i64]):
        total = lw.i64(0)
        for i in lw.range(a.shape[0]):
            for j in lw.range(a.shape[1]):
                total += lw.i64(a[i, j]) * lw.i64(a[i, j])
        b[0] = total

    a = np.full((600, 5000), 255, np.uint8)
    b = np.zeros(1, np.int64)
    narrow(a, b)
    assert b[0] == 600 * 5000 * 255 * 255


def test_differences_of_bytes_are_added_up_over_a_block() -> None:
    @lw.kernel
    def distance(a: lw.Array[lw.u8, 2], b: lw.Array[lw.u8, 2], c: lw.Array[lw.i32]):
        for n in lw.range(c.shape[0]):
            total = lw.i32(0)
            for i in lw.range(16):
                for j in lw.range(16):
                    total += abs(lw.i32(a[16 * n + i, j]) - lw.i32(b[16 * n + i, j]))
            c[n] = total

    lines = distance.compile(target="x86-64-v4").ir("vectorize").split("\n")
    (combined,) = [k for k, line in enumerate(lines) if "reduce_add.u64x2" in line]
    assert [line.split(";")[0].strip() for line in lines[combined - 2 : combined]] == ["end", "end"]
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (48, 16)).astype(np.uint8), rng.integers(0, 256, (48, 16)).astype(np.uint8)
    c = np.zeros(3, np.int32)
    distance(a, b, c)
    np.testing.assert_array_equal(c, np.abs(a.astype(int) - b).reshape(3, -1).sum(1))


def test_floats_in_their_order_are_combined_in_each_row() -> None:
    """A loop over lanes adds in an order of its own; the loop around does not."""

    @lw.kernel
    def rows(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32]):
        total = lw.f32(0)
        for i in lw.range(a.shape[0]):
            for j in lw.lanes(a.shape[1]):
                total += a[i, j]
        b[0] = total

    # (One total alone would wait for itself from row to row.)
    assert set(depth_of_combination(rows)) == {1}
    assert set(depth_of_combination(lw.kernel(rows.function, fastmath=True))) == {1}


def test_a_loop_around_that_is_left_early_combines_in_each_row() -> None:
    @lw.kernel
    def until(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32]):
        total = lw.i32(0)
        for i in lw.range(a.shape[0]):
            for j in lw.lanes(a.shape[1]):
                total += a[i, j]
            if a[i, 0] == 7:
                break
        b[0] = total

    for stop in (0, 2, 4, 9):
        a = np.arange(5 * 33, dtype=np.int32).reshape(5, 33) + 8
        if stop < 5:
            a[stop, 0] = 7
        b = np.zeros(1, np.int32)
        until(a, b)
        assert b[0] == a[: stop + 1].sum()
