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
from loopwright.ir.equality import same_value
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.rewriting.unroll import clone, slice_of
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["held", "joined", "nested"]


def held(f: Function, head: int) -> tuple[list[Instr], int, int] | None:
    """What the loop at a position becomes, how much of that is in front of the loop, and where it has ended; None where it is no such loop.

    Args:
        f: the function.
        head: the position of a ``for``.
    """
    code = f.code
    levels, arm, last = nested(code, head)
    if not levels or code[head].args[2] >= 0:
        return None
    computed = [instr for level in levels for instr in level]
    index = code[head].dst
    places = [instr.dst for instr in arm if instr.op is ops.COPY and instr.args == [index] and f.variable[instr.dst]]
    if len(places) != 1 or sum(instr.dst == places[0] for instr in (*computed, *arm)) != 1:
        return None
    made = {instr.dst: instr for instr in computed if instr.op is not ops.IF}
    if any(f.variable[dst] for dst in made):
        return None
    for part in joined(f, levels[-1][:-1], levels[-1][-1].args[0])[0]:
        compared = made.get(part)
        if compared is None or len(compared.args) != 2:
            continue
        for own, other in ((0, 1), (1, 0)):
            if same_value(made, compared.args[own], compared.args[other], index, places[0]):
                found = _rewritten(f, code[head], levels, arm, compared, (own, other), places[0])
                return None if found is None else (*found, last)
    return None


def nested(code: list[Instr], head: int) -> tuple[list[list[Instr]], list[Instr], int]:
    """What a loop computes, up to each ``if`` within another that it is made of, these included, what it does in the innermost, and where it has ended; nothing of any other loop."""
    levels: list[list[Instr]] = []
    k = head + 1
    branch = straight(code, k)
    while code[branch].op is ops.IF:
        levels.append(code[k : branch + 1])
        k = branch + 1
        branch = straight(code, k)
    end = branch + len(levels) + 1
    if any(instr.op is not ops.END for instr in code[branch:end]):
        return [], [], 0
    return levels, code[k:branch], end


def straight(code: list[Instr], start: int) -> int:
    """Where what is loaded and computed from a position on ends."""
    while start < len(code) and (code[start].op is ops.LOAD or code[start].op.pure):
        start += 1
    return start


def joined(f: Function, computed: list[Instr], condition: int) -> tuple[list[int], set[int]]:
    """The parts of a condition that are joined by ``and``, and what joins them, as registers."""
    made = {instr.dst: instr for instr in computed}
    uses: dict[int, int] = {}
    for instr in computed:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
    parts: list[int] = []
    joins: set[int] = set()
    open_ = [condition]
    while open_:
        one = open_.pop()
        maker = made.get(one)
        if maker is not None and maker.op is ops.AND and maker.type is BOOL and uses.get(one, 0) == int(one != condition):
            joins.add(one)
            open_ += maker.args
        else:
            parts.append(one)
    return parts, joins


def _rewritten(
    f: Function, head: Instr, levels: list[list[Instr]], arm: list[Instr], compared: Instr, sides: tuple[int, int], place: int
) -> tuple[list[Instr], int] | None:
    """The loop with the best in a variable; None where what is computed from the place is read elsewhere, or hangs on where the loop is as well."""
    own, other = compared.args[sides[0]], compared.args[sides[1]]
    computed = [instr for level in levels for instr in level]
    from_place = {place}
    moved: list[Instr] = []
    for instr in computed:
        if instr is not compared and not from_place.isdisjoint(instr.args):
            from_place.add(instr.dst)
            moved.append(instr)
    if other == place or other not in from_place or own in from_place or any(a in from_place for instr in arm for a in instr.args):
        return None
    in_front = slice_of([instr for instr in computed if instr.op is not ops.IF], {other})
    loads = [instr for instr in in_front if instr.op is ops.LOAD]
    if any(head.dst in instr.args for instr in in_front) or any(instr.op is ops.IF for instr in moved):
        return None
    type_ = f.types[other]
    line = head.line
    best = f.register(type_, "", True)
    before = [Instr(ops.COPY, type_, best, [f.const(type_, 0)], 0, line)]
    some = f.register(BOOL, "")
    upwards = f.const_values[~head.args[2]] > 0
    before.append(Instr(ops.LT if upwards else ops.GT, I64, some, [head.args[0], head.args[1]], 0, line))
    if len(levels) > 1:
        # (Nothing may ever have been compared with it: there need be no such element.)
        if any(instr.dst in load.args for load in loads for instr in computed):
            return None
        some = _inside(f, loads, some, before)
    before.append(Instr(ops.IF, VOID, NONE, [some], 0, line))
    names: dict[int, int] = {}
    clone(f, in_front, names, before)
    before.append(Instr(ops.COPY, type_, best, [names[other]], 0, line))
    before.append(Instr(ops.END, VOID, NONE, [], 0, line))
    asked = compared.copy()
    asked.args = [best if a == other else a for a in compared.args]
    loop = [head, *[asked if instr is compared else instr for instr in computed if instr not in moved]]
    loop += [*arm, Instr(ops.COPY, type_, best, [own], 0, compared.line)]
    loop += [Instr(ops.END, VOID, NONE, [], 0, line) for _ in range(len(levels) + 1)]
    return [*before, *loop], len(before)


def _inside(f: Function, loads: list[Instr], holds: int, out: list[Instr]) -> int:
    """A condition, and that what is loaded is inside of its array; of subscripts that are known outside of what is loaded."""

    def ask(op: ops.Op, type_: Type, a: int, b: int) -> int:
        made = f.register(BOOL)
        out.append(Instr(op, type_, made, [a, b], 0, out[0].line))
        return made

    for load in loads:
        for subscript, extent in zip(load.args, f.arrays[load.imm].extents, strict=True):
            above = ask(ops.GE, I64, subscript, f.const(I64, 0))
            below = ask(ops.LT, I64, subscript, extent)
            holds = ask(ops.AND, BOOL, holds, ask(ops.AND, BOOL, above, below))
    return holds
