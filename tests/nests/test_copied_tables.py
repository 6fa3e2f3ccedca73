"""Tables that bytes are looked up in, copied to where vectors hold them: results as written for tables of all lengths, where arrays overlap, and what becomes of the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded

import loopwright as lw

#: What chooses bytes from whole vectors.
TARGET = "x86-64-v4+avx512vbmi"


@lw.kernel
def mapped(x: lw.Array[lw.u8], t: lw.Array, y: lw.Array) -> None:
    for i in range(len(y)):
        y[i] = t[x[i]]


@lw.kernel
def in_place(x: lw.Array[lw.u8], t: lw.Array[lw.u8]) -> None:
    for i in range(len(x)):
        x[i] = t[x[i]]


@lw.kernel
def palette(x: lw.Array[lw.u8], t: lw.Array[lw.u8, 2], y: lw.Array[lw.u8, 2]) -> None:
    for i in range(len(x)):
        p = x[i]
        y[i, 0] = t[p, 0]
        y[i, 1] = t[p, 1]
        y[i, 2] = t[p, 2]


@lw.kernel
def picture(x: lw.Array[lw.u8, 2], t: lw.Array[lw.u8, 2], y: lw.Array[lw.u8, 2], which: lw.i64) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = t[which, x[i, j]] ^ lw.u8(1)


@lw.kernel
def own_table(x: lw.Array[lw.u8], y: lw.Array[lw.u8], by: lw.u8) -> None:
    table = lw.local(lw.u8, 256)
    for k in range(256):
        table[k] = lw.u8(k) * by
    for i in range(len(x)):
        y[i] = table[x[i]]


@lw.kernel
def changing(x: lw.Array[lw.u8], t: lw.Array[lw.u8], y: lw.Array[lw.u8]) -> None:
    """What is looked up changes while that goes on."""
    for i in range(len(x)):
        y[i] = t[x[i]]
        t[i & 7] = y[i]


def run(kernel: Any, *given: Any, numbers: tuple[int, ...] = ()) -> None:
    """As the loops as written have it, with unreadable memory in front of the arrays and behind them."""
    wanted = [a.copy() for a in given]
    lw.kernel(kernel.function, nests="off")(*wanted, *numbers)
    for at_end in (False, True):
        found = [guarded(a, at_end) for a in given]
        kernel(*found, *numbers)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def some(shape: Any, below: int = 256, dtype: Any = np.uint8) -> Any:
    return np.random.default_rng(3).integers(0, below, shape).astype(dtype)


@pytest.mark.parametrize("element", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.float32])
@pytest.mark.parametrize("length", [1, 2, 63, 64, 100, 255, 256, 257, 1000])
def test_tables_of_all_lengths(element: Any, length: int) -> None:
    for n in (0, 1, 63, 127, 128, 129, 500):
        run(mapped, some(n, min(length, 256)), some(length, 120, element), np.zeros(n, element))


@pytest.mark.parametrize("n", [1, 64, 130, 1000])
def test_palettes_pictures_and_tables_of_the_functions_own(n: int) -> None:
    run(palette, some(n, 200), some((200, 3)), some((n, 3)))
    run(palette, some(n, 200), some((200, 4)), some((n, 5)))
    run(in_place, some(n), some(256))
    run(picture, some((7, n)), some((3, 256)), some((7, n)), numbers=(2,))
    run(own_table, some(n), some(n), numbers=(7,))
    run(changing, some(n), some(256), some(n))


def test_a_row_that_is_not_there_is_not_read_where_nothing_is_looked_up() -> None:
    run(picture, some((0, 500)), some((3, 256)), some((0, 500)), numbers=(40,))


def test_arrays_that_overlap() -> None:
    for shift in (-300, -1, 0, 1, 40, 300):
        wanted = some(2000)
        found = wanted.copy()
        for memory, kernel in ((wanted, lw.kernel(mapped.function, nests="off")), (found, mapped)):
            kernel(memory[:400], memory[700:956], memory[700 + shift : 1100 + shift])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("kernel", "given", "copied"),
    [
        (mapped, (some(9), some(9), some(9)), True),
        (mapped, (some(9), some(9, dtype=np.int16), some(9, dtype=np.int16)), True),
        (mapped, (some(9), some(9, dtype=np.float32), some(9, dtype=np.float32)), False),
        (in_place, (some(9), some(256)), True),
        (palette, (some(9), some((9, 3)), some((9, 3))), True),
        (changing, (some(9), some(9), some(9)), False),
    ],
)
def test_what_is_copied(kernel: Any, given: Any, copied: bool) -> None:
    code = kernel.compile(*given, target=TARGET)
    assert ("copied, to be looked up in vectors" in str(code.nests())) is copied
    assert (("vpermb" in code.asm()) or ("vpermw" in code.asm())) is copied


def test_machines_without_such_an_instruction_copy_nothing() -> None:
    assert "copied" not in str(mapped.compile(some(9), some(9), some(9), target="x86-64-v3").nests())
