"""The corpora that loopwright brings, and the programs they are made of."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.corpus import collections, files, programs, replay
from loopwright.ir.interpret import run
from loopwright.ir.text import print_function
from loopwright.ir.verify import verify
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.targets import registry


@pytest.mark.slow
@pytest.mark.parametrize("name", list(collections.NAMES))
def test_all_that_is_shipped_compiles_and_every_allocation_is_proved(name):
    contexts = files.read(collections.shipped(name)).contexts
    failed = [f"{c.name} for {c.target}: {r.error.splitlines()[0]}" for c, r in replay.replay(contexts, check=True) if r.error]
    assert failed == []


def test_what_the_collections_hold():
    rows = files.read_index(collections.shipped("kernels"))
    assert {(row.target, row.vector_bits) for row in rows} == set(collections.LEVELS)
    named = {row.name.partition(":")[0] for row in rows}
    assert {"examples/polynomial", "examples/selection_sort", "examples/sum_of_two", "examples/max_of_three", "benchmarks", "demo", "kernels"} <= named
    # Kernels that can be measured one by one.
    assert len({row.name for row in rows if row.target == "x86-64-v4"}) >= 150
    found = files.read_index(collections.shipped("programs"))
    assert len({row.name for row in found}) >= 500
    assert {row.target for row in found} == set(collections.TARGETS)
    assert sum(row.features.calls > 0 for row in found) > 300
    assert sum(row.features.loops > 0 for row in found) > 1000
    assert sum(row.features.loops > 1 for row in found) > 400
    assert sum(row.features.branches > 3 for row in found) > 300
    assert max(row.features.pressure for row in found) > 30


def test_what_the_c_programs_are():
    rows = files.read_index(collections.shipped("c"))
    assert {row.target for row in rows} == set(collections.C_TARGETS)
    assert len({row.name.partition(":")[0] for row in rows}) >= 23
    sizes = sorted(row.features.instructions for row in rows)
    assert len(rows) >= 240 and sizes[0] < 10 and sizes[len(sizes) // 2] > 50 and sizes[-1] > 1500
    assert sum(row.features.calls > 0 for row in rows) > 120 and sum(row.features.loops > 0 for row in rows) > 120


def test_names_within_a_collection_are_unique():
    for name in collections.NAMES:
        counts = Counter((row.name, row.target, row.vector_bits) for row in files.read_index(collections.shipped(name)))
        assert [key for key, count in counts.items() if count > 1] == []


def test_an_unknown_collection_is_a_clear_error(tmp_path):
    with pytest.raises(lw.LoopwrightError, match="there is no collection 'nothing'; there are kernels, programs, c"):
        collections.record("nothing", tmp_path / "a.lwc")


def test_programs_come_from_their_names_alone():
    names = programs.names()
    assert len(names) >= 500
    for name in names[:: len(names) // 20]:
        assert print_function(programs.make(name)) == print_function(programs.make(name))


def agree(name: str, f: lw.Function, seed: int, targets: list[str]) -> None:
    """Interpreter and native code do the same, up to what fused operations round differently."""
    args = programs.arguments(f, seed)
    wanted = copy.deepcopy(args)
    result = run(f, *wanted)
    for target in targets:
        given = copy.deepcopy(args)
        found = Code(compiler.compile(f, registry.get(target)))(*given)
        for a, b in zip([*wanted, result], [*given, found], strict=True):
            if a is not None:
                assert np.allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=1e-3, equal_nan=True), (name, target, seed)


HERE = [name for name in ("x86-64-v3", "x86-64-v4") if registry.get(name).features <= cpu.host_features()]


@pytest.mark.parametrize("family", list(programs.families()))
def test_programs_are_sound_end_and_mean_the_same_compiled(family):
    for number in range(programs.EACH):
        name = f"{family}.{number:02}"
        f = programs.make(name)
        verify(f)
        agree(name, f, number, HERE)
