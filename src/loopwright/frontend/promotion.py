"""Which types operations take, where two types meet (``numpy.result_type``), and which Python numbers a type can hold.

Errors raised here have no position: whoever knows it puts it in.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from loopwright.errors import KernelTypeError, LoopwrightError, UnsupportedOperationError
from loopwright.frontend.annotations import BY_DTYPE
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import BF16, BOOL, F16, F32, F64, KIND_BOOL, KIND_FLOAT, KIND_INT, KIND_MASK, KIND_PTR, KIND_UINT, Type, limits

__all__ = ["COUNTS", "SPELLED", "TAKES", "fitting", "holds_all", "meet", "promote", "refusal", "spelled", "wider"]

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
    "copy_sign": "copysign",
}


def promote(a: Type, b: Type) -> Type | None:
    """The element type at which two typed operands meet: ``numpy.result_type``. None when there is none."""
    if a is b:
        return a
    known = _promoted.get((a.number, b.number))
    if known is None:
        if a.kind == KIND_PTR or b.kind == KIND_PTR:
            return (a if a.kind == KIND_PTR else b) if a.is_integer or b.is_integer else None
        if a is BF16 or b is BF16:
            known = _promoted[(a.number, b.number)] = _met_by_bf16(b if a is BF16 else a)
            return known
        if not a.dtype or not b.dtype:
            return None
        found = BY_DTYPE.get(np.result_type(np.dtype(a.dtype), np.dtype(b.dtype)).name)
        if found is None:
            return None
        known = _promoted[(a.number, b.number)] = found
    return known


def holds_all(have: Type, want: Type) -> bool:
    """Whether a type holds all numbers of another one as they are (NumPy's "safe" casts)."""
    if have.is_integer and want.is_integer:
        return have.bits < want.bits and (want.signed or not have.signed)
    if have.is_float and want.is_float:
        return have.bits < want.bits
    return have.is_integer and want.is_float and have.bits <= _EXACT.get(want.bits, 0)


def wider(a: Type, b: Type) -> Type | None:
    """The type at which two meet, where it holds all numbers of both as they are; None where there is none such."""
    met = promote(a, b)
    return met if met is not None and met is not BOOL and all(type_ is met or holds_all(type_, met) for type_ in (a, b)) else None


def _met_by_bf16(other: Type) -> Type:
    """Where bf16 meets another type, which NumPy does not know: as f16 does there, and at f32 with f16, which has more digits and less range."""
    if other is F16:
        return F32
    if other.is_float:
        return other
    return BF16 if other.bits <= 8 else F32 if other.bits == 16 else F64


#: By the bits of a float, those of the integers that it holds exactly.
_EXACT: Final = {64: 32, 32: 16, 16: 8}
#: What a condition is a number for beside another, 0 or 1.
COUNTS: Final = (ops.ADD, ops.SUB, ops.MUL)


def meet(op: Op, a: Type, b: Type) -> Type:
    """The element type at which the typed operands of an operation meet. Raises ``KernelTypeError`` where there is none."""
    if a is b:
        return a
    met = promote(a, b)
    name = SPELLED.get(op.name, op.name)
    if met is None or ((a is BOOL) != (b is BOOL) and met is not BOOL):
        if a is BOOL or b is BOOL:
            other = b if a is BOOL else a
            if (other.is_integer or other.is_float) and op in COUNTS:
                return other
            raise KernelTypeError(f"`{name}` of a condition (bool) and {other}: convert the condition, as in lw.{other}(c)")
        raise KernelTypeError(f"`{name}` of {a} and {b}: convert one of them, as in lw.f64(x)")
    if met.is_float and a.is_integer and b.is_integer and not TAKES[op.code][KIND_FLOAT]:
        # Of u64 and any signed integer.
        raise KernelTypeError(f"`{name}` of {a} and {b}, which meet at {met} as in NumPy: convert one of them, as in lw.{a}(x)")
    return met


#: Every integer type holds the numbers from 0 to this one.
FITS_ALL: Final = 127


def fitting(type_: Type, value: int | float | bool) -> int | float | bool:
    """A Python number as a constant of a type. Raises ``KernelTypeError`` where the type cannot hold it."""
    kind = type_.kind
    if kind == KIND_FLOAT:
        try:
            return float(value)
        except OverflowError:
            raise KernelTypeError(f"{spelled(value)} is too large for {type_.element}") from None
    if kind in (KIND_BOOL, KIND_MASK):
        if type(value) is not bool:
            raise KernelTypeError(f"the number {value!r} where a condition (bool) is needed: write True or False, or a comparison, as in x != 0")
        return value
    if type(value) is float:
        raise KernelTypeError(
            f"the Python float {value!r} with an operand of integer type {type_.element}: convert the operand, as in lw.f64(x), or write an integer"
        )
    value = int(value)
    if kind != KIND_PTR and not 0 <= value <= FITS_ALL:
        low, high = limits(type_)
        if not low <= value <= high:
            raise KernelTypeError(f"{spelled(value)} does not fit in {type_.element} ({low} to {high}): convert the other operand to a wider type first")
    return value


def spelled(value: int | float) -> str:
    """An integer in a message: one of many digits by its size, for Python refuses to print the longest."""
    if type(value) is int and value.bit_length() > 1024:
        return f"a Python integer of {value.bit_length()} bits"
    return f"the Python integer {value}"


def refusal(op: Op, type_: Type) -> LoopwrightError:
    """The error for an operation that a type does not have."""
    name = SPELLED.get(op.name, op.name)
    if type_.kind == KIND_BOOL or type_.kind == KIND_MASK:
        return KernelTypeError(f"`{name}` is not available for conditions: use lw.select(condition, a, b), or convert as in lw.i32(condition)")
    hint = ": convert to an integer type first" if type_.is_float else ": convert to a float type first, as in lw.f64(x)" if "float" in op.types else ""
    return UnsupportedOperationError(f"`{name}` is not available for {type_}{hint}")
