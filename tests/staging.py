"""A kernel's function as the interpreter can run it: scalar, or for vectors of a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopwright.compiler import run_passes
from loopwright.ir.function import Function
from loopwright.targets import registry


def stage(kernel: Any, signature: Sequence[Any], bits: int, check: bool | None = None) -> Function:
    """As the front end leaves it for 0 bits; else after the pass ``vectorize``."""
    f: Function = kernel.stage(signature, check)
    return run_passes(f, registry.get("x86-64-v4", bits), "vectorize") if bits else f
