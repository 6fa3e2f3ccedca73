"""Branches that are minima and maxima, in all the ways they are written: the operation is found, and every special value comes out as the branch has it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.nests.branches import choices
from loopwright.types import Type

HEADER = """
function f(%x: {t}, %y: {t}, %n: i64) -> {t}
  stage collect
  {option}
  var %v: {t}
  var %w: {t}
  %w = copy.{t} %y
  %i = for 0, %n, 1
"""
#: One or the other of two values that have been compared.
FORMS = {
    "a variable changed": "%c = {op}.{t} %x, %w\n if %c\n %w = copy.{t} %x\n end",
    "the other way round": "%c = {op}.{t} %w, %x\n if %c\n %w = copy.{t} %x\n end",
    "two arms": "%c = {op}.{t} %x, %y\n if %c\n %v = copy.{t} %x\n else\n %v = copy.{t} %y\n end\n %w = copy.{t} %v",
    "two arms, exchanged": "%c = {op}.{t} %x, %y\n if %c\n %v = copy.{t} %y\n else\n %v = copy.{t} %x\n end\n %w = copy.{t} %v",
    "a value in front": "%c = {op}.{t} %x, %y\n %v = copy.{t} %y\n if %c\n %v = copy.{t} %x\n end\n %w = copy.{t} %v",
    "computed again": "%s = add.{t} %x, %y\n %c = {op}.{t} %s, %y\n if %c\n %r = add.{t} %x, %y\n %v = copy.{t} %r\n else\n %v = copy.{t} %y\n end\n %w = copy.{t} %v",
}
#: What looks like it, and is none.
OTHERS = {
    "another value": "%c = gt.{t} %x, %y\n if %c\n %v = copy.{t} %x\n else\n %v = copy.{t} %w\n end\n %w = copy.{t} %v",
    "a changed variable": "%c = gt.{t} %x, %w\n %w = copy.{t} %y\n if %c\n %w = copy.{t} %x\n end",
    "two variables": "%v = copy.{t} %x\n %c = gt.{t} %x, %y\n if %c\n %v = copy.{t} %x\n else\n %w = copy.{t} %y\n end",
    "more than that": "%c = gt.{t} %x, %y\n if %c\n %r = sub.{t} %x, %y\n %w = copy.{t} %r\n else\n %w = copy.{t} %x\n end",
    "a variable compared that is written in between": "%v = copy.{t} %x\n %c = gt.{t} %v, %y\n %v = copy.{t} %y\n if %c\n %v = copy.{t} %x\n end\n %w = copy.{t} %v",
}


def text(form: str, type_: Type, op: str, option: str = "") -> str:
    body = HEADER + form + "\n  end\n  ret %w\nend\n"
    return body.format(t=type_.name, op=op, option=option)


def values(type_: Type) -> list[object]:
    if type_.is_float:
        return [np.dtype(type_.dtype).type(v) for v in (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)]
    return [np.dtype(type_.dtype).type(v) for v in (0, 1, 7, 120)]


def outcome(result: object) -> bytes:
    return np.asarray(result).tobytes()


@pytest.mark.parametrize("type_", [lw.i32, lw.u8, lw.f32, lw.f64], ids=str)
@pytest.mark.parametrize("op", ["lt", "gt", "le", "ge"])
@pytest.mark.parametrize("form", FORMS)
def test_they_are_found(form: str, op: str, type_: Type) -> None:
    written = text(FORMS[form], type_, op)
    f, g = parse(written), parse(written)
    choices.run(g)
    found = [instr.op for instr in g.code if instr.op is ops.MIN or instr.op is ops.MAX]
    if type_.is_float and op in ("le", "ge"):
        # (Of equal operands, 0.0 and -0.0, the branch takes the first, and the operation the second.)
        assert not found
    else:
        assert len(found) == 1
        assert not any(instr.op is ops.IF for instr in g.code)
    for x, y in itertools.product(values(type_), repeat=2):
        assert outcome(run(f, x, y, 1)) == outcome(run(g, x, y, 1)), (x, y)


@pytest.mark.parametrize("form", OTHERS)
def test_others_stay(form: str) -> None:
    f = parse(text(OTHERS[form], lw.f64, "gt"))
    g = parse(text(OTHERS[form], lw.f64, "gt"))
    choices.run(g)
    assert not any(instr.op is ops.MIN or instr.op is ops.MAX for instr in g.code)
    for x, y in itertools.product(values(lw.f64), repeat=2):
        assert outcome(run(f, x, y, 1)) == outcome(run(g, x, y, 1)), (x, y)


def test_with_fastmath_equal_operands_need_not_be_told_apart() -> None:
    g = parse(text(FORMS["two arms"], lw.f32, "le", "option fastmath"))
    choices.run(g)
    assert any(instr.op is ops.MIN for instr in g.code)


POOLING = """
def pool(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            m = a[2 * i, 2 * j]
            for u in range(2):
                for v in range(2):
                    if a[2 * i + u, 2 * j + v] > m:
                        m = a[2 * i + u, 2 * j + v]
            b[i, j] = m
"""
PATHS = """
def paths(a: lw.Array[lw.i32, 2]):
    n = a.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                a[i, j] = {}
"""


def kernel(source: str) -> lw.Kernel:
    space: dict[str, object] = {"lw": lw}
    exec(source, space)  # noqa: S102
    (made,) = [value for name, value in space.items() if name in ("pool", "paths")]
    return lw.kernel(source=source)(made)  # type: ignore[no-any-return, operator]


def test_a_pooling_by_branches_has_lanes() -> None:
    made = kernel(POOLING)
    rng = np.random.default_rng(5)
    a, b = rng.random((14, 46), np.float32), np.zeros((7, 23), np.float32)
    assert "lanes(j)" in str(made.compile(a, b, target="x86-64-v3").nests()[0])
    made(a, b)
    assert np.array_equal(b, a.reshape(7, 2, 23, 2).max(axis=(1, 3)))


@pytest.mark.parametrize(
    "value",
    [
        "a[i, j] if a[i, j] < a[i, k] + a[k, j] else a[i, k] + a[k, j]",
        "2 * a[i, j] if a[i, j] < a[i, k] + a[k, j] else a[i, k] + 3",
    ],
)
def test_each_part_of_a_loop_that_is_split_has_variables_of_its_own(value: str) -> None:
    made = kernel(PATHS.format(value))
    a = np.random.default_rng(6).integers(1, 60, (37, 37)).astype(np.int32)
    expected = a.copy()
    with np.errstate(over="ignore"):
        for k, i, j in itertools.product(range(37), repeat=3):
            expected[i, j] = eval(value, {"a": expected, "i": i, "j": j, "k": k})
    assert "lanes(j)" in str(made.compile(a, target="x86-64-v3").nests()[0])
    made(a)
    assert np.array_equal(a, expected)
