"""``else`` after a loop as what it stands for: a variable that says whether the loop came to its end, and an ``if`` behind it."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["OTHERWISE", "without_else"]

#: The attribute of a loop's node with the names that its ``else`` assigns first: what they are where the loop ends is of no account.
OTHERWISE = "otherwise"


def without_else(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without an ``else`` after a loop, but inside of others."""
    if not any(isinstance(node, (ast.For, ast.While)) and node.orelse for node in body):
        return body
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            out += _apart(node)
        else:
            out.append(node)
    return out


def _apart(node: ast.For | ast.While) -> list[ast.stmt]:
    name = f"$ended{node.lineno}_{node.col_offset}"
    body, leaves = _marked(node.body, name)
    if not leaves:
        return [_with(node, orelse=[]), *node.orelse]
    test = ast.copy_location(ast.Name(name, ast.Load()), node.orelse[0])
    loop = _with(node, body=body, orelse=[])
    setattr(loop, OTHERWISE, _assigned_first(node.orelse))
    return [_set(name, True, node), loop, ast.copy_location(ast.If(test, node.orelse, []), node.orelse[0])]


def _assigned_first(body: list[ast.stmt]) -> set[str]:
    """Names that statements assign before they could read them."""
    read: set[str] = set()
    found: set[str] = set()
    for node in body:
        read |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)} - found
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.add(node.target.id)
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)} - read
    return found


def _set(name: str, value: bool, place: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
    return ast.fix_missing_locations(ast.copy_location(made, place))


def _with(node: Any, **changed: Any) -> Any:
    """A node with some of its parts changed."""
    return ast.copy_location(type(node)(**{name: changed.get(name, getattr(node, name, None)) for name in node._fields}), node)


def _marked(body: list[ast.stmt], name: str) -> tuple[list[ast.stmt], bool]:
    """Statements whose breaks of the loop around them say so first, and whether there are any."""
    out: list[ast.stmt] = []
    found = False
    for node in body:
        if isinstance(node, ast.Break):
            out.append(_set(name, False, node))
            found = True
        elif isinstance(node, ast.Match):
            cases = []
            for case in node.cases:
                inside, leaves = _marked(case.body, name)
                found |= leaves
                cases.append(ast.match_case(case.pattern, case.guard, inside))
            node = _with(node, cases=cases)
        elif isinstance(node, (ast.If, ast.For, ast.While)):
            # (A loop's own breaks are its own; those behind its `else` are of the loop around.)
            own, here = _marked(node.body, name) if isinstance(node, ast.If) else (node.body, False)
            behind, there = _marked(node.orelse, name)
            found |= here or there
            if here or there:
                node = _with(node, body=own, orelse=behind)
        out.append(node)
    return out, found
