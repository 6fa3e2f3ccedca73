"""The order of the commands of one paragraph: list scheduling, from the last command to the first.

A command is placed when all that read it are; it is due when it would start no later than they need it. Of those that are due, the one that could start last by the
longest path from the paragraph's beginning is placed first, that is, furthest back (list scheduling by critical path: Landskov, Davidson, Shriver and Mallett 1980).
Counting from the end, because what others find in the switch is named by how far from the end it was made: a value can be demanded in a certain place, where
its command goes if it can, and else a copy of it. Places for which nothing is due are filled with commands that do nothing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from loopwright.errors import UnsupportedOperationError
from loopwright.targets.multiclet.flow import CONSTANT, JUMPS, VALUE, Arg, Flow, Node
from loopwright.targets.multiclet.parameters import Processor

__all__ = ["Scheduler", "latency_of"]

#: Cycles from its start to the start of what reads it, of a load that copies.
COPY: Final = "integer"


def latency_of(processor: Processor, node: Node) -> int:
    """Cycles from a command's start to the start of what reads it."""
    mnemonic = f"{node.name}_{node.suffix}" if node.suffix else node.name
    row = processor.row(mnemonic)
    if row is None:
        raise UnsupportedOperationError(f"{processor.name} has no command {mnemonic}", line=node.line)
    cycles = processor.latencies[row.latency].cycles
    if row.effect == "load" and not node.args[0].memory:
        cycles = processor.latencies[COPY].cycles
    for a in node.args:
        if a.memory and row.effect != "load":
            cycles += processor.latencies["load"].cycles
    return cycles


class Scheduler:
    """The scheduling of one paragraph.

    Attributes:
        order: the commands, the last one first.
        position: of each command, how far from the end it is, 1 for the last.
    """

    def __init__(self, flow: Flow, processor: Processor, nodes: list[Node], home: int) -> None:
        self.flow = flow
        self.processor = processor
        self.home = home
        self.nodes = nodes
        self.width = processor.fetch * processor.multicells
        self.order: list[Node] = []
        self.position: dict[Node, int] = {}
        self.latency: dict[Node, int] = {node: latency_of(processor, node) for node in nodes}
        # What of each has not been placed yet that reads it, or must stay behind it; when it is due, counted from the end.
        self.readers: dict[Node, int] = dict.fromkeys(nodes, 0)
        # (The next paragraph is fetched, and its commands start, so much later than where it is has become known.)
        ahead = processor.fetch_to_issue + processor.change
        self.due: dict[Node, int] = {node: ahead + self.latency[node] if node.name in JUMPS else 0 for node in nodes}
        # Of values that have not been placed: the last place from which all that read them can still name them, in this order.
        self.limit: dict[Node, int] = {}
        self.reading: dict[Node, list[Node]] = {}
        self.start = self.starts()
        self.cycle = 0
        self.in_cycle = 0
        self.waiting: list[tuple[int, int, int, Node]] = []
        self.able: list[tuple[int, int, Node]] = []
        self.reserved: dict[Node, int] = {}

    def starts(self) -> dict[Node, int]:
        """The earliest cycle in which each could start, by its operands alone."""
        start: dict[Node, int] = {}
        for node in self.nodes:
            at = 0
            for a in node.args:
                if a.kind == VALUE and a.node in self.readers:
                    self.readers[a.node] += 1
                    at = max(at, start[a.node] + self.latency[a.node])
            for other in node.behind:
                if other in self.readers:
                    self.readers[other] += 1
                    at = max(at, start[other] + 1)
            start[node] = at
        return start

    def add(self, node: Node) -> None:
        """One more command, which nothing reads."""
        self.nodes.append(node)
        self.latency[node] = latency_of(self.processor, node)
        self.readers[node] = 0
        self.due[node] = 0
        at = 0
        for a in node.args:
            if a.kind == VALUE and a.node in self.readers:
                self.readers[a.node] += 1
                at = max(at, self.start[a.node] + self.latency[a.node])
        self.start[node] = at

    def run(self, fixed: dict[int, Arg], copied: bool) -> None:
        """Place all commands.

        Args:
            fixed: what has to be made in certain places.
            copied: it is to be made by copies.
        """
        for place, a in fixed.items():
            if a.kind == VALUE and a.node in self.readers:
                self.reserved[a.node] = max(self.reserved.get(a.node, 0), place)
        for node in self.nodes:
            if not self.readers[node]:
                self.note(node)
        last = max(fixed, default=0)
        left = len(self.nodes)
        # (What is demanded, and what fills places up to there, adds to the commands.)
        limited = left + last > self.processor.depth
        room = self.processor.buffer * self.processor.all_cells
        while left or len(self.order) < last:
            place = len(self.order) + 1
            demanded = fixed.get(place)
            if demanded is not None:
                left -= self.fill(place, demanded, copied)
                continue
            # (With more commands than there is room for it will be cut, and values are not kept in reach by ever more copies.)
            overdue = self.overdue(place) if limited and place <= room else None
            if overdue is not None:
                left -= self.save(overdue)
                continue
            chosen = self.choose(place)
            if chosen is not None:
                self.put(chosen)
                left -= 1
            else:
                self.put(self.extra(Arg(CONSTANT)))

    # --- choosing ---------------------------------------------------------------------------------------------------

    def note(self, node: Node) -> None:
        """All that read it have been placed."""
        heappush(self.waiting, (self.due[node], -self.start[node], -node.number, node))

    def choose(self, place: int) -> Node | None:
        """The command for a place, or None if none can be placed."""
        if self.in_cycle >= self.width:
            self.cycle += 1
            self.in_cycle = 0
        held: list[tuple[int, int, int, Node]] = []
        while True:
            while self.waiting and self.waiting[0][0] <= self.cycle:
                _, late, number, node = heappop(self.waiting)
                if self.reserved.get(node, 0) > place:
                    held.append((self.cycle, late, number, node))
                else:
                    heappush(self.able, (late, number, node))
            while self.able and (self.able[0][2] in self.position or self.reserved.get(self.able[0][2], 0) > place):
                heappop(self.able)
            if self.able:
                break
            if not self.waiting:
                break
            self.cycle = max(self.cycle, self.waiting[0][0])
            self.in_cycle = 0
        for each in held:
            heappush(self.waiting, each)
        return heappop(self.able)[2] if self.able else None

    def put(self, node: Node) -> None:
        """Place a command."""
        self.order.append(node)
        place = len(self.order)
        self.position[node] = place
        self.limit.pop(node, None)
        self.in_cycle += 1
        for a in node.args:
            if a.kind == VALUE and a.node is not None and a.node in self.readers:
                made = a.node
                if made not in self.limit and made not in self.position:
                    self.limit[made] = place + self.processor.depth
                self.reading.setdefault(made, []).append(node)
                self.release(made, self.cycle + self.latency[made])
        for other in node.behind:
            if other in self.readers:
                self.release(other, self.cycle)

    def release(self, node: Node, due: int) -> None:
        self.due[node] = max(self.due[node], due)
        self.readers[node] -= 1
        if not self.readers[node]:
            self.note(node)

    def extra(self, a: Arg) -> Node:
        """A copy; of a constant it does nothing worth mentioning."""
        made = self.flow.node("loadu", "q", [a], self.home, 0)
        self.latency[made] = self.processor.latencies[COPY].cycles
        self.due[made] = 0
        self.readers[made] = 0
        self.start[made] = 0
        if a.kind == VALUE and a.node in self.readers:
            self.readers[a.node] += 1
        return made

    def fill(self, place: int, a: Arg, copied: bool) -> int:
        """Make what is demanded in a place; how many of the given commands were placed for it."""
        node = a.node
        if a.kind == VALUE and node in self.readers and not a.number and not a.memory and not copied:
            assert node is not None
            if node not in self.position and not self.readers[node] and self.reserved[node] == place:
                self.put(node)
                return 1
        self.put(self.extra(a))
        if node is not None and self.reserved.get(node, 0) == place:
            del self.reserved[node]
        return 0

    # --- the reach of the switch ----------------------------------------------------------------------------------------

    def overdue(self, place: int) -> Node | None:
        """A value that has to be placed now, for what reads it to reach it."""
        # (They stand there in the order of their limits: the first that reads a value sets it.)
        first: Node | None = None
        earliest = 0
        after = place
        for node, limit in self.limit.items():
            after += 1
            if first is None or (limit == earliest and node.number < first.number):
                first, earliest = node, limit
            if limit <= after:
                return first
        return None

    def save(self, node: Node) -> int:
        """Place a value, or a copy of it for what has been placed already; how many of the given commands were placed."""
        if not self.readers[node] and not self.reserved.get(node, 0):
            self.put(node)
            return 1
        copy = self.extra(Arg(VALUE, node))
        for reader in self.reading.pop(node, []):
            reader.args = [Arg(VALUE, copy, a.number, "", a.memory) if a.kind == VALUE and a.node is node else a for a in reader.args]
        del self.limit[node]
        self.put(copy)
        return 0
