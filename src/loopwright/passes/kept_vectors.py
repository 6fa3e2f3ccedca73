"""Vectors that each iteration of a loop loads from one place and stores there again, kept in registers.

::

    for i = 0, n                            %v = load.f64x4 b[0, 0]
      %1 = load.f64x4 b[0, 0]               for i = 0, n
      %2 = add.f64x4 %1, …                    %v = add.f64x4 %v, …
      store.f64x4 %2, b[0, 0]        →        …
      …                                     end
    end                                     store.f64x4 %v, b[0, 0]

So it is where sums of products go to a small array of fixed size (a Gram matrix, a tile of a product), whose own loops are a vector or two, and have been written out. An iteration waits for the addition
of the one before then, and not for what that stores and this one loads besides. It is done where all that the loop accesses of the array are such places, which are known to be apart from each other, and no
other array it accesses meets that one (register promotion: K. Cooper and J. Lu, "Register Promotion in C Programs", PLDI 1997).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["run"]

#: So many registers are left to what an iteration computes.
LEFT: Final = 6
_MEMORY: Final = (ops.READS, ops.WRITES)
_LEAVING: Final = frozenset((ops.BR, ops.BR_IF, ops.RET, ops.FAIL))

_Place = tuple[int, ...]


def run(f: Function, target: Target) -> None:
    """Keep them in registers, in the innermost loops of a function."""
    partner: list[int] = []
    position = 0
    while position < len(f.code):
        head = f.code[position]
        if head.op is not ops.FOR:
            position += 1
            continue
        if not partner:
            partner = match(f.code)
        end = partner[position]
        found = _places(f, target, position, end)
        if found:
            made = _rewritten(f, position, end, found)
            f.code[position : end + 1] = made
            partner = []
            end = position + len(made) - 1
        elif any(IS_LOOP[f.code[k].op.code] for k in range(position + 1, end)):
            end = position
        position = end + 1


def _places(f: Function, target: Target, start: int, end: int) -> dict[_Place, Type]:
    """What can be kept of what a loop accesses: by array and indices, the type."""
    code = f.code
    stored: dict[_Place, Type] = {}
    for k in range(start + 1, end):
        instr = code[k]
        op = instr.op
        if op.effect == ops.CALLS or IS_LOOP[op.code] or op in _LEAVING:
            return {}
        if op is ops.STORE and instr.type.lanes:
            stored[instr.imm, *instr.args[1:]] = instr.type
    if not stored:
        return {}
    changing = {code[k].dst for k in range(start, end) if code[k].dst >= 0}
    arrays = {place[0] for place in stored}
    places: dict[int, dict[_Place, Type]] = {array: {} for array in arrays}
    depth = 0
    for k in range(start + 1, end):
        instr = code[k]
        depth += bool(instr.op.opens) - bool(instr.op.closes)
        if instr.op.effect not in _MEMORY:
            continue
        array = instr.imm
        plain = not depth and (instr.op is ops.LOAD or instr.op is ops.STORE)
        indices = instr.args[int(instr.op is ops.STORE) :]
        if instr.mem is not None:
            return {}
        known = places.get(array)
        if known is not None and (not plain or any(a in changing for a in indices) or known.setdefault((array, *indices), instr.type) is not instr.type):
            del places[array]
        for other in [other for other in places if other != array and not f.never_meet(other, array)]:
            del places[other]
    found: dict[_Place, Type] = {}
    for known in places.values():
        if _apart(f, list(known.items())):
            found.update({place: type_ for place, type_ in known.items() if place in stored})
    rooms: dict[int, int] = {}
    kept: dict[_Place, Type] = {}
    for place, type_ in found.items():
        cls = target.class_of(type_)
        rooms[cls] = rooms.get(cls, len(target.orders[cls]) - LEFT) - 1
        if rooms[cls] >= 0:
            kept[place] = type_
    return kept


def _apart(f: Function, places: list[tuple[_Place, Type]]) -> bool:
    """Whether no two places of an array have an element in common: they differ by a constant in an index, in the last one by as many as a vector has."""
    for n, (a, type_) in enumerate(places):
        for b, other in places[:n]:
            for k, (x, y) in enumerate(zip(a[1:], b[1:], strict=True), 2):
                if x >= 0 or y >= 0:
                    continue
                away = int(f.const_values[~x]) - int(f.const_values[~y])
                if away and (k < len(a) or (away >= other.lanes if away > 0 else -away >= type_.lanes)):
                    break
            else:
                return False
    return True


def _rewritten(f: Function, start: int, end: int, places: dict[_Place, Type]) -> list[Instr]:
    """The loop with such places in variables, behind a question whether it runs at all."""
    head = f.code[start]
    line = head.line
    variables = {place: f.register(type_, "", True) for place, type_ in places.items()}
    runs = f.register(BOOL, "")
    upwards = f.const_values[~head.args[2]] > 0
    out = [Instr(ops.LT if upwards else ops.GT, I64, runs, [head.args[0], head.args[1]], 0, line), Instr(ops.IF, VOID, NONE, [runs], 0, line)]
    for place, variable in variables.items():
        out.append(Instr(ops.LOAD, places[place], variable, list(place[1:]), place[0], line))
    out.append(head)
    for k in range(start + 1, end):
        instr = f.code[k]
        place = (instr.imm, *instr.args[int(instr.op is ops.STORE) :]) if instr.op is ops.LOAD or instr.op is ops.STORE else ()
        kept = variables.get(place, NONE)
        if kept == NONE:
            out.append(instr)
        elif instr.op is ops.LOAD:
            out.append(Instr(ops.COPY, instr.type, instr.dst, [kept], 0, instr.line))
        else:
            out.append(Instr(ops.COPY, instr.type, kept, [instr.args[0]], 0, instr.line))
    out.append(f.code[end])
    for place, variable in variables.items():
        out.append(Instr(ops.STORE, places[place], NONE, [variable, *place[1:]], place[0], line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, f.code[end].line))
    return out
