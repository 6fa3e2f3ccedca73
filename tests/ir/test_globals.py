"""Memory of a module's own: its text, and what the interpreter finds wrong with accesses to it."""

from __future__ import annotations

import struct

import pytest

from loopwright.errors import BoundsError, ParseError, VerifyError
from loopwright.ir.globals import Global, Reference
from loopwright.ir.interpret import InterpreterError
from loopwright.ir.module import Module, parse_module
from loopwright.ir.text import equal

TABLE = r"""
global words align 1 constant
  string "one\u0000two\u0000"
end

global table align 16
  address words + 4
  address twice
  address table - 8
  i16 -1, 300
  f32 0.5
  f64 -0.25
  bytes "00ff10"
  zero 40
  u8 255
end

function twice(%n: i32) -> i32
  %r = add.i32 %n, %n
  ret.i32 %r
end

function read(%offset: i64) -> i32
  global table
  %t = global.ptr table
  %p = add.ptr %t, %offset
  %v = load_at.i32 [%p]
  ret.i32 %v
end

function letter(%k: i64) -> u8
  global table
  %t = global.ptr table
  %s = load_at.ptr [%t]
  %v = load_at.u8 [%s + %k*1]
  ret.u8 %v
end

function write(%offset: i64, %n: i32) -> i32
  global table
  global words
  %t = global.ptr table
  %w = global.ptr words
  %c = lt.i64 %offset, 0
  %p = select.ptr %c, %w, %t
  %q = add.ptr %p, %offset
  store_at.i32 %n, [%q]
  %v = load_at.i32 [%q]
  ret.i32 %v
end

function call(%offset: i64, %n: i32) -> i32
  signature unary(i32) -> i32
  global table
  %t = global.ptr table
  %f = load_at.ptr [%t + %offset*1]
  %r = call_indirect.i32 unary(%f, %n)
  ret.i32 %r
end

function wrong(%n: i64) -> i64
  signature unary(i64) -> i64
  callee twice(i32) -> i32
  %f = function.ptr twice
  %r = call_indirect.i64 unary(%f, %n)
  ret.i64 %r
end

function hanging() -> ptr
  array a: i32[4] local at %a written
  %a = local.ptr 0
  store.i32 7, a[1]
  ret.ptr %a
end

function after() -> i32
  callee hanging() -> ptr
  %p = call.ptr hanging()
  %v = load_at.i32 [%p + 4]
  ret.i32 %v
end

function never(%n: i64) -> i64
  %c = eq.i64 %n, 3
  if %c
    unreachable
  end
  ret.i64 %n
end

function down(%n: i64) -> i64
  callee down(i64) -> i64
  array a: i64[1] local at %a written
  %a = local.ptr 0
  store.i64 %n, a[0]
  %c = eq.i64 %n, 0
  if %c
    ret.i64 0
  end
  %m = sub.i64 %n, 1
  %r = call.i64 down(%m)
  %own = load_at.i64 [%a]
  %s = add.i64 %r, %own
  ret.i64 %s
end
"""

STACK = """
function own(%n: i64, %at: i64) -> i32
  callee fill(ptr, i64)
  %size = mul.i64 %n, 4
  %p = alloca.ptr %size, 16
  call_void fill(%p, %n)
  %v = load_at.i32 [%p + %at*4]
  ret.i32 %v
end

function fill(%p: ptr, %n: i64)
  %i = for 0, %n, 1
    %v = convert.i32.i64 %i
    store_at.i32 %v, [%p + %i*4]
  end
end
"""


def test_globals_are_read_back() -> None:
    made = parse_module(TABLE)
    text = made.text()
    again = parse_module(text)
    assert again.text() == text
    assert all(equal(f, again.functions[name]) for name, f in made.functions.items())
    table = made.globals["table"]
    assert (table.size, table.align, table.constant) == (24 + 4 + 4 + 8 + 3 + 40 + 1, 16, False)
    assert table.data[24:] == struct.pack("<hhfd", -1, 300, 0.5, -0.25) + bytes.fromhex("00ff10") + bytes(40) + b"\xff"
    assert [(r.offset, r.symbol, r.addend) for r in table.references] == [(0, "words", 4), (8, "twice", 0), (16, "table", -8)]
    assert again.globals["table"].data == table.data
    assert made.globals["words"].filled({}) == b"one\0two\0"


def test_what_is_in_globals_is_read_written_and_called() -> None:
    made = parse_module(TABLE)
    assert made.interpret("read", 24) == 300 << 16 | 0xFFFF
    assert [made.interpret("letter", k) for k in range(4)] == list(b"two\0")
    assert made.interpret("write", 40, 1234) == 1234
    # Each begins anew.
    assert made.interpret("read", 40) == 0x10FF00
    assert made.interpret("call", 8, 21) == 42


def test_memory_of_the_stack() -> None:
    made = parse_module(TABLE + STACK)
    assert made.interpret("own", 5, 4) == 4
    assert made.interpret("never", 2) == 2
    # Every call has its own, deeper than Python's functions nest.
    assert made.interpret("down", 2000) == 2000 * 2001 // 2


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("read", (84,), "0 bytes past the end of table"),
        ("read", (81,), "in table"),
        ("read", (-4,), "4 bytes before table"),
        ("read", (1 << 62,), "bytes past the end of table"),
        ("write", (-1, 5), "1 bytes before words"),
        ("after", (), "is in a of hanging, whose function has returned"),
        ("own", (5, 5), "0 bytes past the end of memory of own's stack"),
        ("own", (-1, 0), "-4 bytes of the stack"),
        ("never", (3,), "reached"),
        ("call", (0, 1), "there is no function at"),
        ("wrong", (1,), "twice(i32) -> i32 is called as unary(i64) -> i64"),
        ("down", (20_000,), "calls nest more than 10000 deep"),
    ],
)
def test_wild_accesses_are_errors(name: str, args: tuple[int, ...], said: str) -> None:
    with pytest.raises(InterpreterError, match=said.replace("(", r"\(").replace(")", r"\)")) as caught:
        parse_module(TABLE + STACK).interpret(name, *args)
    assert name in str(caught.value) or name == "own"
    assert isinstance(caught.value, BoundsError) == ("address" in str(caught.value))


def test_constants_are_not_written() -> None:
    text = "global c align 4 constant\n  i32 1\nend\nfunction f()\n  global c\n  %p = global.ptr c\n  store_at.i32 2, [%p]\nend\n"
    with pytest.raises(BoundsError, match="is read-only, in c"):
        parse_module(text).interpret("f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("global g align 3\nend\n", "expected a power of two"),
        ("global g\n  i8 128\nend\n", "expected a number of i8 between -128 and 127"),
        ("global g\n  f16 1\nend\n", "expected numbers behind their type"),
        ('global g\n  bytes "0"\nend\n', "two hexadecimal digits"),
        ("global g\n  i8 1\n", "expected `end` for the global of line 1"),
        ("global g\n  address\nend\n", "expected the name of a global or a function"),
        ("local g\nend\n", "expected `function` or `global`"),
    ],
)
def test_what_is_no_global_is_refused(text: str, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        parse_module(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("global g\n  address h\nend\n", "has the address of h in it, which the module does not have"),
        ("global g\nend\nglobal g\nend\n", "the module has g already"),
        ("global g\nend\nfunction g()\nend\n", "a function and a global named g"),
        ("function f() -> ptr\n  global g\n  %p = global.ptr g\n  ret.ptr %p\nend\n", "names the global g, which the module does not have"),
        ("function f() -> ptr\n  signature s()\n  %p = function.ptr s\n  ret.ptr %p\nend\n", "s is a signature, which has no address"),
        ("function f()\n  signature s()\n  call_void s()\nend\n", "s is a signature, for calls by address"),
        ("function f(%p: ptr)\n  callee f(ptr)\n  call_indirect_void f(%p, %p)\nend\n", "f is a function: declare the signature"),
        ("function f(%p: ptr)\n  signature s(i32)\n  call_indirect_void s(%p)\nend\n", "s takes 1 arguments, 0 are given"),
        ("function f(%n: i64) -> ptr\n  %p = alloca.ptr %n, 3\n  ret.ptr %p\nend\n", "an alignment of 3 bytes"),
        ("function f(%n: i64) -> i64\n  %c = eq.i64 %n, 0\n  if %c\n    ret.i64 1\n  end\nend\n", "a path ends without a return"),
    ],
)
def test_what_breaks_a_rule_is_refused(text: str, said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        parse_module(text)


def test_contents_fit_their_global() -> None:
    for made, said in (
        (Global("g", 4, 4, b"12345"), "has 5 bytes"),
        (Global("g", 12, 8, b"", False, [Reference(8, "g")]), "not behind the one before or not inside"),
        (Global("g", 8, 3), "its alignment is 3"),
    ):
        with pytest.raises(VerifyError, match=said):
            Module([], None, [made])
