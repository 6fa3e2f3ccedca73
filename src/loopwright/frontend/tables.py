"""Constant tables: arrays, lists, tuples and bytes known while compiling, indexed at run time. Their elements become an array that lies behind the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.frontend.annotations import BY_DTYPE
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.elements import label
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value
from loopwright.frontend.staging import Staging
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import I64, PTR

__all__ = ["MOST_TABLE", "item", "place_tables"]

#: Bytes of a table.
MOST_TABLE: Final = 1 << 16
_SEQUENCES: Final = (list, tuple, bytes)


def item(s: Staging) -> Callable[[Any, Any], Any]:
    """``table[index]`` in an expression."""
    emitter = s.emitter

    def run(value: Any, index: Any) -> Any:
        kind = type(value)
        if kind is not StagedArray and _of_run_time(emitter, index) and (kind in _SEQUENCES or isinstance(value, np.ndarray)):
            found = _table(s, value)
            if found is not None:
                # An element of bytes is one of Python's integers.
                return I64(found[index]) if kind is bytes else found[index]
        return value[index]

    return run


def _of_run_time(emitter: Emitter, index: Any) -> bool:
    if isinstance(index, Value):
        return index.emitter is emitter
    return type(index) is tuple and any(isinstance(part, Value) for part in index)


def _table(s: Staging, value: Any) -> StagedArray | None:
    """A table as an array of the function; None where not all of it is known, for Python to say what is wrong."""
    emitter = s.emitter
    if _holds_values(value):
        return None
    try:
        elements = np.frombuffer(value, np.uint8) if type(value) is bytes else np.asarray(value)
    except ValueError:
        return None
    name = label(s, value)
    pairs = elements.dtype.kind == "c"
    if pairs:
        elements = np.ascontiguousarray(elements)
        elements = elements.view(elements.real.dtype) if elements.ndim else elements
    element = BY_DTYPE.get(elements.dtype.name)
    if element is None:
        emitter.fail(f"{name} is indexed with a run-time value, and its elements are no numbers of one type: make it a NumPy array of the type that is meant")
    if not 1 <= elements.ndim <= 8 or not elements.size:
        emitter.fail(f"{name} is indexed with a run-time value, and has no elements")
    if elements.nbytes > MOST_TABLE:
        emitter.fail(
            f"{name} is indexed with a run-time value, and takes {elements.nbytes} bytes, more than {MOST_TABLE} of a constant table: pass it as an lw.Array"
        )
    data = np.ascontiguousarray(elements, elements.dtype.newbyteorder("=")).tobytes()
    known = emitter.tables.get((element, elements.shape, data))
    if known is None:
        f = emitter.f
        known = emitter.tables[element, elements.shape, data] = len(f.arrays)
        f.constant_array(name, element, elements.shape, data)
    return StagedArray(emitter, emitter.f.arrays[known], known, pairs)


def _holds_values(value: Any) -> bool:
    """Whether an item of a list or tuple, or of those in it, is a run-time value."""
    if type(value) not in (list, tuple):
        return False
    return any(isinstance(part, Value) or _holds_values(part) for part in value)


def place_tables(emitter: Emitter) -> None:
    """Put the addresses of all tables at the beginning of the function: now, because what is staged may be taken back."""
    f = emitter.f
    made: list[Instr] = []
    for number in emitter.tables.values():
        array = f.arrays[number]
        array.base = f.register(PTR, array.name)
        made.append(Instr(ops.TABLE, PTR, array.base, [f.const(I64, number)], 0, 0))
    f.code[:0] = made
