"""Emission of operations on scalar floats."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.assembler import EQ, GE, GT, HI, LE, LS, LT, MI, NE, PL
from loopwright.targets.aarch64.operands import width
from loopwright.targets.aarch64.registers import CODES, ZR
from loopwright.types import Type

#: Conditions after FCMP; where an operand is NaN none of the first six holds but ``ne`` (Arm ARM, C6.2, FCMP: it sets carry and overflow).
_CONDITIONS: Final = {"eq": EQ, "ne": NE, "lt": MI, "le": LS, "gt": GT, "ge": GE, "nlt": PL, "nle": HI, "ngt": LE, "nge": LT}


def _compare(asm: AArch64Assembler, type_: Type, a: int, b: int) -> None:
    """Set the flags; a constant is 0.0."""
    if b < 0:
        asm.emit(i.FCMP_0[width(type_)], CODES[a])
    else:
        asm.emit(i.FCMP[width(type_)], CODES[a], CODES[b])


def comparison(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    _compare(asm, instr.type, instr.args[0], instr.args[1])
    asm.set_if(_CONDITIONS[instr.op.name], CODES[instr.dst])


def jump_compare(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    _compare(asm, instr.type, instr.args[0], instr.args[1])
    asm.branch(i.B_COND, instr.imm, _CONDITIONS[instr.op.compare])


def select(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    condition, a, b = (CODES[x] for x in instr.args)
    asm.emit(i.SUBS_IMM["w"], ZR, condition, 0, 0)
    asm.emit(i.FCSEL[width(instr.type)], CODES[instr.dst], a, b, NE)


def min_max(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Python's: b only where it compares less (greater). FMIN and FMAX treat NaN and signed zeros otherwise; with ``fastmath`` that does not count."""
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    shape = width(instr.type)
    least = instr.op is ops.MIN
    if f.options.fastmath:
        asm.emit((i.FMINNM if least else i.FMAXNM)[shape], CODES[instr.dst], a, b)
        return
    asm.emit(i.FCMP[shape], b, a)
    asm.emit(i.FCSEL[shape], CODES[instr.dst], b, a, MI if least else GT)


def from_int(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Correctly rounded, of integers of any width."""
    source = instr.source
    row = (i.SCVTF if source.signed else i.UCVTF)[f"{width(instr.type)}.{width(source)}"]
    asm.emit(row, CODES[instr.dst], CODES[instr.args[0]])


def to_int(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Towards zero; what is outside becomes the nearest bound, NaN 0 (Arm ARM, shared/functions/float, FPToFixed)."""
    to = instr.type
    row = (i.FCVTZS if to.signed else i.FCVTZU)[f"{width(to)}.{width(instr.source)}"]
    asm.emit(row, CODES[instr.dst], CODES[instr.args[0]])


def to_short(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """f16 to 16 bits in a vector register, saturating there as above, and from there extended."""
    signed = instr.type.signed
    spare = CODES[instr.args[1]]
    asm.emit((i.FCVTZS_S if signed else i.FCVTZU_S)["h"], spare, CODES[instr.args[0]])
    if signed:
        asm.emit(i.SMOV["w.h"], CODES[instr.dst], spare, 0)
    else:
        asm.emit(i.UMOV["h"], CODES[instr.dst], spare, 0)


def convert_floats(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    rd, rn = CODES[instr.dst], CODES[instr.args[0]]
    if instr.type is not instr.source:
        asm.emit(i.FCVT[f"{width(instr.type)}.{width(instr.source)}"], rd, rn)
    else:
        asm.move_vector(rd, rn)


def from_half(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """An f32 from the bits of an f16 in an integer register."""
    rd = CODES[instr.dst]
    asm.emit(i.FMOV_FROM_INT["s.w"], rd, CODES[instr.args[0]])
    asm.emit(i.FCVT["s.h"], rd, rd)


def to_half(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The bits of an f32 rounded to f16 in an integer register."""
    spare = CODES[instr.args[1]]
    asm.emit(i.FCVT["h.s"], spare, CODES[instr.args[0]])
    asm.emit(i.FMOV_TO_INT["w.s"], CODES[instr.dst], spare)
