"""How long does it take to find the least initiation interval of a loop nest by integer programming? And how far from it is the fast scheduler?

python -m benchmarks.planning [--quick] [--picture FILE]
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import loopwright as lw
from benchmarks import measure, report
from loopwright.nests.analysis.graph import Graph, resource_bound
from loopwright.pipelining.modulo import modulo_schedule
from loopwright.pipelining.schedule import Schedule, live
from loopwright.planning import generate, loops
from loopwright.planning.circuits import OrderError, circuits_bound, outer_shifts
from loopwright.planning.compact import compact
from loopwright.planning.encoding import Encoding, PlanningError, available
from loopwright.planning.factors import cell
from loopwright.planning.optimum import least_interval
from loopwright.targets.core import Core
from loopwright.targets.x86.core import CORE as X86

#: One thread of the solver, and the same seed of its choices, everywhere.
WORKERS, SEED = 1, 1
SIZES = (10, 20, 50, 100, 150, 200)
#: Sizes of real graphs, up to each.
BUCKETS = (20, 50, 100, 200, 300)
MINUTE = 60.0
#: Distances beyond are none: all that is known is a direction.
_FAR = 1 << 32

#: What is judged: figure, target, unit.
_MISSED = ("graphs of up to 100 operations for which the fast scheduler's interval is not the least", 5.0, "%")
_MEDIAN = ("integer programme, graphs of up to 100 operations: median solving time", 1.0, "s")

#: (name, what is changed, what it is compared with); each in one process, graph by graph.
_SEARCH = Encoding(slots="booleans")
_DIRECT = Encoding(slots="booleans", circuits=False)
VARIANTS = [
    ("slots in turns", Encoding(), _SEARCH),
    ("slots as integers", Encoding(slots="integers"), _SEARCH),
    ("one inequality an edge", Encoding(slots="booleans", dependences="linear"), _SEARCH),
    ("no windows", Encoding(slots="booleans", windows=False), _SEARCH),
    ("no breaking of symmetry", Encoding(slots="booleans", symmetry=False), _SEARCH),
    ("interval as a variable (integers)", Encoding(slots="integers", interval="variable"), Encoding(slots="integers")),
    ("all edges and shifts at once", _DIRECT, _SEARCH),
]
_LINEAR = Encoding(slots="booleans", circuits=False, dependences="linear")
DISTANCES = [
    ("large weights", Encoding(slots="booleans", circuits=False, dependences="linear", distances="weights"), _LINEAR),
    ("large weights, slots as integers", Encoding(slots="integers", circuits=False, distances="weights"), Encoding(slots="integers", circuits=False)),
    ("shifts of whole iterations", Encoding(slots="booleans", circuits=False, dependences="linear", shifts="iterations"), _LINEAR),
]


class Case:
    """A graph to be solved, and what came of it."""

    def __init__(self, kind: str, name: str, graph: Graph, core: Core, copies: int = 1, nominal: int = 0) -> None:
        self.kind = kind
        self.name = name
        self.graph = graph
        self.core = core
        self.copies = copies
        self.size = nominal or len(graph.nodes)
        self.seconds = 0.0
        self.proven = False
        self.interval = 0
        self.bound = 0
        self.fast = 0
        self.fast_seconds = 0.0

    def row(self) -> dict[str, Any]:
        kept = {key: value for key, value in vars(self).items() if key not in ("graph", "core")}
        return {**kept, "nodes": len(self.graph.nodes), "edges": len(self.graph.edges), "loops": self.graph.depth, "core": self.core.name}


def random_cases(quick: bool) -> list[Case]:
    """Bodies of one loop and cells of two and three: as in loops of numbers, with dense circuits, with long ones."""
    return [
        Case("random", f"{kind} {size} {depth} {seed}", *_drawn(size, depth, seed, circuits), size)
        for size in ((10, 50) if quick else SIZES)
        for depth in (1, 2, 3)
        for kind, circuits in (("plain", generate.PLAIN), ("dense", generate.DENSE), ("long", generate.LONG))
        for seed in range(1 if quick else 3)
    ]


def _drawn(size: int, depth: int, seed: int, circuits: generate.Circuits) -> tuple[Graph, Core, int]:
    graph, copies = generate.cell(size, depth, seed, circuits)
    return graph, generate.CORE, copies


def shifted_cases(quick: bool) -> list[Case]:
    """Cells of three loops that have no order of execution unless operations are shifted in outer loops."""
    drawn = [
        Case("random", f"dense {size} 3 {seed}", *_drawn(size, 3, seed, generate.DENSE), size)
        for size in ((40,) if quick else (20, 40, 60, 80, 100))
        for seed in range(16)
    ]
    return [case for case in drawn if any(map(any, outer_shifts(case.graph)))]


def real_cases(quick: bool) -> list[Case]:
    """The innermost loops of the corpora and of ``benchmarks/nests.py`` for the model of x86-64, and their cells where there are loops around them."""
    found = [(name, graph) for corpus in ("kernels", "programs") for name, graph in loops.of_corpus(corpus, X86)] + _nests()
    cases: list[Case] = []
    for name, graph in found:
        if len(graph.nodes) >= 10:
            cases.append(Case("real", name, graph, X86))
        if graph.depth > 1:
            chosen = (4,) if graph.depth == 2 else (*[1] * (graph.depth - 3), 2, 2)
            jammed = cell(graph, chosen)
            if 10 <= len(jammed.nodes) <= BUCKETS[-1] and _ordered(jammed):
                cases.append(Case("real", f"{name} by {' and '.join(map(str, chosen))}", jammed, X86, 4))
    return cases[:: max(1, len(cases) // 12)] if quick else cases


def _ordered(graph: Graph) -> bool:
    """Whether an order of execution exists, of what is known; distances without a bound are left alone."""
    if any(abs(component) > _FAR for edge in graph.edges for component in edge.distance):
        return False
    try:
        outer_shifts(graph)
    except OrderError:
        return False
    return True


def _nests() -> list[tuple[str, Graph]]:
    nests: Any = importlib.import_module("benchmarks.nests")
    found = []
    for nest in nests.NESTS:
        arguments = nest.arguments(4)
        space = nests._names(arguments[-1].dtype, lw.sqrt, lw.min, lw.max)
        exec(nest.python, space)  # noqa: S102 (the loops there)
        function = space["nest"]
        types = [lw.Array[getattr(lw, {"d": "f64", "f": "f32", "i": "i32", "B": "u8"}[a.dtype.char]), a.ndim] for a in arguments]
        function.__annotations__.update(zip(function.__code__.co_varnames, types, strict=False))
        kernel = lw.kernel(source=nest.python, nests="off")(function)
        found += [(nest.name, graph) for graph in loops.of_function(kernel.stage(kernel.signature((), {}), False), X86)]
    return found


def solve(case: Case, seconds: float) -> None:
    """The least interval, and that of the fast scheduler."""
    start = process_time()
    found = least_interval(case.graph, case.core, seconds, workers=WORKERS, seed=SEED)
    case.seconds, case.proven, case.bound = process_time() - start, found.proven, found.bound
    case.interval = found.schedule.interval if found.schedule is not None else 0
    start = process_time()
    fast = modulo_schedule(case.graph, case.core)
    case.fast_seconds = process_time() - start
    case.fast = fast.interval if fast is not None else 0


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _curve(title: str, groups: list[tuple[str, list[Case]]], limit: float) -> report.Table:
    table = report.Table(
        title,
        ["graphs", "number", "median", "90 %", "longest", "within 1 s", f"within {limit:.0f} s", "interval = bound"],
    )
    for name, cases in groups:
        if not cases:
            continue
        times = [case.seconds if case.proven else math.inf for case in cases]
        cells = [_time(t) if t < math.inf else f"> {limit:.0f} s" for t in (measure.median(times), _quantile(times, 0.9), max(times))]
        shares = [f"{sum(t <= 1.0 for t in times) / len(times):.0%}", f"{sum(t < math.inf for t in times) / len(times):.0%}"]
        table.rows.append([name, str(len(cases)), *cells, *shares, _tight(cases)])
    return table


def _tight(cases: list[Case]) -> str:
    proven = [case for case in cases if case.proven]
    met = sum(case.interval == max(resource_bound(case.graph, case.core), circuits_bound(case.graph)) for case in proven)
    return f"{met / len(proven):.0%}" if proven else "-"


def _largest(cases: list[Case], limit: float) -> str:
    solved = [case for case in cases if case.proven and case.seconds <= limit]
    return max((f"{len(case.graph.nodes):4d} ({case.name}, {_time(case.seconds)})" for case in solved), default="none").strip()


class Shaped:
    """A case whose schedule was made compact, and what the fast scheduler makes of it."""

    def __init__(self, case: Case, fast: Schedule, first: Schedule, seconds: float) -> None:
        start = process_time()
        shape = compact(case.graph, case.core, first, seconds, registers=False)
        self.shaping = process_time() - start
        start = process_time()
        found = compact(case.graph, case.core, shape.schedule, seconds)
        self.allocating = process_time() - start
        self.shaped = shape.stages_proven
        self.allocated = found.registers_proven
        self.stages = found.stages / fast.stages
        self.registers = found.registers / max(1, live(case.graph, fast))


def _shapes(cases: list[Case], seconds: float) -> report.Table:
    table = report.Table(
        f"With the least interval: fewest shifts and stages, then fewest live values; {seconds:.0f} s for each",
        [
            "size",
            "graphs",
            "shape, median",
            "shape proven",
            "stages to the fast scheduler's",
            "registers, median",
            "registers proven",
            "to the fast scheduler's",
        ],
    )
    for size in sorted({case.size for case in cases}):
        found = []
        for case in cases:
            if case.size == size:
                best = least_interval(case.graph, case.core, seconds, workers=WORKERS, seed=SEED).schedule
                fast = modulo_schedule(case.graph, case.core)
                if best is not None and fast is not None and fast.interval == best.interval:
                    found.append(Shaped(case, fast, min(best, fast, key=lambda s: s.stages), seconds))
        if found:
            cells = [_time(measure.median([f.shaping for f in found])), f"{sum(f.shaped for f in found) / len(found):.0%}"]
            cells += [f"{_mean([f.stages for f in found]):.2f}", _time(measure.median([f.allocating for f in found]))]
            cells += [f"{sum(f.allocated for f in found) / len(found):.0%}", f"{_mean([f.registers for f in found if f.registers]):.2f}"]
            table.rows.append([str(size), str(len(found)), *cells])
    return table


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _encodings(title: str, variants: Sequence[tuple[str, Encoding, Encoding]], cases: list[Case], limit: float) -> report.Table:
    """Ratios of times, a programme that is not solved counting as the limit; the geometric mean over graphs."""
    table = report.Table(title, ["encoding", "graphs", "time to that without", "longest", "unsolved", "unsolved without", "interval to that without"])
    known: dict[tuple[int, Encoding], tuple[float, bool, int]] = {}

    def ask(number: int, encoding: Encoding) -> tuple[float, bool, int]:
        if (number, encoding) not in known:
            case = cases[number]
            start = process_time()
            found = least_interval(case.graph, case.core, limit, encoding, case.copies, WORKERS, SEED)
            known[number, encoding] = (
                min(limit, process_time() - start) if found.proven else limit,
                found.proven,
                found.schedule.interval if found.schedule is not None else 0,
            )
        return known[number, encoding]

    for name, changed, plain in variants:
        pairs = [(ask(number, changed), ask(number, plain)) for number in range(len(cases))]
        intervals = [a[2] / b[2] for a, b in pairs if a[1] and b[1]]
        table.rows.append(
            [
                name,
                str(len(pairs)),
                f"{_mean([a[0] / b[0] for a, b in pairs]):.2f}",
                _time(max(a[0] for a, _ in pairs)),
                str(sum(not a[1] for a, _ in pairs)),
                str(sum(not b[1] for _, b in pairs)),
                f"{_mean(intervals):.2f}",
            ]
        )
    return table


def run(quick: bool) -> report.Result:
    """Solve random and real graphs, compare encodings, and the fast scheduler with the optimum."""
    result = report.Result("planning")
    try:
        available()
    except PlanningError as error:
        result.verdicts += [report.Verdict(figure, None, most, unit, why=str(error)) for figure, most, unit in (_MISSED, _MEDIAN)]
        return result
    limit = 5.0 if quick else MINUTE
    random, real = random_cases(quick), real_cases(quick)
    for case in [*random, *real]:
        solve(case, limit)
    sizes = sorted({case.size for case in random})
    result.tables.append(
        _curve(
            "Least initiation interval, random graphs: solving time, one thread",
            [
                (f"{size} operations, {depth} loop{'s' * (depth > 1)}", [c for c in random if c.size == size and c.graph.depth == depth])
                for size in sizes
                for depth in (1, 2, 3)
            ],
            limit,
        )
    )
    lower = (9, *BUCKETS)
    result.tables.append(
        _curve(
            "Least initiation interval, graphs of real loops: solving time, one thread",
            [(f"{low + 1} to {high} operations", [c for c in real if low < c.size <= high]) for low, high in zip(lower, BUCKETS, strict=False)],
            limit,
        )
    )
    largest = report.Table("Largest graphs solved, operations", ["graphs", "in a second", "in a minute"])
    for name, cases in (("random", random), ("real", real)):
        largest.rows.append([name, _largest(cases, 1.0), _largest(cases, MINUTE)])
    result.tables.append(largest)
    first = [c for c in random if c.name.endswith(" 0")]
    compared = [c for c in first if c.size == 10] if quick else [c for c in first if 10 < c.size <= 100 or (c.size == 200 and c.graph.depth == 1)]
    result.tables.append(_encodings("The effect of the encoding on the solving time", VARIANTS, compared, 2.0 if quick else 5.0))
    result.tables.append(_encodings("Vectors and shifts: cells that need shifts in outer loops", DISTANCES, shifted_cases(quick), 2.0 if quick else 5.0))
    result.tables.append(_shapes([c for c in random if c.name.endswith(" 1" if not quick else " 0") and c.size <= 100], 2.0 if quick else 5.0))
    _judge(result, [*random, *real])
    result.notes.append(
        f"OR-Tools {importlib.import_module('ortools').__version__}; a graph is solved once; times are the processor's, and include making the programme, in Python; limits are by the clock"
    )
    result.notes.append("'interval = bound': of those solved, the share whose least interval is the greater of the bounds by units and by circuits")
    result.data["graphs"] = [case.row() for case in [*random, *real]]
    return result


def _judge(result: report.Result, cases: list[Case]) -> None:
    table = report.Table(
        "The fast scheduler and the optimum, graphs of up to 100 operations",
        ["graphs", "solved", "same interval", "most above", "its median time", "its longest"],
    )
    for name in ("random", "real"):
        solved = [case for case in cases if case.kind == name and case.proven and len(case.graph.nodes) <= 100]
        if solved:
            same = sum(case.fast == case.interval for case in solved) / len(solved)
            most = max(case.fast / case.interval - 1 for case in solved)
            times = [case.fast_seconds for case in solved]
            table.rows.append([name, str(len(solved)), f"{same:.1%}", f"{most:.0%}", f"{measure.median(times) * 1e3:.1f} ms", _time(max(times))])
    result.tables.append(table)
    solved = [case for case in cases if case.proven and len(case.graph.nodes) <= 100]
    missed = sum(case.fast != case.interval for case in solved) / len(solved) * 100
    result.verdicts.append(report.Verdict(_MISSED[0], missed, *_MISSED[1:]))
    every = [case.seconds if case.proven else math.inf for case in cases if len(case.graph.nodes) <= 100]
    result.verdicts.append(report.Verdict(_MEDIAN[0], measure.median(every), *_MEDIAN[1:]))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The times of solving against size, as a picture."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "loopwright"
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(7.0, 3.8), layout="constrained")
    for depth in (1, 2, 3):
        chosen = [row for row in rows if row["kind"] == "random" and row["loops"] == depth]
        sizes = sorted({row["size"] for row in chosen})
        _points(axes, chosen, f"C{depth - 1}", ".", "")
        medians = [measure.median([row["seconds"] for row in chosen if row["size"] == size]) for size in sizes]
        axes.plot(sizes, medians, color=f"C{depth - 1}", label=f"random, {depth} loop{'s' * (depth > 1)}: median")
    _points(axes, [row for row in rows if row["kind"] == "real"], "grey", "+", "real loops")
    axes.axhline(1.0, color="grey", linewidth=0.6)
    axes.axhline(MINUTE, color="grey", linewidth=0.6)
    axes.set(xlabel="operations", ylabel="seconds", yscale="log")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _points(axes: Any, rows: list[dict[str, Any]], color: str, marker: str, label: str) -> None:
    solved = [row for row in rows if row["proven"]]
    axes.scatter(
        [row["nodes"] for row in solved], [row["seconds"] for row in solved], s=14, c=color, marker=marker, linewidths=0.8, alpha=0.6, label=label or None
    )
    rest = [row for row in rows if not row["proven"]]
    axes.scatter([row["nodes"] for row in rest], [row["seconds"] for row in rest], s=24, facecolors="none", edgecolors=color, marker="^", linewidths=0.8)


def main() -> int:
    """The command."""
    parser = report.options(__doc__ or "")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw times against sizes there, as PNG or SVG (takes Matplotlib)")
    arguments = parser.parse_args()
    result = run(arguments.quick)
    report.show(result)
    print(f"saved as {report.save(result, arguments.output, arguments.quick)}")
    if arguments.picture is not None:
        draw(result.data["graphs"], arguments.picture)
    return int(arguments.strict and report.failed([result]))


if __name__ == "__main__":
    sys.exit(main())
