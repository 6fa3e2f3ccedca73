"""Iterations jammed for what they share: what is stored and loaded again by each is stored and loaded once, and the results are those of the loops as written."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.text import parse, print_function
from loopwright.nests.steps.sharing import handed_on


@lw.kernel(contract=False)
def triangle(a: lw.Array, b: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(b.shape[1]):
            for j in lw.range(i + 1):
                a[i, j] += b[i, k] * b[k, j]


@lw.kernel(contract=False)
def columns(a: lw.Array, b: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(a.shape[1]):
            b[0, k] += a[i, k]


@lw.kernel(contract=False)
def last_rows(a: lw.Array, b: lw.Array):
    for i in lw.range(a.shape[0]):
        for k in lw.range(a.shape[1] - 1):
            b[0, k] = a[i, k] - b[0, k]
            b[1, k] = b[0, k] * a[i, k + 1]


@lw.kernel(contract=False)
def shifted(a: lw.Array, b: lw.Array):
    for i in lw.range(1, a.shape[0]):
        for k in lw.range(1, a.shape[1]):
            b[0, k] = b[0, k] + a[i, k]
            b[1, k] = b[0, k - 1] + b[1, k]


KERNELS = [triangle, columns, last_rows, shifted]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None and runner.target.vector_bits > 0))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("element", [np.float32, np.int32, np.uint8])
def test_as_written(runner: Runner, kernel: lw.Kernel, element: type) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for size in (1, 5, 9, 30):
        rng = np.random.default_rng(size)
        a, b = rng.integers(0, 9, (size, size)).astype(element), rng.integers(0, 9, (size + 2, size)).astype(element)
        wanted = [a.copy(), b.copy()]
        written(*wanted)

        def same(_: object, given: list[np.ndarray], wanted: list[np.ndarray] = wanted) -> None:
            for got, right in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(got, right)

        given = [a, b]
        runner.run(runner.compiled(kernel, *given), given, lambda result, given=given, same=same: same(result, given))


def test_what_is_done_is_told() -> None:
    nest = lw.kernel(triangle.function).compile(lw.Array[lw.f32, 2], lw.Array[lw.f32, 2], target="x86-64-v3").nests()[0]
    assert nest.done[:2] == ["lanes(j)", "unroll_and_jam(k=8)"]


@pytest.mark.parametrize("overlap", [0, 1, 3])
def test_arrays_that_overlap(overlap: int) -> None:
    memory = np.arange(400, dtype=np.int32).reshape(20, 20) % 11
    results = []
    for run in (columns.function, columns):
        work = memory.copy()
        run(work[:9], work[9 - overlap :])
        results.append(work)
    np.testing.assert_array_equal(*results)


def body(text: str) -> list[str]:
    f = parse(f"""
    function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %i: i64, %a: f32)
      array x: f32[%x.n0] at %x written
      array y: f32[%y.n0] at %y written
      {text}
    end
    """)
    f.code = handed_on(f, f.code)
    return [line.strip() for line in print_function(f).split("\n") if line.strip().startswith(("%", "store"))]


def test_what_is_stored_is_handed_on() -> None:
    got = body("""
      %1 = load.f32 x[%i]
      %2 = add.f32 %1, %a
      store.f32 %2, x[%i]
      %3 = load.f32 x[%i]
      %4 = add.f32 %3, %a
      store.f32 %4, x[%i]
    """)
    assert len(got) == 4 and sum(line.startswith("store") for line in got) == 1 and sum("load" in line for line in got) == 1


def test_what_may_be_read_is_stored() -> None:
    got = body("""
      store.f32 %a, x[%i]
      %j = add.i64 %i, 1
      %1 = load.f32 x[%j]
      %2 = add.f32 %1, %a
      store.f32 %2, x[%i]
    """)
    assert sum(line.startswith("store") for line in got) == 2


def test_what_another_store_may_have_changed_is_loaded() -> None:
    got = body("""
      store.f32 %a, x[%i]
      %j = add.i64 %i, 1
      store.f32 0.0, x[%j]
      %k = add.i64 %i, 1
      %1 = load.f32 x[%i]
      %2 = load.f32 x[%k]
      store.f32 %1, y[%i]
      store.f32 %2, y[%k]
    """)
    assert sum("load" in line for line in got) == 1  # (%k is %j: what it loads has just been stored.)
