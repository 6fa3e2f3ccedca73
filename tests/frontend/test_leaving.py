# ruff: noqa: F821, SIM102
"""Lanes that leave a loop, or a step of it, stay away: every kind of loop in lw.lanes with every kind of way out of it, beside the plain Python function.

The kernels are made from templates. A loop's condition may be known while compiling, the same for all lanes, or differ by lane, and change from one to the
other from step to step; a break or continue may stand under conditions of all three kinds, nested in each other.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.staging import stage

import loopwright as lw
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify

ARRAY = lw.Array[lw.i64]
X = np.array([0, 1, 2, 3, 4, 5, 6, 7, 9, -1, 3], np.int64)

#: Kind of loop: what stands before it, its head, what begins a step, what ends one. A step that something ends cannot be continued: in Python it never would end.
LOOPS: dict[str, tuple[str, str, str, str]] = {
    "known": ("c = 0", "while c < 3:", "c += 1", ""),
    "known, then by lane": ("c = 0", "while c < 3:", "c = c + 1 + (x[i] & 1)", ""),
    "known twice, then by lane": ("c = 0", "while c < 4:", "c = c + 1 if c == 0 else c + 1 + (x[i] & 1)", ""),
    "known, then uniform": ("c = 0", "while c < 3:", "c = c + p", ""),
    "by lane": ("c = x[i] & 1", "while c < 3:", "c += 1", ""),
    "uniform": ("c = p", "while c < 3:", "c += 1", ""),
    "uniform and by lane": ("c = p", "while c < 3 and n < x[i] + 4:", "c += 1", ""),
    "forever": ("c = 0", "while True:", "c += 1\nif c > 3: break", ""),
    "python": ("c = 0", "for c in (0, 1, 2):", "", ""),
    "range": ("c = 0", "for c in lw.range(3):", "", ""),
    "uniform range": ("c = 0", "for c in lw.range(p, p + 3):", "", ""),
    "range by lane": ("c = 0", "for c in lw.range(x[i] & 3):", "", ""),
    "range with a run-time step": ("c = 0", "for c in lw.range(0, 6, p):", "", ""),
    "known, counted last": ("c = 0", "while c < 3:", "", "c += 1"),
    "known, then by lane, counted last": ("c = 0", "while c < 3:", "", "c = c + 1 + (x[i] & 1)"),
    "known, then uniform, counted last": ("c = 0", "while c < 4:", "", "c = c + p"),
    "known for long, then by lane": ("c = 0\nj = 0", "while c < 4:", "", "c = c + 1 if j < 2 else c + 1 + (x[i] & 1)\nj += 1"),
}
#: Those that run at least once.
SURE = ("known", "forever", "python")
#: Ways out; W stands for break or continue.
EXITS = {
    "none": "pass",
    "by lane": "if x[i] > 5:\n    W",
    "uniform": "if p > 1:\n    W",
    "by counter": "if c == 1:\n    W",
    "by lane in uniform": "if p > 1:\n    if x[i] > 5:\n        W",
    "uniform in by lane": "if x[i] > 2:\n    if p > 1:\n        W",
    "by counter in by lane": "if x[i] > 2:\n    n += 7\n    if c == 1:\n        W",
    "with else": "if x[i] > 5:\n    n += 20\n    W\nelse:\n    n += 10",
    "two conditions": "if x[i] > 5 and n < 4:\n    W",
    "by a variable": "if n > x[i]:\n    W",
    "always": "n += 5\nW",
}
WAYS = [(name, word) for name, word in itertools.product(EXITS, ("break", "continue")) if (name, word) != ("none", "continue")]
Way = tuple[str, str]


def indented(text: str, depth: int) -> list[str]:
    return ["    " * depth + line for line in text.split("\n") if line]


def loop(kind: str, first: Way, second: Way, depth: int, inner: list[str]) -> list[str]:
    """A loop with two ways out, and another loop between them. ``f`` has no value before it."""
    before, head, begins, ends = LOOPS[kind]
    out = indented(before, depth) + indented(head, depth)
    out += indented("f = n * 3 - 1\n" + begins + "\nn += 1", depth + 1)
    out += indented(EXITS[first[0]].replace("W", first[1]), depth + 1)
    out += inner
    out += indented("m = m * 2 + c + n", depth + 1)
    out += indented(EXITS[second[0]].replace("W", second[1]), depth + 1)
    out += indented("n += 100\nf = f + 7\n" + ends, depth + 1)
    if kind.startswith(SURE):
        out += indented("m = m + f", depth)
    return out


def possible(kind: str, *ways: Way) -> bool:
    return not LOOPS[kind][3] or all(word == "break" for _, word in ways)


def kernel(name: str, body: list[str]) -> list[str]:
    head = [
        "@lw.kernel",
        f"def {name}(x: lw.Array[lw.i64], y: lw.Array[lw.i64], p: lw.i64):",
        "    for i in lw.lanes(len(x)):",
        "        n = 0",
        "        m = lw.i64(1)",
    ]
    return [*head, *body, "        y[i] = n * 1000000 + m", ""]


def check(path: Path, bodies: dict[str, list[str]]) -> None:
    """Every one of the kernels does what its Python function does, in vectors and without."""
    lines = ["import loopwright as lw", ""]
    for number, body in enumerate(bodies.values()):
        lines += kernel(f"kernel{number}", body)
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for number, (name, body) in enumerate(bodies.items()):
        made = getattr(module, f"kernel{number}")
        for bits in (256, 0) if number % 8 == 0 else (256,):
            f = stage(made, made.signature([], {}), bits)
            verify(f)
            for p in (1, 2):
                want = [0] * len(X)
                made.function(X.tolist(), want, p)
                got = np.zeros(len(X), np.int64)
                run(f, X, got, p)
                assert got.tolist() == want, f"{name}, {bits} bits, p = {p}\n" + "\n".join(body)


def nested(pick: random.Random) -> Iterator[tuple[str, list[str]]]:
    while True:
        outer, inner = pick.choice(list(LOOPS)), pick.choice(list(LOOPS))
        ways = [pick.choice(WAYS) for _ in range(4)]
        if "always" in (ways[0][0], ways[2][0]) or not possible(outer, *ways[:2]) or not possible(inner, *ways[2:]):
            continue
        # The inner loop counts with names of its own.
        inside = [re.sub(r"\b([cjf])\b", r"\1\1", line) for line in loop(inner, ways[2], ways[3], 3, [])]
        yield f"{outer} {ways[:2]} around {inner} {ways[2:]}", loop(outer, ways[0], ways[1], 2, inside)


@pytest.mark.parametrize("kind", LOOPS)
def test_lanes_that_leave_a_loop_stay_away(tmp_path: Path, kind: str) -> None:
    bodies = {}
    for number, first in enumerate(WAYS):
        # In turn with each other way out, at another place in the loop.
        second = WAYS[(number * 4 + 1) % len(WAYS)]
        if first[0] != "always" and possible(kind, first, second):
            bodies[f"{kind}: {first} {second}"] = loop(kind, first, second, 2, [])
    check(tmp_path / "leaving.py", bodies)


def test_lanes_that_leave_nested_loops_stay_away(tmp_path: Path) -> None:
    check(tmp_path / "leaving_nested.py", dict(itertools.islice(nested(random.Random(0)), 50)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOOPS)
def test_lanes_that_leave_a_loop_in_any_two_ways_stay_away(tmp_path: Path, kind: str) -> None:
    pairs = [(first, second) for first, second in itertools.product(WAYS, WAYS) if first[0] != "always" and possible(kind, first, second)]
    check(tmp_path / "leaving_pairs.py", {f"{kind}: {first} {second}": loop(kind, first, second, 2, []) for first, second in pairs})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_lanes_that_leave_many_nested_loops_stay_away(tmp_path: Path, seed: int) -> None:
    check(tmp_path / "leaving_many.py", dict(itertools.islice(nested(random.Random(seed)), 500)))


# --- by themselves --------------------------------------------------------------------------------------------------


def left_early(v, p):
    n = 0
    c = 0
    while c < 3:
        n += 1
        if v > 5:
            break
        c = c + 1 + (v & 1)
    return n


def in_a_helper(x: ARRAY, y: ARRAY, p: lw.i64):
    a = left_early(p, p)  # outside lw.lanes the same loop has no lanes
    for i in lw.lanes(len(x)):
        y[i] = left_early(x[i], p) + 10 * a + 100 * left_early(p + 5, p)


def helper_on_the_line_of_the_loop(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(left_early(p, p)): y[i] = left_early(x[i], p)  # fmt: skip


def several_returns(v, p):
    if v > 3:
        r = 1
        for k in lw.range(3):
            if v > k + 3:
                break
            r += v
        return r
    elif v > 1:
        return 2
    k = 0
    while k < 3:
        if v + k > 0:
            break
        k += 1
    return k + 10


def helper_with_returns(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        s = 0
        for k in (0, 1, 2):
            s += several_returns(x[i] + k, p)
            if s > 12:
                break
        y[i] = s


def first_assigned_in_the_loop(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        for k in (1, 2, 3):
            if x[i] > 2:
                t = 2 * k
                big = x[i] > 5
            else:
                t = x[i]
                big = False
            if t + x[i] > 5:
                break
            t = t + 1
        y[i] = t
        if big:
            y[i] = t + 100


def assigned_before_leaving_on_each_path(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        for k in (1, 2, 3):
            if x[i] > k:
                t = 1
                break
            t = 2
        y[i] = t


def first_assigned_in_while_true(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        q = lw.i64(0)
        while True:
            t = x[i] + 1
            q = t
            if t > 5:
                break
            t = t + 1
            if t > -100:
                break
        y[i] = t + q


def condition_of_those_that_remain(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        n = 0
        c = 0
        while c < 2 or n < 0:
            n += 1
            if x[i] > 5:
                break
            if x[i] > 3:
                c += 1
            c += 1
        y[i] = n


def continue_of_the_lanes(x: ARRAY, y: ARRAY, p: lw.i64):
    t = 0
    for i in lw.lanes(len(x)):
        if x[i] > 2:
            if x[i] > 5:
                continue
            y[i] = 7
        if p > 1:
            if x[i] == 1:
                continue
            if p > 2:
                continue
        t += x[i]
        y[i] += x[i]
    y[0] = t


def no_lane_reads_what_is_the_same_for_all(x: ARRAY, y: ARRAY, p: lw.i64):
    for i in lw.lanes(len(x)):
        y[i] = 1
        if p > 0:
            if x[i] > -100:
                continue
        y[i] = x[1000]


BY_THEMSELVES: list[Callable[..., None]] = [
    in_a_helper,
    helper_on_the_line_of_the_loop,
    helper_with_returns,
    first_assigned_in_the_loop,
    assigned_before_leaving_on_each_path,
    first_assigned_in_while_true,
    condition_of_those_that_remain,
    continue_of_the_lanes,
    no_lane_reads_what_is_the_same_for_all,
]


@pytest.mark.parametrize("function", BY_THEMSELVES)
def test_lanes_stay_away(agrees, function):
    for p in (1, 2, 3):
        agrees(lw.kernel(function), X, np.zeros_like(X), p)


def test_a_name_that_some_lanes_left_without_has_no_value_after_the_loop(staged):
    def kernel(x: ARRAY, y: ARRAY):
        for i in lw.lanes(len(x)):
            for k in (1, 2, 3):
                if x[i] > k:
                    break
                t = 2
            y[i] = t

    with pytest.raises(lw.KernelSyntaxError, match="`t` is not assigned on every path"):
        staged(lw.kernel(kernel))


def test_a_name_that_some_lanes_skipped_has_no_value_in_the_next_step(staged):
    def kernel(x: ARRAY, y: ARRAY):
        for i in lw.lanes(len(x)):
            for k in (1, 2, 3):
                if k == 3:
                    y[i] = t
                if x[i] > 5:
                    y[i] = 1
                    continue
                t = x[i] + k
                y[i] = t

    with pytest.raises(lw.KernelSyntaxError, match="`t` is not assigned on every path"):
        staged(lw.kernel(kernel))


def test_steps_known_while_compiling_leave_python_values_known(staged):
    @lw.kernel
    def kernel(x: ARRAY, y: ARRAY, table: lw.Const):
        for i in lw.lanes(len(x)):
            k = 0
            while k < 3:
                if x[i] > table[k]:
                    break
                if k == 1:
                    break
                k += 1
                y[i] = table[k]

    f = staged(kernel, table=(5, 6, 7))
    assert [f.const_values[~instr.args[1]] for instr in f.code if instr.op.name == "masked_store"] == [6]
