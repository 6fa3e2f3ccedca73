"""Rows whose elements need the one before, and much else: the rest is computed ahead in lanes, block by block, and what is waited for follows number by number.

::

    for j = 1, m                                     for first = 1, m, 16
      u[i, j] = b[i, j] + c[i, j] * u[i, j - 1]        for j = first, min(first + 16, m): kept[j - first] = b[i, j] + d[i, j] * u[i, j + 1] …
                + d[i, j] * u[i, j + 1] …      →       for j = first, min(first + 16, m): s = kept[j - first] + c[i, j] * s; u[i, j] = s

A relaxation with coefficients of its own at each point is such a nest: it has so much to load that its rows side by side, walked by diagonals (``skew.py``), take longer than one row that waits for a
product and a sum from element to element. So it is done where that costs less by the bounds; where the loop is not in another it is the only way to have lanes. What goes from one iteration to the
next is in a variable for that (``carry.py``), and what does not wait for it comes first (loop distribution: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.7).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.recurrences import reassociate
from loopwright.nests.splitting.bands import in_bands
from loopwright.nests.splitting.cut_rows import SHORTEST, Behind, ordered_part
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.candidates import Jam, Wave, best_changes, innermost_loops
from loopwright.nests.steps.carry import carried_one, rereads
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["run"]

#: Iterations of a block: so few that a core begins what the next one computes in lanes while it waits for this one (measured on Sapphire Rapids: nine points of f64 take 1.4 times as long by 64).
ROWS: Final = 16
#: It is done if no more than this of the time is left. (Integers wait so short for each other that a core has begun the rest meanwhile.)
LEFT: Final = 0.78
#: Loops of fewer instructions have little beside what they wait for; those of more are not looked at.
LEAST: Final = 12
MOST: Final = 200


def run(f: Function, found: list[Nest], target: Target, core: Core, written: set[int]) -> dict[int, str]:
    """Take such loops of a function apart.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        core: its core.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits:
        return done
    for nest in reversed(found):
        loops = [] if nest.obstacles else [loop for loop in innermost_loops(nest) if _fits(f, loop)]
        if not loops or not rereads(nest) or too_many(nest):
            continue
        its = dependences(nest)
        for loop in loops:
            index = _take_apart(nest, loop, its, target, core, written)
            if index >= 0:
                done[index] = f"{nest.name(loop)} cut in front of what each iteration needs of the one before, {ROWS} at a time"
                break
    return done


def _fits(f: Function, loop: NestLoop) -> bool:
    body = f.code[loop.head + 1 : loop.end]
    return loop.step == 1 and loop.reaches(SHORTEST) and LEAST <= len(body) <= MOST and not any(instr.op.effect in (ops.CONTROL, ops.CALLS) for instr in body)


def _take_apart(nest: Nest, loop: NestLoop, found: list[Dependence], target: Target, core: Core, written: set[int]) -> int:
    """Rewrite a loop, if that is for the better. Returns the index of the outermost loop of what was made; -1 where it stays."""
    f = nest.f
    code, arrays, names = f.code, len(f.arrays), len(f.types)
    carried = carried_one(nest, loop, found)
    if carried is None or not f.types[carried[0]].is_float:
        del f.types[names:], f.names[names:], f.variable[names:]
        return -1
    variable, made = carried
    f.code = [*code[: loop.head], *made, *code[loop.end + 1 :]]
    reassociate.run(f)
    begins = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR and instr.dst == loop.index)
    start = loop.head + next(k for k, instr in enumerate(made) if instr.op is ops.FOR)
    front = made[: start - loop.head]
    end = next(k for k in range(begins, len(f.code)) if f.code[k].op is ops.END)
    # (Elsewhere the code is as it was.)
    f.code = [*code[: loop.head], *front, f.code[begins], *_waits_last(f, f.code[begins + 1 : end], variable), *code[loop.end :]]
    changed = next((one for one in nests(f) if any(other.index == loop.index for other in one.loops)), None)
    again = next(other for other in changed.loops if other.index == loop.index) if changed is not None else None
    parts = ordered_part(changed, again) if changed is not None and again is not None and not changed.obstacles and not too_many(changed) else None
    if changed is not None and again is not None and parts is not None:
        cut = Behind(changed, again, *parts)
        cut.rows = ROWS
        if cut.possible(target) and cut.gains(target, core) and _is_better(nest, loop, cut, found, target, core, code):
            first, instead = cut.cut()
            f.code = code
            replaced(nest, loop, [*front, *instead], written)
            return first if loop is nest.loops[0] else nest.loops[0].index
    f.code = code
    del f.arrays[arrays:], f.types[names:], f.names[names:], f.variable[names:]
    return -1


def _waits_last(f: Function, body: list[Instr], variable: int) -> list[Instr]:
    """The body of a loop with what does not wait for a variable in front."""
    late = {variable}
    before = 0
    while len(late) != before:
        before = len(late)
        stored: set[int] = set()
        for instr in body:
            if _is_late(instr, late, stored):
                late.update([r for r in (instr.dst, *instr.args) if r >= 0 and (r == instr.dst or f.variable[r])])
            if instr.op is ops.STORE:
                stored.add(instr.imm)
    first: list[Instr] = []
    last: list[Instr] = []
    stored = set()
    for instr in body:
        (last if _is_late(instr, late, stored) else first).append(instr)
        if instr.op is ops.STORE:
            stored.add(instr.imm)
    return first + last


def _is_late(instr: Instr, late: set[int], stored: set[int]) -> bool:
    """Whether an instruction waits for what is in some registers, stores, or loads what may have been stored."""
    return instr.op is ops.STORE or (instr.op is ops.LOAD and instr.imm in stored) or instr.dst in late or any(a in late for a in instr.args)


def _is_better(nest: Nest, loop: NestLoop, cut: Behind, found: list[Dependence], target: Target, core: Core, code: list[Instr]) -> bool:
    """Whether a cut loop takes less than rows side by side."""
    parts, whole = cut.cycles(core, target)
    if loop.parent is None or parts > LEFT * whole:
        return parts <= LEFT * whole
    f = nest.f
    changed, record = f.code, nest.record
    f.code, nest.record = code, None
    variables = scalars(nest)
    changes = best_changes(nest, target, core, found, variables, [])
    # (Rows in bands may be walked side by side.)
    banded = not changes and loop is nest.loops[-1] and in_bands(nest, found, variables) is not None
    f.code, nest.record = changed, record
    return not banded and all(parts <= LEFT * change.interval for change in changes if isinstance(change, (Jam, Wave)) and change.innermost is loop)
