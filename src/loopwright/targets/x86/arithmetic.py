"""Operations on data that take other instructions as registers will be, or more than a list says: addition, division, comparisons, multiply-adds, reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir.function import SLOT, Function, Instr
from loopwright.targets.x86.assembler import CONDITIONS, Form, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import X86Assembler, fits32, immediate_value, in_memory, register_name, roles, width
from loopwright.targets.x86.registers import CODES
from loopwright.targets.x86.sequence import Sequence
from loopwright.types import Type

#: Condition codes after CMP (SDM volume 1, appendix B), for signed and unsigned operands.
SIGNED: Final[dict[str, int]] = {"eq": 4, "ne": 5, "lt": 12, "ge": 13, "le": 14, "gt": 15, "disjoint": 4, "meets": 5}
UNSIGNED: Final[dict[str, int]] = {"eq": 4, "ne": 5, "lt": 2, "ge": 3, "le": 6, "gt": 7, "disjoint": 4, "meets": 5}


def conditions(type_: Type) -> dict[str, int]:
    """Condition codes of the comparisons of an integer type."""
    return SIGNED if type_.signed else UNSIGNED


class Add:
    """``dst = a + b``, or a constant less: LEA where the result is in a third register; otherwise b, in a register, immediate or in memory, goes onto a."""

    __slots__ = ("by_immediate", "by_memory", "by_register", "lea", "move", "move_memory", "negate")

    def __init__(self, type_: Type, negate: bool = False) -> None:
        mnemonic = "SUB" if negate else "ADD"
        r = register_name(type_)
        self.by_register = lookup(mnemonic, f"{r},{r}")
        self.by_memory = lookup(mnemonic, f"{r},m{r[1:]}")
        self.by_immediate = lookup(mnemonic, f"{r},imm")
        self.lea = lookup("LEA", f"{r},m")
        self.move = lookup("MOV", f"{r},{r}")
        self.move_memory = lookup("MOV", f"{r},m{r[1:]}")
        self.negate = negate

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        operands = roles(instr)
        a, b = operands[0], operands[1]
        dst = instr.dst
        d = CODES[dst]
        line = instr.line
        if dst == b and not self.negate:
            a, b = b, a
        if dst != a:
            if 0 <= a < SLOT:
                if 0 <= b < SLOT:
                    asm.emit(self.lea, (d,), M(CODES[a], CODES[b]), line=line)
                    return
                if b < 0 and fits32(immediate_value(f, b)) and immediate_value(f, b) != -(1 << 31):
                    value = immediate_value(f, b)
                    asm.emit(self.lea, (d,), M(CODES[a], NO_REGISTER, 1, -value if self.negate else value), line=line)
                    return
                asm.emit(self.move, (d, CODES[a]), line=line)
            else:
                asm.emit(self.move_memory, (d,), in_memory(asm, instr, a, instr.type), line=line)
        if b < 0 and fits32(immediate_value(f, b)):
            asm.emit(self.by_immediate, (d,), None, immediate_value(f, b), line=line)
            return
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.by_memory, (d,), mem, line=line)
        else:
            asm.emit(self.by_register, (d, CODES[b]), line=line)


class MultiplyByConstant:
    """3, 5 and 9 times a register are it and 2, 4 or 8 times it: LEA; and a shift makes multiples of these. Other products are left to ``other``."""

    __slots__ = ("lea", "other", "shift")

    def __init__(self, type_: Type, other: Callable[[X86Assembler, Function, Instr], None]) -> None:
        self.lea = lookup("LEA", f"{register_name(type_)},m")
        self.shift = lookup("SHL", f"{register_name(type_)},imm8")
        self.other = other

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = instr.args[:2]
        factor = immediate_value(f, b)
        places = max((factor & -factor).bit_length() - 1, 0)
        if factor > 0 and factor >> places in (3, 5, 9) and a < SLOT:
            asm.emit(self.lea, (CODES[instr.dst],), M(CODES[a], CODES[a], (factor >> places) - 1, 0), line=instr.line)
            if places:
                asm.emit(self.shift, (CODES[instr.dst],), None, places, line=instr.line)
        else:
            self.other(asm, f, instr)


class AddScaled:
    """``dst = a + b * c``: LEA."""

    __slots__ = ("lea",)

    def __init__(self, type_: Type) -> None:
        self.lea = lookup("LEA", f"{register_name(type_)},m")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, c = instr.args
        asm.emit(self.lea, (CODES[instr.dst],), M(CODES[a], CODES[b], immediate_value(f, c), 0), line=instr.line)


class Divide:
    """IDIV or DIV of rdx:rax; the quotient comes in rax, the remainder in rdx."""

    __slots__ = ("extend", "form", "mem_form")

    def __init__(self, type_: Type) -> None:
        r = register_name(type_)
        name = "IDIV" if type_.signed else "DIV"
        self.form = lookup(name, r)
        self.mem_form = lookup(name, f"m{r[1:]}")
        self.extend: Form | None = lookup("CQO" if type_.bits == 64 else "CDQ") if type_.signed else None

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        line = instr.line
        if self.extend is not None:
            asm.emit(self.extend, line=line)
        else:
            asm.emit(lookup("XOR", "r32,r32"), (2, 2), line=line)
        b = instr.args[1]
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.mem_form, (), mem, line=line)
        else:
            asm.emit(self.form, (CODES[b],), line=line)


class RotateByCl:
    """A rotation by the count in cl."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.emit(self.form, (CODES[instr.dst],), line=instr.line)


def compare(asm: X86Assembler, f: Function, instr: Instr, type_: Type) -> None:
    """CMP (or TEST against itself for zero) of the first two operands, integers of a type."""
    a, b = roles(instr)[:2]
    line = instr.line
    narrow = type_.bits < 32
    r = register_name(type_)
    mem = in_memory(asm, instr, a, type_) if a >= SLOT else None
    if b < 0 and fits32(immediate_value(f, b)):
        value = immediate_value(f, b)
        if mem is not None and not narrow:
            asm.emit(lookup("CMP", f"m{r[1:]},imm"), (), mem, value, line=line)
        elif value == 0:
            asm.emit(lookup("TEST", f"{r},{r}"), (CODES[a], CODES[a]), line=line)
        else:
            asm.emit(lookup("CMP", f"{r},imm"), (CODES[a],), None, value, line=line)
        return
    if mem is not None:
        asm.emit(lookup("CMP", f"m{r[1:]},{r}"), (CODES[b],), mem, line=line)
        return
    mem = in_memory(asm, instr, b, type_)
    if mem is not None:
        asm.emit(lookup("CMP", f"{r},m{r[1:]}"), (CODES[a],), mem, line=line)
    else:
        asm.emit(lookup("CMP", f"{r},{r}"), (CODES[a], CODES[b]), line=line)


def test(asm: X86Assembler, f: Function, instr: Instr, type_: Type) -> None:
    """TEST of the first two operands, integers of a type: 0 where they have no bit in common."""
    a, b = roles(instr)[:2]
    line = instr.line
    r = register_name(type_)
    if b < 0 and fits32(immediate_value(f, b)):
        value = immediate_value(f, b)
        mem = in_memory(asm, instr, a, type_) if a >= SLOT else None
        if mem is not None:
            asm.emit(lookup("TEST", f"m{r[1:]},imm32"), (), mem, value, line=line)
        elif 0 <= value < 1 << 7:
            # What is above the byte does not count.
            asm.emit(lookup("TEST", "r8,imm8"), (CODES[a],), None, value, line=line)
        elif 0 <= value < 1 << 31:
            asm.emit(lookup("TEST", "r32,imm32"), (CODES[a],), None, value, line=line)
        else:
            asm.emit(lookup("TEST", f"{r},imm32"), (CODES[a],), None, value, line=line)
        return
    if a >= SLOT or a < 0:
        a, b = b, a
    # (In a slot, or a constant that no register was worth and no instruction has room for.)
    mem = in_memory(asm, instr, b, type_)
    if mem is not None:
        asm.emit(lookup("TEST", f"m{r[1:]},{r}"), (CODES[a],), mem, line=line)
    else:
        asm.emit(lookup("TEST", f"{r},{r}"), (CODES[a], CODES[b]), line=line)


class SetCondition:
    """A comparison of integers as a bool."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """SETcc writes a byte, and waits for what its register held before, unless that has been cleared (Intel optimization manual, 3.5.1.8, "Clearing Registers and Dependency Breaking Idioms")."""
        at = len(asm.items)
        compare(asm, f, instr, instr.type)
        d = CODES[instr.dst]
        cleared = asm.clear_before(at, d, instr.line)
        asm.emit(lookup("SET" + CONDITIONS[self.condition].upper(), "r8"), (d,), line=instr.line)
        if not cleared:
            asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=instr.line)


class SelectCompared:
    """``dst = a`` where a comparison holds, else b, with dst already a: CMOV takes b where it does not hold."""

    __slots__ = ("form", "tests")

    def __init__(self, condition: int, type_: Type, tests: bool) -> None:
        r = register_name(type_)
        self.tests = tests
        # The opposite condition has the other lowest bit (SDM volume 1, appendix B.1).
        self.form = lookup("CMOV" + CONDITIONS[condition ^ 1].upper(), f"{r},{r}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        if self.tests:
            test(asm, f, instr, instr.source)
        else:
            compare(asm, f, instr, instr.source)
        asm.emit(self.form, (CODES[instr.dst], CODES[roles(instr)[3]]), line=instr.line)


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
