"""Arguments: those that a function is called with become values of its parameters, and those of a call in it are collected from registers and the stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from loopwright.ir.function import INCOMING, Array, Callee
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.errors import InterpreterError
from loopwright.ir.interpreter.preparation import Prepared
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.interpreter.values import dtype_of, interchangeable, value_of
from loopwright.ir.memory_model import Pointer
from loopwright.types import PTR, U16, Type

__all__ = ["bound", "enter", "in_convention", "partly_on_stack"]

#: Whose bits are elements of u16, behind the pass ``halves``.
_HALVES: Final = ("float16", "bfloat16")


# --- of the function ----------------------------------------------------------------------------------------


def bound(call: Activation, args: Sequence[Any]) -> list[Any]:
    """Values of the parameters, in order, from the arguments of a call."""
    f = call.prepared.f
    traced = call.prepared.traced
    given: dict[int, Any] = {}
    bases = {array.base: array for array in f.arrays}
    rest: list[Any] = []
    for arg in args:
        # A complex number is two parameters.
        rest += [arg.real, arg.imag] if isinstance(arg, (complex, np.complexfloating)) else [arg]
    taken = 0
    for r in f.params:
        if r in given:
            continue
        if taken == len(rest):
            if f.options.check and r == f.params[-1] and f.types[r] is PTR:
                call.record = np.zeros(4, np.int64)
                given[r] = _address_of(call, call.record)
                continue
            raise InterpreterError(f"{f.name}: no argument for {_parameter(call.prepared, r)}", f.file)
        value = rest[taken]
        taken += 1
        if type(value) is Pointer and f.types[r] is PTR:
            given[r] = value if traced else np.uint64(value.address)
            continue
        array = bases.get(r)
        if isinstance(value, np.ndarray) and array is not None:
            _bind_array(call, array, value, given)
        elif isinstance(value, np.ndarray) and value.ndim and f.types[r] is PTR:
            given[r] = _address_of(call, value)
        else:
            try:
                given[r] = value_of(f.types[r], value)
                if f.types[r] is PTR and traced:
                    given[r] = call.memory.pointer_to(int(value))
            except (TypeError, ValueError, OverflowError) as problem:
                raise InterpreterError(f"{f.name}: argument for {_parameter(call.prepared, r)}: {problem}", f.file) from None
    if taken < len(rest):
        raise InterpreterError(f"{f.name}: {len(rest)} arguments, takes {taken}", f.file)
    return [given[r] for r in f.params]


def _address_of(call: Activation, array: np.ndarray[Any, Any], name: str = "") -> np.uint64:
    """The address of the caller's array, whose bytes may be accessed from now on."""
    made = call.memory.add(array, name)
    return made if call.prepared.traced else np.uint64(int(made))


def _parameter(prepared: Prepared, r: int) -> str:
    f = prepared.f
    return f"{f.names[r] or f'%{r}'}: {f.types[r].name}"


def _bind_array(call: Activation, array: Array, value: np.ndarray[Any, Any], given: dict[int, Any]) -> None:
    """Give the parameters of an array what they are of the caller's: its address, its extents and its strides."""
    f = call.prepared.f
    if array.pairs and value.dtype.kind == "c" and value.ndim:
        value = _as_pairs(value)
    if value.dtype != dtype_of(array.element) and not (array.element is U16 and value.dtype.name in _HALVES):
        raise InterpreterError(f"{f.name}: array {array.name} has elements of {array.element.name}, the argument of {value.dtype}", f.file)
    if value.ndim != array.rank:
        raise InterpreterError(f"{f.name}: array {array.name} has {array.rank} dimensions, the argument {value.ndim}", f.file)
    if value.size and value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
        raise InterpreterError(f"{f.name}: array {array.name} needs unit stride in its last dimension, the argument has {value.strides[-1]} bytes", f.file)
    if array.written and not value.flags.writeable:
        raise InterpreterError(f"{f.name}: array {array.name} is written, the argument is read-only", f.file)
    given[array.base] = _address_of(call, value, array.name)
    for r, number in (*zip(array.extents, value.shape, strict=True), *zip(array.strides, value.strides, strict=False)):
        if r in given and int(given[r]) != number:
            raise InterpreterError(f"{f.name}: array {array.name} needs {int(given[r])} for {_parameter(call.prepared, r)}, the argument has {number}", f.file)
        given[r] = np.int64(number)


def _as_pairs(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as twice as many floats in the same memory, whose last dimension is contiguous."""
    if value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
        return value
    part = np.dtype(f"f{value.itemsize // 2}")
    shape, strides = (*value.shape[:-1], 2 * value.shape[-1]), (*value.strides[:-1], part.itemsize)
    return (
        np.ndarray(shape, part, value, strides=strides)
        if value.flags.c_contiguous
        else np.lib.stride_tricks.as_strided(value[..., :1].view(part), shape, strides)
    )


def enter(call: Activation, values: list[Any]) -> None:
    """Make the store of a call, with the parameters' values in their places."""
    prepared = call.prepared
    f = prepared.f
    store: list[Any] = [None] * (prepared.slots + len(f.slots))
    store[prepared.registers : prepared.slots] = prepared.constants
    call.store = store
    call.tags = []
    if not prepared.physical:
        for r, value in zip(f.params, values, strict=True):
            store[r] = value
        return
    tags: list[Type | None] = [None] * len(store)
    call.tags = tags
    tags[prepared.registers : prepared.slots] = f.const_types
    types = [f.types[r] for r in f.params]
    for place, value, type_ in zip(prepared.target.convention.assign(types, -1, f.places), values, types, strict=True):
        if place >= 0:
            store[place] = value
            tags[place] = type_
        else:
            for number, slot in enumerate(f.slots):
                if slot.kind == INCOMING and slot.offset == ~place:
                    store[prepared.slots + number] = value
                    tags[prepared.slots + number] = type_


# --- of calls in it -----------------------------------------------------------------------------------------


def in_convention(call: Activation, step: Step, callee: Callee) -> list[Any]:
    """The arguments of a call after allocation: from where the convention has them, whatever the operands say."""
    prepared = call.prepared
    values = []
    for place, want in zip(prepared.target.convention.assign_for(callee), callee.params, strict=True):
        if place < 0:
            values.append(_on_stack(call, step, ~place, want))
            continue
        held = call.tags[place]
        if call.store[place] is None or held is None:
            raise prepared.undefined(step, place)
        if held is not want and not interchangeable(held, want):
            raise prepared.error(step.instr, f"{prepared.shown(place)} holds {held.name}, {callee.name} takes {want.name}")
        values.append(call.store[place])
    return values


def partly_on_stack(call: Activation, step: Step, callee: Callee, values: list[Any]) -> list[Any]:
    """The arguments of a call before allocation of which some are on the stack."""
    target = call.prepared.target
    if target is None:
        raise call.prepared.error(step.instr, "a call with stack arguments needs the target to be interpreted")
    out = []
    taken = 0
    for place, want in zip(target.convention.assign_for(callee), callee.params, strict=True):
        if place < 0:
            out.append(_on_stack(call, step, ~place, want))
        else:
            out.append(values[taken])
            taken += 1
    return out


def _on_stack(call: Activation, step: Step, offset: int, want: Type) -> Any:
    prepared, outgoing = call.prepared, call.outgoing
    # store_arg counts from the first stack argument, or from the stack pointer, above the convention's shadow space.
    if outgoing and min(outgoing) > 0:
        offset += prepared.target.convention.shadow
    if offset not in outgoing:
        raise prepared.error(step.instr, f"the stack argument at {offset} was not stored")
    value, held = outgoing[offset]
    if held is not want and not interchangeable(held, want):
        raise prepared.error(step.instr, f"the stack argument at {offset} is {held.name}, needs {want.name}")
    return value
