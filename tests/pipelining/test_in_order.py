"""Kernels compiled for a core that starts operations in order: the same results after the pass, as machine code, and by LLVM's judgement in fewer cycles."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import Compiled, compile, run_passes
from loopwright.ir import ops
from loopwright.ir.interpret import Interpreter, run
from loopwright.pipelining.machines import CORTEX_A53
from loopwright.pipelining.pipeline import overlap
from loopwright.runtime import emulate
from loopwright.runtime.code import listing
from loopwright.targets.aarch64.target import AArch64
from loopwright.targets.target import Target

MCA = next((name for name in ("llvm-mca", "llvm-mca-14") if shutil.which(name)), "")


@lw.kernel(contract=False)
def polynomial(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for j in range(3, y.shape[0]):
        v = x[j]
        y[j] = ((v * 0.5 + 1.0) * v + 2.0) * v + y[j - 3]


@lw.kernel(contract=False)
def filtered(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for j in range(1, y.shape[0]):
        y[j] = 0.2 * x[j] + 0.3 * y[j - 1]


@lw.kernel(contract=False)
def totals(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    t = 0.0
    s = 1.0
    for j in range(y.shape[0]):
        v = x[j] * x[j]
        t = t + v
        y[j] = (v + s) * 0.5
        s = t
    y[0] = t


@lw.kernel(contract=False)
def backwards(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for _i in range(2):
        for j in range(y.shape[0] - 2, -1, -1):
            y[j] = y[j + 1] * 0.5 + (x[j] - 1.0) * (x[j] + 1.0)


KERNELS = [polynomial, filtered, totals, backwards]


def target(in_order: bool) -> Target:
    made = AArch64()
    if in_order:
        made.core = CORTEX_A53.core
    return made


def compiled(kernel: Any, in_order: bool) -> Compiled:
    return compile(kernel.stage(kernel.signature([], {})), target(in_order))


def arguments(count: int) -> list[np.ndarray]:
    return [np.random.default_rng(k).random(count) for k in range(2)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_the_same_is_computed(kernel: Any) -> None:
    f = kernel.stage(kernel.signature([], {}))
    changed = run_passes(f.clone(), target(True), "nests")
    assert sum(instr.op is ops.FOR for instr in changed.code) > sum(instr.op is ops.FOR for instr in f.code)
    machine = compiled(kernel, True)
    for count in (3, 4, 5, 7, 8, 12, 31, 40):
        wanted = arguments(count)
        run(f, *wanted)
        for interpreter in (Interpreter(changed), Interpreter(machine.function, machine.target)):
            given = arguments(count)
            interpreter.call(*given)
            np.testing.assert_array_equal(given, wanted)


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="QEMU is not installed")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_machine_code(kernel: Any) -> None:
    made = compiled(kernel, True)
    calls = [arguments(count) for count in (3, 5, 17, 64)]
    emulate.run_many([(made, given) for given in calls])
    for given in calls:
        wanted = arguments(len(given[0]))
        run(kernel.stage(kernel.signature([], {})), *wanted)
        np.testing.assert_array_equal(given, wanted)


def test_arrays_that_overlap() -> None:
    f = polynomial.stage(polynomial.signature([], {}))
    changed = run_passes(f.clone(), target(True), "nests")
    for shift in (-3, -1, 0, 1, 2):
        room = np.random.default_rng(0).random((2, 60))
        for each, row in ((f, room[0]), (changed, room[1])):
            row[...] = room[0] if each is f else np.random.default_rng(0).random((2, 60))[0]
            run(each, row[10 + shift : 50 + shift], row[10:50])
        np.testing.assert_array_equal(room[0], room[1])


def loops(made: Compiled) -> list[list[str]]:
    """The instructions of the loops that hold no other."""
    found = re.findall(r"^\s+([0-9a-f]+)  (?:[0-9a-f]{2} ){4} (\S.*)$", listing(made), re.MULTILINE)
    rows = [(int(place, 16), text) for place, text in found]
    bodies = []
    for place, text in rows:
        branch = re.fullmatch(r"(b\.\w+|cbn?z \w+,) (0x[0-9a-f]+)", text)
        if branch and int(branch[2], 16) <= place:
            body = [other for at, other in rows if int(branch[2], 16) <= at < place]
            if not any(other.startswith(("b.", "cb", "b ")) for other in body):
                bodies.append([*body, f"{branch[1]} .L"])
    return bodies


def judged(body: list[str]) -> float:
    """Cycles an iteration."""
    command = [MCA, "-mtriple=aarch64", "-mcpu=cortex-a53", "-iterations=200"]
    done = subprocess.run(command, input="\n".join([".L:", *body]), capture_output=True, text=True, check=True)
    (cycles,) = re.findall(r"^Total Cycles:\s+(\d+)$", done.stdout, re.MULTILINE)
    return int(cycles) / 200


@pytest.mark.skipif(not MCA, reason="llvm-mca is not installed")
@pytest.mark.parametrize(("kernel", "gain"), [(polynomial, 3.0), (totals, 1.3)], ids=lambda value: str(value))
def test_llvm_sees_the_gain(kernel: Any, gain: float) -> None:
    """The kernel, by iterations of the loop as written, beside the loop that is made without a pipeline. (Loops that carry what they store are unrolled there.)"""
    f = kernel.stage(kernel.signature([], {}))
    unrolls = [report.unroll for report in overlap(run_passes(f, target(False), "nests"), CORTEX_A53.core) if report.schedule is not None]
    kernels = loops(compiled(kernel, True))
    plain = min(map(judged, loops(compiled(kernel, False))))
    overlapped = judged(max(kernels, key=len)) / max(unrolls)
    assert plain / overlapped > gain
