"""The ``immediates`` pass: constants stay in an instruction where its encoding has room, and get a register elsewhere.

A constant gets at most one register: one ``copy``, placed in front of the outermost loop around all its uses, or
in front of the first use where there is no loop. The allocator recognises such a copy and repeats it
instead of spilling its register.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.targets.target import Target

#: Comparisons by code, with the one that holds for exchanged operands.
_EXCHANGED: Final[dict[int, ops.Op]] = {op.code: ops.COMPARISONS[ops.EXCHANGED[name]] for name, op in ops.COMPARISONS.items()}

_COPY: Final = ops.COPY.code
_FOR: Final = ops.FOR.code
_END: Final = ops.END.code


def run(f: Function, target: Target) -> None:
    """Replace the constants that ``target`` cannot encode in place by registers.

    The target is asked about every constant operand but those of ``copy`` (which is what a constant is
    materialised with) and the start and step of ``for`` (which become a ``copy`` and an ``add`` later).
    """
    code = f.code
    const_types = f.const_types
    const_values = f.const_values
    # Regions of code, a tree: number 0 is the function's own. A bracket has one region, or several in a row.
    parent: list[int] = [-1]
    opened: list[int] = [0]  # position of the bracket a region is in
    is_loop: list[bool] = [False]
    is_open: list[bool] = [True]
    region = 0
    # Per constant: its register (or -1), the region around all its uses, the region and position of the first use.
    count = len(const_values)
    register = [-1] * count
    around = [0] * count
    first_region = [0] * count
    first = [0] * count
    made: list[int] = []
    users: list[list[Instr]] = [[] for _ in range(count)]
    immediate = target.immediate
    for position, instr in enumerate(code):
        op = instr.op
        c = op.code
        if op.closes:
            is_open[region] = False
            outer = parent[region]
            region = outer if c == _END else _region(parent, opened, is_loop, is_open, outer, opened[region], is_loop[region])
        args = instr.args
        for k in range(len(args)):
            a = args[k]
            if a >= 0 or c == _COPY or (c == _FOR and k != 1):
                continue
            n = ~a
            if immediate(instr, k, const_types[n], const_values[n]):
                continue
            if k == 0 and len(args) > 1 and args[1] >= 0 and (op.commutes or c in _EXCHANGED):
                args[0], args[1] = args[1], a
                if c in _EXCHANGED:
                    instr.op = _EXCHANGED[c]
                if immediate(instr, 1, const_types[n], const_values[n]):
                    continue
                k = 1
            r = register[n]
            if r < 0:
                r = register[n] = f.register(const_types[n], f"c{_text(const_values[n])}")
                around[n] = first_region[n] = region
                first[n] = position
                made.append(n)
            else:
                # A region that is still open is around this use as well.
                lowest = around[n]
                while not is_open[lowest]:
                    lowest = parent[lowest]
                around[n] = lowest
            args[k] = r
            users[n].append(instr)
        if op.opens and not op.closes:
            region = _region(parent, opened, is_loop, is_open, region, position, IS_LOOP[c])
    if not made:
        return
    made = _worth_registers(f, target, made, register, users)
    before: dict[int, list[Instr]] = {}
    for n in made:
        position = first[n]
        place = around[n]
        r = first_region[n]
        # Where the first use lies deeper than the region around all uses: in front of the bracket it is in.
        while r != place:
            position = opened[r]
            r = parent[r]
        while place > 0:
            if is_loop[place]:
                position = opened[place]
            place = parent[place]
        made_copy = Instr(ops.COPY, const_types[n], register[n], [~n], 0, code[position].line)
        before.setdefault(position, []).append(made_copy)
    out: list[Instr] = []
    start = 0
    for position in sorted(before):
        # Nothing but the condition stands between elif and then, so a copy may go anywhere.
        out.extend(code[start:position])
        out.extend(before[position])
        start = position
    out.extend(code[start:])
    f.code = out


def _worth_registers(f: Function, target: Target, made: list[int], register: list[int], users: list[list[Instr]]) -> list[int]:
    """The constants that keep their registers. Beyond what the register file has room for, those that every user can take
    from memory become operands again: the allocator would only find that out, at the price of hundreds of long intervals."""
    room = [0] * len(target.orders)
    for cls in range(len(room)):
        room[cls] = len(target.orders[cls]) * 3 // 4
    if len(made) <= min(room):
        return made
    kept: list[int] = []
    # The most used first; in the order of their appearance where that is equal.
    for n in sorted(made, key=lambda n: -len(users[n])):
        cls = target.class_of(f.const_types[n])
        if room[cls] > 0:
            room[cls] -= 1
            kept.append(n)
            continue
        r = register[n]
        fits = True
        for instr in users[n]:
            if instr.args.count(r) != 1 or min(instr.args) < 0 or not target.constant_from_memory(instr, instr.args.index(r)):
                fits = False
                break
        if not fits:
            kept.append(n)
            continue
        for instr in users[n]:
            instr.args[instr.args.index(r)] = ~n
    place = {n: k for k, n in enumerate(made)}
    kept.sort(key=place.__getitem__)
    return kept


def _region(parent: list[int], opened: list[int], is_loop: list[bool], is_open: list[bool], outer: int, position: int, loop: bool) -> int:
    parent.append(outer)
    opened.append(position)
    is_loop.append(loop)
    is_open.append(True)
    return len(parent) - 1


def _text(value: int | float | bool) -> str:
    """A constant as part of a register's name; a dot and digits at its end would read as the register's number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("-", "m").replace("+", "").replace(".", "_")
