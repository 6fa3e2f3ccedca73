"""Innermost loops that count in steps, counted one by one for lanes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True, contract=False)
def products(a: lw.Array, b: lw.Array):
    for i in lw.range(0, b.shape[0] - 1, 2):
        b[i] = a[i] * a[i] - a[i + 1] * a[i + 1]
        b[i + 1] = a[i] * a[i + 1] + a[i + 1] * a[i]


@lw.kernel(fastmath=True, contract=False)
def third(a: lw.Array, b: lw.Array):
    for i in lw.range(4, a.shape[0] - 2, 3):
        b[i // 3] = a[i] + a[i + 1] + a[i + 2]


@lw.kernel(fastmath=True, contract=False)
def halved(a: lw.Array, b: lw.Array):
    for i in lw.range(2, a.shape[0] - 1, 2):
        b[i >> 1] = a[i] + a[i + 1]


@lw.kernel(fastmath=True, contract=False)
def weighted(a: lw.Array, b: lw.Array):
    total = a[0]
    for i in lw.range(1, b.shape[0] - 1, 2):
        total += a[i - 1] + a[i] + a[i] + a[i + 1]
    b[0] = total


@lw.kernel(fastmath=True, contract=False)
def from_anywhere(a: lw.Array, b: lw.Array):
    for k in lw.range(b.shape[0] % 7):
        for i in lw.range(k, b.shape[0] - 1, 2):
            b[i] = a[i] + a[k]
            b[i + 1] = a[i + 1] - a[k]


@lw.kernel(fastmath=True, contract=False)
def waiting(a: lw.Array, b: lw.Array):
    """Each iteration reads what the one before has stored."""
    for i in lw.range(2, b.shape[0] - 1, 2):
        b[i] = b[i - 2] + a[i]
        b[i + 1] = b[i - 1] + a[i]


KERNELS = [products, third, halved, weighted, from_anywhere, waiting]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.int32, np.uint8):
        for size in (1, 2, 3, 40, 211, 268):
            rng = np.random.default_rng(size)
            a, b = rng.integers(0, 5, size + 2).astype(element), rng.integers(0, 5, size + 2).astype(element)
            wanted = [a.copy(), b.copy()]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = [a, b], wanted: list[np.ndarray] = wanted) -> None:  # noqa: B006 (of this turn)
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, a, b), [a, b], same)


def done(kernel: lw.Kernel, element: object = lw.f32) -> list[str]:
    array = lw.Array[element, 1]
    return [step for nest in kernel.compile(array, array, target="x86-64-v4").nests() for step in nest.done]


@pytest.mark.parametrize("kernel", [products, third, halved, weighted], ids=lambda kernel: kernel.function.__name__)
def test_they_have_lanes(kernel: lw.Kernel) -> None:
    steps = done(kernel)
    assert "lanes(i)" in steps and "steps counted one by one" in steps


def test_what_waits_for_itself_counts_as_written() -> None:
    assert "steps counted one by one" not in done(waiting)


def test_bounds_that_are_the_wrong_way_round() -> None:
    @lw.kernel
    def between(a: lw.Array[lw.f32], lo: lw.i64, hi: lw.i64):
        for i in lw.range(lo, hi, 2):
            a[i] = a[i] + 1
            a[i + 1] = a[i + 1] + 2

    least, most = -(2**63), 2**63 - 1
    for lo, hi in [(5, 5), (6, 5), (most, least), (0, least), (most, 0), (0, 0), (2, 8), (2, 7)]:
        a = np.zeros(12, np.float32)
        between(a, lo, hi)
        wanted = np.zeros(12, np.float32)
        for i in range(lo, hi, 2):
            wanted[i] += 1
            wanted[i + 1] += 2
        np.testing.assert_array_equal(a, wanted)


def test_bytes_are_computed_in_sixteen_bits() -> None:
    @lw.kernel
    def gray(a: lw.Array[lw.u8], b: lw.Array[lw.u8]):
        for i in lw.range(0, b.shape[0] * 3, 3):
            b[i // 3] = lw.u8((lw.i32(a[i]) * 77 + lw.i32(a[i + 1]) * 150 + lw.i32(a[i + 2]) * 29) >> 8)

    text = gray.compile(target="x86-64-v4").ir("vectorize")
    assert "u16x32" in text and "i32x" not in text
    a = np.random.default_rng(0).integers(0, 256, 3 * 101).astype(np.uint8)
    b = np.zeros(101, np.uint8)
    gray(a, b)
    c = a.astype(int).reshape(-1, 3)
    np.testing.assert_array_equal(b, (c[:, 0] * 77 + c[:, 1] * 150 + c[:, 2] * 29) >> 8)
