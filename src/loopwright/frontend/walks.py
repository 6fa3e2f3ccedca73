"""What a ``for`` goes through element by element at run time: arrays and their parts, and what ``enumerate``, ``zip`` and ``reversed`` make of them and of ranges.

They are loops over ``lw.range(len(x))`` whose first statement is ``v = x[i]``.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value, describe
from loopwright.frontend.loops import Lanes, Range
from loopwright.ir import ops

__all__ = ["Elements", "Walk", "goes_through", "walk_made", "walk_through"]


class Walk:
    """So many items, each known by its number.

    Attributes:
        emitter: of the kernel.
        length: how many: a run-time i64, or Python's number.
    """

    __slots__ = ("emitter", "length")
    __staged__: ClassVar = True

    def __init__(self, emitter: Emitter, length: Any) -> None:
        self.emitter = emitter
        self.length = length

    def item(self, index: Any) -> Any:
        """The item of a number."""
        raise NotImplementedError

    def __iter__(self) -> NoReturn:
        self.emitter.fail("enumerate, zip and reversed of arrays are what a for loop goes over: write the loop")

    def __repr__(self) -> str:
        return "enumerate, zip or reversed of arrays, which is what a for loop goes over"


class _OfArray(Walk):
    __slots__ = ("array",)

    def __init__(self, array: StagedArray) -> None:
        super().__init__(array.emitter, array.length)
        self.array = array

    def item(self, index: Any) -> Any:
        return self.array[index]


class _OfRange(Walk):
    __slots__ = ("lo", "step")

    def __init__(self, emitter: Emitter, lo: Any, hi: Any, step: Any) -> None:
        if type(step) is not int or step == 0:
            emitter.fail("a range beside arrays takes a step that is known while compiling and is not 0")
        lo = _held(emitter, lo, "a bound of a range")
        hi = _held(emitter, hi, "a bound of a range")
        super().__init__(emitter, hi - lo if step == 1 else (hi - lo + step - (1 if step > 0 else -1)) // step)
        self.lo = lo
        self.step = step

    def item(self, index: Any) -> Any:
        return index * self.step + self.lo if self.step != 1 else index + self.lo


class _Numbered(Walk):
    __slots__ = ("inner", "start")

    def __init__(self, inner: Walk, start: Any) -> None:
        super().__init__(inner.emitter, inner.length)
        self.inner = inner
        self.start = start

    def item(self, index: Any) -> Any:
        start = self.start
        return (index if type(start) is int and start == 0 else index + start), self.inner.item(index)


class _Together(Walk):
    __slots__ = ("inner",)

    def __init__(self, emitter: Emitter, inner: list[Walk]) -> None:
        length = inner[0].length
        for walk in inner[1:]:
            if type(length) is int and type(walk.length) is int:
                length = min(length, walk.length)
            elif walk.length is not length:
                length = emitter.operation(ops.MIN, [length, walk.length])
        super().__init__(emitter, length)
        self.inner = inner

    def item(self, index: Any) -> Any:
        return tuple([walk.item(index) for walk in self.inner])


class _Backwards(Walk):
    __slots__ = ("inner",)

    def __init__(self, inner: Walk) -> None:
        super().__init__(inner.emitter, inner.length)
        self.inner = inner

    def item(self, index: Any) -> Any:
        return self.inner.item(self.length - 1 - index)


class Elements:
    """The items of a walk whose length is known, in turn, each made when it is asked for."""

    __slots__ = ("number", "walk")

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.number = 0

    def __iter__(self) -> Elements:
        return self

    def __next__(self) -> Any:
        if self.number >= self.walk.length:
            raise StopIteration
        self.number += 1
        return self.walk.item(self.number - 1)


def goes_through(value: Any) -> bool:
    """Whether a value is gone through at run time."""
    if isinstance(value, Range):
        return isinstance(value.lo, Value) or isinstance(value.hi, Value) or isinstance(value.step, Value)
    return isinstance(value, (StagedArray, Walk))


def walk_through(emitter: Emitter, value: Any) -> Walk:
    """What goes through a value."""
    if isinstance(value, Walk):
        return value
    if isinstance(value, StagedArray):
        return _OfArray(value)
    if isinstance(value, Range):
        return _OfRange(emitter, value.lo, value.hi, value.step)
    if isinstance(value, range):
        return _OfRange(emitter, value.start, value.stop, value.step)
    if isinstance(value, Lanes):
        emitter.fail("lw.lanes is gone through by a for loop alone: write for i in lw.lanes(n), and x[i]")
    emitter.fail(f"a loop over arrays at run time goes over arrays and ranges, not over {describe(value)} beside them: make it a NumPy array, and index it")


def walk_made(emitter: Emitter, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Walk | None:
    """What ``enumerate``, ``zip`` or ``reversed`` makes of what is gone through at run time; None of others."""
    if not any(goes_through(arg) for arg in args):
        return None
    if function is enumerate:
        if not 1 <= len(args) + len(named) <= 2 or (named and "start" not in named):
            emitter.fail("enumerate takes what it counts, and a start, as in enumerate(x, 1)")
        start = args[1] if len(args) > 1 else named.get("start", 0)
        return _Numbered(walk_through(emitter, args[0]), _held(emitter, start, "the start of enumerate"))
    if function is zip:
        if named.get("strict"):
            emitter.fail("zip of arrays takes no strict=True: kernels raise no exceptions; compare the lengths before the call")
        return _Together(emitter, [walk_through(emitter, arg) for arg in args])
    if function is reversed and len(args) == 1 and isinstance(args[0], StagedArray):
        return _Backwards(_OfArray(args[0]))
    return None


def _held(emitter: Emitter, number: Any, what: str) -> Any:
    """A number as it is now."""
    if isinstance(number, (int, np.integer)):
        return int(number)
    return emitter.snapshot(emitter.index(number, what))
