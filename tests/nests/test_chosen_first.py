"""Searches for an extreme of what branches compute, which become choices: the first of equals, NaN, every length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw


def furthest(xy: lw.Array[lw.f64, 2], line: lw.Array[lw.f64], out: lw.Array[lw.f64]) -> None:
    """The corner that is the furthest from a chord."""
    ux = line[0]
    uy = line[1]
    length = line[4]
    far = -1.0
    at = -1
    for i in range(xy.shape[0]):
        px = xy[i, 0] - line[2]
        py = xy[i, 1] - line[3]
        dot = px * ux + py * uy
        if dot <= 0.0:
            d = px * px + py * py
        elif dot >= length:
            d = (px - ux) * (px - ux) + (py - uy) * (py - uy)
        else:
            cross = px * uy - py * ux
            d = cross * cross
        if d > far:
            far = d
            at = i
    out[0] = far
    out[1] = at


def least(xy: lw.Array[lw.f64, 2], line: lw.Array[lw.f64], out: lw.Array[lw.f64]) -> None:
    """The last of the least, of which only one side counts; the one that does is read behind the loop."""
    near = 1e30
    at = -1
    d = 0.0
    for i in range(xy.shape[0]):
        d = 7.0
        if xy[i, 0] > line[0]:
            d = xy[i, 0] - line[0]
        if d <= near:
            near = d
            at = i
    out[0] = near + d
    out[1] = at


def _compiled(function: Any, **options: Any) -> Any:
    return lw.kernel(**options)(function).compile()


@pytest.mark.parametrize("function", [furthest, least])
@pytest.mark.parametrize("fastmath", [False, True])
def test_as_written(function: Any, fastmath: bool) -> None:
    code = _compiled(function, fastmath=fastmath)
    for n in [*range(40), 255, 256, 257, 1000]:
        rng = np.random.default_rng(n)
        # (Whole numbers, of which many are equal.)
        xy = rng.integers(-4, 5, (n, 2)).astype("f8")
        line = np.array([3.0, 1.0, -1.0, 0.0, 10.0])
        wanted, found = np.zeros(2), np.zeros(2)
        function(xy, line, wanted)
        code(xy, line, found)
        np.testing.assert_array_equal(found, wanted)


def test_no_number_is_never_chosen() -> None:
    code = _compiled(furthest)
    xy = np.random.default_rng(0).standard_normal((500, 2))
    xy[::3] = np.nan
    line = np.array([3.0, 1.0, -1.0, 0.0, 10.0])
    wanted, found = np.zeros(2), np.zeros(2)
    furthest(xy, line, wanted)
    code(xy, line, found)
    np.testing.assert_array_equal(found, wanted)


def test_lanes_look_for_it() -> None:
    code = lw.kernel(furthest, fastmath=True).compile(target="x86-64-v4")
    assert "vmaxpd" in code.asm()
