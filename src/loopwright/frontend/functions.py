"""The functions of expressions: ``lw.min``, ``lw.select``, ``lw.fma`` and their like.

On run-time values they emit code; on Python numbers they compute, so that they work on compile-time values too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import BOOL, F64, KIND_MASK, U8, U32, U64, Type

__all__ = ["abs", "all", "any", "bitcast", "ceil", "crc32c", "div_trunc", "floor", "fma", "max", "min", "rem_trunc", "round", "select", "sqrt", "sum", "trunc"]

_python_min = min
_python_max = max
_python_abs = abs
_python_round = round
_python_sum = sum
_python_any = any
_python_all = all


def _graph(*values: Any) -> Emitter | None:
    for value in values:
        if isinstance(value, Value):
            return value.graph
    return None


def _fold(op: Op, values: tuple[Any, ...], name: str) -> Any:
    if len(values) == 1:
        values = tuple(values[0])
    if not values:
        raise KernelTypeError(f"lw.{name}() of nothing")
    result = values[0]
    for value in values[1:]:
        graph = _graph(result, value)
        result = (_python_min if op is ops.MIN else _python_max)(result, value) if graph is None else graph.operation(op, [result, value])
    return result


def min(*values: Any) -> Any:
    """The least of the values, as Python's ``min``: of a and b, b if b < a, else a (so a NaN in a stays)."""
    return _fold(ops.MIN, values, "min")


def max(*values: Any) -> Any:
    """The greatest of the values, as Python's ``max``: of a and b, b if b > a, else a (so a NaN in a stays)."""
    return _fold(ops.MAX, values, "max")


def select(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere. Both are computed: use ``a if condition else b`` where only one may be."""
    graph = _graph(condition, a, b)
    if graph is None:
        return a if condition else b
    return graph.select(condition, a, b)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` with one rounding."""
    graph = _graph(a, b, c)
    if graph is None:
        assert ops.FMA.meaning is not None
        return float(ops.FMA.meaning(F64, F64, float(a), float(b), float(c)))
    return graph.operation(ops.FMA, [a, b, c])


def _unary(op: Op, python: Callable[[Any], Any], value: Any) -> Any:
    graph = _graph(value)
    return python(value) if graph is None else graph.unary(op, value)


def sqrt(value: Any) -> Any:
    """The square root, correctly rounded; of an integer in f64."""
    return _unary(ops.SQRT, np.sqrt if isinstance(value, np.generic) else math.sqrt, value)


def floor(value: Any) -> Any:
    """Rounded towards minus infinity; the type stays."""
    return _unary(ops.FLOOR, np.floor if isinstance(value, np.generic) else lambda v: float(math.floor(v)), value)


def ceil(value: Any) -> Any:
    """Rounded towards plus infinity; the type stays."""
    return _unary(ops.CEIL, np.ceil if isinstance(value, np.generic) else lambda v: float(math.ceil(v)), value)


def trunc(value: Any) -> Any:
    """Rounded towards zero; the type stays."""
    return _unary(ops.TRUNC, np.trunc if isinstance(value, np.generic) else lambda v: float(math.trunc(v)), value)


def round(value: Any) -> Any:
    """Rounded to the nearest integer, ties to even; the type stays."""
    return _unary(ops.ROUND, np.rint if isinstance(value, np.generic) else lambda v: float(_python_round(v)), value)


def abs(value: Any) -> Any:
    """The absolute value."""
    graph = _graph(value)
    return _python_abs(value) if graph is None else graph.absolute(value)


def div_trunc(a: Any, b: Any) -> Any:
    """Integer division rounded towards zero: the machine's own, cheaper than ``//``."""
    graph = _graph(a, b)
    if graph is None:
        quotient = _python_abs(a) // _python_abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return graph.operation(ops.DIV_TRUNC, [a, b])


def rem_trunc(a: Any, b: Any) -> Any:
    """What ``div_trunc`` leaves; it has the sign of ``a``."""
    graph = _graph(a, b)
    if graph is None:
        return a - b * div_trunc(a, b)
    return graph.operation(ops.REM_TRUNC, [a, b])


def bitcast(type_: Type, value: Any) -> Any:
    """The same bits as another type of the same width."""
    graph = _graph(value)
    if graph is None:
        return np.asarray(value).view(type_.dtype)[()]
    made = graph.staged(value)
    graph.settle(made)
    if made.type.bits != type_.element.bits or not (made.type.is_integer or made.type.is_float):
        graph.fail(f"bitcast of {made.type} to {type_}: the widths differ")
    full = graph.vector(type_.element, made.type.lanes) if made.type.lanes else type_
    return graph.value(ops.BITCAST, full, [made.operand], full, made.type)


def crc32c(crc: Any, data: Any) -> Any:
    """The checksum CRC-32C of what ``crc`` is the checksum of, followed by the bytes of ``data`` (u8, u32 or u64, lowest byte first).

    The usual checksum starts at 0xFFFFFFFF and is complemented in the end.
    """
    graph = _graph(crc, data)
    types = (U8, U32, U64)
    if graph is None:
        for type_ in types:
            if isinstance(data, np.generic) and data.dtype == type_.dtype:
                assert ops.CRC32C.meaning is not None
                return ops.CRC32C.meaning(U32, type_, crc, data)
        raise KernelTypeError(f"lw.crc32c takes data of type u8, u32 or u64, not {type(data).__name__}: convert it, as in lw.u8(x)")
    made = graph.staged(data)
    graph.settle(made)
    if made.type.lanes or graph.level is not None:
        graph.fail("lw.crc32c inside lw.lanes: each step needs the checksum of the one before; use lw.range for this loop")
    if made.type not in types:
        graph.fail(f"lw.crc32c takes data of type u8, u32 or u64, not {made.type}: convert it, as in lw.u8(x)")
    start = graph.assignable(crc, U32, "the checksum")
    return graph.value(ops.CRC32C, U32, [start.operand, made.operand], U32, made.type)


def sum(values: Any) -> Any:
    """The sum of a vector's lanes (in the builder), or of the values of a Python sequence."""
    if not isinstance(values, Value):
        return _python_sum(values)
    graph = values.graph
    if graph.level is not None:
        graph.fail("lw.sum inside lw.lanes: the lanes are added with total += x[i] on a variable from before the loop")
    graph.settle(values)
    if not values.type.lanes:
        return values
    if values.type.kind == KIND_MASK:
        graph.fail("lw.sum of a condition: convert it first, as in lw.i32(condition)")
    return graph.value(ops.REDUCE_ADD, values.type, [values.operand], values.type.element)


def _quantify(op: Op, condition: Value) -> Any:
    graph = condition.graph
    c = graph.condition(condition)
    if c.type.kind != KIND_MASK:
        return c
    if graph.level is not None:
        mask = graph.as_mask(graph.level.mask, c.type)
        if op is ops.ALL:
            c = graph.value(ops.OR, c.type, [c.operand, graph.logical_not(mask).operand], c.type)
        else:
            c = graph.value(ops.AND, c.type, [c.operand, mask.operand], c.type)
    return graph.value(op, c.type, [c.operand], BOOL)


def any(condition: Any) -> Any:
    """Whether the condition holds in one lane that runs; a condition known while compiling is its own answer (or: Python's ``any`` of a sequence)."""
    if isinstance(condition, Value):
        return _quantify(ops.ANY, condition)
    return condition if isinstance(condition, (bool, np.bool_)) else _python_any(condition)


def all(condition: Any) -> Any:
    """Whether the condition holds in every lane that runs; a condition known while compiling is its own answer (or: Python's ``all`` of a sequence)."""
    if isinstance(condition, Value):
        return _quantify(ops.ALL, condition)
    return condition if isinstance(condition, (bool, np.bool_)) else _python_all(condition)
