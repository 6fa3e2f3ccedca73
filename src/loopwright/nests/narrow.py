"""Arithmetic on lanes in 16 bits, where it is written in more and 16 are all that of its results is used.

``u8((i32(a[i]) * 77 + i32(b[i]) * 179) >> 8)`` uses bits 8 to 15 of a sum, which depend on none above: it comes out the same computed in 16 bits, twice as many
lanes at a time (the demanded bits of LLVM's loop vectorizer; M. Stephenson, J. Babb and S. Amarasinghe, "Bitwidth analysis with application to silicon
compilation", PLDI 2000, section 3).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.operations import has
from loopwright.targets.target import Target
from loopwright.types import U16, VOID, vector_of

__all__ = ["narrow"]

_BITS: Final = 16
#: Whose low bits depend on the low bits of the operands alone.
_LOW: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.AND, ops.OR, ops.XOR))


def narrow(f: Function, target: Target, head: int, end: int) -> None:
    """Narrow a loop over lanes whose brackets are at ``head`` and ``end``, where all that is wider than 16 bits in it can be and the machine has what it takes."""
    code: list[Instr] = f.code
    wide: list[Instr] = []
    for k in range(head + 1, end):
        instr = code[k]
        op = instr.op
        if op.effect == ops.CONTROL:
            if op is ops.FOR:
                return
            continue
        if op is ops.STORE or op is ops.LOAD:
            if instr.type.bits > _BITS or (op is ops.LOAD and f.variable[instr.dst]):
                return
            continue
        if instr.dst < 0 or not op.pure or instr.type.is_float or instr.source.is_float:
            return
        type_ = f.types[instr.dst]
        if type_.bits > _BITS and not _counts(f, code, head, instr):
            if f.variable[instr.dst] or not type_.is_integer:
                return
            wide.append(instr)
        elif op in ops.COMPARISONS.values() and instr.type.bits > _BITS:
            return
    if wide and _fits(f, code, head, end, wide) and _possible(f, target, wide):
        _rewrite(f, code, head, end, wide)


def _counts(f: Function, code: list[Instr], head: int, instr: Instr) -> bool:
    """Whether it is arithmetic on indices, which is none on lanes."""
    return f.types[instr.dst].bits == 64 and instr.op in (ops.ADD, ops.SUB, ops.COPY) and instr.type.bits == 64


def _fits(f: Function, code: list[Instr], head: int, end: int, wide: list[Instr]) -> bool:
    """Whether 16 bits are all that is used of each, and their operands are of them, constants, or narrow."""
    made = {instr.dst for instr in wide}
    need = dict.fromkeys(made, 0)
    for k in range(end - 1, head, -1):
        instr = code[k]
        wanted = need.get(instr.dst, -1) if instr.dst >= 0 else -1
        for position, a in enumerate(instr.args):
            if a not in made:
                if wanted >= 0 and a >= 0 and not (instr.op is ops.CONVERT and instr.source.bits <= _BITS):
                    return False
                continue
            if instr.op is ops.CONVERT:
                bits = instr.type.bits if wanted < 0 else wanted
            elif wanted < 0:
                return False
            elif instr.op in _LOW or (instr.op is ops.SHL and position == 0):
                bits = wanted
            elif instr.op is ops.SHR and position == 0 and instr.args[1] < 0:
                bits = wanted + int(f.const_values[~instr.args[1]])
            else:
                return False
            need[a] = max(need[a], bits)
    return all(0 < bits <= _BITS for bits in need.values()) and all(
        instr.op is ops.CONVERT
        or instr.op in _LOW
        or (instr.op in (ops.SHL, ops.SHR) and instr.args[1] < 0 and 0 <= int(f.const_values[~instr.args[1]]) < _BITS)
        for instr in wide
    )


def _possible(f: Function, target: Target, wide: list[Instr]) -> bool:
    lanes = target.vector_bits // _BITS
    full = vector_of(U16, lanes)
    for instr in wide:
        source = vector_of(instr.source, lanes) if instr.op is ops.CONVERT and instr.source.bits < _BITS else VOID
        if instr.op is ops.CONVERT and source is VOID:
            continue
        if not has(target, instr.op, full, source):
            return False
    return True


def _rewrite(f: Function, code: list[Instr], head: int, end: int, wide: list[Instr]) -> None:
    made = {instr.dst for instr in wide}
    for instr in wide:
        f.types[instr.dst] = U16
        instr.type = U16
        if instr.op is not ops.CONVERT:
            instr.args = [a if a >= 0 else f.const(U16, int(f.const_values[~a]) & 0xFFFF) for a in instr.args]
    for k in range(head + 1, end):
        instr = code[k]
        if instr.op is ops.CONVERT and instr.args[0] in made:
            instr.source = U16
        if instr.op is ops.CONVERT and instr.source is instr.type:
            instr.op, instr.source = ops.COPY, VOID
