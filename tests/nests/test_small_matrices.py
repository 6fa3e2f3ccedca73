"""Arrays of small matrices whose elements are named one by one: a matrix in each lane."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def products(a: lw.Array, b: lw.Array, c: lw.Array):
    for q in lw.range(c.shape[0]):
        c[q, 0, 0] = a[q, 0, 0] * b[q, 0, 0] + a[q, 0, 1] * b[q, 1, 0]
        c[q, 0, 1] = a[q, 0, 0] * b[q, 0, 1] + a[q, 0, 1] * b[q, 1, 1]
        c[q, 1, 0] = a[q, 1, 0] * b[q, 0, 0] + a[q, 1, 1] * b[q, 1, 0]
        c[q, 1, 1] = a[q, 1, 0] * b[q, 0, 1] + a[q, 1, 1] * b[q, 1, 1]


@lw.kernel(contract=False)
def differences(a: lw.Array, b: lw.Array, c: lw.Array):
    for r in lw.range(3):
        for q in lw.range(c.shape[0]):
            c[q, 0, 1] = a[q, 0, 1] - b[q, 1, 1] + r
            c[q, 0, 0] = a[q, 1, 0] - b[q, 0, 0]
            c[q, 1, 1] = a[q, 0, 0] * b[q, 1, 0]
            c[q, 1, 0] = a[q, 1, 1] * b[q, 0, 1]


@lw.kernel(contract=False)
def transposed_in_place(a: lw.Array, b: lw.Array, c: lw.Array):
    for q in lw.range(c.shape[0]):
        t = c[q, 0, 1]
        c[q, 0, 1] = c[q, 1, 0] + a[q, 0, 0]
        c[q, 1, 0] = t + a[q, 1, 1]
        c[q, 0, 0] = c[q, 0, 0] + a[q, 0, 1]
        c[q, 1, 1] = c[q, 1, 1] + a[q, 1, 0]


@lw.kernel(contract=False)
def from_the_one_before(a: lw.Array, b: lw.Array, c: lw.Array):
    """Each matrix waits for the one before."""
    for q in lw.range(1, c.shape[0]):
        c[q, 0, 0] = c[q - 1, 0, 0] + a[q, 0, 0]
        c[q, 0, 1] = c[q - 1, 0, 1] + a[q, 0, 1]
        c[q, 1, 0] = c[q - 1, 1, 0] + a[q, 1, 0]
        c[q, 1, 1] = c[q - 1, 1, 1] + a[q, 1, 1]


KERNELS = [products, differences, transposed_in_place, from_the_one_before]
DONE = "small matrices, or neighbours, as rows"


def _matrices(element: type, size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, (size, 2, 2)).astype(element)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.float64, np.int32, np.int16):
        for size in (1, 2, 7, 33, 50):
            given = [_matrices(element, size, seed) for seed in range(3)]
            wanted = [each.copy() for each in given]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, *given), given, same)


def _done(kernel: lw.Kernel, element: type) -> list[str]:
    given = [_matrices(element, 9, seed) for seed in range(3)]
    (nest,) = kernel.compile(*given, target="x86-64-v4").nests()
    return list(nest.done)


@pytest.mark.parametrize("kernel", [products, transposed_in_place], ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_they_have_lanes(kernel: lw.Kernel, element: type) -> None:
    done = _done(kernel, element)
    assert DONE in done and "lanes(q)" in done


def test_what_waits_for_the_one_before_stays() -> None:
    assert DONE not in _done(from_the_one_before, np.float32)


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a[:, :2, :2],
        lambda a: a[:, 1:3, 1:3],
        lambda a: a[:, ::2, :2],
        lambda a: a[::2, :2, :2],
        lambda a: a[::-1, 2:, :2],
        lambda a: np.ascontiguousarray(a[:, :2, :2])[1:],
        lambda a: np.ascontiguousarray(a[:, :, :2])[:, 1:3],
    ],
)
def test_matrices_within_others(part: object) -> None:
    given = [np.random.default_rng(seed).random((41, 4, 5)).astype(np.float32) for seed in range(3)]
    wanted = [each.copy() for each in given]
    lw.kernel(products.function, contract=False, nests="off")(*[part(each) for each in wanted])  # type: ignore[operator]
    products(*[part(each) for each in given])  # type: ignore[operator]
    for got, right in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(got, right)


def test_overlapping_arrays_run_as_written() -> None:
    for offset in (0, 1, 2, 4, 6):
        memory = np.random.default_rng(0).random(4 * 60).astype(np.float32)
        got, right = memory.copy(), memory.copy()
        for kernel, room in ((products, got), (lw.kernel(products.function, contract=False, nests="off"), right)):
            first, second = room[: 4 * 50].reshape(50, 2, 2), room[offset : offset + 4 * 50].reshape(50, 2, 2)
            kernel(first, first, second)
        np.testing.assert_array_equal(got, right)
