"""Which of NumPy's types a kernel's values are of: what ``isinstance`` says of them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.complex_numbers import Complex
from loopwright.frontend.element_types import ElementType
from loopwright.frontend.expr import Value, is_staged

__all__ = ["is_instance", "type_of_object"]


def is_instance(thing: Any, kinds: Any) -> bool:
    """``isinstance``: an array is one of NumPy's, an element one of its scalars. No run-time value is one of Python's own numbers: ``isinstance(v, (int, float))`` asks whether it is known while compiling."""
    own = _class(thing)
    if own is None:
        return builtins.isinstance(thing, kinds)
    if builtins.isinstance(kinds, tuple):
        return any(is_instance(thing, kind) for kind in kinds)
    return builtins.isinstance(kinds, type) and kinds.__module__.partition(".")[0] == "numpy" and issubclass(own, kinds)


def type_of_object(*args: Any) -> Any:
    """``type`` of what is known while compiling."""
    if len(args) == 1 and is_staged(args[0]) and _class(args[0]) is not None:
        raise KernelTypeError(
            "type() of a run-time value or array is a class of the compiler's: ask isinstance(v, …), or x.dtype, which is the type of an array's elements"
        )
    return builtins.type(*args)


def _class(thing: Any) -> type | None:
    """NumPy's class of what a run-time value stands for, or None for what is none."""
    if builtins.isinstance(thing, StagedArray):
        return np.ndarray
    if builtins.isinstance(thing, Complex) or (builtins.isinstance(thing, Value) and not thing.type.lanes):
        made: type = ElementType(thing.type).type
        return made
    return None
