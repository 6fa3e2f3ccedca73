"""Addresses: of accesses, array elements, local arrays, globals and the stack."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.interpreter.values import WORD
from loopwright.ir.memory_model import Object, Pointer, pointer

__all__ = ["address_accessed", "element_address", "global_address", "local_address", "object_address", "stack_address"]

#: Bytes that a stack has room for.
_MOST_STACK: Final = 1 << 23


def address_accessed(call: Activation, step: Step, values: list[Any]) -> tuple[int, Object | None]:
    """The address that an instruction accesses, and the object that its pointer came from."""
    mem = step.mem
    if mem is None:
        raise call.prepared.error(step.instr, "no address")
    base = values[step.address]
    if mem.origin is not None:
        base = global_address(call, step, int(base)) if mem.origin is ops.GLOBAL else local_address(call, int(base))
    origin: Object | None = None
    if type(base) is Pointer:
        address = base.address + mem.disp
        origin = base.origin if call.prepared.traced else None
    else:
        address = int(base) + mem.disp
    if mem.indexed:
        address += int(values[step.address + 1]) * mem.scale
    # Sums of addresses wrap, as in the machine.
    return address & WORD, origin


def element_address(call: Activation, step: Step, indices: list[int], mask: Any, checked: bool = True) -> tuple[int, Object | None]:
    """The address of an array element, and the object that the array's pointer came from; checks, unless it is not to be ``checked``, that the lanes that are on are inside the array."""
    instr = step.instr
    prepared, store = call.prepared, call.store
    array = prepared.f.arrays[instr.imm]
    last = len(indices) - 1
    lanes = np.flatnonzero(mask) if mask is not None else None
    for dimension, index in enumerate(indices):
        extent = int(store[prepared.place(array.extents[dimension])])
        low = high = index
        if dimension == last and step.type.lanes and instr.op not in ops.STRIDED:
            if lanes is None:
                high += (step.type.lanes if instr.op not in ops.ROWS else 128 // step.type.bits) - 1
            elif len(lanes):
                low += int(lanes[0])
                high += int(lanes[-1])
        if checked and (low < 0 or high >= extent):
            wrong = low if low < 0 else high
            where = f"index {wrong}" if last == 0 else f"index {wrong} in dimension {dimension}"
            raise prepared.outside(instr, f"{where} is outside array {array.name}, whose extent is {extent}")
    base = store[array.base]
    address = int(base) + indices[last] * array.element.size
    for dimension in range(last):
        address += indices[dimension] * int(store[prepared.place(array.strides[dimension])])
    return address, base.origin if type(base) is Pointer and prepared.traced else None


def object_address(call: Activation, to: Object) -> np.uint64:
    """The address of an object: with the object, where that is to be known."""
    return pointer(to.low, to) if call.prepared.traced else np.uint64(to.low)


def local_address(call: Activation, number: int) -> np.uint64:
    """The address of a local array, which is there from the first time on."""
    known = call.locals.get(number)
    if known is None:
        f = call.prepared.f
        array = f.arrays[number]
        known = call.locals[number] = call.memory.make(array.size, LOCAL_ALIGN, f"{array.name or 'a local'} of {f.name}")
        if array.data:
            known.view[:] = np.frombuffer(array.data, np.uint8)
            known.writable = -1
    return object_address(call, known)


def global_address(call: Activation, step: Step, number: int) -> np.uint64:
    """The address of a global."""
    named = call.prepared.f.globals[number]
    known = call.memory.global_object(named)
    if known is None:
        raise call.prepared.error(step.instr, f"nothing is known of {named.name}: its module is to be linked")
    return object_address(call, known)


def stack_address(call: Activation, step: Step, size: int, align: int) -> np.uint64:
    """The address of memory that goes when the function returns."""
    prepared = call.prepared
    if not 0 <= size <= _MOST_STACK:
        raise prepared.error(step.instr, f"{size} bytes of the stack: it has room for {_MOST_STACK}")
    made = call.memory.make(size, align, f"memory of {prepared.f.name}'s stack")
    call.stack.append(made)
    return object_address(call, made)
