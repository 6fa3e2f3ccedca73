"""Sequences that stand for operations few machines have: division as Python and NumPy mean it, narrow integers, conversions that saturate.

Any target's ``expand`` may use them. What they emit goes straight to the target's rules, and from ``expand_early`` through the
simplifying passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import BOOL, I32, I64, U64, VOID, Type, limits

Emit = Callable[[Instr], None]


def bracket(op: ops.Op, line: int) -> Instr:
    """A bracket without operands."""
    return Instr(op, VOID, NONE, [], 0, line)


def constant(f: Function, type_: Type, value: int | float | bool, emit: Emit, line: int) -> int:
    """A register with a constant."""
    r = f.register(type_)
    emit(Instr(ops.COPY, type_, r, [f.const(type_, value)], 0, line))
    return r


def divide(f: Function, instr: Instr, emit: Emit) -> None:
    """An integer division or remainder, by truncation or floor, that never traps.

    A divisor of zero gives 0, as in NumPy; the most negative integer divided by -1 wraps to itself. The target's rules
    for ``div_trunc`` and ``rem_trunc`` are the bare machine instructions and meet neither case.
    """
    op, type_, line = instr.op, instr.type, instr.line
    a, b = instr.args
    floor = op is ops.DIV_FLOOR or op is ops.REM_FLOOR
    remainder = op is ops.REM_TRUNC or op is ops.REM_FLOOR
    if b < 0:
        _divide_by_constant(f, instr, a, int(f.const_values[~b]), floor, remainder, emit)
        return
    if a < 0:
        a = constant(f, type_, f.const_values[~a], emit, line)
    result = f.register(type_, "", True)
    emit(Instr(ops.COPY, type_, result, [f.const(type_, 0)], 0, line))
    emit(Instr(ops.IF_CMP["ne"], type_, NONE, [b, f.const(type_, 0)], 0, line))
    if type_.signed:
        emit(Instr(ops.IF_CMP["eq"], type_, NONE, [b, f.const(type_, -1)], 0, line))
        if not remainder:
            emit(Instr(ops.NEG, type_, result, [a], 0, line))
        emit(bracket(ops.ELSE, line))
        _quotient(f, type_, result, a, b, floor, remainder, emit, line)
        emit(bracket(ops.END, line))
    else:
        _quotient(f, type_, result, a, b, False, remainder, emit, line)
    emit(bracket(ops.END, line))
    emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))


def divide_narrow(f: Function, instr: Instr, emit: Emit) -> None:
    """As ``divide``, for 8- and 16-bit integers, which registers hold extended to 32 bits."""
    type_, line = instr.type, instr.line
    args = [f.const(I32, int(f.const_values[~a])) if a < 0 else a for a in instr.args]
    wide = f.register(I32)
    divide(f, Instr(instr.op, I32, wide, args, 0, line), emit)
    emit(Instr(ops.CONVERT, type_, instr.dst, [wide], 0, line, I32))


def _quotient(f: Function, type_: Type, result: int, a: int, b: int, floor: bool, remainder: bool, emit: Emit, line: int) -> None:
    """The division proper, into the variable ``result``."""
    if not floor or not type_.signed:
        emit(Instr(ops.REM_TRUNC if remainder else ops.DIV_TRUNC, type_, result, [a, b], 0, line))
        return
    zero = f.const(type_, 0)
    if remainder:
        emit(Instr(ops.REM_TRUNC, type_, result, [a, b], 0, line))
        rest = result
    else:
        emit(Instr(ops.DIV_TRUNC, type_, result, [a, b], 0, line))
        product = f.register(type_)
        rest = f.register(type_)
        emit(Instr(ops.MUL, type_, product, [result, b], 0, line))
        emit(Instr(ops.SUB, type_, rest, [a, product], 0, line))
    # A remainder whose sign differs from the divisor's: one step further down.
    signs = f.register(type_)
    emit(Instr(ops.IF_CMP["ne"], type_, NONE, [rest, zero], 0, line))
    emit(Instr(ops.XOR, type_, signs, [rest, b], 0, line))
    emit(Instr(ops.IF_CMP["lt"], type_, NONE, [signs, zero], 0, line))
    if remainder:
        emit(Instr(ops.ADD, type_, result, [result, b], 0, line))
    else:
        emit(Instr(ops.SUB, type_, result, [result, f.const(type_, 1)], 0, line))
    emit(bracket(ops.END, line))
    emit(bracket(ops.END, line))


def _divide_by_constant(f: Function, instr: Instr, a: int, b: int, floor: bool, remainder: bool, emit: Emit) -> None:
    type_, line, dst = instr.type, instr.line, instr.dst
    if a < 0:
        a = constant(f, type_, f.const_values[~a], emit, line)
    if b == 0 or (remainder and b in (1, -1)):
        emit(Instr(ops.COPY, type_, dst, [f.const(type_, 0)], 0, line))
    elif b == 1:
        emit(Instr(ops.COPY, type_, dst, [a], 0, line))
    elif b == -1 and type_.signed:
        emit(Instr(ops.NEG, type_, dst, [a], 0, line))
    elif b > 0 and b & (b - 1) == 0 and (floor or not type_.signed):
        # Arithmetic shifts round down, and masking keeps the sign of the divisor.
        mask = b - 1
        if remainder and mask >= 1 << 31:
            emit(Instr(ops.AND, type_, dst, [a, constant(f, type_, mask, emit, line)], 0, line))
        elif remainder:
            emit(Instr(ops.AND, type_, dst, [a, f.const(type_, mask)], 0, line))
        else:
            emit(Instr(ops.SHR, type_, dst, [a, f.const(type_, b.bit_length() - 1)], 0, line))
    else:
        divisor = constant(f, type_, b, emit, line)
        result = f.register(type_, "", True)
        _quotient(f, type_, result, a, divisor, floor, remainder, emit, line)
        emit(Instr(ops.COPY, type_, dst, [result], 0, line))


def select_by_branch(f: Function, instr: Instr, emit: Emit) -> None:
    """A choice between two values by a branch."""
    c, a, b = instr.args
    type_, line = instr.type, instr.line
    result = f.register(type_, "", True)
    emit(Instr(ops.COPY, type_, result, [b], 0, line))
    emit(Instr(ops.IF, BOOL, NONE, [c], 0, line))
    emit(Instr(ops.COPY, type_, result, [a], 0, line))
    emit(bracket(ops.END, line))
    emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))


def clamp_and_convert(f: Function, instr: Instr, middle: Type, emit: Emit, held: bool) -> None:
    """A float to an integer whose bounds the float type holds exactly: clamped to them, then converted to ``middle`` and cut.

    ``min`` and ``max`` keep a first operand that is NaN. What ``convert_unchecked`` to ``middle`` leaves of a NaN must end in as many 0
    bits as the integer has, as x86's most negative integer does: then NaN becomes 0. ``held``: the bounds must be in registers.
    """
    type_, source, line = instr.type, instr.source, instr.line
    low, high = limits(type_)
    value = instr.args[0]
    for op, bound in ((ops.MAX, low), (ops.MIN, high)):
        limit = constant(f, source, float(bound), emit, line) if held else f.const(source, float(bound))
        clamped = f.register(source)
        emit(Instr(op, source, clamped, [value, limit], 0, line))
        value = clamped
    whole = f.register(middle)
    emit(Instr(ops.CONVERT_UNCHECKED, middle, whole, [value], 0, line, source))
    emit(Instr(ops.CONVERT, type_, instr.dst, [whole], 0, line, middle))


def unsigned_to_float(f: Function, instr: Instr, emit: Emit) -> None:
    """A u64 to a float, where only i64 can be converted.

    What i64 does not hold is halved, its last bit kept for the rounding (round to odd: Boldo and Melquiond, *Emulation of FMA and
    Correctly Rounded Sums*, 2008), and the result doubled, which is exact.
    """
    type_, line = instr.type, instr.line
    given = instr.args[0]
    signed, half, last, odd, rounded = f.register(I64), f.register(U64), f.register(U64), f.register(U64), f.register(I64)
    result = f.register(type_, "", True)
    emit(Instr(ops.CONVERT, I64, signed, [given], 0, line, U64))
    emit(Instr(ops.IF_CMP["ge"], I64, NONE, [signed, f.const(I64, 0)], 0, line))
    emit(Instr(ops.CONVERT, type_, result, [signed], 0, line, I64))
    emit(bracket(ops.ELSE, line))
    emit(Instr(ops.SHR, U64, half, [given, f.const(U64, 1)], 0, line))
    emit(Instr(ops.AND, U64, last, [given, f.const(U64, 1)], 0, line))
    emit(Instr(ops.OR, U64, odd, [half, last], 0, line))
    emit(Instr(ops.CONVERT, I64, rounded, [odd], 0, line, U64))
    converted = f.register(type_)
    emit(Instr(ops.CONVERT, type_, converted, [rounded], 0, line, I64))
    emit(Instr(ops.ADD, type_, result, [converted, converted], 0, line))
    emit(bracket(ops.END, line))
    emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))


def float_to_unsigned(f: Function, instr: Instr, emit: Emit) -> None:
    """A float to u64, where it can be converted to i64 only: from 2**63 on, what is above that.

    ``convert`` saturates if the conversion to i64 does; ``convert_unchecked`` has 2**63 for what is out of range.
    """
    op, source, line = instr.op, instr.source, instr.line
    given = instr.args[0]
    top = constant(f, source, float(1 << 63), emit, line)
    result = f.register(I64, "", True)
    emit(Instr(ops.IF_CMP["ge"], source, NONE, [given, top], 0, line))
    above, low = f.register(source), f.register(I64)
    emit(Instr(ops.SUB, source, above, [given, top], 0, line))
    emit(Instr(op, I64, low, [above], 0, line, source))
    emit(Instr(ops.OR, I64, result, [low, constant(f, I64, -(1 << 63), emit, line)], 0, line))
    emit(bracket(ops.ELSE, line))
    if op is ops.CONVERT:
        whole = f.register(I64)
        emit(Instr(op, I64, whole, [given], 0, line, source))
        emit(Instr(ops.MAX, I64, result, [whole, constant(f, I64, 0, emit, line)], 0, line))
    else:
        emit(Instr(op, I64, result, [given], 0, line, source))
    emit(bracket(ops.END, line))
    emit(Instr(ops.CONVERT, U64, instr.dst, [result], 0, line, I64))


def shift_count(type_: Type, value: int) -> int:
    """What a constant count of ``shl`` and ``shr`` comes to: itself below the width, else the width."""
    return min(value & ((1 << type_.bits) - 1), type_.bits)


#: Operations on narrow integers, kept extended in wider registers, whose result needs no cutting down to the type.
_CLOSED = (ops.AND, ops.OR, ops.XOR, ops.MIN, ops.MAX, ops.SHR, ops.SHR_MODULO, ops.SELECT, ops.DIV_TRUNC, ops.REM_TRUNC)


#: Of shifts that count modulo the width, 32 bits would count modulo 32.
_MODULO: Final = (ops.SHL_MODULO, ops.SHR_MODULO)


def narrow_integer(f: Function, instr: Instr, emit: Callable[[Instr], bool]) -> None:
    """An operation on 8- or 16-bit integers by the same one on 32 bits."""
    op, type_, line = instr.op, instr.type, instr.line
    args = [f.const(I32, int(f.const_values[~a])) if a < 0 and f.const_types[~a] is type_ else a for a in instr.args]
    if op in _MODULO:
        count = args[1]
        if count < 0:
            args[1] = f.const(I32, int(f.const_values[~count]) & (type_.bits - 1))
        else:
            cut = f.register(I32)
            emit(Instr(ops.AND, I32, cut, [count, f.const(I32, type_.bits - 1)], 0, line))
            args[1] = cut
    if op in _CLOSED:
        emit(Instr(op, I32, instr.dst, args, instr.imm, line))
        return
    wide = f.register(I32)
    emit(Instr(op, I32, wide, args, instr.imm, line))
    emit(Instr(ops.CONVERT, type_, instr.dst, [wide], 0, line, I32))
