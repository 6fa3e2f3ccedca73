"""Orders in which the iterations of a nest are run: as written, with loops exchanged, in strips straight or along diagonals, and by a schedule of cells.

A *cell* is a block of iterations of the loops around the innermost that become one (unroll-and-jam of any number of loops): its body is a copy of the nest's for
each of them. A *walk* is a sequence of operations with their iterations, each a vector of counts from 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from loopwright.nests.analysis.graph import Graph, jammed
from loopwright.pipelining.schedule import Schedule
from loopwright.pipelining.steady import ranks

__all__ = ["Cell", "Step", "exchanged", "in_text_order", "scheduled", "strips"]

#: The number of an operation, and the iteration it is run for.
Step = tuple[int, tuple[int, ...]]


class Cell:
    """A block of iterations as one.

    Attributes:
        factors: of the loops around the innermost, how many iterations become one.
        operations: how many the body has.
        graph: that of all copies.
        copies: per copy, which iteration of the cell it is, in each of those loops.
    """

    __slots__ = ("copies", "factors", "graph", "operations")

    def __init__(self, graph: Graph, factors: Sequence[int]) -> None:
        self.factors = tuple(factors)
        self.operations = len(graph.nodes)
        self.copies: list[tuple[int, ...]] = [(0,) * len(self.factors)]
        for depth, factor in enumerate(self.factors):
            graph = jammed(graph, depth, factor)
            self.copies = [(*copy[:depth], k, *copy[depth + 1 :]) for k in range(factor) for copy in self.copies]
        self.graph = graph

    @property
    def straight(self) -> bool:
        """Each iteration of the innermost loop may run all copies in order: nothing depends on what a later one does."""
        none = (0,) * (self.graph.depth - 1)
        return all(edge.distance[:-1] > none or (edge.distance[:-1] == none and edge.distance[-1] >= 0) for edge in self.graph.edges)


def in_text_order(operations: int, counts: Sequence[int]) -> Iterator[Step]:
    """The nest as written: ``counts`` iterations of each loop, the innermost fastest."""
    return exchanged(operations, counts, range(len(counts)))


def exchanged(operations: int, counts: Sequence[int], order: Sequence[int]) -> Iterator[Step]:
    """The loops around each other in another order: ``order`` names them, outermost first."""
    place = [list(order).index(depth) for depth in range(len(counts))]
    for iteration in itertools.product(*[range(counts[depth]) for depth in order]):
        vector = tuple([iteration[k] for k in place])
        for operation in range(operations):
            yield operation, vector


def strips(operations: int, counts: Sequence[int], depth: int, factor: int, slope: int = 0) -> Iterator[Step]:
    """``factor`` iterations of the loop at ``depth`` at once, each ``slope`` iterations of the innermost loop behind the one before.

    With slope 0 that is unroll-and-jam; otherwise a strip is walked by diagonals: a triangle, a parallelogram, a triangle.
    """
    for outer in itertools.product(*[range(count) for count in counts[:depth]]):
        for begin in range(0, counts[depth], factor):
            rows = range(begin, min(begin + factor, counts[depth]))
            for middle in itertools.product(*[range(count) for count in counts[depth + 1 : -1]]):
                for time in range(counts[-1] + (len(rows) - 1) * slope):
                    for behind, row in enumerate(rows):
                        column = time - behind * slope
                        if 0 <= column < counts[-1]:
                            for operation in range(operations):
                                yield operation, (*outer, row, *middle, column)


def scheduled(cell: Cell, schedule: Schedule, counts: Sequence[int]) -> Iterator[Step]:
    """By a schedule of a cell's graph: for each iteration of the outer loops, everything that is to start, by its time.

    Shifted copies run for cells of so many iterations before; iterations of a cell that the nest does not have are left out.
    """
    outer = len(cell.factors)
    shifts = schedule.shifts or [(0,) * outer] * len(cell.graph.nodes)
    interval = schedule.interval
    rank = ranks(cell.graph, schedule)
    latency = [node.latency for node in cell.graph.nodes]
    most = [max([shift[depth] for shift in shifts], default=0) for depth in range(outer)]
    least = [min([shift[depth] for shift in shifts], default=0) for depth in range(outer)]
    cells = [-(-count // factor) for count, factor in zip(counts, cell.factors, strict=False)]
    for layer in itertools.product(*[range(low, number + high) for low, number, high in zip(least, cells, most, strict=True)]):
        # By time; in one cycle, what others wait for first, and what takes short before what takes long: its result comes first.
        events: list[tuple[int, int, int, int, int]] = []
        where: dict[int, tuple[int, ...]] = {}
        for node in range(len(cell.graph.nodes)):
            copy = cell.copies[node // cell.operations]
            vector = tuple([(at - shift) * factor + k for at, shift, factor, k in zip(layer, shifts[node], cell.factors, copy, strict=True)])
            if all(0 <= at < count for at, count in zip(vector, counts, strict=False)):
                where[node] = vector
                events += [(schedule.starts[node] + interval * k, rank[node], latency[node], node, k) for k in range(counts[-1])]
        events.sort()
        for _, _, _, node, k in events:
            yield node % cell.operations, (*where[node], k)
