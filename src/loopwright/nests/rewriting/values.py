"""Variables that are given values at one level only, before all that reads them, are these values.

Branches leave such when they have become minima, maxima and choices, and conditions when loops have been split at them: of ``lo = 1``, ``if d > n: lo = d - n`` there remains ``lo = 1``, ``lo = max(lo, d - n)``.
A variable has no linear form in the loop that writes it, so that bounds and subscripts made of it were unknown.
"""

from __future__ import annotations

from loopwright.ir.function import Function, Instr

__all__ = ["run"]


def run(f: Function) -> None:
    """Replace every such variable of a function, before it has vectors, by a register for each of its values."""
    found = _given_at_one_level(f)
    if not any(found):
        return
    now = list(range(len(f.types)))  # per register: what stands for it
    begun = [False] * len(now)
    code: list[Instr] = []
    for instr in f.code:
        if any(a >= 0 and found[a] for a in instr.args):
            instr = _copy(instr)
            instr.args = [now[a] if a >= 0 else a for a in instr.args]
        d = instr.dst
        if d >= 0 and found[d]:
            if begun[d]:
                instr = _copy(instr)
                now[d] = instr.dst = f.register(f.types[d], f.names[d])
            else:
                begun[d] = True
                f.variable[d] = False
        code.append(instr)
    f.code = code


def _given_at_one_level(f: Function) -> list[bool]:
    """Per register: whether it is such a variable."""
    variable = f.variable
    level = [-1] * len(variable)  # per register: the bracket that it has been given values in
    found = list(variable)
    for p in f.params:
        found[p] = False
    opened = [True]
    around = [0]
    for instr in f.code:
        op = instr.op
        if op.closes:
            opened[around.pop()] = False
        for a in instr.args:
            if a >= 0 and found[a] and (level[a] < 0 or not opened[level[a]]):
                found[a] = False
        d = instr.dst
        if d >= 0 and found[d]:
            if level[d] < 0:
                level[d] = around[-1]
            elif level[d] != around[-1]:
                found[d] = False
        if op.opens:
            around.append(len(opened))
            opened.append(True)
        if instr.loop is not None:
            for v, _op, _identity in instr.loop.accumulators:
                found[v] = False
    return [found[r] and level[r] >= 0 for r in range(len(variable))]


def _copy(instr: Instr) -> Instr:
    return Instr(instr.op, instr.type, instr.dst, list(instr.args), instr.imm, instr.line, instr.source, instr.mem, instr.loop)
