"""Software pipelining of an innermost loop: read the body, schedule it, make code of the schedule."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.graph import Graph
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.jam import Refusal
from loopwright.pipelining.body import Body, body_graph, read_body
from loopwright.pipelining.expand import expand, rotation
from loopwright.pipelining.modulo import interval_bound, modulo_schedule
from loopwright.pipelining.schedule import Schedule, live
from loopwright.pipelining.steady import steady_interval
from loopwright.targets.core import Core

__all__ = ["Report", "overlap", "pipeline"]

#: How many operations prologue, kernel and epilogue may have together.
MOST_OPERATIONS: Final = 600
#: How many intervals beyond the least are tried where registers or code do not suffice.
MOST_TRIED: Final = 24
#: Pairs of accesses that may have to be told apart by equations; with more, a nest stays as it is.
MOST_QUESTIONS: Final = 20


class Report:
    """What became of a loop.

    Attributes:
        refusal: why it stays as it is, or None.
        graph: what was scheduled, or None.
        bound: the least interval that units and circuits allow.
        before, after: cycles an iteration takes in the order of the text, and in the kernel.
        schedule: the schedule, or None.
        unroll: iterations that one of the kernel makes.
        registers: values alive at once.
    """

    __slots__ = ("after", "before", "bound", "graph", "refusal", "registers", "schedule", "unroll")

    def __init__(self, refusal: Refusal | None, graph: Graph | None = None, bound: int = 0, before: int = 0) -> None:
        self.refusal = refusal
        self.graph = graph
        self.bound = bound
        self.before = before
        self.after = 0
        self.schedule: Schedule | None = None
        self.unroll = 0
        self.registers = 0


def overlap(f: Function, core: Core) -> list[Report]:
    """Pipeline the innermost loops of a function for a core that starts operations in order, where that is for the better.

    Where arrays might overlap, that is asked in front of a nest.

    Args:
        f: the function, before it has vectors.
        core: the core.

    Returns:
        A report for each innermost loop that was looked at, from the last one up.
    """
    reports: list[Report] = []
    for nest in reversed(nests(f)):
        if nest.obstacles or too_many(nest, most=MOST_QUESTIONS):
            continue
        found = dependences(nest)
        asked = apart.pairs(nest)
        original = f.code
        plain: list[Instr] = []
        if asked:
            clone(f, original[nest.start : nest.end + 1], {}, plain)
        for loop in reversed(nest.loops):
            if not any(other.parent is loop for other in nest.loops):
                reports.append(pipeline(f, nest, loop, core, found, gain=True))
        if f.code is not original:
            fast = f.code[nest.start : len(f.code) - (len(original) - 1 - nest.end)]
            f.code = original[: nest.start] + apart.versioned(f, asked, plain, fast, original[nest.start].line) + original[nest.end + 1 :]
    return reports


def pipeline(f: Function, nest: Nest, loop: NestLoop, core: Core, found: list[Dependence], interval: int = 1, gain: bool = False) -> Report:
    """Overlap the iterations of an innermost loop. Bit for bit the same is computed.

    Distinct arrays are taken not to overlap, as by the dependences: who calls asks in front of the nest (``nests/rewriting/apart.py``).

    Args:
        f: the function, which is changed: what is in front of the loop stays where it is, and the nest describes that still.
        nest: the nest.
        loop: a loop of it that holds no other.
        core: the core to schedule for.
        found: the nest's dependences.
        interval: the least initiation interval to try.
        gain: only where an iteration takes fewer cycles than in the order of the text.

    Returns:
        What was done, or why nothing was.
    """
    body = read_body(nest, loop)
    if isinstance(body, Refusal):
        return Report(body)
    graph = body_graph(body, found, core)
    bound = interval_bound(graph, core)
    if bound is None or not body.operations:
        return Report(Refusal("nothing in it takes time", loop.line))
    report = Report(None, graph, bound, steady_interval(graph, core))
    least = max(bound, interval)
    last = report.before - 1 if gain else least + MOST_TRIED
    because = "its iterations are as fast one after the other"
    while least <= last:
        schedule = modulo_schedule(graph, core, least=least)
        assert schedule is not None
        turned = rotation(body, graph, schedule)
        fits = _registers(body, graph, schedule) <= core.registers and len(body.operations) * (turned.unroll + schedule.stages - 1) <= MOST_OPERATIONS
        after = steady_interval(graph, core, schedule)
        if fits and not (gain and after >= report.before):
            report.schedule = schedule
            report.after = after
            report.unroll = turned.unroll
            report.registers = live(graph, schedule)
            f.code = f.code[: loop.head] + expand(body, graph, schedule, turned) + f.code[loop.end + 1 :]
            return report
        if not fits:
            because = "its values do not fit the registers"
        least = schedule.interval + 1
    report.refusal = Refusal(because, loop.line)
    return report


def _registers(body: Body, graph: Graph, schedule: Schedule) -> int:
    """The greater of what integers and floats need."""
    f = body.f
    floats = [operation.instr.dst >= 0 and f.types[operation.instr.dst].is_float for operation in body.operations]
    return max(live(graph, schedule, [k for k, each in enumerate(floats) if each]), live(graph, schedule, [k for k, each in enumerate(floats) if not each]))
