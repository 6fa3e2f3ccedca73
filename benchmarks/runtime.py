"""How fast is the code? Each kernel beside the same kernel by NumPy, Numba, LLVM and gcc, at two sizes.

python -m benchmarks.runtime [--quick]
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import cases, machine, measure, native, report
from benchmarks.cases import Case
from benchmarks.native import NoCompilerError

TARGET = 1.05

#: Seconds that one sample of one candidate takes, about.
SAMPLE = 2e-3

#: The first is what a user gets without asking, and the one that is judged; the others are for comparison.
LOOPWRIGHT: dict[str, dict[str, Any]] = {"loopwright": {}, "loopwright 256": {"vector_bits": 256}, "loopwright 512": {"vector_bits": 512}}


class Candidates:
    """Every way a kernel can be computed here, with what is missing and why."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self.keep: list[Any] = []
        self._compiled: dict[tuple[str, str], int] = {}

    def _try(self, names: tuple[str, ...], make: Callable[[str], int]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in names:
            if name in self.missing:
                continue
            try:
                found[name] = make(name)
            except (ImportError, NoCompilerError) as error:
                self.missing[name] = str(error)
        return found

    def addresses(self, kernel: str) -> dict[str, int]:
        """Peer -> address of its code for a kernel."""

        def by_gcc(name: str) -> int:
            from benchmarks.peers import gcc

            return native.address_of(getattr(gcc.library(name), kernel))

        def by_llvm(name: str) -> int:
            llvm_ir = importlib.import_module("benchmarks.peers.llvm_ir")
            words = name.split()
            engine, address = llvm_ir.compile_kernel(kernel, int(words[1][2:]), int(words[2]) if len(words) > 2 else 0)
            self.keep.append(engine)
            return int(address)

        def by_numba(_: str) -> int:
            return int(importlib.import_module("benchmarks.peers.numba_jit").functions()[kernel].address)

        return (
            self._try(("gcc 256", "gcc 512"), by_gcc)
            | self._try(("llvmlite -O0", "llvmlite -O2 256", "llvmlite -O2 512"), by_llvm)
            | self._try(("numba",), by_numba)
        )

    def loopwright(self, case: Case) -> dict[str, int]:
        """Variant -> address of loopwright's code for a case."""
        found: dict[str, int] = {}
        for name, options in LOOPWRIGHT.items():
            try:
                from benchmarks.kernels import KERNELS

                kernel, types = KERNELS[case.kernel]
                code = kernel.compile(*types, **case.constants, **options)
            # One variant that does not compile must not hide the others' figures.
            except Exception as error:  # noqa: BLE001
                self.missing[f"{name}, {case.kernel}"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                continue
            self.keep.append(code)
            found[name] = int(code.address)
        return found


def check(case: Case, name: str, address: int, words: list[int]) -> None:
    """Raise ``AssertionError`` when the code at ``address`` computes something else than NumPy does."""
    if case.returns:
        function = ctypes.CFUNCTYPE(ctypes.c_float, *[ctypes.c_uint64] * len(words))(address)
        worst = abs(function(*words) - case.expected)
    else:
        case.clear()
        native.time_it(address, native.pack(words), len(words), 1)
        worst = float(np.abs(case.arrays[-1] - case.expected).max())
    if not worst <= case.tolerance:
        raise AssertionError(f"{name} computes {case.kernel} ({case.size}) wrongly: off by {worst}, allowed {case.tolerance}")


def _native_sampler(address: int, words: list[int]) -> Callable[[], float]:
    packed, count = native.pack(words), len(words)
    once = min(native.time_it(address, packed, count, 1) for _ in range(5))
    repetitions = max(1, int(SAMPLE / max(once, 1e-9)))
    return lambda: native.time_it(address, packed, count, repetitions) / repetitions


def _python_sampler(run: Callable[[], Any]) -> Callable[[], float]:
    def several(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - start) / count

    several(1)
    repetitions = max(1, int(SAMPLE / several(3)))
    return lambda: several(repetitions)


def measure_case(case: Case, candidates: Candidates, rounds: int) -> measure.Samples:
    """Samples (seconds a call) of every candidate that can compute the case, after checking its result."""
    from benchmarks.peers import numpy_calls

    samplers: dict[str, Callable[[], float]] = {}
    for name, address in candidates.loopwright(case).items():
        words = case.loopwright_words()
        check(case, name, address, words)
        samplers[name] = _native_sampler(address, words)
    for name, address in candidates.addresses(case.kernel).items():
        check(case, name, address, case.words)
        samplers[name] = _native_sampler(address, case.words)
    samplers["numpy *"] = _python_sampler(numpy_calls.runner(case))
    return measure.interleave(samplers, rounds)


def run(quick: bool = False) -> report.Result:
    """Measure every kernel at both sizes."""
    machine.pin()
    result = report.Result("runtime")
    candidates = Candidates()
    rounds = 3 if quick else 60
    times = report.Table("Run time, ns per element (median); GB/s is loopwright's, each byte counted once", [])
    names = [*LOOPWRIGHT, "gcc 256", "gcc 512", "llvmlite -O0", "llvmlite -O2 256", "llvmlite -O2 512", "numba", "numpy *"]
    times.columns = ["kernel", "size", *names, "GB/s", "fastest peer", "ratio"]
    for kernel, makers in cases.MAKERS.items():
        for make in makers:
            case = make()
            samples = measure_case(case, candidates, rounds)
            medians = {name: measure.median(values) for name, values in samples.items()}
            peers = [name for name in samples if name not in LOOPWRIGHT]
            fastest = min(peers, key=medians.__getitem__)
            ratio = measure.ratio(samples, "loopwright", fastest) if "loopwright" in samples else None
            cells = [f"{medians[name] / case.elements * 1e9:.4f}" if name in medians else "missing" for name in names]
            speed = f"{case.bytes / medians['loopwright'] / 1e9:.1f}" if ratio is not None else "-"
            times.rows.append([kernel, case.size, *cells, speed, fastest, f"{ratio:.3f}" if ratio is not None else "-"])
            result.verdicts.append(
                report.Verdict(
                    f"run time of {kernel}, {case.size}, to the fastest peer ({fastest})",
                    ratio,
                    TARGET,
                    why=candidates.missing.get(f"loopwright, {kernel}", ""),
                )
            )
            result.data[f"{kernel} {case.size}"] = {
                "elements": case.elements,
                "bytes": case.bytes,
                "median seconds": medians,
                "spread": {name: measure.spread(values) for name, values in samples.items()},
                "ratio to fastest peer": ratio,
                "fastest peer": fastest,
            }
    result.tables.append(times)
    result.notes.append("* NumPy is timed from Python over many calls, so its figures hold the cost of its calls")
    result.notes += [f"{name} is missing: {why}" for name, why in candidates.missing.items()]
    result.data["missing"] = candidates.missing
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
