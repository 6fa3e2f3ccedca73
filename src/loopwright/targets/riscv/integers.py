"""Integer and pointer operations as RISC-V instructions."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.instructions import Row
from loopwright.targets.riscv.operands import Pair, code_of, constant_of, narrow, wide_compare, width_of
from loopwright.targets.riscv.registers import CODES, ZERO
from loopwright.targets.sequences import shift_count
from loopwright.types import BOOL, Type


def add(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, code_of(a), constant_of(f, b))
    else:
        asm.emit(i.ADDW if type_.bits == 32 else i.ADD, rd, code_of(a), CODES[b])
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def sub(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, code_of(a), -constant_of(f, b))
    else:
        asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, code_of(a), CODES[b])
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def mul(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    factor = int(f.const_values[~b]) if b < 0 else 0
    if factor:
        asm.emit(i.SLLIW if type_.bits == 32 else i.SLLI, rd, code_of(a), factor.bit_length() - 1)
    else:
        asm.emit(i.MULW if type_.bits == 32 else i.MUL, rd, code_of(a), code_of(b))
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


#: Division and remainder by (32-bit arithmetic, signed): narrower values divide in 64 bits.
_DIVIDE: Final[dict[tuple[int, bool], Row]] = {(0, True): i.DIVW, (0, False): i.DIVUW, (1, True): i.DIV, (1, False): i.DIVU}
_REMAINDER: Final[dict[tuple[int, bool], Row]] = {(0, True): i.REMW, (0, False): i.REMUW, (1, True): i.REM, (1, False): i.REMU}


def _power(f: Function, operand: int) -> int:
    """log2 of a constant power of two, or -1."""
    return int(f.const_values[~operand]).bit_length() - 1 if operand < 0 else -1


def _shift_right(asm: RiscVAssembler, type_: Type, rd: int, rs: int, count: int) -> None:
    """By a constant, as the type's signedness asks."""
    if type_.bits == 32:
        asm.emit(i.SRAIW if type_.signed else i.SRLIW, rd, rs, count)
    else:
        asm.emit(i.SRAI if type_.signed else i.SRLI, rd, rs, count)


def _low_bits(asm: RiscVAssembler, rd: int, rs: int, count: int) -> None:
    """The lowest ``count`` bits."""
    if count <= 11:
        asm.emit(i.ANDI, rd, rs, (1 << count) - 1)
    else:
        asm.emit(i.SLLI, rd, rs, 64 - count)
        asm.emit(i.SRLI, rd, rd, 64 - count)


def _biased(asm: RiscVAssembler, type_: Type, rd: int, rs: int, power: int) -> None:
    """``rs``, plus 2**power - 1 where it is negative: then a shift to the right rounds towards zero."""
    if type_.bits == 32:
        asm.emit(i.SRAIW, rd, rs, 31)
        asm.emit(i.SRLIW, rd, rd, 32 - power)
        asm.emit(i.ADDW, rd, rd, rs)
    else:
        asm.emit(i.SRAI, rd, rs, 63)
        asm.emit(i.SRLI, rd, rd, 64 - power)
        asm.emit(i.ADD, rd, rd, rs)


def _unless_zero(asm: RiscVAssembler, rd: int, b: int) -> int:
    """Make the result 0 where the divisor is: the machine itself would give all ones, and as the remainder the dividend (ISA manual,
    chapter "M", table of division results). Returns the label to bind behind the division."""
    divide, done = asm.new_label(), asm.new_label()
    asm.branch(i.BNE, b, ZERO, divide)
    asm.move(rd, ZERO)
    asm.jump(done)
    asm.bind(divide)
    return done


def div_trunc(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power < 0:
        done = _unless_zero(asm, rd, code_of(b))
        asm.emit(_DIVIDE[width_of(type_), type_.signed], rd, code_of(a), code_of(b))
        if type_.signed and type_.bits < 32:
            narrow(asm, type_, rd, rd)
        asm.bind(done)
    elif power == 0:
        asm.move(rd, code_of(a))
    elif type_.signed:
        _biased(asm, type_, rd, code_of(a), power)
        _shift_right(asm, type_, rd, rd, power)
    else:
        _shift_right(asm, type_, rd, code_of(a), power)


def rem_trunc(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power < 0:
        done = _unless_zero(asm, rd, code_of(b))
        asm.emit(_REMAINDER[width_of(type_), type_.signed], rd, code_of(a), code_of(b))
        asm.bind(done)
    elif power == 0:
        asm.move(rd, ZERO)
    elif type_.signed:
        _biased(asm, type_, rd, code_of(a), power)
        asm.emit(i.SRAI, rd, rd, power)
        asm.emit(i.SLLI, rd, rd, power)
        asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, code_of(a), rd)
    else:
        _low_bits(asm, rd, code_of(a), power)


def div_floor(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Truncate, then one less where something is left over and the signs differ."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power >= 0:
        _shift_right(asm, type_, rd, code_of(a), power)
        return
    if not type_.signed:
        div_trunc(asm, f, instr)
        return
    rest = CODES[instr.args[2]]
    done = _unless_zero(asm, rd, code_of(b))
    asm.emit(_REMAINDER[width_of(type_), True], rest, code_of(a), code_of(b))
    asm.emit(_DIVIDE[width_of(type_), True], rd, code_of(a), code_of(b))
    asm.branch(i.BEQ, rest, ZERO, done)
    asm.emit(i.XOR, rest, rest, code_of(b))
    asm.branch(i.BGE, rest, ZERO, done)
    asm.emit(i.ADDI, rd, rd, -1)
    asm.bind(done)
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def rem_floor(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The truncating remainder, plus b where it is not 0 and has the other sign."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power == 0:
        asm.move(rd, ZERO)
    elif power > 0:
        _low_bits(asm, rd, code_of(a), power)
    elif not type_.signed:
        rem_trunc(asm, f, instr)
    else:
        sign = CODES[instr.args[2]]
        done = _unless_zero(asm, rd, code_of(b))
        asm.emit(_REMAINDER[width_of(type_), True], rd, code_of(a), code_of(b))
        asm.branch(i.BEQ, rd, ZERO, done)
        asm.emit(i.XOR, sign, rd, code_of(b))
        asm.branch(i.BGE, sign, ZERO, done)
        asm.emit(i.ADD, rd, rd, code_of(b))
        asm.bind(done)


#: The polynomial of CRC-32C, 0x1EDC6F41, lowest bit first.
_CASTAGNOLI: Final = 0x82F63B78


def crc32c(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The checksum bit by bit; Zbc's carry-less products are not in RV64GC. Three scratch registers: the polynomial, the bits to go, a bit."""
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    rd = CODES[instr.dst]
    polynomial, left, bit = (CODES[r] for r in instr.args[2:5])
    bits = instr.source.bits
    if bits == 64:
        asm.emit(i.SLLI, bit, a, 32)
        asm.emit(i.SRLI, bit, bit, 32)
        asm.emit(i.XOR, rd, bit, b)
    else:
        # A u32 is kept extended with its sign.
        asm.emit(i.XOR, rd, a, b)
        asm.emit(i.SLLI, rd, rd, 32)
        asm.emit(i.SRLI, rd, rd, 32)
    asm.load_immediate(polynomial, _CASTAGNOLI)
    asm.load_immediate(left, bits)
    again = asm.new_label()
    asm.bind(again)
    asm.emit(i.ANDI, bit, rd, 1)
    asm.emit(i.SUB, bit, ZERO, bit)
    asm.emit(i.AND, bit, bit, polynomial)
    asm.emit(i.SRLI, rd, rd, 1)
    asm.emit(i.XOR, rd, rd, bit)
    asm.emit(i.ADDI, left, left, -1)
    asm.branch(i.BNE, left, ZERO, again)
    asm.emit(i.ADDIW, rd, rd, 0)


def neg(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd = CODES[instr.dst]
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, ZERO, code_of(instr.args[0]))
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


def abs_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """(a xor sign) - sign, with the sign spread over the register."""
    type_ = instr.type
    rd = CODES[instr.dst]
    a = code_of(instr.args[0])
    if not type_.signed:
        asm.move(rd, a)
        return
    sign = CODES[instr.args[1]]
    asm.emit(i.SRAI, sign, a, 63)
    asm.emit(i.XOR, rd, a, sign)
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, rd, sign)
    if type_.bits < 32:
        narrow(asm, type_, rd, rd)


_BITWISE: Final[dict[int, Pair]] = {ops.AND.code: (i.AND, i.ANDI), ops.OR.code: (i.OR, i.ORI), ops.XOR.code: (i.XOR, i.XORI)}


def bitwise(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    registers, immediate = _BITWISE[instr.op.code]
    if b < 0:
        asm.emit(immediate, CODES[instr.dst], code_of(a), constant_of(f, b))
    else:
        asm.emit(registers, CODES[instr.dst], code_of(a), CODES[b])


def andnot(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd = CODES[instr.dst]
    asm.emit(i.XORI, rd, code_of(instr.args[0]), -1)
    asm.emit(i.AND, rd, rd, code_of(instr.args[1]))


def not_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd, a = CODES[instr.dst], code_of(instr.args[0])
    if type_ is BOOL:
        asm.emit(i.XORI, rd, a, 1)
    elif type_.bits == 8 and not type_.signed:
        asm.emit(i.XORI, rd, a, 255)
    else:
        asm.emit(i.XORI, rd, a, -1)
        if type_.bits < 32 and not type_.signed:
            narrow(asm, type_, rd, rd)


#: Shifts of 32- and 64-bit integers by a register and by a constant; they take the count modulo the width by themselves.
_LEFT: Final[tuple[Pair, Pair]] = ((i.SLLW, i.SLLIW), (i.SLL, i.SLLI))
_RIGHT_SIGNED: Final[tuple[Pair, Pair]] = ((i.SRAW, i.SRAIW), (i.SRA, i.SRAI))
_RIGHT_UNSIGNED: Final[tuple[Pair, Pair]] = ((i.SRLW, i.SRLIW), (i.SRL, i.SRLI))


def shift(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """By counts of any size. Types narrower than 32 bits are shifted in 64, which have room for what is shifted out of them."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    left = instr.op is ops.SHL
    by_register, by_constant = (_LEFT if left else _RIGHT_SIGNED if type_.signed else _RIGHT_UNSIGNED)[width_of(type_)]
    width = 32 if type_.bits == 32 else 64
    fill = type_.signed and not left
    rd = CODES[instr.dst]
    if b < 0:
        count = shift_count(type_, int(f.const_values[~b]))
        if count < type_.bits or fill:
            asm.emit(by_constant, rd, code_of(a), min(count, type_.bits - 1))
        else:
            asm.move(rd, ZERO)
    else:
        n, inside = CODES[b], CODES[instr.args[2]]
        asm.emit(i.SLTIU, inside, n, width)
        if fill:
            # A count of all ones where the given one is too large.
            asm.emit(i.ADDI, inside, inside, -1)
            asm.emit(i.OR, inside, inside, n)
            asm.emit(by_register, rd, code_of(a), inside)
        else:
            asm.emit(by_register, rd, code_of(a), n)
            asm.emit(i.SUB, inside, ZERO, inside)
            asm.emit(i.AND, rd, rd, inside)
    if left and type_.bits < 32:
        narrow(asm, type_, rd, rd)


def shift_modulo(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """By counts modulo the width."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    left = instr.op is ops.SHL_MODULO
    by_register, by_constant = (_LEFT if left else _RIGHT_SIGNED if type_.signed else _RIGHT_UNSIGNED)[width_of(type_)]
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(by_constant, rd, code_of(a), int(f.const_values[~b]) & type_.bits - 1)
    elif type_.bits >= 32:
        asm.emit(by_register, rd, code_of(a), CODES[b])
    else:
        count = CODES[instr.args[2]]
        asm.emit(i.ANDI, count, CODES[b], type_.bits - 1)
        asm.emit(by_register, rd, code_of(a), count)
    if left and type_.bits < 32:
        narrow(asm, type_, rd, rd)


def compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Integers and pointers, to a bool."""
    condition = instr.op.name
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    rd = CODES[instr.dst]
    if condition == "eq" or condition == "ne":
        if a == ZERO:
            a, b = b, a
        difference = a
        if b != ZERO:
            asm.emit(i.XOR, rd, a, b)
            difference = rd
        if condition == "eq":
            asm.emit(i.SLTIU, rd, difference, 1)
        else:
            asm.emit(i.SLTU, rd, ZERO, difference)
        return
    if condition == "gt" or condition == "le":
        a, b = b, a
    asm.emit(i.SLTU if wide_compare(instr.type) else i.SLT, rd, a, b)
    if condition == "le" or condition == "ge":
        asm.emit(i.XORI, rd, rd, 1)


def jump_compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """A fused comparison and jump of integers or pointers."""
    condition = instr.op.compare
    condition = ops.ORDERED_EQUAL.get(condition, condition)
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    if condition == "eq" or condition == "ne":
        if a == ZERO:
            a, b = b, a
        row = i.BEQ if condition == "eq" else i.BNE
    else:
        if condition == "gt" or condition == "le":
            a, b = b, a
        less = condition == "lt" or condition == "gt"
        row = (i.BLTU if less else i.BGEU) if wide_compare(instr.type) else i.BLT if less else i.BGE
    asm.branch(row, a, b, instr.imm)


def min_max(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """b wins where it is less (greater): a branch over one move."""
    a, b = code_of(instr.args[0]), code_of(instr.args[1])
    rd = CODES[instr.dst]
    less, not_less = (i.BLTU, i.BGEU) if wide_compare(instr.type) else (i.BLT, i.BGE)
    x, y = (b, a) if instr.op is ops.MIN else (a, b)
    done = asm.new_label()
    if rd == b:
        asm.branch(less, x, y, done)
        asm.emit(i.ADDI, rd, a, 0)
    else:
        asm.move(rd, a)
        # After the move rd is a, whichever of x and y that is.
        asm.branch(not_less, x, y, done)
        asm.emit(i.ADDI, rd, b, 0)
    asm.bind(done)
