"""What an iteration hands on to the next and has made of what it loads alone is made again there, so that nothing is carried and the loop can have lanes.

::

    for i = lo, hi                            if lo < hi
      if a[i] != p: n += 1                      if a[lo] != p: n += 1
      p = a[i]                     →            for i = lo + 1, hi
    end                                           p' = a[i - 1]
                                                  if a[i] != p': n += 1
                                                end
                                                p = a[hi - 1]
                                              end

Compilers of vectors call such a variable a first-order recurrence, and take it from the vector before by a shuffle; to load and compute it again costs less than to tell lanes
apart, where it is short. The first iteration, which has it from in front of the loop, stands by itself. It is done only where lanes come of it, and where the loop stores to none of the arrays that it
loads from again; that these do not overlap is asked in front of it.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import CARRIED, HANDED, PRIVATE, REDUCTION, any_order, scalars
from loopwright.nests.branches.choices import numbers
from loopwright.nests.branches.conversion import LONG, converted
from loopwright.nests.rewriting.apart import as_written, pairs, rewritten
from loopwright.nests.rewriting.unroll import clone, has_loops, read_once, written_first
from loopwright.nests.steps.lanes import adjacent
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["candidates", "loaded_first", "made_from_loads", "own_and_handed", "run"]

#: So many instructions at most are done again, and stand in the body of a loop.
MOST_AGAIN: Final = 12
MOST_BODY: Final = 40


def run(f: Function, target: Target) -> set[int]:
    """Rewrite every such loop of a function that is at a stage before ``addresses``. Returns the indices of the outermost loops of nests that run only where their arrays do not overlap."""
    distinct: set[int] = set()
    if not target.vector_bits or not candidates(f):
        return distinct
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for loop in reversed(nest.loops):
            body = f.code[loop.head + 1 : loop.end]
            if loop.step == 1 and loop.long() and len(body) <= MOST_BODY and not has_loops(body) and _rewrite(nest, loop, body, target, distinct):
                # (What stands in front of it is where it was; other loops of the nest are not.)
                break
    return distinct


def candidates(f: Function) -> bool:
    """Whether a loop gives a variable something that it reads in front of that, in the text; it is asked of every function."""
    depth = 0
    read: set[int] = set()
    variable = f.variable
    for instr in f.code:
        op = instr.op
        if op is ops.FOR:
            read.clear()
            depth += 1
        elif depth:
            if instr.dst in read and instr.dst not in instr.args:
                return True
            read.update([a for a in instr.args if a >= 0 and variable[a]])
    return False


def _rewrite(nest: Nest, loop: NestLoop, body: list[Instr], target: Target, distinct: set[int]) -> bool:
    """Rewrite one loop; False where it stays as it is. ``distinct`` receives the nest's outermost index where it is asked in front of that whether its arrays overlap."""
    f = nest.f
    if any(instr.op.effect == ops.CONTROL and instr.op not in (ops.IF, ops.ELSE, ops.END) for instr in body):
        return False
    found = own_and_handed(nest, loop)
    again = made_from_loads(f, body, found[0]) if found is not None else None
    if found is None or again is None:
        return False
    carried, private = found
    stored = {instr.imm for instr in body if instr.op is ops.STORE}
    over = any(instr.op is ops.LOAD and instr.imm in stored for instr in again)
    if over and not (_element_by_element(nest, loop, stored) and loaded_first(body, again)):
        return False
    before, names = f.code, len(f.types)
    made = _written(f, before[loop.head], body, again, carried, private)
    f.code = before[: loop.head] + made + before[loop.end + 1 :]
    possible = _possible(f, loop.index, target)
    if possible and over:
        f.code = before
        made = _written(f, before[loop.head], body, again, carried, private, True)
        f.code = before[: loop.head] + made + before[loop.end + 1 :]
    if possible:
        asked = [(a, b, False) for a, b, _ in pairs(nest)] if stored else []
        if asked:
            rewritten(f, before, nest.start, nest.end + 1, asked, as_written(f, before, nest.start, nest.end + 1))
            distinct.add(nest.loops[0].index)
        return True
    f.code = before
    del f.types[names:], f.names[names:], f.variable[names:]
    return False


def own_and_handed(nest: Nest, loop: NestLoop) -> tuple[list[int], list[int]] | None:
    """The variables that a loop hands on from one iteration to the next, but for totals, and those that each writes anew; None where there are none of the first, or one of the second is named elsewhere."""
    carried: list[int] = []
    private: list[int] = []
    for scalar in scalars(nest):
        if scalar.loop is loop and scalar.kind in (CARRIED, HANDED):
            carried.append(scalar.variable)
        elif scalar.loop is loop and scalar.kind == PRIVATE:
            first, last = nest.mentions[scalar.variable]
            if first < loop.head or last > loop.end:
                return None
            private.append(scalar.variable)
    return (carried, private) if carried else None


def _element_by_element(nest: Nest, loop: NestLoop, stored: set[int]) -> bool:
    """Whether a loop may go backwards: of each array that it stores to it accesses one element in an iteration, another in each, and nothing but totals that come in any order goes from one to the next."""
    for array in stored:
        accesses = [access for access in nest.accesses if access.array == array and loop.head < access.position < loop.end]
        if not all(access.same(accesses[0]) for access in accesses):
            return False
        moved = 0
        for form in accesses[0].subscripts:
            if form is None:
                return False
            for value in form.terms:
                if nest.indices.get(value) is loop:
                    moved += 1
                elif nest.forms.depends(Form(0, {value: 1}), loop.head, loop.end):
                    return False
        if moved != 1:
            return False
    return all(any_order(nest.f, scalar) for scalar in scalars(nest) if scalar.loop is loop and scalar.kind == REDUCTION)


def loaded_first(body: list[Instr], again: list[Instr]) -> bool:
    """Whether what is loaded again from arrays that are stored to is loaded in front of the first store to them: it is what was there before."""
    stored: set[int] = set()
    late: set[int] = set()
    for instr in body:
        if instr.op is ops.STORE:
            stored.add(instr.imm)
        elif instr.op is ops.LOAD and instr.imm in stored:
            late.add(instr.dst)
    return not any(instr.op is ops.LOAD and instr.dst in late for instr in again)


def made_from_loads(f: Function, body: list[Instr], carried: list[int], most: int = MOST_AGAIN) -> list[Instr] | None:
    """What of a body makes the values that some variables have behind it; None where that needs what another iteration has made, or is much."""
    needed = set(carried)
    kept: list[Instr] = []
    opened: list[int] = []  # per open bracket, from its end on: how much had been kept behind it
    for instr in reversed(body):
        op = instr.op
        if op is ops.END:
            kept.append(instr)
            opened.append(len(kept))
        elif op is ops.ELSE:
            kept.append(instr)
        elif op is ops.IF:
            behind = opened.pop()
            if all(each.op is ops.ELSE for each in kept[behind:]):
                del kept[behind - 1 :]
            else:
                kept.append(instr)
                needed.add(instr.args[0])
        elif instr.dst in needed:
            if (not op.pure and op is not ops.LOAD) or op in LONG:
                return None
            kept.append(instr)
            needed.update(instr.args)
    kept.reverse()
    kept = numbers(f, kept)
    if sum([instr.op.effect != ops.CONTROL for instr in kept]) > most:
        return None
    written = {instr.dst for instr in body}
    # (As if they were read at its end.)
    first = written_first(f, kept + [Instr(ops.COPY, f.types[v], NONE, [v], 0, 0) for v in carried])
    named = {a for instr in kept for a in (*instr.args, instr.dst) if a >= 0 and f.variable[a]}
    return kept if all(a in first for a in named if a in written) else None


def _written(f: Function, head: Instr, body: list[Instr], again: list[Instr], carried: list[int], private: list[int], backwards: bool = False) -> list[Instr]:
    """The loop, with its first iteration in front of it; or ``backwards``, with that one behind it."""
    line = head.line
    out: list[Instr] = []
    lo, hi = read_once(f, head.args[0], line, out), read_once(f, head.args[1], line, out)
    runs = f.register(BOOL)
    out.append(Instr(ops.LT, I64, runs, [lo, hi], 0, line))
    out.append(Instr(ops.IF, VOID, NONE, [runs], 0, line))
    left: list[int] = []
    last = _plus(f, hi, -1, line, out)
    if backwards:
        left = _made_again(f, again, last, head.dst, carried, line, out)
        bounds = [last, lo, f.const(I64, -1)]
    else:
        clone(f, body, {head.dst: lo}, out)
        bounds = [_plus(f, lo, 1, line, out), hi, head.args[2]]
    out.append(Instr(head.op, head.type, head.dst, bounds, head.imm, line, head.source, head.mem, head.loop))
    made = _made_again(f, again, _plus(f, head.dst, -1, line, out), head.dst, carried, line, out)
    inside = {v: f.register(f.types[v], f.names[v], True) for v in private}
    inner = body
    for v, value in zip(carried, made, strict=True):
        if _read_again(body, v):
            inside[v] = f.register(f.types[v], f.names[v], True)
            out.append(Instr(ops.COPY, f.types[v], inside[v], [value], 0, line))
        else:
            # (What it gets in this iteration nobody reads.)
            inside[v] = value
            inner = [instr for instr in inner if instr.dst != v]
    clone(f, inner, inside, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    if backwards:
        clone(f, body, {head.dst: lo}, out)
    else:
        left = _made_again(f, again, last, head.dst, carried, line, out)
    for v, value in zip(carried, left, strict=True):
        out.append(Instr(ops.COPY, f.types[v], v, [value], 0, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return out


def _straight(code: list[Instr], k: int) -> bool:
    """Whether an instruction is in no bracket."""
    return not sum([int(instr.op.opens) - int(instr.op.closes) for instr in code[:k]])


def _read_again(body: list[Instr], variable: int) -> bool:
    """Whether a variable may be read behind a place where it is written."""
    written = False
    before: list[tuple[bool, bool]] = []  # per open bracket: whether it had been written in front of it, and at the end of its first arm
    for instr in body:
        if written and variable in instr.args:
            return True
        if instr.op is ops.IF:
            before.append((written, False))
        elif instr.op is ops.ELSE:
            before[-1] = (before[-1][0], written)
            written = before[-1][0]
        elif instr.op is ops.END:
            _, ahead = before.pop()
            written = written or ahead
        written = written or instr.dst == variable
    return False


def _made_again(f: Function, again: list[Instr], at: int, index: int, carried: list[int], line: int, out: list[Instr]) -> list[int]:
    """Code for what the iteration ``at`` leaves in the variables ``carried``. Returns the registers with that."""
    rename = {index: at}
    writes = [instr.dst for instr in again]
    once = [again[k].dst for k in range(len(again)) if writes.count(again[k].dst) == 1 and _straight(again, k)]
    for v in writes:
        if v >= 0 and f.variable[v] and v not in rename:
            rename[v] = f.register(f.types[v], f.names[v], v not in once)
    clone(f, again, rename, out)
    return [rename[v] for v in carried]


def _plus(f: Function, value: int, more: int, line: int, out: list[Instr]) -> int:
    if value < 0:
        return f.const(I64, int(f.const_values[~value]) + more)
    made = f.register(I64)
    out.append(Instr(ops.ADD, I64, made, [value, f.const(I64, more)], 0, line))
    return made


def _possible(f: Function, index: int, target: Target) -> bool:
    """Whether the loop that counts in a register may run over lanes, as it is or with choices instead of branches."""
    nest = next((one for one in nests(f) if any(loop.index == index for loop in one.loops)), None)
    if nest is None or nest.obstacles:
        return False
    if any(loop.index == index for loop in adjacent(nest, scalars(nest), target)):
        return True
    loop = next(loop for loop in nest.loops if loop.index == index)
    before = f.code
    made = converted(nest, loop)
    if made is None:
        return False
    f.code = before[: loop.head + 1] + made + before[loop.end :]
    changed = next(one for one in nests(f) if any(loop.index == index for loop in one.loops))
    found = any(loop.index == index for loop in adjacent(changed, scalars(changed), target))
    f.code = before
    return found
