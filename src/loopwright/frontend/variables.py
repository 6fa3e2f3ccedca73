"""Names: bound while compiling, or variables that run-time loops carry, made before the loop and written by its assignments."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from loopwright.frontend.complex_numbers import Complex, as_pair, is_complex
from loopwright.frontend.elements import activate, carries, drop_values, replaces
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number
from loopwright.frontend.flow import RESULT
from loopwright.frontend.merging import JOINED, MISSING, indices, item_of, rebuilt, same
from loopwright.frontend.program import LoopStmt
from loopwright.frontend.promotion import holds_all, wider
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import LoopState, Sticky, Summed, shown
from loopwright.types import BOOL, F64, SCALARS, Type

__all__ = ["assign", "begin", "carry", "lose_written", "release", "write"]


def assign(s: Staging, name: str, value: Any, fresh: bool = False) -> None:
    """Bind a name, or write the variable that stands for it."""
    act = s.act
    emitter = s.emitter
    sticky = act.sticky.get(name)
    if sticky is not None:
        write(s, sticky, value, fresh)
        return
    kind = type(value)
    if kind is Value or kind is not float and kind is not int and isinstance(value, Value):
        if value.operand in emitter.active:
            value = emitter.snapshot(value)
        elif kind is Unavailable:
            value.plain()
    elif not is_number(value):
        act.regions[name] = emitter.region
        if emitter.active and type(value) in JOINED:
            value = emitter.snapshot(value)
    act.env[name] = value
    act.lines[name] = emitter.at_line


def write(s: Staging, sticky: Any, value: Any, fresh: bool) -> None:
    """Write a variable that a run-time loop carries."""
    emitter = s.emitter
    name = sticky.name
    if isinstance(sticky, Summed):
        emitter.fail(
            f"`{name}` comes from before the lw.lanes loop: inside, it can only be updated as a reduction ({name} += v, {name} *= v, {name} &= v, {name} = lw.min({name}, v), "
            f"{name} = lw.max({name}, v), {name} = lw.fma(a, b, {name})) in a statement of the loop, because the lanes run at once; use another name for a value of each lane"
        )
    variable = sticky.value
    if not isinstance(variable, Value):
        if same(variable, value):
            return
        if type(variable) is Complex:
            value = as_pair(emitter, value)
        if type(variable) in JOINED and type(value) is type(variable):
            _write_items(s, sticky, value)
            return
        why: str | None = getattr(variable, "why", None)
        if why is not None:
            emitter.fail(why)
        if variable is None:
            emitter.fail(
                f"`{name}` is None before a loop that runs at run time, and a number in it: begin with a number, as in {name} = 0, that stands for none"
            )
        emitter.fail(f"`{name}` is a Python value ({shown(variable)}) and cannot change in a loop that runs at run time: only numbers can")
    open_ = isinstance(variable, Weak) and variable.open
    if is_number(value):
        if isinstance(variable, Weak) and open_:
            if type(value) is bool:
                emitter.fail(f"`{name}` is a number (line {sticky.line}) and is assigned a condition: use another name")
            emitter.weak_copy(variable, value)
            return
        if variable.type.element is BOOL and type(value) is not bool:
            emitter.fail(f"`{name}` is a condition (line {sticky.line}) and is assigned the number {value!r}: use another name")
        if type(value) is float and not variable.type.is_float:
            _mistyped(s, sticky, "a Python float", F64)
        if _counted(s, sticky):
            _mistyped(s, sticky, "a Python number")
        new = Value(emitter, emitter.number(variable.type, value), variable.type)
    else:
        wrapped = emitter.wrap(value)
        if wrapped is None:
            emitter.fail(f"`{name}` is a number carried by a loop that runs at run time, and cannot become {shown(value)}")
        new = wrapped
        if isinstance(new, Weak) and new.open:
            if open_:
                emitter.unite(variable, new)
                _copy(s, variable, new, fresh)
                return
            if _counted(s, sticky):
                _mistyped(s, sticky, "a Python number")
            emitter.settle(new, variable.type.element)
        if open_:
            if new.type.element is BOOL:
                emitter.fail(f"`{name}` is a number (line {sticky.line}) and is assigned a condition: use another name")
            if isinstance(variable, Weak) and variable.cell.root().floating and not new.type.is_float or _counted(s, sticky):
                _mistyped(s, sticky, str(new.type), new.type)
            emitter.settle(variable, new.type.element)
        have, want = new.type, variable.type
        if have is not want and have.lanes == want.lanes and holds_all(have.element, want.element) and not _counted(s, sticky):
            new, fresh = emitter.convert(new, want), True
        elif have is not want:
            _mistyped(s, sticky, "a condition" if have is BOOL else str(have), have)
    _copy(s, variable, new, fresh)


def _write_items(s: Staging, sticky: Sticky, value: Any) -> None:
    """Write a tuple, list or dictionary, item by item."""
    variable, name = sticky.value, sticky.name
    kind = type(variable).__name__
    if indices(variable) != indices(value):
        s.emitter.fail(
            f"`{name}` is a {kind} of {len(variable)} (line {sticky.line}) and becomes one of {len(value)} here: in run-time code its items can change, "
            "but not how many there are"
        )
    if not sticky.items and kind != Complex.__name__:
        s.note((*sticky.key, "items"), 1)
    if type(variable) in (list, dict):
        replaces(s, name, variable, value)
    # All are read before any is written: they may be the variables themselves.
    values = s.emitter.snapshot(tuple([item_of(value, index) for index in indices(value)]))
    for index, item in zip(indices(variable), values, strict=True):
        label = f"{name}.{index}" if type(variable) is Complex else f"{name}[{index!r}]"
        write(s, Sticky(label, item_of(variable, index), sticky.key, sticky.line, True), item, False)


def _copy(s: Staging, variable: Value, new: Value, fresh: bool) -> None:
    """Write a variable; the instruction that made a value nobody else holds writes it directly."""
    emitter = s.emitter
    if fresh and emitter.code and new.operand >= 0 and emitter.code[-1].dst == new.operand and not emitter.f.variable[new.operand] and type(new) is Value:
        emitter.code[-1].dst = variable.operand
        if new.operand == len(emitter.f.types) - 1:
            emitter.f.types.pop()
            emitter.f.names.pop()
            emitter.f.variable.pop()
        return
    if isinstance(variable, Weak) and variable.open:
        emitter.weak_copy(variable, new)
        return
    emitter.copy_to(variable.operand, variable.type, new.operand)


def _counted(s: Staging, sticky: Sticky) -> bool:
    """Whether a loop over Python's range carries a variable, which has to do at run time what it does if it is unrolled: each assignment gives the variable its own type there, and a number of Python's none."""
    return sticky.key[:2] in s.counting


def _mistyped(s: Staging, sticky: Sticky, found: str, other: Type | None = None) -> NoReturn:
    """A variable is given a number of another type: one that started as a Python number is of a type that holds both in the next attempt, if there is one."""
    want = sticky.value.type.element
    key = (*sticky.key, sticky.name, "type")
    if (
        other is not None
        and isinstance(sticky.value, Weak)
        and not other.lanes
        and BOOL not in (want, other)
        and not _counted(s, sticky)
        and key not in s.notes
    ):
        floating = sticky.value.cell.root().floating
        # (A number of Python's integers that was stored to floats is an integer for all that.)
        met = other if want.is_float and other.is_integer and not floating else wider(want, F64 if floating else other)
        if met is not None and met is not want and (other is met or holds_all(other, met)):
            s.note(key, met.number)
    s.emitter.fail(
        f"`{sticky.name}` is {want} (line {sticky.line}) and is assigned {found} here (line {s.emitter.at_line}): a variable keeps its type in run-time code; "
        f"convert the value, as in lw.{want}(…), or start the variable with the type wanted"
    )


def begin(s: Staging, name: str, value: Any, key: tuple[Any, ...], items: bool = False) -> Any:
    """A variable that starts with a value.

    Of a tuple, list or dictionary, with ``items``, it is another one that holds variables. Any other value that is no number is its own variable, and cannot
    change. ``key`` names the variable in the notes.
    """
    emitter = s.emitter
    noted = s.notes.get((*key, name, "type")) if s.notes else None
    if noted is not None and is_number(value):
        value = next(type_ for type_ in SCALARS if type_.number == noted)(value)
    if is_number(value) and type(value) is not bool:
        made = emitter.weak_variable(type(value) is float, name)
    elif isinstance(value, Weak) and value.open:
        made = Weak(emitter, emitter.f.register(value.type, name, True), value.cell)
    elif isinstance(value, (Value, np.generic)) and not is_complex(value) or type(value) is bool:
        start = emitter.staged(value)
        type_ = start.type
        variable = Value(emitter, emitter.f.register(type_, name, True), type_)
        emitter.copy_to(variable.operand, type_, start.operand)
        return variable
    elif is_complex(value):
        pair = as_pair(emitter, value)
        parts = [begin(s, f"{name}.{part}", item_of(pair, part), key) for part in indices(pair)]
        if all(isinstance(part, Weak) and part.open for part in parts):
            emitter.unite(*parts)
        return Complex(emitter, *parts)
    else:
        if not items or type(value) not in JOINED:
            return value
        return rebuilt(s, value, [begin(s, f"{name}[{index!r}]", value[index], key, True) for index in indices(value)])
    emitter.weak_copy(made, value)
    return made


def carry(s: Staging, loop: LoopState, names: list[str] | None = None) -> list[tuple[str, Any]]:
    """Make variables of the names that a run-time loop carries, or of some of them; what to give back to ``release``."""
    act, emitter, stmt = s.act, s.emitter, loop.stmt
    made: list[tuple[str, Any]] = []
    for name in stmt.carried if names is None else names:
        value = act.env.get(name, MISSING)
        if name in act.sticky or value is MISSING or type(value) is Unavailable:
            continue
        key = (id(stmt), act.path, name)
        line = act.lines.get(name, stmt.line)
        items = is_complex(value) or bool(s.notes) and (*key, "items") in s.notes
        variable = begin(s, name, value, key, items)
        sticky = Sticky(name, variable, key, line, items)
        act.sticky[name] = sticky
        if isinstance(variable, Value):
            act.env[name] = variable
            emitter.active.add(variable.operand)
        elif type(variable) is Complex:
            act.env[name] = variable
            activate(s, variable)
        elif items:
            act.env[name] = variable
            activate(s, variable)
            carries(s, loop, sticky, value)
        made.append((name, sticky))
    return made


def release(s: Staging, stmt: LoopStmt, made: list[tuple[str, Any]], why: str) -> None:
    """After a run-time loop: its variables keep their last values; other names assigned in it have none."""
    _drop(s, made)
    carried = {name for name, _ in made}
    carried.add(RESULT)
    lose_written(s, stmt, carried, why)


def lose_written(s: Staging, stmt: LoopStmt, kept: set[str], why: str) -> None:
    """The names that a loop assigns, but for some and for those that loops around it carry, have no value after it. What nobody reads needs no reason."""
    act = s.act
    env, sticky, live = act.env, act.sticky, stmt.live
    for name in stmt.writes:
        if name not in kept and name not in sticky:
            if name in live:
                s.lose(name, f"`{name}` {why}")
            else:
                env.pop(name, None)


def _drop(s: Staging, made: list[tuple[str, Any]]) -> None:
    """The variables of a loop are not written any more."""
    act = s.act
    for name, sticky in made:
        del act.sticky[name]
        if isinstance(sticky.value, Value):
            s.emitter.active.discard(sticky.value.operand)
            act.env[name] = sticky.value
        elif sticky.items:
            drop_values(s, sticky.value)
            act.env[name] = sticky.value
