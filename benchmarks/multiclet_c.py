"""C programs on the Multiclet processors: what each pass of their compiler is worth, and phis through memory against the switch, as the fitted parameters move by a cycle.

Two programs of our own (``c_programs/``), of the kinds of work that Whetstone and CoreMark do, compiled with the run-time library and simulated; their output is compared
with that of the code that clang makes for this CPU.

python -m benchmarks.multiclet_c [--quick]
"""

from __future__ import annotations

import functools
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import loopwright as lw
from benchmarks import report
from benchmarks.multiclet import PASSES, PUBLISHED, gain, passes_table
from loopwright import compiler
from loopwright.cc import clang, simulated
from loopwright.frontend.llvm.module import functions_and_globals
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.multiclet.parameters import FACTS, R1, S1, S2, Processor
from loopwright.targets.multiclet.target import Multiclet

FOLDER = Path(__file__).with_name("c_programs")
PROGRAMS = {"Whetstone-like": FOLDER / "floats.c", "CoreMark-like": FOLDER / "integers.c"}
#: Published gains of phis through the switch (docs/multiclet.md), per cent.
GAINS = {"Whetstone-like": 6.5, "CoreMark-like": 6.7}

#: What the passes beyond the published ones are to give, per cent.
WANTED = {"Whetstone-like": 15.0, "CoreMark-like": 20.0}


@functools.cache
def read(program: str) -> bytes:
    """The program's bitcode."""
    return clang.bitcode([PROGRAMS[program]], clang.Options())


@functools.cache
def expected(program: str) -> bytes:
    """What the program prints on this CPU."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "native"
        subprocess.run([clang.find(), "-O1", "-ffp-contract=off", str(PROGRAMS[program]), "-o", str(made), "-lm"], check=True)
        return subprocess.run([str(made)], check=True, capture_output=True).stdout


#: What has been simulated: tables share numbers.
_KNOWN: dict[str, int] = {}


def cycles(program: str, processor: Processor, without: tuple[str, ...] = ()) -> int:
    """Cycles of a program, compiled for a processor without some passes.

    Raises ``AssertionError`` where its output is another.
    """
    key = f"{program} {processor} {without}"
    if key in _KNOWN:
        return _KNOWN[key]
    settings = Settings(passes=tuple(lw.without(name) for name in without))
    made = simulated.build(read(program), program, Multiclet(processor), settings)
    _, simulator = simulated.run(made, [program], timing=True)
    assert bytes(simulator.output) == expected(program), (program, processor.name, without, simulator.output)
    assert simulator.timing is not None
    _KNOWN[key] = simulator.timing.cycles
    print(
        f"{program}, {processor.name}, {len(without)} passes left out: {simulator.commands} commands, {simulator.timing.cycles} cycles",
        file=sys.stderr,
        flush=True,
    )
    return simulator.timing.cycles


def settings_table(quick: bool) -> tuple[report.Table, dict[str, list[float]]]:
    """The gains of phis through the switch, and of all further passes, on each processor and as fitted parameters move by a cycle; and the latter on the S1 and the S2."""
    table = report.Table(
        "Multiclet, C programs: gains by phis through the switch, and by all further passes",
        ["processor", *[word for name in PROGRAMS for word in (f"{name}, cycles", "by phis", "by further passes")]],
    )
    fitted = [name for name, fact in FACTS.items() if "F" in fact.status]
    cases = [("S2", S2)] if quick else [("R1", R1), ("S1", S1), ("S2", S2)]
    for name in [] if quick else fitted:
        value = S2.latencies[name].cycles if name in S2.latencies else getattr(S2, name)
        cases += [(f"S2, {name} {each}", S2.with_parameters(**{name: each})) for each in (value - 1, value + 1) if each > 0]
    memory = tuple(each for each in PASSES if each != "constants")
    published = tuple(each for each in PASSES if each not in PUBLISHED)
    further: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for called, processor in cases:
        row = [called]
        for name in PROGRAMS:
            first, second, third = cycles(name, processor, memory), cycles(name, processor, published), cycles(name, processor)
            row += [str(third), f"{gain(first, second):+.1f} %", f"{gain(second, third):+.1f} %"]
            if processor.crosses:
                further[name].append(gain(second, third))
        table.rows.append(row)
    return table, further


def compile_time(quick: bool) -> float:
    """The time that a command takes to compile for the S2, to what an instruction takes for x86-64: of both programs, the geometric mean."""
    ratios = []
    for program in PROGRAMS:
        each = []
        for target in (Multiclet(S2), registry.get("x86-64-v3")):
            least = math.inf
            for _ in range(1 if quick else 5):
                functions, _globals = functions_and_globals(read(program), program)
                start = time.process_time()
                made = [compiler.compile(f, target) for f in functions]
                least = min(least, (time.process_time() - start) / sum(len(one.function.code) for one in made))
            each.append(least)
        ratios.append(each[0] / each[1])
    return math.prod(ratios) ** (1 / len(ratios))


def run(quick: bool) -> report.Result:
    """All tables."""
    result = report.Result("multiclet_c")
    table, further = settings_table(quick)
    result.tables.append(table)
    if not quick:
        result.tables.append(passes_table(S2, ", C programs", PROGRAMS, cycles))
    memory = tuple(each for each in PASSES if each != "constants")
    published = tuple(each for each in PASSES if each not in PUBLISHED)
    for name in PROGRAMS:
        gained = gain(cycles(name, S2, memory), cycles(name, S2, published))
        result.verdicts.append(report.Verdict(f"{name}: faster by phis through the switch (published {GAINS[name]} %)", gained, None, "%"))
        wanted = WANTED[name]
        result.verdicts.append(
            report.Verdict(
                f"{name}: {wanted:.0f} % less what the passes beyond the published ones give at the least favourable parameters of S1 and S2",
                wanted - min(further[name]),
                0.0,
                "%",
                True,
            )
        )
    result.verdicts.append(report.Verdict("compile time a command of the S2, to x86-64's an instruction", compile_time(quick), 2.0, "x", True))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
