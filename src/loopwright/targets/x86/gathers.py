"""Elements anywhere in memory, on x86-64: VPGATHERDD and its kin, which AVX2 has too, and VPSCATTERDD and its kin, which AVX-512 has.

Of lanes that are off nothing is touched, and a scatter writes lanes from the lowest on, so that of those that meet the last one's stays (SDM volume 2,
"VPGATHERDD/VPGATHERDQ", "VPSCATTERDD/VPSCATTERDQ/VPSCATTERQD/VPSCATTERQQ"). Both clear the mask as they go, and a gather's result, offsets and mask must be in
different registers.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.targets.steps import Emit
from loopwright.targets.target import Rule, Use
from loopwright.targets.x86.assembler import Form, M, lookup
from loopwright.targets.x86.operands import X86Assembler
from loopwright.targets.x86.registers import CODES, INTS, MASKS, VECTORS
from loopwright.types import PTR, VOID

__all__ = ["expand", "has", "rule"]

_LETTER: Final = {16: "x", 32: "y", 64: "z"}
_SIZE: Final = {32: "D", 64: "Q"}


def _sizes(instr: Instr) -> tuple[int, int]:
    """Bytes of the registers with the elements and with the offsets."""
    return max(instr.type.size, 16), max(instr.source.size, 16)


def has(target: Any, instr: Instr) -> bool:
    """Whether the machine has an instruction for it: of 32 and 64 bits, for as many lanes as the registers have."""
    type_, source = instr.type, instr.source
    if type_.bits < 32 or source.bits < 32 or (source.bits == 32 and not source.signed):
        return False
    if instr.op is ops.SCATTER_AT and not target.mask_registers:
        return False
    size, offsets = _sizes(instr)
    most = 64 if target.mask_registers else 32
    return size <= most and offsets <= most and min(8 * size // type_.bits, 8 * offsets // source.bits) == type_.lanes


def expand(f: Function, instr: Instr, emit: Emit) -> bool:
    """The address in one register. As ``Target.expand``."""
    mem = instr.mem
    assert mem is not None
    if not mem.indexed:
        return False
    first = len(instr.op.operands) - 1
    at = f.register(PTR)
    emit(Instr(ops.ADDRESS, PTR, at, instr.args[first:], 0, instr.line, VOID, Mem(mem.indexed, mem.scale, mem.disp, 0)))
    args = [*instr.args[:first], at]
    emit(Instr(instr.op, instr.type, instr.dst, args, instr.imm, instr.line, instr.source, Mem(False, 1, 0, mem.size, False, -1, mem.array)))
    return True


def rule(target: Any, instr: Instr) -> Rule | None:
    """The rule of an access whose address is one register."""
    if not has(target, instr) or instr.mem is None or instr.mem.indexed:
        return None
    evex = target.mask_registers
    emitter = _Access(instr, evex)
    mask = Use(MASKS if evex else VECTORS)
    late = Use(VECTORS, late=True)
    if instr.op is ops.GATHER_AT:
        return Rule("gather", (mask, late, Use(INTS)), Use(VECTORS), emitter.gather, temps=(mask.cls,))
    return Rule("scatter", (mask, Use(VECTORS), Use(VECTORS), Use(INTS)), None, emitter.scatter, temps=(MASKS,))


class _Access:
    """How vectors of a type are accessed.

    Attributes:
        form: the instruction.
        evex: whether masks are in registers of their own.
        width: the registers of the elements.
    """

    __slots__ = ("evex", "form", "width")

    def __init__(self, instr: Instr, evex: bool) -> None:
        size, offsets = _sizes(instr)
        self.evex = evex
        self.width = _LETTER[size] + "mm"
        kind = "P" + _SIZE[instr.type.bits] if not instr.type.is_float else "PS" if instr.type.bits == 32 else "PD"
        letter = _SIZE[instr.source.bits]
        what = "GATHER" if instr.op is ops.GATHER_AT else "SCATTER"
        name = f"V{what}{letter}{kind}" if instr.type.is_float else f"VP{what}{letter}{kind[1:]}"
        places = f"vm{instr.source.bits}{_LETTER[offsets]}"
        if instr.op is ops.SCATTER_AT:
            self.form: Form = lookup(name, f"{places},{self.width}")
        elif evex:
            self.form = lookup(name, f"{self.width},{places}")
        else:
            self.form = lookup(name, f"{self.width},{places},{self.width}")

    def gather(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """The result is cleared before: of lanes that are off it keeps what it is."""
        mask, offsets, base, temp = instr.args
        d, t, line = CODES[instr.dst], CODES[temp], instr.line
        self._mask(asm, mask, t, line)
        asm.emit(lookup("VPXOR", "xmm,xmm,xmm") if d < 16 else lookup("VPXORD", "xmm,xmm,xmm"), (d, d, d), line=line)
        mem = instr.mem
        assert mem is not None
        place = M(CODES[base], CODES[offsets], instr.imm, mem.disp)
        if self.evex:
            asm.emit(self.form, (d,), place, 0, t, line=line)
        else:
            asm.emit(self.form, (d, t), place, line=line)

    def scatter(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        mask, value, offsets, base, temp = instr.args
        t, line = CODES[temp], instr.line
        self._mask(asm, mask, t, line)
        mem = instr.mem
        assert mem is not None
        asm.emit(self.form, (CODES[value],), M(CODES[base], CODES[offsets], instr.imm, mem.disp), 0, t, line=line)

    def _mask(self, asm: X86Assembler, mask: int, t: int, line: int) -> None:
        """A copy of the mask, which may be the constant that is true in every lane."""
        if self.evex:
            if mask < 0:
                asm.emit(lookup("KXNORQ", "k,k,k"), (t, t, t), line=line)
            else:
                asm.emit(lookup("KMOVQ", "k,k"), (t, CODES[mask]), line=line)
            return
        if mask < 0:
            asm.emit(lookup("VPCMPEQD", f"{self.width},{self.width},{self.width}"), (t, t, t), line=line)
        else:
            asm.emit(lookup("VMOVAPS", f"{self.width},{self.width}"), (t, CODES[mask]), line=line)
