"""What a kernel's ``for`` loops run over: ``lw.range`` and ``lw.lanes``."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from loopwright.ir.function import MOST_UNROLLED

__all__ = ["Lanes", "Range", "lanes", "range"]


class Range:
    """``lw.range(…)``: a loop of the generated code. Iterated over in Python, it is Python's ``range``."""

    __slots__ = ("hi", "lo", "step")
    __staged__ = True

    def __init__(self, lo: Any, hi: Any, step: Any) -> None:
        self.lo = lo
        self.hi = hi
        self.step = step

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.lo, self.hi, self.step))

    def __reversed__(self) -> Any:
        lo, step = self.lo, self.step
        if type(step) is not int or step == 0:
            raise TypeError("reversed(lw.range(…)) takes a step that is known while compiling and is not 0: write a while loop for another")
        if step == 1:
            return Range(self.hi - 1, lo - 1, -1)
        last = lo + ((self.hi - lo + step - (1 if step > 0 else -1)) // step - 1) * step
        return Range(last, lo - step, -step)

    def __repr__(self) -> str:
        return "lw.range(…), which is what a for loop goes over"


class Lanes:
    """``lw.lanes(…)``: a loop of the generated code, a vector of indices at a time. Iterated over in Python, it is Python's ``range``."""

    __slots__ = ("hi", "lo", "unroll")
    __staged__ = True

    def __init__(self, lo: Any, hi: Any, unroll: int) -> None:
        self.lo = lo
        self.hi = hi
        self.unroll = unroll

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.lo, self.hi))

    def __repr__(self) -> str:
        return "lw.lanes(…), which is what a for loop goes over"


def range(start: Any, stop: Any = None, step: Any = 1) -> Range:
    """A loop at run time: ``for i in lw.range(n)``, ``lw.range(a, b)``, ``lw.range(a, b, step)``.

    ``i`` is an i64. The bounds are computed once, before the loop; the step is not 0.
    """
    if stop is None:
        start, stop = 0, start
    return Range(start, stop, step)


def lanes(start: Any, stop: Any = None, step: Any = 1, *, unroll: int = 0) -> Lanes:
    """A loop at run time that runs as many consecutive indices at once as a vector has lanes: ``for i in lw.lanes(n)``.

    The body means what it says for each index alone; indices past the end of the range do nothing.

    Args:
        start, stop: the range, as in ``lw.range``.
        step: 1; indices further apart are computed from one that counts by 1.
        unroll: how many vectors are worked on in one step, at most 64; 0 leaves the choice to the compiler.
    """
    if stop is None:
        start, stop = 0, start
    if type(step) is not int or step != 1:
        raise ValueError(
            "the indices of lw.lanes are consecutive: count the steps, as in for k in lw.lanes((stop - start + step - 1) // step), "
            "and write i = start + step * k, or use lw.range, which takes a step"
        )
    if type(unroll) is not int or not 0 <= unroll <= MOST_UNROLLED:
        raise ValueError(f"unroll must be an integer from 0 to {MOST_UNROLLED}, not {unroll!r}")
    return Lanes(start, stop, unroll)
