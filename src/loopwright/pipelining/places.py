"""Placing the operations of a body at one initiation interval: the modulo reservation table, and two ways to fill it.

``swing`` places each operation once, next to its neighbours (Llosa, González, Ayguadé and Valero, "Swing modulo scheduling", PACT 1996, sections 3.2 and 3.3);
``iterate`` places them by priority and takes out what is in the way (Rau, "Iterative modulo scheduling", MICRO 1994, section 3).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from loopwright.nests.analysis.graph import Edge, Graph
from loopwright.pipelining.schedule import components
from loopwright.targets.core import Core

__all__ = ["Places"]

#: Per operation, how often it may be placed so that results come in order.
SECOND: Final = 2
NOWHERE: Final = -(1 << 60)


class Places:
    """Where the operations of a body are at one interval.

    Attributes:
        starts: per node, when it starts; ``NOWHERE`` while it has no place.
    """

    def __init__(self, graph: Graph, core: Core, edges: list[Edge], interval: int, in_order: bool = False) -> None:
        """``edges`` are those that bind; their circuits must allow the interval. With ``in_order``, results have to come in the order of starts."""
        self.latency = [node.latency for node in graph.nodes] if in_order else []
        # Per latency, where an operation that takes so long would overtake another or be overtaken, a bit each.
        self.barred: dict[int, int] = {}
        self.interval = interval
        self.count = len(graph.nodes)
        self.unit = [node.unit for node in graph.nodes]
        self.cycles = [node.cycles for node in graph.nodes]
        self.capacity = core.counts
        # Per unit: the operations that keep one.
        self.users: list[list[int]] = [[] for _ in core.counts]
        for node, unit in enumerate(self.unit):
            if self.cycles[node]:
                self.users[unit].append(node)
        # Per operation, the cycles in which it keeps its unit, a bit each; 0 for one that keeps it for none, or for more than the interval has.
        self.spans = [(1 << cycles) - 1 if cycles <= interval else 0 for cycles in self.cycles]
        # (An issue width that cannot be exceeded need not be counted.)
        self.issue = core.issue if core.issue < self.count else 0
        # Per node: its neighbours, and how many cycles they are apart at least, distances taken off.
        self.before: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.after: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.values: list[tuple[int, int, int]] = []
        for edge in edges:
            apart = edge.latency - interval * edge.distance[-1]
            if edge.source != edge.sink:
                self.before[edge.sink].append((edge.source, apart))
                self.after[edge.source].append((edge.sink, apart))
            if edge.value:
                self.values.append((edge.source, edge.sink, interval * edge.distance[-1]))
        self.starts: list[int] = []
        self.tight = False
        self.clear()
        self.early = self._longest(self.before, self.after)
        self.height = self._longest(self.after, self.before)
        length = max([a + b for a, b in zip(self.early, self.height, strict=True)])
        self.late = [length - height for height in self.height]

    def clear(self) -> None:
        """Take everything out."""
        self.starts = [NOWHERE] * self.count
        self.taken = [[0] * self.interval for _ in self.capacity]
        self.issued = [0] * self.interval
        self._bar_all()
        # Per unit: the rows in which all of them are taken, a bit each.
        self.full = [0 if count > 0 else -1 for count in self.capacity]

    def _longest(self, incoming: list[list[tuple[int, int]]], outgoing: list[list[tuple[int, int]]]) -> list[int]:
        """Per node, the longest path that leads to it, at least 0."""
        found = [0] * self.count
        waiting = list(range(self.count))
        queued = [True] * self.count
        while waiting:
            again: list[int] = []
            for node in waiting:
                queued[node] = False
            for node in waiting:
                here = found[node]
                for other, apart in outgoing[node]:
                    if here + apart > found[other]:
                        found[other] = here + apart
                        if not queued[other]:
                            queued[other] = True
                            again.append(other)
            waiting = again
        return found

    # --- the table

    def fits(self, node: int, start: int) -> bool:
        """Whether a unit and a slot are free for a node."""
        interval = self.interval
        row = start % interval
        if self.issue and self.issued[row] >= self.issue:
            return False
        if self.latency and self.barred[self.latency[node]] >> row & 1:
            return False
        unit = self.unit[node]
        if self.spans[node]:
            span = self.spans[node] << row
            return not (span | span >> interval) & self.full[unit]
        cycles = self.cycles[node]
        if not cycles:
            return True
        whole, rest = divmod(cycles, interval)
        taken = self.taken[unit]
        return all(taken[(start + k) % interval] + whole + (k < rest) <= self.capacity[unit] for k in range(interval))

    def _overtakes(self, node: int, start: int, other: int) -> bool:
        """Whether the result of one of two operations would come before that of the other, which has started before it."""
        longer = self.latency[other] - self.latency[node]
        ahead = (start - self.starts[other]) % self.interval if longer > 0 else (self.starts[other] - start) % self.interval
        # (In one cycle, the shorter goes first.)
        return 0 < ahead < abs(longer)

    def put(self, node: int, start: int, sign: int) -> None:
        """Put a node to a start, or, with -1, take it out from there."""
        interval = self.interval
        self.starts[node] = start if sign > 0 else NOWHERE
        self.issued[start % interval] += sign
        if self.latency:
            if sign > 0:
                self._bar(node, start % interval)
            else:
                self._bar_all()
        cycles = self.cycles[node]
        if not cycles:
            return
        unit = self.unit[node]
        taken = self.taken[unit]
        full = self.full[unit]
        capacity = self.capacity[unit]
        whole, rest = divmod(cycles, interval)
        for k in range(interval if whole else rest):
            row = (start + k) % interval
            taken[row] += sign * (whole + (k < rest))
            if taken[row] >= capacity:
                full |= 1 << row
            else:
                full &= ~(1 << row)
        self.full[unit] = full

    def _bar(self, node: int, row: int) -> None:
        """Note which rows a placed operation leaves to those that take longer or shorter. In one cycle, the shorter goes first."""
        interval = self.interval
        for latency in self.barred:
            rows = min(abs(self.latency[node] - latency) - 1, interval - 1)
            if rows > 0:
                span = ((1 << rows) - 1) << (row + 1 if self.latency[node] > latency else row - rows) % interval
                self.barred[latency] |= (span | span >> interval) & ((1 << interval) - 1)

    def _bar_all(self) -> None:
        self.barred = dict.fromkeys(self.latency, 0)
        for node, start in enumerate(self.starts):
            if start != NOWHERE:
                self._bar(node, start % self.interval)

    def _earliest(self, node: int) -> int:
        """The first start that the placed operations before a node allow; ``NOWHERE`` where there are none."""
        starts = self.starts
        least = NOWHERE
        for other, apart in self.before[node]:
            start = starts[other]
            if start != NOWHERE and start + apart > least:
                least = start + apart
        return least

    def _latest(self, node: int) -> int:
        """The last start that the placed operations after a node allow; ``-NOWHERE`` where there are none."""
        starts = self.starts
        most = -NOWHERE
        for other, apart in self.after[node]:
            start = starts[other]
            if start != NOWHERE and start - apart < most:
                most = start - apart
        return most

    def _place(self, node: int) -> bool:
        """Put a node where it fits: as early as its neighbours allow, or as late where it has only some behind it."""
        first, last = self._earliest(node), self._latest(node)
        if first == NOWHERE and last != -NOWHERE:
            for start in range(last, last - self.interval, -1):
                if self.fits(node, start):
                    self.put(node, start, 1)
                    return True
            return False
        if first == NOWHERE:
            first = self.early[node]
        last = min(last, first + self.interval - 1)
        if self.tight and self.cycles[node]:
            return self._place_tightly(node, first, last)
        for start in range(first, last + 1):
            if self.fits(node, start):
                self.put(node, start, 1)
                return True
        return False

    def _place_tightly(self, node: int, first: int, last: int) -> bool:
        """Put a node where it leaves the fewest free cycles of its unit beside it, which others may not fit into."""
        best = NOWHERE
        least = self.interval + 1
        for start in range(first, last + 1):
            if self.fits(node, start):
                left = self._free(node, start - 1, -1) + self._free(node, start + self.cycles[node], 1)
                if left < least:
                    best, least = start, left
                    if left == 0:
                        break
        if best == NOWHERE:
            return False
        self.put(node, best, 1)
        return True

    def _free(self, node: int, start: int, step: int) -> int:
        """How many cycles from one on, in one direction, some unit of a node's kind is free."""
        full = self.full[self.unit[node]]
        interval = self.interval
        for k in range(interval):
            if full >> ((start + step * k) % interval) & 1:
                return k
        return interval

    # --- swing modulo scheduling

    def swing(self) -> bool:
        """Place all operations in the swing order, each once. Returns whether all have found a place."""
        self.clear()
        return all(self._place(node) for node in self._order())

    def _order(self) -> list[int]:
        """Each operation next to some that come before it in the order, if there are any; the most critical sets first."""
        order: list[int] = []
        placed = [False] * self.count
        for group in self._groups():
            inside = set(group)
            while inside:
                above = {node for node in inside if any(placed[other] for other, _ in self.after[node])}
                below = {node for node in inside if any(placed[other] for other, _ in self.before[node])}
                up = bool(above) and not below
                ready = above if up else below
                if not ready:
                    ready = {max(inside, key=lambda node: (self.early[node] - self.late[node], -node))}
                while ready:
                    if up:
                        node = max(ready, key=lambda node: (self.early[node], self.early[node] - self.late[node], -node))
                    else:
                        node = max(ready, key=lambda node: (self.height[node], self.early[node] - self.late[node], -node))
                    order.append(node)
                    placed[node] = True
                    inside.discard(node)
                    ready.discard(node)
                    for other, _ in self.before[node] if up else self.after[node]:
                        if other in inside:
                            ready.add(other)
        return order

    def _groups(self) -> list[list[int]]:
        """The operations on circuits, the most critical circuit first, each with what lies between it and those before; then the rest."""
        circuits = [component for component in components(self.count, self.after) if len(component) > 1]
        slack = {min(component): min([self.late[node] - self.early[node] for node in component]) for component in circuits}
        circuits.sort(key=lambda component: (slack[min(component)], -len(component), min(component)))
        done: set[int] = set()
        groups: list[list[int]] = []
        for component in circuits:
            between: set[int] = set()
            if done:
                down, up = self._reached(done, self.after), self._reached(done, self.before)
                mine = set(component)
                between = (down & self._reached(mine, self.before)) | (up & self._reached(mine, self.after))
            group = sorted((between | set(component)) - done)
            done.update(group)
            groups.append(group)
        groups.append([node for node in range(self.count) if node not in done])
        return groups

    def _reached(self, nodes: set[int], along: list[list[tuple[int, int]]]) -> set[int]:
        found = set(nodes)
        waiting = list(nodes)
        while waiting:
            for other, _ in along[waiting.pop()]:
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    # --- iterative modulo scheduling

    def iterate(self, budget: int) -> bool:
        """Place operations by priority, taking out what is in the way, ``budget`` times as often as there are operations for each order of priorities.

        The orders: by the longest path to the end; those that keep their unit longest first; and by the latest start. What is taken out often comes earlier.
        Where operations keep a unit for several cycles, all is tried once more, with operations packed.

        Returns:
            Whether all have found a place.
        """
        nodes = range(self.count)
        several = any(cycles > 1 for cycles in self.cycles)
        heights = [float(self.height[k]) for k in nodes]
        longest = [float(self.cycles[k] * self.interval * 1000 + self.height[k]) for k in nodes]
        latest = [float(self.early[k] - self.late[k]) for k in nodes]
        if self.latency:
            # A second thought where there was a schedule already.
            return self._iterate(heights, SECOND * self.count, False)
        for tight in (False, True) if several else (False,):
            self.tight = tight
            if any(self._iterate(priority, budget * self.count, learn) for priority, learn in ((heights, False), (longest, True), (latest, True))):
                return True
        return False

    def _iterate(self, priority: list[float], budget: int, learn: bool) -> bool:
        self.clear()
        previous = [NOWHERE] * self.count
        removed = [0] * self.count
        weight = max(1.0, max(priority) - min(priority)) / 8 if learn else 0.0
        missing = [(-priority[node], node) for node in range(self.count)]
        heapify(missing)
        while missing:
            if budget == 0:
                return False
            budget -= 1
            node = heappop(missing)[1]
            if self._place(node):
                previous[node] = self.starts[node]
                continue
            start = self._earliest(node)
            if start == NOWHERE:
                start = self.early[node] if self._latest(node) == -NOWHERE else self._latest(node) - self.interval + 1
            if previous[node] != NOWHERE and start <= previous[node]:
                start = previous[node] + 1
            for other in self.in_the_way(node, start, priority):
                self.put(other, self.starts[other], -1)
                removed[other] += 1
                heappush(missing, (-priority[other] - weight * removed[other], other))
            self.put(node, start, 1)
            previous[node] = start
        return True

    def in_the_way(self, node: int, start: int, priority: list[float]) -> list[int]:
        """What has to lose its place for a node to start: neighbours too near, then, the least important first, those that have its unit or its slot."""
        starts = self.starts
        found = [other for other, apart in self.before[node] if starts[other] != NOWHERE and starts[other] + apart > start]
        found += [other for other, apart in self.after[node] if starts[other] != NOWHERE and start + apart > starts[other]]
        found = sorted(set(found))
        gone = [(other, starts[other]) for other in found]
        for other, place in gone:
            self.put(other, place, -1)
        others = [other for other in self.users[self.unit[node]] if starts[other] != NOWHERE and self._share(node, start, other)] if self.cycles[node] else []
        if self.issue and self.issued[start % self.interval] >= self.issue:
            others += [
                other for other in range(self.count) if starts[other] != NOWHERE and (starts[other] - start) % self.interval == 0 and other not in others
            ]
        if self.latency:
            others += [other for other in range(self.count) if starts[other] != NOWHERE and other not in others and self._overtakes(node, start, other)]
        others.sort(key=lambda other: (priority[other], other))
        for other in others:
            if self.fits(node, start):
                break
            gone.append((other, starts[other]))
            found.append(other)
            self.put(other, starts[other], -1)
        for other, place in gone:
            self.put(other, place, 1)
        return found

    def _share(self, node: int, start: int, other: int) -> bool:
        """Whether a placed operation keeps its unit in some of the cycles that a node would."""
        ahead = (self.starts[other] - start) % self.interval
        return ahead < self.cycles[node] or self.interval - ahead < self.cycles[other]

    # --- lives of values

    def shorten(self, sweeps: int) -> None:
        """Move operations between their neighbours to where values live shorter; nothing else changes."""
        readers: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        read: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        for source, sink, later in self.values:
            readers[source].append((sink, later))
            read[sink].append((source, later))
        for _ in range(sweeps):
            changed = False
            for node in sorted(range(self.count), key=lambda node: -self.starts[node]):
                changed = self._move(node, readers, read) or changed
            if not changed:
                return

    def _move(self, node: int, readers: list[list[tuple[int, int]]], read: list[list[tuple[int, int]]]) -> bool:
        starts = self.starts
        now = starts[node]
        first, last = self._earliest(node), self._latest(node)
        # Later, its own value lives shorter, and those that nothing reads after it live longer.
        gain = 1 if any(sink != node for sink, _ in readers[node]) else 0
        for source in {source for source, _ in read[node] if source != node}:
            ends = [(starts[sink] + later, sink) for sink, later in readers[source]]
            if max(ends)[0] == max([end for end, sink in ends if sink == node]):
                gain -= 1
        if gain == 0:
            return False
        if gain > 0:
            choice = range(min(last, now + 2 * self.interval), now, -1) if last != -NOWHERE else range(0)
        else:
            choice = range(max(first, now - 2 * self.interval), now) if first != NOWHERE else range(0)
        before = self._lives(node, readers, read)
        for start in choice:
            self.put(node, now, -1)
            fits = self.fits(node, start)
            self.put(node, start if fits else now, 1)
            if fits:
                if self._lives(node, readers, read) < before:
                    return True
                self.put(node, start, -1)
                self.put(node, now, 1)
        return False

    def _lives(self, node: int, readers: list[list[tuple[int, int]]], read: list[list[tuple[int, int]]]) -> int:
        """Cycles that the values a node makes and reads live, together."""
        starts = self.starts
        total = 0
        for source in {node, *[source for source, _ in read[node]]}:
            if readers[source]:
                total += max(0, max([starts[sink] + later for sink, later in readers[source]]) - starts[source])
        return total
