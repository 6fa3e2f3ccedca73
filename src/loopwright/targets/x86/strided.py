"""Vectors whose elements, or parts, are not next to each other in memory, on x86-64: gathered and scattered in parts of 128 bits."""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.targets import strided
from loopwright.targets.steps import Emit
from loopwright.targets.target import Rule, Use
from loopwright.targets.x86.assembler import M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import X86Assembler, load_chunks, store_chunks
from loopwright.targets.x86.registers import CODES, INTS, VECTORS
from loopwright.types import PTR, VOID, Type

__all__ = ["expand", "rule"]

_PART: Final = 16
_INT: Final = Use(INTS, late=True)
_VECTOR: Final = Use(VECTORS, late=True)
#: By the bits of an element: what loads and stores the first of a part alone.
_BEGINS: Final = {32: "VMOVSS", 64: "VMOVSD"}
#: What loads one into its place and stores one from there, and by how much a place counts in the immediate of the first.
_ELEMENTS: Final = {8: ("VPINSRB", "VPEXTRB", 1), 16: ("VPINSRW", "VPEXTRW", 1), 32: ("VINSERTPS", "VEXTRACTPS", 16)}


def _in_parts(type_: Type) -> bool:
    return type_.size >= _PART or (type_.bits < 32 and type_.lanes > 1)


def expand(f: Function, instr: Instr, emit: Emit, scales: tuple[int, ...]) -> bool:
    """The address in one register; what is less than a part one by one. As ``Target.expand``."""
    rows = instr.op in ops.ROWS
    if rows and instr.type.size == _PART:
        op, args = (ops.LOAD_AT, instr.args[1:]) if instr.op.result else (ops.STORE_AT, [instr.args[0], *instr.args[2:]])
        emit(Instr(op, instr.type, instr.dst, args, 0, instr.line, VOID, instr.mem))
        return True
    if not rows and not _in_parts(instr.type):
        strided.access(f, instr, emit, scales)
        return True
    mem = instr.mem
    assert mem is not None
    if not mem.indexed:
        return False
    first = len(instr.op.operands) - 1
    at = f.register(PTR)
    emit(Instr(ops.ADDRESS, PTR, at, instr.args[first:], 0, instr.line, VOID, Mem(mem.indexed, mem.scale, mem.disp, 0)))
    emit(Instr(instr.op, instr.type, instr.dst, [*instr.args[:first], at], 0, instr.line, VOID, Mem(False, 1, 0, mem.size, False, -1, mem.array)))
    return True


def rule(target: Any, instr: Instr) -> Rule | None:
    """The rule of an access whose address is one register."""
    mem = instr.mem
    if mem is None or mem.indexed:
        return None
    if instr.op in ops.ROWS:
        return _of_rows(instr)
    if not _in_parts(instr.type):
        return None
    # Scratch registers: three times the distance, the address of further elements, a part.
    emitter = _Access(instr.type, target.mask_registers)
    if instr.op is ops.LOAD_STRIDED_AT:
        return Rule("load_strided", (_INT, _INT), Use(VECTORS), emitter.load, temps=(INTS, INTS, VECTORS))
    return Rule("store_strided", (_VECTOR, _INT, _INT), None, emitter.store, temps=(INTS, INTS, VECTORS))


def _of_rows(instr: Instr) -> Rule | None:
    """The rule of an access to parts, which are loaded into their places, and stored from them."""
    if instr.type.size <= _PART:
        return None
    # A scratch register, of four parts: three times the distance.
    temps = (INTS,) if instr.type.size == 4 * _PART else ()
    if instr.op is ops.LOAD_ROWS_AT:
        return Rule("load_rows", (_INT, _INT), Use(VECTORS), _load_rows, temps=temps)
    return Rule("store_rows", (_VECTOR, _INT, _INT), None, _store_rows, temps=temps)


def _rows(asm: X86Assembler, instr: Instr, args: list[int]) -> list[M]:
    """The addresses of the parts of a vector; the distance, the address and what is left for three times the distance are in ``args``."""
    stride, base, *triple = (CODES[a] for a in args)
    disp = _displacement(instr)
    found = [M(base, NO_REGISTER, 1, disp), M(base, stride, 1, disp)]
    if triple:
        asm.emit(lookup("LEA", "r64,m"), (triple[0],), M(stride, stride, 2, 0), line=instr.line)
        found += [M(base, stride, 2, disp), M(base, triple[0], 1, disp)]
    return found


def _load_rows(asm: X86Assembler, f: Function, instr: Instr) -> None:
    load_chunks(asm, instr, _rows(asm, instr, instr.args))


def _store_rows(asm: X86Assembler, f: Function, instr: Instr) -> None:
    store_chunks(asm, instr, _rows(asm, instr, instr.args[1:]))


class _Access:
    """How vectors of a type are accessed.

    Attributes:
        evex: whether registers have 512 bits.
        bits: of an element; count: elements of a part; lanes: of all.
    """

    __slots__ = ("bits", "count", "evex", "lanes", "parts", "width")

    def __init__(self, type_: Type, evex: bool) -> None:
        self.evex = evex
        self.bits = type_.bits
        self.lanes = type_.lanes
        self.count = min(type_.lanes, 8 * _PART // type_.bits)
        self.parts = max(1, type_.size // _PART)
        self.width = {1: "xmm", 2: "ymm", 4: "zmm"}[self.parts]

    def load(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """Each part in xmm, then into its place."""
        stride, base, triple, further, part = (CODES[a] for a in instr.args)
        d = CODES[instr.dst]
        line = instr.line
        for number in range(self.parts):
            into = part if number else d
            if self.bits not in _BEGINS:
                asm.emit(lookup("VPXOR", "xmm,xmm,xmm"), (into, into, into), line=line)
            for place in range(self.count):
                mem = self._address(asm, instr, number * self.count + place, stride, base, triple, further)
                if not place and self.bits in _BEGINS:
                    asm.emit(lookup(_BEGINS[self.bits], f"xmm,m{self.bits}"), (into,), mem, line=line)
                elif self.bits == 64:
                    asm.emit(lookup("VMOVHPD", "xmm,xmm,m64"), (into, into), mem, line=line)
                else:
                    name, _, units = _ELEMENTS[self.bits]
                    asm.emit(lookup(name, f"xmm,xmm,m{self.bits},imm8"), (into, into), mem, place * units, line=line)
            if number and self.evex:
                asm.emit(lookup("VINSERTF32X4", f"{self.width},{self.width},xmm,imm8"), (d, d, part), None, number, line=line)
            elif number:
                asm.emit(lookup("VINSERTF128", "ymm,ymm,xmm,imm8"), (d, d, part), None, number, line=line)

    def store(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """Each part out of its place, then from xmm."""
        value, stride, base, triple, further, part = (CODES[a] for a in instr.args)
        line = instr.line
        for number in range(self.parts):
            source = part if number else value
            if number and self.evex:
                asm.emit(lookup("VEXTRACTF32X4", f"xmm,{self.width},imm8"), (part, value), None, number, line=line)
            elif number:
                asm.emit(lookup("VEXTRACTF128", "xmm,ymm,imm8"), (part, value), None, number, line=line)
            for place in range(self.count):
                mem = self._address(asm, instr, number * self.count + place, stride, base, triple, further)
                if not place and self.bits in _BEGINS:
                    asm.emit(lookup(_BEGINS[self.bits], f"m{self.bits},xmm"), (source,), mem, line=line)
                elif self.bits == 64:
                    asm.emit(lookup("VMOVHPD", "m64,xmm"), (source,), mem, line=line)
                else:
                    asm.emit(lookup(_ELEMENTS[self.bits][1], f"m{self.bits},xmm,imm8"), (source,), mem, place, line=line)

    def _address(self, asm: X86Assembler, instr: Instr, lane: int, stride: int, base: int, triple: int, further: int) -> M:
        """The address of an element, which follows that of the one before; of four from one register."""
        disp = _displacement(instr)
        place = lane % 4
        if lane == 0 and self.lanes > 3:
            asm.emit(lookup("LEA", "r64,m"), (triple,), M(stride, stride, 2, 0), line=instr.line)
        at = base if lane < 4 else further
        if lane >= 4 and not place:
            asm.emit(lookup("LEA", "r64,m"), (further,), M(base if lane == 4 else further, stride, 4, 0), line=instr.line)
        return M(at, NO_REGISTER, 1, disp) if place == 0 else M(at, triple, 1, disp) if place == 3 else M(at, stride, place, disp)


def _displacement(instr: Instr) -> int:
    assert instr.mem is not None
    return instr.mem.disp
