"""Nests rewritten by hand: the steps of ``kernel.schedule``, each where it is legal.

A step is a row of ``STEPS``: its name, and a function that rewrites the nest or raises the error that says why not (``refuse``). Loops are told by the names of their indices and their lines,
which rewritten loops keep; after each step the nest is read again. The rewritten loops come first in the text, then what is left over; so a name means the first
loop that has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import ScheduleError
from loopwright.ir.function import Function, Instr
from loopwright.ir.schedule import Step, parse_steps
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

__all__ = ["STEPS", "Row", "apply_schedule", "loop_of", "refuse", "rewrite_by"]


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
            about = sorted([_nest_of(Step("fuse", (name,)), found) for name in step.loops])
            first = next(k for k in range(about[0] + 1) if last[k] >= about[0])
            last[first] = max(last[first], last[about[-1]])
            asked[about[0]].append(step)
        else:
            asked[_nest_of(step, found)].append(step)
    k = len(found) - 1
    while k >= 0:
        first = next(n for n in range(k + 1) if last[n] >= k)
        together = found[first : k + 1]
        for nest in reversed(together):
            if report is not None:
                nest.record = report.begins(nest, target)
        own = [step for step in steps if any(step is other for n in range(first, k + 1) for other in asked[n])]
        if own:
            _rewrite(together, own, target)
        k = first - 1


# --- which loops are meant


class _Name:
    """What a step calls a loop: the name of its index, and the line, where it is given."""

    __slots__ = ("line", "name", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        name, at, line = text.partition("@")
        self.name: str = name
        self.line: int = int(line) if at else 0

    def means(self, nest: Nest, loop: NestLoop, name: str) -> bool:
        return nest.name(loop) == name and (self.line == 0 or loop.line == self.line)


def _names(step: Step) -> list[_Name]:
    """The loops of a step, those that are given with numbers as well."""
    options = STEPS[step.name].options
    return [_Name(text) for text in [*step.loops, *[name for name, _ in step.values if name not in options]]]


def _nest_of(step: Step, found: list[Nest]) -> int:
    """The number of the nest that a step is about.

    Raises:
        ScheduleError: a name is no loop's, or two loops', or the loops are in different nests.
    """
    chosen = -1
    for name in _names(step):
        # (A loop over tiles is where the loop is.)
        plain = name.name.removesuffix(TILES)
        places = [(k, loop) for k, nest in enumerate(found) for loop in nest.loops if name.means(nest, loop, plain)]
        if not places:
            there = ", ".join([f"{nest.name(loop)} (line {loop.line})" for nest in found for loop in nest.loops])
            raise ScheduleError(f"{step}: there is no loop over {name.text}; there {'are ' + there if there else 'is none at all'}")
        if len(places) > 1:
            lines = [loop.line for _, loop in places]
            raise ScheduleError(
                f"{step}: {len(places)} loops are called {name.text}, in lines {', '.join(map(str, lines))}: add the line, as in '{name.name}@{lines[0]}'",
                "",
                lines[0],
            )
        if chosen >= 0 and places[0][0] != chosen:
            raise ScheduleError(f"{step}: {name.text} is in another nest", "", places[0][1].line)
        chosen = places[0][0]
    if chosen < 0:
        if len(found) != 1:
            raise ScheduleError(f"{step}: it does not say of which loop, and there {'are several nests' if found else 'is none at all'}")
        chosen = 0
    return chosen


def loop_of(step: Step, nest: Nest, name: str) -> NestLoop:
    """The loop of a nest that a step calls so. Raises ``ScheduleError`` where there is none any more."""
    return _loop(step, nest, _Name(name))


def _loop(step: Step, nest: Nest, name: _Name) -> NestLoop:
    for loop in nest.loops:
        if name.means(nest, loop, name.name):
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
        if names and any(names[0].means(nest, loop, names[0].name) for loop in nest.loops):
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
        refuse(now, step, refusal(now, loop, factor, dependences(now), variables, marked))
        unroll_and_jam(now, loop, factor, variables)
        now = _read_again(f, nest.start, len(f.code) - behind)


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
    if len(names) != 2:
        raise ScheduleError(f"{step}: it takes two loops, as in fuse(i@4, i@7)")
    first = _loop(step, nest, names[0])
    for other in nests(nest.f):
        for second in other.loops:
            if second.head > first.end and names[1].means(other, second, names[1].name):
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
    names = _names(step)
    values = dict(step.values)
    if len(names) != 1:
        raise ScheduleError(f"{step}: it takes one loop with a number, as in skew(i=4)")
    loop = _loop(step, nest, names[0])
    count = values[names[0].text]
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
    if not lanes:
        skew(nest, rows, count, slant)
        return
    width = widest(nest.f, rows, target)
    streams = Streams(nest, loop, inside[0], slant, found)
    if not width or width * lanes > target.vector_bits or count % lanes:
        refuse(nest, step, Refusal(f"{target.name} has no such lanes for what it computes, or their number does not divide {count}", inside[0].line))
    if not streams.possible:
        refuse(nest, step, Refusal("where its accesses get their values from cannot be followed from row to row", inside[0].line))
    left = values.get("rest", 0)
    if left % lanes or left >= count:
        refuse(nest, step, Refusal(f"strips of {left} rows are none of {lanes} lanes with fewer rows than {count}", loop.line))
    rest = Rest(left, InLanes(nest.f, streams, lanes, left // lanes, width, target), values.get("short", 0)) if left else None
    skew(nest, rows, count, slant, InLanes(nest.f, streams, lanes, count // lanes, width, target), rest)


class Row:
    """A kind of step.

    Attributes:
        run: does a step to a nest, or raises ``ScheduleError``.
        options: the names of numbers that the step takes, and that are of no loop.
    """

    __slots__ = ("options", "run")

    def __init__(self, run: Callable[[Nest, Step, Target], None], options: tuple[str, ...] = ()) -> None:
        self.run = run
        self.options = options


#: The steps, by their names; ``pipeline``, which stands above, is added by the pass.
STEPS: Final[dict[str, Row]] = {
    "fuse": Row(_fuse),
    "interchange": Row(_interchange),
    "lanes": Row(_lanes),
    "skew": Row(_skew, ("slant", "lanes", "rest", "short")),
    "tile": Row(_tile),
    "unroll": Row(_unroll),
    "unroll_and_jam": Row(_unroll_and_jam),
}
