"""Conditions of several parts: whatever they are joined by, what is done is what Python does, and nothing is loaded from outside of its array."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.nests.branches import choices
from loopwright.nests.splitting import shortcuts

#: Over truth values A, B, C and D, each of them an element that is loaded.
CONDITIONS = [
    "A and B",
    "A or B",
    "A and B and C",
    "A or B or C",
    "(A or B) and C",
    "A and (B or C)",
    "(A and B) or C",
    "A or (B and C)",
    "(A or B) and (C or D)",
    "(A and B) or (C and D)",
    "not (A and B)",
    "not (A or (B and not C))",
    "A and not (B and (C or D))",
    "A or (B and (C or (D and A)))",
    "((A and B) or C) and D",
    "((A or B) and C or D) and (A or C)",
    # Parts that are known while compiling.
    "A or True",
    "(A or True) and B",
    "A and (B or True)",
    "(A and B) or True",
    "(A and False) or B",
    "A or (B or True) and C",
    "not (A or True)",
]
ARMS = {
    "no else": "            e[i, k] = 7\n",
    "else": "            e[i, k] = 7\n        else:\n            e[i, k] = a[i, k] + 3\n",
    "long arms": "            e[i, k] = a[i, k] * 2 + b[i, k]\n            e[i, k] += 1\n        else:\n            e[i, k] = a[i, k] + 3\n            e[i, k] += b[i, k]\n            e[i, k] += b[i, k] * c[i, k]\n",
    "total": "            s += 1 + e[i, k]\n",
    "again": "            e[i, k] = 9\n",
}


def kernel_of(condition: str, arms: str, loaded: bool) -> tuple[str, lw.Kernel]:
    """A kernel; ``loaded``: every element that the condition asks is loaded anyway, as the first statement."""
    for name in "ABCD":
        condition = condition.replace(name, f"{name.lower()}[i, k] > 0")
    first = "e[i, k] = a[i, k] + b[i, k] + c[i, k] + d[i, k]" if loaded or arms == "again" else "s += 0"
    body = ARMS[arms]
    text = (
        "def nest(a, b, c, d, e):\n    s = lw.u8(0)\n    for i in lw.range(e.shape[0]):\n      for k in lw.range(e.shape[1]):\n"
        f"        {first}\n        if {condition}:\n{body}    e[0, 0] = s\n"
    )
    space: dict[str, object] = {"lw": lw}
    exec(text, space)  # noqa: S102 (the text above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys("abcde", lw.Array))  # type: ignore[attr-defined]
    return text, lw.kernel(source=text)(function)  # type: ignore[arg-type]


def arguments() -> list[np.ndarray]:
    rows = np.array(list(itertools.product((0, 1), repeat=4)), np.uint8)
    made = [np.concatenate([np.repeat(rows[:, n][:, None], 37, axis=1), np.repeat(rows[:, n][None, :], 3, axis=0).repeat(3, axis=1)[:, :37]]) for n in range(4)]
    return [np.ascontiguousarray(a) for a in made] + [np.full((19, 37), 5, np.uint8)]


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_as_python_has_it(condition: str, arms: str, loaded: bool) -> None:
    text, kernel = kernel_of(condition, arms, loaded)
    given = arguments()
    wanted = [a.copy() for a in given]
    plain: dict[str, object] = {"lw": lw}
    exec(text.replace("lw.range", "range").replace("lw.u8(0)", "0"), plain)  # noqa: S102 (the text above)
    as_numbers = [a.astype(np.int64) for a in wanted]
    plain["nest"](*as_numbers)  # type: ignore[operator]
    kernel(*given)
    np.testing.assert_array_equal(given[4], as_numbers[4].astype(np.uint8))


@lw.kernel
def life(a: lw.Array[lw.u8, 2], b: lw.Array[lw.u8, 2]):
    for i in lw.range(1, b.shape[0] - 1):
        for j in lw.range(1, b.shape[1] - 1):
            s = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
            if s == 3 or (s == 2 and a[i, j] == 1):
                b[i, j] = 1
            else:
                b[i, j] = 0


@lw.kernel
def sums(a: lw.Array[lw.i64], b: lw.Array[lw.u8, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(b.shape[1]):
            b[i + 1, j] = b[i, j]
            if j >= a[i] and b[i, j - a[i]] > 0:
                b[i + 1, j] = 1


@lw.kernel
def increasing(a: lw.Array[lw.i32], b: lw.Array[lw.i64]):
    for i in lw.range(1, a.shape[0]):
        m = lw.i64(0)
        for j in lw.range(i):
            if a[j] < a[i] and b[j] > m:
                m = b[j]
        b[i] = m + 1


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None and runner.target.vector_bits > 0))
def test_tables_in_lanes(runner: Runner) -> None:
    rng = np.random.default_rng(2)
    cases = [
        (life, [rng.integers(0, 2, (14, 51)).astype(np.uint8), np.full((14, 51), 9, np.uint8)]),
        (sums, [rng.integers(0, 60, 9), np.concatenate([np.eye(1, 70, dtype=np.uint8), np.zeros((9, 70), np.uint8)])]),
        (increasing, [rng.integers(0, 60, 80).astype(np.int32), np.ones(80, np.int64)]),
    ]
    for kernel, given in cases:
        wanted = [a.copy() for a in given]
        lw.kernel(kernel.function, nests="off")(*wanted)
        code = runner.compiled(kernel, *given)
        # (Neon has no accesses under a mask.)
        assert " lanes" in code.ir("nests") or runner.target.name.startswith("aarch64")

        def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            np.testing.assert_array_equal(given[-1], wanted[-1])

        runner.run(code, given, same)


def rewritten(kernel: lw.Kernel) -> str:
    f = parse(kernel.compile(target="x86-64-v3").ir("collect"))
    shortcuts.run(f)
    choices.run(f)
    verify(f)
    return print_function(f)


def test_what_may_be_outside_is_loaded_under_its_condition_only() -> None:
    @lw.kernel
    def guarded(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for i in lw.range(a.shape[0]):
            if i > 0 and a[i - 1] > 3:
                b[i] = 1

    text = rewritten(guarded)
    assert "block" not in text and text.index("if ") < text.index("load")


def test_what_is_inside_anyway_is_loaded_at_once() -> None:
    text = rewritten(life)
    assert "block" not in text and text.count("if ") == text.count("br_if") == 0 and "select" in text


def test_a_short_else_is_written_for_each_part_and_a_long_one_once() -> None:
    @lw.kernel
    def short(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for i in lw.range(a.shape[0]):
            if i > 0 and a[i - 1] > 3:
                b[i] = 1
            else:
                b[i] = 2

    @lw.kernel
    def long(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for i in lw.range(a.shape[0]):
            if i > 0 and a[i - 1] > 3:
                b[i] = 1
            else:
                b[i] = (a[i] * 5 + 3) * a[i] + 9

    @lw.kernel
    def another_if(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.bool_):
        for i in lw.range(a.shape[0]):
            if i > 0 and a[i - 1] > 3:
                b[i] = 1
            elif c:
                b[i] = 2

    assert "block" not in rewritten(short) and rewritten(short).count(" 2, b[%i]") + rewritten(short).count(", 1, 2 ") == 2
    assert "block" in rewritten(long) and rewritten(long).count("mul.i32") == 2
    assert "block" in rewritten(another_if) and rewritten(another_if).count("store.i32 2, b[%i]") == 1


def test_what_takes_long_is_asked_for_where_the_first_part_holds() -> None:
    @lw.kernel
    def divided(a: lw.Array[lw.i32], b: lw.Array[lw.i32], d: lw.i32):
        for i in lw.range(a.shape[0]):
            if a[i] % 7 > 2 and b[i] // d > 3:
                b[i] = 1

    text = rewritten(divided)
    assert "block" not in text and text.index("if ") < text.index("div_floor")


def test_loops_that_are_left_stay() -> None:
    @lw.kernel
    def first(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for i in lw.range(a.shape[0]):
            if a[i] > 3 and b[i] > 3:
                b[0] = i
                break

    a, b = np.array([1, 5, 6, 7], np.int32), np.array([9, 1, 8, 9], np.int32)
    first(a, b)
    assert b[0] == 2 and ops.BR.name in first.compile(target="x86-64-v3").ir("collect")


@lw.kernel
def greatest_around(a: lw.Array[lw.i32, 2], b: lw.Array[lw.u8, 2]):
    for i in lw.range(1, a.shape[0] - 1):
        for j in lw.range(a.shape[1] - 2, 0, -1):
            if a[i, j] > a[i - 1, j] and a[i, j] > a[i + 1, j] and a[i, j] > a[i, j - 1] and a[i, j] > a[i, j + 1]:
                b[i, j] = 1
            else:
                b[i, j] = 0


@lw.kernel
def triangle(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(a.shape[1]):
            for k in lw.range(i):
                if b[0] > 0 and a[i - k, j] > 3:
                    b[0] += 1


@lw.kernel
def too_far(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
    for i in lw.range(a.shape[0]):
        if b[0] > 0 and a[i + 1] > 3:
            b[0] += 1


@lw.kernel
def too_far_down(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
    for i in lw.range(a.shape[0] - 1, -1, -1):
        if b[0] > 0 and a[i - 1] > 3:
            b[0] += 1


@lw.kernel
def another_length(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
    for i in lw.range(b.shape[0]):
        if b[0] > 0 and a[i] > 3:
            b[0] += 1


@pytest.mark.parametrize(("kernel", "at_once"), [(greatest_around, True), (triangle, True), (too_far, False), (too_far_down, False), (another_length, False)])
def test_bounds_of_loops_tell_what_is_inside(kernel: lw.Kernel, at_once: bool) -> None:
    text = rewritten(kernel)
    assert "block" not in text
    loads = [line for line in text.split("\n") if ("load" in line or "if " in line) and "store" not in line]
    asked = [n for n, line in enumerate(loads) if line.strip().startswith("if ")]
    # (Of an element that is loaded under a condition an ``if`` is in front.)
    assert (len(asked) <= 1) == at_once
