"""A rule that is kept for a shape of instruction is the rule of every instruction of that shape, whichever came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.passes.generator import Generator

from loopwright.compiler import run_passes
from loopwright.corpus.programs import programs
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import registry
from loopwright.targets.aarch64 import lowering as aarch64
from loopwright.targets.target import Rule, Target
from loopwright.targets.x86 import lowering as x86

#: Rules made anew, by target.
ANEW: dict[str, Callable[[Target, Function, Instr], Rule | None]] = {
    "x86-64-v3": x86.rule_for,
    "x86-64-v4": x86.rule_for,
    "aarch64-neon": lambda target, f, instr: aarch64._rule(f, instr, False),
}


def _functions() -> list[Function]:
    return [Generator(seed, 60).f for seed in range(60)] + [f for _, f in programs(1)]


def _seen(value: Any, depth: int = 0) -> Any:
    """What one can tell of a value without its identity."""
    if value is None or isinstance(value, int | str | bytes | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_seen(each, depth) for each in value]
    owner = getattr(value, "__self__", None)
    if owner is not None:
        return [getattr(value, "__name__", ""), _seen(owner, depth)]
    slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ())]
    if depth == 2 or not slots:
        return type(value).__name__
    return {name: _seen(getattr(value, name, None), depth + 1) for name in slots}


@pytest.mark.parametrize("name", ANEW)
def test_a_known_rule_is_the_one_that_would_be_made(name: str) -> None:
    target = registry.get(name)
    for each in _functions():
        f = run_passes(each, target, "select")
        for instr in f.code:
            if instr.rule is None or instr.op is ops.RET or instr.op in ops.CALLING or instr.op.effect == ops.CALLS:
                continue
            assert _seen(target.rule(f, instr)) == _seen(ANEW[name](target, f, instr)), str(instr)
