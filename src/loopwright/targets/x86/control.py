"""Jumps, labels, calls, returns and frames on x86-64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.errors import InternalError
from loopwright.ir.function import SLOT, Callee, Frame, Function, Instr
from loopwright.targets.target import Convention
from loopwright.targets.x86.abi import SYSV
from loopwright.targets.x86.arithmetic import compare, test
from loopwright.targets.x86.assembler import ABOVE_EQUAL, ALWAYS, CONDITIONS, EQUAL, LINE, NOT_EQUAL, Form, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import FLOAT_LETTER, X86Assembler, in_memory, register_name, roles
from loopwright.targets.x86.registers import CODES, INTS, RAX, REGISTERS, VECTORS
from loopwright.types import Type

_RSP: Final = 4
_PAGE: Final = 4096
#: Where the address is that results are put to: r11, as no result is.
_KEPT: Final = 11


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


class JumpInteger:
    """Compare integers and jump."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        compare(asm, f, instr, instr.type)
        asm.jump(self.condition, instr.imm, instr.line)


class JumpTested:
    """Test bits and jump."""

    __slots__ = ("condition",)

    def __init__(self, condition: int) -> None:
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        test(asm, f, instr, instr.type)
        asm.jump(self.condition, instr.imm, instr.line)


#: Condition codes after VPTEST and KTEST, which set ZF where no bit is in both, CF where all of the second's are in the first (SDM volume 2, PTEST, KTEST).
_MASK_JUMPS: Final[dict[str, int]] = {"apart": 4, "shares": 5, "covers": 2, "misses": 3}
#: By lanes: the instruction whose width they are.
_KTEST: Final[dict[int, str]] = {8: "KTESTB", 16: "KTESTW", 32: "KTESTD", 64: "KTESTQ"}


class JumpMasked:
    """Test masks and jump."""

    __slots__ = ("condition", "mask_registers")

    def __init__(self, compare: str, mask_registers: bool) -> None:
        self.condition = _MASK_JUMPS[compare]
        self.mask_registers = mask_registers

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = instr.args[:2]
        type_ = instr.type
        if self.mask_registers:
            # KORTEST takes one cycle less on some cores, and says the same of a mask with itself.
            name = "KOR" + _KTEST[type_.lanes][1:] if a == b else _KTEST[type_.lanes]
            form = lookup(name, "k,k")
        else:
            vector = "ymm" if type_.bits * type_.lanes == 256 else "xmm"
            form = lookup("VPTEST", f"{vector},{vector}")
        asm.emit(form, (CODES[a], CODES[b]), line=instr.line)
        asm.jump(self.condition, instr.imm, instr.line)


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


class ChooseFloat:
    """``dst = c`` where a comparison of float scalars holds, else d, with dst already c: CMOV takes d where it does not hold."""

    __slots__ = ("exchanged", "form", "move")

    def __init__(self, condition: str, source: Type, type_: Type) -> None:
        self.exchanged, code = _FLOAT_JUMPS[condition]
        r = register_name(type_)
        self.form = lookup("VUCOMIS" + FLOAT_LETTER[source.bits], "xmm,xmm")
        # The opposite condition has the other lowest bit (SDM volume 1, appendix B.1).
        self.move = lookup("CMOV" + CONDITIONS[code ^ 1].upper(), f"{r},{r}")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, _, other = roles(instr)
        if self.exchanged:
            a, b = b, a
        mem = in_memory(asm, instr, b, instr.source)
        asm.emit(self.form, (CODES[a],) if mem is not None else (CODES[a], CODES[b]), mem, line=instr.line)
        asm.emit(self.move, (CODES[instr.dst], CODES[other]), line=instr.line)


class SetFloat:
    """A comparison of float scalars that says which is greater, as a bool."""

    __slots__ = ("exchanged", "form", "sets")

    def __init__(self, condition: str, type_: Type) -> None:
        self.exchanged, code = _FLOAT_JUMPS[condition]
        self.form = lookup("VUCOMIS" + FLOAT_LETTER[type_.bits], "xmm,xmm")
        self.sets = lookup("SET" + CONDITIONS[code].upper(), "r8")

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """SETcc writes a byte (``arithmetic.SetCondition``)."""
        a, b = roles(instr)
        if self.exchanged:
            a, b = b, a
        mem = in_memory(asm, instr, b, instr.type)
        at = len(asm.items)
        asm.emit(self.form, (CODES[a],) if mem is not None else (CODES[a], CODES[b]), mem, line=instr.line)
        d = CODES[instr.dst]
        cleared = asm.clear_before(at, d, instr.line)
        asm.emit(self.sets, (d,), line=instr.line)
        if not cleared:
            asm.emit(lookup("MOVZX", "r32,r8"), (d, d), line=instr.line)


def jump_table(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Go where a table says, of distances from itself (SDM volume 2, JMP, near and absolute, indirect)."""
    value, count, distance, table = instr.args
    v, d, t = CODES[value], CODES[distance], CODES[table]
    line = instr.line
    asm.emit(lookup("CMP", "r64,imm"), (v,), None, int(f.const_values[~count]), line=line)
    asm.jump(ABOVE_EQUAL, instr.imm, line)
    asm.emit(lookup("LEA", "r64,m"), (t,), asm.table(), line=line)
    asm.emit(lookup("MOVSXD", "r64,m32"), (d,), M(t, v, 4, 0), line=line)
    asm.emit(lookup("ADD", "r64,r64"), (d, t), line=line)
    asm.emit(lookup("JMP", "r64"), (d,), line=line)


def jump_case(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """The next entry of the table."""
    asm.entry(instr.imm)


def jump(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """JMP."""
    asm.jump(ALWAYS, instr.imm, instr.line)


def label(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """A label; at an innermost loop's head aligned: to a cache line, or the middle of one (assembler.py), where the loop is one straight stretch, else to half of one.

    Measured on Zen 5 (benchmarks/codegen.py): a short loop whose last jump lies across two lines takes up to 1.4 times as long; one with branches
    inside takes up to twice as long where they all lie in one line.
    """
    if instr.imm in f.aligned:
        asm.align(LINE if instr.imm in asm.straight_loops() else 32)
    asm.label(instr.imm)


class Call:
    """Call an address through r11, which no convention uses for arguments and every call destroys; or a symbol.

    A callee that is not ours, and not known to have none, may have a variable number of arguments: by System V (3.2.3) al tells it how many vector registers hold some. ``floats``
    is that number, -1 where the convention has no such rule; ``extend`` extends the result. ``leaves``: jump there instead, behind the epilogue. ``twice``: vector registers with
    arguments of a variable number, and the integer registers that are to hold them as well.
    """

    __slots__ = ("convention", "extend", "floats", "leaves", "twice")

    def __init__(self, convention: Convention, floats: int, extend: Form | None, leaves: bool = False, twice: Sequence[tuple[int, int]] = ()) -> None:
        self.twice = twice
        self.convention = convention
        self.floats = floats
        self.extend = extend
        self.leaves = leaves

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        callee = f.callees[instr.imm]
        line = instr.line
        if asm.wide and not self.leaves:
            asm.emit(lookup("VZEROUPPER"), line=line)
        to = lookup("JMP" if self.leaves else "CALL", "r64")
        if callee.named >= 0 if callee.signature else callee.function is None:
            self.count_floats(asm, line)
        for held, r in self.twice:
            asm.emit(lookup("VMOVQ", "r64,xmm"), (CODES[r], CODES[held]), line=line)
        if callee.signature:
            asm.emit(to, (11,), line=line)
        elif callee.address:
            asm.emit(lookup("MOVABS", "r64,imm64"), (11,), None, callee.address, line=line)
            asm.emit(to, (11,), line=line)
        else:
            asm.call_symbol(callee.name, line, self.leaves)
        if self.extend is not None:
            asm.emit(self.extend, (CODES[RAX], CODES[RAX]), line=line)
        if callee.results:
            self.keep_results(asm, callee, line)

    def keep_results(self, asm: X86Assembler, callee: Callee, line: int) -> None:
        """Put several results where the last argument says, whose value is kept on the stack."""
        asm.emit(lookup("MOV", "r64,m64"), (_KEPT,), M(_RSP, NO_REGISTER, 1, ~self.convention.assign_for(callee)[-1] + self.convention.shadow), line=line)
        for n, r in enumerate(self.convention.results(callee.results)):
            form = lookup("MOV", "m64,r64") if REGISTERS[r].cls == INTS else lookup("VMOVSD", "m64,xmm")
            asm.emit(form, (CODES[r],), M(_KEPT, NO_REGISTER, 1, 8 * n), line=line)

    def count_floats(self, asm: X86Assembler, line: int) -> None:
        """Tell a callee that may have a variable number of arguments."""
        if self.floats == 0:
            asm.emit(lookup("XOR", "r32,r32"), (CODES[RAX], CODES[RAX]), line=line)
        elif self.floats > 0:
            asm.emit(lookup("MOV", "r32,imm32"), (CODES[RAX],), None, self.floats, line=line)


def return_(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """RET."""
    asm.emit(lookup("RET"), line=instr.line)


def prologue(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Save what belongs to the caller and make the frame."""
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
    if frame.moves:
        asm.emit(lookup("MOV", "r64,r64"), (asm.frame_base, _RSP))


def probe_stack(asm: X86Assembler) -> None:
    """Touch every page that the frame reaches into, from the top down, and its end.

    Windows grows a stack by the one page below what is in use, when that page is touched (*x64 prolog and epilog*: what ``__chkstk`` is for).
    """
    compare = lookup("CMP", "m8,imm")
    for below in range(_PAGE, asm.adjust, _PAGE):
        asm.emit(compare, (), M(_RSP, NO_REGISTER, 1, -below), 0)
    asm.emit(compare, (), M(_RSP, NO_REGISTER, 1, -asm.adjust), 0)


def epilogue(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Undo the prologue."""
    frame = f.frame
    assert frame is not None
    if asm.wide:
        asm.emit(lookup("VZEROUPPER"))
    if f.results:
        load_results(asm, f)
    if frame.moves:
        asm.emit(lookup("MOV", "r64,r64"), (_RSP, asm.frame_base))
    save_vectors(asm, frame, lookup("VMOVUPS", "xmm,m"))
    if asm.adjust:
        asm.emit(lookup("ADD", "r64,imm"), (_RSP,), None, asm.adjust)
    for n in range(len(frame.saved) - 1, -1, -1):
        r = frame.saved[n]
        if REGISTERS[r].cls == INTS:
            asm.emit(lookup("POP", "r64"), (CODES[r],))


def load_results(asm: X86Assembler, f: Function) -> None:
    """Several results from memory whose address is in the first integer register for them. (Both conventions return alike.)"""
    address = CODES[RAX]
    for n, r in SYSV.result_loads(f.results):
        form = lookup("MOV", "r64,m64") if REGISTERS[r].cls == INTS else lookup("VMOVSD", "xmm,m64")
        asm.emit(form, (CODES[r],), M(address, NO_REGISTER, 1, 8 * n))


def save_vectors(asm: X86Assembler, frame: Frame, form: Form) -> None:
    """Save or restore the vector registers that belong to the caller (Win64)."""
    place = asm.saved_vectors
    for r in frame.saved:
        if REGISTERS[r].cls == VECTORS:
            asm.emit(form, (CODES[r],), M(_RSP, NO_REGISTER, 1, place))
            place += 16


def part(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """A result that the instruction in front has left where it is."""


def barrier(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """No instruction: it is the compiler that keeps accesses in their order."""


def store_fence(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """SFENCE: non-temporal stores in front of it are seen before stores behind it."""
    asm.emit(lookup("SFENCE", ""), (), line=instr.line)


def nothing(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Brackets before the jumps pass; nothing to emit."""
    raise InternalError(f"{instr.op.name} reached the assembler")
