"""Bounds of loops that branches choose, as minima and maxima.

::

    hi = d - 1                                 hi = min(d - 1, n - 1)
    if hi > n - 1: hi = n - 1         →        for i = lo, hi
    for i = lo, hi

Of such bounds forms are known (``nest.py``). Left as branches, they would be conditions on where the loop around is, at which it would be split (``conditions.py``), though nothing but a bound changes there.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.branches.choices import extreme

__all__ = ["run"]


def run(f: Function) -> bool:
    """Rewrite every such branch of a function, before it has vectors. Returns whether there was one."""
    code = f.code
    if not any(code[k].op is ops.COPY and f.variable[code[k].dst] and code[k + 1].op is ops.END for k in range(len(code) - 1)):
        return False
    leading = _leading_to_bounds(f)
    if not leading:
        return False
    out: list[Instr] = []
    made = False
    k = 0
    while k < len(code):
        found = extreme(f, code, k) if code[k].op is ops.IF else None
        if found is not None and found.made.dst in leading:
            if found.begins:
                out.pop()
            out.append(found.made)
            k = found.end + 1
            made = True
        else:
            out.append(code[k])
            k += 1
    if made:
        f.code = out
    return made


def _leading_to_bounds(f: Function) -> set[int]:
    """The variables that are read for nothing but bounds of loops, and to be compared."""
    code = f.code
    found: set[int] = set()
    read: set[int] = set()
    for k in range(len(code) - 1, -1, -1):
        instr = code[k]
        if instr.op is ops.FOR:
            found.update([a for a in instr.args[:2] if a >= 0])
        elif instr.op.pure and instr.dst in found:
            found.update([a for a in instr.args if a >= 0])
    for instr in code:
        if instr.op not in ops.COMPARING and instr.op is not ops.FOR and instr.dst not in found:
            read.update(instr.args)
    return {a for a in found if f.variable[a] and a not in read}
