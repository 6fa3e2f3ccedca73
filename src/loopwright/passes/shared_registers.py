"""Where two values may share one register: a conversion that changes no bit of a register leaves its result in its operand's.

Two things have to be known of the whole function. Above 32 bits there are zeros, on some machines, if instructions on 32 bits have made them, whichever way control came; and a variable
must keep its value as long as the result is read.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.loops import IS_LOOP
from loopwright.types import Type

__all__ = ["Sharing"]


_NOWHERE: Final[list[int]] = []


class Sharing:
    """The facts about one function.

    Attributes:
        zeros: by register that holds an integer of up to 32 bits: it has been made by instructions on 32 bits alone.
    """

    def __init__(self, f: Function) -> None:
        self.zeros = _made_by_instructions(f)
        self._f = f
        #: By loop, the function itself being the first: the loop around it; where it ends. Nothing is known yet.
        self._parent: list[int] = []
        self._end: list[int] = []
        #: By position: the innermost loop around it.
        self._loop: list[int] = []
        #: Where results of conversions are read, and variables written.
        self._reads: dict[int, list[int]] = {}
        self._written: dict[int, list[int]] = {}

    def _look(self) -> None:
        """One walk over the code."""
        f = self._f
        code = f.code
        self._parent = [0]
        self._end = [len(code)]
        around = [0]
        for k in range(len(code)):
            instr = code[k]
            op = instr.op
            if op.closes:
                closed = around.pop()
                if not op.opens and closed != (around[-1] if around else 0):
                    self._end[closed] = k
            for a in instr.args:
                if a in self._reads:
                    self._reads[a].append(k)
            dst = instr.dst
            if dst >= 0:
                if f.variable[dst]:
                    self._written.setdefault(dst, []).append(k)
                elif op is ops.CONVERT:
                    self._reads[dst] = []
            loop = around[-1] if around else 0
            if op.opens:
                if IS_LOOP[op.code]:
                    self._parent.append(loop)
                    self._end.append(len(code))
                    loop = len(self._parent) - 1
                around.append(loop)
            self._loop.append(loop)

    def unchanged(self, variable: int, result: int, position: int) -> bool:
        """Whether a variable has the same value wherever a register is read that has it since a position."""
        if not self._end:
            self._look()
        written = self._written.get(variable, _NOWHERE)
        n = bisect_right(written, position)
        if n == len(written):
            # (Loops around come to the position again before they come to what reads.)
            return True
        reads = self._reads.get(result, _NOWHERE)
        home = self._loop[position]
        last = 0
        for k in reads:
            loop = self._loop[k]
            while loop not in (home, 0):
                k = self._end[loop]
                loop = self._parent[loop]
            last = max(last, k)
        return written[n] > last


def _made_by_instructions(f: Function) -> list[bool]:
    """By register: instructions make it, on as many bits, or copies of what they make. It may not come from elsewhere, as parameters do and what calls return."""
    count = len(f.types)
    elsewhere = [p for p in f.params if _of_half_a_word(f.types[p])]
    copies: dict[int, list[int]] = {}
    for instr in f.code:
        dst = instr.dst
        if dst < 0 or not _of_half_a_word(f.types[dst]):
            continue
        op = instr.op
        if op is ops.COPY or op is ops.CONVERT:
            if instr.args[0] >= 0 and (op is ops.COPY or instr.source.bits <= 32):
                copies.setdefault(instr.args[0], []).append(dst)
        elif op is ops.PART or op.effect > ops.READS:
            elsewhere.append(dst)
    zeros = [True] * count
    while elsewhere:
        r = elsewhere.pop()
        if zeros[r]:
            zeros[r] = False
            elsewhere += copies.get(r, ())
    return zeros


def _of_half_a_word(type_: Type) -> bool:
    """Whether registers of a type hold integers of up to 32 bits."""
    return type_.bits <= 32 and not type_.lanes and not type_.is_float and not type_.is_mask
