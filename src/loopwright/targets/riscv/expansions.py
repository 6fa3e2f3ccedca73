"""What RV64GC has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import sequences
from loopwright.targets.sequences import Emit

__all__ = ["EXPANDED", "expand"]

_DIVISIONS: Final = frozenset(op.code for op in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = _DIVISIONS | {ops.POPCOUNT.code}


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation without an instruction; False where there is one. As ``Target.expand``."""
    op, type_ = instr.op, instr.type
    if type_.lanes:
        # Refused where rules are chosen.
        return False
    if op.code in _DIVISIONS and type_.is_integer and instr.imm != sequences.BARE:
        if instr.args[1] < 0 and sequences.divide_by_constant(f, instr, emit):
            return True
        if late:
            # The most negative integer divided by -1 wraps (ISA manual, chapter "M", table of division results).
            sequences.divide(f, instr, emit, traps=False)
        return late
    if op is ops.POPCOUNT:
        # (CPOP is in Zbb.)
        sequences.popcount(f, instr, emit)
        return True
    if not late:
        return False
    if op is ops.SELECT:
        sequences.select_by_branch(f, instr, emit)
        return True
    if (op is ops.MIN or op is ops.MAX) and not (type_.is_float and f.options.fastmath):
        # FMIN and FMAX treat NaN and signed zeros otherwise.
        sequences.min_max_by_branch(f, instr, emit)
        return True
    return False
