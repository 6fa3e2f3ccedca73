"""The library's own exceptions.

A user's mistake raises a ``LoopwrightError`` that names the user's file and line where there is one;
a mistake of the library's own raises ``InternalError`` with the function's text attached.
"""

from __future__ import annotations

__all__ = [
    "AbiError",
    "ArgumentError",
    "AssemblyError",
    "BoundsError",
    "CpuError",
    "InternalError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LoopwrightError",
    "OverlapError",
    "ParseError",
    "ScheduleError",
    "SimulationError",
    "TargetError",
    "UnsupportedOperationError",
    "VerifyError",
]


class LoopwrightError(Exception):
    """Base of every error the library raises for a user's mistake.

    Attributes:
        file, line: where in the user's source, or "" and 0.
        statement: the text of that line, or "".
        calls: for a line of a function that became part of the kernel, where it was called: (file, line, in which function, text of the
            line), the innermost call first.
    """

    statement: str = ""
    calls: tuple[tuple[str, int, str, str], ...] = ()

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        self.message = message
        self.file = file
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file or self.line else ""
        shown = f"\n    {self.statement}" if self.statement else ""
        return f"{where}{self.message}{shown}{self._chain()}"

    def _chain(self) -> str:
        return "".join([f"\n  called from {file}:{line}, in {function}:\n    {statement}" for file, line, function, statement in self.calls])

    def locate(self, file: str, line: int, statement: str = "") -> None:
        """Say where in the user's source."""
        self.file = file
        self.line = line
        self.statement = statement

    def called_from(self, file: str, line: int, function: str, statement: str) -> None:
        """Add the next call outwards."""
        self.calls = (*self.calls, (file, line, function, statement))

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross between processes. Exception's own way calls the class with ``args``, which not every class here takes.
        return _remade, (type(self), self.args, self._state())

    def _state(self) -> dict[str, object]:
        """What sets it apart from another of its class, notes included."""
        return dict(self.__dict__)


def _remade(cls: type[LoopwrightError], args: tuple[object, ...], state: dict[str, object]) -> LoopwrightError:
    error = cls.__new__(cls, *args)
    for name, value in state.items():
        setattr(error, name, value)
    return error


class KernelSyntaxError(LoopwrightError, SyntaxError):
    """A Python construct that a kernel cannot contain; the message says what to write instead."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        LoopwrightError.__init__(self, message, file, line)
        self.msg = message
        if file:
            self.filename, self.lineno = file, line

    # Tracebacks show a SyntaxError by these attributes, not by its text.

    def locate(self, file: str, line: int, statement: str = "") -> None:
        super().locate(file, line, statement)
        self.filename, self.lineno, self.text = file, line, statement or None

    def called_from(self, file: str, line: int, function: str, statement: str) -> None:
        super().called_from(file, line, function, statement)
        self.msg = self.message + self._chain()

    def _state(self) -> dict[str, object]:
        # SyntaxError keeps its attributes outside the dictionary.
        kept = ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset", "print_file_and_line")
        return {**super()._state(), **{name: getattr(self, name) for name in kept}}


class KernelTypeError(LoopwrightError, TypeError):
    """Types that do not fit together inside a kernel or a builder call."""


class ArgumentError(LoopwrightError, TypeError):
    """An argument of a compiled kernel's call that does not fit its signature: count, dtype, rank, stride, writability."""


class BoundsError(LoopwrightError, IndexError):
    """Checked mode: an access outside its array. The message names array, index and line."""


class StackOverflowError(LoopwrightError, RecursionError):
    """Checked mode: functions of a module call each other more deeply than the stack has room for. The message names the function and its line."""


class OverlapError(LoopwrightError, ValueError):
    """Checked mode: an output shares memory with an input in a way that changes the result."""


class ScheduleError(LoopwrightError, ValueError):
    """A step of ``kernel.schedule`` that cannot be done: a loop that is not there, or a dependence that it would break, which the message names."""


class UnsupportedOperationError(LoopwrightError, NotImplementedError):
    """An operation that a target does not have for a type."""


class AbiError(LoopwrightError, TypeError):
    """A signature that the calling convention cannot pass."""


class CpuError(LoopwrightError, RuntimeError):
    """Code that this CPU lacks the features to run."""


class TargetError(LoopwrightError, ValueError):
    """An unknown target name, option, or register allocation order."""


class ParseError(LoopwrightError, ValueError):
    """IR text that does not parse. ``line`` and ``column`` are 1-based."""

    def __init__(self, message: str, line: int, column: int, file: str = "<ir>") -> None:
        self.column = column
        super().__init__(f"column {column}: {message}", file, line)


class AssemblyError(LoopwrightError, ValueError):
    """Assembler text that does not parse, commands that break a rule of their processor, or units that do not link. ``line`` and ``column`` are 1-based, and 0
    where no text is behind it."""

    def __init__(self, message: str, line: int = 0, column: int = 0, file: str = "") -> None:
        self.column = column
        super().__init__(f"column {column}: {message}" if column else message, file, line)


class SimulationError(LoopwrightError, RuntimeError):
    """A program that breaks a rule of its processor while it is simulated: the message names the rule, and the command where there is one."""


class VerifyError(LoopwrightError, ValueError):
    """IR that breaks a rule of the representation."""


class InternalError(Exception):
    """A bug in loopwright. Carries the text of the function that was being compiled."""

    def __init__(self, message: str, text: str = "") -> None:
        self.text = text
        super().__init__(message + ("\n\nThis is a bug in loopwright. The function at that point:\n" + text if text else ""))
