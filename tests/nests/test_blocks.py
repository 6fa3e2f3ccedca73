"""Register blocks: rows and vectors that an innermost loop does at once."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def product(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
    for i in lw.range(c.shape[0]):
        for j in lw.range(c.shape[1]):
            total = lw.f32(0.0)
            for k in lw.range(b.shape[0]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@lw.kernel(fastmath=True)
def columns(a: lw.Array[lw.f64, 2], s: lw.Array[lw.f64]):
    for j in lw.range(a.shape[1]):
        total = 0.0
        for i in lw.range(a.shape[0]):
            total += a[i, j]
        s[j] = total


@lw.kernel
def triangle(a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]):
    for i in lw.range(b.shape[0]):
        for j in lw.range(b.shape[1]):
            total = 0.0
            for k in lw.range(i, b.shape[0]):
                total += a[k, i] * b[k, j]
            b[i, j] = total


@lw.kernel
def two_in_one(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 3], n: lw.i64) -> lw.i32:
    """Statements that become two loops, in which blocks might be had of the one as of both together."""
    most = lw.i32(0)
    count = lw.i32(100)
    for i in lw.range(0, n - 1):
        for j in lw.range(1, a.shape[0] - 1):
            if j < n - 1:
                count += 1
            for k in lw.range(1, n - 2):
                most = lw.max(most, a[k, k - 1] + lw.max(a[k - 1, j - 1], b[i, k - 1, n - 1 - i]))
    return most


def _inner(listing: str, operation: str) -> list[str]:
    """The instructions of the stretch between jumps that has an operation most often."""
    stretches = [[]]
    for line in listing.splitlines():
        found = re.match(r" +[0-9a-f]+  (?:[0-9a-f]{2} )+ +(.*)", line)
        if found:
            stretches[-1].append(found[1])
            if found[1].startswith("j"):
                stretches.append([])
    return max(stretches, key=lambda stretch: sum(operation in text for text in stretch))


def test_of_a_product_six_rows_of_two_vectors_are_in_registers() -> None:
    code = product.compile(target="x86-64-v3")
    assert [step for step in code.nests()[0].done if "asked" not in step] == [
        "lanes(j)",
        "2 vectors of j at once",
        "unroll_and_jam(i=6)",
        "b read from panels of 384 x 16, where far apart in much memory",
    ]
    inner = _inner(code.asm(), "vfmadd")
    assert sum("vfmadd" in text for text in inner) == 12
    assert sum("vbroadcastss" in text for text in inner) == 6
    assert sum(text.startswith("vmovups") for text in inner) == 2
    assert not any("rsp" in text for text in inner)


def test_with_twice_the_registers_eight_rows_read_what_they_share() -> None:
    code = product.compile(target="x86-64-v4")
    assert [step for step in code.nests()[0].done if "asked" not in step][1:] == [
        "2 vectors of j at once",
        "unroll_and_jam(i=8)",
        "b read from panels of 192 x 32, where far apart in much memory",
    ]
    inner = _inner(code.asm(), "vfmadd")
    assert sum("vfmadd" in text for text in inner) == 16
    assert not any("rsp" in text for text in inner)


def test_sums_of_columns_take_several_vectors_of_a_row() -> None:
    code = columns.compile(target="x86-64-v3")
    assert "4 vectors of j at once" in code.nests()[0].done
    assert sum("vaddpd" in text for text in _inner(code.asm(), "vaddpd")) == 4


@pytest.mark.parametrize(("rows", "inside", "columns"), [(1, 1, 1), (5, 3, 7), (6, 0, 16), (7, 9, 17), (13, 4, 40), (12, 33, 63)])
def test_blocks_compute_what_the_loops_say(rows: int, inside: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    a, b = rng.random((rows, inside), np.float32), rng.random((inside, columns), np.float32)
    c, wanted = np.full((rows, columns), np.float32(9)), np.zeros((rows, columns), np.float32)
    product(a, b, c)
    for k in range(inside):
        # (Contracted: a product is not rounded before it is added.)
        wanted = (np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64)) + wanted).astype(np.float32)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("n", [1, 2, 7, 19, 33])
def test_a_triangle_is_solved_in_place(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random((n, n)), rng.random((n, n + 3))
    wanted = np.tril(a).T @ b
    triangle(a, b)
    np.testing.assert_allclose(b, wanted, rtol=1e-12)


_PRODUCT = """def nest(a, b, c):
    for i in range({first}, c.shape[0]):
        for {outer}:
            {front}
            for {inner}:
                {update}
            {back}
"""
_SUM = {
    "first": 0,
    "outer": "j in range(c.shape[1])",
    "inner": "k in range(b.shape[0])",
    "front": "s = zero",
    "update": "s += a[i, k] * b[k, j]",
    "back": "c[i, j] = s",
}
SOURCES = [
    _PRODUCT.format(**{**_SUM, **other})
    for other in (
        {},
        {"front": "c[i, j] = zero", "update": "c[i, j] += a[i, k] * b[k, j]", "back": ""},
        {"outer": _SUM["inner"], "inner": _SUM["outer"], "front": "", "update": "c[i, j] += a[i, k] * b[k, j]", "back": ""},
        {"back": "c[i, j] = s + c[i, j] * c[i, j]"},
        {"front": "s = a[i, 0]", "back": "c[i, j] = -s"},
        {"front": "s = c[i, j]", "update": "s -= a[i, k] * b[k, j]"},
        {
            "first": 1,
            "outer": "j in range(3, c.shape[1] - 1)",
            "inner": "k in range(2, b.shape[0] - 1)",
            "update": "s += a[i - 1, k - 1] * b[k - 1, j + 1]",
        },
        {"update": "s += a[i, k] * b[b.shape[0] - 1 - k, j]"},
    )
]


def _kernel(source: str, element: type, **options: object) -> object:
    space: dict[str, object] = {"zero": element(0.0)}
    exec(source, space)  # noqa: S102 (the loops above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys("abc", lw.Array))
    return lw.kernel(source=source, contract=False, **options)(function)


def test_of_loops_in_each_other_one_becomes_a_block() -> None:
    code = two_in_one.compile(target="x86-64-v3")
    assert sum("unroll_and_jam" in step for step in code.nests()[0].done) == 1
    for n in (0, 3, 4, 9, 21):
        rng = np.random.default_rng(n)
        a, b = rng.integers(-99, 99, (n, n), np.int32), rng.integers(-99, 99, (n, n, n), np.int32)
        assert code(a, b, n) == two_in_one.function(a, b, n)


@pytest.mark.parametrize("source", SOURCES)
def test_panels_are_found(source: str) -> None:
    zeros = [np.zeros((2, 2))] * 3
    assert "panels" in str(_kernel(source, np.float64).compile(*zeros, target="x86-64-v3").nests())


@pytest.mark.parametrize(("rows", "inside"), [(30, 0), (31, 5), (31, 500)])
def test_what_a_total_is_stored_over_is_not_read(rows: int, inside: int) -> None:
    for source in SOURCES[:2]:
        a, b = np.ones((rows, inside)), np.ones((inside, 100))
        c = np.full((rows, 75), np.nan)
        _kernel(source, np.float64)(a, b[:, :75], c)
        np.testing.assert_array_equal(c, inside)


def test_of_blocks_with_panels_and_without_there_is_one() -> None:
    text = _kernel(SOURCES[0], np.float64).compile(*[np.zeros((2, 2))] * 3, target="x86-64-v4")
    # One nest of whole blocks; one vector of columns and one row are left over.
    ends = re.findall(r"^ +[0-9a-f]+  (?:[0-9a-f]{2} )+ +(v(?:fmadd231|mul|add)\w+ zmm)", text.asm(), re.MULTILINE)
    wide = sum("fmadd" in name or "add" in name for name in ends)
    assert wide <= 12 + 6 + 2 + 5
    # Both vectors of a row go on from the panel before by one branch.
    code = text.ir("unroll")
    later = re.search(r"(%\d+) = ne\.i64 %k\.panel, 0", code)
    assert later is not None
    assert code.count(f"if {later[1]} ") == 1


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_panels_change_nothing(runner: Runner, element: type) -> None:
    rng = np.random.default_rng(1)
    for source in SOURCES:
        written, panelled = _kernel(source, element, nests="off"), _kernel(source, element)
        shapes = ((31, 401, 75), (24, 193, 64), (25, 192, 16), (130, 200, 7))
        for rows, inside, columns in shapes if runner.name == "x86-64-v3" and runner.widest else shapes[:1]:
            # (With rows of 1,000 elements they are far enough apart.)
            given = [rng.random(shape).astype(element) for shape in ((rows, inside), (inside, 1000), (rows, columns))]
            given[1] = given[1][:, :columns]
            wanted = [x.copy() for x in given]
            written(*wanted)

            def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
                np.testing.assert_array_equal(given[2], wanted[2])

            runner.run(runner.compiled(panelled, *given), given, same)
