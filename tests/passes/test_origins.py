"""Addresses of globals and of local arrays in the instructions that access them, and where local arrays lie in the frame."""

from __future__ import annotations

import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import equal, parse, print_function
from loopwright.ir.verify import VerifyError, verify
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry

X86 = "x86-64-v3"
TABLE = "global table align 8\n  i32 1, 2, 3, 4\n  i64 500\nend\n"


def selected(text: str, name: str = X86) -> Function:
    """The function behind the pass, which is the same when read again."""
    f = compiler.run_passes(parse(text), registry.get(name), "select", Settings())
    again = parse(print_function(f, registry.get(name)))
    verify(again)
    assert equal(f, again)
    return f


def lines(text: str, name: str = X86) -> list[str]:
    """The instructions behind the pass."""
    return [line.strip() for line in print_function(selected(text, name)).splitlines() if "=" in line or "store" in line]


LOCAL = """function f(%i: i64, %v: i64) -> i64
  array a: i64[8] local align {align} at %a written
  %a = local.ptr 0
  store_at.i64 %v, [%a + 8]
  store_at.i64 7, [%a + %i*8 + 16]
  %p = add.ptr %a, 8
  %1 = load_at.i64 [%p]
  %2 = load_at.i64 [%p + %i*8 + 8]
  %3 = add.i64 %1, %2
  ret %3
end
"""


@pytest.mark.parametrize("align", [8, 16])
def test_local_arrays_are_found_from_the_stack_pointer(align: int) -> None:
    text = LOCAL.format(align=align)
    made = lines(text)
    assert not any("local.ptr" in line for line in made)
    assert "store_at.i64 %v, [local 0 + 8]" in made and any(line.startswith("store_at.i64 7, [local 0 + %i*8 + 16]") for line in made)
    for name in (X86, "aarch64-neon", "rv64gc"):
        for stage in ("select", "allocate", "jumps"):
            f = compiler.run_passes(parse(text), registry.get(name), stage, Settings(prove=True))
            assert Interpreter(f, registry.get(name)).call(3, 35) == 42
    assert lw.Module.parse(text).compile(target=X86).f(3, 35) == 42


def test_what_is_raised_to_a_cache_line_is_not() -> None:
    text = LOCAL.format(align=64)
    assert any("local.ptr" in line for line in lines(text)) and "align" not in print_function(parse(text)).split("at %a")[0]
    assert lw.Module.parse(text).compile(target=X86).f(3, 35) == 42


def test_addresses_that_other_instructions_read_are_made_again() -> None:
    text = """function f(%i: i64) -> i64
  array a: i64[8] local align 16 at %a written
  callee g(ptr) -> i64
  %a = local.ptr 0
  %p = add.ptr %a, 24
  store_at.i64 %i, [%a]
  %1 = call.i64 g(%p)
  %2 = call.i64 g(%p)
  %3 = load_at.i64 [%a]
  %4 = add.i64 %1, %2
  %5 = add.i64 %3, %4
  ret %5
end
"""
    f = selected(text)
    assert [instr.op for instr in f.code].count(ops.ADDRESS) == 1 and not any(instr.op is ops.LOCAL for instr in f.code)
    allocated = compiler.run_passes(parse(text), registry.get(X86), "allocate", Settings(prove=True))
    assert not allocated.slots


def test_a_global_with_an_index_keeps_its_register() -> None:
    text = "function f(%i: i64) -> i32\n global table\n %g = global.ptr table\n %1 = load_at.i32 [%g + %i*4]\n %2 = load_at.i32 [%g + 4]\n %3 = add.i32 %1, %2\n ret %3\nend\n"
    made = lines(text)
    assert any("global.ptr table" in line for line in made) and any("[global table + 4]" in line for line in made)
    assert lw.Module.parse(TABLE + text).compile(target=X86).f(2) == 5


def test_far_from_a_global_and_elsewhere_in_the_process() -> None:
    text = f"function f() -> i32\n global table\n %g = global.ptr table\n %1 = load_at.i32 [%g + {1 << 24}]\n ret %1\nend\n"
    assert any("global.ptr table" in line for line in lines(text))
    text = text.replace(str(1 << 24), str((1 << 24) - 4))
    assert not any("global.ptr table" in line for line in lines(text))
    f = parse(text)
    f.globals[0].address = 1 << 40
    made = compiler.run_passes(f, registry.get(X86), "select", Settings())
    assert any(instr.op is ops.GLOBAL for instr in made.code)


@pytest.mark.parametrize("text", ["[local 1 + 8]", "[global table + 8]", "[local 0 + 8]"])
def test_what_the_verifier_refuses(text: str) -> None:
    """Arrays that are not there, and what stands before its pass."""
    f = parse(f"function f() -> i64\n array a: i64[8] local at %a\n reg %a: ptr\n global other\n global table\n %1 = load_at.i64 {text}\n ret %1\nend\n")
    with pytest.raises(VerifyError, match="come with the pass select"):
        verify(f)
    f.stage = "select"
    f.target_name = X86
    if "1" in text:
        with pytest.raises(VerifyError, match="number of a local array"):
            verify(f)
    else:
        verify(f)


@pytest.mark.parametrize("align", [16, 64])
@pytest.mark.parametrize("stage", ["select", "allocate", "jumps", "lower-late"])
def test_text_that_is_compiled_on(align: int, stage: str) -> None:
    text = LOCAL.format(align=align)
    f = compiler.run_passes(parse(text), registry.get(X86), stage, Settings())
    again = parse(print_function(f, registry.get(X86)), target=registry.get(X86))
    code = Code(compiler.compile(again, registry.get(X86)))
    assert code(3, 35) == 42


@pytest.mark.parametrize(
    ("name", "access"),
    [
        (X86, "load_at.i64 [local 1 + 8]"),
        (X86, "load_at.i64 [global table + %i*8]"),
        (X86, f"load_at.i64 [global table + {1 << 24}]"),
        ("aarch64-neon", "load_at.i64 [local 0 + 8]"),
        ("rv64gc", "load_at.i64 [global table]"),
    ],
)
def test_text_with_addresses_that_no_instruction_has(name: str, access: str) -> None:
    header = " array a: i64[8] local align 16 at %a\n array b: i64[8] local at %b\n reg %a: ptr\n reg %b: ptr\n global table\n"
    f = parse(f"function f(%i: i64) -> i64\n stage select\n target {name}\n{header} %1 = {access}\n ret %1\nend\n")
    verify(f)
    with pytest.raises(VerifyError, match="no address begins with"):
        compiler.compile(f, registry.get(name))


PLACES = """function f(%n: i64) -> i64
  array a: u8[{a}] local align 16 at %a written
  array b: i32[5] local at %b written
  array c: u8[3] local align 1 at %c written
  array d: i64[3] local align 8 at %d written
  array e: u8[20] local align 16 at %e written
  callee g(i64) -> i64
  %a = local.ptr 0
  %b = local.ptr 1
  %c = local.ptr 2
  %d = local.ptr 3
  %e = local.ptr 4
  {call}
  store_at.u8 1, [%a + {last}]
  store_at.i32 2, [%b + 16]
  store_at.u8 3, [%c + 2]
  store_at.i64 4, [%d + 16]
  store_at.u8 5, [%e + 19]
  store_at.u8 0, [%e]
  %u = convert.i64.ptr %a
  %v = convert.i64.ptr %b
  %w = convert.i64.ptr %d
  %x = convert.i64.ptr %e
  %ua = and.i64 %u, 15
  %va = and.i64 %v, {least}
  %wa = and.i64 %w, 7
  %xa = and.i64 %x, 15
  %uv = or.i64 %ua, %va
  %wx = or.i64 %wa, %xa
  %wrong = or.i64 %uv, %wx
  %1 = load_at.u8 [%a + {last}]
  %2 = load_at.i32 [%b + 16]
  %3 = load_at.u8 [%c + 2]
  %4 = load_at.i64 [%d + 16]
  %5 = load_at.u8 [%e + 19]
  %6 = convert.i64.u8 %1
  %7 = convert.i64.i32 %2
  %8 = convert.i64.u8 %3
  %9 = convert.i64.u8 %5
  %10 = mul.i64 %6, 10000
  %11 = mul.i64 %7, 1000
  %12 = mul.i64 %8, 100
  %13 = mul.i64 %4, 10
  %14 = add.i64 %10, %11
  %15 = add.i64 %12, %13
  %16 = add.i64 %9, %wrong
  %17 = add.i64 %14, %15
  %18 = add.i64 %16, %17
  %19 = add.i64 %18, %n
  ret %19
end
function g(%n: i64) -> i64
  ret %n
end
"""


@pytest.mark.parametrize("runner", runners(), ids=str)
def test_places_in_the_frame(runner: Runner) -> None:
    """Each array at its alignment, none over another: in leaf functions, which may use what is below the stack pointer, and others, also those that move it."""

    def check(result: int, what: object) -> None:
        assert result == 12345 + 7, what

    for size in (8, 24, 200):
        for call in ("", "%z = call.i64 g(%n)", "%z = alloca.ptr %n, 16\n store_at.u8 9, [%z]"):
            text = PLACES.format(a=size, last=size - 1, call=call, least=15 if runner.folder in ("riscv", "multiclet") else 63)
            code = runner.compiled(lw.Module.parse(text)).f
            runner.run(code, (7,), lambda result, what=(size, call): check(result, what))
