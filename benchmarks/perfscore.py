"""Do the models of cost put kernels in the order the clock does? Spearman's rank correlation over hundreds of kernels.

Each kernel is compiled for x86-64-v3 and for x86-64-v4 with vectors of 256 and 512 bits, run from the first-level cache in
a native loop (``costs.measure.kernel_cycles``), and scored by PerfScore and by the better model (``costs/perfscore.py``): with the number of
times each block really ran, and with the compiler's own weights, which do not know how long arrays are.

    python -m benchmarks.perfscore [--quick]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import report
from benchmarks.perfscore_kernels import Subject, subjects

GOAL = 0.95
#: target, vector bits
CONFIGURATIONS = (("x86-64-v3", 256), ("x86-64-v4", 256), ("x86-64-v4", 512))
MICROARCHITECTURE = "znver4"
BETTER = "ports, front end, latency"


def words_of(arguments: list[Any]) -> list[int]:
    """Arguments as the native convention has them: each array as base, extents and outer strides."""
    words: list[int] = []
    for a in arguments:
        words += [a] if isinstance(a, int) else [int(a.ctypes.data), *a.shape, *a.strides[:-1]]
    return words


def spearman(a: list[float], b: list[float]) -> float:
    """Rank correlation, with the mean of their ranks for equal values."""

    def ranks(values: list[float]) -> list[float]:
        order = sorted(range(len(values)), key=values.__getitem__)
        found = [0.0] * len(values)
        at = 0
        while at < len(order):
            end = at
            while end < len(order) and values[order[end]] == values[order[at]]:
                end += 1
            for k in range(at, end):
                found[order[k]] = (at + end - 1) / 2
            at = end
        return found

    x, y = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    return sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True)) / math.sqrt(sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y))


def runnable(configurations: Sequence[tuple[str, int]], notes: list[str]) -> list[tuple[str, int]]:
    """The configurations (target, vector bits) that this CPU runs; a note for each other."""
    from loopwright.runtime import cpu
    from loopwright.targets import registry

    host = cpu.host_features()
    found: list[tuple[str, int]] = []
    for target, bits in configurations:
        if registry.get(target).features <= host:
            found.append((target, bits))
        else:
            notes.append(f"{target} is left out: this CPU does not run it")
    return found


def compiled_for(subject: Subject, target: str, bits: int) -> Any:
    """The subject's kernel, compiled for the types of its arguments. Raises ``LoopwrightError`` where that is not possible."""
    import loopwright as lw

    types = {"float32": lw.f32, "float64": lw.f64, "int32": lw.i32, "int64": lw.i64, "uint8": lw.u8}
    signature = [lw.i64 if isinstance(a, int) else lw.Array[types[a.dtype.name], a.ndim] for a in subject.arguments]
    return subject.kernel.compile(*signature, **subject.constants, target=target, vector_bits=bits).compiled


class Call:
    """A subject's arguments as machine words; ``before``: what native code copies before each call, so that there is the same to do."""

    def __init__(self, subject: Subject) -> None:
        self.arguments = subject.arguments
        self.words = words_of(subject.arguments)
        self._kept = [None if isinstance(a, int) else a.copy() for a in subject.arguments]
        self.before: list[tuple[int, int, int]] = []
        if subject.restore >= 0:
            a = subject.arguments[subject.restore]
            self._original = a.copy(order="C")
            self.before = [(int(a.ctypes.data), int(self._original.ctypes.data), a.nbytes)]

    def restore(self) -> None:
        """The arrays as they were at first."""
        for a, saved in zip(self.arguments, self._kept, strict=True):
            if saved is not None:
                a[...] = saved


def _one(subject: Subject, target: str, bits: int, meter: Any) -> list[float] | str:
    """Measured cycles; PerfScore and the better model with counts; both with static weights; instructions executed; measured cycles as the static weights
    have it. Or why not."""
    from loopwright.costs.measure import count_blocks, kernel_cycles
    from loopwright.costs.perfscore import perf_score
    from loopwright.errors import LoopwrightError

    try:
        compiled = compiled_for(subject, target, bits)
    except LoopwrightError as error:
        return str(error)
    call = Call(subject)
    counts = count_blocks(compiled, call.words)
    call.restore()
    cycles = kernel_cycles(compiled, call.words, meter, before=call.before)
    call.restore()
    real = perf_score(compiled, MICROARCHITECTURE, counts)
    static = perf_score(compiled, MICROARCHITECTURE)
    executed = sum(block.weight * block.instructions for block in real.blocks)
    # What the call would take if its busiest block ran as often as the compiler's weights say.
    busiest = max(range(len(counts)), key=lambda n: (counts[n] * real.blocks[n].instructions, n))
    scaled = cycles * static.blocks[busiest].weight / counts[busiest]
    return [cycles, real.perf_score, real.cycles, static.perf_score, static.cycles, executed, scaled]


def run(quick: bool) -> report.Result:
    """Measure and score."""
    from loopwright.costs.measure import Meter
    from loopwright.errors import CpuError

    result = report.Result("perfscore")
    table = report.Table(
        f"Cycles of one call: measured, and by the tables of {MICROARCHITECTURE}",
        ["kernel", "measured", "PerfScore", "model", "model/measured", "static PerfScore", "static model"],
        detail=True,
    )
    try:
        meter = Meter(rounds=5 if quick else 15, ticks=20000)
    except CpuError as error:
        result.verdicts.append(report.Verdict("rank correlation", None, GOAL, goal=True, why=str(error)))
        return result
    rows: list[list[float]] = []
    names: list[str] = []
    for target, bits in runnable(CONFIGURATIONS, result.notes):
        n = 0
        for subject in subjects():
            n += 1
            if (quick and n % 5) or (subject.scalar and (target, bits) != CONFIGURATIONS[0]):
                continue
            name = f"{subject.name}, {target[-2:]}/{bits}"
            found = _one(subject, target, bits, meter)
            if isinstance(found, str):
                result.notes.append(f"{name}: {found}")
                continue
            rows.append(found)
            names.append(name)
            table.rows.append([name, *(f"{v:.0f}" for v in found[:3]), f"{found[2] / found[0]:.2f}", *(f"{v:.0f}" for v in found[3:5])])
    result.tables.append(table)
    measured = [row[0] for row in rows]
    each = [row[0] / row[5] for row in rows]
    scaled = [row[6] for row in rows]
    correlations = report.Table(
        f"Spearman's rank correlation with what was measured, {len(rows)} kernels", ["model", "cycles", "cycles an instruction", "static weights"]
    )
    figures: dict[str, list[float]] = {}
    for n, model in ((1, "PerfScore"), (2, BETTER)):
        figures[model] = [
            spearman([row[n] for row in rows], measured),
            spearman([row[n] / row[5] for row in rows], each),
            spearman([row[n + 2] for row in rows], scaled),
        ]
        correlations.rows.append([model, *(f"{value:.4f}" for value in figures[model])])
    result.tables.append(correlations)
    result.notes += [
        "cycles: of a call; the models know how often each block ran",
        "cycles an instruction: both divided by the number of instructions executed, so that long and short kernels are no longer told apart by their length",
        "static weights: the models have the compiler's weights, 8 for each loop around, and the cycles are scaled to those by the busiest block",
    ]
    ratios = sorted(row[2] / row[0] for row in rows)
    errors = sorted(abs(math.log(ratio)) for ratio in ratios)
    result.notes.append(
        f"the better model's cycles over the measured ones: median {ratios[len(ratios) // 2]:.2f}; "
        f"within 10 % for {sum(e < math.log(1.1) for e in errors) / len(errors):.0%}, 25 % for {sum(e < math.log(1.25) for e in errors) / len(errors):.0%}"
    )
    # A verdict is reached when it is not above its target: what is missing to a correlation of 1.
    result.verdicts.append(report.Verdict("1 - rank correlation of the better model, with block counts", 1 - figures[BETTER][0], 1 - GOAL, "", goal=True))
    result.verdicts.append(report.Verdict("1 - rank correlation of PerfScore, with block counts", 1 - figures["PerfScore"][0], None, ""))
    result.data = {"kernels": len(rows), "correlations": figures, "names": names, "rows": rows}
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
