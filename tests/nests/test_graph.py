"""Dependence graphs of several iterations as one."""

from __future__ import annotations

from loopwright.nests.graph import Edge, Graph, Node, jammed


def test_iterations_that_are_jammed_at_a_slant_wait_for_those_before() -> None:
    """Of one operation, which the next iteration of the outer loop reads, and of two of these, the second one iteration of the inner loop behind the first."""
    graph = Graph(2)
    graph.nodes = [Node("op", 0, 4, 1)]
    graph.edges = [Edge(0, 0, 4, (1, 0))]
    made = jammed(graph, 0, 2, slant=1)
    assert len(made.nodes) == 2
    # The second copy reads the first's result of an iteration before its own; the first reads what the second has made of the iteration of the outer loop before, one
    # further on inside.
    assert [(e.source, e.sink, e.distance, e.latency) for e in made.edges] == [(0, 1, (0, 1), 4), (1, 0, (1, -1), 4)]


def test_without_a_slant_the_loop_inside_stays_as_it_is() -> None:
    graph = Graph(2)
    graph.nodes = [Node("op", 0, 4, 1)]
    graph.edges = [Edge(0, 0, 4, (1, 2))]
    assert [e.distance for e in jammed(graph, 0, 4).edges] == [(0, 2), (0, 2), (0, 2), (1, 2)]
