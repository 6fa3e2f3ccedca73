"""Random nests through the whole compiler: what the code does to its arrays is what the interpreter does by the nest as written."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.random_nests import Random

from loopwright import compiler
from loopwright.ir.interpret import run
from loopwright.settings import Settings

DTYPES = {"f64": "f8", "f32": "f4", "i32": "i4", "i64": "i8", "u8": "u1", "i16": "i2"}


def drawn(rng: random.Random) -> Random | None:
    """A random nest, unless its arrays are too large."""
    depth = rng.choice([1, 2, 2, 2, 3])
    spec = Random(
        rng,
        depth,
        parameter=False,
        stencil=rng.random() < 0.7,
        width=rng.choice([6, 24, 40]) if depth < 3 else 9,
        natural=rng.random() < 0.8,
        element=rng.choice(["f64", "f64", "f32", "i32", "i64", "u8", "i16"]),
        sums=rng.random() < 0.5,
    ).moved_inside()
    return spec if max(np.prod(extents) for extents in spec.extents) <= 1 << 18 else None


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("seed", [0, 1, 2, *[pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5)]])
def test_random_nests(runner: Runner, seed: int) -> None:
    rng = random.Random(seed)
    rewritten: Counter[str] = Counter()
    for _ in range(50):
        spec = drawn(rng)
        if spec is None:
            continue
        f = spec.function()
        dtype = np.dtype(DTYPES[spec.element])
        given = [(np.random.default_rng(seed).random(extents) * (1 if dtype.kind == "f" else 100)).astype(dtype) for extents in spec.extents]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 0)
        f = spec.function()
        f.options.nests = True
        compiled = compiler.compile(f, runner.target, Settings(keep=True))
        texts = compiled.stages
        rewritten[spec.element] += texts["nests"].count("\n") != texts["promote"].count("\n")
        rewritten["lanes"] += " lanes" in texts["nests"]
        rewritten["other"] += texts["nests"].count("\n") != texts["promote"].count("\n")

        def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        runner.run(compiled, [*given, 0], same)
    if runner.target.core is not None:
        assert rewritten["lanes"] > 4 and rewritten["other"] > 1


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("seed", range(3))
def test_arrays_that_overlap(runner: Runner, seed: int) -> None:
    """All arrays of a nest in one memory, some elements apart."""
    if not runner.calls_back:
        pytest.skip("arguments come back one by one, and overlap no more")
    rng = random.Random(seed)
    overlapping = 0
    for _ in range(20):
        spec = drawn(rng)
        if spec is None:
            continue
        starts = [rng.choice([0, 0, 1, 2, 3, 7, 16, 40]) for _ in spec.extents]
        sizes = [int(np.prod(extents)) for extents in spec.extents]
        dtype = np.dtype(DTYPES[spec.element])
        memory = (np.random.default_rng(seed).random(max(sizes) + max(starts)) * (1 if dtype.kind == "f" else 100)).astype(dtype)
        results = []
        for nests in (False, True):
            f = spec.function()
            f.options.nests = nests
            for array in f.arrays:
                array.shared = True
            overlapping += len(f.arrays) > 1
            here = memory.copy()
            views = [here[start : start + size].reshape(extents) for start, size, extents in zip(starts, sizes, spec.extents, strict=True)]
            if nests:
                runner.run(compiler.compile(f, runner.target), [*views, 0], lambda _: None)
            else:
                run(f, *views, 0)
            results.append(here)
        np.testing.assert_array_equal(*results)
    assert overlapping > 12
