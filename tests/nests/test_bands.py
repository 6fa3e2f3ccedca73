"""Triangular nests in bands of rows: the triangle of a band by itself, and the rectangle in strips."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def intervals(a: lw.Array, b: lw.Array):
    for i in range(b.shape[0] - 2, -1, -1):
        for j in range(i + 1, b.shape[1]):
            b[i, j] = a[i, j] + max(b[i + 1, j], b[i, j - 1])


@lw.kernel
def upper_half(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(i, b.shape[1]):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def lower_half(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(1, i + 1):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def corner(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(2, b.shape[1] - i - 1):
            b[i, j] = max(a[i, j] + b[i - 1, j], max(b[i, j - 1], b[i - 1, j - 2]))


@lw.kernel
def other_corner(a: lw.Array, b: lw.Array):
    """Rows begin earlier and earlier, counting up; every second one has less in common."""
    for i in range(1, b.shape[0]):
        for j in range(b.shape[1] - i, b.shape[1]):
            b[i, j] = a[i, j] + min(b[i - 1, j], b[i, j - 1])


@lw.kernel
def steep(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0] // 2):
        for j in range(1, 2 * i):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def downwards(a: lw.Array, b: lw.Array):
    for i in range(b.shape[0] - 2, 0, -1):
        for j in range(i - 1, -1, -1):
            b[i, j] = a[i, j] + max(b[i + 1, j], b[i, j + 1])


@lw.kernel
def palindromes(a: lw.Array, b: lw.Array):
    for i in range(a.shape[0] - 2, -1, -1):
        for j in range(i + 1, a.shape[0]):
            if a[i, 0] == a[j, 0]:
                b[i, j] = b[i + 1, j - 1] + 2
            else:
                b[i, j] = max(b[i + 1, j], b[i, j - 1])


@lw.kernel
def diagonal_in_front(a: lw.Array, b: lw.Array):
    for i in range(b.shape[0] - 2, -1, -1):
        b[i, i] = a[i, 0]
        for j in range(i + 1, b.shape[1]):
            b[i, j] = a[i, j] + max(b[i + 1, j], b[i, j - 1])


@lw.kernel
def from_a_border(a: lw.Array, b: lw.Array):
    """Rows begin at the border, until they begin where their number says."""
    for i in range(1, b.shape[0]):
        for j in range(max(1, i - 2), b.shape[1]):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def up_to_a_border(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(1, min(b.shape[1] - 1, i + 3)):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


DONE = [from_a_border, up_to_a_border, intervals, upper_half, lower_half, corner, other_corner, steep, palindromes, diagonal_in_front]


@lw.kernel
def needs_what_is_further_along(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(1, i):
            b[i, j] = a[i, j] + max(b[i - 1, j + 1], b[i, j - 1])


@lw.kernel
def at_both_ends(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        for j in range(i, b.shape[1] - i):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def something_in_front(a: lw.Array, b: lw.Array):
    for i in range(1, b.shape[0]):
        b[i, 0] = b[i - 1, i]
        for j in range(1, i):
            b[i, j] = a[i, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def overwritten_in_front(a: lw.Array, b: lw.Array):
    """What a row stores in front of its columns is read by rows above it, before."""
    for i in range(1, b.shape[0]):
        b[0, i] = a[i, 0]
        for j in range(i, b.shape[1]):
            b[i, j] = b[0, j] + max(b[i - 1, j], b[i, j - 1])


@lw.kernel
def handed_on(a: lw.Array, b: lw.Array):
    m = a[0, 0]
    for i in range(1, b.shape[0]):
        for j in range(1, i):
            m = b[i, j] - m
            b[i, j] = m + max(b[i - 1, j], b[i, j - 1])


OTHERS = [needs_what_is_further_along, at_both_ends, something_in_front, overwritten_in_front, handed_on, downwards]


def _given(element: type, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.integers(-2, 3, (size, size)).astype(element) for _ in range(2)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", DONE + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, nests="off")
    for element in (np.float32, np.float64, np.int32, np.int16):
        compiled = runner.compiled(kernel, *_given(element, 3))
        for size in (2, 3, 15, 17, 18, 36, 71):
            given = _given(element, size)
            wanted = [each.copy() for each in given]
            written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", DONE + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_in_bands(kernel: lw.Kernel) -> None:
    (nest,) = kernel.compile(*_given(np.float32, 9), target="x86-64-v4").nests()
    assert any("in bands of" in step for step in nest.done) == (kernel in DONE), nest.done
    assert kernel not in DONE or any("skew(" in step or "unroll_and_jam(" in step for step in nest.done)


def test_a_table_that_is_larger_than_the_text_is_told_by_its_extents() -> None:
    (nest,) = palindromes.compile(*_given(np.int32, 9), target="x86-64-v4").nests()
    assert "rows of i in bands of 16" in nest.done
    written = lw.kernel(palindromes.function, nests="off")
    a = np.random.default_rng(1).integers(0, 3, (40, 40)).astype(np.int32)
    for rows, columns in ((40, 40), (50, 41), (41, 60)):
        got, right = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.int32)
        palindromes(a, got)
        written(a, right)
        np.testing.assert_array_equal(got, right)


@lw.kernel
def wildcards(a: lw.Array[lw.u8], b: lw.Array[lw.u8], c: lw.Array[lw.u8, 2]):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            if b[j - 1] == 42:
                c[i, j] = c[i - 1, j] | c[i, j - 1]
            elif a[i - 1] == b[j - 1]:
                c[i, j] = c[i - 1, j - 1]
            else:
                c[i, j] = 0


def test_a_text_may_be_shorter_than_the_table_by_as_much_as_is_read() -> None:
    """A letter that one arm alone reads is there if the text is no more than one letter shorter than the table: asked in front, with the difference."""
    code = wildcards.compile(target="x86-64-v4")
    (nest,) = code.nests()
    assert any("skew(" in step for step in nest.done)
    text = code.ir("nests")
    assert "add.i64 %a.n0, 1" in text and "ge.i64" in text
    written = lw.kernel(wildcards.function, nests="off")
    rng = np.random.default_rng(4)
    for letters in (60, 61, 100):
        a, b = [rng.integers(40, 44, count).astype(np.uint8) for count in (letters, 60)]
        got, right = np.zeros((61, 61), np.uint8), np.zeros((61, 61), np.uint8)
        got[0, 0] = right[0, 0] = 1
        wildcards(a, b, got)
        written(a, b, right)
        np.testing.assert_array_equal(got, right)


@lw.kernel
def only_where_equal(a: lw.Array[lw.i32], b: lw.Array[lw.i32, 2], n: lw.i64):
    for i in range(n - 2, -1, -1):
        for j in range(1, n):
            if a[j] > 0:
                b[i, j] = b[i + 1, j - 1] + 2
            else:
                b[i, j] = b[i, j - 1]


def test_what_one_arm_loads_is_not_loaded_beyond_an_array() -> None:
    """The row behind the table's last is only read where its element says so: the table may lack it, at the end of the memory."""
    (nest,) = only_where_equal.compile(target="x86-64-v4").nests()
    assert any("skew(" in step for step in nest.done)
    page = mmap.PAGESIZE
    size = 64
    rows = page // (size * 4)
    memory = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0) == 0
    b = np.frombuffer(memory, np.int32, rows * size).reshape(rows, size)
    a = np.zeros(size, np.int32)
    # Rows 0 to n - 1 are there, and none but those of row n - 1 would be read from row n: nothing is.
    only_where_equal(a, b, rows + 1)
    assert not b.any()
    libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 3)
