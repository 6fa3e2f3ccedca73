"""What remainders store in pieces: the same as element by element, for every length and element type, and nothing behind the last element."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.compiler import compile
from loopwright.ir.parse import parse
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry

ELEMENTS = [lw.f32, lw.f64, lw.i32, lw.i64, lw.i16, lw.u8]


@lw.kernel(contract=False)
def scaled(a: lw.Array, b: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(a.shape[1]):
            a[i, k] = a[i, k] * b[k] + 3


@lw.kernel
def filled(a: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(a.shape[1]):
            a[i, k] = 7


@lw.kernel(contract=False)
def sevens(a: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(7):
            a[i, k + 1] = a[i, k + 1] + a[i, 8]


def arguments(element: lw.Type, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 9, shape).astype(element.dtype) for shape in shapes]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.dear_masks or runner.target.masks_hold_loads))
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_every_length(runner: Runner, element: lw.Type) -> None:
    for length in (*range(1, 10), 15, 17, 31, 47):
        wide = arguments(element, (4, length + 5))[0]
        a, b = wide[:, :length], arguments(element, (length,))[0]
        wanted = wide.copy()
        wanted[:, :length] = a * b + np.dtype(element.dtype).type(3)
        given = [np.ascontiguousarray(a), b]

        def same(_: object, given: list[np.ndarray] = given, wanted: np.ndarray = wanted, length: int = length) -> None:
            np.testing.assert_array_equal(given[0], wanted[:, :length])

        code = runner.compiled(scaled, *given)
        # (Products of i64 have no lanes that pay with AVX2.)
        assert ("%pieces" in code.ir("unroll")) == (element is not lw.i64 or runner.target.masks_hold_loads)
        runner.run(code, given, same)


def test_only_what_is_loaded_from_where_masks_hold_loads() -> None:
    @lw.kernel
    def copied(a: lw.Array, b: lw.Array):
        for i in lw.range(a.shape[0]):
            for k in lw.range(a.shape[1]):
                a[i, k] = b[i, k]

    matrix = lw.Array[lw.f32, 2]
    assert "%pieces" in scaled.compile(matrix, lw.Array[lw.f32], target="x86-64-v4").ir("unroll")
    assert "%pieces" not in copied.compile(matrix, matrix, target="x86-64-v4").ir("unroll")


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_nothing_else_is_written(element: lw.Type) -> None:
    for kernel in (scaled, filled):
        for length in (*range(1, 18), 23, 31, 39):
            wide = arguments(element, (5, length + 40))[0]
            before = wide.copy()
            b = arguments(element, (length,))[0]
            kernel(*([wide[:, :length], b] if kernel is scaled else [wide[:, :length]]))
            np.testing.assert_array_equal(wide[:, length:], before[:, length:])
            wanted = before[:, :length] * b + np.dtype(element.dtype).type(3) if kernel is scaled else np.full_like(before[:, :length], 7)
            np.testing.assert_array_equal(wide[:, :length], wanted)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_lengths_that_are_known(element: lw.Type) -> None:
    a = arguments(element, (6, 9))[0]
    wanted = a.copy()
    wanted[:, 1:8] += wanted[:, 8:]
    sevens(a)
    np.testing.assert_array_equal(a, wanted)
    code = sevens.compile(lw.Array[element, 2], target="x86-64-v3").ir("unroll")
    assert "masked_store" not in code.split("else")[0]


@lw.kernel
def scaled_bytes(a: lw.Array[lw.u8, 2], b: lw.Array[lw.i32], c: lw.Array[lw.u8, 2]):
    for i in lw.range(a.shape[0]):
        for k in lw.range(a.shape[1]):
            c[i, k] = lw.u8(lw.i32(a[i, k]) * b[k] >> 3)


@lw.kernel(contract=False, nests="off")
def known(a: lw.Array, count: lw.Const, first: lw.Const):
    for i in lw.range(a.shape[0]):
        for k in lw.lanes(first, count):
            a[i, k] = a[i, k] * 3 + 1


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.dear_masks))
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_bounds_that_are_known_and_what_is_behind_them(runner: Runner, element: lw.Type) -> None:
    """Several vectors at once, then whole ones, then pieces: each ends where it is to."""
    for first, count in ((0, 5), (0, 6), (0, 9), (1, 22), (0, 29), (0, 45), (3, 60), (0, 77), (0, 109), (0, 157)):
        a = arguments(element, (3, count + 70))[0]
        wanted = a.copy()
        wanted[:, first:count] = wanted[:, first:count] * 3 + 1

        def same(_: object, a: np.ndarray = a, wanted: np.ndarray = wanted) -> None:
            np.testing.assert_array_equal(a, wanted)

        runner.run(runner.compiled(known, a, count=count, first=first), [a], same)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.dear_masks))
def test_bytes_among_words_are_done_index_by_index(runner: Runner) -> None:
    for length in (1, 3, 7, 8, 9, 21):
        a, b, c = arguments(lw.u8, (3, length))[0], arguments(lw.i32, (length,))[0], np.zeros((3, length), np.uint8)
        wanted = (a.astype(np.int32) * b >> 3).astype(np.uint8)

        def same(_: object, c: np.ndarray = c, wanted: np.ndarray = wanted) -> None:
            np.testing.assert_array_equal(c, wanted)

        code = runner.compiled(scaled_bytes, a, b, c)
        if runner.target.vector_bits == 256:
            assert "masked" not in code.ir("unroll") and "u8x8" in code.ir("unroll")
        runner.run(code, [a, b, c], same)


BRANCH = """
function f(%a: ptr, %a.n0: i64, %b: ptr, %b.n0: i64, %n: i64)
  array a: i32[%a.n0] at %a written
  array b: i32[%b.n0] at %b written
  %row = for 0, 3, 1
    %i = for 0, %n, 8 mask %m: mask32x8
      %v = masked_load.i32x8 %m, a[%i]
      %never = lt.i64 %n, %n
      if %never
        masked_store.i32x8 %m, %v, b[%i]
      end
      %w = add.i32x8 %v, %v
      masked_store.i32x8 %m, %w, a[%i]
    end
  end
end
"""


def test_a_store_in_a_branch_that_is_never_taken() -> None:
    code = Code(compile(parse(BRANCH), registry.get("x86-64-v3"), Settings(prove=True)))
    assert "%pieces" in code.ir("unroll")
    a, b = np.arange(1, 14, dtype=np.int32), np.zeros(13, np.int32)
    code(a, b, 13)
    assert (a == 8 * np.arange(1, 14)).all() and not b.any()


@lw.kernel(contract=False)
def by_columns(a: lw.Array):
    for k in lw.range(a.shape[1]):
        least = a[0, k]
        for i in lw.range(1, a.shape[0]):
            least = lw.min(least, a[i, k])
        for i in lw.range(a.shape[0]):
            a[i, k] = a[i, k] - least


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.dear_masks or runner.target.masks_hold_loads))
def test_columns_of_short_rows_in_their_place(runner: Runner) -> None:
    for element in (lw.f32, lw.f64, lw.i32, lw.u8):
        for length in (*range(1, 10), 15, 17, 31, 47):
            a = arguments(element, (7, length))[0]
            wanted = a - a.min(axis=0)

            def same(_: object, a: np.ndarray = a, wanted: np.ndarray = wanted) -> None:
                np.testing.assert_array_equal(a, wanted)

            runner.run(runner.compiled(by_columns, a), [a], same)
    # (The row behind begins where a mask of this one ends, or in front of that.)
    assert "%pieces" in by_columns.compile(lw.Array[lw.f32, 2], target="x86-64-v4").ir("unroll")
