# ruff: noqa
"""What Python would do once, while compiling: it does what the function does as Python, or is refused. Nothing comes out differently in silence."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest

import loopwright as lw

BIASED = np.zeros(4)
SEEN: list[int] = []
NUMBERS = iter(range(100))
GENERATOR = np.random.default_rng(1)
TEXT = b"hello, world -~!"


def annotated(function: Any) -> Any:
    code = function.__code__
    function.__annotations__ = {name: lw.Array for name in code.co_varnames[: code.co_argcount]}
    return function


def agrees(function: Any, *arrays: np.ndarray) -> None:
    """The kernel does to its arrays, and returns, what the function does."""
    wanted, found = [x.copy() for x in arrays], [x.copy() for x in arrays]
    result = function(*wanted)
    assert lw.kernel(annotated(function))(*found) == result
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)


def by_type(x, y):
    y[0] = 1 if x.dtype == np.float32 else 2
    y[1] = 1 if x.dtype != np.int16 else 2
    y[2] = 1 if x.dtype in (np.float64, np.int16) else 2
    y[3] = 1 if x.dtype == "float32" or x.dtype == np.dtype("i2") else 2
    y[4] = x.dtype.itemsize + x.itemsize
    y[5] = 1 if x.dtype.kind == "f" else 2
    y[6] = 1 if x.dtype.name == "int16" else 2
    y[7] = 1 if x.dtype == y.dtype else 2
    y[8] = x.nbytes
    y[9] = int(x.dtype.type(3.75) * 4)


def by_class(x, y):
    y[0] = 1 if isinstance(x[0], np.float64) else 2
    y[1] = 1 if isinstance(x[0], (np.int16, np.float32)) else 2
    y[2] = 1 if isinstance(x[0], np.floating) else 2
    y[3] = 1 if isinstance(x, np.ndarray) else 2
    y[4] = 1 if isinstance(x[0], np.integer) else 2
    y[5] = 1 if isinstance(x[0] > 1, np.bool_) else 2
    y[6] = 1 if isinstance(3, int) and type(3) is int else 2


def by_shape(x, y):
    y[0] = 1 if x.shape == y.shape else 2
    y[1] = 1 if x.shape != y.shape else 2
    y[2] = 1 if (x[0], x[1]) == (x[2], 1) else 2
    y[3] = 1 if x.shape == (3, 4) else 2
    y[4] = 1 if x.shape == (12,) else 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.int64])
@pytest.mark.parametrize("function", [by_type, by_class, by_shape])
def test_types_and_shapes(function: Any, dtype: Any) -> None:
    agrees(function, np.ones(12, dtype), np.zeros(12, np.int32))


def test_types_by_name() -> None:
    def kernel(x: lw.Array, y: lw.Array):
        y[0] = 1 if x.dtype is lw.f32 else 2
        y[1] = 1 if x.dtype is not lw.f32 else 2
        y[2] = lw.bitcast(lw.i32 if x.dtype == lw.f32 else lw.i64, x[0]) == 0
        y[3] = {lw.f32: 5, lw.f64: 6}[x.dtype]
        part = lw.local(x.dtype, 4)
        part[0] = 2.0
        y[4] = int(part[0])

    y = np.zeros(5, np.int32)
    lw.kernel(kernel)(np.zeros(3, np.float32), y)
    assert y.tolist() == [1, 2, 1, 5, 2]


def test_bytes_are_pythons_integers() -> None:
    def kernel(x, y):
        for i in range(x.shape[0]):
            y[i] = TEXT[x[i] & 15] - 105

    agrees(kernel, np.arange(100, dtype=np.uint8), np.zeros(100, np.int32))


def test_numbas_functions() -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def above(v, low):
        return v + 1 if v > low else v

    def kernel(x):
        for i in range(x.shape[0]):
            x[i] = above(x[i], 3)

    agrees(kernel, np.arange(10))


STATEFUL = {
    "x[0] = random.random()": "lw.uniform",
    "x[0] = random.uniform(x[1], 2)": "lw.uniform",
    "x[0] = np.random.rand()": "lw.uniform",
    "x[0] = GENERATOR.normal()": "lw.uniform",
    "x[0] = time.time()": "as an argument",
    "x[0] = next(NUMBERS)": "next() of an iterator from outside",
    "BIASED.fill(7)": "from outside the kernel",
    "SEEN.append(3)": "from outside the kernel",
    "x[0] = len(f'{x[0]}')": "lw.debug_print",
    "x[0] = len(str(x[0]))": "lw.debug_print",
    "x[0] = len(repr(x[0]))": "lw.debug_print",
    "x[0] = len(format(x[0]))": "lw.debug_print",
    "print(x[0])": "lw.debug_print",
    "x[0] = 1 if type(x[0]) is np.float64 else 2": "isinstance",
    "x[0] = len(input())": "as an argument",
}


@pytest.mark.parametrize("text", STATEFUL)
def test_what_would_be_done_once_is_refused(text: str) -> None:
    before = BIASED.copy(), list(SEEN)
    whole = f"def kernel(x: lw.Array):\n    {text}\n"
    scope = {**globals()}
    exec(whole, scope)
    kernel = lw.kernel(source=whole)(scope["kernel"])
    with pytest.raises(lw.KernelTypeError) as caught:
        kernel(np.zeros(3))
    assert STATEFUL[text] in caught.value.message
    assert (BIASED == before[0]).all() and SEEN == before[1] and next(NUMBERS) < 50


def test_what_a_kernel_makes_itself_may_change() -> None:
    def kernel(x):
        numbers = [1, 2]
        numbers.append(3)
        steps = iter((4, 5))
        x[0] = len(numbers) + next(steps) + next(steps)

    agrees(kernel, np.zeros(3))


class Scaled:
    def __init__(self, by: int) -> None:
        self.by = by

    def add(self, other: int) -> int:
        return self.by + other


SCALED = Scaled(3)


def test_methods_that_change_nothing_are_called() -> None:
    def kernel(x):
        x[0] = SCALED.add(4) + x[1]

    agrees(kernel, np.arange(3))


def kept_types(a, b, o):
    start = 0
    for i in range(a.shape[0]):
        a[i] = start
        start = i + 1
    total = 0
    for i in range(a.shape[0]):
        total += a[i]
        total += b[i]
    o[0] = total
    last = 0
    for i in range(a.shape[0]):
        last = a[i]
        if b[i] > 3:
            last = 0.5
    o[1] = last
    for i in range(a.shape[0]):
        if i % 2:
            m = a[i]
        else:
            m = b[i]
        o[2 + i] = m
    return start


@pytest.mark.parametrize("types", [(np.int32, np.int64), (np.int16, np.float64), (np.uint8, np.int32), (np.float32, np.float64), (np.int16, np.float32)])
def test_variables_of_several_types(types: Any) -> None:
    agrees(kept_types, np.arange(7).astype(types[0]), (np.arange(7) * 5).astype(types[1]), np.zeros(9))


CHOSEN = [
    "x[i] < 1 or y[i]", "x[i] > 0 and y[i]", "y[i] or x[i] < 1", "x[i] or y[i]", "x[i] and y[i]", "x[i] or 5", "x[i] and 5", "x[i] < 2 and 5", "not x[i] or 3",
    "(x[i] > 0 and y[i]) + 1", "y[i] or False", "bool(x[i]) or y[i]", "x[i] and y[i] > 2", "x[i] > 0 or x[i] + 5", "x[i] and y[i] and x[i] // y[i]",
    "x[i] > 4 or y[i] > 2 or x[i] - 1", "x[i] > 0 and y[i] > 0 and x[i] + y[i]", "(y[i] or 3) and (x[i] or 4)", "7 and x[i]", "0 or x[i]", "1 if x[i] and y[i] else 2",
    "not (x[i] and y[i])", "x[i] and 2.0 and y[i]",
]  # fmt: skip


@pytest.mark.parametrize("loop", ["lanes", "range"])
@pytest.mark.parametrize("chosen", CHOSEN)
def test_and_and_or_give_the_operand_that_decides(chosen: str, loop: str) -> None:
    text = f"def kernel(x: lw.Array, y: lw.Array, z: lw.Array):\n    for i in lw.{loop}(len(x)):\n        z[i] = {chosen}\n"
    scope = {"lw": lw}
    exec(text, scope)
    for dtype in (np.int32, np.float64):
        x, y = np.array([0, 1, 2, 0, 5, -1] * 5, dtype), np.array([0, 7, 0, 9, 3, -2] * 5, dtype)
        wanted, found = np.zeros(30), np.zeros(30)
        scope["kernel"](x, y, wanted)
        lw.kernel(source=text)(scope["kernel"])(x, y, found)
        assert found.tolist() == wanted.tolist(), dtype


def test_no_value_of_run_time_is_one_of_pythons_numbers() -> None:
    """That is how helpers find out what is known while compiling."""

    def kernel(x: lw.Array, y: lw.Array, n: lw.Const):
        y[0] = 1 if isinstance(x[0], (int, float)) else 2
        y[1] = 1 if isinstance(len(x), int) else 2
        y[2] = 1 if isinstance(n, int) else 2

    y = np.zeros(3, np.int32)
    lw.kernel(kernel)(np.zeros(3), y, 4)
    assert y.tolist() == [2, 2, 1]
