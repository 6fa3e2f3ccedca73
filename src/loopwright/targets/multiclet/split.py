"""The pass ``split``: paragraphs of more commands than the cells hold are cut."""

from __future__ import annotations

from loopwright.ir.function import NONE, Function
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import JUMPS, Flow, Paragraph

__all__ = ["divide", "run"]


def divide(flow: Flow, paragraph: Paragraph, pieces: int) -> list[Paragraph]:
    """Cut a paragraph into so many parts that run one after the other, the last of which goes where it went; them."""
    parts = [paragraph]
    for left in range(pieces, 1, -1):
        _cut(flow, parts[-1], len(parts[-1].nodes) // left)
        parts.append(flow.made[parts[-1].number + 1])
    return parts


def _cut(flow: Flow, paragraph: Paragraph, at: int) -> None:
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
    place = flow.made.index(paragraph)
    flow.reorder([*flow.made[: place + 1], following, *flow.made[place + 1 :]])


def run(f: Function, target: Dataflow) -> None:
    """Cut paragraphs of more than half of what the cells hold: what comes from others, and goes there, will take commands too."""
    flow: Flow = f.analysis
    most = max(target.processor.buffer * target.processor.all_cells // 2, 4)
    for paragraph in list(flow.made):
        part = paragraph
        while len(part.nodes) > most:
            _cut(flow, part, most)
            part = flow.made[part.number + 1]
