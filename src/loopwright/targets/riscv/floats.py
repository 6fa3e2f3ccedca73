"""Floating-point operations as RISC-V instructions (F and D, without Zfa)."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.instructions import DYNAMIC
from loopwright.targets.riscv.operands import (
    DOWN,
    FLOAT_EQ,
    FLOAT_LE,
    FLOAT_LT,
    FROM_BITS,
    NEAREST,
    SIGN,
    SIGN_XOR,
    TOWARDS_ZERO,
    UP,
    Pair,
    float_bits,
    move_float,
    width_of,
)
from loopwright.targets.riscv.registers import CODES, ZERO
from loopwright.types import Type


def _float_test(asm: RiscVAssembler, condition: str, type_: Type, rd: int, a: int, b: int) -> bool:
    """Leave 0 or 1 in ``rd``; returns which of them says that the condition holds."""
    holds = True
    if condition == "ne":
        condition, holds = "eq", False
    elif condition[0] == "n":
        condition, holds = condition[1:], False
    if condition == "gt" or condition == "ge":
        a, b = b, a
    rows = FLOAT_EQ if condition == "eq" else FLOAT_LT if condition in ("lt", "gt") else FLOAT_LE
    asm.emit(rows[width_of(type_)], rd, a, b)
    return holds


def compare_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd = CODES[instr.dst]
    if not _float_test(asm, instr.op.name, instr.type, rd, CODES[instr.args[0]], CODES[instr.args[1]]):
        asm.emit(i.XORI, rd, rd, 1)


def jump_compare_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    test = CODES[instr.args[2]]
    holds = _float_test(asm, instr.op.compare, instr.type, test, CODES[instr.args[0]], CODES[instr.args[1]])
    asm.branch(i.BNE if holds else i.BEQ, test, ZERO, instr.imm)


#: Instructions of f32 and of f64, by operation.
BINARY: Final[dict[int, Pair]] = {
    ops.ADD.code: (i.FADD_S, i.FADD_D),
    ops.SUB.code: (i.FSUB_S, i.FSUB_D),
    ops.MUL.code: (i.FMUL_S, i.FMUL_D),
    ops.DIV.code: (i.FDIV_S, i.FDIV_D),
}
FUSED: Final[dict[int, Pair]] = {
    ops.FMA.code: (i.FMADD_S, i.FMADD_D),
    ops.FMS.code: (i.FMSUB_S, i.FMSUB_D),
    ops.FNMA.code: (i.FNMSUB_S, i.FNMSUB_D),
}


_ROUNDING: Final[dict[int, int]] = {ops.FLOOR.code: DOWN, ops.CEIL.code: UP, ops.TRUNC.code: TOWARDS_ZERO, ops.ROUND.code: NEAREST}


def round_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Through an integer and back, with a's sign; what has no fraction bits (2**23, 2**52 and up, infinities, NaN) stays."""
    a, test, size = CODES[instr.args[0]], CODES[instr.args[1]], CODES[instr.args[2]]
    rd = CODES[instr.dst]
    type_ = instr.type
    width = width_of(type_)
    mode = _ROUNDING[instr.op.code]
    done = asm.new_label()
    asm.load_immediate(test, float_bits(type_, 2.0**23 if width == 0 else 2.0**52))
    asm.emit(FROM_BITS[width], rd, test)
    asm.emit(SIGN_XOR[width], size, a, a)
    asm.emit(FLOAT_LT[width], test, size, rd)
    move_float(asm, type_, rd, a)
    asm.branch(i.BEQ, test, ZERO, done)
    if width == 0:
        asm.emit(i.FCVT_W_S, test, a, mode)
        asm.emit(i.FCVT_S_W, rd, test, DYNAMIC)
    else:
        asm.emit(i.FCVT_L_D, test, a, mode)
        asm.emit(i.FCVT_D_L, rd, test, DYNAMIC)
    asm.emit(SIGN[width], rd, rd, a)
    asm.bind(done)


def div_floor_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Python's a // b: the floor of the exact quotient, which may be one less than that of the rounded one.

    The sign of a - q*b (fused, so its sign is exact) tells; q = 0 leaves a itself, also when b is infinite. From 2**24
    (2**53) on, the rounded quotient is an integer and stays. An infinite a gives NaN, except over 0.
    """
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    test, g, h = (CODES[r] for r in instr.args[2:5])
    rd = CODES[instr.dst]
    type_ = instr.type
    width = width_of(type_)
    large, fused_rest, compare_rest, done = (asm.new_label() for _ in range(4))
    asm.emit(BINARY[ops.DIV.code][width], g, a, b, DYNAMIC)
    asm.load_immediate(test, float_bits(type_, 2.0**24 if width == 0 else 2.0**53))
    asm.emit(FROM_BITS[width], rd, test)
    asm.emit(SIGN_XOR[width], h, g, g)
    asm.emit(FLOAT_LT[width], test, h, rd)
    asm.emit(SIGN[width], rd, g, g)
    asm.branch(i.BEQ, test, ZERO, large)
    if width == 0:
        asm.emit(i.FCVT_W_S, test, g, DOWN)
        asm.emit(i.FCVT_S_W, h, test, DYNAMIC)
    else:
        asm.emit(i.FCVT_L_D, test, g, DOWN)
        asm.emit(i.FCVT_D_L, h, test, DYNAMIC)
    asm.emit(SIGN[width], rd, h, g)
    asm.branch(i.BNE, test, ZERO, fused_rest)
    asm.emit(SIGN[width], h, a, a)
    asm.jump(compare_rest)
    asm.bind(fused_rest)
    asm.emit(FUSED[ops.FNMA.code][width], h, rd, b, a, DYNAMIC)
    asm.bind(compare_rest)
    # Less than 0 where the rest and b have opposite signs.
    asm.emit(SIGN_XOR[width], h, h, b)
    asm.emit(FROM_BITS[width], g, ZERO)
    asm.emit(FLOAT_LT[width], test, h, g)
    asm.branch(i.BEQ, test, ZERO, done)
    asm.load_immediate(test, float_bits(type_, 1.0))
    asm.emit(FROM_BITS[width], g, test)
    asm.emit(BINARY[ops.SUB.code][width], rd, rd, g, DYNAMIC)
    asm.jump(done)
    asm.bind(large)
    asm.emit(FROM_BITS[width], g, ZERO)
    asm.emit(FLOAT_EQ[width], test, b, g)
    asm.branch(i.BNE, test, ZERO, done)
    # a - a: 0, or NaN for an infinity.
    asm.emit(BINARY[ops.SUB.code][width], h, a, a, DYNAMIC)
    asm.emit(BINARY[ops.ADD.code][width], rd, rd, h, DYNAMIC)
    asm.bind(done)
