"""What operations mean where types end: narrow results, conversions out of range, counts of shifts past the width."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import UnsupportedOperationError

NARROW = [lw.i8, lw.u8, lw.i16, lw.u16]


@lw.kernel
def added(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t += x[i]
    return t


@lw.kernel
def multiplied(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t *= x[i]
    return t


@lw.kernel
def common(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t &= x[i]
    return t


@lw.kernel
def united(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t |= x[i]
    return t


@lw.kernel
def differing(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t ^= x[i]
    return t


@lw.kernel
def least(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t = lw.min(t, x[i])
    return t


@lw.kernel
def greatest(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t = lw.max(t, x[i])
    return t


REDUCTIONS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (added, operator.add),
    (multiplied, operator.mul),
    (common, operator.and_),
    (united, operator.or_),
    (differing, operator.xor),
    (least, min),
    (greatest, max),
]


@pytest.mark.parametrize("t", NARROW, ids=str)
@pytest.mark.parametrize(("kernel", "step"), REDUCTIONS, ids=[kernel.__name__ for kernel, _ in REDUCTIONS])
def test_reductions_of_narrow_integers_are_numbers_of_their_type(levels: list[tuple[str, int]], t: Any, kernel: Any, step: Any) -> None:
    info = np.iinfo(t.dtype)
    ran = 0
    for level, bits in levels:
        for values in ([1, 5, 3], [-5, 7, 1], [info.min, info.max, 1] * 30, list(range(-60, 60))):
            x = np.array(values).astype(t.dtype)
            want = np.dtype(t.dtype).type(100)
            with np.errstate(all="ignore"):
                for v in x:
                    want = step(want, v)
            try:
                code = kernel.compile(lw.Array[t], first=100, target=level, vector_bits=bits)
            except UnsupportedOperationError:
                # AVX2 has no masked accesses of 16 bits.
                assert t.bits == 16 and level == "x86-64-v3"
                continue
            assert code(x) == want, (level, bits, values)
            ran += 1
    assert ran or t.bits == 16


@pytest.mark.parametrize("t", NARROW, ids=str)
def test_sums_of_vectors_of_narrow_integers_are_numbers_of_their_type(levels: list[tuple[str, int]], t: Any) -> None:
    f = lw.Function("total", x=lw.Array[t], returns=lw.i64)
    with f:
        f.ret(lw.i64(lw.sum(f.load(f.x, 0, lanes=128 // t.bits))))
    x = np.arange(128 // t.bits).astype(t.dtype) * 100
    for level, bits in levels:
        assert f.compile(target=level, vector_bits=bits)(x) == x.sum(dtype=t.dtype)


@pytest.mark.parametrize(("source", "to"), [(lw.i8, lw.u8), (lw.u8, lw.i8), (lw.i16, lw.u16), (lw.u16, lw.i16)], ids=str)
def test_bits_of_narrow_integers_taken_as_another_type_are_numbers_of_it(levels: list[tuple[str, int]], source: Any, to: Any) -> None:
    f = lw.Function("taken", x=source, returns=lw.i64)
    with f:
        f.ret(lw.i64(lw.bitcast(to, f.x)))
    for level, bits in levels:
        code = f.compile(target=level, vector_bits=bits)
        for value in (np.iinfo(source.dtype).min, np.iinfo(source.dtype).max, 1):
            assert code(value) == np.dtype(source.dtype).type(value).view(to.dtype)
