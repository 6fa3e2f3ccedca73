"""What a user asks of the loops of a function, step by step: the form that options, and the text of functions, have it in.

A step is a word with the loops it is about, by the names of their indices, and numbers: ``interchange(i, j)``, ``unroll_and_jam(i=4)``. A loop whose name is
another's, too, is told by its line: ``i@12``.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.errors import ScheduleError

__all__ = ["Step", "parse_steps", "steps_text"]

_STEP: Final = re.compile(r"\s*([a-z_]+)\(([^()]*)\)\s*")
_LOOP: Final = re.compile(r"[^\W\d]\w*(\.[a-z]+)?(@\d+)?")
_NUMBER: Final = re.compile(r"-?\d{1,9}")


class Step:
    """One step.

    Attributes:
        name: what is done: ``interchange``, ``unroll_and_jam``, …
        loops: the loops it is about, in the order given.
        values: the numbers given with names: of loops, or of what else the step takes.
    """

    __slots__ = ("loops", "name", "values")

    def __init__(self, name: str, loops: tuple[str, ...] = (), values: tuple[tuple[str, int], ...] = ()) -> None:
        self.name = name
        self.loops = loops
        self.values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.name == other.name and self.loops == other.loops and self.values == other.values

    def __hash__(self) -> int:
        return hash((self.name, self.loops, self.values))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join([*self.loops, *[f'{name}={value}' for name, value in self.values]])})"

    def __reduce__(self) -> tuple[object, ...]:
        return Step, (self.name, self.loops, self.values)


def steps_text(steps: tuple[Step, ...]) -> str:
    """Steps as text, for ``option schedule``."""
    return "; ".join([repr(step) for step in steps])


def parse_steps(text: str) -> tuple[Step, ...]:
    """The steps of a text.

    Raises:
        ScheduleError: it is none of steps.
    """
    made: list[Step] = []
    for part in text.split(";"):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ScheduleError(f"`{part.strip()}` is no step of a schedule, as unroll_and_jam(i=4) is")
        loops: list[str] = []
        values: list[tuple[str, int]] = []
        for argument in [word.strip() for word in match[2].split(",")] if match[2].strip() else []:
            name, equals, value = argument.partition("=")
            if not _LOOP.fullmatch(name) or (equals and not _NUMBER.fullmatch(value)):
                raise ScheduleError(f"`{argument}` in `{part.strip()}` is neither a loop nor a name with a number, as i=4 is")
            if equals:
                values.append((name, int(value)))
            else:
                loops.append(name)
        made.append(Step(match[1], tuple(loops), tuple(values)))
    return tuple(made)
