"""What a nest may become where its innermost loop waits for its own results: iterations jammed, as they stand or skewed, or rows walked by diagonals in lanes.

Each candidate is judged by the cycles that the bounds of a core leave for an old iteration.
"""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.dependence import FLOW, Dependence
from loopwright.nests.analysis.graph import Graph, graph_of, jammed, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.steps.jam import Refusal, refusal, unroll_and_jam
from loopwright.nests.steps.skew import Rest, Rows, least_slant, repeatable, skew
from loopwright.nests.steps.streams import Streams
from loopwright.nests.steps.wavefront import InLanes, widest
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["LEAST_GAIN", "LINE", "Change", "Jam", "Wave", "best_changes", "innermost_loops", "interval", "live", "stalls"]

#: Factors that are tried.
FACTORS: Final = (2, 3, 4, 6, 8)
#: A loop is left as it is unless it becomes so much faster, by the bounds.
LEAST_GAIN: Final = 1.25
#: Elements that are stored and loaded so few iterations apart meet in the core's store buffer.
CLOSE: Final = 64
#: What memory bounds as much, but for so much, is judged by the core's bounds alone, of which one has to be more than so many times the other: arrays may be in the caches.
ALIKE: Final = 1.05
MUCH: Final = 2
#: No other loop is tried where one comes so near to the units' bound.
NEAR: Final = 1.1
#: Rows run at most so many iterations behind each other: the triangles at both ends of a strip are that many times as large.
STEEPEST: Final = 4
#: Vectors of rows have so many lanes at least, and there are so many of them at most.
FEWEST_LANES: Final = 4
MOST_PARTS: Final = 4
#: Nests often have no more rows than a few times this.
USUAL_ROWS: Final = 8
#: A strip has more vectors of rows where that makes it so much faster, with its triangles, in rows of so many iterations.
MORE_GAIN: Final = 1.15
COLUMNS: Final = 2000
#: Bytes of a line of a cache; lines take so many times as long where the core does not foresee them.
LINE: Final = 64
UNFORESEEN: Final = 3
#: A core that starts operations as they become ready comes near to its units' bound only with circuits shorter than that, by this factor.
SLACK: Final = 0.75


class Change:
    """Something to be done to a nest.

    Attributes:
        loop: the outermost loop that it is done to.
        interval: cycles for an old iteration, by the bounds.
    """

    def __init__(self, loop: NestLoop, interval: float = 0.0) -> None:
        self.loop = loop
        self.interval = interval

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        """Rewrite the nest. What comes behind the loop's head is not where the nest says any more.

        Args:
            nest: the nest.
            variables: what its variables carry.
        """
        raise NotImplementedError

    def text(self, nest: Nest) -> str:
        """What it is, as ``kernel.schedule`` has it where it has it."""
        raise NotImplementedError


class Jam(Change):
    """Iterations of a loop to be jammed.

    Attributes:
        innermost: the loop inside that waits for its own results.
        factor: how many of its iterations become one.
        slant: by how many iterations of the loop inside each is to run behind the one before.
    """

    def __init__(self, loop: NestLoop, innermost: NestLoop, factor: int, slant: int, interval: float) -> None:
        super().__init__(loop, interval)
        self.innermost = innermost
        self.factor = factor
        self.slant = slant

    def text(self, nest: Nest) -> str:
        return _step(nest, self.loop, self.factor, self.slant)

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        if self.slant:
            skew(nest, Rows(nest, self.loop, self.innermost, variables), self.factor, self.slant)
        else:
            unroll_and_jam(nest, self.loop, self.factor, variables)


class Wave(Change):
    """Rows walked by diagonals in lanes.

    Attributes:
        rows: the rows.
        innermost: the loop that walks them.
        how: how they lie in vectors.
        rest: the strips of those that are left over; None where they run as written.
    """

    def __init__(self, rows: Rows, how: InLanes, interval: float) -> None:
        super().__init__(rows.loop, interval)
        self.rows = rows
        self.innermost: NestLoop = rows.inner
        self.how = how
        self.rest: Rest | None = None

    def text(self, nest: Nest) -> str:
        rest = f", rest={self.rest.count}, short={self.rest.columns}" if self.rest is not None else ""
        return f"skew({nest.name(self.loop)}={self.how.rows}, slant={self.how.streams.slant}, lanes={self.how.lanes}{rest})"

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        skew(nest, self.rows, self.how.rows, self.how.streams.slant, self.how, self.rest)


class Traffic:
    """What the iterations of two loops move between the caches.

    Attributes:
        places: in how many arrays an iteration of the outer loop has places of its own.
        lines: how many lines an iteration moves: in, and, of what is stored, out again.
    """

    def __init__(self, nest: Nest, loop: NestLoop, innermost: NestLoop) -> None:
        indices = nest.indices
        moved: dict[int, int] = {}
        for access in nest.accesses:
            if innermost.head < access.position < innermost.end:
                varies = {indices[value] for form in access.subscripts if form is not None for value in form.terms if value in indices}
                if loop in varies and innermost in varies:
                    moved[access.array] = max(moved.get(access.array, 0), 2 if access.store else 1)
        self.places = len(moved)
        self.lines = sum([times * nest.f.arrays[array].element.size for array, times in moved.items()]) / LINE

    def cycles(self, rows: int, core: Core) -> float:
        """Cycles for an iteration where so many rows are done side by side, on a core that foresees what is accessed at so many places at once."""
        return self.lines * core.line * (UNFORESEEN if rows * self.places > core.streams else 1)


def innermost_loops(nest: Nest) -> list[NestLoop]:
    """The loops of a nest that hold no other."""
    return [loop for loop in nest.loops if not any(other.parent is loop for other in nest.loops)]


def best_changes(nest: Nest, target: Target, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop]) -> list[Change]:
    """For each innermost loop what is best done with those around it, where that gains enough.

    Args:
        nest: the nest.
        target: the machine.
        core: its core.
        found: the nest's dependences.
        variables: what its variables carry.
        lanes: the loops that are to run over lanes.
    """
    chosen: list[Change] = []
    for innermost in innermost_loops(nest):
        if (
            innermost.parent is None
            or not innermost.step
            or not innermost.reaches(2)
            or any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end])
        ):
            # (What a branch decides, the core guesses, and does not wait for.)
            continue
        graph = graph_of(nest, innermost, found, core)
        wave = None
        if not any(loop.head <= innermost.head < loop.end for loop in lanes):
            wave = _best_wave(nest, innermost, graph, target, core, found, variables)
        if wave is not None and nest.record is None and wave.interval * LEAST_GAIN <= resource_bound(graph, core):
            # (No jam comes below the units' bound.)
            chosen.append(wave)
            continue
        jam = _best_jam(nest, innermost, graph, core, found, variables, lanes)
        if wave is not None and (jam is None or _outdoes(nest, wave, jam, innermost, core)):
            chosen.append(wave)
        elif jam is not None:
            chosen.append(jam)
    return chosen


def _outdoes(nest: Nest, wave: Wave, jam: Jam, innermost: NestLoop, core: Core) -> bool:
    """Whether rows in lanes are so much faster than jammed ones; in the caches, where memory is what both wait for."""
    in_lanes, side_by_side = _at_best(nest, wave, innermost, core), _at_best(nest, jam, innermost, core)
    return in_lanes * LEAST_GAIN <= side_by_side or (in_lanes <= side_by_side * ALIKE and wave.interval * MUCH < jam.interval)


def _at_best(nest: Nest, change: Jam | Wave, innermost: NestLoop, core: Core) -> float:
    """Cycles for an old iteration, by the bounds, memory's too."""
    rows = change.factor if isinstance(change, Jam) else change.how.rows
    return max(change.interval, Traffic(nest, change.loop, innermost).cycles(rows, core))


def _best_jam(nest: Nest, innermost: NestLoop, graph: Graph, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop]) -> Jam | None:
    """The loop around an innermost one, and around no other, to unroll and jam, and how many iterations; None where that gains too little."""
    plain = interval(graph, 1, core)
    record = nest.record
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        if record is not None:
            record.keeps(f"iterations of {nest.name(innermost)} begin nearly as often as the units allow, as written", innermost.line)
        return None
    best: Jam | None = None
    fewest = 0.0
    least = float(resource_bound(graph, core)) * NEAR
    inside = innermost
    loop: NestLoop | None = innermost.parent
    while loop is not None and (best is None or fewest > least) and not any(other.parent is loop and other is not inside for other in nest.loops):
        traffic = Traffic(nest, loop, innermost)
        for factor in FACTORS:
            if not loop.reaches(factor):
                break
            if loop in lanes or factor * live(graph) > core.registers:
                if record is not None:
                    because = "its iterations run in lanes" if loop in lanes else "more values would be live than there are registers"
                    record.refused(nest, _step(nest, loop, factor, 0), Refusal(because, loop.line))
                break
            if innermost in lanes and any(stalls(dependence, loop, innermost, factor) for dependence in found):
                if record is not None:
                    because = "a vector would be loaded of which parts have just been stored, which stores do not hand on"
                    record.refused(nest, _step(nest, loop, factor, 0), Refusal(because, loop.line))
                break
            slant = _slant(nest, loop, innermost, factor, found, variables, lanes)
            if slant is None:
                if record is not None:
                    record.refused(nest, _step(nest, loop, factor, 0), refusal(nest, loop, factor, found, variables, lanes))
                break
            made = Jam(loop, innermost, factor, slant, interval(jammed(graph, loop.depth, factor, slant), factor, core))
            cycles = made.interval if innermost in lanes else max(made.interval, traffic.cycles(factor, core))
            if record is not None:
                record.tried(_step(nest, loop, factor, slant), cycles)
            if best is None or cycles < fewest:
                best, fewest = made, cycles
        inside = loop
        loop = loop.parent
    if best is not None and best.interval * LEAST_GAIN <= plain:
        return best
    if record is not None and best is not None:
        record.keeps(f"no factor makes it so much faster that it is worth it: {plain:.4g} cycles as written, {best.interval:.4g} at best", nest.loops[0].line)
    return None


def _step(nest: Nest, loop: NestLoop, factor: int, slant: int) -> str:
    """A candidate as ``kernel.schedule`` has it."""
    return f"skew({nest.name(loop)}={factor}, slant={slant})" if slant else f"unroll_and_jam({nest.name(loop)}={factor})"


def stalls(dependence: Dependence, loop: NestLoop, innermost: NestLoop, factor: int) -> bool:
    """Whether of jammed iterations, over lanes, one loads from what another has just stored, but not a vector that is one of those stored."""
    vector = dependence.vector
    if dependence.kind != FLOW or dependence.loops[-1] is not innermost or not all(c.low <= 0 <= c.high for c in vector[: loop.depth]):
        return False
    rows, columns = vector[loop.depth], vector[-1]
    return rows.low < factor and rows.high > 0 and (columns.low != 0 or columns.high != 0) and -CLOSE <= columns.low <= CLOSE


def _slant(nest: Nest, loop: NestLoop, innermost: NestLoop, factor: int, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop]) -> int | None:
    """By how much each of ``factor`` iterations of a loop has to run behind the one before to be jammed; None where it cannot be."""
    refused = refusal(nest, loop, factor, found, variables, lanes)
    if refused is None:
        return 0
    if refused.dependence is None or innermost.parent is not loop or innermost in lanes:
        return None
    slant = least_slant(loop, factor, found)
    if slant is None or not 0 < slant <= STEEPEST or refusal(nest, loop, factor, found, variables, (), slant) is not None:
        return None
    return slant if Rows(nest, loop, innermost, variables).possible(nest.f) else None


def _best_wave(nest: Nest, innermost: NestLoop, graph: Graph, target: Target, core: Core, found: list[Dependence], variables: list[Scalar]) -> Wave | None:
    """The rows of a nest to walk by diagonals in lanes; None where that gains too little."""
    loop = innermost.parent
    if loop is None or not target.vector_bits or not innermost.long() or any(other.parent is loop and other is not innermost for other in nest.loops):
        return None
    rows = Rows(nest, loop, innermost, variables)
    if not rows.possible(nest.f):
        return None
    width = widest(nest.f, rows, target)
    lanes = target.vector_bits // width if width else 0
    if lanes < FEWEST_LANES:
        return None
    least = interval(graph, 1, core)
    traffic = Traffic(nest, loop, innermost)
    written = max(least, traffic.cycles(1, core))
    best: Wave | None = None
    fewest = 0.0
    single: list[tuple[float, Wave]] = []  # strips of one vector, with the cycles of an iteration
    # (Less than a vector of rows may do: fewer rows are fewer places in memory.)
    for each, most in ((lanes, MOST_PARTS), (lanes // 2, 1), (lanes // 4, 1)):
        for parts in range(1, most + 1):
            count = parts * each
            if each < FEWEST_LANES or not loop.reaches(count):
                break
            slant = least_slant(loop, count, found, True)
            if slant is None or slant > STEEPEST or refusal(nest, loop, count, found, variables, (), slant) is not None:
                break
            streams = Streams(nest, loop, innermost, slant, found)
            if not streams.possible:
                break
            how = InLanes(nest.f, streams, each, parts, width, target)
            made = Wave(rows, how, streams.interval(graph, core, each, parts, how.together))
            cycles = max(made.interval, traffic.cycles(count, core)) + slant * (count - 1) * least / COLUMNS
            if nest.record is not None:
                nest.record.tried(made.text(nest), cycles)
            if best is not None:
                # (Fewer rows than a strip has run as written: where rows do not wait for each other, strips of fewer are as good.)
                gains = cycles * MORE_GAIN <= fewest or (slant == 0 and best.how.lanes > each >= USUAL_ROWS and cycles <= fewest * LEAST_GAIN)
            else:
                # (More rows at once are more places in memory, of which not all may be foreseen.)
                gains = cycles * LEAST_GAIN <= written or (cycles <= written * ALIKE and made.interval * MUCH < least)
            if parts == 1:
                single.append((cycles, made))
            if gains:
                best, fewest = made, cycles
    if best is not None and not (loop.step == 1 and repeatable(nest, rows)):
        best.rest = next((_rest(best, one, least) for cycles, one in single if cycles * LEAST_GAIN <= written and _narrower(one.how, best.how)), None)
    return best


def _narrower(one: InLanes, other: InLanes) -> bool:
    """Whether strips have fewer rows than others, and lie alike."""
    return one.rows < other.rows and one.lanes == other.lanes and one.streams.slant == other.streams.slant


def _rest(best: Wave, fewer: Wave, scalar: float) -> Rest:
    """Strips of fewer rows beside the best: for which rows, by the cycles of an iteration in each and of one of a triangle."""
    slant = best.how.streams.slant
    wide, narrow = [(wave.how.rows - 1) * slant * (scalar - wave.interval) for wave in (best, fewer)]
    gained = fewer.interval - best.interval
    return Rest(fewer.how.rows, fewer.how, int((wide - narrow) / gained) if gained > 0 else 0)


def interval(graph: Graph, factor: int, core: Core) -> float:
    """Cycles for an old iteration, by the bounds."""
    recurrence = float(recurrence_bound(graph))
    return max(recurrence / SLACK if core.window and factor > 1 else recurrence, float(resource_bound(graph, core))) / factor


def live(graph: Graph) -> int:
    """About how many registers an iteration keeps values in."""
    return 1 + len({edge.source for edge in graph.edges if not any(edge.distance[:-1]) and edge.distance[-1] > 0})
