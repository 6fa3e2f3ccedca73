"""``sum(x[i] for i in range(n))`` and its like as the loop it stands for, in a function of its own that is staged in place of the call.

So a generator may go over whatever a ``for`` may go over, at run time too, and have conditions of run time. Python's own ``sum`` would have to go through it while compiling.
"""

from __future__ import annotations

import ast
from typing import Final

__all__ = ["GREATER", "LESS", "NOTHING", "SOME", "beside", "function_for", "function_of_elements", "reducer", "reducer_of_elements"]

#: The names of what gives the less and the greater one of two, of which the first may be nothing.
LESS: Final = "__lw_less__"
GREATER: Final = "__lw_greater__"
#: And of nothing, and what gives a value that is not nothing.
NOTHING: Final = "__lw_nothing__"
SOME: Final = "__lw_some__"

#: By function: what may be given besides, by name, and whether by position too.
_BESIDE: Final = {"sum": ("start", True), "prod": ("start", False), "min": ("default", False), "max": ("default", False)}

#: By function: what is done before the loop, with each value, and behind the loop.
_LOOPS: Final = {
    "sum": ("result = 0", "result = result + VALUE", "return result"),
    "prod": ("result = 1", "result = result * VALUE", "return result"),
    "min": (f"result = {NOTHING}", f"result = {LESS}(result, VALUE)", f"return {SOME}(result)"),
    "max": (f"result = {NOTHING}", f"result = {GREATER}(result, VALUE)", f"return {SOME}(result)"),
    "any": ("", "if VALUE:\n    return True", "return False"),
    "all": ("", "if not VALUE:\n    return False", "return True"),
}
#: The same where something is given besides.
_LOOPS_BESIDE: Final = {
    "sum": ("result = start", "result = result + VALUE", "return result"),
    "prod": ("result = start", "result = result * VALUE", "return result"),
    "min": ("result = default\nfound = False", "value = VALUE\nif not found or value < result:\n    result = value\nfound = True", "return result"),
    "max": ("result = default\nfound = False", "value = VALUE\nif not found or value > result:\n    result = value\nfound = True", "return result"),
}
#: The same of a list, all of whose elements are computed.
_LOOPS_OF_LISTS: Final = {
    "any": ("result = False", "if VALUE:\n    result = True", "return result"),
    "all": ("result = True", "if not VALUE:\n    result = False", "return result"),
}
#: The same of an array, whose least element is sought from the first one on: of none there is none.
_LOOPS_OF_ARRAYS: Final = {
    "min": ("result = ALL[0]", f"result = {LESS}(result, VALUE)", "return result"),
    "max": ("result = ALL[0]", f"result = {GREATER}(result, VALUE)", "return result"),
}
#: What the function that goes through an array calls it, and an element.
_ALL: Final = "values"
_EACH: Final = "value_"


def reducer(node: ast.Call) -> str:
    """The name of the function if a call is one of ``sum`` and its like of a generator or comprehension; otherwise nothing."""
    func = node.func
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    if name not in _LOOPS or not node.args or not isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
        return ""
    if any(part.is_async for part in node.args[0].generators):
        return ""
    return name if _well_given(node, name) else ""


def reducer_of_elements(node: ast.Call) -> str:
    """The same of a call that is given one thing to go through, which may turn out to be an array."""
    func = node.func
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    if name not in _LOOPS or not node.args or any(isinstance(arg, ast.Starred) for arg in node.args):
        return ""
    return name if _well_given(node, name) else ""


def _well_given(node: ast.Call, name: str) -> bool:
    """Whether a call is given nothing besides but what the function takes."""
    given, by_position = _BESIDE.get(name, ("", False))
    positions = len(node.args) - 1
    return positions <= by_position and all(keyword.arg == given for keyword in node.keywords) and positions + len(node.keywords) <= 1


def beside(node: ast.Call) -> ast.expr | None:
    """What is given besides: where a sum starts, what the least of nothing is."""
    return node.args[1] if len(node.args) > 1 else node.keywords[0].value if node.keywords else None


class _Placed(ast.NodeTransformer):
    """The nodes of a text as if they stood where the call does, their names none that the user has, and the value in its place."""

    def __init__(self, place: ast.expr, value: ast.expr, taken: set[str]) -> None:
        self.place = place
        self.value = value
        self.taken = taken

    def free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "VALUE":
            return self.value
        if node.id == "ALL":
            return ast.copy_location(ast.Name(_ALL, node.ctx), self.place)
        return ast.copy_location(ast.Name(self.free(node.id), node.ctx), self.place)

    def statements(self, text: str) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for stmt in ast.parse(text).body:
            for part in ast.walk(stmt):
                ast.copy_location(part, self.place)
            made.append(self.visit(stmt))
        return made


def function_of_elements(name: str, node: ast.Call) -> ast.FunctionDef:
    """The function that goes through an array; its parameters are the array, and what is given besides."""
    each = ast.comprehension(ast.Name(_EACH, ast.Store()), ast.Name(_ALL, ast.Load()), [], 0)
    generator = ast.GeneratorExp(ast.Name(_EACH, ast.Load()), [each])
    made = ast.Call(node.func, [generator, *node.args[1:]], node.keywords)
    for part in (made, generator, *ast.walk(generator)):
        ast.copy_location(part, node)
    return function_for(name, made, [_ALL], True)


def function_for(name: str, node: ast.Call, names: list[str], array: bool = False) -> ast.FunctionDef:
    """The function that goes through what a call is given.

    Args:
        name: of the function that is called.
        node: the call.
        names: what the comprehension reads of the names around it. They are the parameters; behind them comes what is given besides.
        array: it goes through an array.
    """
    comprehension = node.args[0]
    assert isinstance(comprehension, (ast.GeneratorExp, ast.ListComp))
    taken = {part.id for part in ast.walk(comprehension) if isinstance(part, ast.Name)}.union(names)
    placed = _Placed(node, comprehension.elt, taken)
    loops = _LOOPS
    params = [*names]
    if beside(node) is not None:
        loops = _LOOPS_BESIDE
        params.append(placed.free(_BESIDE[name][0]))
    elif isinstance(comprehension, ast.ListComp) and name in _LOOPS_OF_LISTS:
        loops = _LOOPS_OF_LISTS
    elif array and name in _LOOPS_OF_ARRAYS:
        loops = _LOOPS_OF_ARRAYS
    before, inside, behind = loops[name]
    body = placed.statements(inside)
    for part in reversed(comprehension.generators):
        for test in reversed(part.ifs):
            body = [ast.copy_location(ast.If(test, body, []), test)]
        body = [ast.copy_location(ast.For(part.target, part.iter, body, []), part.iter)]
    args = ast.arguments([], [ast.arg(param) for param in params], None, [], [], None, [])
    return ast.copy_location(ast.FunctionDef(name, args, [*placed.statements(before), *body, *placed.statements(behind)], []), node)
