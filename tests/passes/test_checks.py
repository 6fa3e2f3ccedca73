"""The pass ``checks``: fast where all is in range; where not, what the plain loop does up to the first access outside, and its error."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import BoundsError
from loopwright.targets import registry

V3 = "x86-64-v3"


@lw.kernel(check=True)
def blur(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], edge: lw.i64):
    for r in lw.range(edge, a.shape[0] - 1):
        for c in lw.lanes(edge, a.shape[1] - 1):
            b[r, c] = a[r - 1, c - 1] + a[r - 1, c + 1] + a[r + 1, c - 1] + a[r + 1, c + 1]


@lw.kernel(check=True)
def backwards(x: lw.Array[lw.i32], y: lw.Array[lw.i32], n: lw.i64):
    for i in lw.range(n - 1, -1, -3):
        y[2 * i + 1] = x[n - 1 - i]


@lw.kernel(check=True)
def steps(x: lw.Array[lw.i32], n: lw.i64):
    for i in lw.range(0, n, 2):
        x[i + 1] = x[i]


@lw.kernel(check=True)
def triangle(a: lw.Array[lw.f64, 2], n: lw.i64):
    for i in lw.range(n):
        for j in lw.range(i + 1, n):
            a[i, j] = a[j, i] + 1


@lw.kernel(check=True)
def flat(x: lw.Array[lw.f32], rows: lw.i64, columns: lw.i64):
    for r in lw.range(rows):
        for c in lw.range(columns):
            x[r * columns + c] = r + c


@lw.kernel(check=True)
def looked_up(k: lw.Array[lw.i32], table: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.range(len(k)):
        y[i] = table[k[i]]


@lw.kernel(check=True)
def some(x: lw.Array[lw.i32], y: lw.Array[lw.i32]) -> lw.i32:
    found = lw.i32(0)
    for i in lw.lanes(len(x)):
        if x[i] > 0:
            y[i + 3] = x[i]
            found += 1
    return found


@lw.kernel(check=True)
def apart(y: lw.Array[lw.i32], n: lw.i64):
    for i in lw.lanes(n, len(y)):
        y[i] = y[i - n] + 1


def plain(kernel: Any, *args: Any) -> tuple[str, int]:
    """What plain Python does, with negative indices refused as well: the array and the index of the first access outside."""

    class Checked:
        def __init__(self, array: np.ndarray[Any, Any], name: str) -> None:
            self.array, self.name, self.shape = array, name, array.shape

        def __len__(self) -> int:
            return len(self.array)

        def at(self, index: Any) -> Any:
            for one, extent in zip(index if isinstance(index, tuple) else (index,), self.shape, strict=True):
                if not 0 <= one < extent:
                    raise BoundsError(f"{self.name}: index {one} is outside")
            return index

        def __getitem__(self, index: Any) -> Any:
            return self.array[self.at(index)]

        def __setitem__(self, index: Any, value: Any) -> None:
            self.array[self.at(index)] = value

    names = kernel.function.__code__.co_varnames
    try:
        kernel.function(*[Checked(a, names[n]) if isinstance(a, np.ndarray) else a for n, a in enumerate(args)])
    except BoundsError as error:
        return str(error).rsplit(":", 1)[0].split()[-1], int(str(error).split()[2])
    return "", 0


def same(kernel: Any, *args: Any) -> str:
    """Compare with plain Python; returns the array that an access was outside of, or ""."""
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    name, index = plain(kernel, *theirs)
    if name:
        with pytest.raises(BoundsError, match=rf"{name}: index {index} is outside"):
            kernel(*mine)
    else:
        kernel(*mine)
    for a, b in zip(mine, theirs, strict=True):
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b)
    return name


def test_a_blur_is_right_and_stops_where_it_is_outside() -> None:
    rng = random.Random(1)
    outside = 0
    for _ in range(60):
        a = np.arange(rng.randrange(0, 8) * 37).reshape(-1, 37).astype(np.float32)
        b = np.zeros((len(a) + rng.choice((-1, 0, 0, 1)) if len(a) else 0, 37 + rng.choice((-2, -1, 0, 3))), np.float32)
        outside += bool(same(blur, a, b, rng.choice((0, 1, 1, 2))))
    assert 5 < outside < 55


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 20, 21])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_steps_and_loops_that_count_down(n: int, more: int) -> None:
    with np.errstate(all="ignore"):
        same(steps, np.arange(max(n + more, 0), dtype=np.int32), n)
        same(backwards, np.arange(max(n + more, 0), dtype=np.int32), np.zeros(max(2 * n + more, 0), np.int32), n)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_bounds_that_depend_on_an_outer_loop(n: int) -> None:
    for rows in (5, 9):
        for columns in (4, 5, 9):
            same(triangle, np.arange(rows * columns).reshape(rows, columns).astype(float), n)


@pytest.mark.parametrize(("rows", "columns", "length"), [(3, 5, 15), (3, 5, 14), (0, 5, 0), (3, 0, 0), (4, 4, 20), (1, 1, 0)])
def test_an_index_that_is_a_product(rows: int, columns: int, length: int) -> None:
    same(flat, np.zeros(length, np.float32), rows, columns)


def test_products_that_wrap_are_not_taken_for_indices_inside() -> None:
    x = np.zeros(8, np.float32)
    with pytest.raises(BoundsError):
        flat(x, 1 << 32, 1 << 32)
    with pytest.raises(BoundsError):
        flat(x, 1 << 62, 4)


def test_indices_that_are_loaded_are_tested_one_by_one() -> None:
    k = np.array([0, 2, 1, 3, 2], np.int32)
    assert not same(looked_up, k, np.arange(4, dtype=np.float32), np.zeros(5, np.float32))
    assert same(looked_up, k, np.arange(3, dtype=np.float32), np.zeros(5, np.float32)) == "table"
    assert same(looked_up, -k, np.arange(4, dtype=np.float32), np.zeros(5, np.float32)) == "table"


def test_accesses_under_conditions() -> None:
    x = np.zeros(50, np.int32)
    x[:40] = 1
    assert not same(some, x, np.zeros(50, np.int32))
    x[48] = 1
    assert same(some, x, np.zeros(50, np.int32)) == "y"


def test_distances_that_are_not_known_keep_the_order() -> None:
    for n in (1, 2, 5, 40):
        assert not same(apart, np.arange(64, dtype=np.int32), n)


@pytest.mark.parametrize("target", registry.names())
def test_the_version_without_tests_is_like_any_loop(target: str) -> None:
    code = blur.compile(target=target)
    text = code.ir("checks")
    fast, slow = text[: text.index("else")], text[text.index("else") :]
    assert "fail" not in fast and "lanes" in fast
    assert "fail" in slow and slow.count(" lanes ") == 1  # a row at a time, where the nest as a whole is not inside
    if registry.get(target).vector_bits:
        assert "load.f32x" in code.ir("unroll")


def test_without_checks_nothing_is_done() -> None:
    @lw.kernel
    def unchecked(x: lw.Array[lw.f32]):
        for i in lw.range(len(x)):
            x[i] += 1

    code = unchecked.compile(target=V3)
    assert code.ir("checks") == code.ir("collect")
