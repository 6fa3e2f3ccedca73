"""Loops over Python's own numbers, rolled up again after staging: the results are those of the iterations as staged, and what comes of it has lanes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True, contract=False)
def blocks(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 32):
        most = a[32 * i]
        for k in range(32):
            most = lw.max(most, a[32 * i + k])
        for k in range(32):
            b[32 * i + k] = a[32 * i + k] + most


@lw.kernel(fastmath=True, contract=False)
def by_branches(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 20):
        most = a[20 * i]
        for k in range(1, 20):
            x = a[20 * i + k]
            if x > most:  # noqa: PLR1730 (as users write it)
                most = x
        b[i] = most


@lw.kernel(fastmath=True, contract=False)
def squares(a: lw.Array, b: lw.Array):
    """Loops inside each other, and a total of both."""
    for i in lw.range(b.shape[0] // 100):
        total = a[i] - a[i]
        for k in range(10):
            for j in range(10):
                total += a[100 * i + 10 * k + j]
        b[i] = total


@lw.kernel(fastmath=True, contract=False)
def backwards(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 16):
        for k in range(15, -1, -1):
            b[16 * i + k] = a[16 * i + k] + a[0]


@lw.kernel(fastmath=True, contract=False)
def several_totals(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 24):
        plus = a[24 * i]
        least = a[24 * i]
        for k in range(12):
            plus += a[24 * i + 2 * k]
            least = lw.min(least, a[24 * i + 2 * k + 1])
            plus -= a[24 * i + 2 * k + 1]
        b[i] = plus
        b[i + 1] = least


@lw.kernel(fastmath=True, contract=False)
def named_later(a: lw.Array, b: lw.Array):
    """The last element is named behind the loop, and the fourth: they stay as they are."""
    for i in lw.range(b.shape[0] // 16):
        total = a[16 * i]
        items = []
        for k in range(16):
            x = a[16 * i + k]
            total += x
            items.append(x)
        b[i] = total + x + items[3]


@lw.kernel(fastmath=True, contract=False)
def recurrence(a: lw.Array, b: lw.Array):
    """It is no total that goes from one to the next."""
    for i in lw.range(b.shape[0] // 16):
        x = a[16 * i]
        for k in range(16):
            x = x + x + a[16 * i + k]
        b[i] = x


@lw.kernel(fastmath=True, contract=False)
def in_place(a: lw.Array, b: lw.Array):
    """Each iteration reads what the one before has stored."""
    for i in lw.range(b.shape[0] // 16 - 1):
        for k in range(12):
            b[16 * i + k + 1] = b[16 * i + k] + a[16 * i + k]


@lw.kernel(fastmath=True, contract=False)
def uneven(a: lw.Array, b: lw.Array):
    """Constants that do not grow evenly all the way: only stretches in which they do are loops."""
    for i in lw.range(b.shape[0] // 64):
        total = a[64 * i]
        for k in [*range(12), *range(20, 40, 2), 5, 3, *range(50, 60)]:
            total += a[64 * i + k]
        b[i] = total


@lw.kernel(fastmath=True, contract=False)
def total_read_twice(a: lw.Array, b: lw.Array):
    """Each partial sum is stored as well."""
    for i in lw.range(b.shape[0] // 16):
        total = a[16 * i]
        for k in range(16):
            total += a[16 * i + k]
            b[16 * i + k] = total + total


@lw.kernel(fastmath=True, contract=False)
def read_before(a: lw.Array, b: lw.Array):
    for i in lw.range(b.shape[0] // 16):
        total = a[16 * i]
        for k in range(16):
            b[16 * i + k] = total
            total += a[16 * i + k]


KERNELS = [total_read_twice, read_before, blocks, by_branches, squares, backwards, several_totals, named_later, recurrence, in_place, uneven]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_staged(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.int64, np.uint8):
        for size in (1, 33, 211):
            rng = np.random.default_rng(size)
            # (Sums of floats are exact in any order.)
            a, b = rng.integers(0, 9, size + 64).astype(element), rng.integers(0, 9, size).astype(element)
            wanted = [a.copy(), b.copy()]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = [a, b], wanted: list[np.ndarray] = wanted) -> None:  # noqa: B006 (of this turn)
                for got, right in zip(given, wanted, strict=True):
                    np.testing.assert_array_equal(got, right)

            runner.run(runner.compiled(kernel, a, b), [a, b], same)


def done(kernel: lw.Kernel) -> list[str]:
    array = lw.Array[lw.f32, 1]
    return [step for nest in kernel.compile(array, array, target="x86-64-v4").nests() for step in nest.done]


def constant_loops(text: str) -> int:
    """How many loops have bounds that are constants."""
    return len(re.findall(r" = for -?\d+, -?\d+, ", text))


@pytest.mark.parametrize("kernel", [blocks, by_branches, squares, backwards, several_totals], ids=lambda kernel: kernel.function.__name__)
def test_they_have_lanes(kernel: lw.Kernel) -> None:
    assert any(step.startswith("lanes(") for step in done(kernel))


@pytest.mark.parametrize("kernel", [total_read_twice, read_before, named_later, recurrence, in_place], ids=lambda kernel: kernel.function.__name__)
def test_what_could_have_no_lanes_stays(kernel: lw.Kernel) -> None:
    array = lw.Array[lw.f32, 1]
    assert constant_loops(kernel.compile(array, array, target="x86-64-v4").ir("nests")) == 0


def test_special_values_come_out_the_same() -> None:
    @lw.kernel
    def scaled(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
        for i in lw.range(a.shape[0]):
            for k in range(19):
                b[i, k] = lw.max(a[i, k] * lw.f32(3), lw.f32(-0.0)) - a[i, 0]

    a = np.random.default_rng(0).standard_normal((7, 19)).astype(np.float32)
    a[1, :5] = [np.nan, np.inf, -np.inf, -0.0, 0.0]
    b = np.zeros_like(a)
    wanted = b.copy()
    lw.kernel(scaled.function, nests="off")(a, wanted)
    scaled(a, b)
    np.testing.assert_array_equal(b.view(np.uint32), wanted.view(np.uint32))


def test_sums_of_floats_in_their_order_stay() -> None:
    @lw.kernel
    def total(a: lw.Array[lw.f32], b: lw.Array[lw.f32]):
        for i in lw.range(b.shape[0]):
            s = lw.f32(0)
            for k in range(32):
                s += a[32 * i + k]
            b[i] = s

    # (Lanes may have a row each.)
    assert not any("lanes(k" in step for step in done(total))
    assert any("lanes" in step for step in done(lw.kernel(total.function, fastmath=True)))


def test_a_loop_around_that_could_have_lanes_keeps_them() -> None:
    @lw.kernel(fastmath=True)
    def filtered(a: lw.Array[lw.f32], w: lw.Array[lw.f32], b: lw.Array[lw.f32]):
        for i in lw.range(b.shape[0]):
            s = lw.f32(0)
            for k in range(16):
                s += a[i + k] * w[k]
            b[i] = s

    (nest,) = filtered.compile(target="x86-64-v4").nests()
    assert nest.done[0] == "lanes(i)" and len(nest.loops) == 1


def test_products_of_rows_stay_side_by_side() -> None:
    def kernel(count: int) -> lw.Kernel:
        @lw.kernel(fastmath=True)
        def distances(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
            for i in lw.range(c.shape[0]):
                for j in lw.range(c.shape[1]):
                    s = lw.f32(0)
                    for k in range(count):
                        d = a[i, k] - b[j, k]
                        s += d * d
                    c[i, j] = s

        return distances

    (few,) = kernel(12).compile(target="x86-64-v4").nests()
    assert few.done[0] == "skew(i=16, slant=0, lanes=16)" and len(few.loops) == 2
    # (Longer ones are loops again, and products with a transpose.)
    many = kernel(80).compile(target="x86-64-v4").nests()
    assert len(many[-1].loops) == 3 and any(step.startswith("lanes(") for step in many[-1].done)
    assert any("b turned round, block by block" in nest.done for nest in many)


def test_large_constant_nests_are_loops() -> None:
    @lw.kernel(fastmath=True)
    def product(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32], c: lw.Array[lw.f32]):
        for i in range(24):
            s = lw.f32(0)
            for k in range(24):
                s += a[i, k] * b[k]
            c[i] = s

    (nest,) = product.compile(target="x86-64-v4").nests()
    assert len(nest.loops) == 2
    a, b = np.random.default_rng(0).integers(0, 9, (24, 24)).astype(np.float32), np.arange(24, dtype=np.float32)
    c = np.zeros(24, np.float32)
    product(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_what_gains_nothing_is_left_as_it_was() -> None:
    """No lanes: each step looks up where the one before has said."""

    @lw.kernel(fastmath=True)
    def looked_up(a: lw.Array[lw.i64], t: lw.Array[lw.i64, 2], b: lw.Array[lw.i64]):
        for i in lw.range(b.shape[0]):
            s = lw.i64(0)
            for k in range(16):
                s = t[a[16 * i + k], s & 7]
            b[i] = s

    assert constant_loops(looked_up.compile(target="x86-64-v4").ir("nests")) == 0


def test_products_stay_side_by_side_where_nothing_else_is_done_beside_them() -> None:
    @lw.kernel(fastmath=True)
    def products(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
        for i in lw.range(c.shape[0]):
            for j in lw.range(c.shape[1]):
                s = lw.f32(0)
                for k in range(32):
                    s += a[i, k] * b[j, k]
                c[i, j] = s

    @lw.kernel(fastmath=True)
    def less_the_greatest(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
        for i in lw.range(c.shape[0]):
            m = lw.f32(-1000)
            for j in lw.range(c.shape[1]):
                s = lw.f32(0)
                for k in range(32):
                    s += a[i, k] * b[j, k]
                c[i, j] = s
                m = lw.max(m, s)
            for j in lw.range(c.shape[1]):
                c[i, j] -= m

    rng = np.random.default_rng(1)
    for kernel, rolled in ((products, False), (less_the_greatest, True)):
        text = kernel.compile(target="x86-64-v4").ir("nests")
        assert not rolled or constant_loops(text) > 0
        a, b, c = rng.random((9, 32), np.float32), rng.random((23, 32), np.float32), np.zeros((9, 23), np.float32)
        kernel(a, b, c)
        wanted = a @ b.T
        np.testing.assert_allclose(c, wanted - wanted.max(1, keepdims=True) if rolled else wanted, rtol=1e-4, atol=1e-4)
