"""Accesses of plain loops that are backwards or a little apart, in lanes; elements stored next to each other, as vectors: results as written, and that it is done."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: Statements of a loop over ``i``, and whether it becomes one over lanes.
APART = {
    "backwards": ("b[i] = a[n - 1 - i]", True),
    "stored backwards": ("b[n - 1 - i] = a[i] * a[i]", True),
    "both backwards": ("b[n - 1 - i] = a[n - 1 - i] + a[i]", True),
    "pairs": ("b[i] = a[2 * i] + a[2 * i + 1]", True),
    "every second": ("b[i] = a[2 * i + 1]", True),
    "every third": ("b[i] = a[3 * i] + a[3 * i + 2]", True),
    "every fourth": ("b[i] = a[4 * i] - a[4 * i + 3]", True),
    "stored in turn": ("b[2 * i] = a[i]; b[2 * i + 1] = a[i] + a[i + 1]", True),
    "exchanged": ("x = a[2 * i]; a[2 * i] = a[2 * i + 1]; a[2 * i + 1] = x", True),
    "two of one": ("c[i] = a[2 * i] - a[2 * i + 1]; b[i] = a[2 * i] + a[2 * i + 1]", True),
    "with gaps": ("a[2 * i] = a[2 * i + 1]", False),
    "turned round in place": ("a[n - 1 - i] = a[i]", False),
    "every fifth": ("b[i] = a[5 * i]", False),
}


@pytest.mark.parametrize("name", APART)
def test_accesses_apart(name: str) -> None:
    statements, lanes = APART[name]
    body = "".join(f"        {statement}\n" for statement in statements.split("; "))
    source = f"def nest(a, b, c):\n    n = (a.shape[0] - 4) // 5\n    for i in range(n):\n{body}"
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.int16, np.uint8):
        fast, plain = kernel(source), kernel(source, nests="off")
        for n in (0, 1, 2, 7, 8, 9, 17, 33, 100):
            rng = np.random.default_rng(n)
            given = [rng.integers(0, 99, 5 * n + 4).astype(dtype) for _ in range(3)]
            wanted, found = [x.copy() for x in given], [x.copy() for x in given]
            plain(*wanted)
            fast(*found)
            np.testing.assert_array_equal(found, wanted)
        done = str([nest.done for nest in fast.compile(*given, target="x86-64-v3").nests()])
        assert ("lanes" in done) == lanes or dtype not in (np.float32, np.float64)


#: Statements of a loop over rows of so many elements, which become lanes.
ROWS = {
    "complex products": (2, "c[i, 0] = a[i, 0] * b[i, 0] - a[i, 1] * b[i, 1]; c[i, 1] = a[i, 0] * b[i, 1] + a[i, 1] * b[i, 0]"),
    "exchanged": (2, "x = a[i, 0]; a[i, 0] = a[i, 1]; a[i, 1] = x"),
    "the next row": (2, "a[i, 0] = a[i + 1, 0]; a[i, 1] = a[i + 1, 1]"),
    "three": (3, "c[i, 0] = a[i, 2] + b[i, 1]; c[i, 1] = a[i, 1] + b[i, 0]; c[i, 2] = a[i, 0]"),
    "some of four": (4, "c[i, 0] = a[i, 1] + a[i, 3]; c[i, 1] = a[i, 3]; c[i, 2] = b[0, 1]; c[i, 3] = a[i, 2]"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_few_elements(name: str, dtype: type) -> None:
    columns, statements = ROWS[name]
    body = "".join(f"        {statement}\n" for statement in statements.split("; "))
    source = f"def nest(a, b, c):\n    for i in range(a.shape[0] - 1):\n{body}"
    fast, plain = kernel(source), kernel(source, nests="off")
    # Next to each other, with room between, backwards.
    for n, where in itertools.product((1, 2, 8, 9, 17, 40), (np.s_[:, :columns], np.s_[:, 1 : columns + 1], np.s_[::-1, :columns])):
        wide = where[0].step is not None or where[1].start is None
        given = [np.random.default_rng(k).integers(0, 99, (n, columns + (not wide))).astype(dtype) for k in range(3)]
        wanted, found = [x.copy() for x in given], [x.copy() for x in given]
        plain(*[x[where] for x in wanted])
        fast(*[x[where] for x in found])
        np.testing.assert_array_equal(found, wanted)
    if dtype is not np.int16:
        assert "lanes" in str([nest.done for nest in fast.compile(*given, target="x86-64-v3").nests()])
        assert "load_part" in str(fast.compile(*given, keep=True, target="x86-64-v3").ir("vectorize"))


#: Bodies of a loop over ``m``, and how many elements of an iteration are stored by vectors of f32, and of f64.
ALIKE = {
    "products": (
        "for i in range(4):\n    for j in range(4):\n        s = a[m, i, 0] * b[m, 0, j]\n        for k in range(1, 4):\n            s += a[m, i, k] * b[m, k, j]\n        c[m, i, j] = s",
        16,
        16,
    ),
    "added to": ("for i in range(4):\n    for j in range(4):\n        c[m, i, j] += a[m, i, j] * b[m, 1, 2] + 1.5", 16, 16),
    "only some": ("for j in range(3):\n    c[m, 1, j] = a[m, 1, j] + a[m, 2, j]\nc[m, 2, 3] = a[m, 0, 0]", 0, 2),
    "one after the other": ("for j in range(1, 4):\n    c[m, 0, j] = c[m, 0, j - 1] + a[m, 0, j]\nc[m, 0, 0] = b[m, 0, 0]", 0, 0),
    "read in between": ("c[m, 0, 0] = a[m, 0, 0]\nb[m, 0, 0] = c[m, 0, 0]\nc[m, 0, 1] = a[m, 0, 1]\nc[m, 0, 2] = a[m, 0, 2]\nc[m, 0, 3] = a[m, 0, 3]", 0, 2),
    "read behind": ("for j in range(4):\n    c[m, 0, j] = a[m, 0, j]\n    b[m, 1, j] = c[m, 0, j] * 2.0", 4, 4),
    "not alike": ("for j in range(4):\n    c[m, 0, j] = a[m, 0, j] + b[m, 0, j] if j < 3 else a[m, 0, j] - b[m, 0, j]", 0, 2),
    "turned round": ("for j in range(4):\n    c[m, 0, j] = a[m, 0, 3 - j]", 0, 0),
}


def alike(name: str) -> str:
    return "def nest(a, b, c):\n    for m in range(a.shape[0]):\n" + "".join(f"        {line}\n" for line in ALIKE[name][0].split("\n"))


def matrices(dtype: object, n: int) -> list[np.ndarray]:
    return [np.random.default_rng(k).random((n, 4, 4)).astype(dtype) for k in range(3)]  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_computed_alike(name: str, dtype: type) -> None:
    fast, plain = kernel(alike(name)), kernel(alike(name), nests="off")
    for n in (0, 1, 5):
        wanted, found = matrices(dtype, n), matrices(dtype, n)
        plain(*wanted)
        fast(*found)
        np.testing.assert_array_equal(found, wanted)
    done = [words.split()[0] for nest in fast.compile(*found, target="x86-64-v3").nests() for words in nest.done if "elements of each" in words]
    assert sum(map(int, done)) == ALIKE[name][1 + (dtype is np.float64)]
    # Where what is stored is what is read, or lies a little beside it.
    for start in (0, 1):
        memory = np.random.default_rng(0).random(200).astype(dtype)
        same = memory.copy()
        for at, made in ((memory, plain), (same, fast)):
            one, other = at[16:80].reshape(4, 4, 4), at[16 + start : 80 + start].reshape(4, 4, 4)
            made(one, np.ones((4, 4, 4), dtype), other)
        np.testing.assert_array_equal(same, memory)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(runner: Runner) -> None:
    given = matrices(np.float32, 3)
    wanted = [x.copy() for x in given]
    kernel(alike("products"), nests="off")(*wanted)
    runner.run(runner.compiled(kernel(alike("products")), *given), given, lambda _: np.testing.assert_array_equal(given, wanted))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_rows_and_turns_on_every_machine(runner: Runner) -> None:
    statements = [*ROWS["complex products"][1].split("; "), "d[2 * i] = e[n - 1 - i]", "d[2 * i + 1] = e[i] - e[2 * i]"]
    source = "def nest(a, b, c, d, e):\n    n = a.shape[0] - 1\n    for i in range(n):\n" + "".join(f"        {statement}\n" for statement in statements)
    given = [np.random.default_rng(k).integers(0, 99, (22, 2) if k < 3 else 44).astype(np.float32) for k in range(5)]
    wanted = [x.copy() for x in given]
    kernel(source, nests="off")(*wanted)

    def same(_: object) -> None:
        for x, y in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(x, y)

    runner.run(runner.compiled(kernel(source), *given), given, same)
