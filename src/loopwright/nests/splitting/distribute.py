"""A loop that holds several others made one loop for each of them, where one is better off alone.

::

    for k                            for k
      for i = 1, n: A                  for i = 1, n: A
      for i = n - 1, 0, -1: B   →    end
    end                              for k
                                       for i = n - 1, 0, -1: B
                                     end

Only where it is by itself in the loop around it can a loop that waits for its own results have its rows walked together (``skew.py``), or a product be made in
blocks. What a later part does must not be needed by an earlier one in another iteration (loop distribution: R. Allen and K. Kennedy, Optimizing Compilers for
Modern Architectures, 2001, section 5.7; parts stay in their order, so that two between which there is no way back are told by single dependences). Others stay
together, for what is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, Run, nests
from loopwright.nests.analysis.scalars import CARRIED, PRIVATE, Scalar, any_order, scalars
from loopwright.nests.branches.conversion import converted
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import clone, has_loops
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.steps.candidates import best_changes
from loopwright.nests.steps.lanes import free, may_be_in_lanes
from loopwright.nests.steps.reverse import upwards
from loopwright.nests.steps.small_indices import by_small_indices
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["Unit", "alone", "improves", "in_lanes_alone", "may_gain", "parts_of", "replaced", "run", "units_of", "waits"]

#: A nest has so many loops at least.
FEWEST: Final = 3
#: So many loops of a function are distributed.
MOST: Final = 4


class Unit:
    """What stays together in a loop's body: a bracket, or an instruction that is more than arithmetic.

    Attributes:
        start, end: positions, of the first instruction and behind the last.
        loop: the loop that it is, or None.
    """

    __slots__ = ("end", "loop", "start")

    def __init__(self, start: int, end: int, loop: NestLoop | None) -> None:
        self.start = start
        self.end = end
        self.loop = loop


def run(f: Function, found: list[Nest], target: Target, core: Core) -> set[int]:
    """Distribute the loops of a function where that is for the better.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        core: its core.

    Returns:
        The indices of the outermost loops that stand beside those made, as written, for arrays that overlap.
    """
    written: set[int] = set()
    for _ in range(MOST):
        before = f.code
        for nest in reversed(found):
            if not nest.obstacles and nest.loops[0].index not in written and len(nest.loops) >= FEWEST and _distribute(nest, target, core, written):
                break
        if f.code is before:
            break
        found = nests(f)
    return written


def _distribute(nest: Nest, target: Target, core: Core, written: set[int]) -> bool:
    """Distribute the outermost loop of a nest that gains by it; False where none does."""
    wanted = [(loop, units) for loop in nest.loops for units in [units_of(nest, loop)] if _several(nest, loop, units)]
    if not wanted or too_many(nest):
        return False
    found = dependences(nest)
    variables = scalars(nest)
    for loop, units in wanted:
        parts = _parts(nest, loop, units, found, variables)
        if len(parts) > 1:
            parts = _merged(nest, target, core, loop, parts, found, variables)
        if len(parts) > 1:
            _rewrite(nest, loop, parts, written)
            return True
    return False


def units_of(nest: Nest, loop: NestLoop) -> list[Unit]:
    """The units of a loop's body; what is not in any is arithmetic, of which each part can have its own."""
    code = nest.f.code
    loops = {inner.head: inner for inner in nest.loops if inner.parent is loop}
    found: list[Unit] = []
    depth = 0
    start = loop.head + 1
    for k in range(loop.head + 1, loop.end):
        op = code[k].op
        if op.opens and not op.closes:
            if depth == 0:
                start = k
            depth += 1
        elif op is ops.END:
            depth -= 1
            if depth == 0:
                found.append(Unit(start, k + 1, loops.get(start)))
        elif not depth and (not op.pure or op.effect == ops.CONTROL or nest.f.variable[code[k].dst]):
            found.append(Unit(k, k + 1, None))
    return found


def _several(nest: Nest, loop: NestLoop, units: list[Unit]) -> bool:
    """Whether a loop may gain: it holds two others, or one that holds more, and something else besides; one of them is of rows, and could be better off alone."""
    inner = [unit.loop for unit in units if unit.loop is not None]
    if not loop.step or not inner or len(units) < 2 or not (len(inner) > 1 or any(other.parent is inner[0] for other in nest.loops)):
        return False
    return any(may_gain(nest, loop, other) for other in inner)


def may_gain(nest: Nest, loop: NestLoop, inner: NestLoop) -> bool:
    """Whether all that a loop stores is elsewhere in the next iteration of the one around it, and it holds another, or reads what it has written."""
    accesses = [access for access in nest.accesses if inner.head < access.position < inner.end]
    stored = {access.array for access in accesses if access.store}
    if not stored or not all(_moves(nest, loop, access) for access in accesses if access.store):
        return False
    if any(other.parent is inner for other in nest.loops):
        return any(not access.store and not _moves(nest, loop, access) for access in accesses)
    if any(not access.store and access.array in stored for access in accesses):
        return True
    written = {instr.dst for instr in nest.f.code[inner.head : inner.end] if instr.dst >= 0 and nest.f.variable[instr.dst]}
    return any(nest.mentions[variable][0] < inner.head for variable in written)


def parts_of(nest: Nest, loop: NestLoop, found: list[Dependence], variables: list[Scalar]) -> list[list[Unit]]:
    """What a loop's body may be made parts of, each in a loop of its own, in their order."""
    return _parts(nest, loop, units_of(nest, loop), found, variables)


def _parts(nest: Nest, loop: NestLoop, units: list[Unit], found: list[Dependence], variables: list[Scalar]) -> list[list[Unit]]:
    """The units in as many parts as there may be, in their order."""
    together = [False] * len(units)  # whether a unit has to be in one part with the next

    def join(first: int, last: int) -> None:
        for k in range(first, last):
            together[k] = True

    for dependence in found:
        if loop not in dependence.loops or not all(c.low <= 0 <= c.high for c in dependence.vector[: loop.depth]):
            continue
        source, sink = _unit_at(units, dependence.source.position), _unit_at(units, dependence.sink.position)
        if source > sink >= 0:
            join(sink, source)
    totals = {scalar.variable for scalar in variables if scalar.loop is loop and any_order(nest.f, scalar)}
    for register, mentioned in _shared(nest, loop, units).items():
        if not nest.f.variable[register]:
            join(mentioned[0], mentioned[-1])
            continue
        if register in totals:
            # (What each part adds may come in any order.)
            continue
        first, last = nest.mentions[register]
        private = any(s.variable == register and s.loop is loop and s.kind == PRIVATE for s in variables)
        if not private or first < loop.head or last > loop.end:
            join(mentioned[0], mentioned[-1])
            continue
        # Each time that it is written anew another part may begin.
        begun = mentioned[0]
        for k, number in enumerate(mentioned):
            instr = nest.f.code[units[number].start]
            # (What reads it may do so by arithmetic in front of it.)
            if k and units[number].end == units[number].start + 1 and instr.dst == register and register not in instr.args:
                begun = number
            join(begun, number)
    parts: list[list[Unit]] = [[]]
    for number, unit in enumerate(units):
        parts[-1].append(unit)
        if not together[number] and number < len(units) - 1:
            parts.append([])
    return parts


def _unit_at(units: list[Unit], position: int) -> int:
    for number, unit in enumerate(units):
        if unit.start <= position < unit.end:
            return number
    return -1


def _shared(nest: Nest, loop: NestLoop, units: list[Unit]) -> dict[int, list[int]]:
    """Per register that units write: the units that mention it, in order, if there are several. What arithmetic between reads of it counts for all behind."""
    code = nest.f.code
    made: set[int] = set()
    for unit in units:
        made.update(instr.dst for instr in code[unit.start : unit.end] if instr.dst >= 0)
    through: dict[int, set[int]] = {}  # register made by arithmetic between the units -> what units make that it depends on
    mentioned: dict[int, list[int]] = {}
    number = 0
    for k in range(loop.head + 1, loop.end):
        while number < len(units) and k >= units[number].end:
            number += 1
        instr = code[k]
        inside = number < len(units) and units[number].start <= k
        read = {b for a in instr.args for b in through.get(a, {a} & made)}
        if inside:
            for register in read | ({instr.dst} & made):
                at = mentioned.setdefault(register, [])
                if not at or at[-1] != number:
                    at.append(number)
        elif read:
            through[instr.dst] = read
    return {register: at for register, at in mentioned.items() if len(at) > 1}


def _merged(
    nest: Nest, target: Target, core: Core, loop: NestLoop, parts: list[list[Unit]], found: list[Dependence], variables: list[Scalar]
) -> list[list[Unit]]:
    """The parts, neighbours that gain nothing by being alone made one."""
    made: list[list[Unit]] = []
    alone = False
    for part in parts:
        gains = _gains(nest, target, core, loop, part, found, variables)
        if made and not gains and not alone:
            made[-1] += part
        else:
            made.append(list(part))
        alone = gains
    return made


def _gains(nest: Nest, target: Target, core: Core, loop: NestLoop, part: list[Unit], found: list[Dependence], variables: list[Scalar]) -> bool:
    """Whether a part is one loop, which can be done better without others beside it."""
    inner = part[-1].loop if part else None
    if inner is None or any(unit.loop is not None for unit in part[:-1]) or not may_gain(nest, loop, inner):
        return False
    innermost = [other for other in nest.loops if inner.head < other.head < inner.end]
    if innermost:
        # Of a product, as far as can be seen: iterations of the loop around it read the same.
        return len(part) == 1
    return waits(inner, found, variables) and improves(nest, loop, alone(nest, loop, part), target, core)


def waits(loop: NestLoop, found: list[Dependence], variables: list[Scalar]) -> bool:
    """Whether iterations of a loop wait for earlier ones of its own."""
    return not free(loop, found) or any(scalar.loop is loop and scalar.kind == CARRIED for scalar in variables)


def improves(nest: Nest, loop: NestLoop, instead: list[Instr], target: Target, core: Core) -> bool:
    """Whether other code in the place of a loop, with one loop in another, is changed for the better."""
    f = nest.f
    code = f.code
    f.code = [*code[: loop.head], *instead, *code[loop.end + 1 :]]
    changes: list[object] = []
    again = _without_branches(f, nest.start)
    if again is not None:
        again = upwards(again, dependences(again), scalars(again)) or again
        changes = list(best_changes(again, target, core, dependences(again), scalars(again), []))
    f.code = code
    return bool(changes)


def _without_branches(f: Function, start: int) -> Nest | None:
    """The nest behind a place, branches of its innermost loop made choices; None where they cannot be."""
    made = next((one for one in nests(f) if one.start >= start), None)
    if made is None:
        return None
    inner = made.loops[-1]
    if any(instr.op is ops.IF for instr in f.code[inner.head : inner.end]):
        body = converted(made, inner)
        if body is None:
            return None
        f.code = f.code[: inner.head + 1] + body + f.code[inner.end :]
        made = next(one for one in nests(f) if one.start >= start)
    return made


def _moves(nest: Nest, loop: NestLoop, access: Access) -> bool:
    """Whether an access is to another element in the next iteration of a loop."""
    return any(form is None or nest.forms.depends(form, loop.head, loop.head + 1) for form in access.subscripts)


def alone(nest: Nest, loop: NestLoop, part: list[Unit]) -> list[Instr]:
    """A loop with one part of the body of another, in registers of its own."""
    f = nest.f
    code = f.code
    head = code[loop.head]
    body: list[Instr] = []
    inside = {k for unit in units_of(nest, loop) for k in range(unit.start, unit.end)}
    own = {k for unit in part for k in range(unit.start, unit.end)}
    body = [code[k] for k in range(loop.head + 1, loop.end) if k in own or (k not in inside and _needed(code, k, loop, own))]
    out: list[Instr] = []
    clone(f, [head, *body, code[loop.end]], _renamed(nest, loop, body), out)
    return out


def _renamed(nest: Nest, loop: NestLoop, body: list[Instr]) -> dict[int, int]:
    """New variables for a part of a loop's body, in the place of those that are written anew in each iteration: what one part leaves in one would seem to be read by the next."""
    f = nest.f
    named = {r for instr in body for r in (instr.dst, *instr.args) if r >= 0 and f.variable[r]}
    if not any(loop.head < nest.mentions[r][0] and nest.mentions[r][1] < loop.end for r in named if r in nest.mentions):
        return {}
    return {r: f.register(f.types[r], f.names[r], True) for r in own_variables(nest, loop) if r in named}


def _needed(code: list[Instr], k: int, loop: NestLoop, own: set[int]) -> bool:
    """Whether what is computed at a place is read by a part, or by what that is computed from."""
    wanted = {code[k].dst}
    for n in range(k + 1, loop.end):
        if any(a in wanted for a in code[n].args):
            if n in own:
                return True
            wanted.add(code[n].dst)
    return False


def _rewrite(nest: Nest, loop: NestLoop, parts: list[list[Unit]], written: set[int]) -> None:
    """Put the parts, each in a loop, where the loop is, and the nest as written beside it where arrays might overlap."""
    replaced(nest, loop, [instr for part in parts for instr in alone(nest, loop, part)], written)


def in_lanes_alone(nest: Nest, loop: NestLoop, made: list[Instr], target: Target) -> bool:
    """Whether a loop that stands in the place of another, in the loops around it, has lanes."""
    f = nest.f
    code = f.code
    f.code = [*code[: loop.head], *made, *code[loop.end + 1 :]]
    changed = next((one for one in nests(f) if one.start >= nest.start), None)
    found = False
    if changed is not None and not changed.obstacles:
        if by_small_indices(changed, target, []):
            changed = next(one for one in nests(f) if one.start >= nest.start)
        own = changed.loops[loop.number]
        found = may_be_in_lanes(changed, own, scalars(changed), target) and free(own, dependences(changed, not has_loops(made[1:])))
    f.code = code
    return found


def replaced(nest: Nest, loop: NestLoop, instead: list[Instr], written: set[int], ahead: Sequence[Instr] = (), runs: Sequence[Run] = ()) -> int:
    """Put other code in the place of a loop, ``ahead`` in front of the nest, and the nest as written beside it where arrays might overlap, or one of ``runs`` does not hold; ``written`` receives the index
    of that one's outermost loop, if it is there for arrays that overlap alone. Returns that index, in any case, or NONE where there is no such nest."""
    f = nest.f
    code = f.code
    # (Parts of an iteration are put into another order: arrays must not be one either.)
    asked = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    plain: list[Instr] = []
    if asked or runs:
        plain = apart.as_written(f, code, nest.start, nest.end + 1)
        if not runs:
            written.add(plain[0].dst)
    fast = [*ahead, *code[nest.start : loop.head], *instead, *code[loop.end + 1 : nest.end + 1]]
    f.code = code[: nest.start] + apart.versioned(f, asked, plain, fast, code[nest.start].line, runs) + code[nest.end + 1 :]
    return plain[0].dst if plain else NONE
