"""Kernels of many shapes, for holding models of cost against the clock: each with its arrays and constants.

All data fits in the first-level cache. Results do not matter here (the tests of the compiler look after them), only how long they take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks.kernels import blur, dot, max3, poly, selection_sort, sum_

N = 1024


@lw.kernel
def poly_unrolled(x: lw.Array, y: lw.Array, coeffs: lw.Const, unroll: lw.Const):
    for i in lw.lanes(len(y), unroll=unroll):
        total = coeffs[-1]
        for c in reversed(coeffs[:-1]):
            total = total * x[i] + c
        y[i] = total


@lw.kernel
def polys(x: lw.Array, y: lw.Array, count: lw.Const, degree: lw.Const):
    """Several polynomials side by side: many values alive at once."""
    for i in lw.lanes(len(y)):
        powers = []
        p = x[i]
        for _ in range(count):
            powers.append(p)
            p = p * x[i]
        total = powers[0]
        for k in range(degree):
            for n in range(count):
                total = total * powers[n] + powers[count - 1 - n]
            total = total - powers[k % count]
        y[i] = total


@lw.kernel
def sums_of_products(x: lw.Array, y: lw.Array, count: lw.Const):
    """All values loaded first, so that the allocator has to keep or spill them."""
    for i in lw.lanes(len(y) - count):
        values = [x[i + k] for k in range(count)]
        total = values[0] * values[count - 1]
        for k in range(count):
            total = total + values[k] * values[count - 1 - k]
        y[i] = total


@lw.kernel
def mean(x: lw.Array, y: lw.Array, radius: lw.Const):
    for i in lw.lanes(len(y) - 2 * radius):
        total = x[i]
        for k in range(1, 2 * radius + 1):
            total += x[i + k]
        y[i] = total


@lw.kernel
def weighted(x: lw.Array, y: lw.Array, weights: lw.Const):
    for i in lw.lanes(len(y) - len(weights)):
        total = x[i] * weights[0]
        for k in range(1, len(weights)):
            total += x[i + k] * weights[k]
        y[i] = total


@lw.kernel
def greatest(x: lw.Array, y: lw.Array, radius: lw.Const):
    for i in lw.lanes(len(y) - 2 * radius):
        m = x[i]
        for k in range(1, 2 * radius + 1):
            m = lw.max(m, x[i + k])
        y[i] = m


@lw.kernel
def greatest2d(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2], size: lw.Const):
    for r in lw.range(y.shape[0] - size):
        for c in lw.lanes(y.shape[1] - size):
            m = x[r, c]
            for i in range(size):
                for j in range(size):
                    m = lw.max(m, x[r + i, c + j])
            y[r, c] = m


@lw.kernel
def copy(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[i]


@lw.kernel
def scale(x: lw.Array, y: lw.Array, by: lw.Const):
    for i in lw.lanes(len(y)):
        y[i] = x[i] * by


@lw.kernel
def axpy(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[i] * 3 + y[i]


@lw.kernel
def divide(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = 3.0 / x[i]


@lw.kernel
def root(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.sqrt(x[i]) + 1.0


@lw.kernel
def rounds(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.floor(x[i]) + lw.ceil(x[i] * 3.0)


@lw.kernel
def clamp(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.min(lw.max(x[i], 1), 7)


@lw.kernel
def choose(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.select(x[i] > 2, x[i] * 3, y[i] - x[i])


@lw.kernel
def branches(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        v = x[i]
        if v > 2:  # noqa: SIM108 (a branch is wanted)
            v = v * 3 + 1
        else:
            v = v + 5
        y[i] = v


@lw.kernel
def absolute(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.abs(x[i] - y[i])


@lw.kernel
def bits(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = ((x[i] << 3) ^ x[i]) & ~(y[i] >> 1)


@lw.kernel
def convert(x: lw.Array, y: lw.Array, to: lw.Const):
    for i in lw.lanes(len(y)):
        y[i] = to(x[i])


@lw.kernel
def float_of_bytes(x: lw.Array[lw.u8], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(y)):
        y[i] = lw.f32(x[i]) * 0.25 + 1.0


@lw.kernel
def sum_of(x: lw.Array, zero: lw.Const, unroll: lw.Const) -> lw.f64:
    total = zero(0)
    for i in lw.lanes(len(x), unroll=unroll):
        total += x[i]
    return lw.f64(total)


@lw.kernel
def squares(x: lw.Array, zero: lw.Const) -> lw.f64:
    total = zero(0)
    for i in lw.lanes(len(x)):
        total += x[i] * x[i]
    return lw.f64(total)


@lw.kernel
def distance(x: lw.Array, y: lw.Array, zero: lw.Const) -> lw.f64:
    total = zero(0)
    for i in lw.lanes(len(x)):
        d = x[i] - y[i]
        total += d * d
    return lw.f64(total)


@lw.kernel
def greatest_of(x: lw.Array, zero: lw.Const) -> lw.f64:
    m = zero(0)
    for i in lw.lanes(len(x)):
        m = lw.max(m, x[i])
    return lw.f64(m)


@lw.kernel
def insertion_sort(x: lw.Array):
    for i in lw.range(1, len(x)):
        v = x[i]
        j = i
        while j > 0 and x[j - 1] > v:
            x[j] = x[j - 1]
            j -= 1
        x[j] = v


@lw.kernel
def bubble_sort(x: lw.Array):
    for i in lw.range(len(x) - 1):
        for j in lw.range(len(x) - 1 - i):
            a = x[j]
            b = x[j + 1]
            x[j] = lw.min(a, b)
            x[j + 1] = lw.max(a, b)


@lw.kernel
def running(x: lw.Array, y: lw.Array):
    """A recurrence: each result needs the one before."""
    total = x[0] - x[0]
    for i in lw.range(len(y)):
        total = total * 0.5 + x[i]
        y[i] = total


@lw.kernel
def running_sum(x: lw.Array, y: lw.Array):
    total = x[0] - x[0]
    for i in lw.range(len(y)):
        total = total + x[i]
        y[i] = total


@lw.kernel
def scalar_poly(x: lw.Array, y: lw.Array, coeffs: lw.Const):
    for i in lw.range(len(y)):
        total = coeffs[-1]
        for c in reversed(coeffs[:-1]):
            total = total * x[i] + c
        y[i] = total


@lw.kernel
def scalar_sum(x: lw.Array, zero: lw.Const) -> lw.f64:
    total = zero(0)
    for i in lw.range(len(x)):
        total += x[i]
    return lw.f64(total)


@lw.kernel
def lcg(n: lw.i64) -> lw.i64:
    s = n
    for _ in lw.range(n):
        s = s * 6364136223846793005 + 1442695040888963407
    return s


@lw.kernel
def collatz(n: lw.i64) -> lw.i64:
    steps = lw.i64(0)
    for k in lw.range(1, n):
        v = k + 0
        while v > 1:
            v = lw.select((v & 1) == 1, v * 3 + 1, v >> 1)
            steps += 1
    return steps


@lw.kernel
def gcds(x: lw.Array, y: lw.Array):
    for i in lw.range(len(y)):
        a = x[i]
        b = y[i]
        while b != 0:
            a, b = b, lw.rem_trunc(a, b)
        y[i] = a + 7


@lw.kernel
def count_above(x: lw.Array, limit: lw.Const) -> lw.i64:
    count = lw.i64(0)
    for i in lw.range(len(x)):
        if x[i] > limit:
            count += 1
    return count


@lw.kernel
def matmul(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
    for i in lw.range(c.shape[0]):
        for j in lw.lanes(c.shape[1]):
            total = lw.f32(0)
            for k in lw.range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@lw.kernel
def mandelbrot(x: lw.Array, y: lw.Array, steps: lw.Const):
    for i in lw.lanes(len(y)):
        re = x[i] * 0.0
        im = re
        for _ in range(steps):
            re, im = re * re - im * im + x[i], re * im * 2.0 + 0.25
        y[i] = re * re + im * im


@lw.kernel
def mixed(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(y)):
        a = x[i] * y[i] + z[i]
        b = x[i] - y[i] * z[i]
        z[i] = lw.max(a, b) * 0.5
        y[i] = lw.min(a, b)


@lw.kernel
def histogram(x: lw.Array, counts: lw.Array):
    for i in lw.range(len(x)):
        counts[lw.i64(x[i]) & 63] += 1


@lw.kernel
def transpose(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            b[j, i] = a[i, j]


_rng = np.random.default_rng(7)
_placed = 0


def array(dtype: str, *shape: int) -> Any:
    """An array at a multiple of 64 bytes, successive ones at different offsets in a page (see ``cases.place``), with small numbers in it."""
    global _placed
    _placed += 1
    made = np.dtype(dtype)
    count = int(np.prod(shape))
    slab = np.zeros(count * made.itemsize + 8192, np.uint8)
    start = -slab.ctypes.data % 4096 + _placed % 4 * 1088
    a = slab[start : start + count * made.itemsize].view(made).reshape(shape)
    a[...] = _rng.uniform(0.5, 4.5, shape) if made.kind == "f" else _rng.integers(1, 5, shape)
    return a


@dataclass(slots=True)
class Subject:
    """One kernel with its arguments.

    Attributes:
        name: as printed.
        kernel: a function under ``lw.kernel``.
        arguments: what it is called with: arrays and integers.
        constants: its compile-time arguments.
        restore: index of the array that has to be as it was before each call, or -1.
        scalar: compiled code is the same for every width of vectors.
    """

    name: str
    kernel: Any
    arguments: list[Any]
    constants: dict[str, Any] = field(default_factory=dict)
    restore: int = -1
    scalar: bool = False


_FLOATS = ("f32", "f64")
_INTS = ("i32", "i64")
_LW = {"f32": lw.f32, "f64": lw.f64, "i32": lw.i32, "i64": lw.i64, "u8": lw.u8}
_NP = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8"}


def _a(type_: str, *shape: int) -> Any:
    return array(_NP[type_], *(shape or (N,)))


def subjects() -> Iterator[Subject]:
    """Every kernel with every choice of its constants and element types."""

    def coefficients(degree: int) -> tuple[float, ...]:
        return tuple(0.9 - 0.045 * k for k in range(degree + 1))

    for t in _FLOATS:
        for degree in (1, 2, 3, 4, 5, 7, 9, 12, 15, 20, 30):
            yield Subject(
                f"poly{degree} {t}",
                poly if t == "f32" else poly_unrolled,
                [_a(t), _a(t)],
                {"coeffs": coefficients(degree)} | ({} if t == "f32" else {"unroll": 0}),
            )
        for unroll in (1, 2, 3, 6):
            for degree in (3, 15):
                yield Subject(f"poly{degree} {t} unrolled {unroll}", poly_unrolled, [_a(t), _a(t)], {"coeffs": coefficients(degree), "unroll": unroll})
        for degree in (2, 8):
            yield Subject(f"scalar poly{degree} {t}", scalar_poly, [_a(t), _a(t)], {"coeffs": coefficients(degree)}, scalar=True)
        for count, degree in ((6, 1), (12, 1), (18, 1), (40, 1)):
            yield Subject(f"{count} powers {t}", polys, [_a(t), _a(t)], {"count": count, "degree": degree})
        for count in (5, 12, 20, 34):
            yield Subject(f"products of {count} {t}", sums_of_products, [_a(t), _a(t)], {"count": count})
        for length in (3, 5, 9):
            yield Subject(f"weighted {length} {t}", weighted, [_a(t), _a(t)], {"weights": coefficients(length - 1)})
        yield Subject(f"divide {t}", divide, [_a(t), _a(t)])
        yield Subject(f"root {t}", root, [_a(t), _a(t)])
        yield Subject(f"rounds {t}", rounds, [_a(t), _a(t)])
        yield Subject(f"running {t}", running, [_a(t), _a(t)], scalar=True)
        for steps in (2, 6):
            yield Subject(f"mandelbrot {steps} {t}", mandelbrot, [_a(t), _a(t)], {"steps": steps})
        yield Subject(f"mixed {t}", mixed, [_a(t), _a(t), _a(t)])
    for t in (*_FLOATS, *_INTS):
        for radius in (1, 3):
            yield Subject(f"mean {radius} {t}", mean, [_a(t), _a(t)], {"radius": radius})
        yield Subject(f"greatest 1 {t}", greatest, [_a(t), _a(t)], {"radius": 1})
        yield Subject(f"greatest 4 {t}", greatest, [_a(t), _a(t)], {"radius": 4})
        yield Subject(f"scale {t}", scale, [_a(t), _a(t)], {"by": 3})
        yield Subject(f"axpy {t}", axpy, [_a(t), _a(t)])
        yield Subject(f"clamp {t}", clamp, [_a(t), _a(t)])
        yield Subject(f"choose {t}", choose, [_a(t), _a(t)])
        yield Subject(f"branches {t}", branches, [_a(t), _a(t)])
        yield Subject(f"absolute {t}", absolute, [_a(t), _a(t)])
        yield Subject(f"copy {t}", copy, [_a(t), _a(t)])
        yield Subject(f"sum {t}", sum_of, [_a(t)], {"zero": _LW[t], "unroll": 0})
        yield Subject(f"sum {t} unrolled 1", sum_of, [_a(t)], {"zero": _LW[t], "unroll": 1})
        yield Subject(f"squares {t}", squares, [_a(t)], {"zero": _LW[t]})
        yield Subject(f"distance {t}", distance, [_a(t), _a(t)], {"zero": _LW[t]})
        yield Subject(f"greatest of {t}", greatest_of, [_a(t)], {"zero": _LW[t]})
        yield Subject(f"running sum {t}", running_sum, [_a(t), _a(t)], scalar=True)
        yield Subject(f"scalar sum {t}", scalar_sum, [_a(t)], {"zero": _LW[t]}, scalar=True)
    for t in _INTS:
        yield Subject(f"bits {t}", bits, [_a(t), _a(t)])
        for n in (16, 64):
            sorted_array = array(_NP[t], n)
            sorted_array[...] = _rng.permutation(n)
            yield Subject(f"selection sort {n} {t}", selection_sort if t == "i32" else insertion_sort, [sorted_array], restore=0, scalar=True)
            other = array(_NP[t], n)
            other[...] = _rng.permutation(n)
            yield Subject(f"bubble sort {n} {t}", bubble_sort, [other], restore=0, scalar=True)
        yield Subject(f"count above {t}", count_above, [_a(t)], {"limit": 4}, scalar=True)
        yield Subject(f"gcds {t}", gcds, [array(_NP[t], 256), array(_NP[t], 256)], scalar=True)
        yield Subject(f"histogram {t}", histogram, [_a(t), array(_NP[t], 64)], scalar=True)
    for source, to in (("i32", "f32"), ("f32", "i32"), ("f32", "f64"), ("f64", "f32"), ("i32", "i64"), ("i64", "i32"), ("u8", "i32")):
        yield Subject(f"{source} to {to}", convert, [_a(source), _a(to)], {"to": _LW[to]})
    yield Subject("u8 to f32 and on", float_of_bytes, [_a("u8"), _a("f32")])
    yield Subject("blur 3x3", blur, [array("float32", 34, 66), array("float32", 32, 64)])
    for size in (2, 3, 5):
        yield Subject(f"greatest {size}x{size}", greatest2d, [array("float32", 32, 80), array("float32", 32, 80)], {"size": size})
    for n in (16, 32, 48):
        yield Subject(f"matmul {n}", matmul, [array("float32", n, n), array("float32", n, n), array("float32", n, n)])
    yield Subject("transpose", transpose, [array("float32", 32, 32), array("float32", 32, 32)], scalar=True)
    yield Subject("max3 f32", max3, [array("float32", N + 2), _a("f32")])
    yield Subject("dot f32", dot, [_a("f32"), _a("f32")])
    yield Subject("sum f32 plain", sum_, [_a("f32")])
    for n in (32, 500):
        yield Subject(f"lcg {n}", lcg, [n], scalar=True)
    yield Subject("collatz 30", collatz, [30], scalar=True)
