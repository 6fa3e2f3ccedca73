"""Which nests are rewritten, and how: iterations of an enclosing loop jammed where the innermost loop waits for its own results.

An innermost loop takes at least its recurrence bound an iteration, whatever else the core could do meanwhile. Jamming iterations of a loop around it puts
independent work beside each circuit, until the units are busy. The factor that leaves the fewest cycles for an old iteration is taken, within the
registers that there are.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.nests import apart
from loopwright.nests.branches import converted
from loopwright.nests.carry import carry, rereads
from loopwright.nests.dependence import Dependence, dependences, questions
from loopwright.nests.graph import Graph, graph_of, jammed, recurrence_bound, resource_bound
from loopwright.nests.jam import invariant, refusal, unroll_and_jam
from loopwright.nests.lanes import adjacent, free, mark
from loopwright.nests.nest import Nest, NestLoop, nests
from loopwright.nests.scalars import Scalar, scalars
from loopwright.nests.skew import Diagonals, Rows, Strip, least_slant, skew
from loopwright.nests.streams import Streams
from loopwright.nests.unroll import clone
from loopwright.nests.wavefront import Wavefront, widest
from loopwright.targets.core import Core

__all__ = ["improve"]

#: Factors that are tried.
FACTORS: Final = (2, 3, 4, 6, 8)
#: A loop is left as it is unless it becomes so much faster, by the bounds.
LEAST_GAIN: Final = 1.25
#: No other loop is tried where one comes so near to the units' bound.
NEAR: Final = 1.1
#: Nests whose dependences take more questions than that are not looked at, and so many times fewer where only values to be carried are wanted.
MOST_QUESTIONS: Final = 40
FEWER: Final = 4
#: Rows run at most so many iterations behind each other: the triangles at both ends of a strip are that many times as large.
STEEPEST: Final = 4
#: Vectors of rows have so many lanes at least, and there are so many of them at most.
FEWEST_LANES: Final = 4
MOST_PARTS: Final = 4
#: A core that starts operations as they become ready comes near to its units' bound only with circuits shorter than that, by this factor.
SLACK: Final = 0.75


def improve(f: Function, core: Core, bits: int) -> None:
    """Rewrite the nests of a function where a core runs them faster for it. Bit for bit the same is computed.

    Args:
        f: the function, before it has vectors.
        core: the core.
        bits: of a vector, 0 of a machine without them.
    """
    found = nests(f)
    written = f.code
    for nest in reversed(found):
        if not nest.obstacles:
            _rewrite(nest, core, bits)
    if f.code is not written:
        found = nests(f)
    for nest in reversed(found):
        if not nest.obstacles and rereads(nest) and questions(nest) <= MOST_QUESTIONS // FEWER:
            carry(nest, dependences(nest))


def _rewrite(nest: Nest, core: Core, bits: int) -> None:
    variables = scalars(nest)
    beside = adjacent(nest, variables) if bits else []
    around = _around(nest)
    if (not beside and not around) or questions(nest) > MOST_QUESTIONS:
        return
    found = dependences(nest)
    lanes = next((loop for loop in beside if free(loop, found)), None)
    jam = _best(nest, core, found, variables, lanes)
    wave = _wave(nest, core, found, variables, bits, jam) if lanes is None else None
    if lanes is not None or jam is not None or wave is not None:
        _apply(nest, jam, lanes, variables, wave)
    elif around:
        _without_branches(nest, core, bits)


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


def _without_branches(nest: Nest, core: Core, bits: int) -> None:
    """Make choices between values of the branches of an innermost loop that waits for its own results, and jam it, if that is for the better.

    Of such a loop they cost nothing that it would not wait for anyway, while a branch that depends on data is often guessed wrong.
    """
    f = nest.f
    original = f.code
    innermost = _innermost(nest)
    if innermost is None or not any(instr.op.opens for instr in original[innermost.head + 1 : innermost.end]):
        return
    body = converted(f, original[innermost.head + 1 : innermost.end])
    if body is None:
        return
    f.code = original[: innermost.head + 1] + body + original[innermost.end :]
    again = next(one for one in nests(f) if one.start == nest.start)
    found = dependences(again)
    variables = scalars(again)
    jam = _best(again, core, found, variables, None)
    wave = _wave(again, core, found, variables, bits, jam)
    if jam is not None or wave is not None:
        _apply(again, jam, None, variables, wave)
    else:
        inner = again.loops[innermost.number]
        graph = graph_of(again, inner, found, core)
        if recurrence_bound(graph) < resource_bound(graph, core):
            f.code = original


def _innermost(nest: Nest) -> NestLoop | None:
    """The only loop of a nest of several that holds no other; None where there is more than one, or no nest."""
    found = [loop for loop in nest.loops if not any(other.parent is loop for other in nest.loops)]
    return found[0] if len(found) == 1 and found[0].parent is not None else None


class _Jam:
    """What is to be jammed: how many iterations of which loop, and by how much each is to run behind the one before."""

    __slots__ = ("factor", "interval", "loop", "slant")

    def __init__(self, loop: NestLoop, factor: int, slant: int, interval: float) -> None:
        self.loop = loop
        self.factor = factor
        self.slant = slant
        self.interval = interval


def _best(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], lanes: NestLoop | None) -> _Jam | None:
    """The loop of a nest to unroll and jam, and how many iterations; None where that gains too little. The loop over lanes is none of them."""
    innermost = _innermost(nest)
    if innermost is None or any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end]):
        # (What a branch decides, the core guesses, and does not wait for.)
        return None
    graph = graph_of(nest, innermost, found, core)
    plain = _interval(graph, 1, core)
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        return None
    best: _Jam | None = None
    least = float(resource_bound(graph, core)) * NEAR
    loop: NestLoop | None = innermost.parent
    while loop is not None and (best is None or best.interval > least):
        for factor in FACTORS:
            if loop is lanes or factor * _live(graph) > core.registers:
                break
            slant = _slant(nest, loop, innermost, factor, found, variables)
            if slant is None:
                break
            interval = _interval(jammed(graph, loop.depth, factor, slant), factor, core)
            if best is None or interval < best.interval:
                best = _Jam(loop, factor, slant, interval)
        loop = loop.parent
    return best if best is not None and best.interval * LEAST_GAIN <= plain else None


class _Wave(Diagonals):
    """What is to be walked by diagonals in lanes: vectors of so many rows, and how many vectors."""


    def __init__(self, rows: Rows, streams: Streams, lanes: int, parts: int, width: int, interval: float) -> None:
        self.rows = rows
        self.streams = streams
        self.lanes = lanes
        self.parts = parts
        self.width = width
        self.interval = interval

    def emit(self, strip: Strip) -> None:
        """Emit the whole diagonals of a strip."""
        Wavefront(strip, self.streams, self.lanes, self.parts, self.width).emit()


def _wave(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], bits: int, jam: _Jam | None) -> _Wave | None:
    """The rows of a nest to walk by diagonals in lanes; None where that gains too little."""
    innermost = _innermost(nest)
    if innermost is None or innermost.parent is None or innermost.step != 1:
        return None
    loop = innermost.parent
    rows = Rows(nest, loop, innermost, variables)
    width = widest(nest.f, rows) if rows.possible(nest.f) else 0
    lanes = bits // width if width else 0
    if lanes < FEWEST_LANES:
        return None
    graph = graph_of(nest, innermost, found, core)
    least = jam.interval if jam is not None else _interval(graph, 1, core)
    best: _Wave | None = None
    for parts in range(1, MOST_PARTS + 1):
        count = parts * lanes
        slant = least_slant(loop, count, found, 1)
        if slant is None or slant > STEEPEST or refusal(nest, loop, count, found, variables, slant) is not None:
            break
        streams = Streams(nest, loop, innermost, slant, found)
        if not streams.possible:
            break
        interval = streams.interval(graph, core, lanes, parts)
        if interval * LEAST_GAIN <= (best.interval if best is not None else least):
            best = _Wave(rows, streams, lanes, parts, width, interval)
    return best


def _slant(nest: Nest, loop: NestLoop, innermost: NestLoop, factor: int, found: list[Dependence], variables: list[Scalar]) -> int | None:
    """By how much each of ``factor`` iterations of a loop has to run behind the one before to be jammed; None where it cannot be."""
    refused = refusal(nest, loop, factor, found, variables)
    if refused is None:
        return 0
    if refused.dependence is None or innermost.parent is not loop:
        return None
    slant = least_slant(loop, factor, found)
    if slant is None or not 0 < slant <= STEEPEST or refusal(nest, loop, factor, found, variables, slant) is not None:
        return None
    return slant if Rows(nest, loop, innermost, variables).possible(nest.f) else None


def _interval(graph: Graph, factor: int, core: Core) -> float:
    """Cycles for an old iteration, by the bounds."""
    recurrence = float(recurrence_bound(graph))
    return max(recurrence / SLACK if core.window and factor > 1 else recurrence, float(resource_bound(graph, core))) / factor


def _live(graph: Graph) -> int:
    """About how many registers an iteration keeps values in."""
    return 1 + len({edge.source for edge in graph.edges if not any(edge.distance[:-1]) and edge.distance[-1] > 0})


def _apply(nest: Nest, jam: _Jam | None, lanes: NestLoop | None, variables: list[Scalar], wave: _Wave | None) -> None:
    f = nest.f
    asked = apart.pairs(nest)
    original = f.code
    plain: list[Instr] = []
    if asked:
        # With registers of its own.
        clone(f, original[nest.start : nest.end + 1], {}, plain)
    if lanes is not None:
        mark(nest, lanes, variables)
    if wave is not None:
        skew(nest, wave.rows, wave.lanes * wave.parts, wave.streams.slant, wave)
    elif jam is not None:
        innermost = _innermost(nest)
        if jam.slant and innermost is not None:
            skew(nest, Rows(nest, jam.loop, innermost, variables), jam.factor, jam.slant)
        else:
            unroll_and_jam(nest, jam.loop, jam.factor, variables)
    fast = f.code[nest.start : len(f.code) - (len(original) - 1 - nest.end)]
    f.code = original[: nest.start] + apart.versioned(f, asked, plain, fast, original[nest.start].line) + original[nest.end + 1 :]
