"""Loops of a nest put into another order: legal where no dependence points backwards in it.

The loops from the first to the last of those that change places are to be *perfectly nested*, or made so: between their heads is nothing but arithmetic and
loads from arrays that the nest does not write, between their ends nothing. Arithmetic that does not depend on their indices moves in front of them, the rest
into the innermost (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.2).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import PRIVATE, REDUCTION, Scalar, any_order
from loopwright.nests.steps.jam import Refusal, invariant

__all__ = ["backwards", "chain", "exchanged", "gaps", "imperfect", "interchange_refusal", "rearrange", "scalars_refusal"]


def interchange_refusal(nest: Nest, outer: NestLoop, inner: NestLoop, found: list[Dependence], variables: list[Scalar]) -> Refusal | None:
    """What keeps two loops from changing places, or None.

    Args:
        nest: the nest.
        outer, inner: the loops.
        found: the nest's dependences.
        variables: what its variables carry.
    """
    for line, because in nest.obstacles:
        return Refusal(because, line)
    between = chain(nest, outer, inner)
    if between is None or outer is inner:
        return Refusal(f"{nest.name(inner)} is not inside of {nest.name(outer)}", inner.line)
    refused = imperfect(nest, between) or scalars_refusal(nest, between, variables)
    if refused is not None:
        return refused
    for k, loop in enumerate(between):
        for around in between[:k]:
            if not invariant(nest, loop, around):
                return Refusal(f"the bounds of {nest.name(loop)} change with {nest.name(around)}", loop.line)
    dependence = backwards(found, between, exchanged(between))
    return None if dependence is None else Refusal("it would do the second of two accesses first", dependence.sink.line, dependence)


def chain(nest: Nest, outer: NestLoop, inner: NestLoop) -> list[NestLoop] | None:
    """The loops from one to another inside of it, both included, outermost first; None where it is not inside."""
    found: list[NestLoop] = []
    loop: NestLoop | None = inner
    while loop is not None:
        found.append(loop)
        if loop is outer:
            found.reverse()
            return found
        loop = loop.parent
    return None


def exchanged(loops: list[NestLoop]) -> list[NestLoop]:
    """Loops with the first and the last of them in each other's places."""
    return [loops[-1], *loops[1:-1], loops[0]]


def imperfect(nest: Nest, loops: list[NestLoop]) -> Refusal | None:
    """What stands between loops, each inside the one before, and cannot be moved into the innermost; None for nothing."""
    f = nest.f
    code: list[Instr] = f.code
    written = {access.array for access in nest.accesses if access.store}
    for k in range(len(loops) - 1):
        outer, inner = loops[k], loops[k + 1]
        if not outer.step or not inner.step:
            return Refusal("its steps are not known", outer.line if not outer.step else inner.line)
        for position in range(outer.head + 1, inner.head):
            instr = code[position]
            movable = instr.op.pure or (instr.op is ops.LOAD and instr.imm not in written)
            if not movable or instr.op.effect == ops.CONTROL or f.variable[instr.dst]:
                return Refusal(f"there is more than {nest.name(inner)} in the loop over {nest.name(outer)}", instr.line)
        if inner.end + 1 != outer.end:
            return Refusal(f"there is more than {nest.name(inner)} in the loop over {nest.name(outer)}", code[inner.end + 1].line)
    return None


def scalars_refusal(nest: Nest, loops: list[NestLoop], variables: list[Scalar]) -> Refusal | None:
    """A variable that keeps iterations of loops from changing their order, or None: they may carry nothing but totals that may be added up in any order."""
    f = nest.f
    for scalar in variables:
        if scalar.loop not in loops:
            continue
        name = f.names[scalar.variable] or "a variable"
        if scalar.kind == REDUCTION:
            if not any_order(f, scalar):
                return Refusal(f"the total {name} would be added up in another order, which rounds differently", scalar.line)
        elif scalar.kind != PRIVATE:
            return Refusal(f"an iteration of {nest.name(scalar.loop)} reads what the one before has left in {name}", scalar.line)
        else:
            first, last = nest.mentions[scalar.variable]
            if first < loops[0].head or last > loops[0].end:
                return Refusal(f"{name} is read after the loop over {nest.name(loops[0])}", scalar.line)
    return None


def backwards(found: list[Dependence], before: list[NestLoop], after: list[NestLoop]) -> Dependence | None:
    """A dependence that points backwards where loops are in another order; None where there is none.

    Args:
        found: the dependences of the nest.
        before: the loops, directly inside each other, the outermost first.
        after: the same in the order wanted.
    """
    depth = before[0].depth
    for dependence in found:
        loops = dependence.loops
        if len(loops) < depth + len(before) or loops[depth] is not before[0]:
            continue
        if not all(c.low <= 0 <= c.high for c in dependence.vector[:depth]):
            continue
        for loop in after:
            component = dependence.vector[loop.depth]
            if component.low < 0:
                return dependence
            if component.low > 0:
                break
    return None


def gaps(nest: Nest, loops: list[NestLoop]) -> tuple[list[Instr], list[Instr]]:
    """What is between the heads of perfectly nested loops: arithmetic that may go in front of them all; what depends on their indices, and loads.

    (A load stays where it is only done when the loops run.)
    """
    f = nest.f
    code: list[Instr] = f.code
    depends = {loop.index for loop in loops}
    written = {instr.dst for instr in code[loops[0].head : loops[0].end] if instr.dst >= 0 and f.variable[instr.dst]}
    ahead: list[Instr] = []
    inside: list[Instr] = []
    for k in range(len(loops) - 1):
        for instr in code[loops[k].head + 1 : loops[k + 1].head]:
            if instr.op is ops.LOAD or any(a in depends or a in written for a in instr.args):
                depends.add(instr.dst)
                inside.append(instr)
            else:
                ahead.append(instr)
    return ahead, inside


def rearrange(nest: Nest, before: list[NestLoop], after: list[NestLoop]) -> None:
    """Put perfectly nested loops into another order, which must be legal; the nest does not describe the code any more.

    Args:
        nest: the nest.
        before: the loops, directly inside each other, the outermost first.
        after: the same in the order wanted.
    """
    f = nest.f
    code: list[Instr] = f.code
    ahead, inside = gaps(nest, before)
    heads = [code[loop.head] for loop in after]
    ends = [code[loop.end] for loop in reversed(after)]
    outermost, innermost = before[0], before[-1]
    f.code = [*code[: outermost.head], *ahead, *heads, *inside, *code[innermost.head + 1 : innermost.end], *ends, *code[outermost.end + 1 :]]
