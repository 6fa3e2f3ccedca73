"""Object files and executables of ``loopwright cc``: linked with C's library and with clang's code, and for machines that are not this one."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from loopwright import cli
from loopwright.cc import clang

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="executables are made for x86-64"),
]


def test_executable(tmp_path: Path) -> None:
    """Functions passed to the library's qsort, static tables with addresses in them, memory of the heap."""
    made = tmp_path / "sorting"
    assert cli.main(["cc", "-w", str(HERE / "sorting.c"), "-o", str(made)]) == 0
    assert subprocess.run([str(made)], capture_output=True, text=True, check=True, timeout=60).stdout == (HERE / "sorting.expected").read_text()


LIBRARY = """
#include <stdio.h>
extern int shared;
static int hidden[4] = {1, 2, 3, 4};
const char *const names[] = {"none", "one", "two"};
int counter = 40;
static int helper(int (*f)(int), int x) { return f(x) + hidden[x & 3] + shared; }
int apply(int (*f)(int), int x) { counter++; return helper(f, x) * 10; }
void say(const char *text) { fprintf(stdout, "%s %s\\n", text, names[shared]); }
"""
MAIN = """
#include <stdio.h>
int shared = 2;
static int helper(int x) { return x * x; }
static int hidden = 9;
int apply(int (*f)(int), int x);
void say(const char *text);
extern int counter;
extern const char *const names[];
int main(void) { printf("%d %d %s %d\\n", apply(helper, 5), counter, names[1], hidden); say("the end"); return 0; }
"""


def test_object_linked_with_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides call each other and share variables; static names are each side's own."""
    monkeypatch.chdir(tmp_path)
    Path("library.c").write_text(LIBRARY)
    Path("main.c").write_text(MAIN)
    assert cli.main(["cc", "-c", "library.c"]) == 0
    subprocess.run(["clang", "-no-pie", "main.c", "library.o", "-o", "program"], check=True, capture_output=True)
    done = subprocess.run(["./program"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "290 41 one 9\nthe end two\n"


VARIABLE = """
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
typedef struct { long a, b; } pair;
double total(const char *kinds, ...) {
    va_list list; double sum = 0; va_start(list, kinds);
    for (; *kinds; kinds++) sum = sum * 2 + (*kinds == 'i' ? va_arg(list, int) : *kinds == 's' ? (double)strlen(va_arg(list, char *)) : va_arg(list, double));
    va_end(list); return sum;
}
int many(long a, double b, int c, float d, char *text, short e, pair f, pair g, char h, ...) {
    va_list list, again; va_start(list, h); va_copy(again, list);
    int n = vprintf(text, list); double sum = a + b * 2 + c * 3 + d * 4 + e * 5 + f.b * 6 + g.b * 7 + h * 8 + va_arg(again, int);
    va_end(again); va_end(list); return n * 1000 + (int)sum;
}
pair both(int n, ...) { va_list list; va_start(list, n); pair r = {0, 0}; while (n--) { r.a += va_arg(list, int); r.b += (long)va_arg(list, double); } va_end(list); return r; }
static void hidden(char *to, ...) { va_list list; va_start(list, to); vsprintf(to, va_arg(list, char *), list); va_end(list); }
void (*chosen(int k))(char *, ...) { return k ? hidden : 0; }
"""
CALLING = """
#include <stdio.h>
typedef struct { long a, b; } pair;
double total(const char *kinds, ...); int many(long a, double b, int c, float d, char *text, short e, pair f, pair g, char h, ...);
pair both(int n, ...); void (*chosen(int k))(char *, ...);
int main(void) {
    double (*by_address)(const char *, ...) = total; char text[100];
    printf("%g %g\\n", total("idisddsiiiidddddddi", 1, 2.5, 3, "four", 5.5, 6.5, "7", 8, 9, 10, 11, 12., 13., 14., 15., 16., 17., 18., 19), by_address("di", 0.5, 1));
    printf("%d\\n", many(1, 2, 3, 4, "<%d %g %s %d %g>\\n", 5, (pair){6, 7}, (pair){8, 9}, 10, 12, 13.5, "text", 14, 15.5));
    pair r = both(6, 1, 1., 2, 2., 3, 3., 4, 4., 5, 5., 6, 7.);
    chosen(1)(text, "%d-%s-%g-%c-%d-%d-%g", 1, "two", 3.5, '4', 5, 6, 7.5);
    printf("%ld %ld %s\\n", r.a, r.b, text);
    return 0;
}
"""


@pytest.mark.parametrize("target", ["", "aarch64-neon"])
def test_a_variable_number_of_arguments(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of both sides, called by name and by their address from the other, from their own, and within one program."""
    emulator = ["qemu-aarch64"] if target else []
    compiler = ["clang", *(["--target=aarch64-linux-gnu", "-static"] if target else ["-no-pie"])]
    if target and (shutil.which(emulator[0]) is None or not clang.has_headers("aarch64-linux-gnu")):
        pytest.skip("qemu-aarch64 or the C library of aarch64-linux-gnu is not installed")
    monkeypatch.chdir(tmp_path)
    options = ["--target", target] if target else []
    for name, text in (("library", VARIABLE), ("main", CALLING)):
        Path(f"{name}.c").write_text(text)
        assert cli.main(["cc", *options, "-c", f"{name}.c", "-o", f"{name}_ours.o"]) == 0
        subprocess.run([*compiler[:-1], "-O1", "-c", f"{name}.c", "-o", f"{name}_theirs.o"], check=True)
    assert cli.main(["cc", *options, "main.c", "library.c", "-o", "whole"]) == 0
    printed = [subprocess.run([*emulator, "./whole"], capture_output=True, text=True, check=True, timeout=60).stdout]
    for main, library in (("theirs", "theirs"), ("ours", "theirs"), ("theirs", "ours"), ("ours", "ours")):
        subprocess.run([*compiler, f"main_{main}.o", f"library_{library}.o", "-o", "program"], check=True)
        printed.append(subprocess.run([*emulator, "./program"], capture_output=True, text=True, check=True, timeout=60).stdout)
    assert printed == [printed[1]] * 5
    assert printed[0].endswith("21 22 1-two-3.5-4-5-6-7.5\n")


def test_a_variable_number_of_arguments_where_there_is_no_way_in(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "library.c").write_text("int f(int n, ...) { return n; }\n")
    assert cli.main(["cc", str(tmp_path / "library.c"), "-c", "--target", "rv64gc", "-o", str(tmp_path / "library.o")]) == 1
    assert "f, which takes a variable number of arguments, called by its address or from another object, is not supported" in capfd.readouterr().err


WIDE = """
typedef __int128 wide; typedef struct { long a, b; } pair;
long f(int a, int b, int c, int d, int e, wide w, int g, wide x, int h, wide y, pair z) {
    long half = a + b * 2 + c * 3 + d * 4 + e * 5 + (long)w * 6 + (long)(w >> 64) * 7 + g * 8;
    return half + (long)x * 9 + (long)(x >> 64) * 10 + h * 11 + (long)y * 12 + (long)(y >> 64) * 13 + z.a * 14 + z.b * 15;
}
"""
CALLING_WIDE = """
#include <stdio.h>
typedef __int128 wide; typedef struct { long a, b; } pair;
long f(int a, int b, int c, int d, int e, wide w, int g, wide x, int h, wide y, pair z);
int main(void) { printf("%ld", f(1, 2, 3, 4, 5, ((wide)6 << 64) + 7, 8, ((wide)9 << 64) + 10, 11, ((wide)12 << 64) + 13, (pair){14, 15})); return 0; }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_wide_integers_that_find_one_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie on the stack at a multiple of 16, and what follows has the register; as gcc has it (clang does from 18 on)."""
    monkeypatch.chdir(tmp_path)
    Path("library.c").write_text(WIDE)
    Path("main.c").write_text(CALLING_WIDE)
    for name in ("library", "main"):
        assert cli.main(["cc", "-c", f"{name}.c", "-o", f"{name}_ours.o"]) == 0
        subprocess.run(["gcc", "-O1", "-c", f"{name}.c", "-o", f"{name}_theirs.o"], check=True)
    for objects in (["main_ours.o", "library_theirs.o"], ["main_theirs.o", "library_ours.o"], ["main_ours.o", "library_ours.o"]):
        subprocess.run(["gcc", "-no-pie", *objects, "-o", "program"], check=True)
        assert subprocess.run(["./program"], capture_output=True, text=True, check=True, timeout=60).stdout == "1237"


FREESTANDING = """
extern long limit;
static long table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static long add(long a, long b) { return a + b; }
static long most(long a, long b) { return a > b ? a : b; }
static long (*const operations[])(long, long) = {add, most};
double scaled(double x) { return x * 0.5 + 1.25; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int program(void) {
    long r[2] = {0, 0};
    for (long i = 0; i < limit; i++) for (int k = 0; k < 2; k++) r[k] = operations[k](r[k], table[i] + i);
    char buffer[300];
    __builtin_memset(buffer, 1, sizeof buffer);
    for (int i = 0; i < 300; i++) r[0] += buffer[i];
    return (int)(r[0] + 10 * r[1] + (long)scaled(limit) + fib(10)) & 127;
}
"""
START = {
    "aarch64-neon": ("aarch64", "qemu-aarch64", "bl program\nmov x8, #93\nsvc #0"),
    "rv64gc": ("riscv64", "qemu-riscv64", "call program\nli a7, 93\necall"),
}


@pytest.mark.parametrize("target", START)
def test_objects_for_other_machines(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linked without a library, with a few instructions that end the program with the function's result."""
    architecture, emulator, start = START[target]
    linker = shutil.which("ld.lld") or shutil.which(f"{architecture}-linux-gnu-ld")
    if linker is None or shutil.which(emulator) is None:
        pytest.skip(f"{emulator}, or ld.lld and {architecture}-linux-gnu-ld are not installed")
    monkeypatch.chdir(tmp_path)
    Path("program.c").write_text(FREESTANDING)
    Path("start.s").write_text(f".globl _start\n_start:\n{start}\n.data\n.balign 8\n.globl limit\nlimit: .8byte 8\n")
    assert cli.main(["cc", "-c", "program.c", "--target", target]) == 0
    subprocess.run(["clang", f"--target={architecture}-linux-gnu", "-mno-relax", "-c", "start.s", "-o", "start.o"], check=True, capture_output=True)
    subprocess.run([linker, "-static", "start.o", "program.o", "-o", "program"], check=True, capture_output=True)
    # 31 + 28 + 300 + 10 * 14 + 5 + 55 = 559
    assert subprocess.run([emulator, "./program"], check=False, timeout=60).returncode == 559 & 127


@pytest.mark.parametrize("name", ["program.py", "program"])
def test_what_clang_takes_for_no_file_of_c(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("int main(void) { return 0; }")
    assert cli.main(["cc", str(tmp_path / name), "--run"]) == 1
    assert f"clang does not take {tmp_path / name} for a file of C: its name should end in .c" in capfd.readouterr().err


def test_what_cannot_be_linked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lone.c").write_text("int g(void); int main(void) { return g(); }")
    assert cli.main(["cc", str(tmp_path / "lone.c"), "-o", str(tmp_path / "lone")]) == 1
    assert "undefined reference to `g'" in capfd.readouterr().err
    assert cli.main(["cc", str(tmp_path / "lone.c"), "-c", "-o", str(tmp_path / "lone.o")]) == 0
