"""Vectors of which no lane is kept are passed over, several at once.

::

    for i = lo, hi, 8                    for i = lo, hi, 32
      a = load x[i]; m = …                 a = load x[i]; m = …; a' = load x[i + 8]; m' = …
      if any m                             if any m | m'
        store compress(m, a), y[k]    →      store compress(m, a), y[k]; k += popcount m
        k += popcount m                      store compress(m', a'), y[k]; k += popcount m'
      end                                  end
    end                                    (and so on, for the other two)
                                         end

Where few lanes are kept the branch goes by twice as many as a vector has, and where there are many it is always taken: it is guessed wrong less often than one for each vector, and of a vector of which
nothing is kept, beside one of which something is, no more is done than to store what the next one overwrites: if whole vectors may be stored at the counters (``nests/idioms/ahead.py``). Where they may not, since
few are kept, each has a branch of its own behind that (Zen 4, f32 and i64, beside a branch for each vector and stores under masks: 0.77 to 0.94 of the time, and 0.85 to 1.0 where less than 4 % are kept).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.rewriting.unroll import clone
from loopwright.types import BOOL, I64, VOID

__all__ = ["in_groups", "vectors_a_step"]

#: Lanes that a branch asks about at least, and vectors that it does; vectors that are done in a step; indices of which a loop has a multiple.
_LANES: Final = 16
_VECTORS: Final = 2
_AT_ONCE: Final = 4


def vectors_a_step(lanes: int, multiple: int, few: bool) -> int:
    """How many vectors are done in a step of a loop with a multiple of so many indices, ``few`` of which are kept; 1 where several do not fit."""
    return _AT_ONCE if lanes * _AT_ONCE <= multiple and not few else _VECTORS if lanes * _VECTORS <= multiple else 1


def in_groups(f: Function, body: list[Instr], kept: set[int], index: int, mask: int, lanes: int, times: int, each: bool) -> list[Instr] | None:
    """The body of a loop over vectors for several of them.

    Args:
        f: the function.
        body: what is done for one vector.
        kept: the brackets (the ids of their ``if``) of what is done where a lane is kept.
        index: the loop's; mask: all of its lanes.
        lanes: of a vector.
        times: for how many.
        each: the vectors that a branch asks about have one each behind that.

    Returns:
        The new body; None where what is around those brackets does not stand in front of all of them as well.
    """
    parts = _parts(f, body, kept)
    if parts is None:
        return None
    straight, brackets, tests = parts
    line = body[0].line
    out: list[Instr] = []
    renames: list[dict[int, int]] = []
    for k in range(times):
        at = index
        if k:
            at = f.register(I64, f.names[index])
            out.append(Instr(ops.ADD, I64, at, [index, f.const(I64, k * lanes)], 0, line))
        rename = {index: at, mask: f.const(f.types[mask], True)}
        clone(f, straight, rename, out)
        renames.append(rename)
    together = max(_VECTORS, _LANES // lanes)
    for first in range(0, times, together):
        group = renames[first : first + together]
        for bracket, test in zip(brackets, tests, strict=True):
            some = [rename.get(test.args[0], test.args[0]) for rename in group]
            while len(some) > 1:
                either = f.register(I64)
                out.append(Instr(ops.OR, I64, either, some[:2], 0, line))
                some = [*some[2:], either]
            holds = f.register(BOOL)
            out.append(Instr(ops.NE, I64, holds, [*some, test.args[1]], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
            for rename in group:
                clone(f, [test, *bracket] if each else bracket[1:-1], rename, out)
            out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return out


def _parts(f: Function, body: list[Instr], kept: set[int]) -> tuple[list[Instr], list[list[Instr]], list[Instr]] | None:
    """What of a body stands outside of brackets, those, and what asks whether they are gone through; None where it matters which of them comes first."""
    straight: list[Instr] = []
    brackets: list[list[Instr]] = []
    tests: list[Instr] = []
    within = False
    for instr in body:
        op = instr.op
        if within:
            brackets[-1].append(instr)
            if op is ops.END:
                within = False
            elif op.effect == ops.CONTROL:
                return None
        elif op is ops.IF and id(instr) in kept:
            if not straight or straight[-1].op is not ops.NE or straight[-1].dst != instr.args[0]:
                return None
            tests.append(straight.pop())
            brackets.append([instr])
            within = True
        elif op.pure or op.effect == ops.READS:
            straight.append(instr)
        else:
            return None
    written, named = _variables(f, straight)
    changed, used = _variables(f, [instr for bracket in brackets for instr in bracket])
    return (straight, brackets, tests) if brackets and written.isdisjoint(used) and changed.isdisjoint(named) else None


def _variables(f: Function, code: list[Instr]) -> tuple[set[int], set[int]]:
    """The variables that code writes, and those that it names."""
    variable = f.variable
    written = {instr.dst for instr in code if instr.dst >= 0 and variable[instr.dst]}
    return written, written | {a for instr in code for a in instr.args if a >= 0 and variable[a]}
