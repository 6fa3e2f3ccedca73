"""Where paths meet: the value of a name that differs between them becomes a variable, written at the end of each path."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.frontend.complex_numbers import PARTS, Complex, as_pair, is_complex
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Unavailable, Value, Weak, describe, is_number
from loopwright.frontend.flow import RESULT
from loopwright.frontend.promotion import wider
from loopwright.frontend.staging import NOT_EVERYWHERE, Staging
from loopwright.frontend.state import ENDED, FALLS, Edge, LoopState
from loopwright.ir.function import Instr
from loopwright.types import BOOL, Type

__all__ = ["CONTAINERS", "JOINED", "MISSING", "at_end", "indices", "item_of", "join", "leaving", "merge", "rebuilt", "same"]


class _Missing:
    def __repr__(self) -> str:
        return "<not assigned>"


#: Stands for a name that a path has not assigned.
MISSING: Final = _Missing()


#: The types whose items are merged one by one.
CONTAINERS: Final = (tuple, list, dict)
#: The same, and complex numbers, whose parts are.
JOINED: Final = (*CONTAINERS, Complex)


class _Frozen:
    """A list or dictionary, with what it held on a path."""

    __slots__ = ("container", "items")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.items = [_freeze(item) for item in (container.values() if type(container) is dict else container)]


def _freeze(value: Any) -> Any:
    """The value, with what the lists and dictionaries in it hold now."""
    kind = type(value)
    if kind is list or kind is dict:
        return _Frozen(value)
    if kind is tuple and any(type(item) in JOINED for item in value):
        return tuple([_freeze(item) for item in value])
    if kind is Complex:
        return Complex(value.emitter, _freeze(value.real), _freeze(value.imag))
    if kind is Value or kind is Weak:
        # One of its own: what a list holds may be made to stand for what has been read of it.
        return value.twin()
    return value


def _thaw(s: Staging, value: Any) -> Any:
    """What was frozen: the list itself if it holds the same still, else another."""
    if type(value) is tuple:
        return tuple([_thaw(s, item) for item in value])
    if type(value) is not _Frozen:
        return value
    container = value.container
    items = [_thaw(s, item) for item in value.items]
    now = list(container.values()) if type(container) is dict else container
    if len(items) == len(now) and all(same(a, b) for a, b in zip(items, now, strict=True)):
        return container
    made = s.new(items if type(container) is list else dict(zip(container, items, strict=False)))
    s.merged.append((made, [container]))
    return made


def indices(value: Any) -> list[Any]:
    """The indices of a tuple or list, the keys of a dictionary, the names of a complex number's parts."""
    if type(value) is Complex:
        return list(PARTS)
    return list(value) if type(value) is dict else list(range(len(value)))


def item_of(value: Any, index: Any) -> Any:
    """What one of the ``indices`` leads to."""
    return value.part(index) if type(value) is Complex else value[index]


def rebuilt(s: Staging, like: Any, items: list[Any]) -> Any:
    """A new tuple, list or dictionary with the indices of another."""
    if type(like) is tuple:
        return tuple(items)
    if type(like) is Complex:
        return Complex(s.emitter, *items)
    return s.new(items if type(like) is list else dict(zip(like, items, strict=True)))


def same(a: Any, b: Any) -> bool:
    """Whether two values are known to be the same without looking at run-time values."""
    if a is b:
        return True
    if isinstance(a, Value):
        return isinstance(b, Value) and a.operand == b.operand and type(a) is type(b) and type(a) is not Unavailable
    if is_number(a):
        return type(a) is type(b) and repr(a) == repr(b)
    if isinstance(a, np.generic):
        return type(a) is type(b) and a.tobytes() == b.tobytes()
    if type(a) is tuple:
        return type(b) is tuple and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is Complex:
        return type(b) is Complex and same(a.real, b.real) and same(a.imag, b.imag)
    return type(a) is complex and type(b) is complex and repr(a) == repr(b)


def leaving(s: Staging, names: set[str], anchor: Instr) -> Edge:
    """A path that leaves the code before its end: what lists hold on it is remembered, for it may change behind it."""
    values = s.values_of(names)
    for name, value in values.items():
        if type(value) in JOINED:
            values[name] = _freeze(value)
            s.frozen = True
    return Edge(values, dict(s.act.lines), anchor)


def at_end(s: Staging, loop: LoopState) -> Edge:
    """The way out of a loop at its end, other than by ``break``. Of a name that its ``else`` gives a value first, any number will do."""
    assert loop.exit is not None
    values = s.values_of(loop.exit_names)
    for name in loop.stmt.otherwise & loop.exit_names:
        if name not in values and loop.exits and all(name in edge.values for edge in loop.exits):
            like = loop.exits[0].values[name]
            if isinstance(like, Value) or is_number(like):
                boolean = like.type is BOOL if isinstance(like, Value) else type(like) is bool
                values[name] = False if boolean else 0.0 if type(like) is float else 0
    return Edge(values, dict(s.act.lines), loop.exit)


def merge(s: Staging, edges: list[Edge], names: set[str], writes: set[str]) -> int:
    """Paths meet: bind each name to its one value, or to a variable written on each path."""
    if not edges:
        return ENDED
    act = s.act
    if s.frozen:
        for edge in edges:
            edge.values = {name: _thaw(s, value) for name, value in edge.values.items()}
    if len(edges) == 1:
        s.restore(names, edges[0].values)
    else:
        for name in sorted(names):
            first = edges[0].values.get(name, MISSING)
            absent = first is MISSING
            equal = True
            for edge in edges:
                other = edge.values.get(name, MISSING)
                absent = absent or other is MISSING
                equal = equal and same(first, other)
            if absent:
                s.lose(name, f"`{name}` {NOT_EVERYWHERE}")
            elif equal:
                act.env[name] = first
            else:
                act.env[name] = join(s, name, edges)
    for name in writes:
        if name not in names and name not in act.sticky:
            act.env.pop(name, None)
    return FALLS


def _spoken(name: str) -> str:
    """A name in a message; those with a dollar sign stand for what has none."""
    return f"`{name}`" if name[0] != "$" else "the result" if name == RESULT else name[1:]


def _kind(emitter: Emitter, name: str, values: list[Any], lines: list[int]) -> tuple[Type | None, bool, str]:
    """What the values have in common: (type, any of open type, why they cannot meet)."""
    element: Type | None = None
    where = 0
    weak = False
    number = False
    for value, line in zip(values, lines, strict=True):
        if is_number(value):
            number = number or type(value) is not bool
            continue
        if isinstance(value, np.generic):
            value = emitter.wrap(value)
        if not isinstance(value, Value):
            return None, False, f"{_spoken(name)} is a Python value ({type(value).__name__}) that differs between paths taken at run time; only numbers can"
        if isinstance(value, Unavailable):
            return None, False, value.reason
        found = value.type
        if isinstance(value, Weak) and value.open:
            weak = True
            continue
        if element is None:
            element, where = found, line
        elif element is not found:
            met = wider(element, found)
            if met is not None:
                element = met
                continue
            return (
                None,
                False,
                f"{_spoken(name)} is {element} on one path (line {where}) and {found} on another (line {line}): convert one of them, as in lw.{element}(…)",
            )
    if element is BOOL and (number or weak):
        return None, False, f"{_spoken(name)} is a condition on one path (line {where}) and a number on another"
    return element, weak, ""


def join(s: Staging, name: str, edges: list[Edge]) -> Any:
    """One value for a name whose values differ between run-time paths."""
    emitter = s.emitter
    values = [edge.values[name] for edge in edges]
    if any(is_complex(value) for value in values):
        values = [as_pair(emitter, value) for value in values]
    if type(values[0]) in JOINED:
        return _join_items(s, name, edges, values)
    element, weak, problem = _kind(emitter, name, values, [edge.lines.get(name, 0) for edge in edges])
    if problem:
        return Unavailable(emitter, problem)
    f = emitter.f
    if element is None:
        if not weak and all(type(v) is bool for v in values):
            element = BOOL
        else:
            return _join_open(emitter, name, edges, values)
    register = f.register(element, "" if name[0] == "$" else name, True)
    for edge, value in zip(edges, values, strict=True):
        if isinstance(value, Weak) and value.open:
            emitter.settle(value, element)
        since = len(emitter.code)
        if not is_number(value):
            wrapped = emitter.wrap(value)
            assert wrapped is not None
            value = wrapped
        emitter.copy_to(register, element, emitter.operand(value, element))
        emitter.insert_before(edge.anchor, since)
    return Value(emitter, register, element)


def _join_open(emitter: Emitter, name: str, edges: list[Edge], values: list[Any]) -> Any:
    """As ``join``, of Python numbers and values whose type is open."""
    floating = any(type(v) is float for v in values)
    made = emitter.weak_variable(floating, "" if name[0] == "$" else name)
    for value in values:
        if isinstance(value, Weak):
            emitter.unite(made, value)
    for edge, value in zip(edges, values, strict=True):
        since = len(emitter.code)
        emitter.weak_copy(made, value)
        emitter.insert_before(edge.anchor, since)
    return made


def _shape(name: str, values: list[Any]) -> str:
    """Why containers do not meet, or ""."""
    first = values[0]
    kind = type(first).__name__
    for other in values:
        if type(other) is not type(first):
            return f"{_spoken(name)} is a {kind} on one path and {describe(other)} on another: only numbers, and the items of tuples and lists, can differ between paths taken at run time"
        if type(first) is not Complex and indices(other) != indices(first):
            return (
                f"{_spoken(name)} is a {kind} of {len(first)} on one path and of {len(other)} on another: its items can differ between paths taken at run time, "
                "but not how many there are"
            )
    return ""


def _made(s: Staging, values: list[Any], items: list[Any]) -> Any:
    """The tuple, list or dictionary in which several have met."""
    made = rebuilt(s, values[0], items)
    if type(made) in (list, dict):
        s.merged.append((made, values))
    return made


def _join_items(s: Staging, name: str, edges: list[Edge], values: list[Any]) -> Any:
    """As ``join``, of tuples, lists and dictionaries: item by item."""
    problem = _shape(name, values)
    if problem:
        return Unavailable(s.emitter, problem)
    items: list[Any] = []
    for index in indices(values[0]):
        parts = [item_of(value, index) for value in values]
        if all(same(parts[0], part) for part in parts):
            items.append(parts[0])
            continue
        item = f"{name}.{index}" if type(values[0]) is Complex else f"{name}[{index!r}]"
        items.append(join(s, item, [Edge({item: part}, {item: edge.lines.get(name, 0)}, edge.anchor) for part, edge in zip(parts, edges, strict=True)]))
    return _made(s, values, items)
