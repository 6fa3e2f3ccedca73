"""Branches made choices between values: the interpreter gets the same results, whichever way they go."""

from __future__ import annotations

import random

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.analysis.nest import nests
from loopwright.nests.branches.conversion import LONGEST, converted


class Body:
    """The text of a loop's body that computes with two variables and what it has loaded, under nested conditions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.registers = 0
        self.left = 8

    def register(self) -> str:
        self.registers += 1
        return f"%r{self.registers}"

    def statements(self, known: list[str], depth: int, indent: str) -> None:
        rng = self.rng
        known = list(known)
        for _ in range(rng.randint(1, 3)):
            if depth and rng.random() < 0.4:
                condition = self.register()
                self.lines.append(f"{indent}{condition} = {rng.choice(['lt', 'gt', 'eq'])}.f64 {rng.choice(known)}, {rng.choice(known)}")
                self.lines.append(f"{indent}if {condition}")
                self.statements(known, depth - 1, indent + "  ")
                if rng.random() < 0.5:
                    self.lines.append(f"{indent}else")
                    self.statements(known, depth - 1, indent + "  ")
                self.lines.append(f"{indent}end")
            elif depth == 2 or self.left > 0:
                self.left -= depth < 2
                to = rng.choice(["%u", "%v", self.register()])
                self.lines.append(f"{indent}{to} = {rng.choice(['add', 'sub', 'mul', 'max'])}.f64 {rng.choice(known)}, {rng.choice(known)}")
                if to not in known:
                    known.append(to)


def function(rng: random.Random) -> Function:
    body = Body(rng)
    body.statements(["%u", "%v", "%x0", "0.5"], 2, "    ")
    return parse(
        "\n".join(
            [
                "function k(%x: ptr, %x.n0: i64)",
                "  stage collect",
                "  array x: f64[%x.n0] at %x written",
                "  var %u: f64",
                "  var %v: f64",
                "  %u = copy.f64 1.0",
                "  %v = copy.f64 0.25",
                "  %i = for 0, %x.n0, 1",
                "    %x0 = load.f64 x[%i]",
                *body.lines,
                "    %sum = sub.f64 %u, %v",
                "    store.f64 %sum, x[%i]",
                "  end",
                "end",
                "",
            ]
        )
    )


def conditional(body: list[Instr]) -> int:
    """How many values of a body are computed under a condition."""
    depth = count = 0
    for instr in body:
        depth += (instr.op.opens and not instr.op.closes) - (instr.op is ops.END)
        count += depth > 0 and instr.op.effect != ops.CONTROL
    return count


def convert(f: Function) -> list[Instr] | None:
    (nest,) = nests(f)
    return converted(nest, nest.loops[-1])


@pytest.mark.parametrize("seed", range(150))
def test_random_bodies(seed: int) -> None:
    f = function(random.Random(seed))
    given = np.random.default_rng(seed).random(20)
    wanted = given.copy()
    with np.errstate(all="ignore"):
        run(f, wanted)
        (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
        body = convert(f)
        if body is None:
            assert conditional(f.code[head + 1 : -1]) > LONGEST
            return
        assert not any(instr.op.opens for instr in body)
        f.code[head + 1 : -1] = body
        verify(f)
        run(f, given)
    np.testing.assert_array_equal(given, wanted)


HEAD = "function k(%x: ptr, %x.n0: i64, %c: bool)\n  stage collect\n  array x: f64[%x.n0] at %x written\n  var %u: f64\n  var %v: f64\n"


@pytest.mark.parametrize("line", ["%r = load.f64 x[0]", "store.f64 1.0, x[0]", "%u = div.f64 %u, %v", "br 1"])
def test_what_stays_a_branch(line: str) -> None:
    assert convert(parse(HEAD + f"  %i = for 0, %x.n0, 1\n    if %c\n      {line}\n    end\n  end\nend\n")) is None


STORES = """\
  %i = for FIRST, %x.n0, 1
    %w = load.f64 x[%i]
    %before = sub.i64 %i, 1
    %after = add.i64 %i, 1
    %d = lt.f64 %w, 0.5
    if %d
      %r = load.f64 x[LOADED]
      store.f64 %r, x[%i]
    OTHERWISE
      %s = mul.f64 %w, 2.0
      store.f64 %s, x[STORED]
    end
  end
end
"""


@pytest.mark.parametrize(
    ("first", "loaded", "stored", "otherwise", "possible"),
    [
        ("1", "%before", "%i", "else", True),
        # The first iteration would load in front of the array, the last one behind it.
        ("0", "%before", "%i", "else", False),
        ("1", "%after", "%i", "else", False),
        ("1", "%before", "%before", "else", False),
        ("1", "%before", "%i", "elif\n      %e = gt.f64 %w, 0.75\n    then %e", False),
        ("1", "%before", "%i", "elif\n      %e = gt.f64 %w, 0.75\n    then %e\n      store.f64 0.25, x[%i]\n    else", True),
    ],
)
def test_stores_of_all_arms(first: str, loaded: str, stored: str, otherwise: str, possible: bool) -> None:
    text = HEAD + STORES.replace("FIRST", first).replace("LOADED", loaded).replace("STORED", stored).replace("OTHERWISE", otherwise)
    f = parse(text)
    (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
    body = convert(f)
    assert (body is not None) == possible
    if body is not None:
        assert sum(instr.op is ops.STORE for instr in body) == 1
        f.code[head + 1 : -1] = body
        verify(f)
        for size in (0, 1, 2, 30):
            given = np.random.default_rng(0).random(size)
            wanted = given.copy()
            run(parse(text), wanted, True)
            run(f, given, True)
            np.testing.assert_array_equal(given, wanted)


@lw.kernel
def palindromes(a: lw.Array[lw.u8], b: lw.Array[lw.i32, 2]):
    for i in lw.range(b.shape[0] - 2, -1, -1):
        for j in lw.range(i + 1, b.shape[1]):
            if a[i] == a[j]:
                b[i, j] = b[i + 1, j - 1] + 2
            else:
                b[i, j] = lw.max(b[i + 1, j], b[i, j - 1])


@lw.kernel
def least_split(a: lw.Array[lw.i64], b: lw.Array[lw.i64, 2]):
    for n in lw.range(1, b.shape[0]):
        for i in lw.range(b.shape[0] - n):
            m = b[i, i] + b[i + 1, i + n] + a[i]
            for k in lw.range(i + 1, i + n):
                q = b[i, k] + b[k + 1, i + n] + a[k]
                if q < m:  # noqa: PLR1730 (what is rewritten)
                    m = q
            b[i, i + n] = m


@lw.kernel
def paths(a: lw.Array[lw.i32, 2]):
    for k in lw.range(a.shape[0]):
        for i in lw.range(a.shape[0]):
            for j in lw.range(a.shape[0]):
                s = a[i, k] + a[k, j]
                if s < a[i, j]:  # noqa: PLR1730 (what is rewritten)
                    a[i, j] = s


def test_tables_whose_branches_go() -> None:
    rng = np.random.default_rng(4)
    for kernel, shapes in ((palindromes, [(31,), (31, 31)]), (least_split, [(23,), (23, 23)]), (paths, [(29, 29)])):
        dtypes = [np.uint8, np.int32] if kernel is palindromes else [np.int64, np.int64] if kernel is least_split else [np.int32]
        given = [rng.integers(0, 4 if dtype is np.uint8 else 50, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        wanted = [a.copy() for a in given]
        lw.kernel(kernel.function, nests="off")(*wanted)
        kernel(*given)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_may_store_nothing_is_asked_where_stores_under_masks_are_dear() -> None:
    assert "any.mask" in paths.compile(target="x86-64-v3").ir("vectorize")
    assert "any.mask" not in paths.compile(target="x86-64-v4").ir("vectorize")


@lw.kernel
def life(a: lw.Array[lw.u8, 2], b: lw.Array[lw.u8, 2]):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            s = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
            b[i, j] = lw.u8(1) if s == 3 or (s == 2 and a[i, j] == 1) else lw.u8(0)


@lw.kernel
def limited(a: lw.Array[lw.f64], b: lw.Array[lw.f64]):
    for i in lw.range(1, a.shape[0] - 1):
        p = a[i] - a[i - 1]
        q = a[i + 1] - a[i]
        r = lw.f64(0)
        if p * q > 0:
            if lw.abs(p) < lw.abs(q):  # noqa: SIM108 (as some write it)
                r = p
            else:
                r = q
        b[i] = r


@lw.kernel
def counted(a: lw.Array[lw.f64], b: lw.Array[lw.f64]):
    """What is written under a condition alone, and read before it is, is carried."""
    k = lw.f64(0)
    for i in lw.range(a.shape[0]):
        if a[i] > 0:
            k = k + 1
            b[i] = k
        else:
            b[i] = a[i]


@pytest.mark.parametrize("kernel", [life, limited, counted], ids=lambda kernel: kernel.function.__name__)
def test_variables_of_an_arm_carry_nothing(kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, nests="off")
    rng = np.random.default_rng(1)
    for n in (3, 7, 20, 75):
        given = (
            [rng.integers(0, 2, (n, n)).astype(np.uint8) for _ in range(2)] if kernel is life else [rng.integers(-4, 5, n).astype(np.float64) for _ in range(2)]
        )
        wanted = [x.copy() for x in given]
        written(*wanted)
        kernel(*given)
        for found, right in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(found, right)
    if kernel is not counted:
        (nest,) = kernel.compile(target="x86-64-v3").nests()
        assert any(step.startswith("lanes(") for step in nest.done), nest.done


@lw.kernel
def runs(a: lw.Array[lw.u8], b: lw.Array[lw.i32]):
    b[0] = 1
    for i in lw.range(1, a.shape[0]):
        if a[i] == a[i - 1]:
            b[i] = b[i - 1] + 1
        else:
            b[i] = 1


def test_what_both_arms_store_is_chosen_and_carried() -> None:
    a = np.random.default_rng(2).integers(0, 2, 200).astype(np.uint8)
    found, wanted = np.zeros(200, np.int32), np.zeros(200, np.int32)
    runs(a, found)
    lw.kernel(runs.function, nests="off")(a, wanted)
    np.testing.assert_array_equal(found, wanted)
    code = runs.compile(target="x86-64-v3")
    assert code.nests()[0].carried == 1
    assert "select" in code.ir("nests")


def test_a_variable_of_an_arm_that_is_read_before_it_is_written() -> None:
    body = (
        "%1 = load.f64 x[%i]\n%2 = gt.f64 %1, 0.0\nif %2\n%3 = gt.f64 %1, 5.0\nif %3\n%v = copy.f64 %1\nelse\n%4 = add.f64 %t, %v\n%t = copy.f64 %4\nend\nend"
    )
    text = f"function k(%x: ptr, %x.n0: i64) -> f64\n  array x: f64[%x.n0] at %x\n  var %t: f64\n  var %v: f64\n%t = copy.f64 0.0\n%i = for 0, %x.n0, 1\n{body}\nend\nret.f64 %t\nend\n"
    f = parse(text)
    (nest,) = nests(f)
    made = converted(nest, nest.loops[0])
    assert made is not None
    # (What an earlier iteration has left there is still there.)
    assert {f.names[instr.dst] for instr in made if instr.op is ops.SELECT and f.variable[instr.dst]} == {"t", "v"}


@lw.kernel
def stored_again(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        y[2 * i + 3] = x[i]
        if x[i] > 3:
            y[2 * i + 3] = 0


@lw.kernel
def stored_behind(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    k = 0
    for i in lw.range(len(x)):
        y[2 * k] = x[i]
        k += 1  # noqa: SIM113
        if x[i] > 3:
            y[2 * k] = 0


def test_an_element_stored_to_before_is_chosen_for_though_its_subscript_is_computed_anew() -> None:
    text = stored_again.compile(target="x86-64-v3").ir("nests")
    # (One ``if`` asks whether the arrays overlap.)
    assert "select" in text and text.count("if ") == 1
    # The variable that the subscript is made of has changed in between.
    assert "select" not in stored_behind.compile(target="x86-64-v3").ir("nests")


@pytest.mark.parametrize("kernel", [stored_again, stored_behind], ids=lambda kernel: kernel.function.__name__)
def test_results_of_what_is_stored_again(kernel: lw.Kernel) -> None:
    for n in (0, 1, 8, 37):
        x = np.random.default_rng(n).integers(0, 7, n).astype(np.float64)
        y, want = np.full(2 * n + 8, -1.0), np.full(2 * n + 8, -1.0)
        kernel(x, y)
        kernel.function(x, want)
        np.testing.assert_array_equal(y, want)


@lw.kernel
def stored_between(a: lw.Array[lw.i32], b: lw.Array[lw.i32], c: lw.Array[lw.i32]):
    for i in lw.range(len(a)):
        greater = a[i] > b[i]
        b[i] = 5
        if greater:
            c[i] = b[i] + 1
        else:
            c[i] = 7


def test_what_is_stored_right_before_a_branch_is_what_its_arms_load() -> None:
    a, b = np.arange(-10, 40, dtype=np.int32), np.full(50, 9, np.int32)
    c = np.zeros(50, np.int32)
    stored_between(a, b, c)
    np.testing.assert_array_equal(c, np.where(a > 9, 6, 7))
