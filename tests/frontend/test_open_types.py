"""Variables that start as Python numbers: by lane and in a plain loop they get the same types, and the results of the Python function.

The kernels are made from templates: how a variable starts, where it is assigned again, what, and what becomes of it; all typed values are f32.
"""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from tests.staging import stage

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify

STARTS = ["0", "0.0", "2", "1.5", "lw.f32(2)", "True"]
LATER = [
    "1", "1.0", "0.25", "x[i]", "q + 1", "q + 0.5", "q * 2", "q + x[i]", "q * w", "w", "-q", "q + k", "lw.max(q, 1)", "(q if x[i] > 0 else 3)",
    "(q if x[i] > 0 else 3.5)", "lw.select(x[i] > 0, q, 2)", "q / 2", "q - w * x[i]",
]  # fmt: skip
#: L stands for the later value.
WHERE = {
    "if": "if x[i] > 0.5:\n    q = L",
    "if and else": "if x[i] > 0.5:\n    q = L\nelse:\n    q = 3",
    "loop": "for k in lw.range(3):\n    q = L",
    "if in a loop": "for k in lw.range(3):\n    if x[i] > 0.5:\n        q = L",
    "two ifs in a loop": "for k in lw.range(3):\n    if x[i] > 0.5:\n        q = L\n    if x[i] < -0.5:\n        q = 2",
    "loop that is left": "for k in lw.range(3):\n    if x[i] > lw.f32(k):\n        q = L\n        break",
    "while": "c = 0\nwhile x[i] > c:\n    c += 1\n    q = L",
    "uniform if": "if n > 2:\n    q = L",
    "uniform if in a uniform loop": "for k in lw.range(n):\n    if n > 2:\n        q = L",
    "unrolled loop that is left": "for k in (0, 1, 2):\n    if x[i] > k:\n        q = L\n        break",
    "one loop after the other": "for k in lw.range(n):\n    q = L\nfor k in lw.range(3):\n    if x[i] > 0.5:\n        q = L",
    "another name": "r = 0\nfor k in lw.range(3):\n    if x[i] > 0.5:\n        r = q\n        q = L",
}
USES = ["q", "q * x[i]", "x[i] + (1 if q > 0.5 else 0)", "lw.f32(q) + x[i]", "q + 1", "x[i] if q == 1 else x[i] + 1"]
X = np.array([0, 0.25, 1.1, -2.3, 2.7, 0.6, -0.7, 3.3, 0.1], np.float32)
NAMES = ("q", "r", "c")


def kernels(path: Path, cases: list[tuple[str, str, str, str]]):
    lines = ["import loopwright as lw", ""]
    for number, (where, start, later, use) in enumerate(cases):
        for loop in ("lanes", "range"):
            lines += ["@lw.kernel", f"def {loop}{number}(x: lw.Array[lw.f32], y: lw.Array[lw.f32], n: lw.i64):"]
            lines += ["    w = lw.f32(0.75)", f"    for i in lw.{loop}(len(x)):", f"        q = {start}"]
            lines += ["        " + line for line in WHERE[where].replace("L", later).split("\n")]
            lines += [f"        y[i] = {use}", ""]
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for number, case in enumerate(cases):
        yield case, getattr(module, f"lanes{number}"), getattr(module, f"range{number}")


def staged_or_refused(kernel) -> Function | None:
    try:
        f = stage(kernel, kernel.signature([], {}), 256)
    except lw.KernelTypeError:
        return None
    verify(f)
    return f


def types(f: Function) -> dict[str, str]:
    """The element types of the variables."""
    return {f.names[r]: f.types[r].element.name for r in range(len(f.types)) if f.variable[r] and f.names[r] in NAMES}


def width(f: Function) -> int:
    """Bits of the lanes."""
    loop = next(instr.loop for instr in f.code if instr.op is ops.FOR and instr.loop is not None)
    return f.types[loop.mask].bits


def check(path: Path, cases: list[tuple[str, str, str, str]]) -> None:
    for case, by_lane, plain in kernels(path, cases):
        f, g = staged_or_refused(by_lane), staged_or_refused(plain)
        assert (f is None) == (g is None), f"{case}: refused in one kind of loop only"
        if f is None or g is None:
            continue
        # (As they are staged: numbers that are one of two become truth values in plain loops.)
        named, expected = (types(kernel.stage(kernel.signature([], {}))) for kernel in (by_lane, plain))
        assert all(named[name] == expected[name] for name in named if name in expected), f"{case}: {named} by lane, {expected} else"
        if not any(element.endswith("64") for element in {**named, **expected}.values()):
            assert width(f) == 32, f"{case}: lanes of {width(f)} bits for {expected}"
        for n in (1, 5):
            want = np.zeros_like(X)
            by_lane.function(X, want, n)
            for made in (f, g):
                got = np.zeros_like(X)
                run(made, X, got, n)
                np.testing.assert_array_equal(got, want, err_msg=f"{case}, n = {n}")


def combinations(where: str) -> list[tuple[str, str, str, str]]:
    return [(where, *rest) for rest in itertools.product(STARTS, LATER, USES) if "k" not in rest[1] or " k " in WHERE[where]]


@pytest.mark.parametrize("where", WHERE)
def test_types_and_results_are_the_same_by_lane_and_in_a_plain_loop(tmp_path: Path, where: str) -> None:
    # Each start, later value and use in turn.
    check(tmp_path / "open_types.py", combinations(where)[::13])


@pytest.mark.slow
@pytest.mark.parametrize("where", WHERE)
def test_types_and_results_are_the_same_in_every_combination(tmp_path: Path, where: str) -> None:
    check(tmp_path / "open_types_all.py", combinations(where))


def test_an_integer_assigned_to_a_float_does_not_widen_the_lanes(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            q = 0.0
            for _ in (0, 1, 2):
                if x[i] > 0:
                    q = 1
            y[i] = q * x[i]

    assert width(staged(kernel)) == 32


def test_a_float_assigned_to_an_integer_does_not_widen_the_lanes(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            q = 0
            for _ in lw.range(3):
                if x[i] > 0:
                    q = 0.25
            y[i] = q * x[i]

    assert width(staged(kernel)) == 32


def test_a_value_that_is_the_same_for_all_lanes_does_not_settle_a_type(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.f32], y: lw.Array[lw.f32], n: lw.i64):
        for i in lw.lanes(len(x)):
            q = 0.0
            for _ in lw.range(n):
                q = q + 1
            for _ in lw.range(3):
                if x[i] > 0:
                    q = q * 0.5
            y[i] = q * x[i]

    f = staged(kernel)
    assert width(f) == 32
    assert types(f) == {"q": "f32"}


def test_numbers_chosen_at_run_time_adapt_as_python_numbers_do(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.i16], c: lw.i64) -> lw.i16:
        return x[0] + (1 if c > 0 else 2) + lw.select(c > 5, 3, 4)

    f = staged(kernel)
    assert [f.types[instr.dst].name for instr in f.code if instr.op is ops.ADD] == ["i16", "i16"]
    assert int(run(f, np.array([10], np.int16), 7)) == 14


def test_a_type_that_settles_in_a_condition_leaves_the_code_before_it(agrees):
    """The condition of a while is evaluated twice; what the first time settles is put before it."""

    @lw.kernel
    def kernel(x: lw.Array[lw.f32], y: lw.Array[lw.f64]):
        for i in lw.lanes(len(x)):
            q = 0.0
            if y[i] > 0:
                q = 1.0
            while q < x[i]:
                q = q + 1
            y[i] = y[i] + q

    agrees(kernel, X, np.array([1, -1, 2, 3, -1, 0, 5, -7, 2], np.float64))
