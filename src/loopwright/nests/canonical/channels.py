"""Inner loops over the last dimension of arrays of three dimensions or more, in a version for three elements.

::

                                           if a.shape[2] != 3
    for i = 0, n                             the same as written
      for j = 0, m                         else
        for k = 0, a.shape[2]        →       for i = 0, n
          b[i, j, k] = a[i, j, k]              for j = 0, m
                                                 for k = 0, 3
                                                   b[i, j, k] = a[i, j, k]

Pictures have three channels, and points in space three coordinates; a loop over them that is known to have three iterations is written out, so that the loop around it has lanes.
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

#: How many there are.
CHANNELS: Final = 3
#: Longer nests are not written twice.
LONGEST: Final = 100


def run(f: Function) -> None:
    """Write such a version of each nest of a function that has such loops."""
    lasts = {array.extents[-1] for array in f.arrays if len(array.extents) > 2}
    code = f.code
    partner = match(code)
    out: list[Instr] = []
    position = 0
    done = False
    while position < len(code):
        head = code[position]
        end = partner[position] if head.op is ops.FOR else position
        span = code[position : end + 1]
        asked = _asked(f, span, lasts) if head.op is ops.FOR and len(span) <= LONGEST else []
        if asked:
            _versions(f, span, asked, out)
            done = True
        else:
            out += span
        position = end + 1
    if done:
        f.code = out


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


def _versions(f: Function, nest: list[Instr], asked: list[int], out: list[Instr]) -> None:
    line = nest[0].line
    three = f.const(I64, CHANNELS)
    holds = NONE
    for extent in asked:
        same = f.register(BOOL)
        out.append(Instr(ops.EQ, I64, same, [extent, three], 0, line))
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
    clone(f, nest, {**own_copies(f, nest), **dict.fromkeys(asked, three)}, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
