"""Division on every machine: of integers by every sort of constant, of lanes by what is not known, and of floats by ``//`` and ``%``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, Simulated, runners
from tests.passes.test_division import DIVISIONS, dividends, divisors

from loopwright.compiler import compile
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, VOID, Type, vector_of

INTEGERS = (I8, U8, I16, U16, I32, U32, I64, U64)


def dividing(t: Type, lanes: int, op: ops.Op, by: list[int] | None) -> Function:
    """Divides the elements of an array by each of some constants, one section of the results for each; or by those of another array."""
    type_ = vector_of(t, lanes) if lanes else t
    f = Function("dividing")
    n = f.param(I64, "n")
    for name in "abr":
        f.array_param(name, t, 1).written = name == "r"
    i, a = f.register(I64, "i"), f.register(type_)
    f.code.append(Instr(ops.FOR, VOID, i, [f.const(I64, 0), n, f.const(I64, max(lanes, 1))]))
    f.code.append(Instr(ops.LOAD, type_, a, [i], 0))
    at = i
    for section in range(len(by) if by is not None else 1):
        if by is None:
            b = f.register(type_)
            f.code.append(Instr(ops.LOAD, type_, b, [i], 1))
        else:
            b = f.const(type_, by[section])
        made, following = f.register(type_), f.register(I64)
        f.code.append(Instr(op, type_, made, [a, b]))
        f.code.append(Instr(ops.STORE, type_, NONE, [made, at], 2))
        f.code.append(Instr(ops.ADD, I64, following, [at, n]))
        at = following
    f.code.append(Instr(ops.END, VOID, NONE, []))
    return f


def check(runner: Runner, t: Type, lanes: int, op: ops.Op, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any] | None, by: list[int] | None) -> None:
    if (op.name, t.element.name, VOID.name) in runner.misjudged:
        pytest.skip("the emulator is wrong about it")
    a = np.resize(a, -(-len(a) // max(lanes, 1)) * max(lanes, 1))
    b = np.resize(b, len(a)) if b is not None else a.copy()
    results = np.zeros(len(a) * (len(by) if by is not None else 1), t.dtype)
    assert op.meaning is not None
    long = vector_of(t, len(a))
    want = [op.meaning(long, VOID, a, b if by is None else np.full(len(a), d, t.dtype)) for d in (by if by is not None else [0])]

    def compare(_: Any) -> None:
        for n, expected in enumerate(want):
            got = results[n * len(a) : (n + 1) * len(a)]
            wrong = ~((got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected)))
            assert not wrong.any(), (op, t, lanes, a[wrong][:3], b[wrong][:3] if by is None else by[n], got[wrong][:3], expected[wrong][:3])

    runner.run(compile(dividing(t, lanes, op, by), runner.target), [len(a), a, b, results], compare)


def both(t: Type, floor: bool, swapped: bool, variable: bool) -> Function:
    """Writes the quotients of the elements of two arrays, and behind them the remainders."""
    f = Function("both")
    n = f.param(I64, "n")
    for name in "abr":
        f.array_param(name, t, 1).written = name == "r"
    i, a, b, at = f.register(I64, "i"), f.register(t), f.register(t), f.register(I64)
    quotient, remainder = f.register(t, "", variable), f.register(t, "", variable)
    made = [
        Instr(ops.DIV_FLOOR if floor else ops.DIV_TRUNC, t, quotient, [a, b]),
        Instr(ops.REM_FLOOR if floor else ops.REM_TRUNC, t, remainder, [a, b]),
    ]
    f.code += [
        Instr(ops.FOR, VOID, i, [f.const(I64, 0), n, f.const(I64, 1)]),
        Instr(ops.LOAD, t, a, [i], 0),
        Instr(ops.LOAD, t, b, [i], 1),
        *(reversed(made) if swapped else made),
        Instr(ops.ADD, I64, at, [i, n]),
        Instr(ops.STORE, t, NONE, [quotient, i], 2),
        Instr(ops.STORE, t, NONE, [remainder, at], 2),
        Instr(ops.END, VOID, NONE, []),
    ]
    return f


@pytest.mark.parametrize("t", (I32, U32, I64, U64), ids=str)
@pytest.mark.parametrize("runner", runners(lambda runner: not isinstance(runner, Simulated)))
def test_quotient_and_remainder_are_one_division(runner: Runner, t: Type) -> None:
    some = dividends(t, 7)[::5]
    special = np.array([0, 1, -1, 2, 7, -7, -1 << t.bits - 1], np.int64).astype(t.dtype)
    a, b = (x.ravel() for x in np.meshgrid(np.concatenate([some, special]), special))
    for floor in (True, False):
        quotient, rest = (ops.DIV_FLOOR, ops.REM_FLOOR) if floor else (ops.DIV_TRUNC, ops.REM_TRUNC)
        assert quotient.meaning is not None and rest.meaning is not None
        want = np.concatenate([op.meaning(vector_of(t, len(a)), VOID, a, b) for op in (quotient, rest) if op.meaning is not None])
        for swapped, variable in ((False, False), (True, False), (False, True)):
            compiled = compile(both(t, floor, swapped, variable), runner.target)
            listing = [text for _, _, text, _ in compiled.listing()]
            # (x86-64 divides in 64 bits or, where that is enough, in 32.)
            divisions = 2 if runner.folder == "x86" and t.bits == 64 else 1
            assert sum(text.split()[0].lstrip("isu") in ("div", "divu", "divw", "divuw") for text in listing) == divisions
            assert not any(text.split()[0].startswith("rem") for text in listing)
            results = np.zeros(2 * len(a), t.dtype)

            def check(_: Any, results: Any = results, want: Any = want) -> None:
                assert np.array_equal(results, want)

            runner.run(compiled, [len(a), a.copy(), b.copy(), results], check)


def widths(runner: Runner, t: Type) -> list[int]:
    """No lanes, and those of a whole vector and of a part of one."""
    return [0, *({runner.bits // t.bits, runner.bits // 64} - {1} if runner.bits else ())]


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("runner", runners())
def test_constants_of_every_sort_divide(runner: Runner, t: Type) -> None:
    by = [d for d in divisors(t) if t.bits > 8 or d % 5 == 0 or abs(d) in (1, 2, 3, 7, 127, 128)]
    a = np.unique(np.concatenate([dividends(t, d) for d in by]))[:: 1 if t.bits == 8 else 7]
    for lanes in widths(runner, t):
        for op in DIVISIONS:
            check(runner, t, lanes, op, a, None, by)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
def test_lanes_divide_by_lanes(runner: Runner, t: Type) -> None:
    if t.bits == 8:
        values = np.arange(np.iinfo(t.dtype).min, np.iinfo(t.dtype).max + 1).astype(t.dtype)
    else:
        values = np.unique(np.concatenate([dividends(t, d)[::3] for d in divisors(t)] + [np.array(divisors(t), t.dtype)]))[::4]
        values = np.concatenate([values, np.array([0, 1, -1 if t.signed else 2, np.iinfo(t.dtype).min, np.iinfo(t.dtype).max], t.dtype)])
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    for lanes in widths(runner, t)[1:]:
        for op in DIVISIONS:
            check(runner, t, lanes, op, a, b, None)


@pytest.mark.parametrize("op", [ops.DIV_FLOOR, ops.REM_FLOOR, ops.REM_TRUNC], ids=str)
@pytest.mark.parametrize("t", [F32, F64], ids=str)
@pytest.mark.parametrize("runner", runners(lambda runner: not isinstance(runner, Simulated)))
def test_division_of_floats_without_a_fraction_is_numpys(runner: Runner, t: Type, op: ops.Op) -> None:
    chooser = np.random.default_rng(11)
    info = np.finfo(t.dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 3.0, 1e30, -7.5, info.max, info.min, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan, 1e-30]
    a, b = (x.ravel() for x in np.meshgrid(np.array(special, t.dtype), np.array(special, t.dtype)))
    count = 2000
    # Quotients of any size, the most of them around those from which on there are no bits to spare.
    by = (chooser.uniform(0.5, 2.0, count) * chooser.choice([-1, 1], count) * 2.0 ** chooser.integers(-30, 30, count)).astype(t.dtype)
    close = chooser.integers(1, 1 << info.nmant + 3, count)
    quotient = np.where(chooser.random(count) < 0.7, close, 2.0 ** chooser.uniform(-3, 90, count)) * chooser.choice([-1, 1], count)
    with np.errstate(all="ignore"):
        over = (quotient * by.astype(np.float64)).astype(t.dtype)
    a, b = np.concatenate([a, over, np.nextafter(over, np.dtype(t.dtype).type(0))]), np.concatenate([b, by, by])
    for lanes in widths(runner, t):
        check(runner, t, lanes, op, a, b, None)
