"""Addresses of globals and of local arrays, in the instructions that access them: no register holds what the machine's addresses can begin with.

::

    %g = global.ptr count                     %x = load_at.i32 [global count]
    %x = load_at.i32 [%g]              →      %y = load_at.i64 [local 0 + %i*8 + 16]
    %l = local.ptr 0                          %p = address.ptr [local 0 + 8]
    %y = load_at.i64 [%l + %i*8 + 16]
    %p = add.ptr %l, 8

It is done where instructions have been selected. An address that is a known distance away from one of these is known, too, and can be made again anywhere.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.ir.roles import address_at
from loopwright.targets.target import Target
from loopwright.types import PTR, VOID

__all__ = ["holds", "run"]

_MAKES: Final = (ops.LOCAL, ops.GLOBAL)
#: What has an address among its operands; so has what a load has become part of.
_ACCESSES: Final = frozenset((ops.LOAD_AT, ops.STORE_AT, ops.MASKED_LOAD_AT, ops.MASKED_STORE_AT, ops.ADDRESS, *ops.DONE_IN_PLACE))


class _Known:
    """An address that is known: a distance from what an operation makes of a constant."""

    __slots__ = ("disp", "number", "origin")

    def __init__(self, origin: ops.Op, number: int, disp: int) -> None:
        self.origin = origin
        self.number = number
        self.disp = disp


def run(f: Function, target: Target) -> None:
    """Let addresses begin with what makes them, where ``target`` has room for that in an instruction."""
    addressing = target.addressing(PTR)
    if not addressing.origins:
        return
    known: dict[int, _Known] = {}
    #: Where what is known was made, for as long as nobody else reads it.
    made: dict[int, int] = {}
    code = f.code
    for k in range(len(code)):
        instr = code[k]
        op = instr.op
        if op in _MAKES:
            if op in addressing.origins and not f.variable[instr.dst] and _is_fixed(f, op, instr.args[0]):
                known[instr.dst] = _Known(op, instr.args[0], 0)
                made[instr.dst] = k
            continue
        if not known:
            continue
        if instr.mem is not None:
            _access(f, target, instr, known)
        elif op is ops.ADD and instr.type is PTR and instr.args[1] < 0 <= instr.args[0]:
            _advance(f, target, instr, known)
        if op is ops.ADDRESS or op is ops.ADD:
            _follow(f, instr, known, made, k)
        for a in instr.args:
            made.pop(a, None)
    if made:
        gone = set(made.values())
        f.code = [instr for k, instr in enumerate(code) if k not in gone]


def holds(f: Function, target: Target, instr: Instr) -> bool:
    """Whether the machine has instructions whose address begins as that of ``instr`` does: with what an operation makes."""
    mem = instr.mem
    if mem is None or mem.origin is None or not _takes(instr):
        return False
    return _is_fixed(f, mem.origin, instr.args[address_at(instr)]) and target.addressing(instr.type).begins(mem.origin, mem.disp, mem.indexed)


def _takes(instr: Instr) -> bool:
    """Whether an instruction with an address can have one of these."""
    return instr.op in _ACCESSES or "A" not in instr.op.operands


def _is_fixed(f: Function, origin: ops.Op, operand: int) -> bool:
    """Whether what is meant is a known distance away from the frame's beginning, or from the code."""
    number = int(f.const_values[~operand])
    return f.in_frame(number) if origin is ops.LOCAL else not f.globals[number].address


def _access(f: Function, target: Target, instr: Instr, known: dict[int, _Known]) -> None:
    """Let an access's address begin with what makes its base."""
    mem = instr.mem
    if mem is None or mem.origin is not None or not _takes(instr):
        return
    at = address_at(instr)
    base = known.get(instr.args[at])
    if base is None or not target.addressing(instr.type).begins(base.origin, base.disp + mem.disp, mem.indexed):
        return
    instr.args = [*instr.args[:at], base.number, *instr.args[at + 1 :]]
    instr.mem = Mem(mem.indexed, mem.scale, base.disp + mem.disp, mem.size, mem.broadcast, mem.role, mem.array, base.origin)
    instr.rule = target.rule(f, instr)


def _advance(f: Function, target: Target, instr: Instr, known: dict[int, _Known]) -> None:
    """Make a known distance from what is known the address of that place."""
    base = known.get(instr.args[0])
    if base is None:
        return
    disp = base.disp + int(f.const_values[~instr.args[1]])
    if target.addressing(PTR).begins(base.origin, disp, False):
        instr.op = ops.ADDRESS
        instr.args = [base.number]
        instr.source = VOID
        instr.mem = Mem(False, 1, disp, 0, origin=base.origin)
        instr.rule = target.rule(f, instr)


def _follow(f: Function, instr: Instr, known: dict[int, _Known], made: dict[int, int], k: int) -> None:
    """Note what an instruction makes, where that is known now."""
    mem = instr.mem
    if mem is not None and mem.origin is not None and not mem.indexed and instr.op is ops.ADDRESS and not f.variable[instr.dst]:
        known[instr.dst] = _Known(mem.origin, instr.args[0], mem.disp)
        made[instr.dst] = k
