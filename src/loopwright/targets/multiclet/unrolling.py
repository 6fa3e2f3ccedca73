"""The pass ``unrolled``: several steps of a counted loop that is one paragraph become one, so that they run side by side on the cells.

Each step of such a loop costs the way to the next paragraph; of several steps in one paragraph the commands that do not wait for each other start as they are fetched, whatever
step they are from. (Overlapping steps in the order of the text, as software pipelining does on processors that start operations in order, would bring nothing on
top: commands start when their operands are there.) What is left over is done by the loop as it was.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import CONSTANT, JUMPS, TARGET, VALUE, Arg, Flow, Node, Paragraph, substituted
from loopwright.targets.multiclet.memory_order import Accesses

__all__ = ["run"]

#: Most commands of all the steps together, and most steps.
MOST: Final = 64
STEPS: Final = 4
#: Conditions to go on by, as the command and which operand counts: whether it counts up, and the commands that say whether one number is below another.
_COUNTING: Final[dict[tuple[str, int], tuple[bool, str]]] = {
    ("lt", 0): (True, "lt"),
    ("gt", 1): (True, "lt"),
    ("gt", 0): (False, "lt"),
    ("lt", 1): (False, "lt"),
    ("ltu", 0): (True, "ltu"),
    ("gtu", 1): (True, "ltu"),
    ("gtu", 0): (False, "ltu"),
    ("ltu", 1): (False, "ltu"),
}


class _Counted:
    """A counted loop in one paragraph.

    Attributes:
        paragraph: it.
        leave: where it goes on when it ends.
        counter: the phi that counts; step: by how much; bound: up, or down, to what.
        test: the command that decides whether it goes on; below: the command that compares such numbers; up: it counts up.
        ends: it goes on where the test does not hold.
    """

    def __init__(self, paragraph: Paragraph, leave: int, counter: Node, step: int, bound: Arg, test: Node, below: str, up: bool, ends: bool) -> None:
        self.paragraph = paragraph
        self.leave = leave
        self.counter = counter
        self.step = step
        self.bound = bound
        self.test = test
        self.below = below
        self.up = up
        self.ends = ends


def _way(test: Node, position: int, step: int, ends: bool) -> tuple[bool, str] | None:
    """Whether a test counts up by a step, and the command that compares so. Of a test for equality any step does: before the bound is missed it is not met."""
    if test.name == ("eq" if ends else "ne"):
        return step > 0, "ne"
    return None if ends else _COUNTING.get((test.name, position))


def _counted(paragraph: Paragraph) -> _Counted | None:
    """What a paragraph counts, if it is such a loop."""
    number = paragraph.number
    if paragraph.calls or paragraph.tested < 0 or number not in (paragraph.tested, paragraph.following) or len(paragraph.before) != 2:
        return None
    again = [node for node in paragraph.nodes if node.name in ("setjt", "setjf") and node.args[1].number == number]
    leave = paragraph.following if paragraph.tested == number else paragraph.tested
    if len(again) != 1 or leave < 0:
        return None
    test, ends = again[0].args[0].node, again[0].name == "setjf"
    if test is None or test.home != number or test.suffix not in ("q", "l") or len(test.args) != 2:
        return None
    latch = paragraph.before.index(number)
    for position in (0, 1):
        moved = test.args[position].node
        bound = test.args[1 - position]
        if moved is None or moved.name != "add" or moved.suffix != test.suffix or moved.args[1].kind != CONSTANT or bound.memory or test.args[position].number:
            continue
        counter, step = moved.args[0].node, moved.args[1].number
        way = _way(test, position, step, ends)
        fixed = bound.kind == CONSTANT or (bound.kind == VALUE and bound.node is not None and bound.node.home != number)
        if (
            counter is None
            or counter not in paragraph.phis
            or counter.args[latch].node is not moved
            or not fixed
            or step == 0
            or way is None
            or (step > 0) != way[0]
        ):
            continue
        if moved.args[0].number or counter.args[latch].number or abs(step) > 1 << 20:
            continue
        return _Counted(paragraph, leave, counter, step, bound, test, way[1], way[0], ends)
    return None


#: Commands that ask whether enough steps are left.
_ASKS: Final = ("sub", "gt", "gtu", "and", "lt", "ltu", "ne", "eq")


class _Unrolling:
    """The unrolling of one loop."""

    def __init__(self, f: Function, target: Dataflow, loop: _Counted, steps: int) -> None:
        self.f = f
        self.flow: Flow = f.analysis
        self.commits = target.processor.commits_at_end
        self.loop = loop
        self.steps = steps
        paragraph = loop.paragraph
        self.latch = paragraph.before.index(paragraph.number)
        self.front = 1 - self.latch
        count = len(self.flow.made)
        outside = paragraph.depth - 1 if paragraph.depth else 0
        # What asks whether there are enough steps; several steps at once; what asks whether there are any left; where both ways out meet.
        self.ask = Paragraph(count, paragraph.first, outside)
        self.main = Paragraph(count + 1, paragraph.first, paragraph.depth)
        self.rest = Paragraph(count + 2, paragraph.first, outside)
        self.out = Paragraph(count + 3, paragraph.first, outside)
        for each in (self.ask, self.main, self.rest, self.out):
            each.cut = True
        # Whether the last of several steps is not the last of all.
        self.going_on = Arg(CONSTANT)
        # What each value of the loop is in the step that is being made.
        self.now: dict[Node, Arg] = {}
        # What the phis were in that step.
        self.given: dict[Node, Arg] = {}

    def run(self) -> bool:
        """Unroll the loop; whether it could be."""
        if not self.copies():
            return False
        self.test_for(self.ask, self.loop.paragraph.phis, None)
        self.connect()
        self.leave()
        made = self.flow.made
        at = made.index(self.loop.paragraph)
        self.flow.reorder([*made[:at], self.ask, self.main, self.rest, self.loop.paragraph, self.out, *made[at + 1 :]])
        return True

    # --- several steps ----------------------------------------------------------------------------------------------

    def here(self, a: Arg) -> Arg:
        """An operand in the step that is being made."""
        return substituted(a, self.now)

    def copies(self) -> bool:
        """The steps, one after the other; False where the order of accesses to memory does not allow it."""
        flow, paragraph, main = self.flow, self.loop.paragraph, self.main
        for phi in paragraph.phis:
            made = flow.node("phi", "q", [], main.number, 0)
            made.signed, made.unsigned = phi.signed, phi.unsigned
            main.phis.append(made)
            self.now[phi] = Arg(VALUE, made)
        accesses = Accesses(self.f)
        for _ in range(self.steps):
            renewed: dict[Node, Node] = {}
            for node in paragraph.nodes:
                if node.name in JUMPS:
                    continue
                made = flow.node(node.name, node.suffix, self.sum([self.here(a) for a in node.args], node), main.number, node.line)
                made.effect, made.signed, made.unsigned = node.effect, node.signed, node.unsigned
                made.behind = tuple([renewed[each] for each in node.behind if each in renewed])
                if node.memory is not None:
                    made.memory = node.memory.at(made.args[-1])
                    if accesses.needs_paragraph(made.memory, self.commits):
                        return False
                    made.behind = accesses.add(made.memory, made)
                main.nodes.append(made)
                renewed[node] = made
                self.now[node] = Arg(VALUE, made)
            self.given = {phi: self.now[phi] for phi in paragraph.phis}
            following = [self.here(phi.args[self.latch]) for phi in paragraph.phis]
            for phi, a in zip(paragraph.phis, following, strict=True):
                self.now[phi] = a
        self.test_for(main, main.phis, None if self.loop.ends else self.here(Arg(VALUE, self.loop.test)))
        return True

    def sum(self, args: list[Arg], node: Node) -> list[Arg]:
        """The operands of a command; of an addition of a number to what the step before has made by another, that one's operand and both numbers: it waits for no step."""
        if node.name != "add" or args[1].kind != CONSTANT:
            return args
        inner = args[0].node
        if args[0].kind != VALUE or inner is None or inner.home != self.main.number or args[0].number or inner.name != "add" or inner.suffix != node.suffix:
            return args
        number = inner.args[1].number + args[1].number
        if inner.args[1].kind != CONSTANT or inner.args[0].number or abs(number) >= 1 << 31:
            return args
        return [inner.args[0], Arg(CONSTANT, number=number)]

    def test_for(self, paragraph: Paragraph, phis: list[Node], going_on: Arg | None) -> None:
        """At the end of a paragraph, ask whether there are as many steps left as are made at once: more than all but one of them.

        The distance to the bound says so if the counter is on the right side of it: then it is what it seems to be, or too much for its bits, and seems to be none.
        """
        loop = self.loop
        counts = self.now[loop.counter] if paragraph is self.main else loop.counter.args[self.front]
        ends = (counts, loop.bound) if loop.up else (loop.bound, counts)
        inside = going_on if going_on is not None else self.command(paragraph, loop.below, *ends)
        distance = self.command(paragraph, "sub", ends[1], ends[0])
        enough = self.command(paragraph, "gt" if loop.below == "lt" else "gtu", distance, Arg(CONSTANT, number=abs(loop.step) * (self.steps - 1)))
        both = self.command(paragraph, "and", inside, enough)
        other = self.rest.number if paragraph is self.main else loop.paragraph.number
        if paragraph is self.main:
            self.going_on = inside
        self.branch(paragraph, both, self.main.number, other)

    def command(self, paragraph: Paragraph, name: str, *args: Arg) -> Arg:
        made = self.flow.node(name, self.loop.test.suffix, list(args), paragraph.number, 0)
        paragraph.nodes.append(made)
        return Arg(VALUE, made)

    def branch(self, paragraph: Paragraph, condition: Arg, yes: int, no: int) -> None:
        for name, to in (("setjf", no), ("setjt", yes)):
            made = self.flow.node(name, "b", [condition, Arg(TARGET, number=to)], paragraph.number, 0)
            made.effect = True
            paragraph.nodes.append(made)
        paragraph.tested, paragraph.following = yes, no

    # --- how it is connected ------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Bring the new paragraphs between what there is."""
        loop, paragraph = self.loop, self.loop.paragraph
        before = self.flow.made[paragraph.before[self.front]]
        before.lead(paragraph.number, self.ask.number)
        self.ask.before = [before.number]
        self.main.before = [self.ask.number, self.main.number]
        self.rest.before = [self.main.number]
        for phi, made in zip(paragraph.phis, self.main.phis, strict=True):
            made.args = [phi.args[self.front], self.now[phi]]
            phi.args = [phi.args[self.front], self.now[phi], phi.args[self.latch]]
        paragraph.before = [self.ask.number, self.rest.number, paragraph.number]
        self.branch(self.rest, self.going_on, paragraph.number, self.out.number)
        paragraph.lead(loop.leave, self.out.number)
        self.out.before = [self.rest.number, paragraph.number]
        self.out.following = loop.leave
        jump = self.flow.node("jmp", "", [Arg(TARGET, number=loop.leave)], self.out.number, 0)
        jump.effect = True
        self.out.nodes.append(jump)
        left = self.flow.made[loop.leave].before
        left[left.index(paragraph.number)] = self.out.number

    def leave(self) -> None:
        """What is read of the loop behind it is a phi of what both loops have made."""
        paragraph = self.loop.paragraph
        inside = (self.loop.paragraph, self.main, self.rest, self.ask)
        joined: dict[Node, Node] = {}

        def outside(a: Arg) -> Arg:
            value = a.node
            if a.kind != VALUE or value is None or value.home != paragraph.number:
                return a
            phi = joined.get(value)
            if phi is None:
                phi = joined[value] = self.flow.node("phi", "q", [self.left(value), Arg(VALUE, value)], self.out.number, 0)
                phi.signed, phi.unsigned = value.signed, value.unsigned
                self.out.phis.append(phi)
            return Arg(VALUE, phi, a.number, a.name, a.memory)

        for each in self.flow.made:
            if each in inside:
                continue
            for node in each.nodes:
                node.args = [outside(a) for a in node.args]
            for phi in each.phis:
                phi.args = [outside(a) for a in phi.args]

    def left(self, value: Node) -> Arg:
        """What a value of the loop was in the last of several steps: of a phi, what it was given for that step."""
        if value not in self.loop.paragraph.phis:
            return self.now[value]
        # (The step before last has made it; the last step reads it.)
        return self.given[value]


def run(f: Function, target: Dataflow) -> None:
    """Unroll the counted loops that are one short paragraph each."""
    flow: Flow = f.analysis
    for paragraph in list(flow.made):
        loop = _counted(paragraph)
        steps = min(STEPS, MOST // max(len(paragraph.nodes), 1))
        if loop is not None and steps > 1 and all(target.processor.has(f"{name}_{loop.test.suffix}") for name in _ASKS):
            _Unrolling(f, target, loop, steps).run()
