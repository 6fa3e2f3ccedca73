"""Arrays that kernels make with NumPy: local ones where something of run time is stored in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw


@lw.kernel
def counted(x: lw.Array, out: lw.Array):
    counts = np.zeros(32, np.int32)
    for i in range(len(x)):
        counts[x[i] & 31] += 1
    for k in range(32):
        out[k] = counts[k]


@lw.kernel
def in_two_dimensions(x: lw.Array, out: lw.Array):
    sums = np.full((3, 4), 1.5)
    weights = np.arange(3) * 1.0
    for i in range(len(x)):
        sums[i % 3, i % 4] += x[i] * weights[i % 3]
    for r in range(3):
        for c in range(4):
            out[r * 4 + c] = sums[r, c]


@lw.kernel
def elements_by_name(x: lw.Array, out: lw.Array):
    v = np.empty(3)
    v[0] = x[0]
    v[1] = x[1]
    v[2] = v[0] * v[1]
    out[0] = v[0] + v[1] + v[2]


@lw.kernel
def anew_in_each_iteration(x: lw.Array, out: lw.Array):
    for i in range(len(x)):
        v = np.ones(20, dtype=np.float32)
        for k in range(1, 20):
            v[k] = v[k - 1] * x[i]
        out[i] = v[19]


def of_a_helper(x: Any, i: Any) -> Any:
    row = np.zeros(4)
    for k in range(4):
        row[(i + k) % 4] += x[i] + k
    return row[0] * 8 + row[3]


@lw.kernel
def helped(x: lw.Array, out: lw.Array):
    for i in range(len(x)):
        out[i] = of_a_helper(x, i)


@lw.kernel
def at_an_index_of_run_time(x: lw.Array, out: lw.Array):
    for i in range(len(x)):
        v = np.zeros(4)
        v[i % 4] = x[i]
        out[i] = v[0] + v[1] * 2


@lw.kernel
def of_one_branch(x: lw.Array, out: lw.Array):
    for i in range(len(x)):
        if x[i] > 0.5:
            v = np.ones(4)
            v[i % 4] = x[i]
            out[i] = v[0] + v[1] * 2


@lw.kernel
def known_while_compiling(x: lw.Array, out: lw.Array):
    w = np.zeros(3)
    w[0] = 0.25
    w[1] = 0.5
    w[2] = w[0]
    for i in range(1, len(x) - 1):
        out[i] = w[0] * x[i - 1] + w[1] * x[i] + w[2] * x[i + 1]


@pytest.mark.parametrize(
    "kernel",
    [counted, in_two_dimensions, elements_by_name, anew_in_each_iteration, helped, at_an_index_of_run_time, of_one_branch, known_while_compiling],
    ids=lambda kernel: kernel.function.__name__,
)
@pytest.mark.parametrize("nests", ["fast", "off"])
def test_results_are_pythons(kernel: lw.Kernel, nests: str) -> None:
    x = np.random.default_rng(0).random(50)
    if kernel is counted:
        x = (x * 100).astype(np.int64)
    if kernel is anew_in_each_iteration:
        x = x.astype(np.float32)
    wanted, found = np.zeros(50, x.dtype), np.zeros(50, x.dtype)
    kernel.function(x, wanted)
    lw.kernel(kernel.function, nests=nests, contract=False)(x, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if x.dtype == np.float32 else 1e-13)
    local = " local " in str(kernel.compile(x, found, keep=True).ir("collect")) or "local." in str(kernel.compile(x, found, keep=True).ir("collect"))
    assert local == (kernel is not known_while_compiling)


def test_complex_numbers() -> None:
    @lw.kernel
    def rotated(x: lw.Array[lw.f32], out: lw.Array[lw.f64]):
        z = np.zeros(4, np.complex64)
        for i in range(len(x)):
            z[i % 4] += lw.complex64(x[i], 1)
        c = complex(out[0], 2) * 1j
        out[0] = z[1].real
        out[1] = z[3].imag
        out[2] = c.real
        out[3] = c.imag

    x, out = np.arange(50, dtype=np.float32), np.array([5.0, 0, 0, 0])
    rotated(x, out)
    assert out.tolist() == [x[1::4].sum(), 12, -2, 5]


@lw.kernel
def as_long_as_another(x: lw.Array):
    v = np.zeros(len(x))
    v[0] = x[0]


@lw.kernel
def too_large(x: lw.Array):
    v = np.zeros(10_000_000)
    v[0] = x[0]


@lw.kernel
def in_lanes(x: lw.Array):
    for i in lw.lanes(len(x)):
        v = np.zeros(30)
        v[i % 30] = x[i]
        x[i] = v[3]


@lw.kernel
def of_another_kind(x: lw.Array):
    v = np.zeros(3, "U4")
    v[0] = x[0]


@lw.kernel
def filled_with_an_array(x: lw.Array):
    v = np.full((2, 3), [1, 2, 3])
    v[0, 1] = x[0] > 2
    x[1] = v[1, 2]


@lw.kernel
def without_dimensions(x: lw.Array):
    v = np.zeros(())
    v[()] = x[0]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (as_long_as_another, "a kernel makes no arrays at run time"),
        (too_large, "with v the local arrays of this kernel take 80000000 bytes"),
        (in_lanes, "lw.local is made in front of a loop over lanes"),
        (of_another_kind, "cannot hold a run-time value"),
        (filled_with_an_array, "cannot hold a run-time value"),
        (without_dimensions, "cannot hold a run-time value"),
    ],
    ids=["as long as another", "too large", "in lanes", "of another kind", "filled with an array", "without dimensions"],
)
def test_what_cannot_be_says_so(kernel: lw.Kernel, message: str) -> None:
    with pytest.raises(lw.KernelTypeError, match=message):
        kernel.compile(np.zeros(5))
