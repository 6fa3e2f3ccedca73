"""Conditions of several parts, as ``if`` has them.

``if a[i] == b[j] and c[i - 1, j - 1] > 0`` must not load what stands behind the ``and`` unless the first part holds: it may be outside of its array. The front end writes such conditions as blocks
that are left at each part. Where all that is loaded is inside of its array in every iteration, which other accesses tell, the parts are evaluated together, by operations on truth values; other
conditions that are joined by ``and`` become an ``if`` within another. What makes lanes or jams iterations knows those.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.branches import LONG, LONGEST, Inside
from loopwright.nests.nest import Nest, nests
from loopwright.nests.unroll import clone
from loopwright.types import BOOL, VOID

__all__ = ["run"]

#: An ``else`` with so many instructions is written down for each part of a condition.
SHORT_ELSE: Final = 4
#: Parts of a condition.
MOST_PARTS: Final = 6
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))


class _Choice:
    """An ``if`` that is written as blocks; all are positions.

    Attributes:
        start, end: its brackets.
        condition: where its condition begins, and behind which it ends.
        yes, no: its arms, from the first to behind the last; of no ``else`` the same.
    """

    __slots__ = ("condition", "end", "no", "start", "yes")

    def __init__(self, start: int, end: int, condition: tuple[int, int], yes: tuple[int, int], no: tuple[int, int]) -> None:
        self.start = start
        self.end = end
        self.condition = condition
        self.yes = yes
        self.no = no


def run(f: Function) -> None:
    """Rewrite those in loops."""
    code = f.code
    if not any(instr.op is ops.BLOCK for instr in code) or not any(IS_LOOP[instr.op.code] for instr in code):
        return
    partner = match(code)
    known: list[Nest] = []
    out: list[Instr] = []
    uses = [0] * len(f.types)
    for instr in code:
        for a in instr.args:
            if a >= 0:
                uses[a] += 1
    depth = 0
    k = 0
    ends: set[int] = set()
    while k < len(code):
        instr = code[k]
        if IS_LOOP[instr.op.code]:
            depth += 1
            end = partner[k]
            ends.add(end if code[end].op is ops.END else partner[end])
        elif k in ends:
            depth -= 1
        choice = _choice(code, partner, k) if depth and instr.op is ops.BLOCK else None
        made = _rewritten(f, choice, known, uses) if choice is not None else None
        if choice is None or made is None:
            out.append(instr)
            k += 1
            continue
        out += made
        k = choice.end + 1
    f.code = out


def _choice(code: list[Instr], partner: list[int], start: int) -> _Choice | None:
    """The ``if`` that begins at a block; None where it is something else."""
    end = partner[start]
    inner, last = start, end
    no = (end, end)
    if code[start + 1].op is ops.BLOCK and code[partner[start + 1] - 1].op is ops.BR and code[partner[start + 1] - 1].imm == 1:
        inner = start + 1
        last = partner[inner] - 1
        no = (partner[inner] + 1, end)
    behind = inner + 1  # behind the last branch to the block's end
    k = inner + 1
    while k < last:
        op = code[k].op
        if op is ops.BR_IF and code[k].imm == 0:
            behind = k + 1
        elif op is ops.BLOCK and _leaves(code, k, partner[k]):
            k = partner[k]
            behind = k + 1
        elif op.effect == ops.CONTROL:
            break
        k += 1
    if behind == inner + 1 or _escapes(code, behind, last) or _escapes(code, *no):
        return None
    return _Choice(start, end, (inner + 1, behind), (behind, last), no)


def _leaves(code: list[Instr], start: int, end: int) -> bool:
    """Whether a block holds nothing but parts of a condition: values, and branches to its end or that of the block around it."""
    depth = 0
    found = False
    for k in range(start, end + 1):
        instr = code[k]
        if instr.op is ops.BLOCK:
            depth += 1
        elif instr.op is ops.END:
            depth -= 1
        elif instr.op is ops.BR_IF:
            if instr.imm > depth:
                return False
            found = True
        elif not instr.op.pure and instr.op is not ops.LOAD:
            return False
    return found


def _escapes(code: list[Instr], start: int, end: int) -> bool:
    """Whether code has a branch to outside of it."""
    depth = 0
    for k in range(start, end):
        instr = code[k]
        if instr.op.opens and not instr.op.closes:
            depth += 1
        elif instr.op is ops.END:
            depth -= 1
        elif instr.op in _BRANCHES and instr.imm >= depth:
            return True
    return False


def _rewritten(f: Function, choice: _Choice, known: list[Nest], uses: list[int]) -> list[Instr] | None:
    """What takes the place of a choice; None where it stays. ``known`` has the nests of the function, once they were asked for; ``uses`` how often registers are read."""
    code = f.code
    parts = [instr for instr in code[choice.condition[0] : choice.condition[1]] if instr.op.effect != ops.CONTROL]
    branches = sum([instr.op is ops.BR_IF for instr in code[choice.condition[0] : choice.condition[1]]])
    if branches > MOST_PARTS or len(parts) > 2 * LONGEST or any(instr.dst == NONE or f.variable[instr.dst] or instr.op in LONG for instr in parts):
        return None
    yes, no = code[choice.yes[0] : choice.yes[1]], code[choice.no[0] : choice.no[1]]
    if _inside(f, choice, known):
        return _together(f, choice, yes, no, uses)
    if any(code[k].op is ops.BLOCK for k in range(*choice.condition)):
        return None
    return _one_in_another(f, choice, yes, no, uses) if len(no) <= SHORT_ELSE and not any(instr.op.opens for instr in no) else None


def _inside(f: Function, choice: _Choice, known: list[Nest]) -> bool:
    """Whether all that the later parts of a condition load is inside of its array in any case."""
    first = next(k for k in range(*choice.condition) if f.code[k].op is ops.BR_IF)
    loads = [k for k in range(first, choice.condition[1]) if f.code[k].op is ops.LOAD]
    if not loads:
        return True
    if not known:
        known += nests(f)
    nest = next((one for one in known if one.start < choice.start < one.end), None)
    if nest is None:
        # (Branches leave the loop.)
        return False
    loop = next(loop for loop in reversed(nest.loops) if loop.head < choice.start < loop.end)
    if nest.obstacles or any(other.parent is loop for other in nest.loops):
        return False
    judge = Inside(nest, loop)
    return all(judge.inside(access) for access in nest.accesses if access.position in loads)


class _Truth:
    """A condition's parts joined by operations."""

    __slots__ = ("f", "labels", "out")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.out: list[Instr] = []
        self.labels: list[int] = []  # by open block, what holds where it was left, or NONE

    def join(self, op: ops.Op, a: int, b: int, line: int) -> int:
        if NONE in (a, b):
            return b if a == NONE else a
        made = self.f.register(BOOL, "")
        self.out.append(Instr(op, BOOL, made, [a, b], 0, line))
        return made


def _together(f: Function, choice: _Choice, yes: list[Instr], no: list[Instr], uses: list[int]) -> list[Instr]:
    """All parts evaluated, and one ``if``."""
    truth = _Truth(f)
    out = truth.out
    opposites: dict[int, int] = {}
    asked = _asked(f, choice)
    again: dict[int, Instr] = {}
    here = NONE  # what holds at this place; NONE for what always does
    line = f.code[choice.start].line
    for k in range(*choice.condition):
        instr = f.code[k]
        op = instr.op
        if op is ops.BLOCK:
            truth.labels.append(NONE)
        elif op is ops.END:
            left = truth.labels.pop()
            if here != NONE:
                here = truth.join(ops.OR, here, left, instr.line)
        elif op is ops.BR_IF:
            holds = instr.args[0]
            level = len(truth.labels) - 1 - instr.imm
            if holds in again and level >= 0:
                out.append(again[holds])
            if level >= 0:
                reached = truth.join(ops.AND, here, holds, instr.line)
                truth.labels[level] = truth.join(ops.OR, truth.labels[level], reached, instr.line)
            if level != 0:
                # (What leaves the outermost block goes on behind it, as all that comes to its end does: nothing in between has to leave it out.)
                opposite = opposites.get(holds, NONE)
                if opposite == NONE:
                    opposite = f.register(BOOL, "")
                    out.append(Instr(ops.NOT, BOOL, opposite, [holds], 0, instr.line))
                here = truth.join(ops.AND, here, opposite, instr.line)
        elif instr.dst in asked and _only_opposite(instr, uses):
            opposites[instr.dst] = instr.args[0]
            again[instr.dst] = instr
        else:
            out.append(instr)
    # (A part that is True, as it is known while compiling: whatever the others are.)
    return [*out, *(yes if here == NONE else _if(here, yes, no, line))]


def _asked(f: Function, choice: _Choice) -> set[int]:
    """What the branches of a condition ask."""
    return {f.code[k].args[0] for k in range(*choice.condition) if f.code[k].op is ops.BR_IF}


def _only_opposite(instr: Instr, uses: list[int]) -> bool:
    """Whether it is what a branch asks, and nothing else: that a condition does not hold."""
    return instr.op is ops.NOT and instr.type is BOOL and instr.args[0] >= 0 and uses[instr.dst] == 1


def _if(condition: int, yes: list[Instr], no: list[Instr], line: int) -> list[Instr]:
    made = [Instr(ops.IF, VOID, NONE, [condition], 0, line), *yes]
    if no:
        made += [Instr(ops.ELSE, VOID, NONE, [], 0, line), *no]
    return [*made, Instr(ops.END, VOID, NONE, [], 0, line)]


def _one_in_another(f: Function, choice: _Choice, yes: list[Instr], no: list[Instr], uses: list[int]) -> list[Instr]:
    """Parts that are joined by ``and``: an ``if`` within another, each with the ``else``."""
    out: list[Instr] = []
    opened: list[int] = []
    opposites: dict[int, int] = {}
    asked = _asked(f, choice)
    for k in range(*choice.condition):
        instr = f.code[k]
        if instr.dst in asked and _only_opposite(instr, uses):
            opposites[instr.dst] = instr.args[0]
            continue
        if instr.op is not ops.BR_IF:
            out.append(instr)
            continue
        holds = opposites.get(instr.args[0], NONE)
        if holds == NONE:
            holds = f.register(BOOL, "")
            out.append(Instr(ops.NOT, BOOL, holds, [instr.args[0]], 0, instr.line))
        out.append(Instr(ops.IF, VOID, NONE, [holds], 0, instr.line))
        opened.append(instr.line)
    out += yes
    while opened:
        line = opened.pop()
        if no:
            out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
            clone(f, no, {}, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return out
