"""Integer division as Python and NumPy mean it: by what is known while compiling, and by what is not.

Any target's ``expand`` may use these sequences. Constants stay in the instructions: the passes give those registers that no instruction can hold.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.steps import Emit, bracket
from loopwright.types import I32, I64, U32, U64, UNSIGNED, Type, vector_of

#: The ``imm`` of a ``div_trunc`` or ``rem_trunc`` that is the machine's own instruction: its divisor is neither 0 nor -1.
BARE: Final = 1

_FLOORS: Final = (ops.DIV_FLOOR, ops.REM_FLOOR)
_REMAINDERS: Final = (ops.REM_TRUNC, ops.REM_FLOOR)


def divide(f: Function, instr: Instr, emit: Emit, traps: bool = True, at_once: bool = False) -> None:
    """An integer division or remainder, by truncation or floor, that never traps, with branches.

    ``traps``: whether the machine's instruction traps, or gives something else, where the most negative integer is divided by -1; ``at_once``: whether there is
    one that makes quotient and remainder (``div_rem``).

    A divisor of zero gives 0, as in NumPy; the most negative integer divided by -1 wraps to itself. The target's
    instructions, ``div_trunc`` and ``rem_trunc`` with ``BARE`` and ``div_rem``, meet neither case.
    """
    if instr.type.bits < 32:
        _divide_narrow(f, instr, lambda wide: divide(f, wide, emit, traps, at_once), emit)
    else:
        _Division(f, instr, emit, at_once).whole(instr.op not in _REMAINDERS, instr.op in _REMAINDERS, traps)


def divide_both(f: Function, quotient: Instr, remainder: Instr, emit: Emit, traps: bool = True, at_once: bool = False) -> None:
    """As ``divide``, the quotient and the remainder of the same operands, of 32 bits or more."""
    division = _Division(f, quotient, emit, at_once)
    division.whole(True, True, traps)
    emit(Instr(ops.COPY, remainder.type, remainder.dst, [division.remainder], 0, remainder.line))


class _Division:
    """A division of integers that is being emitted: quotient, remainder, or both."""

    def __init__(self, f: Function, instr: Instr, emit: Emit, at_once: bool) -> None:
        self.f = f
        self.instr = instr
        self.emit = emit
        self.at_once = at_once
        self.type = instr.type
        self.line = instr.line
        self.floor = instr.op in _FLOORS and instr.type.signed
        self.a = _held(f, instr.type, instr.args[0], emit, instr.line)
        self.b = _held(f, instr.type, instr.args[1], emit, instr.line)
        #: Variables for what is wanted; -1 for what is not.
        self.quotient = -1
        self.remainder = -1

    def op(self, op: Op, dst: int, *args: int, imm: int = 0) -> None:
        self.emit(Instr(op, self.type, dst, list(args), imm, self.line))

    def const(self, value: int) -> int:
        return self.f.const(self.type, value)

    def result(self) -> int:
        """A variable, 0 at first."""
        made = self.f.register(self.type, "", True)
        self.op(ops.COPY, made, self.const(0))
        return made

    def whole(self, quotient: bool, remainder: bool, traps: bool) -> None:
        """The division with its tests, into the result of the instruction: the quotient if that is wanted, else the remainder."""
        if quotient:
            self.quotient = self.result()
        if remainder:
            self.remainder = self.result()
        halved = self.at_once and self.type.bits == 64
        if halved:
            self.in_half()
            self.emit(bracket(ops.ELSE, self.line))
        self.tested(quotient, traps)
        if halved:
            self.emit(bracket(ops.END, self.line))
        self.op(ops.COPY, self.instr.dst, self.quotient if quotient else self.remainder)

    def tested(self, quotient: bool, traps: bool) -> None:
        """The division where the divisor is one that the machine's instruction divides by."""
        b = self.b
        if not (self.type.signed and traps):
            self.op(ops.IF_CMP["ne"], NONE, b, self.const(0))
            self.proper()
            self.emit(bracket(ops.END, self.line))
            return
        # Of 0 and -1 the remainder is 0; one test finds both: b + 1, unsigned, is at most 1.
        unsigned = _unsigned(self.type)
        above = self.f.register(unsigned)
        self.emit(Instr(ops.ADD, unsigned, above, [self.cast(unsigned, b), self.f.const(unsigned, 1)], 0, self.line))
        self.emit(Instr(ops.IF_CMP["gt"], unsigned, NONE, [above, self.f.const(unsigned, 1)], 0, self.line))
        self.proper()
        if quotient:
            # -a where b is -1, 0 where it is 0.
            self.emit(bracket(ops.ELSE, self.line))
            self.op(ops.NEG, self.quotient, self.a)
            self.op(ops.AND, self.quotient, self.quotient, b)
        self.emit(bracket(ops.END, self.line))

    def in_half(self) -> None:
        """Opens a branch for operands that are at least 0 and fit half the bits, and divides those: most integers are small, and CPUs take up to three times as long for 64 bits
        as for 32 (Agner Fog's instruction tables, DIV and IDIV)."""
        f = self.f
        either, whole, upper = f.register(self.type), f.register(U64), f.register(U64)
        self.op(ops.OR, either, self.a, self.b)
        self.emit(Instr(ops.CONVERT, U64, whole, [either], 0, self.line, self.type))
        self.emit(Instr(ops.SHR, U64, upper, [whole, f.const(U64, 32)], 0, self.line))
        self.emit(Instr(ops.IF_CMP["eq"], U64, NONE, [upper, f.const(U64, 0)], 0, self.line))
        a, b = self.cast(U32, self.a), self.cast(U32, self.b)
        self.emit(Instr(ops.IF_CMP["ne"], U32, NONE, [b, self.f.const(U32, 0)], 0, self.line))
        both = self.f.register(U32)
        self.emit(Instr(ops.DIV_REM, U32, both, [a, b], 0, self.line))
        rest = self.f.register(U32)
        self.emit(Instr(ops.PART, U32, rest, [], 1, self.line))
        for wanted, made in ((self.quotient, both), (self.remainder, rest)):
            if wanted >= 0:
                self.emit(Instr(ops.CONVERT, self.type, wanted, [made], 0, self.line, U32))
        self.emit(bracket(ops.END, self.line))

    def cast(self, type_: Type, value: int) -> int:
        """An operand as another type of integers."""
        made = self.f.register(type_)
        self.emit(Instr(ops.CONVERT, type_, made, [value], 0, self.line, self.type))
        return made

    def proper(self) -> None:
        """The division proper."""
        f, type_ = self.f, self.type
        quotient, rest = self.quotient, self.remainder
        if quotient < 0:
            self.op(ops.REM_TRUNC, rest, self.a, self.b, imm=BARE)
        elif rest < 0 and not self.floor:
            self.op(ops.DIV_TRUNC, quotient, self.a, self.b, imm=BARE)
        else:
            if rest < 0:
                rest = f.register(type_)
            if self.at_once:
                self.op(ops.DIV_REM, quotient, self.a, self.b)
                self.op(ops.PART, rest, imm=1)
            else:
                self.op(ops.DIV_TRUNC, quotient, self.a, self.b, imm=BARE)
                product = f.register(type_)
                self.op(ops.MUL, product, quotient, self.b)
                self.op(ops.SUB, rest, self.a, product)
        if not self.floor:
            return
        # A remainder whose sign differs from the divisor's: one step further down.
        signs = f.register(type_)
        self.op(ops.IF_CMP["ne"], NONE, rest, self.const(0))
        self.op(ops.XOR, signs, rest, self.b)
        self.op(ops.IF_CMP["lt"], NONE, signs, self.const(0))
        if self.remainder >= 0:
            self.op(ops.ADD, rest, rest, self.b)
        if quotient >= 0:
            self.op(ops.SUB, quotient, quotient, self.const(1))
        self.emit(bracket(ops.END, self.line))
        self.emit(bracket(ops.END, self.line))


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


def divide_by_power(f: Function, instr: Instr, emit: Emit) -> bool:
    """A division or remainder of integers, or of lanes, by 0, by 1, by a power of two, or by the negative of one, without branches; False if it is none."""
    op, type_, line, dst = instr.op, instr.type, instr.line, instr.dst
    a, b = instr.args[0], int(f.const_values[~instr.args[1]])
    floor, remainder = op in _FLOORS, op in _REMAINDERS
    size = abs(b)
    if b == 0 or (remainder and size == 1):
        emit(Instr(ops.COPY, type_, dst, [f.const(type_, 0)], 0, line))
    elif size == 1:
        emit(Instr(ops.COPY if b == 1 else ops.NEG, type_, dst, [a], 0, line))
    elif size & (size - 1):
        return False
    elif b > 0 and (floor or not type_.signed):
        # Arithmetic shifts round down, and masking keeps the sign of the divisor.
        if remainder:
            emit(Instr(ops.AND, type_, dst, [a, f.const(type_, b - 1)], 0, line))
        else:
            emit(Instr(ops.SHR, type_, dst, [a, f.const(type_, b.bit_length() - 1)], 0, line))
    elif size == 1 << type_.bits - 1:
        return False
    elif type_.bits < 32 and not type_.lanes:
        _divide_narrow(f, instr, lambda wide: _by_signed_power(f, wide, b, floor, remainder, emit), emit)
    else:
        _by_signed_power(f, instr, b, floor, remainder, emit)
    return True


def _by_signed_power(f: Function, instr: Instr, b: int, floor: bool, remainder: bool, emit: Emit) -> None:
    """Truncated, negative dividends are first raised by the divisor less 1; floored, by the negative of a power, it is rounded up and negated."""
    type_, line = instr.type, instr.line
    s = _Whole(f, type_, emit, line)
    a = instr.args[0]
    most = f.const(type_, abs(b) - 1)
    count = f.const(type_, abs(b).bit_length() - 1)
    if floor:
        raised = s.op(ops.ADD, s.op(ops.AND, a, most), most)
        if remainder:
            # Of a + most the bits below, less most.
            s.op(ops.SUB, s.op(ops.AND, raised, most), most, into=instr.dst)
        else:
            s.op(ops.NEG, s.op(ops.ADD, s.op(ops.SHR, a, count), s.op(ops.SHR, raised, count)), into=instr.dst)
        return
    if abs(b) == 2 and type_.bits >= 32 and not type_.lanes:
        # The sign itself.
        bits = _unsigned(type_)
        sign = f.register(bits)
        emit(Instr(ops.SHR, bits, sign, [_cast(s, bits, a, type_), f.const(bits, type_.bits - 1)], 0, line))
        bias = _cast(s, type_, sign, bits)
    else:
        bias = s.op(ops.AND, s.sign(a), most)
    raised = s.op(ops.ADD, a, bias)
    if remainder:
        s.op(ops.SUB, s.op(ops.AND, raised, most), bias, into=instr.dst)
    elif b > 0:
        s.op(ops.SHR, raised, count, into=instr.dst)
    else:
        s.op(ops.NEG, s.op(ops.SHR, raised, count), into=instr.dst)


class _Whole:
    """Emits operations on one type of integers, scalar or of lanes."""

    __slots__ = ("emit", "f", "line", "type")

    def __init__(self, f: Function, type_: Type, emit: Emit, line: int) -> None:
        self.f = f
        self.type = type_
        self.emit = emit
        self.line = line

    def op(self, op: Op, *args: int, into: int = -1) -> int:
        made = into if into >= 0 else self.f.register(self.type)
        self.emit(Instr(op, self.type, made, list(args), 0, self.line))
        return made

    def const(self, value: int) -> int:
        """A constant, by its bits."""
        bits = self.type.bits
        value &= (1 << bits) - 1
        return self.f.const(self.type, value - (1 << bits) if self.type.signed and value >> bits - 1 else value)

    def shifted(self, value: int, count: int) -> int:
        return self.op(ops.SHR, value, self.const(count)) if count else value

    def sign(self, value: int) -> int:
        """-1 of what is negative, 0 of what is not."""
        return self.op(ops.SHR, value, self.const(self.type.bits - 1))


def multiply_by_reciprocal(f: Function, instr: Instr, emit: Emit) -> None:
    """A division or remainder of integers, or of lanes, by a constant that ``divide_by_power`` does not know, without a division and without branches.

    The reciprocal is multiplied with: in 64 bits where these have room for the product, otherwise by the upper half of a product (T. Granlund and
    P. L. Montgomery, *Division by Invariant Integers using Multiplication*, PLDI 1994).
    """
    op, type_, line = instr.op, instr.type, instr.line
    b = int(f.const_values[~instr.args[1]])
    floor, remainder = op in _FLOORS, op in _REMAINDERS
    if type_.bits < 32 and not type_.lanes:
        # (What fits in a narrow integer divides as an i32, whatever the sign.)
        _divide_narrow(f, instr, lambda wide: _in_64_bits(f, wide, b, floor, remainder, emit), emit)
        return
    if not type_.lanes and type_.bits == 32:
        _in_64_bits(f, instr, b, floor, remainder, emit)
        return
    s = _Whole(f, type_, emit, line)
    quotient = _signed_quotient(s, instr.args[0], b, floor) if type_.signed else _unsigned_quotient(s, instr.args[0], b)
    _result(f, instr, quotient, b, remainder, emit)


def _result(f: Function, instr: Instr, quotient: int, b: int, remainder: bool, emit: Emit) -> None:
    """The quotient, or what it leaves."""
    type_, line = instr.type, instr.line
    if not remainder:
        emit(Instr(ops.COPY, type_, instr.dst, [quotient], 0, line))
        return
    product = f.register(type_)
    emit(Instr(ops.MUL, type_, product, [quotient, f.const(type_, b)], 0, line))
    emit(Instr(ops.SUB, type_, instr.dst, [instr.args[0], product], 0, line))


def _multiplier(size: int, bits: int, precision: int) -> tuple[int, int]:
    """A factor and a shift: ``(factor * n >> bits) >> shift`` is the quotient of every n below 2**precision by ``size`` (figure 6.2: CHOOSE_MULTIPLIER)."""
    shift = (size - 1).bit_length()
    low, high = (1 << bits + shift) // size, ((1 << bits + shift) + (1 << bits + shift - precision)) // size
    while low // 2 < high // 2 and shift:
        low, high, shift = low // 2, high // 2, shift - 1
    return high, shift


def _unsigned_quotient(s: _Whole, a: int, b: int) -> int:
    """Figure 4.2."""
    bits = s.type.bits
    factor, shift = _multiplier(b, bits, bits)
    before = 0
    if factor >> bits and b & 1 == 0:
        before = (b & -b).bit_length() - 1
        factor, shift = _multiplier(b >> before, bits, bits - before)
    if not factor >> bits:
        return s.shifted(s.op(ops.MUL_HIGH, s.shifted(a, before), s.const(factor)), shift)
    high = s.op(ops.MUL_HIGH, a, s.const(factor))
    return s.shifted(s.op(ops.ADD, high, s.shifted(s.op(ops.SUB, a, high), 1)), shift - 1)


def _signed_quotient(s: _Whole, a: int, b: int, floor: bool) -> int:
    """Figures 5.2, truncated, and 6.1, floored."""
    bits = s.type.bits
    factor, shift = _multiplier(abs(b), bits, bits - 1)
    if floor and b > 0:
        # Of what is negative, the complement is divided: floor(x / b) = ~floor(~x / b).
        sign = s.sign(a)
        unsigned = _Whole(s.f, _unsigned(s.type), s.emit, s.line)
        high = unsigned.op(ops.MUL_HIGH, _cast(s, unsigned.type, s.op(ops.XOR, a, sign), s.type), unsigned.const(factor))
        return s.op(ops.XOR, _cast(s, s.type, unsigned.shifted(high, shift), unsigned.type), sign)
    high = s.op(ops.MUL_HIGH, a, s.const(factor))
    if factor >> bits - 1:
        # The factor is 2**bits more than the constant, as a signed one.
        high = s.op(ops.ADD, high, a)
    quotient = s.op(ops.SUB, s.shifted(high, shift), s.sign(a))
    if b > 0:
        return quotient
    quotient = s.op(ops.NEG, quotient)
    if not floor:
        return quotient
    # What is left has the dividend's sign; above 0 it is one step too many.
    rest = s.op(ops.SUB, a, s.op(ops.MUL, quotient, s.const(b)))
    return s.op(ops.ADD, quotient, s.sign(s.op(ops.NEG, rest)))


def _unsigned(type_: Type) -> Type:
    element = UNSIGNED[type_.bits]
    return vector_of(element, type_.lanes) if type_.lanes else element


def _cast(s: _Whole, to: Type, value: int, source: Type) -> int:
    """The same bits, signed or not."""
    made = s.f.register(to)
    s.emit(Instr(ops.BITCAST if to.lanes else ops.CONVERT, to, made, [value], 0, s.line, source))
    return made


def _in_64_bits(f: Function, instr: Instr, b: int, floor: bool, remainder: bool, emit: Emit) -> None:
    """32 bits by a constant other than 0 and 1 (sections 4 to 6)."""
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
        factor, after = _multiplier(size, 32, 32)
        before = 0
        if factor >> 32 and size & 1 == 0:
            before = (size & -size).bit_length() - 1
            factor, after = _multiplier(size >> before, 32, 32 - before)
        if not factor >> 32:
            quotient = shifted(op(ops.MUL, shifted(given, before), f.const(wide, factor)), 32 + after)
        else:
            # What is above 32 bits is added after the first shift.
            product = op(ops.MUL, given, f.const(wide, factor - (1 << 32)))
            quotient = shifted(op(ops.ADD, shifted(product, 32), given), after)
    narrow = f.register(type_)
    emit(Instr(ops.CONVERT, type_, narrow, [quotient], 0, line, wide))
    _result(f, instr, narrow, b, remainder, emit)
