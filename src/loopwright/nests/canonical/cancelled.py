"""Subscripts in which an index is added and taken away again (``x[n - 1 - i + i]``): written without it.

What stays the same in a loop, as its linear form says, is computed in front of it by several steps (``registers.py``, ``hoisted.py``, ``carry.py``), by the instructions that it is made of; those would read the index there.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.nests.analysis.nest import nests
from loopwright.nests.rewriting.operands import of_form
from loopwright.types import I64

__all__ = ["run"]

_SUMS = frozenset((ops.ADD, ops.SUB))
_LINEAR = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.COPY, ops.SHL))


def run(f: Function) -> None:
    """Rewrite them in the nests of a function."""
    reads = _reads(f)
    if reads is None:
        return
    for nest in reversed(nests(f)):
        code = f.code
        out = code[: nest.start]
        indices = {loop.index for loop in nest.loops}
        for k in range(nest.start, nest.end + 1):
            instr = code[k]
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                first = int(instr.op is ops.STORE)
                for n in range(first, len(instr.args)):
                    operand = instr.args[n]
                    form = nest.forms.of(operand) if operand in reads else None
                    if form is None or any(nest.forms.registers[value] < 0 for value in form.terms):
                        continue
                    if (reads[operand] & indices) - {nest.indices[value].index for value in form.terms if value in nest.indices}:
                        instr = instr.copy()
                        instr.args = list(instr.args)
                        instr.args[n] = of_form(nest, form, instr.line, out)
            out.append(instr)
        f.code = out + code[nest.end + 1 :]


def _reads(f: Function) -> dict[int, frozenset[int]] | None:
    """The indices of loops that sums and products of i64 are made of, by their registers; None where no sum has one on both sides."""
    found: dict[int, frozenset[int]] = {}
    twice = False
    none: frozenset[int] = frozenset()
    for instr in f.code:
        if instr.op is ops.FOR:
            found[instr.dst] = frozenset((instr.dst,))
        elif instr.type is I64 and instr.op in _LINEAR and found:
            parts = [found.get(a, none) for a in instr.args]
            if len(parts) == 2 and instr.op in _SUMS and parts[0] & parts[1]:
                twice = True
            made = none.union(*parts)
            if made:
                found[instr.dst] = made
    return found if twice else None
