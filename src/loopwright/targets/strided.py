"""Vectors whose elements are not next to each other in memory: one element after the other, into lanes and out of them by ``slide``.

Any target's ``expand`` may use these; they have no branches.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.steps import Emit
from loopwright.types import I64, PTR, VOID, Type

__all__ = ["access"]

#: Elements that are addressed from one pointer, at 0 to 3 times the distance.
_TOGETHER: Final = 4


class _Places:
    """The addresses of elements a distance apart."""

    __slots__ = ("element", "emit", "f", "instr", "multiples", "pointer", "scales", "stride")

    def __init__(self, f: Function, instr: Instr, emit: Emit, scales: tuple[int, ...]) -> None:
        first = len(instr.op.operands) - 1
        mem = instr.mem
        assert mem is not None
        self.f = f
        self.instr = instr
        self.emit = emit
        self.element: Type = instr.type.element
        self.scales = scales
        self.stride: int = instr.args[first - 1]
        self.multiples: dict[int, int] = {1: self.stride}
        self.pointer = f.register(PTR)
        emit(Instr(ops.ADDRESS, PTR, self.pointer, instr.args[first:], 0, instr.line, VOID, Mem(mem.indexed, mem.scale, mem.disp, 0)))

    def times(self, factor: int) -> int:
        """So many times the distance."""
        known = self.multiples.get(factor)
        if known is None:
            known = self.f.register(I64)
            self.emit(Instr(ops.MUL, I64, known, [self.stride, self.f.const(I64, factor)], 0, self.instr.line))
            self.multiples[factor] = known
        return known

    def next(self) -> None:
        """Go on to the next elements."""
        moved = self.f.register(PTR)
        self.emit(Instr(ops.ADD, PTR, moved, [self.pointer, self.times(_TOGETHER)], 0, self.instr.line))
        self.pointer = moved

    def of(self, number: int) -> tuple[list[int], Mem]:
        """The address of an element, from the pointer."""
        size = self.element.size
        mem = self.instr.mem
        assert mem is not None
        if not number:
            return [self.pointer], Mem(False, 1, 0, size, False, -1, mem.array)
        scale = 2 if number == 2 and 2 in self.scales else 1
        if scale in self.scales and self.stride >= 0:
            return [self.pointer, self.times(number // scale)], Mem(True, scale, 0, size, False, -1, mem.array)
        at = self.f.register(PTR)
        self.emit(Instr(ops.ADD, PTR, at, [self.pointer, self.times(number)], 0, self.instr.line))
        return [at], Mem(False, 1, 0, size, False, -1, mem.array)


def access(f: Function, instr: Instr, emit: Emit, scales: tuple[int, ...]) -> None:
    """``load_strided_at`` and ``store_strided_at``.

    Args:
        f: the function.
        instr: the instruction.
        emit: takes the instructions that it becomes.
        scales: what the index in an address of the machine may be multiplied by.
    """
    type_ = instr.type
    element = type_.element
    places = _Places(f, instr, emit, scales)
    line = instr.line
    made = NONE
    for lane in range(type_.lanes):
        if lane and lane % _TOGETHER == 0:
            places.next()
        where, mem = places.of(lane % _TOGETHER)
        if instr.op is ops.STORE_STRIDED_AT:
            value = instr.args[0]
            if value < 0:
                taken = f.const(element, f.const_values[~value])
            else:
                if lane:
                    value = _result(f, emit, Instr(ops.SLIDE, type_, NONE, [value, value, f.const(I64, lane)], 0, line), type_)
                taken = _result(f, emit, Instr(ops.EXTRACT, type_, NONE, [value], 0, line), element)
            emit(Instr(ops.STORE_AT, element, NONE, [taken, *where], 0, line, VOID, mem))
            continue
        loaded = _result(f, emit, Instr(ops.LOAD_AT, element, NONE, where, 0, line, VOID, mem), element)
        whole = _result(f, emit, Instr(ops.SPLAT, type_, NONE, [loaded], 0, line), type_)
        # Each shifts those before it down by one.
        made = _result(f, emit, Instr(ops.SLIDE, type_, NONE, [made, whole, f.const(I64, 1)], 0, line), type_) if lane else whole
    if instr.op is ops.LOAD_STRIDED_AT:
        emit(Instr(ops.COPY, type_, instr.dst, [made], 0, line))


def _result(f: Function, emit: Emit, instr: Instr, type_: Type) -> int:
    instr.dst = f.register(type_)
    emit(instr)
    return instr.dst
