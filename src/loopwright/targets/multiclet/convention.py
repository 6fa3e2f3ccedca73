"""How functions of Multiclet processors are called: arguments on the stack (facts page, "Calls")."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import NONE
from loopwright.targets.target import Convention
from loopwright.types import PTR, Type

__all__ = ["CONVENTION", "DYNAMIC_STACK", "offsets_of"]


def offsets_of(types: list[Type]) -> list[int]:
    """Where arguments are from the stack pointer on at a call, in bytes: behind the return address, each at a multiple of its size."""
    at = 4
    places: list[int] = []
    for type_ in types:
        size = 4 if type_ is PTR else max(type_.bits // 8, 1)
        at = (at + size - 1) // size * size
        places.append(at)
        at += size
    return places


class OnStack(Convention):
    """All arguments on the stack."""

    def __init__(self) -> None:
        super().__init__("stack", (), (), NONE, NONE, 0, stack_align=8)

    def assign(self, types: list[Type], named: int = -1, places: tuple[int, ...] = ()) -> list[int]:
        return [~offset for offset in offsets_of(types)]


CONVENTION: Final = OnStack()
#: The register that says where memory of the stack whose size is not known before is taken next, upwards, away from all frames; functions leave it as they found it.
DYNAMIC_STACK: Final = "R7"
