"""Copies, conversions, constants, stack slots and memory on RISC-V."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import SLOT, Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.assembler import materialise
from loopwright.targets.riscv.instructions import DYNAMIC, Row
from loopwright.targets.riscv.operands import (
    DOWN,
    FLOAT_EQ,
    FROM_BITS,
    NEAREST,
    TO_BITS,
    TOWARDS_ZERO,
    UP,
    Pair,
    code_of,
    constant_of,
    float_bits,
    move_float,
    narrow,
    width_of,
)
from loopwright.targets.riscv.registers import CODES, FLOATS, RA, REGISTERS, SP, ZERO
from loopwright.types import BOOL, Type


def convert_ints(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Between integers, pointers and bool."""
    to, source = instr.type, instr.source
    rd, rs = CODES[instr.dst], code_of(instr.args[0])
    if to is BOOL:
        if source is BOOL:
            asm.move(rd, rs)
        else:
            asm.emit(i.SLTU, rd, ZERO, rs)
    elif to.bits == 64 and source.bits == 32 and not source.signed:
        asm.emit(i.SLLI, rd, rs, 32)
        asm.emit(i.SRLI, rd, rd, 32)
    elif (
        to.bits == 64 or source is BOOL or (to.bits == 32 and source.bits <= 32) or (to.bits > source.bits and (to.signed or not source.signed)) or to is source
    ):
        asm.move(rd, rs)
    else:
        narrow(asm, to, rd, rs)


_TO_FLOAT: Final[dict[str, Pair]] = {
    "w": (i.FCVT_S_W, i.FCVT_D_W),
    "wu": (i.FCVT_S_WU, i.FCVT_D_WU),
    "l": (i.FCVT_S_L, i.FCVT_D_L),
    "lu": (i.FCVT_S_LU, i.FCVT_D_LU),
}


def convert_to_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    source = instr.source
    kind = ("l" if source.signed else "lu") if source.bits == 64 else "wu" if source.bits == 32 and not source.signed else "w"
    row = _TO_FLOAT[kind][width_of(instr.type)]
    rd, rs = CODES[instr.dst], code_of(instr.args[0])
    if row is i.FCVT_D_W or row is i.FCVT_D_WU:
        asm.emit(row, rd, rs)
    else:
        asm.emit(row, rd, rs, DYNAMIC)


def convert_to_bool(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Whether a float differs from 0 (NaN does)."""
    width = width_of(instr.source)
    rd, zero = CODES[instr.dst], CODES[instr.args[1]]
    asm.emit(FROM_BITS[width], zero, ZERO)
    asm.emit(FLOAT_EQ[width], rd, CODES[instr.args[0]], zero)
    asm.emit(i.XORI, rd, rd, 1)


#: By width of the source; of the result, (32-bit arithmetic, signed).
_FROM_FLOAT: Final[dict[tuple[int, bool], Pair]] = {
    (0, True): (i.FCVT_W_S, i.FCVT_W_D),
    (0, False): (i.FCVT_WU_S, i.FCVT_WU_D),
    (1, True): (i.FCVT_L_S, i.FCVT_L_D),
    (1, False): (i.FCVT_LU_S, i.FCVT_LU_D),
}


def convert_to_int(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Towards zero; what does not fit becomes the nearest bound, NaN 0.

    fcvt does so but for NaN, of which it makes the greatest (ISA manual, table "Domains of float-to-integer conversions").
    """
    to = instr.type
    rd, rs, test = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
    width = width_of(instr.source)
    asm.emit(_FROM_FLOAT[width_of(to), to.signed][width], rd, rs, TOWARDS_ZERO)
    # All ones where the number is itself, zeros where it is none.
    asm.emit(FLOAT_EQ[width], test, rs, rs)
    asm.emit(i.SUB, test, ZERO, test)
    asm.emit(i.AND, rd, rd, test)


#: The rounding modes of conversions to integers of what fits.
_MODES: Final[dict[int, int]] = {
    ops.CONVERT_UNCHECKED.code: TOWARDS_ZERO,
    ops.CONVERT_DOWN.code: DOWN,
    ops.CONVERT_UP.code: UP,
    ops.CONVERT_NEAREST.code: NEAREST,
}


def convert_fitting_to_int(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Of a number that fits; of others something of the type."""
    to = instr.type
    rd, rs = CODES[instr.dst], CODES[instr.args[0]]
    asm.emit(_FROM_FLOAT[0 if to.bits < 32 else width_of(to), to.signed or to.bits < 32][width_of(instr.source)], rd, rs, _MODES[instr.op.code])
    if to.bits < 32:
        narrow(asm, to, rd, rd)


def convert_floats(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd, rs = CODES[instr.dst], CODES[instr.args[0]]
    if instr.type is instr.source:
        move_float(asm, instr.type, rd, rs)
    elif instr.type.bits == 64:
        asm.emit(i.FCVT_D_S, rd, rs)
    else:
        asm.emit(i.FCVT_S_D, rd, rs, DYNAMIC)


def bitcast(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    to, source = instr.type, instr.source
    rd, rs = CODES[instr.dst], code_of(instr.args[0])
    if to.is_float and source.is_float:
        move_float(asm, to, rd, rs)
    elif to.is_float:
        asm.emit(FROM_BITS[width_of(to)], rd, rs)
    elif source.is_float:
        asm.emit(TO_BITS[width_of(to)], rd, rs)
    elif to.bits < 32:
        narrow(asm, to, rd, rs)
    else:
        asm.move(rd, rs)


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
        if to_float and from_float:
            move_float(asm, type_, rd, rs)
        elif to_float:
            asm.emit(FROM_BITS[width_of(type_)], rd, rs)
        elif from_float:
            asm.emit(TO_BITS[width_of(type_)], rd, rs)
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
        asm.emit(FROM_BITS[width_of(type_)], rd, ZERO)
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
    base = SP
    if offset > 2047:
        base = RA if is_float else rd
        offset = far_slot(asm, base, offset)
    asm.emit(row, rd, offset, base)


def _store_slot(asm: RiscVAssembler, type_: Type, source: int, offset: int) -> None:
    is_float = source >= 0 and REGISTERS[source].cls == FLOATS
    row = (i.FSW if is_float else i.SW) if type_.bits == 32 else (i.FSD if is_float else i.SD)
    base = SP
    if offset > 2047:
        base = RA
        offset = far_slot(asm, RA, offset)
    asm.emit(row, code_of(source), offset, base)


def far_slot(asm: RiscVAssembler, base: int, offset: int) -> int:
    """Put the upper part of a far slot's address into ``base``; returns the rest."""
    low = (offset & 0xFFF ^ 0x800) - 0x800
    asm.load_immediate(base, offset - low)
    asm.emit(i.ADD, base, base, SP)
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


_LOAD: Final[dict[tuple[int, bool], Row]] = {
    (8, True): i.LB,
    (8, False): i.LBU,
    (16, True): i.LH,
    (16, False): i.LHU,
    (32, True): i.LW,
    (32, False): i.LW,
    (64, True): i.LD,
    (64, False): i.LD,
}
_STORE: Final[dict[int, Row]] = {8: i.SB, 16: i.SH, 32: i.SW, 64: i.SD}


def far_offset(disp: int) -> bool:
    """Whether a displacement has no room in a load or store."""
    return not -2048 <= disp <= 2047


def _address(asm: RiscVAssembler, instr: Instr, at: int, scratch: int) -> tuple[int, int]:
    """(base register, displacement); ``instr.args[scratch:]`` are the registers the rule asked for, if it did.

    The first takes base plus index, the second (or the only one) a base moved by what a displacement has no room for.
    """
    mem = instr.mem
    assert mem is not None
    base = code_of(instr.args[at])
    disp = mem.disp
    if mem.indexed:
        index = code_of(instr.args[at + 1])
        made = CODES[instr.args[scratch]]
        if mem.scale > 1:
            power = mem.scale.bit_length() - 1
            assert mem.scale == 1 << power, "an index is scaled by a power of two"
            asm.emit(i.SLLI, made, index, power)
            index = made
        asm.emit(i.ADD, made, base, index)
        base = made
    if far_offset(disp):
        made = CODES[instr.args[scratch + (1 if mem.indexed else 0)]]
        low = (disp & 0xFFF ^ 0x800) - 0x800
        asm.load_immediate(made, disp - low)
        asm.emit(i.ADD, made, made, base)
        base = made
        disp = low
    return base, disp


def load(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    mem = instr.mem
    assert mem is not None
    base, disp = _address(asm, instr, 0, 2 if mem.indexed else 1)
    if type_.is_float:
        asm.emit(i.FLW if type_.bits == 32 else i.FLD, CODES[instr.dst], disp, base)
    else:
        asm.emit(_LOAD[type_.bits, type_.signed], CODES[instr.dst], disp, base)


def store(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    mem = instr.mem
    assert mem is not None
    value = instr.args[0]
    base, disp = _address(asm, instr, 1, 3 if mem.indexed else 2)
    if type_.is_float and value >= 0:
        asm.emit(i.FSW if type_.bits == 32 else i.FSD, CODES[value], disp, base)
    else:
        asm.emit(_STORE[type_.bits], code_of(value), disp, base)


def local_address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The address of a local array."""
    rd = CODES[instr.dst]
    offset = asm.local_offset(int(f.const_values[~instr.args[0]]))
    if offset <= 2047:
        asm.emit(i.ADDI, rd, SP, offset)
    else:
        asm.load_immediate(rd, offset)
        asm.emit(i.ADD, rd, rd, SP)


def address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    mem = instr.mem
    assert mem is not None
    base, disp = _address(asm, instr, 0, 2 if mem.indexed else 1)
    asm.emit(i.ADDI, CODES[instr.dst], base, disp)
