"""Which memory pointers lead to: parameters, globals and memory of the frame, as far as it shows from where they come.

Two pointers lead to different memory where all they may come from is different: two globals, memory of the frame and anything else that was there before, a `restrict`
parameter and anything that is known not to come from it (C11, 6.7.3.1; LLVM Language Reference, "Pointer Aliasing Rules"). A pointer that was loaded, or returned by a
call, may come from anywhere.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import PTR

__all__ = ["Pointers"]

_ANYWHERE: Final = 0
_PARAMETER: Final = 1
_RESTRICT: Final = 2
_GLOBAL: Final = 3
_FRAME: Final = 4
#: How many operations are followed.
_MOST: Final = 60


class Pointers:
    """What the pointers of a function come from."""

    __slots__ = ("defined", "f", "origins")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.defined: dict[int, list[Instr]] = {}
        self.origins: dict[int, list[tuple[int, int]]] = {}
        for instr in f.code:
            if instr.dst >= 0 and f.types[instr.dst] is PTR:
                self.defined.setdefault(instr.dst, []).append(instr)

    def apart(self, a: int, b: int) -> bool:
        """Whether two pointers lead to different objects for certain."""
        return all(_apart(x, y) for x in self.of(a) for y in self.of(b))

    def of(self, pointer: int) -> list[tuple[int, int]]:
        """What a pointer may come from: kinds and numbers."""
        known = self.origins.get(pointer)
        if known is None:
            known = self.origins[pointer] = self._found(pointer)
        return known

    def _found(self, pointer: int) -> list[tuple[int, int]]:
        f = self.f
        parameters = set(f.params)
        found: set[tuple[int, int]] = set()
        seen: set[int] = set()
        waiting = [pointer]
        while waiting:
            r = waiting.pop()
            if r in seen:
                continue
            seen.add(r)
            if r < 0 or len(seen) > _MOST or f.types[r] is not PTR:
                return [(_ANYWHERE, 0)]
            if r in parameters:
                found.add((_RESTRICT if r in f.restrict else _PARAMETER, r))
            elif r not in self.defined:
                return [(_ANYWHERE, 0)]
            for instr in self.defined.get(r, []):
                op = instr.op
                if op is ops.ADDRESS or op is ops.ADD or op is ops.SUB or op is ops.COPY:
                    waiting.append(instr.args[0])
                elif op is ops.SELECT:
                    waiting += instr.args[1:]
                elif op is ops.GLOBAL:
                    found.add((_GLOBAL, int(f.const_values[~instr.args[0]])))
                elif op is ops.LOCAL or op is ops.ALLOCA:
                    found.add((_FRAME, r))
                else:
                    return [(_ANYWHERE, 0)]
        return sorted(found)


def _apart(x: tuple[int, int], y: tuple[int, int]) -> bool:
    kinds = (x[0], y[0])
    if x == y or _ANYWHERE in kinds:
        return False
    # (Memory of the frame may be made several times, by one instruction, but never where a parameter leads to.)
    return _RESTRICT in kinds or _FRAME in kinds or kinds == (_GLOBAL, _GLOBAL)
