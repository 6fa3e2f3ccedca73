"""The ``reload`` pass: values that come from memory, for which registers are short, are loaded where they are used.

::

    %a = load_at.f32x8 [%x + %i*4]            …
    %b = load_at.f32x8 [%x + %i*4 + 4]        %b = load_at.f32x8 [%x + %i*4 + 4]
    …                                    →    …
    %t = fma.f32x8 %a, %b, %s                 %a' = load_at.f32x8 [%x + %i*4]
                                              %t = fma.f32x8 %a', %b, %s

A value that a register allocator spills is stored and loaded; one that is in memory anyway need not be stored (P. Briggs, K. Cooper and L. Torczon, "Rematerialization", PLDI 1992, for values that are
computed again), and where it is used once it becomes the operand of the instruction that uses it. Which value gives up its register is decided as the allocator of a long straight stretch would: the one whose next
use is the furthest away (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966), where one that has to be stored counts as that much nearer.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target

__all__ = ["run"]

#: A stretch with fewer loads is not looked at.
_LEAST: Final = 2
#: How much nearer the next use of a value counts that has to be stored to give up its register.
_STORED: Final = 3
#: A value whose next use is not so many instructions away keeps its register.
_NEAR: Final = 3
_NEVER: Final = 1 << 40
_LOADS: Final = (ops.LOAD_AT, ops.MASKED_LOAD_AT)


def run(f: Function, target: Target) -> None:
    """Load again in the straight stretches of ``f`` that need more registers than there are."""
    stretches: list[tuple[int, int]] = []
    start = loads = 0
    for k, instr in enumerate(f.code):
        op = instr.op
        if op is ops.LOAD_AT or op is ops.MASKED_LOAD_AT:
            loads += 1
        elif op.effect == ops.CONTROL:
            if loads >= _LEAST:
                stretches.append((start, k))
            start, loads = k + 1, 0
    if loads >= _LEAST:
        stretches.append((start, len(f.code)))
    if not stretches:
        return
    uses: list[int] = []
    #: For each register the stretch (from the end of the code) that it is live in, while that is looked at.
    live = [-1] * len(f.types)
    # (From behind, so that positions in front stay.)
    for number in range(len(stretches)):
        start, end = stretches[-1 - number]
        classes = _crowded(f, target, start, end, live, number)
        if not classes:
            continue
        uses = uses or _uses(f)
        part = f.code[start:end]
        for cls in classes:
            part = _Stretch(f, target, part, cls, uses).loaded_late()
        f.code[start:end] = part


def _uses(f: Function) -> list[int]:
    """How often each register is read."""
    found = [0] * len(f.types)
    for instr in f.code:
        for a in instr.args:
            if a >= 0:
                found[a] += 1
    return found


def _crowded(f: Function, target: Target, start: int, end: int, live: list[int], number: int) -> list[int]:
    """The classes of which a stretch needs more registers at once than there are, where it loads some of the values."""
    code, types = f.code, f.types
    room = [len(order) for order in target.orders]
    most = [0] * len(room)
    for k in range(end - 1, start - 1, -1):
        instr = code[k]
        dst = instr.dst
        if dst >= 0 and live[dst] == number:
            live[dst] = -1
            cls = target.class_of(types[dst])
            room[cls] = room[cls] + 1
        for a in instr.args:
            if a >= 0 and live[a] != number:
                live[a] = number
                cls = target.class_of(types[a])
                left = room[cls] - 1
                room[cls] = left
                if left < most[cls]:  # noqa: PLR1730 (no calls: for every operand)
                    most[cls] = left
    return [cls for cls in range(len(most)) if most[cls] < 0 and any(code[k].op in _LOADS and target.class_of(code[k].type) == cls for k in range(start, end))]


class _Value:
    """A value of the class that the stretch makes.

    Attributes:
        register: what it is in now, or -1 after it has given that up.
        made: the instruction that made it; ``at`` where.
        uses: where it is used, the last first; ``_NEVER`` behind the end.
        from_memory: it may be loaded again.
        used: its first register has been read.
    """

    __slots__ = ("at", "from_memory", "made", "register", "used", "uses")

    def __init__(self, made: Instr, at: int, from_memory: bool) -> None:
        self.made = made
        self.at = at
        self.register = made.dst
        self.uses: list[int] = []
        self.from_memory = from_memory
        self.used = False


class _Stretch:
    """A straight stretch of code that needs too many registers of a class."""

    def __init__(self, f: Function, target: Target, code: list[Instr], cls: int, uses: list[int]) -> None:
        self.f = f
        self.target = target
        self.code = code
        self.cls = cls
        self.uses = uses
        self.values: dict[int, _Value] = {}
        #: Stores and calls in front of each instruction.
        self.changes: list[int] = []
        #: Where each register is written in the stretch for the first time.
        self.written: dict[int, int] = {}
        self.room = len(target.orders[cls]) - 1
        self.look()

    def look(self) -> None:
        """Find the values and what may change memory and addresses."""
        f = self.f
        changes = 0
        outside: set[int] = set()
        for k, instr in enumerate(self.code):
            self.changes.append(changes)
            for a in instr.args:
                if a < 0:
                    continue
                value = self.values.get(a)
                if value is not None:
                    if not value.uses or value.uses[-1] != k:
                        value.uses.append(k)
                elif self.target.class_of(f.types[a]) == self.cls:
                    outside.add(a)
            if instr.op.effect in (ops.WRITES, ops.CALLS):
                changes += 1
            dst = instr.dst
            if dst >= 0:
                self.written.setdefault(dst, k)
                if not f.variable[dst] and self.target.class_of(f.types[dst]) == self.cls:
                    self.values[dst] = _Value(instr, k, instr.op in _LOADS)
        self.room -= len(outside)
        here: dict[int, int] = {}
        for instr in self.code:
            for a in instr.args:
                if a in self.values:
                    here[a] = here.get(a, 0) + 1
        for register, value in self.values.items():
            if here.get(register, 0) < self.uses[register]:
                value.uses.append(_NEVER)
            value.uses.reverse()

    def again(self, value: _Value) -> bool:
        """Whether a value can be loaded at its next use."""
        if not value.from_memory or not value.uses or value.uses[-1] == _NEVER:
            return False
        use = value.uses[-1]
        # (What an address is made of in the stretch itself may no longer be in a register.)
        return self.changes[use] == self.changes[value.at] and all(self.written.get(a, _NEVER) > use for a in value.made.args)

    def loaded_late(self) -> list[Instr]:
        """The stretch with loads where there is room for what they give."""
        out: list[Instr] = []
        held: list[_Value] = []
        dead: set[int] = set()
        for k, instr in enumerate(self.code):
            for a in dict.fromkeys(instr.args):
                value = self.values.get(a)
                if value is None:
                    continue
                if value.register < 0:
                    value.register = a
                    if self.again(value):
                        again = value.made.copy()
                        again.dst = value.register = self.f.register(value.made.type, self.f.names[a])
                        again.line = instr.line
                        out.append(again)
                    value.uses.pop()
                    if value.uses:
                        held.append(value)
                else:
                    value.uses.pop()
                    if not value.uses and value in held:
                        held.remove(value)
                if value.register == a:
                    value.used = True
            # (The instruction itself may be one whose result moved: only its operands are renamed.)
            instr.args = [self.values[a].register if a in self.values else a for a in instr.args]
            self.make_room(held, k)
            out.append(instr)
            made = self.values.get(instr.dst)
            if made is not None and made.uses:
                held.append(made)
                self.make_room(held, k)
        for register, value in self.values.items():
            if value.from_memory and not value.used and value.uses[:1] != [_NEVER]:
                dead.add(register)
        return [instr for instr in out if instr.dst not in dead]

    def make_room(self, held: list[_Value], k: int) -> None:
        """Of more values than there is room for, take those from their registers that are used last."""
        while len(held) > self.room:
            best = None
            most = -1
            for value in held:
                distance = value.uses[-1] - k
                if distance <= _NEAR:
                    continue
                if not self.again(value):
                    distance //= _STORED
                if distance > most:
                    best, most = value, distance
            if best is None:
                return
            held.remove(best)
            if best.uses[-1] != _NEVER:
                best.register = -1
