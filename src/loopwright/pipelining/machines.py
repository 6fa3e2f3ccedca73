"""Machines that start operations in order, as data: a core and a cache."""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.core import Core

__all__ = ["CORTEX_A53", "PAPER", "Cache", "Machine"]


class Cache:
    """A cache that keeps the lines used last (LRU), takes lines that are written in as well, and goes on while lines are on their way.

    Attributes:
        line: bytes of a line.
        sets, ways: how many lines it holds, and how many of one set.
        miss: cycles that a load takes longer whose line is not there.
        interval: cycles between the starts of two fills: the bandwidth.
    """

    __slots__ = ("interval", "line", "miss", "sets", "ways")

    def __init__(self, line: int, sets: int, ways: int, miss: int, interval: int) -> None:
        """Raises ``TargetError`` for a size that is not positive, or a negative time."""
        if min(line, sets, ways) < 1 or min(miss, interval) < 0:
            raise TargetError(f"there is no cache of {sets} sets of {ways} lines of {line} bytes that takes {miss} cycles, a line every {interval}")
        self.line = line
        self.sets = sets
        self.ways = ways
        self.miss = miss
        self.interval = interval


class Machine:
    """A core that starts operations in order, with a cache.

    Attributes:
        name: what it is called.
        core: units and latencies; a load's is that of one whose line is there.
        cache: the cache.
        forwarding: cycles from a store to a load of the same element that takes its value.
    """

    __slots__ = ("cache", "core", "forwarding", "name")

    def __init__(self, name: str, core: Core, cache: Cache, forwarding: int) -> None:
        self.name = name
        self.core = core
        self.cache = cache
        self.forwarding = forwarding


#: The machine of Vyukova and Samborsky, "Multi-dimensional loop pipelining" (2024): a square root a cycle, which takes four; nothing else takes time. Lines of
#: four elements (f64); eight of them, fewer than any row has, and enough for those that a few neighbouring rows need at a time. Misses are counted, and cost nothing.
PAPER: Final = Machine(
    "one square root a cycle",
    Core(
        "one square root a cycle",
        issue=1 << 20,
        units={"sqrt": 1, "other": 1},
        registers=1 << 20,
        table="sqrt | .* | sqrt | 4 | 1\n.* | .* | other | 0 | 0",
    ),
    Cache(line=32, sets=1, ways=8, miss=0, interval=0),
    forwarding=0,
)

#: Arm's Cortex-A53 as LLVM schedules for it (llvm/lib/Target/AArch64/AArch64SchedA53.td): two operations a cycle, in order. Its first-level cache has 32 KB in
#: lines of 64 bytes, 4 ways (Arm, *Cortex-A53 MPCore Technical Reference Manual*, section 6.1, of 8 to 64 KB). What a miss costs depends on what is behind
#: it; 15 cycles are about a hit in the second level.
CORTEX_A53: Final = Machine(
    "Cortex-A53",
    Core(
        "Cortex-A53",
        issue=2,
        units={"integer": 2, "multiply": 1, "memory": 1, "float": 1, "float multiply": 1},
        registers=28,
        results_in_order=True,
        table=r"""
load.*                         | .*           | memory         | 4  | 1
store.*                        | .*           | memory         | 4  | 1
sqrt                           | .*           | float multiply | 33 | 29
div                            | f64          | float multiply | 33 | 29
div                            | f(32|16)     | float multiply | 18 | 14
(fma|fms|fnma|fnms)            | b?f.*        | float multiply | 10 | 1
mul                            | b?f.*        | float multiply | 6  | 1
convert.*                      | .*           | float          | 6  | 1
.*                             | b?f.*        | float          | 6  | 1
(mul|div|rem|floordiv|mod).*   | .*           | multiply       | 4  | 1
.*                             | .*           | integer        | 1  | 1
""",
    ),
    Cache(line=64, sets=128, ways=4, miss=15, interval=8),
    forwarding=1,
)
