"""The index of a ``lw.lanes`` loop: consecutive in the lanes, so that an access by it is one vector access."""

from __future__ import annotations

from typing import Any

from loopwright.frontend.expr import Value, Weak, is_number
from loopwright.ir import ops
from loopwright.types import I64, Type, mask_of

__all__ = ["LaneIndex"]


class LaneIndex(Value):
    """``i``, or ``i`` plus or minus a value that is the same for all lanes. ``operand`` is lane 0's index, an i64.

    Comparisons with a value that is the same for all lanes become masks directly; any other use of it as a value makes
    the vector of the indices.
    """

    __slots__ = ()

    def _uniform(self, other: Any) -> int | None:
        """The operand of an integer that is the same for all lanes, as i64; None for anything else."""
        graph = self.graph
        if type(other) is int:
            return graph.number(I64, other)
        if is_number(other) or isinstance(other, LaneIndex):
            return None
        value = graph.wrap(other)
        if value is None or value.type.lanes:
            return None
        if isinstance(value, Weak) and value.open:
            if value.cell.root().floating:
                return None
            graph.settle(value, I64)
        # u64 and i64 meet at f64.
        if not value.type.is_integer or value.type.bits == 64 and value.type is not I64:
            return None
        return graph.convert(value, I64).operand

    def _moved(self, op: ops.Op, a: int, b: int) -> LaneIndex:
        return LaneIndex(self.graph, self.graph.define(op, I64, [a, b], I64), I64)

    def __add__(self, other: Any) -> Any:
        offset = self._uniform(other)
        return self._moved(ops.ADD, self.operand, offset) if offset is not None else super().__add__(other)

    def __radd__(self, other: Any) -> Any:
        offset = self._uniform(other)
        return self._moved(ops.ADD, self.operand, offset) if offset is not None else super().__radd__(other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, LaneIndex):
            return Value(self.graph, self.graph.define(ops.SUB, I64, [self.operand, other.operand], I64), I64)
        offset = self._uniform(other)
        return self._moved(ops.SUB, self.operand, offset) if offset is not None else super().__sub__(other)

    def __pos__(self) -> Any:
        return self

    def _below(self, limit: int) -> Value:
        """The lanes whose index is less than a value."""
        type_ = mask_of(self.graph.width, self.graph.lanes)
        return self.graph.value(ops.LANE_MASK, type_, [self.operand, limit], type_)

    def _up_to(self, limit: int) -> Value:
        """The lanes whose index is at most a value."""
        graph = self.graph
        type_ = mask_of(graph.width, graph.lanes)
        before = graph.define(ops.SUB, I64, [self.operand, graph.f.const(I64, 1)], I64)
        return graph.value(ops.LANE_MASK, type_, [before, limit], type_)

    def __lt__(self, other: Any) -> Any:
        limit = self._uniform(other)
        return self._below(limit) if limit is not None else super().__lt__(other)

    def __ge__(self, other: Any) -> Any:
        limit = self._uniform(other)
        return self.graph.logical_not(self._below(limit)) if limit is not None else super().__ge__(other)

    def __le__(self, other: Any) -> Any:
        limit = self._uniform(other)
        return self._up_to(limit) if limit is not None else super().__le__(other)

    def __gt__(self, other: Any) -> Any:
        limit = self._uniform(other)
        return self.graph.logical_not(self._up_to(limit)) if limit is not None else super().__gt__(other)

    def __eq__(self, other: object) -> Any:
        limit = self._uniform(other)
        if limit is None:
            return super().__eq__(other)
        upper, lower = self._up_to(limit), self._below(limit)
        return self.graph.value(ops.ANDNOT, lower.type, [lower.operand, upper.operand], lower.type)

    def __ne__(self, other: object) -> Any:
        limit = self._uniform(other)
        if limit is None:
            return super().__ne__(other)
        return self.graph.logical_not(self == other)

    __hash__ = Value.__hash__

    def plain(self) -> Value:
        made = self.converted_lanes(I64)
        assert made is not None
        return made

    def converted_lanes(self, type_: Type) -> Value | None:
        """The vector of the indices, wrapped to an integer type; other types go by way of i64."""
        if not type_.is_integer:
            return None
        graph = self.graph
        first = graph.convert(Value(graph, self.operand, I64), type_)
        full = graph.vector(type_, graph.lanes)
        start = graph.value(ops.SPLAT, full, [first.operand], full)
        iota = graph.value(ops.IOTA, full, [], full)
        return graph.value(ops.ADD, full, [start.operand, iota.operand], full)

    def __repr__(self) -> str:
        return "<index of lanes>"
