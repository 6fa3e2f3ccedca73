"""How each operation becomes RISC-V instructions: one emitting function per shape. ``rules.py`` has the table of them.

Integers narrower than a register are kept as LP64D passes them: ``i32`` and ``u32`` sign-extended from 32 bits, the
narrower ones extended by their own signedness, ``bool`` 0 or 1. Every rule expects and leaves them so.

A constant operand that reaches an emitting function is either 0, which is the zero register, or one that
``RiscV.immediate`` accepted.

Differences between machines that the operations' rows leave open: integer division by zero does not trap here;
it gives all ones, and the remainder is the dividend (ISA manual, chapter "M", table of division results).
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import SLOT, Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import LP64D, RiscVAssembler, enter, leave
from loopwright.targets.riscv.instructions import DYNAMIC, Row
from loopwright.targets.riscv.registers import CODES, RA, REGISTERS, SP, ZERO
from loopwright.targets.target import VECTORS
from loopwright.types import BOOL, Type

#: Rounding modes of conversions.
_NEAREST: Final = 0
_TOWARDS_ZERO: Final = 1
_DOWN: Final = 2
_UP: Final = 3

Pair = tuple[Row, Row]


def _code(operand: int) -> int:
    """The machine's number of a register; a constant here is 0 and so the zero register."""
    return CODES[operand] if operand >= 0 else ZERO


def _width(type_: Type) -> int:
    """Index into pairs of rows: 0 for 32-bit arithmetic, 1 for 64-bit."""
    return 0 if type_.bits == 32 else 1


def signed_value(type_: Type, value: int) -> int:
    """A constant as the register holds it."""
    if type_.bits >= 32:
        half = 1 << (type_.bits - 1)
        return (value + half & 2 * half - 1) - half
    return value


def _constant(f: Function, operand: int) -> int:
    return signed_value(f.const_types[~operand], int(f.const_values[~operand]))


def float_bits(type_: Type, value: float) -> int:
    """The bits of a floating-point constant."""
    return int.from_bytes(struct.pack("<f" if type_.bits == 32 else "<d", value), "little")


def wide_compare(type_: Type) -> bool:
    """Whether comparing needs the unsigned instructions: narrower unsigned integers compare as signed ones."""
    return not type_.signed and type_.bits >= 32


def _narrow(asm: RiscVAssembler, type_: Type, rd: int, rs: int) -> None:
    """Bring ``rs`` into the form registers keep the type in."""
    bits = type_.bits
    if bits == 64:
        asm.move(rd, rs)
    elif bits == 32:
        asm.emit(i.ADDIW, rd, rs, 0)
    elif bits == 8 and not type_.signed:
        asm.emit(i.ANDI, rd, rs, 255)
    else:
        asm.emit(i.SLLI, rd, rs, 64 - bits)
        asm.emit(i.SRAI if type_.signed else i.SRLI, rd, rd, 64 - bits)


def _move_float(asm: RiscVAssembler, type_: Type, rd: int, rs: int) -> None:
    if rd != rs:
        asm.emit(_SIGN[_width(type_)], rd, rs, rs)


_SIGN: Final[Pair] = (i.FSGNJ_S, i.FSGNJ_D)
_SIGN_NOT: Final[Pair] = (i.FSGNJN_S, i.FSGNJN_D)
_SIGN_XOR: Final[Pair] = (i.FSGNJX_S, i.FSGNJX_D)
_FLOAT_EQ: Final[Pair] = (i.FEQ_S, i.FEQ_D)
_FLOAT_LT: Final[Pair] = (i.FLT_S, i.FLT_D)
_FLOAT_LE: Final[Pair] = (i.FLE_S, i.FLE_D)
_FROM_BITS: Final[Pair] = (i.FMV_W_X, i.FMV_D_X)
_TO_BITS: Final[Pair] = (i.FMV_X_W, i.FMV_X_D)

# --- integer arithmetic --------------------------------------------------------------------------------------


def add(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, _code(a), _constant(f, b))
    else:
        asm.emit(i.ADDW if type_.bits == 32 else i.ADD, rd, _code(a), CODES[b])
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


def sub(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(i.ADDIW if type_.bits == 32 else i.ADDI, rd, _code(a), -_constant(f, b))
    else:
        asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, _code(a), CODES[b])
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


def mul(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    type_ = instr.type
    rd = CODES[instr.dst]
    factor = int(f.const_values[~b]) if b < 0 else 0
    if factor:
        asm.emit(i.SLLIW if type_.bits == 32 else i.SLLI, rd, _code(a), factor.bit_length() - 1)
    else:
        asm.emit(i.MULW if type_.bits == 32 else i.MUL, rd, _code(a), _code(b))
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


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


def div_trunc(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power < 0:
        asm.emit(_DIVIDE[_width(type_), type_.signed], rd, _code(a), _code(b))
        if type_.signed and type_.bits < 32:
            _narrow(asm, type_, rd, rd)
    elif power == 0:
        asm.move(rd, _code(a))
    elif type_.signed:
        _biased(asm, type_, rd, _code(a), power)
        _shift_right(asm, type_, rd, rd, power)
    else:
        _shift_right(asm, type_, rd, _code(a), power)


def rem_trunc(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power < 0:
        asm.emit(_REMAINDER[_width(type_), type_.signed], rd, _code(a), _code(b))
    elif power == 0:
        asm.move(rd, ZERO)
    elif type_.signed:
        _biased(asm, type_, rd, _code(a), power)
        asm.emit(i.SRAI, rd, rd, power)
        asm.emit(i.SLLI, rd, rd, power)
        asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, _code(a), rd)
    else:
        _low_bits(asm, rd, _code(a), power)


def div_floor(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Truncate, then one less where something is left over and the signs differ."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power >= 0:
        _shift_right(asm, type_, rd, _code(a), power)
        return
    if not type_.signed:
        div_trunc(asm, f, instr)
        return
    rest = CODES[instr.args[2]]
    done = asm.new_label()
    asm.emit(_REMAINDER[_width(type_), True], rest, _code(a), _code(b))
    asm.emit(_DIVIDE[_width(type_), True], rd, _code(a), _code(b))
    asm.branch(i.BEQ, rest, ZERO, done)
    asm.emit(i.XOR, rest, rest, _code(b))
    asm.branch(i.BGE, rest, ZERO, done)
    asm.emit(i.ADDI, rd, rd, -1)
    asm.bind(done)
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


def rem_floor(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The truncating remainder, plus b where it is not 0 and has the other sign."""
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    rd = CODES[instr.dst]
    power = _power(f, b)
    if power == 0:
        asm.move(rd, ZERO)
    elif power > 0:
        _low_bits(asm, rd, _code(a), power)
    elif not type_.signed:
        rem_trunc(asm, f, instr)
    else:
        sign = CODES[instr.args[2]]
        done = asm.new_label()
        asm.emit(_REMAINDER[_width(type_), True], rd, _code(a), _code(b))
        asm.branch(i.BEQ, rd, ZERO, done)
        asm.emit(i.XOR, sign, rd, _code(b))
        asm.branch(i.BGE, sign, ZERO, done)
        asm.emit(i.ADD, rd, rd, _code(b))
        asm.bind(done)


def neg(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd = CODES[instr.dst]
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, ZERO, _code(instr.args[0]))
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


def abs_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """(a xor sign) - sign, with the sign spread over the register."""
    type_ = instr.type
    rd = CODES[instr.dst]
    a = _code(instr.args[0])
    if not type_.signed:
        asm.move(rd, a)
        return
    sign = CODES[instr.args[1]]
    asm.emit(i.SRAI, sign, a, 63)
    asm.emit(i.XOR, rd, a, sign)
    asm.emit(i.SUBW if type_.bits == 32 else i.SUB, rd, rd, sign)
    if type_.bits < 32:
        _narrow(asm, type_, rd, rd)


_BITWISE: Final[dict[int, Pair]] = {ops.AND.code: (i.AND, i.ANDI), ops.OR.code: (i.OR, i.ORI), ops.XOR.code: (i.XOR, i.XORI)}


def bitwise(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    if a < 0 <= b:
        a, b = b, a
    registers, immediate = _BITWISE[instr.op.code]
    if b < 0:
        asm.emit(immediate, CODES[instr.dst], _code(a), _constant(f, b))
    else:
        asm.emit(registers, CODES[instr.dst], _code(a), CODES[b])


def andnot(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd = CODES[instr.dst]
    asm.emit(i.XORI, rd, _code(instr.args[0]), -1)
    asm.emit(i.AND, rd, rd, _code(instr.args[1]))


def not_(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    type_ = instr.type
    rd, a = CODES[instr.dst], _code(instr.args[0])
    if type_ is BOOL:
        asm.emit(i.XORI, rd, a, 1)
    elif type_.bits == 8 and not type_.signed:
        asm.emit(i.XORI, rd, a, 255)
    else:
        asm.emit(i.XORI, rd, a, -1)
        if type_.bits < 32 and not type_.signed:
            _narrow(asm, type_, rd, rd)


#: Shifts of 32- and 64-bit integers by a register and by a constant; they take the count modulo the width by themselves.
_LEFT: Final[tuple[Pair, Pair]] = ((i.SLLW, i.SLLIW), (i.SLL, i.SLLI))
_RIGHT_SIGNED: Final[tuple[Pair, Pair]] = ((i.SRAW, i.SRAIW), (i.SRA, i.SRAI))
_RIGHT_UNSIGNED: Final[tuple[Pair, Pair]] = ((i.SRLW, i.SRLIW), (i.SRL, i.SRLI))


def shift(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = instr.args[0], instr.args[1]
    type_ = instr.type
    left = instr.op is ops.SHL
    by_register, by_constant = (_LEFT if left else _RIGHT_SIGNED if type_.signed else _RIGHT_UNSIGNED)[_width(type_)]
    rd = CODES[instr.dst]
    if b < 0:
        asm.emit(by_constant, rd, _code(a), int(f.const_values[~b]) & type_.bits - 1)
    elif type_.bits >= 32:
        asm.emit(by_register, rd, _code(a), CODES[b])
    else:
        count = CODES[instr.args[2]]
        asm.emit(i.ANDI, count, CODES[b], type_.bits - 1)
        asm.emit(by_register, rd, _code(a), count)
    if left and type_.bits < 32:
        _narrow(asm, type_, rd, rd)


# --- comparison and choice -----------------------------------------------------------------------------------


def compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Integers and pointers, to a bool."""
    condition = instr.op.name
    a, b = _code(instr.args[0]), _code(instr.args[1])
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


def _float_test(asm: RiscVAssembler, condition: str, type_: Type, rd: int, a: int, b: int) -> bool:
    """Leave 0 or 1 in ``rd``; returns which of them says that the condition holds."""
    holds = True
    if condition == "ne":
        condition, holds = "eq", False
    elif condition[0] == "n":
        condition, holds = condition[1:], False
    if condition == "gt" or condition == "ge":
        a, b = b, a
    rows = _FLOAT_EQ if condition == "eq" else _FLOAT_LT if condition in ("lt", "gt") else _FLOAT_LE
    asm.emit(rows[_width(type_)], rd, a, b)
    return holds


def compare_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd = CODES[instr.dst]
    if not _float_test(asm, instr.op.name, instr.type, rd, CODES[instr.args[0]], CODES[instr.args[1]]):
        asm.emit(i.XORI, rd, rd, 1)


def jump_compare(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """A fused comparison and jump of integers or pointers."""
    condition = instr.op.compare
    condition = ops.ORDERED_EQUAL.get(condition, condition)
    a, b = _code(instr.args[0]), _code(instr.args[1])
    if condition == "eq" or condition == "ne":
        if a == ZERO:
            a, b = b, a
        row = i.BEQ if condition == "eq" else i.BNE
    else:
        if condition == "gt" or condition == "le":
            a, b = b, a
        less = condition == "lt" or condition == "gt"
        if wide_compare(instr.type):
            row = i.BLTU if less else i.BGEU
        else:
            row = i.BLT if less else i.BGE
    asm.branch(row, a, b, instr.imm)


def jump_compare_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    test = CODES[instr.args[2]]
    holds = _float_test(asm, instr.op.compare, instr.type, test, CODES[instr.args[0]], CODES[instr.args[1]])
    asm.branch(i.BNE if holds else i.BEQ, test, ZERO, instr.imm)


def jump_if(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.branch(i.BNE if instr.op is ops.JUMP_IF else i.BEQ, _code(instr.args[0]), ZERO, instr.imm)


def jump(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.jump(instr.imm)


def label(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.bind(instr.imm)


def min_max(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """b wins where it is less (greater): a branch over one move."""
    a, b = _code(instr.args[0]), _code(instr.args[1])
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


_FLOAT_MIN: Final[Pair] = (i.FMIN_S, i.FMIN_D)
_FLOAT_MAX: Final[Pair] = (i.FMAX_S, i.FMAX_D)


def min_max_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Python's: b only where it compares less (greater). fmin and fmax treat NaN and signed zeros otherwise."""
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    rd = CODES[instr.dst]
    width = _width(instr.type)
    if f.options.fastmath:
        asm.emit((_FLOAT_MIN if instr.op is ops.MIN else _FLOAT_MAX)[width], rd, a, b)
        return
    x, y = (b, a) if instr.op is ops.MIN else (a, b)
    test = CODES[instr.args[2]]
    done = asm.new_label()
    asm.emit(_FLOAT_LT[width], test, x, y)
    if rd == b:
        asm.branch(i.BNE, test, ZERO, done)
        _move_float(asm, instr.type, rd, a)
    else:
        _move_float(asm, instr.type, rd, a)
        asm.branch(i.BEQ, test, ZERO, done)
        _move_float(asm, instr.type, rd, b)
    asm.bind(done)


def select(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    condition, a, b = instr.args[0], _code(instr.args[1]), _code(instr.args[2])
    rd = CODES[instr.dst]
    is_float = instr.type.is_float
    done = asm.new_label()
    test = _code(condition)
    other = b
    row = i.BNE
    if rd == b:
        other = a
        row = i.BEQ
    elif is_float:
        _move_float(asm, instr.type, rd, a)
    else:
        asm.move(rd, a)
    asm.branch(row, test, ZERO, done)
    if is_float:
        _move_float(asm, instr.type, rd, other)
    else:
        asm.move(rd, other)
    asm.bind(done)


# --- floating point ------------------------------------------------------------------------------------------

_FLOAT_BINARY: Final[dict[int, Pair]] = {
    ops.ADD.code: (i.FADD_S, i.FADD_D),
    ops.SUB.code: (i.FSUB_S, i.FSUB_D),
    ops.MUL.code: (i.FMUL_S, i.FMUL_D),
    ops.DIV.code: (i.FDIV_S, i.FDIV_D),
}
_FUSED: Final[dict[int, Pair]] = {
    ops.FMA.code: (i.FMADD_S, i.FMADD_D),
    ops.FMS.code: (i.FMSUB_S, i.FMSUB_D),
    ops.FNMA.code: (i.FNMSUB_S, i.FNMSUB_D),
}
_SQRT: Final[Pair] = (i.FSQRT_S, i.FSQRT_D)


def binary_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.emit(_FLOAT_BINARY[instr.op.code][_width(instr.type)], CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]], DYNAMIC)


def fused(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b, c = instr.args[0], instr.args[1], instr.args[2]
    asm.emit(_FUSED[instr.op.code][_width(instr.type)], CODES[instr.dst], CODES[a], CODES[b], CODES[c], DYNAMIC)


def sqrt(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.emit(_SQRT[_width(instr.type)], CODES[instr.dst], CODES[instr.args[0]], DYNAMIC)


def neg_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a = CODES[instr.args[0]]
    asm.emit(_SIGN_NOT[_width(instr.type)], CODES[instr.dst], a, a)


def abs_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a = CODES[instr.args[0]]
    asm.emit(_SIGN_XOR[_width(instr.type)], CODES[instr.dst], a, a)


_ROUNDING: Final[dict[int, int]] = {ops.FLOOR.code: _DOWN, ops.CEIL.code: _UP, ops.TRUNC.code: _TOWARDS_ZERO, ops.ROUND.code: _NEAREST}


def round_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Through an integer and back, with a's sign; what has no fraction bits (2**23, 2**52 and up, infinities, NaN) stays."""
    a, test, size = CODES[instr.args[0]], CODES[instr.args[1]], CODES[instr.args[2]]
    rd = CODES[instr.dst]
    type_ = instr.type
    width = _width(type_)
    mode = _ROUNDING[instr.op.code]
    done = asm.new_label()
    asm.load_immediate(test, float_bits(type_, 2.0**23 if width == 0 else 2.0**52))
    asm.emit(_FROM_BITS[width], rd, test)
    asm.emit(_SIGN_XOR[width], size, a, a)
    asm.emit(_FLOAT_LT[width], test, size, rd)
    _move_float(asm, type_, rd, a)
    asm.branch(i.BEQ, test, ZERO, done)
    if width == 0:
        asm.emit(i.FCVT_W_S, test, a, mode)
        asm.emit(i.FCVT_S_W, rd, test, DYNAMIC)
    else:
        asm.emit(i.FCVT_L_D, test, a, mode)
        asm.emit(i.FCVT_D_L, rd, test, DYNAMIC)
    asm.emit(_SIGN[width], rd, rd, a)
    asm.bind(done)


def div_floor_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Python's a // b: the floor of the exact quotient, which may be one less than that of the rounded one.

    The sign of a - q*b (fused, so its sign is exact) tells; q = 0 leaves a itself, also when b is infinite. From 2**24
    (2**53) on, the rounded quotient is an integer and stays. An infinite a gives NaN, except over 0.
    """
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    test, g, h = (CODES[r] for r in instr.args[2:5])
    rd = CODES[instr.dst]
    type_ = instr.type
    width = _width(type_)
    large, fused_rest, compare_rest, done = (asm.new_label() for _ in range(4))
    asm.emit(_FLOAT_BINARY[ops.DIV.code][width], g, a, b, DYNAMIC)
    asm.load_immediate(test, float_bits(type_, 2.0**24 if width == 0 else 2.0**53))
    asm.emit(_FROM_BITS[width], rd, test)
    asm.emit(_SIGN_XOR[width], h, g, g)
    asm.emit(_FLOAT_LT[width], test, h, rd)
    asm.emit(_SIGN[width], rd, g, g)
    asm.branch(i.BEQ, test, ZERO, large)
    if width == 0:
        asm.emit(i.FCVT_W_S, test, g, _DOWN)
        asm.emit(i.FCVT_S_W, h, test, DYNAMIC)
    else:
        asm.emit(i.FCVT_L_D, test, g, _DOWN)
        asm.emit(i.FCVT_D_L, h, test, DYNAMIC)
    asm.emit(_SIGN[width], rd, h, g)
    asm.branch(i.BNE, test, ZERO, fused_rest)
    asm.emit(_SIGN[width], h, a, a)
    asm.jump(compare_rest)
    asm.bind(fused_rest)
    asm.emit(_FUSED[ops.FNMA.code][width], h, rd, b, a, DYNAMIC)
    asm.bind(compare_rest)
    # Less than 0 where the rest and b have opposite signs.
    asm.emit(_SIGN_XOR[width], h, h, b)
    asm.emit(_FROM_BITS[width], g, ZERO)
    asm.emit(_FLOAT_LT[width], test, h, g)
    asm.branch(i.BEQ, test, ZERO, done)
    asm.load_immediate(test, float_bits(type_, 1.0))
    asm.emit(_FROM_BITS[width], g, test)
    asm.emit(_FLOAT_BINARY[ops.SUB.code][width], rd, rd, g, DYNAMIC)
    asm.jump(done)
    asm.bind(large)
    asm.emit(_FROM_BITS[width], g, ZERO)
    asm.emit(_FLOAT_EQ[width], test, b, g)
    asm.branch(i.BNE, test, ZERO, done)
    # a - a: 0, or NaN for an infinity.
    asm.emit(_FLOAT_BINARY[ops.SUB.code][width], h, a, a, DYNAMIC)
    asm.emit(_FLOAT_BINARY[ops.ADD.code][width], rd, rd, h, DYNAMIC)
    asm.bind(done)


# --- moving and converting -----------------------------------------------------------------------------------


def convert_ints(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Between integers, pointers and bool."""
    to, source = instr.type, instr.source
    rd, rs = CODES[instr.dst], _code(instr.args[0])
    if to is BOOL:
        if source is BOOL:
            asm.move(rd, rs)
        else:
            asm.emit(i.SLTU, rd, ZERO, rs)
    elif to.bits == 64 and source.bits == 32 and not source.signed:
        asm.emit(i.SLLI, rd, rs, 32)
        asm.emit(i.SRLI, rd, rd, 32)
    elif to.bits == 64 or source is BOOL or (to.bits == 32 and source.bits <= 32) or (to.bits > source.bits and (to.signed or not source.signed)) or to is source:
        asm.move(rd, rs)
    else:
        _narrow(asm, to, rd, rs)


_TO_FLOAT: Final[dict[str, Pair]] = {
    "w": (i.FCVT_S_W, i.FCVT_D_W),
    "wu": (i.FCVT_S_WU, i.FCVT_D_WU),
    "l": (i.FCVT_S_L, i.FCVT_D_L),
    "lu": (i.FCVT_S_LU, i.FCVT_D_LU),
}


def convert_to_float(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    source = instr.source
    if source.bits == 64:
        kind = "l" if source.signed else "lu"
    else:
        kind = "wu" if source.bits == 32 and not source.signed else "w"
    row = _TO_FLOAT[kind][_width(instr.type)]
    rd, rs = CODES[instr.dst], _code(instr.args[0])
    if row is i.FCVT_D_W or row is i.FCVT_D_WU:
        asm.emit(row, rd, rs)
    else:
        asm.emit(row, rd, rs, DYNAMIC)


def convert_to_bool(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Whether a float differs from 0 (NaN does)."""
    width = _width(instr.source)
    rd, zero = CODES[instr.dst], CODES[instr.args[1]]
    asm.emit(_FROM_BITS[width], zero, ZERO)
    asm.emit(_FLOAT_EQ[width], rd, CODES[instr.args[0]], zero)
    asm.emit(i.XORI, rd, rd, 1)


def convert_to_int(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Towards zero; what does not fit becomes the most negative integer, as the operation's row has it.

    fcvt saturates instead, and takes NaN for the greatest (ISA manual, table "Domains of float-to-integer conversions").
    """
    to = instr.type
    rd, rs, test = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
    single = instr.source.bits == 32
    fits = asm.new_label()
    asm.emit(i.FCVT_L_S if single else i.FCVT_L_D, rd, rs, _TOWARDS_ZERO)
    if to.bits == 64 or (to.bits == 32 and not to.signed):
        # No float is 2**63 - 1, so that result means overflow or NaN; one more is the most negative.
        asm.emit(i.ADDI, test, rd, 1)
        asm.branch(i.BLT, rd, test, fits)
        if to.bits == 64 and not to.signed:
            # The upper half of the unsigned range; beyond it, all ones.
            asm.emit(i.FCVT_LU_S if single else i.FCVT_LU_D, rd, rs, _TOWARDS_ZERO)
            asm.emit(i.ADDI, test, rd, 1)
            asm.branch(i.BNE, test, ZERO, fits)
            asm.load_immediate(test, 1 << 63)
        asm.move(rd, test)
        asm.bind(fits)
        if to.bits == 32:
            asm.emit(i.ADDIW, rd, rd, 0)
        return
    asm.emit(i.ADDIW, test, rd, 0)
    asm.branch(i.BEQ, test, rd, fits)
    asm.emit(i.LUI, rd, 0x80000)
    asm.bind(fits)
    if to.bits < 32:
        _narrow(asm, to, rd, rd)


def convert_floats(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    rd, rs = CODES[instr.dst], CODES[instr.args[0]]
    if instr.type is instr.source:
        _move_float(asm, instr.type, rd, rs)
    elif instr.type.bits == 64:
        asm.emit(i.FCVT_D_S, rd, rs)
    else:
        asm.emit(i.FCVT_S_D, rd, rs, DYNAMIC)


def bitcast(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    to, source = instr.type, instr.source
    rd, rs = CODES[instr.dst], _code(instr.args[0])
    if to.is_float and source.is_float:
        _move_float(asm, to, rd, rs)
    elif to.is_float:
        asm.emit(_FROM_BITS[_width(to)], rd, rs)
    elif source.is_float:
        asm.emit(_TO_BITS[_width(to)], rd, rs)
    elif to.bits < 32:
        _narrow(asm, to, rd, rs)
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
        _load_constant(asm, f, source, type_, to, CODES[instr.args[1]] if len(instr.args) > 1 else RA)
        return
    rd = CODES[to]
    to_float = REGISTERS[to].cls == VECTORS
    if source >= SLOT:
        _load_slot(asm, rd, to_float, asm.slot_offset(source), 4 if type_.bits == 32 else 8)
    else:
        from_float = REGISTERS[source].cls == VECTORS
        rs = CODES[source]
        if to_float and from_float:
            _move_float(asm, type_, rd, rs)
        elif to_float:
            asm.emit(_FROM_BITS[_width(type_)], rd, rs)
        elif from_float:
            asm.emit(_TO_BITS[_width(type_)], rd, rs)
        else:
            asm.move(rd, rs)


def _load_constant(asm: RiscVAssembler, f: Function, constant: int, type_: Type, register: int, scratch: int) -> None:
    """A constant into an allocatable register of either file; ``scratch`` is an integer register to destroy."""
    rd = CODES[register]
    if not type_.is_float:
        asm.load_immediate(rd, _constant(f, constant))
        return
    bits = float_bits(type_, float(f.const_values[~constant]))
    if REGISTERS[register].cls != VECTORS:
        asm.load_immediate(rd, bits if type_.bits == 64 else (bits ^ 1 << 31) - (1 << 31))
    elif bits == 0:
        asm.emit(_FROM_BITS[_width(type_)], rd, ZERO)
    else:
        _load_float(asm, type_, rd, bits, scratch)


def _load_float(asm: RiscVAssembler, type_: Type, rd: int, bits: int, scratch: int) -> None:
    """A floating-point constant by way of an integer register; one of many bits from the constant pool."""
    if type_.bits == 32:
        asm.load_immediate(scratch, (bits ^ 1 << 31) - (1 << 31))
        asm.emit(i.FMV_W_X, rd, scratch)
    elif bits & (1 << 44) - 1:
        # More than the topmost 20 bits would take lui, shift and more.
        asm.load_pool(i.FLD, rd, scratch, bits.to_bytes(8, "little"))
    else:
        asm.load_immediate(scratch, bits)
        asm.emit(i.FMV_D_X, rd, scratch)


def _load_slot(asm: RiscVAssembler, rd: int, is_float: bool, offset: int, size: int) -> None:
    if is_float:
        row = i.FLW if size == 4 else i.FLD
    else:
        row = i.LW if size == 4 else i.LD
    base = SP
    if offset > 2047:
        base = RA if is_float else rd
        offset = _far(asm, base, offset)
    asm.emit(row, rd, offset, base)


def _store_slot(asm: RiscVAssembler, type_: Type, source: int, offset: int) -> None:
    is_float = source >= 0 and REGISTERS[source].cls == VECTORS
    row = (i.FSW if is_float else i.SW) if type_.bits == 32 else (i.FSD if is_float else i.SD)
    base = SP
    if offset > 2047:
        base = RA
        offset = _far(asm, RA, offset)
    asm.emit(row, _code(source), offset, base)


def _far(asm: RiscVAssembler, base: int, offset: int) -> int:
    """Put the upper part of a far slot's address into ``base``; returns the rest."""
    low = (offset & 0xFFF ^ 0x800) - 0x800
    asm.load_immediate(base, offset - low)
    asm.emit(i.ADD, base, base, SP)
    return low


def swap(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    a, b = CODES[instr.args[0]], CODES[instr.args[1]]
    if REGISTERS[instr.args[0]].cls == VECTORS:
        asm.emit(i.FMV_X_D, RA, a)
        asm.emit(i.FSGNJ_D, a, b, b)
        asm.emit(i.FMV_D_X, b, RA)
    elif a != b:
        asm.emit(i.XOR, a, a, b)
        asm.emit(i.XOR, b, b, a)
        asm.emit(i.XOR, a, a, b)


# --- memory --------------------------------------------------------------------------------------------------

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
    base = _code(instr.args[at])
    disp = mem.disp
    if mem.indexed:
        index = _code(instr.args[at + 1])
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
        asm.emit(_STORE[type_.bits], _code(value), disp, base)


def address(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    mem = instr.mem
    assert mem is not None
    base, disp = _address(asm, instr, 0, 2 if mem.indexed else 1)
    asm.emit(i.ADDI, CODES[instr.dst], base, disp)


# --- calls ---------------------------------------------------------------------------------------------------


#: What is free where the convention's argument and result registers are filled: no argument, not preserved.
_T0: Final = 5


def _fixed_constants(asm: RiscVAssembler, f: Function, instr: Instr, types: list[Type]) -> None:
    """Constants among the operands go straight into the registers that the convention names."""
    rule = instr.rule
    for position, a in enumerate(instr.args):
        if a < 0:
            _load_constant(asm, f, a, types[position], rule.uses[position].fixed, _T0)


def call(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    callee = f.callees[instr.imm]
    in_registers = [type_ for type_, place in zip(callee.params, LP64D.assign(callee.params), strict=True) if place >= 0]
    _fixed_constants(asm, f, instr, in_registers)
    asm.call(callee.name)


def ret(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    _fixed_constants(asm, f, instr, [f.result])
    asm.emit(i.JALR, ZERO, 0, RA)


def store_arg(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """An argument of the next call on the stack: integers fill their eight bytes."""
    value = instr.args[0]
    offset = instr.imm
    base = SP
    if offset > 2047:
        base = RA
        offset = _far(asm, RA, offset)
    if instr.type.is_float and value >= 0:
        asm.emit(i.FSW if instr.type.bits == 32 else i.FSD, CODES[value], offset, base)
    else:
        asm.emit(i.SD, _code(value), offset, base)


def prologue(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    enter(asm, f.frame)


def epilogue(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    leave(asm, f.frame)


def nothing(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Brackets that leave no code."""
