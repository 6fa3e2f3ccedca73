"""Debuggers and profilers are told of compiled code: GDB by its JIT interface, perf by a map and by a dump."""

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

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="debuggers and profilers are told of code on Linux, here on x86-64"
)

#: The programs run elsewhere, with the library that is tested.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(lw.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}

#: What stops under a debugger with a module's functions, a kernel, and what calls it from Python on the stack.
PROGRAM = """\
import ctypes
import gc

import numpy as np

import loopwright as lw

stop = ctypes.CDLL(None)["raise"]
stop.argtypes, stop.restype = [ctypes.c_int], ctypes.c_int
m = lw.Module()


@m.function
def inner(n: lw.i32) -> lw.i32:
    k = lw.call(stop, n)
    return k + 1


@m.function
def outer(n: lw.i32, a: lw.i64) -> lw.i64:
    r = inner(n) + a
    return r * a


@lw.kernel
def once(x: lw.Array[lw.i64]):
    for i in lw.range(len(x)):
        x[i] = outer(lw.i32(5), x[i])


@lw.kernel
def gone(x: lw.Array[lw.i64]):
    x[0] = 1


x = np.array([3])
for k in range(40):
    # Code comes and goes.
    code = gone.compile(lw.Array[lw.i64])
    code(x)
    address = code.address
del code
gc.collect()
x[0] = 3
once(x)
assert x[0] == 12
outer(5, 3)
print("the end")
"""


def run_in_gdb(folder: Path, source: str, *commands: str, **variables: str) -> str:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed (Debian package gdb)")
    (folder / "program.py").write_text(source)
    words = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    told = {**ENVIRONMENT, "LOOPWRIGHT_FAULTS": "0", **variables}
    done = subprocess.run([*words, "--args", sys.executable, "program.py"], capture_output=True, text=True, timeout=120, check=False, cwd=folder, env=told)
    return done.stdout + done.stderr


def line_of(source: str, text: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


@pytest.mark.parametrize("how", ["call", "environment"])
def test_a_backtrace_goes_through_our_frames_to_the_end(how: str, tmp_path: Path) -> None:
    source = PROGRAM if how == "environment" else PROGRAM.replace("\nm = ", "\nlw.debugger()\nlw.debugger()\nm = ")
    said = run_in_gdb(tmp_path, source, "run", "bt", "continue", "bt", "continue", **({"LOOPWRIGHT_DEBUGGER": "1"} if how == "environment" else {}))
    # ("Program received signal" where there is one thread, else "Thread 1 … received signal".)
    _, first, second = re.split(r"^(?:Program|Thread \d+ .*) received signal SIGTRAP", said, maxsplit=2, flags=re.MULTILINE)
    for trace, names in ((first, ("inner", "outer", "once", "once from Python")), (second, ("inner", "outer", "outer from Python"))):
        frames = [match[1] for match in re.finditer(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \(", trace, re.MULTILINE)]
        assert "inner" in frames, said[-4000:]
        at = frames.index("inner")
        assert tuple(frames[at : at + len(names)]) == names
        # Behind them CPython's, down to the beginning.
        assert frames[-1] in ("_start", "__libc_start_main", "__libc_start_main_impl", "clone3", "main"), trace
    assert f"program.py:{line_of(source, 'k = lw.call')}" in first and f"program.py:{line_of(source, 'r = inner')}" in first
    assert "the end" in said


def test_without_being_asked_nobody_is_told(tmp_path: Path) -> None:
    said = run_in_gdb(tmp_path, PROGRAM, "run", "bt", "continue", "continue")
    assert "SIGTRAP" in said and "in inner" not in said and "in outer" not in said


def test_a_breakpoint_at_a_function_that_is_not_compiled_yet(tmp_path: Path) -> None:
    said = run_in_gdb(
        tmp_path, PROGRAM, "set breakpoint pending on", "break outer", "run", "info symbol $pc", "list", "delete", "continue", LOOPWRIGHT_DEBUGGER="1"
    )
    assert re.search(r"Breakpoint 1, .*outer \(", said), said[-3000:]
    assert re.search(r"^outer( \+ \d+)? in section .text", said, re.MULTILINE) and "r = inner(n) + a" in said


def test_what_has_been_freed_is_known_no_more(tmp_path: Path) -> None:
    source = PROGRAM.replace("once(x)\n", "stop(5)\nonce(x)\n", 1).replace("lw.i32(5)", "lw.i32(0)").replace("outer(5, 3)", "outer(0, 3)")
    told = ["run", "info functions ^gone", "info functions ^once", "continue"]
    said = run_in_gdb(tmp_path, source.replace("del code\n", ""), *told, LOOPWRIGHT_DEBUGGER="1")
    assert re.search(r"0x[0-9a-f]+ +gone\b|gone\(|\bgone$", said, re.MULTILINE), said[-3000:]
    said = run_in_gdb(tmp_path, source, *told, LOOPWRIGHT_DEBUGGER="1")
    assert "SIGTRAP" in said and not re.search(r"0x[0-9a-f]+ +gone\b", said), said[-3000:]


BUSY = """\
import numpy as np

import loopwright as lw


@lw.kernel
def busy(x: lw.Array[lw.f64], n: lw.i64):
    for k in lw.range(n):
        for i in lw.range(len(x)):
            x[i] = x[i] * 0.5 + lw.sin(x[i])


busy(np.ones(1000), 1)
busy(np.ones(1000), 10000)
"""


def perf(*words: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(["perf", *words], capture_output=True, text=True, timeout=120, check=False, cwd=folder, env={**ENVIRONMENT, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["map", "dump"])
def test_perf_names_the_kernel(kind: str, tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed (Debian package linux-perf)")
    if subprocess.run(["perf", "record", "-k", "mono", "-o", "none.data", "true"], capture_output=True, check=False, cwd=tmp_path).returncode:
        pytest.skip("perf may not record here")
    (tmp_path / "busy.py").write_text(BUSY)
    perf("record", "-k", "mono", "-o", "first.data", "--", sys.executable, "busy.py", folder=tmp_path, LOOPWRIGHT_PERF=kind)
    if kind == "dump":
        perf("inject", "--jit", "-i", "first.data", "-o", "second.data", folder=tmp_path)
    said = perf("report", "--stdio", "-i", "second.data" if kind == "dump" else "first.data", "--sort", "symbol", folder=tmp_path)
    found = re.search(r"([\d.]+)% +\[\.\] busy\b", said)
    assert found is not None and float(found[1]) > 2, said[:2000]


def test_the_map_has_each_function(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        PROGRAM.replace("lw.i32(5)", "lw.i32(0)").replace("outer(5, 3)", "outer(0, 3)")
        + "import os\nprint(os.getpid(), m.code()['outer'].address)\nlw.perf()\nlw.perf('map')\ntry:\n    lw.perf('nothing')\nexcept lw.ArgumentError as error:\n    print(error)\n"
    )
    told = {**ENVIRONMENT, "LOOPWRIGHT_PERF": "map"}
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path, env=told)
    process, address = map(int, done.stdout.splitlines()[1].split())
    assert "'map' or a 'dump', not by 'nothing'" in done.stdout
    file = Path(f"/tmp/perf-{process}.map")
    lines = file.read_text().splitlines()
    file.unlink()
    assert any(line.startswith(f"{address:x} ") and line.endswith(" outer") for line in lines)
    assert sum(line.endswith(" once from Python") for line in lines) >= 1


def test_blocks_that_are_gone_while_another_is_being_forgotten() -> None:
    """A garbage collection in the middle of it ends more of them: they are forgotten after it, and nothing waits for itself."""
    program = """
import threading
from collections import deque

from loopwright.runtime import debug

taken = []


class Told(debug.Gdb):
    def __init__(self):
        self._lock, self._left = threading.Lock(), deque()

    def _take_out(self, key):
        if key == 1:
            self._gone(2)
            self._gone(3)
        taken.append(key)


told = Told()
told._gone(1)
with told._lock:
    told._gone(4)
told._gone(5)
print(taken)
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=ENVIRONMENT)
    assert made.stdout == "[1, 2, 3, 4, 5]\n"
