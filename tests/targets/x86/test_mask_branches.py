"""Branches that ask all lanes of a mask: the question is in the branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw


@lw.kernel
def halvings(x: lw.Array, n: lw.Array[lw.i32]):
    for i in lw.lanes(len(x)):
        v = x[i]
        k = lw.i32(0)
        while v > 1:
            v = v * x.dtype(0.5)
            k += 1
        n[i] = k


@lw.kernel
def where_any(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        if lw.any(x[i] > 100):
            y[i] = 1
        else:
            y[i] = 2


@lw.kernel
def where_all(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        if not lw.all(x[i] > 100):
            y[i] = 1
        else:
            y[i] = 2


@lw.kernel
def where_both(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        if lw.any(x[i] > 100 and x[i] < 110):
            y[i] = 3


TESTS = {"x86-64-v3": ("vptest", "vmovmskp", "vpmovmskb"), "x86-64-v4": ("kortest", "ktest")}


@pytest.mark.parametrize("target", TESTS)
@pytest.mark.parametrize("kernel", [halvings, where_any, where_all, where_both], ids=lambda kernel: str(kernel.__name__))
def test_the_branch_asks_itself(target: str, kernel: Any) -> None:
    for t in (lw.f32, lw.f64) if kernel is halvings else (lw.u8, lw.i16, lw.f32, lw.i64):
        other = lw.Array[lw.i32] if kernel is halvings else lw.Array[t]
        if target == "x86-64-v4" and t.bits == 64 and kernel is halvings:
            continue
        text = kernel.compile(lw.Array[t], other, target=target).asm()
        assert any(name in text for name in TESTS[target]) and "setne" not in text, t


@pytest.mark.parametrize("t", [lw.u8, lw.i16, lw.f32, lw.f64, lw.i32, lw.i64], ids=str)
def test_what_they_come_to(t: Any) -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 7, 64, 200, 1000):
        x = rng.integers(1, 102, n).astype(t.dtype)
        y = np.zeros(n, t.dtype)
        where_any(x, y)
        assert ((x <= 100) | (y == 1)).all() and np.isin(y, (1, 2)).all()
        where_all(x, y)
        assert ((x > 100) | (y == 1)).all() and np.isin(y, (1, 2)).all()
        y[:] = 0
        where_both(x, y)
        assert ((x <= 100) | (y == 3)).all() and np.isin(y, (0, 3)).all()
    where_all(np.full(300, 101, t.dtype), y := np.zeros(300, t.dtype))
    assert (y == 2).all()
    where_any(np.full(300, 100, t.dtype), y)
    assert (y == 2).all()
    where_any(np.full(300, 101, t.dtype), y)
    assert (y == 1).all()


@pytest.mark.parametrize("t", [lw.f32, lw.f64], ids=str)
def test_a_while_runs_as_long_as_a_lane_does(t: Any) -> None:
    x = np.abs(np.random.default_rng(2).standard_normal(1003) * 1000).astype(t.dtype)
    n = np.zeros(1003, np.int32)
    halvings(x, n)
    assert (n == np.maximum(np.ceil(np.log2(np.maximum(x, 1))), 0)).all()
