"""Multiply-adds of one rounding, on a machine that rounds products and sums each for itself.

The exact product is taken apart into two floats and the exact sum into three; of these the two lower ones are added with rounding to odd, which leaves a trace of everything that is cut off, so that
the last addition rounds as if it saw all of it (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
odd", IEEE Transactions on Computers 57, 2008). Floats of 32 bits have exact products in 64, and one addition does. Operands of 64 bits whose exponents lie so far out that parts
would overflow or lose bits are scaled by powers of two before, and the result back: a result below the normal numbers is rounded where its last bit will be.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import BOOL, F32, F64, I64, U64

__all__ = ["FUSED", "multiply_add"]

#: The operations, with the signs of the product and of what is added.
FUSED: Final[dict[int, tuple[bool, bool]]] = {
    ops.FMA.code: (False, False),
    ops.FMS.code: (False, True),
    ops.FNMA.code: (True, False),
    ops.FNMS.code: (True, True),
}
_FRACTION: Final = (1 << 52) - 1
_BIAS: Final = 1023
#: Factors from 2**-400 to 2**400 have products in two parts without loss; what is added to them is 0 or from 2**-900 to 2**900.
_FACTORS: Final = 400
_ADDED: Final = 900
#: T. J. Dekker's splitting of 53 bits ("A floating-point technique for extending the available precision", 1971).
_SPLIT: Final = 2.0**27 + 1
#: What is so many binary digits above a product of two numbers from 1 to 2 is the sum with it, rounded; what is so many below only says that there is more.
_ABOVE: Final = 70
_BELOW: Final = 110


def multiply_add(f: Function, instr: Instr, emit: Emit) -> None:
    """The sequence for ``fma`` and its kin, scalars of f32 or f64; it may have branches."""
    type_ = instr.type
    s = Steps(f, emit, instr.line, 0)
    a, b, c = instr.args
    minus, less = FUSED[instr.op.code]
    if minus:
        a = s.op(ops.NEG, type_, a)
    if less:
        c = s.op(ops.NEG, type_, c)
    if type_ is F32:
        wide = [s.convert(F64, each, F32) for each in (a, b, c)]
        s.convert(F32, _odd_sum(s, s.op(ops.MUL, F64, wide[0], wide[1]), wide[2]), F64, into=instr.dst)
    else:
        _double(s, a, b, c, instr.dst)


# --- sums -----------------------------------------------------------------------------------------------------------------


def _sum(s: Steps, a: int, b: int) -> tuple[int, int]:
    """A sum and what its rounding has taken away (D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B)."""
    made = s.op(ops.ADD, F64, a, b)
    of_b = s.op(ops.SUB, F64, made, a)
    of_a = s.op(ops.SUB, F64, made, of_b)
    return made, s.op(ops.ADD, F64, s.op(ops.SUB, F64, a, of_a), s.op(ops.SUB, F64, b, of_b))


def _odd_sum(s: Steps, a: int, b: int) -> int:
    """A sum rounded to odd: where it is not exact, that of the two floats around it whose last bit is 1. (The error of an infinity or a NaN is NaN, which is not different from 0 here.)"""
    made, error = _sum(s, a, b)
    zero = s.const(F64, 0.0)
    above, below = s.compare(ops.GT, F64, error, zero), s.compare(ops.LT, F64, error, zero)
    bits = s.cast(I64, made, F64)
    even = s.compare(ops.EQ, I64, s.op(ops.AND, I64, bits, s.const(I64, 1)), s.const(I64, 0))
    inexact = s.logic(ops.AND, F64, even, s.logic(ops.OR, F64, above, below))
    # Away from 0 where the error has the sum's sign.
    negative = s.compare(ops.LT, I64, bits, s.const(I64, 0))
    towards = s.convert(I64, s.logic(ops.XOR, F64, above, negative), BOOL)
    step = s.op(ops.SUB, I64, s.op(ops.ADD, I64, towards, towards), s.const(I64, 1))
    moved = s.op(ops.AND, I64, step, s.op(ops.NEG, I64, s.convert(I64, inexact, BOOL)))
    return s.cast(F64, s.op(ops.ADD, I64, bits, moved), I64)


def _product(s: Steps, a: int, b: int) -> tuple[int, int]:
    """A product and what its rounding has taken away (Dekker 1971)."""
    made = s.op(ops.MUL, F64, a, b)
    (a_high, a_low), (b_high, b_low) = _halves(s, a), _halves(s, b)
    error = s.op(ops.SUB, F64, s.op(ops.MUL, F64, a_high, b_high), made)
    error = s.op(ops.ADD, F64, error, s.op(ops.MUL, F64, a_high, b_low))
    error = s.op(ops.ADD, F64, error, s.op(ops.MUL, F64, a_low, b_high))
    return made, s.op(ops.ADD, F64, error, s.op(ops.MUL, F64, a_low, b_low))


def _halves(s: Steps, a: int) -> tuple[int, int]:
    times = s.op(ops.MUL, F64, a, s.const(F64, _SPLIT))
    high = s.op(ops.SUB, F64, times, s.op(ops.SUB, F64, times, a))
    return high, s.op(ops.SUB, F64, a, high)


# --- 64 bits ---------------------------------------------------------------------------------------------------------------


def _double(s: Steps, a: int, b: int, c: int, into: int) -> None:
    exponents = [_exponent(s, each) for each in (a, b, c)]
    near = [_within(s, at, most) for at, most in zip(exponents, (_FACTORS, _FACTORS, _ADDED), strict=True)]
    nothing = s.compare(ops.EQ, F64, c, s.const(F64, 0.0))
    usual = s.logic(ops.AND, F64, s.logic(ops.AND, F64, near[0], near[1]), s.logic(ops.OR, F64, near[2], nothing))
    x, y, z = [s.variable(F64, each) for each in (a, b, c)]
    scale = s.variable(I64, s.const(I64, 0))
    far = s.logic(ops.NOT, F64, usual)
    s.bracket(ops.IF, far, type_=BOOL)
    _scaled(s, (x, y, z), scale)
    s.bracket(ops.END)
    high, low = _product(s, x, y)
    above, below = _sum(s, z, low)
    first, rest = _sum(s, high, above)
    second = _odd_sum(s, below, rest)
    result = s.variable(F64, s.op(ops.ADD, F64, first, second))
    s.bracket(ops.IF, far, type_=BOOL)
    _scaled_back(s, result, (first, second), scale)
    # Of infinite factors, NaN, and products of 0 both roundings are right; a product of numbers leaves an infinity what it is, even if its rounding overflows.
    factors, added = s.logic(ops.AND, F64, _finite(s, a), _finite(s, b)), _finite(s, c)
    product = s.op(ops.MUL, F64, a, b)
    otherwise = s.op(ops.SELECT, F64, s.logic(ops.ANDNOT, F64, added, factors), c, s.op(ops.ADD, F64, product, c))
    real = s.logic(ops.AND, F64, s.logic(ops.AND, F64, factors, added), s.logic(ops.AND, F64, _not_zero(s, a), _not_zero(s, b)))
    s.op(ops.SELECT, F64, real, result, otherwise, into=result)
    s.bracket(ops.END)
    s.op(ops.COPY, F64, result, into=into)


def _exponent(s: Steps, a: int) -> int:
    """The exponent's field, an i64."""
    bits = s.cast(U64, a, F64)
    field = s.op(ops.AND, U64, s.shifted(U64, bits, 52), s.const(U64, 0x7FF))
    return s.cast(I64, field, U64)


def _within(s: Steps, exponent: int, most: int) -> int:
    """Whether an exponent is between -most and most."""
    moved = s.op(ops.SUB, I64, exponent, s.const(I64, _BIAS - most))
    return s.compare(ops.LE, U64, s.cast(U64, moved, I64), s.const(U64, 2 * most))


def _finite(s: Steps, a: int) -> int:
    """Whether it is no infinity and no NaN."""
    return s.compare(ops.LT, F64, s.op(ops.ABS, F64, a), s.const(F64, math.inf))


def _not_zero(s: Steps, a: int) -> int:
    return s.compare(ops.GT, F64, s.op(ops.ABS, F64, a), s.const(F64, 0.0))


def _power(s: Steps, exponent: int) -> int:
    """2 to the power of an i64 from -1022 to 1023."""
    return s.cast(F64, s.op(ops.SHL, I64, s.op(ops.ADD, I64, exponent, s.const(I64, _BIAS)), s.const(I64, 52)), I64)


def _parts(s: Steps, a: int) -> tuple[int, int]:
    """A number that is not 0 as one from 1 to 2, with its sign, and the power of two that it is times as large."""
    tiny = s.compare(ops.LT, F64, s.op(ops.ABS, F64, a), s.const(F64, 2.0**-1022))
    normal = s.op(ops.SELECT, F64, tiny, s.op(ops.MUL, F64, a, s.const(F64, 2.0**54)), a)
    lifted = s.op(ops.MUL, I64, s.convert(I64, tiny, BOOL), s.const(I64, 54))
    power = s.op(ops.SUB, I64, s.op(ops.SUB, I64, _exponent(s, normal), s.const(I64, _BIAS)), lifted)
    bits = s.op(ops.AND, I64, s.cast(I64, normal, F64), s.const(I64, _FRACTION - (1 << 63)))
    return s.cast(F64, s.op(ops.OR, I64, bits, s.const(I64, _BIAS << 52)), I64), power


def _scaled(s: Steps, operands: tuple[int, int, int], scale: int) -> None:
    """Factors from 1 to 2, and what is added to them in proportion; the power of two by which the sum of theirs is to be multiplied."""
    x, y, z = operands
    (first, of_first), (second, of_second), (third, of_third) = _parts(s, x), _parts(s, y), _parts(s, z)
    zero = s.compare(ops.EQ, F64, z, s.const(F64, 0.0))
    of_product = s.op(ops.ADD, I64, of_first, of_second)
    # What is added may be all of the result that counts.
    s.op(ops.MAX, I64, of_product, s.op(ops.SUB, I64, of_third, s.const(I64, _ABOVE)), into=scale)
    s.op(ops.SELECT, I64, zero, of_product, scale, into=scale)
    distance = s.op(ops.MAX, I64, s.op(ops.SUB, I64, of_third, scale), s.const(I64, -_BELOW))
    s.op(ops.COPY, F64, first, into=x)
    s.op(ops.COPY, F64, second, into=y)
    s.op(ops.SELECT, F64, zero, z, s.op(ops.MUL, F64, third, _power(s, distance)), into=z)


def _scaled_back(s: Steps, result: int, parts: tuple[int, int], scale: int) -> None:
    """The result times its power of two. One below the normal numbers is rounded again, from its parts, by adding a number with the last bit that it will have."""
    # Beyond these bounds it is 0 or infinite.
    bound = s.op(ops.MIN, I64, s.op(ops.MAX, I64, scale, s.const(I64, -1300)), s.const(I64, 1100))
    reached = s.op(ops.ADD, I64, _exponent(s, result), bound)
    small = s.compare(ops.LT, I64, reached, s.const(I64, 1))
    grid = s.op(ops.MIN, I64, s.op(ops.SUB, I64, s.const(I64, 52 - 1074), bound), s.const(I64, 1000))
    size = s.op(ops.SELECT, F64, small, _power(s, s.op(ops.MAX, I64, grid, s.const(I64, -1000))), s.const(F64, 0.0))
    large = s.op(ops.COPY_SIGN, F64, size, result)
    upper, left = _sum(s, large, parts[0])
    rounded = s.op(ops.SUB, F64, s.op(ops.ADD, F64, upper, _odd_sum(s, left, parts[1])), large)
    # (In two steps: the power itself may be too large, or too small, for a float. Both are exact, but for an overflow.)
    half = s.op(ops.SHR, I64, bound, s.const(I64, 1))
    rounded = s.op(ops.MUL, F64, rounded, _power(s, half))
    rounded = s.op(ops.MUL, F64, rounded, _power(s, s.op(ops.SUB, I64, bound, half)))
    s.op(ops.COPY_SIGN, F64, rounded, result, into=result)
