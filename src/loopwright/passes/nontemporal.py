"""Stores past the caches (``lw.nontemporal``): loops over lanes that store to such an array begin where its elements lie at a multiple of a vector's size.

::

    for i = lo, hi lanes            for i = lo, m lanes        m: the first index from lo on whose element is at a multiple of 64 bytes, at most hi
      y[i] = …                 →      y[i] = …
    end                             end
                                    for i = m, hi lanes
                                      y#1[i] = …               y#1: y, aligned 64
                                    end

Stores of whole vectors to an array that is known to be aligned so go past the caches (MOVNTPS and its kin, which fault at any other address: Intel SDM volume 2,
"MOVNTPS"), and what the function has stored so is seen before what others store after it returns (SFENCE; SDM volume 1, 10.4.6.2, "Caching of Temporal vs. Non-Temporal Data").
Elements whose own address is no multiple of their size are never at such a place; then the first loop does all.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr
from loopwright.ir.loops import IS_LOOP, loops
from loopwright.ir.ops import Op
from loopwright.nests.idioms.leaving import exits
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.passes.alignment import LINE, elements_to_line
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["run"]


def run(f: Function, target: object) -> None:
    """Split the loops over lanes that store to arrays for which that is asked."""
    if not any(array.nontemporal for array in f.arrays):
        return
    split = False
    for loop in reversed(loops(f.code)):
        opener = f.code[loop.head]
        if opener.loop is not None and opener.loop.lanes and not opener.loop.whole:
            split = _Split(f, loop.head, loop.end).done() or split
    if split:
        _fence(f)


class _Split:
    """One loop over lanes, and the array it stores to past the caches.

    Attributes:
        store: the first store at the index of the loop, or None.
    """

    __slots__ = ("code", "end", "f", "head", "line", "made", "out", "store")

    def __init__(self, f: Function, head: int, end: int) -> None:
        self.f = f
        self.code = f.code
        self.head = head
        self.end = end
        self.line = f.code[head].line
        self.out: list[Instr] = []
        self.made = {instr.dst for instr in f.code[head:end] if instr.dst >= 0}
        self.store = self._found()

    def _found(self) -> Instr | None:
        """A store that decides where the second loop begins: the others to its array are at the same index."""
        f, code = self.f, self.code
        opener = code[self.head]
        body = code[self.head + 1 : self.end]
        if opener.args[2] >= 0 or f.const_values[~opener.args[2]] != 1 or exits(code, self.head, self.end) or any(IS_LOOP[instr.op.code] for instr in body):
            return None
        found: Instr | None = None
        for instr in body:
            if instr.op is ops.STORE and f.arrays[instr.imm].nontemporal:
                if found is None and instr.args[-1] == opener.dst and not any(a in self.made for a in instr.args[1:-1]):
                    found = instr
                elif found is not None and instr.imm == found.imm and instr.args[1:] != found.args[1:]:
                    return None
        return found

    def done(self) -> bool:
        """Split the loop, if there is such a store."""
        store = self.store
        if store is None:
            return False
        f, out = self.f, self.out
        opener = self.code[self.head]
        low, high = [read_once(f, operand, self.line, out) for operand in opener.args[:2]]
        middle = self._middle(f.arrays[store.imm], store.args[1:-1], low, high)
        start = len(out)
        clone(f, self.code[self.head : self.end + 1], {}, out)
        first = out[start]
        first.args = [low, middle, opener.args[2]]
        if first.loop is not None:
            # (It is a vector or two.)
            first.loop.unroll = 1
        opener.args = [middle, high, opener.args[2]]
        second = self.code[self.head : self.end + 1]
        aligned = _aligned(f, store.imm)
        for instr in second:
            if instr.op in ops.ACCESSES and instr.imm == store.imm:
                instr.imm = aligned
        f.code = [*self.code[: self.head], *out, *second, *self.code[self.end + 1 :]]
        return True

    def _middle(self, array: Array, rows: list[int], low: int, high: int) -> int:
        """The first index from ``low`` on whose element begins a line, at most ``high``; ``high`` where no element does."""
        f = self.f
        size = array.element.size
        missing, place = elements_to_line(f, array, rows, low, self.line, self.out)
        middle = self._emit(ops.ADD, I64, [low, missing])
        if size > 1:
            within = self._emit(ops.AND, I64, [place, f.const(I64, size - 1)])
            whole = self._emit(ops.EQ, I64, [within, f.const(I64, 0)], result=BOOL)
            middle = self._emit(ops.SELECT, I64, [whole, middle, high])
        return self._emit(ops.MIN, I64, [middle, self._emit(ops.MAX, I64, [low, high])])

    def _emit(self, op: Op, type_: Type, args: list[int], result: Type | None = None, source: Type = VOID) -> int:
        made = self.f.register(result if result is not None else type_)
        self.out.append(Instr(op, type_, made, args, 0, self.line, source))
        return made


def _aligned(f: Function, number: int) -> int:
    """The number of an array under which whole vectors of it are known to lie at multiples of their size."""
    f.arrays.append(f.arrays[number].replaced(aligned=LINE))
    return len(f.arrays) - 1


def _fence(f: Function) -> None:
    """Before the function returns, what it has stored past the caches is there for all to see."""
    out: list[Instr] = []
    for instr in f.code:
        if instr.op is ops.RET:
            out.append(Instr(ops.STORE_FENCE, VOID, NONE, [], 0, instr.line))
        out.append(instr)
    if not out or out[-1].op is not ops.RET:
        out.append(Instr(ops.STORE_FENCE, VOID, NONE, [], 0, out[-1].line if out else 0))
    f.code = out
