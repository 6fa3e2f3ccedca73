"""A loop whose statements read what earlier ones have just stored beside: the statements one behind the other, each for a block of iterations.

::

    for i = lo, hi                       for i.blocks = lo, hi, B
      b[i] = a[i] * 2                      for i = i.blocks, min(i.blocks + B, hi)
      c[i] = b[i] - b[i - 1]      →          b[i] = a[i] * 2
    end                                    end
                                           for i = i.blocks, min(i.blocks + B, hi)
                                             c[i] = b[i] - b[i - 1]
                                           end
                                         end

Vectors of the loop as it is would load what the last two of them have stored, which the core does not hand on: each would wait until it is in the cache. A block later it is there, and still in the
nearest cache (loop distribution and strip mining: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, sections 5.7 and 9.3.1).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.distribute import Unit, alone, parts_of
from loopwright.nests.steps.lanes import free
from loopwright.types import BOOL, I64, VOID

__all__ = ["BLOCK", "in_blocks"]

#: So many iterations make a block.
BLOCK: Final = 512
#: A loop inside of another that runs less often stays as it is.
LEAST: Final = 24
#: What the name of a loop over blocks ends with.
BLOCKS: Final = ".blocks"


def in_blocks(nest: Nest, found: list[Dependence], variables: list[Scalar], beside: list[NestLoop]) -> NestLoop | None:
    """Rewrite the first innermost loop that could be one over lanes if it were done so; the nest does not describe the code then any more.

    Args:
        nest: the nest.
        found: its dependences.
        variables: what its variables carry.
        beside: the loops along which its accesses are adjacent.

    Returns:
        The loop, as it was, or None for nothing.
    """
    for loop in beside:
        if loop.step != 1 or any(other.parent is loop for other in nest.loops) or free(loop, found) or not free(loop, found, 0):
            continue
        near = [dependence for dependence in found if not free(loop, [dependence])]
        parts = _gathered(parts_of(nest, loop, found, variables), near)
        if parts:
            _rewrite(nest, loop, parts)
            return loop
    return None


def _gathered(parts: list[list[Unit]], near: list[Dependence]) -> list[list[Unit]]:
    """The parts, neighbours together as long as none reads what another has just stored; none where a part by itself does."""
    made: list[list[Unit]] = []
    for part in parts:
        both = [*made[-1], *part] if made else part
        if made and not _reads_its_own(both, near):
            made[-1] = both
        elif _reads_its_own(part, near):
            return []
        else:
            made.append(part)
    return made


def _reads_its_own(part: list[Unit], near: list[Dependence]) -> bool:
    return any(_in(part, dependence.source.position) and _in(part, dependence.sink.position) for dependence in near)


def _in(part: list[Unit], position: int) -> bool:
    return any(unit.start <= position < unit.end for unit in part)


def _rewrite(nest: Nest, loop: NestLoop, parts: list[list[Unit]]) -> None:
    """Put a loop over blocks, and in it a loop for each part, in the place of a loop; inside of another loop only where it runs often enough."""
    f = nest.f
    head = f.code[loop.head]
    low, high, _ = head.args
    first = f.register(I64, nest.name(loop) + BLOCKS)
    out: list[Instr] = []
    if loop.parent is not None:
        count, enough = f.register(I64), f.register(BOOL)
        out.append(Instr(ops.SUB, I64, count, [high, low], 0, head.line))
        out.append(Instr(ops.GE, I64, enough, [count, f.const(I64, LEAST)], 0, head.line))
        out.append(Instr(ops.IF, VOID, NONE, [enough], 0, head.line))
    out.append(Instr(ops.FOR, head.type, first, [low, high, f.const(I64, BLOCK)], 0, head.line))
    behind, last = f.register(I64), f.register(I64)
    out.append(Instr(ops.ADD, I64, behind, [first, f.const(I64, BLOCK)], 0, head.line))
    out.append(Instr(ops.MIN, I64, last, [behind, high], 0, head.line))
    for part in parts:
        made = alone(nest, loop, part)
        made[0].args = [first, last, made[0].args[2]]
        out += made
    out.append(Instr(ops.END, VOID, NONE, [], 0, f.code[loop.end].line))
    if loop.parent is not None:
        out.append(Instr(ops.ELSE, VOID, NONE, [], 0, head.line))
        clone(f, f.code[loop.head : loop.end + 1], {}, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, head.line))
    f.code = f.code[: loop.head] + out + f.code[loop.end + 1 :]
