"""Emission of conversions: between integers, floats and bools, of scalars and lane by lane."""

from __future__ import annotations

import struct
from typing import Final

from loopwright.errors import InternalError
from loopwright.ir.function import Function, Instr
from loopwright.targets.x86.assembler import Form, M, lookup
from loopwright.targets.x86.emit_lanes import LETTER, by_immediate, repeated, three
from loopwright.targets.x86.emit_scalar import register_name
from loopwright.targets.x86.emit_vector import constant_operand, same, width
from loopwright.targets.x86.operands import X86Assembler, in_memory, roles
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type

#: Predicates of VCMPPS and VCMPPD (SDM volume 2, table 3-1): neither is NaN; greater or equal, false of NaN.
_ORDERED: Final = 0x07
_NOT_BELOW: Final = 0x1D


class Convert:
    """Scalar integer conversions: the source register extended or cut."""

    __slots__ = ("form", "mem_form")

    def __init__(self, form: Form, mem_form: Form | None) -> None:
        self.form = form
        self.mem_form = mem_form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = roles(instr)[0]
        mem = in_memory(asm, instr, a, instr.source)
        if mem is not None and self.mem_form is not None:
            asm.emit(self.mem_form, (CODES[instr.dst],), mem, line=instr.line)
        else:
            asm.emit(self.form, (CODES[instr.dst], CODES[a]), line=instr.line)


class IntToFloat:
    """VCVTSI2SS and its kin; the upper part of the result is cleared first, so that it depends on nothing old."""

    __slots__ = ("form",)

    def __init__(self, type_: Type, source: Type) -> None:
        self.form = lookup("VCVTSI2SS" if type_.bits == 32 else "VCVTSI2SD", f"xmm,xmm,{register_name(source)}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        d = CODES[instr.dst]
        asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (d, d, d), line=instr.line)
        asm.emit(self.form, (d, d, CODES[instr.args[0]]), line=instr.line)


class FloatToUnsigned:
    """AVX-512: VCVTTSS2USI gives all ones for what is too large; NaN and negative numbers become 0 before, as VMAXSS's second source."""

    __slots__ = ("convert", "most")

    def __init__(self, source: Type) -> None:
        single = source.bits == 32
        self.convert = lookup("VCVTTSS2USI" if single else "VCVTTSD2USI", "r32,xmm")
        self.most = lookup("VMAXSS" if single else "VMAXSD", "xmm,xmm,xmm")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, t = CODES[instr.args[0]], CODES[instr.args[1]]
        asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (t, t, t), line=instr.line)
        asm.emit(self.most, (t, a, t), line=instr.line)
        asm.emit(self.convert, (CODES[instr.dst], t), line=instr.line)


class FloatToFloat:
    """VCVTSS2SD, VCVTSD2SS."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = CODES[instr.args[0]]
        asm.emit(self.form, (CODES[instr.dst], a, a), line=instr.line)


class ToBool:
    """Nonzero."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = CODES[instr.args[0]]
        d = CODES[instr.dst]
        name = register_name(instr.source)
        asm.emit(lookup("TEST", f"{name},{name}"), (a, a), line=instr.line)
        asm.emit(lookup("SETNE", "r8"), (d,), line=instr.line)
        asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=instr.line)


# --- lanes -----------------------------------------------------------------------------------------------------


class NarrowPack:
    """AVX2: lanes to bytes or to 16 bits (their low parts; also masks), through a byte shuffle of each 128-bit half."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        lanes = instr.type.lanes
        d, a, t = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
        step, kept = instr.source.bits // 8, instr.type.bits // 8
        per_half = 16 // step * kept
        # A selector of 0x80 gives a zero byte.
        pattern = bytes(n // kept * step + n % kept if n < per_half else 0x80 for n in range(16))
        if lanes * step <= 16:
            asm.emit(lookup("VPSHUFB", "xmm,xmm,xmm"), (d, a), asm.constant(pattern), line=line)
            return
        if lanes * step != 32:
            raise InternalError(f"narrowing {instr.source.name} to {instr.type.name}")
        asm.emit(lookup("VPSHUFB", "ymm,ymm,ymm"), (t, a), asm.constant(pattern * 2), line=line)
        asm.emit(lookup("VEXTRACTI128", "xmm,ymm,imm"), (d, t), None, 1, line=line)
        # What is left of the upper half follows what is left of the lower one.
        asm.emit(lookup("VPSLLDQ", "xmm,xmm,imm"), (d, d), None, per_half, line=line)
        asm.emit(lookup("VPOR", "xmm,xmm,xmm"), (d, d, t), line=line)


class NarrowHalf:
    """AVX2: 64-bit lanes to 32 bits (also masks): the even 32-bit elements."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        lanes = instr.type.lanes
        d, a, t = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
        if lanes <= 2:
            asm.emit(lookup("VPSHUFD", "xmm,xmm,imm"), (d, a), None, 0b1000, line=line)
            return
        asm.emit(lookup("VEXTRACTI128", "xmm,ymm,imm"), (t, a), None, 1, line=line)
        # VSHUFPS takes elements 0 and 2 of both sources.
        asm.emit(lookup("VSHUFPS", "xmm,xmm,xmm,imm"), (d, a, t), None, 0b10001000, line=line)


class QuadsToDoubles:
    """AVX2: i64 to f64. The halves become parts of doubles near 2**84 and 2**52, exactly; only their sum rounds. One scratch vector."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        shape, line = width(instr.type), instr.line
        d, a, t = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]

        def constant(bits: int) -> M:
            return repeated(asm, bits.to_bytes(8, "little"), shape)

        # 2**84 + 2**63 + the upper half, signed, times 2**32 …
        asm.emit(by_immediate("VPSRLQ", shape), (t, a), None, 32, line=line)
        asm.emit(three("VPXOR", shape), (t, t), constant(0x4530000080000000), line=line)
        # … less 2**84 + 2**63 + 2**52, plus (2**52 + the lower half).
        asm.emit(lookup("VPBLENDD", f"{shape},{shape},{shape},imm"), (d, a), constant(0x4330000000000000), 0xAA, line=line)
        asm.emit(three("VSUBPD", shape), (t, t), constant(0x4530000080100000), line=line)
        asm.emit(three("VADDPD", shape), (d, t, d), line=line)


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


class QuadsToFloats:
    """AVX2: i64 to f32, one lane after the other (by way of f64 it would be rounded twice). Two scratch vectors, one scratch integer."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        d, a, t, u, r = CODES[instr.dst], *(CODES[x] for x in instr.args)
        convert = lookup("VCVTSI2SS", "xmm,xmm,r64")
        for lane in range(instr.type.lanes):
            if lane == 2:
                asm.emit(lookup("VEXTRACTI128", "xmm,ymm,imm"), (u, a), None, 1, line=line)
            source = u if lane >= 2 else a
            if lane & 1:
                asm.emit(lookup("VPEXTRQ", "r64,xmm,imm"), (r, source), None, 1, line=line)
            else:
                asm.emit(lookup("VMOVQ", "r64,xmm"), (r, source), line=line)
            into = t if lane else d
            asm.emit(three("VXORPS", "xmm"), (into, into, into), line=line)
            asm.emit(convert, (into, into, r), line=line)
            if lane:
                asm.emit(lookup("VINSERTPS", "xmm,xmm,xmm,imm"), (d, d, t), None, lane << 4, line=line)


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


class FloatLanesToUnsigned:
    """AVX-512: VCVTTPS2UDQ and its kin, as ``FloatToUnsigned`` does with one float. One scratch vector."""

    __slots__ = ("convert", "most", "zero")

    def __init__(self, source: Type, convert: Form) -> None:
        self.convert = convert
        self.most = same("VMAXPS" if source.bits == 32 else "VMAXPD", 3, source)
        self.zero = lookup("VXORPS", "xmm,xmm,xmm")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, t = CODES[instr.args[0]], CODES[instr.args[1]]
        # What is written to the low part clears the rest.
        asm.emit(self.zero, (t, t, t), line=instr.line)
        asm.emit(self.most, (t, a, t), line=instr.line)
        asm.emit(self.convert, (CODES[instr.dst], t), line=instr.line)


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
