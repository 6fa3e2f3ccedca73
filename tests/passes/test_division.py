"""Division by constants: the sequences give what the rows say, for every divisor of 8 bits and for those of each sort of the wider types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import division
from loopwright.types import I8, I16, I32, I64, U8, U16, U32, U64, Type, vector_of

DIVISIONS = (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR)
DIVISORS = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    25,
    28,
    64,
    100,
    125,
    127,
    128,
    255,
    256,
    625,
    641,
    1000,
    6700417,
    10**9,
    10**15,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
)


def divisors(t: Type) -> list[int]:
    """Those, their negatives, and what lies around the bounds of the type."""
    low, high = (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.signed else (0, (1 << t.bits) - 1)
    if t.bits == 8:
        return list(range(low, high + 1))
    found = {sign * d for d in DIVISORS for sign in (1, -1)} | {
        low,
        low + 1,
        low + 2,
        high,
        high - 1,
        high // 2,
        high // 2 + 1,
        high // 3,
        low // 2,
        low // 2 - 1,
    }
    return sorted(d for d in found if low <= d <= high)


def dividends(t: Type, divisor: int) -> np.ndarray[Any, Any]:
    """All of 8 bits; of others what is near the bounds, near multiples of the divisor, and some at random."""
    low, high = (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.signed else (0, (1 << t.bits) - 1)
    if t.bits == 8:
        return np.arange(low, high + 1).astype(t.dtype)
    found = {low, low + 1, low + 2, high, high - 1, high - 2, 0, 1, 2, 3, high // 2, high // 2 + 1, low // 2}
    d = abs(divisor)
    if d:
        for times in (1, 2, 3, high // d, high // d - 1, high // d // 2, low // d, -1):
            found |= {times * d + near for near in (-2, -1, 0, 1, 2)}
    chooser = np.random.default_rng(d % 1000)
    found |= {int(n) for n in chooser.integers(low, high, 40, dtype=t.dtype, endpoint=True)}
    return np.array(sorted(n for n in found if low <= n <= high), t.dtype)


def evaluated(f: Function, code: list[Instr], given: dict[int, Any]) -> dict[int, Any]:
    """What straight-line code makes of values, by the rows."""
    values = dict(given)
    for instr in code:
        args = [np.full(instr.type.lanes, f.const_values[~a], f.const_types[~a].element.dtype) if a < 0 else values[a] for a in instr.args]
        assert instr.op.meaning is not None
        values[instr.dst] = instr.op.meaning(instr.type, instr.source, *args)
    return values


@pytest.mark.parametrize("op", DIVISIONS, ids=str)
@pytest.mark.parametrize("t", [I8, U8, I16, U16, I32, U32, I64, U64], ids=str)
def test_lanes_divide_by_every_sort_of_constant(op: ops.Op, t: Type) -> None:
    for divisor in divisors(t):
        n = dividends(t, divisor)
        type_ = vector_of(t, len(n))
        f = Function("f")
        a, r = f.register(type_), f.register(type_)
        instr = Instr(op, type_, r, [a, f.const(type_, divisor)])
        code: list[Instr] = []
        if not division.divide_by_power(f, instr, code.append):
            division.multiply_by_reciprocal(f, instr, code.append)
        assert not {made.op for made in code} & set(DIVISIONS)
        assert op.meaning is not None
        want = op.meaning(type_, type_, n, np.full(len(n), divisor, t.dtype))
        got = evaluated(f, code, {a: n})[r]
        assert (got == want).all(), (op, t, divisor, n[got != want], got[got != want], want[got != want])
