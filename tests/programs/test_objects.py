"""Object files and executables of ``loopwright cc``: linked with C's library and with clang's code, and for machines that are not this one."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from loopwright import cli

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
