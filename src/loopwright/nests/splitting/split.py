"""A loop split at the one iteration in which it changes what all others only read.

::

    for j = lo, hi                              for j = lo, min(hi, k)
      a[i, j] = f(a[i, j], a[i, k])      →        …
    end                                         for j = max(lo, k), min(hi, k + 1)
                                                  …
                                                for j = max(lo, k + 1), hi
                                                  …

Of a loop that counts down it is ``k - 1``, and the least and the greatest change places. The first and the last loop carry nothing (index-set splitting at a crossing of two subscripts: R. Allen and K. Kennedy, Optimizing Compilers for Modern
Architectures, 2001, section 5.7). All shortest paths and Gauss and Jordan's elimination are of this kind.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.conditions import append_loop, own_variables
from loopwright.nests.steps.carry import needed_in_front
from loopwright.nests.steps.lanes import obstructs
from loopwright.types import I64

__all__ = ["crossing", "split"]

#: A longer loop is not made three.
LONGEST: Final = 60


def crossing(nest: Nest, loop: NestLoop, found: list[Dependence]) -> Access | None:
    """The access that is to the same element in all iterations of an innermost loop, and is all that keeps it from being split into two that carry nothing.

    Args:
        nest: the nest.
        loop: a loop whose steps are 1, or -1.
        found: the nest's dependences.
    """
    code = nest.f.code
    if loop.end - loop.head > LONGEST or any(IS_LOOP[code[k].op.code] for k in range(loop.head + 1, loop.end)):
        return None
    place: Form | None = None
    chosen: Access | None = None
    for dependence in found:
        if not obstructs(dependence, loop):
            continue
        pair = (dependence.source, dependence.sink)
        if any(access.loops[-1] is not loop for access in pair):
            return None
        still = [access for access in pair if not _moves(nest, access, loop)]
        if len(still) != 1:
            return None
        at = _place(nest, still[0], pair[0] if still[0] is pair[1] else pair[1], loop)
        if at is None or (place is not None and (at.terms != place.terms or at.constant != place.constant)):
            return None
        place, chosen = at, still[0]
    if chosen is None or needed_in_front(nest.f, loop, chosen.position, _written(nest.f, loop)) is None:
        return None
    return chosen


def _written(f: Function, loop: NestLoop) -> set[int]:
    return {instr.dst for instr in f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and f.variable[instr.dst]}


def _moves(nest: Nest, access: Access, loop: NestLoop) -> bool:
    return any(form is None or nest.forms.depends(form, loop.head, loop.end) for form in access.subscripts)


def _place(nest: Nest, still: Access, moving: Access, loop: NestLoop) -> Form | None:
    """In which iteration two accesses are to one element: where the last subscript of the one, the loop's index and a constant, is that of the other."""
    form, other = moving.subscripts[-1], still.subscripts[-1]
    if form is None or other is None or len(form.terms) != 1:
        return None
    ((value, coefficient),) = form.terms.items()
    if nest.indices.get(value) is not loop or coefficient != 1:
        return None
    # (Both have the same place only where the moving one has no constant of its own.)
    return other if form.constant == 0 else None


def split(nest: Nest, loop: NestLoop, at: Access) -> None:
    """Split a loop at its ``crossing``. The nest does not describe the code any more."""
    f = nest.f
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    positions = needed_in_front(f, loop, at.position, set())
    assert positions is not None
    rename: dict[int, int] = {}
    clone(f, [code[k] for k in positions], rename, out)
    last = code[at.position].args[-1]
    place = rename.get(last, last)
    behind = f.register(I64, "")
    out.append(Instr(ops.ADD, I64, behind, [place, f.const(I64, loop.step)], 0, line))
    nearer, farther = (ops.MIN, ops.MAX) if loop.step > 0 else (ops.MAX, ops.MIN)
    bounds = [
        (lo, _limit(f, nearer, hi, place, line, out)),
        (_limit(f, farther, lo, place, line, out), _limit(f, nearer, hi, behind, line, out)),
        (_limit(f, farther, lo, behind, line, out), hi),
    ]
    own = own_variables(nest, loop)
    for low, high in bounds:
        append_loop(f, head, low, high, code[loop.head + 1 : loop.end], own, out)
    f.code = out + code[loop.end + 1 :]


def _limit(f: Function, op: ops.Op, a: int, b: int, line: int, out: list[Instr]) -> int:
    made = f.register(I64, "")
    out.append(Instr(op, I64, made, [a, b], 0, line))
    return made
