"""Values computed twice: whether two registers have the same value because the same operations of the same made them."""

from __future__ import annotations

from collections.abc import Mapping

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr

__all__ = ["same_operation", "same_value"]


def same_operation(a: Instr, b: Instr) -> bool:
    """Whether two instructions do the same, each with its own operands; those that access memory by an address never do."""
    return (
        a.op is b.op and a.type is b.type and a.source is b.source and a.imm == b.imm and len(a.args) == len(b.args) and a.mem is None and b.mem is None
    )  # fmt: skip


def same_value(made: Mapping[int, Instr], a: int, b: int, index: int = NONE, place: int = NONE) -> bool:
    """Whether two registers have the same value, or would have it if one register were another.

    Args:
        made: by register, what made it: pure operations and loads, with no store between any two of them, and no variable is written.
        a: a register, or a constant.
        b: another.
        index: what ``a`` may be made of where ``b`` is made of ``place``.
        place: see ``index``; neither is ever the same as anything else.
    """
    asked = [(a, b)]
    known: set[tuple[int, int]] = set()
    while asked:
        pair = asked.pop()
        a, b = pair
        if pair in known or (index != NONE and a == index and b == place):
            continue
        known.add(pair)
        if index != NONE and (a == index or b == place):
            return False
        if a == b and (index == NONE or a not in made):
            continue
        one, other = made.get(a), made.get(b)
        if one is not None and one.op is ops.COPY:
            asked.append((one.args[0], b))
        elif other is not None and other.op is ops.COPY:
            asked.append((a, other.args[0]))
        elif one is None or other is None or not same_operation(one, other):
            return False
        else:
            asked += zip(one.args, other.args, strict=True)
    return True
