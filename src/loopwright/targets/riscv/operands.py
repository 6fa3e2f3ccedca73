"""What the emitting functions share: operands as machine codes and numbers, pairs of rows for f32 and f64.

Integers narrower than a register are kept as LP64D passes them: ``i32`` and ``u32`` sign-extended from 32 bits, the
narrower ones extended by their own signedness, ``bool`` 0 or 1. Every rule expects and leaves them so.

A constant operand that reaches an emitting function is either 0, which is the zero register, or one that
``RiscV.immediate`` accepted.
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.instructions import DYNAMIC, Row
from loopwright.targets.riscv.registers import CODES, FLOATS, INTS, ZERO
from loopwright.types import Type

#: Rounding modes of conversions.
NEAREST: Final = 0
TOWARDS_ZERO: Final = 1
DOWN: Final = 2
UP: Final = 3
Pair = tuple[Row, Row]
SIGN: Final[Pair] = (i.FSGNJ_S, i.FSGNJ_D)
SIGN_NOT: Final[Pair] = (i.FSGNJN_S, i.FSGNJN_D)
SIGN_XOR: Final[Pair] = (i.FSGNJX_S, i.FSGNJX_D)
FLOAT_EQ: Final[Pair] = (i.FEQ_S, i.FEQ_D)
FLOAT_LT: Final[Pair] = (i.FLT_S, i.FLT_D)
FLOAT_LE: Final[Pair] = (i.FLE_S, i.FLE_D)
FROM_BITS: Final[Pair] = (i.FMV_W_X, i.FMV_D_X)
TO_BITS: Final[Pair] = (i.FMV_X_W, i.FMV_X_D)


def code_of(operand: int) -> int:
    """The machine's number of a register; a constant here is 0 and so the zero register."""
    return CODES[operand] if operand >= 0 else ZERO


def width_of(type_: Type) -> int:
    """Index into pairs of rows: 0 for 32-bit arithmetic, 1 for 64-bit."""
    return 0 if type_.bits == 32 else 1


def signed_value(type_: Type, value: int) -> int:
    """A constant as the register holds it."""
    if type_.bits >= 32:
        half = 1 << (type_.bits - 1)
        return (value + half & 2 * half - 1) - half
    return value


def constant_of(f: Function, operand: int) -> int:
    return signed_value(f.const_types[~operand], int(f.const_values[~operand]))


def float_bits(type_: Type, value: float) -> int:
    """The bits of a floating-point constant."""
    return int.from_bytes(struct.pack("<f" if type_.bits == 32 else "<d", value), "little")


def wide_compare(type_: Type) -> bool:
    """Whether comparing needs the unsigned instructions: narrower unsigned integers compare as signed ones."""
    return not type_.signed and type_.bits >= 32


def narrow(asm: RiscVAssembler, type_: Type, rd: int, rs: int) -> None:
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


class One:
    """Emits one instruction, of f32 or of f64: its registers from the result and the operands, in the order they are read; rounding as it is set."""

    __slots__ = ("order", "rounds", "rows")

    def __init__(self, rows: Pair, order: tuple[int, ...]) -> None:
        self.rows = rows
        self.order = order
        self.rounds = rows[0].syntax.endswith(", rm")

    def emit(self, asm: RiscVAssembler, f: Function, instr: Instr) -> None:
        args = instr.args
        values = [CODES[instr.dst]]
        for n in self.order:
            values.append(CODES[args[n]])
        if self.rounds:
            values.append(DYNAMIC)
        asm.emit(self.rows[width_of(instr.type)], *values)


def roles(row: Row) -> tuple[int, list[int]]:
    """The classes of the register that an instruction writes and of those it reads: ``fd``, ``rd`` and ``fs1``, ``rs1`` … of its syntax."""
    written = INTS
    read: list[int] = []
    for word in row.syntax.split(", "):
        cls = FLOATS if word[0] == "f" else INTS
        if word[1] == "d":
            written = cls
        elif word[1] == "s":
            read.append(cls)
    return written, read


def move_float(asm: RiscVAssembler, type_: Type, rd: int, rs: int) -> None:
    if rd != rs:
        asm.emit(SIGN[width_of(type_)], rd, rs, rs)
