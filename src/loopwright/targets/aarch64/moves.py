"""Copies, constants, stack slots and memory on AArch64.

Registers hold integers of 8 and 16 bits extended to 32 by their own sign (``bool`` is 0 or 1); the upper half of a register with 32 bits or fewer may
hold anything, and so may what is above a float or a short vector in a vector register. Masks are vectors with lanes of all ones or all zeros. Every
rule expects and leaves them so.

Where an address has no room in an instruction, ``SCRATCH`` takes what has, and ``SCRATCH2`` helps where that alone does not do.
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.ir.function import LOCAL_ALIGN, SLOT, Function, Instr
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.assembler import LSL
from loopwright.targets.aarch64.constants import vector_immediate
from loopwright.targets.aarch64.immediates import float_immediate
from loopwright.targets.aarch64.notation import Row
from loopwright.targets.aarch64.operands import FORMATS, arrangement
from loopwright.targets.aarch64.registers import CODES, INTS, REGISTERS, SCRATCH, SCRATCH2, SP, VECTORS, ZR
from loopwright.targets.target import incoming_at, scalar_integers, symbol_of
from loopwright.types import BOOL, Type

__all__ = [
    "address",
    "address_in_register",
    "address_into",
    "alloca",
    "bitcast",
    "code_of",
    "constant_bytes",
    "copy",
    "emit_load",
    "emit_store",
    "emit_store_zero",
    "load",
    "load_advance",
    "load_constant",
    "load_parts",
    "load_parts_advance",
    "local_address",
    "move_from_vector",
    "move_to_vector",
    "reaches",
    "size_of",
    "stack_pointer",
    "store",
    "store_advance",
    "store_far",
    "store_parts",
    "store_parts_advance",
    "swap",
    "symbol_address",
]


def code_of(operand: int) -> int:
    """The machine's number of a register; a constant here is 0 and so the zero register."""
    return CODES[operand] if operand >= 0 else ZR


def size_of(type_: Type) -> int:
    """Bytes of a value in a register, masks included."""
    return type_.bits * max(type_.lanes, 1) // 8


# --- memory --------------------------------------------------------------------------------------------------

#: The forms of an access: displacement in multiples of its size, in bytes, and an index.
Forms = tuple[Row, Row, Row]

#: By bits and sign; 32-bit registers take what has fewer than 64 bits.
_INT_LOADS: Final[dict[tuple[int, bool], Forms]] = {
    (8, True): (i.LDRS["w.b"], i.LDURS["w.b"], i.LDRS_REG["w.b"]),
    (8, False): (i.LDR["b"], i.LDUR["b"], i.LDR_REG["b"]),
    (16, True): (i.LDRS["w.h"], i.LDURS["w.h"], i.LDRS_REG["w.h"]),
    (16, False): (i.LDR["h"], i.LDUR["h"], i.LDR_REG["h"]),
    (32, True): (i.LDR["w"], i.LDUR["w"], i.LDR_REG["w"]),
    (32, False): (i.LDR["w"], i.LDUR["w"], i.LDR_REG["w"]),
    (64, True): (i.LDR["x"], i.LDUR["x"], i.LDR_REG["x"]),
    (64, False): (i.LDR["x"], i.LDUR["x"], i.LDR_REG["x"]),
}
#: By bytes.
_INT_STORES: Final[dict[int, Forms]] = {size: (i.STR[shape], i.STUR[shape], i.STR_REG[shape]) for size, shape in ((1, "b"), (2, "h"), (4, "w"), (8, "x"))}
_SHAPES: Final = ((1, "b"), (2, "h"), (4, "s"), (8, "d"), (16, "q"))
_VECTOR_LOADS: Final[dict[int, Forms]] = {size: (i.LDR_V[shape], i.LDUR_V[shape], i.LDR_V_REG[shape]) for size, shape in _SHAPES}
_VECTOR_STORES: Final[dict[int, Forms]] = {size: (i.STR_V[shape], i.STUR_V[shape], i.STR_V_REG[shape]) for size, shape in _SHAPES}


def _scaled(disp: int, size: int) -> bool:
    return 0 <= disp <= 4095 * size and disp % size == 0


def reaches(disp: int, size: int) -> bool:
    """Whether an access of ``size`` bytes has room for a displacement (without an index)."""
    return _scaled(disp, size) or -256 <= disp <= 255


def _add(asm: AArch64Assembler, rd: int, rn: int, value: int) -> None:
    """Add a number, with any of the scratch registers."""
    if rn == SCRATCH and abs(value) >> 24:
        asm.load_immediate(SCRATCH2, value)
        asm.emit(i.ADD["x"], rd, rn, SCRATCH2, LSL, 0)
    else:
        asm.add_immediate(rd, rn, value)


def _add_index(asm: AArch64Assembler, rd: int, base: int, index: int, scale: int) -> None:
    power = scale.bit_length() - 1
    assert scale == 1 << power, "an index is scaled by a power of two"
    asm.emit(i.ADD["x"], rd, base, index, LSL, power)


def _reachable(asm: AArch64Assembler, base: int, disp: int, size: int) -> tuple[int, int]:
    """(base register, displacement) that an access of ``size`` bytes has room for; by way of ``SCRATCH`` where needed."""
    if reaches(disp, size):
        return base, disp
    low = disp & 0xFFF
    if not reaches(low, size):
        low = 0
    _add(asm, SCRATCH, base, disp - low)
    return SCRATCH, low


def _access(asm: AArch64Assembler, forms: Forms, size: int, register: int, base: int, index: int, scale: int, disp: int) -> None:
    """Load or store ``register`` at base + index * scale + disp, whatever the address; no index when that is negative."""
    if index >= 0:
        if disp == 0 and (scale == 1 or scale == size):
            asm.emit(forms[2], register, base, index, scale.bit_length() - 1)
            return
        _add_index(asm, SCRATCH, base, index, scale)
        base = SCRATCH
    base, disp = _reachable(asm, base, disp, size)
    asm.emit(forms[0] if _scaled(disp, size) else forms[1], register, base, disp)


def _load_forms(type_: Type) -> Forms:
    return _INT_LOADS[type_.bits, type_.signed] if scalar_integers(type_) else _VECTOR_LOADS[size_of(type_)]


def _store_forms(type_: Type) -> Forms:
    return _INT_STORES[type_.bits // 8] if scalar_integers(type_) else _VECTOR_STORES[size_of(type_)]


def emit_load(asm: AArch64Assembler, type_: Type, rd: int, base: int, index: int = -1, scale: int = 1, disp: int = 0) -> None:
    """Load a scalar, a vector or a mask from base + index * scale + disp; registers by their machine codes, ``index`` negative for none."""
    _access(asm, _load_forms(type_), size_of(type_), rd, base, index, scale, disp)


def emit_store(asm: AArch64Assembler, type_: Type, rs: int, base: int, index: int = -1, scale: int = 1, disp: int = 0) -> None:
    """Store a scalar, a vector or a mask to base + index * scale + disp; registers by their machine codes, ``index`` negative for none."""
    _access(asm, _store_forms(type_), size_of(type_), rs, base, index, scale, disp)


def emit_store_zero(asm: AArch64Assembler, size: int, base: int, index: int = -1, scale: int = 1, disp: int = 0) -> None:
    """Store zeros, 1 to 16 bytes (a power of two), to base + index * scale + disp."""
    if size <= 8:
        _access(asm, _INT_STORES[size], size, ZR, base, index, scale, disp)
        return
    if index >= 0:
        _add_index(asm, SCRATCH, base, index, scale)
        base = SCRATCH
    if not (-512 <= disp <= 504 and disp % 8 == 0):
        _add(asm, SCRATCH, base, disp)
        base, disp = SCRATCH, 0
    asm.emit(i.STP["x"], ZR, ZR, base, disp)


def load(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """``load_at`` of any type."""
    mem = instr.mem
    assert mem is not None
    args = instr.args
    emit_load(asm, instr.type, CODES[instr.dst], CODES[args[0]], code_of(args[1]) if mem.indexed else -1, mem.scale, mem.disp)


def store(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """``store_at`` of any type; a constant has all bits zero."""
    mem = instr.mem
    assert mem is not None
    args = instr.args
    value = args[0]
    base, index = CODES[args[1]], code_of(args[2]) if mem.indexed else -1
    if value < 0:
        emit_store_zero(asm, size_of(instr.type), base, index, mem.scale, mem.disp)
    else:
        emit_store(asm, instr.type, CODES[value], base, index, mem.scale, mem.disp)


#: By bits and sign: behind the access, before it.
_INT_LOADS_ADVANCING: Final[dict[tuple[int, bool], tuple[Row, Row]]] = {
    (8, True): (i.LDRS_POST["w.b"], i.LDRS_PRE["w.b"]),
    (8, False): (i.LDR_POST["b"], i.LDR_PRE["b"]),
    (16, True): (i.LDRS_POST["w.h"], i.LDRS_PRE["w.h"]),
    (16, False): (i.LDR_POST["h"], i.LDR_PRE["h"]),
    (32, True): (i.LDR_POST["w"], i.LDR_PRE["w"]),
    (32, False): (i.LDR_POST["w"], i.LDR_PRE["w"]),
    (64, True): (i.LDR_POST["x"], i.LDR_PRE["x"]),
    (64, False): (i.LDR_POST["x"], i.LDR_PRE["x"]),
}
_INT_STORES_ADVANCING: Final = {size: (i.STR_POST[shape], i.STR_PRE[shape]) for size, shape in ((1, "b"), (2, "h"), (4, "w"), (8, "x"))}
_VECTOR_LOADS_ADVANCING: Final = {size: (i.LDR_V_POST[shape], i.LDR_V_PRE[shape]) for size, shape in _SHAPES}
_VECTOR_STORES_ADVANCING: Final = {size: (i.STR_V_POST[shape], i.STR_V_PRE[shape]) for size, shape in _SHAPES}


def _advancing(asm: AArch64Assembler, forms: tuple[Row, Row], instr: Instr, register: int, base: int) -> None:
    mem = instr.mem
    assert mem is not None and mem.disp in (0, instr.imm)
    asm.emit(forms[1] if mem.disp else forms[0], register, base, instr.imm)


def load_advance(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """A load that moves its pointer on, behind the access or, where its address has a displacement, before."""
    type_ = instr.type
    forms = _INT_LOADS_ADVANCING[type_.bits, type_.signed] if scalar_integers(type_) else _VECTOR_LOADS_ADVANCING[size_of(type_)]
    _advancing(asm, forms, instr, CODES[instr.dst], CODES[instr.args[0]])


def store_advance(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """A store that moves its pointer on, which is its result."""
    type_ = instr.type
    forms = _INT_STORES_ADVANCING[type_.bits // 8] if scalar_integers(type_) else _VECTOR_STORES_ADVANCING[size_of(type_)]
    _advancing(asm, forms, instr, CODES[instr.args[0]], CODES[instr.args[1]])


_LOADS_OF_PARTS: Final = {2: i.LD2, 3: i.LD3, 4: i.LD4}
_STORES_OF_PARTS: Final = {2: i.ST2, 3: i.ST3, 4: i.ST4}


def load_parts(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Elements in turn to consecutive registers, of which the result is the first."""
    base = address_in_register(asm, instr, 0)
    asm.emit(_LOADS_OF_PARTS[instr.op.parts][arrangement(instr.type)], CODES[instr.dst], base)


def store_parts(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Elements in turn from consecutive registers, of which the first operand is the first."""
    base = address_in_register(asm, instr, instr.op.parts)
    asm.emit(_STORES_OF_PARTS[instr.op.parts][arrangement(instr.type)], CODES[instr.args[0]], base)


_LOADS_OF_PARTS_POST: Final = {2: i.LD2_POST, 3: i.LD3_POST, 4: i.LD4_POST}
_STORES_OF_PARTS_POST: Final = {2: i.ST2_POST, 3: i.ST3_POST, 4: i.ST4_POST}


def load_parts_advance(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """As ``load_parts``; the pointer is moved on by what is accessed."""
    asm.emit(_LOADS_OF_PARTS_POST[instr.op.parts][arrangement(instr.type)], CODES[instr.dst], CODES[instr.args[0]])


def store_parts_advance(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """As ``store_parts``; the pointer is moved on by what is accessed."""
    parts = instr.op.parts
    asm.emit(_STORES_OF_PARTS_POST[parts][arrangement(instr.type)], CODES[instr.args[0]], CODES[instr.args[parts]])


def address_into(asm: AArch64Assembler, instr: Instr, at: int, rd: int) -> None:
    """The address of an access whose operand ``at`` is the base, in ``rd``."""
    mem = instr.mem
    assert mem is not None
    base = CODES[instr.args[at]]
    if mem.indexed:
        _add_index(asm, rd, base, code_of(instr.args[at + 1]), mem.scale)
        base = rd
    if mem.disp:
        _add(asm, rd, base, mem.disp)
    elif base != rd:
        asm.move(rd, base)


def address(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The address itself, of any form."""
    address_into(asm, instr, 0, CODES[instr.dst])


def address_in_register(asm: AArch64Assembler, instr: Instr, at: int) -> int:
    """The machine code of a register with the whole address of an access whose operand ``at`` is the base: the base itself, or ``SCRATCH``."""
    mem = instr.mem
    assert mem is not None
    if not mem.indexed and not mem.disp:
        return CODES[instr.args[at]]
    address_into(asm, instr, at, SCRATCH)
    return SCRATCH


def table_address(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The address of a constant array, which lies behind the code."""
    data = f.arrays[int(f.const_values[~instr.args[0]])].data
    asm.pool_address(CODES[instr.dst], data + bytes((1 << (len(data) - 1).bit_length()) - len(data)))


def local_address(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The address of a local array. Where that is to be at a multiple of ``LOCAL_ALIGN``, it is raised to one: room for that is behind the last."""
    rd = CODES[instr.dst]
    number = int(f.const_values[~instr.args[0]])
    framed = f.in_frame(number)
    asm.add_immediate(rd, asm.base, asm.local_offset(number) + (0 if framed else LOCAL_ALIGN - 1))
    if not framed:
        asm.emit(i.AND_IMM["x"], rd, rd, (1 << 64) - LOCAL_ALIGN)


def alloca(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """More of the stack, below what there is, but above the room for the arguments of calls."""
    size, align = instr.args[0], int(f.const_values[~instr.args[1]])
    rd = CODES[instr.dst]
    more = align if align > 16 else 0
    if size < 0:
        more += int(f.const_values[~size]) + 15 & -16
    else:
        asm.emit(i.ADD_IMM["x"], SCRATCH, CODES[size], 15, 0)
        asm.emit(i.AND_IMM["x"], SCRATCH, SCRATCH, (1 << 64) - 16)
        asm.emit(i.SUB_UXTX, SP, SP, SCRATCH, 0)
    if more:
        asm.add_immediate(SP, SP, -more)
    asm.add_immediate(rd, SP, asm.slots_at + (align - 1 if align > 16 else 0))
    if align > 16:
        asm.emit(i.AND_IMM["x"], rd, rd, (1 << 64) - align)


def incoming_address(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The address of the arguments on the stack, from one on."""
    asm.add_immediate(CODES[instr.dst], asm.base, asm.frame_size + incoming_at(f, instr))


def stack_pointer(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Where the stack ends."""
    asm.add_immediate(CODES[instr.dst], SP, 0)


def symbol_address(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The address of a global or a function."""
    name, address = symbol_of(f, instr)
    if address:
        asm.load_immediate(CODES[instr.dst], address)
    else:
        asm.symbol(CODES[instr.dst], name)


def store_far(asm: AArch64Assembler, type_: Type, rs: int, offset: int) -> None:
    """Store a register at an offset from the stack pointer, however far."""
    emit_store(asm, type_, rs, asm.base, disp=offset)


# --- constants -----------------------------------------------------------------------------------------------


def constant_bytes(f: Function, operand: int, type_: Type) -> bytes:
    """The bytes of a constant of a type in a register: the same in every lane, those of masks all ones or all zeros."""
    value = f.const_values[~operand]
    element = type_.bits // 8
    if type_.is_float:
        data = struct.pack(f"<{FORMATS[type_.bits]}", float(value))
    elif type_.is_mask:
        data = bytes((0xFF if value else 0,)) * element
    else:
        data = (int(value) & (1 << type_.bits) - 1).to_bytes(element, "little")
    return data * max(type_.lanes, 1)


def _register_value(f: Function, operand: int, type_: Type) -> int:
    """A constant as an integer register holds it."""
    bits = int.from_bytes(constant_bytes(f, operand, type_), "little")
    if type_.signed and type_.bits < 32 and not type_.lanes and bits >> (type_.bits - 1):
        bits |= (1 << 32) - (1 << type_.bits)
    return bits


def load_constant(asm: AArch64Assembler, f: Function, constant: int, type_: Type, register: int) -> None:
    """A constant of any type into an allocatable register of either class; no other register is touched but the scratch registers."""
    rd = CODES[register]
    if REGISTERS[register].cls == INTS:
        asm.load_immediate(rd, _register_value(f, constant, type_))
        return
    data = constant_bytes(f, constant, type_)
    if type_.is_float and not type_.lanes:
        value = float(f.const_values[~constant])
        bits = int.from_bytes(data, "little")
        if bits and float_immediate(value) is None:
            found = vector_immediate(bits, type_.bits, False)
            if found is not None:
                asm.emit(found[0], rd, *found[1])
                return
        asm.load_float(rd, value, type_.bits)
    else:
        # What is above a short vector may be anything.
        asm.load_vector(rd, data * (8 // len(data)) if len(data) < 8 else data)


# --- copies --------------------------------------------------------------------------------------------------


def move_to_vector(asm: AArch64Assembler, type_: Type, rd: int, rs: int) -> None:
    """The bits of up to 64 from an integer register into a vector register; those above the type's may be anything."""
    asm.emit(i.FMOV_FROM_INT["d.x"] if size_of(type_) == 8 else i.FMOV_FROM_INT["s.w"], rd, rs)


def move_from_vector(asm: AArch64Assembler, type_: Type, rd: int, rs: int) -> None:
    """The lowest bits of a vector register into an integer register that will hold them as a scalar integer of ``type_``."""
    if type_.bits == 64:
        asm.emit(i.FMOV_TO_INT["x.d"], rd, rs)
    elif type_.bits == 32:
        asm.emit(i.FMOV_TO_INT["w.s"], rd, rs)
    else:
        shape = "h" if type_.bits == 16 else "b"
        if type_.signed:
            asm.emit(i.SMOV["w." + shape], rd, rs, 0)
        else:
            asm.emit(i.UMOV[shape], rd, rs, 0)


def copy(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Between registers of either class and stack slots, and from constants."""
    type_ = instr.type
    to, source = instr.dst, instr.args[0]
    if to >= SLOT:
        _to_slot(asm, f, type_, asm.slot_offset(to), source)
    elif source < 0:
        load_constant(asm, f, source, type_, to)
    elif source >= SLOT:
        _from_slot(asm, type_, CODES[to], REGISTERS[to].cls, asm.slot_offset(source))
    else:
        _between(asm, type_, to, source)


def _between(asm: AArch64Assembler, type_: Type, to: int, source: int) -> None:
    """From register to register."""
    rd, rs = CODES[to], CODES[source]
    to_vector, from_vector = REGISTERS[to].cls == VECTORS, REGISTERS[source].cls == VECTORS
    if to_vector and from_vector:
        asm.move_vector(rd, rs)
    elif to_vector:
        move_to_vector(asm, type_, rd, rs)
    elif not from_vector:
        asm.move(rd, rs)
    elif scalar_integers(type_):
        move_from_vector(asm, type_, rd, rs)
    else:
        asm.emit(i.FMOV_TO_INT["x.d"] if size_of(type_) == 8 else i.FMOV_TO_INT["w.s"], rd, rs)


def _slot_forms(type_: Type, cls: int, store: bool) -> tuple[Forms, int]:
    """How a register is kept in a slot, and the bytes: narrow integers as registers hold them."""
    size = size_of(type_)
    if scalar_integers(type_):
        size = max(size, 4)
    if cls == VECTORS:
        return (_VECTOR_STORES if store else _VECTOR_LOADS)[size], size
    return _INT_STORES[size] if store else _INT_LOADS[8 * size, False], size


def _from_slot(asm: AArch64Assembler, type_: Type, rd: int, cls: int, offset: int) -> None:
    forms, size = _slot_forms(type_, cls, False)
    _access(asm, forms, size, rd, asm.base, -1, 1, offset)


def _to_slot(asm: AArch64Assembler, f: Function, type_: Type, offset: int, source: int) -> None:
    if 0 <= source < SLOT:
        forms, size = _slot_forms(type_, REGISTERS[source].cls, True)
        _access(asm, forms, size, CODES[source], asm.base, -1, 1, offset)
        return
    size = max(size_of(type_), 4) if scalar_integers(type_) else size_of(type_)
    value = _register_value(f, source, type_) if source < 0 else 0
    # A slot of 16 bytes by halves.
    part = min(size, 8)
    for at in range(0, size, 8):
        rs = SCRATCH2
        if source >= SLOT:
            _access(asm, _INT_LOADS[8 * part, False], part, SCRATCH2, asm.base, -1, 1, asm.slot_offset(source) + at)
        # The stack pointer is no scratch register, so the address leaves SCRATCH2 alone.
        base, disp = _reachable(asm, asm.base, offset + at, part)
        if source < 0:
            half = value >> 8 * at & (1 << 8 * part) - 1
            if half:
                asm.load_immediate(SCRATCH2, half)
            else:
                rs = ZR
        asm.emit(_INT_STORES[part][0] if _scaled(disp, part) else _INT_STORES[part][1], rs, base, disp)


def swap(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Exchange two registers of a class, all their bits."""
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    if a == b:
        return
    if REGISTERS[instr.args[0]].cls == INTS:
        asm.move(SCRATCH, a)
        asm.move(a, b)
        asm.move(b, SCRATCH)
    else:
        exclusive = i.EOR_V["16b"]
        asm.emit(exclusive, a, a, b)
        asm.emit(exclusive, b, a, b)
        asm.emit(exclusive, a, a, b)


def bitcast(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The same bits as another type of the same size."""
    to, source = instr.type, instr.source
    rd, rs = CODES[instr.dst], code_of(instr.args[0])
    if scalar_integers(to):
        if not scalar_integers(source):
            move_from_vector(asm, to, rd, rs)
        elif to.bits >= 32 or to is BOOL:
            asm.move(rd, rs)
        else:
            asm.extend(rd, rs, to.bits, to.signed, "w")
    elif scalar_integers(source):
        move_to_vector(asm, to, rd, rs)
    else:
        asm.move_vector(rd, rs)
