"""How far a loop that stores at counters may store whole vectors: as long as there are as many elements to come as a vector has.

::

    for i = lo, hi, 1 lanes            %stop = lo + (hi - lo rounded down to a multiple of BLOCK)
      if %c                            loop while %stop > lo and %left < lanes:
        store v, y[%k]          →        %stop -= BLOCK
        %k = %k + 1                      %left += how often %c holds for the indices from %stop to %stop + BLOCK
      end                              for i = lo, %stop, 1 lanes     (whole vectors are stored)
    end                                  the body
                                       for i = %stop, hi, 1 lanes     (nothing is stored but what is kept)
                                         the body

What is behind the elements of a vector that are kept is then overwritten by those that come, and was the loop's to write: nothing else is touched, whatever the arrays' extents. The condition is
computed twice for some indices, seldom more than a block of them. So it must be made of what the loop does not change.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.unroll import clone, last_multiple, read_once
from loopwright.types import BOOL, I64, VOID
from loopwright.vectors.compaction import Counter

__all__ = ["divided"]

#: Indices that are looked at at once, a multiple of the lanes of any vector.
BLOCK: Final = 64


def divided(f: Function, body: list[Instr], found: dict[int, Counter], lanes: int, private: set[int]) -> tuple[list[Instr], Instr, Instr] | None:
    """A loop over lanes as the search for where it is to be divided, and the loops before and behind that.

    Args:
        f: the function.
        body: the loop, with its brackets.
        found: what its counters count.
        lanes: of a vector.
        private: the variables that mean nothing outside of it.

    Returns:
        The code, and the heads in it of the loop that counts and of the one that may store whole vectors; None where the elements to come cannot be counted.
    """
    head = body[0]
    counted = _counting(f, body[1:-1], found)
    if counted is None:
        return None
    line = head.line
    out: list[Instr] = []
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    stop = f.register(I64, "stop", True)
    out.append(Instr(ops.COPY, I64, stop, [last_multiple(f, lo, hi, BLOCK, line, out)], 0, line))
    left = {variable: f.register(I64, "left", True) for variable in found}
    out += [Instr(ops.COPY, I64, count, [f.const(I64, 0)], 0, line) for count in left.values()]
    out += [Instr(ops.BLOCK, VOID, NONE, [], 0, line), Instr(ops.LOOP, VOID, NONE, [], 0, line)]
    _leave_where(f, ops.LE, stop, lo, line, out)
    least = f.register(I64)
    out.append(Instr(ops.COPY, I64, least, [next(iter(left.values()))], 0, line))
    for count in list(left.values())[1:]:
        fewer = f.register(I64)
        out.append(Instr(ops.MIN, I64, fewer, [least, count], 0, line))
        least = fewer
    _leave_where(f, ops.GE, least, f.const(I64, lanes), line, out)
    first = f.register(I64)
    within = f.register(I64)
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.SUB, I64, first, [stop, f.const(I64, BLOCK)], 0, line))
    out.append(Instr(ops.COPY, I64, stop, [first], 0, line))
    totals = [(count, ops.ADD, f.const(I64, 0)) for count in left.values()]
    counting = Instr(ops.FOR, VOID, within, [f.const(I64, 0), f.const(I64, BLOCK), f.const(I64, 1)], 0, line, loop=Loop(NONE, 0, totals, True))
    out += [counting, Instr(ops.ADD, I64, index, [first, within], 0, line)]
    clone(f, [*counted, body[-1]], {**_fresh(f, counted, private), **left, head.dst: index}, out)
    out += [Instr(ops.BR, VOID, NONE, [], 0, line), Instr(ops.END, VOID, NONE, [], 0, line), Instr(ops.END, VOID, NONE, [], 0, line)]
    divide = read_once(f, stop, line, out)
    place = len(out)
    clone(f, body, {**_fresh(f, body, private), head.dst: f.register(I64, f.names[head.dst])}, out)
    ample = out[place]
    ample.args = [lo, divide, head.args[2]]
    head.args = [divide, hi, head.args[2]]
    out += body
    return out, counting, ample


def _leave_where(f: Function, op: ops.Op, a: int, b: int, line: int, out: list[Instr]) -> None:
    """Leave the block around a loop."""
    holds = f.register(BOOL)
    out.append(Instr(op, I64, holds, [a, b], 0, line))
    out.append(Instr(ops.BR_IF, VOID, NONE, [holds], 1, line))


def _fresh(f: Function, body: list[Instr], private: set[int]) -> dict[int, int]:
    """A variable of its own for each that a copy of the body writes for itself."""
    written = {instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst]}
    return {variable: f.register(f.types[variable], f.names[variable], True) for variable in sorted(written & private)}


def _counting(f: Function, body: list[Instr], found: dict[int, Counter]) -> list[Instr] | None:
    """What of a loop's body it takes to count; None where that is not to be done twice, or ahead of the rest."""
    if any(counter.loads or not counter.stores for counter in found.values()):
        return None
    stored = {instr.imm for instr in body if instr.op is ops.STORE}
    needed = set(found)
    while True:
        kept: list[Instr] = []
        before = len(needed)
        for instr in body:
            if instr.op.effect == ops.CONTROL or instr.dst in needed:
                kept.append(instr)
                needed.update([a for a in instr.args if a >= 0])
        if len(needed) == before:
            break
    for instr in kept:
        op = instr.op
        if IS_LOOP[op.code] or not (op.effect == ops.CONTROL or op.pure or (op is ops.LOAD and instr.imm not in stored)):
            return None
    return kept
