"""Dependence graphs of several iterations as one."""

from __future__ import annotations

from loopwright.ir.parse import parse
from loopwright.nests.analysis.graph import Edge, Graph, Node, graph_of, jammed, recurrence_bound
from loopwright.nests.analysis.nest import nests
from loopwright.targets import registry


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


def _bound(source: str) -> int:
    """How often iterations of a function's only loop can begin, as far as they wait for each other."""
    f = parse(source)
    core = registry.get("x86-64-v4").core
    assert core is not None
    (nest,) = nests(f)
    return recurrence_bound(graph_of(nest, nest.loops[-1], [], core))


def test_arms_of_a_branch_do_not_wait_for_each_other() -> None:
    """Each begins with what was there in front of it; what comes behind waits for the longer of them, and both for the condition."""
    loop = """function f(%x: ptr, %n: i64, %s0: i32) -> i32
  array x: i32[%n] at %x
  var %s: i32
  %s = copy.i32 %s0
  %i = for 0, %n, 1
    %v = load.i32 x[%i]
    %c = gt.i32 %v, CONDITION
    if %c
      %a = sub.i32 %s, 3
      %b = mul.i32 %a, %v
      %s = copy.i32 %b
    else
      %d = add.i32 %s, %v
      %s = copy.i32 %d
    end
  end
  ret.i32 %s
end
"""
    # A difference, a product and a choice; a comparison and a choice are less.
    alone = _bound(loop.replace("CONDITION", "5"))
    assert alone == _bound(loop.replace("CONDITION", "%s")) == 5
    longer = loop.replace("CONDITION", "%q").replace("    %c = gt", "    %p = mul.i32 %s, %s\n    %q = mul.i32 %p, %v\n    %c = gt")
    # Two products, a comparison, a choice.
    assert _bound(longer) == 8
    # Where nothing is done in the other arm what was handed on stays.
    assert _bound(loop.replace("      %d = add.i32 %s, %v\n      %s = copy.i32 %d\n", "").replace("CONDITION", "5").replace("    else\n", "")) == alone
