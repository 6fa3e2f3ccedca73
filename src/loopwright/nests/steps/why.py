"""Why a loop of a nest does not become lanes, in a sentence: for reports, and for errors where a user asks for it."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import CARRIED, HANDED, REDUCTION, Scalar, any_order
from loopwright.nests.steps.jam import Refusal
from loopwright.nests.steps.lanes import adjacent, free, looked_up
from loopwright.targets.target import Target
from loopwright.types import F64, I64, vector_of

__all__ = ["lanes_refusal"]


def lanes_refusal(nest: Nest, loop: NestLoop, found: list[Dependence], variables: list[Scalar], target: Target) -> Refusal | None:
    """What keeps a loop from becoming one over lanes, or None.

    Args:
        nest: the nest.
        loop: the loop.
        found: the nest's dependences.
        variables: what its variables carry.
        target: the machine that has the lanes.
    """
    for line, because in nest.obstacles:
        return Refusal(because, line)
    if not target.vector_bits:
        return Refusal(f"{target.name} has no vectors", loop.line)
    dependence = _carried_by(loop, found)
    if dependence is None and loop in adjacent(nest, variables, target):
        return None
    if loop.step == 0:
        return Refusal("its steps are not known", loop.line)
    if loop.step != 1 and loop.step != -1:
        return Refusal(f"it counts in steps of {loop.step}", loop.line)
    depends = None if dependence is None else Refusal(f"an iteration of {nest.name(loop)} depends on an earlier one", dependence.sink.line, dependence)
    if dependence is not None and dependence.told:
        return depends
    refused = _scalars(nest, loop, variables)
    if refused is not None:
        return refused
    for access in nest.accesses:
        if loop.head < access.position < loop.end:
            sentence = _accessed(nest, loop, access, target)
            if sentence:
                return Refusal(sentence, access.line)
    if depends is not None:
        return depends
    if not loop.long():
        return Refusal("it has only a few iterations", loop.line)
    return Refusal("it has control flow or operations that are not done in lanes", loop.line)


def _carried_by(loop: NestLoop, found: list[Dependence]) -> Dependence | None:
    """A dependence of an iteration of a loop on an earlier one, within one iteration of the loops around it; one whose distance is known if there is one."""
    best: Dependence | None = None
    for dependence in found:
        if free(loop, [dependence]):
            continue
        if dependence.exact:
            return dependence
        if best is None:
            best = dependence
    return best


def _scalars(nest: Nest, loop: NestLoop, variables: list[Scalar]) -> Refusal | None:
    f = nest.f
    for scalar in variables:
        if scalar.loop is not loop:
            continue
        name = f.names[scalar.variable] or "a variable"
        if scalar.kind == CARRIED:
            return Refusal(f"an iteration of {nest.name(loop)} reads what the one before has left in {name}", scalar.line)
        if scalar.kind == HANDED:
            continue
        if scalar.kind == REDUCTION:
            if not any_order(f, scalar):
                return Refusal(f"the total {name} would be added up in another order, which rounds differently", scalar.line)
            continue
        first, last = nest.mentions[scalar.variable]
        if first < loop.head or last > loop.end:
            return Refusal(f"{name} is read after the loop over {nest.name(loop)}", scalar.line)
    return None


def _accessed(nest: Nest, loop: NestLoop, access: Access, target: Target) -> str:
    """What is wrong with an access for lanes along a loop; "" for nothing."""
    name = nest.f.arrays[access.array].name
    last = len(access.subscripts) - 1
    moves_last = False
    if looked_up(nest, loop, access) and target.vector_bits and target.looks_up(vector_of(F64, 2), vector_of(I64, 2)):
        return ""
    for place, form in enumerate(access.subscripts):
        if form is None:
            return f"the index of an access to {name} is not linear in the loops' indices"
        for value, coefficient in form.terms.items():
            known = nest.indices.get(value)
            if known is None and nest.forms.depends(Form(0, {value: 1}), loop.head, loop.end):
                if _loaded(nest, value):
                    return f"{name} is accessed at an index that comes from an array"
                return f"the index of an access to {name} is not linear in the loops' indices"
            if known is loop:
                if place != last or coefficient != 1:
                    return f"{nest.accessed(access)} is not the next element in the next iteration of {nest.name(loop)}"
                moves_last = True
    if access.store and not moves_last:
        return f"all iterations of {nest.name(loop)} store to {nest.accessed(access)}"
    return ""


def _loaded(nest: Nest, value: int) -> bool:
    """Whether a value of a form comes from an array."""
    forms = nest.forms
    for leaf in forms.leaves[value]:
        place = forms.places.get(leaf, -1)
        if place >= 0:
            instr: Instr = nest.f.code[place]
            if instr.op.effect == ops.READS:
                return True
    return False
