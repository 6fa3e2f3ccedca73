"""The builder: functions written by calls."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify


def test_the_example_of_the_documentation():
    f = lw.Function("largest", a=lw.i64, b=lw.i64, returns=lw.i64)
    with f:
        with f.if_(f.a < f.b):
            f.ret(f.b)
        f.ret(f.a)
    verify(f.ir)
    assert run(f.ir, 5, 4) == 5
    assert run(f.ir, 4, 5) == 5


def reference(x, n):
    total = i = 0
    while i < n:
        if x[i] < 0:
            i += 1
            continue
        if x[i] > 40:
            total += 1000
        elif x[i] == 7:
            break
        else:
            total += int(x[i])
        i += 1
    while True:
        total += 1
        if total > 10:
            break
    for k in range(3):
        done = False
        for j in range(1, 4):
            if j * k == 4:
                done = True
                break
            total += j
            if j == 2:
                continue
            total += k
        if done:
            break
    if total <= 5:
        total = 0
    return max(3, total)


def test_every_bracket():
    f = lw.Function("every", x=lw.Array[lw.i32], n=lw.i64, returns=lw.i64)
    with f:
        total = f.var(lw.i64, 0, "total")
        i = f.var(lw.i64, 0)
        with f.while_(lambda: i < f.n):
            with f.if_(f.x[i] < 0):
                i.set(i + 1)
                f.continue_()
            with f.elif_(f.x[i] > 40):
                total.set(total + 1000)
            with f.elif_(f.x[i] == 7):
                f.break_()
            with f.else_():
                total.set(total + f.x[i])
            i.set(i + 1)
        with f.loop():
            total.set(total + 1)
            f.break_(condition=total > 10)
        with f.for_(3) as k, f.for_(1, 4) as j:
            f.break_(1, j * k == 4)
            total.set(total + j)
            f.continue_(condition=j == 2)
            total.set(total + k)
        with f.block() as b:
            f.break_(b, total > 5)
            total.set(0)
        with f.if_(total > 3):
            f.ret(total)
        with f.else_():
            f.ret(lw.i64(3))
    verify(f.ir)
    for x in ([1, 2, 3], [50, -1, 3, 7, 9], [], [-5, 41], [7]):
        array = np.array(x, np.int32)
        assert run(f.ir, array, len(x)) == reference(array, len(x)), x


def test_explicit_vectors():
    f = lw.Function("ramp", x=lw.Array[lw.f32], y=lw.Array[lw.f32])
    with f:
        n = f.x.shape[0]
        with f.for_(0, n, 8) as i:
            mask = f.lane_mask(i, n, 8)
            v = f.load(f.x, i, lanes=8, mask=mask)
            f.store(f.y, i, value=lw.max(v * 2 + 1, 0.0), mask=mask)
    verify(f.ir)
    for n in (0, 1, 7, 8, 9, 23):
        x = np.arange(-5, n - 5, dtype=np.float32)
        y = np.zeros_like(x)
        run(f.ir, x, y)
        np.testing.assert_array_equal(y, np.maximum(x * 2 + 1, 0))


def test_a_vector_is_summed():
    f = lw.Function("sum", x=lw.Array[lw.f32], returns=lw.f32)
    with f:
        f.ret(lw.sum(f.load(f.x, 0, lanes=8) * f.splat(2.0, 8, lw.f32)))
    verify(f.ir)
    assert run(f.ir, np.arange(8, dtype=np.float32)) == 56


def test_two_dimensional_arrays():
    f = lw.Function("transpose", x=lw.Array[lw.f64, 2], y=lw.Array[lw.f64, 2])
    with f, f.for_(f.x.shape[0]) as i, f.for_(f.x.shape[1]) as j:
        f.y[j, i] = f.x[i, j]
    verify(f.ir)
    x = np.arange(6.0).reshape(2, 3)
    y = np.zeros((3, 2))
    run(f.ir, x, y)
    np.testing.assert_array_equal(y, x.T)


def test_a_variable_read_later_is_its_value_later():
    f = lw.Function("f", a=lw.i64, returns=lw.i64)
    with f:
        v = f.var(lw.i64, f.a)
        before = v.get()
        v.set(v + 1)
        f.ret(before * 100 + v)
    assert run(f.ir, 5) == 506


def test_a_function_calls_another():
    g = lw.Function("triple", a=lw.i64, returns=lw.i64)
    with g:
        g.ret(g.a * 3)
    f = lw.Function("twice", a=lw.i64, returns=lw.i64)
    with f:
        f.ret(f.call(g, f.a + 1) + lw.call(g, f.a))
    verify(f.ir)
    assert len(f.ir.callees) == 1 or all(callee.function is g.ir for callee in f.ir.callees)
    assert [instr.op for instr in f.ir.code].count(ops.CALL) == 2


def test_an_end_without_ret_is_refused():
    f = lw.Function("f", a=lw.i64, returns=lw.i64)
    with pytest.raises(lw.KernelSyntaxError, match="without f.ret"), f, f.if_(f.a > 1):
        f.ret(1)
    g = lw.Function("g", a=lw.i64, returns=lw.i64)
    with g, g.loop(), g.if_(g.a > 1):
        g.ret(1)
    h = lw.Function("h", a=lw.i64, returns=lw.i64)
    with pytest.raises(lw.KernelSyntaxError, match="without f.ret"), h, h.loop():
        h.break_(condition=h.a > 1)


def test_misplaced_calls_are_refused():
    f = lw.Function("f", a=lw.i64, x=lw.Array[lw.f32])
    with pytest.raises(lw.KernelSyntaxError, match="directly"):
        f.else_()
    with pytest.raises(lw.KernelSyntaxError, match="0 loops"):
        f.break_()
    with f.if_(f.a > 1):
        pass
    f.x[0] = 1.0
    with pytest.raises(lw.KernelSyntaxError, match="directly"):
        f.else_()
    with pytest.raises(lw.KernelTypeError, match="function that computes"):
        f.while_(f.a > 1)
    with pytest.raises(lw.KernelTypeError, match="no result"):
        f.ret(1)
    with pytest.raises(AttributeError, match="no parameter 'b'"):
        f.b  # noqa: B018
    f.finish()
    with pytest.raises(lw.KernelTypeError, match="finished"):
        f.ret()


@pytest.mark.parametrize("params", [{"x": lw.Array}, {"x": 3}, {"x": int}])
def test_parameters_need_types(params):
    with pytest.raises(lw.KernelTypeError, match="the parameter x"):
        lw.Function("f", **params)


def test_checked_functions_check():
    f = lw.Function("f", x=lw.Array[lw.f32], i=lw.i64, check=True)
    with f:
        f.store(f.x, f.i, value=f.load(f.x, f.i, lanes=4))
    verify(f.ir)
    assert [instr.op for instr in f.ir.code].count(ops.FAIL) == 4


def test_a_condition_that_was_computed_before_its_loop() -> None:
    f = lw.Function("f", x=lw.Array[lw.i64], returns=lw.i64)
    with f:
        k = f.var(lw.i64, 0)
        limit = f.x[0]
        go = limit > 1
        with f.while_(lambda: go):
            k.set(k + 3)
            f.x[0] = 0
            f.break_(0, k > 10)
        with f.while_(lambda: k < limit):
            k.set(k + 1)
        f.ret(k)
    x = np.array([20])
    assert f.compile()(x) == 20
    assert f.compile()(np.array([1])) == 1
