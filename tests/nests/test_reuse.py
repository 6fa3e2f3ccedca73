"""Neighbouring vector loads made from one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.interpret import run
from loopwright.nests import reuse
from loopwright.targets import registry
from loopwright.types import F32, I64, VOID, vector_of

V = vector_of(F32, 16)


def loads(offsets: list[int], written: bool = False, rewrite: bool = False) -> Function:
    """y[16 k ...] = x[i + offset] for each offset, i a parameter; ``rewrite`` moves i on between the loads."""
    f = Function("loads")
    x, y = f.array_param("x", F32, 1), f.array_param("y", F32, 1)
    x.written, y.written = written, True
    start = f.param(I64, "start")
    i = f.register(I64, "i", True)
    f.code.append(Instr(ops.COPY, I64, i, [start]))
    for k, offset in enumerate(offsets):
        index = f.register(I64)
        f.code.append(Instr(ops.ADD, I64, index, [i, f.const(I64, offset)]))
        value = f.register(V)
        f.code.append(Instr(ops.LOAD, V, value, [index], 0))
        f.code.append(Instr(ops.STORE, V, NONE, [value, f.const(I64, 16 * k)], 1))
        if rewrite:
            f.code.append(Instr(ops.ADD, I64, i, [i, f.const(I64, 1)]))
    f.code.append(Instr(ops.RET, VOID, NONE, []))
    return f


def count(f: Function, op: Any) -> int:
    return sum(instr.op is op for instr in f.code)


@pytest.mark.parametrize(
    ("offsets", "left", "slides"),
    [
        ([0, 1, 2, 16, 17, 18], 4, 2),  # the last copy keeps its own loads: nothing beyond the program's elements is read
        ([-1, 0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49], 6, 6),
        ([0, 1, 2], 3, 0),
        ([0, 16, 32], 3, 0),
        ([5, 5, 21, 6], 2, 1),  # equal loads are one
    ],
)
def test_a_load_between_two_whole_vectors_becomes_a_slide(offsets: list[int], left: int, slides: int) -> None:
    f = loads(offsets)
    x, want, got = np.arange(200, dtype=np.float32), np.zeros(16 * len(offsets), np.float32), np.zeros(16 * len(offsets), np.float32)
    run(f, x, want, 40)
    target = registry.get("x86-64-v4")
    reuse.run(f, target)
    run(f, x, got, 40)
    assert (want == got).all()
    assert (count(f, ops.LOAD), count(f, ops.SLIDE)) == (left, slides)


def test_an_array_the_function_writes_keeps_its_loads() -> None:
    f = loads([0, 1, 2, 16, 17, 18], written=True)
    reuse.run(f, registry.get("x86-64-v4"))
    assert count(f, ops.SLIDE) == 0


def test_an_index_that_moves_between_the_loads_is_another_index() -> None:
    f = loads([0, 1, 16, 17], rewrite=True)
    x, want, got = np.arange(200, dtype=np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    run(f, x, want, 40)
    reuse.run(f, registry.get("x86-64-v4"))
    run(f, x, got, 40)
    assert (want == got).all()
    assert count(f, ops.SLIDE) == 0


def test_a_target_without_the_instruction_keeps_the_loads() -> None:
    f = loads([0, 1, 2, 16, 17, 18])
    reuse.run(f, registry.get("x86-64-v3"))
    assert count(f, ops.SLIDE) == 0


def test_slides_are_native_instructions() -> None:
    f = loads([0, 1, 2, 16, 17, 18])
    target = registry.get("x86-64-v4")
    reuse.run(f, target)
    made = compiler.compile(f, target)
    assert sum("valignd" in text for _o, _b, text, _l in target.listing(made.machine)) == 2
