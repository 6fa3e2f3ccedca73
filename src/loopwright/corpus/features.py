"""What a function is like, in a few numbers: for the index of a corpus, and for choosing among orders.

They are taken from the function as it was given to the compiler, so they do not change when a pass does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass
from typing import Any

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.loops import loops
from loopwright.types import I64

__all__ = ["Features", "features", "features_of_text"]

_BRANCHES = (ops.IF, ops.ELIF, *ops.IF_CMP.values(), ops.BR_IF, *ops.BR_CMP.values())


@dataclass(frozen=True, slots=True)
class Features:
    """Numbers about a function.

    Attributes:
        instructions: in its list, brackets included.
        loops: loops of every kind.
        depth: how deep loops are nested; 0 without any.
        branches: ifs, elifs and conditional branches.
        calls: call instructions.
        params: registers that arguments arrive in (an array contributes base, extents and strides).
        pressure: the most registers live at once, of whatever type, before any pass has run.
        vector_share: part of the instructions with a result that have a vector result, or in a loop over lanes one that is no index, in thousandths.
    """

    instructions: int
    loops: int
    depth: int
    branches: int
    calls: int
    params: int
    pressure: int
    vector_share: int

    def as_dict(self) -> dict[str, int]:
        """By name."""
        made: dict[str, Any] = asdict(self)
        return made


def features(f: Function) -> Features:
    """The features of a function."""
    deepest = branches = calls = vectors = results = 0
    first, end_of = _made_and_ended(f)
    last: dict[int, int] = {}
    #: the loops around, by the index of what opened them, and the negative of where they end
    inside: list[int] = []
    ends: list[int] = []
    lanes_end = 0  # of the loop over lanes around

    def used(r: int, k: int) -> None:
        # In a loop that it was made outside of it is needed until the loop's end: of the loops around, the first ones hold both.
        made = first.get(r, -1)
        n = bisect_right(inside, made) if made <= k else bisect_left(ends, -made)
        last[r] = max(last.get(r, k), -ends[n] if n < len(ends) else k)

    for k, instr in enumerate(f.code):
        op = instr.op
        if inside and k == -ends[-1]:
            inside.pop()
            ends.pop()
        read = instr.args
        if op in ops.ACCESSES:
            array = f.arrays[instr.imm]
            read = [*read, array.base, *array.strides]
        for r in read:
            if 0 <= r < len(f.types):
                used(r, k)
        if k in end_of:
            if instr.loop is not None and instr.loop.lanes:
                lanes_end = end_of[k]
            inside.append(k)
            ends.append(-end_of[k])
            deepest = max(deepest, len(inside))
        branches += op in _BRANCHES
        calls += op.effect == ops.CALLS
        if instr.loop is not None and instr.loop.mask >= 0:
            last[instr.loop.mask] = k
        dst = instr.dst
        if dst >= 0:
            results += 1
            vectors += instr.type.lanes > 0 or k < lanes_end and instr.type is not I64
            last[dst] = max(last.get(dst, k), k)
            if dst < len(f.variable) and f.variable[dst]:
                used(dst, k)
    changes: dict[int, int] = {}
    for r, end in last.items():
        start = first.get(r, end)
        if start < end:
            changes[start] = changes.get(start, 0) + 1
            changes[end] = changes.get(end, 0) - 1
    pressure = live = 0
    for k in sorted(changes):
        live += changes[k]
        pressure = max(pressure, live)
    return Features(len(f.code), len(end_of), deepest, branches, calls, len(f.params), pressure, round(1000 * vectors / results) if results else 0)


def _made_and_ended(f: Function) -> tuple[dict[int, int], dict[int, int]]:
    """Where each register is defined first, and where each loop ends, by the index of what opens it."""
    first: dict[int, int] = dict.fromkeys(f.params, -1)
    for k, instr in enumerate(f.code):
        if instr.loop is not None and instr.loop.mask >= 0:
            first[instr.loop.mask] = k
        if instr.dst >= 0:
            first.setdefault(instr.dst, k)
    return first, {loop.head: loop.end for loop in loops(f.code)}


def features_of_text(text: str, target: str, vector_bits: int, convention: str) -> tuple[str, Features]:
    """The name and the features of a function's text. One that is already allocated has no virtual registers to count."""
    from loopwright.ir.parse import parse

    machine = None
    if "\n  physical\n" in text:
        from loopwright.targets import registry

        machine = registry.get(target, vector_bits or None, convention)
    f = parse(text, target=machine)
    return f.name, features(f)
