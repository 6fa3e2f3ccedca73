"""Iterations of an enclosing loop jammed for what they share: elements that the innermost loop, over lanes, accesses again in each of them.

``a[i, j] += b[i, k] * b[k, j]``, with ``k`` around ``j``, loads and stores a row of ``a`` in every iteration of ``k``. Four of them at once load and store it once: what one stores is what the next
would load, and what it stores in turn is written over. (S. Carr and K. Kennedy, "Improving the ratio of memory operations to floating-point operations in loops", ACM TOPLAS 16 (1994).)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.steps.blocks import fused
from loopwright.nests.steps.candidates import LEAST_GAIN, Change, Jam, innermost_loops, stalls
from loopwright.nests.steps.jam import refusal
from loopwright.targets.core import Core
from loopwright.types import I64

__all__ = ["handed_on", "shared"]

#: Factors that are tried, and how many instructions iterations may have together.
FACTORS: Final = (8, 4, 2)
MOST_WORK: Final = 80


class Shared(Jam):
    """Iterations to be jammed for what they share."""

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        super().apply(nest, variables)
        f = nest.f
        # The first loop that holds no other is that of all iterations at once.
        head = end = self.loop.head
        while f.code[end].op is not ops.END:
            if f.code[end].op is ops.FOR:
                head = end
            end += 1
        f.code[head + 1 : end] = handed_on(f, f.code[head + 1 : end])


def handed_on(f: Function, body: list[Instr]) -> list[Instr]:
    """Straight code without loads of what it has just stored or loaded, and without stores that it writes over before anything may read them.

    Distinct arrays are taken not to overlap.
    """
    out: list[Instr] = []
    names: dict[int, int] = {}  # registers that others stand for
    known: dict[tuple[int, ...], int] = {}
    held: dict[tuple[int, ...], int] = {}  # by element, what is in it
    stores: dict[tuple[int, ...], int] = {}  # by element, where it is stored, if nothing has loaded it since
    gone: set[int] = set()
    for instr in body:
        op = instr.op
        if any(a in names for a in instr.args):
            instr = instr.copy()
            instr.args = [names.get(a, a) for a in instr.args]
        if op is ops.LOAD:
            key = (instr.imm, *instr.args)
            if key in held and not f.variable[instr.dst]:
                names[instr.dst] = held[key]
                continue
            for other in [other for other in stores if other[0] == instr.imm]:
                del stores[other]
            if not f.variable[instr.dst]:
                held[key] = instr.dst
        elif op is ops.STORE:
            key = (instr.imm, *instr.args[1:])
            if key in stores:
                gone.add(stores[key])
            for other in [other for other in held if other[0] == instr.imm]:
                del held[other]
            stores[key] = len(out)
            value = instr.args[0]
            if value < 0 or not f.variable[value]:
                held[key] = value
        elif op.pure and instr.type is I64 and instr.dst != NONE and not f.variable[instr.dst] and not any(a >= 0 and f.variable[a] for a in instr.args):
            key = (op.code, instr.source.number, instr.imm, *instr.args)
            if key in known:
                names[instr.dst] = known[key]
                continue
            known[key] = instr.dst
        out.append(instr)
    return [instr for k, instr in enumerate(out) if k not in gone]


def shared(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop], changes: list[Change]) -> list[Jam]:
    """What is to be jammed for what iterations share.

    Args:
        nest: the nest.
        core: the core.
        found: the nest's dependences.
        variables: what its variables carry.
        lanes: the loops that are to run over lanes.
        changes: what else is to be done to the nest.
    """
    made: list[Jam] = []
    for innermost in innermost_loops(nest):
        loop = innermost.parent
        if loop is None or innermost not in lanes or not loop.step or any(change.loop.head <= innermost.head < change.loop.end for change in changes):
            continue
        if any(other.parent is loop and other is not innermost for other in nest.loops):
            continue
        body = nest.f.code[innermost.head + 1 : innermost.end]
        if any(instr.op.opens for instr in body) or any(scalar.loop is innermost for scalar in variables):
            continue
        for factor in FACTORS:
            if factor * len(body) > MOST_WORK or _gain(nest, innermost, loop, core, factor) < LEAST_GAIN:
                continue
            if any(stalls(dependence, loop, innermost, factor) for dependence in found) or refusal(nest, loop, factor, found, variables, lanes) is not None:
                continue
            made.append(Shared(loop, innermost, factor, 0, 0.0))
            break
    return made


def _gain(nest: Nest, innermost: NestLoop, loop: NestLoop, core: Core, factor: int) -> float:
    """How many times as fast the loop is, by its units, when so many iterations are one; 0 where nothing is shared that is stored to."""
    code = nest.f.code
    accesses = {access.position: access for access in nest.accesses if innermost.head < access.position < innermost.end}
    kept = {access.array for access in accesses.values() if access.store and not _moves(nest, access, loop)}
    if not kept:
        return 0.0
    plain = [0.0] * len(core.counts)
    together = [0.0] * len(core.counts)
    for k in range(innermost.head + 1, innermost.end):
        instr = code[k]
        access = accesses.get(k)
        if access is None and (not instr.op.pure or instr.op is ops.COPY or instr.type is I64):
            # (Indices go into addresses.)
            continue
        if access is not None and not _moves(nest, access, innermost):
            # It is loaded in front of the loop.
            continue
        cost = core.cost_of(instr)
        if fused(nest, innermost, instr):
            continue
        plain[cost.unit] += cost.cycles
        together[cost.unit] += cost.cycles / factor if access is not None and not _moves(nest, access, loop) else cost.cycles
    counts = core.counts
    before = max([cycles / count for cycles, count in zip(plain, counts, strict=True)])
    after = max([cycles / count for cycles, count in zip(together, counts, strict=True)])
    return before / after if after else 0.0


def _moves(nest: Nest, access: Access, loop: NestLoop) -> bool:
    return any(form is None or any(nest.indices.get(value) is loop for value in form.terms) for form in access.subscripts)
