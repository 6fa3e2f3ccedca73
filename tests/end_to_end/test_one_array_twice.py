"""One array as two arguments, accessed at one index only: loads and stores happen in the order they are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner

import loopwright as lw


@lw.kernel
def read_again(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[i] + 1
        y[i] = y[i] * x[i]


@lw.kernel
def read_again_under_a_condition(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        t = x[i]
        if t > 3:
            y[i] = t - 2
        else:
            y[i] = t + 2
            t = x[i]
        y[i] = x[i] + t


@lw.kernel
def reduced(x: lw.Array, y: lw.Array) -> lw.f64:
    total = lw.f64(0)
    for i in lw.lanes(len(y)):
        total += lw.f64(x[i])
        y[i] = x[i] * 2
        total += lw.f64(x[i])
    return total


@lw.kernel
def twice_over(x: lw.Array, y: lw.Array, n: lw.i64):
    for _ in lw.range(n):
        for i in lw.lanes(len(y)):
            y[i] = x[i] + 1
            y[i] = x[i] + y[i]


@lw.kernel
def by_row(x: lw.Array, y: lw.Array):
    for r in lw.range(x.shape[0]):
        for i in lw.lanes(x.shape[1]):
            y[r, i] = x[r, i] + 1
            y[r, i] = x[r, i] * x[r, i]


KERNELS: list[tuple[Any, tuple[Any, ...]]] = [(read_again, ()), (read_again_under_a_condition, ()), (reduced, ()), (twice_over, (3,)), (by_row, ())]


@pytest.mark.parametrize(("kernel", "rest"), KERNELS, ids=lambda k: getattr(k, "__name__", ""))
@pytest.mark.parametrize("element", [np.float32, np.int32, np.float64])
@pytest.mark.parametrize("check", [False, True])
def test_what_was_stored_is_what_is_loaded(machine: Sequence[Runner], kernel: Any, rest: tuple[Any, ...], element: Any, check: bool) -> None:
    rank = 2 if kernel is by_row else 1
    for length in (1, 7, 64, 133):
        shape = (2, length) if rank == 2 else (length,)
        start = (np.arange(np.prod(shape)) % 9).astype(element).reshape(shape)
        want = start.copy()
        result = kernel.function(want, want, *rest)
        for runner in machine:
            got = start.copy()

            def compare(found: Any, got: Any = got, want: Any = want, result: Any = result, where: str = f"{runner}, {length}") -> None:
                assert (got == want).all(), where
                assert result is None or found == result, where

            runner.run(runner.compiled(kernel, got, got, *(lw.i64 for _ in rest), check=check), [got, got, *rest], compare)
