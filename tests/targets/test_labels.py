"""No operation becomes control flow when it is emitted: the assembler gets no label that is not the function's."""

from __future__ import annotations

import pytest
from tests.machines import RUNNERS, Runner
from tests.targets.conformance import Bench, admitted, available
from tests.targets.test_conformance import CONVERSIONS, NARROW, PLAIN, SCALARS, cases_of, moving, sources, types_of, vectors

from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.parse import parse
from loopwright.targets.target import Target
from loopwright.types import U8, U32, U64, VOID

#: Those whose passes end with an assembler: a machine without registers has passes of its own.
ASSEMBLED = [runner for runner in RUNNERS if runner.target.registers]


def emits_no_label(f: Function, target: Target) -> bool:
    """Whether the next label of the assembler's own is the first."""
    made = run_passes(f, target, "assemble")
    return bool(made.analysis.new_label() == target.assembler(made).new_label())


@pytest.mark.parametrize("runner", ASSEMBLED, ids=repr)
def test_operations_are_emitted_without_labels(runner: Runner) -> None:
    bits = runner.target.vector_bits
    types = [*types_of(bits), *NARROW, *vectors(NARROW, bits)] if bits else [*SCALARS, *NARROW]
    for t in types:
        for s in [VOID, *types]:
            rows = [op for op in PLAIN if admitted(op, t)] if s is VOID else [op for op in CONVERSIONS if s in sources(op, t, [s])]
            rows = [op for op in rows if not available(op, t, s, runner.target)]
            if rows:
                bench = Bench(t, s)
                bench.build(cases_of(bench, rows, "registers", 1), "registers")
                assert emits_no_label(bench.f, runner.target), (t, s)
        if t.lanes and not t.is_mask and bits:
            assert emits_no_label(moving(t, True, False), runner.target), t


@pytest.mark.parametrize("runner", ASSEMBLED, ids=repr)
@pytest.mark.parametrize("data", [U8, U32, U64], ids=str)
def test_checksums_are_emitted_without_labels(runner: Runner, data: object) -> None:
    f = parse(f"function f(%a: u32, %b: {data}) -> u32\n  %r = {ops.CRC32C}.u32.{data} %a, %b\n  ret %r\nend\n")
    assert emits_no_label(f, runner.target)
