"""Random functions: compiled code and the interpreter agree, whatever registers there are, in whatever order they are chosen."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.frontend.programs import program
from tests.ir.random_functions import random_arguments, random_function
from tests.machines import Here, Runner, families
from tests.passes.generator import Generator, fresh
from tests.passes.generator import random_arguments as generator_arguments
from tests.passes.lanes import bodies_arguments, lanes_arguments, random_bodies, random_lanes
from tests.targets.conformance import limited

from loopwright import compiler
from loopwright.compiler import Compiled
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64

LETTERS = "ABCDEFGHIJKLMNOPQ"

#: Register classes that every target has.
INTS, VECTORS = 0, 1


@pytest.fixture(params=families(lambda runner: bool(runner.target.registers)))
def machine(request: pytest.FixtureRequest) -> Sequence[Runner]:
    """The runners of a machine that has registers, for each; of what has none tests/targets/multiclet makes programs."""
    found: Sequence[Runner] = request.param
    return found


@pytest.fixture(params=families(lambda runner: runner.bits > 0))
def with_vectors(request: pytest.FixtureRequest) -> Sequence[Runner]:
    """The runners of a machine that has vectors, for each."""
    found: Sequence[Runner] = request.param
    return found


def tried(machine: Sequence[Runner]) -> list[Runner]:
    """The runners of a machine but for vectors of 128 bits where there are wider ones."""
    return [runner for runner in machine if runner.widest or runner.bits > 128]


def some(seeds: range, machine: Sequence[Runner]) -> range:
    """Of many seeds a quarter where code is emulated."""
    return seeds[:: 1 if all(isinstance(runner, Here) for runner in machine) else 4]


#: Registers that code needs, by folder: for divisions; the others are the first of the target's orders.
NEEDED = {"x86": (0, 2, 1, 3, 6, 7, 8, 9, 10)}


def starved(runner: Runner, ints: int, vectors: int) -> Target:
    """A target with so many registers only (on x86-64 rax and rdx among them, for divisions), and two or three mask registers."""
    target = runner.target
    codes = [[target.registers[r].code for r in order] for order in target.orders]
    return limited(target, tuple(NEEDED.get(runner.folder, codes[INTS])[:ints]), tuple(sorted(codes[VECTORS])[:vectors]), (1, 2, 3))


def shuffled(seed: int) -> str:
    letters = list(LETTERS)
    random.Random(seed).shuffle(letters)
    return "".join(letters)


def agree(f: Function, args: list[Any], runner: Runner, ordering: str | None = None, target: Target | None = None) -> None:
    """The interpreter and the code leave the same result and the same arrays."""
    compare(f, runner, compiler.compile(f, target if target is not None else runner.target, ordering=ordering), [args])


def compare(f: Function, runner: Runner, code: Compiled, calls: list[list[Any]]) -> None:
    for args in calls:
        want, got = fresh(args), fresh(args)
        with np.errstate(all="ignore"):
            result = run(f, *want)

        def same(found: Any, got: list[Any] = got, want: list[Any] = want, result: Any = result) -> None:
            where = f"{f.name} on {runner} {code.order}"
            assert result is None or equal(found, result), f"{where}: {found!r} for {result!r}"
            for mine, theirs in zip(got, want, strict=True):
                assert not isinstance(mine, np.ndarray) or equal(mine, theirs), f"{where}: {mine} for {theirs}"

        runner.run(code, got, same)


def function_of(seed: int, bits: int = 256) -> tuple[Function, list[Any]]:
    """By seed of one kind or another: with the types mixed, with narrow or unsigned ones as well, with calls or (where there are any) vectors or without."""
    pick = random.Random(seed)
    options: dict[str, Any] = {"size": pick.choice([10, 25, 60]), "calls": seed % 4 == 2}
    if seed % 3 == 1:
        options["scalars"] = [I32, I64, F32, F64, pick.choice([U8, I8, U16, I16, U32, U64])]
    if seed % 11 == 5:
        # Conversions that change nothing but the type.
        options.update(scalars=[I64, U64], vectors=False)
    elif seed % 7 == 3:
        options["vectors"] = False
    if not bits:
        options["vectors"] = False
    elif bits < 256:
        options["widest"] = bits
    f = random_function(seed, **options)
    for instr in f.code:
        if instr.loop is not None:
            # These functions only say that a variable accumulates; what is done with it is something else.
            instr.loop.accumulators = []
    return f, random_arguments(f, seed)


def check_seeds(seeds: range, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        f, args = function_of(seed, machine[0].bits)
        for runner in tried(machine):
            agree(f, args, runner)


def check_starved(seeds: range, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        f, args = function_of(seed, machine[0].bits)
        pick = random.Random(seed)
        for runner in tried(machine):
            agree(f, args, runner, shuffled(seed) if seed % 2 else None, starved(runner, pick.randint(5, 7), pick.randint(4, 6)))


def check_orders(seeds: range, orders: int, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        f, args = function_of(seed, machine[0].bits)
        for number in range(orders):
            runner = tried(machine)[number % len(tried(machine))]
            agree(f, args, runner, shuffled(seed * 1000 + number), None if number % 3 else starved(runner, 6, 5))


def check_lanes(seeds: range, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        f = random_lanes(seed)
        for runner in tried(machine):
            code = compiler.compile(f, runner.target, ordering=shuffled(seed) if seed % 4 == 3 else None)
            compare(f, runner, code, [lanes_arguments(f, seed, length) for length in (0, 1, 3, 4, 5, 17, 32, 61)])


def check_bodies(seeds: range, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        for runner in tried(machine):
            f = random_bodies(seed, runner.target.lanes(32))
            code = compiler.compile(f, runner.target, ordering=shuffled(seed) if seed % 4 == 3 else None)
            compare(f, runner, code, [bodies_arguments(f, seed, length) for length in (0, 1, 4, 17, 50)])


def check_structured(seeds: range, machine: Sequence[Runner]) -> None:
    for seed in seeds:
        f = Generator(seed).f
        for runner in tried(machine):
            agree(f, generator_arguments(f, seed), runner)


def check_programs(seeds: range, machine: Sequence[Runner], directory: Path) -> None:
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
            for runner in machine[seed % 2 :: 2] or machine:
                code = runner.compiled(kernel, ordering=shuffled(seed) if seed % 3 == 0 else None)
                if by_lane:
                    x, y = values
                    wanted, got = y.tolist(), y.copy()
                    kernel.function(x.tolist(), wanted, 5)
                    runner.run(code, [x, got, 5], lambda _, got=got, wanted=wanted, path=path: _same(got.tolist(), wanted, path))
                else:
                    for a, b in values[:, :8].T.tolist():
                        want = kernel.function(a, b, 5)
                        runner.run(code, [a, b, 5], lambda found, want=want, path=path: _same(found, want, path))


def _same(got: Any, want: Any, path: Path) -> None:
    assert got == want, path.read_text()


# --- the usual run: a few seconds each ------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_random_functions(machine: Sequence[Runner], start: int) -> None:
    check_seeds(range(start, start + 20), machine)


@pytest.mark.parametrize("start", range(200, 280, 20))
def test_random_functions_with_few_registers(machine: Sequence[Runner], start: int) -> None:
    check_starved(range(start, start + 20), machine)


@pytest.mark.parametrize("seed", range(300, 310))
def test_any_order_of_the_filters(machine: Sequence[Runner], seed: int) -> None:
    check_orders(range(seed, seed + 1), 20, machine)


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_loops_over_lanes(with_vectors: Sequence[Runner], start: int) -> None:
    check_lanes(range(start, start + 20), with_vectors)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_bodies_of_loops_over_lanes(with_vectors: Sequence[Runner], start: int) -> None:
    check_bodies(range(start, start + 20), with_vectors)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_nests_of_brackets(machine: Sequence[Runner], start: int) -> None:
    check_structured(range(start, start + 20), machine)


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_kernels(machine: Sequence[Runner], start: int, tmp_path: Path) -> None:
    check_programs(range(start, start + 10), machine, tmp_path)


def test_a_mask_without_a_register_is_read_from_the_pool(machine: Sequence[Runner], tmp_path: Path) -> None:
    # Found by the many below.
    check_programs(range(183, 184), machine, tmp_path)


# --- more of the same ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 200))
def test_many_random_functions(machine: Sequence[Runner], start: int) -> None:
    check_seeds(some(range(start, start + 200), machine), machine)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3000, 4000, 100))
def test_many_random_functions_with_few_registers(machine: Sequence[Runner], start: int) -> None:
    check_starved(some(range(start, start + 100), machine), machine)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400, 430))
def test_many_orders_of_the_filters(machine: Sequence[Runner], seed: int) -> None:
    check_orders(range(seed, seed + 1), 60 if isinstance(machine[0], Here) else 15, machine)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 500, 100))
def test_many_random_loops(machine: Sequence[Runner], start: int) -> None:
    seeds = some(range(start, start + 100), machine)
    if machine[0].bits:
        check_lanes(seeds, machine)
        check_bodies(seeds, machine)
    check_structured(seeds, machine)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 250, 50))
def test_many_random_kernels(machine: Sequence[Runner], start: int, tmp_path: Path) -> None:
    check_programs(some(range(start, start + 50), machine), machine, tmp_path)
