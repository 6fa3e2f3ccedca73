"""Stores that nobody reads before the next store to the same place: along a walk backwards through straight code."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Array, Instr, Mem

__all__ = ["Overwritten"]


class _Place:
    """Bytes that are written further down: from ``low`` on, below ``high``, from the address of some operands."""

    __slots__ = ("array", "high", "low", "operands", "scale")

    def __init__(self, array: int, operands: list[int], scale: int, low: int, high: int) -> None:
        self.array = array
        self.operands = operands
        self.scale = scale
        self.low = low
        self.high = high

    def beside(self, operands: list[int], mem: Mem, arrays: list[Array]) -> bool:
        """Whether an access by ``operands`` is to other bytes, for certain."""
        if mem.scale != self.scale or mem.indexed != (len(self.operands) == 2) or (mem.disp + mem.size > self.low and mem.disp < self.high):
            return False
        if operands == self.operands:
            return True
        if mem.array == self.array or mem.array < 0 or self.array < 0 or arrays[mem.array].shared or arrays[self.array].shared:
            return False
        # Of two arrays that may be one, which are accessed at one index only (docs/kernels.md), what differs by constants differs in any case.
        return operands[-1] == self.operands[-1]


class Overwritten:
    """What the code behind a place in a stretch without branches and calls will have written before it is read."""

    __slots__ = ("arrays", "places")

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self.places: list[_Place] = []

    def store(self, instr: Instr) -> bool:
        """Note a ``store_at``; whether it may go, because all its bytes are written again before anyone reads them."""
        mem = instr.mem
        assert mem is not None
        operands = instr.args[1:]
        low = mem.disp
        high = low + instr.type.size
        for place in self.places:
            if place.low <= low and high <= place.high and place.operands == operands and place.scale == mem.scale:
                return True
        self.places.append(_Place(mem.array, operands, mem.scale, low, high))
        return False

    def load(self, instr: Instr) -> None:
        """Something is read: what may be that is not written over before."""
        mem = instr.mem
        if mem is None or (instr.op is not ops.LOAD_AT and instr.op is not ops.MASKED_LOAD_AT):
            self.places = []
            return
        operands = instr.args[-2:] if mem.indexed else instr.args[-1:]
        self.places = [place for place in self.places if place.beside(operands, mem, self.arrays)]

    def written(self, register: int) -> None:
        """A variable is written: further up an address made of it is another."""
        self.places = [place for place in self.places if register not in place.operands]
