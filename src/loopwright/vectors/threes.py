"""Groups of three elements that are widened as they are dealt out, and cut off as they are stored in turn: by one choice from two whole vectors each.

A vector of wide lanes takes three times as many bytes of memory as it has elements: three quarters of it, or one and a half. Each part is chosen out of one vector of them or two, with zeros above each element
from behind the last one; elements with signs go to the top of their lanes and are shifted down. To store, elements of the first two parts are made one integer, and what is stored is chosen from those
and the third part: two vectors that overlap, as in memory.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.types import I64, SIGNED, UNSIGNED, VOID, Type, mask_of, vector_of
from loopwright.vectors.accesses import Accesses
from loopwright.vectors.tables import Asked

__all__ = ["Threes", "able"]


def able(type_: Type, times: int, store: bool, has: Asked) -> bool:
    """Whether a machine has what it takes for vectors of a type that are made so many times as wide."""
    if times != 2 and (store or times != 4):
        return False
    units = _units(type_, times)
    if units.size < 32:
        return False
    if store:
        return has(ops.LOOKUP_PAIR, units, units)
    return has(ops.LOOKUP_PAIR if times == 2 else ops.LOOKUP_LANES, units, units) and has(ops.MASKED_LOAD_AT, units, VOID)


def _units(type_: Type, times: int) -> Type:
    """The vector of wide lanes, as unsigned integers as narrow as the elements."""
    return vector_of(UNSIGNED[type_.bits], type_.lanes * times)


class Threes:
    """One access to groups of three.

    Attributes:
        made: what emits.
        type_: of each part; times: how many times as wide it is made.
        where, mem: the address of the first element.
    """

    __slots__ = ("f", "made", "mem", "times", "type_", "units", "vectors", "where")

    def __init__(self, made: Accesses, type_: Type, times: int, where: list[int], mem: Mem) -> None:
        self.made = made
        self.f: Function = made.f
        self.type_ = type_
        self.times = times
        self.units = _units(type_, times)
        self.where = where
        self.mem = mem
        self.vectors: list[int] = []

    def _at(self, place: int) -> Mem:
        """The memory of a vector that begins so many elements further on."""
        return self.mem.further(place * self.type_.element.size, self.units.size)

    def load(self) -> None:
        """Load all elements, and zeros behind them."""
        made, f, units = self.made, self.f, self.units
        total = 3 * self.type_.lanes
        for place in range(0, total, units.lanes):
            loaded = f.register(units, "")
            if total - place >= units.lanes:
                made.out.append(Instr(ops.LOAD_AT, units, loaded, list(self.where), 0, made.line, VOID, self._at(place)))
            else:
                type_ = mask_of(units.bits, units.lanes)
                mask = made.define(ops.LANE_MASK, type_, [f.const(I64, 0), f.const(I64, total - place)], type_)
                made.out.append(Instr(ops.MASKED_LOAD_AT, units, loaded, [mask, *self.where], 0, made.line, VOID, self._at(place)))
            self.vectors.append(loaded)

    def part(self, number: int) -> int:
        """A part, widened."""
        made, f, units, times = self.made, self.f, self.units, self.times
        type_ = self.type_
        signed = type_.element.signed
        lanes = [3 * type_.lanes] * units.lanes
        for n in range(type_.lanes):
            lanes[n * times + (times - 1 if signed else 0)] = 3 * n + number
        op = ops.LOOKUP_PAIR if len(self.vectors) == 2 else ops.LOOKUP_LANES
        chosen = made.define(op, units, [*self.vectors, made.literal(units, lanes)], units, units)
        wide = vector_of((SIGNED if signed else UNSIGNED)[times * type_.bits], type_.lanes)
        part = made.define(ops.BITCAST, wide, [chosen], wide, units)
        return made.define(ops.SHR, wide, [part, f.const(wide, (times - 1) * type_.bits)], wide) if signed else part

    def store(self, pairs: int, third: int) -> None:
        """Store elements of the first two parts, of which each two are one integer, and those of the third, with anything above them."""
        made, units = self.made, self.units
        lanes = self.type_.lanes
        vectors = [made.define(ops.BITCAST, units, [value], units, self.f.types[value]) for value in (pairs, third)]
        order = [2 * (n // 3) + n % 3 if n % 3 < 2 else 2 * lanes + 2 * (n // 3) for n in range(3 * lanes)]
        for place in (0, 3 * lanes - units.lanes):
            chosen = made.define(ops.LOOKUP_PAIR, units, [*vectors, made.literal(units, order[place : place + units.lanes])], units, units)
            made.out.append(Instr(ops.STORE_AT, units, NONE, [chosen, *self.where], 0, made.line, VOID, self._at(place)))
