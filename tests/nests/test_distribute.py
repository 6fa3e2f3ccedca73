"""A loop made one loop for each of those in it: what one of them leaves in a variable, and another reads by way of arithmetic, keeps them together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def of_rows(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], e: lw.Array[lw.f32]):
    for i in lw.range(a.shape[0]):
        q = lw.f32(0)
        m = a[i, 0]
        w = b[i, 0]
        for k in lw.range(a.shape[1]):
            e[i] += b[i, k]
            w = lw.min(w, b[i, k])
            m = lw.max(m, a[i, k])
        for k in lw.range(a.shape[1]):
            q += a[i, k]
        e[i] = q + m + w


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_what_is_read_by_way_of_arithmetic(runner: Runner) -> None:
    rng = np.random.default_rng(1)
    for rows, columns in ((2, 3), (5, 7), (3, 20)):
        a, b = (rng.integers(0, 50, (rows, columns)).astype(np.float32) for _ in range(2))
        arrays = [a, b, np.zeros(rows, np.float32)]
        wanted = a.sum(1) + a.max(1) + b.min(1)
        runner.run(runner.compiled(of_rows, *arrays), arrays, lambda _, arrays=arrays, wanted=wanted: np.testing.assert_array_equal(arrays[2], wanted))
