"""Tables in which the best element is sought as they are filled: it is sought behind them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def aligned(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    zero = c[0, 0] * 0
    best = zero
    row = lw.i64(0)
    column = lw.i64(0)
    for i in lw.range(1, c.shape[0]):
        for j in lw.range(1, c.shape[1]):
            h = c[i - 1, j - 1]
            h = h + 2 if a[i] == b[j] else h - 1
            h = max(h, max(c[i - 1, j] - 1, c[i, j - 1] - 1))
            h = max(h, zero)
            c[i, j] = h
            if h > best:
                best = h
                row = i
                column = j
    d[0] = lw.i64(best)
    d[1] = row
    d[2] = column


@lw.kernel(contract=False)
def last_of_the_least(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    """Equal elements count anew, and the place is a number made of both indices."""
    least = c[0, 0]
    place = lw.i64(-1)
    for i in lw.range(1, c.shape[0]):
        for j in lw.range(c.shape[1] - 1):
            x = c[i - 1, j] - c[i, j] + a[i] * b[j]
            c[i, j] = x
            if x <= least:
                least = x
                place = i * 100 + j
    d[0] = lw.i64(least)
    d[1] = place


@lw.kernel(contract=False)
def best_in_use(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    best = c[0, 0]
    row = lw.i64(0)
    for i in lw.range(1, c.shape[0]):
        for j in lw.range(1, c.shape[1]):
            x = c[i - 1, j] + a[i] - best
            c[i, j] = x
            if x > best:
                best = x
                row = i
    d[0] = row


@lw.kernel(contract=False)
def more_is_noted(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    best = c[0, 0]
    other = a[0]
    for i in lw.range(1, c.shape[0]):
        for j in lw.range(1, c.shape[1]):
            y = c[i, j - 1] + a[i]
            c[i, j] = y - c[i - 1, j]
            if y > best:
                best = y
                other = a[i]
    d[0] = lw.i64(other)


@lw.kernel(contract=False)
def one_row(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    """Elements are stored over."""
    best = c[0, 0]
    row = lw.i64(0)
    for i in lw.range(1, c.shape[0]):
        for j in lw.range(1, c.shape[1]):
            x = c[0, j - 1] + c[0, j] - a[i]
            c[0, j] = x
            if x > best:
                best = x
                row = i
    d[0] = row


BEHIND = [aligned, last_of_the_least]
OTHERS = [best_in_use, more_is_noted, one_row]


def _given(element: type, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [*[rng.integers(0, 3, shape).astype(element) for shape in (size, size + 3, (size, size + 3))], np.zeros(3, np.int64)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", BEHIND + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float64, np.float32, np.int32, np.int64, np.int16):
        for size in (1, 2, 5, 9, 33, 50):
            given = _given(element, size)
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", BEHIND + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_sought_behind(kernel: lw.Kernel) -> None:
    for element in (np.float32, np.int32):
        nests = kernel.compile(*_given(element, 9), target="x86-64-v4").nests()
        assert any("the best of c sought behind it" in nest.done for nest in nests) == (kernel in BEHIND), [nest.done for nest in nests]


def test_rows_are_walked_together_then() -> None:
    nests = aligned.compile(*_given(np.int32, 9), target="x86-64-v4").nests()
    assert any(step.startswith("skew(") for nest in nests for step in nest.done)
