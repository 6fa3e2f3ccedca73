"""Variables of 64 bits of which nothing but the lower half is used, such as where the greatest of some numbers is, stored as 32 bits: they are computed in so many, and leave vectors twice the lanes.

``where = 0``, ``if x > best: where = i * n + j``, ``c[i] = i32(where)``: sums, products and choices between such come out the same modulo 2 ** 32 (demanded bits: M. Stephenson, J. Babb and S. Amarasinghe,
"Bitwidth analysis with application to silicon compilation", PLDI 2000, section 3). What they are made of is cut off where it is no such sum itself.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import I32, I64, U32, VOID

__all__ = ["run"]

#: Whose lower half hangs on the lower halves of the operands alone.
_LOW: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.COPY))


def run(f: Function) -> None:
    """Compute such variables of a function in 32 bits."""
    variable, types = f.variable, f.types
    if not any(variable[r] and types[r] is I64 for r in range(len(types))) or not any(_cuts(instr) for instr in f.code):
        return
    halves = _halves(f)
    kept = _made_of(f, halves)
    if kept:
        names = {r: f.register(I32, f.names[r], variable[r]) for r in sorted(kept) if types[r] is I64}
        f.code = _rewritten(f, names)


def _cuts(instr: Instr) -> bool:
    """Whether an instruction takes the lower half of a number, or less."""
    return instr.op is ops.CONVERT and instr.source is I64 and instr.type.is_integer and instr.type.bits <= 32


def _whole(instr: Instr) -> bool:
    """Whether all of an instruction's operands but a condition may be lower halves if its result is one."""
    return (instr.op in _LOW or instr.op is ops.SELECT) and instr.type is I64


def _halves(f: Function) -> set[int]:
    """The registers of which no more than the lower half is used, that are sums, products and choices of such and of others."""
    found: set[int] = set()
    other: set[int] = set(f.params)
    for instr in f.code:
        if instr.dst < 0 or f.types[instr.dst] is not I64:
            continue
        if _whole(instr) or (instr.op is ops.CONVERT and instr.source.is_integer and instr.source.bits <= 32):
            found.add(instr.dst)
        else:
            other.add(instr.dst)
    found -= other
    while True:
        more: set[int] = set()
        for instr in f.code:
            if _cuts(instr):
                continue
            low = _whole(instr) and instr.dst in found
            for position, a in enumerate(instr.args):
                if a in found and not (low and (instr.op is not ops.SELECT or position > 0)):
                    more.add(a)
        if not more:
            return found
        found -= more


def _made_of(f: Function, halves: set[int]) -> set[int]:
    """Of these the variables, and what they are made of."""
    kept = {r for r in halves if f.variable[r]}
    while True:
        more = {a for instr in f.code if instr.dst in kept for a in instr.args if a in halves} - kept
        # (What is made of a variable is no wider.)
        more |= {instr.dst for instr in f.code if instr.dst in halves and not kept.isdisjoint(instr.args)} - kept
        if not more:
            return kept
        kept |= more


def _rewritten(f: Function, names: dict[int, int]) -> list[Instr]:
    """The code with registers of 32 bits in the place of some of 64."""
    out: list[Instr] = []
    for instr in f.code:
        if _cuts(instr) and instr.args[0] in names:
            given = names[instr.args[0]]
            if instr.type is I32:
                out.append(Instr(ops.COPY, I32, instr.dst, [given], 0, instr.line))
            elif instr.type is U32:
                out.append(Instr(ops.BITCAST, U32, instr.dst, [given], 0, instr.line, I32))
            else:
                out.append(Instr(ops.CONVERT, instr.type, instr.dst, [given], 0, instr.line, I32))
        elif instr.dst in names:
            made = names[instr.dst]
            if instr.op is ops.CONVERT:
                source = instr.source
                op = ops.COPY if source is I32 else ops.BITCAST if source is U32 else ops.CONVERT
                out.append(Instr(op, I32, made, list(instr.args), 0, instr.line, VOID if source is I32 else source))
                continue
            first = 1 if instr.op is ops.SELECT else 0
            args = [*instr.args[:first], *[_low(f, a, names, instr.line, out) for a in instr.args[first:]]]
            out.append(Instr(instr.op, I32, made, args, 0, instr.line))
        else:
            out.append(instr)
    return out


def _low(f: Function, operand: int, names: dict[int, int], line: int, out: list[Instr]) -> int:
    """The lower half of an operand."""
    if operand < 0:
        value = int(f.const_values[~operand]) & (1 << 32) - 1
        return f.const(I32, value - (value >> 31 << 32))
    if operand in names:
        return names[operand]
    made = f.register(I32, "")
    out.append(Instr(ops.CONVERT, I32, made, [operand], 0, line, I64))
    return made
