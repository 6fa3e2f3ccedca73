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
from loopwright.nests.dependence import Dependence, dependences
from loopwright.nests.graph import Graph, recurrence_bound, resource_bound
from loopwright.nests.jam import Refusal, refusal
from loopwright.nests.nest import Nest, nests
from loopwright.nests.scalars import scalars
from loopwright.pipelining.body import Body, body_graph, read_body
from loopwright.pipelining.machines import CORTEX_A53, PAPER, Machine
from loopwright.pipelining.modulo import modulo_schedule
from loopwright.pipelining.schedule import Schedule, check
from loopwright.pipelining.simulator import Run, Space, simulate
from loopwright.pipelining.walks import Cell, Step, exchanged, in_text_order, scheduled


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

    def cell(self, *factors: int) -> tuple[Cell, Schedule]:
        """The body of a cell and its schedule."""
        cell = Cell(self.graph, factors or (1,) * (self.depth - 1))
        schedule = modulo_schedule(cell.graph, self.machine.core, len(cell.copies))
        assert schedule is not None
        assert not check(cell.graph, self.machine.core, schedule)
        return cell, schedule

    def pipelined(self, *factors: int) -> Callable[[Space], Iterator[Step]]:
        """The walk by the schedule of a cell."""
        cell, schedule = self.cell(*factors)
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


def figures() -> list[Figure]:
    """Everything that the paper says of its examples, computed and simulated."""
    one = Fraction(1)
    found: list[Figure] = []
    for name, kernel, bound in (
        ("1", example1, 4),
        ("2", example2, 4),
        ("3", example3, 0),
        ("4", example4, 4),
        ("5", example5, 4),
        ("6", example6, 0),
        ("7", example7, 0),
    ):
        each = example(kernel)
        cell, schedule = each.cell()
        found.append(Figure(name, "ResMII", one, Fraction(resource_bound(each.graph, PAPER.core))))
        found.append(Figure(name, "RecMII of the inner loop", Fraction(bound), Fraction(recurrence_bound(each.graph))))
        found.append(Figure(name, "cycles an iteration, pipelined", Fraction(max(1, bound)), Fraction(schedule.interval), each.rate(each.pipelined())[0]))
    two = example(example2)
    found.append(Figure("2", "misses an iteration", Fraction(1, 4), None, two.rate(two.plain)[1]))
    columns = two.rate(lambda space: exchanged(len(two.body.operations), space.counts, [1, 0]), (LONG, COLUMNS))
    found.append(Figure("3", "misses an iteration", Fraction(5, 4), None, columns[1]))
    four = example(example4)
    found.append(Figure("4", "outer loop jammed by 4", "legal", _legal(four, 0, 4)))
    cell, schedule = four.cell(4)
    cycles, misses = four.rate(four.pipelined(4), (ROWS, LONG))
    found.append(Figure("4", "RecMII, jammed by 4", Fraction(4), Fraction(recurrence_bound(cell.graph))))
    found.append(Figure("4", "cycles an old iteration, jammed by 4", one, Fraction(schedule.interval, 4), cycles))
    found.append(Figure("4", "lines read for 16 old iterations", Fraction(8), None, 16 * four.rate(four.plain, (ROWS, LONG))[1]))
    found.append(Figure("4", "the same, jammed by 4", Fraction(5), None, 16 * misses))
    five = example(example5)
    found.append(Figure("5", "outer loop jammed by 4", "illegal", _legal(five, 0, 4)))
    cell, schedule = five.cell(4)
    cycles, _ = five.rate(five.pipelined(4))
    found.append(Figure("5", "cycles an old iteration, jammed by 4 along a slant", one, Fraction(schedule.interval, 4), cycles))
    found.append(Figure("5", "slant, cycles from row to row", None, ", ".join(map(str, slant(cell, schedule, 0)))))
    six = example(example6)
    found.append(Figure("6", "K jammed by 4", "illegal", _legal(six, 0, 4)))
    found.append(Figure("6", "I jammed by 4", "illegal", _legal(six, 1, 4)))
    both = "legal" if (_legal(six, 0, 2), _legal(six, 1, 2), six.cell(2, 2)[0].straight) == ("legal", "legal", True) else "illegal"
    found.append(Figure("6", "K and I jammed by 2 each", "legal", both))
    for factors, what in (((2, 2), "K and I jammed by 2"), ((4, 1), "K jammed by 4 along a slant")):
        found.append(Figure("6", f"cycles an old iteration, {what}", one, Fraction(six.cell(*factors)[1].interval, 4), six.rate(six.pipelined(*factors))[0]))
    seven = example(example7)
    found.append(Figure("7", "K jammed by 2", "illegal", _legal(seven, 0, 2)))
    cell, schedule = seven.cell(2, 1)
    found.append(Figure("7", "shift of the second copy", "(0, 1)", str(schedule.shifts[-1])))
    found.append(Figure("7", "cycles an old iteration, K by 2 and shifted", one, Fraction(schedule.interval, 2), seven.rate(seven.pipelined(2, 1))[0]))
    return found


def _legal(each: Example, depth: int, factor: int) -> str:
    return "legal" if each.jam_refusal(depth, factor) is None else "illegal"


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
    result.verdicts.append(report.Verdict("figures that differ from the paper's", sum(not figure.agrees for figure in all_of_them), 0, ""))
    second = report.Table(
        "Cortex-A53, simulated cycles an old iteration", ["nest", "as written", "pipelined", "least by units and circuits", "outer loop by 4, pipelined"]
    )
    for kernel in (example2, example3, example4, example5, seidel, recursive, smoothed):
        each = example(kernel, CORTEX_A53)
        least = max(resource_bound(each.graph, CORTEX_A53.core), recurrence_bound(each.graph))
        rates = [each.rate(walk)[0] for walk in (each.plain, each.pipelined(), each.pipelined(4))]
        second.rows.append([each.nest.f.name, f"{float(rates[0]):.2f}", f"{float(rates[1]):.2f}", str(least), f"{float(rates[2]):.2f}"])
    result.tables.append(second)
    return result


def _shown(value: Fraction | str | None) -> str:
    return "" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
