"""How long does compiling take? Beside llvmlite building and compiling the same, and Numba; and per instruction and pass.

python -m benchmarks.compile [--quick]
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import builds, cases, measure, report

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


#: What ``seconds`` has made to compile with.
_compilers: dict[tuple[str, bool], Callable[[], float]] = {}


def seconds(kernel: str, first: bool) -> float:
    """One compilation by this process's build: of a kernel, or (``first``) from the plain Python function. For a process of another build."""
    if (kernel, first) not in _compilers:
        _compilers[kernel, first] = _timed((loopwright_first if first else loopwright_compiler)(kernel))
    return _compilers[kernel, first]()


def polynomial_seconds(degree: int) -> float:
    """One compilation of a polynomial by this process's build."""
    from benchmarks.kernels import KERNELS as known

    kernel, types = known["poly3"]
    return _timed(lambda: kernel.compile(*types, coeffs=coefficients(degree)))()


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


def _compare(result: report.Result, rounds: int, pure: builds.Worker | None) -> None:
    beside = ["pure Python", "pure Python, first"] if pure else []
    names = ["loopwright", "loopwright, first", *beside, "llvmlite -O0", "llvmlite -O2", "numba"]
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
        if pure:
            samplers["pure Python"] = lambda kernel=kernel: pure.call("benchmarks.compile:seconds", kernel, False)
            samplers["pure Python, first"] = lambda kernel=kernel: pure.call("benchmarks.compile:seconds", kernel, True)
        samples = measure.interleave(samplers, rounds)
        medians = {name: measure.median(values) for name, values in samples.items()}
        ratios: dict[str, float | None] = {}
        for other, target in (("llvmlite -O2", TARGET), ("llvmlite -O0", GOAL)):
            both = "loopwright" in samples and other in samples
            ratios[other] = measure.ratio(samples, "loopwright", other) if both else None
            of_pure = measure.ratio(samples, "pure Python", other) if "pure Python" in samples and other in samples else None
            why = "" if both else "missing: " + ", ".join(n for n in ("loopwright", other) if n not in samples)
            figure = f"compile time of {kernel}, to {other}"
            result.verdicts.append(report.Verdict(figure, ratios[other], target, goal=target == GOAL, why=why, pure=of_pure))
        cells = [f"{medians[name] * 1e3:.2f}" if name in medians else "missing" for name in names]
        table.rows.append([kernel, *cells, *(f"{r:.3f}" if r is not None else "-" for r in ratios.values())])
        result.data[kernel] = {"median seconds": medians, "ratios": ratios, "spread": {n: measure.spread(v) for n, v in samples.items()}}
    result.tables.append(table)


def instruction_count(code: Any) -> int:
    """Instructions in the machine code."""
    return len(code.compiled.listing())


def _per_instruction(result: report.Result, rounds: int, pure: builds.Worker | None) -> None:
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

    samplers = {str(d): sampler(d) for d in DEGREES}
    if pure:
        samplers |= {f"{d}, pure": lambda d=d: pure.call("benchmarks.compile:polynomial_seconds", d) for d in DEGREES}
    samples = measure.interleave(samplers, rounds)
    beside = ["pure Python: ms", "us per instruction"] if pure else []
    table = report.Table("Compile time of a polynomial by degree", ["degree", "instructions", "ms", "us per instruction", *beside])
    each: dict[str, float] = {}
    of_pure: dict[str, float] = {}
    for name in map(str, DEGREES):
        count = instruction_count(latest[name])
        taken = measure.median(samples[name])
        each[name] = taken / count
        row = [name, str(count), f"{taken * 1e3:.2f}", f"{each[name] * 1e6:.2f}"]
        if pure:
            slower = measure.median(samples[f"{name}, pure"])
            of_pure[name] = slower / count
            row += [f"{slower * 1e3:.2f}", f"{of_pure[name] * 1e6:.2f}"]
        table.rows.append(row)
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
    flat_pure = max(of_pure.values()) / min(of_pure.values()) if pure else None
    figure = f"compile time per instruction, degrees {', '.join(map(str, DEGREES))}: largest to smallest"
    result.verdicts.append(report.Verdict(figure, flat, FLAT, pure=flat_pure))


def run(quick: bool = False) -> report.Result:
    """Measure compile times of this build, and of the pure-Python one beside the native."""
    result = report.Result("compile")
    rounds = 3 if quick else 41
    with builds.Worker(builds.PURE) if builds.here() == builds.NATIVE else contextlib.nullcontext() as pure:
        _compare(result, rounds, pure)
        try:
            _per_instruction(result, rounds, pure)
        # As above: what cannot be measured is said, and the rest stands.
        except Exception as error:  # noqa: BLE001
            why = f"{type(error).__name__}: {error}"
            result.verdicts.append(report.Verdict("compile time per instruction", None, FLAT, why=why.splitlines()[0]))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
