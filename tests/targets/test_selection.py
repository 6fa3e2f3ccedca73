"""The code of every operation for every type, one at a time: what a change of rules and emitters is to leave alone, it leaves alone here.

``selection`` has a file for each target, with a line for each type and place of the operands: bytes of code, and a checksum of them. ``pytest --bless``
rewrites them.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from tests.golden import hold
from tests.machines import RUNNERS, Runner, simulated
from tests.targets.conformance import MODES, Bench, admitted, available
from tests.targets.test_conformance import CONVERSIONS, NARROW, PLAIN, SCALARS, cases_of, sources, types_of, vectors

from loopwright.compiler import run_passes
from loopwright.settings import Settings
from loopwright.targets.target import MachineCode, Target
from loopwright.types import VOID, Type

FOLDER = Path(__file__).with_name("selection")


def made(target: Target) -> list[str]:
    bits = target.vector_bits
    types = [*types_of(bits), *NARROW, *vectors(NARROW, bits)] if bits else [*SCALARS, *NARROW]
    lines: list[str] = []
    for t in types:
        for mode in MODES[:3]:
            lines += _line(target, t, [VOID], mode, "")
        lines += _line(target, t, [s for s in types if s.lanes == t.lanes], "registers", ", conversions")
    return lines


def _line(target: Target, t: Type, among: list[Type], mode: str, what: str) -> list[str]:
    size = checksum = 0
    for s in among:
        rows = [op for op in CONVERSIONS if s in sources(op, t, [s])] if what else [op for op in PLAIN if admitted(op, t)]
        rows = [op for op in rows if not available(op, t, s, target)]
        if rows:
            bench = Bench(t, s)
            bench.build(cases_of(bench, rows, mode, zlib.crc32(str(t).encode())), mode)
            machine = run_passes(bench.f, target, settings=Settings(prove=False)).machine
            assert isinstance(machine, MachineCode)
            size += machine.code_size
            checksum = zlib.crc32(machine.data, checksum)
    return [f"{t}, {mode}{what}: {size} bytes, {checksum:08x}"] if size else []


@pytest.mark.parametrize("runner", [pytest.param(runner, id=repr(runner), marks=[pytest.mark.every_change] if simulated(runner) else []) for runner in RUNNERS])
def test_the_code_of_operations_is_what_it_was(runner: Runner, bless: bool) -> None:
    hold(FOLDER / f"{runner}.txt", made(runner.target), "other code is made", bless)
