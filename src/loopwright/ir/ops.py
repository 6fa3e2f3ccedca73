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

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.ir.stages import LAST, STAGES
from loopwright.types import BOOL, I64, PTR, Type, mask_of, saturated

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
        self.result = right.strip()
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
    letter = op.result
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
    return _each(t, lambda x, y: x - y * (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) if y else 0, a, b)


def _mul_lower(t: Type, _s: Type, a: Any, b: Any) -> Any:
    lower = (1 << t.bits // 2) - 1
    return _each(t, lambda x, y: (x & lower) * (y & lower), a, b)


def _mul_high(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x * y >> t.bits, a, b)


def _div_floor(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x // y if y else 0, a, b) if t.is_integer else _as(t, np.floor_divide(a, b))


def _rem_floor(t: Type, _s: Type, a: Any, b: Any) -> Any:
    return _each(t, lambda x, y: x % y if y else 0, a, b)


def _each(t: Type, one: Callable[..., int], *operands: Any) -> Any:
    """Apply a function on Python integers lane by lane and wrap to the type."""
    wrap = (1 << t.bits) - 1

    def fold(value: int) -> int:
        value &= wrap
        return value - wrap - 1 if t.signed and value >> (t.bits - 1) else value

    if t.lanes:
        return np.array([fold(one(*(int(v) for v in lane))) for lane in zip(*operands, strict=True)], dtype=t.element.dtype)
    return np.dtype(t.dtype).type(fold(one(*(int(v) for v in operands))))


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


def _chosen_by(comparison: Op) -> Meaning:
    compare = comparison.meaning
    assert compare is not None
    return lambda t, s, a, b, x, y: x if compare(s, s, a, b) else y


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
DIV_TRUNC: Final = row("div_trunc", "T T -> T", "int", "a / b rounded towards zero; 0 where b is 0", _div_trunc)
REM_TRUNC: Final = row("rem_trunc", "T T -> T", "int", "what div_trunc leaves, with the sign of a; 0 where b is 0", _rem_trunc)
DIV_FLOOR: Final = row("div_floor", "T T -> T", "int float", "Python's a // b; of integers 0 where b is 0, as in NumPy", _quiet(_div_floor))
REM_FLOOR: Final = row("rem_floor", "T T -> T", "int", "Python's a % b, with the sign of b; 0 where b is 0, as in NumPy", _rem_floor)
NEG: Final = row("neg", "T -> T", "int float", "-a", _quiet(lambda t, s, a: _as(t, -a)))
ABS: Final = row("abs", "T -> T", "int float", "|a|; the most negative integer stays itself", _quiet(lambda t, s, a: _as(t, np.abs(a))))
MIN: Final = row("min", "T T -> T", "int float", "Python's min(a, b): b if b < a else a", lambda t, s, a, b: _as(t, _python_min(a, b)))
MAX: Final = row("max", "T T -> T", "int float", "Python's max(a, b): b if b > a else a", lambda t, s, a, b: _as(t, _python_max(a, b)))
FMA: Final = row("fma", "T T T -> T", "float", "a * b + c with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, a, b, c)), commutes=True)
FMS: Final = row("fms", "T T T -> T", "float", "a * b - c with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, a, b, -c)), commutes=True)
FNMA: Final = row("fnma", "T T T -> T", "float", "c - a * b with one rounding", _quiet(lambda t, s, a, b, c: _fma(t, -a, b, c)), commutes=True)
#: The multiply-adds.
FUSED: Final = (FMA, FMS, FNMA)
COPY_SIGN: Final = row("copy_sign", "T T -> T", "float", "|a| with the sign of b", lambda t, s, a, b: _as(t, np.copysign(a, b)))
SQRT: Final = row("sqrt", "T -> T", "float", "square root, correctly rounded", _quiet(lambda t, s, a: _as(t, np.sqrt(a))))
FLOOR: Final = row("floor", "T -> T", "float", "round towards minus infinity", _quiet(lambda t, s, a: _as(t, np.floor(a))))
CEIL: Final = row("ceil", "T -> T", "float", "round towards plus infinity", _quiet(lambda t, s, a: _as(t, np.ceil(a))))
TRUNC: Final = row("trunc", "T -> T", "float", "round towards zero", _quiet(lambda t, s, a: _as(t, np.trunc(a))))
ROUND: Final = row("round", "T -> T", "float", "round to nearest, ties to even", _quiet(lambda t, s, a: _as(t, np.rint(a))))

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

POPCOUNT: Final = row("popcount", "T -> T", "int", "how many bits of a are 1, of negative numbers in two's complement", _popcount)
CRC32C: Final = row("crc32c", "T S -> T", "int scalar", "the CRC-32C of u32 a continued with the bytes of b, a u8, u32 or u64", _crc32c)

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
#: Floats to integers; what becomes of those that do not fit depends on the machine.
UNCHECKED: Final = (CONVERT_UNCHECKED, CONVERT_DOWN, CONVERT_UP, CONVERT_NEAREST)
BITCAST: Final = row("bitcast", "S -> T", "int float", "the same bits as another type of the same width", _bitcast)
MASK_CONVERT: Final = row("mask_convert", "S -> T", "mask", "a mask for lanes of another width", lambda t, s, a: a)
SPLAT: Final = row("splat", "E -> T", "int float vector", "the scalar in every lane", lambda t, s, a: np.full(t.lanes, a, t.element.dtype))
MASK_SPLAT: Final = row("mask_splat", "B -> T", "mask", "the bool in every lane", lambda t, s, a: np.full(t.lanes, bool(a)))
IOTA: Final = row("iota", "-> T", "int float vector", "0, 1, 2, … by lane", lambda t, s: np.arange(t.lanes, dtype=t.element.dtype))
LANE_MASK: Final = row("lane_mask", "L L -> T", "mask", "lane k holds where a + k < b", lambda t, s, a, b: np.arange(t.lanes) < min(int(b) - int(a), t.lanes))
SLIDE: Final = row(
    "slide",
    "T T K -> T",
    "int float vector",
    "lanes k, k + 1, … of a followed by b; k a constant",
    lambda t, s, a, b, k: np.concatenate([a, b])[int(k) : int(k) + t.lanes],
)
EXTRACT: Final = row("extract", "T -> E", "int float vector", "lane 0", lambda t, s, a: a[0])
REDUCE_ADD: Final = reduction("reduce_add", ADD, 0, "int float vector", "sum of the lanes, by halving", _reduce(np.add))
REDUCE_MUL: Final = reduction("reduce_mul", MUL, 1, "int float vector", "product of the lanes, by halving", _reduce(np.multiply))
REDUCE_MIN: Final = reduction("reduce_min", MIN, None, "int float vector", "least lane, by halving with min", _reduce(_python_min))
REDUCE_MAX: Final = reduction("reduce_max", MAX, None, "int float vector", "greatest lane, by halving with max", _reduce(_python_max))
REDUCE_AND: Final = reduction("reduce_and", AND, None, "int vector", "bitwise and of the lanes", _reduce(np.bitwise_and))
REDUCE_OR: Final = reduction("reduce_or", OR, None, "int vector", "bitwise or of the lanes", _reduce(np.bitwise_or))
REDUCE_XOR: Final = reduction("reduce_xor", XOR, 0, "int vector", "bitwise exclusive or of the lanes", _reduce(np.bitwise_xor))
#: How an accumulator may be updated, besides by what it is combined with: operation -> (what it combines by, where the accumulator stands).
UPDATES: Final[dict[Op, tuple[Op, int]]] = {SUB: (ADD, 0), FMA: (ADD, 2), FNMA: (ADD, 2)}
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
LOAD_AT: Final = row("load_at", "A -> T", "int float ptr", "load from an address", None, READS)
STORE_AT: Final = row("store_at", "T A ->", "int float ptr", "store to an address", None, WRITES)
MASKED_LOAD_AT: Final = row("masked_load_at", "M A -> T", "int float vector", "load from an address where the mask holds, zero elsewhere", None, READS)
MASKED_STORE_AT: Final = row("masked_store_at", "M T A ->", "int float vector", "store to an address where the mask holds", None, WRITES)
LOAD_STRIDED_AT: Final = row("load_strided_at", "L A -> T", "int float vector", "load_strided from an address", None, READS)
STORE_STRIDED_AT: Final = row("store_strided_at", "T L A ->", "int float vector", "store_strided to an address", None, WRITES)
ADDRESS: Final = row("address", "A -> P", "ptr", "the address itself", None)
#: The operations on arrays, and how many operands stand before the indices; what they are on addresses.
ACCESSES: Final[dict[Op, int]] = {op: len(op.operands) - 1 for op in (LOAD, STORE, MASKED_LOAD, MASKED_STORE, LOAD_STRIDED, STORE_STRIDED)}
AT_ADDRESS: Final[dict[Op, Op]] = {
    LOAD: LOAD_AT,
    STORE: STORE_AT,
    MASKED_LOAD: MASKED_LOAD_AT,
    MASKED_STORE: MASKED_STORE_AT,
    LOAD_STRIDED: LOAD_STRIDED_AT,
    STORE_STRIDED: STORE_STRIDED_AT,
}
#: Those whose lanes are not next to each other in memory.
STRIDED: Final = frozenset((LOAD_STRIDED, STORE_STRIDED, LOAD_STRIDED_AT, STORE_STRIDED_AT))

LOCAL: Final = row(
    "local", "L -> P", "ptr", "the address of a local array, given by its number, a constant; what is in it is undefined until it is written", None
)

#: Memory that holds the elements of several vectors in turn, by how many those are. A load names the one it takes by its ``imm``; the select pass makes
#: the loads from one address one instruction with several results: its own is the first, and each ``part`` right behind it is one more.
LOAD_PART: Final[dict[int, Op]] = {}
LOAD_PARTS: Final[dict[int, Op]] = {}
STORE_PARTS: Final[dict[int, Op]] = {}
for _n in (2, 3, 4):
    LOAD_PART[_n] = row(
        f"load_part{_n}", "A -> T", "int float vector", f"elements imm, imm + {_n}, imm + {2 * _n}, … behind an address", None, READS, until="select"
    )
    LOAD_PARTS[_n] = row(
        f"load_parts{_n}", "A -> T", "int float vector", f"elements 0, {_n}, {2 * _n}, … behind an address; others are its parts", None, READS, since="select"
    )
    STORE_PARTS[_n] = row(
        f"store_parts{_n}",
        "T " * _n + "A ->",
        "int float vector",
        f"store the elements of {_n} vectors in turn: the first of each, the second of each, …",
        None,
        WRITES,
    )
    LOAD_PART[_n].parts = LOAD_PARTS[_n].parts = STORE_PARTS[_n].parts = _n
PART: Final = row("part", "-> T", "int float vector", "result number imm, from 1, of the instruction with several in front", since="select")

# --- calls ---------------------------------------------------------------------------------------------------

CALL: Final = row("call", "* -> T", "int float ptr", "call callee number imm and take its result", None, CALLS)
CALL_VOID: Final = row("call_void", "* ->", "", "call callee number imm", None, CALLS)
RET: Final = row("ret", "* ->", "", "return, with the function's result if it has one", None, CONTROL)
STORE_ARG: Final = row("store_arg", "T ->", "int float ptr", "put an argument of the next call on the stack, imm bytes up", None, WRITES, since="select")
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
CONDITIONS: Final[tuple[str, ...]] = ("eq", "ne", "lt", "le", "gt", "ge", "nlt", "nle", "ngt", "nge")
IF_CMP: Final[dict[str, Op]] = {}
BR_CMP: Final[dict[str, Op]] = {}
JUMP_CMP: Final[dict[str, Op]] = {}
for _c in CONDITIONS:
    IF_CMP[_c] = row(
        f"if_{_c}", "T T ->", "int float ptr bool", f"if with the comparison {_c} inside", None, CONTROL, opens=True, compare=_c, since="select", until="jumps"
    )
    BR_CMP[_c] = row(f"br_{_c}", "T T ->", "int float ptr bool", f"br when {_c} holds", None, CONTROL, compare=_c, since="select", until="jumps")
    JUMP_CMP[_c] = row(f"jump_{_c}", "T T ->", "int float ptr bool", f"jump to label imm when {_c} holds", None, CONTROL, compare=_c, since="jumps")

#: A choice between integers with the comparison of other integers inside, as the select pass makes it.
SELECT_CMP: Final[dict[str, Op]] = {}
for _c in COMPARISONS:
    SELECT_CMP[_c] = row(
        f"select_{_c}",
        "S S T T -> T",
        "int scalar ptr",
        f"the third where the comparison {_c} of the first two holds, else the fourth",
        _chosen_by(COMPARISONS[_c]),
        since="select",
    )

#: The comparison inside each of these.
CHOICES: Final[dict[Op, str]] = {op: condition for condition, op in SELECT_CMP.items()}

# --- after the jumps pass ------------------------------------------------------------------------------------

LABEL: Final = row("label", "->", "", "label number imm; aligned where the head of an inner loop", None, CONTROL, since="jumps")
JUMP: Final = row("jump", "->", "", "jump to label imm", None, CONTROL, since="jumps")
JUMP_IF: Final = row("jump_if", "B ->", "", "jump to label imm when the condition holds", None, CONTROL, since="jumps")
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
