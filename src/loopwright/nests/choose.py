"""Which nests are rewritten, and how: iterations of an enclosing loop jammed where the innermost loop waits for its own results.

An innermost loop takes at least its recurrence bound an iteration, whatever else the core could do meanwhile. Jamming iterations of a loop around it puts
independent work beside each circuit, until the units are busy. The factor that leaves the fewest cycles for an old iteration is taken, within the
registers that there are.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.nests import apart
from loopwright.nests.carry import carry
from loopwright.nests.dependence import dependences
from loopwright.nests.graph import Graph, graph_of, jammed, recurrence_bound, resource_bound
from loopwright.nests.jam import refusal, unroll_and_jam
from loopwright.nests.nest import Nest, NestLoop, nests
from loopwright.nests.scalars import Scalar, scalars
from loopwright.nests.unroll import clone
from loopwright.targets.core import Core

__all__ = ["improve"]

#: Factors that are tried.
FACTORS: Final = (2, 3, 4, 6, 8)
#: A loop is left as it is unless it becomes so much faster, by the bounds.
LEAST_GAIN: Final = 1.25
#: A core that starts operations as they become ready comes near to its units' bound only with circuits shorter than that, by this factor.
SLACK: Final = 0.75


def improve(f: Function, core: Core) -> None:
    """Rewrite the nests of a function where a core runs them faster for it. Bit for bit the same is computed."""
    for nest in reversed(nests(f)):
        if len(nest.loops) > 1 and not nest.obstacles:
            _jam(nest, core)
    for nest in reversed(nests(f)):
        if not nest.obstacles and any(access.store for access in nest.accesses):
            carry(nest, dependences(nest))


def _jam(nest: Nest, core: Core) -> None:
    """Unroll and jam the loop of a nest for which that is best, if there is one."""
    innermost = [loop for loop in nest.loops if not any(other.parent is loop for other in nest.loops)]
    if len(innermost) != 1 or not any(access.store for access in nest.accesses):
        return
    if any(instr.op.opens for instr in nest.f.code[innermost[0].head + 1 : innermost[0].end]):
        # What a branch decides, the core guesses, and does not wait for.
        return
    found = dependences(nest)
    graph = graph_of(nest, innermost[0], found, core)
    plain = _interval(graph, 1, core)
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        return
    variables = scalars(nest)
    best: tuple[float, NestLoop, int] | None = None
    loop = innermost[0].parent
    while loop is not None:
        for factor in FACTORS:
            if factor * _live(graph) > core.registers or refusal(nest, loop, factor, found, variables) is not None:
                break
            interval = _interval(jammed(graph, loop.depth, factor), factor, core)
            if best is None or interval < best[0]:
                best = (interval, loop, factor)
        loop = loop.parent
    if best is not None and best[0] * LEAST_GAIN <= plain:
        _apply(nest, best[1], best[2], variables)


def _interval(graph: Graph, factor: int, core: Core) -> float:
    """Cycles for an old iteration, by the bounds."""
    recurrence = float(recurrence_bound(graph))
    return max(recurrence / SLACK if core.window and factor > 1 else recurrence, float(resource_bound(graph, core))) / factor


def _live(graph: Graph) -> int:
    """About how many registers an iteration keeps values in."""
    return 1 + len({edge.source for edge in graph.edges if not any(edge.distance[:-1]) and edge.distance[-1] > 0})


def _apply(nest: Nest, loop: NestLoop, factor: int, variables: list[Scalar]) -> None:
    f = nest.f
    asked = apart.pairs(nest)
    original = f.code
    plain: list[Instr] = []
    if asked:
        # With registers of its own.
        clone(f, original[nest.start : nest.end + 1], {}, plain)
    unroll_and_jam(nest, loop, factor, variables)
    fast = f.code[nest.start : len(f.code) - (len(original) - 1 - nest.end)]
    f.code = original[: nest.start] + apart.versioned(f, asked, plain, fast, original[nest.start].line) + original[nest.end + 1 :]
