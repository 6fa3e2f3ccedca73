"""Where the nodes of a reducible graph stand among nested brackets, by the tree of dominators.

The method is Ramsey's (N. Ramsey, *Beyond Relooper: Recursive Translation of Unstructured Control Flow to Structured Control Flow*, ICFP 2022): a node stands
where the one that dominates it directly ends, behind a block that is left towards it if several ways lead there. One thing differs: what does not belong to
a loop stands behind that loop, not in the bracket of the loop, also where a node in the loop dominates it; so brackets of loops hold what runs repeatedly,
and nothing else.
"""

from __future__ import annotations

from loopwright.frontend.llvm.graph import Edge, Node, reached

__all__ = ["Shape"]


class Shape:
    """What is known of each node of a graph, by its number; of those only that are reached.

    Attributes:
        order: nodes, each behind all that dominate it and all that lead to it but from inside of its own loop.
        place: a node's index in `order`; -1 of one that is not reached.
        headers: the nodes that loops begin with.
        loop: the innermost loop a node is in, by its header; -1 for none. A header is in its own.
        behind: of a header, the nodes that stand behind its loop, in order.
        inside: of any node, those that stand behind it, each behind a block of its own, in order.
    """

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        count = len(nodes)
        self.order = reached(nodes)[::-1]
        self.place = [-1] * count
        for place, number in enumerate(self.order):
            self.place[number] = place
        self.sources: list[list[int]] = [[] for _ in nodes]
        for number in self.order:
            for edge in nodes[number].edges:
                self.sources[edge.target].append(number)
        self.dominator = [-1] * count
        self._dominators()
        self.headers: set[int] = set()
        self.loop = [-1] * count
        #: Of a header, the header of the loop around its own.
        self._outer = [-1] * count
        self._loops()
        self.behind: dict[int, list[int]] = {}
        self.inside: dict[int, list[int]] = {}
        self._spans: list[tuple[int, int]] = []
        self._stand()

    # --- dominators and loops -------------------------------------------------------------------------------------

    def _dominators(self) -> None:
        """K. Cooper, T. Harvey, K. Kennedy, *A Simple, Fast Dominance Algorithm*, 2001. In a reducible graph one walk finds them all."""
        place, dominator = self.place, self.dominator
        entry = self.order[0]
        dominator[entry] = entry
        for number in self.order[1:]:
            found = -1
            for source in self.sources[number]:
                if dominator[source] < 0:
                    continue
                if found < 0:
                    found = source
                    continue
                while found != source:
                    while place[found] > place[source]:
                        found = dominator[found]
                    while place[source] > place[found]:
                        source = dominator[source]
            dominator[number] = found

    def back(self, source: int, edge: Edge) -> bool:
        """Whether an edge leads back to the header of a loop."""
        return self.place[edge.target] <= self.place[source]

    def _loops(self) -> None:
        """Innermost loops last in `order`, so from there: what leads to a header from behind it, without passing it, is in its loop."""
        place = self.place
        for header in reversed(self.order):
            latches = [source for source in self.sources[header] if place[source] >= place[header]]
            if not latches:
                continue
            self.headers.add(header)
            self.loop[header] = header
            waiting = list(latches)
            while waiting:
                number = waiting.pop()
                around = self._outermost(number)
                if around == header:
                    continue
                if around < 0:
                    self.loop[number] = header
                else:
                    # A loop that is known stands in this one as a whole.
                    self._outer[around] = header
                    number = around
                waiting += self.sources[number]

    def _outermost(self, number: int) -> int:
        """The outermost loop known so far that a node is in, by its header, or -1."""
        found = self.loop[number]
        while found >= 0 and self._outer[found] >= 0:
            found = self._outer[found]
        return found

    def within(self, number: int, header: int) -> bool:
        """Whether a node is in the loop of a header."""
        at = self.loop[number]
        while at >= 0:
            if at == header:
                return True
            at = self._outer[at]
        return False

    def left(self, number: int, target: int) -> int:
        """The outermost loop that a node is in and another is not, by its header, or -1."""
        found = -1
        at = self.loop[number]
        while at >= 0 and not self.within(target, at):
            found = at
            at = self._outer[at]
        return found

    # --- places -----------------------------------------------------------------------------------------------------

    def _stand(self) -> None:
        place = self.place
        for number in self.order[1:]:
            dominator = self.dominator[number]
            header = self.left(dominator, number)
            if header >= 0:
                self.behind.setdefault(header, []).append(number)
                continue
            if sum(place[source] < place[number] for source in self.sources[number]) > 1:
                self.inside.setdefault(dominator, []).append(number)

    def dominates(self, above: int, number: int) -> bool:
        """Whether every way to a node passes another one, or they are the same."""
        if not self._spans:
            self._number()
        first, last = self._spans[above]
        return first <= self._spans[number][0] <= last

    def _number(self) -> None:
        """Number the tree of dominators, so that what a node dominates has numbers next to each other."""
        size = [1] * len(self.nodes)
        for number in reversed(self.order[1:]):
            size[self.dominator[number]] += size[number]
        first = [0] * len(self.nodes)
        free = [1] * len(self.nodes)
        self._spans = [(-1, -1)] * len(self.nodes)
        for number in self.order:
            dominator = self.dominator[number]
            if number != dominator:
                first[number] = first[dominator] + free[dominator]
                free[dominator] += size[number]
            self._spans[number] = (first[number], first[number] + size[number] - 1)
