"""A modulo scheduler: the least initiation interval it can find for the body of an innermost loop, and when its operations start.

First comes swing modulo scheduling (J. Llosa, A. González, E. Ayguadé and M. Valero, PACT 1996): operations are placed once, each next to those it is tied to,
circuits first, which keeps values short-lived. Where an operation finds no place, iterative modulo scheduling (B. R. Rau, MICRO 1994) follows: it places them
by the length of what depends on them, and takes others out where there is no room. Only then the interval grows.

Distances may be negative, as they are where iterations of an outer loop were made one (``jammed``) and a later one depends on an earlier one further along the
inner loop: then the later one starts so many intervals later, which is the slant that the strip is walked by. Only the sums along circuits have to be positive.

Where none is found, it is asked whether there is one at all (``InTurn``). A longer interval helps an edge that leads to a later iteration; one that stays within
an iteration asks for the same at every interval. So operations are counted on to later iterations until no edge leads back. Edges that then stay within one hold
where operations run one after the other, in the order that they give; unless they form circuits. These tie operations to each other at every interval, and more
may have to start at once than the core starts, or has units for. Hence each group of tied operations is placed by itself, with all units free, and cycles that
do not repeat. A schedule of any interval has them placed so: if that is not possible for one of the groups, there is none. Otherwise the groups one after the
other are a schedule of an interval as long as all of them.
"""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph, least_interval, resource_bound, too_long
from loopwright.pipelining.places import Places
from loopwright.pipelining.schedule import Schedule, components, outer_distance
from loopwright.pipelining.slack import by_slack
from loopwright.pipelining.steady import steady_interval
from loopwright.targets.core import Core

__all__ = ["InTurn", "inner_edges", "interval_bound", "long_enough", "modulo_schedule", "recurrence", "shifts_of"]

#: Per operation, how often it may be placed at one interval by each order of priorities.
BUDGET: Final = 12
#: The same for placing by slack, each of which takes longer.
SLACK_BUDGET: Final = 12
#: How many intervals are tried at which results come in order, and of how many operations at most.
INTERVALS: Final = 8
MOST_IN_ORDER: Final = 48
#: Sweeps over the operations that shorten lives of values.
SWEEPS: Final = 4
#: So many intervals are tried one after the other; then the longer they get, the more are left out.
EACH: Final = 32
#: How often operations of a group are placed, and how many it may have, until it is left open whether they can be.
ATTEMPTS: Final = 20_000
MOST_TIED: Final = 100
#: Less than the length of any path: there is none.
NONE: Final = -(1 << 60)


def modulo_schedule(graph: Graph, core: Core, cells: int = 0, least: int = 1) -> Schedule | None:
    """A schedule of the least interval that is found, its first operation at 0.

    Args:
        graph: the body.
        core: its units.
        cells: how many copies of a body the graph is made of, one after the other (``jammed``): operations of a copy are shifted along the outer loops
            together. 0 lets each be shifted by itself.
        least: no smaller interval is tried.

    Returns:
        None where no interval is possible: some circuit leads to an earlier iteration, or to the same, or ties operations together for which there are not
        enough units (or so many that this is left open, and none is found).
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
    if found is None:
        found = _longer(graph, core, edges, shifts, interval)
        if found is None:
            return None
        interval = found.interval
    if not core.results_in_order:
        return found
    # Where an operation would have to wait for those before it, a longer interval at which none does may be the shorter one.
    waits = steady_interval(graph, core, found)
    for longer in range(interval, min(waits, interval + INTERVALS) if len(graph.nodes) <= MOST_IN_ORDER else interval):
        other = _at(graph, core, edges, shifts, longer, True)
        if other is not None and steady_interval(graph, core, other) < waits:
            return other
    return found


def _longer(graph: Graph, core: Core, edges: list[Edge], shifts: list[tuple[int, ...]], interval: int) -> Schedule | None:
    """A schedule of an interval longer than one that none was found at; None where there is none, or it is left open whether there is."""
    in_turn = InTurn(graph, core, edges)
    if in_turn.possible is False:
        return None
    first, last = interval, long_enough(graph, edges)
    while interval < last:
        interval = min(interval + 1 + (interval - first) // EACH, last)
        if too_long(len(graph.nodes), edges, interval):
            return None
        found = _at(graph, core, edges, shifts, interval)
        if found is not None:
            return found
    if in_turn.possible is None:
        return None
    interval = max(interval, in_turn.interval)
    return _schedule(interval, in_turn.starts(interval), shifts)


def _schedule(interval: int, starts: list[int], shifts: list[tuple[int, ...]]) -> Schedule:
    return Schedule(interval, starts, shifts if any(any(shift) for shift in shifts) else None).normalised()


def _at(graph: Graph, core: Core, edges: list[Edge], shifts: list[tuple[int, ...]], interval: int, in_order: bool = False) -> Schedule | None:
    """A schedule at one interval, if one is found; with ``in_order``, its results come in order without waiting."""
    places = Places(graph, core, edges, interval, in_order)
    if not (places.swing() or places.iterate(BUDGET) or (not in_order and by_slack(places, SLACK_BUDGET))):
        return None
    places.shorten(SWEEPS)
    return _schedule(interval, places.starts, shifts)


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


# --- whether there is a schedule at all


def long_enough(graph: Graph, edges: list[Edge]) -> int:
    """An interval so long that it has a schedule if a longer one has.

    Count operations on until no edge leads to an earlier iteration (``InTurn``). Between any two cycles, what starts later can then start one cycle earlier, unless
    a unit is kept from the one cycle to the other, an operation has started in the first, or one that starts later waits that long for an earlier one. So a schedule can be made as
    short as all this takes together, edges within an iteration only; and edges to later iterations hold at an interval as much longer as they take.
    """
    busy = [max(1, node.cycles) for node in graph.nodes]
    return sum(busy) + sum([abs(edge.latency) for edge in edges]) + max(busy, default=1)


class InTurn:
    """Operations in turn.

    Attributes:
        possible: False where no interval has a schedule; None where that is left open.
        interval: one that the operations in turn fit into, where it is possible.
    """

    def __init__(self, graph: Graph, core: Core, edges: list[Edge]) -> None:
        """``edges``: those that bind, with distances in the innermost loop."""
        self.possible: bool | None = None
        self.interval = 1
        self._times = [0] * len(graph.nodes)
        later = _later(len(graph.nodes), edges)
        if later is None:
            # (A circuit leads to an earlier iteration; it allows intervals up to some length only, or none.)
            return
        self._later = later
        level = [edge for edge in edges if edge.distance[-1] + later[edge.sink] - later[edge.source] == 0]
        after: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
        for edge in level:
            after[edge.source].append((edge.sink, edge.latency))
        wait = max([1, *[edge.latency for edge in edges]])
        end = 0
        for nodes in reversed(components(len(graph.nodes), after)):
            group = _Group(graph, core, nodes, after)
            self.possible = group.place()
            if not self.possible:
                return
            first = min(group.starts.values())
            for node, start in group.starts.items():
                self._times[node] = end + start - first
            end = max([self._times[node] + graph.nodes[node].cycles for node in nodes] + [self._times[node] + wait for node in nodes])
        self.possible = True
        self.interval = end + wait

    def starts(self, interval: int) -> list[int]:
        """Per node, when it starts in a schedule of ``self.interval``, or of a longer one; where it is possible."""
        return [time + interval * later for time, later in zip(self._times, self._later, strict=True)]


def _later(count: int, edges: list[Edge]) -> list[int] | None:
    """Per node, by how many iterations it has to be counted on for no edge to lead to an earlier one; None where a circuit does."""
    found = [0] * count
    for _ in range(count + 1):
        changed = False
        for edge in edges:
            least = found[edge.source] - edge.distance[-1]
            if least > found[edge.sink]:
                found[edge.sink] = least
                changed = True
        if not changed:
            return found
    return None


class _Group:
    """Operations that circuits within one iteration tie to each other, or a single one.

    Attributes:
        starts: when those start that have a place.
    """

    def __init__(self, graph: Graph, core: Core, nodes: list[int], after: list[list[tuple[int, int]]]) -> None:
        self.graph = graph
        self.core = core
        self.nodes = nodes
        self.starts: dict[int, int] = {}
        self._left = ATTEMPTS
        self._started: dict[int, int] = {}
        self._kept: dict[tuple[int, int], int] = {}
        self._apart = _apart(nodes, after) if len(nodes) <= MOST_TIED else {}

    def place(self) -> bool | None:
        """Place all of them, the first at 0. Returns whether that is possible; None where it is left open."""
        if len(self.nodes) > MOST_TIED:
            return None
        if any(self._apart[node, node] > 0 for node in self.nodes):
            # (A circuit waits for itself.)
            return False
        self._put(self.nodes[0], 0, 1)
        done = self._rest()
        return None if self._left <= 0 and not done else done

    def _rest(self) -> bool:
        """Place those that have no place, the one with the fewest choices first; or take back what was tried."""
        missing = [node for node in self.nodes if node not in self.starts]
        if not missing:
            return True
        first, last, node = min([(*self._window(node), node) for node in missing], key=lambda choice: (choice[1] - choice[0], choice[2]))
        for start in range(first, last + 1):
            if self._left <= 0:
                return False
            self._left -= 1
            if self._fits(node, start):
                self._put(node, start, 1)
                if self._rest():
                    return True
                self._put(node, start, -1)
        return False

    def _window(self, node: int) -> tuple[int, int]:
        """The first and the last start that those with a place allow."""
        first = max([start + self._apart[other, node] for other, start in self.starts.items()])
        return first, min([start - self._apart[node, other] for other, start in self.starts.items()])

    def _fits(self, node: int, start: int) -> bool:
        operation = self.graph.nodes[node]
        most = self.core.counts[operation.unit]
        return self._started.get(start, 0) < self.core.issue and all(
            self._kept.get((operation.unit, cycle), 0) < most for cycle in range(start, start + operation.cycles)
        )

    def _put(self, node: int, start: int, sign: int) -> None:
        """Give a node a place, or, with -1, take it."""
        operation = self.graph.nodes[node]
        if sign > 0:
            self.starts[node] = start
        else:
            del self.starts[node]
        self._started[start] = self._started.get(start, 0) + sign
        for cycle in range(start, start + operation.cycles):
            self._kept[operation.unit, cycle] = self._kept.get((operation.unit, cycle), 0) + sign


def _apart(nodes: list[int], after: list[list[tuple[int, int]]]) -> dict[tuple[int, int], int]:
    """For each two nodes of a group, by how many cycles the second starts after the first at least (Floyd and Warshall's algorithm)."""
    found = {(a, b): 0 if a == b else NONE for a in nodes for b in nodes}
    for a in nodes:
        for b, latency in after[a]:
            if (a, b) in found:
                found[a, b] = max(found[a, b], latency)
    for middle in nodes:
        for a in nodes:
            for b in nodes:
                found[a, b] = max(found[a, b], found[a, middle] + found[middle, b])
    return found
