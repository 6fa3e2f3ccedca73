"""Entry code of a static executable for Linux on RISC-V: makes the calls a table lists, then writes memory out and exits.

The table's records are laid out by ``RECORD`` and the offsets below. Around each call the callee-saved registers hold
known values, so that a function that does not preserve them is found out.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.assembler import Assembler
from loopwright.targets.riscv.registers import FLOAT_NAMES, INT_NAMES, RA, SP, ZERO

__all__ = ["BROKEN_CONVENTION", "FLOATS", "FLOAT_RESULT", "FUNCTION", "INTS", "INT_RESULT", "RECORD", "STACK", "STACK_BYTES", "entry"]

# Offsets in a record, all of 64-bit values.
FUNCTION: Final = 0
INTS: Final = 8
FLOATS: Final = 72
STACK_BYTES: Final = 136
STACK: Final = 144
INT_RESULT: Final = 152
FLOAT_RESULT: Final = 160
RECORD: Final = 168

#: Exit status when a callee-saved register or the stack pointer came back changed.
BROKEN_CONVENTION: Final = 3
#: Exit status when memory could not be written out.
_NO_OUTPUT: Final = 4

# System calls of Linux (include/uapi/asm-generic/unistd.h): the number in a7, arguments from a0.
_WRITE: Final = 64
_EXIT: Final = 93


def _x(name: str) -> int:
    return INT_NAMES.index(name)


def entry(records: int, count: int, regions: int, region_count: int) -> bytes:
    """The code of ``_start``, which stands at a multiple of 16.

    Args:
        records: address of the calls' records, in the order they are made; results are stored into them.
        count: how many.
        regions: address of pairs of 64-bit values: address and size of memory to write to the standard output.
        region_count: how many pairs.
    """
    asm = Assembler(compressed=False)
    s0, s1, t0, t1, t2, t3, t4 = (_x(name) for name in ("s0", "s1", "t0", "t1", "t2", "t3", "t4"))
    a0, a1, a2, a7 = (_x(name) for name in ("a0", "a1", "a2", "a7"))
    kept = [_x(f"s{k}") for k in range(1, 12)]
    kept_floats = [FLOAT_NAMES.index(f"fs{k}") for k in range(12)]
    loop, copy, go, done, broken, write, more, written, leave, fail = (asm.new_label() for _ in range(10))

    asm.load_immediate(s0, records)
    asm.emit(i.ADDI, SP, SP, -16)
    asm.load_immediate(t0, count)
    asm.emit(i.SD, t0, 0, SP)
    asm.bind(loop)
    asm.emit(i.LD, t0, 0, SP)
    asm.branch(i.BEQ, t0, ZERO, done)
    asm.emit(i.ADDI, t0, t0, -1)
    asm.emit(i.SD, t0, 0, SP)
    # Stack arguments.
    asm.emit(i.LD, t0, STACK_BYTES, s0)
    asm.emit(i.SUB, SP, SP, t0)
    asm.emit(i.LD, t1, STACK, s0)
    asm.emit(i.ADDI, t2, SP, 0)
    asm.emit(i.ADD, t3, SP, t0)
    asm.bind(copy)
    asm.branch(i.BEQ, t2, t3, go)
    asm.emit(i.LD, t4, 0, t1)
    asm.emit(i.SD, t4, 0, t2)
    asm.emit(i.ADDI, t1, t1, 8)
    asm.emit(i.ADDI, t2, t2, 8)
    asm.jump(copy)
    asm.bind(go)
    # Register arguments, and known values in what must be preserved (sp among them: it is put in s1).
    for k in range(8):
        asm.emit(i.LD, a0 + k, INTS + 8 * k, s0)
        asm.emit(i.FLD, FLOAT_NAMES.index(f"fa{k}"), FLOATS + 8 * k, s0)
    asm.emit(i.ADDI, s1, SP, 0)
    for code in kept[1:]:
        asm.emit(i.ADDI, code, s0, code)
    for code in kept_floats:
        asm.emit(i.ADDI, t0, s0, 64 + code)
        asm.emit(i.FMV_D_X, code, t0)
    asm.emit(i.LD, t0, FUNCTION, s0)
    asm.emit(i.JALR, RA, 0, t0)
    asm.branch(i.BNE, SP, s1, broken)
    for code in kept[1:]:
        asm.emit(i.ADDI, t0, s0, code)
        asm.branch(i.BNE, code, t0, broken)
    for code in kept_floats:
        asm.emit(i.ADDI, t0, s0, 64 + code)
        asm.emit(i.FMV_X_D, t1, code)
        asm.branch(i.BNE, t0, t1, broken)
    asm.emit(i.SD, a0, INT_RESULT, s0)
    asm.emit(i.FSD, FLOAT_NAMES.index("fa0"), FLOAT_RESULT, s0)
    asm.emit(i.LD, t0, STACK_BYTES, s0)
    asm.emit(i.ADD, SP, SP, t0)
    asm.emit(i.ADDI, s0, s0, RECORD)
    asm.jump(loop)
    asm.bind(broken)
    asm.load_immediate(a0, BROKEN_CONVENTION)
    asm.jump(leave)

    asm.bind(done)
    asm.load_immediate(s0, regions)
    asm.load_immediate(s1, region_count)
    asm.bind(write)
    asm.emit(i.ADDI, a0, ZERO, 0)
    asm.branch(i.BEQ, s1, ZERO, leave)
    asm.emit(i.LD, t1, 0, s0)
    asm.emit(i.LD, t2, 8, s0)
    asm.bind(more)
    asm.branch(i.BEQ, t2, ZERO, written)
    asm.emit(i.ADDI, a0, ZERO, 1)
    asm.emit(i.ADDI, a1, t1, 0)
    asm.emit(i.ADDI, a2, t2, 0)
    asm.emit(i.ADDI, a7, ZERO, _WRITE)
    asm.emit(i.ECALL)
    # A pipe may take a part only.
    asm.branch(i.BGE, ZERO, a0, fail)
    asm.emit(i.ADD, t1, t1, a0)
    asm.emit(i.SUB, t2, t2, a0)
    asm.jump(more)
    asm.bind(written)
    asm.emit(i.ADDI, s0, s0, 16)
    asm.emit(i.ADDI, s1, s1, -1)
    asm.jump(write)
    asm.bind(fail)
    asm.load_immediate(a0, _NO_OUTPUT)
    asm.bind(leave)
    asm.emit(i.ADDI, a7, ZERO, _EXIT)
    asm.emit(i.ECALL)
    return asm.encode().data
