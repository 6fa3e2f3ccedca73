"""``:=`` in conditions, as the assignments in front that it stands for."""

from __future__ import annotations

import ast

__all__ = ["without_named"]


def without_named(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without ``:=`` in the conditions of ``if`` and ``while``, but inside of others."""
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If) and _assigns(node.test):
            out += _if(node)
        elif isinstance(node, ast.While) and _assigns(node.test):
            out.append(_while(node))
        else:
            out.append(node)
    return out


def _assigns(node: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def _if(node: ast.If) -> list[ast.stmt]:
    """Assignments in front of the ``if``; behind ``and`` in one inside."""
    test, body = node.test, node.body
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not node.orelse and any(_assigns(value) for value in test.values[1:]):
        for value in reversed(test.values[1:]):
            body = [ast.copy_location(ast.If(value, body, []), value)]
        test = test.values[0]
    before: list[ast.stmt] = []
    test = _taken_out(test, before)
    return [*before, ast.copy_location(ast.If(test, body, node.orelse), node)]


def _while(node: ast.While) -> ast.stmt:
    """A loop without an end, which is left where a condition does not hold."""
    test = node.test
    body: list[ast.stmt] = []
    for value in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
        condition = _taken_out(value, body)
        left = ast.copy_location(ast.UnaryOp(ast.Not(), condition), value)
        body.append(ast.copy_location(ast.If(left, [ast.copy_location(ast.Break(), value)], []), value))
    return ast.copy_location(ast.While(ast.copy_location(ast.Constant(True), test), body + node.body, []), node)


def _taken_out(node: ast.expr, before: list[ast.stmt]) -> ast.expr:
    """A condition without what it assigns first, which goes in front of it; what it assigns under a condition, or behind something else that is computed, stays (and is refused)."""
    if isinstance(node, ast.NamedExpr):
        target = ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)
        before.append(ast.copy_location(ast.Assign([target], _taken_out(node.value, before)), node))
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
    if isinstance(node, ast.UnaryOp):
        return ast.copy_location(ast.UnaryOp(node.op, _taken_out(node.operand, before)), node)
    if isinstance(node, ast.BoolOp):
        return ast.copy_location(ast.BoolOp(node.op, [_taken_out(node.values[0], before), *node.values[1:]]), node)
    if isinstance(node, ast.BinOp):
        left, right = _in_turn([node.left, node.right], before)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)
    if isinstance(node, ast.Compare):
        left, right = _in_turn([node.left, node.comparators[0]], before)
        return ast.copy_location(ast.Compare(left, node.ops, [right, *node.comparators[1:]]), node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return ast.copy_location(ast.Call(node.func, _in_turn(node.args, before), []), node)
    return node


def _in_turn(nodes: list[ast.expr], before: list[ast.stmt]) -> list[ast.expr]:
    """The same of what is computed one after the other: up to the first that is more than a number or a name."""
    made: list[ast.expr] = []
    names: set[str] = set()
    for position, node in enumerate(nodes):
        if names & {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)}:
            return made + nodes[position:]
        new = _taken_out(node, before)
        made.append(new)
        if isinstance(new, ast.Name):
            names.add(new.id)
        elif not isinstance(new, ast.Constant):
            return made + nodes[position + 1 :]
    return made
