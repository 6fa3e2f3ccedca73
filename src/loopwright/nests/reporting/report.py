"""What is known of a function's nests, what was tried with them, what was done, and why not more: what ``code.nests()`` returns.

A report is filled while the pass works on the nests (``choose.py``); a compilation that nobody asks about its nests makes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loopwright.ir.function import Function
from loopwright.nests.analysis.graph import Graph
from loopwright.nests.analysis.nest import Nest
from loopwright.nests.reporting.nest_report import NestReport
from loopwright.targets.core import Core
from loopwright.targets.target import Target

__all__ = ["Report"]


def _drawn(nest: NestReport) -> str:
    from loopwright.nests.reporting.page import picture

    return picture(nest)


class Report:
    """The nests of a function.

    ``str(report)`` says all of it, ``page()`` shows it with pictures; iterating goes over the nests.

    Attributes:
        name: the function's name.
        file: where it is from.
        target: the name of the machine.
        core: the name of the core whose units the bounds are about, or "".
        units: the core's units, and how many there are of each.
        nests: a ``NestReport`` for each outermost loop.
        because: why none of them was looked at, a sentence; or "".
    """

    __slots__ = ("_scheduler", "because", "core", "file", "name", "nests", "target", "units")

    def __init__(self, f: Function, target: Target, scheduler: Callable[[Graph, Core, int], Any] | None = None) -> None:
        """``scheduler`` makes modulo schedules, for the pictures: of a graph, for a core, of so many copies of a body; None where there are to be none."""
        self._scheduler = scheduler
        core = target.core
        self.name = f.name
        self.file = f.file
        self.target = target.name
        self.core = core.name if core is not None else ""
        self.units: list[tuple[str, int]] = [] if core is None else [(unit, core.counts[k]) for k, unit in enumerate(core.units)]
        self.nests: list[NestReport] = []
        self.because = ""

    def begins(self, nest: Nest, target: Target) -> NestReport:
        """A report on one more nest, which comes before those that there are."""
        made = NestReport(nest, target, _drawn, self._scheduler)
        self.nests.insert(0, made)
        return made

    def first(self, made: list[NestReport]) -> None:
        """Put what was reported on these nests in front of the rest."""
        self.nests = [*made, *[nest for nest in self.nests if nest not in made]]

    def carried(self, line: int, count: int) -> None:
        """In loops of the nest of that line, so many loads were replaced by values in registers."""
        for nest in self.nests:
            # (Another of its loops may have become the outermost.)
            if line in [loop.line for loop in nest.loops]:
                nest.carried += count

    def asked(self, line: int, f: Function, pairs: list[tuple[int, int, bool]]) -> None:
        """It is asked in front of the nest of that line whether arrays overlap."""
        for nest in self.nests:
            if line in [loop.line for loop in nest.loops]:
                nest.asks(f, pairs)

    def page(self) -> str:
        """An HTML page with pictures: iterations with their dependences and what runs together, the bounds, what the units do, the candidates."""
        from loopwright.nests.reporting.page import page

        return page(f"{self.name} for {self.target}", self.because, self.units, self.nests, str(self))

    def did(self, line: int, step: str) -> None:
        """Something was done to the nest of that line."""
        for nest in self.nests:
            if nest.line == line:
                nest.does(step)

    def __str__(self) -> str:
        count = len(self.nests)
        out = [f"{self.name} for {self.target}: {count if count else 'no'} nest{'' if count == 1 else 's'} of loops"]
        if self.because:
            out.append(f"as written: {self.because}")
        return "\n".join(out) + "\n" + "".join(["\n" + str(nest) for nest in self.nests])

    def __len__(self) -> int:
        return len(self.nests)

    def __iter__(self) -> Iterator[NestReport]:
        return iter(self.nests)

    def __getitem__(self, number: int) -> NestReport:
        return self.nests[number]
