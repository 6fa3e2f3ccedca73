"""The pass ``order``: the order of the commands in every paragraph, and with it how far back each operand is.

Paragraphs that give values to the same phis agree on the places where those are made, counted from their ends: the one that runs most often has them where its
commands fall, the others follow it. A paragraph that gives values to phis of two others has places for both, so that no phi has to go through memory for the
sake of another (the published compiler has one order a paragraph, which serves one).

What turns out to be out of reach is copied where its paragraph begins, or goes through memory after all; then all is done again.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.ir.function import Function
from loopwright.targets.multiclet.blocks import Block, Blocks
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import CONSTANT, VALUE, Arg, Flow, Node, Paragraph
from loopwright.targets.multiclet.schedule import Scheduler
from loopwright.targets.multiclet.split import halve
from loopwright.targets.multiclet.transfer import give

__all__ = ["run"]

#: Commands that ordering may add to a paragraph: copies, and what fills places in between.
MARGIN: Final = 100
#: More tries than values can be out of reach one after the other in what anybody writes.
MOST_TRIES: Final = 80


class _Try:
    """One try.

    Attributes:
        places: of phis, how many commands before their paragraphs' beginnings they are made.
        unpassed: phis that have to go through memory next time.
        late: values, by paragraph, that have to be copied, or read from memory, there.
        wide: paragraphs that need more values at once than the switch has places.
    """

    def __init__(self, flow: Flow, target: Dataflow, blocks: Blocks) -> None:
        self.flow = flow
        self.processor = target.processor
        self.blocks = blocks
        self.places: dict[Node, int] = {}
        self.unpassed: set[Node] = set()
        self.late: set[tuple[Node, int]] = set()
        self.wide: set[int] = set()
        # (Those in loops before those around: what runs most often is free to choose.)
        for block in sorted(blocks.made, key=_seldom):
            self.order(block)
        for block in blocks.made:
            self.check(block)

    def order(self, block: Block) -> None:
        """Order one paragraph's commands."""
        scheduler = Scheduler(self.flow, self.processor, list(block.nodes), block.paragraph.number)
        fixed: dict[int, Arg] = {}
        free: list[Node] = []
        for phi, a in block.wanted.items():
            place = self.places.get(phi)
            if place is None:
                free.append(phi)
            elif place in fixed and not fixed[place].same(a):
                self.unpassed.add(phi)
            else:
                fixed[place] = a
        copied = any(phi.copied for phi in block.wanted)
        made: dict[Node, Node] = {}
        for phi in free:
            self.choose(block, phi, fixed, made, scheduler, copied)
        before = dict(fixed)
        scheduler.run(fixed, copied)
        if made and self.far(block, made, scheduler):
            # At the end, by copies where other commands stand in the way.
            position = scheduler.position
            scheduler = Scheduler(self.flow, self.processor, list(block.nodes), block.paragraph.number)
            fixed = before
            for _, _, phi in sorted([(position[node], phi.number, phi) for phi, node in made.items()]):
                self.choose(block, phi, fixed, {}, scheduler, True)
            made = {}
            scheduler.run(fixed, copied)
        if not scheduler.order:
            # A paragraph has a command.
            scheduler.put(scheduler.extra(Arg(CONSTANT)))
        for phi, node in made.items():
            place = scheduler.position[node]
            self.places[phi] = place
            if not self.allowed(block, phi, place):
                self.unpassed.add(phi)
        block.nodes = scheduler.order[::-1]
        block.position = scheduler.position

    def choose(self, block: Block, phi: Node, fixed: dict[int, Arg], made: dict[Node, Node], scheduler: Scheduler, copied: bool) -> None:
        """Where a phi's value will be: where its command falls, or at the end."""
        a = block.wanted[phi]
        node = a.node if a.kind == VALUE and not a.number else None
        shared = node is not None and all(self.compatible(phi, other) for other, by in made.items() if by is node)
        if not copied and node is not None and node in scheduler.readers and shared and len(scheduler.nodes) <= self.processor.depth:
            made[phi] = node
            return
        place = 1
        while place <= self.processor.depth and (not (place not in fixed or fixed[place].same(a)) or not self.allowed(block, phi, place)):
            place += 1
        if place > self.processor.depth:
            self.unpassed.add(phi)
        else:
            fixed[place] = a
        self.places[phi] = place

    def far(self, block: Block, made: dict[Node, Node], scheduler: Scheduler) -> bool:
        """Whether having values where their commands fall makes other paragraphs fill more places than copies would take here."""
        filled = 0.0
        for other in {each for phi in made for each in self.flow.made[phi.home].before}:
            last = max([scheduler.position[node] for phi, node in made.items() if other in self.flow.made[phi.home].before], default=0)
            if other != block.paragraph.number:
                filled += max(0, last - len(self.blocks.made[other].nodes)) * _often(self.blocks.made[other])
        return filled > len(made) * _often(block)

    def allowed(self, block: Block, phi: Node, place: int) -> bool:
        """Whether no other phi has the place that is given another value by some paragraph."""
        return place <= self.processor.depth and all(other is phi or self.compatible(phi, other) for other, at in self.places.items() if at == place)

    def compatible(self, phi: Node, other: Node) -> bool:
        """Whether the paragraphs that give values to both phis give them the same."""
        for each in self.flow.made[phi.home].before:
            wanted = self.blocks.made[each].wanted
            if other in wanted and phi in wanted and not wanted[phi].same(wanted[other]):
                return False
        return True

    # --- how far back ---------------------------------------------------------------------------------------------------

    def place(self, block: Block, value: Node) -> int:
        """How many commands before a paragraph's beginning a value was made that comes to it through the switch."""
        known = block.places.get(value)
        if known is not None:
            return known
        if value.home == block.paragraph.number:
            found = self.places[value]
        else:
            before = self.blocks.made[block.paragraph.before[0]]
            stands = self.blocks.stands.get(value)
            made_there = stands is not None and stands in before.position
            found = before.position[stands] if made_there and stands is not None else self.place(before, value) + len(before.nodes)
        block.places[value] = found
        return found

    def check(self, block: Block) -> None:
        """Note which values are out of reach."""
        number, length, depth = block.paragraph.number, len(block.nodes), self.processor.depth
        for node in block.nodes:
            for a in node.args:
                if a.kind != VALUE or a.node is None:
                    continue
                if a.node in block.position:
                    if block.position[a.node] - block.position[node] > depth:
                        self.wide.add(number)
                elif self.place(block, a.node) + length - block.position[node] > depth:
                    self.late.add((a.node, number))


def _often(block: Block) -> float:
    """How often a paragraph runs, by the loops around it: as often as ten times for each."""
    return float(10**block.paragraph.depth)


def _seldom(block: Block) -> int:
    return -block.paragraph.depth


def _shortens(flow: Flow, paragraph: Paragraph) -> bool:
    """Whether a paragraph has less to do when it has been cut: it has commands, or hands values on that its parts may share."""
    return bool(paragraph.nodes) or not (paragraph.following >= 0 and flow.made[paragraph.following].cut)


def run(f: Function, target: Dataflow) -> None:
    """Order the commands; what is found is left in ``f.analysis.ordered``.

    Raises:
        TargetError: the processor holds too few values, or commands, at once.
    """
    flow: Flow = f.analysis
    in_memory: set[tuple[Node, int]] = set()
    unpassed: set[Node] = set()
    renewed: set[tuple[Node, int]] = set()
    processor = target.processor
    room = processor.buffer * processor.all_cells
    most = max(room - MARGIN, room // 2)
    for _ in range(MOST_TRIES):
        blocks = Blocks(flow, in_memory, unpassed, renewed, most // 2)
        cut = [block.paragraph for block in blocks.made if len(block.nodes) > most and _shortens(flow, block.paragraph)]
        if not cut:
            tried = _Try(flow, target, blocks)
            # (Copies, and what fills places, may have made some too long.)
            cut = [block.paragraph for block in blocks.made if len(block.nodes) > room or block.paragraph.number in tried.wide]
            if not cut and not tried.late and not tried.unpassed:
                flow.ordered = blocks
                flow.placed = tried
                return
        if cut:
            cut = [paragraph for paragraph in cut if _shortens(flow, paragraph)]
            if not cut:
                break
            in_memory, unpassed, renewed = set(), set(), set()
            for paragraph in cut:
                halve(flow, paragraph)
            give(flow)
            continue
        unpassed |= tried.unpassed
        for value, number in tried.late:
            if (value, number) not in renewed:
                renewed.add((value, number))
            elif value.home == number:
                unpassed.add(value)
            else:
                in_memory.add((value, number))
    raise TargetError(
        f"{processor.name}: {f.name} has more values at once than its switch of {processor.depth} places, and paragraphs of at most {room} commands, can hand on"
    )
