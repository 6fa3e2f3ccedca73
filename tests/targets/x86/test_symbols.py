"""Operands in memory that are named: what instructions leave to the linker, beside what other assemblers leave to it, and what they are in this process."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.targets.x86.conftest import text_section

import loopwright as lw
from loopwright import compiler
from loopwright.ir.module import parse_module
from loopwright.objects.program import object_file
from loopwright.targets import registry
from loopwright.targets.x86.assembler import listing

TARGET = registry.get("x86-64-v3")
#: What a function does with a global, its result, and the instruction that it becomes: with immediates of each size behind the displacement, and none.
ACCESSES = [
    ("%r = load_at.i64 [%g + 24]", "i64", "mov rax, qword ptr [rip + table + 24]"),
    ("%r = load_at.u8 [%g]", "u8", "movzx eax, byte ptr [rip + table]"),
    ("store_at.i32 %a, [%g - 8]", "", "mov dword ptr [rip + table - 8], edi"),
    ("store_at.i8 7, [%g + 1]", "", "mov byte ptr [rip + table + 1], 7"),
    ("store_at.i16 300, [%g + 2]", "", "mov word ptr [rip + table + 2], 300"),
    ("store_at.i32 -70000, [%g + 4]", "", "mov dword ptr [rip + table + 4], -70000"),
    ("store_at.i64 5, [%g + 8]", "", "mov qword ptr [rip + table + 8], 5"),
    ("%x = load_at.i32 [%g + 16]\n%r = add.i32 %a, %x", "i32", "add eax, dword ptr [rip + table + 16]"),
    ("%x = load_at.i64 [%g]\n%y = add.i64 %x, 1000\nstore_at.i64 %y, [%g]", "", "add qword ptr [rip + table], 1000"),
    ("%x = load_at.i32 [%g + 4]\n%y = and.i32 %x, 12\nstore_at.i32 %y, [%g + 4]", "", "and dword ptr [rip + table + 4], 12"),
    ("%r = add.ptr %g, 4096", "ptr", "lea rax, [rip + table + 4096]"),
    ("%r = load_at.f64 [%g + 40]", "f64", "vmovsd xmm0, qword ptr [rip + table + 40]"),
    ("%v = load_at.f32x8 [%g + 64]\nstore_at.f32x8 %v, [%g + 96]", "", "vmovups ymmword ptr [rip + table + 96], ymm0"),
]


def text_of(access: str, result: str) -> str:
    """A module with a function that accesses a global."""
    lines = [f"function f(%a: i32){f' -> {result}' if result else ''}", "global table", "%g = global.ptr table", *access.splitlines()]
    lines += [f"ret.{result} %r" if result else "ret", "end"]
    return "global table align 32\n  zero 4104\nend\n" + "\n".join(lines) + "\n"


def relocations(elf: bytes) -> list[tuple[int, int, int]]:
    """(offset, kind, addend) of all relocations of .text."""
    (headers,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", elf, headers + i * entry) for i in range(count)]
    base = sections[names][4]
    for name, _, _, _, offset, size in sections:
        if elf[base + name : elf.index(b"\0", base + name)] == b".rela.text":
            rows = [struct.unpack_from("<QQq", elf, at) for at in range(offset, offset + size, 24)]
            return sorted((at, info & 0xFFFFFFFF, addend) for at, info, addend in rows)
    return []


def test_objects_are_those_of_other_assemblers(assemble_object: Callable[[str], bytes]) -> None:
    lines: list[str] = []
    ours = b""
    left: list[tuple[int, int, int]] = []
    for access, result, want in ACCESSES:
        compiled = compiler.compile(parse_module(text_of(access, result)).functions["f"], TARGET)
        made = object_file([compiled], (), TARGET).data()
        rows = relocations(made)
        found = [(at, code) for at, code, words, _ in listing(compiled.machine) if "rip" in words]
        assert len(found) == len(rows)
        for (at, code), (place, kind, addend) in zip(found, rows, strict=True):
            left.append((len(ours) + place - at, kind, addend))
            ours += text_section(made)[at : at + len(code)]
        lines += [words for _, _, words, _ in listing(compiled.machine) if "rip" in words][:-1] + [want]
    other = assemble_object("\n".join([".intel_syntax noprefix", ".text", *lines, ""]))
    assert ours == text_section(other) and left == relocations(other)


def test_no_register_has_the_address() -> None:
    for access, result, _ in ACCESSES:
        code = lw.Module.parse(text_of(access, result)).compile(target="x86-64-v3").f
        assert "lea" not in code.asm() or result == "ptr", access


def test_values_in_this_process() -> None:
    text = """
global table align 8
  i32 1, 2, 3, 4
  i64 500
end
function f(%a: i32) -> i64
  global table
  %g = global.ptr table
  %x = load_at.i32 [%g + 8]
  store_at.i32 70000, [%g + 12]
  store_at.i8 9, [%g]
  %o = load_at.i64 [%g + 16]
  %p = add.i64 %o, 1000000
  store_at.i64 %p, [%g + 16]
  %y = load_at.i32 [%g + 12]
  %s = add.i32 %x, %y
  %z = load_at.i32 [%g]
  %t = add.i32 %s, %z
  %w = load_at.i64 [%g + 16]
  %e = convert.i64.i32 %t
  %r = add.i64 %w, %e
  ret.i64 %r
end
"""
    module = lw.Module.parse(text)
    assert module.compile(target="x86-64-v3").f(0) == module.interpret("f", 0) == 1000500 + 3 + 70000 + 9
