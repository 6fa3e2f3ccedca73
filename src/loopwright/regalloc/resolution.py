"""Parallel moves: everything read before anything is written."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import SLOT, Instr
from loopwright.types import Type


class Move:
    """``destination <- source``; a register, a slot or (source only) a constant."""

    __slots__ = ("destination", "source", "type")

    def __init__(self, destination: int, source: int, type_: Type) -> None:
        self.destination = destination
        self.source = source
        self.type = type_


#: Cycles of so many moves and more go by way of a free register: it takes one move more, exchanges one less each of which is several instructions.
_LONG: Final = 3


def sequence(moves: list[Move], line: int, free: int = 0, masks: list[int] | None = None) -> list[Instr]:
    """The moves as instructions in an order that reads every source before it is overwritten.

    Stores to slots come first, loads and constants last. Cycles among registers go by way of a free register of their class, or
    are broken by exchanges (every target has ``swap`` for each of its classes).

    Args:
        moves: no two with the same destination.
        line: for the instructions.
        free: registers (bit mask) that hold nothing here.
        masks: per class, its registers (bit mask).
    """
    result: list[Instr] = []
    waiting: list[Move] = []
    last: list[Move] = []
    for move in moves:
        if move.destination >= SLOT:
            result.append(Instr(ops.COPY, move.type, move.destination, [move.source], 0, line))
        elif move.source < 0 or move.source >= SLOT:
            last.append(move)
        elif move.destination != move.source:
            waiting.append(move)
    while waiting:
        ready = -1
        for n in range(len(waiting)):
            destination = waiting[n].destination
            blocked = False
            for other in waiting:
                if other.source == destination and other is not waiting[n]:
                    blocked = True
                    break
            if not blocked:
                ready = n
                break
        if ready >= 0:
            move = waiting.pop(ready)
            result.append(Instr(ops.COPY, move.type, move.destination, [move.source], 0, line))
            continue
        # Only cycles are left.
        via = _free_register(waiting, free, masks) if masks is not None and free else -1
        if via >= 0:
            move = waiting[0]
            result.append(Instr(ops.COPY, move.type, via, [move.source], 0, line))
            move.source = via
            continue
        # After exchanging, the first move is done and whoever wanted either register finds it in the other.
        move = waiting.pop(0)
        a, b = move.destination, move.source
        wide = move.type
        for other in waiting:
            if (other.source == a or other.source == b) and _bytes(other.type) > _bytes(wide):
                wide = other.type
        result.append(Instr(ops.SWAP, wide, -1, [a, b], 0, line))
        for other in waiting:
            if other.source == a:
                other.source = b
            elif other.source == b:
                other.source = a
        waiting = [other for other in waiting if other.source != other.destination]
    for move in last:
        result.append(Instr(ops.COPY, move.type, move.destination, [move.source], 0, line))
    return result


def _free_register(waiting: list[Move], free: int, masks: list[int]) -> int:
    """A free register by way of which the cycle of the first move had better go; -1 for none."""
    source_of = {move.destination: move.source for move in waiting}
    start = waiting[0].destination
    length = 1
    r = source_of[start]
    while r != start:
        length += 1
        r = source_of[r]
    if length < _LONG:
        return -1
    for mask in masks:
        if mask >> start & 1:
            usable = mask & free
            return usable.bit_length() - 1 if usable else -1
    return -1


def _bytes(type_: Type) -> int:
    return type_.bits * max(type_.lanes, 1) // 8
