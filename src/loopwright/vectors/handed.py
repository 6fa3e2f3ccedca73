"""What an iteration hands on to the next, or the next but some, in a register: first-order recurrences, as compilers of vectors call them.

::

    left = v                       carry = v in all lanes
    for i = lo, hi lanes           for i = lo, hi, N
      here = a[i]                    here = a[i … i + N - 1]
      … left …               →       left = the last lane of carry, and all but the last of here
      left = here                    carry = here
    end                            left = the last lane of carry

Each vector of what is handed on is one shuffle of two vectors (``slide``); of what is handed on twice (``x2 = x1; x1 = x0``) another one of the same two.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.types import BOOL, I64, PTR, UNSIGNED, Type, vector_of
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.running import RunningSums
from loopwright.vectors.tables import Asked

__all__ = ["Handed", "HandedOn", "find_readers", "handed", "last_found", "moves"]

#: A value is handed on so many times at most.
MOST_TIMES: Final = 4


class Handed:
    """A variable that each iteration gives what later ones read.

    Attributes:
        variable: its register.
        given: what it is given, in the end.
        count: how many iterations before that was.
        before: what it is copied from, if that is handed on itself; NONE of the first of a chain.
        behind: what it has behind the loop may be read.
        carry: the variable with what the vector before has made.
        value: the register with what this vector's lanes read, once it is made.
    """

    __slots__ = ("before", "behind", "carry", "count", "given", "value", "variable")

    def __init__(self, variable: int, given: int, count: int, before: int) -> None:
        self.variable = variable
        self.given = given
        self.count = count
        self.before = before
        self.behind = True
        self.carry = NONE
        self.value = NONE


def handed(f: Function, body: list[tuple[Instr, bool]], variables: set[int]) -> dict[int, Handed]:
    """Those of the variables that a loop carries that it hands on: copied in one place, at the end of every iteration, from what all of it makes in one place that comes before all that reads them.

    Args:
        f: the function.
        body: the loop's instructions, and whether each is in no bracket but the loop's.
        variables: what it writes, and may read before that.
    """
    copied: dict[int, int] = {}
    for instr, outermost in body:
        if instr.dst in variables and instr.op is ops.COPY and outermost and _kind(f.types[instr.dst]):
            copied.setdefault(instr.dst, instr.args[0])
    if not copied:
        return {}
    written: dict[int, int] = {}  # register -> where, or NONE if that is in several places, or not always done
    read: dict[int, int] = {}  # variable -> where first
    for k, (instr, outermost) in enumerate(body):
        for a in instr.args:
            if a in copied:
                read.setdefault(a, k)
                if a in written or instr.op.effect == ops.CONTROL:
                    # (It has been given the next one's; or lanes may go ways of their own.)
                    written[a] = NONE
        if instr.dst >= 0:
            written[instr.dst] = k if outermost and instr.dst not in written else NONE
    found: dict[int, Handed] = {}
    for variable, source in copied.items():
        count, given = 1, source
        while given in copied and count < MOST_TIMES:
            count, given = count + 1, copied[given]
        at = written.get(given, NONE) if given >= 0 else NONE
        # (What nobody reads is only left behind.)
        if at != NONE and given not in variables and written[variable] != NONE and at < read.get(variable, len(body)):
            found[variable] = Handed(variable, given, count, source if count > 1 else NONE)
    while True:
        # A chain is one as a whole.
        broken = [variable for variable, one in found.items() if one.before != NONE and one.before not in found]
        if not broken:
            return found
        for variable in broken:
            del found[variable]


def _kind(type_: Type) -> bool:
    return not type_.lanes and type_ is not BOOL and type_ is not PTR


def moves(f: Function, found: dict[int, Handed], lanes: int) -> list[Type]:
    """The vectors of so many lanes that are moved by some."""
    return [vector_of(f.types[variable], lanes) for variable in found]


def find_readers(f: Function, head: int, end: int, found: dict[int, Handed]) -> None:
    """Find out whether what a loop leaves in such variables may be read: anywhere but in it; or by itself, when it is come to again and they have not been given anything anew.

    Args:
        f: the function.
        head, end: the positions of the loop's brackets.
        found: the variables.
    """
    code = f.code
    anew: set[int] = set()  # given something in front of the loop, where that is come to
    depth = 0
    for k in range(head - 1, -1, -1):
        op = code[k].op
        if op.closes and op.opens:
            # (Of an ``if``, the arm before.)
            depth = max(depth, 1)
        elif op.closes:
            depth += 1
        elif not op.opens:
            if not depth and code[k].dst in found:
                anew.add(code[k].dst)
        elif depth:
            depth -= 1
        elif IS_LOOP[op.code]:
            break
    else:
        anew.update(found)
    read = {a for part in (code[:head], code[end + 1 :]) for instr in part for a in instr.args}
    for variable, one in found.items():
        one.behind = variable in read or variable not in anew


def last_found(f: Function, found: dict[int, Handed], lanes: int, has: Asked) -> bool:
    """Whether what is read behind a loop can be told from its last vector, which may be one of a few lanes only."""
    return all(
        not one.behind or (one.count == 1 and f.types[variable].bits >= 32 and has(ops.LOOKUP_LANES, *[vector_of(UNSIGNED[f.types[variable].bits], lanes)] * 2))
        for variable, one in found.items()
    )


class HandedOn(RunningSums):
    """What is emitted for what is handed on.

    Attributes:
        handed: variable -> what is known of it.
        handing: what is handed on -> the variables that get it.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width, has)
        self.handed: dict[int, Handed] = {}
        self.handing: dict[int, list[Handed]] = {}

    def begin_handed(self) -> None:
        """In front of the loop: what the first iterations find."""
        f = self.f
        for one in sorted(self.handed.values(), key=lambda each: -each.count):
            self.handing.setdefault(one.given, []).append(one)
            if one.carry != NONE:
                continue
            type_ = self.full(f.types[one.variable])
            one.carry = f.register(type_, f.names[one.variable], True)
            made = self.define(ops.SPLAT, type_, [one.variable], type_)
            newer = one
            while newer.before != NONE:
                # (Those of a chain are in one vector, the newest in its last lane.)
                newer = self.handed[newer.before]
                newer.carry = one.carry
                made = self.define(ops.SLIDE, type_, [made, self.define(ops.SPLAT, type_, [newer.variable], type_), f.const(I64, 1)], type_)
            self.out.append(Instr(ops.COPY, type_, one.carry, [made], 0, self.line))

    def hand_on(self, given: int) -> None:
        """What is handed on has been made: what lanes find, and what the next vector's do."""
        made = self.vector(given)
        type_ = self.f.type_of(made)
        for one in self.handing[given]:
            one.value = self.define(ops.SLIDE, type_, [one.carry, made, self.f.const(I64, self.lanes - one.count)], type_)
        for carry in dict.fromkeys([one.carry for one in self.handing[given]]):
            self.out.append(Instr(ops.COPY, type_, carry, [made], 0, self.line))

    def end_handed(self, count: int) -> None:
        """Behind the loop: what the last iterations leave; ``count`` is how many there were, or NONE if all vectors are whole, and the loop goes on index by index."""
        f = self.f
        for one in self.handed.values():
            if count != NONE and not one.behind:
                continue
            type_ = f.types[one.carry]
            if count == NONE:
                last = self.define(ops.SLIDE, type_, [one.carry, one.carry, f.const(I64, self.lanes - one.count)], type_)
            else:
                words = vector_of(UNSIGNED[type_.bits], self.lanes)
                lane = self.define(ops.AND, I64, [self.define(ops.SUB, I64, [count, f.const(I64, 1)], I64), f.const(I64, self.lanes - 1)], I64)
                place = self.define(ops.SPLAT, words, [self.define(ops.CONVERT, words.element, [lane], words.element, I64)], words)
                last = self.recast(type_, self.define(ops.LOOKUP_LANES, words, [self.recast(words, one.carry), place], words, words))
            self.out.append(Instr(ops.EXTRACT, type_, one.variable, [last], 0, self.line))
