"""Multiclet processors: what each pass of their compiler is worth, how that moves with the fitted parameters, cells, places of the switch and paragraph
changes against
speed, and how far orders of commands are from their lower bounds. Everything is simulated, and its results are compared with those on this CPU.

python -m benchmarks.multiclet [--quick]
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import report
from benchmarks.multiclet_kernels import PROGRAMS
from loopwright import compiler
from loopwright.errors import InternalError
from loopwright.settings import Settings
from loopwright.targets.multiclet.bounds import alone, lower_bound, optimum
from loopwright.targets.multiclet.linker import Program, link
from loopwright.targets.multiclet.parameters import FACTS, S1, S2, Processor
from loopwright.targets.multiclet.program import Unit
from loopwright.targets.multiclet.shape import shape_of
from loopwright.targets.multiclet.simulator import Simulator
from loopwright.targets.multiclet.target import Multiclet

#: Where the first array is put.
ARRAYS = 1 << 18
MEMORY = 1 << 20
_TYPES = {"float64": lw.f64, "int16": lw.i16, "int32": lw.i32, "int64": lw.i64, "uint8": lw.u8}
#: The passes that may be left out, in the order of the list.
PASSES = [each.name for each in Multiclet(S2).passes() if each.optional]
#: Those of the published compilers.
PUBLISHED = ("constants", "phis")
#: Published gains of phis through the switch (docs/multiclet.md), per cent.
GAINS = {"Whetstone-like": 6.5, "CoreMark-like": 6.7}


def unit_of(kernel: Any, values: tuple[Any, ...], processor: Processor, without: tuple[str, ...] = ()) -> Unit:
    """A kernel's code for a processor and the types of some values, without some passes."""
    types = [lw.Array[_TYPES[value.dtype.name]] if isinstance(value, np.ndarray) else _TYPES[np.asarray(value).dtype.name] for value in values]
    source = kernel.compile(*types, target="multiclet-s2").compiled.source
    settings = Settings(passes=tuple(lw.without(name) for name in without))
    made: Unit = compiler.compile(source, Multiclet(processor), settings).machine.unit
    return made


class Prepared:
    """A kernel in a simulator, and its arguments there.

    Attributes:
        arguments: as ``Simulator.call`` takes them.
        places: (address, array) of the arrays.
    """

    def __init__(self, kernel: Any, values: tuple[Any, ...], processor: Processor, without: tuple[str, ...] = ()) -> None:
        unit = unit_of(kernel, values, processor, without)
        self.label = unit.paragraphs[0].label
        self.simulator = Simulator(link([unit], processor, memory=MEMORY), timing=True)
        self.arguments: list[tuple[str, Any]] = []
        self.places: list[tuple[int, Any]] = []
        at = ARRAYS
        for value in values:
            if isinstance(value, np.ndarray):
                self.places.append((at, value))
                self.arguments += [("l", at), ("q", len(value))]
                at += -(-value.nbytes // 64) * 64
            else:
                scalar = np.asarray(value)
                self.arguments.append((_letter(scalar.dtype), scalar.item()))

    def call(self, returns: str = "") -> Any:
        """Run the kernel on the arrays as they are."""
        for at, value in self.places:
            self.simulator.memory[at : at + value.nbytes] = value.tobytes()
        return self.simulator.call(self.label, *self.arguments, returns=returns)


def simulated(kernel: Any, values: tuple[Any, ...], processor: Processor, without: tuple[str, ...] = ()) -> Simulator:
    """A simulator that has run a kernel; its results are those of this CPU."""
    prepared = Prepared(kernel, values, processor, without)
    expected = kernel(*[value.copy() if isinstance(value, np.ndarray) else value for value in values])
    found = prepared.call("" if expected is None else _letter(np.asarray(expected).dtype))
    kernel(*values)
    for at, value in prepared.places:
        assert bytes(prepared.simulator.memory[at : at + value.nbytes]) == value.tobytes(), kernel
    if expected is not None:
        assert np.asarray(found).astype(np.asarray(expected).dtype) == expected, kernel
    return prepared.simulator


def _letter(dtype: Any) -> str:
    return {"f4": "f", "f8": "d"}.get(dtype.str[1:]) or {1: "b", 2: "s", 4: "l", 8: "q"}[dtype.itemsize]


def cycles(program: str, processor: Processor, without: tuple[str, ...] = ()) -> int:
    """Cycles of a program's kernels together."""
    total = 0
    for kernel, make in PROGRAMS[program]:
        timing = simulated(kernel, make(), processor, without).timing
        assert timing is not None
        total += timing.cycles
    return total


def gain(before: int, after: int) -> float:
    """How much faster, per cent."""
    return 100 * (before / after - 1)


def passes_table(
    processor: Processor, what: str = "", programs: Iterable[str] = PROGRAMS, counted: Callable[[str, Processor, tuple[str, ...]], int] = cycles
) -> report.Table:
    """Cycles as the passes are added one after the other, and without each of them alone.

    Args:
        processor: what the programs run on.
        what: what they are, for the title.
        programs: their names.
        counted: the cycles of one without some passes.
    """
    table = report.Table(
        f"Multiclet, {processor.name}{what}: simulated cycles as passes are added",
        ["passes", *[word for name in programs for word in (name, "faster by", "without it alone")]],
    )
    before: dict[str, int] = {}
    for count in range(len(PASSES) + 1):
        row = ["none" if count == 0 else f"+ {PASSES[count - 1]}"]
        for name in programs:
            now = counted(name, processor, tuple(PASSES[count:]))
            left_out = counted(name, processor, (PASSES[count - 1],)) if count else 0
            row += [str(now), f"{gain(before[name], now):+.1f} %" if count else "", str(left_out) if count else ""]
            before[name] = now
        table.rows.append(row)
    return table


def _three(name: str, processor: Processor) -> tuple[int, int, int]:
    """Cycles with phis through memory, with the published passes, with all."""
    memory = tuple(each for each in PASSES if each != "constants")
    published = tuple(each for each in PASSES if each not in PUBLISHED)
    return cycles(name, processor, memory), cycles(name, processor, published), cycles(name, processor)


def sensitivity_table(quick: bool) -> tuple[report.Table, dict[str, list[float]]]:
    """The gains of phis through the switch, and of all further passes, as fitted parameters move by a cycle."""
    table = report.Table(
        "Multiclet S2: gains by phis through the switch, and by all further passes, as fitted parameters move by a cycle",
        ["parameter", *[word for name in PROGRAMS for word in (f"{name}, phis", "further passes")]],
    )
    fitted = [name for name, fact in FACTS.items() if "F" in fact.status]
    cases = [("as published", S2)]
    for name in fitted[:1] if quick else fitted:
        value = S2.latencies[name].cycles if name in S2.latencies else getattr(S2, name)
        cases += [(f"{name} {each}", S2.with_parameters(**{name: each})) for each in (value - 1, value + 1) if each > 0]
    further: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for called, processor in cases:
        row = [called]
        for name in PROGRAMS:
            memory, published, everything = _three(name, processor)
            further[name].append(gain(published, everything))
            row += [f"{gain(memory, published):+.1f} %", f"{further[name][-1]:+.1f} %"]
        table.rows.append(row)
    return table, further


def architecture_table(quick: bool) -> report.Table:
    """Cells, places of the switch, and cycles of a change of paragraph against speed."""
    table = report.Table("Multiclet S2 with other numbers: speed, the S2 being 1", ["processor", *PROGRAMS])
    base = {name: cycles(name, S2) for name in PROGRAMS}
    rows: list[dict[str, int]] = []
    for cells in (1, 2, 4, 8, 16):
        rows.append({"cells": cells, "fetch": cells, "memory_ports": cells, "float_units": max(1, cells // 2)})
    rows += [{"depth": depth} for depth in (15, 31, 63, 127, 255)]
    rows += [{"change": change} for change in (0, 1, 2, 3)]
    for numbers in rows[:3] if quick else rows:
        processor = S2.with_parameters(**numbers)
        shown = next(iter(numbers))
        table.rows.append([f"{shown} {numbers[shown]}", *[_speed(base[name], name, processor) for name in PROGRAMS]])
    return table


def _speed(base: int, name: str, processor: Processor) -> str:
    """How many times as fast as another a processor is, or that the compiler gives up on it."""
    try:
        return f"{base / cycles(name, processor):.2f}"
    except InternalError:
        return "fails"


def straight(seed: int, operations: int) -> Unit:
    """A kernel without branches: random operations on elements of an array and on each other's results."""
    rng = random.Random(seed)
    near = rng.choice([4, 8, 40])
    lines = ["def straight(x: lw.Array[lw.i64]):"]
    names: list[str] = []
    for n in range(operations):
        if n < 3 or rng.random() < 0.15:
            lines.append(f"    v{n} = x[{rng.randrange(16)}]")
        else:
            a, b = rng.choice(names[-near:]), rng.choice(names)
            lines.append(f"    v{n} = {a} {rng.choice(['+', '-', '*', '^', '&', '|', '+', '-'])} {b}")
        names.append(f"v{n}")
    lines.append("    x[16] = " + " ^ ".join(names[-4:]))
    known: dict[str, Any] = {"lw": lw}
    text = "\n".join(lines) + "\n"
    exec(compile(text, "<straight>", "exec"), known)  # noqa: S102 (written above)
    kernel = lw.kernel(known["straight"], source=text, nests="off")
    return unit_of(kernel, (np.zeros(20, np.int64),), S2)


def orders_table(quick: bool) -> tuple[report.Table, float]:
    """How many cycles paragraphs take in the compiler's order, beside bounds for any order; and the median distance, per cent."""
    table = report.Table(
        "Multiclet S2: straight paragraphs of up to 64 commands in the compiler's order, and what no order can be below",
        ["commands", "paragraphs", "median above the bound", "above the optimum (CP-SAT)", "optimum proven"],
    )
    distances: list[float] = []
    for size in (10, 40, 80) if quick else (10, 20, 40, 60, 80):
        above, over, proven, counts = [], [], 0, []
        for seed in range(4 if quick else 12):
            program: Program = link([straight(seed, size)], S2, memory=MEMORY)
            shape = shape_of(program, 0)
            taken, bound = alone(shape, S2).end, lower_bound(shape, S2)
            best, least = optimum(shape, S2, 5.0)
            above.append(100 * (taken / bound - 1))
            over.append(100 * (taken / least - 1))
            proven += best == least
            counts.append(len(shape.commands))
        distances += above
        table.rows.append(
            [
                f"{min(counts)} to {max(counts)}",
                str(len(above)),
                f"{statistics.median(above):.1f} %",
                f"{statistics.median(over):.1f} %",
                f"{proven} of {len(above)}",
            ]
        )
    return table, statistics.median(distances)


def speed_table(quick: bool) -> tuple[report.Table, float]:
    """Commands simulated a second of CPU time, with cycles; and the geometric mean."""
    table = report.Table("Multiclet S2: commands simulated a second of CPU time, with cycles, millions", ["kernel", "commands", "cycles", "millions a second"])
    rates: list[float] = []
    for kernel, make in [pair for program in PROGRAMS.values() for pair in program]:
        prepared = Prepared(kernel, make(), S2)
        prepared.call()
        commands, timing = prepared.simulator.commands, prepared.simulator.timing
        assert timing is not None
        cycles_once = timing.cycles
        best = 0.0
        for _ in range(2 if quick else 5):
            start, before = time.process_time(), prepared.simulator.commands
            while time.process_time() - start < 0.1:
                prepared.call()
            best = max(best, (prepared.simulator.commands - before) / (time.process_time() - start))
        rates.append(best)
        table.rows.append([kernel.function.__name__, str(commands), str(cycles_once), f"{best / 1e6:.1f}"])
    return table, math.exp(statistics.fmean(math.log(rate) for rate in rates))


def run(quick: bool) -> report.Result:
    """All tables."""
    result = report.Result("multiclet")
    for processor in (S2,) if quick else (S1, S2):
        result.tables.append(passes_table(processor))
    table, further = sensitivity_table(quick)
    result.tables += [table, architecture_table(quick)]
    orders, distance = orders_table(quick)
    simulation, rate = speed_table(quick)
    result.tables += [orders, simulation]
    for name in PROGRAMS:
        memory, published, _ = _three(name, S2)
        result.verdicts.append(report.Verdict(f"{name}: faster by phis through the switch (published {GAINS[name]} %)", gain(memory, published), None, "%"))
        wanted = {"Whetstone-like": 15.0, "CoreMark-like": 20.0}[name]
        result.verdicts.append(
            report.Verdict(
                f"{name}: {wanted:.0f} % less what the passes beyond the published ones give at the least favourable parameters",
                wanted - min(further[name]),
                0.0,
                "%",
                True,
            )
        )
    result.verdicts.append(report.Verdict("straight paragraphs: cycles above the lower bound, median", distance, 10.0, "%"))
    result.verdicts.append(report.Verdict("simulation: seconds of CPU for a million commands, with cycles", 1e6 / rate, 1.0, "s"))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
