"""Lists and dictionaries that change under run-time control flow: their elements become variables, one by one.

A list is an object of Python's that exists while the kernel is staged, so aliases, inner functions and helpers all see the same one. What is stored to it
outside of run-time control flow is simply put into it. Under a condition of run time an element is made a variable, which begins before the condition, and
the list then holds the variable. In a loop the variable must be there from the first step on, also for what reads the element before the store: the loop
notes which elements it changes, and the kernel is staged again. In a lanes loop such an element is a reduction.

What matters is only what is older than the condition or loop: a list that is made in a loop's body is another one in each step. A name that may stand for one
list or another, by the run, stands for a third one with the items of either; that one can change only where no other name shows the difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.frontend.elements import Slot, drop_values, element, hold, label, named, within
from loopwright.frontend.expr import Unavailable, Value, is_number
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import Activation, Construct, Guarded, LoopState, Sticky, Summed
from loopwright.frontend.variables import begin, write
from loopwright.ir.function import Instr

__all__ = [
    "apart",
    "changes_once",
    "close",
    "enter",
    "may_change",
    "protect",
    "put",
    "put_slice",
    "refuse_length",
    "summed_elements",
]

# --- what is older --------------------------------------------------------------------------------------------------


def _around(s: Staging, container: Any) -> list[Construct]:
    """The constructs that what is stored now depends on, outermost first: those the container is older than."""
    born = s.born.get(id(container))
    opened = s.open
    depth = 0
    if born is not None:
        known = born[1]
        while depth < len(known) and depth < len(opened) and known[depth] is opened[depth]:
            depth += 1
    return [construct for construct in opened[depth:] if construct.active()]


def changes_once(s: Staging, container: Any) -> bool:
    """Whether a change of a container as a whole, made now, would be made while compiling although it depends on what happens at run time."""
    return bool(s.open) and any(type(construct) is not Guarded for construct in _around(s, container))


# --- stores ---------------------------------------------------------------------------------------------------------


def put(s: Staging, container: Any, index: Any, value: Any, fresh: bool = False) -> None:
    """``container[index] = value``, for a list or dictionary."""
    emitter = s.emitter
    if type(container) is list:
        index = range(len(container))[index]
    around = _around(s, container) if s.open else []
    if s.merged and (around or s.cells.get(id(container))):
        _refuse_shared(s, container)
    slot = element(s, container, index)
    if slot is not None:
        _refuse_guarded(s, around, container)
        if type(slot) is Slot:
            for construct in around:
                if isinstance(construct, LoopState) and construct.kind == "lanes":
                    # The lanes run at once: there it is a reduction.
                    _note(s, construct, container, index)
                    return
        write(s, slot, value, fresh)
        return
    value = emitter.snapshot(value)
    if not around:
        container[index] = value
        return
    _refuse_guarded(s, around, container)
    name = label(s, container)
    if id(container) not in s.born:
        emitter.fail(
            f"`{name}` comes from outside the kernel, or from a Python function called while compiling, and cannot change under run-time control flow: "
            f"change a copy, as in {name} = list({name})"
        )
    if type(container) is dict and index not in container:
        refuse_length(s, container)
    for construct in around:
        if construct.key is not None:
            _note(s, construct, container, index)
            container[index] = value
            return
    slot = _promote(s, container, index, around[0])
    write(s, slot, value, False)


def put_slice(s: Staging, container: list[Any], places: slice, values: list[Any]) -> None:
    """``container[places] = values``."""
    indices = range(len(container))[places]
    values = [s.emitter.snapshot(item) for item in values]
    if len(values) == len(indices):
        for index, item in zip(indices, values, strict=True):
            put(s, container, index, item)
    elif changes_once(s, container) or s.cells.get(id(container)):
        refuse_length(s, container)
    else:
        container[places] = values


def may_change(s: Staging, values: tuple[Any, ...]) -> bool:
    """Whether lists that the kernel made are among the arguments of a function, called under run-time control flow."""
    return bool(s.open and s.born) and any(type(value) in (list, dict) and id(value) in s.born for value in values)


def refuse_length(s: Staging, container: Any, how: str = "") -> None:
    s.emitter.fail(
        f"`{label(s, container)}`, a Python {type(container).__name__}, changes as a whole{' (' + how + ')' if how else ''} under run-time control flow: it would change "
        "once, while compiling. "
        "Its elements can change, but not how many there are: make it as long as it gets before, as in [lw.f32(0)] * 8, or use an array argument"
    )


def _refuse_guarded(s: Staging, around: list[Construct], container: Any) -> None:
    for construct in around:
        if type(construct) is Guarded:
            s.emitter.fail(
                f"`{label(s, container)}` changes inside a condition, or one side of a conditional expression: do that in a statement of its own, before, or under `if`"
            )


def _promote(s: Staging, container: Any, index: Any, construct: Construct) -> Slot:
    """Make an element a variable, which begins before a construct."""
    emitter = s.emitter
    name = f"{label(s, container)}[{index!r}]"
    key = (*construct.place, name)
    since = len(emitter.code)
    variable = begin(s, name, container[index], key, True)
    if construct.anchor is not None:
        emitter.insert_before(construct.anchor, since)
    return hold(s, Slot(name, variable, construct, key, emitter.at_line, container, index), construct)


# --- constructs -----------------------------------------------------------------------------------------------------


def _note(s: Staging, construct: Construct, container: Any, index: Any) -> None:
    """A loop changes an element that it did not know of: in the next attempt it does."""
    path = _path(construct, container)
    if path is None:
        s.emitter.fail(f"`{label(s, container)}` changes in a loop that runs at run time, but has no name before it: give it one")
    known = s.notes.setdefault(construct.key, {})
    if known.setdefault((path, index), s) is not s:
        s.emitter.fail(f"`{label(s, container)}` is not the same list in each step of the loop: make it before the loop, and change its elements")
    s.again = True


def enter(s: Staging, construct: Construct) -> None:
    """A construct with a key begins: the elements that it was found to change become variables."""
    for path, index in s.notes.get(construct.key, ()):
        container = _find(construct.act, path)
        if not _has(container, index) or element(s, container, index) is not None:
            continue
        around = _around(s, container)
        outer = next((other for other in around if other.key is not None), None)
        if outer is not None:
            _note(s, outer, container, index)
        else:
            _promote(s, container, index, around[0] if around else construct)


def summed_elements(s: Staging, loop: LoopState, anchor: Instr) -> list[Summed]:
    """As ``enter``, for a lanes loop: the elements become reductions."""
    made: list[Summed] = []
    for path, index in s.notes.get(loop.key, ()):
        container = _find(loop.act, path)
        if not _has(container, index):
            continue
        cells = s.cells.setdefault(id(container), {})
        name = f"{label(s, container)}[{index!r}]"
        if not (is_number(container[index]) or isinstance(container[index], (Value, np.generic))):
            s.emitter.fail(
                f"`{name}` is a Python {type(container[index]).__name__} from before the lw.lanes loop and cannot change inside it: only numbers can be reduced"
            )
        summed = Summed(name, container[index], anchor, s.emitter.at_line)
        summed.outer = cells.get(index)
        summed.container, summed.index = container, index
        cells[index] = summed
        container[index] = Unavailable(
            s.emitter,
            f"`{name}` is reduced over the lanes in this loop and has no value inside it, only after it; in the loop it can only be updated, as in {name} += v",
        )
        made.append(summed)
    return made


def close(s: Staging) -> None:
    """The innermost construct ends, and so do its variables: they are not written any more."""
    slots = s.open.pop().slots
    if slots is not None:
        for slot in slots:
            s.cells[id(slot.container)].pop(slot.index, None)
            drop_values(s, slot.value)


def _has(container: Any, index: Any) -> bool:
    if type(container) is list:
        return type(index) is int and index < len(container)
    return type(container) is dict and index in container


# --- containers that names stand for --------------------------------------------------------------------------------


def _refuse_shared(s: Staging, container: Any) -> None:
    """Refuse a store to a list that by the run may be the same as another, which is still there to see it."""
    family = [container]
    for member in family:
        for made, sources in s.merged:
            if member is made or any(member is source for source in sources):
                family += [other for other in (made, *sources) if not any(other is known for known in family)]
    for member in family[1:]:
        if named(s, member, set()):
            name, other = label(s, container), label(s, member)
            s.emitter.fail(
                f"`{name}` and `{other}` are the same {type(container).__name__} or not, depending on the run, so a change of one may change the other: "
                f"assign a copy where they meet, as in list({other})"
            )


def apart(s: Staging, items: list[Any], names: set[str]) -> list[Any]:
    """Values for names that are bound one after the other: lists of variables that the first of them writes are copied before."""
    carried = [sticky.value for sticky in s.act.sticky.values() if isinstance(sticky, Sticky) and sticky.items]
    made: list[Any] = []
    for item in items:
        if type(item) in (list, dict) and any(item is value for value in carried):
            copy = s.new(item.copy())
            if named(s, item, names):
                s.merged.append((copy, [item]))
            item = copy
        made.append(item)
    return made


def protect(s: Staging, containers: list[Any]) -> None:
    """A function is inlined that may change these: what has been read of them and not yet been used stays what it was."""
    emitter = s.emitter
    for container in containers:
        cells = s.cells.get(id(container))
        for slot in list(cells.values()) if cells else ():
            read = slot.container[slot.index]
            if isinstance(slot, Slot) and isinstance(read, Value) and read is slot.value:
                copy = emitter.snapshot(read)
                slot.value = slot.container[slot.index] = read.twin()
                read.operand = copy.operand


# --- finding a container again --------------------------------------------------------------------------------------


def _path(construct: Construct, container: Any) -> tuple[Any, ...] | None:
    """Where a container is found where the construct begins: (how many calls outwards, name, indices …)."""
    act = construct.act
    outwards = 0
    while True:
        for name in list(act.env) if outwards else [*act.env, *construct.writes]:
            found = within(construct.value(name) if not outwards else act.env[name], container, 0)
            if found is not None:
                return (outwards, name, *found)
        if act.caller is None:
            return None
        act = act.caller[0]
        outwards += 1


def _find(act: Activation, path: tuple[Any, ...]) -> Any:
    outwards, name, *indices = path
    for _ in range(outwards):
        if act.caller is None:
            return None
        act = act.caller[0]
    value: Any = act.env.get(name)
    for index in indices:
        try:
            value = value[index]
        except (LookupError, TypeError):
            return None
    return value
