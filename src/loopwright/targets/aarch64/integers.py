"""Emission of operations on integers in general registers."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.assembler import ASR, EQ, GE, GT, HI, HS, LE, LO, LS, LSL, LSR, LT, NE, VC
from loopwright.targets.aarch64.immediates import logical_immediate
from loopwright.targets.aarch64.notation import Family
from loopwright.targets.aarch64.operands import constant_of, register, width
from loopwright.targets.aarch64.registers import CODES, SCRATCH, SCRATCH2, ZR
from loopwright.targets.sequences import shift_count
from loopwright.types import BOOL, Type

_SIGNED: Final = {"eq": EQ, "ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE, "disjoint": EQ, "meets": NE}
_UNSIGNED: Final = {"eq": EQ, "ne": NE, "lt": LO, "le": LS, "gt": HI, "ge": HS, "disjoint": EQ, "meets": NE}


def condition_of(type_: Type, name: str) -> int:
    """The condition of a comparison of integers."""
    name = ops.ORDERED_EQUAL.get(name, name)
    return (_SIGNED if type_.signed else _UNSIGNED)[name]


def fits_add(value: int) -> bool:
    """Whether an addition, subtraction or comparison has room for a number, or for its negative: 12 bits, or 12 bits above 12 zeros."""
    size = abs(value)
    return size < 1 << 12 or (size < 1 << 24 and not size & 0xFFF)


def fits_logical(type_: Type, value: int) -> bool:
    """Whether AND, ORR and EOR have room for a number."""
    bits = 64 if type_.bits == 64 else 32
    return logical_immediate(value & (1 << bits) - 1, bits) is not None


def _immediate(asm: AArch64Assembler, plus: Family, minus: Family, shape: str, rd: int, rn: int, value: int) -> None:
    size = abs(value)
    row = (plus if value >= 0 else minus)[shape]
    if size < 1 << 12:
        asm.emit(row, rd, rn, size, 0)
    else:
        asm.emit(row, rd, rn, size >> 12, 12)


def add_sub(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    a, b = instr.args
    shape = width(instr.type)
    rd = CODES[instr.dst]
    adds = instr.op is ops.ADD
    if b < 0 and a >= 0 and fits_add(constant_of(f, b)):
        value = constant_of(f, b)
        _immediate(asm, i.ADD_IMM, i.SUB_IMM, shape, rd, CODES[a], value if adds else -value)
        return
    asm.emit((i.ADD if adds else i.SUB)[shape], rd, register(asm, f, a), register(asm, f, b, SCRATCH2), LSL, 0)


def multiply(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    a, b = instr.args
    asm.emit(i.MADD[width(instr.type)], CODES[instr.dst], register(asm, f, a), register(asm, f, b, SCRATCH2), ZR)


def multiply_high(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Of 64 bits."""
    a, b = instr.args
    asm.emit(i.SMULH if instr.type.signed else i.UMULH, CODES[instr.dst], register(asm, f, a), register(asm, f, b, SCRATCH2))


def saturated(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """A sum or difference, or where it overflows the bound on the side of the first operand: 0, all ones, or its sign spread, with the top bit flipped."""
    type_ = instr.type
    shape = width(type_)
    rd, a, b = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
    adds = instr.op is ops.ADD_SATURATED
    asm.emit((i.ADDS if adds else i.SUBS)[shape], rd, a, b, LSL, 0)
    if not type_.signed:
        # (Of a subtraction the carry is set where nothing was borrowed.)
        asm.emit((i.CSINV if adds else i.CSEL)[shape], rd, rd, ZR, LO if adds else HS)
        return
    bits = type_.bits
    asm.shift(ASR, shape, SCRATCH, a, bits - 1)
    asm.emit(i.EOR_IMM[shape], SCRATCH, SCRATCH, (1 << bits - 1) - 1)
    asm.emit(i.CSEL[shape], rd, rd, SCRATCH, VC)


def abs_diff(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """One difference or the other."""
    shape = width(instr.type)
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    asm.emit(i.SUB[shape], SCRATCH, b, a, LSL, 0)
    asm.emit(i.SUBS[shape], CODES[instr.dst], a, b, LSL, 0)
    asm.emit(i.CSEL[shape], CODES[instr.dst], CODES[instr.dst], SCRATCH, condition_of(instr.type, "ge"))


_LOGICAL: Final = {ops.AND.code: (i.AND, i.AND_IMM), ops.OR.code: (i.ORR, i.ORR_IMM), ops.XOR.code: (i.EOR, i.EOR_IMM)}


def logical(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    a, b = instr.args
    type_ = instr.type
    shape = width(type_)
    whole, immediate = _LOGICAL[instr.op.code]
    if b < 0 and a >= 0 and fits_logical(type_, constant_of(f, b)):
        asm.emit(immediate[shape], CODES[instr.dst], CODES[a], constant_of(f, b) & (1 << (64 if shape == "x" else 32)) - 1)
    else:
        asm.emit(whole[shape], CODES[instr.dst], register(asm, f, a), register(asm, f, b, SCRATCH2), LSL, 0)


def and_not(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """~a & b."""
    a, b = instr.args
    asm.emit(i.BIC[width(instr.type)], CODES[instr.dst], register(asm, f, b), register(asm, f, a, SCRATCH2), LSL, 0)


def complement(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    if instr.type is BOOL:
        asm.emit(i.EOR_IMM["w"], CODES[instr.dst], register(asm, f, instr.args[0]), 1)
    else:
        asm.emit(i.ORN[width(instr.type)], CODES[instr.dst], ZR, register(asm, f, instr.args[0]), LSL, 0)


def negate(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.emit(i.SUB[width(instr.type)], CODES[instr.dst], ZR, register(asm, f, instr.args[0]), LSL, 0)


def absolute(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    shape = width(instr.type)
    a = register(asm, f, instr.args[0])
    asm.emit(i.SUBS_IMM[shape], ZR, a, 0, 0)
    asm.emit(i.CSNEG[shape], CODES[instr.dst], a, a, GE)


# --- comparisons and choices ------------------------------------------------------------------------------------


def compare(asm: AArch64Assembler, f: Function, type_: Type, a: int, b: int) -> None:
    """Set the flags as ``a`` compares to ``b``."""
    shape = width(type_)
    if b < 0:
        value = constant_of(f, b)
        if fits_add(value):
            _immediate(asm, i.SUBS_IMM, i.ADDS_IMM, shape, ZR, register(asm, f, a, SCRATCH2), value)
            return
    asm.emit(i.SUBS[shape], ZR, register(asm, f, a), register(asm, f, b, SCRATCH2), LSL, 0)


def test(asm: AArch64Assembler, f: Function, type_: Type, a: int, b: int) -> None:
    """Set the flags as what ``a`` and ``b`` have in common is 0 or not."""
    shape = width(type_)
    if b < 0:
        value = constant_of(f, b)
        if fits_logical(type_, value):
            asm.emit(i.ANDS_IMM[shape], ZR, register(asm, f, a, SCRATCH2), value & (1 << (64 if shape == "x" else 32)) - 1)
            return
    asm.emit(i.ANDS[shape], ZR, register(asm, f, a), register(asm, f, b, SCRATCH2), LSL, 0)


def comparison(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """A bool from a comparison."""
    compare(asm, f, instr.type, instr.args[0], instr.args[1])
    asm.set_if(condition_of(instr.type, instr.op.name), CODES[instr.dst])


def jump_compare(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Compare and branch; with 0 by one instruction where there is one."""
    a, b = instr.args
    type_ = instr.type
    name = ops.ORDERED_EQUAL.get(instr.op.compare, instr.op.compare)
    shape = width(type_)
    if name in ops.TESTS:
        bit = constant_of(f, b) & (1 << type_.bits) - 1 if b < 0 else 0
        if a >= 0 and bit and bit & (bit - 1) == 0:
            asm.branch(i.TBZ if name == "disjoint" else i.TBNZ, instr.imm, CODES[a], bit.bit_length() - 1)
            return
        test(asm, f, type_, a, b)
        asm.branch(i.B_COND, instr.imm, condition_of(type_, name))
        return
    if b < 0 and a >= 0 and constant_of(f, b) == 0:
        if name == "eq" or name == "ne":
            asm.branch((i.CBZ if name == "eq" else i.CBNZ)[shape], instr.imm, CODES[a])
            return
        if type_.signed and (name == "lt" or name == "ge"):
            asm.branch(i.TBNZ if name == "lt" else i.TBZ, instr.imm, CODES[a], 63 if shape == "x" else 31)
            return
    compare(asm, f, type_, a, b)
    asm.branch(i.B_COND, instr.imm, condition_of(type_, name))


def select(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    condition, a, b = instr.args
    shape = width(instr.type)
    asm.emit(i.SUBS_IMM["w"], ZR, register(asm, f, condition), 0, 0)
    asm.emit(i.CSEL[shape], CODES[instr.dst], register(asm, f, a), register(asm, f, b, SCRATCH2), NE)


def select_compared(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The third operand where the comparison of the first two holds, else the fourth."""
    x, y, a, b = instr.args
    name = ops.CHOICES[instr.op]
    if name in ops.TESTS:
        test(asm, f, instr.source, x, y)
    else:
        compare(asm, f, instr.source, x, y)
    condition = condition_of(instr.source, name)
    asm.emit(i.CSEL[width(instr.type)], CODES[instr.dst], register(asm, f, a), register(asm, f, b), condition)


def min_max(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """b where it is less (greater), a elsewhere."""
    type_ = instr.type
    shape = width(type_)
    a, b = register(asm, f, instr.args[0]), register(asm, f, instr.args[1], SCRATCH2)
    asm.emit(i.SUBS[shape], ZR, b, a, LSL, 0)
    asm.emit(i.CSEL[shape], CODES[instr.dst], b, a, condition_of(type_, "lt" if instr.op is ops.MIN else "gt"))


# --- shifts -------------------------------------------------------------------------------------------------------


def shift(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """By any count: of the width and more nothing is left but the sign."""
    type_ = instr.type
    shape = width(type_)
    a, b = instr.args
    rd = CODES[instr.dst]
    left = instr.op is ops.SHL
    arithmetic = not left and type_.signed
    bits = type_.bits
    if b < 0:
        count = shift_count(type_, constant_of(f, b))
        source = register(asm, f, a)
        if count >= bits:
            if not arithmetic:
                asm.emit(i.ORR[shape], rd, ZR, ZR, LSL, 0)
                return
            count = bits - 1
        asm.shift(LSL if left else ASR if arithmetic else LSR, shape, rd, source, count)
        return
    source, count = register(asm, f, a, SCRATCH2), CODES[b]
    if arithmetic:
        asm.load_immediate(SCRATCH, bits - 1)
        asm.emit(i.SUBS[shape], ZR, count, SCRATCH, LSL, 0)
        asm.emit(i.CSEL[shape], SCRATCH, count, SCRATCH, LO)
        asm.emit(i.ASRV[shape], rd, source, SCRATCH)
        return
    asm.emit(i.SUBS_IMM[shape], ZR, count, bits, 0)
    asm.emit((i.LSLV if left else i.LSRV)[shape], rd, source, count)
    asm.emit(i.CSEL[shape], rd, rd, ZR, LO)


def shift_modulo(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    shape = width(type_)
    a, b = instr.args
    left = instr.op is ops.SHL_MODULO
    if b < 0:
        asm.shift(LSL if left else ASR if type_.signed else LSR, shape, CODES[instr.dst], register(asm, f, a), constant_of(f, b) & type_.bits - 1)
        return
    asm.emit((i.LSLV if left else i.ASRV if type_.signed else i.LSRV)[shape], CODES[instr.dst], register(asm, f, a), CODES[b])


def rotate(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """To the right, as there are; EXTR of a register with itself rotates by a constant (Arm ARM, C6.2, ROR (immediate))."""
    type_ = instr.type
    shape = width(type_)
    a, b = instr.args
    left = instr.op is ops.ROTATE_LEFT
    source = register(asm, f, a)
    if b < 0:
        count = constant_of(f, b)
        asm.emit(i.EXTR[shape], CODES[instr.dst], source, source, (-count if left else count) & type_.bits - 1)
        return
    count = CODES[b]
    if left:
        asm.emit(i.SUB[shape], SCRATCH2, ZR, count, LSL, 0)
        count = SCRATCH2
    asm.emit(i.RORV[shape], CODES[instr.dst], source, count)


def leading_zeros(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.emit(i.CLZ[width(instr.type)], CODES[instr.dst], register(asm, f, instr.args[0]))


def trailing_zeros(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    shape = width(instr.type)
    asm.emit(i.RBIT[shape], SCRATCH, register(asm, f, instr.args[0]))
    asm.emit(i.CLZ[shape], CODES[instr.dst], SCRATCH)


def bit_reverse(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.emit(i.RBIT[width(instr.type)], CODES[instr.dst], register(asm, f, instr.args[0]))


def byte_swap(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.emit(i.REV[width(instr.type)], CODES[instr.dst], register(asm, f, instr.args[0]))


# --- division -----------------------------------------------------------------------------------------------------


def divide(asm: AArch64Assembler, op: ops.Op, type_: Type, rd: int, a: int, b: int, sign: int) -> None:
    """A division or remainder without branches; destroys the assembler's scratch registers and ``sign``.

    SDIV and UDIV give 0 for a divisor of 0, and wrap where the most negative integer is divided by -1 (Arm ARM, C6.2, SDIV).
    """
    shape = width(type_)
    quotient, rest = SCRATCH, SCRATCH2
    remainder = op is ops.REM_TRUNC or op is ops.REM_FLOOR
    floor = type_.signed and (op is ops.DIV_FLOOR or op is ops.REM_FLOOR)
    row = (i.SDIV if type_.signed else i.UDIV)[shape]
    if not remainder and not floor:
        asm.emit(row, rd, a, b)
        return
    asm.emit(row, quotient, a, b)
    asm.emit(i.MSUB[shape], rest, quotient, b, a)
    # By 0 nothing is left over.
    asm.emit(i.SUBS_IMM[shape], ZR, b, 0, 0)
    asm.emit(i.CSEL[shape], rest, ZR, rest, EQ)
    if floor:
        # -1 where something is left over whose sign is not the divisor's.
        asm.emit(i.EOR[shape], sign, rest, b, LSL, 0)
        asm.shift(ASR, shape, sign, sign, 63 if shape == "x" else 31)
        asm.emit(i.SUBS_IMM[shape], ZR, rest, 0, 0)
        asm.emit(i.CSEL[shape], sign, sign, ZR, NE)
    if not remainder:
        asm.emit(i.ADD[shape], rd, quotient, sign, LSL, 0)
    elif floor:
        asm.emit(i.AND[shape], sign, sign, b, LSL, 0)
        asm.emit(i.ADD[shape], rd, rest, sign, LSL, 0)
    else:
        asm.emit(i.ORR[shape], rd, ZR, rest, LSL, 0)


def division(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Of 32 and 64 bits; both operands and the third, a scratch register, are registers."""
    a, b, sign = (CODES[x] for x in instr.args[:3])
    divide(asm, instr.op, instr.type, CODES[instr.dst], a, b, sign)


def crc32c(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    row = i.CRC32C[{8: "b", 16: "h", 32: "w", 64: "x"}[instr.source.bits]]
    asm.emit(row, CODES[instr.dst], register(asm, f, instr.args[0]), register(asm, f, instr.args[1], SCRATCH2))


def popcount(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """In a vector register: the bits of each byte, then the sum of the bytes that count. One scratch vector."""
    type_ = instr.type
    rd, t = CODES[instr.dst], CODES[instr.args[1]]
    asm.emit(i.FMOV_FROM_INT["d.x" if type_.bits == 64 else "s.w"], t, register(asm, f, instr.args[0]))
    asm.emit(i.CNT["8b"], t, t)
    if type_.bits == 16:
        asm.emit(i.UADDLP["8b"], t, t)
    elif type_.bits > 16:
        asm.emit(i.ADDV["8b"], t, t)
    asm.emit(i.UMOV["h" if type_.bits == 16 else "b"], rd, t, 0)


# --- conversions ----------------------------------------------------------------------------------------------------


def convert_ints(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    to, source = instr.type, instr.source
    rd, a = CODES[instr.dst], register(asm, f, instr.args[0])
    if to is BOOL:
        asm.emit(i.SUBS_IMM[width(source)], ZR, a, 0, 0)
        asm.set_if(NE, rd)
    elif to.bits == 64:
        if source.bits == 64:
            asm.move(rd, a)
        else:
            asm.extend(rd, a, 32, source.signed)
    elif to.bits == 32 or (source.bits <= to.bits and source.signed == to.signed):
        if rd != a:
            asm.emit(i.ORR["w"], rd, ZR, a, LSL, 0)
    else:
        asm.extend(rd, a, to.bits, to.signed, "w")
