"""How values come from one paragraph to another: the passes ``phis``, ``producers``, ``carried``, ``direct`` and ``several``, each of which can be left out.

What none of them has seen to goes through memory: its paragraph writes it to a slot, and those that want it read it from there.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import VALUE, Arg, Flow, Node, Paragraph
from loopwright.targets.multiclet.live import live_values

__all__ = ["carried", "constants", "direct", "give", "phis", "producers", "registers", "several"]

#: Most phis of a paragraph that come through the switch: each takes a command in every paragraph before. No more than a share of its places.
MOST_PHIS: Final = 24
_SHARE: Final = 2
#: Nor of the commands that the cells hold.
_ROOM: Final = 8


def _most_phis(target: Dataflow) -> int:
    processor = target.processor
    return min(MOST_PHIS, processor.depth // _SHARE, processor.buffer * processor.all_cells // _ROOM)


def _passable(flow: Flow, paragraph: Paragraph) -> bool:
    """Whether anything can come to a paragraph through the switch: what ran before it is known."""
    return bool(paragraph.before) and not any(flow.made[each].calls for each in paragraph.before)


def constants(f: Function, target: Dataflow) -> None:
    """Commands have two constants, and operands in memory."""
    f.analysis.two_constants = target.processor.two_constants


def phis(f: Function, target: Dataflow) -> None:
    """Phis come through the switch: at the end of every paragraph before there is a copy for each, in one order."""
    if not target.processor.crosses:
        return
    flow: Flow = f.analysis
    most = _most_phis(target)
    for paragraph in flow.made:
        if _passable(flow, paragraph):
            for phi in paragraph.phis[:most]:
                phi.passed = phi.copied = True


def producers(f: Function, target: Dataflow) -> None:
    """What makes a phi's value stands in the place of the copy, where it can."""
    flow: Flow = f.analysis
    for paragraph in flow.made:
        for phi in paragraph.phis:
            phi.copied = False


def direct(f: Function, target: Dataflow) -> None:
    """What a paragraph has made comes through the switch to those that can only come from it."""
    flow: Flow = f.analysis
    flow.direct = target.processor.crosses
    give(flow)


def several(f: Function, target: Dataflow) -> None:
    """What comes to a paragraph through the switch goes on to those that can only come from it."""
    flow: Flow = f.analysis
    flow.several = target.processor.crosses
    flow.depth = target.processor.depth
    give(flow)


def registers(f: Function, target: Dataflow) -> None:
    """What goes through memory all the same, and is not live across a call, is in registers as far as there are any."""
    f.analysis.registers = target.processor.registers


def give(flow: Flow) -> None:
    """Say of every paragraph with one before it what comes to it through the switch."""
    if not flow.direct and not flow.several:
        return
    for paragraph, live in zip(flow.made, live_values(flow), strict=True):
        paragraph.carried = set()
        if len(paragraph.before) != 1 or not _passable(flow, paragraph):
            continue
        before = flow.made[paragraph.before[0]]
        for value in live:
            # (What is older than a long paragraph cannot be named behind it.)
            if (flow.direct and value.home == before.number) or (flow.several and value in before.carried and len(before.nodes) <= flow.depth):
                paragraph.carried.add(value)


def carried(f: Function, target: Dataflow) -> None:
    """What a loop's step has made comes through the switch where paths meet in it: as a phi of the same value on all paths."""
    if not target.processor.crosses:
        return
    flow: Flow = f.analysis
    most = _most_phis(target)
    joined: dict[Node, dict[int, Node]] = {}
    for paragraph, live in zip(flow.made, live_values(flow), strict=True):
        if len(paragraph.before) < 2 or not paragraph.depth or _head(paragraph) or not _passable(flow, paragraph):
            continue
        wanted = [value for value in live if all(_comes(flow, joined, value, each) for each in paragraph.before)]
        wanted.sort(key=_number)
        for value in wanted[: max(most - len(paragraph.phis), 0)]:
            phi = flow.node("phi", "q", [Arg(VALUE, value) for _ in paragraph.before], paragraph.number, 0)
            phi.passed = True
            phi.copied = bool(paragraph.phis) and paragraph.phis[0].copied
            phi.signed, phi.unsigned = value.signed, value.unsigned
            paragraph.phis.append(phi)
            joined.setdefault(value, {})[paragraph.number] = phi
    if joined:
        _read_nearest(flow, joined)


def _comes(flow: Flow, joined: dict[Node, dict[int, Node]], value: Node, number: int) -> bool:
    """Whether a value is in the switch in a paragraph: nothing but paragraphs with one before them, and phis of the value, on the way from where it is made."""
    while number != value.home:
        if number in joined.get(value, {}):
            return True
        before = flow.made[number].before
        if len(before) != 1 or not _passable(flow, flow.made[number]):
            return False
        number = before[0]
    return True


def _number(node: Node) -> int:
    return node.number


def _head(paragraph: Paragraph) -> bool:
    """Whether a loop begins there: one comes to it from further down."""
    return any(each >= paragraph.number for each in paragraph.before)


def _read_nearest(flow: Flow, joined: dict[Node, dict[int, Node]]) -> None:
    """Of values that have phis, each paragraph reads the phi that one comes by last on every way to it."""
    above = _dominators(flow)

    def nearest(a: Arg, number: int, own: Node | None) -> Arg:
        value = a.node
        if a.kind != VALUE or value is None or value not in joined:
            return a
        phis = joined[value]
        while number != value.home:
            phi = phis.get(number)
            if phi is not None and phi is not own:
                return Arg(VALUE, phi, a.number, a.name, a.memory)
            number = above[number]
        return a

    for paragraph in flow.made:
        for node in paragraph.nodes:
            node.args = [nearest(a, paragraph.number, None) for a in node.args]
        for phi in paragraph.phis:
            phi.args = [nearest(a, before, phi) for a, before in zip(phi.args, paragraph.before, strict=True)]


def _dominators(flow: Flow) -> list[int]:
    """Of each paragraph the nearest one that every way to it comes by (Cooper, Harvey and Kennedy 2001, "A simple, fast dominance algorithm")."""
    above = [-1] * len(flow.made)
    above[0] = 0
    changed = True
    while changed:
        changed = False
        for paragraph in flow.made[1:]:
            found = -1
            for before in paragraph.before:
                if above[before] < 0:
                    continue
                if found < 0:
                    found = before
                    continue
                other = before
                while found != other:
                    while found > other:
                        found = above[found]
                    while other > found:
                        other = above[other]
            if found != above[paragraph.number]:
                above[paragraph.number] = found
                changed = True
    return above
