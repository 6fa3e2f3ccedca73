"""Emission of conversions of floats to integers that look at what does not fit, of scalars and lane by lane."""

from __future__ import annotations

import struct
from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.x86.assembler import Form, lookup
from loopwright.targets.x86.operands import LETTER, X86Assembler, constant_operand, width
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type

#: Predicates of VCMPPS and VCMPPD (SDM volume 2, table 3-1): neither is NaN; greater or equal, false of NaN.
_ORDERED: Final = 0x07
_NOT_BELOW: Final = 0x1D


def three(mnemonic: str, shape: str) -> Form:
    """The form with three registers of one width."""
    return lookup(mnemonic, f"{shape},{shape},{shape}")


def same(mnemonic: str, count: int, type_: Type) -> Form:
    """The form of a mnemonic with ``count`` vector operands of one width."""
    return lookup(mnemonic, ",".join([width(type_)] * count))


class DoublesToQuads:
    """AVX2: f64 to i64 truncated, one lane after the other. Two scratch vectors, one scratch integer."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        d, a, t, u, r = CODES[instr.dst], *(CODES[x] for x in instr.args)
        self._half(asm, d, a, u, r, line)
        if instr.type.lanes > 2:
            asm.emit(lookup("VEXTRACTF128", "xmm,ymm,imm"), (t, a), None, 1, line=line)
            self._half(asm, t, t, u, r, line)
            asm.emit(lookup("VINSERTI128", "ymm,ymm,xmm,imm"), (d, d, t), None, 1, line=line)

    def _half(self, asm: X86Assembler, d: int, a: int, u: int, r: int, line: int) -> None:
        asm.emit(three("VUNPCKHPD", "xmm"), (u, a, a), line=line)
        asm.emit(lookup("VCVTTSD2SI", "r64,xmm"), (r, a), line=line)
        asm.emit(lookup("VMOVQ", "xmm,r64"), (d, r), line=line)
        asm.emit(lookup("VCVTTSD2SI", "r64,xmm"), (r, u), line=line)
        asm.emit(lookup("VPINSRQ", "xmm,xmm,r64,imm"), (d, d, r), None, 1, line=line)


class FloatLanesToInts:
    """Lanes of floats to integers that the bound above them is no float of: VCVTTPS2DQ and its kin, then NaN and what is too large mended.

    The conversion gives the most negative integer for both, and for what is too small, where it stays.
    One scratch register: a mask, or with AVX2 a vector (f64 to i64 there: two vectors and an integer, as ``DoublesToQuads``).
    """

    __slots__ = ("bound", "compare", "convert", "evex", "flip", "shape", "source")

    def __init__(self, type_: Type, source: Type, mnemonic: str, evex: bool) -> None:
        shape, given = width(type_), width(source)
        self.evex = evex
        self.shape = shape
        self.source = source
        single = source.bits == 32
        self.bound = struct.pack("<f" if single else "<d", 2.0 ** (type_.bits - 1))
        self.convert: Form | None = lookup(mnemonic, (f"{shape}{{k}},{given}" if evex else f"{shape},{given}")) if mnemonic else None
        self.compare = lookup("VCMPPS" if single else "VCMPPD", f"{'k' if evex else given},{given},{given},imm")
        self.flip = lookup("VPTERNLOG" + LETTER[type_.bits], f"{shape}{{k}},{shape},{shape},imm") if evex else three("VPXOR", shape)

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        d, a, t = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
        bound = constant_operand(asm, self.bound, self.source)
        if self.evex:
            assert self.convert is not None
            asm.emit(self.compare, (t, a, a), None, _ORDERED, line=line)
            asm.emit(self.convert, (d, a), k=t, z=True, line=line)
            asm.emit(self.compare, (t, a), bound, _NOT_BELOW, line=line)
            # The complement of the most negative integer is the greatest.
            asm.emit(self.flip, (d, d, d), None, 0x55, k=t, line=line)
            return
        if self.convert is not None:
            asm.emit(self.convert, (d, a), line=line)
        else:
            DoublesToQuads().emit(asm, f, instr)
        asm.emit(self.compare, (t, a), bound, _NOT_BELOW, line=line)
        asm.emit(self.flip, (d, d, t), line=line)
        asm.emit(self.compare, (t, a, a), None, _ORDERED, line=line)
        asm.emit(three("VPAND", self.shape), (d, d, t), line=line)


class DoublesToInts:
    """f64 lanes to i32: what is too large made the greatest i32 before, NaN 0; what is too small the conversion makes the least.

    One scratch vector, with AVX-512 a mask besides.
    """

    __slots__ = ("evex", "form", "source")

    def __init__(self, type_: Type, source: Type, evex: bool) -> None:
        self.evex = evex
        self.source = source
        self.form = lookup("VCVTTPD2DQ", f"{width(type_)}{'{k}' if evex else ''},{width(source)}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        source, line = self.source, instr.line
        d, a, t = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
        most = constant_operand(asm, struct.pack("<d", (1 << 31) - 1), source)
        least = same("VMINPD", 3, source)
        shape = width(source)
        if self.evex:
            k = CODES[instr.args[2]]
            asm.emit(lookup("VCMPPD", f"k,{shape},{shape},imm"), (k, a, a), None, _ORDERED, line=line)
            asm.emit(least, (t, a), most, line=line)
            asm.emit(self.form, (d, t), k=k, z=True, line=line)
            return
        asm.emit(lookup("VCMPPD", f"{shape},{shape},{shape},imm"), (t, a, a), None, _ORDERED, line=line)
        asm.emit(same("VANDPD", 3, source), (t, a, t), line=line)
        asm.emit(least, (t, t), most, line=line)
        asm.emit(self.form, (d, t), line=line)
