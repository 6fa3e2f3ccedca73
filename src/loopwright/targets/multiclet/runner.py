"""Compiled functions on the simulator, for ``Code.emulate``: what other machines have an emulator's program for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from loopwright.errors import SimulationError
from loopwright.ir.globals import Global
from loopwright.targets.multiclet.commands import WIDTHS
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.modules import data_of
from loopwright.targets.multiclet.program import Unit
from loopwright.targets.multiclet.simulator import Simulator
from loopwright.targets.multiclet.target import Multiclet
from loopwright.types import PTR, VOID, Type

__all__ = ["ARRAYS", "Runner"]

#: Where the memory of arrays may begin: behind any code, and its constants.
ARRAYS: Final = 1 << 22
#: Bytes of stack behind it.
_STACK: Final = 1 << 20
#: Commands that one call may run for each second that it may take.
_A_SECOND: Final = 2_000_000


class Runner:
    """Runs calls one after the other.

    Args:
        target: what the functions are compiled for.
        memories: (address, bytes) of what the calls find in memory; what they leave there replaces the bytes.
        timeout: seconds that a call may take.
    """

    def __init__(self, target: Multiclet, memories: list[tuple[int, bytearray]], timeout: float) -> None:
        self.processor = target.processor
        self.memories = memories
        self.timeout = timeout
        end = max([address + len(data) for address, data in memories], default=ARRAYS)
        self.memory = (end + _STACK + 0xFFF) & ~0xFFF
        self.known: dict[int, Simulator] = {}

    def call(self, parts: Sequence[Any], globals_: Sequence[Global], types: list[Type], words: list[int], result: Type) -> int:
        """Call the first of some compiled functions that were linked together.

        Args:
            parts: what the compiler made of each (``MachineCode``).
            globals_: those that they name.
            types: those of the arguments.
            words: their bits.
            result: the type of the result.

        Returns:
            The bits of the result, of 64.

        Raises:
            SimulationError: a rule that the code breaks.
            TimeoutError: it takes too long.
        """
        simulator = self.known.get(id(parts[0]))
        if simulator is None:
            units: list[Unit] = [part.unit for part in parts]
            if globals_:
                units.append(Unit(data=[data_of(each) for each in globals_], exported=[each.name for each in globals_]))
            simulator = self.known[id(parts[0])] = Simulator(link(units, self.processor, memory=self.memory))
            simulator.stack_from(self.memory - _STACK)
        for address, data in self.memories:
            simulator.memory[address : address + len(data)] = data
        limit = int(self.timeout * _A_SECOND)
        # (A narrow argument's word has its sign in the bits above.)
        letters = [_letter(type_) for type_ in types]
        given = [(letter, word & (1 << WIDTHS[letter]) - 1) for letter, word in zip(letters, words, strict=True)]
        before = simulator.commands
        try:
            made = simulator.call(parts[0].unit.paragraphs[0].label, *given, returns="q" if result is not VOID else "", limit=limit)
        except SimulationError:
            if simulator.commands - before > limit:
                raise TimeoutError(f"the simulated program did not end within {self.timeout:g} seconds") from None
            raise
        for address, data in self.memories:
            data[:] = simulator.memory[address : address + len(data)]
        return int(made) & (1 << 64) - 1 if made is not None else 0


def _letter(type_: Type) -> str:
    """As integers, bit by bit."""
    return "l" if type_ is PTR else {8: "b", 16: "s", 32: "l", 64: "q"}[type_.bits]
