"""Unroll-and-jam: allowed exactly where enumeration finds that no two accesses change places, and the interpreter gets the same results."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.nests.random_nests import Random

from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify
from loopwright.nests.dependence import dependences
from loopwright.nests.jam import refusal, unroll_and_jam
from loopwright.nests.nest import nests
from loopwright.nests.scalars import scalars


def arrays(spec: Random, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random(extents) for extents in spec.extents]


def results(spec: Random, f: Function) -> list[np.ndarray]:
    given = arrays(spec, 1)
    run(f, *given, 0)
    return given


@pytest.mark.parametrize("seed", range(60))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    jammed = refused = 0
    for _ in range(12):
        spec = Random(rng, rng.choice([2, 2, 3]), parameter=False).moved_inside()
        f = spec.function()
        wanted = results(spec, f)
        for number in range(spec.names):
            factor = rng.choice([2, 3, 4])
            f = spec.function()
            (nest,) = nests(f)
            variables = scalars(nest)
            if refusal(nest, nest.loops[number], factor, dependences(nest), variables) is None:
                unroll_and_jam(nest, nest.loops[number], factor, variables)
                verify(f)
                for a, b in zip(results(spec, f), wanted, strict=True):
                    np.testing.assert_array_equal(a, b)
                jammed += 1
            else:
                refused += 1
    assert jammed and refused
