"""Products and quotients of integers on machines without an instruction for them.

A machine that has the upper half of a product divides by the divisor's reciprocal, without branches, so that what does not change in a loop is moved out of it. Where products
themselves take long, quotients are made bit by bit. Any target's ``expand`` may use these sequences, for scalars of 32 and 64 bits.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.integer_sequences import unsigned
from loopwright.targets.steps import Emit, Steps
from loopwright.types import BOOL, I64, SIGNED, U64, UNSIGNED, Type

__all__ = [
    "divide_by_reciprocal",
    "divide_by_signed",
    "divide_by_steps",
    "divide_by_unsigned",
    "high_by_other_sign",
    "high_by_parts",
    "multiply_by_constant",
    "multiply_by_steps",
    "remainder_by_quotient",
]


def _held(s: Steps, type_: Type, operand: int) -> int:
    """An operand in a register."""
    return s.op(ops.COPY, type_, operand) if operand < 0 else operand


# --- products ---------------------------------------------------------------------------------------------------------


def multiply_by_constant(f: Function, instr: Instr, emit: Emit) -> None:
    """A product with a constant, its second operand, by sums and differences of shifted numbers: of the digits 1, 0 and -1 no two neighbours are other than 0 (G. W. Reitwiesner,
    "Binary arithmetic", 1960)."""
    type_ = instr.type
    s = Steps(f, emit, instr.line, 0)
    a = instr.args[0]
    factor = int(f.const_values[~instr.args[1]]) & (1 << type_.bits) - 1
    terms: list[tuple[int, bool]] = []
    place = 0
    while factor and place < type_.bits:
        if factor & 1:
            minus = factor & 3 == 3
            terms.append((place, minus))
            factor += 1 if minus else -1
        factor >>= 1
        place += 1
    total: int | None = None
    for place, minus in sorted(terms, key=lambda term: term[1]):
        term = s.op(ops.SHL, type_, a, s.const(type_, place)) if place else a
        if total is None:
            total = s.op(ops.NEG, type_, term) if minus else term
            continue
        total = s.op(ops.SUB if minus else ops.ADD, type_, total, term)
    s.op(ops.COPY, type_, total if total is not None else s.const(type_, 0), into=instr.dst)


def multiply_by_steps(f: Function, instr: Instr, emit: Emit) -> None:
    """A product as the sum of what one factor is, shifted, for each bit of the other one; it has branches."""
    type_ = instr.type
    u = UNSIGNED[type_.bits]
    s = Steps(f, emit, instr.line, 0)
    a, b = [unsigned(s, type_, x) for x in instr.args]
    term, left = s.variable(u, a), s.variable(u, b)
    total = s.variable(u, s.const(u, 0))
    one = s.const(u, 1)
    s.bracket(ops.LOOP)
    taken = s.op(ops.AND, u, term, s.op(ops.NEG, u, s.op(ops.AND, u, left, one)))
    s.op(ops.ADD, u, total, taken, into=total)
    s.op(ops.ADD, u, term, term, into=term)
    s.op(ops.SHR, u, left, one, into=left)
    s.bracket(ops.BR_IF, s.compare(ops.NE, u, left, s.const(u, 0)), type_=BOOL)
    s.bracket(ops.END)
    s.cast(type_, total, u, into=instr.dst) if type_.signed else s.op(ops.COPY, type_, total, into=instr.dst)


def high_by_other_sign(f: Function, instr: Instr, emit: Emit) -> None:
    """The upper half of a product of signed integers by that of unsigned ones, or the other way round: a number whose top bit is set is 2**n less, or more, for which the other
    factor is taken away, or added."""
    type_ = instr.type
    bits = type_.bits
    other = UNSIGNED[bits] if type_.signed else SIGNED[bits]
    s = Steps(f, emit, instr.line, 0)
    a, b = [_held(s, type_, x) for x in instr.args]
    high = s.cast(type_, s.op(ops.MUL_HIGH, other, s.cast(other, a, type_), s.cast(other, b, type_)), other)
    op = ops.SUB if type_.signed else ops.ADD
    for x, y in ((a, b), (b, a)):
        sign = s.shifted(SIGNED[bits], x if type_.signed else s.cast(other, x, type_), bits - 1)
        masked = s.op(ops.AND, type_, sign if type_.signed else s.cast(type_, sign, other), y)
        high = s.op(op, type_, high, masked)
    s.op(ops.COPY, type_, high, into=instr.dst)


def high_by_parts(f: Function, instr: Instr, emit: Emit) -> None:
    """The upper half of a product of unsigned integers of 64 bits by the four products of their halves, from the lowest up (D. E. Knuth, *The Art of Computer Programming*, volume 2,
    4.3.1, algorithm M)."""
    s = Steps(f, emit, instr.line, 0)
    low = s.const(U64, (1 << 32) - 1)
    a, b = [_held(s, U64, x) for x in instr.args]
    (a_upper, a_lower), (b_upper, b_lower) = [(s.shifted(U64, x, 32), s.op(ops.AND, U64, x, low)) for x in (a, b)]
    first = s.op(ops.ADD, U64, s.op(ops.MUL, U64, a_upper, b_lower), s.shifted(U64, s.op(ops.MUL, U64, a_lower, b_lower), 32))
    second = s.op(ops.ADD, U64, s.op(ops.MUL, U64, a_lower, b_upper), s.op(ops.AND, U64, first, low))
    upper = s.op(ops.ADD, U64, s.op(ops.MUL, U64, a_upper, b_upper), s.shifted(U64, first, 32))
    s.op(ops.ADD, U64, upper, s.shifted(U64, second, 32), into=instr.dst)


# --- quotients ----------------------------------------------------------------------------------------------------------


def remainder_by_quotient(f: Function, instr: Instr, emit: Emit) -> None:
    """``rem_trunc``: what the quotient, times the divisor, leaves of the dividend; 0 where the divisor is 0."""
    type_ = instr.type
    s = Steps(f, emit, instr.line, 0)
    a, b = [_held(s, type_, x) for x in instr.args]
    zero = s.const(type_, 0)
    rest = s.op(ops.SUB, type_, a, s.op(ops.MUL, type_, s.op(ops.DIV_TRUNC, type_, a, b), b))
    s.op(ops.SELECT, type_, s.compare(ops.NE, type_, b, zero), rest, zero, into=instr.dst)


def divide_by_unsigned(f: Function, instr: Instr, emit: Emit) -> None:
    """``div_trunc`` of signed integers by that of their absolute values. (That of the least one is right as an unsigned number, and so is its quotient by -1, which wraps.)"""
    type_ = instr.type
    bits = type_.bits
    u = UNSIGNED[bits]
    s = Steps(f, emit, instr.line, 0)
    signs: list[int] = []
    sizes: list[int] = []
    for x in instr.args:
        x = _held(s, type_, x)
        sign = s.shifted(type_, x, bits - 1)
        signs.append(sign)
        sizes.append(s.cast(u, s.op(ops.SUB, type_, s.op(ops.XOR, type_, x, sign), sign), type_))
    sign = s.op(ops.XOR, type_, *signs)
    quotient = s.cast(type_, s.op(ops.DIV_TRUNC, u, *sizes), u)
    s.op(ops.SUB, type_, s.op(ops.XOR, type_, quotient, sign), sign, into=instr.dst)


def divide_by_signed(f: Function, instr: Instr, emit: Emit) -> None:
    """``div_trunc`` of unsigned integers by that of signed ones of 64 bits (H. S. Warren, *Hacker's Delight*, 2nd edition, section 9-3): of 64 bits half the dividend is divided, and the
    quotient doubled."""
    u = instr.type
    s = Steps(f, emit, instr.line, 0)
    if u.bits < 64:
        wide = [s.const(I64, int(f.const_values[~x])) if x < 0 else s.convert(I64, x, u) for x in instr.args]
        s.convert(u, s.op(ops.DIV_TRUNC, I64, *wide), I64, into=instr.dst)
        return
    a, b = [_held(s, u, x) for x in instr.args]
    zero, one = s.const(u, 0), s.const(u, 1)
    half = s.op(ops.DIV_TRUNC, I64, s.cast(I64, s.shifted(u, a, 1), u), s.cast(I64, b, u))
    quotient = s.op(ops.SHL, u, s.cast(u, half, I64), one)
    rest = s.op(ops.SUB, u, a, s.op(ops.MUL, u, quotient, b))
    quotient = s.op(ops.ADD, u, quotient, s.convert(u, s.compare(ops.GE, u, rest, b), BOOL))
    # By a divisor with its top bit set it is 0 or 1.
    large = s.compare(ops.LT, I64, s.cast(I64, b, u), s.const(I64, 0))
    quotient = s.op(ops.SELECT, u, large, s.convert(u, s.compare(ops.GE, u, a, b), BOOL), quotient)
    s.op(ops.SELECT, u, s.compare(ops.NE, u, b, zero), quotient, zero, into=instr.dst)


#: How often the reciprocal's digits are doubled: from 4 bits to more than the width.
_DOUBLED: Final = {32: 3, 64: 4}


def divide_by_reciprocal(f: Function, instr: Instr, emit: Emit) -> None:
    """``div_trunc`` of unsigned integers by the reciprocal of the divisor, which Newton's iteration finds.

    The divisor, shifted until its top bit is set, is a number d from 1/2 to 1. Its reciprocal x has one bit before the point and the others behind it. 48/17 - 32/17 d is off by a
    seventeenth at most, and x (2 - d x) is off by the square of that, and below: each step is cut so that it stays below. In the end x is short by five of its last bits
    at most, and the quotient by six at most, where the divisor is small. What it leaves of the dividend is divided once more, after which it is short by 1 at most.
    """
    u = instr.type
    bits = u.bits
    s = Steps(f, emit, instr.line, 0)
    a, b = [_held(s, u, x) for x in instr.args]
    zeros = s.op(ops.LEADING_ZEROS, u, b)
    d = s.op(ops.SHL_MODULO, u, b, zeros)
    # (The difference is below 2**bits, what it is taken from is not.)
    start = s.const(u, (48 << bits - 1) // 17 & (1 << bits) - 1)
    x = s.op(ops.SUB, u, start, s.op(ops.MUL_HIGH, u, d, s.const(u, (32 << bits - 1) // 17)))
    for _ in range(_DOUBLED[bits]):
        left = s.op(ops.NOT, u, s.op(ops.MUL_HIGH, u, d, x))
        x = s.op(ops.SHL, u, s.op(ops.MUL_HIGH, u, x, left), s.const(u, 1))
    back = s.op(ops.SUB, u, s.const(u, bits - 1), zeros)

    def estimated(value: int) -> int:
        return s.op(ops.SHR_MODULO, u, s.op(ops.MUL_HIGH, u, value, x), back)

    quotient = estimated(a)
    rest = s.op(ops.SUB, u, a, s.op(ops.MUL, u, quotient, b))
    more = estimated(rest)
    rest = s.op(ops.SUB, u, rest, s.op(ops.MUL, u, more, b))
    last = s.convert(u, s.compare(ops.GE, u, rest, b), BOOL)
    quotient = s.op(ops.ADD, u, s.op(ops.ADD, u, quotient, more), last)
    zero = s.const(u, 0)
    s.op(ops.SELECT, u, s.compare(ops.NE, u, b, zero), quotient, zero, into=instr.dst)


def divide_by_steps(f: Function, instr: Instr, emit: Emit) -> None:
    """``div_trunc`` of unsigned integers bit by bit, from the highest one that the quotient may have; it has branches."""
    u = instr.type
    signed = SIGNED[u.bits]
    s = Steps(f, emit, instr.line, 0)
    a, b = [_held(s, u, x) for x in instr.args]
    zero, one = s.const(u, 0), s.const(u, 1)
    apart = s.op(ops.SUB, u, s.op(ops.LEADING_ZEROS, u, b), s.op(ops.LEADING_ZEROS, u, a))
    places = s.cast(u, s.op(ops.MAX, signed, s.cast(signed, apart, u), s.const(signed, 0)), signed)
    left = s.variable(u, places)
    divisor = s.variable(u, s.op(ops.SHL_MODULO, u, b, places))
    rest, quotient = s.variable(u, a), s.variable(u, zero)
    s.bracket(ops.LOOP)
    taken = s.convert(u, s.compare(ops.GE, u, rest, divisor), BOOL)
    s.op(ops.SUB, u, rest, s.op(ops.AND, u, divisor, s.op(ops.NEG, u, taken)), into=rest)
    s.op(ops.ADD, u, s.op(ops.ADD, u, quotient, quotient), taken, into=quotient)
    s.op(ops.SHR, u, divisor, one, into=divisor)
    more = s.compare(ops.NE, u, left, zero)
    s.op(ops.SUB, u, left, one, into=left)
    s.bracket(ops.BR_IF, more, type_=BOOL)
    s.bracket(ops.END)
    s.op(ops.SELECT, u, s.compare(ops.NE, u, b, zero), quotient, zero, into=instr.dst)
