"""Products with a transpose, whose rows are turned round block by block: as written, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def into_elements(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]


@lw.kernel(contract=False)
def from_nought(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = a[0, 0] - a[0, 0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s


@lw.kernel(contract=False)
def cleared_first(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
            for k in range(1, a.shape[1]):
                c[i, j] -= a[i, k] * b[j, k]


@lw.kernel(contract=False)
def scaled_first(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = c[i, j] * 2
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s


@lw.kernel(contract=False)
def something_at_the_end(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = a[0, 0]
            for k in range(a.shape[1]):
                d = a[i, k] - b[j, k]
                s += d * d
            c[i, j] = max(s, b[0, 0]) * 3


@lw.kernel(contract=False)
def with_what_was_there(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = a[0, 0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s + c[i, j] * 3


@lw.kernel(contract=False)
def both_transposed(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = c[i, j]
            for k in range(a.shape[0]):
                s += a[k, i] * b[j, k]
            c[i, j] = s


@lw.kernel(contract=False)
def lower_half(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(i + 1):
            for k in range(b.shape[1]):
                c[i, j] += b[i, k] * b[j, k]


@lw.kernel(contract=False)
def upper_half(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            s = c[i, j]
            for k in range(b.shape[1]):
                s = max(s, b[i, k] - b[j, k])
            c[i, j] = s


@lw.kernel(contract=False)
def parts(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(2, c.shape[0] - 1):
        for j in range(1, c.shape[1] - 2):
            s = c[i, j]
            for k in range(3, a.shape[1] - 1):
                s += a[i, k - 2] * b[j + 2, k + 1]
            c[i, j - 1] = s


TURNED = [into_elements, from_nought, cleared_first, scaled_first, something_at_the_end, with_what_was_there, both_transposed, lower_half, upper_half]


@lw.kernel(contract=False)
def changes_what_it_reads(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(b.shape[1]):
                b[i, j] += a[i, k] * b[j, k]


@lw.kernel(contract=False)
def handed_from_row_to_row(a: lw.Array, b: lw.Array, c: lw.Array):
    s = a[0, 0]
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s


@lw.kernel(contract=False)
def only_positive(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = c[i, j]
            for k in range(a.shape[1]):
                if a[i, k] > 0:
                    s += a[i, k] * b[j, k]
            c[i, j] = s


@lw.kernel(contract=False)
def triangular_inside(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(i):
                c[i, j] += a[i, k] * b[j, k]


@lw.kernel(contract=False)
def at_both_ends(a: lw.Array, b: lw.Array, c: lw.Array):
    """The first rows are empty, and would begin in front of the array."""
    for i in range(c.shape[0]):
        for j in range(i - 5, min(2 * i - 10, c.shape[1])):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]


OTHERS = [at_both_ends, changes_what_it_reads, handed_from_row_to_row, only_positive, triangular_inside, parts]


def _given(element: type, rows: int, columns: int, deep: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows * columns + deep)
    most = max(rows, columns, deep) + 4
    arrays = [rng.integers(-3, 4, (most, deep)), rng.integers(-3, 4, (most, deep)), rng.integers(-3, 4, (rows, columns))]
    if rows == deep:
        arrays = [rng.integers(-3, 4, (most, most)), rng.integers(-3, 4, (most, most)), rng.integers(-3, 4, (rows, columns))]
    return [array.astype(element) for array in arrays]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.float64, np.int32):
        compiled = runner.compiled(kernel, *_given(element, 3, 3, 3))
        for rows, columns, deep in ((1, 9, 9), (12, 5, 12), (13, 50, 40), (14, 97, 129), (20, 20, 260), (31, 31, 31)):
            given = _given(element, rows, columns, deep)
            if kernel is both_transposed:
                given[0] = np.ascontiguousarray(given[0].T[:, : max(rows, 1)])
                given[0], given[1] = given[0][: given[1].shape[1]], given[1][:, : given[0].shape[0]].copy()
            if (kernel in (changes_what_it_reads, triangular_inside) and deep < columns) or (kernel is lower_half and columns < rows):
                continue
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_turned(kernel: lw.Kernel) -> None:
    for element in (np.float64, np.int32):
        found = kernel.compile(*_given(element, 3, 3, 3), target="x86-64-v4").nests()
        assert any("turned round, block by block" in step for nest in found for step in nest.done) == (kernel in TURNED)
    assert kernel not in TURNED or any("lanes(j)" in nest.done for nest in found)


@lw.kernel(contract=False)
def layers(a: lw.Array[lw.f32, 3], b: lw.Array[lw.f32, 3], c: lw.Array[lw.f32, 3]):
    for h in range(c.shape[0]):
        for i in range(c.shape[1]):
            for j in range(c.shape[2]):
                s = lw.f32(0)
                for k in range(a.shape[2]):
                    s += a[h, i, k] * b[h, j, k]
                c[h, i, j] = s * lw.f32(0.5)


def test_one_product_for_each_layer() -> None:
    rng = np.random.default_rng(3)
    a, b = [rng.integers(-3, 4, (3, rows, 70)).astype(np.float32) for rows in (17, 101)]
    c = np.zeros((3, 17, 101), np.float32)
    layers(a, b, c)
    np.testing.assert_array_equal(c, np.einsum("hik,hjk->hij", a, b) * np.float32(0.5))
    found = layers.compile(target="x86-64-v4").nests()
    assert any("b turned round, block by block" in nest.done and any("unroll_and_jam(i=" in step for step in nest.done) for nest in found)


def test_overlapping_arrays_run_as_written() -> None:
    memory = np.random.default_rng(0).integers(-2, 3, 3 * 30 * 30).astype(np.float64)
    written = lw.kernel(into_elements.function, contract=False, nests="off")
    for offset in (0, 7, 30 * 29):
        got, right = memory.copy(), memory.copy()
        for kernel, room in ((into_elements, got), (written, right)):
            a, b, c = room[: 30 * 30].reshape(30, 30), room[900 : 900 + 900].reshape(30, 30), room[900 + offset : 1800 + offset].reshape(30, 30)
            kernel(a, b, c)
        np.testing.assert_array_equal(got, right)


def test_what_is_loaded_into_a_variable_stays() -> None:
    @lw.kernel
    def left_over(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                m = lw.f32(0)
                for d in range(a.shape[1]):
                    u = a[1, 1] - m  # noqa: F841
                    m = b[j, d]
                c[i, j] = 0.0

    a, b, c = (np.ones((20, 20), np.float32) for _ in range(3))
    left_over(a, b, c)
    assert not c.any()


def test_totals_that_nothing_stores_stay() -> None:
    @lw.kernel
    def added_for_nothing(b: lw.Array[lw.f64, 2], c: lw.Array[lw.f64, 2]):
        n = b.shape[0]
        for i in range(n):
            for j in range(n):
                s = 0.0
                c[i, j] = n
                for k in range(n):
                    s += b[j, k]

    b, c = np.ones((20, 20)), np.zeros((20, 20))
    added_for_nothing(b, c)
    assert (c == 20).all()
