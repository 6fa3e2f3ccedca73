"""``kernel.schedule``: steps do what they say with the same results, and what would change a result is refused by the dependence's name."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.test_loop_nests import both, gauss_seidel, product, slanted, smoothed
from tests.machines import Runner, runners
from tests.nests.random_nests import Random

import loopwright as lw
from loopwright.ir.function import Function, Options
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.schedule import Step, parse_steps, steps_text
from loopwright.ir.verify import verify
from loopwright.nests.analysis.nest import nests
from loopwright.nests.schedule import STEPS, apply_schedule
from loopwright.steps import fuse, interchange, lanes, pipeline, skew, tile, unroll, unroll_and_jam
from loopwright.targets import registry

V3 = "x86-64-v3"


@lw.kernel(contract=False)
def twice(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i, j] + a[i - 1, j]
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            b[i, j] = b[i, j] * 2.0


@lw.kernel
def triangle(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(i, a.shape[1]):
            a[i, j] = a[i, j] + 1.0


@lw.kernel
def by_twos(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(i, a.shape[1], 2):
            a[i, j] = a[i, j] + 1.0


@lw.kernel
def below(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, lw.min(2 * i, a.shape[1])):
            a[i, j] = a[i - 1, j] + a[i, j - 1]


@lw.kernel(contract=False)
def along(a: lw.Array[lw.f32, 2]):
    for j in lw.range(1, a.shape[1]):
        for i in lw.range(a.shape[0]):
            a[i, j] = lw.sqrt(a[i, j - 1])


@lw.kernel
def in_front(a: lw.Array[lw.f64, 2], x: lw.Array[lw.f64]):
    for i in lw.range(a.shape[0]):
        s = x[i] * 2.0
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i, j] + s


@lw.kernel
def in_lanes(a: lw.Array[lw.f32, 2], s: lw.Array[lw.f32]):
    for i in lw.range(a.shape[0]):
        t = lw.f32(0.0)
        for j in lw.lanes(a.shape[1]):
            a[i, j] = a[i, j] * 2.0
            t += a[i, j]
        s[i] = t


@lw.kernel
def behind(a: lw.Array[lw.f64, 2], x: lw.Array[lw.f64]):
    for i in lw.range(a.shape[0]):
        x[i] = x[i] * 2.0
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i, j] + x[i]


@lw.kernel
def deep(a: lw.Array[lw.f64, 3]):
    for k in lw.range(2, a.shape[0]):
        for i in lw.range(2, a.shape[1]):
            for j in lw.range(a.shape[2] - 1):
                a[k, i, j] = lw.sqrt(a[k, i - 2, j + 1] * a[k - 2, i, j + 1])


@lw.kernel
def any_row(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i - 1, a.shape[1] - 1 - j] + 1.0


# --- text


def test_steps_are_text_and_back() -> None:
    steps = (
        interchange("i", "j@12"),
        unroll_and_jam({"i@3": 4}, j=2),
        tile(i=32, j=8),
        lanes("j"),
        unroll(k=3),
        skew(i=4, slant=2, lanes=4),
        fuse("i@3", "i@7"),
        pipeline("j", ii=4),
    )
    assert parse_steps(steps_text(steps)) == steps
    assert repr(steps[1]) == "unroll_and_jam(i@3=4, j=2)"
    assert pickle.loads(pickle.dumps(steps)) == steps
    assert {step.name for step in steps} == {*STEPS, "pipeline"}


@pytest.mark.parametrize("text", ["i=4", "unroll(i=4", "unroll(i=)", "unroll(i=4))", "unroll(4)", "", "unroll(i=99999999999)"])
def test_what_is_no_step(text: str) -> None:
    with pytest.raises(lw.ScheduleError):
        parse_steps(text)
    with pytest.raises(lw.ParseError):
        parse(f'function f()\n  option schedule "{text}"\nend\n')


def test_the_text_of_a_function_has_its_schedule() -> None:
    code = both.schedule(unroll_and_jam(i=3)).compile(target=V3)
    text = code.ir("collect")
    assert 'option schedule "unroll_and_jam(i=3)"' in text
    assert parse(text).options.schedule == "unroll_and_jam(i=3)"
    assert lw.parse(text).compile(target=V3).bytes == code.bytes


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: unroll_and_jam(), "takes loops with numbers"),
        (lambda: unroll_and_jam(i=1), "whole number from 2"),
        (lambda: unroll_and_jam(i=True), "whole number from 2"),
        (lambda: unroll_and_jam("i"), "takes loops with numbers"),
        (lambda: tile({"i j": 4}), "name of a loop's index"),
        (lambda: interchange("i", 3), "name of a loop's index"),
        (lambda: both.schedule("unroll(i=4)"), "takes steps"),
    ],
)
def test_what_steps_cannot_be_made_of(make: Any, says: str) -> None:
    with pytest.raises(lw.ScheduleError, match=says):
        make()


# --- kernels


def test_a_schedule_makes_another_kernel() -> None:
    made = both.schedule(unroll_and_jam(i=3))
    assert not both.steps and made.steps == (Step("unroll_and_jam", (), (("i", 3),)),)
    assert made.schedule(unroll(j=2)).steps == (unroll_and_jam(i=3), unroll(j=2))
    assert made.compile(target=V3).bytes != both.compile(target=V3).bytes
    again = pickle.loads(pickle.dumps(made))
    assert again.steps == made.steps


SIZES = [(0, 0), (1, 5), (2, 2), (3, 1), (7, 33), (35, 18)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize(
    ("kernel", "steps"),
    [
        (both, [interchange("i", "j")]),
        (both, [interchange("j", "i"), unroll_and_jam(j=3)]),
        (both, [unroll_and_jam(i=4), unroll(j=3)]),
        (both, [tile(i=5, j=4)]),
        (both, [tile(i=5, j=4), unroll_and_jam(i=2)]),
        (both, [tile(j=4), interchange("j.tiles", "i")]),
        (slanted, [unroll(i=2, j=3)]),
        (slanted, [skew(i=4)]),
        (slanted, [skew(i=3, slant=3)]),
        (gauss_seidel, [skew(i=8, lanes=4)]),
        (along, [interchange("j", "i"), skew(i=8, lanes=4)]),
        (gauss_seidel, [tile(i=9, j=7), skew(i=4, slant=1)]),
        (smoothed, [lanes("j"), unroll_and_jam(i=3)]),
        (smoothed, [tile(i=8, j=16), lanes("j")]),
        (smoothed, [interchange("i", "j"), unroll(i=2)]),
        (in_front, [interchange("i", "j")]),
        (in_front, [tile(i=4, j=3)]),
        (triangle, [tile(i=4, j=3)]),
        (below, [tile(i=4, j=3)]),
        (below, [tile(i=3, j=8), unroll(j=2)]),
    ],
    ids=lambda x: steps_text(tuple(x)) if isinstance(x, list) else x.function.__name__,
)
def test_results_stay_the_same(runner: Runner, kernel: Any, steps: list[Step]) -> None:
    if not runner.target.vector_bits and any(step.name == "lanes" or "lanes" in dict(step.values) for step in steps):
        with pytest.raises(lw.ScheduleError, match="no vectors|has no lanes"):
            runner.compiled(kernel.schedule(*steps))
        return
    code = runner.compiled(kernel.schedule(*steps))
    for extents in SIZES:
        rng = np.random.default_rng(1)
        given = [rng.random(extents[: p.rank]).astype(p.type.dtype) for p in kernel.parameters]
        wanted = [a.copy() for a in given]
        kernel.function(*wanted)

        def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(code, given, same)


@pytest.mark.parametrize("step", [unroll_and_jam(i=3), unroll(i=2), unroll(j=3), tile(j=32)], ids=str)
def test_loops_that_are_over_lanes_already(step: Step) -> None:
    code = in_lanes.schedule(step).compile(target=V3)
    if not code.address:
        pytest.skip(f"needs {V3}")
    # Sums of whole numbers do not depend on the order.
    a = np.random.default_rng(1).integers(0, 100, (11, 70)).astype(np.float32)
    wanted, s = a * 2, np.zeros(11, np.float32)
    code(a, s)
    np.testing.assert_array_equal(a, wanted)
    np.testing.assert_array_equal(s, wanted.sum(1))


def test_a_product_with_lanes_and_rows_at_once() -> None:
    code = product.schedule(lanes("j"), unroll_and_jam(i=2)).compile(target=V3)
    text = code.ir("nests")
    assert "lanes" in text and text.count("store") == 2 + 1 + 1
    with pytest.raises(lw.ScheduleError, match="the total s would be added up in another order"):
        product.schedule(lanes("k")).compile(target=V3)


@lw.kernel
def total_of_all(a: lw.Array[lw.f32, 2], z: lw.Array[lw.f32]):
    s = lw.f32(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    z[0] = s


@lw.kernel
def handed_on(a: lw.Array[lw.f32, 2], z: lw.Array[lw.f32]):
    last = lw.f32(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[j] = last
            last = a[i, j] - last


def test_a_variable_that_keeps_loops_in_their_order_is_named() -> None:
    with pytest.raises(lw.ScheduleError, match="the total s would be added up in another order, which rounds differently"):
        total_of_all.schedule(interchange("i", "j")).compile(target=V3)
    with pytest.raises(lw.ScheduleError, match="an iteration of i reads what the one before has left in last"):
        handed_on.schedule(interchange("i", "j")).compile(target=V3)


def test_overlap_is_asked_for_steps_by_hand_too() -> None:
    code = smoothed.schedule(interchange("i", "j")).compile(target=V3)
    if not code.address:
        pytest.skip(f"needs {V3}")
    memory = np.random.default_rng(1).random(2000).astype(np.float32)
    wanted = memory.copy()
    code(memory[:900].reshape(30, 30), memory[7:907].reshape(30, 30))
    smoothed.function(wanted[:900].reshape(30, 30), wanted[7:907].reshape(30, 30))
    np.testing.assert_array_equal(memory, wanted)


def test_steps_by_hand_are_not_for_checked_mode_and_inlining() -> None:
    checked = both.schedule(interchange("i", "j")).compile(target=V3, check=True).ir("nests")
    assert checked.index("%i") < checked.index("%j") and checked.count(" = for ") == 5  # the nest without tests, a row without, a row with them
    jammed = both.schedule(unroll_and_jam(i=4))

    @lw.kernel(nests="off")
    def outer(a: lw.Array[lw.f64, 2]):
        jammed(a)

    assert outer.compile(target=V3).ir("nests").count(" = for ") == 2


# --- errors


@pytest.mark.parametrize(
    ("kernel", "step", "says"),
    [
        (slanted, unroll_and_jam(i=2), r"flow of a, from a\[i, j\] \(line 58\) to a\[i - 1, j \+ 1\] \(line 58\): \(1, -1\)"),
        (slanted, interchange("i", "j"), r"flow of a, from a\[i, j\] .* \(1, -1\)"),
        (slanted, tile(i=4, j=4), r"flow of a, from a\[i, j\] .* \(1, -1\)"),
        (both, lanes("j"), r"flow of a, from a\[i, j\] .* \(0, 1\)"),
        (both, lanes("k"), r"there is no loop over k; there are i \(line 18\), j \(line 19\)"),
        (both, interchange("i", "i"), "i is not inside of i"),
        (triangle, interchange("i", "j"), "the bounds of j change with i"),
        (triangle, unroll_and_jam(i=4), "the bounds of j change with i"),
        (by_twos, tile(i=4, j=3), "the bounds of j change with i"),
        (slanted, skew(i=4, lanes=3), "has a power of two of lanes, 4 at most, not 3"),
        (slanted, skew(i=4, slant=1, lanes=4), r"has to run 2 of j behind the one before it: flow of a, from a\[i, j\] .* \(1, -1\)"),
        (any_row, skew(i=4), r"would have to run all of j behind the one before it: flow of a, from a\[i, j\] .* \(1, \*\)"),
        (both, skew(i=4), "its iterations need not run behind each other"),
        (product, skew(k=4), "there is not one loop in the loop over k"),
        (behind, interchange("i", "j"), "there is more than j in the loop over i"),
        (twice, unroll_and_jam(i=2), "2 loops are called i, in lines .*: add the line, as in 'i@"),
        (in_lanes, lanes("j"), "its iterations run in lanes already"),
        (deep, unroll_and_jam(k=4), r"\(2, 0, -1\)"),
        (deep, unroll_and_jam(i=4), r"\(0, 2, -1\)"),
    ],
    ids=str,
)
def test_an_illegal_step_names_what_is_in_the_way(kernel: Any, step: Step, says: str) -> None:
    with pytest.raises(lw.ScheduleError, match=says) as caught:
        kernel.schedule(step).compile(target=V3)
    assert str(step) in str(caught.value)


def test_a_loop_is_told_by_its_line() -> None:
    line = twice.function.__code__.co_firstlineno + 5
    text = twice.schedule(unroll_and_jam({f"i@{line}": 2}), interchange(f"i@{line - 3}", f"j@{line - 2}")).compile(target=V3).ir("nests")
    assert text.count(" = for ") == 2 + 4
    with pytest.raises(lw.ScheduleError, match="is in another nest"):
        twice.schedule(interchange(f"i@{line}", f"j@{line - 2}")).compile(target=V3)


def test_steps_that_text_may_have() -> None:
    for schedule, says in (("twist(i)", "there is no step twist; there are"), ("lanes()", "it takes one loop")):
        f = twice.compile(target=V3).compiled.source.clone()
        f.options = Options(schedule=schedule)
        with pytest.raises(lw.ScheduleError, match=says):
            apply_schedule(f, registry.get(V3))


def test_both_outer_loops_by_two() -> None:
    """Either of them by 4 would be wrong (example 6 of docs/nests.md)."""
    code = deep.schedule(unroll_and_jam(k=2, i=2)).compile(target=V3)
    assert code.nests()[0].done == ["unroll_and_jam(k=2, i=2)"]
    if code.address:
        a = np.random.default_rng(1).random((9, 11, 13))
        wanted = a.copy()
        code(a)
        deep.function(wanted)
        np.testing.assert_array_equal(a, wanted)


# --- random nests


def results(spec: Random, f: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    given = [rng.random(extents) for extents in spec.extents]
    run(f, *given, 0)
    return given


@pytest.mark.parametrize("seed", range(20))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    done = refused = 0
    for _ in range(25):
        spec = Random(rng, 3, parameter=False, natural=rng.random() < 0.7).moved_inside()
        wanted = results(spec, spec.function())
        names = [f"i{n + 1}" for n in range(spec.names)]
        if len(names) < 2:
            continue
        for step in (
            interchange(*rng.sample(names, 2)),
            tile({name: rng.choice([2, 3]) for name in rng.sample(names, 2)}),
            unroll_and_jam({name: rng.choice([2, 3]) for name in rng.sample(names, 2)}),
            unroll({rng.choice(names): 3}),
        ):
            f = spec.function()
            f.options.schedule = repr(step)
            try:
                apply_schedule(f, registry.get(V3))
            except lw.ScheduleError:
                refused += 1
                continue
            verify(f)
            assert nests(f)
            for a, b in zip(results(spec, f), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
            done += 1
    assert done > 5 and refused > 5
