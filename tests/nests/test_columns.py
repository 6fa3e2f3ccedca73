"""Totals over what is in a row and what is in a column: lanes along both."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def least(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    for i in lw.range(c.shape[0]):
        for j in lw.range(i, c.shape[1]):
            m = 1000000
            for k in lw.range(i, j):
                m = lw.min(m, a[i, k] + b[k + 1, j])
            c[i, j] = m


@lw.kernel(fastmath=True)
def order(a: lw.Array[lw.f64], b: lw.Array[lw.f64, 2]):
    for n in lw.range(2, b.shape[0]):
        for i in lw.range(1, b.shape[0] - n + 1):
            m = 1e30
            for k in lw.range(i, i + n - 1):
                m = lw.min(m, b[i, k] + b[k + 1, i + n - 1] + a[i - 1] * a[k] * a[i + n - 1])
            b[i, i + n - 1] = m


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_lengths_of_all_kinds(runner: Runner) -> None:
    rng = np.random.default_rng(1)
    for n in (3, 41):
        numbers = [rng.integers(0, 1000, (n, n), np.int32) for _ in range(3)]
        wanted = numbers[2].copy()
        for i in range(n):
            for j in range(i, n):
                wanted[i, j] = min([1000000, *(numbers[0][i, k] + numbers[1][k + 1, j] for k in range(i, j))])
        runner.run(runner.compiled(least, *numbers), numbers, lambda _, made=numbers, wanted=wanted: np.testing.assert_array_equal(made[2], wanted))
        floats = [rng.random(n), rng.random((n, n))]
        table = floats[1].copy()
        for length in range(2, n):
            for i in range(1, n - length + 1):
                j = i + length - 1
                table[i, j] = min([1e30, *(table[i, k] + table[k + 1, j] + floats[0][i - 1] * floats[0][k] * floats[0][j] for k in range(i, j))])
        runner.run(runner.compiled(order, *floats), floats, lambda _, made=floats, wanted=table: np.testing.assert_allclose(made[1], wanted, rtol=1e-12))


@pytest.mark.parametrize("kernel", [least, order])
def test_lanes_along_both(kernel: object) -> None:
    code = kernel.compile(target="x86-64-v3")
    assert "lanes(k)" in code.nests()[0].done
    assert "ymm" in code.asm()
