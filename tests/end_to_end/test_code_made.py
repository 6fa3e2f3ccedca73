"""What every pass makes of the corpora: a change that is to change nothing changes nothing here.

``code_made.txt`` has a line for each collection and target: after every pass the number of instructions and a checksum of the text, at the end the
bytes of code and a checksum of them. The first pass whose figures differ is where to look. ``pytest --bless`` rewrites it.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from pathlib import Path

from tests.golden import hold

from loopwright.compiler import run_passes
from loopwright.corpus import collections, files
from loopwright.ir.parse import parse
from loopwright.passes.pipeline import CPU
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of
from loopwright.targets.target import MachineCode

FILE = Path(__file__).with_name("code_made.txt")
#: Of the programs, which are many, so many in each group are looked at.
EACH_OF_PROGRAMS = 8


def made() -> list[str]:
    instructions: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    checksums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for collection in collections.NAMES:
        contexts = files.read(collections.shipped(collection)).contexts
        for context in contexts[:: 1 if collection == "kernels" else EACH_OF_PROGRAMS]:
            group = f"{collection} {context.target}/{context.vector_bits} {context.convention}"
            stages: dict[str, str] = {}
            target = registry.get(context.target, context.vector_bits, context.convention)
            machine = run_passes(parse(context.function), target, settings=Settings(ordering=context.ordering), stages=stages).machine
            assert isinstance(machine, MachineCode)
            for name, text in stages.items():
                instructions[group][name] += text.count("\n")
                checksums[group][name] = zlib.crc32(text.encode(), checksums[group][name])
            instructions[group]["bytes"] += machine.code_size
            checksums[group]["bytes"] = zlib.crc32(machine.data, checksums[group]["bytes"])
    return [f"{group}, {name}: {instructions[group][name]}, {checksums[group][name]:08x}" for group in instructions for name in (*names_of(CPU)[:-2], "bytes")]


def test_the_code_is_what_it_was(bless: bool) -> None:
    hold(FILE, made(), "other code is made", bless)
