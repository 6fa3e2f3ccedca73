"""Loops over lanes whose elements are a distance apart, in the opposite order, or anywhere: as the plain functions have it, and no memory but theirs is touched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Here, Runner, runners, with_features

import loopwright as lw
from loopwright.types import parse_type

#: No multiple of any vector's lanes, a vector and more, and nothing at all.
LENGTHS = (0, 1, 7, 37, 100)
TYPES = ("f32", "f64", "u8", "i16", "u32", "i64")


def every_second(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[2 * i]


def neighbours(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[2 * i + 1] - x[2 * i]


def reversed_(x: lw.Array, y: lw.Array):
    n = len(x)
    for i in lw.lanes(n):
        y[i] = x[n - 1 - i]


def reversed_where(x: lw.Array, y: lw.Array):
    n = len(x)
    for i in lw.lanes(n):
        if x[i] > 40:
            y[n - 1 - i] = x[n - 1 - i] + x[i]


def apart(x: lw.Array, y: lw.Array, z: lw.Array, distance: lw.i64):
    for i in lw.lanes(len(z)):
        z[i] = x[5 * i + 1] + y[i * distance]


def far_apart_where(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(z)):
        z[i] = 0
        if x[8 * i] > 3 and y[6 * i + 5] != 1:
            z[i] = x[8 * i + 7] + y[6 * i + 1]


def columns(a: lw.Array, y: lw.Array):
    for i in lw.lanes(a.shape[0]):
        y[i] = a[i, 3] + a[i, 0]
        a[i, 1] = y[i]


def alternating(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[2 * i] = x[i]
        y[2 * i + 1] = x[i] + 1


def apart_where(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(x)):
        if x[i] > 40:
            y[5 * i + 1] = z[3 * i + 2]


def to_planes(x: lw.Array, r: lw.Array, g: lw.Array, b: lw.Array):
    for i in lw.lanes(len(r)):
        r[i] = x[3 * i]
        g[i] = x[3 * i + 1]
        b[i] = x[3 * i + 2]


def from_planes(r: lw.Array, g: lw.Array, b: lw.Array, x: lw.Array):
    for i in lw.lanes(len(r)):
        x[3 * i + 2] = b[i]
        x[3 * i] = r[i]
        x[3 * i + 1] = g[i] + r[i]


def some_of_fives(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[5 * i + 1] - x[5 * i + 4]
        z[i] = x[7 * i] + x[7 * i + 6] + x[7 * i + 2]


def fives_in_turn(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y) // 5):
        y[5 * i + 4] = x[i]
        y[5 * i] = x[i] + 1
        y[5 * i + 1] = x[i] + 2
        y[5 * i + 3] = y[5 * i + 3] + x[i]
        y[5 * i + 2] = x[i] + 4


def sevens_in_turn(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y) // 7):
        y[7 * i] = y[7 * i + 6]
        y[7 * i + 1] = x[i]
        y[7 * i + 2] = x[i] + 2
        y[7 * i + 3] = x[i] + 3
        y[7 * i + 4] = y[7 * i + 5]
        y[7 * i + 5] = x[i] + 5
        y[7 * i + 6] = x[i] + 6


def eights_in_turn(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y) // 8):
        y[8 * i + 7] = x[8 * i] + x[8 * i + 5]
        y[8 * i] = x[8 * i + 1] + 1
        y[8 * i + 1] = x[8 * i + 2]
        y[8 * i + 2] = x[8 * i + 7]
        y[8 * i + 3] = y[8 * i + 3] + x[8 * i + 3]
        y[8 * i + 4] = x[8 * i + 6] + 4
        y[8 * i + 5] = y[8 * i + 6]
        y[8 * i + 6] = x[8 * i + 4]


def sixes_in_turn(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y) // 6):
        y[6 * i + 3] = x[6 * i] + x[6 * i + 5]
        y[6 * i] = x[6 * i + 1] + 1
        y[6 * i + 1] = x[6 * i + 2]
        y[6 * i + 2] = y[6 * i + 2] + x[6 * i + 3]
        y[6 * i + 4] = x[6 * i + 4] + 4
        y[6 * i + 5] = y[6 * i + 5] - x[6 * i + 1]


def channels_exchanged(x: lw.Array):
    for i in lw.lanes(len(x) // 4):
        first = x[4 * i]
        x[4 * i] = x[4 * i + 2]
        x[4 * i + 2] = first
        x[4 * i + 1] = x[4 * i + 1] + x[4 * i + 3]
        x[4 * i + 3] = x[4 * i + 1]


def with_gaps(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[3 * i + 1] - x[3 * i] + x[4 * i]


def narrow_to_wide(x: lw.Array, y: lw.Array[lw.f64]):
    for i in lw.lanes(len(y)):
        y[i] = lw.f64(x[3 * i]) + lw.f64(x[3 * i + 1]) * 2 + lw.f64(x[3 * i + 2]) * 4


def looked_up(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(k)):
        y[i] = table[k[i]]


def looked_up_where(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(k)):
        if k[i] > 40:
            y[i] = table[k[i] - 41]


def looked_up_in_rows(a: lw.Array, k: lw.Array, y: lw.Array, j: lw.i64):
    for i in lw.lanes(len(k)):
        y[i] = a[k[i], j] + a[k[i], k[i]] + a[j, k[i]]


def put(table: lw.Array, k: lw.Array, x: lw.Array):
    for i in lw.lanes(len(k)):
        table[k[i]] = x[i]


def put_where(table: lw.Array, k: lw.Array, x: lw.Array):
    for i in lw.lanes(len(k)):
        if x[i] > 40:
            table[k[i]] = x[i]


def added(table: lw.Array, k: lw.Array, x: lw.Array):
    for i in lw.lanes(len(k)):
        table[k[i]] += x[i]


def doubled_in_place(x: lw.Array):
    for i in lw.lanes(len(x) // 2):
        x[2 * i] = x[i]


def turned_in_place(x: lw.Array):
    n = len(x)
    for i in lw.lanes(n // 2):
        first, last = x[i], x[n - 1 - i]
        x[i] = last
        x[n - 1 - i] = first


def elements(rng: np.random.Generator, count: int, name: str) -> np.ndarray[Any, Any]:
    return rng.integers(0, 100, count).astype(parse_type(name).dtype)


#: Per function: its arguments for a length, given what makes arrays of the type and of indices.
Made = Callable[[int, Callable[[int], Any], Callable[[int], Any]], list[Any]]
ALONG: list[tuple[Callable[..., None], Made]] = [
    (every_second, lambda n, of, _: [of(max(2 * n - 1, 0)), of(n)]),
    (neighbours, lambda n, of, _: [of(2 * n), of(n)]),
    (reversed_, lambda n, of, _: [of(n), of(n)]),
    (reversed_where, lambda n, of, _: [of(n), of(n)]),
    (apart, lambda n, of, _: [of(max(5 * n - 3, 0)), of(max(7 * n - 6, 0)), of(n), 7]),
    (columns, lambda n, of, _: [of(4 * n).reshape(n, 4), of(n)]),
    (alternating, lambda n, of, _: [of(n), of(2 * n)]),
    (far_apart_where, lambda n, of, _: [of(8 * n), of(6 * n), of(n)]),
    (apart_where, lambda n, of, _: [of(n), of(max(5 * n - 3, 0)), of(3 * n)]),
    (to_planes, lambda n, of, _: [of(3 * n), of(n), of(n), of(n)]),
    (from_planes, lambda n, of, _: [of(n), of(n), of(n), of(3 * n)]),
    (some_of_fives, lambda n, of, _: [of(max(7 * n, 0)), of(n), of(n)]),
    (fives_in_turn, lambda n, of, _: [of(n), of(5 * n)]),
    (sevens_in_turn, lambda n, of, _: [of(n), of(7 * n)]),
    (eights_in_turn, lambda n, of, _: [of(8 * n), of(8 * n)]),
    (sixes_in_turn, lambda n, of, _: [of(6 * n), of(6 * n)]),
    (channels_exchanged, lambda n, of, _: [of(4 * n)]),
    (with_gaps, lambda n, of, _: [of(max(4 * n - 3, 3 * n - 1, 0)), of(n)]),
    (narrow_to_wide, lambda n, of, _: [of(3 * n), np.zeros(n)]),
    (doubled_in_place, lambda n, of, _: [of(n)]),
    (turned_in_place, lambda n, of, _: [of(n)]),
]
ANYWHERE: list[tuple[Callable[..., None], Made]] = [
    (looked_up, lambda n, of, at: [of(100), at(n), of(n)]),
    (looked_up_where, lambda n, of, at: [of(100), at(n), of(n)]),
    (looked_up_in_rows, lambda n, of, at: [of(10000).reshape(100, 100), at(n), of(n), 7]),
    (put, lambda n, of, at: [of(100), at(n), of(n)]),
    (put_where, lambda n, of, at: [of(100), at(n), of(n)]),
    (added, lambda n, of, at: [of(100), at(n), of(n)]),
]


@functools.cache
def compiled(runner: Runner, function: Callable[..., None], types: tuple[Any, ...]) -> Any:
    return runner.compiled(lw.kernel(function), *types)


def check(runner: Runner, function: Callable[..., None], args: list[Any], what: str) -> None:
    """Compiled and plain give the same; where code runs here, arrays end at a page that cannot be touched."""
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(over="ignore"):
        function(*expected)
    if isinstance(runner, Here):
        args = [guarded(a, True) if isinstance(a, np.ndarray) and a.ndim == 1 else a for a in args]
    types = [lw.Array[parse_type_of(a), a.ndim] if isinstance(a, np.ndarray) else lw.i64 for a in args]
    code = compiled(runner, function, tuple(types))

    def compare(_: Any) -> None:
        for n, (found, wanted) in enumerate(zip(args, expected, strict=True)):
            assert not isinstance(found, np.ndarray) or np.array_equal(found, wanted), f"{function.__name__} of {what}, argument {n}"

    runner.run(code, args, compare)


def parse_type_of(array: np.ndarray[Any, Any]) -> Any:
    return getattr(lw, f"{array.dtype.kind}{8 * array.dtype.itemsize}")


def lengths(runner: Runner) -> tuple[int, ...]:
    return LENGTHS if isinstance(runner, Here) else (37,)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("runner", [*runners(lambda runner: runner.bits), *with_features("avx512vbmi")])
def test_elements_apart_and_in_the_opposite_order(runner: Runner, name: str) -> None:
    rng = np.random.default_rng(1)
    for function, made in ALONG:
        for n in lengths(runner):
            check(runner, function, made(n, lambda count: elements(rng, count, name), lambda count: None), f"{n} {name}")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
def test_elements_anywhere(runner: Runner, name: str) -> None:
    rng = np.random.default_rng(2)
    for function, made in ANYWHERE:
        for index in ("i32", "u8", "i64", "u32") if isinstance(runner, Here) else ("i32", "u8"):
            for n in lengths(runner)[-2:]:
                args = made(n, lambda count: elements(rng, count, name), lambda count, index=index: elements(rng, count, index))
                check(runner, function, args, f"{n} {name} by {index}")


def test_groups_are_loaded_and_stored_together() -> None:
    A = lw.Array[lw.u8]
    for function, count in ((to_planes, 4), (from_planes, 4)):
        kernel = lw.kernel(function)
        arm = kernel.compile(*[A] * count, target="aarch64-neon").asm()
        assert (" ld3 " if function is to_planes else " st3 ") in arm
        text = kernel.compile(*[A] * count, target="x86-64-v3").ir("vectorize")
        assert "strided" not in text and ("load_part3" if function is to_planes else "store_parts3") in text
    # Three loads of 256 bits for all three parts.
    assert lw.kernel(to_planes).compile(A, A, A, A, target="x86-64-v3").ir("simplify").count("load_chunks_at.u8x32") % 3 == 0


def test_lanes_are_chosen_from_two_vectors() -> None:
    """On AVX-512 parts are made of whole vectors; bytes where the CPU has AVX-512 VBMI."""
    for name, element, chooses in (("f32", lw.f32, True), ("u8", lw.u8, False), ("i64", lw.i64, True)):
        for function in (to_planes, from_planes):
            for more in ("", "+avx512vbmi"):
                text = lw.kernel(function).compile(*[lw.Array[element]] * 4, target=f"x86-64-v4{more}").ir("expand")
                assert ("lookup_pair" in text) == (chooses or bool(more)), f"{name} {function.__name__} {more}"
                assert ("chunks_at" in text) == (not (chooses or more))


def test_fives_and_sevens_are_dealt_out() -> None:
    """Blends of as many vectors, and one permutation."""
    for name, element in (("f32", lw.f32), ("u8", lw.u8), ("f64", lw.f64), ("i16", lw.i16)):
        A = lw.Array[element]
        for target in ("x86-64-v3", "x86-64-v4+avx512vbmi"):
            text = lw.kernel(some_of_fives).compile(A, A, A, target=target).ir("vectorize")
            assert "load_part5" in text and "load_part7" in text and "strided" not in text, f"{name} {target}"
            text = lw.kernel(fives_in_turn).compile(A, A, target=target).ir("vectorize")
            assert "store_parts5" in text and "strided" not in text, f"{name} {target}"
    A = lw.Array[lw.f32]
    text = lw.kernel(fives_in_turn).compile(A, A, target="x86-64-v4").ir("expand")
    assert text.count("lookup_lanes") >= 5 and "lookup_pair" not in text
    # No more than four on AArch64.
    assert "strided" in lw.kernel(fives_in_turn).compile(A, A, target="aarch64-neon").ir("vectorize")


def test_indices_of_32_bits_leave_vectors_their_lanes() -> None:
    text = lw.kernel(looked_up).compile(lw.Array[lw.f32], lw.Array[lw.i32], lw.Array[lw.f32], target="x86-64-v3").asm()
    assert "vgatherdps ymm" in text and "vpmovsxdq" not in text


def test_a_loop_whose_order_matters_stays_a_loop_over_elements() -> None:
    code = lw.kernel(added).compile(lw.Array[lw.f32], lw.Array[lw.i32], lw.Array[lw.f32], target="x86-64-v4")
    assert "f32x" not in code.ir("vectorize")
    code = lw.kernel(put).compile(lw.Array[lw.f32], lw.Array[lw.i32], lw.Array[lw.f32], target="x86-64-v4")
    assert "vscatterdps" in code.asm()
