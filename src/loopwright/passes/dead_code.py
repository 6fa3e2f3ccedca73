"""The backward walk of the simplify pass: dead code, and variables written directly instead of through a copy."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import LOOPS
from loopwright.passes.flow import BRANCH, CALL, END, KIND, LEAVE, LOAD, MIDDLE, OPEN, STORE, Bracket
from loopwright.passes.overwritten import Overwritten

_COPY: Final = ops.COPY.code


class _Exit:
    """A bracket of the backward walk: which variables are wanted where branches to it go, after it, and where its last condition fails."""

    __slots__ = ("after", "counts", "otherwise", "target")

    def __init__(self, target: int, after: int, counts: bool) -> None:
        self.target = target
        #: Whether branches count it: one that has been put around a loop they do not know yet.
        self.counts = counts
        self.after = after
        self.otherwise = -1


class _Pending:
    """A copy into a variable that goes away if what computes the value can write the variable itself."""

    __slots__ = ("place", "users", "variable")

    def __init__(self, variable: int, place: int, users: list[Instr]) -> None:
        self.variable = variable
        self.place = place
        self.users = users


def remove(
    f: Function,
    code: list[Instr],
    bit: list[int],
    ends: list[Bracket],
    held_by: dict[int, int],
    held_uses: dict[int, list[Instr]],
    held_since: dict[int, Instr],
) -> list[Instr]:
    """``code`` without what nobody uses, and with variables written by what computes their values.

    Args:
        f: the function.
        code: what the forward walk made.
        bit: per register, a bit of its own for a variable, 0 otherwise.
        ends: the brackets in the order of their ends; used up.
        held_by, held_uses: per register, the variable that was made a copy of it last, and the instructions that use
            the register while the variable still is.
        held_since: per register, the copy that made it so, where there was no other in between.
    """
    walk = _Backward(f, bit, ends, held_by, held_uses, held_since)
    walk.run(code)
    return [instr for instr in reversed(walk.out) if instr is not None]


class _Backward:
    """The backward walk."""

    __slots__ = (
        "bit",
        "ends",
        "exits",
        "f",
        "held_by",
        "held_since",
        "held_uses",
        "levels",
        "out",
        "overtaken",
        "pending",
        "stores",
        "used",
        "waiting",
        "wanted",
    )

    def __init__(
        self, f: Function, bit: list[int], ends: list[Bracket], held_by: dict[int, int], held_uses: dict[int, list[Instr]], held_since: dict[int, Instr]
    ) -> None:
        self.f = f
        self.bit = bit
        self.ends = ends
        self.held_by = held_by
        self.held_uses = held_uses
        self.held_since = held_since
        #: Per register, how often it is used behind.
        self.used = [0] * len(f.types)
        #: Variables that will be read, as bits.
        self.wanted = 0
        self.exits: list[_Exit] = []
        #: Those of them that branches count.
        self.levels: list[_Exit] = []
        #: By the register copied from; and for each variable that is to be written directly, that register.
        self.pending: dict[int, _Pending] = {}
        self.waiting: dict[int, int] = {}
        #: Registers with users behind a place to which a write of the variable that holds the same may move.
        self.overtaken: set[int] = set()
        #: What is written again before it is read.
        self.stores = Overwritten(f.arrays)
        #: What stays, last first; None for what went after all.
        self.out: list[Instr | None] = []

    def run(self, code: list[Instr]) -> None:
        """Walk over ``code``."""
        f = self.f
        bit = self.bit
        used = self.used
        pending = self.pending
        waiting = self.waiting
        held_by = self.held_by
        out = self.out
        kinds = KIND
        stores = self.stores
        for instr in reversed(code):
            kind = kinds[instr.op.code]
            dst = instr.dst
            if kind <= LOAD:
                own = bit[dst]
                if own:
                    if not self.wanted & own:
                        instr.args = []
                        continue
                    self.written(dst, own)
                    if instr.op.code == _COPY and self.postpone(instr):
                        continue
                elif used[dst] == 0:
                    instr.args = []
                    continue
                elif dst in pending:
                    self.write_directly(instr)
                if kind == LOAD and stores.places:
                    stores.load(instr)
                args = instr.args
                if instr.op is ops.MUL and args[1] < 0 and instr.type.is_float and f.const_values[~args[1]] == 2:
                    # x * 2 is x + x, which needs no constant; not earlier, so that it could become part of a multiply-add.
                    instr.op = ops.ADD
                    instr.args = [args[0], args[0]]
            elif kind == CALL:
                stores.places = []
                if dst >= 0:
                    if bit[dst]:
                        self.written(dst, bit[dst])
                    elif dst in pending:
                        self.write_directly(instr)
            elif kind == STORE:
                if instr.op is ops.STORE_AT and stores.store(instr):
                    # (What is left out uses nothing: `held_uses` may have it.)
                    instr.args = []
                    continue
            elif not self.control(instr, kind):
                continue
            for a in instr.args:
                if a >= 0:
                    own = bit[a]
                    if own:
                        self.wanted |= own
                        if a in waiting:
                            del pending[waiting.pop(a)]
                    else:
                        used[a] = used[a] + 1
                        if a in pending:
                            pending[a].users.append(instr)
                        if waiting and held_by.get(a, -1) in waiting:
                            # The variable that it is a copy of may be written further up: this user cannot read that one instead.
                            self.overtaken.add(a)
            out.append(instr)

    def written(self, variable: int, own: int) -> None:
        """A variable is written, so nobody further up writes it for those behind."""
        self.wanted &= ~own
        if self.stores.places:
            self.stores.written(variable)
        if variable in self.waiting:
            del self.pending[self.waiting.pop(variable)]

    def postpone(self, instr: Instr) -> bool:
        """Whether a copy into a variable may go away: what computes the value may write the variable, and it waits for that."""
        a = instr.args[0]
        pending = self.pending
        if a < 0 or self.bit[a] or a in pending:
            return False
        dst = instr.dst
        used = self.used
        users: list[Instr] = []
        if used[a] > 0:
            if self.held_by.get(a, -1) != dst or self.held_since.get(a) is not instr or a in self.overtaken:
                return False
            users = self.held_uses[a]
            if sum(user.args.count(a) for user in users) != used[a]:
                return False
        pending[a] = _Pending(dst, len(self.out), list(users))
        self.waiting[dst] = a
        used[a] += 1
        self.out.append(instr)
        return True

    def write_directly(self, instr: Instr) -> None:
        """``instr`` computes what is only copied to a variable: it writes the variable."""
        old = instr.dst
        found = self.pending.pop(old)
        new = found.variable
        del self.waiting[new]
        instr.dst = new
        self.out[found.place] = None
        for user in found.users:
            user.args = [new if a == old else a for a in user.args]

    # --- branches and brackets ----------------------------------------------------------------------------

    def control(self, instr: Instr, kind: int) -> bool:
        """What is wanted in front of a branch or bracket; whether it stays."""
        self.pending.clear()
        self.waiting.clear()
        self.stores.places = []
        if kind == BRANCH:
            target = self.levels[-1 - instr.imm].target
            self.wanted = target if instr.op is ops.BR else self.wanted | target
        elif kind == LEAVE:
            self.wanted = 0
        elif kind == END:
            bracket = self.ends.pop()
            after = self.wanted
            if bracket.loop >= 0:
                self.wanted |= bracket.reads | self.led_to(bracket.leads)
            made = _Exit(self.wanted, after, bracket.depth >= 0)
            self.exits.append(made)
            if made.counts:
                self.levels.append(made)
        elif kind == MIDDLE:
            return self.middle(instr)
        elif kind == OPEN:
            return self.open(instr)
        return True

    def led_to(self, leads: int) -> int:
        """What is wanted where branches out of a loop lead: its later steps may take them, too."""
        wanted = 0
        while leads:
            lowest = leads & -leads
            wanted |= self.levels[lowest.bit_length() - 1].target
            leads ^= lowest
        return wanted

    def middle(self, instr: Instr) -> bool:
        """``else``, ``elif``, ``then`` or ``do``; whether it stays."""
        op = instr.op
        exit_ = self.exits[-1]
        if op is ops.ELSE or op is ops.ELIF:
            exit_.otherwise = self.wanted
            self.wanted = exit_.after
            return not self.at_end() or op is ops.ELIF
        if op is ops.THEN:
            self.wanted |= exit_.after if exit_.otherwise < 0 else exit_.otherwise
        else:
            self.wanted |= exit_.after
        return True

    def open(self, instr: Instr) -> bool:
        """What opens a bracket; whether it stays: it goes with its end when nothing is left inside."""
        op = instr.op
        exit_ = self.exits.pop()
        if exit_.counts:
            self.levels.pop()
        if self.at_end():
            # (A loop without a counter that is left only by its end does nothing either.)
            if op is not ops.WHILE:
                self.out.pop()
                self.wanted = exit_.after
                instr.args = []
                return False
        elif op in LOOPS:
            self.wanted |= exit_.target
        elif op is not ops.BLOCK:
            self.wanted |= exit_.after if exit_.otherwise < 0 else exit_.otherwise
        return True

    def at_end(self) -> bool:
        """Whether what comes next is the end of a bracket."""
        out = self.out
        while out and out[-1] is None:
            out.pop()
        last = out[-1]
        return last is not None and last.op is ops.END
