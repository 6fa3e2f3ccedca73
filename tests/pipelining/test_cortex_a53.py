"""The Cortex-A53's data beside LLVM's: latencies, units and whole streams of instructions through llvm-mca, where it is installed."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.pipelining.machines import CORTEX_A53
from loopwright.pipelining.simulator import Processor
from loopwright.types import F32, F64, I64, Type

MCA = next((name for name in ("llvm-mca", "llvm-mca-14") if shutil.which(name)), "")
pytestmark = pytest.mark.skipif(not MCA, reason="llvm-mca is not installed")

#: Of each kind of operation: one that waits for the one before it, and one that waits for nothing.
CHAINS: list[tuple[ops.Op, Type, str, str]] = [
    (ops.ADD, F64, "fadd d0, d0, d1", "fadd d{}, d30, d31"),
    (ops.SUB, F32, "fsub s0, s0, s1", "fsub s{}, s30, s31"),
    (ops.MIN, F64, "fminnm d0, d0, d1", "fminnm d{}, d30, d31"),
    (ops.NEG, F64, "fneg d0, d0", "fneg d{}, d30"),
    (ops.MUL, F64, "fmul d0, d0, d1", "fmul d{}, d30, d31"),
    (ops.FMA, F64, "fmadd d0, d0, d1, d2", "fmadd d{}, d29, d30, d31"),
    (ops.DIV, F64, "fdiv d0, d0, d1", "fdiv d{}, d30, d31"),
    (ops.DIV, F32, "fdiv s0, s0, s1", "fdiv s{}, s30, s31"),
    (ops.SQRT, F64, "fsqrt d0, d0", "fsqrt d{}, d30"),
    (ops.LOAD, I64, "ldr x0, [x0]", "ldr x{}, [x30]"),
    (ops.ADD, I64, "add x0, x0, x1", "add x{}, x28, x29"),
]


def judged(lines: list[str], iterations: int) -> float:
    """Cycles an iteration."""
    command = [MCA, "-mtriple=aarch64", "-mcpu=cortex-a53", f"-iterations={iterations}"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    (cycles,) = re.findall(r"^Total Cycles:\s+(\d+)$", done.stdout, re.MULTILINE)
    return int(cycles) / iterations


@pytest.mark.parametrize(("op", "type_", "chain", "stream"), CHAINS, ids=lambda value: str(value).split()[0])
def test_latencies_and_units(op: ops.Op, type_: Type, chain: str, stream: str) -> None:
    cost = CORTEX_A53.core.cost(op, type_)
    assert judged([chain], 400) == pytest.approx(cost.latency, rel=0.02)
    each = judged([stream.format(k) for k in range(8)], 100) / 8
    assert each == pytest.approx(cost.cycles / CORTEX_A53.core.counts[cost.unit], rel=0.02)


#: Operations of streams, and how they are written: result, operands.
WRITTEN: list[tuple[ops.Op, str, int]] = [
    (ops.ADD, "fadd d{}, d{}, d{}", 2),
    (ops.MUL, "fmul d{}, d{}, d{}", 2),
    (ops.MIN, "fminnm d{}, d{}, d{}", 2),
    (ops.FMA, "fmadd d{}, d{}, d{}, d{}", 3),
    (ops.LOAD, "ldr d{}, [x0]", 0),
    (ops.STORE, "str d{}, [x1]", 0),
    (ops.SQRT, "fsqrt d{}, d{}", 1),
]


@pytest.mark.parametrize("seed", range(8))
def test_streams_of_instructions(seed: int) -> None:
    """Random code, repeated, takes the simulated machine as long as LLVM says."""
    rng = random.Random(seed)
    chosen = WRITTEN if seed % 4 == 0 else WRITTEN[:-1]
    lines: list[str] = []
    stream: list[tuple[ops.Op, int, list[int]]] = []
    for _ in range(rng.randint(4, 20)):
        op, text, operands = rng.choice(chosen)
        registers = [rng.randrange(12) for _ in range(operands + 1)]
        lines.append(text.format(*registers))
        stream.append((op, NONE, registers) if op is ops.STORE else (op, registers[0], registers[1:]))
    iterations = 100
    processor = Processor(CORTEX_A53)
    ready = [0] * 12
    for _ in range(iterations):
        for op, result, operands in stream:
            # (Loads and stores are of different lines, which are there.)
            done = processor.start(Instr(op, F64, NONE, []), max([ready[k] for k in operands], default=0))
            if result >= 0:
                ready[result] = done
    assert processor.run().cycles / iterations == pytest.approx(judged(lines, iterations), rel=0.03)
