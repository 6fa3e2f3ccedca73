"""Copies, constants, exchanges, stack arguments and local arrays on x86-64."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import LOCAL_ALIGN, SLOT, Function, Instr
from loopwright.targets.target import incoming_at, symbol_of
from loopwright.targets.x86.assembler import M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import LETTER, X86Assembler, bits_as_immediate, element_bytes, fits32, register_name, vector_load, vector_store, width
from loopwright.targets.x86.registers import CODES, INTS, MASKS, REGISTERS
from loopwright.types import Type

_RSP: Final = 4


def move(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Copies among registers, slots and constants, of any class."""
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
        if type_.bits == 16:
            asm.emit(lookup("VPBROADCASTW", f"{name},m16"), (d,), mem, line=line)
        elif type_.bits == 32:
            asm.emit(lookup("VBROADCASTSS", f"{name},m32"), (d,), mem, line=line)
        elif name == "xmm":
            asm.emit(lookup("VMOVDDUP", "xmm,m64"), (d,), mem, line=line)
        else:
            asm.emit(lookup("VBROADCASTSD", f"{name},m64"), (d,), mem, line=line)
    else:
        asm.emit(lookup("VPBROADCAST" + LETTER[type_.bits], f"{name},m{type_.bits}"), (d,), mem, line=line)


def exchange(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Exchange two registers."""
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


def store_argument(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """A stack argument of the next call."""
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


def table_address(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """The address of a constant array, which lies behind the code."""
    data = f.arrays[int(f.const_values[~instr.args[0]])].data
    asm.emit(lookup("LEA", "r64,m"), (CODES[instr.dst],), asm.constant(data, LOCAL_ALIGN), line=instr.line)


def local_address(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """The address of a local array. Where that is to be at a multiple of ``LOCAL_ALIGN``, it is raised to one: room for that is behind the last."""
    d = CODES[instr.dst]
    number = int(f.const_values[~instr.args[0]])
    framed = f.in_frame(number)
    asm.emit(lookup("LEA", "r64,m"), (d,), asm.local(number, 0 if framed else LOCAL_ALIGN - 1), line=instr.line)
    if not framed:
        asm.emit(lookup("AND", "r64,imm"), (d,), None, -LOCAL_ALIGN, line=instr.line)


def alloca(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """More of the stack, below what there is, but above the room for the arguments of calls."""
    size, align = instr.args[0], int(f.const_values[~instr.args[1]])
    d = CODES[instr.dst]
    line = instr.line
    assert f.frame is not None
    outgoing = f.frame.outgoing
    # (Room to raise the result to the alignment, and to a multiple of 16 from the arguments, which may end at 8.)
    more = (align if align > 16 else 0) + outgoing % 16 * 2
    if size < 0:
        more += int(f.const_values[~size]) + 15 & -16
    else:
        asm.emit(lookup("LEA", "r64,m"), (d,), M(CODES[size], NO_REGISTER, 1, 15), line=line)
        asm.emit(lookup("AND", "r64,imm"), (d,), None, -16, line=line)
        asm.emit(lookup("SUB", "r64,r64"), (_RSP, d), line=line)
    if more:
        asm.emit(lookup("SUB", "r64,imm"), (_RSP,), None, more, line=line)
    first = outgoing + 15 & -16
    asm.emit(lookup("LEA", "r64,m"), (d,), M(_RSP, NO_REGISTER, 1, first + (align - 1 if align > 16 else 0)), line=line)
    if align > 16:
        asm.emit(lookup("AND", "r64,imm"), (d,), None, -align, line=line)


def incoming_address(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """The address of the arguments on the stack, from one on."""
    place = asm.incoming(incoming_at(f, instr))
    asm.emit(lookup("LEA", "r64,m"), (CODES[instr.dst],), place, line=instr.line)


def stack_pointer(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """Where the stack ends."""
    asm.emit(lookup("MOV", "r64,r64"), (CODES[instr.dst], _RSP), line=instr.line)


def symbol_address(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """The address of a global or a function: relative to the code, or what it is in this process."""
    name, address = symbol_of(f, instr)
    d = CODES[instr.dst]
    if address:
        asm.emit(lookup("MOVABS", "r64,imm64"), (d,), None, address, line=instr.line)
    else:
        asm.emit(lookup("LEA", "r64,m"), (d,), asm.symbol(name), line=instr.line)
