"""Floats by integers, on machines without instructions for them: sums, products, multiply-adds, quotients and roots of f64, each rounded once, and conversions; f32 goes by way of f64.

(A sum, a product, a quotient or a root of f32 that is rounded to f64 first is none the worse for it, since f64 has more than twice as many digits: S. A. Figueroa, "When is double
rounding innocuous?", 1995.) Any target's ``expand`` may use these sequences, for scalars. A number is a sign, an exponent and a whole number; results are made of one of 64 bits
whose top bit is set, the last one standing for all that has been cut off (J. R. Hauser, *Berkeley SoftFloat*).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.steps import Emit, Steps
from loopwright.types import BOOL, F32, F64, I64, U32, U64, Type

__all__ = ["LOOPS", "by_way_of_double", "convert", "expand", "multiply_add"]

#: Operations whose sequences have branches.
LOOPS: Final = frozenset((ops.DIV.code, ops.SQRT.code))
_SIGN: Final = 1 << 63
_INFINITY: Final = 0x7FF << 52
_NAN: Final = 0x7FF8 << 48
_BIAS: Final = 1023
#: An exponent below those of all products.
_FAR: Final = 1 << 13
#: Of each type: bits of the fraction, and the exponent of the infinities.
_FORMAT: Final[dict[int, tuple[int, int]]] = {32: (23, 0xFF), 64: (52, 0x7FF)}


def by_way_of_double(f: Function, instr: Instr, emit: Emit) -> None:
    """An operation on f32 by the one on f64."""
    s = Steps(f, emit, instr.line, 0)
    wide = [s.convert(F64, each, F32) for each in instr.args]
    s.convert(F32, s.op(instr.op, F64, *wide), F64, into=instr.dst)


def expand(f: Function, instr: Instr, emit: Emit) -> None:
    """``add``, ``sub``, ``mul``, ``div`` or ``sqrt`` of f64."""
    s = _Bits(f, emit, instr.line, 0)
    bits = [s.cast(U64, each, F64) for each in instr.args]
    op = instr.op
    if op is ops.SUB:
        bits[1] = s.either(bits[1], s.number(_SIGN), ops.XOR)
    made = s.root(bits[0]) if op is ops.SQRT else _OPERATIONS[op.code](s, bits[0], bits[1])
    s.cast(F64, made, U64, into=instr.dst)


def multiply_add(f: Function, instr: Instr, signs: tuple[bool, bool], emit: Emit) -> None:
    """``fma`` and its kin of f32 or f64, with the signs of the product and of what is added turned or not."""
    type_ = instr.type
    s = _Bits(f, emit, instr.line, 0)
    a, b, c = [s.cast(U64, s.convert(F64, each, F32) if type_ is F32 else each, F64) for each in instr.args]
    a, c = [s.either(each, s.number(_SIGN), ops.XOR) if turned else each for each, turned in zip((a, c), signs, strict=True)]
    if type_ is F32:
        s.convert(F32, s.cast(F64, s.fused(a, b, c, 11), U64), F64, into=instr.dst)
    else:
        s.cast(F64, s.fused(a, b, c, 0), U64, into=instr.dst)


def convert(f: Function, instr: Instr, emit: Emit) -> None:
    """A conversion between f64 and f32, or between one of them and an integer; f32 and integers go by way of f64, narrow integers by way of 64 bits."""
    to, of, given = instr.type, instr.source, instr.args[0]
    s = _Bits(f, emit, instr.line, 0)
    if of.is_float and to.is_float:
        if of is F32:
            s.cast(F64, s.widened(s.convert(U64, s.cast(U32, given, F32), U32)), U64, into=instr.dst)
        else:
            s.cast(F32, s.convert(U32, s.narrowed(s.cast(U64, given, F64)), U64), U32, into=instr.dst)
    elif of.is_float:
        wide = s.convert(F64, given, F32) if of is F32 else given
        middle = U64 if to is U64 else I64
        made = s.whole(s.cast(U64, wide, F64), middle)
        if middle is to:
            s.op(ops.COPY, to, made, into=instr.dst)
        else:
            s.op(ops.CONVERT_SATURATED, to, made, into=instr.dst, source=middle)
    else:
        middle = U64 if of is U64 else I64
        wide = s.convert(middle, given, of) if of is not middle else given
        made = s.nearest(wide, middle, 11 if to is F32 else 0)
        if to is F32:
            s.convert(F32, s.cast(F64, made, U64), F64, into=instr.dst)
        else:
            s.cast(F64, made, U64, into=instr.dst)


class _Bits(Steps):
    """Steps on floats of 64 bits as numbers of type u64."""

    def number(self, value: int) -> int:
        return self.const(U64, value)

    def either(self, a: int, b: int, op: Op = ops.OR) -> int:
        return self.op(op, U64, a, b)

    def only(self, a: int, mask: int) -> int:
        return self.op(ops.AND, U64, a, self.number(mask))

    def whether(self, op: Op, a: int, b: int) -> int:
        return self.compare(op, U64, a, b)

    def choice(self, condition: int, a: int, b: int) -> int:
        return self.op(ops.SELECT, U64, condition, a, b)

    def one_if(self, condition: int) -> int:
        return self.convert(U64, condition, BOOL)

    def plus(self, a: int, b: int) -> int:
        """Of exponents."""
        return self.op(ops.ADD, I64, a, b)

    def minus(self, a: int, b: int) -> int:
        return self.op(ops.SUB, I64, a, b)

    def signed(self, a: int) -> int:
        return self.cast(I64, a, U64)

    def exponent(self, value: int) -> int:
        return self.const(I64, value)

    def all_of(self, *conditions: int) -> int:
        made = conditions[0]
        for each in conditions[1:]:
            made = self.op(ops.AND, BOOL, made, each)
        return made

    def any_of(self, *conditions: int) -> int:
        made = conditions[0]
        for each in conditions[1:]:
            made = self.op(ops.OR, BOOL, made, each)
        return made

    def cut(self, a: int, places: int) -> int:
        """Shifted right by a number of places from 0 to 63; a last bit of 1 where anything is lost."""
        kept = self.op(ops.SHR_MODULO, U64, a, places)
        lost = self.whether(ops.NE, self.op(ops.SHL_MODULO, U64, kept, places), a)
        return self.either(kept, self.one_if(lost))

    # --- numbers apart and together -----------------------------------------------------------------------------------

    def apart(self, bits: int, fraction: int = 52, most: int = 0x7FF) -> tuple[int, int]:
        """The exponent as it is stored, and the whole number with its top bit; numbers below the normal ones have smaller exponents, 0 the whole number 0."""
        stored = self.only(self.shifted(U64, bits, fraction), most)
        rest = self.only(bits, (1 << fraction) - 1)
        tiny = self.whether(ops.EQ, stored, self.number(0))
        places = self.op(ops.SUB, U64, self.op(ops.LEADING_ZEROS, U64, rest), self.number(63 - fraction))
        whole = self.choice(tiny, self.op(ops.SHL_MODULO, U64, rest, places), self.either(rest, self.number(1 << fraction)))
        below = self.op(ops.SUB, U64, self.number(1), places)
        return self.signed(self.choice(tiny, below, stored)), whole

    def rounded(self, sign: int, exponent: int, whole: int, bits: int = 64) -> int:
        """The float with a sign (in its place), an exponent as it is stored, and a whole number whose top bit, the 64th, is set."""
        fraction, most = _FORMAT[bits]
        down = self.op(ops.MAX, I64, self.minus(self.exponent(1), exponent), self.exponent(0))
        down = self.op(ops.MIN, I64, down, self.exponent(63))
        kept = self.cut(self.cut(whole, self.number(60 - fraction)), self.cast(U64, down, I64))
        stored = self.minus(self.op(ops.MAX, I64, exponent, self.exponent(1)), self.exponent(1))
        stored = self.op(ops.MIN, I64, stored, self.exponent(most))
        # To nearest, ties to even: three bits are cut off.
        last = self.only(self.shifted(U64, kept, 3), 1)
        up = self.one_if(self.whether(ops.GT, self.op(ops.ADD, U64, self.only(kept, 7), last), self.number(4)))
        made = self.op(ops.ADD, U64, self.shifted(U64, kept, 3), up)
        made = self.op(ops.ADD, U64, made, self.op(ops.SHL, U64, self.cast(U64, stored, I64), self.number(fraction)))
        return self.either(sign, self.op(ops.MIN, U64, made, self.number(most << fraction)))

    def to_top(self, whole: int, exponent: int) -> tuple[int, int]:
        """A whole number with its top bit set, and the exponent less the places that it is moved by."""
        places = self.op(ops.LEADING_ZEROS, U64, whole)
        return self.op(ops.SHL_MODULO, U64, whole, places), self.minus(exponent, self.signed(places))

    # --- operations -------------------------------------------------------------------------------------------------------

    def sum(self, a: int, b: int) -> int:
        size_a, size_b = self.only(a, _SIGN - 1), self.only(b, _SIGN - 1)
        less = self.whether(ops.LT, size_a, size_b)
        large, small = self.choice(less, b, a), self.choice(less, a, b)
        size_large, size_small = self.choice(less, size_b, size_a), self.choice(less, size_a, size_b)
        sign = self.only(large, _SIGN)
        opposite = self.whether(ops.NE, self.only(self.either(a, b, ops.XOR), _SIGN), self.number(0))
        (first, whole), (second, other) = self.apart(large), self.apart(small)
        distance = self.op(ops.MIN, I64, self.minus(first, second), self.exponent(63))
        whole = self.op(ops.SHL, U64, whole, self.number(10))
        other = self.cut(self.op(ops.SHL, U64, other, self.number(10)), self.cast(U64, distance, I64))
        total = self.choice(opposite, self.op(ops.SUB, U64, whole, other), self.op(ops.ADD, U64, whole, other))
        top, exponent = self.to_top(total, self.plus(first, self.exponent(1)))
        made = self.rounded(sign, exponent, top)
        # What is added to 0 stays as it is; a sum of nothing is 0, negative if both are.
        made = self.choice(self.whether(ops.EQ, size_small, self.number(0)), large, made)
        zero = self.whether(ops.EQ, total, self.number(0))
        made = self.choice(zero, self.choice(opposite, self.number(0), sign), made)
        infinity = self.number(_INFINITY)
        made = self.choice(self.whether(ops.EQ, size_large, infinity), large, made)
        both = self.all_of(self.whether(ops.EQ, size_small, infinity), opposite)
        return self.choice(self.any_of(self.whether(ops.GT, size_large, infinity), both), self.number(_NAN), made)

    def product(self, a: int, b: int) -> int:
        sign = self.only(self.either(a, b, ops.XOR), _SIGN)
        (first, x), (second, y) = self.apart(a), self.apart(b)
        x, y = [self.op(ops.SHL, U64, each, self.number(11)) for each in (x, y)]
        lower = self.one_if(self.whether(ops.NE, self.op(ops.MUL, U64, x, y), self.number(0)))
        whole = self.either(self.op(ops.MUL_HIGH, U64, x, y), lower)
        top, exponent = self.to_top(whole, self.minus(self.plus(first, second), self.exponent(_BIAS - 1)))
        made = self.rounded(sign, exponent, top)
        size_a, size_b = self.only(a, _SIGN - 1), self.only(b, _SIGN - 1)
        zero, infinity = self.number(0), self.number(_INFINITY)
        none = self.any_of(self.whether(ops.EQ, size_a, zero), self.whether(ops.EQ, size_b, zero))
        large, nan = self.op(ops.MAX, U64, size_a, size_b), self.number(_NAN)
        made = self.choice(none, sign, made)
        made = self.choice(self.whether(ops.EQ, large, infinity), self.choice(none, nan, self.either(sign, infinity)), made)
        return self.choice(self.whether(ops.GT, large, infinity), nan, made)

    def fused(self, a: int, b: int, c: int, spare: int) -> int:
        """a * b + c, rounded once, all 128 bits of the product there until then; with ``spare`` bits to cut off, as ``nearest``."""
        (first, x), (second, y), (third, z) = self.apart(a), self.apart(b), self.apart(c)
        x, y, z = [self.op(ops.SHL, U64, each, self.number(11)) for each in (x, y, z)]
        upper, lower = self.op(ops.MUL_HIGH, U64, x, y), self.op(ops.MUL, U64, x, y)
        exponent = self.minus(self.plus(first, second), self.exponent(_BIAS - 1))
        # Its top bit is the first or the second one. (The last 22 bits are 0.)
        one = self.op(ops.MIN, U64, self.op(ops.LEADING_ZEROS, U64, upper), self.number(1))
        upper = self.either(self.op(ops.SHL_MODULO, U64, upper, one), self.op(ops.AND, U64, self.shifted(U64, lower, 63), one))
        lower = self.op(ops.SHL_MODULO, U64, lower, one)
        exponent = self.minus(exponent, self.signed(one))
        zero, infinity, nan = self.number(0), self.number(_INFINITY), self.number(_NAN)
        # (A sum with 0 is the product, however small.)
        third = self.op(ops.SELECT, I64, self.whether(ops.EQ, z, zero), self.exponent(-_FAR), third)
        of_product, of_sum = self.only(self.either(a, b, ops.XOR), _SIGN), self.only(c, _SIGN)
        opposite = self.whether(ops.NE, of_product, of_sum)
        # The larger one of both stays where it is.
        same = self.compare(ops.EQ, I64, exponent, third)
        less = self.any_of(self.compare(ops.LT, I64, exponent, third), self.all_of(same, self.whether(ops.LT, upper, z)))
        distance = self.op(ops.SELECT, I64, less, self.minus(third, exponent), self.minus(exponent, third))
        distance = self.op(ops.MIN, I64, distance, self.exponent(126))
        large = self.choice(less, z, upper), self.choice(less, zero, lower)
        small = self.choice(less, upper, z), self.choice(less, lower, zero)
        total = self.total(large, small, self.cast(U64, distance, I64), opposite)
        made = self.op(ops.SELECT, I64, less, third, exponent)
        nothing = self.whether(ops.EQ, self.either(*total), zero)
        top, made = self.to_top_of_two(total, self.plus(made, self.exponent(1)))
        if spare:
            top = self.op(ops.SHL, U64, self.cut(top, self.number(spare)), self.number(spare))
        number = self.rounded(self.choice(less, of_sum, of_product), made, top)
        number = self.choice(nothing, self.choice(opposite, zero, of_sum), number)
        sizes = [self.only(each, _SIGN - 1) for each in (a, b, c)]
        none = self.any_of(self.whether(ops.EQ, sizes[0], zero), self.whether(ops.EQ, sizes[1], zero))
        number = self.choice(self.all_of(none, self.whether(ops.NE, sizes[2], zero)), c, number)
        number = self.choice(self.whether(ops.EQ, sizes[2], infinity), c, number)
        factor = self.op(ops.MAX, U64, sizes[0], sizes[1])
        endless = self.whether(ops.EQ, factor, infinity)
        number = self.choice(endless, self.either(of_product, infinity), number)
        wrong = self.all_of(endless, self.any_of(none, self.all_of(self.whether(ops.EQ, sizes[2], infinity), opposite)))
        wrong = self.any_of(wrong, self.whether(ops.GT, self.op(ops.MAX, U64, factor, sizes[2]), infinity))
        return self.choice(wrong, nan, number)

    def total(self, large: tuple[int, int], small: tuple[int, int], places: int, opposite: int) -> tuple[int, int]:
        """The sum or the difference of two numbers of 128 bits, both halved first, the second moved down by so many places."""
        (upper, lower), (other_upper, other_lower) = self.down(large, self.number(1)), self.down(self.down(small, self.number(1)), places)
        turned = self.op(ops.NEG, U64, self.one_if(opposite))
        other_upper, other_lower = self.either(other_upper, turned, ops.XOR), self.either(other_lower, turned, ops.XOR)
        # (The lower halves and 1 where it is subtracted, then the upper ones and what that carries.)
        half = self.op(ops.ADD, U64, lower, other_lower)
        carried = self.one_if(self.whether(ops.LT, half, lower))
        made = self.op(ops.SUB, U64, half, turned)
        carried = self.either(carried, self.one_if(self.whether(ops.LT, made, half)))
        return self.op(ops.ADD, U64, self.op(ops.ADD, U64, upper, other_upper), carried), made

    def down(self, of: tuple[int, int], places: int) -> tuple[int, int]:
        """128 bits moved down by 0 to 126 places, as ``cut``."""
        upper, lower = of
        far = self.whether(ops.GE, places, self.number(64))
        lost = self.choice(far, self.one_if(self.whether(ops.NE, lower, self.number(0))), self.number(0))
        lower = self.either(self.choice(far, upper, lower), lost)
        upper = self.choice(far, self.number(0), upper)
        left = self.op(ops.NOT, U64, places)
        come = self.op(ops.SHL_MODULO, U64, self.op(ops.SHL, U64, upper, self.number(1)), left)
        return self.op(ops.SHR_MODULO, U64, upper, places), self.either(self.cut(lower, places), come)

    def to_top_of_two(self, of: tuple[int, int], exponent: int) -> tuple[int, int]:
        """The upper half of 128 bits with its top bit set, its last bit standing for the lower half, and the exponent less the places that it is moved by."""
        upper, lower = of
        empty = self.whether(ops.EQ, upper, self.number(0))
        upper, lower = self.choice(empty, lower, upper), self.choice(empty, self.number(0), lower)
        exponent = self.minus(exponent, self.op(ops.SELECT, I64, empty, self.exponent(64), self.exponent(0)))
        places = self.op(ops.LEADING_ZEROS, U64, upper)
        come = self.op(ops.SHR_MODULO, U64, self.shifted(U64, lower, 1), self.op(ops.NOT, U64, places))
        rest = self.one_if(self.whether(ops.NE, self.op(ops.SHL_MODULO, U64, lower, places), self.number(0)))
        top = self.either(self.either(self.op(ops.SHL_MODULO, U64, upper, places), come), rest)
        return top, self.minus(exponent, self.signed(places))

    def quotient(self, a: int, b: int) -> int:
        """The whole numbers divided bit by bit: 56 bits, the first of which may be 0, and whether anything is left."""
        sign = self.only(self.either(a, b, ops.XOR), _SIGN)
        (first, x), (second, y) = self.apart(a), self.apart(b)
        rest, made, left = self.variable(U64, x), self.variable(U64, self.number(0)), self.variable(U64, self.number(56))
        self.bracket(ops.LOOP)
        taken = self.one_if(self.whether(ops.GE, rest, y))
        less = self.op(ops.SUB, U64, rest, self.op(ops.AND, U64, y, self.op(ops.NEG, U64, taken)))
        self.op(ops.ADD, U64, less, less, into=rest)
        self.op(ops.ADD, U64, self.op(ops.ADD, U64, made, made), taken, into=made)
        self.again(left)
        whole = self.either(made, self.one_if(self.whether(ops.NE, rest, self.number(0))))
        # (The first of 56 bits is the one before the point.)
        top, exponent = self.to_top(whole, self.plus(self.minus(first, second), self.exponent(_BIAS + 8)))
        number = self.rounded(sign, exponent, top)
        size_a, size_b = self.only(a, _SIGN - 1), self.only(b, _SIGN - 1)
        zero, infinity, nan = self.number(0), self.number(_INFINITY), self.number(_NAN)
        nothing, by_nothing = self.whether(ops.EQ, size_a, zero), self.whether(ops.EQ, size_b, zero)
        endless, by_endless = self.whether(ops.EQ, size_a, infinity), self.whether(ops.EQ, size_b, infinity)
        number = self.choice(self.any_of(nothing, by_endless), sign, number)
        number = self.choice(self.any_of(endless, by_nothing), self.either(sign, infinity), number)
        none = self.any_of(self.all_of(nothing, by_nothing), self.all_of(endless, by_endless))
        none = self.any_of(none, self.whether(ops.GT, self.op(ops.MAX, U64, size_a, size_b), infinity))
        return self.choice(none, nan, number)

    def root(self, a: int) -> int:
        """Bit by bit, two of the number for each of the root: 55 bits, and whether anything is left."""
        stored, whole = self.apart(a)
        power = self.minus(stored, self.exponent(_BIAS))
        odd = self.only(self.cast(U64, power, I64), 1)
        half = self.op(ops.SHR, I64, power, self.exponent(1))
        given = self.variable(U64, self.op(ops.SHL_MODULO, U64, self.op(ops.SHL, U64, whole, self.number(10)), odd))
        rest, made, left = self.variable(U64, self.number(0)), self.variable(U64, self.number(0)), self.variable(U64, self.number(55))
        two = self.number(2)
        self.bracket(ops.LOOP)
        more = self.either(self.op(ops.SHL, U64, rest, two), self.shifted(U64, given, 62))
        self.op(ops.SHL, U64, given, two, into=given)
        trial = self.either(self.op(ops.SHL, U64, made, two), self.number(1))
        taken = self.one_if(self.whether(ops.GE, more, trial))
        self.op(ops.SUB, U64, more, self.op(ops.AND, U64, trial, self.op(ops.NEG, U64, taken)), into=rest)
        self.op(ops.ADD, U64, self.op(ops.ADD, U64, made, made), taken, into=made)
        self.again(left)
        lost = self.one_if(self.whether(ops.NE, rest, self.number(0)))
        top = self.either(self.op(ops.SHL, U64, made, self.number(9)), lost)
        number = self.rounded(self.number(0), self.plus(half, self.exponent(_BIAS)), top)
        size = self.only(a, _SIGN - 1)
        infinity = self.number(_INFINITY)
        same = self.any_of(self.whether(ops.EQ, size, self.number(0)), self.whether(ops.EQ, a, infinity))
        wrong = self.any_of(self.whether(ops.GT, size, infinity), self.whether(ops.GT, a, self.number(_SIGN)))
        return self.choice(wrong, self.number(_NAN), self.choice(same, a, number))

    def again(self, left: int) -> None:
        """The end of a loop that has so many steps left, this one among them."""
        self.op(ops.SUB, U64, left, self.number(1), into=left)
        self.bracket(ops.BR_IF, self.whether(ops.NE, left, self.number(0)), type_=BOOL)
        self.bracket(ops.END)

    # --- conversions --------------------------------------------------------------------------------------------------------

    def widened(self, bits: int) -> int:
        """The bits of an f32, as those of an f64."""
        fraction, most = _FORMAT[32]
        stored, whole = self.apart(bits, fraction, most)
        size = self.only(bits, (1 << 31) - 1)
        exponent = self.cast(U64, self.plus(stored, self.exponent(_BIAS - 127 - 1)), I64)
        made = self.op(ops.ADD, U64, self.op(ops.SHL, U64, exponent, self.number(52)), self.op(ops.SHL, U64, whole, self.number(52 - fraction)))
        infinity = self.number(most << fraction)
        made = self.choice(self.whether(ops.EQ, size, infinity), self.number(_INFINITY), made)
        made = self.choice(self.whether(ops.GT, size, infinity), self.number(_NAN), made)
        made = self.choice(self.whether(ops.EQ, size, self.number(0)), size, made)
        return self.either(made, self.op(ops.SHL, U64, self.shifted(U64, bits, 31), self.number(63)))

    def narrowed(self, bits: int) -> int:
        """The bits of an f64, as those of the f32 nearest to it."""
        fraction, most = _FORMAT[32]
        stored, whole = self.apart(bits)
        size = self.only(bits, _SIGN - 1)
        sign = self.op(ops.SHL, U64, self.shifted(U64, bits, 63), self.number(31))
        top = self.op(ops.SHL, U64, whole, self.number(11))
        made = self.rounded(sign, self.minus(stored, self.exponent(_BIAS - 127)), top, 32)
        infinity = self.number(_INFINITY)
        made = self.choice(self.whether(ops.EQ, size, infinity), self.either(sign, self.number(most << fraction)), made)
        made = self.choice(self.whether(ops.GT, size, infinity), self.number(0x7FC00000), made)
        return self.choice(self.whether(ops.EQ, size, self.number(0)), sign, made)

    def whole(self, bits: int, to: Type) -> int:
        """The float cut towards zero as an integer of 64 bits, kept in bounds; 0 for NaN."""
        stored = self.only(self.shifted(U64, bits, 52), 0x7FF)
        size = self.only(bits, _SIGN - 1)
        negative = self.whether(ops.NE, self.only(bits, _SIGN), self.number(0))
        number = self.either(self.only(bits, (1 << 52) - 1), self.number(1 << 52))
        places = self.minus(self.signed(stored), self.exponent(_BIAS + 52))
        zero = self.exponent(0)
        up = self.cast(U64, self.op(ops.MIN, I64, self.op(ops.MAX, I64, places, zero), self.exponent(11)), I64)
        down = self.op(ops.MIN, I64, self.op(ops.MAX, I64, self.minus(zero, places), zero), self.exponent(63))
        number = self.op(ops.SHR_MODULO, U64, self.op(ops.SHL_MODULO, U64, number, up), self.cast(U64, down, I64))
        nan = self.whether(ops.GT, size, self.number(_INFINITY))
        if to is U64:
            beyond = self.whether(ops.GE, stored, self.number(_BIAS + 64))
            number = self.choice(beyond, self.number((1 << 64) - 1), number)
            return self.choice(self.any_of(nan, negative), self.number(0), number)
        beyond = self.whether(ops.GE, stored, self.number(_BIAS + 63))
        number = self.choice(beyond, self.number(_SIGN), number)
        least = self.op(ops.MIN, U64, number, self.number(_SIGN - 1))
        number = self.choice(negative, self.op(ops.NEG, U64, number), least)
        return self.signed(self.choice(nan, self.number(0), number))

    def nearest(self, value: int, of: Type, spare: int) -> int:
        """The float nearest to an integer of 64 bits; with ``spare`` bits to cut off, the one whose last bit says whether anything was."""
        sign = self.number(0)
        size = value
        if of.signed:
            spread = self.shifted(I64, value, 63)
            size = self.cast(U64, self.minus(self.op(ops.XOR, I64, value, spread), spread), I64)
            sign = self.only(self.cast(U64, value, I64), _SIGN)
        top, exponent = self.to_top(size, self.exponent(_BIAS + 63))
        if spare:
            top = self.op(ops.SHL, U64, self.cut(top, self.number(spare)), self.number(spare))
        made = self.rounded(sign, exponent, top)
        return self.choice(self.whether(ops.EQ, size, self.number(0)), self.number(0), made)


_OPERATIONS: Final = {ops.ADD.code: _Bits.sum, ops.SUB.code: _Bits.sum, ops.MUL.code: _Bits.product, ops.DIV.code: _Bits.quotient}
