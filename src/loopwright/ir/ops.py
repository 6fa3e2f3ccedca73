"""The operations of the intermediate representation, one row each.

Printer, parser, verifier, interpreter, documentation and the operator sugar all read these rows.

A row's ``signature`` gives the operand roles and the result by letters:

====  =====================================================================================
 T    the instruction's type (``add.f32x8``: f32x8)
 S    the instruction's source type (``convert.f32x8.i32x8``: i32x8)
 E    the element type of T
 M    the mask that governs T: ``bool`` when T is a scalar, ``mask<bits>x<lanes>`` when a vector
 B    ``bool``
 L    ``i64``
 K    ``i64``, a constant from 0 to the lanes of T
 C    ``i64``, a constant
 P    ``ptr``
 ``*L``  any number of i64 operands (the indices of an array access)
 ``*``   operands given by something else (a callee's signature, the function's result)
 A    address operands: one or two registers described by the instruction's ``mem``
====  =====================================================================================

``types`` says which T an operation takes, as space-separated words out of ``int float ptr bool mask``
(element kinds) and ``scalar vector`` (shapes; both when neither is named).

``since`` names the first stage at which an operation may stand, ``until`` the pass that leaves none of it.

``meaning`` is executable Python over NumPy values: it is called with T, S and the operands and returns the
result. Scalars are NumPy scalars of the element's dtype, vectors NumPy arrays of ``lanes`` elements, masks
boolean arrays, ``bool`` is ``np.bool_``. Rows without a meaning are executed by the interpreter itself
(control flow, memory, calls).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.ir.stages import LAST, STAGES
from loopwright.types import BOOL, I64, PTR, Type, limits, mask_of, saturated

Meaning = Callable[..., Any]

#: What an operation may do beyond computing its result.
PURE: Final = 0
READS: Final = 1
WRITES: Final = 2
CONTROL: Final = 3
CALLS: Final = 4


class Op:
    """One row of the table of operations.

    Attributes:
        name: as printed.
        operands: the role letters of the operands, in order (see the module's docstring).
        result: the role letter of the result, or "" for none.
        further: the role letters of further results, each of which a ``part`` behind the instruction takes.
        types: which types the operation takes.
        effect: ``PURE``, ``READS``, ``WRITES``, ``CONTROL`` or ``CALLS``.
        commutes: the first two operands may be exchanged.
        opens, closes: the operation begins / ends a bracket (``else`` does both).
        code: dense number, an index into per-operation tables.
        meaning: the operation over NumPy values, or None.
        since, until: the stages at which it may stand, by number: from ``since`` on, before ``until``.
        reduction: of an operation that accumulators of a loop may be combined by, the row that combines the lanes of a vector by it.
        neutral: of such an operation, the number that changes nothing; None where the accumulator's own value changes nothing.
        parts: into how many vectors the elements in memory are dealt out, 1 but for a few.
        doc: one line for the documentation.
    """

    __slots__ = (
        "closes",
        "code",
        "commutes",
        "compare",
        "doc",
        "effect",
        "further",
        "meaning",
        "name",
        "neutral",
        "opens",
        "operands",
        "parts",
        "pure",
        "reduction",
        "result",
        "since",
        "types",
        "until",
    )

    def __init__(
        self,
        code: int,
        name: str,
        signature: str,
        types: str,
        doc: str,
        meaning: Meaning | None,
        effect: int,
        commutes: bool,
        opens: bool,
        closes: bool,
        compare: str,
        since: int,
        until: int,
    ) -> None:
        left, _, right = signature.partition("->")
        self.code = code
        self.name = name
        self.operands = tuple(left.split())
        results = right.split()
        self.result = results[0] if results else ""
        self.further = tuple(results[1:])
        self.types = frozenset(types.split())
        self.doc = doc
        self.meaning = meaning
        self.effect = effect
        self.pure = effect == PURE
        self.commutes = commutes
        self.opens = opens
        self.closes = closes
        self.compare = compare
        self.since = since
        self.until = until
        self.reduction: Op | None = None
        self.neutral: int | None = None
        self.parts = 1

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _op_named, (self.name,)


OPS: Final[list[Op]] = []
BY_NAME: Final[dict[str, Op]] = {}


def _op_named(name: str) -> Op:
    return BY_NAME[name]


def row(
    name: str,
    signature: str,
    types: str,
    doc: str,
    meaning: Meaning | None = None,
    effect: int = PURE,
    commutes: bool = False,
    opens: bool = False,
    closes: bool = False,
    compare: str = "",
    since: str = "collect",
    until: str = "",
) -> Op:
    """Add a row. ``compare`` names the comparison a fused conditional bracket or branch tests."""
    first, last = STAGES.index(since), STAGES.index(until) if until else LAST
    op = Op(len(OPS), name, signature, types, doc, meaning, effect, commutes, opens, closes, compare, first, last)
    OPS.append(op)
    BY_NAME[name] = op
    return op


def reduction(name: str, of: Op, neutral: int | None, types: str, doc: str, meaning: Meaning) -> Op:
    """Add the row that combines the lanes of a vector by ``of``; accumulators of a loop may then be combined by that."""
    made = row(name, "T -> E", types, doc, meaning)
    of.reduction = made
    of.neutral = neutral
    return made


def result_type(op: Op, type_: Type, source: Type | None) -> Type:
    """The type of the register an instruction defines."""
    return type_for(op.result, type_)


def type_for(letter: str, type_: Type) -> Type:
    """The type of a register that a result's role letter stands for, of an instruction of a type."""
    if letter == "T":
        return type_
    if letter == "E":
        return type_.element
    if letter == "M":
        return mask_for(type_)
    if letter == "L":
        return I64
    if letter == "P":
        return PTR
    return BOOL


def mask_for(type_: Type) -> Type:
    """The mask that governs ``type_``: bool for a scalar."""
    return mask_of(type_.bits, type_.lanes) if type_.lanes else BOOL


def scalar(type_: Type, value: int | float | bool) -> Any:
    """A NumPy scalar, such as meanings take, of a number that the type can hold."""
    return np.dtype(type_.dtype).type(value)


# --- meanings that need more than one expression -------------------------------------------------------------


def _quiet(function: Meaning) -> Meaning:
    """Machine arithmetic neither warns nor traps."""

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def _as(type_: Type, value: Any) -> Any:
    # Through an array for scalars as well: NumPy's scalar constructors refuse values that would wrap.
    made = np.asarray(value).astype(type_.element.dtype)
    return made if type_.lanes else made[()]


def _div_trunc(t: Type, _s: Type, a: Any, b: Any) -> Any:
    # Through Python integers, because NumPy divides towards minus infinity.
    def one(x: int, y: int) -> int:
        if y == 0:
            return 0
        q = abs(x) // abs(y)
        return q if (x < 0) == (y < 0) else -q

    return _each(t, one, a, b)


def _rem_trunc(t: Type, _s: Type, a: Any, b: Any) -> Any:
    if t.is_float:
        return _as(t, np.fmod(a, b))
    return _each(t, lambda x, y: x - y * (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) if y else 0, a, b)


def _mul_lower(t: Type, _s: Type, a: Any, b: Any) -> Any:
    lower = (1 << t.bits // 2) - 1
    return _each(t, lambda x, y: (x & lower) * (y & lower), a, b)


def _mul_high(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x * y >> t.bits, a, b)


def _carryless(t: Type, x: int, y: int) -> int:
    """The product of two polynomials whose coefficients are bits: a sum of shifted ones by exclusive or."""
    mask = (1 << t.bits) - 1
    x, product = x & mask, 0
    for place in range(t.bits):
        if y >> place & 1:
            product ^= x << place
    return product


def _div_floor(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x // y if y else 0, a, b) if t.is_integer else _as(t, np.floor_divide(a, b))


def _rem_floor(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x % y if y else 0, a, b) if t.is_integer else _as(t, np.remainder(a, b))


def _each(t: Type, one: Callable[..., int], *operands: Any) -> Any:
    """Apply a function on Python integers lane by lane and wrap to the type."""
    wrap = (1 << t.bits) - 1

    def fold(value: int) -> int:
        value &= wrap
        return value - wrap - 1 if t.signed and value >> (t.bits - 1) else value

    if t.lanes:
        return np.array([fold(one(*(int(v) for v in lane))) for lane in zip(*operands, strict=True)], dtype=t.element.dtype)
    return np.dtype(t.dtype).type(fold(one(*(int(v) for v in operands))))


def _integers(one: Callable[..., int]) -> Meaning:
    """The meaning that a function of the type and Python integers has lane by lane."""
    return lambda t, s, *operands: _each(t, functools.partial(one, t), *operands)


def _fma(t: Type, a: Any, b: Any, c: Any) -> Any:
    """a*b + c with one rounding (IEEE 754-2019, 5.4.1).

    For f32 and f16 the product is exact in f64; the sum is then rounded to odd in f64 before the last rounding, which
    makes the double rounding harmless (Boldo and Melquiond, *Emulation of FMA and Correctly Rounded Sums*, 2008).
    For f64 lane by lane with exact rationals.
    """
    if t.bits < 64:
        x = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        y = np.asarray(c, np.float64)
        s = x + y
        bb = s - x
        error = (x - (s - bb)) + (y - bb)
        s = np.atleast_1d(np.asarray(s, np.float64)).copy()
        error = np.atleast_1d(np.asarray(error, np.float64))
        bits = s.view(np.int64)
        fix = np.isfinite(s) & (error != 0) & (bits & 1 == 0)
        towards = np.where((error > 0) == (s > 0), 1, -1)
        bits[fix] += towards[fix]
        out = s.astype(t.element.dtype)
        return out if t.lanes else out[0]
    if t.lanes:
        return np.array([_fma64(float(p), float(q), float(r)) for p, q, r in zip(a, b, c, strict=True)], np.float64)
    return np.float64(_fma64(float(a), float(b), float(c)))


def _fma64(a: float, b: float, c: float) -> float:
    from fractions import Fraction

    if not (math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    if not math.isfinite(c):
        # Not through the rounded product, which may overflow to an infinity of the other sign.
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # The sign of an exact zero: that of the sum in round-to-nearest (IEEE 754-2019, 6.3).
        return math.copysign(0.0, a) * math.copysign(1.0, b) + c if c == 0 else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _convert(t: Type, s: Type, a: Any) -> Any:
    return saturated(t, a) if s.is_float and t.is_integer else _as(t, a)


def _convert_unchecked(t: Type, s: Type, a: Any) -> Any:
    # What does not fit gives the "integer indefinite" of CVTTSS2SI (Intel SDM vol. 1, 4.8.4.3 and table 4-7), at the width of the
    # conversion instruction (32 bits for integers that 32 signed bits hold, 64 above), then wrapped. u64 has its upper half besides,
    # as VCVTTSD2USI gives it.
    width = 64 if t.bits == 64 or (t.bits == 32 and not t.signed) else 32
    low, high = -(1 << (width - 1)), (1 << (width - 1))
    value = np.trunc(np.asarray(a, np.float64))
    inside = (value >= low) & (value < high)
    whole = np.where(inside, np.where(inside, value, 0).astype(np.int64), low)
    if t.bits == 64 and not t.signed:
        upper = (value >= high) & (value < 2.0 * high)
        whole = np.where(upper, np.where(upper, value - high, 0).astype(np.int64) + low, whole)
    return _as(t, whole.astype(np.int64))


def _rounded_first(whole: Any) -> Meaning:
    return _quiet(lambda t, s, a: _convert_unchecked(t, s, whole(a)))


def _bitcast(t: Type, s: Type, a: Any) -> Any:
    raw = np.ascontiguousarray(np.atleast_1d(a)).view(t.element.dtype)
    return raw.copy() if t.lanes else raw[0]


def _to_f16(t: Type, _s: Type, a: Any) -> Any:
    """NaN keeps its sign and the upper part of its payload, and is quiet, as machines have it."""
    value = np.asarray(a, np.float32)
    bits = value.view(np.uint32)
    nan = bits >> 16 & 0x8000 | 0x7E00 | bits >> 13 & 0x3FF
    return _as(t, np.where(np.isnan(value), nan, value.astype(np.float16).view(np.uint16)))


def _reduce(ufunc: Any) -> Meaning:
    """Halving: lane k meets lane k + n/2, until one is left; the order the targets use."""

    def run(t: Type, s: Type, a: Any) -> Any:
        a = np.asarray(a)
        with np.errstate(all="ignore"):
            while len(a) > 1:
                half = len(a) // 2
                a = ufunc(a[:half], a[half:])
        return a[0]

    return run


def _of_groups(t: Type, values: Any) -> Any:
    """Sums of as many values next to each other as there are to each lane of the type."""
    return _as(t, values.reshape(t.lanes, -1).sum(axis=1))


def _as_unsigned(t: Type, values: Any) -> Any:
    """The bits of lanes as unsigned numbers."""
    return values.view(f"u{t.bits // 8}")


def _as_signed(t: Type, values: Any) -> Any:
    """The bits of lanes as signed numbers."""
    return values.view(f"i{t.bits // 8}")


def _shift(left: bool, modulo: bool) -> Meaning:
    def run(t: Type, _s: Type, a: Any, b: Any) -> Any:
        # A negative count is a large one.
        count = np.asarray(b).astype(np.uint64) & np.uint64((1 << t.bits) - 1)
        if modulo:
            count = count & np.uint64(t.bits - 1)
        inside = count < t.bits
        kept = np.where(inside, count, t.bits - 1).astype(t.element.dtype)
        out = np.left_shift(a, kept) if left else np.right_shift(a, kept)
        return _as(t, out if t.signed and not left else np.where(inside, out, 0))

    return run


def _chosen_by(compare: Meaning | None, holds: bool) -> Meaning:
    """The third where a comparison of the first two ``holds``, or does not, else the fourth."""
    assert compare is not None
    return lambda t, s, a, b, x, y: x if bool(compare(s, s, a, b)) == holds else y


def _merged(meaning: Meaning | None, accumulates: bool) -> Meaning:
    """An operation in the lanes of a mask, its first operand, and the second elsewhere; of one that ``accumulates`` that is its last operand as well."""
    assert meaning is not None
    return functools.partial(_under_mask, meaning, accumulates)


def _under_mask(meaning: Meaning, accumulates: bool, t: Type, s: Type, *operands: Any) -> Any:
    mask, kept, given = operands[0], operands[1], operands[2:]
    return np.where(mask, meaning(t, s, *given, kept) if accumulates else meaning(t, s, *given), kept)


def _also(meaning: Meaning | None) -> Meaning:
    """A comparison that holds in the lanes of a mask, its first operand, only."""
    assert meaning is not None
    known = meaning
    return lambda t, s, mask, a, b: mask & known(t, s, a, b)


def _both(inner: Op, outer: Op, first: bool) -> Meaning:
    """Of three operands, two in one operation and its result in another, as its first operand or its second."""
    begin, end = inner.meaning, outer.meaning
    assert begin is not None
    assert end is not None
    if first:
        return lambda t, s, a, b, c: end(t, s, begin(t, s, a, b), c)
    return lambda t, s, a, b, c: end(t, s, c, begin(t, s, a, b))


def _select(t: Type, _s: Type, m: Any, a: Any, b: Any) -> Any:
    if t.lanes:
        chosen: Any = np.where(m, a, b)
        return chosen
    return a if m else b


def _crc32c(t: Type, s: Type, crc: Any, data: Any) -> Any:
    """The polynomial 0x1EDC6F41 bit by bit, lowest bit first (SDM volume 2, CRC32); no initial or final complement."""
    value = int(crc) ^ (int(data) & ((1 << s.bits) - 1))
    for _ in range(s.bits):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return _as(t, value)


def _popcount(t: Type, _s: Type, a: Any) -> Any:
    """The bits one by one; shifts to the right keep those of negative numbers where they are."""
    return _as(t, sum((a >> k) & 1 for k in range(t.bits)))


def _clamped(t: Type, value: int) -> int:
    low, high = limits(t)
    return min(max(value, low), high)


def _of_bits(result: Callable[[int, int], int]) -> Meaning:
    """Of an integer's bits as a number that is not negative, and how many they are."""
    return lambda t, s, a: _each(t, lambda x: result(x & (1 << t.bits) - 1, t.bits), a)


def _rotate(left: bool) -> Meaning:
    """What is shifted out on one side comes in on the other; the count is taken modulo the width."""

    def run(t: Type, _s: Type, a: Any, b: Any) -> Any:
        def one(x: int, count: int) -> int:
            places = (count if left else -count) % t.bits
            bits = x & (1 << t.bits) - 1
            return bits << places | bits >> t.bits - places

        return _each(t, one, a, b)

    return run


def _python_max(a: Any, b: Any) -> Any:
    return np.where(b > a, b, a)


def _python_min(a: Any, b: Any) -> Any:
    return np.where(b < a, b, a)


# --- arithmetic ----------------------------------------------------------------------------------------------

ADD: Final = row(
    "add", "T T -> T", "int float ptr", "a + b; integers wrap; to a ptr an i64 is added", _quiet(lambda t, s, a, b: _as(t, a + _as(t, b))), commutes=True
)
SUB: Final = row("sub", "T T -> T", "int float ptr", "a - b; integers wrap; from a ptr an i64 is taken", _quiet(lambda t, s, a, b: _as(t, a - _as(t, b))))
MUL: Final = row("mul", "T T -> T", "int float", "a * b; integers wrap", _quiet(lambda t, s, a, b: _as(t, a * b)), commutes=True)
MUL_LOWER: Final = row("mul_lower", "T T -> T", "int vector", "the product of the lower halves of a and b, as unsigned numbers", _mul_lower, commutes=True)
MUL_HIGH: Final = row("mul_high", "T T -> T", "int", "the upper half of the product, which has twice the bits", _mul_high, commutes=True)
DIV: Final = row("div", "T T -> T", "float", "a / b, IEEE division", _quiet(lambda t, s, a, b: _as(t, a / b)))
CLMUL: Final = row(
    "clmul",
    "T T -> T",
    "int",
    "the lower half of the carry-less product, whose partial products are added without carries",
    _integers(_carryless),
    commutes=True,
)
CLMUL_HIGH: Final = row(
    "clmul_high", "T T -> T", "int", "the upper half of the carry-less product", _integers(lambda t, x, y: _carryless(t, x, y) >> t.bits), commutes=True
)
DIV_TRUNC: Final = row("div_trunc", "T T -> T", "int", "a / b rounded towards zero; 0 where b is 0", _div_trunc)
REM_TRUNC: Final = row(
    "rem_trunc", "T T -> T", "int float", "what div_trunc leaves, with the sign of a; where b is 0 of integers 0, of floats NaN", _quiet(_rem_trunc)
)
DIV_FLOOR: Final = row("div_floor", "T T -> T", "int float", "Python's a // b; of integers 0 where b is 0, as in NumPy", _quiet(_div_floor))
REM_FLOOR: Final = row(
    "rem_floor", "T T -> T", "int float", "Python's a % b, with the sign of b; where b is 0 of integers 0, of floats NaN, as in NumPy", _quiet(_rem_floor)
)
NEG: Final = row("neg", "T -> T", "int float", "-a", _quiet(lambda t, s, a: _as(t, -a)))
ABS: Final = row("abs", "T -> T", "int float", "|a|; the most negative integer stays itself", _quiet(lambda t, s, a: _as(t, np.abs(a))))
MIN: Final = row("min", "T T -> T", "int float", "Python's min(a, b): b if b < a else a", lambda t, s, a, b: _as(t, _python_min(a, b)))
MAX: Final = row("max", "T T -> T", "int float", "Python's max(a, b): b if b > a else a", lambda t, s, a, b: _as(t, _python_max(a, b)))
FMA: Final = row("fma", "T T T -> T", "float", "a * b + c with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, a, b, c)), commutes=True)
FMS: Final = row("fms", "T T T -> T", "float", "a * b - c with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, a, b, -c)), commutes=True)
FNMA: Final = row("fnma", "T T T -> T", "float", "c - a * b with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, -a, b, c)), commutes=True)
FNMS: Final = row("fnms", "T T T -> T", "float", "-(a * b) - c with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, -a, b, -c)), commutes=True)
#: The multiply-adds.
FUSED: Final = (FMA, FMS, FNMA, FNMS)
ADD_SATURATED: Final = row(
    "add_saturated",
    "T T -> T",
    "int",
    "a + b; what the type does not hold becomes its nearest bound",
    _integers(lambda t, x, y: _clamped(t, x + y)),
    commutes=True,
)
SUB_SATURATED: Final = row(
    "sub_saturated",
    "T T -> T",
    "int",
    "a - b; what the type does not hold becomes its nearest bound",
    _integers(lambda t, x, y: _clamped(t, x - y)),
)
AVERAGE_DOWN: Final = row("average_down", "T T -> T", "int", "(a + b) / 2 without overflow, rounded down", _integers(lambda t, x, y: x + y >> 1), commutes=True)
AVERAGE_UP: Final = row("average_up", "T T -> T", "int", "(a + b) / 2 without overflow, rounded up", _integers(lambda t, x, y: x + y + 1 >> 1), commutes=True)
ABS_DIFF: Final = row(
    "abs_diff",
    "T T -> T",
    "int",
    "|a - b|, which of signed integers the unsigned type of the width always holds; it wraps to the signed one",
    _integers(lambda t, x, y: abs(x - y)),
    commutes=True,
)
COPY_SIGN: Final = row("copy_sign", "T T -> T", "float", "|a| with the sign of b", lambda t, s, a, b: _as(t, np.copysign(a, b)))
SQRT: Final = row("sqrt", "T -> T", "float", "square root, correctly rounded", _quiet(lambda t, s, a: _as(t, np.sqrt(a))))
#: The estimates of machines differ: what is computed here is what they are near.
RCP_ESTIMATE: Final = row(
    "rcp_estimate",
    "T -> T",
    "float",
    "about 1 / a of f32, off by 1.5 * 2**-12 of it at most; of subnormal numbers it may be infinite, and where it would be one 0",
    _quiet(lambda t, s, a: _as(t, 1 / a)),
)
RSQRT_ESTIMATE: Final = row(
    "rsqrt_estimate",
    "T -> T",
    "float",
    "about 1 / sqrt(a) of f32, off by 1.5 * 2**-12 of it at most; of subnormal numbers it may be infinite with their sign",
    _quiet(lambda t, s, a: _as(t, 1 / np.sqrt(a))),
)
RSQRT: Final = row(
    "rsqrt", "T -> T", "float", "1 / sqrt(a) as `fastmath` takes it, off by 2 units in the last place at most", _quiet(lambda t, s, a: _as(t, 1 / np.sqrt(a)))
)
FLOOR: Final = row("floor", "T -> T", "float", "round towards minus infinity", _quiet(lambda t, s, a: _as(t, np.floor(a))))
CEIL: Final = row("ceil", "T -> T", "float", "round towards plus infinity", _quiet(lambda t, s, a: _as(t, np.ceil(a))))
TRUNC: Final = row("trunc", "T -> T", "float", "round towards zero", _quiet(lambda t, s, a: _as(t, np.trunc(a))))
ROUND: Final = row("round", "T -> T", "float", "round to nearest, ties to even", _quiet(lambda t, s, a: _as(t, np.rint(a))))

# --- lanes within 128 bits ---------------------------------------------------------------------------------------


def _parts_of(t: Type, a: Any) -> Any:
    """A vector as rows of 128 bits, or as one where it has fewer."""
    return a.reshape(-1, min(t.lanes, 128 // t.bits))


def _compressed(t: Type, mask: Any, b: Any) -> Any:
    made = np.zeros(t.lanes, b.dtype)
    kept = b[np.asarray(mask)]
    made[: len(kept)] = kept
    return made


def _expanded(t: Type, mask: Any, b: Any) -> Any:
    made = np.zeros(t.lanes, b.dtype)
    held = np.asarray(mask)
    made[held] = b[: np.count_nonzero(held)]
    return made


def _zipped(t: Type, a: Any, b: Any, high: bool) -> Any:
    a, b = _parts_of(t, a), _parts_of(t, b)
    half = slice(a.shape[1] // 2, None) if high else slice(0, a.shape[1] // 2)
    return np.stack([a[:, half], b[:, half]], axis=2).reshape(-1)


def _unzipped(t: Type, a: Any, b: Any, first: int) -> Any:
    return np.concatenate([_parts_of(t, a)[:, first::2], _parts_of(t, b)[:, first::2]], axis=1).reshape(-1)


def _blended(t: Type, a: Any, b: Any, mask: Any) -> Any:
    a, b = _parts_of(t, a), _parts_of(t, b)
    return np.where([int(mask) >> n & 1 for n in range(a.shape[1])], b, a).reshape(-1).astype(a.dtype)


def _shuffled(t: Type, a: Any, low: Any, high: Any) -> Any:
    given = np.ascontiguousarray(a).view(np.uint8)
    given = given.reshape(-1, min(given.size, 16))
    pattern = (int(low) & (1 << 64) - 1 | (int(high) & (1 << 64) - 1) << 64).to_bytes(16, "little")[: min(t.size, 16)]
    rows = [[row[p] if p < len(row) else 0 for p in pattern] for row in given]
    return np.array(rows, np.uint8).reshape(-1)[: t.size].view(t.element.dtype)


def _looked_up(t: Type, a: Any, b: Any) -> Any:
    table = np.ascontiguousarray(a).view(np.uint8).reshape(-1, 16)
    numbers = np.ascontiguousarray(b).view(np.uint8)
    rows = numbers.reshape(len(table), -1)
    chosen = [[0 if n & 0x80 else row[n & 15] for n in part] for row, part in zip(table, rows, strict=True)]
    return np.array(chosen, np.uint8).reshape(-1).view(t.element.dtype)


# --- bits ----------------------------------------------------------------------------------------------------

AND: Final = row("and", "T T -> T", "int bool mask", "bitwise and", lambda t, s, a, b: a & b, commutes=True)
OR: Final = row("or", "T T -> T", "int bool mask", "bitwise or", lambda t, s, a, b: a | b, commutes=True)
XOR: Final = row("xor", "T T -> T", "int bool mask", "bitwise exclusive or", lambda t, s, a, b: a ^ b, commutes=True)
ANDNOT: Final = row("andnot", "T T -> T", "int bool mask", "~a & b", lambda t, s, a, b: ~a & b)
NOT: Final = row("not", "T -> T", "int bool mask", "bitwise complement; logical of bool and masks", lambda t, s, a: ~a)


def _bitwise_twice() -> dict[tuple[Op, Op, bool], Op]:
    """Add the rows of two bitwise operations in one."""
    made: dict[tuple[Op, Op, bool], Op] = {}
    for inner in (AND, OR, XOR, ANDNOT):
        for outer in (AND, OR, XOR, ANDNOT):
            doc = f"{outer.name} of {inner.name} of the first two and the third"
            made[inner, outer, True] = made[inner, outer, False] = row(f"{inner.name}_{outer.name}", "T T T -> T", "int vector", doc, _both(inner, outer, True))
        doc = f"andnot of the third and {inner.name} of the first two"
        made[inner, ANDNOT, False] = row(f"{inner.name}_except", "T T T -> T", "int vector", doc, _both(inner, ANDNOT, False))
    return made


#: Two bitwise operations of lanes in one, by them and whether the first one's result is the second one's first operand: as the select pass makes them for
#: machines that have them.
BITWISE_TWICE: Final[dict[tuple[Op, Op, bool], Op]] = _bitwise_twice()
SHL: Final = row("shl", "T T -> T", "int", "a << b; 0 where b, taken as unsigned, is the width or more", _shift(True, False))
SHR: Final = row("shr", "T T -> T", "int", "a >> b, signed types filled with the sign; by the width or more nothing else is left", _shift(False, False))
SHL_MODULO: Final = row("shl_modulo", "T T -> T", "int scalar", "a << b; the count modulo the width", _shift(True, True))
SHR_MODULO: Final = row("shr_modulo", "T T -> T", "int scalar", "a >> b, signed types filled with the sign; the count modulo the width", _shift(False, True))

ROTATE_LEFT: Final = row("rotate_left", "T T -> T", "int", "the bits of a moved up by b, modulo the width; those that leave come in below", _rotate(True))
ROTATE_RIGHT: Final = row("rotate_right", "T T -> T", "int", "the bits of a moved down by b, modulo the width; those that leave come in above", _rotate(False))
LEADING_ZEROS: Final = row(
    "leading_zeros", "T -> T", "int", "how many bits above the highest 1 are 0; the width of 0", _of_bits(lambda x, n: n - x.bit_length())
)
TRAILING_ZEROS: Final = row(
    "trailing_zeros", "T -> T", "int", "how many bits below the lowest 1 are 0; the width of 0", _of_bits(lambda x, n: (x & -x).bit_length() - 1 if x else n)
)
BIT_REVERSE: Final = row("bit_reverse", "T -> T", "int", "the bits in the opposite order", _of_bits(lambda x, n: int(f"{x:0{n}b}"[::-1], 2)))
BYTE_SWAP: Final = row(
    "byte_swap", "T -> T", "int", "the bytes in the opposite order", _of_bits(lambda x, n: int.from_bytes(x.to_bytes(n // 8, "little"), "big"))
)
POPCOUNT: Final = row("popcount", "T -> T", "int", "how many bits of a are 1, of negative numbers in two's complement", _popcount)
CRC32C: Final = row("crc32c", "T S -> T", "int scalar", "the CRC-32C of u32 a continued with the bytes of b, a u8, u16, u32 or u64", _crc32c)

# --- comparison and choice -----------------------------------------------------------------------------------

EQ: Final = row("eq", "T T -> M", "int float ptr", "a == b", lambda t, s, a, b: a == b, commutes=True)
NE: Final = row("ne", "T T -> M", "int float ptr", "a != b", lambda t, s, a, b: a != b, commutes=True)
LT: Final = row("lt", "T T -> M", "int float ptr", "a < b", lambda t, s, a, b: a < b)
LE: Final = row("le", "T T -> M", "int float ptr", "a <= b", lambda t, s, a, b: a <= b)
GT: Final = row("gt", "T T -> M", "int float ptr", "a > b", lambda t, s, a, b: a > b)
GE: Final = row("ge", "T T -> M", "int float ptr", "a >= b", lambda t, s, a, b: a >= b)
SELECT: Final = row("select", "M T T -> T", "int float ptr bool mask", "a where the condition holds, b elsewhere", _select)

# --- moving and converting -----------------------------------------------------------------------------------

#: Of 32 bits: what they leave of narrower integers, extended, is one itself. (The least integer by -1 would be none.)
CLOSED: Final = (AND, OR, XOR, MIN, MAX, SHR, SHR_MODULO, SELECT, REM_TRUNC)
COPY: Final = row("copy", "T -> T", "int float ptr bool mask", "a", lambda t, s, a: a)
SWAP: Final = row("swap", "T T ->", "int float ptr bool mask", "exchange two allocated registers", None, WRITES, since="allocate")
CONVERT: Final = row(
    "convert",
    "S -> T",
    "int float ptr bool",
    "value conversion: integers wrap; floats become integers towards zero, those outside the nearest bound, NaN 0",
    _quiet(_convert),
)
CONVERT_UNCHECKED: Final = row(
    "convert_unchecked", "S -> T", "int", "convert of a float that fits; what others become depends on the machine", _quiet(_convert_unchecked)
)
CONVERT_DOWN: Final = row("convert_down", "S -> T", "int", "the floor of a float, where that fits", _rounded_first(np.floor))
CONVERT_UP: Final = row("convert_up", "S -> T", "int", "the ceiling of a float, where that fits", _rounded_first(np.ceil))
CONVERT_NEAREST: Final = row("convert_nearest", "S -> T", "int", "a float rounded to nearest, ties to even, where that fits", _rounded_first(np.rint))
CONVERT_SATURATED: Final = row(
    "convert_saturated",
    "S -> T",
    "int",
    "an integer as one of another type; what that does not hold becomes its nearest bound",
    _integers(lambda t, x: _clamped(t, x)),
)
MUL_WIDE: Final = row(
    "mul_wide",
    "S S -> T",
    "int",
    "the product of integers of half the width and the same signedness, which always fits",
    _integers(lambda t, x, y: x * y),
    commutes=True,
)
#: Floats to integers; what becomes of those that do not fit depends on the machine.
UNCHECKED: Final = (CONVERT_UNCHECKED, CONVERT_DOWN, CONVERT_UP, CONVERT_NEAREST)
BITCAST: Final = row("bitcast", "S -> T", "int float", "the same bits as another type of the same width", _bitcast)
FROM_F16: Final = row(
    "from_f16", "S -> T", "float", "the f16 whose bits a u16 has, as f32, exactly", lambda t, s, a: _as(t, np.asarray(a, np.uint16).view(np.float16))
)
TO_F16: Final = row("to_f16", "S -> T", "int", "an f32 rounded to f16, to nearest, ties to even: its bits, as u16", _quiet(_to_f16))
#: What makes of an operand of one type a result of another, and is done with lanes as with one.
CASTS: Final = (BITCAST, FROM_F16, TO_F16)
MASK_CONVERT: Final = row("mask_convert", "S -> T", "mask", "a mask for lanes of another width", lambda t, s, a: a)
SPLAT: Final = row("splat", "E -> T", "int float vector", "the scalar in every lane", lambda t, s, a: np.full(t.lanes, a, t.element.dtype))
MASK_SPLAT: Final = row("mask_splat", "B -> T", "mask", "the bool in every lane", lambda t, s, a: np.full(t.lanes, bool(a)))
ONES_WHERE: Final = row(
    "ones_where",
    "M -> T",
    "int vector",
    "all bits 1 where the mask holds, 0 elsewhere",
    lambda t, s, m: _as(t, -np.where(m, 1, 0)),
)
MASK_BITS: Final = row(
    "mask_bits",
    "T -> L",
    "mask",
    "bit k is 1 where lane k holds; of at most 64 lanes",
    lambda t, s, m: np.packbits(np.resize(np.append(m, np.zeros(64, bool)), 64), bitorder="little").view(np.int64)[0],
)
IOTA: Final = row("iota", "-> T", "int float vector", "0, 1, 2, … by lane", lambda t, s: np.arange(t.lanes, dtype=t.element.dtype))
LANE_MASK: Final = row("lane_mask", "L L -> T", "mask", "lane k holds where a + k < b", lambda t, s, a, b: np.arange(t.lanes) < min(int(b) - int(a), t.lanes))
FIRST_LANES: Final = row("first_lanes", "L -> T", "mask", "the first a lanes, which is from 0 to all", lambda t, s, a: np.arange(t.lanes) < int(a))
SLIDE: Final = row(
    "slide",
    "T T K -> T",
    "int float vector",
    "lanes k, k + 1, … of a followed by b; k a constant",
    lambda t, s, a, b, k: np.concatenate([a, b])[int(k) : int(k) + t.lanes],
)
REVERSE: Final = row("reverse", "T -> T", "int float vector", "the lanes in the opposite order", lambda t, s, a: a[::-1].copy())
COMPRESS: Final = row(
    "compress",
    "M T -> T",
    "int float vector",
    "the lanes of b where a holds, next to each other from the first on; behind them 0",
    lambda t, s, m, b: _compressed(t, m, b),
)
EXPAND: Final = row(
    "expand",
    "M T -> T",
    "int float vector",
    "where a holds one lane of b after the other, from the first on; elsewhere 0",
    lambda t, s, m, b: _expanded(t, m, b),
)
ZIP_LOW: Final = row(
    "zip_low", "T T -> T", "int vector", "of each 128 bits of a and b the lanes of the lower halves in turn", lambda t, s, a, b: _zipped(t, a, b, False)
)
ZIP_HIGH: Final = row(
    "zip_high", "T T -> T", "int vector", "of each 128 bits of a and b the lanes of the upper halves in turn", lambda t, s, a, b: _zipped(t, a, b, True)
)
UNZIP_EVEN: Final = row(
    "unzip_even", "T T -> T", "int vector", "of each 128 bits the even lanes of a, then those of b", lambda t, s, a, b: _unzipped(t, a, b, 0)
)
UNZIP_ODD: Final = row("unzip_odd", "T T -> T", "int vector", "of each 128 bits the odd lanes of a, then those of b", lambda t, s, a, b: _unzipped(t, a, b, 1))
BLEND: Final = row(
    "blend",
    "T T C -> T",
    "int vector",
    "of each 128 bits lane n of b where bit n of the constant is 1, of a elsewhere",
    lambda t, s, a, b, m: _blended(t, a, b, m),
)
CHOOSE_CHUNKS: Final = row(
    "choose_chunks",
    "T T C -> T",
    "int vector",
    "of the 128 bits that a has twice, numbers 0 and 1, and b, 2 and 3, those of the constant's lowest four bits, then those of the next four",
    lambda t, s, a, b, m: np.concatenate([np.concatenate([_parts_of(t, a), _parts_of(t, b)])[int(m) >> n & 3] for n in (0, 4)]),
)
LANE_PATTERN: Final = row(
    "lane_pattern",
    "C -> T",
    "mask",
    "lane n holds where bit n of the constant is 1",
    lambda t, s, m: np.array([int(m) >> n & 1 for n in range(t.lanes)], bool),
)
SHUFFLE_BYTES: Final = row(
    "shuffle_bytes",
    "S C C -> T",
    "int vector",
    "of each 128 bits the bytes of a that the bytes of the two constants name, lowest first; 0 where one is 128 or more",
    lambda t, s, a, low, high: _shuffled(t, a, low, high),
)
EXTRACT: Final = row("extract", "T -> E", "int float vector", "lane 0", lambda t, s, a: a[0])
REDUCE_ADD: Final = reduction("reduce_add", ADD, 0, "int float vector", "sum of the lanes, by halving", _reduce(np.add))
REDUCE_MUL: Final = reduction("reduce_mul", MUL, 1, "int float vector", "product of the lanes, by halving", _reduce(np.multiply))
REDUCE_MIN: Final = reduction("reduce_min", MIN, None, "int float vector", "least lane, by halving with min", _reduce(_python_min))
REDUCE_MAX: Final = reduction("reduce_max", MAX, None, "int float vector", "greatest lane, by halving with max", _reduce(_python_max))
REDUCE_AND: Final = reduction("reduce_and", AND, None, "int vector", "bitwise and of the lanes", _reduce(np.bitwise_and))
REDUCE_OR: Final = reduction("reduce_or", OR, None, "int vector", "bitwise or of the lanes", _reduce(np.bitwise_or))
REDUCE_XOR: Final = reduction("reduce_xor", XOR, 0, "int vector", "bitwise exclusive or of the lanes", _reduce(np.bitwise_xor))
LOOKUP_BYTES: Final = row(
    "lookup_bytes",
    "S T -> T",
    "int vector",
    "by bytes, each by the lower four bits of the second operand's, one of the 16 bytes of a in the same 128 bits; 0 where the top bit is set",
    lambda t, s, a, b: _looked_up(t, a, b),
)
LOOKUP_LANES: Final = row(
    "lookup_lanes",
    "T S -> T",
    "int float vector",
    "in each lane the lane of a whose number the second operand has there, modulo the lanes",
    lambda t, s, a, b: a[b.astype(np.int64) & t.lanes - 1],
)
LOOKUP_PAIR: Final = row(
    "lookup_pair",
    "T T S -> T",
    "int float vector",
    "in each lane that of the lanes of a, and behind them those of b, whose number the third operand has there, modulo as many as they are together",
    lambda t, s, a, b, numbers: np.concatenate([a, b])[numbers.astype(np.int64) & 2 * t.lanes - 1],
)
LITERAL: Final = row(
    "literal",
    "C C C C C C C C -> T",
    "int vector",
    "the lanes that are in eight words of 64 bits, the lowest first",
    lambda t, s, *words: np.array([int(word) for word in words], np.int64).view(np.uint8)[: t.size].view(t.element.dtype).copy(),
)
#: Of lanes that are narrower than the result's, and as many more: what takes the place of one of its lanes becomes one number.
SUM_GROUPS: Final = row(
    "sum_groups",
    "S -> T",
    "int float vector",
    "in each lane the sum of the narrower lanes that take its place in a",
    _quiet(lambda t, s, a: _of_groups(t, a.astype(t.element.dtype if t.is_float else np.int64))),
)
SUM_ABS_DIFF: Final = row(
    "sum_abs_diff",
    "S S -> T",
    "int vector",
    "in each lane the sum of the absolute differences of the narrower lanes that take its place in a and b",
    lambda t, s, a, b: _of_groups(t, np.abs(a.astype(np.int64) - b.astype(np.int64))),
    commutes=True,
)
DOT: Final = row(
    "dot",
    "S S -> T",
    "int vector",
    "in each lane the sum of the products of the narrower lanes that take its place in a and b",
    lambda t, s, a, b: _of_groups(t, a.astype(np.int64) * b.astype(np.int64)),
    commutes=True,
)
DOT_ADD: Final = row(
    "dot_add",
    "S S T -> T",
    "int vector",
    "in each lane c and the sum of the products of the narrower lanes that take its place in a and b; it wraps",
    lambda t, s, a, b, c: _as(t, c + _of_groups(t, a.astype(np.int64) * b.astype(np.int64))),
)
DOT_MIXED_ADD: Final = row(
    "dot_mixed_add",
    "S S T -> T",
    "int vector",
    "as dot_add, where the lanes of a are unsigned numbers and those of b signed ones, whatever their type",
    lambda t, s, a, b, c: _as(t, c + _of_groups(t, _as_unsigned(s, a).astype(np.int64) * _as_signed(s, b).astype(np.int64))),
)
#: Those whose operands have lanes of fewer bits, and more of them.
GROUPED: Final = frozenset((SUM_GROUPS, SUM_ABS_DIFF, DOT, DOT_ADD, DOT_MIXED_ADD))
#: How an accumulator may be updated, besides by what it is combined with: operation -> (what it combines by, where the accumulator stands).
UPDATES: Final[dict[Op, tuple[Op, int]]] = {SUB: (ADD, 0), FMA: (ADD, 2), FNMA: (ADD, 2), DOT_ADD: (ADD, 2), DOT_MIXED_ADD: (ADD, 2)}
ANY_LANE: Final = row(
    "any_lane",
    "T -> B",
    "bool",
    "in a loop over lanes, whether it holds in one of the indices that run at once; elsewhere a",
    lambda t, s, a: a,
    until="vectorize",
)
ALL_LANES: Final = row(
    "all_lanes",
    "T -> B",
    "bool",
    "in a loop over lanes, whether it holds in all of the indices that run at once; elsewhere a",
    lambda t, s, a: a,
    until="vectorize",
)
ANY: Final = row("any", "T -> B", "mask", "true when a lane holds", lambda t, s, a: np.bool_(np.any(a)))
ALL: Final = row("all", "T -> B", "mask", "true when every lane holds", lambda t, s, a: np.bool_(np.all(a)))

# --- memory: array accesses (imm = number of the array), then addresses ---------------------------------------

LOAD: Final = row(
    "load", "*L -> T", "int float", "array element(s) at the indices; a vector takes lanes along the last dimension", None, READS, until="addresses"
)
STORE: Final = row("store", "T *L ->", "int float", "write array element(s) at the indices", None, WRITES, until="addresses")
MASKED_LOAD: Final = row(
    "masked_load", "M *L -> T", "int float vector", "load where the mask holds, zero elsewhere; other lanes touch no memory", None, READS, until="addresses"
)
MASKED_STORE: Final = row(
    "masked_store", "M T *L ->", "int float vector", "store where the mask holds; other lanes touch no memory", None, WRITES, until="addresses"
)
LOAD_STRIDED: Final = row(
    "load_strided",
    "L *L -> T",
    "int float vector",
    "array elements from the indices on, lane by lane so many bytes further; each at indices that the array has",
    None,
    READS,
    until="addresses",
)
STORE_STRIDED: Final = row(
    "store_strided",
    "T L *L ->",
    "int float vector",
    "write array elements from the indices on, lane by lane so many bytes further",
    None,
    WRITES,
    until="addresses",
)
MASKED_LOAD_STRIDED: Final = row(
    "masked_load_strided",
    "M L *L -> T",
    "int float vector",
    "load_strided where the mask holds, zero elsewhere; other lanes touch no memory",
    None,
    READS,
    until="addresses",
)
MASKED_STORE_STRIDED: Final = row(
    "masked_store_strided",
    "M T L *L ->",
    "int float vector",
    "store_strided where the mask holds; other lanes touch no memory",
    None,
    WRITES,
    until="addresses",
)
LOAD_ROWS: Final = row(
    "load_rows",
    "L *L -> T",
    "int float vector",
    "128 bits of array elements from the indices on, and from each so many bytes further",
    None,
    READS,
    until="addresses",
)
STORE_ROWS: Final = row(
    "store_rows",
    "T L *L ->",
    "int float vector",
    "write each 128 bits to the array, from the indices on, so many bytes further",
    None,
    WRITES,
    until="addresses",
)
LOAD_AT: Final = row("load_at", "A -> T", "int float ptr", "load from an address", None, READS)
STORE_AT: Final = row("store_at", "T A ->", "int float ptr", "store to an address", None, WRITES)
STORE_PAST_AT: Final = row(
    "store_past_at",
    "T A ->",
    "int float vector",
    "store past the caches to an address that is a multiple of the vector's size",
    None,
    WRITES,
    since="addresses",
)
MASKED_LOAD_AT: Final = row("masked_load_at", "M A -> T", "int float vector", "load from an address where the mask holds, zero elsewhere", None, READS)
MASKED_STORE_AT: Final = row("masked_store_at", "M T A ->", "int float vector", "store to an address where the mask holds", None, WRITES)
LOAD_STRIDED_AT: Final = row("load_strided_at", "L A -> T", "int float vector", "load_strided from an address", None, READS)
STORE_STRIDED_AT: Final = row("store_strided_at", "T L A ->", "int float vector", "store_strided to an address", None, WRITES)
MASKED_LOAD_STRIDED_AT: Final = row("masked_load_strided_at", "M L A -> T", "int float vector", "masked_load_strided from an address", None, READS)
MASKED_STORE_STRIDED_AT: Final = row("masked_store_strided_at", "M T L A ->", "int float vector", "masked_store_strided to an address", None, WRITES)
LOAD_ROWS_AT: Final = row("load_rows_at", "L A -> T", "int float vector", "load_rows from an address", None, READS)
STORE_ROWS_AT: Final = row("store_rows_at", "T L A ->", "int float vector", "store_rows to an address", None, WRITES)
GATHER_AT: Final = row(
    "gather_at",
    "M S A -> T",
    "int float vector",
    "where the mask holds the element imm * offset bytes from an address, zero elsewhere; other lanes touch no memory",
    None,
    READS,
)
SCATTER_AT: Final = row(
    "scatter_at",
    "M T S A ->",
    "int float vector",
    "where the mask holds store the element imm * offset bytes from an address, lane after lane; other lanes touch no memory",
    None,
    WRITES,
)
GATHER_SINGLY: Final = row(
    "gather_singly", "S P -> T", "int float vector", "the elements imm * offset bytes from a pointer, loaded one by one", None, READS, since="select"
)
#: Those whose lanes each have an address of their own. Their ``imm`` is what the offsets count in: 1, 2, 4 or 8 bytes.
INDEXED: Final = frozenset((GATHER_AT, SCATTER_AT))
#: Operations on what is in memory, which leave their result there, as the select pass makes them.
IN_PLACE: Final[dict[Op, Op]] = {
    _op: row(f"{_op.name}_at", "T A ->", "int scalar", f"what is at an address becomes {_op.name} of it and the operand", None, WRITES, since="select")
    for _op in (ADD, SUB, AND, OR, XOR)
}
#: The operation in each of these.
DONE_IN_PLACE: Final[dict[Op, Op]] = {_made: _op for _op, _made in IN_PLACE.items()}
LOAD_CHUNKS_AT: Final = row(
    "load_chunks_at", "A -> T", "int vector", "128 bits from an address, and from each imm bytes further, as many as the vector has", None, READS
)
STORE_CHUNKS_AT: Final = row("store_chunks_at", "T A ->", "int vector", "store each 128 bits imm bytes further, from an address on", None, WRITES)
#: Those whose parts of 128 bits are so many bytes apart.
CHUNKS: Final = frozenset((LOAD_CHUNKS_AT, STORE_CHUNKS_AT))
ADDRESS: Final = row("address", "A -> P", "ptr", "the address itself", None)
_ON_ARRAYS: Final = (
    *(LOAD, STORE, MASKED_LOAD, MASKED_STORE, LOAD_ROWS, STORE_ROWS),
    *(LOAD_STRIDED, STORE_STRIDED, MASKED_LOAD_STRIDED, MASKED_STORE_STRIDED),
)
#: The operations on arrays, and how many operands stand before the indices; what they are on addresses.
ACCESSES: Final[dict[Op, int]] = {op: len(op.operands) - 1 for op in _ON_ARRAYS}
AT_ADDRESS: Final[dict[Op, Op]] = {
    LOAD: LOAD_AT,
    STORE: STORE_AT,
    MASKED_LOAD: MASKED_LOAD_AT,
    MASKED_STORE: MASKED_STORE_AT,
    LOAD_STRIDED: LOAD_STRIDED_AT,
    STORE_STRIDED: STORE_STRIDED_AT,
    MASKED_LOAD_STRIDED: MASKED_LOAD_STRIDED_AT,
    MASKED_STORE_STRIDED: MASKED_STORE_STRIDED_AT,
    LOAD_ROWS: LOAD_ROWS_AT,
    STORE_ROWS: STORE_ROWS_AT,
}
#: Those whose lanes are not next to each other in memory.
STRIDED: Final = frozenset(
    (
        *(LOAD_STRIDED, STORE_STRIDED, LOAD_STRIDED_AT, STORE_STRIDED_AT),
        *(MASKED_LOAD_STRIDED, MASKED_STORE_STRIDED, MASKED_LOAD_STRIDED_AT, MASKED_STORE_STRIDED_AT),
    )
)
#: Those of which each 128 bits are next to each other.
ROWS: Final = frozenset((LOAD_ROWS, STORE_ROWS, LOAD_ROWS_AT, STORE_ROWS_AT))
#: All of these, and those whose lanes each have an address of their own.
SCATTERED: Final = STRIDED | ROWS | INDEXED | CHUNKS
#: Of accesses under a mask, those without.
UNMASKED: Final[dict[Op, Op]] = {
    MASKED_LOAD: LOAD,
    MASKED_LOAD_AT: LOAD_AT,
    MASKED_STORE: STORE,
    MASKED_STORE_AT: STORE_AT,
    MASKED_LOAD_STRIDED: LOAD_STRIDED,
    MASKED_LOAD_STRIDED_AT: LOAD_STRIDED_AT,
    MASKED_STORE_STRIDED: STORE_STRIDED,
    MASKED_STORE_STRIDED_AT: STORE_STRIDED_AT,
}

LOCAL: Final = row(
    "local", "L -> P", "ptr", "the address of a local array, given by its number, a constant; what is in it is undefined until it is written", None
)

GLOBAL: Final = row("global", "C -> P", "ptr", "the address of a global, given by its number among those the function names", None)
FUNCTION: Final = row("function", "C -> P", "ptr", "the address of a function, given by its number among the callees", None)
TABLE: Final = row("table", "L -> P", "ptr", "the address of a constant array, given by its number, a constant", None)
INCOMING: Final = row(
    "incoming",
    "C -> P",
    "ptr",
    "the address of the arguments on the stack, from so many bytes, a constant, behind the first on; below 0 of memory of the frame in front of them",
    None,
)
#: Addresses by number: a constant that no register holds.
NUMBERED: Final = frozenset((LOCAL, TABLE, GLOBAL, FUNCTION, INCOMING))

#: Memory that holds the elements of several vectors in turn, by how many those are. A load names the one it takes by its ``imm``; the select pass makes
#: the loads from one address one instruction with several results: its own is the first, and each ``part`` right behind it is one more. (No machine has
#: one for more than four: others become other instructions in front of the select pass.)
LOAD_PART: Final[dict[int, Op]] = {}
LOAD_PARTS: Final[dict[int, Op]] = {}
STORE_PARTS: Final[dict[int, Op]] = {}
for _n in range(2, 9):
    LOAD_PART[_n] = row(
        f"load_part{_n}", "A -> T", "int float vector", f"elements imm, imm + {_n}, imm + {2 * _n}, … behind an address", None, READS, until="select"
    )
    STORE_PARTS[_n] = row(
        f"store_parts{_n}",
        "T " * _n + "A ->",
        "int float vector",
        f"store the elements of {_n} vectors in turn: the first of each, the second of each, …",
        None,
        WRITES,
    )
    LOAD_PART[_n].parts = STORE_PARTS[_n].parts = _n
for _n in (2, 3, 4):
    LOAD_PARTS[_n] = row(
        f"load_parts{_n}",
        "A -> T" + " T" * (_n - 1),
        "int float vector",
        f"elements 0, {_n}, {2 * _n}, … behind an address; others are its parts",
        None,
        READS,
        since="select",
    )
    LOAD_PARTS[_n].parts = _n
#: The same where some bytes of each group stay as they are in memory: stored are those whose bits ``imm`` has, 16 of which say which of 128 bits.
STORE_SOME: Final[dict[int, Op]] = {}
for _n in (1, 2, 4):
    STORE_SOME[_n] = row(
        f"store_some{_n}",
        "T " * _n + "A ->",
        "int float vector",
        f"store the elements of {_n} vectors in turn, of each 16 bytes those whose bits imm has"
        if _n > 1
        else "store, of each 16 bytes, those whose bits imm has",
        None,
        WRITES,
    )
    STORE_SOME[_n].parts = _n

#: Accesses that move their pointer on by ``imm`` bytes: the pointer behind the access is a result, of a load the last one, as a ``part``. The access is
#: where the pointer is before, or, where the address has a displacement, which is ``imm`` then, behind.
LOAD_ADVANCE: Final = row(
    "load_advance", "A -> T P", "int float ptr", "load from an address, and the pointer imm bytes on, its part", None, READS, since="select"
)
STORE_ADVANCE: Final = row("store_advance", "T A -> P", "int float ptr", "store to an address; the pointer imm bytes on", None, WRITES, since="select")
LOAD_PARTS_ADVANCE: Final[dict[int, Op]] = {}
STORE_PARTS_ADVANCE: Final[dict[int, Op]] = {}
for _n in (2, 3, 4):
    LOAD_PARTS_ADVANCE[_n] = row(
        f"load_parts{_n}_advance",
        "A -> T" + " T" * (_n - 1) + " P",
        "int float vector",
        f"load_parts{_n}, and the pointer imm bytes on, its last part",
        None,
        READS,
        since="select",
    )
    STORE_PARTS_ADVANCE[_n] = row(
        f"store_parts{_n}_advance", "T " * _n + "A -> P", "int float vector", f"store_parts{_n}; the pointer imm bytes on", None, WRITES, since="select"
    )
    LOAD_PARTS_ADVANCE[_n].parts = STORE_PARTS_ADVANCE[_n].parts = _n
#: The accesses that do not move their pointer, by those that do.
ADVANCES: Final[dict[Op, Op]] = {LOAD_AT: LOAD_ADVANCE, STORE_AT: STORE_ADVANCE}
for _n in (2, 3, 4):
    ADVANCES[LOAD_PARTS[_n]] = LOAD_PARTS_ADVANCE[_n]
    ADVANCES[STORE_PARTS[_n]] = STORE_PARTS_ADVANCE[_n]

ADD_SCALED: Final = row(
    "add_scaled", "T T C -> T", "int scalar", "a + b * c, c being 2, 4 or 8", _quiet(lambda t, s, a, b, c: _as(t, a + b * _as(t, c))), since="select"
)
DIV_REM: Final = row(
    "div_rem", "T T -> T T", "int scalar", "quotient and, as its part, remainder, truncated; the divisor is neither 0 nor -1", None, since="select"
)
PART: Final = row("part", "-> T", "int float ptr scalar vector", "result number imm, from 1, of the instruction with several in front", since="select")

# --- calls ---------------------------------------------------------------------------------------------------

CALL: Final = row("call", "* -> T", "int float bool ptr", "call callee number imm and take its result", None, CALLS)
CALL_VOID: Final = row("call_void", "* ->", "", "call callee number imm", None, CALLS)
CALL_INDIRECT: Final = row(
    "call_indirect", "* -> T", "int float bool ptr", "call the function at an address, the first operand, with the signature of callee number imm", None, CALLS
)
CALL_INDIRECT_VOID: Final = row("call_indirect_void", "* ->", "", "the same, of a function without a result", None, CALLS)
TAIL_CALL: Final = row(
    "tail_call", "* ->", "", "leave the function for callee number imm, which returns to where this one would have", None, CONTROL, since="lower-late"
)
TAIL_CALL_INDIRECT: Final = row("tail_call_indirect", "* ->", "", "the same by an address, the first operand", None, CONTROL, since="lower-late")
#: What calls become behind which nothing is left to do but to return.
TAIL_CALLS: Final[dict[Op, Op]] = {CALL: TAIL_CALL, CALL_VOID: TAIL_CALL, CALL_INDIRECT: TAIL_CALL_INDIRECT, CALL_INDIRECT_VOID: TAIL_CALL_INDIRECT}
#: Calls by an address, and all calls of functions. (Other operations count as calls by their effect: they change what calls change.)
INDIRECT: Final = frozenset((CALL_INDIRECT, CALL_INDIRECT_VOID, TAIL_CALL_INDIRECT))
CALLING: Final = frozenset((CALL, CALL_VOID, TAIL_CALL)) | INDIRECT
ALLOCA: Final = row(
    "alloca",
    "L C -> P",
    "ptr",
    "the address of so many bytes more of the stack, a multiple of the second, a power of two; they go when the function returns",
    None,
    CALLS,
)
BARRIER: Final = row("barrier", "->", "", "memory may be read and written by others here: accesses stay in front of it or behind it", None, CALLS)
STORE_FENCE: Final = row("store_fence", "->", "", "what was stored past the caches is seen by others before what is stored behind", None, CALLS)
#: Those that are about the order of accesses alone.
BARRIERS: Final = frozenset((BARRIER, STORE_FENCE))
STACK_POINTER: Final = row("stack_pointer", "-> P", "ptr", "how far down the stack is in use", None)
UNREACHABLE: Final = row("unreachable", "->", "", "no way through the program leads here", None, CONTROL, until="promote")
RET: Final = row("ret", "* ->", "", "return, with the function's result if it has one", None, CONTROL)
STORE_ARG: Final = row("store_arg", "T ->", "int float bool ptr", "put an argument of the next call on the stack, imm bytes up", None, WRITES, since="select")
FAIL: Final = row("fail", "* ->", "", "checked mode: report site number imm with the offending values, and return", None, CONTROL, until="select")

# --- brackets ------------------------------------------------------------------------------------------------

BLOCK: Final = row("block", "->", "", "a bracket that br leaves", None, CONTROL, opens=True, until="jumps")
LOOP: Final = row("loop", "->", "", "a bracket that br repeats", None, CONTROL, opens=True, until="jumps")
IF: Final = row("if", "B ->", "", "what follows runs when the condition holds; br leaves it", None, CONTROL, opens=True, until="jumps")
ELIF: Final = row("elif", "->", "", "begins the next condition of an if …", None, CONTROL, opens=True, closes=True, until="elif")
THEN: Final = row("then", "B ->", "", "… and ends it", None, CONTROL, opens=True, closes=True, until="elif")
ELSE: Final = row("else", "->", "", "what follows runs when no condition held", None, CONTROL, opens=True, closes=True, until="jumps")
FOR: Final = row(
    "for", "L L L -> L", "", "i = lo, hi, step (a constant, not 0); bounds read once; br goes on with the next i", None, CONTROL, opens=True, until="loops"
)
WHILE: Final = row("while", "->", "", "begins the condition of a loop; br goes there", None, CONTROL, opens=True, until="loops")
DO: Final = row("do", "B ->", "", "ends the condition of a while; the body follows", None, CONTROL, opens=True, closes=True, until="loops")
END: Final = row("end", "->", "", "closes the innermost bracket", None, CONTROL, closes=True, until="jumps")
BR: Final = row("br", "->", "", "leave (block, if) or repeat (loop, for, while) the imm-th enclosing bracket, 0 the innermost", None, CONTROL, until="jumps")
BR_IF: Final = row("br_if", "B ->", "", "br when the condition holds", None, CONTROL, until="jumps")

# Brackets and branches with the comparison inside, as the select pass makes them. The n-forms hold when the
# comparison does not, which for floats differs from the opposite comparison where a NaN is involved.
COMPARISONS: Final[dict[str, Op]] = {"eq": EQ, "ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE}
#: The operations that compare.
COMPARING: Final = frozenset(COMPARISONS.values())
#: Quotients and remainders of integers.
DIVISIONS: Final = frozenset((DIV_FLOOR, REM_FLOOR, DIV_TRUNC, REM_TRUNC))
CONDITIONS: Final[tuple[str, ...]] = ("eq", "ne", "lt", "le", "gt", "ge", "nlt", "nle", "ngt", "nge")
#: Tests of bits of integers, which stand inside only: whether two have none in common, or some.
TESTS: Final[dict[str, Meaning]] = {"disjoint": lambda t, s, a, b: np.bool_(a & b == 0), "meets": lambda t, s, a, b: np.bool_(a & b != 0)}
#: Tests of masks, which stand inside only: whether in no lane both hold, in some both; wherever the second holds the first does too, somewhere not.
MASK_TESTS: Final[dict[str, Meaning]] = {
    "apart": lambda t, s, a, b: np.bool_(not (a & b).any()),
    "shares": lambda t, s, a, b: np.bool_((a & b).any()),
    "covers": lambda t, s, a, b: np.bool_(not (~a & b).any()),
    "misses": lambda t, s, a, b: np.bool_((~a & b).any()),
}
IF_CMP: Final[dict[str, Op]] = {}
BR_CMP: Final[dict[str, Op]] = {}
JUMP_CMP: Final[dict[str, Op]] = {}
for _c in CONDITIONS:
    IF_CMP[_c] = row(
        f"if_{_c}", "T T ->", "int float ptr bool", f"if with the comparison {_c} inside", None, CONTROL, opens=True, compare=_c, since="select", until="jumps"
    )
    BR_CMP[_c] = row(f"br_{_c}", "T T ->", "int float ptr bool", f"br when {_c} holds", None, CONTROL, compare=_c, since="select", until="jumps")
    JUMP_CMP[_c] = row(f"jump_{_c}", "T T ->", "int float ptr bool", f"jump to label imm when {_c} holds", None, CONTROL, compare=_c, since="jumps")
for _c in TESTS:
    IF_CMP[_c] = row(f"if_{_c}", "T T ->", "int scalar", f"if with the test {_c} inside", None, CONTROL, opens=True, compare=_c, since="select", until="jumps")
    BR_CMP[_c] = row(f"br_{_c}", "T T ->", "int scalar", f"br when {_c} holds", None, CONTROL, compare=_c, since="select", until="jumps")
    JUMP_CMP[_c] = row(f"jump_{_c}", "T T ->", "int scalar", f"jump to label imm when {_c} holds", None, CONTROL, compare=_c, since="jumps")
for _c in MASK_TESTS:
    IF_CMP[_c] = row(f"if_{_c}", "T T ->", "mask", f"if with the test {_c} inside", None, CONTROL, opens=True, compare=_c, since="select", until="jumps")
    BR_CMP[_c] = row(f"br_{_c}", "T T ->", "mask", f"br when {_c} holds", None, CONTROL, compare=_c, since="select", until="jumps")
    JUMP_CMP[_c] = row(f"jump_{_c}", "T T ->", "mask", f"jump to label imm when {_c} holds", None, CONTROL, compare=_c, since="jumps")

# The ways of a `switch`, as the switches pass makes them: each is taken for one value. They compare nothing, and stand behind it in a row.
IF_CASE: Final = row(
    "if_case", "->", "", "what follows runs when it is this case's turn", None, CONTROL, opens=True, compare="case", since="allocate", until="jumps"
)
BR_CASE: Final = row(
    "br_case",
    "->",
    "",
    "br when the value of the `switch` in front is this case's number, counted from 0",
    None,
    CONTROL,
    compare="case",
    since="switches",
    until="jumps",
)
JUMP_CASE: Final = row(
    "jump_case", "->", "", "where the `jump_table` in front goes for the next value, from 0 on", None, CONTROL, compare="case", since="jumps"
)
IF_CMP["case"] = IF_CASE
BR_CMP["case"] = BR_CASE
JUMP_CMP["case"] = JUMP_CASE
SWITCH: Final = row(
    "switch",
    "L C ->",
    "",
    "one of the cases behind it, as many as the second operand says, by the first, taken as unsigned; what follows them where that is greater",
    None,
    WRITES,
    since="switches",
    until="jumps",
)

#: A choice with the comparison of other integers inside, or of floats, as the select pass makes it.
SELECT_CMP: Final[dict[str, Op]] = {}
for _c in (*CONDITIONS, *TESTS):
    SELECT_CMP[_c] = row(
        f"select_{_c}",
        "S S T T -> T",
        "int float bool scalar ptr",
        f"the third where the comparison {_c} of the first two holds, else the fourth",
        _chosen_by(TESTS[_c] if _c in TESTS else COMPARISONS[_c.removeprefix("n") if _c != "ne" else _c].meaning, _c in COMPARISONS or _c in TESTS),
        since="select",
    )

COUNT_WHERE: Final = row(
    "count_where", "M T -> T", "int vector", "one more where the mask holds", lambda t, s, m, a: a + m.astype(t.element.dtype), since="select"
)


def _where() -> dict[Op, Op]:
    """Add the rows of operations under masks."""
    made: dict[Op, Op] = {}
    for op in (ADD, SUB, MUL, DIV, MIN, MAX, AND, OR, XOR, ANDNOT, SHL, SHR):
        doc = f"{op.name} of the last two where the mask holds, else the second"
        made[op] = row(
            f"{op.name}_where", "M T T T -> T", " ".join(sorted({"int", "float"} & op.types)) + " vector", doc, _merged(op.meaning, False), since="select"
        )
    for op in (ABS, SQRT):
        doc = f"{op.name} of the last where the mask holds, else the second"
        made[op] = row(
            f"{op.name}_where", "M T T -> T", " ".join(sorted({"int", "float"} & op.types)) + " vector", doc, _merged(op.meaning, False), since="select"
        )
    for op in FUSED:
        doc = f"{op.name} of the last two and the second where the mask holds, else the second"
        made[op] = row(f"{op.name}_where", "M T T T -> T", "float vector", doc, _merged(op.meaning, True), since="select")
    for op in COMPARISONS.values():
        doc = f"whether {op.name} of the last two holds, and the mask does"
        made[op] = row(f"{op.name}_where", "M T T -> M", "int float vector", doc, _also(op.meaning), since="select")
    return made


#: Operations of lanes under a mask, as the select pass makes them for machines that have them: of a choice between what the operation gives and something else, of a
#: multiply-add what is added to; of a comparison and a mask that is to hold as well.
WHERE: Final[dict[Op, Op]] = _where()
UNDER_MASKS: Final[frozenset[Op]] = frozenset(WHERE.values())

#: Those of which a lane of the result depends on other lanes than that one of the operands, though they are as many.
ACROSS_LANES: Final = frozenset(
    (
        *(SLIDE, REVERSE, COMPRESS, EXPAND, ZIP_LOW, ZIP_HIGH, UNZIP_EVEN, UNZIP_ODD, SHUFFLE_BYTES),
        *(LOOKUP_BYTES, LOOKUP_LANES, LOOKUP_PAIR, SUM_GROUPS, SUM_ABS_DIFF),
    )
)
#: Those that make each lane of one vector of the same lanes of others, where all have as many: in whatever order the lanes of all stand.
LANE_BY_LANE: Final = frozenset(
    op for op in OPS if op.pure and op.operands and op.result in ("T", "M") and set(op.operands) <= {"T", "S", "M"} and op not in ACROSS_LANES
)

#: The comparison inside each of these.
CHOICES: Final[dict[Op, str]] = {op: condition for condition, op in SELECT_CMP.items()}

# --- after the jumps pass ------------------------------------------------------------------------------------

LABEL: Final = row("label", "->", "", "label number imm; aligned where the head of an inner loop", None, CONTROL, since="jumps")
JUMP: Final = row("jump", "->", "", "jump to label imm", None, CONTROL, since="jumps")
JUMP_IF: Final = row("jump_if", "B ->", "", "jump to label imm when the condition holds", None, CONTROL, since="jumps")
JUMP_TABLE: Final = row(
    "jump_table",
    "L C ->",
    "",
    "go where the cases behind it say, by the first operand; to label imm where that is not below their number, the second",
    None,
    CONTROL,
    since="jumps",
)
JUMP_UNLESS: Final = row("jump_unless", "B ->", "", "jump to label imm when the condition does not hold", None, CONTROL, since="jumps")

# --- frames (after allocate) ---------------------------------------------------------------------------------

PROLOGUE: Final = row("prologue", "->", "", "make the frame, save the callee-saved registers in use", None, CONTROL, since="allocate")
EPILOGUE: Final = row("epilogue", "->", "", "undo the prologue", None, CONTROL, since="allocate")

#: The condition that holds exactly when the given one does not.
OPPOSITE: Final[dict[str, str]] = {
    "eq": "ne",
    "ne": "eq",
    "lt": "nlt",
    "nlt": "lt",
    "le": "nle",
    "nle": "le",
    "gt": "ngt",
    "ngt": "gt",
    "ge": "nge",
    "nge": "ge",
    "disjoint": "meets",
    "meets": "disjoint",
    "apart": "shares",
    "shares": "apart",
    "covers": "misses",
    "misses": "covers",
}
#: For totally ordered operands (integers, pointers) the n-forms have plain equals.
ORDERED_EQUAL: Final[dict[str, str]] = {"nlt": "ge", "nle": "gt", "ngt": "le", "nge": "lt"}
#: The condition that holds with the operands exchanged.
EXCHANGED: Final[dict[str, str]] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
    "nlt": "ngt",
    "ngt": "nlt",
    "nle": "nge",
    "nge": "nle",
}
