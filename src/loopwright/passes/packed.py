"""Lanes of integers that are made narrower and fit: where the machine packs with saturation quicker than it cuts off, that does the same.

What arithmetic on widened lanes may come to is told by intervals (``ir/ranges.py``), from what is loaded on: the sum of four bytes, shifted by two, is a byte again.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ranges import Range, fits, result
from loopwright.ir.roles import address_at
from loopwright.types import I16, I32, Type, limits, vector_of

__all__ = ["Packed"]

#: How many operations a value is followed through.
_FOLLOWED: Final = 16
_SAME: Final = (ops.COPY, ops.SPLAT, ops.CONVERT)
_SHIFTS: Final = (ops.SHL, ops.SHR)


class Packed:
    """The conversions of a function, of which some may saturate."""

    __slots__ = ("f", "known", "makers")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.makers: dict[int, Instr] = {}
        self.known: dict[int, Range] = {}
        for instr in f.code:
            if instr.dst >= 0 and not f.variable[instr.dst]:
                self.makers[instr.dst] = instr

    def saturated(self, instr: Instr) -> Instr:
        """A conversion of lanes that saturates, where it gives what ``instr`` does; else that."""
        type_, source = instr.type, instr.source
        if not fits(self.range(instr.args[0], source, 0), type_):
            return instr
        # (What fits the narrower type is the same number with a sign.)
        return Instr(ops.CONVERT_SATURATED, type_, instr.dst, instr.args, 0, instr.line, vector_of(I16 if source.bits == 16 else I32, source.lanes))

    def range(self, a: int, type_: Type, followed: int) -> Range:
        """Between which bounds the lanes of an operand lie."""
        if a < 0:
            value = int(self.f.const_values[~a])
            return value, value
        found = self.known.get(a)
        if found is None:
            found = limits(type_)
            instr = self.makers.get(a)
            # (Registers are read under other types of their width, too.)
            if instr is not None and followed < _FOLLOWED and instr.type.bits == type_.bits and instr.type.signed == type_.signed:
                self.known[a] = found = self.made(instr, followed + 1) or found
        return found

    def made(self, instr: Instr, followed: int) -> Range | None:
        """What an operation gives; None where it may be anything."""
        op, type_ = instr.op, instr.type
        source = instr.source if op is ops.CONVERT else type_
        if op.effect != ops.PURE or not type_.is_integer or not source.is_integer:
            return None
        if instr.mem is None:
            ranges = [self.range(a, source, followed) for a in instr.args]
        else:
            # (The last operand is in memory where its load has become part of this.)
            ranges = [self.range(a, source, followed) for a in instr.args[: address_at(instr)]] + [limits(source)]
        if not 1 <= len(ranges) <= 2:
            return None
        if op in _SHIFTS and not (ranges[1][0] >= 0 and ranges[1][1] < type_.bits):
            return None
        found = ranges[0] if op in _SAME else result(op, ranges)
        return found if found is not None and fits(found, type_) else None
