"""PerfScore is RyuJIT's sum; the better model's bounds are what they say; both follow weights and counts."""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.compiler import Compiled
from loopwright.costs import measure
from loopwright.costs.perfscore import blocks_of, perf_score, weighted
from loopwright.errors import CpuError, TargetError
from loopwright.ir.text import parse
from loopwright.runtime import cpu
from loopwright.targets import registry
from loopwright.targets.x86 import timing
from loopwright.targets.x86.encoder import lookup

HOST = cpu.host_features()
needs_avx2 = pytest.mark.skipif("avx2" not in HOST, reason="needs an x86-64 CPU with AVX2")


@lw.kernel
def poly(x: lw.Array[lw.f32], y: lw.Array[lw.f32], coeffs: lw.Const):
    for i in lw.lanes(len(y)):
        total = coeffs[-1]
        for c in reversed(coeffs[:-1]):
            total = total * x[i] + c
        y[i] = total


@lw.kernel(nests="off")
def recurrence(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    total = lw.f32(0)
    for i in lw.range(len(y)):
        total = total * 0.5 + x[i]
        y[i] = total


@lw.kernel(nests="off")
def nested(x: lw.Array[lw.i32]) -> lw.i64:
    count = lw.i64(0)
    for _ in lw.range(len(x)):
        for j in lw.range(len(x)):
            if x[j] == 2:
                count += x[j - 1]
    return count


def compiled_poly(degree: int, target: str = "x86-64-v3", **options: Any) -> Compiled:
    made: Compiled = poly.compile(coeffs=tuple(0.5 + k for k in range(degree + 1)), target=target, **options).compiled
    return made


def of_text(text: str, target: str = "x86-64-v3") -> Compiled:
    return compiler.compile(parse(text), registry.get(target))


ADD = """
function add(%a: i64, %b: i64) -> i64
  %c = add.i64 %a, %b
  ret.i64 %c
end
"""


def test_perf_score_is_the_sum_over_instructions_of_throughput_or_shortened_latency() -> None:
    compiled = of_text(ADD)
    score = perf_score(compiled, "skylake-avx512")
    expected = 0.0
    machine = timing.get("skylake-avx512")
    for item in compiled.instructions.items:
        form, mem = item[0], item[2]
        if form.kind > 2:
            continue
        found = timing.timing_of(machine, form, timing.kind_of_memory(form, mem))
        latency = found.latency + found.load
        expected += max(found.throughput, latency - 1 if latency >= 1 and not found.writes else latency)
    assert score.perf_score == pytest.approx(expected)
    assert score.instructions == sum(item[0].kind <= 2 or item[0].kind == 12 for item in compiled.instructions.items)


def test_stores_cost_their_throughput() -> None:
    store = of_text("function f(%p: ptr, %a: i64)\n  store_at.i64 %a, [%p]\n  ret\nend\n")
    empty = of_text("function f(%p: ptr, %a: i64)\n  ret\nend\n")
    assert perf_score(store, "znver4").perf_score - perf_score(empty, "znver4").perf_score == pytest.approx(0.5)


def test_weights_of_machine_instructions_are_those_of_what_they_were_made_of() -> None:
    compiled = compiled_poly(3)
    weights = weighted(compiled)[1]
    items = compiled.instructions.items
    assert len(weights) == len(items)
    assert set(weights) == {1.0, 8.0}
    multiplications = [w for w, item in zip(weights, items, strict=True) if item[0].mnemonic.startswith("vfm") and item[2] is None]
    assert multiplications and set(multiplications) == {8.0}
    assert weights[-1] == 1.0


def test_blocks_cover_all_items_without_overlap() -> None:
    for compiled in (compiled_poly(5), compiled_poly(5, "x86-64-v4"), nested.compile(target="x86-64-v3").compiled):
        items = compiled.instructions.items
        blocks = blocks_of(items)
        assert [block.first for block in blocks[1:]] == [block.last for block in blocks[:-1]]
        assert blocks[0].first == 0 and blocks[-1].last == len(items)
        for block in blocks:
            assert not any(item[0].kind == 12 for item in items[block.first : block.last - 1])


def test_loops_are_found_with_their_nesting() -> None:
    score = perf_score(nested.compile(target="x86-64-v3").compiled)
    assert len(score.loops) == 3
    inner = score.loops[-1]
    assert inner.iterations == 64
    assert score.loops[1].iterations == 8
    assert score.loops[1].head < inner.head and inner.last < score.loops[1].last


def test_more_work_costs_more() -> None:
    scores = [perf_score(compiled_poly(degree), "znver4") for degree in (1, 3, 7, 15, 31)]
    for low, high in itertools.pairwise(scores):
        assert low.cycles < high.cycles
        assert low.perf_score < high.perf_score


def test_the_port_bound_of_a_polynomial_is_its_multiply_adds_over_two_pipes() -> None:
    score = perf_score(compiled_poly(15), "znver4")
    main = score.loops[1]
    # Fifteen multiply-adds a vector, two vectors a step (the kernel's unrolling), two pipes.
    per_step = main.ports / main.iterations
    assert per_step == pytest.approx(15 * 2 / 2, rel=0.15)


def test_a_recurrence_is_bound_by_its_latency() -> None:
    score = perf_score(recurrence.compile(target="x86-64-v3").compiled, "znver4")
    loop = score.loops[1]
    assert loop.recurrence == pytest.approx(4.0)  # one fused multiply-add
    assert loop.bound_by() == "latency"
    assert perf_score(compiled_poly(3), "znver4").loops[1].recurrence == pytest.approx(1.0)  # the index


def test_a_value_carried_in_a_spill_slot_pays_for_store_forwarding() -> None:
    from loopwright.costs.perfscore import _recurrence

    # v0 = load slot; v0 = v0 + …; store slot: three cycles of addition, eight until the load has it.
    steps: Any = [([], 0.0, [], 7.0, [16], 65536, -1, 0.0), ([16, 17], 3.0, [], 0.0, [16], -1, -1, 0.0), ([16], 0.0, [], 0.0, [], -1, 65536, 8.0)]
    assert _recurrence(steps) == pytest.approx(11.0)
    # Two cycles of three and five through different registers: the longer counts. One through two registers takes two iterations.
    steps = [([1], 3.0, [], 0.0, [1], -1, -1, 0.0), ([2], 5.0, [], 0.0, [2], -1, -1, 0.0)]
    assert _recurrence(steps) == pytest.approx(5.0)
    steps = [([1], 6.0, [], 0.0, [3], -1, -1, 0.0), ([2], 0.0, [], 0.0, [1], -1, -1, 0.0), ([3], 0.0, [], 0.0, [2], -1, -1, 0.0)]
    assert _recurrence(steps) == pytest.approx(3.0)
    # What is made anew in each iteration carries nothing.
    assert _recurrence([([9], 4.0, [], 0.0, [1], -1, -1, 0.0), ([1], 4.0, [], 0.0, [1], -1, -1, 0.0)]) == 0.0


def test_counts_replace_weights() -> None:
    compiled = compiled_poly(3)
    blocks = blocks_of(compiled.instructions.items)
    none = perf_score(compiled, "znver4", [0.0] * len(blocks))
    assert none.perf_score == 0.0 and none.cycles == 0.0
    ones = perf_score(compiled, "znver4", [1.0] * len(blocks))
    twos = perf_score(compiled, "znver4", [2.0] * len(blocks))
    assert twos.perf_score == pytest.approx(2 * ones.perf_score)


def test_the_default_microarchitecture_is_the_targets() -> None:
    assert perf_score(compiled_poly(3)).microarchitecture == "x86-64-v3"
    assert perf_score(compiled_poly(3, "x86-64-v4")).microarchitecture == "znver4"
    assert perf_score(compiled_poly(3), "znver4").cycles != perf_score(compiled_poly(3), "skylake-avx512").cycles


def test_a_target_without_tables_is_refused() -> None:
    with pytest.raises(TargetError, match="rv64gc"):
        perf_score(of_text(ADD, "rv64gc"))
    with pytest.raises(TargetError, match="'no such'"):
        perf_score(of_text(ADD), "no such")


def test_the_allocations_figures_are_passed_on() -> None:
    compiled = compiled_poly(3)
    score = perf_score(compiled)
    assert score.spill_weight == compiled.statistics.spill_weight
    assert score.moves == compiled.statistics.moves
    assert score.code_size == compiled.machine.code_size


def test_the_table_explains_blocks_and_bounds() -> None:
    score = perf_score(compiled_poly(7), "znver4")
    text = score.table()
    assert "znver4" in text and "bound by" in text
    assert text.splitlines()[-2].endswith(score.loops[1].bound_by()) and score.loops[1].bound_by() == "ports"


@pytest.mark.slow
def test_scoring_is_quick_enough_for_a_tuner() -> None:
    compiled = compiled_poly(15, "x86-64-v4")
    best = min(_seconds(perf_score, compiled) for _ in range(30))
    # It compiles once, for the instructions and their weights: what comes on top is to be no more than that again.
    assert best < 2 * min(_seconds(compiled_poly, 15, "x86-64-v4") for _ in range(30))


def _seconds(function: Any, *args: Any) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


# --- on this machine ----------------------------------------------------------------------------------------------


def _words(*arrays: Any) -> list[int]:
    words: list[int] = []
    for a in arrays:
        words += [int(a.ctypes.data), *a.shape, *a.strides[:-1]]
    return words


@needs_avx2
def test_blocks_are_counted_by_running_them() -> None:
    compiled = nested.compile(target="x86-64-v3").compiled
    x = np.array([1, 2, 3, 4, 5, 1, 1, 7, 2, 2], np.int32)
    counts = measure.count_blocks(compiled, _words(x))
    assert counts[0] == 1
    assert 100.0 in counts  # the inner body
    assert 10.0 in counts
    assert 30.0 in counts or 70.0 in counts  # three of ten are two
    assert (x == [1, 2, 3, 4, 5, 1, 1, 7, 2, 2]).all()


@needs_avx2
def test_counting_changes_neither_results_nor_flags() -> None:
    compiled = compiled_poly(3)
    x = np.linspace(-1, 1, 77, dtype=np.float32)
    y = np.zeros(77, np.float32)
    counts = measure.count_blocks(compiled, _words(x, y))
    assert np.allclose(y, 0.5 + x * (1.5 + x * (2.5 + x * 3.5)), rtol=1e-5)
    assert sum(counts) > 5


@lw.kernel
def best_stretch(x: lw.Array[lw.i64]) -> lw.i64:
    best = lw.i64(0)
    now = lw.i64(0)
    for i in lw.range(len(x)):
        now += x[i]
        if now < 0:
            now = lw.i64(0)
        best = max(best, now)
    return best


@needs_avx2
def test_comparisons_that_are_left_out_at_the_end_are_neither_weighed_nor_in_the_way_of_counting() -> None:
    code = best_stretch.compile(target="x86-64-v3")
    assert "cmovs" in code.asm()
    compiled = code.compiled
    assert len(weighted(compiled)[1]) == len(compiled.instructions.items)
    x = np.array([3, -5, 4, 2, -1, 7, -20, 6] * 5)
    counts = measure.count_blocks(compiled, _words(x))
    assert counts[0] == 1
    assert 10.0 in counts
    assert best_stretch(x) == 16


def nearest_tables() -> str:
    """The microarchitecture most like this CPU's of those that there are tables of; "" where none is near."""
    with open("/proc/cpuinfo") as lines:
        said = lines.read()
    if "AuthenticAMD" in said:
        return "znver4"
    # Golden Cove and its heirs (which have SERIALIZE) look twice as far ahead as Skylake.
    return "" if " serialize" in said else "skylake-avx512"


@needs_avx2
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/cpuinfo")
@pytest.mark.parametrize("degree", [3, 7, 15, 31])
def test_measured_cycles_are_near_the_model(degree: int) -> None:
    """Within a factor of 1.75 either way: the tables are those of a relative of this CPU. Twice is what a mistake in either would make."""
    tables = nearest_tables()
    if not tables:
        pytest.skip("there are no tables of CPUs like this one")
    compiled = compiled_poly(degree)
    x, y = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    words = _words(x, y)
    counts = [float(count) for count in measure.count_blocks(compiled, words)]
    modelled = perf_score(compiled, tables, counts).cycles
    # 1024 / 8 vectors of multiply-adds, of which no processor with AVX2 starts more than two a cycle. (The code comes within a few per cent of that.)
    possible = 0.8 * 128 * degree / 2
    # What else runs on the core adds to what is measured, or makes the cycle too long that it is measured in: as many measurements as it takes, for some seconds.
    beside = "PYTEST_XDIST_WORKER" in os.environ
    product = measure.Case(lookup("VFMADD213PS", "ymm,ymm,ymm"))
    products: list[float] = []
    until = time.monotonic() + (5 if beside else 20)
    while True:
        cycles = measure.kernel_cycles(compiled, words, measure.Meter(rounds=15))
        if (modelled / 1.75 < cycles < 1.75 * modelled and cycles > possible) or time.monotonic() > until:
            break
        products.append(measure.Meter(rounds=3).measure(product).throughput or 0.0)
    # Other tests that run beside this one may have half of the core all the while, where it runs two threads: then multiply-adds by themselves take longer as well.
    alone = measure.expected(timing.get(tables), product)[0]
    shared = 2 if beside and products and statistics.median(products) > 1.3 * alone else 1
    assert modelled / 1.75 < cycles < 1.75 * modelled * shared
    assert cycles > possible


def test_code_for_features_this_cpu_lacks_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    if "avx2" not in HOST:
        pytest.skip("needs an x86-64 CPU")
    meter = measure.Meter(rounds=3)
    monkeypatch.setattr(meter, "features", frozenset())
    with pytest.raises(CpuError, match="avx2"):
        measure.kernel_cycles(compiled_poly(3), [0, 0, 0, 0], meter)
