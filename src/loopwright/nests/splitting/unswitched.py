"""Conditions that a loop does not change and that are looked up in it, asked in front of the loop, where one of the loops that it becomes has lanes for it.

::

    for j = lo, hi                              if lo < hi
      if b[i] == 3                                if b[i] == 3
        c[i, j] = c[i, j - 1] | c[i - 1, j]         for j = lo, hi: c[i, j] = c[i, j - 1] | c[i - 1, j]
      else                               →        else
        c[i, j] = a[j] == b[i]                      for j = lo, hi: c[i, j] = a[j] == b[i]
      end                                         end
    end                                         end

(Loop unswitching: F. Allen and J. Cocke, "A catalogue of optimizing transformations", 1972. Conditions that are computed of indices and numbers alone are taken out of all loops: ``conditions.py``.) What is loaded for it must not be stored to in the loop, and
that its array overlaps none of those is asked in front of the nest.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting.folding import Folded
from loopwright.nests.rewriting.unroll import clone, has_loops, read_once
from loopwright.nests.splitting.conditions import append_loop, decides, own_variables, separable
from loopwright.nests.splitting.distribute import in_lanes_alone, replaced
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["looked_up", "run"]

#: So many loops are doubled, of so many instructions at most.
MOST: Final = 4
LONGEST: Final = 80


def run(f: Function, target: Target, written: set[int]) -> dict[int, str]:
    """Double such loops of a function.

    Args:
        f: the function, at a stage before ``addresses``.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not decides(f.code):
        return done
    for _ in range(MOST):
        found = next((one for one in (_found(nest, target, written) for nest in reversed(nests(f))) if one is not None), None)
        if found is None:
            break
        nest, loop, position, needed = found
        name = nest.name(loop)
        done[_rewrite(nest, loop, position, needed, written)] = f"{name} for each way that a condition leads which it does not change"
    return done


def _found(nest: Nest, target: Target, written: set[int]) -> tuple[Nest, NestLoop, int, list[int]] | None:
    """A loop of a nest that is to be doubled, where its condition is tested, and where what that is made of is computed."""
    code = nest.f.code
    if nest.obstacles or nest.loops[0].index in written:
        return None
    for loop in reversed(nest.loops):
        body = code[loop.head + 1 : loop.end]
        if loop.end - loop.head > LONGEST or loop.step != 1 or not loop.long() or has_loops(body) or not separable(nest, loop):
            continue
        depth = 0
        for k in range(loop.head + 1, loop.end):
            instr = code[k]
            if instr.op is ops.IF and not depth:
                needed = looked_up(nest, loop, instr.args[0])
                if needed is not None and not too_many(nest, True) and _gains(nest, loop, instr.args[0], target):
                    return nest, loop, k, needed
            depth += int(instr.op.opens) - int(instr.op.closes)
    return None


def looked_up(nest: Nest, loop: NestLoop, condition: int) -> list[int] | None:
    """Where a condition and its operands are computed in a loop, in order; None where they change with it, nothing is loaded, or what is loaded may have been stored in it."""
    f = nest.f
    code = f.code
    stored = {instr.imm for instr in code[loop.head + 1 : loop.end] if instr.op is ops.STORE}
    found: list[int] = []
    wanted = [condition]
    loads = False
    while wanted:
        a = wanted.pop()
        if a < 0:
            continue
        if a == loop.index or (f.variable[a] and any(instr.dst == a for instr in code[loop.head + 1 : loop.end])):
            return None
        at = nest.forms.places.get(a, -1)
        if f.variable[a] or at <= loop.head or at in found:
            continue
        instr = code[at]
        if instr.op is ops.LOAD:
            if instr.imm in stored or not _straight(code, loop, at):
                return None
            loads = True
        elif not instr.op.pure or instr.op.effect == ops.CONTROL:
            return None
        found.append(at)
        wanted += instr.args
    return sorted(found) if loads else None


def _straight(code: list[Instr], loop: NestLoop, at: int) -> bool:
    """Whether every iteration comes to a place."""
    return not sum([int(instr.op.opens) - int(instr.op.closes) for instr in code[loop.head + 1 : at]])


def _gains(nest: Nest, loop: NestLoop, condition: int, target: Target) -> bool:
    """Whether a loop has no lanes as it is, and has where the condition is known."""
    code = nest.f.code
    if _has_lanes(nest, loop, code[loop.head : loop.end + 1], target):
        return False
    for value in (True, False):
        out: list[Instr] = []
        _emit(nest, loop, condition, value, out)
        if _has_lanes(nest, loop, out, target):
            return True
    return False


def _has_lanes(nest: Nest, loop: NestLoop, made: list[Instr], target: Target) -> bool:
    """Whether a loop in the place of another has lanes; or adds up through memory what else has."""
    if in_lanes_alone(nest, loop, made, target):
        return True
    apart = _without_the_last(nest.f, made)
    return apart is not None and in_lanes_alone(nest, loop, apart, target)


def _without_the_last(f: Function, made: list[Instr]) -> list[Instr] | None:
    """A loop that combines an element with the one stored before (``c[j] = max(c[j - 1], x)``), which lanes do by themselves (``running_sums.py``), as if it only stored what it combines with that; None for others."""
    by = {instr.dst: k for k, instr in enumerate(made) if instr.dst >= 0 and not f.variable[instr.dst]}
    stores = [k for k, instr in enumerate(made) if instr.op is ops.STORE]
    if len(stores) != 1:
        return None
    store = made[stores[0]]
    combined = made[by.get(store.args[0], 0)]
    if combined.op.reduction is None or not (combined.type.is_integer or f.options.fastmath):
        return None
    for last, other in (combined.args, combined.args[::-1]):
        load = made[by.get(last, 0)]
        if load.op is not ops.LOAD or load.imm != store.imm or load.args[:-1] != store.args[1:-1] or sum([instr.args.count(last) for instr in made]) != 1:
            continue
        before = made[by.get(load.args[-1], 0)]
        if before.op is ops.SUB and before.args[0] == store.args[-1] == made[0].dst and before.args[1] < 0 and f.const_values[~before.args[1]] == 1:
            changed = store.copy()
            changed.args = [other, *store.args[1:]]
            return [changed if instr is store else instr for instr in made if instr is not load and instr is not combined]
    return None


def _emit(nest: Nest, loop: NestLoop, condition: int, value: bool, out: list[Instr]) -> None:
    """The loop, where a condition is known."""
    f = nest.f
    folded = Folded(f, f.code, loop.head)
    body = folded.body({condition: value})
    folded.part()
    head = f.code[loop.head]
    append_loop(f, head, head.args[0], head.args[1], body, own_variables(nest, loop), out)


def _rewrite(nest: Nest, loop: NestLoop, position: int, needed: list[int], written: set[int]) -> int:
    """Double a loop. Returns the index of the outermost loop of what was made."""
    f = nest.f
    code = f.code
    head = code[loop.head]
    condition = code[position].args[0]
    line = code[position].line
    out: list[Instr] = []
    lo, hi = read_once(f, head.args[0], head.line, out), read_once(f, head.args[1], head.line, out)
    runs = f.register(BOOL)
    out.append(Instr(ops.LT, I64, runs, [lo, hi], 0, head.line))
    out.append(Instr(ops.IF, VOID, NONE, [runs], 0, head.line))
    rename: dict[int, int] = {}
    clone(f, [code[k] for k in needed], rename, out)
    first = len(out)
    out.append(Instr(ops.IF, VOID, NONE, [rename[condition]], 0, line))
    _emit(nest, loop, condition, True, out)
    out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
    _emit(nest, loop, condition, False, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, head.line))
    replaced(nest, loop, out, written)
    return out[first + 1].dst if loop is nest.loops[0] else nest.loops[0].index
