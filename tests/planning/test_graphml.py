"""Graphs of the HatScheT collection's format are read, and those that are none refused."""

from __future__ import annotations

import pytest

from loopwright.planning.graphml import GraphError, read
from loopwright.planning.optimum import least_interval

MODEL = """<ModelInformation><Resources>
<resource name="port" limit="1" latency="2" blockingTime="1"/>
<resource name="sum" limit="-1" latency="1" blockingTime="1"/>
<resource name="root" limit="2" latency="9" blockingTime="5"/>
</Resources></ModelInformation>"""

GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="edge" attr.name="distance"/><graph>
<node id="a"><data key="name">first</data><data key="uses_resource">port</data></node>
<node id="b"><data key="uses_resource">sum</data></node>
<node id="c"><data key="uses_resource">root</data></node>
<node id="d"><data key="uses_resource">port</data></node>
<edge source="a" target="b"><data key="d0">0, 0</data><data key="delay">1</data></edge>
<edge source="b" target="c"><data key="d0">0 0</data><data key="deptype">Data</data></edge>
<edge source="c" target="b"><data key="d0">0 DISTANCE</data></edge>
<edge source="d" target="a"><data key="d0">1 -3</data><data key="deptype">Precedence</data></edge>
</graph></graphml>"""


def test_a_graph_is_read() -> None:
    graph, core = read(GRAPH.replace("DISTANCE", "2"), MODEL)
    assert [(node.name, core.units[node.unit], node.latency, node.cycles) for node in graph.nodes] == [
        ("first", "port", 2, 1),
        ("", "sum", 1, 0),
        ("", "root", 9, 5),
        ("", "port", 2, 1),
    ]
    assert graph.depth == 2
    assert [repr(edge) for edge in graph.edges] == ["0 -> 1 (0, 0) 3", "1 -> 2 (0, 0) 1", "2 -> 1 (0, 2) 9", "3 -> 0 (1, -3) 2"]
    assert [edge.value for edge in graph.edges] == [True, True, True, False]
    assert core.counts == [1, 4, 2] and core.issue == 4


def test_it_is_solved() -> None:
    pytest.importorskip("ortools")
    for distance, wanted in ((1, 10), (2, 5), (5, 3)):
        graph, core = read(GRAPH.replace("DISTANCE", str(distance)), MODEL)
        found = least_interval(graph, core)
        assert found.proven and found.schedule is not None and found.schedule.interval == wanted


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</graphml>", "", "no XML"),
        ("DISTANCE", "x", "distance of the edge from c to b is 'x'"),
        ("0 DISTANCE", "1", "different numbers of loops"),
        ('target="c"', 'target="z"', "from b to z"),
        (">root<", ">cube<", "node c uses cube"),
    ],
)
def test_what_is_no_graph_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        read(GRAPH.replace(old, new).replace("DISTANCE", "1"), MODEL)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(GraphError, match="limit of port is None"):
        read(GRAPH, MODEL.replace('limit="1"', ""))
