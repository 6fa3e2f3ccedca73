"""Integer operations on lanes by those on wider ones: division by what is not known while compiling, in floats, and products of bytes.

A quotient of integers of n bits that is none itself differs from the next integer, k, by 1/b at least; and k * b is at most 2**(n + 1). That is more than floats
of n + 2 digits round away: those of f32, 24, serve integers of 16 bits, and those of f64, 53, such of 32.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, F64, I16, I32, SIGNED, U16, U32, U64, UNSIGNED, Type

__all__ = ["divide", "multiply_high_bytes"]

_REMAINDERS: Final = (ops.REM_TRUNC, ops.REM_FLOOR)
_FLOORS: Final = (ops.DIV_FLOOR, ops.REM_FLOOR)

#: The bits of 2**52 as f64: an integer of 32 bits put below them is added to it.
_TO_52: Final = 0x4330000000000000


class _Wider(Steps):
    """Operations on lanes twice as wide, made of the operands of an instruction: as many of them, or where these have no room every other one at a time.

    Attributes:
        instr: the instruction.
        parts: which lanes are done at a time: all, or first the even ones, then the odd ones.
    """

    __slots__ = ("instr", "parts")

    def __init__(self, target: Any, f: Function, instr: Instr, emit: Emit) -> None:
        together = 2 * instr.type.size * 8 <= target.vector_bits
        super().__init__(f, emit, instr.line, instr.type.lanes if together else instr.type.lanes // 2)
        self.instr = instr
        self.parts = ("all",) if together else ("even", "odd")

    def taken(self, part: str, wide: Type, x: int) -> int:
        """Lanes of an operand as wider integers, extended as their type says."""
        type_ = self.instr.type
        bits = type_.bits
        if x < 0:
            return self.f.const(self.of(wide), self.f.const_values[~x])
        if part == "all":
            narrow = type_.element
            if wide.signed != type_.signed:
                narrow = SIGNED[bits] if wide.signed else UNSIGNED[bits]
                x = self.cast(narrow, x, type_.element)
            return self.convert(wide, x, narrow)
        both = self.f.register(self.of(wide))
        self.emit(Instr(ops.BITCAST, self.of(wide), both, [x], 0, self.line, type_))
        if part == "odd":
            return self.shifted(wide, both, bits)
        if wide.signed:
            return self.shifted(wide, self.op(ops.SHL, wide, both, self.const(wide, bits)), bits)
        return self.op(ops.AND, wide, both, self.const(wide, (1 << bits) - 1))

    def put(self, wide: Type, results: list[int]) -> None:
        """The lower halves of wide lanes as the result."""
        instr = self.instr
        type_ = instr.type
        if len(results) == 1:
            self.convert(type_.element, results[0], wide, instr.dst)
            return
        bits = type_.bits
        low = self.op(ops.AND, wide, results[0], self.const(wide, (1 << bits) - 1))
        whole = self.op(ops.OR, wide, low, self.op(ops.SHL, wide, results[1], self.const(wide, bits)))
        self.emit(Instr(ops.BITCAST, type_, instr.dst, [whole], 0, self.line, self.of(wide)))


def divide(target: Any, f: Function, instr: Instr, emit: Emit) -> None:
    """A division or remainder of lanes of 8, 16 or 32 bits.

    A divisor of 0 makes an infinity or NaN of the quotient, and these become 0 in the bits that are kept.
    """
    s = _Wider(target, f, instr, emit)
    type_ = instr.type
    if type_.bits == 8:
        wide = I16 if type_.signed else U16
        s.put(wide, [s.op(instr.op, wide, *[s.taken(part, wide, x) for x in instr.args]) for part in s.parts])
    elif type_.bits == 16:
        # What is no number becomes the least i32, which ends in 16 zeros.
        s.put(I32, [s.op(ops.CONVERT_UNCHECKED, I32, _whole(s, F32, instr.op, [_single(s, part, x) for x in instr.args]), source=F32) for part in s.parts])
    else:
        # Added to these, a number has its last 32 bits there; those of infinities and NaN are zeros.
        base = s.const(F64, 2.0**52 + 2.0**51)
        sums = [s.op(ops.ADD, F64, _whole(s, F64, instr.op, [_double(s, part, x) for x in instr.args]), base) for part in s.parts]
        s.put(U64, [s.cast(U64, x, F64) for x in sums])


def _whole(s: Steps, type_: Type, op: Op, operands: list[int]) -> int:
    """The quotient of two floats, without its fraction, or what that leaves of the first."""
    a, b = operands
    quotient = s.op(ops.FLOOR if op in _FLOORS else ops.TRUNC, type_, s.op(ops.DIV, type_, a, b))
    return s.op(ops.FNMA, type_, quotient, b, a) if op in _REMAINDERS else quotient


def _single(s: _Wider, part: str, x: int) -> int:
    """Lanes of 16 bits as f32."""
    if x < 0:
        return s.const(F32, float(s.f.const_values[~x]))
    wide = I32 if s.instr.type.signed else U32
    taken = s.taken(part, wide, x)
    return s.convert(F32, taken if wide is I32 else s.cast(I32, taken, U32), I32)


def _double(s: _Wider, part: str, x: int) -> int:
    """Lanes of 32 bits as f64, by their bits: put below those of 2**52 they are added to it, with the sign bit flipped 2**31 more."""
    if x < 0:
        return s.const(F64, float(s.f.const_values[~x]))
    flipped = 1 << 31 if s.instr.type.signed else 0
    above = s.op(ops.XOR, U64, s.taken(part, U64, x), s.const(U64, _TO_52 | flipped))
    return s.op(ops.SUB, F64, s.cast(F64, above, U64), s.const(F64, 2.0**52 + flipped))


def multiply_high_bytes(target: Any, f: Function, instr: Instr, emit: Emit) -> None:
    """The upper halves of products of bytes, by products of 16 bits."""
    s = _Wider(target, f, instr, emit)
    wide = I16 if instr.type.signed else U16
    s.put(wide, [s.shifted(wide, s.op(ops.MUL, wide, *[s.taken(part, wide, x) for x in instr.args]), 8) for part in s.parts])
