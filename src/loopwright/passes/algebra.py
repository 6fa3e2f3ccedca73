"""What the simplify pass knows of the operations: folding of constants, and identities.

A rule looks at one instruction and the values of its operands and either names the value that the instruction
has (an operand number), or changes operation and operands in place and answers ``KEEP``. Every identity holds bit for bit
(up to the sign and payload of NaNs) unless it asks for ``fastmath``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, round_f32
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64, Type, limits

#: The answer of a rule that has found no value.
KEEP: Final = 1 << 40


class Values:
    """What is known of the values a rule sees.

    A value is an operand number: that of a constant, or of a register written once. A number from ``opaque`` on is
    what a variable held at some point; ``homes`` says which.

    Attributes:
        contract: a product and a sum of floats become one operation.
        made_by: per register, the instruction that defines it, or None; ``made_from`` the values of its operands.
        level: per value, how many loops it is inside of (in the low bits).
        count: per register, how often it is used.
        current: per register, its value now.
    """

    __slots__ = ("contract", "count", "current", "f", "fastmath", "homes", "level", "made_by", "made_from", "opaque")

    def __init__(self, f: Function, fused: bool) -> None:
        count = len(f.types)
        self.f = f
        self.contract = fused and f.options.contract
        self.fastmath = f.options.fastmath
        self.opaque = count
        self.homes: list[int] = []
        self.current = list(range(count))
        self.level = [0] * count
        self.count = [0] * count
        self.made_by: list[Instr | None] = [None] * count
        self.made_from: list[list[int]] = [[]] * count

    def available(self, values: list[int]) -> bool:
        """Whether operands of an earlier instruction can still be read: a variable may have been written since."""
        opaque = self.opaque
        return all(value < opaque or self.current[self.homes[value - opaque]] == value for value in values)

    def origin(self, value: int) -> Instr | None:
        """The instruction that made a value, if that is known."""
        return self.made_by[value] if 0 <= value < self.opaque else None


Rule = Callable[[Values, Instr, list[int]], int]

_LEVEL: Final = (1 << 20) - 1


# --- constants -----------------------------------------------------------------------------------------------


def _fold(v: Values, instr: Instr, args: list[int]) -> int:
    """Fold an operation on constants alone, through its row's meaning; a uniform vector is folded as its one element."""
    folded = v.f.folded(instr.op, instr.type, instr.source, args)
    return KEEP if folded is None else folded


def _elementwise(v: Values, instr: Instr, args: list[int]) -> int:
    for a in args:
        if a >= 0:
            return KEEP
    return _fold(v, instr, args)


# --- arithmetic ----------------------------------------------------------------------------------------------


def _add(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    type_ = instr.type
    if a < 0:
        if b < 0:
            x = f.const_values[~a]
            y = f.const_values[~b]
            return f.const(type_, x + y) if type_.bits != 16 or not type_.is_float else _fold(v, instr, args)
        args[0], args[1] = a, b = b, a
    if b < 0:
        y = f.const_values[~b]
        if type_.is_float:
            if y == 0 and (v.fastmath or math.copysign(1.0, y) < 0):
                return a
        else:
            if y == 0:
                return a
            inner = v.origin(a)
            if inner is not None and inner.op is ops.ADD and inner.type is type_:
                x, z = v.made_from[a]
                if z < 0 and v.available([x]):
                    args[0] = x
                    args[1] = f.const(f.const_types[~b], int(f.const_values[~z]) + int(y))
                    if f.const_values[~args[1]] == 0:
                        return x
    if v.contract and type_.is_float and a != b:
        first, second = (a, b) if v.fastmath and _waits(v, a) > _waits(v, b) else (b, a)
        if not _contract(v, instr, args, first, second, ops.FMA):
            _contract(v, instr, args, second, first, ops.FMA)
    return KEEP


def _waits(v: Values, product: int) -> int:
    """More than 0 where a product is one of a variable, as what the iteration before has left, and more the later that is given its value: another product had better be made while it is waited for."""
    inner = v.origin(product)
    if inner is None or inner.op is not ops.MUL:
        return 0
    return max([factor - v.opaque + 1 for factor in v.made_from[product] if factor >= v.opaque], default=0)


def _contract(v: Values, instr: Instr, args: list[int], product: int, addend: int, op: Op) -> bool:
    """Make one operation of an addition and the multiplication that feeds it alone; not when that is outside of a loop that this is in."""
    inner = v.origin(product)
    if inner is None or inner.op is not ops.MUL or inner.type is not instr.type or v.count[product] > 1:
        return False
    if inner.type.bits == 16 and not v.fastmath:
        # (What is computed with f32 instead is rounded to f16 between the two.)
        return False
    level = v.level
    if addend >= 0 and level[addend] & _LEVEL > level[product] & _LEVEL:
        return False
    factors = v.made_from[product]
    if not v.available(factors):
        return False
    instr.op = op
    args[:] = (factors[0], factors[1], addend)
    return True


def _sub(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    type_ = instr.type
    if b < 0:
        y = f.const_values[~b]
        if a < 0:
            return f.const(type_, f.const_values[~a] - y) if type_.bits != 16 or not type_.is_float else _fold(v, instr, args)
        if not type_.is_float:
            instr.op = ops.ADD
            args[1] = f.const(f.const_types[~b], -int(y))
            return _add(v, instr, args)
        if y == 0 and (v.fastmath or math.copysign(1.0, y) > 0):
            return a
    elif type_.is_float:
        # -0.0 - x is -x also for zeros; 0.0 - x is not.
        if a < 0 and f.const_values[~a] == 0 and (v.fastmath or math.copysign(1.0, f.const_values[~a]) < 0):
            instr.op = ops.NEG
            args[:] = [b]
            return KEEP
    elif a == b:
        return f.const(type_, 0)
    elif a < 0 and f.const_values[~a] == 0:
        instr.op = ops.NEG
        args[:] = [b]
        return KEEP
    if v.contract and type_.is_float and a != b:
        if v.fastmath and _waits(v, a) > _waits(v, b) and _contract(v, instr, args, a, b, ops.FMS):
            return KEEP
        if not _contract(v, instr, args, b, a, ops.FNMA):
            _contract(v, instr, args, a, b, ops.FMS)
    return KEEP


def _mul(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if a < 0:
        if b < 0:
            return _fold(v, instr, args)
        args[0], args[1] = a, b = b, a
    if b >= 0:
        return KEEP
    f = v.f
    y = f.const_values[~b]
    type_ = instr.type
    if y == 1:
        return a
    if y == -1:
        instr.op = ops.NEG
        args[:] = [a]
    elif not type_.is_float:
        if y == 0:
            return b
        whole = int(y)
        if whole > 0 and whole & (whole - 1) == 0 and (type_.bits >= 32 or type_.lanes):
            instr.op = ops.SHL
            args[1] = f.const(f.const_types[~b], whole.bit_length() - 1)
    elif v.fastmath:
        _factors(v, instr, args)
    return KEEP


def _factors(v: Values, instr: Instr, args: list[int]) -> None:
    """Make one factor of two that are constants: ``x * 13 / 14`` is one product."""
    a, b = args
    inner = v.origin(a)
    if inner is None or inner.op is not ops.MUL or inner.type is not instr.type:
        return
    x, z = v.made_from[a]
    if z < 0 and v.available([x]):
        both = _fold(v, instr, [z, b])
        if both < 0 and math.isfinite(v.f.const_values[~both]) and v.f.const_values[~both] != 0:
            args[0], args[1] = x, both


def _div(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if b >= 0:
        return KEEP
    if a < 0:
        return _fold(v, instr, args)
    f = v.f
    type_ = instr.type
    y = float(f.const_values[~b])
    if y == 1.0:
        return a
    if y != 0 and math.isfinite(y) and abs(math.frexp(y)[0]) == 0.5:
        # By a power of two: multiplying by the reciprocal rounds the same value, as long as that is a normal number.
        least = {16: -14, 32: -126, 64: -1022}[type_.bits]
        if least <= 1 - math.frexp(y)[1] <= -least:
            instr.op = ops.MUL
            args[1] = f.const(type_, 1.0 / y)
    return KEEP


def _divide_whole(v: Values, instr: Instr, args: list[int]) -> int:
    """Division and remainder, both kinds, of integers; those of floats where both operands are known."""
    a, b = args
    if b >= 0:
        return KEEP
    if a < 0:
        return _fold(v, instr, args)
    type_ = instr.type
    if type_.is_float:
        return KEEP
    f = v.f
    y = int(f.const_values[~b])
    op = instr.op
    quotient = op is ops.DIV_FLOOR or op is ops.DIV_TRUNC
    if y == 1:
        return a if quotient else f.const(type_, 0)
    if y > 1 and y & (y - 1) == 0 and type_.bits >= 32 and (not type_.signed or op is ops.DIV_FLOOR or op is ops.REM_FLOOR):
        # The arithmetic shift rounds downwards.
        instr.op = ops.SHR if quotient else ops.AND
        args[1] = f.const(type_, y.bit_length() - 1 if quotient else y - 1)
    return KEEP


def _neg(v: Values, instr: Instr, args: list[int]) -> int:
    a = args[0]
    if a < 0:
        return _fold(v, instr, args)
    inner = v.origin(a)
    if inner is not None and inner.op is ops.NEG:
        values = v.made_from[a]
        if v.available(values):
            return values[0]
    return KEEP


def _shift(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    type_ = instr.type
    bits = type_.bits
    if b < 0:
        if a < 0:
            return _fold(v, instr, args)
        count = int(f.const_values[~b]) & ((1 << bits) - 1)
        if count == 0:
            return a
        if count >= bits:
            if instr.op is ops.SHL or not type_.signed:
                return f.const(type_, 0)
            args[1] = f.const(type_, bits - 1)
    elif not type_.lanes:
        inner = v.origin(b)
        if inner is not None and inner.op is ops.AND and inner.type is type_:
            count_of, mask = v.made_from[b]
            most = int(f.const_values[~mask]) if mask < 0 else -1
            if 0 <= most < bits:
                # The count is below the width, which needs no look then; where its bits are all kept, the machine keeps them by itself.
                instr.op = ops.SHL_MODULO if instr.op is ops.SHL else ops.SHR_MODULO
                if most == bits - 1 and v.available([count_of]):
                    args[1] = count_of
    return KEEP


def _shift_modulo(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if b >= 0:
        return KEEP
    if a < 0:
        return _fold(v, instr, args)
    return a if int(v.f.const_values[~b]) & (instr.type.bits - 1) == 0 else KEEP


def _rotate(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if b >= 0:
        return KEEP
    if a < 0:
        return _fold(v, instr, args)
    bits = instr.type.bits
    places = int(v.f.const_values[~b]) & bits - 1
    if places == 0:
        return a
    if instr.op is ops.ROTATE_RIGHT:
        places = bits - places
    instr.op = ops.ROTATE_LEFT
    args[1] = v.f.const(instr.type, places)
    return KEEP


def _saturated(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if a < 0 and b < 0:
        return _fold(v, instr, args)
    if a < 0 and instr.op is ops.ADD_SATURATED:
        args[0], args[1] = a, b = b, a
    if b < 0 and v.f.const_values[~b] == 0:
        return a
    return KEEP


def _least_most(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    if a < 0 and b < 0:
        return _fold(v, instr, args)
    if a == b:
        return a
    if instr.type.is_float:
        # Which operand comes first decides between zeros and about NaN.
        if b < 0:
            least, most, _ = _bounds(v, a, _LOOKS)
            bound = float(v.f.const_values[~b])
            if (least >= bound) if instr.op is ops.MAX else (most <= bound):
                return a
    elif a < 0:
        args[0], args[1] = b, a
    return KEEP


#: How far back the bounds of a value are looked for.
_LOOKS: Final = 6
_ANY_FLOAT: Final = (-math.inf, math.inf, True)
_WHOLE: Final[dict[Op, Callable[[float], float]]] = {ops.FLOOR: math.floor, ops.CEIL: math.ceil, ops.TRUNC: math.trunc, ops.ROUND: round}


def _bounds(v: Values, value: int, looks: int) -> tuple[float, float, bool]:
    """What a float is at least and at most unless it is NaN, and whether it may be that."""
    if value < 0:
        number = float(v.f.const_values[~value])
        return _ANY_FLOAT if math.isnan(number) else (number, number, False)
    instr = v.origin(value)
    if instr is None or looks == 0:
        return _ANY_FLOAT
    op = instr.op
    args = v.made_from[value]
    if op is ops.MIN or op is ops.MAX:
        a, b = _bounds(v, args[0], looks - 1), _bounds(v, args[1], looks - 1)
        least, most = min(a[0], b[0]), max(a[1], b[1])
        # b where b is less (greater), else a: one in a stays NaN, one in b is passed over, and then bounds nothing.
        for bound in (a, b):
            if not bound[2]:
                if op is ops.MIN:
                    most = min(most, bound[1])
                else:
                    least = max(least, bound[0])
        return least, most, a[2]
    if op is ops.SELECT:
        a, b = _bounds(v, args[1], looks - 1), _bounds(v, args[2], looks - 1)
        return min(a[0], b[0]), max(a[1], b[1]), a[2] or b[2]
    if op is ops.SPLAT or op is ops.COPY:
        return _bounds(v, args[0], looks - 1)
    whole = _WHOLE.get(op)
    if whole is not None:
        least, most, nan = _bounds(v, args[0], looks - 1)
        return float(whole(least)) if math.isfinite(least) else least, float(whole(most)) if math.isfinite(most) else most, nan
    if op is ops.CONVERT and instr.type.bits >= 32 and instr.source.is_integer:
        low, high = limits(instr.source)
        if instr.type.bits == 32:
            return round_f32(float(low)), round_f32(float(high)), False
        return float(low), float(high), False
    return _ANY_FLOAT


def _multiply_add(v: Values, instr: Instr, args: list[int]) -> int:
    a, b, c = args
    f = v.f
    if a < 0:
        if b < 0:
            return _fold(v, instr, args) if c < 0 else KEEP
        args[0], args[1] = a, b = b, a
    _take_in_signs(v, instr, args)
    a, b, c = args
    op = instr.op
    if op is ops.FNMS:
        return KEEP
    if b < 0:
        y = f.const_values[~b]
        if y == 1:
            instr.op = ops.ADD if op is ops.FMA else ops.SUB
            args[:] = [c, a] if op is ops.FNMA else [a, c]
            return _add(v, instr, args) if op is ops.FMA else _sub(v, instr, args)
        if y == -1 and op is not ops.FMS:
            instr.op = ops.SUB if op is ops.FMA else ops.ADD
            args[:] = [c, a]
            return _sub(v, instr, args) if op is ops.FMA else _add(v, instr, args)
    if c < 0 and f.const_values[~c] == 0 and op is not ops.FNMA:
        negative = math.copysign(1.0, f.const_values[~c]) < 0
        if v.fastmath or negative == (op is ops.FMA):
            instr.op = ops.MUL
            del args[2]
            return _mul(v, instr, args)
    return KEEP


#: What a multiply-add becomes where one of its factors, and where its addend is negated.
_OTHER_PRODUCT: Final[dict[Op, Op]] = {ops.FMA: ops.FNMA, ops.FNMA: ops.FMA, ops.FMS: ops.FNMS, ops.FNMS: ops.FMS}
_OTHER_ADDEND: Final[dict[Op, Op]] = {ops.FMA: ops.FMS, ops.FMS: ops.FMA, ops.FNMA: ops.FNMS, ops.FNMS: ops.FNMA}


def _take_in_signs(v: Values, instr: Instr, args: list[int]) -> None:
    """Operands of a multiply-add that are negations become what they negate."""
    for n, other in enumerate((_OTHER_PRODUCT, _OTHER_PRODUCT, _OTHER_ADDEND)):
        inner = v.origin(args[n])
        if inner is not None and inner.op is ops.NEG and inner.type is instr.type and v.available(v.made_from[args[n]]):
            instr.op = other[instr.op]
            args[n] = v.made_from[args[n]][0]


# --- bits and masks ------------------------------------------------------------------------------------------


def _ones(type_: Type, value: int | float | bool) -> bool:
    """Whether a constant has every bit set."""
    if type_.element is BOOL:
        return value is True
    return value == -1 if type_.signed else value == (1 << type_.bits) - 1


def _and_or(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    if a < 0:
        if b < 0:
            return _fold(v, instr, args)
        args[0], args[1] = a, b = b, a
    if a == b:
        return a
    if b < 0:
        y = f.const_values[~b]
        if y == 0:
            return b if instr.op is ops.AND else a
        if _ones(instr.type, y):
            return a if instr.op is ops.AND else b
        inner = v.origin(a)
        if inner is not None and inner.op is instr.op and inner.type is instr.type and instr.type.is_integer:
            x, z = v.made_from[a]
            if z < 0 and v.available([x]):
                both = int(y) & int(f.const_values[~z]) if instr.op is ops.AND else int(y) | int(f.const_values[~z])
                args[:] = [x, f.const(instr.type, both)]
                if instr.op is ops.AND and both == 0:
                    return args[1]
    elif instr.op is ops.AND and instr.type.lanes:
        # a and not b; not worth it for scalars, whose test is a shorter form of the and.
        for first, second in ((a, b), (b, a)):
            inner = v.origin(first)
            if inner is not None and inner.op is ops.NOT and v.available(v.made_from[first]):
                instr.op = ops.ANDNOT
                args[0] = v.made_from[first][0]
                args[1] = second
                break
    return KEEP


def _xor(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    if a < 0:
        if b < 0:
            return _fold(v, instr, args)
        args[0], args[1] = a, b = b, a
    if a == b:
        return f.const(instr.type, 0)
    if b < 0:
        y = f.const_values[~b]
        if y == 0:
            return a
        if _ones(instr.type, y):
            instr.op = ops.NOT
            del args[1]
            return _not(v, instr, args)
    return KEEP


def _andnot(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    if a < 0:
        if b < 0:
            return _fold(v, instr, args)
        x = f.const_values[~a]
        if x == 0:
            return b
        if _ones(instr.type, x):
            return f.const(instr.type, 0)
    elif b < 0:
        y = f.const_values[~b]
        if y == 0:
            return b
        if _ones(instr.type, y):
            instr.op = ops.NOT
            del args[1]
            return _not(v, instr, args)
    elif a == b:
        return f.const(instr.type, 0)
    elif instr.type.lanes:
        inner = v.origin(a)
        if inner is not None and inner.op is ops.NOT and v.available(v.made_from[a]):
            instr.op = ops.AND
            args[0] = v.made_from[a][0]
            return _and_or(v, instr, args)
    return KEEP


def _not(v: Values, instr: Instr, args: list[int]) -> int:
    a = args[0]
    if a < 0:
        return _fold(v, instr, args)
    inner = v.origin(a)
    if inner is None:
        return KEEP
    if inner.op is ops.NOT:
        values = v.made_from[a]
        return values[0] if v.available(values) else KEEP
    name = _COMPARISON[inner.op.code]
    if name and (not inner.type.is_float or name == "eq" or name == "ne") and v.available(v.made_from[a]):
        opposite = ops.OPPOSITE[name]
        instr.op = ops.COMPARISONS[ops.ORDERED_EQUAL.get(opposite, opposite)]
        instr.type = inner.type
        args[:] = v.made_from[a]
    return KEEP


_COMPARISON: Final[list[str]] = [""] * len(ops.OPS)
for _name, _op in ops.COMPARISONS.items():
    _COMPARISON[_op.code] = _name


# --- comparison and choice -----------------------------------------------------------------------------------


def _compare(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    name = instr.op.name
    if a < 0:
        if b < 0:
            x = f.const_values[~a]
            y = f.const_values[~b]
            holds = (
                (x == y)
                if name == "eq"
                else (x != y)
                if name == "ne"
                else (x < y)
                if name == "lt"
                else (x <= y)
                if name == "le"
                else (x > y)
                if name == "gt"
                else (x >= y)
            )
            return f.const(ops.mask_for(instr.type), holds)
        args[0], args[1] = b, a
        instr.op = ops.COMPARISONS[ops.EXCHANGED[name]]
    elif a == b and not instr.type.is_float:
        return f.const(ops.mask_for(instr.type), name in ("eq", "le", "ge"))
    elif b < 0 and (name == "eq" or name == "ne") and instr.type.is_integer and _only_bit(v, a, b):
        args[1] = f.const(instr.type, 0)
        instr.op = ops.NE if name == "eq" else ops.EQ
    return KEEP


def _only_bit(v: Values, a: int, b: int) -> bool:
    """Whether ``b`` is a constant with one bit, and all that ``a`` can be besides is 0."""
    bit = int(v.f.const_values[~b])
    made = v.origin(a)
    if made is None or made.op is not ops.AND or bit <= 0 or bit & (bit - 1):
        return False
    return v.made_from[a][1] == b


def _select(v: Values, instr: Instr, args: list[int]) -> int:
    c, a, b = args
    f = v.f
    if c < 0:
        return a if f.const_values[~c] else b
    if a == b:
        return a
    inner = v.origin(c)
    if inner is not None and inner.op is ops.NOT and v.available(v.made_from[c]):
        args[:] = c, a, b = v.made_from[c][0], b, a
        inner = v.origin(c)
    type_ = instr.type
    if type_.element is BOOL:
        if a < 0 and b < 0:
            # The two differ.
            if f.const_values[~a]:
                return c
            instr.op = ops.NOT
            args[:] = [c]
            return _not(v, instr, args)
        return KEEP
    if inner is not None and inner.type is type_ and (type_.is_float or type_.is_integer):
        name = _COMPARISON[inner.op.code]
        if name and name != "eq" and name != "ne":
            x, y = v.made_from[c]
            if x == b and y == a:
                name = ops.EXCHANGED[name]
            elif x != a or y != b:
                return KEEP
            # a where a < b, else b: that is the row's min(b, a), also for zeros and NaN. (Of equal zeros it may be either under ``fastmath``.)
            loose = not type_.is_float or f.options.fastmath
            if name == "lt" or (name == "le" and loose):
                instr.op = ops.MIN
                args[:] = [b, a]
            elif name == "gt" or (name == "ge" and loose):
                instr.op = ops.MAX
                args[:] = [b, a]
    return KEEP


# --- converting ----------------------------------------------------------------------------------------------


def _convert(v: Values, instr: Instr, args: list[int]) -> int:
    type_, source = instr.type, instr.source
    if source is type_:
        return args[0]
    if args[0] < 0:
        return _fold(v, instr, args)
    if source.is_float and type_.is_integer and instr.op is ops.CONVERT:
        low, high = limits(type_)
        least, most, nan = _bounds(v, args[0], _LOOKS)
        if not nan and least > low - 1.0 and most < high + 1.0:
            instr.op = ops.CONVERT_UNCHECKED
    return KEEP


def _uniform(v: Values, instr: Instr, args: list[int]) -> int:
    """Operations that give the same of a constant in every lane as of the constant alone: splat, extract, any, all, …"""
    a = args[0]
    op = instr.op
    f = v.f
    if a < 0:
        return f.const(ops.result_type(op, instr.type, instr.source), f.const_values[~a])
    if op is ops.EXTRACT or op is ops.ANY or op is ops.ALL:
        inner = v.origin(a)
        if inner is not None and (inner.op is ops.SPLAT or inner.op is ops.MASK_SPLAT) and v.available(v.made_from[a]):
            return v.made_from[a][0]
    return KEEP


def _lane_mask(v: Values, instr: Instr, args: list[int]) -> int:
    a, b = args
    f = v.f
    if a < 0 and b < 0:
        left = int(f.const_values[~b]) - int(f.const_values[~a])
        if left >= instr.type.lanes or left <= 0:
            return f.const(instr.type, left > 0)
        # (All of as many lanes are one.)
        args[0], args[1] = f.const(I64, 0), f.const(I64, left)
    return KEEP


def _masked_load(v: Values, instr: Instr, args: list[int]) -> int:
    m = args[0]
    if m < 0:
        if not v.f.const_values[~m]:
            return v.f.const(instr.type, 0)
        without = ops.UNMASKED.get(instr.op)
        if without is not None:
            instr.op = without
            del args[0]
    return KEEP


def _copy(v: Values, instr: Instr, args: list[int]) -> int:
    return args[0]


def _table() -> list[Rule | None]:
    table: list[Rule | None] = [None] * len(ops.OPS)
    rules: list[tuple[Rule, tuple[Op, ...]]] = [
        (_add, (ops.ADD,)),
        (_sub, (ops.SUB,)),
        (_mul, (ops.MUL,)),
        (_div, (ops.DIV,)),
        (_divide_whole, (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR)),
        (_neg, (ops.NEG,)),
        (_least_most, (ops.MIN, ops.MAX)),
        (_multiply_add, ops.FUSED),
        (_elementwise, (ops.ABS, ops.COPY_SIGN, ops.MUL_HIGH, ops.MUL_LOWER, ops.SQRT, ops.FLOOR, ops.CEIL, ops.TRUNC, ops.ROUND, ops.BITCAST)),
        (_elementwise, (ops.AVERAGE_DOWN, ops.AVERAGE_UP, ops.ABS_DIFF, ops.POPCOUNT, ops.LEADING_ZEROS, ops.TRAILING_ZEROS, ops.BIT_REVERSE, ops.BYTE_SWAP)),
        (_elementwise, (ops.MUL_WIDE, ops.CLMUL, ops.CLMUL_HIGH)),
        (_saturated, (ops.ADD_SATURATED, ops.SUB_SATURATED)),
        (_rotate, (ops.ROTATE_LEFT, ops.ROTATE_RIGHT)),
        (_and_or, (ops.AND, ops.OR)),
        (_xor, (ops.XOR,)),
        (_andnot, (ops.ANDNOT,)),
        (_not, (ops.NOT,)),
        (_shift, (ops.SHL, ops.SHR)),
        (_shift_modulo, (ops.SHL_MODULO, ops.SHR_MODULO)),
        (_compare, tuple(ops.COMPARISONS.values())),
        (_select, (ops.SELECT,)),
        (_copy, (ops.COPY,)),
        (_convert, (ops.CONVERT, ops.CONVERT_SATURATED, *ops.UNCHECKED)),
        (_uniform, (ops.SPLAT, ops.MASK_SPLAT, ops.MASK_CONVERT, ops.EXTRACT, ops.ANY, ops.ALL, ops.REDUCE_MIN, ops.REDUCE_MAX, ops.REDUCE_AND, ops.REDUCE_OR)),
        (_lane_mask, (ops.LANE_MASK,)),
        (_masked_load, (*[op for op in ops.UNMASKED if op.result], ops.GATHER_AT)),
    ]
    for rule, served in rules:
        for op in served:
            table[op.code] = rule
    return table


#: The rule of each operation, by code.
RULES: Final[list[Rule | None]] = _table()
