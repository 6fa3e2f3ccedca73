"""The unroll pass: unmasked unrolled main loops and masked remainders, for every length."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, results
from tests.passes.lanes import bodies_arguments, lanes_arguments, random_bodies, random_lanes
from tests.passes.texts import block, body, rewritten

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import unroll as unroll_pass
from loopwright.targets import registry
from loopwright.types import Type


def double(bounds: str, extra: str = "") -> str:
    return f"""
    function f(%x: ptr, %x.n0: i64, %lo: i64, %hi: i64)
      array x: f32[%x.n0] at %x written
      %i = for {bounds}, 4 mask %m: mask32x4 {extra}
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %1, %1
        masked_store.f32x4 %m, %2, x[%i]
      end
    end
    """


def test_one_step_at_once_leaves_an_if_behind() -> None:
    assert rewritten(double("0, %x.n0", "unroll 1"), unroll_pass) == block("""
        %stop = and.i64 %x.n0, -4
        %i.8 = for 0, %stop, 4
        %9 = load.f32x4 x[%i.8]
        %10 = add.f32x4 %9, %9
        store.f32x4 %10, x[%i.8]
        end
        %11 = lt.i64 %stop, %x.n0
        if %11
        %i.4 = copy.i64 %stop
        %m = lane_mask.mask32x4 %i.4, %x.n0
        %1 = masked_load.f32x4 %m, x[%i.4]
        %2 = add.f32x4 %1, %1
        masked_store.f32x4 %m, %2, x[%i.4]
        end
    """)


def test_what_another_loop_has_left_is_done_under_the_mask() -> None:
    assert rewritten(double("%lo, %x.n0", "rest unroll 1"), unroll_pass) == block("""
        %i = for %lo, %x.n0, 4
        %m = lane_mask.mask32x4 %i, %x.n0
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %1, %1
        masked_store.f32x4 %m, %2, x[%i]
        end
    """)


def test_constant_counts_need_no_remainder_or_no_main_loop() -> None:
    code = rewritten(double("0, 16", "unroll 2"), unroll_pass)
    assert code.count("for ") == 1 and "mask" not in code
    code = rewritten(double("0, 3", "unroll 4"), unroll_pass)
    assert "for " not in code and code.count("masked_load") == 1
    assert rewritten(double("5, 5"), unroll_pass) == ""
    code = rewritten(double("0, 15", "unroll 4"), unroll_pass)
    assert code.count(" load") == 3 and code.count("masked_load") == 1


@pytest.mark.parametrize("unroll", [1, 2, 3, 4])
@pytest.mark.parametrize("bounds", ["0, %hi", "%lo, %hi", "-3, %hi"])
def test_extreme_bounds_do_not_overflow(unroll: int, bounds: str) -> None:
    f = parse(double(bounds, f"unroll {unroll}"))
    g = f.clone()
    unroll_pass.run(g, AnyTarget())
    verify(g)
    low, high = -(1 << 63), (1 << 63) - 1
    for lo, hi in ((0, 0), (0, -1), (0, low), (5, low), (high, low), (high, 0), (low, low), (high, high), (2, 19), (7, 9), (0, 20)):
        if bounds.startswith("-3") and hi >= -3:
            continue
        if lo == 0 or "%lo" in bounds or hi <= 0:
            x = np.arange(20, dtype=np.float32)
            y = x.copy()
            run(f, x, lo, hi)
            run(g, y, lo, hi)
            assert x.tolist() == y.tolist()


def test_a_bound_the_body_writes_is_read_once() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64) -> i64
      array x: f32[%x.n0] at %x written
      var %n: i64
      %n = copy.i64 %x.n0
      %i = for 0, %n, 4 mask %m: mask32x4 unroll 2
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %1, 1.0
        masked_store.f32x4 %m, %2, x[%i]
        %n = sub.i64 %n, 1
      end
      ret %n
    end
    """
    f = parse(text)
    x = np.zeros(23, np.float32)
    y = x.copy()
    wanted = run(f, x)
    unroll_pass.run(f, AnyTarget())
    verify(f)
    # The steps are the same in number: one a vector.
    assert run(f, y) == wanted
    assert x.tolist() == y.tolist()


def test_what_a_step_writes_and_reads_has_a_register_in_each_copy() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64, %c: bool)
      array x: f32[%x.n0] at %x written
      var %t: f32x4
      %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 3
        %1 = masked_load.f32x4 %m, x[%i]
        if %c
          %t = add.f32x4 %1, 1.0
        else
          %t = mul.f32x4 %1, 3.0
        end
        %2 = add.f32x4 %t, %1
        masked_store.f32x4 %m, %2, x[%i]
      end
    end
    """
    f = parse(text)
    unroll_pass.run(f, AnyTarget())
    verify(f)
    main = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    end = match(f.code)[main]
    assert len({instr.dst for instr in f.code[main:end] if instr.dst >= 0 and f.variable[instr.dst]}) == 3
    for n in (0, 3, 4, 12, 13, 29):
        x = np.arange(n, dtype=np.float32)
        run(f, x, True)
        assert x.tolist() == (2 * np.arange(n) + 1).tolist()


def test_accumulators_are_independent_and_combined() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64) -> f32
      array x: f32[%x.n0] at %x
      var %s: f32x4
      %s = copy.f32x4 0.0
      %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 4 accumulate %s add 0.0
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %s, %1
        %s = select.f32x4 %m, %2, %s
      end
      %3 = reduce_add.f32x4 %s
      ret %3
    end
    """
    f = parse(text)
    unroll_pass.run(f, AnyTarget())
    verify(f)
    main = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    end = next(k for k, instr in enumerate(f.code) if instr.op is ops.END)
    assert len({instr.dst for instr in f.code[main:end] if instr.dst >= 0 and f.variable[instr.dst]}) == 4
    for n in (0, 1, 3, 4, 5, 15, 16, 17, 47, 101):
        assert run(f, np.arange(n, dtype=np.float32)) == n * (n - 1) / 2


def test_uniform_continue_and_break() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64, %k: i64)
      array x: f32[%x.n0] at %x written
      block
        %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 4
          %1 = eq.i64 %i, %k
          br_if 0, %1
          %2 = gt.i64 %i, 24
          br_if 1, %2
          masked_store.f32x4 %m, 1.0, x[%i]
        end
      end
    end
    """
    f = parse(text)
    g = f.clone()
    unroll_pass.run(g, AnyTarget())
    verify(g)
    for n in (0, 3, 8, 21, 40):
        for k in (0, 8, 20):
            x = np.zeros(n, np.float32)
            y = x.copy()
            run(f, x, k)
            run(g, y, k)
            assert x.tolist() == y.tolist()


def body_of(lines: str, option: str = "") -> tuple[Function, list[Instr]]:
    text = f"function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %n: i64)\n {option}\n array x: f32[%x.n0] at %x\n array y: f32[%y.n0] at %y written\n var %t: f32x4\n %t = copy.f32x4 0.0\n %i = for 0, %n, 4 mask %m: mask32x4\n{lines}\nend\nend"
    f = parse(text)
    verify(f)
    return f, f.code[2:-1]


def sums(count: int, first: int = 1) -> str:
    return "\n".join(f"%{first + k} = min.f32x4 %t, {k}.0" for k in range(count))


def steps(lines: str, reduction: bool = False, bits: int = 256, option: str = "") -> int:
    f, inside = body_of(lines, option)
    target = registry.get("x86-64-v4", bits)
    return unroll_pass.steps_at_once(f, target, inside, reduction)


LOAD = "%100 = masked_load.f32x4 %m, x[%i]\n"
THREE = LOAD + "%90 = add.i64 %i, 1\n%101 = masked_load.f32x4 %m, x[%90]\n%91 = add.i64 %i, 2\n%102 = masked_load.f32x4 %m, x[%91]\n"


@pytest.mark.parametrize(
    ("lines", "reduction", "bits", "unroll"),
    [
        ("", False, 256, 4),
        (sums(12), False, 256, 4),
        (sums(13), False, 256, 2),
        (sums(48), False, 256, 2),
        (sums(49), False, 256, 1),
        (sums(4), True, 256, 8),
        (sums(5), True, 256, 4),
        (sums(8), True, 256, 4),
        (sums(9), True, 256, 2),
        (sums(24), True, 256, 2),
        (sums(25), True, 256, 1),
        (sums(4), True, 512, 4),
        (sums(8), True, 512, 4),
        (sums(9), True, 512, 2),
        (sums(25), True, 512, 1),
        (sums(13), False, 512, 2),
        # Three loads, or two of one place and two others, make a stencil.
        (THREE + sums(21), False, 256, 4),
        (THREE + sums(22), False, 256, 2),
        (THREE + sums(46), False, 256, 1),
        (THREE.replace("[%91]", "[%90]") + sums(11), False, 256, 2),
        (THREE.replace("[%91]", "[%90]") + sums(10), False, 256, 4),
        # What goes away does not count: copies, indices, what masks a reduction, the ends of brackets.
        (sums(12) + "\n%40 = copy.f32x4 %1\n%41 = add.i64 %i, 1\n%t = select.f32x4 %m, %1, %t\n", False, 256, 4),
        (sums(12) + "\n%40 = select.f32x4 %m, %1, %t\n", False, 256, 2),
        ("block\n" + sums(11) + "\nend\n", False, 256, 4),
        ("block\n" + sums(12) + "\nend\n", False, 256, 2),
    ],
)
def test_the_steps_at_once_follow_the_size_of_the_body(lines: str, reduction: bool, bits: int, unroll: int) -> None:
    assert steps(lines, reduction, bits) == unroll


def test_products_and_sums_count_once_where_they_may_be_contracted() -> None:
    products = "\n".join(f"%{k} = mul.f32x4 %t, {k}.0\n%{50 + k} = {'add' if k % 2 else 'sub'}.f32x4 %{k}, %t" for k in range(1, 13))
    assert steps(products, option="option contract") == 4
    assert steps(products) == 2
    assert steps(products + "\n%40 = mul.f32x4 %t, 0.5", option="option contract") == 2
    assert steps(products + "\n%40 = add.f32x4 %t, 0.5", option="option contract") == 2


def test_sums_of_integers_are_not_contracted_with_products_of_floats() -> None:
    mixed = "\n".join(f"%{k} = mul.f32x4 %t, {k}.0\n%{50 + k} = add.i32x4 {k}, {k}" for k in range(1, 8))
    assert steps(mixed, option="option contract") == 2
    assert steps(mixed.replace("add.i32x4", "and.i32x4"), option="option contract") == 2


def test_neighbouring_loads_of_the_unrolled_steps_are_made_from_one_another() -> None:
    class Sliding(AnyTarget):
        def slides(self, type_: Type) -> bool:
            return type_.lanes > 0

    text = """
    function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %n: i64)
      array x: f32[%x.n0] at %x
      array y: f32[%y.n0] at %y written
      %i = for 0, %n, 4 mask %m: mask32x4 unroll 4
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.i64 %i, 1
        %3 = masked_load.f32x4 %m, x[%2]
        %4 = add.f32x4 %1, %3
        masked_store.f32x4 %m, %4, y[%i]
      end
    end
    """
    f = parse(text)
    unroll_pass.run(f, Sliding())
    verify(f)
    # Of the last step nothing lies behind.
    assert sum(instr.op is ops.SLIDE for instr in f.code) == 3


def shape(bounds: str, unroll: int) -> tuple[int, int, str]:
    """Copies in the main loop, copies in the remainder, and what the remainder is."""
    f = parse(double(bounds, f"unroll {unroll}"))
    unroll_pass.run(f, AnyTarget())
    verify(f)
    main = sum(instr.op is ops.LOAD for instr in f.code)
    rest = sum(instr.op is ops.MASKED_LOAD for instr in f.code)
    kinds = [instr.op.name for instr in f.code if instr.op in (ops.FOR, ops.IF, ops.BLOCK)]
    return main, rest, " ".join(kinds)


@pytest.mark.parametrize(
    ("bounds", "unroll", "wanted"),
    [
        ("0, 0", 4, (0, 0, "")),
        ("0, 1", 4, (0, 1, "block")),
        ("0, 4", 4, (1, 0, "")),
        ("0, 5", 4, (1, 1, "block")),
        ("0, 8", 4, (2, 0, "")),
        ("0, 8", 1, (1, 0, "for")),
        ("0, 11", 2, (2, 1, "block")),
        ("0, 15", 4, (3, 1, "block")),
        ("0, 16", 4, (4, 0, "")),
        ("0, 20", 4, (5, 0, "")),
        ("0, 21", 4, (5, 1, "block")),
        ("0, 40", 3, (4, 0, "for")),
        ("0, 44", 3, (5, 0, "for")),
        ("0, 47", 3, (5, 1, "for block")),
        ("3, 19", 4, (4, 0, "")),
        ("19, 3", 4, (0, 0, "")),
        ("-5, 2", 4, (1, 1, "block")),
        ("0, %x.n0", 1, (1, 1, "for if")),
        ("0, %x.n0", 4, (4, 1, "for for")),
    ],
)
def test_constant_counts_leave_what_is_left(bounds: str, unroll: int, wanted: tuple[int, int, str]) -> None:
    assert shape(bounds, unroll) == wanted


def test_totals_of_short_rows_are_combined_only_where_there_were_several() -> None:
    f = parse("""
    function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
      array x: f32[%x.n0] at %x
      array y: f32[%y.n0] at %y written
      var %t: f32x4
      %k = for 0, %y.n0, 1
        %t = copy.f32x4 0.0
        %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 4 accumulate %t add 0.0
          %1 = masked_load.f32x4 %m, x[%i]
          %2 = add.f32x4 %t, %1
          %t = select.f32x4 %m, %2, %t
        end
        %3 = reduce_add.f32x4 %t
        store.f32 %3, y[%k]
      end
    end
    """)
    unroll_pass.run(f, registry.get("x86-64-v3"))
    verify(f)
    ends = match(f.code)
    asked = next(k for k, instr in enumerate(f.code) if instr.op is ops.IF)
    inside = f.code[asked : ends[asked]]
    assert [instr.op.name for instr in inside[:5]] == ["if", "copy", "copy", "copy", "for"]
    assert [instr.op.name for instr in inside[-3:]] == ["add"] * 3
    for n in (0, 3, 4, 15, 16, 17, 40):
        x, y = np.arange(n).astype(np.float32), np.zeros(3, np.float32)
        run(f, x, y)
        assert y.tolist() == [x.sum()] * 3


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_whole_vectors_of_short_rows_have_no_masks(name: str) -> None:
    f = parse(double("0, %x.n0", "unroll 4").replace("%i = for", "%k = for 0, %lo, 1\n      %i = for").replace("end\n    end", "end\n      end\n    end"))
    unroll_pass.run(f, registry.get(name))
    verify(f)
    kinds = [instr.op.name for instr in f.code if instr.op in (ops.FOR, ops.IF)]
    # Rows, four vectors at once, one at once; and what is less than a vector, once, whose stores go to memory in pieces.
    assert kinds[:4] == ["for", "for", "for", "if"]
    heads = [k for k, instr in enumerate(f.code) if instr.op in (ops.FOR, ops.IF)][:4]
    ends = match(f.code)
    assert [sum(instr.op is ops.MASKED_LOAD for instr in f.code[k : ends[k]]) for k in heads] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("bounds", "unroll", "wanted"),
    [
        ("0, %x.n0", 2, "%stop = and.i64 %x.n0, -8"),
        # Anything but an array's extent may be negative.
        ("0, %hi", 2, "%1 = max.i64 %hi, 0\n%stop = and.i64 %1, -8"),
        ("0, %hi", 3, "%1 = max.i64 %hi, 0\n%2 = rem_trunc.i64 %1, 12\n%stop = sub.i64 %1, %2"),
        ("%lo, %x.n0", 1, "%1 = max.i64 %x.n0, %lo\n%2 = sub.i64 %1, %lo\n%3 = and.i64 %2, -4\n%stop = add.i64 %lo, %3"),
        ("2, %hi", 1, "%1 = max.i64 %hi, 2\n%2 = sub.i64 %1, 2\n%3 = and.i64 %2, -4\n%stop = add.i64 2, %3"),
    ],
)
def test_where_the_main_loop_stops(bounds: str, unroll: int, wanted: str) -> None:
    f = parse(double(bounds, f"unroll {unroll}"))
    unroll_pass.run(f, AnyTarget())
    stop = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    f.code = f.code[:stop]
    names = ("%hi", "%x.n0", "%lo", "%stop")
    found = body(f).splitlines()
    assert [line.split(" = ")[1].split(" ")[0] for line in found] == [line.split(" = ")[1].split(" ")[0] for line in wanted.splitlines()]
    assert _plain("\n".join(found), names) == _plain(block(wanted), names)


def _plain(text: str, names: tuple[str, ...]) -> str:
    """Registers by the order they appear in, whatever they are called, but those of the function."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        name = re.sub(r"_\d+$", "", found[0])
        return name if name in names and name != "%stop" else seen.setdefault(found[0], f"%{len(seen)}")

    return re.sub(r"%[\w.]+", number, text)


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_keep_their_meaning(seed: int) -> None:
    for length in (0, 1, 3, 4, 5, 13, 16, 37):
        f = random_lanes(seed)
        verify(f)
        arguments = lanes_arguments(f, seed, length)
        wanted = results(f, arguments)
        unroll_pass.run(f, AnyTarget())
        verify(f)
        assert not any(instr.loop is not None and instr.loop.mask >= 0 for instr in f.code)
        assert results(f, arguments) == wanted


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_random_bodies_keep_their_meaning(start: int) -> None:
    unrolled = 0
    for seed in range(start, start + 40):
        for length in (0, 1, 4, 7, 16, 37):
            f = random_bodies(seed)
            verify(f)
            arguments = bodies_arguments(f, seed, length)
            wanted = results(f, arguments)
            before = len(f.code)
            unroll_pass.run(f, AnyTarget())
            verify(f)
            assert results(f, arguments) == wanted, (seed, length)
            unrolled += len(f.code) > 3 * before
    assert unrolled >= 20


@pytest.mark.parametrize(("count", "copies"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_copies_of_totals_stay_in_registers(count: int, copies: int) -> None:
    names = [f"s{k}" for k in range(count)]
    lines = [
        "def sums(x, y):",
        *(f"    {name} = lw.f64(0)" for name in names),
        "    for i in lw.lanes(len(x)):",
        *(f"        {name} += x[i] * {k + 2}.0" for k, name in enumerate(names)),
        *(f"    y[{k}] = {name}" for k, name in enumerate(names)),
    ]
    source = "\n".join(lines) + "\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the lines above)
    space["sums"].__annotations__ = {"x": lw.Array[lw.f64], "y": lw.Array[lw.f64]}
    code = lw.kernel(source=source, fastmath=True)(space["sums"]).compile(target="x86-64-v3", keep=True)
    text = code.ir("unroll")
    main = re.findall(r"for 0, %\w+, (\d+) ", str(text))
    assert main and int(main[0]) == 4 * copies
    assert "spill" not in str(code.ir("allocate"))
