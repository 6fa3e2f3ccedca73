"""Where the accesses of strips of rows, walked by diagonals in lanes, get their values from.

In lanes a row is a lane, and a diagonal a step. What a load reads may have been stored, so many steps before, by the row so many above: then it is a vector that
is in registers, its lanes moved by so many. So is what another load has read, where both read what was there before the nest (predictive commoning: O'Brien,
"Predictive commoning", 1990; here along two loops). Only the first rows' elements come from memory, or the last rows'. What is left is loaded for each lane.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.nests.analysis.dependence import FLOW, OUTPUT, Dependence
from loopwright.nests.analysis.graph import Edge, Graph, recurrence_bound
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.targets.core import Core
from loopwright.types import F32

__all__ = ["CHUNK", "FIXED", "MOST_ROWS", "MOVED", "ONE", "STRIDED", "Streams", "Taken"]

#: How a load gets its vector: from registers, lanes moved; element by element in each step; once in front of the diagonals; or from one element for all lanes.
MOVED: Final = 0
STRIDED: Final = 1
FIXED: Final = 2
ONE: Final = 3

#: Values are kept over so many steps at most, and lanes moved by so many.
MOST_STEPS: Final = 4
MOST_ROWS: Final = 2
#: Bytes of a row that blocks of steps load and store together.
CHUNK: Final = 16
#: Moves between lanes that a byte takes, measured on Zen 4.
BYTES: Final = 2


class Taken:
    """How a load gets its vector.

    Attributes:
        load: the access.
        kind: MOVED, STRIDED, FIXED or ONE.
        source: of MOVED: position of the store or load whose vector it is.
        rows: by how many lanes it is moved: positive where a row takes what one above has.
        steps: how many steps ago it was made.
    """

    __slots__ = ("kind", "load", "rows", "source", "steps")

    def __init__(self, load: Access, kind: int, source: int = -1, rows: int = 0, steps: int = 0) -> None:
        self.load = load
        self.kind = kind
        self.source = source
        self.rows = rows
        self.steps = steps


class Streams:
    """The accesses of an innermost loop, for strips of iterations of the loop around it.

    Attributes:
        nest, loop, inner: the nest and the two loops.
        slant: how many iterations each row is behind the one before.
        accesses: those of the inner loop.
        taken: per position of a load, how it gets its vector.
        possible: whether all of them are at subscripts that can be followed.
        overwritten: positions of stores of which only the last row's stay in memory, and nothing reads the others there.
    """

    __slots__ = ("_found", "accesses", "column", "inner", "loop", "nest", "overwritten", "possible", "row", "slant", "taken")

    def __init__(self, nest: Nest, loop: NestLoop, inner: NestLoop, slant: int, found: list[Dependence]) -> None:
        self.nest = nest
        self.loop = loop
        self.inner = inner
        self.slant = slant
        self.accesses = [access for access in nest.accesses if inner.head < access.position < inner.end]
        self.row = self.column = -1
        for value, known in nest.indices.items():
            if known is loop:
                self.row = value
            elif known is inner:
                self.column = value
        self._found = [
            d for d in found if len(d.loops) > loop.depth and d.loops[loop.depth] is loop and all(c.low <= 0 <= c.high for c in d.vector[: loop.depth])
        ]
        self.taken: dict[int, Taken] = {}
        self.possible = all(self._followed(access) for access in self.accesses)
        self.overwritten: set[int] = set()
        if self.possible:
            self._take()
            self.overwritten = {access.position for access in self.accesses if access.store and self._passing(access)}

    def _followed(self, access: Access) -> bool:
        """Whether its subscripts are linear in the two loops, with what does not change in them; a store's must move."""
        for form in access.subscripts:
            if form is None:
                return False
            for value in form.terms:
                known = self.nest.indices.get(value)
                if (known is None and self.nest.varies(value)) or (
                    known is not None and known not in (self.loop, self.inner) and known.depth >= self.loop.depth
                ):
                    return False
        return not access.store or any(distance != 0 for distance in self.distances(access))

    def coefficients(self, access: Access) -> list[tuple[int, int]]:
        """Per dimension, by how much its subscript grows with the row and with the column."""
        return [(form.terms.get(self.row, 0) * self.loop.step, form.terms.get(self.column, 0)) for form in access.subscripts if form is not None]

    def distances(self, access: Access) -> list[int]:
        """Per dimension, by how much the subscript of each lane is more than that of the lane before."""
        return [row - self.slant * column for row, column in self.coefficients(access)]

    # --- how loads get their vectors

    def _take(self) -> None:
        old: list[Access] = []
        for access in self.accesses:
            if access.store:
                continue
            flows = [d for d in self._found if d.kind == FLOW and d.sink is access]
            if flows:
                made = self._stored(access, flows)
                self.taken[access.position] = made if made is not None else Taken(access, STRIDED)
            elif all(column == 0 for _, column in self.coefficients(access)):
                self.taken[access.position] = Taken(access, FIXED)
            elif not any(self.distances(access)):
                self.taken[access.position] = Taken(access, ONE)
            else:
                old.append(access)
        for access in old:
            self.taken[access.position] = self._loaded(access, old)

    def _stored(self, access: Access, flows: list[Dependence]) -> Taken | None:
        """From what a store of the loop has made, if it always is the last that has written there."""
        own = [d for d in flows if d.source in self.accesses]
        if not own or not all(d.told for d in flows):
            return None
        rows, columns = nearest = min([self._distance(d) for d in own])
        store = max([d.source for d in own if self._distance(d) == nearest], key=lambda source: source.position)
        others = [d for d in own if d.source is not store]
        for d in self._found:
            if d.kind == OUTPUT and (d.source is store) != (d.sink is store):
                if len(d.vector) <= self.loop.depth + 1:
                    # (Another store stands beside the inner loop.)
                    return None
                others.append(d)
                if d.source is store and (self._distance(d), d.sink.position) < (nearest, access.position):
                    # (Another store comes between.)
                    return None
        if not all(c.exact for d in others for c in d.vector[self.loop.depth :]):
            return None
        code = self.nest.f.code
        if code[store.position].type is not code[access.position].type or store.arms != access.arms or not self._same(store, access, rows, columns):
            return None
        steps = columns + self.slant * rows
        if rows > MOST_ROWS or not 0 <= steps <= MOST_STEPS or (not steps and rows):
            return None
        return Taken(access, MOVED, store.position, rows, steps)

    def _distance(self, d: Dependence) -> tuple[int, int]:
        """How many rows and columns apart the ends of a dependence are at least."""
        depth = self.loop.depth
        return max(0, d.vector[depth].low), d.vector[depth + 1].low

    def _same(self, earlier: Access, access: Access, rows: int, columns: int) -> bool:
        """Whether an access is always to the element that another was to, so many rows and columns before."""
        for x, y, (row, column) in zip(earlier.subscripts, access.subscripts, self.coefficients(access), strict=True):
            if x is None or y is None or x.terms != y.terms or x.constant - rows * row - columns * column != y.constant:
                return False
        return True

    def _passing(self, store: Access) -> bool:
        """Whether each row stores where the one before has, a column further on at a time, and takes what that has stored from registers."""
        if self.slant != 1 or any(row != 0 for row, _ in self.coefficients(store)):
            return False
        others = [access for access in self.accesses if access.array == store.array and access is not store]
        if not all(not access.store and self.taken[access.position].kind == MOVED and self.taken[access.position].rows >= 0 for access in others):
            return False
        return any(self.taken[access.position].source == store.position for access in others)

    def _loaded(self, access: Access, others: list[Access]) -> Taken:
        """From what another load has read before, or it itself a row before; nothing of this is written in the nest before it is read."""
        best = Taken(access, STRIDED)
        for other in others:
            if other.array != access.array or self.nest.f.code[other.position].type is not self.nest.f.code[access.position].type:
                continue
            for rows in range(-MOST_ROWS, MOST_ROWS + 1):
                columns = self._apart(other, access, rows)
                if columns is None or (other is access and not rows):
                    continue
                steps = columns + self.slant * rows
                # (The one that reads an element first loads it; of several in one step the first in the text.)
                first = steps > 0 or (steps == 0 and (other.number < access.number if rows == 0 else rows < 0))
                if first and steps <= MOST_STEPS and (best.kind != MOVED or (abs(rows), steps) < (abs(best.rows), best.steps)):
                    best = Taken(access, MOVED, other.position, rows, steps)
        return best

    def _apart(self, other: Access, access: Access, rows: int) -> int | None:
        """How many columns before, so many rows before, the other access is to the same element; None where it never is."""
        columns: int | None = None
        for x, y, (row, column) in zip(other.subscripts, access.subscripts, self.coefficients(access), strict=True):
            assert x is not None and y is not None
            if x.terms != y.terms:
                return None
            apart = x.constant - y.constant - rows * row
            if column == 0:
                if apart:
                    return None
            elif apart % column or (columns is not None and columns != apart // column):
                return None
            else:
                columns = apart // column
        return columns

    # --- several steps at once

    def blocks(self, access: Access, steps: int) -> bool:
        """Whether so many steps' elements of a row are 128 bits beside each other, and loaded or stored each."""
        kept = access.position in self.overwritten if access.store else self.taken[access.position].kind != STRIDED
        columns = [column for _, column in self.coefficients(access)]
        return not kept and columns[-1] == 1 and not any(columns[:-1]) and steps * self.nest.f.arrays[access.array].element.size == CHUNK

    def apart(self, steps: int, rows: int) -> bool:
        """Whether so many steps' loads may be done in front of their stores, and these one after the other."""
        depth = self.loop.depth
        for d in self._found:
            if d.source not in self.accesses or d.sink not in self.accesses:
                continue
            if d.kind == OUTPUT or (d.kind == FLOW and self.taken[d.sink.position].kind == STRIDED):
                above, columns = max(0, d.vector[depth].low), d.vector[depth + 1].low
                if above < rows and columns + self.slant * above < steps:
                    return False
        return True

    # --- what they cost

    def interval(self, graph: Graph, core: Core, lanes: int, parts: int, together: int = 1) -> float:
        """Cycles for an iteration by the bounds of a core, where a step is ``parts`` vectors of ``lanes`` rows, and accesses are of several steps ``together``."""
        busy = [0] * len(core.counts)
        started = 0
        lane = core.cost(ops.ADD, F32)  # of what moves lanes
        by_position = {access.position: access for access in self.accesses}
        for node in graph.nodes:
            access = by_position.get(node.position)
            times = parts
            moves = 0
            if access is not None and not access.store:
                taken = self.taken[access.position]
                times = 0 if taken.kind == FIXED else 1 if taken.kind == ONE else lanes * parts if taken.kind == STRIDED else abs(taken.rows)
                moves = times if taken.kind == STRIDED else parts if taken.rows else 0
            elif access is not None:
                times = moves = 1 if access.position in self.overwritten else lanes * parts
            if access is not None and together > 1 and self.blocks(access, together):
                # (Each 128 bits but the first are put into their place, and the lanes of all exchanged.)
                times = lanes * parts // together
                moves = times - parts + parts * (together.bit_length() - 1)
            elif moves > 1 and access is not None and self.nest.f.arrays[access.array].element.size == 1:
                # (Bytes put into a vector wait for each other.)
                moves *= BYTES
            busy[node.unit] += node.cycles * times
            busy[lane.unit] += moves
            started += times + moves
        most = started / core.issue
        for unit, cycles in enumerate(busy):
            most = max(most, cycles / core.counts[unit])
        steps = Graph(1)
        steps.nodes = graph.nodes
        for edge in graph.edges:
            if not any(edge.distance[: self.loop.depth]):
                rows, columns = edge.distance[self.loop.depth :]
                steps.edges.append(Edge(edge.source, edge.sink, edge.latency + (lane.latency if rows else 0), (columns + self.slant * rows,)))
        return max(most, float(recurrence_bound(steps))) / (lanes * parts)

    # --- computing subscripts

    def subscripts(self, access: Access, body: list[Instr], again: list[Instr]) -> list[Instr]:
        """The instructions that compute the subscripts of an access, of the inner loop's body and of those in front of it that each row repeats."""
        wanted = set(self.nest.f.code[access.position].args[int(access.store) :])
        needed: list[Instr] = []
        for instr in reversed([*again, *body]):
            if instr.dst >= 0 and instr.dst in wanted and instr.op.effect == ops.PURE:
                needed.append(instr)
                wanted.update(instr.args)
        needed.reverse()
        return needed
