"""What is known of a nest, what was tried with it, what was done, and why not more: the parts of a report (``report.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.ir.function import Function
from loopwright.nests.analysis.circuit import binding_circuit, binding_unit
from loopwright.nests.analysis.dependence import Dependence, dependences
from loopwright.nests.analysis.graph import Graph, graph_of, recurrence_bound, resource_bound
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import PRIVATE, Scalar, scalars
from loopwright.nests.steps.jam import Refusal
from loopwright.nests.steps.why import lanes_refusal
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["BoundsReport", "CandidateReport", "DependenceReport", "LoopReport", "NestReport", "RefusalReport", "ScalarReport"]

#: Bodies with more operations are not scheduled for a picture.
_MOST_SCHEDULED: Final = 120


class LoopReport:
    """A loop.

    Attributes:
        name: the user's name for its index; of a ``while`` ``loop`` and a number.
        line: the user's line.
        depth: how many loops of the nest are around it.
        first, last: where the index begins, and what it stays below (counting down: above), as text; ``?`` where that is not known.
        step: what the index grows by in each iteration; 0 where that is not known.
    """

    __slots__ = ("depth", "first", "last", "line", "name", "step")

    def __init__(self, nest: Nest, loop: NestLoop) -> None:
        self.name = nest.name(loop)
        self.line = loop.line
        self.depth = loop.depth
        down = loop.step < 0
        self.first = _extreme("min" if down else "max", [nest.text(form) for form in loop.first])
        self.last = _extreme("max" if down else "min", [nest.text(form) for form in loop.last])
        self.step = loop.step

    def __str__(self) -> str:
        if not self.step:
            return f"{self.name} (line {self.line}): as many times as it turns out"
        step = "" if abs(self.step) == 1 else f" in steps of {abs(self.step)}"
        return f"{self.name} (line {self.line}): from {self.first} {'down, above' if self.step < 0 else 'up, below'} {self.last}{step}"


def _extreme(function: str, parts: list[str]) -> str:
    return "?" if not parts else parts[0] if len(parts) == 1 else f"{function}({', '.join(parts)})"


class DependenceReport:
    """A dependence of one access to an array on another.

    Attributes:
        kind: ``flow`` (a load of what was stored), ``anti`` (a store where a load was) or ``output`` (a store where a store was).
        array: the array's name.
        source, sink: the two accesses, as the user would write them; the sink comes second.
        source_line, sink_line: their lines.
        loops: the names of the loops around both, outermost first.
        vector: how many iterations later the sink comes in each of these loops, as text: a number, a range, ``*`` for any. Along a loop in steps of 1 or -1 it is the difference of the two indices, along others that of
            how many iterations of their loops come before the two.
        distance: the same as numbers, where it is one vector; else None.
        told: it is what equations say; otherwise it stands for all that could not be ruled out.
    """

    __slots__ = ("array", "distance", "kind", "loops", "sink", "sink_line", "source", "source_line", "told", "vector")

    def __init__(self, nest: Nest, dependence: Dependence) -> None:
        self.kind = dependence.kind
        self.array = nest.f.arrays[dependence.source.array].name
        self.source = nest.accessed(dependence.source)
        self.sink = nest.accessed(dependence.sink)
        self.source_line = dependence.source.line
        self.sink_line = dependence.sink.line
        self.loops: list[str] = [nest.name(loop) for loop in dependence.loops]
        self.vector: list[str] = [repr(component) for component in dependence.vector]
        self.distance: tuple[int, ...] | None = tuple([component.low for component in dependence.vector]) if dependence.exact else None
        self.told = dependence.told

    def __str__(self) -> str:
        return (
            f"{self.kind} of {self.array}, from {self.source} (line {self.source_line}) to {self.sink} (line {self.sink_line}): "
            f"({', '.join(self.vector)}){'' if self.told else ', for all that can be told'}"
        )


class ScalarReport:
    """A variable that a loop writes.

    Attributes:
        name: the user's, or "".
        loop: the name of the loop.
        kind: ``private`` (written before it is read in each iteration), ``reduction`` (a total) or ``carried`` (read as the iteration before has left it).
        operation: of a total; else "".
        line: of the first write.
    """

    __slots__ = ("kind", "line", "loop", "name", "operation")

    def __init__(self, nest: Nest, scalar: Scalar) -> None:
        self.name = nest.f.names[scalar.variable]
        self.loop = nest.name(scalar.loop)
        self.kind = scalar.kind
        self.operation = scalar.op.name if scalar.op is not None else ""
        self.line = scalar.line

    def __str__(self) -> str:
        name = self.name or "a variable"
        if self.kind == PRIVATE:
            return f"{name} (line {self.line}) is written anew in each iteration of {self.loop}"
        if self.operation:
            return f"{name} (line {self.line}) is a total over {self.loop}, by {self.operation}"
        return f"{name} (line {self.line}) goes from one iteration of {self.loop} to the next"


class RefusalReport:
    """Why something is not done.

    Attributes:
        because: a sentence.
        line: the user's line that it is about.
        dependence: the dependence that is in the way, or None.
    """

    __slots__ = ("because", "dependence", "line")

    def __init__(self, because: str, line: int, dependence: DependenceReport | None = None) -> None:
        self.because = because
        self.line = line
        self.dependence = dependence

    def __str__(self) -> str:
        return f"{self.because} (line {self.line}){f': {self.dependence}' if self.dependence is not None else ''}"


class BoundsReport:
    """How often iterations of the innermost loop can begin, in cycles between two of them.

    Attributes:
        loop: the loop's name.
        resource: what the units need for one (ResMII).
        unit: the unit that needs that long; ``issue`` where it is starting so many operations.
        recurrence: what circuits of operations that wait for each other allow (RecMII); 0 where there are none.
        circuit: the operations of such a circuit, each with its line.
        graph: the dependence graph of the loop's body, for pictures.
    """

    __slots__ = ("circuit", "graph", "loop", "recurrence", "resource", "unit")

    def __init__(self, nest: Nest, loop: NestLoop, graph: Graph, core: Core) -> None:
        self.loop = nest.name(loop)
        self.graph = graph
        self.resource = resource_bound(graph, core)
        self.unit = binding_unit(graph, core)
        self.recurrence = recurrence_bound(graph)
        code = nest.f.code
        self.circuit: list[tuple[str, int]] = [(graph.nodes[k].name, code[graph.nodes[k].position].line) for k in binding_circuit(graph)]

    def __str__(self) -> str:
        circuit = ", ".join([f"{name} (line {line})" for name, line in self.circuit])
        waits = f"{self.recurrence} by the circuit {circuit}" if self.circuit else "no circuit"
        return f"{self.resource} by the units ({self.unit}), {waits}"


class CandidateReport:
    """A way to rewrite the nest that was looked at.

    Attributes:
        step: what would be done, as ``kernel.schedule`` has it.
        cycles: cycles for one iteration of the nest as written, by the bounds; 0.0 where it is refused.
        refusal: why it cannot be done, or None.
        chosen: it was done.
    """

    __slots__ = ("chosen", "cycles", "refusal", "step")

    def __init__(self, step: str, cycles: float, refusal: RefusalReport | None) -> None:
        self.step = step
        self.cycles = cycles
        self.refusal = refusal
        self.chosen = False

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"{self.step}: {self.refusal}"
        return f"{self.step}: {self.cycles:.4g} cycles{', done' if self.chosen else ''}"


class NestReport:
    """An outermost loop with all that is in it.

    Attributes:
        line: the user's line.
        loops: its loops, each before those in it.
        dependences: of its accesses to arrays.
        scalars: the variables that its loops write.
        bounds: of the innermost loop, where there is only one and the machine's core is known; else None.
        lanes: the name of the loop that became lanes, or "".
        not_lanes: loops that cannot become lanes: their names, and why.
        candidates: what was tried for the loops around the innermost one.
        done: what was done, as ``kernel.schedule`` has it, in order.
        carried: how many loads of what came out take their value from a register in which an earlier iteration has left it.
        asked: pairs of arrays of which it is asked in front of the nest whether they overlap.
        kept: why not more was done; each a sentence with its line.
    """

    __slots__ = (
        "_draw",
        "_found",
        "_target",
        "asked",
        "bounds",
        "candidates",
        "carried",
        "dependences",
        "done",
        "kept",
        "lanes",
        "line",
        "loops",
        "not_lanes",
        "scalars",
        "scheduler",
    )

    def __init__(self, nest: Nest, target: Target, draw: Callable[[NestReport], str], scheduler: Callable[[Graph, Core, int], Any] | None) -> None:
        """``draw`` makes its picture; ``scheduler`` modulo schedules, or it is None."""
        self.line: int = nest.loops[0].line
        self._target = target
        self._draw = draw
        self.scheduler = scheduler
        self.bounds: BoundsReport | None = None
        self.candidates: list[CandidateReport] = []
        self.lanes = ""
        self.done: list[str] = []
        self.carried = 0
        self.asked: list[tuple[str, str]] = []
        self.kept: list[RefusalReport] = [RefusalReport(because, line) for line, because in nest.obstacles]
        self.loops: list[LoopReport] = [LoopReport(nest, loop) for loop in nest.loops]
        self.scalars: list[ScalarReport] = []
        self.dependences: list[DependenceReport] = []
        self.not_lanes: list[tuple[str, RefusalReport]] = []
        if not nest.obstacles:
            self._look(nest)

    def _look(self, nest: Nest) -> None:
        """What is known of a nest whose iterations may be put into another order."""
        variables = scalars(nest)
        found = dependences(nest)
        self.scalars = [ScalarReport(nest, scalar) for scalar in variables]
        self.dependences = [DependenceReport(nest, dependence) for dependence in found]
        for loop in nest.loops:
            refusal = lanes_refusal(nest, loop, found, variables, self._target)
            if refusal is not None:
                self.not_lanes.append((nest.name(loop), told(nest, refusal)))
        inner = [loop for loop in nest.loops if not any(other.parent is loop for other in nest.loops)]
        core = self._target.core
        if core is not None and len(inner) == 1 and inner[0].step:
            self.bounds = BoundsReport(nest, inner[0], graph_of(nest, inner[0], found, core), core)

    def scheduled(self, graph: Graph, copies: int) -> Any:
        """A modulo schedule of a graph, of so many copies of the body (``loopwright.pipelining.schedule.Schedule``); None where it is too large for a picture."""
        if self.scheduler is None or self._target.core is None or len(graph.nodes) > _MOST_SCHEDULED:
            return None
        return self.scheduler(graph, self._target.core, copies)

    # --- what the pass says while it works

    def tried(self, step: str, cycles: float) -> None:
        """A candidate with its cycles for an iteration of the nest as written."""
        if step not in [candidate.step for candidate in self.candidates]:
            self.candidates.append(CandidateReport(step, cycles, None))

    def refused(self, nest: Nest, step: str, refusal: Refusal) -> None:
        """A candidate that is not legal, or that there is no room for."""
        self.candidates.append(CandidateReport(step, 0.0, told(nest, refusal)))

    def undone(self, step: str, because: str, line: int) -> None:
        """A candidate that turned out not to be possible."""
        for candidate in self.candidates:
            if candidate.step == step:
                candidate.refusal = RefusalReport(because.removeprefix(f"{step}: "), line)

    def keeps(self, because: str, line: int) -> None:
        """A reason why not more is done."""
        if because not in [refusal.because for refusal in self.kept]:
            self.kept.append(RefusalReport(because, line))

    def does(self, step: str) -> None:
        """A step that is done."""
        self.done.append(step)
        if step.startswith("lanes("):
            self.lanes = step[len("lanes(") :].rstrip(")").strip("'\"")
            # (Said of its accesses as they are, which may be dealt out of whole vectors.)
            self.not_lanes = [refused for refused in self.not_lanes if refused[0] != self.lanes]
        for candidate in self.candidates:
            # (What is left over is thought of when it has been chosen.)
            candidate.chosen = candidate.chosen or candidate.step == step or step.startswith(f"{candidate.step[:-1]}, rest=")

    def reorders(self, before: list[str], after: list[str]) -> None:
        """Loops are in another order, which is that of some interchanges."""
        names = list(before)
        for k, name in enumerate(after):
            if name not in names[k:]:
                # (The nest has been written otherwise before, and the loop has no name.)
                continue
            place = names.index(name, k)
            if place != k:
                self.does(f"interchange({names[k]}, {name})")
                names[k], names[place] = names[place], names[k]

    def asks(self, f: Function, pairs: list[tuple[int, int, bool]]) -> None:
        """It is asked at run time whether arrays overlap."""
        self.asked += [(f.arrays[a].name, f.arrays[b].name) for a, b, _ in pairs]

    # --- as text, and drawn

    def picture(self) -> str:
        """Iterations of the innermost two loops as points, arrows for what depends on what, and what runs together shaded: an SVG."""
        return self._draw(self)

    def __str__(self) -> str:
        names = ", ".join([loop.name for loop in self.loops])
        out = [f"nest of line {self.line}, over {names}"]
        out += _section("loops", [str(loop) for loop in self.loops])
        out += _section("dependences", [str(dependence) for dependence in self.dependences])
        out += _section("variables", [str(scalar) for scalar in self.scalars])
        if self.bounds is not None:
            out += _section(f"cycles between two iterations of {self.bounds.loop}, at least", [str(self.bounds)])
        out += _section("not lanes", [f"{name}: {refusal}" for name, refusal in self.not_lanes])
        out += _section("tried", [str(candidate) for candidate in self.candidates])
        done = list(self.done)
        if self.carried:
            done.append(
                f"{self.carried} load{'' if self.carried == 1 else 's'} of what came out made a value in a register, left there by an earlier iteration"
            )
        if self.asked:
            done.append(f"asked in front of it: do {', '.join([f'{a} and {b}' for a, b in self.asked])} overlap? Then it runs as written")
        out += _section("done", done if done else ["nothing: it runs as written"])
        out += _section("why not more", [str(refusal) for refusal in self.kept])
        return "\n".join(out) + "\n"


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}", *[f"    {line}" for line in lines]] if lines else []


def told(nest: Nest, refusal: Refusal) -> RefusalReport:
    """A refusal without what belongs to the nest while it is rewritten."""
    return RefusalReport(refusal.because, refusal.line, DependenceReport(nest, refusal.dependence) if refusal.dependence is not None else None)
