"""Stores that are written over before anyone reads them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.targets import registry

TARGET = registry.get("x86-64-v3")


def stores(lines: str) -> int:
    """How many stores are left of a function's body."""
    header = "function f(%x: ptr, %y: ptr, %i: i64, %c: bool, %v: i64)\n  var %w: i64\n  stage addresses\n"
    text = header + "".join(f"  {line}\n" for line in lines.split(";")) + "end\n"
    made = run_passes(parse(text), TARGET, after="simplify")
    return sum(instr.op is ops.STORE_AT for instr in made.code)


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("store_at.i64 1, [%x + 8]; store_at.i64 2, [%x + 8]", 1),
        ("store_at.i64 1, [%x + 8]; store_at.i64 2, [%x + 16]", 2),
        ("store_at.i32 1, [%x + 12]; store_at.i64 2, [%x + 8]", 1),
        ("store_at.i64 1, [%x + 8]; store_at.i32 2, [%x + 8]", 2),
        ("store_at.i64 1, [%x + %i*8]; store_at.i64 2, [%x + %i*8]", 1),
        ("store_at.i64 1, [%x + %i*8]; store_at.i64 2, [%x + %i*4]", 2),
        ("store_at.i64 1, [%x + 8]; if %c; store_at.i64 2, [%x + 8]; end", 2),
        ("store_at.i64 1, [%x + 8]; if %c; ret; end; store_at.i64 2, [%x + 8]", 2),
        ("store_at.i64 1, [%x + 8]; %a = load_at.i64 [%x + 8]; store_at.i64 %v, [%x + 8]; store_at.i64 %a, [%x]", 2),
        ("store_at.i64 %v, [%x + 8]; %a = load_at.i64 [%x + 16]; store_at.i64 1, [%x + 8]; store_at.i64 %a, [%x]", 2),
        ("store_at.i64 %v, [%x + 8]; %a = load_at.i64 [%x + %i*8]; store_at.i64 1, [%x + 8]; store_at.i64 %a, [%x]", 3),
        ("store_at.i64 %v, [%x + 8]; %a = load_at.i64 [%y + 8]; store_at.i64 1, [%x + 8]; store_at.i64 %a, [%x]", 3),
    ],
)
def test_what_stays(lines: str, left: int) -> None:
    assert stores(lines) == left


@lw.kernel
def sorted_(x: lw.Array):
    for i in lw.range(len(x) - 1):
        for j in lw.range(len(x) - 1 - i):
            a, b = x[j], x[j + 1]
            x[j], x[j + 1] = lw.min(a, b), lw.max(a, b)


def test_what_each_step_writes_over_is_written_once_in_an_unrolled_body() -> None:
    code = sorted_.compile(lw.Array[lw.i64], target="x86-64-v3")
    x = np.random.default_rng(3).integers(-100, 100, 37)
    want = np.sort(x)
    code(x)
    assert (x == want).all()
    loads = code.ir("simplify").count("load_at")
    assert code.ir("simplify").count("store_at") <= loads + 2


def random_body(rng: random.Random) -> str:
    """Loads and stores of various widths around the same few places, through variables too."""
    lines = []
    known = ["%v"]
    for n in range(rng.randrange(4, 25)):
        at = rng.choice((f"[%x + {rng.randrange(0, 48)}]", f"[%x + %i*8 + {rng.randrange(0, 3) * 4}]", f"[%y + {rng.randrange(0, 48)}]", "[%x + %w*8]"))
        kind = rng.randrange(8)
        if kind < 3:
            lines.append(f"%r{n} = load_at.i64 {at}")
            known.append(f"%r{n}")
        elif kind < 4:
            lines.append(f"%w = and.i64 {rng.choice(known)}, 3")
        elif kind < 5:
            lines.append(f"%n{n} = convert.i32.i64 {rng.choice(known)}; store_at.i32 %n{n}, {at}".replace("; ", "\n  "))
        else:
            lines.append(f"store_at.i64 {rng.choice(known)}, {at}")
    return "\n  ".join(lines)


def test_random_stretches_leave_the_same_memory() -> None:
    rng = random.Random(7)
    dropped = 0
    for _ in range(150):
        text = f"function f(%x: ptr, %y: ptr, %i: i64, %v: i64)\n  var %w: i64\n  stage addresses\n  %w = copy.i64 1\n  {random_body(rng)}\nend\n"
        before, after = parse(text), run_passes(parse(text), TARGET, after="simplify")
        dropped += sum(i.op is ops.STORE_AT for i in before.code) - sum(i.op is ops.STORE_AT for i in after.code)
        memory: list[Any] = []
        for function in (before, after):
            x, y = np.arange(16, dtype=np.int64), np.arange(100, 116, dtype=np.int64)
            run(function, x, y, 2, 77)
            memory.append((x, y))
        assert (memory[0][0] == memory[1][0]).all() and (memory[0][1] == memory[1][1]).all(), text
    assert dropped > 20
