"""Branches whose arms each add something to one variable, as one addition of a choice, where the loop reads the variable besides: it goes from one iteration to the next without a branch then.

::

    if %c                                %x = select %d, -1, 0
      %v = add %v, 1                     %y = select %c, 1, %x
    elif                          →      %v = add %v, %y
      %d = eq %7, 41
    then %d
      %v = sub %v, 1
    end

What is added can be known in all lanes at once, so that the loop may have them (``vectors/running.py``). A variable that nothing else in the loop reads is a total, to which lanes add under masks; its
branches stay.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr, wrap
from loopwright.nests.branches.choices import earlier
from loopwright.nests.branches.conversion import LONG, LONGEST

__all__ = ["run"]

_UPDATES: Final = (ops.ADD, ops.SUB)
_ARMS: Final = (ops.ELIF, ops.THEN, ops.ELSE)


def run(f: Function) -> None:
    """Rewrite every such branch directly inside of an innermost loop."""
    code = f.code
    if not any(instr.op is ops.IF for instr in code):
        return
    ends = match(code)
    out: list[Instr] = []
    head = end = NONE  # the innermost loop around
    k = 0
    while k < len(code):
        instr = code[k]
        if instr.op is ops.FOR:
            head, end = k, ends[k]
        elif k == end or (instr.op.opens and not instr.op.closes and instr.op is not ops.IF):
            head = end = NONE
        found = _Arms(f, code, k, _end(code, k)) if instr.op is ops.IF and k < end else None
        if found is not None and found.read() and _reads(code, head, end, found):
            found.write(out)
            k = found.end + 1
        else:
            out.append(instr)
            k += 1
    if len(out) != len(code):
        f.code = out


def _end(code: list[Instr], k: int) -> int:
    """Where an ``if`` ends that has no brackets in it, or somebody else's bracket begins."""
    k += 1
    while code[k].op is not ops.END and (not code[k].op.opens or code[k].op in _ARMS):
        k += 1
    return k


def _reads(code: list[Instr], head: int, end: int, arms: _Arms) -> bool:
    """Whether a loop reads the variable of some arms elsewhere."""
    return any(arms.variable in code[n].args for n in range(head + 1, end) if not arms.begin <= n <= arms.end)


class _Arms:
    """An ``if`` and what its arms add.

    Attributes:
        begin, end: where its brackets are.
        variable: what they add to.
        conditions: of the arms but for the last, which has none: ``else``, or what is not written.
        added: per arm, the operation that adds and its other operand; None where nothing is added.
        before: what conditions are made of.
    """

    def __init__(self, f: Function, code: list[Instr], begin: int, end: int) -> None:
        self.f = f
        self.code = code
        self.begin = begin
        self.end = end
        self.variable = NONE
        self.conditions: list[int] = [code[begin].args[0]]
        self.added: list[Instr | None] = []
        self.before: list[Instr] = []

    def read(self) -> bool:
        """Whether the arms do nothing else, and their conditions may be asked at any time."""
        if self.end - self.begin > LONGEST:
            return False
        last: Instr | None = None
        condition = False  # in the code of one
        for n in range(self.begin + 1, self.end + 1):
            instr = self.code[n]
            op = instr.op
            if op is ops.ELIF or op is ops.ELSE or op is ops.END:
                self.added.append(last)
                last = None
                condition = op is ops.ELIF
                if op is ops.END and len(self.added) == len(self.conditions):
                    self.added.append(None)
            elif op is ops.THEN:
                self.conditions.append(instr.args[0])
                condition = False
            elif condition:
                if not self._may_be_asked(instr):
                    return False
            elif last is not None or not self._adds(instr):
                return False
            else:
                last = instr
        return self.variable != NONE and not any(self.variable in instr.args for instr in self.before)

    def _may_be_asked(self, instr: Instr) -> bool:
        """Whether an instruction of a condition may be done though the condition is not asked."""
        if instr.dst < 0 or self.f.variable[instr.dst]:
            return False
        if instr.op is ops.LOAD:
            known = earlier(self.f, self.code, self.begin, instr, {})
            if known < 0:
                return False
            instr = Instr(ops.COPY, instr.type, instr.dst, [known], 0, instr.line)
        elif not instr.op.pure or instr.op in LONG:
            return False
        self.before.append(instr)
        return True

    def _adds(self, instr: Instr) -> bool:
        """Whether an arm's instruction adds to the variable."""
        if instr.op not in _UPDATES or not instr.type.is_integer or instr.dst < 0 or not self.f.variable[instr.dst]:
            return False
        if self.variable not in (NONE, instr.dst) or instr.args[0] != instr.dst or instr.args[1] == instr.dst:
            return False
        other = instr.args[1]
        if other >= 0 and self.f.variable[other]:
            return False
        self.variable = instr.dst
        return True

    def write(self, out: list[Instr]) -> None:
        """One addition."""
        f = self.f
        type_ = f.types[self.variable]
        line = self.code[self.begin].line
        out += self.before
        amounts = [self._amount(instr, out) for instr in self.added]
        chosen = amounts[-1]
        for condition, amount in zip(reversed(self.conditions), reversed(amounts[:-1]), strict=True):
            made = f.register(type_, "")
            out.append(Instr(ops.SELECT, type_, made, [condition, amount, chosen], 0, line))
            chosen = made
        out.append(Instr(ops.ADD, type_, self.variable, [self.variable, chosen], 0, line))

    def _amount(self, instr: Instr | None, out: list[Instr]) -> int:
        """What an arm adds, as an operand."""
        f = self.f
        type_ = f.types[self.variable]
        if instr is None:
            return f.const(type_, 0)
        other = instr.args[1]
        if instr.op is ops.ADD:
            return other
        if other < 0:
            return f.const(type_, wrap(type_, -int(f.const_values[~other])))
        made = f.register(type_, "")
        out.append(Instr(ops.SUB, type_, made, [f.const(type_, 0), other], 0, instr.line))
        return made
