"""Dependence graphs from elsewhere: GraphML with a resource model, as the public collection of the HatScheT library has them.

A node names the resource that it uses; an edge has a distance and a delay, beyond its source's latency. The model, a file of its own, says of each
resource how many there are (``limit``, -1 for any number), its latency, and for how many cycles an operation blocks it. A distance may also be several numbers,
outermost loop first, divided by blanks or commas.
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from loopwright.errors import LoopwrightError
from loopwright.nests.analysis.graph import Edge, Graph, Node
from loopwright.targets.core import Core

__all__ = ["GraphError", "read"]

#: The type of dependence whose sink reads a value.
_VALUE: Final = "Data"


class GraphError(LoopwrightError, ValueError):
    """Text that is no such graph, or no such model."""


def read(graph: str, resources: str) -> tuple[Graph, Core]:
    """The graph, and a core that has just those resources; as many operations start in a cycle as there are.

    Args:
        graph: GraphML.
        resources: the model, XML.

    Raises:
        GraphError: something is missing or no number, or a node uses a resource that there is not.
    """
    latency: dict[str, int] = {}
    cycles: dict[str, int] = {}
    limits: dict[str, int] = {}
    for resource in _root(resources).iter("resource"):
        name = resource.get("name") or ""
        latency[name] = _number(resource.get("latency"), f"latency of {name}")
        cycles[name] = _number(resource.get("blockingTime"), f"blockingTime of {name}")
        limits[name] = _number(resource.get("limit"), f"limit of {name}")
    units = list(limits)
    root = _root(graph)
    number: dict[str, int] = {}
    nodes: list[Node] = []
    keys = {key.get("id"): key.get("attr.name") for key in root.iter() if _tag(key) == "key"}
    for item in root.iter():
        if _tag(item) == "node":
            data = _data(item, keys)
            uses = data.get("uses_resource", "")
            if uses not in limits:
                raise GraphError(f"node {item.get('id')} uses {uses or 'nothing'}, which is no resource of the model")
            number[item.get("id") or ""] = len(nodes)
            nodes.append(Node(data.get("name", ""), units.index(uses), latency[uses], cycles[uses] if limits[uses] >= 0 else 0))
    edges = [_edge(item, _data(item, keys), number, nodes) for item in root.iter() if _tag(item) == "edge"]
    depths = {len(edge.distance) for edge in edges}
    if len(depths) > 1:
        raise GraphError("distances over different numbers of loops")
    made = Graph(depths.pop() if depths else 1)
    made.nodes, made.edges = nodes, edges
    return made, Core("of the model", max(1, len(nodes)), {unit: limits[unit] if limits[unit] >= 0 else len(nodes) for unit in units}, "")


def _root(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise GraphError(f"no XML: {error}") from None


def _tag(item: ElementTree.Element) -> str:
    """Without its namespace."""
    return item.tag.rpartition("}")[2]


def _data(item: ElementTree.Element, keys: dict[str | None, str | None]) -> dict[str, str]:
    """What is known of a node or an edge; by the names of keys, where those have one."""
    return {keys.get(data.get("key")) or data.get("key") or "": (data.text or "").strip() for data in item if _tag(data) == "data"}


def _edge(item: ElementTree.Element, data: dict[str, str], number: dict[str, int], nodes: list[Node]) -> Edge:
    source, sink = item.get("source") or "", item.get("target") or ""
    if source not in number or sink not in number:
        raise GraphError(f"an edge from {source} to {sink}, one of which is no node")
    what = f"the edge from {source} to {sink}"
    distance = tuple([_number(part, f"distance of {what}") for part in data.get("distance", "0").replace(",", " ").split()])
    delay = _number(data.get("delay", "0"), f"delay of {what}")
    return Edge(number[source], number[sink], nodes[number[source]].latency + delay, distance or (0,), data.get("deptype", _VALUE) == _VALUE)


def _number(text: str | None, what: str) -> int:
    try:
        return int(text or "")
    except ValueError:
        raise GraphError(f"the {what} is {text!r}, no whole number") from None
