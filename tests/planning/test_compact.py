"""Of the schedules with the least interval, the one with the fewest stages, and of those the one with the fewest live values, by enumeration."""

from __future__ import annotations

import itertools
import random

import pytest

from loopwright.nests.analysis.graph import Edge, Graph, Node, jammed
from loopwright.pipelining.schedule import Schedule, check, live
from loopwright.planning.compact import compact
from loopwright.planning.encoding import Encoding
from loopwright.planning.factors import cell, factors, splits
from loopwright.planning.generate import CORE, body
from loopwright.planning.optimum import least_interval
from loopwright.targets.core import Core

pytest.importorskip("ortools")

SMALL = Core("small", issue=2, units={"a": 1, "b": 2}, table=".* | .* | a | 1 | 1")
PAPER = Core("paper", issue=64, units={"sqrt": 1}, table="sqrt | .* | sqrt | 4 | 1")


def roots(*distances: tuple[int, ...]) -> Graph:
    graph = Graph(len(distances[0]))
    graph.nodes = [Node("sqrt", 0, 4, 1)]
    graph.edges = [Edge(0, 0, 4, distance) for distance in distances]
    return graph


def small(seed: int) -> Graph:
    """Up to four operations over two loops; legal as it is."""
    rng = random.Random(seed)
    graph = Graph(2)
    graph.nodes = [Node(f"n{k}", rng.randint(0, 1), 1, 1) for k in range(rng.randint(2, 4))]
    for sink in range(1, len(graph.nodes)):
        for source in rng.sample(range(sink), rng.randint(1, min(2, sink))):
            graph.edges.append(Edge(source, sink, rng.randint(0, 3), (0, 0), rng.random() < 0.8))
    for _ in range(rng.randint(0, 2)):
        source, sink = sorted([rng.randrange(len(graph.nodes)), rng.randrange(len(graph.nodes))], reverse=True)
        graph.edges.append(Edge(source, sink, rng.randint(0, 2), rng.choice([(0, 1), (0, 2), (1, -1)])))
    return graph


def by_enumeration(graph: Graph, core: Core, interval: int, most: int) -> tuple[int, int] | None:
    """The fewest stages with that interval, and the fewest live values with those; every start of every operation is tried."""
    for stages in range(1, most + 1):
        found = []
        for starts in itertools.product(range(stages * interval), repeat=len(graph.nodes)):
            schedule = Schedule(interval, list(starts))
            if not check(graph, core, schedule):
                found.append(live(graph, schedule))
        if found:
            return stages, min(found)
    return None


@pytest.mark.parametrize("dependences", ["structured", "linear"])
def test_stages_and_live_values_are_the_fewest(dependences: str) -> None:
    seen = set()
    for seed in range(40):
        graph = small(seed)
        best = least_interval(graph, SMALL)
        assert best.proven and best.schedule is not None
        if len(graph.nodes) ** best.schedule.interval > 300:
            continue
        wanted = by_enumeration(graph, SMALL, best.schedule.interval, 4)
        found = compact(graph, SMALL, best.schedule, encoding=Encoding(circuits=False, slots="booleans", dependences=dependences))
        assert check(graph, SMALL, found.schedule) == []
        assert found.stages_proven and found.registers_proven
        if wanted is None:
            assert found.stages > 4
            continue
        assert (found.stages, found.registers, found.fewest) == (*wanted, wanted[1]), seed
        seen.add(wanted)
    assert len(seen) > 4


@pytest.mark.parametrize("distances", ["booleans", "weights"])
def test_shifts_go_over_as_few_outer_iterations_as_they_can(distances: str) -> None:
    encoding = Encoding(circuits=False, slots="booleans", distances=distances)
    seven = jammed(roots((1, -1, 0)), 0, 4)
    best = least_interval(seven, PAPER).schedule
    assert best is not None
    found = compact(seven, PAPER, best, encoding=encoding)
    assert found.spreads == [0, 3]
    assert check(seven, PAPER, found.schedule) == []
    # The same with its copies far apart: it is brought together.
    far = Schedule(best.interval, best.starts, [(0, 0), (0, 5), (0, 9), (0, 20)])
    assert check(seven, PAPER, far) == []
    again = compact(seven, PAPER, far, encoding=encoding)
    assert again.spreads == [0, 3] and again.stages_proven
    assert compact(seven, PAPER, far, seconds=0.0, encoding=encoding).spreads == [0, 20]
    shifts = again.schedule.shifts
    assert [max(shift[k] for shift in shifts) - min(shift[k] for shift in shifts) for k in range(2)] == [0, 3]


def test_the_slant_of_example_5_is_the_least() -> None:
    five = jammed(roots((0, 1), (1, -1)), 0, 4)
    best = least_interval(five, PAPER).schedule
    assert best is not None
    found = compact(five, PAPER, best)
    # Its result and one more to the right: 4 + 4 cycles behind, and a slot of its own.
    assert [b - a for a, b in itertools.pairwise(found.schedule.starts)] == [9, 9, 9]
    assert found.stages == 7


def test_without_time_the_schedule_is_kept() -> None:
    graph = body(40, 1, 3)
    best = least_interval(graph, CORE).schedule
    assert best is not None
    found = compact(graph, CORE, best, seconds=0.0)
    assert check(graph, CORE, found.schedule) == []
    assert found.stages <= best.stages and not found.stages_proven and not found.registers_proven


def test_a_schedule_gets_no_worse() -> None:
    for seed in range(3):
        graph = body(24, 1, seed)
        best = least_interval(graph, CORE).schedule
        assert best is not None
        found = compact(graph, CORE, best, seconds=5.0)
        assert found.schedule.interval == best.interval and found.stages <= best.stages
        assert found.fewest <= found.registers == live(graph, found.schedule)


def test_a_body_without_operations() -> None:
    for encoding in (Encoding(), Encoding(circuits=False)):
        found = least_interval(Graph(2), SMALL, encoding=encoding)
        assert found.proven and found.schedule is not None and found.schedule.interval == 1
        assert compact(Graph(2), SMALL, found.schedule).stages == 0


# --- factors ------------------------------------------------------------------------------------------------------


def test_splits() -> None:
    assert splits(4, 2) == [(1, 4), (2, 2), (4, 1)]
    assert splits(1, 0) == [()] and splits(2, 0) == []
    assert [edge.distance for edge in cell(roots((1, 0, 0)), (2, 1)).edges] == [(0, 0, 0), (1, 0, 0)]
    assert len(cell(roots((1, 0, 0)), (2, 3)).nodes) == 6


@pytest.mark.parametrize(
    ("distances", "chosen"),
    [
        ([(0, 1)], (4,)),
        ([(1, 0)], (1,)),
        ([(0, 1), (1, 0)], (4,)),
        ([(0, 1), (1, -1)], (4,)),
        ([(0, 2, -1), (2, 0, -1)], (1, 1)),
        ([(1, -1, 0)], (1, 1)),
    ],
    ids=["2", "3", "4", "5", "6", "7"],
)
def test_one_cycle_an_old_iteration_is_found(distances: list[tuple[int, ...]], chosen: tuple[int, ...]) -> None:
    best = factors(roots(*distances), PAPER)[0]
    assert best.factors == chosen and best.cycles == 1.0 and best.proven


def test_no_unrolling_helps_example_1() -> None:
    assert [tried.cycles for tried in factors(roots((1,)), PAPER)] == [4.0]


def test_of_splits_the_one_with_the_least_shifts_in_outer_loops_is_best() -> None:
    tried = factors(roots((0, 0, 1), (0, 1, -1), (1, -1, 0)), PAPER)
    assert [one.factors for one in tried] == [(1, 4), (2, 2), (4, 1), (1, 1)]
    assert [one.cycles for one in tried] == [1.0, 1.0, 1.0, 4.0]
    assert [one.spreads for one in tried] == [[0, 0], [0, 1], [0, 3], [0, 0]]
