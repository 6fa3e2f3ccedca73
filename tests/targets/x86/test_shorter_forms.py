"""Operations for which x86-64 has a shorter way than the obvious one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw


@lw.kernel
def multiples(x: lw.Array, y: lw.Array, factor: lw.Const) -> None:
    for i in lw.range(len(x)):
        y[i] = x[i] * factor


@lw.kernel
def magnitudes(x: lw.Array, y: lw.Array) -> None:
    for i in lw.lanes(len(x)):
        y[i] = abs(x[i])


@lw.kernel
def copied(x: lw.Array, y: lw.Array) -> None:
    for i in lw.lanes(len(x)):
        y[i] = x[i]


def compared(code: Any) -> int:
    """How many comparisons of lanes there are, but for those with constants."""
    return sum("vpcmpgt" in line and "rip" not in line for line in code.asm().splitlines())


_TYPES = [(lw.i32, np.int32), (lw.u32, np.uint32), (lw.i64, np.int64), (lw.u64, np.uint64)]


@pytest.mark.parametrize(("type_", "dtype"), _TYPES, ids=str)
@pytest.mark.parametrize("factor", [3, 5, 7, 9])
def test_products_that_an_address_can_hold_are_no_multiplications(type_: lw.Type, dtype: type, factor: int) -> None:
    code = multiples.compile(lw.Array[type_], lw.Array[type_], target="x86-64-v3", factor=factor)
    assert ("imul" in code.asm()) == (factor == 7)
    limits = np.iinfo(dtype)
    x = np.array([0, 1, 2, 1000, limits.max, limits.min, limits.max // factor + 1], dtype)
    y = np.zeros_like(x)
    multiples(x, y, factor=factor)
    with np.errstate(over="ignore"):
        assert (y == x * dtype(factor)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_magnitudes_of_lanes_compare_nothing(dtype: type) -> None:
    limits = np.iinfo(dtype)
    x = np.array([0, 1, -1, limits.max, limits.min, -5, 7] * 9, dtype)
    y = np.zeros_like(x)
    code = magnitudes.compile(x, y, target="x86-64-v3")
    code(x, y)
    assert (y == np.abs(x)).all()
    # (What is left over is accessed under masks, for which there are comparisons.)
    assert compared(code) == compared(copied.compile(x, y, target="x86-64-v3"))
