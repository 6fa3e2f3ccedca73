"""Loops whose index is divided by a number, cut into strips as long as that."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

# Of all kernels: `a` has n elements, `b` room for what is made of n, and k and w are any numbers, w no less than 1.


@lw.kernel(contract=False)
def twice_each(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        b[j] = a[j // 2]


@lw.kernel(contract=False)
def between_neighbours(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        b[j] = a[j // 2] + a[(j + 1) // 2]


@lw.kernel(contract=False)
def patterns(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        b[j] = a[j % 3] * 2 + a[(j + 4) % 3]


@lw.kernel(contract=False)
def of_two_lengths(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        b[j] = a[j // 2] - a[j % 3]


@lw.kernel(contract=False)
def by_bits(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        b[j] = a[j >> 2] + a[j & 3]


@lw.kernel(contract=False)
def blocks_with_scales(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(a.shape[0]):
        b[j] = a[j] * a[j // 20] + a[j % 20]


@lw.kernel(contract=False)
def of_so_many(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(a.shape[0]):
        b[j] = a[j] * a[j // w] - a[j % w]


@lw.kernel(contract=False)
def from_somewhere(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(k, b.shape[0]):
        b[j] = a[j // 2]


@lw.kernel(contract=False)
def from_the_middle(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(5, b.shape[0] - 2):
        b[j] = a[(j - 3) // 3]


@lw.kernel(contract=False)
def below_nought(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(-7, a.shape[0] - 7):
        b[j + 7] = a[(j + 16) // 5] * (j % 5 + 1)
        if j % 5 == 2:
            b[j + 7] = a[(j + 16) // 5]


@lw.kernel(contract=False)
def moved_along(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for i in range(3):
        for j in range(b.shape[0]):
            if (i + j + k) % 3 == 0:
                b[j] = b[j] + a[j // 3] * (i + 1)


@lw.kernel(contract=False)
def every_other(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for c in range(2):
        for j in range(1, a.shape[0] - 1):
            if j % 2 == c:
                a[j] = a[j - 1] + a[j + 1] - b[j]


@lw.kernel(contract=False)
def sum_with_signs(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    s = a[0]
    for j in range(1, a.shape[0]):
        if j % 2 == 0:
            s += a[j]
        else:
            s -= a[j]
    b[0] = s


@lw.kernel(contract=False)
def nibbles(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(b.shape[0]):
        if j % 2 == 0:
            b[j] = a[j // 2] + 3
        else:
            b[j] = a[j // 2] * 3


@lw.kernel(contract=False)
def two_loops(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for i in range(2):
        for j in range(b.shape[0]):
            b[j] = b[j] + a[j // 2]
        for j in range(a.shape[0]):
            b[j] = b[j] * a[(i + j) % 4]


@lw.kernel(contract=False)
def goes_on_with_the_last(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(1, b.shape[0]):
        b[j] = b[j - 1] + a[j // 2]


CUT = [
    twice_each,
    between_neighbours,
    patterns,
    of_two_lengths,
    by_bits,
    blocks_with_scales,
    of_so_many,
    from_somewhere,
    from_the_middle,
    below_nought,
    moved_along,
    every_other,
    sum_with_signs,
    nibbles,
    two_loops,
    goes_on_with_the_last,
]


@lw.kernel(contract=False)
def of_what_is_looked_up(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(a.shape[0]):
        b[j] = a[lw.i64(a[j]) % 2]


@lw.kernel(contract=False)
def left_early(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(a.shape[0]):
        if a[j] == 2:
            break
        b[j] = a[j // 2]


@lw.kernel(contract=False)
def wrapped_around(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(a.shape[0]):
        b[j] = a[(j + 1) % a.shape[0]]


@lw.kernel(contract=False)
def only_computed_with(a: lw.Array, b: lw.Array, k: lw.i64, w: lw.i64):
    for j in range(w * 3):
        b[j] = b[j] * (j // 7)


OTHERS = [of_what_is_looked_up, left_early, wrapped_around, only_computed_with]
#: Those that go through both arrays alike; those that read k or w.
AS_LONG = [blocks_with_scales, of_so_many, two_loops, below_nought, every_other, sum_with_signs, wrapped_around, left_early, of_what_is_looked_up]
BY_NUMBERS = [of_so_many, from_somewhere, moved_along, only_computed_with]


def _given(kernel: lw.Kernel, element: type, size: int) -> list[np.ndarray]:
    """Arrays in which all indices of a kernel are."""
    rng = np.random.default_rng(size)
    more = 41 if kernel in (blocks_with_scales, of_so_many) else 7
    n = max(size, more) + 1
    return [rng.integers(0, 3, shape).astype(element) for shape in (n, n if kernel in AS_LONG else 2 * size - size % 2)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.float32, np.float64, np.uint8):
        compiled = runner.compiled(kernel, *_given(kernel, element, 3), 0, 1)
        for size in (3, 4, 7, 21, 40, 70):
            for k, w in ((0, 1), (3, 8), (1000, 23)) if kernel in BY_NUMBERS else ((0, 1),):
                given = _given(kernel, element, size)
                if kernel is only_computed_with and 3 * w > len(given[1]):
                    continue
                wanted = [each.copy() for each in given]
                written(*wanted, k, w)

                def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
                    for got, right in zip(given, wanted, strict=True):
                        np.testing.assert_array_equal(got, right)

                runner.run(compiled, [*given, k, w], same)


@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_cut(kernel: lw.Kernel) -> None:
    (nest, *others) = kernel.compile(*_given(kernel, np.float32, 50), 3, 9, target="x86-64-v4").nests()
    done = [step for one in (nest, *others) for step in one.done]
    assert any("in strips of" in step for step in done) == (kernel in CUT), done
