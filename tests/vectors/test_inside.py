"""Loads under conditions that are inside of their arrays whatever is decided are made for all lanes; others stay under their masks, in front of the end of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def chosen(x: lw.Array[lw.f32], y: lw.Array[lw.f32], out: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        v = x[i]
        if v > 0:
            v = v * x[len(x) - 1 - i] + y[i]
        out[i] = v


@lw.kernel
def pairs(x: lw.Array[lw.f32], out: lw.Array[lw.f32]):
    for i in lw.lanes(len(x) // 2):
        v = lw.f32(0)
        if out[i] > 0:
            v = x[2 * i] - x[2 * i + 1]
        out[i] = v


@lw.kernel
def steps(x: lw.Array[lw.f32], n: lw.i64, out: lw.Array[lw.i32]):
    for i in lw.lanes(n):
        k = lw.i32(0)
        v = lw.f32(i)
        while v < 20:
            v += x[i]
            k += 1
        out[i] = k


@lw.kernel
def columns(a: lw.Array[lw.f64, 2], y: lw.Array[lw.f64], first: lw.i64):
    for i in lw.lanes(a.shape[0]):
        v = lw.f64(0)
        for j in lw.range(a.shape[1]):
            if v < 3:
                v += a[i, j]
        for j in lw.range(first, a.shape[1]):
            if v < 6:
                v += a[i, j]
        y[i] = v


def test_elements_down_a_column() -> None:
    """Those of all lanes are loaded one by one, where both indices are known to be inside, and gathered otherwise: ``first`` may be anything."""
    text = columns.compile(target="x86-64-v4").asm()
    assert text.count("vgatherqpd") == 1 and "vinsertf64x2" in text or "vmovhpd" in text
    for n, m in ((0, 3), (1, 1), (7, 5), (16, 9), (37, 12)):
        a = guarded(np.random.default_rng(n).random((n, m)), True)
        y, wanted = np.zeros(n), np.zeros(n)
        for i in range(n):
            for low, bound in ((0, 3), (m - 2, 6)):
                for j in range(max(low, 0), m):
                    if wanted[i] < bound:
                        wanted[i] += a[i, j]
        columns(a, y, max(m - 2, 0))
        np.testing.assert_allclose(y, wanted, rtol=1e-13)
        # Nothing is loaded where no lane asks for it.
        columns(a, y, m + 100)


def test_what_has_masks() -> None:
    """AVX2's masked loads: of ``y``, whose length is not that of the loop."""
    assert "vmaskmovps" in chosen.compile(target="x86-64-v3").asm()
    assert "vmaskmovps" not in pairs.compile(target="x86-64-v3").asm()


@pytest.mark.parametrize("runner", runners())
def test_results_in_front_of_the_end_of_memory(runner: Runner) -> None:
    chooser = np.random.default_rng(4)
    for count in (0, 1, 7, 16, 33, 66):
        x = guarded(chooser.standard_normal(count).astype(np.float32), True)
        # Shorter than the loop: what lies behind is not read, as the condition does not hold there.
        x[count // 2 :] = -1
        y = guarded(np.ones(count // 2, np.float32), True)
        out = np.zeros(count, np.float32)
        wanted = np.where(x > 0, x * x[::-1] + 1, x).astype(np.float32)

        def check(_: Any, out: Any = out, wanted: Any = wanted) -> None:
            np.testing.assert_allclose(out, wanted, rtol=1e-6)

        runner.run(runner.compiled(chosen, x, y, out), (x, y, out), check)
        half = chooser.standard_normal(count // 2).astype(np.float32)
        difference = np.where(half > 0, x[: count // 2 * 2 : 2] - x[1::2][: count // 2], 0).astype(np.float32)

        def check_pairs(_: Any, out: Any = half, wanted: Any = difference) -> None:
            np.testing.assert_array_equal(out, wanted)

        runner.run(runner.compiled(pairs, x, half), (x, half), check_pairs)


@pytest.mark.parametrize("runner", runners())
def test_what_a_loop_loads_in_every_step(runner: Runner) -> None:
    # Lanes from 20 on take no step, and x ends before them.
    x = guarded(np.linspace(1, 3, 20).astype(np.float32), True)
    out = np.full(40, -1, np.int32)
    wanted = [int(np.ceil((20 - i) / x[i] - 1e-4)) if i < 20 else 0 for i in range(40)]

    def check(_: Any) -> None:
        np.testing.assert_array_equal(out, wanted)

    runner.run(runner.compiled(steps, x, lw.i64, out), (x, 40, out), check)


@lw.kernel
def beyond(x: lw.Array[lw.f32], shifted: lw.Array[lw.f32], divided: lw.Array[lw.f32]):
    for i in lw.lanes(len(x) >> 1):
        v = lw.f32(0)
        if shifted[i] > 0:
            v = x[3 * i + 2]
        shifted[i] = v
    for i in lw.lanes(len(x) // 2):
        v = lw.f32(0)
        if divided[i] > 0:
            v = x[4 * i + 1]
        divided[i] = v


@pytest.mark.parametrize("runner", runners())
def test_groups_that_are_larger_than_the_bound_says(runner: Runner) -> None:
    """Of these the last are not in the array, and no condition holds there."""
    x = guarded(np.arange(1, 4097).astype(np.float32), True)
    i = np.arange(2048)
    shifted, divided = (i < 4096 // 3).astype(np.float32), (i < 1024).astype(np.float32)
    wanted = np.where(shifted > 0, 3 * i + 3, 0), np.where(divided > 0, 4 * i + 2, 0)

    def check(_: Any) -> None:
        np.testing.assert_array_equal(shifted, wanted[0])
        np.testing.assert_array_equal(divided, wanted[1])

    runner.run(runner.compiled(beyond, x, shifted, divided), (x, shifted, divided), check)
