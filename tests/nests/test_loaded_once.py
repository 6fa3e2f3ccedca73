"""Loops that stay as written, but for elements that they load again behind a store: loaded once where arrays do not overlap, and as written where they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def bookings(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32], d: lw.Array[lw.i32]):
    for q in lw.range(a.shape[0]):
        d[lw.min(a[q], b[q])] += c[q]
        d[lw.max(a[q], b[q]) + 1] -= c[q]


@lw.kernel
def in_every_iteration(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32], d: lw.Array[lw.i32]):
    for q in lw.range(a.shape[0]):
        d[a[q]] = d[(a[q] + b[0]) & 7] ^ c[1]


@lw.kernel
def under_a_condition(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32], d: lw.Array[lw.i32]):
    """The second is not behind the first."""
    for q in lw.range(a.shape[0]):
        if a[q] > 3:
            d[a[q]] += c[q]
        else:
            d[b[q]] -= c[q]


@lw.kernel
def of_what_it_stores(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32], d: lw.Array[lw.i32]):
    for q in lw.range(a.shape[0]):
        d[a[q]] += 1
        c[q] = d[a[q]]


#: By kernel: what may be told apart lets it load less.
KERNELS = {bookings: True, in_every_iteration: True, under_a_condition: False, of_what_it_stores: True}


def given(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.integers(0, 7, max(n, size)).astype(np.int32)[: n if size == 1 else None] for size in (1, 1, 2, 9)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    for n in (2, 3, 40):
        args = given(n)
        wanted = [a.copy() for a in args]
        lw.kernel(kernel.function, nests="off")(*wanted)

        def compare(_: Any, args: Any = args, wanted: Any = wanted) -> None:
            for a, b in zip(args, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(runner.compiled(kernel, *args), args, compare)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_asked_for(kernel: lw.Kernel) -> None:
    said = str(kernel.compile(*given(40), target="x86-64-v3").nests())
    assert ("asked in front of it" in said) == KERNELS[kernel], said


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_arrays_that_overlap_run_as_written(kernel: lw.Kernel) -> None:
    """What is stored is what is loaded next. (All indices, which change by one for each element at most, are inside.)"""
    for shift in (98, 118, 121, 150):
        results = []
        for made in (kernel, lw.kernel(kernel.function, nests="off")):
            memory, ones = np.full(400, 20, np.int32), np.ones(40, np.int32)
            made(memory[shift : shift + 30], memory[121:151], ones, memory[100:300])
            results += [memory, ones]
        np.testing.assert_array_equal(results[0], results[2])
        np.testing.assert_array_equal(results[1], results[3])


def test_loops_that_are_written_out() -> None:
    """Of 190 loads of each iteration 27 are left."""

    def congruences(a, b, c):
        for m in range(a.shape[0]):
            for i in range(3):
                for j in range(3):
                    total = lw.f64(0)
                    for k in range(3):
                        inner = lw.f64(0)
                        for n in range(3):
                            inner += lw.f64(b[m, k, n]) * lw.f64(a[m, j, n])
                        total += lw.f64(a[m, i, k]) * inner
                    c[m, i, j] = total

    congruences.__annotations__ = dict.fromkeys("abc", lw.Array)
    a, b = np.random.default_rng(1).random((2, 20, 3, 3)).astype(np.float32)
    wanted, found = np.zeros((20, 3, 3)), np.zeros((20, 3, 3))
    kernel = lw.kernel(congruences, contract=False)
    congruences(a, b, wanted)
    kernel(a, b, found)
    assert found.tolist() == wanted.tolist()
    code = kernel.compile(a, b, found, keep=True).ir("simplify")
    assert code.count("= load_at.f32") <= 190 + 27
    together = np.random.default_rng(2).random((20, 3, 3))
    plain = together.copy()
    lw.kernel(congruences, contract=False)(together, b, together)
    lw.kernel(congruences, contract=False, nests="off")(plain, b, plain)
    assert together.tolist() == plain.tolist()


@lw.kernel(contract=False)
def left_between_stores(b: lw.Array[lw.f64], c: lw.Array[lw.f64]):
    for _ in range(b.shape[0]):
        for q in range(5):
            c[1] += 1
            if b[q] >= 5:
                break


@pytest.mark.parametrize("first", range(6))
def test_an_iteration_may_end_between_two_stores(first: int) -> None:
    b, c = np.arange(5, dtype=np.float64) + 5 - first, np.zeros(3)
    left_between_stores(b, c)
    assert c[1] == 5 * min(first + 1, 5)
