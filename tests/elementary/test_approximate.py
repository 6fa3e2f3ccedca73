"""``approx=``: functions of f32 that are right to so many bits, with the special values of those without it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError

#: NumPy's functions in f64, which judge, and where arguments are from.
EXACT: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "exp": (np.exp, -87.3, 88.7),
    "exp2": (np.exp2, -125.9, 127.9),
    "exp10": (lambda x: 10.0**x, -37.9, 38.5),
    "log": (np.log, 0, 0),
    "log2": (np.log2, 0, 0),
    "log10": (np.log10, 0, 0),
    "sin": (np.sin, -40000, 40000),
    "cos": (np.cos, -40000, 40000),
    "atan": (np.arctan, -50, 50),
}
#: Of which the error is that of the number, not of the result.
ABSOLUTE = ("sin", "cos")


@lw.kernel
def both(x: lw.Array[lw.f32], out: lw.Array[lw.f32, 2], function: lw.Const, level: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = function(x[i], approx=level)
    for i in lw.range(len(x)):
        out[1, i] = function(x[i], approx=level)


def arguments(name: str) -> Any:
    dice = np.random.default_rng(7)
    _, low, high = EXACT[name]
    if low == high:
        return np.concatenate([np.exp2(dice.uniform(-126, 127.9, 3000)), dice.uniform(0.6, 1.6, 3000), 1 + dice.uniform(-1, 1, 300) * 2.0**-14]).astype(
            np.float32
        )
    return np.concatenate([dice.uniform(low, high, 3000), dice.uniform(-2, 2, 3000), dice.uniform(-1e-4, 1e-4, 300)]).astype(np.float32)


# (MultiClet has no multiply-adds, of which all elementary functions are made.)
@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest and runner.folder != "multiclet"))
@pytest.mark.parametrize("level", [16, 11])
@pytest.mark.parametrize("name", EXACT)
def test_they_are_right_to_so_many_bits(runner: Runner, level: int, name: str) -> None:
    x = arguments(name)
    out = np.zeros((2, len(x)), np.float32)
    runner.run(runner.compiled(both, function=getattr(lw, name), level=level), [x, out], near(name, x, out, level))


def near(name: str, x: Any, out: Any, level: int) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        want = EXACT[name][0](x.astype(np.float64))
        for row in out:
            off = np.abs(row - want)
            if name not in ABSOLUTE:
                off /= np.maximum(np.abs(want), 2.0**-126)
            worst = np.argmax(off)
            assert off[worst] <= 2.0**-level, (x[worst], row[worst], want[worst])

    return check


def test_the_bounds_are_no_looser_than_they_have_to_be() -> None:
    # (That the lesser level is one: it does not have the bits of the greater.)
    for name in ("exp", "log", "atan"):
        x = arguments(name)
        out = np.zeros((2, len(x)), np.float32)
        both(x, out, getattr(lw, name), 11)
        want = EXACT[name][0](x.astype(np.float64))
        assert np.max(np.abs(out[0] - want) / np.abs(want)) > 2.0**-16, name


SPECIAL = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 200.0, -200.0, 1e-45, -1e-45], np.float32)


@pytest.mark.parametrize("level", [16, 11])
@pytest.mark.parametrize("name", EXACT)
def test_special_values_are_those_without_it(level: int, name: str) -> None:
    @lw.kernel
    def usual(x: lw.Array[lw.f32], out: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            out[i] = getattr(lw, name)(x[i])

    out, want = np.zeros((2, len(SPECIAL)), np.float32), np.zeros(len(SPECIAL), np.float32)
    both(SPECIAL, out, getattr(lw, name), level)
    usual(SPECIAL, want)
    ordinary = np.isfinite(want) & (want != 0)
    for row in out:
        assert np.array_equal(row[~ordinary], want[~ordinary], equal_nan=True)
        assert (np.signbit(row) == np.signbit(want))[~np.isnan(want)].all()
        assert np.allclose(row[ordinary], want[ordinary], rtol=2.0**-level, atol=2.0**-level if name in ABSOLUTE else 0)


def test_sine_and_cosine_at_once() -> None:
    @lw.kernel
    def circle(x: lw.Array[lw.f32], s: lw.Array[lw.f32], c: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            s[i], c[i] = lw.sincos(x[i], approx=16)

    x = np.linspace(-30, 30, 1001, dtype=np.float32)
    s, c = np.zeros_like(x), np.zeros_like(x)
    circle(x, s, c)
    assert np.abs(s - np.sin(x.astype(np.float64))).max() <= 2.0**-16 and np.abs(c - np.cos(x.astype(np.float64))).max() <= 2.0**-16


def test_constants_and_halves_take_it() -> None:
    assert lw.exp(np.float32(1), approx=16) == pytest.approx(math.e, rel=2.0**-16)

    @lw.kernel
    def of_halves(x: lw.Array[lw.f16], y: lw.Array[lw.f16]):
        for i in lw.lanes(len(x)):
            y[i] = lw.exp(x[i], approx=16)

    x = np.linspace(-4, 4, 99).astype(np.float16)
    y = np.zeros_like(x)
    of_halves(x, y)
    assert np.allclose(y, np.exp(x.astype(np.float64)), rtol=2.0**-10.5)


def test_what_there_is_not_is_refused() -> None:
    @lw.kernel
    def wide(x: lw.Array[lw.f64]):
        x[0] = lw.exp(x[0], approx=16)

    @lw.kernel
    def other(x: lw.Array[lw.f32]):
        x[0] = lw.log(x[0], approx=12)

    with pytest.raises(KernelTypeError, match=r"lw.exp with approx= takes f32, f16 and bf16: convert the number") as caught:
        wide.compile()
    assert "test_approximate.py" in str(caught.value)
    with pytest.raises(KernelTypeError, match=r"lw.log takes approx=16 or approx=11, which is how many bits are right, not 12"):
        other.compile()
