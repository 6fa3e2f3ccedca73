"""Loops inside of a single vector's step, whose totals wait for themselves, add up in several parts.

::

    for k = lo, hi, 1              v1 = 0; v2 = 0; v3 = 0
      v = v + x(k)                 for k = lo, stop, 4
    end                    →         v = v + x(k);  v1 = v1 + x(k + 1);  …
                                   end
                                   v = v + v1 + …
                                   for k = stop, hi, 1 … as before … end

Several vectors at once have totals enough that the units are busy while each waits. What is left over is one vector, and where the loop over lanes is short that is all there is. (``nests/steps/partial.py`` does
the same for loops without lanes.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.nests.rewriting.unroll import clone, last_multiple, read_once
from loopwright.nests.steps.jam import begin_parts, combine
from loopwright.types import I64, VOID

__all__ = ["in_parts"]

#: So many totals at once are enough.
PARTS: Final = 4
#: Loops that run less often, or of more instructions, stay.
FEWEST: Final = 16
LONGEST: Final = 24


def in_parts(f: Function, body: list[Instr]) -> list[Instr]:
    """A body whose innermost loops add up in parts, where totals of floats may be added up in any order."""
    if not f.options.fastmath or not any(instr.op is ops.FOR for instr in body):
        return body
    partner = match(body)
    out: list[Instr] = []
    position = 0
    while position < len(body):
        instr = body[position]
        if instr.op is ops.FOR and instr.loop is None:
            inside = body[position + 1 : partner[position]]
            totals = _totals(f, inside) if len(inside) <= LONGEST and _long(f, instr) else []
            if 0 < len(totals) <= PARTS // 2:
                _divide(f, instr, inside, body[partner[position]], totals, PARTS // len(totals), out)
                position = partner[position] + 1
                continue
        out.append(instr)
        position += 1
    return out


def _long(f: Function, head: Instr) -> bool:
    """Whether a loop goes from one index to the next, perhaps often."""
    lo, hi, step = head.args
    if f.const_values[~step] != 1:
        return False
    return lo >= 0 or hi >= 0 or int(f.const_values[~hi]) - int(f.const_values[~lo]) >= FEWEST


def _totals(f: Function, body: list[Instr]) -> list[tuple[int, ops.Op]]:
    """The totals of floats that straight code adds to, each once; none where it writes variables otherwise."""
    found: list[tuple[int, ops.Op]] = []
    made: dict[int, Instr] = {}
    uses: dict[int, int] = {}
    for instr in body:
        if instr.op.effect == ops.CONTROL or instr.op.effect == ops.CALLS or instr.op.effect == ops.WRITES:
            return []
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
        made[instr.dst] = instr
    written = [instr for instr in body if instr.dst >= 0 and f.variable[instr.dst]]
    for last in written:
        variable = last.dst
        type_ = f.types[variable]
        update = made.get(last.args[0], last) if last.op is ops.COPY else last
        before = [a for a in update.args if a == variable or (a in made and made[a].op is ops.COPY and made[a].args[0] == variable and made[a] is not last)]
        # (What is taken away is added, with another sign.)
        op = ops.ADD if update.op is ops.SUB and before[:1] == update.args[:1] else update.op
        if len(before) != 1 or not type_.element.is_float or is_half(type_.element) or op.reduction is None or op.neutral is None or uses.get(variable, 0) != 1:
            return []
        if (
            (before[0] != variable and uses[before[0]] != 1)
            or (update is not last and uses[last.args[0]] != 1)
            or sum([instr.dst == variable for instr in written]) > 1
        ):
            return []
        found.append((variable, op))
    return found


def _divide(f: Function, head: Instr, body: list[Instr], end: Instr, totals: list[tuple[int, ops.Op]], parts: int, out: list[Instr]) -> None:
    """Append a loop in parts."""
    line = head.line
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    stop = last_multiple(f, lo, hi, parts, line, out)
    copies = [begin_parts(f, op, variable, parts, line, out) for variable, op in totals]
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, VOID, index, [lo, stop, f.const(I64, parts)], 0, line))
    for part in range(parts):
        at = index
        if part:
            at = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.ADD, I64, at, [index, f.const(I64, part)], 0, line))
        rename = {head.dst: at}
        for own in copies:
            rename[own[0]] = own[part]
        clone(f, body, rename, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, end.line))
    for (_, op), own in zip(totals, copies, strict=True):
        combine(f, op, own, line, out)
    out.append(Instr(ops.FOR, VOID, head.dst, [stop, hi, head.args[2]], 0, line))
    out += body
    out.append(end)
