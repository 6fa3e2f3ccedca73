"""Floating-point operations as RISC-V instructions (F and D, without Zfa)."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.operands import (
    FLOAT_EQ,
    FLOAT_LE,
    FLOAT_LT,
    Pair,
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
