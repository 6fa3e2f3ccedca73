"""Comparisons of u64 with signed integers: they meet at f64, which does not hold them all, but are compared exactly, as NumPy compares them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.frontend.annotations import BY_DTYPE
from loopwright.frontend.expr import Value, ValueEmitter, Weak
from loopwright.ir import ops
from loopwright.ir.ops import Op, mask_for
from loopwright.types import I64, KIND_INT, U64, Type, vector_of

__all__ = ["compared"]

#: The comparison with its operands exchanged.
_EXCHANGED: Final[dict[Op, Op]] = {ops.EQ: ops.EQ, ops.NE: ops.NE, ops.LT: ops.GT, ops.LE: ops.GE, ops.GT: ops.LT, ops.GE: ops.LE}


def compared(emitter: ValueEmitter, op: Op, operands: list[Any]) -> Value | None:
    """The comparison of a u64 and a signed integer; None where they are something else."""
    types = [_type_of(operand) for operand in operands]
    if types[0] is U64:
        unsigned, signed, other = operands[0], operands[1], types[1]
    else:
        unsigned, signed, other = operands[1], operands[0], types[0]
        op = _EXCHANGED[op]
        if types[1] is not U64:
            return None
    if other is None or other.kind != KIND_INT:
        return None
    u, s = emitter.convert(unsigned, U64), emitter.convert(signed, I64)
    lanes = max(u.type.lanes, s.type.lanes)
    if lanes:
        u, s = emitter.splat(u, lanes), emitter.splat(s, lanes)
    signed_type, unsigned_type = vector_of(I64, lanes), vector_of(U64, lanes)
    mask = mask_for(unsigned_type)
    negative = emitter.define(ops.LT, signed_type, [s.operand, emitter.f.const(signed_type, 0)], mask)
    found = emitter.define(op, unsigned_type, [u.operand, emitter.convert(s, U64).operand], mask)
    # A negative number is less than any u64.
    both = ops.OR if op is ops.NE or op is ops.GT or op is ops.GE else ops.ANDNOT
    return emitter.value(both, mask, [negative, found], mask)


def _type_of(operand: Any) -> Type | None:
    """The element type of a typed operand."""
    if isinstance(operand, Value):
        return None if isinstance(operand, Weak) and operand.open else operand.type.element
    return BY_DTYPE.get(operand.dtype.name) if isinstance(operand, np.generic) else None
