"""What a user sees of a traceback: the frames of his own program, without the library's.

An error in a kernel comes from some twenty frames deep in the front end, none of which says anything to the user: the message names his file
and line. They are taken out where the error leaves the library. ``LOOPWRIGHT_FULL_TRACEBACK=1`` in the environment keeps them.
"""

from __future__ import annotations

import os
from types import FrameType, TracebackType
from typing import Final

from loopwright.errors import LoopwrightError

__all__ = ["shorten"]

ENVIRONMENT: Final = "LOOPWRIGHT_FULL_TRACEBACK"

_PACKAGE: Final = __name__.partition(".")[0]
#: A name that only the expressions of kernels have among their builtins (``frontend.hooks``).
_HOOK: Final = "__lw_call__"


def shorten(error: BaseException) -> None:
    """Take the library's frames out of an error's traceback, and out of those of the errors that led to it.

    To be called where the library was entered, in an ``except`` clause that ends with a bare ``raise``: that one does not add its own
    frame again. Left alone are ``InternalError`` and whatever else was raised by the library's own code without being meant for the user: that
    is a bug, and the frames are what its report needs.
    """
    if os.environ.get(ENVIRONMENT, "0") not in ("", "0"):
        return
    if not (isinstance(error, LoopwrightError) or _raised_outside(error.__traceback__)):
        return
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _outside(error.__traceback__)
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if before is None:
            return
        if _outside(before.__traceback__) is None and not isinstance(before, LoopwrightError):
            # An exception of Python's on the way to this one, which says what it said.
            error.__cause__ = None
            error.__suppress_context__ = True
            return
        error = before


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """The entries of a traceback that are not the library's."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _raised_outside(trace: TracebackType | None) -> bool:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and not _is_ours(trace.tb_frame)


def _is_ours(frame: FrameType) -> bool:
    # By the module's name, not by the file: native code and code written at run time (the calls' own) have none of ours.
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.partition(".")[0] == _PACKAGE or _HOOK in frame.f_builtins
