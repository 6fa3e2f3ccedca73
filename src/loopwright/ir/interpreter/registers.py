"""Registers and slots: what instructions read of them, write and destroy. After allocation they are the target's, and each holds a value of one type, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.interpreter.values import dtype_of, extended, extends, interchangeable, width
from loopwright.types import I64, VOID, Type

__all__ = ["as_read", "destroy", "destroyed_by_call", "enter_iteration", "handed_on", "held_values", "move", "scratch", "written"]


def handed_on(call: Activation, step: Step, before: list[Any], place: int) -> Any:
    """Something for an operand that holds nothing: a choice may hand it on, where branches became choices, and whoever reads that makes a choice too."""
    if step.instr.op is not ops.SELECT or step.type.lanes or not before:
        raise call.prepared.undefined(step, place)
    return np.zeros((), step.type.dtype)[()]


def held_values(call: Activation, step: Step) -> list[Any]:
    """Operands from physical registers and slots, which must hold the types the instruction reads."""
    store, tags = call.store, call.tags
    values = []
    wants = step.wants
    for position, place in enumerate(step.reads):
        value = store[place]
        held = tags[place]
        if value is None or held is None:
            raise call.prepared.undefined(step, place)
        want = wants[position]
        if held is not want and want is not VOID:
            if interchangeable(held, want):
                value = np.atleast_1d(value).view(dtype_of(want))
                if not want.lanes:
                    value = value[0]
            elif extends(held, want, value):
                value = extended(want, value)
            else:
                raise call.prepared.error(step.instr, f"{call.prepared.shown(place)} holds {held.name}, {want.name} is read")
        values.append(value)
    return values


def as_read(call: Activation, step: Step, values: list[Any]) -> None:
    """Integers and lanes as the type the instruction reads, where a conversion has been left out: of the same size, between a narrow one and the 32 bits it is extended to, or of 32 bits as a word."""
    wants = step.wants
    for position in range(len(values)):
        want = wants[position]
        if not (want.is_vector or want.is_integer or want.is_word):
            continue
        dtype = dtype_of(want)
        value = values[position]
        if want.is_vector:
            if value.dtype != dtype:
                values[position] = value.view(dtype)
            continue
        if value.dtype != dtype:
            if value.dtype.itemsize == dtype.itemsize and not want.is_narrow:
                values[position] = value.view(dtype)
            elif value.dtype.itemsize < dtype.itemsize or (want.is_narrow and np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max):
                values[position] = extended(want, value)
            else:
                raise call.prepared.error(step.instr, f"{call.prepared.shown(step.reads[position])} holds {int(value)}, {want.name} is read")


def destroy(mask: int, store: list[Any], except_: int) -> None:
    """The registers in a bit mask hold nothing from now on, but for one."""
    place = 0
    while mask:
        if mask & 1 and place != except_:
            store[place] = None
        mask >>= 1
        place += 1


def destroyed_by_call(call: Activation) -> None:
    """What a call destroys after allocation: registers that are the caller's to save, and of others what is behind the part that is saved."""
    target, store = call.prepared.target, call.store
    destroy(target.caller_saved, store, NONE)
    partly = target.convention.partly_saved
    while partly:
        r = (partly & -partly).bit_length() - 1
        held = call.tags[r]
        if held is not None and width(held) > target.convention.part_saved:
            store[r] = None
        partly &= partly - 1


def scratch(step: Step, store: list[Any]) -> None:
    """What an instruction destroys besides writing its result."""
    if step.kills:
        destroy(step.kills, store, step.dst)
    for place in step.temps:
        if place != step.dst:
            store[place] = None


def written(call: Activation, step: Step, type_: Type) -> None:
    """Bookkeeping of a write to a physical register or slot."""
    dst = step.dst
    call.tags[dst] = type_
    slots = call.prepared.slots
    if dst >= slots:
        for other in call.prepared.overlapping[dst - slots]:
            call.store[other] = None


def move(call: Activation, step: Step) -> None:
    """``copy`` and ``swap`` of physical registers and slots: they carry whatever is there."""
    store, tags = call.store, call.tags
    if step.instr.op is ops.SWAP:
        a, b = step.reads[:2]
        store[a], store[b] = store[b], store[a]
        tags[a], tags[b] = tags[b], tags[a]
    else:
        source = step.reads[0]
        held = tags[source]
        if store[source] is None or held is None:
            raise call.prepared.undefined(step, source)
        value = store[source]
        if width(held) > width(step.type):
            if not extends(held, step.type, value):
                raise call.prepared.error(step.instr, f"{call.prepared.shown(source)} holds {held.name}, which {step.type.name} would cut")
            held = step.type
            value = extended(held, value)
        store[step.dst] = value
        written(call, step, held)
    scratch(step, store)


def enter_iteration(call: Activation, step: Step, counter: list[int]) -> None:
    """Set the index, and the mask of lanes in range, for one step of a ``for``."""
    store = call.store
    if step.dst != NONE:
        store[step.dst] = np.int64(counter[0])
        if call.tags:
            written(call, step, I64)
    loop = step.instr.loop
    if loop is not None and loop.mask != NONE and not call.prepared.physical:
        lanes = call.prepared.f.types[loop.mask].lanes
        store[loop.mask] = np.arange(lanes) < min(counter[1] - counter[0], lanes)
