"""Loops that lanes leave, of several vectors at once: with results as of one, and where nothing stands against it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.compiler import run_passes, text_of
from loopwright.ir.parse import parse
from loopwright.targets import registry


@lw.kernel(contract=False)
def halved(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        while a > 1:
            a = a * 0.5 - 0.125
        o[i] = a


@lw.kernel(contract=False)
def counted(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a, n = x[i], lw.i32(0)
        while a > 1 and n < 9:
            a = a * 0.75
            n += 1
        o[i] = a


@lw.kernel(contract=False)
def left(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        for k in lw.range(11):
            if a < 1:
                break
            a = a * 0.5 + lw.f32(k) * 0.125
        o[i] = a


@lw.kernel(contract=False)
def forever(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        while True:
            if a < 1:
                break
            a *= 0.5
            if a > 20:
                continue
            a -= 0.25
        o[i] = a


@lw.kernel(contract=False)
def one_in_another(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a, n = x[i], lw.f32(0)
        while a > 1:
            b = a
            while b > 2:
                b *= 0.25
                n += 1
            a = a * 0.5 + b * 0.0625
        o[i] = n - a


@lw.kernel(contract=False)
def in_place(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = o[i] + x[i]
        while a > x[i] * 0.5 + 1:
            a *= 0.5
        o[i] = a


@lw.kernel(contract=False)
def added_up(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    total = lw.i32(0)
    for i in lw.lanes(len(x)):
        a, n = x[i], lw.i32(0)
        while a > 1:
            a *= 0.5
            n += 1
        total += n
    o[0] = total


@lw.kernel(contract=False)
def looked_up(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        k, n = lw.i32(i), lw.i32(0)
        while k > 0 and n < 8:
            k = lw.i32(x[k]) // 2
            n += 1
        o[i] = k + n


@lw.kernel(contract=False)
def under_a_condition(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        if a > 2:
            while a > 1:
                a *= 0.5
        o[i] = a


TOGETHER = [halved, counted, left, forever, one_in_another, in_place, added_up, looked_up, under_a_condition]


@lw.kernel(contract=False)
def stores_inside(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        while a > 1:
            a *= 0.5
            o[i] = a


@lw.kernel(contract=False)
def scatters(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        while a > 1:
            a *= 0.5
        o[i] = a
        o[lw.i64(a * 4) % len(o)] = a


@lw.kernel(contract=False)
def in_a_bracket(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        if x[0] > 2:
            while a > 1:
                a *= 0.5
        o[i] = a


@lw.kernel(contract=False)
def all_lanes_alike(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a = x[i]
        for k in lw.range(len(x)):
            a = a * 0.5 + lw.f32(k)
        o[i] = a


APART = [stores_inside, scatters, in_a_bracket, all_lanes_alike]


def numbers(count: int) -> Any:
    return np.random.default_rng(2).random(count).astype(np.float32) * 60


def one_by_one(kernel: lw.Kernel, *given: Any) -> None:
    """Run a kernel as Python does."""
    space = dict(kernel.function.__globals__)
    space["lw"] = type("Plain", (), {"lanes": range, "range": range, "f32": np.float32, "i32": np.int32, "i64": np.int64})
    for i in range(len(given)):
        assert given[i].dtype == np.float32
    type(kernel.function)(kernel.function.__code__, space)(*given)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits > 0))
@pytest.mark.parametrize("count", [1, 7, 50, 131])
@pytest.mark.parametrize("kernel", [*TOGETHER, *APART], ids=lambda kernel: kernel.function.__name__)
def test_results(kernel: lw.Kernel, count: int, runner: Runner) -> None:
    x, found = numbers(count), numbers(count)
    wanted = found.copy()
    if kernel is looked_up:
        x %= count
    one_by_one(kernel, x, wanted)
    runner.run(runner.compiled(kernel, x, found), [x, found], lambda _: np.testing.assert_array_equal(found, wanted))


def steps(kernel: lw.Kernel, target: str) -> int:
    """How many vectors a loop does at once; 0 where there is none over lanes."""
    compiled = kernel.compile(target=target, vector_bits=256, keep=True)
    text = str(compiled.ir("unroll"))
    lanes = [int(found) for found in re.findall(r"f32x(\d+)", text)]
    return max(int(step) for step in re.findall(r" = for .*, (\d+)  ;", text)) // max(lanes) if lanes else 0


@pytest.mark.parametrize("kernel", TOGETHER, ids=lambda kernel: kernel.function.__name__)
def test_several_vectors_at_once(kernel: lw.Kernel) -> None:
    assert steps(kernel, "x86-64-v3") >= 2
    assert steps(kernel, "x86-64-v4") == 3


@pytest.mark.parametrize("kernel", APART, ids=lambda kernel: kernel.function.__name__)
def test_one_vector_after_the_other(kernel: lw.Kernel) -> None:
    assert steps(kernel, "x86-64-v4") <= 1


def test_loops_are_shared() -> None:
    """There is one for three vectors, and one for each of what they leave."""
    text = str(halved.compile(target="x86-64-v4", vector_bits=256, keep=True).ir("unroll"))
    assert text.count("    while") == 2
    assert text.count(" any.mask") == 2
    assert text.count(" or.mask") == 2


def test_long_bodies_are_done_two_at_a_time() -> None:
    source = ["@lw.kernel", "def k(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):", "    for i in lw.lanes(len(x)):", "        a = x[i]", "        while a > 1:"]
    source += ["            a = a * 0.5 + x[i] * lw.sqrt(a)"] * 30 + ["            a *= 0.001", "        o[i] = a"]
    space: dict[str, Any] = {"lw": lw}
    exec("\n".join(source[1:]), space)  # noqa: S102 (the text above)
    kernel = lw.kernel(source="\n".join(source[1:]))(space["k"])
    assert steps(kernel, "x86-64-v4") == 2


def test_what_is_loaded_elsewhere_is_not_stored_meanwhile() -> None:
    """Elements behind which others are stored in the same loop are not loaded before they are."""

    @lw.kernel(contract=False)
    def behind(x: lw.Array[lw.f32]):
        for i in lw.lanes(16, len(x)):
            a = x[i - 16]
            while a > 1:
                a *= 0.5
            x[i] = x[i] + a

    found, wanted = numbers(200), numbers(200)
    for i in range(16, 200):
        a = wanted[i - 16]
        while a > 1:
            a *= np.float32(0.5)
        wanted[i] += a
    lw.kernel(behind.function, contract=False, vector_bits=256)(found)
    np.testing.assert_array_equal(found, wanted)


def test_a_loop_of_known_length_does_no_more_at_once_than_there_are() -> None:
    @lw.kernel(contract=False)
    def twenty(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
        for i in lw.lanes(20):
            a = x[i]
            while a > 1:
                a *= 0.5
            o[i] = a

    x, found = numbers(20), np.zeros(20, np.float32)
    lw.kernel(twenty.function, contract=False, vector_bits=256)(x, found)
    wanted = found.copy()
    one_by_one(lw.kernel(twenty.function), x, wanted)
    np.testing.assert_array_equal(found, wanted)


@lw.kernel(contract=False)
def most_steps(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        a, n = x[i], lw.i64(0)
        while n < 9 and a > 1:
            a = a * 0.75
            n += 1
        o[i] = a


@pytest.mark.parametrize(
    ("kernel", "common", "other"),
    [(most_steps, "lt.i64 %n, 9", "lt.i64 %n, %i"), (left, "for 0, 11, 1", "for 0, %i, 1")],
    ids=["a condition", "a bound"],
)
def test_what_all_lanes_ask_is_the_same_for_all_vectors(kernel: lw.Kernel, common: str, other: str) -> None:
    target = registry.get("x86-64-v3")
    text = str(kernel.compile(target="x86-64-v3", keep=True).ir("vectorize"))
    assert text.count(common) == 1
    for changed, most in ((text, 24), (text.replace(common, other), 8)):
        after = text_of(run_passes(parse(changed), target, "unroll"), target)
        assert max(int(step) for step in re.findall(r" = for .*, (\d+)(?:  ;|$)", after, re.MULTILINE)) == most


def with_lanes(unroll: int, at_once: str, body: str) -> lw.Kernel:
    """A kernel of a loop over lanes, of so many vectors in a step; ``at_once`` is a condition of all lanes, for whose vectors ``most`` is 20 instead of 3."""
    source = "\n".join(
        [
            "def k(x: lw.Array[lw.f32], o: lw.Array[lw.f32]):",
            f"    for i in lw.lanes(16, len(x), unroll={unroll}):",
            "        a, most, n = x[i], lw.i64(3), lw.i64(0)",
            f"        if {at_once}:",
            "            most = lw.i64(20)",
            *[f"        {line}" for line in body.split("\n")],
        ]
    )
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the text above)
    return lw.kernel(source=source, contract=False)(space["k"])


WHILE = "while n < most and a > 1:\n    a *= 0.5\n    n += 1\no[i] = a"
OWN_STEPS = {
    "while": WHILE,
    "for": "for k in lw.range(most):\n    a *= 0.75\no[i] = a",
    "left": "for k in lw.range(most):\n    if a < 1:\n        break\n    a *= 0.75\no[i] = a",
    "inside": "m = lw.i64(0)\nwhile m < 2 and a > 1:\n    n = lw.i64(0)\n    while n < most and a > 1:\n        a *= 0.5\n        n += 1\n    m += 1\n    a *= 20\no[i] = a",
    "counted": "steps = lw.i64(0)\nif lw.any(x[i] > 100):\n    for k in lw.range(17):\n        steps += 1\nwhile n < steps + 3 and a > 1:\n    a *= 0.5\n    n += 1\no[i] = a",
}


@pytest.mark.parametrize("body", OWN_STEPS.values(), ids=OWN_STEPS)
@pytest.mark.parametrize("unroll", [0, 2, 3])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_vectors_that_are_to_do_more_steps_than_others(target: str, unroll: int, body: str) -> None:
    """What a condition of all lanes of a vector decides is not decided for the others."""
    kernel = with_lanes(unroll, "lw.any(a > 100)", body)
    x = numbers(16 * 15) + 40
    x[16 * 8 : 16 * 9] += 4000
    x[16 * 12 : 16 * 13] += 4000
    found, wanted = np.zeros_like(x), np.zeros_like(x)
    try:
        compiled = kernel.compile(x, found, target=target)
        compiled(x, found)
    except lw.CpuError as error:
        pytest.skip(str(error))
    kernel.function(x, wanted)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "body",
    [
        "a = o[i - 16]\nfor k in lw.range(3):\n    a = a * 0.5 + x[i - k]\no[i] = a",
        "a = o[i - 16]\nwhile a > 1 and n < 9:\n    a *= 0.75\n    n += 1\no[i] = a + x[i]",
        "for k in lw.range(3):\n    a = a * 0.5 + 1\n    o[i] = a\n    a += o[i - 16]\no[i] = a",
    ],
    ids=["for", "while", "stored inside"],
)
@pytest.mark.parametrize("unroll", [0, 2, 4])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_vectors_that_load_what_others_have_stored(target: str, unroll: int, body: str) -> None:
    """Of so many vectors in a step the second, or third, loads what the first has stored."""
    kernel = with_lanes(unroll, "x[i] > 9", body)
    x, found = numbers(200), numbers(200)
    wanted = found.copy()
    try:
        kernel.compile(x, found, target=target)(x, found)
    except lw.CpuError as error:
        pytest.skip(str(error))
    kernel.function(x, wanted)
    np.testing.assert_array_equal(found, wanted)


@lw.kernel(contract=False)
def shifted(x: lw.Array[lw.f32, 2], o: lw.Array[lw.f32], mode: lw.i32):
    for j in lw.lanes(x.shape[1]):
        t = lw.f32(0)
        if mode == 1:
            t = x[0, j]
        elif mode == 2:
            t = x[1, j] * 2
        elif mode > 5:
            t = lw.f32(9)
        else:
            t = -x[0, j]
        for i in lw.range(x.shape[0]):
            t += x[i, j]
        if mode == 3:
            t = t * 0.5
        o[j] = t


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.vector_bits > 0))
def test_branches_that_all_vectors_take_alike(runner: Runner) -> None:
    for columns in (1, 17, 100):
        x = np.random.default_rng(columns).random((5, columns), np.float32)
        for mode in (0, 1, 2, 3, 7):
            start = {1: x[0], 2: x[1] * 2, 7: np.full(columns, np.float32(9))}.get(mode, -x[0])
            wanted = start
            for row in x:
                wanted = wanted + row
            wanted = wanted * np.float32(0.5) if mode == 3 else wanted
            given = [x, np.zeros(columns, np.float32), mode]

            def same(_: object, given: list[Any] = given, wanted: Any = wanted) -> None:
                np.testing.assert_array_equal(given[1], wanted)

            runner.run(runner.compiled(shifted, *given), given, same)
