"""Globals, addresses of functions and calls by address as machine code: what the interpreter says, on every machine."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from tests.ir.test_globals import STACK, TABLE

import loopwright as lw
from loopwright.runtime.emulate import available, run_many

TARGETS = ("x86-64-v3", "aarch64-neon", "rv64gc")

#: Alternately writing and reading: the calls of one program share their globals.
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("read", (24,)),
    ("letter", (0,)),
    ("letter", (2,)),
    ("call", (8, 21)),
    ("never", (2,)),
    ("down", (100,)),
    ("dispatch", (0, 5)),
    ("dispatch", (1, 5)),
    ("dispatch", (2, 5)),
    ("many", (3,)),
    ("beyond", (7,)),
    ("own", (5, 4)),
    ("own", (1000, 777)),
    ("stacks", (3,)),
    ("stacks", (40,)),
    ("aligned", (100,)),
    ("locals", (9,)),
]

MORE = """
global operations align 8 constant
  address twice
  address negated
  address counted
end

global counter align 64
  i32 10
end

function negated(%n: i32) -> i32
  %r = neg.i32 %n
  ret.i32 %r
end

function counted(%n: i32) -> i32
  global counter
  %p = global.ptr counter
  %a = load_at.i32 [%p]
  %b = add.i32 %a, %n
  store_at.i32 %b, [%p]
  ret.i32 %b
end

function dispatch(%k: i64, %n: i32) -> i32
  signature unary(i32) -> i32
  global operations
  %t = global.ptr operations
  %f = load_at.ptr [%t + %k*8]
  %r = call_indirect.i32 unary(%f, %n)
  %s = call_indirect.i32 unary(%f, %r)
  %d = sub.i32 %s, %n
  ret.i32 %d
end

function sum(%a: i64, %b: f64, %c: i64, %d: i64, %e: i64, %f: i64, %g: i64, %h: i64, %i: i64, %j: i64, %k: f64) -> f64
  %1 = sub.i64 %a, %c
  %2 = sub.i64 %d, %e
  %3 = sub.i64 %f, %g
  %4 = sub.i64 %h, %i
  %5 = mul.i64 %1, %2
  %6 = mul.i64 %3, %4
  %7 = add.i64 %5, %6
  %8 = mul.i64 %7, %j
  %9 = convert.f64.i64 %8
  %10 = sub.f64 %b, %k
  %11 = mul.f64 %9, %10
  ret.f64 %11
end

function many(%n: i64) -> f64
  callee sum(i64, f64, i64, i64, i64, i64, i64, i64, i64, i64, f64) -> f64
  signature wide(i64, f64, i64, i64, i64, i64, i64, i64, i64, i64, f64) -> f64
  %f = function.ptr sum
  %x = convert.f64.i64 %n
  %r = call_indirect.f64 wide(%f, %n, %x, 7, 11, 2, 5, 13, 3, %n, 2, 0.5)
  ret.f64 %r
end

function beyond(%n: i64) -> i64
  callee beyond(i64) -> i64
  %p = function.ptr beyond
  %a = convert.i64.ptr %p
  %q = convert.ptr.i64 %a
  %b = add.ptr %q, %n
  %c = gt.ptr %b, %p
  %d = convert.i64.ptr %b
  %e = sub.i64 %d, %a
  %f = select.i64 %c, %e, -1
  ret.i64 %f
end
"""

#: Memory of the stack beside spilled values, local arrays, arguments on the stack and more of the same in a loop.
STACKS = f"""
function stacks(%n: i64) -> i64
  callee stacks(i64) -> i64
  callee sum(i64, f64, i64, i64, i64, i64, i64, i64, i64, i64, f64) -> f64
  array a: i64[5] local at %a written
  var %r: i64
  var %last: ptr
  %a = local.ptr 0
{"".join(f"  %x{k} = mul.i64 %n, {k + 3}{chr(10)}" for k in range(20))}
  %r = copy.i64 0
  %last = copy.ptr 0
  store.i64 %n, a[3]
  %i = for 0, %n, 1
    %p = alloca.ptr %i, 16
    %q = alloca.ptr 24, 8
    store_at.i64 %i, [%q + 16]
    store_at.ptr %last, [%q]
    %last = copy.ptr %q
    %k = for 0, %i, 1
      %b = convert.i8.i64 %k
      store_at.i8 %b, [%p + %k*1]
    end
    %y = call.f64 sum(%i, 2.5, %x0, %x1, 3, %x2, 5, %x3, 7, %n, 0.5)
    %z = convert.i64.f64 %y
    %r = add.i64 %r, %z
  end
  while
    %more = ne.ptr %last, 0
  do %more
    %v = load_at.i64 [%last + 16]
    %r3 = mul.i64 %r, 3
    %r = add.i64 %r3, %v
    %last = load_at.ptr [%last]
  end
{"".join(f"  %s{k} = mul.i64 %r, {k + 2}{chr(10)}  %r = add.i64 %s{k}, %x{k}{chr(10)}" for k in range(20))}
  %own = load.i64 a[3]
  %r = add.i64 %r, %own
  ret.i64 %r
end

function aligned(%n: i64) -> i64
  var %r: i64
  %r = copy.i64 0
  %i = for 0, %n, 7
    %p = alloca.ptr %i, 256
    %q = alloca.ptr 8, 4096
    store_at.i64 %i, [%q]
    %a = convert.i64.ptr %p
    %b = convert.i64.ptr %q
    %c = and.i64 %a, 255
    %d = and.i64 %b, 4095
    %e = or.i64 %c, %d
    %v = load_at.i64 [%q]
    %f = add.i64 %e, %v
    %r = add.i64 %r, %f
  end
  ret.i64 %r
end
"""

#: Local arrays begin at multiples of 16 on every machine, whatever else is in the frame.
LOCALS = """
function locals(%n: i64) -> i64
  callee sum(i64, f64, i64, i64, i64, i64, i64, i64, i64, i64, f64) -> f64
  array a: u8[3] local at %a written
  array b: u8[70] local at %b written
  array c: i16[1] local at %c written
  %a = local.ptr 0
  %b = local.ptr 1
  %c = local.ptr 2
  store.u8 1, a[2]
  store.u8 2, b[69]
  store.i16 3, c[0]
  %x = convert.i64.ptr %a
  %y = convert.i64.ptr %b
  %z = convert.i64.ptr %c
  %k = mul.i64 %n, 7
  %s = call.f64 sum(%n, 2.5, 1, %k, 3, 4, 5, 6, 7, %n, 0.5)
  %t = convert.i64.f64 %s
  %u = or.i64 %x, %y
  %v = or.i64 %u, %z
  %w = and.i64 %v, 15
  %i = load.u8 a[2]
  %j = convert.i64.u8 %i
  %l = add.i64 %t, %j
  %m = add.i64 %l, %k
  %o = mul.i64 %w, 1000000
  %p = add.i64 %m, %o
  ret.i64 %p
end
"""

MODULE = lw.Module.parse(TABLE + STACK + MORE + STACKS + LOCALS)


def test_as_the_interpreter_says_here() -> None:
    program = MODULE.compile(prove=True)
    wanted = [MODULE.interpret(name, *args) for name, args in CALLS]
    assert [program[name](*args) for name, args in CALLS] == wanted
    # What is in globals stays, in the one program.
    assert (program.counted(1), program.counted(1)) == (31, 32)
    assert MODULE.compile().counted(1) == 11
    assert program.write(40, 99) == 99
    assert program.read(40) == 99
    # A function by itself brings what it needs.
    assert "[rip+counter]" in program.counted.asm()


@pytest.mark.parametrize("target", TARGETS)
def test_as_the_interpreter_says_on_every_machine(target: str) -> None:
    if not available(target):
        pytest.skip(f"no emulator for {target}")
    program = MODULE.compile(target=target, prove=True)
    calls = [*CALLS, ("write", (40, 99)), ("read", (40,))]
    results = run_many([(program[name], args) for name, args in calls])
    assert results == [MODULE.interpret(name, *args) for name, args in CALLS] + [99, 99]
    assert program.counted.asm().count("counter") == {"x86-64-v3": 2, "aarch64-neon": 2, "rv64gc": 2}[target]


PRINTED = r"""
global format align 1 constant
  string "%d %.2f %s %d%d%d%d%d %.1f|\u0000"
end

global word align 1 constant
  string "word\u0000"
end

function print(%to: ptr, %size: i64, %n: i32, %x: f64) -> i32
  callee snprintf(ptr, i64, ptr, ..., i32, f64, ptr, i32, i32, i32, i32, i32, f64) -> i32
  global format
  global word
  %f = global.ptr format
  %w = global.ptr word
  %r = call.i32 snprintf(%to, %size, %f, %n, %x, %w, 1, 2, 3, 4, 5, 0.5)
  ret.i32 %r
end

function environment() -> ptr
  global environ
  %p = global.ptr environ
  %v = load_at.ptr [%p]
  ret.ptr %v
end

function absolute(%n: i32) -> i32
  callee abs(i32) -> i32
  signature unary(i32) -> i32
  %f = function.ptr abs
  %r = call_indirect.i32 unary(%f, %n)
  ret.i32 %r
end
"""


def test_functions_and_variables_of_the_c_library() -> None:
    made = lw.Module.parse(PRINTED)
    wanted = b"-7 2.25 word 12345 0.5|"
    for call in (made.compile().print, lambda *args: made.interpret("print", *args)):
        buffer = ctypes.create_string_buffer(64)
        assert call(ctypes.addressof(buffer), 64, -7, 2.25) == len(wanted)
        assert buffer.value == wanted
    program = made.compile()
    assert program.environment() == ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value
    assert program.absolute(-3) == made.interpret("absolute", -3) == 3
    with pytest.raises(lw.TargetError, match="absolute takes the address of abs, which is in this process"):
        made.compile(target="rv64gc").absolute.emulate(1)


SORTED = """
global numbers align 4
  i32 5, -3, 9, 0, 7, -8
end

function compare(%a: ptr, %b: ptr) -> i32
  %x = load_at.i32 [%a]
  %y = load_at.i32 [%b]
  %d = sub.i32 %x, %y
  ret.i32 %d
end

function wild(%a: ptr, %b: ptr) -> i32
  %x = load_at.i32 [%a - 4096]  ; @77
  ret.i32 %x
end

function sorted(%k: i64, %how: bool) -> i32
  callee qsort(ptr, i64, i64, ptr)
  callee compare(ptr, ptr) -> i32
  callee wild(ptr, ptr) -> i32
  global numbers
  %p = global.ptr numbers
  %f = function.ptr compare
  %g = function.ptr wild
  %h = select.ptr %how, %f, %g
  call_void qsort(%p, 6, 4, %h)
  %v = load_at.i32 [%p + %k*4]
  ret.i32 %v
end
"""


def test_c_calls_back() -> None:
    made = lw.Module.parse(SORTED)
    wanted = [-8, -3, 0, 5, 7, 9]
    assert [made.interpret("sorted", k, True) for k in range(6)] == wanted
    program = made.compile()
    assert [program.sorted(k, True) for k in range(6)] == wanted
    # An error under the interpreter is one, though C is in between.
    with pytest.raises(lw.BoundsError, match="77: wild"):
        made.interpret("sorted", 0, False)


UNNAMED = """
function bits(%a: i64, %b: i64) -> i64
  %r = add.i64 %a, %b
  ret.i64 %r
end

function passed(%x: f64) -> i64
  callee bits(i64, i64) -> i64
  signature variable(i64, ..., f64) -> i64
  %f = function.ptr bits
  %r = call_indirect.i64 variable(%f, 1, %x)
  ret.i64 %r
end
"""


def test_floats_without_a_name_are_passed_as_integers_on_riscv() -> None:
    if not available("rv64gc"):
        pytest.skip("no emulator for rv64gc")
    program = lw.Module.parse(UNNAMED).compile(target="rv64gc", prove=True)
    assert program.passed.emulate(2.5) == (0x4004 << 48) + 1


def test_a_global_that_is_nowhere_is_refused() -> None:
    alone = lw.parse("function f() -> ptr\n  global g\n  %p = global.ptr g\n  ret.ptr %p\nend\n")
    with pytest.raises(lw.TargetError, match="the global g has no memory"):
        alone.compile()()
