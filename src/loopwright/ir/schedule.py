"""What a user asks of the loops of a function, step by step: the form that options, and the text of functions, have it in.

A step is a word with the loops it is about, by the names of their indices, and numbers: ``interchange(i, j)``, ``unroll_and_jam(i=4)``. A loop whose name is
another's, too, is told by its line, ``i@12``; where several in a line have one name, by which of them it is, in the order of the text: ``i@12.1``, ``i@12.2``.

Whoever asks for a step, text or ``loopwright.steps``, has it made by ``checked``: so both take the same, and refuse the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from loopwright.errors import ScheduleError

__all__ = ["Step", "checked", "options_of", "parse_steps", "steps_text"]

#: What a step calls a loop: the name of its index, what is added to it for a loop over tiles, its line, and which of several in that line it is.
_LOOP: Final = re.compile(r"[^\W\d]\w*(\.[a-z]+)?(@[1-9][0-9]{0,8}(\.[1-9][0-9]{0,8})?)?")
_STEP: Final = re.compile(r"\s*([a-z_]+)\(([^()]*)\)\s*")
_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")
#: No number of a step is greater.
_MOST: Final = 1 << 20


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
        return _text(self.name, self.loops, self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return Step, (self.name, self.loops, self.values)


class _Kind:
    """What the steps of one name take.

    Attributes:
        takes: the same, for whoever gives something else.
        loops: how many loops without numbers.
        numbered: how many loops with numbers at most; where there are any, at least one.
        options: the names of numbers that are of no loop.
    """

    __slots__ = ("loops", "numbered", "options", "takes")

    def __init__(self, takes: str, loops: int, numbered: int = 0, options: tuple[str, ...] = ()) -> None:
        self.takes = takes
        self.loops = loops
        self.numbered = numbered
        self.options = options


_ANY: Final = 1 << 30
_KINDS: Final[dict[str, _Kind]] = {
    "fuse": _Kind("two loops, as in fuse(i@4, i@7)", 2),
    "interchange": _Kind("two loops, as in interchange(i, j)", 2),
    "lanes": _Kind("one loop, as in lanes(j)", 1),
    "pipeline": _Kind("one loop, and the interval where that is to be said, as in pipeline(j, ii=4)", 1, 0, ("ii",)),
    "skew": _Kind("one loop with a number, as in skew(i=4)", 0, 1, ("slant", "lanes", "rest", "short")),
    "tile": _Kind("loops with numbers, as in tile(i=32, j=32)", 0, _ANY),
    "unroll": _Kind("loops with numbers, as in unroll(j=4)", 0, _ANY),
    "unroll_and_jam": _Kind("loops with numbers, as in unroll_and_jam(i=4)", 0, _ANY),
}


def options_of(name: str) -> tuple[str, ...]:
    """The names of numbers that are of no loop, in steps of a name."""
    return _KINDS[name].options


def checked(name: str, loops: Sequence[object], values: Sequence[tuple[object, object]]) -> Step:
    """The step of a name that is about some loops; whether there are such loops is not asked.

    Args:
        name: what is done.
        loops: those that are given without numbers.
        values: numbers with their names: of loops, or of what else the step takes, of which 0 says nothing.

    Raises:
        ScheduleError: there is no such step, or it does not take these loops and numbers.
    """
    kind = _KINDS.get(name)
    if kind is None:
        raise ScheduleError(f"there is no step {name}; there are {', '.join(_KINDS)}")
    plain = tuple([_loop(name, loop) for loop in loops])
    numbered: list[tuple[str, int]] = []
    options: dict[str, int] = {}
    for given, number in values:
        if given in kind.options:
            known = str(given)
            twice = known in options
            options[known] = _whole(name, known, number, 0)
        else:
            known = _loop(name, given)
            twice = known in [other for other, _ in numbered]
            numbered.append((known, _whole(name, known, number, 2)))
        if twice:
            raise ScheduleError(f"{_text(name, loops, values)}: {known} is given twice")
    step = Step(name, plain, (*numbered, *[(option, options[option]) for option in kind.options if options.get(option, 0)]))
    if len(plain) != kind.loops or not min(kind.numbered, 1) <= len(numbered) <= kind.numbered:
        raise ScheduleError(f"{step}: it takes {kind.takes}")
    return step


def _loop(step: str, name: object) -> str:
    if not isinstance(name, str) or not _LOOP.fullmatch(name):
        raise ScheduleError(
            f"{step} takes the name of a loop's index, as in {step}('i'), or 'i@12' with its line, or 'i@12.1' for the first of several in line 12, not {name!r}"
        )
    return name


def _whole(step: str, name: str, number: object, least: int) -> int:
    if type(number) is not int or not least <= number <= _MOST:
        raise ScheduleError(f"{step}({name}=…) takes a whole number from {least} to {_MOST}, not {number!r}")
    return number


def _text(name: str, loops: Sequence[object], values: Sequence[tuple[object, object]]) -> str:
    return f"{name}({', '.join([*[str(loop) for loop in loops], *[f'{given}={number}' for given, number in values]])})"


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
            if equals and not _NUMBER.fullmatch(value):
                raise ScheduleError(f"`{argument}` in `{part.strip()}` is neither a loop nor a name with a number, as i=4 is")
            if equals:
                values.append((name, int(value)))
            else:
                loops.append(name)
        made.append(checked(match[1], loops, values))
    return tuple(made)
