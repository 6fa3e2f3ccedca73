"""Which nests are rewritten, and how: iterations of an enclosing loop jammed where the innermost loop waits for its own results.

An innermost loop takes at least its recurrence bound an iteration, whatever else the core could do meanwhile. Jamming iterations of a loop around it puts
independent work beside each circuit, until the units are busy. The factor that leaves the fewest cycles for an old iteration is taken, within the
registers that there are.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir.function import Function, Instr
from loopwright.nests import apart
from loopwright.nests.branches import converted
from loopwright.nests.carry import carry, rereads
from loopwright.nests.dependence import Dependence, dependences, questions
from loopwright.nests.graph import Graph, graph_of, jammed, recurrence_bound, resource_bound
from loopwright.nests.jam import Refusal, invariant, refusal, unroll_and_jam
from loopwright.nests.lanes import adjacent, free, mark
from loopwright.nests.nest import Nest, NestLoop, nests
from loopwright.nests.scalars import Scalar, scalars
from loopwright.nests.unroll import clone
from loopwright.targets.core import Core

__all__ = ["improve", "keep_values"]

#: Factors that are tried.
FACTORS: Final = (2, 3, 4, 6, 8)
#: A loop is left as it is unless it becomes so much faster, by the bounds.
LEAST_GAIN: Final = 1.25
#: No other loop is tried where one comes so near to the units' bound.
NEAR: Final = 1.1
#: Nests whose dependences take more questions than that are not looked at, and so many times fewer where only values to be carried are wanted.
MOST_QUESTIONS: Final = 40
FEWER: Final = 4
#: A core that starts operations as they become ready comes near to its units' bound only with circuits shorter than that, by this factor.
SLACK: Final = 0.75


def improve(f: Function, core: Core, vectors: bool, report: Any = None) -> None:
    """Rewrite the nests of a function where a core runs them faster for it. Bit for bit the same is computed.

    Args:
        f: the function, before it has vectors.
        core: the core.
        vectors: loops may be made ones over lanes.
        report: the ``Report`` that is told what is known of the nests, tried and done; None where nobody asks.
    """
    found = nests(f)
    written = f.code
    for nest in reversed(found):
        if report is not None:
            nest.record = report.begins(nest, core)
        if not nest.obstacles:
            _rewrite(nest, core, vectors)
    if f.code is not written:
        found = nests(f)
    keep_values(f, found, report)


def keep_values(f: Function, found: list[Nest], report: Any = None) -> None:
    """Keep values that an iteration of an innermost loop stores, and a later one loads, in registers.

    Args:
        f: the function.
        found: its nests.
        report: the ``Report`` that is told for how many loads, or None.
    """
    for nest in reversed(found):
        if not nest.obstacles and rereads(nest) and questions(nest) <= MOST_QUESTIONS // FEWER:
            count = carry(nest, dependences(nest))
            if report is not None:
                report.carried(nest.loops[0].line, count)


def _rewrite(nest: Nest, core: Core, vectors: bool) -> None:
    variables = scalars(nest)
    beside = adjacent(nest, variables) if vectors else []
    around = _around(nest)
    if (not beside and not around) or questions(nest) > MOST_QUESTIONS:
        if nest.record is not None and (beside or around):
            nest.record.keeps(
                f"its accesses are too many to tell apart: {questions(nest)} pairs take equations, and {MOST_QUESTIONS} are looked at", nest.loops[0].line
            )
        elif nest.record is not None and len(nest.loops) > 1:
            nest.record.keeps(
                "no loop has adjacent accesses that could be lanes, and the bounds of the innermost change with all around it", nest.loops[0].line
            )
        return
    found = dependences(nest)
    lanes = next((loop for loop in beside if free(loop, found)), None)
    if nest.f.options.search and _searched(nest, core, found, lanes):
        return
    jam = _best(nest, core, found, variables, lanes)
    if lanes is not None or jam is not None:
        _apply(nest, jam, lanes, variables)
    elif around:
        _without_branches(nest, core)


def _around(nest: Nest) -> bool:
    """Whether there is a loop around the innermost one in whose iterations that is the same."""
    innermost = _innermost(nest)
    if innermost is None or not innermost.step:
        return False
    loop = innermost.parent
    while loop is not None:
        if loop.step and invariant(nest, innermost, loop):
            return True
        loop = loop.parent
    return False


def _without_branches(nest: Nest, core: Core) -> None:
    """Make choices between values of the branches of an innermost loop that waits for its own results, and jam it, if that is for the better.

    Of such a loop they cost nothing that it would not wait for anyway, while a branch that depends on data is often guessed wrong.
    """
    f = nest.f
    original = f.code
    innermost = _innermost(nest)
    record = nest.record
    if innermost is None or not any(instr.op.opens for instr in original[innermost.head + 1 : innermost.end]):
        return
    body = converted(f, original[innermost.head + 1 : innermost.end])
    if body is None:
        if record is not None:
            record.keeps(f"the loop over {nest.name(innermost)} branches, and its arms are more than short arithmetic", innermost.line)
        return
    f.code = original[: innermost.head + 1] + body + original[innermost.end :]
    again = next(one for one in nests(f) if one.start == nest.start)
    again.record = record
    found = dependences(again)
    variables = scalars(again)
    jam = _best(again, core, found, variables, None)
    if jam is not None:
        _apply(again, jam, None, variables)
    else:
        inner = again.loops[innermost.number]
        graph = graph_of(again, inner, found, core)
        if recurrence_bound(graph) < resource_bound(graph, core):
            f.code = original


def _innermost(nest: Nest) -> NestLoop | None:
    """The only loop of a nest of several that holds no other; None where there is more than one, or no nest."""
    found = [loop for loop in nest.loops if not any(other.parent is loop for other in nest.loops)]
    return found[0] if len(found) == 1 and found[0].parent is not None else None


def _best(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], lanes: NestLoop | None) -> tuple[NestLoop, int] | None:
    """The loop of a nest to unroll and jam, and how many iterations; None where that gains too little. The loop over lanes is none of them."""
    innermost = _innermost(nest)
    record = nest.record
    if innermost is None or any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end]):
        # (What a branch decides, the core guesses, and does not wait for.)
        if record is not None and innermost is None and len(nest.loops) > 1:
            record.keeps("more than one of its loops is an innermost one", nest.loops[0].line)
        return None
    graph = graph_of(nest, innermost, found, core)
    plain = _interval(graph, 1, core)
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        if record is not None:
            record.keeps(f"iterations of {nest.name(innermost)} begin nearly as often as the units allow, as written", innermost.line)
        return None
    best: tuple[float, NestLoop, int] | None = None
    least = float(resource_bound(graph, core)) * NEAR
    loop: NestLoop | None = innermost.parent
    while loop is not None and (best is None or best[0] > least):
        for factor in FACTORS:
            refused = _refusal(nest, loop, factor, found, variables, lanes, factor * _live(graph) > core.registers)
            if refused is not None:
                if record is not None:
                    record.refused(nest, _step(nest, loop, factor), refused)
                break
            interval = _interval(jammed(graph, loop.depth, factor), factor, core)
            if record is not None:
                record.tried(_step(nest, loop, factor), interval)
            if best is None or interval < best[0]:
                best = (interval, loop, factor)
        loop = loop.parent
    if best is not None and best[0] * LEAST_GAIN <= plain:
        return best[1:]
    if record is not None and best is not None:
        record.keeps(f"no factor makes it so much faster that it is worth it: {plain:.4g} cycles as written, {best[0]:.4g} at best", nest.loops[0].line)
    return None


def _refusal(
    nest: Nest, loop: NestLoop, factor: int, found: list[Dependence], variables: list[Scalar], lanes: NestLoop | None, crowded: bool
) -> Refusal | None:
    """Why iterations of a loop are not jammed: it is the one over lanes, there are too few registers, or it would be wrong."""
    if loop is lanes:
        return Refusal("its iterations run in lanes", loop.line)
    if crowded:
        return Refusal("more values would be live than there are registers", loop.line)
    return refusal(nest, loop, factor, found, variables)


def _step(nest: Nest, loop: NestLoop, factor: int) -> str:
    """A candidate as ``kernel.schedule`` has it."""
    return f"unroll_and_jam({nest.name(loop)}={factor})"


def _searched(nest: Nest, core: Core, found: list[Dependence], lanes: NestLoop | None) -> bool:
    """Look for more ways to jam iterations than ``_best`` does. Returns whether the nest was rewritten."""
    innermost = _innermost(nest)
    if innermost is None or any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end]):
        return False
    graph = graph_of(nest, innermost, found, core)
    plain = _interval(graph, 1, core)
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        return False
    # (Few functions ask for it.)
    from loopwright.nests.search import search

    return search(nest, innermost, lanes, graph, core, core.registers // _live(graph), plain / LEAST_GAIN, _interval)


def _interval(graph: Graph, factor: int, core: Core) -> float:
    """Cycles for an old iteration, by the bounds."""
    recurrence = float(recurrence_bound(graph))
    return max(recurrence / SLACK if core.window and factor > 1 else recurrence, float(resource_bound(graph, core))) / factor


def _live(graph: Graph) -> int:
    """About how many registers an iteration keeps values in."""
    return 1 + len({edge.source for edge in graph.edges if not any(edge.distance[:-1]) and edge.distance[-1] > 0})


def _apply(nest: Nest, jam: tuple[NestLoop, int] | None, lanes: NestLoop | None, variables: list[Scalar]) -> None:
    f = nest.f
    asked = apart.pairs(nest)
    original = f.code
    if nest.record is not None:
        if lanes is not None:
            nest.record.does(f"lanes({nest.name(lanes)})")
        if jam is not None:
            nest.record.does(_step(nest, jam[0], jam[1]))
        nest.record.asks(f, asked)
    plain: list[Instr] = []
    if asked:
        # With registers of its own.
        clone(f, original[nest.start : nest.end + 1], {}, plain)
    if lanes is not None:
        mark(nest, lanes, variables)
    if jam is not None:
        unroll_and_jam(nest, jam[0], jam[1], variables)
    fast = f.code[nest.start : len(f.code) - (len(original) - 1 - nest.end)]
    f.code = original[: nest.start] + apart.versioned(f, asked, plain, fast, original[nest.start].line) + original[nest.end + 1 :]
