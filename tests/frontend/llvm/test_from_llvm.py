"""Modules from LLVM IR: what clang makes of C gives the same results as C, interpreted and compiled, and what is not supported is named."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding

import loopwright as lw
from loopwright.frontend.llvm import bitcode
from loopwright.ir.interpret import InterpreterExit

HERE = Path(__file__).parent
CLANG = shutil.which("clang")
needs_clang = pytest.mark.skipif(CLANG is None, reason="clang is not installed (Debian package clang)")

C = ctypes
INTS = [0, 1, 2, 3, 5, 8, 9, 12, 31, 32, 99, 100, 101, 127, 255, 256, -1, -2, -5, -128, 2**31 - 1, -(2**31), 12345, -99999]
LONGS = [0, 1, -1, 7, 2**32, 2**31, -(2**31), 2**63 - 1, -(2**63), 3037000500, 123456789123]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, -2.5, 0.49999999999999994, 1e18, 3.7, math.nan]
PAIRS = [(a, b) for a in INTS for b in INTS[:10]]

#: Narrower ones are passed as what they are.
SIGNED = {C.c_uint: C.c_int, C.c_ulong: C.c_long}

#: The functions of control.c: their signatures, and what they are called with.
CALLS: list[tuple[str, Any, list[Any], list[tuple[Any, ...]]]] = [
    ("gcd", C.c_int, [C.c_int, C.c_int], [(a, b) for a, b in PAIRS if abs(a) < 2**31 and (a, b) != (-(2**31), -1)]),
    ("collatz", C.c_int, [C.c_ulong], [(n,) for n in (1, 2, 7, 27, 97, 871)]),
    ("sw", C.c_int, [C.c_int], [(n,) for n in INTS]),
    ("duff", C.c_int, [C.c_int, C.c_int], [(n, k) for n in (0, 1, 5, 50) for k in (0, 1)]),
    ("f", C.c_long, [C.c_int], [(n,) for n in range(4)]),
    ("apply", C.c_int, [C.c_int] * 3, [(k, 7, 3) for k in range(3)]),
    ("usep", C.c_long, [C.c_long], [(n,) for n in (0, 11, -4)]),
    ("vla", C.c_int, [C.c_int], [(n,) for n in (1, 2, 7, 300)]),
    ("fields", C.c_long, [C.c_int, C.c_int], [(i, v) for i in range(4) for v in (1, 5, -9, 100)]),
    ("rotated", C.c_uint, [C.c_uint, C.c_uint], [(0x80000001, k) for k in (0, 1, 31, 32, 33)]),
    ("saturated", C.c_int, [C.c_int, C.c_int], PAIRS),
    ("multiplied", C.c_int, [C.c_long, C.c_long], [(a, b) for a in LONGS for b in LONGS]),
    ("counted", C.c_int, [C.c_ulong], [(n & 2**64 - 1,) for n in LONGS]),
    ("floats", C.c_double, [C.c_double, C.c_float], [(x, y) for x in FLOATS for y in FLOATS if abs(x) < 1e9 and abs(y) < 1e9]),
    ("ordered", C.c_int, [C.c_double, C.c_double], [(x, y) for x in FLOATS for y in FLOATS]),
    ("narrow", C.c_ubyte, [C.c_ubyte, C.c_byte], [(a, b) for a in (0, 1, 127, 128, 255) for b in (0, 1, 127, -128, -1)]),
    ("widened", C.c_ulong, [C.c_uint, C.c_int, C.c_ushort], [(a & 2**32 - 1, b, a & 65535) for a, b in PAIRS]),
]


def ir_of(source: Path, folder: Path, *options: str) -> str:
    """The text clang makes of a C file."""
    made = folder / "made.ll"
    subprocess.run(
        [str(CLANG), "-w", *options, "-fno-math-errno", "-fno-pic", "-fno-vectorize", "-fno-slp-vectorize", "-S", "-emit-llvm", str(source), "-o", str(made)],
        check=True,
        capture_output=True,
    )
    return made.read_text()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Any]:
    """Makes the same functions as clang -O0 makes them, with globals as they are at first."""
    made = tmp_path_factory.mktemp("c") / "control.so"
    subprocess.run([str(CLANG), "-w", "-O0", "-shared", "-fPIC", str(HERE / "control.c"), "-o", str(made)], check=True, capture_output=True)
    return lambda: C.CDLL(shutil.copy(made, tempfile.mkdtemp(dir=made.parent)))


def compare(library: Any, call: Callable[..., Any], some: int = 1, anew: bool = False) -> None:
    """Every call of the table, or some, gives what C gives. LLVM's integers have no signs of their own; `anew`: each call begins with globals as they are at first."""
    for name, result, types, cases in CALLS:
        expected = library[name]
        expected.restype, expected.argtypes = result, types
        for args in cases[: 1 if anew and name == "fields" else None : some]:
            signed = [SIGNED[type_](arg).value if type_ in SIGNED else arg for type_, arg in zip(types, args, strict=True)]
            wanted, given = expected(*args), call(name, *signed)
            assert repr(wanted) == repr(result(given).value), f"{name}{args} is {wanted}, not {given}"


@needs_clang
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_interpreted_and_compiled_as_c_has_it(level: str, library: Callable[[], Any], tmp_path: Path) -> None:
    module = lw.from_llvm(ir_of(HERE / "control.c", tmp_path, level))
    compare(library(), module.interpret, 7, True)
    program = module.compile()
    compare(library(), lambda name, *args: program[name](*args))


@needs_clang
@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_for_other_machines(target: str, library: Callable[[], Any], tmp_path: Path) -> None:
    program = lw.from_llvm(ir_of(HERE / "control.c", tmp_path, "-O2")).compile(target=target)
    compare(library(), lambda name, *args: program[name].emulate(*args), 90, True)


@needs_clang
def test_bitcode_and_debug_lines(tmp_path: Path) -> None:
    """Bitcode of another version of LLVM's is read; debug information leads to the C source."""
    made = tmp_path / "made.bc"
    subprocess.run([str(CLANG), "-w", "-g", "-O1", "-c", "-emit-llvm", str(HERE / "control.c"), "-o", str(made)], check=True, capture_output=True)
    program = lw.from_llvm(made.read_bytes()).compile()
    assert program.gcd(12, 18) == 6
    assert "control.c:1: int gcd(int a,int b)" in program.gcd.asm()


#: A phi of a swap, a switch whose default cannot be, an irreducible loop, i33, select of structs; with typed pointers, as up to LLVM 14.
TYPED = """
@table = internal constant [2 x i32 (i32)*] [i32 (i32)* @twice, i32 (i32)* @chosen], align 16

define i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}

define i32 @chosen(i32 %x) {
entry:
  switch i32 %x, label %never [
    i32 0, label %a
    i32 1, label %b
    i32 7, label %b
  ]
a:
  ret i32 10
b:
  %r = phi i32 [ %x, %entry ], [ %x, %entry ]
  %s = add i32 %r, 100
  ret i32 %s
never:
  unreachable
}

define i32 @by_address(i64 %k, i32 %x) {
  %p = getelementptr inbounds [2 x i32 (i32)*], [2 x i32 (i32)*]* @table, i64 0, i64 %k
  %f = load i32 (i32)*, i32 (i32)** %p, align 8
  %r = tail call i32 %f(i32 %x)
  ret i32 %r
}

define i64 @fibonacci(i32 %n) {
entry:
  br label %loop
loop:
  %a = phi i64 [ 0, %entry ], [ %b, %next ]
  %b = phi i64 [ 1, %entry ], [ %sum, %next ]
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %done = icmp uge i32 %i, %n
  br i1 %done, label %out, label %next
next:
  %sum = add i64 %a, %b
  %j = add i32 %i, 1
  br label %loop
out:
  ret i64 %a
}

define i32 @swapped(i32 %n, i32 %x, i32 %y) {
entry:
  br label %loop
loop:
  %a = phi i32 [ %x, %entry ], [ %b, %loop ]
  %b = phi i32 [ %y, %entry ], [ %a, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %out
out:
  %d = sub i32 %a, %b
  %e = mul i32 %d, %j
  ret i32 %e
}

define i64 @odd_width(i64 %x) {
  %a = trunc i64 %x to i33
  %b = mul i33 %a, 3
  %c = lshr i33 %b, 2
  %d = sext i33 %b to i64
  %e = zext i33 %c to i64
  %f = icmp ult i33 %b, %c
  %g = zext i1 %f to i64
  %h = xor i64 %d, %e
  %r = add i64 %h, %g
  ret i64 %r
}
"""


def odd_width(x: int) -> int:
    b = x * 3 & 2**33 - 1
    signed = b - 2**33 if b >> 32 else b
    return (signed ^ b >> 2) + (b < b >> 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_typed_pointers_phis_and_odd_widths(compiled: bool) -> None:
    module = lw.from_llvm(TYPED)
    program = module.compile()

    def call(name: str, *args: int) -> Any:
        return program[name](*args) if compiled else module.interpret(name, *args)

    assert [call("chosen", n) for n in (0, 1, 7)] == [10, 101, 107]
    assert [call("by_address", k, 7) for k in (0, 1)] == [14, 107]
    assert [call("fibonacci", n) for n in (0, 1, 2, 10, 90)] == [0, 1, 1, 55, 2880067194370816120]
    # What is read behind the loop is of its last step, though the phis have been written for the next.
    assert [call("swapped", n, 50, 8) for n in (1, 2, 3)] == [42, -84, 126]
    for x in (0, 1, -1, 2**32, 2**33 - 1, 0x1_5555_5555, 987654321987654321):
        assert call("odd_width", x) == odd_width(x)


REFUSED = [
    ("declare <4 x i32> @g(<4 x i32>)\ndefine <4 x i32> @f(<4 x i32> %x) {\n  %y = call <4 x i32> @g(<4 x i32> %x)\n  ret <4 x i32> %y\n}", "<4 x i32>", 3),
    ("define i64 @f(i64 %x) {\n  %y = zext i64 %x to i256\n  %q = udiv i256 %y, 3\n  %z = trunc i256 %q to i64\n  ret i64 %z\n}", "256 bits", 3),
    ('define void @f() {\n  call void asm sideeffect "nop", ""()\n  ret void\n}', "inline assembly", 2),
    ("define i32 @f(ptr %p) {\n  %v = load atomic i32, ptr %p seq_cst, align 4\n  ret i32 %v\n}", "load atomic", 2),
    ("define i32 @f(ptr %p) {\n  %v = atomicrmw add ptr %p, i32 1 seq_cst\n  ret i32 %v\n}", "atomicrmw", 2),
    ("define x86_fp80 @f(x86_fp80 %x) {\n  ret x86_fp80 %x\n}", "x86_fp80", 1),
    ("declare i32 @setjmp(ptr)\ndefine i32 @f(ptr %p) {\n  %r = call i32 @setjmp(ptr %p)\n  ret i32 %r\n}", "setjmp", 3),
    (
        "define void @f() {\n  ret void\n}\n@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @f, ptr null }]\n",
        "constructor",
        4,
    ),
    ("@t = thread_local global i32 0\n", "thread_local", 1),
]


@pytest.mark.parametrize(("text", "named", "line"), REFUSED, ids=[named for _, named, _ in REFUSED])
def test_what_is_not_supported_is_named_with_its_line(text: str, named: str, line: int) -> None:
    with pytest.raises(lw.UnsupportedOperationError, match=named.replace("<", "\\<")) as caught:
        lw.from_llvm(text, "refused.ll")
    assert (caught.value.file, caught.value.line) == ("refused.ll", line)
    assert caught.value.statement


ACCEPTED = """
@llvm.global_ctors = appending global [0 x { i32, ptr, ptr }] zeroinitializer
@table = global <4 x i32> <i32 1, i32 2, i32 3, i32 4>
declare extern_weak i32 @nowhere_at_all(i32)

define internal <4 x i32> @moved(<4 x i32> %x, i32 %by) {
  %b = insertelement <4 x i32> zeroinitializer, i32 %by, i32 3
  %y = add <4 x i32> %x, %b
  ret <4 x i32> %y
}

define i32 @f(i32 %x) {
  fence acquire
  fence syncscope("singlethread") seq_cst
  fence seq_cst
  call void asm sideeffect "", "~{memory},~{dirflag},~{fpsr},~{flags}"()
  %y = call i32 asm sideeffect "", "=r,0,~{dirflag},~{fpsr},~{flags}"(i32 %x)
  %both = call { i32, i64 } asm "", "=r,=&r,1,0,*m,~{memory}"(i64 7, i32 %y, ptr elementtype(<4 x i32>) @table)
  %first = extractvalue { i32, i64 } %both, 0
  %second = extractvalue { i32, i64 } %both, 1
  %none = icmp eq ptr @nowhere_at_all, null
  br i1 %none, label %out, label %there
there:
  %made = call i32 @nowhere_at_all(i32 1)
  ret i32 %made
out:
  %v = load <4 x i32>, ptr @table
  %w = call <4 x i32> @moved(<4 x i32> %v, i32 %first)
  %last = extractelement <4 x i32> %w, i32 3
  %cut = trunc i64 %second to i32
  %all = mul i32 %last, %cut
  ret i32 %all
}
"""


def test_what_does_nothing_is_accepted() -> None:
    """Lists without constructors, fences, assembly without instructions; a weak function that is nowhere; vectors between the module's own functions."""
    module = lw.from_llvm(ACCEPTED)
    assert module.interpret("f", 38) == (38 + 4) * 7
    assert module.compile().f(38) == (38 + 4) * 7


def test_text_in_lines_of_its_own() -> None:
    """What LLVM reads is read, however it is broken into lines."""
    module = lw.from_llvm("define i32 @f(i32 %x,\n i32 %y) { %c = icmp slt i32 %x,\n %y\n br i1 %c, label %a, label %b\na: ret i32 %y\nb: ret i32 %x }")
    assert [module.interpret("f", x, y) for x, y in ((1, 2), (5, -3))] == [2, 5]


WILD = """
@table = internal global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@text = internal constant [3 x i8] c"a\\00b"

define i32 @at(i64 %k) {
  %p = getelementptr inbounds [4 x i32], ptr @table, i64 0, i64 %k
  %v = load i32, ptr %p
  ret i32 %v
}

define void @written(i64 %k) {
  %p = getelementptr inbounds i8, ptr @text, i64 %k
  store i8 0, ptr %p
  ret void
}

define ptr @gone() {
  %p = alloca i32
  store i32 1, ptr %p
  ret ptr %p
}

define i32 @after() {
  %p = call ptr @gone()
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @never(i32 %x) {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %a, label %b
a:
  unreachable
b:
  ret i32 %x
}
"""


@pytest.mark.parametrize(
    ("name", "args", "line", "message"),
    [
        ("at", [4], 7, "past the end of table"),
        ("written", [1], 13, "read-only"),
        ("after", [], 25, "whose function has returned"),
        ("never", [0], 33, "reached"),
    ],
)
def test_what_the_interpreter_finds(name: str, args: list[int], line: int, message: str) -> None:
    module = lw.from_llvm(WILD, "wild.ll")
    assert module.interpret("at", 3) == 4
    with pytest.raises(lw.LoopwrightError, match=message) as caught:
        module.interpret(name, *args)
    assert (caught.value.file, caught.value.line) == ("wild.ll", line)


#: Functions of pointers.c that are right, and what they are called with.
RIGHT = [("sorted", 9), ("grown", 7), ("grown", 1), ("tagged", 6), ("words", 12), ("classes", 2)]
#: Those that are wrong where they are told to be, and what the interpreter says.
WRONG = {
    "other_global": "outside what its pointer leads to, .* near_one, in near_two",
    "after_free": "is in the 24 bytes that node allocated in line 27, which after_free freed in line ",
    "after_return": "is in a local of hung, whose function has returned",
    "freed_twice": "is in the 8 bytes that freed_twice allocated in line .*, which freed_twice freed in line .* already",
    "freed_inside": "4 bytes from its beginning, by which it is to be freed",
    "freed_local": "is in a local of freed_local, which is not freed: it has not been allocated",
    "one_too_many": "0 bytes past the end of the 40 bytes that one_too_many allocated",
    "made_up": "address 0x12345678 .* is outside every array",
    "moved_away": "is in the 4 bytes that moved_away allocated in line .*, which moved_away freed in line ",
}


@needs_clang
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_pointers_are_what_c_has_them_for(level: str, tmp_path: Path) -> None:
    made = tmp_path / "pointers.so"
    source = HERE / "pointers.c"
    subprocess.run([str(CLANG), "-w", "-O1", "-shared", "-fPIC", str(source), "-o", str(made)], check=True, capture_output=True)
    library = C.CDLL(str(made))
    module = lw.from_llvm(ir_of(source, tmp_path, level))
    program = module.compile()
    for name, n in (*RIGHT, *((name, 0) for name in WRONG)):
        assert module.interpret(name, n) == program[name](n) == library[name](n), name


@needs_clang
def test_wild_accesses_of_c_are_found_with_their_line(tmp_path: Path) -> None:
    source = HERE / "pointers.c"
    lines = source.read_text().splitlines()
    module = lw.from_llvm(ir_of(source, tmp_path, "-O0", "-g"))
    for name, said in WRONG.items():
        with pytest.raises(lw.BoundsError, match=said) as caught:
            module.interpret(name, 1)
        assert lines[caught.value.line - 1].endswith(f"/* {name} */"), name


@needs_clang
def test_a_program_that_ends_itself_under_the_interpreter(tmp_path: Path) -> None:
    """It is an error with the status, and this process goes on."""
    module = lw.from_llvm(ir_of(HERE / "pointers.c", tmp_path, "-O1", "-g"))
    assert module.interpret("ending", 0) == 0
    for n, status, said in ((1, 45, "the program ends, with status 45"), (2, 134, "the program ends, with status 134: n < 2")):
        with pytest.raises(InterpreterExit, match=said) as caught:
            module.interpret("ending", n)
        assert caught.value.status == status
        assert caught.value.line


def test_what_is_no_llvm_ir() -> None:
    with pytest.raises(lw.ParseError, match="no valid LLVM IR"):
        lw.from_llvm("define i32 @f(i32 %x) {\n  ret i64 %x\n}")
    with pytest.raises(lw.ParseError, match="no valid LLVM IR"):
        lw.from_llvm(b"BC\xc0\xdenothing")
    with pytest.raises(lw.ArgumentError, match="not int"):
        lw.from_llvm(3)  # type: ignore[arg-type]
    with pytest.raises(lw.VerifyError, match="nowhere_at_all"):
        lw.from_llvm("declare i32 @nowhere_at_all()\ndefine i32 @f() {\n  %r = call i32 @nowhere_at_all()\n  ret i32 %r\n}")


def test_blocks_without_labels() -> None:
    module = lw.from_llvm("define i32 @f(i1 %c) {\n  br i1 %c, label %1, label %2\n  ret i32 3\n  ret i32 4\n}\ndefine i32 @g() {\n  ret i32 1\n  ret i32 2\n}")
    program = module.compile()
    assert (program.f(True), program.f(False), program.g()) == (3, 4, 1)
    assert (module.interpret("f", True), module.interpret("g")) == (3, 1)


#: Two calls, a comparison and a branch.
BRANCHES = """
define i32 @f(i32 %x, i32 %y) {
entry:
  %c = icmp slt i32 %x, %y
  br i1 %c, label %a, label %b
a:
  %s = add i32 %x, 7
  ret i32 %s
b:
  %t = call i32 @f(i32 %y, i32 %x)
  ret i32 %t
}
"""


@pytest.mark.parametrize("seed", [*range(10), 21, 37])
def test_damaged_bitcode_does_not_end_the_process(seed: int) -> None:
    """LLVM's reader takes much of it for what it cannot be, and ends its process."""
    chooser = random.Random(seed)
    damaged = bytearray(binding.parse_assembly(BRANCHES).as_bitcode())
    for _ in range(3):
        damaged[chooser.randrange(len(damaged))] = chooser.randrange(256)
    try:
        assert "function" in lw.from_llvm(bytes(damaged)).ir
    except lw.LoopwrightError as error:
        assert not isinstance(error, lw.InternalError)


def test_bitcode_that_ends_its_reader_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitcode, "_PROGRAM", "import os; os.abort()")
    with pytest.raises(lw.ParseError, match="LLVM's reader of bitcode ends in SIGABRT: the bitcode is damaged"):
        lw.from_llvm(binding.parse_assembly(BRANCHES).as_bitcode())


def test_integers_of_widths_between_in_memory() -> None:
    text = """
define i64 @f(ptr %p, ptr %q) {
  %v = load i112, ptr %p, align 2
  %w = shl i112 %v, 5
  store i112 %w, ptr %q, align 2
  %x = ashr i112 %w, 48
  %y = trunc i112 %x to i64
  ret i64 %y
}
"""
    value = 0x8123456789ABCDEF0123456789AB
    from_, to = ctypes.create_string_buffer(value.to_bytes(14, "little"), 14), ctypes.create_string_buffer(b"\xee" * 16, 16)
    made = lw.from_llvm(text).compile().f(ctypes.addressof(from_), ctypes.addressof(to))
    shifted = (value << 5) % (1 << 112)
    assert to.raw == shifted.to_bytes(14, "little") + b"\xee\xee"
    assert made % (1 << 64) == (shifted - (shifted >> 111 << 112) >> 48) % (1 << 64)


VECTORS = """
define i64 @f(i64 %a, i64 %b, i32 %k) {
  %x = bitcast i64 %a to <4 x i16>
  %y = bitcast i64 %b to <4 x i16>
  %s = mul <4 x i16> %x, %y
  %c = icmp slt <4 x i16> %s, splat (i16 7)
  %t = select <4 x i1> %c, <4 x i16> %x, <4 x i16> %s
  %u = shufflevector <4 x i16> %t, <4 x i16> %y, <4 x i32> <i32 3, i32 0, i32 6, i32 2>
  %e = extractelement <4 x i16> %u, i32 %k
  %v = insertelement <4 x i16> %u, i16 9, i32 %k
  %w = bitcast <4 x i16> %v to i64
  %d = sext i16 %e to i64
  %r = xor i64 %w, %d
  ret i64 %r
}
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_vectors_element_by_element(compiled: bool) -> None:
    def signed(x: int, bits: int) -> int:
        return (x & (1 << bits) - 1) - ((x >> (bits - 1) & 1) << bits)

    def expected(a: int, b: int, k: int) -> int:
        x, y = ([signed(each >> 16 * n, 16) for n in range(4)] for each in (a, b))
        s = [signed(p * q, 16) for p, q in zip(x, y, strict=True)]
        t = [p if q < 7 else q for p, q in zip(x, s, strict=True)]
        u = [(t + y)[n] for n in (3, 0, 6, 2)]
        e, u[k] = u[k], 9
        return signed(sum((each & 0xFFFF) << 16 * n for n, each in enumerate(u)) ^ e, 64)

    module = lw.from_llvm(VECTORS)
    program = module.compile()
    for a, b in ((0x0001_0002_0003_0004, 0x7FFF_8000_1234_FFFF), (-5, 0x0102_0304_0506_0708)):
        for k in range(4):
            assert (program.f(a, b, k) if compiled else module.interpret("f", a, b, k)) == expected(a, b, k)


def test_a_module_with_structs_by_value_reads_back() -> None:
    text = """
%pair = type { i64, double }
define { i64, double } @f(i64 %n, ptr byval(%pair) align 8 %p) {
  %x = load i64, ptr %p
  %d = sitofp i64 %x to double
  %a = insertvalue { i64, double } poison, i64 %n, 0
  %b = insertvalue { i64, double } %a, double %d, 1
  ret { i64, double } %b
}
define double @g(ptr %p) {
  %r = call { i64, double } @f(i64 3, ptr byval(%pair) align 8 %p)
  %d = extractvalue { i64, double } %r, 1
  ret double %d
}
"""
    module = lw.from_llvm(text)
    assert "function f(%n: i64, %p_0: i64 stack, %p_1: i64 stack, %result: ptr) -> i64, f64" in module.ir
    again = lw.Module.parse(module.ir)
    assert again.ir == module.ir
    memory = (ctypes.c_int64 * 2)(41, 0)
    assert again.compile().g(ctypes.addressof(memory)) == 41.0
    with pytest.raises(lw.AbiError, match="f takes or returns a struct by value"):
        again.compile().f(3, 4, 5, 0)
    code = again.compile()["g"]
    for stage in ("select", "liveness", "allocate"):
        assert "-> i64, f64" in code.ir(stage)


@pytest.mark.parametrize("bits", [65, 100, 128, 160, 168, 200])
def test_integers_of_many_words(bits: int) -> None:
    """Every operation on them through memory, against Python's integers."""
    size, mask = -(-bits // 8), (1 << bits) - 1
    places = sorted({0, 1, 37, 64, bits - 1, bits // 2})
    constant = 0x123456789ABCDEF0FEDCBA9876543210F00DFACE5EED & mask
    whole: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "and": lambda a, b: a & b,
        "xor": lambda a, b: a ^ b,
        "or": lambda a, b: a | b,
    }
    orders: dict[str, Callable[[int, int], bool]] = {"eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "gt": lambda a, b: a > b}

    def signed(x: int) -> int:
        return x - (x >> (bits - 1) << bits)

    lines = [f"define void @f(ptr %p, ptr %q, ptr %r) {{\n  %a = load i{bits}, ptr %p\n  %b = load i{bits}, ptr %q"]
    count = 0

    def keep(value: str) -> None:
        nonlocal count
        lines.extend([f"  %k{count} = getelementptr i8, ptr %r, i64 {32 * count}", f"  store i{bits} {value}, ptr %k{count}"])
        count += 1

    for name in whole:
        lines.append(f"  %{name} = {name} i{bits} %a, %b\n  %c{name} = {name} i{bits} %a, {signed(constant)}")
        keep(f"%{name}")
        keep(f"%c{name}")
    for name in ("shl", "lshr", "ashr"):
        for n in places:
            lines.append(f"  %{name}{n} = {name} i{bits} %a, {n}")
            keep(f"%{name}{n}")
    for name in ("eq", "ult", "slt", "uge", "sgt"):
        lines.append(f"  %{name} = icmp {name} i{bits} %a, %b\n  %w{name} = zext i1 %{name} to i{bits}")
        keep(f"%w{name}")
    lines.append(f"  %t = trunc i{bits} %a to i40\n  %s = sext i40 %t to i{bits}\n  %z = zext i40 %t to i{bits}")
    keep("%s")
    keep("%z")
    code = lw.from_llvm("\n".join([*lines, "  ret void\n}"])).compile()["f"]
    values = [0, 1, mask, mask >> 1, (mask >> 1) + 1, constant, (1 << 64) - 1, 1 << 64, constant * 7919 & mask, constant >> 3]
    for a in values:
        for b in values:
            from_, with_, to = (
                ctypes.create_string_buffer(data, max(32, len(data))) for data in (a.to_bytes(size, "little"), b.to_bytes(size, "little"), bytes(32 * count))
            )
            code(ctypes.addressof(from_), ctypes.addressof(with_), ctypes.addressof(to))
            expected = [operation(a, other) for operation in whole.values() for other in (b, constant)]
            expected += [*(a << n for n in places), *(a >> n for n in places), *(signed(a) >> n for n in places)]
            expected += [int(orders[name[-2:]](*((signed(a), signed(b)) if name[0] == "s" else (a, b)))) for name in ("eq", "ult", "slt", "uge", "sgt")]
            low = a & (1 << 40) - 1
            expected += [low - (low >> 39 << 40), low]
            made = [int.from_bytes(to.raw[32 * n : 32 * n + size], "little") & mask for n in range(count)]
            assert made == [each & mask for each in expected], (a, b)


@pytest.mark.parametrize(("triple", "wanted"), [("x86_64-pc-linux-gnu", 0.0), ("aarch64-unknown-linux-gnu", 2.0**-60), ("riscv64-unknown-linux-gnu", 2.0**-60)])
def test_one_rounding_where_the_machine_of_the_ir_has_it(triple: str, wanted: float) -> None:
    """(1 + 2**-30)**2 - (1 + 2**-29) is what the rounding of the product would lose."""
    module = lw.from_llvm(
        f"""
        target triple = "{triple}"
        declare double @llvm.fmuladd.f64(double, double, double)
        define double @f(double %a, double %b, double %c) {{
          %r = call double @llvm.fmuladd.f64(double %a, double %b, double %c)
          ret double %r
        }}
        """
    )
    assert module.compile().f(1 + 2.0**-30, 1 + 2.0**-30, -(1 + 2.0**-29)) == wanted


#: A table of 32-bit distances, as clang has it in position-independent code, with typed pointers; what reads it otherwise.
RELATIVE = """
@.str = private unnamed_addr constant [4 x i8] c"one\\00"
@.str.1 = private unnamed_addr constant [6 x i8] c"three\\00"
@names = private unnamed_addr constant [3 x i32] [
 i32 trunc (i64 sub (i64 ptrtoint ([4 x i8]* @.str to i64), i64 ptrtoint ([3 x i32]* @names to i64)) to i32),
 i32 trunc (i64 sub (i64 ptrtoint (i8* getelementptr ([6 x i8], [6 x i8]* @.str.1, i64 0, i64 2) to i64), i64 ptrtoint ([3 x i32]* @names to i64)) to i32),
 i32 trunc (i64 sub (i64 ptrtoint ([6 x i8]* @.str.1 to i64), i64 ptrtoint ([3 x i32]* @names to i64)) to i32)], align 4

declare i8* @llvm.load.relative.i64(i8*, i64)

define i32 @letter(i32 %k, i64 %n) {
  %wide = sext i32 %k to i64
  %shift = shl i64 %wide, 2
  %name = call i8* @llvm.load.relative.i64(i8* bitcast ([3 x i32]* @names to i8*), i64 %shift)
  %at = getelementptr i8, i8* %name, i64 %n
  %byte = load i8, i8* %at
  %made = zext i8 %byte to i32
  ret i32 %made
}
"""
READ = """
define i32 @distance() {
  %made = load i32, i32* getelementptr ([3 x i32], [3 x i32]* @names, i64 0, i64 1)
  ret i32 %made
}
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_tables_of_distances(compiled: bool) -> None:
    module = lw.from_llvm(RELATIVE)
    program = module.compile() if compiled else None
    call = program["letter"] if program is not None else lambda *args: module.interpret("letter", *args)
    assert bytes(call(k, n) for k, n in [(0, 0), (0, 2), (0, 3), (1, 0), (2, 0), (2, 4)]) == b"oe\0rte"
    with pytest.raises(lw.UnsupportedOperationError, match="names, a table of distances, is read by llvm.load.relative only"):
        lw.from_llvm(RELATIVE + READ)


@needs_clang
@pytest.mark.parametrize("option", ["-fPIC", "-fPIE"])
def test_strings_of_a_switch_in_position_independent_code(option: str, tmp_path: Path) -> None:
    source = tmp_path / "names.c"
    cases = "".join(f'case {k}: return "name {k}";' for k in range(9))
    source.write_text(
        f'const char *name(int k) {{ switch (k) {{ {cases} }} return "many"; }}\nint sum(int k) {{ int s = 0; for (const char *c = name(k); *c; c++) s += *c; return s; }}'
    )
    subprocess.run([str(CLANG), "-O2", option, "-S", "-emit-llvm", str(source), "-o", str(tmp_path / "made.ll")], check=True)
    program = lw.from_llvm((tmp_path / "made.ll").read_text()).compile()
    assert [program["sum"](k) for k in range(-1, 10)] == [sum(b"many"), *[sum(b"name %d" % k) for k in range(9)], sum(b"many")]
