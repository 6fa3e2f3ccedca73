"""What calls do to the arrays of their callers."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.ir import ops
from loopwright.ir.function import Function

__all__ = ["mark_all_written", "mark_written"]


def mark_written(f: Function, called: Function, args: Sequence[int]) -> bool:
    """Mark the arrays of ``f`` that a function writes to which is called with these operands; whether there are new ones."""
    arrays = {array.base: array for array in f.arrays}
    written = {array.base: array.written for array in called.arrays}
    found = False
    for parameter, a in zip(called.params, args, strict=False):
        array = arrays.get(a)
        # (A pointer that is no array's may be written through.)
        if array is not None and not array.written and written.get(parameter, True):
            array.written = found = True
    return found


def mark_all_written(functions: Sequence[Function]) -> None:
    """Mark the arrays that functions write to by way of those they call, to a fixpoint."""
    calling = [f for f in functions if f.callees and f.arrays]
    more = bool(calling)
    while more:
        more = False
        for f in calling:
            for instr in f.code:
                if instr.op is ops.CALL or instr.op is ops.CALL_VOID:
                    called = f.callees[instr.imm].function
                    if called is not None and mark_written(f, called, instr.args):
                        more = True
