"""Which of Python's and NumPy's types a kernel's values are of: what ``isinstance`` says of them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.complex_numbers import Complex
from loopwright.frontend.element_types import ElementType
from loopwright.frontend.expr import Value, is_staged
from loopwright.types import BOOL, I64, Type

__all__ = ["is_instance", "type_of_object"]


def is_instance(thing: Any, kinds: Any) -> bool:
    """``isinstance`` as it is where the kernel's function runs as Python: an element is one of NumPy's scalars, an i64 Python's ``int`` as well, a condition a ``bool``."""
    classes = _classes(thing)
    if classes is None:
        return builtins.isinstance(thing, kinds)
    if builtins.isinstance(kinds, tuple):
        return any(is_instance(thing, kind) for kind in kinds)
    return any(issubclass(each, kinds) for each in classes)


def type_of_object(*args: Any) -> Any:
    """``type`` of what is known while compiling."""
    if len(args) == 1 and is_staged(args[0]) and _classes(args[0]) is not None:
        raise KernelTypeError(
            "type() of a run-time value or array is a class of the compiler's: ask isinstance(v, …), or x.dtype, which is the type of an array's elements"
        )
    return builtins.type(*args)


def _classes(thing: Any) -> tuple[type, ...] | None:
    """The classes of what a run-time value stands for, or None for what is none."""
    if builtins.isinstance(thing, StagedArray):
        return (np.ndarray,)
    if builtins.isinstance(thing, Complex):
        return (_scalar(thing.type),)
    if builtins.isinstance(thing, Value) and not thing.type.lanes:
        return (_scalar(thing.type), *{BOOL: (bool,), I64: (int,)}.get(thing.type, ()))
    return None


def _scalar(type_: Type) -> type:
    """NumPy's class of a type's numbers."""
    made: type = ElementType(type_).type
    return made
