"""CRC-32C where a machine has no instruction for it."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import I64, U32, U64

__all__ = ["crc32c"]

#: The polynomial of CRC-32C, 0x1EDC6F41, lowest bit first.
_CASTAGNOLI: Final = 0x82F63B78


def crc32c(f: Function, instr: Instr, emit: Emit) -> None:
    """The checksum bit by bit, in a loop."""
    s = Steps(f, emit, instr.line, 0)
    start = s.convert(U64, instr.args[0], U32)
    data = s.convert(U64, instr.args[1], instr.source) if instr.source is not U64 else instr.args[1]
    rest = s.variable(U64, s.op(ops.XOR, U64, start, data))
    left = s.variable(I64, s.const(I64, instr.source.bits))
    polynomial = s.op(ops.COPY, U64, s.const(U64, _CASTAGNOLI))
    s.bracket(ops.LOOP)
    odd = s.op(ops.NEG, U64, s.op(ops.AND, U64, rest, s.const(U64, 1)))
    s.op(ops.XOR, U64, s.shifted(U64, rest, 1), s.op(ops.AND, U64, odd, polynomial), into=rest)
    s.op(ops.SUB, I64, left, s.const(I64, 1), into=left)
    s.bracket(ops.BR_CMP["ne"], left, s.const(I64, 0), type_=I64)
    s.bracket(ops.END)
    s.convert(U32, rest, U64, instr.dst)
