"""Which values are live where paragraphs begin."""

from __future__ import annotations

from loopwright.targets.multiclet.flow import VALUE, Flow, Node

__all__ = ["live_values", "used_in"]


def used_in(flow: Flow) -> list[set[Node]]:
    """The values of other paragraphs that each paragraph's commands read, and what it gives to the phis of those that follow."""
    used: list[set[Node]] = [set() for _ in flow.made]
    for paragraph in flow.made:
        for node in paragraph.nodes:
            for a in node.args:
                if a.kind == VALUE and a.node is not None and a.node.home != paragraph.number:
                    used[paragraph.number].add(a.node)
        for phi in paragraph.phis:
            for position, a in enumerate(phi.args):
                before = paragraph.before[position]
                if a.kind == VALUE and a.node is not None and a.node.home != before:
                    used[before].add(a.node)
    return used


def live_values(flow: Flow) -> list[set[Node]]:
    """The values of other paragraphs that are live where each paragraph begins; its own phis are not among them."""
    live: list[set[Node]] = [set() for _ in flow.made]
    for number, values in enumerate(used_in(flow)):
        for value in values:
            waiting = [number]
            while waiting:
                here = waiting.pop()
                if here != value.home and value not in live[here]:
                    live[here].add(value)
                    waiting.extend(flow.made[here].before)
    return live
