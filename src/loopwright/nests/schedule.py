"""Nests rewritten by hand: the steps of ``kernel.schedule``, each where it is legal.

A step is a row of ``STEPS``: its name, and a function that rewrites the nest or raises the error that says why not (``refuse``). Loops are told by the names of their indices and their lines,
which rewritten loops keep; after each step the nest is read again. The rewritten loops come first in the text, then what is left over; so a name means the first
loop that has it. What tells several of one name in a line apart, ``i@12.2``, is put into the names of their indices as long as steps are done (``_distinguish``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from loopwright.errors import ScheduleError
from loopwright.ir.function import Function, Instr
from loopwright.ir.schedule import Step, options_of, parse_steps
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.reporting.nest_report import DependenceReport
from loopwright.nests.reporting.report import Report
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import clone, crossing_branches
from loopwright.nests.steps.fusion import Refused, fuse
from loopwright.nests.steps.interchange import chain, exchanged, interchange_refusal, rearrange
from loopwright.nests.steps.jam import Refusal, refusal, unroll_and_jam
from loopwright.nests.steps.lanes import mark
from loopwright.nests.steps.narrow import narrow
from loopwright.nests.steps.partial import divide
from loopwright.nests.steps.skew import Rest, Rows, least_slant, skew, skew_refusal
from loopwright.nests.steps.streams import Streams
from loopwright.nests.steps.tile import TILES, tile, tile_refusal
from loopwright.nests.steps.wavefront import InLanes, widest
from loopwright.nests.steps.why import lanes_refusal
from loopwright.targets.target import Target

__all__ = ["MOST_INSTRUCTIONS", "STEPS", "Row", "apply_schedule", "loop_of", "refuse", "rewrite_by"]

#: No step makes more instructions of a loop's. (So many take some ten seconds to compile, and twice as many three times as long.)
MOST_INSTRUCTIONS: Final = 100_000
#: What ``_own`` adds to a name.
_OWN: Final = re.compile(r"@[0-9]+\.[0-9]+")


def apply_schedule(f: Function, target: Target, report: Report | None = None) -> None:
    """Do the steps that a function's options say.

    Args:
        f: the function, before it has vectors.
        target: the machine.
        report: is told what is done; None where nobody asks.

    Raises:
        ScheduleError: a loop is not there, or a step is not possible.
    """
    steps = parse_steps(f.options.schedule)
    found = nests(f)
    asked: list[list[Step]] = [[] for _ in found]
    last = list(range(len(found)))  # per nest: the last of those that are to be fused with it
    for step in steps:
        if step.name not in STEPS:
            raise ScheduleError(f"there is no step {step.name}; there are {', '.join(STEPS)}")
        if step.name == "fuse":
            about = sorted([_nest_of(step, [name], found) for name in _names(step)])
            first = next(k for k in range(about[0] + 1) if last[k] >= about[0])
            last[first] = max(last[first], last[about[-1]])
            asked[about[0]].append(step)
        else:
            asked[_nest_of(step, _names(step), found)].append(step)
    if report is not None:
        for nest in reversed(found):
            nest.record = report.begins(nest, target)
    _distinguish(f, steps, found)
    k = len(found) - 1
    while k >= 0:
        first = next(n for n in range(k + 1) if last[n] >= k)
        together = found[first : k + 1]
        own = [step for step in steps if any(step is other for n in range(first, k + 1) for other in asked[n])]
        if own:
            _rewrite(together, own, target)
        k = first - 1
    f.names = [_plain(name) for name in f.names]


# --- which loops are meant


class _Name:
    """What a step calls a loop: the name of its index, with the line and which it is of several in that line, where they are given.

    Attributes:
        text: all of it.
        name: the name of its index.
        line: 0 where it is not given.
        number: the same, counted from 1.
        own: the name that the loop's index has while steps are done, where a number is given.
    """

    __slots__ = ("line", "name", "number", "own", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        name, _, place = text.partition("@")
        line, _, number = place.partition(".")
        self.name: str = name
        self.line = int(line or 0)
        self.number = int(number or 0)
        self.own: str = _own(self.loop, self.line, self.number) + (TILES if name.endswith(TILES) else "")

    @property
    def loop(self) -> str:
        """The name of the loop as written: one over tiles will be where the loop is."""
        return self.name.removesuffix(TILES)

    def means(self, nest: Nest, loop: NestLoop) -> bool:
        """Whether it is a loop's, once those that are told by numbers have names of their own."""
        called = nest.name(loop)
        if self.number:
            return called == self.own
        return _plain(called) == self.name and (self.line == 0 or loop.line == self.line)


def _own(name: str, line: int, number: int) -> str:
    """A name for one of several loops in a line (which no other register has: a user's holds no ``@``)."""
    return f"{name}@{line}.{number}"


def _plain(name: str) -> str:
    """The name that a loop's index has otherwise; what is added for loops over tiles stays."""
    return _OWN.sub("", name)


def _names(step: Step) -> list[_Name]:
    """The loops of a step, those that are given with numbers as well."""
    options = options_of(step.name)
    return [_Name(text) for text in [*step.loops, *[name for name, _ in step.values if name not in options]]]


def _places(name: _Name, found: list[Nest]) -> list[tuple[int, NestLoop]]:
    """The loops as written that a name may mean, with the numbers of their nests."""
    places = [(k, loop) for k, nest in enumerate(found) for loop in nest.loops if nest.name(loop) == name.loop and name.line in (0, loop.line)]
    return places[name.number - 1 : name.number] if name.number else places


def _distinguish(f: Function, steps: Sequence[Step], found: list[Nest]) -> None:
    """Give loops that steps tell by numbers names of their own, which what is made of them keeps."""
    told = [(name, _places(name, found)) for step in steps for name in _names(step) if name.number]
    for name, places in told:
        f.names[places[0][1].index] = _own(name.loop, name.line, name.number)


def _nest_of(step: Step, names: list[_Name], found: list[Nest]) -> int:
    """The number of the nest that loops of a step are in.

    Raises:
        ScheduleError: a name is no loop's, or several loops', two are the same loop's, or the loops are in different nests.
    """
    chosen = -1
    seen: dict[tuple[int, int, str], str] = {}
    for name in names:
        places = _places(name, found)
        if not places:
            there = ", ".join([f"{nest.name(loop)} (line {loop.line})" for nest in found for loop in nest.loops])
            raise ScheduleError(f"{step}: there is no loop over {name.text}; there {'are ' + there if there else 'is none at all'}")
        if len(places) > 1:
            raise ScheduleError(f"{step}: {_several(name, [loop for _, loop in places])}", "", places[0][1].line)
        if chosen >= 0 and places[0][0] != chosen:
            raise ScheduleError(f"{step}: {name.text} is in another nest", "", places[0][1].line)
        chosen = places[0][0]
        loop = (chosen, places[0][1].number, name.name)
        if step.values and loop in seen:
            raise ScheduleError(f"{step}: {seen[loop]} and {name.text} are one loop", "", places[0][1].line)
        seen[loop] = name.text
    return chosen


def _several(name: _Name, loops: list[NestLoop]) -> str:
    """How to tell apart the loops that a name may mean."""
    lines = [loop.line for loop in loops]
    said = f"{len(loops)} loops are called {name.text}, in lines {', '.join(map(str, lines))}"
    if lines.count(lines[0]) == 1:
        return f"{said}: add the line, as in '{name.name}@{lines[0]}'"
    return f"{said}: add the line and which of them it is, as in '{name.name}@{lines[0]}.1' for the first"


def loop_of(step: Step, nest: Nest, name: str) -> NestLoop:
    """The loop of a nest that a step calls so. Raises ``ScheduleError`` where there is none any more."""
    return _loop(step, nest, _Name(name))


def _loop(step: Step, nest: Nest, name: _Name) -> NestLoop:
    for loop in nest.loops:
        if name.means(nest, loop):
            return loop
    raise ScheduleError(f"{step}: there is no loop over {name.text} in what the steps before have made of line {nest.loops[0].line}", "", nest.loops[0].line)


# --- one nest


def rewrite_by(nest: Nest, steps: list[Step], target: Target) -> None:
    """Do steps to a nest, with the nest as written beside it for arrays that overlap.

    Args:
        nest: the nest, which does not describe the code any more.
        steps: about loops of this nest.
        target: the machine.

    Raises:
        ScheduleError: a step is not possible; those before it have been done.
    """
    _rewrite([nest], steps, target)


def _rewrite(together: list[Nest], steps: list[Step], target: Target) -> None:
    """Do steps to nests that stand one behind the other, with what is written beside them for arrays that overlap."""
    start, end = together[0].start, together[-1].end
    f = together[0].f
    original = f.code
    record = together[0].record
    pairs = apart.pairs(together[0]) if len(together) == 1 else [(a, b, False) for a, b in apart.between(together)]
    plain: list[Instr] = []
    if pairs:
        # With registers of its own.
        clone(f, original[start : end + 1], {}, plain)
    behind = len(original) - 1 - end
    for number, step in enumerate(steps):
        now = together[0] if number == 0 and len(together) == 1 else _read_again(f, start, len(f.code) - behind, step)
        STEPS[step.name].run(now, step, target)
    fast = f.code[start : len(f.code) - behind]
    f.code = original[:start] + apart.versioned(f, pairs, plain, fast, original[start].line) + original[end + 1 :]
    if record is not None:
        for step in steps:
            record.does(repr(step))
        record.asks(f, pairs)
        for nest in together[1:]:
            if nest.record is not None:
                nest.record.keeps(f"it is put into order with the nest of line {together[0].loops[0].line}", nest.loops[0].line)


def _read_again(f: Function, start: int, end: int, step: Step | None = None) -> Nest:
    """The first nest of a stretch of the code, of those that a step is about, where one is given."""
    found = [nest for nest in nests(f) if start <= nest.start < end]
    names = _names(step) if step is not None else []
    for nest in found:
        if names and any(names[0].means(nest, loop) for loop in nest.loops):
            return nest
    assert found, "a step has left no loop"
    return found[0]


def refuse(nest: Nest, step: Step, refused: Refusal | None) -> None:
    """Raise the error for what keeps a step from being done, if anything does.

    Args:
        nest: the nest as it is now.
        step: the step.
        refused: what keeps it from being done, or None.
    """
    if refused is not None:
        about = "" if refused.dependence is None else f": {DependenceReport(nest, refused.dependence)}"
        raise ScheduleError(f"{step}: {refused.because}{about}", "", refused.line)


# --- the steps


def _unroll_and_jam(nest: Nest, step: Step, target: Target) -> None:
    now = nest
    f = nest.f
    behind = len(f.code) - nest.end
    # From the outermost in: what is left over of an inner loop would be in the way of those around it.
    for name, factor in _outermost_first(nest, step):
        loop = _loop(step, now, name)
        variables = scalars(now)
        marked = [other for other in now.loops if _in_lanes(now, other)]
        refuse(now, step, refusal(now, loop, factor, dependences(now), variables, marked) or _too_large(now, loop, factor))
        unroll_and_jam(now, loop, factor, variables)
        now = _read_again(f, nest.start, len(f.code) - behind)


def _too_large(nest: Nest, loop: NestLoop, factor: int) -> Refusal | None:
    """What keeps so many iterations of a loop from being written out, or None."""
    count = loop.end - loop.head - 1
    if count * factor <= MOST_INSTRUCTIONS:
        return None
    because = f"{factor} times the {count} instructions in the loop over {nest.name(loop)} would be {count * factor}; no more than {MOST_INSTRUCTIONS} are made"
    return Refusal(because, loop.line)


def _outermost_first(nest: Nest, step: Step) -> list[tuple[_Name, int]]:
    found = [(_loop(step, nest, _Name(name)).depth, k) for k, (name, _) in enumerate(step.values)]
    return [(_Name(step.values[k][0]), step.values[k][1]) for _, k in sorted(found)]


def _unroll(nest: Nest, step: Step, target: Target) -> None:
    f = nest.f
    now = nest
    behind = len(f.code) - nest.end
    for name, factor in _outermost_first(nest, step):
        loop = _loop(step, now, name)
        if not loop.step:
            refuse(now, step, Refusal("its steps are not known", loop.line))
        if crossing_branches(f.code[loop.head + 1 : loop.end]):
            refuse(now, step, Refusal("it is left, or its iteration ended, early", loop.line))
        refuse(now, step, _too_large(now, loop, factor))
        divide(now, loop, factor, [])
        now = _read_again(f, nest.start, len(f.code) - behind)


def _lanes(nest: Nest, step: Step, target: Target) -> None:
    (name,) = _names(step)
    loop = _loop(step, nest, name)
    if _in_lanes(nest, loop):
        refuse(nest, step, Refusal("its iterations run in lanes already", loop.line))
    variables = scalars(nest)
    refuse(nest, step, lanes_refusal(nest, loop, dependences(nest), variables, target))
    mark(nest, loop, variables)
    narrow(nest.f, target, loop.head, loop.end)


def _in_lanes(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop is one over lanes already."""
    marked = nest.f.code[loop.head].loop
    return marked is not None and marked.lanes


def _interchange(nest: Nest, step: Step, target: Target) -> None:
    first, second = [_loop(step, nest, name) for name in _names(step)]
    outer, inner = (first, second) if first.depth < second.depth else (second, first)
    refuse(nest, step, interchange_refusal(nest, outer, inner, dependences(nest), scalars(nest)))
    loops = chain(nest, outer, inner)
    assert loops is not None
    rearrange(nest, loops, exchanged(loops))


def _fuse(nest: Nest, step: Step, target: Target) -> None:
    names = _names(step)
    first = _loop(step, nest, names[0])
    for other in nests(nest.f):
        for second in other.loops:
            if second.head > first.end and names[1].means(other, second):
                around = first.parent.head if first.parent is not None else -1
                if around != (second.parent.head if second.parent is not None else -1):
                    refuse(nest, step, Refusal(f"{nest.name(first)} and {other.name(second)} are not in the same loop", second.line))
                try:
                    fuse(nest.f, (first.head, first.end), (second.head, second.end))
                except Refused as refused:
                    refuse(refused.nest if refused.nest is not None else nest, step, refused.refusal)
                return
    refuse(nest, step, Refusal(f"there is no loop over {names[1].text} behind it", first.line))


def _tile(nest: Nest, step: Step, target: Target) -> None:
    loops = [_loop(step, nest, name) for name in _names(step)]
    sizes = {loop.number: size for loop, (_, size) in zip(loops, step.values, strict=True)}
    refuse(nest, step, tile_refusal(nest, sizes, dependences(nest), scalars(nest)))
    tile(nest, sizes)


def _skew(nest: Nest, step: Step, target: Target) -> None:
    (name,) = _names(step)
    values = dict(step.values)
    loop = _loop(step, nest, name)
    count = values[name.text]
    inside = [other for other in nest.loops if other.parent is loop]
    found, variables = dependences(nest), scalars(nest)
    if len(inside) != 1:
        refuse(nest, step, Refusal(f"there is not one loop in the loop over {nest.name(loop)}", loop.line))
    lanes = values.get("lanes", 0)
    rows = Rows(nest, loop, inside[0], variables)
    slant = values.get("slant", 0) or least_slant(loop, count, found, lanes > 0) or 0
    refuse(nest, step, skew_refusal(nest, rows, count, slant, found, variables, lanes > 0))
    if not slant and not lanes:
        refuse(nest, step, Refusal("its iterations need not run behind each other", loop.line))
    refuse(nest, step, _too_large(nest, loop, count))
    if not lanes:
        skew(nest, rows, count, slant)
        return
    width = widest(nest.f, rows, target)
    streams = Streams(nest, loop, inside[0], slant, found)
    refuse(nest, step, _lanes_of_rows(count, lanes, width, target, inside[0].line))
    if not streams.possible:
        refuse(nest, step, Refusal("where its accesses get their values from cannot be followed from row to row", inside[0].line))
    left = values.get("rest", 0)
    if left % lanes or left >= count:
        refuse(nest, step, Refusal(f"strips of {left} rows are none of {lanes} lanes with fewer rows than {count}", loop.line))
    rest = Rest(left, InLanes(nest.f, streams, lanes, left // lanes, width, target), values.get("short", 0)) if left else None
    skew(nest, rows, count, slant, InLanes(nest.f, streams, lanes, count // lanes, width, target), rest)


def _lanes_of_rows(count: int, lanes: int, width: int, target: Target, line: int) -> Refusal | None:
    """What keeps rows from being in so many lanes, for elements of a width in bits (0 for what lanes cannot compute), or None."""
    if not width:
        return Refusal(f"{target.name} has no lanes for what it computes", line)
    most = target.vector_bits // width
    if lanes > most or lanes & (lanes - 1):
        return Refusal(f"for what it computes, {target.name} has a power of two of lanes, {most} at most, not {lanes}", line)
    if count % lanes:
        return Refusal(f"{count} rows are no whole number of vectors of {lanes} lanes", line)
    return None


class Row:
    """A kind of step.

    Attributes:
        run: does a step to a nest, or raises ``ScheduleError``.
    """

    __slots__ = ("run",)

    def __init__(self, run: Callable[[Nest, Step, Target], None]) -> None:
        self.run = run


#: The steps, by their names; ``pipeline``, which stands above, is added by the pass.
STEPS: Final[dict[str, Row]] = {
    "fuse": Row(_fuse),
    "interchange": Row(_interchange),
    "lanes": Row(_lanes),
    "skew": Row(_skew),
    "tile": Row(_tile),
    "unroll": Row(_unroll),
    "unroll_and_jam": Row(_unroll_and_jam),
}
