"""The ``expand`` pass: operations that a machine needs sequences for, whose parts are worth folding, sharing and moving out of loops.

What is emitted here is the user's own code to the passes behind: a bound that a float is clamped to is a constant like any other, and a
clamp that the program has made already is found to do nothing. Sequences without such parts are made by ``select``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target

_CONVERT: Final = frozenset((ops.CONVERT,))


def run(f: Function, target: Target) -> None:
    """Expand what ``target`` wants expanded early; with ``fastmath`` floats become integers by the machine's own instruction."""
    fastmath = f.options.fastmath
    wanted = target.early | _CONVERT if fastmath else target.early
    if not wanted:
        return
    out: list[Instr] = []
    start = 0
    code = f.code
    for position in range(len(code)):
        instr = code[position]
        if instr.op not in wanted:
            continue
        if fastmath and instr.op is ops.CONVERT and instr.source.is_float and instr.type.is_integer:
            instr.op = ops.CONVERT_UNCHECKED
            continue
        made: list[Instr] = []
        if target.expand_early(f, instr, made.append):
            out.extend(code[start:position])
            out.extend(made)
            start = position + 1
    if start:
        out.extend(code[start:])
        f.code = out
