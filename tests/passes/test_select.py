"""The passes loops and select: rotated loops, comparisons inside branches, loads inside their uses, and never a change of meaning."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.passes.generator import Generator, random_arguments, results
from tests.passes.texts import block, body

import loopwright as lw
from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.passes import loops, select
from loopwright.runtime import emulate
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry

TARGETS = ["x86-64-v3", "x86-64-v4", "rv64gc"]


def lowered(text: str, name: str = "x86-64-v3") -> Function:
    f = parse(text)
    verify(f)
    target = registry.get(name)
    loops.run(f, target)
    f.stage = "loops"
    verify(f)
    assert not any(instr.op in (ops.FOR, ops.WHILE, ops.DO) for instr in f.code)
    select.run(f, target)
    f.stage = "select"
    return f


def shown(text: str) -> str:
    return body(lowered(text))


def opcodes(f: Function) -> list[str]:
    return [instr.op.name for instr in f.code]


def same_meaning(text: str, *calls: tuple[object, ...], name: str = "x86-64-v3") -> Function:
    """Both the function and what the pass makes of it give the same in these calls."""
    before, after = parse(text), lowered(text, name)
    for args in calls:
        mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        got = Interpreter(after, registry.get(name), limit=100_000).call(*mine)
        want = Interpreter(before, limit=100_000).call(*theirs)
        assert got == want, args
        for a, b in zip(mine, theirs, strict=True):
            assert not isinstance(a, np.ndarray) or np.array_equal(a, b)
    return after


# --- loops -----------------------------------------------------------------------------------------------------

SUM = """
function f(%n: i64) -> i64
  var %s: i64
  %s = copy.i64 0
  %i = for 0, %n, 1
    %s = add.i64 %s, %i
  end
  ret %s
end
"""


def test_a_for_tests_at_the_bottom_behind_one_guard() -> None:
    f = same_meaning(SUM, (0,), (1,), (5,), (-3,))
    assert opcodes(f) == ["copy", "if_gt", "copy", "loop", "add", "add", "br_lt", "end", "end", "ret"]


@pytest.mark.parametrize(("lo", "hi", "step", "runs"), [(0, 5, 1, True), (5, 0, -2, True), (0, 0, 1, False), (3, 1, 1, False), (1, 3, -1, False)])
def test_constant_bounds_need_no_guard(lo: int, hi: int, step: int, runs: bool) -> None:
    f = same_meaning(SUM.replace("for 0, %n, 1", f"for {lo}, {hi}, {step}"), (0,))
    assert "if_gt" not in opcodes(f) and "if_lt" not in opcodes(f)
    assert ("loop" in opcodes(f)) == runs


def test_the_bound_is_read_once() -> None:
    text = """
    function f(%n: i64) -> i64
      var %s: i64
      var %m: i64
      %s = copy.i64 0
      %m = copy.i64 %n
      %i = for 0, %m, 1
        %m = add.i64 %m, 1
        %s = add.i64 %s, %i
      end
      ret %s
    end
    """
    same_meaning(text, (0,), (4,))


def test_continue_goes_on_with_the_next_index() -> None:
    text = """
    function f(%n: i64) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %n, 1
        %j = for 0, %n, 2
          %c = gt.i64 %j, %i
          br_if 0, %c
          %1 = eq.i64 %i, 3
          br_if 1, %1
          %s = add.i64 %s, %j
        end
        %s = add.i64 %s, 100
      end
      ret %s
    end
    """
    same_meaning(text, (0,), (1,), (5,), (9,))


WHILE = """
function f(%n: i64, %p: i64) -> i64
  var %k: i64
  %k = copy.i64 0
  while
    %c = lt.i64 %k, %n
  do %c
    %k = add.i64 %k, 1
    %1 = eq.i64 %k, %p
    br_if 0, %1
    %k = add.i64 %k, 2
  end
  ret %k
end
"""


def test_a_while_tests_again_at_the_bottom() -> None:
    f = same_meaning(WHILE, (0, 0), (1, 0), (10, 4), (10, 1))
    assert opcodes(f).count("if_lt") == 1 and opcodes(f).count("br_lt") == 1
    assert "br" not in opcodes(f)


def test_a_condition_with_brackets_is_repeated_with_its_brackets() -> None:
    text = """
    function f(%n: i64, %p: i64) -> i64
      var %k: i64
      var %c: bool
      %k = copy.i64 0
      while
        %c = copy.bool false
        %1 = lt.i64 %k, %n
        if %1
          %2 = ne.i64 %k, %p
          %c = copy.bool %2
        end
      do %c
        %k = add.i64 %k, 1
      end
      ret %k
    end
    """
    same_meaning(text, (0, 0), (5, 9), (5, 3), (5, 0))


def test_loops_inside_a_condition_are_repeated() -> None:
    text = """
    function f(%goal: i64) -> i64
      var %n: i64
      var %k: i64
      var %s: i64
      %n = copy.i64 0
      while
        %k = copy.i64 0
        %s = copy.i64 0
        while
          %1 = add.i64 %k, 0
          %2 = lt.i64 %1, %n
        do %2
          %k = add.i64 %k, 1
          %s = add.i64 %s, %k
        end
        %j = for 0, 2, 1
          %3 = eq.i64 %j, 0
          br_if 0, %3
          %s = add.i64 %s, %j
        end
        %4 = lt.i64 %s, %goal
      do %4
        %n = add.i64 %n, 1
      end
      ret %n
    end
    """
    same_meaning(text, (0,), (1,), (2,), (7,), (50,))


def test_a_loop_inside_a_condition_reads_what_the_condition_has_just_made() -> None:
    text = """
    function f(%n: i64) -> i64
      var %k: i64
      var %r: i64
      %k = copy.i64 %n
      while
        %1 = mul.i64 %k, 2
        %r = copy.i64 0
        while
          %2 = add.i64 %r, %k
          %3 = lt.i64 %2, %1
        do %3
          %r = add.i64 %r, 1
        end
        %4 = lt.i64 %r, 6
      do %4
        %k = add.i64 %k, 1
      end
      ret %k
    end
    """
    same_meaning(text, (0,), (1,), (5,), (9,))


@pytest.mark.parametrize(
    ("around", "guards"),
    [
        ("%c = gt.i64 %n, 0\n if.bool %c", 1),
        ("%c = gt.i64 %n, 1\n if.bool %c", 2),
        ("%c = gt.i64 %m, 0\n if.bool %c", 2),
        ("%c = le.i64 %n, 0\n if.bool %c\n else", 2),
        ("%c = gt.i64 %n, 0\n if.bool %c\n else", 2),
    ],
)
def test_a_guard_that_the_if_around_has_tested_is_not_tested_again(around: str, guards: int) -> None:
    text = f"""
    function f(%n: i64, %m: i64) -> i64
      var %s: i64
      %s = copy.i64 0
      {around}
        %i = for 0, %n, 1
          %s = add.i64 %s, %i
        end
      end
      ret %s
    end
    """
    f = same_meaning(text, *[(n, m) for n in (-1, 0, 1, 2, 5) for m in (0, 1)])
    assert sum(op.startswith("if_") for op in opcodes(f)) == guards


def test_the_guard_of_a_loop_inside_another_is_found_tested_though_the_other_counts_with_it() -> None:
    text = """
    function f(%n: i64) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %n, 1
        %c = lt.i64 %i, %n
        if.bool %c
          %j = for %i, %n, 1
            %s = add.i64 %s, %j
          end
        end
      end
      ret %s
    end
    """
    f = same_meaning(text, (0,), (1,), (6,))
    assert sum(op.startswith("if_") for op in opcodes(f)) == 2


# --- comparisons and branches -----------------------------------------------------------------------------------


def test_a_comparison_used_once_is_in_its_branch() -> None:
    assert shown("""
    function f(%a: i64, %b: i64) -> i64
      %c = lt.i64 %a, %b
      %d = not.bool %c
      if %d
        ret 1
      end
      ret 0
    end
    """) == block("""
      if_ge.i64 %a, %b
      ret 1
      end
      ret 0
    """)


def test_the_opposite_of_a_float_comparison_holds_for_nan() -> None:
    text = """
    function f(%a: f64, %b: f64) -> i64
      %c = lt.f64 %a, %b
      %d = not.bool %c
      if %d
        ret 1
      end
      ret 0
    end
    """
    f = same_meaning(text, (1.0, 2.0), (2.0, 1.0), (np.nan, 1.0), (1.0, np.nan))
    assert opcodes(f)[0] == "if_nlt"


@pytest.mark.parametrize(
    ("between", "moves"),
    [("%s = add.i64 %s, 1", False), ("store.i64 %a, x[0]", True), ("%u = add.i64 %a, %a\n  store.i64 %u, x[1]", True), ("call_void g(%a)", False)],
    ids=["variable", "store", "arithmetic", "call"],
)
def test_a_comparison_moves_only_where_its_operands_stay(between: str, moves: bool) -> None:
    text = f"""
    function f(%x: ptr, %x.n0: i64, %a: i64) -> i64
      array x: i64[%x.n0] at %x written
      callee g(i64)
      var %s: i64
      %s = copy.i64 %a
      %c = lt.i64 %s, 5
      {between}
      if %c
        ret %s
      end
      ret 0
    end
    """.replace("%x[", "x[")
    f = lowered(addressed(text))
    assert ("lt" not in opcodes(f)) == moves


def addressed(text: str) -> str:
    """Accesses to x[k] as addresses, which is what the pass gets."""
    import re

    def address(match: re.Match[str]) -> str:
        return f"[%x + {8 * int(match[1])}]"

    return re.sub(r"x\[(\d+)\]", address, text.replace("store.i64", "store_at.i64").replace("load.i64", "load_at.i64"))


def test_a_comparison_with_memory_stays_before_a_store() -> None:
    text = addressed("""
    function f(%x: ptr, %x.n0: i64, %v: i64) -> i64
      array x: i64[%x.n0] at %x written
      %a = load.i64 x[0]
      %c = lt.i64 %v, %a
      store.i64 100, x[0]
      if %c
        ret 1
      end
      ret 0
    end
    """)
    f = same_meaning(text, (np.array([5, 6]), 50), (np.array([5, 6]), 3))
    # The load is inside the comparison, which must not pass the store.
    assert opcodes(f)[:2] == ["lt", "store_at"]


def test_a_branch_in_an_if_becomes_a_conditional_branch() -> None:
    text = """
    function f(%n: i64) -> i64
      var %k: i64
      %k = copy.i64 0
      block
        loop
          %c = ge.i64 %k, %n
          if %c
            br 2
          end
          %k = add.i64 %k, 1
          br 0
        end
      end
      ret %k
    end
    """
    f = same_meaning(text, (0,), (5,))
    assert "br_ge" in opcodes(f) and "if_ge" not in opcodes(f)


# --- loads ------------------------------------------------------------------------------------------------------


def loads_left(lines: str) -> int:
    f = lowered(
        addressed(f"""
        function f(%x: ptr, %x.n0: i64, %a: i64) -> i64
          array x: i64[%x.n0] at %x written
          callee g(i64)
          var %s: i64
          %s = copy.i64 %a
          {lines}
        end
        """)
    )
    return opcodes(f).count("load_at")


def test_a_load_used_once_is_in_its_use() -> None:
    assert loads_left("%v = load.i64 x[1]\n %t = add.i64 %a, %v\n ret %t") == 0
    assert loads_left("%v = load.i64 x[1]\n %t = mul.i64 %v, %a\n ret %t") == 0
    assert loads_left("%v = load.i64 x[1]\n %t = lt.i64 %a, %v\n if %t\n ret 1\n end\n ret 0") == 0


@pytest.mark.parametrize(
    "between",
    ["store.i64 0, x[1]", "call_void g(%a)", "%s = add.i64 %s, 1", "loop", "%i = for 0, %a, 1"],
)
def test_a_load_does_not_move_over_what_may_change_it_nor_into_a_loop(between: str) -> None:
    closing = "end" if between.startswith(("loop", "%i")) else ""
    assert loads_left(f"%v = load.i64 x[1]\n {between}\n %t = add.i64 %s, %v\n %s = copy.i64 %t\n {closing}\n ret %s") == 1


def test_a_load_moves_into_a_block() -> None:
    assert loads_left("%v = load.i64 x[1]\n block\n %t = add.i64 %s, %v\n %s = copy.i64 %t\n end\n ret %s") == 0


def test_a_load_moves_over_writes_of_what_no_address_is_computed_by() -> None:
    text = """
    function f(%x: ptr, %y: ptr)
      var %s: f32x8
      var %t: f32x8
      %s = load_at.f32x8 [%y]
      %t = load_at.f32x8 [%y + 32]
      %a = load_at.f32x8 [%x]
      %b = load_at.f32x8 [%x + 32]
      %s = add.f32x8 %s, %a
      %t = add.f32x8 %t, %b
      store_at.f32x8 %s, [%y]
      store_at.f32x8 %t, [%y + 32]
    end
    """
    # (The two that variables begin with stay.)
    assert opcodes(lowered(text)).count("load_at") == 2


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("compared", "other"), [("f32", "i64"), ("f64", "i32"), ("i64", "i32"), ("i32", "i64")])
def test_a_load_that_several_choices_compare_is_in_none_of_them(name: str, compared: str, other: str) -> None:
    """Each has the comparison for itself, and all of them what it compares."""
    text = f"""
    function f(%x: ptr, %a: {compared}, %b: {compared}, %i: {other}, %k: {other}) -> {other}
      %v = load_at.{compared} [%x + 8]
      %c = ge.{compared} %a, %v
      %s = select.{compared} %c, %a, %b
      %t = select.{other} %c, %i, %k
      %u = select.{other} %c, %k, %t
      store_at.{compared} %s, [%x]
      store_at.{other} %u, [%x + 16]
      ret %t
    end
    """
    element = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[compared]
    for number in (0, 1, 2):
        x = np.zeros(8, element)
        x[8 // x.itemsize] = 1
        after = same_meaning(text, (x, element(number), element(5), 3, 4), name=name)
    assert opcodes(after).count("load_at") == 1


def test_a_load_does_not_move_over_a_write_of_its_index() -> None:
    text = """
    function f(%x: ptr, %n: i64) -> i64
      var %k: i64
      %k = copy.i64 %n
      %a = load_at.i64 [%x + %k*8]
      %k = add.i64 %k, 1
      %b = add.i64 %a, %n
      %c = mul.i64 %b, %k
      ret %c
    end
    """
    assert opcodes(lowered(text)).count("load_at") == 1


def test_a_load_used_twice_stays_a_load() -> None:
    assert loads_left("%v = load.i64 x[1]\n %t = add.i64 %a, %v\n %u = add.i64 %t, %v\n ret %u") == 1


def test_few_lanes_are_not_read_as_a_whole_register() -> None:
    text = """
    function f(%x: ptr, %y: ptr)
      %a = load_at.TYPE [%x]
      %b = load_at.TYPE [%y]
      %c = add.TYPE %a, %b
      store_at.TYPE %c, [%y]
    end
    """
    for type_, folded in (("u8x4", False), ("u8x8", False), ("u8x16", True), ("f32x2", False), ("f32x4", True), ("i32x8", True)):
        assert (opcodes(lowered(text.replace("TYPE", type_))).count("load_at") == 1) == folded, type_


@pytest.mark.parametrize("parameters", ["%a: TYPE, %x: ptr", "%x: ptr, %a: TYPE"])
@pytest.mark.parametrize("type_", ["f32", "f64", "i32", "i64", "f32x8", "i64x4"])
def test_a_load_is_folded_whatever_number_the_other_operand_has(type_: str, parameters: str) -> None:
    parameters = parameters.replace("TYPE", type_)
    body = f"%b = load_at.{type_} [%x]\n %c = add.{type_} %a, %b\n"
    if "x" in type_:
        # Vectors are no parameters.
        parameters = "%q: ptr, %x: ptr"
        body = f"%a = load_at.{type_} [%q]\n {body} store_at.{type_} %c, [%q]\n"
        assert opcodes(lowered(f"function f({parameters})\n {body} end")).count("load_at") == 1
    else:
        assert "load_at" not in opcodes(lowered(f"function f({parameters}) -> {type_}\n {body} ret %c\n end"))


# --- calls and checks ---------------------------------------------------------------------------------------------


def test_arguments_beyond_the_registers_are_stored_first() -> None:
    names = [f"%p{n}" for n in range(9)]
    text = f"function f({', '.join(f'{name}: i64' for name in names)}) -> i64\n callee g({', '.join(['i64'] * 9)}) -> i64\n %r = call.i64 g({', '.join(names)})\n ret %r\nend"
    f = lowered(text)
    assert opcodes(f) == ["store_arg"] * 3 + ["call", "ret"]
    assert [instr.imm for instr in f.code[:3]] == [0, 8, 16]
    assert len(f.code[3].args) == 6


def test_a_failed_check_writes_its_record_and_returns() -> None:
    text = """
    function f(%a: i64, %errors: ptr) -> i64
      option check
      array x: i64[%a] at %errors
      site x dimension 0 line 3 "x[i]"
      %c = lt.i64 %a, 0
      if %c
        fail 0, %errors, %a, 10
      end
      ret %a
    end
    """
    f = lowered(text)
    assert opcodes(f)[:5] == ["if_lt", "store_at", "store_at", "store_at", "ret"]


# --- any function -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(60))
def test_random_functions_mean_the_same(name: str, seed: int) -> None:
    from loopwright.compiler import run_passes

    f = Generator(seed).f
    target = registry.get(name)
    arguments = random_arguments(f, seed)
    want = results(f, arguments)
    after = run_passes(f, target, "select")
    for instr in after.code:
        assert instr.rule is not None or instr.op in (ops.BLOCK, ops.LOOP, ops.ELSE, ops.END, ops.BR), instr.op.name
        assert instr.op not in (ops.FOR, ops.WHILE, ops.DO, ops.ELIF, ops.THEN)
    assert results(after, arguments, target) == want


# --- registers of their own ------------------------------------------------------------------------------------


def test_a_conversion_between_integers_of_one_size_needs_no_register() -> None:
    text = """
    function f(%a: i64, %n: i64) -> i64
      var %s: i64
      %s = copy.i64 %a
      %1 = convert.u64.i64 %n
      %i = for 0, %n, 1
        %2 = convert.u64.i64 %i
        %3 = lt.u64 %2, %1
        if %3
          %4 = convert.i64.u64 %2
          %s = add.i64 %s, %4
        end
      end
      ret %s
    end
    """
    f = same_meaning(text, (0, 0), (3, 7), (-1, 12))
    assert "convert" not in opcodes(f)


@pytest.mark.parametrize("op", ["min", "and", "shr", "div_trunc"])
def test_what_is_read_under_another_type_is_that_type_s_value(op: str) -> None:
    text = f"""
    function f(%a: i64, %m: u64) -> u64
      %u = convert.u64.i64 %a
      %c = {op}.u64 %u, %m
      ret %c
    end
    """
    same_meaning(text, (-3, 7), (5, 2), (-(1 << 63), (1 << 64) - 1))


def test_a_conversion_of_a_variable_keeps_what_it_was() -> None:
    text = """
    function f(%a: i64) -> u64
      var %s: i64
      %s = copy.i64 %a
      %1 = convert.u64.i64 %s
      %s = add.i64 %s, 1
      %2 = convert.u64.i64 %s
      %3 = mul.u64 %1, %2
      ret %3
    end
    """
    same_meaning(text, (5,), (-5,))


def test_what_an_instruction_reads_twice_is_loaded_once() -> None:
    text = """
    function f(%p: ptr, %a: f64) -> f64
      %1 = load_at.f64 [%p]
      %2 = fma.f64 %1, %1, %a
      ret %2
    end
    """
    assert opcodes(lowered(text)) == ["load_at", "fma", "ret"]
    assert lowered(text).code[1].mem is None


def test_what_the_body_reads_of_a_condition_is_of_that_step_whatever_its_type() -> None:
    text = """
    function f(%n: i64, %m: u64) -> u64
      var %k: i64
      var %s: u64
      %k = copy.i64 %n
      %s = copy.u64 0
      while
        %1 = add.i64 %k, 5
        %2 = convert.u64.i64 %1
        %3 = lt.u64 %2, %m
        %4 = lt.i64 %k, 40
        %5 = and.bool %3, %4
      do %5
        %s = add.u64 %s, %2
        %k = add.i64 %k, 1
      end
      %6 = add.u64 %s, %2
      ret %6
    end
    """
    same_meaning(text, (0, 0), (0, 20), (7, 12), (39, 1000))


def test_a_load_of_a_condition_that_one_of_two_reads_for_itself_is_loaded_again_at_the_bottom() -> None:
    text = """
    function f(%p: ptr, %q: ptr, %n: i64)
      var %k: i64
      var %s: f32x16
      %k = copy.i64 0
      %s = load_at.f32x16 [%q]
      while
        %1 = load_at.f32x16 [%p]
        %2 = fma.f32x16 %1, %s, %s
        %s = add.f32x16 %2, %s
        %3 = fma.f32x16 %1, %s, %2
        store_at.f32x16 %3, [%q]
        %4 = lt.i64 %k, %n
      do %4
        %k = add.i64 %k, 1
      end
      ret
    end
    """
    verify(lowered(text, "x86-64-v4"))
    f = lowered(text, "x86-64-v4")
    assert {a for instr in f.code for a in instr.args if a >= 0} <= {instr.dst for instr in f.code} | set(f.params)


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("%c = gt.i64 %n, 1", "do %c"),
        ("%d = gt.i64 %n, 1\n%c = not.bool %d", "do %c"),
        ("%v = load_at.i64 [%x]", "%c = lt.i64 %k, %v\ndo %c"),
        ("%u = convert.u64.i64 %n", "%w = convert.u64.i64 %k\n%c = lt.u64 %w, %u\ndo %c"),
    ],
)
def test_what_a_condition_reads_from_in_front_of_its_loop_is_there_for_both_tests(before: str, condition: str) -> None:
    text = f"""
    function f(%x: ptr, %n: i64) -> i64
      var %k: i64
      %k = copy.i64 0
      block
        {before}
        while
          {condition}
          %k = add.i64 %k, 3
          store_at.i64 0, [%x]
          %full = gt.i64 %k, 10
          br_if 1, %full
        end
      end
      ret %k
    end
    """
    same_meaning(text, *((np.array([7]), n) for n in (0, 1, 2, 9)))


# --- bitwise operations ----------------------------------------------------------------------------------------

BITS = """
function f(%x: ptr, %x.n0: i64)
  array x: u32[%x.n0] at %x written
  var %v: u32x4
  %a = load_at.u32x4 [%x]{{of x}}
  %b = load_at.u32x4 [%x + 16]{{of x}}
  %c = load_at.u32x4 [%x + 32]{{of x}}
  %v = copy.u32x4 %a
  {body}
  %k = and.u32x4 %a, %b
  %l = or.u32x4 %k, %c
  store_at.u32x4 %l, [%x + 64]{{of x}}
  store_at.u32x4 %k, [%x + 80]{{of x}}
end
"""
NUMBERS = np.arange(24, dtype=np.uint32) * np.uint32(0x9E3779B1)


@pytest.mark.parametrize("outer", ["and.u32x4 %1, %c", "or.u32x4 %c, %1", "xor.u32x4 %1, %c", "andnot.u32x4 %1, %c", "andnot.u32x4 %c, %1"])
@pytest.mark.parametrize("inner", ["and", "or", "xor", "andnot"])
def test_two_bitwise_operations_are_one_where_the_machine_has_that(inner: str, outer: str) -> None:
    body = f"%1 = {inner}.u32x4 %a, %b\n%2 = {outer}\nstore_at.u32x4 %2, [%x + 48]{{of x}}"
    f = same_meaning(BITS.format(body=body), (NUMBERS,), name="x86-64-v4")
    # What is used twice stays by itself.
    assert sum(instr.op in ops.BITWISE_TWICE.values() for instr in f.code) == 1
    assert ops.AND in [instr.op for instr in f.code]
    assert not any(instr.op in ops.BITWISE_TWICE.values() for instr in lowered(BITS.format(body=body)).code)


def test_a_bitwise_operation_does_not_move_past_a_write_of_its_operands() -> None:
    body = "%1 = xor.u32x4 %v, %b\n%v = copy.u32x4 %c\n%2 = xor.u32x4 %1, %v\nstore_at.u32x4 %2, [%x + 48]{of x}"
    f = same_meaning(BITS.format(body=body), (NUMBERS,), name="x86-64-v4")
    assert not any(instr.op in ops.BITWISE_TWICE.values() for instr in f.code)


# --- loops that count by a pointer -----------------------------------------------------------------------------

ALONG = """
function f(%x: ptr, %x.n0: i64, %lo: i64, %c: bool) -> i64
  array x: i64[%x.n0] at %x
  var %s: i64
  var %p: ptr
  %s = copy.i64 0
  %p = copy.ptr %x
  %i = for {lo}, {hi}, {step}
    {body}
    %p = add.ptr %p, {size}
  end
  ret %s
end
"""
ADDS = "%1 = load_at.i64 [%p]{of x}\n%s = add.i64 %s, %1"


@pytest.mark.parametrize("name", ["x86-64-v3", "rv64gc", "aarch64-neon"])
@pytest.mark.parametrize("lo", ["0", "%lo"])
def test_a_loop_whose_counter_is_not_read_ends_where_its_pointer_does(lo: str, name: str) -> None:
    text = ALONG.format(lo=lo, hi="%x.n0", step=1, body=ADDS, size=8)
    calls = [(np.arange(n, dtype=np.int64) + 5, first, False) for n in (0, 1, 2, 9) for first in (-3, 0, 1, 8) if lo == "0" or first >= 0]
    f = same_meaning(text, *calls, name=name)
    assert opcodes(f).count("br_ne") == 1
    assert "br_lt" not in opcodes(f)
    # The pointer's, unless a load moves it on, the sum's, and where the pointer ends.
    assert opcodes(f).count("add") == (2 if name == "aarch64-neon" else 3)


@pytest.mark.parametrize("name", ["x86-64-v3", "rv64gc"])
@pytest.mark.parametrize("step", [2, 4])
def test_so_does_one_whose_steps_take_several_indices(step: int, name: str) -> None:
    text = ALONG.format(lo="%lo", hi="%x.n0", step=step, body=ADDS, size=8 * step)
    calls = [(np.arange(n + 4, dtype=np.int64) + 5, first, False) for n in (0, 1, 2, 9) for first in (0, 1, 8)]
    f = same_meaning(text, *calls, name=name)
    assert [str(instr.type) for instr in f.code if instr.op is ops.BR_CMP["lt"]] == ["ptr"]
    assert opcodes(f).count("add") == 3


def test_of_several_pointers_one_that_goes_by_a_power_of_two_is_taken() -> None:
    text = ALONG.format(lo="0", hi="%x.n0", step=1, body=ADDS, size=8).replace("var %p: ptr", "var %p: ptr\n  var %q: ptr")
    text = text.replace("%p = copy.ptr %x", "%p = copy.ptr %x\n  %q = copy.ptr %x").replace("%p, 8\n", "%p, 8\n    %q = add.ptr %q, 24\n")
    f = same_meaning(text, (np.arange(9, dtype=np.int64), 0, False), name="rv64gc")
    assert opcodes(f).count("br_ne") == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"body": "%s = add.i64 %s, %i"},
        {"step": 3},
        {"size": 24},
        {"size": -8},
        {"hi": "7"},
        {"lo": "1"},
        {"body": f"{ADDS}\n%p = copy.ptr %x"},
        {"body": f"{ADDS}\nif %c\nret %s\nend"},
        {"body": f"{ADDS}\nbr_if 0, %c"},
    ],
)
def test_a_loop_counts_where_the_pointer_is_not_all_that_is_wanted(changed: dict[str, object]) -> None:
    text = ALONG.format(**{"lo": "0", "hi": "%x.n0", "step": 1, "body": ADDS, "size": 8, **changed})
    assert [str(instr.type) for instr in lowered(text, "rv64gc").code if instr.op is ops.BR_CMP["lt"]] == ["i64"]


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("%a = load_at.i64 [%p + 8]\n%b = add.i64 %a, %n\nstore_at.i64 %b, [%p + 8]", "add_at.i64 %n, [%p + 8]"),
        ("%a = load_at.i32 [%p + %n*4]\n%b = sub.i32 %a, 1\nstore_at.i32 %b, [%p + %n*4]", "sub_at.i32 1, [%p + %n*4]"),
        ("%a = load_at.i64 [%p]\n%b = xor.i64 %n, %a\nstore_at.i64 %b, [%p]", "xor_at.i64 %n, [%p]"),
        # Another place, another width, what is there taken away, the sum or the load read besides.
        ("%a = load_at.i64 [%p]\n%b = add.i64 %a, %n\nstore_at.i64 %b, [%p + 8]", ""),
        ("%a = load_at.i64 [%p]\n%b = sub.i64 %n, %a\nstore_at.i64 %b, [%p]", ""),
        ("%a = load_at.i64 [%p]\n%b = add.i64 %a, %n\nstore_at.i64 %b, [%p]\nstore_at.i64 %b, [%p + 8]", ""),
        ("%a = load_at.i64 [%p]\n%b = add.i64 %a, %n\nstore_at.i64 %b, [%p]\nstore_at.i64 %a, [%p + 8]", ""),
        # Something is written in between; floats and narrow integers.
        ("%a = load_at.i64 [%p]\n%b = add.i64 %a, %n\nstore_at.i64 %n, [%p]\nstore_at.i64 %b, [%p]", ""),
        ("%a = load_at.f64 [%p]\n%b = add.f64 %a, %a\nstore_at.f64 %b, [%p]", ""),
        ("%a = load_at.u8 [%p]\n%b = add.u8 %a, 1\nstore_at.u8 %b, [%p]", ""),
    ],
)
def test_a_store_of_what_was_made_of_the_same_place_is_done_there(body: str, made: str) -> None:
    text = (
        "function f(%x: ptr, %x.n0: i64, %n: i64)\n  stage loops\n  array x: i64[%x.n0] at %x written\n  %p = address.ptr [%x + 16]\n" + body + "\n  ret\nend\n"
    )
    target = registry.get("x86-64-v3")
    f = parse(text)
    select.run(f, target)
    f.stage = "select"
    verify(f, target)
    lines = [line.strip() for line in print_function(f, target).splitlines()]
    found = [line for line in lines if "_at.i" in line and not line.startswith("store_at") and " = load_at" not in line]
    assert [re.sub(r"%(\w)\.\d+", r"%\1", line) for line in found] == ([made] if made else [])
    arrays = [np.arange(8, dtype=np.int64) * 3 + 1 for _ in range(3)]
    Interpreter(parse(text)).call(arrays[0], 2)
    Interpreter(f, target).call(arrays[1], 2)
    assert np.array_equal(arrays[0], arrays[1])
    Code(compiler.compile(parse(text), target, Settings(prove=True)))(arrays[2], 2)
    assert np.array_equal(arrays[0], arrays[2])


# --- tests of bits -----------------------------------------------------------------------------------------------

TESTED = """
function f(%x: ptr, %x.n0: i64, %n: i64, %c: bool) -> i64
  array x: i64[%x.n0] at %x
  var %s: i64
  %s = copy.i64 0
  %m = load_at.i64 [%x]{{of x}}
  {body}
  ret %s
end
"""
BRANCH = "%1 = and.i64 %n, {mask}\n%2 = {compare}.i64 %1, 0\nif %2\n%s = copy.i64 5\nend"


@pytest.mark.parametrize("name", ["x86-64-v3", "aarch64-neon", "rv64gc"])
@pytest.mark.parametrize("mask", ["1", "64", "6", "4294967296", "-2", "%m"])
@pytest.mark.parametrize("compare", ["eq", "ne"])
@pytest.mark.parametrize("choice", [False, True])
def test_bits_are_tested_inside_branches_and_choices(compare: str, mask: str, choice: bool, name: str) -> None:
    made = BRANCH.format(mask=mask, compare=compare)
    if choice:
        made = made.replace("if %2\n%s = copy.i64 5\nend", "%s = select.i64 %2, %n, %m")
    text = TESTED.format(body=made)
    calls = [(np.array([m], np.int64), n, False) for m in (0, 1, 12, -1) for n in (0, 1, 2, 3, 64, 1 << 32, -1, -64)]
    target = registry.get(name)
    compiled = compiler.compile(parse(text), target, Settings(prove=True))
    f = compiler.run_passes(parse(text), target, after="select")
    tested = [instr for instr in f.code if instr.op.name.endswith(("disjoint", "meets"))]
    assert len(tested) == (name != "rv64gc")
    assert (ops.AND in [instr.op for instr in f.code]) == (name == "rv64gc")
    for call in calls:
        want = Interpreter(parse(text)).call(*call)
        assert Interpreter(f, target).call(*call) == want
        if name == "x86-64-v3":
            assert Code(compiled)(*call) == want
        elif name == "aarch64-neon" and call[1] in (1, 64, -64):
            assert emulate.run(compiled, *call) == want


@pytest.mark.parametrize(
    "changed",
    [
        # The bits are wanted besides; the comparison is another, with another number; a variable is written in between.
        ("%s = copy.i64 5", "%s = copy.i64 %1"),
        ("eq.i64 %1, 0", "gt.i64 %1, 0"),
        ("eq.i64 %1, 0", "eq.i64 %1, 2"),
        ("%2 =", "%s = copy.i64 3\n%2 ="),
    ],
)
def test_bits_are_not_tested_where_that_is_not_all_that_is_asked(changed: tuple[str, str]) -> None:
    text = TESTED.format(body=BRANCH.format(mask="6", compare="eq").replace(*changed))
    f = same_meaning(text, *[(np.array([7], np.int64), n, False) for n in (0, 1, 2, 3, 6)])
    assert not any(instr.op.name.endswith(("disjoint", "meets")) for instr in f.code)


def test_one_bit_that_equals_its_mask_is_one_that_is_not_0() -> None:
    text = TESTED.format(body=BRANCH.format(mask="8", compare="eq").replace("%1, 0", "%1, 8"))
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), after="select")
    assert any(instr.op is ops.IF_CMP["meets"] for instr in f.code)
    for n in (0, 8, 7, 15, -8):
        call = (np.array([7], np.int64), n, False)
        assert Interpreter(f, registry.get("x86-64-v3")).call(*call) == Interpreter(parse(text)).call(*call) == (5 if n & 8 else 0)


def test_a_comparison_moves_past_variables_that_it_does_not_read() -> None:
    f = lowered(
        "function f(%a: i64, %b: i64) -> i64\n var %s: i64\n %s = copy.i64 %b\n %c = lt.i64 %a, 5\n %s = add.i64 %s, 1\n if %c\n ret %s\n end\n ret 0\nend"
    )
    assert "if_lt" in opcodes(f)
    f = lowered(
        "function f(%a: i64, %b: i64) -> i64\n var %s: i64\n %s = copy.i64 %b\n %c = lt.i64 %s, 5\n %s = add.i64 %s, 1\n if %c\n ret %s\n end\n ret 0\nend"
    )
    assert "if_lt" not in opcodes(f)


def test_choices_and_branches_by_one_comparison_have_one_each() -> None:
    f = lowered(
        "function f(%a: i64, %b: i64) -> i64\n %c = lt.i64 %a, %b\n %x = select.i64 %c, %a, 1\n %y = select.i64 %c, 2, %b\n if %c\n ret %x\n end\n ret %y\nend"
    )
    made = opcodes(f)
    assert made.count("select_lt") + made.count("select_ge") == 2 and "if_lt" in made and "lt" not in made


@pytest.mark.parametrize("type_", ["u32", "i32"])
def test_conversions_that_leave_a_register_as_it_is_are_none(type_: str) -> None:
    other = "i32" if type_ == "u32" else "u32"
    f = lowered(
        f"function f(%a: {type_}, %b: {type_}) -> {type_}\n %1 = add.{type_} %a, %b\n %2 = convert.{other}.{type_} %1\n %3 = shr.{other} %2, 1\n %4 = convert.{type_}.{other} %3\n ret %4\nend"
    )
    # (Parameters may arrive with anything above a u32.)
    assert opcodes(f).count("convert") == (2 if type_ == "u32" else 0)


def test_what_arrives_as_an_i32_is_made_a_u32() -> None:
    f = lowered("function f(%a: i32) -> u32\n %1 = convert.u32.i32 %a\n ret %1\nend")
    assert "convert" in opcodes(f)


# --- operations of lanes under masks ---------------------------------------------------------------------------

WORK = """
function f(%x: ptr, %x.n0: i64)
  array x: {of}[%x.n0] at %x written
  var %v: {of}x4
  %a = load_at.{of}x4 [%x]{{of x}}
  %b = load_at.{of}x4 [%x + {step}]{{of x}}
  %c = load_at.{of}x4 [%x + 2 * {step}]{{of x}}
  %m = lt.{of}x4 %a, %c
  %v = copy.{of}x4 %a
  {body}
  %w = add.{of}x4 %v, %v
  store_at.{of}x4 %w, [%x + 4 * {step}]{{of x}}
end
"""


def worked(of: str, body: str) -> list[ops.Op]:
    """The operations under masks in what a body becomes; it computes the same as before."""
    size = 4 if of[1:] == "32" else 8
    text = WORK.format(of=of, step=4 * size, body=body).replace(f"2 * {4 * size}", str(8 * size)).replace(f"4 * {4 * size}", str(16 * size))
    numbers = np.linspace(-3, 4, 24) * np.where(np.arange(24) % 3, 1, -1)
    f = same_meaning(
        text,
        (numbers.astype({"f": "f", "i": "i", "u": "u"}[of[0]] + str(size)) if of[0] != "u" else np.arange(24, dtype=f"u{size}") * 7 % 13,),
        name="x86-64-v4",
    )
    return [instr.op for instr in f.code if instr.op in ops.UNDER_MASKS]


@pytest.mark.parametrize("of", ["f32", "f64", "i32", "u64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "max", "and", "or", "xor", "andnot"])
def test_a_choice_behind_arithmetic_is_arithmetic_under_a_mask(of: str, name: str) -> None:
    if of[0] == "f" and name in ("and", "or", "xor", "andnot"):
        pytest.skip("there are none of floats")
    op = ops.BY_NAME[name]
    for text in (f"%1 = {name}.{of}x4 %a, %b\n%v = select.{of}x4 %m, %1, %c", f"%1 = {name}.{of}x4 %v, %b\n%v = select.{of}x4 %m, %1, %v"):
        assert worked(of, text) == [ops.WHERE[op]]


def test_an_operation_whose_operands_have_changed_stays_in_front_of_the_choice() -> None:
    # (All are in registers: what is in memory stays for that alone.)
    assert worked("f32", "%1 = add.f32x4 %v, %a\n%v = add.f32x4 %c, %a\n%v = select.f32x4 %m, %1, %v") == []


def test_a_multiply_add_under_a_mask_adds_to_what_it_leaves() -> None:
    for name in ("fma", "fms", "fnma", "fnms"):
        assert worked("f32", f"%1 = {name}.f32x4 %a, %b, %v\n%v = select.f32x4 %m, %1, %v") == [ops.WHERE[ops.BY_NAME[name]]]
        assert worked("f32", f"%1 = {name}.f32x4 %a, %b, %c\n%v = select.f32x4 %m, %1, %v") == []


def test_what_is_no_operation_under_a_mask() -> None:
    add = "%1 = add.f32x4 %v, %b\n"
    # Used twice; an operand written in between; the other way round.
    assert worked("f32", add + "%2 = add.f32x4 %1, %1\n%v = select.f32x4 %m, %1, %2") == []
    assert worked("f32", add + "%v = copy.f32x4 %c\n%v = select.f32x4 %m, %1, %v") == []
    assert worked("f32", add + "%v = select.f32x4 %m, %v, %1") == []
    # What it reads from memory may have been written.
    body = "%2 = load_at.f32x4 [%x + 48]{of x}\n%1 = add.f32x4 %v, %2\nstore_at.f32x4 %b, [%x + 48]{of x}\n%v = select.f32x4 %m, %1, %c"
    assert worked("f32", body) == []


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("of", ["f32", "i64", "u32"])
def test_a_comparison_and_a_mask_are_a_comparison_under_it(of: str, name: str) -> None:
    bits = of[1:]
    for both in ("%n, %m", "%m, %n"):
        found = worked(of, f"%n = {name}.{of}x4 %b, %c\n%o = and.mask{bits}x4 {both}\n%v = select.{of}x4 %o, %b, %c")
        assert len(found) == 1 and found[0] in (ops.WHERE[ops.BY_NAME[name]], ops.WHERE[ops.LT])


ASKED = ["x < y", "x <= y", "x > y", "x >= y", "not x < y", "not x <= y", "not x > y", "not x >= y"]


@pytest.mark.parametrize("element", [np.float32, np.float64])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("form", ["k = {i} if {asked} else {kept}", "if {asked}: k = {i}", "k = {kept} if {asked} else {i}"])
def test_a_choice_between_integers_by_a_comparison_of_floats(element: type, asked: str, form: str) -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], element)
    a, b = (np.ascontiguousarray(x.ravel()) for x in np.meshgrid(values, values))
    lines = form.format(asked=asked, i="i", kept="k")
    source = f"def chosen(a, b, c):\n  for i in range(a.shape[0]):\n      x = a[i]\n      y = b[i]\n      k = c[i]\n      {lines}\n      c[i] = k\n"
    space: dict[str, object] = {}
    exec(source, space)  # noqa: S102 (the lines above)
    function: Any = space["chosen"]
    function.__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    kernel = lw.kernel(source=source, nests="off")(function)
    wanted = np.full(len(a), -5)
    with np.errstate(invalid="ignore"):
        function(a, b, wanted)
    array = lw.Array[lw.f32 if element is np.float32 else lw.f64]
    for target in ("x86-64-v3", "x86-64-v4"):
        code = kernel.compile(array, array, lw.Array[lw.i64], target=target)
        assert "cmov" in code.asm() and "vcmps" not in code.asm()
        if target == "x86-64-v3":
            c = np.full(len(a), -5)
            code(a, b, c)
            np.testing.assert_array_equal(c, wanted)


RETYPED = """function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
  stage addresses
  array x: f32[%x.n0] at %x
  array y: f32[%y.n0] at %y written
  %given = load_at.f32x8 [%x]
  %bits = bitcast.i32x8.f32x8 %given
  %kept = and.i32x8 %bits, 2147418112
  %short = bitcast.f32x8.i32x8 %kept
  %rest = sub.f32x8 %given, %short
  %set = or.i32x8 %kept, 1
  %other = bitcast.f32x8.i32x8 %set
  %most = max.f32x8 %other, %short
  store_at.f32x8 %rest, [%y]
  store_at.f32x8 %most, [%y + 32]
  ret
end
"""


@pytest.mark.parametrize("name", TARGETS[:2])
def test_lanes_under_another_type_need_no_register_of_their_own(name: str) -> None:
    x = np.random.default_rng(1).normal(size=8).astype(np.float32)
    f = same_meaning(RETYPED, (x, np.zeros(16, np.float32)), name=name)
    # What is read under several types is no operand in memory, and no part of another operation.
    assert opcodes(f).count("bitcast") == 0 and opcodes(f).count("load_at") == 1 and "and_or" not in opcodes(f)
    code = lw.parse(RETYPED).compile(name, prove=True)
    assert "vmovaps" not in str(code.asm())


AS_ANOTHER = """function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64) -> u64
  stage addresses
  array x: u64[%x.n0] at %x written
  array y: u64[%y.n0] at %y written
  %loaded = load_at.u64 [%x]
  %given = convert.i64.u64 %loaded
  %made = MADE
  %other = convert.u64.i64 %made
  READ
  store_at.u64 %other, [%y]
  ret %other
end
"""


@pytest.mark.parametrize("name", ["x86-64-v3", "aarch64-neon", "rv64gc"])
@pytest.mark.parametrize("made", ["add.i64 %given, 3", "and.i64 %given, 12", "neg.i64 %given"])
@pytest.mark.parametrize("read", ["store_at.u64 %other, [%x]", "store_at.i64 %made, [%x]", "%none = eq.u64 %other, 0\nif %none\nstore_at.u64 9, [%y + 8]\nend"])
def test_what_is_read_under_another_type_too_is_not_part_of_one_reader(read: str, made: str, name: str) -> None:
    text = AS_ANOTHER.replace("MADE", made).replace("READ", read)
    same_meaning(text, *((np.array([n], np.uint64), np.zeros(2, np.uint64)) for n in (0, 5, 3, 1 << 63)), name=name)


@pytest.mark.parametrize("name", ["x86-64-v3", "aarch64-neon", "rv64gc"])
@pytest.mark.parametrize("made", ["add.i64 %given, 3", "and.i64 %given, 12"])
def test_what_is_read_under_another_type_alone_is_part_of_its_reader(made: str, name: str) -> None:
    target = registry.get(name)
    adds = made.startswith("add")
    text = AS_ANOTHER.replace("MADE", made).replace(
        "READ", "store_at.u64 %other, [%x]" if adds else "%none = eq.u64 %other, 0\nif %none\nstore_at.u64 9, [%y + 8]\nend"
    )
    text = text.replace("  store_at.u64 %other, [%y]\n  ret %other", "  ret 1")
    f = same_meaning(text, *((np.array([n], np.uint64), np.zeros(2, np.uint64)) for n in (0, 5, 3, 1 << 63)), name=name)
    joined = target.updates(ops.ADD, lw.i64) if adds else target.tests_bits(lw.i64)
    assert (("add" if adds else "and") not in opcodes(f)) == joined


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
def test_narrow_integers_are_stored_from_what_holds_wider_ones(target: str) -> None:
    source = """
def nest(codes, out, kept):
    at = lw.i64(0)
    for i in lw.range(len(codes)):
        code = codes[i] * 3
        while code >= 128:
            out[at] = lw.u8(code | 128)
            at += 1
            code >>= 7
        out[at] = lw.u8(code)
        kept[i] = lw.i16(code) + lw.i16(1)
        at += 1
"""
    kernel = nest_from(source)
    given = [np.array([0, 1, 99, 100000, 1 << 40, 42]), np.zeros(40, np.uint8), np.zeros(6, np.int16)]
    wanted = [x.copy() for x in given]
    nest_from(source, nests="off")(*wanted)
    text = str(kernel.compile(*given, target=target, keep=True).ir("select"))
    assert "convert.u8" not in text and "convert.i16" in text, text
    if target.startswith("x86"):
        kernel(*given)
        for found, right in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(found, right)
    at = 0
    for code in given[0] * 3:
        while code >= 128:
            assert wanted[1][at] == (code | 128) & 255
            at, code = at + 1, code >> 7
        assert wanted[1][at] == code
        at += 1


@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize(
    "made", ["lw.min(a[i], x)", "lw.min(x, a[i])", "lw.max(a[i], x)", "lw.max(x, a[i])", "a[i] + x", "x + a[i]", "a[i] - x", "x - a[i]", "a[i] * x"]
)
def test_either_factor_of_an_operation_under_a_mask_may_be_in_memory(made: str, dtype: type, fastmath: bool) -> None:
    source = f"""
def nest(a, b, c):
    for i in lw.lanes(len(a)):
        x = b[i]
        y = x
        if x > 2:
            y = {made}
        c[i] = y
"""
    a, b, c = np.arange(99).astype(dtype), (np.arange(99) * 7 % 11).astype(dtype), np.zeros(99, dtype)
    kernel = nest_from(source, fastmath=fastmath)
    kernel.compile(a, b, c, target="x86-64-v4")
    kernel(a, b, c)
    one = {"lw.min": np.minimum, "lw.max": np.maximum}.get(made[:6])
    worked = one(a, b) if one is not None else eval(made, {"a": a, "x": b, "i": slice(None)})
    np.testing.assert_array_equal(c, np.where(b > 2, worked, b))
