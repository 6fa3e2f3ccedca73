"""Remainders of sums of remainders: by a subtraction, where they most probably are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.staging import stage

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.ir.interpret import run
from loopwright.ir.text import print_function
from loopwright.targets import registry

PRIME = 1000000007


@lw.kernel
def paths(a: lw.Array, b: lw.Array):
    for i in lw.range(1, b.shape[0]):
        for j in lw.range(1, b.shape[1]):
            if a[i, j] == 3:
                b[i, j] = 0
            else:
                b[i, j] = (b[i - 1, j] + b[i, j - 1]) % PRIME


@lw.kernel
def three(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        for j in lw.range(3, b.shape[1]):
            b[i, j] = (b[i, j - 1] + b[i, j - 2] + b[i, j - 3]) % PRIME


@lw.kernel
def differences(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        for j in lw.range(2, b.shape[1]):
            b[i, j] = (b[i, j - 1] - b[i, j - 2]) % PRIME


@lw.kernel
def kept_above_zero(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        for j in lw.range(2, b.shape[1]):
            b[i, j] = (b[i, j - 1] - b[i, j - 2] + PRIME) % PRIME


@lw.kernel
def fibonacci(a: lw.Array, b: lw.Array):
    x = lw.i64(0)
    y = lw.i64(1)
    for _ in lw.range(b.shape[0]):
        z = (x + y) % PRIME
        x = y
        y = z
    b[0, 0] = x


@lw.kernel
def products(a: lw.Array, b: lw.Array):
    """What is added up is no remainder."""
    for i in lw.range(b.shape[0]):
        for j in lw.range(1, b.shape[1]):
            b[i, j] = (b[i, j - 1] * 31 + a[i, j]) % PRIME


@lw.kernel
def of_the_input(a: lw.Array, b: lw.Array):
    """Of what is added up nothing is known."""
    for i in lw.range(b.shape[0]):
        for j in lw.range(1, b.shape[1]):
            b[i, j] = (b[i, j - 1] + a[i, j]) % PRIME


QUICK = [paths, three, differences, kept_above_zero, fibonacci]
OTHERS = [products, of_the_input]


def _given(element: type, wild: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    low, high = (np.iinfo(element).min, np.iinfo(element).max) if wild else (0, PRIME)
    return [rng.integers(0, 5, (23, 37)).astype(element), rng.integers(low, high, (23, 37), dtype=element)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", QUICK + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_whatever_the_array_held(runner: Runner, kernel: lw.Kernel) -> None:
    """The interpreter divides; the code subtracts where it may, also of numbers that no remainder is."""
    for element in (np.int64, np.uint64, np.int32, np.uint32):
        if kernel is fibonacci and element is not np.int64:
            continue
        for wild in (False, True):
            given = _given(element, wild)
            wanted = [each.copy() for each in given]
            run(stage(kernel, kernel.signature(wanted, {}), 0), *wanted)
            runner.leaves(runner.compiled(kernel, *given), given, wanted)


@pytest.mark.parametrize("kernel", QUICK + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_asked_for(kernel: lw.Kernel) -> None:
    """Twice the divisor is a number of the code where it is."""
    made = run_passes(stage(kernel, kernel.signature(_given(np.int64, False), {}), 0), registry.get("x86-64-v3"), after="simplify")
    bound = 4 * PRIME if kernel is three else 2 * PRIME
    assert (str(bound) in print_function(made)) == (kernel in QUICK), print_function(made)
