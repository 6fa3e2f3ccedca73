"""Variables with two values as truth values, told what they have behind branches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def words(a: lw.Array, n: lw.Array, c: lw.Array):
    count = 0
    inside = 0
    for i in range(a.shape[0]):
        if a[i] == 0:
            inside = 0
        elif inside == 0:
            inside = 1
            count = count + 1
    n[0] = count


@lw.kernel
def marked_words(a: lw.Array, n: lw.Array, c: lw.Array):
    """The numbers are 2 and 5, and one that is read as it is."""
    inside = 5
    for i in range(a.shape[0]):
        if a[i] > 1:
            if inside >= 4:
                inside = 2
                c[i] = 1
            else:
                c[i] = 2
        elif inside != 5:
            c[i] = 3
            inside = 5
        else:
            c[i] = 4
    n[0] = inside


@lw.kernel
def rises_and_falls(a: lw.Array, n: lw.Array, c: lw.Array):
    up = False
    rises = falls = 0
    for i in range(1, a.shape[0]):
        if a[i] > a[i - 1]:
            if not up:
                rises = rises + 1
                up = True
        else:
            if up:
                falls = falls + 1
                up = False
    n[0] = rises
    n[1] = falls


LANES = [words, marked_words]


@lw.kernel
def crossings(a: lw.Array, n: lw.Array, c: lw.Array):
    """Between the bounds it stays what it was."""
    high = 0
    count = 0
    for i in range(a.shape[0]):
        if high == 1:
            if a[i] < 1:
                high = 0
        elif a[i] > 2:
            high = 1
            count = count + 1
    n[0] = count


@lw.kernel
def three_states(a: lw.Array, n: lw.Array, c: lw.Array):
    state = 0
    for i in range(a.shape[0]):
        if state == 0:
            state = 1
        elif state == 1:
            if a[i] == 2:
                state = 2
        else:
            c[i] = state
            state = 0
    n[0] = state


@lw.kernel
def numbers_of_it(a: lw.Array, n: lw.Array, c: lw.Array):
    """What the variable is, is stored and added up."""
    last = -1
    total = 0
    for i in range(a.shape[0]):
        total = total + last
        c[i] = last
        if a[i] > 1 and last < 0:
            last = 3
        elif a[i] == 0:
            last = -1
    n[0] = total


@lw.kernel
def never_the_other(a: lw.Array, n: lw.Array, c: lw.Array):
    """Of the arms some are never run, and comparisons hold always or never."""
    on = 0
    for i in range(a.shape[0]):
        if on < 7:
            if on == 4:
                c[i] = 9
                on = 1
            elif a[i] == 1:
                on = 1
            if on > 0:
                if on == 0:
                    c[i] = 8
                on = 0
            else:
                c[i] = 6
    n[0] = on


OTHERS = [rises_and_falls, crossings, three_states, numbers_of_it, never_the_other]


def _given(element: type, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    return [rng.integers(0, 4, count).astype(element), np.zeros(2, np.int64), np.zeros(count, np.int32)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", LANES + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    for element in (np.uint8, np.float32, np.int64):
        compiled = runner.compiled(kernel, *_given(element, 9))
        for count in (0, 1, 2, 17, 100):
            given = _given(element, count)
            wanted = [each.copy() for each in given]
            kernel.function(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", [*LANES, rises_and_falls], ids=lambda kernel: kernel.function.__name__)
def test_what_depends_on_one_element_alone_has_lanes(kernel: lw.Kernel) -> None:
    done = [step for nest in kernel.compile(*_given(np.uint8, 9), target="x86-64-v4").nests() for step in nest.done]
    assert done[0] == "lanes(i)", done


def test_what_a_bound_leaves_alone_stays_as_it_was() -> None:
    text = crossings.compile(*_given(np.uint8, 9), target="x86-64-v4").ir("nests")
    assert "var %high: bool" in text
    # One where it rises and one where it falls, in each copy of the body, and the first.
    assert text.count("%high = copy.bool false") == text.count("%high = copy.bool true") + 1 == text.count("%high = copy.bool") // 2 + 1
