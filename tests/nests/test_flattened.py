"""Arrays of one dimension that hold rows, and indices that wrap around: results as written on every machine, for sizes from one element on, and what becomes of the loops."""

from __future__ import annotations

import random
import textwrap
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

#: Bodies of functions over ``x``, ``y`` and rows of ``m``, and whether a loop runs in lanes or by diagonals.
ROWS = {
    "one for one": (
        """
        for i in range(n):
            for j in range(m):
                y[i * m + j] = x[i * m + j] * 3 + y[i * m + j]
        """,
        "lanes(j)",
    ),
    "stencil": (
        """
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                y[i * m + j] = x[i * m + j - 1] + x[j + 1 + m * i] + x[(i - 1) * m + j] + x[i * m + m + j]
        """,
        "lanes(j)",
    ),
    "in place": (
        """
        for i in range(1, n):
            for j in range(1, m):
                x[i * m + j] = x[i * m + j - 1] + 2 * x[(i - 1) * m + j]
        """,
        "skew",
    ),
    "product": (
        """
        for i in range(n):
            for k in range(n):
                for j in range(m):
                    y[i * m + j] += x[i * n + k] * x[k * m + j]
        """,
        "lanes(j)",
    ),
    "triangle": (
        """
        for k in range(n):
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    x[i * n + j] -= x[i * n + k] * x[k * n + j]
        """,
        "lanes(j)",
    ),
    "below": (
        """
        for i in range(n):
            for j in range(i):
                y[i * n + j] = x[i * n + j] - x[j * n + i]
        """,
        "lanes(j)",
    ),
    "three dimensions": (
        """
        for i in range(1, 3):
            for j in range(1, n - 1):
                for k in range(1, m - 1):
                    y[(i * n + j) * m + k] = x[(i * n + j) * m + k + 1] - x[(i * n + j - 1) * m + k] + x[((i - 1) * n + j) * m + k]
        """,
        "lanes(k)",
    ),
    "a row and others": (
        """
        for i in range(1, n):
            for j in range(m):
                x[i * m + j] = x[j] + x[i * m]
        """,
        "lanes(j)",
    ),
    "behind another": (
        """
        for k in range(n * m):
            x[k] = x[k] + 1
        for i in range(1, n):
            for j in range(m):
                x[i * m + j] += x[(i - 1) * m + j]
        for k in range(1, n * m):
            x[k] -= x[k - 1]
        """,
        "lanes(j)",
    ),
    "around the end of rows": (
        """
        for i in range(n - 1):
            for j in range(m):
                y[i * m + j] = x[i * m + j + 1]
        """,
        "lanes(j)",
    ),
    "in place around the end of rows": (
        """
        for i in range(n - 1):
            for j in range(m):
                x[i * m + j + 1] = x[i * m + j] * 3
        """,
        "",
    ),
    "columns": (
        """
        for j in range(m):
            for i in range(1, n):
                x[i * m + j] += x[(i - 1) * m + j]
        """,
        "lanes(j)",
    ),
}

#: The same of indices that wrap around.
WRAPPED = {
    "next": ("for j in range(n):|    y[j] = x[(j + 1) % n]", "lanes(j)"),
    "both sides": ("for j in range(n):|    y[j] = x[(j + 1) % n] - 3 * x[(j - 1) % n] + x[(j + n - 1) % n]", "lanes(j)"),
    "far": ("for j in range(n):|    y[j] = x[(j + 5) % n] + x[(j - 4) % n]", "lanes(j)"),
    "from 2 on": ("for j in range(2, n):|    y[j] = x[(j + 1) % n] - x[(j - 2) % n]", "lanes(j)"),
    "a length before": ("for j in range(n):|    y[j] = x[(j - n + 1) % n]", "lanes(j)"),
    "backwards": ("for j in range(n):|    y[j] = x[(n - j) % n] + 2 * x[(n - 1 - j) % n]", "lanes(j)"),
    "stored": ("for j in range(n):|    y[(j + 7) % n] = x[j]", "lanes(j)"),
    "known": ("for j in range(20):|    y[j] = x[(j + 19) % 20] * 3 - x[(j + 4) % 20]", "lanes("),
    "chosen": ("for j in range(n):|    a = j + 1 if j + 1 < n else 0|    b = j - 1 if j > 0 else n - 1|    y[j] = x[a] - x[b]", "lanes(j)"),
    "stored where it is loaded": ("for j in range(n):|    x[j] = x[j] + x[(j + 1) % n]", "lanes(j)"),
    "rows that wrap": (
        "for i in range(n):|    for j in range(m):|        y[i * m + j] = x[i * m + (j + 1) % m] - x[((i + 1) % n) * m + j] + x[((i - 1) % n) * m + (j - 1) % m]",
        "lanes(j)",
    ),
    "more than once around": ("for j in range(2 * n):|    y[0] += x[j % n] * j", ""),
    "another length": ("for j in range(n):|    y[j] = x[(j + 1) % m]", "lanes(j)"),
}


@cache
def kernel_of(body: str, **settings: Any) -> Any:
    """The kernel of a body; lines may be apart by ``|``."""
    array = "lw.Array[lw.i32]"
    lines = textwrap.indent(textwrap.dedent(body.replace("|", "\n")).strip(), "    ")
    text = f"def f(x: {array}, y: {array}, n: lw.i64, m: lw.i64):\n{lines}\n"
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102 (the texts of this file)
    return lw.kernel(source=text, **settings)(scope["f"])


BODIES = {**ROWS, **WRAPPED}
SIZES = ((1, 1), (2, 3), (3, 2), (5, 40), (9, 9), (33, 70))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", BODIES)
def test_as_written(name: str, runner: Runner) -> None:
    body = BODIES[name][0]
    fast, plain = kernel_of(body), kernel_of(body, nests="off")
    for n, m in SIZES:
        if name == "known" and n != 33:
            continue
        r = np.random.default_rng(n)
        given = [r.integers(-50, 50, 3 * (n + 1) * (max(n, m) + 1), dtype=np.int32) for _ in range(2)]
        wanted = [a.copy() for a in given]
        plain(*wanted, n, m)

        def same(_: Any, given: Any = given, wanted: Any = wanted, n: int = n, m: int = m) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{name}, {n} x {m}")

        runner.run(runner.compiled(fast), [*given, n, m], same)


@pytest.mark.parametrize("name", BODIES)
def test_arrays_that_overlap(name: str) -> None:
    body = BODIES[name][0]
    fast, plain = kernel_of(body), kernel_of(body, nests="off")
    n = m = 21
    for shift in (0, 1, 20, 21, 22, 500, 1400, 1452, 1453):
        found, wanted = (np.arange(3 * 22 * 22 + 1600, dtype=np.int32) % 91 for _ in range(2))
        size = 3 * 22 * 22
        plain(wanted[:size], wanted[shift : shift + size], n, m)
        fast(found[:size], found[shift : shift + size], n, m)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{name}, {shift}")


@pytest.mark.parametrize("name", BODIES)
def test_what_becomes_of_the_loops(name: str) -> None:
    body, done = BODIES[name]
    report = str(kernel_of(body).compile(target="x86-64-v3").nests())
    assert done in report
    assert done or "lanes(" not in report


def test_rows_have_dimensions() -> None:
    code = kernel_of(ROWS["stencil"][0]).compile(target="x86-64-v3", keep=True)
    assert "x[i - 1, j]" in str(code.nests()) or "array x: i32[%" in str(code.ir("nests"))
    report = str(kernel_of(ROWS["in place"][0]).compile(target="x86-64-v3").nests())
    assert "flow of x, from x[i, j] (line 4) to x[i, j - 1] (line 4): (0, 1)" in report


def random_body(chooser: random.Random) -> str:
    """Loops over rows whose accesses lie within a row or two of the iteration's, with steps around the ends of rows now and then."""
    reach = chooser.choice([0, 1, 1, 2])
    rows = chooser.choice(["n", "n - 1", "n - 2"])
    lines = [f"for i in range(2, {rows}):", f"    for j in range({reach}, m - {reach}):"]

    def place() -> str:
        i, j = chooser.randint(-2, 2), chooser.randint(-reach - (chooser.random() < 0.1), reach + (chooser.random() < 0.1))
        row = chooser.choice([f"(i + {i}) * m", f"i * m + {i} * m", f"m * (i + {i})"])
        return f"{row} + (j + {j}) % m" if chooser.random() < 0.15 else chooser.choice([f"{row} + j + {j}", f"j + {j} + {row}"])

    for _ in range(chooser.randint(1, 2)):
        store = chooser.choice("xyy")
        terms = [f"{chooser.choice('xy')}[{place()}] * {chooser.randint(-3, 3)}" for _ in range(chooser.randint(1, 4))]
        lines.append(f"        {store}[{place()}] {chooser.choice(['=', '=', '+='])} {' + '.join(terms)}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_over_rows(seed: int) -> None:
    body = random_body(random.Random(seed))
    fast, plain = kernel_of(body), kernel_of(body, nests="off")
    for n, m in ((4, 5), (7, 33), (12, 4)):
        r = np.random.default_rng(seed)
        found = [r.integers(-9, 9, (n + 6) * m + 99, dtype=np.int32) for _ in range(2)]
        wanted = [a.copy() for a in found]
        plain(*[a[40:] for a in wanted], n, m)
        fast(*[a[40:] for a in found], n, m)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{body}\n{n} x {m}")


def test_places_computed_from_a_quotient_in_front() -> None:
    @lw.kernel
    def every_second(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for v in range(b.shape[0]):
            if v % 2 == 0:
                b[v] = a[v * a.shape[0]]
            else:
                b[v] = 1

    a, b = np.array([7], np.int32), np.zeros(1, np.int32)
    every_second(a, b)
    assert b[0] == 7
    every_second(a, b[:0])


@lw.kernel
def both_ways_around(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2]):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            s = lw.i32(0)
            for p in range(5):
                for q in range(5):
                    s += a[(i + p) % n, (j + q) % n] * b[p, q]
            c[i, j] = s


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_many_indices_that_wrap_around_alike(runner: Runner) -> None:
    for n in (1, 2, 3, 4, 5, 6, 9, 25):
        r = np.random.default_rng(n)
        a, b = r.integers(-9, 9, (n, n), dtype=np.int32), r.integers(-9, 9, (5, 5), dtype=np.int32)
        wanted = sum(b[p, q] * np.roll(a, (-p, -q), (0, 1)) for p in range(5) for q in range(5))
        given = [a, b, np.zeros((n, n), np.int32)]
        runner.leaves(runner.compiled(both_ways_around, *given), given, [a, b, wanted])
    assert "lanes(j)" in str(both_ways_around.compile(target="x86-64-v4").nests())
