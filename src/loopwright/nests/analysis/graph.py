"""The dependence graph of an innermost loop's body, and the bounds that it sets to how often iterations can begin.

Nodes are operations with a unit and a latency; an edge says that its sink may start so many cycles after its source, so many iterations later in each of the
loops, outermost first. Circuits whose distance is 0 in all outer components bound the *initiation interval* of the innermost loop, the cycles between the
starts of its iterations: by the sum of their latencies over the sum of their distances (the recurrence bound, RecMII; B. R. Rau, "Iterative modulo
scheduling", MICRO 1994). The units bound it by what they have to do in an iteration (the resource bound, ResMII).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.nests.analysis.dependence import ANTI, FLOW, Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.targets.core import Core
from loopwright.types import I64

__all__ = ["Edge", "Graph", "Node", "graph_of", "jammed", "least_interval", "recurrence_bound", "resource_bound", "too_long"]

#: Cycles from a store to a load of the same place, beyond those of any load.
FORWARDING: Final = 2


class Node:
    """An operation.

    Attributes:
        name: for listings.
        unit, latency, cycles: see ``Cost``.
        position: of its instruction, or -1.
    """

    __slots__ = ("cycles", "latency", "name", "position", "unit")

    def __init__(self, name: str, unit: int, latency: int, cycles: int, position: int = -1) -> None:
        self.name = name
        self.unit = unit
        self.latency = latency
        self.cycles = cycles
        self.position = position


class Edge:
    """``sink`` of the iteration ``distance`` later starts at least ``latency`` cycles after ``source``.

    With ``value``, it reads what the source leaves in a register; otherwise it only must not come earlier.
    """

    __slots__ = ("distance", "latency", "sink", "source", "value")

    def __init__(self, source: int, sink: int, latency: int, distance: tuple[int, ...], value: bool = True) -> None:
        self.source = source
        self.sink = sink
        self.latency = latency
        self.distance = distance
        self.value = value

    def __repr__(self) -> str:
        return f"{self.source} -> {self.sink} ({', '.join(map(str, self.distance))}) {self.latency}"


class Graph:
    """A dependence graph over ``depth`` loops."""

    __slots__ = ("depth", "edges", "nodes")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []


def graph_of(nest: Nest, loop: NestLoop, found: list[Dependence], core: Core, carried: int = 4) -> Graph:
    """The graph of an innermost loop's body.

    Arithmetic on indices is left out: it waits for nothing that the body computes.

    Args:
        nest: the nest.
        loop: a loop of it that holds no other.
        found: the nest's dependences.
        core: what operations cost.
        carried: over how many iterations of the loop a value that is stored and loaded again is taken to stay in a register.
    """
    f = nest.f
    code: list[Instr] = f.code
    made = Graph(loop.depth + 1)
    here = (0,) * made.depth
    later = (*here[:-1], 1)
    values = _values(code, loop)
    number: dict[int, int] = {}  # position -> node
    ways = _Ways()
    exposed: list[tuple[int, int]] = []  # a variable, and the node that reads what an earlier iteration has left in it
    for k in range(loop.head + 1, loop.end):
        instr = code[k]
        op = instr.op
        if op.effect == ops.CONTROL:
            ways.follow(instr)
            continue
        if k not in values:
            continue
        cost = core.cost_of(instr)
        node = len(made.nodes)
        number[k] = node
        made.nodes.append(Node(f"{op.name}.{instr.type.name}", cost.unit, cost.latency, cost.cycles, k))
        # (What is written in an arm waits for the condition, as a choice does.)
        waited = [*instr.args, *ways.conditions()] if instr.dst >= 0 and f.variable[instr.dst] else instr.args
        for a in waited:
            for source in ways.made.get(a, ()):
                if source >= 0:
                    made.edges.append(Edge(source, node, made.nodes[source].latency, here))
            if a >= 0 and f.variable[a] and (a not in ways.made or -1 in ways.made[a]):
                exposed.append((a, node))
        if instr.dst >= 0:
            ways.made[instr.dst] = (node,)
    for variable, node in exposed:
        for source in ways.made.get(variable, ()):
            if source >= 0:
                made.edges.append(Edge(source, node, made.nodes[source].latency, later))
    for dependence in found:
        sink = number.get(dependence.sink.position, -1)
        source = number.get(dependence.source.position, -1)
        if source < 0 or sink < 0 or dependence.loops[-1] is not loop:
            continue
        distance = tuple([component.low for component in dependence.vector])
        latency = 0 if dependence.kind == ANTI else 1
        value = False
        if dependence.kind == FLOW:
            latency = FORWARDING
            if all(component.exact for component in dependence.vector) and abs(distance[-1]) <= carried:
                # The value stays in a register: it is there when it is stored, and not a load's latency later.
                latency = -made.nodes[sink].latency
                value = True
        made.edges.append(Edge(source, sink, latency, distance, value))
    return made


#: Per register, the nodes that may have made it; -1 among them where on one way nothing in this iteration has.
_Made = dict[int, tuple[int, ...]]


class _Arms:
    """An open bracket: what was made in front of its next arm, None behind an ``else``; by the end of each arm; what is asked. Of a bracket without arms nothing is."""

    __slots__ = ("asked", "before", "ends")

    def __init__(self, before: _Made | None, asked: list[int]) -> None:
        self.before = before
        self.ends: list[_Made] = []
        self.asked = asked


class _Ways:
    """What has made each register, by one of the ways that lead to a place in a body that branches."""

    __slots__ = ("_open", "made")

    def __init__(self) -> None:
        self.made: _Made = {}
        self._open: list[_Arms] = []

    def conditions(self) -> list[int]:
        """What has to be known for what stands here to be done."""
        return [a for arms in self._open for a in arms.asked]

    def follow(self, instr: Instr) -> None:
        """Go past a bracket, or part of one."""
        op = instr.op
        if op is ops.IF:
            self._open.append(_Arms(dict(self.made), [instr.args[0]]))
        elif op is ops.THEN:
            arms = self._open[-1]
            arms.before = dict(self.made)
            arms.asked.append(instr.args[0])
        elif op is ops.ELSE or op is ops.ELIF:
            arms = self._open[-1]
            arms.ends.append(self.made)
            self.made = dict(arms.before or {})
            if op is ops.ELSE:
                arms.before = None
        elif op is ops.END:
            self._join(self._open.pop())
        elif op.opens:
            self._open.append(_Arms(None, []))

    def _join(self, arms: _Arms) -> None:
        """All arms have come together, and, where there is no ``else``, the way past them."""
        ends = [*arms.ends, self.made]
        if arms.before is not None:
            ends.append(arms.before)
        if len(ends) > 1:
            made = {r for end in ends for r in end}
            self.made = {r: tuple(sorted({node for end in ends for node in end.get(r, (-1,))})) for r in made}


def _values(code: list[Instr], loop: NestLoop) -> set[int]:
    """The positions of a loop's instructions but those that compute subscripts only."""
    wanted: set[int] = set()
    found: set[int] = set()
    for k in range(loop.end - 1, loop.head, -1):
        instr = code[k]
        op = instr.op
        if op is ops.LOAD:
            found.add(k)
        elif op is ops.STORE:
            found.add(k)
            wanted.add(instr.args[0])
        elif instr.type is not I64 or not op.pure or instr.dst in wanted:
            found.add(k)
            wanted.update(instr.args)
    return found


def resource_bound(graph: Graph, core: Core) -> int:
    """The least initiation interval that the units allow, in cycles; at least 1."""
    busy = [0] * len(core.counts)
    for node in graph.nodes:
        busy[node.unit] += node.cycles
    most = max(1, -(-len(graph.nodes) // core.issue))
    for unit, cycles in enumerate(busy):
        most = max(most, -(-cycles // core.counts[unit]))
    return most


def recurrence_bound(graph: Graph) -> int:
    """The least initiation interval of the innermost loop that circuits allow, in cycles; 0 where there is none."""
    edges = _on_circuits(len(graph.nodes), [edge for edge in graph.edges if not any(edge.distance[:-1])])
    count = len(graph.nodes)
    return least_interval(count, edges, sum([max(0, edge.latency) for edge in edges])) if too_long(count, edges, 0) else 0


def least_interval(count: int, edges: list[Edge], high: int) -> int:
    """The least interval above 0 that is enough for all circuits of edges between ``count`` nodes, where ``high`` is."""
    low = 0
    while low + 1 < high:
        middle = (low + high) // 2
        if too_long(count, edges, middle):
            low = middle
        else:
            high = middle
    return high


def _on_circuits(count: int, edges: list[Edge]) -> list[Edge]:
    """The edges without those that lead from nowhere or to nowhere."""
    while True:
        entered = [False] * count
        left = [False] * count
        for edge in edges:
            left[edge.source] = True
            entered[edge.sink] = True
        kept = [edge for edge in edges if entered[edge.source] and left[edge.sink]]
        if len(kept) == len(edges):
            return kept
        edges = kept


def too_long(count: int, edges: list[Edge], interval: int) -> bool:
    """Whether some circuit of edges between ``count`` nodes takes longer than its iterations at an initiation interval (Bellman and Ford's algorithm)."""
    start = [0] * count
    for _ in range(count + 1):
        changed = False
        for edge in edges:
            least = start[edge.source] + edge.latency - interval * edge.distance[-1]
            if least > start[edge.sink]:
                start[edge.sink] = least
                changed = True
        if not changed:
            return False
    return True


def jammed(graph: Graph, depth: int, factor: int, slant: int = 0) -> Graph:
    """The graph of ``factor`` iterations of the loop at ``depth`` as one, a copy of the nodes for each.

    Each iteration runs ``slant`` iterations of the loop inside behind the one before.
    """
    made = Graph(graph.depth)
    count = len(graph.nodes)
    for _ in range(factor):
        made.nodes += graph.nodes
    for edge in graph.edges:
        for copy in range(factor):
            to = copy + edge.distance[depth]
            distance = (*edge.distance[:depth], to // factor, *edge.distance[depth + 1 :])
            if slant:
                distance = (*distance[: depth + 1], distance[depth + 1] + slant * (to % factor - copy), *distance[depth + 2 :])
            made.edges.append(Edge(copy * count + edge.source, to % factor * count + edge.sink, edge.latency, distance, edge.value))
    return made
