"""What a function is like, in a few numbers: for the index of a corpus, and for choosing among orders.

They are taken from the function as it was given to the compiler, so they do not change when a pass does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loopwright.ir import ops
from loopwright.ir.function import Function

__all__ = ["Features", "features", "features_of_text"]

_LOOPS = (ops.FOR, ops.WHILE, ops.LOOP)
_ARRAY_OPS = (ops.LOAD, ops.STORE, ops.MASKED_LOAD, ops.MASKED_STORE)
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
        vector_share: part of the instructions with a result that have a vector result, in thousandths.
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
    loops = depth = deepest = branches = calls = vectors = results = 0
    #: index of the end of each open loop's opener; None for other brackets
    open_: list[int] = []
    end_of: dict[int, int] = {}
    first: dict[int, int] = dict.fromkeys(f.params, -1)
    #: register -> loops (index of the opener) around its first definition
    around: dict[int, tuple[int, ...]] = dict.fromkeys(f.params, ())
    last: dict[int, int] = {}
    inside: list[int] = []
    reads: list[tuple[int, int, tuple[int, ...]]] = []
    for k, instr in enumerate(f.code):
        op = instr.op
        if op.closes and not op.opens:
            opener = open_.pop()
            if opener >= 0:
                end_of[opener] = k
                inside.pop()
                depth -= 1
        read = instr.args
        if op in _ARRAY_OPS:
            array = f.arrays[instr.imm]
            read = [*read, array.base, *array.strides]
        for r in read:
            if 0 <= r < len(f.types):
                reads.append((r, k, tuple(inside)))
                last[r] = k
        if op.opens and not op.closes:
            if op in _LOOPS:
                loops += 1
                depth += 1
                deepest = max(deepest, depth)
                open_.append(k)
                inside.append(k)
            else:
                open_.append(-1)
        branches += op in _BRANCHES
        calls += op.effect == ops.CALLS
        if instr.loop is not None and instr.loop.mask >= 0:
            first[instr.loop.mask] = last[instr.loop.mask] = k
            around[instr.loop.mask] = tuple(inside)
        dst = instr.dst
        if dst >= 0:
            results += 1
            vectors += instr.type.lanes > 0
            if dst not in first:
                first[dst] = k
                around[dst] = tuple(inside)
            last[dst] = max(last.get(dst, k), k)
            if dst < len(f.variable) and f.variable[dst]:
                reads.append((dst, k, tuple(inside)))
    for r, k, loops_here in reads:
        outer = around.get(r, ())
        # Used in a loop that it was made outside of: needed until the loop's end.
        for n, opener in enumerate(loops_here):
            if n >= len(outer) or outer[n] != opener:
                last[r] = max(last[r], end_of.get(opener, k))
                break
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
    return Features(len(f.code), loops, deepest, branches, calls, len(f.params), pressure, round(1000 * vectors / results) if results else 0)


def features_of_text(text: str, target: str, vector_bits: int, convention: str) -> tuple[str, Features]:
    """The name and the features of a function's text. One that is already allocated has no virtual registers to count."""
    from loopwright.ir.parse import parse

    machine = None
    if "\n  physical\n" in text:
        from loopwright.targets import registry

        machine = registry.get(target, vector_bits or None, convention)
    f = parse(text, target=machine)
    return f.name, features(f)
