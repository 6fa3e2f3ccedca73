"""Emission of operations on vectors and masks that are more than one instruction."""

from __future__ import annotations

import struct
from collections.abc import Callable

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.assembler import EQ, GT, LO, LSL, NE
from loopwright.targets.aarch64.integers import divide
from loopwright.targets.aarch64.notation import Row
from loopwright.targets.aarch64.operands import FORMATS, arrangement, bytes_of, bytewise, constant_of, letter, register
from loopwright.targets.aarch64.registers import CODES, SCRATCH, SCRATCH2, ZR
from loopwright.targets.sequences import shift_count
from loopwright.types import Type

# --- making vectors -----------------------------------------------------------------------------------------------


def splat(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The scalar in every lane."""
    type_ = instr.type
    shape = arrangement(type_)
    if type_.is_float:
        asm.emit(i.DUP_E[shape], CODES[instr.dst], CODES[instr.args[0]], 0)
    else:
        asm.emit(i.DUP[shape], CODES[instr.dst], register(asm, f, instr.args[0]))


def mask_splat(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """A bool, 0 or 1, becomes 0 or all ones."""
    asm.emit(i.SUB["x"], SCRATCH, ZR, register(asm, f, instr.args[0]), LSL, 0)
    asm.emit(i.DUP[arrangement(instr.type)], CODES[instr.dst], SCRATCH)


def _numbers(type_: Type) -> bytes:
    """0, 1, 2, … by lane, padded to 8 or 16 bytes."""
    if type_.is_float:
        return struct.pack(f"<{type_.lanes}{FORMATS[type_.bits]}", *range(type_.lanes)).ljust(8, b"\0")
    return b"".join(n.to_bytes(type_.bits // 8, "little") for n in range(type_.lanes)).ljust(8, b"\0")


def iota(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.load_vector(CODES[instr.dst], _numbers(instr.type))


def lane_mask(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Lane k holds where a + k < b: how many hold, between 0 and the lanes, compared to 0, 1, 2, …; the third operand is a scratch vector."""
    type_ = instr.type
    a, b = register(asm, f, instr.args[0]), register(asm, f, instr.args[1], SCRATCH2)
    counted = CODES[instr.args[2]]
    asm.emit(i.SUBS["x"], SCRATCH, b, a, LSL, 0)
    asm.emit(i.CSEL["x"], SCRATCH, SCRATCH, ZR, GT)
    asm.load_immediate(SCRATCH2, type_.lanes)
    asm.emit(i.SUBS_IMM["x"], ZR, SCRATCH, type_.lanes, 0)
    asm.emit(i.CSEL["x"], SCRATCH, SCRATCH, SCRATCH2, LO)
    shape = arrangement(type_)
    asm.emit(i.DUP[shape], CODES[instr.dst], SCRATCH)
    asm.load_vector(counted, _numbers(type_))
    asm.emit(i.CMHI[shape], CODES[instr.dst], CODES[instr.dst], counted)


def extract(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Lane 0."""
    _lane(asm, instr.type, CODES[instr.dst], CODES[instr.args[0]], 0)


def _lane(asm: AArch64Assembler, element: Type, rd: int, rn: int, lane: int) -> None:
    """A lane as a scalar: of integers in a general register, extended as those are kept."""
    if element.is_float:
        if lane:
            asm.emit(i.DUP_S[letter(element)], rd, rn, lane)
        else:
            asm.move_vector(rd, rn)
    elif element.bits < 32 and element.signed:
        asm.emit(i.SMOV[f"w.{letter(element)}"], rd, rn, lane)
    else:
        asm.emit(i.UMOV[letter(element)], rd, rn, lane)


def slide(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Lanes k, k + 1, … of a followed by b, of whole vectors."""
    a, b, k = instr.args
    type_ = instr.type
    lane = constant_of(f, k)
    if lane == 0 or lane == type_.lanes:
        asm.move_vector(CODES[instr.dst], CODES[b if lane else a])
    else:
        asm.emit(i.EXT[bytewise(type_)], CODES[instr.dst], CODES[a], CODES[b], lane * type_.bits // 8)


def slide_part(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The same of vectors of less than 8 bytes: both in one register first."""
    a, b, k, both = instr.args
    type_ = instr.type
    asm.move_vector(CODES[both], CODES[a])
    asm.emit(i.INS_E[{4: "s", 2: "h"}[type_.size]], CODES[both], 1, CODES[b], 0)
    asm.emit(i.EXT["8b"], CODES[instr.dst], CODES[both], CODES[both], constant_of(f, k) * type_.bits // 8)


def reverse(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Lanes within 64 bits by REV64 (Arm ARM, C7.2, "REV64"), then the halves."""
    type_ = instr.type
    rd, rn = CODES[instr.dst], CODES[instr.args[0]]
    size = bytes_of(type_)
    if type_.bits < 64:
        # (Of less than 64 bits the lanes are at the upper end then.)
        asm.emit(i.REV64[f"{64 * max(size // 8, 1) // type_.bits}{letter(type_)}"], rd, rn)
        rn = rd
    if size == 16:
        asm.emit(i.EXT["16b"], rd, rn, rn, 8)
    elif size < 8:
        asm.emit(i.EXT["8b"], rd, rn, rn, 8 - size)


# --- choices, shifts ------------------------------------------------------------------------------------------------


def select(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """BSL, BIT or BIF, by whose register the result has."""
    mask, a, b = (CODES[x] for x in instr.args)
    rd = CODES[instr.dst]
    shape = bytewise(instr.type)
    if rd == b and rd != mask:
        asm.emit(i.BIT[shape], rd, a, mask)
    elif rd == a and rd != mask:
        asm.emit(i.BIF[shape], rd, b, mask)
    else:
        asm.move_vector(rd, mask)
        asm.emit(i.BSL[shape], rd, a, b)


def shift_constant(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    shape = arrangement(type_)
    rd, rn = CODES[instr.dst], CODES[instr.args[0]]
    count = shift_count(type_, constant_of(f, instr.args[1]))
    if instr.op is ops.SHL:
        if count >= type_.bits:
            asm.emit(i.EOR_V[bytewise(type_)], rd, rn, rn)
        else:
            asm.emit(i.SHL[shape], rd, rn, count)
    elif not count:
        asm.move_vector(rd, rn)
    else:
        asm.emit((i.SSHR if type_.signed else i.USHR)[shape], rd, rn, count)


def shift(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """By counts of any size, lane by lane: SSHL and USHL read a signed byte of them, and shift to the right by negative ones. The third operand is a
    scratch vector, for the counts, none above the width; of 64 bits the fourth is another."""
    type_ = instr.type
    shape = arrangement(type_)
    value, count, cut = (CODES[x] for x in instr.args[:3])
    rd = CODES[instr.dst]
    asm.load_vector(cut, type_.bits.to_bytes(type_.bits // 8, "little") * (16 * 8 // type_.bits))
    if type_.bits == 64:
        # (There is no UMIN of 64 bits.)
        above = CODES[instr.args[3]]
        asm.emit(i.CMHI[shape], above, count, cut)
        asm.emit(i.BIF["16b"], cut, count, above)
    else:
        asm.emit(i.UMIN[shape], cut, cut, count)
    if instr.op is ops.SHR:
        asm.emit(i.NEG[shape], cut, cut)
    asm.emit((i.SSHL if type_.signed and instr.op is ops.SHR else i.USHL)[shape], rd, value, cut)


def rotate_constant(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Halves exchanged, or shifted to the left, and what comes in below inserted (Arm ARM, C7.2, SRI)."""
    type_ = instr.type
    bits = type_.bits
    shape = arrangement(type_)
    rd, rn = CODES[instr.dst], CODES[instr.args[0]]
    count = constant_of(f, instr.args[1])
    places = (count if instr.op is ops.ROTATE_LEFT else -count) % bits
    if places == 0:
        asm.move_vector(rd, rn)
    elif 2 * places == bits and bits > 8:
        half = {16: "b", 32: "h", 64: "s"}[bits]
        size = 16 if bytes_of(type_) == 16 else 8
        asm.emit({16: i.REV16_V, 32: i.REV32_V, 64: i.REV64}[bits][f"{size * 16 // bits}{half}"], rd, rn)
    else:
        asm.emit(i.SHL[shape], rd, rn, places)
        asm.emit(i.SRI[shape], rd, rn, bits - places)


def rotate(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """By counts of any size: USHL shifts to the left by the count modulo the width, and to the right, by a negative count, by what is left of the width."""
    type_ = instr.type
    shape, whole = arrangement(type_), bytewise(type_)
    value, count, cut, back = (CODES[x] for x in instr.args)
    rd = CODES[instr.dst]
    size = type_.bits // 8
    if instr.op is ops.ROTATE_RIGHT:
        asm.emit(i.NEG[shape], cut, count)
        count = cut
    asm.load_vector(back, (type_.bits - 1).to_bytes(size, "little") * (16 // size))
    asm.emit(i.AND_V[whole], cut, count, back)
    # The count less the width: less what is cut off, less 1.
    asm.emit(i.EOR_V[whole], back, back, cut)
    asm.emit(i.NOT[whole], back, back)
    asm.emit(i.USHL[shape], rd, value, cut)
    asm.emit(i.USHL[shape], back, value, back)
    asm.emit(i.ORR_V[whole], rd, rd, back)


# --- lane by lane -----------------------------------------------------------------------------------------------------


def multiply_64(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Two products of 64 bits, or their upper halves, in general registers."""
    a, b, rd = CODES[instr.args[0]], CODES[instr.args[1]], CODES[instr.dst]
    for lane in range(instr.type.lanes):
        asm.emit(i.UMOV["d"], SCRATCH, a, lane)
        asm.emit(i.UMOV["d"], SCRATCH2, b, lane)
        if instr.op is ops.MUL:
            asm.emit(i.MADD["x"], SCRATCH, SCRATCH, SCRATCH2, ZR)
        else:
            asm.emit(i.SMULH if instr.type.signed else i.UMULH, SCRATCH, SCRATCH, SCRATCH2)
        asm.emit(i.INS["d"], rd, lane, SCRATCH)


def multiply_high(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The upper halves of products of lanes of 8, 16 and 32 bits; the third operand is a scratch vector."""
    type_ = instr.type
    a, b, upper = (CODES[x] for x in instr.args)
    rd = CODES[instr.dst]
    long = i.SMULL if type_.signed else i.UMULL
    low = f"{64 // type_.bits}{letter(type_)}"
    whole = f"{128 // type_.bits}{letter(type_)}"
    if bytes_of(type_) == 16:
        asm.emit(long[whole], upper, a, b)
        asm.emit(long[low], rd, a, b)
        # The odd elements of both.
        asm.emit(i.UZP2[whole], rd, rd, upper)
    else:
        asm.emit(long[low], upper, a, b)
        asm.emit(i.SHRN[low], rd, upper, type_.bits)


def lookup(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Bytes of a vector by numbers, of which TBL looks at all bits; the third operand is a scratch vector."""
    table, numbers, t = (CODES[x] for x in instr.args)
    size = f"{max(bytes_of(instr.type), 8)}b"
    asm.emit(i.MOVI_B[size], t, 0x8F)
    asm.emit(i.AND_V[size], t, t, numbers)
    asm.emit(i.TBL1[size], CODES[instr.dst], table, t)


def dot(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Products of all lanes, of twice the bits, and sums of two neighbours; the third operand is a scratch vector."""
    source = instr.source
    a, b, lower = (CODES[x] for x in instr.args)
    rd = CODES[instr.dst]
    long = i.SMULL if source.signed else i.UMULL
    asm.emit(long[f"{64 // source.bits}{letter(source)}"], lower, a, b)
    asm.emit(long[f"{128 // source.bits}{letter(source)}"], rd, a, b)
    asm.emit(i.ADDP[f"{128 // instr.type.bits}{letter(instr.type)}"], rd, lower, rd)


def sum_halves(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Eight f16 as f32, and sums of two neighbours; the second operand is a scratch vector."""
    a, lower = (CODES[x] for x in instr.args)
    rd = CODES[instr.dst]
    asm.emit(i.FCVTL["4h"], lower, a)
    asm.emit(i.FCVTL["8h"], rd, a)
    asm.emit(i.FADDP["4s"], rd, lower, rd)


def dot_add(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Products of bytes, sums of two neighbours, of four, and what the result's register holds; the last two operands are scratch vectors."""
    signed = instr.source.signed
    a, b = (CODES[x] for x in instr.args[:2])
    lower, upper = (CODES[x] for x in instr.args[-2:])
    rd = CODES[instr.dst]
    long, pairs = (i.SMULL, i.SADDLP) if signed else (i.UMULL, i.UADDLP)
    asm.emit(long["8b"], lower, a, b)
    asm.emit(long["16b"], upper, a, b)
    asm.emit(pairs["8h"], lower, lower)
    asm.emit(pairs["8h"], upper, upper)
    asm.emit(i.ADDP["4s"], lower, lower, upper)
    asm.emit(i.ADD_V["4s"], rd, rd, lower)


def multiply_lanes_64(asm: AArch64Assembler, rd: int, a: int, b: int, spare: int) -> None:
    """The lower halves' product, of halves that are being combined."""
    asm.emit(i.UMOV["d"], SCRATCH, a, 0)
    asm.emit(i.UMOV["d"], SCRATCH2, b, 0)
    asm.emit(i.MADD["x"], SCRATCH, SCRATCH, SCRATCH2, ZR)
    asm.emit(i.FMOV_FROM_INT["d.x"], rd, SCRATCH)


def better(asm: AArch64Assembler, compare: Row, shape: str, least: bool, rd: int, a: int, b: int, spare: int) -> None:
    """Python's minimum or maximum of lanes: b where it is less (greater), else a. ``rd`` may be a; it is not b."""
    asm.emit(compare, spare, *((a, b) if least else (b, a)))
    asm.move_vector(rd, a)
    asm.emit(i.BIT[shape], rd, b, spare)


def division(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Quotients or remainders lane by lane; the operands from the third on are three scratch integers."""
    a, b, dividend, divisor, sign = (CODES[x] for x in instr.args)
    element = instr.type.element
    for lane in range(instr.type.lanes):
        _lane(asm, element, dividend, a, lane)
        _lane(asm, element, divisor, b, lane)
        divide(asm, instr.op, element, dividend, dividend, divisor, sign)
        asm.emit(i.INS[letter(element)], CODES[instr.dst], lane, dividend)


def round_quads(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """i64 and u64 to f32, lane by lane: by way of f64 they would be rounded twice. The second operand is a scratch vector."""
    source, single, rd = CODES[instr.args[0]], CODES[instr.args[1]], CODES[instr.dst]
    row = (i.SCVTF if instr.source.signed else i.UCVTF)["s.x"]
    for lane in range(instr.type.lanes):
        asm.emit(i.UMOV["d"], SCRATCH, source, lane)
        asm.emit(row, single, SCRATCH)
        asm.emit(i.INS_E["s"], rd, lane, single, 0)


# --- reductions -------------------------------------------------------------------------------------------------------

#: Called with the result's register, those of the two halves, and a scratch register.
Combine = Callable[[AArch64Assembler, int, int, int, int], None]


class Reduce:
    """Halving: the upper half of the lanes is combined with the lower one, until there is one; three scratch vectors."""

    __slots__ = ("combine", "type")

    def __init__(self, type_: Type, combine: Combine) -> None:
        self.type = type_
        self.combine = combine

    def emit(self, asm: AArch64Assembler, f: Function, instr: Instr) -> None:
        type_ = self.type
        low, high, spare = (CODES[x] for x in instr.args[1:4])
        source = CODES[instr.args[0]]
        size = bytes_of(type_)
        while size > type_.bits // 8:
            size //= 2
            asm.emit(i.EXT["16b" if size == 8 else "8b"], high, source, source, size)
            self.combine(asm, low, source, high, spare)
            source = low
        _lane(asm, type_.element, CODES[instr.dst], source, 0)


class Across:
    """One instruction across all lanes, exact in any order; one scratch vector."""

    __slots__ = ("row", "type")

    def __init__(self, type_: Type, row: Row) -> None:
        self.type = type_
        self.row = row

    def emit(self, asm: AArch64Assembler, f: Function, instr: Instr) -> None:
        result = CODES[instr.args[1]]
        asm.emit(self.row, result, CODES[instr.args[0]])
        _lane(asm, self.type.element, CODES[instr.dst], result, 0)


def jump_masked(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Branch by whether masks have lanes in common, or one has all of another's; the third operand is a scratch vector."""
    a, b, spare = (CODES[operand] for operand in instr.args[:3])
    name = instr.op.compare
    size = bytes_of(instr.type)
    found = a
    if name == "covers" or name == "misses":
        found = spare
        asm.emit(i.BIC_V[bytewise(instr.type)], spare, b, a)
    elif a != b:
        found = spare
        asm.emit(i.AND_V[bytewise(instr.type)], spare, a, b)
    if size == 16:
        asm.emit(i.UMAXV["4s"], spare, found)
        found = spare
    asm.emit(i.UMOV[{16: "s", 8: "d", 4: "s", 2: "h"}[size]], SCRATCH, found, 0)
    branch = i.CBNZ if name == "shares" or name == "misses" else i.CBZ
    asm.branch(branch["x" if size == 8 else "w"], instr.imm, SCRATCH)


def any_all(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Whether any, or all, lanes of a mask hold; the second operand is a scratch vector."""
    type_ = instr.type
    mask = CODES[instr.args[0]]
    size = bytes_of(type_)
    every = instr.op is ops.ALL
    if size == 16:
        reduced = CODES[instr.args[1]]
        asm.emit((i.UMINV if every else i.UMAXV)["4s"], reduced, mask)
        asm.emit(i.UMOV["s"], SCRATCH, reduced, 0)
    else:
        asm.emit(i.UMOV[{8: "d", 4: "s", 2: "h"}[size]], SCRATCH, mask, 0)
    shape = "x" if size == 8 else "w"
    if every and size == 2:
        asm.emit(i.SBFM["w"], SCRATCH, SCRATCH, 0, 15)
    asm.emit((i.ADDS_IMM if every else i.SUBS_IMM)[shape], ZR, SCRATCH, 1 if every else 0, 0)
    asm.set_if(EQ if every else NE, CODES[instr.dst])
