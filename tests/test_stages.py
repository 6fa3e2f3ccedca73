"""A function means the same after every pass, on every target: random functions, run by the interpreter at each stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright import compiler
from loopwright.errors import UnsupportedOperationError
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import equal, parse, print_function
from loopwright.ir.verify import verify
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of
from loopwright.types import I8, I16, I32, I64, U8, U16, U64

from .ir.random_functions import random_arguments, random_function


def copied(arguments: list[Any]) -> list[Any]:
    """Arrays of their own, with the same distance between rows."""
    return [np.array(np.asarray(a.base if a.base is not None else a), copy=True)[..., : a.shape[-1]] if isinstance(a, np.ndarray) else a for a in arguments]


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", registry.names())
def test_random_functions_mean_the_same_after_every_pass(name: str, seed: int) -> None:
    target = registry.get(name)
    # Some with conversions that change nothing but the type, some with integers that registers hold extended.
    f = (
        random_function(seed, vectors=False, size=30, scalars=[I64, U64] if seed % 8 == 3 else [I8, U8, I16, U16, I32])
        if seed % 4 == 3
        else random_function(seed, vectors=target.vector_bits > 0, size=30, calls=seed % 4 == 2)
    )
    arguments = random_arguments(f, seed)
    wanted = copied(arguments)
    result = Interpreter(f, limit=1_000_000).call(*wanted)
    stage = f
    for after in names_of(target.passes())[1:]:
        try:
            stage = compiler.run_passes(f, target, after=after)
        except UnsupportedOperationError as error:
            pytest.skip(str(error))
        verify(stage, target)
        text = print_function(stage, target)
        assert equal(stage, parse(text, target=target)), f"after {after}:\n{text}"
        got = copied(arguments)
        given = Interpreter(stage, target, limit=1_000_000).call(*got)
        assert (result is None and given is None) or same(result, given), f"after {after}: {given}, expected {result}\n{text}"
        assert all(same(a, b) for a, b in zip(got, wanted, strict=True)), f"after {after}: an array differs\n{text}"
