"""The commands of a whole run with their cycles, and the rules of the processor asked of all of them at once: what the simulator does paragraph by
paragraph."""

from __future__ import annotations

from collections import Counter

from loopwright.targets.multiclet.cycles import Schedule
from loopwright.targets.multiclet.linker import Program
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.shape import Phase
from loopwright.targets.multiclet.simulator import Simulator


class Done:
    """A command that was run: the cycles its phases begin in, of its fetch and its result, its phases' accesses (address, size)."""

    def __init__(self, cell: int, fetched: int, earliest: int, begin: list[int], ready: int, phases: list[Phase], what: str) -> None:
        self.cell, self.fetched, self.earliest, self.begin, self.ready, self.phases, self.what = cell, fetched, earliest, begin, ready, phases, what
        self.places: list[list[int]] = []  # of each phase, the commands whose results it reads, by number in the run
        self.registers: list[list[int]] = []
        self.accesses: list[tuple[int, int] | None] = []
        self.store = self.result = False
        self.known = 0  # of a store: when its address is
        self.paragraph = 0


class Timeline:
    """Everything that was run, in the order of the program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.processor: Processor = program.processor
        self.done: list[Done] = []
        self.writers: dict[int, int] = {}  # register -> the last command that wrote it
        self.runs: list[tuple[int, Schedule]] = []
        self.now = 0

    def run(self) -> None:
        simulator = Simulator(self.program, timing=True)
        timing = simulator.timing
        assert timing is not None
        step = timing.step

        def stepped(number: int, following: int, jump: int, addresses: tuple[int, ...]) -> None:
            now = timing._now
            step(number, following, jump, addresses)
            found = next(each for each in timing.schedules if each.state is timing._state and each.times and self.fits(each, number, timing._now - now))
            self.add(now, found, addresses)

        timing.step = stepped  # type: ignore[method-assign]
        simulator.run()
        self.cycles = timing.cycles

    @staticmethod
    def fits(schedule: Schedule, number: int, cycles: int) -> bool:
        return schedule.case.number == number and schedule.cycles == cycles

    def add(self, now: int, schedule: Schedule, addresses: tuple[int, ...]) -> None:
        shape, first, processor = schedule.shape, len(self.done), self.processor
        rate = min(processor.fetch * processor.multicells, processor.all_cells)
        written: dict[int, int] = {}
        for at, command in enumerate(shape.commands):
            fetched = now + schedule.delay + at // rate
            begin = [now + each for each in schedule.begin[at]]
            done = Done(at % processor.all_cells, fetched, now + schedule.earliest[at], begin, now + schedule.ready[at], shape.phases[at], str(command))
            done.store, done.result, done.paragraph = command.row.effect == "store", bool(command.row.gives), len(self.runs)
            for phase in shape.phases[at]:
                done.places.append([first + at - each for each in self.backs(command.operands, phase, shape.phases[at])])
                access = shape.accesses[phase.access] if phase.access >= 0 else None
                done.accesses.append((addresses[phase.access], access.size) if access is not None else None)
                known = [
                    self.writers[each]
                    for each in self.read(command.operands, phase, shape.phases[at], command.row.effect == "register")
                    if each in self.writers
                ]
                done.registers.append(known)
            if done.store:
                address = command.operands[1]
                there = [done.earliest]
                if address.memory:
                    there = [begin[-2] + processor.latencies["load"].cycles]
                elif address.back > 0:
                    there.append(self.done[first + at - address.back].ready)
                elif address.register and processor.registers.index(address.register) in self.writers:
                    there.append(self.done[self.writers[processor.registers.index(address.register)]].ready)
                done.known = max(there)
            self.done.append(done)
            if command.row.effect == "register":
                register = processor.registers.index(command.operands[0].register)
                if processor.commits_at_end:
                    written[register] = first + at
                else:
                    self.writers[register] = first + at
        self.writers |= written
        self.runs.append((now, schedule))
        jumps = [schedule.ready[each] for each in shape.jumps if schedule.case.jump in (each, -1)]
        fetch_ends = schedule.delay + -(-len(shape.commands) // rate)
        assert schedule.cycles == max([fetch_ends, *jumps]) + processor.change

    @staticmethod
    def operands(operands: list[object], phase: Phase, phases: list[Phase]) -> list[object]:
        """Those that a phase reads: of a load in front, the one in brackets; of the command itself, the others."""
        brackets = [each for each in operands if each.memory]  # type: ignore[attr-defined]
        number = phases.index(phase)
        if number < len(brackets):
            return [brackets[number]]
        return [each for each in operands if not each.memory]  # type: ignore[attr-defined]

    def backs(self, operands: list[object], phase: Phase, phases: list[Phase]) -> list[int]:
        return [each.back for each in self.operands(operands, phase, phases) if each.back > 0]  # type: ignore[attr-defined]

    def read(self, operands: list[object], phase: Phase, phases: list[Phase], writes: bool) -> list[int]:
        names = [each.register for each in self.operands(operands[writes:], phase, phases) if each.register]  # type: ignore[attr-defined]
        return [self.processor.registers.index(name) for name in names]

    # --- the rules -------------------------------------------------------------------------------------------

    def may(self, number: int, phase: int, cycle: int, starts: Counter[tuple[int, str, int]]) -> str:
        """Why a phase cannot begin in a cycle, or "". ``starts`` is what else begins when."""
        processor = self.processor
        done = self.done[number]
        if cycle < done.earliest:
            return "fetch"
        if phase and cycle < done.begin[phase - 1] + processor.latencies[done.phases[phase - 1].latency].cycles:
            return "phase before"
        if any(self.done[each].ready > cycle for each in done.places[phase]):
            return "operand"
        if not processor.commits_at_end and any(self.done[each].ready > cycle for each in done.registers[phase]):
            return "register"
        for slot, limit in self.slots(done, phase):
            if starts[cycle, *slot] >= limit:
                return "unit"
        if self.divides(done, phase) and any(cycle < until and begin <= cycle for begin, until in self.busy(number, phase)):
            return "divider"
        if not processor.commits_at_end and done.accesses[phase] is not None:
            return self.memory(number, phase, cycle)
        return ""

    def memory(self, number: int, phase: int, cycle: int) -> str:
        done = self.done[number]
        older = [each for each in self.done[:number] if each.store]
        if done.store and phase == len(done.phases) - 1:
            return "order of stores" if any(each.begin[-1] > cycle for each in older) else ""
        address, size = done.accesses[phase] or (0, 0)
        for each in older:
            if each.known > cycle:
                return "unknown address"
            at, wide = each.accesses[-1] or (0, 0)
            if address < at + wide and at < address + size and each.ready > cycle:
                return "store to the same place"
        return ""

    def slots(self, done: Done, phase: int) -> list[tuple[tuple[str, int], int]]:
        processor = self.processor
        unit = done.phases[phase].unit
        multicell, inside = divmod(done.cell, processor.cells)
        if unit == "float":
            return [(("float", multicell * processor.float_units + inside * processor.float_units // processor.cells), 1)]
        if unit == "memory":
            return [(("memory", done.cell), 1), (("port", multicell), processor.memory_ports)]
        return [(("integer", done.cell), 1)]

    def divides(self, done: Done, phase: int) -> bool:
        return self.processor.latencies[done.phases[phase].latency].interval > 1

    def busy(self, number: int, phase: int) -> list[tuple[int, int]]:
        """The cycles in which the divider of a phase is taken by other commands."""
        own = self.done[number]
        found = []
        for other, done in enumerate(self.done):
            for each, begin in enumerate(done.begin):
                alike = self.divides(done, each) and done.phases[each].latency == own.phases[phase].latency
                if alike and (other, each) != (number, phase) and self.slots(done, each) == self.slots(own, phase):
                    found.append((begin, begin + self.processor.latencies[done.phases[each].latency].interval))
        return found

    def wrong(self) -> list[str]:
        """Rules that are broken, and waits without a reason."""
        found: list[str] = []
        starts: Counter[tuple[int, str, int]] = Counter()
        for done in self.done:
            for phase, begin in enumerate(done.begin):
                for slot, _ in self.slots(done, phase):
                    starts[begin, *slot] += 1
        for number, done in enumerate(self.done):
            for phase, begin in enumerate(done.begin):
                others = starts.copy()
                for slot, _ in self.slots(done, phase):
                    others[begin, *slot] -= 1
                why = self.may(number, phase, begin, others)
                if why:
                    found.append(f"{number} {done.what} phase {phase} begins in {begin}: {why}")
                if begin > done.earliest and not self.may(number, phase, begin - 1, starts):
                    found.append(f"{number} {done.what} phase {phase} could begin in {begin - 1}")
        return found + self.results() + self.buffers() + self.ends()

    def results(self) -> list[str]:
        """One result a cell and cycle, none before its time, none later without another in its way."""
        found: list[str] = []
        delivered = Counter((done.cell, done.ready) for done in self.done if done.result)
        found += [f"{count} results of cell {cell} in cycle {cycle}" for (cell, cycle), count in delivered.items() if count > 1]
        for done in self.done:
            due = done.begin[-1] + self.processor.latencies[done.phases[-1].latency].cycles
            if done.ready < due or not done.result and done.ready != due:
                found.append(f"{done.what} due in {due} is there in {done.ready}")
            if any(not delivered[done.cell, cycle] for cycle in range(due, done.ready)):
                found.append(f"{done.what} due in {due} waits until {done.ready} for nothing")
        return found

    def buffers(self) -> list[str]:
        held: Counter[tuple[int, int]] = Counter()
        for done in self.done:
            for cycle in range(done.fetched, done.begin[-1]):
                held[done.cell, cycle] += 1
        return [f"{count} commands in cell {cell} in cycle {cycle}" for (cell, cycle), count in held.items() if count > self.processor.buffer]

    def ends(self) -> list[str]:
        last = max(done.ready for done in self.done)
        now, schedule = self.runs[-1]
        found = [] if self.cycles == max(last, now + schedule.cycles) else [f"{self.cycles} cycles, and the last result is there in {last}"]
        if self.processor.commits_at_end:
            for done in self.done:
                if any(other.ready > done.begin[0] for other in self.done if other.paragraph < done.paragraph):
                    found.append(f"{done.what} begins before the paragraph before it has ended")
        return found
