"""Elements next to each other that lanes look up: two are loaded as one integer of twice the bits, and taken apart.

``t[k]`` and ``t[k + 1]`` between which is interpolated, ``a[y, x]`` and ``a[y, x + 1]`` of an image that is turned: a gather takes as long for elements of 64 bits as for those of 32.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target
from loopwright.types import I64, UNSIGNED, VOID, vector_of
from loopwright.vectors.accesses import ANYWHERE, lay
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.regions import Leaf, Region
from loopwright.vectors.tables import Asked

__all__ = ["pairs"]

_Place = tuple[int, ...]


def pairs(f: Function, shapes: Divergence, leaves: list[Leaf], offsets: dict[int, tuple[int, int]], lanes: int, target: Target, has: Asked) -> dict[int, int]:
    """The loads that are made with that of the element in front of theirs, or behind it.

    Two belong together if all that run the one run the other: between them nothing branches, and nothing is stored, so that neither the lanes nor the elements differ.

    Args:
        offsets: index register -> (the register that it is computed from, what is added to that). What is computed twice is added: it is the first of these, and 0.

    Returns:
        By ``id`` of the instruction: 1 where the other element is the one behind, -1 where it is the one in front.
    """
    found: dict[int, int] = {}
    if sum([_looks_up(f, shapes, leaf.instr) for leaf in leaves]) < 2:
        return found
    stretch: dict[_Place, dict[int, list[Instr]]] = {}
    known: dict[tuple[object, ...], int] = {}
    region: Region | None = None
    for leaf in leaves:
        instr = leaf.instr
        effect = instr.op.effect
        if leaf.region is not region or effect == ops.CONTROL or effect == ops.WRITES or effect == ops.CALLS:
            _match(stretch, found)
            stretch, known = {}, {}
            region = leaf.region
        if instr.dst < 0 or f.variable[instr.dst] or any(a >= 0 and f.variable[a] for a in instr.args):
            continue
        args = [offsets.get(a, (a, 0)) for a in instr.args]
        if instr.op is ops.LOAD and _looks_up(f, shapes, instr) and _able(instr, lanes, target, has):
            *others, (root, constant) = args
            place = (instr.imm, *[number for other in others for number in other], root)
            stretch.setdefault(place, {}).setdefault(constant, []).append(instr)
        elif instr.dst not in offsets and (effect == ops.PURE or instr.op is ops.LOAD):
            first = known.setdefault((instr.op, instr.type, instr.source, instr.imm, *args), instr.dst)
            if first != instr.dst:
                offsets[instr.dst] = first, 0
        elif instr.dst in offsets:
            root, constant = offsets[instr.dst]
            root, more = offsets.get(root, (root, 0))
            offsets[instr.dst] = root, constant + more
    _match(stretch, found)
    return found


def _looks_up(f: Function, shapes: Divergence, instr: Instr) -> bool:
    """Whether lanes load from anywhere in an array, by indices of 64 bits."""
    return instr.op is ops.LOAD and not f.arrays[instr.imm].data and lay(shapes, instr.args) == ANYWHERE and instr.args[-1] not in shapes.narrow


def _able(load: Instr, lanes: int, target: Target, has: Asked) -> bool:
    """Whether two such elements can be looked up as one, and taken apart."""
    bits = 2 * load.type.bits
    if bits > 64 or bits * lanes > target.vector_bits:
        return False
    wide, narrow = vector_of(UNSIGNED[bits], lanes), vector_of(UNSIGNED[load.type.bits], lanes)
    return target.looks_up(wide, vector_of(I64, lanes)) and has(ops.SHR, wide, VOID) and has(ops.CONVERT, narrow, wide)


def _match(stretch: dict[_Place, dict[int, list[Instr]]], found: dict[int, int]) -> None:
    """Put the elements of a stretch together in twos."""
    for loads in stretch.values():
        for place in sorted(loads):
            if place + 1 in loads and id(loads[place][0]) not in found:
                for side, at in ((1, place), (-1, place + 1)):
                    found.update({id(load): side for load in loads[at]})
