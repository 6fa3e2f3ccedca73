"""The order of the commands of one paragraph: list scheduling, from the last command to the first.

A command is placed when all that read it are; it is due when it would start no later than they need it. Of those that are due, the one that could start last by the
longest path from the paragraph's beginning is placed first, that is, furthest back (list scheduling by critical path: Landskov, Davidson, Shriver and Mallett 1980).
Counting from the end, because what others find in the switch is named by how far from the end it was made: a value can be demanded in a certain place, where
its command goes if it can, and else a copy of it. Places for which nothing is due are filled with commands that do nothing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from loopwright.targets.multiclet.flow import CONSTANT, VALUE, Arg, Flow, Node
from loopwright.targets.multiclet.forms import Forms

__all__ = ["Scheduler"]

#: No number is as wide, of commands and of cycles.
_NUMBERS: Final = 32
_NEVER: Final = 1 << _NUMBERS


class Scheduler:
    """The scheduling of one paragraph. What it knows of each command is noted in the command: ``Node`` says what.

    Attributes:
        order: the commands, the last one first.
        ranked: the given ones by their ranks.
        limited: values could fall out of reach.
        limit: of values that have not been placed, once something that reads them has been: the last place from which all of that can still name them, in this order.
        safe: up to this place none of them is overdue.
        waiting: the ranks of commands of which all that read them have been placed, with the cycle in which each is due times the number of commands added: a heap.
        able: the ranks of those that are due: a heap.
    """

    def __init__(self, flow: Flow, forms: Forms, nodes: list[Node], home: int) -> None:
        self.flow = flow
        self.forms = forms
        self.processor = forms.processor
        self.home = home
        self.nodes = nodes
        self.width = self.processor.fetch * self.processor.multicells
        self.order: list[Node] = []
        self.limited = False
        self.limit: dict[Node, int] = {}
        self.safe = 0
        self.begin()
        self.ranked = sorted(nodes, key=_urgency)
        for rank, node in enumerate(self.ranked):
            node.rank = rank
        self.cycle = 0
        self.in_cycle = 0
        self.waiting: list[int] = []
        self.able: list[int] = []

    def begin(self) -> None:
        """Note of each command its latency, the earliest cycle in which it could start, and how many read it."""
        # (The next paragraph is fetched, and its commands start, so much later than where it is has become known.)
        ahead = self.processor.fetch_to_issue + self.processor.change
        forms = self.forms
        for node in self.nodes:
            form = forms.of(node)
            latency = node.latency = forms.cycles(form, node)
            node.due = ahead + latency if form.jumps else 0
            node.readers = node.place = node.reserved = 0
            at = 0
            for a in node.args:
                made = a.node
                if made is not None and a.kind == VALUE and made.readers >= 0:
                    made.readers += 1
                    at = max(at, made.start + made.latency)
            for other in node.behind:
                if other.readers >= 0:
                    other.readers += 1
                    at = max(at, other.start + 1)
            node.start = at

    def run(self, fixed: dict[int, Arg], copied: bool) -> None:
        """Place all commands.

        Args:
            fixed: what has to be made in certain places.
            copied: it is to be made by copies.
        """
        for place, a in fixed.items():
            if a.kind == VALUE and a.node is not None and a.node.readers >= 0:
                a.node.reserved = max(a.node.reserved, place)
        for node in self.nodes:
            if not node.readers:
                self.note(node)
        last = max(fixed, default=0)
        left = len(self.nodes)
        # (What is demanded, and what fills places up to there, adds to the commands.)
        self.limited = left + last > self.processor.depth
        room = self.processor.buffer * self.processor.all_cells
        while left or len(self.order) < last:
            place = len(self.order) + 1
            demanded = fixed.get(place) if place <= last else None
            if demanded is not None:
                left -= self.fill(place, demanded, copied)
                continue
            # (With more commands than there is room for it will be cut, and values are not kept in reach by ever more copies.)
            overdue = self.overdue(place) if self.limited and place <= room else None
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
        heappush(self.waiting, node.due * len(self.ranked) + node.rank)

    def choose(self, place: int) -> Node | None:
        """The command for a place, or None if none can be placed."""
        if self.in_cycle >= self.width:
            self.cycle += 1
            self.in_cycle = 0
        waiting, able, ranked = self.waiting, self.able, self.ranked
        count = len(ranked)
        # What is demanded further back waits on.
        held: list[int] = []
        while True:
            after = (self.cycle + 1) * count
            while waiting and waiting[0] < after:
                rank = heappop(waiting) % count
                if ranked[rank].reserved > place:
                    held.append(rank)
                else:
                    heappush(able, rank)
            while able and (ranked[able[0]].place or ranked[able[0]].reserved > place):
                heappop(able)
            if able or not waiting:
                break
            self.cycle = max(self.cycle, waiting[0] // count)
            self.in_cycle = 0
        for rank in held:
            heappush(waiting, self.cycle * count + rank)
        return ranked[heappop(able)] if able else None

    def put(self, node: Node) -> None:
        """Place a command."""
        self.order.append(node)
        place = len(self.order)
        node.place = place
        self.in_cycle += 1
        if self.limited:
            self.limit.pop(node, None)
        for a in node.args:
            made = a.node
            if made is not None and a.kind == VALUE and made.readers >= 0:
                if self.limited and not made.place and made not in self.limit:
                    limit = self.limit[made] = place + self.processor.depth
                    self.safe = min(self.safe, limit - len(self.limit) - 1)
                self.release(made, self.cycle + made.latency)
        for other in node.behind:
            if other.readers >= 0:
                self.release(other, self.cycle)

    def release(self, node: Node, due: int) -> None:
        node.due = max(node.due, due)
        node.readers -= 1
        if not node.readers:
            self.note(node)

    def extra(self, a: Arg) -> Node:
        """A copy; of a constant it does nothing worth mentioning."""
        made = self.flow.node("loadu", "q", [a], self.home, 0)
        made.latency = self.forms.copying
        made.readers = 0
        if a.kind == VALUE and a.node is not None and a.node.readers >= 0:
            a.node.readers += 1
        return made

    def fill(self, place: int, a: Arg, copied: bool) -> int:
        """Make what is demanded in a place; how many of the given commands were placed for it."""
        node = a.node
        itself = a.kind == VALUE and not a.number and not a.memory and not copied
        if itself and node is not None and not node.readers and not node.place and node.reserved == place:
            self.put(node)
            return 1
        self.put(self.extra(a))
        if node is not None and node.reserved == place:
            node.reserved = 0
        return 0

    # --- the reach of the switch ----------------------------------------------------------------------------------------

    def overdue(self, place: int) -> Node | None:
        """A value that has to be placed now, for what reads it to reach it."""
        if place <= self.safe:
            return None
        # (They stand there in the order of their limits: the first that reads a value sets it.)
        first: Node | None = None
        earliest = 0
        after = place
        spare = _NEVER
        for node, limit in self.limit.items():
            after += 1
            if first is None or (limit == earliest and node.number < first.number):
                first, earliest = node, limit
            if limit <= after:
                return first
            spare = min(spare, limit - after)
        # With each place there is one less to spare. (What is added is looked at in ``put``; what is taken away leaves more.)
        self.safe = place + spare - 1
        return None

    def save(self, node: Node) -> int:
        """Place a value, or a copy of it for what has been placed already; how many of the given commands were placed."""
        if not node.readers and not node.reserved:
            self.put(node)
            return 1
        copy = self.extra(Arg(VALUE, node))
        # (The first that reads it has set its limit.)
        first = self.limit[node] - self.processor.depth
        for reader in self.order[first - 1 :]:
            if any(a.node is node and a.kind == VALUE for a in reader.args):
                reader.args = [Arg(VALUE, copy, a.number, "", a.memory) if a.kind == VALUE and a.node is node else a for a in reader.args]
        del self.limit[node]
        self.put(copy)
        return 0


def _urgency(node: Node) -> int:
    """Those that could start last come first, of these the one that was made last."""
    return -(node.start << _NUMBERS | node.number)
