"""Plain loops in Python as the same loops in C, for the peers that compile C.

Only what such loops are made of: ``for … in range``, ``while``, ``break``, ``continue``, assignments to names and elements, ``if``, arithmetic, comparisons, and
a few functions. Types follow the arrays, as loopwright and NumPy 2 have it: numbers that are written down take the type of what they meet.
"""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

__all__ = ["c_source", "extents"]

_TYPES: Final = {"u8": "unsigned char", "i16": "short", "i32": "int", "i64": "long", "f32": "float", "f64": "double"}
_NUMPY: Final = {"uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}
_RANK: Final = {"u8": 0, "i16": 1, "i32": 2, "i64": 3, "f32": 4, "f64": 5}
_OPERATORS: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.And: "&&", ast.Or: "||", ast.FloorDiv: "/", ast.Mod: "%",
}  # fmt: skip
#: The type of a number that is written down.
_WEAK: Final = ""


def extents(arguments: list[Any]) -> list[int]:
    """The distinct extents of the arguments, which the C function takes behind its pointers, in this order."""
    found: list[int] = []
    for a in arguments:
        found += [extent for extent in a.shape if extent not in found]
    return found


def c_source(python: str, arguments: list[Any]) -> str:
    """The function ``nest`` in C, for arrays like these. Raises ``TypeError`` for what it does not know."""
    return _Writer(python, arguments).source


class _Writer:
    def __init__(self, python: str, arguments: list[Any]) -> None:
        (function,) = ast.parse(python).body
        assert isinstance(function, ast.FunctionDef)
        names = [a.arg for a in function.args.args]
        self.arrays = dict(zip(names, arguments, strict=True))
        self.elements = {name: _NUMPY[a.dtype.name] for name, a in self.arrays.items()}
        kinds = {a.dtype.name for a in arguments if a.dtype.kind == "f"}
        self.number = _NUMPY[kinds.pop()] if len(kinds) == 1 else "f64"
        self.dims = extents(arguments)
        self.variables: dict[str, str] = {}
        self.lines: list[str] = []
        self._statements(function.body, "  ")
        parameters = [f"{_TYPES[self.elements[name]]} *restrict {name}" for name in names] + [f"long d{k}" for k in range(len(self.dims))]
        declared = [f"  {_TYPES[type_ or 'i64']} {name};" for name, type_ in self.variables.items()]
        self.source = "\n".join(["#include <tgmath.h>", f"void nest({', '.join(parameters)}) {{", *declared, *self.lines, "}", ""])

    def _statements(self, body: list[ast.stmt], indent: str) -> None:
        for statement in body:
            self._statement(statement, indent)

    def _statement(self, s: ast.stmt, indent: str) -> None:
        if isinstance(s, ast.For):
            assert isinstance(s.target, ast.Name) and isinstance(s.iter, ast.Call)
            args = [self._value(a)[0] for a in s.iter.args]
            low, high = (args[0], args[1]) if len(args) > 1 else ("0", args[0])
            # (A step that is no number is above 0.)
            step = args[2] if len(args) > 2 else "1"
            i = s.target.id
            self.variables.pop(i, None)
            test = ">" if step.startswith("(-") else "<"
            self.lines.append(f"{indent}for (long {i} = {low}; {i} {test} {high}; {i} += {step}) {{")
            known = self.variables
            self.variables = _Scope(known, i)
            self._statements(s.body, indent + "  ")
            self.variables = known
            self.lines.append(indent + "}")
        elif isinstance(s, ast.While):
            self.lines.append(f"{indent}while ({self._value(s.test)[0]}) {{")
            self._statements(s.body, indent + "  ")
            self.lines.append(indent + "}")
        elif isinstance(s, ast.Break | ast.Continue):
            self.lines.append(indent + ("break;" if isinstance(s, ast.Break) else "continue;"))
        elif isinstance(s, ast.If):
            self.lines.append(f"{indent}if ({self._value(s.test)[0]}) {{")
            self._statements(s.body, indent + "  ")
            if s.orelse:
                self.lines.append(indent + "} else {")
                self._statements(s.orelse, indent + "  ")
            self.lines.append(indent + "}")
        elif isinstance(s, ast.Assign):
            value, type_ = self._value(s.value)
            (target,) = s.targets
            if isinstance(target, ast.Name) and target.id not in self.variables:
                self.variables[target.id] = type_
            self.lines.append(f"{indent}{self._value(target)[0]} = {value};")
        elif isinstance(s, ast.AugAssign):
            self.lines.append(f"{indent}{self._value(s.target)[0]} {_OPERATORS[type(s.op)]}= {self._value(s.value)[0]};")
        else:
            raise TypeError(ast.unparse(s))

    def _value(self, e: ast.expr) -> tuple[str, str]:
        """An expression, and its type."""
        if isinstance(e, ast.Constant):
            return repr(e.value), _WEAK
        if isinstance(e, ast.Name):
            return e.id, self.variables[e.id]
        if isinstance(e, ast.BinOp):
            a, b = self._value(e.left), self._value(e.right)
            return f"({a[0]} {_OPERATORS[type(e.op)]} {b[0]})", _wider(a[1], b[1])
        if isinstance(e, ast.UnaryOp):
            value, type_ = self._value(e.operand)
            return ("!" + value, "i32") if isinstance(e.op, ast.Not) else (f"({'~' if isinstance(e.op, ast.Invert) else '-'}{value})", type_)
        if isinstance(e, ast.Compare):
            a, b = self._value(e.left)[0], self._value(e.comparators[0])[0]
            return f"({a} {_OPERATORS[type(e.ops[0])]} {b})", "i32"
        if isinstance(e, ast.BoolOp):
            return "(" + f" {_OPERATORS[type(e.op)]} ".join(self._value(v)[0] for v in e.values) + ")", "i32"
        if isinstance(e, ast.IfExp):
            a, b = self._value(e.body), self._value(e.orelse)
            return f"({self._value(e.test)[0]} ? {a[0]} : {b[0]})", _wider(a[1], b[1])
        if isinstance(e, ast.Subscript):
            return self._element(e)
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
            return self._call(e.func.id, [self._value(a) for a in e.args])
        raise TypeError(ast.unparse(e))

    def _element(self, e: ast.Subscript) -> tuple[str, str]:
        if isinstance(e.value, ast.Attribute):
            assert isinstance(e.value.value, ast.Name) and isinstance(e.slice, ast.Constant)
            return f"d{self.dims.index(self.arrays[e.value.value.id].shape[e.slice.value])}", "i64"
        assert isinstance(e.value, ast.Name)
        name = e.value.id
        indices = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        place = ""
        for index, extent in zip(indices, self.arrays[name].shape, strict=True):
            written = self._value(index)[0]
            place = f"({place}) * d{self.dims.index(extent)} + {written}" if place else written
        return f"{name}[{place}]", self.elements[name]

    def _call(self, name: str, args: list[tuple[str, str]]) -> tuple[str, str]:
        if name == "T":
            suffix = "f" if self.number == "f32" else ""
            return f"{float(args[0][0].strip('()')) if args[0][1] == _WEAK else args[0][0]}{suffix if args[0][1] == _WEAK else ''}", self.number
        if name in _TYPES:
            return f"(({_TYPES[name]}){args[0][0]})", name
        if name in ("least", "most"):
            a, b = args
            return f"({a[0]} {'<' if name == 'least' else '>'} {b[0]} ? {a[0]} : {b[0]})", _wider(a[1], b[1])
        if name == "abs" and args[0][1] not in ("f32", "f64"):
            return f"({args[0][0]} < 0 ? -{args[0][0]} : {args[0][0]})", args[0][1]
        if name in ("sqrt", "abs"):
            return f"{'fabs' if name == 'abs' else name}({args[0][0]})", args[0][1]
        raise TypeError(name)


class _Scope(dict[str, str]):
    """Variables with the index of a loop, which is declared where it is used."""

    def __init__(self, known: dict[str, str], index: str) -> None:
        super().__init__()
        self.known = known
        self.index = index

    def __contains__(self, name: object) -> bool:
        return name == self.index or name in self.known

    def __getitem__(self, name: str) -> str:
        return "i64" if name == self.index else self.known[name]

    def __setitem__(self, name: str, type_: str) -> None:
        self.known[name] = type_

    def pop(self, name: str, *default: Any) -> Any:
        return self.known.pop(name, *default)


def _wider(a: str, b: str) -> str:
    if not a or not b:
        return a or b
    if np.result_type(*(next(n for n, t in _NUMPY.items() if t == x) for x in (a, b))).name in _NUMPY:
        return _NUMPY[np.result_type(*(next(n for n, t in _NUMPY.items() if t == x) for x in (a, b))).name]
    return a if _RANK[a] > _RANK[b] else b
