"""The modulo scheduler: every schedule holds, its interval is the least for graphs small enough to try all, and nearly always the bound for larger ones."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.pipelining.random_graphs import random_core, random_graph

from loopwright.nests.analysis.graph import Edge, Graph, Node, jammed, recurrence_bound
from loopwright.pipelining import modulo
from loopwright.pipelining.modulo import InTurn, interval_bound, long_enough, modulo_schedule, shifts_of
from loopwright.pipelining.schedule import Schedule, check, live
from loopwright.pipelining.steady import kernel_order, ranks, steady_interval
from loopwright.targets.core import Core

SQRT = Core("sqrt", 1 << 20, {"sqrt": 1}, "sqrt | .* | sqrt | 4 | 1")


def strip(*distances: tuple[int, ...]) -> Graph:
    """One square root that takes earlier ones."""
    graph = Graph(len(distances[0]))
    graph.nodes = [Node("sqrt", 0, 4, 1)]
    graph.edges = [Edge(0, 0, 4, distance) for distance in distances]
    return graph


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    at_bound = total = 0
    for _ in range(60):
        core = random_core(rng)
        depth = rng.randint(1, 3)
        graph = random_graph(rng, rng.randint(2, 50), core, depth)
        cells = 1
        for level in range(depth - 1):
            factor = rng.choice([1, 1, 2, 3]) if len(graph.nodes) * cells < 80 else 1
            graph = jammed(graph, level, factor)
            cells *= factor
        for asked in (0, cells):
            found = modulo_schedule(graph, core, asked)
            assert found is not None
            assert check(graph, core, found) == []
            assert min(found.starts) == 0
            total += 1
            at_bound += found.interval == interval_bound(graph, core, asked)
            if found.shifts and asked:
                size = len(graph.nodes) // cells
                assert all(found.shifts[node] == found.shifts[node // size * size] for node in range(len(graph.nodes)))
    assert at_bound >= 0.95 * total


def possible(graph: Graph, core: Core, interval: int, longest: int) -> bool:
    """Whether any schedule of an interval holds, by trying all."""
    times = range(longest)
    return any(not check(graph, core, Schedule(interval, [interval, *starts])) for starts in itertools.product(times, repeat=len(graph.nodes) - 1))


def test_no_smaller_interval_is_possible() -> None:
    rng = random.Random(5)
    tight = 0
    for _ in range(60):
        core = random_core(rng)
        graph = random_graph(rng, rng.randint(2, 4), core)
        for node in graph.nodes:
            node.latency, node.cycles = min(node.latency, 3), min(node.cycles, 2)
        for edge in graph.edges:
            edge.latency = min(edge.latency, 2)
        found = modulo_schedule(graph, core)
        assert found is not None
        if found.interval > 1:
            tight += 1
            assert not possible(graph, core, found.interval - 1, 3 * (found.interval - 1) + 8)
    assert tight > 20


def test_a_circuit_within_an_iteration_cannot_be_scheduled() -> None:
    graph = strip((0,))
    assert modulo_schedule(graph, SQRT) is None
    graph = strip((-1,))
    assert modulo_schedule(graph, SQRT) is None
    graph = strip((-1, 5))
    assert modulo_schedule(graph, SQRT) is None


def tied(latencies: tuple[int, int], cycles: int = 1) -> Graph:
    """Two operations of one unit that circuits within an iteration tie to each other."""
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 0, cycles), Node("b", 0, 0, cycles)]
    graph.edges = [Edge(0, 1, latencies[0], (0,)), Edge(1, 0, latencies[1], (0,))]
    return graph


def any_core(issue: int, units: int, in_order: bool = False) -> Core:
    return Core("core", issue, {"unit": units}, ".* | .* | unit | 1 | 1", results_in_order=in_order)


@pytest.mark.parametrize(
    ("latencies", "cycles", "issue", "units", "wanted"),
    [
        ((0, 0), 1, 1, 1, False),  # in one cycle, and one operation starts in a cycle
        ((0, 0), 1, 2, 1, False),  # or there is one unit
        ((0, 0), 0, 2, 1, True),
        ((0, 0), 1, 2, 2, True),
        ((1, -1), 1, 1, 1, True),
        ((1, -1), 2, 1, 1, False),  # one behind the other, and the unit is kept for two cycles
        ((1, -2), 2, 1, 1, True),
        ((2, -1), 1, 4, 4, False),  # the circuit waits for itself
    ],
)
def test_operations_that_are_tied_to_each_other(latencies: tuple[int, int], cycles: int, issue: int, units: int, wanted: bool) -> None:
    graph = tied(latencies, cycles)
    core = any_core(issue, units)
    found = modulo_schedule(graph, core)
    assert (found is not None) == wanted
    if found is not None:
        assert check(graph, core, found) == []


def test_what_is_tied_by_circuits_that_lead_back_and_on_again() -> None:
    graph = tied((0, 0))
    graph.edges[0].distance, graph.edges[1].distance = (3,), (-3,)
    # Three iterations apart in one cycle of the kernel.
    assert modulo_schedule(graph, any_core(1, 2)) is None
    found = modulo_schedule(graph, any_core(2, 2))
    assert found is not None and check(graph, any_core(2, 2), found) == []


@pytest.mark.parametrize("seed", range(4))
def test_whether_there_is_a_schedule_at_all(seed: int) -> None:
    """As trying all says it, for circuits within iterations; and where there is one, operations in turn are one, too, at any longer interval."""
    rng = random.Random(seed)
    none = 0
    for _ in range(120):
        core = any_core(rng.choice([1, 1, 2]), rng.choice([1, 1, 2]))
        graph = Graph(1)
        graph.nodes = [Node(str(k), 0, 1, rng.choice([0, 1, 1, 2])) for k in range(3)]
        starts = [rng.randint(0, 2) for _ in graph.nodes]
        later = [rng.randint(-1, 1) for _ in graph.nodes]
        for _ in range(rng.randint(3, 7)):
            source, sink = rng.sample(range(3), 2)
            latency = starts[sink] - starts[source] - rng.choice([0, 0, 0, 1])
            graph.edges.append(Edge(source, sink, latency, (rng.choice([0, 0, 0, 1]) + later[sink] - later[source],)))
        found = modulo_schedule(graph, core)
        in_turn = InTurn(graph, core, graph.edges)
        assert in_turn.possible == (found is not None)
        if found is None:
            none += 1
            last = min(4, long_enough(graph, graph.edges))
            assert not any(possible(graph, core, interval, 2 * interval + 6) for interval in range(1, last + 1))
            continue
        assert check(graph, core, found) == []
        for interval in (in_turn.interval, in_turn.interval + 3):
            assert check(graph, core, Schedule(interval, in_turn.starts(interval))) == []
    assert 5 < none < 115


def test_the_last_resort_is_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else finds one, operations run in turn."""
    monkeypatch.setattr(modulo, "_at", lambda *_: None)
    rng = random.Random(1)
    for _ in range(20):
        core = random_core(rng)
        graph = random_graph(rng, rng.randint(2, 12), core)
        found = modulo_schedule(graph, core)
        assert found is not None and check(graph, core, found) == []


@pytest.mark.parametrize("in_order", [False, True])
def test_operations_in_a_circle_that_takes_no_time_are_put_in_some_order(in_order: bool) -> None:
    graph = tied((0, 0))
    graph.nodes.append(Node("behind", 0, 0, 1))
    graph.edges.append(Edge(1, 2, 0, (0,)))
    core = any_core(4, 4, in_order)
    found = modulo_schedule(graph, core)
    assert found is not None and check(graph, core, found) == []
    assert ranks(graph, Schedule(1, [0, 0, 0])) == [0, 0, 1]
    assert kernel_order(graph, Schedule(1, [0, 0, 0])) == [0, 1, 2]
    assert steady_interval(graph, core, found) == 1


def test_nothing_to_schedule() -> None:
    found = modulo_schedule(Graph(1), SQRT)
    assert found is not None
    assert (found.interval, found.starts, found.stages) == (1, [], 0)


def test_rows_jammed_straight_run_side_by_side() -> None:
    graph = jammed(strip((0, 1), (1, 0)), 0, 4)
    found = modulo_schedule(graph, SQRT)
    assert found is not None
    # Four square roots in the four cycles that one waits for the other.
    assert found.interval == recurrence_bound(graph) == 4
    assert sorted(start % 4 for start in found.starts) == [0, 1, 2, 3]


def test_rows_that_look_ahead_run_behind_each_other() -> None:
    graph = jammed(strip((0, 1), (1, -1)), 0, 4)
    assert any(edge.distance == (0, -1) for edge in graph.edges)
    found = modulo_schedule(graph, SQRT)
    assert found is not None
    assert found.interval == 4
    for above, below in itertools.pairwise(found.starts):
        # A column's latency behind the next column of the row above: at least two intervals, and a cycle more where the unit is taken.
        assert 8 <= below - above <= 9


def test_copies_are_shifted_where_an_outer_distance_turns_negative() -> None:
    graph = jammed(strip((1, -1, 0)), 0, 3)
    assert any(edge.distance == (0, -1, 0) for edge in graph.edges)
    assert shifts_of(graph, 3) == [(0, 0), (0, 1), (0, 2)]
    found = modulo_schedule(graph, SQRT, 3)
    assert found is not None
    assert found.shifts == [(0, 0), (0, 1), (0, 2)]
    assert check(graph, SQRT, found) == []
    # Shifted, the copies are in one iteration, each a latency behind the one above; only the unit bounds how often.
    assert found.interval == 3
    assert found.starts == [0, 4, 8]


def test_values_live_no_longer_than_they_must() -> None:
    # A load that only the last of a chain reads.
    core = Core("wide", 4, {"any": 4}, ".* | .* | any | 1 | 1")
    graph = Graph(1)
    graph.nodes = [Node("load", 0, 1, 1), *[Node(f"a{k}", 0, 3, 1) for k in range(5)], Node("last", 0, 1, 1)]
    graph.edges = [*[Edge(k, k + 1, 3, (0,)) for k in range(1, 5)], Edge(5, 6, 3, (0,)), Edge(0, 6, 1, (0,))]
    found = modulo_schedule(graph, core)
    assert found is not None
    assert found.starts[6] - found.starts[0] == 1
    # The chain's values live 15 cycles, 8 of them in even ones; the load one, which is even too.
    assert (found.interval, found.starts[0] % 2, live(graph, found)) == (2, 0, 9)


def rooted(in_order: bool) -> tuple[Graph, Core]:
    """A load, a square root that keeps its unit for 29 cycles, a store; two operations a cycle, one of them of memory."""
    table = "(load|store) | .* | memory | 4 | 1\n.* | .* | root | 33 | 29"
    core = Core("rooted", 2, {"memory": 1, "root": 1}, table, results_in_order=in_order)
    graph = Graph(1)
    graph.nodes = [Node("load", 0, 4, 1), Node("sqrt", 1, 33, 29), Node("store", 0, 4, 1)]
    graph.edges = [Edge(0, 1, 4, (0,)), Edge(1, 2, 33, (0,))]
    return graph, core


def test_what_an_iteration_takes() -> None:
    graph, core = rooted(False)
    # In the order of the text, the square root waits for the load, and the store for the square root; the next load starts beside the store's next cycle.
    assert steady_interval(graph, core) == 4 + 33 + 1
    found = modulo_schedule(graph, core)
    assert found is not None
    assert steady_interval(graph, core, found) == found.interval == 29


def test_what_takes_a_while_to_get_going_does_not_count() -> None:
    """The first iterations wait for results of many cycles that later ones find done: a cycle more, once."""
    core = Core("core", 2, {"a": 2}, ".* | .* | a | 1 | 1")
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 1, 2), Node("b", 0, 12, 1)]
    graph.edges = [Edge(1, 0, 12, (3,)), Edge(1, 0, 0, (1,))]
    # Three iterations before, so four cycles from one to the next; or fewer, where the kernel has the sink that much later.
    assert steady_interval(graph, core) == 4
    assert steady_interval(graph, core, Schedule(2, [6, 0])) == 2


def test_what_comes_again_after_several_iterations_counts_as_it_is() -> None:
    """Two units for three operations of three cycles: nine cycles for two iterations, which is no more than five for one."""
    core = Core("core", 1, {"unit": 2}, ".* | .* | unit | 1 | 1")
    graph = Graph(1)
    graph.nodes = [Node(str(k), 0, 1, 3) for k in range(3)]
    assert steady_interval(graph, core) == 5


@pytest.mark.parametrize("seed", range(3))
def test_kernels_take_their_interval(seed: int) -> None:
    """Where results may come in any order, no operation waits for longer than its schedule says, and in the long run none has to wait for less than the bounds."""
    rng = random.Random(seed)
    for _ in range(40):
        core = random_core(rng)
        graph = random_graph(rng, rng.randint(1, 12), core)
        found = modulo_schedule(graph, core)
        assert found is not None
        assert steady_interval(graph, core, found) <= found.interval


def test_results_that_have_to_come_in_order() -> None:
    graph, core = rooted(True)
    free = modulo_schedule(*rooted(False))
    assert free is not None
    # A load or store that starts behind the square root waits for 29 cycles.
    assert steady_interval(graph, core, free) > 30
    found = modulo_schedule(graph, core)
    assert found is not None
    assert check(graph, core, found) == []
    # One of them starts just before the next square root, the other beside it: no less is possible with one memory unit.
    assert steady_interval(graph, core, found) == found.interval == 30
