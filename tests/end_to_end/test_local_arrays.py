"""Local arrays, from the kernel to the code: on the stack and in registers, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.errors import BoundsError, KernelTypeError, ParseError, VerifyError
from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL
from loopwright.ir.interpret import run
from loopwright.ir.text import equal, parse
from loopwright.ir.verify import verify
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of


@lw.kernel
def smoothed(x: lw.Array, y: lw.Array):
    block = lw.local(x.dtype, 64)
    for b in lw.range(0, len(x), 64):
        for i in lw.lanes(64):
            block[i] = x[b + i] * 2
        for i in lw.lanes(1, 63):
            y[b + i] = block[i - 1] + block[i + 1]


@lw.kernel
def histogram(x: lw.Array[lw.u8], out: lw.Array[lw.i32]):
    count = lw.local(lw.i32, 256)
    for k in lw.lanes(len(count)):
        count[k] = 0
    for i in lw.range(len(x)):
        count[x[i]] += 1
    for k in lw.lanes(256):
        out[k] = count[k]


@lw.kernel
def transposed(x: lw.Array[lw.i16, 2], y: lw.Array[lw.i16, 2]):
    tile = lw.local(lw.i16, 3, 5)
    seen = lw.local(lw.bool_, 3)
    for r in lw.range(3):
        seen[r] = x[r, 0] > 4
        for c in lw.range(tile.shape[1]):
            tile[r, c] = x[r, c]
    for r in lw.range(3):
        if seen[r]:
            for c in lw.range(5):
                y[c, r] = tile[r, c]


@lw.kernel
def in_registers(x: lw.Array[lw.f64], y: lw.Array[lw.f64], n: lw.Const) -> lw.f64:
    c = lw.local(lw.f64, n, 2)
    spare = lw.local(lw.f64, 100)
    for k in range(len(c)):
        c[k, 0] = x[k]
        c[k, 1] = 0
    for j in lw.range(len(y)):
        spare[j] = y[j]
        for k in range(n):
            c[k, 1] += c[k, 0] * spare[j]
    for i in lw.lanes(len(y)):
        y[i] = y[i] * c[0, 1]
    return c[n - 1, 1]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64])
def test_a_block_on_the_stack(runner: Runner, dtype: Any) -> None:
    x = np.arange(256).astype(dtype)
    y, want = np.zeros_like(x), np.zeros_like(x)
    for b in range(0, 256, 64):
        doubled = x[b : b + 64] * dtype(2)
        want[b + 1 : b + 63] = doubled[:-2] + doubled[2:]
    runner.call(runner.compiled(smoothed, x, y), x, y)
    assert (y == want).all()


@pytest.mark.parametrize("runner", runners())
def test_a_table_indexed_by_data(runner: Runner) -> None:
    x = np.random.default_rng(1).integers(0, 256, 1000).astype(np.uint8)
    out = np.zeros(256, np.int32)
    runner.call(runner.compiled(histogram, x, out), x, out)
    assert (out == np.bincount(x, minlength=256)).all()


@pytest.mark.parametrize("runner", runners())
def test_two_dimensions_and_conditions(runner: Runner) -> None:
    x = np.arange(15, dtype=np.int16).reshape(3, 5)
    y = np.zeros((5, 3), np.int16)
    runner.call(runner.compiled(transposed, x, y), x, y)
    want = x.T.copy()
    want[:, 0] = 0
    assert (y == want).all()


@pytest.mark.parametrize("runner", runners())
def test_elements_at_known_indices_are_registers(runner: Runner) -> None:
    x, y = np.arange(1.0, 5), np.arange(10.0)
    code = runner.compiled(in_registers, x, y, n=4)
    assert runner.call(code, x, y) == 180.0
    assert (y == np.arange(10.0) * 45).all()
    f = compiler.run_passes(code.compiled.source, runner.target, "promote")
    verify(f)
    assert [array.name for array in f.arrays] == ["x", "y", "spare"]
    assert sum(f.names[r].startswith("c_") for r in range(len(f.types)) if f.variable[r]) == 8


_BY_ADDRESS = """function f(%x: ptr, %n: i64) -> f32
  array a: f32[4] local at %a written
  array u: u8[8] local at %u written
  %a = local.ptr 0
  %u = local.ptr 1
  store.f32 1.0, a[1]
  store_at.i32 7, [%u + 4]
  %v = load_at.f32 [%a + 4]
  %w = load_at.i32 [%u + 4]
  %y = convert.f32.i32 %w
  {more}
  %z = add.f32 %v, %y
  ret.f32 %z
end
"""


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("store_at.f32 2.0, [%a + 8]", []),
        ("store_at.ptr %a, [%x]", ["a"]),
        ("store_at.i32 1, [%u + %n*4]", ["u"]),
        ("%o = add.ptr %u, 4", ["u"]),
        ("%o = load_at.u32 [%u + 4]", ["u"]),
        ("%o = load_at.u16 [%u + 6]", ["u"]),
        ("%o = load_at.u8 [%u + 3]", []),
        ("%o = load_at.u16 [%u + 7]", ["u"]),
        ("%o = load.f32 a[%n]", ["a"]),
        ("%o = load.u8 u[5]", ["u"]),
    ],
)
def test_what_is_at_known_distances_from_an_address_is_in_registers(more: str, kept: list[str]) -> None:
    f = parse(_BY_ADDRESS.format(more=more))
    target = registry.get("x86-64-v3")
    made = compiler.run_passes(f, target, "promote")
    verify(made)
    assert [array.name for array in made.arrays] == kept
    x = np.zeros(2, np.uint64)
    if "[%u + 7]" not in more:
        assert run(f, x, 0) == run(made, x, 0) == 8.0
    assert lw.parse(_BY_ADDRESS.format(more=more)).compile()(x.ctypes.data, 0) == 8.0


def test_the_interpreter_and_every_pass_agree() -> None:
    x, y = np.arange(1.0, 5), np.arange(10.0)
    source = in_registers.compile(x, y, n=4, target="x86-64-v4").compiled.source
    for target in (registry.get(name) for name in registry.names()):
        for stage in ("collect", "promote", "nests", "vectorize", "unroll", "simplify", "select", "allocate", "jumps"):
            if stage not in names_of(target.passes()):
                # A machine without registers.
                continue
            f = compiler.run_passes(source, target, stage, Settings(prove=True)) if stage != "collect" else source
            verify(f, target)
            again = np.arange(10.0)
            assert run(f, x, again, target=target) == 180.0
            assert (again == np.arange(10.0) * 45).all()


def test_text_round_trip_at_every_stage() -> None:
    x = np.zeros((3, 5), np.int16)
    source = transposed.compile(x, x.T.copy(), target="x86-64-v4").compiled.source
    target = registry.get("x86-64-v4")
    for stage in ("collect", "vectorize", "simplify", "select", "allocate"):
        f = compiler.run_passes(source, target, stage) if stage != "collect" else source
        assert equal(parse(compiler.text_of(f, target), target=target), f)
    assert "array tile: i16[3, 5] strides [10] local at %tile written" in compiler.text_of(source, target)


@pytest.mark.parametrize("runner", runners())
def test_local_arrays_begin_where_a_cache_line_does(runner: Runner) -> None:
    @lw.kernel
    def first(n: lw.i64) -> lw.i64:
        one = lw.local(lw.u8, 3)
        two = lw.local(lw.f64, 9)
        one[n] = 1
        two[n] = 2
        return lw.i64(one[n]) + lw.i64(two[n])

    code = runner.compiled(first)
    assert runner.call(code, 1) == 3
    source = code.compiled.source
    assert [source.local_offset(n) for n in range(3)] == [0, LOCAL_ALIGN, 3 * LOCAL_ALIGN]


@pytest.mark.parametrize("runner", runners())
def test_recursion_has_an_array_for_each_call(runner: Runner) -> None:
    text = """
    function f(%n: i64) -> i64
      array t: i64[4] local at %t written
      callee f(i64) -> i64
      %t = local.ptr 0
      %k = and.i64 %n, 3
      store.i64 %n, t[%k]
      %c = le.i64 %n, 0
      if.bool %c
        ret.i64 0
      end
      %m = sub.i64 %n, 1
      %r = call.i64 f(%m)
      %v = load.i64 t[%k]
      %s = add.i64 %r, %v
      ret.i64 %s
    end
    """
    f = parse(text)
    f.callees[0].function = f
    verify(f)
    assert run(f, 6) == 21
    assert runner.call(compiler.compile(f, runner.target), 6) == 21


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("t = lw.local(lw.f32, n)", "must be known while compiling"),
        ("t = lw.local(lw.f32)", "from 1 to 8 extents"),
        ("t = lw.local(64)", "takes an element type first"),
        ("t = lw.local(lw.f32, 0)", "an integer from 1, not 0"),
        ("t = lw.local(lw.f32, True)", "an integer from 1, not True"),
        ("t = lw.local(lw.f32, 2.5)", "an integer from 1, not 2.5"),
        ("t = lw.local(lw.f32, 1 << 14)\n    u = lw.local(lw.u8, 1)", "with u the local arrays of this kernel take"),
        ("for i in lw.lanes(n):\n        t = lw.local(lw.f32, 8)", "in front of a loop over lanes"),
        ("t = lw.local(lw.f32, 8)\n    for i in lw.lanes(n):\n        t[0] = x[i]", "t is written at an index that is the same for all lanes"),
        ("t = lw.local(lw.f32, shape=8)", "by position"),
        ("t = lw.local(lw.f32, 8)\n    x[0] = t[8]", "t has 8 elements"),
        ("t = lw.local(lw.f32, 2, 8)\n    x[0] = t[0, 8]", "t has 8 elements along dimension 1"),
        ("t = lw.local(lw.f32, 8)\n    x[0] = t[-9]", "t has 8 elements"),
    ],
)
def test_what_is_no_local_array_is_refused(body: str, message: str) -> None:
    source = f"@lw.kernel(source=SOURCE)\ndef k(x: lw.Array[lw.f32], n: lw.i64):\n    {body}\n"
    names: dict[str, Any] = {"lw": lw, "SOURCE": source}
    exec(source, names)  # noqa: S102 (texts of this file alone)
    with pytest.raises(KernelTypeError, match=message):
        names["k"].compile(target="x86-64-v3")


@pytest.mark.parametrize("runner", runners())
def test_checked_mode_knows_local_arrays(runner: Runner) -> None:
    @lw.kernel(check=True)
    def at(i: lw.i64) -> lw.i32:
        table = lw.local(lw.i32, 8)
        table[i] = 5
        return table[i]

    code = runner.compiled(at)
    assert runner.call(code, 7) == 5
    with pytest.raises(BoundsError, match="table: index 8 is outside the array, which has 8 elements"):
        runner.call(code, 8)


HEAD = "function f(%n: i64) -> i64\n"
BODY = "  %t = local.ptr 0\n  %1 = load.i64 t[%n]\n  ret.i64 %1\nend\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  array t: i64[0] local at %t\n" + BODY, "extents of a local array"),
        ("  array t: i64[%n] local at %t\n" + BODY, "extents of a local array"),
        ("  array t: i64[2, 3] strides [16] local at %t\n" + BODY, "strides of this local array are"),
        ("  array t: i64[4] local at %t\n" + BODY.replace("local.ptr 0", "local.ptr 1"), "the number of a local array"),
        ("  array t: i64[4] local at %t\n" + BODY.replace("local.ptr 0", "local.ptr %n"), "the number of a local array"),
        ("  array t: i64[4] local at %t\n" + BODY.replace("  %t = local.ptr 0\n", ""), "%t"),
        ("  array t: i64[4] at %t\n" + BODY, "not a parameter"),
        (f"  array t: i64[{MOST_LOCAL // 8 + 1}] local at %t\n" + BODY, "more than 65536"),
        ("  array t: i64[4] local at %n\n" + BODY.replace("%t =", "%9 ="), "its base is no register of its own"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises((ParseError, VerifyError), match=message):
        verify(parse(HEAD + text))


def test_stores_to_other_arrays_leave_a_local_array_alone() -> None:
    text = """
    function f(%p: ptr, %p.n0: i64, %n: i64) -> i64
      array p: i64[%p.n0] at %p written
      array t: i64[4] local at %t written
      var %s: i64
      %t = local.ptr 1
      store.i64 5, t[%n]
      %1 = load.i64 t[%n]
      store.i64 7, p[%n]
      %2 = load.i64 t[%n]
      %s = add.i64 %1, %2
      ret.i64 %s
    end
    """
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), "simplify")
    assert not any(instr.op is ops.LOAD_AT for instr in f.code)


@lw.kernel
def made_in_a_loop(x: lw.Array, y: lw.Array):
    for i in lw.range(len(x)):
        a = lw.local(lw.f64, 4)
        a[0] = 0
        a[1] = 0
        if x[i] > 3:
            b = lw.local(lw.f64, 3)
            b[i % 3] = 7
            a[0] = b[i % 3]
        a[i % 4] = x[i]
        y[i] = a[0] + a[1]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("nests", ["fast", "off"])
def test_loops_that_there_are_twice_have_them_in_common(check: bool, nests: str) -> None:
    # (One version is for arrays that overlap.)
    x, y, wanted = np.arange(30) * 7 % 20, np.zeros(30), np.zeros(30)
    lw.kernel(made_in_a_loop.function, check=check, nests=nests)(x, y)
    made_in_a_loop.function(x, wanted)
    np.testing.assert_array_equal(y, wanted)


def test_the_builder_makes_them_too() -> None:
    f = lw.Function("f", returns=lw.i32, n=lw.i64)
    table = f.local(lw.i32, 4)
    table[f.n] = 7
    f.ret(table[f.n])
    assert f.compile()(3) == 7


def test_outside_of_a_kernel_it_is_numpys() -> None:
    made = lw.local(lw.f32, 3, 4)
    assert made.shape == (3, 4)
    assert made.dtype == np.float32


def test_a_local_array_in_registers_beside_a_constant_table() -> None:
    weights = np.array([0.5, -2.0, 4.0])

    @lw.kernel
    def mixed(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
        t = lw.local(lw.f64, 3, 4)
        for i in range(3):
            for j in range(4):
                t[i, j] = x[i] * j
        y[0] = t[1, 2] + t[2, 3]
        for i in range(len(y)):
            y[i] += weights[i]

    y = np.zeros(3)
    mixed(np.array([1.0, 2.0, 3.0]), y)
    assert y.tolist() == [13.5, -2.0, 4.0]
