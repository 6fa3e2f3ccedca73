"""Parallel moves: everything read before anything is written."""

from __future__ import annotations

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


def sequence(moves: list[Move], line: int) -> list[Instr]:
    """The moves as instructions in an order that reads every source before it is overwritten.

    Stores to slots come first, loads and constants last; cycles among registers are broken by exchanges
    (every target has ``swap`` for each of its classes).
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
        # Only cycles are left. After exchanging, the first move is done and whoever wanted either register finds it in the other.
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


def _bytes(type_: Type) -> int:
    return type_.bits * max(type_.lanes, 1) // 8
