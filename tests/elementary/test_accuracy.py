"""The elementary functions against mpmath, for sampled arguments, on this CPU and under emulators."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from tests.elementary.accuracy import JUDGES, arguments, error, kernel_of, worst

import loopwright as lw
from loopwright.elementary import functions
from loopwright.runtime import emulate

TYPES = [np.float32, np.float64]


@pytest.mark.parametrize("dtype", TYPES, ids=["f32", "f64"])
@pytest.mark.parametrize("name", JUDGES)
def test_errors_are_as_small_as_promised(name: str, dtype: Any) -> None:
    judge = JUDGES[name]
    x = arguments(judge, dtype, 240, 1)
    y = np.empty_like(x)
    kernel_of(name)(x, y)
    found, at = worst(judge, x, y)
    assert found <= judge.ulp[dtype is np.float64], f"{name}({at!r}) is {found} ulp off"


@pytest.mark.parametrize("dtype", TYPES, ids=["f32", "f64"])
@pytest.mark.parametrize("name", JUDGES)
def test_constants_give_what_run_time_values_do(name: str, dtype: Any) -> None:
    x = np.append(arguments(JUDGES[name], dtype, 24, 2), np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-40, -1e-40], dtype))
    y = np.empty_like(x)
    kernel_of(name)(x, y)
    with np.errstate(all="ignore"):
        constants = np.array([getattr(functions, name)(v) for v in x])
    assert constants.dtype == x.dtype
    kept = ~np.isnan(y)
    assert (np.isnan(constants) == ~kept).all()
    assert constants[kept].tobytes() == y[kept].tobytes()


@pytest.mark.parametrize("dtype", TYPES, ids=["f32", "f64"])
def test_errors_of_powers(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(0, 10, 300), np.exp(rng.uniform(-80, 80, 300)), 1 + rng.uniform(-1e-3, 1e-3, 300)]).astype(dtype)
    y = np.concatenate([rng.uniform(-30, 30, 300), rng.uniform(-1, 1, 300), rng.uniform(-6e4, 6e4, 300)]).astype(dtype)
    z = np.empty_like(x)

    @lw.kernel
    def powers(x: lw.Array, y: lw.Array, z: lw.Array):
        for i in lw.lanes(len(x)):
            z[i] = x[i] ** y[i]

    powers(x, y, z)
    with mp.workprec(200):
        errors = [error(mp.power(mp.mpf(float(a)), mp.mpf(float(b))), c) for a, b, c in zip(x, y, z, strict=True)]
    at = int(np.argmax(errors))
    assert errors[at] <= (1.0 if dtype is np.float32 else 2.0), f"{x[at]!r} ** {y[at]!r} is {errors[at]} ulp off"


@pytest.mark.parametrize("dtype", TYPES, ids=["f32", "f64"])
def test_the_logarithm_of_gamma_of_negative_numbers(dtype: Any) -> None:
    """Between the whole numbers it passes 0: f32 has all digits there too, f64 those above 2**-52."""
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(-4, 0, 400), rng.uniform(-30, 0, 200), rng.uniform(-2000, 0, 200)]).astype(dtype)
    # The zeros from -2 down to -5 (DLMF 5.4.1).
    x = np.append(x, np.array([-2.4570247382208006, -2.7476826467274127, -3.1435808883499798, -3.9552942848585977], dtype))
    y = np.empty_like(x)
    kernel_of("lgamma")(x, y)
    with mp.workprec(200):
        for a, found in zip(x[x != np.trunc(x)], y[x != np.trunc(x)], strict=True):
            exact = mp.log(abs(mp.gamma(mp.mpf(float(a)))))
            allowed = 1.0 if dtype is np.float32 else 2.0 * max(1.0, float(1 / abs(exact)))
            assert error(exact, found) <= allowed, f"lgamma({a!r}) is {found!r}, not {float(exact)!r}"


def test_factorials_are_exact() -> None:
    x = np.arange(1.0, 9.0)
    y = np.empty_like(x)
    kernel_of("tgamma")(x, y)
    assert y.tolist() == [math.factorial(n) for n in range(8)]


def test_numpys_and_maths_functions_mean_ours() -> None:
    @lw.kernel
    def mixed(x: lw.Array, y: lw.Array, z: lw.Array):
        for i in lw.lanes(len(x)):
            y[i] = np.exp(x[i]) + math.sin(x[i]) + np.where(x[i] > 0, np.minimum(x[i], 2), np.power(2, x[i]))
            z[i] = np.maximum(x[i], math.nan) * math.gamma(x[i]) * math.lgamma(x[i])

    @lw.kernel
    def ours(x: lw.Array, y: lw.Array):
        for i in lw.lanes(len(x)):
            y[i] = lw.exp(x[i]) + lw.sin(x[i]) + lw.select(x[i] > 0, lw.min(x[i], 2), lw.pow(2, x[i]))

    x = np.linspace(-3, 3, 50)
    y, z, nans = np.empty((3, 50))
    mixed(x, y, nans)
    ours(x, z)
    assert np.isnan(nans).all()
    assert (y == z).all()
    assert np.allclose(z, np.exp(x) + np.sin(x) + np.where(x > 0, np.minimum(x, 2), 2**x), rtol=1e-15)


@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_emulated_targets_give_the_same_bits(target: str) -> None:
    if not emulate.available(target):
        pytest.skip("no emulator")
    calls, expected = [], []
    for name, judge in JUDGES.items():
        for dtype in TYPES:
            x = np.append(arguments(judge, dtype, 12, 3), np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-40], dtype))
            y, z = np.empty_like(x), np.empty_like(x)
            kernel = kernel_of(name)
            kernel(x, z)
            array = lw.Array[{np.float32: lw.f32, np.float64: lw.f64}[dtype]]
            calls.append((kernel.compile(array, array, target=target), (x, y)))
            expected.append((name, x, y, z))
    emulate.run_many(calls)
    for name, x, y, z in expected:
        wrong = ~((y.view(f"u{y.itemsize}") == z.view(f"u{z.itemsize}")) | (np.isnan(y) & np.isnan(z)))
        assert not wrong.any(), f"{name}({x[wrong]!r}) is {y[wrong]!r}, and {z[wrong]!r} here"
