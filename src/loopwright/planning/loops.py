"""The dependence graphs of real loops: the innermost loops of functions, of the corpora that are shipped and of any other."""

from __future__ import annotations

from loopwright.corpus import collections, files
from loopwright.ir.function import Function
from loopwright.ir.parse import parse
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.graph import Graph, graph_of
from loopwright.nests.analysis.nest import nests
from loopwright.targets.core import Core

__all__ = ["of_corpus", "of_function"]

#: Nests whose dependences take more questions are left out.
_MOST_QUESTIONS = 200


def of_function(f: Function, core: Core) -> list[Graph]:
    """The graphs of the innermost loops of a function that is as the front end made it; of those without branches, in nests that can be read."""
    found: list[Graph] = []
    for nest in nests(f):
        if nest.obstacles or too_many(nest, most=_MOST_QUESTIONS):
            continue
        between = dependences(nest)
        for loop in nest.loops:
            holds = any(other.parent is loop for other in nest.loops)
            if not holds and not any(instr.op.opens for instr in f.code[loop.head + 1 : loop.end]):
                graph = graph_of(nest, loop, between, core)
                if graph.nodes:
                    found.append(graph)
    return found


def of_corpus(name: str, core: Core) -> list[tuple[str, Graph]]:
    """The graphs of a corpus that is shipped, each once, with the names of their functions.

    Raises:
        LoopwrightError: there is no such corpus in this installation.
    """
    found: list[tuple[str, Graph]] = []
    functions: set[str] = set()
    graphs: set[str] = set()
    for context in files.read(collections.shipped(name)).contexts:
        # (The same function stands there for several targets.)
        text = context.function
        body = text[text.index("(") :]
        if body in functions:
            continue
        functions.add(body)
        for graph in of_function(parse(text), core):
            key = f"{[(node.unit, node.latency, node.cycles) for node in graph.nodes]} {graph.edges}"
            if key not in graphs:
                graphs.add(key)
                found.append((context.name or "loop", graph))
    return found
