"""Branches that store over what has just been stored, load what they have stored, and add to totals: as written, and rows of tables walked together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def cleared_first(a: lw.Array, b: lw.Array, c: lw.Array):
    best = b[0, 0] * 0
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            b[i, j] = 0
            if i > 0 and j > 0 and a[i, j] > 1:
                b[i, j] = min(min(b[i - 1, j], b[i, j - 1]), b[i - 1, j - 1]) + 1
                best = max(best, b[i, j])
    c[0] = best


@lw.kernel(contract=False)
def either_way(a: lw.Array, b: lw.Array, c: lw.Array):
    best = b[0, 0] * 0
    least = b[0, 0] * 0
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            if a[i, j] > 1:
                b[i, j] = min(b[i - 1, j], b[i, j - 1]) + 1
                best = max(best, b[i, j])
            else:
                b[i, j] = a[i, j]
                least = min(least, b[i, j] - 3)
    c[0] = best
    c[1] = least


@lw.kernel(contract=False)
def counted(a: lw.Array, b: lw.Array, c: lw.Array):
    n = lw.i64(0)
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = b[i, j - 1]
            if a[i, j] == 1:
                n += 1
                b[i, j] = b[i - 1, j] + 1
    c[0] = n


@lw.kernel(contract=False)
def read_between(a: lw.Array, b: lw.Array, c: lw.Array):
    """What has been stored is read before it is stored over."""
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = b[i, j - 1] + 1
            x = b[i, j]
            if a[i, j] > 1:
                b[i, j] = x + b[i - 1, j]


@lw.kernel(contract=False)
def another_between(a: lw.Array, b: lw.Array, c: lw.Array):
    """An element that may be the same is stored to in between."""
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = b[i, j - 1] + 1
            b[i, a.shape[1] - j] = 5
            if a[i, j] > 1:
                b[i, j] = b[i - 1, j]


@lw.kernel(contract=False)
def a_variable_that_changes(a: lw.Array, b: lw.Array, c: lw.Array):
    x = b[0, 0]
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            x = b[i - 1, j]
            b[i, j] = x
            x = x + b[i, j - 1]
            if a[i, j] > 1:
                b[i, j] = x


@lw.kernel(contract=False)
def nested(a: lw.Array, b: lw.Array, c: lw.Array):
    best = b[0, 0] * 0
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = 1
            if a[i, j] > 0:
                b[i, j] = b[i - 1, j]
                if a[i, j] > 1:
                    b[i, j] = b[i, j - 1] + 1
                    best = max(best, b[i, j])
                    c[1] = best
    c[0] = best


@lw.kernel(contract=False)
def stored_three_times(a: lw.Array, b: lw.Array, c: lw.Array):
    """What the second branch leaves is what the first has stored."""
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = b[i, j - 1] + 1
            if a[i, j] > 0:
                b[i, j] = 7
            else:
                b[i, j] = b[i - 1, j]
            if a[i, j] > 1:
                b[i, j] = 5


@lw.kernel(contract=False)
def stored_before_two_branches(a: lw.Array, b: lw.Array, c: lw.Array):
    """What the outer one leaves is what was stored last."""
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            b[i, j] = 3
            b[i, j] = b[i, j - 1] + 1
            if a[i, j] > 0:  # noqa: SIM102 (that is what is tried)
                if a[i - 1, j] > 0:
                    b[i, j] = b[i - 1, j]


KERNELS = [stored_three_times, stored_before_two_branches, cleared_first, either_way, counted, read_between, another_between, a_variable_that_changes, nested]


def _given(element: type, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.integers(0, 3, shape).astype(element) for shape in ((size, size + 2), (size, size + 2), 2)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float64, np.float32, np.int32, np.int64, np.int16, np.uint8):
        for size in (1, 2, 5, 9, 33, 40):
            given = _given(element, size)
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", [cleared_first, either_way, counted], ids=lambda kernel: kernel.function.__name__)
def test_rows_are_walked_together(kernel: lw.Kernel) -> None:
    for element in (np.int16, np.int32):
        nests = kernel.compile(*_given(element, 9), target="x86-64-v4").nests()
        assert any(step.startswith("skew(") for nest in nests for step in nest.done), [nest.done for nest in nests]
