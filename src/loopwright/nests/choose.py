"""Which nests are rewritten, and how: iterations of an enclosing loop jammed where the innermost loop waits for its own results.

An innermost loop takes at least its recurrence bound an iteration, whatever else the core could do meanwhile. Jamming iterations of a loop around it puts
independent work beside each circuit, until the units are busy. The factor that leaves the fewest cycles for an old iteration is taken, within the
registers that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests import short_loops
from loopwright.nests.analysis.dependence import MOST_QUESTIONS, Dependence, dependences, forget, questions, too_many
from loopwright.nests.analysis.graph import graph_of, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import Nest, NestLoop, Run, nests, parts
from loopwright.nests.analysis.scalars import REDUCTION, Scalar, scalars
from loopwright.nests.branches import added_arms, choices, flags, loop_bounds
from loopwright.nests.branches.conversion import converted
from loopwright.nests.canonical import cancelled, channels, flattened, induction, low_halves, unchanging, written_out
from loopwright.nests.canonical.small_matrices import as_rows
from loopwright.nests.elements import expanded, fresh, held_elements, loaded_before, scratch, tabulated
from loopwright.nests.elements.hoisted import hoist
from loopwright.nests.elements.repeated import once, share, store_once
from loopwright.nests.idioms import chosen_first, last_set
from loopwright.nests.idioms.extremes import searches
from loopwright.nests.recurrences import from_tables, handed_on, previous, progressions, reassociate, taken_apart
from loopwright.nests.reordering import columns, diagonals, longest_inside, tables, transposed, turned
from loopwright.nests.reordering.triangular import by_rows
from loopwright.nests.rewriting import apart, values
from loopwright.nests.rewriting.unroll import has_loops
from loopwright.nests.splitting import (
    borders,
    conditions,
    cut_rows,
    distribute,
    first_found,
    large,
    listed,
    products_apart,
    quotients,
    rows_turned,
    searched_after,
    shortcuts,
    split_bounds,
    unswitched,
    wrapped,
)
from loopwright.nests.splitting.bands import in_bands
from loopwright.nests.splitting.block_by_block import BLOCK, in_blocks
from loopwright.nests.splitting.last_apart import last_apart
from loopwright.nests.splitting.split import crossing, split
from loopwright.nests.steps import few_iterations, fusion
from loopwright.nests.steps.blocks import widen
from loopwright.nests.steps.candidates import LEAST_GAIN, Change, Jam, Wave, best_changes, innermost_loops, interval, live
from loopwright.nests.steps.carry import carry, rereads
from loopwright.nests.steps.distances import by_distance
from loopwright.nests.steps.jam import invariant
from loopwright.nests.steps.lanes import adjacent, free, mark, shuffled, strided
from loopwright.nests.steps.narrow import narrow
from loopwright.nests.steps.order import reorder
from loopwright.nests.steps.packs import packs
from loopwright.nests.steps.panels import Panels, panels
from loopwright.nests.steps.partial import in_parts, totals
from loopwright.nests.steps.registers import keep, repeats
from loopwright.nests.steps.reverse import upwards
from loopwright.nests.steps.sharing import shared
from loopwright.nests.steps.small_indices import by_small_indices
from loopwright.nests.steps.stepped import by_ones
from loopwright.nests.steps.sweeps import sweeps
from loopwright.nests.steps.time_tiles import best_tiles
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["improve", "keep_values"]

#: Rows of a band, as far as they go into those that are walked together.
BAND: Final = 16
#: Where only values to be carried are wanted, nests whose dependences take more questions than that are not looked at.
FEW_QUESTIONS: Final = MOST_QUESTIONS // 4


def improve(f: Function, target: Target, core: Core, report: Any = None) -> None:
    """Rewrite the nests of a function where a core runs them faster for it. Bit for bit the same is computed, but for totals under ``fastmath``.

    Args:
        f: the function, before it has vectors.
        target: the machine; where it has vectors, loops may be made ones over lanes.
        core: its core.
        report: the ``Report`` that is told what is known of the nests, tried and done; None where nobody asks.
    """
    forget()
    done: dict[int, list[str]] = {}  # by the index of the outermost loop of a nest
    as_written: set[int] = set()
    _with_known_conditions(f, target, done)
    parted = large.part(f, target)
    for nest in parted if report is not None else ():
        nest.record = report.begins(nest, target)
        _too_many(nest, nest.record)
    together: set[int] = set()
    few: set[int] = set()
    apart_before = _with_values_in_variables(f, target, done, as_written, together, few)
    found = nests(f)
    written = f.code
    fused = fusion.run(f, found, target)
    fusion.run_inside(f, target, fused, as_written | apart_before)
    distinct = fused.distinct | apart_before
    if f.code is not written:
        found = nests(f)
        written = f.code
    plain = fused.plain | as_written
    beside = distribute.run(f, [nest for nest in found if nest.loops[0].index not in plain | together], target, core) | plain
    if f.code is not written:
        found = nests(f)
        written = f.code
    listed_first = listed.run(f, [nest for nest in found if nest.loops[0].index not in beside], target, beside)
    _add(done, listed_first)
    if f.code is not written:
        found = nests(f)
        written = f.code
    apart_first = taken_apart.run(
        f, [nest for nest in found if nest.loops[0].index not in beside and nest.loops[0].index not in listed_first], target, core, beside
    )
    _add(done, apart_first)
    if f.code is not written:
        found = nests(f)
        written = f.code
    whole = [nest for nest in found if nest.loops[0].index not in beside | listed_first.keys() | apart_first.keys()]
    _add(done, cut_rows.run(f, whole, target, core, beside))
    if f.code is not written:
        found = nests(f)
        written = f.code
    _add(done, rows_turned.run(f, [nest for nest in found if nest.loops[0].index not in beside | few], target, beside))
    if f.code is not written:
        found = nests(f)
        written = f.code
    untouched: set[int] = set()  # the indices of the outermost loops of nests that stay as they are
    for nest in reversed(found):
        if nest.loops[0].index in beside:
            continue
        if report is not None:
            nest.record = report.begins(nest, target)
            for step in [*done.get(nest.loops[0].index, []), *fused.done.get(nest.loops[0].index, [])]:
                nest.record.does(step)
            if nest.loops[0].index in distinct:
                nest.record.asks(f, apart.pairs(nest))
        if not nest.obstacles and nest.loops[0].index not in listed_first and not _rewrite(nest, target, core, distinct):
            untouched.add(nest.loops[0].index)
    if report is not None:
        report.first([nest.record for nest in parted])
    if f.code is not written:
        found = parts(f)
    written = f.code
    keep_values(f, found, report, distinct)
    if f.code is not written:
        # (What was loaded goes from one iteration to the next now.)
        reassociate.run(f)
    if untouched:
        _last(f, target, untouched, distinct, report)
    fresh.run(f)
    written_out.around_vectors(f)


def _with_known_conditions(f: Function, target: Target, done: dict[int, list[str]]) -> None:
    """Bring loops into the form that the rest knows, and take out of them what is known of their conditions."""
    cancelled.run(f)
    low_halves.run(f)
    unchanging.run(f)
    channels.run(f)
    _add(done, induction.run(f))
    _add(done, split_bounds.run(f))
    _add(done, written_out.run(f))
    first_found.run(f)
    shortcuts.run(f)
    flags.run(f)
    wrapped.run(f)
    _add(done, last_set.run(f, target))
    cut = quotients.run(f)
    if cut:
        _add(done, cut)
        _add(done, written_out.run(f))
        cancelled.run(f)
    if loop_bounds.run(f):
        values.run(f)
    left: set[int] = set()
    written = f.code
    borders.run(f, left)
    conditions.run(f, left)
    if f.code is not written:
        # (Of more that parts of a condition load it is known that it is inside.)
        shortcuts.run(f)


def _with_values_in_variables(f: Function, target: Target, done: dict[int, list[str]], as_written: set[int], together: set[int], few: set[int]) -> set[int]:
    """Hold elements in variables, and take recurrences apart. Returns the indices of the outermost loops before which it is asked whether arrays overlap; ``as_written`` receives those that stay as they are,
    ``together`` those of which no loop is to be distributed, and ``few`` those that run for few rows."""
    found = nests(f)
    written = f.code
    _add(done, held_elements.run(f, found, target, as_written))
    _add(done, scratch.run(f, found if f.code is written else nests(f), target, as_written))
    _add(done, tabulated.run(f, as_written))
    loaded_before.run(f)
    if choices.run(f):
        values.run(f)
    chosen_first.run(f, target)
    _add(done, searched_after.run(f, target, as_written))
    _add(done, diagonals.run(f, target, as_written))
    _add(done, longest_inside.run(f, target))
    added_arms.run(f)
    flattened.run(f)
    reassociate.run(f)
    cancelled.run(f)
    _add(done, progressions.run(f, target))
    _add(done, from_tables.run(f, target))
    apart_before: set[int] = set()
    expanded_arrays = expanded.run(f, target, apart_before)
    together.update(expanded_arrays)
    _add(done, expanded_arrays)
    _add(done, products_apart.run(f, target, apart_before, as_written))
    _add(done, turned.run(f, target, apart_before, few))
    _add(done, columns.run(f, target, apart_before))
    _add(done, tables.run(f, target, apart_before, as_written))
    _add(done, transposed.run(f, target, as_written))
    apart_before |= previous.run(f, target)
    handed_on.run(f)
    _add(done, unswitched.run(f, target, as_written))
    return apart_before


def _add(done: dict[int, list[str]], steps: Mapping[int, str | list[str]]) -> None:
    """Add what a pass did to what was done to the nests before it."""
    for index, step in steps.items():
        done.setdefault(index, []).extend([step] if isinstance(step, str) else step)


def _last(f: Function, target: Target, untouched: set[int], distinct: AbstractSet[int], report: Any) -> None:
    """What nests that stay as they are may gain: elements loaded once where arrays do not overlap, and short loops unrolled."""
    changed = False
    for nest in reversed(nests(f)):
        if nest.loops[0].index in untouched and nest.loops[0].index not in distinct:
            asked = once(nest)
            if asked and report is not None:
                report.asked(nest.loops[0].line, f, asked)
            changed = changed or bool(asked)
    if changed:
        reassociate.run(f)
    for nest in reversed(nests(f)):
        if nest.loops[0].index in untouched:
            short_loops.unroll(nest, target, report)


def keep_values(f: Function, found: list[Nest], report: Any = None, distinct: AbstractSet[int] = frozenset()) -> None:
    """Keep values that an iteration of an innermost loop stores, and a later one loads, in registers.

    Args:
        f: the function.
        found: its nests.
        report: the ``Report`` that is told for how many loads, or None.
        distinct: the indices of the outermost loops of nests whose arrays are known not to overlap.
    """
    for nest in reversed(found):
        if nest.obstacles or not rereads(nest):
            continue
        inner = too_many(nest, most=FEW_QUESTIONS)
        if not inner or not too_many(nest, True, FEW_QUESTIONS):
            asked = _several(nest) and nest.loops[0].index not in distinct
            count = _carried_apart(nest, inner, report) if asked else carry(nest, dependences(nest, inner))
            if report is not None:
                report.carried(nest.loops[0].line, count)


def _carried_apart(nest: Nest, inner: bool, report: Any) -> int:
    """Keep values of a nest in registers where its arrays do not overlap, which is asked in front of it. Returns for how many loads."""
    f = nest.f
    original = f.code
    # (What is in a register must not be in two arrays.)
    asked = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    plain = apart.as_written(f, original, nest.start, nest.end + 1)
    count = carry(nest, dependences(nest, inner))
    if count:
        apart.rewritten(f, original, nest.start, nest.end + 1, asked, plain)
        if report is not None:
            report.asked(nest.loops[0].line, f, asked)
    return count


def _several(nest: Nest) -> bool:
    """Whether arrays are written that may be parts of each other."""
    arrays = nest.f.arrays
    return len({access.array for access in nest.accesses if access.store and not arrays[access.array].size}) > 1


def _rewrite(nest: Nest, target: Target, core: Core, distinct: set[int]) -> bool:
    """Rewrite a nest; False where it stays as it is. ``distinct`` receives the indices of loops that run only where arrays do not overlap."""
    f = nest.f
    original = f.code
    written = nest
    done = "loads that subscripts are made of shared" if share(nest) else ""
    if done:
        nest = _again(f, written)
    stored = store_once(nest)
    if stored:
        nest = _again(f, written)
    while hoist(nest, written):
        done = "what is looked up outside of the loop loaded in front of it"
        nest = _again(f, written)
    if not done and by_ones(nest, target):
        done = "steps counted one by one"
        nest = _again(f, written)
    if by_small_indices(nest, target, written.runs):
        done = done or "what is made of indices computed in 32 bits"
        nest = _again(f, written)
    if not done and target.vector_bits and as_rows(nest, target, written):
        done = "small matrices, or neighbours, as rows"
        nest = _again(f, written)
    if not done and target.vector_bits and by_rows(nest):
        done = "each element finished by those before it"
        nest = _again(f, written)
    if stored:
        done = done or "elements that an iteration stores several times stored once"
    splits = 0
    while done and splits < conditions.MOST and conditions.split_conditions(nest, nest.loops[1:]):
        nest = _again(f, written)
        splits += 1
    if done:
        if not nest.obstacles and _rewrite_as(nest, target, core, written, original, distinct):
            if written.record is not None:
                written.record.does(done)
            return True
        f.code = original
        written.runs = []
    return _rewrite_as(written, target, core, written, original, distinct)


def _too_many(nest: Nest, record: Any) -> None:
    """Say that a nest is not looked at as a whole, unless an obstacle says so."""
    if not nest.obstacles:
        reason = f"its accesses are too many to tell apart: {questions(nest)} pairs take equations, and {MOST_QUESTIONS} are looked at"
        record.keeps(reason, nest.loops[0].line)


def _again(f: Function, written: Nest) -> Nest:
    """A nest as its code is now."""
    made = next(one for one in nests(f) if one.start >= written.start)
    made.record = written.record
    return made


def _rewrite_as(nest: Nest, target: Target, core: Core, written: Nest, original: list[Instr], distinct: set[int]) -> bool:
    """Rewrite a nest that may have been made of another, ``written``, of which ``original`` is the code; False where it stays as it is."""
    variables = scalars(nest)
    beside = adjacent(nest, variables, target) if target.vector_bits else []
    counting_down, down = nest, nest.f.code
    if nest is written and target.vector_bits and _unbranched(nest, target, beside, variables):
        nest = _again(nest.f, written)
        variables = scalars(nest)
        beside = adjacent(nest, variables, target)
    around = _around(nest)
    record = written.record
    if not beside and not around and not _worth(nest, target, variables):
        if record is not None and len(nest.loops) > 1:
            record.keeps("no loop has adjacent accesses that could be lanes, and the bounds of the innermost change with all around it", nest.loops[0].line)
        return nest is written and not too_many(nest) and _without_branches(nest, target, core, distinct)
    # Where too much would have to be asked, each innermost loop is looked at by itself.
    inner = too_many(nest)
    if inner and too_many(nest, True):
        if record is not None:
            _too_many(nest, record)
        nest.f.code = down
        return False
    f = nest.f
    before = f.code
    found = _of_sweeps(nest, beside, variables) if core.caches and not inner else None
    if found is not None:
        inner = True
    else:
        found = dependences(nest, inner)
    again = upwards(nest, found, variables) if not inner else None
    if again is not None:
        nest = again
        before = f.code  # (That alone gains nothing.)
        found = dependences(nest)
        variables = scalars(nest)
        beside = adjacent(nest, variables, target) if target.vector_bits else []
    if not inner and target.vector_bits and not _in_turn(nest, target, found, variables, beside) and reorder(nest, found, variables):
        nest = _again(f, written)
        if record is not None:
            # (Loops that have no names are called by their places.)
            names = {loop.index: written.name(loop) for loop in written.loops}
            record.reorders([*names.values()], [names.get(loop.index, nest.name(loop)) for loop in nest.loops])
        found = dependences(nest)
    elif _taken_apart(nest, found, variables, beside):
        inner = True
        nest = _again(f, written)
        found = dependences(nest, inner)
    if repeats(nest) and keep(nest, found, written if apart.pairs(written) else None):
        nest = _again(f, written)
        if choices.run(f, nest.start, nest.end + 1):
            # (What was compared in memory is a total.)
            nest = _again(f, written)
        if record is not None:
            record.does("elements that stay the same kept in registers")
        found = dependences(nest, inner)
    if last_apart(nest, scalars(nest), target):
        nest = _again(f, written)
        if record is not None:
            record.does("the last iteration apart, for what it leaves in variables")
        inner = inner or too_many(nest)
        found = dependences(nest, inner)
    if f.code is not before:
        variables = scalars(nest)
        beside = adjacent(nest, variables, target) if target.vector_bits else []
    lanes = _chosen(nest, beside, found, variables, inner)
    if _choices(nest, lanes, variables):
        nest = _again(f, written)
        found = dependences(nest, inner)
        variables = scalars(nest)
        beside = adjacent(nest, variables, target)
        lanes = _chosen(nest, beside, found, variables, inner)
    first = _carried_first(nest, written, target, found, beside, inner) if not lanes else None
    if first is not None:
        nest, found, variables, beside, lanes = first
    changes = [] if inner else best_changes(nest, target, core, found, variables, lanes)
    if f.options.search and not inner and nest is written and _searched(nest, target, core, found, lanes, changes):
        return True
    if not inner:
        changes += shared(nest, core, found, variables, lanes, changes)
    vectors = _completed(nest, target, core, found, variables, beside, lanes, changes, inner)
    banded = _banded(nest, target, core, found, variables) if not inner and not lanes and not changes else None
    if banded is not None:
        nest, found, variables, changes = banded
    if f.code is not before or lanes or changes:
        tall = _panels(nest, target, core, found, variables, changes, vectors) if vectors and len(changes) == 1 else None
        _apply(nest, target, changes, lanes, variables, found, distinct, written, original, vectors, tall)
        return True
    f.code = down
    return not inner and counting_down is written and _without_branches(written, target, core, distinct)


def _carried_first(
    nest: Nest, written: Nest, target: Target, found: list[Dependence], beside: list[NestLoop], inner: bool
) -> tuple[Nest, list[Dependence], list[Scalar], list[NestLoop], list[NestLoop]] | None:
    """A nest whose loops take what they have just stored from registers, which lanes hand on to each other, its dependences, variables and loops of adjacent accesses, and those that have lanes for it; None for none."""
    near = [loop for loop in beside if not free(loop, found) and free(loop, found, 1) and not any(other.parent is loop for other in nest.loops)]
    f = nest.f
    before = f.code
    count = carry(nest, found) if near else 0
    if not count:
        return None
    made = _again(f, written)
    found = dependences(made, inner)
    variables = scalars(made)
    beside = adjacent(made, variables, target)
    lanes = _chosen(made, beside, found, variables, inner)
    if not lanes:
        f.code = before
        return None
    if written.record is not None:
        written.record.carried += count
    return made, found, variables, beside, lanes


def _in_turn(nest: Nest, target: Target, found: list[Dependence], variables: list[Scalar], beside: list[NestLoop]) -> bool:
    """Whether no loop's accesses are adjacent, and those of an innermost one are to elements in turn: it stays innermost then."""
    return len(nest.loops) > 1 and not beside and any(free(loop, found) for loop in strided(nest, variables, target, beside, found))


def _chosen(nest: Nest, beside: list[NestLoop], found: list[Dependence], variables: list[Scalar], inner: bool) -> list[NestLoop]:
    """The loops that are to run over lanes, of those whose accesses are adjacent: the innermost, unless it adds up and the one around it does not."""
    lanes: list[NestLoop] = []
    summing = {scalar.loop.number for scalar in variables if scalar.kind == REDUCTION}
    for loop in beside:
        if (inner and any(other.parent is loop for other in nest.loops)) or not free(loop, found):
            continue
        inside = [other for other in lanes if loop.head < other.head < loop.end]
        if not inside or (loop.number not in summing and all(other.number in summing for other in inside)):
            # (Each lane has a total of its own then, and the inner loop may be as short as it likes.)
            lanes = [other for other in lanes if other not in inside] + [loop]
    return lanes


def _unbranched(nest: Nest, target: Target, beside: list[NestLoop], variables: list[Scalar]) -> bool:
    """Make choices of the branches of an innermost loop that can have lanes only so: there is no load of some bytes of a vector, but all may be loaded. False where there is none."""
    f = nest.f
    original = f.code
    for loop in innermost_loops(nest):
        if loop in beside or not loop.step or not any(instr.op is ops.IF for instr in original[loop.head + 1 : loop.end]):
            continue
        if _choices(nest, [loop], variables):
            made = _again(f, nest)
            known = scalars(made)
            possible = adjacent(made, known, target)
            if any(other.index == loop.index for other in possible or strided(made, known, target, [])):
                return True
            f.code = original
    return False


def _choices(nest: Nest, lanes: list[NestLoop], variables: list[Scalar]) -> bool:
    """Make choices of the branches of innermost loops over lanes, as far as all they load may be loaded; False where there are none."""
    f = nest.f
    done = False
    for loop in sorted(lanes, key=_head, reverse=True):
        body = f.code[loop.head + 1 : loop.end]
        totals_of = {scalar.variable for scalar in variables if scalar.loop is loop and scalar.kind == REDUCTION}
        if any(instr.op is ops.IF for instr in body) and not has_loops(body) and not _writes_under_condition(body, totals_of):
            made = converted(nest, loop)
            if made is not None:
                f.code = f.code[: loop.head + 1] + made + f.code[loop.end :]
                done = True
    return done


def _writes_under_condition(body: list[Instr], variables: set[int]) -> bool:
    """Whether one of some variables is written in a bracket. (A total that only some add to stays one.)"""
    depth = 0
    for instr in body:
        if depth and instr.dst in variables:
            return True
        depth += int(instr.op.opens) - int(instr.op.closes)
    return False


def _head(loop: NestLoop) -> int:
    return loop.head


def _worth(nest: Nest, target: Target, variables: list[Scalar]) -> bool:
    """Whether something may be done to a nest without adjacent accesses, and without a loop in whose iterations the innermost is the same."""
    if repeats(nest) or any(totals(nest, loop, variables) for loop in innermost_loops(nest)):
        return True
    if not target.vector_bits:
        return False
    return bool(strided(nest, variables, target, [], [])) or bool(packs(nest, target, [])) or bool(_along_columns(nest, target, variables))


def _completed(
    nest: Nest,
    target: Target,
    core: Core,
    found: list[Dependence],
    variables: list[Scalar],
    beside: list[NestLoop],
    lanes: list[NestLoop],
    changes: list[Change],
    inner: bool,
) -> dict[int, int]:
    """What else is to be done to a nest: more is put into ``lanes`` and ``changes``. Returns how many vectors loops over lanes do at once, by their numbers."""
    further: list[NestLoop] = []
    if target.vector_bits:
        further = [loop for loop in strided(nest, variables, target, beside, found) if free(loop, found)]
        # (Rows of six and eight elements, and of more, had better be vectors themselves than be dealt out.)
        beside_each_other = packs(nest, target, [loop for loop in nest.loops if not (loop in further and shuffled(nest, loop))])
        further = [loop for loop in further if not any(change.loop is loop and change.whole(nest) for change in beside_each_other)]
        changes[:] = [
            change for change in changes if not (isinstance(change, Wave | Jam) and change.innermost in further and _along(nest, target, core, found, change))
        ]
    vectors = widen(nest, target, core, found, variables, lanes, changes) if lanes and not inner else {}
    if not lanes and not changes and target.vector_bits:
        columns = _columns(nest, target, found, variables)
        lanes += columns
        vectors = {loop.number: 1 for loop in columns}
    done = [*lanes, *[change.loop for change in changes]]
    lanes += [loop for loop in further if not any(other.head <= loop.head < other.end or loop.head < other.head < loop.end for other in done)]
    if target.vector_bits:
        changes += packs(nest, target, [*lanes, *[change.loop for change in changes]])
    changes += in_parts(nest, core, found, variables, [*lanes, *[change.loop for change in changes]])
    if not changes:
        changes += best_tiles(nest, core, variables, lanes)
    if not changes and not lanes:
        changes += by_distance(nest, target, found, beside)
    return vectors


def _along(nest: Nest, target: Target, core: Core, found: list[Dependence], change: Wave | Jam) -> bool:
    """Whether rows had better run in lanes along themselves than one in each lane, or jammed, though vectors of what they load have to be dealt out."""
    inner = change.innermost
    body = nest.f.code[inner.head + 1 : inner.end]
    loads = sum([instr.op is ops.LOAD for instr in body])
    width = change.how.width if isinstance(change, Wave) else max([nest.f.types[instr.dst].bits for instr in body if instr.op is ops.LOAD], default=64)
    return (resource_bound(graph_of(nest, inner, found, core), core) + loads) * width / target.vector_bits <= change.interval * LEAST_GAIN


def _of_sweeps(nest: Nest, beside: list[NestLoop], variables: list[Scalar]) -> list[Dependence] | None:
    """The dependences within each innermost loop, if no others are asked for: all of several become ones over lanes, in a loop over time steps."""
    innermost = innermost_loops(nest)
    if len(innermost) < 2 or not all(loop in beside for loop in innermost) or sweeps(nest, variables) is None:
        return None
    found = dependences(nest, True)
    return found if all(free(loop, found) for loop in innermost) else None


def _taken_apart(nest: Nest, found: list[Dependence], variables: list[Scalar], beside: list[NestLoop]) -> bool:
    """Split a loop at an iteration, or put its statements behind each other, where lanes are possible then; False where there is no such loop."""
    if _crossed(nest, found, beside):
        done = "a loop split where two subscripts cross"
    else:
        loop = in_blocks(nest, found, variables, beside)
        if loop is None:
            return False
        done = f"statements of {nest.name(loop)} one behind the other, for {BLOCK} iterations at a time"
    if nest.record is not None:
        nest.record.does(done)
    return True


def _crossed(nest: Nest, found: list[Dependence], beside: list[NestLoop]) -> bool:
    """Split the outermost loop that could be one over lanes but for an iteration; False where there is none."""
    for loop in reversed(beside):
        at = crossing(nest, loop, found)
        if at is not None:
            split(nest, loop, at)
            return True
    return False


def _around(nest: Nest) -> bool:
    """Whether there is a loop around the innermost one in whose iterations that is the same."""
    for innermost in innermost_loops(nest):
        loop = innermost.parent
        while innermost.step and loop is not None:
            if loop.step and invariant(nest, innermost, loop):
                return True
            loop = loop.parent
    return False


def _without_branches(nest: Nest, target: Target, core: Core, distinct: set[int]) -> bool:
    """Make choices between values of the branches of an innermost loop that waits for its own results, and jam it, if that is for the better; False where they stay.

    Of such a loop they cost nothing that it would not wait for anyway, while a branch that depends on data is often guessed wrong.
    """
    f = nest.f
    original = f.code
    loops = innermost_loops(nest)
    innermost = loops[0] if len(loops) == 1 else None
    if innermost is None or not any(instr.op.opens for instr in original[innermost.head + 1 : innermost.end]):
        return False
    if innermost.parent is None and not _stores_either_way(nest, innermost):
        # (An arm that seldom runs is best left out.)
        return False
    if target.vector_bits and searches(f, innermost.head):
        return False
    asked: list[Run] = []
    body = converted(nest, innermost, asked)
    if body is None:
        if nest.record is not None:
            nest.record.keeps(f"the loop over {nest.name(innermost)} branches, and its arms are more than short arithmetic", innermost.line)
        return False
    f.code = original[: innermost.head + 1] + body + original[innermost.end :]
    again = _again(f, nest)
    again = upwards(again, dependences(again), scalars(again)) or again
    found = dependences(again)
    variables = scalars(again)
    changes = best_changes(again, target, core, found, variables, [])
    banded = _banded(again, target, core, found, variables) if not changes else None
    if banded is not None:
        again, found, variables, changes = banded
    if changes and (asked or banded is not None):
        # (Extents that differ tell less than the array's own: it is asked for those.)
        nest.runs += asked
        _apply(again, target, changes, [], variables, found, distinct, nest, original)
    elif changes:
        _apply(again, target, changes, [], variables, found, distinct)
    elif asked:
        f.code = original
    else:
        inner = again.loops[innermost.number]
        graph = graph_of(again, inner, found, core)
        if recurrence_bound(graph) < resource_bound(graph, core):
            f.code = original
    return f.code is not original


def _banded(
    nest: Nest, target: Target, core: Core, found: list[Dependence], variables: list[Scalar]
) -> tuple[Nest, list[Dependence], list[Scalar], list[Change]] | None:
    """Rewrite a nest in bands of rows, of each the rectangle by itself, where that can be done better; None where it stays.

    Returns:
        The rectangle, its dependences and variables, and what is to be done to it.
    """
    bands = in_bands(nest, found, variables)
    if bands is None:
        return None
    f = nest.f
    original = f.code
    height = BAND
    while True:
        rectangle = bands.write(height)
        its = dependences(rectangle)
        variables = scalars(rectangle)
        changes = best_changes(rectangle, target, core, its, variables, [])
        rows = [change.factor if isinstance(change, Jam) else change.how.rows for change in changes if isinstance(change, (Jam, Wave))]
        if not rows:
            f.code = original
            return None
        # (No rows are to be left over in a band.)
        whole = max(1, round(BAND / rows[0])) * rows[0]
        if height == whole or height != BAND:
            break
        height = whole
        f.code = original
    rectangle.record = nest.record
    if nest.record is not None:
        nest.record.does(f"rows of {nest.name(bands.outer)} in bands of {height}")
    return rectangle, its, variables, changes


def _stores_either_way(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop stores under conditions alone, to an array of which it loads: what the next iteration waits for comes either way."""
    stores = [access for access in nest.accesses if access.store]
    loaded = {access.array for access in nest.accesses if not access.store}
    return len(stores) > 1 and all(access.arms and access.arms[-1][0] > loop.head and access.array in loaded for access in stores)


def _searched(nest: Nest, target: Target, core: Core, found: list[Dependence], lanes: list[NestLoop], changes: list[Change]) -> bool:
    """Look for more ways to jam iterations than ``best_changes`` does, and better ones. Returns whether the nest was rewritten."""
    loops = innermost_loops(nest)
    innermost = loops[0]
    if len(loops) > 1 or len(lanes) > 1 or innermost.parent is None or any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end]):
        return False
    graph = graph_of(nest, innermost, found, core)
    plain = interval(graph, 1, core)
    if plain <= resource_bound(graph, core) * LEAST_GAIN:
        return False
    # (Few functions ask for it.)
    from loopwright.nests.search import search

    least = min([plain / LEAST_GAIN, *[change.interval for change in changes]])
    return search(nest, innermost, lanes[0] if lanes else None, graph, target, core, core.registers // live(graph), least)


def _place(change: Change) -> int:
    return change.loop.head


def _apply(
    nest: Nest,
    target: Target,
    changes: list[Change],
    lanes: list[NestLoop],
    variables: list[Scalar],
    found: list[Dependence],
    distinct: set[int],
    written: Nest | None = None,
    original: list[Instr] | None = None,
    vectors: dict[int, int] | None = None,
    tall: Panels | None = None,
) -> None:
    """Rewrite a nest as chosen. It may come from another, ``written``, of which ``original`` is the code, by what only holds where arrays do not overlap.

    ``vectors`` has how many vectors loops over lanes do at once, by the loop's number; ``tall`` is what is read from panels, where it is far apart in memory.
    """
    f = nest.f
    kept = written is not None and written is not nest
    if written is None or original is None:
        written, original = nest, f.code
    asked = apart.pairs(written)
    if written.loops[0].index in distinct:
        # (That has been asked; but they may be one.)
        asked = [pair for pair in asked if pair[2] and kept]
    if kept:
        # (What is in a register must not be in two arrays.)
        asked = [(a, b, False) for a, b, _ in asked]
    if asked or (changes and lanes and lanes[0].depth > 1):
        long, each = few_iterations.long_enough(nest, written.start, lanes, variables, bool(changes))
    else:
        long, each = few_iterations.as_far_as_known(nest, lanes), {}
    runs = [*written.runs, *long]
    plain = apart.as_written(f, original, written.start, written.end + 1) if asked or runs else []
    copies = few_iterations.copies(nest, lanes, each) if not changes else {}
    record = nest.record
    if record is not None:
        record.asks(f, asked)
        for loop in lanes:
            record.does(f"lanes({nest.name(loop)})" + (f", from {copies[loop.index].least} iterations on" if loop.index in copies else ""))
            if vectors is not None and vectors.get(loop.number, 1) > 1:
                record.does(f"{vectors[loop.number]} vectors of {nest.name(loop)} at once")
        for change in changes:
            record.does(change.text(nest))
        if tall is not None:
            record.does(tall.text())
    for loop in lanes:
        mark(nest, loop, variables, found, 0 if vectors is None else vectors.get(loop.number, 0))
        narrow(f, target, loop.head, loop.end)
    few_iterations.choose(f, copies)
    marked = f.code
    blocks = tall.apply() if tall is not None else []
    for change in sorted(changes, key=_place, reverse=True) if tall is None else ():
        # (What comes in front of a change is where it was.)
        change.apply(nest, variables)
    if tall is not None:
        f.code = marked[: tall.rows.head] + blocks + marked[tall.rows.head :]
    fast = f.code[written.start : len(f.code) - (len(original) - 1 - written.end)]
    distinct.update([instr.dst for instr in fast if instr.op is ops.FOR])
    f.code = original[: written.start] + apart.versioned(f, asked, plain, fast, original[written.start].line, runs) + original[written.end + 1 :]


def _columns(nest: Nest, target: Target, found: list[Dependence], variables: list[Scalar]) -> list[NestLoop]:
    """The innermost loops that add up what is in a row and what is in a column, where no loop has better lanes."""
    return [loop for loop in _along_columns(nest, target, variables) if free(loop, found)]


def _along_columns(nest: Nest, target: Target, variables: list[Scalar]) -> list[NestLoop]:
    """The innermost loops along which up to half of the loads are down a column; those with totals, unless a machine is quick at that."""
    summing = {scalar.loop.number for scalar in variables if scalar.kind == REDUCTION}
    innermost = [loop for loop in innermost_loops(nest) if loop.number in summing or not target.slow_gathers]
    return [loop for loop in adjacent(nest, variables, target, True) if loop in innermost] if innermost else []


def _panels(
    nest: Nest, target: Target, core: Core, found: list[Dependence], variables: list[Scalar], changes: list[Change], vectors: dict[int, int]
) -> Panels | None:
    """What the one block of a nest may read from panels; None for nothing."""
    jam = changes[0]
    across = jam.innermost.parent if isinstance(jam, Jam) else None
    if not isinstance(jam, Jam) or across is None or across.number not in vectors:
        return None
    inside = range(jam.innermost.head + 1, jam.innermost.end)
    bits = max([nest.f.code[k].type.bits for k in inside if nest.f.code[k].op is ops.LOAD], default=0)
    return panels(nest, jam, target.vector_bits // bits, vectors[across.number], core, found, variables) if bits else None
