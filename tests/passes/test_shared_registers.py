"""Conversions that leave a register as it is: which of them are none, on which machines, and that what is read there is the same."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.settings import Settings
from loopwright.targets import registry

TARGETS = ["x86-64-v3", "aarch64-neon", "rv64gc"]
VALUES = [0, 1, 5, -1, -7, 2**31 - 1, -(2**31)]


def conversions(text: str, name: str = "x86-64-v3") -> int:
    """How many conversions the selected code has."""
    f = compiler.run_passes(parse(text), registry.get(name), "select", Settings())
    verify(parse(print_function(f)))
    return sum(instr.op is ops.CONVERT for instr in f.code)


def same(text: str, values: list[int] = VALUES) -> None:
    """The code gives the same as the function, on every machine behind the pass, and here."""
    module = lw.Module.parse(text)
    code = module.compile(target="x86-64-v3")
    for value in values:
        want = Interpreter(parse(text)).call(value)
        assert code.f(value) == want, value
        for name in TARGETS:
            target = registry.get(name)
            for stage in ("select", "jumps"):
                f = compiler.run_passes(parse(text), target, stage, Settings())
                assert Interpreter(f, target).call(value) == want, (value, name, stage)


SUM = """function f(%a: i32) -> i64
  %1 = add.i32 %a, 3
  %2 = convert.u32.i32 %1
  %3 = convert.i64.u32 %2
  %4 = mul.i64 %3, %3
  %5 = convert.i64.i32 %1
  %6 = sub.i64 %4, %5
  ret %6
end
"""


def test_above_what_an_instruction_makes_of_32_bits_there_are_zeros() -> None:
    # (The one with the sign is left.)
    assert conversions(SUM) == 1
    same(SUM)


def test_above_a_parameter_there_may_be_anything() -> None:
    text = SUM.replace("%1 = add.i32 %a, 3", "%1 = copy.i32 %a")
    assert conversions(text) == 2
    same(text)


LOOP = """function f(%a: i32) -> i64
  var %n: i32
  var %total: i64
  %n = and.i32 %a, 15
  %total = copy.i64 0
  loop
    %1 = convert.u32.i32 %n
    %2 = convert.i64.u32 %1
    {early}
    %total = add.i64 %total, %2
    %3 = mul.i64 %2, 3
    %total = xor.i64 %total, %3
    {late}
    %4 = gt.i32 %n, -4
    br_if 0, %4
  end
  ret %total
end
"""
STEP = "%n = add.i32 %n, -1"


def test_a_variable_keeps_its_register_as_long_as_it_keeps_its_value() -> None:
    late, early = LOOP.format(early="", late=STEP), LOOP.format(early=STEP, late="")
    assert conversions(late) == 0
    assert conversions(early) == 1
    same(late)
    same(early)


def test_a_variable_that_may_come_from_a_parameter() -> None:
    text = LOOP.format(early="", late=STEP).replace("%n = and.i32 %a, 15", "%n = copy.i32 %a\n %9 = lt.i32 %a, 20\n if %9\n %n = and.i32 %a, 15\n else\n end")
    assert conversions(text) == 1
    same(text, [0, 1, 19, -1, 25])


def test_a_loop_that_comes_back_to_the_use() -> None:
    """What is read in an inner loop is read again after the variable has changed further down in it."""
    text = """function f(%a: i32) -> i64
  var %n: i32
  var %k: i64
  var %total: i64
  %n = and.i32 %a, 15
  %k = copy.i64 0
  %total = copy.i64 0
  %1 = convert.u32.i32 %n
  %2 = convert.i64.u32 %1
  loop
    %total = add.i64 %total, %2
    %n = add.i32 %n, 1
    %k = add.i64 %k, 1
    %4 = lt.i64 %k, 5
    br_if 0, %4
  end
  %5 = convert.i64.i32 %n
  %6 = add.i64 %total, %5
  ret %6
end
"""
    assert conversions(text) == 2
    same(text)


@pytest.mark.parametrize("type_", ["u8", "u16"])
def test_narrow_integers_without_a_sign(type_: str) -> None:
    text = f"function f(%a: i32) -> i64\n %1 = convert.{type_}.i32 %a\n %2 = convert.i64.{type_} %1\n %3 = mul.i64 %2, %2\n %4 = add.i64 %3, %2\n ret %4\nend\n"
    assert conversions(text) == 1
    same(text)


@pytest.mark.parametrize("type_", ["i8", "i16"])
def test_narrow_integers_with_a_sign(type_: str) -> None:
    text = f"function f(%a: i32) -> i64\n %1 = convert.{type_}.i32 %a\n %2 = convert.i64.{type_} %1\n %3 = convert.i32.{type_} %1\n %4 = convert.u32.i32 %3\n %5 = convert.u64.u32 %4\n"
    text += " %6 = convert.i64.u64 %5\n %7 = mul.i64 %6, 3\n %8 = add.i64 %7, %2\n ret %8\nend\n"
    same(text)


def test_quotients_and_remainders_of_what_shares_a_register_are_one_division() -> None:
    text = """function f(%a: i32) -> i64
  var %n: i32
  var %total: i64
  %n = and.i32 %a, 15
  %total = copy.i64 0
  loop
    %n = add.i32 %n, 1
    %1 = convert.u32.i32 %n
    %2 = rem_trunc.u32 100000, %1
    %3 = div_trunc.u32 100000, %1
    %4 = convert.i64.u32 %2
    %5 = convert.i64.u32 %3
    %6 = mul.i64 %5, %4
    %total = add.i64 %total, %6
    %7 = lt.i32 %n, 20
    br_if 0, %7
  end
  ret %total
end
"""
    f = compiler.run_passes(parse(text), registry.get("x86-64-v3"), "select", Settings())
    assert [instr.op for instr in f.code].count(ops.DIV_REM) == 1
    same(text)


def test_values_that_are_spilled() -> None:
    """More of them than there are registers, across a loop."""
    lines = [f" %m{n} = mul.i32 %a, {2 * n + 3}\n %u{n} = convert.u32.i32 %m{n}\n %w{n} = convert.i64.u32 %u{n}" for n in range(20)]
    adds = [f" %t = add.i64 %t, %w{n}\n %e{n} = convert.i64.i32 %m{n}\n %t = xor.i64 %t, %e{n}" for n in range(20)]
    text = "function f(%a: i32) -> i64\n var %t: i64\n var %k: i32\n" + "\n".join(lines) + "\n %t = copy.i64 0\n %k = copy.i32 0\n loop\n" + "\n".join(adds)
    text += "\n %k = add.i32 %k, 1\n %c = lt.i32 %k, 3\n br_if 0, %c\n end\n ret %t\nend\n"
    same(text)
