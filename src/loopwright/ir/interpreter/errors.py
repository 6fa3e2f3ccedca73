"""What an interpreted function must not do, and the end of its program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopwright.errors import BoundsError, LoopwrightError
from loopwright.ir.function import Function

__all__ = ["InterpreterBoundsError", "InterpreterError", "InterpreterExit", "failed_check"]


class InterpreterError(LoopwrightError):
    """Something an interpreted function must not do."""


class InterpreterBoundsError(InterpreterError, BoundsError):
    """An access outside an array, or a check that failed (``site`` then numbers it)."""

    site: int = -1


class InterpreterExit(InterpreterError):
    """The program has ended itself, with a ``status`` as C's ``exit`` takes it."""

    status: int = 0


def failed_check(f: Function, number: int, values: Sequence[Any]) -> InterpreterBoundsError:
    """The error of a check that failed: its number, and the index and the extent that it has reported."""
    sites = f.sites
    shown = ", ".join(str(int(v)) for v in values)
    if number < len(sites):
        site = sites[number]
        index = int(values[0]) if values else 0
        extent = f", whose extent is {int(values[1])}" if len(values) > 1 else ""
        error = InterpreterBoundsError(f"{site.text}: index {index} in dimension {site.dimension} is outside array {site.array}{extent}", f.file, site.line)
    else:
        error = InterpreterBoundsError(f"{f.name}: check {number} failed ({shown})", f.file)
    error.site = number
    return error
