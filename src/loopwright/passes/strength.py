"""The ``strength`` pass: what is linear in a loop's counter is advanced by addition, instead of computed anew in each step.

In a loop over ``k`` the address ``base + k*stride`` becomes a pointer that begins at ``base + lo*stride`` and goes ``step*stride`` further in each
step (strength reduction of induction variables: Cooper, Simpson and Vick, "Operator Strength Reduction", TOPLAS 23(5), 2001). What an address or
a single addition computes stays as it is, and so does what is computed under a condition. Where accesses move their pointers on, a pointer that takes an
addition is advanced as well.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target
from loopwright.types import I64, PTR, VOID

_ADD: Final = ops.ADD.code
_SUB: Final = ops.SUB.code
_MUL: Final = ops.MUL.code
_SHL: Final = ops.SHL.code
#: Operations that may give what is linear in a counter, by ``Op.code``.
_LINEAR: Final[list[bool]] = [op.code in (_ADD, _SUB, _MUL, _SHL) for op in ops.OPS]


class _Loop:
    """A loop of the function, and what is linear in what it counts.

    Attributes:
        head, end: positions of its brackets.
        links: registers linear in the counter, which the body computes in every step, in order, with the operand that is linear.
        worth: one of them is a product or a shift, or a pointer that accesses may move on.
        continued: a ``br`` goes on with the next step.
        reduced: those that are to be advanced.
    """

    __slots__ = ("continued", "end", "head", "links", "reduced", "worth")

    def __init__(self, head: int) -> None:
        self.head = head
        self.end = -1
        self.links: dict[int, int] = {}
        self.worth = False
        self.continued = False
        self.reduced: list[int] = []


def run(f: Function, target: Target) -> None:
    """Advance what is linear in the counters of the loops of ``f``."""
    walk = _Strength(f, target)
    if walk.survey():
        walk.choose()
        walk.rewrite()


class _Strength:
    """One run of the pass."""

    __slots__ = ("counters", "f", "inserted", "loops", "moves", "places", "removed", "target")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        #: Accesses move their pointers on.
        self.moves: bool = target.addressing(I64).moves > 0
        #: The loops that count and have something linear in their counters.
        self.loops: list[_Loop] = []
        #: Where each register is defined; parameters in front of everything.
        self.places = [-1] * len(f.types)
        self.counters: set[int] = set()
        #: What goes in front of an instruction, by its position; the positions of those that go.
        self.inserted: dict[int, list[Instr]] = {}
        self.removed: set[int] = set()

    # --- what is linear -----------------------------------------------------------------------------------

    def survey(self) -> bool:
        """Find what is linear in the counters; whether any of it may be worth advancing."""
        code = self.f.code
        places = self.places
        linear = _LINEAR
        control = ops.CONTROL
        brackets: list[_Loop | None] = []
        #: The loop that what follows is in directly, if it counts.
        inside: _Loop | None = None
        found = False
        for k in range(len(code)):
            instr = code[k]
            op = instr.op
            dst = instr.dst
            if dst >= 0:
                places[dst] = k
            if inside is not None and linear[op.code] and (instr.type is I64 or instr.type is PTR):
                if self.link(inside, instr):
                    found = True
            elif op.effect == control:
                if op is ops.END:
                    last = brackets.pop()
                    inside = brackets[-1] if brackets else None
                    if last is not None:
                        last.end = k
                        if last.worth and not last.continued:
                            self.loops.append(last)
                elif op.opens and not op.closes:
                    inside = None
                    if op is ops.FOR:
                        inside = _Loop(k)
                        self.counters.add(dst)
                    brackets.append(inside)
                elif op is ops.BR or op is ops.BR_IF:
                    aim = brackets[len(brackets) - 1 - instr.imm]
                    if aim is not None:
                        aim.continued = True
        return found and bool(self.loops)

    def link(self, loop: _Loop, instr: Instr) -> bool:
        """Note what ``instr`` in the body of ``loop`` computes, where that is linear in the counter; whether that may be worth advancing."""
        if instr.mem is not None or self.f.variable[instr.dst]:
            return False
        a, b = instr.args
        counter = self.f.code[loop.head].dst
        c = instr.op.code
        links = loop.links
        first = a == counter or a in links
        second = b == counter or b in links
        if first == second:
            return False
        if second and c in (_SUB, _SHL):
            return False
        if second:
            a, b = b, a
        if not self.same(b, loop) or (c == _SHL and b >= 0):
            return False
        links[instr.dst] = a
        if c in (_ADD, _SUB) and not (self.moves and instr.type is PTR):
            return False
        loop.worth = True
        return True

    def same(self, a: int, loop: _Loop) -> bool:
        """Whether an operand is the same in all steps of a loop."""
        return a < 0 or (not self.f.variable[a] and self.places[a] < loop.head)

    # --- what is advanced ---------------------------------------------------------------------------------

    def choose(self) -> None:
        """Of what is linear and used by something else, addresses that take more than one operation are to be advanced, and integers that take a product of registers.

        Where accesses move their pointers on, so are addresses that take one.
        """
        uses = [0] * len(self.f.types)
        code = self.f.code
        for instr in code:
            for a in instr.args:
                if a >= 0:
                    uses[a] += 1
        for loop in self.loops:
            links = loop.links
            needed = dict.fromkeys(links, 0)
            for register in links:
                needed[register] += uses[register]
                if links[register] in needed:
                    needed[links[register]] -= 1
            for register in reversed(list(links)):
                linear = links[register]
                if linear in needed and needed[register] and self.f.types[register] is not PTR and not self.product(register, loop, needed):
                    needed[linear] += 1
            reduced = [
                register
                for register, linear in links.items()
                if needed[register]
                and ((linear in links and not needed[linear]) or (self.moves and self.f.types[register] is PTR) or self.product(register, loop, needed))
            ]
            if reduced and self.room(loop, needed, len(reduced)):
                loop.reduced = reduced
                for register in links:
                    if not needed[register]:
                        self.removed.add(self.places[register])

    def product(self, register: int, loop: _Loop, needed: dict[int, int]) -> bool:
        """Whether a product of two registers is made for this one alone."""
        links = loop.links
        while True:
            instr = self.f.code[self.places[register]]
            if instr.op is ops.MUL and instr.args[0] >= 0 and instr.args[1] >= 0:
                return True
            register = links[register]
            if register not in links or needed[register]:
                return False

    def room(self, loop: _Loop, needed: dict[int, int], more: int) -> bool:
        """Whether there are registers for so many pointers, beside what the loop uses from outside of it, and counters and variables inside."""
        f = self.f
        target = self.target
        whole = target.class_of(I64)
        most = len(target.orders[whole]) - more
        seen: set[int] = set()
        for k in range(loop.head, loop.end):
            instr = f.code[k]
            dst = instr.dst
            if needed.get(dst) == 0:
                continue
            for a in instr.args:
                if a >= 0 and (self.places[a] < loop.head or f.variable[a]) and target.class_of(f.types[a]) == whole:
                    seen.add(a)
            if dst in self.counters:
                seen.add(dst)
            if len(seen) > most:
                return False
        return len(seen) <= most

    # --- what becomes of it -------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Put the beginnings in front of the loops and the advances at their ends."""
        f = self.f
        code = f.code
        for loop in self.loops:
            if loop.reduced:
                self.reduce(loop)
        if not self.inserted:
            return
        out: list[Instr] = []
        inserted = self.inserted
        removed = self.removed
        for k in range(len(code)):
            if k in inserted:
                out += inserted[k]
            if k not in removed:
                out.append(code[k])
        f.code = out

    def reduce(self, loop: _Loop) -> None:
        """Make variables of what is to be advanced in a loop."""
        f = self.f
        head = f.code[loop.head]
        lo, _hi, step = head.args
        wanted = set(loop.reduced)
        for register in reversed(list(loop.links)):
            if register in wanted:
                wanted.add(loop.links[register])
        before = self.inserted.setdefault(loop.head, [])
        behind = self.inserted.setdefault(loop.end, [])
        starts: dict[int, int] = {head.dst: lo}
        steps: dict[int, int] = {head.dst: step}
        for register, linear in loop.links.items():
            if register not in wanted:
                continue
            instr = f.code[self.places[register]]
            starts[register] = self.compute(before, instr, linear, starts[linear])
            steps[register] = steps[linear] if instr.op is ops.ADD or instr.op is ops.SUB else self.compute(before, instr, linear, steps[linear])
        for register in loop.reduced:
            place = self.places[register]
            line = f.code[place].line
            type_ = f.types[register]
            f.variable[register] = True
            before.append(Instr(ops.COPY, type_, register, [starts[register]], 0, line))
            behind.append(Instr(ops.ADD, type_, register, [register, steps[register]], 0, line))
            self.removed.add(place)

    def compute(self, out: list[Instr], instr: Instr, linear: int, value: int) -> int:
        """What ``instr`` gives where its operand ``linear`` is ``value``: a constant, something that is there, or a register set by an instruction in ``out``."""
        f = self.f
        op = instr.op
        a, b = instr.args
        other = b if a == linear else a
        if op is ops.SUB and other == value:
            return f.const(I64, 0)
        if value < 0:
            known = int(f.const_values[~value])
            if other < 0:
                folded = f.folded(op, I64, VOID, [value, other])
                if folded is not None:
                    return folded
            # (Of a difference it is the first operand that is linear.)
            if known == 0 and op is not ops.SUB:
                return other if op is ops.ADD else value
            if op is ops.MUL and known > 0 and known & (known - 1) == 0:
                if known == 1:
                    return other
                op, a, b = ops.SHL, other, f.const(I64, known.bit_length() - 1)
        if a == linear:
            a = value
        elif b == linear:
            b = value
        if a < 0 and op.commutes and instr.type is I64:
            a, b = b, a
        made = f.register(f.types[instr.dst])
        out.append(Instr(op, instr.type, made, [a, b], 0, instr.line))
        return made
