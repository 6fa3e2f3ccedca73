"""The ``nests`` pass: loop nests whose iterations can be put into a better order (``nests/choose.py``); for cores that start operations in order, iterations of
innermost loops that overlap (``pipelining/pipeline.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.choose import improve
from loopwright.targets.target import Target
from loopwright.types import I64

_COMPARISONS: Final = frozenset(ops.COMPARISONS.values())


def run(f: Function, target: Target) -> None:
    """Rewrite the nests of scalar loops that a function stores from."""
    if f.options.nests and target.core is not None and not f.options.check and _candidate(f):
        improve(f, target, target.core)
        if target.core.window == 0:
            # It is imported for the targets that need it.
            from loopwright.pipelining.pipeline import overlap

            overlap(f, target.core)


def _candidate(f: Function) -> bool:
    """Whether there is an innermost scalar loop that stores to an array or may add up what is loaded; and no loop over lanes, which has an order of its own.

    (Others gain nothing: it is asked of every function.)
    """
    opened: list[bool] = []  # per open bracket: it is a loop that holds no other, as far as has been seen
    found = loads = False
    for instr in f.code:
        op = instr.op
        if op.effect == ops.CONTROL:
            if op.opens and not op.closes:
                loop = IS_LOOP[op.code]
                if instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE):
                    return False
                if loop:
                    for k in range(len(opened)):
                        opened[k] = False
                opened.append(loop)
            elif op is ops.END:
                opened.pop()
        elif op is ops.LOAD:
            loads = True
        elif not found and (op is ops.STORE or (loads and (op.reduction is not None or op is ops.SUB or op in _COMPARISONS))) and True in opened:
            # (Sums and comparisons of indices are none, but those that are kept.)
            found = instr.type is not I64 or op is ops.STORE or f.variable[instr.dst]
    return found
