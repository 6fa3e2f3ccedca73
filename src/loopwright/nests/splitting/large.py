"""Nests that are too large to be looked at as a whole: the loops in them become nests by themselves.

A time step that sweeps over several grids, or a sweep whose first and last iterations have become loops of their own, has more pairs of accesses than can be told apart in the time there is for compiling. What goes on
within one iteration of its outermost loop has fewer, and is all that the loops inside have to be asked about. So are nests of which one loop has an obstacle, such as a search that ends early, and others have none. Where each innermost loop has lanes without that, nothing is gained, and it is asked once for all of them
whether arrays overlap.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import FEWEST_LANES, MOST_ACCESSES, Nest, NestLoop, nest_of, nests
from loopwright.nests.analysis.scalars import REDUCTION, scalars
from loopwright.nests.steps.lanes import adjacent, free
from loopwright.targets.target import Target

__all__ = ["part"]


def part(f: Function, target: Target) -> list[Nest]:
    """Make loops ``large`` (see ``Function``) that are. Returns the nests that they were outermost loops of."""
    large: list[Nest] = []
    while True:
        found = [nest for nest in nests(f) if len(nest.loops) > 1 and f.code[nest.start].op is ops.FOR and _large(nest, target)]
        if not found:
            return large
        large += found
        f.large.update(nest.loops[0].index for nest in found)


def _large(nest: Nest, target: Target) -> bool:
    """Whether a nest has too many accesses, or too many questions to be asked about these, where loops of several in it have few and may gain by what is answered."""
    if len(nest.accesses) > MOST_ACCESSES:
        return True
    if nest.obstacles:
        # (What stands in the way of one of the loops inside does not stand in that of others.)
        return any(_without_obstacles(nest, loop) for loop in nest.loops if loop.parent is not None)
    holding = {loop.parent for loop in nest.loops}
    several = [loop for loop in nest.loops if loop.parent is not None and loop in holding]
    if not several or not too_many(nest):
        return False
    plain = _in_lanes(nest, target)
    return any(
        any(loop.head < inner.head < loop.end and inner not in holding and inner not in plain and inner.reaches(FEWEST_LANES) for inner in nest.loops)
        and not too_many(nest_of(nest.f, loop.head, loop.end))
        for loop in several
    )


def _without_obstacles(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop inside of a nest with obstacles has none of them, and accesses something."""
    f = nest.f
    if f.code[loop.head].op is not ops.FOR or not loop.reaches(FEWEST_LANES):
        return False
    inside = nest_of(f, loop.head, loop.end)
    return bool(inside.accesses) and not inside.obstacles


def _in_lanes(nest: Nest, target: Target) -> list[NestLoop]:
    """The innermost loops that have lanes as they are, and add nothing up."""
    if not target.vector_bits or too_many(nest, True):
        return []
    variables = scalars(nest)
    found = dependences(nest, True)
    summing = {scalar.loop for scalar in variables if scalar.kind == REDUCTION}
    return [loop for loop in adjacent(nest, variables, target) if loop not in summing and free(loop, found)]
