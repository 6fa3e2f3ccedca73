"""Kernels that widen the corpus ``kernels``: the inner loops of numerical programs, for each type they make sense for.

They are written as a user writes kernels. ``CASES`` says what each is compiled for.
"""

from __future__ import annotations

import loopwright as lw

__all__ = ["CASES"]


@lw.kernel
def axpy(x: lw.Array, y: lw.Array, a: lw.Const):
    """y += a x"""
    for i in lw.lanes(len(x)):
        y[i] += a * x[i]


@lw.kernel
def dot(x: lw.Array[lw.f64], y: lw.Array[lw.f64]) -> lw.f64:
    """The sum of x y."""
    total = lw.f64(0)
    for i in lw.lanes(len(x)):
        total += x[i] * y[i]
    return total


@lw.kernel
def moments(x: lw.Array[lw.f32], out: lw.Array[lw.f32]):
    """Sum, sum of squares, sum of cubes."""
    one = lw.f32(0)
    two = lw.f32(0)
    three = lw.f32(0)
    for i in lw.lanes(len(x)):
        v = x[i]
        one += v
        two += v * v
        three += v * v * v
    out[0] = one
    out[1] = two
    out[2] = three


@lw.kernel
def clamp(x: lw.Array, y: lw.Array, low: lw.Const, high: lw.Const):
    """x between two limits."""
    for i in lw.lanes(len(x)):
        y[i] = lw.min(lw.max(x[i], low), high)


@lw.kernel
def leaky(x: lw.Array, y: lw.Array, slope: lw.Const):
    """x where it is positive, a part of it elsewhere: a branch in each lane."""
    for i in lw.lanes(len(x)):
        v = x[i]
        if v < 0:
            v = v * slope
        y[i] = v


@lw.kernel
def length(x: lw.Array, y: lw.Array, z: lw.Array, out: lw.Array):
    """The length of each vector."""
    for i in lw.lanes(len(out)):
        out[i] = lw.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@lw.kernel
def complex_product(ar: lw.Array, ai: lw.Array, br: lw.Array, bi: lw.Array, cr: lw.Array, ci: lw.Array):
    """Complex products, real and imaginary parts apart."""
    for i in lw.lanes(len(cr)):
        cr[i] = ar[i] * br[i] - ai[i] * bi[i]
        ci[i] = ar[i] * bi[i] + ai[i] * br[i]


@lw.kernel
def convolve(x: lw.Array, y: lw.Array, taps: lw.Const):
    """A filter of constant taps."""
    for i in lw.lanes(len(y)):
        total = x[i] * taps[0]
        for k in range(1, len(taps)):
            total = total + x[i + k] * taps[k]
        y[i] = total


@lw.kernel
def window(x: lw.Array, y: lw.Array, size: lw.Const):
    """The largest less the smallest of so many neighbours."""
    for i in lw.lanes(len(y)):
        most = x[i]
        least = x[i]
        for k in range(1, size):
            most = lw.max(most, x[i + k])
            least = lw.min(least, x[i + k])
        y[i] = most - least


@lw.kernel
def convolve_plane(src: lw.Array, dst: lw.Array, weights: lw.Const):
    """A filter of constant weights on a plane; those that are 0 cost nothing."""
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(dst.shape[1]):
            total = src[r, c] * weights[0][0]
            for dr, row in enumerate(weights):
                for dc, w in enumerate(row):
                    if w and (dr or dc):
                        total = total + src[r + dr, c + dc] * w
            dst[r, c] = total


@lw.kernel
def matrix_rows(a: lw.Array, b: lw.Array, c: lw.Array, rows: lw.Const):
    """So many rows of a matrix product at once: a row of b is read once for all of them."""
    for p in lw.range(a.shape[1]):
        for j in lw.lanes(c.shape[1]):
            v = b[p, j]
            for r in range(rows):
                c[r, j] += a[r, p] * v


@lw.kernel
def gray(r: lw.Array[lw.i32], g: lw.Array[lw.i32], b: lw.Array[lw.i32], out: lw.Array[lw.i32]):
    """Brightness in fixed point."""
    for i in lw.lanes(len(out)):
        out[i] = (r[i] * 77 + g[i] * 150 + b[i] * 29 + 128) >> 8


@lw.kernel
def scramble(x: lw.Array, rounds: lw.Const):
    """Integers mixed by shifts and exclusive ors."""
    for i in lw.lanes(len(x)):
        v = x[i]
        for k in range(rounds):
            v = v ^ (v << (3 + k))
            v = v ^ (v >> (5 + k))
            v = v + (k * 77 + 1)
        x[i] = v


@lw.kernel
def exp_like(x: lw.Array, y: lw.Array, terms: lw.Const):
    """A quotient of two polynomials, as elementary functions have inside."""
    for i in lw.lanes(len(x)):
        v = lw.min(lw.max(x[i], -8.0), 8.0)
        up = v * 0.5 + 1.0
        down = v * -0.5 + 1.0
        for k in range(2, terms):
            up = up * v + 1.0 / k
            down = down * v - 1.0 / k
        y[i] = up / (down * down + 1.0)


@lw.kernel
def two_means(x: lw.Array, out: lw.Array, a: lw.Const, b: lw.Const):
    """Which of two values each element is nearer to."""
    for i in lw.lanes(len(x)):
        da = abs(x[i] - a)
        db = abs(x[i] - b)
        out[i] = lw.select(da < db, lw.select(da < 1, x[i], a), b)


@lw.kernel
def prefix(x: lw.Array, y: lw.Array):
    """Running sums, one element a step."""
    total = x[0]
    y[0] = total
    for i in lw.range(1, len(x)):
        total = total + x[i]
        y[i] = total


@lw.kernel
def iterate(x: lw.Array, y: lw.Array, out: lw.Array, steps: lw.Const):
    """A recurrence in each lane, unrolled."""
    for i in lw.lanes(len(out)):
        a = x[i]
        b = y[i]
        for _ in range(steps):
            a, b = a * a - b * b + x[i], a * b * 2 + y[i]
        out[i] = a * a + b * b


@lw.kernel
def blend_planes(planes: lw.Array, out: lw.Array, weights: lw.Const):
    """Rows of a plane, weighted and added up."""
    for i in lw.lanes(len(out)):
        total = planes[0, i] * weights[0]
        for k in range(1, len(weights)):
            total = total + planes[k, i] * weights[k]
        out[i] = total


def _weights(count: int) -> tuple[float, ...]:
    return tuple(round(0.75 - 0.11 * k if k % 2 else 0.5 + 0.07 * k, 3) for k in range(count))


def _plane_weights(size: int, hollow: bool) -> tuple[tuple[float, ...], ...]:
    flat = _weights(size * size)
    return tuple(tuple(0.0 if hollow and (r + c) % 2 else flat[r * size + c] for c in range(size)) for r in range(size))


def _cases() -> list[tuple[str, object, tuple[object, ...], dict[str, object]]]:
    floats = (lw.f32, lw.f64)
    ints = (lw.i32, lw.i64)
    cases: list[tuple[str, object, tuple[object, ...], dict[str, object]]] = []

    def add(name: str, kernel: object, *args: object, **named: object) -> None:
        cases.append((name, kernel, args, named))

    add("dot f64", dot)
    add("moments f32", moments)
    add("gray i32", gray)
    for t in (*floats, *ints):
        row, plane = lw.Array[t], lw.Array[t, 2]
        add(f"axpy {t}", axpy, row, row, a=3)
        low, high = (-0.5, 0.5) if t.is_float else (-100, 100)
        add(f"clamp {t}", clamp, row, row, low=low, high=high)
        add(f"prefix {t}", prefix, row, row)
        for size in (2, 3, 5, 8):
            add(f"window {size} {t}", window, row, row, size=size)
        add(f"two_means {t}", two_means, row, row, a=3, b=7)
        for rows in (1, 2, 4, 6):
            add(f"matrix_rows {rows} {t}", matrix_rows, plane, plane, plane, rows=rows)
        if t.is_float:
            add(f"leaky {t}", leaky, row, row, slope=0.125)
            add(f"length {t}", length, row, row, row, row)
            add(f"complex_product {t}", complex_product, *[row] * 6)
            for count in (2, 3, 5, 9, 16, 31):
                add(f"convolve {count} {t}", convolve, row, row, taps=_weights(count))
            for size in (3, 5, 7):
                add(f"convolve_plane {size} {t}", convolve_plane, plane, plane, weights=_plane_weights(size, False))
                add(f"convolve_plane {size} hollow {t}", convolve_plane, plane, plane, weights=_plane_weights(size, True))
            for terms in (3, 6, 12):
                add(f"exp_like {terms} {t}", exp_like, row, row, terms=terms)
            for steps in (1, 4, 9):
                add(f"iterate {steps} {t}", iterate, row, row, row, steps=steps)
            for count in (2, 6, 12):
                add(f"blend_planes {count} {t}", blend_planes, plane, row, weights=_weights(count))
        else:
            for rounds in (1, 3, 6):
                add(f"scramble {rounds} {t}", scramble, row, rounds=rounds)
    return cases


#: (name, kernel, types, constants) of each.
CASES = _cases()
