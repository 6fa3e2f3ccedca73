"""Variables that a loop reads and does not write are values in it, and in front of it.

::

    while 2 * s <= n                        while 2 * s <= n
      while b < n - s                         t = s
        for i = b, b + s                      while b < n - t
          … a[i + s]                 →          c = b
        b = b + 2 * s                           for i = c, c + t
      s = s * 2                                   … a[i + t]
                                                b = c + 2 * t
                                              s = t * 2

A variable has no linear form, so that bounds and subscripts made of one were unknown in all loops inside of the one that changes it.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import end_of, match
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP

__all__ = ["run"]

_PLACED: Final = frozenset((ops.LOAD, ops.STORE, ops.FOR))


def run(f: Function) -> None:
    """Read every such integer variable of a function, of which indices or bounds are made, once: where it is read first, or in front of the outermost loop that does not write it."""
    reads, writes, conditional = _named(f)
    made = _of_places(f) if any(read - writes[head] for head, read in reads.items()) else set()
    wanted = {variable for head, read in reads.items() if f.code[head].op is ops.FOR for variable in (read - writes[head]) & made}
    if not wanted:
        return
    # By open bracket: what stands for variables, and which of them are sure to have a value; by open loop: those that it writes under a condition.
    named: list[dict[int, int]] = [{}]
    assigned: list[set[int]] = [set(f.params)]
    loops: list[set[int]] = [set()]
    is_loop: list[bool] = [False]
    out: list[Instr] = []

    def read(variable: int, line: int) -> None:
        if all(variable not in each for each in named):
            value = named[-1][variable] = f.register(f.types[variable], f.names[variable])
            out.append(Instr(ops.COPY, f.types[variable], value, [variable], 0, line))

    def forget(variable: int) -> None:
        for each in named:
            each.pop(variable, None)

    for position, instr in enumerate(f.code):
        op = instr.op
        # (What changes a variable step by step, or where a condition holds, is left as it is: a total, a search.)
        replaced = [a for a in instr.args if a in wanted and a != instr.dst and a not in loops[-1]]
        for a in replaced:
            read(a, instr.line)
        if replaced:
            instr = instr.copy()
            instr.args = [next((each[a] for each in named if a in each), a) if a in replaced else a for a in instr.args]
        if position in reads:
            for variable in writes[position]:
                forget(variable)
            for variable in sorted((reads[position] - writes[position]) & wanted):
                if any(variable in each for each in assigned):
                    read(variable, instr.line)
        out.append(instr)
        if op.closes:
            named.pop()
            assigned.pop()
            if is_loop.pop() and not op.opens:
                loops.pop()
        if op.opens:
            named.append({})
            assigned.append({instr.dst})
            is_loop.append(position in reads or op is ops.DO)
            if position in reads:
                loops.append(conditional[position])
        elif instr.dst >= 0 and not op.closes:
            assigned[-1].add(instr.dst)
            forget(instr.dst)
    f.code = out


def _of_places(f: Function) -> set[int]:
    """The variables of which indices and bounds of loops are made."""
    makers: dict[int, list[Instr]] = {}
    for instr in f.code:
        if instr.dst >= 0 and instr.op.pure:
            makers.setdefault(instr.dst, []).append(instr)
    pending = [a for instr in f.code if instr.op in _PLACED for a in instr.args[int(instr.op is ops.STORE) :]]
    found: set[int] = set()
    while pending:
        a = pending.pop()
        if a >= 0 and a not in found:
            found.add(a)
            if not f.variable[a]:
                pending += [b for instr in makers.get(a, ()) for b in instr.args]
    return {a for a in found if f.variable[a]}


def _named(f: Function) -> tuple[dict[int, set[int]], dict[int, set[int]], dict[int, set[int]]]:
    """By the position of each loop: the integer variables that it reads, but for its bounds, those that it writes, and those that it writes under a condition."""
    reads: dict[int, set[int]] = {}
    writes: dict[int, set[int]] = {}
    conditional: dict[int, set[int]] = {}
    if not any(f.variable):
        return reads, writes, conditional
    counts = [one and type_.is_integer and not type_.lanes for one, type_ in zip(f.variable, f.types, strict=True)]
    partner: list[int] = []
    opened: list[tuple[int, int, int]] = []  # where a loop begins and ends, and how many brackets are around what is in it
    depth = 0
    for position, instr in enumerate(f.code):
        for loop, _, inside in opened:
            reads[loop].update([a for a in instr.args if a >= 0 and counts[a]])
            if instr.dst >= 0 and counts[instr.dst]:
                writes[loop].add(instr.dst)
                if depth > inside:
                    conditional[loop].add(instr.dst)
        depth += bool(instr.op.opens) - bool(instr.op.closes)
        if IS_LOOP[instr.op.code]:
            if not partner:
                partner = match(f.code)
            opened.append((position, end_of(f.code, partner, position), depth))
            reads[position], writes[position], conditional[position] = set(), set(), set()
        elif opened and position == opened[-1][1]:
            opened.pop()
    return reads, writes, conditional
