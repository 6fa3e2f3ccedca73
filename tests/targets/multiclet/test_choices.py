"""The pass ``choices``: branches whose arms are shorter than a change of paragraph are none any more, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.multiclet.choices import worth
from loopwright.targets.multiclet.parameters import R1, S2
from loopwright.targets.multiclet.target import Multiclet

ARRAY = lw.Array[lw.i64]


@lw.kernel(nests="off")
def exchanged(x: ARRAY, y: ARRAY) -> lw.i64:
    # Both arms write both variables, each from the other's; and the condition.
    a, b = lw.i64(3), lw.i64(5)
    turned = lw.i64(0) == 1
    for i in lw.range(len(x)):
        if turned:
            a, b = b, a + x[i] * 0
            turned = b > a
        else:
            a, b = b - a, a
            turned = a < b + 2
        y[i] = a * 7 + b
    return a


@lw.kernel(nests="off")
def nested(x: ARRAY, y: ARRAY) -> lw.i64:
    total = lw.i64(0)
    for i in lw.range(len(x)):
        v = x[i]
        w = v
        if v > 3:
            w = v * 2
            if v > 5:
                w = w - 1
            elif v == 4:
                w = -w
        elif v < -3:
            w = lw.i64(0)
        y[i] = w
        total += w
    return total


@lw.kernel(nests="off")
def guarded(x: ARRAY, y: ARRAY) -> lw.i64:
    # What an arm loads may not be there, and what it divides by may be long in coming.
    total = lw.i64(0)
    for i in lw.range(len(y)):
        if i + 9 < len(x):
            total += x[i + 9]
        if total > 10:
            total = total // (i + 1)
        y[i] = total
    return total


@lw.kernel(nests="off")
def floats(x: ARRAY, y: ARRAY) -> lw.f64:
    least, at = lw.f64(1e9), lw.i64(-1)
    for i in lw.range(len(x)):
        v = lw.f64(x[i]) * 0.5
        if v < least:
            least = v
            at = i
        y[i] = at
    return least


@lw.kernel(nests="off")
def classified(x: ARRAY, y: ARRAY) -> lw.i64:
    # Conditions that are decided in part: blocks that are left in the middle.
    state = lw.i64(0)
    for i in lw.range(len(x)):
        v = x[i]
        if (v > 2 and v < 6) or v == -5:
            if state == 1 or state == 2:
                state = lw.i64(3)
            elif v != 4 and state != 3:
                state = v & 1
        elif not (v < 0 or state == 0):
            state = state + 1
        y[i] = state
    return state


KERNELS = [exchanged, nested, guarded, floats, classified]


def paragraphs(code: Any) -> int:
    return len(code.compiled.machine.unit.paragraphs)


@pytest.mark.parametrize("name", ["multiclet-r1", "multiclet-s2"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_choices_mean_what_branches_mean(kernel: Any, name: str) -> None:
    # No other pass that may be left out does what this one would have done.
    others = [lw.without(each.name) for each in registry.get(name).passes() if each.optional and each.name != "choices"]
    code = kernel.compile(ARRAY, ARRAY, target=name, passes=others)
    plain = kernel.compile(ARRAY, ARRAY, target=name, passes=[*others, lw.without("choices")])
    for n in (0, 1, 7, 40):
        x = np.random.default_rng(n).integers(-9, 9, n)
        seen = []
        for run in (kernel, code.emulate, plain.emulate):
            y = np.zeros(n, np.int64)
            seen.append((run(x, y), y.tolist()))
        assert seen[0] == seen[1] == seen[2]
    if kernel is guarded:
        assert paragraphs(code) == paragraphs(plain)
    else:
        assert paragraphs(code) < paragraphs(plain)


def test_what_is_worth_it_is_what_could_be_fetched_meanwhile() -> None:
    assert (worth(S2), worth(R1), worth(S2.with_parameters(cells=1, fetch=1, float_units=1, memory_ports=1))) == (36, 44, 9)
    source = nested.compile(ARRAY, ARRAY, target="multiclet-s2").compiled.source
    few = [S2, S2.with_parameters(fetch_to_issue=1, fetch=1, change=0)]
    others = Settings(passes=tuple(lw.without(each.name) for each in Multiclet(S2).passes() if each.optional and each.name != "choices"))
    counts = [len(compiler.compile(source, Multiclet(each), others).machine.unit.paragraphs) for each in few]
    assert counts[0] < counts[1]
