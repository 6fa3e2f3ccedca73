"""Elements in turn: behind the whole steps of a loop one more ends with the last index, among indices that are done already."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def planes(a: lw.Array[lw.u8, 3], b: lw.Array[lw.u8, 2], c: lw.Array[lw.u8, 2]):
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            b[i, j] = a[i, j, 0]
            c[i, j] = a[i, j, 2] - a[i, j, 1]


@lw.kernel
def pixels(a: lw.Array[lw.u8, 3], b: lw.Array[lw.u8, 2], c: lw.Array[lw.u8, 2]):
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            a[i, j, 0] = b[i, j]
            a[i, j, 1] = c[i, j]
            a[i, j, 2] = b[i, j] - c[i, j]


@lw.kernel
def halved(a: lw.Array[lw.u8, 2], b: lw.Array[lw.u8, 2], c: lw.Array[lw.u8, 2]):
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            b[i, j] = lw.u8((lw.i32(a[2 * i, 2 * j]) + lw.i32(a[2 * i, 2 * j + 1]) + lw.i32(a[2 * i + 1, 2 * j + 1]) + 1) >> 1)


@lw.kernel
def lengths(a: lw.Array[lw.f32, 3], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
    for i in lw.range(b.shape[0]):
        for j in lw.range(1, b.shape[1] - 1):
            b[i, j] = a[i, j, 0] * a[i, j, 0] + a[i, j, 1] * a[i, j, 1]


@lw.kernel
def in_place(a: lw.Array[lw.i32, 3], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    """What is stored is loaded, too: no element may be done twice."""
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            a[i, j, 0] = a[i, j, 0] + 1
            a[i, j, 1] = a[i, j, 1] * 3


@lw.kernel
def also_totals(a: lw.Array[lw.i32, 3], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    for i in lw.range(b.shape[0]):
        s = lw.i32(0)
        for j in lw.range(b.shape[1]):
            s += a[i, j, 0]
            b[i, j] = a[i, j, 1]
        if b.shape[1] > 0:
            c[i, 0] = s


SHAPES = {planes: lambda n: (3, n, 3), pixels: lambda n: (3, n, 3), halved: lambda n: (6, 2 * n), lengths: lambda n: (3, n, 2)}
SHAPES |= {in_place: lambda n: (3, n, 2), also_totals: lambda n: (3, n, 2)}
AGAIN = [planes, pixels, halved, lengths]


def _given(kernel: lw.Kernel, n: int) -> list[np.ndarray]:
    element = {planes: np.uint8, pixels: np.uint8, halved: np.uint8, lengths: np.float32}.get(kernel, np.int32)
    rng = np.random.default_rng(n)
    return [rng.integers(0, 200, shape).astype(element) for shape in (SHAPES[kernel](n), (3, n), (3, n))]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", SHAPES, ids=lambda kernel: kernel.function.__name__)
def test_rows_of_all_lengths(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, nests="off")
    compiled = runner.compiled(kernel, *_given(kernel, 9))
    for n in (*range(0, 20, 3), 31, 33, 63, 64, 65, 72, 73, 130, 150):
        given = _given(kernel, n)
        wanted = [each.copy() for each in given]
        written(*wanted)
        runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", SHAPES, ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_which_have_one(kernel: lw.Kernel, target: str) -> None:
    text = str(kernel.compile(*_given(kernel, 9), target=target, keep=True).ir("vectorize"))
    assert ("whole unroll 1" in text) == (kernel in AGAIN), text


def test_arrays_that_overlap() -> None:
    """Nothing is done twice where what is stored may be loaded."""
    written = lw.kernel(planes.function, nests="off")
    results = []
    for kernel in (planes, written):
        memory = np.random.default_rng(1).integers(0, 200, 3000).astype(np.uint8)
        kernel(memory[:900].reshape(3, 100, 3), memory[450:750].reshape(3, 100), memory[2000:2300].reshape(3, 100))
        results.append(memory)
    np.testing.assert_array_equal(*results)


@lw.kernel
def both(x: lw.Array[lw.i32, 2], y: lw.Array[lw.i32, 2]):
    for i in lw.lanes(x.shape[0]):
        y[i, 0] = x[i, 0] + 1
        y[i, 1] = x[i, 1] * 3


def test_one_array_in_two_places() -> None:
    for n in (1, 15, 16, 17, 23, 40, 47):
        a = np.arange(2 * n, dtype=np.int32).reshape(n, 2)
        both(a, a)
        np.testing.assert_array_equal(a, np.arange(2 * n).reshape(n, 2) * [1, 3] + [1, 0])
