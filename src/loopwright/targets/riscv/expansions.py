"""What RV64GC has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import checksum, division, half_floats, integer_sequences, sequences
from loopwright.targets.floor_division import divide_floats
from loopwright.targets.steps import Emit

__all__ = ["EXPANDED", "expand"]

_DIVISIONS: Final = frozenset(op.code for op in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))
_ROUNDING: Final = frozenset(op.code for op in (ops.FLOOR, ops.CEIL, ops.TRUNC, ops.ROUND))

#: The operations, by code, that the pass ``expand`` asks about.
_ESTIMATES: Final = frozenset((ops.RCP_ESTIMATE.code, ops.RSQRT_ESTIMATE.code, ops.RSQRT.code))
EXPANDED: Final = (
    _DIVISIONS
    | _ROUNDING
    | {ops.CONVERT.code, ops.FROM_F16.code, ops.TO_F16.code, ops.MUL_HIGH.code, ops.POPCOUNT.code}
    | _ESTIMATES
    | integer_sequences.EXPANDED
)


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation without an instruction; False where there is one. As ``Target.expand``."""
    op, type_ = instr.op, instr.type
    code = op.code
    if type_.lanes:
        # Refused where rules are chosen.
        return False
    if code in integer_sequences.EXPANDED:
        return integer_sequences.expand(f, instr, emit, late)
    if code in EXPANDED:
        if code in _ESTIMATES:
            sequences.divide_for_estimate(f, instr, emit)
            return True
        if code in _ROUNDING:
            sequences.round_by_integer(f, instr, emit)
            return True
        if op is ops.CONVERT:
            if not instr.source.is_float or not type_.is_integer or type_.bits >= 32:
                return False
            sequences.convert_and_clamp(f, instr, emit)
            return True
        if op is ops.FROM_F16 or op is ops.TO_F16:
            # (Conversions of f16 are in Zfhmin.)
            (half_floats.from_half if op is ops.FROM_F16 else half_floats.to_half)(f, instr, emit)
            return True
        if op is ops.MUL_HIGH:
            if type_.bits == 64:
                return False
            sequences.high_of_wide_product(f, instr, emit)
            return True
        if op is ops.POPCOUNT:
            # (CPOP is in Zbb.)
            sequences.popcount(f, instr, emit)
            return True
        if instr.imm == division.BARE:
            return False
        if type_.is_integer and instr.args[1] < 0:
            if not division.divide_by_power(f, instr, emit):
                division.multiply_by_reciprocal(f, instr, emit)
            return True
    return late and _with_branches(f, instr, emit)


def _with_branches(f: Function, instr: Instr, emit: Emit) -> bool:
    op, type_ = instr.op, instr.type
    if op.code in _DIVISIONS:
        if type_.is_float:
            divide_floats(f, instr, emit)
        else:
            # The most negative integer divided by -1 wraps (ISA manual, chapter "M", table of division results).
            division.divide(f, instr, emit, traps=False)
        return True
    if op is ops.SELECT:
        sequences.select_by_branch(f, instr, emit)
        return True
    if (op is ops.MIN or op is ops.MAX) and not (type_.is_float and f.options.fastmath):
        # FMIN and FMAX treat NaN and signed zeros otherwise.
        sequences.min_max_by_branch(f, instr, emit)
        return True
    if op is ops.CRC32C:
        # Zbc's carry-less products are not in RV64GC.
        checksum.crc32c(f, instr, emit)
        return True
    return False
