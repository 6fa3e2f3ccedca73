"""Emission of the division of integer lanes, for which the machine has no instruction."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.x86.assembler import ALWAYS, EQUAL, NOT_SIGN, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import X86Assembler, width
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type

_RAX: Final = 0
_RDX: Final = 2
_RSP: Final = 4
#: Bytes below the stack pointer that stay untouched (see operands.RED_ZONE), and two vectors' room below them.
_ROOM: Final = 128 + 128


class DivideLanes:
    """Integer division and remainder of lanes, one after the other in a loop over copies on the stack; two scratch integers.

    0 divides to 0, and the most negative number by -1 wraps, as the operations' rows have it.
    """

    __slots__ = ("floor", "remainder", "type")

    def __init__(self, type_: Type, op: ops.Op) -> None:
        self.type = type_
        self.floor = type_.signed and (op is ops.DIV_FLOOR or op is ops.REM_FLOOR)
        self.remainder = op is ops.REM_TRUNC or op is ops.REM_FLOOR

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_, line = self.type, instr.line
        a, b, index, divisor = (CODES[x] for x in instr.args)
        shape = width(type_)
        bits = type_.bits
        size = bits // 8
        r = "r64" if bits == 64 else "r32"
        rr = f"{r},{r}"
        load = lookup("MOV", f"{r},m{bits}") if bits >= 32 else lookup("MOVSX" if type_.signed else "MOVZX", f"r32,m{bits}")
        top, minus, zero, done = asm.new_label(), asm.new_label(), asm.new_label(), asm.new_label()
        asm.emit(lookup("LEA", "r64,m"), (_RSP,), M(_RSP, NO_REGISTER, 1, -_ROOM), line=line)
        asm.emit(lookup("VMOVDQU" if shape != "zmm" else "VMOVDQU64", f"m,{shape}"), (a,), M(_RSP), line=line)
        asm.emit(lookup("VMOVDQU" if shape != "zmm" else "VMOVDQU64", f"m,{shape}"), (b,), M(_RSP, NO_REGISTER, 1, 64), line=line)
        asm.emit(lookup("MOV", "r32,imm32"), (index,), None, type_.lanes - 1, line=line)
        asm.label(top)
        asm.emit(load, (divisor,), M(_RSP, index, size, 64), line=line)
        asm.emit(load, (_RAX,), M(_RSP, index, size), line=line)
        asm.emit(lookup("TEST", rr), (divisor, divisor), line=line)
        asm.jump(EQUAL, zero, line)
        if type_.signed:
            asm.emit(lookup("CMP", f"{r},imm"), (divisor,), None, -1, line=line)
            asm.jump(EQUAL, minus, line)
            asm.emit(lookup("CQO" if bits == 64 else "CDQ"), line=line)
            asm.emit(lookup("IDIV", r), (divisor,), line=line)
        else:
            asm.emit(lookup("XOR", "r32,r32"), (_RDX, _RDX), line=line)
            asm.emit(lookup("DIV", r), (divisor,), line=line)
        result = _RDX if self.remainder else _RAX
        if self.floor:
            # Something is left over whose sign is not the divisor's: one step further down.
            asm.emit(lookup("TEST", rr), (_RDX, _RDX), line=line)
            asm.jump(EQUAL, done, line)
            signs = _RAX if self.remainder else _RDX
            if self.remainder:
                asm.emit(lookup("MOV", rr), (signs, _RDX), line=line)
            asm.emit(lookup("XOR", rr), (signs, divisor), line=line)
            asm.jump(NOT_SIGN, done, line)
            if self.remainder:
                asm.emit(lookup("ADD", rr), (_RDX, divisor), line=line)
            else:
                asm.emit(lookup("SUB", f"{r},imm"), (_RAX,), None, 1, line=line)
        asm.jump(ALWAYS, done, line)
        if type_.signed:
            # By -1: the quotient is the negative, which wraps where idiv would trap; nothing is left over.
            asm.label(minus)
            if not self.remainder:
                asm.emit(lookup("NEG", r), (_RAX,), line=line)
                asm.jump(ALWAYS, done, line)
        asm.label(zero)
        asm.emit(lookup("XOR", "r32,r32"), (result, result), line=line)
        asm.label(done)
        asm.emit(lookup("MOV", f"m{bits},r{bits}"), (result,), M(_RSP, index, size), line=line)
        asm.emit(lookup("SUB", "r32,imm"), (index,), None, 1, line=line)
        asm.jump(NOT_SIGN, top, line)
        asm.emit(lookup("VMOVDQU" if shape != "zmm" else "VMOVDQU64", f"{shape},m"), (CODES[instr.dst],), M(_RSP), line=line)
        asm.emit(lookup("LEA", "r64,m"), (_RSP,), M(_RSP, NO_REGISTER, 1, _ROOM), line=line)
