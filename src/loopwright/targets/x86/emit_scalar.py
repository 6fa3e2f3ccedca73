"""Emission of integer, control-flow, call and frame operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import InternalError
from loopwright.ir.function import LOCAL_ALIGN, SLOT, Frame, Function, Instr
from loopwright.targets.x86.assembler import ALWAYS, Form, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import (
    LETTER,
    X86Assembler,
    bits_as_immediate,
    element_bytes,
    fits32,
    immediate_value,
    in_memory,
    iota_bytes,
    register_name,
    roles,
    vector_load,
    vector_store,
    width,
)
from loopwright.targets.x86.registers import CODES, INTS, MASKS, RAX, REGISTERS, VECTORS
from loopwright.types import I64, Type, parse_type

_RSP: Final = 4
_PAGE: Final = 4096

#: Condition codes after CMP (SDM volume 1, appendix B), for signed and unsigned operands.
SIGNED: Final[dict[str, int]] = {"eq": 4, "ne": 5, "lt": 12, "ge": 13, "le": 14, "gt": 15}
UNSIGNED: Final[dict[str, int]] = {"eq": 4, "ne": 5, "lt": 2, "ge": 3, "le": 6, "gt": 7}


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


class MultiplyHigh:
    """MUL or IMUL by rax; the upper half of the product comes in rdx."""

    __slots__ = ("form", "mem_form")

    def __init__(self, type_: Type) -> None:
        name = "IMUL" if type_.signed else "MUL"
        self.form = lookup(name, "r64")
        self.mem_form = lookup(name, "m64")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        b = instr.args[1]
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.mem_form, (), mem, line=instr.line)
        else:
            asm.emit(self.form, (CODES[b],), line=instr.line)


class MultiplyByConstant:
    """3, 5 and 9 times a register are it and 2, 4 or 8 times it: LEA. Other products are left to ``other``."""

    __slots__ = ("lea", "other")

    def __init__(self, type_: Type, other: Callable[[X86Assembler, Function, Instr], None]) -> None:
        self.lea = lookup("LEA", f"{register_name(type_)},m")
        self.other = other

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = instr.args[:2]
        factor = immediate_value(f, b)
        if factor in (3, 5, 9) and a < SLOT:
            asm.emit(self.lea, (CODES[instr.dst],), M(CODES[a], CODES[a], factor - 1, 0), line=instr.line)
        else:
            self.other(asm, f, instr)


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


def emit_compare(asm: X86Assembler, f: Function, instr: Instr, type_: Type) -> None:
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


class SetCondition:
    """A comparison of integers as a bool."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        emit_compare(asm, f, instr, instr.type)
        d = CODES[instr.dst]
        asm.emit(lookup("SET" + CONDITION_NAMES[self.condition], "r8"), (d,), line=instr.line)
        asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=instr.line)


CONDITION_NAMES: Final = ("O", "NO", "B", "AE", "E", "NE", "BE", "A", "S", "NS", "P", "NP", "L", "GE", "LE", "G")


class JumpInteger:
    """Compare integers and jump."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        emit_compare(asm, f, instr, instr.type)
        asm.jump(self.condition, instr.imm, instr.line)


class JumpBool:
    """Jump on a bool."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = instr.args[0]
        if a < 0:
            # A constant that was not worth a register decides here and now.
            if bool(f.const_values[~a]) == (self.condition == 5):
                asm.jump(ALWAYS, instr.imm, instr.line)
            return
        if a >= SLOT:
            asm.emit(lookup("CMP", "m8,imm"), (), asm.slot(a), 0, line=instr.line)
        else:
            asm.emit(lookup("TEST", "r32,r32"), (CODES[a], CODES[a]), line=instr.line)
        asm.jump(self.condition, instr.imm, instr.line)


class SelectCompared:
    """``dst = a`` where a comparison holds, else b, with dst already a: CMOV takes b where it does not hold."""

    __slots__ = ("form",)

    def __init__(self, condition: int, type_: Type) -> None:
        r = register_name(type_)
        # The opposite condition has the other lowest bit (SDM volume 1, appendix B.1).
        self.form = lookup("CMOV" + CONDITION_NAMES[condition ^ 1], f"{r},{r}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        emit_compare(asm, f, instr, instr.source)
        asm.emit(self.form, (CODES[instr.dst], CODES[roles(instr)[3]]), line=instr.line)


class Move:
    """Copies among registers, slots and constants, of any class."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_ = instr.type
        dst, source = instr.dst, instr.args[0]
        line = instr.line
        if source < 0:
            move_constant(asm, f, type_, dst, source, line)
            return
        if source == dst:
            return
        if dst >= SLOT:
            cls = REGISTERS[source].cls
            mem = asm.slot(dst)
            if cls == INTS:
                asm.emit(lookup("MOV", "m64,r64"), (CODES[source],), mem, line=line)
            elif cls == MASKS:
                asm.emit(lookup("KMOVQ", "m64,k"), (CODES[source],), mem, line=line)
            else:
                asm.emit(vector_store(type_), (CODES[source],), mem, line=line)
            return
        cls = REGISTERS[dst].cls
        d = CODES[dst]
        if source >= SLOT:
            mem = asm.slot(source)
            if cls == INTS:
                name = register_name(type_)
                asm.emit(lookup("MOV", f"{name},m{name[1:]}"), (d,), mem, line=line)
            elif cls == MASKS:
                asm.emit(lookup("KMOVQ", "k,m64"), (d,), mem, line=line)
            else:
                asm.emit(vector_load(type_), (d,), mem, line=line)
        elif cls == INTS:
            name = register_name(type_)
            asm.emit(lookup("MOV", f"{name},{name}"), (d, CODES[source]), line=line)
        elif cls == MASKS:
            asm.emit(lookup("KMOVQ", "k,k"), (d, CODES[source]), line=line)
        else:
            name = width(type_)
            asm.emit(lookup("VMOVAPS", f"{name},{name}"), (d, CODES[source]), line=line)


def move_constant(asm: X86Assembler, f: Function, type_: Type, dst: int, source: int, line: int) -> None:
    """Make a constant in a register."""
    value = f.const_values[~source]
    d = CODES[dst]
    cls = REGISTERS[dst].cls
    if cls == INTS:
        whole = int(value)
        if whole == 0:
            asm.emit(lookup("XOR", "r32,r32"), (d, d), line=line)
        elif 0 < whole < 1 << 32:
            asm.emit(lookup("MOV", "r32,imm32"), (d,), None, whole, line=line)
        elif type_.bits <= 32:
            asm.emit(lookup("MOV", "r32,imm32"), (d,), None, whole & 0xFFFFFFFF, line=line)
        elif fits32(whole):
            asm.emit(lookup("MOV", "r64,imm32"), (d,), None, whole, line=line)
        else:
            asm.emit(lookup("MOVABS", "r64,imm64"), (d,), None, whole, line=line)
        return
    if cls == MASKS:
        asm.emit(lookup("KXNORQ" if value else "KXORQ", "k,k,k"), (d, d, d), line=line)
        return
    if type_.is_mask:
        name = width(type_)
        if value:
            asm.emit(lookup("VPCMPEQD", f"vex:{name},{name},{name}"), (d, d, d), line=line)
        else:
            asm.emit(lookup("VPXOR", f"vex:{name},{name},{name}"), (d, d, d), line=line)
        return
    if not any(element_bytes(type_.element, value)):
        # VEX-encoded 128-bit instructions clear the rest of the register (SDM volume 1, 14.1.2); one is short and enough.
        asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (d, d, d), line=line)
        return
    if not type_.lanes:
        asm.emit(vector_load(type_), (d,), asm.pool(source, type_, False), line=line)
        return
    name = width(type_)
    mem = asm.pool(source, type_.element, False)
    if type_.is_float:
        if type_.bits == 32:
            asm.emit(lookup("VBROADCASTSS", f"{name},m32"), (d,), mem, line=line)
        elif name == "xmm":
            asm.emit(lookup("VMOVDDUP", "xmm,m64"), (d,), mem, line=line)
        else:
            asm.emit(lookup("VBROADCASTSD", f"{name},m64"), (d,), mem, line=line)
    else:
        asm.emit(lookup("VPBROADCAST" + LETTER[type_.bits], f"{name},m{type_.bits}"), (d,), mem, line=line)


class Exchange:
    """Exchange two registers."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = instr.args
        cls = REGISTERS[a].cls
        x, y = CODES[a], CODES[b]
        if cls == INTS:
            asm.emit(lookup("XCHG", "r64,r64"), (x, y), line=instr.line)
            return
        if cls == MASKS:
            form = lookup("KXORQ", "k,k,k")
        else:
            name = width(instr.type)
            form = lookup("VPXORD", f"evex:{name},{name},{name}") if max(x, y) > 15 else lookup("VXORPS", f"{name},{name},{name}")
        for d, other in ((x, y), (y, x), (x, y)):
            asm.emit(form, (d, d, other), line=instr.line)


class StoreArgument:
    """A stack argument of the next call."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = instr.args[0]
        mem = M(_RSP, NO_REGISTER, 1, instr.imm)
        if a < 0:
            type_ = instr.type
            # Float arguments take eight bytes too; those above the value do not matter.
            form = lookup("MOV", "m64,imm") if not (type_.is_float and type_.bits == 32) else lookup("MOV", "m32,imm")
            asm.emit(form, (), mem, bits_as_immediate(type_, f.const_values[~a]), line=instr.line)
        elif REGISTERS[a].cls == INTS:
            asm.emit(lookup("MOV", "m64,r64"), (CODES[a],), mem, line=instr.line)
        else:
            asm.emit(vector_store(instr.type), (CODES[a],), mem, line=instr.line)


class LaneMask:
    """Lane k holds where a + k < b: min(max(b - a, 0), lanes) ones.

    For mask registers by BZHI of all ones; otherwise by comparing the count with 0, 1, 2, …
    """

    __slots__ = ("to_vector",)

    def __init__(self, to_vector: bool) -> None:
        self.to_vector = to_vector

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, count, other = (CODES[r] if r >= 0 else -1 for r in instr.args)
        type_ = instr.type
        line = instr.line
        if instr.args[1] < 0:
            move_constant(asm, f, I64, instr.args[2], instr.args[1], line)
        else:
            asm.emit(lookup("MOV", "r64,r64"), (count, b), line=line)
        asm.emit(lookup("XOR", "r32,r32"), (other, other), line=line)
        asm.emit(lookup("SUB", "r64,r64"), (count, a), line=line)
        asm.emit(lookup("CMOVL", "r64,r64"), (count, other), line=line)
        asm.emit(lookup("MOV", "r32,imm32"), (other,), None, type_.lanes, line=line)
        asm.emit(lookup("CMP", "r64,r64"), (count, other), line=line)
        asm.emit(lookup("CMOVG", "r64,r64"), (count, other), line=line)
        d = CODES[instr.dst]
        if not self.to_vector:
            asm.emit(lookup("MOV", "r64,imm32"), (other,), None, -1, line=line)
            asm.emit(lookup("BZHI", "r64,r64,r64"), (other, other, count), line=line)
            asm.emit(lookup("KMOVQ", "k,r64"), (d, other), line=line)
            return
        name = width(type_)
        letter = LETTER[type_.bits]
        # Lanes fit in the element: at most 32 of bytes.
        asm.emit(lookup("VMOVQ" if type_.bits == 64 else "VMOVD", "xmm,r64" if type_.bits == 64 else "xmm,r32"), (d, count), line=line)
        asm.emit(lookup("VPBROADCAST" + letter, f"vex:{name},xmm"), (d, d), line=line)
        lanes = parse_type(f"i{type_.bits}x{type_.lanes}")
        asm.emit(lookup("VPCMPGT" + letter, f"vex:{name},{name},{name}"), (d, d), asm.constant(iota_bytes(lanes)), line=line)


#: The instruction whose width is the number of lanes.
KORTEST: Final[dict[int, str]] = {8: "KORTESTB", 16: "KORTESTW", 32: "KORTESTD", 64: "KORTESTQ"}


class AnyAll:
    """Whether any, or every, lane of a mask holds."""

    __slots__ = ("every", "registers")

    def __init__(self, every: bool, registers: bool) -> None:
        self.every = every
        self.registers = registers

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_ = instr.type
        line = instr.line
        lanes = type_.lanes
        m, d = CODES[instr.args[0]], CODES[instr.dst]
        if self.registers and lanes in KORTEST:
            # KORTEST sets ZF when no bit is set and CF when all are (SDM volume 2, KORTEST).
            asm.emit(lookup(KORTEST[lanes], "k,k"), (m, m), line=line)
            asm.emit(lookup("SETB" if self.every else "SETNE", "r8"), (d,), line=line)
            asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=line)
            return
        full = (1 << lanes) - 1
        bits = lanes
        if self.registers:
            asm.emit(lookup("KMOVQ", "r64,k"), (d, m), line=line)
        else:
            name = width(type_)
            if type_.bits == 32:
                asm.emit(lookup("VMOVMSKPS", f"r32,{name}"), (d, m), line=line)
            elif type_.bits == 64:
                asm.emit(lookup("VMOVMSKPD", f"r32,{name}"), (d, m), line=line)
            else:
                asm.emit(lookup("VPMOVMSKB", f"r32,{name}"), (d, m), line=line)
                bits = lanes * type_.bits // 8
                full = (1 << bits) - 1
        # What lies above the lanes is anything: keep it out.
        if bits == 64:
            pass
        elif bits == 32:
            asm.emit(lookup("MOV", "r32,r32"), (d, d), line=line)
        else:
            asm.emit(lookup("AND", "r32,imm"), (d,), None, full, line=line)
        if self.every:
            if bits == 64:
                asm.emit(lookup("CMP", "r64,imm"), (d,), None, -1, line=line)
            elif bits == 32:
                asm.emit(lookup("CMP", "r32,imm"), (d,), None, -1, line=line)
            else:
                asm.emit(lookup("CMP", "r32,imm"), (d,), None, full, line=line)
            asm.emit(lookup("SETE", "r8"), (d,), line=line)
        else:
            asm.emit(lookup("TEST", "r64,r64"), (d, d), line=line)
            asm.emit(lookup("SETNE", "r8"), (d,), line=line)
        asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=line)


class LocalAddress:
    """The address of a local array, at a multiple of ``LOCAL_ALIGN``: room for that is behind the last."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        d = CODES[instr.dst]
        place = asm.local(f.local_offset(int(f.const_values[~instr.args[0]])) + LOCAL_ALIGN - 1)
        asm.emit(lookup("LEA", "r64,m"), (d,), place, line=instr.line)
        asm.emit(lookup("AND", "r64,imm"), (d,), None, -LOCAL_ALIGN, line=instr.line)


class Call:
    """Call an address through r11, which no convention uses for arguments and every call destroys; or a symbol.

    The callee may have a variable number of arguments: by System V (3.2.3) al tells it how many vector registers hold some. ``floats``
    is that number, -1 where the convention has no such rule; ``extend`` extends the result.
    """

    __slots__ = ("extend", "floats")

    def __init__(self, floats: int, extend: Form | None) -> None:
        self.floats = floats
        self.extend = extend

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        callee = f.callees[instr.imm]
        line = instr.line
        if asm.wide:
            asm.emit(lookup("VZEROUPPER"), line=line)
        if self.floats == 0:
            asm.emit(lookup("XOR", "r32,r32"), (CODES[RAX], CODES[RAX]), line=line)
        elif self.floats > 0:
            asm.emit(lookup("MOV", "r32,imm32"), (CODES[RAX],), None, self.floats, line=line)
        if callee.address:
            asm.emit(lookup("MOVABS", "r64,imm64"), (11,), None, callee.address, line=line)
            asm.emit(lookup("CALL", "r64"), (11,), line=line)
        else:
            asm.call_symbol(callee.name, line)
        if self.extend is not None:
            asm.emit(self.extend, (CODES[RAX], CODES[RAX]), line=line)


class Return:
    """RET."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.emit(lookup("RET"), line=instr.line)


class Label:
    """A label; at an innermost loop's head aligned: to a cache line where the loop is one straight stretch, else to half of one.

    Measured on Zen 5 (benchmarks/codegen.py): a short loop whose last jump lies across two lines takes up to 1.4 times as long; one with branches
    inside takes up to twice as long where they all lie in one line.
    """

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        if instr.imm in f.aligned:
            asm.align(64 if instr.imm in asm.straight_loops() else 32)
        asm.label(instr.imm)


class Jump:
    """JMP."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.jump(ALWAYS, instr.imm, instr.line)


class Prologue:
    """Save what belongs to the caller and make the frame."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        frame = f.frame
        assert frame is not None
        for r in frame.saved:
            if REGISTERS[r].cls == INTS:
                asm.emit(lookup("PUSH", "r64"), (CODES[r],))
        if asm.adjust:
            if asm.probes and asm.adjust >= _PAGE:
                probe_stack(asm)
            asm.emit(lookup("SUB", "r64,imm"), (_RSP,), None, asm.adjust)
        save_vectors(asm, frame, lookup("VMOVUPS", "m,xmm"))


def probe_stack(asm: X86Assembler) -> None:
    """Touch every page that the frame reaches into, from the top down, and its end.

    Windows grows a stack by the one page below what is in use, when that page is touched (*x64 prolog and epilog*: what ``__chkstk`` is for).
    """
    compare = lookup("CMP", "m8,imm")
    for below in range(_PAGE, asm.adjust, _PAGE):
        asm.emit(compare, (), M(_RSP, NO_REGISTER, 1, -below), 0)
    asm.emit(compare, (), M(_RSP, NO_REGISTER, 1, -asm.adjust), 0)


class Epilogue:
    """Undo the prologue."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        frame = f.frame
        assert frame is not None
        if asm.wide:
            asm.emit(lookup("VZEROUPPER"))
        save_vectors(asm, frame, lookup("VMOVUPS", "xmm,m"))
        if asm.adjust:
            asm.emit(lookup("ADD", "r64,imm"), (_RSP,), None, asm.adjust)
        for n in range(len(frame.saved) - 1, -1, -1):
            r = frame.saved[n]
            if REGISTERS[r].cls == INTS:
                asm.emit(lookup("POP", "r64"), (CODES[r],))


def save_vectors(asm: X86Assembler, frame: Frame, form: Form) -> None:
    """Save or restore the vector registers that belong to the caller (Win64)."""
    place = asm.saved_vectors
    for r in frame.saved:
        if REGISTERS[r].cls == VECTORS:
            asm.emit(form, (CODES[r],), M(_RSP, NO_REGISTER, 1, place))
            place += 16


class Nothing:
    """Brackets before the jumps pass; nothing to emit."""

    __slots__ = ()

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        raise InternalError(f"{instr.op.name} reached the assembler")
