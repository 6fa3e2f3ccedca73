"""C programs through ``loopwright cc``: real ones, whose output is known, and generated ones, whose output clang -O0's is to be."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.programs.generated import CSMITH, compared

from loopwright import cli
from loopwright.cc import clang
from loopwright.runtime import cpu
from loopwright.targets import registry

HERE = Path(__file__).parent
#: (Those in the folder ``small`` are not measured.)
PROGRAMS = sorted([*HERE.glob("*.c"), *HERE.glob("small/*.c")])
ARGUMENTS = ["abc", "The quick brown fox", "97"]
#: What main returns, where that is not 0.
STATUS = {"interpreter": 3, "variadic": 35}

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_output(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cc", str(program), "--run", *ARGUMENTS]) == STATUS.get(program.stem, 0)
    # (The files are clang -O0's output.)
    assert capfd.readouterr().out == program.with_suffix(".expected").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O1", "-Os"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_output_at_other_levels(program: Path, level: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cc", level, str(program), "--run", *ARGUMENTS]) == STATUS.get(program.stem, 0)
    assert capfd.readouterr().out == program.with_suffix(".expected").read_text()


OTHERS = {"aarch64-neon": ("aarch64-linux-gnu", "qemu-aarch64"), "rv64gc": ("riscv64-linux-gnu", "qemu-riscv64")}
#: Those that are run for other machines each time.
QUICK = ("small/before_main", "small/vector_arguments", "cases", "json", "sorting")


def on(target: str, program: Path, capfd: pytest.CaptureFixture[str], *options: str) -> None:
    """Compile a program for another machine, link it with that machine's C library, and run it under QEMU."""
    triple, emulator = OTHERS[target]
    if not clang.has_headers(triple) or shutil.which(emulator) is None:
        pytest.skip(f"{emulator} or the C library of {triple} is not installed (Debian packages qemu-user and {clang.package(triple)})")
    status = cli.main(["cc", *options, "--target", target, str(program), "--run", *ARGUMENTS])
    said = capfd.readouterr()
    if status == 1 and " not supported" in said.err:
        pytest.skip(f"refused: {said.err.splitlines()[0]}")
    assert status == STATUS.get(program.stem, 0), said.err
    # Where one rounding instead of two is seen, what clang's code gives on these machines stands beside.
    fused = program.with_suffix(".fused.expected")
    assert said.out == (fused if fused.exists() else program.with_suffix(".expected")).read_text()


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("program", QUICK)
def test_output_on_other_machines(program: str, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    on(target, HERE / f"{program}.c", capfd)


@pytest.mark.slow
@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("program", [program for program in PROGRAMS if program.stem not in QUICK and program.parent == HERE], ids=lambda path: path.stem)
def test_output_of_more_programs_on_other_machines(program: Path, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    on(target, program, capfd)


@pytest.mark.parametrize("target", OTHERS)
def test_a_status_on_other_machines(target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Characters without a sign, as those machines' C has them; a status; a signal; an executable that is kept."""
    source = tmp_path / "status.c"
    source.write_text(
        "#include <math.h>\n#include <stdlib.h>\nint main(int n, char **words) { char c = (char)200; if (n > 4) abort(); return c > 0 && sin(n) < 2 ? 7 : 8; }\n"
    )
    triple, emulator = OTHERS[target]
    if not clang.has_headers(triple) or shutil.which(emulator) is None:
        pytest.skip(f"{emulator} or the C library of {triple} is not installed")
    assert cli.main(["cc", "--target", target, str(source), "--run"]) == 7
    assert cli.main(["cc", "--target", target, str(source), "--run", *ARGUMENTS, "more"]) == 128 + 6
    assert cli.main(["cc", "--target", target, str(source), "-l", "m", "-o", str(tmp_path / "status")]) == 0
    assert subprocess.run([emulator, str(tmp_path / "status")], check=False).returncode == 7
    capfd.readouterr()


VARIABLE = """
#include <stdarg.h>
#include <stdio.h>
typedef struct { float x, y; } two;
typedef struct { long a, b, c; } three;
typedef __int128 wide;
static double total(int n, ...) {
    va_list list; double sum = 0; va_start(list, n);
    while (n--) { two t = va_arg(list, two); sum = sum * 2 + t.x - t.y; three u = va_arg(list, three); sum += u.a + u.b + u.c; }
    va_end(list); return sum;
}
static long halves(int n, ...) {
    va_list list; long sum = 0; va_start(list, n);
    while (n--) { sum = sum * 3 + va_arg(list, int); wide w = va_arg(list, wide); sum += (long)w + (long)(w >> 64) * 5; }
    va_end(list); return sum;
}
static double (*const table[])(int, ...) = {total};
static long (*const others[])(int, ...) = {halves};
int main(void) {
    two t = {9, 4}; three u = {1, 2, 3}; wide w = ((wide)5 << 64) + 7;
    printf("%g\\n", total(3, t, u, t, u, t, u));
    printf("%g\\n", table[0](2, t, u, t, u));
    printf("%ld\\n", halves(4, 1, w, 2, -w, 3, w, 4, w));
    printf("%ld\\n", others[0](4, 1, w, 2, -w, 3, w, 4, w));
    return 0;
}
"""


@pytest.mark.parametrize("target", [None, *OTHERS])
def test_structs_and_wide_integers_in_lists(target: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Floats of one struct lie together on AArch64; clang passes wide integers in halves on x86-64, which may lie at a multiple of 16."""
    source = tmp_path / "variable.c"
    source.write_text(VARIABLE)
    if target is not None and (not clang.has_headers(OTHERS[target][0]) or shutil.which(OTHERS[target][1]) is None):
        pytest.skip(f"{OTHERS[target][1]} or the C library of {OTHERS[target][0]} is not installed")
    assert cli.main(["cc", *(["--target", target] if target else []), str(source), "--run"]) == 0
    assert capfd.readouterr().out == "77\n33\n717\n717\n"


FLOATS = """
#include <complex.h>
#include <stdio.h>
typedef __int128 wide; typedef unsigned __int128 size;
static void show(size x) { printf("%016lx%016lx ", (unsigned long)(x >> 64), (unsigned long)x); }
int main(void) {
    size s = 88172645463325252;
    for (int i = 0; i < 600; i++) {
        s = s * ((size)0x2360ED051FC65DA4 << 64 | 0x4385DF649FCCF645) + 12345;
        size x = s >> (i % 128);
        if (i % 5 == 0) x |= (size)1 << (i * 7 % 128);
        if (i % 7 == 0) x = (x >> 60 << 60) + (i % 3 - 1);
        wide v = i % 2 ? -(wide)x : (wide)x;
        double d = (double)(x >> 1);
        printf("%a %a %a %a ", (double)v, (double)x, (double)(float)v, (double)(float)x);
        show((size)(wide)(i % 2 ? -d : d)); show((size)d); show((size)(wide)(float)(v >> 2));
    }
    show((size)(wide)-0.9); show((size)0.5f);
    printf("%a %a\\n", (double)(wide)0, (float)~(size)0);
    volatile complex float a = 3 - 2 * I, b = 0.5f + I; volatile complex double c = 1 + 2 * I, d = 4 - I;
    printf("%a %a %a %a\\n", crealf(a / b * b), cimagf(a / b), creal(c / d), cimag(c * d / a));
    return 0;
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("target", [None, *OTHERS])
def test_wide_integers_and_floats(target: str | None, level: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Conversions, each rounded once; quotients of complex numbers, which the compiler's own library has."""
    source, reference = tmp_path / "floats.c", tmp_path / "reference"
    source.write_text(FLOATS)
    if target is not None and (not clang.has_headers(OTHERS[target][0]) or shutil.which(OTHERS[target][1]) is None):
        pytest.skip(f"{OTHERS[target][1]} or the C library of {OTHERS[target][0]} is not installed")
    subprocess.run(["clang", "-O0", "-w", "-ffp-contract=off", str(source), "-o", str(reference), "-lm"], check=True)
    expected = subprocess.run([str(reference)], check=True, capture_output=True, text=True).stdout
    assert cli.main(["cc", "-w", "-O", level, *(["--target", target] if target else []), str(source), "--run"]) == 0
    assert capfd.readouterr().out == expected


COMPUTED = """
#include <stdio.h>
#include <stdlib.h>
enum { PUSH, ADD, DUP, JUMP, DOWN, PRINT, STOP };
static int run(const int *code) {
    static const void *const ways[] = {&&push, &&add, &&dup, &&jump, &&down, &&print, &&stop};
    long stack[32]; int top = 0, at = 0, steps = 0;
#define NEXT do { steps++; goto *ways[code[at++]]; } while (0)
    NEXT;
push: stack[top++] = code[at++]; NEXT;
add: stack[top - 2] += stack[top - 1]; top--; NEXT;
dup: stack[top] = stack[top - 1]; top++; NEXT;
jump: if (stack[--top]) at = code[at]; else at++; NEXT;
down: stack[top - 1]--; NEXT;
print: printf("%ld ", stack[--top]); NEXT;
stop: return steps;
}
static int apart(const unsigned char *s) {
    static const int distances[] = {&&a - &&a, &&b - &&a, &&c - &&a};
    int r = 0;
again: goto *(&&a + distances[*s]);
a: r = r * 2 + 1; s++; goto again;
b: r *= 3; s++; goto again;
c: return r;
}
static int words(const char *p) {
    void *state = &&out; int n = 0;
    for (;; p++) {
        goto *state;
    out: if (*p > ' ') { n++; state = &&in; } else if (!*p) break;
        continue;
    in: if (*p <= ' ') state = &&out;
        if (!*p) break;
    }
    return n;
}
static void last(void) { puts("the end"); }
int main(void) {
    static const int loop[] = {PUSH, 7, PUSH, 1000, DOWN, DUP, JUMP, 4, ADD, PRINT, STOP};
    atexit(last);
    printf("%d\\n", run(loop));
    printf("%d %d\\n", apart((const unsigned char *)"\\0\\1\\0\\0\\1\\2"), words("the quick  brown fox "));
    return 0;
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("target", [None, *OTHERS])
def test_computed_goto(target: str | None, level: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Tables of addresses of blocks, and of how far apart they are; and what is called at the end."""
    source = tmp_path / "computed.c"
    source.write_text(COMPUTED)
    if target is not None and (not clang.has_headers(OTHERS[target][0]) or shutil.which(OTHERS[target][1]) is None):
        pytest.skip(f"{OTHERS[target][1]} or the C library of {OTHERS[target][0]} is not installed")
    assert cli.main(["cc", "-w", "-O", level, *(["--target", target] if target else []), str(source), "--run"]) == 0
    assert capfd.readouterr().out == "7 3005\n45 4\nthe end\n"


def test_several_files_and_a_status(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two files that share a table and a function; a call of exit, whose output is not lost; a signal."""
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nextern int table[]; int twice(int);\n"
        'int main(int n, char **words) { printf("%s %d", words[1], twice(table[2])); if (n > 2) abort(); exit(7); }\n'
    )
    (tmp_path / "other.c").write_text("int table[] = {1, 2, N};\nint twice(int x) { return 2 * x; }\n")
    files = [str(tmp_path / "main.c"), str(tmp_path / "other.c"), "-D", "N=21"]
    assert cli.main(["cc", *files, "--run", "answer:"]) == 7
    assert capfd.readouterr().out == "answer: 42"
    assert cli.main(["cc", *files, "--run", "a", "b"]) == 128 + 6


def test_code_of_a_function(capfd: pytest.CaptureFixture[str]) -> None:
    program = str(HERE / "hashes.c")
    assert cli.main(["cc", program, "-g", "--show", "main"]) == 0
    assert "hashes.c:" in capfd.readouterr().out
    assert cli.main(["cc", program, "--show", "show", "--after", "collect", "--target", "rv64gc"]) == 0
    assert "callee printf(ptr, ...," in capfd.readouterr().out


WRONG = [
    ("int main(void) { return x; }", [], "undeclared identifier 'x'"),
    ("int f(void) { return 1; }", ["--run"], "no function main"),
    ("int main(void) { return 0; }", ["--show", "f"], "no function f; it has main"),
    ("int main(void) { return 0; }", ["--after", "nothing"], "no pass 'nothing'"),
    ('int main(void) { __asm__("nop"); return 0; }', [], "inline assembly is not supported"),
    ("int g(void); int main(void) { return g(); }", [], "calls g, which the module does not have"),
    ("_Thread_local int t; int main(void) { return t; }", [], "thread_local"),
    ("long double f(long double x) { return x; }", [], "x86_fp80"),
    ("typedef int v4 __attribute__((vector_size(16))); v4 f(v4 x) { return x; }", ["-c"], "f is none of the program's own (static) ones"),
    ("typedef int v4 __attribute__((vector_size(16))); v4 f(v4); int main(void) { return f((v4){1, 2})[0]; }", [], "f is none of the program's own"),
    (
        "typedef int v4 __attribute__((vector_size(16))); static v4 f(v4 x) { return x; } v4 (*volatile to)(v4) = f; int main(void) { return to((v4){1})[0]; }",
        [],
        "called by its address",
    ),
]


@pytest.mark.parametrize(("source", "options", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_errors(source: str, options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.c").write_text(source)
    assert cli.main(["cc", str(tmp_path / "wrong.c"), *options]) == 1
    assert message in capfd.readouterr().err


def test_lines_of_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Those of C where they are known; lines of LLVM IR are not said to be those of the file."""
    source = tmp_path / "wrong.c"
    source.write_text('int main(int n, char **words) {\n  if (n)\n    __asm__("nop");\n  return 0;\n}\n')
    assert cli.main(["cc", "-g", str(source)]) == 1
    assert capfd.readouterr().err.startswith(f'loopwright: {source}:3: main: inline assembly is not supported: write it in C\n    __asm__("nop");')
    assert cli.main(["cc", str(source)]) == 1
    said = capfd.readouterr().err
    assert said.startswith(f"loopwright: {source} (LLVM IR):") and " asm " in said


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_levels_of_this_machine(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Those that its CPU has are run, others refused."""
    source = tmp_path / "status.c"
    source.write_text("int main(int n, char **words) { int sum = 0; for (int i = 0; i < 100 * n; i++) sum += words[0][0] * i; return sum & 63; }")
    missing = registry.get(level).features - cpu.host_features()
    if missing:
        assert cli.main(["cc", str(source), "--target", level, "--run"]) == 1
        assert "cannot run on this CPU" in capfd.readouterr().err
        return
    assert cli.main(["cc", str(source), "--target", level, "--run"]) == cli.main(["cc", str(source), "--run"])
    monkeypatch.setattr(cpu, "host_features", lambda: registry.get(level).features - {"avx2"})
    assert cli.main(["cc", str(source), "--target", level, "--run"]) == 1
    assert "cannot run on this CPU, which lacks avx2" in capfd.readouterr().err


@pytest.mark.every_change
@pytest.mark.timeout(1800)
@pytest.mark.skipif(CSMITH is None, reason="csmith is not installed (Debian packages csmith and libcsmith-dev)")
@pytest.mark.parametrize("first", range(1, 100000, 10000))
def test_generated_programs(first: int, tmp_path: Path) -> None:
    """Ten times six programs that end within a second."""
    said = (compared(seed, tmp_path) for seed in itertools.count(first))
    assert [each for each in itertools.islice((each for each in said if each is not None), 6) if each] == []
