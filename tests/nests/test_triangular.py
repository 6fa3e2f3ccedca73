"""Triangular loops that change places with what stands between them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def backwards(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0] - 1, -1, -1):
        b[j] = b[j] * a[j, j]
        for i in lw.range(j):
            b[i] -= a[i, j] * b[j]


@lw.kernel(contract=False)
def forwards(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        t = b[j] * a[j, j]
        b[j] = t
        for i in lw.range(j + 1, b.shape[0]):
            b[i] -= a[i, j] * t


@lw.kernel(contract=False)
def both_down(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0] - 1, -1, -1):
        c[j] = b[j] * a[j, j] + 1
        for i in lw.range(j - 1, -1, -1):
            b[i] -= a[i, j] * c[j]


@lw.kernel(contract=False)
def downwards_inside(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(1, b.shape[0] - 1):
        t = b[j]
        for i in lw.range(b.shape[0] - 2, j, -1):
            b[i] -= a[i, j] * t


@lw.kernel(contract=False)
def of_the_row_before(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(1, b.shape[0]):
        t = b[j] + b[j - 1]
        b[j] = t
        for i in lw.range(j + 1, b.shape[0]):
            b[i] -= a[i, j] * t


@lw.kernel(contract=False)
def several(a: lw.Array, b: lw.Array, c: lw.Array):
    for r in lw.range(3):
        for j in lw.range(a.shape[0]):
            a[r, j] = a[r, j] + c[j]
            for i in lw.range(j + 1, a.shape[0]):
                b[i] -= a[i, j] * c[j]


@lw.kernel(contract=False)
def only_where_positive(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        c[j] = b[j] * a[j, j]
        for i in lw.range(j + 1, b.shape[0]):
            if a[i, j] > 1:
                b[i] -= a[i, j] * c[j]


@lw.kernel(contract=False)
def waits_for_the_next(a: lw.Array, b: lw.Array, c: lw.Array):
    """An iteration reads an element that a later row is not through with in the other order."""
    for j in lw.range(b.shape[0] - 1):
        b[j] = b[j + 1] + 1
        for i in lw.range(j + 1, b.shape[0] - 1):
            b[i] -= a[i, j] * b[j]


@lw.kernel(contract=False)
def one_after_the_other(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        b[j] = b[j] * a[j, j]
        for i in lw.range(j + 1, b.shape[0]):
            b[i] -= a[i, j] * b[i - 1]


@lw.kernel(contract=False)
def one_after_the_other_downwards(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0] - 1):
        c[j] = a[j, j]
        for i in lw.range(b.shape[0] - 2, j, -1):
            b[i] -= a[i, j] * b[i + 1]


@lw.kernel(contract=False)
def reads_what_is_to_come(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0] - 1):
        c[j] = b[j] + 1
        for i in lw.range(j + 1, b.shape[0] - 1):
            b[i] -= a[i, j] * c[j + 1]


@lw.kernel(contract=False)
def in_one_place(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        c[0] = b[j] + 1
        for i in lw.range(j + 1, b.shape[0]):
            b[i] -= a[i, j] * c[0]


@lw.kernel(contract=False)
def mirrored(a: lw.Array, b: lw.Array, c: lw.Array):
    """What is stored in front of the inner loop is another row's."""
    for j in lw.range(b.shape[0]):
        t = b[j] + 1
        b[b.shape[0] - 1 - j] = t
        for i in lw.range(j + 1, b.shape[0]):
            c[i] -= a[i, j] * t


@lw.kernel(contract=False)
def matrix_changes(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        a[j, 0] = b[j]
        for i in lw.range(j + 1, b.shape[0]):
            b[i] -= a[i, j] * b[j]


@lw.kernel(contract=False)
def a_part_only(a: lw.Array, b: lw.Array, c: lw.Array):
    for j in lw.range(b.shape[0]):
        b[j] = b[j] * a[j, j]
        for i in lw.range(j + 2, b.shape[0]):
            b[i] -= a[i, j] * b[j]


TURNED = [backwards, forwards, both_down, downwards_inside, of_the_row_before, several, only_where_positive, matrix_changes]
OTHERS = [waits_for_the_next, one_after_the_other, one_after_the_other_downwards, reads_what_is_to_come, in_one_place, mirrored, a_part_only]
DONE = "each element finished by those before it"


def _given(element: type, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.integers(-2, 3, shape).astype(element) for shape in ((size, size), size, size)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float64, np.float32, np.int32, np.int64):
        for size in (3, 4, 9, 33, 50):
            given = _given(element, size)
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)

            def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, *given), given, same)


@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_turned(kernel: lw.Kernel) -> None:
    for element in (np.float64, np.int32):
        (nest,) = kernel.compile(*_given(element, 9), target="x86-64-v4").nests()
        assert (DONE in nest.done) == (kernel in TURNED), kernel.function.__name__


def test_rows_have_lanes_where_their_order_is_free() -> None:
    fast = lw.kernel(forwards.function, fastmath=True)
    (nest,) = fast.compile(*_given(np.float64, 9), target="x86-64-v4").nests()
    assert "lanes(j)" in nest.done
    given = _given(np.float64, 70)
    given[0] *= 0.01
    wanted = [each.copy() for each in given]
    fast.function(*wanted)
    fast(*given)
    for got, right in zip(given, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


def test_overlapping_arrays_run_as_written() -> None:
    memory = np.random.default_rng(0).random(40 * 40 + 40)
    for offset in (0, 7, 40 * 39):
        got, right = memory.copy(), memory.copy()
        for kernel, room in ((forwards, got), (lw.kernel(forwards.function, contract=False, nests="off"), right)):
            kernel(room[: 40 * 40].reshape(40, 40), room[offset : offset + 40], np.zeros(40))
        np.testing.assert_array_equal(got, right)
