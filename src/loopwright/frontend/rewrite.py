"""Rewriting expressions so that Python evaluates them over run-time values.

Python asks ``bool()`` of the operands of ``and``, ``or``, ``not``, chained comparisons and conditional expressions, which a
run-time value cannot answer; those, calls, and displays that keep values become calls of hooks, with the parts that may
not be evaluated as lambdas.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Final, NoReturn

from loopwright.errors import KernelSyntaxError

__all__ = ["AND_HOOK", "CALL_HOOK", "CHAIN_HOOK", "HOLD_HOOK", "IF_HOOK", "NOT_HOOK", "OR_HOOK", "Rewriter", "names_read"]

AND_HOOK: Final = "__lw_and__"
OR_HOOK: Final = "__lw_or__"
NOT_HOOK: Final = "__lw_not__"
IF_HOOK: Final = "__lw_if__"
CHAIN_HOOK: Final = "__lw_chain__"
CALL_HOOK: Final = "__lw_call__"
HOLD_HOOK: Final = "__lw_hold__"

_COMPARISONS: Final = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


class Rewriter(ast.NodeTransformer):
    """Rewrites the expressions of one function."""

    def __init__(self, file: str) -> None:
        self.file = file

    def compile(self, node: ast.expr) -> CodeType:
        """The code object of an expression."""
        made = ast.Expression(self.visit(node))
        ast.fix_missing_locations(made)
        return compile(made, self.file, "eval", dont_inherit=True)

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        raise KernelSyntaxError(f"{what} cannot stand in a kernel: {instead}", self.file, getattr(node, "lineno", 0))

    def _hook(self, node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.expr:
        call = ast.Call(ast.Name(name, ast.Load()), args, keywords or [])
        return ast.copy_location(call, node)

    def _later(self, node: ast.expr) -> ast.expr:
        """A lambda that evaluates an expression when asked."""
        empty = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
        return ast.copy_location(ast.Lambda(empty, node), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        parts: list[ast.expr] = [self.visit(value) for value in node.values]
        hook = AND_HOOK if isinstance(node.op, ast.And) else OR_HOOK
        return self._hook(node, hook, [parts[0], *(self._later(part) for part in parts[1:])])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand: ast.expr = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._hook(node, NOT_HOOK, [operand])
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._hook(node, IF_HOOK, [self.visit(node.test), self._later(self.visit(node.body)), self._later(self.visit(node.orelse))])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left: ast.expr = self.visit(node.left)
        rights: list[ast.expr] = [self.visit(part) for part in node.comparators]
        if len(rights) == 1:
            return ast.copy_location(ast.Compare(left, node.ops, rights), node)
        names: list[ast.expr] = []
        for op in node.ops:
            name = _COMPARISONS.get(type(op).__name__)
            if name is None:
                self.refuse(node, "`in` or `is` within a chained comparison", "take it apart with `and`")
            names.append(ast.copy_location(ast.Constant(name), node))
        return self._hook(
            node, CHAIN_HOOK, [ast.copy_location(ast.Tuple(names, ast.Load()), node), left, rights[0], *(self._later(part) for part in rights[1:])]
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func: ast.expr = self.visit(node.func)
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        keywords = [ast.copy_location(ast.keyword(k.arg, self.visit(k.value)), k.value) for k in node.keywords]
        return self._hook(node, CALL_HOOK, [func, *args], keywords)

    def _held(self, node: ast.expr) -> ast.expr:
        """An element of a display: a variable is copied, so that the display keeps its value."""
        made: ast.expr = self.visit(node)
        if isinstance(node, (ast.Name, ast.Call, ast.IfExp)):
            return self._hook(node, HOLD_HOOK, [made])
        return made

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.copy_location(ast.Tuple([self._held(item) for item in node.elts], node.ctx), node)

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.copy_location(ast.List([self._held(item) for item in node.elts], node.ctx), node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        return ast.copy_location(ast.Set([self._held(item) for item in node.elts]), node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys = [self.visit(key) if key is not None else None for key in node.keys]
        return ast.copy_location(ast.Dict(keys, [self._held(value) for value in node.values]), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # The tuple of an index is used at once: nothing of it is kept.
        index: ast.expr = (
            ast.copy_location(ast.Tuple([self.visit(item) for item in node.slice.elts], ast.Load()), node.slice)
            if isinstance(node.slice, ast.Tuple)
            else self.visit(node.slice)
        )
        return ast.copy_location(ast.Subscript(self.visit(node.value), index, node.ctx), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return ast.copy_location(ast.ListComp(self._held(node.elt), [self.visit(g) for g in node.generators]), node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return ast.copy_location(ast.SetComp(self._held(node.elt), [self.visit(g) for g in node.generators]), node)

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
