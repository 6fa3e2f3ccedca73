"""Values carried in registers: the interpreter gets the same results, loads go, and nothing is loaded that was not before."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.nests.random_nests import Random

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.carry import carry
from loopwright.nests.dependence import dependences
from loopwright.nests.jam import refusal, unroll_and_jam
from loopwright.nests.nest import nests
from loopwright.nests.scalars import scalars


def carried(f: Function) -> int:
    return sum(carry(nest, dependences(nest)) for nest in reversed(nests(f)))


@pytest.mark.parametrize("seed", range(4))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    count = 0
    for _ in range(200):
        spec = Random(rng, rng.choice([1, 1, 2, 3]), parameter=False, stencil=True).moved_inside()
        f = spec.function()
        given = [np.random.default_rng(seed).random(extents) for extents in spec.extents]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 0)
        if rng.random() < 0.5:
            (nest,) = nests(f)
            variables = scalars(nest)
            if refusal(nest, nest.loops[0], 2, dependences(nest), variables) is None:
                unroll_and_jam(nest, nest.loops[0], 2, variables)
        count += carried(f)
        verify(f)
        # (The interpreter refuses an access outside of an array.)
        run(f, *given, 0)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert count


def loop(body: str, high: str = "%x.n0") -> Function:
    return parse(f"function k(%x: ptr, %x.n0: i64)\n  stage collect\n  array x: f64[%x.n0] at %x written\n  %i = for 3, {high}, 1\n{body}\n  end\nend\n")


def loads(f: Function) -> int:
    (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
    return sum(instr.op is ops.LOAD for instr in f.code[head:])


@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("length", [3, 4, 5, 6, 9])
def test_distances_and_lengths(distance: int, length: int) -> None:
    f = loop(f"    %j = sub.i64 %i, {distance}\n    %v = load.f64 x[%j]\n    %w = add.f64 %v, 1.0\n    store.f64 %w, x[%i]")
    given = np.arange(length, dtype=np.float64)
    wanted = given.copy()
    run(f, wanted)
    assert carried(f) == 1
    verify(f)
    assert loads(f) == 0
    run(f, given)
    np.testing.assert_array_equal(given, wanted)


def test_too_far() -> None:
    f = loop("    %j = sub.i64 %i, 9\n    %v = load.f64 x[%j]\n    %w = add.f64 %v, 1.0\n    store.f64 %w, x[%i]")
    assert carried(f) == 0


def test_another_store_in_between() -> None:
    f = loop("    %j = sub.i64 %i, 2\n    %k = sub.i64 %i, 1\n    %v = load.f64 x[%j]\n    store.f64 %v, x[%i]\n    store.f64 2.0, x[%k]")
    given = np.arange(9.0)
    wanted = given.copy()
    run(f, wanted)
    # What is read was stored at %k, one iteration before; not at %i, two before.
    assert carried(f) == 1
    run(f, given)
    np.testing.assert_array_equal(given, wanted)


def test_store_under_a_condition() -> None:
    f = loop("    %j = sub.i64 %i, 1\n    %v = load.f64 x[%j]\n    %c = lt.f64 %v, 2.0\n    if %c\n      store.f64 3.0, x[%i]\n    end")
    assert carried(f) == 0
