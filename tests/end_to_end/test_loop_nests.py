"""Nests of plain loops, whose iterations are put into another order where that is faster: the same results, bit for bit, for all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.parse import parse


@lw.kernel(contract=False)
def both(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j])


@lw.kernel(contract=False)
def gauss_seidel(a: lw.Array[lw.f32, 2]):
    for i in lw.range(1, a.shape[0] - 1):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * lw.f32(0.25)


@lw.kernel(contract=False)
def recursive_filter(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2]):
    for i in lw.range(y.shape[0]):
        for j in lw.range(2, y.shape[1]):
            y[i, j] = lw.f32(0.2) * x[i, j] + lw.f32(0.3) * y[i, j - 1] + lw.f32(0.4) * y[i, j - 2]


@lw.kernel(contract=False)
def in_columns(x: lw.Array[lw.f64, 2], y: lw.Array[lw.f64, 2]):
    for i in lw.range(y.shape[0] - 1, -1, -1):
        s = 1.5
        for j in lw.range(y.shape[1]):
            s = s / (x[i, j] + 2.0)
            y[i, j] = s
        y[i, 0] = s


@lw.kernel(contract=False)
def backwards(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0] - 2, 0, -2):
        for j in lw.range(a.shape[1] - 2, -1, -1):
            a[i, j] = lw.sqrt(a[i, j + 1] * a[i + 1, j])


@lw.kernel(contract=False)
def slanted(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j + 1])


@lw.kernel(contract=False)
def prefix(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + x[i]


@lw.kernel
def table(x: lw.Array[lw.u8], y: lw.Array[lw.u8], t: lw.Array[lw.i32, 2]):
    for i in lw.range(1, t.shape[0]):
        for j in lw.range(1, t.shape[1]):
            cost = lw.min(t[i - 1, j], t[i, j - 1]) + 1
            same = t[i - 1, j - 1] + lw.i32(x[i - 1] != y[j - 1])
            t[i, j] = lw.min(cost, same)


@lw.kernel(contract=False)
def product(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2], c: lw.Array[lw.f64, 2]):
    for i in lw.range(c.shape[0]):
        for j in lw.range(c.shape[1]):
            s = 0.0
            for k in lw.range(b.shape[0]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


@lw.kernel(contract=False)
def smoothed(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for i in lw.range(1, a.shape[0] - 1):
        for j in lw.range(1, a.shape[1] - 1):
            b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * lw.f32(0.25)


@lw.kernel(contract=False)
def clipped(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            if a[i, j] > 1.0:
                b[i, j] = a[i, j] * 2.0
            else:
                b[i, j] = b[i, j] - 1.0


@lw.kernel
def total(x: lw.Array[lw.i32, 2], y: lw.Array[lw.i32, 2]):
    s = lw.i32(7)
    least = lw.i32(1000)
    for i in lw.range(x.shape[0]):
        for j in lw.range(x.shape[1]):
            s -= x[i, j]
            least = lw.min(least, x[i, j])
            y[i, j] = x[i, j] * 3
    if y.shape[0] > 0:
        y[0, 0] = s + least


@lw.kernel(contract=False)
def in_place(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(a.shape[1]):
            a[i, j] = a[i, j] * 0.5 + b[i, j]


@lw.kernel
def branching(x: lw.Array[lw.u8], y: lw.Array[lw.u8], t: lw.Array[lw.i32, 2]):
    for i in lw.range(1, t.shape[0]):
        for j in lw.range(1, t.shape[1]):
            cost = lw.min(t[i - 1, j], t[i, j - 1]) + 1
            same = t[i - 1, j - 1]
            if x[i - 1] != y[j - 1]:
                same += 1
            t[i, j] = lw.min(cost, same)


@lw.kernel
def greatest_of_rows(x: lw.Array[lw.i32, 2], y: lw.Array[lw.i32, 2]):
    for i in lw.range(x.shape[0]):
        most = lw.i32(-1000)
        product = lw.i32(1)
        for j in lw.range(x.shape[1]):
            most = lw.max(most, x[i, j])
            product *= x[i, j]
        y[i, 0] = most
        y[i, 1] = product


NESTS = [
    greatest_of_rows,
    product,
    smoothed,
    clipped,
    total,
    in_place,
    both,
    gauss_seidel,
    recursive_filter,
    in_columns,
    backwards,
    slanted,
    prefix,
    table,
    branching,
]
SIZES = [(0, 0), (1, 1), (1, 9), (2, 2), (2, 3), (3, 2), (3, 9), (5, 4), (9, 1), (9, 17), (17, 8), (23, 31), (40, 37)]


def arguments(kernel: lw.Kernel, height: int, width: int) -> list[Any]:
    rng = np.random.default_rng(height * 100 + width)
    if kernel is prefix:
        return [rng.random(width) + 0.5, rng.random(width) + 0.5]
    if kernel in (table, branching):
        start = np.zeros((height, width), np.int32)
        start[:1] = np.arange(width)
        start[:, :1] = np.arange(height)[:, None]
        return [rng.integers(0, 3, max(height - 1, 0)).astype(np.uint8), rng.integers(0, 3, max(width - 1, 0)).astype(np.uint8), start]
    if kernel is greatest_of_rows:
        return [rng.integers(-9, 9, (height, width)).astype(np.int32), np.zeros((height, 2), np.int32)]
    if kernel is total:
        return [rng.integers(-99, 99, (height, width)).astype(np.int32) for _ in range(2)]
    if kernel is product:
        return [rng.random((height, 5)), rng.random((5, width)), rng.random((height, width))]
    dtype = np.float32 if kernel in (gauss_seidel, recursive_filter, smoothed) else np.float64
    count = 2 if kernel in (recursive_filter, in_columns, smoothed, clipped, in_place) else 1
    return [(rng.random((height, width)) + 0.5).astype(dtype) for _ in range(count)]


def types_of(kernel: lw.Kernel) -> list[Any]:
    return [lw.Array[getattr(lw, {"f": "f", "u": "u", "i": "i"}[a.dtype.kind] + str(8 * a.dtype.itemsize)), a.ndim] for a in arguments(kernel, 2, 2)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("kernel", NESTS, ids=[k.__name__ for k in NESTS])
def test_the_same_as_python(kernel: lw.Kernel, runner: Runner) -> None:
    code = runner.compiled(kernel, *types_of(kernel))
    for height, width in SIZES:
        wanted = arguments(kernel, height, width)
        with np.errstate(all="ignore"):
            kernel.function(*wanted)
        given = arguments(kernel, height, width)

        def same(_: Any, given: list[Any] = given, wanted: list[Any] = wanted) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(code, given, same)


@pytest.mark.parametrize("kernel", [recursive_filter, smoothed, in_place])
@pytest.mark.parametrize("runner", runners())
def test_overlapping_arrays(kernel: lw.Kernel, runner: Runner) -> None:
    """What is written through one array and read through another runs in the order of the plain loops."""
    if not runner.calls_back:
        pytest.skip("arguments come back one by one, and overlap no more")
    code = runner.compiled(kernel, *types_of(kernel))
    dtype = arguments(kernel, 2, 2)[0].dtype
    for rows, columns in ((1, 0), (0, 1), (2, 3), (0, 0)):
        for exchanged in (False, True):
            results = []
            for run in (kernel.function, code):
                memory = (np.random.default_rng(1).random((12, 20)) + 0.5).astype(dtype)
                x, y = memory[rows:, columns:][:9, :15], memory[:9, :15]
                run(*((y, x) if exchanged else (x, y)))
                results.append(memory)
            np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("kernel", [product, smoothed, clipped, total, in_place])
def test_loops_that_carry_nothing_become_lanes(kernel: lw.Kernel) -> None:
    code = kernel.compile(*types_of(kernel), target="x86-64-v3")
    assert " lanes" in code.ir("nests") and "masked_store" in code.ir("vectorize")


def test_products_keep_several_sums() -> None:
    assert jammed(product) >= 4


def jammed(kernel: lw.Kernel, target: str = "x86-64-v3") -> int:
    """How many elements the innermost loop that stores the most stores in an iteration."""
    f = parse(kernel.compile(*types_of(kernel), target=target).ir("nests"))
    most = count = 0
    for instr in f.code:
        if instr.op.opens or instr.op is ops.END:
            count = 0
        elif instr.op is ops.STORE or instr.op is ops.STORE_STRIDED:
            count += instr.type.lanes or 1
            most = max(most, count)
    return most


@pytest.mark.parametrize("kernel", [both, gauss_seidel, recursive_filter, in_columns, backwards, slanted, table, branching])
def test_waiting_loops_are_jammed(kernel: lw.Kernel) -> None:
    assert jammed(kernel) >= 2


def test_what_cannot_be_jammed_is_not() -> None:
    f = parse(prefix.compile(*types_of(prefix), target="x86-64-v3").ir("nests"))
    # (Only innermost loops, which are short, take several steps at once.)
    for instr, inner in zip(f.code, f.code[1:], strict=False):
        assert not (instr.op is ops.FOR and inner.op is ops.FOR and f.const_values[~instr.args[2]] != 1)
    assert len([instr for instr in f.code if instr.op is ops.STORE]) == 5


@pytest.mark.parametrize("kernel", [both, recursive_filter, prefix])
def test_what_was_just_stored_is_not_loaded_again(kernel: lw.Kernel) -> None:
    code = kernel.compile(*types_of(kernel), target="x86-64-v3").ir("nests")
    loop = code[code.rindex("for ") : code.rindex("store")]
    assert loop.count("load") == {both: 1, recursive_filter: 1, prefix: 1}[kernel]


def test_checked_code_keeps_its_order() -> None:
    code = both.compile(*types_of(both), target="x86-64-v3", check=True)
    loops = code.ir("nests").split("store")
    # The last version, with tests, has an access of each kind, and stops at the first outside.
    assert loops[-2].count("fail") >= loops[-2].count("load") >= 2
