"""Interchange of two loops of a nest: legal where no distance vector becomes negative when its components change places.

The loops from the one to the other are to be *perfectly nested*, or made so: between their heads is nothing but arithmetic and loads from arrays that the nest
does not write, between their ends nothing. Arithmetic that does not depend on their indices moves in front of them, the rest into the innermost (R. Allen and
K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.2).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.nests.dependence import Component, Dependence
from loopwright.nests.jam import Refusal, invariant
from loopwright.nests.nest import Nest, NestLoop
from loopwright.nests.scalars import PRIVATE, REDUCTION, Scalar, any_order

__all__ = ["chain", "gaps", "imperfect", "interchange", "interchange_refusal", "may_be_negative", "scalars_refusal"]


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
    for dependence in found:
        if inner.depth < len(dependence.loops) and dependence.loops[inner.depth] is inner:
            vector = list(dependence.vector)
            vector[outer.depth], vector[inner.depth] = vector[inner.depth], vector[outer.depth]
            if may_be_negative(vector):
                return Refusal("it would do the second of two accesses first", dependence.sink.line, dependence)
    return None


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
    """A variable that keeps iterations of loops from changing their order, or None."""
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


def may_be_negative(vector: list[Component]) -> bool:
    """Whether the first component of a vector that is not 0 may be negative."""
    for component in vector:
        if component.low < 0:
            return True
        if component.low > 0:
            return False
    return False


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


def interchange(nest: Nest, outer: NestLoop, inner: NestLoop) -> None:
    """Exchange two loops. ``interchange_refusal`` must have allowed it; the nest does not describe the code any more."""
    f = nest.f
    code: list[Instr] = f.code
    loops = chain(nest, outer, inner)
    assert loops is not None
    ahead, inside = gaps(nest, loops)
    heads = [code[loop.head] for loop in loops]
    ends = [code[loop.end] for loop in loops]
    heads[0], heads[-1] = heads[-1], heads[0]
    ends[0], ends[-1] = ends[-1], ends[0]
    ends.reverse()
    f.code = code[: outer.head] + ahead + heads + inside + code[inner.head + 1 : inner.end] + ends + code[outer.end + 1 :]
