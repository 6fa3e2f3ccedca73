"""The parsed form of a kernel: statements with their expressions compiled to code objects, and what flows between them.

Parsed once for each Python function; staging walks it for each signature.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Final

__all__ = [
    "AND",
    "LEAF",
    "NOT",
    "OR",
    "Assert",
    "Assign",
    "Break",
    "Continue",
    "Define",
    "Evaluate",
    "For",
    "If",
    "LoopStmt",
    "NameTarget",
    "Parsed",
    "Pass",
    "Reduction",
    "Return",
    "Stmt",
    "Store",
    "Target",
    "Test",
    "TupleTarget",
    "Update",
    "While",
]

LEAF: Final = 0
AND: Final = 1
OR: Final = 2
NOT: Final = 3


class Test:
    """A condition of an if or while, taken apart at ``and``, ``or`` and ``not``."""

    __slots__ = ("code", "kind", "parts")
    __test__ = False

    def __init__(self, kind: int, code: CodeType | None, parts: list[Test]) -> None:
        self.kind = kind
        self.code = code
        self.parts = parts


class Target:
    """What is assigned to."""

    __slots__ = ()


class NameTarget(Target):
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class TupleTarget(Target):
    """``starred`` is the position of a starred item, or -1."""

    __slots__ = ("items", "starred")

    def __init__(self, items: list[Target], starred: int) -> None:
        self.items = items
        self.starred = starred


class Store(Target):
    """``container[index]``; ``name`` is the container's when it is a plain name."""

    __slots__ = ("container", "index", "name")

    def __init__(self, container: CodeType, index: CodeType, name: str) -> None:
        self.container = container
        self.index = index
        self.name = name


class Reduction:
    """An assignment of the form ``total = total + a - b``, ``m = max(m, a)`` or ``s = fma(a, b, s)``.

    Attributes:
        function: of the forms with a call: the function's expression.
        name: the function as it is called there, without what it belongs to; "" where it has no name.
        steps: (operator, expression) in order; for a call, operator "call" and the arguments, None standing for the variable.
    """

    __slots__ = ("arguments", "function", "name", "steps")

    def __init__(self, function: CodeType | None, arguments: list[CodeType | None], steps: list[tuple[str, CodeType]], name: str = "") -> None:
        self.function = function
        self.name = name
        self.arguments = arguments
        self.steps = steps


class Stmt:
    """Base of the statements. ``reads`` and ``writes`` are names; of compound statements, those of everything inside."""

    __slots__ = ("line", "reads", "writes")

    def __init__(self, line: int) -> None:
        self.line = line
        self.reads: set[str] = set()
        self.writes: set[str] = set()


class Assign(Stmt):
    """Also the augmented ones to names. ``fresh``: the value is a result nobody else holds. ``in_place``: of a list, the list itself changes. ``reduction``: the form, if it has one."""

    __slots__ = ("fresh", "in_place", "reduction", "targets", "value")

    def __init__(self, line: int, targets: list[Target], value: CodeType, fresh: bool, reduction: Reduction | None) -> None:
        super().__init__(line)
        self.targets = targets
        self.value = value
        self.fresh = fresh
        self.in_place = False
        self.reduction = reduction


class Update(Stmt):
    """``container[index] op= value``."""

    __slots__ = ("operator", "target", "value")

    def __init__(self, line: int, target: Store, operator: str, value: CodeType) -> None:
        super().__init__(line)
        self.target = target
        self.operator = operator
        self.value = value


class Evaluate(Stmt):
    __slots__ = ("value",)

    def __init__(self, line: int, value: CodeType) -> None:
        super().__init__(line)
        self.value = value


class Assert(Stmt):
    __slots__ = ("message", "value")

    def __init__(self, line: int, value: CodeType, message: CodeType | None) -> None:
        super().__init__(line)
        self.value = value
        self.message = message


class If(Stmt):
    """``live``: names read afterwards. ``head``: names the condition reads."""

    __slots__ = ("body", "head", "live", "orelse", "test")

    def __init__(self, line: int, test: Test, body: list[Stmt], orelse: list[Stmt]) -> None:
        super().__init__(line)
        self.test = test
        self.body = body
        self.orelse = orelse
        self.head: set[str] = set()
        self.live: set[str] = set()


class LoopStmt(Stmt):
    """``live``: names read afterwards. ``carried``: names written in the loop that its next step, or what follows, may read, in order. ``left``: those that what
    follows may read. ``parting``: those that are assigned on the way out by a break or return only. ``running``: totals that are read in the loop, too,
    where they are added to in one place only. ``otherwise``: those that its ``else`` assigns before it could read them.

    ``head``: names its condition or iterable reads. ``breaks``, ``continues``: the body has a statement of that kind for this loop. ``counters``: names of which the body does
    nothing but add a number to them, with these.
    """

    __slots__ = ("body", "breaks", "carried", "continues", "counters", "head", "left", "live", "otherwise", "parting", "running")

    def __init__(self, line: int, body: list[Stmt]) -> None:
        super().__init__(line)
        self.body = body
        self.head: set[str] = set()
        self.live: set[str] = set()
        self.carried: list[str] = []
        self.left: set[str] = set()
        self.parting: set[str] = set()
        self.running: set[str] = set()
        self.otherwise: set[str] = set()
        self.breaks = False
        self.continues = False
        self.counters: dict[str, list[float]] = {}


class For(LoopStmt):
    """``numbers``: the name of its number, and of those that are known when it is, if they are read as nothing but indices and bounds of loops inside, in sums and the like that
    have a type whether they have one or not, and as what is converted to a type; none if it is read in other ways. ``indexed``: names of what they are indices of. ``places``:
    such indices and bounds, with whether it is an index. ``beside``: the other names in them, but for the numbers of loops inside. ``stored``: names of arrays in which its
    number is stored. ``typed``: by such a sum the other names in it, one of which is to have a type. ``converted``: what such numbers are converted by.
    ``steps``: of ranges, in which they are. ``copied``: its number is another name's value.
    """

    __slots__ = ("beside", "converted", "copied", "indexed", "iterable", "numbers", "places", "steps", "stored", "target", "typed")

    def __init__(self, line: int, target: Target, iterable: CodeType, body: list[Stmt]) -> None:
        super().__init__(line, body)
        self.target = target
        self.iterable = iterable
        self.numbers: set[str] = set()
        self.copied = False
        self.indexed: set[str] = set()
        self.places: list[tuple[ast.expr, bool]] = []
        self.beside: set[str] = set()
        self.stored: set[str] = set()
        self.typed: list[set[str]] = []
        self.converted: list[ast.expr] = []
        self.steps: list[ast.expr] = []


class While(LoopStmt):
    """``forever``: the condition is a constant that is true."""

    __slots__ = ("forever", "test")

    def __init__(self, line: int, test: Test, body: list[Stmt], forever: bool) -> None:
        super().__init__(line, body)
        self.test = test
        self.forever = forever


class Break(Stmt):
    __slots__ = ()


class Continue(Stmt):
    __slots__ = ()


class Pass(Stmt):
    __slots__ = ()


class Return(Stmt):
    """``tail``: nothing of the function follows it on its path."""

    __slots__ = ("fresh", "tail", "value")

    def __init__(self, line: int, value: CodeType | None, fresh: bool) -> None:
        super().__init__(line)
        self.value = value
        self.fresh = fresh
        self.tail = False


class Define(Stmt):
    """A nested function."""

    __slots__ = ("defaults", "parsed")

    def __init__(self, line: int, parsed: Parsed, defaults: list[tuple[str, CodeType]]) -> None:
        super().__init__(line)
        self.parsed = parsed
        self.defaults = defaults


class Parsed:
    """A parsed function.

    Attributes:
        name, file, line: of the function.
        lines: source text of its lines by absolute number.
        params: names of the parameters it is called with by position or keyword.
        varargs, kwargs: names of ``*args`` and ``**kwargs``, or "".
        body: its statements.
        local: names assigned anywhere in it (parameters included).
        outside: names it reads that are not its own.
        hooks: names of the hooks that its expressions use.
        inner_returns: a return has code of the function after it that must be jumped over.
    """

    __slots__ = ("body", "file", "hooks", "inner_returns", "keyword_only", "kwargs", "last", "line", "lines", "local", "name", "outside", "params", "varargs")

    def __init__(self, name: str, file: str, line: int, lines: dict[int, str]) -> None:
        self.name = name
        self.file = file
        self.line = line
        self.last = line
        self.lines = lines
        self.params: list[str] = []
        self.keyword_only: list[str] = []
        self.varargs = ""
        self.kwargs = ""
        self.body: list[Stmt] = []
        self.local: set[str] = set()
        self.outside: set[str] = set()
        self.hooks: list[str] = []
        self.inner_returns = False
