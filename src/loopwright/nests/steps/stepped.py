"""Innermost loops that count in steps, made to count one by one, where their elements can be dealt out to lanes then.

::

    for j = lo, hi, 2         →      for t = 0, (hi - lo + 1) // 2
      A(j, j // 2)                     j = lo + 2 * t
    end                                A(j, t + lo // 2)
                                     end
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting.unroll import read_once
from loopwright.nests.steps.lanes import free, strided
from loopwright.targets.target import Target
from loopwright.types import I64

__all__ = ["by_ones"]

#: Elements that are further apart are not dealt out.
MOST: Final = 8
_BITS: Final = 8


def by_ones(nest: Nest, target: Target) -> bool:
    """Let innermost loops count one by one where they can have lanes then; the nest does not describe the code any more. False where there are none.

    Args:
        nest: the nest, without obstacles.
        target: the machine that has the lanes.
    """
    f = nest.f
    if not target.vector_bits:
        return False
    wanted = [loop for loop in nest.loops if 1 < loop.step <= MOST and loop.long() and not any(other.parent is loop for other in nest.loops)]
    if not wanted:
        return False
    original = f.code
    for loop in reversed(wanted):
        _count(f, loop)
    made = next(one for one in nests(f) if one.start >= nest.start)
    counted = [made.loops[loop.number] for loop in wanted]
    if not made.obstacles:
        beside = strided(made, scalars(made), target, [])
        if all(loop in beside for loop in counted) and not too_many(made, True):
            found = dependences(made, True)
            if all(free(loop, found) for loop in counted):
                return True
    f.code = original
    return False


def _count(f: Function, loop: NestLoop) -> None:
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    value = hi
    # (Nothing overflows: of no iteration there is one less than none.)
    for op, other in ((ops.MAX, lo), (ops.SUB, lo), (ops.SUB, f.const(I64, 1)), (ops.DIV_FLOOR, head.args[2]), (ops.ADD, f.const(I64, 1))):
        made = f.register(I64, "")
        out.append(Instr(op, I64, made, [value, other], 0, line))
        value = made
    times = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, times, [f.const(I64, 0), value, f.const(I64, 1)], 0, line))
    product = f.register(I64, "")
    out.append(Instr(ops.MUL, I64, product, [times, head.args[2]], 0, line))
    out.append(Instr(ops.ADD, I64, head.dst, [product, lo], 0, line))
    body = code[loop.head + 1 : loop.end]
    if lo < 0:
        body = [_divided(f, instr, head, times) for instr in body]
    f.code = [*out, *body, *code[loop.end :]]


def _divided(f: Function, instr: Instr, head: Instr, times: int) -> Instr:
    """An instruction of a loop's body, where the index divided by the step is the number of the iteration, and a constant."""
    if instr.type is not I64 or len(instr.args) != 2 or instr.args[0] != head.dst or instr.args[1] >= 0:
        return instr
    lo, by = int(f.const_values[~head.args[0]]), int(f.const_values[~instr.args[1]])
    if instr.op is ops.SHR and 0 <= by < _BITS:
        by = 1 << by
    elif instr.op is not ops.DIV_FLOOR:
        return instr
    if by != int(f.const_values[~head.args[2]]):
        return instr
    return Instr(ops.ADD, I64, instr.dst, [times, f.const(I64, lo // by)], 0, instr.line)
