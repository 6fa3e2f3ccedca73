"""Tiling: nested loops run tile by tile, so that what a tile uses again is still near.

::

    for i = a, b, s                  for i.tiles = a, b, S*s
      for j = c, d, t                  for j.tiles = c, d, T*t
        body                   →         for i = i.tiles, min(i.tiles + S*s, b), s
                                           for j = j.tiles, min(j.tiles + T*t, d), t
                                             body

Where bounds change with a loop around that is tiled too, as in a triangle, tiles begin and end where the outermost of those iterations do that are in the tile of
the loop around; and the loop in the tile runs from the greater of both beginnings to the lesser of both ends.

It is legal where no distance along any of the loops is negative, for what no loop around them carries: then tiles, and iterations in a tile, may be taken in
this order (M. Wolf and M. Lam, "A data locality optimizing algorithm", PLDI 1991: the loops are fully permutable).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.steps.interchange import chain, gaps, imperfect, scalars_refusal
from loopwright.nests.steps.jam import Refusal, invariant
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
            if loop.number in sizes and not invariant(nest, loop, around) and not _follows(nest, loop, loops[:k], sizes):
                return Refusal(f"the bounds of {nest.name(loop)} change with {nest.name(around)}", loop.line)
    first, last = loops[0].depth, loops[-1].depth
    for dependence in found:
        if last < len(dependence.loops) and dependence.loops[last] is loops[-1] and len(loops) > 1:
            vector = dependence.vector
            outside = any(component.low > 0 for component in vector[:first])
            if not outside and any(component.low < 0 for component in vector[first : last + 1]):
                return Refusal("a later tile would do what an earlier one needs", dependence.sink.line, dependence)
    return None


def _follows(nest: Nest, loop: NestLoop, around: list[NestLoop], sizes: dict[int, int]) -> bool:
    """Whether the bounds of a loop are known sums of indices of tiled loops around it and of what does not change, so that a tile's are found from them."""
    if loop.step != 1 or not loop.first or not loop.last:
        return False
    for form in [*loop.first, *loop.last]:
        for value in form.terms:
            known = nest.indices.get(value)
            if known in around:
                if known is None or known.step != 1 or known.number not in sizes:
                    return False
            elif nest.forms.registers[value] < 0 or nest.forms.depends(Form(0, {value: 1}), around[0].head, around[0].end):
                return False
    return True


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
    ahead, _ = gaps(nest, loops)
    tiles: list[Instr] = []
    ends: list[Instr] = []
    spans: dict[int, tuple[int, int]] = {}  # per tiled loop: the first index of the tile, and the one that it ends before
    for k, loop in enumerate(loops):
        if loop.number in sizes:
            _tiled(nest, loop, loops[:k], sizes[loop.number], spans, tiles)
            ends.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
    heads = {loop.head: loop for loop in loops}
    moved = {id(instr) for instr in ahead}
    inside: list[Instr] = []
    for position in range(loops[0].head, loops[0].end + 1):
        instr = code[position]
        of = heads.get(position)
        if of is not None and of.number in spans:
            _within(f, instr, of, not all(invariant(nest, of, around) for around in loops[: loops.index(of)]), spans[of.number], inside)
        elif id(instr) not in moved:
            inside.append(instr)
    f.code = code[: loops[0].head] + ahead + tiles + inside + ends + code[loops[0].end + 1 :]


def _tiled(nest: Nest, loop: NestLoop, around: list[NestLoop], size: int, spans: dict[int, tuple[int, int]], out: list[Instr]) -> None:
    """The head of the loop over tiles, and where a tile ends."""
    f = nest.f
    head: Instr = f.code[loop.head]
    low, high = head.args[0], head.args[1]
    if not all(invariant(nest, loop, other) for other in around):
        low = _extreme(nest, loop, loop.first, False, spans, out)
        high = _extreme(nest, loop, loop.last, True, spans, out)
    step = f.const(I64, size * loop.step)
    index = f.register(I64, nest.name(loop) + TILES)
    out.append(Instr(ops.FOR, head.type, index, [low, high, step], 0, head.line))
    # (In this form steps that follow know both bounds.)
    spans[loop.number] = (index, _emit(f, ops.MIN if loop.step > 0 else ops.MAX, _emit(f, ops.ADD, index, step, head.line, out), high, head.line, out))


def _extreme(nest: Nest, loop: NestLoop, forms: list[Form], greatest: bool, spans: dict[int, tuple[int, int]], out: list[Instr]) -> int:
    """A bound of a loop in steps of 1, in that iteration of a tile around it where it is the least (or the greatest)."""
    f = nest.f
    found = NONE
    for form in forms:
        made = f.const(I64, form.constant)
        for value, coefficient in sorted(form.terms.items()):
            known = nest.indices.get(value)
            register = nest.forms.registers[value]
            if known is not None and known.number in spans:
                first, end = spans[known.number]
                register = _emit(f, ops.SUB, end, f.const(I64, 1), loop.line, out) if (coefficient > 0) == greatest else first
            made = _emit(f, ops.ADD, made, _emit(f, ops.MUL, register, f.const(I64, coefficient), loop.line, out), loop.line, out)
        # The loop begins at the greatest of its beginnings, and ends at the least of its ends.
        found = made if found == NONE else _emit(f, ops.MIN if greatest else ops.MAX, found, made, loop.line, out)
    return found


def _within(f: Function, head: Instr, loop: NestLoop, both: bool, span: tuple[int, int], out: list[Instr]) -> None:
    """The head of the loop in a tile: over the tile, and with ``both`` over what the loop's own bounds leave of it."""
    low, high = span
    if both:
        low = _emit(f, ops.MAX, low, head.args[0], head.line, out)
        high = _emit(f, ops.MIN, high, head.args[1], head.line, out)
    out.append(Instr(ops.FOR, head.type, head.dst, [low, high, head.args[2]], 0, head.line, loop=head.loop))


def _emit(f: Function, op: ops.Op, a: int, b: int, line: int, out: list[Instr]) -> int:
    made = f.register(I64, "")
    out.append(Instr(op, I64, made, [a, b], 0, line))
    return made
