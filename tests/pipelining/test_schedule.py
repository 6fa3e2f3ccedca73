"""What a schedule breaks, and what it needs, on schedules small enough to count by hand."""

from __future__ import annotations

from loopwright.nests.analysis.graph import Edge, Graph, Node
from loopwright.pipelining.schedule import DEPENDENCE, ISSUE, SHAPE, UNIT, Schedule, busy, check, live, table
from loopwright.targets.core import Core

CORE = Core("two", issue=2, units={"add": 1, "load": 1}, table="load | .* | load | 2 | 1\n.* | .* | add | 1 | 1")


def chain() -> Graph:
    """A load (2 cycles), an addition that takes the load and what it made an iteration before, a multiplication that keeps the unit for 2 cycles."""
    graph = Graph(2)
    graph.nodes = [Node("load", 1, 2, 1), Node("add", 0, 1, 1), Node("mul", 0, 3, 2)]
    graph.edges = [Edge(0, 1, 2, (0, 0)), Edge(1, 1, 1, (0, 1)), Edge(1, 2, 1, (0, 0))]
    return graph


def kinds(graph: Graph, schedule: Schedule) -> list[str]:
    return [violation.kind for violation in check(graph, CORE, schedule)]


def test_a_schedule_that_holds() -> None:
    assert check(chain(), CORE, Schedule(3, [0, 2, 3])) == []
    assert check(chain(), CORE, Schedule(3, [-7, -5, -4])) == []


def test_what_comes_too_early_is_named() -> None:
    (violation,) = check(chain(), CORE, Schedule(3, [0, 1, 2]))
    assert violation.kind == DEPENDENCE
    assert violation.edge == 0
    assert violation.text == "0 -> 1 (0, 0) 2 has 1 cycles"


def test_a_unit_taken_twice_is_named() -> None:
    violations = check(chain(), CORE, Schedule(2, [0, 2, 3]))
    assert [violation.kind for violation in violations] == [UNIT]
    assert violations[0].row == 0
    assert violations[0].text == "2 of 1 add in cycle 0"


def test_an_operation_longer_than_the_interval_meets_itself() -> None:
    graph = Graph(1)
    graph.nodes = [Node("sqrt", 0, 9, 9)]
    assert busy(graph, CORE, Schedule(4, [1])) == [[2, 0], [3, 0], [2, 0], [2, 0]]
    assert kinds(graph, Schedule(9, [5])) == []
    assert kinds(graph, Schedule(8, [5])) == [UNIT]


def test_no_more_are_issued_than_the_core_starts() -> None:
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 1, 0), Node("b", 0, 1, 0), Node("c", 0, 1, 0)]
    assert kinds(graph, Schedule(1, [0, 0, 0])) == [ISSUE]
    assert kinds(graph, Schedule(2, [0, 1, 0])) == []


def test_outer_distances_and_shifts() -> None:
    graph = Graph(2)
    graph.nodes = [Node("a", 0, 4, 0), Node("b", 1, 4, 0)]
    graph.edges = [Edge(0, 1, 4, (1, -5))]
    assert kinds(graph, Schedule(1, [0, 0])) == []
    graph.edges = [Edge(0, 1, 4, (-1, 5))]
    assert kinds(graph, Schedule(1, [0, 0])) == [DEPENDENCE]
    assert kinds(graph, Schedule(1, [0, 0], [(0,), (1,)])) == []
    assert kinds(graph, Schedule(1, [2, 0], [(0,), (1,)])) == [DEPENDENCE]
    assert kinds(graph, Schedule(1, [0, 0], [(0,), (2,)])) == []
    assert kinds(graph, Schedule(1, [0, 0], [(0, 0), (1, 0)])) == [SHAPE]


def test_negative_distances_slant() -> None:
    graph = Graph(1)
    graph.nodes = [Node("a", 0, 4, 0), Node("b", 1, 4, 0)]
    graph.edges = [Edge(0, 1, 4, (-1,))]
    assert kinds(graph, Schedule(3, [0, 6])) == [DEPENDENCE]
    assert kinds(graph, Schedule(3, [0, 7])) == []
    assert Schedule(3, [0, 7]).stages == 3


def test_live_values_by_hand() -> None:
    # The load lives in cycles 0 and 1, the sum from 2 to its reader in the next iteration, at 5: three rows. Row 0: load, sum of the last but one; row 1 too.
    assert live(chain(), Schedule(3, [0, 2, 3])) == 2
    # Three cycles apart with an interval of 1, three iterations' values wait at once.
    graph = Graph(1)
    graph.nodes = [Node("load", 1, 3, 1), Node("add", 0, 1, 1)]
    graph.edges = [Edge(0, 1, 3, (0,))]
    assert live(graph, Schedule(1, [0, 3])) == 3
    graph.edges = [Edge(0, 1, 3, (0,), value=False)]
    assert live(graph, Schedule(1, [0, 3])) == 0


def test_the_table_shows_rows_and_stages() -> None:
    assert table(chain(), CORE, Schedule(3, [0, 2, 3])) == "cycle | add    | load\n0     | mul[1] | load[0]\n1     | …      |\n2     | add[0] |\n"
