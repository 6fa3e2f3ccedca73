"""``nests="search"``: ways that the default does not try, with the same results."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.end_to_end.test_loop_nests import both
from tests.nests.random_nests import Random

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.ir.interpret import run
from loopwright.nests.search import MOST_SCORED
from loopwright.targets import registry

V3 = "x86-64-v3"


def blocked(a: lw.Array[lw.f64, 3]):
    for k in lw.range(2, a.shape[0]):
        for i in lw.range(2, a.shape[1]):
            for j in lw.range(1, a.shape[2] - 9):
                a[k, i, j] = lw.sqrt(a[k, i, j - 1] * a[k, i - 2, j + 9] * a[k - 2, i, j + 9])


def test_two_loops_at_once_where_neither_goes_alone() -> None:
    """Each of the outer loops may be jammed by 2 only, and is too steep for strips; only both together keep the divider busy."""
    fast = lw.Kernel(blocked, contract=False).compile(target=V3).nests()[0]
    searched = lw.Kernel(blocked, contract=False, nests="search").compile(target=V3)
    made = searched.nests()[0]
    assert fast.done == ["unroll_and_jam(i=2)"]
    assert made.done == ["unroll_and_jam(k=2, i=2)"]
    cycles = {candidate.step: candidate.cycles for candidate in made.candidates}
    assert cycles["unroll_and_jam(k=2, i=2)"] < cycles["unroll_and_jam(i=2)"]
    # What is better by the bounds, but wrong, is refused by name.
    refused = {candidate.step: str(candidate.refusal) for candidate in made.candidates if candidate.refusal is not None}
    assert "(0, 2, -9)" in refused["unroll_and_jam(i=4)"]
    if searched.address:
        a = np.random.default_rng(1).random((9, 10, 20))
        wanted = a.copy()
        searched(a)
        blocked(wanted)
        np.testing.assert_array_equal(a, wanted)


def test_the_option_is_in_the_text() -> None:
    code = lw.Kernel(both.function, contract=False, nests="search").compile(target=V3)
    text = code.ir("collect")
    assert "  option nests\n  option search\n" in text
    assert lw.parse(text).compile(target=V3).bytes == code.bytes


def test_it_keeps_within_its_budget() -> None:
    made = lw.Kernel(blocked, nests="search").compile(target=V3).nests()[0]
    assert 5 < len(made.candidates) <= MOST_SCORED


@lw.kernel(nests="search", contract=False)
def triangle(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2], c: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(i, a.shape[0]):
            s = 0.0
            for k in lw.range(4):
                s -= a[k, i] * b[k, j]
            c[i, j] = s


def test_what_is_refused_leaves_nothing_behind() -> None:
    """The first step, lanes, is done before the second is refused; what runs where arrays overlap had them too."""
    code = triangle.compile(target=V3)
    assert code.nests()[0].done[0] == "lanes(j)"
    text = code.ir("nests")
    assert text[text.index("  else") :].count("lanes") == 0
    if code.address:
        a = np.random.default_rng(1).integers(0, 3, (20, 20)).astype(float)
        wanted = a.copy()
        code(a, a, a)
        triangle.function(wanted, wanted, wanted)
        np.testing.assert_array_equal(a, wanted)


@pytest.mark.parametrize("seed", range(6))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    target = registry.get(V3)
    changed = 0
    for _ in range(40):
        spec = Random(rng, 3, parameter=False, stencil=True, width=6, natural=True).moved_inside()
        f = spec.function()
        given = [np.random.default_rng(seed).random(extents) for extents in spec.extents]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 0)
        f.options.nests = f.options.search = True
        made = run_passes(f, target, "nests")
        changed += len(made.code) != len(f.code)
        run(made, *given, 0)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert changed
