"""Rows, columns and other parts of arrays: what their indices are in the array itself.

A part is known while staging only. Nothing is copied, and nothing of it is there at run time: an access through it is one to the array, with the indices that the part stands for, so
that dependences, lanes and checks see the array.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value
from loopwright.ir import ops

__all__ = ["Axis", "View", "count", "narrowed", "placed", "takes_part", "transposed", "whole"]


class Axis:
    """One dimension of a part.

    Attributes:
        dimension: that of the array which it goes along.
        start: the index of its first element there: a number, or a run-time i64.
        step: how far its elements are apart.
        extent: how many there are.
        cut: it leaves some of the array out.
    """

    __slots__ = ("cut", "dimension", "extent", "start", "step")

    def __init__(self, dimension: int, start: Any, step: int, extent: Any, cut: bool) -> None:
        self.dimension = dimension
        self.start = start
        self.step = step
        self.extent = extent
        self.cut = cut


class View:
    """A part of an array.

    Attributes:
        fixed: by dimension of the array, the index that all of the part has; None for others.
        axes: the dimensions of the part.
        shape: their extents.
    """

    __slots__ = ("axes", "fixed", "shape")

    def __init__(self, fixed: list[Any], axes: list[Axis]) -> None:
        self.fixed = fixed
        self.axes = axes
        self.shape = tuple([axis.extent for axis in axes])


def whole(shape: tuple[Any, ...]) -> View:
    """All of an array."""
    return View([None] * len(shape), [Axis(dimension, 0, 1, extent, False) for dimension, extent in enumerate(shape)])


def transposed(view: View) -> View:
    """The same with its dimensions in the opposite order."""
    return View(view.fixed, view.axes[::-1])


def takes_part(index: Any, rank: int) -> bool:
    """Whether an index of an array of so many dimensions gives a part of it, not an element."""
    if type(index) is tuple:
        if len(index) < rank:
            return True
        return any(isinstance(item, (slice, EllipsisType)) for item in index)
    return rank > 1 or isinstance(index, (slice, EllipsisType))


def narrowed(emitter: Emitter, view: View, index: Any, name: str) -> View:
    """The part of a part that an index gives."""
    items: list[Any] = list(index) if type(index) is tuple else [index]
    rests = [position for position, item in enumerate(items) if isinstance(item, EllipsisType)]
    rank = len(view.axes)
    if len(rests) == 1:
        items[rests[0] : rests[0] + 1] = [slice(None)] * (rank - len(items) + 1)
    if len(items) > rank or len(rests) > 1:
        emitter.fail(f"{name} has {rank} dimension{'s' if rank > 1 else ''}, and is given {len(items)} indices")
    fixed = list(view.fixed)
    axes: list[Axis] = []
    for position, axis in enumerate(view.axes):
        if position >= len(items):
            axes.append(axis)
        elif isinstance(items[position], slice):
            axes.append(_cut(emitter, items[position], axis, name))
        else:
            # What it is now is meant, also when the variable changes.
            fixed[axis.dimension] = emitter.snapshot(_within(emitter, axis, items[position], position, name))
    return View(fixed, axes)


def placed(emitter: Emitter, view: View, items: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """The indices in the array of an element of a part."""
    indices = list(view.fixed)
    for position, axis in enumerate(view.axes):
        indices[axis.dimension] = _within(emitter, axis, items[position], position, name)
    return tuple(indices)


def count(emitter: Emitter, index: Any, extent: Any, name: str, position: int) -> Any:
    """An index that is known while compiling, which counts from the end if it is negative."""
    index = int(index)
    known = type(extent) is int
    if known and not -extent <= index < extent:
        emitter.fail(f"{name}[{index}]: {name} has {extent} elements" + (f" along dimension {position}" if position else ""))
    return index if index >= 0 else extent + index


def _within(emitter: Emitter, axis: Axis, item: Any, position: int, name: str) -> Any:
    """The index in the array of an index along a dimension of a part."""
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        index = count(emitter, item, axis.extent, name, position)
    elif isinstance(item, Value):
        if axis.step == 1 and type(axis.start) is int and axis.start == 0:
            return item
        # (As i64 first: sums of narrower integers come round.)
        index = emitter.index(item, f"an index of {name}")
    else:
        emitter.fail(f"{name} is indexed with {type(item).__name__}: an index must be an integer; loop over the elements instead")
    if axis.step != 1:
        index = index * axis.step
    return index if type(axis.start) is int and axis.start == 0 else index + axis.start


def _cut(emitter: Emitter, part: Any, axis: Axis, name: str) -> Axis:
    """What a slice leaves of a dimension, as Python has it: bounds count from the end if they are negative, and are moved to where there are elements."""
    step = _bound(emitter, part.step, name) if part.step is not None else 1
    if type(step) is not int or step == 0:
        emitter.fail(f"the step of a slice of {name} must be known while compiling, and not 0: write a loop with the indices that are meant")
    lo = _bound(emitter, part.start, name)
    hi = _bound(emitter, part.stop, name)
    if lo is None and hi is None and step == 1:
        return axis
    extent = axis.extent
    if step > 0:
        # (A start behind the end leaves nothing, wherever it is.)
        start = _greater(emitter, _from_end(emitter, lo, extent), 0) if lo is not None else 0
        stop = _less(emitter, _greater(emitter, _from_end(emitter, hi, extent), 0), extent) if hi is not None else extent
        long = stop if type(start) is int and start == 0 else _greater(emitter, stop - start, 0)
    else:
        start = _less(emitter, _from_end(emitter, lo, extent), extent - 1) if lo is not None else extent - 1
        stop = _greater(emitter, _from_end(emitter, hi, extent), -1) if hi is not None else -1
        long = _greater(emitter, start - stop, 0)
    apart = abs(step)
    if apart != 1:
        long = (long + (apart - 1)) // apart
    if axis.step != 1:
        start = start * axis.step
    return Axis(axis.dimension, start + axis.start, axis.step * step, long, True)


def _bound(emitter: Emitter, value: Any, name: str) -> Any:
    """A number of a slice: Python's, or an i64 that does not change any more."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    return emitter.snapshot(emitter.index(value, f"a bound of a slice of {name}"))


def _from_end(emitter: Emitter, bound: Any, extent: Any) -> Any:
    if type(bound) is int:
        return bound if bound >= 0 else extent + bound
    return emitter.select(bound < 0, bound + extent, bound)


def _less(emitter: Emitter, a: Any, b: Any) -> Any:
    return min(a, b) if type(a) is int and type(b) is int else emitter.operation(ops.MIN, [a, b])


def _greater(emitter: Emitter, a: Any, least: int) -> Any:
    return max(a, least) if type(a) is int else emitter.operation(ops.MAX, [a, least])
