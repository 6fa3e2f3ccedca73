"""Loops over lanes on arrays of awkward lengths, between pages that cannot be touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw

#: Around the lanes of every width and element size, around those times the unroll factors, primes.
LENGTHS = sorted({0, 1, 2, 3, 5, 13, 37, 61, 97, 131, *(n * u + d for n in (4, 8, 16, 32, 64) for u in (1, 2, 4) for d in (-1, 0, 1) if n * u < 200)})
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8]


def values(n: int, dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    chooser = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        out = (chooser.normal(size=n) * 8).astype(dtype)
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)
        return np.where(chooser.random(n) < 0.3, special[chooser.integers(0, len(special), n)], out)
    info = np.iinfo(dtype)
    return chooser.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


@lw.kernel(contract=False)
def axpy(x: lw.Array, y: lw.Array, a: lw.Const):
    for i in lw.lanes(len(x)):
        y[i] = x[i] * a + y[i]


@lw.kernel
def neighbours(x: lw.Array, y: lw.Array):
    for i in lw.lanes(1, len(x) - 1):
        y[i] = lw.max(lw.max(x[i - 1], x[i]), x[i + 1])


@lw.kernel
def clamp(x: lw.Array, y: lw.Array, low: lw.Const, high: lw.Const):
    for i in lw.lanes(len(x)):
        if x[i] < low:
            y[i] = low
        elif x[i] > high:
            y[i] = high
        else:
            y[i] = x[i]


@lw.kernel
def where_positive(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        if x[i] > 0:
            y[i] = x[i]


@lw.kernel
def where_not(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        if not (x[i] > 0):
            y[i] = x[i]


@lw.kernel
def guarded_neighbour(x: lw.Array, y: lw.Array):
    n = len(x)
    for i in lw.lanes(n):
        v = x[i]
        if i > 0 and x[i - 1] < v:
            v = x[i - 1]
        if i + 1 < n and x[i + 1] < v:
            v = x[i + 1]
        y[i] = v


@lw.kernel
def total(x: lw.Array) -> lw.i64:
    s = lw.i64(0)
    for i in lw.lanes(len(x)):
        s += x[i]
    return s


@lw.kernel
def reductions(x: lw.Array[lw.i32], out: lw.Array[lw.i32]):
    s = lw.i32(0)
    p = lw.i32(1)
    least = lw.i32(1000)
    most = lw.i32(-1000)
    every = lw.i32(-1)
    some = lw.i32(0)
    odd = lw.i32(0)
    for i in lw.lanes(len(x)):
        s += x[i]
        p *= x[i] | 1
        least = lw.min(least, x[i])
        most = lw.max(most, x[i])
        every &= x[i]
        some |= x[i]
        odd ^= x[i]
    out[0] = s
    out[1] = p
    out[2] = least
    out[3] = most
    out[4] = every
    out[5] = some
    out[6] = odd


@lw.kernel
def sum_of_some(x: lw.Array, y: lw.Array) -> lw.f64:
    s = lw.f64(0)
    for i in lw.lanes(len(x)):
        if x[i] > y[i]:
            s += x[i]
        else:
            s -= y[i]
    return s


@lw.kernel
def reverse_index(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i] + i


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(
    ("kernel", "constants"),
    [(axpy, {"a": 3}), (neighbours, {}), (clamp, {"low": 2, "high": 5}), (where_positive, {}), (where_not, {}), (guarded_neighbour, {})],
    ids=lambda k: getattr(k, "__name__", ""),
)
def test_elementwise(everywhere: Callable[..., Any], kernel: Any, constants: dict[str, Any], dtype: Any) -> None:
    all_levels = everywhere(kernel, np.zeros(1, dtype), np.zeros(1, dtype), **constants)
    for n in LENGTHS:
        all_levels.check(values(n, dtype, n), values(n, dtype, n + 1))


@pytest.mark.parametrize("unroll", [1, 2, 3, 4, 8])
def test_any_unroll_factor(everywhere: Callable[..., Any], unroll: int) -> None:
    @lw.kernel
    def kernel(x: lw.Array, y: lw.Array):
        for i in lw.lanes(2, len(x) - 1, unroll=unroll):
            y[i] = x[i - 2] - x[i + 1]

    all_levels = everywhere(kernel, np.zeros(1, np.int32), np.zeros(1, np.int32))
    for n in {*LENGTHS, *(16 * unroll + d for d in (2, 3, 4, 5))}:
        all_levels.check(values(n, np.int32, n), values(n, np.int32, n + 1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8], ids=lambda d: np.dtype(d).name)
def test_integer_sums_are_exact(everywhere: Callable[..., Any], dtype: Any) -> None:
    all_levels = everywhere(total, np.zeros(1, dtype))
    for n in LENGTHS:
        x = values(n, dtype, n) >> (8 if dtype == np.int64 else 0)
        all_levels.check(x, want=(np.int64(x.astype(np.int64).sum()), [x]))


def test_every_kind_of_reduction(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(reductions)
    for n in LENGTHS:
        all_levels.check(np.random.default_rng(n).integers(-500, 500, n, dtype=np.int32), np.zeros(7, np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32], ids=lambda d: np.dtype(d).name)
def test_reductions_of_some_lanes(everywhere: Callable[..., Any], dtype: Any) -> None:
    # Small whole numbers, so that any order of summation gives the same.
    all_levels = everywhere(sum_of_some, np.zeros(1, dtype), np.zeros(1, dtype))
    for n in LENGTHS:
        x, y = np.random.default_rng(n).integers(-99, 99, (2, n)).astype(dtype)
        all_levels.check(x, y)


@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=lambda d: np.dtype(d).name)
def test_the_index_as_a_value(everywhere: Callable[..., Any], dtype: Any) -> None:
    @lw.kernel
    def kernel(y: lw.Array):
        for i in lw.lanes(len(y)):
            y[i] = i * 3 - 7

    all_levels = everywhere(kernel, np.zeros(1, dtype))
    for n in LENGTHS:
        all_levels.check(np.zeros(n, dtype))


# --- types mixed in one loop: as many lanes as the widest has in a register ----------------------------------------


@lw.kernel(contract=False)
def tone(x: lw.Array[lw.u8], y: lw.Array[lw.u8], gain: lw.f32):
    for i in lw.lanes(len(x)):
        y[i] = lw.u8(lw.min(lw.max(lw.f32(x[i]) * gain + lw.f32(0.5), lw.f32(0)), lw.f32(255)))


@lw.kernel(contract=False)
def by_double(x: lw.Array[lw.u8], w: lw.Array[lw.f64], y: lw.Array[lw.u8]):
    for i in lw.lanes(len(x)):
        if w[i] > 0.5:
            y[i] = x[i]
        else:
            y[i] = 255 - x[i]


@lw.kernel
def widths(a: lw.Array[lw.u8], b: lw.Array[lw.i32], c: lw.Array[lw.i64], d: lw.Array[lw.f32], e: lw.Array[lw.f64]):
    for i in lw.lanes(len(a)):
        e[i] = lw.f64(a[i]) + lw.f64(b[i]) * lw.f64(d[i])
        c[i] = lw.i64(a[i]) - lw.i64(b[i])
        if b[i] > 0:
            d[i] = lw.f32(e[i])
            a[i] = lw.u8(b[i])
        else:
            b[i] = lw.i32(a[i])


def test_bytes_by_way_of_floats(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(tone)
    for n in LENGTHS:
        all_levels.check(values(n, np.uint8, n), values(n, np.uint8, n), 1.5)


def test_fewer_bytes_than_a_register_holds(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(by_double)
    for n in LENGTHS:
        all_levels.check(values(n, np.uint8, n), np.random.default_rng(n).random(n), values(n, np.uint8, n + 1))


def test_five_widths_at_once(everywhere: Callable[..., Any]) -> None:
    all_levels = everywhere(widths)
    for n in LENGTHS:
        chooser = np.random.default_rng(n)
        b, d = chooser.integers(-100, 200, n, dtype=np.int32), chooser.integers(-99, 99, n).astype(np.float32)
        all_levels.check(values(n, np.uint8, n), b, np.zeros(n, np.int64), d, np.zeros(n))


# --- division -----------------------------------------------------------------------------------------------------


@lw.kernel
def divisions(x: lw.Array, y: lw.Array, q: lw.Array, r: lw.Array, t: lw.Array, u: lw.Array):
    for i in lw.lanes(len(x)):
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]
        t[i] = lw.div_trunc(x[i], y[i])
        u[i] = lw.rem_trunc(x[i], y[i])


@lw.kernel
def scalar_divisions(x: lw.Array, y: lw.Array, q: lw.Array, r: lw.Array, t: lw.Array, u: lw.Array):
    for i in lw.range(len(x)):
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]
        t[i] = lw.div_trunc(x[i], y[i])
        u[i] = lw.rem_trunc(x[i], y[i])


@pytest.mark.parametrize("kernel", [divisions, scalar_divisions], ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8], ids=lambda d: np.dtype(d).name)
def test_division_by_zero_and_the_quotient_that_overflows_do_not_crash(everywhere: Callable[..., Any], kernel: Any, dtype: Any) -> None:
    all_levels = everywhere(kernel, *[np.zeros(1, dtype)] * 6)
    info = np.iinfo(dtype)
    special = np.array(sorted({info.min, info.min + 1, 0, 1, 2, 3, 7, info.max, info.max - 1} | ({-1, -2, -7} if info.min else set())), dtype)
    x, y = (v.ravel() for v in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        q, r = x // y, x % y
        # Truncated: the floor, one up where something is left and the signs differ.
        up = (r != 0) & ((x < 0) != (y < 0)) & (y != 0)
        t = (q + up).astype(dtype)
        u = np.where(y == 0, 0, x - t * y).astype(dtype)
    empty = np.zeros_like(x)
    for n in (0, 1, 7, 16, 33, len(x)):
        want = [part[:n] for part in (x, y, q, r, t, u)]
        all_levels.check(x[:n], y[:n], *[empty[:n]] * 4, want=(None, want))


@pytest.mark.parametrize(
    ("dtype", "divisor"),
    [
        (dtype, divisor)
        for dtype in (np.int32, np.int64, np.uint8)
        for divisor in (1, -1, 2, -2, 3, 7, -7, 8, 10, 100, 641, 1 << 20, 0)
        if np.iinfo(dtype).min <= divisor <= np.iinfo(dtype).max
    ],
    ids=lambda x: str(x) if isinstance(x, int) else np.dtype(x).name,
)
def test_division_by_a_constant(everywhere: Callable[..., Any], dtype: Any, divisor: int) -> None:
    info = np.iinfo(dtype)

    @lw.kernel
    def kernel(x: lw.Array, q: lw.Array, r: lw.Array):
        for i in lw.lanes(len(x)):
            q[i] = x[i] // d
            r[i] = x[i] % d

    d = np.dtype(dtype).type(divisor)
    x = np.concatenate([values(57, dtype), np.array([info.min, info.max, 0, 1], dtype)])
    with np.errstate(all="ignore"):
        want = [x, x // d, x % d]
    everywhere(kernel, x, x, x).check(x, x * 0, x * 0, want=(None, want))
