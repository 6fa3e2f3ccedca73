"""A loop's variable that is read under another name once its next value is made keeps the value that it had."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.frontend.llvm.random_loops import random_loops

import loopwright as lw

LOOP = """
define i64 @f(i64 %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %x = phi i64 [ %a, %entry ], [ %q, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  {name}
  %q = udiv i64 %z, 10
  %m = mul i64 %q, 10
  %r = sub i64 %z, %m
  %t = add i64 %s, %r
  %j = add i64 %i, -1
  %c = icmp ugt i64 %i, 1
  br i1 %c, label %loop, label %out
out:
  ret i64 %t
}}
declare i64 @llvm.expect.i64(i64, i64)
"""
NAMES = {
    "freeze": "%z = freeze i64 %x",
    "bitcast": "%z = bitcast i64 %x to i64",
    "a float's bits": "%d = bitcast i64 %x to double\n  %z = bitcast double %d to i64",
    "expect": "%z = call i64 @llvm.expect.i64(i64 %x, i64 3)",
    "a structure's element": "%u = insertvalue {i64, i64} undef, i64 %x, 0\n  %z = extractvalue {i64, i64} %u, 0",
    "a vector's element": "%v = insertelement <2 x i64> undef, i64 %x, i32 0\n  %z = extractelement <2 x i64> %v, i32 0",
    "an address": "%p = inttoptr i64 %x to i8*\n  %z = ptrtoint i8* %p to i64",
    "a wide integer": "%k = sext i64 %x to i65\n  %z = trunc i65 %k to i64",
    "a sum with 0": "%z = add i64 %x, 0",
    "a part of a wide integer": "%g = zext i64 %x to i128\n  %h = shl i128 %g, 64\n  %k = lshr i128 %h, 64\n  %z = trunc i128 %k to i64",
    "a choice": "%z = select i1 true, i64 %x, i64 0",
    "two of them": "%y = freeze i64 %x\n  %z = freeze i64 %y",
}

POINTERS = """
define i64 @g(i64* %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %a = phi i64* [ %p, %entry ], [ %next, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %b = bitcast i64* %a to i32*
  %next = getelementptr i64, i64* %a, i64 1
  %low = load i32, i32* %b
  %wide = zext i32 %low to i64
  %ten = mul i64 %s, 10
  %t = add i64 %ten, %wide
  %j = add i64 %i, -1
  %c = icmp ugt i64 %i, 1
  br i1 %c, label %loop, label %out
out:
  ret i64 %t
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_old_value(name: str) -> None:
    module = lw.from_llvm(LOOP.format(name=NAMES[name]))
    assert module.interpret("f", 1234, 4) == 10
    assert module.compile().f(1234, 4) == 10


def test_the_old_address() -> None:
    import numpy as np

    numbers = np.array([4, 3, 2, 1])
    module = lw.from_llvm(POINTERS)
    assert module.compile().g(numbers.ctypes.data, 4) == 4321


#: Loops with variables %x and %i, by what their bodies are; what 1234 and 3 give.
BODIES = {
    "the upper part of a wide integer": (
        "%w = phi i128 [ 18446744073709551616, %entry ], [ %v, %loop ]\n  %z = lshr i128 %w, 64\n  %v = add i128 %w, 18446744073709551617",
        "%q = udiv i64 %x, 10\n  %r = trunc i128 %z to i64",
        "t",
        1 + 2 + 3,
    ),
    "the next value is a name": ("%r = udiv i64 %x, 10", "%q = freeze i64 %r", "t", 123 + 12 + 1),
    "read behind the loop": ("%r = freeze i64 %x", "%q = udiv i64 %x, 10", "r", 12),
}
COUNTED = """
define i64 @f(i64 %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %x = phi i64 [ %a, %entry ], [ %q, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  {first}
  {then}
  %t = add i64 %s, %r
  %j = add i64 %i, -1
  %c = icmp ugt i64 %i, 1
  br i1 %c, label %loop, label %out
out:
  ret i64 %{result}
}}
"""


@pytest.mark.parametrize("body", BODIES)
def test_other_loops(body: str) -> None:
    first, then, result, wanted = BODIES[body]
    module = lw.from_llvm(COUNTED.format(first=first, then=then, result=result))
    assert module.interpret("f", 1234, 3) == wanted
    assert module.compile().f(1234, 3) == wanted


BRANCHES = {
    "a condition": (
        "%x = phi i1 [ true, %entry ], [ %q, %loop ]\n  %z = freeze i1 %x\n  %q = icmp ugt i64 %i, 1",
        "br i1 %z, label %loop, label %out",
        4,
    ),
    "the value that is carried out": (
        "%x = phi i64 [ 7, %entry ], [ %q, %loop ]\n  %z = freeze i64 %x\n  %q = mul i64 %x, 3\n  %c = icmp ugt i64 %i, 1",
        "br i1 %c, label %loop, label %out",
        63,
    ),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_what_the_branch_reads(branch: str) -> None:
    """What a phi becomes may be written in front of the branch back, but for what the branch, or the way out, reads."""
    code, end, wanted = BRANCHES[branch]
    result = "[ 0, %entry ], [ %z, %loop ]" if "carried" in branch else "[ 0, %entry ], [ %t, %loop ]"
    module = lw.from_llvm(f"""
define i64 @f(i64 %n) {{
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %out, label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  {code}
  %j = add i64 %i, -1
  %t = add i64 %s, 1
  {end}
out:
  %r = phi i64 {result}
  ret i64 %r
}}
""")
    assert module.interpret("f", 3) == wanted
    assert module.compile().f(3) == wanted


SOURCE = Path(__file__).with_name("names.c")
CALLS = {
    "digits": [(1234, 4), (5, 1), (2**62 + 99, 19)],
    "hours": [(98765, 3), (0, 2)],
    "pairs": [(12345678, 6), (1, 1)],
    "gathered": [(3, 6), (2**40, 2)],
    "halves": [(2**62 + 12345, 7)],
    "structures": [(77, 5)],
    "reversed": [(0x123456789ABCDEF, 16)],
}


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("machine", ["x86_64", "riscv64", "aarch64"])
def test_c_for_other_machines(machine: str, level: str, tmp_path: Path) -> None:
    """Machines that have no division with a remainder get other IR than x86-64: with ``freeze``."""
    made, here = tmp_path / "names.ll", tmp_path / "names.so"
    options = ["-fno-vectorize", "-fno-slp-vectorize", "-w"]
    subprocess.run(["clang", level, f"--target={machine}-linux-gnu", *options, "-S", "-emit-llvm", str(SOURCE), "-o", str(made)], check=True)
    subprocess.run(["clang", "-O0", "-w", "-shared", "-fPIC", str(SOURCE), "-o", str(here)], check=True)
    module = lw.from_llvm(made.read_text())
    library = ctypes.CDLL(str(here))
    for name, calls in CALLS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_uint64, ctypes.c_int], ctypes.c_int64
        for call in calls:
            assert module.interpret(name, *call) == function(*call), (name, call)


def by_llvm(text: str, folder: Path) -> ctypes.CDLL:
    """The functions of a module as LLVM compiles them, in a library."""
    made, library = folder / "loops.ll", folder / "loops.so"
    made.write_text(text)
    subprocess.run(["clang", "-O0", "-w", "-shared", "-fPIC", str(made), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")
@pytest.mark.parametrize("first", range(1, 161, 40))
def test_random_loops(first: int, tmp_path: Path) -> None:
    """Beside clang -O0: every second one compiled, all interpreted."""
    seeds = range(first, first + 40)
    texts = [random_loops(seed) for seed in seeds]
    whole = "\n".join(text.replace("@f(", f"@f{seed}(").replace("declare i64 @llvm.expect.i64(i64, i64)", "") for seed, text in zip(seeds, texts, strict=True))
    library = by_llvm(f"declare i64 @llvm.expect.i64(i64, i64)\n{whole}", tmp_path)
    for seed, text in zip(seeds, texts, strict=True):
        module = lw.from_llvm(text)
        function = getattr(library, f"f{seed}")
        function.argtypes, function.restype = [ctypes.c_int64, ctypes.c_int64], ctypes.c_int64
        for arguments in ((1234, 3), (-7, 2)):
            expected = function(*arguments)
            assert module.interpret("f", *arguments) == expected, (seed, arguments)
            if seed % 2:
                assert module.compile().f(*arguments) == expected, (seed, arguments)
