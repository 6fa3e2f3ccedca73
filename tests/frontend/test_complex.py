"""Complex numbers in kernels: NumPy judges, on every machine, of lanes and of plain loops, in the interpreter and in checked mode."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from
from tests.frontend.conftest import copies, stage
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import ArgumentError, BoundsError, KernelSyntaxError, KernelTypeError
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function

COUNT = 37
TYPES = [np.complex64, np.complex128]


@lw.kernel
def unary(x: lw.Array, out: lw.Array, function: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = function(x[i])
    for i in lw.range(len(x)):
        out[1, i] = function(x[i])


@lw.kernel
def binary(x: lw.Array, y: lw.Array, out: lw.Array, function: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = function(x[i], y[i])
    for i in lw.range(len(x)):
        out[1, i] = function(x[i], y[i])


def numbers(dtype: Any, seed: int, count: int = COUNT) -> Any:
    chooser = np.random.default_rng(seed)
    return (chooser.standard_normal(count) + 1j * chooser.standard_normal(count)).astype(dtype)


def close(found: Any, wanted: Any, units: float = 4) -> None:
    """Equal but for some units in the last place of the absolute value, which is what complex arithmetic is exact to."""
    part = np.float64 if np.asarray(wanted).dtype in (np.complex128, np.float64) else np.float32
    np.testing.assert_array_less(np.abs(found - wanted), units * np.finfo(part).eps * np.abs(wanted) + np.finfo(part).tiny)


# (What a kernel computes, what NumPy does, how many units in the last place it may be off.)
UNARY: list[tuple[Callable[[Any], Any], Callable[[Any], Any] | None, float]] = [
    (lambda z: -z, None, 0.1),
    (lambda z: +z, None, 0.1),
    (lambda z: z.conjugate(), None, 0.1),
    (lambda z: z * 2j, None, 1),
    (lambda z: 2j * z, None, 1),
    (lambda z: z + (1 - 2j), None, 1),
    (lambda z: 1 - z, None, 1),
    (lambda z: 3 * z + 1.5, None, 2),
    (lambda z: z / 4, None, 1),
    (lambda z: 1 / z, None, 6),
    (lambda z: (1 + 2j) / z, None, 6),
    (lambda z: z**3, None, 6),
    (lambda z: z**-2, None, 8),
    (lambda z: z * np.float32(0.5), None, 1),
    (lw.conj, np.conj, 0.1),
    (lambda z: lw.real(z) + 1j * lw.imag(z), lambda z: z, 1),
    (lambda z: lw.select(z.real > 0, z, 2j), lambda z: np.where(z.real > 0, z, np.asarray(2j, z.dtype)), 1),
    (lambda z: lw.select(z.real > z.imag, 1, z), lambda z: np.where(z.real > z.imag, 1, z), 1),
]


#: Those that are written with multiply-adds of one rounding, which Multiclet's processors do not have.
ELEMENTARY: list[tuple[Callable[[Any], Any], Callable[[Any], Any] | None, float]] = [
    (lw.exp, np.exp, 6),
    (lw.log, np.log, 8),
    (lw.sqrt, np.sqrt, 6),
    (lw.sin, np.sin, 8),
    (lw.cos, np.cos, 8),
    (lw.sinh, np.sinh, 8),
    (lw.cosh, np.cosh, 8),
]


def cases(runner: Runner) -> list[tuple[Callable[[Any], Any], Callable[[Any], Any] | None, float]]:
    return UNARY if runner.folder == "multiclet" else UNARY + ELEMENTARY


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", TYPES)
def test_unary(runner: Runner, dtype: Any) -> None:
    x = numbers(dtype, 1)
    for function, judge, units in cases(runner):
        out = np.zeros((2, COUNT), dtype)
        wanted = (judge or function)(x)

        def check(_: Any, out: Any = out, wanted: Any = wanted, units: float = units) -> None:
            close(out, np.stack([wanted, wanted]), units)

        runner.run(runner.compiled(unary, x, out, function=function), (x, out), check)


@lw.kernel
def by_names_of_others(x: lw.Array[lw.complex128], out: lw.Array[lw.complex128, 2]):
    for i in lw.lanes(len(x)):
        z = x[i]
        out[0, i] = np.exp(z) + np.conj(z) * np.real(z)
        out[1, i] = np.sqrt(z) - np.imag(z) * np.angle(z)
        out[2, i] = cmath.log(z) * np.abs(z) + abs(z)
        out[3, i] = np.where(z.real > 0, z, 2j)


def test_functions_of_numpy_and_cmath() -> None:
    x = numbers(np.complex128, 3)
    out = np.zeros((4, COUNT), np.complex128)
    by_names_of_others(x, out)
    size = np.abs(x)
    wanted = [np.exp(x) + x.conj() * x.real, np.sqrt(x) - x.imag * np.angle(x), np.log(x) * size + size, np.where(x.real > 0, x, 2j)]
    np.testing.assert_allclose(out, wanted, rtol=1e-13)


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", TYPES)
def test_to_reals(runner: Runner, dtype: Any) -> None:
    x = numbers(dtype, 1)
    simple = [(lw.real, np.real), (lw.imag, np.imag)]
    for function, judge in simple if runner.folder == "multiclet" else [*simple, (abs, abs), (lw.abs, abs), (lw.angle, np.angle)]:
        out = np.zeros((2, COUNT), x.real.dtype)
        wanted = judge(x)

        def check(_: Any, out: Any = out, wanted: Any = wanted) -> None:
            close(out, np.stack([wanted, wanted]))

        runner.run(runner.compiled(unary, x, out, function=function), (x, out), check)


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: b - a,
    lambda a, b: a * b,
    lambda a, b: b * a,
    lambda a, b: a / b,
    lambda a, b: b / a,
]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("other", [np.complex64, np.complex128, np.float32, np.float64, np.int32, np.int8])
def test_binary(runner: Runner, dtype: Any, other: Any) -> None:
    x = numbers(dtype, 1)
    y = numbers(np.complex128, 2).astype(other) if np.dtype(other).kind == "c" else (numbers(np.complex128, 2).real * 10 + 20).astype(other)
    for function in BINARY:
        wanted = function(x, y)
        out = np.zeros((2, COUNT), wanted.dtype)

        def check(_: Any, out: Any = out, wanted: Any = wanted) -> None:
            close(out, np.stack([wanted, wanted]), 8)

        runner.run(runner.compiled(binary, x, y, out, function=function), (x, y, out), check)


@lw.kernel
def compared(x: lw.Array, y: lw.Array, a: lw.complex128, out: lw.Array[lw.u8, 2]):
    for i in lw.lanes(len(x)):
        out[0, i] = lw.u8(x[i] == y[i])
        out[1, i] = lw.u8(x[i] != y[i])
        out[2, i] = lw.u8(x[i] == a)
        out[3, i] = lw.u8(x[i] == 1)
        out[4, i] = 1 if y[i] != 2j else 0


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", TYPES)
def test_comparisons(runner: Runner, dtype: Any) -> None:
    chooser = np.random.default_rng(3)
    x, y = (chooser.choice(np.array([1, 2j, 1 + 2j, -0.0, np.nan, complex(1, np.nan)], dtype), COUNT) for _ in range(2))
    out = np.zeros((5, COUNT), np.uint8)

    def check(_: Any) -> None:
        np.testing.assert_array_equal(out, np.stack([x == y, x != y, x == 1 + 2j, x == 1, y != 2j]).astype(np.uint8))

    runner.run(runner.compiled(compared, x, y, lw.complex128, out), (x, y, 1 + 2j, out), check)


@lw.kernel
def totals(x: lw.Array, y: lw.Array, a: lw.complex64, out: lw.Array):
    inner = 0j
    for i in lw.lanes(len(x)):
        inner += x[i] * y[i].conjugate()
    less = a
    for i in lw.lanes(len(x)):
        less -= lw.complex64(x[i])
    product = x.dtype(1)
    total = 1j
    for i in lw.range(len(x)):
        product *= x[i]
        if x[i].real > 0:
            total += x[i]
        else:
            total = total - y[i]
    out[0], out[1], out[2], out[3] = inner, less, product, total


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", TYPES)
def test_totals(runner: Runner, dtype: Any) -> None:
    x, y = numbers(dtype, 4), numbers(dtype, 5)
    out = np.zeros(4, dtype)

    def check(_: Any) -> None:
        wanted = [(x * y.conj()).sum(), 1 - 2j - x.astype(np.complex64).sum(), x.prod(), 1j + x[x.real > 0].sum() - y[~(x.real > 0)].sum()]
        np.testing.assert_allclose(out, wanted, rtol=1e-5)

    runner.run(runner.compiled(totals, x, y, lw.complex64, out), (x, y, 1 - 2j, out), check)


@lw.kernel
def mandelbrot(c: lw.Array, count: lw.Array[lw.i32], limit: lw.i32):
    for i in lw.lanes(len(c)):
        z = 0j
        k = lw.i32(0)
        while k < limit and z.real * z.real + z.imag * z.imag <= 4:
            z = z * z + c[i]
            k += 1
        count[i] = k


@pytest.mark.parametrize("runner", runners())
def test_loops_that_differ_by_lane(runner: Runner) -> None:
    c = (np.array([[-0.5]]) + np.linspace(-1.4, 1.4, 12) + 1j * np.linspace(-1.2, 1.2, 12)[:, None]).ravel().astype(np.complex128)
    count = np.zeros(len(c), np.int32)
    wanted = np.zeros(len(c), np.int32)
    z = np.zeros_like(c)
    for _ in range(50):
        inside = (z.real**2 + z.imag**2 <= 4) & (wanted >= 0)
        wanted[inside] += 1
        z = np.where(inside, z * z + c, z)

    def check(_: Any) -> None:
        np.testing.assert_array_equal(count, wanted)

    runner.run(runner.compiled(mandelbrot, c, count, lw.i32), (c, count, 50), check)


@lw.kernel
def butterflies(x: lw.Array[lw.complex64], w: lw.Array[lw.complex64], half: lw.i64):
    for start in lw.range(0, len(x), 2 * half):
        for i in lw.lanes(half):
            a, b = x[start + i], x[start + half + i] * w[i * (len(w) // half)]
            x[start + i] = a + b
            x[start + half + i] = a - b


def fourier(x: Any, step: Callable[[Any, Any, int], None]) -> Any:
    """By butterflies: the numbers in the order of their reversed bits, then one step for each power of two."""
    bits = len(x).bit_length() - 1
    order = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(len(x))]
    y = x[order].copy()
    w = np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x)).astype(np.complex64)
    half = 1
    while half < len(x):
        step(y, w, half)
        half *= 2
    return y


def test_fourier_transform() -> None:
    x = numbers(np.complex64, 6, 64)
    np.testing.assert_allclose(fourier(x, butterflies), np.fft.fft(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(fourier(x, lw.kernel(butterflies.function, nests="off", check=True)), np.fft.fft(x), rtol=1e-5, atol=1e-5)


@lw.kernel
def columns(x: lw.Array[lw.complex64, 2], y: lw.Array[lw.complex64, 2], table: lw.Const):
    row = lw.local(lw.complex64, 4)
    for r in lw.range(x.shape[0]):
        for k in range(4):
            row[k] = x[r, k] * table[k]
        for c in lw.range(x.shape[1]):
            y[r, c] = row[c & 3] + table[c & 3] + x[r, c]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("check", [False, True])
def test_rows_tables_and_local_arrays(runner: Runner, check: bool) -> None:
    whole = numbers(np.complex64, 7, 60).reshape(6, 10)
    x = whole[::2, 1:8]
    y = np.zeros((3, 7), np.complex64)
    table = np.array([1, 2j, 3, 4j], np.complex64)
    kernel = lw.kernel(columns.function, check=check)

    def check_it(_: Any) -> None:
        k = np.arange(7) & 3
        close(y, x[:, k] * table[k] + table[k] + x)

    runner.run(runner.compiled(kernel, x, y, table=table), (x, y), check_it)


@lw.kernel
def special(z: lw.complex64, w: lw.complex128, a: lw.f64, out: lw.Array[lw.complex128]):
    out[0] = z
    out[1] = w * a
    out[2] = lw.complex128(a, 2)
    out[3] = lw.complex64(a)
    out[4] = z if a > 0 else lw.complex64(w.conjugate()) * 0 + lw.complex64(1)
    out[5] = lw.select(a > 0, w, 1)
    out[6] = 7
    out[7] = cmath.exp(1j) * lw.sqrt(w)


def test_numbers_as_arguments() -> None:
    out = np.zeros(8, np.complex128)
    for z, w in ((1 + 2j, 3 - 1j), (np.complex64(1 + 2j), np.complex128(3 - 1j)), (2, 5.0), (np.float32(1.5), np.int64(4))):
        special(z, w, 2.5, out)
        wanted = [z, w * 2.5, 2.5 + 2j, 2.5, z, w, 7, cmath.exp(1j) * np.sqrt(complex(w))]
        np.testing.assert_allclose(out, wanted, rtol=1e-7)


def test_interpreter() -> None:
    x, y = numbers(np.complex64, 4), numbers(np.complex64, 5)
    out = np.zeros(4, np.complex64)
    for bits, check in ((0, False), (0, True), (256, False), (512, False)):
        f = stage(totals, x, y, lw.complex64, out, bits=bits, check=check)
        got = copies((x, y, 1 - 2j, out))
        run(f, *got)
        np.testing.assert_allclose(got[3][0], (x * y.conj()).sum(), rtol=1e-5)
    # The text says what calls pass.
    text = print_function(stage(totals, x, y, lw.complex64, out, bits=0))
    assert "array x: f32[%x.n0] at %x pairs" in text
    assert print_function(parse(text)) == text


def test_bounds_are_those_of_the_numbers() -> None:
    @lw.kernel(check=True)
    def beyond(x: lw.Array[lw.complex64], i: lw.i64, out: lw.Array[lw.complex64]):
        out[0] = x[i]

    x, out = numbers(np.complex64, 1, 5), np.zeros(1, np.complex64)
    beyond(x, 4, out)
    assert out[0] == x[4]
    with pytest.raises(BoundsError, match="x: index 5 is outside the array, which has 5 elements"):
        beyond(x, 5, out)


def test_root_and_quotient_of_what_is_special() -> None:
    @lw.kernel
    def both(x: lw.Array, y: lw.Array, root: lw.Array, quotient: lw.Array):
        for i in lw.lanes(len(x)):
            root[i] = lw.sqrt(x[i])
            quotient[i] = x[i] / y[i]

    for dtype in TYPES:
        big = np.finfo(dtype).max / 4
        x = np.array([0, -4, complex(-4, -0.0), 4j, -2j, complex(big, big), complex(0, -9), 1], dtype)
        y = np.array([1, 2j, -1, 1 + 1j, 1, complex(big, big / 2), complex(big, 1), complex(0, 0)], dtype)
        root, quotient = np.zeros_like(x), np.zeros_like(x)
        both(x, y, root, quotient)
        close(root[:-1], np.sqrt(x[:-1]))
        assert np.signbit(root[2].imag)
        with np.errstate(all="ignore"):
            close(quotient[:-1], (x / y)[:-1])
        assert np.isinf(quotient[-1].real)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("out[0] = x[0] < x[1]", "complex numbers have no order; compare lw.abs"),
        ("out[0] = x[0] // 2", "take the parts z.real and z.imag"),
        ("out[0] = x[0] ** 0.5", "a Python integer from -64 to 64 as its exponent"),
        ("out[0] = x[0] ** x[1]", r"write lw.exp\(w \* lw.log\(z\)\)"),
        ("out[0] = lw.tan(x[0])", "lw.tan is not available for complex numbers, which have abs, angle"),
        ("real[0] = x[0]", "an element of real is f32 and the value .* take its part"),
        ("real[0] = lw.f32(x[0])", "does not become f32: take its part"),
        ("out[0] = x[0] & 1", "operations on bits take integers"),
        ("out[0] = 1 if x[0] else 2", "has no truth value while compiling: write z != 0"),
        ("out[0] = lw.min(x[0], x[1])", "lw.min takes numbers"),
        ("out[0] = x[0][0]", "its parts are z.real and z.imag"),
    ],
)
def test_refused(statement: str, message: str) -> None:
    with pytest.raises(KernelTypeError, match=message):
        kernel_from("x: lw.Array[lw.complex64], real: lw.Array[lw.f32], out: lw.Array[lw.complex64]", statement)[0].compile()


def test_refused_totals_results_and_arguments() -> None:
    @lw.kernel
    def product(x: lw.Array[lw.complex64], out: lw.Array[lw.complex64]):
        p = 1 + 0j
        for i in lw.lanes(len(x)):
            p *= x[i]
        out[0] = p

    @lw.kernel
    def real_total(x: lw.Array[lw.complex64], out: lw.Array[lw.complex64]):
        total = 0.0
        for i in lw.lanes(len(x)):
            total += x[i]
        out[0] = total

    def returned(x: lw.Array[lw.complex64]) -> lw.complex64:
        return x[0]

    @lw.kernel
    def real(a: lw.f32):
        pass

    x = numbers(np.complex64, 1)
    with pytest.raises(KernelTypeError, match=r"can be reduced with \+ and -"):
        product(x, x)
    with pytest.raises(KernelTypeError, match="start it as 0j"):
        real_total(x, x)
    with pytest.raises(KernelSyntaxError, match="store a complex one in an array"):
        lw.kernel(returned).compile()
    with pytest.raises(ArgumentError, match="a real number is expected"):
        real(1j)
    with pytest.raises(ArgumentError, match="an array of complex64 is expected, got complex128"):
        unary.compile(lw.Array[lw.complex64], lw.Array[lw.complex64, 2], function=abs if False else np.conj)(
            numbers(np.complex128, 1), np.zeros((2, 37), np.complex64)
        )
