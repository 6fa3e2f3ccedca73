"""Special values and signs of zero, as C17's Annex F has them (F.10)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.elementary import functions

inf, nan = math.inf, math.nan

ONE: list[tuple[str, list[tuple[float, float]]]] = [
    ("exp", [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (nan, nan), (1e30, inf), (-1e30, 0.0)]),
    ("log", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (-inf, nan), (inf, inf), (nan, nan), (-1e-40, nan)]),
    ("sin", [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("cos", [(0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("tan", [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("exp2", [(0.0, 1.0), (10.0, 1024.0), (-3.0, 0.125), (inf, inf), (-inf, 0.0), (nan, nan), (1e30, inf), (-1e30, 0.0)]),
    ("exp10", [(0.0, 1.0), (2.0, 100.0), (inf, inf), (-inf, 0.0), (nan, nan), (1e30, inf), (-1e30, 0.0)]),
    ("expm1", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0), (nan, nan), (1e30, inf)]),
    ("log2", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (0.125, -3.0), (2.0**100, 100.0), (-1.0, nan), (-inf, nan), (inf, inf), (nan, nan)]),
    ("log10", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (1000.0, 3.0), (-1.0, nan), (-inf, nan), (inf, inf), (nan, nan)]),
    ("log1p", [(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (-2.0, nan), (-inf, nan), (inf, inf), (nan, nan)]),
    ("asin", [(0.0, 0.0), (-0.0, -0.0), (1.5, nan), (-inf, nan), (nan, nan)]),
    ("acos", [(1.0, 0.0), (-1.5, nan), (inf, nan), (nan, nan)]),
    ("atan", [(0.0, 0.0), (-0.0, -0.0), (inf, math.pi / 2), (-inf, -math.pi / 2), (nan, nan)]),
    ("sinh", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan), (1e30, inf)]),
    ("cosh", [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf), (nan, nan), (1e30, inf)]),
    ("asinh", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan)]),
    ("acosh", [(1.0, 0.0), (0.5, nan), (-7e7, nan), (-inf, nan), (inf, inf), (nan, nan)]),
    ("atanh", [(0.0, 0.0), (-0.0, -0.0), (1.0, inf), (-1.0, -inf), (2.0, nan), (-inf, nan), (nan, nan)]),
    ("cbrt", [(0.0, 0.0), (-0.0, -0.0), (8.0, 2.0), (-27.0, -3.0), (inf, inf), (-inf, -inf), (nan, nan)]),
    ("erf", [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)]),
    ("erfc", [(0.0, 1.0), (inf, 0.0), (-inf, 2.0), (nan, nan), (1e30, 0.0)]),
    ("gelu", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -0.0), (-1e30, -0.0), (1e30, 1e30), (nan, nan)]),
    ("sigmoid", [(0.0, 0.5), (inf, 1.0), (-inf, 0.0), (nan, nan)]),
    ("softplus", [(inf, inf), (-inf, 0.0), (nan, nan), (1e30, 1e30)]),
    (
        "tgamma",
        [
            (0.0, inf),
            (-0.0, -inf),
            (-1.0, nan),
            (-4.0, nan),
            (-1e30, nan),
            (-inf, nan),
            (inf, inf),
            (nan, nan),
            (1.0, 1.0),
            (1e30, inf),
            (-200.5, -0.0),
            (-201.5, 0.0),
        ],
    ),
    ("lgamma", [(0.0, inf), (-0.0, inf), (-1.0, inf), (-4.0, inf), (-1e30, inf), (-inf, inf), (inf, inf), (nan, nan), (1.0, 0.0), (2.0, 0.0)]),
    ("tanh", [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)]),
]

POW: list[tuple[float, float, float]] = [
    *[(-0.0, y, -inf) for y in (-1.0, -3.0)],
    *[(0.0, y, inf) for y in (-1.0, -3.0, -2.0, -0.5, -inf)],
    *[(-0.0, y, inf) for y in (-2.0, -0.5, -inf)],
    *[(0.0, y, 0.0) for y in (1.0, 3.0, 2.0, 0.5, inf)],
    *[(-0.0, y, -0.0) for y in (1.0, 3.0)],
    *[(-0.0, y, 0.0) for y in (2.0, 0.5, inf)],
    *[(-1.0, y, 1.0) for y in (inf, -inf)],
    *[(1.0, y, 1.0) for y in (0.0, 5.0, -inf, nan)],
    *[(x, y, 1.0) for x in (nan, inf, -inf, 0.0, -3.0) for y in (0.0, -0.0)],
    *[(-2.0, y, nan) for y in (0.5, -1.5)],
    *[(x, -inf, inf) for x in (0.5, -0.5)],
    *[(x, -inf, 0.0) for x in (2.0, -2.0, inf, -inf)],
    *[(x, inf, 0.0) for x in (0.5, -0.5)],
    *[(x, inf, inf) for x in (2.0, -2.0, inf, -inf)],
    *[(-inf, y, w) for y, w in ((-3.0, -0.0), (-2.0, 0.0), (-0.5, 0.0), (3.0, -inf), (2.0, inf), (0.5, inf))],
    *[(inf, y, w) for y, w in ((-3.0, 0.0), (-0.5, 0.0), (3.0, inf), (0.5, inf))],
    *[(-2.0, y, w) for y, w in ((3.0, -8.0), (2.0, 4.0), (-1.0, -0.5))],
    *[(x, y, nan) for x, y in ((nan, 1.0), (2.0, nan), (-2.0, nan), (nan, -1.5))],
    *[(x, y, w) for x, y, w in ((1e30, 1e9, inf), (1e30, -1e9, 0.0), (1e-30, 1e9, 0.0), (-1e30, 1e9, inf))],
]


ATAN2: list[tuple[float, float, float]] = [
    *[(y, x, w) for y, x, w in ((0.0, -0.0, math.pi), (-0.0, -0.0, -math.pi), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0))],
    *[(y, x, w) for y, x, w in ((0.0, -2.0, math.pi), (-0.0, -2.0, -math.pi), (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0))],
    *[(y, x, w) for y in (3.0, -3.0) for x in (0.0, -0.0) for w in (math.copysign(math.pi / 2, y),)],
    *[(y, x, w) for y in (3.0, -3.0) for x, w in ((-inf, math.copysign(math.pi, y)), (inf, math.copysign(0.0, y)))],
    *[(y, x, math.copysign(math.pi / 2, y)) for y in (inf, -inf) for x in (3.0, -3.0, 0.0)],
    *[(y, inf, math.copysign(math.pi / 4, y)) for y in (inf, -inf)],
    *[(y, -inf, math.copysign(3 * math.pi / 4, y)) for y in (inf, -inf)],
    *[(y, x, nan) for y, x in ((nan, 1.0), (1.0, nan), (nan, inf))],
    *[(y, x, w) for y, x, w in ((1e-30, 1e30, 1e-30 / 1e30), (1e30, -1e-30, math.pi / 2), (1e-30, -1e30, math.pi), (1.0, 1.0, math.pi / 4))],
]

HYPOT: list[tuple[float, float, float]] = [
    *[(x, y, inf) for x, y in ((inf, nan), (nan, -inf), (inf, 1.0), (-inf, inf))],
    *[(x, y, nan) for x, y in ((nan, 1.0), (0.0, nan))],
    *[(x, y, w) for x, y, w in ((3.0, -4.0, 5.0), (0.0, -0.0, 0.0), (-2.0, 0.0, 2.0), (3e30, 4e30, 5e30), (3e-30, 4e-30, 5e-30))],
]


def same(found: Any, wanted: Any) -> bool:
    if np.isnan(wanted):
        return bool(np.isnan(found))
    return bool(found == wanted) and bool(np.signbit(found) == np.signbit(wanted))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize(("name", "values"), ONE, ids=[name for name, _ in ONE])
def test_functions_of_one_operand(name: str, values: list[tuple[float, float]], dtype: Any) -> None:
    function = getattr(functions, name)

    @lw.kernel
    def applied(x: lw.Array, y: lw.Array):
        for i in lw.lanes(len(x)):
            y[i] = function(x[i])

    x = np.array([value for value, _ in values], dtype)
    y = np.empty_like(x)
    applied(x, y)
    for argument, found, (_, wanted) in zip(x, y, values, strict=True):
        assert same(found, dtype(wanted)), f"{name}({argument}) is {found}, not {wanted}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize(("name", "rows"), [("pow", POW), ("atan2", ATAN2), ("hypot", HYPOT)])
def test_functions_of_two_operands(name: str, rows: list[tuple[float, float, float]], dtype: Any) -> None:
    function = getattr(functions, name)

    @lw.kernel
    def applied(x: lw.Array, y: lw.Array, out: lw.Array):
        for i in lw.lanes(len(x)):
            out[i] = function(x[i], y[i])

    x, y = np.array([row[0] for row in rows], dtype), np.array([row[1] for row in rows], dtype)
    out = np.empty_like(x)
    applied(x, y, out)
    for a, b, found, (_, _, wanted) in zip(x, y, out, rows, strict=True):
        # Those that are no special values are rounded.
        near = wanted not in (0.0, 1.0) and math.isfinite(wanted) and abs(found - dtype(wanted)) <= np.spacing(abs(dtype(wanted)))
        assert near or same(found, dtype(wanted)), f"{name}({a}, {b}) is {found}, not {wanted}"
        with np.errstate(all="ignore"):
            constant = function(a, b)
        assert same(constant, found), f"{name}({a}, {b}) of constants is {constant}, not {found}"
