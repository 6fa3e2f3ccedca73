"""Emission of operations on integer lanes for which the machine has no instruction of its own, as short sequences.

Rules give these classes scratch registers behind the operands; no scratch register is ever the result's or an operand's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.x86.assembler import Form, M, lookup
from loopwright.targets.x86.emit_vector import extension, width
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import X86Assembler
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type

LETTER: Final[dict[int, str]] = {8: "B", 16: "W", 32: "D", 64: "Q"}


def three(mnemonic: str, shape: str) -> Form:
    """The form with three registers of one width."""
    return lookup(mnemonic, f"{shape},{shape},{shape}")


def bitwise(mnemonic: str, shape: str) -> Form:
    """VPAND and its kin, which for 512 bits have an element size in the name."""
    return three(mnemonic + "D", shape) if shape == "zmm" else three(mnemonic, shape)


def by_immediate(mnemonic: str, shape: str) -> Form:
    """A shift by an immediate."""
    return lookup(mnemonic, f"{shape},{shape},imm")


def repeated(asm: X86Assembler, element: bytes, shape: str) -> M:
    """An element of at most 8 bytes in every lane, as the operand of an instruction of any element size."""
    size = {"xmm": 16, "ymm": 32, "zmm": 64}[shape]
    return asm.constant(element * (size // len(element)))


# --- products --------------------------------------------------------------------------------------------------

#: ``(asm, shape, d, a, b, t, u, line)``: d = a op b with scratch registers t and u; d may be a or b.
Combine = Callable[[X86Assembler, str, int, int, int, int, int, int], None]


def multiply_bytes(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """Products of bytes by 16-bit products: of the even bytes the low halves, of the odd ones (a >> 8) * (b & 0xff00), high already."""
    asm.emit(by_immediate("VPSRLW", shape), (t, a), None, 8, line=line)
    asm.emit(bitwise("VPAND", shape), (u, b), repeated(asm, b"\x00\xff", shape), line=line)
    asm.emit(three("VPMULLW", shape), (t, t, u), line=line)
    asm.emit(three("VPMULLW", shape), (d, a, b), line=line)
    asm.emit(bitwise("VPAND", shape), (d, d), repeated(asm, b"\xff\x00", shape), line=line)
    asm.emit(bitwise("VPOR", shape), (d, d, t), line=line)


def multiply_quads(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """Products of 64-bit lanes by three 32-bit ones (Intel optimization manual, 64-bit multiplication of SIMD elements)."""
    asm.emit(by_immediate("VPSRLQ", shape), (t, a), None, 32, line=line)
    asm.emit(by_immediate("VPSRLQ", shape), (u, b), None, 32, line=line)
    asm.emit(three("VPMULUDQ", shape), (t, t, b), line=line)
    asm.emit(three("VPMULUDQ", shape), (u, u, a), line=line)
    asm.emit(three("VPADDQ", shape), (t, t, u), line=line)
    asm.emit(by_immediate("VPSLLQ", shape), (t, t), None, 32, line=line)
    asm.emit(three("VPMULUDQ", shape), (d, a, b), line=line)
    asm.emit(three("VPADDQ", shape), (d, d, t), line=line)


def _high_doubles(mnemonic: str, asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """The upper halves of products of 32-bit lanes: of the odd ones in their place, of the even ones brought down from there."""
    asm.emit(by_immediate("VPSRLQ", shape), (t, a), None, 32, line=line)
    asm.emit(by_immediate("VPSRLQ", shape), (u, b), None, 32, line=line)
    asm.emit(three(mnemonic, shape), (t, t, u), line=line)
    asm.emit(three(mnemonic, shape), (d, a, b), line=line)
    asm.emit(bitwise("VPAND", shape), (t, t), repeated(asm, b"\0\0\0\0\xff\xff\xff\xff", shape), line=line)
    asm.emit(by_immediate("VPSRLQ", shape), (d, d), None, 32, line=line)
    asm.emit(bitwise("VPOR", shape), (d, d, t), line=line)


def high_doubles(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """Signed."""
    _high_doubles("VPMULDQ", asm, shape, d, a, b, t, u, line)


def high_unsigned_doubles(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """Unsigned."""
    _high_doubles("VPMULUDQ", asm, shape, d, a, b, t, u, line)


def least_quads(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """AVX2: the lesser of signed 64-bit lanes."""
    asm.emit(three("VPCMPGTQ", shape), (t, a, b), line=line)
    asm.emit(lookup("VBLENDVPD", f"{shape},{shape},{shape},{shape}"), (d, a, b, t), line=line)


def greatest_quads(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """AVX2: the greater of signed 64-bit lanes."""
    asm.emit(three("VPCMPGTQ", shape), (t, b, a), line=line)
    asm.emit(lookup("VBLENDVPD", f"{shape},{shape},{shape},{shape}"), (d, a, b, t), line=line)


def _greater_unsigned(asm: X86Assembler, shape: str, a: int, b: int, t: int, u: int, line: int) -> None:
    """AVX2: t = a > b, of unsigned 64-bit lanes: as signed ones, the top bits flipped."""
    top = repeated(asm, (1 << 63).to_bytes(8, "little"), shape)
    asm.emit(three("VPXOR", shape), (t, a), top, line=line)
    asm.emit(three("VPXOR", shape), (u, b), top, line=line)
    asm.emit(three("VPCMPGTQ", shape), (t, t, u), line=line)


def least_unsigned_quads(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """AVX2: the lesser of unsigned 64-bit lanes."""
    _greater_unsigned(asm, shape, a, b, t, u, line)
    asm.emit(lookup("VBLENDVPD", f"{shape},{shape},{shape},{shape}"), (d, a, b, t), line=line)


def greatest_unsigned_quads(asm: X86Assembler, shape: str, d: int, a: int, b: int, t: int, u: int, line: int) -> None:
    """AVX2: the greater of unsigned 64-bit lanes."""
    _greater_unsigned(asm, shape, a, b, t, u, line)
    asm.emit(lookup("VBLENDVPD", f"{shape},{shape},{shape},{shape}"), (d, b, a, t), line=line)


class Combined:
    """``dst = a op b`` by a sequence; two scratch vectors."""

    __slots__ = ("combine", "shape")

    def __init__(self, combine: Combine, shape: str) -> None:
        self.combine = combine
        self.shape = shape

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, t, u = (CODES[r] for r in instr.args)
        self.combine(asm, self.shape, CODES[instr.dst], a, b, t, u, instr.line)


# --- lanes moved -----------------------------------------------------------------------------------------------


class Slide:
    """``dst = lanes k … of a followed by b``.

    VALIGND and VALIGNQ take any number of lanes of 32 and 64 bits, VPALIGNR bytes of each 128-bit part.
    """

    __slots__ = ("evex", "shape", "type")

    def __init__(self, type_: Type, evex: bool) -> None:
        self.type = type_
        self.shape = width(type_)
        self.evex = evex

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_, shape, line = self.type, self.shape, instr.line
        d, a, b = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
        k = int(f.const_values[~instr.args[2]])
        shift = k * type_.bits // 8
        if k == 0 or k == type_.lanes:
            asm.emit(lookup("VMOVAPS", f"{shape},{shape}"), (d, b if k else a), line=line)
        elif type_.size < 16:
            # Both in one register, then whole bytes down.
            asm.emit(three({2: "VPUNPCKLWD", 4: "VPUNPCKLDQ", 8: "VPUNPCKLQDQ"}[type_.size], "xmm"), (d, a, b), line=line)
            asm.emit(by_immediate("VPSRLDQ", "xmm"), (d, d), None, shift, line=line)
        elif self.evex and type_.bits >= 32:
            asm.emit(lookup("VALIGN" + LETTER[type_.bits], f"{shape},{shape},{shape},imm"), (d, b, a), None, k, line=line)
        elif shape == "xmm":
            asm.emit(lookup("VPALIGNR", "xmm,xmm,xmm,imm"), (d, b, a), None, shift, line=line)
        elif shape == "ymm":
            # Between them, the upper half of a and the lower of b.
            t = CODES[instr.args[3]]
            if self.evex:
                asm.emit(lookup("VALIGNQ", "ymm,ymm,ymm,imm"), (t, b, a), None, 2, line=line)
            else:
                asm.emit(lookup("VPERM2I128", "ymm,ymm,ymm,imm"), (t, a, b), None, 0x21, line=line)
            low, high = (t, b) if shift >= 16 else (a, t)
            asm.emit(lookup("VPALIGNR", "ymm,ymm,ymm,imm"), (d, high, low), None, shift % 16, line=line)
        else:
            t, u = CODES[instr.args[3]], CODES[instr.args[4]]
            part = shift // 16
            low = a
            if part:
                asm.emit(lookup("VALIGNQ", "zmm,zmm,zmm,imm"), (t, b, a), None, 2 * part, line=line)
                low = t
            high = b
            if part < 3:
                asm.emit(lookup("VALIGNQ", "zmm,zmm,zmm,imm"), (u, b, a), None, 2 * part + 2, line=line)
                high = u
            asm.emit(lookup("VPALIGNR", "zmm,zmm,zmm,imm"), (d, high, low), None, shift % 16, line=line)


class ExtractByte:
    """Lane 0 of bytes, extended as its type asks."""

    __slots__ = ("extend",)

    def __init__(self, type_: Type) -> None:
        self.extend = extension(type_)

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        d = CODES[instr.dst]
        asm.emit(lookup("VMOVD", "r32,xmm"), (d, CODES[instr.args[0]]), line=instr.line)
        asm.emit(self.extend, (d, d), line=instr.line)


class SplatMask:
    """A bool in every lane of a mask: 0 or -1 by negation; one scratch integer."""

    __slots__ = ("registers",)

    def __init__(self, registers: bool) -> None:
        self.registers = registers

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, t = CODES[instr.args[0]], CODES[instr.args[1]]
        d, line = CODES[instr.dst], instr.line
        asm.emit(lookup("XOR", "r32,r32"), (t, t), line=line)
        asm.emit(lookup("SUB", "r64,r64"), (t, a), line=line)
        if self.registers:
            asm.emit(lookup("KMOVQ", "k,r64"), (d, t), line=line)
        else:
            asm.emit(lookup("VMOVD", "xmm,r32"), (d, t), line=line)
            asm.emit(lookup("VPBROADCASTD", f"vex:{width(instr.type)},xmm"), (d, d), line=line)


class LoadPair:
    """Two bytes into a vector register: there is no move of 16 bits, only an insertion."""

    __slots__ = ("load",)

    def __init__(self, load: bool) -> None:
        self.load = load

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        mem = instr.mem
        assert mem is not None
        args = instr.args
        where = M(CODES[args[-2]], CODES[args[-1]], mem.scale, mem.disp) if mem.indexed else M(CODES[args[-1]], NO_REGISTER, 1, mem.disp)
        if self.load:
            d = CODES[instr.dst]
            asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (d, d, d), line=instr.line)
            asm.emit(lookup("VPINSRW", "xmm,xmm,m16,imm"), (d, d), where, 0, line=instr.line)
        else:
            asm.emit(lookup("VPEXTRW", "m16,xmm,imm"), (CODES[args[0]],), where, 0, line=instr.line)
