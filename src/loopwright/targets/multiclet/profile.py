"""What a program has done, paragraph by paragraph: cycles and where they go, what commands wait for, how the switch is used."""

from __future__ import annotations

from typing import Final

from loopwright.errors import SimulationError
from loopwright.targets.multiclet.cycles import Spent
from loopwright.targets.multiclet.simulator import Simulator

__all__ = ["Part", "Profile"]

_COLUMNS: Final = ("runs", "commands", "cycles", "share", "a run", "fetch", "room", "decide", "change")


class Part(Spent):
    """A paragraph's part.

    Attributes:
        label: its name.
        commands: that were run.
        change: cycles that the change to the next paragraph took, of ``cycles``.
        reads: how often results were read from the switch, ``before`` of them from before the paragraph; ``farthest`` back.
        unread: results, a run, that no command of the paragraph reads, and that are too old when it ends.
    """

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label
        self.commands = 0
        self.change = 0
        self.reads = 0
        self.before = 0
        self.farthest = 0
        self.unread = 0


class Profile:
    """What a timed simulator has counted.

    Attributes:
        parts: of the paragraphs that were run, the one with most cycles first.
        cycles: of all calls; more than those of the parts by what was still under way when the last paragraph had been fetched.
        commands: that were run.

    Raises:
        SimulationError: the simulator was made without timing.
    """

    def __init__(self, simulator: Simulator) -> None:
        if simulator.timing is None:
            raise SimulationError("a profile needs cycles: make the Simulator with timing=True")
        self.processor = simulator.program.processor
        self.cycles = simulator.timing.cycles
        self.commands = simulator.commands
        found: dict[int, Part] = {}
        for number, runs in enumerate(simulator.counts):
            if runs:
                found[number] = self._part(simulator, number, runs)
        for number, spent in simulator.timing.spent().items():
            part = found[number]
            runs = part.runs
            part.join(spent)
            part.change = self.processor.change * spent.runs
            part.runs = runs
        self.parts = sorted(found.values(), key=lambda part: -part.cycles)

    def _part(self, simulator: Simulator, number: int, runs: int) -> Part:
        paragraph = simulator.program.paragraphs[number].paragraph
        part = Part(paragraph.label)
        count = len(paragraph.commands)
        part.runs, part.commands = runs, runs * count
        read: set[int] = set()
        for at, command in enumerate(paragraph.commands):
            for operand in command.operands:
                if operand.back > 0:
                    part.reads += runs
                    part.before += runs * (operand.back > at)
                    part.farthest = max(part.farthest, operand.back)
                    read.add(at - operand.back)
        gone = 0 if not self.processor.crosses else self.processor.depth
        part.unread = sum(bool(command.row.gives) and at not in read and count - at > gone for at, command in enumerate(paragraph.commands))
        return part

    def __str__(self) -> str:
        lines = [f"{self.processor.name}: {self.commands} commands, {self.cycles} cycles, {self.commands / max(self.cycles, 1):.2f} commands a cycle", ""]
        width = max([len(part.label) for part in self.parts] + [9])
        lines.append(f"{'paragraph':{width}}" + "".join([f"{column:>11}" for column in _COLUMNS]))
        for part in self.parts:
            cells = [part.runs, part.commands, part.cycles, f"{100 * part.cycles / max(self.cycles, 1):.1f} %", f"{part.cycles / part.runs:.1f}"]
            cells += [f"{each / part.runs:.1f}" for each in (part.fetch, part.room, part.decide, part.change)]
            lines.append(f"{part.label:{width}}" + "".join([f"{cell:>11}" for cell in cells]))
        rest = self.cycles - sum([part.cycles for part in self.parts])
        lines.append(f"{'(at ends)':{width}}{rest:>33}{f'{100 * rest / max(self.cycles, 1):.1f} %':>11}")
        lines += ["", "cycles that commands wait, a run, by cause"]
        for part in self.parts:
            waits = sorted(part.waits.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append(f"{part.label:{width}}  {', '.join([f'{cause} {cycles / part.runs:.1f}' for cause, cycles in waits]) or 'none'}")
        lines += ["", "the switch: results read a run, of them from before the paragraph, the farthest back, results nobody can have read"]
        lines += [f"{part.label:{width}}  {part.reads // part.runs}, {part.before // part.runs}, @{part.farthest}, {part.unread}" for part in self.parts]
        return "\n".join(lines) + "\n"
