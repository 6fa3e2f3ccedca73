"""The elements of lists and dictionaries that are variables, and the names by which lists are known."""

from __future__ import annotations

from typing import Any

from loopwright.frontend.expr import Value
from loopwright.frontend.merging import CONTAINERS, JOINED, indices, item_of
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import Construct, LoopState, Sticky, Summed

__all__ = ["Slot", "activate", "carries", "drop_values", "element", "hold", "label", "named", "replaces", "within"]

Container = list[Any] | dict[Any, Any]

#: How deep lists in lists are looked into.
DEPTH = 8


class Slot(Sticky):
    """An element of a list or dictionary that is a variable.

    Attributes:
        container, index: where it is.
    """

    __slots__ = ("container", "index")

    def __init__(self, name: str, value: Any, construct: Construct, key: tuple[Any, ...], line: int, container: Container, index: Any) -> None:
        super().__init__(name, value, key, line, True)
        self.container = container
        self.index = index


def element(s: Staging, container: Any, index: Any) -> Slot | Summed | None:
    """What an element of a list or dictionary is while it is a variable."""
    cells = s.cells.get(id(container))
    if not cells:
        return None
    if type(index) is int and index < 0 and type(container) is list:
        index += len(container)
    return cells.get(index) if type(index) is not slice else None


def hold(s: Staging, slot: Slot, construct: Construct) -> Slot:
    slot.container[slot.index] = slot.value
    activate(s, slot.value)
    s.cells.setdefault(id(slot.container), {})[slot.index] = slot
    if construct.slots is None:
        construct.slots = []
    construct.slots.append(slot)
    return slot


def activate(s: Staging, variable: Any) -> None:
    """A variable, or what holds variables, may be written from here on."""
    if isinstance(variable, Value):
        s.emitter.active.add(variable.operand)
    elif type(variable) in JOINED:
        for index in indices(variable):
            activate(s, item_of(variable, index))


def drop_values(s: Staging, variable: Any) -> None:
    """A variable, or what holds variables, is not written any more."""
    if isinstance(variable, Value):
        s.emitter.active.discard(variable.operand)
    elif type(variable) in JOINED:
        for index in indices(variable):
            drop_values(s, item_of(variable, index))


# --- the names of lists ---------------------------------------------------------------------------------------------


def label(s: Staging, container: Any) -> str:
    """The name by which a container is known."""
    act = s.act
    while True:
        for name, value in act.env.items():
            if value is container and not name.startswith("__"):
                return name
        for name, value in act.env.items():
            path = within(value, container, 0)
            if path is not None:
                return name + "".join(f"[{index!r}]" for index in path)
        if act.caller is None:
            return "this"
        act = act.caller[0]


def named(s: Staging, container: Any, but: set[str]) -> bool:
    """Whether a name (but some of this call) stands for a container, or for one that holds it."""
    act = s.act
    while True:
        for name, value in act.env.items():
            if (act is not s.act or name not in but) and within(value, container, 0) is not None:
                return True
        if act.caller is None:
            return False
        act = act.caller[0]


def within(value: Any, container: Any, depth: int) -> tuple[Any, ...] | None:
    """The indices by which one container is reached from another."""
    if value is container:
        return ()
    kind = type(value)
    if kind in CONTAINERS and depth < DEPTH:
        for index, item in value.items() if kind is dict else enumerate(value):
            if type(item) in CONTAINERS:
                found = within(item, container, depth + 1)
                if found is not None:
                    return (index, *found)
    return None


# --- lists that names of a loop stand for ---------------------------------------------------------------------------


def carries(s: Staging, loop: LoopState, sticky: Sticky, old: Any) -> None:
    """A loop carries a name that stands for a list: the list of its variables may change by stores too."""

    def visit(variable: Any, before: Any, name: str) -> None:
        kind = type(variable)
        if kind not in CONTAINERS:
            return
        for index in variable if kind is dict else range(len(variable)):
            item = f"{name}[{index!r}]"
            if kind is not tuple and type(variable[index]) not in JOINED:
                hold(s, Slot(item, variable[index], loop, sticky.key, sticky.line, variable, index), loop)
            visit(variable[index], before[index], item)
        if kind is not tuple:
            s.merged.append((variable, [before]))

    visit(sticky.value, old, sticky.name)


def replaces(s: Staging, name: str, variable: Any, value: Any) -> None:
    """A name that a loop carries is bound to another list: what it holds is copied, so no other name may stand for the one it was."""
    if named(s, variable, {name}):
        s.emitter.fail(
            f"`{name}` becomes another {type(value).__name__} here, in a loop that runs at run time, while another name stands for the one it was: "
            f"change its elements, as in {name}[:] = …, or give the other name a copy"
        )
    s.merged.append((variable, [value]))
