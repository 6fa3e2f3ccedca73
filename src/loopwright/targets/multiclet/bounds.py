"""How few cycles a paragraph's commands can take in any order: bounds by dependence, fetch and units, and the least by constraint programming.

Both are of a paragraph that runs alone, from its first fetch until everything is done. They leave out what depends on the order alone (which cell a command
goes to, how far back a place can be named), so that no order takes less; an order may not reach them.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.errors import LoopwrightError
from loopwright.targets.multiclet.cycles import Case, Schedule, State, schedule
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.shape import Phase, Shape

__all__ = ["alone", "lower_bound", "optimum"]

#: Seconds until the solver gives up.
SECONDS: Final = 30.0


class _Network:
    """The phases of all commands, in the order of the commands.

    Attributes:
        phases: each with the command it is of.
        after: of each, (earlier phase, cycles from its start to the earliest start of this one).
        latency: of each.
    """

    def __init__(self, shape: Shape, processor: Processor) -> None:
        self.phases: list[tuple[int, Phase]] = []
        self.after: list[list[tuple[int, int]]] = []
        self.latency: list[int] = []
        self.last: list[int] = []  # the last phase of each command
        accesses: dict[int, int] = {}
        for at, phases in enumerate(shape.phases):
            for number, phase in enumerate(phases):
                own = len(self.phases)
                self.phases.append((at, phase))
                self.latency.append(processor.latencies[phase.latency].cycles)
                self.after.append([(self.last[made], self.latency[self.last[made]]) for made in phase.needs])
                if number:
                    self.after[own].append((own - 1, self.latency[own - 1]))
                if phase.access >= 0:
                    accesses[phase.access] = own
            self.last.append(len(self.phases) - 1)
        for store, address in shape.addresses.items():
            self.after[accesses[store]] += [(self.last[made], self.latency[self.last[made]]) for made in address.needs]
        store_cycles = processor.latencies["store"].cycles
        for (load, store), known in shape.together.items():
            if known == 1:
                self.after[accesses[load]].append((accesses[store], store_cycles))

    def heads(self, earliest: int) -> list[int]:
        """The first cycle in which each could start, by dependence alone."""
        found: list[int] = []
        for before in self.after:
            found.append(max([earliest, *[found[each] + cycles for each, cycles in before]]))
        return found

    def tails(self) -> list[int]:
        """The cycles from the start of each until all that depends on it is done."""
        found = list(self.latency)
        for own in range(len(self.after) - 1, -1, -1):
            for before, cycles in self.after[own]:
                found[before] = max(found[before], cycles + found[own])
        return found


def alone(shape: Shape, processor: Processor) -> Schedule:
    """The schedule of a paragraph as it stands that begins with nothing under way, falls through to the next, and whose loads and stores of unknown addresses
    do not meet."""
    return schedule(shape, State(0), Case(0, 1, -1, 0), _itself, processor)


def _itself(state: State) -> State:
    return state


def lower_bound(shape: Shape, processor: Processor) -> int:
    """Cycles that no order of a paragraph's commands can do with less of: by dependence, by the fetch, and by how many commands of a kind can start in a cycle.

    For each kind of unit and each pair (h, t): the phases that cannot start before h and have t cycles to go from their start take at least their number over
    the units' in cycles of starts (Jackson's bound for several machines: Carlier, "Scheduling jobs with release dates and tails on identical machines", 1987,
    with unit processing times).
    """
    network = _Network(shape, processor)
    heads, tails = network.heads(processor.fetch_to_issue), network.tails()
    if not heads:
        return 0
    best = max([head + tail for head, tail in zip(heads, tails, strict=True)])
    rate = min(processor.fetch * processor.multicells, processor.all_cells)
    first: dict[int, int] = {}
    for (at, _), tail in zip(network.phases, tails, strict=True):
        first[at] = max(first.get(at, 0), tail)
    for number, tail in enumerate(sorted(first.values(), reverse=True)):
        best = max(best, processor.fetch_to_issue + number // rate + tail)
    for unit, width in _widths(processor).items():
        own = [number for number, (_, phase) in enumerate(network.phases) if phase.unit == unit]
        for head in {heads[number] for number in own}:
            later = sorted([tails[number] for number in own if heads[number] >= head], reverse=True)
            for count, tail in enumerate(later):
                best = max(best, head + count // width + tail)
    return best


def _widths(processor: Processor) -> dict[str, int]:
    """How many phases of a kind can start in a cycle."""
    ports = min(processor.memory_ports, processor.cells) * processor.multicells
    return {"integer": processor.all_cells, "memory": ports, "float": processor.float_units * processor.multicells}


def optimum(shape: Shape, processor: Processor, seconds: float = SECONDS) -> tuple[int, int]:
    """The fewest cycles in which a paragraph's commands can be done in some order, by CP-SAT (OR-Tools): (what was found, what no order can be below), equal
    where it is proven.

    Commands are given cycles of fetch and of start, as many a cycle as there are units; which cell they go to is left open.

    Raises:
        LoopwrightError: OR-Tools (the extra ``tuning``) is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise LoopwrightError("the least number of cycles needs OR-Tools: pip install 'loopwright[tuning]'") from None
    network = _Network(shape, processor)
    bound, horizon = lower_bound(shape, processor), alone(shape, processor).end
    model: Any = cp_model.CpModel()
    rate = min(processor.fetch * processor.multicells, processor.all_cells)
    fetches = [model.new_int_var(0, max(0, -(-len(shape.commands) // rate) - 1), "") for _ in shape.commands]
    starts = [model.new_int_var(0, horizon, "") for _ in network.phases]
    end = model.new_int_var(bound, horizon, "end")
    for number, (at, phase) in enumerate(network.phases):
        model.add(starts[number] >= fetches[at] + processor.fetch_to_issue)
        for before, cycles in network.after[number]:
            model.add(starts[number] >= starts[before] + cycles)
        model.add(end >= starts[number] + network.latency[number])
        del phase
    model.add_cumulative([model.new_fixed_size_interval_var(each, 1, "") for each in fetches], [1] * len(fetches), rate)
    for unit, width in _widths(processor).items():
        own = [number for number, (_, phase) in enumerate(network.phases) if phase.unit == unit]
        model.add_cumulative([model.new_fixed_size_interval_var(starts[number], 1, "") for number in own], [1] * len(own), width)
    model.minimize(end)
    solver: Any = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return horizon, bound
    return int(solver.objective_value), max(bound, round(solver.best_objective_bound))
