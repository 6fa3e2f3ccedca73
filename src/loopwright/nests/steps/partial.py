"""Totals of an innermost loop added up in several parts, where an iteration waits for the one before by nothing else.

::

    for k = lo, hi, s              for k = lo, stop, U*s
      v = v + x(k)                   v = v + x(k);  v1 = v1 + x(k + s);  …
    end                    →       end
                                   v = v + v1 + …
                                   for k = stop, hi, s … as before … end

What may be added up in any order may be so (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.6); it takes no lanes, so
that it does for columns, too.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.graph import Graph, graph_of, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import CARRIED, HANDED, REDUCTION, Scalar, any_order
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.steps.candidates import LEAST_GAIN, Change, live
from loopwright.nests.steps.jam import begin_parts, combine, stop_of
from loopwright.targets.core import Core
from loopwright.types import I64, VOID

__all__ = ["divide", "in_parts", "totals"]

#: In so many parts totals are added up.
PARTS: Final = (2, 4, 8)


def totals(nest: Nest, loop: NestLoop, variables: list[Scalar]) -> list[Scalar]:
    """The totals of a loop; none where it carries anything else, or branches."""
    code = nest.f.code
    if not loop.step or any(code[k].op.effect == ops.CONTROL for k in range(loop.head + 1, loop.end)):
        return []
    own = [scalar for scalar in variables if scalar.loop is loop]
    if any(scalar.kind in (CARRIED, HANDED) for scalar in own):
        return []
    found = [scalar for scalar in own if scalar.kind == REDUCTION]
    return found if all(any_order(nest.f, scalar) for scalar in found) else []


def divide(nest: Nest, loop: NestLoop, factor: int, found: list[Scalar]) -> None:
    """Add up totals in so many parts; what comes behind the loop in the nest does not describe the code any more.

    Args:
        nest: the nest.
        loop: the loop, which is unrolled that many times, one iteration behind the other.
        factor: how many parts.
        found: its ``totals``, if it holds no other loop; without any it may hold loops.
    """
    f = nest.f
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    stop = stop_of(f, lo, hi, factor, loop.step, line, out)
    parts: list[list[int]] = []
    for scalar in found:
        assert scalar.op is not None
        parts.append(begin_parts(f, scalar.op, scalar.variable, factor, line, out))
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, index, [lo, stop, f.const(I64, factor * loop.step)], 0, line))
    for copy in range(factor):
        at = index
        if copy:
            at = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.ADD, I64, at, [index, f.const(I64, copy * loop.step)], 0, line))
        rename = {head.dst: at}
        for own in parts:
            rename[own[0]] = own[copy]
        clone(f, code[loop.head + 1 : loop.end], rename, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
    for scalar, own in zip(found, parts, strict=True):
        assert scalar.op is not None
        combine(f, scalar.op, own, line, out)
    out.append(Instr(ops.FOR, head.type, head.dst, [stop, hi, head.args[2]], 0, line))
    out.extend(code[loop.head + 1 :])
    f.code = out


class Parts(Change):
    """A total to be added up in parts."""

    def __init__(self, loop: NestLoop, factor: int) -> None:
        super().__init__(loop)
        self.factor = factor

    def text(self, nest: Nest) -> str:
        return f"totals of {nest.name(self.loop)} in {self.factor} parts"

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        divide(nest, self.loop, self.factor, totals(nest, self.loop, variables))


def in_parts(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop]) -> list[Change]:
    """The innermost loops whose totals had better be added up in parts, and in how many; none that are over lanes, or in such."""
    chosen: list[Change] = []
    for loop in nest.loops:
        if any(other.parent is loop for other in nest.loops) or any(other.head <= loop.head < other.end for other in lanes):
            continue
        own = totals(nest, loop, variables)
        if not own:
            continue
        graph = graph_of(nest, loop, found, core)
        recurrence = recurrence_bound(graph)
        # (What goes from one iteration to the next through memory stays.)
        least = max(resource_bound(graph, core), _without(graph, nest, {scalar.variable for scalar in own}))
        factor = next((factor for factor in PARTS if factor * least >= recurrence), PARTS[-1])
        if recurrence >= least * LEAST_GAIN and factor * live(graph) <= core.registers:
            chosen.append(Parts(loop, factor))
    return chosen


def _without(graph: Graph, nest: Nest, variables: set[int]) -> int:
    """The bound of the circuits of a graph but for those of such variables."""
    code = nest.f.code
    rest = Graph(graph.depth)
    rest.nodes = graph.nodes
    rest.edges = [edge for edge in graph.edges if code[graph.nodes[edge.sink].position].dst not in variables]
    return recurrence_bound(rest)
