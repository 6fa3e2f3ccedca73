"""What instructions of RISC-V have room for, on both sides of the limit, beyond what ``tests/targets/test_boundaries.py`` tries on every machine."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.targets import boundaries

from loopwright.compiler import Compiled, compile
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr, Mem
from loopwright.ir.interpret import run as interpret
from loopwright.runtime import emulate
from loopwright.settings import Settings
from loopwright.targets.riscv import instructions
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.registers import ZERO
from loopwright.targets.riscv.target import RiscV, rv64gc
from loopwright.types import F32, F64, I32, I64, PTR, U8, U32, U64, VOID, Type

pytestmark = pytest.mark.skipif(not emulate.available("rv64gc"), reason="qemu-riscv64 is not installed (Debian package qemu-user)")

TARGET = rv64gc()
UNCOMPRESSED = RiscV(TARGET.features - {"c"})


def agree(made: list[tuple[Function, list[Any]]], target: RiscV = TARGET) -> list[Compiled]:
    """All in one emulated program: arrays and results are the interpreter's."""
    calls = [(compile(f, target, Settings(prove=False)), copy.deepcopy(args)) for f, args in made]
    found = emulate.run_many(calls)
    for (f, args), (_, mine), got in zip(made, calls, found, strict=True):
        with np.errstate(all="ignore"):
            want = interpret(f, *args)
        assert want is None or equal(got, want), f"{f.name}: {got!r} for {want!r}"
        for a, b in zip(mine, args, strict=True):
            if isinstance(a, np.ndarray) and not equal(a, b):
                places = np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))
                raise AssertionError(f"{f.name}: at {places[:5].tolist()} {[a[tuple(p)] for p in places[:5]]} for {[b[tuple(p)] for p in places[:5]]}")
    return [code for code, _ in calls]


@pytest.mark.parametrize("t", [U8, I32, I64, F32, F64], ids=str)
def test_addresses_that_no_pass_has_brought_within_reach(t: Type) -> None:
    """An address may have any displacement, byte by byte around what a load reaches; with an index too."""
    f = Function("far", VOID)
    x, y = (f.array_param(name, t, 1) for name in "xy")
    y.written = True
    middle, zero = f.param(I64, "middle"), f.param(I64, "zero")
    base = f.register(PTR)
    f.code.append(Instr(ops.ADD, PTR, base, [x.base, middle]))
    n = 0
    for edge, near in itertools.product((-4096, -2048, 2047, 2048, 4096), (-16, -8, -4, -1, 0, 1, 4, 8, 16)):
        disp = edge + near
        if disp % t.size:
            continue
        for indexed in (False, True):
            operands = [base, zero] if indexed else [base]
            at = Mem(indexed, t.size if indexed else 1, disp, t.size)
            v, p, w = f.register(t), f.register(PTR), f.register(t)
            f.code.append(Instr(ops.LOAD_AT, t, v, list(operands), mem=at))
            f.code.append(Instr(ops.STORE_AT, t, NONE, [v, y.base], mem=Mem(False, 1, n * t.size, t.size)))
            f.code.append(Instr(ops.ADDRESS, PTR, p, list(operands), mem=at))
            f.code.append(Instr(ops.LOAD_AT, t, w, [p], mem=Mem(False, 1, t.size, t.size)))
            f.code.append(Instr(ops.STORE_AT, t, NONE, [w, y.base], mem=Mem(False, 1, (n + 1) * t.size, t.size)))
            n += 2
    values = (np.arange(10_240 // t.size) * 37 % 251).astype(t.dtype)
    agree([(f, [values, np.zeros(n, t.dtype), 5120, 0])])


@pytest.mark.parametrize("t", [I32, U32, I64, U64, F32, F64], ids=str)
def test_constants_of_every_shape_without_compressed_instructions(t: Type) -> None:
    agree([boundaries.constants(t, 1)], UNCOMPRESSED)


@pytest.mark.parametrize("t", [I64, F64, F32], ids=str)
def test_frames_around_2048_bytes(t: Type) -> None:
    def taken(count: int) -> int:
        frame = compile(boundaries.crowd(t, count)[0], TARGET, Settings(prove=False)).function.frame
        assert frame is not None
        return frame.size + 8 * len(frame.saved)

    full = next(count for count in range(255, 290) if taken(count) >= 2032)
    made = [boundaries.crowd(t, count) for count in (40, *range(full - 4, full + 6), full + 256, full + 258)]
    agree(made)


@pytest.mark.parametrize("t", [I64, F64], ids=str)
@pytest.mark.parametrize("parameters", [8, 30, 95, 110])
def test_stack_arguments_beyond_2048_bytes(t: Type, parameters: int) -> None:
    """Above a frame of any size, in functions that keep ``ra`` in its register and others."""
    agree([boundaries.crowd(t, count, parameters) for count in (1, 30, 150, 250)])


def test_the_last_stack_argument_on_both_sides_of_2048_bytes() -> None:
    """Word by word, in leaves that have no other reason to keep ``ra``."""
    made = [boundaries.crowd(F64, count, 30) for count in range(180, 194)]
    keeps = [any(text.startswith(("sd ra", "c.sdsp ra")) for _, _, text, _ in TARGET.listing(code.machine)) for code in agree(made)]
    assert not keeps[0] and keeps[-1]


@pytest.mark.parametrize("target", [TARGET, UNCOMPRESSED], ids=["compressed", "not compressed"])
def test_branches_of_every_length(target: RiscV) -> None:
    """Around 256 bytes, 2 and 4 KiB."""
    agree([boundaries.far([*range(48, 70), *range(500, 516)], shifts=2), boundaries.far(list(range(1010, 1026)), shifts=2)], target)


@pytest.fixture
def long_subtractions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subtractions of f32 are followed by 96 bytes that do nothing: a mebibyte of code takes a minute to compile otherwise."""
    f = Function("any", VOID)
    operand = f.register(F32)
    rule = TARGET.rule(f, Instr(ops.SUB, F32, f.register(F32), [operand, operand]))
    emit = rule.emit

    def emit_long(asm: RiscVAssembler, function: Function, instr: Instr) -> None:
        emit(asm, function, instr)
        for _ in range(24):
            asm.emit(instructions.XORI, ZERO, ZERO, 0)

    monkeypatch.setattr(rule, "emit", emit_long)


@pytest.mark.parametrize("calls", [False, True], ids=["leaf", "calls"])
@pytest.mark.usefixtures("long_subtractions")
def test_branches_and_calls_beyond_a_mebibyte(calls: bool) -> None:
    """Such a branch goes by way of ``ra``, which a leaf would not keep otherwise."""
    f, args = boundaries.far([11_200, 3], ops.SUB, -1)
    if calls:
        g = Function("called", I64)
        g.code = [Instr(ops.RET, I64, NONE, [g.const(I64, 7)])]
        f.result = I64
        f.callees.append(Callee("called", [], I64, function=g))
        first, last, total = f.register(I64), f.register(I64), f.register(I64)
        f.code.insert(0, Instr(ops.CALL, I64, first, []))
        f.code += [Instr(ops.CALL, I64, last, []), Instr(ops.ADD, I64, total, [first, last]), Instr(ops.RET, I64, NONE, [total])]
    (compiled,) = agree([(f, args)])
    assert compiled.machine.code_size > 1 << 20
