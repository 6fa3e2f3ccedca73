"""Elements that an arm of a branch loads though its iteration has loaded them before: what was loaded then.

::

    %2 = load x[%a, %b]                    %2 = load x[%a, %b]
    %3 = gt %2, %best                      %3 = gt %2, %best
    if %3                            →     if %3
      %4 = load x[%a, %b]                    %best = copy %2
      %best = copy %4                        …
      …

Lanes would load them under a mask once more, which not all accesses can be; and arms that load nothing can be choices. (Redundant loads in general are removed later, by ``simplify``.)
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.types import I64

__all__ = ["run"]

#: An operation: its code, types and what it is of.
_Key = tuple[int, ...]


def run(f: Function) -> None:
    """Rewrite such loads of a function, before it has vectors."""
    if not any(instr.op is ops.IF for instr in f.code):
        return
    known: list[dict[_Key, int]] = [{}]
    arms: list[bool] = []
    now: dict[int, int] = {}
    code: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if now and any(a in now for a in instr.args):
            instr = instr.copy()
            instr.args = [now.get(a, a) for a in instr.args]
        if op.closes:
            known.pop()
            arms.pop()
        if op.opens:
            # (A loop may store what it has loaded before; a branch begins with what there was.)
            repeated = IS_LOOP[op.code] or op is ops.DO
            known.append({} if repeated else dict(known[-1]))
            arms.append(not repeated)
        if op is ops.STORE:
            _forget(f, known, instr.imm)
        elif op.effect not in (ops.PURE, ops.READS, ops.CONTROL):
            for table in known:
                table.clear()
        elif instr.dst >= 0 and (op is ops.LOAD or (op.pure and instr.type is I64)) and not any(a >= 0 and f.variable[a] for a in instr.args):
            key = (op.code, instr.type.number, instr.source.number, instr.imm, *instr.args)
            before = known[-1].get(key, NONE)
            in_arm = bool(arms) and arms[-1]
            if f.variable[instr.dst]:
                if before != NONE and op is ops.LOAD and in_arm:
                    instr = Instr(ops.COPY, instr.type, instr.dst, [before], 0, instr.line)
            elif before == NONE:
                known[-1][key] = instr.dst
            elif op is not ops.LOAD or in_arm:
                now[instr.dst] = before
                if op is ops.LOAD:
                    continue
        code.append(instr)
    f.code = code


def _forget(f: Function, known: list[dict[_Key, int]], array: int) -> None:
    """Forget what was loaded of arrays that one that is stored to may be."""
    load = ops.LOAD.code
    for table in known:
        for key in [key for key in table if key[0] == load and (key[3] == array or not f.never_meet(array, key[3]))]:
            del table[key]
