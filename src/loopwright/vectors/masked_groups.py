"""Elements in turn of which only some lanes' are accessed, or some of each group stored: masks of what lies in memory, made from masks of lanes.

::

    lanes            1   0   1   1            (their elements are 3 apart; of each group the first two are accessed)
    in memory        1 1 0   0 0 0   1 1 0   1 1 0

A vector with all bits 1 in lanes that are on is spread out as the elements are, by a look-up of its lanes, and its zeros are the mask's. What is loaded under such masks is dealt out to vectors by
look-ups of lanes, and put together by them to be stored; elements between, and lanes that are off, are not touched. Elements that take half of the loop's lanes, or a quarter, are loaded
to wider lanes, so that one vector or a few have all of memory's, and cut off. A vector that is stored ends where the groups end: what is loaded behind it would wait for a store under a mask that reaches further,
though no byte there is stored.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.target import Target
from loopwright.types import UNSIGNED, VOID, Type, mask_of, vector_of
from loopwright.vectors.accesses import Accesses
from loopwright.vectors.tables import Asked

__all__ = ["MaskedGroup", "able"]

#: What may be in a lane that nobody reads.
_ANY: Final = (NONE, 0)
#: Groups of so many elements at most; of more, a vector is loaded for each.
MOST_APART: Final = 8
#: The bits of the shortest vectors that are stored.
SHORTEST: Final = 128


def able(type_: Type, apart: int, target: Target, has: Asked, store: bool) -> bool:
    """Whether a machine accesses elements so far apart under masks, as vectors of a type, in a few instructions."""
    if not 2 <= apart <= MOST_APART or type_.lanes < 2:
        return False
    units, wide = _units(type_, apart, target.vector_bits, store)
    if wide.size != units.size:
        return False
    if wide.bits > type_.bits:
        narrow = vector_of(UNSIGNED[type_.bits], type_.lanes)
        if not (has(ops.CONVERT, wide, narrow) if store else has(ops.CONVERT, narrow, wide)):
            return False
        if not has(ops.MASK_CONVERT, mask_of(wide.bits, wide.lanes), mask_of(type_.bits, type_.lanes)):
            return False
    chosen = has(ops.LITERAL, units, VOID) and has(ops.LOOKUP_LANES, units, units) and has(ops.LOOKUP_PAIR, units, units)
    masked = has(ops.ONES_WHERE, wide, VOID) and has(ops.AND, units, VOID) and has(ops.NE, units, VOID)
    return chosen and masked and has(ops.MASKED_STORE_AT if store else ops.MASKED_LOAD_AT, units, VOID)


def _units(type_: Type, apart: int, bits: int, store: bool) -> tuple[Type, Type]:
    """A vector as what a group's elements lie in has it in memory, and one as long of as many lanes as ``type_`` has; of unsigned integers both."""
    size = min(bits, (1 << (apart * type_.lanes - 1).bit_length()) * type_.bits)
    if store and apart & (apart - 1):
        size = min(size, max(type_.size * 8, SHORTEST))
    return vector_of(UNSIGNED[type_.bits], size // type_.bits), vector_of(UNSIGNED[max(type_.bits, min(64, size // type_.lanes))], type_.lanes)


class MaskedGroup:
    """One access to groups under a mask.

    Args:
        made: what emits.
        type_: of each part; apart: how many elements a group has.
        masks: by element of a group that is accessed, of the lanes that access it, as wide as the elements; NONE for all of them.
        where, mem: the address of the first element.
        bits: of the machine's vectors.
        store: whether it is one.
    """

    def __init__(self, made: Accesses, type_: Type, apart: int, masks: dict[int, int], where: list[int], mem: Mem, bits: int, store: bool) -> None:
        self.made = made
        self.f: Function = made.f
        self.type_ = type_
        self.narrow = vector_of(UNSIGNED[type_.bits], type_.lanes)
        self.apart = apart
        self.where = where
        self.mem = mem
        self.units, self.wide = _units(type_, apart, bits, store)
        #: Lanes of memory's vectors for one of the loop's.
        self.each = self.wide.bits // type_.bits
        self.number = -(-apart * type_.lanes // self.units.lanes)
        self.masks = self._masks(masks)
        self.vectors: list[int] = []

    def _ones(self, mask: int) -> int:
        """All bits 1 in lanes that are on, in as many of memory's lanes as there are for one."""
        made, wide = self.made, self.wide
        if mask == NONE:
            return self.f.const(self.units, -1)
        if self.each > 1:
            widened = mask_of(wide.bits, wide.lanes)
            mask = made.define(ops.MASK_CONVERT, widened, [mask], widened, mask_of(self.type_.bits, wide.lanes))
        return made.recast(self.units, made.define(ops.ONES_WHERE, wide, [mask], wide))

    def _masks(self, given: dict[int, int]) -> list[int]:
        """The mask of each of memory's vectors; NONE of those of which nothing is accessed."""
        made, units, apart = self.made, self.units, self.apart
        masks = mask_of(units.bits, units.lanes)
        ones = {mask: self._ones(mask) for mask in dict.fromkeys(given.values())}
        each = {part: list(ones).index(mask) for part, mask in given.items()}
        found = []
        total = apart * self.type_.lanes
        for first in range(0, self.number * units.lanes, units.lanes):
            numbers = range(first, first + units.lanes)
            there = [n < total and n % apart in given for n in numbers]
            if not any(there):
                found.append(NONE)
                continue
            if len(ones) == 1 and (NONE in ones or apart == self.each):
                (spread,) = ones.values()
            else:
                spread = self._gathered(
                    [*ones.values()], [(each[n % apart], n // apart * self.each) if one else _ANY for n, one in zip(numbers, there, strict=True)]
                )
            if not all(there):
                pattern = made.literal(units, [(1 << units.bits) - 1 if one else 0 for one in there])
                spread = pattern if NONE in ones and len(ones) == 1 else made.define(ops.AND, units, [spread, pattern], units)
            found.append(made.define(ops.NE, units, [spread, self.f.const(units, 0)], masks))
        return found

    def _lookup(self, vectors: list[int], lanes: list[int]) -> int:
        made, units = self.made, self.units
        return made.define(ops.LOOKUP_LANES if len(vectors) == 1 else ops.LOOKUP_PAIR, units, [*vectors, made.literal(units, lanes)], units, units)

    def _gathered(self, vectors: list[int], places: list[tuple[int, int]]) -> int:
        """A vector of lanes of others: in which of them each is, and where there; ``_ANY`` where it does not matter."""
        lanes = self.units.lanes
        sources = sorted({source for source, _ in places if source != NONE})
        order = [lane for _, lane in places]
        if len(sources) == 1:
            return self._lookup([vectors[sources[0]]], order)
        total = vectors[sources[0]]
        for source in sources[1:]:
            total = self._lookup([total, vectors[source]], [lanes + lane if one == source else order[n] for n, (one, lane) in enumerate(places)])
            # From here on what has been chosen is in its place.
            order = [n if one <= source else order[n] for n, (one, _) in enumerate(places)]
        return total

    def _at(self, number: int) -> Mem:
        """The memory of one of the vectors."""
        size = self.units.size
        return self.mem.further(number * size, size)

    def load(self) -> None:
        """Load all that is accessed, and zeros in the place of the rest."""
        made, units = self.made, self.units
        for number, mask in enumerate(self.masks):
            if mask == NONE:
                self.vectors.append(NONE)
                continue
            loaded = self.f.register(units, "")
            made.out.append(Instr(ops.MASKED_LOAD_AT, units, loaded, [mask, *self.where], 0, made.line, VOID, self._at(number)))
            self.vectors.append(loaded)

    def part(self, number: int, result: int) -> None:
        """One of the parts, in the register ``result``."""
        made, units = self.made, self.units
        places = [_ANY] * units.lanes
        for lane in range(self.type_.lanes):
            places[lane * self.each] = divmod(self.apart * lane + number, units.lanes)
        found = self._gathered(self.vectors, places)
        given = units
        if self.each > 1:
            wide, narrow = self.wide, self.narrow
            found = made.define(ops.CONVERT, narrow, [made.recast(wide, found)], narrow, wide)
            given = narrow
        same = given is self.type_
        made.out.append(Instr(ops.COPY if same else ops.BITCAST, self.type_, result, [found], 0, made.line, VOID if same else given))

    def store(self, values: dict[int, int]) -> None:
        """Store parts, by their numbers."""
        made, units, wide, narrow = self.made, self.units, self.wide, self.narrow
        vectors = [NONE] * self.apart
        for number, value in values.items():
            value = made.recast(narrow, value)
            if self.each > 1:
                value = made.define(ops.CONVERT, wide, [value], wide, narrow)
            vectors[number] = made.recast(units, value)
        total = self.apart * self.type_.lanes
        for number, mask in enumerate(self.masks):
            if mask == NONE:
                continue
            places: list[tuple[int, int]] = []
            for n in range(number * units.lanes, (number + 1) * units.lanes):
                lane, part = divmod(n, self.apart)
                places.append((part, lane * self.each) if n < total and part in values else _ANY)
            stored = self._gathered(vectors, places)
            made.out.append(Instr(ops.MASKED_STORE_AT, units, NONE, [mask, stored, *self.where], 0, made.line, VOID, self._at(number)))
