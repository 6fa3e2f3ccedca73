"""``lw.add_saturated``, ``lw.rotate_left``, ``lw.clamp`` and their like in kernels: loops over lanes and plain ones, every type, every machine; Python's integers and NumPy judge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners, with_features

import loopwright as lw
from loopwright.errors import KernelTypeError, UnsupportedOperationError

INTEGERS = [lw.i8, lw.u8, lw.i16, lw.u16, lw.i32, lw.u32, lw.i64, lw.u64]
COUNT = 133


@lw.kernel
def unary(x: lw.Array, out: lw.Array, function: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = function(x[i])
    for i in lw.range(len(x)):
        out[1, i] = function(x[i])


@lw.kernel(nests="off")
def binary(x: lw.Array, y: lw.Array, out: lw.Array, function: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = function(x[i], y[i])
        out[1, i] = function(x[i], 3)
    for i in lw.range(len(x)):
        out[2, i] = function(x[i], y[i])
        out[3, i] = function(x[i], 3)


def numbers(type_: Any, seed: int) -> Any:
    """Bounds and their neighbours, small ones, and any."""
    chooser = np.random.default_rng(seed)
    info = np.iinfo(type_.dtype)
    special = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, info.max // 2], type_.dtype)
    wild = np.frombuffer(chooser.bytes(COUNT * type_.size), type_.dtype)
    return np.where(chooser.random(COUNT) < 0.6, chooser.choice(special, COUNT), wild)


def bits_of(type_: Any, value: int) -> str:
    return f"{value & (1 << type_.bits) - 1:0{type_.bits}b}"


def of_bits(type_: Any, text: str) -> int:
    value = int(text, 2)
    return value - (1 << type_.bits) if type_.signed and text[0] == "1" else value


def bounded(type_: Any, value: int) -> int:
    info = np.iinfo(type_.dtype)
    return min(max(value, info.min), info.max)


def carryless(type_: Any, a: int, b: int) -> int:
    """The product of polynomials over bits."""
    product = np.convolve([int(bit) for bit in bits_of(type_, a)], [int(bit) for bit in bits_of(type_, b)])
    return int("".join(str(c % 2) for c in product.tolist()), 2)


UNARY: dict[str, Callable[[Any, int], int]] = {
    "leading_zeros": lambda t, a: (bits_of(t, a) + "1").index("1"),
    "trailing_zeros": lambda t, a: (bits_of(t, a)[::-1] + "1").index("1"),
    "bit_reverse": lambda t, a: of_bits(t, bits_of(t, a)[::-1]),
    "byte_swap": lambda t, a: np.array(a, t.dtype).byteswap().item(),
    "sign": lambda t, a: (a > 0) - (a < 0),
}
BINARY: dict[str, Callable[[Any, int, int], int]] = {
    "add_saturated": lambda t, a, b: bounded(t, a + b),
    "sub_saturated": lambda t, a, b: bounded(t, a - b),
    "average_down": lambda t, a, b: (a + b) // 2,
    "average_up": lambda t, a, b: -((-a - b) // 2),
    "mul_high": lambda t, a, b: a * b >> t.bits,
    "clmul": lambda t, a, b: of_bits(t, f"{carryless(t, a, b) & (1 << t.bits) - 1:0{t.bits}b}"),
    "clmul_high": lambda t, a, b: of_bits(t, f"{carryless(t, a, b) >> t.bits:0{t.bits}b}"),
    "rotate_left": lambda t, a, b: of_bits(t, bits_of(t, a)[b % t.bits :] + bits_of(t, a)[: b % t.bits]),
    "rotate_right": lambda t, a, b: of_bits(t, bits_of(t, a)[-b % t.bits :] + bits_of(t, a)[: -b % t.bits]),
}


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("type_", INTEGERS, ids=str)
def test_integers_of_every_type(runner: Runner, type_: Any) -> None:
    x, y = numbers(type_, 1), numbers(type_, 2)
    row = lw.Array[type_]
    for name, judge in UNARY.items():
        code = runner.compiled(unary, row, lw.Array[type_, 2], getattr(lw, name))
        want = np.array([[judge(type_, a) for a in x.tolist()]] * 2, type_.dtype)
        out = np.zeros_like(want)
        runner.run(code, [x, out], agreeing(name, out, want))
    for name, of_two in BINARY.items():
        code = runner.compiled(binary, row, row, lw.Array[type_, 2], getattr(lw, name))
        pairs = [of_two(type_, a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        want = np.array([pairs, [of_two(type_, a, 3) for a in x.tolist()]] * 2, type_.dtype)
        out = np.zeros_like(want)
        runner.run(code, [x, y, out], agreeing(name, out, want))


@pytest.mark.parametrize("runner", [*with_features("pclmulqdq"), *with_features("pclmulqdq", "vpclmulqdq")])
def test_carry_less_products_by_an_instruction(runner: Runner) -> None:
    for type_, name in itertools.product(INTEGERS, ["clmul", "clmul_high"]):
        x, y = numbers(type_, 1), numbers(type_, 2)
        code = runner.compiled(binary, lw.Array[type_], lw.Array[type_], lw.Array[type_, 2], getattr(lw, name))
        assert ("vpclmulqdq xmm" in code.asm()) and (
            type_.bits < 64 or "vpclmulqdq" not in runner.name.split("+") or "vpclmulqdq ymm" in code.asm() or "vpclmulqdq zmm" in code.asm()
        )
        pairs = [BINARY[name](type_, a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        want = np.array([pairs, [BINARY[name](type_, a, 3) for a in x.tolist()]] * 2, type_.dtype)
        out = np.zeros_like(want)
        runner.run(code, [x, y, out], agreeing(f"{name} of {type_}", out, want))


@lw.kernel
def saturated(x: lw.Array, out: lw.Array, to: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = lw.saturate(to, x[i])
    for i in lw.range(len(x)):
        out[1, i] = lw.saturate(to, x[i])


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("type_", INTEGERS, ids=str)
def test_saturating_conversions(runner: Runner, type_: Any) -> None:
    for source in INTEGERS:
        x = numbers(source, 5)
        want = np.array([[bounded(type_, a) for a in x.tolist()]] * 2, type_.dtype)
        out = np.zeros_like(want)
        runner.run(runner.compiled(saturated, lw.Array[source], lw.Array[type_, 2], type_), [x, out], agreeing(f"{type_} from {source}", out, want))


WIDER = {lw.u8: lw.u16, lw.i8: lw.i16, lw.u16: lw.u32, lw.i16: lw.i32, lw.u32: lw.u64, lw.i32: lw.i64}


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_products_of_twice_the_width(runner: Runner) -> None:
    for type_, wide in WIDER.items():
        x, y = numbers(type_, 6), numbers(type_, 7)
        code = runner.compiled(binary, lw.Array[type_], lw.Array[type_], lw.Array[wide, 2], lw.mul_wide)
        pairs = [a * b for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        want = np.array([pairs, [a * 3 for a in x.tolist()]] * 2, wide.dtype)
        out = np.zeros_like(want)
        runner.run(code, [x, y, out], agreeing(f"mul_wide of {type_}", out, want))


@lw.kernel
def product_of_longs(x: lw.Array[lw.i64]):
    x[0] = lw.mul_wide(x[0], x[1])


def test_there_is_no_type_for_the_product_of_longs() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"lw.mul_high\(a, b\) the upper ones"):
        product_of_longs.compile()


def agreeing(name: str, out: Any, want: Any) -> Callable[[Any], None]:
    def compare(_: Any) -> None:
        assert np.array_equal(out, want, equal_nan=out.dtype.kind == "f"), name
        if out.dtype.kind == "f":
            assert (np.signbit(out) == np.signbit(want))[~np.isnan(want)].all(), name

    return compare


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("type_", INTEGERS, ids=str)
def test_distances_are_unsigned_and_never_overflow(runner: Runner, type_: Any) -> None:
    x, y = numbers(type_, 3), numbers(type_, 4)
    dtype = np.dtype(f"u{type_.bits // 8}")
    code = runner.compiled(binary, lw.Array[type_], lw.Array[type_], lw.Array[getattr(lw, f"u{type_.bits}"), 2], lw.abs_diff)
    pairs = [abs(a - b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    want = np.array([pairs, [abs(a - 3) for a in x.tolist()]] * 2, dtype)
    out = np.zeros_like(want)
    runner.run(code, [x, y, out], agreeing("abs_diff", out, want))


@lw.kernel
def of_floats(x: lw.Array, y: lw.Array, out: lw.Array):
    for i in lw.lanes(len(x)):
        a, b = x[i], y[i]
        out[0, i] = lw.copysign(a, b)
        out[1, i] = lw.sign(a)
        out[2, i] = lw.clamp(a, -1.5, 2)
        out[3, i] = lw.abs_diff(a, b)
        out[4, i] = lw.fms(a, b, 2)
        out[5, i] = lw.fnma(a, b, 2)
        out[6, i] = lw.fnms(a, b, 2)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest and lw.supports("fms", lw.f32, target=runner.name)))
@pytest.mark.parametrize("type_", [lw.f32, lw.f64], ids=str)
def test_floats(runner: Runner, type_: Any) -> None:
    special = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 1e-30], type_.dtype)
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        # (Exact products of these need no more digits than a float of 64 bits has, but for 1e-30, which decides nothing.)
        exact = x.astype(np.longdouble) * y
        two = np.longdouble(2)
        rows = [np.copysign(x, y), np.sign(x), np.clip(x, -1.5, 2), np.abs(x - y), exact - two, two - exact, -exact - two]
        want = np.array([np.asarray(row).astype(type_.dtype) for row in rows])
    out = np.zeros_like(want)
    array = lw.Array[type_]
    runner.run(runner.compiled(of_floats, array, array, lw.Array[type_, 2]), [x, y, out], agreeing("floats", out, want))


@lw.kernel
def of_numpy_and_math(x: lw.Array, out: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        out[0, i] = np.clip(v, -1.5, 2.0)
        out[1, i] = np.sign(v) + np.square(v)
        out[2, i] = np.copysign(2.0, v) + math.copysign(0.5, v)
        out[3, i] = 1.0 if np.isnan(v) else 2.0 if math.isinf(v) else 3.0
        out[4, i] = 1.0 if np.isfinite(v) else -1.0 if np.isinf(v) or math.isnan(v) else 0.0


@pytest.mark.parametrize("type_", [lw.f16, lw.f32, lw.f64], ids=str)
def test_functions_of_numpy_mean_those_of_loopwright(type_: Any) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 6e-8, 0.1, 60000, -60000], type_.dtype)
    out, want = np.empty((5, len(x)), type_.dtype), np.empty((5, len(x)), type_.dtype)
    with np.errstate(all="ignore"):
        of_numpy_and_math(x, out)
        of_numpy_and_math.function(x, want)
    agreeing("functions", out, want)(None)


@pytest.mark.parametrize("function", [np.radians, np.deg2rad, np.degrees, np.rad2deg, math.radians, math.degrees])
@pytest.mark.parametrize("type_", [lw.f32, lw.f64, lw.i32], ids=str)
def test_angles_in_other_units(function: Any, type_: Any) -> None:
    @lw.kernel
    def turned(x: lw.Array, out: lw.Array):
        for i in range(len(x)):
            out[i] = function(x[i])

    x = np.array([0, 1, -1, 33, 180, 360, 7.7, 1e6], type_.dtype)
    of_numpy = {"radians": np.radians, "degrees": np.degrees}.get(function.__name__, function)
    want = of_numpy(x)
    out = np.empty_like(want)
    turned(x, out)
    np.testing.assert_array_equal(out, want)


OPERATORS = {
    "integers": "bitwise_and bitwise_or bitwise_xor left_shift right_shift invert bitwise_count",
    "numbers": (
        "add subtract multiply divide floor_divide remainder equal not_equal less less_equal greater greater_equal "
        "logical_and logical_or logical_xor logical_not negative positive signbit fabs round around"
    ),
}


@pytest.mark.parametrize("type_", [lw.u8, lw.i8, lw.i32, lw.u64, lw.f16, lw.f32, lw.f64], ids=str)
def test_ufuncs_that_are_operators_mean_these(type_: Any) -> None:
    if type_.is_float:
        x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(*[np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan], type_.dtype)] * 2))
    else:
        least, most = np.iinfo(type_.dtype).min, np.iinfo(type_.dtype).max
        x = np.array([0, 0, 1, 7, most, least, most, least, 85], type_.dtype)
        y = np.array([0, 5, 0, 2, 3, 1, 5, 6, 7], type_.dtype)
    names = OPERATORS["numbers"].split() + (OPERATORS["integers"].split() if type_.is_integer else [])
    for name in names:
        function: Any = getattr(np, name)
        alone = name in ("invert", "bitwise_count", "logical_not", "negative", "positive", "signbit", "fabs", "round", "around")

        @lw.kernel
        def k(x: lw.Array, y: lw.Array, out: lw.Array):
            for i in lw.lanes(len(x)):
                out[i] = function(x[i]) if alone else function(x[i], y[i])  # noqa: B023

        with np.errstate(all="ignore"):
            want = function(x) if alone else function(x, y)
        if want.dtype == bool:
            want = want.astype(np.uint8)
        out = np.empty_like(want)
        k(x, y, out)
        agreeing(name, out, want)(None)


def test_ufuncs_of_conditions_and_of_constants() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32], out: lw.Array[lw.f64]):
        for i in lw.lanes(len(x)):
            v = x[i]
            found = 1.0 if np.logical_and(np.isnan(v), np.logical_not(v > 2)) else 2.0 if np.logical_or(v, False) else 3.0
            out[i] = found + math.fabs(lw.i8(-128)) + np.fabs(-3)

    x = np.array([0, -0.0, 1, np.nan, np.inf], np.float32)
    out = np.empty(5)
    k(x, out)
    assert out.tolist() == [134, 134, 133, 132, 133]

    @lw.kernel
    def digits(x: lw.Array[lw.f32]):
        x[0] = np.round(x[0], x[1])

    with pytest.raises(lw.KernelTypeError, match="np.round takes the number of decimals as a Python integer"):
        digits(x)


@lw.kernel
def remainders(x: lw.Array, y: lw.Array, out: lw.Array):
    for i in lw.lanes(len(x)):
        out[0, i] = x[i] % y[i]
        out[1, i] = lw.fmod(x[i], y[i])
        out[2, i] = x[i] % 0.7
        out[3, i] = np.mod(1.5, y[i]) + np.fmod(x[i], -2) + math.fmod(x[i], 0.3)
    for i in lw.range(len(x)):
        quotient, out[4, i] = divmod(x[i], y[i])
        out[5, i] = np.floor_divide(x[i], y[i]) - quotient + lw.fmod(x[i], y[i])


@pytest.mark.parametrize("options", [{}, {"fastmath": True}, {"check": True}], ids=str)
@pytest.mark.parametrize("type_", [lw.f16, lw.f32, lw.f64], ids=str)
def test_remainders_of_floats_are_numpys(type_: Any, options: dict[str, bool]) -> None:
    special = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 6e-8, 0.1, 60000, -60000], type_.dtype)
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(special, special))
    out = np.empty((6, len(x)), type_.dtype)
    lw.kernel(**options)(remainders.function)(x, y, out)
    with np.errstate(all="ignore"):
        nothing = np.floor_divide(x, y) - np.floor_divide(x, y)
        several = np.mod(type_(1.5), y) + np.fmod(x, type_(-2)) + np.fmod(x, type_(0.3))
        want = np.array([x % y, np.fmod(x, y), x % type_(0.7), several, x % y, nothing + np.fmod(x, y)])
    agreeing("remainders", out[[0, 1, 2, 4]], want[[0, 1, 2, 4]])(None)
    # (With fastmath sums need not be rounded to f16.)
    assert options.get("fastmath") or np.array_equal(out[[3, 5]], want[[3, 5]], equal_nan=True)


def test_remainders_of_bf16_and_of_integers() -> None:
    @lw.kernel
    def narrow(x: lw.Array, y: lw.Array[lw.bf16], out: lw.Array):
        for i in lw.lanes(len(x)):
            out[i] = lw.f32(lw.bf16(x[i]) % y[i])

    x = np.array([5.5, -5.5, -(2.0**-30), 3e38], np.float32)
    y = np.array([2.0, 2.0, 3.0, 7.0], np.float32)
    bits = x.view(np.uint32) >> 16 << 16
    out = np.empty_like(x)
    narrow(bits.view(np.float32), (y.view(np.uint32) >> 16).astype(np.uint16), out)
    assert out.tolist() == [1.5, 0.5, 3.0, math.fmod(float(bits.view(np.float32)[3]), 7.0)]

    @lw.kernel
    def whole(n: lw.i64, by: lw.i32) -> lw.f64:
        return lw.fmod(n, by) + np.fmod(n, by) / 4

    assert whole(-7, 3) == -1.25


@lw.kernel
def turned(x: lw.Array, by: lw.Array, out: lw.Array):
    for i in lw.range(len(x)):
        out[i] = lw.rotate_left(x[i], by[i])


def test_a_rotation_has_the_type_of_what_is_rotated() -> None:
    x, by = np.array([0x81, 1, 0x40], np.uint8), np.array([1, -1, 1000], np.int64)
    out = np.zeros(3, np.uint8)
    turned(x, by, out)
    assert out.tolist() == [3, 0x80, 0x40]


def test_constants_give_what_run_time_values_would() -> None:
    assert lw.add_saturated(lw.u8(200), 100) == 255 and isinstance(lw.add_saturated(lw.u8(200), 100), np.uint8)
    assert lw.sub_saturated(lw.i8(-100), lw.i8(100)) == -128
    assert lw.rotate_left(lw.u8(0x81), 9) == 3 and lw.rotate_right(lw.u16(1), 1) == 0x8000
    assert lw.saturate(lw.u8, 300) == 255 and lw.saturate(lw.i8, lw.u64(2**63)) == 127 and lw.saturate(lw.u8, -2.5) == 0
    assert lw.mul_wide(lw.u8(255), 255) == 65025 and isinstance(lw.mul_wide(lw.u8(255), 255), np.uint16)
    assert lw.clmul(lw.u8(0b1011), 0b110) == 0b111010 and lw.clmul_high(lw.u64(1 << 63), lw.u64(6)) == 3
    assert lw.leading_zeros(lw.i32(1)) == 31 and lw.trailing_zeros(lw.u8(0)) == 8
    assert lw.bit_reverse(lw.u8(1)) == 128 and lw.byte_swap(lw.u32(1)) == 1 << 24
    assert lw.abs_diff(lw.i8(-128), lw.i8(127)) == 255 and lw.abs_diff(3, 5.5) == 2.5
    assert lw.average_up(3, 4) == 4 and lw.average_down(3, 4) == 3 and lw.average_down(-3, -4) == -4
    assert lw.clamp(5, 0, 3) == 3 and lw.sign(-2.5) == -1.0 and lw.sign(lw.i8(-5)) == -1
    assert lw.copysign(2.0, -0.0) == -2.0 and lw.fnms(2.0, 3.0, 1.0) == -7.0 and lw.mul_high(lw.u8(255), lw.u8(255)) == 254
    assert lw.fmod(-7, 3) == -1.0 and lw.fmod(lw.i8(-7), 3) == -1.0 and isinstance(lw.fmod(lw.f32(1e30), 3), np.float32)
    assert lw.fmod(1e300, 7.0) == math.fmod(1e300, 7.0) and math.isnan(lw.fmod(1, 0)) and lw.fmod(2.5, math.inf) == 2.5


def test_without_a_type_there_is_no_width() -> None:
    with pytest.raises(KernelTypeError, match=r"no width of its own: give it a type, as in lw.leading_zeros\(lw.i32\(5\)\)"):
        lw.leading_zeros(5)
    with pytest.raises(KernelTypeError, match="no width of its own"):
        lw.rotate_left(5, 3)


@lw.kernel
def bits_of_a_float(x: lw.Array[lw.f32]):
    x[0] = lw.leading_zeros(x[0])


@lw.kernel
def float_count(x: lw.Array[lw.i32]):
    x[0] = lw.rotate_left(x[0], lw.f64(x[1]))


@pytest.mark.parametrize("kernel", [bits_of_a_float, float_count], ids=lambda kernel: kernel.__name__)
def test_floats_have_no_bits(kernel: Any) -> None:
    with pytest.raises(UnsupportedOperationError, match="convert to an integer type first"):
        kernel.compile()


@lw.kernel
def mixed(x: lw.Array[lw.u32], key: lw.u32):
    for i in lw.lanes(len(x)):
        x[i] = lw.rotate_left(x[i] ^ key, 16)


def test_rotations_by_whole_bytes_are_one_shuffle_on_avx2_and_one_rotation_on_avx512() -> None:
    assert "vpshufb" in mixed.compile(target="x86-64-v3").asm() and "vpsll" not in mixed.compile(target="x86-64-v3").asm()
    assert "vprold" in mixed.compile(target="x86-64-v4").asm()


@lw.kernel
def whole_numbers(x: lw.Array, out: lw.Array[lw.i64, 2]):
    for i in lw.range(len(x)):
        out[i, 0] = math.floor(x[i])
        out[i, 1] = math.ceil(x[i])
        out[i, 2] = math.trunc(x[i])
        out[i, 3] = x[i] - math.floor(x[i]) > 0.25


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.uint64])
def test_functions_of_math_that_give_integers(dtype: type) -> None:
    x = (np.random.default_rng(0).random(50) * 100 - (50 if np.dtype(dtype).kind in "fi" else 0)).astype(dtype)
    out = np.zeros((50, 4), np.int64)
    whole_numbers(x, out)
    numbers = x.tolist()
    wanted = [[math.floor(v), math.ceil(v), math.trunc(v), int(v - math.floor(v) > 0.25)] for v in numbers]
    assert out.tolist() == wanted
