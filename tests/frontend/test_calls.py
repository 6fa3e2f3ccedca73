"""Calls: what is inlined, what is called at run time, what runs while compiling."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run

SEEN: list[tuple[int, float]] = []


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_float)
def report(i, value):
    SEEN.append((i, value))
    return value * 2.0


@lw.kernel
def square(a: lw.f32) -> lw.f32:
    return a * a


def scaled(value, by):
    return value * by


def test_a_kernel_called_in_a_kernel_is_inlined(staged):
    @lw.kernel
    def kernel(x: lw.Array):
        for i in lw.lanes(len(x)):
            x[i] = square(x[i]) + scaled(x[i], 2.0)

    f = staged(kernel, lw.Array[lw.f32])
    assert not f.callees
    x = np.arange(5, dtype=np.float32)
    run(f, x)
    np.testing.assert_array_equal(x, np.arange(5) ** 2 + 2 * np.arange(5))


def test_a_callback_is_called_at_run_time(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.f32]) -> lw.f64:
        total = 0.0
        for i in lw.range(len(x)):
            total += lw.call(report, i, x[i])
        return total

    f = staged(kernel)
    (callee,) = f.callees
    assert callee.keep is report and callee.address
    assert [t.name for t in callee.params] == ["i64", "f32"] and callee.result is lw.f64
    SEEN.clear()
    assert run(f, np.array([1.5, 2.5], np.float32)) == 8.0
    assert SEEN == [(0, 1.5), (1, 2.5)]


def test_a_ctypes_function_may_be_called_directly(staged):
    libm = ctypes.CDLL(None)
    labs = libm.labs
    labs.argtypes, labs.restype = [ctypes.c_long], ctypes.c_long

    @lw.kernel
    def kernel(a: lw.i64) -> lw.i64:
        return labs(a) + labs(a - 1)

    f = staged(kernel)
    assert len(f.callees) == 1
    assert [instr.op for instr in f.code].count(ops.CALL) == 2


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda a: lw.call(report, a), "takes 2 arguments, not 1"),
        (lambda a: lw.call(report, a * 1.0, a), "is i64 and the value f64"),
        (lambda a: lw.call(scaled, a, 2), "inline it"),
        (lambda a: lw.call(3, a), "not int"),
    ],
)
def test_bad_calls_are_refused(call, fragment):
    f = lw.Function("f", a=lw.f64)
    with pytest.raises(lw.KernelTypeError, match=fragment):
        call(f.a)


def test_struct_arguments_are_refused():
    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_int))

    function = ctypes.CFUNCTYPE(None, Pair)(lambda pair: None)
    f = lw.Function("f", a=lw.i64)
    with pytest.raises(lw.AbiError, match="Pair"):
        f.call(function, f.a)


def test_python_functions_on_python_values_run_while_compiling(staged):
    calls = []

    def table(n):
        calls.append(n)
        return [k * 0.5 for k in range(n)]

    @lw.kernel
    def kernel(x: lw.Array[lw.f32], n: lw.Const):
        taps = table(n)
        for i in lw.lanes(len(x)):
            x[i] = sum(t * x[i] for t in taps) + max(taps)

    staged(kernel, n=3)
    assert calls == [3]


def test_lw_call_outside_a_kernel_is_refused():
    with pytest.raises(lw.KernelTypeError, match="inside a kernel"):
        lw.call(report, 1, 2.0)
