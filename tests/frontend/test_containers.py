"""Lists, tuples and dictionaries of run-time values are variables, item by item, and mean what they mean in Python."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.staging import stage

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify

VECTOR = lw.Array[lw.f32]
INTEGERS = lw.Array[lw.i64]
X = np.array([0, 1, 2, 3, 4, 5, -6, 7, -2, 1, 3, 2], np.int64)
CASES: list[Any] = []


def _module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program = _module(Path(__file__).with_name("list_programs.py")).program


def check_random(path: Path, seeds: range) -> None:
    path.write_text(program(seeds))
    module = _module(path)
    for seed in seeds:
        kernel = getattr(module, f"kernel{seed}")
        for bits in (256, 0):
            f = stage(kernel, kernel.signature([], {}), bits)
            verify(f)
            for p in (1, 3):
                want = [0] * len(X)
                kernel.function(X.tolist(), want, p)
                got = np.zeros(len(X), np.int64)
                run(f, X, got, p)
                assert got.tolist() == want, f"{path}: kernel{seed}, {bits} bits, p = {p}"


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_kernels_with_lists(tmp_path, start):
    check_random(tmp_path / f"lists{start}.py", range(start, start + 10))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_many_random_kernels_with_lists(tmp_path, start):
    check_random(tmp_path / f"many_lists{start}.py", range(start, start + 100))


# --- what means what it does in Python ------------------------------------------------------------------------------


def case(*args: Any, **constants: Any) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        CASES.append(pytest.param(lw.kernel(function), args, constants, id=function.__name__))
        return function

    return add


@case(X, np.zeros(12, np.int64), count=4)
def accumulators_of_a_generator(x: INTEGERS, y: INTEGERS, count: lw.Const):
    acc = [lw.i64(0)] * count
    for i in lw.range(len(x) // count):
        for k in range(count):
            acc[k] += x[i * count + k]
    for k in range(count):
        y[k] = acc[k]


@case(X, np.zeros(12, np.int64), 2)
def numbers_of_python_are_open(x: INTEGERS, y: INTEGERS, p: lw.i64):
    acc = [0] * 2
    for i in lw.range(len(x)):
        if x[i] > p:
            acc[0] += x[i]
        else:
            acc[1] += 1
    y[0] = acc[0]
    y[1] = acc[1]


@case(X)
def reductions(x: INTEGERS) -> lw.i64:
    sums = [0, lw.i64(5)]
    products = [lw.i64(1)]
    extremes = {"least": x[0], "most": x[0]}
    for i in lw.lanes(len(x)):
        sums[0] += x[i]
        if x[i] > 2:
            sums[1] -= x[i] * 2
        sums[0] = sums[0] + 1
        products[0] *= x[i] + 7
        extremes["least"] = lw.min(extremes["least"], x[i])
        extremes["most"] = max(x[i], extremes["most"])
    return sums[0] + 100 * sums[1] + products[0] + 7 * extremes["least"] + 11 * extremes["most"]


def add_to(acc, k, value):
    acc[k] += value


@case(X)
def reductions_in_a_helper(x: INTEGERS) -> lw.i64:
    acc = [0] * 3

    def count(value):
        acc[2] += value

    for i in lw.lanes(len(x) - 1):
        for k in range(2):
            add_to(acc, k, x[i + k])
        if x[i] > 1:
            count(1)
    return acc[0] + 100 * acc[1] + 10000 * acc[2]


@case(X)
def reductions_in_a_loop_around(x: INTEGERS) -> lw.i64:
    acc = [0, 0]
    for k in lw.range(3):
        for i in lw.lanes(len(x)):
            acc[0] += x[i] * k
        acc[1] += acc[0]
    return acc[0] + 1000 * acc[1]


@case(5, 3)
def aliases(a: lw.i64, p: lw.i64) -> lw.i64:
    acc = [a, 1, p]
    same = acc
    rows = [acc, [0, 0, 0]]
    for k in lw.range(3):
        same[0] += k
        rows[0][1] += acc[0]
        if p > 2:
            acc[2] = same[1]
        rows[1][0] = acc[2]
    return acc[0] + 10 * same[1] + 100 * rows[0][2] + 1000 * rows[1][0]


@case(5, 3)
def tuples_and_lists_bound_again(a: lw.i64, p: lw.i64) -> lw.i64:
    t = (a, p, "name")
    acc = [1, a]
    for k in lw.range(4):
        t = (t[1], t[0] + k, "name")
        acc = [v + k for v in acc]
        acc[1] = acc[1] * 2
        if p > k:
            t = (t[0] + 1, t[1], t[2])
            acc = [acc[1], acc[0]]
    return t[0] + 100 * t[1] + 10000 * acc[0] + 1000000 * acc[1] + len(t[2])


@case(5, 3)
def lists_exchanged(a: lw.i64, p: lw.i64) -> lw.i64:
    now = [a, p]
    then = [0, 1]
    for k in lw.range(5):
        now, then = then, now
        now[0] += then[1] + k
        then[1] = now[0]
    return now[0] + 100 * now[1] + 10000 * then[0] + 1000000 * then[1]


@case(5, 3)
def a_list_made_in_each_step(a: lw.i64, p: lw.i64) -> lw.i64:
    total = 0
    for k in lw.range(4):
        row = [0, k]
        row[0] += a
        for j in range(2):
            if p > j:
                row[j] += p
        total += row[0] * 10 + row[1]
    return total


@case(5, 3)
def lists_left_behind(a: lw.i64, p: lw.i64) -> lw.i64:
    kept = [0]
    for k in (1, 2, 3):
        kept = [a * k]
        if p == k:
            break
        kept[0] = 99
    return kept[0]


@case(X, np.zeros(12, np.int64))
def lists_left_behind_by_lane(x: INTEGERS, y: INTEGERS):
    for i in lw.lanes(len(x)):
        kept = [0, 7]
        same = [1, 2]
        for k in (1, 2, 3):
            kept = [x[i] * k, k]
            if x[i] > k:
                break
            kept[0] = 99
            same[1] = kept[1]
        y[i] = kept[0] + 10 * kept[1] + 100 * same[0] + 1000 * same[1]


@case(5, 3)
def slices_and_updates_in_place(a: lw.i64, p: lw.i64) -> lw.i64:
    acc = [a, 1, 2, 3]
    same = acc
    acc += [4]
    for k in lw.range(2):
        acc[1:3] = [acc[3], acc[0] + k]
        acc[1] = acc[4]
        acc[::2] = [v + 1 for v in acc[::2]]
    return same[0] + 10 * same[1] + 100 * same[2] + 1000 * len(same) + same[4]


@case(5, 3)
def what_was_read_before_a_call_stays(a: lw.i64, p: lw.i64) -> lw.i64:
    acc = [a]

    def grow(by):
        acc[0] = acc[0] * 2 + by
        return acc[0]

    for k in lw.range(3):
        acc[0] += acc[0] * 100 + grow(k) + acc[0]
    return acc[0]


@case(X, np.zeros(12, np.int64))
def items_by_lane(x: INTEGERS, y: INTEGERS):
    for i in lw.lanes(len(x)):
        best = (x[i], 0)
        seen = [0, 0]
        for k in lw.range(3):
            v = x[i] * (k - 1)
            if v > best[0]:
                best = (v, k)
                seen[0] += 1
            seen[1] += seen[0]
        y[i] = best[0] + 10 * best[1] + 100 * seen[0] + 1000 * seen[1]


@pytest.mark.parametrize(("kernel", "args", "constants"), CASES)
def test_lists_mean_what_python_means(agrees, kernel, args, constants):
    agrees(kernel, *args, **constants)


# --- what they become -----------------------------------------------------------------------------------------------


def test_an_accumulator_in_a_list_is_as_good_as_a_variable(staged):
    @lw.kernel
    def listed(x: VECTOR, y: VECTOR):
        acc = [lw.f32(0)] * 2
        for i in lw.range(len(x)):
            acc[0] += x[i]
            acc[1] += x[i] * x[i]
        y[0] = acc[0]
        y[1] = acc[1]

    @lw.kernel
    def named(x: VECTOR, y: VECTOR):
        a = lw.f32(0)
        b = lw.f32(0)
        for i in lw.range(len(x)):
            a += x[i]
            b += x[i] * x[i]
        y[0] = a
        y[1] = b

    assert [(instr.op, instr.type) for instr in staged(listed).code] == [(instr.op, instr.type) for instr in staged(named).code]


def test_items_that_do_not_change_stay_known(staged):
    @lw.kernel(nests="off")
    def kernel(x: VECTOR, y: VECTOR):
        state = [0, 3]
        for i in lw.range(len(x)):
            for k in range(state[1]):  # known while compiling: three times
                state[0] += x[i] * k
        y[0] = state[0]

    f = staged(kernel)
    assert sum(instr.op is ops.FOR for instr in f.code) == 1
    assert sum(instr.op is ops.MUL for instr in f.code) == 3


def test_reductions_of_a_list_are_accumulators(staged):
    @lw.kernel
    def kernel(x: VECTOR, y: VECTOR):
        acc = [lw.f32(0) for _ in range(3)]
        for i in lw.lanes(len(x) - 2):
            for k in range(3):
                acc[k] += x[i + k]
        for k in range(3):
            y[k] = acc[k]

    f = staged(kernel)
    loop = next(instr for instr in f.code if instr.loop is not None)
    assert [op for _, op, _ in loop.loop.accumulators] == [ops.ADD] * 3


# --- what is refused ------------------------------------------------------------------------------------------------

OUTSIDE = [1, 2]


def refused(function: Any, fragment: str, **constants: Any) -> None:
    kernel = lw.kernel(function)
    for bits in (256, 0):
        with pytest.raises(lw.KernelTypeError, match=fragment) as caught:
            stage(kernel, kernel.signature([], constants), bits)
        code = function.__code__
        assert code.co_firstlineno < caught.value.line <= max(line for _, _, line in code.co_lines() if line)


def test_a_length_that_changes_is_refused():
    def appended(x: VECTOR):
        found = []
        for i in lw.range(len(x)):
            if x[i] > 0:
                found.append(x[i])

    def longer_on_one_path(x: VECTOR):
        t = (1, 2)
        if x[0] > 0:
            t = (1, 2, x[1])
        x[0] = t[0]

    def longer_in_each_step(x: VECTOR):
        acc = [x[0]]
        for i in lw.range(len(x)):
            acc = [*acc, x[i]]
        x[0] = acc[0]

    def extended(x: VECTOR):
        acc = [x[0]]
        if x[0] > 1:
            acc += [x[1]]
        x[0] = acc[0]

    def new_key(x: VECTOR):
        d = {"a": x[0]}
        for i in lw.range(len(x)):
            d["b"] = x[i]

    for function in (appended, extended, new_key):
        refused(function, "but not how many there are: make it as long")
    refused(longer_on_one_path, "of 2 on one path and of 3 on another")
    refused(longer_in_each_step, "of 1 .* and becomes one of 2 here")


def test_what_the_kernel_did_not_make_is_not_changed():
    def given(x: VECTOR, table: lw.Const):
        for i in lw.range(len(x)):
            table[0] = x[i]

    def outside(x: VECTOR):
        if x[0] > 1:
            OUTSIDE[1] = x[0]

    refused(given, "comes from outside the kernel.*table = list", table=[1, 2])
    refused(outside, "comes from outside the kernel")
    assert OUTSIDE == [1, 2]


def test_a_list_that_may_be_another_is_not_changed():
    def by_path(x: VECTOR):
        a = [x[0], x[1]]
        b = [x[2], x[3]]
        c = a
        if x[0] > 0:
            c = b
        for _ in lw.range(3):
            c[0] += 1
        x[0] = a[0] + b[0]

    def by_step(x: VECTOR):
        a = [x[0], x[1]]
        kept = a
        for _ in lw.range(3):
            a[0] += 1
            a = [a[1], a[0]]
        x[0] = kept[0]

    refused(by_path, "are the same list or not, depending on the run")
    refused(by_step, "are the same list or not, depending on the run|another name stands for the one it was")


def test_a_list_is_not_changed_within_an_expression():
    def kernel(x: VECTOR):
        acc = [x[0]]

        def grow():
            acc[0] += 1
            return acc[0]

        x[1] = grow() if x[0] > 1 else 2.0

    refused(kernel, "inside a condition, or one side of a conditional expression")


def test_items_that_are_no_numbers_cannot_differ():
    def kernel(x: VECTOR):
        t = ("a", x[0])
        for i in lw.range(len(x)):
            t = ("b", x[i])

        x[0] = t[1] if t[0] == "a" else 0

    refused(kernel, "is a Python value .* and cannot change in a loop that runs at run time")


def test_an_item_that_is_reduced_has_no_value_in_the_loop():
    def kernel(x: VECTOR):
        acc = [lw.f32(0)]
        for i in lw.lanes(len(x)):
            acc[0] += x[i]
            x[i] = acc[0]

    with pytest.raises(lw.KernelTypeError, match=r"`acc\[0\]` is reduced over the lanes in this loop and has no value inside it"):
        lw.kernel(kernel).stage(lw.kernel(kernel).signature([], {}))
