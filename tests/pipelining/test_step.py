"""The step ``pipeline`` of schedules: the same results for loops of any length, at the interval asked for, or an error that says what allows no less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import ScheduleError

V3 = "x86-64-v3"


@lw.kernel(contract=False)
def weighted(a: lw.Array[lw.f64], b: lw.Array[lw.f64]):
    for j in lw.range(2, len(a)):
        b[j] = lw.sqrt(a[j]) * b[j - 2]


@lw.kernel
def sums(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32]):
    for i in lw.range(a.shape[0]):
        t = lw.i32(0)
        for j in lw.range(a.shape[1]):
            t += a[i, j] * 3
        b[i] = t


@lw.kernel
def branches(a: lw.Array[lw.f64], b: lw.Array[lw.f64]):
    for j in lw.range(len(a)):
        if a[j] > 0.5:
            b[j] = a[j]


def same(kernel: Any, written: Any, arrays: list[np.ndarray]) -> None:
    got, want = [a.copy() for a in arrays], [a.copy() for a in arrays]
    kernel(*got)
    written.function(*want)
    assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))


@pytest.mark.parametrize("ii", [0, 12, 20])
def test_loops_of_any_length(ii: int) -> None:
    step = lw.steps.pipeline("j", ii=ii)
    kernel = weighted.schedule(step)
    assert kernel.compile(target=V3).nests()[0].done == [repr(step)]
    rng = np.random.default_rng(1)
    for n in (*range(2, 14), 60):
        same(kernel, weighted, [rng.random(n), rng.random(n)])


def test_with_other_steps() -> None:
    kernel = sums.schedule(lw.steps.unroll_and_jam(i=2), lw.steps.pipeline("j"))
    rng = np.random.default_rng(1)
    for n, m in ((1, 1), (2, 3), (5, 17)):
        same(kernel, sums, [rng.integers(0, 99, (n, m)).astype(np.int32), np.zeros(n, np.int32)])


@pytest.mark.parametrize(
    ("kernel", "steps", "message"),
    [
        (weighted, [lw.steps.pipeline("j", ii=3)], "units and circuits allow no less than 9 cycles"),
        (sums, [lw.steps.pipeline("i")], "i is not an innermost loop"),
        (sums, [lw.steps.lanes("j"), lw.steps.pipeline("j")], "run in lanes"),
        (branches, [lw.steps.pipeline("j")], "has `if` in it"),
        (weighted, [lw.steps.pipeline("k")], "no loop over k"),
    ],
)
def test_what_is_refused(kernel: Any, steps: list[Any], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        kernel.schedule(*steps).compile(target=V3)


def test_numbers_that_are_none() -> None:
    for ii in (-1, 2.5, True):
        with pytest.raises(ScheduleError, match="takes a whole number"):
            lw.steps.pipeline("j", ii=ii)  # type: ignore[arg-type]
