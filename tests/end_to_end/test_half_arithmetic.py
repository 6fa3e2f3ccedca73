"""Arithmetic of f16 by the CPU's own instructions: results are those of NumPy's float16, and of machines that compute with f32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import HALF_ARITHMETIC, Runner
from tests.targets.conformance import admitted, limited, special_values
from tests.targets.test_conformance import CONVERSIONS, INTEGERS, PLAIN, branching, check, sources

import loopwright as lw
from loopwright.compiler import compile
from loopwright.ir import ops
from loopwright.ir.interpret import run as interpret
from loopwright.ir.parse import parse
from loopwright.types import F16, F32, F64, VOID, Type, vector_of

each_machine = pytest.mark.parametrize("runner", HALF_ARITHMETIC)
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    """The same bits, or both NaN."""
    return bool(((got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))).all())


def run(runner: Runner, kernel: Any, constants: tuple[Any, ...], args: list[Any], wanted: list[tuple[Any, Any]]) -> None:
    """Run a kernel, and hold arrays to what they should be."""
    code = runner.compiled(kernel, *(lw.Array[F16] if isinstance(a, np.ndarray) and a.dtype == np.float16 else a for a in args), *constants)

    def compare(_: Any) -> None:
        for number, (got, want) in enumerate(wanted):
            assert same(got, want), (kernel, number, np.flatnonzero(~((got == want) | (np.isnan(got) & np.isnan(want))))[:5])

    runner.run(code, args, compare)


@lw.kernel
def ones(x: lw.Array, out: lw.Array, lanes: lw.Const):
    n = len(x)
    for i in lw.lanes(n) if lanes else lw.range(n):
        out[i] = lw.sqrt(x[i])
        out[i + n] = -x[i]
        out[i + 2 * n] = lw.abs(x[i])
        out[i + 3 * n] = lw.floor(x[i])
        out[i + 4 * n] = lw.ceil(x[i])
        out[i + 5 * n] = lw.trunc(x[i])
        out[i + 6 * n] = lw.round(x[i])
        out[i + 7 * n] = x[i] * x[i] + x[i]


@each_machine
@pytest.mark.parametrize("lanes", [False, True])
def test_of_every_number(runner: Runner, lanes: bool) -> None:
    with np.errstate(all="ignore"):
        rounded = [np.floor(EVERY), np.ceil(EVERY), np.trunc(EVERY), np.rint(EVERY)]
        wanted = [np.sqrt(EVERY), -EVERY, np.abs(EVERY), *rounded, EVERY * EVERY + EVERY]
    out = np.zeros(len(wanted) << 16, np.float16)
    run(runner, ones, (lanes,), [EVERY.copy(), out], list(zip(np.split(out, len(wanted)), wanted, strict=True)))


@lw.kernel
def twos(x: lw.Array, y: lw.Array, out: lw.Array, lanes: lw.Const):
    n = len(x)
    for i in lw.lanes(n) if lanes else lw.range(n):
        a, b = x[i], y[i]
        out[i] = a + b
        out[i + n] = a - b
        out[i + 2 * n] = a * b
        out[i + 3 * n] = a / b
        out[i + 4 * n] = a % b
        out[i + 5 * n] = a // b
        out[i + 6 * n] = lw.copysign(a, b)
        out[i + 7 * n] = a * b - a
        out[i + 8 * n] = a if (a <= b) != (a == 2) else b * 0.1
        out[i + 9 * n] = a / 8 - b / 32768 + 0.1
        out[i + 10 * n] = lw.min(a, b) + lw.max(a, 0.3)


@each_machine
@pytest.mark.parametrize("lanes", [False, True])
def test_of_two_numbers(runner: Runner, lanes: bool) -> None:
    chooser = np.random.default_rng(5)
    x, y = (chooser.integers(0, 1 << 16, 20_000, dtype=np.uint16).view(np.float16) for _ in range(2))
    x[5_000:] = (chooser.normal(size=15_000) * 8).astype(np.float16)
    y[10_000:] = (chooser.normal(size=10_000) * 8).astype(np.float16)
    half = np.float16
    with np.errstate(all="ignore"):
        wanted = [x + y, x - y, x * y, x / y, x % y, x // y, np.copysign(x, y), x * y - x]
        wanted.append(np.where((x <= y) != (x == 2), x, y * half(0.1)))
        wanted.append(x / half(8) - y / half(32768) + half(0.1))
        wanted.append(np.where(y < x, y, x) + np.where(half(0.3) > x, half(0.3), x))
    out = np.zeros(len(wanted) * len(x), np.float16)
    run(runner, twos, (lanes,), [x, y, out], list(zip(np.split(out, len(wanted)), wanted, strict=True)))


@each_machine
@pytest.mark.parametrize("name", list(ops.COMPARISONS))
def test_branches_go_where_their_comparison_says(runner: Runner, name: str) -> None:
    with np.errstate(all="ignore"):
        special = np.unique(np.array(special_values(F16), np.float16))
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    meaning = ops.COMPARISONS[name].meaning
    assert meaning is not None
    for negated in (False, True):
        for constant in (None, 0.0, 1.5, 0.1):
            f = branching(F16, name, negated, constant, False, constant is None)
            other = b if constant is None else np.full(len(a), constant, np.float16)
            out = np.full(len(a), -1, np.int32)
            want = np.asarray(meaning(F16, VOID, a, other)) != negated

            def compare(_: Any, out: Any = out, want: Any = want) -> None:
                assert (out == want).all()

            runner.run(compile(f, runner.target), [len(a), a.copy(), b.copy(), out], compare)


#: The integer registers that are left; the stack pointer is none of them.
FEW = {"aarch64": tuple(range(8)), "x86": (0, 1, 2, 3, 6, 7, 8, 9)}


@each_machine
@pytest.mark.parametrize("t", [F16, vector_of(F16, 4), vector_of(F16, 8)], ids=str)
def test_with_few_registers_nearly_everything_is_spilled(runner: Runner, t: Type) -> None:
    target = limited(runner.target, FEW[runner.folder], tuple(range(8, 14)), (1, 2, 3))
    rows = [op for op in PLAIN if admitted(op, t) and op not in (ops.COMPRESS, ops.EXPAND, *ops.UNDER_MASKS)]
    check(runner, rows, t, VOID, ("spilled", "constants"), target=target)
    for element in (F32, F64, *INTEGERS):
        s = vector_of(element, t.lanes)
        for to, source in ((t, s), (s, t)):
            check(runner, [op for op in CONVERSIONS if source in sources(op, to, [source])], to, source, ("memory", "spilled"), target=target)


@lw.kernel
def totals(x: lw.Array, start: lw.f16, out: lw.Array):
    total, some, product, least, most = lw.f16(start), lw.f16(start), lw.f16(1), lw.f16(9), lw.f16(-9)
    for i in lw.lanes(len(x)):
        total += x[i] * x[i]
        if x[i] < 1:
            some -= x[i]
        if x[i] > 0.5:
            product *= x[i]
        least = lw.min(least, x[i])
        most = lw.max(x[i], most)
    out[0] = total
    out[1] = product
    out[2] = least
    out[3] = most
    out[4] = some


@lw.kernel
def two_totals(x: lw.Array, out: lw.Array, start: lw.f16):
    total, some = start, start
    for i in lw.lanes(len(x)):
        total += x[i]
        if x[i] < 1:
            some -= x[i] * 3
    out[0] = total
    out[1] = some


@each_machine
def test_totals_of_whole_numbers_are_exact(runner: Runner) -> None:
    for n in (0, 1, 8, 70, 333):
        x = np.random.default_rng(n).integers(-2, 5, n).astype(np.float16)
        for start in (0.5, -0.0):
            out = np.zeros(2, np.float16)

            def compare(_: Any, x: Any = x, start: float = start, out: Any = out) -> None:
                assert out[0] == start + x.sum() and out[1] == start - 3 * x[x < 1].sum()

            runner.run(runner.compiled(two_totals, lw.Array[F16], lw.Array[F16], F16), [x, out, start], compare)


@each_machine
@pytest.mark.parametrize("stage", ["halves", "vectorize", "unroll", "simplify", "select"])
def test_what_passes_leave_means_what_was_written(runner: Runner, stage: str) -> None:
    x = np.random.default_rng(7).integers(-2, 5, 100).astype(np.float16)
    out = np.zeros(2, np.float16)
    f = parse(two_totals.compile(lw.Array[F16], lw.Array[F16], F16, target=runner.name).ir(stage))
    interpret(f, x, out, 0.5)
    assert out[0] == 0.5 + x.sum() and out[1] == 0.5 - 3 * x[x < 1].sum()


@each_machine
def test_totals_are_those_of_f32_and_extremes_are_exact(runner: Runner) -> None:
    for n in (0, 1, 7, 64, 1001):
        x = (1 + np.random.default_rng(n).integers(-2, 3, n) / 1024).astype(np.float16)
        x[::5] = 2048 if n == 1001 else 0.25
        out = np.zeros(5, np.float16)
        with np.errstate(over="ignore"):
            products = np.multiply.reduce(np.where(x > 0.5, x, 1).astype(np.float64))

        def compare(_: Any, x: Any = x, out: Any = out, products: float = products) -> None:
            with np.errstate(all="ignore"):
                total = np.float32(0.75) + (x * x).astype(np.float64).sum()
                assert out[0] == np.float16(total) or abs(float(out[0]) - total) < 1e-3 * total
                assert out[1] == np.float16(products) or abs(float(out[1]) - products) < 1e-3 * products
                some = 0.75 - x[x < 1].astype(np.float64).sum()
                assert abs(float(out[4]) - some) <= 1e-3 * abs(some)
                assert out[2] == min([np.float16(9), *x]) and out[3] == max([np.float16(-9), *x])

        runner.run(runner.compiled(totals, lw.Array[F16], F16, lw.Array[F16]), [x, 0.75, out], compare)


@lw.kernel
def moved(x: lw.Array, y: lw.Array, at: lw.Array[lw.i32], out: lw.Array):
    n = len(at)
    for i in lw.lanes(n):
        out[i] = x[2 * i] - x[2 * i + 1]
        out[n + i] = x[n - 1 - i] * 3
        out[2 * n + i] = x[at[i]] + y[i]
        if y[i] > 0:
            out[3 * n + i] = y[i] / x[i]
    k = 0
    for i in lw.lanes(n):
        if x[i] < y[i]:
            out[4 * n + k] = x[i] + 1
            k += 1


@each_machine
def test_lanes_move_as_others_do(runner: Runner) -> None:
    for n in (1, 5, 8, 67, 400):
        chooser = np.random.default_rng(n)
        x, y = (chooser.normal(size=2 * n).astype(np.float16) for _ in range(2))
        y = y[:n].copy()
        at = chooser.integers(0, 2 * n, n).astype(np.int32)
        out = np.zeros(5 * n, np.float16)
        want = np.zeros(5 * n, np.float16)
        want[:n] = x[::2] - x[1::2]
        want[n : 2 * n] = x[:n][::-1] * np.float16(3)
        want[2 * n : 3 * n] = x[at] + y
        want[3 * n : 4 * n] = np.where(y > 0, y / x[:n], 0)
        kept = x[:n][x[:n] < y] + np.float16(1)
        want[4 * n : 4 * n + len(kept)] = kept

        def compare(_: Any, out: Any = out, want: Any = want) -> None:
            assert same(out, want)

        runner.run(runner.compiled(moved, lw.Array[F16], lw.Array[F16], lw.Array[lw.i32], lw.Array[F16]), [x, y, at, out], compare)


@lw.kernel
def greatest(x: lw.Array, out: lw.Array[lw.i64]):
    best, at = x[0], 0
    for i in lw.range(len(x)):
        if x[i] > best:
            best, at = x[i], i
    out[0] = at


@each_machine
def test_the_greatest_of_all_is_the_first_that_is(runner: Runner) -> None:
    for n in (1, 63, 64, 700):
        chooser = np.random.default_rng(n)
        x = chooser.integers(-9, 9, n).astype(np.float16)
        x[chooser.integers(0, n, n // 5)] = -0.0
        for unordered in (False, True):
            if unordered:
                x[chooser.integers(0, n, n // 3)] = np.nan
            out = np.zeros(1, np.int64)
            at = 0
            for i, value in enumerate(x):
                at = i if value > x[at] else at

            def compare(_: Any, out: Any = out, at: int = at) -> None:
                assert out[0] == at

            runner.run(runner.compiled(greatest, lw.Array[F16], lw.Array[lw.i64]), [x.copy(), out], compare)


@lw.kernel(fastmath=True)
def loose(x: lw.Array, out: lw.Array):
    total = lw.f16(0)
    for i in lw.range(len(x)):
        total += x[i]
    out[0] = total


@lw.kernel(fastmath=True)
def running(x: lw.Array, out: lw.Array):
    run = lw.f16(0)
    for i in lw.lanes(len(x)):
        run += x[i]
        out[i] = run


@each_machine
def test_sums_stay_in_range_under_fastmath(runner: Runner) -> None:
    whole = np.random.default_rng(3).integers(-3, 4, 1000).astype(np.float16)
    # Sums of the second and the third, and of every fourth one, are more than an f16 holds.
    for x in (whole, np.tile(np.array([-60000, 60000, 60000, -60000], np.float16), 250)):
        for kernel, want in ((loose, x.sum(dtype=np.float64)), (running, np.cumsum(x, dtype=np.float64))):
            out = np.zeros(want.size, np.float16)

            def compare(_: Any, out: Any = out, want: Any = want) -> None:
                assert (out == want).all()

            runner.run(runner.compiled(kernel, lw.Array[F16], lw.Array[F16]), [x, out], compare)


@lw.kernel(fastmath=True)
def divided(x: lw.Array, by: lw.f16):
    for i in lw.lanes(len(x)):
        x[i] = x[i] / by


@each_machine
def test_quotients_have_all_their_digits_under_fastmath(runner: Runner) -> None:
    for by in (3e-6, 60000.0):
        x = np.linspace(0.5, 1, 99).astype(np.float16) * np.float16(by)
        want = x / np.float16(by)

        def compare(_: Any, x: Any = x, want: Any = want) -> None:
            assert same(x, want)

        runner.run(runner.compiled(divided, lw.Array[F16], F16), [x, by], compare)


@each_machine
def test_bf16_is_kept_as_its_bits_beside(runner: Runner) -> None:
    @lw.kernel
    def both(x: lw.Array[lw.f16], y: lw.Array[lw.bf16]):
        for i in lw.lanes(len(x)):
            x[i] = lw.f16(y[i]) + x[i]

    stage = both.compile(target=runner.name).ir("halves")
    assert "bf16" not in stage and "add.f16" in stage
