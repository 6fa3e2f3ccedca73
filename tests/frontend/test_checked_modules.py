"""Modules in checked mode: errors of functions that others call, and recursions that the stack has no room for."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime.emulate import available

m = lw.Module()


@m.function(check=True)
def at(x: lw.Array[lw.f64], k: lw.i64) -> lw.f64:
    return x[k]


@m.function(check=True)
def both(x: lw.Array[lw.f64], y: lw.Array[lw.f64], k: lw.i64) -> lw.f64:
    y[0] = 1.0
    s = at(x, k)
    y[1] = 2.0
    s += at(y, k + 1)
    y[2] = 3.0
    return s


@m.function(check=True)
def endless(n: lw.i64) -> lw.i64:
    return endless(n + 1) + 1


@m.function(check=True)
def depth(n: lw.i64) -> lw.i64:
    if n == 0:
        return 0
    return depth(n - 1) + 1


@m.function(check=True)
def ping(n: lw.i64, x: lw.Array[lw.i64]):
    if n > 0:
        pong(n - 1, x)
        x[0] += 1


@m.function(check=True)
def pong(n: lw.i64, x: lw.Array[lw.i64]):
    local = lw.local(lw.i64, 100)
    for i in lw.range(100):
        local[i] = n
    ping(n, x)
    x[0] += local[n % 100] * 0


def test_errors_come_back_through_calls() -> None:
    x, y = np.array([5.0, 6.0]), np.zeros(3)
    assert both(x, y, 1) == 6.0 + 0.0
    assert y.tolist() == [1.0, 2.0, 3.0]
    y[:] = 0.0
    # The first error counts, and nothing is done behind it.
    with pytest.raises(lw.BoundsError, match=r"x: index 2 is outside the array, which has 2 elements"):
        both(x, y, 2)
    assert y.tolist() == [1.0, 0.0, 0.0]
    y = np.zeros(2)
    with pytest.raises(lw.BoundsError, match=r"y: index 2 is outside"):
        both(x, y, 0)


def test_the_stack_is_guarded() -> None:
    assert depth(10_000) == 10_000
    with pytest.raises(lw.StackOverflowError, match="test_checked_modules.py:.* no room for one more call of endless"):
        endless(0)
    # The next call works as ever.
    assert depth(1000) == 1000
    with pytest.raises(RecursionError, match="depth"):
        depth(1 << 40)
    x = np.zeros(1, np.int64)
    ping(1000, x)
    assert x[0] == 1000
    with pytest.raises(lw.StackOverflowError, match="call of p[io]ng"):
        ping(1 << 40, x)


def test_each_thread_has_a_stack_of_its_own() -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            assert depth(100) == 100
            endless(0)
        except lw.LoopwrightError as error:
            caught.append(error)

    before = threading.stack_size(1 << 20)
    try:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.stack_size(before)
    assert [type(error) for error in caught] == [lw.StackOverflowError] * 4


@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_checked_calls_on_other_machines(target: str) -> None:
    if not available(target):
        pytest.skip(f"no emulator for {target}")
    program = m.compile(target=target, prove=True)
    x, y = np.array([5.0, 6.0]), np.zeros(3)
    assert program.both.emulate(x, y, 1) == 6.0
    assert program.depth.emulate(500) == 500
    with pytest.raises(lw.BoundsError, match="x: index 2 is outside"):
        program.both.emulate(x, y, 2)


def test_checked_functions_are_called_by_checked_ones() -> None:
    other = lw.Module()

    @other.function(check=True)
    def inner(n: lw.i64) -> lw.i64:
        return n

    @other.function
    def outer(n: lw.i64) -> lw.i64:
        return inner(n)

    with pytest.raises(lw.KernelTypeError, match="`inner` is checked .*, and what calls it must be so too"):
        outer(1)

    @lw.kernel
    def kernel(n: lw.i64) -> lw.i64:
        return depth(n)

    with pytest.raises(lw.KernelTypeError, match="`depth` is checked .* only functions of its module call it"):
        kernel(1)


def test_under_the_interpreter() -> None:
    assert m.interpret("depth", 50) == 50
    with pytest.raises(lw.BoundsError, match="x"):
        m.interpret("both", np.zeros(2), np.zeros(3), 2)
