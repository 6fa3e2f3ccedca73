"""Object files and executables of ``loopwright cc``: linked with C's library and with clang's code, and for machines that are not this one."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from loopwright import cli
from loopwright.cc import clang
from loopwright.errors import UnsupportedOperationError
from loopwright.frontend.llvm.module import from_llvm

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


#: What executables of a machine run under, and what clang calls the machine.
MACHINES = {"": ("", ""), "aarch64-neon": ("qemu-aarch64", "aarch64-linux-gnu"), "rv64gc": ("qemu-riscv64", "riscv64-linux-gnu")}


def _from_both_sides(target: str, library: str, main: str) -> str:
    """What two files print, each compiled here and by clang, and both as one program; which is the same. In the current directory."""
    runs, triple = MACHINES[target]
    if target and (shutil.which(runs) is None or not clang.has_headers(triple)):
        pytest.skip(f"{runs} or the C library of {triple} is not installed")
    emulator = [runs] if target else []
    options = ["--target", target] if target else []
    compiler = ["clang", *([f"--target={triple}"] if target else []), *(["-march=rv64gc", "-mabi=lp64d", "-mno-relax"] if target == "rv64gc" else [])]
    for name, text in (("library", library), ("main", main)):
        Path(f"{name}.c").write_text(text)
        assert cli.main(["cc", *options, "-c", f"{name}.c", "-o", f"{name}_ours.o"]) == 0
        subprocess.run([*compiler, "-O1", "-c", f"{name}.c", "-o", f"{name}_theirs.o"], check=True)
    assert cli.main(["cc", *options, "main.c", "library.c", "-o", "whole"]) == 0
    printed = [subprocess.run([*emulator, "./whole"], capture_output=True, text=True, check=True, timeout=60).stdout]
    for of_main, of_library in (("theirs", "theirs"), ("ours", "theirs"), ("theirs", "ours"), ("ours", "ours")):
        objects = [f"main_{of_main}.o", f"library_{of_library}.o"]
        subprocess.run([*compiler, "-static" if target else "-no-pie", *objects, "-o", "program"], check=True)
        printed.append(subprocess.run([*emulator, "./program"], capture_output=True, text=True, check=True, timeout=60).stdout)
    assert printed == [printed[1]] * 5
    return printed[0]


@pytest.mark.parametrize("target", MACHINES)
def test_a_variable_number_of_arguments(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of both sides, called by name and by their address from the other, from their own, and within one program."""
    monkeypatch.chdir(tmp_path)
    assert _from_both_sides(target, VARIABLE, CALLING).endswith("21 22 1-two-3.5-4-5-6-7.5\n")


#: Every number of arguments with names in front, of both kinds, so that what has none begins in each register and on the stack; what is kept in between; and 128 bits at a time.
NAMED = {f"{kind}{n}": ", ".join(f"{kind} a{k}" for k in range(n)) for kind in ("long", "double") for n in (1, 2, 5, 7, 8, 9, 10, 17)}
NAMED |= {
    "mixed": "double a0, long a1, float a2, int a3, double a4, long a5, long a6, char a7",
    "full": ", ".join(f"{'long' if k < 8 else 'double'} a{k}" for k in range(18)),
}
MANY = """
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static double taken(int n, va_list list) {
    double sum = 0;
    while (n--) { sum = sum * 1.5 + va_arg(list, int); sum -= va_arg(list, double); sum += strlen(va_arg(list, char *)); sum += va_arg(list, long) >> 33; }
    return sum;
}
"""


@pytest.mark.parametrize("target", MACHINES)
def test_arguments_without_names_begin_anywhere(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    library, main = [MANY], ["#include <stdio.h>"]
    for name, parameters in NAMED.items():
        kinds = [words.split()[0] for words in parameters.split(", ")]
        head = f"double f_{name}({parameters}, ...)"
        weighed = " + ".join(f"a{k} * {k + 2}" for k in range(len(kinds)))
        library.append(
            f"{head} {{ va_list list, again; char text[200]; double kept = {weighed}; va_start(list, a{len(kinds) - 1}); va_copy(again, list); double sum = taken(3, list);"
            f' vsprintf(text, "%d %g %s %lx", again); va_end(again); va_end(list); puts(text); return sum * 3 + kept + ({weighed}); }}'
        )
        given = ", ".join(f"{k + 1}" if kinds[k] in ("int", "long", "char") else f"{k}.25" for k in range(len(kinds)))
        main.append(f"{head};\nstatic void g_{name}(void) {{ double (*volatile f)({parameters}, ...) = f_{name};")
        for call in (f"f_{name}", "f"):
            main.append(f'printf("%.17g\\n", {call}({given}, 7, 8.5, "nine", 10L << 33, 11, 12.5, "thirteen", -14L << 35, -15, 16.5, "", 17L << 40));')
        main.append("}")
    main.append("int main(void) {" + " ".join(f"g_{name}();" for name in NAMED) + " return 0; }")
    assert _from_both_sides(target, "\n".join(library), "\n".join(main)).count("7 8.5 nine 1400000000") == 2 * len(NAMED)


WIDE_LISTS = """
#include <stdarg.h>
typedef __int128 wide; typedef struct { _Alignas(16) long a; int b; } apart; typedef struct { char *text; double x; } mixed;
static long of(wide w) { return (long)w * 3 + (long)(w >> 64) * 7; }
long one(int n, ...) { va_list list; long sum = 0; va_start(list, n); while (n--) { sum = sum * 5 + of(va_arg(list, wide)); sum += va_arg(list, int); } va_end(list); return sum; }
long two(int n, int m, ...) { va_list list; long sum = m; va_start(list, m); while (n--) { sum = sum * 5 + va_arg(list, int); sum += of(va_arg(list, wide)); } va_end(list); return sum; }
long three(int n, wide w, double x, ...) {
    va_list list; long sum = of(w) + (long)x; va_start(list, x);
    while (n--) { apart p = va_arg(list, apart); sum = sum * 5 + p.a + p.b; mixed q = va_arg(list, mixed); sum += q.text[0] + (long)q.x; }
    va_end(list); return sum;
}
long late(long a, long b, long c, long d, long e, long f, long g, wide w, ...) {
    va_list list; long sum = a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + of(w); va_start(list, w); sum += va_arg(list, int) * 11; sum += of(va_arg(list, wide)); va_end(list); return sum;
}
long later(long a, long b, long c, long d, long e, long f, long g, long h, long i, wide w, int j) { return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + of(w) + j; }
"""
CALLING_WIDE_LISTS = """
#include <stdio.h>
typedef __int128 wide; typedef struct { _Alignas(16) long a; int b; } apart; typedef struct { char *text; double x; } mixed;
long one(int n, ...); long two(int n, int m, ...); long three(int n, wide w, double x, ...); long late(long a, long b, long c, long d, long e, long f, long g, wide w, ...);
long later(long a, long b, long c, long d, long e, long f, long g, long h, long i, wide w, int j);
#define W(k) (((wide)(k) << 64) + (k) * 3)
int main(void) {
    printf("%ld %ld\\n", one(4, W(1), 2, W(3), 4, W(5), 6, W(7), 8), two(4, 9, 2, W(3), 4, W(5), 6, W(7), 8, W(9)));
    printf("%ld\\n", three(2, W(11), 12.5, (apart){13, 14}, (mixed){"15", 16.5}, (apart){17, 18}, (mixed){"x", 19.5}));
    printf("%ld %ld\\n", late(1, 2, 3, 4, 5, 6, 7, W(8), 9, W(10)), later(1, 2, 3, 4, 5, 6, 7, 8, 9, W(10), 11));
    return 0;
}
"""


@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_wide_integers_among_arguments_without_names(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in an even register and the next, or at a multiple of 16 on the stack."""
    monkeypatch.chdir(tmp_path)
    assert _from_both_sides(target, WIDE_LISTS, CALLING_WIDE_LISTS).count("\n") == 3


def test_a_variable_number_of_arguments_where_there_is_no_way_in() -> None:
    text = 'target triple = "powerpc64le-unknown-linux-gnu"\ndefine i32 @f(i32 %n, ...) {\n  ret i32 %n\n}\ndefine ptr @g() {\n  ret ptr @f\n}\n'
    with pytest.raises(
        UnsupportedOperationError, match="f, which takes a variable number of arguments, called by its address or from another object, is not supported"
    ):
        from_llvm(text)


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


WEAK = """
#include <stdio.h>
extern int missing(void) __attribute__((weak));
extern int none __attribute__((weak));
__attribute__((weak)) int hook(int x) { return x + 1; }
__attribute__((weak)) int level = 3;
__attribute__((constructor(300))) static void third(void) { printf("300 "); }
__attribute__((constructor(200))) static void second(void) { printf("200 "); }
__attribute__((destructor)) static void behind(void) { puts("behind"); }
int main(void) { printf("%d %d %d %d ", hook(4), level, missing ? missing() : -1, &none ? none : -2); return 0; }
"""
STRONG = """
#include <stdio.h>
int hook(int x) { return x * 100; }
int level = 7, none = 8;
int missing(void) { return 9; }
__attribute__((constructor)) static void usual(void) { printf("usual "); }
"""


@pytest.mark.parametrize("target", [None, "rv64gc", "aarch64-neon"])
def test_weak_symbols(target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give way to others, and may be nowhere; what runs before main is in the order of its priorities."""
    monkeypatch.chdir(tmp_path)
    triple, emulator = {None: ("x86_64-linux-gnu", ""), "rv64gc": ("riscv64-linux-gnu", "qemu-riscv64"), "aarch64-neon": ("aarch64-linux-gnu", "qemu-aarch64")}[
        target
    ]
    if target is not None and (not clang.has_headers(triple) or shutil.which(emulator) is None):
        pytest.skip(f"{emulator} or the C library of {triple} is not installed")
    options = ["--target", target] if target is not None else []
    Path("weak.c").write_text(WEAK)
    Path("strong.c").write_text(STRONG)
    for name in ("weak", "strong"):
        assert cli.main(["cc", "-w", "-c", f"{name}.c", *options]) == 0
    for objects, expected in ((["weak.o"], "200 300 5 3 -1 -2 behind\n"), (["weak.o", "strong.o"], "200 300 usual 400 7 9 8 behind\n")):
        subprocess.run(["clang", f"--target={triple}", "-static" if target is not None else "-no-pie", *objects, "-o", "made"], check=True)
        words = [emulator, "./made"] if target is not None else ["./made"]
        assert subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout == expected
