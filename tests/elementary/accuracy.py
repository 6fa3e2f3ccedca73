"""Errors of the elementary functions, in units in the last place, against mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

import loopwright as lw
from loopwright.elementary import functions


class Judge:
    """How one function is judged.

    Attributes:
        exact: the function of mpmath numbers.
        ranges: intervals from which arguments are taken: evenly, and evenly by their exponents.
        ulp: the largest error allowed, of f32 and of f64.
    """

    def __init__(self, exact: Callable[..., Any], ranges: list[tuple[float, float]], ulp: tuple[float, float] = (1.0, 2.0)) -> None:
        self.exact = exact
        self.ranges = ranges
        self.ulp = ulp


def mp_cbrt(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


JUDGES: dict[str, Judge] = {
    "exp": Judge(mp.exp, [(-104, 88.7), (-1, 1), (-746, 709.7)], (1.0, 1.0)),
    "exp2": Judge(lambda x: mp.mpf(2) ** x, [(-150, 127.9), (-1, 1), (-1075, 1023.9)]),
    "exp10": Judge(lambda x: mp.mpf(10) ** x, [(-45, 38.5), (-1, 1), (-323, 308.2)]),
    "expm1": Judge(mp.expm1, [(-50, 88.7), (-1, 1), (-50, 709.7)]),
    "log": Judge(mp.log, [(0, 1e6), (0.5, 2)], (1.0, 1.0)),
    "log2": Judge(lambda x: mp.log(x) / mp.log(2), [(0, 1e6), (0.5, 2)], (1.0, 1.0)),
    "log10": Judge(lambda x: mp.log(x) / mp.log(10), [(0, 1e6), (0.5, 2)], (1.0, 1.0)),
    "log1p": Judge(mp.log1p, [(-0.999, 1), (0, 1e6)]),
    "sin": Judge(mp.sin, [(-10, 10), (-1e5, 1e5), (-1e38, 1e38), (-1e308, 1e308)], (1.0, 1.0)),
    "cos": Judge(mp.cos, [(-10, 10), (-1e5, 1e5), (-1e38, 1e38), (-1e308, 1e308)], (1.0, 1.0)),
    "tan": Judge(mp.tan, [(-10, 10), (-1e5, 1e5), (-1e38, 1e38), (-1e308, 1e308)]),
    "asin": Judge(mp.asin, [(-1, 1), (-0.5, 0.5)]),
    "acos": Judge(mp.acos, [(-1, 1), (-0.5, 0.5)]),
    "atan": Judge(mp.atan, [(-10, 10), (-1, 1), (-1e30, 1e30)]),
    "sinh": Judge(mp.sinh, [(-89, 89), (-1, 1), (-710.4, 710.4)]),
    "cosh": Judge(mp.cosh, [(-89, 89), (-1, 1), (-710.4, 710.4)]),
    "tanh": Judge(mp.tanh, [(-1, 1), (-22, 22)]),
    "asinh": Judge(mp.asinh, [(-10, 10), (-1, 1), (-1e30, 1e30)]),
    "acosh": Judge(mp.acosh, [(1, 2), (1, 100), (1, 1e30)]),
    "atanh": Judge(mp.atanh, [(-1, 1), (-0.5, 0.5)]),
    "cbrt": Judge(mp_cbrt, [(-10, 10), (-1e30, 1e30)]),
    "erf": Judge(mp.erf, [(-6, 6), (-1, 1)]),
    "erfc": Judge(mp.erfc, [(-6, 6), (-1, 1), (0, 26)]),
    "gelu": Judge(lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, [(-6, 6), (-1, 1), (-36, 10)]),
    "sigmoid": Judge(lambda x: 1 / (1 + mp.exp(-x)), [(-100, 100), (-1, 1), (-700, 40)]),
    "softplus": Judge(_softplus, [(-100, 100), (-1, 1), (-700, 40)]),
    "tgamma": Judge(mp.gamma, [(-184, 171.6), (-8, 8), (-40, 36)]),
    # (Of negative numbers test_accuracy.py has it.)
    "lgamma": Judge(mp.loggamma, [(0, 3), (0, 40), (0, 1e300)]),
}


def kernel_of(name: str) -> Any:
    """A kernel that applies a function of one operand to an array."""
    function = getattr(functions, name)

    @lw.kernel
    def applied(x: lw.Array, y: lw.Array):
        for i in lw.lanes(len(x)):
            y[i] = function(x[i])

    return applied


def arguments(judge: Judge, dtype: Any, count: int, seed: int) -> np.ndarray[Any, Any]:
    """``count`` arguments from each range."""
    rng = np.random.default_rng(seed)
    made = []
    largest = float(np.finfo(dtype).max)
    for low, high in judge.ranges:
        low, high = max(low, -largest), min(high, largest)
        made.append(rng.uniform(low / 2, high / 2, count // 2) * 2)
        sizes = np.exp(rng.uniform(np.log(1e-12), np.log(max(abs(low), abs(high))), count // 2))
        made.append(np.where(rng.random(count // 2) < 0.5, sizes, -sizes) if low < 0 else np.maximum(sizes, low))
    found = np.concatenate(made)
    # As wide as the least and the greatest range, in which some end, and as what the type can hold.
    low, high = min(low for low, _ in judge.ranges), max(high for _, high in judge.ranges)
    return found[(np.abs(found) <= largest) & (found >= low) & (found <= high)].astype(dtype)


def error(exact: Any, found: Any) -> float:
    """The distance of a number from the exact result, in units of the last place that the result has."""
    info = np.finfo(type(found))
    if mp.isnan(exact) or np.isnan(found):
        return 0.0 if mp.isnan(exact) and np.isnan(found) else float("inf")
    if abs(exact) >= mp.mpf(float(info.max)) * (1 + mp.mpf(2) ** -(info.nmant + 2)) or mp.isinf(exact):
        return 0.0 if np.isinf(found) and (found > 0) == (exact > 0) else float("inf")
    exponent = max(mp.frexp(exact)[1] - 1, int(info.minexp)) if exact else int(info.minexp)
    return float(abs(mp.mpf(float(found)) - exact) / mp.mpf(2) ** (exponent - int(info.nmant))) if np.isfinite(found) else float("inf")


def worst(judge: Judge, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[float, Any]:
    """The largest error of results, and its argument."""
    with mp.workprec(160):
        # The sines of mpmath reduce large arguments exactly by themselves.
        errors = [error(judge.exact(mp.mpf(float(a))), b) for a, b in zip(x, y, strict=True)]
    at = int(np.argmax(errors))
    return errors[at], x[at]
