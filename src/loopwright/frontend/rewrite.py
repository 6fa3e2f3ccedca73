"""Rewriting expressions so that Python evaluates them over run-time values.

Python asks ``bool()`` of the operands of ``and``, ``or``, ``not``, chained comparisons and conditional expressions, which a
run-time value cannot answer; those, calls, powers, and displays that keep values become calls of hooks, with the parts that may
not be evaluated as lambdas. (NumPy's power of two constants is not what multiplying gives at run time.)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any, Final, NoReturn, TypeVar

from loopwright.errors import KernelSyntaxError
from loopwright.frontend.generators import beside, function_for, function_of_elements, reducer, reducer_of_elements

__all__ = [
    "AND_HOOK",
    "CALL_HOOK",
    "CHAIN_HOOK",
    "ELEMENTS_HOOK",
    "HOLD_HOOK",
    "IF_HOOK",
    "IN_HOOK",
    "NEW_HOOK",
    "NOT_HOOK",
    "OR_HOOK",
    "POWER_HOOK",
    "REDUCE_HOOK",
    "SAME_HOOK",
    "TEXT_HOOK",
    "Rewriter",
    "names_read",
]

AND_HOOK: Final = "__lw_and__"
OR_HOOK: Final = "__lw_or__"
NOT_HOOK: Final = "__lw_not__"
IF_HOOK: Final = "__lw_if__"
CHAIN_HOOK: Final = "__lw_chain__"
CALL_HOOK: Final = "__lw_call__"
HOLD_HOOK: Final = "__lw_hold__"
POWER_HOOK: Final = "__lw_power__"
NEW_HOOK: Final = "__lw_new__"
ITEM_HOOK: Final = "__lw_item__"
REDUCE_HOOK: Final = "__lw_reduce__"
IN_HOOK: Final = "__lw_in__"
ELEMENTS_HOOK: Final = "__lw_elements__"
SAME_HOOK: Final = "__lw_same__"
TEXT_HOOK: Final = "__lw_text__"

_LOAD: Final = ast.Load()
_Node = TypeVar("_Node", bound=ast.expr | ast.keyword)
_Part = TypeVar("_Part", bound=ast.AST)


def _at(made: _Node, node: ast.expr | ast.keyword) -> _Node:
    """A new node in the place of another."""
    made.lineno = node.lineno
    made.col_offset = node.col_offset
    made.end_lineno = node.end_lineno
    made.end_col_offset = node.end_col_offset
    return made


_COMPARISONS: Final = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


#: Comparisons that ask whether two things are the same, and whether they say so or the contrary.
_SAME: Final = {"Eq": True, "NotEq": False, "Is": True, "IsNot": False}


def _of_several(node: ast.expr) -> bool:
    """Whether an expression is a tuple as it is written, the shape of an array or its type."""
    return isinstance(node, ast.Tuple) or (isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype"))


class Rewriter(ast.NodeVisitor):
    """Rewrites the expressions of one function, as new trees: what it is given stays as it is, and may be rewritten again.

    Attributes:
        reads: where the names go that the expression being rewritten reads.
        kept: names that lambdas in them read: at any time, because a lambda may be called later.
        hooks: names of the hooks that they call.
        keep: keeps a function that is staged in place of a call, and gives the number by which the hook finds it.
    """

    def __init__(self, file: str, keep: Callable[[ast.FunctionDef], int]) -> None:
        self.file = file
        self.keep = keep
        self.reads: set[str] = set()
        self.kept: set[str] = set()
        self.hooks: set[str] = set()

    def compile(self, node: ast.expr, reads: set[str]) -> CodeType:
        """The code object of an expression; the names that it reads are added to ``reads``."""
        # Every node made here is given its place in the file at once: to look for those without one would be another walk.
        self.reads = reads
        return compile(ast.Expression(self.visit(node)), self.file, "eval", dont_inherit=True)

    def index(self, node: ast.Tuple) -> ast.expr:
        """The tuple of an index: it is used at once, so nothing in it needs to be held."""
        return _at(ast.Tuple([self.visit(item) for item in node.elts], _LOAD), node)

    def compile_index(self, node: ast.Tuple, reads: set[str]) -> CodeType:
        """The code object of the tuple of an index."""
        self.reads = reads
        return compile(ast.Expression(self.index(node)), self.file, "eval", dont_inherit=True)

    def generic_visit(self, node: _Part) -> _Part:
        """The node itself, or a new one where a part of it is rewritten."""
        changed: dict[str, Any] = {}
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                new: Any = self.visit(part)
                if new is not part:
                    changed[name] = new
            elif type(part) is list and part:
                made = [self.visit(item) if isinstance(item, ast.AST) else item for item in part]
                if any(item is not old for item, old in zip(made, part, strict=True)):
                    changed[name] = made
        if not changed:
            return node
        copy = type(node)(**{name: changed[name] if name in changed else getattr(node, name, None) for name in node._fields})
        return _at(copy, node) if isinstance(node, ast.expr) else copy  # type: ignore[type-var]

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        raise KernelSyntaxError(f"{what} cannot stand in a kernel: {instead}", self.file, getattr(node, "lineno", 0))

    def _hook(self, node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.expr:
        self.hooks.add(name)
        return _at(ast.Call(_at(ast.Name(name, _LOAD), node), args, keywords or []), node)

    def _later(self, node: ast.expr) -> ast.expr:
        """A lambda that evaluates an expression when asked."""
        empty = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
        return _at(ast.Lambda(empty, node), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            self.reads.add(node.id)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        given = node.args
        # Defaults are evaluated around it, at once, and kept.
        defaults = [self._held(value) for value in given.defaults]
        keyword_defaults = [self._held(value) if value is not None else None for value in given.kw_defaults]
        around, self.reads = self.reads, set()
        body: ast.expr = self.visit(node.body)
        self.reads -= {part.arg for part in ast.walk(given) if isinstance(part, ast.arg)}
        self.kept |= self.reads
        around |= self.reads
        self.reads = around
        args = ast.arguments(given.posonlyargs, given.args, given.vararg, given.kwonlyargs, keyword_defaults, given.kwarg, defaults)
        return _at(ast.Lambda(args, body), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        parts: list[ast.expr] = [self.visit(value) for value in node.values]
        hook = AND_HOOK if isinstance(node.op, ast.And) else OR_HOOK
        return self._hook(node, hook, [parts[0], *(self._later(part) for part in parts[1:])])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand: ast.expr = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._hook(node, NOT_HOOK, [operand])
        return _at(ast.UnaryOp(node.op, operand), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Pow):
            return self._hook(node, POWER_HOOK, [self.visit(node.left), self.visit(node.right)])
        made = self.generic_visit(node)
        return self._new(made) if isinstance(node.left, (ast.List, ast.ListComp)) or isinstance(node.right, (ast.List, ast.ListComp)) else made

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._hook(node, IF_HOOK, [self.visit(node.test), self._later(self.visit(node.body)), self._later(self.visit(node.orelse))])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left: ast.expr = self.visit(node.left)
        rights: list[ast.expr] = [self.visit(part) for part in node.comparators]
        if len(rights) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = self._hook(node, IN_HOOK, [left, rights[0]])
            return found if isinstance(node.ops[0], ast.In) else self._hook(node, NOT_HOOK, [found])
        if len(rights) == 1:
            compared = type(node.ops[0]).__name__
            if compared in _SAME and (_of_several(node.left) or _of_several(node.comparators[0])):
                same = self._hook(node, SAME_HOOK, [left, rights[0]])
                return same if _SAME[compared] else self._hook(node, NOT_HOOK, [same])
            return _at(ast.Compare(left, node.ops, rights), node)
        names: list[ast.expr] = []
        for op in node.ops:
            name = _COMPARISONS.get(type(op).__name__)
            if name is None:
                self.refuse(node, "`in` or `is` within a chained comparison", "take it apart with `and`")
            names.append(_at(ast.Constant(name), node))
        return self._hook(node, CHAIN_HOOK, [_at(ast.Tuple(names, _LOAD), node), left, rights[0], *(self._later(part) for part in rights[1:])])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = reducer(node) if node.args else ""
        if name:
            return self._reduced(node, name)
        func: ast.expr = self.visit(node.func)
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        keywords = [_at(ast.keyword(k.arg, self.visit(k.value)), k.value) for k in node.keywords]
        name = reducer_of_elements(node) if node.args else ""
        if name:
            number = _at(ast.Constant(self.keep(function_of_elements(name, node))), node)
            return self._hook(node, ELEMENTS_HOOK, [func, number, *args], keywords)
        return self._hook(node, CALL_HOOK, [func, *args], keywords)

    def _reduced(self, node: ast.Call, name: str) -> ast.expr:
        """``sum(… for …)`` and its like: the loop it stands for, and the call as it is written, should the name mean something else."""
        around, self.reads = self.reads, set()
        comprehension: Any = node.args[0]
        generator: ast.expr = self.visit(comprehension)
        names = sorted(self.reads)
        around |= self.reads
        self.reads = around
        func: ast.expr = self.visit(node.func)
        given = beside(node)
        start = [self.visit(given)] if given is not None else []
        keywords = [_at(ast.keyword(k.arg, start[0]), k.value) for k in node.keywords]
        written = self._hook(node, CALL_HOOK, [func, generator, *([] if keywords else start)], keywords)
        bound = {part.id for g in comprehension.generators for part in ast.walk(g.target) if isinstance(part, ast.Name)}
        if bound & names_read(comprehension.generators[0].iter):
            return written
        number = _at(ast.Constant(self.keep(function_for(name, node, names))), node)
        return self._hook(node, REDUCE_HOOK, [func, number, self._later(written), *(_at(ast.Name(each, _LOAD), node) for each in names), *start])

    def _held(self, node: ast.expr) -> ast.expr:
        """An element of a display: a variable is copied, so that the display keeps its value."""
        made: ast.expr = self.visit(node)
        # (Of an operator, an operand may be what comes out, as of +z and z ** 1.)
        if isinstance(node, (ast.Name, ast.Call, ast.IfExp, ast.Subscript, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Attribute)):
            return self._hook(node, HOLD_HOOK, [made])
        return made

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        if isinstance(node.ctx, ast.Store):
            # The names that a comprehension binds.
            return node
        return _at(ast.Tuple([self._held(item) for item in node.elts], node.ctx), node)

    def _new(self, made: ast.expr) -> ast.expr:
        """A list or dictionary that is made here: staging knows what is older and what is not."""
        return self._hook(made, NEW_HOOK, [made])

    def visit_List(self, node: ast.List) -> ast.expr:
        if isinstance(node.ctx, ast.Store):
            return node
        return self._new(_at(ast.List([self._held(item) for item in node.elts], node.ctx), node))

    def visit_Set(self, node: ast.Set) -> ast.expr:
        return _at(ast.Set([self._held(item) for item in node.elts]), node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys = [self.visit(key) if key is not None else None for key in node.keys]
        return self._new(_at(ast.Dict(keys, [self._held(value) for value in node.values]), node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        index: ast.expr = self.index(node.slice) if isinstance(node.slice, ast.Tuple) else self.visit(node.slice)
        value: ast.expr = self.visit(node.value)
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Constant)):
            return self._hook(node, ITEM_HOOK, [value, index])
        made = _at(ast.Subscript(value, index, node.ctx), node)
        return self._new(made) if isinstance(node.slice, ast.Slice) else made

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._within(node.generators, lambda: self._new(_at(ast.ListComp(self._held(node.elt), self._parts(node.generators)), node)))

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._within(
            node.generators, lambda: self._new(_at(ast.DictComp(self.visit(node.key), self._held(node.value), self._parts(node.generators)), node))
        )

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._within(node.generators, lambda: _at(ast.SetComp(self._held(node.elt), self._parts(node.generators)), node))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._within(node.generators, lambda: _at(ast.GeneratorExp(self.visit(node.elt), self._parts(node.generators)), node))

    def _parts(self, generators: list[ast.comprehension]) -> list[ast.comprehension]:
        return [self.visit(generator) for generator in generators]

    def _within(self, generators: list[ast.comprehension], make: Callable[[], ast.expr]) -> ast.expr:
        """A comprehension: what it binds is its own, and is none of the names that are read around it."""
        around, self.reads = self.reads, set()
        made = make()
        self.reads -= {
            part.id for generator in generators for part in ast.walk(generator.target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        around |= self.reads | names_read(generators[0].iter)
        self.reads = around
        return made

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        value = self._hook(node.value, TEXT_HOOK, [self.visit(node.value)])
        return ast.copy_location(ast.FormattedValue(value, node.conversion, self.visit(node.format_spec) if node.format_spec is not None else None), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.refuse(node, "`:=`", "assign in a statement of its own, before")

    def visit_Await(self, node: ast.Await) -> ast.expr:
        self.refuse(node, "`await`", "a kernel runs from start to end")

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        self.refuse(node, "`yield`", "store results in an array")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        self.refuse(node, "`yield from`", "store results in an array")


def names_read(*nodes: ast.AST | None) -> set[str]:
    """Every name that is read in expressions."""
    found: set[str] = set()
    for node in nodes:
        if node is not None:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                    found.add(part.id)
    return found
