"""Arrays of two and three dimensions with any outer strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw


@lw.kernel(contract=False)
def blur(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for y in lw.range(1, a.shape[0] - 1):
        for x in lw.lanes(1, a.shape[1] - 1):
            s = a[y - 1, x - 1] + a[y - 1, x] + a[y - 1, x + 1]
            s = s + a[y, x - 1] + a[y, x] + a[y, x + 1]
            s = s + a[y + 1, x - 1] + a[y + 1, x] + a[y + 1, x + 1]
            b[y, x] = s * lw.f32(0.125)


@lw.kernel
def transposed(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2]):
    for y in lw.range(b.shape[0]):
        for x in lw.range(b.shape[1]):
            b[y, x] = a[x, y]


@lw.kernel
def columns(a: lw.Array[lw.u8, 2], out: lw.Array[lw.i64]):
    for x in lw.lanes(a.shape[1]):
        s = lw.i64(0)
        for y in lw.range(a.shape[0]):
            s += a[y, x]
        out[x] = s


@lw.kernel
def planes(a: lw.Array[lw.f64, 3], b: lw.Array[lw.f64, 3]):
    for p in lw.range(a.shape[0]):
        for y in lw.range(a.shape[1]):
            for x in lw.lanes(a.shape[2]):
                b[p, y, x] = lw.max(a[p, y, x], a[a.shape[0] - 1 - p, y, x])


def views(shape: tuple[int, int], dtype: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The same numbers in different strides: with gaps, upside down, every second row, all rows at one place."""
    h, w = shape
    chooser = np.random.default_rng(h * 100 + w)
    plain = chooser.integers(0, 100, shape).astype(dtype)
    gaps = np.zeros((h, w + 5), dtype)[:, 2 : w + 2]
    gaps[...] = plain
    down = plain[::-1].copy()[::-1]
    second = np.zeros((2 * h, w), dtype)[::2]
    second[...] = plain
    back = np.zeros((3 * h, w + 1), dtype)[::-3, :w]
    back[...] = plain
    return {"plain": plain, "gaps": gaps, "upside down": down, "every second row": second, "every third, backwards": back}


SHAPES = [(0, 0), (0, 5), (3, 0), (1, 1), (2, 3), (3, 3), (3, 4), (4, 17), (5, 18), (4, 33), (3, 64), (6, 67)]


@pytest.mark.parametrize("shape", SHAPES)
def test_blur_of_any_view(everywhere: Callable[..., Any], shape: tuple[int, int]) -> None:
    all_levels = everywhere(blur)
    for a in views(shape, np.float32).values():
        for b in views(shape, np.float32).values():
            all_levels.check(a, b)


def test_rows_that_are_all_the_same(everywhere: Callable[..., Any]) -> None:
    row = np.arange(37, dtype=np.float32)
    same = np.lib.stride_tricks.as_strided(row, (5, 37), (0, 4))
    everywhere(blur).check(same, np.zeros((5, 37), np.float32))


@pytest.mark.parametrize("shape", SHAPES)
def test_transposition(everywhere: Callable[..., Any], shape: tuple[int, int]) -> None:
    all_levels = everywhere(transposed)
    for a in views(shape, np.int32).values():
        all_levels.check(a, np.zeros(shape[::-1], np.int32))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loop_over_rows_inside_the_lanes(everywhere: Callable[..., Any], shape: tuple[int, int]) -> None:
    all_levels = everywhere(columns)
    for a in views(shape, np.uint8).values():
        all_levels.check(a, np.zeros(shape[1], np.int64))


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (1, 1, 1), (3, 2, 9), (2, 3, 33)])
def test_three_dimensions(everywhere: Callable[..., Any], shape: tuple[int, int, int]) -> None:
    a = np.random.default_rng(1).random(shape)
    all_levels = everywhere(planes)
    all_levels.check(a, np.zeros(shape))
    turned = np.random.default_rng(1).random((shape[1], shape[0], shape[2])).transpose(1, 0, 2)
    all_levels.check(turned[::-1], np.zeros(shape))
