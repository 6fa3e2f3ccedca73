"""What the tests of the front end share: a kernel agrees with its own Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests import staging

import loopwright as lw
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify


def stage(kernel: Any, *args: Any, bits: int = 256, check: bool = False, **constants: Any) -> Function:
    """The kernel's IR for arguments or types, verified."""
    f = staging.stage(kernel, kernel.signature(args, constants), 0 if check else bits, check)
    verify(f)
    return f


def copies(args: tuple[Any, ...]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


@pytest.fixture
def staged() -> Callable[..., Function]:
    return stage


@pytest.fixture
def agrees() -> Callable[..., None]:
    """``agrees(kernel, *args, **constants)``: the interpreter runs what was staged, at several vector widths, with and without checks,
    and the Python function itself is run on NumPy scalars and arrays; the results are the same."""

    def check(kernel: Any, *args: Any, tolerance: float = 1e-5, **constants: Any) -> None:
        expected = copies(args)
        run_time = [p for p in kernel.parameters if p.kind != 2]
        typed = [p.type(arg) if p.kind == 1 else arg for p, arg in zip(run_time, expected, strict=True)]
        with np.errstate(all="ignore"):
            want = kernel.function(*typed, **constants)
        for bits, checked in ((0, False), (0, True), (128, False), (256, False), (512, False)):
            f = stage(kernel, *args, bits=bits, check=checked, **constants)
            got = copies(args)
            result = run(f, *got)
            for mine, theirs in zip(got, expected, strict=True):
                if isinstance(mine, np.ndarray):
                    np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance, err_msg=f"{bits} bits, check={checked}")
            if want is not None:
                np.testing.assert_allclose(float(result), float(want), rtol=tolerance, err_msg=f"{bits} bits, check={checked}")

    return check


def floats(n: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(n).astype(np.float32)


@pytest.fixture
def signature() -> Callable[[Any], list[Any]]:
    """Types for a kernel's parameters: f32 where the annotation leaves it open."""

    def types_of(kernel: Any) -> list[Any]:
        return [lw.ArrayType(p.type or lw.f32, p.rank or 1) if p.kind == 0 else p.type if p.kind == 1 else 3 for p in kernel.parameters]

    return types_of
