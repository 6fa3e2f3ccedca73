"""Staging assignments: to names, to elements of arrays, lists and dictionaries, to several targets at once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.errors import KernelTypeError, LoopwrightError
from loopwright.frontend import constants
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.containers import apart, put, put_slice
from loopwright.frontend.elements import element
from loopwright.frontend.expr import Value, is_staged
from loopwright.frontend.lanes import reduce_into, runs_on, update_reduction
from loopwright.frontend.merging import CONTAINERS
from loopwright.frontend.numpy_arrays import holds_run_time
from loopwright.frontend.program import Assign, NameTarget, Store, Target, TupleTarget, Update
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import FALLS, Restage, Summed
from loopwright.frontend.variables import assign

__all__ = ["bind", "stage_assign", "stage_update"]

_UPDATES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": constants.power,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "MatMult": operator.matmul,
}


def stage_assign(s: Staging, stmt: Assign) -> int:
    """An assignment, or an augmented one to a name."""
    if stmt.reduction is not None and s.act.sticky:
        target = stmt.targets[0]
        summed = s.act.sticky.get(target.name) if isinstance(target, NameTarget) else None
        if isinstance(summed, Summed):
            reduce_into(s, summed, stmt.reduction)
            return FALLS
    if stmt.reduction is not None and s.cells and type(stmt.targets[0]) is Store:
        store = stmt.targets[0]
        container = s.evaluate(store.container)
        known = element(s, container, s.evaluate(store.index)) if type(container) in (list, dict) else None
        if isinstance(known, Summed):
            reduce_into(s, known, stmt.reduction)
            return FALLS
    before = len(s.emitter.code)
    value = s.evaluate(stmt.value)
    targets = stmt.targets
    target = targets[0]
    if len(targets) == 1:
        if type(target) is NameTarget:
            if isinstance(value, Value) and value.operand in s.numbers:
                # (A Python number is of no type.)
                count = s.numbers[value.operand]
                value = s.emitter.opened(value)
                s.counts.append((value, count))
            if stmt.in_place and type(value) is list:
                old = s.act.env.get(target.name)
                if type(old) is list:
                    _put(s, old, slice(None), value)
                    return FALLS
            assign(s, target.name, value, (stmt.fresh or runs_on(s, stmt.reduction)) and len(s.emitter.code) > before)
        elif type(target) is Store:
            _store(s, target, s.evaluate(target.container), s.evaluate(target.index), value)
        else:
            bind(s, target, value)
        return FALLS
    value = s.emitter.snapshot(value)
    for target in targets:
        bind(s, target, value)
    return FALLS


def bind(s: Staging, target: Target, value: Any) -> None:
    """Assign to any target."""
    if type(target) is NameTarget:
        assign(s, target.name, value)
    elif type(target) is TupleTarget:
        if isinstance(value, (Value, StagedArray)):
            iter(value)
        try:
            items = list(value)
        except TypeError as error:
            raise KernelTypeError(str(error), s.emitter.at_file, s.emitter.at_line) from None
        count = len(target.items)
        if target.starred >= 0 and len(items) >= count - 1:
            rest = len(items) - count + 1
            k = target.starred
            items = [*items[:k], items[k : k + rest], *items[k + rest :]]
        if len(items) != count:
            s.emitter.fail(f"{len(items)} values for {count} names")
        if s.merged and any(type(item) in CONTAINERS for item in items):
            items = apart(s, items, {inner.name for inner in target.items if isinstance(inner, NameTarget)})
        for inner, item in zip(target.items, items, strict=True):
            bind(s, inner, item)
    elif type(target) is Store:
        _store(s, target, s.evaluate(target.container), s.evaluate(target.index), value)


def _store(s: Staging, target: Store, container: Any, index: Any, value: Any) -> None:
    if type(container) is StagedArray:
        container[index] = value
        return
    emitter = s.emitter
    if isinstance(container, Value):
        container[index]
    if type(container) in (list, dict) and not is_staged(index):
        _put(s, container, index, value)
        return
    if is_staged(index):
        holds_run_time(s, container)
        emitter.fail(
            f"`{target.name or 'this'}` is a Python {type(container).__name__}: it cannot be stored to at a run-time index; use an array argument, or lw.local(lw.f32, 64) for one of the kernel's own"
        )
    if emitter.region and s.act.regions.get(target.name, 0) != emitter.region:
        holds_run_time(s, container)
        emitter.fail(
            f"`{target.name or 'this'}` is a Python {type(container).__name__} and cannot change under run-time control flow: use a list, an array argument, or variables"
        )
    if isinstance(container, np.ndarray) and is_staged(value):
        holds_run_time(s, container)
        emitter.fail(
            f"`{target.name or 'this'}` is a NumPy array, which holds what is known while compiling, and cannot hold a run-time value: "
            "use a variable for each element, a list of them, or an lw.Array argument"
        )
    try:
        container[index] = emitter.snapshot(value)
    except LoopwrightError as error:
        raise emitter.located(error) from None
    except Exception as error:
        s.explain(error)
        raise


def _put(s: Staging, container: Any, index: Any, value: Any, fresh: bool = False) -> None:
    """Store to an element of a list or dictionary, or to a slice."""
    try:
        if type(index) is slice:
            put_slice(s, container, index, list(value))
        else:
            put(s, container, index, value, fresh)
    except (LoopwrightError, Restage):
        raise
    except Exception as error:
        s.explain(error)
        raise


def stage_update(s: Staging, stmt: Update) -> int:
    """``container[index] op= value``."""
    container = s.evaluate(stmt.target.container)
    index = s.evaluate(stmt.target.index)
    kind = type(container)
    if s.cells and (kind is list or kind is dict):
        known = element(s, container, index)
        if isinstance(known, Summed):
            update_reduction(s, known, stmt.operator, s.evaluate(stmt.value))
            return FALLS
    if s.made and is_staged(index):
        holds_run_time(s, container)
    before = len(s.emitter.code)
    try:
        old = container[index]
        value = s.evaluate(stmt.value)
        new = _UPDATES[stmt.operator](old, value)
    except LoopwrightError as error:
        raise s.emitter.located(error) from None
    except Exception as error:
        s.explain(error)
        raise
    if (kind is list or kind is dict) and not is_staged(index):
        _put(s, container, index, new, len(s.emitter.code) > before)
    else:
        _store(s, stmt.target, container, index, new)
    return FALLS
