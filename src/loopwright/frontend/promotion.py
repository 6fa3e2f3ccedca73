"""Which types operations take, and where two types meet: NumPy's rules (``numpy.result_type``)."""

from __future__ import annotations

from typing import Final

import numpy as np

from loopwright.frontend.annotations import BY_DTYPE
from loopwright.ir import ops
from loopwright.types import KIND_BOOL, KIND_FLOAT, KIND_INT, KIND_MASK, KIND_PTR, KIND_UINT, Type

__all__ = ["SPELLED", "TAKES", "promote"]

_promoted: Final[dict[tuple[int, int], Type]] = {}

_WORDS: Final = {KIND_BOOL: "bool", KIND_INT: "int", KIND_UINT: "int", KIND_FLOAT: "float", KIND_PTR: "ptr", KIND_MASK: "mask"}
#: Per operation, per kind of type: does the row take it?
TAKES: Final[list[list[bool]]] = [[_WORDS.get(kind) in op.types for kind in range(KIND_MASK + 1)] for op in ops.OPS]

#: How the user wrote the operation, where it has a sign of its own.
SPELLED: Final[dict[str, str]] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "div_floor": "//",
    "rem_floor": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "neg": "unary -",
    "not": "~",
}


def promote(a: Type, b: Type) -> Type | None:
    """The element type at which two typed operands meet: ``numpy.result_type``. None when there is none."""
    if a is b:
        return a
    known = _promoted.get((a.number, b.number))
    if known is None:
        if a.kind == KIND_PTR or b.kind == KIND_PTR:
            return (a if a.kind == KIND_PTR else b) if a.is_integer or b.is_integer else None
        if not a.dtype or not b.dtype:
            return None
        found = BY_DTYPE.get(np.result_type(np.dtype(a.dtype), np.dtype(b.dtype)).name)
        if found is None:
            return None
        known = _promoted[(a.number, b.number)] = found
    return known
