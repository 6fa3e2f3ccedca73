"""The ``counted`` pass: loops over pointers, as those of C are, to loops over lanes (``nests/canonical/views.py``); short ones that cannot be that to several iterations at once
(``nests/canonical/rolled.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.pointers import Pointers
from loopwright.nests.canonical.counted import Kept
from loopwright.nests.canonical.rolled import several_at_once
from loopwright.nests.canonical.views import Uses, in_views
from loopwright.targets.target import Target

__all__ = ["COUNTED", "Told", "report", "run"]

#: The name of the pass.
COUNTED: Final = "counted"


class Told:
    """What became of a loop: the user's line where it begins, whether it runs in lanes, and if not, why, with the line that is the reason (or 0)."""

    __slots__ = ("because", "lanes", "line", "where")

    def __init__(self, line: int, lanes: bool, because: str = "", where: int = 0) -> None:
        self.line = line
        self.lanes = lanes
        self.because = because
        self.where = where

    def text(self, file: str) -> str:
        """A line about it, as compilers write them."""
        if self.lanes:
            return f"{file}:{self.line}: loop in lanes"
        there = f" (line {self.where})" if self.where and self.where != self.line else ""
        return f"{file}:{self.line}: loop stays as it is: {self.because}{there}"


def run(f: Function, target: Target) -> None:
    """Rewrite the innermost loops of a function that access memory through pointers."""
    report(f, target)


def report(f: Function, target: Target) -> list[Told]:
    """What ``run`` does, told of each innermost loop in the order of the text: the function is rewritten, too."""
    if not f.options.nests or f.options.check or not target.vector_bits:
        return []
    found = _innermost(f)
    if not found:
        return []
    uses, pointers = Uses(f), Pointers(f)
    told: list[Told] = []
    for head, end in reversed(found):
        line = f.code[head].line
        try:
            made = in_views(f, target, head, end, uses, pointers)
            told.append(Told(line, True))
        except Kept as kept:
            told.append(Told(line, False, kept.reason, kept.at))
            try:
                made = several_at_once(f, head, end)
            except Kept:
                continue
        f.code[head : end + 1] = made
    return told[::-1]


def _innermost(f: Function) -> list[tuple[int, int]]:
    """The loops that hold no other, and access memory through pointers."""
    found: list[tuple[int, int]] = []
    opened = -1
    accesses = False
    if not any(instr.op is ops.LOOP for instr in f.code):
        return found
    partner = match(f.code)
    for k, instr in enumerate(f.code):
        op = instr.op
        if op.opens and IS_LOOP[op.code]:
            opened = k if op is ops.LOOP else -1
            accesses = False
        elif op is ops.LOAD_AT or op is ops.STORE_AT:
            accesses = True
        elif op is ops.END and opened >= 0 and partner[opened] == k:
            if accesses:
                found.append((opened, k))
            opened = -1
    return found
