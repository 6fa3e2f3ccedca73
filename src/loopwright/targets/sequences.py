"""Sequences that stand for operations few machines have: choices by a branch, narrow integers, conversions that saturate, rounding.

Any target's ``expand`` may use them. Constants stay in the instructions: the passes give those registers that no instruction can hold.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.steps import Emit, Steps, bracket
from loopwright.types import BOOL, I16, I32, I64, U16, U32, U64, UNSIGNED, Type, limits


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


def mask_bits(f: Function, instr: Instr, emit: Emit) -> None:
    """The lanes that hold as bits of an integer: of each lane its own bit, and the sum of those. Of 128 bits at most."""
    mask, line = instr.type, instr.line
    element = UNSIGNED[mask.bits]
    steps = Steps(f, emit, line, mask.lanes)
    lane = steps.op(ops.IOTA, element)
    if mask.lanes > 8:
        lane = steps.op(ops.AND, element, lane, steps.const(element, 7))
    bits = steps.op(ops.AND, element, steps.op(ops.ONES_WHERE, element, instr.args[0]), steps.op(ops.SHL, element, steps.const(element, 1), lane))
    if mask.lanes <= 8:
        total = f.register(element)
        emit(Instr(ops.REDUCE_ADD, steps.of(element), total, [bits], 0, line))
        emit(Instr(ops.CONVERT, I64, instr.dst, [total], 0, line, element))
        return
    # Eight bytes, none of which has a bit of another's: their sum is the uppermost of the product.
    halves = Steps(f, emit, line, 2)
    both = halves.of(U64)
    pair = f.register(both)
    emit(Instr(ops.BITCAST, both, pair, [bits], 0, line, steps.of(element)))
    scalar = Steps(f, emit, line, 0)
    sums: list[int] = []
    for k in range(2):
        half = f.register(U64)
        emit(Instr(ops.EXTRACT, both, half, [pair if not k else halves.op(ops.SLIDE, U64, pair, pair, f.const(I64, 1))], 0, line))
        sums.append(scalar.shifted(U64, scalar.op(ops.MUL, U64, half, f.const(U64, 0x0101010101010101)), 56))
    whole = scalar.op(ops.OR, U64, sums[0], scalar.op(ops.SHL, U64, sums[1], f.const(U64, 8)))
    emit(Instr(ops.CONVERT, I64, instr.dst, [whole], 0, line, U64))


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


def convert_and_clamp(f: Function, instr: Instr, emit: Emit) -> None:
    """A scalar float to an integer of 8 or 16 bits, by way of 32, to which the machine converts saturating; what the narrow one does not hold is clamped."""
    type_, line = instr.type, instr.line
    wide = I32 if type_.signed else U32
    steps = Steps(f, emit, line, 0)
    value = steps.op(instr.op, wide, instr.args[0], source=instr.source)
    if instr.op is ops.CONVERT:
        low, high = limits(type_)
        if type_.signed:
            value = steps.op(ops.MAX, wide, value, steps.const(wide, low))
        value = steps.op(ops.MIN, wide, value, steps.const(wide, high))
    steps.convert(type_, value, wide, instr.dst)


#: How a float is rounded before it becomes an integer.
_WHOLE: Final[dict[int, Op]] = {ops.CONVERT_DOWN.code: ops.FLOOR, ops.CONVERT_UP.code: ops.CEIL, ops.CONVERT_NEAREST.code: ops.ROUND}


def round_and_convert(f: Function, instr: Instr, emit: Emit) -> None:
    """``convert_down`` and its like, where a machine rounds floats to floats: then converted towards zero."""
    type_, source, line = instr.type, instr.source, instr.line
    whole = f.register(source)
    emit(Instr(_WHOLE[instr.op.code], source, whole, [instr.args[0]], 0, line))
    emit(Instr(ops.CONVERT_UNCHECKED, type_, instr.dst, [whole], 0, line, source))


#: The conversion to an integer that rounds as an operation on floats does.
_AS_INTEGER: Final[dict[int, Op]] = {
    ops.FLOOR.code: ops.CONVERT_DOWN,
    ops.CEIL.code: ops.CONVERT_UP,
    ops.TRUNC.code: ops.CONVERT_UNCHECKED,
    ops.ROUND.code: ops.CONVERT_NEAREST,
}


def round_by_integer(f: Function, instr: Instr, emit: Emit) -> None:
    """``floor``, ``ceil``, ``trunc`` or ``round`` of a scalar through an integer and back, with the sign that it had.

    What has no fraction (2**23, 2**52 and up, infinities, NaN) stays.
    """
    type_ = instr.type
    steps = Steps(f, emit, instr.line, 0)
    whole = I32 if type_.bits == 32 else I64
    a = instr.args[0]
    small = steps.compare(ops.LT, type_, steps.op(ops.ABS, type_, a), steps.const(type_, 2.0**23 if type_.bits == 32 else 2.0**52))
    rounded = steps.convert(type_, steps.op(_AS_INTEGER[instr.op.code], whole, a, source=type_), whole)
    steps.op(ops.SELECT, type_, small, steps.op(ops.COPY_SIGN, type_, rounded, a), a, into=instr.dst)


def copy_sign(f: Function, instr: Instr, emit: Emit) -> None:
    """``copy_sign`` by the bits."""
    type_ = instr.type.element
    steps = Steps(f, emit, instr.line, instr.type.lanes)
    bits = UNSIGNED[type_.bits]
    top = 1 << type_.bits - 1
    size = steps.op(ops.AND, bits, steps.cast(bits, instr.args[0], type_), steps.const(bits, top - 1))
    sign = steps.op(ops.AND, bits, steps.cast(bits, instr.args[1], type_), steps.const(bits, top))
    steps.cast(type_, steps.op(ops.OR, bits, size, sign), bits, instr.dst)


def divide_for_estimate(f: Function, instr: Instr, emit: Emit) -> None:
    """An estimate of a reciprocal, or of one of a root, by division."""
    type_ = instr.type
    steps = Steps(f, emit, instr.line, type_.lanes)
    value = instr.args[0] if instr.op is ops.RCP_ESTIMATE else steps.op(ops.SQRT, type_.element, instr.args[0])
    steps.op(ops.DIV, type_.element, steps.const(type_.element, 1.0), value, into=instr.dst)


def high_of_wide_product(f: Function, instr: Instr, emit: Emit) -> None:
    """The upper half of a product of narrower integers, or of narrower lanes, by a product of twice the width, of scalars of 32 or 64 bits."""
    type_ = instr.type.element
    steps = Steps(f, emit, instr.line, instr.type.lanes)
    bits = 2 * type_.bits if instr.type.lanes else max(2 * type_.bits, 32)
    wide = {16: (U16, I16), 32: (U32, I32), 64: (U64, I64)}[bits][type_.signed]
    a, b = (f.const(steps.of(wide), f.const_values[~x]) if x < 0 else steps.convert(wide, x, type_) for x in instr.args)
    steps.convert(type_, steps.shifted(wide, steps.op(ops.MUL, wide, a, b), type_.bits), wide, instr.dst)


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


#: Of shifts that count modulo the width, 32 bits would count modulo 32.
_MODULO: Final = (ops.SHL_MODULO, ops.SHR_MODULO)


def narrow_integer(f: Function, instr: Instr, emit: Emit) -> None:
    """An operation on 8- or 16-bit integers by the same one on 32 bits, to which registers hold them extended."""
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
    if op in ops.CLOSED:
        emit(Instr(op, I32, instr.dst, args, instr.imm, line))
        return
    wide = f.register(I32)
    emit(Instr(op, I32, wide, args, instr.imm, line))
    emit(Instr(ops.CONVERT, type_, instr.dst, [wide], 0, line, I32))
