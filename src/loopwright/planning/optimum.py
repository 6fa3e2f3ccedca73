"""The least initiation interval of a graph, proven; then the most compact schedule, then the one with the fewest live values.

An interval is tried after the other, from the greater of the resource bound and the bound of circuits upwards: where the first is met, which is usual, its
optimality is proven with it, and otherwise by the solver, which finds that there is no schedule of the interval before.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Final

from loopwright.errors import InternalError
from loopwright.nests.analysis.graph import Edge, Graph, resource_bound, too_long
from loopwright.pipelining.modulo import InTurn, long_enough
from loopwright.pipelining.schedule import Schedule, check
from loopwright.planning.circuits import OrderError, circuits_bound, components, confined, longest, outer_shifts, shifted
from loopwright.planning.encoding import DEFAULT, Encoding, available
from loopwright.planning.programme import Answer, Programme
from loopwright.targets.core import Core

__all__ = ["SECONDS", "Optimum", "least_interval", "ranges"]

#: Seconds until the search gives up.
SECONDS: Final = 60.0
#: What is said where no interval is long enough.
TIED: Final = "circuits of dependences within one iteration tie operations together that cannot start so, whatever the interval"
#: Seconds of the first turn, and how many times as long as it the next one is.
FIRST: Final = 0.5
LONGER: Final = 3.0


class Optimum:
    """What was found.

    Attributes:
        schedule: None where time ran out before there was one.
        bound: no interval is less: by the bounds, and by what the solver has excluded.
        proven: the schedule's interval is the least.
        seconds: in all, the making of programmes included; ``solving``: in the solver.
        tried: how many intervals the solver was asked about.
    """

    __slots__ = ("bound", "proven", "schedule", "seconds", "solving", "tried")

    def __init__(self, bound: int) -> None:
        self.schedule: Schedule | None = None
        self.bound = bound
        self.proven = False
        self.seconds = 0.0
        self.solving = 0.0
        self.tried = 0


def least_interval(
    graph: Graph, core: Core, seconds: float = SECONDS, encoding: Encoding = DEFAULT, copies: int = 1, workers: int = 1, seed: int = 1
) -> Optimum:
    """The least initiation interval of a graph whose operations may be shifted in all loops, and a schedule of it.

    Args:
        graph: the body; of a jammed nest, the cell.
        core: units and issue width.
        seconds: when to stop.
        encoding: how to write the programme.
        copies: of how many old iterations the graph is made, one after the other; for shifts of whole iterations.
        workers, seed: of the solver.

    Raises:
        OrderError: no order of execution exists, or no interval is long enough, because circuits tie operations together for which there are not enough units.
        PlanningError: OR-Tools (the extra ``tuning``) is not installed.
    """
    available()
    began = perf_counter()
    found = Optimum(max(resource_bound(graph, core), circuits_bound(graph)))
    inner = confined(graph)
    if InTurn(inner, core, inner.edges).possible is False:
        raise OrderError(TIED)
    longest_of_all = long_enough(graph, graph.edges)
    most = found.bound if encoding.interval == "search" else max(found.bound, enough(graph), longest_of_all)
    ways = [replace(encoding, slots=way) for way in (("booleans", "integers") if encoding.slots == "turns" else (encoding.slots,))]
    while True:
        left = seconds - (perf_counter() - began)
        if left <= 0:
            break
        answer, schedule = _answered(graph, core, found, most, left, ways, copies, workers, seed)
        found.tried += 1
        if schedule is not None:
            found.schedule = schedule
            found.bound = max(found.bound, answer.bound if encoding.interval == "variable" else 0)
            found.proven = schedule.interval == found.bound
            broken = check(graph, core, schedule)
            if broken:
                raise InternalError(f"a schedule by the integer programme does not hold: {broken[0]}")
            break
        if answer.feasible is None:
            break
        # (All from the bound up to the most have been asked about.)
        found.bound = most = most + 1
        if found.bound > longest_of_all or too_long(len(inner.nodes), inner.edges, found.bound):
            if encoding.shifts == "commands":
                raise OrderError(TIED)
            break
    found.seconds = perf_counter() - began
    return found


def enough(graph: Graph) -> int:
    """An interval that is long enough for any graph: one operation after the other."""
    return max(1, sum([max(1, node.cycles, node.latency) for node in graph.nodes]) + sum([max(0, edge.latency) for edge in graph.edges]))


def _answered(
    graph: Graph, core: Core, found: Optimum, most: int, seconds: float, ways: list[Encoding], copies: int, workers: int, seed: int
) -> tuple[Answer, Schedule | None]:
    """A schedule of an interval, slots written down in several ways in turns."""
    began = perf_counter()
    share = FIRST
    turn = 0
    while True:
        turn_seconds = seconds if len(ways) == 1 else share
        answer, schedule = _tried(graph, core, found.bound, most, (turn_seconds, began + seconds), ways[0], copies, workers, seed)
        found.solving += answer.seconds
        if answer.feasible is not None or perf_counter() - began >= seconds:
            # (What has answered is asked first the next time.)
            return answer, schedule
        ways.append(ways.pop(0))
        turn += 1
        if turn % len(ways) == 0:
            share *= LONGER


def _tried(
    graph: Graph, core: Core, interval: int, most: int, limits: tuple[float, float], encoding: Encoding, copies: int, workers: int, seed: int
) -> tuple[Answer, Schedule | None]:
    """A schedule of an interval (from one to another, if it is a variable), if there is one.

    ``limits``: seconds for the solver, and when all of it has to end.
    """
    programme = Programme(core, encoding, interval, most)
    rows = [0] * len(graph.nodes)
    if not encoding.circuits:
        _direct(programme, graph, interval, encoding, copies)
        answer = programme.solve(_left(limits), workers, seed)
        if not answer.feasible:
            return answer, None
        starts = [answer.interval * stage + slot for stage, slot in zip(answer.stages, answer.slots, strict=True)]
        return answer, Schedule(answer.interval, starts, answer.shifts if graph.depth > 1 else None)
    order = _on_circuits(programme, graph, interval, encoding)
    programme.resources()
    if encoding.interval == "variable":
        programme.minimise(programme.interval)
    answer = programme.solve(_left(limits), workers, seed)
    if not answer.feasible:
        return answer, None
    for node, slot in [*zip(order, answer.slots, strict=False), *answer.placed]:
        rows[node] = slot
    starts, shifts = shifted(graph, rows, answer.interval)
    return answer, Schedule(answer.interval, starts, shifts if graph.depth > 1 else None)


def _on_circuits(programme: Programme, graph: Graph, interval: int, encoding: Encoding) -> list[int]:
    """Operations and edges of circuits that stay within one iteration of the outer loops, and all others; gives the former's nodes, in order."""
    inner = confined(graph)
    where = components(len(inner.nodes), inner.edges)
    members: dict[int, list[int]] = {}
    for node, component in enumerate(where):
        members.setdefault(component, []).append(node)
    touched = {edge.source for edge in inner.edges}
    order: list[int] = []
    number = [-1] * len(inner.nodes)
    fixed = not encoding.symmetry
    span = enough(graph) + sum([abs(edge.distance[-1]) for edge in inner.edges]) * programme.most
    for nodes in sorted(members.values(), key=len, reverse=True):
        root = nodes[0]
        if root not in touched:
            continue
        local = {node: k for k, node in enumerate(nodes)}
        windows: list[tuple[int, int]] = [(-span, span)] * len(nodes)
        if encoding.windows and encoding.interval == "search":
            edges = [Edge(local[e.source], local[e.sink], e.latency, e.distance) for e in inner.edges if e.source in local and e.sink in local]
            paths = longest(len(nodes), edges, interval)
            windows = [(int(paths[0, k]), -int(paths[k, 0])) for k in range(len(nodes))]
        windows[0] = (0, 0)
        for node, (first, last) in zip(nodes, windows, strict=True):
            # The first of them starts at a slot that is open; the first of all at 0.
            number[node] = programme.operation(graph.nodes[node], first, last + (interval - 1 if fixed else 0), [])
            order.append(node)
        if not fixed:
            programme.begin_with(number[root])
            fixed = True
    for edge in inner.edges:
        programme.edge(edge, number[edge.source], number[edge.sink])
    classes: dict[tuple[int, int], list[int]] = {}
    for node in range(len(inner.nodes)):
        if node not in touched:
            kind = inner.nodes[node]
            classes.setdefault((kind.unit, kind.cycles) if encoding.symmetry else (node, -1), []).append(node)
    for alike in classes.values():
        programme.counted(graph.nodes[alike[0]], alike)
    return order


def _left(limits: tuple[float, float]) -> float:
    """Seconds for the solver, now that the programme has been made."""
    return min(limits[0], limits[1] - perf_counter())


def _direct(programme: Programme, graph: Graph, interval: int, encoding: Encoding, copies: int) -> None:
    """All edges, and shifts in all loops."""
    bounds, span = ranges(graph, interval)
    size = len(graph.nodes) // copies
    whole = encoding.shifts == "iterations"
    for node in range(len(graph.nodes)):
        copy = node // size * size
        programme.operation(graph.nodes[node], 0, span * interval - 1, bounds, copy if whole and node != copy else -1)
    for edge in graph.edges:
        programme.edge(edge, edge.source, edge.sink)
    if encoding.symmetry and not whole and graph.nodes:
        programme.begin_with(0)
    programme.resources()
    if encoding.interval == "variable":
        programme.minimise(programme.interval)


def ranges(graph: Graph, interval: int) -> tuple[list[tuple[int, int]], int]:
    """Bounds of the shifts in outer loops, and how many stages are enough.

    The least vectors that satisfy all edges (``shifted``) are lengths of paths: no component is more than all nodes' longest edges together.
    """
    shifts = outer_shifts(graph)
    spread = [1] * graph.depth
    for node in range(len(graph.nodes)):
        most = [0] * graph.depth
        for edge in graph.edges:
            if edge.source == node:
                for k in range(graph.depth - 1):
                    most[k] = max(most[k], abs(edge.distance[k]))
                most[-1] = max(most[-1], abs(edge.distance[-1] - -(-(edge.latency + interval - 1) // interval)), abs(edge.distance[-1]))
        spread = [a + b for a, b in zip(spread, most, strict=True)]
    if not any(any(shift) for shift in shifts):
        # Nothing leads to an earlier iteration of the outer loops as it is.
        return [(0, 0)] * (graph.depth - 1), 2 * spread[-1] + 2
    return [(0, 2 * s) for s in spread[:-1]], 2 * spread[-1] + 2
