"""Elementary functions where kernels may have them: checked, under conditions, in loops, in the builder, of integers, and with relaxed arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import KernelTypeError


def body(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        if v > 0:  # noqa: SIM108
            v = lw.log(v) + lw.sin(v)
        else:
            v = lw.exp(v) * v**3.0
        y[i] = v


@pytest.mark.parametrize("options", [{}, {"check": True}, {"fastmath": True}, {"contract": False}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_options_and_conditions(options: dict[str, bool], dtype: type) -> None:
    x = np.random.default_rng(1).uniform(-3, 1e7, 101).astype(dtype)
    x[::2] = np.linspace(-3, 3, 51)
    y = np.empty_like(x)
    lw.kernel(**options)(body)(x, y)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = np.where(wide > 0, np.log(wide) + np.sin(wide), np.exp(wide) * wide**3)
    assert np.allclose(y, expected, rtol=1e-5 if dtype is np.float32 else 1e-13, atol=1e-6 if dtype is np.float32 else 1e-14)


def test_scalars_and_integers() -> None:
    @lw.kernel
    def scalar(n: lw.i32, x: lw.f64) -> lw.f64:
        return lw.sqrt(lw.exp(n)) + lw.sin(x) + n**0.25

    assert abs(scalar(3, 1e6) - (np.sqrt(np.exp(3)) + np.sin(1e6) + 3**0.25)) < 1e-14


def test_the_builder_has_them() -> None:
    f = lw.Function("waves", x=lw.Array[lw.f32], y=lw.Array[lw.f32])
    with f:
        f.store(f.y, 0, value=lw.sin(f.load(f.x, 0, lanes=8)))
        f.ret()
    x, y = np.array([0, 1, -2, 1e5, 3e8, -1e30, 1e-40, 7], np.float32), np.empty(8, np.float32)
    f.compile()(x, y)
    assert np.allclose(y, np.sin(x.astype(np.float64)), rtol=1e-6)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(KernelTypeError, match="takes numbers"):
        lw.exp("1")

    @lw.kernel
    def of_a_condition(x: lw.Array):
        x[0] = lw.exp(x[0] > 1)

    with pytest.raises(KernelTypeError, match="not conditions"):
        of_a_condition.compile(lw.Array[lw.f32])
