"""A modulo scheduler: the least initiation interval it can find for the body of an innermost loop, and when its operations start.

First comes swing modulo scheduling (J. Llosa, A. González, E. Ayguadé and M. Valero, PACT 1996): operations are placed once, each next to those it is tied to,
circuits first, which keeps values short-lived. Where an operation finds no place, iterative modulo scheduling (B. R. Rau, MICRO 1994) follows: it places them
by the length of what depends on them, and takes others out where there is no room. Only then the interval grows.

Distances may be negative, as they are where iterations of an outer loop were made one (``jammed``) and a later one depends on an earlier one further along the
inner loop: then the later one starts so many intervals later, which is the slant that the strip is walked by. Only the sums along circuits have to be positive.
"""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph, least_interval, resource_bound, too_long
from loopwright.pipelining.places import Places
from loopwright.pipelining.schedule import Schedule, outer_distance
from loopwright.pipelining.slack import by_slack
from loopwright.pipelining.steady import steady_interval
from loopwright.targets.core import Core

__all__ = ["inner_edges", "interval_bound", "modulo_schedule", "recurrence", "shifts_of"]

#: Per operation, how often it may be placed at one interval by each order of priorities.
BUDGET: Final = 12
#: The same for placing by slack, each of which takes longer.
SLACK_BUDGET: Final = 12
#: How many intervals are tried at which results come in order, and of how many operations at most.
INTERVALS: Final = 8
MOST_IN_ORDER: Final = 48
#: Sweeps over the operations that shorten lives of values.
SWEEPS: Final = 4


def modulo_schedule(graph: Graph, core: Core, cells: int = 0, least: int = 1) -> Schedule | None:
    """A schedule of the least interval that is found, its first operation at 0.

    Args:
        graph: the body.
        core: its units.
        cells: how many copies of a body the graph is made of, one after the other (``jammed``): operations of a copy are shifted along the outer loops
            together. 0 lets each be shifted by itself.
        least: no smaller interval is tried.

    Returns:
        None where no interval is possible: some circuit leads to an earlier iteration, or to the same.
    """
    if not graph.nodes:
        return Schedule(max(1, least), [])
    shifts = shifts_of(graph, cells)
    if shifts is None:
        return None
    edges = inner_edges(graph, shifts)
    bound = recurrence(len(graph.nodes), edges)
    if bound is None:
        return None
    interval = max(resource_bound(graph, core), bound, least)
    found = _at(graph, core, edges, shifts, interval)
    while found is None:
        interval += 1
        found = _at(graph, core, edges, shifts, interval)
    if not core.results_in_order:
        return found
    # Where an operation would have to wait for those before it, a longer interval at which none does may be the shorter one.
    waits = steady_interval(graph, core, found)
    for longer in range(interval, min(waits, interval + INTERVALS) if len(graph.nodes) <= MOST_IN_ORDER else interval):
        other = _at(graph, core, edges, shifts, longer, True)
        if other is not None and steady_interval(graph, core, other) < waits:
            return other
    return found


def _at(graph: Graph, core: Core, edges: list[Edge], shifts: list[tuple[int, ...]], interval: int, in_order: bool = False) -> Schedule | None:
    """A schedule at one interval, if one is found; with ``in_order``, its results come in order without waiting."""
    places = Places(graph, core, edges, interval, in_order)
    if not (places.swing() or places.iterate(BUDGET) or (not in_order and by_slack(places, SLACK_BUDGET))):
        return None
    places.shorten(SWEEPS)
    return Schedule(interval, places.starts, shifts if any(any(shift) for shift in shifts) else None).normalised()


def interval_bound(graph: Graph, core: Core, cells: int = 0) -> int | None:
    """The least interval that units and circuits allow; None where no interval is possible."""
    shifts = shifts_of(graph, cells)
    if shifts is None:
        return None
    bound = recurrence(len(graph.nodes), inner_edges(graph, shifts))
    return None if bound is None else max(resource_bound(graph, core), bound)


def inner_edges(graph: Graph, shifts: list[tuple[int, ...]]) -> list[Edge]:
    """The edges that bind within one iteration of the outer loops, operations shifted."""
    return [edge for edge in graph.edges if outer_distance(edge, shifts) == 0]


def shifts_of(graph: Graph, cells: int = 0) -> list[tuple[int, ...]] | None:
    """The least shift vectors by which no edge leads to an earlier iteration of the loops around the innermost.

    Longest paths in the lexicographic order of vectors (Bellman and Ford's algorithm): an edge of distance ``d`` asks for
    ``shift(sink) - shift(source) + d`` not to be negative. Circuits of a legal nest are not, so they exist.

    Args:
        graph: the body.
        cells: as of ``modulo_schedule``.

    Returns:
        One vector for each node; None where a circuit leads to an earlier iteration.
    """
    count = len(graph.nodes)
    groups = cells if cells else count
    size = count // groups if groups else 1
    none = (0,) * (graph.depth - 1)
    shifts = [none] * groups
    edges = [(edge.source // size, edge.sink // size, edge.distance[:-1]) for edge in graph.edges if any(edge.distance[:-1])]
    if any(distance < none for _, _, distance in edges):
        same = [
            (edge.source // size, edge.sink // size, none) for edge in graph.edges if not any(edge.distance[:-1]) and edge.source // size != edge.sink // size
        ]
        for _ in range(groups + 1):
            changed = False
            for source, sink, distance in edges + same:
                least = tuple([a - b for a, b in zip(shifts[source], distance, strict=True)])
                if least > shifts[sink]:
                    shifts[sink] = least
                    changed = True
            if not changed:
                break
        else:
            return None
    return [shifts[node // size] for node in range(count)]


def recurrence(count: int, edges: list[Edge]) -> int | None:
    """The least interval that the circuits of edges allow, at least 1; None where none is enough."""
    high = 1 + sum([max(0, edge.latency) for edge in edges])
    return None if too_long(count, edges, high) else least_interval(count, edges, high)
