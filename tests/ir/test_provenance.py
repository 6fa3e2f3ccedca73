"""Pointers of an interpreted program lead to the object they came from, and nowhere else: whatever they went through, and whatever lies where they lead."""

from __future__ import annotations

import re

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import BoundsError
from loopwright.frontend.llvm.routines import routine
from loopwright.ir.module import Module, parse_module

GLOBALS = """
global a align 16
  i32 1, 2, 3, 4
end

global b align 16
  i32 10, 20, 30, 40
end

global slot align 8
  zero 48
end

global given align 8
  address a + 4
  address b
end

function distance() -> i64
  global a
  global b
  %p = global.ptr a
  %q = global.ptr b
  %x = convert.i64.ptr %p
  %y = convert.i64.ptr %q
  %d = sub.i64 %y, %x
  ret.i64 %d
end
"""

#: How a pointer to `a` gets to an access so many bytes (%d) further: all are right for 4, and wrong for the distance to `b`.
WAYS = {
    "added": "%q = add.ptr %p, %d\n  %v = load_at.i32 [%q]",
    "taken away": "%n = neg.i64 %d\n  %q = sub.ptr %p, %n\n  %v = load_at.i32 [%q]",
    "as an index": "%v = load_at.i32 [%p + %d*1]",
    "as an address": "%q = address.ptr [%p + %d*1]\n  %v = load_at.i32 [%q]",
    "chosen": "%c = ne.i64 %d, 0\n  %r = select.ptr %c, %p, %s\n  %v = load_at.i32 [%r + %d*1]",
    "a variable": "%u = copy.ptr %s\n  %i = for 0, %d, 1\n    %u = copy.ptr %p\n  end\n  %v = load_at.i32 [%u + %d*1]",
    "a step at a time": "%u = copy.ptr %p\n  %e = add.ptr %p, %d\n  block\n  loop\n    %done = eq.ptr %u, %e\n    br_if 1, %done\n    %u = add.ptr %u, 4\n    br 0\n  end\n  end\n  %v = load_at.i32 [%u]",
    "stored and loaded": "store_at.ptr %p, [%s]\n  %q = load_at.ptr [%s]\n  %v = load_at.i32 [%q + %d*1]",
    "in a global": "%g = global.ptr given\n  %q = load_at.ptr [%g]\n  %v = load_at.i32 [%q + %d*1 - 4]",
    "passed and returned": "%q = call.ptr same(%p)\n  %v = load_at.i32 [%q + %d*1]",
    "copied by words": "store_at.ptr %p, [%s]\n  call_void __loopwright_memcpy(%t, %s, 8)\n  %q = load_at.ptr [%t]\n  %v = load_at.i32 [%q + %d*1]",
    "copied by words that overlap": "%x = address.ptr [%s + 28]\n  store_at.ptr %p, [%s]\n  call_void __loopwright_memcpy(%x, %s, 12)\n  %q = load_at.ptr [%x]\n  %v = load_at.i32 [%q + %d*1]",
    "the second of two, copied by words that overlap": "%x = address.ptr [%s + 24]\n  %y = address.ptr [%s + 8]\n  store_at.ptr %p, [%y]\n  call_void __loopwright_memcpy(%x, %s, 20)\n  %q = load_at.ptr [%x + 8]\n  %v = load_at.i32 [%q + %d*1]",
    "copied by bytes": "store_at.ptr %p, [%s]\n  call_void bytes(%t, %s)\n  %q = load_at.ptr [%t]\n  %v = load_at.i32 [%q + %d*1]",
    "an integer in between": "%n = convert.i64.ptr %p\n  %q = convert.ptr.i64 %n\n  %v = load_at.i32 [%q + %d*1]",
}


def through(way: str) -> Module:
    body = WAYS[way]
    return parse_module(
        GLOBALS
        + routine("memcpy")
        + f"""
function same(%p: ptr) -> ptr
  ret.ptr %p
end

function bytes(%to: ptr, %from: ptr)
  %i = for 0, 8, 1
    %v = load_at.u8 [%from + %i*1]
    store_at.u8 %v, [%to + %i*1]
  end
end

function f(%far: bool) -> i32
  callee same(ptr) -> ptr
  callee bytes(ptr, ptr)
  callee __loopwright_memcpy(ptr, ptr, i64)
  callee distance() -> i64
  global a
  global slot
  global given
  var %u: ptr
  %p = global.ptr a
  %s = global.ptr slot
  %t = address.ptr [%s + 8]
  %apart = call.i64 distance()
  %d = select.i64 %far, %apart, 4
  {body}
  ret.i32 %v
end
"""
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_pointer_keeps_its_object(way: str) -> None:
    made = through(way)
    if way not in ("a variable", "a step at a time"):
        # (`b` may lie in front of `a`, to where these do not lead.)
        with pytest.raises(BoundsError, match="outside what its pointer leads to, .* a, in b"):
            made.interpret("f", True, limit=2_000_000)
    assert made.interpret("f", False) == 2


def test_an_integer_that_was_no_pointer_leads_to_nothing() -> None:
    """An address found out by comparisons is that of an object, but no pointer to it, until one to it has been made an integer."""
    text = """
function f(%known: bool) -> i32
  array b: i32[4] local at %b written
  var %n: i64
  %b = local.ptr 0
  store.i32 7, b[0]
  %n = copy.i64 0
  %bit = for 62, -1, -1
    %power = shl.i64 1, %bit
    %m = or.i64 %n, %power
    %q = convert.ptr.i64 %m
    %low = le.ptr %q, %b
    if %low
      %n = copy.i64 %m
    end
  end
  %r = convert.ptr.i64 %n
  if %known
    %same = convert.i64.ptr %b
    %r2 = convert.ptr.i64 %same
    %w = load_at.i32 [%r2]
    ret.i32 %w
  end
  %v = load_at.i32 [%r]
  ret.i32 %v
end
"""
    made = parse_module(text)
    assert made.interpret("f", True) == 7
    with pytest.raises(BoundsError, match="is in b of f, but its pointer is made of an integer"):
        made.interpret("f", False)


def test_a_pointer_that_is_written_over_in_part_is_what_its_bytes_say() -> None:
    text = (
        GLOBALS
        + """
function f(%low: i32) -> i32
  global a
  global slot
  %p = global.ptr a
  %s = global.ptr slot
  store_at.ptr %p, [%s]
  store_at.i32 %low, [%s]
  %q = load_at.ptr [%s]
  %v = load_at.i32 [%q]
  ret.i32 %v
end
"""
    )
    with pytest.raises(BoundsError, match="is outside every array"):
        parse_module(text).interpret("f", 64)


def test_arrays_of_the_caller_are_apart() -> None:
    whole = np.arange(8, dtype=np.int32)
    made = parse_module("""
function f(%x: ptr, %y: ptr, %z: ptr, %k: i64) -> i32
  %v = load_at.i32 [%x + %k*4]
  %w = load_at.i32 [%z]
  %s = add.i32 %v, %w
  ret.i32 %s
end
""")
    # An address as a number: where one ends and the other begins, it is of either.
    address = whole.__array_interface__["data"][0] + 16
    assert made.interpret("f", whole[:4], whole[4:], address, 3) == 3 + 4
    with pytest.raises(BoundsError, match="0 bytes past the end of an array of the caller's"):
        made.interpret("f", whole[:4], whole[4:], address, 4)


HEAP = """
global kept align 8
  zero 8
end

global counter align 8
  zero 8
end

function make(%n: i64) -> ptr
  callee malloc(i64) -> ptr
  %p = call.ptr malloc(%n)  ; @12
  ret.ptr %p
end

function release(%p: ptr)
  callee free(ptr)
  call_void free(%p)  ; @17
  ret
end

function fine(%n: i64) -> i64
  callee calloc(i64, i64) -> ptr
  callee realloc(ptr, i64) -> ptr
  callee release(ptr)
  %p = call.ptr calloc(%n, 8)
  store_at.i64 7, [%p]
  store_at.ptr %p, [%p + 8]
  %q = call.ptr realloc(%p, 4096)
  store_at.i64 35, [%q + 4088]
  %v = load_at.i64 [%q]
  %w = load_at.i64 [%q + 4088]
  %s = add.i64 %v, %w
  call_void release(%q)
  call_void release(0)
  ret.i64 %s
end

function past(%n: i64) -> u8
  callee make(i64) -> ptr
  %p = call.ptr make(%n)
  %v = load_at.u8 [%p + %n*1]
  ret.u8 %v
end

function neighbour() -> i64
  callee make(i64) -> ptr
  %p = call.ptr make(16)
  %q = call.ptr make(16)
  %x = convert.i64.ptr %p
  %y = convert.i64.ptr %q
  %d = sub.i64 %y, %x
  %v = load_at.i64 [%p + %d*1]
  ret.i64 %v
end

function after() -> i64
  callee make(i64) -> ptr
  callee release(ptr)
  %p = call.ptr make(16)
  call_void release(%p)
  %q = call.ptr make(16)
  %v = load_at.i64 [%p]
  ret.i64 %v
end

function after_in_memory()
  callee make(i64) -> ptr
  callee release(ptr)
  global kept
  %k = global.ptr kept
  %p = call.ptr make(16)
  store_at.ptr %p, [%k]
  call_void release(%p)
  %q = load_at.ptr [%k]
  store_at.i64 1, [%q + 8]
  ret
end

function moved() -> i64
  callee make(i64) -> ptr
  callee realloc(ptr, i64) -> ptr
  %p = call.ptr make(16)
  %q = call.ptr realloc(%p, 8)  ; @60
  %v = load_at.i64 [%p]  ; @61
  ret.i64 %v
end

function shrunk() -> i64
  callee make(i64) -> ptr
  callee realloc(ptr, i64) -> ptr
  %p = call.ptr make(16)
  %q = call.ptr realloc(%p, 8)
  %v = load_at.i64 [%q + 8]
  ret.i64 %v
end

function twice()
  callee make(i64) -> ptr
  callee release(ptr)
  %p = call.ptr make(16)
  call_void release(%p)
  call_void release(%p)
  ret
end

function inside()
  callee make(i64) -> ptr
  callee release(ptr)
  %p = call.ptr make(16)
  %q = add.ptr %p, 8
  call_void release(%q)
  ret
end

function a_global()
  callee release(ptr)
  global counter
  %p = global.ptr counter
  call_void release(%p)
  ret
end

function a_local()
  callee release(ptr)
  array a: i32[4] local at %a written
  %a = local.ptr 0
  call_void release(%a)
  ret
end

function a_number(%n: i64)
  callee release(ptr)
  %p = convert.ptr.i64 %n
  call_void release(%p)
  ret
end

function hung(%p: ptr)
  array a: i32[4] local at %a written
  %a = local.ptr 0
  store_at.ptr %a, [%p]
  ret
end

function gone() -> i32
  callee hung(ptr)
  global kept
  %k = global.ptr kept
  call_void hung(%k)
  call_void hung(%k)
  %p = load_at.ptr [%k]
  %v = load_at.i32 [%p + 4]
  ret.i32 %v
end

function null() -> i32
  global kept
  %k = global.ptr kept
  %p = load_at.ptr [%k]
  %v = load_at.i32 [%p + 8]
  ret.i32 %v
end
"""


OF_16 = "the 16 bytes that make allocated in line 12"


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("past", (24,), "is outside what its pointer leads to, 0 bytes past the end of the 24 bytes that make allocated in line 12"),
        ("past", (0,), "0 bytes past the end of the 0 bytes that make allocated in line 12"),
        ("neighbour", (), f"{OF_16}, in {OF_16}"),
        ("after", (), f"is in {OF_16}, which release freed in line 17"),
        ("after_in_memory", (), f"is in {OF_16}, which release freed in line 17"),
        ("moved", (), f"is in {OF_16}, which moved freed in line 60"),
        ("shrunk", (), "0 bytes past the end of the 8 bytes that shrunk allocated"),
        ("twice", (), f"is in {OF_16}, which release freed in line 17 already"),
        ("inside", (), f"is in {OF_16}, 8 bytes from its beginning, by which it is to be freed"),
        ("a_global", (), "is in counter, which is not freed: it has not been allocated"),
        ("a_local", (), "is in a of a_local, which is not freed: it has not been allocated"),
        ("a_number", (123456,), "is not of memory that the program has allocated"),
        ("gone", (), "is in a of hung, whose function has returned"),
        ("null", (), "is that of a null pointer"),
    ],
)
def test_memory_that_is_allocated_has_bounds_and_an_end(name: str, args: tuple[int, ...], said: str) -> None:
    made = lw.Module.parse(HEAP)
    with pytest.raises(BoundsError, match=re.escape(said)) as caught:
        made.interpret(name, *args)
    assert caught.value.line == {"moved": 61, "twice": 17}.get(name, caught.value.line)


def test_what_is_allocated_and_freed_as_it_should_be() -> None:
    made = lw.Module.parse(HEAP)
    assert made.interpret("fine", 2) == 42
    assert made.compile().fine(2) == 42


WITH_C = """
global words align 16
  address one
  address two
  address three
end

global one align 1
  string "one\\u0000"
end

global two align 1
  string "two\\u0000"
end

global three align 1
  string "three\\u0000"
end

function compare(%a: ptr, %b: ptr) -> i32
  callee strcmp(ptr, ptr) -> i32
  %x = load_at.ptr [%a]
  %y = load_at.ptr [%b]
  %first = load_at.u8 [%x]
  %r = call.i32 strcmp(%x, %y)
  ret.i32 %r
end

function sorted(%k: i64, %letter: i64) -> u8
  callee qsort(ptr, i64, i64, ptr)
  callee compare(ptr, ptr) -> i32
  global words
  %p = global.ptr words
  %f = function.ptr compare
  call_void qsort(%p, 3, 8, %f)
  %s = load_at.ptr [%p + %k*8]
  %v = load_at.u8 [%s + %letter*1]
  ret.u8 %v
end

function found(%letter: i32, %at: i64) -> i32
  callee strchr(ptr, i32) -> ptr
  global three
  %p = global.ptr three
  %q = call.ptr strchr(%p, %letter)
  %none = eq.ptr %q, 0
  if %none
    ret.i32 -1
  end
  %v = load_at.u8 [%q + %at*1]
  %r = convert.i32.u8 %v
  ret.i32 %r
end

function doubled(%n: i64) -> i64
  callee strdup(ptr) -> ptr
  callee strndup(ptr, i64) -> ptr
  callee strlen(ptr) -> i64
  callee free(ptr)
  global three
  %p = global.ptr three
  %q = call.ptr strdup(%p)
  %r = call.ptr strndup(%q, %n)
  call_void free(%q)
  %l = call.i64 strlen(%r)
  call_void free(%r)
  ret.i64 %l
end
"""


def test_pointers_go_through_c() -> None:
    """What C moves about, and what it returns, are pointers to what it was given."""
    made = lw.Module.parse(WITH_C)
    assert bytes(int(made.interpret("sorted", k, 0)) for k in range(3)) == b"ott"
    assert bytes(int(made.interpret("sorted", k, 1)) for k in range(3)) == b"nhw"
    with pytest.raises(BoundsError, match="0 bytes past the end of two"):
        made.interpret("sorted", 2, 4)
    assert made.interpret("found", ord("r"), 1) == ord("e")
    assert made.interpret("found", ord("x"), 0) == -1
    with pytest.raises(BoundsError, match="0 bytes past the end of three"):
        made.interpret("found", ord("r"), 4)
    assert [made.interpret("doubled", n) for n in (0, 2, 9)] == [0, 2, 5]


def test_what_ended_long_ago_is_forgotten_and_the_rest_is_right() -> None:
    """Many objects, more than are remembered when they are no more; addresses come again."""
    text = """
global kept align 8
  zero 8
end

function f(%n: i64) -> i64
  callee malloc(i64) -> ptr
  callee free(ptr)
  global kept
  var %sum: i64
  %k = global.ptr kept
  %sum = copy.i64 0
  %i = for 0, %n, 1
    %p = call.ptr malloc(1000000)
    store_at.ptr %p, [%k]
    %q = load_at.ptr [%k]
    store_at.i64 %i, [%q]
    %v = load_at.i64 [%p]
    %sum = add.i64 %sum, %v
    call_void free(%q)
  end
  ret.i64 %sum
end
"""
    assert lw.Module.parse(text).interpret("f", 300) == 300 * 299 // 2
