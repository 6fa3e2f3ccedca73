"""Random graphs are legal loops and the same for the same seed; graphs of real loops are read."""

from __future__ import annotations

import pytest

from loopwright.nests.analysis.graph import Graph
from loopwright.planning.circuits import circuits_bound, components, confined, outer_shifts
from loopwright.planning.generate import CORE, DENSE, LONG, PLAIN, Circuits, body, cell
from loopwright.planning.loops import of_corpus
from loopwright.targets.core import Core
from loopwright.targets.x86.core import CORE as X86


def told(graph: Graph) -> str:
    return f"{[(node.name, node.unit, node.latency, node.cycles) for node in graph.nodes]} {[(edge, edge.value) for edge in graph.edges]}"


@pytest.mark.parametrize("circuits", [PLAIN, DENSE, LONG])
@pytest.mark.parametrize("loops", [1, 2, 3])
def test_random_bodies_come_from_an_order_of_execution(loops: int, circuits: Circuits) -> None:
    for seed in range(5):
        graph = body(60, loops, seed, circuits)
        assert len(graph.nodes) == 60 and graph.depth == loops
        zero = (0,) * loops
        assert all(edge.distance > zero or (edge.distance == zero and edge.source < edge.sink) for edge in graph.edges)
        assert told(graph) == told(body(60, loops, seed, circuits)) != told(body(60, loops, seed + 1, circuits))


def test_dense_circuits_are_more() -> None:
    def carried(circuits: Circuits) -> int:
        return sum(any(edge.distance) for seed in range(10) for edge in body(100, 1, seed, circuits).edges)

    assert carried(DENSE) > 2 * carried(PLAIN)


def test_long_circuits_tie_more_of_a_body_together() -> None:
    def largest(circuits: Circuits) -> int:
        most = 0
        for seed in range(10):
            inner = confined(body(60, 1, seed, circuits))
            where = components(60, inner.edges)
            most = max(most, max(where.count(number) for number in where))
        return most

    assert largest(LONG) > 3 * largest(PLAIN)


def test_cells_take_shifts_in_outer_loops_and_have_an_order() -> None:
    shifts = 0
    for seed in range(10):
        graph, copies = cell(40, 3, seed, DENSE)
        assert copies == 4 and len(graph.nodes) == 40
        shifts += any(map(any, outer_shifts(graph)))
        assert circuits_bound(graph) >= 1
    assert shifts > 0
    assert cell(40, 1, 0)[1] == 1 and len(cell(40, 1, 0)[0].nodes) == 40


@pytest.mark.parametrize("core", [X86, CORE], ids=["x86-64", "four at once"])
def test_loops_of_the_corpora_are_read(core: Core) -> None:
    found = of_corpus("programs", core)
    assert len(found) > 100
    assert {graph.depth for _, graph in found} == {1, 2, 3}
    assert len({told(graph) for _, graph in found}) > 0.9 * len(found)
    bounds = [circuits_bound(graph) for _, graph in found]
    assert sum(bound > 1 for bound in bounds) > 20
