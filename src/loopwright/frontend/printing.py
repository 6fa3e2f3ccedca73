"""``lw.debug_print``: what a kernel has computed, printed while it runs."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value, Weak, describe
from loopwright.frontend.native_calls import call_native
from loopwright.ir.c_types import TO_C, address_of
from loopwright.ir.function import Callee
from loopwright.ir.half_floats import is_half
from loopwright.types import BF16, BOOL, F16, F32, F64, VOID, Type

__all__ = ["debug_print", "print_values"]


class _Narrow(float):
    """A float of fewer bits than Python's: without a format it has the digits that tell it from its neighbours."""

    kind: Any = np.float32

    def __format__(self, form: str) -> str:
        return super().__format__(form) if form else str(self.kind(self))


class _Half(_Narrow):
    kind = np.float16


_NARROW: Final[dict[Type, type[_Narrow]]] = {F32: _Narrow, BF16: _Narrow, F16: _Half}


def debug_print(text: str, /, *values: Any) -> None:
    """Print from a kernel while it runs: ``lw.debug_print("x[{}] = {:.3f}", i, x[i])``.

    Each call goes to Python and back, which takes some ten microseconds and keeps the loop around it from becoming lanes. Outside of kernels it prints as well. Code for other
    processes (under emulators, in object files) cannot call it.

    Args:
        text: with a field, as those of ``str.format``, for each value; a line of its own.
        values: numbers, at run time or known while compiling.

    Raises:
        KernelTypeError: text and values do not go together, or it stands in a loop over lanes.
    """
    for value in values:
        emitter = getattr(value, "emitter", None)
        if emitter is not None:
            print_values(emitter, (text, *values), {})
            return
    print(text.format(*values))


def print_values(emitter: Emitter, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """What ``lw.debug_print`` does in a kernel: a call of a function that is made for its text and its types."""
    if not args or not isinstance(args[0], str) or named:
        emitter.fail('lw.debug_print takes a text first, then values by position, as in lw.debug_print("x[{}] = {}", i, x[i])')
    text: str = args[0]
    types: list[Type | None] = []
    passed: list[Value] = []
    known: list[Any] = []
    for value in args[1:]:
        made = _value(emitter, value)
        types.append(made.type if made is not None else None)
        known.append(value if made is None else None)
        if made is not None:
            passed.append(emitter.convert(made, F64) if is_half(made.type) else made)
    try:
        text.format(*(each if type_ is None else _shown(type_, 0) for type_, each in zip(types, known, strict=True)))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as reason:
        emitter.fail(f"lw.debug_print: the text {text!r} does not go with {len(types)} value{'s' * (len(types) != 1)}: {reason}")

    def say(*given: Any) -> None:
        rest = iter(given)
        print(text.format(*(each if type_ is None else _shown(type_, next(rest) or 0) for type_, each in zip(types, known, strict=True))))

    callback = ctypes.CFUNCTYPE(None, *(TO_C[value.type] for value in passed))(say)
    call_native(emitter, Callee("debug_print", [value.type for value in passed], VOID, address_of(callback), None, callback), tuple(passed))


def _value(emitter: Emitter, value: Any) -> Value | None:
    """A run-time value, or None for what is known while compiling."""
    if not hasattr(value, "emitter"):
        return None
    made = emitter.wrap(value)
    if made is None:
        emitter.fail(f"lw.debug_print prints numbers, one at a time, not {describe(value)}")
    if isinstance(made, Weak) and made.open:
        emitter.settle(made)
    if made.type.lanes or (made.type not in TO_C and not is_half(made.type)):
        emitter.fail(f"lw.debug_print prints numbers, one at a time, not {describe(value)}")
    return made


def _shown(type_: Type, value: Any) -> Any:
    """A number of a type, as the format's fields get it."""
    if type_ is BOOL:
        return bool(value)
    if type_.is_float:
        return _NARROW.get(type_, float)(value)
    return int(value)
