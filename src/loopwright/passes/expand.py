"""The ``expand`` pass: operations that a machine lacks become sequences of those it has.

What is emitted here is the user's own code to the passes behind: a bound that a float is clamped to is a constant like any other, shared and
moved out of loops, and a clamp that the program has made already is found to do nothing. Sequences with branches are made by ``select``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.passes import quick_remainders, shifts, signs
from loopwright.targets.target import Target

_CONVERT: Final = ops.CONVERT.code


class _Expansion:
    """One run of the pass. (A function inside ``run`` that expands what it emits would hold itself, and the function, until a garbage collection.)"""

    __slots__ = ("expanded", "f", "out", "target")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.expanded = target.expanded
        self.out: list[Instr] = []

    def emit(self, instr: Instr) -> None:
        """Take an instruction, or what the target puts in its place."""
        if instr.op.code not in self.expanded or not self.target.expand(self.f, instr, self.emit, False):
            self.out.append(instr)


def run(f: Function, target: Target) -> None:
    """Expand what ``target`` lacks; with ``fastmath`` floats become integers by the machine's own instruction."""
    quick_remainders.run(f)
    signs.run(f, target)
    shifts.run(f)
    fastmath = f.options.fastmath
    expanded = target.expanded
    if not expanded and not fastmath:
        return
    expansion = _Expansion(f, target)
    out = expansion.out
    emit = expansion.emit
    for instr in f.code:
        code = instr.op.code
        if fastmath and code == _CONVERT and instr.source.is_float and instr.type.is_integer:
            instr.op = ops.CONVERT_UNCHECKED
            code = instr.op.code
        if code not in expanded or not target.expand(f, instr, emit, False):
            out.append(instr)
    f.code = out
