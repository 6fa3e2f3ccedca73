"""Branches that are operations in disguise, as these, so that what looks for the greatest of many, or stores one of two values, is seen to do that.

``if x > m: m = x`` is ``m = max(m, x)``, and so is ``m = x if x > m else m``: the operations of the representation compare as Python's ``min`` and ``max`` do (``max(m, x)`` is ``x if x > m else
m``), also for NaN and zeros. A further part of a condition (``q = x == 32 or x == 10``) that loads nothing new is an operation on truth values. And an ``if`` whose arms store to one
element is a choice between the values, where they are cheap and nothing is loaded for them that was not before.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.equality import same_operation
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.branches.bounds import normalized, toward
from loopwright.nests.branches.conversion import LONG, LONGEST
from loopwright.types import BOOL

__all__ = ["Extreme", "earlier", "extreme", "numbers", "run"]


def run(f: Function, start: int = 0, end: int | None = None) -> bool:
    """Rewrite every such branch of a function, or of what is between two positions of it. Returns whether there was one."""
    code = f.code[start:end]
    if not any(instr.op is ops.IF for instr in code):
        return False
    around = (f.code[:start], f.code[end:] if end is not None else [])
    code = normalized(f, code)
    uses = [0] * len(f.types)
    for part in (code, *around):
        for instr in part:
            for a in instr.args:
                if a >= 0:
                    uses[a] += 1
    out: list[Instr] = []
    made = False
    k = 0
    while k < len(code):
        picked = extreme(f, code, k) if code[k].op is ops.IF else None
        stores = _stores(f, code, k) if code[k].op is ops.IF and picked is None else 0
        again = _stored_again(f, code, k) if code[k].op is ops.IF and picked is None and not stores else None
        joined = _further(f, code, k, out) if code[k].op is ops.IF and picked is None and not stores and again is None else 0
        if joined:
            _join(f, code, k, joined, out)
            k = joined + 1
            made = True
        elif stores:
            _choose(f, code, k, stores, out)
            k = stores + 1
            made = True
        elif again is not None:
            last_at, before = again
            out += code[k + 1 : last_at - 1]
            last = code[last_at - 1]
            value = f.register(last.type, "")
            out.append(Instr(ops.SELECT, last.type, value, [code[k].args[0], last.args[0], before], 0, code[k].line))
            out.append(Instr(ops.STORE, last.type, NONE, [value, *last.args[1:]], last.imm, last.line))
            k = last_at + 1
            made = True
        elif picked is not None:
            if picked.begins:
                out.pop()
            if uses[code[k].args[0]] == 1:
                out.pop()
            out.append(picked.made)
            k = picked.end + 1
            made = True
        else:
            out.append(code[k])
            k += 1
        if _handed_on(f, out[-1], code, k, uses):
            out[-1].dst = code[k].dst
            k += 1
            made = True
    f.code = [*around[0], *out, *around[1]]
    return made


def _handed_on(f: Function, last: Instr, code: list[Instr], k: int, uses: list[int]) -> bool:
    """Whether an operation that has just been made is for the copy at ``k`` alone."""
    if (last.op is not ops.MIN and last.op is not ops.MAX) or not f.variable[last.dst] or k == len(code):
        return False
    return code[k].op is ops.COPY and code[k].args[0] == last.dst and uses[last.dst] == 1


class Extreme:
    """A branch that is a minimum or maximum.

    Attributes:
        made: the operation.
        end: where the branch ends.
        begins: whether the variable gets the value that it has otherwise right in front of the branch.
    """

    __slots__ = ("begins", "end", "made")

    def __init__(self, made: Instr, end: int, begins: bool) -> None:
        self.made = made
        self.end = end
        self.begins = begins


def extreme(f: Function, code: list[Instr], k: int) -> Extreme | None:
    """The branch that begins at ``k``, if it gives a variable one or the other of the two values that have been compared; None for others.

    ``if x > m: m = x``, ``v = x if x > m else m``, and ``v = m`` with ``if x > m: v = x``.
    """
    begins = k > 1 and code[k - 1].op is ops.COPY and code[k - 1].dst >= 0 and f.variable[code[k - 1].dst]
    test = code[k - 1 - begins] if k > begins else code[k]
    if test.dst != code[k].args[0] or test.dst < 0 or f.variable[test.dst]:
        return None
    arm = _arm(f, code, k, k + 1)
    if arm is None:
        return None
    variable, value, end = arm
    if code[end].op is ops.ELSE:
        other = _arm(f, code, k, end + 1)
        if other is None or other[0] != variable or begins:
            return None
        _, otherwise, end = other
    elif begins:
        otherwise = code[k - 1].args[0]
        if code[k - 1].dst != variable or variable in test.args:
            return None
    else:
        otherwise = variable
    if code[end].op is not ops.END or variable == value:
        return None
    op = toward(f, test, value, otherwise)
    return None if op is None else Extreme(Instr(op, test.type, variable, [otherwise, value], 0, code[k + 1].line), end, begins)


def _arm(f: Function, code: list[Instr], k: int, start: int) -> tuple[int, int, int] | None:
    """Of an arm of the branch at ``k``, which gives a variable a value and computes nothing that has not been in front of the branch: variable, value, where it ends."""
    known: dict[int, int] = {}
    for n in range(start, len(code)):
        instr = code[n]
        dst = instr.dst
        if not instr.op.pure and instr.op is not ops.LOAD:
            return None
        copies = instr.op is ops.COPY
        same = known.get(instr.args[0], instr.args[0]) if copies else earlier(f, code, k, instr, known)
        if not copies and same < 0:
            return None
        if f.variable[dst]:
            return (dst, same, n + 1) if code[n + 1].op in (ops.ELSE, ops.END) else None
        known[dst] = same
    return None


def _stores(f: Function, code: list[Instr], k: int) -> int:
    """Where an ``if`` at ``k`` ends whose arms are a store to the same element each, behind a little arithmetic; 0 where it is none of these."""
    stores: list[Instr] = []
    n = k + 1
    while n < len(code) and n - k <= LONGEST:
        instr = code[n]
        op = instr.op
        if op is ops.STORE:
            if len(stores) > 1 or code[n + 1].op is not (ops.END if stores else ops.ELSE):
                return 0
            stores.append(instr)
        elif op is ops.END:
            if len(stores) != 2 or stores[0].imm != stores[1].imm or stores[0].args[1:] != stores[1].args[1:] or stores[0].type is not stores[1].type:
                return 0
            return n
        elif op is ops.LOAD and not f.variable[instr.dst] and earlier(f, code, k, instr, {}) >= 0:
            pass
        elif op is not ops.ELSE and (not op.pure or op in LONG or f.variable[instr.dst]):
            return 0
        n += 1
    return 0


def numbers(f: Function, code: list[Instr]) -> list[Instr]:
    """Code in which what is 1 where a condition holds, and 0 elsewhere, is made without a branch."""
    out: list[Instr] = []
    k = 0
    while k < len(code):
        if code[k].op is ops.IF and _truth(f, code, k):
            _as_number(f, code, k, out)
            k += 5
        else:
            out.append(code[k])
            k += 1
    return out


def _truth(f: Function, code: list[Instr], k: int) -> bool:
    """Whether an ``if`` at ``k`` gives a variable 1 in one arm and 0 in the other, and does nothing else."""
    arms = code[k + 1 : k + 5]
    if [instr.op for instr in arms] != [ops.COPY, ops.ELSE, ops.COPY, ops.END] or arms[0].dst != arms[2].dst or not arms[0].type.is_integer:
        return False
    values = [f.const_values[~instr.args[0]] if instr.args[0] < 0 else None for instr in (arms[0], arms[2])]
    return values in ([1, 0], [0, 1])


def _as_number(f: Function, code: list[Instr], k: int, out: list[Instr]) -> None:
    """What the condition is as a number."""
    condition, first = code[k].args[0], code[k + 1]
    if not f.const_values[~first.args[0]]:
        holds = condition
        condition = f.register(BOOL)
        out.append(Instr(ops.NOT, BOOL, condition, [holds], 0, code[k].line))
    out.append(Instr(ops.CONVERT, first.type, first.dst, [condition], 0, first.line, BOOL))


def _further(f: Function, code: list[Instr], k: int, out: list[Instr]) -> int:
    """Where an ``if`` at ``k`` ends that makes a further part of a condition, where the part before says that it counts: what it loads has been loaded. 0 where it is none of these.

    ``v = copy a``, ``if a`` or ``if not a``, ``v = copy b``: what is in front stands at the end of ``out``.
    """
    end = k + 1
    while end < len(code) and end - k <= LONGEST and code[end].op is not ops.END:
        instr = code[end]
        op = instr.op
        if op is ops.LOAD:
            if f.variable[instr.dst] or earlier(f, code, k, instr, {}) < 0:
                return 0
        elif not op.pure or op in LONG or (f.variable[instr.dst] and code[end + 1].op is not ops.END):
            return 0
        end += 1
    last = code[end - 1]
    if code[end].op is not ops.END or last.op is not ops.COPY or last.type is not BOOL or not f.variable[last.dst]:
        return 0
    if any(last.dst in instr.args for instr in code[k + 1 : end]):
        return 0
    return end if _part(f, code[k].args[0], last.dst, out) is not None else 0


def _part(f: Function, condition: int, variable: int, out: list[Instr]) -> tuple[Op, int] | None:
    """How a further part is joined to the one in front, which a variable is a copy of, and where that copy is in ``out``; None where it is none."""
    asked = out[-1] if out and out[-1].dst == condition and out[-1].op is ops.NOT else None
    place = len(out) - 1 - (asked is not None)
    if place < 0 or out[place].op is not ops.COPY or out[place].dst != variable:
        return None
    part = out[place].args[0]
    if part < 0 or f.variable[part]:
        return None
    if asked is not None:
        return (ops.OR, place) if asked.args[0] == part else None
    return (ops.AND, place) if condition == part else None


def _join(f: Function, code: list[Instr], k: int, end: int, out: list[Instr]) -> None:
    """Both parts, one operation."""
    last = code[end - 1]
    found = _part(f, code[k].args[0], last.dst, out)
    assert found is not None
    op, place = found
    first = out.pop(place)
    for instr in code[k + 1 : end - 1]:
        out.append(Instr(ops.COPY, instr.type, instr.dst, [earlier(f, code, k, instr, {})], 0, instr.line) if instr.op is ops.LOAD else instr)
    both = f.register(BOOL)
    out.append(Instr(op, BOOL, both, [first.args[0], last.args[0]], 0, last.line))
    out.append(Instr(ops.COPY, BOOL, last.dst, [both], 0, last.line))


def _stored_again(f: Function, code: list[Instr], k: int) -> tuple[int, int] | None:
    """Where an ``if`` at ``k`` ends that is nothing but a store, behind a little arithmetic, to an element that has been stored before in any case; and what that was. None for others."""
    end = k + 1
    while end < len(code) and end - k <= LONGEST and code[end].op.pure and code[end].op not in LONG and not f.variable[code[end].dst]:
        end += 1
    last = code[end]
    if last.op is not ops.STORE or code[end + 1].op is not ops.END:
        return None
    made = {instr.dst: instr for instr in code[k + 1 : end]}
    for n in range(k - 1, -1, -1):
        other = code[n]
        if other.op is ops.STORE:
            same = other.imm == last.imm and other.type is last.type
            alike = same and all(_alike(f, code, n, a, b, made) for a, b in zip(other.args[1:], last.args[1:], strict=True))
            value = other.args[0]
            return (end + 1, value) if alike and (value < 0 or not f.variable[value]) else None
        if other.op is not ops.IF and other.op.effect not in (ops.PURE, ops.READS):
            return None
    return None


def _alike(f: Function, code: list[Instr], n: int, a: int, b: int, made: dict[int, Instr]) -> bool:
    """Whether a subscript of a store at ``n``, or a part of it, is that of a later one, which may be computed in between, or by ``made``."""
    if a == b:
        return a < 0 or not f.variable[a]
    if a < 0 or b < 0 or f.variable[a] or f.variable[b]:
        return False
    later = made.get(b)
    for k in range(n + 1, len(code)):
        if later is not None or code[k].op is ops.STORE:
            break
        if code[k].dst == b:
            later = code[k]
    earlier = next((code[k] for k in range(n - 1, -1, -1) if code[k].dst == a), None)
    if earlier is None or later is None or not earlier.op.pure or not same_operation(earlier, later):
        return False
    return all(_alike(f, code, n, x, y, made) for x, y in zip(earlier.args, later.args, strict=True))


def _choose(f: Function, code: list[Instr], k: int, end: int, out: list[Instr]) -> None:
    """Both arms' arithmetic, and one store."""
    stores = [instr for instr in code[k + 1 : end] if instr.op is ops.STORE]
    for instr in code[k + 1 : end]:
        if instr.op is ops.LOAD:
            out.append(Instr(ops.COPY, instr.type, instr.dst, [earlier(f, code, k, instr, {})], 0, instr.line))
        elif instr.op.pure:
            out.append(instr)
    first, second = stores
    chosen = f.register(first.type, "")
    out.append(Instr(ops.SELECT, first.type, chosen, [code[k].args[0], first.args[0], second.args[0]], 0, code[k].line))
    out.append(Instr(ops.STORE, first.type, NONE, [chosen, *first.args[1:]], first.imm, first.line))


def earlier(f: Function, code: list[Instr], k: int, instr: Instr, known: dict[int, int]) -> int:
    """The register that holds what an instruction computes, made in the same stretch of code in front of ``k``; -1 for none."""
    args = [known.get(a, a) for a in instr.args]
    for n in range(k - 1, -1, -1):
        other = code[n]
        if other.op.effect not in (ops.PURE, ops.READS):
            return -1
        if other.dst >= 0 and other.dst in args and f.variable[other.dst]:
            return -1
        if (
            other.op is instr.op
            and other.type is instr.type
            and other.source is instr.source
            and other.imm == instr.imm
            and other.args == args
            and not f.variable[other.dst]
        ):
            return other.dst
    return -1
