"""The ``elif`` pass: ``elif … then`` becomes an ``if`` nested in an ``else``.

::

    if a                     if a
      A                        A
    elif                     else
      C                        C
    then c           →         if c
      B                          B
    else                       else
      D                          D
    end                        end
                             end
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import VOID


def run(f: Function, target: Target) -> None:
    """Rewrite ``f.code`` without ``elif`` and ``then``."""
    if any(instr.op is ops.ELIF for instr in f.code):
        f.code = nested(f.code, None)


def nested(code: list[Instr], chosen: AbstractSet[int] | None) -> list[Instr]:
    """Code without ``elif`` and ``then``, but for ``if`` that are not among those ``chosen``, by their places; None for all."""
    # Per open bracket: the brackets added inside it so far, itself and all around it included. A branch that
    # crosses brackets has to cross those added to them too. And whether it loses its ``elif``.
    added: list[int] = [0]
    loses: list[bool] = [False]
    out: list[Instr] = []
    for k, instr in enumerate(code):
        op = instr.op
        if op is ops.ELIF and loses[-1]:
            out.append(Instr(ops.ELSE, VOID, NONE, [], 0, instr.line))
            continue
        if op is ops.THEN and loses[-1]:
            out.append(Instr(ops.IF, VOID, NONE, instr.args, 0, instr.line))
            added[-1] += 1
            continue
        if op is ops.END:
            count = added.pop() - added[-1]
            loses.pop()
            for _ in range(count):
                out.append(Instr(ops.END, VOID, NONE, [], 0, instr.line))
        elif op.opens and not op.closes:
            added.append(added[-1])
            loses.append(chosen is None or k in chosen)
        elif (op is ops.BR or op is ops.BR_IF or op is ops.BR_CASE) and instr.imm > 0:
            # The target itself, where it is such an if, is left by leaving its innermost part: nothing follows it.
            instr.imm += added[-1] - added[-1 - instr.imm]
        out.append(instr)
    return out
