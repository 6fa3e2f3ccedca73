"""Paragraphs as they will be written, before their commands are ordered: every operand is made in the paragraph or comes to it through the switch, and what goes
through memory is written and read by commands.

Made anew from the ``Flow`` each time ``order`` finds that something is too old to be named: the flow itself stays as it is.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.multiclet.calling import order_registers
from loopwright.targets.multiclet.flow import CONSTANT, FRAME, INCOMING, JUMPS, LOCAL, OUTGOING, REGISTER, SYMBOL, TARGET, VALUE, Arg, Flow, Node, Paragraph
from loopwright.targets.multiclet.held import hold

__all__ = ["Block", "Blocks"]

#: The two slots that a value may have: where it is written by the paragraph that makes it, and, of a phi, by those before.
OWN: Final = ""
HANDED: Final = "handed"


BITS: Final = {"b": 8, "s": 16, "l": 32, "q": 64, "f": 32, "d": 64}


class Block:
    """A paragraph to be.

    Attributes:
        paragraph: what it is made of.
        nodes: its commands.
        wanted: what is to be in the switch for each phi of the paragraphs that follow.
        entered: the values that come to it through the switch: its phis and what it is given.
        places: of those, how many commands before its beginning they were made.
    """

    __slots__ = ("entered", "nodes", "paragraph", "places", "wanted")

    def __init__(self, paragraph: Paragraph) -> None:
        self.paragraph = paragraph
        self.nodes: list[Node] = []
        self.wanted: dict[Node, Arg] = {}
        self.entered: set[Node] = set()
        self.places: dict[Node, int] = {}


class Blocks:
    """The paragraphs of a function for one try.

    Attributes:
        made: them.
        first: from the next number on nodes are commands of these paragraphs; those up to it are of the flow.
        stands: the command that makes a value of the flow, by the value.
        slots: the slots in the frame, by value and kind, in the order they are numbered.
        calls: the function calls others: it lowers the stack pointer.
        readers: of phis in memory that are too many for one paragraph, the part of their paragraph that reads them from where they were handed over, and writes them to
            slots of their own. The parts before it may read them there as well: nothing is handed over before.
        most: from how many commands on a paragraph is spared what another can do as well.
    """

    def __init__(self, flow: Flow, in_memory: set[tuple[Node, int]], unpassed: set[Node], renewed: set[tuple[Node, int]], most: int) -> None:
        self.flow = flow
        self.most = most
        self.renewed = renewed
        self.in_memory = in_memory
        self.unpassed = unpassed
        self.made = [Block(paragraph) for paragraph in flow.made]
        self.first = flow.numbered
        self.stands: dict[Node, Node] = {}
        self.slots: dict[tuple[Node, str], int] = {}
        self.calls = any(paragraph.calls for paragraph in flow.made)
        # Values that have to be written to their slots.
        self.spilled: dict[Node, None] = {}
        self.read: list[dict[Node, Node]] = [{} for _ in flow.made]
        self.live_phis = _live_phis(flow)
        self.readers = self.shared_phis()
        # Stores to come, by the paragraph that is to have them.
        self.pending: list[int] = [0 for _ in flow.made]
        for block in self.made:
            self.fill(block)
        for block in self.made:
            self.hand_on(block)
        for value in list(self.spilled):
            self.spill(value)
        for block in self.made:
            self.settle(block)
            self.frame(block)
        if flow.registers and self.slots:
            for slot in hold(flow.made, [block.nodes for block in self.made], flow.registers):
                del self.slots[slot]
            self.slots = {slot: number for number, slot in enumerate(self.slots)}
        for block in self.made:
            order_registers(block.nodes)
            fold_registers(block)
        self.drop()
        if flow.two_constants:
            outside = self.wanted_outside()
            for block in self.made:
                fold_loads(block.nodes, outside)

    def shared_phis(self) -> dict[Node, int]:
        """Phis in memory dealt out to the parts of their paragraphs, where one has too many."""
        found: dict[Node, int] = {}
        for paragraph in self.flow.made:
            phis = [phi for phi in paragraph.phis if phi in self.live_phis and not self.passes(phi)]
            # (Each is read and written.)
            if len(paragraph.nodes) + 2 * len(phis) <= self.most:
                continue
            parts = self.following_parts(paragraph)
            if len(parts) == 1:
                continue
            room = [max((self.most - len(part.nodes)) // 2, 0) for part in parts]
            part = 0
            for phi in phis:
                while part < len(parts) - 1 and not room[part]:
                    part += 1
                room[part] -= 1
                found[phi] = parts[part].number
        return found

    def following_parts(self, paragraph: Paragraph) -> list[Paragraph]:
        """A paragraph and what has been cut from it, which runs behind it, in order."""
        found = [paragraph]
        while True:
            after = found[-1].after()
            following = self.flow.made[after[0]] if len(after) == 1 and not found[-1].calls else None
            if following is None or not following.cut or len(following.before) != 1 or following.phis:
                return found
            found.append(following)

    def handed(self, number: int, value: Node) -> bool:
        """Whether a paragraph reads a phi from where it was handed over: the one that has it, or, where its parts share them, those up to the one that reads it."""
        if value.name != "phi":
            return False
        reader = self.readers.get(value)
        if reader is None:
            return value.home == number
        return value.home <= number <= reader

    # --- operands ---------------------------------------------------------------------------------------------------

    def passes(self, phi: Node) -> bool:
        """Whether a phi comes through the switch."""
        return phi.passed and phi not in self.unpassed

    def node(self, block: Block, name: str, suffix: str, args: list[Arg], line: int) -> Node:
        """A command with operands of its own. Constants of more than 32 bits are made by commands of their own; so is the first of two where there is room for one."""
        if name != "patch":
            for k, a in enumerate(args):
                if a.kind == CONSTANT:
                    args[k] = self.small(block, a)
        if not self.flow.two_constants and sum([_is_constant(a) for a in args]) > 1:
            args = [Arg(VALUE, self.node(block, "load", "q", [args[0]], line)), *args[1:]]
        made = self.flow.node(name, suffix, args, block.paragraph.number, line)
        block.nodes.append(made)
        return made

    def fill(self, block: Block) -> None:
        """The commands of the flow, and the reading of what comes from memory."""
        paragraph = block.paragraph
        for phi in paragraph.phis:
            if phi in self.live_phis and self.passes(phi):
                block.entered.add(phi)
        following = paragraph.number + 1
        stands = self.stands
        for node in paragraph.nodes:
            if node.effect and _not_needed(node, following):
                continue
            args = [self.here(block, a) for a in node.args]
            made = self.node(block, node.name, node.suffix, args, node.line)
            made.effect = node.effect
            made.memory = node.memory
            made.signed, made.unsigned = node.signed, node.unsigned
            if node.behind:
                made.behind = tuple([stands[each] for each in node.behind if each.home == paragraph.number and each in stands])
            made.origin = node
            stands[node] = made

    def here(self, block: Block, a: Arg) -> Arg:
        """An operand as the commands of a paragraph name it."""
        if a.kind != VALUE:
            return a
        value = a.node
        assert value is not None
        number = block.paragraph.number
        if value.home == number and value.name != "phi":
            return Arg(VALUE, self.stands[value], a.number, "", a.memory)
        comes = value.home == number and self.passes(value)
        if value.home != number and value in block.paragraph.carried and (value, number) not in self.in_memory and value not in self.readers:
            comes = True
            if value.name == "phi" and not self.passes(value):
                # What it is given in memory is read where it is made.
                self.stands[value] = self.loaded(self.made[value.home], value)
            block.entered.add(value)
        if comes and (value, number) not in self.renewed:
            return a
        if comes:
            known = self.read[number].get(value)
            if known is None:
                known = self.read[number][value] = self.node(block, "loadu", "q", [Arg(VALUE, value)], 0)
        else:
            known = self.loaded(block, value)
        return Arg(VALUE, known, a.number, "", a.memory)

    def loaded(self, block: Block, value: Node) -> Node:
        """The command of a paragraph that reads a value from memory: one, however often it is wanted."""
        read = self.read[block.paragraph.number]
        known = read.get(value)
        if known is None:
            known = read[value] = self.reload(block, value)
        return known

    def reload(self, block: Block, value: Node) -> Node:
        """A value that comes from memory, or is made again where that is as cheap."""
        if self.handed(block.paragraph.number, value):
            made = self.node(block, "load", "q", [Arg(FRAME, value, 0, HANDED, True)], 0)
            self.slots.setdefault((value, HANDED), len(self.slots))
        elif self.cheap(value):
            made = self.node(block, value.name, value.suffix, list(value.args), value.line)
            made.memory = value.memory
            made.origin = value
        else:
            made = self.node(block, "load", "q", [Arg(FRAME, value, 0, OWN, True)], 0)
            self.spilled[value] = None
        made.signed, made.unsigned = value.signed, value.unsigned
        return made

    def cheap(self, value: Node) -> bool:
        """Whether making a value again takes no more than reading it from a slot: constants, addresses in the stack, what the caller gave, in registers as long as nothing is called."""
        if value.name not in ("load", "loadu", "patch"):
            return False
        kinds = (CONSTANT, LOCAL, SYMBOL) if self.calls else (CONSTANT, LOCAL, SYMBOL, REGISTER)
        return all(a.kind == INCOMING if a.memory else a.kind in kinds for a in value.args)

    def hand_on(self, block: Block) -> None:
        """What the phis of the paragraphs that follow are given: in the switch, or in their slots."""
        paragraph = block.paragraph
        parts = self.parts(block)
        wanted: list[tuple[Node, Arg]] = []
        for each in paragraph.after():
            following = self.flow.made[each]
            position = following.before.index(paragraph.number)
            wanted += [(phi, phi.args[position]) for phi in following.phis if phi in self.live_phis]
        if len(parts) > 1:
            # What has to be here, before what another part can do.
            wanted.sort(key=lambda row: not self.passes(row[0]))
        given: list[tuple[Node, Block, Arg]] = []
        for phi, a in wanted:
            writer = block
            if not self.passes(phi):
                if self.filled(block) >= self.most:
                    writer = self.writer(self.behind(parts, phi), a)
                self.pending[writer.paragraph.number] += 1
            elif len(parts) > 1 and a.kind == CONSTANT:
                self.pending[paragraph.number] += 1
            given.append((phi, writer, self.here(writer, a)))
        for phi, writer, a in given:
            held = self.small(writer, a)
            if self.passes(phi):
                block.wanted[phi] = held
            else:
                self.node(writer, "wr", "q", [held, Arg(FRAME, phi, 0, HANDED)], 0).effect = True
                self.slots.setdefault((phi, HANDED), len(self.slots))

    def parts(self, block: Block) -> list[Block]:
        """The paragraph and those before it that it has been cut from, which run one after the other: only the first may have phis. The last one first."""
        found = [block]
        while True:
            paragraph = found[-1].paragraph
            before = self.flow.made[paragraph.before[0]] if paragraph.cut and len(paragraph.before) == 1 and not paragraph.phis else None
            if before is None or before.calls or before.after() != [paragraph.number]:
                return found
            found.append(self.made[before.number])

    def behind(self, parts: list[Block], phi: Node) -> list[Block]:
        """Those parts of a paragraph that may hand a phi over: where it is one of its own, not those before the one that reads it."""
        reader = self.readers.get(phi)
        if reader is None or phi.home != parts[-1].paragraph.number:
            return parts
        return [part for part in parts if part.paragraph.number >= reader]

    def writer(self, parts: list[Block], a: Arg) -> Block:
        """Which of the parts of a paragraph writes what a phi is given to its slot: the one that makes it, or the shortest of those that have it."""
        for count, part in enumerate(parts, 1):
            if a.node is not None and a.node.home == part.paragraph.number:
                return part if self.filled(part) < self.most else min(parts[:count], key=self.filled)
        return min(parts, key=self.filled)

    def filled(self, block: Block) -> int:
        """How many commands a paragraph has, and will have for what it hands over."""
        return len(block.nodes) + self.pending[block.paragraph.number]

    def settle(self, block: Block) -> None:
        """A phi's slot is read before what comes next is written to it, and stands before it in the list."""
        last: list[Node] = []
        for node in block.nodes:
            if node.name == "wr" and node.args[1].kind == FRAME and node.args[1].name == HANDED:
                node.behind = tuple([other for other in block.nodes if _reads(other, node.args[1].node)])
                last.append(node)
        if last:
            handed = set(last)
            block.nodes = [node for node in block.nodes if node not in handed] + last

    def small(self, block: Block, a: Arg) -> Arg:
        """A constant that a command has room for: others are made by commands."""
        if a.kind != CONSTANT or -(1 << 31) <= a.number < 1 << 31:
            return a
        high, low = a.number >> 32, (a.number & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)
        return Arg(VALUE, self.node(block, "patch", "q", [Arg(CONSTANT, number=high), Arg(CONSTANT, number=low)], 0))

    def spill(self, value: Node) -> None:
        """Write a value to its slot where it is made."""
        block = self.made[self.readers.get(value, value.home)]
        a = self.here(block, Arg(VALUE, value))
        self.node(block, "wr", "q", [a, Arg(FRAME, value, 0, OWN)], value.line).effect = True
        self.slots.setdefault((value, OWN), len(self.slots))

    def drop(self) -> None:
        """Take away what makes values that nobody wants."""
        phis: set[Node] = set()
        waiting: list[Node] = []
        for block in self.made:
            for node in block.nodes:
                if node.effect:
                    node.live = True
                    waiting.append(node)
        while waiting:
            node = waiting.pop()
            args = node.args
            if node.name == "phi":
                args = [self.made[each].wanted[node] for each in self.flow.made[node.home].before]
            for a in args:
                made = a.node
                if made is None or a.kind != VALUE:
                    continue
                if made.number <= self.first:
                    made = self.stands.get(made, made)
                    if made.number <= self.first:
                        if made not in phis:
                            phis.add(made)
                            waiting.append(made)
                        continue
                if not made.live:
                    made.live = True
                    waiting.append(made)
        for block in self.made:
            block.nodes = [node for node in block.nodes if node.live]
            if block.wanted:
                block.wanted = {phi: a for phi, a in block.wanted.items() if phi in phis}
            for node in block.nodes:
                if node.behind:
                    node.behind = tuple([each for each in node.behind if each.live])

    def wanted_outside(self) -> set[Node]:
        """The commands whose results are read in other paragraphs, or by phis."""
        found: set[Node] = set()
        for block in self.made:
            for node in block.nodes:
                for a in node.args:
                    value = a.node
                    if value is not None and value.number <= self.first and a.kind == VALUE:
                        found.add(self.stands.get(value, value))
            for a in block.wanted.values():
                if a.node is not None:
                    found.add(self.stands.get(a.node, a.node))
        return found

    # --- the frame --------------------------------------------------------------------------------------------------

    def frame(self, block: Block) -> None:
        """A function that calls others lowers the stack pointer in its first paragraph, and raises it where it returns."""
        paragraph = block.paragraph
        if not self.calls or not (paragraph.number == 0 or paragraph.following < 0):
            return
        if paragraph.number == 0 and paragraph.following < 0:
            return
        readers = [node for node in block.nodes if any(a.kind in _ON_STACK for a in node.args)]
        sign = -1 if paragraph.number == 0 else 1
        made = self.node(block, "setrg", "l", [Arg(REGISTER, name="SP"), Arg(REGISTER, number=sign, name="frame")], 0)
        made.effect = True
        made.behind = tuple(readers)


def fold_registers(block: Block) -> None:
    """What copies of registers are for reads the registers themselves, where nothing writes them: as wide as the copy, or of fewer bits."""
    copies: dict[Node, Arg] = {}
    for node in block.nodes:
        a = node.args[0]
        if a.kind == REGISTER and not a.memory and node.name == "load":
            copies[node] = a
    if not copies:
        return
    written = {node.args[0].name for node in block.nodes if node.name == "setrg"}
    if written:
        copies = {node: a for node, a in copies.items() if a.name not in written}
    for node in block.nodes:
        wide = 64 if node.name.startswith("cvt") else BITS.get(node.suffix, 64)
        for k, a in enumerate(node.args):
            if a.kind == VALUE and a.node in copies and a.node is not None:
                whole = a.memory or a.number != 0 or (node.name == "wr" and k == 1)
                if (64 if whole else wide) <= BITS[a.node.suffix]:
                    node.args[k] = Arg(REGISTER, None, a.number, copies[a.node].name, a.memory)


def fold_loads(nodes: list[Node], outside: set[Node]) -> None:
    """Loads that one command reads become its operands in brackets, where no store has to stay behind them."""
    # What may become one, with the commands that read it.
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        if node.args and node.args[0].memory and (node.name == "load" or node.name == "loadu") and node not in outside:
            readers[node] = []
    if not readers:
        return
    for node in nodes:
        for other in node.behind:
            readers.pop(other, None)
        for a in node.args:
            if a.node is not None and a.kind == VALUE and a.node in readers:
                readers[a.node].append(node)
    gone: set[Node] = set()
    for load, reading in readers.items():
        if len(reading) != 1 or not _joins(load, reading[0]):
            continue
        reader = reading[0]
        reader.args = [load.args[0] if a.node is load else a for a in reader.args]
        reader.memory = reader.memory if reader.memory is not None else load.memory
        reader.behind += load.behind
        gone.add(load)
    if gone:
        nodes[:] = [node for node in nodes if node not in gone]


def _joins(load: Node, reader: Node) -> bool:
    """Whether a command can read what a load reads from memory itself: as many bits, or of a slot fewer."""
    if reader.effect or reader.name in ("load", "loadu", "phi") or reader.name.startswith("cvt") or any(a.memory for a in reader.args):
        return False
    if any(a.node is load and (a.number or a.memory) for a in reader.args):
        return False
    bits, wanted = BITS[load.suffix], BITS[reader.suffix]
    return wanted == bits or (wanted < bits and load.args[0].kind in (FRAME, INCOMING))


_ON_STACK: Final = (FRAME, INCOMING, OUTGOING, LOCAL)


def _is_constant(a: Arg) -> bool:
    """Whether an operand takes up the room that a command has for a constant."""
    if a.kind == CONSTANT or a.kind == VALUE:
        return a.number != 0
    return a.kind != REGISTER or a.number != 0


def _reads(node: Node, phi: Node | None) -> bool:
    return any(a.kind == FRAME and a.node is phi and a.name == HANDED and a.memory for a in node.args)


def _not_needed(node: Node, following: int) -> bool:
    """Jumps to the paragraph that stands behind this one."""
    if node.name not in JUMPS:
        return False
    last = node.args[-1]
    return last.kind == TARGET and last.number == following


def _live_phis(flow: Flow) -> set[Node]:
    """The phis that something reads, not counting phis that nothing reads."""
    live: set[Node] = set()
    waiting: list[Node] = []
    for paragraph in flow.made:
        for node in paragraph.nodes:
            _note_phis(node.args, live, waiting)
    while waiting:
        _note_phis(waiting.pop().args, live, waiting)
    return live


def _note_phis(args: list[Arg], live: set[Node], waiting: list[Node]) -> None:
    for a in args:
        if a.node is not None and a.kind == VALUE and a.node.name == "phi" and a.node not in live:
            live.add(a.node)
            waiting.append(a.node)
