"""Arrays of bool: their elements are conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.staging import stage

import loopwright as lw
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify

RNG = np.random.default_rng(7)
A, B = RNG.random(203) > 0.5, RNG.random(203) > 0.5
N = np.arange(203, dtype=np.int32)


@lw.kernel
def negated(a: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = not a[i]


@lw.kernel
def both(a: lw.Array, b: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = a[i] and b[i]


@lw.kernel
def exclusive(a: lw.Array, b: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = a[i] ^ b[i]


@lw.kernel
def compared(n: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        if n[i] > 100:
            y[i] = n[i] & 1 == 0


@lw.kernel
def chosen(a: lw.Array, n: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = n[i] if a[i] else -1


@lw.kernel
def from_integers(n: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = n[i] & 2


@lw.kernel
def same_for_all(a: lw.Array, y: lw.Array, k: lw.i64):
    for i in lw.lanes(len(y)):
        y[i] = True
        if i > 5:
            y[i] = a[k]


@lw.kernel
def one_by_one(a: lw.Array, b: lw.Array, y: lw.Array):
    for i in lw.range(len(y)):
        y[i] = lw.i32(a[i]) * 2 if not b[i] else lw.i32(a[i])


@lw.kernel
def counted(a: lw.Array) -> lw.i32:
    count = lw.i32(0)
    for i in lw.lanes(len(a)):
        if a[i]:
            count += 1
    return count


@lw.kernel
def alike(a: lw.Array, b: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = (a[i] == b[i]) != (i % 3 == 0)


@lw.kernel
def alike_one_by_one(a: lw.Array[lw.bool_], n: lw.Array, y: lw.Array[lw.bool_]):
    for i in lw.range(len(y)):
        down = n[i] & 4 == 0
        y[i] = False
        if (n[i] > 100) == down and a[i] != True:
            y[i] = True


@lw.kernel
def decided(a: lw.Array[lw.bool_], n: lw.Array, y: lw.Array[lw.bool_], start: lw.bool_) -> lw.bool_:
    every, some, odd = True, False, False
    both = start
    for i in lw.lanes(len(a)):
        every &= n[i] < 200
        some |= n[i] == 190
        odd ^= a[i]
        if n[i] > 1:
            both = both & (n[i] != 80)
    y[0], y[1], y[2], y[3] = every, some, odd, both
    return every


E = (N > 100) & (N & 1 == 0)
CASES: list[Any] = [
    (negated, (A,), ~A),
    (both, (A, B), A & B),
    (exclusive, (A, B), A ^ B),
    (compared, (N,), E),
    (chosen, (A, N), np.where(A, N, -1)),
    (from_integers, (N,), N & 2 != 0),
    (same_for_all, (A, 3), np.where(N > 5, A[3], True)),
    (one_by_one, (A, B), A),
    (alike, (A, B), (A == B) ^ (N % 3 == 0)),
    (alike_one_by_one, (A, N), ((N > 100) == (N & 4 == 0)) & ~A),
]


@pytest.mark.parametrize("bits", [0, 128, 256, 512])
@pytest.mark.parametrize(("kernel", "args", "expected"), CASES)
def test_the_interpreter_agrees_with_numpy(bits: int, kernel: Any, args: Any, expected: Any) -> None:
    y = np.zeros_like(expected)
    given = [*args, y] if kernel is not same_for_all else [args[0], y, args[1]]
    f = stage(kernel, kernel.signature(given, {}), bits)
    verify(f)
    run(f, *given)
    assert (y == expected).all()
    assert set(y.view(np.uint8 if y.dtype == bool else y.dtype)[:5].tolist()) <= {0, 1} or kernel is chosen


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("length", [0, 1, 7, 64, 203])
@pytest.mark.parametrize(("kernel", "args", "expected"), CASES)
def test_compiled_code_agrees_with_numpy(runner: Runner, length: int, kernel: Any, args: Any, expected: Any) -> None:
    y = np.zeros_like(expected)
    given = [*args, y[:length]] if kernel is not same_for_all else [args[0], y[:length], args[1]]
    runner.call(runner.compiled(kernel, *given), *given)
    assert (y[:length] == expected[:length]).all() and not y[length:].any()


@pytest.mark.parametrize("runner", runners())
def test_conditions_are_counted(runner: Runner) -> None:
    assert runner.call(runner.compiled(counted, A), A) == A.sum()


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("length", [0, 1, 7, 64, 195, 203])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_conditions_are_reduced(runner: Runner, length: int, dtype: type) -> None:
    y = np.zeros(4, bool)
    a, n = A[:length], N[:length].astype(dtype)
    code = runner.compiled(decided, a, n, y, True)
    for start in (True, False):
        every = runner.call(code, a, n, y, start)
        assert y.tolist() == [every, (n == 190).any(), a.sum() % 2 == 1, start and (n != 80).all()] and every == (n < 200).all()


def test_arrays_of_bool_have_an_annotation() -> None:
    assert lw.Array[lw.bool_, 2] == lw.Array[bool, 2] and repr(lw.Array[lw.bool_]) == "lw.Array[lw.bool_]"
    code = negated.compile(lw.Array[lw.bool_], lw.Array[lw.bool_])
    y = np.empty_like(A)
    code(A, y)
    assert (y == ~A).all()
    with pytest.raises(lw.ArgumentError):
        code(A, np.empty(203, np.uint8))
