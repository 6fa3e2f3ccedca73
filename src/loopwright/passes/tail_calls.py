"""Calls behind which a function only returns become jumps, once registers are allocated: recursions that end in them take no stack.

The frame is undone first, so that the function called finds the stack as its caller's caller left it, and returns there. That is so where nothing of the
frame can be of use any more: no argument on the stack, no local array and no other memory of the stack (registers that are stored below the arguments), whose addresses may be anywhere.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target
from loopwright.types import VOID

__all__ = ["make"]


def make(f: Function, target: Target) -> None:
    """Make the tail calls of an allocated function jumps."""
    frame = f.frame
    if frame is None or not frame.calls or frame.moves or not target.jumps_to_calls or any(array.size for array in f.arrays):
        return
    out: list[Instr] = []
    for instr in f.code:
        if instr.op is ops.INCOMING and f.const_values[~instr.args[0]] < 0:
            return
        if instr.op is ops.RET and _leave(f, target, out, instr):
            continue
        out.append(instr)
    if len(out) == len(f.code):
        return
    f.code = out
    if not any(instr.op.effect == ops.CALLS for instr in out):
        # A leaf after all.
        frame.calls = False
        frame.outgoing = 0


def _leave(f: Function, target: Target, out: list[Instr], ret: Instr) -> bool:
    """Whether what is in front of a return is a call that can be left for; then it is made so, behind the end of the frame."""
    at = len(out) - 1
    epilogue: Instr | None = None
    if at >= 0 and out[at].op is ops.EPILOGUE:
        epilogue = out[at]
        at -= 1
    if at < 0 or out[at].op not in ops.TAIL_CALLS:
        return False
    call = out[at]
    callee = f.callees[call.imm]
    if (ret.args and ret.args[0] != call.dst) or (f.result is not VOID and callee.result is not f.result):
        return False
    for place in target.convention.assign_for(callee):
        if place < 0:
            return False
    del out[at:]
    if epilogue is not None:
        out.append(epilogue)
    made = Instr(ops.TAIL_CALLS[call.op], VOID, -1, call.args, call.imm, call.line)
    made.weight = call.weight
    made.rule = target.rule(f, made)
    out.append(made)
    return True
