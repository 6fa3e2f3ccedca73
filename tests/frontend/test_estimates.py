"""``lw.rcp_estimate`` and ``lw.rsqrt_estimate``: as near as they say, on every machine, and what is special; roots that ``fastmath`` divides by."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError
from loopwright.runtime import cpu

NEAR = {0: 1.5 * 2.0**-12, 1: 2.0**-21.5, 2: 2.0**-22.5}
LEAST = float(np.finfo(np.float32).tiny)


@lw.kernel
def estimates(x: lw.Array[lw.f32], out: lw.Array[lw.f32, 2], steps: lw.Const):
    for i in lw.lanes(len(x)):
        out[0, i] = lw.rcp_estimate(x[i], steps=steps)
        out[1, i] = lw.rsqrt_estimate(x[i], steps=steps)
    for i in lw.range(len(x)):
        out[2, i] = lw.rcp_estimate(x[i], steps=steps)
        out[3, i] = lw.rsqrt_estimate(x[i], steps=steps)


def numbers() -> Any:
    """Of every size, every hundredth of four octaves, in which all mantissas meet both parities of exponents; and bounds."""
    dice = np.random.default_rng(1)
    wild = np.exp2(dice.uniform(-125.9, 124.9, 2000)).astype(np.float32)
    octaves = np.arange(np.float32(0.5).view(np.uint32), np.float32(8).view(np.uint32), 4999, np.uint32).view(np.float32)
    return np.concatenate([wild, octaves, np.array([1, 2, 4, 8, 0.5, LEAST], np.float32)])


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("steps", NEAR)
def test_they_are_as_near_as_they_say(runner: Runner, steps: int) -> None:
    x = numbers()
    if not runner.roots_of_powers:
        x = x[np.frexp(x)[0] != 0.5]
    out = np.zeros((4, len(x)), np.float32)
    runner.run(runner.compiled(estimates, steps=steps), [x, out], near(x, out, NEAR[steps]))
    minus = np.zeros((4, len(x)), np.float32)
    runner.run(runner.compiled(estimates, steps=steps), [-x, minus], reflected(x, minus, NEAR[steps]))


def near(x: Any, out: Any, bound: float) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        wide = x.astype(np.float64)
        for row, want in zip(out, [1 / wide, 1 / np.sqrt(wide)] * 2, strict=True):
            off = np.abs(row / want - 1)
            assert np.max(off) <= bound, (x[np.argmax(off)], row[np.argmax(off)])

    return check


def reflected(x: Any, out: Any, bound: float) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        for row in out[::2]:
            assert np.max(np.abs(row * -x.astype(np.float64) - 1)) <= bound
        assert np.isnan(out[1::2]).all()

    return check


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("steps", NEAR)
def test_zeros_and_infinities_are_the_reciprocals_of_each_other(runner: Runner, steps: int) -> None:
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan] * 5, np.float32)
    out = np.full((4, len(x)), 7, np.float32)

    def check(_: Any) -> None:
        for row in out[::2]:
            assert [math.copysign(1, v) * v for v in row[:4].tolist()] == [math.inf, math.inf, 0, 0]
            assert [math.copysign(1, v) for v in row[:4].tolist()] == [1, -1, 1, -1]
        for row in out[1::2]:
            assert row[:3].tolist() == [math.inf, -math.inf, 0]
        for row in out:
            assert math.isnan(row[4]) and (row.reshape(5, 5).view(np.uint32)[:, :3] == row[:3].view(np.uint32)).all()

    runner.run(runner.compiled(estimates, steps=steps), [x, out], check)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("steps", NEAR)
def test_of_subnormal_numbers_they_are_near_or_infinite(runner: Runner, steps: int) -> None:
    x = np.array([7e-45, 1e-42, 1e-40, 5e-39, 1.1e-38], np.float32)
    out = np.full((4, len(x)), 7, np.float32)

    def check(_: Any) -> None:
        wide = x.astype(np.float64)
        for row, want in zip(out, [1 / wide, 1 / np.sqrt(wide)] * 2, strict=True):
            assert (np.isposinf(row) | (np.abs(row / want - 1) <= NEAR[steps])).all(), row

    runner.run(runner.compiled(estimates, steps=steps), [x, out], check)


def test_they_are_instructions_on_x86_64() -> None:
    code = estimates.compile(steps=0, target="x86-64-v3").asm()
    assert "vrcpps ymm" in code and "vrsqrtps ymm" in code and "vrcpss xmm" in code and "vdiv" not in code and "vsqrt" not in code
    wide = estimates.compile(steps=0, target="x86-64-v4").asm()
    assert "vrcp14ps zmm" in wide and "vrsqrt14ps zmm" in wide


def test_what_there_are_no_estimates_of_is_refused() -> None:
    @lw.kernel
    def of_f64(x: lw.Array[lw.f64]):
        x[0] = lw.rcp_estimate(x[0])

    @lw.kernel
    def many(x: lw.Array[lw.f32]):
        x[0] = lw.rsqrt_estimate(x[0], steps=3)

    with pytest.raises(KernelTypeError, match="takes f32, not f64: machines have no estimates of other types"):
        of_f64.compile()
    with pytest.raises(KernelTypeError, match="takes 0 to 2 steps, known while compiling, not 3"):
        many.compile()
    with pytest.raises(KernelTypeError, match="takes f32, not float"):
        lw.rcp_estimate(2.0)
    assert lw.rcp_estimate(np.float32(4)) == 0.25 and lw.rsqrt_estimate(np.float32(4), steps=1) == 0.5


# --- divisions by roots ---------------------------------------------------------------------------------------------


def normalized(x: lw.Array, y: lw.Array, out: lw.Array):
    for i in lw.range(len(x)):
        out[0, i] = y[i] / lw.sqrt(x[i])
        r = x[i]
        out[1, i] = y[i] / (r * lw.sqrt(r))
        out[2, i] = 1 / lw.sqrt(x[i])


TYPES = (lw.Array[lw.f32], lw.Array[lw.f32], lw.Array[lw.f32, 2])
fast = lw.kernel(normalized, fastmath=True)
exact = lw.kernel(normalized)


def _types(element: Any) -> tuple[Any, ...]:
    return lw.Array[element], lw.Array[element], lw.Array[element, 2]


@pytest.mark.parametrize("element", [np.float32, np.float64])
@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_fastmath_divides_by_roots_as_near(runner: Runner, element: type) -> None:
    powers = 40 if element is np.float32 else 300
    x = np.exp2(np.random.default_rng(2).uniform(-powers, powers, 1003)).astype(element)
    y = np.random.default_rng(3).uniform(-4, 4, 1003).astype(element)
    out = np.zeros((3, len(x)), element)
    near = 2.0**-21 if element is np.float32 else 2.0**-51

    def check(_: Any) -> None:
        wide = x.astype(np.longdouble)
        for row, want, bound in zip(out, [y / np.sqrt(wide), y / np.sqrt(wide) ** 3, 1 / np.sqrt(wide)], (near, 4 * near, near), strict=True):
            assert np.max(np.abs(row / want - 1)) <= bound

    runner.run(runner.compiled(fast, *_types(lw.f32 if element is np.float32 else lw.f64)), [x, y, out], check)


@pytest.mark.parametrize("element", [np.float32, np.float64])
@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_fastmath_divides_by_the_roots_of_zeros_and_infinities(runner: Runner, element: type) -> None:
    x = np.array([0.0, math.inf, 0.0, math.inf, 1.0] * 5, element)
    y = np.array([2.0, 2.0, -3.0, -3.0, 5.0] * 5, element)
    out = np.zeros((3, len(x)), element)

    def check(_: Any) -> None:
        for row in out[:2]:
            assert row[:4].tolist() == [math.inf, 0, -math.inf, 0] and abs(row[4] - 5) < 1e-5
        assert out[2, :4].tolist() == [math.inf, 0, math.inf, 0]

    runner.run(runner.compiled(fast, *_types(lw.f32 if element is np.float32 else lw.f64)), [x, y, out], check)


@pytest.mark.skipif("avx512f" not in cpu.host_features(), reason="takes AVX-512")
def test_reciprocal_roots_of_f64_are_off_by_less_than_two_units() -> None:
    @lw.kernel(fastmath=True)
    def roots(x: lw.Array[lw.f64], out: lw.Array[lw.f64]):
        for i in lw.range(len(x)):
            out[i] = 1 / lw.sqrt(x[i])

    rng = np.random.default_rng(5)
    for x in (1 + 3 * rng.random(1 << 16), np.exp2(rng.uniform(-1074, 1023, 1 << 16))):
        out = np.zeros_like(x)
        roots(x, out)
        want = 1 / np.sqrt(x.astype(np.longdouble))
        assert np.max(np.abs(out - want) / np.spacing(want.astype(np.float64))) < 2
    special = np.array([0.0, -0.0, math.inf, -1.0, math.nan, 5e-324] * 3)
    out = np.zeros_like(special)
    roots(special, out)
    np.testing.assert_array_equal(out[:5], [math.inf, -math.inf, 0.0, math.nan, math.nan])
    assert abs(out[5] * math.sqrt(5e-324) - 1) < 1e-15


def test_what_fastmath_does_not_allow_is_divided() -> None:
    text = fast.compile(*TYPES, target="x86-64-v3").asm()
    assert "vrsqrtps ymm" in text and "vsqrtps" not in text and "vdivps" not in text
    text = exact.compile(*TYPES, target="x86-64-v3").asm()
    assert "vrsqrt" not in text and "vsqrtps ymm" in text and "vdivps ymm" in text
    # Estimates of f64 are there with AVX-512.
    assert "vrsqrt14pd zmm" in fast.compile(*_types(lw.f64), target="x86-64-v4").asm() and "vsqrt" in fast.compile(*_types(lw.f64), target="x86-64-v3").asm()


def test_a_root_that_is_read_elsewhere_stays() -> None:
    @lw.kernel(fastmath=True)
    def both(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
        for i in lw.range(len(x)):
            r = lw.sqrt(x[i])
            y[i] = r + 2 / r

    x = np.linspace(1, 9, 50, dtype=np.float32)
    y = np.zeros_like(x)
    both(x, y)
    assert np.allclose(y, np.sqrt(x) + 2 / np.sqrt(x), rtol=1e-6)
    assert "rsqrt" not in both.compile(target="x86-64-v3").asm()
