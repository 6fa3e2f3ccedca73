"""Integer and pointer operations as RISC-V instructions."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.instructions import Row
from loopwright.targets.riscv.operands import Pair, code_of, constant_of, narrow, wide_compare, width_of
from loopwright.targets.riscv.registers import CODES, ZERO
from loopwright.targets.sequences import shift_count
from loopwright.types import BOOL


def add(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, code_of(a), constant_of(f, b))
    else:
        asm.emit(i.ADDW if type_.bits == 32 else i.ADD, rd, code_of(a), CODES[b])
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def sub(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, code_of(a), -constant_of(f, b))
    else:
        asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, code_of(a), CODES[b])
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def mul(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    factor = int(f.const_values[~b]) if b < 0 else 0
    if factor:
        asm.emit(i.SLLIW if type_.bits == 32 else i.SLLI, rd, code_of(a), factor.bit_length() - 1)
    else:
        asm.emit(i.MULW if type_.bits == 32 else i.MUL, rd, code_of(a), code_of(b))
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


#: Division and remainder by (32-bit arithmetic, signed): narrower values divide in 64 bits.
_DIVIDE: Final[dict[tuple[int, bool], Row]] = {(0, True): i.DIVW, (0, False): i.DIVUW, (1, True): i.DIV, (1, False): i.DIVU}
_REMAINDER: Final[dict[tuple[int, bool], Row]] = {(0, True): i.REMW, (0, False): i.REMUW, (1, True): i.REM, (1, False): i.REMU}


def divide(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Of 32 and 64 bits, by what is not 0."""
    table = _DIVIDE if instr.op is ops.DIV_TRUNC else _REMAINDER
    asm.emit(table[width_of(instr.type), instr.type.signed], CODES[instr.dst], code_of(instr.args[0]), code_of(instr.args[1]))


def mul_high(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Of 64 bits."""
    asm.emit(i.MULH if instr.type.signed else i.MULHU, CODES[instr.dst], code_of(instr.args[0]), code_of(instr.args[1]))


def neg(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd = CODES[instr.dst]
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, ZERO, code_of(instr.args[0]))
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def abs_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """(a xor sign) - sign, with the sign spread over the register."""
    type_ = instr.type
    rd = CODES[instr.dst]
    a = code_of(instr.args[0])
    if not type_.signed:
        asm.move(rd, a)
        return
    sign = CODES[instr.args[1]]
    asm.emit(i.SRAI, sign, a, 63)
    asm.emit(i.XOR, rd, a, sign)
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, rd, sign)
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


_BITWISE: Final[dict[int, Pair]] = {ops.AND.code: (i.AND, i.ANDI), ops.OR.code: (i.OR, i.ORI), ops.XOR.code: (i.XOR, i.XORI)}


def bitwise(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    registers, immediate = _BITWISE[instr.op.code]
    if b < 0:
        asm.emit(immediate, CODES[instr.dst], code_of(a), constant_of(f, b))
    else:
        asm.emit(registers, CODES[instr.dst], code_of(a), CODES[b])


def andnot(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd = CODES[instr.dst]
    asm.emit(i.XORI, rd, code_of(instr.args[0]), -1)
    asm.emit(i.AND, rd, rd, code_of(instr.args[1]))


def not_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd, a = CODES[instr.dst], code_of(instr.args[0])
    if type_ is BOOL:
        asm.emit(i.XORI, rd, a, 1)
    elif type_.bits == 8 and not type_.signed:
        asm.emit(i.XORI, rd, a, 255)
    else:
        asm.emit(i.XORI, rd, a, -1)
        if type_.bits < 32 and not type_.signed:
            narrow(asm, type_, rd, rd)


#: Shifts of 32- and 64-bit integers by a register and by a constant; they take the count modulo the width by themselves.
_LEFT: Final[tuple[Pair, Pair]] = ((i.SLLW, i.SLLIW), (i.SLL, i.SLLI))
_RIGHT_SIGNED: Final[tuple[Pair, Pair]] = ((i.SRAW, i.SRAIW), (i.SRA, i.SRAI))
_RIGHT_UNSIGNED: Final[tuple[Pair, Pair]] = ((i.SRLW, i.SRLIW), (i.SRL, i.SRLI))


def shift(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """By counts of any size. Types narrower than 32 bits are shifted in 64, which have room for what is shifted out of them."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    left = instr.op is ops.SHL
    by_register, by_constant = (_LEFT if left else _RIGHT_SIGNED if type_.signed else _RIGHT_UNSIGNED)[width_of(type_)]
    width = 32 if type_.bits == 32 else 64
    fill = type_.signed and not left
    rd = CODES[instr.dst]
    if b < 0:
        count = shift_count(type_, int(f.const_values[~b]))
        if count < type_.bits or fill:
            asm.emit(by_constant, rd, code_of(a), min(count, type_.bits - 1))
        else:
            asm.move(rd, ZERO)
    else:
        n, inside = CODES[b], CODES[instr.args[2]]
        asm.emit(i.SLTIU, inside, n, width)
        if fill:
            # A count of all ones where the given one is too large.
            asm.emit(i.ADDI, inside, inside, -1)
            asm.emit(i.OR, inside, inside, n)
            asm.emit(by_register, rd, code_of(a), inside)
        else:
            asm.emit(by_register, rd, code_of(a), n)
            asm.emit(i.SUB, inside, ZERO, inside)
            asm.emit(i.AND, rd, rd, inside)
    if left and type_.bits < 32:
        narrow(asm, type_, rd, rd)


def shift_modulo(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """By counts modulo the width."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    left = instr.op is ops.SHL_MODULO
    by_register, by_constant = (_LEFT if left else _RIGHT_SIGNED if type_.signed else _RIGHT_UNSIGNED)[width_of(type_)]
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(by_constant, rd, code_of(a), int(f.const_values[~b]) & type_.bits - 1)
    elif type_.bits >= 32:
        asm.emit(by_register, rd, code_of(a), CODES[b])
    else:
        count = CODES[instr.args[2]]
        asm.emit(i.ANDI, count, CODES[b], type_.bits - 1)
        asm.emit(by_register, rd, code_of(a), count)
    if left and type_.bits < 32:
        narrow(asm, type_, rd, rd)


def compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Integers and pointers, to a bool."""
    condition = instr.op.name
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    rd = CODES[instr.dst]
    if condition == "eq" or condition == "ne":
        if a == ZERO:
            a, b = b, a
        difference = a
        if b != ZERO:
            asm.emit(i.XOR, rd, a, b)
            difference = rd
        if condition == "eq":
            asm.emit(i.SLTIU, rd, difference, 1)
        else:
            asm.emit(i.SLTU, rd, ZERO, difference)
        return
    if condition == "gt" or condition == "le":
        a, b = b, a
    asm.emit(i.SLTU if wide_compare(instr.type) else i.SLT, rd, a, b)
    if condition == "le" or condition == "ge":
        asm.emit(i.XORI, rd, rd, 1)


def jump_compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """A fused comparison and jump of integers or pointers."""
    condition = instr.op.compare
    condition = ops.ORDERED_EQUAL.get(condition, condition)
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    if condition == "eq" or condition == "ne":
        if a == ZERO:
            a, b = b, a
        row = i.BEQ if condition == "eq" else i.BNE
    else:
        if condition == "gt" or condition == "le":
            a, b = b, a
        less = condition == "lt" or condition == "gt"
        row = (i.BLTU if less else i.BGEU) if wide_compare(instr.type) else i.BLT if less else i.BGE
    asm.branch(row, a, b, instr.imm)
