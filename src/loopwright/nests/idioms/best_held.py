"""Loops that look for an extreme by where it is: what is there is kept beside it.

::

    for j = lo, hi                      if lo < hi
      if lt x[j], x[%at]                  %best = load x[%at]
        %at = copy %j          →        end
      end                               for j = lo, hi
    end                                   if lt x[j], %best
                                            %at = copy %j; %best = what was compared
                                          end
                                        end

The search for the least element that is to be exchanged with another, or for a pivot, is mostly written so. With the best in a variable it is one of ``extremes.py``.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.rewriting.unroll import clone, slice_of
from loopwright.types import BOOL, I64, VOID

__all__ = ["held", "straight"]


def held(f: Function, head: int) -> tuple[list[Instr], int, int] | None:
    """What the loop at a position becomes, how much of that is in front of the loop, and where it has ended; None where it is no such loop.

    Args:
        f: the function.
        head: the position of a ``for``.
    """
    code = f.code
    branch = straight(code, head + 1)
    if code[branch].op is not ops.IF:
        return None
    last = straight(code, branch + 1)
    if code[last].op is not ops.END or code[last + 1].op is not ops.END:
        return None
    computed, arm = code[head + 1 : branch], code[branch + 1 : last]
    index = code[head].dst
    places = [instr.dst for instr in arm if instr.op is ops.COPY and instr.args == [index] and f.variable[instr.dst]]
    compared = next((instr for instr in computed if instr.dst == code[branch].args[0]), None)
    if compared is None or len(places) != 1 or sum(instr.dst == places[0] for instr in (*computed, *arm)) != 1 or len(compared.args) != 2:
        return None
    made = {instr.dst: instr for instr in computed}
    if len(made) < len(computed) or any(f.variable[dst] for dst in made):
        return None
    for own, other in ((0, 1), (1, 0)):
        if _alike(made, compared.args[own], compared.args[other], index, places[0]):
            found = _rewritten(f, code[head], computed, arm, compared, (own, other), places[0])
            return None if found is None else (*found, last + 2)
    return None


def straight(code: list[Instr], start: int) -> int:
    """Where what is loaded and computed from a position on ends."""
    while start < len(code) and (code[start].op is ops.LOAD or code[start].op.pure):
        start += 1
    return start


def _alike(made: dict[int, Instr], own: int, other: int, index: int, place: int) -> bool:
    """Whether an operand is computed as another is, with a variable instead of the loop's index."""
    if own == index or other == place:
        return own == index and other == place
    if own == other:
        return True
    one, two = made.get(own), made.get(other)
    if one is None or two is None or one.op is not two.op or one.type is not two.type or one.source is not two.source or one.imm != two.imm:
        return False
    return (
        one.mem is None
        and two.mem is None
        and len(one.args) == len(two.args)
        and all(_alike(made, a, b, index, place) for a, b in zip(one.args, two.args, strict=True))
    )


def _rewritten(
    f: Function, head: Instr, computed: list[Instr], arm: list[Instr], compared: Instr, sides: tuple[int, int], place: int
) -> tuple[list[Instr], int] | None:
    """The loop with the best in a variable; None where what is computed from the place is read elsewhere, or hangs on where the loop is as well."""
    own, other = compared.args[sides[0]], compared.args[sides[1]]
    from_place = {place}
    moved: list[Instr] = []
    for instr in computed:
        if instr is not compared and not from_place.isdisjoint(instr.args):
            from_place.add(instr.dst)
            moved.append(instr)
    if other == place or other not in from_place or own in from_place or any(a in from_place for instr in arm for a in instr.args):
        return None
    in_front = slice_of(computed, {other})
    if any(head.dst in instr.args for instr in in_front):
        return None
    type_ = f.types[other]
    line = head.line
    best = f.register(type_, "", True)
    some = f.register(BOOL, "")
    before = [
        Instr(ops.COPY, type_, best, [f.const(type_, 0)], 0, line),
        Instr(ops.LT, I64, some, [head.args[0], head.args[1]], 0, line),
        Instr(ops.IF, VOID, NONE, [some], 0, line),
    ]
    names: dict[int, int] = {}
    clone(f, in_front, names, before)
    before.append(Instr(ops.COPY, type_, best, [names[other]], 0, line))
    before.append(Instr(ops.END, VOID, NONE, [], 0, line))
    asked = compared.copy()
    asked.args = [best if a == other else a for a in compared.args]
    loop = [head, *[asked if instr is compared else instr for instr in computed if instr not in moved]]
    loop.append(Instr(ops.IF, VOID, NONE, [compared.dst], 0, compared.line))
    loop += [*arm, Instr(ops.COPY, type_, best, [own], 0, compared.line)]
    loop += [Instr(ops.END, VOID, NONE, [], 0, line) for _ in range(2)]
    return [*before, *loop], len(before)
