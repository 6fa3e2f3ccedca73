"""What the corpora's code costs by every timing table: a change of models or tables that is to change nothing changes nothing here.

``scores_made.txt`` has a line for each collection, target and table: PerfScore, modelled cycles, and a checksum of those of each function and loop.
``pytest --bless`` rewrites it.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from pathlib import Path

from tests.golden import hold

from loopwright import compiler
from loopwright.corpus import collections, files
from loopwright.costs.perfscore import perf_score
from loopwright.ir.parse import parse
from loopwright.targets import registry
from loopwright.targets.x86.timing import MICROARCHITECTURES

FILE = Path(__file__).with_name("scores_made.txt")
#: What is held of each loop.
BOUNDS = ("ports", "front_end", "taken", "window", "latency", "branches", "recurrence", "iterations", "cycles")
#: Of many, so many in each group are looked at.
EACH = {"kernels": 2, "programs": 16, "c": 4}


def made() -> list[str]:
    scores: dict[str, float] = defaultdict(float)
    cycles: dict[str, float] = defaultdict(float)
    checksums: dict[str, int] = defaultdict(int)
    for collection in collections.NAMES:
        contexts = files.read(collections.shipped(collection)).contexts
        for context in contexts[:: EACH[collection]]:
            if not context.target.startswith("x86-64"):
                continue
            target = registry.get(context.target, context.vector_bits, context.convention)
            compiled = compiler.compile(parse(context.function), target, ordering=context.ordering)
            for name in MICROARCHITECTURES:
                group = f"{collection} {context.target}/{context.vector_bits} {context.convention}, {name}"
                score = perf_score(compiled, name)
                scores[group] += score.perf_score
                cycles[group] += score.cycles
                parts = [
                    score.perf_score,
                    score.cycles,
                    *[block.perf_score for block in score.blocks],
                    *[getattr(loop, bound) for loop in score.loops for bound in BOUNDS],
                ]
                checksums[group] = zlib.crc32(" ".join(f"{part:.9g}" for part in parts).encode(), checksums[group])
    return [f"{group}: {scores[group]:.6g} PerfScore, {cycles[group]:.6g} cycles, {checksums[group]:08x}" for group in scores]


def test_scores_are_what_they_were(bless: bool) -> None:
    hold(FILE, made(), "other scores are given", bless)
