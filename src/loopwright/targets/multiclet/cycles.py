"""The schedule of one paragraph, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.shape import Phase, Shape

__all__ = ["CAUSES", "Case", "Schedule", "State", "schedule"]

#: Why a command waits: for a result (by the class of the command that makes it), for the order of memory, for a unit, for a port to memory, for its cell's way
#: to the switch.
CAUSES: Final = ("operand", "order", "unit", "port", "result")
#: Which results go to the switch first (facts: float, memory, integer).
_PRIORITY: Final[dict[str, int]] = {"float": 0, "memory": 1, "integer": 2}

#: Later than anything.
_FAR: Final = 1 << 60

#: A resource in a cycle: what it is and its number.
_Slot = tuple[str, int]


class State:
    """What is under way when a paragraph's fetch begins. All times are cycles from then.

    Attributes:
        number: of the paragraph.
        places: (how many commands before the paragraph, when it is there) of results that are not there when the first command could start.
        registers: (number, when it is there), likewise.
        taken: (cycle, slot, how many) of units and ports that older commands will take.
        busy: (unit that is not pipelined, until when).
        stores: (when its address is known, when it is done) of older stores.
        store: when the last of them starts.
        floor: the first cycle in which a command may start, where results of the paragraph before have to be committed.
        waiting: (cell, when it starts) of older commands that are in the cells' buffers.
        schedules: those that have been made of the paragraph from here.
    """

    __slots__ = ("busy", "floor", "number", "places", "registers", "schedules", "store", "stores", "taken", "waiting")

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self.places: tuple[tuple[int, int], ...] = ()
        self.registers: tuple[tuple[int, int], ...] = ()
        self.taken: tuple[tuple[int, _Slot, int], ...] = ()
        self.busy: tuple[tuple[_Slot, int], ...] = ()
        self.stores: tuple[tuple[int, int], ...] = ()
        self.store = 0
        self.floor = 0
        self.waiting: tuple[tuple[int, int], ...] = ()
        self.schedules: dict[tuple[int, int, int], Schedule] = {}

    def key(self) -> tuple[object, ...]:
        """What makes two states equal."""
        return self.number, self.places, self.registers, self.taken, self.busy, self.stores, self.store, self.floor, self.waiting


class Case:
    """Attributes:
    number, following: of the paragraph and of the next.
    jump: the number of the jump that is taken, or -1.
    overlaps: which loads overlap which stores, as ``Timing`` has the bits.
    """

    __slots__ = ("following", "jump", "number", "overlaps")

    def __init__(self, number: int, following: int, jump: int, overlaps: int) -> None:
        self.number = number
        self.following = following
        self.jump = jump
        self.overlaps = overlaps


class Schedule:
    """Attributes:
    case: of what.
    begin: of each phase of each command, the cycle it starts in, counted from the fetch of the first command.
    ready: of each command, the cycle in which its result is there, or its effect done.
    earliest: of each command, the first cycle in which it could have started.
    fetched: cycles the fetch takes, ``decided``: when the next paragraph is known, ``delay``: cycles for which the fetch waits for room in the buffers.
    cycles: from this paragraph's first fetch to the next one's.
    end: when everything is done.
    waits: cycles that commands have waited, by cause; for operands by (operand, class of what makes it).
    state: that it leaves. Of the stores that were under way before, the first ``stored`` are done in it; ``stores`` are the paragraph's accesses that are under
        way.
    times: how often it was taken.
    """

    def __init__(self, case: Case, shape: Shape) -> None:
        self.case = case
        self.shape = shape
        self.begin: list[list[int]] = [[] for _ in shape.commands]
        self.ready = [-1] * len(shape.commands)
        self.earliest: list[int] = []
        self.fetched = 0
        self.decided = 0
        self.delay = 0
        self.cycles = 0
        self.end = 0
        self.waits: dict[str, int] = {}
        self.state = State()
        self.stored = 0
        self.stores: list[int] = []
        self.times = 0


class Spent:
    """Cycles that runs of a paragraph have taken, and where they went.

    Attributes:
        runs: how many.
        cycles: from its first fetch to the next paragraph's. They are the sum of ``fetch`` of its commands, ``room``, when the fetch waits for buffers to become
            empty, ``decide``, from the end of the fetch to knowing the next paragraph, and the change of paragraphs.
        waits: cycles that commands waited after they could have started, by cause, added up over commands and runs.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.cycles = 0
        self.fetch = 0
        self.room = 0
        self.decide = 0
        self.waits: dict[str, int] = {}

    def add(self, schedule: Schedule) -> None:
        """Count the runs of a schedule."""
        times = schedule.times
        self.runs += times
        self.cycles += schedule.cycles * times
        self.fetch += schedule.fetched * times
        self.room += schedule.delay * times
        self.decide += max(0, schedule.decided - schedule.fetched - schedule.delay) * times
        for cause, cycles in schedule.waits.items():
            self.waits[cause] = self.waits.get(cause, 0) + cycles * times

    def join(self, other: Spent) -> None:
        """Count what others have counted."""
        self.runs += other.runs
        self.cycles += other.cycles
        self.fetch += other.fetch
        self.room += other.room
        self.decide += other.decide
        for cause, cycles in other.waits.items():
            self.waits[cause] = self.waits.get(cause, 0) + cycles


def schedule(shape: Shape, state: State, case: Case, shared: Callable[[State], State], processor: Processor) -> Schedule:
    """The schedule of a paragraph that begins in a state. ``shared`` gives the one object for equal states."""
    run = _Run(shape, state, case, processor)
    run.simulate()
    run.leave(shared)
    return run.made


class _Run:
    """A schedule while it is made."""

    def __init__(self, shape: Shape, state: State, case: Case, processor: Processor) -> None:
        self.made = made = Schedule(case, shape)
        self.shape = shape
        self.state = state
        self.processor = processor
        self.cells = processor.all_cells
        self.rate = min(processor.fetch * processor.multicells, self.cells)
        count = len(shape.commands)
        made.delay = self._room()
        made.fetched = -(-count // self.rate)
        made.earliest = [max(made.delay + at // self.rate + processor.fetch_to_issue, state.floor) for at in range(count)]
        self.places = dict(state.places)
        self.registers = dict(state.registers)
        self.taken = {(cycle, slot): number for cycle, slot, number in state.taken}
        self.busy = dict(state.busy)
        self.due: dict[int, int] = {}  # command -> cycle in which its result wants to go to the switch
        self.phase = [0] * count
        self.free = [0] * count  # when the phase before is done
        self.started: dict[int, int] = {}  # store -> cycle
        self.known: dict[int, int] = {}  # store -> cycle in which its address is known
        self.last_store = state.store
        self.begun: set[int] = set()  # cycles in which something has started
        self.overlapping = self._overlapping(case.overlaps)

    def _room(self) -> int:
        """Cycles until the cells' buffers have room for the paragraph beside what is still waiting."""
        if not self.state.waiting:
            return 0
        delay = 0
        own = -(-len(self.shape.commands) // self.cells)
        while any(sum(each == cell and begin >= delay for each, begin in self.state.waiting) + own > self.processor.buffer for cell in range(self.cells)):
            delay += 1
        return delay

    def _overlapping(self, bits: int) -> dict[int, list[int]]:
        """Of each load, the stores of the paragraph that it overlaps, and as negative numbers those that are older."""
        found: dict[int, list[int]] = {}
        for pair, known in self.shape.together.items():
            if known == 1:
                found.setdefault(pair[0], []).append(pair[1])
        for load, store in self.shape.asked:
            if bits & 1:
                found.setdefault(load, []).append(store)
            bits >>= 1
        for number, access in enumerate(self.shape.accesses):
            if self.state.stores and not access.store:
                for older in range(len(self.state.stores)):
                    if bits & 1:
                        found.setdefault(number, []).append(~older)
                    bits >>= 1
        return found

    # --- cycle by cycle --------------------------------------------------------------------------------------

    def simulate(self) -> None:
        """Start every command."""
        waiting = list(range(len(self.shape.commands)))
        waits = self.made.waits
        cycle = self.made.earliest[0]
        while waiting or self.due:
            delivered = self._deliver(cycle)
            left: list[int] = []
            why: list[str] = []
            for number, at in enumerate(waiting):
                if self.made.earliest[at] > cycle:
                    left += waiting[number:]
                    break
                cause = self._start(at, cycle)
                if cause:
                    why.append(cause)
                if cause or self.phase[at] < len(self.shape.phases[at]):
                    left.append(at)
            # Where nothing has happened, nothing will before something that is under way is done.
            idle = not delivered and len(left) == len(waiting) and cycle not in self.begun and "unit" not in why and "port" not in why
            following = self._event(cycle, left) if idle else cycle + 1
            for cause in why:
                waits[cause] = waits.get(cause, 0) + following - cycle
            waiting = left
            cycle = following

    def _event(self, cycle: int, waiting: list[int]) -> int:
        """The next cycle in which something may change."""
        latency = self.processor.latencies["store"].cycles
        state = self.state
        times = [*self.due.values(), *[self.free[at] for at in waiting], *[self.made.earliest[at] for at in waiting], *self.made.ready]
        times += [until for _, until in (*state.places, *state.registers)] + [time for store in state.stores for time in store]
        times += [start + latency for start in self.started.values()] + [self.last_store] + [cycle + 1 for due in self.due.values() if due <= cycle]
        return min([time for time in times if time > cycle], default=cycle + 1)

    def _deliver(self, cycle: int) -> bool:
        """Of the results that want to go to the switch, one of each cell; whether there are any."""
        wanting = [at for at, due in self.due.items() if due <= cycle]
        wanting.sort(key=self._priority)
        for at in wanting:
            slot = (cycle, ("result", at % self.cells))
            if slot in self.taken:
                self.made.waits["result"] = self.made.waits.get("result", 0) + 1
                continue
            self.taken[slot] = 1
            self.made.ready[at] = cycle
            del self.due[at]
        return bool(wanting)

    def _priority(self, at: int) -> tuple[int, int]:
        return _PRIORITY[self.shape.phases[at][-1].unit], at

    def _start(self, at: int, cycle: int) -> str:
        """Start the next phase of a command if it can; else say what it waits for."""
        number = self.phase[at]
        phases = self.shape.phases[at]
        phase = phases[number]
        if self.free[at] > cycle:
            return "operand load"
        why = self._missing(phase, cycle)
        if not why and phase.access >= 0 and not self.processor.commits_at_end:
            why = self._order(at, phase, cycle)
        if why:
            return why
        slots = self._slots(at, phase)
        for slot, limit in slots:
            if self.taken.get((cycle, slot), 0) >= limit:
                return "port" if slot[0] == "port" else "unit"
        latency = self.processor.latencies[phase.latency]
        if latency.interval > 1:
            divider = (phase.latency, slots[0][0][1])
            if self.busy.get(divider, 0) > cycle:
                return "unit"
            self.busy[divider] = cycle + latency.interval
        for slot, _ in slots:
            self.taken[cycle, slot] = self.taken.get((cycle, slot), 0) + 1
        self.begun.add(cycle)
        self.made.begin[at].append(cycle)
        self.phase[at] += 1
        self._started(at, phase, cycle, cycle + latency.cycles)
        return ""

    def _started(self, at: int, phase: Phase, cycle: int, done: int) -> None:
        if phase.access in self.shape.addresses:
            self.started[phase.access] = cycle
            self.last_store = max(self.last_store, cycle)
        if self.phase[at] < len(self.shape.phases[at]):
            self.free[at] = done
        elif self.shape.results[at]:
            self.due[at] = done
        else:
            self.made.ready[at] = done

    def _slots(self, at: int, phase: Phase) -> list[tuple[_Slot, int]]:
        """What a phase takes in its cycle, and how much of it there is."""
        cell = at % self.cells
        multicell, inside = divmod(cell, self.processor.cells)
        if phase.unit == "float":
            units = self.processor.float_units
            return [(("float", multicell * units + inside * units // self.processor.cells), 1)]
        if phase.unit == "memory":
            return [(("memory", cell), 1), (("port", multicell), self.processor.memory_ports)]
        return [(("integer", cell), 1)]

    def _missing(self, phase: Phase, cycle: int) -> str:
        """Which operand of a phase is not there."""
        for made in phase.needs:
            if not 0 <= self.made.ready[made] <= cycle:
                return self._of(made)
        for place in phase.history:
            if self.places.get(place, 0) > cycle:
                return "operand of before"
        for register in phase.registers:
            if self.registers.get(register, 0) > cycle:
                return "operand of before"
        return ""

    def _of(self, made: int) -> str:
        return f"operand {self.shape.phases[made][-1].latency}"

    def _order(self, at: int, phase: Phase, cycle: int) -> str:
        """Whether the order of memory holds an access up."""
        if phase.access in self.shape.addresses:
            if self.last_store > cycle:
                return "order"
            return "order" if any(store not in self.started for store in self.shape.stores if store < phase.access) else ""
        for known, _ in self.state.stores:
            if known > cycle:
                return "order"
        for store in self.shape.stores:
            if store > phase.access:
                break
            if self._known(store) > cycle:
                return "order"
        latency = self.processor.latencies["store"].cycles
        for store in self.overlapping.get(phase.access, ()):
            done = self.state.stores[~store][1] if store < 0 else self.started.get(store, cycle) + latency
            if done > cycle:
                return "order"
        return ""

    def _known(self, store: int) -> int:
        """The cycle from which the address of a store is known, as far as that can be told by now: far away if it cannot."""
        found = self.known.get(store)
        if found is not None:
            return found
        at = self.shape.accesses[store].command
        address = self.shape.addresses[store]
        if self.shape.commands[at].operands[1].memory:
            if self.phase[at] < len(self.shape.phases[at]) - 1:
                return _FAR
            found = self.free[at]
        else:
            there = [self.made.ready[made] for made in address.needs]
            if any(ready < 0 for ready in there):
                return _FAR
            there += [self.places.get(place, 0) for place in address.history] + [self.registers.get(register, 0) for register in address.registers]
            found = max([self.made.earliest[at], *there])
        self.known[store] = found
        return found

    # --- what is left ----------------------------------------------------------------------------------------

    def leave(self, shared: Callable[[State], State]) -> None:
        """When the next paragraph begins, and what is under way then."""
        made, shape, processor = self.made, self.shape, self.processor
        fetched = made.delay + made.fetched
        resolved = [made.ready[each] for each in shape.jumps if made.case.jump in (each, -1)]
        made.decided = max(resolved, default=fetched)
        begin = made.cycles = max(made.decided, fetched) + processor.change
        made.end = max([*made.ready, *[until for _, until in self.state.places]])
        first = begin + processor.fetch_to_issue
        following = State(made.case.following)
        if processor.commits_at_end:
            following.floor = max(0, made.end - begin)
        else:
            following.registers = self._registers(begin, first)
        if processor.crosses:
            following.places = self._places(begin, first)
        following.taken = tuple(sorted([(cycle - begin, slot, number) for (cycle, slot), number in self.taken.items() if cycle >= first]))
        following.busy = tuple(sorted([(unit, until - begin) for unit, until in self.busy.items() if until > first]))
        if not processor.commits_at_end:
            self._stores(following, begin, first)
        older = [(cell, start - begin) for cell, start in self.state.waiting if start >= begin]
        own = [(at % self.cells, phases[-1] - begin) for at, phases in enumerate(made.begin) if phases[-1] >= begin]
        following.waiting = tuple(sorted(older + own)) if len(older) + len(own) > 0 else ()
        if following.floor <= processor.fetch_to_issue:
            following.floor = 0
        made.state = shared(following)

    def _places(self, begin: int, first: int) -> tuple[tuple[int, int], ...]:
        count = len(self.shape.commands)
        depth = self.processor.depth
        own = [(count - at, ready - begin) for at, ready in enumerate(self.made.ready) if self.shape.results[at] and ready > first and count - at <= depth]
        older = [(back + count, until - begin) for back, until in self.state.places if until > first and back + count <= depth]
        return tuple(sorted(own + older))

    def _registers(self, begin: int, first: int) -> tuple[tuple[int, int], ...]:
        found = dict(self.state.registers)
        for at, register in enumerate(self.shape.writes):
            if register >= 0:
                found[register] = self.made.ready[at]
        return tuple(sorted([(register, until - begin) for register, until in found.items() if until > first]))

    def _stores(self, following: State, begin: int, first: int) -> None:
        """The stores that loads of the next paragraph may have to wait for."""
        latency = self.processor.latencies["store"].cycles
        pending: list[tuple[int, int]] = []
        for known, done in self.state.stores:
            # They start in order, so that those that are done are the first.
            if done > first:
                pending.append((known - begin, done - begin))
            else:
                self.made.stored += 1
        for store in self.shape.stores:
            done = self.started[store] + latency
            if done > first:
                known = self._known(store)
                pending.append((known - begin if known > first else 0, done - begin))
                self.made.stores.append(store)
        following.stores = tuple(pending)
        following.store = max(self.last_store - begin, 0) if self.last_store > first else 0
