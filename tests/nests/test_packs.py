"""Accesses of plain loops that are backwards or a little apart, in lanes; elements stored next to each other, as vectors: results as written, and that it is done."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

from loopwright.ir.parse import parse
from loopwright.ir.verify import verify

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
    "every fifth": ("b[i] = a[5 * i]", True),
    "every fifth and seventh": ("b[i] = a[5 * i + 1] + a[5 * i]; c[i] = a[5 * i + 3]", True),
    "fives stored": ("b[5 * i + 4] = a[i]; b[5 * i] = a[i + 1]; b[5 * i + 1] = a[i] + 2; b[5 * i + 2] = a[i] + 3; b[5 * i + 3] = c[i]", True),
    "every ninth": ("b[i] = a[9 * (i // 2)]", False),
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
    "five": (5, "c[i, 0] = a[i, 4] + b[i, 1]; c[i, 3] = a[i, 1]; c[i, 1] = a[i, 1] + b[i, 0]; c[i, 2] = a[i, 0]; c[i, 4] = b[i, 4]"),
    "some of seven": (7, "c[i, 0] = a[i, 1] + a[i, 6]; c[i, 1] = a[i, 3] + b[i, 6]"),
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


@pytest.mark.parametrize("columns", [3, 4, 5])
def test_pixels_of_which_not_all_is_read(columns: int) -> None:
    """Rows of four of which three are read are as usual as rows of three."""
    source = "def nest(a, b, c):\n    for i in range(b.shape[0]):\n        b[i] = a[i, 0] + a[i, 1] * 2 + a[i, 2] * 3 + c[i, 1] - c[i, 0]"
    fast, plain = kernel(source), kernel(source, nests="off")
    for dtype in (np.float32, np.uint8):
        for n in (0, 1, 2, 9, 33, 130):
            shapes = ((n, columns), (n,), (n, 2 if columns < 5 else 4))
            given = [np.random.default_rng(k).integers(0, 99, shape).astype(dtype) for k, shape in enumerate(shapes)]
            wanted, found = [x.copy() for x in given], [x.copy() for x in given]
            plain(*wanted)
            fast(*found)
            np.testing.assert_array_equal(found[1], wanted[1])
        text = str(fast.compile(*given, keep=True, target="x86-64-v4").ir("vectorize"))
        assert "load_part3" in text and "load_part4" in text


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
    "a fixed matrix": (
        "for i in range(4):\n    s = b[0, i, 0] * a[m, 2, 0]\n    for k in range(1, 4):\n        s += b[0, i, k] * a[m, 2, k]\n    c[m, 1, i] = s",
        4,
        4,
    ),
    "a matrix somewhere": (
        "p = b.shape[0] - 1\nfor i in range(4):\n    s = b[p, i, 0] * a[m, 2, 0]\n    for k in range(1, 4):\n        s += b[p, i, k] * a[m, 2, k]\n    c[m, 1, i] = s",
        4,
        4,
    ),
    "numbers of their own": ("for j in range(4):\n    c[m, 3, j] = a[m, 3, j] * (j + 0.5) - b[0, 3 - j, 3 - j]", 4, 4),
    "numbers that are stored to": (
        "w = c[0, 0, 1]\nx = c[0, 1, 1]\ny = c[0, 2, 1]\nz = c[0, 3, 1]\n"
        + "\n".join(f"c[m, 2, {k}] = {name} + a[m, 0, {k}]" for k, name in enumerate("wxyz")),
        0,
        2,
    ),
    "a number and which iteration it is": (
        "p = b.shape[0]\nc[m, 0, 0] = 0.25 * a[m, 0, 0] + 0.5 * p\nc[m, 0, 1] = 0.25 * a[m, 0, 1] + 0.5 * m\nb[1 % b.shape[0], 0, 0] = 1",
        0,
        0,
    ),
    "a matrix that is stored to": ("for i in range(4):\n    c[m, i, 1] = a[m, 1, i]\nfor i in range(4):\n    c[m, 2, i] = c[0, i, 1] + a[m, 2, 0]", 0, 0),
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
    verify(parse(fast.compile(*found, keep=True, target="x86-64-v3").ir("nests")))
    # Where what is stored is what is read, or lies a little beside it.
    for start in (0, 1):
        memory = np.random.default_rng(0).random(200).astype(dtype)
        same = memory.copy()
        for at, made in ((memory, plain), (same, fast)):
            one, other = at[16:80].reshape(4, 4, 4), at[16 + start : 80 + start].reshape(4, 4, 4)
            made(one, np.ones((4, 4, 4), dtype), other)
        np.testing.assert_array_equal(same, memory)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", ["products", "a fixed matrix", "numbers of their own"])
def test_on_every_machine(runner: Runner, name: str) -> None:
    given = matrices(np.float32, 3)
    wanted = [x.copy() for x in given]
    kernel(alike(name), nests="off")(*wanted)
    runner.run(runner.compiled(kernel(alike(name)), *given), given, lambda _: np.testing.assert_array_equal(given, wanted))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("size", [5, 6, 8])
def test_vectors_by_a_fixed_matrix(runner: Runner, size: int) -> None:
    source = (
        f"def nest(a, b, c):\n    for i in lw.range(b.shape[0]):\n        for r in lw.range({size}):\n            s = b[i, r] - b[i, r]\n"
        f"            for k in lw.range({size}):\n                s += a[r, k] * b[i, k]\n            c[i, r] = s"
    )
    for dtype in (np.float32, np.float64, np.int32):
        given = [np.random.default_rng(rows).integers(-9, 9, (rows, size)).astype(dtype) for rows in (size, 7, 7)]
        wanted = [*given[:2], given[1] @ given[0].T]
        code = runner.compiled(kernel(source), *given)
        runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])
        if runner.target.name.startswith("x86-64"):
            (nest,) = code.nests()
            assert nest.done[:2] == ["k written out", "r written out"]
            # (Five elements, and six of 32 bits, are no whole vectors.)
            assert ("lanes(i)" if size == 5 or (size == 6 and dtype is not np.float64) else "vectors") in nest.done[-1], nest.done
    # The matrix is not read where there is nothing to multiply, and may be in what is written.
    fast, plain = kernel(source), kernel(source, nests="off")
    fast(np.zeros((0, size)), np.zeros((0, size)), np.zeros((0, size)))
    results = []
    for made in (plain, fast):
        memory = np.random.default_rng(0).integers(-9, 9, 300).astype(np.float64)
        made(memory[: size * size].reshape(size, size), memory[100 : 100 + 7 * size].reshape(7, size), memory[size : 8 * size].reshape(7, size))
        results.append(memory)
    np.testing.assert_array_equal(*results)


#: Elements of rows of two or four stored in another order, and whether vectors are shuffled for it, or taken apart and put together.
ORDERS = {
    "reversed": (4, "c[4 * i + k] = a[4 * i + 3 - k]", True),
    "pairs exchanged": (2, "c[2 * i + k] = a[2 * i + 1 - k]", True),
    "in place": (2, "x = a[2 * i]; a[2 * i] = a[2 * i + 1]; a[2 * i + 1] = x", True),
    "one in all": (4, "c[4 * i + k] = a[4 * i + 2]", True),
    "from beside": (2, "a[2 * i] = a[2 * i + 3]; a[2 * i + 1] = a[2 * i + 2]", False),
    "changed": (4, "c[4 * i + k] = a[4 * i + 3 - k] + b[i]", False),
    "complex products": (
        2,
        "c[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1]; c[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i]",
        False,
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_elements_stored_in_another_order(name: str) -> None:
    width, statements, shuffled = ORDERS[name]
    body = "".join(f"            {statement}\n" for statement in statements.split("; "))
    source = f"def nest(a, b, c):\n    for i in lw.range((a.shape[0] - 8) // {width}):\n        for k in lw.range({width if ' k' in body else 1}):\n{body}"
    fast, plain = kernel(source), kernel(source, nests="off")
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        for n in (0, 1, 5, 64, 131):
            given = [np.random.default_rng(k).integers(0, 9, width * n + 8).astype(dtype) for k in range(3)]
            wanted, found = [x.copy() for x in given], [x.copy() for x in given]
            plain(*wanted)
            fast(*found)
            np.testing.assert_array_equal(found, wanted)
        for level in ("x86-64-v3", "x86-64-v4"):
            text = str(fast.compile(*given, keep=True, target=level).ir("vectorize"))
            assert name == "from beside" or f"store_parts{width}" in text or "shuffle_bytes" in text, (dtype, level)
            assert ("shuffle_bytes" in text) == (shuffled and width * dtype().itemsize <= 16), (dtype, level)


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


#: Rows of so many elements, and whether those of bytes and of f32, and those of f64, are dealt out to vectors, by pairs or (on x86-64, some with AVX-512 alone) as they are.
WIDE = {5: (True, True), 6: (True, None), 7: (True, True), 8: (True, None)}


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("width", WIDE)
def test_rows_of_more_elements(runner: Runner, width: int) -> None:
    statements = [
        "b[i] = " + " + ".join(f"a[i, {k}] * {k + 1} - d[{width} * i + {k}]" for k in range(width)),
        f"f[i] = d[{width} * i + 1]",
        *[f"c[i, {k}] = a[i, {width - 1 - k}] + 1" for k in range(width)],
        *[f"e[{width} * i + {k}] = e[{width} * i + {k}] + a[i, {k}]" for k in range(width)],
    ]
    source = "def nest(a, b, c, d, e, f):\n    for i in range(b.shape[0]):\n" + "".join(f"        {line}\n" for line in statements)
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        for n in (0, 1, 5, 33, 70):
            shapes: list[Any] = [(n, width), n, (n, width), width * n, width * n, n]
            given = [np.random.default_rng(k).integers(0, 99, shape).astype(dtype) for k, shape in enumerate(shapes)]
            wanted = [x.copy() for x in given]
            kernel(source, nests="off")(*wanted)
            code = runner.compiled(kernel(source), *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])
        if runner.target.vector_bits:
            text = str(kernel(source).compile(*given, keep=True, target=runner.target.name).ir("vectorize"))
            dealt = WIDE[width][dtype is np.float64]
            if dealt is None:
                dealt = runner.target.name.startswith("x86-64-v4")
            elif width % 2:
                dealt = runner.target.name.startswith("x86-64")
            assert ("load_part" in text) == dealt, (dtype, width)


@pytest.mark.parametrize("columns", [5, 7, 8, 9])
def test_sums_of_a_few_columns(columns: int) -> None:
    """Written out, they are rows of a few elements of which each lane could take one."""
    source = f"def nest(a, b, c):\n    for i in range(a.shape[0]):\n        for k in range({columns}):\n            c[k] += a[i] * b[i, k]"
    for dtype in (np.float32, np.int64):
        for n in (0, 1, 3, 40):
            given = [np.random.default_rng(k).integers(0, 9, shape).astype(dtype) for k, shape in enumerate([n, (n, columns), columns])]
            wanted, found = [x.copy() for x in given], [x.copy() for x in given]
            kernel(source, nests="off")(*wanted)
            kernel(source)(*found)
            np.testing.assert_array_equal(found[2], wanted[2])
