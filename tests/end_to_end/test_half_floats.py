"""f16 and bf16 in arrays, scalars and lanes, beside NumPy and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.machines import HALF_ARITHMETIC, Runner, Simulated, runners

import loopwright as lw
from loopwright.types import parse_type

HALVES = ["f16", "bf16"]
#: The widest vectors of each machine: what is computed in f32 has half of them. And those that compute with f16 themselves.
each_machine = pytest.mark.parametrize("runner", [*runners(lambda runner: runner.widest), *HALF_ARITHMETIC])
each_half = pytest.mark.parametrize("half", HALVES)


def needs_ties(runner: Runner, half: str) -> None:
    if half == "f16" and not runner.ties_of_halves:
        pytest.skip(f"what runs {runner} rounds ties of f16 the wrong way")


def array_type(name: str) -> Any:
    return lw.Array[parse_type(name)]


def dtype_of(name: str) -> Any:
    return {"f16": np.float16, "bf16": np.uint16}.get(name) or np.dtype(parse_type(name).dtype)


def digits(name: str) -> tuple[int, int]:
    """Digits and the exponent of the least normal number."""
    return {"f16": (11, -14), "bf16": (8, -126)}[name]


def value_of(name: str, stored: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What an array holds, as f64 (exactly)."""
    with np.errstate(all="ignore"):
        if name == "bf16":
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return stored.astype(np.float64)


def rounded(name: str, exact: Fraction) -> float:
    """A number rounded once, to nearest, ties to even (IEEE 754-2019, 4.3.1)."""
    if not exact:
        return 0.0
    precision, least = digits(name)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    whole = round(size / unit) * unit  # (Python's round is to even.)
    largest = Fraction(2) ** (1 - least) * (2 - Fraction(2) ** (1 - precision))
    made = float("inf") if whole > largest else float(whole)
    return -made if exact < 0 else made


def stored(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Numbers that the type holds, as an array of it."""
    single = np.asarray(values, np.float32)
    if name == "f16":
        return single.astype(np.float16)
    bits = single.view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return (bits >> np.uint32(16)).astype(np.uint16)


def same(name: str, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    """The same bits, or both NaN."""
    nan = np.isnan(value_of(name, got)) & np.isnan(value_of(name, want))
    return bool((nan | (got.view(np.uint16) == want.view(np.uint16))).all())


def numbers(name: str, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Any bits at all, and such as meet."""
    chooser = np.random.default_rng(seed)
    made = chooser.integers(0, 1 << 16, count, dtype=np.uint16)
    one = 0x3C00 if name == "f16" else 0x3F80
    near = (one + chooser.integers(-40, 40, count)).astype(np.uint16) | (chooser.integers(0, 2, count).astype(np.uint16) << np.uint16(15))
    special = np.array([0, 0x8000, 1, 0x8001, one, 0x7C00 if name == "f16" else 0x7F80, 0xFC00 if name == "f16" else 0xFF80, 0x7FFF, 0x03FF, 0x0400], np.uint16)
    made = np.where(chooser.random(count) < 0.4, near, made)
    made = np.where(chooser.random(count) < 0.2, special[chooser.integers(0, len(special), count)], made)
    return made.view(dtype_of(name))


@lw.kernel
def convert(x: lw.Array, y: lw.Array, lanes: lw.Const):
    if lanes:
        for i in lw.lanes(len(x)):
            y[i] = y.dtype(x[i])
    else:
        for i in lw.range(len(x)):
            y[i] = y.dtype(x[i])


@lw.kernel(contract=False)
def arithmetic(x: lw.Array, y: lw.Array, out: lw.Array, lanes: lw.Const):
    n = len(x)
    for i in lw.lanes(n) if lanes else lw.range(n):
        out[i] = x[i] + y[i]
        out[i + n] = x[i] - y[i]
        out[i + 2 * n] = x[i] * y[i]
        out[i + 3 * n] = x[i] / y[i]
        out[i + 4 * n] = lw.sqrt(lw.abs(x[i]))
        out[i + 5 * n] = -x[i]
        out[i + 6 * n] = lw.min(x[i], y[i])
        out[i + 7 * n] = lw.max(x[i], y[i])
        out[i + 8 * n] = lw.floor(x[i])
        out[i + 9 * n] = lw.round(y[i])
        out[i + 10 * n] = x[i] if x[i] < y[i] else y[i] * 0.1
        out[i + 11 * n] = lw.fma(x[i], y[i], x[i])


ROWS = 12


def arithmetic_expected(name: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Each result by f32 rounded (exact results aside, +, -, *, / and the root are correctly rounded so), the multiply-add exactly."""
    a, b = (value_of(name, v).astype(np.float32) for v in (x, y))

    def back(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if name == "f16":
            return v.astype(np.float16)
        made = np.array([0x7FC0 if np.isnan(w) else 0 for w in v], np.uint16)
        for k, w in enumerate(v):
            if not np.isnan(w):
                made[k] = stored(name, np.copysign(rounded(name, Fraction(float(abs(w)))), w) if np.isfinite(w) else w)
        return made

    tenth = float(rounded(name, Fraction(0.1)))
    scaled = value_of(name, back(b * np.float32(tenth)))
    fused = []
    for p, q in zip(a.astype(np.float64), b.astype(np.float64), strict=True):
        if np.isfinite(p) and np.isfinite(q):
            exact = Fraction(p) * Fraction(q) + Fraction(p)
            fused.append(rounded(name, exact) if exact else p * q + p)
        else:
            fused.append(p * q + p)
    results = [a + b, a - b, a * b, a / b, np.sqrt(np.abs(a)), -a, np.where(b < a, b, a), np.where(b > a, b, a), np.floor(a), np.rint(b)]
    made = [back(np.asarray(r, np.float32)) for r in results]
    made.append(np.where(a < b, x.view(np.uint16), back(scaled.astype(np.float32)).view(np.uint16)).view(x.dtype))
    made.append(back(np.array(fused, np.float32)))
    return made


@each_machine
@each_half
@pytest.mark.parametrize("lanes", [False, True])
def test_arithmetic_rounds_once(runner: Runner, half: str, lanes: bool) -> None:
    needs_ties(runner, half)
    if isinstance(runner, Simulated):
        pytest.skip("it has no multiply-adds of one rounding")
    t = array_type(half)
    code = runner.compiled(arithmetic, t, t, t, lanes)
    x, y = numbers(half, 999, 1), numbers(half, 999, 2)
    out = np.zeros(ROWS * len(x), x.dtype)

    def compare(_: Any) -> None:
        with np.errstate(all="ignore"):
            for k, want in enumerate(arithmetic_expected(half, x, y)):
                got = out[k * len(x) : (k + 1) * len(x)]
                assert same(half, got, want), (k, [(a, b, c, d) for a, b, c, d in zip(x, y, got, want, strict=True) if not same(half, c[None], d[None])][:5])

    runner.run(code, [x, y, out], compare)


@each_machine
@each_half
@pytest.mark.parametrize("lanes", [False, True])
def test_every_half_float_becomes_the_f32_and_f64_it_is(runner: Runner, half: str, lanes: bool) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype_of(half))
    for to in ("f32", "f64"):
        code = runner.compiled(convert, array_type(half), array_type(to), lanes)
        out = np.zeros(1 << 16, dtype_of(to))

        def compare(_: Any, out: Any = out) -> None:
            with np.errstate(all="ignore"):
                assert np.array_equal(out.astype(np.float64), value_of(half, every), equal_nan=True)
            assert (np.signbit(out) == np.signbit(value_of(half, every)))[~np.isnan(out)].all()

        runner.run(code, [every, out], compare)


def near_ties(name: str, source: str, count: int) -> np.ndarray[Any, Any]:
    """Numbers of a wider type on, beside and far from the points where rounding changes its mind."""
    chooser = np.random.default_rng(7)
    bits = chooser.integers(0, 1 << 16, count, dtype=np.uint16)
    low, high = value_of(name, bits.view(dtype_of(name))), value_of(name, (bits + np.uint16(1)).view(dtype_of(name)))
    with np.errstate(all="ignore"):
        middle = (low + high) / 2
        made = middle.astype(source)
        up, down = np.nextafter(made, np.array(np.inf, source)), np.nextafter(made, np.array(-np.inf, source))
        nudged = (middle * (1 + 2.0**-30)).astype(source)
        noise = (chooser.normal(size=count) * 10.0 ** chooser.integers(-10, 8, count)).astype(source)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65519.99, 65520, 65536, 1e30, -1e30, 3.3e38, 1e-45, 2.0**-25, 2.0**-134], source)
    return np.concatenate([made, up, down, nudged, noise, special, bits.astype(source)])


@each_machine
@each_half
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_floats_become_half_floats_rounded_once(runner: Runner, half: str, source: str) -> None:
    x = near_ties(half, dtype_of(source).name, 1500)
    if half == "f16" and not runner.ties_of_halves:
        with np.errstate(all="ignore"):
            nearest = x.astype(np.float16)
            away = np.nextafter(nearest, np.where(x > nearest, np.float16(np.inf), np.float16(-np.inf)))
            x = x[nearest.astype(np.float64) + away != 2 * x.astype(np.float64)]
        assert len(x) > 5000
    want = np.array([rounded(half, Fraction(float(abs(v)))) if np.isfinite(v) else abs(v) for v in x])
    with np.errstate(all="ignore"):
        want = stored(half, np.copysign(want, x))
    for lanes in (False, True):
        code = runner.compiled(convert, array_type(source), array_type(half), lanes)
        out = np.zeros(len(x), dtype_of(half))

        def compare(_: Any, out: Any = out) -> None:
            assert same(half, out, want), [(a, b, c) for a, b, c in zip(x, out, want, strict=True) if not same(half, b[None], c[None])][:5]

        runner.run(code, [x, out], compare)


@each_machine
@each_half
@pytest.mark.parametrize("lanes", [False, True])
def test_integers_become_half_floats_rounded_once_and_back(runner: Runner, half: str, lanes: bool) -> None:
    needs_ties(runner, half)
    chooser = np.random.default_rng(3)
    for name in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
        info = np.iinfo(dtype_of(name))
        wide = chooser.integers(0, 1 << 64, 500, dtype=np.uint64) >> chooser.integers(0, 64, 500).astype(np.uint64)
        ties = [(1 << k) + (1 << k - digits(half)[0]) + d for k in range(digits(half)[0] + 1, 63) for d in (-1, 0, 1)]
        x = np.concatenate(
            [wide.astype(dtype_of(name)), np.array([info.min, info.max, 0, 1], dtype_of(name)), np.array(ties, np.uint64).astype(dtype_of(name))]
        )
        want = stored(half, [rounded(half, Fraction(int(v))) for v in x])
        code = runner.compiled(convert, array_type(name), array_type(half), lanes)
        out = np.zeros(len(x), dtype_of(half))

        def compare(_: Any, out: Any = out, want: Any = want, name: str = name) -> None:
            assert same(half, out, want), name

        runner.run(code, [x, out], compare)
        given = numbers(half, 700, 5)
        back = runner.compiled(convert, array_type(half), array_type(name), lanes)
        integers = np.zeros(len(given), dtype_of(name))

        def compare_back(_: Any, given: Any = given, integers: Any = integers, name: str = name) -> None:
            exact = value_of(half, given)
            low, high = int(np.iinfo(integers.dtype).min), int(np.iinfo(integers.dtype).max)
            for v, got in zip(exact, integers, strict=True):
                assert int(got) == (0 if np.isnan(v) else low if v < low else high if v > high else int(v)), (name, v, got)

        runner.run(back, [given, integers], compare_back)


@lw.kernel
def total(x: lw.Array, start: lw.f16) -> lw.f16:
    t, most = lw.f16(start), lw.f16(-9)
    for i in lw.lanes(len(x)):
        if x[i] > 0:
            t += x[i]
        most = lw.max(most, x[i])
    return t + most


def test_a_total_of_lanes_is_rounded_once_and_scalars_are_passed_as_any_number() -> None:
    x = np.array([2048, 1, 1, 1, -3], np.float16)
    assert total(x, 0.1) == float(np.float16(np.float16(2051 + float(np.float16(0.1))) + np.float16(2048)))
    assert total(np.zeros(0, np.float16), 65519.9) == float(np.float16(65504 - 9))
    assert total(x[:0], 65520.0) == np.inf


@lw.kernel
def mixed(x: lw.Array[lw.bf16], y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i] * 0.1 + y[i]


def test_bf16_arrays_are_bits_or_ml_dtypes() -> None:
    bits = stored("bf16", [1.0, 2.5, -3.0])
    y = np.array([1, 2, 3], np.float32)
    mixed(bits, y)
    tenth = np.float32(rounded("bf16", Fraction(0.1)))
    products = [rounded("bf16", Fraction(float(v)) * Fraction(float(tenth))) for v in (1.0, 2.5, -3.0)]
    assert np.array_equal(y, np.float32(products) + np.array([1, 2, 3], np.float32))
    with pytest.raises(lw.ArgumentError, match="x: an array of uint16 is expected, got float16|x: an array of bfloat16 is expected, got float16"):
        mixed(np.zeros(3, np.float16), y)
    package = pytest.importorskip("ml_dtypes")
    again = np.array([1, 2, 3], np.float32)
    mixed(bits.view(package.bfloat16), again)
    assert np.array_equal(y, again)


def test_without_rounding_between_under_fastmath() -> None:
    fast = lw.kernel(fastmath=True)(arithmetic_of_two)
    slow = lw.kernel(contract=False)(arithmetic_of_two)
    x = np.array([1.03], np.float16)
    outs = []
    for kernel in (fast, slow):
        out = np.zeros(1, np.float16)
        kernel(x, out)
        outs.append(out[0])
    assert outs[1] == x[0] * x[0] - np.float16(1)
    assert outs[0] == np.float16(float(x[0]) * float(x[0]) - 1) != outs[1]
    counts = [kernel.compile(x, x, target="x86-64-v3").ir("simplify").count("to_f16") for kernel in (fast, slow)]
    assert 2 * counts[0] == counts[1] > 0


def arithmetic_of_two(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i] * x[i] - 1


@lw.kernel
def powers(x: lw.Array, out: lw.Array, lanes: lw.Const):
    n = len(x)
    for i in lw.lanes(n) if lanes else lw.range(n):
        for k, exponent in enumerate((-3, -2, -1, 2, 3, 5)):
            out[i + k * n] = x[i] ** exponent


@each_machine
@each_half
@pytest.mark.parametrize("lanes", [False, True])
def test_powers_are_rounded_once_and_may_be_larger_in_between(runner: Runner, half: str, lanes: bool) -> None:
    needs_ties(runner, half)
    t = array_type(half)
    bits = numbers(half, 333, 1)
    x = bits[np.abs(value_of(half, bits)) < 1e6]
    out = np.zeros(6 * len(x), x.dtype)

    def compare(_: Any) -> None:
        with np.errstate(all="ignore"):
            a = value_of(half, x).astype(np.float32)
            square = a * a
            want = [1 / (a * square), 1 / square, 1 / a, square, a * square, a * (square * square)]
        for k, exact in enumerate(want):
            got = value_of(half, out[k * len(x) : (k + 1) * len(x)])
            expected = [v if not np.isfinite(v) else rounded(half, Fraction(float(v))) for v in exact]
            assert np.array_equal(got, expected, equal_nan=True), k

    runner.run(runner.compiled(powers, t, t, lanes), [x, out], compare)


def test_powers_of_constants_are_those_of_run_time() -> None:
    @lw.kernel
    def k(out: lw.Array[lw.f16], c: lw.Const):
        for n, exponent in enumerate((-3, -2, -1, 0, 1, 2, 3, 5)):
            out[n] = c**exponent
            out[n + 8] = out[16] ** exponent

    for number in (300.0, 3.0, -1.7, 0.01):
        out = np.full(17, number, np.float16)
        k(out, np.float16(number))
        assert np.array_equal(out[:8], out[8:16]) and out[1] > 0
