"""How long does compiling take? Beside llvmlite building and compiling the same, and Numba; and per instruction and pass.

python -m benchmarks.compile [--quick]
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import cases, measure, report

KERNELS = ("poly3", "max3", "selection_sort")
DEGREES = (15, 63, 255)
TARGET, GOAL, FLAT = 0.25, 1.0, 1.3

_CONSTANTS: dict[str, dict[str, Any]] = {"poly3": {"coeffs": cases.DEGREE_3}}


def coefficients(degree: int) -> tuple[float, ...]:
    """Coefficients of which none repeats and none is 0 or 1."""
    return tuple(0.5 + k / 1024 for k in range(degree + 1))


def _timed(make: Callable[[], Any]) -> Callable[[], float]:
    def sample() -> float:
        start = time.perf_counter()
        made = make()
        taken = time.perf_counter() - start
        # Only now may what was compiled be freed.
        del made
        return taken

    return sample


def loopwright_compiler(kernel: str) -> Callable[[], Any]:
    """Compiles a kernel anew at each call, to a callable."""
    from benchmarks.kernels import KERNELS as known

    made, types = known[kernel]
    constants = _CONSTANTS.get(kernel, {})
    return lambda: made.compile(*types, **constants)


def loopwright_first(kernel: str) -> Callable[[], Any]:
    """The same from the plain Python function: reading its source is in it."""
    import loopwright as lw
    from benchmarks.kernels import KERNELS as known

    made, types = known[kernel]
    constants = _CONSTANTS.get(kernel, {})
    return lambda: lw.kernel(made.__wrapped__).compile(*types, **constants)


def llvm_compiler(kernel: str, level: int) -> Callable[[], Any]:
    """Builds the IR through llvmlite and compiles it, to an address."""
    llvm_ir = importlib.import_module("benchmarks.peers.llvm_ir")
    return lambda: llvm_ir.compile_kernel(kernel, level)


def numba_compiler(kernel: str) -> Callable[[], Any]:
    """A fresh dispatcher compiled for one signature."""
    return importlib.import_module("benchmarks.peers.numba_compile").compiler(kernel)  # type: ignore[no-any-return]


def _gather(result: report.Result, makers: dict[str, Callable[[], Callable[[], Any]]]) -> dict[str, Callable[[], float]]:
    samplers: dict[str, Callable[[], float]] = {}
    for name, make in makers.items():
        try:
            compiler = make()
            compiler()
        # A candidate that fails is reported as missing; the others are measured all the same.
        except Exception as error:  # noqa: BLE001
            note = f"{name} is missing: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if note not in result.notes:
                result.notes.append(note)
            continue
        samplers[name] = _timed(compiler)
    return samplers


def _compare(result: report.Result, rounds: int) -> None:
    names = ["loopwright", "loopwright, first", "llvmlite -O0", "llvmlite -O2", "numba"]
    table = report.Table("Compile time, ms (median)", ["kernel", *names, "to -O2", "to -O0"])
    for kernel in KERNELS:
        samplers = _gather(
            result,
            {
                "loopwright": lambda kernel=kernel: loopwright_compiler(kernel),
                "loopwright, first": lambda kernel=kernel: loopwright_first(kernel),
                "llvmlite -O0": lambda kernel=kernel: llvm_compiler(kernel, 0),
                "llvmlite -O2": lambda kernel=kernel: llvm_compiler(kernel, 2),
                "numba": lambda kernel=kernel: numba_compiler(kernel),
            },
        )
        samples = measure.interleave(samplers, rounds)
        medians = {name: measure.median(values) for name, values in samples.items()}
        ratios: dict[str, float | None] = {}
        for other, target in (("llvmlite -O2", TARGET), ("llvmlite -O0", GOAL)):
            both = "loopwright" in samples and other in samples
            ratios[other] = measure.ratio(samples, "loopwright", other) if both else None
            why = "" if both else "missing: " + ", ".join(n for n in ("loopwright", other) if n not in samples)
            result.verdicts.append(report.Verdict(f"compile time of {kernel}, to {other}", ratios[other], target, goal=target == GOAL, why=why))
        cells = [f"{medians[name] * 1e3:.2f}" if name in medians else "missing" for name in names]
        table.rows.append([kernel, *cells, *(f"{r:.3f}" if r is not None else "-" for r in ratios.values())])
        result.data[kernel] = {"median seconds": medians, "ratios": ratios, "spread": {n: measure.spread(v) for n, v in samples.items()}}
    result.tables.append(table)


def instruction_count(code: Any) -> int:
    """Instructions in the machine code."""
    return len(code.target.listing(code.compiled.machine))


def _per_instruction(result: report.Result, rounds: int) -> None:
    """Time per final instruction for growing polynomials, and where it goes."""
    from benchmarks.kernels import KERNELS as known

    kernel, types = known["poly3"]
    latest: dict[str, Any] = {}
    passes: dict[str, dict[str, list[float]]] = {}

    def sampler(degree: int) -> Callable[[], float]:
        name, values = str(degree), coefficients(degree)
        passes[name] = {}

        def sample() -> float:
            start = time.perf_counter()
            code = kernel.compile(*types, coeffs=values)
            taken = time.perf_counter() - start
            latest[name] = code
            for stage, seconds in code.times.items():
                passes[name].setdefault(stage, []).append(seconds)
            return taken

        return sample

    samples = measure.interleave({str(d): sampler(d) for d in DEGREES}, rounds)
    table = report.Table("Compile time of a polynomial by degree", ["degree", "instructions", "ms", "us per instruction"])
    each: dict[str, float] = {}
    for name, values in samples.items():
        count = instruction_count(latest[name])
        taken = measure.median(values)
        each[name] = taken / count
        table.rows.append([name, str(count), f"{taken * 1e3:.2f}", f"{each[name] * 1e6:.2f}"])
        result.data[f"degree {name}"] = {"instructions": count, "median seconds": taken}
    result.tables.append(table)

    stages = report.Table("Time per pass, us (median)", ["pass", *(f"degree {d}" for d in DEGREES), f"us per instruction, {DEGREES[-1]}"])
    widest = str(DEGREES[-1])
    for stage in passes[widest]:
        cells = [measure.median(passes[str(d)][stage]) * 1e6 for d in DEGREES]
        stages.rows.append([stage, *(f"{cell:.0f}" for cell in cells), f"{cells[-1] / instruction_count(latest[widest]):.2f}"])
    totals = [measure.median(samples[str(d)]) * 1e6 for d in DEGREES]
    inside = [sum(measure.median(values) for values in passes[str(d)].values()) * 1e6 for d in DEGREES]
    stages.rows.append(["outside the passes", *(f"{t - i:.0f}" for t, i in zip(totals, inside, strict=True)), ""])
    stages.rows.append(["all", *(f"{t:.0f}" for t in totals), f"{totals[-1] / instruction_count(latest[widest]):.2f}"])
    result.tables.append(stages)
    result.data["passes"] = {name: {stage: measure.median(v) for stage, v in by.items()} for name, by in passes.items()}
    flat = max(each.values()) / min(each.values())
    result.verdicts.append(report.Verdict(f"compile time per instruction, degrees {', '.join(map(str, DEGREES))}: largest to smallest", flat, FLAT))


def run(quick: bool = False) -> report.Result:
    """Measure compile times."""
    result = report.Result("compile")
    rounds = 3 if quick else 41
    _compare(result, rounds)
    try:
        _per_instruction(result, rounds)
    # As above: what cannot be measured is said, and the rest stands.
    except Exception as error:  # noqa: BLE001
        why = f"{type(error).__name__}: {error}"
        result.verdicts.append(report.Verdict("compile time per instruction", None, FLAT, why=why.splitlines()[0]))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
