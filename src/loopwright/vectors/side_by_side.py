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
from loopwright.ir.brackets import end_of, match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["Test", "around", "in_any_order", "shared_loops", "test_of", "vectors_at_once", "write_test"]

#: So many vectors are done at once at most, and at least; where the body has more than so many instructions, which wait less, the least.
MOST: Final = 3
LEAST: Final = 2
SHORT: Final = 80
#: Registers for what a step computes in between.
BETWEEN: Final = 2
_WRITES: Final = (ops.WRITES, ops.CALLS)
_BRANCHES: Final = (ops.BR, ops.BR_IF)
#: By the operation's number, whether control goes on elsewhere than behind it, and in no bracket of its own.
_LEAVES: Final = [op.effect == ops.CONTROL and not op.opens and not op.closes for op in ops.OPS]


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
    shared = shared_loops(f, head, body)
    least = 0
    for k, instr in enumerate(body):
        if not IS_LOOP[instr.op.code]:
            continue
        if shared.get(k) is None:
            return 1
        end = end_of(body, partner, k)
        if any(each.op.effect in _WRITES for each in body[k:end]):
            return 1
        room = _held(f, target, body[k:end])
        least = min(least, room) if least else room
    if not least or not in_any_order(f, head, body):
        return 1
    return max(LEAST, min(MOST, least)) if len(body) <= SHORT else LEAST


def shared_loops(f: Function, head: Instr, body: list[Instr]) -> dict[int, Test | None]:
    """The loops in the body of one over lanes that several vectors can share, by their positions, with how those ask that lanes leave; and branches.

    Nothing but others of them is around them, and what decides how often they run, or whether, is the same in all vectors.
    """
    partner = match(body)
    found: dict[int, Test | None] = {}
    ends: list[int] = []  # where those end that are open
    k = 0
    while k < len(body):
        op = body[k].op
        if ends and k == ends[-1]:
            ends.pop()
        elif op.opens and not op.closes:
            block = op is ops.BLOCK and around(body, k, partner)
            test = test_of(body, k + block, partner) if block or IS_LOOP[op.code] else None
            last = end_of(body, partner, k)
            if (
                test is not None
                or op is ops.FOR
                or (op is ops.IF and body[partner[k]].op is not ops.ELIF and not any(_LEAVES[instr.op.code] for instr in body[k + 1 : last]))
            ):
                found[k + block] = test
                ends.append(last)
                k += block
                if block:
                    ends.append(last - 1)
            else:
                k = end_of(body, partner, k)
        k += 1
    while found:
        differ = _differ(f, head, body, partner, found)
        other = [loop for loop, test in found.items() if not differ.isdisjoint(body[loop].args) or (test is not None and test.common in differ)]
        if not other:
            break
        for loop in other:
            end = end_of(body, partner, loop)
            found = {k: test for k, test in found.items() if not loop <= k <= end}
    return found


def around(code: Sequence[Instr], start: int, partner: Sequence[int] | dict[int, int]) -> bool:
    """Whether a ``block`` is there for a ``for`` that lanes leave, and holds nothing else."""
    return code[start + 1].op is ops.FOR and partner[start] == partner[start + 1] + 1 and test_of(code, start + 1, partner) is not None


def in_any_order(f: Function, head: Instr, body: list[Instr]) -> bool:
    """Whether no vector accesses what another may store: of every array that is stored to all accesses have the index of the loop over lanes, or so many times that index and
    so much more as the others, as the same subscript. (Where the only one is a store outside of loops, that of the last lane comes last anyway.)"""
    stored: dict[int, int] = {}  # how often what stores to an array runs, by where it begins: 2 is often
    loops: list[bool] = []
    for instr in body:
        op = instr.op
        if op is ops.END:
            loops.pop()
        elif op.opens and not op.closes:
            loops.append(IS_LOOP[op.code])
        elif op.effect == ops.CALLS:
            return False
        elif op.effect == ops.WRITES:
            array, _ = _accessed(f, instr)
            stored[array] = stored.get(array, 0) + (2 if any(loops) else 1)
    if NONE in stored:
        return False
    own = _own_places(f, head, body) if stored else set()
    common: dict[int, dict[int, int]] = {}  # by array: of which dimensions the subscript is such, and the same everywhere
    for instr in body:
        if instr.op.effect not in (ops.READS, ops.WRITES):
            continue
        array, places = _accessed(f, instr)
        if array == NONE:
            return not stored
        if array not in stored:
            continue
        if instr.op.effect == ops.READS:
            stored[array] = 2
        named = {dimension: place for dimension, place in enumerate(places) if place in own}
        before = common.get(array)
        common[array] = named if before is None else {d: place for d, place in named.items() if before.get(d) == place}
    return all(times == 1 or common[array] for array, times in stored.items())


def _own_places(f: Function, head: Instr, body: list[Instr]) -> set[int]:
    """The registers that are a multiple of a loop's index, which is not 0, and a number that is the same in all iterations."""
    own = {head.dst}
    made = {instr.dst for instr in body}
    for instr in body:
        if instr.dst < 0 or f.variable[instr.dst] or instr.type is not I64:
            continue
        args = instr.args
        inside = [a for a in args if a in own]
        if len(inside) != 1 or any(a in made or (a >= 0 and f.variable[a]) for a in args if a not in own):
            continue
        if instr.op is ops.ADD or instr.op is ops.SUB or (instr.op is ops.MUL and all(a in own or (a < 0 and f.const_values[~a] != 0) for a in args)):
            own.add(instr.dst)
    return own


def _accessed(f: Function, instr: Instr) -> tuple[int, list[int]]:
    """Where the array begins that an instruction accesses (``NONE`` where that is not known), and its subscripts."""
    if instr.mem is not None:
        return f.arrays[instr.mem.array].base if instr.mem.array >= 0 else NONE, []
    if instr.op.operands[-1:] != ("*L",):
        return NONE, []
    return f.arrays[instr.imm].base, instr.args[-len(f.arrays[instr.imm].extents) :]


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


def _differ(f: Function, head: Instr, body: list[Instr], partner: Sequence[int], shared: dict[int, Test | None]) -> set[int]:
    """The registers that may hold something else in each vector: what comes from the loop's index, from lanes, or from memory, or is written where such a condition holds.

    Of the ``shared`` loops all vectors do as many steps.
    """
    found = {head.dst}
    leaves = {test.end - 1 for test in shared.values() if test is not None}
    split: set[int] = set()  # the brackets in which not all vectors do the same
    count = -1
    while count < len(found) + len(split):
        count = len(found) + len(split)
        open_: list[int] = []
        for k, instr in enumerate(body):
            op = instr.op
            if op is ops.END:
                open_.pop()
                continue
            splits = not split.isdisjoint(open_)
            if op.opens and not op.closes:
                open_.append(k)
                if (op is ops.IF or op is ops.FOR) and not found.isdisjoint(instr.args):
                    split.add(k)
            elif k not in leaves and (op in _BRANCHES or op is ops.THEN or op is ops.DO) and (splits or not found.isdisjoint(instr.args)):
                # (What is behind it is done by some of them, and as many steps of loops that it leaves as each has.)
                outer = max(0, len(open_) - 1 - instr.imm) if op in _BRANCHES else len(open_) - 1
                split.update(open_[outer:])
            dst = instr.dst
            differs = splits and dst >= 0 and f.variable[dst]
            for a in instr.args:
                if a >= 0 and f.types[a].lanes:
                    found.add(a)
                    differs = True
            if dst >= 0 and (differs or instr.op.effect not in (ops.PURE, ops.CONTROL) or f.types[dst].lanes or not found.isdisjoint(instr.args)):
                found.add(dst)
    return found
