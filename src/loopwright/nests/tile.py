"""Tiling: nested loops run tile by tile, so that what a tile uses again is still near.

::

    for i = a, b, s                  for i.tiles = a, b, S*s
      for j = c, d, t                  for j.tiles = c, d, T*t
        body                   →         for i = i.tiles, min(i.tiles + S*s, b), s
                                           for j = j.tiles, min(j.tiles + T*t, d), t
                                             body

It is legal where no distance along any of the loops is negative, for what no loop around them carries: then tiles, and iterations in a tile, may be taken in
this order (M. Wolf and M. Lam, "A data locality optimizing algorithm", PLDI 1991: the loops are fully permutable).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.dependence import Dependence
from loopwright.nests.interchange import chain, gaps, imperfect, scalars_refusal
from loopwright.nests.jam import Refusal, invariant
from loopwright.nests.nest import Nest, NestLoop
from loopwright.nests.scalars import Scalar
from loopwright.types import I64, VOID

__all__ = ["TILES", "tile", "tile_refusal"]

#: What the name of a loop over tiles ends with.
TILES: Final = ".tiles"


def _chain(nest: Nest, sizes: dict[int, int]) -> list[NestLoop] | None:
    """The loops from the outermost to the innermost of those to be tiled."""
    loops = [loop for loop in nest.loops if loop.number in sizes]
    found = chain(nest, loops[0], loops[-1])
    return found if found is not None and all(loop in found for loop in loops) else None


def tile_refusal(nest: Nest, sizes: dict[int, int], found: list[Dependence], variables: list[Scalar]) -> Refusal | None:
    """What keeps loops from being tiled, or None.

    Args:
        nest: the nest.
        sizes: how many iterations of a loop a tile has, by the loop's number.
        found: the nest's dependences.
        variables: what its variables carry.
    """
    for line, because in nest.obstacles:
        return Refusal(because, line)
    loops = _chain(nest, sizes)
    if loops is None:
        return Refusal("the loops are not one inside the other", nest.loops[0].line)
    refused = imperfect(nest, loops)
    if refused is None and len(loops) > 1:
        refused = scalars_refusal(nest, loops, variables)
    if refused is not None:
        return refused
    if not loops[0].step:
        return Refusal("its steps are not known", loops[0].line)
    for k, loop in enumerate(loops):
        for around in loops[:k]:
            if not invariant(nest, loop, around):
                return Refusal(f"the bounds of {nest.name(loop)} change with {nest.name(around)}", loop.line)
    first, last = loops[0].depth, loops[-1].depth
    for dependence in found:
        if last < len(dependence.loops) and dependence.loops[last] is loops[-1] and len(loops) > 1:
            vector = dependence.vector
            outside = any(component.low > 0 for component in vector[:first])
            if not outside and any(component.low < 0 for component in vector[first : last + 1]):
                return Refusal("a later tile would do what an earlier one needs", dependence.sink.line, dependence)
    return None


def tile(nest: Nest, sizes: dict[int, int]) -> None:
    """Tile loops. ``tile_refusal`` must have allowed it; the nest does not describe the code any more.

    Args:
        nest: the nest.
        sizes: how many iterations of a loop a tile has, by the loop's number.
    """
    f = nest.f
    code: list[Instr] = f.code
    loops = _chain(nest, sizes)
    assert loops is not None
    ahead, inside = gaps(nest, loops)
    tiles: list[Instr] = []
    bounds: list[Instr] = []
    heads: list[Instr] = []
    ends: list[Instr] = []
    for loop in loops:
        head = code[loop.head]
        size = sizes.get(loop.number, 0)
        if not size:
            heads.append(head)
            continue
        step = size * loop.step
        index = f.register(I64, nest.name(loop) + TILES)
        tiles.append(Instr(ops.FOR, head.type, index, [head.args[0], head.args[1], f.const(I64, step)], 0, head.line))
        ends.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
        # (In this form steps that follow know both bounds.)
        bound = _emit(f, ops.MIN if step > 0 else ops.MAX, _emit(f, ops.ADD, index, f.const(I64, step), head.line, bounds), head.args[1], head.line, bounds)
        heads.append(Instr(ops.FOR, head.type, head.dst, [index, bound, head.args[2]], 0, head.line, loop=head.loop))
    outer, inner = loops[0], loops[-1]
    body = code[inner.head + 1 : inner.end]
    f.code = code[: outer.head] + ahead + tiles + bounds + heads + inside + body + code[inner.end : outer.end + 1] + ends + code[outer.end + 1 :]


def _emit(f: Function, op: ops.Op, a: int, b: int, line: int, out: list[Instr]) -> int:
    made = f.register(I64, "")
    out.append(Instr(op, I64, made, [a, b], 0, line))
    return made
