"""Plain loops over arrays that overlap by a shift give what Python gives, whatever becomes of them; and arrays are told apart where that has been asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function

i32 = lw.Array[lw.i32]
SHIFTS = (-5, -1, 0, 1, 2, 16)


@lw.kernel
def read_again(a: i32, b: i32, c: i32):
    """What has been stored is read again behind a store to another array."""
    for i in lw.range(1, len(c)):
        a[i] = c[i] * 2
        b[i - 1] = 7
        c[i] = a[i] + b[i - 1]


@lw.kernel
def weights(a: i32, b: i32, c: i32):
    """Loads that no index changes, of an array that others may lie over."""
    for i in lw.range(len(a)):
        a[i] = b[0] * c[i] + b[1]


@lw.kernel
def written_twice(a: i32, b: i32, c: i32):
    """The first store is read through another array before the second."""
    for i in lw.range(1, len(c)):
        a[i] = 1
        b[i] = c[i - 1] + c[i]
        a[i] = b[i] + 1


@lw.kernel
def loaded_before(a: i32, b: i32, c: i32):
    """A load is used on both sides of a store to another array."""
    for i in lw.range(1, len(c) - 1):
        first = c[i + 1]
        a[i] = first
        b[i] = first - c[i + 1] + c[i - 1]


@lw.kernel
def running(a: i32, b: i32, c: i32):
    """A total in memory, which other stores may change."""
    for i in lw.range(1, len(c)):
        a[0] += c[i]
        b[i] = a[0]


@lw.kernel
def two_loops(a: i32, b: i32, c: i32):
    """Two nests, one behind the other, and a load in front of both."""
    first = c[2]
    for i in lw.range(len(a)):
        a[i] = b[i] + first
    for i in lw.range(1, len(a)):
        b[i] = a[i - 1] + c[2] * first


@lw.kernel
def branches(a: i32, b: i32, c: i32):
    """Both arms store to one array, and read another."""
    for i in lw.range(2, len(c)):
        if c[i] > 3:
            a[i] = b[i - 2]
        else:
            a[i - 1] = b[i]
        c[i] += b[i - 2] + a[i]


@lw.kernel
def rows(a: i32, b: i32, c: i32):
    """A nest whose inner loop stores to what the outer one reads."""
    for i in lw.range(4):
        for j in lw.range(1, len(c)):
            a[j] += b[i] + c[j - 1]
            b[j] = a[j] - b[i]


@lw.kernel
def bytes_of(a: lw.Array[lw.u8], b: i32, c: i32):
    """Elements of different types at the same place."""
    for i in lw.range(len(a)):
        a[i] = b[0]
        c[0] = b[0] + a[i]


@lw.kernel
def filled(a: lw.Array[lw.i32, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            a[i, j] = lw.i32(i - j)


KERNELS = (read_again, weights, written_twice, loaded_before, running, two_loops, branches, rows)


def plain(kernel: lw.Kernel, arrays: list[Any]) -> None:
    with np.errstate(over="ignore"):
        kernel.function(*arrays)


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.function.__name__ for kernel in KERNELS])
@pytest.mark.parametrize("options", [{"nests": "fast"}, {"nests": "off"}, {"nests": "search"}, {"check": True}], ids=["fast", "off", "search", "checked"])
def test_shifted(kernel: lw.Kernel, options: dict[str, Any]) -> None:
    changed = lw.kernel(kernel.function, **options)
    wrong = []
    for length in (4, 33, 700):
        for first in SHIFTS:
            for second in (*SHIFTS, 1500):
                memory = np.random.default_rng(length).integers(-9, 9, 4000).astype(np.int32)
                results = []
                for run in (lambda *arrays: plain(kernel, list(arrays)), changed):
                    here = memory.copy()
                    run(*[here[start : start + length] for start in (100, 100 + first, 100 + second)])
                    results.append(here)
                if not np.array_equal(*results):
                    wrong.append((length, first, second))
    assert not wrong


@pytest.mark.parametrize("nests", ["fast", "off"])
def test_elements_of_different_types(nests: str) -> None:
    changed = lw.kernel(bytes_of.function, nests=nests)
    for start in (0, 1, 4, 40):
        results = []
        for run in (bytes_of.function, changed):
            here = np.full(64, 3, np.uint8)
            words = here.view(np.int32)
            words[:] = 5
            run(here[start : start + 20], words[:10], words[2:12])
            results.append(here)
        assert np.array_equal(*results)


def test_an_array_that_overlaps_itself_is_refused_in_checked_mode() -> None:
    rows = np.lib.stride_tricks.as_strided(np.zeros(40, np.int32), (8, 8), (8, 4))
    with pytest.raises(lw.OverlapError, match="a: the kernel writes to this array, and some of its elements share memory with each other"):
        lw.kernel(filled.function, check=True)(rows)


def declared(code: Any, stage: str) -> list[bool]:
    """Of the arrays of a function, which are shared."""
    return [" shared" in line for line in code.ir(stage).splitlines() if line.startswith("  array ")]


def test_what_is_asked_is_told_apart_behind_it() -> None:
    code = weights.compile(i32, i32, i32, target="x86-64-v3")
    assert declared(code, "collect") == [True] * 3
    assert declared(code, "nests") == [True] * 3 + [False] * 3
    (number,) = {line.split(" apart ")[1] for line in code.ir("nests").splitlines() if " apart " in line}
    assert int(number) > 0
    fast, plain = code.ir("nests").split("\n  else")
    assert "load.i32 b#3[0]" in fast and "load.i32 b#1[0]" in plain


def test_where_nothing_is_shared() -> None:
    @lw.kernel
    def lanes(a: i32, b: i32):
        for i in lw.lanes(len(a)):
            a[i] = b[i]

    @lw.kernel
    def one(a: i32):
        for i in lw.range(len(a)):
            a[i] += 1

    @lw.kernel
    def read_only(a: i32, b: i32) -> lw.i32:
        total = lw.i32(0)
        for i in lw.range(len(a)):
            total += a[i] * b[i]
        return total

    for kernel, count in ((lanes, 2), (one, 1), (read_only, 2)):
        assert not any(declared(kernel.compile(*[i32] * count), "collect"))
    assert all(declared(weights.compile(i32, i32, i32, check=True), "collect"))


def test_only_what_one_question_has_told_apart_never_meets() -> None:
    arrays = "".join(
        f"  array {name}: f64[%n] at %{name}{rest}\n" for name, rest in (("a", " apart 3"), ("b", " apart 3"), ("c", " apart 5"), ("d", ""), ("e", ""))
    )
    f = parse(f"function f(%a: ptr, %b: ptr, %c: ptr, %d: ptr, %e: ptr, %n: i64)\n  stage collect\n{arrays}end\n")
    assert [(x, y) for x in range(5) for y in range(5) if f.never_meet(x, y)] == [(0, 1), (1, 0)]
    assert parse(print_function(f)).arrays[0].apart == 3
