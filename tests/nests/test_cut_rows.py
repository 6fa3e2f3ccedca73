"""Loops over rows whose inner loops hand values on, cut in front of the one that waits for its own results."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(fastmath=True)
def moving_sums(a: lw.Array, b: lw.Array, w: lw.Array):
    for i in range(a.shape[0]):
        s = a[0, 0] - a[0, 0]
        for j in range(w.shape[0]):
            s += a[i, j]
        for j in range(a.shape[1] - w.shape[0]):
            b[i, j] = s
            s += a[i, j + w.shape[0]] - a[i, j]


@lw.kernel(fastmath=True)
def of_nine(a: lw.Array, b: lw.Array, w: lw.Array):
    for i in range(a.shape[0]):
        s = a[0, 0] - a[0, 0]
        for j in range(9):
            s += a[i, j]
        for j in range(1, a.shape[1]):
            b[i, j] = s
            s += a[i, j] - a[i, j - 1]


@lw.kernel
def less_the_mean(a: lw.Array, b: lw.Array, w: lw.Array):
    for i in range(a.shape[0]):
        m = a[0, 0] - a[0, 0]
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
        s = m
        for j in range(a.shape[1]):
            s = min(s - a[i, j], m)
            b[i, j] = s


@lw.kernel
def three_loops(a: lw.Array, b: lw.Array, w: lw.Array):
    for i in range(a.shape[0]):
        m = a[i, 0]
        for j in range(1, a.shape[1]):
            m = max(m, a[i, j])
        s = m
        for j in range(1, a.shape[1]):
            s = max(s - a[i, j], a[i, j])
            b[i, j] = s
        for j in range(1, a.shape[1]):
            b[i, j] = b[i, j] + max(b[i, j - 1] - s, m)


@lw.kernel
def blocks_of_an_outer_loop(a: lw.Array, b: lw.Array, w: lw.Array):
    for q in range(2):
        for i in range(a.shape[0]):
            m = a[i, 0]
            for j in range(1, a.shape[1]):
                m = max(m, a[i, j] - q)
            s = m
            for j in range(a.shape[1]):
                s = max(s - b[i, j], a[i, j])
                b[i, j] = s


CUT = [moving_sums, of_nine, less_the_mean, three_loops, blocks_of_an_outer_loop]


@lw.kernel
def next_row_needs_it(a: lw.Array, b: lw.Array, w: lw.Array):
    """The first loop reads what the second has made of the row before."""
    for i in range(1, a.shape[0]):
        m = a[i, 0]
        for j in range(1, a.shape[1]):
            m = max(m, b[i - 1, j])
        s = m
        for j in range(a.shape[1]):
            s = max(s - a[i, j], m)
            b[i, j] = s


@lw.kernel
def rows_hand_on(a: lw.Array, b: lw.Array, w: lw.Array):
    """What the second loop leaves is where the next row's first one begins."""
    m = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            m = max(m, a[i, j])
        for j in range(a.shape[1]):
            m = max(m - a[i, j], a[i, j])
            b[i, j] = m


@lw.kernel
def along_columns(a: lw.Array, b: lw.Array, w: lw.Array):
    """Rows have lanes as they are: one behind the other in memory."""
    for i in range(a.shape[1]):
        m = a[0, i]
        for j in range(1, a.shape[0]):
            m = max(m, a[j, i])
        s = m
        for j in range(a.shape[0]):
            s = max(s - a[j, i], m)
            b[j, i] = s


OTHERS = [next_row_needs_it, rows_hand_on, along_columns]


def _given(element: type, rows: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    return [*[rng.integers(-3, 4, (rows, columns)).astype(element) for _ in range(2)], np.zeros(3, element)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, nests="off")
    for element in (np.float32, np.float64, np.int32, np.int16):
        compiled = runner.compiled(kernel, *_given(element, 3, 9))
        for rows, columns in ((1, 9), (2, 17), (63, 12), (64, 11), (65, 10), (131, 40)):
            given = _given(element, rows, columns)
            wanted = [each.copy() for each in given]
            written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", CUT + OTHERS, ids=lambda kernel: kernel.function.__name__)
def test_which_are_cut(kernel: lw.Kernel) -> None:
    done = [step for nest in kernel.compile(*_given(np.float32, 9, 9), target="x86-64-v4").nests() for step in nest.done]
    assert any("cut between its loops, 64 rows at a time" in step for step in done) == (kernel in CUT), done
    assert kernel not in CUT or any("skew(" in step or "unroll_and_jam(" in step for step in done), done


def test_arrays_that_overlap_run_as_written() -> None:
    """The second loop writes over what the first one of the next row reads."""
    memory, right = [np.random.default_rng(1).integers(-3, 4, 41 * 40).astype(np.float32) for _ in range(2)]
    for store, kernel in ((memory, less_the_mean), (right, lw.kernel(less_the_mean.function, nests="off"))):
        kernel(store[:1600].reshape(40, 40), store[40:].reshape(40, 40), np.zeros(3, np.float32))
    np.testing.assert_array_equal(memory, right)


@lw.kernel(contract=False)
def searched_under_a_condition(x: lw.Array[lw.f16], z: lw.Array[lw.f16], y: lw.Array[lw.f16], low: bool) -> lw.i64:
    n = lw.min(len(x), len(z), len(y))
    k = 0
    for i in lw.range(n):
        least = 0
        for j in lw.range(1, n):
            v = lw.i8(-5) - (lw.i8(-32) if low else lw.i8(76)) % lw.i8(n) + lw.i8(j)
            # (Much comes before what stays in order; what is computed for nothing is not in the way.)
            v = (v * v + lw.i8(1)) ^ (v * lw.i8(7) - lw.i8(9)) ^ (v & lw.i8(31)) ^ (v | lw.i8(64))
            v = (v * v + lw.i8(2)) ^ (v * lw.i8(5) - lw.i8(8)) ^ (v & lw.i8(15)) ^ (v | lw.i8(32))
            v = (v * v + lw.i8(3)) ^ (v * lw.i8(3) - lw.i8(7)) ^ (v & lw.i8(7)) ^ (v | lw.i8(16))
            v = (v * v + lw.i8(4)) ^ (v * lw.i8(9) - lw.i8(6)) ^ (v & lw.i8(3)) ^ (v | lw.i8(8))
            v = (v * v + lw.i8(5)) ^ (v * lw.i8(2) - lw.i8(5)) ^ (v & lw.i8(1)) ^ (v | lw.i8(4))
            if z[j] < z[least]:
                least = j
        if n > 0:
            y[lw.min(k, n - 1)] = lw.f16(254)
            x[lw.min(i, n - 1)] *= lw.f16(3)
        if least >= 5:
            z[k] = lw.f16(-28)
            k += 1
    return k


def test_the_copies_of_a_loop_that_is_cut_have_the_address_of_what_it_keeps() -> None:
    given = [np.random.default_rng(3).integers(-9, 9, 130).astype(np.float16) for _ in range(3)]
    lines = [line.strip() for line in str(searched_under_a_condition.compile(*given, True, target="aarch64-neon", keep=True).ir("nests")).splitlines()]
    # (An array's elements are accessed by the address that its declaration names: it is got once, in front of the loop and its copies.)
    bases = {line.split()[5] for line in lines if line.startswith("array kept")}
    got = [line.split()[0] for line in lines if "= local.ptr" in line]
    assert got and set(got) <= bases and len(set(got)) == len(got), (got, bases)
    assert any("= copy.ptr %kept" in line for line in lines)


def test_what_a_part_changes_under_a_condition_is_handed_on_otherwise() -> None:
    def neighbours(x, y, h, n):
        for i in range(n.shape[0]):
            low = max(i - 1, 0)
            high = i + 1
            if high > n.shape[0] - 1:
                h[(i * 2) % 16] += y[max(i - 2, 0)]
                high = 0
            x[i] = y[low] + y[high] * 3.0

    neighbours.__annotations__ = dict.fromkeys(("x", "y", "h", "n"), lw.Array)
    for n in (1, 2, 3, 4, 5, 17, 64, 65, 130):
        y = np.random.default_rng(n).random(n)
        wanted, found = (np.zeros(n), np.zeros(16)), (np.zeros(n), np.zeros(16))
        neighbours(wanted[0], y, wanted[1], np.zeros(n))
        lw.kernel(neighbours, contract=False)(found[0], y, found[1], np.zeros(n))
        assert found[0].tolist() == wanted[0].tolist() and found[1].tolist() == wanted[1].tolist(), n
