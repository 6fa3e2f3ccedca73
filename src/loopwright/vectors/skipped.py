"""Long arms that no lane may need, in loops over lanes: a test in front of them whether one does.

::

    if %c                                     %any = any_lane %c
      long                                    if %any
    end                              →          if %c
                                                  long
                                                end
                                              end

So it is with short arms that store several elements where one of these is improved (``if d < x[i]: x[i] = d; y[i] = k``), which happens ever more seldom: a store under a mask takes some ten cycles on Zen.

All lanes go through both arms of a branch that differs by lane, so that what is rarely needed (the reduction of a sine's large argument, the slow path of a filter) would be
computed always. Where some lane needs it in all vectors, the test costs a few cycles beside the arm's dozens (J. Shin, "Introducing Control Flow into Vectorized Code", PACT 2007,
calls these branches on superword condition codes).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import BOOL, VOID

__all__ = ["LONG", "long_arm", "skip"]

#: An arm of so many instructions is worth a test.
LONG: Final = 24
#: So are so many stores, where an element is improved.
IMPROVED: Final = 2
_LEAVES: Final = frozenset((ops.BR, ops.BR_IF))
_ASKED: Final = frozenset((ops.ANY_LANE, ops.ALL_LANES))


def long_arm(code: list[Instr], at: int) -> int:
    """Where the ``if`` at ``at`` ends, if it has one arm, a long one that lanes do not leave; else 0."""
    depth = 0
    for k in range(at + 1, len(code)):
        op = code[k].op
        if op in _LEAVES or (not depth and op.closes and op.opens):
            return 0
        if op is ops.END:
            if not depth:
                return k if k - at > LONG else 0
            depth -= 1
        elif op.opens and not op.closes:
            depth += 1
    return 0


def improving_arm(code: list[Instr], at: int, made: dict[int, Instr]) -> int:
    """Where the ``if`` at ``at`` ends, if it has one arm without brackets that stores several elements, one of which its condition has compared; else 0."""
    end = at + 1
    while code[end].op.effect != ops.CONTROL:
        end += 1
    stores = [instr for instr in code[at + 1 : end] if instr.op is ops.STORE]
    if code[end].op is not ops.END or len(stores) < IMPROVED or any(store.type.bits < 32 for store in stores):
        return 0
    compared = made.get(code[at].args[0])
    loads = [made[a] for a in compared.args if a in made and made[a].op is ops.LOAD] if compared is not None and compared.op in ops.COMPARING else []
    return end if any(load.imm == store.imm and load.args == store.args[1:] for load in loads for store in stores) else 0


def skip(f: Function) -> None:
    """Put a test in front of every such arm of the loops over lanes of ``f``."""
    code = f.code
    if not any(instr.op is ops.IF for instr in code):
        return
    out: list[Instr] = []
    around = -1  # how many brackets are open around the loop over lanes; -1 outside of one
    depth = 0
    ends: list[int] = []
    made: dict[int, Instr] = {}
    for k, instr in enumerate(code):
        op = instr.op
        if op.opens and not op.closes:
            if around < 0 and instr.loop is not None and instr.loop.lanes:
                around = depth
                made = {}
            depth += 1
        elif op is ops.END:
            depth -= 1
            if depth == around:
                around = -1
        if around >= 0:
            made[instr.dst] = instr
            end = (long_arm(code, k) or improving_arm(code, k, made)) if op is ops.IF else 0
            # (What is the same in all lanes, as far as that is plain to see, needs no test.)
            if end and instr.args[0] in made and made[instr.args[0]].op not in _ASKED:
                some = f.register(BOOL)
                out.append(Instr(ops.ANY_LANE, BOOL, some, [instr.args[0]], 0, instr.line, BOOL))
                out.append(Instr(ops.IF, VOID, NONE, [some], 0, instr.line))
                ends.append(end)
        out.append(instr)
        if ends and ends[-1] == k:
            ends.pop()
            out.append(Instr(ops.END, VOID, NONE, [], 0, instr.line))
    f.code = out
