"""What occurs in random kernels: kinds of statements, and operations by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.random_kernels.kinds import FLOATS, INTEGERS, KINDS, WIDTH
from tests.random_kernels.tree import BOOL, Program, expressions, statements

__all__ = ["count", "expected", "table"]

#: In a loop over lanes, or not.
LANES, SCALAR = "lanes", "scalar"

_EVERY = ("+", "-", "*", "unary -", "unary +", "abs", "min", "max", "select", "conditional", "call", "load", "name", "number", "constant", "look up", "**")
_WHOLE = ("//", "%", "&", "|", "^", "<<", ">>", "unary ~", "div_trunc", "rem_trunc")
_REAL = ("/", "sqrt", "floor", "ceil", "trunc", "round", "fma")
_CONDITIONS = (
    "and",
    "or",
    "not",
    "& of conditions",
    "| of conditions",
    "^ of conditions",
    "~ of a condition",
    "conditional",
    "select",
    "chained comparison",
    "call",
)
_STATEMENTS = {
    SCALAR: ("return", "carry an index", "carry an element", "rotate", "call", "function", "start a reduction"),
    LANES: (
        "for lanes",
        "if any",
        "if all",
        "gather",
        "scatter",
        "read backwards",
        "store backwards",
        "read apart",
        "store apart",
        "read a bit",
        "write a bit",
        "add up",
        "carry an index",
        "break",
    ),
}
_STATEMENTS_ANYWHERE = (
    *("assign", "assign another type", "assign on every path", "assign condition", "assign to two names", "assign a number", "start as a number", "swap"),
    *(
        "assign a tuple",
        "assign an index",
        "make a list",
        "make a tuple",
        "make a dict",
        "change a list",
        "store",
        "read after a store",
        "assign to a name and an element",
        "swap elements",
        "if",
        "if/else",
        "if/elif",
    ),
    *("if/elif/else", "for range", "for python", "while", "while True", "break", "continue", "count"),
)

Key = tuple[str, str, str]


def count(program: Program) -> Counter[Key]:
    """(where, "" or a type, what): how often."""
    found: Counter[Key] = Counter()
    for stmt in statements(program):
        where = LANES if stmt.lanes else SCALAR
        found[where, "", stmt.kind] += 1
        for clause in stmt.clauses:
            for e in expressions(clause.parts):
                found[where, e.kind, e.op] += 1
    return found


def expected() -> list[Key]:
    """All that must occur."""
    keys: list[Key] = []
    for where in (SCALAR, LANES):
        for kind in KINDS:
            ops = [*_EVERY, *(_WHOLE if kind in INTEGERS else _REAL), "convert bool", "convert index"]
            ops += [f"convert {other}" for other in KINDS if other != kind]
            ops += [f"bitcast {other}" for other in KINDS if other != kind and WIDTH[other] == WIDTH[kind]]
            ops += [f"store {other} to {kind}" for other in KINDS if other != kind and (other in INTEGERS or kind in FLOATS)]
            keys += [(where, kind, op) for op in ops]
            keys += [(where, BOOL, f"{sign} {kind}") for sign in ("<", "<=", ">", ">=", "==", "!=")]
        keys += [(where, "f64", "/ of integers"), *[(where, "f64", f"sqrt {kind}") for kind in INTEGERS]]
        keys += [(where, BOOL, op) for op in (*_CONDITIONS, "number as condition", "index comparison")]
        keys += [(where, "", what) for what in (*_STATEMENTS[where], *_STATEMENTS_ANYWHERE)]
        keys += [(where, "", f"augmented {op}=") for op in ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>")]
        keys += [(where, "", f"augmented element {op}=") for op in ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>")]
    keys += [(SCALAR, "u32", f"crc32c {data}") for data in ("u8", "u32", "u64")]
    keys += [(LANES, "", f"reduce {op} {kind}") for kind in INTEGERS for op in ("+", "*", "&", "|", "^", "min", "max")]
    keys += [(LANES, "", f"reduce {op} {kind}") for kind in FLOATS for op in ("+", "*", "min", "max", "fma")]
    return keys


def table(found: Counter[Key]) -> str:
    """The counts, to be read: statements first, then operations with a column for each type."""
    lines = ["statements                              scalar     lanes"]
    kinds = sorted({what for _, kind, what in found if not kind})
    lines += [f"{what:36} {found[SCALAR, '', what]:9} {found[LANES, '', what]:9}" for what in kinds]
    columns: Iterable[str] = (*KINDS, BOOL)
    for where in (SCALAR, LANES):
        lines += ["", f"{'operations, ' + where:22}" + "".join([f"{kind:>8}" for kind in columns])]
        for what in sorted({what for place, kind, what in found if place == where and kind in columns}):
            lines.append(f"{what:22}" + "".join([f"{found[where, kind, what] or '':>8}" for kind in columns]))
    return "\n".join(lines)
