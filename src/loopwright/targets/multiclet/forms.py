"""What a processor's forms of commands are, a name with a suffix, looked up once for each that code has."""

from __future__ import annotations

from typing import Final

from loopwright.errors import UnsupportedOperationError
from loopwright.targets.multiclet.commands import Row
from loopwright.targets.multiclet.flow import JUMPS, Node
from loopwright.targets.multiclet.parameters import Processor

__all__ = ["Form", "Forms"]

#: The class of latency of a load that copies.
_COPY: Final = "integer"


class Form:
    """One of them.

    Attributes:
        row: what it is.
        cycles: its latency.
        loads: it is a load.
        jumps: it says where to go on.
    """

    __slots__ = ("cycles", "jumps", "loads", "row")

    def __init__(self, row: Row, cycles: int, jumps: bool) -> None:
        self.row = row
        self.cycles = cycles
        self.loads: bool = row.effect == "load"
        self.jumps = jumps


class Forms:
    """Those of a processor.

    Attributes:
        copying: cycles from its start to the start of what reads it, of a load that copies.
        loading: cycles that an operand in brackets takes.
    """

    def __init__(self, processor: Processor) -> None:
        self.processor = processor
        self.copying: int = processor.latencies[_COPY].cycles
        self.loading: int = processor.latencies["load"].cycles
        self.known: dict[str, dict[str, Form]] = {}

    def of(self, node: Node) -> Form:
        """The form of a command.

        Raises:
            UnsupportedOperationError: the processor has no such command.
        """
        named = self.known.get(node.name)
        if named is None:
            named = self.known[node.name] = {}
        found = named.get(node.suffix)
        if found is None:
            mnemonic = f"{node.name}_{node.suffix}" if node.suffix else node.name
            row = self.processor.row(mnemonic)
            if row is None:
                raise UnsupportedOperationError(f"{self.processor.name} has no command {mnemonic}", line=node.line)
            found = named[node.suffix] = Form(row, self.processor.latencies[row.latency].cycles, node.name in JUMPS)
        return found

    def latency(self, node: Node) -> int:
        """Cycles from a command's start to the start of what reads it."""
        return self.cycles(self.of(node), node)

    def cycles(self, form: Form, node: Node) -> int:
        """The latency of a command whose form is known."""
        if form.loads:
            return form.cycles if node.args[0].memory else self.copying
        cycles = form.cycles
        for a in node.args:
            if a.memory:
                cycles += self.loading
        return cycles
