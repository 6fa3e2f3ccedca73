"""Software pipelining of an innermost loop: read the body, schedule it, make code of the schedule."""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function
from loopwright.nests.dependence import Dependence
from loopwright.nests.graph import Graph
from loopwright.nests.jam import Refusal
from loopwright.nests.nest import Nest, NestLoop
from loopwright.pipelining.body import Body, body_graph, read_body
from loopwright.pipelining.expand import expand, rotation
from loopwright.pipelining.modulo import interval_bound, modulo_schedule
from loopwright.pipelining.schedule import Schedule, live
from loopwright.targets.core import Core

__all__ = ["Report", "pipeline"]

#: How many operations prologue, kernel and epilogue may have together.
MOST_OPERATIONS: Final = 600
#: How many intervals beyond the least are tried where registers or code do not suffice.
MOST_TRIED: Final = 24


class Report:
    """What became of a loop.

    Attributes:
        refusal: why it stays as it is, or None.
        bound: the least interval that units and circuits allow.
        schedule: the schedule, or None.
        graph: what was scheduled, or None.
        unroll: iterations that one of the kernel makes.
        registers: values alive at once.
    """

    __slots__ = ("bound", "graph", "refusal", "registers", "schedule", "unroll")

    def __init__(
        self, refusal: Refusal | None, bound: int = 0, graph: Graph | None = None, schedule: Schedule | None = None, unroll: int = 0, registers: int = 0
    ) -> None:
        self.refusal = refusal
        self.bound = bound
        self.graph = graph
        self.schedule = schedule
        self.unroll = unroll
        self.registers = registers


def pipeline(f: Function, nest: Nest, loop: NestLoop, core: Core, found: list[Dependence], interval: int = 1) -> Report:
    """Overlap the iterations of an innermost loop. Bit for bit the same is computed.

    Distinct arrays are taken not to overlap, as by the dependences: who calls asks in front of the nest (``nests/apart.py``).

    Args:
        f: the function, which is changed; the nest does not describe its code any more then.
        nest: the nest.
        loop: a loop of it that holds no other.
        core: the core to schedule for.
        found: the nest's dependences.
        interval: the least initiation interval to try.

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
    least = max(bound, interval)
    last = least + MOST_TRIED
    schedule: Schedule | None = None
    while least <= last:
        schedule = modulo_schedule(graph, core, least=least)
        assert schedule is not None
        turned = rotation(body, schedule)
        needed = live(graph, schedule)
        if _registers(body, graph, schedule) <= core.registers and len(body.operations) * (turned.unroll + schedule.stages - 1) <= MOST_OPERATIONS:
            f.code = f.code[: loop.head] + expand(body, schedule, turned) + f.code[loop.end + 1 :]
            return Report(None, bound, graph, schedule, turned.unroll, needed)
        least = schedule.interval + 1
    return Report(Refusal("its values do not fit the registers", loop.line), bound, graph)


def _registers(body: Body, graph: Graph, schedule: Schedule) -> int:
    """The greater of what integers and floats need."""
    f = body.f
    floats = [operation.instr.dst >= 0 and f.types[operation.instr.dst].is_float for operation in body.operations]
    return max(live(graph, schedule, [k for k, each in enumerate(floats) if each]), live(graph, schedule, [k for k, each in enumerate(floats) if not each]))
