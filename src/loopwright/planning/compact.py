"""Of the schedules with a given interval the most compact one, then the one with the fewest live values.

What comes first: that operations are shifted over few iterations of the outermost loop, then of the others; of the innermost loop that there are few stages. Each is a
part of the prologue and epilogue of its loop. Then the registers: the greatest number of values alive in a cycle of the kernel (MaxLive). How often a value
that starts at ``s`` and ends at ``e`` is alive in a cycle ``j`` is the difference of ``floor((e - 1 - j) / interval)`` and ``floor((s - 1 - j) / interval)``, and that
is the difference of the stages, each one more if its slot is later than ``j``: linear in what the programme has anyway (compare Eichenberger, Davidson and
Abraham, "Minimum register requirements for a modulo schedule", MICRO 1994).
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from loopwright.errors import InternalError
from loopwright.nests.analysis.graph import Edge, Graph
from loopwright.pipelining.schedule import Schedule, check, live
from loopwright.planning.circuits import Matrix, confined, longest
from loopwright.planning.encoding import DIRECT, Encoding, available
from loopwright.planning.optimum import SECONDS, ranges
from loopwright.planning.programme import Answer, Programme
from loopwright.targets.core import Core

__all__ = ["Compact", "compact"]


class Compact:
    """What was found.

    Attributes:
        schedule: the schedule.
        spreads: per outer loop, over how many iterations operations are shifted.
        stages, registers: of the schedule.
        fewest: no schedule of so many stages needs fewer registers.
        stages_proven, registers_proven: there is none with fewer (stages: nor with narrower spreads).
        shaping, allocating: seconds for the shape, and for the registers.
    """

    __slots__ = ("allocating", "fewest", "registers", "registers_proven", "schedule", "shaping", "spreads", "stages", "stages_proven")

    def __init__(self, schedule: Schedule, spreads: list[int]) -> None:
        self.schedule = schedule
        self.spreads = spreads
        self.stages = schedule.stages
        self.stages_proven = False
        self.registers = 0
        self.fewest = 0
        self.registers_proven = False
        self.shaping = 0.0
        self.allocating = 0.0


def compact(
    graph: Graph, core: Core, schedule: Schedule, seconds: float = SECONDS, encoding: Encoding = DIRECT, registers: bool = True, workers: int = 1
) -> Compact:
    """Make a schedule compact without giving up its interval.

    Args:
        graph: the body.
        core: units and issue width.
        schedule: one that holds.
        seconds: for the shape, and as many for the registers; what is found by then is taken.
        encoding: how to write the programme: its distances and dependences; slots are booleans.
        registers: look for few live values, too.
        workers: of the solver.

    Raises:
        PlanningError: OR-Tools (the extra ``tuning``) is not installed.
    """
    available()
    began = perf_counter()
    spreads, proven = _spreads(graph, encoding, seconds, workers)
    found = Compact(schedule, spreads)
    if not graph.nodes:
        return found
    paths = _paths(graph, schedule.interval, spreads)
    stages = int(paths.max()) // schedule.interval + 1
    narrow = bool(_hints(schedule, graph.depth - 1, spreads))
    shaped: Answer | None = None
    # (A schedule with shifts in the outer loops that are wider than they must be is no limit: moved together, it may take more stages.)
    most = schedule.stages - 1 if narrow else stages + 2 * schedule.stages + 2
    while stages <= most and shaped is None:
        left = seconds - (perf_counter() - began)
        if left <= 0:
            proven = False
            break
        programme = _programme(graph, core, schedule.interval, stages, spreads, paths, encoding)
        answer = programme.solve(left / 2, workers)
        if answer.feasible:
            shaped = answer
        else:
            proven = proven and answer.proven
            stages += 1
    if shaped is not None:
        _take(found, graph, core, shaped)
    found.stages_proven = proven and (narrow or shaped is not None)
    found.shaping = perf_counter() - began
    if registers:
        _allocate(found, graph, core, spreads, paths, seconds, encoding, workers)
    found.registers = live(graph, found.schedule)
    columns = [[shift[k] for shift in found.schedule.shifts] or [0] for k in range(graph.depth - 1)]
    found.spreads = [max(column) - min(column) for column in columns]
    return found


def _take(found: Compact, graph: Graph, core: Core, answer: Answer) -> None:
    starts = [answer.interval * stage + slot for stage, slot in zip(answer.stages, answer.slots, strict=True)]
    found.schedule = Schedule(answer.interval, starts, answer.shifts if graph.depth > 1 else None)
    found.stages = found.schedule.stages
    broken = check(graph, core, found.schedule)
    if broken:
        raise InternalError(f"a schedule by the integer programme does not hold: {broken[0]}")


def _spreads(graph: Graph, encoding: Encoding, seconds: float, workers: int) -> tuple[list[int], bool]:
    """The least spreads of the shifts in the outer loops, the outermost first, and whether they are proven.

    Whatever these are, times in the innermost loop go with them.
    """
    bounds, _ = ranges(graph, 1)
    spreads = [high for _, high in bounds]
    proven = True
    for k in range(len(spreads)):
        if not spreads[k]:
            continue
        programme = Programme(Core("none", len(graph.nodes), {}, ""), Encoding(circuits=False, distances=encoding.distances), 1)
        for node in graph.nodes:
            programme.operation(node, 0, 0, [(0, spread) for spread in spreads])
        for edge in graph.edges:
            programme.order(edge, edge.source, edge.sink)
        most = programme.model.new_int_var(0, spreads[k], "spread")
        programme.model.add_max_equality(most, [shifts[k] for shifts in programme.shifts])
        programme.minimise(most)
        answer = programme.solve(seconds, workers)
        proven = proven and answer.proven
        if answer.feasible:
            spreads[k] = answer.value
    return spreads, proven


def _paths(graph: Graph, interval: int, spreads: list[int]) -> Matrix:
    """Longest paths along edges that certainly lead to the same iteration of the outer loops."""
    if any(spreads):
        return longest(len(graph.nodes), confined(graph).edges, interval)
    return longest(len(graph.nodes), [edge for edge in graph.edges if not any(edge.distance[:-1])], interval)


def _programme(graph: Graph, core: Core, interval: int, stages: int, spreads: list[int], paths: Matrix, encoding: Encoding) -> Programme:
    programme = Programme(core, encoding, interval)
    for k, node in enumerate(graph.nodes):
        first = max(0, int(paths[:, k].max()))
        last = interval * stages - 1 - max(0, int(paths[k].max()))
        programme.operation(node, first, last, [(0, spread) for spread in spreads])
    for edge in graph.edges:
        programme.edge(edge, edge.source, edge.sink)
    programme.resources()
    return programme


def _allocate(found: Compact, graph: Graph, core: Core, spreads: list[int], paths: Matrix, seconds: float, encoding: Encoding, workers: int) -> None:
    """Fewest live values at the stages that were found."""
    began = perf_counter()
    interval = found.schedule.interval
    known = live(graph, found.schedule)
    programme = _programme(graph, core, interval, found.stages, spreads, paths, encoding)
    hints = _hints(found.schedule, graph.depth - 1, spreads)
    for node, (start, shift) in enumerate(hints):
        programme.hint(node, start % interval, start // interval, shift)
    most = programme.model.new_int_var(_fewest(graph, interval, spreads, paths), known, "registers")
    programme.model.add_hint(most, known)
    _count(programme, graph, known, most, [start for start, _ in hints])
    programme.minimise(most)
    answer = programme.solve(seconds, workers)
    found.fewest = answer.bound
    if answer.feasible:
        _take(found, graph, core, answer)
        found.registers_proven = answer.proven
    found.allocating = perf_counter() - began


def _hints(schedule: Schedule, outer: int, spreads: list[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Per node its start and its shifts, the least of each 0; none if the shifts go beyond their spreads."""
    first = min(schedule.starts)
    shifts = schedule.shifts or [(0,) * outer] * len(schedule.starts)
    least = [min([shift[k] for shift in shifts]) for k in range(outer)]
    if any(shift[k] - least[k] > spreads[k] for shift in shifts for k in range(outer)):
        return []
    # (The kernel may begin anywhere: where the schedule's does, if that leaves it as many stages.)
    if (max(schedule.starts) // schedule.interval) - first // schedule.interval < schedule.stages:
        first -= first % schedule.interval
    return [(start - first, tuple([shift[k] - least[k] for k in range(outer)])) for start, shift in zip(schedule.starts, shifts, strict=True)]


def _fewest(graph: Graph, interval: int, spreads: list[int], paths: Matrix) -> int:
    """As many values as are alive at least, by the longest paths from operations to readers."""
    total = 0
    for node in range(len(graph.nodes)):
        longest_life = 0
        for edge in graph.edges:
            if edge.source == node and edge.value and not any(edge.distance[:-1]) and not any(spreads):
                longest_life = max(longest_life, int(paths[node, edge.sink]) + interval * edge.distance[-1])
        total += longest_life
    return -(-total // interval)


def _count(programme: Programme, graph: Graph, known: int, most: Any, starts: list[int]) -> None:
    """In each cycle of the kernel no more than ``most`` values are alive; ``starts`` are a hint, or empty."""
    model = programme.model
    interval = programme.most
    readers: list[list[Edge]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        if edge.value:
            readers[edge.source].append(edge)
    rows: list[list[Any]] = [[] for _ in range(interval)]
    for source, edges in enumerate(readers):
        if not edges:
            continue
        conditions = [programme.order(edge, edge.source, edge.sink) for edge in edges]
        begun = programme.at_most(source)
        alone = len(edges) == 1 and conditions[0] == [] and edges[0].latency >= 0
        for j in range(interval):
            alive = None if alone else model.new_int_var(0, known, "")
            if alive is not None and starts:
                ends = [starts[e.sink] + e.distance[-1] * interval for e, same in zip(edges, conditions, strict=True) if same is not None]
                passed = (starts[source] - 1 - j) // interval
                model.add_hint(alive, max([0, *[(end - 1 - j) // interval - passed for end in ends]]))
            for edge, same in zip(edges, conditions, strict=True):
                if same is None:
                    continue
                ended = programme.at_most(edge.sink)
                # (One more where the slot is later than j.)
                times = programme.stages[edge.sink] + edge.distance[-1] - programme.stages[source] - ended[j] + begun[j]
                if alive is None:
                    rows[j].append(times)
                    continue
                constraint = model.add(alive >= times)
                if same:
                    constraint.only_enforce_if(same)
            if alive is not None:
                rows[j].append(alive)
    for row in rows:
        if row:
            model.add(sum(row) <= most)
