"""Totals of lanes that are totals of the loop around as well are combined behind that.

::

    for i = ...                           t = 0, 0, ...
      t = 0, 0, ...                       for i = ...
      for j = ... mask m accumulate t       for j = ... mask m accumulate t
        ...                          →        ...
      end                                   end
      r = sum of t                        end
      s = s + r                           r = sum of t
    end                                   s = s + r

Where rows are short, combining the lanes takes longer than the rows. (A single total of floats would wait for itself from row to row, which takes longer still; rows that are jammed have one each.) Lanes add up modulo a power of two, as the total does; floats must be free to be added up in another order.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.types import Type

__all__ = ["move_out"]

#: So many totals of floats do not wait for each other's rows: fewer had better begin anew in each.
SEVERAL: Final = 4
_WIDEST: Final = 64
_LEAVING: Final = frozenset((ops.BR, ops.BR_IF, ops.RET))


class _Total:
    """What is done with a total of lanes outside of its loop.

    Attributes:
        front: the positions of what begins it.
        behind: of what combines it, and adds it to the variable.
    """

    __slots__ = ("behind", "front", "op", "variable")

    def __init__(self, op: ops.Op) -> None:
        self.op = op
        self.front: list[int] = []
        self.behind: list[int] = []
        self.variable = NONE


def move_out(f: Function) -> None:
    """Combine the totals of a function's loops over lanes behind as many of the loops around as possible."""
    while _once(f):
        pass


def _once(f: Function) -> bool:
    """Move them out of one loop each; False where there is none."""
    code = f.code
    totals: list[tuple[int, ops.Op, int]] = []
    for position, instr in enumerate(code):
        if instr.loop is not None and instr.loop.mask != NONE:
            several = len(instr.loop.accumulators) >= SEVERAL
            totals += [(variable, op, position) for variable, op, _ in instr.loop.accumulators if several or not f.types[variable].is_float]
    if not totals:
        return False
    around = _around(code)
    if all(head == NONE for head in around):
        return False
    mentions: dict[int, list[int]] = {}
    for position, instr in enumerate(code):
        for a in {instr.dst, *instr.args}:
            if a >= 0:
                mentions.setdefault(a, []).append(position)
    partner = match(code)
    before: dict[int, list[Instr]] = {}
    after: dict[int, list[Instr]] = {}
    moved: set[int] = set()
    for variable, op, loop in totals:
        total = _total(f, mentions, variable, op)
        if total is None or any(not loop < position < partner[loop] for position in mentions[variable][1:-1]):
            continue
        places = [*total.front, *total.behind]
        head = around[places[0]]
        if head == NONE or any(around[position] != head or position in moved for position in places):
            continue
        if not _only_total(f, mentions, total, head, partner[head]):
            continue
        moved.update(places)
        before.setdefault(head, []).extend([code[position] for position in total.front])
        after.setdefault(partner[head], []).extend([code[position] for position in total.behind])
    if not moved:
        return False
    out: list[Instr] = []
    for position, instr in enumerate(code):
        out += before.get(position, [])
        if position not in moved:
            out.append(instr)
        out += after.get(position, [])
    f.code = out
    return True


def _around(code: list[Instr]) -> list[int]:
    """Per instruction the position of the bracket that it stands in, where that is a loop that counts and has no lanes; else NONE."""
    found: list[int] = []
    opened: list[int] = [NONE]
    for position, instr in enumerate(code):
        if instr.op.closes and instr.op is ops.END:
            opened.pop()
        found.append(opened[-1])
        if instr.op.opens and not instr.op.closes:
            counts = instr.op is ops.FOR and (instr.loop is None or (instr.loop.mask == NONE and not instr.loop.lanes))
            opened.append(position if counts else NONE)
    return found


def _total(f: Function, mentions: dict[int, list[int]], variable: int, op: ops.Op) -> _Total | None:
    """What is done with a total of lanes in front of its loop, and behind it; None where that is anything else than to begin it from what changes nothing, and to combine its lanes."""
    code = f.code
    found = _Total(op)
    places = mentions.get(variable, [])
    if len(places) < 3:
        return None
    begin, end = code[places[0]], code[places[-1]]
    if begin.op is not ops.COPY or begin.dst != variable or end.op is not op.reduction or end.dst < 0:
        return None
    start = begin.args[0]
    splat = NONE
    if start >= 0:
        made = mentions[start]
        if len(made) != 2 or code[made[0]].op is not ops.SPLAT or made[1] != places[0]:
            return None
        splat = code[made[0]].args[0]
        found.front.append(made[0])
    found.front.append(places[0])
    found.behind.append(places[-1])
    last = end
    while not f.variable[last.dst]:
        uses = mentions[last.dst]
        if len(uses) != 2:
            return None
        follows = code[uses[1]]
        converts = follows.op is ops.CONVERT and follows.type.is_integer and follows.source.is_integer
        if follows.dst < 0 or (not converts and not f.variable[follows.dst]):
            return None
        found.behind.append(uses[1])
        last = follows
    found.variable = last.dst
    if start >= 0:
        # Every lane begins as the variable, which so is among them.
        return found if last.op is ops.COPY and splat == last.dst else None
    combined = last.op is op and last.args.count(last.dst) == 1
    return found if combined and _exact(f, f.types[variable].element, f.types[last.dst]) else None


def _exact(f: Function, lane: Type, type_: Type) -> bool:
    """Whether lanes of a type may add up more of what is added to a variable."""
    if type_.is_float or lane.is_float:
        return f.options.fastmath and not is_half(type_) and lane is type_
    return lane.bits == _WIDEST or lane.bits >= type_.bits


def _only_total(f: Function, mentions: dict[int, list[int]], total: _Total, head: int, end: int) -> bool:
    """Whether a loop does nothing else with a variable than to combine it with more by the same operation; and, where lanes begin from the variable, nothing at all."""
    code = f.code
    variable = total.variable
    type_ = f.types[variable]
    if type_.is_float and (not f.options.fastmath or is_half(type_)):
        return False
    if any(instr.op in _LEAVING for instr in code[head:end]):
        return False
    own = [*total.front, *total.behind]
    whole = len(total.front) > 1
    made: set[int] = set()  # what has been made of it, and is to be copied there
    for position in mentions[variable]:
        if not head <= position <= end or position in own:
            continue
        instr = code[position]
        if instr.op is ops.COPY and instr.args[0] in made:
            continue
        op = ops.ADD if instr.op is ops.SUB and instr.args[0] == variable else instr.op
        if whole or op is not total.op or instr.args.count(variable) != 1:
            return False
        if instr.dst != variable:
            uses = mentions[instr.dst]
            if f.variable[instr.dst] or len(uses) != 2 or code[uses[1]].op is not ops.COPY or code[uses[1]].dst != variable:
                return False
            made.add(instr.dst)
    return True
