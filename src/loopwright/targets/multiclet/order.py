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
from loopwright.targets.multiclet.split import divide
from loopwright.targets.multiclet.transfer import give

__all__ = ["run"]

#: Commands that ordering may add to a paragraph: copies, and what fills places in between.
MARGIN: Final = 100
#: More tries than values can be out of reach one after the other in what anybody writes.
MOST_TRIES: Final = 80
#: For so many what has been found is forgotten when paragraphs are cut.
_PATIENCE: Final = 12


class _Try:
    """One try.

    Attributes:
        places: of phis, how many commands before their paragraphs' beginnings they are made.
        unpassed: phis that have to go through memory next time.
        late: values, by paragraph, that have to be copied, or read from memory, there.
        wide: paragraphs that need more values at once than the switch has places.
    """

    def __init__(self, flow: Flow, target: Dataflow, blocks: Blocks, most: int) -> None:
        self.flow = flow
        self.forms = target.forms
        self.processor = target.processor
        # (Up to a phi's place there have to be commands.)
        self.reach = min(self.processor.depth, most)
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
        scheduler = Scheduler(self.flow, self.forms, block.nodes, block.paragraph.number)
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
        # (Where a value is about to fall out of reach, what reads it reads a copy from then on.)
        operands = [node.args for node in block.nodes]
        scheduler.run(fixed, copied)
        if made and self.far(block, made):
            # At the end, by copies where other commands stand in the way.
            moved = sorted([(node.place, phi.number, phi) for phi, node in made.items()])
            for node, args in zip(block.nodes, operands, strict=True):
                node.args = args
            scheduler = Scheduler(self.flow, self.forms, block.nodes, block.paragraph.number)
            fixed = before
            for _, _, phi in moved:
                self.choose(block, phi, fixed, {}, scheduler, True)
            made = {}
            scheduler.run(fixed, copied)
        if not scheduler.order:
            # A paragraph has a command.
            scheduler.put(scheduler.extra(Arg(CONSTANT)))
        for phi, node in made.items():
            self.places[phi] = node.place
            if not self.allowed(block, phi, node.place):
                self.unpassed.add(phi)
        block.nodes = scheduler.order[::-1]

    def choose(self, block: Block, phi: Node, fixed: dict[int, Arg], made: dict[Node, Node], scheduler: Scheduler, copied: bool) -> None:
        """Where a phi's value will be: where its command falls, or at the end."""
        a = block.wanted[phi]
        node = a.node if a.kind == VALUE and not a.number else None
        shared = node is not None and all(self.compatible(phi, other) for other, by in made.items() if by is node)
        if not copied and node is not None and node.readers >= 0 and shared and len(scheduler.nodes) <= self.reach:
            made[phi] = node
            return
        place = 1
        while place <= self.reach and (not (place not in fixed or fixed[place].same(a)) or not self.allowed(block, phi, place)):
            place += 1
        if place > self.reach:
            self.unpassed.add(phi)
        else:
            fixed[place] = a
        self.places[phi] = place

    def far(self, block: Block, made: dict[Node, Node]) -> bool:
        """Whether having values where their commands fall makes other paragraphs fill more places than copies would take here."""
        filled = 0.0
        for other in {each for phi in made for each in self.flow.made[phi.home].before}:
            last = max([node.place for phi, node in made.items() if other in self.flow.made[phi.home].before], default=0)
            if other != block.paragraph.number:
                filled += max(0, last - len(self.blocks.made[other].nodes)) * _often(self.blocks.made[other])
        return filled > len(made) * _often(block)

    def allowed(self, block: Block, phi: Node, place: int) -> bool:
        """Whether no other phi has the place that is given another value by some paragraph."""
        return place <= self.reach and all(other is phi or self.compatible(phi, other) for other, at in self.places.items() if at == place)

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
            made_there = stands is not None and stands.home == before.paragraph.number and stands.place > 0
            found = stands.place if made_there and stands is not None else self.place(before, value) + len(before.nodes)
        block.places[value] = found
        return found

    def check(self, block: Block) -> None:
        """Note which values are out of reach."""
        number, length, depth = block.paragraph.number, len(block.nodes), self.processor.depth
        for node in block.nodes:
            for a in node.args:
                if a.kind != VALUE or a.node is None:
                    continue
                if a.node.place:
                    if a.node.place - node.place > depth:
                        self.wide.add(number)
                elif self.place(block, a.node) + length - node.place > depth:
                    self.late.add((a.node, number))


def _often(block: Block) -> float:
    """How often a paragraph runs, by the loops around it: as often as ten times for each."""
    return float(10**block.paragraph.depth)


def _seldom(block: Block) -> int:
    return -block.paragraph.depth


def _pieces(blocks: Blocks, block: Block, most: int) -> int:
    """Into how many parts a paragraph is to be cut that has too many commands; 1 if that would be of no use.

    Its parts share its own commands, and what it reads and writes for phis: where it has none of its own, there may be parts enough already.
    """
    wanted = max(-(-len(block.nodes) // most), 2)
    if block.paragraph.nodes:
        return wanted
    parts = blocks.parts(block)[:0:-1] + [blocks.made[part.number] for part in blocks.following_parts(block.paragraph)]
    enough = 2 * -(-sum([len(part.nodes) for part in parts]) // most)
    return min(wanted, max(enough - len(parts), 0) + 1)


class _Known:
    """What tries have found.

    Attributes:
        in_memory: values, by paragraph, that are read from memory there.
        renewed: those that are copied where it begins.
        unpassed: phis that go through memory.
    """

    def __init__(self) -> None:
        self.in_memory: set[tuple[Node, int]] = set()
        self.renewed: set[tuple[Node, int]] = set()
        self.unpassed: set[Node] = set()

    def learn(self, tried: _Try) -> None:
        """What is out of reach is copied; what has been copied goes through memory."""
        self.unpassed |= tried.unpassed
        for value, number in tried.late:
            if (value, number) not in self.renewed:
                self.renewed.add((value, number))
            elif value.home == number:
                self.unpassed.add(value)
            else:
                self.in_memory.add((value, number))

    def renumbered(self, before: list[Paragraph], parts: dict[Paragraph, list[Paragraph]]) -> _Known:
        """The same when paragraphs have been cut, for all their parts."""
        made = _Known()
        made.unpassed = self.unpassed
        numbers = [[part.number for part in parts.get(paragraph, [paragraph])] for paragraph in before]
        made.in_memory = {(value, each) for value, number in self.in_memory for each in numbers[number]}
        made.renewed = {(value, each) for value, number in self.renewed for each in numbers[number]}
        return made


def run(f: Function, target: Dataflow) -> None:
    """Order the commands; what is found is left in ``f.analysis.ordered``.

    Raises:
        TargetError: the processor holds too few values, or commands, at once.
    """
    flow: Flow = f.analysis
    known = _Known()
    processor = target.processor
    room = processor.buffer * processor.all_cells
    most = max(room - MARGIN, room // 2)
    for count in range(MOST_TRIES):
        blocks = Blocks(flow, known.in_memory, known.unpassed, known.renewed, most // 2)
        cut = [(block, _pieces(blocks, block, most)) for block in blocks.made if len(block.nodes) > most]
        if not any(pieces > 1 for _, pieces in cut):
            tried = _Try(flow, target, blocks, most)
            # (Copies, and what fills places, may have made some too long.)
            cut = [(block, _pieces(blocks, block, most)) for block in blocks.made if len(block.nodes) > room or block.paragraph.number in tried.wide]
            if not cut and not tried.late and not tried.unpassed:
                flow.ordered = blocks
                flow.placed = tried
                return
        if not cut:
            known.learn(tried)
        elif any(pieces > 1 for _, pieces in cut):
            before = list(flow.made)
            parts = divide(flow, [(block.paragraph, pieces) for block, pieces in cut])
            # (What is too far depends on the cuts: for a few of them it is found anew.)
            known = known.renumbered(before, parts) if count >= _PATIENCE else _Known()
            give(flow)
        else:
            break
    raise TargetError(
        f"{processor.name}: {f.name} has more values at once than its switch of {processor.depth} places, and paragraphs of at most {room} commands, can hand on"
    )
