"""Copies, constants, stack slots and local arrays on RISC-V."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import SLOT, Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.assembler import materialise
from loopwright.targets.riscv.instructions import Row
from loopwright.targets.riscv.operands import code_of, constant_of, float_bits
from loopwright.targets.riscv.registers import CODES, FLOATS, RA, REGISTERS, SP, ZERO
from loopwright.targets.target import symbol_of
from loopwright.types import Type

#: Of f32 and of f64: between floating-point registers, from an integer register and to one.
_BETWEEN: Final[tuple[Row, Row]] = (i.FSGNJ_S, i.FSGNJ_D)
_FROM_BITS: Final[tuple[Row, Row]] = (i.FMV_W_X, i.FMV_D_X)
_TO_BITS: Final[tuple[Row, Row]] = (i.FMV_X_W, i.FMV_X_D)


def copy(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Between registers of either file, stack slots, and from constants."""
    type_ = instr.type
    to, source = instr.dst, instr.args[0]
    if to >= SLOT:
        # The allocator brings values from slot to slot through a register of its own choice.
        assert source < SLOT, "a copy between two stack slots"
        _store_slot(asm, type_, source, asm.slot_offset(to))
        return
    if source < 0:
        load_constant(asm, f, source, type_, to, CODES[instr.args[1]] if len(instr.args) > 1 else RA)
        return
    rd = CODES[to]
    to_float = REGISTERS[to].cls == FLOATS
    if source >= SLOT:
        _load_slot(asm, rd, to_float, asm.slot_offset(source), 4 if type_.bits == 32 else 8)
    else:
        from_float = REGISTERS[source].cls == FLOATS
        rs = CODES[source]
        double = type_.bits == 64
        if to_float and from_float:
            if rd != rs:
                asm.emit(_BETWEEN[double], rd, rs, rs)
        elif to_float:
            asm.emit(_FROM_BITS[double], rd, rs)
        elif from_float:
            asm.emit(_TO_BITS[double], rd, rs)
        else:
            asm.move(rd, rs)


def load_constant(asm: RiscVAssembler, f: Function, constant: int, type_: Type, register: int, scratch: int) -> None:
    """A constant into an allocatable register of either file; ``scratch`` is an integer register to destroy."""
    rd = CODES[register]
    if not type_.is_float:
        asm.load_immediate(rd, constant_of(f, constant))
        return
    bits = float_bits(type_, float(f.const_values[~constant]))
    if REGISTERS[register].cls != FLOATS:
        asm.load_immediate(rd, bits if type_.bits == 64 else (bits ^ 1 << 31) - (1 << 31))
    elif bits == 0:
        asm.emit(_FROM_BITS[type_.bits == 64], rd, ZERO)
    else:
        _load_float(asm, type_, rd, bits, scratch)


def _load_float(asm: RiscVAssembler, type_: Type, rd: int, bits: int, scratch: int) -> None:
    """A floating-point constant by way of an integer register; one of many bits from the constant pool."""
    if type_.bits == 32:
        asm.load_immediate(scratch, (bits ^ 1 << 31) - (1 << 31))
        asm.emit(i.FMV_W_X, rd, scratch)
        return
    value = bits - (bits >> 63 << 64)
    if len(materialise(value)) > 2:
        asm.load_pool(i.FLD, rd, scratch, bits.to_bytes(8, "little"))
    else:
        asm.load_immediate(scratch, value)
        asm.emit(i.FMV_D_X, rd, scratch)


def _load_slot(asm: RiscVAssembler, rd: int, is_float: bool, offset: int, size: int) -> None:
    row = (i.FLW if size == 4 else i.FLD) if is_float else i.LW if size == 4 else i.LD
    base = asm.base
    if offset > 2047:
        base = RA if is_float else rd
        offset = far_slot(asm, base, asm.base, offset)
    asm.emit(row, rd, offset, base)


def _store_slot(asm: RiscVAssembler, type_: Type, source: int, offset: int) -> None:
    is_float = source >= 0 and REGISTERS[source].cls == FLOATS
    row = (i.FSW if is_float else i.SW) if type_.bits == 32 else (i.FSD if is_float else i.SD)
    base = asm.base
    if offset > 2047:
        base = RA
        offset = far_slot(asm, RA, asm.base, offset)
    asm.emit(row, code_of(source), offset, base)


def far_slot(asm: RiscVAssembler, base: int, pointer: int, offset: int) -> int:
    """Put the upper part of the address of a slot, far from where a register points to, into ``base``; returns the rest."""
    low = (offset & 0xFFF ^ 0x800) - 0x800
    asm.load_immediate(base, offset - low)
    asm.emit(i.ADD, base, base, pointer)
    return low


def swap(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    if REGISTERS[instr.args[0]].cls == FLOATS:
        asm.emit(i.FMV_X_D, RA, a)
        asm.emit(i.FSGNJ_D, a, b, b)
        asm.emit(i.FMV_D_X, b, RA)
    elif a != b:
        asm.emit(i.XOR, a, a, b)
        asm.emit(i.XOR, b, b, a)
        asm.emit(i.XOR, a, a, b)


def table_address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The address of a constant array, which lies behind the code."""
    asm.pool_address(CODES[instr.dst], f.arrays[int(f.const_values[~instr.args[0]])].data)


def local_address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The address of a local array."""
    _frame_address(asm, CODES[instr.dst], asm.local_offset(int(f.const_values[~instr.args[0]])))


def incoming_address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The address of the arguments on the stack, from one on."""
    _frame_address(asm, CODES[instr.dst], asm.frame_size + int(f.const_values[~instr.args[0]]))


def _frame_address(asm: RiscVAssembler, rd: int, offset: int) -> None:
    if offset <= 2047:
        asm.emit(i.ADDI, rd, asm.base, offset)
    else:
        asm.load_immediate(rd, offset)
        asm.emit(i.ADD, rd, rd, asm.base)


def alloca(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """More of the stack, below what there is, but above the room for the arguments of calls."""
    size, align = instr.args[0], int(f.const_values[~instr.args[1]])
    rd = CODES[instr.dst]
    # (Room to raise the result to the alignment, and to a multiple of 16 from the arguments, which may end at 8.)
    more = (align if align > 16 else 0) + asm.slots_at % 16 * 2
    if size < 0:
        more += int(f.const_values[~size]) + 15 & -16
    else:
        asm.emit(i.ADDI, rd, CODES[size], 15)
        asm.emit(i.ANDI, rd, rd, -16)
        asm.emit(i.SUB, SP, SP, rd)
    if more:
        asm.load_immediate(rd, more)
        asm.emit(i.SUB, SP, SP, rd)
    asm.load_immediate(rd, (asm.slots_at + 15 & -16) + (align - 1 if align > 16 else 0))
    asm.emit(i.ADD, rd, rd, SP)
    if align > 16:
        asm.load_immediate(RA, -align)
        asm.emit(i.AND, rd, rd, RA)


def stack_pointer(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Where the stack ends."""
    asm.move(CODES[instr.dst], SP)


def symbol_address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The address of a global or a function."""
    name, address = symbol_of(f, instr)
    if address:
        asm.load_immediate(CODES[instr.dst], address)
    else:
        asm.symbol(CODES[instr.dst], name)
