"""What an iteration takes once it has got going, on a core that starts operations in order."""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph
from loopwright.pipelining.schedule import Schedule, components, outer_distance
from loopwright.targets.core import Core

__all__ = ["kernel_order", "ranks", "steady_interval"]

#: Rounds that are looked at, if none begins like one before; then the second half of them counts.
ROUNDS: Final = 2000

#: How a round begins, all cycles counted from then: how many operations have started in this cycle, when units are free, and what may still be waited for.
_State = tuple[int, tuple[tuple[int, ...], ...], tuple[tuple[int, int, int], ...]]


def kernel_order(graph: Graph, schedule: Schedule) -> list[int]:
    """The operations in the order in which a kernel has them: by cycle; in a cycle, what others wait for first, and what takes short before what takes long."""
    rank = ranks(graph, schedule)
    return sorted(range(len(graph.nodes)), key=lambda node: (schedule.row(node), rank[node], graph.nodes[node].latency, node))


def ranks(graph: Graph, schedule: Schedule) -> list[int]:
    """Per node, after how many others it comes of those that start in the same cycle and wait for each other; the same for those that all do so in a circle."""
    count = len(graph.nodes)
    tied: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for edge in graph.edges:
        if outer_distance(edge, schedule.shifts) == 0 and schedule.starts[edge.sink] + schedule.interval * edge.distance[-1] == schedule.starts[edge.source]:
            tied[edge.source].append((edge.sink, 0))
    found = [0] * count
    for together in reversed(components(count, tied)):
        rank = max([found[node] for node in together])
        for node in together:
            found[node] = rank
        for sink in {sink for node in together for sink, _ in tied[node]} - set(together):
            found[sink] = max(found[sink], rank + 1)
    return found


def steady_interval(graph: Graph, core: Core, schedule: Schedule | None = None) -> int:
    """Cycles from iteration to iteration when operations are started in the order of a kernel, or of the text; more than a schedule's interval where results have to come in order.

    What happens in a round of the kernel follows from how it begins. So once a round begins like one before, all that lies between the two comes again and again,
    and what it takes counts: by the number of its rounds, rounded up.

    Args:
        graph: the body.
        core: its units.
        schedule: whose kernel; None for the order of the text, iteration after iteration.
    """
    rounds = _Rounds(graph, core, schedule)
    begun: dict[_State, tuple[int, int]] = {}
    half = 0
    for number in range(ROUNDS):
        state = rounds.state(number)
        if state in begun:
            first, then = begun[state]
            return -(-(rounds.now - then) // (number - first))
        begun[state] = number, rounds.now
        if number == ROUNDS // 2:
            half = rounds.now
        rounds.run(number)
    return -(-(rounds.now - half) // (ROUNDS - ROUNDS // 2))


class _Rounds:
    """Rounds of a kernel, one after the other.

    Attributes:
        now: the cycle in which the last operation has started.
    """

    def __init__(self, graph: Graph, core: Core, schedule: Schedule | None) -> None:
        count = len(graph.nodes)
        self.graph = graph
        self.core = core
        self.order = list(range(count)) if schedule is None else kernel_order(graph, schedule)
        self.stage = [0] * count if schedule is None else [schedule.stage(node) for node in range(count)]
        shifts = [] if schedule is None else schedule.shifts
        self.edges: list[list[Edge]] = [[] for _ in graph.nodes]
        #: Per node, for how many cycles something may wait for it.
        self.awaited = [0] * count
        for edge in graph.edges:
            if outer_distance(edge, shifts) == 0:
                self.edges[edge.sink].append(edge)
                self.awaited[edge.source] = max(self.awaited[edge.source], edge.latency)
        self.starts: dict[tuple[int, int], int] = {}
        self.units = [[0] * number for number in core.counts]
        self.now = 0
        self.issued = 0
        self.written = 0

    def run(self, number: int) -> None:
        """Start each operation once, that of its stage's iteration."""
        core = self.core
        for node in self.order:
            iteration = number - self.stage[node]
            begin = self.now
            for edge in self.edges[node]:
                source = self.starts.get((edge.source, iteration - edge.distance[-1]))
                if source is not None:
                    begin = max(begin, source + edge.latency)
            operation = self.graph.nodes[node]
            if core.results_in_order:
                begin = max(begin, self.written - operation.latency)
            if begin == self.now and self.issued >= core.issue:
                begin += 1
            if operation.cycles:
                units = self.units[operation.unit]
                free = min(units)
                begin = max(begin, free)
                units[units.index(free)] = begin + operation.cycles
            if begin > self.now:
                self.issued = 0
            self.now = begin
            self.issued += 1
            self.written = begin + operation.latency
            self.starts[(node, iteration)] = begin

    def state(self, number: int) -> _State:
        """How a round begins. (The last result comes as long after the last start as the last operation takes.)"""
        now = self.now
        self.starts = {key: start for key, start in self.starts.items() if start + self.awaited[key[0]] > now}
        free = tuple([tuple(sorted([max(0, cycle - now) for cycle in units])) for units in self.units])
        return self.issued, free, tuple(sorted([(node, iteration - number, start - now) for (node, iteration), start in self.starts.items()]))
