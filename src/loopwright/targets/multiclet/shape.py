"""What the timing of a paragraph needs to know of it: what each command waits for, in which order it takes units, and how long it holds them."""

from __future__ import annotations

from loopwright.targets.multiclet.linker import Linked, Program
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Command, Operand
from loopwright.targets.multiclet.specialise import Access, Specialised

__all__ = ["Phase", "Shape", "shape_of"]


class Phase:
    """What a command does on one unit: the loads of operands in brackets, one after the other, then the command itself.

    Attributes:
        unit: ``integer``, ``memory`` or ``float``.
        latency: its class.
        needs: commands of the paragraph whose results it reads.
        history: places of the switch, by how many commands before the paragraph they were filled.
        registers: numbers of the registers that it reads as they were before the paragraph.
        access: number of its access to memory, or -1.
    """

    __slots__ = ("access", "history", "latency", "needs", "registers", "unit")

    def __init__(self, unit: str, latency: str, access: int = -1) -> None:
        self.unit = unit
        self.latency = latency
        self.access = access
        self.needs: list[int] = []
        self.history: list[int] = []
        self.registers: list[int] = []


class Shape:
    """A paragraph for the timing.

    Attributes:
        phases: of each command, the command itself last.
        results: which commands leave a result.
        writes: of each command, the number of the register that it writes, or -1.
        jumps: numbers of the jumps.
        stores: accesses that write, in order; of each the phase that its address comes from: (access, command, what the address needs).
        together: for pairs of a load and an older store, what is known of them: (load, store, 1 overlap, 0 do not, -1 it depends on the addresses).
        asked: the pairs with -1, and the loads and the stores that are in them.
        loads: accesses that read.
    """

    def __init__(self, linked: Linked, processor: Processor, accesses: list[Access]) -> None:
        self.commands = linked.paragraph.commands
        self.processor = processor
        self.accesses = accesses
        self.phases: list[list[Phase]] = []
        self.writes = [processor.registers.index(each.operands[0].register) if each.row.effect == "register" else -1 for each in self.commands]
        self.results = [bool(each.row.gives) for each in self.commands]
        self.jumps = [at for at, each in enumerate(self.commands) if each.row.effect == "jump"]
        self.addresses: dict[int, Phase] = {}
        self._written: dict[int, int] = {}
        self._accessed = 0
        for at, command in enumerate(self.commands):
            self.phases.append(self._of(at, command))
            if self.writes[at] >= 0 and not processor.commits_at_end:
                self._written[self.writes[at]] = at
        self.stores = [number for number, access in enumerate(accesses) if access.store]
        self.loads = [number for number, access in enumerate(accesses) if not access.store]
        self.together = {} if processor.commits_at_end else self._pairs()
        self.asked = [pair for pair, known in self.together.items() if known < 0]
        self.asked_loads = sorted({load for load, _ in self.asked})
        self.asked_stores = sorted({store for _, store in self.asked})

    def _of(self, at: int, command: Command) -> list[Phase]:
        row = command.row
        phases: list[Phase] = []
        own = Phase(row.unit, row.latency)
        for n, operand in enumerate(command.operands):
            if row.effect == "register" and n == 0:
                continue
            if operand.memory:
                phases.append(Phase("memory", "load", self._accessed))
                self._accessed += 1
                self._needs(phases[-1], at, operand)
            else:
                self._needs(own, at, operand)
        if row.effect == "load":
            if phases:
                return phases
            own.unit, own.latency = "integer", "integer"
        elif row.effect == "store":
            own.access = self._accessed
            self._accessed += 1
            address = command.operands[1]
            self.addresses[own.access] = Phase("memory", "load")
            self._needs(self.addresses[own.access], at, address)
        return [*phases, own]

    def _needs(self, phase: Phase, at: int, operand: Operand) -> None:
        if operand.back > 0:
            if operand.back <= at:
                phase.needs.append(at - operand.back)
            else:
                phase.history.append(operand.back - at)
        elif operand.register:
            number = self.processor.registers.index(operand.register)
            if number in self._written:
                phase.needs.append(self._written[number])
            else:
                phase.registers.append(number)

    def _pairs(self) -> dict[tuple[int, int], int]:
        found: dict[tuple[int, int], int] = {}
        for number, load in enumerate(self.accesses):
            for store in [each for each in self.stores if each < number and not load.store]:
                other = self.accesses[store]
                known = -1
                if load.origin[0] == other.origin[0]:
                    first, second = load.origin[1], other.origin[1]
                    known = int(first < second + other.size and second < first + load.size)
                found[number, store] = known
        return found


def shape_of(program: Program, number: int) -> Shape:
    """The shape of a program's paragraph."""
    made = Specialised(program.paragraphs[number], number, program, {}, True)
    return Shape(program.paragraphs[number], program.processor, made.accesses)
