"""How good and how fast is the register allocator? Its distance from the optimum, its part of compile time, its time for growing functions.

The optimum (``loopwright.costs.exact``) is the least weighted cost of loads, stores, moves and constants that any allocation of the
same code has; it takes OR-Tools. Functions of at most ``LIMIT`` instructions are asked about, ``FUNCTIONS`` of them taken evenly from the
corpora ``kernels`` and ``programs``. Where the solver has not proved the optimum after ``PATIENCE`` seconds, the distance is that from its lower bound.

python -m benchmarks.allocator [--quick]
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks import builds, measure, report
from loopwright import compiler
from loopwright.costs import exact
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.text import parse, print_function
from loopwright.passes import allocate, liveness
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import F64, I64, PTR, VOID, Type, vector_of

#: Median distance from the optimum, as a part of it; share of compile time; time for a ref position, largest to smallest.
GAP, SHARE, FLAT = 0.05, 0.35, 1.3
#: Instructions when it comes to allocation, brackets counted.
LIMIT = 60
#: Seconds the solver may take for a function; how many functions, and how many at a time.
PATIENCE = 10.0
FUNCTIONS = 160
PROCESSES = 2
SIZES = (100, 300, 1000, 3000, 10000)
SHAPES = ("straight", "loops", "branches", "nested")


# --- distance from the optimum ----------------------------------------------------------------------------------------


def small_functions() -> Iterator[tuple[str, Function, Target]]:
    """Functions of the corpora for the two levels of x86-64, whatever their size."""
    from loopwright.corpus import collections

    for collection in ("kernels", "programs"):
        for context in collections.contexts(collection):
            if not context.target.startswith("x86"):
                continue
            target = registry.get(context.target, context.vector_bits or None)
            if target.vector_bits == registry.get(context.target).vector_bits:
                yield f"{context.name}, {context.target}", parse(context.function), target


def _judge(given: tuple[str, str, str, int]) -> tuple[float, float, bool]:
    """What linear scan costs, the least (or its bound), and whether that is proved."""
    _, text, name, bits = given
    f, target = parse(text), registry.get(name, bits)
    _, cost = exact.allocated(f, target)
    best = exact.optimum(f, target, seconds=PATIENCE, limit=LIMIT, known=cost.total)
    proven = best.proven and best.cost is not None
    return cost.total, best.cost if proven and best.cost is not None else best.bound, proven


def _gaps(result: report.Result, count: int, worst: int) -> None:
    short = [(name, f, target) for name, f, target in small_functions() if len(compiler.run_passes(f, target, after="liveness").code) <= LIMIT]
    # (By the golden ratio: neighbours in a corpus are alike.)
    short = [short[int(k * 0.6180339887498949 % 1.0 * len(short))] for k in range(min(count, len(short)))]
    given = [(name, print_function(f), target.name, target.vector_bits) for name, f, target in short]
    found: list[tuple[float, str, float, float, Function, Target]] = []
    unproven = 0
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for (name, f, target), (cost, least, proven) in zip(short, pool.imap(_judge, given), strict=True):
            unproven += not proven
            gap = cost / least - 1 if least else (0.0 if cost == 0 else float("inf"))
            found.append((gap, name, cost, least, f, target))
    result.notes.append(f"the optimum of {len(found)} functions took {time.perf_counter() - start:.0f} s in {PROCESSES} processes")
    if not found:
        result.verdicts.append(report.Verdict("distance of linear scan from the optimum, median", None, GAP, why="no function"))
        return
    gaps = sorted(g for g, *_ in found)
    parts = {"a quarter": 0.25, "median": 0.5, "upper quartile": 0.75, "9 of 10": 0.9, "95 of 100": 0.95, "all": 1.0}
    table = report.Table(
        f"Cost above the optimum, {len(found)} functions of at most {LIMIT} instructions ({unproven} judged by a bound)",
        ["part of the functions", "at most"],
        [[name, f"{gaps[min(len(gaps) - 1, int(part * len(gaps)))]:.1%}"] for name, part in parts.items()],
    )
    table.rows.append(["at the optimum", f"{sum(g == 0 for g in gaps) / len(gaps):.0%} of them"])
    total, least = sum(row[2] for row in found), sum(row[3] for row in found)
    table.rows.append(["all costs added up", f"{total / least - 1:.1%}"])
    result.tables.append(table)
    found.sort(key=lambda row: -row[0])
    worse = report.Table("Farthest from the optimum", ["function", "linear scan", "optimum", "above"], detail=True)
    for gap, name, cost_total, best_total, f, target in found[:worst]:
        worse.rows.append([name, f"{cost_total:g}", f"{best_total:g}", f"{gap:.0%}"])
        allocated, _ = exact.allocated(f, target)
        lowered = compiler.run_passes(f, target, after="liveness")
        result.data.setdefault("listings", {})[name] = {"before": print_function(lowered), "after": print_function(allocated, target)}
    result.tables.append(worse)
    result.data["gaps"] = {name: [cost_total, best_total] for _, name, cost_total, best_total, _, _ in found}
    result.verdicts.append(report.Verdict("distance of linear scan from the optimum, median", statistics.median(gaps), GAP, unit=""))


# --- generated functions of any size ------------------------------------------------------------------------------------


class Generator:
    """Code of a given length and shape, in sections of about 100 instructions each of which keeps ``width`` integers and ``width`` vectors alive.

    A longer function is more sections: the mix of loops, references and live values is the same at every size. The
    parameters and four variables live all through it.
    """

    def __init__(self, seed: int, shape: str, size: int, width: int = 8) -> None:
        self.random = random.Random(seed)
        self.shape = shape
        self.size = size
        self.f = Function(f"{shape}_{size}", I64)
        self.vector = vector_of(F64, 4)
        self.base = self.f.param(PTR, "p")
        self.count = self.f.param(I64, "n")
        self.width = width
        self.alive: dict[int, list[int]] = {}
        self.depth = 0

    def emit(self, op: ops.Op, type_: Type, args: list[int], result: bool = True, mem: Mem | None = None, variable: int = NONE) -> int:
        dst = variable if variable >= 0 else self.f.register(type_) if result else NONE
        self.f.code.append(Instr(op, type_, dst, args, 0, 0, VOID, mem))
        return dst

    def make(self) -> Function:
        f = self.f
        self.variables = [f.register(I64, f"v{k}", True) for k in range(4)]
        for v in self.variables:
            self.emit(ops.COPY, I64, [self.count], variable=v)
        while len(f.code) < self.size:
            self.part()
        total = self.count
        for value in self.variables:
            total = self.emit(ops.ADD, I64, [total, value])
        self.emit(ops.RET, VOID, [total], False)
        return f

    def part(self) -> None:
        """About 100 instructions: values are loaded, worked on and stored."""
        start = len(self.f.code)
        for type_ in (I64, self.vector):
            self.alive[type_.number] = [self.emit(ops.LOAD_AT, type_, [self.base], mem=Mem(False, 1, 32 * k, type_.size)) for k in range(self.width)]
        while len(self.f.code) < start + 80:
            self.piece()
        for type_ in (I64, self.vector):
            for k, value in enumerate(self.alive[type_.number]):
                self.emit(ops.STORE_AT, type_, [value, self.base], False, Mem(False, 1, 32 * k, type_.size))

    def step(self) -> None:
        pick = self.random
        if pick.random() < 0.2:
            v = pick.choice(self.variables)
            self.emit(ops.ADD, I64, [v, pick.choice(self.alive[I64.number])], variable=v)
            return
        type_ = pick.choice((I64, self.vector))
        pool = self.alive[type_.number]
        op = pick.choice((ops.ADD, ops.SUB, ops.MUL, ops.XOR) if type_ is I64 else (ops.ADD, ops.MUL, ops.FMA))
        made = self.emit(op, type_, [pick.choice(pool) for _ in op.operands])
        pool[pick.randrange(len(pool))] = made

    def section(self) -> None:
        """Instructions in a bracket: what they make is not seen outside, but for a variable that adds it up."""
        kept = {number: list(pool) for number, pool in self.alive.items()}
        for _ in range(self.random.randint(6, 16)):
            self.step()
        v = self.random.choice(self.variables)
        for value in self.alive[I64.number]:
            if value not in kept[I64.number]:
                self.emit(ops.ADD, I64, [v, value], variable=v)
        for k, value in enumerate(self.alive[self.vector.number]):
            if value not in kept[self.vector.number]:
                self.emit(ops.STORE_AT, self.vector, [value, self.base], False, Mem(False, 1, 32 * k, 32))
        self.alive = kept

    def piece(self) -> None:
        pick = self.random
        kind = self.shape if self.shape != "straight" else ""
        if kind == "nested" and self.depth < 3 and pick.random() < 0.5:
            self.loop(lambda: (self.section(), self.piece()))
        elif kind in ("loops", "nested"):
            self.loop(self.section)
        elif kind == "branches":
            condition = self.emit(ops.LT, I64, [pick.choice(self.alive[I64.number]), self.count])
            self.f.types[condition] = ops.result_type(ops.LT, I64, None)
            self.emit(ops.IF, VOID, [condition], False)
            self.section()
            self.emit(ops.ELSE, VOID, [], False)
            self.section()
            self.emit(ops.END, VOID, [], False)
        for _ in range(pick.randint(2, 8)):
            self.step()

    def loop(self, body: Any) -> None:
        f = self.f
        i = f.register(I64, "i")
        self.depth += 1
        f.code.append(Instr(ops.FOR, VOID, i, [f.const(I64, 0), self.count, f.const(I64, 1)]))
        body()
        self.emit(ops.END, VOID, [], False)
        self.depth -= 1


def _references(f: Function) -> int:
    facts, _ = f.analysis
    return sum(len(interval.refs) for interval in facts.intervals if interval is not None)


def _timed(lowered: list[Function], target: Target) -> tuple[float, float]:
    """CPU seconds of liveness and of allocation: with other work on the machine, the clock on the wall tells of that."""
    live = choose = 0.0
    gc.disable()
    try:
        for function in lowered:
            f = function.clone()
            start = time.process_time()
            liveness.run(f, target)
            middle = time.process_time()
            allocate.run(f, target, Settings(ordering=DEFAULT_ORDER, prove=False))
            choose += time.process_time() - middle
            live += middle - start
    finally:
        gc.enable()
    return live, choose


def _growth(result: report.Result, rounds: int, sizes: tuple[int, ...]) -> None:
    target = registry.get("x86-64-v3")
    table = report.Table(
        "CPU time for a ref position, microseconds (least of the rounds)", ["shape", *(f"{n} instructions" for n in sizes), "largest to smallest"]
    )
    worst = 0.0
    for shape in SHAPES:
        # As many instructions for every size: of the small ones several functions, each its own.
        lowered: dict[int, list[Function]] = {}
        counts: dict[int, int] = {}
        lengths: dict[int, int] = {}
        for n in sizes:
            made = [Generator(seed, shape, n).make() for seed in range(max(1, sizes[-1] // n // 4))]
            lowered[n] = [compiler.run_passes(f, target, after="select") for f in made]
            lengths[n] = sum(len(f.code) for f in lowered[n]) // len(made)
            counts[n] = sum(_references(compiler.run_passes(f, target, after="liveness")) for f in lowered[n])
        best: dict[str, dict[int, float]] = {name: dict.fromkeys(sizes, float("inf")) for name in ("liveness", "allocate", "both")}
        for _ in range(rounds):
            for n in sizes:
                live, choose = _timed(lowered[n], target)
                for name, taken in (("liveness", live), ("allocate", choose), ("both", live + choose)):
                    best[name][n] = min(best[name][n], taken / counts[n] * 1e6)
        for name, by_size in best.items():
            each = [by_size[n] for n in sizes]
            flat = max(each) / min(each)
            table.rows.append(
                [
                    f"{shape} ({', '.join(str(lengths[n]) for n in sizes)}), {name}" if name == "both" else f"{shape}, {name}",
                    *(f"{x:.2f}" for x in each),
                    f"{flat:.2f}",
                ]
            )
            result.data[f"{shape}, {name}"] = dict(zip(map(str, sizes), each, strict=True))
            if name == "both":
                worst = max(worst, flat)
    result.tables.append(table)
    result.verdicts.append(report.Verdict("time for a ref position, 100 to 10000 instructions: largest to smallest", worst, FLAT))


# --- share of compile time ------------------------------------------------------------------------------------------------


def shares(rounds: int) -> dict[str, dict[str, float]]:
    """By function: the time from the Python function to machine code, in seconds, and the parts of it that liveness and allocation take."""
    from benchmarks.spills import plain_kernels

    found: dict[str, dict[str, float]] = {}
    for subject in plain_kernels():
        code = subject.kernel.compile(*subject.types, **subject.constants)
        target = code.target
        samples: list[dict[str, float]] = []
        for turn in range(rounds + 2):
            # As a kernel is compiled: without garbage collection.
            gc.disable()
            start = time.perf_counter()
            source = subject.source(target)
            staged = time.perf_counter() - start
            made = compiler.compile(source, target)
            gc.enable()
            if turn > 1:
                taken = staged + sum(made.times.values())
                live, choose = made.times["liveness"] / taken, made.times["allocate"] / taken
                samples.append({"all": taken, "liveness": live, "allocate": choose, "both": live + choose})
        found[subject.name] = {key: measure.median([s[key] for s in samples]) for key in samples[0]}
    return found


def _share(result: report.Result, rounds: int) -> None:
    found = {builds.here(): shares(rounds)}
    if builds.here() == builds.NATIVE:
        with builds.Worker(builds.PURE) as worker:
            found[builds.PURE] = worker.call("benchmarks.allocator:shares", rounds)
    heads = [head for build in found for head in (f"{build}: all, us", "liveness", "allocate", "both")]
    table = report.Table("Share of compile time, from the Python function to machine code (median)", ["function", *heads])
    for name in found[builds.here()]:
        row = [name]
        for by_name in found.values():
            part = by_name[name]
            row += [f"{part['all'] * 1e6:.0f}", f"{part['liveness']:.0%}", f"{part['allocate']:.0%}", f"{part['both']:.0%}"]
        table.rows.append(row)
    result.tables.append(table)
    result.data["share"] = found
    largest = [max(part["both"] for part in by_name.values()) for by_name in found.values()]
    pure = largest[1] if len(largest) > 1 else None
    result.verdicts.append(report.Verdict("liveness and allocation, share of compile time: largest", largest[0], SHARE, unit="", pure=pure))


def run(quick: bool = False) -> report.Result:
    """Measure the allocator."""
    result = report.Result("allocator")
    _share(result, 3 if quick else 31)
    _growth(result, 1 if quick else 7, SIZES[:3] if quick else SIZES)
    try:
        exact.available()
        _gaps(result, 12 if quick else FUNCTIONS, 5 if quick else 25)
    except exact.ExactError as error:
        result.verdicts.append(report.Verdict("distance of linear scan from the optimum, median", None, GAP, why=str(error)))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
