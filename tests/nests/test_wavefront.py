"""Strips walked by diagonals in lanes: random stencils in place, through the whole compiler, give bit for bit what they give as written."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

TYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32}


class Stencil:
    """A random nest of two loops that waits for its own results, as source, and arguments for it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.type = rng.choice(["f64", "f32", "f32", "i32"])
        self.reach = rng.choice([1, 1, 2])
        self.stepped = rng.choice([1, 1, 1, 2, -1])
        terms = [self._own(0, -rng.randint(1, self.reach))] if rng.random() < 0.9 else []
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if kind < 0.6:
                terms.append(self._own(rng.randint(-self.reach, self.reach), rng.randint(-self.reach, self.reach)))
            elif kind < 0.75:
                terms.append(f"x[j + {rng.randint(0, 2)}]")
            elif kind < 0.85:
                terms.append(f"w[i + {rng.randint(0, 2)}]")
            elif kind < 0.95:
                terms.append(f"b[i + {rng.randint(-1, 1)}, j + {rng.randint(-1, 1)}]")
            else:
                terms.append("3")
        front, body, back = [], [], []
        value = terms[0]
        for term in terms[1:]:
            op = rng.choice(["+", "-", "*"] if self.type == "i32" else ["+", "-", "*", "/"])
            value = f"({value} {op} {term})"
        body.append(f"v = {value}")
        if self.type != "i32":
            body.append(rng.choice(["v = lw.sqrt(lw.abs(v))", "v = v * HALF", "v = lw.max(v, HALF)"]))
        if rng.random() < 0.3:
            body += ["if v > c[i, j]:", "    v = v - c[i, j]"]
        if rng.random() < 0.3:
            front.append("s = w[i]")
            body += ["s = s + v", "v = lw.min(v, s)"]
            if rng.random() < 0.5:
                back.append("w[i] = s")
        if rng.random() < 0.25:
            body += ["if k[i] != k[j]:", "    v = v + v"]
        if rng.random() < 0.2:
            front.append(f"a[i, {self.reach - 1}] = w[i]")
        body.append("a[i, j] = v")
        if rng.random() < 0.15:
            body.append("d[i, j] = v - c[i, j]")
        head = {1: "{0}, n", 2: "{0}, n, 2", -1: "n - 1, {0}, -1"}[self.stepped].format(self.reach)
        lines = [
            "def nest(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array, w: lw.Array, x: lw.Array, k: lw.Array):",
            f"    n = a.shape[0] - {self.reach}",
            f"    for i in range({head}):",
            *[f"        {line}" for line in front],
            f"        for j in range({self.reach}, a.shape[1] - {self.reach}):",
            *[f"            {line}" for line in body],
            *[f"        {line}" for line in back],
        ]
        self.source = "\n".join(lines) + "\n"

    @staticmethod
    def _own(i: int, j: int) -> str:
        return f"a[i {'+' if i >= 0 else '-'} {abs(i)}, j {'+' if j >= 0 else '-'} {abs(j)}]"

    def kernel(self, nests: str) -> Any:
        space: dict[str, Any] = {"lw": lw, "HALF": TYPES[self.type](0.5)}
        exec(self.source, space)  # noqa: S102 (made above)
        return lw.kernel(source=self.source, nests=nests)(space["nest"])

    def arguments(self, rows: int, columns: int, seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        made = [rng.integers(1, 9, (rows, columns)) for _ in range(4)] + [rng.integers(1, 9, rows + columns + 4) for _ in range(2)]
        return [(m + 0.25 if self.type != "i32" else m).astype(TYPES[self.type]) for m in made] + [rng.integers(0, 3, rows + columns).astype(np.uint8)]


def same(stencil: Stencil, given: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=stencil.source)


@pytest.mark.parametrize("seed", range(12))
def test_random_stencils(seed: int) -> None:
    """Here, on all sizes."""
    rng = random.Random(seed)
    ways: Counter[str] = Counter()
    for number in range(12):
        stencil = Stencil(rng)
        fast, plain = stencil.kernel("fast"), stencil.kernel("off")
        text = fast.compile(*stencil.arguments(8, 8, 0)).ir("nests")
        ways["lanes"] += "store_strided" in text
        with np.errstate(all="ignore"):
            for rows, columns in [(rng.randint(1, 12), rng.randint(1, 20)), (20, 24), (rng.randint(30, 70), rng.randint(30, 70)), (37, 41)]:
                if min(rows, columns) < 2 * stencil.reach:
                    continue
                given, wanted = stencil.arguments(rows, columns, number), stencil.arguments(rows, columns, number)
                fast(*given)
                plain(*wanted)
                same(stencil, given, wanted)
    assert ways["lanes"] >= 2


@pytest.mark.parametrize("runner", runners())
def test_on_every_machine(runner: Runner) -> None:
    """The same on all machines."""
    rng = random.Random(7)
    with np.errstate(all="ignore"):
        for number in range(10):
            stencil = Stencil(rng)
            given, wanted = stencil.arguments(21, 26, number), stencil.arguments(21, 26, number)
            stencil.kernel("off")(*wanted)
            compiled = runner.compiled(stencil.kernel("fast"), *given)
            runner.run(compiled, given, partial(_same, stencil, given, wanted))


def _same(stencil: Stencil, given: list[Any], wanted: list[Any], _: object) -> None:
    same(stencil, given, wanted)


def test_what_the_next_row_writes_over_stays_in_registers_until_the_strip_ends() -> None:
    @lw.kernel
    def along(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]):
        for i in lw.range(len(a)):
            for j in lw.range(1, len(c)):
                c[j] = lw.max(c[j], c[j - 1]) + a[i] * b[j]

    text = along.compile(target="x86-64-v3").ir("nests")
    # (Vectors of ``a`` are loaded in front of the diagonals, in the loop over strips; those of ``c`` are stored behind them.)
    indents = [{len(line) - len(line.lstrip()) for line in text.splitlines() if f"{name}_strided" in line} for name in ("load", "store")]
    assert indents[0] == indents[1] != set()
    rng = np.random.default_rng(4)
    for rows in (1, 7, 8, 33, 70):
        a, b, c = (rng.integers(-9, 9, n).astype(np.int32) for n in (rows, 90, 90))
        wanted = c.copy()
        lw.kernel(along.function, nests="off")(a, b, wanted)
        along(a, b, c)
        np.testing.assert_array_equal(c, wanted)


def test_what_only_the_same_iteration_reads_again_is_stored_by_the_last_row() -> None:
    @lw.kernel
    def doubled(a: lw.Array[lw.f32, 2], c: lw.Array[lw.f32], d: lw.Array[lw.f32, 2]):
        for i in lw.range(a.shape[0]):
            for j in lw.range(1, a.shape[1]):
                c[j] = a[i, j] * 2
                d[i, j] = c[j] + d[i, j - 1]

    rng = np.random.default_rng(6)
    for kernel in (doubled, doubled.schedule(lw.steps.skew(i=4, slant=1, lanes=4))):
        for rows, columns in ((1, 9), (9, 3), (17, 20), (40, 53)):
            a, c, d = (rng.random(shape, np.float32) for shape in ((rows, columns), columns, (rows, columns)))
            wanted = [c.copy(), d.copy()]
            lw.kernel(doubled.function, nests="off")(a, *wanted)
            kernel(a, c, d)
            np.testing.assert_array_equal(c, wanted[0])
            np.testing.assert_array_equal(d, wanted[1])


@pytest.mark.parametrize("element", [lw.i16, lw.i32, lw.i64])
def test_vectors_that_strips_hand_on_are_no_running_sums(element: Any) -> None:
    def powers(a: lw.Array[element, 2], r: lw.Array[element], w: lw.Array[element]) -> None:
        for i in lw.range(3, a.shape[0] - 3):
            for j in lw.range(3, a.shape[1] - 3):
                r[j] = (w[i - 3] * a[i + 1, j]) * r[j - 1]
                a[i, j] = lw.min(a[i - 1, j], a[i, j - 1]) + w[i]

    powers.__annotations__.update(a=lw.Array[element, 2], r=lw.Array[element], w=lw.Array[element])
    rng = np.random.default_rng(2)
    for rows, columns in ((9, 9), (40, 33)):
        given = [rng.integers(-3, 4, shape).astype(element.dtype) for shape in ((rows, columns), columns, rows)]
        wanted = [x.copy() for x in given]
        with np.errstate(over="ignore"):
            lw.kernel(powers, nests="off")(*wanted)
        lw.kernel(powers)(*given)
        for x, y in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_last_strip_of_a_table_overlaps_the_one_before() -> None:
    @lw.kernel
    def table(a: lw.Array[lw.i32, 2], x: lw.Array[lw.u8], y: lw.Array[lw.u8]):
        for i in lw.range(1, a.shape[0]):
            for j in lw.range(1, a.shape[1]):
                a[i, j] = lw.min(lw.min(a[i - 1, j], a[i, j - 1]) + 1, a[i - 1, j - 1] + lw.i32(x[i] != y[j]))

    # (The other nest is as written, for arrays that overlap.)
    assert table.compile(target="x86-64-v3").ir("nests").count("store_strided") == 1
    (report,) = table.compile(target="x86-64-v3").nests()
    assert "skew" in str(report)
    rng = np.random.default_rng(8)
    for rows in range(1, 40):
        x, y = rng.integers(0, 3, rows).astype(np.uint8), rng.integers(0, 3, 45).astype(np.uint8)
        a = rng.integers(0, 9, (rows, 45)).astype(np.int32)
        wanted = a.copy()
        lw.kernel(table.function, nests="off")(wanted, x, y)
        table(a, x, y)
        np.testing.assert_array_equal(a, wanted)


def test_rows_that_are_written_over_are_done_once() -> None:
    """In place, also where two parameters are one array, which is allowed where both are accessed at one index."""

    @lw.kernel
    def smoothed(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2]):
        for i in lw.range(x.shape[0]):
            s = lw.f32(0)
            for j in lw.range(x.shape[1]):
                s = s * 0.5 + x[i, j]
                y[i, j] = s

    rng = np.random.default_rng(9)
    for rows in (3, 8, 9, 15, 17, 31, 45, 70):
        x = rng.random((rows, 50), np.float32)
        wanted, y = x.copy(), x.copy()
        lw.kernel(smoothed.function, nests="off")(x, wanted)
        smoothed(x, y)
        np.testing.assert_array_equal(y, wanted)
        smoothed(x, x)
        np.testing.assert_array_equal(x, wanted)


#: Bodies, and whether several steps' accesses may be done at once: with elements of 64 bits two, with those of 32 bits four.
BLOCKS = [
    ("a[i, j] = lw.sqrt(lw.abs(a[i, j - 1] * a[i - 1, j]))", True, True),
    # What the third row above has stored is read from memory: three steps later.
    ("a[i, j] = HALF * a[i, j - 1] + a[i - 3, j]", True, False),
    # The first store to an element is three steps in front of the second.
    ("d[i, j + 3] = a[i, j] + HALF; d[i, j] = b[i, j]", True, False),
    ("a[i, j] = HALF * a[i, j - 1] + a[i - 1, j + 1] + a[i + 1, j]; d[i, j] = a[i, j] - b[i, j]", True, True),
    # Not one element after the other.
    ("a[i, 2 * j] = HALF * a[i, 2 * j - 2] + b[i, j]", False, False),
]


@pytest.mark.parametrize("runner", runners())
def test_several_steps_at_once(runner: Runner) -> None:
    bits = runner.target.vector_bits
    if not bits:
        pytest.skip("no vectors")
    for number, (body, *possible) in enumerate(BLOCKS):
        columns = "a.shape[1] // 2" if "2 * j" in body else "a.shape[1] - 3"
        source = f"""def nest(a: lw.Array, b: lw.Array, d: lw.Array):
    for i in range(3, a.shape[0] - 1):
        for j in range(1, {columns}):
            {body}
"""
        for dtype in (np.float64, np.float32):
            space: dict[str, Any] = {"lw": lw, "HALF": dtype(0.5)}
            exec(source, space)  # noqa: S102 (made above)
            plain = lw.kernel(source=source, nests="off")(space["nest"])
            rng = np.random.default_rng(number)
            lanes = bits // 8 // np.dtype(dtype).itemsize
            # (Two vectors of what is loaded and stored of two arrays, four steps at once, are more than half of 16 registers.)
            parts = 1 if "a[i + 1" in body else 2
            by_rows = lw.kernel(source=source)(space["nest"]).schedule(lw.steps.skew(i=parts * lanes, lanes=lanes))
            for shape in [(30, 30), (60, 41), (45, 44)]:
                given = [rng.random(shape).astype(dtype) for _ in range(3)]
                wanted = [a.copy() for a in given]
                plain(*wanted)
                compiled = runner.compiled(by_rows, *given)
                text = compiled.ir("nests")
                assert "_strided" in text
                stored = re.search("store_rows" if bits > 128 else rf" store\.f..x{lanes} \S+, [ad]#?[0-9]*\[", text)
                assert (stored is not None) == possible[int(dtype is np.float32)], body

                def agree(_: object, given: list[Any] = given, wanted: list[Any] = wanted) -> None:
                    for x, y in zip(given, wanted, strict=True):
                        np.testing.assert_array_equal(x, y)

                runner.run(compiled, given, agree)


@lw.kernel
def diffused(a: lw.Array, b: lw.Array):
    """What is left of each element goes to four others, of which the next but two rows may not be reached before all have been added."""
    for i in range(a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            v = a[i, j]
            o = lw.max(lw.min(v - 49, 1), 0) * 99
            b[i, j] = o
            e = v - o
            a[i, j + 1] += (e * 7) >> 4
            a[i + 1, j - 1] += (e * 3) >> 4
            a[i + 1, j] += (e * 5) >> 4
            a[i + 1, j + 1] += e >> 4


@lw.kernel
def written_over(a: lw.Array, b: lw.Array):
    """The second store to an element of the next row comes between the first and the load."""
    for i in range(1, a.shape[0] - 1):
        for j in range(2, a.shape[1] - 2):
            a[i + 1, j + 1] = a[i, j] + 1
            a[i + 1, j] = a[i, j - 1] + b[i, j]
            b[i, j] = a[i, j + 1] - a[i + 1, j - 1]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", [diffused, written_over], ids=lambda kernel: kernel.function.__name__)
def test_elements_that_several_stores_add_to(runner: Runner, kernel: lw.Kernel) -> None:
    """Each load takes the vector of the store that is nearest before it."""
    written = lw.kernel(kernel.function, nests="off")
    rng = np.random.default_rng(1)
    for element in (np.uint8, np.int32):
        for rows, columns in ((3, 7), (20, 60), (40, 33), (70, 90)):
            given = [rng.integers(0, 99, (rows, columns)).astype(np.int32), np.zeros((rows, columns), element if kernel is diffused else np.int32)]
            wanted = [each.copy() for each in given]
            written(*wanted)
            for each in (kernel, kernel.schedule(lw.steps.skew(i=4, slant=3))):
                runner.leaves(runner.compiled(each, *given), [array.copy() for array in given], wanted)


def test_only_what_no_row_has_stored_is_loaded_for_each_lane() -> None:
    strips = diffused.schedule(lw.steps.skew(i=16, slant=3, lanes=16))
    given = [np.random.default_rng(1).integers(0, 99, (70, 90)).astype(np.int32), np.zeros((70, 90), np.int32)]
    wanted = [each.copy() for each in given]
    lw.kernel(diffused.function, nests="off")(*wanted)
    text = strips.compile(*given, target="x86-64-v4").ir("nests")
    assert len(re.findall(r"= load_strided\S* ", text)) == 1, text
    strips(*given)
    for got, right in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(got, right)


def counted(a: lw.Array[lw.f32, 2], b: lw.Array[lw.i64]) -> None:
    for _r in range(a.shape[1]):
        loaded = lw.i64(0)
        for k in range(a.shape[0]):
            x = a[k, 1]  # noqa: F841
            loaded += 1
        b[0] = loaded


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_what_rows_keep_may_be_wider_than_what_they_load(runner: Runner) -> None:
    """A strip has as many lanes as its widest value has, in its rows or between their parts."""
    kernel = lw.kernel(counted)
    for n in (1, 3, 40, 70):
        given = [np.ones((n, n), np.float32), np.zeros(2, np.int64)]
        runner.leaves(runner.compiled(kernel, *given), given, [given[0], np.array([n, 0])])


def test_stores_beside_the_inner_loop() -> None:
    @lw.kernel(contract=False)
    def twice(b: lw.Array[lw.f64, 2]) -> None:
        for i in range(b.shape[0]):
            for j in range(b.shape[0]):
                for _k in range(i):
                    b[j, 1] = b[1, j]
                b[j, 1] = 1

    for n in (1, 2, 5, 20):
        found = np.random.default_rng(n).random((n, max(n, 2)))
        wanted = found.copy()
        twice.function(wanted)
        twice(found)
        np.testing.assert_array_equal(found, wanted)


@lw.kernel
def ways_around_holes(a: lw.Array[lw.u8, 2], b: lw.Array[lw.i32, 2]) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(a.shape[1]):
            if a[i, j] == 0:
                b[i, j] = 0
            elif i == 0 and j == 0:
                b[i, j] = 1
            else:
                s = lw.i32(0)
                if i > 0:
                    s += b[i - 1, j]
                if j > 0:
                    s += b[i, j - 1]
                b[i, j] = s % 9973


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_remainders_by_a_constant_have_lanes(runner: Runner) -> None:
    for n in (1, 2, 9, 40):
        a = np.random.default_rng(n).integers(0, 5, (n, n + 3), dtype=np.uint8)
        wanted = np.zeros((n, n + 3), np.int32)
        ways_around_holes.function(a, wanted)
        given = [a, np.full((n, n + 3), 7, np.int32)]
        runner.leaves(runner.compiled(ways_around_holes, *given), given, [a, wanted])
    assert "skew(i=" in str(ways_around_holes.compile(target="x86-64-v4").nests())
