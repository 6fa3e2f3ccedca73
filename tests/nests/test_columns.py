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


@lw.kernel
def symbols(b: lw.Array[lw.i32, 2]):
    for span in lw.range(1, b.shape[0]):
        for i in lw.range(b.shape[0] - span):
            cell = lw.i32(0)
            for k in lw.range(i, i + span):
                left = b[i, k]
                right = b[k + 1, i + span]
                if (left & 1) != 0 and (right & 2) != 0:
                    cell |= 4
                if (left & 4) != 0 and (right & 1) != 0:
                    cell |= 2
                if (left & 2) != 0 and (right & 6) != 0:
                    cell |= 1
            b[i, i + span] = cell


def test_totals_under_conditions() -> None:
    for n in (1, 2, 9, 40):
        b = np.diag(1 << np.random.default_rng(n).integers(0, 3, n)).astype(np.int32)
        wanted = b.copy()
        lw.kernel(symbols.function, nests="off")(wanted)
        symbols(b)
        np.testing.assert_array_equal(b, wanted)
    assert "lanes(k)" in str(symbols.compile(b, target="x86-64-v3").nests())


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


@lw.kernel
def most_likely(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2], d: lw.Array[lw.i32, 2]):
    for t in lw.range(1, c.shape[0]):
        for j in lw.range(a.shape[0]):
            best = c[t - 1, 0] + a[0, j]
            at = lw.i32(0)
            for i in lw.range(1, a.shape[0]):
                v = c[t - 1, i] + a[i, j]
                if v > best:
                    best = v
                    at = lw.i32(i)
            c[t, j] = best + b[j, t]
            d[t, j] = at


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_what_is_loaded_down_a_column_outside_of_the_inner_loop(runner: Runner) -> None:
    rng = np.random.default_rng(2)
    for n, steps in ((1, 3), (5, 4), (37, 6)):
        a, b, c = (rng.integers(0, 50, shape).astype(np.float32) for shape in ((n, n), (n, steps), (steps, n)))
        d = np.zeros((steps, n), np.int32)
        best, places = c.copy(), d.copy()
        for t in range(1, steps):
            sums = best[t - 1][:, None] + a
            places[t] = sums.argmax(0)
            best[t] = sums.max(0) + b[:, t]
        arrays = [a, b, c, d]

        def same(_: object, c: np.ndarray = c, d: np.ndarray = d, best: np.ndarray = best, places: np.ndarray = places) -> None:
            np.testing.assert_array_equal(c, best)
            np.testing.assert_array_equal(d, places)

        runner.run(runner.compiled(most_likely, *arrays), arrays, same)


def test_lanes_though_a_column_is_loaded_outside_of_the_inner_loop() -> None:
    for target in ("x86-64-v3", "x86-64-v4"):
        assert "lanes(j)" in most_likely.compile(target=target).nests()[0].done


@lw.kernel(fastmath=True)
def both_halves(a: lw.Array[lw.f64, 2], c: lw.Array[lw.f64, 2], d: lw.Array[lw.i32, 2]):
    for p in range(a.shape[1]):
        for q in range(p, a.shape[1]):
            s = 0.0
            many = 0
            for i in range(a.shape[0]):
                if a[i, p] > -2.0 and a[i, q] > -2.0:
                    s += a[i, p] * a[i, q]
                    many += 1
            c[p, q] = s
            c[q, p] = s
            d[q, p] = many


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_stored_down_a_column_once_for_a_loop(runner: Runner) -> None:
    for n in (1, 2, 7, 20):
        a = np.random.default_rng(n).integers(-3, 4, (n + 3, n)).astype(np.float64)
        kept = np.where(a > -2, a, 0)
        given = [a, np.zeros((n, n)), np.zeros((n, n), np.int32)]
        many = (a > -2).astype(np.int32)
        runner.leaves(runner.compiled(both_halves, *given), given, [a, kept.T @ kept, np.tril(many.T @ many)])
    if runner.target.name.startswith("x86-64"):
        assert "lanes(q)" in str(both_halves.compile(*given, target=runner.target.name).nests())
