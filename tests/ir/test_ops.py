"""Every operation's meaning against an independent judge: Python integers, exact rationals, ``math``, mpmath."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir import ops
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

INTEGERS = [I8, U8, I16, U16, I32, U32, I64, U64]
FLOATS = [F32, F64]
LANES = 8


def limits(t: Type) -> tuple[int, int]:
    return (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.signed else (0, (1 << t.bits) - 1)


def wrap(t: Type, value: int) -> int:
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.signed and value >> (t.bits - 1) else value


def samples(t: Type) -> list[Any]:
    if t.is_float:
        info = np.finfo(t.dtype)
        values = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.5, 1e10, -7.0, float(info.max), float(info.min), float(info.tiny), float(info.smallest_subnormal)]
        return values + [-float(info.smallest_subnormal), math.inf, -math.inf, math.nan, float(info.eps), 1 + float(info.eps), 2.0**31, -(2.0**31), 2.0**63]
    low, high = limits(t)
    counts = {t.bits - 1, t.bits, t.bits + 1}
    return sorted({low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 100, high // 2, high // 3} | counts | ({-1, -2, -7} if t.signed else set()))


def scalar(t: Type, value: Any) -> Any:
    return np.bool_(value) if t is BOOL else np.dtype(t.dtype).type(value)


def same(a: Any, b: Any) -> bool:
    """Equal bits, but any NaN equals any other."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))
    return bool(np.all(a == b))


def check(
    op: ops.Op, t: Type, expected: Callable[..., Any], arity: int, result: Type | None = None, skip: Callable[..., bool] = lambda *_: False, s: Type = VOID
) -> None:
    """The meaning of ``op`` on scalars and vectors of ``t`` (operands of ``s`` where given) gives what ``expected`` does on Python numbers."""
    result = result or t
    operand = s if s is not VOID else t
    values = samples(operand)
    cases: list[tuple[Any, ...]] = [(a,) for a in values] if arity == 1 else [(a, b) for a in values for b in values]
    cases = [case for case in cases if not skip(*case)]
    wanted = []
    assert op.meaning is not None
    for case in cases:
        args = [scalar(operand, v) for v in case]
        want = scalar(result, expected(*[v.item() for v in args]))
        wanted.append(want)
        got = op.meaning(t, s, *args)
        assert same(got, want), f"{op.name}.{t.name}{case}: {got!r}, expected {want!r}"
        assert np.ndim(got) == 0
    # The same cases as vectors.
    while len(cases) % LANES:
        cases.append(cases[0])
        wanted.append(wanted[0])
    tv, sv = vector_of(t, LANES), vector_of(s, LANES) if s is not VOID else VOID
    for at in range(0, len(cases), LANES):
        columns = [np.array([case[k] for case in cases[at : at + LANES]], operand.dtype) for k in range(arity)]
        got = op.meaning(tv, sv, *columns)
        want = np.array(wanted[at : at + LANES], bool if result is BOOL else result.dtype)
        assert same(got, want), f"{op.name}.{tv.name}{columns}: {got!r}, expected {want!r}"


def trunc_div(a: int, b: int) -> int:
    return int(Fraction(a, b))


def text(t: Type, value: int) -> str:
    """The bits of an integer, the highest first."""
    return f"{value & (1 << t.bits) - 1:0{t.bits}b}"


def product_of_polynomials(t: Type, a: int, b: int) -> int:
    """Of those whose coefficients are the bits."""
    product = np.convolve([int(bit) for bit in text(t, a)], [int(bit) for bit in text(t, b)])
    return int("".join(str(c % 2) for c in product.tolist()), 2)


INTEGER_OPS: list[tuple[ops.Op, int, Callable[[Type], Callable[..., int]]]] = [
    (ops.ADD, 2, lambda t: lambda a, b: wrap(t, a + b)),
    (ops.SUB, 2, lambda t: lambda a, b: wrap(t, a - b)),
    (ops.MUL, 2, lambda t: lambda a, b: wrap(t, a * b)),
    (ops.MUL_LOWER, 2, lambda t: lambda a, b: wrap(t, a % 2 ** (t.bits // 2) * (b % 2 ** (t.bits // 2)))),
    (ops.MUL_HIGH, 2, lambda t: lambda a, b: a * b >> t.bits),
    (ops.DIV_TRUNC, 2, lambda t: lambda a, b: wrap(t, trunc_div(a, b))),
    (ops.REM_TRUNC, 2, lambda t: lambda a, b: wrap(t, a - b * trunc_div(a, b))),
    (ops.DIV_FLOOR, 2, lambda t: lambda a, b: wrap(t, a // b)),
    (ops.REM_FLOOR, 2, lambda t: lambda a, b: wrap(t, a % b)),
    (ops.NEG, 1, lambda t: lambda a: wrap(t, -a)),
    (ops.ABS, 1, lambda t: lambda a: wrap(t, abs(a))),
    (ops.MIN, 2, lambda t: min),
    (ops.MAX, 2, lambda t: max),
    (ops.AND, 2, lambda t: lambda a, b: a & b),
    (ops.OR, 2, lambda t: lambda a, b: a | b),
    (ops.XOR, 2, lambda t: lambda a, b: a ^ b),
    (ops.ANDNOT, 2, lambda t: lambda a, b: wrap(t, ~a & b)),
    (ops.NOT, 1, lambda t: lambda a: wrap(t, ~a)),
    (ops.SHL, 2, lambda t: lambda a, b: wrap(t, a << b) if 0 <= b < t.bits else 0),
    (ops.SHR, 2, lambda t: lambda a, b: a >> b if 0 <= b < t.bits else -1 if a < 0 else 0),
    (ops.SHL_MODULO, 2, lambda t: lambda a, b: wrap(t, a << (b % t.bits))),
    (ops.SHR_MODULO, 2, lambda t: lambda a, b: wrap(t, a >> (b % t.bits))),
    (ops.ADD_SATURATED, 2, lambda t: lambda a, b: sorted((a + b, *limits(t)))[1]),
    (ops.SUB_SATURATED, 2, lambda t: lambda a, b: sorted((a - b, *limits(t)))[1]),
    (ops.AVERAGE_DOWN, 2, lambda t: lambda a, b: math.floor(Fraction(a + b, 2))),
    (ops.AVERAGE_UP, 2, lambda t: lambda a, b: math.ceil(Fraction(a + b, 2))),
    (ops.ABS_DIFF, 2, lambda t: lambda a, b: wrap(t, max(a, b) - min(a, b))),
    (ops.ROTATE_LEFT, 2, lambda t: lambda a, b: wrap(t, int(text(t, a)[b % t.bits :] + text(t, a)[: b % t.bits], 2))),
    (ops.ROTATE_RIGHT, 2, lambda t: lambda a, b: wrap(t, int(text(t, a)[-b % t.bits :] + text(t, a)[: -b % t.bits], 2))),
    (ops.LEADING_ZEROS, 1, lambda t: lambda a: (text(t, a) + "1").index("1")),
    (ops.TRAILING_ZEROS, 1, lambda t: lambda a: (text(t, a)[::-1] + "1").index("1")),
    (ops.BIT_REVERSE, 1, lambda t: lambda a: wrap(t, int(text(t, a)[::-1], 2))),
    (ops.BYTE_SWAP, 1, lambda t: lambda a: np.array(a, t.dtype).byteswap().item()),
    (ops.POPCOUNT, 1, lambda t: lambda a: (a & (1 << t.bits) - 1).bit_count()),
    (ops.CLMUL, 2, lambda t: lambda a, b: wrap(t, product_of_polynomials(t, a, b))),
    (ops.CLMUL_HIGH, 2, lambda t: lambda a, b: wrap(t, product_of_polynomials(t, a, b) >> t.bits)),
    (ops.COPY, 1, lambda t: lambda a: a),
]
DIVISIONS = (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize(("op", "arity", "judge"), INTEGER_OPS, ids=[str(row[0]) for row in INTEGER_OPS])
def test_integer_operations_are_pythons_wrapped_to_the_width(op: ops.Op, arity: int, judge: Any, t: Type) -> None:
    check(op, t, judge(t), arity, skip=(lambda a, b: b == 0) if op in DIVISIONS else lambda *_: False)


@pytest.mark.parametrize("op", DIVISIONS, ids=str)
@pytest.mark.parametrize("t", [I32, U64, vector_of(I32, 4)], ids=str)
def test_integer_division_by_zero_is_zero(op: ops.Op, t: Type) -> None:
    one = np.ones(4, t.element.dtype) if t.lanes else scalar(t, 1)
    assert op.meaning is not None
    assert same(op.meaning(t, VOID, one, one * 0), one * 0)


@pytest.mark.parametrize("t", [I32, I64], ids=str)
def test_the_quotient_that_overflows_wraps(t: Type) -> None:
    least, minus = scalar(t, -(1 << (t.bits - 1))), scalar(t, -1)
    for op, result in ((ops.DIV_TRUNC, least), (ops.DIV_FLOOR, least), (ops.REM_TRUNC, least * 0), (ops.REM_FLOOR, least * 0)):
        assert op.meaning is not None
        assert same(op.meaning(t, VOID, least, minus), result)


def reflected(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def crc_by_division(crc: int, data: int, bits: int) -> int:
    """The remainder of a long division of polynomials, as the SDM writes it (volume 2, CRC32, operation)."""
    dividend = reflected(data, bits) << 32 ^ reflected(crc, 32) << bits
    for place in reversed(range(32, bits + 32)):
        if dividend >> place & 1:
            dividend ^= 0x11EDC6F41 << (place - 32)
    return reflected(dividend, 32)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.sampled_from([U8, U16, U32, U64]))
def test_crc32c_is_the_remainder_of_a_division(crc: int, data: int, s: Type) -> None:
    data &= (1 << s.bits) - 1
    assert ops.CRC32C.meaning is not None
    assert same(ops.CRC32C.meaning(U32, s, np.uint32(crc), scalar(s, data)), np.uint32(crc_by_division(crc, data, s.bits)))


@pytest.mark.parametrize("factor", [2, 4, 8])
@pytest.mark.parametrize("t", [I32, I64], ids=str)
def test_a_sum_of_a_multiple_wraps(t: Type, factor: int) -> None:
    assert ops.ADD_SCALED.meaning is not None
    for a, b in ((3, 4), (-1, 7), (limits(t)[1], 1), (5, limits(t)[0])):
        assert same(ops.ADD_SCALED.meaning(t, VOID, scalar(t, a), scalar(t, b), np.int64(factor)), scalar(t, wrap(t, a + b * factor)))


def test_pointers_move_by_64_bit_numbers() -> None:
    assert ops.ADD.meaning is not None and ops.SUB.meaning is not None
    top = np.uint64(2**64 - 9)
    assert same(ops.ADD.meaning(PTR, VOID, top, np.int64(17)), np.uint64(8))
    assert same(ops.ADD.meaning(PTR, VOID, top, np.int64(-2)), np.uint64(2**64 - 11))
    assert same(ops.SUB.meaning(PTR, VOID, np.uint64(8), np.int64(17)), top)
    assert same(ops.SUB.meaning(PTR, VOID, top, np.int64(-1)), np.uint64(2**64 - 8))


def rounded(t: Type, value: Fraction) -> float:
    """A rational rounded once to the type, to nearest even."""
    if value == 0:
        return 0.0
    digits, least, most = (24, -149, 128) if t.bits == 32 else (53, -1074, 1024)
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - digits
    if abs(value) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    exponent = max(exponent, least)
    result = round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return float(result) if abs(result) < 2**most else math.inf if value > 0 else -math.inf


def exact_fma(t: Type, a: float, b: float, c: float) -> float:
    """a*b + c with one rounding, from rationals; IEEE 754's rules where there is no rational."""
    if any(math.isnan(v) for v in (a, b, c)):
        return math.nan
    if math.isinf(a) or math.isinf(b):
        if a == 0 or b == 0:
            return math.nan
        product = math.copysign(math.inf, a) * math.copysign(1.0, b)
        return math.nan if math.isinf(c) and c != product else product
    if math.isinf(c):
        return c
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        product_sign = math.copysign(1.0, a) * math.copysign(1.0, b)
        exact_zero = (a == 0 or b == 0) and c == 0
        return -0.0 if exact_zero and product_sign < 0 and math.copysign(1.0, c) < 0 else 0.0
    return math.copysign(rounded(t, value), 1 if value > 0 else -1)


NARROWER = {U16: U8, U32: U16, U64: U32, I16: I8, I32: I16, I64: I32}


@pytest.mark.parametrize("t", NARROWER, ids=str)
def test_wide_products_are_exact(t: Type) -> None:
    check(ops.MUL_WIDE, t, lambda a, b: a * b, 2, s=NARROWER[t])


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_saturating_conversions_keep_what_fits_and_bound_the_rest(t: Type) -> None:
    for s in INTEGERS:
        check(ops.CONVERT_SATURATED, t, lambda a: sorted((a, *limits(t)))[1], 1, s=s)


def fma_of(t: Type, op: ops.Op, a: float, b: float, c: float) -> float:
    if op is ops.FMS:
        c = -c
    elif op is ops.FNMA:
        a = -a
    elif op is ops.FNMS:
        a, c = -a, -c
    return exact_fma(t, a, b, c)


@pytest.mark.parametrize("op", [ops.FMA, ops.FMS, ops.FNMA, ops.FNMS], ids=str)
@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_fused_multiply_add_rounds_once(op: ops.Op, t: Type) -> None:
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        math.inf,
        -math.inf,
        math.nan,
        float(np.finfo(t.dtype).max),
        float(np.finfo(t.dtype).smallest_subnormal),
        1 + float(np.finfo(t.dtype).eps),
        -0.1,
    ]
    cases = [tuple(scalar(t, v).item() for v in (a, b, c)) for a in values for b in values for c in values]
    assert op.meaning is not None
    for a, b, c in cases:
        got = op.meaning(t, VOID, scalar(t, a), scalar(t, b), scalar(t, c))
        assert same(got, scalar(t, fma_of(t, op, a, b, c))), (a, b, c, got)


def float32(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12))
def test_fused_multiply_add_of_f32_rounds_once_for_any_bits(raw: list[int]) -> None:
    t = vector_of(F32, 4)
    values = [float32(v) for v in raw]
    columns = [np.array(values[k : k + 4], np.float32) for k in (0, 4, 8)]
    assert ops.FMA.meaning is not None
    want = np.array([exact_fma(F32, values[k], values[4 + k], values[8 + k]) for k in range(4)], np.float32)
    assert same(ops.FMA.meaning(t, VOID, *columns), want)


@settings(max_examples=300, deadline=None)
@given(*[st.floats(width=64)] * 3)
def test_fused_multiply_add_of_f64_rounds_once_for_any_values(a: float, b: float, c: float) -> None:
    assert ops.FMA.meaning is not None
    assert same(ops.FMA.meaning(F64, VOID, np.float64(a), np.float64(b), np.float64(c)), np.float64(exact_fma(F64, a, b, c)))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**23 - 1), st.integers(0, 2**23 - 1), st.integers(-60, 60))
def test_fused_multiply_add_near_ties(m: int, n: int, shift: int) -> None:
    """Products whose rounding the addend decides."""
    a, b = float32(0x3F800000 | m), float32(0x3F800000 | n)
    assert ops.FMA.meaning is not None
    for c in (2.0**-shift, -(2.0**-shift), -(a * b)):
        c = float(np.float32(c))
        assert same(ops.FMA.meaning(F32, VOID, np.float32(a), np.float32(b), np.float32(c)), np.float32(exact_fma(F32, a, b, c)))


def ieee(f: Callable[..., Any], t: Type) -> Callable[..., Any]:
    def run(*args: float) -> Any:
        with np.errstate(all="ignore"):
            return f(*[scalar(t, a) for a in args])

    return run


def python_floor_divide(a: float, b: float) -> float:
    try:
        return a // b
    except ZeroDivisionError:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def exact_remainder(a: float, b: float) -> float:
    """What the quotient rounded towards zero leaves, in fractions."""
    if b == 0 or not math.isfinite(a) or math.isnan(b):
        return math.nan
    return math.copysign(float(abs(Fraction(a)) % abs(Fraction(b))) if math.isfinite(b) else abs(a), a)


def python_remainder(a: float, b: float) -> float:
    return a % b if b else math.nan


def round_half_even(a: float) -> float:
    return a if not math.isfinite(a) else math.copysign(float(round(a)), a)


def integral(f: Callable[[float], int]) -> Callable[[float], float]:
    return lambda a: a if not math.isfinite(a) or a == 0 else math.copysign(float(f(a)), a)


def square_root(t: Type) -> Callable[[float], float]:
    def run(a: float) -> float:
        if not a > 0 or math.isinf(a):
            return a if a == 0 or a == math.inf else math.nan
        with mpmath.workprec(200):
            root = mpmath.sqrt(mpmath.mpf(a))
        return float(root) if t.bits == 64 else float(np.float32(float(root)))

    return run


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_float_operations_are_ieees(t: Type) -> None:
    check(ops.ADD, t, ieee(lambda a, b: a + b, t), 2)
    check(ops.SUB, t, ieee(lambda a, b: a - b, t), 2)
    check(ops.MUL, t, ieee(lambda a, b: a * b, t), 2)
    check(ops.DIV, t, ieee(lambda a, b: a / b, t), 2)
    check(ops.NEG, t, lambda a: -a, 1)
    check(ops.ABS, t, abs, 1)
    check(ops.COPY_SIGN, t, math.copysign, 2)
    check(ops.SQRT, t, square_root(t), 1)
    check(ops.FLOOR, t, integral(math.floor), 1)
    check(ops.CEIL, t, integral(math.ceil), 1)
    check(ops.TRUNC, t, integral(math.trunc), 1)
    check(ops.ROUND, t, round_half_even, 1)


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_float_min_and_max_are_pythons(t: Type) -> None:
    """With a NaN, and with zeros of both signs, the first operand comes out, as from Python's min(a, b)."""
    check(ops.MIN, t, lambda a, b: min(a, b), 2)
    check(ops.MAX, t, lambda a, b: max(a, b), 2)


def test_float_floor_division_is_pythons() -> None:
    check(ops.DIV_FLOOR, F64, python_floor_divide, 2)
    assert ops.DIV_FLOOR.meaning is not None
    assert ops.DIV_FLOOR.meaning(F64, VOID, np.float64(1.0), np.float64(0.1)) == 9.0


def test_float_remainders_are_exact_and_pythons() -> None:
    for t in FLOATS:
        check(ops.REM_TRUNC, t, exact_remainder, 2)
    check(ops.REM_FLOOR, F64, python_remainder, 2)


@pytest.mark.parametrize("t", [*INTEGERS, *FLOATS], ids=str)
def test_comparisons_are_pythons(t: Type) -> None:
    for name, judge in {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }.items():
        check(ops.COMPARISONS[name], t, judge, 2, BOOL)


def converted(t: Type, s: Type) -> Callable[[Any], Any]:
    def run(a: Any) -> Any:
        if t is BOOL:
            return a != 0
        if t.is_float:
            if not s.is_float:
                return rounded(t, Fraction(int(a)))
            with np.errstate(all="ignore"):
                return np.float64(a).astype(t.dtype)
        if s.is_float:
            low, high = limits(t)
            return 0 if math.isnan(a) else (high if a > 0 else low) if math.isinf(a) else max(low, min(high, math.trunc(a)))
        return wrap(t, int(a))

    return run


def unchecked(t: Type) -> Callable[[float], int]:
    """As x86 converts: what 32 (or 64) signed bits do not hold gives the least of them, and the result wraps."""
    width = 32 if t.bits < 32 or t is I32 else 64

    def run(a: float) -> int:
        if t is U64 and 2.0**63 <= a < 2.0**64:
            return int(a)
        if not math.isfinite(a) or not -(1 << (width - 1)) <= math.trunc(a) < 1 << (width - 1):
            return wrap(t, -(1 << (width - 1)))
        return wrap(t, int(a))

    return run


def awkward_floats(s: Type) -> list[float]:
    """Floats around the bounds of the integers, as far as the type has them."""
    values = samples(s)
    for bound in (127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64):
        at = float(np.dtype(s.dtype).type(bound))
        values += [sign * v for v in (at, float(np.nextafter(np.dtype(s.dtype).type(at), np.dtype(s.dtype).type(0))), at + 0.5, at - 0.5) for sign in (1, -1)]
    return values


@pytest.mark.parametrize("s", FLOATS, ids=str)
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_floats_become_the_nearest_integers_of_the_type_towards_zero(t: Type, s: Type) -> None:
    for op, judge in ((ops.CONVERT, converted(t, s)), (ops.CONVERT_UNCHECKED, unchecked(t))):
        assert op.meaning is not None
        values = np.array(awkward_floats(s), s.dtype)
        wanted = np.array([judge(v.item()) for v in values], t.dtype)
        for value, want in zip(values, wanted, strict=True):
            assert same(op.meaning(t, s, value), want), (op, value)
        lanes = np.resize(values, 4096)
        assert same(op.meaning(vector_of(t, 4096), vector_of(s, 4096), lanes), np.resize(wanted, 4096))


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize(("op", "whole"), [(ops.CONVERT_DOWN, math.floor), (ops.CONVERT_UP, math.ceil), (ops.CONVERT_NEAREST, round)], ids=str)
def test_what_fits_is_rounded_and_converted(op: ops.Op, whole: Callable[[float], int], t: Type) -> None:
    low, high = limits(t)
    assert op.meaning is not None
    for value in (0.0, -0.0, 0.4, 0.5, 1.5, 2.5, 2.6, 100.5, 101.5, -0.4, -0.5, -1.5, -2.5, -100.7, float(low), float(high // 2)):
        if low <= whole(value) <= high:
            assert same(op.meaning(t, F64, np.float64(value)), scalar(t, whole(value))), value


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_what_fits_converts_alike_looked_at_or_not(t: Type) -> None:
    low, high = limits(t)
    assert ops.CONVERT.meaning is not None and ops.CONVERT_UNCHECKED.meaning is not None
    for value in (0.0, -0.9, 0.9, 1.5, float(low), float(high // 2), 100.7):
        given = np.float64(value)
        assert same(ops.CONVERT_UNCHECKED.meaning(t, F64, given), ops.CONVERT.meaning(t, F64, given))


@pytest.mark.parametrize("s", [*INTEGERS, *FLOATS], ids=str)
@pytest.mark.parametrize("t", [*INTEGERS, *FLOATS], ids=str)
def test_conversions_truncate_saturate_wrap_and_round_to_nearest(t: Type, s: Type) -> None:
    check(ops.CONVERT, t, converted(t, s), 1, t, s=s)


def test_conversions_from_and_to_bool() -> None:
    assert ops.CONVERT.meaning is not None
    for t in (I32, U8, F32, F64):
        assert same(ops.CONVERT.meaning(t, BOOL, np.bool_(True)), scalar(t, 1))
        assert ops.CONVERT.meaning(BOOL, t, scalar(t, 2)) == np.bool_(True)
        assert ops.CONVERT.meaning(BOOL, t, scalar(t, 0)) == np.bool_(False)


def test_float_to_integer_in_range_is_exact_at_the_ends() -> None:
    assert ops.CONVERT.meaning is not None
    convert = ops.CONVERT.meaning
    assert convert(I32, F64, np.float64(2147483647.9)) == 2147483647
    assert convert(I32, F64, np.float64(-2147483648.9)) == -2147483648
    assert convert(I32, F64, np.float64(2147483648.0)) == 2147483647
    assert convert(U32, F64, np.float64(3e9)) == 3000000000
    assert convert(U64, F64, np.float64(2.0**63)) == 2**63
    assert convert(I64, F64, np.float64(2.0**63)) == 2**63 - 1


def test_bitcasts_keep_the_bits() -> None:
    assert ops.BITCAST.meaning is not None
    for value in samples(F32):
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        assert int(ops.BITCAST.meaning(U32, F32, np.float32(value))) == bits
        assert struct.pack("<f", ops.BITCAST.meaning(F32, U32, np.uint32(bits))) == struct.pack("<f", value)
    doubles = np.array(samples(F64)[:4])
    assert ops.BITCAST.meaning(vector_of(I64, 4), vector_of(F64, 4), doubles).tobytes() == doubles.tobytes()
    assert ops.BITCAST.meaning(vector_of(F32, 8), vector_of(I64, 4), doubles.view(np.int64)).tobytes() == doubles.tobytes()


def test_half_floats_are_as_struct_packs_them() -> None:
    assert ops.FROM_F16.meaning is not None and ops.TO_F16.meaning is not None
    for bits in range(0, 1 << 16, 7):
        value = struct.unpack("<e", bits.to_bytes(2, "little"))[0]
        got = ops.FROM_F16.meaning(F32, U16, np.uint16(bits))
        assert got == value or (np.isnan(got) and np.isnan(value))
        if not np.isnan(value):
            assert ops.TO_F16.meaning(U16, F32, np.float32(value)) == bits
    for value in (1 / 3, 65519.0, 2.0**-25, 2.0**-25 * 1.01, 1e-9, -0.1, 1 + 2.0**-11, 1 + 3 * 2.0**-11):
        assert ops.TO_F16.meaning(U16, F32, np.float32(value)) == int.from_bytes(struct.pack("<e", np.float32(value)), "little")
    assert ops.TO_F16.meaning(U16, F32, np.float32(65520)) == 0x7C00
    assert ops.TO_F16.meaning(U16, F32, np.float32(-1e9)) == 0xFC00
    assert ops.TO_F16.meaning(U16, F32, np.uint32(0xFF800001).view(np.float32)) == 0xFE00


@pytest.mark.parametrize("t", [*INTEGERS, *FLOATS], ids=str)
def test_choice_splat_and_lanes(t: Type) -> None:
    tv = vector_of(t, LANES)
    values = np.array((samples(t) * 2)[:LANES], t.dtype)
    mask = np.array([True, False] * (LANES // 2))
    assert ops.SELECT.meaning and ops.SPLAT.meaning and ops.IOTA.meaning and ops.EXTRACT.meaning
    got = ops.SELECT.meaning(tv, VOID, mask, values, values[::-1])
    assert same(got, np.array([values[k] if mask[k] else values[LANES - 1 - k] for k in range(LANES)], t.dtype))
    one, two = values[0], values[1]
    assert same(ops.SELECT.meaning(t, VOID, np.bool_(True), one, two), one)
    assert same(ops.SELECT.meaning(t, VOID, np.bool_(False), one, two), two)
    assert same(ops.SPLAT.meaning(tv, VOID, one), np.array([one] * LANES, t.dtype))
    assert same(ops.IOTA.meaning(tv, VOID), np.array(range(LANES), t.dtype))
    assert same(ops.EXTRACT.meaning(tv, VOID, values), one)


def halved(f: Callable[[Any, Any], Any], lanes: list[Any]) -> Any:
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [f(lanes[k], lanes[half + k]) for k in range(half)]
    return lanes[0]


@pytest.mark.parametrize("t", [*INTEGERS, *FLOATS], ids=str)
def test_reductions_go_by_halving(t: Type) -> None:
    judges: list[tuple[ops.Op, Callable[[Any, Any], Any]]] = [(ops.REDUCE_MIN, min), (ops.REDUCE_MAX, max)]
    if t.is_float:
        judges += [(ops.REDUCE_ADD, ieee(lambda a, b: a + b, t)), (ops.REDUCE_MUL, ieee(lambda a, b: a * b, t))]
    else:
        judges += [(ops.REDUCE_ADD, lambda a, b: wrap(t, a + b)), (ops.REDUCE_MUL, lambda a, b: wrap(t, a * b))]
        judges += [(ops.REDUCE_AND, lambda a, b: a & b), (ops.REDUCE_OR, lambda a, b: a | b), (ops.REDUCE_XOR, lambda a, b: a ^ b)]
    tv = vector_of(t, LANES)
    values = samples(t)
    for start in range(len(values)):
        lanes = (values[start:] + values)[:LANES]
        array = np.array(lanes, t.dtype)
        for op, judge in judges:
            assert op.meaning is not None
            got = op.meaning(tv, VOID, array)
            assert same(got, scalar(t, halved(judge, [v.item() for v in array]))), (op, lanes, got)


def test_masks() -> None:
    t = mask_of(32, 4)
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])

    def run(op: ops.Op, *args: Any) -> Any:
        assert op.meaning is not None
        return op.meaning(t, VOID, *args)

    assert run(ops.AND, a, b).tolist() == [True, False, False, False]
    assert run(ops.OR, a, b).tolist() == [True, True, True, False]
    assert run(ops.XOR, a, b).tolist() == [False, True, True, False]
    assert run(ops.ANDNOT, a, b).tolist() == [False, False, True, False]
    assert run(ops.NOT, a).tolist() == [False, False, True, True]
    assert run(ops.MASK_SPLAT, np.bool_(True)).tolist() == [True] * 4
    assert run(ops.MASK_CONVERT, a).tolist() == a.tolist()
    assert run(ops.SELECT, a, b, ~b).tolist() == [True, False, False, True]
    assert bool(run(ops.ANY, a)) and not run(ops.ALL, a) and not run(ops.ANY, a & ~a) and bool(run(ops.ALL, a | ~a))
    assert run(ops.MASK_BITS, b) == 0b101
    assert ops.ONES_WHERE.meaning is not None
    assert ops.ONES_WHERE.meaning(vector_of(U8, 4), VOID, b).tolist() == [255, 0, 255, 0]
    assert ops.ONES_WHERE.meaning(vector_of(I64, 4), VOID, b).tolist() == [-1, 0, -1, 0]
    assert not ops.NOT.meaning(BOOL, VOID, np.bool_(True))  # type: ignore[misc]
    for op in (ops.ANY_LANE, ops.ALL_LANES):
        assert [bool(op.meaning(BOOL, VOID, np.bool_(c))) for c in (True, False)] == [True, False]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("lo", "hi", "want"),
    [(0, 9, 4), (0, 3, 3), (5, 5, 0), (6, 5, 0), (-2, 0, 2), (2**63 - 2, 2**63 - 1, 1), (-(2**63), 2**63 - 1, 4), (2**63 - 1, -(2**63), 0)],
)
def test_lane_mask_holds_the_lanes_below_the_bound(lo: int, hi: int, want: int) -> None:
    assert ops.LANE_MASK.meaning is not None
    assert ops.LANE_MASK.meaning(mask_of(32, 4), VOID, np.int64(lo), np.int64(hi)).tolist() == [k < want for k in range(4)]


@pytest.mark.parametrize("k", [0, 1, 3, 4])
def test_slide_takes_lanes_of_two_vectors_in_a_row(k: int) -> None:
    a, b = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    assert ops.SLIDE.meaning is not None
    assert ops.SLIDE.meaning(vector_of(F32, 4), VOID, a, b, np.int64(k)).tolist() == list(range(k, k + 4))


def test_reverse_takes_the_lanes_in_the_opposite_order() -> None:
    assert ops.REVERSE.meaning is not None
    assert ops.REVERSE.meaning(vector_of(F32, 4), VOID, np.arange(4, dtype=np.float32)).tolist() == [3, 2, 1, 0]


def meant(op: ops.Op, t: Any, *operands: Any, source: Any = VOID) -> list[int]:
    assert op.meaning is not None
    return [int(v) for v in op.meaning(t, source, *operands)]


def test_lanes_within_128_bits_are_permuted_in_each_part() -> None:
    t = vector_of(I32, 8)
    a, b = np.arange(8, dtype=np.int32), np.arange(10, 18, dtype=np.int32)
    assert meant(ops.ZIP_LOW, t, a, b) == [0, 10, 1, 11, 4, 14, 5, 15]
    assert meant(ops.ZIP_HIGH, t, a, b) == [2, 12, 3, 13, 6, 16, 7, 17]
    assert meant(ops.UNZIP_EVEN, t, a, b) == [0, 2, 10, 12, 4, 6, 14, 16]
    assert meant(ops.UNZIP_ODD, t, a, b) == [1, 3, 11, 13, 5, 7, 15, 17]
    assert meant(ops.BLEND, t, a, b, np.int64(0b0110)) == [0, 11, 12, 3, 4, 15, 16, 7]
    assert meant(ops.CHOOSE_CHUNKS, t, a, b, np.int64(0x20)) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert meant(ops.CHOOSE_CHUNKS, t, a, b, np.int64(0x13)) == [14, 15, 16, 17, 4, 5, 6, 7]
    assert meant(ops.LANE_PATTERN, mask_of(32, 8), np.int64(0b11000110)) == [0, 1, 1, 0, 0, 0, 1, 1]


def test_groups_of_lanes_become_one() -> None:
    wide, narrow = vector_of(I32, 2), vector_of(I8, 8)
    a, b = np.array([-128, -128, 127, 1, 0, 5, 6, 7], np.int8), np.array([127, -128, -1, 1, 1, 1, 1, 10], np.int8)
    assert meant(ops.SUM_GROUPS, wide, a, source=narrow) == [-128, 18]
    assert meant(ops.SUM_ABS_DIFF, wide, a, b, source=narrow) == [255 + 128, 1 + 4 + 5 + 3]
    c = np.array([2**31 - 1, -7], np.int32)
    assert meant(ops.DOT_ADD, wide, a, b, c, source=narrow) == [2**31 - 1 - 128 * 127 + 128 * 128 - 127 + 1 - 2**32, 74]
    assert meant(ops.DOT_MIXED_ADD, wide, a, b, c, source=narrow)[1] == 74
    assert meant(ops.DOT, wide, a, b, source=narrow) == [-128 * 127 + 128 * 128 - 127 + 1, 5 + 6 + 70]
    shorts = vector_of(U16, 4)
    assert meant(ops.SUM_GROUPS, vector_of(I32, 2), np.full(4, 65535, np.uint16), source=shorts) == [131070, 131070]
    assert meant(ops.DOT, vector_of(I32, 1), np.full(2, -32768, np.int16), np.full(2, -32768, np.int16), source=vector_of(I16, 2)) == [-(1 << 31)]


def test_lanes_are_looked_up() -> None:
    t, table = vector_of(U8, 32), np.arange(32, dtype=np.uint8)
    numbers = np.array([0, 15, 16, 31, 127, 128, 255, 1] * 4, np.uint8)
    first = [0, 15, 0, 15, 15, 0, 0, 1] * 2
    assert meant(ops.LOOKUP_BYTES, t, table, numbers, source=t) == [*first, *[v + 16 if numbers[n] < 128 else 0 for n, v in enumerate(first)]]
    small = np.array([3, 0, 200, 15], np.uint8)
    assert meant(ops.LOOKUP_BYTES, vector_of(U8, 4), np.arange(50, 66, dtype=np.uint8), small, source=vector_of(U8, 16)) == [53, 50, 0, 65]
    lanes = vector_of(F32, 4)
    table = np.array([5, 6, 7, 8], np.float32)
    assert meant(ops.LOOKUP_LANES, lanes, table, np.array([3, 4, 0, 7], np.uint32), source=vector_of(U32, 4)) == [8, 5, 5, 8]


def test_lanes_of_two_vectors_and_literals() -> None:
    lanes = vector_of(F32, 4)
    a, b = np.array([5, 6, 7, 8], np.float32), np.array([1, 2, 3, 4], np.float32)
    assert meant(ops.LOOKUP_PAIR, lanes, a, b, np.array([3, 4, 15, 8], np.uint32), source=vector_of(U32, 4)) == [8, 1, 4, 5]
    words = [np.int64(n) for n in (-1, 1 << 33, 0, 0, 0, 0, 0, 9)]
    assert meant(ops.LITERAL, vector_of(U32, 4), *words) == [0xFFFFFFFF, 0xFFFFFFFF, 0, 2]
    assert meant(ops.LITERAL, vector_of(U64, 8), *words)[-1] == 9


def test_bytes_are_shuffled_in_each_part() -> None:
    t = vector_of(U8, 32)
    low, high = int.from_bytes([3, 2, 1, 0, 255, 128, 15, 14], "little", signed=True), int.from_bytes([8] * 8, "little")
    first = [3, 2, 1, 0, 0, 0, 15, 14, *[8] * 8]
    expected = [*first, *[v + 16 if n not in (4, 5) else 0 for n, v in enumerate(first)]]
    assert meant(ops.SHUFFLE_BYTES, t, np.arange(32, dtype=np.uint8), np.int64(low), np.int64(high), source=t) == expected
    small = vector_of(U8, 4)
    assert meant(ops.SHUFFLE_BYTES, small, np.arange(16, dtype=np.uint8), np.int64(low), np.int64(high), source=vector_of(U8, 16)) == [3, 2, 1, 0]


@pytest.mark.parametrize("inner", ["and", "or", "xor", "andnot"])
def test_two_bitwise_operations_in_one_are_one_after_the_other(inner: str) -> None:
    t = vector_of(U8, 8)
    a, b, c = (np.array([0xFF * (n >> k & 1) for n in range(8)], np.uint8) for k in (2, 1, 0))
    one: dict[str, Callable[[Any, Any], Any]] = {
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "andnot": lambda x, y: ~x & y,
    }
    first = one[inner](a, b)
    for outer, then in one.items():
        for at, wanted in ((True, then(first, c)), (False, then(c, first))):
            meaning = ops.BITWISE_TWICE[ops.BY_NAME[inner], ops.BY_NAME[outer], at].meaning
            assert meaning is not None
            assert meaning(t, VOID, a, b, c).tolist() == wanted.tolist(), (outer, at)


def test_estimates_are_near_reciprocals() -> None:
    for op, want in ((ops.RCP_ESTIMATE, 0.25), (ops.RSQRT_ESTIMATE, 0.5), (ops.RSQRT, 0.5)):
        assert op.meaning is not None
        assert same(op.meaning(F32, VOID, np.float32(4)), np.float32(want))
        assert same(op.meaning(F32, VOID, np.float32(0)), np.float32(np.inf)) and same(op.meaning(F32, VOID, np.float32(np.inf)), np.float32(0))


def test_counting_under_a_mask() -> None:
    mask = np.array([True, False, True, False])
    assert ops.COUNT_WHERE.meaning is not None
    assert ops.COUNT_WHERE.meaning(vector_of(U8, 4), VOID, mask, np.array([3, 4, 255, 0], np.uint8)).tolist() == [4, 4, 0, 0]


def test_lanes_move_together_and_apart() -> None:
    mask, values, t = np.array([False, True, False, True]), np.array([5, 6, 7, 8], np.uint32), vector_of(U32, 4)
    assert ops.COMPRESS.meaning is not None and ops.EXPAND.meaning is not None and ops.FIRST_LANES.meaning is not None
    assert ops.COMPRESS.meaning(t, VOID, mask, values).tolist() == [6, 8, 0, 0]
    assert ops.EXPAND.meaning(t, VOID, mask, values).tolist() == [0, 5, 0, 6]
    assert [ops.FIRST_LANES.meaning(mask_of(32, 4), VOID, np.int64(n)).tolist().count(True) for n in range(5)] == [0, 1, 2, 3, 4]


def test_every_row_with_a_meaning_is_tested_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    constants = {op: name for name, op in vars(ops).items() if isinstance(op, ops.Op) and op.meaning is not None}
    missing = [name for op, name in constants.items() if f"ops.{name}" not in source and op not in ops.COMPARISONS.values()]
    assert not missing


def test_result_types_follow_the_letters() -> None:
    vector = vector_of(F32, 8)
    assert ops.result_type(ops.ADD, vector, VOID) is vector
    assert ops.result_type(ops.LT, vector, VOID) is mask_of(32, 8)
    assert ops.result_type(ops.LT, F32, VOID) is BOOL
    assert ops.result_type(ops.REDUCE_ADD, vector, VOID) is F32
    assert ops.result_type(ops.ANY, mask_of(32, 8), VOID) is BOOL
    assert ops.result_type(ops.FOR, VOID, VOID) is I64
    assert ops.result_type(ops.ADDRESS, PTR, VOID) is PTR
