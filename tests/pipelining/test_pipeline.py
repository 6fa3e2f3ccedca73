"""Loops whose iterations overlap compute the same, bit for bit, for every number of iterations; in order, on a core of one kind of unit after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.nests.random_nests import Random
from tests.pipelining.random_bodies import MARGIN, MOST, random_body

from loopwright.compiler import compile
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter, run
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function as text
from loopwright.ir.verify import verify
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import nests
from loopwright.pipelining.machines import PAPER
from loopwright.pipelining.pipeline import Report, overlap, pipeline
from loopwright.pipelining.schedule import check
from loopwright.targets import registry
from loopwright.targets.core import Core

CORES = [
    Core("wide", 16, {"memory": 4, "float": 8}, "(load|store).* | .* | memory | 3 | 1\n.* | .* | float | 4 | 1", registers=200),
    Core("narrow", 1, {"memory": 1, "float": 1}, "(load|store).* | .* | memory | 2 | 1\n.* | .* | float | 3 | 1", registers=200),
    Core(
        "slow",
        2,
        {"memory": 2, "float": 2},
        "load | .* | memory | 9 | 1\nstore | .* | memory | 1 | 1\nmul | .* | float | 7 | 3\n.* | .* | float | 2 | 1",
        registers=200,
    ),
    PAPER.core,
]


def pipelined(f: Function, core: Core) -> Report:
    (nest,) = nests(f)
    report = pipeline(f, nest, nest.loops[-1], core, dependences(nest))
    if report.schedule is not None:
        assert report.graph is not None
        assert check(report.graph, core, report.schedule) == []
    verify(f)
    return report


def same(plain: Function, changed: Function, counts: range, step: int, rng: random.Random) -> None:
    size = MOST + 2 * MARGIN
    given = np.random.default_rng(rng.randrange(1000)).random((2, size))
    for count in counts:
        low, high = (MARGIN, MARGIN + count) if step > 0 else (MARGIN + count - 1, MARGIN - 1)
        wanted, got = given.copy(), given.copy()
        run(plain, *wanted, low, high)
        run(changed, *got, low, high)
        np.testing.assert_array_equal(got, wanted, err_msg=f"{count} iterations of\n{text(plain)}as\n{text(changed)}")


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies(seed: int) -> None:
    rng = random.Random(seed)
    overlapped = unrolled = 0
    for _ in range(12):
        step = rng.choice([1, 1, 1, 2, 3, -1, -2])
        plain = random_body(rng, step, rng.random() < 0.3)
        changed = plain.clone()
        report = pipelined(changed, rng.choice(CORES))
        assert report.schedule is not None, report.refusal
        overlapped += report.schedule.stages > 1
        unrolled += report.unroll > 1
        same(plain, changed, range(MOST), step, rng)
        same(plain, changed, range(-2, 0), step, rng)
    assert overlapped >= 5
    assert unrolled >= 3


@pytest.mark.parametrize("name", ["x86-64-v3", "aarch64-neon", "rv64gc"])
def test_random_bodies_as_machine_code(name: str) -> None:
    target = registry.get(name)
    rng = random.Random(name)
    for _ in range(6):
        plain = random_body(rng)
        changed = plain.clone()
        assert pipelined(changed, rng.choice(CORES)).schedule is not None
        made = compile(changed, target)
        for count in (0, 1, 5, 20):
            wanted, got = (np.random.default_rng(0).random((2, MOST + 2 * MARGIN)) for _ in range(2))
            run(plain, *wanted, MARGIN, MARGIN + count)
            Interpreter(made.function, target).call(*got, MARGIN, MARGIN + count)
            np.testing.assert_array_equal(got, wanted)


def loop(body: str, variables: str = "", behind: str = "", high: str = "%high") -> Function:
    declared = "".join(f"  var %{name}: f64\n" for name in variables.split())
    begin = "".join(f"  %{name} = copy.f64 {k}.5\n" for k, name in enumerate(variables.split()))
    lines = "\n".join("    " + line.strip() for line in body.strip().splitlines())
    local = "  array z: f64[4] local at %a written\n" if "local" in body else ""
    return parse(
        "function loop(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %low: i64, %high: i64)\n  stage collect\n"
        "  array x: f64[%x.n0] at %x written\n  array y: f64[%y.n0] at %y written\n"
        f"{local}{declared}{begin}  %i = for %low, {high}, 1\n{lines}\n  end\n{behind}end\n"
    )


CHAIN = """
    %t = load.f64 x[%i]
    %m = mul.f64 %t, %t
    %n = mul.f64 %m, %t
    %w = add.f64 {last}, 1.0
    store.f64 %w, y[%i]
    store.f64 %n, x[%i]
"""


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_values_from_several_iterations_before(core: Core, distance: int) -> None:
    names = [f"v{k}" for k in range(distance)]
    moves = [f"%{b} = copy.f64 %{a}" for b, a in zip(reversed(names), [*reversed(names[:-1]), "n"], strict=True)]
    moves[-1] = "%v0 = copy.f64 %n"
    behind = "".join(f"  store.f64 %{name}, x[{k}]\n" for k, name in enumerate(names))
    plain = loop(CHAIN.format(last=f"%{names[-1]}") + "\n".join(moves), " ".join(names), behind)
    changed = plain.clone()
    report = pipelined(changed, core)
    # The copies are gone: a load, three operations and two stores.
    assert report.graph is not None
    assert len(report.graph.nodes) == 6
    assert max(edge.distance[-1] for edge in report.graph.edges) == distance
    same(plain, changed, range(MOST), 1, random.Random(1))


def test_variables_that_change_places() -> None:
    plain = loop("%t = load.f64 x[%i]\n%s = add.f64 %t, %p\nstore.f64 %s, y[%i]\n%h = copy.f64 %p\n%p = copy.f64 %q\n%q = copy.f64 %h", "p q")
    changed = plain.clone()
    assert pipelined(changed, CORES[0]).schedule is not None
    same(plain, changed, range(MOST), 1, random.Random(2))


def test_one_value_in_two_variables_that_began_differently() -> None:
    plain = loop("%t = load.f64 x[%i]\n%s = add.f64 %p, %q\nstore.f64 %s, y[%i]\n%p = copy.f64 %t\n%q = copy.f64 %t", "p q")
    changed = plain.clone()
    assert pipelined(changed, CORES[0]).schedule is not None
    same(plain, changed, range(MOST), 1, random.Random(3))


def test_a_sum_waits_for_its_latency_only() -> None:
    f = loop("%t = load.f64 x[%i]\n%u = mul.f64 %t, %t\n%s = add.f64 %s, %u", "s", "  store.f64 %s, y[0]\n")
    plain = f.clone()
    report = pipelined(f, CORES[0])
    assert report.schedule is not None
    assert report.bound == report.schedule.interval == 4
    same(plain, f, range(MOST), 1, random.Random(4))


def test_the_kernel_is_unrolled_where_a_value_outlives_the_interval() -> None:
    f = loop("%t = load.f64 x[%i]\n%u = mul.f64 %t, %t\nstore.f64 %u, y[%i]")
    plain = f.clone()
    report = pipelined(f, CORES[0])
    assert report.schedule is not None
    # Every cycle an iteration; the load takes three, the product four.
    assert report.schedule.interval == 1
    assert report.unroll == 4
    same(plain, f, range(MOST), 1, random.Random(5))


def test_a_register_is_not_written_before_it_is_read_in_the_same_cycle() -> None:
    # The sum reads what the load of the iteration before has made, in the very cycle in which that of its own starts.
    core = Core("tied", 2, {"memory": 1, "float": 1}, "(load|store).* | .* | memory | 2 | 1\n.* | .* | float | 2 | 1")
    f = loop("%t = load.f64 x[%i]\n%s = add.f64 %p, 1.0\nstore.f64 %s, y[%i]\n%p = copy.f64 %t", "p")
    plain = f.clone()
    report = pipelined(f, core)
    assert report.schedule is not None
    assert report.schedule.interval == 2
    assert report.schedule.starts[0] == report.schedule.starts[1]
    same(plain, f, range(MOST), 1, random.Random(7))


def test_registers_bound_the_overlap() -> None:
    body = "%t = load.f64 x[%i]\n%u = mul.f64 %t, %t\nstore.f64 %u, y[%i]"
    few = Core("few", 16, {"memory": 4, "float": 8}, "(load|store).* | .* | memory | 3 | 1\n.* | .* | float | 4 | 1", registers=4)
    f = loop(body)
    plain = f.clone()
    report = pipelined(f, few)
    assert report.schedule is not None
    assert report.bound == 1
    assert report.schedule.interval == 2
    assert report.registers <= 4
    same(plain, f, range(MOST), 1, random.Random(6))


@pytest.mark.parametrize(
    ("body", "because"),
    [
        ("%c = lt.i64 %i, 9\nif %c\nstore.f64 1.0, x[%i]\nend", "its body has `if` in it"),
        ("%t = load.f64x2 x[%i]\nstore.f64x2 %t, y[%i]", "it works on vectors already"),
        ("%a = add.i64 %i, 1", "nothing in it takes time"),
        ("%a = local.ptr 2\nstore.f64 1.0, z[3]", "its body has `local` in it"),
    ],
)
def test_what_is_refused_stays_as_it_is(body: str, because: str) -> None:
    f = loop(body)
    before = text(f)
    report = pipelined(f, CORES[0])
    assert report.refusal is not None
    assert report.refusal.because == because
    assert report.schedule is None
    assert text(f) == before


def test_bounds_near_the_ends_of_the_integers() -> None:
    body = "%a = sub.i64 %i, %low\n%t = load.f64 x[%a]\n%u = mul.f64 %t, %t\nstore.f64 %u, y[%a]"
    plain = loop(body)
    changed = plain.clone()
    assert pipelined(changed, CORES[0]).schedule is not None
    for low, high in ((2**63 - 12, 2**63 - 1), (-(2**63), -(2**63) + 11), (2**63 - 1, -(2**63)), (5, -(2**63))):
        given = np.random.default_rng(0).random((2, 20))
        wanted, got = given.copy(), given.copy()
        run(plain, *wanted, low, high)
        run(changed, *got, low, high)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("seed", range(6))
def test_random_nests(seed: int) -> None:
    """Loops of any shape around the innermost ones, of which there may be several; bounds that depend on each other; steps of any sign."""
    rng = random.Random(seed)
    overlapped = 0
    for _ in range(25):
        spec = Random(rng, rng.choice([1, 2, 2, 3]), parameter=False, stencil=True, width=12).moved_inside()
        f = spec.function()
        given = [np.random.default_rng(seed).random(extents) for extents in spec.extents]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 0)
        overlapped += sum(report.schedule is not None for report in overlap(f, rng.choice(CORES)))
        verify(f)
        run(f, *given, 0)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert overlapped
