"""The pass ``vectorize``: what it makes of loops over lanes, and that it means the same."""

from __future__ import annotations

import numpy as np
import pytest
from tests.vectors.bodies import Body, arguments

from loopwright.compiler import run_passes
from loopwright.ir.function import Function
from loopwright.ir.interpret import InterpreterError, run
from loopwright.ir.verify import verify
from loopwright.targets import registry

EACH = 60


def vectorized(f: Function, bits: int) -> Function:
    made = run_passes(f, registry.get("x86-64-v4", bits), "vectorize")
    verify(made)
    return made


@pytest.mark.parametrize("start", range(0, 900, EACH))
def test_random_bodies_mean_the_same_for_vectors(start: int) -> None:
    ran = 0
    for seed in range(start, start + EACH):
        f = Body(seed).f
        verify(f)
        forms = [vectorized(f, bits) for bits in (128, 256, 512)]
        for n in (0, 1, 3, 8, 21):
            plain = arguments(seed, n)
            try:
                expected = run(f, *plain)
            except InterpreterError:
                # (It reads past the end of an array.)
                continue
            ran += 1
            for made in forms:
                mine = arguments(seed, n)
                found = run(made, *mine)
                assert found == expected and np.array_equal(mine[2], plain[2]), f"seed {seed}, n = {n}"
    assert ran > EACH
