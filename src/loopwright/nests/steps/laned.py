"""Whether loops have lanes once a function's code is what it would be made into."""

from __future__ import annotations

from collections.abc import Collection

from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.lanes import adjacent, free, may_be_in_lanes, strided
from loopwright.targets.target import Target

__all__ = ["have_lanes"]


def have_lanes(f: Function, code: list[Instr], indices: Collection[int], target: Target, apart: bool = True) -> bool:
    """Whether some loops of one nest would have lanes.

    Args:
        f: the function, whose code is left as it is.
        code: what its code would be.
        indices: the loops' indices.
        target: the machine.
        apart: accesses may be to elements a few apart.
    """
    original = f.code
    f.code = code
    try:
        nest = next((one for one in nests(f) if any(loop.index in indices for loop in one.loops)), None)
        if nest is None or nest.obstacles:
            return False
        variables = scalars(nest)
        asked = [loop for loop in nest.loops if loop.index in indices]
        # (What depends on what takes longest to find out.)
        if not all(may_be_in_lanes(nest, loop, variables, target) for loop in asked):
            return False
        found = dependences(nest, too_many(nest))
        beside = adjacent(nest, variables, target)
        possible = [*beside, *strided(nest, variables, target, beside, found)] if apart else beside
        return all(loop in possible and free(loop, found) for loop in asked)
    finally:
        f.code = original
