"""Where in a kernel something stands: the names it can read, the elements it can reach, the loops around."""

from __future__ import annotations

import copy
from typing import Self

from tests.random_kernels.tree import INDEX, Array, Expr

__all__ = ["Function", "Lanes", "Place", "Variable"]


class Variable:
    """A name that can be read.

    Attributes:
        kind: an element type, ``bool`` or ``index``. (For a variable that starts as a Python number, the type it meets.)
        weak: "int" or "float" for one that starts as such a Python number: plain Python may still have a number without a type in it.
        settable: it may be assigned again.
        varies: it may differ by lane.
        raw: an index whose type in the kernel is that of the bounds it runs to: no arithmetic on it.
        exact: a float that is always a whole number (or an infinity of a reduction), so that sums are the same in any order.
        lanes: the loop over lanes it was made in.
    """

    __slots__ = ("exact", "kind", "lanes", "raw", "settable", "text", "varies", "weak")

    def __init__(self, text: str, kind: str, weak: str = "", settable: bool = True, varies: bool = False, raw: bool = False, exact: bool = False) -> None:
        self.text = text
        self.kind = kind
        self.weak = weak
        self.settable = settable
        self.varies = varies
        self.raw = raw
        self.exact = exact
        self.lanes: Lanes | None = None


class Lanes:
    """A loop over lanes: index ``text``, elements from ``low`` before it to ``high`` behind it exist.

    Attributes:
        shared: it is the loop that may access arrays which may be one and the same.
        written: names of the arrays that its body stores to, and how far from the index.
        reductions: the variables from before it that it updates, and how.
        hidden: names of the arrays that one statement of its body accesses, and no other.
    """

    def __init__(self, text: str, low: int, high: int) -> None:
        self.text, self.low, self.high = text, low, high
        self.shared = False
        self.written: dict[str, int] = {}
        self.hidden: set[str] = set()
        self.reductions: dict[str, tuple[Variable, str]] = {}


class Function:
    """A Python function that the kernel can call.

    Attributes:
        kinds: of its parameters.
        result: the kind of its result, or "" for none.
        reads: variables of the kernel that it reads.
        by_lane: it may be called inside a loop over lanes.
        array: its first parameter is an array of this type, and its second an index.
    """

    def __init__(self, text: str, kinds: list[str], result: str, by_lane: bool, reads: list[Variable] | None = None, array: str = "") -> None:
        self.text, self.kinds, self.result, self.by_lane, self.reads, self.array = text, kinds, result, by_lane, reads or [], array


class Place:
    """A block of statements being made. What it adds to its lists is not seen outside.

    Attributes:
        indices, rows: valid indices of every array's last dimension, and of the first of those of two; made of names that stay.
        filled: ``n``, the least length, is not 0; ``has_rows``: nor is the number of rows.
        lanes: the loop over lanes around.
        loop: the kind of the innermost loop: "", "range", "while", "python" or "lanes"; "fixed" for one that is not left before its end.
        cost: how often this runs, at most.
        copies: how often it is copied while compiling.
        lists: lists of the kernel, each element of which is among the variables too: (name, kind, length, the loop over lanes it was made in).
        elements: elements used lately: (array, index).
        own: names of the variables made in this very block.
        local: in a function of its own, from which the kernel's arrays are not seen.
        direct: the body of a loop over lanes itself, or of a function.
        returns: the kind of the result, "" for none, or None where nothing can be returned.
    """

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.functions: list[Function] = []
        self.lists: list[tuple[str, str, int, Lanes | None]] = []
        self.indices: list[Expr] = []
        self.rows: list[Expr] = []
        self.filled = False
        self.has_rows = False
        self.lanes: Lanes | None = None
        self.loop = ""
        self.depth = 0
        self.cost = 1
        self.copies = 1
        self.elements: list[tuple[Array, str]] = []
        self.own: list[str] = []
        self.local = False
        self.direct = False
        self.returns: str | None = None

    def inner(self) -> Self:
        made = copy.copy(self)
        made.variables = [*self.variables]
        made.functions = [*self.functions]
        made.lists = [*self.lists]
        made.indices = [*self.indices]
        made.rows = [*self.rows]
        made.elements = [*self.elements]
        made.own = []
        made.direct = False
        made.depth += 1
        return made

    def readable(self, kind: str, weak: bool = False) -> list[Variable]:
        """The variables of a kind that have a value here; those that started as Python numbers, or the others."""
        summed = self.lanes.reductions if self.lanes is not None else ()
        return [v for v in self.variables if v.kind == kind and bool(v.weak) == weak and v.text not in summed]

    def assignable(self) -> list[Variable]:
        """The variables that may be assigned here."""
        return [v for v in self.variables if v.settable and v.lanes is self.lanes and not v.exact]

    def callable(self, result: str) -> list[Function]:
        """The functions with a result of a kind that can be called here."""
        summed = self.lanes.reductions if self.lanes is not None else ()
        return [
            f
            for f in self.functions
            if f.result == result and (f.by_lane or self.lanes is None) and not any(v.text in summed for v in f.reads) and (not f.array or self.lanes is None)
        ]

    def uniform(self) -> list[Variable]:
        """The indices that are the same for all lanes."""
        return [v for v in self.readable(INDEX) if not v.varies and not v.raw]
