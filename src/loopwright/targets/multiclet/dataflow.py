"""What the passes of Multiclet processors ask their target besides what all passes ask."""

from __future__ import annotations

from loopwright.targets.multiclet.commands import COMMANDS
from loopwright.targets.multiclet.convention import CONVENTION
from loopwright.targets.multiclet.forms import Forms
from loopwright.targets.multiclet.parameters import PROCESSORS, Processor
from loopwright.targets.multiclet.selection import serving
from loopwright.targets.multiclet.substitutes import Substitute, substitutes
from loopwright.targets.target import Target

__all__ = ["Dataflow"]


class Dataflow(Target):
    """A machine without registers whose results go through a switch; the list of its passes is its target's (``target.Multiclet``).

    Attributes:
        processor: its parameters.
        forms: its commands, by name and suffix.
        lacking: it lacks commands of the table that published processors have.
        substitutes: of commands that it lacks, what can be made of others (``substitutes.py``).
        serving: which of its commands serve operations of their own accord (``selection.serving``).
        program: all functions that call each other are compiled for one program, and may call each other as suits them (``calling.py``).
    """

    def __init__(self, described: Processor, program: bool) -> None:
        super().__init__(CONVENTION, [], [], frozenset())
        # (An attribute of the class would hide the native build's.)
        self.name = described.name
        self.fused = False
        self.family = "multiclet-"
        self.description = described if PROCESSORS.get(described.name) != described else None
        self.processor = described
        self.forms = Forms(described)
        self.lacking = described.lacking()
        self.substitutes: dict[str, Substitute] = substitutes(described) if self.lacking else {}
        self.serving = serving(described.commands) if described.commands is not COMMANDS else {}
        self.program = program
