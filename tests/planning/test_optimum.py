"""The least interval is the least, its schedules hold in every order of execution, and the seven examples come out as they must."""

from __future__ import annotations

import itertools
import random
import sys

import pytest

from loopwright.nests.analysis.graph import Edge, Graph, Node, jammed, resource_bound
from loopwright.pipelining import modulo
from loopwright.pipelining.schedule import Schedule, check
from loopwright.planning.circuits import OrderError, circuits_bound, confined, longest, outer_shifts, shifted
from loopwright.planning.encoding import DEFAULT, DIRECT, Encoding, PlanningError
from loopwright.planning.generate import CORE, body, cell
from loopwright.planning.optimum import least_interval
from loopwright.targets.core import Core

pytest.importorskip("ortools")

#: One square root a cycle, its result after four.
PAPER = Core("paper", issue=64, units={"sqrt": 1, "other": 64}, table="sqrt | .* | sqrt | 4 | 1\n.* | .* | other | 1 | 1")
SMALL = Core("small", issue=2, units={"a": 1, "b": 2}, table=".* | .* | a | 1 | 1")
ENCODINGS = {
    "turns": DEFAULT,
    "booleans": Encoding(slots="booleans"),
    "integers": Encoding(slots="integers"),
    "linear": Encoding(slots="booleans", dependences="linear"),
    "no windows, no symmetry": Encoding(windows=False, symmetry=False, slots="booleans"),
    "integers, no windows, no symmetry": Encoding(windows=False, symmetry=False, slots="integers"),
    "variable": Encoding(slots="integers", interval="variable"),
    "direct": DIRECT,
    "direct, weights": Encoding(circuits=False, slots="booleans", distances="weights"),
    "direct, integers": Encoding(circuits=False, slots="integers"),
    "direct, integers, weights": Encoding(circuits=False, slots="integers", distances="weights"),
    "direct, linear": Encoding(circuits=False, slots="booleans", dependences="linear"),
    "direct, variable": Encoding(circuits=False, slots="integers", interval="variable"),
}


def roots(*distances: tuple[int, ...]) -> Graph:
    graph = Graph(len(distances[0]))
    graph.nodes = [Node("sqrt", 0, 4, 1)]
    graph.edges = [Edge(0, 0, 4, distance) for distance in distances]
    return graph


def small(seed: int) -> Graph:
    """A graph over one to three loops, of a few operations, some of them illegal as a loop, some legal once they are shifted."""
    rng = random.Random(seed)
    loops = rng.randint(1, 3)
    graph = Graph(loops)
    for k in range(rng.randint(2, 4)):
        graph.nodes.append(Node(f"n{k}", rng.randint(0, 1), 1, rng.choice([0, 1, 1, 2, 3])))
    hidden = [tuple(rng.randint(-1, 1) for _ in range(loops)) for _ in graph.nodes]
    for _ in range(rng.randint(1, 7)):
        source, sink = rng.randrange(len(graph.nodes)), rng.randrange(len(graph.nodes))
        distance = tuple(rng.randint(-1, 1) for _ in range(loops)) if rng.random() < 0.1 else (*[0] * (loops - 1), rng.randint(0, 2))
        if rng.random() < 0.4:
            distance = (*[0] * rng.randrange(loops), 1, *[rng.randint(-1, 1) for _ in range(loops)])[:loops]
        distance = tuple(d + a - b for d, a, b in zip(distance, hidden[source], hidden[sink], strict=True))
        graph.edges.append(Edge(source, sink, rng.randint(0, 3), distance))
    return graph


def fits(graph: Graph, core: Core, interval: int, rows: tuple[int, ...]) -> bool:
    """Whether units and issue width allow these cycles, counted cycle by cycle over a few iterations of the kernel."""
    used: dict[tuple[int, int], int] = {}
    begun: dict[int, int] = {}
    far = 6
    for iteration in range(-far, far):
        for node, row in zip(graph.nodes, rows, strict=True):
            start = iteration * interval + row
            begun[start] = begun.get(start, 0) + 1
            for cycle in range(start, start + node.cycles):
                used[cycle, node.unit] = used.get((cycle, node.unit), 0) + 1
    kernel = range(interval)
    return all(begun.get(c, 0) <= core.issue for c in kernel) and all(used.get((c, u), 0) <= core.counts[u] for c in kernel for u in range(len(core.counts)))


def least_by_enumeration(graph: Graph, core: Core, most: int) -> int | None:
    """All slots of all operations; whether shifts go with them, by the circuits, each of which is walked."""
    circuits = simple_circuits(graph)
    for interval in range(1, most + 1):
        for rows in itertools.product(range(interval), repeat=len(graph.nodes)):
            if fits(graph, core, interval, rows) and all(allows(circuit, rows, interval) for circuit in circuits):
                return interval
    return None


def simple_circuits(graph: Graph) -> list[list[Edge]]:
    found = []

    def walk(path: list[Edge], seen: set[int]) -> None:
        for edge in graph.edges:
            if edge.source == path[-1].sink:
                if edge.sink == path[0].source:
                    found.append([*path, edge])
                elif edge.sink not in seen and edge.sink > path[0].source:
                    walk([*path, edge], seen | {edge.sink})

    for edge in graph.edges:
        if edge.source == edge.sink:
            found.append([edge])
        elif edge.sink > edge.source:
            walk([edge], {edge.source, edge.sink})
    return found


def allows(circuit: list[Edge], rows: tuple[int, ...], interval: int) -> bool:
    """Shifts exist if the distance along each circuit is lexicographically no less than what it asks for: each edge as many whole iterations as its latency takes."""
    asked = sum(-((rows[edge.sink] - rows[edge.source] - edge.latency) // interval) for edge in circuit)
    total = tuple(map(sum, zip(*(edge.distance for edge in circuit), strict=True)))
    return total >= (*[0] * (len(total) - 1), asked)


@pytest.mark.parametrize("seed", range(60))
def test_the_least_interval_is_that_of_enumeration(seed: int) -> None:
    graph = small(seed)
    wanted = least_by_enumeration(graph, SMALL, 6)
    for name, encoding in ENCODINGS.items():
        try:
            found = least_interval(graph, SMALL, encoding=encoding)
        except OrderError:
            assert wanted is None, name
            continue
        assert found.proven and found.schedule is not None, name
        assert check(graph, SMALL, found.schedule) == [], name
        assert found.schedule.interval == wanted or (wanted is None and found.schedule.interval > 6), name


def test_the_enumerated_graphs_are_of_all_kinds() -> None:
    """Legal as they are, legal once shifted, and not at all; bound by circuits, by units and by neither."""
    orders, bounds = set(), set()
    for seed in range(60):
        graph = small(seed)
        try:
            circuits = circuits_bound(graph)
        except OrderError:
            orders.add("none")
            continue
        orders.add("shifted" if any(map(any, outer_shifts(graph))) else "as it is")
        units = resource_bound(graph, SMALL)
        least = least_by_enumeration(graph, SMALL, 6)
        bounds.add("neither" if least != max(circuits, units) else "circuits" if circuits > units else "units")
    assert orders == {"none", "shifted", "as it is"}
    assert bounds == {"neither", "circuits", "units"}


def order_violated(graph: Graph, schedule: Schedule, extent: int) -> str | None:
    """Every instance of every dependence in a nest of ``extent`` iterations a loop, by when its two operations run."""
    outer = graph.depth - 1
    shifts = schedule.shifts or [(0,) * outer] * len(graph.nodes)
    for edge in graph.edges:
        for iteration in itertools.product(range(extent), repeat=graph.depth):
            later = tuple(i + d for i, d in zip(iteration, edge.distance, strict=True))
            if not all(0 <= i < extent for i in later):
                continue
            first = (
                *[i + s for i, s in zip(iteration[:-1], shifts[edge.source], strict=True)],
                iteration[-1] * schedule.interval + schedule.starts[edge.source],
            )
            second = (*[i + s for i, s in zip(later[:-1], shifts[edge.sink], strict=True)], later[-1] * schedule.interval + schedule.starts[edge.sink])
            if second[:-1] < first[:-1] or (second[:-1] == first[:-1] and second[-1] < first[-1] + edge.latency):
                return f"{edge!r} from {iteration}"
    return None


@pytest.mark.parametrize("loops", [1, 2, 3])
@pytest.mark.parametrize("size", [8, 16, 32])
def test_every_dependence_is_kept_in_the_order_of_execution(size: int, loops: int) -> None:
    for seed in range(4):
        graph, copies = (body(size, 1, seed), 1) if loops == 1 else cell(size, loops, seed)
        for encoding in (DEFAULT, DIRECT):
            found = least_interval(graph, CORE, encoding=encoding, copies=copies)
            assert found.schedule is not None
            assert order_violated(graph, found.schedule, 5) is None


def test_the_order_of_execution_is_judged() -> None:
    graph = roots((0, 1), (1, -1))
    assert order_violated(graph, Schedule(4, [0], [(0,)]), 4) is None
    assert order_violated(graph, Schedule(3, [0], [(0,)]), 4) is not None
    assert order_violated(jammed(graph, 0, 2), Schedule(4, [0, 7], [(0,), (0,)]), 4) is not None
    assert order_violated(jammed(graph, 0, 2), Schedule(4, [0, 9], [(0,), (0,)]), 4) is None


def interval(graph: Graph, encoding: Encoding = DEFAULT) -> int:
    found = least_interval(graph, PAPER, encoding=encoding)
    assert found.proven and found.schedule is not None
    return found.schedule.interval


@pytest.mark.parametrize("encoding", [DEFAULT, DIRECT, ENCODINGS["direct, weights"]], ids=["circuits", "direct", "weights"])
def test_the_seven_examples(encoding: Encoding) -> None:
    one = roots((1,))
    assert interval(one, encoding) == 4 and interval(jammed(one, 0, 4), encoding) == 16  # unrolling cannot help
    assert interval(roots((0, 1)), encoding) == 4  # 2
    assert interval(roots((1, 0)), encoding) == 1  # 3
    four = roots((0, 1), (1, 0))
    assert interval(four, encoding) == 4 and interval(jammed(four, 0, 4), encoding) == 4
    assert interval(jammed(roots((0, 1), (1, -1)), 0, 4), encoding) == 4  # 5
    six = roots((0, 2, -1), (2, 0, -1))
    assert interval(jammed(jammed(six, 0, 2), 1, 2), encoding) == 4
    seven = roots((1, -1, 0))
    assert interval(jammed(seven, 0, 4), encoding) == 4


def test_example_5_finds_its_slant() -> None:
    graph = jammed(roots((0, 1), (1, -1)), 0, 4)
    found = least_interval(graph, PAPER).schedule
    assert found is not None
    # Each row two iterations behind the one before: after its result of one to the right.
    assert all(b - a >= 8 for a, b in itertools.pairwise(found.starts))


def test_example_7_takes_shifts_of_the_middle_loop() -> None:
    graph = jammed(roots((1, -1, 0)), 0, 4)
    found = least_interval(graph, PAPER).schedule
    assert found is not None and found.shifts == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert check(graph, PAPER, Schedule(4, [0, 1, 2, 3], [(0, 0)] * 4)) != []


def test_circuits_that_leave_the_iteration_of_an_outer_loop_bound_nothing() -> None:
    graph = Graph(2)
    graph.nodes = [Node("a", 0, 9, 1), Node("b", 1, 9, 1)]
    graph.edges = [Edge(0, 1, 9, (-1, 3)), Edge(1, 0, 9, (2, -7))]
    assert circuits_bound(graph) == 1 and confined(graph).edges == []
    graph.edges[1].distance = (1, -1)
    assert circuits_bound(graph) == 9 and len(confined(graph).edges) == 2
    starts, shifts = shifted(graph, [0, 0], 9)
    assert check(graph, SMALL, Schedule(9, starts, shifts)) == []
    with pytest.raises(OrderError):
        shifted(graph, [0, 0], 8)


def test_no_order_of_execution() -> None:
    for distances in [((0, 0),), ((0, -1),), ((-1, 5),)]:
        with pytest.raises(OrderError):
            circuits_bound(roots(*distances))


def test_longest_paths() -> None:
    paths = longest(3, [Edge(0, 1, 3, (0,)), Edge(1, 2, 4, (0,)), Edge(2, 0, 1, (2,))], 4)
    assert [[int(cell) for cell in row] for row in paths] == [[0, 3, 7], [-3, 0, 4], [-7, -4, 0]]


def test_shifts_of_whole_iterations_take_an_iteration_in_one_kernel() -> None:
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 3, 1), Node("b", 1, 1, 1)]
    graph.edges = [Edge(0, 1, 3, (0,))]
    assert least_interval(graph, SMALL).bound == 1
    found = least_interval(graph, SMALL, encoding=Encoding(circuits=False, shifts="iterations"))
    assert found.proven and found.schedule is not None
    assert found.schedule.interval == 4 and found.schedule.stages == 1


def test_choices_that_do_not_exist_or_do_not_go_together() -> None:
    for choices in ({"slots": "floats"}, {"interval": "variable"}, {"shifts": "iterations"}):
        with pytest.raises(PlanningError):
            Encoding(**choices)  # type: ignore[arg-type]


def test_without_the_solver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(PlanningError, match="pip install"):
        least_interval(roots((1,)), PAPER)


def test_no_time_leaves_it_open() -> None:
    found = least_interval(body(60, 1, 1), CORE, seconds=0.0)
    assert found.schedule is None and not found.proven and found.bound >= 1


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_operations_that_are_tied_to_each_other(name: str) -> None:
    """Two that have to start in one cycle, on a core that starts one: known at once, however much time there is."""
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 0, 1), Node("b", 1, 0, 1)]
    graph.edges = [Edge(0, 1, 0, (0,)), Edge(1, 0, 0, (0,))]
    one = Core("one", issue=1, units={"a": 1, "b": 2}, table=".* | .* | a | 1 | 1")
    with pytest.raises(OrderError, match="tie operations together"):
        least_interval(graph, one, encoding=ENCODINGS[name])
    found = least_interval(graph, SMALL, encoding=ENCODINGS[name])
    assert found.schedule is not None and found.schedule.interval == 1 and found.proven


@pytest.mark.parametrize("name", ["turns", "booleans", "integers", "variable", "direct"])
def test_intervals_end_where_a_longer_one_helps_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is left to the solver to find that out."""
    monkeypatch.setattr(modulo, "ATTEMPTS", 0)
    graph = Graph(1)
    graph.nodes = [Node(str(k), 0, 0, 1) for k in range(3)]
    graph.edges = [Edge(k, (k + 1) % 3, 0, (0,)) for k in range(3)]
    with pytest.raises(OrderError, match="tie operations together"):
        least_interval(graph, SMALL, encoding=ENCODINGS[name])
