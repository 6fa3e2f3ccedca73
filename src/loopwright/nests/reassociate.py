"""Sums in loops that wait for their own results, added up so that what is waited for comes last; under ``fastmath``, which allows that.

``s = max(x[i], s + x[i] - 1)`` waits for two additions and a comparison in each iteration, ``s = max(x[i], s + (x[i] - 1))`` for one addition less: what does not depend
on the iteration before is computed while that is under way (tree-height reduction: D. Kuck, The Structure of Computers and Computations, 1978, chapter 2).

Long sums that are written down term by term, or come of loops that were unrolled as the kernel was staged, are added up in several parts side by side for the same reason: a core has not the
room to begin so many iterations at once that their chains would keep its units busy.

Sums of f16 stay as they are: in another order they may leave its short range where they do not as written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.ops import Op
from loopwright.nests.nest import Nest, NestLoop, nests
from loopwright.nests.scalars import CARRIED, scalars

__all__ = ["run"]

_SUMS: Final = frozenset((ops.ADD, ops.SUB))
#: Sums of so many terms are added up in parts, and in so many.
LONG_SUM: Final = 12
PARTS: Final = 4


def run(f: Function) -> None:
    """Rewrite such sums in every innermost loop without branches."""
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        carried = [scalar for scalar in scalars(nest) if scalar.kind == CARRIED and f.types[scalar.variable].is_float and not is_half(f.types[scalar.variable])]
        for loop in reversed(nest.loops):
            variables = {scalar.variable for scalar in carried if scalar.loop is loop}
            if any(instr.op.effect == ops.CONTROL for instr in f.code[loop.head + 1 : loop.end]):
                continue
            if variables:
                _shorten(nest, loop, variables)
            if loop.end - loop.head > LONG_SUM:
                _in_parts(f, loop.head, loop.end)


def _shorten(nest: Nest, loop: NestLoop, variables: set[int]) -> None:
    f = nest.f
    body = f.code[loop.head + 1 : loop.end]
    while _rotate(f, body, variables):
        pass
    f.code = [*f.code[: loop.head + 1], *body, *f.code[loop.end :]]


def _rotate(f: Function, body: list[Instr], variables: set[int]) -> bool:
    """Take one sum apart in which what is waited for goes through two additions: ``(p + d) + c`` as ``p + (d + c)``. False where there is none."""
    waits = set(variables)
    made: dict[int, int] = {}
    uses: dict[int, int] = {}
    for instr in body:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
    for k, instr in enumerate(body):
        if instr.dst < 0:
            continue
        if instr.op in _SUMS and instr.type.is_float:
            for place in (0, 1) if instr.op is ops.ADD else (0,):
                inner = instr.args[place]
                at = made.get(inner, -1)
                other = instr.args[1 - place]
                if at >= 0 and inner in waits and other not in waits and uses[inner] == 1 and _apart(f, body, at, k, other, waits, instr.op):
                    return True
        if any(a in waits for a in instr.args):
            waits.add(instr.dst)
        if instr.op in _SUMS and instr.type.is_float and not is_half(instr.type) and not f.variable[instr.dst]:
            made[instr.dst] = k
    return False


def _apart(f: Function, body: list[Instr], at: int, k: int, other: int, waits: set[int], op: Op) -> bool:
    """Rewrite the sum at ``k`` of ``other`` and the sum at ``at``, of which one operand waits; False where both do."""
    first, second = body[at], body[k]
    p, d = first.args
    if p not in waits and d in waits and first.op is ops.ADD:
        p, d = d, p
    if p not in waits or d in waits or (p >= 0 and f.variable[p] and any(instr.dst == p for instr in body[at:k])):
        return False
    # (p + d) + c = p + (d + c), (p + d) - c = p + (d - c), (p - d) + c = p - (d - c), (p - d) - c = p - (d + c)
    inside = ops.ADD if (first.op is ops.ADD) == (op is ops.ADD) else ops.SUB
    if any(a >= 0 and f.variable[a] and any(instr.dst == a for instr in body[at:k]) for a in (d, other)):
        return False
    made = f.register(second.type, "")
    body[k : k + 1] = [
        Instr(inside, second.type, made, [d, other], 0, second.line),
        Instr(first.op, second.type, second.dst, [p, made], 0, second.line),
    ]
    del body[at]
    return True


def _in_parts(f: Function, head: int, end: int) -> None:
    """Add up the long sums of a loop's body, which is straight code, in parts."""
    body = f.code[head + 1 : end]
    instead: dict[int, list[Instr]] = {}  # what takes an instruction's place
    for chain in _chains(f, body):
        if len(chain) + 1 < LONG_SUM:
            continue
        first = body[chain[0]]
        terms = [(first.args[0], ops.ADD), (first.args[1], first.op)]
        for n in range(1, len(chain)):
            instr = body[chain[n]]
            terms.append((instr.args[1] if instr.args[0] == body[chain[n - 1]].dst else instr.args[0], instr.op))
        if all(op is ops.ADD and not (x >= 0 and f.variable[x]) for x, op in terms[:PARTS]):
            _side_by_side(f, body, chain, terms, instead)
    if instead:
        made: list[Instr] = []
        for k, instr in enumerate(body):
            made += instead.get(k, [instr])
        f.code = [*f.code[: head + 1], *made, *f.code[end:]]


def _chains(f: Function, body: list[Instr]) -> list[list[int]]:
    """The places of sums each of which adds something to the one before, or subtracts it, which is read nowhere else."""
    uses: dict[int, int] = {}
    for instr in body:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
    chains: dict[int, list[int]] = {}  # by its last sum's register
    for k, instr in enumerate(body):
        if instr.op not in _SUMS or not instr.type.is_float or is_half(instr.type) or instr.dst < 0 or f.variable[instr.dst]:
            continue
        chain: list[int] = []
        for a in instr.args if instr.op is ops.ADD else instr.args[:1]:
            known = chains.get(a)
            if known is not None and uses[a] == 1 and instr.type is body[known[0]].type and len(known) > len(chain):
                chain = known
        if chain:
            del chains[body[chain[-1]].dst]
        chains[instr.dst] = [*chain, k]
    return list(chains.values())


def _side_by_side(f: Function, body: list[Instr], chain: list[int], terms: list[tuple[int, Op]], instead: dict[int, list[Instr]]) -> None:
    """Write a chain of sums down as several, whose results are added at its end."""
    type_, line = body[chain[0]].type, body[chain[0]].line
    parts = [x for x, _ in terms[:PARTS]]
    for n, k in enumerate(chain, 1):
        instead[k] = []
        if n >= PARTS:
            x, op = terms[n]
            made = f.register(type_, "")
            instead[k].append(Instr(op, type_, made, [parts[n % PARTS], x], 0, body[k].line))
            parts[n % PARTS] = made
    while len(parts) > 1:
        halves: list[int] = []
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            made = body[chain[-1]].dst if len(parts) == 2 else f.register(type_, "")
            instead[chain[-1]].append(Instr(ops.ADD, type_, made, [a, b], 0, line))
            halves.append(made)
        parts = halves
