"""Random dependence graphs that look like the bodies of loops, the same for the same seed.

A body is drawn in an order of execution that stays hidden: an operation takes the results of earlier ones of its iteration (recent ones rather than old ones), or
what an earlier iteration has left, so that every distance is lexicographically positive, or 0 and leads forwards: the loop it came from exists. What operations
there are, and how often, is as in loops of numbers:

=========  ====  =======================  =======  ======
operation  of    unit                     latency  cycles
=========  ====  =======================  =======  ======
load       24 %  memory, 2 of them              4       1
store       8 %  memory                         1       1
add        34 %  add, 2 of them               1-3       1
multiply   24 %  multiply, 1 of them            4       1
divide      3 %  divide, 1 of them             12       6
compare     7 %  add                            1       1
=========  ====  =======================  =======  ======

Four start in a cycle. Circuits: each operation but loads and stores takes, with a probability of 12 % (35 % in ``DENSE`` graphs, 25 % in ``LONG`` ones), what an
operation at its place or up to twelve later (in ``LONG`` ones any later) has left one to three iterations before, in most cases one; a store is ordered before a load
of a later iteration in a fifth of the cases. Graphs over several loops carry about half of that in an outer loop, with inner components of -2 to 2. ``cell`` jams
iterations of the outer loops, which makes negative distances of those.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph, Node, jammed
from loopwright.targets.core import Core

__all__ = ["CORE", "DENSE", "LONG", "PLAIN", "Circuits", "body", "cell"]

CORE: Final = Core(
    "four at once",
    issue=4,
    units={"memory": 2, "add": 2, "multiply": 1, "divide": 1},
    registers=32,
    table="load.* | .* | memory | 4 | 1\nstore.* | .* | memory | 1 | 1\nmul.* | .* | multiply | 4 | 1\n(div|sqrt).* | .* | divide | 12 | 6\n.* | .* | add | 2 | 1",
)

#: name, unit, latencies, cycles, of a hundred
_KINDS: Final = (
    ("load", 0, (4,), 1, 24),
    ("store", 0, (1,), 1, 8),
    ("add", 1, (1, 2, 3), 1, 34),
    ("multiply", 2, (4,), 1, 24),
    ("divide", 3, (12,), 6, 3),
    ("compare", 1, (1,), 1, 7),
)
_ORDERED: Final = 0.2
_RECENT: Final = 6


@dataclass(frozen=True, slots=True)
class Circuits:
    """How many there are.

    Attributes:
        share: probability that an operation closes one.
        reach: over how many operations at most.
    """

    share: float
    reach: int


#: As in loops of numbers; many short ones; and such as go round the whole body, which ties most of it together.
PLAIN: Final = Circuits(0.12, 2 * _RECENT)
DENSE: Final = Circuits(0.35, 2 * _RECENT)
LONG: Final = Circuits(0.25, 1000)


def body(size: int, loops: int, seed: int, circuits: Circuits = PLAIN) -> Graph:
    """A body of ``size`` operations in a nest of ``loops``."""
    rng = random.Random(f"{size} {loops} {seed} {circuits.share} {circuits.reach}")
    graph = Graph(loops)
    here = (0,) * loops
    kinds = rng.choices(_KINDS, [kind[4] for kind in _KINDS], k=size)
    made: list[int] = []  # those whose values can be taken
    for node, (name, unit, latencies, cycles, _) in enumerate(kinds):
        graph.nodes.append(Node(f"{name}{node}", unit, rng.choice(latencies), cycles))
        if name != "load" and made:
            for source in {_recent(rng, made) for _ in range(1 if name == "store" else 2)}:
                graph.edges.append(Edge(source, node, graph.nodes[source].latency, here))
        if name != "store":
            made.append(node)
    loads = [node for node, kind in enumerate(kinds) if kind[0] == "load"]
    for node, kind in enumerate(kinds):
        if kind[0] == "store":
            if loads and rng.random() < _ORDERED:
                graph.edges.append(Edge(node, rng.choice(loads), 1, _later(rng, loops), False))
        elif kind[0] != "load" and rng.random() < circuits.share:
            later = [source for source in made if node <= source <= node + circuits.reach]
            source = rng.choice(later)
            graph.edges.append(Edge(source, node, graph.nodes[source].latency, _later(rng, loops)))
    return graph


def _recent(rng: random.Random, made: list[int]) -> int:
    back = min(len(made), 1 + int(rng.expovariate(1 / _RECENT)))
    return made[-back]


def _later(rng: random.Random, loops: int) -> tuple[int, ...]:
    """A lexicographically positive vector."""
    first = loops - 1
    while first > 0 and rng.random() < 0.5:
        first -= 1
    ahead = rng.choices((1, 2, 3), (8, 1, 1))[0]
    return (*[0] * first, ahead, *[rng.randint(-2, 2) for _ in range(loops - 1 - first)])


def cell(size: int, loops: int, seed: int, circuits: Circuits = PLAIN) -> tuple[Graph, int]:
    """A body in a nest of two or three loops, jammed: four iterations of the one outer loop, two of each of two; ``size`` operations in all.

    With one loop it is the body itself. Gives the graph and how many old iterations it has.
    """
    if loops == 1:
        return body(size, 1, seed, circuits), 1
    graph = body(max(1, size // 4), loops, seed, circuits)
    if loops == 2:
        return jammed(graph, 0, 4), 4
    return jammed(jammed(graph, 0, 2), 1, 2), 4
