"""Text with something wrong in it, or only something other: it is refused by an error of loopwright's own, or compiles and does what the interpreter does."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.ir.mutated import mutated
from tests.ir.random_functions import random_arguments, random_function
from tests.passes.generator import Generator
from tests.passes.lanes import random_lanes

import loopwright as lw
from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.parse import parse_all
from loopwright.ir.roles import operand_types
from loopwright.ir.text import print_function
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.targets import registry
from loopwright.types import PTR

#: (Of those without registers there are other stages.)
TARGETS = tuple(name for name in registry.names() if registry.get(name).registers)
STAGES = ("unroll", "addresses", "simplify", "switches", "immediates", "elif", "loops", "select", "liveness")


@cache
def texts() -> tuple[list[str], list[str]]:
    """Functions as text, at all stages that can be read back, and the lines of some to mix in."""
    made = [print_function(f) for path in sorted((Path(__file__).parents[1] / "files").rglob("*.ir")) for f in parse_all(path.read_text(encoding="utf-8"))]
    for seed in range(6):
        made += [print_function(f) for f in (random_function(seed, size=12), random_lanes(seed), Generator(seed).f)]
    lines = [line for text in made for line in text.split("\n") if line.strip()]
    for k, text in enumerate(tuple(made)):
        target = registry.get(TARGETS[k % len(TARGETS)])
        try:
            f = parse_all(text)[0]
            for stage in STAGES:
                f = compiler.run_passes(f, target, stage)
                made.append(print_function(f, target))
        except lw.UnsupportedOperationError:
            pass
    return made, lines


def shows_addresses(f: Function) -> bool:
    """Whether what the function computes depends on where its arrays are."""
    for instr in f.code:
        pointer = instr.type is PTR and (instr.op is ops.STORE_AT or instr.op.compare or instr.op in ops.COMPARISONS.values())
        if (
            pointer
            or instr.source is PTR
            or any(a >= 0 and f.types[a] is PTR and want is not PTR for a, want in zip(instr.args, operand_types(f, instr), strict=False))
        ):
            return True
    return f.result is PTR


def runs_as_interpreted(f: Function, code: Code, seed: int) -> bool:
    """Whether the function could be run; if so it has given what the interpreter gives."""
    bases = {array.base for array in f.arrays}
    inexact = f.options.contract or f.options.fastmath or any(instr.loop is not None and instr.loop.accumulators for instr in f.code)
    passed = all(f.types[r].dtype and (f.types[r] is not PTR or r in bases) for r in f.params)
    passed = passed and all(array.element.dtype for array in f.arrays)
    if f.callees or f.options.check or inexact or not passed or shows_addresses(f) or not code.target.features <= cpu.host_features():
        return False
    want, got = random_arguments(f, seed), random_arguments(f, seed)
    try:
        result = Interpreter(f, limit=20_000).call(*want)
    except lw.LoopwrightError:
        return False
    found = code(*got)
    assert result is None or equal(found, result), f"{found!r} for {result!r}"
    for mine, theirs in zip(got, want, strict=True):
        assert not isinstance(mine, np.ndarray) or equal(mine, theirs), f"{mine} for {theirs}"
    return True


def check(seeds: range) -> Counter[str]:
    made, lines = texts()
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        chooser = random.Random(seed)
        text = mutated(chooser.choice(made), chooser, lines)
        try:
            f = lw.parse(text)
            code: Any = f.compile(target=chooser.choice(TARGETS))
            assert code.asm()
            outcomes["compiled"] += 1
            outcomes["run"] += runs_as_interpreted(f.ir, code, seed)
        except lw.LoopwrightError as error:
            outcomes[type(error).__name__] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{text}") from error
    return outcomes


@pytest.mark.parametrize("start", range(0, 600, 300))
def test_changed_text_is_refused_or_compiles(start: int) -> None:
    outcomes = check(range(start, start + 300))
    assert min(outcomes[kind] for kind in ("compiled", "run", "ParseError", "VerifyError")) > 3, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 40_000, 3_000))
def test_much_changed_text_is_refused_or_compiles(start: int) -> None:
    check(range(start, start + 3_000))
