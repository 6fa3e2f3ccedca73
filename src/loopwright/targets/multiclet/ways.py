"""The pass ``ways``: a paragraph that asks and then goes on with a short one that asks again asks both, and goes on in three ways.

Each paragraph costs the way to the next one. The second paragraph only computes, and is run by the first whether it is wanted or not: its commands fill the time in which
the first would be decided. Its jumps hold where it would have been come to as well: of the jumps of a paragraph at most one is taken.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function
from loopwright.targets.multiclet.choices import worth
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import JUMPS, TARGET, VALUE, Arg, Flow, Node, Paragraph

__all__ = ["run"]

#: Most paragraphs that one takes in.
_MOST: Final = 3
#: A paragraph that is taken in has no more than a share of what the cells could fetch while another is decided: it may be for nothing.
_SHARE: Final = 3


class _Ways:
    """One run of the pass."""

    def __init__(self, f: Function, target: Dataflow) -> None:
        self.flow: Flow = f.analysis
        self.made = self.flow.made
        self.forms = target.forms
        self.room = target.processor.buffer * target.processor.all_cells // 2
        self.short = worth(target.processor) // _SHARE
        self.cycles = target.processor.fetch_to_issue + target.processor.latencies["jump"].cycles + target.processor.change
        self.gone: set[int] = set()

    def run(self) -> None:
        for paragraph in self.made:
            if paragraph.number in self.gone or paragraph.calls:
                continue
            for _ in range(_MOST):
                if not self.lengthen(paragraph):
                    break
        if self.gone:
            self.flow.reorder([each for each in self.made if each.number not in self.gone])

    def lengthen(self, paragraph: Paragraph) -> bool:
        """Take in one of the paragraphs that a paragraph goes on with; whether there was one."""
        # (Two of them may lead to one place.)
        leading = [node.args[-1].number for node in paragraph.nodes if node.name in JUMPS and node.args[-1].kind == TARGET]
        for jump in paragraph.nodes:
            if jump.name in ("setjf", "setjt") and jump.args[0].kind == VALUE:
                second = self.made[jump.args[1].number]
                if leading.count(second.number) == 1 and self.fits(paragraph, second):
                    self.take(paragraph, jump, second)
                    return True
        return False

    def fits(self, paragraph: Paragraph, second: Paragraph) -> bool:
        """Whether a paragraph can be taken in, and is short enough."""
        if second.before != [paragraph.number] or second.phis or second.calls or second.cut or second.depth != paragraph.depth or second is paragraph:
            return False
        jumps = [node for node in second.nodes if node.name in JUMPS]
        if [node.name for node in jumps] != ["setjf", "setjt"] or any(node.args[0].kind != VALUE or node.args[0].number for node in jumps):
            return False
        if len(second.nodes) > self.short or len(paragraph.nodes) + len(second.nodes) > self.room or len(set(second.after())) != 2:
            return False
        if any(node.memory is not None or (node.effect and node.name not in JUMPS) or node.behind for node in second.nodes):
            return False
        return self.longest(second) <= self.cycles and all(self.agree(paragraph, second, self.made[each]) for each in second.after())

    def longest(self, second: Paragraph) -> int:
        """Cycles from the beginning of a paragraph to knowing its condition, where what comes from outside is there."""
        ready: dict[Node, int] = {}
        for node in second.nodes:
            if node.name not in JUMPS:
                start = max([ready.get(a.node, 0) for a in node.args if a.kind == VALUE and a.node is not None], default=0)
                ready[node] = start + self.forms.latency(node)
        return max(ready.values(), default=0)

    def agree(self, paragraph: Paragraph, second: Paragraph, following: Paragraph) -> bool:
        """Whether both paragraphs, where both go on with another one, give its phis the same."""
        if paragraph.number not in following.before:
            return True
        first, then = following.before.index(paragraph.number), following.before.index(second.number)
        return all(phi.args[first].same(phi.args[then]) for phi in following.phis)

    def take(self, paragraph: Paragraph, jump: Node, second: Paragraph) -> None:
        """Take in a paragraph that a jump leads to."""
        no, yes = [node for node in second.nodes if node.name in JUMPS]
        own = [node for node in second.nodes if node.name not in JUMPS]
        for node in own:
            node.home = paragraph.number
        come, asked = jump.args[0], no.args[0]
        # Where the first condition has to hold: both, or it and not the second. Where it must not: the second and not it, or neither.
        if jump.name == "setjt":
            both, other, name = self.truth(paragraph, "and", come, asked, jump), self.truth(paragraph, "gtu", come, asked, jump), "setjt"
        else:
            both, other, name = self.truth(paragraph, "gtu", asked, come, jump), self.truth(paragraph, "or", come, asked, jump), "setjf"
        there = [self.flow.node("setjt", "b", [Arg(VALUE, both), yes.args[1]], paragraph.number, yes.line)]
        there.append(self.flow.node(name, "b", [Arg(VALUE, other), no.args[1]], paragraph.number, no.line))
        for node in there:
            node.effect = True
        paragraph.nodes = [*[node for node in paragraph.nodes if node is not jump], *own, both, other, *there]
        paragraph.lead(second.number, no.args[1].number)
        if yes.args[1].number not in paragraph.after():
            paragraph.further.append(yes.args[1].number)
        for each in second.after():
            following = self.made[each]
            way = following.before.index(second.number)
            if paragraph.number not in following.before:
                following.before[way] = paragraph.number
                continue
            del following.before[way]
            for phi in following.phis:
                del phi.args[way]
        self.gone.add(second.number)

    def truth(self, paragraph: Paragraph, name: str, a: Arg, b: Arg, jump: Node) -> Node:
        made = self.flow.node(name, "b", [a, b], paragraph.number, jump.line)
        made.unsigned, made.signed = 1, 2
        return made


def run(f: Function, target: Dataflow) -> None:
    """Take in what asks again."""
    if all(target.processor.has(name) for name in ("and_b", "or_b", "gtu_b")):
        _Ways(f, target).run()
