"""Loops inside of a single vector's step, whose totals are added up in parts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True, contract=False)
def lags(a: lw.Array, b: lw.Array):
    for k in lw.range(b.shape[0]):
        total = a[0] - a[0]
        for i in lw.range(a.shape[0] - b.shape[0]):
            total += a[i] * a[i + k]
        b[k] = total


@lw.kernel(fastmath=True, contract=False)
def two_totals(a: lw.Array, b: lw.Array):
    for k in lw.range(b.shape[0]):
        total = a[k]
        less = a[k]
        for i in lw.range(1, a.shape[0] - b.shape[0]):
            total += a[i + k]
            less -= a[i] * a[i + k]
        b[k] = total + less


@lw.kernel(fastmath=True, contract=False)
def smoothed(a: lw.Array, b: lw.Array):
    """Nothing that may be added up in another order."""
    for k in lw.range(b.shape[0]):
        x = a[k]
        for i in lw.range(a.shape[0] - b.shape[0]):
            x = a[i + k] - x
        b[k] = x


KERNELS = [lags, two_totals, smoothed]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.float64, np.int32):
        for count, more in ((1, 1), (8, 3), (17, 4), (37, 50), (70, 31)):
            rng = np.random.default_rng(count)
            a, b = rng.integers(0, 9, count + more).astype(element), np.zeros(count, element)
            wanted = [a.copy(), b.copy()]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = [a, b], wanted: list[np.ndarray] = wanted) -> None:  # noqa: B006 (of this turn)
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, a, b), [a, b], same)


def steps(kernel: lw.Kernel, element: object) -> set[int]:
    """By how much the loops of its code count."""
    array = lw.Array[element, 1]
    text = kernel.compile(array, array, target="x86-64-v4").ir("unroll")
    return {int(line.split(";")[0].split(",")[-1]) for line in text.split("\n") if " = for " in line}


def test_what_is_left_over_adds_up_in_parts() -> None:
    assert 4 in steps(lags, lw.f32) and 2 in steps(two_totals, lw.f32)


def test_what_does_not_wait_or_may_not_stays() -> None:
    assert not {2, 4} & steps(smoothed, lw.f32)
    # (Sums of integers do not wait for long.)
    assert not {2, 4} & steps(lags, lw.i64)
    assert not {2, 4} & steps(lw.kernel(lags.function), lw.f32)
