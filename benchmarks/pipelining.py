"""Software pipelining of loop nests on machines that run in order: what the inventors' paper says, what is computed, and what a simulated machine counts.

The examples are those of Vyukova and Samborsky, "Multi-dimensional loop pipelining" (2024). Everything runs with values, which are compared with the nest's as
written.

python -m benchmarks.pipelining [--quick]
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import loopwright as lw
from benchmarks import report
from loopwright.ir.interpret import run as interpret
from loopwright.nests.analysis.dependence import Dependence, dependences
from loopwright.nests.analysis.graph import Graph, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import Nest, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.jam import Refusal, refusal
from loopwright.pipelining.body import Body, body_graph, first_touches, read_body
from loopwright.pipelining.machines import CORTEX_A53, PAPER, Machine
from loopwright.pipelining.modulo import modulo_schedule
from loopwright.pipelining.schedule import Schedule, check
from loopwright.pipelining.simulator import Run, Space, simulate
from loopwright.pipelining.walks import Cell, Step, exchanged, in_text_order, scheduled, strips


@lw.kernel
def example1(a: lw.Array):
    for j in range(1, a.shape[0]):
        a[j] = lw.sqrt(a[j - 1])


@lw.kernel
def example2(a: lw.Array):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1])


@lw.kernel
def example3(a: lw.Array):
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = lw.sqrt(a[i, j - 1])


@lw.kernel
def example4(a: lw.Array):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j])


@lw.kernel
def example5(a: lw.Array):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j + 1])


@lw.kernel
def example6(a: lw.Array):
    for k in range(2, a.shape[0]):
        for i in range(2, a.shape[1]):
            for j in range(a.shape[2] - 1):
                a[k, i, j] = lw.sqrt(a[k, i - 2, j + 1] * a[k - 2, i, j + 1])


@lw.kernel
def example7(a: lw.Array):
    for k in range(1, a.shape[0]):
        for i in range(a.shape[1] - 1):
            for j in range(a.shape[2]):
                a[k, i, j] = lw.sqrt(a[k - 1, i + 1, j])


@lw.kernel
def seidel(a: lw.Array):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25


@lw.kernel
def recursive(a: lw.Array):
    for i in range(a.shape[0]):
        for j in range(2, a.shape[1]):
            a[i, j] = 0.2 * a[i, j] + 0.3 * a[i, j - 1] + 0.1 * a[i, j - 2]


@lw.kernel
def smoothed(a: lw.Array):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 0.5 + a[i - 1, j] * 0.5


#: The sides of arrays, a side longer than the paper's cache has elements; by how much the last grows to see what one iteration more
#: takes, the others by half of it: as many as lines have elements, and cells iterations.
ROWS, COLUMNS, LONG = 6, 25, 65
GROWTH = 8


@dataclass
class Example:
    """A nest, and how its innermost loop is scheduled for a machine."""

    kernel: lw.Kernel
    nest: Nest
    body: Body
    found: list[Dependence]
    machine: Machine
    wanted: dict[tuple[int, ...], np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        """The dependence graph of its body, for the machine."""
        return body_graph(self.body, self.found, self.machine.core, self.machine.forwarding)

    @property
    def depth(self) -> int:
        """Its loops."""
        return len(self.nest.loops)

    def jam_refusal(self, depth: int, factor: int) -> Refusal | None:
        """What keeps iterations of a loop from being jammed as they stand."""
        return refusal(self.nest, self.nest.loops[depth], factor, self.found, scalars(self.nest))

    def strips_work(self, depth: int, factor: int, slope: int) -> bool:
        """Whether strips along diagonals compute what the nest does."""
        try:
            self.run((ROWS, *[COLUMNS] * (self.depth - 1)), lambda space: strips(len(self.body.operations), space.counts, depth, factor, slope))
        except ValueError:
            return False
        return True

    def run(self, shape: tuple[int, ...], walk: Callable[[Space], Iterator[Step]]) -> tuple[Run, int]:
        """What a walk costs, and how many iterations the nest has. Raises ``ValueError`` where another result comes out than that of the nest as written."""
        array = _aligned(shape)
        wanted = self.wanted.get(shape)
        if wanted is None:
            wanted = self.wanted[shape] = array.copy()
            interpret(self.nest.f, wanted)
        space = Space(self.nest, self.body, [array])
        found = simulate(space, self.machine, walk(space))
        if not np.array_equal(array, wanted):
            raise ValueError(f"{self.nest.f.name}: the walk computes something else")
        return found, int(np.prod(space.counts))

    def rate(self, walk: Callable[[Space], Iterator[Step]], shape: tuple[int, ...] = ()) -> tuple[Fraction, Fraction]:
        """Cycles and misses an iteration, beginnings and ends of all loops left out.

        What a nest takes is a sum of what each iteration takes, each row, each column and so on: differences along all its loops leave the first.

        Args:
            walk: the order.
            shape: of the array; it and one larger along each dimension are compared.
        """
        shape = shape or ((COLUMNS,) if self.depth == 1 else (*[ROWS] * (self.depth - 1), COLUMNS))
        cycles = misses = iterations = 0
        for grown in itertools.product(*[(0, GROWTH // 2)] * (len(shape) - 1), (0, GROWTH)):
            found, count = self.run(tuple([size + more for size, more in zip(shape, grown, strict=True)]), walk)
            sign = 1 if grown.count(0) % 2 == 0 else -1
            cycles += sign * found.cycles
            misses += sign * found.misses
            iterations += sign * count
        return Fraction(cycles, iterations), Fraction(misses, iterations)

    def plain(self, space: Space) -> Iterator[Step]:
        """The nest as written."""
        return in_text_order(len(self.body.operations), space.counts)

    def cell(self, *factors: int, early: bool = False) -> tuple[Cell, Schedule]:
        """The body of a cell and its schedule; with ``early``, loads that may miss start so much sooner than what needs them."""
        graph = self.graph
        if early:
            miss = self.machine.cache.miss
            graph = body_graph(self.body, self.found, self.machine.core, self.machine.forwarding, first_touches(self.nest, self.body), miss)
        cell = Cell(graph, factors or (1,) * (self.depth - 1))
        schedule = modulo_schedule(cell.graph, self.machine.core, len(cell.copies))
        assert schedule is not None
        assert not check(cell.graph, self.machine.core, schedule)
        return cell, schedule

    def pipelined(self, *factors: int, early: bool = False) -> Callable[[Space], Iterator[Step]]:
        """The walk by the schedule of a cell."""
        cell, schedule = self.cell(*factors, early=early)
        return lambda space: scheduled(cell, schedule, space.counts)


def example(kernel: lw.Kernel, machine: Machine = PAPER) -> Example:
    """The nest of a kernel of one array of f64."""
    rank = {example1: 1, example6: 3, example7: 3}.get(kernel, 2)
    f = kernel.stage(kernel.signature([lw.Array[lw.f64, rank]], {}))
    (nest,) = nests(f)
    body = read_body(nest, nest.loops[-1])
    assert isinstance(body, Body)
    return Example(kernel, nest, body, dependences(nest), machine)


def _aligned(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random numbers that begin at a cache line."""
    raw = np.zeros(int(np.prod(shape)) + 8)
    skip = -raw.__array_interface__["data"][0] % 64 // 8
    array = raw[skip : skip + int(np.prod(shape))].reshape(shape)
    array[...] = np.random.default_rng(0).random(shape) + 0.5
    return array


def slant(cell: Cell, schedule: Schedule, depth: int) -> list[int]:
    """How many cycles each copy of a cell along a loop starts after the one before: from square root to square root."""
    root = next(k for k in range(cell.operations) if cell.graph.nodes[k].name.startswith("sqrt"))
    starts = [
        schedule.starts[number * cell.operations + root] for number, copy in enumerate(cell.copies) if not any(copy[:depth]) and not any(copy[depth + 1 :])
    ]
    return [b - a for a, b in itertools.pairwise(starts)]


@dataclass
class Figure:
    """One figure: the paper's words and number (None where it gives none), what is computed, what the machine counts."""

    example: str
    what: str
    paper: Fraction | str | None
    computed: Fraction | str | None
    simulated: Fraction | str | None = None

    @property
    def agrees(self) -> bool:
        """All that is there is the same."""
        return len({value for value in (self.paper, self.computed, self.simulated) if value is not None}) <= 1


#: What the paper says of the bounds: ResMII of the first example; RecMII of those of which it gives one.
KERNELS = {"1": example1, "2": example2, "3": example3, "4": example4, "5": example5, "6": example6, "7": example7}
RESOURCES = {"1": Fraction(1)}
RECURRENCES = {"1": Fraction(4), "3": Fraction(0)}


def figures() -> list[Figure]:
    """What the paper says of its examples, and what else there is to see on its machine, computed and simulated."""
    return [*_bounds(), *_caches(), *_strips(), *_cells()]


def _bounds() -> list[Figure]:
    found: list[Figure] = []
    for name, kernel in KERNELS.items():
        each = example(kernel)
        _, schedule = each.cell()
        found.append(Figure(name, "ResMII", RESOURCES.get(name), Fraction(resource_bound(each.graph, PAPER.core))))
        found.append(Figure(name, "RecMII of the inner loop", RECURRENCES.get(name), Fraction(recurrence_bound(each.graph))))
        found.append(Figure(name, "cycles an iteration, pipelined", None, Fraction(schedule.interval), each.rate(each.pipelined())[0]))
    return found


def _caches() -> list[Figure]:
    two, four = example(example2), example(example4)
    columns = two.rate(lambda space: exchanged(len(two.body.operations), space.counts, [1, 0]), (LONG, COLUMNS))
    return [
        Figure("2", "misses an iteration", Fraction(1, 4), None, two.rate(two.plain)[1]),
        Figure("3", "misses an iteration", Fraction(5, 4), None, columns[1]),
        Figure("4", "lines read for 16 old iterations", Fraction(8), None, 16 * four.rate(four.plain, (ROWS, LONG))[1]),
        Figure("4", "the same, jammed by 4", Fraction(5), None, 16 * four.rate(four.pipelined(4), (ROWS, LONG))[1]),
    ]


def _strips() -> list[Figure]:
    four, five = example(example4), example(example5)
    found = [_jam("4", four, "I", 0, 4, "legal"), _jam("5", five, "I", 0, 4, "illegal")]
    for name, each, paper in (("4", four, Fraction(1)), ("5", five, None)):
        cell, schedule = each.cell(4)
        found.append(Figure(name, "RecMII, I by 4, in that as written", paper, Fraction(recurrence_bound(cell.graph), recurrence_bound(each.graph))))
        found.append(Figure(name, "cycles an old iteration, I by 4", None, Fraction(schedule.interval, 4), each.rate(each.pipelined(4))[0]))
        found.append(Figure(name, "cycles from row to row", None, ", ".join(map(str, slant(cell, schedule, 0)))))
    vectors = [tuple([component.low for component in dependence.vector]) for dependence in five.found]
    slope = next(slope for slope in range(4) if five.strips_work(0, 4, slope))
    found.append(Figure("5", "slope of the diagonals", None, Fraction(max([-inner for outer, inner in vectors if outer == 1])), Fraction(slope)))
    return found


def _cells() -> list[Figure]:
    six, seven = example(example6), example(example7)
    both = six.jam_refusal(0, 2) is None and six.jam_refusal(1, 2) is None and six.cell(2, 2)[0].straight
    found = [
        _jam("6", six, "K", 0, 4, "illegal"),
        _jam("6", six, "I", 1, 4, "illegal"),
        Figure("6", "K and I jammed by 2 each", "legal", "legal" if both else "illegal"),
        _jam("7", seven, "K", 0, 2, "illegal"),
        Figure("7", "shift of the second copy of K", None, str(seven.cell(2, 1)[1].shifts[-1])),
    ]
    for name, each, factors, what in (
        ("6", six, (2, 2), "K and I by 2"),
        ("6", six, (4, 1), "K by 4, along a slant"),
        ("7", seven, (2, 1), "K by 2, shifted"),
    ):
        cell, schedule = each.cell(*factors)
        computed = Fraction(schedule.interval, len(cell.copies))
        found.append(Figure(name, f"cycles an old iteration, {what}", None, computed, each.rate(each.pipelined(*factors))[0]))
    return found


def _jam(name: str, each: Example, loop: str, depth: int, factor: int, paper: str) -> Figure:
    """Whether a loop may be jammed: by the vectors, and by what comes out."""
    computed = "legal" if each.jam_refusal(depth, factor) is None else "illegal"
    return Figure(name, f"{loop} jammed by {factor}", paper, computed, "legal" if each.strips_work(depth, factor, 0) else "illegal")


def run(quick: bool) -> report.Result:
    """The paper's figures; then nests on a Cortex-A53, as written and pipelined."""
    result = report.Result("pipelining")
    table = report.Table(
        "One square root a cycle, which takes four: figures of the paper, computed, and counted by the simulator",
        ["example", "figure", "paper", "computed", "simulated"],
    )
    all_of_them = figures()
    for figure in all_of_them:
        table.rows.append([figure.example, figure.what, *[_shown(value) for value in (figure.paper, figure.computed, figure.simulated)]])
    result.tables.append(table)
    result.verdicts.append(report.Verdict("figures of which paper, computation and simulation differ", sum(not figure.agrees for figure in all_of_them), 0, ""))
    second = report.Table(
        "Cortex-A53, simulated cycles an old iteration",
        ["nest", "as written", "pipelined", "misses planned", "least by units and circuits", "outer loops by 4", "misses planned"],
    )
    for kernel in (example3, seidel) if quick else (example2, example3, example4, example5, example6, example7, seidel, recursive, smoothed):
        each = example(kernel, CORTEX_A53)
        least = max(resource_bound(each.graph, CORTEX_A53.core), recurrence_bound(each.graph))
        by_four = (4,) if each.depth == 2 else (2, 2)
        walks = (each.plain, each.pipelined(), each.pipelined(early=True), each.pipelined(*by_four), each.pipelined(*by_four, early=True))
        shown = [f"{float(each.rate(walk)[0]):.2f}" for walk in walks]
        second.rows.append([each.nest.f.name, *shown[:3], str(least), *shown[3:]])
    result.tables.append(second)
    return result


def _shown(value: Fraction | str | None) -> str:
    return "" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
