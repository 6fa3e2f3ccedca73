"""Loops as long as an array is in a short dimension, in a version for that length.

::

                                           if a.shape[2] != 3
    for i = 0, n                             the same as written
      for j = 0, m                         else
        for k = 0, a.shape[2]        →       for i = 0, n
          b[i, j, k] = a[i, j, k]              for j = 0, m
                                                 for k = 0, 3
                                                   b[i, j, k] = a[i, j, k]

A loop that is known to have few iterations is written out, so that the loop around it has lanes: pictures have three channels, points two or three coordinates, bones four weights, systems of
equations a few right sides. Which lengths are usual the arrays of the first call say (``Array.usual``); where nothing has been seen, loops over the last dimension of arrays of three dimensions or more
are taken to be over three channels.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.rewriting.unroll import clone, has_loops, own_copies
from loopwright.types import BOOL, I64, VOID

__all__ = ["run"]

#: How many there are where nothing has been seen.
CHANNELS: Final = 3
#: Longer nests are not written twice; with what has been seen they may be longer.
LONGEST: Final = 100
LONGEST_SEEN: Final = 260
#: Nor are those for a loop that would be written out as more instructions than this.
MOST_WRITTEN: Final = 250


def run(f: Function) -> None:
    """Write such a version of each nest of a function that has such loops."""
    seen: dict[int, int] = {}
    for array in f.arrays:
        seen.update([(extent, usual) for extent, usual in zip(array.extents, array.usual, strict=False) if usual and extent >= 0])
    lasts = {array.extents[-1] for array in f.arrays if len(array.extents) > 2 and not array.usual}
    code = f.code
    partner = match(code)
    out: list[Instr] = []
    position = 0
    done = False
    while position < len(code):
        head = code[position]
        end = partner[position] if head.op is ops.FOR else position
        span = code[position : end + 1]
        asked: dict[int, int] = {}
        if head.op is ops.FOR and len(span) <= LONGEST_SEEN:
            asked = _seen(span, seen)
            if not asked and len(span) <= LONGEST:
                asked = dict.fromkeys(_asked(f, span, lasts), CHANNELS)
        if asked:
            _versions(f, span, asked, out)
            done = True
        else:
            out += span
        position = end + 1
    if done:
        f.code = out


def _seen(nest: list[Instr], seen: dict[int, int]) -> dict[int, int]:
    """The extents that bounds of a nest's inner loops are computed from, where usual ones have been seen, and these."""
    found: dict[int, int] = {}
    if not seen:
        return found
    partner = match(nest)
    made: dict[int, set[int]] = {}  # what is computed from such extents
    loaded: set[int] = set()  # what is loaded, and computed from that
    small: set[int] = set()  # the indices of short loops, and what is computed from them
    short: set[int] = set()  # where loops begin whose bounds are such extents, such indices or constants
    inner: dict[int, set[int]] = {}  # and where inner ones do, and by which extents
    stays: set[int] = set()
    for position, instr in enumerate(nest):
        of = {extent for a in instr.args if a >= 0 for extent in ((a,) if a in seen else made.get(a, ()))}
        if IS_LOOP[instr.op.code]:
            if instr.op is ops.FOR and all(a < 0 or a in seen or a in small or a in made for a in instr.args[:2]):
                short.add(position)
                small.add(instr.dst)
            if position and instr.op is ops.FOR and instr.loop is None and of:
                inner[position] = of
                if _updates_some(nest[position + 1 : partner[position]], loaded):
                    stays |= of
        elif instr.dst >= 0 and instr.op.pure:
            if of:
                made[instr.dst] = made.get(instr.dst, set()) | of
            if any(a in small for a in instr.args):
                small.add(instr.dst)
            if any(a in loaded for a in instr.args):
                loaded.add(instr.dst)
        elif instr.op is ops.LOAD:
            loaded.add(instr.dst)
    for position, of in inner.items():
        # (A loop around long ones may have lanes for these.)
        body = nest[position + 1 : partner[position]]
        long = not has_loops(body) and len(body) * max([seen[extent] for extent in of]) > MOST_WRITTEN
        if not long and all(k in short or not IS_LOOP[nest[k].op.code] for k in range(position, partner[position])):
            found.update([(extent, seen[extent]) for extent in of if extent not in stays])
    return found


def _updates_some(body: list[Instr], loaded: set[int]) -> bool:
    """Whether a loop stores under a condition where what is in ``loaded``, or what it loads, says: so many copies would have so many branches, and the loop around no lanes."""
    places = set(loaded)
    depth = 0
    for instr in body:
        depth += int(instr.op.opens) - int(instr.op.closes)
        if instr.op is ops.LOAD or (instr.op.pure and any(a in places for a in instr.args)):
            places.add(instr.dst)
        elif instr.op is ops.STORE and depth and any(a in places for a in instr.args[1:]):
            return True
    return False


def _asked(f: Function, nest: list[Instr], lasts: set[int]) -> list[int]:
    """The extents that inner loops of a nest go up to."""
    found: dict[int, None] = {}
    partner = match(nest)
    for position, head in enumerate(nest):
        if not position or head.op is not ops.FOR or head.loop is not None or head.args[0] >= 0:
            continue
        body = nest[position + 1 : partner[position]]
        if head.args[1] in lasts and not has_loops(body) and _along_last(body, head.dst):
            found[head.args[1]] = None
    return list(found)


def _along_last(body: list[Instr], index: int) -> bool:
    """Whether an index is the last subscript of what is accessed at it, and nothing is made of it."""
    accessed = False
    for instr in body:
        if IS_LOOP[instr.op.code] or index not in instr.args:
            continue
        if instr.op is not ops.LOAD and instr.op is not ops.STORE:
            return False
        if instr.args[-1] != index or instr.args.count(index) > 1:
            return False
        accessed = True
    return accessed


def _versions(f: Function, nest: list[Instr], asked: dict[int, int], out: list[Instr]) -> None:
    line = nest[0].line
    known = {extent: f.const(I64, usual) for extent, usual in asked.items()}
    holds = NONE
    for extent, usual in known.items():
        same = f.register(BOOL)
        out.append(Instr(ops.EQ, I64, same, [extent, usual], 0, line))
        if holds == NONE:
            holds = same
            continue
        both = f.register(BOOL)
        out.append(Instr(ops.AND, BOOL, both, [holds, same], 0, line))
        holds = both
    others = f.register(BOOL)
    out.append(Instr(ops.NOT, BOOL, others, [holds], 0, line))
    out.append(Instr(ops.IF, VOID, NONE, [others], 0, line))
    clone(f, nest, {}, out)
    out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
    clone(f, nest, {**own_copies(f, nest), **known}, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
