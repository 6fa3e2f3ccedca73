"""Sums over two indices at once, whose longer loop runs inside."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True)
def scattered(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(a.shape[0]):
        x = a[i]
        for k in lw.range(b.shape[0]):
            c[i + k] += x * b[k]


@lw.kernel(fastmath=True)
def taken_away(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(1, a.shape[0]):
        for k in lw.range(1, b.shape[0]):
            c[i + k] -= a[i] * b[k]


@lw.kernel(fastmath=True)
def best_of_pairs(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(b.shape[0]):
            c[i + k] = max(c[i + k], a[i] + b[k])


@lw.kernel(fastmath=True)
def one_index(a: lw.Array, b: lw.Array, c: lw.Array):
    """What is added to stays in the outer loop."""
    for i in lw.range(a.shape[0]):
        for k in lw.range(b.shape[0]):
            c[k] += a[i] * b[k]


@lw.kernel(fastmath=True)
def read_besides(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(b.shape[0]):
            c[i + k] += c[i] * b[k]


@lw.kernel(fastmath=True)
def written_over(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(b.shape[0]):
            c[i + k] = a[i] * b[k]


INSIDE = [scattered, taken_away, best_of_pairs]
OTHERS = [one_index, read_besides, written_over]


def _given(element: type, n: int, k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.integers(-2, 3, length).astype(element) for length in (n, k, n + k)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", INSIDE + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, nests="off")
    for element in (np.float64, np.float32, np.int32, np.int64):
        for n, k in ((0, 3), (3, 0), (1, 1), (40, 3), (3, 40), (17, 17), (100, 37)):
            given = _given(element, n, k)
            wanted = [each.copy() for each in given]
            with np.errstate(all="ignore"):
                written(*wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", INSIDE + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_exchanged(kernel: lw.Kernel) -> None:
    for element in (np.float32, np.int32):
        done = [step for nest in kernel.compile(*_given(element, 9, 3), target="x86-64-v4").nests() for step in nest.done]
        assert ("i inside, where it is longer than k" in done) == (kernel in INSIDE), done


def test_floats_keep_their_order_without_fastmath() -> None:
    exact = lw.kernel(scattered.function)
    nests = exact.compile(*_given(np.float32, 9, 3), target="x86-64-v4").nests()
    assert not any("inside" in step for nest in nests for step in nest.done)
    assert any("inside" in step for nest in exact.compile(*_given(np.int32, 9, 3), target="x86-64-v4").nests() for step in nest.done)


def test_arrays_that_overlap() -> None:
    row = np.arange(60, dtype=np.int32)
    wanted = row.copy()
    lw.kernel(scattered.function, nests="off")(wanted[:20], wanted[20:25], wanted[5:40])
    scattered(row[:20], row[20:25], row[5:40])
    np.testing.assert_array_equal(row, wanted)
