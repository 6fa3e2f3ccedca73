"""Innermost loops that count down and wait for their own results, made to count up, which is how rows are walked together.

::

    for j = lo, hi, -1        →      for t = 0, lo - hi
      A                                j = lo - t
    end                                A
                                     end
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import CARRIED, Scalar
from loopwright.nests.rewriting.unroll import read_once
from loopwright.nests.steps.lanes import free
from loopwright.types import I64

__all__ = ["upwards"]


def upwards(nest: Nest, found: list[Dependence], variables: list[Scalar]) -> Nest | None:
    """The nest with such loops counting up; None where there are none. Iterations are the same, in the same order.

    Args:
        nest: the nest, which does not describe the code any more where there are.
        found: its dependences.
        variables: what its variables carry.
    """
    wanted = [loop for loop in nest.loops if _waits(nest, loop, found, variables)]
    if not wanted:
        return None
    f = nest.f
    for loop in reversed(wanted):
        _reverse(f, loop)
    made = next(one for one in nests(f) if one.start >= nest.start)
    made.record = nest.record
    return made


def _waits(nest: Nest, loop: NestLoop, found: list[Dependence], variables: list[Scalar]) -> bool:
    if loop.step != -1 or loop.parent is None or any(other.parent is loop for other in nest.loops):
        return False
    return not free(loop, found) or any(scalar.loop is loop and scalar.kind == CARRIED for scalar in variables)


def _reverse(f: Function, loop: NestLoop) -> None:
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    count = f.register(I64, "")
    out.append(Instr(ops.SUB, I64, count, [lo, hi], 0, line))
    steps = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, steps, [f.const(I64, 0), count, f.const(I64, 1)], 0, line))
    out.append(Instr(ops.SUB, I64, head.dst, [lo, steps], 0, line))
    f.code = out + code[loop.head + 1 :]
