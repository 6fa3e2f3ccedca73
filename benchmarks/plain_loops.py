"""Kernels of plain loops, as one writes them, beside gcc, clang and Numba with fast-math: how many times as fast, in the geometric mean and at worst.

python -m benchmarks.plain_loops [--quick]
"""

from __future__ import annotations

import ctypes
import math
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import measure, native, plain_c, report

FLAGS = ["-O3", "-march=native", "-ffast-math"]


@dataclass
class Plain:
    """Loops, and what they work on: element types, then extents, in which ``n`` is the size."""

    name: str
    arrays: str
    size: int
    python: str


def arguments(plain: Plain, n: int) -> list[np.ndarray]:
    """What a kernel works on, reproducible: floats near 1, indices into weights small."""
    rng = np.random.default_rng(0)
    made = []
    for text in plain.arrays.split():
        element, _, shape = text.partition(":")
        dims = tuple(max(1, int(eval(d, {"n": n}))) for d in shape.split(","))
        dtype = np.dtype({"u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}[element])
        if dtype.kind == "f":
            a = (rng.random(dims) + 0.5).astype(dtype)
            if len(dims) == 2 and dims[0] == dims[1]:
                # (Triangular solvers and factorings stay tame.)
                a = (a / dims[0]).astype(dtype)
                a[np.arange(dims[0]), np.arange(dims[0])] += 2
        else:
            a = rng.integers(0, 4 if element == "u8" and len(dims) == 1 else min(n, 100), dims).astype(dtype)
        made.append(a)
    return made


PLAIN: list[Plain] = []


def _add(name: str, arrays: str, size: int, body: str) -> None:
    parameters = [chr(ord("a") + k) for k in range(len(arrays.split()))]
    lines = [line for line in body.split("\n") if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    PLAIN.append(Plain(name, arrays, size, f"def nest({', '.join(parameters)}):\n" + "".join(f"    {line[margin:]}\n" for line in lines)))


# --- totals, and loops of one dimension

for t in ("f32", "f64"):
    _add(
        f"dot {t}",
        f"{t}:n {t}:n {t}:1",
        60000,
        """
        s = T(0.0)
        for i in range(a.shape[0]):
            s += a[i] * b[i]
        c[0] = s
    """,
    )
    _add(
        f"sum of squares {t}",
        f"{t}:n {t}:1",
        60000,
        """
        s = T(0.0)
        for i in range(a.shape[0]):
            s += a[i] * a[i]
        b[0] = s
    """,
    )
_add(
    "axpy f32",
    "f32:n f32:n",
    60000,
    """
    for i in range(a.shape[0]):
        b[i] += T(1.5) * a[i]
""",
)
_add(
    "greatest f32",
    "f32:n f32:1",
    60000,
    """
    m = a[0]
    for i in range(1, a.shape[0]):
        m = most(m, a[i])
    b[0] = m
""",
)
_add(
    "greatest by branch f64",
    "f64:n f64:1",
    60000,
    """
    m = a[0]
    for i in range(1, a.shape[0]):
        if a[i] > m:
            m = a[i]
    b[0] = m
""",
)
_add(
    "sum of bytes",
    "u8:n i64:1",
    60000,
    """
    s = i64(0)
    for i in range(a.shape[0]):
        s += i64(a[i])
    b[0] = s
""",
)
_add(
    "count above f32",
    "f32:n i64:1",
    60000,
    """
    s = i64(0)
    for i in range(a.shape[0]):
        if a[i] > T(1.0):
            s += 1
    b[0] = s
""",
)
_add(
    "index of the least f64",
    "f64:n i64:1",
    60000,
    """
    m = a[0]
    k = i64(0)
    for i in range(1, a.shape[0]):
        if a[i] < m:
            m = a[i]
            k = i64(i)
    b[0] = k
""",
)
_add(
    "prefix sums f64",
    "f64:n f64:n",
    60000,
    """
    s = T(0.0)
    for i in range(a.shape[0]):
        s += a[i]
        b[i] = s
""",
)
_add(
    "prefix sums i32",
    "i32:n",
    60000,
    """
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
""",
)
_add(
    "exponential smoothing f32",
    "f32:n f32:n",
    60000,
    """
    s = a[0]
    for i in range(a.shape[0]):
        s = T(0.9) * s + T(0.1) * a[i]
        b[i] = s
""",
)
_add(
    "polynomial f64",
    "f64:n f64:8 f64:n",
    20000,
    """
    for i in range(a.shape[0]):
        s = b[7]
        for k in range(7):
            s = s * a[i] + b[6 - k]
        c[i] = s
""",
)
_add(
    "differences in two arrays f64",
    "f64:n f64:n f64:n",
    20000,
    """
    for i in range(1, a.shape[0]):
        a[i] = c[i] * T(2.0)
        b[i] = a[i] - a[i - 1]
""",
)
_add(
    "shift down in place f32",
    "f32:n",
    60000,
    """
    for i in range(a.shape[0] - 1):
        a[i] = (a[i] + a[i + 1]) * T(0.5)
""",
)
_add(
    "histogram",
    "u8:n i32:256",
    60000,
    """
    for i in range(a.shape[0]):
        b[a[i]] += 1
""",
)

# --- bytes and images

_add(
    "gray of planes",
    "u8:3,n,n f32:n,n",
    500,
    """
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] = T(0.3) * f32(a[0, i, j]) + T(0.6) * f32(a[1, i, j]) + T(0.1) * f32(a[2, i, j])
""",
)
_add(
    "blend of bytes",
    "u8:n,n u8:n,n u8:n,n",
    700,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = u8((i32(a[i, j]) * 77 + i32(b[i, j]) * 179) >> 8)
""",
)
_add(
    "threshold of bytes",
    "u8:n,n u8:n,n",
    700,
    """
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            if a[i, j] > 50:
                b[i, j] = u8(255)
            else:
                b[i, j] = u8(0)
""",
)
_add(
    "blur of bytes",
    "u8:n,n u8:n,n",
    700,
    """
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            b[i, j] = u8((i32(a[i - 1, j]) + i32(a[i + 1, j]) + i32(a[i, j - 1]) + i32(a[i, j + 1]) + 4 * i32(a[i, j])) >> 3)
""",
)
_add(
    "sobel of bytes",
    "u8:n,n f32:n,n",
    500,
    """
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            x = i32(a[i - 1, j + 1]) + 2 * i32(a[i, j + 1]) + i32(a[i + 1, j + 1]) - i32(a[i - 1, j - 1]) - 2 * i32(a[i, j - 1]) - i32(a[i + 1, j - 1])
            y = i32(a[i + 1, j - 1]) + 2 * i32(a[i + 1, j]) + i32(a[i + 1, j + 1]) - i32(a[i - 1, j - 1]) - 2 * i32(a[i - 1, j]) - i32(a[i - 1, j + 1])
            b[i, j] = sqrt(f32(x * x + y * y))
""",
)
_add(
    "game of life",
    "u8:n,n u8:n,n",
    700,
    """
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            s = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
            if s == 3 or (s == 2 and a[i, j] == 1):
                b[i, j] = u8(1)
            else:
                b[i, j] = u8(0)
""",
)
_add(
    "mix of sound i16",
    "i16:n i16:n i16:n",
    60000,
    """
    for i in range(c.shape[0]):
        c[i] = i16((i32(a[i]) + i32(b[i])) >> 1)
""",
)
_add(
    "convolution 5x5 f32",
    "f32:n,n f32:5,5 f32:n,n",
    400,
    """
    for i in range(2, c.shape[0] - 2):
        for j in range(2, c.shape[1] - 2):
            s = T(0.0)
            for k in range(5):
                for l in range(5):
                    s += a[i + k - 2, j + l - 2] * b[k, l]
            c[i, j] = s
""",
)
_add(
    "summed area f64",
    "f64:n,n f64:n,n",
    500,
    """
    for i in range(1, b.shape[0]):
        for j in range(1, b.shape[1]):
            b[i, j] = a[i, j] + b[i - 1, j] + b[i, j - 1] - b[i - 1, j - 1]
""",
)
_add(
    "filter along columns f32",
    "f32:n,n f32:n,n",
    700,
    """
    for j in range(b.shape[1]):
        for i in range(1, b.shape[0]):
            b[i, j] = T(0.6) * a[i, j] + T(0.4) * b[i - 1, j]
""",
)
_add(
    "filter along rows f64",
    "f64:n,n f64:n,n",
    500,
    """
    for i in range(b.shape[0]):
        for j in range(1, b.shape[1]):
            b[i, j] = T(0.6) * a[i, j] + T(0.4) * b[i, j - 1]
""",
)

# --- stencils

_add(
    "stencil of 3, f64",
    "f64:n f64:n",
    60000,
    """
    for i in range(1, a.shape[0] - 1):
        b[i] = (a[i - 1] + a[i] + a[i + 1]) * T(0.33)
""",
)
_add(
    "stencil of 9, f32",
    "f32:n,n f32:n,n",
    700,
    """
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            b[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j] + a[i, j + 1]
                       + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) * T(0.11)
""",
)
_add(
    "stencil of 7 in 3 dimensions f64",
    "f64:n,n,n f64:n,n,n",
    80,
    """
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            for k in range(1, b.shape[2] - 1):
                b[i, j, k] = (a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                              - T(6.0) * a[i, j, k]) * T(0.1) + a[i, j, k]
""",
)
_add(
    "heat in one dimension f64",
    "f64:n f64:n i32:40",
    10000,
    """
    for t in range(c.shape[0]):
        for i in range(1, a.shape[0] - 1):
            b[i] = a[i] + T(0.25) * (a[i - 1] - T(2.0) * a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]
""",
)
_add(
    "waves in two dimensions (fdtd) f64",
    "f64:n,n f64:n,n f64:n,n i32:4",
    300,
    """
    for t in range(d.shape[0]):
        for i in range(1, a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i, j] - T(0.5) * (c[i, j] - c[i - 1, j])
        for i in range(b.shape[0]):
            for j in range(1, b.shape[1]):
                b[i, j] = b[i, j] - T(0.5) * (c[i, j] - c[i, j - 1])
        for i in range(c.shape[0] - 1):
            for j in range(c.shape[1] - 1):
                c[i, j] = c[i, j] - T(0.7) * (b[i, j + 1] - b[i, j] + a[i + 1, j] - a[i, j])
""",
)
_add(
    "Gauss-Seidel of 9 f64",
    "f64:n,n",
    500,
    """
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j] + a[i, j + 1]
                       + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) * T(0.11)
""",
)
_add(
    "half the size f32",
    "f32:2*n,2*n f32:n,n",
    400,
    """
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] = (a[2 * i, 2 * j] + a[2 * i, 2 * j + 1] + a[2 * i + 1, 2 * j] + a[2 * i + 1, 2 * j + 1]) * T(0.25)
""",
)

# --- matrices and vectors

_add(
    "matrix by vector f64",
    "f64:n,n f64:n f64:n",
    500,
    """
    for i in range(a.shape[0]):
        s = T(0.0)
        for j in range(a.shape[1]):
            s += a[i, j] * b[j]
        c[i] = s
""",
)
_add(
    "transposed matrix by vector f32",
    "f32:n,n f32:n f32:n",
    700,
    """
    for j in range(a.shape[1]):
        s = T(0.0)
        for i in range(a.shape[0]):
            s += a[i, j] * b[i]
        c[j] = s
""",
)
_add(
    "both by vector (bicg) f64",
    "f64:n,n f64:n f64:n f64:n f64:n",
    500,
    """
    for i in range(a.shape[0]):
        d[i] = T(0.0)
        for j in range(a.shape[1]):
            c[j] += b[i] * a[i, j]
            d[i] += a[i, j] * e[j]
""",
)
_add(
    "twice by vector (atax) f32",
    "f32:n,n f32:n f32:n",
    500,
    """
    for i in range(a.shape[0]):
        s = T(0.0)
        for j in range(a.shape[1]):
            s += a[i, j] * b[j]
        for j in range(a.shape[1]):
            c[j] += a[i, j] * s
""",
)
_add(
    "means of rows f32",
    "f32:n,n f32:n",
    700,
    """
    for i in range(a.shape[0]):
        s = T(0.0)
        for j in range(a.shape[1]):
            s += a[i, j]
        b[i] = s * T(0.001)
""",
)
_add(
    "means of columns f64",
    "f64:n,n f64:n",
    500,
    """
    for j in range(a.shape[1]):
        s = T(0.0)
        for i in range(a.shape[0]):
            s += a[i, j]
        b[j] = s * T(0.001)
""",
)
_add(
    "sums of columns in memory f32",
    "f32:n,n f32:n",
    700,
    """
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[j] += a[i, j]
""",
)
_add(
    "greatest of rows f32",
    "f32:n,n f32:n",
    700,
    """
    for i in range(a.shape[0]):
        m = a[i, 0]
        for j in range(1, a.shape[1]):
            if a[i, j] > m:
                m = a[i, j]
        b[i] = m
""",
)
_add(
    "columns first f64",
    "f64:n,n f64:n,n",
    500,
    """
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = a[i, j] * T(0.5) + b[i, j]
""",
)
_add(
    "transposition f64",
    "f64:n,n f64:n,n",
    500,
    """
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[j, i] = a[i, j]
""",
)
_add(
    "outer product f32",
    "f32:n f32:n f32:n,n",
    700,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] += a[i] * b[j]
""",
)
_add(
    "product kept in memory f64",
    "f64:n,n f64:n,n f64:n,n",
    200,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = T(0.0)
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
""",
)
_add(
    "product ikj f32",
    "f32:n,n f32:n,n f32:n,n",
    200,
    """
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
""",
)
_add(
    "product jki f64",
    "f64:n,n f64:n,n f64:n,n",
    200,
    """
    for j in range(c.shape[1]):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                c[i, j] += a[i, k] * b[k, j]
""",
)
_add(
    "product i64",
    "i64:n,n i64:n,n i64:n,n",
    150,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = i64(0)
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
""",
)
_add(
    "product with a transpose f32",
    "f32:n,n f32:n,n f32:n,n",
    200,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = T(0.0)
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s
""",
)
_add(
    "transpose by itself f64",
    "f64:n,n f64:n,n",
    200,
    """
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            s = T(0.0)
            for k in range(a.shape[0]):
                s += a[k, i] * a[k, j]
            b[i, j] = s
""",
)
_add(
    "symmetric update f64",
    "f64:n,n f64:n,n",
    200,
    """
    for i in range(b.shape[0]):
        for j in range(i + 1):
            s = b[i, j] * T(0.5)
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            b[i, j] = s
""",
)
_add(
    "symmetric update in memory f64",
    "f64:n,n f64:n,n",
    200,
    """
    for i in range(b.shape[0]):
        for j in range(i + 1):
            b[i, j] *= T(0.5)
        for k in range(a.shape[1]):
            for j in range(i + 1):
                b[i, j] += a[i, k] * a[j, k]
""",
)
_add(
    "triangular product f64",
    "f64:n,n f64:n,n",
    200,
    """
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(i + 1, b.shape[0]):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = b[i, j] * T(1.5)
""",
)
_add(
    "covariance f64",
    "f64:n,n f64:n f64:n,n",
    200,
    """
    for i in range(a.shape[1]):
        for j in range(i, a.shape[1]):
            s = T(0.0)
            for k in range(a.shape[0]):
                s += (a[k, i] - b[i]) * (a[k, j] - b[j])
            c[i, j] = s
            c[j, i] = s
""",
)
_add(
    "distances f32",
    "f32:n,32 f32:n,32 f32:n,n",
    300,
    """
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = T(0.0)
            for k in range(32):
                d = a[i, k] - b[j, k]
                s += d * d
            c[i, j] = sqrt(s)
""",
)
_add(
    "batch of 4x4 products f32",
    "f32:n,4,4 f32:n,4,4 f32:n,4,4",
    4000,
    """
    for m in range(c.shape[0]):
        for i in range(4):
            for j in range(4):
                s = T(0.0)
                for k in range(4):
                    s += a[m, i, k] * b[m, k, j]
                c[m, i, j] = s
""",
)
_add(
    "forces of n bodies f32",
    "f32:n f32:n f32:n f32:n",
    1000,
    """
    for i in range(a.shape[0]):
        s = T(0.0)
        for j in range(a.shape[0]):
            x = a[j] - a[i]
            y = b[j] - b[i]
            z = c[j] - c[i]
            r = x * x + y * y + z * z + T(0.01)
            s += x / (r * sqrt(r))
        d[i] = s
""",
)

# --- triangles

_add(
    "forward substitution f64",
    "f64:n,n f64:n f64:n",
    700,
    """
    for i in range(a.shape[0]):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * c[j]
        c[i] = s / a[i, i]
""",
)
_add(
    "forward substitution of many f64",
    "f64:n,n f64:n,n",
    200,
    """
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(b.shape[1]):
                b[i, k] -= a[i, j] * b[j, k]
        for k in range(b.shape[1]):
            b[i, k] = b[i, k] / a[i, i]
""",
)
_add(
    "back substitution by columns f64",
    "f64:n,n f64:n",
    500,
    """
    for j in range(a.shape[0] - 1, -1, -1):
        b[j] = b[j] / a[j, j]
        for i in range(j):
            b[i] -= a[i, j] * b[j]
""",
)
_add(
    "Cholesky f64",
    "f64:n,n",
    200,
    """
    for j in range(a.shape[0]):
        for k in range(j):
            for i in range(j, a.shape[0]):
                a[i, j] -= a[i, k] * a[j, k]
        a[j, j] = sqrt(a[j, j])
        for i in range(j + 1, a.shape[0]):
            a[i, j] = a[i, j] / a[j, j]
""",
)
_add(
    "Cholesky by rows f64",
    "f64:n,n",
    200,
    """
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] = a[i, j] / a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = sqrt(a[i, i])
""",
)
_add(
    "LU f64",
    "f64:n,n",
    200,
    """
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, a.shape[0]):
                a[i, j] -= a[i, k] * a[k, j]
""",
)
_add(
    "LU by rows f32",
    "f32:n,n",
    200,
    """
    for i in range(a.shape[0]):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, a.shape[0]):
            s = a[i, j]
            for k in range(i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s
""",
)

# --- tables

_add(
    "all shortest paths i32",
    "i32:n,n",
    200,
    """
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                a[i, j] = least(a[i, j], a[i, k] + a[k, j])
""",
)
_add(
    "all shortest paths by branch f32",
    "f32:n,n",
    200,
    """
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                s = a[i, k] + a[k, j]
                if s < a[i, j]:
                    a[i, j] = s
""",
)
_add(
    "knapsack i32",
    "i64:60 i32:60 i32:61,n",
    4000,
    """
    for i in range(1, c.shape[0]):
        w = a[i - 1]
        for j in range(w):
            c[i, j] = c[i - 1, j]
        for j in range(w, c.shape[1]):
            c[i, j] = most(c[i - 1, j], c[i - 1, j - w] + b[i - 1])
""",
)
_add(
    "knapsack in one row i32",
    "i64:60 i32:60 i32:n",
    4000,
    """
    for i in range(a.shape[0]):
        for j in range(c.shape[0] - 1, a[i] - 1, -1):
            c[j] = most(c[j], c[j - a[i]] + b[i])
""",
)
_add(
    "longest common subsequence",
    "u8:n u8:n i32:n+1,n+1",
    700,
    """
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            if a[i - 1] == b[j - 1]:
                c[i, j] = c[i - 1, j - 1] + 1
            else:
                c[i, j] = most(c[i - 1, j], c[i, j - 1])
""",
)
_add(
    "longest palindrome",
    "u8:n i32:n,n",
    700,
    """
    for i in range(b.shape[0] - 2, -1, -1):
        for j in range(i + 1, b.shape[1]):
            if a[i] == a[j]:
                b[i, j] = b[i + 1, j - 1] + 2
            else:
                b[i, j] = most(b[i + 1, j], b[i, j - 1])
""",
)
_add(
    "cheapest way through a grid f32",
    "f32:n,n f32:n,n",
    700,
    """
    for i in range(1, b.shape[0]):
        for j in range(1, b.shape[1]):
            b[i, j] = a[i, j] + least(b[i - 1, j], b[i, j - 1])
""",
)
_add(
    "cheapest seam i32",
    "i32:n,n i32:n,n",
    700,
    """
    for i in range(1, b.shape[0]):
        for j in range(1, b.shape[1] - 1):
            b[i, j] = a[i, j] + least(least(b[i - 1, j - 1], b[i - 1, j]), b[i - 1, j + 1])
""",
)
_add(
    "order of products f64",
    "f64:n f64:n,n",
    150,
    """
    for l in range(2, b.shape[0]):
        for i in range(1, b.shape[0] - l + 1):
            j = i + l - 1
            m = T(1.0e30)
            for k in range(i, j):
                q = b[i, k] + b[k + 1, j] + a[i - 1] * a[k] * a[j]
                if q < m:
                    m = q
            b[i, j] = m
""",
)
_add(
    "ways to change i64",
    "i64:60 i64:n",
    4000,
    """
    for i in range(a.shape[0]):
        for j in range(a[i] + 1, b.shape[0]):
            b[j] += b[j - a[i] - 1]
""",
)


def _space(dtype: Any, ours: bool) -> dict[str, Any]:
    """The names that kernels use."""
    numbers = {"u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
    if ours:
        return {"T": dtype.type, "sqrt": lw.sqrt, "least": lw.min, "most": lw.max, **{name: getattr(lw, name) for name in numbers}}
    return {"T": dtype.type, "sqrt": math.sqrt, "least": min, "most": max, **numbers}


def kernel(plain: Plain, **options: Any) -> Any:
    """A kernel of loopwright's."""
    kinds = {a.dtype for a in arguments(plain, 4) if a.dtype.kind == "f"}
    space = _space(kinds.pop() if len(kinds) == 1 else np.dtype("f8"), True)
    exec(plain.python, space)  # noqa: S102 (the loops above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=plain.python, **options)(function)


def peers(plain: Plain, size: int, missing: dict[str, str]) -> dict[str, Callable[..., Any]]:
    """The peers' ways to run it, as functions of its arguments."""
    found: dict[str, Callable[..., Any]] = {}
    given = arguments(plain, size)
    source = plain_c.c_source(plain.python, given)
    numbers = [ctypes.c_long(extent) for extent in plain_c.extents(given)]
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            missing[compiler] = f"{compiler} is not installed"
            continue
        found[compiler] = _by_address(native.build_c(source, FLAGS, compiler).nest, numbers)
    try:
        import numba
    except ImportError as error:
        missing["numba"] = str(error)
    else:
        kinds = {a.dtype for a in given if a.dtype.kind == "f"}
        space = _space(kinds.pop() if len(kinds) == 1 else np.dtype("f8"), False)
        exec(plain.python, space)  # noqa: S102 (the loops above)
        found["numba"] = numba.njit(fastmath=True)(space["nest"])
    return found


def _by_address(function: Any, numbers: list[Any]) -> Callable[..., Any]:
    function.restype = None
    # (To ask an array for its address takes a microsecond, which is no part of the loop. Arrays are kept, so that none gets another's number.)
    known: dict[int, tuple[Any, Any]] = {}

    def pointer(a: Any) -> Any:
        found = known.get(id(a))
        if found is None:
            found = known[id(a)] = (a, ctypes.c_void_p(a.ctypes.data))
        return found[1]

    def call(*arrays: Any) -> None:
        function(*[pointer(a) for a in arrays], *numbers)

    return call


def _sample(function: Callable[..., Any], given: list[np.ndarray], work: list[np.ndarray], times: int) -> Callable[[], float]:
    def once() -> float:
        least = math.inf
        for _ in range(times):
            for a, b in zip(work, given, strict=True):
                a[...] = b
            start = time.perf_counter()
            function(*work)
            least = min(least, time.perf_counter() - start)
        return least

    return once


def _shared(given: list[np.ndarray]) -> list[np.ndarray]:
    """Room for the arguments of all contestants, at multiples of 64 bytes: what memory an array happens to get changes the times of short kernels by a fifth."""
    found = []
    for a in given:
        memory = np.empty(a.nbytes + 64, np.uint8)
        start = -memory.ctypes.data % 64
        found.append(memory[start : start + a.nbytes].view(a.dtype).reshape(a.shape))
    return found


def _wrong(plain: Plain, size: int, ours: dict[str, Callable[..., Any]]) -> list[str]:
    """Which of our kernels give another result than the loops run by Python."""
    given = arguments(plain, size)
    kinds = {a.dtype for a in given if a.dtype.kind == "f"}
    space = _space(kinds.pop() if len(kinds) == 1 else np.dtype("f8"), False)
    exec(plain.python, space)  # noqa: S102 (the loops above)
    wanted = [a.copy() for a in given]
    with np.errstate(all="ignore"):
        space["nest"](*wanted)
    found = []
    for name, function in ours.items():
        work = [a.copy() for a in given]
        function(*work)
        if not all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(work, wanted, strict=True)):
            found.append(name)
    return found


def run(quick: bool) -> report.Result:
    """Measure every kernel in turns with its peers."""
    result = report.Result("plain_loops")
    table = report.Table(
        "Plain loops, microseconds (median), and how many times as fast as the fastest peer",
        ["kernel", "size", "fastmath", "default", "as written", "gcc", "clang", "numba", "fastmath to peers", "default to peers"],
    )
    missing: dict[str, str] = {}
    gains: dict[str, dict[str, float]] = {"fastmath": {}, "default": {}}
    for plain in PLAIN:
        size = min(plain.size, 40) if quick else plain.size
        ours = {"fastmath": kernel(plain, fastmath=True), "default": kernel(plain), "as written": kernel(plain, nests="off")}
        wrong = [name for n in (9, 37) for name in _wrong(plain, n, ours)]
        if wrong:
            result.notes.append(f"{plain.name}: another result by {', '.join(wrong)}")
        others = peers(plain, size, missing)
        given = arguments(plain, size)
        work = _shared(given)
        samples = measure.interleave({name: _sample(function, given, work, 3) for name, function in {**ours, **others}.items()}, 3 if quick else 5)
        median = {name: measure.median(values) * 1e6 for name, values in samples.items()}
        fastest = min(others, key=lambda name: median[name]) if others else ""
        for name, found in gains.items():
            if fastest:
                found[plain.name] = measure.ratio(samples, fastest, name)
        cells = [f"{median[name]:.1f}" if name in median else "" for name in table.columns[2:8]]
        table.rows.append([plain.name, str(size), *cells, *[f"{found[plain.name]:.2f}" if fastest else "" for found in gains.values()]])
    for name, found in gains.items():
        if found:
            mean = math.exp(sum(math.log(gain) for gain in found.values()) / len(found))
            worst = min(found, key=lambda kernel: found[kernel])
            result.notes.append(f"{name}: {mean:.2f} x the fastest peer in the geometric mean of {len(found)}; at worst {found[worst]:.2f} x, {worst}")
            if name == "fastmath":
                result.verdicts.append(report.Verdict("plain loops: time to the fastest peer's, geometric mean", 1 / mean, 1 / 1.5, goal=True))
                result.verdicts.append(report.Verdict("plain loops: time to the fastest peer's, at worst", 1 / found[worst], 1 / 0.95, goal=True))
    result.notes += [f"{name}: {why}" for name, why in missing.items()]
    result.tables.append(table)
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
