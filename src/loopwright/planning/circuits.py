"""What circuits of dependences allow when every operation may be shifted to other iterations of all loops around it.

Distances over several loops are added, subtracted and compared lexicographically: they are an ordered group, and Bellman and Ford's algorithm works in it as it
does for numbers. So no component has to be weighed with a large coefficient to make one number of a vector.

An edge can be made to lead to a later iteration of an outer loop, where it demands nothing within the innermost, unless it lies on a circuit whose distance is 0
in all outer components: shifts move distance along a circuit, and add none. ``confined`` keeps just those edges. Given times that satisfy them, shifts exist
that satisfy all others (``shifted``): what is between the components that they connect forms circuits of positive outer distance only, thus none that exceeds 0 in
the lexicographic order whatever its inner component is. The least initiation interval is therefore that of a loop of depth 1.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.nests.analysis.graph import Edge, Graph

__all__ = ["NONE", "OrderError", "circuits_bound", "components", "confined", "longest", "outer_shifts", "shifted"]

#: Less than the length of any path: there is none.
NONE: Final = -(1 << 40)

#: A square matrix of lengths.
Matrix = np.ndarray[Any, np.dtype[np.int64]]


class OrderError(LoopwrightError):
    """A graph of which no order of execution exists: operations of a circuit would wait for themselves."""


def _latest(count: int, edges: list[tuple[int, int, tuple[int, ...]]], depth: int) -> list[tuple[int, ...]]:
    """The least vectors, none below 0, of which each edge's sink has at least its source's plus the edge's, all lexicographically."""
    found: list[tuple[int, ...]] = [(0,) * depth] * count
    for _ in range(count + 1):
        changed = False
        for source, sink, length in edges:
            least = tuple([a + b for a, b in zip(found[source], length, strict=True)])
            if least > found[sink]:
                found[sink] = least
                changed = True
        if not changed:
            return found
    raise OrderError("a circuit of dependences leads to an earlier iteration of the loops, or waits for itself within one")


def outer_shifts(graph: Graph) -> list[tuple[int, ...]]:
    """Per node a shift in the loops around the innermost, such that no edge leads to an earlier iteration of them; all 0 where none does as it is.

    Raises:
        OrderError: there is none.
    """
    edges = [(edge.source, edge.sink, tuple([-d for d in edge.distance[:-1]])) for edge in graph.edges]
    return _latest(len(graph.nodes), edges, graph.depth - 1)


def shifted(graph: Graph, rows: list[int], interval: int) -> tuple[list[int], list[tuple[int, ...]]]:
    """When each node starts, and its shift in the outer loops, if it is to start in a given cycle of the kernel.

    Args:
        graph: the body.
        rows: per node the cycle, modulo the interval.
        interval: the initiation interval.

    Raises:
        OrderError: these cycles satisfy the edges for no shifts.
    """
    edges = []
    for edge in graph.edges:
        later = -((rows[edge.sink] - rows[edge.source] - edge.latency) // interval)
        edges.append((edge.source, edge.sink, (*[-d for d in edge.distance[:-1]], later - edge.distance[-1])))
    vectors = _latest(len(graph.nodes), edges, graph.depth)
    starts = [vector[-1] * interval + row for vector, row in zip(vectors, rows, strict=True)]
    return starts, [vector[:-1] for vector in vectors]


def components(count: int, edges: list[Edge]) -> list[int]:
    """Per node the number of its strongly connected component: that of the least of its nodes."""
    reached = np.eye(count, dtype=np.bool_)
    for edge in edges:
        reached[edge.source, edge.sink] = True
    for k in range(count):
        reached |= reached[:, k, None] & reached[k]
    both = reached & reached.T
    return [int(np.argmax(both[v])) for v in range(count)]


def confined(graph: Graph) -> Graph:
    """The edges that lie on circuits whose distance is 0 in all outer components, as a graph over the innermost loop alone; all nodes are kept.

    Raises:
        OrderError: no order of execution exists.
    """
    shifts = outer_shifts(graph)
    level = []
    for edge in graph.edges:
        if all(d + a - b == 0 for d, a, b in zip(edge.distance[:-1], shifts[edge.sink], shifts[edge.source], strict=True)):
            level.append(edge)
    where = components(len(graph.nodes), level)
    made = Graph(1)
    made.nodes = graph.nodes
    made.edges = [Edge(e.source, e.sink, e.latency, e.distance[-1:], e.value) for e in level if where[e.source] == where[e.sink]]
    return made


def longest(count: int, edges: list[Edge], interval: int) -> Matrix:
    """For each pair of nodes, by how many cycles the second starts after the first at least (Floyd and Warshall's algorithm); ``NONE`` where no path leads.

    The distance is the edges' last component. A positive entry of the diagonal says that the interval is too short.
    """
    found: Matrix = np.full((count, count), NONE, np.int64)
    np.fill_diagonal(found, 0)
    for edge in edges:
        length = edge.latency - interval * edge.distance[-1]
        found[edge.source, edge.sink] = max(found[edge.source, edge.sink], length)
    for k in range(count):
        np.maximum(found, found[:, k, None] + found[k], out=found)
        if found[k, k] > 0:
            return found
    found[found < NONE // 2] = NONE
    return found


def circuits_bound(graph: Graph) -> int:
    """The least initiation interval that circuits allow if operations may be shifted in all loops; at least 1.

    Raises:
        OrderError: no interval is long enough.
    """
    inner = confined(graph)
    touched = sorted({edge.source for edge in inner.edges} | {edge.sink for edge in inner.edges})
    number = {node: k for k, node in enumerate(touched)}
    edges = [Edge(number[e.source], number[e.sink], e.latency, e.distance) for e in inner.edges]
    low, high = 0, max(1, sum([max(0, edge.latency) for edge in edges]))
    if _too_short(len(touched), edges, high):
        raise OrderError("a circuit of dependences waits for itself within one iteration")
    while low + 1 < high:
        middle = (low + high) // 2
        if _too_short(len(touched), edges, middle):
            low = middle
        else:
            high = middle
    return high


def _too_short(count: int, edges: list[Edge], interval: int) -> bool:
    return bool((np.diagonal(longest(count, edges, interval)) > 0).any())
