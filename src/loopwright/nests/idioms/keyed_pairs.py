"""Loops that add to the element of a small array that a looked-up key names: two elements at once, into a table with an entry for each pair of keys.

::

    for i = lo, hi, 1                  for each block of the range
      %k = …                             over lanes: %pairs[j] = the keys of elements 2 j and 2 j + 1, of 4 bits each
      %t = load t[%k]              →     for j: %sums[%pairs[j]] += the values of elements 2 j and 2 j + 1, as a vector of two
      store %t + %v, t[%k]             for each pair of keys: the first sum to t[the first key], the second to t[the second key]
    end                                what is left over: the loop as it is

A core stores one such sum in a cycle, and the next sum of the same key waits for it. A pair is stored at once, there are 256 entries instead of 16 sums to wait for, and four tables
take turns, so that the same pair over and over waits less. (Private copies of a histogram that are joined at the end; A. Fog, *Optimizing software in C++*, and J. Gomez-Luna et al.,
*An optimized approach to histogram computation on GPU*, Machine Vision and Applications 24, 2013, have them by thread and by lane.) Sums of floats are made in another order: they need ``fastmath``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.idioms.keyed_tables import Sums, Tables
from loopwright.nests.rewriting.unroll import clone, slice_of
from loopwright.types import F64, I64, U8, vector_of

__all__ = ["KEYS", "SHORTEST", "Pairs"]

#: A key has so many bits at most, half of an index of the table.
KEY_BITS: Final = 4
KEYS: Final = 1 << KEY_BITS
#: Entries of a table.
PAIRS: Final = KEYS * KEYS
#: Tables that take turns.
TABLES: Final = 4
#: Elements of a block, whose pairs of keys are collected first.
BLOCK: Final = 512
#: Pairs that are added in one step of a loop.
AT_ONCE: Final = 4
#: Shorter ranges do not pay for tables that are cleared first and added up at the end.
SHORTEST: Final = 4 * BLOCK
#: What is loaded may go so many elements beyond the pair that is wanted.
BEYOND: Final = 2

#: Two entries of 64 bits.
_DOUBLES: Final = vector_of(F64, 2)


class Pairs(Tables):
    """The code that adds pairs."""

    def __init__(self, f: Function, sums: Sums) -> None:
        super().__init__(f, sums, SHORTEST, KEYS)
        # What is the same for all elements is added once for both. A vector of two 32-bit elements has the 64 bits of one entry in its lower half.
        self.once = sums.value != self.opener.dst and all(instr.dst != sums.value for instr in sums.body)
        self.half = self.element.bits == 32 and not self.once
        self.entries = F64 if self.half else self.element
        self.step = 1 if self.half or self.once else 2
        self.vector = vector_of(self.element, 128 // self.element.bits)
        self.table = NONE
        self.indices = NONE
        self.values = NONE

    def make(self) -> None:
        f = self.f
        lo, length = self.begin()
        size = TABLES * PAIRS * self.step
        self.table = self.local("sums", self.entries, size)
        self.indices = self.local("pairs", U8, BLOCK // 2)
        if self.buffered():
            self.values = self.local("values", self.element, BLOCK + BEYOND)
        zero = f.const(I64, 0)
        k = self.loop(zero, f.const(I64, size), 1, True)
        self.store(f.const(self.entries, 0), k, self.table)
        self.bracket(ops.END, [])
        whole = self.index(ops.AND, self.index(ops.SUB, length, BEYOND), -BLOCK)
        stop = self.emit(ops.ADD, I64, [lo, whole])
        block = self.loop(lo, stop, BLOCK, False, "block")
        self.collect(block)
        self.add(block)
        self.bracket(ops.END, [])
        self.join()
        self.finish(stop)

    def buffered(self) -> bool:
        """Whether values are computed to be added, and not loaded from where they are next to each other."""
        if self.once:
            return False
        made = self.loaded()
        defined = {instr.dst for instr in self.sums.body} | {self.opener.dst}
        return made is None or made.args[-1] != self.opener.dst or any(a in defined for a in made.args[:-1])

    def loaded(self) -> Instr | None:
        """The load of the values, if they are loaded."""
        made = next((instr for instr in self.sums.body if instr.dst == self.sums.value), None)
        return made if made is not None and made.op is ops.LOAD else None

    def collect(self, block: int) -> None:
        """Over lanes: the pairs of keys of a block, and the values, where they are computed."""
        f, sums, out = self.f, self.sums, self.out
        zero = f.const(I64, 0)
        j = self.loop(zero, f.const(I64, BLOCK // 2), 1, True)
        first = self.emit(ops.ADD, I64, [self.index(ops.MUL, j, 2), block])
        keys = [self.key(at) for at in (first, self.index(ops.ADD, first, 1))]
        upper = self.emit(ops.SHL, U8, [keys[0], f.const(U8, KEY_BITS)])
        self.store(self.emit(ops.OR, U8, [upper, keys[1]]), j, self.indices)
        self.bracket(ops.END, [])
        if self.values == NONE:
            return
        j = self.loop(zero, f.const(I64, BLOCK), 1, True)
        rename = {self.opener.dst: self.emit(ops.ADD, I64, [j, block])}
        clone(f, slice_of(sums.body, {sums.value}), rename, out)
        self.store(rename.get(sums.value, sums.value), j, self.values)
        self.bracket(ops.END, [])

    def key(self, at: int) -> int:
        """The key of an element, in 8 bits."""
        sums = self.sums
        rename = {self.opener.dst: at}
        clone(self.f, slice_of(sums.body, {sums.key}), rename, self.out)
        key = rename.get(sums.key, sums.key)
        type_ = self.f.type_of(key)
        return key if type_ is U8 else self.emit(ops.BITCAST if type_.bits == U8.bits else ops.CONVERT, U8, [key], source=type_)

    def add(self, block: int) -> None:
        """The values of a block to the sums of their pairs."""
        f = self.f
        j = self.loop(f.const(I64, 0), f.const(I64, BLOCK // 2), AT_ONCE)
        start = self.index(ops.MUL, j, 2)
        if self.values == NONE:
            start = self.emit(ops.ADD, I64, [start, block])
        for k in range(AT_ONCE):
            pair = self.emit(ops.LOAD, U8, [self.index(ops.ADD, j, k)], self.indices)
            place = self.place(self.emit(ops.CONVERT, I64, [pair], source=U8), k % TABLES)
            value = self.value(self.index(ops.ADD, start, 2 * k))
            total = self.emit(ops.ADD, self.element if self.once else self.vector, [self.entry(place), value])
            if self.half:
                total = self.emit(ops.EXTRACT, _DOUBLES, [self.emit(ops.BITCAST, _DOUBLES, [total], source=self.vector)], result=F64)
            self.store(total, place, self.table)
        self.bracket(ops.END, [])

    def value(self, at: int) -> int:
        """What is added for a pair of elements."""
        if self.once:
            return self.sums.value
        if self.values != NONE:
            return self.emit(ops.LOAD, self.vector, [at], self.values)
        made = self.loaded()
        assert made is not None
        return self.emit(ops.LOAD, self.vector, [*made.args[:-1], at], made.imm)

    def place(self, pair: int, table: int) -> int:
        """The index of a pair's sums in one of the tables."""
        if self.step > 1:
            pair = self.index(ops.MUL, pair, self.step)
        return self.index(ops.ADD, pair, table * PAIRS * self.step) if table else pair

    def entry(self, place: int) -> int:
        """The sums of a pair, in the first two lanes; or the one that both have."""
        if not self.half:
            return self.emit(ops.LOAD, self.element if self.once else self.vector, [place], self.table)
        spread = self.emit(ops.SPLAT, _DOUBLES, [self.emit(ops.LOAD, F64, [place], self.table)])
        return self.emit(ops.BITCAST, self.vector, [spread], source=_DOUBLES)

    def join(self) -> None:
        """All pairs' sums to the array."""
        f, out = self.f, self.out
        zero, extent = f.const(I64, 0), self.array.extents[0]
        first = self.loop(zero, extent, 1)
        total = f.register(self.element, "total", True)
        out.append(Instr(ops.COPY, self.element, total, [f.const(self.element, 0)], 0, self.line))
        second = self.loop(zero, extent, 1)
        pair = self.emit(ops.ADD, I64, [self.index(ops.MUL, first, KEYS), second])
        both = self.entry(self.place(pair, 0))
        for k in range(1, TABLES):
            both = self.emit(ops.ADD, f.type_of(both), [both, self.entry(self.place(pair, k))])
        one, other = both, both
        if not self.once:
            one = self.emit(ops.EXTRACT, self.vector, [both], result=self.element)
            above = self.emit(ops.SLIDE, self.vector, [both, both, f.const(I64, 1)])
            other = self.emit(ops.EXTRACT, self.vector, [above], result=self.element)
        out.append(Instr(ops.ADD, self.element, total, [total, one], 0, self.line))
        self.update(second, other)
        self.bracket(ops.END, [])
        self.update(first, total)
        self.bracket(ops.END, [])

    def update(self, key: int, total: int) -> None:
        """Add to the element of a key, or take from it."""
        before = self.emit(ops.LOAD, self.element, [key], self.sums.array)
        after = self.emit(self.sums.op, self.element, [before, total])
        self.store(after, key, self.sums.array)
