"""Emission of multiply-adds, float comparisons that jump, reductions, and masked accesses to narrow lanes."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.x86.assembler import EQUAL, NOT_EQUAL, Form, lookup
from loopwright.targets.x86.operands import X86Assembler, in_memory, roles, width
from loopwright.targets.x86.registers import CODES
from loopwright.targets.x86.sequence import Sequence
from loopwright.types import Type

_RSP: Final = 4


def extension(type_: Type) -> Form:
    """What brings an integer of 8 or 16 bits into the form in which registers hold it: extended to 32 bits by its own signedness."""
    return lookup("MOVSX" if type_.signed else "MOVZX", f"r32,r{type_.bits}")


class FusedMultiplyAdd:
    """``dst = ±(a*b) ± c`` in whichever of the three operand orders fits the registers."""

    __slots__ = ("form132", "form213", "form231", "move")

    def __init__(self, name: str, suffix: str, type_: Type) -> None:
        shape = ",".join([width(type_)] * 3)
        self.form132 = lookup(f"{name}132{suffix}", shape)
        self.form213 = lookup(f"{name}213{suffix}", shape)
        self.form231 = lookup(f"{name}231{suffix}", shape)
        self.move = lookup("VMOVAPS", ",".join([width(type_)] * 2))

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, c = roles(instr)
        line = instr.line
        dst = instr.dst
        d = CODES[dst]
        mem = in_memory(asm, instr, a, instr.type)
        if mem is not None:
            a, b = b, a
        else:
            mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            # b is in memory: it must be the third operand.
            if dst == c:
                asm.emit(self.form231, (d, CODES[a]), mem, line=line)
            else:
                if dst != a:
                    asm.emit(self.move, (d, CODES[a]), line=line)
                asm.emit(self.form132, (d, CODES[c]), mem, line=line)
            return
        mem = in_memory(asm, instr, c, instr.type)
        if mem is not None:
            if dst == b:
                a, b = b, a
            elif dst != a:
                asm.emit(self.move, (d, CODES[a]), line=line)
            asm.emit(self.form213, (d, CODES[b]), mem, line=line)
            return
        if dst == c:
            asm.emit(self.form231, (d, CODES[a], CODES[b]), line=line)
        elif dst == a:
            asm.emit(self.form213, (d, CODES[b], CODES[c]), line=line)
        elif dst == b:
            asm.emit(self.form213, (d, CODES[a], CODES[c]), line=line)
        else:
            asm.emit(self.move, (d, CODES[c]), line=line)
            asm.emit(self.form231, (d, CODES[a], CODES[b]), line=line)


#: condition -> (exchange the operands, condition code after UCOMISS); eq and ne need the parity flag as well.
#: UCOMISS sets ZF, PF, CF to 111 for unordered, 000 greater, 001 less, 100 equal (SDM volume 2, UCOMISS).
_FLOAT_JUMPS: Final[dict[str, tuple[bool, int]]] = {
    "gt": (False, 7),  # above
    "ge": (False, 3),  # above or equal
    "lt": (True, 7),
    "le": (True, 3),
    "ngt": (False, 6),  # below or equal
    "nge": (False, 2),  # below
    "nlt": (True, 6),
    "nle": (True, 2),
}


class JumpFloat:
    """Compare float scalars and jump."""

    __slots__ = ("condition", "form")

    def __init__(self, form: Form, condition: str) -> None:
        self.form = form
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = roles(instr)
        line = instr.line
        known = _FLOAT_JUMPS.get(self.condition)
        if known is not None and known[0]:
            a, b = b, a
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.form, (CODES[a],), mem, line=line)
        else:
            asm.emit(self.form, (CODES[a], CODES[b]), line=line)
        if known is not None:
            asm.jump(known[1], instr.imm, line)
        elif self.condition == "ne":
            asm.jump(10, instr.imm, line)  # parity: unordered
            asm.jump(NOT_EQUAL, instr.imm, line)
        else:
            past = asm.new_label()
            asm.jump(10, past, line)
            asm.jump(EQUAL, instr.imm, line)
            asm.label(past)


class Reduce:
    """Halving: the upper half meets the lower until one lane is left. The operands are the vector and scratch registers.

    Attributes:
        steps: the operation by the width of the registers.
        moves: from the last lane to the result, where that is an integer; it takes a scratch register more for what the halves make.
    """

    __slots__ = ("moves", "steps")

    def __init__(self, steps: dict[str, Sequence], moves: Sequence | None) -> None:
        self.steps = steps
        self.moves = moves

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_ = instr.type
        line = instr.line
        d = CODES[instr.dst]
        source, upper, *scratch = (CODES[a] for a in instr.args)
        total = d if self.moves is None else scratch.pop(0)
        bits = type_.bits * type_.lanes
        while bits > type_.bits:
            bits //= 2
            if bits == 256:
                asm.emit(lookup("VEXTRACTF64X4", "ymm,zmm,imm"), (upper, source), None, 1, line=line)
            elif bits == 128:
                asm.emit(lookup("VEXTRACTF128", "xmm,ymm,imm"), (upper, source), None, 1, line=line)
            else:
                # VPSRLDQ counts bytes.
                asm.emit(lookup("VPSRLDQ", "xmm,xmm,imm"), (upper, source), None, bits // 8, line=line)
            self.steps["ymm" if bits == 256 else "xmm"].emit_registers(asm, [total, source, upper, *scratch], line)
            source = total
        if self.moves is not None:
            self.moves.emit_registers(asm, [d, source], line)
