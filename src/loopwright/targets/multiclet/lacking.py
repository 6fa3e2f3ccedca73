"""Operations whose commands a processor of one's own lacks, as sequences of operations: asked by the passes ``expand`` and ``select`` before all else.

What takes no more than a few commands on the same operands is in ``substitutes.py``. What can be neither is refused where rules are chosen.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets import division, long_arithmetic, sequences, soft_floats
from loopwright.targets.multiclet.multiply_add import FUSED
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.selection import command_of, suffix_of
from loopwright.targets.multiclet.substitutes import Substitute
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, F64, I32, I64, U32, U64, Type

__all__ = ["EXPANDED", "Lacking"]

_INTEGERS: Final = frozenset((ops.MUL.code, ops.MUL_HIGH.code, ops.DIV_TRUNC.code, ops.REM_TRUNC.code))
_FLOATS: Final = frozenset((ops.ADD.code, ops.SUB.code, ops.MUL.code, ops.DIV.code, ops.SQRT.code))
_CONVERSIONS: Final = frozenset((ops.CONVERT.code, ops.CONVERT_UNCHECKED.code))
#: The operations, by code, that there are sequences for.
EXPANDED: Final = _INTEGERS | _FLOATS | _CONVERSIONS | frozenset(FUSED)
#: The commands that make integers of floats, by bits of the float.
_FROM: Final = {32: "cvtf", 64: "cvtd"}


class Lacking:
    """The sequences of one processor.

    Args:
        processor: that one.
        substitutes: what stands for commands that it lacks.
        own: operations that the processor's own commands serve.
    """

    def __init__(self, processor: Processor, substitutes: dict[str, Substitute], own: dict[tuple[int, str], str]) -> None:
        self.processor = processor
        self.substitutes = substitutes
        self.own = own

    def has(self, mnemonic: str) -> bool:
        """Whether there is a command, by mnemonic with suffix, or a few that stand for it."""
        return self.processor.has(mnemonic) or mnemonic in self.substitutes

    def expand(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool | None:
        """Emit a sequence, as ``Target.expand``; None where the operation has a command, or no sequence."""
        code, type_ = instr.op.code, instr.type
        if code not in EXPANDED or type_.lanes:
            return None
        if code in _CONVERSIONS:
            return self.convert(f, instr, emit, late)
        if code in FUSED:
            # (The sequence for machines that round products and sums each for itself is made of sums of f64.)
            if self.serves(instr.op, type_) or self.serves(ops.ADD, F64):
                return None
            soft_floats.multiply_add(f, instr, FUSED[code], emit)
            return True
        if type_.is_float:
            return None if code not in _FLOATS or self.serves(instr.op, type_) else self.float(f, instr, emit, late)
        if code not in _INTEGERS or not type_.is_integer or self.serves(instr.op, type_):
            return None
        return self.integer(f, instr, emit, late)

    def serves(self, op: Op, type_: Type) -> bool:
        """Whether a command does an operation."""
        command = command_of(op, type_, self.own)
        return bool(command) and self.has(f"{command}_{suffix_of(type_)}")

    # --- integers ---------------------------------------------------------------------------------------------------------

    def integer(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool | None:
        op, type_ = instr.op, instr.type
        if op is ops.MUL_HIGH:
            if type_.bits < 64:
                sequences.high_of_wide_product(f, instr, emit)
            elif type_.signed or self.serves(op, I64):
                long_arithmetic.high_by_other_sign(f, instr, emit)
            else:
                long_arithmetic.high_by_parts(f, instr, emit)
            return True
        divides = op is not ops.MUL
        if divides and instr.args[1] < 0 and instr.imm != division.BARE:
            # By a constant: by its reciprocal.
            return None
        if type_.bits < 32:
            self.widened(f, instr, emit)
            return True
        if divides:
            return self.divide(f, instr, emit, late)
        if instr.args[0] < 0 <= instr.args[1]:
            instr = Instr(op, type_, instr.dst, [instr.args[1], instr.args[0]], 0, instr.line)
        if instr.args[1] < 0:
            long_arithmetic.multiply_by_constant(f, instr, emit)
            return True
        if late:
            long_arithmetic.multiply_by_steps(f, instr, emit)
        return late

    def widened(self, f: Function, instr: Instr, emit: Emit) -> None:
        """An operation on integers of 8 and 16 bits by one on 32."""
        type_ = instr.type
        wide = I32 if type_.signed else U32
        s = Steps(f, emit, instr.line, 0)
        args = [f.const(wide, int(f.const_values[~a])) if a < 0 else s.convert(wide, a, type_) for a in instr.args]
        s.convert(type_, s.op(instr.op, wide, *args), wide, into=instr.dst)

    def divide(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
        op, type_ = instr.op, instr.type
        if op is ops.REM_TRUNC:
            long_arithmetic.remainder_by_quotient(f, instr, emit)
        elif type_.signed:
            long_arithmetic.divide_by_unsigned(f, instr, emit)
        elif self.serves(op, I64):
            long_arithmetic.divide_by_signed(f, instr, emit)
        elif self.serves(ops.MUL, type_) and (self.serves(ops.MUL_HIGH, type_) or self.serves(ops.MUL, U64)):
            long_arithmetic.divide_by_reciprocal(f, instr, emit)
        else:
            if late:
                long_arithmetic.divide_by_steps(f, instr, emit)
            return late
        return True

    # --- floats -----------------------------------------------------------------------------------------------------------

    def float(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
        if instr.type is F32:
            soft_floats.by_way_of_double(f, instr, emit)
            return True
        if late or instr.op.code not in soft_floats.LOOPS:
            soft_floats.expand(f, instr, emit)
            return True
        return False

    def convert(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool | None:
        to, of = instr.type, instr.source
        if not (to.is_float or of.is_float) or to is of or not (to.is_float or to.is_integer):
            return None
        if of.is_float and to.is_float:
            if self.has("cvtf_d" if of is F32 else "cvtd_f"):
                return None
        elif of.is_float:
            if self.has(f"{_FROM[of.bits]}{'' if to.signed else 'u'}_{suffix_of(to)}"):
                return None
            if to is not I64 and self.has(f"{_FROM[of.bits]}_q"):
                return self.by_way_of_signed(f, instr, emit, late)
        else:
            if self.has(f"{'cvtuq' if of is U64 else 'cvtq'}_{suffix_of(to)}"):
                return None
            if of is U64 and self.has(f"cvtq_{suffix_of(to)}"):
                if late:
                    sequences.unsigned_to_float(f, instr, emit)
                return late
        soft_floats.convert(f, instr, emit)
        return True

    def by_way_of_signed(self, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
        """A float to an integer by way of a signed one of 64 bits, to which it is converted within its bounds."""
        if instr.type is U64:
            if late:
                sequences.float_to_unsigned(f, instr, emit)
            return late
        s = Steps(f, emit, instr.line, 0)
        s.op(ops.CONVERT_SATURATED, instr.type, s.op(ops.CONVERT, I64, instr.args[0], source=instr.source), into=instr.dst, source=I64)
        return True
