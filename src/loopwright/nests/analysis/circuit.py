"""Which circuit of a dependence graph, and which unit, keeps iterations from beginning more often: what the bounds of ``graph.py`` come from."""

from __future__ import annotations

from loopwright.nests.analysis.graph import Graph, recurrence_bound, resource_bound
from loopwright.targets.core import Core

__all__ = ["binding_circuit", "binding_unit"]


def binding_circuit(graph: Graph) -> list[int]:
    """The nodes of a circuit that sets the recurrence bound, in the order in which they wait for each other; [] where there is none.

    It is one that takes longer than its iterations at an initiation interval one cycle below the bound (Bellman and Ford's algorithm, whose predecessors
    then lead into a circuit).
    """
    interval = recurrence_bound(graph) - 1
    if interval < 0:
        return []
    edges = [edge for edge in graph.edges if not any(edge.distance[:-1])]
    start = [0] * len(graph.nodes)
    before = [-1] * len(graph.nodes)
    last = -1
    for _ in range(len(graph.nodes) + 1):
        last = -1
        for edge in edges:
            least = start[edge.source] + edge.latency - interval * edge.distance[-1]
            if least > start[edge.sink]:
                start[edge.sink] = least
                before[edge.sink] = edge.source
                last = edge.sink
        if last < 0:
            return []
    for _ in range(len(graph.nodes)):
        last = before[last]
    found = [last]
    node = before[last]
    while node != last:
        found.append(node)
        node = before[node]
    found.reverse()
    return found


def binding_unit(graph: Graph, core: Core) -> str:
    """The name of the unit that is busy for as long as the resource bound; ``issue`` where it is how many operations can start in a cycle."""
    bound = resource_bound(graph, core)
    busy = [0] * len(core.counts)
    for node in graph.nodes:
        busy[node.unit] += node.cycles
    for unit, cycles in enumerate(busy):
        if -(-cycles // core.counts[unit]) == bound:
            return core.units[unit]
    return "issue"
