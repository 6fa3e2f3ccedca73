"""Operations and what a user writes with them, each beside the peer that its figure names: gcc and clang with -O3 -march=native -ffast-math at 256 and 512 bits, Numba, unchecked code.

python -m benchmarks.operations [--quick]
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import lanes, measure, report

#: Rows of the benchmark of loops over lanes: name -> what the time is to be, as a share of the fastest compiled peer's.
OF_LANES = {
    "u8, table of 256": 0.5,
    "u8, sum of absolute differences": 1.0,
    "u8, count of a value": 1.0,
    "u8, sum to i64": 1.0,
    "u8, RGB to planes": 1.0,
    "u8, planes to RGB": 1.0,
    "u8, RGB to gray": 1.0,
    "u8, reversed": 1.0,
    "f32, reversed": 1.0,
    "f32, every second": 1.0,
    "f32, gathered": 1.0,
    **{f"{name}, {share} % kept": 0.33 for name in ("f32", "i64") for share in (1, 50, 99)},
}


def argmax(x: lw.Array, at: lw.Array):
    best = x[0]
    found = lw.i64(0)
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            found = i
    at[0] = found


def add_saturated(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(x)):
        z[i] = lw.add_saturated(x[i], y[i])


def product(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.lanes(len(x) // 2):
        a, b, c, d = x[2 * i], x[2 * i + 1], y[2 * i], y[2 * i + 1]
        z[2 * i] = a * c - b * d
        z[2 * i + 1] = a * d + b * c


_PRODUCT = """for (long i = 0; i < n / 2; i++) {
        z[2 * i] = x[2 * i] * y[2 * i] - x[2 * i + 1] * y[2 * i + 1];
        z[2 * i + 1] = x[2 * i] * y[2 * i + 1] + x[2 * i + 1] * y[2 * i];
    }"""
_ARGMAX = "float best = x[0]; long found = 0; for (long i = 0; i < n; i++) if (x[i] > best) { best = x[i]; found = i; } at[0] = found;"
_SATURATED = "for (long i = 0; i < n; i++) { int s = x[i] + y[i]; z[i] = s > 255 ? 255 : s; }"
#: Rows of this benchmark's own, with what they are to reach.
ROWS: list[tuple[lanes.Row, float]] = [
    (lanes.Row("f32, argmax", argmax, lambda n: [lanes.floats(1, n), np.zeros(1, np.int64)], _ARGMAX), 0.2),
    *[
        (lanes.Row(name, add_saturated, lambda n: [lanes.bytes_(1, n), lanes.bytes_(2, n), np.zeros(n, np.uint8)], _SATURATED, size), 0.5)
        # (Of 16384 bytes the three arrays are more than a first-level cache of 32 KiB holds.)
        for name, size in (("u8, saturating addition", 16384), ("u8, saturating addition, in L1", 8192))
    ],
    (lanes.Row("complex64, products", product, lambda n: [lanes.floats(1, n), lanes.floats(2, n), np.zeros(n, np.float32)], _PRODUCT), 1.0),
    *[(row, OF_LANES[row.name]) for row in lanes.ROWS if row.name in OF_LANES],
]


# --- beside Numba -------------------------------------------------------------------------------------------------


def nearest(points: lw.Array, centres: lw.Array, out: lw.Array):
    for i in range(points.shape[0]):
        best = points[0, 0] * 0 + 3e38
        at = 0
        for c in range(16):
            distance = points[0, 0] * 0
            for d in range(8):
                difference = points[i, d] - centres[c, d]
                distance += difference * difference
            if distance < best:
                best = distance
                at = c
        out[i] = at


def nearest_here(points: lw.Array[lw.f32, 2], centres: lw.Array[lw.f32, 2], out: lw.Array[lw.i32]):
    for i in lw.lanes(points.shape[0]):
        best = lw.f32(3e38)
        at = lw.i32(0)
        for c in lw.range(16):
            distance = lw.f32(0)
            for d in range(8):
                difference = points[i, d] - centres[c, d]
                distance += difference * difference
            if distance < best:
                best = distance
                at = lw.i32(c)
        out[i] = at


def blur(x: lw.Array, y: lw.Array):
    for r in range(x.shape[0]):
        for j in range(3, x.shape[1] - 3):
            y[r, j] = (x[r, j - 3] + 2 * x[r, j] + x[r, j + 3] + 2) >> 2


def blur_here(x: lw.Array[lw.u8, 2], y: lw.Array[lw.u8, 2]):
    for r in lw.range(x.shape[0]):
        for j in lw.lanes(3, x.shape[1] - 3):
            y[r, j] = (lw.u16(x[r, j - 3]) + 2 * lw.u16(x[r, j]) + lw.u16(x[r, j + 3]) + 2) >> 2


def blend(x: lw.Array, y: lw.Array, z: lw.Array, share: Any):
    for i in range(len(x)):
        z[i] = (x[i] * share + y[i] * (255 - share) + 128) >> 8


def blend_here(x: lw.Array[lw.u8], y: lw.Array[lw.u8], z: lw.Array[lw.u8], share: lw.u16):
    for i in lw.lanes(len(x)):
        z[i] = (lw.u16(x[i]) * share + lw.u16(y[i]) * (255 - share) + 128) >> 8


def grouped(keys: lw.Array, values: lw.Array, totals: lw.Array):
    for i in range(len(keys)):
        totals[keys[i]] += values[i]


def _numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).random(shape, np.float32)


def _bytes(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


@dataclass
class Task:
    """What is compared with Numba: the loop as each takes it, the arguments, and how far the results may be apart."""

    name: str
    plain: Callable[..., Any]
    ours: Callable[..., Any]
    arguments: Callable[[], list[Any]]
    fastmath: bool = False


TASKS = [
    Task("nearest centre, 16 of 8 coordinates", nearest, nearest_here, lambda: [_numbers(1, 4096, 8), _numbers(2, 16, 8), np.zeros(4096, np.int32)], True),
    Task("blur of interleaved u8 pixels", blur, blur_here, lambda: [_bytes(1, 200, 1200), np.zeros((200, 1200), np.uint8)]),
    Task("blending of u8 pixels", blend, blend_here, lambda: [_bytes(1, 120000), _bytes(2, 120000), np.zeros(120000, np.uint8), 77]),
    Task(
        "group-by into 16 sums of f32",
        grouped,
        grouped,
        lambda: [_bytes(1, 65536) & 15, _numbers(2, 65536), np.zeros(16, np.float32)],
        True,
    ),
]


def _caller(function: Callable[..., Any], arguments: list[Any], seconds: float) -> Callable[[], float]:
    """Seconds of a call from Python, of as many in a row as take about so long."""

    def timed(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            function(*arguments)
        return (time.perf_counter() - start) / count

    function(*arguments)
    count = max(1, int(seconds / max(min(timed(3) for _ in range(3)), 1e-7)))
    return lambda: timed(count)


def _beside_numba(quick: bool, result: report.Result) -> report.Table:
    table = report.Table("Tasks beside Numba, microseconds a call (least)", ["task", "loopwright", "Numba", "ratio", "wanted"])
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        result.notes.append("Numba is not installed")
        return table
    seconds = 0.001 if quick else 0.005
    for task in TASKS:
        mine, theirs = task.arguments(), task.arguments()
        candidates = {
            "loopwright": _caller(lw.kernel(task.ours, fastmath=task.fastmath), mine, seconds),
            "numba": _caller(numba.njit(task.plain, fastmath=True), theirs, seconds),
        }
        least = {name: min(values) * 1e6 for name, values in measure.interleave(candidates, 5 if quick else 15).items()}
        ratio = least["loopwright"] / least["numba"]
        table.rows.append([task.name, f"{least['loopwright']:.1f}", f"{least['numba']:.1f}", f"{ratio:.2f}", "0.50"])
    return table


def _checked(quick: bool) -> report.Table:
    table = report.Table("Checked mode, microseconds a call (least)", ["task", "checked", "unchecked", "ratio", "wanted"])
    seconds = 0.001 if quick else 0.005
    for task in TASKS:
        arguments = task.arguments()
        candidates = {
            name: _caller(lw.kernel(task.ours, fastmath=task.fastmath, check=name == "checked"), arguments, seconds) for name in ("checked", "unchecked")
        }
        least = {name: min(values) * 1e6 for name, values in measure.interleave(candidates, 5 if quick else 15).items()}
        table.rows.append([task.name, f"{least['checked']:.1f}", f"{least['unchecked']:.1f}", f"{least['checked'] / least['unchecked']:.2f}", "3.00"])
    return table


def run(quick: bool) -> report.Result:
    """Measure every row in turns with its peers."""
    result = report.Result("operations")
    table = report.Table(
        "Operations, nanoseconds a call (least), and time to the fastest compiled peer's", ["kernel", "size", "loopwright", "peer", "ratio", "wanted"]
    )
    missing: dict[str, str] = {}
    seconds = 0.0005 if quick else 0.002
    for row, wanted in ROWS:
        arrays = row.arrays(row.size)
        code = lw.kernel(row.kernel).compile(*[lw.Array[getattr(lw, f"{a.dtype.kind}{8 * a.dtype.itemsize}"), 1] for a in arrays])
        candidates = {"loopwright": lanes.sampler(int(code.address), lanes.words(arrays), seconds)}
        for name, address in lanes.peers(row, arrays, missing).items():
            candidates[name] = lanes.sampler(address, [*[int(a.ctypes.data) for a in arrays], row.size], seconds)
        least = {name: min(values) * 1e9 for name, values in measure.interleave(candidates, 5 if quick else 20).items()}
        others = [time for name, time in least.items() if name != "loopwright"]
        cells = [row.name, str(row.size), f"{least['loopwright']:.0f}"]
        if others:
            cells += [f"{min(others):.0f}", f"{least['loopwright'] / min(others):.2f}", f"{wanted:.2f}"]
        table.rows.append([*cells, *[""] * (6 - len(cells))])
    result.tables += [table, _beside_numba(quick, result), _checked(quick)]
    result.notes += [f"{name}: {why}" for name, why in missing.items()]
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
