"""Placing operations by how little room they have left: for bodies in which circuits and units leave hardly any.

R. Huff, "Lifetime-sensitive modulo scheduling" (PLDI 1993, section 4): the next operation is always the one whose window, between all that has a place, directly or by way of
operations that have none yet, is the smallest; what stands in its way loses its place. The windows are kept up to date by following the edges.
"""

from __future__ import annotations

from typing import Final

from loopwright.pipelining.places import NOWHERE, Places

__all__ = ["by_slack"]

FAR: Final = 1 << 40


class _Windows:
    """The first and last start of each operation that what has a place allows."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.first: list[int] = []
        self.last: list[int] = []
        self.reset()

    def reset(self) -> None:
        """From all that has a place."""
        starts = self.places.starts
        count = self.places.count
        self.first = [0 if start == NOWHERE else start for start in starts]
        self.last = [FAR if start == NOWHERE else start for start in starts]
        for node in range(count):
            if starts[node] == NOWHERE:
                self.first[node] = -FAR
        # Without anything placed before them, operations begin as early as the longest paths to them take.
        self._follow([node for node in range(count) if starts[node] != NOWHERE])

    def placed(self, node: int, start: int) -> list[int]:
        """Note a place; gives the operations whose own places do not go with it."""
        self.first[node] = self.last[node] = start
        return self._follow([node])

    def _follow(self, begun: list[int]) -> list[int]:
        starts = self.places.starts
        broken: set[int] = set()
        first, last = self.first, self.last
        waiting = list(begun)
        while waiting:
            again: list[int] = []
            for node in waiting:
                for other, apart in self.places.after[node]:
                    if first[node] > -FAR and first[node] + apart > first[other]:
                        if starts[other] != NOWHERE:
                            broken.add(other)
                        else:
                            first[other] = first[node] + apart
                            again.append(other)
                for other, apart in self.places.before[node]:
                    if last[node] < FAR and last[node] - apart < last[other]:
                        if starts[other] != NOWHERE:
                            broken.add(other)
                        else:
                            last[other] = last[node] - apart
                            again.append(other)
            waiting = again
        return sorted(broken)


def by_slack(places: Places, budget: int) -> bool:
    """Place all operations, ``budget`` times as many as there are. Returns whether all have found a place."""
    places.clear()
    windows = _Windows(places)
    count = places.count
    starts = places.starts
    removed = [0] * count
    previous = [NOWHERE] * count
    interval = places.interval
    missing = set(range(count))
    left = budget * count
    while missing:
        if left == 0:
            return False
        left -= 1
        node = _tightest(places, windows, missing, removed)
        missing.discard(node)
        first, last = windows.first[node], windows.last[node]
        if first == -FAR:
            first = places.early[node] if last == FAR else last - interval + 1
            order = range(min(last, first + interval - 1), first - 1, -1) if last < FAR else range(first, first + interval)
        else:
            order = range(first, min(last, first + interval - 1) + 1)
        chosen = next((start for start in order if places.fits(node, start)), NOWHERE)
        if chosen == NOWHERE:
            chosen = first if previous[node] == NOWHERE or first > previous[node] else previous[node] + 1
            for other in places.in_the_way(node, chosen, [float(_room(places, windows, k)) for k in range(count)]):
                _remove(places, other, removed, missing)
            windows.reset()
        previous[node] = chosen
        places.put(node, chosen, 1)
        broken = windows.placed(node, chosen)
        if broken:
            for other in broken:
                if other != node and starts[other] != NOWHERE:
                    _remove(places, other, removed, missing)
            windows.reset()
    return True


def _tightest(places: Places, windows: _Windows, missing: set[int], removed: list[int]) -> int:
    """The operation with the least room; of equals the one that keeps its unit longest, then the one that most depends on. Those taken out often come earlier."""
    best = -1
    least = (0, 0, 0, 0)
    for node in missing:
        key = (_room(places, windows, node) - removed[node], -places.cycles[node], -places.height[node], node)
        if best < 0 or key < least:
            best, least = node, key
    return best


def _remove(places: Places, node: int, removed: list[int], missing: set[int]) -> None:
    places.put(node, places.starts[node], -1)
    removed[node] += 1
    missing.add(node)


def _room(places: Places, windows: _Windows, node: int) -> int:
    """The starts that an operation can choose from."""
    first, last = windows.first[node], windows.last[node]
    if first == -FAR or last == FAR:
        return places.interval + places.late[node] - places.early[node]
    return last - first
