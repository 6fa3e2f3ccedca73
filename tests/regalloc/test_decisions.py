"""What the allocator decides, over inputs of every shape: a change of its code that is to change nothing changes nothing here.

``decisions.txt`` has a line for every forty inputs: values that were spilled, stores, reloads, moves, the weights of both, and a checksum of
the allocated code. ``pytest --bless`` rewrites it; the figures say whether what has changed is for the better.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.golden import hold
from tests.passes.generator import Generator
from tests.regalloc.generator import random_input, random_order
from tests.targets.conformance import limited

from loopwright.compiler import run_passes
from loopwright.ir.function import Function
from loopwright.ir.text import print_function
from loopwright.passes import allocate
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.regalloc.liveness import analyse
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.target import Target

FILE = Path(__file__).with_name("decisions.txt")
GROUP = 40


def inputs() -> Iterator[tuple[str, Function, Target, str]]:
    """(group, lowered function, machine, order of the filters)."""
    for seed in range(7 * GROUP):
        f, target = random_input(5_000_000 + seed)
        yield f"any machine {seed // GROUP}", f, target, DEFAULT_ORDER
    for seed in range(4 * GROUP):
        f, target = random_input(6_000_000 + seed)
        yield f"any machine, any order {seed // GROUP}", f, target, random_order(random.Random(seed))
    for name, few in (("x86-64-v3", False), ("x86-64-v3", True), ("x86-64-v4", True)):
        target = registry.get(name)
        if few:
            target = limited(target, (0, 2, 1, 3, 6, 7), (0, 1, 2, 3, 4), (1, 2, 3))
        for seed in range(GROUP):
            yield f"{name}{' with few registers' if few else ''}", run_passes(Generator(seed, 60).f, target, "select"), target, DEFAULT_ORDER


def decided() -> list[str]:
    figures: dict[str, list[float]] = {}
    checksums: dict[str, int] = {}
    for group, f, target, order in inputs():
        f.analysis = analyse(f, target)
        allocate.run(f, target, Settings(ordering=order, prove=False))
        found = f.statistics
        known = figures.setdefault(group, [0.0] * 6)
        for n, figure in enumerate((found.spilled, found.stores, found.reloads, found.moves, found.spill_weight, found.move_weight)):
            known[n] += figure
        checksums[group] = zlib.crc32(print_function(f, target).encode(), checksums.get(group, 0))
    names = ("spilled", "stores", "reloads", "moves", "spill weight", "move weight")
    return [
        f"{group}: {', '.join(f'{value:g} {name}' for value, name in zip(known, names, strict=True))}, {checksums[group]:08x}"
        for group, known in figures.items()
    ]


def test_decisions_are_what_they_were(bless: bool) -> None:
    hold(FILE, decided(), "the allocator decides differently", bless)
