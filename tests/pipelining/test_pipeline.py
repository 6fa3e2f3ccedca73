"""Loops whose iterations overlap compute the same, bit for bit, for every number of iterations; in order, on a core of one kind of unit after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.pipelining.random_bodies import MARGIN, MOST, random_body

from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.text import print_function as text
from loopwright.ir.verify import verify
from loopwright.nests.dependence import dependences
from loopwright.nests.nest import nests
from loopwright.pipelining.pipeline import Report, pipeline
from loopwright.pipelining.schedule import check
from loopwright.targets.core import Core

CORES = [
    Core("wide", 16, {"memory": 4, "float": 8}, "(load|store).* | .* | memory | 3 | 1\n.* | .* | float | 4 | 1", registers=200),
    Core("narrow", 1, {"memory": 1, "float": 1}, "(load|store).* | .* | memory | 2 | 1\n.* | .* | float | 3 | 1", registers=200),
    Core(
        "slow",
        2,
        {"memory": 2, "float": 2},
        "load | .* | memory | 9 | 1\nstore | .* | memory | 1 | 1\nmul | .* | float | 7 | 3\n.* | .* | float | 2 | 1",
        registers=200,
    ),
]


def pipelined(f: Function, core: Core) -> Report:
    (nest,) = nests(f)
    report = pipeline(f, nest, nest.loops[-1], core, dependences(nest))
    if report.schedule is not None:
        assert report.graph is not None
        assert check(report.graph, core, report.schedule) == []
    verify(f)
    return report


def same(plain: Function, changed: Function, counts: range, step: int, rng: random.Random) -> None:
    size = MOST + 2 * MARGIN
    given = np.random.default_rng(rng.randrange(1000)).random((2, size))
    for count in counts:
        low, high = (MARGIN, MARGIN + count) if step > 0 else (MARGIN + count - 1, MARGIN - 1)
        wanted, got = given.copy(), given.copy()
        run(plain, *wanted, low, high)
        run(changed, *got, low, high)
        np.testing.assert_array_equal(got, wanted, err_msg=f"{count} iterations of\n{text(plain)}as\n{text(changed)}")


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies(seed: int) -> None:
    rng = random.Random(seed)
    overlapped = unrolled = 0
    for _ in range(12):
        step = rng.choice([1, 1, 1, 2, 3, -1, -2])
        plain = random_body(rng, step, rng.random() < 0.3)
        changed = plain.clone()
        report = pipelined(changed, rng.choice(CORES))
        assert report.schedule is not None, report.refusal
        overlapped += report.schedule.stages > 1
        unrolled += report.unroll > 1
        same(plain, changed, range(MOST), step, rng)
        same(plain, changed, range(-2, 0), step, rng)
    assert overlapped >= 5
    assert unrolled >= 3
