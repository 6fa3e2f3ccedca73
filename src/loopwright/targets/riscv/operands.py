"""Operands as machine codes and numbers.

A constant operand of an emitting function that takes no others is 0, which is the zero register.
"""

from __future__ import annotations

import struct

from loopwright.ir.function import Function
from loopwright.targets.riscv.registers import CODES, ZERO
from loopwright.types import Type


def code_of(operand: int) -> int:
    """The machine's number of a register; a constant here is 0 and so the zero register."""
    return CODES[operand] if operand >= 0 else ZERO


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
