"""Arguments for random kernels: lengths around those of vectors, arrays with gaps and turned around, values at which something changes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tests.random_kernels.kinds import FLOATS, LIMITS, floats_of, integers_of
from tests.random_kernels.tree import BOOL, Array, Program, Scalar

from loopwright.types import parse_type

__all__ = ["CALLS", "arguments"]

#: Calls of each kernel.
CALLS = 3
_LENGTHS = ((0, 1, 1, 2, 3), (4, 5, 7, 8, 9, 11, 15, 16), (17, 19, 23, 31, 32, 33, 39, 40, 67, 120))


def arguments(program: Program, call: int) -> list[Any]:
    """The arguments of a kernel's call, except the constants: arrays, and scalars as NumPy scalars of their types."""
    pick = random.Random(f"{program.seed} {call}")
    n = pick.choice(_LENGTHS[call % len(_LENGTHS)])
    rows = pick.choice([0, 1, 2, 3, 4]) if call else 1
    made: dict[str, Any] = {}
    for p in program.parameters:
        # Each has numbers of its own, which it keeps when the others are taken away.
        pick = random.Random(f"{program.seed} {call} {p.text}")
        if isinstance(p, Array):
            shape = (n + pick.choice([0, 0, 1, 3]),) if p.rank == 1 else (rows + pick.choice([0, 0, 1]), n + pick.choice([0, 0, 1, 2]))
            made[p.text] = _layout(pick, _array(pick, p.kind, shape))
        elif isinstance(p, Scalar):
            with np.errstate(over="ignore"):
                made[p.text] = np.bool_(pick.random() < 0.5) if p.kind == BOOL else np.dtype(parse_type(p.kind).dtype).type(_value(pick, p.kind, pick.random()))
    a, b = program.shared or ("", "")
    if a in made and b in made and call != 1:
        made[b] = made[a]
    return [made[p.text] for p in program.parameters if p.text in made]


def _value(pick: random.Random, kind: str, mode: float) -> int | float:
    if kind == BOOL:
        return pick.random() < mode
    if kind in FLOATS:
        if mode < 0.35:
            return float(pick.randint(-9, 30))
        if mode < 0.6:
            return round(pick.uniform(-1000, 1000), 3)
        return pick.choice(floats_of(kind))
    low, high = LIMITS[kind]
    if mode < 0.4:
        return pick.randint(max(low, -4), min(high, 9))
    if mode < 0.6:
        return pick.randint(low, high)
    return pick.choice(integers_of(kind))


def _array(pick: random.Random, kind: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    mode = pick.random()
    made = np.zeros(shape, parse_type(kind).dtype)
    flat = made.reshape(-1)
    with np.errstate(over="ignore"):
        for k in range(flat.size):
            flat[k] = _value(pick, kind, mode if pick.random() < 0.7 else pick.random())
    return made


def _layout(pick: random.Random, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same elements; rows perhaps apart in memory, or from the last to the first."""
    if values.ndim == 1:
        return values
    rows, columns = values.shape
    chance = pick.random()
    if chance < 0.4:
        return values
    room = np.zeros((max(rows, 1) * 2, columns + 3), values.dtype)
    if chance < 0.6:
        view = room[:rows, :columns]
    elif chance < 0.75:
        view = room[::2, 1 : columns + 1][:rows]
    else:
        view = room[:rows, 2 : columns + 2][::-1]
    view[...] = values
    return view
