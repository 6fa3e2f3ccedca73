"""Arrays that a kernel makes with NumPy's functions, as ``np.zeros(64)``: known while compiling, as all that Python computes in a kernel, until something of run time is stored in one. Then it is a
local array, as ``lw.local`` makes it, and the kernel is staged once more.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.frontend.annotations import type_of_dtype
from loopwright.frontend.arrays import StagedArray, local_array
from loopwright.frontend.expr import Value
from loopwright.frontend.staging import Staging
from loopwright.ir import ops
from loopwright.types import I64, VOID

__all__ = ["holds_run_time", "make", "makes"]

#: What makes arrays, by name.
_HOLD: Final = frozenset({"zeros", "ones", "empty", "full"})
#: Arrays of a kernel's own have no more dimensions.
MOST_EXTENTS: Final = 8
#: So many elements are filled one by one, which makes variables of them where all their indices are known.
_FEW: Final = 16


def makes(function: Any) -> bool:
    """Whether a function is one of these."""
    name = getattr(function, "__name__", "")
    return name in _HOLD and getattr(np, name, None) is function


def make(s: Staging, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What such a function, called with what is known while compiling, gives in a kernel."""
    array = function(*args, **named)
    key = s.act.path, s.emitter.at_line, "array"
    element = type_of_dtype(array.dtype)
    if element is None or not array.size or not 1 <= array.ndim <= MOST_EXTENTS:
        return array
    if function.__name__ != "empty" and array.tobytes() != array.flat[0].tobytes() * array.size:
        # It was filled with an array.
        return array
    if key not in s.notes:
        s.made[id(array)] = array, key
        return array
    staged = local_array(s.emitter, element, array.shape, s.act.statement(s.emitter.at_line))
    if function.__name__ != "empty":
        _fill(s, staged, array)
    return staged


def holds_run_time(s: Staging, container: Any) -> None:
    """Something of run time is stored in an array: if the kernel has made it so, it starts again with a local one."""
    made = s.made.get(id(container))
    if made is not None and made[0] is container:
        s.note(made[1], 1)


def _fill(s: Staging, staged: StagedArray, array: Any) -> None:
    """Store what the elements of a new array hold, which is the same in all."""
    value = array.flat[0]
    if array.size <= _FEW:
        for index in np.ndindex(array.shape):
            staged[index] = value
        return
    emitter = s.emitter
    indices: list[Value] = []
    for extent in array.shape:
        counter = emitter.f.register(I64, "")
        emitter.open(ops.FOR, VOID, [emitter.f.const(I64, 0), emitter.f.const(I64, extent), emitter.f.const(I64, 1)], counter)
        indices.append(Value(emitter, counter, I64))
    staged[tuple(indices)] = value
    for _ in array.shape:
        emitter.close()
