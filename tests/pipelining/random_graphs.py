"""Random dependence graphs whose circuits lead to later iterations, and cores to schedule them for."""

from __future__ import annotations

import random

from loopwright.nests.analysis.graph import Edge, Graph, Node
from loopwright.targets.core import Core


def random_core(rng: random.Random) -> Core:
    units = {f"u{k}": rng.choice([1, 1, 2, 3]) for k in range(rng.randint(2, 4))}
    return Core("random", rng.choice([2, 2, 3, 4, 6]), units, ".* | .* | u0 | 1 | 1")


def random_graph(rng: random.Random, count: int, core: Core, depth: int = 1) -> Graph:
    """Operations that mostly take what those shortly before them make, and some edges to later iterations of a loop, whose inner components may be negative."""
    graph = Graph(depth)
    here = (0,) * depth
    for k in range(count):
        graph.nodes.append(Node(str(k), rng.randrange(len(core.counts)), rng.choice([1, 1, 2, 3, 4, 4, 5, 12]), rng.choice([1, 1, 1, 1, 1, 1, 2, 4, 6])))
    for k in range(1, count):
        for _ in range(rng.choice([0, 1, 1, 2, 2])):
            source = max(0, k - rng.randint(1, 8))
            graph.edges.append(Edge(source, k, graph.nodes[source].latency, here))
    for _ in range(rng.randint(0, max(1, count // 6))):
        source = rng.randrange(count)
        sink = rng.randrange(source + 1)
        level = rng.randrange(depth)
        distance = (*[0] * level, rng.choice([1, 1, 1, 2, 3]), *[rng.randint(-2, 2) for _ in range(depth - level - 1)])
        graph.edges.append(Edge(source, sink, rng.choice([graph.nodes[source].latency, 0, 1, 2]), distance))
    return graph
