"""Generators of random numbers that multiply, add and keep the lowest bits: several steps from tables, so that loops have lanes, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

MASK = 0x7FFFFFFF


@lw.kernel
def filled(x: lw.Array[lw.f64], seed: lw.Array[lw.i64]) -> None:
    s = seed[0]
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) & 0x7FFFFFFF
        x[i] = s / 2147483648.0
    seed[0] = s


@lw.kernel
def two_steps(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    s = seed[0]
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) & 0x7FFFFFFF
        a = s >> 16
        s = (s * 69069 + 1) & 0x7FFFFFFF
        x[i] = (a << 15) ^ s
    seed[0] = s


@lw.kernel
def whole(x: lw.Array[lw.u64], seed: lw.Array[lw.u64]) -> None:
    s = seed[0]
    for i in range(len(x)):
        s = s * lw.u64(6364136223846793005) + lw.u64(1442695040888963407)
        x[i] = s ^ (s >> lw.u64(33))
    seed[0] = s


@lw.kernel
def narrow(x: lw.Array[lw.u32], seed: lw.Array[lw.u32]) -> None:
    s = seed[0]
    for i in range(2, len(x)):
        s = s * lw.u32(1664525) - lw.u32(7)
        x[i] = s >> lw.u32(8)
    seed[0] = s


@lw.kernel
def hits(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    s = seed[0]
    for j in range(len(x)):
        count = 0
        for i in range(j):
            s = (s * 1103515245 + 12345) & 0x7FFFFFFF
            if s > 1500000000 + i:
                count += 1
        x[j] = count
    seed[0] = s


@lw.kernel
def read_before(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    """A seed that is more than is kept is read as it is, once."""
    s = seed[0]
    for i in range(len(x)):
        x[i] = s
        s = (s * 1103515245 + 12345) & 0x7FFFFFFF
    seed[0] = s


@lw.kernel
def under_a_condition(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    s = seed[0]
    for i in range(len(x)):
        if x[i] > 3:
            s = (s * 1103515245 + 12345) & 0x7FFFFFFF
        x[i] += s
    seed[0] = s


@lw.kernel
def two_masks(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    s = seed[0]
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) & 0x7FFFFFFF
        x[i] = s
        s = (s * 69069 + 1) & 0xFFFF
    seed[0] = s


@lw.kernel
def upper_bits(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    """What is kept hangs on what is not."""
    s = seed[0]
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) & 0x7FFFFFF0
        x[i] = s
    seed[0] = s


FROM_TABLES = [filled, two_steps, whole, narrow, hits]
OTHERS = [read_before, under_a_condition, two_masks, upper_bits]


def given_for(kernel: Any, n: int, seed: int) -> list[Any]:
    element = {whole: np.uint64, narrow: np.uint32, filled: np.float64}.get(kernel, np.int64)
    number = {whole: np.uint64, narrow: np.uint32}.get(kernel, np.int64)
    return [np.arange(n).astype(element) % 7, np.array([seed & (2**32 - 1 if seed >= 0 and number is np.uint32 else -1)]).astype(number)]


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("kernel", FROM_TABLES + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_the_same_numbers(kernel: Any, runner: Runner) -> None:
    for n, seed in ((0, 5), (1, 7), (3, -1), (63, 2**40 + 3), (64, 12345), (65, 1), (130, 99), (300, 4)):
        given = given_for(kernel, n, seed)
        wanted = [a.copy() for a in given]
        with np.errstate(over="ignore"):
            kernel.function(*wanted)
        runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", FROM_TABLES, ids=lambda kernel: kernel.function.__name__)
def test_they_have_lanes(kernel: Any) -> None:
    report = str(kernel.compile(target="x86-64-v4").nests())
    assert "s from tables, 64 iterations of i at a time" in report and "lanes(i)" in report


@pytest.mark.parametrize("kernel", OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_others_stay(kernel: Any) -> None:
    assert "from tables" not in str(kernel.compile(target="x86-64-v4").nests())


@lw.kernel
def dice(x: lw.Array[lw.i64], seed: lw.Array[lw.i64]) -> None:
    """How often each face comes up: no lanes, but no step waits for the mask."""
    s = seed[0]
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) & 0x7FFFFFFF
        x[(s >> 16) % len(x)] += s & 3
        if i == 5:
            x[0] = s
    seed[0] = s


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
def test_without_lanes(runner: Runner) -> None:
    for n, seed in ((0, -5), (1, 2**40 + 3), (6, -1), (7, 12345), (130, 99)):
        given = [np.arange(n), np.array([seed])]
        wanted = [a.copy() for a in given]
        with np.errstate(over="ignore"):
            dice.function(*wanted)
        runner.leaves(runner.compiled(dice, *given), given, wanted)
