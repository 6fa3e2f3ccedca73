"""How far a loop that stores at counters may store whole vectors: as long as there are as many elements to come as a vector has.

::

    for i = lo, hi, 1 lanes            %stop = lo + (hi - lo rounded down to a multiple of BLOCK)
      if %c                            loop while %left < lanes:
        store v, y[%k]          →        if so many indices have been looked at that few are kept: %stop = lo, and out of the loop
        %k = %k + 1                      %stop -= BLOCK
      end                                %left += how often %c holds for the indices from %stop to %stop + BLOCK
    end                                for i = lo, %stop, 1 lanes     (whole vectors are stored)
                                         the body
                                       for i = %stop, hi, 1 lanes     (nothing is stored but what is kept; perhaps whole blocks first)
                                         the body

What is behind the elements of a vector that are kept is then overwritten by those that come, and was the loop's to write: nothing else is touched, whatever the arrays' extents. The condition is
computed twice for some indices, seldom more than a block of them, and never for more than a sixteenth of them and two blocks: where these are not enough, few are kept, and it takes longer to count
them than storing whole vectors saves. The condition must be made of what the loop does not change.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.rewriting.unroll import clone, last_multiple, read_once
from loopwright.types import BOOL, I64, VOID
from loopwright.vectors.compaction import Counter

__all__ = ["BLOCK", "divided"]

#: Indices that are looked at at once, a multiple of the lanes of any vector.
BLOCK: Final = 64
#: At most so many blocks of them are, and of all indices one part in two to the power of so many.
_BLOCKS: Final = 1
_SHARE: Final = 4
#: Vectors that are counted at once: the loop is short.
_STEPS: Final = 2


def divided(
    f: Function, body: list[Instr], found: dict[int, Counter], lanes: int, private: set[int], few: bool
) -> tuple[list[Instr], Instr, list[Instr]] | None:
    """A loop over lanes as the search for where it is to be divided, and the loops before and behind that.

    Args:
        f: the function.
        body: the loop, with its brackets.
        found: what its counters count.
        lanes: of a vector.
        private: the variables that mean nothing outside of it.
        few: whether the blocks behind that have a loop of their own, beside what is left of the last one.

    Returns:
        The code, and the heads in it of the loop that counts, of the one that may store whole vectors and, where asked for, of that of whole blocks behind it; None where the elements to come
        cannot be counted.
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
    last = last_multiple(f, lo, hi, BLOCK, line, out)
    out.append(Instr(ops.COPY, I64, stop, [last], 0, line))
    floor = _least_stop(f, lo, stop, line, out) if few else lo
    left = {variable: f.register(I64, "left", True) for variable in found}
    out += [Instr(ops.COPY, I64, count, [f.const(I64, 0)], 0, line) for count in left.values()]
    out += [Instr(ops.BLOCK, VOID, NONE, [], 0, line), Instr(ops.LOOP, VOID, NONE, [], 0, line)]
    least = f.register(I64)
    out.append(Instr(ops.COPY, I64, least, [next(iter(left.values()))], 0, line))
    for count in list(left.values())[1:]:
        fewer = f.register(I64)
        out.append(Instr(ops.MIN, I64, fewer, [least, count], 0, line))
        least = fewer
    _leave_where(f, least, lanes, line, out)
    _give_up(f, stop, floor, lo, line, out)
    first = f.register(I64)
    within = f.register(I64)
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.SUB, I64, first, [stop, f.const(I64, BLOCK)], 0, line))
    out.append(Instr(ops.COPY, I64, stop, [first], 0, line))
    totals = [(count, ops.ADD, f.const(I64, 0)) for count in left.values()]
    counting = Instr(ops.FOR, VOID, within, [f.const(I64, 0), f.const(I64, BLOCK), f.const(I64, 1)], 0, line, loop=Loop(NONE, _STEPS, totals, True))
    out += [counting, Instr(ops.ADD, I64, index, [first, within], 0, line)]
    clone(f, [*counted, body[-1]], {**_fresh(f, counted, private), **left, head.dst: index}, out)
    out += [Instr(ops.BR, VOID, NONE, [], 0, line), Instr(ops.END, VOID, NONE, [], 0, line), Instr(ops.END, VOID, NONE, [], 0, line)]
    divide = read_once(f, stop, line, out)
    heads = [_part(f, body, lo, divide, private, out)]
    if few:
        heads.append(_part(f, body, divide, last, private, out))
        assert head.loop is not None
        head.loop.unroll = 1
    head.args = [last if few else divide, hi, head.args[2]]
    out += body
    return out, counting, heads


def _part(f: Function, body: list[Instr], lo: int, hi: int, private: set[int], out: list[Instr]) -> Instr:
    """Append a copy of a loop with other bounds; its head."""
    place = len(out)
    head = body[0]
    clone(f, body, {**_fresh(f, body, private), head.dst: f.register(I64, f.names[head.dst])}, out)
    out[place].args = [lo, hi, head.args[2]]
    return out[place]


def _least_stop(f: Function, lo: int, stop: int, line: int, out: list[Instr]) -> int:
    """Where the search is given up."""

    def emit(op: ops.Op, a: int, b: int) -> int:
        made = f.register(I64)
        out.append(Instr(op, I64, made, [a, b], 0, line))
        return made

    part = emit(ops.ADD, emit(ops.SHR, emit(ops.SUB, stop, lo), f.const(I64, _SHARE)), f.const(I64, _BLOCKS * BLOCK))
    return emit(ops.MAX, emit(ops.SUB, stop, part), lo)


def _leave_where(f: Function, least: int, lanes: int, line: int, out: list[Instr]) -> None:
    """Leave the block around the search where as many elements are to come as a vector has."""
    enough = f.register(BOOL)
    out.append(Instr(ops.GE, I64, enough, [least, f.const(I64, lanes)], 0, line))
    out.append(Instr(ops.BR_IF, VOID, NONE, [enough], 1, line))


def _give_up(f: Function, stop: int, floor: int, lo: int, line: int, out: list[Instr]) -> None:
    """Leave it without any whole vectors where enough has been looked at."""
    few = f.register(BOOL)
    out.append(Instr(ops.LE, I64, few, [stop, floor], 0, line))
    out.append(Instr(ops.IF, VOID, NONE, [few], 0, line))
    out.append(Instr(ops.COPY, I64, stop, [lo], 0, line))
    out.append(Instr(ops.BR, VOID, NONE, [], 2, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))


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
