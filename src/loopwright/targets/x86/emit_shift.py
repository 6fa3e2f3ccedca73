"""Emission of shifts, of scalars and lane by lane."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.sequences import shift_count
from loopwright.targets.x86.assembler import Form, lookup
from loopwright.targets.x86.emit_lanes import bitwise, by_immediate, repeated, three
from loopwright.targets.x86.emit_scalar import immediate_value, register_name
from loopwright.targets.x86.emit_vector import width
from loopwright.targets.x86.operands import X86Assembler
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type

#: The lower and the upper byte, the lower and the upper word of what is twice as wide.
_LOW_BYTES: Final = b"\xff\x00"
_HIGH_BYTES: Final = b"\x00\xff"
_LOW_WORDS: Final = b"\xff\xff\x00\x00"
_HIGH_WORDS: Final = b"\x00\x00\xff\xff"


class Shift:
    """Shifts: by an immediate in place, by a register with SHLX, SARX, SHRX (BMI2), which take the count modulo the width."""

    __slots__ = ("by_imm", "by_register")

    def __init__(self, left: bool, type_: Type) -> None:
        r = register_name(type_)
        name = "SHL" if left else "SAR" if type_.signed else "SHR"
        self.by_imm = lookup(name, f"{r},imm")
        self.by_register = lookup(name + "X", f"{r},{r},{r}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = instr.args[:2]
        if b < 0:
            asm.emit(self.by_imm, (CODES[instr.dst],), None, immediate_value(f, b) & (instr.type.bits - 1), line=instr.line)
        else:
            asm.emit(self.by_register, (CODES[instr.dst], CODES[a], CODES[b]), line=instr.line)


class ShiftAnyCount:
    """Shifts by counts of any size: by the width or more nothing is left but, of signed numbers to the right, the sign."""

    __slots__ = ("by_imm", "by_register", "cut", "fill", "r", "subtract")

    def __init__(self, left: bool, type_: Type) -> None:
        r = self.r = register_name(type_)
        name = "SHL" if left else "SAR" if type_.signed else "SHR"
        self.by_imm = lookup(name, f"{r},imm")
        self.by_register = lookup(name + "X", f"{r},{r},{r}")
        self.fill = type_.signed and not left
        self.subtract = lookup("SBB", f"{r},{r}")
        self.cut = lookup("CMOVB", f"{r},{r}") if self.fill else lookup("AND", f"{r},{r}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_, line = instr.type, instr.line
        a, b = instr.args[:2]
        d = CODES[instr.dst]
        bits = type_.bits
        if b < 0:
            count = shift_count(type_, immediate_value(f, b))
            if count < bits or self.fill:
                asm.emit(self.by_imm, (d,), None, min(count, bits - 1), line=line)
            else:
                asm.emit(lookup("XOR", "r32,r32"), (d, d), line=line)
            return
        n, t = CODES[b], CODES[instr.args[2]]
        if self.fill:
            # The lesser of the count and the width less one.
            asm.emit(lookup("MOV", "r32,imm32"), (t,), None, bits - 1, line=line)
            asm.emit(lookup("CMP", f"{self.r},imm"), (n,), None, bits - 1, line=line)
            asm.emit(self.cut, (t, n), line=line)
            asm.emit(self.by_register, (d, CODES[a], t), line=line)
            return
        # The borrow of the comparison makes ones where the count is below the width, zeros elsewhere.
        asm.emit(self.by_register, (d, CODES[a], n), line=line)
        asm.emit(lookup("CMP", f"{self.r},imm"), (n,), None, bits, line=line)
        asm.emit(self.subtract, (t, t), line=line)
        asm.emit(self.cut, (d, t), line=line)


class ShiftImmediate:
    """``dst = a shifted by a constant``; the instruction itself gives what any count means."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        count = shift_count(instr.type, immediate_value(f, instr.args[1]))
        asm.emit(self.form, (CODES[instr.dst], CODES[instr.args[0]]), None, count, line=instr.line)


class ShiftBytes:
    """Bytes shifted by a constant: as 16-bit lanes, what came over from the neighbour masked away."""

    __slots__ = ("left", "shape", "signed")

    def __init__(self, type_: Type, left: bool) -> None:
        self.shape = width(type_)
        self.left = left
        self.signed = type_.signed

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        count = shift_count(instr.type, immediate_value(f, instr.args[1]))
        d, shape, line = CODES[instr.dst], self.shape, instr.line
        fill = self.signed and not self.left
        if count > 7 and not fill:
            asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (d, d, d), line=line)
            return
        count = min(count, 7)
        asm.emit(by_immediate("VPSLLW" if self.left else "VPSRLW", shape), (d, CODES[instr.args[0]]), None, count, line=line)
        kept = 0xFF << count & 0xFF if self.left else 0xFF >> count
        asm.emit(bitwise("VPAND", shape), (d, d), repeated(asm, bytes((kept,)), shape), line=line)
        if fill:
            # (x ^ sign) - sign spreads the sign bit, wherever it now is.
            sign = repeated(asm, bytes((0x80 >> count,)), shape)
            asm.emit(bitwise("VPXOR", shape), (d, d), sign, line=line)
            asm.emit(three("VPSUBB", shape), (d, d), sign, line=line)


class ShiftBytesVariable:
    """AVX-512: bytes shifted lane by lane, those in even places and those in odd ones as 16-bit lanes. Two scratch vectors."""

    __slots__ = ("left", "shape", "signed")

    def __init__(self, type_: Type, left: bool) -> None:
        self.shape = width(type_)
        self.left = left
        self.signed = type_.signed

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        shape, line = self.shape, instr.line
        d, a, n, t, u = CODES[instr.dst], *(CODES[r] for r in instr.args)
        low, high = repeated(asm, _LOW_BYTES, shape), repeated(asm, _HIGH_BYTES, shape)
        by = three("VPSLLVW" if self.left else "VPSRAVW" if self.signed else "VPSRLVW", shape)
        join = lookup("VPTERNLOGD", f"{shape},{shape},{shape},imm")
        asm.emit(bitwise("VPAND", shape), (t, n), low, line=line)
        if self.left:
            asm.emit(by, (t, a, t), line=line)
        elif self.signed:
            asm.emit(by_immediate("VPSLLW", shape), (u, a), None, 8, line=line)
            asm.emit(by, (t, u, t), line=line)
            asm.emit(by_immediate("VPSRLW", shape), (t, t), None, 8, line=line)
        else:
            asm.emit(bitwise("VPAND", shape), (u, a), low, line=line)
            asm.emit(by, (t, u, t), line=line)
        asm.emit(by_immediate("VPSRLW", shape), (u, n), None, 8, line=line)
        if self.left:
            asm.emit(bitwise("VPAND", shape), (d, a), high, line=line)
            asm.emit(by, (d, d, u), line=line)
            # d | (t & low)
            asm.emit(join, (d, t), low, 0xF8, line=line)
        else:
            asm.emit(by, (d, a, u), line=line)
            # (d & high) | t
            asm.emit(join, (d, t), high, 0xEC, line=line)


class ShiftWords:
    """AVX2: 16-bit lanes shifted lane by lane, those in even places and those in odd ones as 32-bit lanes. Two scratch vectors."""

    __slots__ = ("left", "shape", "signed")

    def __init__(self, type_: Type, left: bool) -> None:
        self.shape = width(type_)
        self.left = left
        self.signed = type_.signed

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        shape, line = self.shape, instr.line
        d, a, n, t, u = CODES[instr.dst], *(CODES[r] for r in instr.args)
        low = repeated(asm, _LOW_WORDS, shape)
        by = three("VPSLLVD" if self.left else "VPSRAVD" if self.signed else "VPSRLVD", shape)
        asm.emit(three("VPAND", shape), (t, n), low, line=line)
        if self.left:
            asm.emit(by, (t, a, t), line=line)
        elif self.signed:
            asm.emit(by_immediate("VPSLLD", shape), (u, a), None, 16, line=line)
            asm.emit(by_immediate("VPSRAD", shape), (u, u), None, 16, line=line)
            asm.emit(by, (t, u, t), line=line)
        else:
            asm.emit(three("VPAND", shape), (u, a), low, line=line)
            asm.emit(by, (t, u, t), line=line)
        asm.emit(by_immediate("VPSRLD", shape), (u, n), None, 16, line=line)
        if self.left:
            asm.emit(three("VPAND", shape), (d, a), repeated(asm, _HIGH_WORDS, shape), line=line)
            asm.emit(by, (d, d, u), line=line)
        else:
            asm.emit(by, (d, a, u), line=line)
        asm.emit(lookup("VPBLENDW", f"{shape},{shape},{shape},imm"), (d, t, d), None, 0b10101010, line=line)


class ShiftSignedQuads:
    """AVX2: signed 64-bit lanes shifted right."""

    __slots__ = ("shape",)

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        shape, line = self.shape, instr.line
        d, a = CODES[instr.dst], CODES[instr.args[0]]
        # A negative number is shifted as its complement, which brings in zeros as it does.
        n, t = CODES[instr.args[1]], CODES[instr.args[2]]
        asm.emit(three("VPXOR", shape), (t, t, t), line=line)
        asm.emit(three("VPCMPGTQ", shape), (t, t, a), line=line)
        asm.emit(three("VPXOR", shape), (d, a, t), line=line)
        asm.emit(three("VPSRLVQ", shape), (d, d, n), line=line)
        asm.emit(three("VPXOR", shape), (d, d, t), line=line)
