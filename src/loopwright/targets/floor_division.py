"""Floor division of floats, as NumPy has it, and their remainders: ``a // b`` is the floor of the exact quotient, as long as that has bits to spare; what division leaves is exact.

Any target's ``expand`` may use it, for scalars and for lanes, when instructions are selected: it has branches.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import BOOL, Type

__all__ = ["divide_floats"]

#: By bits of the float, the power of two up to which NumPy's quotient is the floor of the exact one. NumPy (npy_divmod) takes the exact remainder from a,
#: rounds that, divides by b, rounds again, and takes the nearest integer unless that is more than a half below: with a quotient k the first error is
#: k / 2**24 at most (k / 2**53), a quarter here, and the second no more than that.
_PLAIN: Final[dict[int, float]] = {32: 2.0**22, 64: 2.0**51}


def divide_floats(f: Function, instr: Instr, emit: Emit) -> None:
    """The sequence for ``div_floor``, ``rem_floor`` or ``rem_trunc`` of floats."""
    type_ = instr.type.element
    s = Steps(f, emit, instr.line, instr.type.lanes)
    a, b = [s.op(ops.COPY, type_, x) if x < 0 else x for x in instr.args]
    if instr.op is ops.DIV_FLOOR:
        _floor(s, type_, instr.dst, a, b)
    else:
        _left(s, type_, instr.dst, a, b, instr.op is ops.REM_FLOOR)


def _floor(s: Steps, type_: Type, into: int, a: int, b: int) -> None:
    """The floor of a quotient; exact where it is below 2**22 (2**51), above that what NumPy makes of it."""
    quotient = s.op(ops.DIV, type_, a, b)
    small = s.compare(ops.LT, type_, s.op(ops.ABS, type_, quotient), s.const(type_, _PLAIN[type_.bits]))
    plain = _plain(s, type_, a, b, quotient)
    result = s.variable(type_, plain)
    large = s.logic(ops.NOT, type_, small)
    s.bracket(ops.IF, s.any(type_, large), type_=BOOL)
    s.op(ops.SELECT, type_, small, plain, _large(s, type_, a, b, quotient, large), into=result)
    s.bracket(ops.END)
    s.op(ops.COPY, type_, result, into=into)


def _left(s: Steps, type_: Type, into: int, a: int, b: int, floor: bool) -> None:
    """What division leaves: of a quotient rounded towards zero exactly and with the sign of a, as C's ``fmod`` (C17, F.10.7.1); of the floor with that of b, as Python and NumPy have
    it: where the signs differ, what is missing from b, rounded. NaN of infinities, and by 0.

    It is computed of absolute values. The integer part of their rounded quotient is at most 1 too large while it has bits to spare; then what it leaves is negative, and as exact:
    a multiple of the last bit of one of both, and no larger than either.
    """
    zero = s.const(type_, 0.0)
    size, by = s.op(ops.ABS, type_, a), s.op(ops.ABS, type_, b)
    quotient = s.op(ops.DIV, type_, size, by)
    small = s.compare(ops.LT, type_, quotient, s.const(type_, _PLAIN[type_.bits]))
    whole = s.op(ops.TRUNC, type_, quotient)
    # (The product of 0 and infinity is none.)
    rest = s.op(ops.SELECT, type_, s.compare(ops.EQ, type_, whole, zero), size, s.op(ops.FNMA, type_, whole, by, size))
    rest = s.op(ops.SELECT, type_, s.compare(ops.LT, type_, rest, zero), s.op(ops.ADD, type_, rest, by), rest)
    result = s.variable(type_, rest)
    large = s.logic(ops.NOT, type_, small)
    s.bracket(ops.IF, s.any(type_, large), type_=BOOL)
    real = s.logic(ops.AND, type_, _finite(s, type_, size, by), large)
    exact = _remainder(s, type_, s.op(ops.SELECT, type_, real, size, zero), s.op(ops.SELECT, type_, real, by, s.const(type_, 1.0)))
    otherwise = s.op(ops.SELECT, type_, real, exact, s.const(type_, math.nan))
    s.op(ops.SELECT, type_, small, rest, otherwise, into=result)
    s.bracket(ops.END)
    if not floor:
        s.op(ops.COPY_SIGN, type_, result, a, into=into)
        return
    opposite = s.logic(ops.XOR, type_, s.compare(ops.LT, type_, a, zero), s.compare(ops.LT, type_, b, zero))
    missing = s.logic(ops.AND, type_, opposite, s.compare(ops.NE, type_, result, zero))
    s.op(ops.COPY_SIGN, type_, s.op(ops.SELECT, type_, missing, s.op(ops.SUB, type_, by, result), result), b, into=into)


def _finite(s: Steps, type_: Type, size: int, by: int) -> int:
    """Whether a quotient of absolute values has a remainder, unless the divisor is infinite."""
    return s.logic(ops.AND, type_, s.compare(ops.LT, type_, size, s.const(type_, math.inf)), s.compare(ops.GT, type_, by, s.const(type_, 0.0)))


def _one_if(s: Steps, type_: Type, condition: int) -> int:
    """1 where a condition holds, 0 elsewhere."""
    if s.lanes:
        return s.op(ops.SELECT, type_, condition, s.const(type_, 1.0), s.const(type_, 0.0))
    return s.convert(type_, condition, BOOL)


def _plain(s: Steps, type_: Type, a: int, b: int, quotient: int) -> int:
    """The floor of the rounded quotient, less 1 where that one was rounded up to a whole number.

    What it leaves of a tells, whose sign is exact (fused). A quotient of 0 leaves a itself, also where b is infinite.
    """
    zero = s.const(type_, 0.0)
    whole = s.op(ops.FLOOR, type_, quotient)
    rest = s.op(ops.SELECT, type_, s.compare(ops.EQ, type_, whole, zero), a, s.op(ops.FNMA, type_, whole, b, a))
    opposite = s.logic(ops.XOR, type_, s.compare(ops.LT, type_, rest, zero), s.compare(ops.LT, type_, b, zero))
    above = s.logic(ops.AND, type_, opposite, s.compare(ops.NE, type_, rest, zero))
    return s.op(ops.SUB, type_, whole, _one_if(s, type_, above))


def _large(s: Steps, type_: Type, a: int, b: int, quotient: int, large: int) -> int:
    """Of large quotients NumPy's steps one by one; of what has none (infinities, NaN, by 0) what division gives, NaN of an infinity by anything but 0."""
    zero, one = s.const(type_, 0.0), s.const(type_, 1.0)
    size, by = s.op(ops.ABS, type_, a), s.op(ops.ABS, type_, b)
    real = s.logic(ops.AND, type_, _finite(s, type_, size, by), large)
    rest = _remainder(s, type_, s.op(ops.SELECT, type_, real, size, zero), s.op(ops.SELECT, type_, real, by, one))
    exact = s.op(ops.DIV, type_, s.op(ops.SUB, type_, a, s.op(ops.COPY_SIGN, type_, rest, a)), b)
    opposite = s.logic(ops.XOR, type_, s.compare(ops.LT, type_, a, zero), s.compare(ops.LT, type_, b, zero))
    exact = s.op(ops.SUB, type_, exact, _one_if(s, type_, s.logic(ops.AND, type_, opposite, s.compare(ops.NE, type_, rest, zero))))
    whole = s.op(ops.FLOOR, type_, exact)
    up = s.compare(ops.GT, type_, s.op(ops.SUB, type_, exact, whole), s.const(type_, 0.5))
    whole = s.op(ops.ADD, type_, whole, _one_if(s, type_, up))
    # a - a is 0, or NaN of an infinity.
    otherwise = s.op(ops.ADD, type_, quotient, s.op(ops.SUB, type_, a, a))
    otherwise = s.op(ops.SELECT, type_, s.compare(ops.EQ, type_, b, zero), quotient, otherwise)
    return s.op(ops.SELECT, type_, real, whole, otherwise)


def _remainder(s: Steps, type_: Type, dividend: int, divisor: int) -> int:
    """What is left of a number that is not negative by one that is positive, exactly.

    The divisor is multiplied by a power of two until the quotient has bits to spare, and made smaller by that step by step. Each time the integer part of
    the rounded quotient, at most 1 more than that of the exact one, leaves less than one divisor, on either side of 0: a multiple of the last bit
    of the divisor or of the dividend, and so exact.
    """
    power = _PLAIN[type_.bits]
    up, down = s.const(type_, power), s.const(type_, 1.0 / power)
    scaled, rest = s.variable(type_, divisor), s.variable(type_, dividend)
    most = s.op(ops.MUL, type_, dividend, down)
    s.bracket(ops.LOOP)
    grows = s.compare(ops.LE, type_, scaled, most)
    s.op(ops.SELECT, type_, grows, s.op(ops.MUL, type_, scaled, up), scaled, into=scaled)
    s.bracket(ops.BR_IF, s.any(type_, grows), type_=BOOL)
    s.bracket(ops.END)
    s.bracket(ops.LOOP)
    times = s.op(ops.TRUNC, type_, s.op(ops.DIV, type_, rest, scaled))
    s.op(ops.FNMA, type_, times, scaled, rest, into=rest)
    more = s.compare(ops.GT, type_, scaled, divisor)
    s.op(ops.SELECT, type_, more, s.op(ops.MUL, type_, scaled, down), scaled, into=scaled)
    s.bracket(ops.BR_IF, s.any(type_, more), type_=BOOL)
    s.bracket(ops.END)
    below = s.compare(ops.LT, type_, rest, s.const(type_, 0.0))
    return s.op(ops.SELECT, type_, below, s.op(ops.ADD, type_, rest, divisor), rest)
