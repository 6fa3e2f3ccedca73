"""``nests="search"``: more ways to rewrite a nest are scored than pays for most, and the best that is legal is taken.

Each candidate is a list of steps as ``kernel.schedule`` has them: one loop around the innermost unrolled and jammed by any factor, or two of them at once.
They are scored by the same model as the few that are tried otherwise; the best are tried in turn, and the first that can be done is done. That two loops may
be jammed one by one does not mean that they may be together, nor the other way round, so it is their doing that decides.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import ScheduleError
from loopwright.ir.schedule import Step
from loopwright.nests.analysis.graph import Graph, jammed
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.schedule import rewrite_by
from loopwright.nests.steps.candidates import interval
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["MOST_SCORED", "MOST_TRIED", "search"]

#: Old iterations that become one, at most.
MOST_COPIES: Final = 16
#: So many candidates are scored, the least unrolled first, and so many of the best are tried.
MOST_SCORED: Final = 80
MOST_TRIED: Final = 10


def search(nest: Nest, innermost: NestLoop, lanes: NestLoop | None, graph: Graph, target: Target, core: Core, room: int, most: float) -> bool:
    """Rewrite a nest by the best steps that are legal. Returns False where there are none, and nothing has changed.

    Args:
        nest: the nest.
        innermost: its only loop that holds no other.
        lanes: the loop that becomes lanes in any case, or None.
        graph: the dependence graph of the innermost loop.
        target: the machine.
        core: its core.
        room: how many iterations may become one, for there to be enough registers.
        most: cycles for an old iteration that it must do better than.
    """
    f = nest.f
    first = [] if lanes is None else [Step("lanes", (_name(nest, lanes),))]
    scored: list[tuple[float, int, list[Step]]] = []
    for factors in _candidates(nest, innermost, lanes, min(room, MOST_COPIES)):
        made = graph
        copies = 1
        for loop, factor in factors:
            made = jammed(made, loop.depth, factor)
            copies *= factor
        cycles = interval(made, copies, core)
        steps = [*first, Step("unroll_and_jam", (), tuple([(_name(nest, loop), factor) for loop, factor in factors]))]
        scored.append((cycles, copies, steps))
        if nest.record is not None:
            nest.record.tried(repr(steps[-1]), cycles)
    original = f.code
    for cycles, _, steps in sorted(scored, key=_score)[:MOST_TRIED]:
        if cycles >= most:
            return False
        # (Steps change instructions where they are, and may be refused when that has been done.)
        f.code = [instr.copy() for instr in original]
        try:
            rewrite_by(nest, steps, target)
            return True
        except ScheduleError as error:
            f.code = original
            if nest.record is not None:
                nest.record.undone(repr(steps[-1]), error.message, error.line)
    return False


def _score(candidate: tuple[float, int, list[Step]]) -> tuple[float, int]:
    return candidate[0], candidate[1]


def _name(nest: Nest, loop: NestLoop) -> str:
    """A loop as a step tells it, with its line, which sets it apart from another of that name."""
    name = nest.name(loop)
    return f"{name}@{loop.line}" if [nest.name(other) for other in nest.loops].count(name) > 1 else name


def _candidates(nest: Nest, innermost: NestLoop, lanes: NestLoop | None, most: int) -> list[list[tuple[NestLoop, int]]]:
    """Factors for the loops around the innermost one: for one of them, or two, outermost first."""
    around: list[NestLoop] = []
    loop = innermost.parent
    while loop is not None:
        if loop.step and loop is not lanes:
            around.append(loop)
        loop = loop.parent
    found: list[list[tuple[NestLoop, int]]] = []
    for copies in range(2, most + 1):
        for k, inner in enumerate(around):
            found.append([(inner, copies)])
            for outer in around[k + 1 :]:
                found += [[(outer, factor), (inner, copies // factor)] for factor in range(2, copies // 2 + 1) if copies % factor == 0]
    return found[:MOST_SCORED]
