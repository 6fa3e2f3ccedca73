"""Run by gdb: steps through a program, one instruction after the other, and asks in each function of ours what its caller's frame is.

What holds at a function's first instruction is held against it: the return address and the stack pointer behind it, and the registers that a call preserves.
FUNCTIONS names ours with their sizes, of a program in C; without it, ours are those that GDB was told of by its JIT interface.
"""

from __future__ import annotations

import os
import re
from typing import Any

import gdb  # type: ignore[import-not-found]

PRESERVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
SYMBOL = re.compile(r"(.+?)(?: \+ (\d+))? in section \.text of <in-memory@")


def number(expression: str) -> int:
    return int(gdb.parse_and_eval(expression)) & 0xFFFF_FFFF_FFFF_FFFF


def caller(frame: Any) -> tuple[int, ...]:
    older = frame.older()
    if older is None:
        return ()
    return (older.pc(), *(int(older.read_register(name)) & 0xFFFF_FFFF_FFFF_FFFF for name in ("rsp", *PRESERVED)))


class Program:
    """A program in C: from main to finish."""

    def __init__(self) -> None:
        gdb.execute("break *finish")
        gdb.execute("break *main")
        gdb.execute("run")
        # (Before it runs a program may be elsewhere.)
        self.spans = {}
        for word in os.environ["FUNCTIONS"].split():
            name, size = word.split(":")
            self.spans[name] = (number(f"(unsigned long)&{name}"), int(size))
        self.end = number("(unsigned long)&finish")

    def ended(self, pc: int, stack: int) -> bool:
        return pc == self.end

    def inside(self, pc: int) -> tuple[str, int]:
        """The function of ours, and how far from its beginning."""
        return next(((name, pc - start) for name, (start, size) in self.spans.items() if start <= pc < start + size), ("", 0))


class Process:
    """A program in Python: from where the kernel is called for the second time to its end. (It raises SIGTRAP before, so that its code is there.)"""

    def __init__(self) -> None:
        gdb.execute("run")
        gdb.execute("break *'once from Python'")
        gdb.execute("continue")
        self.stack = number("$rsp")
        self.first = number("$pc")

    def ended(self, pc: int, stack: int) -> bool:
        return stack > self.stack

    def inside(self, pc: int) -> tuple[str, int]:
        match = SYMBOL.match(gdb.execute("info symbol $pc", to_string=True))
        return (match[1], int(match[2] or 0)) if match is not None else ("", 0)


def run() -> None:
    program: Program | Process = Program() if "FUNCTIONS" in os.environ else Process()
    known: list[tuple[int, ...]] = []
    seen: set[int] = set()
    names: set[str] = set()
    while True:
        pc, stack = number("$pc"), number("$rsp")
        if program.ended(pc, stack):
            break
        while known and stack >= known[-1][1]:
            known.pop()
        name, distance = program.inside(pc)
        if name:
            if not distance:
                known.append((number("*(unsigned long *)$rsp"), stack + 8, *(number(f"${each}") for each in PRESERVED)))
            seen.add(pc)
            names.add(name)
            found = caller(gdb.newest_frame())
            if found != known[-1]:
                print(f"WRONG in {name} at +{distance}: {[hex(value) for value in found]}, not {[hex(value) for value in known[-1]]}")
                return
        gdb.execute("stepi", to_string=True)
    print(f"RIGHT at {len(seen)} instructions of {', '.join(sorted(names))}")


run()
