"""What sets a bound: a circuit of the graph that takes as long as the recurrence bound says, and a unit that is busy for as long as the resource bound says."""

from __future__ import annotations

import random

import pytest
from tests.end_to_end.test_loop_nests import both

from loopwright.nests.analysis.circuit import binding_circuit, binding_unit
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.graph import Edge, Graph, Node, graph_of, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import nests
from loopwright.targets import registry
from loopwright.targets.core import Core

CORE = Core("plain", issue=3, units={"one": 1, "two": 2}, table=".* | .* | one | 1 | 1")


def a_graph(rng: random.Random) -> Graph:
    made = Graph(2)
    count = rng.randint(1, 8)
    made.nodes = [Node(f"n{k}", rng.randint(0, 1), rng.randint(1, 9), rng.randint(1, 3)) for k in range(count)]
    for _ in range(rng.randint(0, 3 * count)):
        source, sink = rng.randrange(count), rng.randrange(count)
        outer = rng.choice([0, 0, 0, 1])
        # (Within one iteration, only forwards.)
        inner = rng.choice([0, 1, 1, 2]) if source < sink else rng.choice([1, 2])
        made.edges.append(Edge(source, sink, made.nodes[source].latency, (outer, inner)))
    return made


@pytest.mark.parametrize("seed", range(300))
def test_the_circuit_takes_as_long_as_the_bound(seed: int) -> None:
    graph = a_graph(random.Random(seed))
    bound = recurrence_bound(graph)
    circuit = binding_circuit(graph)
    assert bool(circuit) == (bound > 0)
    assert len(set(circuit)) == len(circuit)
    # By the edges that make it slowest at an interval one below the bound, it does not fit.
    beyond = 0
    for source, sink in zip(circuit, [*circuit[1:], *circuit[:1]], strict=True):
        edges = [edge for edge in graph.edges if (edge.source, edge.sink) == (source, sink) and not edge.distance[0]]
        assert edges
        beyond += max(edge.latency - (bound - 1) * edge.distance[-1] for edge in edges)
    assert beyond > 0 or not circuit


@pytest.mark.parametrize("seed", range(50))
def test_the_unit_is_busy_for_as_long_as_the_bound(seed: int) -> None:
    graph = a_graph(random.Random(seed))
    bound = resource_bound(graph, CORE)
    unit = binding_unit(graph, CORE)
    if unit == "issue":
        assert -(-len(graph.nodes) // CORE.issue) == bound
    else:
        number = CORE.units.index(unit)
        assert -(-sum(node.cycles for node in graph.nodes if node.unit == number) // CORE.counts[number]) == bound


def test_of_a_real_loop() -> None:
    (nest,) = nests(both.compile(target="x86-64-v3").compiled.source)
    core = registry.get("x86-64-v3").core
    assert core is not None
    graph = graph_of(nest, nest.loops[1], dependences(nest), core)
    assert [graph.nodes[k].name for k in binding_circuit(graph)] == ["load.f64", "mul.f64", "sqrt.f64", "store.f64"]
    assert binding_unit(graph, core) == "divide"
