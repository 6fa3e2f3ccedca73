"""What instructions have room for, on both sides of the limit, on every target: immediates, displacements, frames, stack arguments, jumps.

What one machine's limits ask for beyond that is in its folder.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.machines import Runner, runners
from tests.targets import boundaries
from tests.targets.boundaries import INTEGERS

from loopwright.compiler import compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.interpret import run as interpret
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.types import F32, F64, I16, I32, I64, U8, U32, U64, VOID, Type, vector_of


def each_level(runner: Runner) -> bool:
    """One runner of each target. (What has no registers has other limits, which tests/targets/multiclet is about.)"""
    return runner.widest and bool(runner.target.registers)


def best_level(runner: Runner) -> bool:
    """One runner of each machine: of scalars all its targets have the same instructions."""
    return each_level(runner) and runner.name == [*registry.machines()[runner.folder].levels][-1]


def agree(f: Function, args: list[Any], runner: Runner) -> None:
    """Arrays and result are the interpreter's."""
    mine = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        want = interpret(f, *args)

    def compare(got: Any) -> None:
        assert want is None or equal(got, want), f"{f.name}: {got!r} for {want!r}"
        for a, b in zip(mine, args, strict=True):
            if isinstance(a, np.ndarray) and not equal(a, b):
                places = np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))
                raise AssertionError(f"{f.name}: at {places[:5].tolist()} {[a[tuple(p)] for p in places[:5]]} for {[b[tuple(p)] for p in places[:5]]}")

    runner.tested(compile(f, runner.target, Settings(prove=False)), mine, compare)


@pytest.mark.parametrize("runner", runners(best_level))
@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("sheet", [boundaries.immediates, boundaries.divisions, boundaries.branches, boundaries.conversions], ids=lambda s: s.__name__)
def test_integers_at_every_edge(runner: Runner, t: Type, sheet: Any) -> None:
    agree(*sheet(t), runner)


@pytest.mark.parametrize("runner", runners(best_level))
@pytest.mark.parametrize("t", [I32, U32, I64, U64], ids=str)
def test_numbers_from_the_whole_range_are_indices(runner: Runner, t: Type) -> None:
    agree(*boundaries.indices(t), runner)


@pytest.mark.parametrize("runner", runners(each_level))
@pytest.mark.parametrize("t", [*INTEGERS, F32, F64], ids=str)
def test_displacements_of_scalars(runner: Runner, t: Type) -> None:
    """Signed ones of 8 and 12 bits, and unsigned ones of few bits that count elements."""
    near = (0, 32, 124, 128, 252, 256, 504, 512, 1024, 2040, 2047, 2048, 2056, 4096, 6144, 1 << 15)
    agree(*boundaries.displacements(t, near), runner)
    # Of 12 bits that count elements.
    agree(*boundaries.displacements(t, (4095 * t.size, 4096 * t.size)), runner)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
@pytest.mark.parametrize("element", [F32, F64, I32, I64, U8, I16], ids=str)
def test_displacements_of_vectors(runner: Runner, element: Type) -> None:
    """EVEX counts displacements of 8 bits in operands (SDM volume 2, 2.7.5): 127 and 128 vectors, and bytes in between."""
    t = vector_of(element, runner.bits // element.bits)
    agree(*boundaries.displacements(t, (0, 127, 128, 127 * t.size, 128 * t.size, 129 * t.size)), runner)


@pytest.mark.parametrize("runner", runners(best_level))
@pytest.mark.parametrize("t", [I32, U32, I64, U64, F32, F64], ids=str)
def test_constants_of_every_shape(runner: Runner, t: Type) -> None:
    agree(*boundaries.constants(t), runner)


@pytest.mark.parametrize("runner", runners(each_level))
def test_jumps_around_127_bytes(runner: Runner) -> None:
    """Either way, byte by byte: on x86-64 additions of floats have four bytes, of integers three."""
    agree(*boundaries.far([*range(12, 36), 300], shifts=5), runner)


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.registers)))
@pytest.mark.parametrize("element", [I64, F64, F32], ids=str)
def test_frames_around_128_bytes_and_256(runner: Runner, element: Type) -> None:
    for t in {element, vector_of(element, runner.bits // element.bits)} if element.is_float and runner.bits else {element}:
        for count in (16, 30, 31, 32, 33, 34, 45, 46, 47, 48, 49, 64, 65, 66, 129, 161, 162):
            agree(*boundaries.crowd(t, count), runner)


@pytest.mark.parametrize("runner", runners(each_level))
def test_stack_arguments_far_above_the_frame(runner: Runner) -> None:
    for parameters, count in ((8, 30), (40, 1), (40, 30)):
        agree(*boundaries.crowd(F64, count, parameters), runner)


@pytest.mark.parametrize("runner", runners(best_level))
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_an_immediate_that_is_accepted_has_room(runner: Runner, t: Type) -> None:
    """Whatever passes before made of the operation; in place, and into another register."""
    target = runner.target
    first, other = target.orders[0][:2]
    accepted = 0
    for op, dst in itertools.product((ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.MUL, *ops.COMPARISONS.values()), (first, other)):
        for value in boundaries.edges(t):
            f = Function("immediate", VOID)
            instr = Instr(op, t, dst, [first, f.const(t, value)])
            if not target.immediate(instr, 1, t, value):
                continue
            try:
                rule = target.rule(f, instr)
            except UnsupportedOperationError:
                # Of narrow integers some machines make operations on wider ones before.
                assert t.bits < 32
                continue
            accepted += 1
            assembler = target.assembler(f)
            rule.emit(assembler, f, instr)
            assert assembler.encode().code_size
    assert accepted > 20 or t.bits < 32
