"""Kernels as trees: what the generator makes, the counters count and the reducer takes apart."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["Array", "Clause", "Constant", "Expr", "Parameter", "Program", "Scalar", "Stmt", "expressions", "name", "statements"]

#: Other kinds of expressions than the element types.
BOOL = "bool"
#: A Python integer in plain Python, an i64 (or not yet typed) in a kernel: not negative, at most some hundreds.
INDEX = "index"


class Expr:
    """An expression.

    Attributes:
        kind: an element type, ``bool`` or ``index``.
        op: what it is, for the counters.
        parts: its text, with expressions in it.
        typed: a condition that is a ``np.bool_`` in plain Python too, so that ``~`` means the same.
    """

    __slots__ = ("kind", "op", "parts", "typed")

    def __init__(self, kind: str, op: str, *parts: str | Expr, typed: bool = False) -> None:
        self.kind = kind
        self.op = op
        self.parts = list(parts)
        self.typed = typed

    def __str__(self) -> str:
        return "".join([str(part) for part in self.parts])

    @property
    def operands(self) -> list[Expr]:
        return [part for part in self.parts if isinstance(part, Expr)]


def name(kind: str, text: str) -> Expr:
    """A variable, or another name."""
    return Expr(kind, "name", text)


class Clause:
    """A line of a statement, with the statements under it if it has a body."""

    __slots__ = ("body", "parts")

    def __init__(self, parts: list[str | Expr], body: list[Stmt] | None = None) -> None:
        self.parts = parts
        self.body = body


class Stmt:
    """A statement.

    Attributes:
        kind: what it is, for the counters.
        clauses: its lines; an ``if`` has more than one.
        lanes: it stands in a loop over lanes.
        fixed: without it the kernel might not end.
    """

    __slots__ = ("clauses", "fixed", "kind", "lanes")

    def __init__(self, kind: str, clauses: list[Clause], lanes: bool = False, fixed: bool = False) -> None:
        self.kind = kind
        self.clauses = clauses
        self.lanes = lanes
        self.fixed = fixed

    def lines(self, indent: int) -> Iterator[str]:
        for clause in self.clauses:
            yield "    " * indent + "".join([str(part) for part in clause.parts])
            if clause.body is not None:
                for stmt in clause.body:
                    yield from stmt.lines(indent + 1)
                if not clause.body:
                    yield "    " * (indent + 1) + "pass"


class Array:
    """An array parameter; ``written`` once something stores to it."""

    def __init__(self, text: str, kind: str, rank: int) -> None:
        self.text, self.kind, self.rank = text, kind, rank
        self.written = False

    @property
    def annotation(self) -> str:
        if self.kind == BOOL:
            # The annotation has no name for it.
            return "lw.Array"
        return f"lw.Array[lw.{self.kind}]" if self.rank == 1 else f"lw.Array[lw.{self.kind}, {self.rank}]"


class Scalar:
    """A number as parameter; ``kind`` may be ``bool``."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.kind = text, kind

    @property
    def annotation(self) -> str:
        return "bool" if self.kind == BOOL else f"lw.{self.kind}"


class Constant:
    """An ``lw.Const`` parameter with its value."""

    def __init__(self, text: str, value: Any) -> None:
        self.text, self.value = text, value

    annotation = "lw.Const"


Parameter = Array | Scalar | Constant


class Program:
    """A kernel with the functions and constants of its module, and how to call it.

    Attributes:
        result: the kind of the result, or "".
        shared: two arrays that may be one and the same, both accessed at the loop's index only.
        table: a constant table: its name, the kind of its elements, how many there are; None without one.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.parameters: list[Parameter] = []
        self.functions: list[Stmt] = []
        self.body: list[Stmt] = []
        self.result = ""
        self.shared: tuple[str, str] | None = None
        self.table: tuple[str, str, int] | None = None

    def copy(self) -> Program:
        made = copy.copy(self)
        made.functions = copy.deepcopy(self.functions)
        made.body = copy.deepcopy(self.body)
        return made

    def blocks(self) -> Iterator[list[Stmt]]:
        """Every list of statements, outer before inner."""
        waiting = [self.functions, self.body]
        while waiting:
            block = waiting.pop()
            yield block
            waiting += [clause.body for stmt in block for clause in stmt.clauses if clause.body is not None]

    def text(self) -> str:
        """The source of the module."""
        lines = ["import numpy as np", "", "import loopwright as lw", "", 'INF = float("inf")', 'NAN = float("nan")', ""]
        for stmt in self.functions:
            lines += ["", *stmt.lines(0), ""]
        parameters = ", ".join([f"{p.text}: {p.annotation}" for p in self.parameters])
        result = f" -> lw.{self.result}" if self.result else ""
        lines += ["", "@lw.kernel(contract=False)", f"def kernel({parameters}){result}:"]
        for stmt in self.body:
            lines += stmt.lines(1)
        if not self.body:
            lines.append("    pass")
        return "\n".join(lines) + "\n"

    def constants(self) -> dict[str, Any]:
        return {p.text: p.value for p in self.parameters if isinstance(p, Constant)}

    def arrays(self) -> list[Array]:
        return [p for p in self.parameters if isinstance(p, Array)]

    def least_length(self) -> str:
        """The statement that sets ``n``: every array's last dimension has as many elements at least."""
        lengths = [f"len({a.text})" if a.rank == 1 else f"{a.text}.shape[1]" for a in self.arrays()]
        return f"n = {lengths[0]}" if len(lengths) == 1 else f"n = lw.min({', '.join(lengths)})"


def statements(program: Program) -> Iterator[Stmt]:
    for block in program.blocks():
        yield from block


def expressions(parts: list[str | Expr]) -> Iterator[Expr]:
    """The expressions of a line, outer before inner."""
    waiting = [part for part in parts if isinstance(part, Expr)]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.operands
