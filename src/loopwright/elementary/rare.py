"""What few arguments need: computed where a lane has one, and skipped otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopwright.frontend.expr import Value
from loopwright.frontend.functions import any as any_lane
from loopwright.frontend.functions import select
from loopwright.ir import ops
from loopwright.types import VOID

__all__ = ["rarely"]


def rarely(condition: Any, usual: tuple[Any, ...], compute: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The values ``usual``, and where the condition holds what ``compute`` makes, which runs only if it holds in one of the lanes.

    It is what ``if lw.any(condition): v = lw.select(condition, compute(), v)`` is in a kernel, and works in the builder too.
    """
    if not isinstance(condition, Value):
        return compute() if condition else usual
    emitter = condition.emitter
    asked = any_lane(condition)
    before = [emitter.staged(value) for value in usual]
    variables = [emitter.f.register(value.type, "", True) for value in before]
    for register, value in zip(variables, before, strict=True):
        emitter.copy_to(register, value.type, value.operand)
    emitter.open(ops.IF, VOID, [asked.operand])
    outer = emitter.region
    emitter.regions += 1
    emitter.region = emitter.regions
    for register, value, made in zip(variables, before, compute(), strict=True):
        chosen = select(condition, made, value)
        emitter.copy_to(register, value.type, chosen.operand)
    emitter.region = outer
    emitter.close()
    return tuple([Value(emitter, register, value.type) for register, value in zip(variables, before, strict=True)])
