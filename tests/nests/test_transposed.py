"""Nests that go along one array and down another: squares transposed in registers, with the results of the loops as written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def turned(a: lw.Array, c: lw.Array) -> None:
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = a[j, i]


@lw.kernel
def down(a: lw.Array, c: lw.Array) -> None:
    """What is stored goes down."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[j, i] = a[i, j]


@lw.kernel
def added(a: lw.Array, b: lw.Array, v: lw.Array, w: lw.Array, c: lw.Array) -> None:
    for i in range(1, c.shape[0] - 1):
        for j in range(2, c.shape[1]):
            c[i, j] = (a[i, j - 1] + b[j, i + 1]) * v[i] - w[j]


@lw.kernel
def both(a: lw.Array, c: lw.Array, d: lw.Array) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + a[j, i]
            d[j, i] = a[i, j] - a[j, i]


@lw.kernel
def batches(a: lw.Array, c: lw.Array) -> None:
    for k in range(c.shape[0]):
        for i in range(c.shape[1]):
            for j in range(c.shape[2]):
                c[k, i, j] = a[k, j, i]


@lw.kernel
def in_place(a: lw.Array) -> None:
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[1]):
            x = a[i, j]
            a[i, j] = a[j, i]
            a[j, i] = x


@lw.kernel
def onto_itself(a: lw.Array) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[j, i]


KERNELS = [turned, down, added, both, batches, in_place, onto_itself]
ELEMENTS = [np.uint8, np.int16, np.int32, np.float32, np.int64, np.float64]


def given_for(kernel: Any, n: int, m: int, element: Any) -> list[Any]:
    r = np.random.default_rng(n * 100 + m)

    def some(*shape: int) -> Any:
        return r.integers(0, 100, shape).astype(element)

    if kernel in (in_place, onto_itself):
        return [some(n, n)]
    if kernel is batches:
        return [some(3, m, n), some(3, n, m)]
    if kernel is both:
        return [some(n, n), some(n, n), some(n, n)]
    if kernel is added:
        return [some(n, m), some(m, n), some(n), some(m), some(n, m)]
    return [some(m, n), some(n, m)]


def as_python(kernel: Any, given: list[Any]) -> list[Any]:
    wanted = [a.copy() for a in given]
    with np.errstate(over="ignore"):
        kernel.function(*wanted)
    return wanted


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(kernel: Any, runner: Runner) -> None:
    for n, m in ((0, 3), (1, 1), (3, 5), (8, 8), (17, 20), (33, 35)):
        given = given_for(kernel, n, m, np.float32)
        runner.leaves(runner.compiled(kernel, *given), given, as_python(kernel, given))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_every_type_and_nothing_outside(kernel: Any, element: Any) -> None:
    for n, m in ((2, 70), (16, 16), (70, 31), (67, 131)):
        given = given_for(kernel, n, m, element)
        wanted = as_python(kernel, given)
        for at_end in (False, True):
            passed = [guarded(a, at_end) for a in given]
            kernel(*passed)
            for a, b in zip(passed, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


def test_arrays_that_overlap() -> None:
    for shift in (-40, -1, 0, 1, 60):
        memory = np.arange(4000, dtype=np.float32)
        wanted = memory.copy()
        for each, run in ((memory, turned), (wanted, turned.function)):
            run(each[1000:1900].reshape(30, 30), each[1000 + shift : 1900 + shift].reshape(30, 30))
        np.testing.assert_array_equal(memory, wanted)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    ("kernel", "is_done"), [(turned, True), (down, True), (added, True), (both, True), (batches, True), (in_place, False), (onto_itself, False)]
)
def test_which_are(kernel: Any, is_done: bool, target: str) -> None:
    code = kernel.compile(*given_for(kernel, 9, 9, np.float32), target=target)
    assert ("to go down one array and along another" in str(code.nests())) is is_done
    assert ("unpckhdq" in code.asm() or "unpckhps" in code.asm()) is is_done


@lw.kernel
def rotated(a: lw.Array, c: lw.Array) -> None:
    """Two neighbouring columns, wherever they are: squares from a register on."""
    for i in range(1, a.shape[1]):
        h = a[0, i] - c[i]
        for k in range(a.shape[0]):
            x = a[k, i - 1]
            y = a[k, i]
            a[k, i - 1] = x * h + y
            a[k, i] = y - x


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
def test_columns_from_a_register_on(runner: Runner) -> None:
    for n, m in ((2, 3), (1, 1), (9, 2), (16, 5), (35, 9)):
        r = np.random.default_rng(n)
        given = [r.integers(-3, 4, (n, m)), r.integers(-3, 4, m)]
        wanted = as_python(rotated, given)
        runner.leaves(runner.compiled(rotated, *given), given, wanted)
    floats = [r.random((35, 9)), r.random(9)]
    wanted = as_python(rotated, floats)
    for at_end in (False, True):
        passed = [guarded(a, at_end) for a in floats]
        rotated(*passed)
        np.testing.assert_allclose(passed[0], wanted[0], rtol=1e-10)
    assert "lanes(k)" in str(rotated.compile(*floats, target="x86-64-v4").nests())
