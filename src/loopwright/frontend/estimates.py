"""``lw.rcp_estimate`` and ``lw.rsqrt_estimate``: what takes a machine one instruction of a division, or of one and a root, and steps that refine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopwright.errors import KernelTypeError
from loopwright.frontend import constants, functions
from loopwright.frontend.functions import _emitter
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import F32

__all__ = ["rcp_estimate", "rsqrt_estimate"]

_MOST_STEPS = 2


def rcp_estimate(value: Any, *, steps: int = 0) -> Any:
    """About ``1 / value`` of an f32: relatively 2**-11.4 off at most, after one step by Newton's method 2**-21.5, after two 2**-22.5.

    Of 0 it is infinite, and 0 of infinities, with their sign. Of subnormal numbers it may be infinite, and where ``1 / value`` is below 2**-125 it may be 0.
    """
    return _refined(ops.RCP_ESTIMATE, value, steps, lambda y: 1 - value * y, 1.0)


def rsqrt_estimate(value: Any, *, steps: int = 0) -> Any:
    """About ``1 / sqrt(value)`` of an f32: relatively 2**-11.4 off at most, after one step by Newton's method 2**-21.5, after two 2**-22.5.

    Of 0 it is infinite with its sign, of infinity 0, of negative numbers NaN. Of subnormal numbers it may be infinite, with their sign.
    """
    return _refined(ops.RSQRT_ESTIMATE, value, steps, lambda y: 1 - value * y * y, 0.5)


def _refined(op: Op, value: Any, steps: int, error: Callable[[Any], Any], part: float) -> Any:
    """An estimate, and steps by what it is relatively off and how much of that each adds; none where there is nothing to refine, as of 0."""
    emitter = _emitter(op.name, value)
    if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= _MOST_STEPS:
        raise KernelTypeError(f"lw.{op.name} takes 0 to {_MOST_STEPS} steps, known while compiling, not {steps!r}")
    if emitter is None:
        type_ = constants.type_of(value) if constants.is_typed(value) else None
        if type_ is not F32:
            raise _not_f32(op, str(type_) if type_ is not None else type(value).__name__)
        return constants.evaluate(op, F32, [value])
    made = emitter.staged(value)
    emitter.settle(made)
    if made.type.element is not F32:
        raise emitter.located(_not_f32(op, str(made.type)))
    y = emitter.unary(op, made)
    for _ in range(steps):
        off = error(y)
        y = functions.select(off > -1, y + y * part * off, y)
    return y


def _not_f32(op: Op, found: str) -> KernelTypeError:
    written = "1 / x" if op is ops.RCP_ESTIMATE else "1 / lw.sqrt(x)"
    return KernelTypeError(f"lw.{op.name} takes f32, not {found}: machines have no estimates of other types; convert it, as in lw.f32(x), or write {written}")
