"""How fast are nests of plain loops, as one writes them? Beside the same loops by gcc, clang and Numba; products beside OpenBLAS.

python -m benchmarks.nests [--quick]
"""

from __future__ import annotations

import ctypes
import math
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import measure, native, report

FLAGS = ["-O3", "-march=native", "-ffast-math"]


@dataclass
class Nest:
    """The same loops as Python and as C; ``judged``: how many times as fast as the fastest compiler the code is to be; ``compared``: size to compare results."""

    name: str
    python: str
    c: str
    arguments: Callable[[int], list[Any]]
    size: int
    judged: float | None = None
    compared: int = 37


def _one(dtype: Any) -> Callable[[int], list[Any]]:
    return lambda n: [(np.random.default_rng(0).random((n, n)) + 0.5).astype(dtype)]


def _two(dtype: Any) -> Callable[[int], list[Any]]:
    return lambda n: [(np.random.default_rng(k).random((n, n)) + 0.5).astype(dtype) for k in range(2)]


def _steps(rank: int) -> Callable[[int], list[Any]]:
    """As many steps as the first argument has elements, and two arrays."""
    return lambda n: [np.zeros(20), *[np.random.default_rng(k).random((n,) * rank) for k in range(2)]]


def _product(dtype: Any) -> Callable[[int], list[Any]]:
    return lambda n: [np.random.default_rng(k).random((n, n)).astype(dtype) for k in range(3)]


def _cube(n: int) -> list[Any]:
    return [np.random.default_rng(0).random((n, n, n)) + 0.5]


def _waves(body: str, c: str, first: str = "1", last: str = "n") -> tuple[str, str]:
    python = f"def nest(a):\n    n = a.shape[0]\n    for i in range(1, {last}):\n        for j in range({first}, {last}):\n            {body}\n"
    return python, f"void nest(double *a, long n) {{ for (long i = 1; i < {last}; i++) for (long j = {first}; j < {last}; j++) {c} }}"


_PRODUCT = """def nest(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = ZERO
            for k in range(b.shape[0]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
"""
_PRODUCT_C = (
    "void nest(T *restrict a, T *restrict b, T *restrict c, long n) { for (long i = 0; i < n; i++) for (long j = 0; j < n; j++)"
    " { T s = 0; for (long k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; } }"
)
_SEIDEL = """def nest(a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * QUARTER
"""
_SEIDEL_C = (
    "void nest(T *a, long n) { for (long i = 1; i < n - 1; i++) for (long j = 1; j < n - 1; j++)"
    " a[i * n + j] = (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]) * (T)0.25; }"
)
_FILTER = """def nest(x, y):
    for i in range(y.shape[0]):
        for j in range(2, y.shape[1]):
            y[i, j] = FIFTH * x[i, j] + THIRD * y[i, j - 1] + TENTH * y[i, j - 2]
"""
_FILTER_C = (
    "void nest(float *restrict x, float *restrict y, long n) { for (long i = 0; i < n; i++) for (long j = 2; j < n; j++)"
    " y[i * n + j] = 0.2f * x[i * n + j] + 0.3f * y[i * n + j - 1] + 0.1f * y[i * n + j - 2]; }"
)
_JACOBI = """def nest(x, y):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) * QUARTER
"""
_JACOBI_C = (
    "void nest(double *restrict x, double *restrict y, long n) { for (long i = 1; i < n - 1; i++) for (long j = 1; j < n - 1; j++)"
    " y[i * n + j] = (x[(i - 1) * n + j] + x[(i + 1) * n + j] + x[i * n + j - 1] + x[i * n + j + 1]) * 0.25; }"
)
_LINE_BACK = ["a[i] = b[i]", "a[i] = (b[i - 1] + b[i] + b[i + 1]) * THIRD"]
_PLANE_BACK = ["a[i, j] = b[i, j]", "a[i, j] = (b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]) * QUARTER"]
_PLANE_BACK_C = ["a[i * n + j] = b[i * n + j];", "a[i * n + j] = (b[(i - 1) * n + j] + b[(i + 1) * n + j] + b[i * n + j - 1] + b[i * n + j + 1]) * 0.25;"]


def _line(back: int) -> tuple[str, str]:
    """Jacobi's iteration in one dimension: 20 steps, each by way of another array or of a copy."""
    python = (
        "def nest(steps, a, b):\n    for t in range(steps.shape[0]):\n        for i in range(1, a.shape[0] - 1):\n            b[i] = (a[i - 1] + a[i] + a[i + 1]) * THIRD\n"
        f"        for i in range(1, a.shape[0] - 1):\n            {_LINE_BACK[back]}\n"
    )
    c = (
        "void nest(void *steps, double *restrict a, double *restrict b, long n) { for (long t = 0; t < 20; t++) {"
        " for (long i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3;"
        f" for (long i = 1; i < n - 1; i++) {_LINE_BACK[back].replace('THIRD', '0.3')}; }} }}"
    )
    return python, c


def _plane(back: int) -> tuple[str, str]:
    """The same in two dimensions."""
    loops = "        for i in range(1, a.shape[0] - 1):\n            for j in range(1, a.shape[1] - 1):\n                "
    loops_c = " for (long i = 1; i < n - 1; i++) for (long j = 1; j < n - 1; j++) "
    python = (
        f"def nest(steps, a, b):\n    for t in range(steps.shape[0]):\n{loops}b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * QUARTER\n"
        f"{loops}{_PLANE_BACK[back]}\n"
    )
    c = (
        f"void nest(void *steps, double *restrict a, double *restrict b, long n) {{ for (long t = 0; t < 20; t++) {{{loops_c}"
        f"b[i * n + j] = (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]) * 0.25;{loops_c}{_PLANE_BACK_C[back]} }} }}"
    )
    return python, c


_COLUMNS = """def nest(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[0, j] = y[0, j] * HALF + x[i, j]
"""
_COLUMNS_C = (
    "void nest(double *restrict x, double *restrict y, long n) { for (long i = 0; i < n; i++) for (long j = 0; j < n; j++) y[j] = y[j] * 0.5 + x[i * n + j]; }"
)
_EDIT = """def nest(x, y, t):
    for i in range(1, t.shape[0]):
        for j in range(1, t.shape[1]):
            cost = least(t[i - 1, j], t[i, j - 1]) + 1
            same = t[i - 1, j - 1]
            if x[i - 1] != y[j - 1]:
                same = same + 1
            t[i, j] = least(cost, same)
"""
_EDIT_C = (
    "void nest(unsigned char *restrict x, unsigned char *restrict y, int *restrict t, long n) { for (long i = 1; i < n; i++) for (long j = 1; j < n; j++) {"
    " int p = t[(i - 1) * n + j], q = t[i * n + j - 1]; int cost = (p < q ? p : q) + 1, same = t[(i - 1) * n + j - 1] + (x[i - 1] != y[j - 1]);"
    " t[i * n + j] = cost < same ? cost : same; } }"
)
_SIX = """def nest(a):
    for k in range(2, a.shape[0]):
        for i in range(2, a.shape[1]):
            for j in range(a.shape[2] - 1):
                a[k, i, j] = sqrt(a[k, i - 2, j + 1] * a[k - 2, i, j + 1])
"""
_SIX_C = (
    "void nest(double *a, long n) { for (long k = 2; k < n; k++) for (long i = 2; i < n; i++) for (long j = 0; j < n - 1; j++)"
    " a[(k * n + i) * n + j] = sqrt(a[(k * n + i - 2) * n + j + 1] * a[((k - 2) * n + i) * n + j + 1]); }"
)
_SEVEN = """def nest(a):
    for k in range(1, a.shape[0]):
        for i in range(a.shape[1] - 1):
            for j in range(a.shape[2]):
                a[k, i, j] = sqrt(a[k - 1, i + 1, j])
"""
_SEVEN_C = (
    "void nest(double *a, long n) { for (long k = 1; k < n; k++) for (long i = 0; i < n - 1; i++) for (long j = 0; j < n; j++)"
    " a[(k * n + i) * n + j] = sqrt(a[((k - 1) * n + i + 1) * n + j]); }"
)


_ONE_ROW = """def nest(x, y, row):
    for i in range(x.shape[0]):
        diagonal = row[0]
        row[0] = row[0] + 1
        for j in range(1, row.shape[0]):
            above = row[j]
            cost = diagonal
            if x[i] != y[j - 1]:
                cost = cost + 1
            row[j] = least(least(above, row[j - 1]) + 1, cost)
            diagonal = above
"""
_ONE_ROW_C = (
    "void nest(unsigned char *restrict x, unsigned char *restrict y, int *restrict row, long n) { for (long i = 0; i < n - 1; i++) {"
    " int diagonal = row[0]; row[0] += 1; for (long j = 1; j < n; j++) { int above = row[j], left = row[j - 1];"
    " int cost = diagonal + (x[i] != y[j - 1]), other = (above < left ? above : left) + 1;"
    " row[j] = other < cost ? other : cost; diagonal = above; } } }"
)
_SUBSEQUENCE = """def nest(x, y, row):
    for i in range(x.shape[0]):
        diagonal = row[0]
        for j in range(1, row.shape[0]):
            above = row[j]
            if x[i] == y[j - 1]:
                row[j] = diagonal + 1
            else:
                row[j] = most(above, row[j - 1])
            diagonal = above
"""
_SUBSEQUENCE_C = (
    "void nest(unsigned char *restrict x, unsigned char *restrict y, int *restrict row, long n) { for (long i = 0; i < n - 1; i++) {"
    " int diagonal = row[0]; for (long j = 1; j < n; j++) { int above = row[j], left = row[j - 1];"
    " row[j] = x[i] == y[j - 1] ? diagonal + 1 : above > left ? above : left; diagonal = above; } } }"
)


def _words(rising: int) -> Callable[[int], list[Any]]:
    def made(n: int) -> list[Any]:
        rng = np.random.default_rng(0)
        return [*[rng.integers(0, 4, n - 1).astype(np.uint8) for _ in range(2)], np.arange(n, dtype=np.int32) * rising]

    return made


def _edit(n: int) -> list[Any]:
    rng = np.random.default_rng(0)
    t = np.zeros((n, n), np.int32)
    t[0] = t[:, 0] = np.arange(n)
    return [rng.integers(0, 4, n).astype(np.uint8), rng.integers(0, 4, n).astype(np.uint8), t]


def _flat(t: str, source: str) -> str:
    return source.replace("T ", f"{t} ").replace("(T)", f"({t})")


NESTS = [
    Nest("example 2", *_waves("a[i, j] = sqrt(a[i, j - 1])", "a[i * n + j] = sqrt(a[i * n + j - 1]);"), _one(np.float64), 2000),
    Nest("example 3", *_waves("a[i, j] = sqrt(a[i - 1, j])", "a[i * n + j] = sqrt(a[(i - 1) * n + j]);"), _one(np.float64), 2000),
    Nest(
        "example 4",
        *_waves("a[i, j] = sqrt(a[i, j - 1] * a[i - 1, j])", "a[i * n + j] = sqrt(a[i * n + j - 1] * a[(i - 1) * n + j]);"),
        _one(np.float64),
        2000,
        7,
    ),
    Nest(
        "example 5",
        *_waves("a[i, j] = sqrt(a[i, j - 1] * a[i - 1, j + 1])", "a[i * n + j] = sqrt(a[i * n + j - 1] * a[(i - 1) * n + j + 1]);", last="n - 1"),
        _one(np.float64),
        2000,
        7,
    ),
    Nest("example 6", _SIX, _SIX_C, _cube, 160, 0.95),
    Nest("example 7", _SEVEN, _SEVEN_C, _cube, 160, 0.95),
    Nest("Gauss-Seidel f64", _SEIDEL, _flat("double", _SEIDEL_C), _one(np.float64), 2000, 3),
    Nest("Gauss-Seidel f32", _SEIDEL, _flat("float", _SEIDEL_C), _one(np.float32), 2000, 3),
    Nest("edit distance", _EDIT, _EDIT_C, _edit, 2000, 4),
    Nest("edit distance of 20,000 bytes", _ONE_ROW, _ONE_ROW_C, _words(1), 20_001, 4),
    Nest("longest common subsequence of 20,000 bytes", _SUBSEQUENCE, _SUBSEQUENCE_C, _words(0), 20_001, 4),
    Nest("recursive filter f32", _FILTER, _FILTER_C, _two(np.float32), 2000, 3),
    Nest("Jacobi, one step", _JACOBI, _JACOBI_C, _two(np.float64), 1000),
    Nest("Jacobi, 20 steps and copies, 1-D", *_line(0), _steps(1), 3_000_000, 2, 200_000),
    Nest("Jacobi, 20 double steps, 1-D", *_line(1), _steps(1), 3_000_000, 2, 200_000),
    Nest("Jacobi, 20 steps and copies, 2-D", *_plane(0), _steps(2), 2000, 2, 400),
    Nest("Jacobi, 20 double steps, 2-D", *_plane(1), _steps(2), 4000, 2, 400),
    Nest("decaying sums of columns", _COLUMNS, _COLUMNS_C, _two(np.float64), 1000),
    *[Nest(f"product {t} {n}", _PRODUCT, _flat({"f32": "float", "f64": "double"}[t], _PRODUCT_C), _product(d), n, 3)
      for t, d in (("f32", np.float32), ("f64", np.float64)) for n in (64, 128, 256, 512)],
]  # fmt: skip


def _names(dtype: Any, sqrt: Any, least: Any, most: Any) -> dict[str, Any]:
    kind = dtype.type if dtype.kind == "f" else float
    numbers = {"QUARTER": 0.25, "FIFTH": 0.2, "THIRD": 0.3, "TENTH": 0.1, "HALF": 0.5, "ZERO": 0.0}
    return {"sqrt": sqrt, "least": least, "most": most, **{name: kind(value) for name, value in numbers.items()}}


def _candidates(nest: Nest, missing: dict[str, str]) -> dict[str, Callable[..., Any]]:
    """Every way to run a nest, as functions of its arguments."""
    dtype = nest.arguments(4)[-1].dtype
    found: dict[str, Callable[..., Any]] = {}
    for name, how in (("loopwright", "fast"), ("as written", "off")):
        space = _names(dtype, lw.sqrt, lw.min, lw.max)
        exec(nest.python, space)  # noqa: S102 (the loops above)
        function = space["nest"]
        function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
        found[name] = lw.kernel(source=nest.python, nests=how)(function)
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            missing[compiler] = f"{compiler} is not installed"
            continue
        library = native.build_c("#include <math.h>\n" + nest.c, FLAGS, compiler)
        found[compiler] = _by_address(library.nest)
    try:
        import numba
    except ImportError as error:
        missing["numba"] = str(error)
    else:
        space = _names(dtype, math.sqrt, min, max)
        exec(nest.python, space)  # noqa: S102 (the loops above)
        found["numba"] = numba.njit(fastmath=True)(space["nest"])
    if nest.name.startswith("product"):
        found["OpenBLAS"] = lambda a, b, c: np.matmul(a, b, out=c)
    return found


def _by_address(function: Any) -> Callable[..., Any]:
    function.restype = None

    def call(*arrays: Any) -> None:
        function(*[ctypes.c_void_p(a.ctypes.data) for a in arrays], ctypes.c_long(arrays[-1].shape[0]))

    return call


def _sample(function: Callable[..., Any], nest: Nest, size: int) -> Callable[[], float]:
    given = nest.arguments(size)
    work = [a.copy() for a in given]

    def once() -> float:
        for a, b in zip(work, given, strict=True):
            a[...] = b
        start = time.perf_counter()
        function(*work)
        return time.perf_counter() - start

    return once


def _agree(nest: Nest, candidates: dict[str, Callable[..., Any]]) -> list[str]:
    """Which candidates give another result than the nest as written."""
    results = {}
    for name, function in candidates.items():
        work = nest.arguments(nest.compared)
        function(*work)
        results[name] = work[-1]
    # (Products by others add in another order.)
    return [name for name, result in results.items() if not np.allclose(result, results["as written"], rtol=1e-4)]


def run(quick: bool) -> report.Result:
    """Measure every nest in turns with its peers."""
    result = report.Result("nests")
    table = report.Table(
        "Nests of plain loops, milliseconds (median), and how many times as fast as the fastest compiler",
        ["nest", "size", "loopwright", "as written", "gcc", "clang", "numba", "OpenBLAS", "to compilers", "to OpenBLAS"],
    )
    missing: dict[str, str] = {}
    with _one_thread(result):
        for nest in NESTS:
            size = min(nest.size, 60) if quick else nest.size
            candidates = _candidates(nest, missing)
            wrong = _agree(nest, candidates)
            if wrong:
                result.notes.append(f"{nest.name}: another result by {', '.join(wrong)}")
            samples = measure.interleave({name: _sample(function, nest, size) for name, function in candidates.items()}, 3 if quick else 9)
            median = {name: measure.median(values) * 1e3 for name, values in samples.items()}
            peers = [name for name in ("gcc", "clang", "numba") if name in median]
            fastest = min(peers, key=lambda name: median[name]) if peers else ""
            gain = measure.ratio(samples, fastest, "loopwright") if fastest else None
            blas = measure.ratio(samples, "OpenBLAS", "loopwright") if "OpenBLAS" in median else None
            cells = [f"{median[name]:.3f}" if name in median else "" for name in table.columns[2:8]]
            table.rows.append([nest.name, str(size), *cells, "" if gain is None else f"{gain:.2f}", "" if blas is None else f"{blas:.2f}"])
            if nest.judged is not None and gain is not None:
                result.verdicts.append(report.Verdict(f"{nest.name}: time to the fastest compiler's", 1 / gain, 1 / nest.judged, goal=True))
            if blas is not None:
                result.verdicts.append(report.Verdict(f"{nest.name}: time to OpenBLAS's, one thread", 1 / blas, 1 / 0.8, goal=True))
    result.notes += [f"{name}: {why}" for name, why in missing.items()]
    result.tables.append(table)
    return result


def _one_thread(result: report.Result) -> Any:
    """Keeps OpenBLAS to one thread, where threadpoolctl is there to tell it so."""
    from contextlib import nullcontext

    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        result.notes.append("OpenBLAS uses all cores: threadpoolctl is not installed")
        return nullcontext()
    return threadpool_limits(1)


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
