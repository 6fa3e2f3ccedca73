"""``match`` as the ``if`` and ``elif`` it stands for: patterns of numbers, names with a dot, alternatives of these, and ``_``, with or without an ``if`` behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NoReturn

__all__ = ["without_matches"]

Refuse = Callable[[ast.AST, str, str], NoReturn]


def without_matches(body: list[ast.stmt], refuse: Refuse) -> list[ast.stmt]:
    """Statements without a ``match``, but inside of others.

    Args:
        body: the statements.
        refuse: called with a pattern that is none of numbers, what it is, and what to write instead.
    """
    if not any(isinstance(node, ast.Match) for node in body):
        return body
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Match):
            out += _chain(node, refuse)
        else:
            out.append(node)
    return out


def _chain(node: ast.Match, refuse: Refuse) -> list[ast.stmt]:
    """The value that is asked about, unless it is a name or a number already, and the chain of tests."""
    subject = node.subject
    out: list[ast.stmt] = []
    if not isinstance(subject, (ast.Name, ast.Constant)):
        name = f"$match{node.lineno}"
        out.append(ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), subject)], subject), node))
        subject = ast.copy_location(ast.Name(name, ast.Load()), subject)
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        test = _test(subject, case.pattern, refuse)
        if case.guard is not None:
            test = case.guard if test is None else ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.pattern)
        rest = case.body if test is None else [ast.copy_location(ast.If(test, case.body, rest), test)]
    return out + rest


def _test(subject: ast.expr, pattern: ast.pattern, refuse: Refuse) -> ast.expr | None:
    """Whether a value is what a pattern says; None for one that anything is."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
        return None
    if isinstance(pattern, ast.MatchValue):
        return ast.copy_location(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(subject, each, refuse) for each in pattern.patterns]
        known = [test for test in tests if test is not None]
        return ast.copy_location(ast.BoolOp(ast.Or(), known), pattern) if len(known) == len(tests) else None
    refuse(pattern, "a pattern that is no number", "use numbers, names with a dot, `|` between them, and `_`")
