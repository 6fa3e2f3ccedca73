"""Sums in recurrences, under ``fastmath``: what is waited for comes last."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import text_of
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.nests.recurrences import reassociate
from loopwright.targets import registry

FORMS = [
    "s + x[i] - T(1)",
    "x[i] + s - y[i]",
    "s - x[i] + y[i]",
    "s - x[i] - y[i]",
    "y[i] + (s - x[i])",
    "(s + x[i]) + (y[i] - T(1))",
    "s + x[i] + y[i] - T(0.5) + x[i]",
    "x[i] - s + y[i]",
]


def written(source: str, arrays: str) -> Any:
    """The function ``nest`` of a text, whose parameters are arrays."""
    space: dict[str, Any] = {"T": np.float64, "lw": lw}
    exec(source, space)  # noqa: S102 (the loop given)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys(arrays, lw.Array))
    return function


def _kernel(form: str, **options: object) -> object:
    source = f"def nest(x, y, z):\n    s = T(0.0)\n    for i in lw.range(x.shape[0]):\n        s = lw.max(x[i], T(0.5) * ({form}))\n        z[i] = s\n"
    return lw.kernel(source=source, **options)(written(source, "xyz"))


@pytest.mark.parametrize("form", FORMS)
def test_sums_are_what_they_were(form: str) -> None:
    rng = np.random.default_rng(1)
    x, y, z, wanted = rng.random(50), rng.random(50), np.zeros(50), np.zeros(50)
    _kernel(form, nests="off")(x, y, wanted)
    _kernel(form, fastmath=True)(x, y, z)
    np.testing.assert_allclose(z, wanted, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS[:5])
def test_one_addition_is_waited_for(form: str) -> None:
    zeros = [np.zeros(9)] * 3
    bounds = [_kernel(form, fastmath=fast).compile(*zeros, target="x86-64-v3").ir("nests") for fast in (False, True)]
    chains = [_chain(text) for text in bounds]
    assert chains[0] == 2 * chains[1] > 0


def _chain(text: str) -> int:
    """How many additions lead from the total to itself."""
    waits: dict[str, int] = {"%s": 0}
    for line in text.splitlines():
        left, _, right = line.strip().partition(" = ")
        words = right.replace(",", " ").split()
        if words and words[0].partition(".")[0] in ("add", "sub", "mul", "max", "copy", "load"):
            found = [waits[word] for word in words[1:] if word in waits]
            if found:
                waits[left] = max(found) + words[0].startswith(("add", "sub"))
    return waits["%s"]


@lw.kernel(fastmath=True)
def far_apart(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
    for i in lw.range(c.shape[0]):
        for j in lw.range(c.shape[1]):
            s = a[i, 0]
            for k in range(1, 23):
                d = a[i, k] - b[j, k]
                if k % 5:
                    s += d * d
                else:
                    s -= d
            c[i, j] = s


def test_long_sums_are_added_up_in_parts() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random((21, 23)).astype(np.float32), rng.random((19, 23)).astype(np.float32)
    c, wanted = np.zeros((21, 19), np.float32), np.zeros((21, 19), np.float32)
    far_apart.function(a.astype(np.float64), b.astype(np.float64), wanted)
    far_apart(a, b, c)
    np.testing.assert_allclose(c, wanted, rtol=1e-5)


@pytest.mark.parametrize(("count", "several"), [(8, False), (11, False), (12, True), (13, True), (30, True)])
def test_how_long_a_sum_has_to_be(count: int, several: bool) -> None:
    terms = "".join(f"\n          %t{k} = {'sub' if k % 7 == 6 else 'add'}.f64 %t{k - 1}, %x{k}" for k in range(2, count))
    loads = "".join(f"\n          %i{k} = add.i64 %i, {k}\n          %x{k} = load.f64 a[%i{k}]" for k in range(count))
    f = parse(f"""
    function f(%a: ptr, %a.n0: i64, %b: ptr, %b.n0: i64)
      option fastmath
      array a: f64[%a.n0] at %a
      array b: f64[%b.n0] at %b written
      %i = for 0, %b.n0, 1{loads}
          %t1 = add.f64 %x0, %x1{terms}
          store.f64 %t{count - 1}, b[%i]
      end
    end
    """)
    before = [instr.op for instr in f.code if instr.op in (ops.ADD, ops.SUB) and instr.type.is_float]
    reassociate.run(f)
    verify(f)
    after = [instr for instr in f.code if instr.op in (ops.ADD, ops.SUB) and instr.type.is_float]
    assert sorted(op.name for op in before) == sorted(instr.op.name for instr in after)
    depth: dict[int, int] = {}
    for instr in after:
        depth[instr.dst] = 1 + max(depth.get(x, 0) for x in instr.args)
    assert (max(depth.values()) < count - 1) == several
    values = np.random.default_rng(1).random(count + 3)
    got = np.zeros(3)
    run(f, values, got)
    signs = np.array([-1 if k % 7 == 6 else 1 for k in range(count)])
    np.testing.assert_allclose(got, [(values[i : i + count] * signs).sum() for i in range(3)])


#: (statements, what becomes of them)
CHAINS = {
    "of two that wait the later comes last": (
        "v = x[i] * 0.2 + a\n        a = x[i] * 0.4 - v * 0.7 + b\n        b = x[i] * 0.2 - v * 0.3",
        r"(%\S+) = add.f64 %\S+, %b .*%a = sub.f64 \1, %",
    ),
    "added": ("v = x[i] + a\n        a = x[i] + v * 0.7 - b\n        b = y[i] - v", r"(%\S+) = sub.f64 %\S+, %b .*%a = add.f64 %\S+, \1 "),
    "constants are one": ("v = a + 0.01\n        a = 1 / (v + 0.1) + v", r"(%\S+) = add.f64 0.01, 0.1 .* = add.f64 %a, \1 "),
    "one less what is waited for": ("g = a / (a + 0.1)\n        a = a * (1 - g)", r"(%\S+) = mul.f64 %a, %\S+ .*%\S+ = sub.f64 %a, \1 "),
    "one more": ("g = a / (a + 2)\n        a = (g + 1) * a", r"(%\S+) = mul.f64 %a, %\S+ .*%\S+ = add.f64 %a, \1 "),
    "what waits as long stays": (
        "v = a * 0.5 - b * 0.25\n        a = x[i] + v\n        b = y[i] + v",
        r"(%\S+) = sub.f64 .*%a = add.f64 %\S+, \1 .*%b = add.f64 %\S+, \1 ",
    ),
    "another than 1 less that": (
        "g = a / (a + 0.1)\n        a = a * (2 - g)",
        r"(%\S+) = mul.f64 %a, 2.0 .*(%\S+) = mul.f64 %a, %\S+ .*%\S+ = sub.f64 \1, \2 ",
    ),
    "a product of what comes early and late": (
        "v = a\n        a = x[i] * 0.3 + (a + b) * 0.7\n        b = (a - v) * 0.1 + b * 0.9",
        r"(%\S+) = mul.f64 0.7, %b .*(%\S+) = mul.f64 0.1, %a .*%b = add.f64 \2, %",
    ),
    "of the least of several": ("a = min(x[i], min(a + 1, y[i]))", r"%(\S+) = min.f64 %\S+, %\S+ .*= min.f64 %\S+, %\1 "),
    "read elsewhere it stays": ("g = a / (a + 0.1)\n        v = 1 - g\n        a = a * v\n        z[i] = v", r"(%\S+) = sub.f64 1.0, .*%\S+ = mul.f64 %a, \1 "),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_waited_for_longest_comes_last(name: str) -> None:
    statements, lines = CHAINS[name]
    source = f"def nest(x, y, z):\n    a = 1.0\n    b = 0.5\n    for i in lw.range(x.shape[0]):\n        {statements}\n        z[i] = a - b\n"
    function = written(source, "xyz")
    rng = np.random.default_rng(1)
    x, y, z, wanted = rng.random(50), rng.random(50), np.zeros(50), np.zeros(50)
    lw.kernel(source=source, nests="off")(function)(x, y, wanted)
    fast = lw.kernel(source=source, fastmath=True)(function)
    fast(x, y, z)
    np.testing.assert_allclose(z, wanted, rtol=1e-9)
    f = parse(fast.compile(x, y, z, keep=True).ir("collect"))
    reassociate.run(f)
    verify(f)
    found = text_of(f, registry.get("x86-64-v3"))
    assert re.search(lines, found, re.DOTALL), found


@pytest.mark.parametrize("op", ["min", "max"])
def test_extremes_of_integers_always(op: str) -> None:
    source = f"def nest(x, y):\n    a = lw.i32(3)\n    for i in lw.range(x.shape[0]):\n        a = {op}({op}(a + x[i], y[i]), x[i])\n        y[i] = a\n"
    function = written(source, "xy")
    rng = np.random.default_rng(1)
    x, y = rng.integers(-99, 99, (2, 50)).astype(np.int32)
    wanted = y.copy()
    lw.kernel(source=source, nests="off")(function)(x, wanted)
    made = lw.kernel(source=source)(function)
    got = y.copy()
    made(x, got)
    np.testing.assert_array_equal(got, wanted)
    f = parse(made.compile(x, y, keep=True).ir("collect"))
    reassociate.run(f)
    verify(f)
    assert re.search(rf"%(\S+) = {op}.i32 %\S+, %\S+ .*= {op}.i32 %\S+, %\1 ", text_of(f, registry.get("x86-64-v3")), re.DOTALL)


#: (statements, what becomes of them)
UPDATES = {
    "added and taken away": ("s += x[i]\n        s -= y[i]\n        z[i] = s", r"(%\S+) = sub.T (%\S+), (%\S+) .*%s = add.T %s, \1 "),
    "taken away and added": ("s -= x[i]\n        s += y[i]\n        z[i] = s", r"(%\S+) = sub.T (%\S+), (%\S+) .*%s = add.T %s, \1 "),
    "three": ("s += x[i]\n        s += y[i]\n        s += x[i - 3]\n        z[i] = s", r"(%\S+) = add.T .*(%\S+) = add.T \1, .*%s = add.T %s, \2 "),
    "in one expression": ("s = s + x[i] - y[i]\n        z[i] = s", r"(%\S+) = sub.T (%\S+), (%\S+) .*%s = add.T %s, \1 "),
    "beside a branch": ("s += x[i]\n        s -= y[i]\n        if s > 2:\n            z[i] = s", r"(%\S+) = sub.T (%\S+), (%\S+) .*%s = add.T %s, \1 "),
    "read in between": ("s += x[i]\n        z[i] = s\n        s -= y[i]", r"%s = add.T %s, .*store.*%s = sub.T %s, "),
    "of its double": ("s += x[i]\n        s += s\n        z[i] = s", r"%s = add.T %s, (?!%s).*%s = add.T %s, %s "),
    "under a condition": ("s += x[i]\n        if x[i - 1] > y[i]:\n            s -= y[i]\n            z[i] = s", r"%s = add.T %s, .*%s = sub.T %s, "),
}


@pytest.mark.parametrize("number", [lw.i32, lw.u8, lw.f64])
@pytest.mark.parametrize("name", UPDATES)
def test_updates_that_nothing_reads_in_between_are_one(name: str, number: lw.Type) -> None:
    statements, lines = UPDATES[name]
    source = f"def nest(x, y, z):\n    s = lw.{number}(5)\n    for i in lw.range(3, x.shape[0]):\n        {statements}\n"
    function = written(source, "xyz")
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 200, 100).astype(number.dtype) for _ in range(2))
    given = [x, y, np.zeros_like(x)]
    wanted = [x, y, np.zeros_like(x)]
    lw.kernel(source=source, nests="off")(function)(*wanted)
    made = lw.kernel(source=source, fastmath=True)(function)
    made(*given)
    np.testing.assert_array_equal(given[2], wanted[2])
    f = parse(made.compile(*given, keep=True).ir("collect"))
    reassociate.run(f)
    verify(f)
    found = text_of(f, registry.get("x86-64-v3"))
    assert re.search(lines.replace(".T", rf"\.{number}"), found, re.DOTALL), found
    if number is lw.i32 and name in list(UPDATES)[:4]:
        assert "lanes" in made.compile(*given, target="x86-64-v4").ir("nests")


def test_updates_of_floats_stay_as_written() -> None:
    source = "def nest(x, y, z):\n    s = 0.0\n    for i in lw.range(x.shape[0]):\n        s += x[i]\n        s -= y[i]\n        z[i] = s\n"
    function = written(source, "xyz")
    f = parse(lw.kernel(source=source)(function).compile(*[np.zeros(9)] * 3, keep=True).ir("collect"))
    before = list(f.code)
    reassociate.run(f)
    assert f.code == before


def test_what_iterations_hand_on_in_memory_comes_last() -> None:
    source = "def nest(x, c):\n    for i in lw.range(1, x.shape[0]):\n        c[i] = x[i] + min(x[i - 1], min(x[i] * 2, c[i - 1]))\n"
    function = written(source, "xc")
    x = np.random.default_rng(1).random(50)
    got, wanted = np.ones(50), np.ones(50)
    lw.kernel(source=source, nests="off")(function)(x, wanted)
    made = lw.kernel(source=source, fastmath=True)(function)
    made(x, got)
    np.testing.assert_allclose(got, wanted)
    inner = made.compile(x, got, keep=True, target="x86-64-v3").ir("nests")
    # In each iteration the first is of what has been loaded.
    assert re.search(r"%(\d+) = min.f64 %\d+, %\d+ .*\n.*= min.f64 %\S+, %\1 ", inner), inner


@lw.kernel
def checksum(x: lw.Array, out: lw.Array):
    s = 0
    for i in range(x.shape[0]):
        s = (s >> 1) + ((s & 1) << 15)
        s = (s + lw.i64(x[i])) & 65535
    out[0] = s


def test_a_sum_goes_on_where_a_variable_has_got_it() -> None:
    """What is loaded is added to the shift that is there first, and the one behind `and` comes last."""
    x, out, wanted = np.arange(100, dtype=np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64)
    checksum(x, out)
    lw.kernel(checksum.function, nests="off")(x, wanted)
    assert out[0] == wanted[0] > 0
    text = checksum.compile(x, out, target="x86-64-v4").ir("nests")
    right, wide = re.search(r"(%\d+) = shr.i64", text), re.search(r"(%\d+) = convert.i64.u8", text)
    assert right and wide
    assert re.search(rf"add.i64 ({right[1]}, {wide[1]}|{wide[1]}, {right[1]})", text)


#: Updates of ``s`` in which it is twice, and after how many operations it is known again.
TWICE = {
    "s += T(0.25) * (x[i] - s)": 1,
    "s = s + (x[i] - s) * T(0.25)": 1,
    "s -= (s - x[i]) * k": 1,
    "s += k * (T(0.5) - s + x[i])": 1,
    "s = x[i] - s - T(0.25) * s": 1,
    "s = T(0.125) * s - s": 1,
    "s = s - T(0.25) * s - T(0.125) * s": 1,
    "s += x[i] * (y[i] - s)": 2,
}


@pytest.mark.parametrize("update", TWICE)
def test_a_variable_that_is_in_two_terms_is_in_one(update: str) -> None:
    source = f"def nest(x, y, z):\n    s = T(0.5)\n    k = y[0]\n    for i in lw.range(x.shape[0]):\n        {update}\n        z[i] = s\n"
    rng = np.random.default_rng(1)
    x, y, z, wanted = rng.random(50), rng.random(50), np.zeros(50), np.zeros(50)
    fast = lw.kernel(source=source, fastmath=True)(written(source, "xyz"))
    lw.kernel(source=source, nests="off")(written(source, "xyz"))(x, y, wanted)
    fast(x, y, z)
    np.testing.assert_allclose(z, wanted, rtol=1e-12)
    code = fast.compile(x, y, z, target="x86-64-v3")
    if update.count("x[i]") == 0:
        # (It is multiplied by one number.)
        assert "s from tables" in str(code.nests())
        return
    last = str(code.ir("nests")).split("= for ")[-1].split("store.f64")[0]
    # It is read once, in a product.
    assert (len(re.findall(r"%s,|, %s(?![\w.])", last)) == 1 and "mul.f64 %s, " in last) == (TWICE[update] == 1), last
