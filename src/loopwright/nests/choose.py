"""Which nests are rewritten, and how: iterations of an enclosing loop jammed where the innermost loop waits for its own results.

An innermost loop takes at least its recurrence bound an iteration, whatever else the core could do meanwhile. Jamming iterations of a loop around it puts
independent work beside each circuit, until the units are busy. The factor that leaves the fewest cycles for an old iteration is taken, within the
registers that there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.nests import apart, extremes
from loopwright.nests.branches import converted
from loopwright.nests.candidates import LEAST_GAIN, Jam, Wave, best_jam, best_wave, innermost_of, live
from loopwright.nests.carry import carry, rereads
from loopwright.nests.dependence import Dependence, dependences, questions
from loopwright.nests.graph import graph_of, recurrence_bound, resource_bound
from loopwright.nests.jam import invariant
from loopwright.nests.lanes import adjacent, free, mark
from loopwright.nests.narrow import narrow
from loopwright.nests.nest import Nest, NestLoop, nests
from loopwright.nests.partial import divide, totals
from loopwright.nests.registers import keep, repeats
from loopwright.nests.scalars import Scalar, scalars
from loopwright.nests.sweeps import Sweeps, sweeps
from loopwright.nests.time_tiles import Memory, tile
from loopwright.nests.unroll import clone
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["improve"]

#: In so many parts totals are added up.
PARTS: Final = (2, 4, 8)
#: Nests whose dependences take more questions than that are not looked at, and so many times fewer where only values to be carried are wanted.
MOST_QUESTIONS: Final = 40
FEWER: Final = 4


def improve(f: Function, target: Target, core: Core) -> None:
    """Rewrite the nests of a function where a core runs them faster for it. Bit for bit the same is computed, but for totals under ``fastmath``.

    Args:
        f: the function, before it has vectors.
        target: the machine; where it has vectors, loops may be made ones over lanes.
        core: its core.
    """
    extremes.run(f)
    found = nests(f)
    written = f.code
    for nest in reversed(found):
        if not nest.obstacles:
            _rewrite(nest, target, core)
    if f.code is not written:
        found = nests(f)
    for nest in reversed(found):
        if not nest.obstacles and rereads(nest) and questions(nest) <= MOST_QUESTIONS // FEWER:
            carry(nest, dependences(nest))


def _rewrite(nest: Nest, target: Target, core: Core) -> None:
    variables = scalars(nest)
    beside = adjacent(nest, variables, target) if target.vector_bits else []
    around = _around(nest)
    again = repeats(nest)
    if not beside and not around and not again:
        return
    # Where too much would have to be asked, each innermost loop is looked at by itself.
    inner = questions(nest) > MOST_QUESTIONS
    if inner and questions(nest, True) > MOST_QUESTIONS:
        return
    f = nest.f
    original = f.code
    written = nest
    found = dependences(nest, inner)
    kept = again and keep(nest, found)
    if kept:
        nest = next(one for one in nests(f) if one.start == written.start)
        variables = scalars(nest)
        beside = adjacent(nest, variables, target) if target.vector_bits else []
        found = dependences(nest, inner)
    if inner:
        beside = [loop for loop in beside if not any(other.parent is loop for other in nest.loops)]
    lanes: list[NestLoop] = []
    for loop in beside:
        if not any(loop.head < other.head < loop.end for other in lanes) and free(loop, found):
            lanes.append(loop)
    jam = None if inner else best_jam(nest, core, found, variables, lanes)
    wave = best_wave(nest, target, core, found, variables, jam) if not inner and not lanes else None
    parts = _parts(nest, core, found, variables, lanes) if jam is None and wave is None else []
    if kept or lanes or parts or jam is not None or wave is not None:
        tiled = _tiled(nest, core, variables, lanes) if jam is None and wave is None and not parts else None
        _apply(nest, target, jam, wave, lanes, variables, written, original, parts, tiled)
    elif around and not inner:
        _without_branches(nest, target, core)


def _tiled(nest: Nest, core: Core, variables: list[Scalar], lanes: list[NestLoop]) -> tuple[Sweeps, Memory] | None:
    """The loop over time steps to be tiled, and what for; None where there is none, or the core has more to wait for than memory."""
    if not core.caches or not lanes:
        return None
    found = sweeps(nest, variables)
    if found is None:
        return None
    deepest = [sweep.loops[-1] for sweep in found.sweeps]
    for loop in lanes:
        if not any(other.head <= loop.head < other.end for other in deepest):
            return None
    for loop in nest.loops:
        innermost = not any(other.parent is loop for other in nest.loops)
        if innermost and found.loop.head < loop.head < found.loop.end and not any(other.head <= loop.head < other.end for other in lanes):
            return None
    return found, Memory(core.caches[0], core.caches[-1])


def _around(nest: Nest) -> bool:
    """Whether there is a loop around the innermost one in whose iterations that is the same."""
    innermost = innermost_of(nest)
    if innermost is None or not innermost.step:
        return False
    loop = innermost.parent
    while loop is not None:
        if loop.step and invariant(nest, innermost, loop):
            return True
        loop = loop.parent
    return False


def _without_branches(nest: Nest, target: Target, core: Core) -> None:
    """Make choices between values of the branches of an innermost loop that waits for its own results, and jam it, if that is for the better.

    Of such a loop they cost nothing that it would not wait for anyway, while a branch that depends on data is often guessed wrong.
    """
    f = nest.f
    original = f.code
    innermost = innermost_of(nest)
    if innermost is None or not any(instr.op.opens for instr in original[innermost.head + 1 : innermost.end]):
        return
    body = converted(f, original[innermost.head + 1 : innermost.end])
    if body is None:
        return
    f.code = original[: innermost.head + 1] + body + original[innermost.end :]
    again = next(one for one in nests(f) if one.start == nest.start)
    found = dependences(again)
    variables = scalars(again)
    jam = best_jam(again, core, found, variables, [])
    wave = best_wave(again, target, core, found, variables, jam)
    if jam is not None or wave is not None:
        _apply(again, target, jam, wave, [], variables)
    else:
        inner = again.loops[innermost.number]
        graph = graph_of(again, inner, found, core)
        if recurrence_bound(graph) < resource_bound(graph, core):
            f.code = original


def _parts(nest: Nest, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop]) -> list[tuple[NestLoop, int]]:
    """The innermost loops whose totals had better be added up in parts, and in how many; none that are over lanes, or in such."""
    chosen: list[tuple[NestLoop, int]] = []
    for loop in nest.loops:
        if any(other.parent is loop for other in nest.loops) or any(other.head <= loop.head < other.end for other in lanes):
            continue
        if not totals(nest, loop, variables):
            continue
        graph = graph_of(nest, loop, found, core)
        recurrence, resource = recurrence_bound(graph), resource_bound(graph, core)
        factor = next((factor for factor in PARTS if factor * resource >= recurrence), PARTS[-1])
        if recurrence >= resource * LEAST_GAIN and factor * live(graph) <= core.registers:
            chosen.append((loop, factor))
    return chosen


def _apply(
    nest: Nest,
    target: Target,
    jam: Jam | None,
    wave: Wave | None,
    lanes: list[NestLoop],
    variables: list[Scalar],
    written: Nest | None = None,
    original: list[Instr] | None = None,
    parts: Sequence[tuple[NestLoop, int]] = (),
    tiled: tuple[Sweeps, Memory] | None = None,
) -> None:
    """Rewrite a nest as chosen. It may come from another, ``written``, of which ``original`` is the code, by what only holds where arrays do not overlap."""
    f = nest.f
    kept = written is not None and written is not nest
    if written is None or original is None:
        written, original = nest, f.code
    asked = apart.pairs(written)
    if kept:
        # (What is in a register must not be in two arrays.)
        asked = [(a, b, False) for a, b, _ in asked]
    plain: list[Instr] = []
    if asked:
        # With registers of its own.
        clone(f, original[written.start : written.end + 1], {}, plain)
    for loop in lanes:
        mark(nest, loop, variables)
        narrow(f, target, loop.head, loop.end)
    if wave is not None:
        wave.apply(nest)
    elif jam is not None:
        jam.apply(nest, variables)
    elif tiled is not None:
        tile(*tiled)
    for loop, factor in reversed(parts):
        divide(nest, loop, factor, totals(nest, loop, variables))
    fast = f.code[written.start : len(f.code) - (len(original) - 1 - written.end)]
    f.code = original[: written.start] + apart.versioned(f, asked, plain, fast, original[written.start].line) + original[written.end + 1 :]
