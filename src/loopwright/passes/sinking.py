"""The ``sink`` pass: values move down to where they are used, so that they do not take registers across calls and branches (code sinking).

::

    %a = address.ptr [%p + %i*8]              …
    %t = gt.i32 %n, 1                         call_void f(%n)
    call_void f(%n)                      →    %x = load_at.f64 [%p + %i*8]
    %x = load_at.f64 [%a]                     %t = gt.i32 %n, 1
    br_if.bool 0, %t                          br_if.bool 0, %t

A computation moves in front of its first use, if that is no deeper in loops, if a call or a border of a bracket lies between, and if what it reads
is in registers there anyway: of the registers that it would keep longer there may be one, for the one that it does not take. An address moves into the accesses by it, and a comparison
that branches have in several places is made at each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.roles import address_at
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR

__all__ = ["run"]

#: A value with more uses stays where it is.
_MOST: Final = 4
#: What stays: copies of constants and variables have places of their own.
_STAYS: Final = frozenset((ops.COPY,))


def run(f: Function, target: Target) -> None:
    """Move what ``f`` computes to where it is used."""
    if _may_be_short(f, target):
        _Sinking(f, target).run()


def _may_be_short(f: Function, target: Target) -> bool:
    """Whether registers for integers may be short: there is a call, or a border that more values may cross than there are registers, as far as that is known of their number."""
    if not target.registers:
        return False
    bordered = False
    for instr in f.code:
        if instr.op.effect == ops.CALLS:
            return True
        bordered = bordered or instr.op.opens
    if not bordered:
        return False
    integers = target.class_of(I64)
    most = 2 * len(target.orders[integers])
    if len(f.types) <= most:
        return False
    # (Of each type there are many.)
    return sum([count for type_, count in Counter(f.types).items() if target.class_of(type_) == integers]) > most


class _Sinking:
    """The facts about one function: by position, by region of code between brackets, and by register."""

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        #: Per region: the one around it; the loop that it is, or is in, by the loop's own region (0: none).
        self.parent = [-1]
        self.loop = [0]
        #: Per loop, by its region: where it ends.
        self.ends: dict[int, int] = {}
        #: Per position: its region, and the calls in front of it; where its instruction is now.
        self.region: list[int] = []
        self.calls: list[int] = []
        self.place = list(range(len(f.code)))
        count = len(f.types)
        self.defined_in = [0] * count
        self.uses: list[list[int]] = [[] for _ in range(count)]
        #: Where a register is read for the last time, loops around counted in; where a variable is written.
        self.last = [-1] * count
        self.written: list[list[int]] = [[] for _ in range(count)]
        #: Per position: what has moved in front of it, the last first; what has gone.
        self.moved: dict[int, list[Instr]] = {}
        self.gone: set[int] = set()

    def run(self) -> None:
        self.look()
        code = self.f.code
        for k in range(len(code) - 1, -1, -1):
            instr = code[k]
            if instr.dst >= 0 and instr.op.pure and instr.op not in _STAYS and not instr.op.further and not self.f.variable[instr.dst]:
                uses = self.uses[instr.dst]
                if 0 < len(uses) <= _MOST and self.apart(k, uses):
                    self.sink(k, instr, uses)
        if not self.gone:
            return
        out: list[Instr] = []
        for k, instr in enumerate(code):
            out += reversed(self.moved.get(k, ()))
            if k not in self.gone:
                out.append(instr)
        self.f.code = out

    def look(self) -> None:
        """One walk over the code."""
        region = calls = 0
        regions, made = self.region, self.calls
        uses, written, defined_in = self.uses, self.written, self.defined_in
        code = self.f.code
        for k in range(len(code)):
            instr = code[k]
            op = instr.op
            if op.closes:
                if self.loop[region] == region and region:
                    self.ends[region] = k
                region = self.parent[region]
            regions.append(region)
            made.append(calls)
            if op.effect == ops.CALLS:
                calls += 1
            for a in instr.args:
                if a >= 0:
                    uses[a].append(k)
            dst = instr.dst
            if dst >= 0:
                defined_in[dst] = region
                written[dst].append(k)
            if op.opens:
                self.parent.append(region)
                self.loop.append(len(self.loop) if IS_LOOP[op.code] else self.loop[region])
                region = len(self.parent) - 1
        for a in range(len(uses)):
            if uses[a]:
                # (No earlier use keeps it for longer: a loop around that one that ends later has this one in it, too.)
                self.keep(a, uses[a][-1])

    def keep(self, a: int, k: int) -> None:
        """A register is read at a position."""
        end = k
        if not self.f.variable[a]:
            # (What is made in front of a loop lives until the loop ends.)
            home, loop = self.loop[self.defined_in[a]], self.loop[self.region[k]]
            if home != loop:
                end = self.reach(k, self.defined_in[a])
        self.last[a] = max(self.last[a], end)

    def reach(self, k: int, region: int) -> int:
        """The end of the outermost loop that a position is in and a region, around it or in front, is not; the position itself without one."""
        home = self.loop[region]
        loop = self.loop[self.region[k]]
        while loop not in (home, 0):
            k = self.ends[loop]
            loop = self.loop[self.parent[loop]]
        return k

    def apart(self, k: int, uses: list[int]) -> bool:
        """Whether a call or a border of a bracket is between a value and each of its uses."""
        region, calls = self.region[k], self.calls[k]
        return all(self.region[self.place[u]] != region or self.calls[self.place[u]] != calls for u in uses)

    def sink(self, k: int, instr: Instr, uses: list[int]) -> None:
        places = sorted({self.place[u] for u in uses})
        for to in places:
            if self.loop[self.region[to]] != self.loop[self.region[k]] and not (instr.op in ops.COMPARING or instr.op is ops.ADDRESS):
                return
            if not self.unchanged(instr.args, k, to):
                return
        more = sum(self.last[a] < places[-1] for a in {a for a in instr.args if a >= 0})
        if more <= 1 and self.into_accesses(k, instr, uses):
            return
        first = places[0]
        if more <= 1 and self.loop[self.region[first]] == self.loop[self.region[k]] and all(self.within(self.region[to], self.region[first]) for to in places):
            self.put(k, instr, first)
        elif more <= 1 and len(places) == len(uses) > 1 and instr.op in ops.COMPARING and instr.type is not BOOL:
            self.each(k, instr, uses)

    def unchanged(self, args: list[int], k: int, to: int) -> bool:
        """Whether variables have the same values at two places, the second as often as it is come to."""
        if not any(a >= 0 and self.f.variable[a] for a in args):
            return True
        end = self.reach(to, self.region[k])
        return not any(a >= 0 and self.f.variable[a] and (self.is_written(a, k, to - 1) or self.is_written(a, to, end)) for a in args)

    def is_written(self, variable: int, behind: int, last: int) -> bool:
        """Whether a variable is written behind a position, and no further than another."""
        written = self.written[variable]
        n = bisect_right(written, behind)
        return n < len(written) and written[n] <= last

    def within(self, region: int, outer: int) -> bool:
        """Whether a region is another, or lies in it."""
        while region > outer:
            region = self.parent[region]
        return region == outer

    def put(self, k: int, instr: Instr, to: int) -> None:
        """Move an instruction in front of a place."""
        self.moved.setdefault(to, []).append(instr)
        self.gone.add(k)
        self.place[k] = to
        self.read(instr.args, to)

    def read(self, args: list[int], k: int) -> None:
        """Operands are read at a position now."""
        for a in args:
            if a >= 0:
                self.keep(a, k)

    def each(self, k: int, instr: Instr, uses: list[int]) -> None:
        """Make a comparison in front of each of its uses."""
        f = self.f
        for u in uses:
            user = f.code[u]
            made = instr.copy()
            made.dst = f.register(f.types[instr.dst], f.names[instr.dst])
            made.line = user.line
            user.args = [made.dst if a == instr.dst else a for a in user.args]
            self.moved.setdefault(self.place[u], []).append(made)
            self.read(made.args, self.place[u])
        self.gone.add(k)

    def into_accesses(self, k: int, instr: Instr, uses: list[int]) -> bool:
        """Let the accesses by an address hold it themselves, if they all have room for it."""
        mem = instr.mem if instr.op is ops.ADDRESS else None
        if mem is None and instr.op is ops.ADD and instr.type is PTR and instr.args[0] >= 0 > instr.args[1]:
            mem = Mem(False, 1, int(self.f.const_values[~instr.args[1]]))
        if mem is None:
            return False
        code = self.f.code
        for u in uses:
            user = code[u]
            at = address_at(user)
            if at < 0 or user.mem is None or user.mem.indexed or user.args[at] != instr.dst or user.args.count(instr.dst) > 1:
                return False
            addressing = self.target.addressing(user.type)
            disp = mem.disp + user.mem.disp
            if not addressing.displaces(disp) or (mem.indexed and not addressing.indexes(mem.scale, disp)):
                return False
        for u in uses:
            user = code[u]
            at = address_at(user)
            old = user.mem
            assert old is not None
            user.args = [*user.args[:at], *instr.args[: 2 if mem.indexed else 1]]
            user.mem = Mem(mem.indexed, mem.scale, old.disp + mem.disp, old.size, old.broadcast, old.role, old.array)
            self.read(instr.args, self.place[u])
        for a in instr.args:
            # (With too many uses to be moved it stays: there will not be fewer.)
            if a >= 0 and len(self.uses[a]) <= _MOST:
                self.uses[a] = [u for u in self.uses[a] if u != k] + uses
        self.gone.add(k)
        return True
