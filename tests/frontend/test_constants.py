"""Functions and operators on constants: what the same values give at run time, bit for bit and in the same type."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import KernelTypeError, LoopwrightError, UnsupportedOperationError
from loopwright.ir.interpret import run
from loopwright.runtime import cpu

INTEGERS = [lw.i8, lw.u8, lw.i16, lw.u16, lw.i32, lw.u32, lw.i64, lw.u64]
FLOATS = [lw.f32, lw.f64]
TYPES = [*INTEGERS, *FLOATS]

UNARY: list[Callable[[Any], Any]] = [lw.sqrt, lw.floor, lw.ceil, lw.trunc, lw.round, lw.abs, operator.neg, operator.invert]
BINARY: list[Callable[[Any, Any], Any]] = [lw.min, lw.max, lw.div_trunc, lw.rem_trunc, operator.lshift, operator.rshift, operator.floordiv, operator.truediv]


def awkward(t: Any) -> list[Any]:
    """Constants of a type at which things go wrong."""
    scalar = np.dtype(t.dtype).type
    if t.is_float:
        info = np.finfo(t.dtype)
        numbers = [0.0, -0.0, -0.5, 0.5, 2.5, -7.3, 300.0, 3e9, math.inf, -math.inf, math.nan, float(info.max), float(info.smallest_subnormal)]
        return [scalar(v) for v in numbers]
    info = np.iinfo(t.dtype)
    return [scalar(v) for v in sorted({info.min, info.max, info.max // 3, 0, 1, 2, 3, 7, t.bits % 128} | ({-1, -5} if t.signed else set()))]


def same(got: Any, want: Any) -> bool:
    """The same bits of the same type, or both NaN."""
    a, b = np.asarray(got), np.asarray(want)
    return a.dtype == b.dtype and (bool(np.isnan(a)) and bool(np.isnan(b)) if a.dtype.kind == "f" and np.isnan(a) else a.tobytes() == b.tobytes())


class AtRunTime:
    """A function of values that come at run time: interpreted, and compiled where this machine can."""

    def __init__(self, function: Callable[..., Any], types: list[Any]) -> None:
        names = "abc"[: len(types)]
        probe = lw.Function("probe", **dict(zip(names, types, strict=True)))
        self.type = function(*(getattr(probe, name) for name in names)).type
        self.f = lw.Function("f", **dict(zip(names, types, strict=True)), returns=self.type)
        with self.f:
            self.f.ret(function(*(getattr(self.f, name) for name in names)))
        self.code = None
        if cpu.is_x86_64() and cpu.LEVELS["x86-64-v3"] <= cpu.host_features():
            with contextlib.suppress(UnsupportedOperationError):
                self.code = self.f.compile()

    def results(self, *values: Any) -> list[Any]:
        as_type = np.dtype(self.type.dtype).type
        with np.errstate(all="ignore"):
            found = [as_type(run(self.f.ir, *values))]
            if self.code is not None:
                found.append(as_type(self.code(*(v.item() for v in values))))
        return found


def check(function: Callable[..., Any], types: list[Any], rows: list[tuple[Any, ...]]) -> None:
    try:
        at_run_time = AtRunTime(function, types)
    except LoopwrightError as error:
        # What run-time values cannot do, constants cannot.
        if any(t.is_float for t in types) or function in (operator.lshift, operator.rshift, lw.div_trunc, lw.rem_trunc):
            with pytest.raises((type(error), TypeError)):
                function(*rows[0])
        return
    with np.errstate(all="ignore"):
        for row in rows:
            constant = function(*row)
            for result in at_run_time.results(*row):
                assert same(constant, result), (function, row, constant, result)


@pytest.mark.parametrize("t", TYPES, ids=str)
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_constant(function: Callable[[Any], Any], t: Any) -> None:
    check(function, [t], [(v,) for v in awkward(t)])


@pytest.mark.parametrize("a", TYPES, ids=str)
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_constants(function: Callable[[Any, Any], Any], a: Any) -> None:
    for b in TYPES:
        check(function, [a, b], list(itertools.product(awkward(a), awkward(b)[::2])))


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_conversions_of_constants(t: Any) -> None:
    for source in TYPES:
        check(t, [source], [(v,) for v in awkward(source)])


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_powers_of_constants(t: Any) -> None:
    from loopwright.frontend.constants import power

    for exponent in (0, 1, 2, 3, 5, 0.5, *((-1, -2) if t.is_float else ())):
        check(lambda a, exponent=exponent: power(a, exponent), [t], [(v,) for v in awkward(t)])


@pytest.mark.parametrize("types", list(itertools.product(FLOATS, repeat=3)), ids=str)
def test_multiply_adds_of_constants_round_once(types: Any) -> None:
    values = [awkward(t) for t in types]
    rows = [(values[0][k % 13], values[1][(3 * k) % 13], values[2][(7 * k) % 13]) for k in range(60)]
    eps = [np.dtype(t.dtype).type(1) + np.finfo(t.dtype).eps for t in types]
    check(lw.fma, list(types), [*rows, (eps[0], eps[1], np.dtype(types[2].dtype).type(-1))])


@pytest.mark.parametrize("b", TYPES, ids=str)
@pytest.mark.parametrize("a", TYPES, ids=str)
def test_a_choice_has_the_type_at_which_both_meet(a: Any, b: Any) -> None:
    x, y = awkward(a)[1], awkward(b)[2]
    for condition in (True, False):
        f = lw.Function("f", c=lw.bool_, a=a, b=b)
        made = lw.select(f.c, f.a, f.b)
        chosen = lw.select(condition, x, y)
        assert chosen.dtype == made.type.dtype
        # Also where the condition alone is known.
        assert lw.select(condition, f.a, f.b).type is made.type
        assert lw.select(condition, x, f.b).type is made.type


@pytest.mark.parametrize(("a", "b"), [(lw.i32, lw.f32), (lw.f32, lw.u32), (lw.i64, lw.f64), (lw.i8, lw.u8), (lw.u16, lw.i16)], ids=str)
def test_bits_of_constants(a: Any, b: Any) -> None:
    rows = [(v,) for v in awkward(a) if not np.isnan(v)]
    check(lambda v: lw.bitcast(b, v), [a], rows)
    with pytest.raises(KernelTypeError, match="the widths differ"):
        lw.bitcast(b, lw.f16(1) if b.bits != 16 else lw.f32(1))


def test_the_cases_that_once_differed() -> None:
    assert same(lw.sqrt(lw.u8(2)), np.sqrt(np.float64(2)))
    assert same(lw.div_trunc(lw.i8(-128), lw.i8(3)), np.int8(-42))
    assert same(lw.rem_trunc(lw.i64(-(2**63)), lw.i64(10)), np.int64(-8))
    assert same(lw.rem_trunc(lw.i32(5), lw.i32(0)), np.int32(0))
    assert same(lw.max(lw.u8(200), lw.i32(5)) + 100, np.int32(300))
    assert same(lw.ceil(-0.5), -0.0) and type(lw.ceil(-0.5)) is float
    assert same(lw.floor(math.inf), math.inf) and math.isnan(lw.round(math.nan))
    eps = np.float32(2.0**-12)
    assert same(lw.fma(1 + eps, 1 + eps, np.float32(-1)), np.float32(2 * 2.0**-12 + 2.0**-24))
    assert same(lw.u32(-5.0), np.uint32(0)) and same(lw.u8(300.7), np.uint8(255)) and same(lw.i32(math.nan), np.int32(0))


def test_python_numbers_stay_python_numbers() -> None:
    for value, want in (
        (lw.sqrt(2), math.sqrt(2)),
        (lw.floor(2.5), 2.0),
        (lw.floor(2), 2),
        (lw.abs(-3), 3),
        (lw.min(3, 2.5), 2.5),
        (lw.div_trunc(-7, 2), -3),
        (lw.rem_trunc(-7, 2), -1),
        (lw.div_trunc(-7, 0), 0),
        (lw.fma(0.1, 10.0, -1.0), 0.1 * 10 - 1 + 2.0**-54),
        (lw.select(False, 1, 2.5), 2.5),
    ):
        assert type(value) is type(want) and value == want
    assert math.isnan(lw.sqrt(-1.0))
    with pytest.raises(LoopwrightError, match="div_trunc"):
        lw.div_trunc(1.5, 2)


def test_a_python_number_takes_the_type_of_a_constant() -> None:
    assert same(lw.max(np.uint8(3), 200), np.uint8(200))
    assert same(lw.fma(np.float32(0.1), 10, -1), np.float32(lw.fma(np.float32(0.1), np.float32(10), np.float32(-1))))
    with pytest.raises(KernelTypeError, match="300 does not fit in u8"):
        lw.max(np.uint8(3), 300)
    assert same(lw.max(np.uint8(3), 3.5), np.float64(3.5))
    assert same(lw.min(0.5, np.int64(3)), np.float64(0.5))


@lw.kernel
def powers(x: lw.Array[lw.f32], out: lw.Array[lw.f64], a: lw.Const):
    v = x[0]
    out[0] = a**3
    out[1] = v**3
    out[2] = a**0.5
    out[3] = v**0.5
    out[4] = pow(a, -2)
    out[5] = v**-2
    a **= 7
    v **= 7
    out[6] = a
    out[7] = v


@pytest.mark.parametrize("value", [1.1, -math.inf, -0.0, 0.7, -3.3, math.inf, math.nan, 1e-30, 3.3e7])
def test_powers_in_kernels_are_the_same_of_constants_and_of_elements(value: float) -> None:
    x, out = np.array([value], np.float32), np.zeros(8)
    f = powers.stage(powers.signature((x, out), {"a": x[0]}), False)
    with np.errstate(all="ignore"):
        run(f, x, out)
    for constant, element in zip(out[::2], out[1::2], strict=True):
        assert same(constant, element), out


def test_the_power_of_a_half_is_that_of_pow() -> None:
    f = lw.Function("f", a=lw.f64, returns=lw.f64)
    with f:
        f.ret(f.a**0.5)
    for value in (math.inf, -math.inf, 0.0, -0.0, 2.0, 1e-300, 5e-324):
        assert same(run(f.ir, value), np.float64(math.pow(value, 0.5)))
    with np.errstate(all="ignore"):
        assert math.isnan(run(f.ir, -2.0)) and math.isnan(run(f.ir, math.nan))


@lw.kernel
def pythons_own(out: lw.Array[lw.f64], a: lw.Const, b: lw.Const):
    out[0] = max(a, b) + 100
    out[1] = round(b / 4)
    out[2] = abs(lw.i8(-128))
    out[3] = min([a, b]) + 100


def test_pythons_functions_mean_the_same_on_typed_constants() -> None:
    out = np.zeros(4)
    f = pythons_own.stage(pythons_own.signature((out,), {"a": np.uint8(200), "b": np.int32(10)}), False)
    run(f, out)
    assert out.tolist() == [300.0, 2.0, -128.0, 110.0]


@lw.kernel
def wrapping(out: lw.Array[lw.f64], a: lw.Const):
    out[0] = a + lw.u8(100)
    out[1] = a // lw.u8(0)


def test_typed_constants_wrap_in_silence() -> None:
    out = np.zeros(2)
    run(wrapping.stage(wrapping.signature((out,), {"a": np.uint8(200)}), False), out)
    assert out.tolist() == [44.0, 0.0]


def test_an_integer_constant_becomes_a_float_with_one_rounding() -> None:
    big = 2**60 + 2**36 + 1
    want = np.int64(big).astype(np.float32)
    f = lw.Function("f", a=lw.i64, returns=lw.f32)
    with f:
        f.ret(lw.f32(f.const(lw.i64, big)))
    assert same(run(f.ir, 0), want)
    assert same(lw.f32(big), want) and same(lw.f32(np.int64(big)), want)
