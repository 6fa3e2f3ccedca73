"""Is our code as fast as LLVM's for the same loops? The same functions, after our loop and scalar passes, through LLVM's code generator.

What differs is everything behind those passes: instruction selection, scheduling (LLVM's; we have none yet), register allocation, layout. Each kernel of
``perfscore_kernels`` is compiled for x86-64-v3 and x86-64-v4, exported (``peers/llvm_export.py``) and compiled by LLVM at -O2 for the same
level; both must leave the same in the arrays; both run from the first-level cache in the same native loop, in turns.

    python -m benchmarks.codegen [--quick]
"""

from __future__ import annotations

import ctypes
import importlib
import math
import statistics
import sys
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.perfscore import Call, compiled_for, runnable
from benchmarks.perfscore_kernels import Subject, subjects

#: target, vector bits
CONFIGURATIONS = (("x86-64-v3", 256), ("x86-64-v4", 512))
#: Turns; the least of each side counts, because what disturbs makes slower only.
TURNS = 3


def _arrays(arguments: list[Any]) -> list[Any]:
    return [a.copy() for a in arguments if not isinstance(a, int)]


def _one(subject: Subject, target: str, bits: int, meter: Any, turns: int) -> tuple[float, float] | str:
    """Cycles of a call of our code and of LLVM's, or why there are none."""
    from loopwright import compiler
    from loopwright.costs.measure import address_cycles
    from loopwright.errors import LoopwrightError
    from loopwright.runtime import memory
    from loopwright.targets import registry

    llvm_export: Any = importlib.import_module("benchmarks.peers.llvm_export")
    try:
        compiled = compiled_for(subject, target, bits)
        exported = compiler.run_passes(compiled.source, registry.get(target, bits), after="elif")
        theirs = llvm_export.Compiled(llvm_export.module_text(exported), target)
    except LoopwrightError as error:
        return str(error).splitlines()[0]
    if compiled.machine.relocations:
        return "it calls other functions"
    block = memory.allocate(compiled.machine.data, compiled.machine.align)
    addresses = (block.address, theirs.address(exported.name))
    call = Call(subject)
    left: list[list[Any]] = []
    best = [math.inf, math.inf]
    for address in addresses:
        # Once, to see what it leaves.
        call.restore()
        ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(call.words))(address)(*call.words)
        left.append(_arrays(subject.arguments))
    for _ in range(turns):
        for side, address in enumerate(addresses):
            call.restore()
            best[side] = min(best[side], address_cycles(address, call.words, meter, before=call.before))
    call.restore()
    for mine, other in zip(*left, strict=True):
        # Sums may be added up in another order, multiply-adds fused or not.
        if not np.allclose(mine, other, rtol=1e-3, atol=1e-3, equal_nan=True):
            raise AssertionError(f"{subject.name} on {target}: LLVM's code leaves other values")
    return best[0], best[1]


def run(quick: bool = False) -> report.Result:
    """Measure both."""
    from loopwright.costs.measure import Meter
    from loopwright.errors import CpuError

    result = report.Result("codegen")
    figure = "cycles to those of LLVM's code generator, same loops, geometric mean"
    try:
        meter = Meter(rounds=5 if quick else 9, ticks=20000)
        importlib.import_module("llvmlite")
    except (CpuError, ImportError) as error:
        result.verdicts.append(report.Verdict(figure, None, None, why=str(error)))
        return result
    table = report.Table("Cycles of one call", ["kernel", "loopwright", "LLVM", "ratio"], detail=True)
    summary = report.Table(
        "Cycles to those of LLVM's code generator, which gets the same loops", ["target", "kernels", "mean", "quartiles", "we are slower by > 5 % in"]
    )
    everything: list[float] = []
    for target, bits in runnable(CONFIGURATIONS, result.notes):
        ratios: list[float] = []
        for n, subject in enumerate(subjects()):
            if (quick and n % 9) or (subject.scalar and target != CONFIGURATIONS[0][0]):
                continue
            found = _one(subject, target, bits, meter, 1 if quick else TURNS)
            if isinstance(found, str):
                result.notes.append(f"{subject.name} on {target} is left out: {found}")
                continue
            ratios.append(found[0] / found[1])
            table.rows.append([f"{subject.name}, {target[-2:]}/{bits}", f"{found[0]:.0f}", f"{found[1]:.0f}", f"{ratios[-1]:.2f}"])
        quartiles = statistics.quantiles(ratios, n=4)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        summary.rows.append([target, str(len(ratios)), f"{mean:.3f}", f"{quartiles[0]:.2f}, {quartiles[2]:.2f}", str(sum(r > 1.05 for r in ratios))])
        everything += ratios
    table.rows.sort(key=lambda row: -float(row[3]))
    result.tables += [table, summary]
    result.verdicts.append(report.Verdict(figure, math.exp(statistics.fmean(map(math.log, everything))), None))
    result.data = {"ratios": everything}
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
