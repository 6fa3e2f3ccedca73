"""Shifts of scalars by counts that a loop does not change, with what too great a count takes in front of the loop.

::

    for i = …                                     %m = shr.u32 -1, %n
      %y = shr.u32 %x, %n                →        for i = …
                                                    %z = shr_modulo.u32 %x, %n
                                                    %y = and.u32 %z, %m

Machines take counts modulo the width, the representation any count (docs/architecture.md, "Decisions"): by the width or more nothing is left but the sign. Which it is takes a comparison and two operations more,
of which the bits that can be left at all know everything. Where the sign comes in, the count is kept below the width instead. ``simplify`` moves both out of the loop.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.types import BOOL, U32, U64

__all__ = ["run"]

_MODULO: Final = {ops.SHL: ops.SHL_MODULO, ops.SHR: ops.SHR_MODULO}


def _asks(instr: Instr) -> bool:
    """Whether an instruction is a shift whose count the machine has to look at. (Narrow scalars are shifted in wider ones.)"""
    return instr.op in _MODULO and instr.type.is_integer and not instr.type.lanes and instr.type.bits >= 32 and min(instr.args) >= 0


def run(f: Function) -> None:
    """Rewrite such shifts of scalars."""
    if not any(_asks(instr) for instr in f.code if instr.op in _MODULO):
        return
    written = _written(f)
    out: list[Instr] = []
    # Per open bracket, whether it is a loop; per open loop, what changes in it; counts that are known to be below the width; by what shifts give, the operands of their masks.
    begun: list[bool] = []
    loops: list[set[int]] = []
    number = 0
    kept: set[int] = set()
    masks: dict[int, tuple[int, int]] = {}
    for instr in f.code:
        op, dst = instr.op, instr.dst
        if op.opens and not op.closes:
            begun.append(IS_LOOP[op.code])
            if begun[-1]:
                loops.append(written[number])
                number += 1
        elif op is ops.END and begun.pop():
            inner = loops.pop()
            if loops:
                loops[-1] |= inner
        if not loops:
            out.append(instr)
        elif op in _MODULO and _asks(instr) and instr.args[1] not in loops[-1] and instr.args[0] in loops[-1] and instr.args[1] not in kept:
            _rewrite(f, instr, masks, out)
        elif op is ops.AND and instr.args[0] in masks and instr.args[1] < 0:
            # (What is kept of what is left is known in front of the loop as well.)
            made, mask = masks[instr.args[0]]
            less = f.register(instr.type)
            out.append(Instr(ops.AND, instr.type, less, [mask, instr.args[1]], 0, instr.line))
            out.append(Instr(ops.AND, instr.type, dst, [made, less], 0, instr.line))
        else:
            out.append(instr)
        if dst >= 0 and not f.variable[dst]:
            if op is ops.AND and instr.args[1] < 0 and not instr.type.lanes and 0 <= int(f.const_values[~instr.args[1]]) < instr.type.bits:
                # (``simplify`` knows by itself that it is below the width.)
                kept.add(dst)
            # (Comparisons stay where they are asked.)
            if loops and (op.effect != ops.PURE or f.types[dst] is BOOL or any(a in loops[-1] for a in instr.args)):
                loops[-1].add(dst)
    f.code = out


def _written(f: Function) -> list[set[int]]:
    """Per loop, in the order of their heads: the variables that it gives values."""
    found: list[set[int]] = []
    begun: list[int] = []
    for instr in f.code:
        op = instr.op
        if instr.dst >= 0 and f.variable[instr.dst]:
            for n in begun:
                if n >= 0:
                    found[n].add(instr.dst)
        if op.opens and not op.closes:
            begun.append(len(found) if IS_LOOP[op.code] else -1)
            if IS_LOOP[op.code]:
                found.append({instr.dst} if instr.dst >= 0 else set())
        elif op is ops.END:
            begun.pop()
    return found


def _rewrite(f: Function, instr: Instr, masks: dict[int, tuple[int, int]], out: list[Instr]) -> None:
    """One shift; ``masks`` gets what it is made of, where that is a shift modulo the width and a mask."""
    type_, line = instr.type, instr.line
    value, count = instr.args

    if type_.signed and instr.op is ops.SHR:
        plain = U32 if type_.bits == 32 else U64
        bits, least, below = f.register(plain), f.register(plain), f.register(type_)
        out.append(Instr(ops.CONVERT, plain, bits, [count], 0, line, type_))
        out.append(Instr(ops.MIN, plain, least, [bits, f.const(plain, type_.bits - 1)], 0, line))
        out.append(Instr(ops.CONVERT, type_, below, [least], 0, line, plain))
        out.append(Instr(ops.SHR_MODULO, type_, instr.dst, [value, below], 0, line))
        return
    mask, made = f.register(type_), f.register(type_)
    ones = f.const(type_, -1 if type_.signed else (1 << type_.bits) - 1)
    out.append(Instr(instr.op, type_, mask, [ones, count], 0, line))
    out.append(Instr(_MODULO[instr.op], type_, made, [value, count], 0, line))
    out.append(Instr(ops.AND, type_, instr.dst, [made, mask], 0, line))
    if not f.variable[instr.dst]:
        masks[instr.dst] = made, mask
