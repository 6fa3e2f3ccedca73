"""By how much to unroll which of the loops around the innermost: tried and scored.

An innermost loop that its circuits hold back takes at least RecMII / ResMII old iterations side by side to keep the units busy; how many more, and of which of the
loops around it, is found by solving the programme for each cell.
"""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Graph, jammed, resource_bound
from loopwright.pipelining.schedule import Schedule
from loopwright.planning.circuits import OrderError, circuits_bound
from loopwright.planning.compact import compact
from loopwright.planning.encoding import DEFAULT, Encoding
from loopwright.planning.optimum import least_interval
from loopwright.targets.core import Core

__all__ = ["Cell", "cell", "factors", "splits"]

#: Totals are tried up to so many times the least.
_MORE: Final = 2


class Cell:
    """What a choice of factors comes to.

    Attributes:
        factors: one for each loop around the innermost, outermost first.
        graph: of the cell.
        schedule: compact; None where none was found.
        interval: of the cell.
        proven: it is the least.
        spreads: over how many iterations of the outer loops (of cells) operations are shifted.
        registers: values alive at once.
    """

    __slots__ = ("factors", "graph", "interval", "proven", "registers", "schedule", "spreads")

    def __init__(self, factors: tuple[int, ...], graph: Graph) -> None:
        self.factors = factors
        self.graph = graph
        self.schedule: Schedule | None = None
        self.interval = 0
        self.proven = False
        self.spreads: list[int] = []
        self.registers = 0

    @property
    def total(self) -> int:
        """How many old iterations it has."""
        product = 1
        for factor in self.factors:
            product *= factor
        return product

    @property
    def cycles(self) -> float:
        """For an old iteration."""
        return self.interval / self.total

    def score(self) -> tuple[float, list[int], int, int]:
        """Less is better: cycles for an old iteration, then shifts in outer loops, then old iterations in a cell, then registers."""
        return self.cycles, self.spreads, self.total, self.registers


def splits(total: int, loops: int) -> list[tuple[int, ...]]:
    """All ways to write a number as a product of one factor for each loop."""
    if loops == 0:
        return [()] if total == 1 else []
    return [(first, *rest) for first in range(1, total + 1) if total % first == 0 for rest in splits(total // first, loops - 1)]


def cell(graph: Graph, chosen: tuple[int, ...]) -> Graph:
    """The graph of a cell, loops unrolled by these factors."""
    for depth, factor in enumerate(chosen):
        graph = jammed(graph, depth, factor)
    return graph


def factors(graph: Graph, core: Core, seconds: float = 10.0, encoding: Encoding = DEFAULT) -> list[Cell]:
    """Cells that were tried, the best first.

    Totals go from 1, and from the least that may keep the units busy up to twice that; it stops with the first of which a cell reaches what the units allow.

    Args:
        graph: of an innermost loop's body as written.
        core: units and issue width.
        seconds: for each programme.
        encoding: how it is written down.

    Raises:
        OrderError: no order of execution exists.
        PlanningError: OR-Tools (the extra ``tuning``) is not installed.
    """
    circuits, units = circuits_bound(graph), resource_bound(graph, core)
    least = -(-circuits // units)
    found: list[Cell] = []
    for total in [1, *range(max(2, least), max(2, _MORE * least) + 1)]:
        for chosen in splits(total, graph.depth - 1):
            tried = _solved(Cell(chosen, cell(graph, chosen)), core, seconds, encoding)
            if tried is not None:
                found.append(tried)
        if any(tried.interval <= resource_bound(tried.graph, core) for tried in found if tried.total == total):
            break
    return sorted(found, key=Cell.score)


def _solved(tried: Cell, core: Core, seconds: float, encoding: Encoding) -> Cell | None:
    try:
        best = least_interval(tried.graph, core, seconds, encoding)
    except OrderError:
        return None
    if best.schedule is None:
        return None
    small = compact(tried.graph, core, best.schedule, seconds)
    tried.schedule, tried.interval, tried.proven = small.schedule, best.schedule.interval, best.proven
    tried.spreads, tried.registers = small.spreads, small.registers
    return tried
