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
from loopwright.nests.analysis.nest import Nest, nests
from loopwright.nests.branches.conversion import LONG, LONGEST, Inside
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.unswitched import looked_up
from loopwright.types import BOOL, VOID

__all__ = ["run"]

#: An ``else`` with so many instructions is written down for each part of a condition.
SHORT_ELSE: Final = 4
#: With so many, where the first part is to be asked in front of the loop.
LONG_ELSE: Final = 24
#: How deep they are looked for in the arms of others.
MOST_NESTED: Final = 8
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
    """Rewrite those in loops; after one those in its arms."""
    for _ in range(MOST_NESTED):
        if not _run(f):
            break


def _run(f: Function) -> bool:
    """Rewrite the outermost that are left. Returns whether there were any."""
    code = f.code
    if not any(instr.op is ops.BLOCK for instr in code) or not any(IS_LOOP[instr.op.code] for instr in code):
        return False
    partner = match(code)
    known: list[Nest] = []
    out: list[Instr] = []
    uses = [0] * len(f.types)
    for instr in code:
        for a in instr.args:
            if a >= 0:
                uses[a] += 1
    depth = 0
    k = done = 0
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
        done += 1
    f.code = out
    return done > 0


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
    if branches > MOST_PARTS or any(instr.dst == NONE or f.variable[instr.dst] for instr in parts):
        return None
    yes, no = code[choice.yes[0] : choice.yes[1]], code[choice.no[0] : choice.no[1]]
    if len(parts) <= 2 * LONGEST and not any(instr.op in LONG for instr in parts) and _inside(f, choice, known):
        return _together(f, choice, yes, no, uses)
    if any(code[k].op is ops.BLOCK for k in range(*choice.condition)):
        return None
    if any(instr.op.opens for instr in no) or len(no) > (LONG_ELSE if _stays(f, choice, known) else SHORT_ELSE):
        return None
    return _one_in_another(f, choice, yes, no, uses)


def _stays(f: Function, choice: _Choice, known: list[Nest]) -> bool:
    """Whether the first part of a condition is looked up, and does not change in the innermost loop, in front of which it can be asked (``unswitched.py``)."""
    first = next(k for k in range(*choice.condition) if f.code[k].op is ops.BR_IF)
    nest = _around(f, choice, known)
    if nest is None or nest.obstacles:
        return False
    loop = next(loop for loop in reversed(nest.loops) if loop.head < choice.start < loop.end)
    return not any(other.parent is loop for other in nest.loops) and looked_up(nest, loop, f.code[first].args[0]) is not None


def _inside(f: Function, choice: _Choice, known: list[Nest]) -> bool:
    """Whether all that the later parts of a condition load is inside of its array in any case."""
    first = next(k for k in range(*choice.condition) if f.code[k].op is ops.BR_IF)
    loads = [k for k in range(first, choice.condition[1]) if f.code[k].op is ops.LOAD]
    if not loads:
        return True
    nest = _around(f, choice, known)
    if nest is None:
        # (Branches leave the loop.)
        return False
    loop = next(loop for loop in reversed(nest.loops) if loop.head < choice.start < loop.end)
    if nest.obstacles or any(other.parent is loop for other in nest.loops):
        return False
    judge = Inside(nest, loop)
    return all(judge.inside(access) for access in nest.accesses if access.position in loads)


def _around(f: Function, choice: _Choice, known: list[Nest]) -> Nest | None:
    """The nest that a choice is in."""
    if not known:
        known += nests(f)
    return next((one for one in known if one.start < choice.start < one.end), None)


class _Truth:
    """What holds where code goes on: an operation on truth values that is made when it is known that it is asked for.

    Attributes:
        op: AND, OR, NOT; COPY of what is in ``register``.
        operands: what it is made of.
        register: where it is, once that has been made.
    """

    __slots__ = ("op", "operands", "register")

    def __init__(self, op: ops.Op, operands: list[_Truth], register: int = NONE) -> None:
        self.op = op
        self.operands = operands
        self.register = register

    def other(self, operand: _Truth, op: ops.Op) -> _Truth | None:
        """What it is made of besides an operand, by such an operation; None where it is not."""
        if self.op is op and operand in self.operands:
            return self.operands[1] if self.operands[0] is operand else self.operands[0]
        return None

    def emit(self, f: Function, line: int, out: list[Instr]) -> int:
        """Where it is."""
        if self.register == NONE:
            args = [operand.emit(f, line, out) for operand in self.operands]
            self.register = f.register(BOOL, "")
            out.append(Instr(self.op, BOOL, self.register, args, 0, line))
        return self.register


#: What always holds, and what never does.
_ALWAYS: Final = _Truth(ops.COPY, [])
_NEVER: Final = _Truth(ops.COPY, [])


def _not(a: _Truth) -> _Truth:
    return a.operands[0] if a.op is ops.NOT else _Truth(ops.NOT, [a])


def _joined(op: ops.Op, a: _Truth, b: _Truth) -> _Truth:
    """Both, or one of them."""
    neutral, absorbing = (_ALWAYS, _NEVER) if op is ops.AND else (_NEVER, _ALWAYS)
    if a is neutral or b is absorbing or a is b:
        return b
    return a if b is neutral or a is absorbing else _Truth(op, [a, b])


def _either(asked: _Truth, then: _Truth, otherwise: _Truth) -> _Truth:
    """What holds where a branch is, by what holds where it leads and where it does not; as few operations as the parts of a condition that is joined by ``and`` and ``or`` have."""
    for op in (ops.OR, ops.AND):
        for one, two, part in ((then, otherwise, asked), (otherwise, then, _not(asked))):
            more = one.other(two, op)
            if more is not None:
                # c ? x | y : y is y | c & x, and c ? x & y : y is y & (x | not c).
                inside = _joined(ops.AND, part, more) if op is ops.OR else _joined(ops.OR, _not(part), more)
                return _joined(op, inside, two)
    if then is _ALWAYS or otherwise is _NEVER:
        return _joined(ops.OR, asked, otherwise) if then is _ALWAYS else _joined(ops.AND, asked, then)
    if then is _NEVER or otherwise is _ALWAYS:
        return _joined(ops.AND, _not(asked), otherwise) if then is _NEVER else _joined(ops.OR, _not(asked), then)
    return _joined(ops.OR, _joined(ops.AND, asked, then), _joined(ops.AND, _not(asked), otherwise))


def _together(f: Function, choice: _Choice, yes: list[Instr], no: list[Instr], uses: list[int]) -> list[Instr]:
    """All parts evaluated, and one ``if``."""
    asked = _asked(f, choice)
    out: list[Instr] = []
    truths: dict[int, _Truth] = {}
    for k in range(*choice.condition):
        instr = f.code[k]
        if instr.dst in asked and _only_opposite(instr, uses):
            truths[instr.dst] = _not(truths.setdefault(instr.args[0], _Truth(ops.COPY, [], instr.args[0])))
        elif instr.op.effect != ops.CONTROL:
            out.append(instr)
    here = _ALWAYS
    labels = [_NEVER]  # by open block, what holds behind it
    for k in range(choice.condition[1] - 1, choice.condition[0] - 1, -1):
        instr = f.code[k]
        if instr.op is ops.END:
            labels.append(here)
        elif instr.op is ops.BLOCK:
            labels.pop()
        elif instr.op is ops.BR_IF:
            holds = instr.args[0]
            here = _either(truths.setdefault(holds, _Truth(ops.COPY, [], holds)), labels[-1 - instr.imm], here)
    # (A part that is True, as it is known while compiling: whatever the others are.)
    if here is _ALWAYS:
        return [*out, *yes]
    if here is _NEVER:
        return [*out, *no]
    line = f.code[choice.start].line
    condition = here.emit(f, line, out)
    return [*out, *_if(condition, yes, no, line)]


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
