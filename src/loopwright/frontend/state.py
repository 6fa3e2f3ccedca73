"""What staging keeps track of: calls, loops, and the variables that run-time loops carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loopwright.frontend.emitter import Level
from loopwright.frontend.expr import Value
from loopwright.frontend.merging import Edge
from loopwright.frontend.program import LoopStmt, Parsed, Test
from loopwright.ir import ops
from loopwright.ir.function import Instr

if TYPE_CHECKING:
    from loopwright.frontend.leaving import Departed

__all__ = [
    "BREAK",
    "CONTINUE",
    "ENDED",
    "FALLS",
    "LEFT",
    "RETURN",
    "UNROLL_LIMIT",
    "Activation",
    "Compound",
    "LoopState",
    "Restage",
    "Sticky",
    "Summed",
    "shown",
]

# How control leaves a statement while staging.
FALLS: Final = 0
#: It does not: a branch or return was emitted, or no lane goes on.
ENDED: Final = 1
# A Python-level break, continue or return, taken while compiling.
BREAK: Final = 2
CONTINUE: Final = 3
RETURN: Final = 4
#: Control goes on, but no lane: they have left the loop around, or its step.
LEFT: Final = 5

#: Most steps of a while loop that runs while compiling.
UNROLL_LIMIT: Final = 10_000
#: Most steps of a for loop that runs while compiling: what it goes over may just be long.
FOR_LIMIT: Final = 1_000_000
#: Most instructions that one such loop makes; they take some ten seconds to compile.
GROWTH_LIMIT: Final = 200_000


class Restage(Exception):
    """A guess about the kernel was wrong; it has been noted, and staging starts again."""


class Compound:
    """A condition of several run-time parts, the first of them evaluated."""

    __slots__ = ("first", "kind", "rest")

    def __init__(self, kind: int, first: Any, rest: list[Test]) -> None:
        self.kind = kind
        self.first = first
        self.rest = rest


class Sticky:
    """A name that a run-time loop carries.

    Attributes:
        value: the variable; or the Python value, which must not change.
        level: the lanes that ran where the loop began.
        key: names the variable in the notes for staging again.
        line: where its first value was assigned.
    """

    __slots__ = ("key", "level", "line", "name", "value")

    def __init__(self, name: str, value: Any, level: Level | None, key: tuple[Any, ...], line: int) -> None:
        self.name = name
        self.value = value
        self.level = level
        self.key = key
        self.line = line


class Summed:
    """A variable from before a lanes loop that the loop reduces into.

    Attributes:
        initial: its value before the loop.
        op: the operation, once an update was seen.
        total: the vector accumulator, once an update was seen.
        identity: operand it starts from.
        anchor: the loop's first instruction.
        outer: the variable of an outer loop that the name stands for, or None.
    """

    __slots__ = ("anchor", "identity", "initial", "line", "name", "op", "outer", "total")

    def __init__(self, name: str, initial: Any, anchor: Instr, line: int) -> None:
        self.name = name
        self.initial = initial
        self.anchor = anchor
        self.line = line
        self.op: ops.Op | None = None
        self.total: Value | None = None
        self.identity = 0
        self.outer: Any = None


class LoopState:
    """A loop being staged.

    Attributes:
        kind: "runtime", "python" or "lanes".
        depth: brackets open when its body began.
        level: the lanes that run its body.
        remaining: a mask variable of the lanes that have not left the loop, where lanes leave one by one.
        departed, skipped: the values of names in the lanes that have left the loop, or its current step, or None.
        exit, next: the brackets that break and continue branch to, or None.
        exits, nexts: paths by which break and continue get there.
        exit_names, next_names: names to merge there.
    """

    __slots__ = ("departed", "depth", "exit", "exit_names", "exits", "kind", "level", "next", "next_names", "nexts", "remaining", "skipped", "stmt")

    def __init__(self, kind: str, stmt: LoopStmt) -> None:
        self.kind = kind
        self.stmt = stmt
        self.depth = 0
        self.level: Level | None = None
        self.remaining: Value | None = None
        self.exit: Instr | None = None
        self.next: Instr | None = None
        self.exits: list[Edge] = []
        self.nexts: list[Edge] = []
        self.exit_names = stmt.writes & stmt.live
        self.next_names: set[str] = set()
        self.departed: Departed | None = None
        self.skipped: Departed | None = None


class Activation:
    """One call of a Python function.

    Attributes:
        parsed: the function.
        env: its names' values; the globals of its expressions.
        sticky: names that run-time loops carry.
        missing: why a name has no value.
        lines: where each name was last assigned.
        regions: the run-time bracket in which each name was last bound to a Python container.
        loops: the loops around, innermost last.
        result: paths by which a return leaves the inlined function.
        block: the bracket such a return branches to.
        caller: the call it was inlined into, and the line there; None for the kernel itself.
        path: the lines of the calls that led here: tells the places apart where one function is inlined.
    """

    __slots__ = ("block", "caller", "depth", "env", "level", "lines", "loops", "missing", "parsed", "path", "regions", "result", "sticky", "top")

    def __init__(self, parsed: Parsed, env: dict[str, Any], top: bool, path: tuple[int, ...] = ()) -> None:
        self.parsed = parsed
        self.env = env
        self.top = top
        self.path = path
        self.sticky: dict[str, Any] = {}
        self.missing: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.regions: dict[str, int] = {}
        self.loops: list[LoopState] = []
        self.result: list[Edge] = []
        self.block: Instr | None = None
        self.caller: tuple[Activation, int] | None = None
        self.depth = 0
        self.level: Level | None = None

    def statement(self, line: int) -> str:
        """The text of one of its lines."""
        return self.parsed.lines.get(line, "").strip()


def shown(value: Any) -> str:
    """A Python value in a message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '…'}"
