"""What the arms of a branch in a loop over lanes have in common is done once, and what comes out stays the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def piecewise(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        if x[i] > 0.5:
            y[i] = x[i] * x[i]
        else:
            y[i] = 1.0 / (x[i] + 1.0)


@lw.kernel
def three(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        if x[i] < 0.25:
            y[i] = 0.0
        elif x[i] < 0.5:
            y[i] = x[i] + 1.0
        elif x[i] * x[i] < 0.5:
            y[i] = x[i] * 3.0
        else:
            y[i] = 2.0


@lw.kernel
def nested(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        if x[i] < 0.5:
            if x[i] < 0.25:
                y[i] = 1.0
            else:
                y[i] = 2.0
        else:
            y[i] = x[i]


@lw.kernel
def shifted(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x) - 1):
        if x[i] < 0.5:
            y[i + 1] = x[i] + x[i + 1]
        else:
            y[i + 1] = x[i] - x[i + 1]


@lw.kernel
def two(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x) // 2):
        v = x[i]
        if v < 0.5:
            y[i] = v
            y[i + len(x) // 2] = 1.0
        else:
            y[i] = 3.0
            y[i + len(x) // 2] = v * 2.0


@lw.kernel
def between(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x) // 2):
        if x[i] < 0.5:
            y[i] = 1.0
            y[i + len(x) // 2] = x[i]
        else:
            y[i] = 3.0
            y[i + len(x) // 2] = x[i] * 2.0


@lw.kernel
def once(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        if x[i] < 0.5:
            y[i] = x[i] * 4.0


@lw.kernel
def behind(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        k = i
        total = lw.f64(0)
        if x[i] < 0.5:
            y[k] = 1.0
            total += y[i]
        else:
            y[k] = 2.0
            total += x[i]
        y[i] += total


@lw.kernel
def asked(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.lanes(len(x)):
        y[i] = 0.0
        if x[i] < 0.5:
            while x[i] + y[i] < 2.0:
                y[i] += 0.75
        else:
            while x[i] + y[i] < 3.0:
                y[i] += 0.5


KERNELS: dict[Any, Callable[[Any, Any], None]] = {each: each.__wrapped__ for each in (piecewise, three, nested, shifted, two, between, once, behind, asked)}


def expected(kernel: Any, x: Any, y: Any) -> Any:
    """What the kernel gives as plain Python."""
    y = y.copy()
    namespace = {"lw": _Python, "len": len}
    source = KERNELS[kernel]
    plain = type(source)(source.__code__, namespace)
    plain(x, y)
    return y


class _Python:
    """What the kernels use of loopwright, in Python."""

    lanes = range
    f64 = float


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel.__name__))
def test_arms_give_what_they_gave(runner: Runner, kernel: Any) -> None:
    code = runner.compiled(kernel, lw.Array[lw.f64], lw.Array[lw.f64])
    for n in (0, 1, 2, 7, 8, 33):
        x = np.random.default_rng(n).random(n)
        y = np.full(n, -1.0)
        want = expected(kernel, x, y)
        runner.run(code, [x, y], close(y, want))


def close(y: Any, want: Any) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        np.testing.assert_allclose(y, want, rtol=1e-15)

    return check


def stores(kernel: Any) -> list[str]:
    """The operations of the loop over vectors that access memory, in order."""
    text = kernel.compile(target="x86-64-v3", keep=True).compiled.stages["vectorize"]
    return [word.split(".")[0] for line in text.splitlines() for word in line.split() if word.startswith(("masked_load.", "masked_store."))]


@pytest.mark.parametrize(
    ("kernel", "loads", "written"),
    [(piecewise, 1, 1), (three, 1, 1), (nested, 1, 1), (shifted, 3, 1), (two, 1, 2), (between, 3, 3), (once, 1, 1)],
    ids=lambda value: str(getattr(value, "__name__", value)),
)
def test_what_is_done_once(kernel: Any, loads: int, written: int) -> None:
    found = stores(kernel)
    assert (found.count("masked_load"), found.count("masked_store")) == (loads, written)


def test_a_store_is_read_where_it_may_be() -> None:
    # One array in two places: behind the store, its element is loaded again.
    z = np.array([0.1, 0.9, 0.3, 0.7, 0.2])
    want = expected(behind, z, z)
    behind.compile(target=None)(z, z)
    both = np.array([0.1, 0.9, 0.3, 0.7, 0.2])
    plain = type(behind.__wrapped__)(behind.__wrapped__.__code__, {"lw": _Python, "len": len})
    plain(both, both)
    np.testing.assert_allclose(z, both, rtol=1e-15)
    assert not np.array_equal(want, both)
