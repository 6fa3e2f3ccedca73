"""The simulated machines: cycles and misses small enough to count by hand, and values beside the interpreter's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from loopwright.errors import LoopwrightError, TargetError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.nests.analysis.dependence import Dependence, dependences
from loopwright.nests.analysis.nest import nests
from loopwright.pipelining.body import Body, body_graph, first_touches, read_body
from loopwright.pipelining.machines import CORTEX_A53, PAPER, Cache, Machine
from loopwright.pipelining.modulo import modulo_schedule
from loopwright.pipelining.simulator import Processor, Space, simulate
from loopwright.pipelining.walks import Cell, exchanged, in_text_order, scheduled, strips
from loopwright.targets.core import Core
from loopwright.types import F64

SMALL = Machine(
    "small",
    Core("small", 2, {"unit": 1, "memory": 2}, "load|store | .* | memory | 2 | 1\ndiv | .* | unit | 5 | 3\n.* | .* | unit | 4 | 1"),
    Cache(line=16, sets=1, ways=2, miss=10, interval=4),
    forwarding=3,
)


def instr(op: ops.Op) -> Instr:
    return Instr(op, F64, NONE, [])


def test_operations_start_in_order() -> None:
    processor = Processor(SMALL)
    assert processor.start(instr(ops.ADD), 0) == 4
    # The unit is taken in cycle 0, and what comes behind waits as well.
    assert processor.start(instr(ops.ADD), 0) == 5
    assert processor.start(instr(ops.DIV), 9) == 14
    assert processor.start(instr(ops.ADD), 0) == 16
    found = processor.run()
    assert (found.cycles, found.operations) == (16, 4)
    # Nothing starts in cycles 2 to 8, nor in 10 and 11, when the division keeps the unit.
    assert found.idle == 9


def test_no_more_start_than_the_core_issues() -> None:
    processor = Processor(Machine("one", Core("one", 1, {"any": 9}, ".* | .* | any | 1 | 1"), PAPER.cache, 0))
    assert [processor.start(instr(ops.ADD), 0) for _ in range(4)] == [1, 2, 3, 4]
    assert processor.run().idle == 0


def test_a_cache_of_two_lines() -> None:
    processor = Processor(SMALL)
    load = instr(ops.LOAD)
    assert processor.start(load, 0, 0) == 12
    # The same line is still on its way.
    assert processor.start(load, 1, 8) == 12
    # The next fill begins four cycles after the first.
    assert processor.start(load, 1, 16) == 16
    assert processor.start(load, 20, 0) == 22
    # What was used longer ago goes.
    processor.start(load, 30, 32)
    assert processor.start(load, 50, 0) == 52
    assert processor.start(load, 60, 16) == 72
    assert (processor.run().accesses, processor.run().misses) == (7, 4)


def test_lines_go_to_their_sets() -> None:
    processor = Processor(Machine("sets", SMALL.core, Cache(16, 2, 1, 10, 0), 0))
    for address in (0, 16, 32, 16, 0):
        processor.start(instr(ops.LOAD), 0, address)
    # 0 and 32 take each other's place, 16 has its own.
    assert processor.run().misses == 4


def test_a_store_is_forwarded() -> None:
    processor = Processor(SMALL)
    processor.start(instr(ops.LOAD), 0, 0)
    processor.start(instr(ops.STORE), 20, 0)
    assert processor.start(instr(ops.LOAD), 20, 0) == 25
    assert processor.start(instr(ops.LOAD), 20, 8) == 23


def test_a_cache_without_lines_is_refused() -> None:
    with pytest.raises(TargetError, match="no cache of 1 sets of 0 lines"):
        Cache(64, 1, 0, 10, 1)


# --- nests


def read(f: Function, machine: Machine = SMALL) -> tuple[Body, list[Dependence], Cell]:
    (nest,) = nests(f)
    body = read_body(nest, nest.loops[-1])
    assert isinstance(body, Body)
    found = dependences(nest)
    return body, found, Cell(body_graph(body, found, machine.core, machine.forwarding), [1] * (len(nest.loops) - 1))


def stencil(vectors: list[tuple[int, ...]], step: int = 1) -> Function:
    """``a[i…] = 0.5 * (the sum of a[i - v…])`` over vectors, in two or three loops, the innermost by a step; margins of 3."""
    depth = len(vectors[0])
    lines = [f"%i{d}_ = for 3, %h{d}_, {step if d == depth - 1 else 1}" for d in range(depth)]
    total = ""
    for n, vector in enumerate(vectors):
        for d, k in enumerate(vector):
            lines.append(f"%x{n}_{d} = sub.i64 %i{d}_, {k}")
        lines.append(f"%l{n}_ = load.f64 a[{', '.join(f'%x{n}_{d}' for d in range(depth))}]")
        if total:
            lines.append(f"%t{n}_ = add.f64 {total}, %l{n}_")
            total = f"%t{n}_"
        else:
            total = f"%l{n}_"
    lines.append(f"%r = mul.f64 {total}, 0.5")
    lines.append(f"store.f64 %r, a[{', '.join(f'%i{d}_' for d in range(depth))}]")
    highs = [f"%h{d}_ = sub.i64 %a.n{d}, 3" for d in range(depth)]
    shape = "".join(f", %a.n{d}: i64" for d in range(depth)) + "".join(f", %a.s{d}: i64" for d in range(depth - 1))
    array = f"array a: f64[{', '.join(f'%a.n{d}' for d in range(depth))}] strides [{', '.join(f'%a.s{d}' for d in range(depth - 1))}] at %a written"
    return parse("\n".join([f"function nest(%a: ptr{shape})", "stage collect", array, *highs, *lines, *["end"] * depth, "end", ""]))


def legal(rng: random.Random, depth: int) -> tuple[int, ...]:
    """A vector that leads forwards."""
    while True:
        vector = tuple(rng.randint(-2, 2) for _ in range(depth))
        if vector > (0,) * depth:
            return vector


@pytest.mark.parametrize("seed", range(20))
def test_schedules_of_cells_compute_what_the_nest_does(seed: int) -> None:
    """Any loops unrolled, distances of any sign: copies, or single operations, are shifted and slanted as it takes."""
    rng = random.Random(seed)
    depth = rng.choice([2, 2, 3])
    f = stencil([legal(rng, depth) for _ in range(rng.randint(1, 3))], rng.choice([1, 1, 2]))
    machine = rng.choice([SMALL, PAPER, CORTEX_A53])
    body, _, cell = read(f, machine)
    factors = [rng.choice([1, 2, 3]) for _ in range(depth - 1)]
    cell = Cell(cell.graph, factors)
    schedule = modulo_schedule(cell.graph, machine.core, rng.choice([0, len(cell.copies)]))
    assert schedule is not None
    shape = [rng.randint(6, 12) for _ in range(depth)]
    given = np.random.default_rng(seed).random(shape)
    wanted = given.copy()
    run(f, wanted)
    (nest,) = nests(f)
    space = Space(nest, body, [given])
    found = simulate(space, machine, scheduled(cell, schedule, space.counts))
    np.testing.assert_array_equal(given, wanted)
    assert found.operations == np.prod(space.counts) * len(body.operations)


def walked(f: Function, walk: Any, machine: Machine = PAPER) -> tuple[bool, int]:
    """Whether a walk computes what the nest does; its cycles."""
    body, _, _ = read(f, machine)
    (nest,) = nests(f)
    given = np.random.default_rng(0).random([12] * len(nest.loops))
    wanted = given.copy()
    run(f, wanted)
    space = Space(nest, body, [given])
    found = simulate(space, machine, walk(len(body.operations), space.counts))
    return bool(np.array_equal(given, wanted)), found.cycles


def test_an_order_that_is_not_legal_computes_something_else() -> None:
    straight, slanted = stencil([(0, 1), (1, 0)]), stencil([(0, 1), (1, -1)])
    for f, same in ((straight, True), (slanted, False)):
        assert walked(f, in_text_order)[0]
        assert walked(f, lambda n, counts: exchanged(n, counts, [1, 0]))[0] is same


@pytest.mark.parametrize(("vectors", "depth", "slopes"), [
    ([(0, 1), (1, 0)], 0, [0, 1, 2]),
    ([(0, 1), (1, -1)], 0, [1, 2]),
    ([(0, 1), (1, -2), (2, -3)], 0, [2, 3]),
    ([(0, 2, -1), (2, 0, -1)], 0, [1]),
    ([(0, 2, -1), (2, 0, -1)], 1, [1]),
    ([(1, -1, 0)], 0, []),
])  # fmt: skip
def test_strips_along_diagonals(vectors: list[tuple[int, ...]], depth: int, slopes: list[int]) -> None:
    """Four rows at once: by which slopes they compute what the nest does. Nothing but a shift helps the last."""
    f = stencil(vectors)
    most = max([*slopes, 1])
    assert [slope for slope in range(most + 1) if walked(f, lambda n, counts: strips(n, counts, depth, 4, slope))[0]] == slopes  # noqa: B023


def test_a_schedule_that_breaks_a_dependence_computes_something_else() -> None:
    f = stencil([(0, 1), (1, -1)])
    _, _, cell = read(f, PAPER)
    cell = Cell(cell.graph, [2])
    schedule = modulo_schedule(cell.graph, PAPER.core, 2)
    assert schedule is not None
    assert walked(f, lambda n, counts: scheduled(cell, schedule, counts))[0]
    # The second row no longer behind the first.
    schedule.starts[cell.operations :] = schedule.starts[: cell.operations]
    assert not walked(f, lambda n, counts: scheduled(cell, schedule, counts))[0]


def test_an_interval_is_what_an_iteration_more_takes() -> None:
    f = stencil([(0, 1), (1, 0)])
    body, _, cell = read(f, CORTEX_A53)
    schedule = modulo_schedule(cell.graph, CORTEX_A53.core)
    assert schedule is not None
    warm = Machine("warm", CORTEX_A53.core, Cache(64, 128, 4, 0, 0), CORTEX_A53.forwarding)
    cycles = []
    for columns in (40, 41):
        (nest,) = nests(f)
        space = Space(nest, body, [np.ones((7, columns))])
        cycles.append(simulate(space, warm, scheduled(cell, schedule, space.counts)).cycles)
    assert cycles[1] - cycles[0] == schedule.interval


def test_what_cannot_be_walked_is_refused() -> None:
    f = parse(
        "function two(%a: ptr, %a.n0: i64)\n  stage collect\n  array a: f64[%a.n0] at %a written\n  var %s: f64\n  %s = copy.f64 0.0\n"
        "  %i = for 0, %a.n0, 1\n    %l = load.f64 a[%i]\n    %s = add.f64 %s, %l\n    store.f64 %s, a[%i]\n  end\nend\n"
    )
    (nest,) = nests(f)
    body = read_body(nest, nest.loops[-1])
    assert isinstance(body, Body)
    with pytest.raises(LoopwrightError, match="variables carry values"):
        Space(nest, body, [np.zeros(4)])


def touches(vectors: list[tuple[int, ...]], step: int = 1) -> list[int]:
    """Which loads of a stencil, by number, are the first to touch lines."""
    f = stencil(vectors, step)
    (nest,) = nests(f)
    body = read_body(nest, nest.loops[-1])
    assert isinstance(body, Body)
    loads = [k for k, operation in enumerate(body.operations) if operation.instr.op is ops.LOAD]
    return sorted(loads.index(k) for k in first_touches(nest, body))


def test_which_loads_touch_lines_first() -> None:
    # The store is ahead of its own row; of the row above, the load furthest ahead.
    assert touches([(0, 1), (1, 0), (1, -2), (1, -1)]) == [2]
    # Counting down, it is the other way round, and the store no longer ahead.
    assert touches([(0, 1), (1, 0), (1, -2), (1, -1)], -1) == [0, 1]
    assert touches([(0, 1)]) == []


def test_planned_misses_do_not_stall() -> None:
    f = stencil([(1, 0), (1, -1), (2, 0)])
    body, found, _ = read(f, SMALL)
    (nest,) = nests(f)
    far = Machine("far", SMALL.core, Cache(64, 4, 4, 30, 0), SMALL.forwarding)
    cycles = []
    for late in (set[int](), first_touches(nest, body)):
        cell = Cell(body_graph(body, found, far.core, far.forwarding, late, far.cache.miss), [1])
        schedule = modulo_schedule(cell.graph, far.core)
        assert schedule is not None
        space = Space(nest, body, [np.ones((7, 400))])
        cycles.append(simulate(space, far, scheduled(cell, schedule, space.counts)).cycles)
    assert cycles[1] < 0.7 * cycles[0]
