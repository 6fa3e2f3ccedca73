"""What an iteration takes once it has got going, on a core that starts operations in order."""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph
from loopwright.pipelining.schedule import Schedule, outer_distance
from loopwright.targets.core import Core

__all__ = ["kernel_order", "ranks", "steady_interval"]

#: Rounds that are looked at; the first half of them gets it going.
ROUNDS: Final = 24


def kernel_order(graph: Graph, schedule: Schedule) -> list[int]:
    """The operations in the order in which a kernel has them: by cycle; in a cycle, what others wait for first, and what takes short before what takes long."""
    rank = ranks(graph, schedule)
    return sorted(range(len(graph.nodes)), key=lambda node: (schedule.row(node), rank[node], graph.nodes[node].latency, node))


def ranks(graph: Graph, schedule: Schedule) -> list[int]:
    """Per node, after how many others it comes of those that start in the same cycle and wait for each other."""
    found = [0] * len(graph.nodes)
    tied = [
        edge
        for edge in graph.edges
        if outer_distance(edge, schedule.shifts) == 0 and schedule.starts[edge.sink] + schedule.interval * edge.distance[-1] == schedule.starts[edge.source]
    ]
    changed = True
    while changed:
        changed = False
        for edge in tied:
            if edge.source != edge.sink and found[edge.sink] <= found[edge.source]:
                found[edge.sink] = found[edge.source] + 1
                changed = True
    return found


def steady_interval(graph: Graph, core: Core, schedule: Schedule | None = None) -> int:
    """Cycles from iteration to iteration when operations are started in the order of a kernel, or of the text; more than a schedule's interval where results have to come in order.

    Args:
        graph: the body.
        core: its units.
        schedule: whose kernel; None for the order of the text, iteration after iteration.
    """
    count = len(graph.nodes)
    order = list(range(count)) if schedule is None else kernel_order(graph, schedule)
    stage = [0] * count if schedule is None else [schedule.stage(node) for node in range(count)]
    shifts = [] if schedule is None else schedule.shifts
    edges: list[list[Edge]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        if outer_distance(edge, shifts) == 0:
            edges[edge.sink].append(edge)
    starts: dict[tuple[int, int], int] = {}
    units = [[0] * number for number in core.counts]
    now = issued = written = half = 0
    for round_ in range(ROUNDS):
        for node in order:
            iteration = round_ - stage[node]
            begin = now
            for edge in edges[node]:
                source = starts.get((edge.source, iteration - edge.distance[-1]))
                if source is not None:
                    begin = max(begin, source + edge.latency)
            operation = graph.nodes[node]
            if core.results_in_order:
                begin = max(begin, written - operation.latency)
            if begin == now and issued >= core.issue:
                begin += 1
            if operation.cycles:
                free = min(units[operation.unit])
                begin = max(begin, free)
                units[operation.unit][units[operation.unit].index(free)] = begin + operation.cycles
            if begin > now:
                issued = 0
            now = begin
            issued += 1
            written = now + operation.latency
            starts[(node, iteration)] = begin
        if round_ == ROUNDS // 2 - 1:
            half = now
    return -(-(now - half) // (ROUNDS // 2))
