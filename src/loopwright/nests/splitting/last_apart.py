"""The last iteration of a loop apart, where what it leaves in variables is all that keeps the loop from being one over lanes.

::

    for i = lo, hi                        for i = lo, hi - 1: x' = a[i] * 3; b[i] = x'
      x = a[i] * 3                        if lo < hi
      b[i] = x                      →       x = a[hi - 1] * 3; b[hi - 1] = x
    c[0] = x                              c[0] = x

Elements of a small array that each iteration fills anew, as those of a block that is transformed are, become such variables (``registers.py``): only the last block is there behind the loop.
(Last-value assignment of privatized variables: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.3.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import PRIVATE, Scalar, scalars
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, crossing_branches, has_loops, read_once
from loopwright.nests.splitting.conditions import append_loop, own_variables
from loopwright.nests.steps.lanes import free, may_be_in_lanes
from loopwright.nests.steps.stepped import by_ones
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["last_apart"]

#: Longer bodies are not written twice.
LONGEST: Final = 400


def last_apart(nest: Nest, variables: list[Scalar], target: Target) -> bool:
    """Take the last iterations of innermost loops apart where the loops may have lanes then; the nest does not describe the code any more. False where there are none."""
    f = nest.f
    if not target.vector_bits:
        return False
    for loop in nest.loops:
        left = _left(nest, loop, variables)
        if not left:
            continue
        original = f.code
        _rewrite(nest, loop, [*own_variables(nest, loop), *left])
        made = next((one for one in nests(f) if one.start >= nest.start), None)
        if made is not None and not made.obstacles:
            again = next(one for one in made.loops if one.number == loop.number)
            if (loop.step > 1 and by_ones(made, target)) or _may_be_in_lanes(made, again, target):
                return True
        f.code = original
    return False


def _may_be_in_lanes(nest: Nest, loop: NestLoop, target: Target) -> bool:
    """Whether nothing keeps a loop from being one over lanes, its dependences included."""
    return may_be_in_lanes(nest, loop, scalars(nest), target) and not too_many(nest, True) and free(loop, dependences(nest, True))


def _left(nest: Nest, loop: NestLoop, variables: list[Scalar]) -> list[int]:
    """The variables that each iteration of an innermost loop writes anew, for certain, and that are read behind it; none where there is something else in the way."""
    f = nest.f
    body = f.code[loop.head + 1 : loop.end]
    if not loop.step or loop.step < 0 or len(body) > LONGEST or has_loops(body) or crossing_branches(body):
        return []
    found = [
        scalar.variable
        for scalar in variables
        if scalar.loop is loop and scalar.kind == PRIVATE and not loop.head < nest.mentions[scalar.variable][0] <= nest.mentions[scalar.variable][1] < loop.end
    ]
    certain: set[int] = set()
    depth = 0
    for instr in body:
        if instr.op.effect == ops.CONTROL:
            depth += (1 if instr.op.opens else 0) - (1 if instr.op.closes else 0)
        elif not depth and instr.dst >= 0:
            certain.add(instr.dst)
    return found if all(variable in certain for variable in found) else []


def _rewrite(nest: Nest, loop: NestLoop, private: list[int]) -> None:
    f = nest.f
    code = f.code
    head = code[loop.head]
    line = head.line
    out = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    emit = Code(f, line, out)
    last = emit.op(ops.SUB, hi, f.const(I64, 1))
    if loop.step > 1:
        steps = emit.op(ops.DIV_FLOOR, emit.op(ops.SUB, last, lo), head.args[2])
        last = emit.op(ops.ADD, emit.op(ops.MUL, steps, head.args[2]), lo)
    body = code[loop.head + 1 : loop.end]
    append_loop(f, head, lo, last, body, private, out)
    runs = f.register(BOOL)
    out.append(Instr(ops.LT, I64, runs, [lo, hi], 0, line))
    out.append(Instr(ops.IF, VOID, NONE, [runs], 0, line))
    clone(f, body, {head.dst: last}, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
    f.code = out + code[loop.end + 1 :]
