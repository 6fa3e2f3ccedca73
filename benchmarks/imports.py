"""How much does ``import loopwright`` add to ``import numpy``? In fresh processes, in pairs.

python -m benchmarks.imports [--quick]
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks import measure, report

TARGET = 100.0

_WITHOUT = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); print(b - a, 0.0)"
_WITH = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import loopwright; c = time.perf_counter(); loopwright.kernel; print(b - a, c - b)"


def _fresh(program: str) -> tuple[float, float]:
    """Milliseconds for NumPy, and for loopwright after it."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    numpy_, loopwright = map(float, done.stdout.split())
    return numpy_ * 1e3, loopwright * 1e3


def run(quick: bool = False) -> report.Result:
    """Measure the imports."""
    result = report.Result("imports")
    alone: list[float] = []
    both: list[float] = []
    after: list[float] = []
    rounds = 3 if quick else 31
    try:
        for turn in range(rounds + 1):
            first, _ = _fresh(_WITHOUT)
            second, third = _fresh(_WITH)
            if turn:  # the first pair fills the caches of bytecode and files
                alone.append(first)
                both.append(second + third)
                after.append(third)
    except RuntimeError as error:
        result.verdicts.append(report.Verdict("import loopwright, beyond NumPy", None, TARGET, "ms", why=str(error)))
        return result
    difference = measure.median([b - a for a, b in zip(alone, both, strict=True)])
    table = report.Table("Import time, ms (median)", ["what", "ms"])
    table.rows = [
        ["import numpy", f"{measure.median(alone):.1f}"],
        ["import loopwright after it, in the same process", f"{measure.median(after):.1f}"],
        ["both, less numpy alone in another process", f"{difference:.1f}"],
    ]
    result.tables.append(table)
    result.data = {"numpy": alone, "both": both, "loopwright after numpy": after}
    result.verdicts.append(report.Verdict("import loopwright, beyond NumPy", max(difference, measure.median(after)), TARGET, "ms"))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
