"""What loops over lanes that hold loops leave over is done under a mask, whatever they look up; and what is written out has indices that are no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def likeliest(v: lw.Array[lw.f64, 2], w: lw.Array[lw.f64, 2], emit: lw.Array[lw.f64, 2], seen: lw.Array[lw.i32], back: lw.Array[lw.i32, 2]):
    """A step of Viterbi's algorithm by planes that take turns: of each state the way to it."""
    for t in range(1, seen.shape[0]):
        old = (t - 1) & 1
        now = t & 1
        for j in range(w.shape[1]):
            best = v[old, 0] + w[0, j]
            at = lw.i32(0)
            for i in range(1, w.shape[0]):
                c = v[old, i] + w[i, j]
                if c > best:
                    best = c
                    at = lw.i32(i)
            v[now, j] = best + emit[j, seen[t]]
            back[t, j] = at


def _given(states: int) -> list[np.ndarray]:
    rng = np.random.default_rng(states)
    ways = rng.integers(-3, 4, (states, states)).astype("f8")
    return [
        rng.integers(0, 5, (2, states)).astype("f8"),
        ways,
        rng.integers(-3, 4, (states, 6)).astype("f8"),
        rng.integers(0, 6, 9).astype("i4"),
        np.zeros((9, states), "i4"),
    ]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_as_written(runner: Runner) -> None:
    for states in (1, 2, 3, 7, 8, 9, 15, 16, 17, 21):
        wanted, found = _given(states), _given(states)
        likeliest.function(*wanted)
        runner.leaves(runner.compiled(likeliest, *found), found, wanted)


def test_what_is_left_over_has_a_mask() -> None:
    made = likeliest.compile(*_given(7), target="x86-64-v4", keep=True).ir("vectorize")
    assert "masked_load" in made
    assert "lanes(j)" in str(likeliest.compile(*_given(7), target="x86-64-v4").nests())


@lw.kernel(contract=False)
def restricted(r: lw.Array[lw.f32, 2], coarse: lw.Array[lw.f32, 2], w: lw.Array[lw.f32]):
    """Full weighting: nine points of a fine grid for one of the coarse."""
    for i in range(1, coarse.shape[0] - 1):
        for j in range(1, coarse.shape[1] - 1):
            s = lw.f32(0)
            for a in range(3):
                for b in range(3):
                    s += w[a] * w[b] * r[2 * i + a - 1, 2 * j + b - 1]
            coarse[i, j] = s


@pytest.mark.parametrize("columns", [3, 4, 9, 10, 11, 18, 19, 35, 70])
def test_points_of_a_finer_grid(columns: int) -> None:
    rng = np.random.default_rng(columns)
    r: Any = rng.integers(-8, 9, (11, 2 * columns - 1)).astype("f4")
    w = np.array([0.25, 0.5, 0.25], "f4")
    wanted, found = np.zeros((6, columns), "f4"), np.zeros((6, columns), "f4")
    restricted.function(r, wanted, w)
    restricted(r, found, w)
    np.testing.assert_array_equal(found, wanted)


@lw.kernel
def chain(dims: lw.Array[lw.i64], cost: lw.Array[lw.i64, 2], split: lw.Array[lw.i32, 2]):
    """Where a product of matrices is divided best: a search down columns, which has no lanes."""
    for length in range(2, cost.shape[0] + 1):
        for i in range(cost.shape[0] - length + 1):
            j = i + length - 1
            low = cost[i + 1, j] + dims[i] * dims[i + 1] * dims[j + 1]
            at = i
            for k in range(i + 1, j):
                c = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if c < low:
                    low = c
                    at = k
            cost[i, j] = low
            split[i, j] = lw.i32(at)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10, 23])
def test_a_search_without_lanes(n: int) -> None:
    rng = np.random.default_rng(n)
    results = []
    for run in (chain.function, chain):
        arrays = [rng.integers(1, 9, n + 1) if not results else results[0][0], np.zeros((n, n), "i8"), np.zeros((n, n), "i4")]
        run(*arrays)
        results.append(arrays)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(other, one)


def test_the_search_is_unrolled() -> None:
    assert "unroll(k=" in str(chain.compile(target="x86-64-v4").nests())


@lw.kernel(contract=False)
def looked_up(a: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2], table: lw.Const):
    """The address of the table is there for what comes behind the rest, too, whichever way that is done."""
    for r in lw.range(y.shape[0]):
        for i in lw.lanes(y.shape[1]):
            s = a[i, r]
            for k in lw.range(a.shape[1]):
                s = s * lw.f32(0.5) + table[(lw.i64(s) + k) & 15] - a[i, k]
            y[r, i] = s
        for i in lw.lanes(y.shape[1]):
            y[r, i] += table[(lw.i64(y[r, i]) + r) & 15]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None and runner.target.vector_bits > 0))
def test_tables_behind_a_rest(runner: Runner) -> None:
    table = np.arange(16, dtype="f4") - 3
    for n in (1, 2, 3, 7, 8, 11, 16, 19):
        rng = np.random.default_rng(n)
        a = rng.integers(0, 9, (n, 3)).astype("f4")
        wanted, found = [a.copy(), np.zeros((3, n), "f4")], [a.copy(), np.zeros((3, n), "f4")]
        looked_up.function(*wanted, table)
        code = runner.compiled(looked_up, *found, table=table)
        runner.leaves(code, found, wanted)
