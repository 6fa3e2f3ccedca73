"""How much does ``import loopwright`` add to ``import numpy``? In fresh processes, in pairs.

python -m benchmarks.imports [--quick]
"""

from __future__ import annotations

import sys

from benchmarks import builds, measure, report

TARGET = 100.0

_WITHOUT = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); print(b - a, 0.0)"
_WITH = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import loopwright; c = time.perf_counter(); print(b - a, c - b)"


def _fresh(build: str, program: str) -> tuple[float, float]:
    """Milliseconds for NumPy, and for loopwright after it."""
    numpy_, loopwright = map(float, builds.run(build, ["-c", program]).split())
    return numpy_ * 1e3, loopwright * 1e3


def run(quick: bool = False) -> report.Result:
    """Measure the imports."""
    result = report.Result("imports")
    figure = "import loopwright, beyond NumPy"
    measured = [builds.PURE] if builds.missing(builds.NATIVE) else [builds.NATIVE, builds.PURE]
    alone: list[float] = []
    after: dict[str, list[float]] = {build: [] for build in measured}
    both: dict[str, list[float]] = {build: [] for build in measured}
    rounds = 3 if quick else 31
    try:
        for turn in range(rounds + 1):
            numpy_, _ = _fresh(builds.PURE, _WITHOUT)
            found = {build: _fresh(build, _WITH) for build in measured}
            if turn:  # the first turn fills the caches of bytecode and files
                alone.append(numpy_)
                for build, (first, second) in found.items():
                    after[build].append(second)
                    both[build].append(first + second)
    except RuntimeError as error:
        result.verdicts.append(report.Verdict(figure, None, TARGET, "ms", why=str(error)))
        return result
    table = report.Table("Import time, ms (median)", ["what", *measured])
    table.rows.append(["import numpy", *(f"{measure.median(alone):.1f}" for _ in measured)])
    table.rows.append(["import loopwright after it, in the same process", *(f"{measure.median(after[build]):.1f}" for build in measured)])
    differences = {build: measure.median([b - a for a, b in zip(alone, both[build], strict=True)]) for build in measured}
    table.rows.append(["both, less numpy alone in another process", *(f"{differences[build]:.1f}" for build in measured)])
    result.tables.append(table)
    result.data = {"numpy": alone, "both": both, "loopwright after numpy": after}
    worse = [max(differences[build], measure.median(after[build])) for build in measured]
    result.verdicts.append(report.Verdict(figure, worse[0], TARGET, "ms", pure=worse[1] if len(worse) > 1 else None, both=True))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
