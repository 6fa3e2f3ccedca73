"""Loops that add to the element of an array that a looked-up key names: into copies of the array, in turn.

::

    for i = lo, hi, 1                  for i = lo, stop, 4
      %k = …                             for each of four copies: %copy[the key of the next element] += …
      %t = load t[%k]              →     for all keys: t[k] += the sum of the four copies
      store %t + %v, t[%k]             what is left over: the loop as it is
    end

A sum of the same key as one just before it waits until that is stored and loaded again, some 5 cycles: a histogram of a picture takes twice as long as one of noise. With copies an element waits for the
fourth before it only (A. Fog, *Optimizing software in C++*; `keyed_pairs.py` has more, for few keys). Sums of floats are made in another order: they need ``fastmath``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.idioms.keyed_tables import Sums, Tables
from loopwright.nests.rewriting.unroll import clone
from loopwright.types import BOOL, I64

__all__ = ["Copies", "most_keys"]

COPIES: Final = 4
#: Bytes of the copies together: half of the least first cache.
ROOM: Final = 16 << 10
#: Bytes between them. What has just been stored a multiple of 4096 bytes away is taken for what is loaded (Intel optimization manual, "Memory disambiguation": 4 KB aliasing); copies of few keys are
#: nowhere so far apart like this.
APART: Final = 1024
#: Ranges have so many elements at least, and so many for each key.
SHORTEST: Final = 2048
EACH: Final = 4


def most_keys(size: int) -> int:
    """Of how many keys there are copies, where elements have so many bytes."""
    return ROOM // (COPIES * size)


class Copies(Tables):
    """The code that adds to copies."""

    def __init__(self, f: Function, sums: Sums) -> None:
        size = f.arrays[sums.array].element.size
        super().__init__(f, sums, SHORTEST, most_keys(size))
        self.each = self.most + APART // size

    def make(self) -> None:
        f, out = self.f, self.out
        lo, length = self.begin()
        table = self.local("copies", self.element, COPIES * self.each)
        extent = self.array.extents[0]
        k = self.loop(f.const(I64, 0), extent, 1, True)
        for number in range(COPIES):
            self.store(f.const(self.element, 0), self.place(k, number), table)
        self.bracket(ops.END, [])
        stop = self.emit(ops.ADD, I64, [lo, self.index(ops.AND, length, -COPIES)])
        first = self.loop(lo, stop, COPIES, False, f.names[self.opener.dst])
        store = f.code[self.sums.end - 1]
        for number in range(COPIES):
            rename = {self.opener.dst: self.index(ops.ADD, first, number) if number else first}
            for instr in self.sums.body:
                clone(f, [instr], rename, out)
                if instr.op is ops.LOAD and instr.imm == self.sums.array:
                    load = out.pop()
                    place = self.place(load.args[0], number)
                    out.append(Instr(ops.LOAD, load.type, load.dst, [place], table, load.line))
            value, key = (rename.get(a, a) for a in store.args)
            self.store(value, self.place(key, number), table)
        self.bracket(ops.END, [])
        k = self.loop(f.const(I64, 0), extent, 1, True)
        total = self.emit(ops.LOAD, self.element, [k], self.sums.array)
        for number in range(COPIES):
            total = self.emit(ops.ADD, self.element, [total, self.emit(ops.LOAD, self.element, [self.place(k, number)], table)])
        self.store(total, k, self.sums.array)
        self.bracket(ops.END, [])
        self.finish(stop)

    def condition(self, lo: int, hi: int, length: int) -> int:
        holds = super().condition(lo, hi, length)
        extent = self.array.extents[0]
        if extent < 0:
            return holds
        return self.emit(ops.AND, BOOL, [holds, self.emit(ops.LE, I64, [self.index(ops.MUL, extent, EACH), length], result=BOOL)])

    def place(self, key: int, number: int) -> int:
        """The index of a key's sum in one of the copies."""
        return self.index(ops.ADD, key, number * self.each) if number else key
