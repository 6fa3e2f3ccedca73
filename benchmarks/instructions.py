"""How many instructions do the kernels for AArch64 run, beside clang -O3? Counted under QEMU, from a call to its return.

Both get the same functions with the same signatures. clang may reassociate (-ffast-math) where loopwright's meaning does too, in sums; elsewhere
NaN and signed zeros count for both. Sizes are odd: remainders are part of the figure.

python -m benchmarks.instructions [--quick]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import kernels, report
from benchmarks.cases import DEGREE_3, DEGREE_15
from loopwright.compiler import Compiled
from loopwright.demo import kernels as demo
from loopwright.runtime import emulate
from loopwright.targets.target import MachineCode

TARGET = "aarch64-neon"
MOST = 1.1

_PLANE, _VECTOR = lw.Array[lw.f32, 2], lw.Array[lw.f32]
_PRELUDE = "#include <stdint.h>\n#define restrict __restrict\nstatic inline float larger(float a, float b) { return b > a ? b : a; }\n"


@dataclass(slots=True)
class Case:
    """A kernel, its arguments, and the same function in C.

    Attributes:
        compiled: for AArch64.
        arguments: makes fresh ones for a number of elements.
        source: a C function named ``f``, with the signature of the compiled code: of each array the base, the extents, the outer strides in bytes.
        elements: how many in the quick and in the whole run.
        reassociates: the order of a sum is free.
    """

    name: str
    compiled: Any
    arguments: Callable[[int], list[Any]]
    source: str
    elements: tuple[int, ...]
    reassociates: bool = False


def _horner(coefficients: tuple[float, ...]) -> str:
    text = f"{coefficients[-1]!r}f"
    for c in reversed(coefficients[:-1]):
        text = f"({text}) * v + {c!r}f"
    return text


def _vectors(n: int) -> list[Any]:
    return [np.linspace(-1, 1, n, dtype=np.float32), np.zeros(n, np.float32)]


def _planes(reach: int) -> Callable[[int], list[Any]]:
    def make(n: int) -> list[Any]:
        rows = 7
        source = np.linspace(0, 1, (rows + 2 * reach) * (n + 2 * reach), dtype=np.float32).reshape(rows + 2 * reach, n + 2 * reach)
        return [source, np.zeros((rows, n), np.float32)]

    return make


def _windows(n: int) -> list[Any]:
    source, out = _planes(1)(n)
    return [source, np.zeros(source.shape[1], np.float32), out]


_LOOP = "for (int64_t i = 0; i < {n}; i++)"
_ROWS = (
    "for (int64_t r = 0; r < rows; r++) {{ const float *restrict a = (const float *)((const char *)s + r * ss),"
    " *restrict b = (const float *)((const char *)a + ss), *restrict c = (const float *)((const char *)b + ss);"
    " float *restrict o = (float *)((char *)d + r * ds); {body} }}"
)
_PLANES = "const float *restrict s, int64_t srows, int64_t scolumns, int64_t ss, float *restrict d, int64_t rows, int64_t columns, int64_t ds"
_MEAN = "for (int64_t i = 0; i < columns; i++) o[i] = (a[i] + a[i + 1] + a[i + 2] + b[i] + b[i + 1] + b[i + 2] + c[i] + c[i + 1] + c[i + 2]) * (1.0f / 9.0f);"


def cases() -> list[Case]:
    """The kernels that are counted."""
    vectors = "const float *restrict x, int64_t n, float *restrict y, int64_t m"

    def poly(coefficients: tuple[float, ...]) -> str:
        return f"void f({vectors}) {{ {_LOOP.format(n='m')} {{ float v = x[i]; y[i] = {_horner(coefficients)}; }} }}"

    def compiled(kernel: Any, *types: Any, **constants: Any) -> Any:
        return kernel.compile(*types, target=TARGET, **constants)

    def mean(kernel: Any, name: str) -> Case:
        return Case(name, compiled(kernel, _PLANE, _PLANE), _planes(1), f"void f({_PLANES}) {{ {_ROWS.format(body=_MEAN)} }}", (101, 1001))

    lines = (
        f"void f({_PLANES.replace('float *restrict d', 'float *restrict line, int64_t lines, float *restrict d')}) {{ "
        + _ROWS.format(
            body="for (int64_t i = 0; i < scolumns; i++) line[i] = larger(larger(a[i], b[i]), c[i]);"
            " for (int64_t i = 0; i < columns; i++) o[i] = larger(larger(line[i], line[i + 1]), line[i + 2]);"
        )
        + " }"
    )
    sort = (
        "void f(int32_t *restrict x, int64_t n) { for (int64_t i = 0; i < n; i++) { int32_t least = x[i]; int64_t place = i;"
        " for (int64_t j = i + 1; j < n; j++) if (x[j] < least) { least = x[j]; place = j; } x[place] = x[i]; x[i] = least; } }"
    )
    return [
        Case(
            "sum",
            compiled(kernels.sum_, _VECTOR),
            lambda n: _vectors(n)[:1],
            "float f(const float *restrict x, int64_t n) { float t = 0; for (int64_t i = 0; i < n; i++) t += x[i]; return t; }",
            (1003, 4003),
            True,
        ),
        Case(
            "selection sort",
            compiled(kernels.selection_sort, lw.Array[lw.i32]),
            lambda n: [np.random.default_rng(1).integers(-999, 999, n).astype(np.int32)],
            sort,
            (51, 301),
        ),
        Case("polynomial of degree 3", compiled(kernels.poly, _VECTOR, _VECTOR, coeffs=DEGREE_3), _vectors, poly(DEGREE_3), (1003, 4003)),
        Case("polynomial of degree 15", compiled(kernels.poly, _VECTOR, _VECTOR, coeffs=DEGREE_15), _vectors, poly(DEGREE_15), (1003, 4003)),
        Case(
            "largest of three",
            compiled(kernels.max3, _VECTOR, _VECTOR),
            lambda n: [np.linspace(-1, 1, n + 2, dtype=np.float32), np.zeros(n, np.float32)],
            f"void f({vectors}) {{ {_LOOP.format(n='m')} y[i] = larger(larger(x[i], x[i + 1]), x[i + 2]); }}",
            (1003, 4003),
        ),
        mean(demo.blur, "demo: blur"),
        Case(
            "demo: tone curve",
            compiled(demo.curve, _PLANE, _PLANE, coeffs=DEGREE_3),
            _planes(0),
            f"void f({_PLANES}) {{ {_ROWS.format(body=f'for (int64_t i = 0; i < columns; i++) {{ float v = a[i]; o[i] = {_horner(DEGREE_3)}; }}')} }}",
            (101, 1001),
        ),
        Case("demo: largest of 3 x 3", compiled(demo.largest, _PLANE, _VECTOR, _PLANE, size=3), _windows, lines, (101, 1001)),
    ]


def _clang(case: Case, base: int, folder: Path) -> MachineCode:
    """The C function's code, at its place in the executable. Raises ``RuntimeError`` without clang and lld."""
    clang, lld = shutil.which("clang"), shutil.which("ld.lld")
    if clang is None or lld is None:
        raise RuntimeError("clang and lld are not installed (Debian packages clang and lld)")
    source, made, script, flat = (folder / name for name in ("f.c", "f.o", "f.ld", "f.bin"))
    source.write_text(_PRELUDE + case.source)
    script.write_text(f"SECTIONS {{ . = {base:#x}; .all : {{ *(.text.f) *(.text*) *(.rodata*) }} /DISCARD/ : {{ *(.comment) *(.note*) *(.eh_frame) }} }}")
    flags = ["-O3", "-ffp-contract=fast", *(["-ffast-math"] if case.reassociates else [])]
    command = [
        clang,
        "--target=aarch64-linux-gnu",
        *flags,
        "-mllvm",
        "-enable-load-pre=0",
        "-ffreestanding",
        "-ffixed-x18",
        "-fno-stack-protector",
        "-ffunction-sections",
        "-c",
        str(source),
        "-o",
        str(made),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    subprocess.run([lld, "--oformat=binary", "-T", str(script), str(made), "-o", str(flat)], check=True, capture_output=True, text=True)
    data = flat.read_bytes()
    return MachineCode(data, len(data), None, [], 16)


def counted(compiled: Compiled, arguments: list[Any], base: int, folder: Path) -> tuple[int, Any]:
    """How many instructions of the function run, and its result."""
    log = folder / "log"
    settings = {"QEMU_SINGLESTEP": "1", "QEMU_LOG": "exec,nochain", "QEMU_LOG_FILENAME": str(log)}
    os.environ.update(settings)
    try:
        result = emulate.run(compiled, *arguments)
    finally:
        for name in settings:
            del os.environ[name]
    end = base + len(compiled.machine.data)
    count = 0
    with log.open() as lines:
        for line in lines:
            if line.startswith("Trace"):
                count += base <= int(line.split("[")[1].split("/")[1], 16) < end
    log.unlink()
    return count, result


def run(quick: bool = False) -> report.Result:
    """Count."""
    result = report.Result("instructions")
    figure = "instructions of AArch64 kernels beside clang -O3"
    table = report.Table("Instructions run under QEMU, AArch64 with Advanced SIMD", ["kernel", "elements a row", "loopwright", "clang -O3", "ratio"])
    worst = 0.0
    base = emulate.code_start(TARGET)
    try:
        with tempfile.TemporaryDirectory(prefix="loopwright-") as name:
            folder = Path(name)
            for case in cases():
                mine: Compiled = case.compiled.compiled
                peer = Compiled(mine.source, mine.function, _clang(case, base, folder), mine.target, mine.order, {}, {}, mine.passes)
                for n in case.elements[:1] if quick else case.elements:
                    ours, theirs = case.arguments(n), case.arguments(n)
                    count, got = counted(mine, ours, base, folder)
                    other, want = counted(peer, theirs, base, folder)
                    for a, b in zip([*ours, got or 0.0], [*theirs, want or 0.0], strict=True):
                        if not np.allclose(a, b, rtol=1e-3, atol=1e-3):
                            raise RuntimeError(f"{case.name}: not the same results")
                    worst = max(worst, count / other)
                    table.rows.append([case.name, str(n), str(count), str(other), f"{count / other:.2f}"])
    except (RuntimeError, lw.TargetError) as error:
        result.verdicts.append(report.Verdict(figure, None, MOST, why=str(error)))
        return result
    result.tables.append(table)
    result.data = {"rows": table.rows}
    result.verdicts.append(report.Verdict(figure, worst, MOST))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
