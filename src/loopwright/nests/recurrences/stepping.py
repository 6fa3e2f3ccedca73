"""What ``from_tables.py`` has to know of a variable."""

from __future__ import annotations

from typing import Final

from loopwright.nests.rewriting.code import Code

__all__ = ["BLOCK", "Stepping"]

#: Iterations of a block.
BLOCK: Final = 64


class Stepping:
    """A variable that is written once or several times in each iteration of a loop, each time a step further.

    Attributes:
        variable: its register.
        positions: where it is written, in the order of the code.
        links: where else something is made for that alone.
        read_first: it is read in an iteration before it is written there.
        bytes: how many the tables have that are made in front of the nest.
    """

    __slots__ = ("bytes", "links", "positions", "read_first", "variable")

    def __init__(self, variable: int, positions: list[int], links: set[int], read_first: bool, size: int) -> None:
        self.variable = variable
        self.positions = positions
        self.links = links
        self.read_first = read_first
        self.bytes = size

    def prepare(self, front: Code) -> None:
        """Make the tables, in front of the nest."""
        raise NotImplementedError

    def value(self, code: Code, base: int, at: int, number: int) -> int:
        """What the variable is after as many iterations of a block as ``at`` says, and so many further steps; ``base`` is what it was in front of the block."""
        raise NotImplementedError
