"""What a ``for`` over an array goes over: its elements, with their numbers (``enumerate``), or those of several arrays side by side (``zip``)."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, NoReturn

from loopwright.errors import KernelTypeError
from loopwright.frontend import functions
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.expr import describe

__all__ = ["Entries", "entries_of", "enumerated", "zipped"]


class Entries:
    """The elements of arrays, one iteration after the other, as a ``for`` takes them.

    Attributes:
        parts: arrays of one dimension, and entries of others.
        start: of those that are numbered, the number of the first; None of others.
        alone: there is one part, whose entries are no tuples.
    """

    __slots__ = ("alone", "parts", "start")
    __staged__: ClassVar = True

    def __init__(self, parts: list[Any], start: Any, alone: bool) -> None:
        self.parts = parts
        self.start = start
        self.alone = alone

    @property
    def length(self) -> Any:
        """How many there are: as many as the shortest part has."""
        lengths = [part.length for part in self.parts]
        return lengths[0] if len(lengths) == 1 else functions.min(*lengths)

    def entry(self, index: Any) -> Any:
        """What is in one iteration."""
        items = tuple([part.entry(index) if isinstance(part, Entries) else part[index] for part in self.parts])
        value = items[0] if self.alone else items
        return value if self.start is None else (index + self.start if self.start != 0 else index, value)

    def __iter__(self) -> NoReturn:
        raise KernelTypeError("the elements of an array are gone through by a `for`, not while compiling: write for v in x")


def entries_of(array: StagedArray) -> Entries:
    """The elements of an array of one dimension."""
    if array.ndim != 1:
        iter(array)
    return Entries([array], None, True)


def enumerated(values: Any, start: Any = 0) -> Any:
    """Python's ``enumerate``, of arrays too."""
    part = entries_of(values) if isinstance(values, StagedArray) else values
    return Entries([part], start, True) if isinstance(part, Entries) else builtins.enumerate(values, start)


def zipped(*values: Any, strict: bool = False) -> Any:
    """Python's ``zip``, of arrays too."""
    parts = [entries_of(value) if isinstance(value, StagedArray) else value for value in values]
    if not any(isinstance(part, Entries) for part in parts):
        return builtins.zip(*values, strict=strict)
    for part in parts:
        if not isinstance(part, Entries):
            raise KernelTypeError(f"zip() of an array takes arrays alone, not {describe(part)}: count, as in for i in range(len(x)), and index them")
    if strict:
        raise KernelTypeError("zip() of arrays takes no `strict`: how long they are is known at run time only; it ends with the shortest")
    return Entries(parts, None, False)
