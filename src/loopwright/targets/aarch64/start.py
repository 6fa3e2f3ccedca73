"""Entry code of a static executable for Linux on AArch64: makes the calls a table lists, then writes memory out and exits.

The table's records are laid out by ``RECORD`` and the offsets below. Around each call the callee-saved registers hold known values, so that a function
that does not preserve them is found out; those that hold no arguments and need not be preserved hold rubbish, as does what is above the arguments in
vector registers.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.assembler import LSL, Assembler
from loopwright.targets.aarch64.registers import SP, ZR

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

# System calls of Linux (include/uapi/asm-generic/unistd.h): the number in x8, arguments from x0.
_WRITE: Final = 64
_EXIT: Final = 93

#: The record of the call that is made, and the stack pointer at the call.
_AT: Final = 19
_STACK_POINTER: Final = 20
#: Besides those two: x18, which belongs to the platform, and what is callee-saved.
_KEPT: Final = (18, *range(21, 30))
_KEPT_FLOATS: Final = tuple(range(8, 16))
_RUBBISH: Final = 0xA5C3_9687_E1D2_B4F0


def entry(records: int, count: int, regions: int, region_count: int) -> bytes:
    """The code of ``_start``, which stands at a multiple of 16.

    Args:
        records: address of the calls' records, in the order they are made; results are stored into them.
        count: how many.
        regions: address of pairs of 64-bit values: address and size of memory to write to the standard output.
        region_count: how many pairs.
    """
    asm = Assembler()
    loop, copy, go, done, write, more, written, leave, fail = (asm.new_label() for _ in range(9))
    broken = asm.new_label()

    asm.load_immediate(_AT, records)
    asm.add_immediate(SP, SP, -16)
    asm.load_immediate(9, count)
    asm.emit(i.STR["x"], 9, SP, 0)
    asm.bind(loop)
    asm.emit(i.LDR["x"], 9, SP, 0)
    asm.branch(i.CBZ["x"], done, 9)
    asm.add_immediate(9, 9, -1)
    asm.emit(i.STR["x"], 9, SP, 0)
    # Stack arguments.
    asm.emit(i.LDR["x"], 9, _AT, STACK_BYTES)
    asm.emit(i.LDR["x"], 10, _AT, STACK)
    asm.emit(i.SUB_UXTX, SP, SP, 9, 0)
    asm.bind(copy)
    asm.branch(i.CBZ["x"], go, 9)
    asm.add_immediate(9, 9, -8)
    asm.emit(i.LDR_REG["x"], 11, 10, 9, 0)
    asm.emit(i.STR_REG["x"], 11, SP, 9, 0)
    asm.jump(copy)
    asm.bind(go)
    _fill(asm)
    asm.emit(i.LDR["x"], 16, _AT, FUNCTION)
    asm.emit(i.BLR, 16)
    # All differences together.
    asm.add_immediate(9, SP, 0)
    asm.emit(i.EOR["x"], 9, 9, _STACK_POINTER, LSL, 0)
    for code in _KEPT:
        asm.add_immediate(10, _AT, code)
        asm.emit(i.EOR["x"], 10, 10, code, LSL, 0)
        asm.emit(i.ORR["x"], 9, 9, 10, LSL, 0)
    for code in _KEPT_FLOATS:
        asm.add_immediate(10, _AT, 64 + code)
        asm.emit(i.FMOV_TO_INT["x.d"], 11, code)
        asm.emit(i.EOR["x"], 10, 10, 11, LSL, 0)
        asm.emit(i.ORR["x"], 9, 9, 10, LSL, 0)
    asm.branch(i.CBNZ["x"], broken, 9)
    asm.emit(i.STR["x"], 0, _AT, INT_RESULT)
    asm.emit(i.STR_V["d"], 0, _AT, FLOAT_RESULT)
    asm.emit(i.LDR["x"], 9, _AT, STACK_BYTES)
    asm.emit(i.ADD_UXTX, SP, SP, 9, 0)
    asm.add_immediate(_AT, _AT, RECORD)
    asm.jump(loop)
    asm.bind(broken)
    asm.load_immediate(0, BROKEN_CONVENTION)
    asm.jump(leave)

    asm.bind(done)
    asm.load_immediate(19, regions)
    asm.load_immediate(20, region_count)
    asm.bind(write)
    asm.move(0, ZR)
    asm.branch(i.CBZ["x"], leave, 20)
    asm.emit(i.LDP["x"], 21, 22, 19, 0)
    asm.bind(more)
    asm.branch(i.CBZ["x"], written, 22)
    asm.load_immediate(0, 1)
    asm.move(1, 21)
    asm.move(2, 22)
    asm.load_immediate(8, _WRITE)
    asm.emit(i.SVC, 0)
    # A pipe may take a part only; an error is negative, and nothing written is one too.
    asm.branch(i.CBZ["x"], fail, 0)
    asm.branch(i.TBNZ, fail, 0, 63)
    asm.emit(i.ADD["x"], 21, 21, 0, LSL, 0)
    asm.emit(i.SUB["x"], 22, 22, 0, LSL, 0)
    asm.jump(more)
    asm.bind(written)
    asm.add_immediate(19, 19, 16)
    asm.add_immediate(20, 20, -1)
    asm.jump(write)
    asm.bind(fail)
    asm.load_immediate(0, _NO_OUTPUT)
    asm.bind(leave)
    asm.load_immediate(8, _EXIT)
    asm.emit(i.SVC, 0)
    return asm.encode().data


def _fill(asm: Assembler) -> None:
    """Register arguments, known values in what must be preserved, rubbish in the rest."""
    asm.load_immediate(8, _RUBBISH)
    for code in range(32):
        asm.emit(i.DUP["2d"], code, 8)
    for code in (*range(9, 16), 17):
        asm.emit(i.EOR_IMM["x"], code, 8, 1 << code)
    for k in range(8):
        asm.emit(i.LDR["x"], k, _AT, INTS + 8 * k)
        asm.emit(i.LDR["x"], 16, _AT, FLOATS + 8 * k)
        asm.emit(i.INS["d"], k, 0, 16)
    asm.add_immediate(_STACK_POINTER, SP, 0)
    for code in _KEPT:
        asm.add_immediate(code, _AT, code)
    for code in _KEPT_FLOATS:
        asm.add_immediate(16, _AT, 64 + code)
        asm.emit(i.INS["d"], code, 0, 16)
