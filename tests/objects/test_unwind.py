"""Unwind information: the caller of each frame, at each instruction, as gdb, the C++ runtime and libgcc find it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loopwright as lw
from loopwright import cli
from loopwright.cc import clang

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="executables are made for x86-64"),
]

#: Frames of all kinds: large ones, those that move, saved registers of both kinds, several ends, tail calls, none at all.
FUNCTIONS = """
#include <alloca.h>
void sink(void *, ...);
double other(double, double);
extern int twice(int);
int large(int n) { int a[5000]; for (int i = 0; i < 3; i++) a[i * 1000] = n; sink(a); return a[n * 1000]; }
int moving(int n) { char *p = alloca(n); p[1] = n; sink(p); char *q = alloca(2 * n); q[0] = p[1]; sink(q); return q[0] + p[1]; }
double floats(double a, double b) { double c = other(a, b), d = other(c, a); return a + b * c - d; }
int many(int a, int b, int c, int d, int e, int f) {
    if (a > 3) { sink(&b, a); return b; }
    if (b == 2) sink(&a, b, c, d, e, f, a, b, c, d);
    sink(&c, d, e); sink(&d, e, f);
    if (f == 5) return a;
    return a + b + c + d + e + f;
}
int tripled(int a) { return a * 3; }
int tail(int a) { sink(&a); return twice(a + 1); }
int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
"""
MAIN = """
int large(int), moving(int), many(int, int, int, int, int, int), tripled(int), tail(int), recursive(int);
double floats(double, double);
double shown = 0;
void sink(void *p, ...) { shown += 1; }
double other(double a, double b) { return a - b; }
int twice(int a) { return 2 * a; }
int finish(int n) { return n; }
int main(void) {
    return finish(large(2) + moving(40) + many(1, 2, 3, 4, 5, 6) + many(4, 1, 1, 1, 1, 1) + many(1, 1, 1, 1, 1, 5) + tripled(2) + tail(3) + recursive(4) + (int)floats(4, 2));
}
"""


def built(folder: Path, *words: str) -> None:
    (folder / "functions.c").write_text(FUNCTIONS)
    assert cli.main(["cc", "-c", str(folder / "functions.c"), "-o", str(folder / "functions.o"), *words]) == 0


def sizes(file: Path) -> dict[str, int]:
    listed = subprocess.run(["readelf", "-sW", str(file)], capture_output=True, text=True, check=True).stdout
    return {match[2]: int(match[1]) for match in re.finditer(r"\s(\d+)\s+FUNC\s+\S+\s+\S+\s+\d+ (\w+)", listed)}


@pytest.mark.parametrize("level", ["-O2", "-O0"])
def test_the_callers_frame_is_known_at_every_instruction(level: str, tmp_path: Path) -> None:
    if shutil.which("gdb") is None or shutil.which("gcc") is None or shutil.which("readelf") is None:
        pytest.skip("gdb, gcc or readelf is not installed")
    built(tmp_path, level)
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["gcc", "-O1", "-fno-inline", "main.c", "functions.o", "-o", "program"], check=True, cwd=tmp_path, capture_output=True)
    told = {**os.environ, "FUNCTIONS": " ".join(f"{name}:{size}" for name, size in sizes(tmp_path / "functions.o").items() if name in FUNCTIONS)}
    words = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-x", str(HERE / "stepped.py"), "./program"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path, env=told, stdin=subprocess.DEVNULL)
    right = re.search(r"RIGHT at (\d+) instructions", done.stdout)
    assert right is not None, done.stdout[-2000:] + done.stderr[-2000:]
    assert int(right[1]) > 150


IN_PROCESS = """\
import ctypes

import numpy as np

import loopwright as lw

stop = ctypes.CDLL(None)["raise"]
m = lw.Module()


@m.function
def inner(n: lw.i64) -> lw.i64:
    if n < 2:
        return n
    return inner(n - 1) + inner(n - 2)


@m.function
def outer(n: lw.i64, a: lw.f64) -> lw.f64:
    row = lw.local(lw.f64, 700)
    row[n] = a
    row[n + 1] = lw.f64(inner(n))
    return row[n] + row[n + 1] * a


@lw.kernel
def once(x: lw.Array[lw.f64], a: lw.f64):
    for i in lw.range(len(x)):
        x[i] = outer(i + 3, x[i]) + a


code = once.compile()
x = np.array([3.0])
code(x, 1.0)
stop(5)
code(x, 1.0)
"""


def test_the_callers_frame_is_known_at_every_instruction_of_code_in_process(tmp_path: Path) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed (Debian package gdb)")
    (tmp_path / "program.py").write_text(IN_PROCESS)
    told = {**os.environ, "LOOPWRIGHT_DEBUGGER": "1", "PYTHONPATH": os.pathsep.join([str(Path(lw.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    told.pop("FUNCTIONS", None)
    words = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-x", str(HERE / "stepped.py"), "--args", sys.executable, "program.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path, env=told, stdin=subprocess.DEVNULL)
    right = re.search(r"RIGHT at (\d+) instructions of inner, once, once from Python, outer", done.stdout)
    assert right is not None, done.stdout[-2000:] + done.stderr[-2000:]
    assert int(right[1]) > 100


THROWING = """
#include <cstdio>
#include <stdexcept>
extern "C" { int large(int); int moving(int); int many(int, int, int, int, int, int); double floats(double, double); int tail(int);
int calls = 0, at = 0;
void sink(void *p, ...) { if (++calls == at) throw std::runtime_error("thrown"); }
double other(double a, double b) { sink(nullptr); return a - b; }
int twice(int a) { return 2 * a; } }
static long through(int which, volatile int *n) {
    // What lives here across the call is in registers that the functions save.
    long a = n[0], b = n[1], c = n[2], d = n[3], e = n[4];
    try {
        switch (which) {
            case 0: large(1); break;
            case 1: moving(40); break;
            case 2: floats(1, 2); break;
            case 3: many(1, 2, 3, 4, 5, 6); break;
            default: tail(3);
        }
    } catch (const std::runtime_error &) { return a + 10 * b + 100 * c + 1000 * d + 10000 * e; }
    return -1;
}
int main() {
    volatile int n[5] = {1, 2, 3, 4, 5};
    for (at = 1; at < 3; at++) for (int which = 0; which < 5; which++) { calls = 0; std::printf("%ld ", through(which, n)); }
}
"""


def test_exceptions_pass_through(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    built(tmp_path)
    (tmp_path / "main.cpp").write_text(THROWING)
    subprocess.run(["g++", "-O2", "main.cpp", "functions.o", "-o", "program"], check=True, cwd=tmp_path, capture_output=True)
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True, timeout=60)
    # (The second time `large` and `tail`, which call once, end as they do.)
    assert done.stdout == "54321 54321 54321 54321 54321 -1 54321 54321 54321 -1 "


WALKING = """
#include <stdio.h>
#include <unwind.h>
int large(int), moving(int), many(int, int, int, int, int, int);
double floats(double, double);
int main(void);
static int depth;
static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *found) {
    // The frames: this function's caller, the function, main.
    if (_Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context)) == (void *)main) *(int *)found = depth;
    depth++;
    return _URC_NO_REASON;
}
__attribute__((noinline)) void sink(void *p, ...) { int found = -1; depth = 0; _Unwind_Backtrace(count, &found); printf("%d ", found); }
double other(double a, double b) { sink(0); return a - b; }
int twice(int a) { return 2 * a; }
int main(void) { large(1); moving(40); many(1, 2, 3, 4, 5, 6); floats(1, 2); return 0; }
"""


@pytest.mark.parametrize(
    ("target", "triple", "emulator"), [("aarch64-neon", "aarch64-linux-gnu", "qemu-aarch64"), ("rv64gc", "riscv64-linux-gnu", "qemu-riscv64")]
)
def test_callers_are_found_on_other_machines(target: str, triple: str, emulator: str, tmp_path: Path) -> None:
    if not clang.has_headers(triple) or shutil.which(emulator) is None:
        pytest.skip(f"{emulator} or the C library of {triple} is not installed (Debian packages qemu-user and {clang.package(triple)})")
    built(tmp_path, "--target", target)
    (tmp_path / "main.c").write_text(WALKING)
    words = ["clang", f"--target={triple}", "-O1", "-funwind-tables", "-static", "main.c", "functions.o", "-o", "program"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([emulator, str(tmp_path / "program")], capture_output=True, text=True, check=True, timeout=60)
    # From sink by way of a function; from `floats` by way of `other` as well.
    assert done.stdout == "2 2 2 2 2 2 3 3 "


def test_lines_of_an_object(tmp_path: Path) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed (Debian package gdb)")
    built(tmp_path, "-g")
    told = ["-ex", "set debuginfod enabled off", "-ex", "info line tripled", "-ex", "info line recursive", "-ex", "list tripled,tripled"]
    done = subprocess.run(["gdb", "-nx", "-batch", *told, "functions.o"], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    lines = FUNCTIONS.split("\n")
    for name in ("tripled", "recursive"):
        assert f"Line {lines.index(next(line for line in lines if line.startswith(f'int {name}('))) + 1} of " in done.stdout
    assert "return a * 3" in done.stdout
