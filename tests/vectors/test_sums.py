"""Totals that are wider than what is added to them: loops over lanes have as many lanes as the values leave room for, and the totals are right."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners, with_each

import loopwright as lw
from loopwright.compiler import compile
from loopwright.errors import VerifyError
from loopwright.ir import ops
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.types import I64, Type, parse_type, vector_of

NARROW = [lw.u8, lw.i8, lw.u16, lw.i16]
WIDE = [lw.u16, lw.i32, lw.u32, lw.i64, lw.u64]


@lw.kernel
def added(x: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.range(len(x)):
        total += start(x[i])
    return lw.i64(total)


@lw.kernel
def taken(x: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.lanes(len(x)):
        if x[i] > 3:
            total -= start(x[i])
    return lw.i64(total)


@lw.kernel
def distances(x: lw.Array, y: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.lanes(len(x)):
        total += start(abs(lw.i32(x[i]) - lw.i32(y[i])))
    return lw.i64(total)


@lw.kernel
def products(x: lw.Array, y: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.range(len(x)):
        total += start(lw.i32(x[i]) * lw.i32(y[i]))
    return lw.i64(total)


@lw.kernel
def counted(x: lw.Array, y: lw.Array, start: lw.Const) -> lw.i64:
    same = start(0)
    more = start(0)
    for i in lw.lanes(len(x)):
        same += x[i] == y[i]
        if x[i] > 3:
            more += 2
    return lw.i64(same) * 1000003 + lw.i64(more)


def wrapped(t: Any, value: int) -> int:
    value &= (1 << t.bits) - 1
    value -= (1 << t.bits) if t.signed and value >> t.bits - 1 else 0
    return value - (1 << 64) if value >= 1 << 63 else value


def as_i32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


JUDGES: dict[Any, Callable[[Any, list[int], list[int]], int]] = {
    added: lambda t, x, y: wrapped(t, 5 + sum(x)),
    taken: lambda t, x, y: wrapped(t, 5 - sum(v for v in x if v > 3)),
    distances: lambda t, x, y: wrapped(t, 5 + sum(abs(a - b) for a, b in zip(x, y, strict=True))),
    products: lambda t, x, y: wrapped(t, 5 + sum(as_i32(a * b) for a, b in zip(x, y, strict=True))),
    counted: lambda t, x, y: wrapped(t, sum(a == b for a, b in zip(x, y, strict=True))) * 1000003 + wrapped(t, 2 * sum(v > 3 for v in x)),
}


def numbers(t: Any, n: int, seed: int) -> Any:
    """Random ones, and nothing but the ends of the type, of which a total has most."""
    info = np.iinfo(t.dtype)
    if seed == 0:
        return np.random.default_rng(n).integers(info.min, info.max + 1, n).astype(t.dtype)
    return np.full(n, (info.min, info.max)[seed - 1], t.dtype)


def pairs(t: Any, n: int) -> list[tuple[Any, Any]]:
    x, y = numbers(t, n, 0), numbers(t, n + 1, 0)[:n].copy()
    y[::3] = x[::3]
    return [(x, y), (numbers(t, n, 1), numbers(t, n, 2)), (numbers(t, n, 1), numbers(t, n, 1)), (numbers(t, n, 2), numbers(t, n, 2))]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("kernel", JUDGES, ids=lambda kernel: str(kernel.__name__))
def test_totals_are_those_of_one_value_after_the_other(runner: Runner, kernel: Any) -> None:
    slow = runner.name == "x86-64-v4" and not runner.calls_back
    for t, total in itertools.product(NARROW, WIDE):
        if total.bits <= t.bits or (slow and total not in (lw.i32, lw.u64)):
            continue
        arrays = (lw.Array[t],) if kernel in (added, taken) else (lw.Array[t], lw.Array[t])
        code = runner.compiled(kernel, *arrays, start=total)
        for n in (0, 1, 37, 128, 300) if slow else (0, 1, 16, 37, 200, 9000):
            for x, y in pairs(t, n):
                want = JUDGES[kernel](total, x.tolist(), y.tolist())
                runner.run(code, [x, y][: len(arrays)], agreeing(f"{kernel.__name__} of {n} {t} in {total}", want))


def agreeing(name: str, want: int) -> Callable[[Any], None]:
    def check(got: Any) -> None:
        assert got == want, name

    return check


def steps(code: Any) -> int:
    """By how many lanes the loop goes."""
    found = re.findall(r"for .*?, (\d+) mask", code.ir("vectorize"))
    assert len(found) == 1
    return int(found[0])


@lw.kernel
def of_bright(x: lw.Array[lw.u8], y: lw.Array[lw.f32]) -> lw.i64:
    count = 0
    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        if y[i] > 0.5:
            count += 1
        total += y[i] * x[i]
    return count + lw.i64(total)


@pytest.mark.parametrize(
    ("kernel", "types", "lanes"),
    [
        (added, [lw.u8], {lw.i32: 32, lw.i64: 32}),
        (added, [lw.i8], {lw.i32: 32, lw.u64: 32}),
        (added, [lw.i16], {lw.i32: 16, lw.i64: 16}),
        (distances, [lw.u8] * 2, {lw.i32: 32, lw.u32: 32, lw.i64: 32}),
        (products, [lw.i8] * 2, {lw.i32: 16, lw.i64: 16}),
        (products, [lw.i16] * 2, {lw.i32: 16, lw.i64: 4}),
        (counted, [lw.u8] * 2, {lw.i32: 32, lw.i64: 32}),
        (of_bright, [lw.u8, lw.f32], {None: 8}),
    ],
)
def test_the_total_does_not_say_how_many_lanes_there_are(kernel: Any, types: list[Any], lanes: dict[Any, int]) -> None:
    for total, want in lanes.items():
        how = {} if total is None else {"start": total}
        assert steps(kernel.compile(*[lw.Array[t] for t in types], target="x86-64-v3", **how)) == want


def test_distances_of_bytes_are_one_instruction() -> None:
    code = distances.compile(lw.Array[lw.u8], lw.Array[lw.u8], start=lw.i32, target="x86-64-v3")
    assert re.search(r"vpsadbw ymm\d+, ymm\d+, ymmword ptr", code.asm()) and "vpand" not in code.asm()


def test_a_condition_counts() -> None:
    @lw.kernel
    def equal(x: lw.Array, y: lw.Array) -> lw.i64:
        count = 0
        for i in lw.lanes(len(x)):
            count += x[i] == y[i]
            count -= x[i] > y[i]
        return count

    @lw.kernel
    def equal_plainly(x: lw.Array, y: lw.Array) -> lw.i64:
        count = 0
        for i in lw.range(len(x)):
            count += x[i] == y[i]
            count -= x[i] > y[i]
        return count

    x, y = pairs(lw.i16, 1000)[0]
    assert equal(x, y) == equal_plainly(x, y) == (x == y).sum() - (x > y).sum()


# --- the operations ----------------------------------------------------------------------------------------------


def groups(bits: int) -> list[tuple[Type, Type]]:
    """Lanes of a vector's bits, and narrower ones."""
    found = []
    for narrow, wide in itertools.product(NARROW, [lw.u16, lw.i16, lw.i32, lw.u32, lw.i64, lw.u64]):
        if wide.bits > narrow.bits:
            found.append((vector_of(parse_type(wide.name), bits // wide.bits), vector_of(parse_type(narrow.name), bits // narrow.bits)))
    return found


def text(op: ops.Op, t: Type, s: Type) -> str:
    operands = "%a, %b" if len(op.operands) == 2 else "%a"
    return f"""
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %out: ptr, %out.n0: i64)
          array x: {s.element.name}[%x.n0] at %x
          array y: {s.element.name}[%y.n0] at %y
          array out: {t.element.name}[%out.n0] at %out written
          %a = load.{s.name} x[0]
          %b = load.{s.name} y[0]
          %d = {op.name}.{t.name}.{s.name} {operands}
          store.{t.name} %d, out[0]
        end
        """


def all_groups(runner: Runner) -> list[int]:
    return [bits for bits in (128, 256, 512) if bits <= runner.bits]


@pytest.mark.parametrize(("runner", "bits"), with_each(all_groups, lambda runner: runner.widest))
def test_sums_of_groups(runner: Runner, bits: int) -> None:
    for t, s in groups(bits):
        for op in (ops.SUM_GROUPS, ops.SUM_ABS_DIFF, ops.DOT):
            if op is ops.DOT and (s.bits, t.bits, s.signed) != (16, 32, True):
                continue
            code = compile(parse(text(op, t, s)), runner.target)
            for x, y in pairs(s.element, s.lanes):
                assert op.meaning is not None
                want = op.meaning(t, s, x, y) if len(op.operands) == 2 else op.meaning(t, s, x)
                out = np.zeros(t.lanes, t.element.dtype)
                runner.run(code, [x, y, out], filled(f"{op} {t} {s}", out, want))


def filled(name: str, out: Any, want: Any) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        assert out.tolist() == want.tolist(), name

    return check


def test_lanes_must_take_the_place_of_wider_ones() -> None:
    with pytest.raises(VerifyError, match="has no lanes that take the places"):
        verify(parse(text(ops.SUM_GROUPS, vector_of(I64, 4), vector_of(I64, 4))))
