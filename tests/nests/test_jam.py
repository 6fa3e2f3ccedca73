"""Unroll-and-jam: allowed exactly where enumeration finds that no two accesses change places, and the interpreter gets the same results."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.nests.random_nests import Random

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.jam import refusal, unroll_and_jam
from loopwright.targets import registry


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


CONTINUES = """
function continues(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64)
  option nests
  array a: f64[%a.n0, %a.n1] strides [%a.s0] at %a written
  %i = for 1, %a.n0, 1
    %four = eq.i64 %i, 4
    br_if 0, %four
    %j = for 1, %a.n1, 1
      %left = sub.i64 %j, 1
      %x = load.f64 a[%i, %left]
      %above = sub.i64 %i, 1
      %y = load.f64 a[%above, %j]
      %p = mul.f64 %x, %y
      %r = sqrt.f64 %p
      store.f64 %r, a[%i, %j]
    end
  end
end
"""


def test_an_iteration_that_ends_early_takes_no_other_with_it() -> None:
    f = parse(CONTINUES)
    (nest,) = nests(f)
    assert [because for _, because in nest.obstacles] == ["ends an iteration early"]
    given = np.random.default_rng(1).random((12, 9))
    wanted = given.copy()
    run(f, wanted)
    run(run_passes(f, registry.get("x86-64-v3"), "nests"), given)
    np.testing.assert_array_equal(given, wanted)


@lw.kernel(fastmath=True)
def systems_of_rows(a: lw.Array, b: lw.Array):
    """How far ``k`` goes changes with ``i``, which is inside of what is jammed, and not with ``r``."""
    for r in range(b.shape[0]):
        for i in range(a.shape[0]):
            s = b[r, i]
            for k in range(i):
                s = s - a[i, k] * b[r, k]
            b[r, i] = s / a[i, i]


def test_bounds_that_change_with_a_loop_between_are_the_same_for_all_copies() -> None:
    rng = np.random.default_rng(1)
    for rows, n in ((1, 5), (7, 1), (13, 37), (20, 60)):
        a, b = rng.random((n, n)) + n * np.eye(n), rng.random((rows, n))
        wanted = np.linalg.solve(np.tril(a), b.T).T
        systems_of_rows(a, b)
        np.testing.assert_allclose(b, wanted, rtol=1e-12)
    done = [step for nest in systems_of_rows.compile(a, b, target="x86-64-v4").nests() for step in nest.done]
    assert any(step.startswith("unroll_and_jam(r=") for step in done), done
