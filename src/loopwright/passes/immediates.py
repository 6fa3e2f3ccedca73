"""The ``immediates`` pass: constants stay in an instruction where its encoding has room, and get a register elsewhere.

A constant gets one register: one ``copy``, placed in front of the outermost loop around all its uses, or in front of the first use where there is no loop. The allocator
recognises such a copy and repeats it instead of spilling its register. A short integer that is used outside of loops only gets a register in each stretch of code without branches and calls
that uses it: of the arms of a branch one runs, and what lives across calls has to be kept.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.targets.target import Target

#: Comparisons by code, with the one that holds for exchanged operands.
_EXCHANGED: Final[dict[int, ops.Op]] = {op.code: ops.COMPARISONS[ops.EXCHANGED[name]] for name, op in ops.COMPARISONS.items()}

#: Integers of so many bits are made by an instruction or two on every machine.
_SHORT: Final = 1 << 31

_COPY: Final = ops.COPY.code
_FOR: Final = ops.FOR.code
_END: Final = ops.END.code


def run(f: Function, target: Target) -> None:
    """Replace the constants that ``target`` cannot encode in place by registers.

    The target is asked about every constant operand but those of ``copy`` (which is what a constant is
    materialised with) and the start and step of ``for`` (which become a ``copy`` and an ``add`` later).
    """
    walk = _Constants(f, target)
    walk.replace()
    if walk.made:
        walk.part()
        walk.give_up()
        walk.insert_copies()


class _Constants:
    """The constants that get registers."""

    __slots__ = (
        "around",
        "f",
        "first",
        "first_region",
        "in_loop",
        "is_loop",
        "is_open",
        "loops",
        "made",
        "opened",
        "parent",
        "parted",
        "places",
        "region",
        "register",
        "stretch",
        "target",
        "users",
    )

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        # Regions of code, a tree: number 0 is the function's own. A bracket has one region, or several in a row.
        self.parent: list[int] = [-1]
        self.opened: list[int] = [0]  # position of the bracket a region is in
        self.is_loop: list[bool] = [False]
        self.in_loop: list[bool] = [False]  # it is one, or in one
        self.is_open: list[bool] = [True]
        self.region = 0
        # Per constant: its register (or -1), the region around all its uses, the region and position of the first use.
        count = len(f.const_values)
        self.register = [-1] * count
        self.around = [0] * count
        self.first_region = [0] * count
        self.first = [0] * count
        self.users: list[list[Instr]] = [[] for _ in range(count)]
        # Where the uses are: the position and the stretch of code without branches; and whether one is in a loop.
        self.places: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.loops = [False] * count
        self.stretch = 0
        # Copies of constants that have a register for each stretch: positions, registers, constants.
        self.parted: list[tuple[int, int, int]] = []
        #: Those that have registers.
        self.made: list[int] = []

    def replace(self) -> None:
        """Replace the constants that the target cannot encode in place, by registers that nothing sets yet."""
        const_types = self.f.const_types
        const_values = self.f.const_values
        target = self.target
        for position, instr in enumerate(self.f.code):
            op = instr.op
            c = op.code
            if op.closes:
                self.close(c == _END)
            if op.opens or op.closes:
                self.stretch += 1
            args = instr.args
            for k in range(len(args)):
                a = args[k]
                if a >= 0 or c == _COPY or (c == _FOR and k != 1):
                    continue
                n = ~a
                if target.immediate(instr, k, const_types[n], const_values[n]):
                    continue
                if k == 0 and len(args) > 1 and args[1] >= 0 and (op.commutes or c in _EXCHANGED):
                    args[0], args[1] = args[1], a
                    if c in _EXCHANGED:
                        instr.op = _EXCHANGED[c]
                    if target.immediate(instr, 1, const_types[n], const_values[n]):
                        continue
                    k = 1
                args[k] = self.register_of(n, position)
                self.users[n].append(instr)
                self.places[n].append((position, self.stretch))
                self.loops[n] = self.loops[n] or self.in_loop[self.region]
            if op.effect == ops.CONTROL or op.effect == ops.CALLS:
                self.stretch += 1
            if op.opens and not op.closes:
                self.open(self.region, position, IS_LOOP[c])

    def open(self, outer: int, position: int, loop: bool) -> None:
        """A region begins, in the bracket at ``position``."""
        self.region = len(self.parent)
        self.parent.append(outer)
        self.opened.append(position)
        self.is_loop.append(loop)
        self.in_loop.append(loop or self.in_loop[outer])
        self.is_open.append(True)

    def close(self, bracket: bool) -> None:
        """A region ends, with its bracket or in front of the bracket's next one."""
        region = self.region
        self.is_open[region] = False
        outer = self.parent[region]
        if bracket:
            self.region = outer
        else:
            self.open(outer, self.opened[region], self.is_loop[region])

    def register_of(self, n: int, position: int) -> int:
        """The register of a constant that is used at ``position``."""
        r = self.register[n]
        if r < 0:
            f = self.f
            r = self.register[n] = f.register(f.const_types[n], f"c{_text(f.const_values[n])}")
            self.around[n] = self.first_region[n] = self.region
            self.first[n] = position
            self.made.append(n)
        else:
            # A region that is still open is around this use as well.
            lowest = self.around[n]
            while not self.is_open[lowest]:
                lowest = self.parent[lowest]
            self.around[n] = lowest
        return r

    def part(self) -> None:
        """Give short integers that no loop uses a register in each stretch that uses them."""
        f = self.f
        whole: list[int] = []
        for n in self.made:
            value = f.const_values[n]
            places = self.places[n]
            if self.loops[n] or f.const_types[n].is_float or f.const_types[n].lanes or not -_SHORT <= value < 2 * _SHORT or places[0][1] == places[-1][1]:
                whole.append(n)
                continue
            old = r = self.register[n]
            known = -1
            for (position, stretch), instr in zip(places, self.users[n], strict=True):
                if stretch != known:
                    if known >= 0:
                        r = f.register(f.const_types[n], f.names[old])
                    known = stretch
                    self.parted.append((position, r, n))
                instr.args[:] = [r if a == old else a for a in instr.args]
        self.made = whole

    def give_up(self) -> None:
        """Of the constants beyond what the register file has room for, make those operands again that every user can take from memory.

        The allocator would only find that out, at the price of hundreds of long intervals.
        """
        f = self.f
        target = self.target
        made = self.made
        users = self.users
        room = [0] * len(target.orders)
        for cls in range(len(room)):
            room[cls] = len(target.orders[cls]) * 3 // 4
        if len(made) <= min(room):
            return
        kept: list[int] = []
        # The most used first; in the order of their appearance where that is equal.
        for n in sorted(made, key=lambda n: -len(users[n])):
            cls = target.class_of(f.const_types[n])
            if room[cls] > 0:
                room[cls] -= 1
                kept.append(n)
                continue
            r = self.register[n]
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
        self.made = kept

    def place_of(self, n: int) -> int:
        """The position in front of which a constant's register is set."""
        opened = self.opened
        parent = self.parent
        position = self.first[n]
        place = self.around[n]
        r = self.first_region[n]
        # Where the first use lies deeper than the region around all uses: in front of the bracket it is in.
        while r != place:
            position = opened[r]
            r = parent[r]
        while place > 0:
            if self.is_loop[place]:
                position = opened[place]
            place = parent[place]
        return position

    def insert_copies(self) -> None:
        """Set the registers."""
        f = self.f
        code = f.code
        before: dict[int, list[Instr]] = {}
        for position, register, n in [*self.parted, *((self.place_of(n), self.register[n], n) for n in self.made)]:
            made_copy = Instr(ops.COPY, f.const_types[n], register, [~n], 0, code[position].line)
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


def _text(value: int | float | bool) -> str:
    """A constant as part of a register's name; a dot and digits at its end would read as the register's number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("-", "m").replace(".", "_").replace("+", "")
