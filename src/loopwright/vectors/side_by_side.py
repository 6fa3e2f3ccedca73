"""Loops that lanes leave one by one, of several vectors at once.

::

    for i = 0, n, 8                              for i = 0, n, 16
      a, m = …                                     a, m = …; a', m' = …
      while any m                                  while any m | m'
        a, m = step(a, m)           →                a, m = step(a, m)
      end                                            a', m' = step(a', m')
      …                                            end
    end                                            …
                                                 end

A step of such a loop mostly waits for the one before it; the steps of another vector have nothing to do with it, and are done meanwhile. A vector of which no lane is left goes
through steps that do nothing, as its lanes do that have left before the others. These loops are as the pass ``vectorize`` writes them (``vectors/predication.py``): what they do
is done by the lanes of a mask, which those leave for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.targets.target import Target
from loopwright.types import BOOL, VOID, Type

__all__ = ["Test", "around", "test_of", "vectors_at_once", "write_test"]

#: So many vectors are done at once at most, and at least; where the body has more than so many instructions, which wait less, the least.
MOST: Final = 3
LEAST: Final = 2
SHORT: Final = 80
#: Registers for what a step computes in between.
BETWEEN: Final = 2
_WRITES: Final = (ops.WRITES, ops.CALLS)


class Test:
    """How a loop asks whether a lane is left.

    Attributes:
        start, end: where it does, the branch (or ``do``) included.
        mask: the lanes that are left.
        common: what has to hold for all of them besides, or ``NONE``.
    """

    __slots__ = ("common", "end", "mask", "start")

    def __init__(self, start: int, end: int, mask: int, common: int = NONE) -> None:
        self.start = start
        self.end = end
        self.mask = mask
        self.common = common


def test_of(code: Sequence[Instr], start: int, partner: Sequence[int] | dict[int, int]) -> Test | None:
    """Where the loop that begins at ``start`` asks whether a lane of a mask is left; None where it is no loop that lanes leave.

    Args:
        code: where the loop is.
        start: its first bracket: ``while``, ``loop``, or ``for``.
        partner: as ``brackets.match`` has it.
    """
    op = code[start].op
    if op is ops.WHILE:
        last = partner[start]
        common = NONE
        k = last - 1
        condition = code[last].args[0]
        if code[k].op is ops.AND and code[k].dst == condition and code[k].type is BOOL:
            condition, common = code[k].args
            k -= 1
    else:
        last = partner[start] - 1
        if code[last].op is not ops.BR_IF or code[last].imm != (0 if op is ops.LOOP else 1):
            return None
        condition = code[last].args[0]
        common = NONE
        k = last - 1
        if op is ops.FOR:
            if code[k].op is not ops.NOT or code[k].dst != condition:
                return None
            condition = code[k].args[0]
            k -= 1
    if k <= start or code[k].op is not ops.ANY or code[k].dst != condition:
        return None
    return Test(k, last + 1, code[k].args[0], common)


def write_test(f: Function, code: Sequence[Instr], test: Test, renames: Sequence[dict[int, int]], out: list[Instr]) -> None:
    """Append what asks whether a lane is left of any copy of a loop.

    Args:
        f: the function.
        code: where the loop is that is copied.
        test: how it asks.
        renames: per copy, by what its registers are replaced.
        out: what it is appended to.
    """
    asked, last = code[test.start], code[test.end - 1]
    mask_type, line = asked.type, last.line

    def emit(op: ops.Op, type_: Type, result: Type, args: list[int]) -> int:
        made = f.register(result, "")
        out.append(Instr(op, type_, made, args, 0, line))
        return made

    left = [rename.get(test.mask, test.mask) for rename in renames]
    while len(left) > 1:
        left = [*left[2:], emit(ops.OR, mask_type, mask_type, left[:2])]
    some = emit(ops.ANY, mask_type, BOOL, left)
    if test.common != NONE:
        some = emit(ops.AND, BOOL, BOOL, [some, renames[0].get(test.common, test.common)])
    for instr in code[test.start + 1 : test.end - 1]:
        if instr.op is ops.NOT:
            some = emit(ops.NOT, BOOL, BOOL, [some])
    out.append(Instr(last.op, VOID, NONE, [some], last.imm, line))


def vectors_at_once(f: Function, target: Target, head: Instr, body: list[Instr]) -> int:
    """How many vectors of a loop over lanes are to be done at once because of the loops in its body; 1 where these are not all such that lanes leave.

    Args:
        f: the function, after ``vectorize``.
        target: the machine.
        head: the ``for`` over lanes.
        body: what is in it.
    """
    partner = match(body)
    differ: set[int] | None = None
    shared = 0  # brackets that copies share are open: nothing else may be around a loop
    brackets = 0
    least = 0
    for k, instr in enumerate(body):
        op = instr.op
        if op is ops.END:
            brackets -= 1
            shared = min(shared, brackets)
        if not op.opens or op.closes:
            continue
        brackets += 1
        if op is ops.BLOCK and around(body, k, partner):
            shared += shared == brackets - 1
            continue
        if not IS_LOOP[op.code]:
            continue
        test = test_of(body, k, partner)
        if test is None or shared < brackets - 1:
            return 1
        shared = brackets
        same = [a for a in (*instr.args, test.common) if a >= 0]
        if same:
            if differ is None:
                differ = _differ(f, head, body)
            if not differ.isdisjoint(same):
                return 1
        end = partner[partner[k]] if op is ops.WHILE else partner[k]
        if any(each.op.effect in _WRITES for each in body[k:end]):
            return 1
        room = _held(f, target, body[k:end])
        least = min(least, room) if least else room
    if not least or not _in_any_order(f, body):
        return 1
    return max(LEAST, min(MOST, least)) if len(body) <= SHORT else LEAST


def around(code: Sequence[Instr], start: int, partner: Sequence[int] | dict[int, int]) -> bool:
    """Whether a ``block`` is there for a ``for`` that lanes leave, and holds nothing else."""
    return code[start + 1].op is ops.FOR and partner[start] == partner[start + 1] + 1 and test_of(code, start + 1, partner) is not None


def _in_any_order(f: Function, body: list[Instr]) -> bool:
    """Whether no vector loads what one before it may have stored: what is stored is loaded at the same index alone."""
    stored: dict[int, list[int]] = {}
    for instr in body:
        if instr.op.effect == ops.CALLS:
            return False
        if instr.op.effect == ops.WRITES:
            array, places = _accessed(f, instr)
            if array == NONE or stored.setdefault(array, places) != places:
                return False
    for instr in body:
        if instr.op.effect == ops.READS:
            array, places = _accessed(f, instr)
            if array == NONE or (array in stored and (instr.mem is not None or stored[array] != places)):
                return False
    return True


def _accessed(f: Function, instr: Instr) -> tuple[int, list[int]]:
    """Where the array begins that an instruction accesses (``NONE`` where that is not known), and its subscripts, behind what they are apart for lanes that are not next to each other."""
    if instr.mem is not None:
        return f.arrays[instr.mem.array].base if instr.mem.array >= 0 else NONE, instr.args
    if instr.op.operands[-1:] != ("*L",):
        return NONE, []
    count = len(f.arrays[instr.imm].extents) + (instr.op in ops.STRIDED)
    return f.arrays[instr.imm].base, instr.args[-count:]


def _held(f: Function, target: Target, code: list[Instr]) -> int:
    """How many copies of a loop have room in vector registers for what they keep from one step to the next, and compute in one; at least 1."""
    types = f.types
    written = {instr.dst for instr in code if instr.dst >= 0}
    kept: dict[int, set[int]] = {}
    for instr in code:
        for r in (instr.dst, *instr.args):
            if r >= 0 and types[r].lanes and (f.variable[r] or r not in written):
                kept.setdefault(target.class_of(types[r]), set()).add(r)
    vectors = {target.class_of(types[r]) for r in written if types[r].is_vector}
    return max(1, min([len(target.orders[cls]) // (len(kept.get(cls, ())) + BETWEEN) for cls in vectors], default=MOST))


def _differ(f: Function, head: Instr, body: list[Instr]) -> set[int]:
    """The registers that may hold something else in each vector: what comes from the loop's index, from lanes, or from memory."""
    found = {head.dst}
    count = 0
    while count < len(found):
        count = len(found)
        for instr in body:
            if instr.dst >= 0 and (instr.op.effect not in (ops.PURE, ops.CONTROL) or f.types[instr.dst].lanes or not found.isdisjoint(instr.args)):
                found.add(instr.dst)
            for a in instr.args:
                if a >= 0 and f.types[a].lanes:
                    found.add(a)
                    if instr.dst >= 0:
                        found.add(instr.dst)
    return found
