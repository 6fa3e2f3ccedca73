"""Programs of Csmith's (X. Yang et al., "Finding and Understanding Bugs in C Compilers", PLDI 2011) on Multiclet processors, with passes left out, beside clang -O0's code for this machine."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.cc import clang, simulated
from loopwright.errors import SimulationError
from loopwright.settings import Settings
from loopwright.targets.multiclet.parameters import R1, S1, S2, Processor
from loopwright.targets.multiclet.target import Multiclet

CSMITH = shutil.which("csmith")
OPTIONAL = [each.name for each in Multiclet(S2).passes() if each.optional]
HEADERS = ["-w", "-I", "/usr/include/csmith"]
#: Small programs: those that the simulator runs in seconds.
OPTIONS = ["--no-packed-struct", "--max-funcs", "3", "--max-block-depth", "3", "--max-block-size", "3", "--max-expr-complexity", "5"]
#: A program that runs longer is passed over.
MOST_COMMANDS = 2_000_000

pytestmark = [
    pytest.mark.skipif(CSMITH is None, reason="csmith is not installed (Debian packages csmith and libcsmith-dev)"),
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)"),
]


def programs(folder: Path, first: int) -> Iterator[tuple[int, Path, bytes]]:
    """Programs from a seed on that end within a second on this machine: seed, file, output."""
    for seed in range(first, first + 1_000_000):
        source, native = folder / "program.c", folder / "native"
        subprocess.run([str(CSMITH), "--seed", str(seed), *OPTIONS, "-o", str(source)], check=True, cwd=folder)
        subprocess.run(["clang", "-O0", *HEADERS, str(source), "-o", str(native)], check=True, capture_output=True)
        try:
            yield seed, source, subprocess.run([str(native)], check=True, capture_output=True, timeout=1).stdout
        except subprocess.TimeoutExpired:
            continue


def check(seed: int, source: Path, expected: bytes, processor: Processor, left_out: list[str], level: str) -> bool:
    """Whether the program ended soon enough; its output is looked at."""
    settings = Settings(passes=tuple(lw.without(name) for name in left_out), prove=True)
    made = simulated.build(clang.bitcode([source], clang.Options(level, preprocessor=HEADERS)), str(source), Multiclet(processor), settings)
    try:
        status, simulator = simulated.run(made, ["program"], limit=MOST_COMMANDS)
    except SimulationError as error:
        if "commands have been run" in str(error):
            return False
        raise AssertionError(f"seed {seed}, {processor.name}, -O{level}, without {left_out}: {error}") from error
    assert (status, bytes(simulator.output)) == (0, expected), f"seed {seed}, {processor.name}, -O{level}, without {left_out}"
    return True


@pytest.mark.slow
def test_generated_programs(tmp_path: Path) -> None:
    """20 programs: with all passes, with none, without each, with each alone, and with some."""
    rng = random.Random(12)
    cases: list[list[str]] = [[], OPTIONAL, *[[name] for name in OPTIONAL], *[[each for each in OPTIONAL if each != name] for name in OPTIONAL]]
    rng.shuffle(cases)
    done = 0
    for seed, source, expected in programs(tmp_path, 1):
        if check(seed, source, expected, (S2, R1, S1)[done % 3], cases[done % len(cases)], "02"[done % 5 > 0]):
            done += 1
        if done == 20:
            return


#: So many subsets of the passes are left out, in random order (with --exhaustive all of them, which takes an hour): of any four passes all combinations are there.
SUBSETS = 160


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_generated_programs_with_subsets_of_passes(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    subsets = [[name for bit, name in enumerate(OPTIONAL) if number >> bit & 1] for number in range(1 << len(OPTIONAL))]
    random.Random(13).shuffle(subsets)
    waiting = iter(subsets if request.config.getoption("--exhaustive") else subsets[:SUBSETS])
    for seed, source, expected in programs(tmp_path, 1001):
        # (Several subsets a program: reading it is done once.)
        for number in range(8):
            left_out = next(waiting, None)
            if left_out is None:
                return
            if not check(seed, source, expected, (S2, S2, S1, R1)[number % 4], left_out, "02s"[seed % 3]):
                break
