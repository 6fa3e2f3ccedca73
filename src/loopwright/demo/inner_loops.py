"""The part of a listing a program spends its time in."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Row", "inner_loops"]

#: (offset, bytes, text, line of the user's source), as a target's ``listing`` gives them.
Row = tuple[int, bytes, str, int]

#: A jump or branch to an offset: x86's ``jl 0x40``, RISC-V's ``blt a0, a1, 0x40`` and ``j 0x40``.
_JUMP: Final = re.compile(r"[jb]\w* (?:.*, )?(0x[0-9a-f]+)")


def inner_loops(rows: list[Row]) -> list[list[Row]]:
    """The innermost loops of a listing: from the target of a backward branch to the branch, where no other lies between.

    Of those that come from the same line of the user's source only one: the first, which is the main loop, and the remainder follows it; where a loop of that line is around both, the last in that
    (``passes/alignment.py``).
    """
    spans: list[tuple[int, int]] = []
    for offset, _, text, _ in rows:
        match = _JUMP.fullmatch(text)
        if match and int(match[1], 16) <= offset:
            spans.append((int(match[1], 16), offset))
    innermost = [span for span in spans if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)]
    lines = {row[0]: row[3] for row in rows}
    chosen: dict[int, tuple[int, int]] = {}
    for span in innermost:
        line = lines[span[1]]
        known = chosen.setdefault(line, span)
        if any(first <= known[0] and span[1] < last and lines[last] == line for first, last in spans):
            chosen[line] = span
    return [[row for row in rows if first <= row[0] <= last] for first, last in chosen.values()]
