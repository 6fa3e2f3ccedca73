"""Sequences that stand for operations few machines have: division as Python and NumPy mean it, narrow integers, conversions that saturate.

Any target's ``expand`` may use them. Constants stay in the instructions: the passes give those registers that no instruction can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I32, I64, U64, VOID, Type, limits

Emit = Callable[[Instr], None]

#: The ``imm`` of a ``div_trunc`` or ``rem_trunc`` that is the machine's own instruction: its divisor is neither 0 nor -1.
BARE: Final = 1


#: Python's // of floats is not the floor of the rounded quotient: 1.0 // 0.1 is 9, floor(1.0 / 0.1) is 10.
FLOOR_HINT: Final = "write lw.floor(a / b), which differs where the quotient rounds up to a whole number"


def bracket(op: ops.Op, line: int) -> Instr:
    """A bracket without operands."""
    return Instr(op, VOID, NONE, [], 0, line)


def divide(f: Function, instr: Instr, emit: Emit, traps: bool = True) -> None:
    """An integer division or remainder, by truncation or floor, that never traps, with branches.

    ``traps``: whether the machine's instruction traps, or gives something else, where the most negative integer is divided by -1.

    A divisor of zero gives 0, as in NumPy; the most negative integer divided by -1 wraps to itself. The target's
    instructions, ``div_trunc`` and ``rem_trunc`` with ``BARE``, meet neither case.
    """
    op, type_, line = instr.op, instr.type, instr.line
    a, b = instr.args
    if type_.bits < 32:
        _divide_narrow(f, instr, lambda wide: divide(f, wide, emit, traps), emit)
        return
    floor = op is ops.DIV_FLOOR or op is ops.REM_FLOOR
    remainder = op is ops.REM_TRUNC or op is ops.REM_FLOOR
    a, b = _held(f, type_, a, emit, line), _held(f, type_, b, emit, line)
    result = f.register(type_, "", True)
    if instr.args[1] < 0:
        # Neither 0 nor -1, which ``divide_by_constant`` knows.
        _quotient(f, type_, result, a, b, floor, remainder, emit, line)
        emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))
        return
    emit(Instr(ops.COPY, type_, result, [f.const(type_, 0)], 0, line))
    emit(Instr(ops.IF_CMP["ne"], type_, NONE, [b, f.const(type_, 0)], 0, line))
    if type_.signed and traps:
        emit(Instr(ops.IF_CMP["eq"], type_, NONE, [b, f.const(type_, -1)], 0, line))
        if not remainder:
            emit(Instr(ops.NEG, type_, result, [a], 0, line))
        emit(bracket(ops.ELSE, line))
        _quotient(f, type_, result, a, b, floor, remainder, emit, line)
        emit(bracket(ops.END, line))
    else:
        _quotient(f, type_, result, a, b, floor, remainder, emit, line)
    emit(bracket(ops.END, line))
    emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))


def _held(f: Function, type_: Type, operand: int, emit: Emit, line: int) -> int:
    """An operand in a register."""
    if operand >= 0:
        return operand
    r = f.register(type_)
    emit(Instr(ops.COPY, type_, r, [operand], 0, line))
    return r


def _divide_narrow(f: Function, instr: Instr, divide_wide: Emit, emit: Emit) -> None:
    """A division of 8- and 16-bit integers by one of 32 bits."""
    type_, line = instr.type, instr.line
    args = []
    for a in instr.args:
        if a < 0:
            args.append(f.const(I32, int(f.const_values[~a])))
        else:
            args.append(f.register(I32))
            emit(Instr(ops.CONVERT, I32, args[-1], [a], 0, line, type_))
    wide = f.register(I32)
    divide_wide(Instr(instr.op, I32, wide, args, 0, line))
    emit(Instr(ops.CONVERT, type_, instr.dst, [wide], 0, line, I32))


def _quotient(f: Function, type_: Type, result: int, a: int, b: int, floor: bool, remainder: bool, emit: Emit, line: int) -> None:
    """The division proper, into the variable ``result``."""
    if not floor or not type_.signed:
        emit(Instr(ops.REM_TRUNC if remainder else ops.DIV_TRUNC, type_, result, [a, b], BARE, line))
        return
    zero = f.const(type_, 0)
    if remainder:
        emit(Instr(ops.REM_TRUNC, type_, result, [a, b], BARE, line))
        rest = result
    else:
        emit(Instr(ops.DIV_TRUNC, type_, result, [a, b], BARE, line))
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


def divide_by_constant(f: Function, instr: Instr, emit: Emit) -> bool:
    """An integer division or remainder by a constant without a division and without branches; False where that takes a product of 128 bits.

    Powers of two become shifts. Others, up to 32 bits, are multiplied by the reciprocal in 64 bits (T. Granlund and P. L. Montgomery,
    *Division by Invariant Integers using Multiplication*, PLDI 1994, sections 4 to 6).
    """
    op, type_, line, dst = instr.op, instr.type, instr.line, instr.dst
    a, b = instr.args[0], int(f.const_values[~instr.args[1]])
    floor = op is ops.DIV_FLOOR or op is ops.REM_FLOOR
    remainder = op is ops.REM_TRUNC or op is ops.REM_FLOOR
    size = abs(b)
    power = size & (size - 1) == 0
    shifts = power and size < 1 << type_.bits - 1
    if type_.bits == 64 and size > 1 and not shifts and (b < 0 or not power):
        return False
    if b == 0 or (remainder and size == 1):
        emit(Instr(ops.COPY, type_, dst, [f.const(type_, 0)], 0, line))
    elif size == 1:
        emit(Instr(ops.COPY if b == 1 else ops.NEG, type_, dst, [a], 0, line))
    elif power and b > 0 and (floor or not type_.signed):
        # Arithmetic shifts round down, and masking keeps the sign of the divisor.
        if remainder:
            emit(Instr(ops.AND, type_, dst, [a, f.const(type_, b - 1)], 0, line))
        else:
            emit(Instr(ops.SHR, type_, dst, [a, f.const(type_, b.bit_length() - 1)], 0, line))
    elif type_.bits < 32:
        # (What fits in a narrow integer divides as an i32, whatever the sign.)
        _divide_narrow(f, instr, lambda wide: _multiply_by_reciprocal(f, wide, b, floor, remainder, emit), emit)
    elif shifts:
        _divide_by_power(f, instr, b, floor, remainder, emit)
    else:
        _multiply_by_reciprocal(f, instr, b, floor, remainder, emit)
    return True


def _result(f: Function, instr: Instr, quotient: int, b: int, remainder: bool, emit: Emit) -> None:
    """The quotient, or what it leaves."""
    type_, line = instr.type, instr.line
    if not remainder:
        emit(Instr(ops.COPY, type_, instr.dst, [quotient], 0, line))
        return
    product = f.register(type_)
    emit(Instr(ops.MUL, type_, product, [quotient, f.const(type_, b)], 0, line))
    emit(Instr(ops.SUB, type_, instr.dst, [instr.args[0], product], 0, line))


def _divide_by_power(f: Function, instr: Instr, b: int, floor: bool, remainder: bool, emit: Emit) -> None:
    """Signed, by a power of two, or its negative: truncated, negative dividends are first raised by the divisor less 1."""
    type_, line = instr.type, instr.line
    a = instr.args[0]
    count = f.const(type_, abs(b).bit_length() - 1)

    def op(operation: Op, *args: int) -> int:
        made = f.register(type_)
        emit(Instr(operation, type_, made, list(args), 0, line))
        return made

    if floor:
        # By the negative of one: rounded up, then negated.
        quotient = op(ops.SHR, a, count)
        if b < 0:
            most = f.const(type_, abs(b) - 1)
            quotient = op(ops.NEG, op(ops.ADD, quotient, op(ops.SHR, op(ops.ADD, op(ops.AND, a, most), most), count)))
    else:
        bias = op(ops.AND, op(ops.SHR, a, f.const(type_, type_.bits - 1)), f.const(type_, abs(b) - 1))
        quotient = op(ops.SHR, op(ops.ADD, a, bias), count)
        if b < 0:
            quotient = op(ops.NEG, quotient)
    _result(f, instr, quotient, b, remainder, emit)


def _multiply_by_reciprocal(f: Function, instr: Instr, b: int, floor: bool, remainder: bool, emit: Emit) -> None:
    """32 bits by a constant other than 0 and 1."""
    type_, line = instr.type, instr.line
    size = abs(b)
    wide = I64 if type_.signed else U64

    def op(operation: Op, *args: int) -> int:
        made = f.register(wide)
        emit(Instr(operation, wide, made, list(args), 0, line))
        return made

    def shifted(value: int, count: int) -> int:
        return op(ops.SHR, value, f.const(wide, count)) if count else value

    given = f.register(wide)
    emit(Instr(ops.CONVERT, wide, given, [instr.args[0]], 0, line, type_))
    if type_.signed:
        # More than 2**k / size, by no more than 1, and below 2**32; dividends are at most 2**31.
        k = 31 + max((size - 1).bit_length(), 1)
        factor = f.const(wide, (1 << k) // size + 1)
        if floor:
            # Of what is negative, the complement is divided: floor(x / b) = ~floor(~x / b).
            if b < 0:
                given = op(ops.NEG, given)
            sign = shifted(given, 63)
            quotient = op(ops.XOR, shifted(op(ops.MUL, op(ops.XOR, given, sign), factor), k), sign)
        else:
            quotient = op(ops.SUB, shifted(op(ops.MUL, given, factor), k), shifted(given, 63))
            if b < 0:
                quotient = op(ops.NEG, quotient)
    else:
        # 2**k / size, rounded up, needs no more than 33 bits; what is above 32 of them is added after the first shift.
        bits = (size - 1).bit_length()
        factor = ((1 << 32 + bits) + size - 1) // size
        if factor < 1 << 32:
            quotient = shifted(op(ops.MUL, given, f.const(wide, factor)), 32 + bits)
        else:
            product = op(ops.MUL, given, f.const(wide, factor - (1 << 32)))
            quotient = shifted(op(ops.ADD, shifted(product, 32), given), bits)
    narrow = f.register(type_)
    emit(Instr(ops.CONVERT, type_, narrow, [quotient], 0, line, wide))
    _result(f, instr, narrow, b, remainder, emit)


def popcount(f: Function, instr: Instr, emit: Emit) -> None:
    """The bits that are 1, by sums of neighbours: in pairs, fours, bytes, then of bytes (H. S. Warren, *Hacker's Delight*, 2nd edition, section 5-1)."""
    type_, line = instr.type, instr.line
    bits = type_.bits

    def op(operation: Op, a: int, b: int) -> int:
        made = f.register(type_)
        emit(Instr(operation, type_, made, [a, b], 0, line))
        return made

    def kept(mask: int) -> int:
        # A byte's pattern in all of them.
        return f.const(type_, int.from_bytes(bytes((mask,)) * (bits // 8), "little"))

    def shifted(value: int, count: int) -> int:
        return op(ops.SHR, value, f.const(type_, count))

    value = instr.args[0]
    value = op(ops.SUB, value, op(ops.AND, shifted(value, 1), kept(0x55)))
    value = op(ops.ADD, op(ops.AND, value, kept(0x33)), op(ops.AND, shifted(value, 2), kept(0x33)))
    value = op(ops.AND, op(ops.ADD, value, shifted(value, 4)), kept(0x0F))
    count = 8
    while count < bits:
        value = op(ops.ADD, value, shifted(value, count))
        count *= 2
    if bits > 8:
        value = op(ops.AND, value, f.const(type_, 0x7F))
    emit(Instr(ops.COPY, type_, instr.dst, [value], 0, line))


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


def min_max_by_branch(f: Function, instr: Instr, emit: Emit) -> None:
    """The second operand only where it compares less (greater), by a branch."""
    a, b = instr.args
    type_, line = instr.type, instr.line
    result = f.register(type_, "", True)
    emit(Instr(ops.COPY, type_, result, [a], 0, line))
    emit(Instr(ops.IF_CMP["lt" if instr.op is ops.MIN else "gt"], type_, NONE, [b, a], 0, line))
    emit(Instr(ops.COPY, type_, result, [b], 0, line))
    emit(bracket(ops.END, line))
    emit(Instr(ops.COPY, type_, instr.dst, [result], 0, line))


def clamp_and_convert(f: Function, instr: Instr, middle: Type, emit: Emit) -> None:
    """A float to an integer whose bounds the float type holds exactly: clamped to them, then converted to ``middle`` and cut.

    ``min`` and ``max`` keep a first operand that is NaN. What ``convert_unchecked`` to ``middle`` leaves of a NaN must end in as many 0
    bits as the integer has, as x86's most negative integer does: then NaN becomes 0.
    """
    type_, source, line = instr.type, instr.source, instr.line
    low, high = limits(type_)
    value = instr.args[0]
    for op, bound in ((ops.MAX, low), (ops.MIN, high)):
        clamped = f.register(source)
        emit(Instr(op, source, clamped, [value, f.const(source, float(bound))], 0, line))
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
    top = f.const(source, float(1 << 63))
    result = f.register(I64, "", True)
    emit(Instr(ops.IF_CMP["ge"], source, NONE, [given, top], 0, line))
    above, low = f.register(source), f.register(I64)
    emit(Instr(ops.SUB, source, above, [given, top], 0, line))
    emit(Instr(op, I64, low, [above], 0, line, source))
    emit(Instr(ops.OR, I64, result, [low, f.const(I64, -(1 << 63))], 0, line))
    emit(bracket(ops.ELSE, line))
    if op is ops.CONVERT:
        whole = f.register(I64)
        emit(Instr(op, I64, whole, [given], 0, line, source))
        emit(Instr(ops.MAX, I64, result, [whole, f.const(I64, 0)], 0, line))
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


def narrow_integer(f: Function, instr: Instr, emit: Emit) -> None:
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
