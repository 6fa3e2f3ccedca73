"""Strips walked by diagonals: the interpreter gets the same results wherever the dependences allow it, and no smaller slant would do."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from tests.nests.random_nests import Random

import loopwright as lw
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.jam import refusal
from loopwright.nests.steps.skew import Rows, least_slant, skew


def results(spec: Random, f: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    given = [rng.random(extents) for extents in spec.extents]
    run(f, *given, 0)
    return given


def pairs(nest: Nest) -> Iterator[tuple[NestLoop, NestLoop]]:
    """The loops of a nest around an innermost one, with that."""
    for inner in nest.loops:
        if inner.parent is not None and not any(other.parent is inner for other in nest.loops):
            yield inner.parent, inner


@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    skewed = slanted = 0
    for _ in range(20):
        spec = Random(rng, rng.choice([2, 2, 3]), parameter=False, stencil=True, width=rng.choice([4, 9]), natural=rng.random() < 0.8).moved_inside()
        f = spec.function()
        wanted = results(spec, f)
        (nest,) = nests(f)
        for number in range(len(list(pairs(nest)))):
            f = spec.function()
            (nest,) = nests(f)
            found, variables = dependences(nest), scalars(nest)
            loop, inner = list(pairs(nest))[number]
            rows = Rows(nest, loop, inner, variables)
            count = rng.choice([2, 3, 4, 8])
            slant = least_slant(loop, count, found)
            if slant is None or not rows.possible(f) or refusal(nest, loop, count, found, variables, (), slant) is not None:
                continue
            # With any slant less, two dependent iterations would change places.
            assert not slant or refusal(nest, loop, count, found, variables, (), slant - 1) is not None
            skew(nest, rows, count, slant + rng.choice([0, 0, 1]))
            verify(f)
            for a, b in zip(results(spec, f), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
            skewed += 1
            slanted += slant > 0
    assert skewed > 3


ROWS = """\
function rows(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %b: ptr, %b.n0: i64)
  stage collect
  array a: f64[%a.n0, %a.n1] strides [%a.s0] at %a written
  array b: f64[%b.n0] at %b written
  var %sum: f64
  %i = for 1, %a.n0, 1
    %first = load.f64 b[%i]
    %sum = copy.f64 %first
    %n = sub.i64 %a.n1, 1
    %j = for 1, %n, 1
      %left = sub.i64 %j, 1
      %right = add.i64 %j, 1
      %up = sub.i64 %i, 1
      %x = load.f64 a[%i, %left]
      %y = load.f64 a[%up, %right]
      %z = mul.f64 %x, %y
      %t = add.f64 %z, %sum
      store.f64 %t, a[%i, %j]
      %u = add.f64 %sum, %first
      %sum = add.f64 %u, %y
    end
    store.f64 %sum, b[%i]
  end
end
"""


def test_what_rows_keep() -> None:
    """A total, and a value from in front of the inner loop, go with each row from part to part."""
    for n in (1, 2, 4, 5, 9, 13):
        for m in (2, 3, 4, 6, 11):
            wanted = [np.random.default_rng(0).random((n, m)), np.random.default_rng(1).random(n)]
            given = [a.copy() for a in wanted]
            run(parse(ROWS), *wanted)
            f = parse(ROWS)
            (nest,) = nests(f)
            found, variables = dependences(nest), scalars(nest)
            rows = Rows(nest, nest.loops[0], nest.loops[1], variables)
            assert least_slant(nest.loops[0], 4, found) == 1
            assert refusal(nest, nest.loops[0], 4, found, variables, (), 1) is None
            assert sorted(f.names[r] for r in rows.kept) == ["first", "sum"]
            skew(nest, rows, 4, 1)
            verify(f)
            run(f, *given)
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


@lw.kernel
def fifth(a: lw.Array) -> None:
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j + 1])


def test_by_itself() -> None:
    """The pass finds the slant; all sizes."""
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 8, 9, 10, 33):
        for m in (0, 1, 2, 3, 4, 17, 18, 19, 40):
            a = rng.random((n, m)) + 0.5
            wanted = a.copy()
            for i in range(1, n):
                for j in range(1, m - 1):
                    wanted[i, j] = np.sqrt(wanted[i, j - 1] * wanted[i - 1, j + 1])
            fifth(a)
            np.testing.assert_array_equal(a, wanted)


def test_an_inner_loop_under_a_condition_stays_where_it_is() -> None:
    """What is in front of it and behind it is no whole part of the loop around."""
    text = ROWS.replace("    %n = sub.i64 %a.n1, 1\n", "    %n = sub.i64 %a.n1, 1\n    %some = gt.i64 %a.n1, 2\n    if %some\n")
    f = parse(text.replace("    store.f64 %sum, b[%i]\n", "    end\n    store.f64 %sum, b[%i]\n"))
    (nest,) = nests(f)
    assert not Rows(nest, nest.loops[0], nest.loops[1], scalars(nest)).possible(f)
