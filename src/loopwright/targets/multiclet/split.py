"""The pass ``split``: paragraphs of more commands than the cells hold are cut."""

from __future__ import annotations

from loopwright.ir.function import NONE, Function
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import JUMPS, Flow, Paragraph

__all__ = ["divide", "run"]


def divide(flow: Flow, wanted: list[tuple[Paragraph, int]]) -> dict[Paragraph, list[Paragraph]]:
    """Cut paragraphs into so many parts each that run one after the other, the last of which goes where it went; the parts of each."""
    found: dict[Paragraph, list[Paragraph]] = {}
    for paragraph, pieces in wanted:
        parts = found[paragraph] = [paragraph]
        for left in range(pieces, 1, -1):
            parts.append(_cut(flow, parts[-1], len(parts[-1].nodes) // left))
    _put(flow, found)
    return found


def _cut(flow: Flow, paragraph: Paragraph, at: int) -> Paragraph:
    """The second part of a paragraph, behind all others; ``_put`` gives it its place."""
    following = Paragraph(len(flow.made), paragraph.first, paragraph.depth)
    following.cut = True
    # (Jumps say where the second goes on: the first goes on with the second.)
    kept, moved = [node for node in paragraph.nodes[:at] if node.name not in JUMPS], [node for node in paragraph.nodes[:at] if node.name in JUMPS]
    following.nodes = moved + paragraph.nodes[at:]
    paragraph.nodes = kept
    following.tested, following.following, following.calls = paragraph.tested, paragraph.following, paragraph.calls
    following.further = paragraph.further
    paragraph.tested, paragraph.following, paragraph.further, paragraph.calls = NONE, following.number, [], False
    following.before = [paragraph.number]
    for each in following.after():
        before = flow.made[each].before if each != following.number else following.before
        before[before.index(paragraph.number)] = following.number
    flow.made.append(following)
    return following


def _put(flow: Flow, parts: dict[Paragraph, list[Paragraph]]) -> None:
    """Parts that have been cut off stand behind those that they have been cut off from."""
    if not parts:
        return
    new = {part for each in parts.values() for part in each[1:]}
    flow.reorder([part for paragraph in flow.made if paragraph not in new for part in parts.get(paragraph, (paragraph,))])


def run(f: Function, target: Dataflow) -> None:
    """Cut paragraphs of more than half of what the cells hold: what comes from others, and goes there, will take commands too."""
    flow: Flow = f.analysis
    most = max(target.processor.buffer * target.processor.all_cells // 2, 4)
    found: dict[Paragraph, list[Paragraph]] = {}
    for paragraph in list(flow.made):
        parts = [paragraph]
        while len(parts[-1].nodes) > most:
            parts.append(_cut(flow, parts[-1], most))
        if len(parts) > 1:
            found[paragraph] = parts
    _put(flow, found)
