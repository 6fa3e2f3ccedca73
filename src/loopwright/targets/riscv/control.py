"""Jumps that decide nothing, calls, returns and frames on RISC-V."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import LP64D, RiscVAssembler, enter, leave
from loopwright.targets.riscv.moves import far_slot, load_constant
from loopwright.targets.riscv.operands import code_of
from loopwright.targets.riscv.registers import CODES, RA, SP, ZERO, number
from loopwright.types import F32, F64, PTR, Type


def jump(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.jump(instr.imm)


def jump_table(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Go where a table says, of distances from itself."""
    value, count, distance, table = instr.args
    v, d, t = code_of(value), code_of(distance), code_of(table)
    asm.load_immediate(d, int(f.const_values[~count]))
    asm.branch(i.BGEU, v, d, instr.imm)
    asm.table(t)
    asm.emit(i.SLLI, d, v, 2)
    asm.emit(i.ADD, d, d, t)
    asm.emit(i.LW, d, 0, d)
    asm.emit(i.ADD, d, d, t)
    asm.emit(i.JALR, ZERO, 0, d)


def jump_case(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """The next entry of the table."""
    asm.entry(instr.imm)


def label(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    asm.bind(instr.imm)


_LOADS: Final = {F32: i.FLW, F64: i.FLD}
#: What is free where the convention's argument and result registers are filled: no argument, not preserved.
_T0: Final = 5
#: Where the address of a function that is called by it is: no argument, and none of the registers for links (ISA manual, "Unconditional Jumps").
CALLED: Final = number("t1")


def _fixed_constants(asm: RiscVAssembler, f: Function, instr: Instr, types: list[Type]) -> None:
    """Constants among the operands go straight into the registers that the convention names."""
    rule = instr.rule
    for position, a in enumerate(instr.args):
        if a < 0:
            load_constant(asm, f, a, types[position], rule.uses[position].fixed, _T0)


def call(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    callee = f.callees[instr.imm]
    in_registers = [type_ for type_, place in zip(callee.params, LP64D.assign_for(callee), strict=True) if place >= 0]
    if callee.signature:
        _fixed_constants(asm, f, instr, [PTR, *in_registers])
        asm.emit(i.JALR, RA, 0, CODES[CALLED])
    else:
        _fixed_constants(asm, f, instr, in_registers)
        asm.call(callee.name)
    if callee.results:
        address = CODES[CALLED]
        base, offset = SP, ~LP64D.assign_for(callee)[-1]
        if offset > 2047:
            base, offset = address, far_slot(asm, address, SP, offset)
        asm.emit(i.LD, address, offset, base)
        for n, r in enumerate(LP64D.results(callee.results)):
            asm.emit(i.FSD if callee.results[n].is_float else i.SD, CODES[r], 8 * n, address)


def tail_call(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Leave for a symbol, or for the address that a function is called by."""
    callee = f.callees[instr.imm]
    in_registers = [type_ for type_, place in zip(callee.params, LP64D.assign_for(callee), strict=True) if place >= 0]
    if callee.signature:
        _fixed_constants(asm, f, instr, [PTR, *in_registers])
        asm.emit(i.JALR, ZERO, 0, CODES[CALLED])
    else:
        _fixed_constants(asm, f, instr, in_registers)
        asm.leave(callee.name, CODES[CALLED])


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
        offset = far_slot(asm, RA, SP, offset)
    if instr.type.is_float and value >= 0:
        asm.emit(i.FSW if instr.type.bits == 32 else i.FSD, CODES[value], offset, base)
    else:
        asm.emit(i.SD, code_of(value), offset, base)


def prologue(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    enter(asm, f.frame)


def epilogue(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    assert f.frame is not None
    if f.results:
        # (The address is in a0, which is loaded last. A float of 32 bits is boxed by FLW.)
        for n, r in LP64D.result_loads(f.results):
            asm.emit(_LOADS.get(f.results[n], i.LD), CODES[r], 8 * n, CODES[LP64D.int_result])
    leave(asm, f.frame)


def nothing(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
    """Brackets that leave no code."""
