"""What an iteration hands on to the next, made in front of all that reads what it was handed.

::

    for i = lo, hi                       for i = lo, hi
      y = left * 2                         here = a[i]
      here = a[i]                  →       y = left * 2
      a[i] = y + here                      a[i] = y + here
      left = here                          left = here

So lanes have it from their neighbours, by a shuffle of two vectors (``vectors/handed.py``), as LLVM's vectorizer sinks what reads such a recurrence of first order behind what makes it. What is moved loads nothing that the
iteration has stored by then.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import CARRIED, scalars
from loopwright.nests.recurrences.previous import candidates
from loopwright.nests.rewriting.unroll import has_loops

__all__ = ["run"]

#: So many instructions are moved at most.
MOST: Final = 32


def run(f: Function) -> None:
    """Move what makes values that are handed on, in every loop that holds no others of a function at a stage before ``addresses``."""
    if not candidates(f):
        return
    for nest in reversed(nests(f)):
        carried = [scalar for scalar in scalars(nest) if scalar.kind == CARRIED]
        for loop in reversed(nest.loops):
            variables = [scalar.variable for scalar in carried if scalar.loop is loop]
            body = f.code[loop.head + 1 : loop.end]
            if variables and not has_loops(body):
                for variable in variables:
                    body = _handed(f, body, variable)
                # (Loops in front of it are where they were.)
                f.code[loop.head + 1 : loop.end] = body


def _handed(f: Function, body: list[Instr], variable: int) -> list[Instr]:
    """A loop's body with what a variable is given made in front of what reads the variable; as it is where that cannot be."""
    copied = _copied(f, body, variable)
    made = _made_first(f, copied, variable)
    if copied is body or made is not copied:
        return made
    given = next(instr.args[0] for instr in made if instr.dst == variable)
    known = next(k for k, instr in enumerate(made) if instr.dst == given)
    return made if all(variable not in instr.args for instr in made[: known + 1]) else body


def _copied(f: Function, body: list[Instr], variable: int) -> list[Instr]:
    """A loop's body with a variable that is given what one instruction in its outermost code loads or computes given a copy of that instead."""
    depth = 0
    at = -1
    for k, instr in enumerate(body):
        depth += int(instr.op.opens) - int(instr.op.closes)
        if instr.dst == variable:
            if at >= 0 or depth or instr.op is ops.COPY or not (instr.op.pure or instr.op is ops.LOAD) or variable in instr.args:
                return body
            at = k
    if at < 0:
        return body
    instr = body[at].copy()
    instr.dst = f.register(f.types[variable], f.names[variable])
    return [*body[:at], instr, Instr(ops.COPY, f.types[variable], variable, [instr.dst], 0, instr.line), *body[at + 1 :]]


def _made_first(f: Function, body: list[Instr], variable: int) -> list[Instr]:
    """A loop's body with what a variable is given, in its outermost code, made in front of what reads the variable; as it is where that cannot be."""
    given = -1
    first = -1  # the outermost instruction that reads it, or what does stands in the bracket of
    outermost: list[int] = []
    depth = opened = 0
    for k, instr in enumerate(body):
        if not depth:
            opened = k
        depth += int(instr.op.opens) - int(instr.op.closes)
        outermost.append(opened)
        if first < 0 and variable in instr.args:
            first = opened
        if instr.dst == variable and instr.op is ops.COPY and opened == k:
            given = instr.args[0]
    if given < 0 or first < 0:
        return body
    needed = {given}
    moved: list[int] = []
    stored = False
    for k in range(len(body) - 1, first - 1, -1):
        instr = body[k]
        if instr.dst >= 0 and instr.dst in needed and instr.dst != variable:
            if outermost[k] != k or f.variable[instr.dst] or variable in instr.args or not (instr.op.pure or instr.op is ops.LOAD):
                return body
            moved.append(k)
            needed.update(instr.args)
    moved.reverse()
    place = set(moved)
    for k in range(first, moved[-1] if moved else first):
        stored = stored or body[k].op.effect not in (ops.PURE, ops.READS, ops.CONTROL)
        if stored and k + 1 in place and body[k + 1].op is ops.LOAD:
            return body
    # (A variable that is read has to be what it was there.)
    read = {a for k in moved for a in body[k].args if a >= 0 and f.variable[a]}
    if len(moved) > MOST or any(body[k].dst in read for k in range(first, len(body))):
        return body
    return [*body[:first], *[body[k] for k in moved], *[instr for k, instr in enumerate(body[first:], first) if k not in place]]
