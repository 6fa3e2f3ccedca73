"""Loops of C in lanes: the code of ``loopwright cc`` beside clang -O3 and gcc -O3 for the same machine, in turns within one run.

Every loop is a function of its own, called through pointers as a library's would be. Float totals may be summed in any order on all sides (``-ffast-math`` where a loop
says so). What each gives is compared with clang -O0 first.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

import loopwright as lw
from benchmarks import measure, native, report
from loopwright.cc import clang

__all__ = ["LOOPS", "run"]

_HEAD: Final = "#include <stdint.h>\n#include <stddef.h>\n"
_DTYPES: Final = {"f": np.float32, "d": np.float64, "i": np.int32, "b": np.uint8, "h": np.int16, "l": np.int64}

#: Name, arrays behind the length, body, whether floats are summed in any order.
LOOPS: Final[tuple[tuple[str, str, str, str, bool], ...]] = (
    ("saxpy", "const float *restrict x, float *restrict y", "ff", "for (long i = 0; i < n; i++) y[i] = 2.5f * x[i] + y[i];", False),
    ("saxpy, may overlap", "const float *x, float *y", "ff", "for (int i = 0; i < (int)n; i++) y[i] = 2.5f * x[i] + y[i];", False),
    ("dot", "const float *x, const float *y, float *r", "fff", "float s = 0; for (int i = 0; i < (int)n; i++) s += x[i] * y[i]; *r = s;", True),
    ("dot, f64", "const double *x, const double *y, double *r", "ddd", "double s = 0; for (long i = 0; i < n; i++) s += x[i] * y[i]; *r = s;", True),
    ("total of bytes", "const uint8_t *x, uint32_t *r", "bi", "uint32_t s = 0; for (long i = 0; i < n; i++) s += x[i]; *r = s;", False),
    ("total of i32", "const int32_t *x, int32_t *r", "ii", "int32_t s = 0; for (long i = 0; i < n; i++) s += x[i]; *r = s;", False),
    ("dot of i16", "const int16_t *x, const int16_t *y, int32_t *r", "hhi", "int32_t s = 0; for (long i = 0; i < n; i++) s += x[i] * y[i]; *r = s;", False),
    ("largest", "const int32_t *x, int32_t *r", "ii", "int32_t s = x[0]; for (long i = 1; i < n; i++) if (x[i] > s) s = x[i]; *r = s;", False),
    ("blur", "const float *restrict x, float *restrict y", "ff", "for (long i = 1; i < n - 1; i++) y[i] = (x[i - 1] + 2 * x[i] + x[i + 1]) * 0.25f;", False),
    ("blur of bytes", "const uint8_t *restrict x, uint8_t *restrict y", "bb", "for (long i = 1; i < n - 1; i++) y[i] = (x[i - 1] + 2 * x[i] + x[i + 1] + 2) >> 2;", False),
    ("look-up", "const int32_t *restrict x, float *restrict y, const float *restrict t", "iff", "for (long i = 0; i < n; i++) y[i] = t[x[i] & 255];", False),
    ("look-up of bytes", "const uint8_t *restrict x, uint8_t *restrict y, const uint8_t *restrict t", "bbb", "for (long i = 0; i < n; i++) y[i] = t[x[i]];", False),
    ("under a condition", "const float *restrict x, float *restrict y", "ff", "for (long i = 0; i < n; i++) if (x[i] > 0) y[i] = x[i] * y[i];", False),
    ("clamped", "const int32_t *restrict x, int32_t *restrict y", "ii", "for (long i = 0; i < n; i++) { int32_t v = x[i]; y[i] = v < 0 ? 0 : v > 50 ? 50 : v; }", False),
    ("counted", "const int32_t *x, int32_t *r", "ii", "int32_t k = 0; for (long i = 0; i < n; i++) if (x[i] > 3) k++; *r = k;", False),
    ("bytes to floats", "const uint8_t *restrict x, float *restrict y", "bf", "for (long i = 0; i < n; i++) y[i] = x[i] * (1.0f / 255);", False),
    ("exclusive or", "const uint8_t *x, uint8_t *y", "bb", "for (long i = 0; i < n; i++) y[i] ^= x[i];", False),
    ("opposite", "const float *restrict x, float *restrict y", "ff", "for (long i = 0; i < n; i++) y[i] = x[n - 1 - i];", False),
    ("by pointers", "const double *x, double *y", "dd", "const double *e = x + n; while (x != e) *y++ = *x++ + 1;", False),
    ("rows of a matrix", "const float *restrict x, float *restrict y", "ff", "for (int i = 0; i < (int)(n / 100); i++) for (int j = 0; j < 100; j++) y[i * 100 + j] += x[i * 100 + j];", False),
    ("complex products", "const float *restrict x, float *restrict y", "ff", "for (long i = 0; i < n / 2; i++) { float a = x[2 * i], b = x[2 * i + 1], c = y[2 * i], d = y[2 * i + 1]; y[2 * i] = a * c - b * d; y[2 * i + 1] = a * d + b * c; }", False),
    ("grey", "const uint8_t *restrict x, uint8_t *restrict y", "bb", "for (long i = 0; i < n / 3; i++) y[i] = (77 * x[3 * i] + 150 * x[3 * i + 1] + 29 * x[3 * i + 2]) >> 8;", False),
)  # fmt: skip


def _source(fast: bool) -> str:
    return _HEAD + "".join(
        [f"void loop{k}(long n, {parameters}) {{ {body} }}\n" for k, (_, parameters, _, body, any_order) in enumerate(LOOPS) if any_order is fast]
    )


def _library(compiler: str, options: list[str], folder: Path, name: str) -> dict[int, int]:
    """The addresses of the loops as a compiler makes them."""
    found: dict[int, int] = {}
    for fast in (False, True):
        file, made = folder / f"{name}{fast}.c", folder / f"{name}{fast}.so"
        file.write_text(_source(fast))
        words = [compiler, *options, *(["-ffast-math"] if fast else []), "-w", "-shared", "-fPIC", "-o", str(made), str(file)]
        subprocess.run(words, check=True, capture_output=True)
        library = ctypes.CDLL(str(made))
        _KEPT.append(library)
        for k, loop in enumerate(LOOPS):
            if loop[4] is fast:
                found[k] = ctypes.cast(getattr(library, f"loop{k}"), ctypes.c_void_p).value or 0
    return found


_KEPT: list[Any] = []


def _ours(folder: Path) -> tuple[dict[int, int], dict[int, bool]]:
    """The addresses of our code, and which of the loops have become lanes."""
    found: dict[int, int] = {}
    lanes: dict[int, bool] = {}
    for fast in (False, True):
        file = folder / f"ours{fast}.c"
        file.write_text(_source(fast))
        program = lw.from_llvm(clang.bitcode([file], clang.Options("2", False, ["-w", *(["-ffast-math"] if fast else [])]))).compile()
        _KEPT.append(program)
        for k, loop in enumerate(LOOPS):
            if loop[4] is fast:
                code = program[f"loop{k}"]
                found[k] = code.address
                lanes[k] = " lanes" in code.ir("counted")
    return found, lanes


def _arrays(kinds: str, n: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    found: list[np.ndarray[Any, Any]] = []
    for k, kind in enumerate(kinds):
        # (Each begins at another place of its page: a store is not to be taken for one that a load has to wait for.)
        apart = np.zeros((n + 2048) * 8 + 4096, np.uint8)
        start = -apart.ctypes.data % 4096 + 64 * (5 + 19 * k)
        count = n + 300
        size = np.dtype(_DTYPES[kind]).itemsize
        array = apart[start : start + count * size].view(_DTYPES[kind])
        array[...] = rng.integers(-40 if kind in "fdi" else 0, 90, count)
        found.append(array)
    return found


def _words(n: int, arrays: list[np.ndarray[Any, Any]]) -> list[int]:
    return [n, *[a.ctypes.data for a in arrays]]


def _sampler(address: int, n: int, kinds: str, repetitions: int) -> Any:
    arrays = _arrays(kinds, n)
    _KEPT.append(arrays)
    packed = native.pack(_words(n, arrays))

    def once() -> float:
        for a, b in zip(arrays, _arrays(kinds, n), strict=True):
            a[...] = b
        return native.time_it(address, packed, 1 + len(arrays), repetitions) / repetitions

    return once


def _same(address: int, reference: int, n: int, kinds: str) -> bool:
    ours, theirs = _arrays(kinds, n), _arrays(kinds, n)
    for where, arrays in ((address, ours), (reference, theirs)):
        words = _words(n, arrays)
        native.time_it(where, native.pack(words), len(words), 1)
    return all(np.allclose(a, b, rtol=1e-4) for a, b in zip(ours, theirs, strict=True))


def run(quick: bool) -> report.Result:
    """Measure every loop in turns with its peers."""
    result = report.Result("c_loops")
    n = 500 if quick else 4000
    table = report.Table(f"Loops of C over {n} elements, nanoseconds (median)", ["loop", "lanes", "loopwright", "clang -O3", "gcc -O3", "to clang", "to gcc"])
    peers = {"clang -O3": ["-O3", "-march=native"], "gcc -O3": ["-O3", "-march=native"]}
    gains: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, lanes = _ours(folder)
        reference = _library(clang.find(), ["-O0"], folder, "reference")
        addresses = {"loopwright": ours}
        for peer, options in peers.items():
            compiler = clang.find() if peer.startswith("clang") else shutil.which("gcc")
            if compiler:
                addresses[peer] = _library(compiler, options, folder, peer.split()[0])
        for k, (called, _, kinds, _, _) in enumerate(LOOPS):
            for size in (0, 1, 37, n):
                if size and not _same(ours[k], reference[k], size, kinds):
                    result.notes.append(f"{called}: another result at {size}")
            repetitions = 20 if quick else 400
            samples = measure.interleave({peer: _sampler(found[k], n, kinds, repetitions) for peer, found in addresses.items()}, 3 if quick else 9)
            median = {peer: measure.median(values) * 1e9 for peer, values in samples.items()}
            ratios = {peer: measure.ratio(samples, "loopwright", peer) for peer in peers if peer in samples}
            if "clang -O3" in ratios:
                gains[called] = ratios["clang -O3"]
            cells = [f"{median[peer]:.0f}" if peer in median else "" for peer in ("loopwright", *peers)]
            table.rows.append([called, "yes" if lanes[k] else "no", *cells, *[f"{ratios[peer]:.2f}" if peer in ratios else "" for peer in peers]])
    if gains:
        mean = math.exp(sum(math.log(gain) for gain in gains.values()) / len(gains))
        worst = max(gains, key=lambda loop: gains[loop])
        result.notes.append(f"{mean:.2f} x clang's time in the geometric mean of {len(gains)}; at worst {gains[worst]:.2f} x, {worst}")
        result.verdicts.append(report.Verdict("loops of C: time to clang -O3's, geometric mean", mean, 1.1))
        result.verdicts.append(report.Verdict("loops of C: time to clang -O3's, at worst", gains[worst], 1.1, goal=True))
    result.tables.append(table)
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
