"""Generated programs for the corpus ``programs``: the shapes that ordinary code has, made from a seed.

They are what people write, in random sizes: filters, sorts, parsers, small virtual machines, matrix code, hashes, drivers that call
callbacks. Each family is a function ``(name, pick) -> Function`` that makes one program from a random source; every program ends,
stays inside its arrays, and can be interpreted.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from loopwright.ir.function import Function

__all__ = ["EACH", "EXTENT", "SIDE", "arguments", "families", "make", "names", "programs"]

Family = Callable[[str, random.Random], Function]

#: Elements of each one-dimensional array that :func:`arguments` makes, and rows and columns of a two-dimensional one.
EXTENT: Final = 64
SIDE: Final = 16
#: Programs of each family.
EACH: Final = 14


@functools.cache
def families() -> dict[str, Family]:
    """The families by name."""
    from loopwright.corpus.programs import branches, calls, loops, straight

    return {**calls.FAMILIES, **branches.FAMILIES, **loops.FAMILIES, **straight.FAMILIES}


def names(each: int = EACH) -> list[str]:
    """Names of the programs: ``family.number``."""
    return [f"{family}.{number:02}" for family in families() for number in range(each)]


def make(name: str) -> Function:
    """The program of a name; always the same one."""
    family, _, number = name.partition(".")
    return families()[family](f"{family}_{number}", random.Random(f"loopwright/{name}"))


def programs(each: int = EACH) -> Iterator[tuple[str, Function]]:
    """All programs with their names."""
    for name in names(each):
        yield name, make(name)


def arguments(f: Function, seed: int) -> list[Any]:
    """Arguments for a program: arrays of ``EXTENT`` elements (``SIDE`` by ``SIDE``), integers from 1 to 8, floats from 0.5 to 2."""
    import numpy as np

    source = np.random.default_rng(seed)
    bases = {array.base: array for array in f.arrays}
    inner = {r for array in f.arrays for r in (*array.extents, *array.strides)}
    found: list[Any] = []
    for r in f.params:
        if r in bases:
            element = bases[r].element
            shape = (EXTENT,) if bases[r].rank == 1 else (SIDE,) * bases[r].rank
            found.append((source.uniform(0.1, 2.0, shape) if element.is_float else source.integers(0, 100, shape)).astype(element.dtype))
        elif r not in inner:
            type_ = f.types[r]
            found.append(float(np.float32(source.uniform(0.5, 2.0))) if type_.is_float else int(source.integers(1, 9)))
    return found
