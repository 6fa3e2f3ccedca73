"""Jumps, calls, returns and frames on AArch64."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AAPCS64, AArch64Assembler, enter, leave
from loopwright.targets.aarch64.assembler import HS
from loopwright.targets.aarch64.moves import code_of, emit_load, emit_store, emit_store_zero, load_constant
from loopwright.targets.aarch64.registers import CODES, LR, SP, ZR, number
from loopwright.targets.target import scalar_integers
from loopwright.types import F64, I64, PTR, VOID, Type

__all__ = ["CALLED", "call", "epilogue", "jump", "jump_if", "label", "nothing", "prologue", "ret", "store_arg", "tail_call"]

#: Bytes that are fetched together: the first fetch of an inner loop gets that many of it.
_FETCH: Final = 16
#: Where the address of a function that is called by it is: no argument (AAPCS64, 6.1.1).
CALLED: Final = number("x9")


def jump_if(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """``jump_if`` and ``jump_unless`` on a bool."""
    asm.branch(i.CBNZ["w"] if instr.op is ops.JUMP_IF else i.CBZ["w"], instr.imm, code_of(instr.args[0]))


def jump_table(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Go where a table says, of distances from itself."""
    value, count, distance, table = instr.args
    v, d, t = code_of(value), code_of(distance), code_of(table)
    cases = int(f.const_values[~count])
    if cases < 1 << 12:
        asm.emit(i.SUBS_IMM["x"], ZR, v, cases, 0)
    else:
        asm.load_immediate(d, cases)
        asm.emit(i.SUBS["x"], ZR, v, d, 0, 0)
    asm.branch(i.B_COND, instr.imm, HS)
    asm.table(t)
    asm.emit(i.LDRS_REG["x.w"], d, t, v, 2)
    asm.emit(i.ADD["x"], d, d, t, 0, 0)
    asm.emit(i.BR, d)


def jump_case(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """The next entry of the table."""
    asm.entry(instr.imm)


def jump(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    asm.jump(instr.imm)


def label(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    if instr.imm in f.aligned:
        asm.align(_FETCH)
    asm.bind(instr.imm)


def _fixed_constants(asm: AArch64Assembler, f: Function, instr: Instr, types: list[Type]) -> None:
    """Constants among the operands go straight into the registers that the convention names."""
    rule = instr.rule
    for position, a in enumerate(instr.args):
        if a < 0:
            load_constant(asm, f, a, types[position], rule.uses[position].fixed)


def call(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Call a symbol; a result that comes with anything above its bits is extended."""
    callee = f.callees[instr.imm]
    in_registers = [type_ for type_, place in zip(callee.params, AAPCS64.assign_for(callee), strict=True) if place >= 0]
    if callee.signature:
        _fixed_constants(asm, f, instr, [PTR, *in_registers])
        asm.emit(i.BLR, CODES[CALLED])
    else:
        _fixed_constants(asm, f, instr, in_registers)
        asm.call(callee.name)
    result = callee.result
    if result is not VOID and result in AAPCS64.unextended:
        place = CODES[AAPCS64.int_result]
        asm.extend(place, place, result.bits, result.signed, "w")
    if callee.results:
        address = CODES[CALLED]
        emit_load(asm, I64, address, SP, disp=~AAPCS64.assign_for(callee)[-1])
        for n, r in enumerate(AAPCS64.results(callee.results)):
            emit_store(asm, F64 if callee.results[n].is_float else I64, CODES[r], address, disp=8 * n)


def tail_call(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Leave for a symbol, or for the address that a function is called by."""
    callee = f.callees[instr.imm]
    in_registers = [type_ for type_, place in zip(callee.params, AAPCS64.assign_for(callee), strict=True) if place >= 0]
    if callee.signature:
        _fixed_constants(asm, f, instr, [PTR, *in_registers])
        asm.emit(i.BR, CODES[CALLED])
    else:
        _fixed_constants(asm, f, instr, in_registers)
        asm.leave(callee.name)


def ret(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    _fixed_constants(asm, f, instr, [f.result])
    asm.emit(i.RET, LR)


def store_arg(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """An argument of the next call on the stack: integers fill their eight bytes."""
    value, type_ = instr.args[0], instr.type
    if value < 0:
        emit_store_zero(asm, 8, SP, disp=instr.imm)
    else:
        emit_store(asm, I64 if scalar_integers(type_) else type_, CODES[value], SP, disp=instr.imm)


def prologue(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    enter(asm, f.frame)


def epilogue(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    if f.results:
        # (The address is in x0, which is loaded last.)
        for n, r in AAPCS64.result_loads(f.results):
            emit_load(asm, F64 if f.results[n].is_float else I64, CODES[r], CODES[AAPCS64.int_result], disp=8 * n)
    leave(asm, f.frame)


def nothing(asm: AArch64Assembler, f: Function, instr: Instr) -> None:
    """Brackets that leave no code."""
