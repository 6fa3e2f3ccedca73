"""The switches pass: chains of tests become tables where they are dense, halves elsewhere, and go where they went."""

from __future__ import annotations

import random

import pytest
from tests.passes.texts import block, rewritten

import loopwright as lw
from loopwright import compiler
from loopwright.errors import VerifyError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.passes import switches
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.types import limits, parse_type

TARGETS = ("x86-64-v3", "aarch64-neon", "rv64gc")


def chain(type_: str, values: list[int], rng: random.Random | None = None) -> str:
    """A function that gives the number of the value among those tested, counted from 1, and 0 for all others. With a generator arms differ in kind."""
    lines = [f"function f(%v: {type_}) -> i64", "  var %r: i64", "  %r = copy.i64 0", "  block"]
    blocks = 0
    for n, value in enumerate(values, 1):
        lines.append(f"    %c{n}x = eq.{type_} %v, {value}")
        kind = rng.randrange(4) if rng is not None else 0
        lines += [f"    if %c{n}x"]
        if kind == 1:
            lines += [f"      ret {n}", "    end"]
        elif kind == 2:
            # (Nothing that is tested further on is changed.)
            lines += [f"      %r = copy.i64 {n}", "    end"]
        else:
            lines += [f"      %r = copy.i64 {n}", f"      br {blocks + 1}", "    end"]
        if kind == 3:
            lines.append("    block")
            blocks += 1
    lines += ["    end"] * blocks
    return "\n".join([*lines, "  end", "  ret %r", "end"])


def test_tests_of_numbers_next_to_each_other_become_a_table() -> None:
    text = """
    function f(%v: i64) -> i64
      stage switches
      block
        %a = eq.i64 %v, 0
        br_if 0, %a
        %b = eq.i64 %v, 1
        if %b
          ret 10
        end
        %c = eq.i64 %v, 3
        br_if 0, %c
        %d = eq.i64 %v, 4
        if %d
          ret 20
        end
        ret 30
      end
      ret 40
    end
    """
    found = rewritten(text, switches, target=registry.get("x86-64-v3"))
    assert found.startswith(
        block("""
        block
        block
        block
        block
        switch %v, 5
        br_case 3
        br_case 0
        br_case 2
        br_case 3
        br_case 1
        br 2
        end
        ret 10
        end
        ret 20
        end
        ret 30
        end
        ret 40
    """)
    )


def made(type_: str, values: list[int], target: str = "x86-64-v3") -> list[str]:
    """The operations of a chain after the pass, without brackets."""
    f = parse(chain(type_, values))
    switches.run(f, registry.get(target))
    verify_at(f, "switches")
    return [instr.op.name for instr in f.code if instr.op.compare != "case"]


def verify_at(f: Function, stage: str) -> None:
    f.stage = stage
    verify(f)


@pytest.mark.parametrize(
    ("values", "tables", "tests"),
    [
        (list(range(3)), 0, 3),  # too few
        (list(range(4)), 1, 0),
        ([0, 10, 20, 39], 1, 0),  # a tenth of its range
        ([0, 10, 20, 40], 0, 5),  # less: one comparison halves them
        ([*range(5), *range(1000, 1005)], 2, 0),
        ([*range(5), 500, *range(1000, 1005)], 2, 1),
        ([0, 100, 10000, 10**6, 10**8], 0, 6),
    ],
)
def test_a_tenth_of_the_range_makes_a_table(values: list[int], tables: int, tests: int) -> None:
    names = made("i64", values)
    assert names.count("switch") == tables and sum(names.count(name) for name in ("eq", "lt")) == tests


def test_a_machine_without_tables_halves() -> None:
    names = made("i32", list(range(16)), "multiclet-s1")
    assert "switch" not in names and names.count("eq") == 16 and names.count("lt") >= 3


def test_a_value_that_an_arm_changes_is_tested_anew() -> None:
    text = chain("i64", list(range(6))).replace("function f(%v: i64) -> i64", "function f(%given: i64) -> i64\n  var %v: i64")
    text = text.replace("  block\n", "  %v = copy.i64 %given\n  block\n", 1)
    text = text.replace("      %r = copy.i64 3\n      br 1\n", "      %v = copy.i64 4\n      %r = copy.i64 3\n")
    f, before = parse(text), parse(text)
    switches.run(f, registry.get("x86-64-v3"))
    verify_at(f, "switches")
    for value in range(-1, 8):
        assert Interpreter(f).call(value) == Interpreter(before).call(value)
    assert Interpreter(f).call(2) == 5


@pytest.mark.parametrize("seed", range(30))
def test_values_go_where_they_went(seed: int) -> None:
    """Random chains give what they gave, after every pass, on every machine, and as code."""
    rng = random.Random(seed)
    type_ = rng.choice(["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
    least, most = limits(parse_type(type_))
    values: set[int] = set()
    while len(values) < rng.randrange(1, 30):
        start = rng.choice([least, 0, most - 8, rng.randrange(least, most)])
        values |= {number for number in range(start, start + rng.randrange(1, 12)) if least <= number <= most and rng.random() < 0.8}
    tested = rng.sample(sorted(values), len(values))
    text = chain(type_, tested, rng)
    asked = {least, most, 0, *(min(max(value + near, least), most) for value in values for near in (-1, 0, 1))}
    expected = {value: Interpreter(parse(text)).call(value) for value in asked}
    for name in TARGETS:
        target = registry.get(name)
        for stage in ("switches", "loops", "select", "allocate", "jumps", "lower-late"):
            f = compiler.run_passes(parse(text), target, stage, Settings(prove=True))
            verify(f, target)
            again = parse(print_function(f, target), target=target)
            assert print_function(again, target) == print_function(f, target)
            run = Interpreter(f, target if f.physical else None).call
            assert {value: run(value) for value in sorted(asked)[:20]} == {value: expected[value] for value in sorted(asked)[:20]}, stage
    code = Code(compiler.compile(parse(text), registry.get("x86-64-v3"), Settings(prove=True)))
    assert {value: code(value) for value in asked} == expected


def test_a_case_stands_behind_its_switch() -> None:
    head = "function f(%v: i64) -> i64\n  stage switches\n  block\n"
    tail = "    ret 1\n  end\n  ret 2\nend"
    verify(parse(head + "    switch %v, 2\n    br_case 0\n    br_case 0\n" + tail))
    for wrong, message in (
        ("    switch %v, 2\n    br_case 0\n", "2 cases are to follow"),
        ("    switch %v, 1\n    br_case 0\n    br_case 0\n", "belongs to no switch"),
        ("    br_case 0\n", "belongs to no switch"),
        ("    switch %v, 0\n", "one case at least"),
    ):
        with pytest.raises(VerifyError, match=message):
            verify(parse(head + wrong + tail))


def test_no_comparison_is_left_of_a_switch_of_c() -> None:
    cases = "\n".join(f"    i32 {n}, label %c{n}" for n in range(8))
    blocks = "\n".join(f"c{n}:\n  br label %out" for n in range(8))
    phis = ", ".join(f"[ {n * n + 7}, %c{n} ]" for n in range(8))
    text = f"define i32 @f(i32 %v) {{\nentry:\n  switch i32 %v, label %out [\n{cases}\n  ]\n{blocks}\nout:\n  %r = phi i32 [ -1, %entry ], {phis}\n  ret i32 %r\n}}"
    program = lw.from_llvm(text).compile()
    assert [program.f(n) for n in range(-1, 9)] == [-1, *(n * n + 7 for n in range(8)), -1]
    after = program["f"].ir("switches")
    assert after.count("switch") >= 1 and ops.EQ.name + "." not in after
