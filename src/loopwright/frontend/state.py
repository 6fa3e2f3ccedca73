"""What staging keeps track of: calls, loops, the paths that meet, and the variables that run-time loops carry."""

from __future__ import annotations

from typing import Any, Final

from loopwright.frontend.expr import Value
from loopwright.frontend.program import LoopStmt, Parsed, Test
from loopwright.ir import ops
from loopwright.ir.function import Instr

__all__ = [
    "BREAK",
    "CONTINUE",
    "ENDED",
    "FALLS",
    "NOTHING",
    "RETURN",
    "UNROLL_LIMIT",
    "Activation",
    "Compound",
    "Construct",
    "Count",
    "Edge",
    "Guarded",
    "Inlined",
    "LoopState",
    "Restage",
    "Sticky",
    "Summed",
    "shown",
]

#: No names.
NOTHING: Final[set[str]] = set()

# How control leaves a statement while staging.
FALLS: Final = 0
#: It does not: a branch or return was emitted.
ENDED: Final = 1
# A Python-level break, continue or return, taken while compiling.
BREAK: Final = 2
CONTINUE: Final = 3
RETURN: Final = 4

#: Most steps of a while loop that runs while compiling.
UNROLL_LIMIT: Final = 10_000


class Restage(Exception):
    """A guess about the kernel was wrong; it has been noted, and staging starts again."""


class Edge:
    """A path that reaches a meeting point.

    Attributes:
        values: the names' values on it.
        lines: where they were assigned.
        anchor: the instruction before which its last instructions go.
    """

    __slots__ = ("anchor", "lines", "values")

    def __init__(self, values: dict[str, Any], lines: dict[str, int], anchor: Instr) -> None:
        self.values = values
        self.lines = lines
        self.anchor = anchor


class Compound:
    """A condition of several run-time parts, the first of them evaluated."""

    __slots__ = ("first", "kind", "rest")

    def __init__(self, kind: int, first: Any, rest: list[Test]) -> None:
        self.kind = kind
        self.first = first
        self.rest = rest


class Count:
    """What is known of the Python numbers that a loop counts which runs at run time.

    Attributes:
        key: what notes that the loop is to be unrolled.
        least, most: the numbers lie between.
        whole: none has a fraction.
        wraps: it is a variable, which may wrap.
    """

    __slots__ = ("key", "least", "most", "whole", "wraps")

    def __init__(self, key: tuple[Any, ...], least: float, most: float, whole: bool, wraps: bool) -> None:
        self.key = key
        self.least = least
        self.most = most
        self.whole = whole
        self.wraps = wraps


class Sticky:
    """A name that a run-time loop carries.

    Attributes:
        value: the variable; or the Python value, which must not change.
        key: names the variable in the notes for staging again.
        line: where its first value was assigned.
        items: of a tuple, list or dictionary: its items are variables.
    """

    __slots__ = ("items", "key", "line", "name", "value")

    def __init__(self, name: str, value: Any, key: tuple[Any, ...], line: int, items: bool = False) -> None:
        self.name = name
        self.value = value
        self.key = key
        self.line = line
        self.items = items


class Summed:
    """A variable from before a lanes loop that the loop reduces into.

    Attributes:
        initial: its value before the loop.
        op: the operation, once an update was seen.
        total: the accumulator, once an update was seen.
        anchor: the loop's first instruction.
        outer: the variable of an outer loop that the name stands for, or None.
        container, index: of an element of a list or dictionary: where it is.
        parts: of a complex number: what its real and its imaginary part are reduced into.
        count: of a condition: how many of the values that it is reduced with decide.
    """

    __slots__ = ("anchor", "container", "count", "index", "initial", "line", "name", "op", "outer", "parts", "total")

    def __init__(self, name: str, initial: Any, anchor: Instr, line: int) -> None:
        self.name = name
        self.initial = initial
        self.anchor = anchor
        self.line = line
        self.op: ops.Op | None = None
        self.total: Value | None = None
        self.outer: Any = None
        self.container: Any = None
        self.index: Any = None
        self.parts: list[Summed] = []
        self.count: Summed | None = None


class Construct:
    """Code that runs under a condition of run time, or again and again: what older lists hold cannot simply be replaced in it.

    Attributes:
        act: the call it is in.
        stmt: the statement.
        anchor: the instruction before which its variables begin; None for a loop.
        slots: the elements that are variables as long as it lasts, or None.
    """

    __slots__ = ("act", "anchor", "slots", "stmt")

    def __init__(self, act: Activation, stmt: Any, anchor: Instr | None) -> None:
        self.act = act
        self.stmt = stmt
        self.anchor = anchor
        self.slots: list[Any] | None = None

    @property
    def place(self) -> tuple[Any, ...]:
        """Names it in the notes."""
        return id(self.stmt), self.act.path

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Of what runs again and again, or whose rest does: its entry in the notes on elements that it changes."""
        return None

    def active(self) -> bool:
        """Whether what runs in it now depends on what happens at run time."""
        return True

    @property
    def writes(self) -> set[str]:
        """The names of the call that it assigns."""
        return set()

    def value(self, name: str) -> Any:
        """What a name of the call was where it began."""
        return self.act.env.get(name)


class Guarded(Construct):
    """A part of a condition or conditional expression: it may be evaluated, and so changes nothing."""

    __slots__ = ()

    def __init__(self, act: Activation) -> None:
        super().__init__(act, None, None)


class Inlined(Construct):
    """The body of an inlined function, from which run-time paths may return."""

    __slots__ = ("callee",)

    def __init__(self, act: Activation, callee: Activation) -> None:
        super().__init__(act, callee.parsed, None)
        self.callee = callee

    @property
    def place(self) -> tuple[Any, ...]:
        return id(self.stmt), self.callee.path

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.stmt), self.callee.path, "elements"

    def active(self) -> bool:
        return bool(self.callee.result)


class LoopState(Construct):
    """A loop being staged.

    Attributes:
        bound: the values that the names it assigns had before.
        kind: "runtime", "python" or "lanes".
        depth: brackets open when its body began.
        exit, next: the brackets that break and continue branch to, or None.
        exits, nexts: paths by which break and continue get there.
        exit_names, next_names: names to merge there.
    """

    __slots__ = ("bound", "depth", "exit", "exit_names", "exits", "kind", "next", "next_names", "nexts")

    def __init__(self, kind: str, stmt: LoopStmt, act: Activation, bound: dict[str, Any]) -> None:
        self.act = act
        self.stmt = stmt
        self.anchor = None
        self.slots = None
        self.kind = kind
        self.bound = bound
        self.depth = 0
        self.exit: Instr | None = None
        self.next: Instr | None = None
        self.exits: list[Edge] = []
        self.nexts: list[Edge] = []
        self.exit_names = stmt.left
        self.next_names = NOTHING

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.stmt), self.act.path, "elements"

    def active(self) -> bool:
        # One that runs while compiling is as good as written out, until a path of run time has left it.
        return self.kind != "python" or bool(self.exits) or bool(self.nexts)

    @property
    def writes(self) -> set[str]:
        found: set[str] = self.stmt.writes
        return found

    def value(self, name: str) -> Any:
        return self.bound.get(name) if name in self.stmt.writes else self.act.env.get(name)


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
        returned: how many returns have been staged that leave it at run time.
        block: the bracket such a return branches to.
        caller: the call it was inlined into, and the line there; None for the kernel itself.
        path: the lines of the calls that led here: tells the places apart where one function is inlined.
    """

    __slots__ = ("block", "caller", "depth", "env", "lines", "loops", "missing", "parsed", "path", "regions", "result", "returned", "sticky", "top")

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
        self.returned = 0
        self.block: Instr | None = None
        self.caller: tuple[Activation, int] | None = None
        self.depth = 0

    def statement(self, line: int) -> str:
        """The text of one of its lines."""
        return self.parsed.lines.get(line, "").strip()


def shown(value: Any) -> str:
    """A Python value in a message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '…'}"
