"""A loop made one loop for each of those in it: what one of them leaves in a variable, and another reads by way of arithmetic, keeps them together; what each writes anew, or adds to a total, does not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def of_rows(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], e: lw.Array[lw.f32]):
    for i in lw.range(a.shape[0]):
        q = lw.f32(0)
        m = a[i, 0]
        w = b[i, 0]
        for k in lw.range(a.shape[1]):
            e[i] += b[i, k]
            w = lw.min(w, b[i, k])
            m = lw.max(m, a[i, k])
        for k in lw.range(a.shape[1]):
            q += a[i, k]
        e[i] = q + m + w


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_what_is_read_by_way_of_arithmetic(runner: Runner) -> None:
    rng = np.random.default_rng(1)
    for rows, columns in ((2, 3), (5, 7), (3, 20)):
        a, b = (rng.integers(0, 50, (rows, columns)).astype(np.float32) for _ in range(2))
        arrays = [a, b, np.zeros(rows, np.float32)]
        wanted = a.sum(1) + a.max(1) + b.min(1)
        runner.run(runner.compiled(of_rows, *arrays), arrays, lambda _, arrays=arrays, wanted=wanted: np.testing.assert_array_equal(arrays[2], wanted))


@lw.kernel
def exchanges(a: lw.Array[lw.u8], b: lw.Array[lw.u8], c: lw.Array[lw.i32, 2]):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            v = min(c[i - 1, j], c[i, j - 1]) + 1
            s = c[i - 1, j - 1]
            if a[i] != b[j]:
                s += 1
            v = min(v, s)
            if i > 1 and j > 1:  # noqa: SIM102 (as it is written down)
                if a[i] == b[j - 1] and a[i - 1] == b[j]:
                    v = min(v, c[i - 2, j - 2] + 1)
            c[i, j] = v


@lw.kernel
def squares(a: lw.Array[lw.u8, 2], b: lw.Array[lw.u8], c: lw.Array[lw.i32, 2]):
    m = lw.i32(0)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            if a[i, j] == b[0]:
                c[i, j] = 0
            elif i == 0 or j == 0:
                c[i, j] = 1
            else:
                c[i, j] = min(c[i - 1, j - 1], min(c[i - 1, j], c[i, j - 1])) + 1
            m = max(m, c[i, j])
    c[0, 0] = m


@lw.kernel
def two_tables(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    t = lw.i32(0)
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            v = a[i - 1, j]
            if a[i, j - 1] > v:  # noqa: PLR1730 (a variable written in a branch)
                v = a[i, j - 1]
            a[i, j] = a[i, j] + v
            t += v
        for j in range(1, b.shape[1]):
            v = b[i - 1, j]
            if b[i, j - 1] < v:  # noqa: PLR1730
                v = b[i, j - 1]
            b[i, j] = b[i, j] + v
            t -= b[i, j]
    c[0, 0] = t


def _arguments(kernel: object, rows: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows * columns)
    letters = rng.integers(0, 3, (rows, columns)).astype(np.uint8)
    table = np.zeros((rows, columns), np.int32)
    table[0], table[:, 0] = np.arange(columns), np.arange(rows)
    if kernel is exchanges:
        return [letters[:, 0].copy(), letters[0].copy(), table]
    if kernel is squares:
        return [(letters > 0).astype(np.uint8), np.zeros(1, np.uint8), table]
    return [rng.integers(0, 99, (rows, columns)).astype(np.int32), rng.integers(0, 99, (rows, columns)).astype(np.int32), table]


@pytest.mark.parametrize("kernel", [exchanges, squares, two_tables])
def test_each_table_is_walked_by_diagonals(kernel: lw.Kernel) -> None:
    plain = lw.kernel(kernel.function, nests="off")
    for rows, columns in ((1, 1), (1, 40), (40, 1), (2, 2), (17, 19), (40, 70), (70, 33)):
        given = _arguments(kernel, rows, columns)
        wanted = [array.copy() for array in given]
        plain(*wanted)
        kernel(*given)
        for x, y in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
    text = str(kernel.compile(*given, target="x86-64-v4").nests())
    # (With what it is made of, a table is at twice as many places in memory as a strip has rows.)
    rows = 8 if kernel is squares else 16
    assert text.count(f"    skew(i={rows}, slant=1, lanes={rows})\n") == (2 if kernel is two_tables else 1), text


def test_tables_that_are_one_run_as_written() -> None:
    given, wanted = (_arguments(two_tables, 40, 40) for _ in range(2))
    two_tables(given[0], given[0], given[2])
    lw.kernel(two_tables.function, nests="off")(wanted[0], wanted[0], wanted[2])
    np.testing.assert_array_equal(given[0], wanted[0])
    assert given[2][0, 0] == wanted[2][0, 0]


def test_totals_of_floats_keep_their_order() -> None:
    source = "def nest(a, b, c):\n    t = lw.f32(0)\n    for i in range(1, a.shape[0]):\n"
    for name in "ab":
        source += f"        for j in range(1, a.shape[1]):\n            {name}[i, j] = min({name}[i - 1, j], {name}[i, j - 1]) + {name}[i, j]\n            t += {name}[i, j]\n"
    space: dict[str, object] = {"lw": lw}
    exec(source + "    c[0] = t\n", space)  # noqa: S102 (the loops given)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array[lw.f32, 2], b=lw.Array[lw.f32, 2], c=lw.Array[lw.f32])
    rng = np.random.default_rng(1)
    given = [rng.random((50, 50)).astype(np.float32), rng.random((50, 50)).astype(np.float32), np.zeros(1, np.float32)]
    wanted = [array.copy() for array in given]
    kernel = lw.kernel(function, source=source + "    c[0] = t\n")
    for fast, times in ((False, 0), (True, 2)):
        made = lw.kernel(function, source=source + "    c[0] = t\n", fastmath=fast)
        assert str(made.compile(*given, target="x86-64-v4").nests()).count("    skew(i=16, slant=1, lanes=16)\n") == times
    lw.kernel(function, source=source + "    c[0] = t\n", nests="off")(*wanted)
    kernel(*given)
    for x, y in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(x, y)
