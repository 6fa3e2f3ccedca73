"""What a remainder stores, in pieces: vectors of half the lanes, of a quarter, and so on down to one element.

The lanes that a remainder's own mask leaves on are the first ones, as many as are left. Machines whose stores under a mask take long (``Target.dear_masks``; Agner Fog,
*Instruction tables*, has 42 micro-operations for VMASKMOVPS to memory on AMD Zen 3) do better with a store for each power of two in that number: 7 elements are 4, 2 and 1. The vector is
written down once, and its pieces are copied from there: the core hands a store on to loads of parts of it.

On other machines it does so for arrays that are loaded from as well: a load of bytes that a store might have written, had its mask been on, waits until that is in the cache, and the row behind begins
right there.

Columns of rows so short that a mask reaches into the next one, and a loop from row to row inside, are the same.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import BOOL, I64, PTR, VOID, Type, vector_of

__all__ = ["in_pieces"]

#: More vectors than that would be more code than they are worth.
MOST_STORES: Final = 3


def in_pieces(f: Function, body: list[Instr], mask: int, first: int, behind: int, arrays: Collection[int] | None = None) -> list[Instr]:
    """A remainder's body, what it stores under its mask stored in pieces.

    Args:
        f: the function.
        body: the instructions.
        mask: the register that holds for the lanes that are left.
        first: the first index that is left.
        behind: the index behind the last; fewer are left than a vector has lanes, and at least one.
        arrays: only stores to these are made so; None for all.

    Returns:
        The body, or what takes its place.
    """
    stores = {id(instr) for instr in body if _whole(instr, mask) and (arrays is None or instr.imm in arrays)}
    if not 0 < len(stores) <= MOST_STORES:
        return body
    out: list[Instr] = []
    pieces = _Pieces(f, out, first, behind, body[0].line)
    buffers: dict[int, int] = {}  # by element type, the array that a vector is written down in
    for instr in body:
        # (In front of all: a store may be in a branch.)
        element = instr.type.element
        if id(instr) in stores and element.number not in buffers:
            array = f.local_array("pieces", element, (instr.type.lanes,))
            array.written = True
            buffers[element.number] = len(f.arrays) - 1
            out.append(Instr(ops.LOCAL, PTR, array.base, [f.const(I64, len(f.arrays) - 1)], 0, instr.line))
    for instr in body:
        if id(instr) in stores:
            pieces.store(instr, buffers[instr.type.element.number])
        else:
            out.append(instr)
    return out


def _whole(instr: Instr, mask: int) -> bool:
    """Whether an instruction stores all lanes that are left."""
    return instr.op is ops.MASKED_STORE and instr.args[0] == mask and instr.type.lanes > 1


class _Pieces:
    """Pieces of what is left.

    Attributes:
        count: how many elements are left, or -1 where that is not known while compiling.
        left: a register with that number.
    """

    __slots__ = ("count", "f", "left", "out")

    def __init__(self, f: Function, out: list[Instr], first: int, behind: int, line: int) -> None:
        self.f = f
        self.out = out
        self.count = int(f.const_values[~behind]) - int(f.const_values[~first]) if first < 0 and behind < 0 else -1
        self.left = self._op(ops.SUB, I64, [behind, first], line) if self.count < 0 else NONE

    def store(self, instr: Instr, buffer: int) -> None:
        """Store what is left of a vector, by way of a buffer."""
        f, line = self.f, instr.line
        value, places = instr.args[1], instr.args[2:]
        element = instr.type.element
        if value >= 0:
            self.out.append(Instr(ops.STORE, instr.type, NONE, [value, f.const(I64, 0)], buffer, line))
        lanes = instr.type.lanes // 2
        while lanes:
            if self.count < 0 or self.count & lanes:
                # Those before it have stored as many as the greater powers of two come to.
                above = instr.type.lanes - 2 * lanes
                known = self.count >= 0 or not above
                at = f.const(I64, self.count & above) if known else self._op(ops.AND, I64, [self.left, f.const(I64, above)], line)
                if self.count < 0:
                    bit = self._op(ops.AND, I64, [self.left, f.const(I64, lanes)], line)
                    holds = self._op(ops.NE, I64, [bit, f.const(I64, 0)], line, BOOL)
                    self.out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
                self._copy(vector_of(element, lanes) if lanes > 1 else element, value, buffer, at, places, instr)
                if self.count < 0:
                    self.out.append(Instr(ops.END, VOID, NONE, [], 0, line))
            lanes //= 2

    def _copy(self, type_: Type, value: int, buffer: int, at: int, places: list[int], instr: Instr) -> None:
        """Copy a piece from where it stands in a buffer. (A constant is the same in every lane.)"""
        f, line = self.f, instr.line
        if value >= 0:
            piece = f.register(type_)
            self.out.append(Instr(ops.LOAD, type_, piece, [at], buffer, line))
        else:
            piece = f.const(type_, f.const_values[~value])
        index = self._op(ops.ADD, I64, [places[-1], at], line)
        self.out.append(Instr(ops.STORE, type_, NONE, [piece, *places[:-1], index], instr.imm, line))

    def _op(self, op: ops.Op, type_: Type, args: list[int], line: int, result: Type | None = None) -> int:
        made = self.f.register(result if result is not None else type_)
        self.out.append(Instr(op, type_, made, args, 0, line))
        return made
