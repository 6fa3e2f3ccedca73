"""Loops that look up with what loops in them have found, cut in front of that: all of a block are found first, in lanes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def centres(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    for i in range(a.shape[0]):
        best = a[0, 0] - a[0, 0] + 1000
        at = 0
        for k in range(b.shape[0]):
            u = a[i, 0] - b[k, 0]
            v = a[i, 1] - b[k, 1]
            r = u * u + v * v
            if r < best:
                best = r
                at = k
        n[at] += 1
        for q in range(2):
            c[at, q] += a[i, q]


@lw.kernel(contract=False)
def intervals(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """What is counted, and where it is, are handed on."""
    for i in range(a.shape[0]):
        k = 0
        for j in range(b.shape[0]):
            if a[i, 0] > b[j, 0]:
                k = k + 1
        n[k] += 1
        c[k, 1] = a[i, 1]


@lw.kernel(contract=False)
def steps_in_a_row(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """No loop inside, but much to do before an element is looked up."""
    for i in range(a.shape[0]):
        x = a[i, 0] * 3 + a[i, 1]
        y = x
        for _ in range(12):
            y = max(min(y * 2 - x, 90), x - y)
        w = y
        k = lw.i64(w) & 7
        n[k] += 1
        c[k, 0] += w


@lw.kernel(contract=False)
def twice(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """The whole is in a loop of its own."""
    for t in range(2):
        for i in range(a.shape[0]):
            k = 0
            for j in range(b.shape[0]):
                if a[i, 0] + t > b[j, 0]:
                    k = k + 1
            n[k] += 1 + t


@lw.kernel(contract=False)
def states(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """The state that follows hangs on the one before, and on much that does not."""
    state = 0
    for i in range(a.shape[0]):
        x = a[i, 0] * 3 + a[i, 1]
        y = x
        for _ in range(16):
            y = max(min(y * 2 - x, 90), x - y)
        if y > 3:
            state = (state + 1) & 7
        elif y < x:
            state = (state + 3) & 7
        c[state, 1] += y


CUT = [centres, intervals, steps_in_a_row, twice, states]


@lw.kernel(contract=False)
def looks_at_what_it_changes(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """Which is nearest depends on what has been added before."""
    for i in range(a.shape[0]):
        best = a[0, 0] - a[0, 0] + 1000
        at = 0
        for k in range(b.shape[0]):
            r = a[i, 0] - c[k, 0]
            if r * r < best:
                best = r * r
                at = k
        c[at, 0] += b[at, 0]


@lw.kernel(contract=False)
def goes_on_with_it(a: lw.Array, b: lw.Array, c: lw.Array, n: lw.Array):
    """Where one row ends, the next begins."""
    k = 0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            if a[i, 0] > b[j, 0]:
                k = k + 1
        k = k & 7
        n[k] += 1


OTHERS = [looks_at_what_it_changes, goes_on_with_it]


def _given(element: type, count: int, known: int = 9) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    points = [rng.integers(-9, 9, (size, 2)).astype(element) for size in (count, known)]
    return [*points, np.zeros((known + 1, 2), element), np.zeros(known + 1, np.int64)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.float64, np.int32):
        compiled = runner.compiled(kernel, *_given(element, 3))
        for count in (0, 1, 7, 63, 64, 65, 200):
            given = _given(element, count)
            wanted = [each.copy() for each in given]
            written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_cut(kernel: lw.Kernel) -> None:
    for element in (np.float32, np.float64):
        done = [step for nest in kernel.compile(*_given(element, 9), target="x86-64-v4").nests() for step in nest.done]
        assert any("cut in front of what stays in order, 64 rows at a time" in step for step in done) == (kernel in CUT), done
        assert kernel not in CUT or any(step.startswith("lanes(i") for step in done), done


def test_arrays_that_overlap_run_as_written() -> None:
    got, right = (np.random.default_rng(1).integers(-9, 9, (40, 2)).astype(np.float64) for _ in range(2))
    right[...] = got
    for room, kernel in ((got, centres), (right, lw.kernel(centres.function, contract=False, nests="off"))):
        kernel(room, room[3:12], room[20:30], np.zeros(10, np.int64))
    np.testing.assert_array_equal(got, right)


@lw.kernel
def least_of_windows(a: lw.Array[lw.f64], n: lw.Array[lw.i64]):
    """Where it was last, and how often it has moved, is handed on."""
    last = -1
    count = 0
    for i in range(a.shape[0] - 9):
        best = a[i]
        at = i
        for k in range(1, 10):
            if a[i + k] <= best:
                best = a[i + k]
                at = i + k
        if at != last:
            n[count & 7] += at
            count += 1
            last = at
    n[8] = count


def test_what_moves_is_noted_in_order() -> None:
    written = lw.kernel(least_of_windows.function, nests="off")
    for count in (0, 9, 10, 72, 73, 74, 75, 300):
        a = np.random.default_rng(count).integers(0, 9, count).astype(np.float64)
        got, right = np.zeros(9, np.int64), np.zeros(9, np.int64)
        least_of_windows(a, got)
        written(a, right)
        np.testing.assert_array_equal(got, right)
    (nest,) = least_of_windows.compile(target="x86-64-v4").nests()
    assert nest.done[:2] == ["i cut in front of what stays in order, 64 rows at a time", "lanes(i)"]
