"""Inner loops of few iterations, written out: the results are those of the loops as written, and the loops around them become lanes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def means(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        total = a[4 * i] - a[4 * i]
        for k in lw.range(4):
            total += a[4 * i + k]
        b[i] = total


@lw.kernel(contract=False)
def pooled(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 2):
        most = a[2 * i]
        for k in lw.range(2):
            for j in lw.range(3, 0, -1):
                if j == 2:
                    most += a[2 * i + k]
                elif a[2 * i + j] > most:
                    most = a[2 * i + j]
                else:
                    most -= 1
        b[i] = most


@lw.kernel(contract=False)
def sorted_rows(a: lw.Array, b: lw.Array):
    for m in lw.range(b.shape[0] // 4):
        for i in lw.range(3):
            for j in lw.range(3 - i):
                if a[4 * m + j] > a[4 * m + j + 1]:
                    kept = a[4 * m + j]
                    a[4 * m + j] = a[4 * m + j + 1]
                    a[4 * m + j + 1] = kept
        b[m] = a[4 * m]


@lw.kernel(contract=False)
def first_of(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        found = a[i] - a[i]
        for k in lw.range(5):
            if a[i + k] > 5:
                found = a[i + k]
                break
            found += 1
        b[i] = found


@lw.kernel(contract=False)
def exchanged(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        x = a[i]
        y = a[i + 1]
        for _ in lw.range(3):
            x, y = y, x
        for _ in lw.range(0):
            x = y
        b[i] = x - y


@lw.kernel(contract=False)
def bits(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0]):
        count = a[i] - a[i]
        rest = a[i]
        for _ in lw.range(9):
            count += rest
            rest = rest * 3
        b[i] = count


@lw.kernel(contract=False)
def carried(a: lw.Array, b: lw.Array):
    for i in lw.range(1, b.shape[0]):
        for k in lw.range(3):
            a[3 * i + k] += a[3 * i + k - 3]
        b[i] = a[3 * i]


@lw.kernel(contract=False)
def totals(a: lw.Array, b: lw.Array):
    total = a[0] - a[0]
    most = a[0]
    less = a[0]
    for i in lw.range(b.shape[0]):
        x = a[i]
        for k in lw.range(3):
            total += a[3 * i + k] + x
            most = lw.max(most, a[3 * i + k])
            less -= x
            x = a[3 * i + k]
    b[0] = total + most + less


@lw.kernel(contract=False)
def filtered(a: lw.Array, b: lw.Array):
    for i in lw.range(3, b.shape[0]):
        s = a[i]
        for k in lw.range(3):
            s += b[i - k - 1]
        b[i] = s


@lw.kernel(contract=False)
def packed(a: lw.Array, b: lw.Array):
    for i in lw.range(a.shape[0] // 8):
        x = a[0] - a[0]
        for k in lw.range(8):
            x = x + x + a[8 * i + k]
        b[i] = x


@lw.kernel(contract=False)
def around(a: lw.Array, b: lw.Array):
    for i in lw.range(2, b.shape[0] - 2):
        most = a[i]
        for k in lw.range(i - 2, i + 3):
            most = max(most, a[k])
        for k in lw.range(i + 2, i, -1):
            most -= a[k]
        b[i] = most


@lw.kernel(contract=False)
def from_where_it_is(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 4):
        for j in lw.range(4 * i, 4 * i + 4):
            for k in lw.range(j, j + 2):
                b[j] += a[k] * (k - j + 1)


KERNELS = [around, from_where_it_is, packed, means, pooled, sorted_rows, first_of, exchanged, bits, carried, totals, filtered]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.int64, np.uint8):
        for size in (1, 4, 9, 37):
            rng = np.random.default_rng(size)
            a, b = rng.integers(0, 9, 4 * size + 8).astype(element), np.zeros(size, element)
            wanted = [a.copy(), b.copy()]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = [a, b], wanted: list[np.ndarray] = wanted) -> None:  # noqa: B006 (of this turn)
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, a, b), [a, b], same)


@pytest.mark.parametrize("kernel", [means, bits, around], ids=lambda kernel: kernel.function.__name__)
def test_the_loop_around_runs_over_lanes(kernel: lw.Kernel) -> None:
    array = lw.Array[lw.f32, 1]
    (nest, *_) = kernel.compile(array, array, target="x86-64-v4").nests()
    assert "lanes(i)" in nest.done and "written out" in nest.done[0]
    assert [loop.name for loop in nest.loops] == ["i"]


def test_what_is_too_long_stays() -> None:
    @lw.kernel
    def long(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 1]):
        for i in lw.range(a.shape[0]):
            total = lw.f32(0)
            for k in lw.range(17):
                total += a[i, k]
            b[i] = total

    assert not any("written out" in step for nest in long.compile(target="x86-64-v4").nests() for step in nest.done)


def test_what_waits_for_itself_is_written_out() -> None:
    array = lw.Array[lw.u8]
    (nest,) = packed.compile(array, array, target="x86-64-v4").nests()
    assert nest.done[0] == "k written out"


def test_totals_stay_totals() -> None:
    @lw.kernel
    def greatest(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32]):
        most = a[0, 0]
        for i in lw.range(a.shape[0]):
            for k in lw.range(3):
                most = lw.max(most, a[i, k])
        b[0] = most

    (nest,) = greatest.compile(target="x86-64-v4").nests()
    assert nest.done == ["k written out", "lanes(i)"]


def test_rows_of_few_elements_are_carried_in_registers() -> None:
    """Vectors would wait for what they have just stored."""

    @lw.kernel
    def added(a: lw.Array[lw.f64, 2]):
        for i in lw.range(1, a.shape[0]):
            for j in lw.range(4):
                a[i, j] += a[i - 1, j]

    (nest,) = added.compile(target="x86-64-v4").nests()
    assert any(step.startswith("4 loads of what came out") for step in nest.done) or nest.carried == 4
