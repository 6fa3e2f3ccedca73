"""Random functions: native code and the interpreter agree, whatever registers there are, in whatever order they are chosen."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.frontend.programs import program
from tests.ir.random_functions import random_arguments, random_function
from tests.passes.generator import Generator, fresh
from tests.passes.generator import random_arguments as generator_arguments
from tests.passes.lanes import bodies_arguments, lanes_arguments, random_bodies, random_lanes
from tests.targets.x86.conformance import limited

from loopwright import compiler
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.runtime.code import Code
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64

LETTERS = "ABCDEFGHIJKLMNOPQ"


def targets(levels: list[tuple[str, int]]) -> list[Target]:
    return [registry.get(name, bits) for name, bits in levels if (name, bits) != ("x86-64-v3", 128)]


def starved(target: Target, ints: int, vectors: int) -> Target:
    """A target with so many registers only (rax and rdx among them, for divisions), and two or three mask registers."""
    return limited(target, (0, 2, 1, 3, 6, 7, 8, 9, 10)[:ints], tuple(range(vectors)), (1, 2, 3))


def shuffled(seed: int) -> str:
    letters = list(LETTERS)
    random.Random(seed).shuffle(letters)
    return "".join(letters)


def agree(f: Function, args: list[Any], target: Target, ordering: str | None = None) -> None:
    """The interpreter and the code leave the same result and the same arrays."""
    compare(f, Code(compiler.compile(f, target, ordering=ordering)), [args], f"{target.name} {ordering}")


def compare(f: Function, code: Code, calls: list[list[Any]], where: str) -> None:
    for args in calls:
        compare_once(f, code, args, where)


def compare_once(f: Function, code: Code, args: list[Any], where: str) -> None:
    want, got = fresh(args), fresh(args)
    with np.errstate(all="ignore"):
        result = run(f, *want)
    found = code(*got)
    assert result is None or equal(found, result), f"{f.name} on {where}: {found!r} for {result!r}"
    for mine, theirs in zip(got, want, strict=True):
        assert not isinstance(mine, np.ndarray) or equal(mine, theirs), f"{f.name} on {where}: {mine} for {theirs}"


def function_of(seed: int) -> tuple[Function, list[Any]]:
    """By seed of one kind or another: with the types mixed, with narrow or unsigned ones as well, with calls or vectors or without."""
    pick = random.Random(seed)
    options: dict[str, Any] = {"size": pick.choice([10, 25, 60]), "calls": seed % 4 == 2}
    if seed % 3 == 1:
        options["scalars"] = [I32, I64, F32, F64, pick.choice([U8, I8, U16, I16, U32, U64])]
    if seed % 11 == 5:
        # Conversions that change nothing but the type.
        options.update(scalars=[I64, U64], vectors=False)
    elif seed % 7 == 3:
        options["vectors"] = False
    f = random_function(seed, **options)
    for instr in f.code:
        if instr.loop is not None:
            # These functions only say that a variable accumulates; what is done with it is something else.
            instr.loop.accumulators = []
    return f, random_arguments(f, seed)


def check_seeds(seeds: range, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        f, args = function_of(seed)
        for target in targets(levels):
            agree(f, args, target)


def check_starved(seeds: range, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        f, args = function_of(seed)
        pick = random.Random(seed)
        for target in targets(levels):
            agree(f, args, starved(target, pick.randint(5, 7), pick.randint(4, 6)), shuffled(seed) if seed % 2 else None)


def check_orders(seeds: range, orders: int, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        f, args = function_of(seed)
        for number in range(orders):
            target = targets(levels)[number % len(targets(levels))]
            agree(f, args, target if number % 3 else starved(target, 6, 5), shuffled(seed * 1000 + number))


def check_lanes(seeds: range, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        f = random_lanes(seed)
        for target in targets(levels):
            code = Code(compiler.compile(f, target, ordering=shuffled(seed) if seed % 4 == 3 else None))
            compare(f, code, [lanes_arguments(f, seed, length) for length in (0, 1, 3, 4, 5, 17, 32, 61)], target.name)


def check_bodies(seeds: range, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        for target in targets(levels):
            f = random_bodies(seed, target.lanes(32))
            code = Code(compiler.compile(f, target, ordering=shuffled(seed) if seed % 4 == 3 else None))
            compare(f, code, [bodies_arguments(f, seed, length) for length in (0, 1, 4, 17, 50)], target.name)


def check_structured(seeds: range, levels: list[tuple[str, int]]) -> None:
    for seed in seeds:
        f = Generator(seed).f
        for target in targets(levels):
            agree(f, generator_arguments(f, seed), target)


def check_programs(seeds: range, levels: list[tuple[str, int]], directory: Path) -> None:
    """Kernels as a user writes them, against their own Python functions."""
    for seed in seeds:
        for by_lane in (False, True):
            path = directory / f"program_{seed}_{by_lane}.py"
            path.write_text(program(seed, by_lane))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            kernel = module.kernel
            values = np.random.default_rng(seed).integers(-30, 30, (2, 37))
            for name, bits in levels[seed % 2 :: 2]:
                code = kernel.compile(target=name, vector_bits=bits, ordering=shuffled(seed) if seed % 3 == 0 else None)
                if by_lane:
                    x, y = values
                    want, got = y.tolist(), y.copy()
                    kernel.function(x.tolist(), want, 5)
                    code(x, got, 5)
                    assert got.tolist() == want, path.read_text()
                else:
                    for a, b in values[:, :8].T.tolist():
                        assert code(a, b, 5) == kernel.function(a, b, 5), path.read_text()


# --- the usual run: a few seconds each ------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_random_functions(levels: list[tuple[str, int]], start: int) -> None:
    check_seeds(range(start, start + 20), levels)


@pytest.mark.parametrize("start", range(200, 280, 20))
def test_random_functions_with_few_registers(levels: list[tuple[str, int]], start: int) -> None:
    check_starved(range(start, start + 20), levels)


@pytest.mark.parametrize("seed", range(300, 310))
def test_any_order_of_the_filters(levels: list[tuple[str, int]], seed: int) -> None:
    check_orders(range(seed, seed + 1), 20, levels)


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_loops_over_lanes(levels: list[tuple[str, int]], start: int) -> None:
    check_lanes(range(start, start + 20), levels)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_bodies_of_loops_over_lanes(levels: list[tuple[str, int]], start: int) -> None:
    check_bodies(range(start, start + 20), levels)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_nests_of_brackets(levels: list[tuple[str, int]], start: int) -> None:
    check_structured(range(start, start + 20), levels)


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_kernels(levels: list[tuple[str, int]], start: int, tmp_path: Path) -> None:
    check_programs(range(start, start + 10), levels, tmp_path)


# --- more of the same ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 200))
def test_many_random_functions(levels: list[tuple[str, int]], start: int) -> None:
    check_seeds(range(start, start + 200), levels)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3000, 4000, 100))
def test_many_random_functions_with_few_registers(levels: list[tuple[str, int]], start: int) -> None:
    check_starved(range(start, start + 100), levels)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400, 430))
def test_many_orders_of_the_filters(levels: list[tuple[str, int]], seed: int) -> None:
    check_orders(range(seed, seed + 1), 60, levels)


@pytest.mark.slow
def test_many_random_kernels_and_loops(levels: list[tuple[str, int]], tmp_path: Path) -> None:
    check_lanes(range(100, 500), levels)
    check_bodies(range(100, 500), levels)
    check_structured(range(100, 500), levels)
    check_programs(range(100, 250), levels, tmp_path)
