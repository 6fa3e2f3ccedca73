"""Loops over lanes beside plain C, gcc and clang with -O3 -march=native -ffast-math at 256 bits and, where the CPU has them, 512: time to the fastest's.

python -m benchmarks.lanes [--quick]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import measure, native, report
from loopwright.runtime import cpu

FLAGS = ["-O3", "-march=native", "-ffast-math"]


@dataclass
class Row:
    """A kernel, what it works on, and its C.

    Attributes:
        kernel: the plain function.
        arrays: its arguments for a size, reproducible.
        c: the body of ``void f(PARAMETERS, long n)``, in which the arrays have the names of the kernel's parameters.
        size: the size that is measured.
    """

    name: str
    kernel: Callable[..., Any]
    arrays: Callable[[int], list[Any]]
    c: str
    size: int = 4096


# --- memory ------------------------------------------------------------------------------------------------------


def every_second(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = x[2 * i]


def reverse(x: lw.Array, y: lw.Array):
    n = len(y)
    for i in lw.lanes(n):
        y[i] = x[n - 1 - i]


def gather(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = table[k[i]]


def scatter(k: lw.Array, x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(k)):
        y[k[i]] = x[i]


def to_planes(x: lw.Array, r: lw.Array, g: lw.Array, b: lw.Array):
    for i in lw.lanes(len(r)):
        r[i] = x[3 * i]
        g[i] = x[3 * i + 1]
        b[i] = x[3 * i + 2]


def from_planes(r: lw.Array, g: lw.Array, b: lw.Array, x: lw.Array):
    for i in lw.lanes(len(r)):
        x[3 * i] = r[i]
        x[3 * i + 1] = g[i]
        x[3 * i + 2] = b[i]


def to_gray(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = (lw.u16(x[3 * i]) * 77 + lw.u16(x[3 * i + 1]) * 150 + lw.u16(x[3 * i + 2]) * 29) >> 8


def lengths_of_pairs(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = lw.sqrt(x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1])


def search(x: lw.Array, key: lw.Array, at: lw.Array):
    found = lw.i64(-1)
    for i in lw.range(len(x)):
        if x[i] == key[0]:
            found = i
            break
    at[0] = found


def kept(x: lw.Array, limit: lw.Array, y: lw.Array, count: lw.Array):
    k = lw.i64(0)
    for i in lw.lanes(len(x)):
        v = x[i]
        if v < limit[0]:
            y[k] = v
            k += 1
    count[0] = k


def running(x: lw.Array, y: lw.Array):
    s = lw.i32(0)
    for i in lw.lanes(len(x)):
        s += x[i]
        y[i] = s


# --- totals ------------------------------------------------------------------------------------------------------


def sum_of(x: lw.Array, total: lw.Array):
    t = lw.i64(0)
    for i in lw.range(len(x)):
        t += x[i]
    total[0] = t


def distance(x: lw.Array, y: lw.Array, total: lw.Array):
    t = lw.i32(0)
    for i in lw.range(len(x)):
        t += abs(lw.i32(x[i]) - lw.i32(y[i]))
    total[0] = t


def count_of_seven(x: lw.Array, total: lw.Array):
    t = lw.i64(0)
    for i in lw.range(len(x)):
        if x[i] == 7:
            t += 1
    total[0] = t


def dot(x: lw.Array, y: lw.Array, total: lw.Array):
    t = lw.i32(0)
    for i in lw.range(len(x)):
        t += lw.i32(x[i]) * lw.i32(y[i])
    total[0] = t


# --- tables ------------------------------------------------------------------------------------------------------

GAMMA = ((np.arange(256) / 255.0) ** 2.2 * 255).astype(np.uint8)
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
LEVELS = (np.arange(16) ** 1.5).astype(np.float32)


def by_gamma(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = GAMMA[x[i]]


def by_digits(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = DIGITS[x[i] & 15]


def by_levels(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = LEVELS[x[i] & 15]


def table_in_c(type_: str, values: Any) -> str:
    return f"static const {type_} table[] = {{{', '.join(map(str, values.tolist()))}}};\n    "


def shorts(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).integers(-3000, 3000, count).astype(np.int16)


def bytes_(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8)


def floats(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).random(count, np.float32)


def places(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).integers(0, count, count).astype(np.int32)


def sought(dtype: Any, count: int) -> list[Any]:
    """Elements with one that is looked for at the end, that one, and room for its index."""
    x = np.arange(count).astype(np.uint8) % 100
    x[-1] = 200
    return [x.astype(dtype), np.array([200], dtype), np.zeros(1, np.int64)]


def percent(dtype: Any, share: int, count: int) -> list[Any]:
    """Elements of which so many in a hundred are below a limit, that, and room for them and for how many they are."""
    x = np.random.default_rng(share).integers(0, 100, count).astype(dtype)
    return [x, np.array([share], dtype), np.zeros(count, dtype), np.zeros(1, np.int64)]


def _filters() -> list[Row]:
    c = "long k = 0; for (long i = 0; i < n; i++) if (x[i] < limit[0]) y[k++] = x[i]; count[0] = k;"
    return [
        Row(f"{name}, {share} % kept", kept, lambda n, dtype=dtype, share=share: percent(dtype, share, n), c)
        for name, dtype in (("f32", np.float32), ("i64", np.int64))
        for share in (1, 50, 99)
    ]


_SEARCH = "long found = -1; for (long i = 0; i < n; i++) if (x[i] == key[0]) { found = i; break; } at[0] = found;"
_PIXELS = "for (long i = 0; i < n; i++) "
ROWS: list[Row] = [
    Row("f32, every second", every_second, lambda n: [floats(1, 2 * n), np.empty(n, np.float32)], _PIXELS + "y[i] = x[2 * i];"),
    Row("f32, reversed", reverse, lambda n: [floats(1, n), np.empty(n, np.float32)], _PIXELS + "y[i] = x[n - 1 - i];"),
    Row("u8, reversed", reverse, lambda n: [bytes_(1, n), np.empty(n, np.uint8)], _PIXELS + "y[i] = x[n - 1 - i];", 16384),
    Row("f32, gathered", gather, lambda n: [floats(1, n), places(2, n), np.empty(n, np.float32)], _PIXELS + "y[i] = table[k[i]];"),
    Row("f32, scattered", scatter, lambda n: [places(2, n), floats(1, n), np.zeros(n, np.float32)], _PIXELS + "y[k[i]] = x[i];"),
    Row(
        "u8, RGB to planes",
        to_planes,
        lambda n: [bytes_(1, 3 * n), *[np.empty(n, np.uint8) for _ in range(3)]],
        _PIXELS + "{ r[i] = x[3 * i]; g[i] = x[3 * i + 1]; b[i] = x[3 * i + 2]; }",
    ),
    Row(
        "u8, planes to RGB",
        from_planes,
        lambda n: [*[bytes_(k, n) for k in range(3)], np.empty(3 * n, np.uint8)],
        _PIXELS + "{ x[3 * i] = r[i]; x[3 * i + 1] = g[i]; x[3 * i + 2] = b[i]; }",
    ),
    Row(
        "u8, RGB to gray",
        to_gray,
        lambda n: [bytes_(1, 3 * n), np.empty(n, np.uint8)],
        _PIXELS + "y[i] = (uint16_t)(x[3 * i] * 77 + x[3 * i + 1] * 150 + x[3 * i + 2] * 29) >> 8;",
    ),
    Row("u8, search", search, lambda n: sought(np.uint8, n), _SEARCH),
    Row("f32, search", search, lambda n: sought(np.float32, n), _SEARCH),
    *_filters(),
    Row("i32, running sum", running, lambda n: [places(2, n), np.empty(n, np.int32)], "int s = 0; for (long i = 0; i < n; i++) y[i] = s += x[i];"),
    Row(
        "f32, lengths of pairs",
        lengths_of_pairs,
        lambda n: [floats(1, 2 * n), np.empty(n, np.float32)],
        _PIXELS + "y[i] = sqrtf(x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1]);",
    ),
    Row(
        "u8, table of 256",
        by_gamma,
        lambda n: [bytes_(1, n), np.zeros(n, np.uint8)],
        table_in_c("uint8_t", GAMMA) + _PIXELS + "y[i] = table[x[i]];",
        16384,
    ),
    Row(
        "u8, table of 16",
        by_digits,
        lambda n: [bytes_(1, n), np.zeros(n, np.uint8)],
        table_in_c("uint8_t", DIGITS) + _PIXELS + "y[i] = table[x[i] & 15];",
        16384,
    ),
    Row(
        "f32, table of 16",
        by_levels,
        lambda n: [places(1, n), np.zeros(n, np.float32)],
        table_in_c("float", LEVELS) + _PIXELS + "y[i] = table[x[i] & 15];",
    ),
    Row(
        "u8, sum to i64",
        sum_of,
        lambda n: [bytes_(1, n), np.zeros(1, np.int64)],
        "int64_t t = 0; " + _PIXELS + "t += x[i]; total[0] = t;",
        16384,
    ),
    Row(
        "i16, sum to i64",
        sum_of,
        lambda n: [shorts(1, n), np.zeros(1, np.int64)],
        "int64_t t = 0; " + _PIXELS + "t += x[i]; total[0] = t;",
        8192,
    ),
    Row(
        "u8, sum of absolute differences",
        distance,
        lambda n: [bytes_(1, n), bytes_(2, n), np.zeros(1, np.int32)],
        "int32_t t = 0; " + _PIXELS + "t += abs((int32_t)x[i] - (int32_t)y[i]); total[0] = t;",
        16384,
    ),
    Row(
        "u8, count of a value",
        count_of_seven,
        lambda n: [bytes_(1, n), np.zeros(1, np.int64)],
        "int64_t t = 0; " + _PIXELS + "if (x[i] == 7) t++; total[0] = t;",
        16384,
    ),
    Row(
        "f32, count of a value",
        count_of_seven,
        lambda n: [bytes_(1, n).astype(np.float32), np.zeros(1, np.int64)],
        "int64_t t = 0; " + _PIXELS + "if (x[i] == 7.0f) t++; total[0] = t;",
        4096,
    ),
    Row(
        "i16, dot product to i32",
        dot,
        lambda n: [shorts(1, n), shorts(2, n), np.zeros(1, np.int32)],
        "int32_t t = 0; " + _PIXELS + "t += (int32_t)x[i] * (int32_t)y[i]; total[0] = t;",
        8192,
    ),
    Row(
        "i8, dot product to i32",
        dot,
        lambda n: [bytes_(1, n).view(np.int8), bytes_(2, n).view(np.int8), np.zeros(1, np.int32)],
        "int32_t t = 0; " + _PIXELS + "t += (int32_t)x[i] * (int32_t)y[i]; total[0] = t;",
        8192,
    ),
]


# --- measuring ---------------------------------------------------------------------------------------------------

_C_TYPES = {
    "f4": "float",
    "f8": "double",
    "u1": "uint8_t",
    "i1": "int8_t",
    "i2": "int16_t",
    "u2": "uint16_t",
    "i4": "int32_t",
    "u4": "uint32_t",
    "i8": "int64_t",
}


def parameters(row: Row) -> list[str]:
    """The names of the kernel's parameters."""
    code = row.kernel.__code__
    return list(code.co_varnames[: code.co_argcount])


def peers(row: Row, arrays: list[Any], missing: dict[str, str]) -> dict[str, int]:
    """Addresses of the C by each compiler and width."""
    given = ", ".join(f"{_C_TYPES[a.dtype.str[1:]]} *restrict {name}" for name, a in zip(parameters(row), arrays, strict=True))
    source = f"#include <stdint.h>\n#include <stdlib.h>\n#include <math.h>\nvoid f({given}, long n)\n{{\n    {row.c}\n}}\n"
    found: dict[str, int] = {}
    for compiler in ("gcc", "clang"):
        for bits in (256, 512) if "avx512f" in cpu.host_features() else (256,):
            try:
                library = native.build_c(source, [*FLAGS, f"-mprefer-vector-width={bits}"], compiler)
            except native.NoCompilerError as error:
                missing[compiler] = str(error)
                continue
            _keep.append(library)
            found[f"{compiler} {bits}"] = native.address_of(library.f)
    return found


_keep: list[Any] = []


def words(arrays: list[Any]) -> list[int]:
    """Arguments of our code: each array's address and length."""
    return [word for a in arrays for word in (int(a.ctypes.data), len(a))]


def sampler(address: int, given: list[int], seconds: float) -> Callable[[], float]:
    """Seconds of a call, of as many in a row as take about so long."""
    packed, count = native.pack(given), len(given)
    once = min(native.time_it(address, packed, count, 10) for _ in range(5)) / 10
    repetitions = max(1, int(seconds / max(once, 1e-9)))
    return lambda: native.time_it(address, packed, count, repetitions) / repetitions


def run(quick: bool) -> report.Result:
    """Measure every kernel in turns with its peers."""
    result = report.Result("lanes")
    table = report.Table(
        "Loops over lanes, nanoseconds a call (least), and time to the fastest peer's", ["kernel", "size", "loopwright", "peer", "fastest peer", "ratio"]
    )
    missing: dict[str, str] = {}
    ratios: dict[str, float] = {}
    for row in ROWS:
        arrays = row.arrays(row.size)
        expected = [a.copy() for a in arrays]
        with np.errstate(over="ignore"):
            row.kernel(*expected)
        code = lw.kernel(row.kernel).compile(*[lw.Array[getattr(lw, _short(a)), 1] for a in arrays])
        code(*arrays)
        if not all(np.allclose(a, b) for a, b in zip(arrays, expected, strict=True)):
            result.notes.append(f"{row.name}: another result")
        pointers = [int(a.ctypes.data) for a in arrays]
        seconds = 0.0005 if quick else 0.003
        candidates = {"loopwright": sampler(int(code.address), words(arrays), seconds)}
        for name, address in peers(row, arrays, missing).items():
            candidates[name] = sampler(address, [*pointers, row.size], seconds)
        samples = measure.interleave(candidates, 5 if quick else 25)
        least = {name: min(values) * 1e9 for name, values in samples.items()}
        others = [name for name in least if name != "loopwright"]
        cells = [row.name, str(row.size), f"{least['loopwright']:.0f}"]
        if others:
            fastest = min(others, key=lambda name: least[name])
            ratios[row.name] = least["loopwright"] / least[fastest]
            cells += [fastest, f"{least[fastest]:.0f}", f"{ratios[row.name]:.2f}"]
        table.rows.append([*cells, *[""] * (6 - len(cells))])
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        worst = max(ratios, key=lambda name: ratios[name])
        result.notes.append(f"{mean:.2f} x the fastest peer's time in the geometric mean of {len(ratios)}; at worst {ratios[worst]:.2f} x, {worst}")
        result.verdicts.append(report.Verdict("loops over lanes: time to the fastest peer's, at worst", ratios[worst], 1.0, goal=True))
    result.notes += [f"{name}: {why}" for name, why in missing.items()]
    result.tables.append(table)
    return result


def _short(array: Any) -> str:
    return f"{array.dtype.kind}{8 * array.dtype.itemsize}"


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
