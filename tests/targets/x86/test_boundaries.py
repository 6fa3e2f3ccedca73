"""What instructions have room for, on both sides of the limit: immediates of 8 and 32 bits, displacements of 8 (compressed ones too) and 32, jumps, frames."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import available, equal
from tests.targets import boundaries
from tests.targets.boundaries import INTEGERS
from tests.targets.x86.trampoline import SYSV, Caller

from loopwright.compiler import compile
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.interpret import run as interpret
from loopwright.runtime import cpu
from loopwright.targets import registry
from loopwright.targets.x86.registers import RAX, RSI
from loopwright.types import F32, F64, I16, I32, I64, U8, U32, U64, VOID, Type, vector_of

pytestmark = pytest.mark.skipif(not cpu.is_x86_64() or not available(), reason="needs x86-64 with AVX2")

#: The two levels differ in their instructions; widths in vectors only.
LEVELS = {name: bits for name, bits in available() if bits != 512}


def agree(f: Function, args: list[Any], level: str, bits: int = 0) -> None:
    """Arrays and result are the interpreter's."""
    mine = copy.deepcopy(args)
    # By the tester, which gets out of faults and of loops without end.
    outcome = Caller(SYSV, False).call_compiled(compile(f, registry.get(level, bits or LEVELS[level]), check_allocation=False), mine)
    assert not outcome.wrong, f"{f.name}: {outcome.wrong}"
    got = outcome.result
    with np.errstate(all="ignore"):
        want = interpret(f, *args)
    assert want is None or equal(got, want), f"{f.name}: {got!r} for {want!r}"
    for a, b in zip(mine, args, strict=True):
        if isinstance(a, np.ndarray) and not equal(a, b):
            places = np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))
            raise AssertionError(f"{f.name}: at {places[:5].tolist()} {[a[tuple(p)] for p in places[:5]]} for {[b[tuple(p)] for p in places[:5]]}")


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("sheet", [boundaries.immediates, boundaries.divisions, boundaries.branches, boundaries.conversions], ids=lambda s: s.__name__)
def test_integers_at_every_edge(t: Type, sheet: Any) -> None:
    # Of scalar integers both levels have the same instructions.
    agree(*sheet(t), max(LEVELS))


@pytest.mark.parametrize("t", [I32, U32, I64, U64], ids=str)
def test_numbers_from_the_whole_range_are_indices(t: Type) -> None:
    agree(*boundaries.indices(t), max(LEVELS))


@pytest.mark.parametrize("t", [*INTEGERS, F32, F64], ids=str)
def test_displacements_of_scalars(t: Type) -> None:
    for level in LEVELS:
        agree(*boundaries.displacements(t, (0, 128, 256, 512, 1024, 4096, 1 << 15)), level)


@pytest.mark.parametrize(("level", "bits"), available())
@pytest.mark.parametrize("element", [F32, F64, I32, I64, U8, I16], ids=str)
def test_displacements_of_vectors(level: str, bits: int, element: Type) -> None:
    """EVEX counts displacements of 8 bits in operands (SDM volume 2, 2.7.5): 127 and 128 vectors, and bytes in between."""
    t = vector_of(element, bits // element.bits)
    agree(*boundaries.displacements(t, (0, 127, 128, 127 * t.size, 128 * t.size, 129 * t.size)), level, bits)


@pytest.mark.parametrize("t", [I32, U32, I64, U64, F32, F64], ids=str)
def test_constants_of_every_shape(t: Type) -> None:
    agree(*boundaries.constants(t), max(LEVELS))


@pytest.mark.parametrize("level", LEVELS)
def test_jumps_of_every_length(level: str) -> None:
    """Around 127 bytes either way, byte by byte: additions of floats have four bytes, of integers three."""
    agree(*boundaries.far([*range(12, 36), 300], shifts=5), level)


@pytest.mark.parametrize(("level", "bits"), available())
@pytest.mark.parametrize("element", [I64, F64, F32], ids=str)
def test_frames_on_both_sides_of_a_displacement_of_8_bits(level: str, bits: int, element: Type) -> None:
    for t in {element, vector_of(element, bits // element.bits)} if element.is_float else {element}:
        for count in (16, 30, 31, 32, 33, 34, 45, 46, 47, 48, 49, 64, 65, 66, 129, 161, 162):
            agree(*boundaries.crowd(t, count), level, bits)


@pytest.mark.parametrize("level", LEVELS)
def test_stack_arguments_behind_displacements_of_32_bits(level: str) -> None:
    for parameters, count in ((8, 30), (40, 1), (40, 30)):
        agree(*boundaries.crowd(F64, count, parameters), level)


@pytest.mark.parametrize("t", [I32, U32, I64, U64], ids=str)
def test_an_immediate_that_is_accepted_has_room(t: Type) -> None:
    """Whatever passes before made of the operation; in place, and into another register."""
    target = registry.get(max(LEVELS))
    accepted = 0
    for op, dst in itertools.product((ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.MUL), (RAX, RSI)):
        for value in boundaries.edges(t):
            f = Function("immediate", VOID)
            instr = Instr(op, t, dst, [RAX, f.const(t, value)])
            if target.immediate(instr, 1, t, value):
                accepted += 1
                assembler = target.assembler(f)
                target.rule(f, instr).emit(assembler, f, instr)
                assert assembler.encode().code_size
    assert accepted > 100
