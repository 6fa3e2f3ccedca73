"""Lanes moved by the bits of a mask: those for which it holds next to each other, or dealt out to where it holds.

Where no instruction does that, a constant table has for each mask of up to eight lanes the numbers of those that are to come to each place, and the machine chooses lanes or bytes by number (W. Mula
and D. Lemire, and D. Lemire's *Quickly pruning elements in SIMD vectors*; Polychroniou, Raghavan and Ross, SIGMOD 2015, appendix D, have such tables for VPERMPS). Vectors of more lanes are moved in parts of eight, each behind the
one before.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.types import BOOL, I64, PTR, U8, U32, VOID, Type, vector_of
from loopwright.vectors.tables import Asked, Tables

__all__ = ["Packing", "can_deal", "can_pack"]

#: The most lanes that a table has masks of.
MOST_LANES: Final = 8
#: Of fewer lanes a table saves nothing.
LEAST_LANES: Final = 4


def _lanes_by_number(type_: Type, has: Asked) -> bool:
    """Whether words of 32 bits of a whole vector are chosen by their number."""
    words = type_.size // 4
    full = vector_of(U32, words) if type_.bits >= 32 and type_.size > 16 and words <= MOST_LANES else VOID
    return full is not VOID and has(ops.LOOKUP_LANES, full, full) and has(ops.CONVERT, full, vector_of(U8, words))


def _bytes_by_number(type_: Type, has: Asked, part: bool = False) -> bool:
    """Whether bytes of up to 16 are; of shorter vectors, which are made as long first, but for parts of longer ones."""
    if type_.size < 16 and not part and not has(ops.SHUFFLE_BYTES, vector_of(U8, 16), type_):
        return False
    return type_.size <= 16 and has(ops.LOOKUP_BYTES, vector_of(U8, type_.size), vector_of(U8, 16))


def can_pack(element: Type, lanes: int, has: Asked) -> bool:
    """Whether a machine puts lanes of a vector next to each other."""
    if element is BOOL or lanes < 2:
        return False
    part = vector_of(element, min(lanes, MOST_LANES))
    return has(ops.COMPRESS, vector_of(element, lanes), VOID) or (
        lanes >= LEAST_LANES and (_lanes_by_number(part, has) or _bytes_by_number(part, has, lanes > MOST_LANES))
    )


def can_deal(element: Type, lanes: int, has: Asked) -> bool:
    """Whether a machine deals lanes out, and loads as many as there are."""
    if element is BOOL or lanes < 2:
        return False
    full = vector_of(element, lanes)
    if has(ops.EXPAND, full, VOID):
        return True
    return (
        LEAST_LANES <= lanes <= MOST_LANES
        and full.size >= 16
        and has(ops.MASKED_LOAD_AT, full, VOID)
        and (_lanes_by_number(full, has) or _bytes_by_number(full, has))
    )


def _rows(lanes: int, units: int, deal: bool) -> bytes:
    """For each mask and each lane, the numbers of the units that come there; of lanes to which none comes, those of the first."""
    made = bytearray()
    for bits in range(1 << lanes):
        held = [n for n in range(lanes) if bits >> n & 1]
        chosen = [*held, *[0] * (lanes - len(held))]
        if deal:
            chosen = [held.index(n) if n in held else 0 for n in range(lanes)]
        for lane in chosen:
            made += bytes(range(lane * units, (lane + 1) * units))
    return bytes(made)


class Packing(Tables):
    """What is emitted to move lanes by a mask."""

    def count(self) -> int:
        """How many lanes run."""
        return self.define(ops.POPCOUNT, I64, [self.bits()], I64)

    def bits(self) -> int:
        """The lanes that run, as bits."""
        return self.define(ops.MASK_BITS, self.mask_type, [self.mask], I64)

    def packed(self, type_: Type, value: int) -> list[tuple[int, int]]:
        """The lanes that run, next to each other: vectors, and how many lanes of each count; what is behind those is anything."""
        if self.has(ops.COMPRESS, type_, VOID):
            return [(self.define(ops.COMPRESS, type_, [self.running(type_.bits), value], type_), self.count())]
        bits = self.bits()
        if self.lanes <= MOST_LANES:
            return [(self.by_table(type_, value, bits, False), self.count())]
        found: list[tuple[int, int]] = []
        part = vector_of(type_.element, MOST_LANES)
        for number, piece in enumerate(self.pieces(type_, value)):
            at = self.scalar(ops.SHR, bits, self.f.const(I64, number * MOST_LANES)) if number else bits
            some = self.scalar(ops.AND, at, self.f.const(I64, (1 << MOST_LANES) - 1))
            found.append((self.by_table(part, piece, some, False, number % 2 if part.size < 16 else 0), self.define(ops.POPCOUNT, I64, [some], I64)))
        return found

    def dealt(self, type_: Type, value: int) -> int:
        """The first lanes of a vector, as many as run, in the lanes that do."""
        if self.has(ops.EXPAND, type_, VOID):
            return self.define(ops.EXPAND, type_, [self.running(type_.bits), value], type_)
        return self.by_table(type_, value, self.bits(), True)

    def pieces(self, type_: Type, value: int) -> list[int]:
        """A vector's parts of eight lanes, by way of memory: of 16 bytes each, with two parts in them where these are shorter."""
        f = self.f
        number = len(f.arrays)
        local = f.local_array("parts", type_.element, (self.lanes,))
        local.written = True
        self.made.append(Instr(ops.LOCAL, PTR, local.base, [f.const(I64, number)], 0, self.line))
        self.out.append(Instr(ops.STORE, type_, NONE, [value, f.const(I64, 0)], number, self.line))
        held = vector_of(type_.element, 16 // type_.element.size)
        found: list[int] = []
        for first in range(0, self.lanes, held.lanes):
            loaded = self.define(ops.LOAD, held, [f.const(I64, first)], held, VOID, number)
            found += [loaded] * (held.lanes // MOST_LANES)
        return found

    def by_table(self, type_: Type, value: int, bits: int, deal: bool, half: int = 0) -> int:
        """Lanes moved as the table says for the bits of a mask; ``half``: they are in the upper half of 16 bytes."""
        f = self.f
        if _lanes_by_number(type_, self.has):
            words = vector_of(U32, type_.size // 4)
            row = self.row(type_, type_.bits // 32, bits, deal)
            places = self.define(ops.CONVERT, words, [row], words, f.type_of(row))
            return self.recast(type_, self.define(ops.LOOKUP_LANES, words, [self.recast(words, value), places], words, words))
        row = self.row(type_, type_.bits // 8, bits, deal)
        found = f.type_of(row)
        if half:
            row = self.define(ops.ADD, found, [row, f.const(found, 8)], found)
        whole = vector_of(U8, 16)
        given = f.type_of(value)
        if given.size == 16:
            value = self.recast(whole, value)
        else:
            # (Its own bytes, and nothing behind them.)
            order = [n if n < given.size else 0x80 for n in range(16)]
            low, high = [f.const(I64, int.from_bytes(bytes(order[at : at + 8]), "little", signed=True)) for at in (0, 8)]
            value = self.define(ops.SHUFFLE_BYTES, whole, [value, low, high], whole, given)
        return self.recast(type_, self.define(ops.LOOKUP_BYTES, found, [value, row], found, whole))

    def row(self, type_: Type, units: int, bits: int, deal: bool) -> int:
        """A table's row for the bits of a mask: a vector of bytes."""
        length = type_.lanes * units
        number = self.table(f"{'dealt' if deal else 'packed'} {type_.lanes} by {units}", (1 << type_.lanes, length), _rows(type_.lanes, units, deal))
        loaded = vector_of(U8, length)
        return self.define(ops.LOAD, loaded, [bits, self.f.const(I64, 0)], loaded, VOID, number)

    def table(self, name: str, shape: tuple[int, ...], data: bytes) -> int:
        """The number of a constant array of bytes, which loops share."""
        f = self.f
        known = [n for n, array in enumerate(f.arrays) if array.data == data and array.name == name]
        if known:
            return known[0]
        made = f.constant_array(name, U8, shape, data)
        self.made.append(Instr(ops.TABLE, PTR, made.base, [f.const(I64, len(f.arrays) - 1)], 0, self.line))
        return len(f.arrays) - 1
