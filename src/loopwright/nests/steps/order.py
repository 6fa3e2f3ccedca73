"""In which order loops that stand directly inside each other had better be.

The innermost loop is the best place for the one in which an element that is added to stays the same, so that it can be kept in a register; and next to each
other in memory should be what iterations that follow each other access (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section
9.3). ``interchange.py`` says which orders are legal, and makes them.
"""

from __future__ import annotations

from itertools import permutations
from typing import Final

from loopwright.ir.affine import Form
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.steps.interchange import backwards, rearrange, scalars_refusal
from loopwright.nests.steps.jam import invariant

__all__ = ["chains", "moves", "reorder"]

#: So many loops are put into another order.
DEEPEST: Final = 3
#: What an access costs besides that is not to the element next to the one before, in accesses; and one that another loop, whose iterations may be jammed,
#: repeats.
FAR: Final = 1.5
REPEATED: Final = 0.25
#: What a loop costs without lanes, in times of one with them.
SCALAR: Final = 6.0
#: The order stays unless another is better by so much.
LEAST_GAIN: Final = 1.15


def chains(nest: Nest) -> list[list[NestLoop]]:
    """The loops of a nest that stand directly inside each other, none of whose bounds depends on another's index: outermost first, at least two."""
    found: list[list[NestLoop]] = []
    for innermost in nest.loops:
        if any(other.parent is innermost for other in nest.loops) or not innermost.step:
            continue
        chain = [innermost]
        while len(chain) < DEEPEST:
            around = chain[0].parent
            if around is None or not around.step or not _only(nest, around, chain[0]) or not all(invariant(nest, loop, around) for loop in chain):
                break
            chain.insert(0, around)
        if len(chain) > 1:
            found.append(chain)
    return found


def _only(nest: Nest, around: NestLoop, inner: NestLoop) -> bool:
    """Whether there is nothing in a loop but another, and arithmetic."""
    f = nest.f
    if inner.end != around.end - 1:
        return False
    return all(instr.op.pure and not f.variable[instr.dst] for instr in f.code[around.head + 1 : inner.head])


def reorder(nest: Nest, found: list[Dependence], variables: list[Scalar]) -> bool:
    """Put the loops of a nest into the best order; it does not describe the code any more where that is another one.

    Args:
        nest: the nest.
        found: its dependences.
        variables: what its variables carry.
    """
    done = False
    for chain in reversed(chains(nest)):
        if scalars_refusal(nest, chain, variables) is not None:
            continue
        accesses = [access for access in nest.accesses if access.loops[-1] is chain[-1]]
        best = chain
        least = _cost(nest, accesses, chain, chain) / LEAST_GAIN
        for order in permutations(chain):
            cost = _cost(nest, accesses, list(order), chain)
            if cost < least and backwards(found, chain, list(order)) is None:
                least, best = cost, list(order)
        if best is not chain:
            rearrange(nest, chain, best)
            done = True
    return done


def _cost(nest: Nest, accesses: list[Access], order: list[NestLoop], chain: list[NestLoop]) -> float:
    """About what an iteration costs, in accesses of lanes; what stays the same in the innermost loop is in a register."""
    innermost = order[-1]
    cost = 1.0
    for access in accesses:
        place = moves(nest, access, innermost)
        if place > 0:
            cost += 1
        elif place:
            cost += 1 + (REPEATED if any(not moves(nest, access, loop) for loop in order) else FAR)
    return cost if any(_lanes(nest, accesses, loop) for loop in order) else cost * SCALAR


def moves(nest: Nest, access: Access, loop: NestLoop) -> int:
    """How an access moves in a loop: 0 not at all, 1 to the element next to it, -1 farther."""
    last = len(access.subscripts) - 1
    found = 0
    for place, form in enumerate(access.subscripts):
        if form is None:
            return -1
        if any(value not in nest.indices and loop.index in nest.forms.leaves[value] for value in form.terms):
            return -1
        coefficient = _coefficient(nest, form, loop)
        if coefficient:
            found = 1 if place == last and found == 0 and coefficient == 1 else -1
    return found


def _coefficient(nest: Nest, form: Form, loop: NestLoop) -> int:
    for value, coefficient in form.terms.items():
        if nest.indices.get(value) is loop:
            return coefficient
    return 0


def _lanes(nest: Nest, accesses: list[Access], loop: NestLoop) -> bool:
    """Whether a loop's accesses are adjacent, so that it may become one over lanes."""
    if loop.step != 1:
        return False
    found = [(access.store, moves(nest, access, loop)) for access in accesses]
    return all(move >= 0 for _, move in found) and all(move > 0 for store, move in found if store)
