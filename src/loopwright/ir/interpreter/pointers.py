"""Arithmetic of pointers that carry the object they came from (``ir/memory_model.py``): what operations mean in a program as it is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.interpreter.steps import Meaning
from loopwright.ir.interpreter.values import WORD
from loopwright.ir.memory_model import Memory, Pointer, pointer
from loopwright.types import PTR, Type

__all__ = ["pointer_meaning"]


def _further(t: Type, s: Type, a: Any, b: Any) -> Any:
    """So many bytes behind a pointer, in what it leads to."""
    address = int(a) + int(b) & WORD
    return pointer(address, a.origin) if type(a) is Pointer else np.uint64(address)


def _back(t: Type, s: Type, a: Any, b: Any) -> Any:
    """So many bytes in front of a pointer."""
    address = int(a) - int(b) & WORD
    return pointer(address, a.origin) if type(a) is Pointer else np.uint64(address)


def _as_integer(memory: Memory, convert: Meaning) -> Meaning:
    """A pointer becomes an integer, by which others may know its object from now on."""

    def meaning(t: Type, s: Type, a: Any) -> Any:
        if type(a) is Pointer:
            memory.expose(a.origin)
        return convert(t, s, a)

    return meaning


def pointer_meaning(instr: Instr, memory: Memory) -> Meaning | None:
    """The meaning of an operation that makes pointers of pointers or integers, or integers of pointers; None of others."""
    op = instr.op
    if op is ops.CONVERT:
        if instr.type is PTR:
            return lambda t, s, a: a if s is PTR else memory.pointer_to(int(a) & WORD)
        assert op.meaning is not None
        return _as_integer(memory, op.meaning) if instr.source is PTR else None
    if instr.type is PTR:
        return _further if op is ops.ADD else _back if op is ops.SUB else None
    return None
