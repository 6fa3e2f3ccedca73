"""The programme for OR-Tools' CP-SAT: cycles of the kernel, iterations, units and dependences.

Of each operation the unknowns are the *slot*, the cycle of the kernel in which it starts; the *stage*, how many iterations of the innermost loop later it runs;
and its shifts in the loops around it. It starts at ``interval * stage + slot``. An edge of distance ``d`` from ``u`` to ``v`` gets the distance
``d + shift[v] - shift[u]``. It holds if the first outer component that is not 0 is positive, or, where all are 0, if the start of ``v`` is late enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

from loopwright.errors import InternalError
from loopwright.nests.analysis.graph import Edge, Node
from loopwright.planning.encoding import Encoding
from loopwright.targets.core import Core

__all__ = ["Answer", "Programme"]


class Answer:
    """What the solver said.

    Attributes:
        feasible: None where time ran out before it knew; with an objective, whether something was found.
        proven: what was found is the best, or that there is nothing is certain.
        value: of the objective.
        bound: no value is less.
        seconds: taken by the solver.
        slots, stages, shifts: per operation; empty where nothing was found.
        placed: those of ``Programme.counted``, each with its slot.
        interval: of what was found.
    """

    __slots__ = ("bound", "feasible", "interval", "placed", "proven", "seconds", "shifts", "slots", "stages", "value")

    def __init__(self, feasible: bool | None, proven: bool, seconds: float) -> None:
        self.feasible = feasible
        self.proven = proven
        self.seconds = seconds
        self.value = 0
        self.bound = 0
        self.interval = 0
        self.slots: list[int] = []
        self.placed: list[tuple[int, int]] = []
        self.stages: list[int] = []
        self.shifts: list[tuple[int, ...]] = []


class Programme:
    """A programme being built: operations first, then their edges, ``resources`` once, an objective, ``solve``.

    Attributes:
        model: CP-SAT's.
        interval: a number, or a variable of the model.
    """

    def __init__(self, core: Core, encoding: Encoding, interval: int, most: int = 0) -> None:
        """
        Args:
            core: units and issue width.
            encoding: how to write it down; ``turns`` are booleans.
            interval: the initiation interval; with ``encoding.interval`` ``variable``, the least.
            most: the greatest, then.
        """
        from ortools.sat.python import cp_model

        self._cp = cp_model
        self.model: Any = cp_model.CpModel()
        self.core = core
        self.encoding = encoding
        self.least = interval
        self.most = most if encoding.interval == "variable" else interval
        self.interval: Any = self.model.new_int_var(interval, most, "interval") if encoding.interval == "variable" else interval
        self.nodes: list[Node] = []
        self.slots: list[Any] = []  # expressions
        self.at: list[list[Any]] = []  # a boolean for each slot; empty for integers
        self.until: list[list[Any]] = []  # the slot is at most that; made where it is asked for
        self.stages: list[Any] = []
        self.starts: list[Any] = []
        self.shifts: list[list[Any]] = []
        self.ranges: list[list[tuple[int, int]]] = []  # of the shifts and the start
        self._staged: set[int] = set()  # operations whose stage is a variable of its own
        self._counted: list[tuple[Node, list[int], list[Any]]] = []  # alike operations, and how many of them start in each slot
        self._named: list[tuple[int, int]] = []  # the same, each with the number of its operation
        self.objective: Any = None

    # --- operations ---------------------------------------------------------------------------------------------

    def operation(self, node: Node, first: int, last: int, shifts: list[tuple[int, int]], of: int = -1) -> int:
        """An operation that starts between two cycles; gives its number.

        Args:
            node: the operation.
            first, last: bounds of its start, by the least interval.
            shifts: bounds of its shifts in the outer loops.
            of: the number of an operation whose stage and shifts it shares.
        """
        model = self.model
        number = len(self.nodes)
        self.nodes.append(node)
        self.ranges.append([*shifts, (first, last)])
        if of >= 0:
            self._slot(range(self.most))
            self.stages.append(self.stages[of])
            self.shifts.append(self.shifts[of])
        else:
            self.shifts.append([model.new_int_var(low, high, f"shift{number}_{k}") if low < high else low for k, (low, high) in enumerate(shifts)])
            if self.encoding.slots != "integers" and last - first < self.most:
                # Its slot says when it starts.
                self._slot([start % self.most for start in range(first, last + 1)])
                at = [self.at[number][start % self.most] for start in range(first, last + 1)]
                self.stages.append(self._cp.LinearExpr.weighted_sum(at, [start // self.most for start in range(first, last + 1)]))
                self.starts.append(self._cp.LinearExpr.weighted_sum(at, list(range(first, last + 1))))
                return number
            self._slot(range(self.most))
            self.stages.append(model.new_int_var(first // self.least, last // self.least, f"stage{number}"))
            self._staged.add(number)
        if self.encoding.interval == "variable":
            base = model.new_int_var(min(0, first // self.least * self.most), max(0, last // self.least * self.most), f"base{number}")
            model.add_multiplication_equality(base, [self.stages[number], self.interval])
            self.starts.append(base + self.slots[number])
        else:
            self.starts.append(self.interval * self.stages[number] + self.slots[number])
            if of < 0 and (first % self.interval or last % self.interval != self.interval - 1):
                model.add_linear_constraint(self.starts[number], first, last)
        return number

    def _slot(self, open_to: Sequence[int]) -> None:
        """The slot of one more operation, which is one of those."""
        model = self.model
        number = len(self.slots)
        self.until.append([])
        if self.encoding.slots == "integers":
            self.at.append([])
            slot = model.new_int_var(0, self.most - 1, f"slot{number}")
            if self.encoding.interval == "variable":
                model.add(slot < self.interval)
            self.slots.append(slot)
            return
        at: list[Any] = [0] * self.most
        for j in open_to:
            at[j] = model.new_bool_var(f"at{number}_{j}")
        model.add_exactly_one([at[j] for j in open_to])
        self.at.append(at)
        self.slots.append(self._cp.LinearExpr.weighted_sum([at[j] for j in open_to], list(open_to)))

    def counted(self, node: Node, members: list[int]) -> None:
        """Operations that are alike and that no edge orders, ``members`` for whoever reads the answer: which of them starts in which slot does not matter."""
        model = self.model
        if self.encoding.slots == "integers":
            numbers = [self.operation(node, 0, self.least - 1, []) for _ in members]
            for a, b in pairwise(numbers):
                model.add(self.slots[a] <= self.slots[b])
            self._named += zip(members, numbers, strict=True)
            return
        many = [model.new_int_var(0, len(members), f"many{len(self._counted)}_{j}") for j in range(self.most)]
        model.add(self._cp.LinearExpr.sum(many) == len(members))
        self._counted.append((node, members, many))

    def begin_with(self, number: int) -> None:
        """Fix an operation's slot to 0: all schedules can be turned so that it is."""
        if self.at[number]:
            self.model.add(self.at[number][0] == 1)
        else:
            self.model.add(self.slots[number] == 0)

    def at_most(self, number: int) -> list[Any]:
        """For each slot whether an operation's is at most that."""
        if not self.until[number]:
            model = self.model
            until = [model.new_bool_var(f"until{number}_{j}") for j in range(self.most - 1)] + [model.new_constant(1)]
            for j in range(self.most):
                if self.at[number]:
                    model.add(self.at[number][j] == until[j] - (until[j - 1] if j else 0))
                else:
                    model.add(self.slots[number] <= j).only_enforce_if(until[j])
                    model.add(self.slots[number] > j).only_enforce_if(until[j].negated())
            self.until[number] = until
        return self.until[number]

    def hint(self, number: int, slot: int, stage: int, shifts: tuple[int, ...]) -> None:
        """Where to look first."""
        model = self.model
        if number in self._staged:
            model.add_hint(self.stages[number], stage)
        for variable, shift in zip(self.shifts[number], shifts, strict=False):
            if not isinstance(variable, int):
                model.add_hint(variable, shift)
        if not self.at[number]:
            model.add_hint(self.slots[number], slot)
        for j, here in enumerate(self.at[number]):
            if not isinstance(here, int):
                model.add_hint(here, j == slot)
        for j, until in enumerate(self.at_most(number)[:-1]):
            model.add_hint(until, slot <= j)

    # --- edges --------------------------------------------------------------------------------------------------

    def edge(self, edge: Edge, source: int, sink: int) -> None:
        """Let an edge between two operations hold."""
        outer = self._outer(edge, source, sink)
        if self.encoding.distances == "weights" and any(not isinstance(component, int) for component in outer):
            self._weighed(edge, source, sink)
            return
        same = self.order(edge, source, sink)
        if same is not None:
            self._inner(edge, source, sink, same)

    def _outer(self, edge: Edge, source: int, sink: int) -> list[Any]:
        """The outer components of an edge's distance, operations shifted; numbers or expressions."""
        return [d + b - a for d, a, b in zip(edge.distance[:-1], self.shifts[source], self.shifts[sink], strict=True)]

    def order(self, edge: Edge, source: int, sink: int) -> list[Any] | None:
        """Let an edge lead to no earlier iteration of the outer loops; gives what has to be true for it to lead to the same one, or None where it cannot."""
        outer = self._outer(edge, source, sink)
        model = self.model
        before: list[Any] = []
        for k, component in enumerate(outer):
            if isinstance(component, int):
                if component > 0:
                    return None
                if component < 0:
                    model.add_bool_or([one.negated() for one in before])
                    return None
                continue
            low, high = self._reach(edge, source, sink, k)
            if low > 0:
                return None
            if high <= 0:
                # (There is no later iteration to lead to.)
                model.add(component == 0).only_enforce_if(before)
                continue
            zero = model.new_bool_var("")
            model.add(component >= 1).only_enforce_if([*before, zero.negated()])
            if low < 0:
                model.add(component >= 0).only_enforce_if([*before, zero])
            if before:
                model.add_implication(zero, before[-1])
            before = [zero]
        return before

    def _reach(self, edge: Edge, source: int, sink: int, k: int) -> tuple[int, int]:
        """Bounds of a component of an edge's distance, operations shifted."""
        a, b = self.ranges[source][k], self.ranges[sink][k]
        return edge.distance[k] + b[0] - a[1], edge.distance[k] + b[1] - a[0]

    def _inner(self, edge: Edge, source: int, sink: int, same: list[Any]) -> None:
        model = self.model
        far = edge.distance[-1]
        if self.at[source] and self.encoding.dependences == "structured":
            ahead = self.stages[sink] - self.stages[source] + far
            sinks, sources = self.at_most(sink), self.at_most(source)
            for j in range(self.most):
                whole, rest = divmod(j - edge.latency, self.most)
                constraint = model.add(sinks[j] + 1 - sources[rest] <= ahead + whole + 1)
                if same:
                    constraint.only_enforce_if(same)
            return
        constraint = model.add(self.starts[sink] - self.starts[source] + self.interval * far >= edge.latency)
        if same:
            constraint.only_enforce_if(same)

    def _weighed(self, edge: Edge, source: int, sink: int) -> None:
        """One inequality, each outer component weighed with more than what is inside of it can come to."""
        inner = [bounds[-1] for bounds in self.ranges]
        # What an edge asks for within the innermost loop, however negative, must be less than one iteration of the loop around it.
        weight = 2 * (max(high for _, high in inner) - min(low for low, _ in inner)) + self.most * (2 + abs(edge.distance[-1])) + abs(edge.latency)
        total = self.starts[sink] - self.starts[source] + self.interval * edge.distance[-1]
        for k in range(len(edge.distance) - 2, -1, -1):
            total += weight * (edge.distance[k] + self.shifts[sink][k] - self.shifts[source][k])
            spread = [bounds[k] for bounds in self.ranges]
            weight *= 2 * (max(high for _, high in spread) - min(low for low, _ in spread)) + abs(edge.distance[k]) + 2
        self.model.add(total >= edge.latency)

    # --- units --------------------------------------------------------------------------------------------------

    def resources(self) -> None:
        """In each cycle of the kernel no more than the core has: of units, and of operations that start."""
        for unit, most in enumerate(self.core.counts):
            of = [k for k, node in enumerate(self.nodes) if node.unit == unit and node.cycles]
            alike = [(node.cycles, many) for node, _, many in self._counted if node.unit == unit and node.cycles]
            self._limit(of, [self.nodes[k].cycles for k in of], alike, most)
        self._limit(list(range(len(self.nodes))), [1] * len(self.nodes), [(1, many) for _, _, many in self._counted], self.core.issue)

    def _limit(self, of: list[int], cycles: list[int], alike: list[tuple[int, list[Any]]], most: int) -> None:
        if self.encoding.slots == "integers":
            if sum([-(-c // self.least) for c in cycles]) > most:
                self._cumulative(of, cycles, most)
            return
        for j in range(self.most):
            terms: list[Any] = []
            factors: list[int] = []
            for k, c in zip(of, cycles, strict=True):
                _cover(self.at[k], c, j, terms, factors)
            for c, many in alike:
                _cover(many, c, j, terms, factors)
            if most == 1 and not alike and all(factor == 1 for factor in factors):
                self.model.add_at_most_one(terms)
            else:
                self.model.add(self._cp.LinearExpr.weighted_sum(terms, factors) <= most)

    def _cumulative(self, of: list[int], cycles: list[int], most: int) -> None:
        """Intervals that repeat: those that began in earlier iterations stand beside, begun before cycle 0."""
        model = self.model
        intervals = []
        for k, c in zip(of, cycles, strict=True):
            for earlier in range(-(-(c - 1) // self.least) + 1):
                start = self.slots[k] - self.interval * earlier
                if earlier and self.encoding.interval == "variable":
                    begun = model.new_int_var(-self.most * earlier, self.most, "")
                    model.add(begun == start)
                    start = begun
                intervals.append(model.new_fixed_size_interval_var(start, c, ""))
        if most == 1:
            model.add_no_overlap(intervals)
        else:
            model.add_cumulative(intervals, [1] * len(intervals), most)

    # --- solving ------------------------------------------------------------------------------------------------

    def minimise(self, what: Any) -> None:
        """Take what is least of it."""
        self.objective = what
        self.model.minimize(what)

    def solve(self, seconds: float, workers: int = 1, seed: int = 1) -> Answer:
        """Ask the solver.

        Args:
            seconds: when to stop.
            workers: its threads.
            seed: of its choices.
        """
        solver = self._cp.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.001, seconds)
        solver.parameters.num_workers = workers
        solver.parameters.random_seed = seed
        start = perf_counter()
        status = solver.solve(self.model)
        taken = perf_counter() - start
        if status == self._cp.INFEASIBLE:
            return Answer(False, True, taken)
        if status == self._cp.MODEL_INVALID:
            raise InternalError(f"the integer programme is none: {self.model.validate()}")
        if status not in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return Answer(None, False, taken)
        made = Answer(True, status == self._cp.OPTIMAL, taken)
        if self.objective is not None:
            made.value = round(solver.objective_value)
            made.bound = round(solver.best_objective_bound)
        made.interval = solver.value(self.interval)
        made.slots = [solver.value(slot) for slot in self.slots]
        made.placed = [(member, made.slots[k]) for member, k in self._named]
        for _, members, many in self._counted:
            free = iter(members)
            made.placed += [(next(free), j) for j in range(self.most) for _ in range(solver.value(many[j]))]
        made.stages = [solver.value(stage) for stage in self.stages]
        made.shifts = [tuple([solver.value(shift) for shift in shifts]) for shifts in self.shifts]
        return made


def _cover(at: list[Any], cycles: int, slot: int, terms: list[Any], factors: list[int]) -> None:
    """What in the choice of an operation's slot makes it keep its unit in a cycle of the kernel, and how many times over."""
    interval = len(at)
    whole, rest = divmod(cycles, interval)
    for k in range(min(cycles, interval)):
        if not isinstance(at[(slot - k) % interval], int):
            terms.append(at[(slot - k) % interval])
            factors.append(whole + (k < rest))
