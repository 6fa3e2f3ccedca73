"""What a machine's folder says about itself, in its module ``entry``: enough to list its targets, make them, and know how their code runs.

``targets/registry.py`` reads the entries of all folders; nothing else of a machine is imported before one of its targets is made.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from typing import Final

from loopwright.errors import TargetError
from loopwright.ir.description import Description
from loopwright.targets.target import Target

__all__ = ["Emulator", "Level", "Machine", "numbers_of"]


def numbers_of(texts: Iterable[str]) -> dict[str, int]:
    """Parameters of a processor as command lines have them behind ``--set``: ``cells=8``.

    Raises:
        TargetError: a text that is none, or a parameter that is given twice.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            value = int(number)
        except ValueError:
            raise TargetError(f"--set {text}: a parameter and a whole number are expected, as in --set load=3") from None
        if name in found:
            raise TargetError(f"--set {text}: {name} is set twice")
        found[name] = value
    return found


class Level:
    """One target of a machine.

    Attributes:
        line: a line about it.
        widths: the widths its vectors may have, in bits, the widest last; none for a scalar target.
        optional: CPU features that it does without, and uses where its name is followed by ``+`` and theirs, in alphabetical order.
    """

    __slots__ = ("line", "optional", "widths")

    def __init__(self, line: str, widths: tuple[int, ...] = (), optional: tuple[str, ...] = ()) -> None:
        self.line = line
        self.widths = widths
        self.optional = optional


class Emulator:
    """What emulates a machine, and what ``runtime/emulate.py`` needs to make programs for it.

    Attributes:
        programs: the names the emulator goes by, the usual one first; none where it is a part of the library: then ``runtime`` has a ``Runner`` for calls, and
            ``ARRAYS``, the address at which the memory of arguments may begin (see ``targets/multiclet/runner.py``).
        packages: the Debian packages it is in.
        runtime: the module that runs a program under it (as ``runtime/user_mode.py`` does).
        start: the module with the entry code of a program (see ``targets/start.py``).
        elf_machine: the machine's number in an executable (``e_machine``), where programs are executables.
        elf_flags: its flags there (``e_flags``).
    """

    __slots__ = ("elf_flags", "elf_machine", "packages", "programs", "runtime", "start")

    def __init__(
        self,
        programs: tuple[str, ...],
        start: str = "",
        packages: str = "qemu-user",
        runtime: str = "loopwright.runtime.user_mode",
        elf_machine: int = 0,
        elf_flags: int = 0,
    ) -> None:
        self.programs = programs
        self.start = start
        self.packages = packages
        self.runtime = runtime
        self.elf_machine = elf_machine
        self.elf_flags = elf_flags


def _none(features: frozenset[str]) -> str | None:
    return None


class Machine:
    """What a folder below ``targets`` compiles for.

    Attributes:
        family: what the names of its targets begin with, and of no other machine's.
        levels: its targets by name, the least first.
        conventions: the calling conventions it knows, the usual one first.
        make: called as ``make(name, vector_bits, convention, tuning)`` with what is declared here; 0 bits where there are no vectors. Behind the name may
            stand optional features of the level, each after a ``+``. ``tuning`` is what makes other code better on the CPU at hand, as in ``registry.get``.
        best: the name of the best target whose features are all among those given, or None.
        architectures: what ``platform.machine()`` says, in lower case, where its code is called in this process; none if it is nowhere.
        windows: the convention of calls on Windows, where that is not the usual one.
        emulator: how its code is run elsewhere; None if it is not.
        described: called as ``described(name, {parameter: number})``: a processor of the machine with other numbers; None where its targets have none.
        target_of: the target for a processor of the user's own; None where none can be described.
    """

    __slots__ = ("architectures", "best", "conventions", "described", "emulator", "family", "levels", "make", "target_of", "windows")

    def __init__(
        self,
        family: str,
        levels: dict[str, Level],
        conventions: tuple[str, ...],
        make: Callable[[str, int, str, frozenset[str]], Target],
        best: Callable[[frozenset[str]], str | None] = _none,
        architectures: tuple[str, ...] = (),
        windows: str = "",
        emulator: Emulator | None = None,
        described: Callable[[str, dict[str, int]], Description] | None = None,
        target_of: Callable[[Description], Target] | None = None,
    ) -> None:
        self.family: Final = family
        self.levels: Final = levels
        self.conventions: Final = conventions
        self.make: Final = make
        self.best: Final = best
        self.architectures: Final = architectures
        self.windows: Final = windows
        self.emulator: Final = emulator
        self.described: Final = described
        self.target_of: Final = target_of

    def runs_here(self) -> bool:
        """Whether this process is of the machine: whether its CPU has a target's features is another question."""
        return platform.machine().lower() in self.architectures and sys.maxsize > 1 << 32

    def convention_here(self) -> str:
        """The convention by which code is called in this process."""
        return self.windows if self.windows and sys.platform == "win32" else self.conventions[0]
