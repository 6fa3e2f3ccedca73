"""Sequences for arithmetic on integers that few machines have: saturating sums, averages, distances, rotations, carry-less products, and what is found out about single bits.

Any target's ``expand`` may use them, for scalars and lanes of every width; a sequence may hold operations that are expanded in turn. Integers of 8 and 16 bits in general
registers are held extended, so that there operations on 32 bits read them as they are: those sequences are for the pass ``select``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets import sums
from loopwright.targets.steps import Emit, Steps
from loopwright.types import F32, I32, U8, U32, U64, UNSIGNED, Type, limits, vector_of

__all__ = ["EXPANDED", "expand", "unsigned"]


def expand(f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation of ``SEQUENCES``, by code, that a machine has no instruction for.

    Args:
        f: the function.
        instr: the operation.
        emit: takes the instructions; what it takes may be expanded in turn.
        late: in the pass ``select``, where integers of 8 and 16 bits become wider ones.

    Returns:
        Whether there was one; False of such integers before.
    """
    type_ = instr.type
    s = Steps(f, emit, instr.line, type_.lanes)
    if instr.op in ops.GROUPED:
        return sums.expand(f, instr, emit)
    if instr.op is ops.CONVERT_SATURATED or instr.op is ops.MUL_WIDE:
        # (What they are made of is there for all integers.)
        SEQUENCES[instr.op.code](s, instr)
        return True
    if type_.bits < 32 and not type_.lanes:
        if late:
            _NARROW[instr.op.code](s, instr)
        return late
    SEQUENCES[instr.op.code](s, instr)
    return True


def unsigned(s: Steps, type_: Type, value: int) -> int:
    """The bits of an integer as an unsigned one."""
    element = type_.element
    if not element.signed:
        return value
    if value < 0:
        return s.const(UNSIGNED[element.bits], int(s.f.const_values[~value]) & (1 << element.bits) - 1)
    return s.cast(UNSIGNED[element.bits], value, element)


def _last(s: Steps, instr: Instr, op: Op, *args: int) -> None:
    """The result by an operation on unsigned numbers."""
    t = instr.type.element
    u = UNSIGNED[t.bits]
    if t.signed:
        s.cast(t, s.op(op, u, *args), u, instr.dst)
    else:
        s.op(op, u, *args, into=instr.dst)


# --- saturating sums ----------------------------------------------------------------------------------------------


def _add_saturated(s: Steps, instr: Instr) -> None:
    """No more is added than there is room for: of unsigned numbers the complement says how much that is."""
    t = instr.type.element
    a, b = instr.args
    if a < 0:
        a, b = b, a
    low, high = limits(t)
    if b < 0:
        value = int(s.f.const_values[~b])
        op, most = (ops.MIN, high - value) if value > 0 else (ops.MAX, low - value)
        s.op(ops.ADD, t, s.op(op, t, a, s.const(t, most)), b, into=instr.dst)
    elif t.signed:
        zero = s.const(t, 0)
        least = s.op(ops.SUB, t, s.const(t, low), s.op(ops.MIN, t, a, zero))
        most = s.op(ops.SUB, t, s.const(t, high), s.op(ops.MAX, t, a, zero))
        s.op(ops.ADD, t, a, s.op(ops.MIN, t, s.op(ops.MAX, t, b, least), most), into=instr.dst)
    else:
        s.op(ops.ADD, t, a, s.op(ops.MIN, t, b, s.op(ops.NOT, t, a)), into=instr.dst)


def _sub_saturated(s: Steps, instr: Instr) -> None:
    """As for sums: a less what is left of b where that leaves the type nowhere. a - MAX ≤ b ≤ a - MIN, the bounds cut to the type by the sign of a."""
    t = instr.type.element
    a, b = instr.args
    low, high = limits(t)
    if not t.signed:
        s.op(ops.SUB, t, s.op(ops.MAX, t, a, b), b, into=instr.dst)
        return
    if b < 0:
        value = int(s.f.const_values[~b])
        op, bound = (ops.MAX, low + value) if value > 0 else (ops.MIN, high + value)
        s.op(ops.SUB, t, s.op(op, t, a, s.const(t, bound)), b, into=instr.dst)
        return
    minus = s.const(t, -1)
    # (a - MIN would be more than the type holds for a of 0 and above, and any b is less.)
    most = s.op(ops.SUB, t, s.op(ops.MIN, t, a, minus), s.const(t, low))
    least = s.op(ops.SUB, t, s.op(ops.MAX, t, a, minus), s.const(t, high))
    s.op(ops.SUB, t, a, s.op(ops.MIN, t, s.op(ops.MAX, t, b, least), most), into=instr.dst)


def _convert_saturated(s: Steps, instr: Instr) -> None:
    """Within the bounds of the other type, where it can be outside of them."""
    to, of = instr.type.element, instr.source.element
    (low, high), (least, greatest) = limits(to), limits(of)
    x = instr.args[0]
    if least < low:
        x = s.op(ops.MAX, of, x, s.const(of, low))
    if greatest > high:
        x = s.op(ops.MIN, of, x, s.const(of, high))
    s.convert(to, x, of, instr.dst)


def _mul_wide(s: Steps, instr: Instr) -> None:
    to, of = instr.type.element, instr.source.element
    wide = [s.const(to, int(s.f.const_values[~x])) if x < 0 else s.convert(to, x, of) for x in instr.args]
    s.op(ops.MUL, to, *wide, into=instr.dst)


# --- averages and distances ---------------------------------------------------------------------------------------


def _average(s: Steps, instr: Instr) -> None:
    """What both have, and half of what only one has; or what either has less that half (H. S. Warren, *Hacker's Delight*, 2nd edition, section 2-5)."""
    t = instr.type.element
    a, b = instr.args
    half = s.shifted(t, s.op(ops.XOR, t, a, b), 1)
    if instr.op is ops.AVERAGE_DOWN:
        s.op(ops.ADD, t, s.op(ops.AND, t, a, b), half, into=instr.dst)
    else:
        s.op(ops.SUB, t, s.op(ops.OR, t, a, b), half, into=instr.dst)


def _abs_diff(s: Steps, instr: Instr) -> None:
    t = instr.type.element
    a, b = instr.args
    s.op(ops.SUB, t, s.op(ops.MAX, t, a, b), s.op(ops.MIN, t, a, b), into=instr.dst)


# --- carry-less products ----------------------------------------------------------------------------------------------


def _carryless(s: Steps, instr: Instr) -> None:
    """By products of every fourth bit: at most 16 ones meet in a place, whose carries end in the three above it, which are cut away, or leave the number (T. Pornin, *BearSSL:
    Constant-Time Crypto*, on GHASH)."""
    t = instr.type.element
    u = UNSIGNED[t.bits]
    kept = [sum(1 << place for place in range(first, t.bits, 4)) for first in range(4)]
    a, b = [[_masked(s, u, unsigned(s, t, x), mask) for mask in kept] for x in instr.args]
    parts: list[int] = []
    for first, mask in enumerate(kept):
        total = s.op(ops.MUL, u, a[0], b[first])
        for place in range(1, 4):
            total = s.op(ops.XOR, u, total, s.op(ops.MUL, u, a[place], b[(first - place) % 4]))
        parts.append(s.op(ops.AND, u, total, s.const(u, mask)))
    _last(s, instr, ops.OR, s.op(ops.OR, u, parts[0], parts[1]), s.op(ops.OR, u, parts[2], parts[3]))


def _masked(s: Steps, u: Type, value: int, mask: int) -> int:
    if value < 0:
        return s.const(u, int(s.f.const_values[~value]) & mask)
    return s.op(ops.AND, u, value, s.const(u, mask))


def _carryless_high(s: Steps, instr: Instr) -> None:
    """The lower half of the product of what is read from the other end; of scalars of 32 bits a part of the one in 64."""
    t = instr.type.element
    u = UNSIGNED[t.bits]
    a, b = [unsigned(s, t, x) for x in instr.args]
    if s.lanes or t.bits == 64:
        turned = [s.op(ops.BIT_REVERSE, u, x) for x in (a, b)]
        _last(s, instr, ops.SHR, s.op(ops.BIT_REVERSE, u, s.op(ops.CLMUL, u, *turned)), s.const(u, 1))
        return
    wide = [s.const(U64, int(s.f.const_values[~x])) if x < 0 else s.convert(U64, x, u) for x in (a, b)]
    s.convert(t, s.shifted(U64, s.op(ops.CLMUL, U64, *wide), 32), U64, instr.dst)


# --- bits -----------------------------------------------------------------------------------------------------------


def _rotate(s: Steps, instr: Instr) -> None:
    t = instr.type.element
    bits = t.bits
    u = UNSIGNED[bits]
    value, count = unsigned(s, t, instr.args[0]), unsigned(s, t, instr.args[1])
    left, right = (ops.SHL, ops.SHR) if instr.op is ops.ROTATE_LEFT else (ops.SHR, ops.SHL)
    if count < 0:
        places = int(s.f.const_values[~count]) & bits - 1
        back, rest = s.const(u, bits - places), s.const(u, places)
    elif s.lanes:
        # (Lanes shifted by all of their width are 0.)
        rest = s.op(ops.AND, u, count, s.const(u, bits - 1))
        back = s.op(ops.SUB, u, s.const(u, bits), rest)
    else:
        left = ops.SHL_MODULO if left is ops.SHL else ops.SHR_MODULO
        right = ops.SHL_MODULO if right is ops.SHL else ops.SHR_MODULO
        rest, back = count, s.op(ops.NEG, u, count)
    _last(s, instr, ops.OR, s.op(left, u, value, rest), s.op(right, u, value, back))


def _leading_zeros(s: Steps, instr: Instr) -> None:
    """Of lanes of 32 bits by the exponent of a float; otherwise by counting what is not below the highest 1."""
    t = instr.type.element
    x = unsigned(s, t, instr.args[0])
    if s.lanes and t.bits == 32:
        _leading_zeros_32(s, instr, x)
    elif s.lanes and t.bits == 64:
        _leading_zeros_64(s, instr, x)
    else:
        u = UNSIGNED[t.bits]
        places = 1
        while places < t.bits:
            x = s.op(ops.OR, u, x, s.shifted(u, x, places))
            places *= 2
        _last(s, instr, ops.POPCOUNT, s.op(ops.NOT, u, x))


def _leading_zeros_32(s: Steps, instr: Instr, x: int) -> None:
    """By the exponent of the float with the same highest bit; without the bit below that no rounding goes up to the next one. Of 0 it is 0 (the bias is 127).

    From 2**31 on the signed number is negative; the float's sign, above its exponent, makes more than 127 + 31 of that.
    """
    alone = s.op(ops.ANDNOT, U32, s.shifted(U32, x, 1), x)
    single = s.convert(F32, s.cast(I32, alone, U32), I32)
    exponent = s.cast(I32, s.shifted(U32, s.cast(U32, single, F32), 23), U32)
    counted = s.op(ops.MIN, I32, s.op(ops.SUB, I32, s.const(I32, 127 + 31), exponent), s.const(I32, 32))
    if instr.type.signed:
        s.op(ops.MAX, I32, counted, s.const(I32, 0), into=instr.dst)
    else:
        s.cast(U32, s.op(ops.MAX, I32, counted, s.const(I32, 0)), I32, instr.dst)


def _leading_zeros_64(s: Steps, instr: Instr, x: int) -> None:
    """Those of the upper half, and of the lower one too where that has none but zeros."""
    halves = vector_of(U32, 2 * s.lanes)
    f, line = s.f, s.line
    split, counted = f.register(halves), f.register(halves)
    s.emit(Instr(ops.BITCAST, halves, split, [x], 0, line, s.of(U64)))
    s.emit(Instr(ops.LEADING_ZEROS, halves, counted, [split], 0, line))
    both = f.register(s.of(U64))
    s.emit(Instr(ops.BITCAST, s.of(U64), both, [counted], 0, line, halves))
    upper = s.shifted(U64, both, 32)
    lower = s.op(ops.AND, U64, both, s.const(U64, 63))
    empty = s.compare(ops.EQ, U64, upper, s.const(U64, 32))
    _last(s, instr, ops.ADD, upper, s.op(ops.SELECT, U64, empty, lower, s.const(U64, 0)))


def _trailing_zeros(s: Steps, instr: Instr) -> None:
    """The ones of x - 1 where x has zeros are those below its lowest 1."""
    t = instr.type.element
    u = UNSIGNED[t.bits]
    x = unsigned(s, t, instr.args[0])
    below = s.op(ops.ANDNOT, u, x, s.op(ops.SUB, u, x, s.const(u, 1)))
    if s.lanes and t.bits >= 32:
        _last(s, instr, ops.SUB, s.const(u, t.bits), s.op(ops.LEADING_ZEROS, u, below))
    else:
        _last(s, instr, ops.POPCOUNT, below)


def _exchanged(s: Steps, u: Type, x: int, places: int, mask: int) -> tuple[int, int]:
    """Neighbouring groups of bits exchanged, the lower ones and the upper ones; ``mask`` has the lower ones of a byte, or of two groups of bytes."""
    size = max(8, 2 * places)
    kept = s.const(u, sum(mask << at for at in range(0, u.bits, size)))
    return s.op(ops.AND, u, s.shifted(u, x, places), kept), s.op(ops.SHL, u, s.op(ops.AND, u, x, kept), s.const(u, places))


def _bit_reverse(s: Steps, instr: Instr) -> None:
    """In each byte neighbours, pairs and fours exchanged; then the bytes (H. S. Warren, *Hacker's Delight*, 2nd edition, section 7-1)."""
    t = instr.type.element
    u = UNSIGNED[t.bits]
    x = unsigned(s, t, instr.args[0])
    if s.lanes and t.bits > 8:
        _last(s, instr, ops.BYTE_SWAP, _bytes_reversed(s, u, x))
        return
    for places, mask in ((1, 0x55), (2, 0x33)):
        x = s.op(ops.OR, u, *_exchanged(s, u, x, places, mask))
    fours = _exchanged(s, u, x, 4, 0x0F)
    if t.bits > 8:
        _last(s, instr, ops.BYTE_SWAP, s.op(ops.OR, u, *fours))
    else:
        _last(s, instr, ops.OR, *fours)


def _bytes_reversed(s: Steps, u: Type, x: int) -> int:
    """The bits of each byte of lanes, as lanes of bytes."""
    whole = s.of(u)
    each = vector_of(U8, whole.lanes * u.bits // 8)
    split, turned, made = s.f.register(each), s.f.register(each), s.f.register(whole)
    s.emit(Instr(ops.BITCAST, each, split, [x], 0, s.line, whole))
    s.emit(Instr(ops.BIT_REVERSE, each, turned, [split], 0, s.line))
    s.emit(Instr(ops.BITCAST, whole, made, [turned], 0, s.line, each))
    return made


def _byte_swap(s: Steps, instr: Instr) -> None:
    """Neighbouring bytes exchanged, then pairs, then fours: the last ones by a rotation."""
    t = instr.type.element
    if t.bits == 8:
        s.op(ops.COPY, t, instr.args[0], into=instr.dst)
        return
    u = UNSIGNED[t.bits]
    x = unsigned(s, t, instr.args[0])
    places = 8
    while 2 * places < t.bits:
        x = s.op(ops.OR, u, *_exchanged(s, u, x, places, (1 << places) - 1))
        places *= 2
    _last(s, instr, ops.ROTATE_LEFT, x, s.const(u, places))


_Sequence = Callable[[Steps, Instr], None]

#: By operation; for scalars of 32 and 64 bits and for lanes.
SEQUENCES: Final[dict[int, _Sequence]] = {
    ops.ADD_SATURATED.code: _add_saturated,
    ops.SUB_SATURATED.code: _sub_saturated,
    ops.CONVERT_SATURATED.code: _convert_saturated,
    ops.MUL_WIDE.code: _mul_wide,
    ops.AVERAGE_DOWN.code: _average,
    ops.AVERAGE_UP.code: _average,
    ops.ABS_DIFF.code: _abs_diff,
    ops.ROTATE_LEFT.code: _rotate,
    ops.ROTATE_RIGHT.code: _rotate,
    ops.LEADING_ZEROS.code: _leading_zeros,
    ops.TRAILING_ZEROS.code: _trailing_zeros,
    ops.BIT_REVERSE.code: _bit_reverse,
    ops.BYTE_SWAP.code: _byte_swap,
    ops.CLMUL.code: _carryless,
    ops.CLMUL_HIGH.code: _carryless_high,
}

#: The operations, by code, that ``expand`` has a sequence for.
EXPANDED: Final = frozenset(SEQUENCES) | frozenset([op.code for op in ops.GROUPED])

# --- integers of 8 and 16 bits in general registers -----------------------------------------------------------------


def _extended(s: Steps, instr: Instr) -> list[int]:
    """The operands for operations on i32."""
    return [s.const(I32, int(s.f.const_values[~a])) if a < 0 else a for a in instr.args]


def _zero_extended(s: Steps, instr: Instr, position: int = 0) -> int:
    """An operand for operations on u32, with zeros above it."""
    a, t = instr.args[position], instr.type
    if a < 0:
        return s.const(U32, int(s.f.const_values[~a]) & (1 << t.bits) - 1)
    return s.convert(UNSIGNED[t.bits], a, t) if t.signed else a


def _cut(s: Steps, instr: Instr, of: Type, value: int) -> None:
    s.convert(instr.type, value, of, instr.dst)


def _narrow_saturated(s: Steps, instr: Instr) -> None:
    adds = instr.op is ops.ADD_SATURATED
    low, high = limits(instr.type)
    value = s.op(ops.ADD if adds else ops.SUB, I32, *_extended(s, instr))
    if instr.type.signed:
        s.op(ops.MIN, I32, s.op(ops.MAX, I32, value, s.const(I32, low)), s.const(I32, high), into=instr.dst)
    elif adds:
        s.op(ops.MIN, I32, value, s.const(I32, high), into=instr.dst)
    else:
        s.op(ops.MAX, I32, value, s.const(I32, 0), into=instr.dst)


def _narrow_average(s: Steps, instr: Instr) -> None:
    value = s.op(ops.ADD, I32, *_extended(s, instr))
    if instr.op is ops.AVERAGE_UP:
        value = s.op(ops.ADD, I32, value, s.const(I32, 1))
    s.op(ops.SHR, I32, value, s.const(I32, 1), into=instr.dst)


def _narrow_abs_diff(s: Steps, instr: Instr) -> None:
    _cut(s, instr, I32, s.op(ops.ABS, I32, s.op(ops.SUB, I32, *_extended(s, instr))))


def _narrow_rotate(s: Steps, instr: Instr) -> None:
    bits = instr.type.bits
    value = _zero_extended(s, instr)
    count = instr.args[1]
    left, right = (ops.SHL_MODULO, ops.SHR_MODULO) if instr.op is ops.ROTATE_LEFT else (ops.SHR_MODULO, ops.SHL_MODULO)
    if count < 0:
        places = int(s.f.const_values[~count]) & bits - 1
        rest, back = s.const(U32, places), s.const(U32, bits - places)
    else:
        rest = s.op(ops.AND, U32, count, s.const(U32, bits - 1))
        back = s.op(ops.SUB, U32, s.const(U32, bits), rest)
    _cut(s, instr, U32, s.op(ops.OR, U32, s.op(left, U32, value, rest), s.op(right, U32, value, back)))


def _narrow_leading_zeros(s: Steps, instr: Instr) -> None:
    counted = s.op(ops.LEADING_ZEROS, U32, _zero_extended(s, instr))
    _cut(s, instr, U32, s.op(ops.SUB, U32, counted, s.const(U32, 32 - instr.type.bits)))


def _narrow_trailing_zeros(s: Steps, instr: Instr) -> None:
    """With a 1 above it."""
    value = s.op(ops.OR, U32, _extended(s, instr)[0], s.const(U32, 1 << instr.type.bits))
    _cut(s, instr, U32, s.op(ops.TRAILING_ZEROS, U32, value))


def _narrow_reversed(s: Steps, instr: Instr) -> None:
    """In 32 bits, of which the upper ones are left."""
    bits = instr.type.bits
    if instr.op is ops.BYTE_SWAP and bits == 8:
        s.op(ops.COPY, instr.type, instr.args[0], into=instr.dst)
        return
    of = I32 if instr.type.signed else U32
    s.op(ops.SHR, of, s.op(instr.op, of, _zero_extended(s, instr)), s.const(of, 32 - bits), into=instr.dst)


def _narrow_carryless(s: Steps, instr: Instr) -> None:
    product = s.op(ops.CLMUL, U32, _zero_extended(s, instr), _zero_extended(s, instr, 1))
    _cut(s, instr, U32, s.shifted(U32, product, instr.type.bits) if instr.op is ops.CLMUL_HIGH else product)


_NARROW: Final[dict[int, _Sequence]] = {
    ops.ADD_SATURATED.code: _narrow_saturated,
    ops.SUB_SATURATED.code: _narrow_saturated,
    ops.AVERAGE_DOWN.code: _narrow_average,
    ops.AVERAGE_UP.code: _narrow_average,
    ops.ABS_DIFF.code: _narrow_abs_diff,
    ops.ROTATE_LEFT.code: _narrow_rotate,
    ops.ROTATE_RIGHT.code: _narrow_rotate,
    ops.LEADING_ZEROS.code: _narrow_leading_zeros,
    ops.TRAILING_ZEROS.code: _narrow_trailing_zeros,
    ops.BIT_REVERSE.code: _narrow_reversed,
    ops.BYTE_SWAP.code: _narrow_reversed,
    ops.CLMUL.code: _narrow_carryless,
    ops.CLMUL_HIGH.code: _narrow_carryless,
}
