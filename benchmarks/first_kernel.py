"""What does a user wait for? The first kernel of a process, beyond ``import numpy``, and each further new one; beside Numba's.

python -m benchmarks.first_kernel [--quick]
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import builds, measure, report

#: Milliseconds, with bytecode cached, by either build.
FIRST, FURTHER = 50.0, 3.0

FRESH = Path(__file__).resolve().parent / "fresh"

PURE = f"loopwright, {builds.PURE}"
NATIVE = f"loopwright, {builds.NATIVE}"
NUMBA = "numba"
NUMBA_CACHED = "numba, cache=True"

#: Seconds by what they were measured for: "import", "first", and the further kernels by name.
Waits = dict[str, float]


def _waits(build: str, program: str, environment: dict[str, str], *arguments: str) -> Waits:
    """Run a program of ``fresh/`` in a process of its own."""
    found: dict[str, Any] = json.loads(builds.run(build, [str(FRESH / program), *arguments], environment))
    compiler = found.get("compiler")
    if compiler is not None and Path(compiler).is_relative_to(builds.FOLDERS[build]) is False:
        raise RuntimeError(f"{compiler} ran instead of the {build} build")
    return {"import": found["import"], "first": found["first"], **found["further"]}


def _programs(result: report.Result, scratch: Path) -> dict[str, Callable[[dict[str, str]], Waits]]:
    """Candidate -> what runs it once in a given environment; those that cannot run are noted."""
    made: dict[str, Callable[[dict[str, str]], Waits]] = {PURE: lambda e: _waits(builds.PURE, "with_loopwright.py", e)}
    why = builds.missing(builds.NATIVE)
    if why:
        result.notes.append(f"{NATIVE} is missing: {why}")
    else:
        made[NATIVE] = lambda e: _waits(builds.NATIVE, "with_loopwright.py", e)
    if importlib.util.find_spec("numba") is None:
        result.notes.append("numba is missing")
    else:
        made[NUMBA] = lambda e: _waits(builds.PURE, "with_numba.py", e)
        # What it compiled in an earlier process it finds on disk; loopwright keeps nothing there.
        made[NUMBA_CACHED] = lambda e: _waits(builds.PURE, "with_numba.py", {**e, "NUMBA_CACHE_DIR": str(scratch / "numba")}, "cached")
    return made


def _gather(
    programs: dict[str, Callable[[dict[str, str]], Waits]], environment: Callable[[], dict[str, str]], rounds: int, warm: int
) -> dict[str, list[Waits]]:
    """Candidate -> what each of its processes waited, the processes taking turns."""
    found: dict[str, list[Waits]] = {name: [] for name in programs}

    def sampler(name: str) -> Callable[[], float]:
        def sample() -> float:
            found[name].append(programs[name](environment()))
            return found[name][-1]["first"]

        return sample

    measure.interleave({name: sampler(name) for name in programs}, rounds, warm)
    return {name: waits[warm:] for name, waits in found.items()}


def _median(waits: list[Waits], what: str) -> float:
    """In milliseconds."""
    return measure.median([w[what] for w in waits]) * 1e3


def _kernels(waits: list[Waits]) -> dict[str, float]:
    """Milliseconds for each further kernel: the median over the processes."""
    return {what: _median(waits, what) for what in waits[0] if what not in ("import", "first")}


def _first_table(result: report.Result, cached: dict[str, list[Waits]], fresh: dict[str, list[Waits]]) -> None:
    table = report.Table(
        "The first kernel of a process beyond import numpy, ms (median)",
        ["what", "import", "compile and run axpy", "both", "without cached bytecode, both"],
    )
    for name, waits in cached.items():
        imported, both = _median(waits, "import"), _median(waits, "first")
        without = f"{_median(fresh[name], 'first'):.0f}" if name in fresh else "-"
        table.rows.append([name, f"{imported:.1f}", f"{both - imported:.1f}", f"{both:.1f}", without])
    result.tables.append(table)


def _further_table(result: report.Result, cached: dict[str, list[Waits]]) -> None:
    by = {name: _kernels(waits) for name, waits in cached.items()}
    table = report.Table("A further new kernel, from its decorator to its result, ms (median)", ["kernel", *by])
    for kernel in by[PURE]:
        table.rows.append([kernel, *(f"{times[kernel]:.2f}" for times in by.values())])
    table.rows.append(["median", *(f"{measure.median(list(times.values())):.2f}" for times in by.values())])
    result.tables.append(table)


def _judge(result: report.Result, cached: dict[str, list[Waits]], fresh: dict[str, list[Waits]]) -> None:
    ours = [name for name in (NATIVE, PURE) if name in cached]

    def add(figure: str, values: list[float], target: float | None, unit: str) -> None:
        result.verdicts.append(report.Verdict(figure, values[0], target, unit, pure=values[1] if len(values) > 1 else None, both=True))

    add("the first kernel of a process, beyond NumPy", [_median(cached[name], "first") for name in ours], FIRST, "ms")
    add("the same without cached bytecode", [_median(fresh[name], "first") for name in ours], None, "ms")
    add("a further new kernel", [measure.median(list(_kernels(cached[name]).values())) for name in ours], FURTHER, "ms")
    if NUMBA in cached:
        firsts = {name: [w["first"] for w in cached[name]] for name in (*ours, NUMBA)}
        add("the first kernel of a process, to numba's", [measure.ratio(firsts, name, NUMBA) for name in ours], None, "x")
        numba = _kernels(cached[NUMBA])
        add("a further new kernel, to numba's", [measure.median([t / numba[k] for k, t in _kernels(cached[name]).items()]) for name in ours], None, "x")


def run(quick: bool = False) -> report.Result:
    """Measure the waits."""
    result = report.Result("first_kernel")
    with tempfile.TemporaryDirectory(prefix="loopwright-first-kernel-") as folder:
        scratch = Path(folder)
        programs = _programs(result, scratch)
        bytecode = {"PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}
        without = {"PYTHONPYCACHEPREFIX": str(scratch / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            # The processes of the warm round fill the caches of bytecode.
            cached = _gather(programs, lambda: bytecode, 2 if quick else 21, warm=1)
            # One that has compiled Numba's own modules knows nothing of its kernels' cache: these are two questions.
            fresh = _gather({name: p for name, p in programs.items() if name != NUMBA_CACHED}, lambda: without, 1 if quick else 7, warm=0)
        except RuntimeError as error:
            for figure, target in (("the first kernel", FIRST), ("a further new kernel", FURTHER)):
                result.verdicts.append(report.Verdict(figure, None, target, "ms", why=str(error)))
            return result
    _first_table(result, cached, fresh)
    _further_table(result, cached)
    _judge(result, cached, fresh)
    result.data = {"bytecode cached": cached, "without": fresh}
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
