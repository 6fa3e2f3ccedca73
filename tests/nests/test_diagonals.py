"""Tables filled diagonal by diagonal, which are filled row by row instead."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

DONE = "diagonals walked row by row"


@lw.kernel(contract=False)
def by_gap(a: lw.Array, b: lw.Array):
    for g in lw.range(1, b.shape[0]):
        for i in lw.range(b.shape[0] - g):
            j = i + g
            if a[i] == a[j]:
                b[i, j] = b[i + 1, j - 1]
            else:
                b[i, j] = min(b[i + 1, j], b[i, j - 1]) + 1


@lw.kernel(contract=False)
def by_length(a: lw.Array, b: lw.Array):
    n = b.shape[0]
    for length in lw.range(2, n + 1):
        for i in lw.range(0, n - length + 1):
            j = i + length - 1
            if a[i] == a[j]:
                if length == 2:
                    b[i, j] = 2
                else:
                    b[i, j] = b[i + 1, j - 1] + 2
            elif b[i + 1, j] > b[i, j - 1]:
                b[i, j] = b[i + 1, j]
            else:
                b[i, j] = b[i, j - 1]


@lw.kernel(contract=False)
def by_end(a: lw.Array, b: lw.Array):
    """The inner loop counts ends, backwards."""
    n = b.shape[0]
    for g in lw.range(1, n):
        for j in lw.range(n - 1, g - 1, -1):
            b[j - g, j] = b[j - g + 1, j] - b[j - g, j - 1] + a[j]


@lw.kernel(contract=False)
def antidiagonals(a: lw.Array, b: lw.Array):
    n = b.shape[0]
    for d in lw.range(2, 2 * n - 1):
        lo = lw.i64(1)
        if d - n + 1 > 1:
            lo = d - n + 1
        hi = d - 1
        if hi > n - 1:  # noqa: PLR1730 (that is what is tried)
            hi = n - 1
        for i in lw.range(lo, hi + 1):
            b[i, d - i] = b[i, d - i] + b[i - 1, d - i] - b[i, d - i - 1]


@lw.kernel(contract=False)
def antidiagonals_between(a: lw.Array, b: lw.Array):
    """The bounds are minima and maxima as they are written."""
    n = b.shape[0]
    for d in lw.range(2, 2 * n - 1):
        for i in lw.range(max(1, d - n + 1), min(d, n)):
            b[i, d - i] = b[i - 1, d - i - 1] + a[i]


@lw.kernel(contract=False)
def columns(a: lw.Array, b: lw.Array):
    n = b.shape[0]
    for j in lw.range(1, n):
        for i in lw.range(n - j):
            b[i, j] = b[i + 1, j - 1] - b[i, j - 1] * a[i + j]


@lw.kernel(contract=False)
def downwards(a: lw.Array, b: lw.Array):
    """The outer loop counts down, and rows are longest where it ends."""
    n = b.shape[0]
    for g in lw.range(n - 1, 0, -1):
        for i in lw.range(n - g):
            b[i, i + g] = b[i, i + g] + a[g] * b[i, i]


@lw.kernel(contract=False)
def several(a: lw.Array, b: lw.Array):
    n = b.shape[0]
    for r in lw.range(3):
        for g in lw.range(1, n):
            for i in lw.range(n - g):
                b[i, i + g] = b[i + 1, i + g] + b[i, i + g - 1] * (a[g] + r)


@lw.kernel(contract=False)
def mirrored(a: lw.Array, b: lw.Array):
    """Rows need what is above them, and what is below."""
    n = b.shape[0]
    for g in lw.range(2, n - 1):
        for i in lw.range(1, n - 1 - g):
            b[i, i + g] = b[i + 1, i + g] + b[i - 1, i + g - 2]


@lw.kernel(contract=False)
def steep(a: lw.Array, b: lw.Array):
    """Each diagonal begins two rows further down."""
    n = b.shape[0]
    for g in lw.range(1, n // 2):
        for i in lw.range(2 * g, n - g):
            b[i, i + g] = b[i, i + g - 1] + 1


@lw.kernel(contract=False)
def counted(a: lw.Array, b: lw.Array):
    """A number goes from one iteration to the next."""
    n = b.shape[0]
    x = b[0, 0]
    for g in lw.range(1, n):
        for i in lw.range(n - g):
            x = x * 3 + a[i]
            b[i, i + g] = x


@lw.kernel(contract=False)
def more_in_the_loop(a: lw.Array, b: lw.Array):
    n = b.shape[0]
    for g in lw.range(1, n):
        a[g] = b[0, g - 1]
        for i in lw.range(n - g):
            b[i, i + g] = b[i + 1, i + g] + a[g]


TURNED = [by_gap, by_length, by_end, antidiagonals, antidiagonals_between, columns, downwards, several]
OTHERS = [mirrored, steep, counted, more_in_the_loop]


def _given(element: type, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.integers(0, 3, shape).astype(element) for shape in (size, (size, size))]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float64, np.float32, np.int32, np.int64, np.uint8):
        for size in (1, 2, 3, 4, 9, 20, 33, 50):
            given = _given(element, size)
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", TURNED + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_turned(kernel: lw.Kernel) -> None:
    for element in (np.float64, np.int32):
        nests = kernel.compile(*_given(element, 9), target="x86-64-v4").nests()
        assert any(DONE in nest.done for nest in nests) == (kernel in TURNED), kernel.function.__name__


def test_rows_are_walked_together_then() -> None:
    (nest,) = antidiagonals.compile(*_given(np.float32, 9), target="x86-64-v4").nests()
    assert any(step.startswith("skew(i=") for step in nest.done), nest.done
    nests = by_length.compile(*_given(np.int32, 9), target="x86-64-v4").nests()
    assert any("rows of i in bands of 16" in nest.done for nest in nests)


def test_rows_that_may_be_the_numbers_beside_them() -> None:
    """Where the row of numbers lies in the table, it is filled as written."""
    both = np.random.default_rng(1).integers(0, 3, (40, 40)).astype(np.int32)
    wanted = both.copy()
    lw.kernel(by_end.function, nests="off")(wanted[3], wanted)
    by_end(both[3], both)
    np.testing.assert_array_equal(both, wanted)
