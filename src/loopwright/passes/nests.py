"""The ``nests`` pass: loop nests whose iterations can be put into a better order (``nests/choose.py``)."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.choose import improve
from loopwright.targets.target import Target


def run(f: Function, target: Target) -> None:
    """Rewrite the nests of scalar loops that a function stores from."""
    if f.options.nests and target.core is not None and not f.options.check and _candidate(f):
        improve(f, target.core, target.vector_bits > 0)


def _candidate(f: Function) -> bool:
    """Whether there is a scalar loop that accesses arrays; and no loop over lanes, which has an order of its own."""
    inside = 0
    found = False
    for instr in f.code:
        op = instr.op
        if op.opens and not op.closes:
            if instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE):
                return False
            inside += 1 if inside or IS_LOOP[op.code] else 0
        elif op is ops.END:
            inside -= 1 if inside else 0
        elif inside and (op is ops.LOAD or op is ops.STORE):
            found = True
    return found
