"""Variables that change between two uses which become one: steps of a product, elements that are stored together; constants that rows store over each other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def sums_of_sums(x: lw.Array, y: lw.Array):
    s = y[0] * 0
    t = s + 1
    for i in lw.range(x.shape[0]):
        s = s * 2 + t
        t += x[i]
    y[0] = s


@lw.kernel(contract=False)
def hash_of_the_one_before(x: lw.Array, y: lw.Array):
    h = y[0] * 0 + 1
    last = y[0] * 0
    for i in lw.range(x.shape[0]):
        h = h * 3 + last
        last = x[i]
    y[0] = h


@lw.kernel(contract=False)
def two_sums_in_turn(x: lw.Array, y: lw.Array):
    s = y[0] * 0
    for i in lw.range(x.shape[0] // 2):
        s += x[2 * i]
        y[2 * i] = s
        s += x[2 * i + 1]
        y[2 * i + 1] = s


@lw.kernel(contract=False)
def one_after_the_other(x: lw.Array, y: lw.Array):
    c = y[0] * 0
    for i in lw.range(x.shape[0] // 2):
        y[2 * i] = c
        c = x[i]
        y[2 * i + 1] = c


@lw.kernel(contract=False)
def summed_before(x: lw.Array, y: lw.Array):
    """Both elements are the last sum."""
    s = y[0] * 0
    for i in lw.range(x.shape[0] // 2):
        s += x[2 * i]
        s += x[2 * i + 1]
        y[2 * i] = s
        y[2 * i + 1] = s


@lw.kernel(contract=False)
def by_days(x: lw.Array, y: lw.Array):
    balance = y[0] * 0
    for day in lw.range(x.shape[0]):
        if day % 7 < 3:
            balance += x[day]
        else:
            balance -= 1
        y[day] = balance


@lw.kernel(contract=False)
def every_other(x: lw.Array, y: lw.Array):
    a = y[0] * 0
    for i in lw.range(x.shape[0]):
        if i % 2 == 0:
            a += x[i]
        y[i] = a


@lw.kernel(contract=False)
def cleared_ahead(x: lw.Array, y: lw.Array):
    n = x.shape[0]
    for _ in lw.range(n):
        for j in lw.range(2, n - 1):
            y[j] += x[j]
            x[j + 1] = 0


KERNELS = [sums_of_sums, hash_of_the_one_before, two_sums_in_turn, one_after_the_other, summed_before, by_days, every_other, cleared_ahead]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.int64, np.int32, np.uint32, np.float64, np.float32, np.uint8):
        for size in (1, 2, 4, 7, 9, 22, 50):
            rng = np.random.default_rng(size)
            given = [rng.integers(0, 4, size).astype(element) for _ in range(2)]
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)
