"""From a Python function's source to the statements that staging walks."""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final, NoReturn

from loopwright.errors import KernelSyntaxError
from loopwright.frontend.flow import RESULT, analyse
from loopwright.frontend.loop_else import OTHERWISE, without_else
from loopwright.frontend.matching import without_matches
from loopwright.frontend.named import without_named
from loopwright.frontend.program import (
    AND,
    LEAF,
    NOT,
    OR,
    Assert,
    Assign,
    Break,
    Continue,
    Define,
    Evaluate,
    For,
    If,
    NameTarget,
    Parsed,
    Pass,
    Reduction,
    Return,
    Stmt,
    Store,
    Target,
    Test,
    TupleTarget,
    Update,
    While,
)
from loopwright.frontend.rewrite import Rewriter, names_read
from loopwright.frontend.source import GIVEN, Source, source_of, without_source

__all__ = ["REDUCTIONS", "parse", "parse_if_possible"]

_REDUCING: Final = {"Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor"}

#: What to write instead of a statement that a kernel cannot contain.
_REFUSED: Final[dict[str, tuple[str, str]]] = {
    "Try": ("`try`", "code cannot raise exceptions; test for the condition with `if`"),
    "TryStar": ("`try`", "code cannot raise exceptions; test for the condition with `if`"),
    "With": ("`with`", "write the steps out as statements"),
    "AsyncWith": ("`async with`", "a kernel runs from start to end"),
    "AsyncFor": ("`async for`", "use `for … in lw.range(…)`"),
    "AsyncFunctionDef": ("`async def`", "a kernel runs from start to end"),
    "Global": ("`global`", "return the value, or store it in an array"),
    "Nonlocal": ("`nonlocal`", "return the value from the inner function and assign it"),
    "ClassDef": ("`class`", "define it outside the kernel"),
    "Import": ("`import`", "import outside the kernel, at the top of the file"),
    "ImportFrom": ("`import`", "import outside the kernel, at the top of the file"),
    "Delete": ("`del`", "leave the name as it is: registers are freed when they are not read any more"),
    "Raise": ("`raise`", "return an error code, or use `assert` on values known while compiling"),
    "TypeAlias": ("`type`", "define it outside the kernel"),
}

#: The parsed forms, by code, file and text given with the function: codes are equal whose files and comments differ.
_cache: Final[dict[tuple[CodeType, str, str | None], Parsed | None]] = {}
_lock: Final = threading.RLock()

#: The parsed forms of loops that ``sum(… for …)`` and its like stand for, by number.
REDUCTIONS: Final[list[Parsed]] = []

_GENERATOR: Final = 0x20


def parse(function: FunctionType) -> Parsed:
    """The parsed form of a Python function, made once. Raises ``KernelSyntaxError`` for what a kernel cannot contain."""
    known = parse_if_possible(function)
    if known is not None:
        return known
    raise without_source(function)


def parse_if_possible(function: FunctionType, text: str | None = None) -> Parsed | None:
    """The parsed form of a function, or None when it has no source that can be read (a lambda, a built-in, a string).

    ``text`` is a text that may have it.
    """
    code = function.__code__
    key = (code, code.co_filename, getattr(function, GIVEN, text))
    try:
        return _cache[key]
    except KeyError:
        pass
    with _lock:
        if key not in _cache:
            try:
                source = source_of(function, text) if code.co_name != "<lambda>" else None
                _cache[key] = _parse(source, code) if source is not None else None
            except RecursionError:
                raise KernelSyntaxError(
                    f"an expression in {code.co_name} has too many terms, or is nested too deeply: spread it over several assignments, as in total += …; "
                    "a chain of some hundred elif, or of returns under ifs, becomes a loop over a tuple: for value in (…): if x == value: …",
                    code.co_filename,
                    code.co_firstlineno,
                ) from None
        return _cache[key]


def _parse(source: Source, code: CodeType) -> Parsed:
    node = source.node
    try:
        if not isinstance(node, ast.FunctionDef):
            raise KernelSyntaxError("an async function cannot be a kernel: write it with `def`", source.file, node.lineno)
        if code.co_flags & _GENERATOR:
            for part in ast.walk(node):
                if isinstance(part, (ast.Yield, ast.YieldFrom)):
                    raise KernelSyntaxError("`yield` cannot stand in a kernel: store results in an array", source.file, part.lineno)
        return _Parser(source.file, source.lines).function(node)
    except KernelSyntaxError as error:
        error.locate(error.file, error.line, source.lines.get(error.line, "").strip())
        raise


def _terminates(body: list[ast.stmt]) -> bool:
    """Whether control never passes the end of the statements because of return, continue or raise."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Continue, ast.Raise)):
        return True
    return isinstance(last, ast.If) and bool(last.orelse) and _terminates(last.body) and _terminates(last.orelse)


def _else_the_rest(body: list[ast.stmt]) -> list[ast.stmt]:
    """``if c: …; return`` followed by more becomes ``if c: …; return`` ``else:`` more, so that returns and continues come last."""
    out: list[ast.stmt] = []
    for position, node in enumerate(body):
        if isinstance(node, ast.If):
            rest = body[position + 1 :]
            if rest and _terminates(node.body):
                made = ast.copy_location(ast.If(node.test, node.body, node.orelse + rest), node)
                out.append(made)
                return out
            if rest and node.orelse and _terminates(node.orelse):
                made = ast.copy_location(ast.If(node.test, node.body + rest, node.orelse), node)
                out.append(made)
                return out
        out.append(node)
        if isinstance(node, (ast.Return, ast.Continue, ast.Break, ast.Raise)):
            # What follows cannot run.
            return out
    return out


def _without_last_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """A loop's body without the continues that nothing follows."""
    if not body:
        return body
    last = body[-1]
    if isinstance(last, ast.Continue):
        return [*body[:-1], ast.copy_location(ast.Pass(), last)]
    if isinstance(last, ast.If):
        made = ast.If(last.test, _without_last_continue(_else_the_rest(last.body)), _without_last_continue(_else_the_rest(last.orelse)))
        return [*body[:-1], ast.copy_location(made, last)]
    return body


class _Counting(ast.NodeVisitor):
    """What a name is an index of, and a bound. The numbers of ranges inside count as it does if it is in their bounds: they are known when it is.

    Attributes:
        name: the name, which may be returned and stored besides.
        numbers: the name, and those numbers.
        indexed: the arrays.
        places: those indices, and the bounds, with whether it is an index.
        beside: the other names in them, but for the numbers of ranges inside.
        seen: what is read in other ways, or written.
        stored: the arrays in which the name is stored.
        copied: the name is another name's value.
        typed: the other names of sums, products and comparisons with the numbers, one of which has to have a type, so that these have one, too.
        converted: what such are converted by.
        steps: of ranges, in which a number is.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers = {name}
        self.indexed: set[str] = set()
        self.places: list[tuple[ast.expr, bool]] = []
        self.beside: set[str] = set()
        self.seen: set[str] = set()
        self.stored: set[str] = set()
        self.copied = False
        self.typed: list[set[str]] = []
        self.converted: list[ast.expr] = []
        self.steps: list[ast.expr] = []
        self.inside: list[str] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.seen.add(node.id)

    def visit_Return(self, node: ast.Return) -> None:
        # (What is returned from a loop that goes on otherwise has a type, whether the number has one or not; and what is stored the type of the elements.)
        if node.value is not None and not self.alone(node.value):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.visit(target)
        arrays = [target.value.id for target in node.targets if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)]
        if self.alone(node.value) and len(arrays) == len(node.targets):
            self.stored.update(arrays)
        elif self.alone(node.value) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.copied = True
        elif not (all(isinstance(target, ast.Name) for target in node.targets) and self.meets(node.value)):
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        both = ast.BinOp(node.left, ast.Sub(), node.comparators[0])
        if len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)) or not self.meets(both):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        by = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if len(node.args) == 1 and not node.keywords and isinstance(by, ast.Name) and self.whole(node.args[0]) and self.counts(node.args[0], False):
            self.converted.append(node.func)
        else:
            self.generic_visit(node)

    def meets(self, node: ast.expr) -> bool:
        """Whether an expression is a sum or the like of the numbers and of others, which may have a type."""
        others = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}.difference(self.numbers, self.inside)
        if not (others and self.whole(node) and self.counts(node, False)):
            return False
        self.typed.append(others)
        return True

    def alone(self, node: ast.expr) -> bool:
        """Whether an expression is the name."""
        return isinstance(node, ast.Name) and node.id == self.name

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if not isinstance(node.value, ast.Name):
                self.visit(index)
            elif self.counts(index, True):
                self.indexed.add(node.value.id)

    def visit_For(self, node: ast.For) -> None:
        target, call = node.target, node.iter
        if not (
            isinstance(target, ast.Name) and isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range" and not call.keywords
        ):
            self.generic_visit(node)
            return
        for step in call.args[2:]:
            if self.counts(step, False):
                self.steps.append(step)
        bounds = [self.counts(bound, False) for bound in call.args[:2]]
        if any(bounds):
            self.numbers.add(target.id)
        elif target.id in self.numbers:
            self.visit(target)
        inside = target.id not in self.numbers and not any(target.id in _written(stmt) for stmt in node.body)
        if inside:
            self.inside.append(target.id)
        for stmt in node.body:
            self.visit(stmt)
        if inside:
            self.inside.pop()

    def counts(self, node: ast.expr, index: bool) -> bool:
        """Look at an index or bound: whether the name is in it, which has to be a sum or product, quotient or remainder, of whole numbers then."""
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if not (names & self.numbers and self.whole(node)):
            self.visit(node)
            return False
        self.places.append((node, index))
        self.beside.update(names.difference(self.inside))
        return True

    def whole(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)) and self.whole(node.left) and self.whole(node.right)
        return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _counters(body: list[ast.stmt]) -> dict[str, list[Any]]:
    """The names of which statements do nothing but add a number to them; with these numbers, and infinity where it is not known how often one is added."""
    mentions: dict[str, int] = {}
    counted: dict[str, int] = {}
    numbers: dict[str, list[Any]] = {}
    repeated = {id(part) for stmt in body for node in ast.walk(stmt) if isinstance(node, (ast.For, ast.While)) for part in ast.walk(node)}

    def count(name: str, times: int, node: ast.stmt, op: ast.operator, number: Any) -> None:
        counted[name] = counted.get(name, 0) + times
        if type(number) in (int, float):
            if isinstance(op, ast.Sub):
                number = -number
            if id(node) in repeated:
                number *= math.inf
        numbers.setdefault(name, []).append(number)

    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name):
                mentions[node.id] = mentions.get(node.id, 0) + 1
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant):
                if isinstance(node.op, (ast.Add, ast.Sub)):
                    count(node.target.id, 1, node, node.op, node.value.value)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.BinOp):
                name, value = node.targets[0].id, node.value
                if (
                    isinstance(value.op, (ast.Add, ast.Sub))
                    and isinstance(value.left, ast.Name)
                    and value.left.id == name
                    and isinstance(value.right, ast.Constant)
                ):
                    count(name, 2, node, value.op, value.right.value)
    return {name: numbers[name] for name, times in counted.items() if mentions[name] == times and all(type(number) in (int, float) for number in numbers[name])}


def _written(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _is(node: ast.expr, target: ast.Name | ast.Subscript) -> bool:
    """Whether an expression is what is assigned to."""
    if isinstance(target, ast.Name):
        return isinstance(node, ast.Name) and node.id == target.id
    return isinstance(node, ast.Subscript) and ast.dump(node.value) == ast.dump(target.value) and ast.dump(node.slice) == ast.dump(target.slice)


def _updates(target: ast.Subscript, value: ast.expr) -> bool:
    """Whether an element is assigned something of the form of a reduction of itself."""
    if isinstance(value, ast.Call):
        return any(_is(argument, target) for argument in value.args)
    node = value
    while isinstance(node, ast.BinOp):
        if _is(node.right, target):
            return True
        node = node.left
    return node is not value and _is(node, target)


class _Parser:
    """Turns the statements of one function."""

    def __init__(self, file: str, lines: dict[int, str]) -> None:
        self.file = file
        self.lines = lines
        self.rewriter = Rewriter(file, self.keep)
        #: Whether there may be a `:=` in it.
        self.named = any(":=" in line for line in lines.values())
        #: Names that inner functions read, at any time.
        self.kept = self.rewriter.kept

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        self.rewriter.refuse(node, what, instead)

    def keep(self, node: ast.FunctionDef) -> int:
        """Keep the parsed form of a function that is staged in place of a call, as long as those of kernels are kept."""
        REDUCTIONS.append(_Parser(self.file, self.lines).function(node))
        return len(REDUCTIONS) - 1

    def function(self, node: ast.FunctionDef) -> Parsed:
        made = Parsed(node.name, self.file, node.lineno, self.lines)
        made.last = node.end_lineno or node.lineno
        args = node.args
        made.params = [a.arg for a in (*args.posonlyargs, *args.args)]
        made.keyword_only = [a.arg for a in args.kwonlyargs]
        made.varargs = args.vararg.arg if args.vararg is not None else ""
        made.kwargs = args.kwarg.arg if args.kwarg is not None else ""
        body = node.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]
        made.body = self.block(body)
        own = {*made.params, *made.keyword_only}
        if made.varargs:
            own.add(made.varargs)
        if made.kwargs:
            own.add(made.kwargs)
        reads: set[str] = set()
        for stmt in made.body:
            own |= stmt.writes
            reads |= stmt.reads
        made.local = own
        made.outside = reads - own
        made.hooks = sorted(self.rewriter.hooks)
        made.inner_returns = analyse(made, self.kept)
        return made

    def block(self, body: list[ast.stmt]) -> list[Stmt]:
        return [self.statement(node) for node in _else_the_rest(self.plainer(body))]

    def loop_body(self, body: list[ast.stmt]) -> list[Stmt]:
        return self.block(_without_last_continue(_else_the_rest(self.plainer(body))))

    def plainer(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements without what stands for other ones."""
        made = without_else(without_matches(body, self.refuse))
        return without_named(made) if self.named else made

    def expression(self, node: ast.expr, reads: set[str]) -> CodeType:
        """The code object of an expression; the names that it reads are added to ``reads``."""
        return self.rewriter.compile(node, reads)

    def statement(self, node: ast.stmt) -> Stmt:
        make = _STATEMENTS.get(type(node))
        if make is not None:
            return make(self, node)
        refused = _REFUSED.get(type(node).__name__, (f"`{type(node).__name__}`", "use assignments, if, while, for, return"))
        self.refuse(node, *refused)

    def _assign(self, node: ast.Assign) -> Stmt:
        return self.assign(node.targets, node.value, node.lineno)

    def _annotated(self, node: ast.AnnAssign) -> Stmt:
        return self.assign([node.target], node.value, node.lineno) if node.value is not None else Pass(node.lineno)

    def _expression(self, node: ast.Expr) -> Stmt:
        if isinstance(node.value, ast.Constant):
            return Pass(node.lineno)
        reads: set[str] = set()
        made = Evaluate(node.lineno, self.expression(node.value, reads))
        made.reads = reads
        return made

    def _if(self, node: ast.If) -> Stmt:
        reads: set[str] = set()
        made = If(node.lineno, self.test(node.test, reads), self.block(node.body), self.block(node.orelse))
        if made.orelse and all(isinstance(inner, Pass) for inner in made.body):
            made.test = Test(NOT, None, [made.test])
            made.body, made.orelse = made.orelse, []
        self.gather(made, made.body)
        self.gather(made, made.orelse)
        made.reads |= reads
        made.head = reads
        return made

    def _while(self, node: ast.While) -> Stmt:
        reads: set[str] = set()
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        made = While(node.lineno, self.test(node.test, reads), self.loop_body(node.body), forever)
        made.counters = _counters(node.body)
        made.otherwise = getattr(node, OTHERWISE, made.otherwise)
        self.gather(made, made.body)
        made.reads |= reads
        made.head = reads
        return made

    def _for(self, node: ast.For) -> Stmt:
        reads: set[str] = set()
        writes: set[str] = set()
        iterable = self.expression(node.iter, reads)
        made = For(node.lineno, self.target(node.target, writes, reads), iterable, self.loop_body(node.body))
        if isinstance(node.target, ast.Name):
            counting = _Counting(node.target.id)
            for stmt in node.body:
                counting.visit(stmt)
            if not counting.numbers & counting.seen:
                made.numbers = counting.numbers
                made.indexed = counting.indexed
                made.places = counting.places
                made.beside = counting.beside - counting.numbers
                made.copied = counting.copied
                made.stored = counting.stored
                made.typed = counting.typed
                made.converted = counting.converted
                made.steps = counting.steps
                made.counters = _counters(node.body)
        made.otherwise = getattr(node, OTHERWISE, made.otherwise)
        self.gather(made, made.body)
        made.reads |= reads
        made.head = reads
        made.writes |= writes
        return made

    def _break(self, node: ast.Break) -> Stmt:
        return Break(node.lineno)

    def _continue(self, node: ast.Continue) -> Stmt:
        return Continue(node.lineno)

    def _pass(self, node: ast.Pass) -> Stmt:
        return Pass(node.lineno)

    def _return(self, node: ast.Return) -> Stmt:
        reads: set[str] = set()
        made = Return(node.lineno, self.expression(node.value, reads) if node.value is not None else None, isinstance(node.value, ast.BinOp))
        made.reads = reads
        made.writes = {RESULT}
        return made

    def _assert(self, node: ast.Assert) -> Stmt:
        reads: set[str] = set()
        made = Assert(node.lineno, self.expression(node.test, reads), self.expression(node.msg, reads) if node.msg is not None else None)
        made.reads = reads
        return made

    def _define(self, node: ast.FunctionDef) -> Stmt:
        if node.decorator_list:
            self.refuse(node, "a decorator on an inner function", "define the function outside the kernel")
        inner = _Parser(self.file, self.lines).function(node)
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        given = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
        given += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
        reads = set(inner.outside)
        made = Define(node.lineno, inner, [(a.arg, self.expression(value, reads)) for a, value in given])
        made.reads = reads
        made.writes = {node.name}
        self.kept |= inner.outside
        return made

    def gather(self, into: Stmt, body: list[Stmt]) -> None:
        for stmt in body:
            into.reads |= stmt.reads
            into.writes |= stmt.writes

    def test(self, node: ast.expr, reads: set[str]) -> Test:
        if isinstance(node, ast.BoolOp):
            return Test(AND if isinstance(node.op, ast.And) else OR, None, [self.test(value, reads) for value in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Test(NOT, None, [self.test(node.operand, reads)])
        if isinstance(node, ast.Compare) and len(node.ops) > 1 and all(isinstance(c, (ast.Name, ast.Constant)) for c in node.comparators[:-1]):
            # a < b < c with a simple b: the same as a < b and b < c.
            lefts = [node.left, *node.comparators[:-1]]
            return Test(
                AND,
                None,
                [
                    self.test(ast.copy_location(ast.Compare(left, [op], [right]), node), reads)
                    for left, op, right in zip(lefts, node.ops, node.comparators, strict=True)
                ],
            )
        return Test(LEAF, self.expression(node, reads), [])

    # --- assignments --------------------------------------------------------------------------------------

    def target(self, node: ast.expr, writes: set[str], reads: set[str]) -> Target:
        if isinstance(node, ast.Name):
            writes.add(node.id)
            return NameTarget(node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            starred = -1
            items: list[Target] = []
            for position, item in enumerate(node.elts):
                if isinstance(item, ast.Starred):
                    starred = position
                    item = item.value
                items.append(self.target(item, writes, reads))
            return TupleTarget(items, starred)
        if isinstance(node, ast.Subscript):
            return self.store(node, reads)
        if isinstance(node, ast.Attribute):
            self.refuse(node, f"assignment to the attribute `.{node.attr}`", "assign to a variable or to an array's element")
        self.refuse(node, "this target of an assignment", "assign to a name, a tuple of names, or an array's element")

    def store(self, node: ast.Subscript, reads: set[str]) -> Store:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        container = self.expression(node.value, reads)
        index: ast.expr = node.slice
        if isinstance(index, ast.Slice):
            bounds = [part if part is not None else ast.Constant(None) for part in (index.lower, index.upper, index.step)]
            index = ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), bounds, []), index))
        if isinstance(index, ast.Tuple):
            if any(isinstance(item, (ast.Slice, ast.Starred)) for item in index.elts):
                self.refuse(node, "a slice", "loop over the elements")
            return Store(container, self.rewriter.compile_index(index, reads), name)
        return Store(container, self.expression(index, reads), name)

    def assign(self, targets: list[ast.expr], value: ast.expr, line: int) -> Assign:
        reads: set[str] = set()
        reduction = None
        if len(targets) == 1 and (isinstance(targets[0], ast.Name) or isinstance(targets[0], ast.Subscript) and _updates(targets[0], value)):
            reduction = self.reduction(targets[0], value)
        code = self.expression(value, reads)
        writes: set[str] = set()
        made = Assign(line, [self.target(t, writes, reads) for t in targets], code, isinstance(value, (ast.BinOp, ast.Subscript)), reduction)
        made.reads = reads
        made.writes = writes
        return made

    def augmented(self, node: ast.AugAssign) -> Stmt:
        line = node.lineno
        if isinstance(node.target, ast.Name):
            name = node.target.id
            value = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(name, ast.Load()), node), node.op, node.value), node)
            made_in_place = self.assign([node.target], value, line)
            made_in_place.in_place = True
            return made_in_place
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node, "augmented assignment to an attribute", "assign to a variable or to an array's element")
        reads: set[str] = set()
        value_code = self.expression(node.value, reads)
        made = Update(line, self.store(node.target, reads), type(node.op).__name__, value_code)
        made.reads = reads
        return made

    def reduction(self, target: ast.Name | ast.Subscript, value: ast.expr) -> Reduction | None:
        """How ``target = value`` updates the target with a value that does not depend on it, or None when it does not."""
        name = target.id if isinstance(target, ast.Name) else ""
        if isinstance(value, ast.Call) and not value.keywords and not any(isinstance(a, ast.Starred) for a in value.args):
            positions = [k for k, a in enumerate(value.args) if _is(a, target)]
            others = [a for a in value.args if not _is(a, target)]
            if len(positions) != 1 or name in names_read(value.func, *others):
                return None
            arguments = [None if k == positions[0] else self.expression(a, set()) for k, a in enumerate(value.args)]
            called = value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id if isinstance(value.func, ast.Name) else ""
            return Reduction(self.expression(value.func, set()), arguments, [], called)
        steps: list[tuple[str, CodeType]] = []
        node = value
        commuting: set[str] = set()
        while isinstance(node, ast.BinOp):
            kind = _REDUCING.get(type(node.op).__name__)
            if kind is None:
                return None
            commuting.add("add" if kind == "sub" else kind)
            if len(commuting) > 1:
                return None
            if kind != "sub" and _is(node.right, target):
                if name in names_read(node.left):
                    return None
                steps.append((kind, self.expression(node.left, set())))
                return Reduction(None, [], steps[::-1])
            if name in names_read(node.right):
                return None
            steps.append((kind, self.expression(node.right, set())))
            node = node.left
        if steps and _is(node, target):
            return Reduction(None, [], steps[::-1])
        return None


_STATEMENTS: Final[dict[type[ast.stmt], Callable[[_Parser, Any], Stmt]]] = {
    ast.Assign: _Parser._assign,
    ast.AnnAssign: _Parser._annotated,
    ast.AugAssign: _Parser.augmented,
    ast.Expr: _Parser._expression,
    ast.If: _Parser._if,
    ast.While: _Parser._while,
    ast.For: _Parser._for,
    ast.Break: _Parser._break,
    ast.Continue: _Parser._continue,
    ast.Pass: _Parser._pass,
    ast.Return: _Parser._return,
    ast.Assert: _Parser._assert,
    ast.FunctionDef: _Parser._define,
}
