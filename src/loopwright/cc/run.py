"""Running a C program in a process of its own: its ``main`` is called with arguments, and what it does ends with it."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from loopwright.errors import LoopwrightError
from loopwright.frontend.module import Program
from loopwright.types import I32, PTR

__all__ = ["run"]


def run(program: Program, name: str, args: Sequence[str]) -> int:
    """Call the ``main`` of a program in a child of this process.

    Args:
        program: the compiled program, for this CPU.
        name: the program's name, its first argument.
        args: the others.

    Returns:
        Its exit status; 128 and the number of the signal that ended it.

    Raises ``LoopwrightError`` for a program without a ``main``, or with one that takes something else than C says.
    """
    code = program.get("main")
    if code is None:
        raise LoopwrightError("the program has no function main")
    types = [code.compiled.source.types[p] for p in code.compiled.source.params]
    if types not in ([], [I32], [I32, PTR], [I32, PTR, PTR]):
        raise LoopwrightError(f"main takes ({', '.join(map(str, types))}), not (int argc, char **argv)")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    child = os.fork()
    if not child:
        _child(code, [name, *args], len(types))
    _, status = os.waitpid(child, 0)
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _child(code: Any, words: list[str], count: int) -> None:
    """The program itself. (C's ``exit`` ends the process, and writes what its streams still hold, as the end of main does.)"""
    # (A signal says what it says of any other program, and not where Python is.)
    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    status = 125
    try:
        encoded = [os.fsencode(word) for word in words]
        argv = (ctypes.c_char_p * (len(words) + 1))(*encoded, None)
        variables = [key + b"=" + value for key, value in os.environb.items()]
        envp = (ctypes.c_char_p * (len(variables) + 1))(*variables, None)
        values = [len(words), ctypes.addressof(argv), ctypes.addressof(envp)]
        result = code(*values[:count])
        status = int(result or 0) & 255
        ctypes.CDLL(None).exit(status)
    finally:
        os._exit(status)
