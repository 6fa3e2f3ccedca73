"""Calls behind which a function only returns: they are jumps, and take no stack, on every machine."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.ir.interpret import Interpreter
from loopwright.ir.module import Module
from loopwright.ir.parse import parse_all
from loopwright.runtime.emulate import available, run_many
from loopwright.targets import registry

TARGETS = ("x86-64-v3", "aarch64-neon", "rv64gc")

TEXT = """
function even(%n: i64) -> bool
  callee odd(i64) -> bool
  %c = eq.i64 %n, 0
  if %c
    ret.bool true
  end
  %m = sub.i64 %n, 1
  %r = call.bool odd(%m)
  ret.bool %r
end

function odd(%n: i64) -> bool
  callee even(i64) -> bool
  %c = eq.i64 %n, 0
  if %c
    ret.bool false
  end
  %m = sub.i64 %n, 1
  %r = call.bool even(%m)
  ret.bool %r
end

global machine align 8 constant
  address odds
  address evens
end

function evens(%n: i64, %sum: f64) -> f64
  signature step(i64, f64) -> f64
  global machine
  %c = le.i64 %n, 0
  if %c
    ret.f64 %sum
  end
  %t = global.ptr machine
  %k = and.i64 %n, 1
  %f = load_at.ptr [%t + %k*8]
  %x = convert.f64.i64 %n
  %s = add.f64 %sum, %x
  %m = sub.i64 %n, 2
  %r = call_indirect.f64 step(%f, %m, %s)
  ret.f64 %r
end

function odds(%n: i64, %sum: f64) -> f64
  callee evens(i64, f64) -> f64
  %m = sub.i64 %n, 1
  %r = call.f64 evens(%m, %sum)
  ret.f64 %r
end

function ackermann(%m: i64, %n: i64) -> i64
  callee ackermann(i64, i64) -> i64
  %a = eq.i64 %m, 0
  if %a
    %r = add.i64 %n, 1
    ret.i64 %r
  end
  %o = sub.i64 %m, 1
  %b = eq.i64 %n, 0
  if %b
    %s = call.i64 ackermann(%o, 1)
    ret.i64 %s
  end
  %p = sub.i64 %n, 1
  %t = call.i64 ackermann(%m, %p)
  %u = call.i64 ackermann(%o, %t)
  ret.i64 %u
end

function kept(%n: i64) -> i64
  callee kept(i64) -> i64
  callee last(ptr, i64) -> i64
  array a: i64[2] local at %a written
  %a = local.ptr 0
  store.i64 %n, a[1]
  %k = mul.i64 %n, 3
  %r = call.i64 last(%a, %k)
  ret.i64 %r
end

function last(%p: ptr, %k: i64) -> i64
  %v = load_at.i64 [%p + 8]
  %r = add.i64 %v, %k
  ret.i64 %r
end

function nothing(%p: ptr, %k: i64)
  callee nothing(ptr, i64)
  %c = eq.i64 %k, 0
  if %c
    ret
  end
  store_at.i64 %k, [%p]
  %m = sub.i64 %k, 1
  call_void nothing(%p, %m)
end

function stacked(%a: i64, %b: i64, %c: i64, %d: i64, %e: i64, %f: i64, %g: i64, %h: i64, %i: i64, %n: i64) -> i64
  callee stacked(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64
  %z = eq.i64 %n, 0
  if %z
    %r = sub.i64 %a, %i
    ret.i64 %r
  end
  %m = sub.i64 %n, 1
  %s = call.i64 stacked(%b, %c, %d, %e, %f, %g, %h, %i, %a, %m)
  ret.i64 %s
end
"""

MODULE = lw.Module.parse(TEXT)
#: So deep that frames of 16 bytes would not fit the stack.
DEEP = 1_000_000
CALLS = [
    ("even", (DEEP,)),
    ("odd", (DEEP,)),
    ("evens", (DEEP - 1, 0.5)),
    ("ackermann", (2, 9)),
    ("kept", (5,)),
    ("stacked", (1, 2, 3, 4, 5, 6, 7, 8, 9, 40)),
]
WANTED = [True, False, 0.5 + DEEP * DEEP / 4, 21, 20, 5 - 4]


def test_deep_recursions_here() -> None:
    program = MODULE.compile(prove=True)
    assert [program[name](*args) for name, args in CALLS] == WANTED
    assert "call" not in program.odds.asm() and "jmp evens" in program.odds.asm()
    assert program.odds.size < 20


@pytest.mark.parametrize("target", TARGETS)
def test_deep_recursions_on_every_machine(target: str) -> None:
    if not available(target):
        pytest.skip(f"no emulator for {target}")
    program = MODULE.compile(target=target, prove=True)
    assert run_many([(program[name], args) for name, args in CALLS]) == WANTED


@pytest.mark.parametrize("target", TARGETS)
def test_the_text_behind_the_pass_means_the_same(target: str) -> None:
    program = MODULE.compile(target=target)
    texts = {name: program[name].ir("lower-late") for name in program}
    tails = {name: text.count("tail_call ") + text.count("tail_call_indirect ") for name, text in texts.items()}
    # Not where an address of the frame may be in use, nor with arguments on the stack.
    assert tails == {"even": 1, "odd": 1, "evens": 1, "odds": 1, "ackermann": 2, "kept": 0, "last": 0, "nothing": 1, "stacked": 0}
    machine = registry.get(target)
    made = Module(parse_all("".join(texts.values()), target=machine), None, list(MODULE.finish().globals.values()))
    made.verify(machine)
    for name, args, wanted in (("ackermann", (2, 3), 9), ("even", (7,), False), ("evens", (9, 0.5), 25.5), ("kept", (5,), 20)):
        assert Interpreter(made.functions[name], machine).call(*args) == wanted
