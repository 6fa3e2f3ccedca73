"""Loops with a state that each iteration is handed by the one before: cut in front of it and behind it where the rest has lanes and that saves enough, and never with another result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def gate(a: lw.Array[lw.i16], b: lw.Array[lw.i16]) -> lw.i32:
    level = lw.i32(0)
    gain = lw.i32(256)
    for t in lw.range(a.shape[0]):
        x = (lw.i32(a[t]) - 40) * 700
        mag = -x if x < 0 else x
        if mag > level:
            level += (mag - level) >> 2
        else:
            level -= (level - mag) >> 6
        gain = max(gain - 8, lw.i32(32)) if level < 17000 else min(gain + 16, lw.i32(256))
        y = (x * gain) >> 7
        b[t] = lw.i16(min(max(y, -32768), 32767))
    return level + gain


@lw.kernel(contract=False)
def behind(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]) -> lw.i32:
    """All that may have lanes is made of the state."""
    state = lw.i32(1)
    for t in lw.range(a.shape[0]):
        state = (state ^ a[t]) & 1023
        x = state * 3 - 7
        y = max(min(x * x, 90000), x + 5) - a[t]
        b[t] = (y >> 2) + max(x, y) * 5
        c[t] = y - min(x, 100) * state
    return state


@lw.kernel(contract=False)
def two_states(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]) -> lw.i32:
    """The second is made after what is made of the first."""
    one = lw.i32(0)
    two = lw.i32(0)
    for t in lw.range(a.shape[0]):
        x = a[t] * 5 + 3
        one = max(one - 3, x - one)
        b[t] = min(max(one * 3, x), 50) + x
        two = (two ^ one) & 255
        c[t] = min(max(two * 7 - x, two), one + 9) - x * 3
    return one + two


@lw.kernel(contract=False)
def changed_behind(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]) -> lw.i32:
    """What is read behind is changed there again."""
    state = lw.i32(3)
    for t in lw.range(a.shape[0]):
        x = a[t] * 5 - 3
        y = max(min(x, 70), x - 9) * 3
        state = (state + y) & 4095
        b[t] = min(max(state * 3, x), 50) + x - y
        if y > 40:
            state = state >> 1
    return state


@lw.kernel(contract=False)
def stored_and_looked_up(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]) -> lw.i32:
    """What comes behind stores what the next iterations look up."""
    state = lw.i32(0)
    for t in lw.range(a.shape[0]):
        state = (state + c[lw.i64(state & 7)]) & 63
        x = state * 3 + a[t]
        y = max(min(x * x, 900), x + 5) - a[t]
        b[t] = max(y, x) - 3
        c[t & 7] = max(min(y, 50), 0 - x) * 3
    return state


@lw.kernel(fastmath=True)
def waits(a: lw.Array[lw.f32], b: lw.Array[lw.f32]) -> lw.f32:
    """The state waits for itself longer than all else takes."""
    s = lw.f32(0)
    for t in lw.range(a.shape[0]):
        x = a[t] * lw.f32(0.5) + lw.f32(1)
        s = lw.sqrt(s * x + lw.f32(0.1)) + x
        b[t] = s * lw.f32(0.25) - x
    return s


@lw.kernel(contract=False)
def remainders(a: lw.Array[lw.u8], b: lw.Array[lw.i64]) -> lw.i64:
    """What comes in front divides numbers of 64 bits that fit 32."""
    value = 0
    fields = 0
    for i in lw.range(a.shape[0]):
        digit = (lw.i64(a[i]) * 7 + i * 3) % 13
        if digit < 10:
            value = (value + digit * 3) & 0xFFFFFF
        else:
            b[fields] = value
            fields += 1
            value = 0
    return value + fields


#: With how many parts are cut, 0 for those that are not.
KERNELS = {gate: 3, behind: 2, two_states: 3, changed_behind: 2, stored_and_looked_up: 0, waits: 0, remainders: 2}


def arrays(kernel: lw.Kernel, n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    if kernel is remainders:
        return [rng.integers(0, 255, n).astype(np.uint8), np.zeros(n, np.int64)]
    dtype = {gate: np.int16, waits: np.float32}.get(kernel, np.int32)
    count = kernel.function.__code__.co_argcount
    made = [rng.integers(0, 100, n).astype(dtype) for _ in range(count)]
    return made if count == 2 else [*made[:2], rng.integers(0, 100, max(n, 8)).astype(dtype)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    plain = lw.kernel(kernel.function, contract=False, nests="off")
    for n in (0, 1, 8, 63, 64, 65, 200):
        given = arrays(kernel, n)
        wanted = [a.copy() for a in given]
        result = plain(*wanted) if kernel is not waits else kernel(*wanted)

        def compare(made: Any, given: Any = given, wanted: Any = wanted, result: Any = result) -> None:
            np.testing.assert_allclose(made, result, rtol=1e-5)
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)

        runner.run(runner.compiled(kernel, *given), given, compare)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_cut(kernel: lw.Kernel) -> None:
    code = kernel.compile(*arrays(kernel, 100), target="x86-64-v4", keep=True)
    said = str(code.nests())
    assert ("cut in front of what stays in order" in said) == (KERNELS[kernel] > 0), said
    if KERNELS[kernel]:
        assert said.count("lanes(") == KERNELS[kernel] - 1


def test_arrays_that_overlap_run_as_written() -> None:
    """What is stored behind is what later iterations begin with."""
    memory = np.random.default_rng(2).integers(0, 100, 300).astype(np.int16)
    wanted = memory.copy()
    plain = lw.kernel(gate.function, nests="off")
    assert gate(memory[:200], memory[3:203]) == plain(wanted[:200], wanted[3:203])
    np.testing.assert_array_equal(memory, wanted)
