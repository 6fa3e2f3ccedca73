"""Loops that leave the last value of a variable, or of an element, behind: their last iteration apart where the rest has lanes then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def kept(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    for i in lw.range(a.shape[0]):
        x = lw.i32(-1)
        y = lw.i32(-2)
        for j in lw.range(a.shape[1]):
            x = a[i, j] * 3 + b[i, j]
            y = x - lw.i32(j)
            b[i, j] = x + y
        c[i % c.shape[0], 0] = x
        c[i % c.shape[0], 1] = y


@lw.kernel(contract=False)
def element(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            c[0, 1] = a[i, j] + a[i, j - 1]
            c[1, 0] = c[0, 1] * 2
            b[i, j] = c[1, 0] - c[0, 1] * c[0, 1]


@lw.kernel(contract=False)
def blocks(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    for i in lw.range(0, a.shape[0] - 1, 2):
        for j in lw.range(0, a.shape[1] - 1, 2):
            for k in range(2):
                c[k, 0] = a[i + k, j] + a[i + k, j + 1]
                c[k, 1] = a[i + k, j] - a[i + k, j + 1]
            for k in range(2):
                b[i, j + k] = c[0, k] + c[1, k]
                b[i + 1, j + k] = c[0, k] - c[1, k]


@lw.kernel(contract=False)
def sums_too(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    total = lw.i32(0)
    for i in lw.range(a.shape[0]):
        x = lw.i32(5)
        for j in lw.range(a.shape[1]):
            x = a[i, j] ^ 3
            total += x
        c[0, 0] = x + total


@lw.kernel(contract=False)
def perhaps(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    """Whether the last iteration writes it is not certain."""
    for i in lw.range(a.shape[0]):
        x = lw.i32(5)
        for j in lw.range(a.shape[1]):
            if a[i, j] > 50:
                x = a[i, j]
            b[i, j] = a[i, j] + 1
        c[i % c.shape[0], 0] = x


@lw.kernel(contract=False)
def waits(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    """Each iteration reads what the one before has stored."""
    for i in lw.range(a.shape[0]):
        x = lw.i32(5)
        for j in lw.range(1, a.shape[1]):
            x = b[i, j - 1] ^ a[i, j]
            b[i, j] = x + 1
        c[0, 0] = x


#: By kernel: whether the report names it.
KERNELS = {kept: True, element: True, blocks: True, sums_too: True, perhaps: False, waits: False}


def given(rows: int, columns: int) -> list[Any]:
    rng = np.random.default_rng(rows * 100 + columns)
    return [rng.integers(0, 100, shape).astype(np.int32) for shape in ((rows, columns), (rows, columns), (3, 2))]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    plain = lw.kernel(kernel.function, contract=False, nests="off")
    for shape in ((0, 5), (3, 0), (1, 1), (4, 2), (5, 17), (6, 40)):
        args = given(*shape)
        wanted = [a.copy() for a in args]
        plain(*wanted)

        def compare(_: Any, args: Any = args, wanted: Any = wanted) -> None:
            for a, b in zip(args, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(runner.compiled(kernel, *args), args, compare)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_taken_apart(kernel: lw.Kernel) -> None:
    said = str(kernel.compile(*given(5, 40), target="x86-64-v4").nests())
    # (What is put by in elements is taken apart as such: ``elements/scratch.py``.)
    assert ("the last iteration apart" in said or "writes before it reads them in variables" in said) == KERNELS[kernel], said
    assert not KERNELS[kernel] or "lanes(j)" in said


def test_arrays_that_overlap_run_as_written() -> None:
    for kernel in (kept, element, blocks):
        memory, right = [np.random.default_rng(1).integers(0, 9, 41 * 40).astype(np.int32) for _ in range(2)]
        for store, one in ((memory, kernel), (right, lw.kernel(kernel.function, contract=False, nests="off"))):
            one(store[:1600].reshape(40, 40), store[13:1613].reshape(40, 40), store[80:84].reshape(2, 2))
        np.testing.assert_array_equal(memory, right)
