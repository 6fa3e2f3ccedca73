"""Calling machine code many times from inside one native loop, and building C for the peers.

A kernel is a function address and the words of its argument list (pointers and 64-bit integers: they travel in
integer registers and, from the seventh on, on the stack). A kernel may return a float; it is ignored.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: The longest argument list the driver can pass: two arrays of rank 2 take 8 words.
MAX_WORDS = 12

_DRIVER_C = """
#include <stdint.h>
#include <time.h>
typedef uint64_t w;
double time_it(void *f, const w *a, long words, long reps)
{
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    if (words <= 6)
        for (long r = 0; r < reps; r++)
            ((void (*)(w, w, w, w, w, w))f)(a[0], a[1], a[2], a[3], a[4], a[5]);
    else
        for (long r = 0; r < reps; r++)
            ((void (*)(w, w, w, w, w, w, w, w, w, w, w, w))f)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    return (t1.tv_sec - t0.tv_sec) + 1e-9 * (t1.tv_nsec - t0.tv_nsec);
}
"""


_WORDS = ", ".join(f"i64 %w{i}" for i in range(MAX_WORDS))
_LOADS = "\n".join(f"  %p.w{i} = getelementptr i64, ptr %a, i64 {i}\n  %w{i} = load i64, ptr %p.w{i}" for i in range(MAX_WORDS))


class NoCompilerError(RuntimeError):
    """A peer's compiler is not on this machine."""


def build_c(source: str, flags: Sequence[str], compiler: str = "gcc") -> ctypes.CDLL:
    """A shared library made from C source by a compiler. Raises ``NoCompilerError`` where there is none or it fails."""
    if shutil.which(compiler) is None:
        raise NoCompilerError(f"{compiler} is not installed")
    folder = Path(tempfile.gettempdir()) / f"loopwright-benchmarks-{os.getuid() if hasattr(os, 'getuid') else 0}"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256("\0".join((compiler, source, *flags)).encode()).hexdigest()[:16]
    c_file = folder / f"{name}.c"
    # Loading a path twice gives the first library again, so the process number keeps two runs apart.
    library = folder / f"{name}.{os.getpid()}.so"
    c_file.write_text(source)
    done = subprocess.run([compiler, "-shared", "-fPIC", *flags, "-o", str(library), str(c_file)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoCompilerError(f"{compiler} failed: {done.stderr.strip()[:300]}")
    loaded = ctypes.CDLL(str(library))
    library.unlink()
    return loaded


def address_of(function: Any) -> int:
    """The entry address of a ctypes function."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


#: The same driver for machines without gcc.
_DRIVER_LLVM = f"""
declare i32 @clock_gettime(i32, ptr)
define double @time_it(ptr %f, ptr %a, i64 %words, i64 %reps) {{
entry:
  %before = alloca [2 x i64]
  %after = alloca [2 x i64]
{_LOADS}
  %c0 = call i32 @clock_gettime(i32 1, ptr %before)
  %some = icmp sgt i64 %reps, 0
  br i1 %some, label %loop, label %done
loop:
  %r = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %f({_WORDS})
  %next = add i64 %r, 1
  %more = icmp slt i64 %next, %reps
  br i1 %more, label %loop, label %done
done:
  %c1 = call i32 @clock_gettime(i32 1, ptr %after)
  %s0 = load i64, ptr %before
  %s1 = load i64, ptr %after
  %p0 = getelementptr i64, ptr %before, i64 1
  %p1 = getelementptr i64, ptr %after, i64 1
  %n0 = load i64, ptr %p0
  %n1 = load i64, ptr %p1
  %s = sub i64 %s1, %s0
  %n = sub i64 %n1, %n0
  %sf = sitofp i64 %s to double
  %nf = sitofp i64 %n to double
  %small = fmul double %nf, 1.0e-9
  %all = fadd double %sf, %small
  ret double %all
}}
"""


_driver: Callable[[int, Any, int, int], float] | None = None
_keep: list[Any] = []


def _driver_function() -> Callable[[int, Any, int, int], float]:
    global _driver
    if _driver is not None:
        return _driver
    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_long, ctypes.c_long)
    try:
        library = build_c(_DRIVER_C, ["-O2"])
        address = address_of(library.time_it)
        _keep.append(library)
    except NoCompilerError:
        from benchmarks.peers import llvm_ir

        engine = llvm_ir.compile_text(_DRIVER_LLVM, 2)
        address = engine.get_function_address("time_it")
        _keep.append(engine)
    _driver = prototype(address)
    return _driver


def pack(words: Sequence[int]) -> Any:
    """An argument list as the driver wants it."""
    if len(words) > MAX_WORDS:
        raise ValueError(f"the driver passes at most {MAX_WORDS} words, not {len(words)}")
    return (ctypes.c_uint64 * MAX_WORDS)(*words)


def time_it(address: int, packed: Any, words: int, repetitions: int) -> float:
    """Seconds that ``repetitions`` calls of the code at ``address`` take, measured in one native loop."""
    return _driver_function()(address, packed, words, repetitions)
