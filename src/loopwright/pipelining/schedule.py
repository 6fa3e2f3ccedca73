"""Schedules of loops whose iterations overlap: what they are, whether they are right, and what they need.

A *modulo schedule* gives each operation of an innermost loop's body a time; the same operation of the next iteration starts an *initiation interval* later,
and so does everything (B. R. Rau, "Iterative modulo scheduling", MICRO 1994, section 2). With *shift vectors*, operations run in later iterations of the
loops around it as well (the multi-dimensional case).
"""

from __future__ import annotations

from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph
from loopwright.targets.core import Core

__all__ = ["DEPENDENCE", "ISSUE", "SHAPE", "UNIT", "Schedule", "Violation", "busy", "check", "components", "lifetimes", "live", "outer_distance", "table"]

DEPENDENCE: Final = "dependence"
UNIT: Final = "unit"
ISSUE: Final = "issue"
SHAPE: Final = "shape"


class Schedule:
    """When the operations of a body start.

    Attributes:
        interval: the initiation interval of the innermost loop, in cycles.
        starts: per node, the cycle in which that of iteration 0 starts; of iteration ``j``, ``starts[node] + interval * j``. They may be negative.
        shifts: per node, how many iterations later it runs in each of the loops around the innermost, outermost first; empty where none is shifted.
    """

    __slots__ = ("interval", "shifts", "starts")

    def __init__(self, interval: int, starts: list[int], shifts: list[tuple[int, ...]] | None = None) -> None:
        self.interval = interval
        self.starts = starts
        self.shifts: list[tuple[int, ...]] = shifts if shifts is not None else []

    @property
    def stages(self) -> int:
        """How many iterations run at once: prologue and epilogue take one less each."""
        return (max(self.starts) - min(self.starts)) // self.interval + 1 if self.starts else 0

    @property
    def length(self) -> int:
        """Cycles from the first start of an iteration to its last."""
        return max(self.starts) - min(self.starts) + 1 if self.starts else 0

    def normalised(self) -> Schedule:
        """The same schedule, its first operation at 0."""
        first = min(self.starts, default=0)
        return Schedule(self.interval, [start - first for start in self.starts], list(self.shifts))

    def stage(self, node: int) -> int:
        """How many iterations later than the first operations a node runs, 0 for those."""
        return (self.starts[node] - min(self.starts)) // self.interval

    def row(self, node: int) -> int:
        """The cycle of the kernel in which a node starts, counted from that of the first operation."""
        return (self.starts[node] - min(self.starts)) % self.interval

    def __repr__(self) -> str:
        return f"Schedule({self.interval}, {self.starts}{f', {self.shifts}' if self.shifts else ''})"


class Violation:
    """Something that a schedule breaks.

    Attributes:
        kind: DEPENDENCE, UNIT, ISSUE or SHAPE (it is no schedule of the graph at all).
        text: a sentence.
        edge: number of the edge of a DEPENDENCE, or -1.
        unit: number of the unit, or -1.
        row: the cycle modulo the interval of UNIT and ISSUE, or -1.
    """

    __slots__ = ("edge", "kind", "row", "text", "unit")

    def __init__(self, kind: str, text: str, edge: int = -1, unit: int = -1, row: int = -1) -> None:
        self.kind = kind
        self.text = text
        self.edge = edge
        self.unit = unit
        self.row = row

    def __repr__(self) -> str:
        return f"{self.kind}: {self.text}"


def outer_distance(edge: Edge, shifts: list[tuple[int, ...]]) -> int:
    """Whether an edge leads to a later (1), the same (0) or an earlier (-1) iteration of the loops around the innermost, operations shifted."""
    for k in range(len(edge.distance) - 1):
        component = edge.distance[k]
        if shifts:
            component += shifts[edge.sink][k] - shifts[edge.source][k]
        if component:
            return 1 if component > 0 else -1
    return 0


def components(count: int, after: list[list[tuple[int, int]]]) -> list[list[int]]:
    """The strongly connected components of a graph, each behind those that it leads to (R. Tarjan, SIAM Journal on Computing 1, 1972), without recursion.

    Args:
        count: how many nodes it has.
        after: per node, those that edges from it lead to, each with some number.
    """
    index = [-1] * count
    low = [0] * count
    on = [False] * count
    stack: list[int] = []
    found: list[list[int]] = []
    number = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            node, k = work.pop()
            if k == 0:
                index[node] = low[node] = number
                number += 1
                stack.append(node)
                on[node] = True
            descended = False
            while k < len(after[node]):
                other = after[node][k][0]
                k += 1
                if index[other] < 0:
                    work.append((node, k))
                    work.append((other, 0))
                    descended = True
                    break
                if on[other]:
                    low[node] = min(low[node], index[other])
            if descended:
                continue
            if low[node] == index[node]:
                component: list[int] = []
                while True:
                    other = stack.pop()
                    on[other] = False
                    component.append(other)
                    if other == node:
                        break
                found.append(component)
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
    return found


def check(graph: Graph, core: Core, schedule: Schedule) -> list[Violation]:
    """Everything that a schedule breaks; empty for one that holds.

    An edge to a later iteration of an outer loop holds by itself: outer iterations do not overlap. One to an earlier iteration never holds.

    Args:
        graph: the body.
        core: its units and how many operations it starts in a cycle.
        schedule: what is to be judged.
    """
    count = len(graph.nodes)
    interval = schedule.interval
    if interval < 1:
        return [Violation(SHAPE, f"the interval is {interval}")]
    if len(schedule.starts) != count:
        return [Violation(SHAPE, f"{len(schedule.starts)} starts for {count} nodes")]
    if schedule.shifts and (len(schedule.shifts) != count or any(len(shift) != graph.depth - 1 for shift in schedule.shifts)):
        return [Violation(SHAPE, f"not one shift vector of {graph.depth - 1} components for each of {count} nodes")]
    found: list[Violation] = []
    for k, edge in enumerate(graph.edges):
        outer = outer_distance(edge, schedule.shifts)
        if outer < 0:
            found.append(Violation(DEPENDENCE, f"{edge!r} leads to an earlier iteration", k))
        elif outer == 0:
            gap = schedule.starts[edge.sink] + interval * edge.distance[-1] - schedule.starts[edge.source]
            if gap < edge.latency:
                found.append(Violation(DEPENDENCE, f"{edge!r} has {gap} cycles", k))
    taken = busy(graph, core, schedule)
    for row in range(interval):
        for unit, used in enumerate(taken[row]):
            if used > core.counts[unit]:
                found.append(Violation(UNIT, f"{used} of {core.counts[unit]} {core.units[unit]} in cycle {row}", unit=unit, row=row))
    issued = [0] * interval
    for start in schedule.starts:
        issued[start % interval] += 1
    for row, started in enumerate(issued):
        if started > core.issue:
            found.append(Violation(ISSUE, f"{started} operations start in cycle {row}, of {core.issue} at most", row=row))
    return found


def busy(graph: Graph, core: Core, schedule: Schedule) -> list[list[int]]:
    """The modulo reservation table: for each cycle modulo the interval, how many of each unit are taken.

    An operation that keeps its unit for longer than the interval meets itself. Which of several equal units it takes may change from iteration to iteration:
    intervals on a line need as many as overlap at most.
    """
    interval = schedule.interval
    made = [[0] * len(core.counts) for _ in range(interval)]
    for node, start in zip(graph.nodes, schedule.starts, strict=True):
        whole, rest = divmod(node.cycles, interval)
        for k in range(min(interval, node.cycles)):
            made[(start + k) % interval][node.unit] += whole + (k < rest)
    return made


def lifetimes(graph: Graph, schedule: Schedule) -> list[tuple[int, int]]:
    """For each node the cycles in which its value is kept in a register: from its start to the last start of a reader, that one not included.

    A value that nothing reads, or that is read in an iteration of an outer loop other than its own, counts for no cycle.
    """
    ends = list(schedule.starts)
    for edge in graph.edges:
        if edge.value and outer_distance(edge, schedule.shifts) == 0:
            ends[edge.source] = max(ends[edge.source], schedule.starts[edge.sink] + schedule.interval * edge.distance[-1])
    return list(zip(schedule.starts, ends, strict=True))


def live(graph: Graph, schedule: Schedule, nodes: list[int] | None = None) -> int:
    """How many values are alive at once at most: the registers a schedule needs (MaxLive; Rau, Lee, Tirumalai and Schlansker, PLDI 1992, section 3).

    Args:
        graph: the body.
        schedule: the schedule.
        nodes: whose values count; None for all.
    """
    interval = schedule.interval
    rows = [0] * interval
    lives = lifetimes(graph, schedule)
    for start, end in lives if nodes is None else [lives[node] for node in nodes]:
        whole, rest = divmod(end - start, interval)
        for row in range(interval):
            rows[row] += whole
        for k in range(rest):
            rows[(start + k) % interval] += 1
    return max(rows)


def table(graph: Graph, core: Core, schedule: Schedule) -> str:
    """The modulo reservation table as text: a row for each cycle of the kernel, a column for each unit; behind a name, in brackets, its stage."""
    cells: list[list[list[str]]] = [[[] for _ in core.units] for _ in range(schedule.interval)]
    for k, node in enumerate(graph.nodes):
        row, stage = schedule.row(k), schedule.stage(k)
        cells[row][node.unit].append(f"{node.name}[{stage}]" if node.name else f"{k}[{stage}]")
        for later in range(1, min(node.cycles, schedule.interval)):
            cells[(row + later) % schedule.interval][node.unit].append("…")
    shown = [unit for unit in range(len(core.units)) if any(row[unit] for row in cells)]
    lines = [["cycle", *[core.units[unit] for unit in shown]]]
    for number, cell in enumerate(cells):
        lines.append([str(number), *[" ".join(cell[unit]) for unit in shown]])
    widths = [max([len(line[k]) for line in lines]) for k in range(len(lines[0]))]
    return "\n".join([" | ".join([text.ljust(width) for text, width in zip(line, widths, strict=True)]).rstrip() for line in lines]) + "\n"
