"""Quotients and remainders of the same operands, which ``select`` makes of one division."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr

__all__ = ["DIVISIONS", "QUOTIENTS", "partner"]

#: The other of quotient and remainder.
_OTHER: Final[dict[ops.Op, ops.Op]] = {
    ops.DIV_TRUNC: ops.REM_TRUNC,
    ops.REM_TRUNC: ops.DIV_TRUNC,
    ops.DIV_FLOOR: ops.REM_FLOOR,
    ops.REM_FLOOR: ops.DIV_FLOOR,
}
DIVISIONS: Final = frozenset(_OTHER)
QUOTIENTS: Final = frozenset((ops.DIV_TRUNC, ops.DIV_FLOOR))


def partner(code: list[Instr], k: int, alias: Mapping[int, int]) -> int:
    """Of a quotient at position ``k``, where behind it, with straight-line code between, the remainder of the same operands is, which could as well be made at ``k``, or
    the other way round; -1 for nowhere. ``alias``: registers that stand for others, which the code behind ``k`` still reads."""
    first = code[k]
    wanted = _OTHER[first.op]
    read: set[int] = set(first.args)
    if first.dst in read:
        return -1
    touched = {first.dst}
    for at in range(k + 1, len(code)):
        instr = code[at]
        op = instr.op
        args = [alias.get(a, a) for a in instr.args] if alias else instr.args
        if op is wanted and instr.type is first.type and args == first.args:
            # (A variable may be read or written in between.)
            return at if instr.dst not in touched and instr.dst not in read else -1
        if op.effect == ops.CONTROL or instr.dst in read:
            break
        touched.update(args)
        touched.add(instr.dst)
    return -1
