"""Constant vectors whose lanes differ, as the operands of ``literal``."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function
from loopwright.types import I64, Type

__all__ = ["words"]

#: Bytes of the longest vector.
_LONGEST: Final = 64


def words(f: Function, type_: Type, lanes: list[int]) -> list[int]:
    """The constants, of 64 bits each, that a vector of unsigned numbers consists of; zeros behind it."""
    data = b"".join(n.to_bytes(type_.bits // 8, "little") for n in lanes).ljust(_LONGEST, b"\0")
    return [f.const(I64, int.from_bytes(data[at : at + 8], "little", signed=True)) for at in range(0, _LONGEST, 8)]
