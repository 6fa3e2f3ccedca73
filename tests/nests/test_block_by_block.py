"""Statements that read what others have just stored beside: in blocks, beside the loops as written, for lengths around those of blocks, and with arrays that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

LENGTHS = (0, 1, 2, 3, 9, 70, 511, 512, 513, 514, 1030, 1537)


@lw.kernel(contract=False)
def differences(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(1, a.shape[0]):
        a[i] = b[i] * 2 + 1
        c[i] = a[i] - a[i - 1]


@lw.kernel(contract=False)
def chain(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(2, a.shape[0]):
        a[i] = a[i] + 3
        b[i] = a[i - 1] + a[i - 2]
        c[i] = b[i] * b[i - 1] + c[i]


@lw.kernel(contract=False)
def in_rows(a: lw.Array, b: lw.Array, c: lw.Array):
    for _k in lw.range(3):
        for i in lw.range(1, a.shape[0]):
            s = b[i] + c[i]
            a[i] = s * 2
            if a[i - 1] > b[i]:
                c[i] = s
            else:
                c[i] = a[i - 1]
            b[i] = c[i] + a[i]


@lw.kernel(contract=False)
def shared(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(1, a.shape[0] - 1):
        x = b[i + 1] * 2
        a[i] = x + 1
        c[i] = a[i - 1] + x
        b[i] = x


@lw.kernel(contract=False)
def waits(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(1, a.shape[0]):
        a[i] = c[i - 1] + b[i]
        c[i] = a[i] - a[i - 1]


KERNELS = (differences, chain, in_rows, shared, waits)
ELEMENTS = (lw.f32, lw.f64, lw.i32, lw.i64, lw.u8, lw.i16)


def arguments(element: lw.Type, length: int) -> list[np.ndarray]:
    rng = np.random.default_rng(length)
    return [rng.integers(0, 9, length).astype(element.dtype) for _ in range(3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_as_written(kernel: Any, element: lw.Type) -> None:
    for length in LENGTHS:
        given = arguments(element, length)
        wanted = [a.copy() for a in given]
        with np.errstate(all="ignore"):
            kernel.schedule().compile(*[lw.Array[element]] * 3)(*wanted)
        kernel(*given)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("element", (lw.f32, lw.i64), ids=str)
def test_as_python_has_it(element: lw.Type) -> None:
    for kernel in KERNELS:
        for length in (5, 530):
            given = arguments(element, length)
            wanted = [a.copy() for a in given]
            with np.errstate(all="ignore"):
                kernel.function(*wanted)
                kernel(*given)
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_rows_of_every_length(element: lw.Type) -> None:
    @lw.kernel(contract=False)
    def rows(a: lw.Array, b: lw.Array, c: lw.Array):
        for k in lw.range(a.shape[0]):
            for i in lw.range(1, a.shape[1]):
                b[k, i] = a[k, i] * 2
                c[k, i] = b[k, i] - b[k, i - 1]

    for length in (1, 2, 7, 24, 25, 26, 33, 100, 520):
        given = [a.reshape(3, length) for a in arguments(element, 3 * length)]
        a, b, c = [a.copy() for a in given]
        b[:, 1:] = a[:, 1:] * 2
        c[:, 1:] = b[:, 1:] - b[:, :-1]
        rows(*given)
        for x, y in zip(given, (a, b, c), strict=True):
            np.testing.assert_array_equal(x, y)
    matrix = lw.Array[element, 2]
    assert "i.blocks" in rows.compile(matrix, matrix, matrix, target="x86-64-v4").ir("nests")


def test_arrays_that_overlap() -> None:
    for kernel in KERNELS:
        for shift in (0, 1, 5):
            buffer = np.arange(2000, dtype=np.float32) % 7
            other = buffer.copy()
            with np.errstate(all="ignore"):
                kernel(*[buffer[k * shift : k * shift + 1100] for k in range(3)])
                kernel.function(*[other[k * shift : k * shift + 1100] for k in range(3)])
            np.testing.assert_array_equal(buffer, other)


@pytest.mark.parametrize("target", ("x86-64-v3", "x86-64-v4", "aarch64-neon"))
def test_what_is_done(target: str) -> None:
    array = lw.Array[lw.f32]
    done = {kernel: kernel.compile(array, array, array, target=target).nests()[0].done for kernel in KERNELS}
    for kernel in (differences, chain):
        assert done[kernel][0] == "statements of i one behind the other, for 512 iterations at a time"
        assert done[kernel].count("lanes(i)") >= 2
    # (Each waits for the other.)
    assert not any("lanes" in step or "one behind the other" in step for step in done[waits])
