"""Elements anywhere in memory, on x86-64, loaded one by one and put together: those of 8 and 16 bits, and others where VPGATHERDD and its kin take longer.

Where their offsets come from memory, as those of ``table[k[i]]`` do, they are loaded one by one as well, and never are in a vector.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Rule, Use
from loopwright.targets.x86.assembler import Form, M, lookup
from loopwright.targets.x86.operands import X86Assembler
from loopwright.targets.x86.registers import CODES, INTS, VECTORS
from loopwright.targets.x86.sequence import addresses, folded
from loopwright.types import Type

__all__ = ["has", "rule"]

_PART: Final = 128
_WIDTHS: Final = {128: "xmm", 256: "ymm", 512: "zmm"}
#: By bits: what loads the first element of a part, and the others.
_FIRST: Final = {8: ("VPINSRB", "xmm,xmm,m8,imm8"), 16: ("VPINSRW", "xmm,xmm,m16,imm8"), 32: ("VMOVSS", "xmm,m32"), 64: ("VMOVSD", "xmm,m64")}
_NEXT: Final = {**_FIRST, 32: ("VINSERTPS", "xmm,xmm,m32,imm8"), 64: ("VMOVHPD", "xmm,xmm,m64")}


def _bits(type_: Type) -> int:
    """Of the register that a vector is in."""
    return max(type_.bits * type_.lanes, _PART)


def has(target: Any, instr: Instr) -> bool:
    """Whether the elements and their offsets are in one register each."""
    most = 512 if target.mask_registers else 256
    return _bits(instr.type) <= most and _bits(instr.source) <= most


def rule(target: Any, instr: Instr) -> Rule | None:
    """The rule of ``gather_singly``."""
    if not has(target, instr):
        return None
    emitter = _Loads(instr, target.mask_registers)
    base = Use(INTS, late=True)
    if folded(instr, 2) >= 0:
        return Rule("gather_singly", (base, *addresses(instr, late=True)), Use(VECTORS), emitter.from_memory, temps=(INTS, INTS, VECTORS))
    # Scratch registers: offsets; a part of the result, and of the offsets.
    return Rule("gather_singly", (Use(VECTORS, late=True), base), Use(VECTORS), emitter.from_vector, temps=(INTS, INTS, VECTORS, VECTORS), loads=1)


def _offset_load(source: Type) -> Form:
    """What loads an offset, and extends it to 64 bits."""
    if source.bits == 64:
        return lookup("MOV", "r64,m64")
    if source.bits == 32:
        return lookup("MOVSXD", "r64,m32") if source.signed else lookup("MOV", "r32,m32")
    return lookup("MOVSX", f"r64,m{source.bits}") if source.signed else lookup("MOVZX", f"r32,m{source.bits}")


class _Loads:
    """How elements of a type are loaded by offsets of another.

    Attributes:
        type, source: the types.
        evex: whether instructions of AVX-512 put parts into their places.
    """

    __slots__ = ("evex", "source", "type")

    def __init__(self, instr: Instr, evex: bool) -> None:
        self.type = instr.type
        self.source = instr.source
        self.evex = evex

    def from_memory(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        given = asm.place(instr, 1)
        base, line = CODES[instr.args[0]], instr.line
        # (Two, in turn, so that the listing reads well; the CPU renames registers.)
        *scratch, part = [CODES[a] for a in instr.args[-3:]]
        form, size = _offset_load(self.source), self.source.bits // 8
        for lane in range(self.type.lanes):
            offset = scratch[lane & 1]
            asm.emit(form, (offset,), M(given.base, given.index, given.scale, given.disp + lane * size), line=line)
            self._put(asm, lane, CODES[instr.dst], part, M(base, offset, instr.imm, 0), line)

    def from_vector(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        vector, base, first, second, part, offsets = [CODES[a] for a in instr.args]
        line = instr.line
        each = _PART // self.source.bits
        at = vector
        for lane in range(self.type.lanes):
            number, within = divmod(lane, each)
            if number and within == 0:
                at = offsets
                self._move_part("VEXTRACTI", asm, f"xmm,{_WIDTHS[_bits(self.source)]},imm8", (at, vector), number, line)
            offset = self._offset(asm, at, within, first, second, line)
            self._put(asm, lane, CODES[instr.dst], part, M(base, offset, instr.imm, 0), line)

    def _offset(self, asm: X86Assembler, vector: int, lane: int, first: int, second: int, line: int) -> int:
        """The register with an offset out of a part, extended to 64 bits."""
        bits, signed = self.source.bits, self.source.signed
        if bits < 32:
            asm.emit(lookup("VPEXTRB" if bits == 8 else "VPEXTRW", "r32,xmm,imm8"), (first, vector), None, lane, line=line)
            if signed:
                asm.emit(lookup("MOVSX", f"r64,r{bits}"), (first, first), line=line)
            return first
        # Two of 32 bits come out at once.
        word, upper = (lane, 0) if bits == 64 else divmod(lane, 2)
        if not upper:
            if word:
                asm.emit(lookup("VPEXTRQ", "r64,xmm,imm8"), (first, vector), None, word, line=line)
            else:
                asm.emit(lookup("VMOVQ", "r64,xmm"), (first, vector), line=line)
            if bits == 64:
                return first
            asm.emit(lookup("MOVSXD", "r64,r32") if signed else lookup("MOV", "r32,r32"), (second, first), line=line)
            return second
        asm.emit(lookup("SAR" if signed else "SHR", "r64,imm8"), (first,), None, 32, line=line)
        return first

    def _put(self, asm: X86Assembler, lane: int, d: int, part: int, place: M, line: int) -> None:
        """Load an element into its lane; with the last one of a part the part into its place."""
        bits = self.type.bits
        number, within = divmod(lane, _PART // bits)
        into = part if number else d
        if bits < 32 and within == 0:
            # What is above the lanes of a short vector is 0, and what was in the register before is not waited for.
            asm.emit(lookup("VPXOR", "xmm,xmm,xmm") if into < 16 else lookup("VPXORD", "xmm,xmm,xmm"), (into, into, into), line=line)
        form = lookup(*(_NEXT if within else _FIRST)[bits])
        immediate = within << 4 if bits == 32 else within if bits < 32 else 0
        kept = (into, into) if within or bits < 32 else (into,)
        asm.emit(form, kept, place, immediate, line=line)
        if number and within == _PART // bits - 1:
            width = _WIDTHS[_bits(self.type)]
            self._move_part("VINSERTI" if bits < 32 else "VINSERTF", asm, f"{width},{width},xmm,imm8", (d, d, part), number, line)

    def _move_part(self, name: str, asm: X86Assembler, operands: str, codes: tuple[int, ...], number: int, line: int) -> None:
        asm.emit(lookup(name + ("32X4" if self.evex else "128"), operands), codes, None, number, line=line)
