"""Loops that keep a running sum in other words than ``s = s + x``, put so: that it is added to in one place, and read behind that only, which lanes have (``vectors/running.py``).

::

    store.i32 %s, b[%i]                  %1 = load.i32 a[%i]
    %1 = load.i32 a[%i]          →       %s = add.i32 %s, %1
    %s = add.i32 %s, %1                  %2 = sub.i32 %s, %1
                                         store.i32 %2, b[%i]

So are differences (``s -= x``), and sums, products and extremes that go through memory, of which the next iteration finds the last in a register (``b[i] = b[i - 1] + a[i]``; ``carry.py``). What was there before is the sum less
what was added: of integers only, since a float would lose the digits of the smaller.

What is added is loaded in front of stores to other arrays then. It is for where it has been asked whether these overlap.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import LEAVES

__all__ = ["in_place"]

#: So many variables of a loop are looked at.
MOST: Final = 4


def in_place(f: Function, head: int, end: int) -> list[Instr] | None:
    """The body of a loop whose running sums are put so; None where there is none that was not.

    Args:
        f: the function.
        head, end: the positions of the loop's brackets.
    """
    body = f.code[head + 1 : end]
    if any(instr.op in LEAVES for instr in body):
        return None
    changed = False
    for _ in range(MOST):
        made = _one(f, body)
        if made is None:
            break
        body = made
        changed = True
    return body if changed else None


def _one(f: Function, body: list[Instr]) -> list[Instr] | None:
    """The body with one more of its running sums put so."""
    outermost = _outermost(body)
    written: dict[int, int] = {}  # variable -> where it is written, or NONE where that is in several places, or in a bracket
    for k, instr in enumerate(body):
        if instr.dst >= 0 and f.variable[instr.dst]:
            written[instr.dst] = NONE if instr.dst in written or outermost[k] != k else k
    for variable, at in written.items():
        type_ = f.types[variable]
        if at != NONE and (type_.is_integer or (type_.is_float and f.options.fastmath)):
            made = _Sum(f, body, outermost, variable, at).rewritten()
            if made is not None:
                return made
    return None


def _outermost(body: list[Instr]) -> list[int]:
    """Per instruction where the outermost bracket around it begins; its own place where there is none."""
    found: list[int] = []
    depth = start = 0
    for k, instr in enumerate(body):
        op = instr.op
        if op.opens and not op.closes:
            if not depth:
                start = k
            depth += 1
        found.append(start if depth else k)
        if op.closes and not op.opens:
            depth -= 1
    return found


def _subscripts(instr: Instr) -> list[int]:
    """The subscripts of an access."""
    return instr.args if instr.op is ops.LOAD else instr.args[1:] if instr.op is ops.STORE else []


class _Sum:
    """A variable that a loop's body writes in one place.

    Attributes:
        f: the function.
        body: the body.
        outermost: per instruction where the outermost bracket around it begins.
        variable: the variable.
        at: where it is written.
        before: the registers that hold what it was at the beginning of the iteration.
    """

    def __init__(self, f: Function, body: list[Instr], outermost: list[int], variable: int, at: int) -> None:
        self.f = f
        self.body = body
        self.outermost = outermost
        self.variable = variable
        self.at = at
        self.before: set[int] = {variable}

    def rewritten(self) -> list[Instr] | None:
        """The body, the variable added to in place and read behind that; None where it is no running sum, or is so already."""
        f, body, variable, at = self.f, self.body, self.variable, self.at
        dropped: set[int] = set()
        for k in range(at):
            instr = body[k]
            if instr.op is ops.COPY and instr.args[0] in self.before and not f.variable[instr.dst]:
                self.before.add(instr.dst)
                dropped.add(k)
        if any(not self.before.isdisjoint(_subscripts(instr)) for instr in body):
            # (It is a counter, that says where something is stored.)
            return None
        total, where = variable, at
        if body[at].op is ops.COPY:
            total = body[at].args[0]
            where = next((k for k in range(at) if body[k].dst == total), NONE)
            if total < 0 or f.variable[total] or where == NONE or self.outermost[where] != where:
                return None
            dropped.add(at)
        update = body[where]
        if (update.op.reduction is None and update.op is not ops.SUB) or update.type is not f.types[variable]:
            return None
        place = 0 if update.args[0] in self.before else 1
        added = update.args[1 - place]
        if update.args[place] not in self.before or added in self.before or (place and update.op is ops.SUB):
            return None
        reads = [k for k in range(len(body)) if k != where and k not in dropped and any(a in self.before and (a != variable or k < at) for a in body[k].args)]
        if not reads and not dropped and update.op is not ops.SUB:
            return None
        if reads and not (update.type.is_integer and update.op in (ops.ADD, ops.SUB)):
            return None
        first = min([where, *[self.outermost[k] for k in reads]])
        moved = self._computed(added, first, where, total)
        if moved is None:
            return None
        return self._written(update, added, total, first, where, moved, dropped, bool(reads))

    def _computed(self, added: int, first: int, where: int, total: int) -> set[int] | None:
        """The instructions between two places by which what is added is computed; None where they cannot be done at the first."""
        f, body = self.f, self.body
        wanted = {added}
        moved: set[int] = set()
        for k in range(where - 1, first - 1, -1):
            instr = body[k]
            if instr.dst not in wanted or instr.dst < 0:
                continue
            if f.variable[instr.dst] or self.outermost[k] != k or not (instr.op.pure or instr.op is ops.LOAD):
                return None
            if instr.op is ops.LOAD and any(self._may_store(other, instr.imm) for other in body[first:k]):
                return None
            moved.add(k)
            wanted.update(instr.args)
        if any(a in self.before or a == total for a in wanted):
            return None
        if any(instr.dst in wanted and f.variable[instr.dst] for instr in body[first:where] if instr.dst >= 0):
            return None
        return moved

    def _may_store(self, instr: Instr, array: int) -> bool:
        """Whether an instruction may store to an array, or does anything that is not known."""
        if instr.op is ops.STORE:
            return instr.imm == array
        return instr.op.effect == ops.WRITES or instr.op.effect == ops.CALLS

    def _written(self, update: Instr, added: int, total: int, first: int, where: int, moved: set[int], dropped: set[int], reads: bool) -> list[Instr]:
        f, body, variable = self.f, self.body, self.variable
        type_, line = update.type, update.line
        out = [body[k] for k in range(first) if k not in dropped]
        out += [body[k] for k in sorted(moved)]
        op = update.op
        if op is ops.SUB:
            op = ops.ADD
            negative = f.register(type_, "")
            out.append(Instr(ops.NEG, type_, negative, [added], 0, line))
            added = negative
        out.append(Instr(op, type_, variable, [variable, added], 0, line))
        rename = {total: variable} if total != variable else {}
        less = NONE
        if reads:
            less = f.register(type_, "")
            out.append(Instr(ops.SUB, type_, less, [variable, added], 0, line))
            rename.update(dict.fromkeys(self.before - {variable}, less))
        for k in range(first, len(body)):
            if k in moved or k in dropped or k == where:
                continue
            instr = body[k]
            own = {**rename, variable: less} if reads and k < self.at else rename
            if any(a in own for a in instr.args):
                instr = instr.copy()
                instr.args = [own.get(a, a) for a in instr.args]
            out.append(instr)
        return out
