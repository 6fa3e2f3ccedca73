"""The ``expand`` pass: operations that a machine lacks become sequences of those it has.

What is emitted here is the user's own code to the passes behind: a bound that a float is clamped to is a constant like any other, shared and
moved out of loops, and a clamp that the program has made already is found to do nothing. Sequences with branches are made by ``select``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target

_CONVERT: Final = ops.CONVERT.code


def run(f: Function, target: Target) -> None:
    """Expand what ``target`` lacks; with ``fastmath`` floats become integers by the machine's own instruction."""
    fastmath = f.options.fastmath
    expanded = target.expanded
    if not expanded and not fastmath:
        return
    out: list[Instr] = []

    def emit(instr: Instr) -> None:
        if instr.op.code not in expanded or not target.expand(f, instr, emit, False):
            out.append(instr)

    for instr in f.code:
        code = instr.op.code
        if fastmath and code == _CONVERT and instr.source.is_float and instr.type.is_integer:
            instr.op = ops.CONVERT_UNCHECKED
            code = instr.op.code
        if code not in expanded or not target.expand(f, instr, emit, False):
            out.append(instr)
    f.code = out
