"""How wide the lanes of totals are that are wider than what is added to them (``vectors/sums.py``), on a machine, in a loop of so many lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.nests.analysis.operations import steps
from loopwright.targets.target import Target
from loopwright.types import F32, I8, I16, I32, I64, U32, U64, UNSIGNED, VOID, Type, vector_of
from loopwright.vectors.sums import COUNT, DISTANCE, PRODUCT, Total

__all__ = ["settle"]

#: A total has room for at least so many steps; as many times that as there is room for make a block, which whole unrolled steps fill.
LEAST_STEPS: Final = 48
_WIDE: Final[dict[int, tuple[Type, Type]]] = {32: (U32, I32), 64: (U64, I64)}
#: What the most frequent term of a kind is made by.
_OPS: Final[dict[int, ops.Op]] = {DISTANCE: ops.SUM_ABS_DIFF, PRODUCT: ops.DOT_ADD}


def settle(totals: list[Total], width: Callable[[set[int]], int], usual: int, target: Target, bits: int) -> int:
    """Settle the lanes of totals; those that gain nothing, or cannot be narrow, are taken out of the list.

    Args:
        totals: of the loop.
        width: the bits of the widest element that the loop's vectors have, apart from instructions given by their ``id``; 0 where there are none.
        usual: the bits where there are none.
        target: the machine.
        bits: of its vectors.

    Returns:
        The bits of the loop's widest element, which decide how many lanes there are.
    """
    for total in totals:
        if total.of_bytes() and _takes_bytes(total, target, bits):
            total.take_bytes()
    while True:
        apart: set[int] = set()
        found = 0
        for total in totals:
            apart |= total.through
            apart.update(total.updates)
            found = max(found, total.of.bits)
        found = max(found, width(apart)) or usual
        kept = [total for total in totals if total.type.bits > found and _settled(total, found, max(1, bits // found), target)]
        if len(kept) == len(totals):
            return found
        totals[:] = kept


def _takes_bytes(total: Total, target: Target, bits: int) -> bool:
    """Whether a machine adds up products of bytes in fewer instructions than with both made 16 bits wide, which takes two vectors for one of bytes."""
    if bits < 128:
        return False
    lanes = vector_of(_WIDE[32][1 if total.low < 0 else 0], bits // 32)
    wide = vector_of(I16, bits // 16)
    apart = 2 * (steps(target, ops.DOT_ADD, lanes, wide) + 2 * steps(target, ops.CONVERT, wide, vector_of(I8, bits // 16)))
    for term in total.updates.values():
        op = ops.DOT_MIXED_ADD if term.mixed else ops.DOT_ADD
        count = steps(target, op, lanes, vector_of(term.source, bits // 8))
        if count < 0 or count >= apart > 0:
            return False
    return True


def _settled(total: Total, width: int, lanes: int, target: Target) -> bool:
    """Find the type of a total's lanes, where there is one."""
    if total.of is VOID:
        total.element = UNSIGNED[width]
        total.steps = _rounded(((1 << width) - 1) // total.high)
        return lanes * width >= 128 and not total.looped and total.steps > 0
    of = total.of
    if lanes * of.bits < 128:
        return False
    kinds = {term.kind for term in total.updates.values()}
    if of.is_float:
        total.element = F32
        return _cost(target, kinds, vector_of(F32, lanes * of.bits // 32), vector_of(of, lanes)) >= 0
    least = -1
    for bits in (32, 64):
        if bits <= of.bits:
            continue
        signed = 1 if total.low < 0 else 0
        element = _WIDE[bits][signed]
        room = 0
        if total.type.bits > bits:
            greatest = max(-total.low, total.high) * (bits // of.bits)
            room = _rounded(((1 << bits - signed) - 1) // greatest)
            if total.looped or not room:
                continue
        cost = _cost(target, kinds, vector_of(element, lanes * of.bits // bits), vector_of(of, lanes))
        if cost >= 0 and (least < 0 or cost < least):
            least, total.element, total.steps = cost, element, room
    return least >= 0


def _rounded(steps_: int) -> int:
    return steps_ - steps_ % LEAST_STEPS


def _cost(target: Target, kinds: set[int], type_: Type, source: Type) -> int:
    """How many instructions the terms take, one of each kind; -1 where there is one that the machine does not have."""
    found = 0
    for kind in kinds:
        assert kind != COUNT
        count = steps(target, _OPS.get(kind, ops.SUM_GROUPS), type_, source)
        if count < 0:
            return -1
        found += count
    return found
